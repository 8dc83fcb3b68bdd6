/// The adjoint of a step of a position-based method as it was carried out: with the stages asked for, or on a rung of the ladder
/// below. (step_ladder.h; docs/theory.md 5.5)
///
/// The state after a step does not tell its stages, nor on which rung it was made. The step is made once more, with the stages of
/// one rung at a time, until it ends bit by bit where it ended before: no other solution is taken for it.
#ifndef CATENA_LADDER_ADJOINT_H
#define CATENA_LADDER_ADJOINT_H

#include "dynamics/lane_model.h"
#include "integrators/collocation.h"
#include "integrators/position_step.h"
#include "integrators/step_part.h"
#include "integrators/step_ladder.h"
#include "integrators/pose_pullback.h"
#include "integrators/velocity_adjoint.h"
#include "integrators/position_adjoint.h"
#include "integrators/hold_adjoint.h"
#include "integrators/stage_adjoint.h"
#include "integrators/stage_hold_adjoint.h"
#include "integrators/alpha_adjoint.h"
#include "integrators/alpha_contact_adjoint.h"
#include "integrators/touching_adjoint.h"

#include <catena/batch.h>

/// Scratch of one lane block.
typedef struct {
    position_adjoint one;
    touching_adjoint touch;     // of models that touch
    stage_adjoint more, first;  // the stages; the step back in time to the old point of collocation
    velocity_adjoint projection;
    ladder_work again;
    position_state chord;  // after a step of one stage, before its rates were made those of a rigid motion
    state_bar chord_bar, fresh_bar;
    real *q_bar, *v_bar, *tau_bar;  // [nv]
    real *untouched;                // [ncontrol + nwound + nv] what lanes beside those that look for their old point had gathered
    mask fresh, found;              // lanes that look for their old point, and those that have found it
    alpha_adjoint alpha;
    bool staged, projected, by_alpha;  // which of these the step at hand is
} ladder_adjoint;

/// How many rungs of several stages there are, and ways to make a step: these or alpha, and one stage.
FN int ladder_rungs(const ctn_batch_config *cfg) { return carries_old(cfg) ? 1 : stages_of(cfg) - 1; }
FN int ladder_ways(const ctn_batch_config *cfg) { return ladder_rungs(cfg) + is_alpha(cfg) + 1; }

/// What one stage leaves behind before its rates are projected.
KERNEL void keep_chord(const lane_model *m, const position_state *before, ladder_adjoint *A)
{
    position_state *S = &A->chord;
    for (int k = 0; k < m->nq; k++) S->q[k] = before->q[k];
    for (int k = 0; k < m->nv; k++) S->rate[k] = before->rate[k], S->gain[k] = rset(0);
    for (int i = 0; i < m->nbody; i++) S->V[i] = before->V[i];
    commit_step(m, S, &A->again.one, not_(none_of()), false, none_of());
    find_placements(m, before->q, A->again.one.W.start);  // which have moved on
}

/// Whether the residual at the end of a step, where the state tells it, says that it is the step's.
FN mask solves_step(const ctn_batch_config *cfg, real most)
{
    return le(most, rset(cfg->tolerance > 1e-8 ? 10 * cfg->tolerance : 1e-7));
}

/// A part of size h of alpha begins at `before`, whose accelerations it changes; afterwards begin_pullback().
KERNEL void alpha_begin(const lane_model *m, const ctn_batch_config *cfg, real h, position_state *before, const real *tau,
                        ladder_adjoint *A)
{
    ladder_work *L = &A->again;
    const mask all = not_(none_of());
    A->alpha.fresh = both(gt(before->fresh[0], rset(0)), not_(settles(m, cfg, before)));
    A->alpha.ratio = sel(either(A->alpha.fresh, le(before->size[0], rset(0))), rset(1), h / before->size[0]);
    start_from(before, tau, &L->one.W);
    find_placements(m, before->q, L->one.W.start);
    begin_part(m, cfg, h, before, L, all);
}

/// Where alpha did not try the part from `before` to `after`, or gave it up, for what touches at its start or its end.
KERNEL mask alpha_leaves(const lane_model *m, const ctn_batch_config *cfg, const position_state *before,
                         const position_state *after, ladder_adjoint *A)
{
    const mask settled = settles(m, cfg, before);
    if (!m->npair) return settled;
    find_placements(m, after->q, A->one.W.now);
    const mask ended = leaves_to_order2(m, false, A->one.W.now, after->q, A->again.p, NULL);
    find_placements(m, before->q, A->again.one.W.start);
    return either(either(settled, ended),
                  leaves_to_order2(m, false, A->again.one.W.start, before->q, A->again.p, before->pair_press));
}

/// The step of alpha, of which the state tells all, once more; not where order 2 was to make it.
KERNEL mask alpha_prepare(const lane_model *m, const ctn_batch_config *cfg, const position_state *before,
                          const position_state *after, ladder_adjoint *A)
{
    ladder_work *L = &A->again;
    const mask skipped = alpha_leaves(m, cfg, before, after, A);
    enter_rung(m, NULL, true, before, L);
    for (int e = 0; e < m->nrow; e++) L->one.W.between.force[e] = after->bond[e];
    for (int k = 0; k < m->nq; k++) L->one.x[k] = after->q[k];
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = 0; k < b->nv && b->kind != JOINT_BALL; k++)
            L->one.u[b->vadr + k] = after->q[b->qadr + k] - before->q[b->qadr + k];
    }
    A->one.W = L->one.W;
    A->by_alpha = true;
    const mask solved = both(solves_step(cfg, position_factor(m, &A->one)), not_(skipped));
    return joins(m) ? both(solved, A->one.factored) : solved;
}

/// Elements of pairs in a solve of alpha, which is left to order 2 where they act, go: where they do is returned.
KERNEL mask forget_idle_touches(const lane_model *m, position_adjoint *A)
{
    between_work *const B = &A->W.between;
    mask some = none_of();
    for (int k = 0; k < B->touches && m->npair; k++) some = either(some, acts_here(&B->touch[k]));
    B->touches = 0;
    return some;
}

/// A step of alpha's, or of order 2 in the place of one of alpha or of several stages, of a model that touches.
KERNEL mask touching_part(const lane_model *m, const ctn_batch_config *cfg, real h, bool alpha, position_state *before,
                          const position_state *after, const real *tau, ladder_adjoint *A)
{
    mask found = touching_prepare(m, cfg, h, alpha, before, after, tau, &A->again, &A->one, &A->touch);
    A->by_alpha = alpha;
    if (!alpha) {
        keep_chord(m, before, A);
        hold_energy(m, &A->chord, A->touch.hold.kept, not_(none_of()));
        return both(found, has_touching_derivative(m, &A->again, &A->touch));
    }
    found = both(found, not_(forget_idle_touches(m, &A->one)));
    for (int p = 0; p < A->touch.leads && m->npair; p++)
        found = both(found, either(le(A->touch.solves, rset(p)), not_(forget_idle_touches(m, &A->touch.lead[p]))));
    if (m->npair) found = both(found, le(A->touch.solves, rset(A->touch.leads)));
    return both(found, not_(alpha_leaves(m, cfg, before, after, A)));
}

/// Finds what trees keep of the velocities that the stages end with. Returns where the books of those that are held are known.
KERNEL mask find_kept_of_stages(const lane_model *m, const position_state *before, ladder_adjoint *A)
{
    stage_work *P = &A->again.more;
    for (int i = 0; i < m->nbody; i++) P->rate[i] = end_rate(&m->bodies[i], P, i);
    clock_now(m, P->W.in.h, 1);
    const solved_part Q = solution_with(m, &A->again, end_rates(m, P));
    find_kept(m, before, &Q, P->W.in.h, A->touch.hold.kept);
    return not_(held_unbooked(m, A->touch.hold.kept, true));
}

/// Makes the step of size h from `before` once more in one way, 0 .. ladder_ways() - 1, and factors its Jacobian. Returns where
/// it ends at `after`. May change before->old and accelerations.
KERNEL mask ladder_prepare(const lane_model *m, const ctn_batch_config *cfg, real h, int way, position_state *before,
                           const position_state *after, const real *tau, ladder_adjoint *A)
{
    ladder_work *L = &A->again;
    solve *W = &L->one.W;
    const mask all = not_(none_of());
    const real zero = rset(0);
    position_counts count = no_counts();
    const int rungs = ladder_rungs(cfg);
    A->fresh = A->found = none_of();
    A->staged = way < rungs, A->projected = A->by_alpha = false;
    if (is_alpha(cfg)) {
        alpha_begin(m, cfg, h, before, tau, A);
        if (way == 0 && m->ncontact) return touching_part(m, cfg, h, true, before, after, tau, A);
        if (way == 0) return alpha_prepare(m, cfg, before, after, A);
        begin_at_rest(m, before, all);  // as position_step() has it
        if (m->ncontact || m->npair) return touching_part(m, cfg, h, false, before, after, tau, A);
    } else if (stages_of(cfg) == 1 && (m->ncontact || m->npair)) {
        const mask found = touching_prepare(m, cfg, h, false, before, after, tau, L, &A->one, &A->touch);
        return both(found, has_touching_derivative(m, L, &A->touch));
    } else if (stages_of(cfg) == 1) {  // the state tells the whole step
        for (int k = 0; k < m->nv; k++) A->v_bar[k] = h * after->rate[k];
        A->one.W.turn.mode = way;  // beyond the first, with what spins braked
        const mask solved = solves_step(cfg, position_prepare(m, h, before, after->q, A->v_bar, after->bond, tau, &A->one));
        return joins(m) ? both(solved, A->one.factored) : solved;
    }
    start_from(before, tau, W);
    find_placements(m, before->q, W->start);
    set_step_size(W, h);
    if (carries_old(cfg)) {
        A->fresh = gt(before->fresh[0], zero);
        L->more = A->first.P;
        A->found = start_old(m, cfg, before, L, ladder_rung(cfg, 0)->old, all, &count);
        A->first.P = L->more, A->first.P.W.frame = NULL;
        if (any_of(A->found)) stage_prepare(m, &A->first);
    }
    if (A->staged) {
        L->more = A->more.P;
        mask ok = all;
        if (joins(m)) ok = not_(leaves_to_order2(m, true, W->start, before->q, L->p, before->pair_press));
        if (!any_of(ok)) return ok;
        enter_rung(m, ladder_rung(cfg, way), false, before, L);
        ok = solve_part(m, cfg, before, ok, L, &count);
        A->more.P = L->more;
        stage_prepare(m, &A->more);
        if (m->ncontact) ok = both(ok, find_kept_of_stages(m, before, A));
        return both(ok, same_numbers(L->more.x + (L->more.W.table->stages - 1) * m->nq, after->q, m->nq));
    }
    A->projected = true;
    if (m->ncontact || m->npair) return touching_part(m, cfg, h, false, before, after, tau, A);
    enter_rung(m, NULL, false, before, L);
    mask ok = solve_part(m, cfg, before, all, L, &count);
    position_prepare(m, h, before, L->one.x, L->one.u, L->one.W.between.force, tau, &A->one);
    keep_chord(m, before, A);
    if (joins(m)) ok = both(ok, A->one.factored);
    return both(ok, same_numbers(A->chord.q, after->q, m->nq));
}

FN void clear_bar(const lane_model *m, const state_bar *bar)
{
    for (int k = 0; k < m->nv; k++) bar->q[k] = bar->v[k] = rset(0);
    for (int k = 0; k < masses_of(m); k++) bar->V[k] = zero_rate();
    for (int k = 0; k < m->nbent; k++) bar->slip[k] = zero3();
    for (int k = 0; k < m->ncontact; k++) bar->press[k] = rset(0);
    for (int k = 0; k < m->nv && bar->gain; k++) bar->gain[k] = rset(0);
    for (int k = 0; k < m->nslot; k++) bar->pair_slip[k] = zero3(), bar->pair_press[k] = rset(0);
    if (!bar->A) return;  // of alpha that begins anew, too: what it carries is found from q and V
    for (int k = 0; k < m->nv; k++) bar->a[k] = bar->b[k] = rset(0);
    for (int k = 0; k < masses_of(m); k++) bar->A[k] = bar->B[k] = zero_rate();
}

/// Of project_rates(): the velocity nearest to what `before` carries is read, and `after` moves with it. What contact points
/// remember stays.
KERNEL void projection_pullback(const lane_model *m, const position_state *before, const position_state *after,
                                const state_bar *after_bar, velocity_adjoint *A, real *q_bar, real *v_bar,
                                const state_bar *before_bar)
{
    for (int k = 0; k < m->nv; k++) q_bar[k] = v_bar[k] = rset(0);
    clear_bar(m, before_bar);
    for (int k = 0; k < m->nbent; k++) before_bar->slip[k] = after_bar->slip[k];
    for (int k = 0; k < m->ncontact; k++) before_bar->press[k] = after_bar->press[k];
    for (int k = 0; k < m->nslot; k++)
        before_bar->pair_slip[k] = after_bar->pair_slip[k], before_bar->pair_press[k] = after_bar->pair_press[k];
    motion_start_pullback(m, after->q, after->rate, after_bar, A, q_bar, v_bar);
    position_output_pullback(m, before, q_bar, v_bar, false, A, before_bar);
}

/// What all lanes have gathered by targets, integral terms and bristles, kept; or (back) put back where `found` says no.
FN void keep_gathered(const lane_model *m, real *kept, bool back, mask found)
{
    real *const gathered[] = {m->by_target, m->by_wound, m->by_bent};
    const int count[] = {m->ncontrol, m->nwound, m->nv};
    for (int p = 0; p < 3; p++)
        for (int k = 0; k < count[p] && gathered[p]; k++, kept++) {
            if (back) gathered[p][k] = sel(found, gathered[p][k], *kept);
            else *kept = gathered[p][k];
        }
}

/// Gradients by the old point, in before_bar, are by q, V and rates where that point was found from these.
KERNEL void fresh_pullback(const lane_model *m, ladder_adjoint *A, const state_bar *before_bar, real *tau_bar)
{
    const real zero = rset(0);
    const state_bar *add = &A->fresh_bar;
    clear_bar(m, add);
    for (int k = 0; k < m->nv; k++) A->tau_bar[k] = zero;
    if (any_of(A->found)) {
        stage_bar bar;
        bar.q = add->q, bar.rate = add->v, bar.V = add->V, bar.tau = A->tau_bar;
        keep_gathered(m, A->untouched, false, A->found);
        old_pullback(m, &A->first, before_bar->old_rate, before_bar->old, &bar);
        keep_gathered(m, A->untouched, true, A->found);
    }
    for (int k = 0; k < m->nv; k++) {
        real *old = &before_bar->old_rate[k];
        before_bar->q[k] = before_bar->q[k] + sel(A->found, add->q[k], zero);
        before_bar->v[k] = before_bar->v[k] + sel(A->found, add->v[k], sel(A->fresh, *old, zero));
        tau_bar[k] = tau_bar[k] + sel(A->found, A->tau_bar[k], zero);
        *old = sel(A->fresh, zero, *old);
    }
    for (int k = 0; k < masses_of(m); k++) {
        rate_pose *old = &before_bar->old[k];
        const rate_pose x = sel_rate(A->found, add->V[k], sel_rate(A->fresh, *old, zero_rate()));
        before_bar->V[k] = columns_add_scaled(before_bar->V[k], x, rset(1));
        *old = sel_rate(A->fresh, zero_rate(), *old);
    }
}

/// A step of one stage whose rates were projected: q' and the velocities nearest to the chords, from which the state then starts
/// anew.
KERNEL void projected_pullback(const lane_model *m, ladder_adjoint *A, const position_state *before, const position_state *after,
                               const state_bar *after_bar, const state_bar *before_bar, real *tau_bar)
{
    projection_pullback(m, &A->chord, after, after_bar, &A->projection, A->q_bar, A->v_bar, &A->chord_bar);
    for (int k = 0; k < m->nwound; k++) A->chord_bar.wound[k] = after_bar->wound[k];
    for (int k = 0; k < m->nv && m->rubs; k++) A->chord_bar.z[k] = after_bar->z[k];
    if (m->ncontact || m->npair) touching_pullback(m, &A->again, &A->one, &A->touch, before, &A->chord_bar, before_bar, tau_bar);
    else position_pullback(m, &A->one, before, &A->chord_bar, before_bar, tau_bar);
}

/// After ladder_prepare(): gradients by the state before the step, and added to tau_bar [nv], from those by the state after it.
KERNEL void ladder_pullback(const lane_model *m, ladder_adjoint *A, const position_state *before, const position_state *after,
                            const state_bar *after_bar, const state_bar *before_bar, real *tau_bar)
{
    const bool old = before_bar->old != NULL;
    clear_seen(m, &A->one.W, A->one.seen);
    if (A->by_alpha) {
        if (m->ncontact)
            alpha_touching_pullback(m, &A->again.part.rule, before, &A->again.end, after->slip, &A->one, &A->touch, &A->alpha,
                                    after_bar, before_bar, tau_bar);
        else alpha_pullback(m, &A->again.part.rule, before, after->V, &A->one, &A->alpha, after_bar, before_bar, tau_bar);
        for (int k = 0; k < m->nslot; k++) before_bar->pair_slip[k] = zero3(), before_bar->pair_press[k] = rset(0);
        clock_now(m, A->again.part.rule.h, 0), hold_wound(m, before->wound);
        begin_pullback(m, before, &A->again.id, &A->again.loads, &A->alpha, before_bar, tau_bar);
    } else if (before_bar->A) {
        clear_bar(m, before_bar);
        fold_restart(m, A->one.W.in.h, after->V, after_bar, &A->one, &A->alpha);
        projected_pullback(m, A, before, after, &A->alpha.after, before_bar, tau_bar);
        restart_pullback(m, A->one.W.in.h, after_bar, &A->one.W, before_bar);
    } else if (A->staged) {
        stage_bar bar;
        bar.q = before_bar->q, bar.tau = tau_bar, bar.slip = before_bar->slip;
        bar.rate = old ? before_bar->old_rate : before_bar->v, bar.V = old ? before_bar->old : before_bar->V;
        clear_bar(m, before_bar);
        for (int k = 0; k < m->nslot; k++)
            before_bar->pair_slip[k] = after_bar->pair_slip[k], before_bar->pair_press[k] = after_bar->pair_press[k];
        for (int k = 0; k < m->nv && old; k++) bar.rate[k] = rset(0);
        for (int k = 0; k < masses_of(m) && old; k++) bar.V[k] = zero_rate();
        state_bar held = *after_bar;
        stage_begin_pullback(m, &A->more, after_bar);
        if (before_bar->gain) stage_gain_pullback(m, &A->more, after->gain, after_bar->gain, &bar);
        if (m->ncontact) {
            stage_hold_pullback(m, &A->more, &A->touch.hold, after_bar, &bar);
            hold_start_pullback(m, &A->touch.hold, before->V, before->rate, before_bar);
            held.V = A->touch.hold.V, held.v = A->touch.hold.rate;
        }
        stage_pullback(m, &A->more, &held, &bar);
    } else {
        if (A->projected) projected_pullback(m, A, before, after, after_bar, before_bar, tau_bar);
        else if (m->ncontact || m->npair)
            touching_pullback(m, &A->again, &A->one, &A->touch, before, after_bar, before_bar, tau_bar);
        else position_pullback(m, &A->one, before, after_bar, before_bar, tau_bar);
        for (int k = 0; k < m->nv && old; k++) before_bar->old_rate[k] = after_bar->old_rate[k];
        for (int k = 0; k < masses_of(m) && old; k++) before_bar->old[k] = after_bar->old[k];
    }
    if (old) fresh_pullback(m, A, before_bar, tau_bar);
}

#endif
