/// Model predictive control: a plan over a horizon is made anew in every knot, while a plant, which may differ from the model, moves on.
///
/// In knot k the plant is told what the last plan has for it, with the plan's gains for where the plant really is. Meanwhile the
/// next plan is made, from where the model says that this leads: the last one, moved on by a knot, and some iterations of
/// iterative LQR. So a plan has the length of a knot to be made in. A fixed number of iterations has the same bits everywhere.
#ifndef CATENA_CONTROL_MPC_H
#define CATENA_CONTROL_MPC_H

#include "control/ilqr.h"
#include "sim/scene/scene.h"

#include <catena/batch.h>
#include <catena/model.h>

typedef struct mpc mpc;

/// Plans of `horizon` s of the scene, in steps of `cfg`; the plant in steps of `plant_cfg`, of a model with the same coordinates and
/// motors. `iterations` for each plan, `first` for the first one. All must last. NULL on error: CTN_BAD_SCENE where the scene, or the
/// plant, does not do; as scene_plant_open and ctn_tapes_create.
mpc *mpc_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const ctn_model *plant,
              const ctn_batch_config *plant_cfg, double horizon, int iterations, int first, ctn_error *err);
void mpc_close(mpc *m);  // NULL is allowed

/// A knot of the plant, and the plan for the next one. CTN_FROZEN: the plant, or the plan, cannot go on.
ctn_status mpc_step(mpc *m, ctn_error *err);

typedef struct mpc_state {
    int knot;             // made
    double time, length;  // s, after them; of a knot
    double cost;          // of the plant's own way up to now, over time
    double planned;       // what the plan from here on costs
    double seconds;       // that making the last plan took
    const double *x, *u;  // of the plant: (q, v) now, and what it was told in the last knot
} mpc_state;

mpc_state mpc_get_state(const mpc *m);

#endif
