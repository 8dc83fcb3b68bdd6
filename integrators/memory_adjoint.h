/// What the state after a step remembers, as a function of where bodies are: after a step of one stage, of where they were a step ago,
/// too, as the coordinates q and q_before tell all of its velocities, V = (T(q) - T(q_before)) / h and rate = u / h.
///
/// Friction goes by q alone: where a point, or a joint, has begun to stick stays as it is, so that its bristles bend as q moves. What
/// a step gives back, or takes out, to keep its energy is held, and so are integral terms of motors. (docs/trajectories.md)
#ifndef CATENA_MEMORY_ADJOINT_H
#define CATENA_MEMORY_ADJOINT_H

#include "dynamics/lane_model.h"
#include "integrators/block_step.h"
#include "integrators/ladder_adjoint.h"
#include "integrators/memory_kind.h"

#include <catena/batch.h>

/// Of methods of one stage velocities and friction, of several stages friction, where there is any.
FN memory_kind memory_of(const lane_model *m, const ctn_batch_config *cfg)
{
    if (!position_based(cfg->method) || is_alpha(cfg) || carries_old(cfg)) return MEMORY_HELD;
    if (stages_of(cfg) == 1) return MEMORY_PLACES;
    return m->ncontact || m->rubs ? MEMORY_FRICTION : MEMORY_HELD;
}

/// After ladder_prepare() of the step of several stages that led to the state: from the gradient by that, friction's by q.
KERNEL void friction_memory_pullback(const lane_model *m, ladder_adjoint *A, const state_bar *state, const state_bar *scratch,
                                     real *q_bar)
{
    stage_adjoint *const more = &A->more;
    const stages *const W = &more->P.W;
    const int last = (W->table->stages - 1) * m->nv;
    for (int k = 0; k < last + m->nv; k++) more->b[k] = rset(0);
    for (int k = 0; k < m->ncontact; k++) scratch->press[k] = rset(0);  // goes by q and v (position_start_pullback())
    if (m->ncontact)
        stage_memory_pullback(m, W, &more->touch, more->at, state->slip, scratch->press, more->b, scratch->q, scratch->slip);
    end_stage_bent_pullback(m, more, state->z, scratch->q);
    for (int k = 0; k < m->nv; k++) q_bar[k] = more->b[last + k];
}

/// The same of a step of one stage from `start`: by q and q_before, q_bar and before_bar [nv]. Frames turn as they did.
KERNEL void place_memory_pullback(const lane_model *m, ladder_adjoint *A, const position_state *start, const state_bar *state,
                                  const state_bar *scratch, real *q_bar, real *before_bar)
{
    position_adjoint *const one = &A->one;
    const solve *const W = &one->W;
    clear_seen(m, W, one->seen);
    position_begin_pullback(m, one, state, scratch);
    step_bent_pullback(m, one, state->z, scratch->q);
    if (m->ncontact || m->npair) {
        one->bars.slip = scratch->slip;
        clear_contact_bars(m, &one->bars), clear_pair_bars(m->npair ? W->between.touches : 0, &one->touch);
        for (int k = 0; k < m->nslot; k++) scratch->pair_slip[k] = zero3(), scratch->pair_press[k] = rset(0);
    }
    if (m->ncontact) contact_memory_pullback(m, W, state->slip, state->press, &one->P, &one->bars, one->b, scratch->q);
    if (m->npair) touch_memory_pullback(m, W, state->pair_slip, state->pair_press, &one->P, &one->touch, one->b, scratch->q);
    for (int k = 0; k < m->nv; k++) scratch->q[k] = rset(0);
    for (int k = 0; k < masses_of(m); k++) scratch->V[k] = zero_rate();
    leave_frames_pullback(m, W, state->V, NULL, NULL, one->seen, &one->P, one->b);
    way_pullback(m, one, state->V, state->v, W->in.inv_h, scratch->q);
    enter_frames_pullback(m, W, start, one->seen, &one->P, scratch);
    for (int k = 0; k < m->nv; k++) q_bar[k] = one->b[k], before_bar[k] = scratch->q[k];
}

#endif
