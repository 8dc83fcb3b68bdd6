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

#include <catena/batch.h>

/// Solves of a step before the last one that are gone back through: each has corrected friction, or has brought up elements that
/// nobody had looked at. A step of more has no derivative.
enum { MOST_LEADS = MOST_PASSES + 2 };

/// Scratch of one lane block.
typedef struct {
    position_adjoint one;
    position_adjoint lead[MOST_LEADS];  // of models that touch: the solves before `one`, in turn,
    mask joins[MOST_LEADS];             // where they have brought up elements, and corrected nothing,
    int leads;                          // for how many there is room,
    real solves;                        // and how many there were
    rate_pose *lead_V;                  // [bodies with mass]
    mask whole;                         // of links that touch each other: where rates leave a gain
    hold_adjoint hold;                  // of these, too
    stage_adjoint more, first;          // the stages; the step back in time to the old point of collocation
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

FN mask same_numbers(const real *a, const real *b, int n)
{
    mask same = not_(none_of());
    for (int k = 0; k < n; k++) same = both(same, le(magnitude(a[k] - b[k]), rset(0)));
    return same;
}

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
    A->alpha.fresh = both(gt(before->fresh[0], rset(0)), not_(settles(cfg, before)));
    A->alpha.ratio = sel(A->alpha.fresh, rset(1), h / before->size[0]);
    start_from(before, tau, &L->one.W);
    find_placements(m, before->q, L->one.W.start);
    begin_part(m, cfg, h, before, L, all);
}

/// The step of alpha, of which the state tells all, once more.
KERNEL mask alpha_prepare(const lane_model *m, const ctn_batch_config *cfg, const position_state *before,
                          const position_state *after, ladder_adjoint *A)
{
    ladder_work *L = &A->again;
    enter_rung(m, NULL, true, before, L);
    for (int k = 0; k < m->nq; k++) L->one.x[k] = after->q[k];
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = 0; k < b->nv && b->kind != JOINT_BALL; k++)
            L->one.u[b->vadr + k] = after->q[b->qadr + k] - before->q[b->qadr + k];
    }
    A->one.W = L->one.W;
    A->by_alpha = true;
    return solves_step(cfg, position_factor(m, &A->one));
}

/// The same with what the part in P aims at, of alpha.
KERNEL void aimed_prepare(const lane_model *m, const alpha_rule *r, const position_state *before, const real *tau,
                          const position_work *P, const real *x, const real *u, position_adjoint *A)
{
    solve *W = &A->W;
    start_from(before, tau, W);
    find_placements(m, before->q, W->start);
    set_step_size(W, r->h);
    W->turn = P->W.turn;
    W->in.x = A->x, W->in.u = A->u, W->in.k2 = r->c, W->in.drag = r->s;
    W->V = P->aim, W->in.rate = P->aim_rate, W->in.slack = P->slack, W->in.half_turn = P->half_turn;
    W->in.push = P->push, W->in.wind = P->wind, W->drift = P->drift;
    start_step(m, W);
    const position_state seen = seen_from_frames(before, W);
    aim_wrenches(m, r, &seen, W);
    for (int k = 0; k < m->nq; k++) A->x[k] = x[k];
    for (int k = 0; k < m->nv; k++) A->u[k] = u[k];
    position_factor(m, A);
}

/// What the solve in hand was given of friction, in the lanes `where`: normal forces, and where it stands.
KERNEL void keep_given(const lane_model *m, const solve *from, mask where, solve *W)
{
    if (!any_of(where)) return;
    for (int k = 0; k < m->ncontact; k++) W->lag[k] = sel(where, from->lag[k], W->lag[k]);
    for (int k = 0; k < m->ncontact && m->nsurface; k++) W->face[k] = sel3(where, from->face[k], W->face[k]);
    if (m->npair) keep_list(from, where, W);
}

/// Where it has led, likewise.
KERNEL void keep_solution(const lane_model *m, const position_work *P, mask where, position_adjoint *to)
{
    for (int k = 0; k < m->nq; k++) to->x[k] = sel(where, P->x[k], to->x[k]);
    for (int k = 0; k < m->nv; k++) to->u[k] = sel(where, P->u[k], to->u[k]);
    for (int k = 0; k < m->nrow; k++) to->W.between.force[k] = sel(where, P->W.between.force[k], to->W.between.force[k]);
}

/// How many solves there were before the one in hand.
FN real solves_before(const lane_model *m, const newton_progress *N, const position_work *P)
{
    if (m->npair) return P->W.between.passes + P->W.between.late;
    return sel(N->corrected, rset(1), rset(0));
}
FN mask is_count(real x, int n) { return both(le(x, rset(n)), le(rset(n), x)); }

/// Where a step of links that touch each other has a derivative: it had not too many solves, and its first guess, where friction stands
/// on that, was not cut off before bodies met. Leaves bodies at that guess, x and u, in A->again.
KERNEL mask has_touching_derivative(const lane_model *m, const real *x, const real *u, mask cut, ladder_adjoint *A)
{
    const solve *const first = &A->lead[0].W;
    mask has = le(A->solves, rset(A->leads));
    for (int k = 0; k < m->nq; k++) A->again.one.x[k] = x[k];
    for (int k = 0; k < m->nv; k++) A->again.one.u[k] = u[k];
    place_bodies(m, &A->again.one.W);
    for (int k = 0; k < first->between.touches; k++) has = both(has, not_(both(cut, stands_ahead(&first->between.touch[k]))));
    return has;
}

/// The step of order 2, or of alpha, of a model that touches: the state does not tell the solutions whose normal forces have
/// corrected friction. Where the last one did not, as it would have changed nothing, it is the step's.
KERNEL mask touching_prepare(const lane_model *m, const ctn_batch_config *cfg, real h, bool alpha, position_state *before,
                             const position_state *after, const real *tau, ladder_adjoint *A)
{
    ladder_work *L = &A->again;
    newton_progress N = no_newton();
    position_counts count = no_counts();
    const mask all = not_(none_of());
    mask cut = none_of();
    start_from(before, tau, &L->one.W);
    find_placements(m, before->q, L->one.W.start);
    begin_part(m, cfg, h, before, L, all);
    enter_rung(m, NULL, alpha, before, L);
    guess_part(m, before, L, all, all);
    if (joins(m)) cut = guess_between(m, before, &L->one, all);
    for (int k = 0; k < m->nq && m->npair; k++) A->chord.q[k] = L->one.x[k];
    for (int k = 0; k < m->nv && m->npair; k++) A->chord.rate[k] = L->one.u[k];
    for (int p = 0; p < A->leads; p++) A->lead[p].W.between.touches = 0, A->joins[p] = none_of();
    A->one.W.between.touches = 0;
    begin_newton(&N, all);
    while (any_of(N.running)) {
        const real made = solves_before(m, &N, &L->one), late = L->one.W.between.late;
        for (int p = 0; p < A->leads; p++) keep_given(m, &L->one.W, is_count(made, p), &A->lead[p].W);
        pass_part(m, cfg, &N, L, &count);
        const mask now = lt(made, solves_before(m, &N, &L->one));
        for (int p = 0; p < A->leads && any_of(now); p++) {
            const mask here = both(now, is_count(made, p));
            keep_solution(m, &L->one, here, &A->lead[p]);
            if (m->npair) A->joins[p] = either(A->joins[p], both(here, lt(late, L->one.W.between.late)));
        }
    }
    const real made = solves_before(m, &N, &L->one);
    A->solves = made + sel(N.corrected, rset(0), rset(1));
    keep_given(m, &L->one.W, all, &A->one.W);
    for (int p = 0; p < A->leads; p++) keep_given(m, &L->one.W, le(A->solves, rset(p)), &A->lead[p].W);
    for (int p = 0; p < A->leads && m->npair; p++) keep_list(&A->one.W, none_of(), &A->lead[p].W);
    if (alpha && any_of(unwind(m, &L->one, all))) find_placements(m, L->one.x, L->one.W.now);
    for (int p = 0; p < A->leads; p++) keep_solution(m, &L->one, le(made, rset(p)), &A->lead[p]);
    if (alpha) {
        aimed_prepare(m, &L->part.rule, before, tau, &L->one, L->one.x, L->one.u, &A->one);
        aimed_prepare(m, &L->part.rule, before, tau, &L->one, A->lead[0].x, A->lead[0].u, &A->lead[0]);
        end_rates_of_alpha(m, &L->part.rule, before, &L->one, &L->end);
    } else position_prepare(m, h, before, L->one.x, L->one.u, L->one.W.between.force, tau, &A->one);
    mask factored = joins(m) ? A->one.factored : all;
    for (int p = 0; p < A->leads && !alpha; p++) {
        position_adjoint *const lead = &A->lead[p];
        const mask solved = gt(A->solves, rset(p));
        if (!any_of(solved)) continue;
        position_prepare(m, h, before, lead->x, lead->u, lead->W.between.force, tau, lead);
        if (joins(m)) factored = both(factored, either(not_(solved), lead->factored));
    }
    const solved_part Q = solution_with(m, L, NULL);
    if (m->ncontact) end_touches(m, &L->one.W);
    if (holds_energy(m)) find_kept(m, before, &Q, h, A->hold.kept);
    else keep_all(m, A->hold.kept);
    clock_now(m, h, 1);
    mask found = both(both(N.converged, factored), same_numbers(L->one.x, after->q, m->nq));
    if (m->npair) {
        A->whole = le(rset(cfg->dt), h);
        for (int k = 0; k < m->ncontact; k++) A->whole = both(A->whole, le(after->press[k], rset(0)));
        for (int k = 0; k < m->nslot; k++) A->whole = both(A->whole, le(after->pair_press[k], rset(0)));
        found = both(found, has_touching_derivative(m, A->chord.q, A->chord.rate, cut, A));
    }
    return alpha ? both(found, not_(held_unbooked(m, A->hold.kept, false))) : found;
}

/// A step of alpha's, or of order 2 in the place of one of alpha or of several stages, of a model that touches.
KERNEL mask touching_part(const lane_model *m, const ctn_batch_config *cfg, real h, bool alpha, position_state *before,
                          const position_state *after, const real *tau, ladder_adjoint *A)
{
    const mask skipped = settles(cfg, before), found = touching_prepare(m, cfg, h, alpha, before, after, tau, A);
    A->by_alpha = alpha;
    if (alpha) return both(found, not_(skipped));
    keep_chord(m, before, A);
    hold_energy(m, &A->chord, A->hold.kept, not_(none_of()));
    return found;
}

/// Finds what trees keep of the velocities that the stages end with. Returns where the books of those that are held are known.
KERNEL mask find_kept_of_stages(const lane_model *m, const position_state *before, ladder_adjoint *A)
{
    stage_work *P = &A->again.more;
    for (int i = 0; i < m->nbody; i++) P->rate[i] = end_rate(&m->bodies[i], P, i);
    clock_now(m, P->W.in.h, 1);
    const solved_part Q = solution_with(m, &A->again, end_rates(m, P));
    find_kept(m, before, &Q, P->W.in.h, A->hold.kept);
    return not_(held_unbooked(m, A->hold.kept, true));
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
        if (m->ncontact) return touching_part(m, cfg, h, false, before, after, tau, A);
    } else if (stages_of(cfg) == 1 && (m->ncontact || m->npair)) return touching_prepare(m, cfg, h, false, before, after, tau, A);
    else if (stages_of(cfg) == 1) {  // the state tells the whole step
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
        enter_rung(m, ladder_rung(cfg, way), false, before, L);
        mask ok = solve_part(m, cfg, before, all, L, &count);
        A->more.P = L->more;
        stage_prepare(m, &A->more);
        if (m->ncontact) ok = both(ok, find_kept_of_stages(m, before, A));
        return both(ok, same_numbers(L->more.x + (L->more.W.table->stages - 1) * m->nq, after->q, m->nq));
    }
    A->projected = true;
    if (m->ncontact) return touching_part(m, cfg, h, false, before, after, tau, A);
    enter_rung(m, NULL, false, before, L);
    const mask ok = solve_part(m, cfg, before, all, L, &count);
    position_prepare(m, h, before, L->one.x, L->one.u, L->one.W.between.force, tau, &A->one);
    keep_chord(m, before, A);
    return both(ok, same_numbers(A->chord.q, after->q, m->nq));
}

FN void clear_bar(const lane_model *m, const state_bar *bar)
{
    for (int k = 0; k < m->nv; k++) bar->q[k] = bar->v[k] = rset(0);
    for (int k = 0; k < masses_of(m); k++) bar->V[k] = zero_rate();
    for (int k = 0; k < m->nbent; k++) bar->slip[k] = zero3();
    for (int k = 0; k < m->ncontact; k++) bar->press[k] = rset(0);
    for (int k = 0; k < m->nv && m->npair; k++) bar->gain[k] = rset(0);
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
    position_output_pullback(m, before, q_bar, v_bar, A, before_bar);
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

/// The gradients of `by` by normal forces and planes of friction are those of `to` but in the lanes `where`, in which they go on.
KERNEL void pass_contact_bars(const lane_model *m, const contact_bars *by, mask where, const contact_bars *to)
{
    for (int k = 0; k < m->ncontact; k++) {
        to->lag[k] = sel(where, rset(0), by->lag[k]), by->lag[k] = sel(where, by->lag[k], rset(0));
        if (!m->nsurface) continue;
        to->face[k] = sel3(where, zero3(), by->face[k]), by->face[k] = sel3(where, by->face[k], zero3());
    }
}

/// The gradients that A->one has left by what solves before it have found, normal forces and planes of friction, and how much elements
/// count that these have brought up, go on through these solves, one after the other.
KERNEL void leads_pullback(const lane_model *m, ladder_adjoint *A, const state_bar *before_bar, real *tau_bar)
{
    const contact_bars *by = &A->one.bars;
    const solve *next = &A->one.W;
    for (int p = A->leads - 1; p >= 0; p--) {
        position_adjoint *const lead = &A->lead[p];
        const mask solved = gt(A->solves, rset(p)), brings = both(solved, A->joins[p]), where = both(solved, not_(brings));
        if (!any_of(solved)) continue;
        for (int k = 0; k < m->nv; k++) lead->b[k] = rset(0);
        lead->bars.slip = before_bar->slip;
        if (m->ncontact) {
            pass_contact_bars(m, by, where, &lead->bars);
            correction_pullback(m, &lead->W, by, &lead->bars, &lead->P, lead->b, before_bar->q);
        }
        if (m->npair) touch_correction_pullback(m, &lead->W, where, &lead->P, &lead->touch, lead->b);
        if (any_of(brings)) touch_joining_pullback(m, &lead->W, next, brings, &lead->P, &lead->touch, lead->b);
        solve_pullback(m, lead, A->lead_V, before_bar, tau_bar);
        for (int k = 0; k < masses_of(m); k++) before_bar->V[k] = columns_add_scaled(before_bar->V[k], A->lead_V[k], rset(1));
        by = &lead->bars, next = &lead->W;
    }
    for (int k = 0; k < m->ncontact; k++) before_bar->press[k] = by->lag[k];
    start_face_pullback(m, &A->lead[0].W, by->face, &A->lead[0].P, before_bar->q);
}

/// Of what the rates have changed by: adds to the gradients by rates after the step, rate [nv], and before it.
KERNEL void gain_pullback(const lane_model *m, const ladder_adjoint *A, const real *gain, real *rate, const state_bar *before)
{
    const solve *W = &A->one.W;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const vec3 w = chord_rates(b, W);
        const real to[3] = {w.x, w.y, w.z};
        for (int k = 0; k < b->nv; k++) {
            const int j = b->vadr + k;
            const real change = to[k] - W->in.rate[j];
            const mask lasts = only_slides(b) ? A->whole : both(A->whole, le(magnitude(change), W->in.inv_h));
            const real by = sel(lasts, gain[j], rset(0));
            rate[j] = rate[j] + by, before->v[j] = before->v[j] - by;
        }
    }
}

/// Of the first guess q (+) h (rate + gain), with the gradient g [nv] by turns and places there.
KERNEL void guess_pullback(const lane_model *m, const solve *W, const position_state *start, const real *g,
                           const state_bar *before)
{
    const real h = W->in.h;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        real by[3];
        for (int k = 0; k < b->nv; k++) by[k] = g[j + k];
        if (b->kind == JOINT_BALL) {
            const vec3 d = scale(add(load3(start->rate + j), load3(start->gain + j)), h), x = load3(by);
            add3(before->q + j, mul(quat_rotation(quat_exp(d)), x));
            store3(by, exp_pullback(d, x));
        }
        for (int k = 0; k < b->nv; k++) {
            if (b->kind != JOINT_BALL) before->q[j + k] = before->q[j + k] + by[k];
            before->v[j + k] = fmadd(h, by[k], before->v[j + k]), before->gain[j + k] = fmadd(h, by[k], before->gain[j + k]);
        }
    }
}

/// What is left of links that touch each other after the first solve: by the start, and by the first guess.
KERNEL void first_touches_pullback(const lane_model *m, ladder_adjoint *A, const position_state *start, const state_bar *before)
{
    position_adjoint *const lead = &A->lead[0];
    for (int k = 0; k < m->nv; k++) lead->b[k] = rset(0);
    touch_start_pullback(m, &lead->W, &A->one.W, &A->again.one.W, &lead->P, &lead->touch, before->pair_slip, before->pair_press,
                         before->q, lead->b);
    guess_pullback(m, &lead->W, start, lead->b, before);
}

/// After touching_prepare(): as position_pullback().
KERNEL void touching_pullback(const lane_model *m, ladder_adjoint *A, const position_state *start, const state_bar *after,
                              const state_bar *before, real *tau_bar)
{
    position_adjoint *one = &A->one;
    clock_now(m, one->W.in.h, 1);
    position_begin_pullback(m, one, after, before);
    one->bars.slip = before->slip;
    clear_contact_bars(m, &one->bars), clear_pair_bars(m->npair ? one->W.between.touches : 0, &one->touch);
    for (int k = 0; k < m->nv && m->npair; k++) before->gain[k] = rset(0);
    for (int k = 0; k < m->nslot; k++) before->pair_slip[k] = zero3(), before->pair_press[k] = rset(0);
    step_bent_pullback(m, one, after->z, before->q);
    contact_memory_pullback(m, &one->W, after->slip, after->press, &one->P, &one->bars, one->b, before->q);
    if (m->npair) touch_memory_pullback(m, &one->W, after->pair_slip, after->pair_press, &one->P, &one->touch, one->b, before->q);
    hold_pullback(m, one, &A->hold, after, before, tau_bar);
    if (m->npair) gain_pullback(m, A, after->gain, A->hold.rate, before);
    step_wound_pullback(m, one, A->hold.wound, before->q, NULL);
    leave_frames_pullback(m, &one->W, A->hold.V, NULL, NULL, one->seen, &one->P, one->b);
    way_pullback(m, one, A->hold.V, A->hold.rate, one->W.in.inv_h, before->q);
    solve_pullback(m, one, before->V, before, tau_bar);
    leads_pullback(m, A, before, tau_bar);
    if (m->npair) first_touches_pullback(m, A, start, before);
    enter_frames_pullback(m, &one->W, start, one->seen, &one->P, before);
    hold_start_pullback(m, &A->hold, start->V, start->rate, before);
}

/// A step of one stage whose rates were projected: q' and the velocities nearest to the chords, from which the state then starts
/// anew.
KERNEL void projected_pullback(const lane_model *m, ladder_adjoint *A, const position_state *before, const position_state *after,
                               const state_bar *after_bar, const state_bar *before_bar, real *tau_bar)
{
    projection_pullback(m, &A->chord, after, after_bar, &A->projection, A->q_bar, A->v_bar, &A->chord_bar);
    for (int k = 0; k < m->nwound; k++) A->chord_bar.wound[k] = after_bar->wound[k];
    for (int k = 0; k < m->nv && m->rubs; k++) A->chord_bar.z[k] = after_bar->z[k];
    if (m->ncontact) touching_pullback(m, A, before, &A->chord_bar, before_bar, tau_bar);
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
            alpha_touching_pullback(m, &A->again.part.rule, before, &A->again.end, after->slip, &A->one, &A->lead[0], &A->hold,
                                    &A->alpha, after_bar, before_bar, tau_bar);
        else alpha_pullback(m, &A->again.part.rule, before, after->V, &A->one, &A->alpha, after_bar, before_bar, tau_bar);
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
        for (int k = 0; k < m->nv && old; k++) bar.rate[k] = rset(0);
        for (int k = 0; k < masses_of(m) && old; k++) bar.V[k] = zero_rate();
        state_bar held = *after_bar;
        stage_begin_pullback(m, &A->more, after_bar);
        if (m->ncontact) {
            stage_hold_pullback(m, &A->more, &A->hold, after_bar, &bar);
            hold_start_pullback(m, &A->hold, before->V, before->rate, before_bar);
            held.V = A->hold.V, held.v = A->hold.rate;
        }
        stage_pullback(m, &A->more, &held, &bar);
    } else {
        if (A->projected) projected_pullback(m, A, before, after, after_bar, before_bar, tau_bar);
        else if (m->ncontact || m->npair) touching_pullback(m, A, before, after_bar, before_bar, tau_bar);
        else position_pullback(m, &A->one, before, after_bar, before_bar, tau_bar);
        for (int k = 0; k < m->nv && old; k++) before_bar->old_rate[k] = after_bar->old_rate[k];
        for (int k = 0; k < masses_of(m) && old; k++) before_bar->old[k] = after_bar->old[k];
    }
    if (old) fresh_pullback(m, A, before_bar, tau_bar);
}

#endif
