/// A scene that runs by the clock, on a thread of its own, while others watch it, change it and pull at it. Nobody who only
/// watches changes a bit of the motion.
#ifndef CATENA_RENDER_PLAYER_H
#define CATENA_RENDER_PLAYER_H

#include "render/view/history.h"
#include "render/view/pull.h"

#include <catena/catena.h>

typedef struct player player;

/// The most runs that a player compares.
enum { PLAYER_RUNS = 8, PLAYER_PLOT = 240, PLAYER_WHY = 480 };

/// What one run is doing.
typedef struct player_run {
    ctn_batch_config cfg;          // in use; what it is parallel in, threads and engine as they were asked for
    int lanes;                     // among how many a world is shared out along its links; 0: worlds are side by side
    double time;                   // s, after its last step
    double energy;                 // J, of the first world, then
    double real_time;              // s simulated for each second that its steps take; 0: not known yet
    long steps, fallbacks;         // since the beginning; steps that needed a fallback
    int touching, sticking, sliding;  // contact points of all its worlds after the last step
    double depth;                     // m, of the deepest one then; below 0: so far above the ground
    double change;                 // J, of the first world since the beginning or the last change from outside
    double frozen_time;            // s, when that was
    ctn_freeze frozen;             // of the first world that is, if one is
    char why[PLAYER_WHY];          // then: at which joint, and what to try
    int froze;                     // how many are
    bool stands;                   // all its worlds are
    int plotted;                   // how many of these there are, one a step, the newest last:
    float plot_time[PLAYER_PLOT];  // s
    float plot_energy[PLAYER_PLOT], plot_iterations[PLAYER_PLOT];
    float plot_real_time[PLAYER_PLOT];
} player_run;

/// Counts what contact points feel [worlds][ncontact][CTN_CONTACT_NUMBERS]: touching, sticking, sliding, depth of `run`. Of what links do to
/// each other those that are touched count.
void player_count_contacts(player_run *run, const ctn_model *model, size_t worlds, const double *contacts);

/// What there is to see at one moment.
typedef struct player_view {
    double time;         // s, of the states
    double *q, *v;       // [runs][worlds][nq], [runs][worlds][nv]
    bool *frozen;        // [runs][worlds], there
    double *mass_scale;  // [worlds][links]: masses are these times the model's
    double *contacts;  // [runs][worlds][ncontact][CTN_CONTACT_NUMBERS] after the last step, or at the record before; NULL: there
                       // are none, or a recording does not have them
    double pull[3];      // N, world axes: what a hand pulls with there; 0: none does
    bool running;
    bool late;  // steps take longer than they last: the clock is slowed down
    player_run run[PLAYER_RUNS];
    char trouble[400];  // why the last change was refused; "": it was not
} player_view;

/// What tells the motors of a player that has one run of one world: before each of its steps, on its thread, from the state q, v at
/// `time` (s): u, targets of all motors in the order of catena/motors.h, at first as before. false: why not, in err; they stay as they
/// are until the player begins anew.
typedef struct player_steer {
    bool (*tell)(void *context, double time, const double *q, const double *v, double *u, ctn_error *err);
    void *context;
} player_steer;

/// Runs of `scene`, one for each of cfg [runs] (1 to PLAYER_RUNS, all with as many worlds), at time 0, not running yet. Worlds
/// are drawn by the scene's `sample:` section if there are several. `model` is compiled from `scene`; both must outlive it,
/// and so must what `steer` (NULL: nothing) has. NULL on error, as ctn_batch_create.
player *player_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, int runs,
                      const player_steer *steer, ctn_error *err);
void player_free(player *p);  // NULL is allowed

/// A view with room for states, for player_look; false: no memory.
bool player_view_create(const player *p, player_view *view);
void player_view_free(player_view *view);

/// The same for whatever has runs and worlds of a model.
bool player_view_open(player_view *view, int runs, size_t worlds, const ctn_model *model);

/// What there is to see now: between steps while it runs, else the last one.
void player_look(player *p, player_view *view);

void player_run_on(player *p, bool running);
void player_speed(player *p, double times);  // > 0, of real time
/// Makes steps of the first run that moves, and the others as much time; < 0: takes them back, as far as there is room for
/// (history_bytes). What has been changed since stays changed. Stops the clock.
void player_steps(player *p, int steps);
void player_reset(player *p);  // all from the beginning

/// From the next step on run `run` has the configuration's method, its numbers, solver and dt (its worlds, threads and engine
/// stay as they were); at the state where it is. A configuration that is refused changes nothing; player_view.trouble says why.
void player_configure(player *p, int run, const ctn_batch_config *cfg);

/// What a run is to be as from the next step on.
ctn_batch_config player_configuration(player *p, int run);

/// A parameter of all worlds and runs has another value from the next step on. Refused as above.
void player_set_parameter(player *p, ctn_parameter parameter, double value);

/// What has been set, or is to be, else the model's value; NaN: it has no such parameter.
double player_parameter(player *p, ctn_parameter parameter);

/// A constant joint force (N m, N) on degree of freedom `dof` of all worlds and runs; 0: none.
void player_set_force(player *p, int dof, double tau);

/// Pulls at a world of a run from the next step on; NULL: no more.
void player_set_pull(player *p, int run, int world, const pull_at *at);

#endif
