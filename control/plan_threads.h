/// Trajectories of a scene in many worlds: dealt out to threads in groups of as many as there are lanes. A thread has a plant of
/// its own, with what the scene's `reward` counts for, and room to work on a group (control/ilqr_together.h).
#ifndef CATENA_CONTROL_PLAN_THREADS_H
#define CATENA_CONTROL_PLAN_THREADS_H

#include "control/ilqr_together.h"
#include "control/reward_cost.h"
#include "control/scene_plant.h"

typedef struct plan_threads plan_threads;

/// What a trajectory of a world is of: the plant of the thread that works on it, and a clock of its own. `ilqr` takes `plant`.
typedef struct plan_world {
    plant plant;
    scene_plant *on;
    reward_cost *reward;  // that counts there; NULL: none
    double begin;         // as costs_begin
    bool stands;
} plan_world;

/// Not to be moved: the plant refers to it.
void plan_world_open(plan_world *w, scene_plant *on);

/// Costs and rewards of the plant are those of this world's time.
void plan_world_look(const plan_world *w);

/// Worlds first .. first + count - 1, and what there is to work on them.
typedef struct {
    int first, count;
    scene_plant *plant;
    reward_cost *reward;  // NULL: none
    ilqr_together *together;
    double **work;  // [count], to be lent
} plan_group;

/// World w of the group is worked on; its solver (NULL: none) is lent its room.
void plan_world_take(plan_world *w, ilqr *solver, const plan_group *g, int world);

/// For cfg->worlds worlds on cfg->threads threads; others as scene_plant_open. `each`: points of a world that are played at once,
/// of a solver with `solver` as its settings, NULL: of none.
plan_threads *plan_threads_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                                int each, const ilqr_config *solver, ctn_error *err);
void plan_threads_close(plan_threads *t);  // NULL is allowed

int plan_threads_group(const plan_threads *t, int world);  // how many worlds are worked on with it
scene_plant *plan_threads_plant(const plan_threads *t, int thread);

/// `does` of all groups; several at once, on threads.
void plan_threads_run(plan_threads *t, void (*does)(void *context, const plan_group *g), void *context);

#endif
