/// Plans of many worlds that are made anew in every knot (control/mpc.h), side by side: worlds go in groups over lanes, groups
/// over threads. Each has the plans that it has alone, to the last bit.
///
/// A deadline is shared by the groups that a thread works on one after another, and by all worlds of a group, which have one
/// iteration in any case. Then plans are not those that a world has alone, nor those of another run.
#ifndef CATENA_CONTROL_MPC_WORLDS_H
#define CATENA_CONTROL_MPC_WORLDS_H

#include "control/mpc.h"

typedef struct mpc_worlds mpc_worlds;

/// Of cfg->worlds worlds on cfg->threads threads, with first plans from x0 [worlds][nq + nv] at time 0; of samples world w has
/// the seed `seed` + w. Others as mpc_open. CTN_FROZEN: a world has no first plan.
mpc_worlds *mpc_worlds_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const scene_mpc *how,
                            uint64_t seed, const double *x0, ctn_error *err);
void mpc_worlds_close(mpc_worlds *m);  // NULL is allowed

/// First plans anew, from x [worlds][nq + nv], of the worlds that `which` [worlds] names, NULL: of all, as mpc_begin.
/// CTN_FROZEN: some have none.
ctn_status mpc_worlds_begin(mpc_worlds *m, const bool *which, const double *x, double time, ctn_error *err);

/// As mpc_step: x [worlds][nq + nv], u [worlds][nu]. CTN_FROZEN, CTN_UNAVAILABLE: from where some worlds are no plan goes on;
/// these are told what they were told last, until they begin again. err is of one of them.
ctn_status mpc_worlds_step(mpc_worlds *m, const double *x, double *u, ctn_error *err);

/// Parameters of what is steered, values [worlds][cfg->parameter_count], as of ctn_mpc_set_parameters.
ctn_status mpc_worlds_set_parameters(mpc_worlds *m, const double *values, ctn_error *err);

/// There are no plans for this world any more, until it begins again.
void mpc_worlds_leave(mpc_worlds *m, int world);

int mpc_worlds_count(const mpc_worlds *m);

/// Of a world. `seconds` is what its group took, of as many worlds as `group`, NULL: not asked for.
mpc_state mpc_worlds_state(const mpc_worlds *m, int world, int *group);
bool mpc_worlds_lost(const mpc_worlds *m, int world);  // there is no plan that goes on
bool mpc_worlds_distance(const mpc_worlds *m, int world, int k, double *rms, double *most);
double mpc_worlds_missed(const mpc_worlds *m, int world, int k);  // as mpc_missed

#endif
