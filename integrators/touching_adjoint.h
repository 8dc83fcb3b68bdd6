/// The adjoint of a step of one stage of a model that touches, the ground or obstacles or its own links: it has several solves, of
/// which the state after it tells the last one alone.
///
///     guess -> solve -> what it corrects, or brings up -> solve -> ... -> the solution -> what is remembered, velocities that are held
///
/// Each solve is made once more, and kept with its factors; backwards there is a transposed solve at each, and between them what
/// they hand on: normal forces and where friction stands (contact_adjoint.h, pair_adjoint.h). (docs/theory.md 4.12, 4.14)
#ifndef CATENA_TOUCHING_ADJOINT_H
#define CATENA_TOUCHING_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "integrators/alpha_adjoint.h"
#include "integrators/collocation.h"
#include "integrators/contact_adjoint.h"
#include "integrators/hold_adjoint.h"
#include "integrators/pair_adjoint.h"
#include "integrators/pose_pullback.h"
#include "integrators/position_adjoint.h"
#include "integrators/position_step.h"
#include "integrators/step_part.h"

#include <catena/batch.h>

/// Solves of a step before the last one that are gone back through: each has corrected friction, or has brought up elements that
/// nobody had looked at. A step of more has no derivative.
enum { MOST_LEADS = MOST_PASSES + 2 };

/// Scratch of one lane block, besides the last solve.
typedef struct {
    position_adjoint lead[MOST_LEADS];  // the solves before the last one, in turn,
    mask joins[MOST_LEADS];             // where they have brought up elements, and corrected nothing,
    int leads;                          // for how many there is room,
    real solves;                        // and how many there were
    rate_pose *V;                       // [bodies with mass]
    real *guess_x, *guess_u;            // of links that touch each other: the first guess [nq], [nv],
    mask cut, whole;                    // where it was cut off, and where rates leave a gain for the next one
    hold_adjoint hold;
} touching_adjoint;

FN mask same_numbers(const real *a, const real *b, int n)
{
    mask same = not_(none_of());
    for (int k = 0; k < n; k++) same = both(same, le(magnitude(a[k] - b[k]), rset(0)));
    return same;
}

/// As position_prepare(), with what the part in P aims at, of alpha.
KERNEL void aimed_prepare(const lane_model *m, const alpha_rule *r, const position_state *before, const real *tau,
                          const position_work *P, const real *x, const real *u, const real *f, position_adjoint *A)
{
    solve *W = &A->W;
    for (int e = 0; e < m->nrow; e++) W->between.force[e] = f[e];
    start_from(before, tau, W);
    find_placements(m, before->q, W->start);
    set_step_size(W, r->h);
    W->turn = P->W.turn;
    W->in.x = A->x, W->in.u = A->u, W->in.k2 = r->c, W->in.drag = r->s;
    W->V = P->aim, W->in.rate = P->aim_rate, W->in.slack = P->slack, W->in.half_turn = P->half_turn;
    W->in.push = P->push, W->in.wind = P->wind, W->drift = P->drift;
    start_step(m, W);
    const position_state seen = seen_from_frames(before, W);
    aim_wrenches(m, r, &seen, W), aim_lengths(m, r, &seen, W);
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
/// on that, was not cut off before bodies met. Leaves bodies at that guess in L.
KERNEL mask has_touching_derivative(const lane_model *m, ladder_work *L, touching_adjoint *A)
{
    const solve *const first = &A->lead[0].W;
    mask has = le(A->solves, rset(A->leads));
    if (!m->npair) return not_(none_of());
    for (int k = 0; k < m->nq; k++) L->one.x[k] = A->guess_x[k];
    for (int k = 0; k < m->nv; k++) L->one.u[k] = A->guess_u[k];
    place_bodies(m, &L->one.W);
    for (int k = 0; k < first->between.touches; k++) has = both(has, not_(both(A->cut, stands_ahead(&first->between.touch[k]))));
    return has;
}

/// The step of order 2, or of alpha, of a model that touches: the state does not tell the solutions whose normal forces have
/// corrected friction. Where the last one did not, as it would have changed nothing, it is the step's. Afterwards, of order 2,
/// has_touching_derivative().
KERNEL mask touching_prepare(const lane_model *m, const ctn_batch_config *cfg, real h, bool alpha, position_state *before,
                             const position_state *after, const real *tau, ladder_work *L, position_adjoint *one,
                             touching_adjoint *A)
{
    newton_progress N = no_newton();
    position_counts count = no_counts();
    const mask all = not_(none_of());
    start_from(before, tau, &L->one.W);
    find_placements(m, before->q, L->one.W.start);
    begin_part(m, cfg, h, before, L, all);
    enter_rung(m, NULL, alpha, before, L);
    guess_part(m, before, L, all, all);
    A->cut = joins(m) ? guess_between(m, before, &L->one, all) : none_of();
    for (int k = 0; k < m->nq && m->npair; k++) A->guess_x[k] = L->one.x[k];
    for (int k = 0; k < m->nv && m->npair; k++) A->guess_u[k] = L->one.u[k];
    for (int p = 0; p < A->leads; p++) A->lead[p].W.between.touches = 0, A->joins[p] = none_of();
    one->W.between.touches = 0;
    begin_newton(&N, all);
    while (any_of(N.running)) {
        const real made = solves_before(m, &N, &L->one), late = L->one.W.between.late;
        for (int p = 0; p < A->leads; p++) keep_given(m, &L->one.W, both(N.running, is_count(made, p)), &A->lead[p].W);
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
    keep_given(m, &L->one.W, all, &one->W);
    for (int p = 0; p < A->leads; p++) keep_given(m, &L->one.W, le(A->solves, rset(p)), &A->lead[p].W);
    for (int p = 0; p < A->leads && m->npair; p++) keep_list(&one->W, none_of(), &A->lead[p].W);
    if (alpha && any_of(unwind(m, &L->one, all))) find_placements(m, L->one.x, L->one.W.now);
    for (int p = 0; p < A->leads; p++) keep_solution(m, &L->one, le(made, rset(p)), &A->lead[p]);
    mask factored = all;
    for (int p = -1; p < A->leads; p++) {  // -1: the solution
        position_adjoint *const to = p < 0 ? one : &A->lead[p];
        const real *const x = p < 0 ? L->one.x : to->x, *const u = p < 0 ? L->one.u : to->u,
                          *const f = p < 0 ? L->one.W.between.force : to->W.between.force;
        const mask solved = gt(A->solves, rset(p));
        if (!any_of(solved)) continue;
        if (alpha) aimed_prepare(m, &L->part.rule, before, tau, &L->one, x, u, f, to);
        else position_prepare(m, h, before, x, u, f, tau, to);
        if (joins(m)) factored = both(factored, either(not_(solved), to->factored));
    }
    if (alpha) end_rates_of_alpha(m, &L->part.rule, before, &L->one, &L->end);
    const solved_part Q = solution_with(m, L, NULL);
    if (m->ncontact) end_touches(m, &L->one.W);
    if (holds_energy(m)) find_kept(m, before, &Q, h, A->hold.kept);
    else keep_all(m, A->hold.kept);
    clock_now(m, h, 1);
    const mask found = both(both(N.converged, factored), same_numbers(L->one.x, after->q, m->nq));
    A->whole = le(rset(cfg->dt), h);
    for (int k = 0; k < m->ncontact; k++) A->whole = both(A->whole, le(after->press[k], rset(0)));
    for (int k = 0; k < m->nslot; k++) A->whole = both(A->whole, le(after->pair_press[k], rset(0)));
    return alpha ? both(found, not_(held_unbooked(m, A->hold.kept, false))) : found;
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

/// The gradients that `one` has left by what solves before it have found, normal forces and planes of friction, and how much elements
/// count that these have brought up, go on through these solves, one after the other.
KERNEL void leads_pullback(const lane_model *m, const position_adjoint *one, touching_adjoint *A, const state_bar *before_bar,
                           real *tau_bar)
{
    const contact_bars *by = &one->bars;
    const solve *next = &one->W;
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
        solve_pullback(m, lead, A->V, before_bar, tau_bar);
        for (int k = 0; k < masses_of(m); k++) before_bar->V[k] = columns_add_scaled(before_bar->V[k], A->V[k], rset(1));
        by = &lead->bars, next = &lead->W;
    }
    for (int k = 0; k < m->ncontact; k++) before_bar->press[k] = by->lag[k];
    start_face_pullback(m, &A->lead[0].W, by->face, &A->lead[0].P, before_bar->q);
}

/// Of what the rates have changed by: adds to the gradients by rates after the step, rate [nv], and before it.
KERNEL void gain_pullback(const lane_model *m, const solve *W, mask whole, const real *gain, real *rate, const state_bar *before)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const vec3 w = chord_rates(b, W);
        const real to[3] = {w.x, w.y, w.z};
        for (int k = 0; k < b->nv; k++) {
            const int j = b->vadr + k;
            const real change = to[k] - W->in.rate[j];
            const mask lasts = only_slides(b) ? whole : both(whole, le(magnitude(change), W->in.inv_h));
            const real by = sel(lasts, gain[j], rset(0));
            rate[j] = rate[j] + by, before->v[j] = before->v[j] - by;
        }
    }
}

/// Of the first guess q (+) h (rate + gain), with the gradient g [nv] by turns and places there. Alpha has no gradients by gains:
/// its guess, of order 2, is q.
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
            if (!before->gain) continue;
            before->v[j + k] = fmadd(h, by[k], before->v[j + k]), before->gain[j + k] = fmadd(h, by[k], before->gain[j + k]);
        }
    }
}

/// What is left of links that touch each other after the first solve: by the start, and by the first guess.
KERNEL void first_touches_pullback(const lane_model *m, const ladder_work *L, const position_adjoint *one, touching_adjoint *A,
                                   const position_state *start, const state_bar *before)
{
    position_adjoint *const lead = &A->lead[0];
    for (int k = 0; k < m->nv; k++) lead->b[k] = rset(0);
    touch_start_pullback(m, &lead->W, &one->W, &L->one.W, &lead->P, &lead->touch, before->pair_slip, before->pair_press,
                         before->q, lead->b);
    guess_pullback(m, &lead->W, start, lead->b, before);
}

/// After touching_prepare(): as position_pullback().
KERNEL void touching_pullback(const lane_model *m, const ladder_work *L, position_adjoint *one, touching_adjoint *A,
                              const position_state *start, const state_bar *after, const state_bar *before, real *tau_bar)
{
    clock_now(m, one->W.in.h, 1);
    position_begin_pullback(m, one, after, before);
    one->bars.slip = before->slip;
    clear_contact_bars(m, &one->bars), clear_pair_bars(m->npair ? one->W.between.touches : 0, &one->touch);
    for (int k = 0; k < m->nv && before->gain; k++) before->gain[k] = rset(0);
    for (int k = 0; k < m->nslot; k++) before->pair_slip[k] = zero3(), before->pair_press[k] = rset(0);
    step_bent_pullback(m, one, after->z, before->q);
    contact_memory_pullback(m, &one->W, after->slip, after->press, &one->P, &one->bars, one->b, before->q);
    if (m->npair) touch_memory_pullback(m, &one->W, after->pair_slip, after->pair_press, &one->P, &one->touch, one->b, before->q);
    hold_pullback(m, one, &A->hold, after, before, tau_bar);
    if (before->gain) gain_pullback(m, &one->W, A->whole, after->gain, A->hold.rate, before);
    step_wound_pullback(m, one, A->hold.wound, before->q, NULL);
    leave_frames_pullback(m, &one->W, A->hold.V, NULL, NULL, one->seen, &one->P, one->b);
    way_pullback(m, one, A->hold.V, A->hold.rate, one->W.in.inv_h, before->q);
    solve_pullback(m, one, before->V, before, tau_bar);
    leads_pullback(m, one, A, before, tau_bar);
    if (m->npair) first_touches_pullback(m, L, one, A, start, before);
    enter_frames_pullback(m, &one->W, start, one->seen, &one->P, before);
    hold_start_pullback(m, &A->hold, start->V, start->rate, before);
}

#endif
