/// One part of a time step with several coupled stages: predict, iterate by Newton's method with line search, commit.
/// (docs/theory.md 5.4)
///
/// All lanes run the same loops and select what differs. There is no energy to minimise with several stages: the line search asks
/// the norm of the residual to fall.
#ifndef CATENA_STAGE_STEP_H
#define CATENA_STAGE_STEP_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "integrators/collocation.h"
#include "integrators/follow.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_bonds.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_sweep.h"

enum { STAGE_ITERATIONS = 20 };  // a guess that needs more leads to no solution worth having

/// Scratch of one lane block.
typedef struct {
    stages W;
    stage_sweep sweep;
    real *x, *u, *base, *base_u;  // [stages][nq], [stages][nv]: the iterate, and where the Newton step starts
    real *d, *fresh;              // [stages][nv]: the Newton step, and the one that a sweep finds
    whereabouts *at;              // [nbody][stages] of steps that are followed: where they start
    real residual;                // at the solution
    rate_pose *rate;              // [nbody] Euclidean rates at the end of the step that is being accepted
} stage_work;

/// x = base (+) alpha d in the lanes `where`; u follows.
KERNEL void move_stages(const lane_model *m, stage_work *P, real alpha, mask where)
{
    for (int a = 0; a < P->W.table->stages; a++) {
        const int q = a * m->nq, v = a * m->nv;
        const moving one = {P->x + q, P->u + v, P->base + q, P->base_u + v, P->d + v, P->W.in.q};
        move_stage(m, &one, alpha, where);
    }
}

/// One body of follow_stages().
FN void follow_stage_body(const lane_model *m, stage_work *P, real alpha, int i, mask where)
{
    stages *W = &P->W;
    const int s = W->table->stages, w = 6 * s;
    const lane_body *b = &m->bodies[i];
    const joint_form f = form_of(b);
    const bool root_body = f.flags & BODY_ROOT;
    const int n = b->nv, up = (root_body ? i : b->parent) * s;
    const real *X = P->sweep.X + b->dof * s * (w + 1);
    real t[MOST_TWIST];
    for (int a = 0; a < s && !root_body; a++) {
        const twist T = carried_along(f, &P->at[up + a], &W->body[up + a].T, W->body[up + a].dp, P->at[i * s + a].T.r);
        store3(t + 6 * a, T.w), store3(t + 6 * a + 3, T.v);
    }
    for (int a = 0; a < s; a++) {
        const int q = a * m->nq, v = a * m->nv;
        const moving one = {P->x + q, P->u + v, P->base + q, P->base_u + v, P->d + v, W->in.q};
        stage_body *at = &W->body[i * s + a], *before = &W->body[up + a];
        real y[3];
        store3(y, zero3());
        for (int k = 0; k < n; k++) {
            const real *x = X + (w + 1) * (n * a + k);
            y[k] = negate(alpha * x[w]);
            for (int j = 0; j < w && !root_body; j++) y[k] = fnmadd(x[j], t[j], y[k]);
        }
        bound_turns(b, y);
        move_joint(b, &one, y, rset(1), where);
        follow_body(b, f, root_body ? NULL : &before->T, &before->dp, one.x, one.u, &W->start[i], where, &at->T, &at->dp);
    }
}

/// The share alpha of the Newton step from `base`, followed, in the lanes `where`.
KERNEL void follow_stages(const lane_model *m, stage_work *P, real alpha, mask where)
{
    for (int i = 0; i < m->nbody; i++) follow_stage_body(m, P, alpha, i, where);
}

/// The first guess in the lanes `where`: joint rates that change as they did at the end of the step before. The lanes `rest`
/// begin at the start of the step, `where` among them.
KERNEL void predict_stages(const lane_model *m, const position_state *S, stage_work *P, mask rest, mask where)
{
    const int s = P->W.table->stages;
    for (int a = 0; a < s; a++) {
        const real t = rset(P->W.table->c[a]) * P->W.in.h, half = rset(0.5 * P->W.table->c[a]);
        const int q = a * m->nq, v = a * m->nv;
        real *d = P->d + v;
        rest_at(m, S->q, rest, P->x + q, P->u + v, P->base + q, P->base_u + v);
        for (int k = 0; k < m->nv; k++) d[k] = sel(rest, t * fmadd(half, S->gain[k], S->rate[k]), d[k]);
        for (int i = 0; i < m->nbody && P->W.frame; i++) {
            const lane_body *b = &m->bodies[i];
            if (!has_frame(b, &P->W)) continue;
            guess_ball(b, P->W.start[i].R, turned_on(b, &P->W.frame[i * s + a], P->W.start[i].R), rest, d);
        }
    }
    move_stages(m, P, rset(1), where);
}

/// Whether an iterate of squared norm `square` is low enough after the share alpha of a step from one of `norm`.
FN mask is_lower(real square, real norm, real alpha) { return le(square, fnmadd(rset(2e-4) * alpha, norm, norm)); }

/// A shorter step in the lanes `rejected`: to the minimum of the parabola through both squared norms and the slope -2 norm; to
/// a tenth where there is no norm. Less than 3 % ends the solve.
FN void shorten_stages(newton_progress *N, mask rejected, real square, real norm)
{
    const real alpha = N->alpha;
    N->hard = either(N->hard, rejected);
    const real rise = square - norm + rset(2) * alpha * norm, fit = alpha * alpha * norm / rise;
    const real half = rset(0.5) * alpha, tenth = rset(0.1) * alpha;
    // an alpha that is no number ends the solve, too: the step d is none
    N->alpha = sel(rejected, sel(gt(fit, half), half, sel(gt(fit, tenth), fit, tenth)), alpha);
    N->running = both(N->running, not_(both(rejected, either(not_(N->based), not_(le(rset(0.03), N->alpha))))));
}

FN int most_stage_iterations(int max_iterations) { return max_iterations < STAGE_ITERATIONS ? max_iterations : STAGE_ITERATIONS; }

/// Rows, and equations, at the iterate; returns and tells what stage_rows() does.
KERNEL real look_at_stages(const lane_model *m, stages *W, real *square)
{
    evaluate_stages(m, W);
    if (W->bonds.row) evaluate_stage_bonds(m, W);
    const real most = stage_rows(m, W, square);
    return W->bonds.row ? stage_bond_rows(m, W, square) : most;
}

/// One iteration, as newton_pass() (position_step.h), with the norm of the scaled rows in the place of the energy.
KERNEL void stage_pass(const lane_model *m, double tolerance, int max_iterations, newton_progress *N, stage_work *P,
                       position_counts *count)
{
    stages *W = &P->W;
    const bool bonds = W->bonds.row;
    const int s = W->table->stages, most_iterations = most_stage_iterations(max_iterations);
    const real one = rset(1), zero = rset(0);
    const real alpha = N->alpha, norm = N->E;
    real square;
    W->glued = m->ncontact ? both(N->running, lt(N->iterations, one)) : none_of();
    const real most = look_at_stages(m, W, &square);
    count_evaluation(count, N->running);
    const mask accepted = takes_iterate(N, le(square, rset(NOT_REACHED)), is_lower(square, norm, alpha), tolerance);
    const mask rejected = both(N->running, not_(accepted));
    const mask full = le(one, alpha), found = are_solved(N, most, W->link, full, tolerance);
    const mask need = settle_iterate(N, accepted, most, found, full, W->too_far, most_iterations, &P->residual);
    if (any_of(need)) {
        const mask follows = both(need, N->hard);
        for (int i = 0; i < s * m->nbody && any_of(follows); i++)
            keep_whereabouts(&P->at[i], &W->body[i].T, W->body[i].dp, follows);
        P->sweep.held = both(both(N->running, N->follows), not_(need));
        const real size = bonds ? stage_bond_newton(m, W, &P->sweep, P->fresh) : stage_newton(m, W, &P->sweep, P->fresh);
        for (int k = 0; k < s * m->nv; k++) P->d[k] = sel(need, P->fresh[k], P->d[k]);
        if (bonds) base_stage_bonds(m, W, need);
        for (int k = 0; k < s * m->nq; k++) P->base[k] = sel(need, P->x[k], P->base[k]);
        for (int k = 0; k < s * m->nv; k++) P->base_u[k] = sel(need, P->u[k], P->base_u[k]);
        base_newton(N, need, square, first_share(m, P->d, s));
        size_newton(N, need, size);
        N->based = both(N->based, not_(W->glued));  // what it was compared with is another friction
    }
    if (any_of(rejected)) {
        count->line_search = count->line_search + sel(rejected, one, zero);
        shorten_stages(N, rejected, square, norm);
    }
    if (bonds) N->hard = none_of();  // a step with forces is not followed
    const mask moves = both(N->running, either(need, rejected)), follows = both(moves, N->follows);
    move_stages(m, P, N->alpha, both(moves, not_(follows)));
    if (any_of(follows)) follow_stages(m, P, N->alpha, follows);
    if (bonds) move_stage_bonds(m, W, N->alpha, moves);
    N->running = both(N->running, may_go_on(count));
}

/// V + the sum of weights [stages] times what body i has moved by at each stage, over h, as it is seen from its frame.
FN rate_pose add_stage_rates(const lane_body *b, rate_pose V, const stage_work *P, int i, const double *weights, double sign)
{
    const stages *W = &P->W;
    const int s = W->table->stages;
    const placement *start = &W->start[i];
    const bool centred = has_frame(b, W) && is_top(b);  // whose centre of mass is seen as it is
    for (int l = 0; l < s; l++) {
        const stage_body *o = &W->body[i * s + l];
        const real d = rset(sign * weights[l]) * W->in.inv_h;
        const mat3 R = *axes_seen(b, W, s, i, l);
        V.R.x = add_scaled(V.R.x, sub(R.x, start->R.x), d);
        V.R.y = add_scaled(V.R.y, sub(R.y, start->R.y), d);
        V.R.z = add_scaled(V.R.z, sub(R.z, start->R.z), d);
        V.p = add_scaled(V.p, o->dp, d);
        if (centred) V.p = add_scaled(V.p, mul(mat3_add_scaled(o->T.R, R, rset(-1)), seen_center(b)), d);
    }
    return V;
}

/// What the carried rate of body i differs by from that of the polynomial through the stages, at the start of the step.
FN rate_pose rate_defect(const lane_body *b, const stage_work *P, int i)
{
    const stages *W = &P->W;
    rate_pose V = W->V[i];
    if (has_frame(b, W)) {
        turned_frame begun;
        frame_of(b, W->start[i].R, V.R, rset(0), &begun);
        V = with_columns(b, V, mat3_add_scaled(V.R, frame_rate(b, &begun, W->start[i].R), rset(-1)));
    }
    return add_stage_rates(b, V, P, i, W->table->e, -1);
}

/// Euclidean rate of body i at the end of the step that P holds.
FN rate_pose end_rate(const lane_body *b, const stage_work *P, int i)
{
    const stage_table *t = P->W.table;
    const int last = (i + 1) * t->stages - 1;
    rate_pose V = zero_rate();
    if (t->old > 0) {
        const real d = rset(t->dV[t->stages - 1]);
        V.R = mat3_add_scaled(V.R, P->W.V[i].R, d), V.p = scale(P->W.V[i].p, d);
    }
    V = add_stage_rates(b, V, P, i, t->d[t->stages - 1], 1);
    if (!has_frame(b, &P->W)) return V;
    const turned_frame *const f = &P->W.frame[last];
    return with_columns(b, V, mat3_add(turned_on(b, f, V.R), frame_rate(b, f, P->W.body[last].T.R)));
}

/// Rate over the last part of the step, from its last interior stage to its end: what collocation carries.
FN rate_pose last_secant(const stage_work *P, int i)
{
    const stages *W = &P->W;
    const int s = W->table->stages;
    const stage_body *a = &W->body[i * s + s - 2], *b = a + 1;
    const real d = W->in.inv_h / rset(W->table->old);
    return chord_rate(a->T.R, b->T.R, sub(b->dp, a->dp), d);
}

/// What a joint's coordinates do at the end of a step, each [nv] of the joint: rate, h times its derivative, rate over the last
/// part.
typedef struct {
    real rate[3], change[3], secant[3];
} end_motion;

FN end_motion end_motion_of(const lane_model *m, const lane_body *b, const stage_work *P)
{
    const stages *W = &P->W;
    const stage_table *t = W->table;
    const int s = t->stages, last = s - 1;
    const real inv_h = W->in.inv_h;
    end_motion e;
    if (b->kind == JOINT_BALL) {
        const ball_stages B = ball_at_stages(m, b, t, &W->in);
        const vec3 w = scale(quat_imaginary(ball_rate(t, &B, last, inv_h)), rset(2));
        const vec3 dw = scale(quat_imaginary(ball_acceleration(t, &B, last, W->in.h)), rset(2) * inv_h);
        e.rate[0] = w.x, e.rate[1] = w.y, e.rate[2] = w.z, e.change[0] = dw.x, e.change[1] = dw.y, e.change[2] = dw.z;
        if (t->old > 0) {
            quat p;
            const vec3 u = scale(ball_chord(B.z[last - 1], B.z[last], &p), inv_h / rset(t->old));
            e.secant[0] = u.x, e.secant[1] = u.y, e.secant[2] = u.z;
        }
        return e;
    }
    for (int k = 0; k < b->nv; k++) {
        const int v = b->vadr + k;
        e.rate[k] = rset(t->dV[last]) * W->in.rate[v], e.change[k] = rset(-t->hV[last]) * W->in.rate[v];
        for (int l = 0; l < s; l++) {
            const real u = P->u[l * m->nv + v] * inv_h;
            e.rate[k] = fmadd(rset(t->d[last][l]), u, e.rate[k]);
            e.change[k] = fmadd(rset(t->h[last][l]), u, e.change[k]);
        }
        if (t->old > 0) e.secant[k] = (P->u[last * m->nv + v] - P->u[(last - 1) * m->nv + v]) * inv_h / rset(t->old);
    }
    return e;
}

/// Joint rates at the end of the step that P holds, in P->fresh [nv].
KERNEL const real *end_rates(const lane_model *m, stage_work *P)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const end_motion e = end_motion_of(m, b, P);
        for (int k = 0; k < b->nv; k++) P->fresh[b->vadr + k] = e.rate[k];
    }
    return P->fresh;
}

/// Makes the solution in P the state, in the lanes `where`.
KERNEL void commit_stages(const lane_model *m, position_state *S, stage_work *P, placement *start, mask where)
{
    const stages *W = &P->W;
    const stage_table *t = W->table;
    const int s = t->stages, last = s - 1;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const end_motion j = end_motion_of(m, b, P);
        for (int k = 0; k < b->nv; k++) {
            const int v = b->vadr + k;
            S->rate[v] = sel(where, j.rate[k], S->rate[v]);
            S->gain[v] = sel(where, lasting_gain(b, j.change[k], W->in.inv_h), S->gain[v]);
            if (t->old > 0) S->old_rate[v] = sel(where, j.secant[k], S->old_rate[v]);
        }
        const stage_body *e = &W->body[i * s + last];
        if (b->flags & BODY_MASS) {
            S->V[i] = sel_rate(where, P->rate[i], S->V[i]);
            if (t->old > 0) S->old[i] = sel_rate(where, last_secant(P, i), S->old[i]);
        }
        set_placement(b, where, &e->T, &start[i]);
    }
    for (int j = 0; j < m->nq; j++) S->q[j] = sel(where, P->x[last * m->nq + j], S->q[j]);
}

#endif
