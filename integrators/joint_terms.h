/// What joints add to a position-based step in their own coordinates: springs, limits, dampers, armature, applied forces, as
/// energies about the start of the step. (docs/theory.md, "Joint terms")
///
///     spring k/2 (q - rest)^2,  limit k/2 d^2,  damper s b/2 (u - u_d)^2,  armature c J/2 (u - h rate)^2,  force -tau u
///
/// with u the increments since the start: q - q_k, for balls log(q_k' q). Order 2 has c = 1/h^2, s = 1/h, u_d = 0 and the rates
/// that it carries; alpha_step.h says what alpha has. A motor has the potential of forces/motors.h, with w = s (u - u_d), on a ball
/// that of forces/ball_motors.h, dry friction that of forces/joint_friction.h. A limit's damper acts in steps that start beyond the
/// limit, so that the energy of one step is smooth.
#ifndef CATENA_JOINT_TERMS_H
#define CATENA_JOINT_TERMS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "forces/ball_motors.h"
#include "forces/integral_terms.h"
#include "forces/joint_elements.h"
#include "forces/joint_friction.h"
#include "forces/motors.h"
#include "integrators/turning_frame.h"

/// Those of a joint of several degrees of freedom: a ball (gradient by turns in body axes, exponential chart) or a translation
/// (world axes).
typedef struct {
    real E;
    vec3 g;
    sym3 k;
    sym3 safe;     // k without the curvature of the chart: never negative
    mask too_far;  // balls: the increment is ambiguous
} terms3;

/// What the terms depend on. x, q [nq]: now and at the start of the step; rate, tau [nv]: as carried, as applied (NULL: none).
typedef struct {
    const real *x, *q, *u, *rate, *tau;  // u [nv]: increments of joints that are not balls
    const real *slack;                   // [nv] u_d; NULL: 0
    const real *half_turn;               // [nv] of balls, added to tau (alpha_step.h); NULL: nothing
    const real *push;                    // [nv] of balls with motors, likewise added to their feedforward
    const real *wound, *wind;            // [nwound] integral terms at the start; [nv] what that winds them up by (alpha), or NULL
    const real *z;                       // [nv] what joints with friction remember; NULL: there are none
    real h, inv_h;                       // step size, 1/h
    real k2, drag;                       // c and s: 1/h^2, 1/h
} terms_input;

/// Increments near half a turn or more are ambiguous: the poses of bodies do not see whole turns. A ball's coordinates do not
/// either; those of a hinge do, and where its spring, limit or servo stores energy by them, a step that turns it further would
/// take energy from nowhere. So would one of a wheel that is driven: where its torque turns it by more than a radian from rest,
/// poses have no answer but a turn further on, and dampers see that turn in every step that follows.
#define HALF_TURN 3.1
FN bool winds(const lane_body *b)
{
    return about_z(b->kind) && (b->flags & (BODY_SPRING | BODY_SERVO | BODY_FRICTION) || is_wheel(b));
}

/// Where the increment u of a hinge is: a wheel's is found from where it would have come to without forces, `on`.
FN mask winds_on(const lane_body *b, real u, real on)
{
    if (is_wheel(b)) u = u - on;
    return gt(magnitude(u), rset(HALF_TURN));
}

/// The motor of a body in a step, with what its integral term will have come to at the end. (forces/integral_terms.h)
FN lane_motor motor_in_step(const lane_model *m, const lane_body *b, const terms_input *in)
{
    lane_motor a = motor_now(m, b);
    const bool ball = b->kind == JOINT_BALL;
    if (a.wound < 0) return a;
    for (int c = 0; c < (ball ? 3 : 1); c++) {
        a.feedforward[c] = a.feedforward[c] + in->wound[a.wound + c];
        if (in->wind) a.feedforward[c] = a.feedforward[c] + in->wind[b->vadr + c];
    }
    if (ball || a.type == MOTOR_POSITION) a.kp = fmadd(in->wind ? wind_share(&a, in->h) : rset(1), in->h * a.ki, a.kp);
    else a.kp = a.ki, a.target[0] = fmadd(a.gear, in->q[b->qadr], rset(in->wind ? 0.5 : 1) * in->h * a.velocity[0]);
    return a;
}

FN potential1 joint_terms1(const lane_model *m, const lane_body *b, const terms_input *in)
{
    const real x = in->x[b->qadr], u = in->u[b->vadr];
    potential1 t;
    t.E = t.g = t.k = rset(0);
    if (b->flags & BODY_PASSIVE) {
        const real c = joint_drag(b, in->q).xx * in->drag, slack = in->slack ? in->slack[b->vadr] : rset(0), w = u - slack;
        t = joint_potential(b, x);
        t.k = t.k + c;
        t.g = fmadd(c, w, t.g);
        t.E = fmadd(rset(0.5) * c * w, w, t.E);
        if (b->flags & BODY_MOTOR) {
            const lane_motor a = motor_in_step(m, b, in);
            const motor_potential V = motor_step(&a, x, u, in->drag * w, in->drag);
            t.E = t.E + V.E, t.g = t.g + V.g, t.k = t.k + V.k;
        }
        if (b->flags & BODY_FRICTION) {
            const potential1 W = friction_potential(b, in->z[b->vadr] + u);
            t.E = t.E + W.E, t.g = t.g + W.g, t.k = t.k + W.k;
        }
    }
    if (b->flags & BODY_ARMATURE) {
        const real J = given(b)->armature * in->k2, a = fnmadd(in->h, in->rate[b->vadr], u);
        t.k = t.k + J;
        t.g = fmadd(J, a, t.g);
        t.E = fmadd(rset(0.5) * J * a, a, t.E);
    }
    if (in->tau) {
        t.g = t.g - in->tau[b->vadr];
        t.E = fnmadd(in->tau[b->vadr], u, t.E);
    }
    return t;
}

/// Adds an energy f(a) of a turn a, given its gradient g and second derivative K by a: with the chart's derivative D,
/// a' = D w and D = 1 + [a]/2 + c [a]^2, the gradient by turns is D'g, the second derivative D'KD + sym(g.a''), where
/// g.a'' = w.(g x Dw)/2 + c [(g.a)(w.Dw) + (D'g.w)(a.w) - 2 (g.w)(a.w)] + 2 c' [(g.a)(a.w)^2 - |a|^2 (g.w)(a.w)].
FN void add_turn_energy(terms3 *t, vec3 a_, vec3 g_, sym3 K)
{
    real slope;
    const real a2 = dot(a_, a_), c = chart_c(a2, &slope), ga = dot(g_, a_), half = rset(0.5);
    const real a[3] = {a_.x, a_.y, a_.z}, g[3] = {g_.x, g_.y, g_.z};
    const real skew[3][3] = {{rset(0), negate(a[2]), a[1]}, {a[2], rset(0), negate(a[0])}, {negate(a[1]), a[0], rset(0)}};
    real D[3][3], gD[3][3], Dg[3], Q[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            D[i][j] = fmadd(c * a[i], a[j], half * skew[i][j]);
            if (i == j) D[i][j] = D[i][j] + fnmadd(c, a2, rset(1));
        }
    for (int j = 0; j < 3; j++) {
        const vec3 d = vec(D[0][j], D[1][j], D[2][j]), e = cross(g_, d);
        gD[0][j] = e.x, gD[1][j] = e.y, gD[2][j] = e.z;
        Dg[j] = dot(d, g_);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            const real sym = fmadd(g[i], a[j], g[j] * a[i]);
            real s = half * half * (gD[i][j] + gD[j][i]);
            s = fmadd(half * c * ga, D[i][j] + D[j][i], s);
            s = fmadd(half * c, fmadd(Dg[i], a[j], Dg[j] * a[i]), s);
            s = fnmadd(c, sym, s);
            s = fmadd(rset(2) * slope, fnmadd(half * a2, sym, ga * a[i] * a[j]), s);
            Q[i][j] = s;
        }
    mat3 Dt;  // by columns: the rows of D
    Dt.x = vec(D[0][0], D[0][1], D[0][2]), Dt.y = vec(D[1][0], D[1][1], D[1][2]), Dt.z = vec(D[2][0], D[2][1], D[2][2]);
    const sym3 M = turn(Dt, K);
    t->g = add(t->g, vec(Dg[0], Dg[1], Dg[2]));
    t->safe = sym_add(t->safe, M);
    t->k.xx = t->k.xx + (M.xx + Q[0][0]), t->k.yy = t->k.yy + (M.yy + Q[1][1]), t->k.zz = t->k.zz + (M.zz + Q[2][2]);
    t->k.xy = t->k.xy + (M.xy + Q[1][0]), t->k.xz = t->k.xz + (M.xz + Q[2][0]), t->k.yz = t->k.yz + (M.yz + Q[2][1]);
}

/// The increments of a ball since the start of the step, body axes.
FN vec3 ball_increment(const lane_body *b, const real *q, const real *x)
{
    return quat_log(quat_mul(quat_conjugate(quat_load(q + b->qadr)), quat_load(x + b->qadr)));
}

/// C s + J
FN sym3 rate_block(sym3 C, real s, real J)
{
    sym3 K;
    K.xx = fmadd(C.xx, s, J), K.yy = fmadd(C.yy, s, J), K.zz = fmadd(C.zz, s, J);
    K.xy = C.xy * s, K.xz = C.xz * s, K.yz = C.yz * s;
    return K;
}

/// The motor of a ball in a step: the spring that it is.
FN ball_spring ball_spring_in(const lane_motor *a, const lane_body *b, const terms_input *in)
{
    const vec3 o = zero3();
    return ball_spring_of(a, quat_load(in->q + b->qadr), in->slack ? load3(in->slack + b->vadr) : o, in->drag,
                          in->push ? load3(in->push + b->vadr) : o);
}

/// z = q' x, the turn of a ball since the start of the step.
FN quat ball_turn(const lane_body *b, const terms_input *in)
{
    return quat_short(quat_mul(quat_conjugate(quat_load(in->q + b->qadr)), quat_load(in->x + b->qadr)));
}

FN terms3 joint_terms3(const lane_model *m, const lane_body *b, const terms_input *in)
{
    const bool ball = b->kind == JOINT_BALL;
    const vec3 o = zero3(), rate = vec(in->rate[b->vadr], in->rate[b->vadr + 1], in->rate[b->vadr + 2]);
    const vec3 u = ball ? ball_increment(b, in->q, in->x) : vec(in->u[b->vadr], in->u[b->vadr + 1], in->u[b->vadr + 2]);
    vec3 tau = in->tau ? load3(in->tau + b->vadr) : o;
    if (ball && in->half_turn) tau = add(tau, load3(in->half_turn + b->vadr));
    terms3 t;
    t.g = o;
    t.k = t.safe = sym_diagonal(rset(0), rset(0), rset(0));
    t.too_far = ball ? gt(dot(u, u), rset(HALF_TURN * HALF_TURN)) : none_of();

    // along the increments: dampers, armature, applied force
    const sym3 C = joint_drag(b, in->q), K = rate_block(C, in->drag, given(b)->armature * in->k2);
    const vec3 w = in->slack ? sub(u, load3(in->slack + b->vadr)) : u;
    const vec3 a = sub_scaled(u, rate, in->h), d = scale(smul(C, w), in->drag);
    const real J = given(b)->armature * in->k2;
    const vec3 g = sub(add_scaled(d, a, J), tau);
    t.E = rset(0.5) * fmadd(J, dot(a, a), dot(d, w)) - dot(tau, u);
    if (!ball) {
        t.g = g, t.k = t.safe = K;
        return t;
    }
    add_turn_energy(&t, u, g, K);
    if (b->flags & BODY_MOTOR) {
        const lane_motor motor = motor_in_step(m, b, in);
        const ball_spring B = ball_spring_in(&motor, b, in);
        const turn_potential V = ball_motor_step(&motor, &B, ball_turn(b, in));
        t.E = t.E + V.E, t.g = add(t.g, V.g), t.k = sym_add(t.k, V.k), t.safe = sym_add(t.safe, V.safe);
    }
    if (!(b->flags & BODY_SPRING)) return t;
    const potential3 V = ball_potential(b, cone_at(b, in->x));
    add_turn_energy(&t, V.a, V.g, V.k);
    t.E = t.E + V.E;
    return t;
}

/// The integral term of a motor on a joint of one degree of freedom after a step.
FN real wound_of_step(const lane_motor *a, const lane_motor *end, const lane_body *b, const terms_input *in)
{
    const real x = in->x[b->qadr], u = in->u[b->vadr], slack = in->slack ? in->slack[b->vadr] : rset(0);
    const real to = fmadd(end->kp - a->kp, fnmadd(a->gear, x, end->target[0]), end->feedforward[0] - a->feedforward[0]);
    return wound_after(a, x, in->drag * (u - slack), in->wound[a->wound], to);
}

/// Integral terms `wound` [nwound] after a step, in the lanes `where`.
KERNEL void wind_step(const lane_model *m, const terms_input *in, mask where, real *wound)
{
    for (int i = 0; i < m->nbody && m->nwound; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || m->motors[b->motor].wound < 0) continue;
        const lane_motor a = motor_now(m, b), end = motor_in_step(m, b, in);
        const int at = a.wound;
        if (b->kind == JOINT_BALL) {
            const quat x = quat_load(in->x + b->qadr);
            const vec3 u = ball_increment(b, in->q, in->x), slack = in->slack ? load3(in->slack + b->vadr) : zero3();
            const vec3 more = add_scaled(sub(load3(end.feedforward), load3(a.feedforward)), ball_error(&a, x), end.kp - a.kp);
            const vec3 next = ball_wound_after(&a, x, scale(sub(u, slack), in->drag), load3(in->wound + at), more);
            store3(wound + at, sel3(where, next, load3(wound + at)));
        } else wound[at] = sel(where, wound_of_step(&a, &end, b, in), wound[at]);
    }
}

#endif
