/// The kernels over the scalar lane as one call, for compilers other than the C compiler (C++17, CUDA): they must stay in the
/// common part of these languages.
#include "dynamics/lane_scalar.h"
#include "sim/engine/kernels.h"

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
    link_jacobian_rate(m, q, v, 0, w->T, w->D, out);
    link_accelerations(m, q, v, v, w->T, w->D, w->D, out);
    const model_sensor sensor = {};
    const tree_motion moves = {w->T, w->D, w->D, q, v, v, v, rset(0)};
    sense(m, &sensor, &moves, out);
    id_motion(m, q, v, v, &w->id);
    id_matrices(m, &w->id, H, H, NULL, 1);
    passive_matrices(m, q, v, rset(-1), out, out, H, H, 1);
    load_matrices(m, q, v, rset(-1), &w->block.loads, out, out, out, H, H, 1);
    tell_targets(m, q), motor_map(m, q, v, &w->block.loads, out);
    motor_matrices(m, q, v, &w->block.loads, out, out, out, H, H, H, 1);
    weight_matrix(m, q, rset(1), &w->block.loads, out, out, H, 1);
    add_weights_taken(m, q, rset(1), &w->block.loads, out);
    const remembered R = {};
    add_remembered_forces(m, &R, q, v, &w->block.loads, out);
    tell_contact(m, &R, &w->block.loads, 0, out), sense_contacts(m, &sensor, &R, &w->block.loads, out);
    fd_matrices(m, &w->id, &w->factors, out, H, H, H, 1);
    block_set(m, cfg, &w->state, &w->block, q, v);
    block_step(m, cfg, &w->state, &w->block, rset(1), 1, true, counts);
    open_lanes(&w->run);
    enter_lanes(m, cfg, &w->state, &w->block, true, w->run.busy, &w->run);
    w->run.busy = tick_lanes(m, cfg, &w->state, &w->block, true, &w->run);
    down_ladder(m, cfg, &w->state, &w->block, true, w->run.parked, &w->run);
    sweep_solve(m, &w->block.po.one.W, &w->block.po.one.sweep, v, NULL, w->id.w, out);
    block_interpolate(m, cfg, &w->state, &w->block, 0.5, true, out, out);
    adjoint_prepare(m, cfg, cfg->dt, 0, &w->adjoint);
    adjoint_step(m, cfg, &w->adjoint);
    adjoint_start(m, cfg, v, &w->adjoint);
    adjoint_output(m, cfg, &w->adjoint);
    out[0] = block_velocity(m, cfg, &w->state, &w->block)[0];
}
