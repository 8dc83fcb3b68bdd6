/// The adjoint of one lane block's steps: whichever the method, gradients by states and joint forces, backwards through time.
///
///     q, v at the start  ->  state  -> ... ->  state  ->  q, v as they are read        each arrow has its adjoint here
#ifndef CATENA_BLOCK_ADJOINT_H
#define CATENA_BLOCK_ADJOINT_H

#include "dynamics/lane_model.h"
#include "integrators/position_step.h"
#include "integrators/variational_step.h"
#include "integrators/block_step.h"
#include "integrators/contact_adjoint.h"
#include "integrators/pose_pullback.h"
#include "integrators/velocity_adjoint.h"
#include "integrators/ladder_adjoint.h"
#include "integrators/memory_adjoint.h"
#include "integrators/variational_adjoint.h"
#include "integrators/explicit_adjoint.h"

#include <catena/batch.h>

/// Scratch of a lane block; of one kind of methods or the others.
typedef struct {
    ladder_adjoint po;
    variational_adjoint va;
    explicit_adjoint ex;
    velocity_adjoint ve;
    block_state before, after;
    state_bar before_bar, after_bar;
    real *tau, *tau_bar, *q_bar, *v_bar;  // [nv]
    double h;                             // size of the step at hand
    lane_clock clock;                     // of it
    real *by_target;                      // [ncontrol]
    real *by_contact;                     // [CONTACT_GRADIENTS(ncontact)]
    real *wound;                          // [nwound] integral terms now
} adjoint_work;

/// In how many ways a step may have been carried out.
FN int adjoint_ways(const ctn_batch_config *cfg) { return position_based(cfg->method) ? ladder_ways(cfg) : 1; }

/// Makes ready for adjoint_step() of the step of size h from W->before to W->after under W->tau, if it was carried out in the way
/// `way`: returns the lanes of which it was. h = 0: of project_rates().
KERNEL mask adjoint_prepare(const lane_model *m, const ctn_batch_config *cfg, double h, int way, adjoint_work *W)
{
    W->h = h;
    if (h == 0) return not_(none_of());
    if (position_based(cfg->method)) {
        position_state before = as_position(&W->before);
        const position_state after = as_position(&W->after);
        return ladder_prepare(m, cfg, rset(h), way, &before, &after, W->tau, &W->po);
    }
    if (cfg->method == CTN_VARIATIONAL) {
        const variational_state before = as_variational(&W->before);
        return variational_prepare(m, cfg, rset(h), &before, W->after.q, W->tau, &W->va);
    }
    explicit_prepare(m, cfg->method, h, W->before.q, W->before.v, W->before.wound, W->before.z, W->tau, &W->ex);
    return not_(none_of());
}

/// W->before_bar from W->after_bar; adds to W->tau_bar.
KERNEL void adjoint_step(const lane_model *m, const ctn_batch_config *cfg, adjoint_work *W)
{
    const state_bar *after = &W->after_bar, *before = &W->before_bar;
    const position_state start = as_position(&W->before), S = as_position(&W->after);
    for (int k = 0; k < m->nwound; k++) before->wound[k] = W->h == 0 ? after->wound[k] : rset(0);
    for (int k = 0; k < m->nv && m->rubs; k++) before->z[k] = W->h == 0 ? after->z[k] : rset(0);
    if (W->h == 0) projection_pullback(m, &start, &S, after, &W->ve, W->q_bar, W->v_bar, before);
    else if (position_based(cfg->method)) ladder_pullback(m, &W->po, &start, &S, after, before, W->tau_bar);
    else if (cfg->method == CTN_VARIATIONAL) variational_pullback(m, cfg, &W->va, after, before, W->tau_bar);
    else explicit_pullback(m, cfg->method, W->h, &W->ex, after, before, W->tau_bar);
}

/// W->q_bar and W->v_bar, by the q and v from which W->before has started, from W->before_bar. v [nv]: those velocities.
KERNEL void adjoint_start(const lane_model *m, const ctn_batch_config *cfg, const real *v, adjoint_work *W)
{
    const state_bar *bar = &W->before_bar;
    for (int k = 0; k < m->nv; k++) W->q_bar[k] = W->v_bar[k] = rset(0);
    if (position_based(cfg->method)) position_start_pullback(m, W->before.q, v, bar, &W->ve, W->q_bar, W->v_bar);
    else if (cfg->method == CTN_VARIATIONAL) momentum_start_pullback(m, W->before.q, v, bar, &W->ve, W->q_bar, W->v_bar);
    else
        for (int k = 0; k < m->nv; k++) W->q_bar[k] = bar->q[k], W->v_bar[k] = bar->v[k];
}

/// Adds to W->after_bar what W->q_bar and W->v_bar make, which are by q and v as read from W->after.
KERNEL void adjoint_output(const lane_model *m, const ctn_batch_config *cfg, adjoint_work *W)
{
    const state_bar *bar = &W->after_bar;
    const position_state S = as_position(&W->after);
    if (position_based(cfg->method)) position_output_pullback(m, &S, W->q_bar, W->v_bar, reads_on_loops(m, cfg), &W->ve, bar);
    else if (cfg->method == CTN_VARIATIONAL) momentum_output_pullback(m, S.q, W->after.p, W->q_bar, W->v_bar, &W->ve, bar);
    else
        for (int k = 0; k < m->nv; k++) {
            bar->q[k] = bar->q[k] + W->q_bar[k];
            bar->v[k] = bar->v[k] + W->v_bar[k];
        }
}

#endif
