/// The kernels over the scalar lane as one call, for compilers other than the C compiler (C++17, CUDA): they must stay in the
/// common part of these languages.
#include "dynamics/lane_scalar.h"

#include "dynamics/lane_model.h"

#include <catena/batch.h>

#include "dynamics/spatial.h"
#include "dynamics/trig.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/aba.h"
#include "dynamics/rnea.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/tree_factor.h"
#include "dynamics/derivatives.h"
#include "dynamics/pullback.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/tableaux.h"
#include "integrators/explicit.h"
#include "integrators/joint_terms.h"
#include "integrators/collocation.h"
#include "integrators/newton_sweep.h"
#include "integrators/halving.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_sweep.h"
#include "integrators/stage_step.h"
#include "integrators/jacobian_product.h"
#include "integrators/objective.h"
#include "integrators/levenberg_marquardt.h"
#include "integrators/lbfgs.h"
#include "integrators/solvers.h"
#include "integrators/interpolant.h"
#include "integrators/stage_dense.h"
#include "integrators/position_flow.h"
#include "integrators/step_ladder.h"
#include "integrators/momentum.h"
#include "integrators/variational.h"
#include "integrators/variational_sweep.h"
#include "integrators/variational_step.h"
#include "integrators/step_control.h"
#include "integrators/adaptive_step.h"
#include "integrators/stage_adaptive.h"
#include "integrators/block_step.h"
#include "integrators/lane_run.h"
#include "integrators/pose_pullback.h"
#include "integrators/velocity_adjoint.h"
#include "integrators/position_adjoint.h"
#include "integrators/stage_adjoint.h"
#include "integrators/ladder_adjoint.h"
#include "integrators/variational_adjoint.h"
#include "integrators/explicit_adjoint.h"
#include "integrators/block_adjoint.h"

typedef struct {
    aba_work aba;
    rnea_work rnea;
    crba_work crba;
    pose *T;
    twist *D;
    id_work id;
    tree_factors factors;
    block_state state;
    block_work block;
    adjoint_work adjoint;
    lane_run run;
} guard_work;

KERNEL void guard_all(const lane_model *m, const ctn_batch_config *cfg, guard_work *w, const real *q, const real *v, real *out,
                      double *const *H, block_counts *counts)
{
    aba(m, q, v, v, &w->aba, out);
    rnea(m, q, v, v, &w->rnea, out);
    crba(m, q, &w->crba, H, 1);
    forward_kinematics(m, q, w->T, out, out);
    link_twists(m, q, v, w->T, w->D, out);
    link_jacobian(m, q, 0, w->T, out);
    id_motion(m, q, v, v, &w->id);
    fd_matrices(m, q, v, &w->id, &w->factors, out, H, H, H, 1);
    block_set(m, cfg, &w->state, &w->block, q, v);
    block_step(m, cfg, &w->state, &w->block, v, rset(1), 1, true, counts);
    open_lanes(&w->run);
    enter_lanes(m, cfg, &w->state, &w->block, v, true, w->run.busy, &w->run);
    w->run.busy = tick_lanes(m, cfg, &w->state, &w->block, true, &w->run);
    down_ladder(m, cfg, &w->state, &w->block, v, true, w->run.parked, &w->run);
    block_interpolate(m, cfg, &w->state, &w->block, 0.5, true, out, out);
    adjoint_prepare(m, cfg, cfg->dt, 0, &w->adjoint);
    adjoint_step(m, cfg, &w->adjoint);
    adjoint_start(m, cfg, v, &w->adjoint);
    adjoint_output(m, cfg, &w->adjoint);
    out[0] = block_velocity(m, cfg, &w->state, &w->block)[0];
}
