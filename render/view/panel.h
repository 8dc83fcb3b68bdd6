/// The panel over the picture of the viewer: what is going on in numbers and plots, and what can be changed. Dear ImGui.
#ifndef CATENA_RENDER_PANEL_H
#define CATENA_RENDER_PANEL_H

#include "render/view/player.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a link is doing.
typedef struct panel_link {
    int link;                      // -1: none is selected
    char of[128];                  // of several runs and worlds which, "": there is one
    double position[3], twist[6];  // of its origin, m; angular (rad/s) and linear (m/s), world axes
    const double *q, *v;           // of its joint
    double mass;                   // kg
    bool pulled;
    char pull[40];  // then: its force
    ctn_parameter motor[6];  // targets of motors on the degrees of freedom of its joint, and, from the last one on, of thrusters
    double motor_most[6];       // what they may go to, as far as one knows
    const char *motor_unit[6];  // "rad"; NULL: there is none
} panel_link;

/// Filled by the viewer; what its user asks for is written back.
typedef struct panel_state {
    const char *scene, *trouble;  // its name; errors of its file, "": none
    const char *warnings;         // of that file, line by line
    const char *notice;           // of the last thing that was done, "": nothing
    const ctn_model *model;
    const player_view *view;
    int runs, worlds;
    const char *name[PLAYER_RUNS];  // of the runs
    bool recorded;                  // it is a recording, from first to last (s); else `last` is the scene's duration, if > 0
    double first, last;
    panel_link selected;
    double frames;  // drawn a second
    bool filming;

    bool open, help;  // the panel, the list of keys
    double speed;     // of the clock, times real time
    int run;          // whose configuration is shown
    unsigned show;    // marks_show
    int colors;       // link_coloring
    bool overlaid;    // runs are drawn over each other, not side by side
    bool ghosts;      // the first one is seen through where the others are
    double *force;    // [nv], joint forces that are set

    bool play, forward, back, reset;       // asked for
    ctn_batch_config wanted[PLAYER_RUNS];  // what runs are to be from the next step on
    bool configure;                        // the run is to be as `cfg` says
    ctn_batch_config cfg;
    bool set_parameter, set_force, set_speed, seek;
    ctn_parameter parameter;
    double value, time;  // of the parameter; to be sought (s)
    int dof;             // whose force was set
} panel_state;

/// The value that a parameter has now; false: the model has no such parameter.
typedef bool (*panel_value)(void *context, ctn_parameter parameter, double *value);

/// For the window whose context is current, a GLFWwindow; `scale`: see window_scale. False: it cannot be drawn.
bool panel_create(void *glfw_window, double scale);
void panel_free(void);

/// Draws it over what is in the window.
void panel_draw(panel_state *state, panel_value value, void *context);

/// What it covers of the window's left side where it stands at first, in its units.
double panel_width(void);

/// Whether mouse or keys are meant for the panel, by what was drawn last.
bool panel_wants_mouse(void);
bool panel_wants_keys(void);

#ifdef __cplusplus
}
#endif
#endif
