/// The adjoint of a step of alpha (alpha_step.h): gradients of a scalar by q, V, A, B, rates, a and b before the step and by the
/// joint forces, from those after it. (docs/theory.md 4.9)
///
/// The end of the step is linear in the way D = T(x) - T(q), the solve is that of position_adjoint.h, and what it aims at is
/// linear in the state again, so that the chain is
///
///     after  ->  D, u  ->  x  ->  y = H^-1 x_bar  ->  aim, drift, slack, forces  ->  before
///
/// with what balls, wrenches and lengths do at the start of a step besides (aim_alpha(), aim_wrenches(), aim_lengths()). A step of
/// another size has scaled A before, and the first step of a world has found A and B by forward dynamics.
#ifndef CATENA_ALPHA_ADJOINT_H
#define CATENA_ALPHA_ADJOINT_H

#include "dynamics/derivatives.h"
#include "dynamics/lane_model.h"
#include "dynamics/pullback.h"
#include "dynamics/tree_factor.h"
#include "integrators/alpha_step.h"
#include "integrators/between_adjoint.h"
#include "integrators/collocation.h"
#include "integrators/length_terms.h"
#include "integrators/load_forces.h"
#include "integrators/motor_map.h"
#include "integrators/pose_pullback.h"
#include "integrators/position_adjoint.h"
#include "integrators/touch_pullback.h"

/// Scratch of one lane block.
typedef struct {
    real ratio;                         // by which the step's size has scaled A - B
    mask fresh;                         // lanes whose accelerations were found when the step began
    rate_pose *X;                       // [bodies with mass]
    rate_pose *L;                       // the same: gradients by V that loads make
    real *x, *rate, *slack, *turn, *y;  // [nv]
    tree_factors F;
    pose_work P;
    vec3 *spin;       // [nbody]
    state_bar after;  // of a step of order 2 in alpha's place
} alpha_adjoint;

FN void add_columns(rate_pose *a, rate_pose b, real s) { *a = columns_add_scaled(*a, b, s); }

// ---- where accelerations come from

/// Adds the gradients of sum <X, T''> by q and v to q_bar and v_bar [nv], the bodies in the motion of id_motion(), accelerations
/// of joints as they are. X: columns of the bodies with mass; spin [nbody]: scratch. dynamics/derivatives.h says what a joint
/// changes of the motion beyond it.
KERNEL void second_rate_pullback(const lane_model *m, const id_work *id, const rate_pose *X_, pose_work *P, vec3 *spin,
                                 real *q_bar, real *v_bar)
{
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const id_body *s = &id->body[i];
        P->load[i] = wrench_zero(), P->moment[i] = spin[i] = zero3();
        if (!(m->bodies[i].flags & BODY_MASS)) continue;
        const rate_pose X = X_[k++];
        const vec3 columns[3] = {s->R.x, s->R.y, s->R.z}, by[3] = {X.R.x, X.R.y, X.R.z}, w = s->V.w;
        vec3 met = cross(s->V.v, X.p), carried = cross(s->a, X.p);  // sums of T' x X and of T'' x X
        for (int c = 0; c < 3; c++) {
            const vec3 rate = cross(w, columns[c]);
            met = cross_add(met, rate, by[c]), carried = cross_add(carried, cross_add(cross(s->al, columns[c]), w, rate), by[c]);
        }
        P->load[i] = wrench_on(s->R, X), P->moment[i] = carried, spin[i] = scale(met, rset(2));
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const id_body *s = &id->body[i];
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, s->R, k);
            real *const q = &q_bar[b->vadr + k], *const v = &v_bar[b->vadr + k];
            *q = *q + (dot(S.w, P->moment[i]) + virtual_power(change_by_q(s, S.w, S.v), P->load[i], spin[i]));
            *v = *v + virtual_power(change_by_v(s, S.w, S.v), P->load[i], spin[i]);
        }
        if (b->flags & BODY_ROOT) continue;
        P->load[b->parent] = wrench_add(P->load[b->parent], wrench_shift(P->load[i], s->r));
        P->moment[b->parent] = add(P->moment[b->parent], P->moment[i]), spin[b->parent] = add(spin[b->parent], spin[i]);
    }
}

/// After begin_part(): the gradients by A, B, a and b in `bar` become those by what they were before the part began; where
/// forward dynamics has found them, gradients by q and rates in `bar`, and by tau, added.
KERNEL void begin_pullback(const lane_model *m, const position_state *S, const id_work *id, loads_work *loads, alpha_adjoint *A,
                           const state_bar *bar, real *tau_bar)
{
    const real zero = rset(0), rest = rset(1) - A->ratio;
    for (int k = 0; k < masses_of(m); k++) {
        add_columns(&bar->B[k], bar->A[k], rest);
        bar->A[k] = columns_add_scaled(zero_rate(), bar->A[k], A->ratio);
        A->X[k] = columns_add_scaled(bar->A[k], bar->B[k], rset(1));
    }
    for (int k = 0; k < m->nv; k++) {
        bar->b[k] = fmadd(rest, bar->a[k], bar->b[k]), bar->a[k] = A->ratio * bar->a[k];
        A->x[k] = bar->a[k] + bar->b[k], A->rate[k] = A->slack[k] = zero;
    }
    if (!any_of(A->fresh)) return;
    real *const q_bar = A->slack, *const v_bar = A->rate;
    second_rate_pullback(m, id, A->X, &A->P, A->spin, q_bar, v_bar);
    factor_motion(m, id, &A->F);
    add_pose_rows(m, A->F.T, A->X, rset(1), &A->P, A->x);
    tree_solve(m, &A->F, A->x, A->y);
    id_work motion = *id;
    id_pullback(m, &motion, A->y, rset(-1), q_bar, v_bar);
    acting_pullback(m, S->q, S->rate, A->y, rset(1), loads, q_bar, v_bar);
    touch_forces_pullback(m, S->q, S->rate, A->y, loads, A->fresh, bar->slip, q_bar, v_bar);
    target_pullback(m, S->q, S->rate, A->y, sel(A->fresh, rset(1), zero), loads);
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_FRICTION) friction_pullback(m, b, S->z[b->vadr], sel(A->fresh, A->y[b->vadr], zero));
    }
    for (int k = 0; k < m->nv; k++) {
        bar->q[k] = bar->q[k] + sel(A->fresh, q_bar[k], zero), bar->v[k] = bar->v[k] + sel(A->fresh, v_bar[k], zero);
        tau_bar[k] = tau_bar[k] + sel(A->fresh, A->y[k], zero);
        bar->a[k] = sel(A->fresh, zero, bar->a[k]), bar->b[k] = sel(A->fresh, zero, bar->b[k]);
    }
    for (int k = 0; k < masses_of(m); k++) {
        bar->A[k] = sel_rate(A->fresh, zero_rate(), bar->A[k]);
        bar->B[k] = sel_rate(A->fresh, zero_rate(), bar->B[k]);
    }
}

// ---- what the aims are made of

/// The half turn of a ball, (h/2) g x rate with g = C rate + J b - tau: adds what its gradient, that by tau, makes, and that of
/// what its motor is pushed by, (h/2) rate x its steady torque, for the virtual motion y.
FN void half_turn_pullback(const lane_model *m, const lane_body *b, const solve *W, const position_state *S, const real *y,
                           vec3 turn, const state_bar *bar, real *tau_bar)
{
    const terms_input *const in = &W->in;
    const int j = b->vadr;
    const sym3 C = joint_drag(b, S->q);
    const vec3 rate = load3(S->rate + j);
    vec3 g = add_scaled(smul(C, rate), load3(S->b + j), given(b)->armature);
    if (in->tau) g = sub(g, load3(in->tau + j));
    const vec3 by_g = scale(cross(rate, turn), rset(0.5) * in->h);
    add3(bar->v + j, add(smul(C, by_g), scale(cross(turn, g), rset(0.5) * in->h)));
    add3(bar->b + j, scale(by_g, given(b)->armature));
    add3(tau_bar + j, scale(by_g, rset(-1)));
    if (b->flags & BODY_SPRING) add3(bar->q + j, drag_pullback(cone_at(b, S->q), rate, by_g));
    if (!(b->flags & BODY_MOTOR)) return;
    const motor_pull P = pull_of(m, b, W, y);
    const vec3 by = by_feedforward(&P);
    add3(bar->v + j, scale(cross(steady_torque(&P.of), by), rset(0.5) * in->h));
    if (!m->by_target) return;
    const vec3 steady = scale(cross(by, rate), rset(0.5) * in->h);
    if (P.of.type == MOTOR_POSITION) add_by_ball_target(m, &P.of, by_followed(&P.of, scale(steady, P.of.kd)));
    else add_by_ball_target(m, &P.of, scale(steady, target_gain(&P.of)));
}

/// A force or torque of a load in link axes, in those of the body.
FN vec3 own_axes(const lane_model *m, const lane_point_load *s, const real *x)
{
    const vec3 y = mul(const33(m->frames[s->link].R), load3(x));
    return s->flags & LOAD_DRIVEN ? scale(y, thrust_of(m, s)) : y;
}

/// What the drag of load k makes for the virtual motion y of its point, on a body with the axes R, `ahead` those that it took at the
/// start: gradients by V and by these axes, added. Returns that by the drift of the point.
FN vec3 alpha_drag_pullback(const lane_model *m, const solve *W, const lane_point_load *s, int k, mat3 R, mat3 ahead, vec3 y,
                            rate_pose *by_V, rate_pose *by_ahead, seen_bar *seen)
{
    const load_state *at = &W->held[k];
    const vec3 axis = at->axis, t = load3(s->axis), point = load3(s->point), x = held_slip(m, W, s, k, mul(R, point));
    const drag_force D = drag_of(s, axis, x, W->in.inv_h);
    const bool slips = s->flags & LOAD_SLIPS;
    vec3 slope = add_axial_drag(scale(y, s->damping), s, axis, y, rset(1));
    if (slips) {  // the current goes by the height of x_k + h V, of which x_k's share is that of add_drag_rows()
        slope = drag_slope(&D, axis, y);
        const vec3 up = vec(rset(0), rset(0), W->in.h * dot(at->stream.shear, slope));
        by_V->p = add(by_V->p, up), add_outer(by_V, up, point);
        if (W->turn.of)
            arm_pullback(&W->turn.of[s->body], W->start[s->body].R, point, scale(up, rset(1) / W->in.h), &seen[s->body]);
    }
    if (s->flags & LOAD_AXIAL) {  // by its axis, (R + h V) t, which is made a unit vector where it slips
        const vec3 turned = mul(ahead, t);
        vec3 by_t = drag_by_axis(s, &D, axis, x, y);
        if (slips) by_t = scale(sub_scaled(by_t, axis, dot(axis, by_t)), rset(1) / root(dot(turned, turned)));
        add_outer(by_ahead, scale(by_t, rset(-1)), t), add_outer(by_V, scale(by_t, negate(W->in.h)), t);
    }
    return scale(slope, W->in.drag);
}

/// What loads make for the virtual motion A->P.motion of the solve: gradients by V into L, by `drift` into X (columns of the
/// bodies with mass), and by q, added to q_bar. aim_wrenches() says how a wrench goes by R and V at the start of the step:
///
///     F = (R + h V) f,   T = t + t x turn,   t = (R + h V) t_0 or constant,   turn = (h/4) sum of R_i x V_i
///
/// and its share of y'r is -F.y_k and, of the energy -T.log(R' R^-1), -T.l with l the change of that logarithm. S: as frames see it.
KERNEL void loads_pullback(const lane_model *m, const solve *W, const position_state *S, seen_bar *seen, pose_work *P,
                           rate_pose *L, rate_pose *X, real *q_bar)
{
    const real h = W->in.h, quarter = rset(0.25) * h;
    for (int i = 0, column = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        P->load[i] = wrench_zero();
        if (!(b->flags & BODY_MASS)) continue;
        rate_pose *const by_V = &L[column], *const by_drift = &X[column++], by_T = zero_rate();
        *by_V = *by_drift = zero_rate();
        const mat3 R_k = chord_from(W, i), R = W->now[i].R, V = S->V[i].R, ahead = mat3_add_scaled(R_k, V, h);
        for (int k = b->load; k < b->loads_end; k++) {
            const lane_point_load *s = &m->loads[k];
            const vec3 point = load3(s->point), y = moved_point(P->motion[i], mul(R, point));
            const bool follows = s->flags & LOAD_FOLLOWS;
            const vec3 braked = s->flags & (LOAD_AXIAL | LOAD_SLIPS)
                                    ? alpha_drag_pullback(m, W, s, k, R, ahead, y, by_V, &by_T, seen)
                                    : scale(y, W->in.drag * s->damping);
            by_drift->p = add(by_drift->p, braked), add_outer(by_drift, braked, point);
            if (follows) {
                const vec3 f = own_axes(m, s, s->force);
                add_outer(&by_T, y, f), add_outer(by_V, scale(y, h), f);
            }
            if (!(s->flags & LOAD_TURNS)) continue;
            // by R_k in the logarithm, T as it stands
            const terms3 e = torque_terms(W->held[k].T, R_k, R);
            const vec3 turned = tmul(R, P->motion[i].w), half = scale(cross(e.g, turned), rset(0.5));
            P->load[i].n = mul_add(P->load[i].n, R_k, add(smul(e.k, turned), half));
            // by T
            const vec3 l = mul(R_k, chart_velocity(axes_increment(R_k, R), turned)), t = load_torque(m, s, ahead);
            const vec3 turn = scale(sum_of_crosses(R_k, V), quarter);
            const vec3 by_t = cross_add(l, turn, l), by_turn = scale(cross(l, t), quarter);
            by_T.R.x = cross_add(by_T.R.x, V.x, by_turn), by_V->R.x = cross_add(by_V->R.x, by_turn, R_k.x);
            by_T.R.y = cross_add(by_T.R.y, V.y, by_turn), by_V->R.y = cross_add(by_V->R.y, by_turn, R_k.y);
            by_T.R.z = cross_add(by_T.R.z, V.z, by_turn), by_V->R.z = cross_add(by_V->R.z, by_turn, R_k.z);
            if (!follows) continue;
            const vec3 own = own_axes(m, s, s->torque);
            add_outer(&by_T, by_t, own), add_outer(by_V, scale(by_t, h), own);
        }
        P->load[i].n = add(P->load[i].n, wrench_on(R_k, by_T).n);
        if (W->turn.of && spins(b)) seen[i].from = add(seen[i].from, P->load[i].n), P->load[i].n = zero3();
    }
    add_joint_rows(m, W->start, P->load, q_bar);
}

/// Which of the columns of bodies with mass are those of body i.
FN int mass_column(const lane_model *m, int i)
{
    int n = 0;
    for (int k = 0; k < i; k++) n += (m->bodies[k].flags & BODY_MASS) != 0;
    return n;
}

/// The drift of piece k of a path (aim_lengths()), with the gradient `by` of it: those by V and A into `before`, by where its
/// ends start into P->load.
FN void piece_drift_pullback(const lane_model *m, const solve *W, const position_state *S, alpha_slack slack, int k, real by,
                             pose_work *P, const state_bar *before)
{
    const path_piece e = piece_of(m, W, k, true);
    vec3 v, a;
    piece_motion(m, S, k, &v, &a);
    const real share = by * rset(m->bond_points[k].share), per = rset(1) / sel(gt(e.length, rset(0)), e.length, rset(1));
    const real rate = dot(e.n, v), across = fnmadd(rate, rate, dot(v, v));
    const vec3 aside = sub_scaled(v, e.n, rate), bent = sub_scaled(a, e.n, dot(e.n, a));
    const vec3 turns = sub_scaled(sub_scaled(bent, aside, rset(2) * rate * per), e.n, across * per);
    const vec3 by_v = add_scaled(scale(e.n, share * slack.rate), aside, rset(2) * share * slack.a * per);
    const vec3 by_a = scale(e.n, share * slack.a),
               by_x = scale(add_scaled(scale(aside, slack.rate), turns, slack.a), share * per);
    for (int side = 0; side < 2; side++) {
        const bond_point *const of = &m->bond_points[k + side];
        if (of->body < 0) continue;
        const int column = mass_column(m, of->body);
        const real sign = rset(side ? -1 : 1);
        rate_pose *const V = &before->V[column], *const A = &before->A[column];
        add_load_at(P, of->body, side ? e.rb : e.ra, scale(by_x, sign));
        V->p = add_scaled(V->p, by_v, sign), add_outer(V, scale(by_v, sign), const3(of->at));
        A->p = add_scaled(A->p, by_a, sign), add_outer(A, scale(by_a, sign), const3(of->at));
    }
}

/// What dampers and motors of lengths make of the drift for the virtual motion y [nv], with P->motion: added to gradients by the
/// slack of joints [nv], and to `before`.
KERNEL void lengths_pullback(const lane_model *m, const alpha_rule *r, const solve *W, const position_state *S, const real *y,
                             pose_work *P, real *slack_bar, const state_bar *before)
{
    for (int i = 0; i < m->nbody; i++) P->load[i] = wrench_zero();
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (o->rows || !(o->damping > 0 || o->motor)) continue;
        const real by = brake_of_length(m, W, o) * length_rate(m, W, o, y, P->motion);
        for (int j = o->joint; j < o->joint + o->joints; j++) {
            real *const to = &slack_bar[m->bodies[m->bond_joints[j].body].vadr];
            *to = fmadd(rset(m->bond_joints[j].share), by, *to);
        }
        for (EACH_PIECE(i, m, o, true)) piece_drift_pullback(m, W, S, slack_of(r), i, by, P, before);
    }
    add_joint_rows(m, W->start, P->load, before->q);
}

/// Gradients by the end of a part, in `bar`, become those by what frames see of it. V [nbody]: V' in space.
KERNEL void alpha_leave_pullback(const lane_model *m, position_adjoint *one, alpha_adjoint *A, const rate_pose *V,
                                 const state_bar *bar)
{
    for (int k = 0; k < masses_of(m); k++) A->X[k] = columns_add_scaled(bar->A[k], bar->B[k], rset(1));
    leave_frames_pullback(m, &one->W, bar->V, A->X, V, one->seen, &one->P, bar->q);
}

/// Of the end of a part, A' = end (D - h V - P A), V' = V + old A + fresh A', B' = b_new A' + b_A A - b_B B, with the way D:
/// gradients by the state before it into `before`, and what way_pullback() takes into A->X and A->x; one->b: that by q.
KERNEL void alpha_end_pullback(const lane_model *m, const alpha_rule *r, position_adjoint *one, alpha_adjoint *A,
                               const state_bar *after, const state_bar *before)
{
    const real zero = rset(0);
    for (int k = 0; k < masses_of(m); k++) {
        rate_pose X = after->A[k];
        add_columns(&X, after->V[k], r->fresh), add_columns(&X, after->B[k], r->b_new);
        A->X[k] = X;
        before->V[k] = columns_add_scaled(after->V[k], X, negate(r->h * r->end));
        before->A[k] = columns_add_scaled(zero_rate(), after->V[k], r->old);
        add_columns(&before->A[k], after->B[k], r->b_A), add_columns(&before->A[k], X, negate(r->P * r->end));
        before->B[k] = columns_add_scaled(zero_rate(), after->B[k], negate(r->b_B));
    }
    for (int k = 0; k < m->nv; k++) {
        const real x = fmadd(r->b_new, after->b[k], fmadd(r->fresh, after->v[k], after->a[k]));
        A->x[k] = x, one->b[k] = after->q[k], before->q[k] = A->rate[k] = A->slack[k] = A->turn[k] = zero;
        before->v[k] = fnmadd(r->h * r->end, x, after->v[k]);
        before->a[k] = fnmadd(r->P * r->end, x, fmadd(r->old, after->v[k], r->b_A * after->b[k]));
        before->b[k] = negate(r->b_B * after->b[k]);
    }
}

/// Of what a part aims at: adds what A->X, A->rate, A->slack and A->turn, which aim_pullback() has left, make of `before` and
/// tau_bar [nv].
KERNEL void alpha_aims_pullback(const lane_model *m, const alpha_rule *r, const position_state *S, position_adjoint *one,
                                alpha_adjoint *A, const state_bar *before, real *tau_bar)
{
    const real inv_h = rset(1) / r->h, by_A = inv_h * (r->P - r->kA), by_B = inv_h * r->kB;
    const alpha_slack slack = slack_of(r);
    for (int k = 0; k < masses_of(m); k++) {
        add_columns(&before->V[k], A->X[k], rset(1)), add_columns(&before->A[k], A->X[k], by_A);
        add_columns(&before->B[k], A->X[k], by_B);
    }
    for (int i = 0, k = -1; i < m->nbody && m->skew && one->W.turn.of; i++) {  // the axes that couples go by are R~ + D
        k += (m->bodies[i].flags & BODY_MASS) != 0;
        if (!has_couple(&m->bodies[i])) continue;
        before->V[k].R = mat3_add_scaled(before->V[k].R, one->seen[i].base, slack.rate);
        before->A[k].R = mat3_add_scaled(before->A[k].R, one->seen[i].base, slack.a);
        one->seen[i].base = no_columns();
    }
    for (int k = 0; k < m->nv; k++) {
        before->v[k] = before->v[k] + fmadd(slack.rate, A->slack[k], A->rate[k]);
        before->a[k] = before->a[k] + fmadd(slack.a, A->slack[k], by_A * A->rate[k]);
        before->b[k] = fmadd(by_B, A->rate[k], before->b[k]);
        tau_bar[k] = tau_bar[k] + A->turn[k];
    }
    for (int i = 0; i < m->nbody; i++)
        if (m->bodies[i].kind == JOINT_BALL)
            half_turn_pullback(m, &m->bodies[i], &one->W, S, one->y + m->bodies[i].vadr, load3(A->turn + m->bodies[i].vadr),
                               before, tau_bar);
}

/// With the gradient by x in one->b, and those by rates of the aims that are known already in A->rate, A->slack and A->turn: what
/// the solve makes of `before` and tau_bar [nv], added. S: as frames see it.
KERNEL void alpha_solve_pullback(const lane_model *m, const alpha_rule *r, const position_state *S, position_adjoint *one,
                                 alpha_adjoint *A, const state_bar *before, real *tau_bar)
{
    aim_pullback(m, one, r->c * r->h, A->X, before->q, A->rate, A->slack, A->turn);
    if (m->nbond) lengths_pullback(m, r, &one->W, S, one->y, &one->P, A->slack, before);
    alpha_aims_pullback(m, r, S, one, A, before, tau_bar);
    solve_target_pullback(m, one, S, before->q);
    if (!m->nload) return;
    const alpha_slack slack = slack_of(r);
    loads_pullback(m, &one->W, S, one->seen, &one->P, A->L, A->X, before->q);
    for (int i = 0, k = 0; i < m->nbody && m->ncontact; i++)
        if (m->bodies[i].flags & BODY_MASS) add_columns(&A->X[k++], one->bars.drift[i], rset(1));
    drifts_pullback(m, &one->W, rset(1) / r->s, A->X, one->seen);
    for (int k = 0; k < masses_of(m); k++) {
        add_columns(&before->V[k], A->L[k], rset(1)), add_columns(&before->V[k], A->X[k], slack.rate);
        add_columns(&before->A[k], A->X[k], slack.a);
    }
}

/// After begin_part() and a solve whose Newton matrix is in `one`: gradients by the state S at the start of the part, as
/// begin_part() has left it, and added to tau_bar [nv], from those by the state after it. V [nbody]: velocities there.
KERNEL void alpha_pullback(const lane_model *m, const alpha_rule *r, const position_state *S, const rate_pose *V,
                           position_adjoint *one, alpha_adjoint *A, const state_bar *after, const state_bar *before,
                           real *tau_bar)
{
    const position_state seen = seen_from_frames(S, &one->W);
    clock_now(m, r->h, 1);
    alpha_leave_pullback(m, one, A, V, after);
    alpha_end_pullback(m, r, one, A, after, before);
    step_wound_pullback(m, one, after->wound, before->q, A->slack);
    step_bent_pullback(m, one, after->z, before->q);
    way_pullback(m, one, A->X, A->x, r->end, before->q);
    alpha_solve_pullback(m, r, &seen, one, A, before, tau_bar);
    enter_frames_pullback(m, &one->W, S, one->seen, &one->P, before);
}

/// Of restart_alpha(), after a step of size h of order 2: A->after are the gradients by the state after it, those by A, B, a and
/// b folded into V and the rates. What they make of V and the rates before it, restart_pullback() adds. V [nbody]: those after it.
KERNEL void fold_restart(const lane_model *m, real h, const rate_pose *V, const state_bar *after, position_adjoint *one,
                         alpha_adjoint *A)
{
    const real inv_h = rset(1) / h;
    const solve *W = &one->W;
    for (int k = 0; k < m->nwound; k++) A->after.wound[k] = after->wound[k];
    for (int k = 0; k < m->nv && m->rubs; k++) A->after.z[k] = after->z[k];
    for (int k = 0; k < m->ncontact; k++) A->after.slip[k] = after->slip[k], A->after.press[k] = after->press[k];
    for (int k = 0; k < m->nslot; k++) A->after.pair_slip[k] = after->pair_slip[k], A->after.pair_press[k] = after->pair_press[k];
    for (int k = 0; k < m->nv; k++)
        A->after.q[k] = after->q[k], A->after.v[k] = fmadd(inv_h, after->a[k] + after->b[k], after->v[k]);
    for (int i = 0, k = -1; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        one->P.load[i] = wrench_zero();
        if (!(b->flags & BODY_MASS)) continue;
        k++;
        const rate_pose both = columns_add_scaled(after->A[k], after->B[k], rset(1));
        rate_pose now = columns_add_scaled(zero_rate(), both, inv_h);  // by V' as frames see it
        if (W->turn.of && spins(b)) {
            const turned_frame *f = &W->turn.of[i].at;
            seen_bar *const g = &one->seen[i];
            const mat3 R = W->now[i].R, D = mat3_add_scaled(V[i].R, frame_rate(b, f, R), rset(-1));
            mat3 by_D, by_R = frame_change_pullback(b, f, R, D, columns_seen(b, &both), &g->at, &by_D);
            g->V = columns_add_scaled(zero_rate(), now, rset(-1));
            now.R = mat3_add(now.R, by_D);
            by_R = mat3_add(by_R, frame_rate_pullback(b, f, R, mat3_scale(columns_seen(b, &now), rset(-1)), &g->at));
            one->P.load[i].n = sum_of_crosses(R, by_R);
        }
        A->after.V[k] = columns_add_scaled(after->V[k], now, rset(1));
    }
    if (W->turn.of) add_joint_rows(m, W->now, one->P.load, A->after.q);
}
KERNEL void restart_pullback(const lane_model *m, real h, const state_bar *after, const solve *W, const state_bar *before)
{
    const real back = rset(-1) / h;
    for (int i = 0, k = 0; i < m->nbody; i++) {
        if (!(m->bodies[i].flags & BODY_MASS)) continue;
        if (!W->turn.of || !spins(&m->bodies[i]))
            add_columns(&before->V[k], after->A[k], back), add_columns(&before->V[k], after->B[k], back);
        k++;
    }
    for (int k = 0; k < m->nv; k++) before->v[k] = fmadd(back, after->a[k] + after->b[k], before->v[k]);
}

#endif
