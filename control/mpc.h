/// Model predictive control: a plan over a horizon is made anew in every knot, while a plant, which may differ from the model,
/// moves on.
///
/// In knot k the plant is told what the last plan has for it, with the plan's gains for where the plant really is. Meanwhile the
/// next plan is made, from where the model says that this leads: the last one, moved on by a knot, and some iterations. So a plan
/// has the length of a knot to be made in. Plans are made by iterative LQR (control/ilqr.h), or by samples (control/sampling.h).
/// Targets and windows of costs are those of the time at which a knot will be. A fixed number of iterations has the same bits
/// everywhere; a deadline has not.
///
/// Limits of the scene are kept by iterative LQR, with the multipliers of the last plan, moved on by a knot as well, and another
/// round of them after the iterations of each plan (control/lagrangian.h).
#ifndef CATENA_CONTROL_MPC_H
#define CATENA_CONTROL_MPC_H

#include "sim/scene/scene.h"

#include <catena/batch.h>
#include <catena/model.h>

typedef struct mpc mpc;

/// Plans of a scene in steps of `cfg`, and the first one, from the scene's start, by as many iterations as its `optimize` says.
/// How they are made is what `how` says, in the place of the scene's own; `seed` of samples. All must last, but for `how`. NULL
/// on error: CTN_BAD_SCENE where the scene does not do; as scene_plant_open.
mpc *mpc_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const scene_mpc *how, uint64_t seed,
              ctn_error *err);
void mpc_close(mpc *m);  // NULL is allowed

/// A first plan anew, after what motors were told last (at first: what the scene says), from x [nq + nv] at `time`, s: for a
/// plant that was put somewhere else. Targets wait again that were waited for. CTN_FROZEN: none goes on from there.
ctn_status mpc_begin(mpc *m, const double *x, double time, ctn_error *err);

/// The knot that comes begins at `time`, s, where that is not the end of the last one.
void mpc_go_to(mpc *m, double time);

/// The plant is at x [nq + nv] where a knot begins: what motors are told in it, u [nu], and the plan for the next one.
/// CTN_FROZEN: no plan goes on from there.
ctn_status mpc_step(mpc *m, const double *x, double *u, ctn_error *err);

typedef struct mpc_state {
    int knot;             // told
    double time, length;  // s, when they are over; of a knot
    double cost;          // of the plant's own way up to now, over time
    double planned;       // what the plan from here on costs, without what limits add
    double violation;     // the most that it misses limits by, in their units; without limits 0
    double seconds;       // that making the last plan took
    int iterations;       // of it
    double started;       // s, when the time of costs began; infinite: it has not yet
} mpc_state;

mpc_state mpc_get_state(const mpc *m);

/// How far the plant was from the target of term k of the costs, m or rad, since the time of costs began: root of the mean of
/// squares over knots, and at most. false: it follows none (costs_distance), or time has not begun.
bool mpc_distance(const mpc *m, int k, double *rms, double *most);

/// The most that the plant has missed limit k of the scene by, in its units, where knots began, the first one left out.
double mpc_missed(const mpc *m, int k);

#endif
