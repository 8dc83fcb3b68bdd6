/// Trajectories of a scene in many worlds: dealt out to threads in groups of as many as there are lanes. A thread has a plant
/// of its own, with what the scene's `reward` counts for, bounds of its limits, and room to work on a group
/// (control/ilqr_together.h). Worlds have multipliers of their own, and maybe parameters: these work alone on a thread, as a
/// plant has those of one world at a time.
#ifndef CATENA_CONTROL_PLAN_THREADS_H
#define CATENA_CONTROL_PLAN_THREADS_H

#include "control/ilqr_together.h"
#include "control/lagrangian.h"
#include "control/limits.h"
#include "control/reward_cost.h"
#include "control/scene_plant.h"

typedef struct plan_threads plan_threads;

/// What a trajectory of a world is of: the plant of the thread that works on it, and a clock of its own. `ilqr` takes `plant`.
typedef struct plan_world {
    plant plant;
    scene_plant *on;
    reward_cost *reward;     // that counts there; NULL: none
    limits *limits;          // that hold there; NULL: none
    lagrangian *lagrangian;  // which keeps them
    double begin;            // as costs_begin
    bool stands;
    const double *parameters;  // of its plant; NULL: those of the model
} plan_world;

/// Not to be moved: the plant refers to it.
void plan_world_open(plan_world *w, scene_plant *on);

/// Keeps limits; false: see err. plan_world_close is due.
bool plan_world_limit(plan_world *w, const ctn_scene *scene, limits *limits, ctn_error *err);
void plan_world_close(plan_world *w);

/// Whether there is something to be gained.
bool plan_world_runs(const plan_world *w, const ilqr *solver);

/// Costs, rewards and limits of the plant are those of this world's time.
void plan_world_look(const plan_world *w);

/// Worlds first .. first + count - 1, and what there is to work on them.
typedef struct {
    int first, count;
    scene_plant *plant;
    reward_cost *reward;  // NULL: none
    limits *limits;       // NULL: none
    ilqr_together *together;
    double **work;  // [count], to be lent
    ilqr **going;   // [count], of those that are worked on, and
    int *which;     // which they are
} plan_group;

/// World w of the group is worked on; its solver (NULL: none) is lent its room. Not CTN_OK: of its parameters.
ctn_status plan_world_take(plan_world *w, ilqr *solver, const plan_group *g, int world, ctn_error *err);

/// An iteration of each of some worlds of a group that have been taken, if there is something to be gained; status [count].
void plan_worlds_step(const plan_group *g, int count, plan_world *const *of, ilqr *const *solver, ctn_status *status,
                      ctn_error *err);

/// For cfg->worlds worlds on cfg->threads threads; others as scene_plant_open. `each`: points of a world that are played at once,
/// of a solver with `solver` as its settings, NULL: of none.
plan_threads *plan_threads_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                                int each, const ilqr_config *solver, ctn_error *err);
void plan_threads_close(plan_threads *t);  // NULL is allowed

int plan_threads_group(const plan_threads *t, int world);  // how many worlds are worked on with it
int plan_threads_rounds(const plan_threads *t);            // groups that a thread works on one after another, at most
scene_plant *plan_threads_plant(const plan_threads *t, int thread);
limits *plan_threads_limits(const plan_threads *t, int thread);  // NULL: none

/// `does` of all groups; several at once, on threads.
void plan_threads_run(plan_threads *t, void (*does)(void *context, const plan_group *g), void *context);

#endif
