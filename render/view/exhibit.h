/// What the viewer shows: a scene that is played or a recording, its runs and worlds side by side or over each other, with marks.
#ifndef CATENA_RENDER_EXHIBIT_H
#define CATENA_RENDER_EXHIBIT_H

#include "render/draw/colors.h"
#include "render/view/film.h"
#include "render/draw/instances.h"
#include "render/draw/layout.h"
#include "render/draw/marks.h"
#include "render/draw/camera_mount.h"
#include "render/view/player.h"
#include "render/draw/renderer.h"

/// A link of one world of one run; link -1: nothing.
typedef struct exhibit_body {
    int run, world, link;
} exhibit_body;

/// What steers a scene at hand, that runs by `cfg`: fills `to`, which `close` frees. Returns false, with what is wrong in err.
typedef struct exhibit_guide {
    bool (*open)(const void *context, const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, player_steer *to,
                 ctn_error *err);
    void (*close)(player_steer *steer);
} exhibit_guide;

typedef struct exhibit {
    const ctn_scene *scene;
    const ctn_model *model;
    player *player;  // of a scene, or
    film *film;      // of a recording
    player_view view;
    int runs, worlds, links, nq, nv;
    scene_extent one, extent;  // of one world, and of all that is drawn
    instance_list bodies;
    line_list lines;
    label_list labels;
    double *R, *p;       // [runs][worlds][links][9], [...][3]: poses of the links, as they are drawn
    double com[3];       // m, of the first world of the first run
    double followed[3];  // m, what a camera goes with that goes with it (world_followed)
    double middle[3];    // m, the middle of the scene for cameras: that of `extent` at the start, gone with `followed`
    // chosen by who looks
    unsigned show;         // marks_show
    link_coloring colors;  // COLORS_WORLD: of several runs each
    double scale_energy;   // J: the end of the scale of COLORS_ENERGY; 0: the most that a link has had
    bool overlaid;         // runs stand where the first one does, seen through; worlds of a single run over each other
    bool ghosts;           // else: the first one is seen through where the others stand
    // private
    const exhibit_guide *guide;
    player_steer steer;
    ctn_scene *own_scene;
    ctn_model *own_model;
    ctn_dynamics *dyn;
    scene_shapes *shapes;
    instance_list fixed;  // obstacles, of a world that has not been moved
    marks *marks;
    struct file_stamp *stamps;
    double start_com[3], start[3], *twists, *energy, most_energy;
    float (*paint)[3];
} exhibit;

/// How the scene at hand is to be run: fills cfg and `runs` (1 to PLAYER_RUNS). Returns false, with what is wrong in err.
typedef bool (*exhibit_configure)(const void *context, const ctn_scene *scene, ctn_batch_config *cfg, int *runs, ctn_error *err);

/// Opens a scene file, at time 0, or a recording (.h5), of which `world` is shown, negative: all. NULL: as ctn_scene_load,
/// ctn_model_create, player_create; film_open. `guide`, NULL: motors of scenes are told what the scene says; it must last.
exhibit *exhibit_open(const char *path, long world, exhibit_configure configure, const exhibit_guide *guide, const void *context,
                      ctn_error *err);
void exhibit_free(exhibit *e);  // NULL is allowed

/// The scene's meshes, without which its bodies cannot be drawn. CTN_NO_MEMORY.
ctn_status exhibit_give_meshes(const exhibit *e, renderer *r, ctn_error *err);

/// Takes what there is to see now, and fills bodies (ids: exhibit_find), lines and labels. CTN_NO_MEMORY; of a recording CTN_IO.
ctn_status exhibit_look(exhibit *e, ctn_error *err);

/// Sets `overlaid`; trails begin anew.
void exhibit_overlay(exhibit *e, bool overlaid);

/// The clock, of either: player.h, film.h. A recording is not changed: the rest of player.h is for scenes.
void exhibit_run_on(exhibit *e, bool running);
void exhibit_speed(exhibit *e, double times);
void exhibit_steps(exhibit *e, int steps);
void exhibit_reset(exhibit *e);
void exhibit_seek(exhibit *e, double time);  // of a recording

/// Which link an id of `bodies` is.
exhibit_body exhibit_find(const exhibit *e, uint32_t id);

/// Place of a body in R, p.
size_t exhibit_pose(const exhibit *e, exhibit_body body);

/// Where world `world` of run `run` stands from where the scene puts it, m.
void exhibit_place(const exhibit *e, int run, int world, double *shift);

/// An orbit that has all that can be reached in sight in a picture of width / height `aspect`.
camera_orbit exhibit_camera(const exhibit *e, double aspect);

/// Adds what there was to see at the last exhibit_look, as seen by an orbit about `from` (m); what has flown off is left out.
void exhibit_fit(const exhibit *e, const double *from, camera_fit *fit);

/// The twist [6] of a link now: angular velocity (rad/s), velocity of its origin (m/s).
void exhibit_twist(const exhibit *e, exhibit_body body, double *twist);

/// Makes a link shine in `bodies`.
void exhibit_mark(exhibit *e, exhibit_body body);

/// Whether one of the scene's files has been written since it was opened, or since the last call, or has been gone for some
/// calls.
bool exhibit_changed(exhibit *e);

#endif
