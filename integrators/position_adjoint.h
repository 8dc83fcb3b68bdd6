/// The adjoint of a position-based step of order 2: gradients of a scalar by the state before the step and by the joint forces,
/// from its gradients by the state after it. (docs/theory.md 4.6)
///
/// The solution x of the step has residual r(x; q, V, rate, tau) = 0, so that with the Newton matrix H at x, symmetric,
///
///     x_bar = q'_bar + (what V' = (T(x) - T(q))/h and rate' = u/h add),   y = H^-1 x_bar,   every other bar -= (dr/d.)' y.
///
/// y is a virtual motion: y'r = sum <a M / h^2, [xi]T> + joint terms, and a = T - T_k - h V makes the derivatives by T_k and V
/// those of inner products. One factorisation, one solve, and a pass each way: O(N). H is taken with all of its curvature.
#ifndef CATENA_POSITION_ADJOINT_H
#define CATENA_POSITION_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "forces/joint_elements.h"
#include "forces/joint_friction.h"
#include "dynamics/tree_factor.h"
#include "integrators/between_adjoint.h"
#include "integrators/contact_adjoint.h"
#include "integrators/frame_adjoint.h"
#include "integrators/joint_terms.h"
#include "integrators/motor_map.h"
#include "integrators/pair_adjoint.h"
#include "integrators/collocation.h"
#include "integrators/position_step.h"
#include "integrators/pose_pullback.h"
#include "integrators/stage_solve.h"
#include "integrators/turning_sweep.h"

/// Scratch of one lane block.
typedef struct {
    solve W;
    tree_factors F;
    stages whole;  // the factors where the matrix is not symmetric (turning_sweep.h)
    stage_sweep skew;
    pose_work P;
    seen_bar *seen;       // [nbody] in models with frames
    real *x, *u, *y, *b;  // x [nq], others [nv]
    contact_bars bars;    // what the last pullback has left of contact points
    pair_bars touch;      // and of links that touch each other, the same for all solves of a step
    mask factored;        // of models where something acts between bodies: where the matrix has an inverse
} position_adjoint;

/// Factors the Newton matrix of A->W at its iterate. Returns the residual there.
KERNEL real position_factor(const lane_model *m, position_adjoint *A)
{
    solve *W = &A->W;
    evaluate(m, W);
    if (joins(m)) evaluate_between(m, W, false);
    if (m->ncontact) add_terrain_bends(m, W);
    real most = residual(m, W);
    if (joins(m)) {
        A->factored = factor_between(m, W), most = residual_between(m, W, most);
        return m->nrow ? larger(most, W->between.c) : most;
    }
    if (m->skew) {
        one_stage_of(m, W, &A->whole);
        stage_factor(m, &A->whole, &A->skew);
        return most;
    }
    A->F.T = W->now;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        tree_node *n = &A->F.node[i];
        n->P = inertia_zero(), n->w = &W->sum[i], n->k = sym_diagonal(rset(0), rset(0), rset(0));
        if (b->flags & BODY_MASS) n->P = inertia_rigid(W->body[i].A, W->body[i].b, given(b)->mass * W->in.k2);
        if (is_loaded(b, W)) n->P = inertia_add(n->P, W->load[b->load].P);
        if (has_terms(b, W->in.tau)) n->k = W->terms[i].k;
    }
    tree_factor(m, &A->F);
    return most;
}

/// Factors the Newton matrix at the end x of the step of size h from `before`, by the increments u of joints that are not balls,
/// with the forces f [nrow] of equations. Returns the residual there.
KERNEL real position_prepare(const lane_model *m, real h, const position_state *before, const real *x, const real *u,
                             const real *f, const real *tau, position_adjoint *A)
{
    solve *W = &A->W;
    for (int e = 0; e < m->nrow; e++) W->between.force[e] = f[e];
    start_from(before, tau, W);
    find_placements(m, before->q, W->start);
    W->in.x = A->x, W->in.u = A->u;
    set_step_size(W, h);
    W->V = see_from_frames(m, before, W).V;
    clock_now(m, h, 1);
    start_step(m, W);
    for (int k = 0; k < m->nq; k++) A->x[k] = x[k];
    for (int k = 0; k < m->nv; k++) A->u[k] = u[k];
    return position_factor(m, A);
}

/// Adds to `to` and `from` [3] the gradients by turns of x and q of l.u, u = log(q' x).
FN void log_pullback(vec3 u, vec3 l, real *to, real *from)
{
    const vec3 q = chart_velocity(u, l);
    add3(to, chart_velocity(vec(negate(u.x), negate(u.y), negate(u.z)), l));
    add3(from, vec(negate(q.x), negate(q.y), negate(q.z)));
}

/// The torque of a ball's motor in a solve, seen from the start of the step, and what y makes of it.
typedef struct {
    lane_motor of;
    ball_spring B;
    quat z;  // the turn since the start
    vec3 l;  // S'(Y) y: of l'Y the gradients are those of y'T
} motor_pull;

FN motor_pull pull_of(const lane_model *m, const lane_body *b, const solve *W, const real *y)
{
    motor_pull P;
    P.of = motor_in_step(m, b, &W->in), P.B = ball_spring_in(&P.of, b, &W->in), P.z = ball_turn(b, &W->in);
    P.l = smul(ball_spring_torque(&P.of, &P.B, P.z).slope, load3(y));
    return P;
}

/// The gradient of l'Y by the feedforward, or by what is pushed besides: Y = 2 Im(z* c) has Im(z* (0, f)) of f.
FN vec3 by_feedforward(const motor_pull *P) { return quat_imaginary(quat_mul(P->z, quat_pure(P->l, rset(1)))); }

/// Adds the gradients of l'Y by turns of q and by u_d (NULL: not wanted).
FN void motor_pullback(const motor_pull *P, real s, real *q_bar, real *slack_bar)
{
    const quat zl = quat_mul(P->z, quat_pure(P->l, rset(1)));
    add3(q_bar, quat_imaginary(quat_mul(zl, quat_conjugate(P->B.turns))));
    if (slack_bar)
        add3(slack_bar, scale(by_ahead(&P->B, quat_imaginary(quat_mul(quat_conjugate(P->B.ahead), zl))), P->of.kd * s));
}

/// What the terms of a ball give for y: gradients by q, rate, u_d (slack; NULL: not wanted) and tau of y'D(u)'g(u), with u =
/// log(q' x) and g = s C (u - u_d) + c J (u - h rate) - tau, and of its motor; negated. (joint_terms.h)
FN void ball_pullback(const lane_model *m, const lane_body *b, const solve *W, const real *y_, real *q_bar, real *rate_bar,
                      real *slack_bar, real *tau_bar)
{
    const terms_input *in = &W->in;
    const int j = b->vadr;
    const vec3 u = ball_increment(b, in->q, in->x), rate = load3(in->rate + j), w = in->slack ? sub(u, load3(in->slack + j)) : u;
    vec3 tau = in->tau ? load3(in->tau + j) : zero3();
    if (in->half_turn) tau = add(tau, load3(in->half_turn + j));
    const vec3 y = chart_velocity(u, vec(y_[0], y_[1], y_[2]));  // D y
    const real J = given(b)->armature * in->k2;
    const sym3 C = joint_drag(b, in->q);
    const vec3 a = sub_scaled(u, rate, in->h), g = sub(add_scaled(scale(smul(C, w), in->drag), a, J), tau);
    const vec3 by_cone = b->flags & BODY_SPRING ? drag_pullback(cone_at(b, in->q), w, y) : zero3();
    vec3 z = smul(rate_block(C, in->drag, J), y);
    // du = -D' dq
    z = add(z, chart_slope(u, vec(y_[0], y_[1], y_[2]), g));
    add3(q_bar, sub_scaled(chart_velocity(u, z), by_cone, in->drag));
    add3(rate_bar, scale(y, J * in->h));
    if (slack_bar) add3(slack_bar, scale(smul(C, y), in->drag));
    add3(tau_bar, y);
    if (!(b->flags & BODY_MOTOR)) return;
    const motor_pull P = pull_of(m, b, W, y_);
    motor_pullback(&P, in->drag, q_bar, slack_bar);
}

/// The same for other joints, where u = x - q in every coordinate.
FN void plain_pullback(const lane_model *m, const lane_body *b, const solve *W, const real *y, real *q_bar, real *rate_bar,
                       real *slack_bar, real *tau_bar)
{
    sym3 drag = joint_drag(b, W->in.q);
    if (b->flags & BODY_MOTOR) {  // by the velocity
        const lane_motor a = motor_in_step(m, b, &W->in);
        real u = W->in.u[b->vadr];
        if (W->in.slack) u = u - W->in.slack[b->vadr];
        drag.xx = add_brake(drag.xx, &a, motor_at(&a, W->in.x[b->qadr], W->in.drag * u));
    }
    if (b->flags & BODY_FRICTION) q_bar[0] = q_bar[0] - friction_pullback(m, b, bent_by(b, W->in.z, W->in.u), y[0]);
    const real c[3] = {drag.xx, drag.yy, drag.zz}, J = given(b)->armature * W->in.k2;
    for (int k = 0; k < b->nv; k++) {
        q_bar[k] = fmadd(fmadd(c[k], W->in.drag, J), y[k], q_bar[k]);
        rate_bar[k] = fmadd(J * W->in.h, y[k], rate_bar[k]);
        if (slack_bar) slack_bar[k] = fmadd(c[k] * W->in.drag, y[k], slack_bar[k]);
        tau_bar[k] = tau_bar[k] + y[k];
    }
}

/// The velocity against the current by which a drag, load k, acts in a solve. arm: of its point, at the solution
FN vec3 held_slip(const lane_model *m, const solve *W, const lane_point_load *s, int k, vec3 arm)
{
    vec3 u = add(W->body[s->body].dp, sub(arm, W->held[k].arm));
    u = way_of_load(m, W, s, u);
    if (W->drift) u = sub(u, mul_add(W->drift[s->body].p, W->drift[s->body].R, load3(s->point)));
    return sub(scale(u, W->in.drag), current_at(s, &W->held[k]));
}

/// What wrenches give for the virtual motion A->motion: those in link axes turn with the link at the start of the step, and a
/// torque's energy goes by the turn since then. By a turn at the start the gradient of y'r is, with the second derivative k of
/// that energy and its gradient g by turns, -(k y + g x y / 2) in world axes as R_k sees them; of a torque in link axes, which
/// turns along, -(k y - g x y / 2) as R does. An axial drag's axis is that of the start. Added to b [nv], negated.
KERNEL void add_axes_rows(const lane_model *m, const solve *W, seen_bar *seen, pose_work *A, real *b_)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const bool turning = W->turn.of && is_framed(b, W->turn.mode);
        const mat3 R_k = chord_from(W, i), R = W->now[i].R;
        A->load[i] = wrench_zero();
        for (int k = b->load; k < b->loads_end; k++) {
            const lane_point_load *s = &m->loads[k];
            const bool follows = s->flags & LOAD_FOLLOWS;
            if (follows) {
                const vec3 y = moved_point(A->motion[i], mul(R, load3(s->point)));
                A->load[i].n = add(A->load[i].n, cross(W->held[k].F, y));
            }
            if (s->flags & LOAD_AXIAL) {
                const vec3 arm = mul(R, load3(s->point)), y = moved_point(A->motion[i], arm), x = held_slip(m, W, s, k, arm);
                const drag_force D = drag_of(s, W->held[k].axis, x, W->in.inv_h);
                A->load[i].n = sub(A->load[i].n, drag_by_turn(s, &D, W->held[k].axis, x, y));
            }
            if (!(s->flags & LOAD_TURNS)) continue;
            const terms3 e = torque_terms(W->held[k].T, R_k, R);
            const vec3 y = tmul(R, A->motion[i].w), turned = scale(cross(e.g, y), rset(0.5)), k_y = smul(e.k, y);
            if (turning) {
                seen[i].from = mul_add(seen[i].from, R_k, add(k_y, turned));
                if (follows)
                    A->load[i].n = cross_add(A->load[i].n, W->held[k].T, mul(R_k, chart_velocity(axes_increment(R_k, R), y)));
                continue;
            }
            A->load[i].n = follows ? mul_add(A->load[i].n, R, sub(k_y, turned)) : mul_add(A->load[i].n, R_k, add(k_y, turned));
        }
    }
    add_joint_rows(m, W->start, A->load, b_);
}

/// Adds to A->b and q_bar [nv] the gradients by x and q of s rate.u, u the increments from q to x; rate [nv].
KERNEL void increments_pullback(const lane_model *m, position_adjoint *A, const real *rate_, real s, real *q_bar)
{
    const solve *W = &A->W;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        const real *rate = rate_ + j;
        if (b->kind == JOINT_BALL) {
            const vec3 l = scale(vec(rate[0], rate[1], rate[2]), s);
            log_pullback(ball_increment(b, W->in.q, W->in.x), l, A->b + j, q_bar + j);
        } else
            for (int e = 0; e < b->nv; e++) {
                A->b[j + e] = fmadd(s, rate[e], A->b[j + e]);
                q_bar[j + e] = fnmadd(s, rate[e], q_bar[j + e]);
            }
    }
}

/// The same of s times <V, T(x) - T(q)> + rate.u. V: columns of the bodies with mass.
KERNEL void way_pullback(const lane_model *m, position_adjoint *A, const rate_pose *V, const real *rate, real s, real *q_bar)
{
    add_pose_rows(m, A->W.now, V, s, &A->P, A->b);
    add_chord_rows(m, &A->W, V, negate(s), A->seen, &A->P, q_bar);
    increments_pullback(m, A, rate, s, q_bar);
}

/// Of the virtual motion y, with the twists A->P.motion: columns V_bar of momentum, and what joints add to the gradients that
/// aim_pullback() makes.
KERNEL void motion_pullback(const lane_model *m, position_adjoint *A, real momentum, rate_pose *V_bar, real *q_bar,
                            real *rate_bar, real *slack_bar, real *tau_bar)
{
    const solve *W = &A->W;
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        real *const slack = slack_bar ? slack_bar + j : NULL;
        if (b->flags & BODY_MASS) {
            const rate_pose P = times_mass(b, moved_by(A->P.motion[i], W->now[i].R));
            V_bar[k++] = columns_add_scaled(zero_rate(), P, momentum);
        }
        if (b->kind == JOINT_BALL) ball_pullback(m, b, W, A->y + j, q_bar + j, rate_bar + j, slack, tau_bar + j);
        else plain_pullback(m, b, W, A->y + j, q_bar + j, rate_bar + j, slack, tau_bar + j);
    }
}

/// Solves for y, with the gradient by x in A->b, and makes of it those by what the solve was given: V (not added: h Q, with
/// Q = c [xi]T M by which the poses at its start go), and added to q_bar, rate_bar, slack_bar (NULL: not wanted) and tau_bar
/// [nv]; but for loads. A->P.motion is the virtual motion. momentum: c h
KERNEL void aim_pullback(const lane_model *m, position_adjoint *A, real momentum, rate_pose *V_bar, real *q_bar, real *rate_bar,
                         real *slack_bar, real *tau_bar)
{
    const solve *W = &A->W;
    if (joins(m)) solve_between(m, &A->W, A->b, A->y);
    else if (m->skew) stage_solve_transposed(m, &A->whole, &A->skew, A->b, A->y);
    else tree_solve(m, &A->F, A->b, A->y);
    joint_twists(m, W->now, A->y, A->P.motion);
    motion_pullback(m, A, momentum, V_bar, q_bar, rate_bar, slack_bar, tau_bar);
    add_chord_rows(m, W, V_bar, W->in.inv_h, A->seen, &A->P, q_bar);
    couples_pullback(m, W, &A->P, A->seen);
    if (m->nload) arcs_pullback(m, W, &A->P, A->seen);
    if (m->nload) add_drag_rows(m, W->now, W->start, W->held, W->in.drag, false, &A->P, q_bar);
    if (m->ncontact) add_contact_rows(m, W, &A->P, &A->bars, q_bar);
    if (m->npair) add_touch_rows(m, W, &A->P, &A->touch, q_bar);
    if (m->nbond) add_bond_rows(m, W, A->y, &A->P, q_bar);
}

/// The share of h by which a servo of velocity has its target in its integral term's own at the end of a solve.
FN real end_share(const terms_input *in) { return rset(in->wind ? 0.5 : 1) * in->h; }

/// Adds the gradients by what alpha puts into an integral term at the start of a step, with the gradient `by` of that.
FN void wound_start_pullback(const lane_model *m, const lane_body *b, const lane_motor *a, const terms_input *in, real by,
                             real *q_bar)
{
    if (!in->wind) return;
    const real rest = (rset(1) - wind_share(a, in->h)) * in->h * a->ki;
    if (a->type == MOTOR_POSITION) q_bar[b->vadr] = fnmadd(a->gear * rest, by, q_bar[b->vadr]), add_by_target(m, a, rest * by);
    else add_by_target(m, a, rset(0.5) * in->h * a->ki * by);
}

/// Of integral terms after a step, wind_step(): gradients by x, added to A->b, by q, and by u_d (slack; NULL: there is none). bar
/// [nwound]
KERNEL void step_wound_pullback(const lane_model *m, position_adjoint *A, const real *bar, real *q_bar, real *slack_bar)
{
    const terms_input *in = &A->W.in;
    for (int i = 0; i < m->nbody && m->nwound; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || m->motors[b->motor].wound < 0) continue;
        const lane_motor a = motor_now(m, b), end = motor_in_step(m, b, in);
        const int j = b->vadr;
        const real x = in->x[b->qadr], slack = in->slack ? in->slack[j] : rset(0), gain = end.kp - a.kp;
        const real to = fmadd(gain, fnmadd(a.gear, x, end.target[0]), end.feedforward[0] - a.feedforward[0]);
        const wound_bar B = wound_after_pullback(&a, x, in->drag * (in->u[j] - slack), in->wound[a.wound], to, bar[a.wound]);
        const real by_way = in->drag * B.w, turned = a.gear * gain * B.to;
        A->b[j] = A->b[j] + ((B.x + by_way) - turned), q_bar[j] = q_bar[j] - by_way;
        if (slack_bar) slack_bar[j] = slack_bar[j] - by_way;
        if (a.type != MOTOR_POSITION) q_bar[j] = q_bar[j] + turned;
        add_by_target(m, &a, fmadd(B.y, target_gain(&a), B.to * gain * (a.type == MOTOR_POSITION ? rset(1) : end_share(in))));
        add_by_wound(m, &a, B.from + B.to);
        wound_start_pullback(m, b, &a, in, B.to, q_bar);
    }
}

/// The gradient of y'r by the target of a ball's motor, negated.
FN vec3 pull_by_target(const lane_body *b, const solve *W, const motor_pull *P)
{
    const quat zl = quat_mul(P->z, quat_pure(P->l, rset(1)));
    if (P->of.type == MOTOR_TORQUE) return by_feedforward(P);
    const vec3 by_velocity = scale(by_ahead(&P->B, quat_imaginary(quat_mul(quat_conjugate(P->B.ahead), zl))), P->of.kd);
    if (P->of.type == MOTOR_VELOCITY) return by_velocity;
    const quat way = ball_way(&P->of, quat_load(W->in.q + b->qadr));
    return add(by_rotation(&P->of, quat_mul(quat_conjugate(P->z), way), P->l), by_followed(&P->of, by_velocity));
}

/// Adds the gradients by targets that the virtual motion y and A->P.motion make. S: the state at the start of a part of alpha,
/// with whose velocities links turn ahead (aim_wrenches()); NULL: they push as they stood there. And by integral terms, and what
/// these make of q_bar [nv].
KERNEL void solve_target_pullback(const lane_model *m, const position_adjoint *A, const position_state *S, real *q_bar)
{
    const solve *W = &A->W;
    const terms_input *in = &W->in;
    if (!m->by_target && !m->by_wound) return;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real *y = A->y + b->vadr;
        if (!(b->flags & BODY_MOTOR)) continue;
        if (b->kind == JOINT_BALL) {
            const motor_pull P = pull_of(m, b, W, y);
            add_by_ball_target(m, &P.of, pull_by_target(b, W, &P));
            continue;
        }
        const lane_motor a = motor_in_step(m, b, in);
        real u = in->u[b->vadr];
        if (in->slack) u = u - in->slack[b->vadr];
        const real by = plain_target_pullback(m, &a, in->x[b->qadr], in->drag * u, y[0]);
        if (a.wound < 0) continue;
        const lane_motor plain = motor_now(m, b);
        wound_start_pullback(m, b, &plain, in, by, q_bar);
        if (a.type == MOTOR_POSITION) continue;
        q_bar[b->vadr] = fmadd(a.gear * a.ki, by, q_bar[b->vadr]), add_by_target(m, &a, a.ki * end_share(in) * by);
    }
    for (int k = 0; k < m->nload && m->by_target; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!s->motor) continue;
        const mat3 R_k = chord_from(W, s->body), R = W->now[s->body].R;
        const twist y = A->P.motion[s->body];
        const mat3 axes = S ? mat3_add_scaled(R_k, S->V[s->body].R, in->h) : W->start[s->body].R;
        vec3 torque = push_torque(m, s, axes);
        if (S) {
            const mat3 V = S->V[s->body].R;
            torque = cross_add(torque, torque, scale(sum_of_crosses(R_k, V), rset(0.25) * in->h));
        }
        const vec3 turned = s->flags & LOAD_TURNS ? mul(R, torque_terms(torque, R_k, R).g) : zero3();
        thrust_target_pullback(m, s, push_force(m, s, axes), opposite(turned), moved_point(y, mul(R, load3(s->point))), y.w);
    }
}

/// Of how far joints with friction are bent after a step: gradients by x, added to A->b, and by q. z_bar [nv]
KERNEL void step_bent_pullback(const lane_model *m, position_adjoint *A, const real *z_bar, real *q_bar)
{
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        if (!(b->flags & BODY_FRICTION)) continue;
        const real by = bent_pullback(m, b, bent_by(b, A->W.in.z, A->W.in.u), z_bar[j]);
        A->b[j] = A->b[j] + by, q_bar[j] = q_bar[j] - by;
    }
}

/// The gradient by x, and those by the state before the step, where they begin.
KERNEL void position_begin_pullback(const lane_model *m, position_adjoint *A, const state_bar *after, const state_bar *before)
{
    for (int k = 0; k < m->nv; k++) A->b[k] = after->q[k], before->q[k] = before->v[k] = rset(0);
}

/// With the gradient by x in A->b: V_bar, and added to those by q and rates of `before` and to tau_bar [nv], what the solve makes
/// of it.
KERNEL void solve_pullback(const lane_model *m, position_adjoint *A, rate_pose *V_bar, const state_bar *before, real *tau_bar)
{
    aim_pullback(m, A, A->W.in.inv_h, V_bar, before->q, before->v, NULL, tau_bar);
    solve_target_pullback(m, A, NULL, before->q);
    if (m->nload) add_axes_rows(m, &A->W, A->seen, &A->P, before->q);
}

/// After position_prepare(): gradients by the state before the step, and added to tau_bar [nv], from those by the state after it.
KERNEL void position_pullback(const lane_model *m, position_adjoint *A, const position_state *start, const state_bar *after,
                              const state_bar *before, real *tau_bar)
{
    const solve *W = &A->W;
    clock_now(m, W->in.h, 1);
    position_begin_pullback(m, A, after, before);
    step_wound_pullback(m, A, after->wound, before->q, NULL);
    step_bent_pullback(m, A, after->z, before->q);
    leave_frames_pullback(m, W, after->V, NULL, NULL, A->seen, &A->P, A->b);
    way_pullback(m, A, after->V, after->v, W->in.inv_h, before->q);  // V' = (T(x) - T(q)) / h and rate' = u / h
    solve_pullback(m, A, before->V, before, tau_bar);
    enter_frames_pullback(m, W, start, A->seen, &A->P, before);
}

#endif
