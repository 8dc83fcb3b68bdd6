/// What joints add to a position-based step of several stages in their own coordinates: springs, limits, dampers, armature,
/// applied forces at every stage. (docs/theory.md 5.3)
///
/// One degree of freedom, with the rate and the acceleration of stage_tables.h formed from q itself:
///
///     stiffness (q_i - rest) + limit (q_i - lo or hi) + damping rate_i + armature acceleration_i - tau
///
/// A ball does the same with its unit quaternion x, whose rate x' gives the angular velocity w = 2 Im(x* x') of the joint and
/// whose acceleration x'' the torque 2 J Im(x* x'') of a rotor: both keep the order of the method, which increments of a chart
/// would not. A limit's damper acts in steps that start beyond the limit. A motor (forces/motors.h, ball_motors.h) acts by q_i and
/// rate_i, dry friction (forces/joint_friction.h) by the way from the start of the step to q_i.
#ifndef CATENA_STAGE_TERMS_H
#define CATENA_STAGE_TERMS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "forces/ball_motors.h"
#include "forces/integral_terms.h"
#include "forces/joint_elements.h"
#include "forces/joint_friction.h"
#include "forces/motors.h"
#include "integrators/joint_terms.h"
#include "integrators/stage_tables.h"

/// What the terms depend on. Stages one after the other: x [stages][nq], u [stages][nv].
typedef struct {
    const real *q;      // [nq] at the start of the step
    const real *rate;   // [nv] V of stage_tables.h in joint coordinates
    const real *tau;    // [nv] applied; NULL: none
    const real *z;      // [nv] what joints with friction remember; NULL: there are none
    const real *wound;  // [nwound] integral terms of motors at the start of the step
    const real *x, *u;  // the iterate, and increments since the start of joints that are not balls
    real h, inv_h, k2;  // step size, 1/h, 1/h^2
} stage_input;

/// The rate at stage a of degree of freedom v of a joint without ball.
FN real stage_rate(const lane_model *m, const stage_table *t, const stage_input *in, int a, int v)
{
    real rate = rset(t->dV[a]) * in->rate[v];
    for (int l = 0; l < t->stages; l++) rate = fmadd(rset(t->d[a][l]) * in->inv_h, in->u[l * m->nv + v], rate);
    return rate;
}

/// The integral term of a motor at stage a (forces/integral_terms.h), on a joint of one degree of freedom and on a ball. Leaves the
/// clock at the stage.
FN real wound_at_stage(const lane_model *m, const lane_body *b, const stage_table *t, const stage_input *in, int a)
{
    const bool position = m->motors[b->motor].type == MOTOR_POSITION;
    real sum = rset(0);
    for (int l = 0; l < t->stages; l++) {
        clock_now(m, in->h, t->c[l]);
        const lane_motor motor = motor_now(m, b);
        const real e = position ? motor_error(&motor, in->x[l * m->nq + b->qadr], rset(0)) : motor.velocity[0];
        sum = fmadd(rset(t->a[a][l]), e, sum);
    }
    clock_now(m, in->h, t->c[a]);
    const lane_motor motor = motor_now(m, b);
    real way = in->h * sum;
    if (!position) way = fnmadd(motor.gear, in->u[a * m->nv + b->vadr], way);
    return fmadd(motor.ki, way, in->wound[motor.wound]);
}

FN vec3 ball_wound_at_stage(const lane_model *m, const lane_body *b, const stage_table *t, const stage_input *in, int a)
{
    const lane_motor *const given_motor = &m->motors[b->motor];
    vec3 sum = zero3();
    for (int l = 0; l < t->stages; l++) {
        clock_now(m, in->h, t->c[l]);
        const lane_motor motor = motor_now(m, b);
        sum = add_scaled(sum, ball_error(&motor, quat_load(in->x + l * m->nq + b->qadr)), rset(t->a[a][l]));
    }
    clock_now(m, in->h, t->c[a]);
    return add_scaled(load3(in->wound + given_motor->wound), sum, in->h * given_motor->ki);
}

/// The motor at stage a, with its integral term in the feedforward.
FN lane_motor motor_at_stage(const lane_model *m, const lane_body *b, const stage_table *t, const stage_input *in, int a)
{
    const bool winds = m->motors[b->motor].wound >= 0;
    vec3 wound = zero3();
    if (winds && b->kind == JOINT_BALL) wound = ball_wound_at_stage(m, b, t, in, a);
    else if (winds) wound.x = wound_at_stage(m, b, t, in, a);
    else clock_now(m, in->h, t->c[a]);
    lane_motor motor = motor_now(m, b);
    if (winds) add3(motor.feedforward, wound);
    return motor;
}

/// Adds the terms of stage a of a joint without ball: row g of coordinate k, and derivatives by the coordinate at every stage, K
/// [s].
FN real stage_terms1(const lane_model *m, const lane_body *b, const stage_table *t, int s, const stage_input *in, int a, int k,
                     real *K)
{
    const int v = b->vadr + k;
    real g = rset(0), acceleration = rset(0);
    real c = rset(0);
    for (int l = 0; l < s; l++) {
        acceleration = fmadd(rset(t->h[a][l]), in->u[l * m->nv + v], acceleration);
        K[l] = rset(0);
    }
    if (b->flags & BODY_PASSIVE) {
        const sym3 C = joint_drag(b, in->q);
        const real rate = stage_rate(m, t, in, a, v);
        c = k == 0 ? C.xx : k == 1 ? C.yy : C.zz;
        if (b->nv == 1) {
            const potential1 V = joint_potential(b, in->x[a * m->nq + b->qadr]);
            g = V.g, K[a] = V.k;
        }
        g = fmadd(c, rate, g);
        if (b->flags & BODY_MOTOR) {
            const lane_motor motor = motor_at_stage(m, b, t, in, a);
            const motor_force f = motor_at(&motor, in->x[a * m->nq + b->qadr], rate);
            g = g - f.force, K[a] = fmadd(motor.kp, f.slope, K[a]), c = add_brake(c, &motor, f);
            if (motor.wound >= 0 && motor.type != MOTOR_POSITION) K[a] = fmadd(motor.ki, f.slope, K[a]);
            for (int l = 0; l < s && motor.wound >= 0 && motor.type == MOTOR_POSITION; l++)
                K[l] = fmadd(rset(t->a[a][l]) * in->h * motor.ki, f.slope, K[l]);
        }
        if (b->flags & BODY_FRICTION) {
            const potential1 W = friction_potential(b, in->z[v] + in->u[a * m->nv + v]);
            g = g + W.g, K[a] = K[a] + W.k;
        }
    }
    const real J = given(b)->armature * in->k2;
    acceleration = fnmadd(rset(t->hV[a]) * in->h, in->rate[v], acceleration);
    g = fmadd(J, acceleration, g);
    for (int l = 0; l < s; l++) K[l] = K[l] + fmadd(rset(t->d[a][l]), c * in->inv_h, rset(t->h[a][l]) * J);
    if (in->tau) g = g - in->tau[v];
    return g;
}

/// A ball at all stages: its quaternion z_l = x_0* x_l as seen from the start of the step, and the increments z_l - 1; and its V.
typedef struct {
    quat z[MOST_STAGES], dz[MOST_STAGES], V;
    vec3 slope;    // of 2 V.w by the rate that is carried
    mask too_far;  // an increment is ambiguous (joint_terms.h)
} ball_stages;

/// Twice the imaginary part of the turn p that leads from one unit quaternion to another, and p.
FN vec3 ball_chord(quat from, quat to, quat *p)
{
    quat one;
    one.w = rset(1), one.x = one.y = one.z = rset(0);
    *p = quat_beside(quat_mul(quat_conjugate(from), to), one);
    return scale(quat_imaginary(*p), rset(2));
}

/// V of a ball, with twice its imaginary part carried as `rate`: of Radau, the derivative (0, rate / 2) of z at the start of the
/// step; of collocation the secant (1 - z_old) / (old h), whose real part a unit quaternion z_old has from its imaginary part.
FN void set_ball_rate(const stage_table *t, const stage_input *in, vec3 rate, ball_stages *B)
{
    B->V = quat_pure(rate, rset(0.5)), B->slope = zero3();
    if (!(t->old > 0)) return;
    const real step = rset(0.5 * t->old) * in->h, c2 = fnmadd(step * step, dot(rate, rate), rset(1));
    const mask real_turn = gt(c2, rset(0));  // beyond, where rates of long steps stand in for the secant
    const real c = root(sel(real_turn, c2, rset(0)));
    B->V.w = rset(0.5) * sel(real_turn, step * dot(rate, rate) / (rset(1) + c), rset(1) / step);
    B->slope = scale(rate, sel(real_turn, step / sel(real_turn, c, rset(1)), rset(0)));
}

FN ball_stages ball_at_stages(const lane_model *m, const lane_body *b, const stage_table *t, const stage_input *in)
{
    ball_stages B;
    const quat start = quat_load(in->q + b->qadr);
    const int j = b->vadr;
    B.too_far = none_of();
    set_ball_rate(t, in, vec(in->rate[j], in->rate[j + 1], in->rate[j + 2]), &B);
    for (int l = 0; l < t->stages; l++) {
        const quat x = quat_beside(quat_load(in->x + l * m->nq + b->qadr), start);
        const quat z = B.z[l] = quat_mul(quat_conjugate(start), x);
        B.too_far = either(B.too_far, lt(z.w, rset(0.0208)));  // cos(3.1 / 2)
        B.dz[l] = z;
        // z.w - 1 without cancellation: -|Im|^2 / (1 + z.w)
        const real im = fmadd(z.z, z.z, fmadd(z.y, z.y, z.x * z.x));
        B.dz[l].w = negate(im / (rset(1) + z.w));
    }
    return B;
}

/// V times v and the increments times weights [stages] and s, summed.
FN quat ball_sum(const stage_table *t, const ball_stages *B, real v, const double *weights, real s)
{
    quat y;
    y.w = v * B->V.w, y.x = v * B->V.x, y.y = v * B->V.y, y.z = v * B->V.z;
    for (int l = 0; l < t->stages; l++) y = quat_add_scaled(y, B->dz[l], rset(weights[l]) * s);
    return y;
}

/// z_a* times the rate of z at stage a: its imaginary part is half the angular velocity in body axes.
FN quat ball_rate(const stage_table *t, const ball_stages *B, int a, real inv_h)
{
    return quat_mul(quat_conjugate(B->z[a]), ball_sum(t, B, rset(t->dV[a]), t->d[a], inv_h));
}

/// z_a* times h^2 times the second derivative of z at stage a.
FN quat ball_acceleration(const stage_table *t, const ball_stages *B, int a, real h)
{
    return quat_mul(quat_conjugate(B->z[a]), ball_sum(t, B, rset(-t->hV[a]) * h, t->h[a], rset(1)));
}

/// What the torque of a ball's motor at stage a, with the derivative `slope` by what it asks for, falls by with a turn of each stage
/// by way of its integral term: added to K.
FN void add_wound_blocks(const lane_model *m, const lane_body *b, const stage_table *t, const stage_input *in, int a, sym3 slope,
                         mat3 *K)
{
    const real o = rset(0), one = rset(1);
    if (m->motors[b->motor].wound < 0) return;
    for (int l = 0; l < t->stages; l++) {
        clock_now(m, in->h, t->c[l]);
        const lane_motor motor = motor_now(m, b);
        const quat r = ball_way(&motor, quat_load(in->x + l * m->nq + b->qadr));
        const real s = rset(t->a[a][l]) * in->h * motor.ki;
        K[l].x = add_scaled(K[l].x, smul(slope, ball_fall(r, vec(one, o, o))), s);
        K[l].y = add_scaled(K[l].y, smul(slope, ball_fall(r, vec(o, one, o))), s);
        K[l].z = add_scaled(K[l].z, smul(slope, ball_fall(r, vec(o, o, one))), s);
    }
    clock_now(m, in->h, t->c[a]);
}

/// The terms of stage a of a ball: torque in body axes, and derivatives K[l] by turns at stage l, as columns. On the diagonal the
/// second derivative in the exponential chart, which is the derivative by turns less [torque]x / 2.
FN vec3 stage_terms_ball(const lane_model *m, const lane_body *b, const stage_table *t, const stage_input *in, const ball_stages *B,
                         int a, mat3 *K)
{
    const real o = rset(0), J = given(b)->armature * in->k2;
    vec3 g = zero3();
    // with the limit's damper along the cone's normal at the start of the step
    const sym3 C = joint_drag(b, in->q);
    terms3 spring;
    spring.g = zero3();
    spring.k = spring.safe = sym_diagonal(o, o, o), spring.E = o;
    if (b->flags & BODY_SPRING) {
        const potential3 V = ball_potential(b, cone_at(b, in->x + a * m->nq));
        add_turn_energy(&spring, V.a, V.g, V.k);
        g = spring.g;
    }
    const quat y = ball_rate(t, B, a, in->inv_h);
    const vec3 w = scale(quat_imaginary(y), rset(2));
    // dampers and a motor: the force f with the derivative -D by w, and what it falls by with turns
    vec3 f = scale(smul(C, w), rset(-1));
    sym3 D = C;
    sym3 slope = sym_diagonal(o, o, o);
    mat3 held;
    held.x = held.y = held.z = zero3();
    if (b->flags & BODY_MOTOR) {
        const lane_motor motor = motor_at_stage(m, b, t, in, a);
        const quat r = ball_way(&motor, quat_load(in->x + a * m->nq + b->qadr));
        const bounded_torque T = bound_torque(ball_demand(&motor, r, w), motor.effort);
        const real one = rset(1);
        f = add(f, T.torque), D = sym_add(D, sym_scale(T.slope, motor.kd)), slope = T.slope;
        held.x = smul(T.slope, ball_stiffness(&motor, r, vec(one, o, o)));
        held.y = smul(T.slope, ball_stiffness(&motor, r, vec(o, one, o)));
        held.z = smul(T.slope, ball_stiffness(&motor, r, vec(o, o, one)));
    }
    // armature: 2 J Im(z* z'')
    const quat y2 = ball_acceleration(t, B, a, in->h);
    g = add_scaled(sub(g, f), quat_imaginary(y2), rset(2) * J);
    for (int l = 0; l < t->stages; l++) {
        // a turn of stage l changes w by (p.w + [Im p]x) d/h, the armature's torque by J h times the same; p = z_a* z_l
        const quat p = quat_mul(quat_conjugate(B->z[a]), B->z[l]);
        const real d = rset(t->d[a][l]) * in->inv_h, j = rset(t->h[a][l]) * J;
        mat3 P;
        P.x = vec(p.w, p.z, negate(p.y)), P.y = vec(negate(p.z), p.w, p.x), P.z = vec(p.y, negate(p.x), p.w);
        if (l == a) P.x = vec(rset(1), o, o), P.y = vec(o, rset(1), o), P.z = vec(o, o, rset(1));
        K[l].x = add_scaled(scale(P.x, j), smul(D, P.x), d);
        K[l].y = add_scaled(scale(P.y, j), smul(D, P.y), d);
        K[l].z = add_scaled(scale(P.z, j), smul(D, P.z), d);
    }
    // turning stage a turns what w is seen from: D (-y.w + [w]x / 2), -J y2.w for armature; [w]x by columns
    const vec3 half = scale(w, rset(0.5));
    const real turn_back = negate(y.w);
    vec3 tau = zero3();
    if (in->tau) tau = vec(in->tau[b->vadr], in->tau[b->vadr + 1], in->tau[b->vadr + 2]);
    const vec3 e = scale(add(tau, f), rset(0.5));  // less [-tau - f]x / 2
    K[a].x = add(K[a].x, smul(D, vec(turn_back, half.z, negate(half.y))));
    K[a].y = add(K[a].y, smul(D, vec(negate(half.z), turn_back, half.x)));
    K[a].z = add(K[a].z, smul(D, vec(half.y, negate(half.x), turn_back)));
    if (b->flags & BODY_MOTOR) {
        K[a] = mat3_add(K[a], held);
        add_wound_blocks(m, b, t, in, a, slope, K);
    }
    const real rotor = negate(J * y2.w);
    K[a].x = add(K[a].x, vec(rotor, e.z, negate(e.y)));
    K[a].y = add(K[a].y, vec(negate(e.z), rotor, e.x));
    K[a].z = add(K[a].z, vec(e.y, negate(e.x), rotor));
    K[a].x = add(K[a].x, vec(spring.k.xx, spring.k.xy, spring.k.xz));
    K[a].y = add(K[a].y, vec(spring.k.xy, spring.k.yy, spring.k.yz));
    K[a].z = add(K[a].z, vec(spring.k.xz, spring.k.yz, spring.k.zz));
    return sub(g, tau);
}

/// Integral terms `wound` [nwound] after a step, in the lanes `where`.
KERNEL void wind_stages(const lane_model *m, const stage_table *t, const stage_input *in, mask where, real *wound)
{
    const int last = t->stages - 1;
    for (int i = 0; i < m->nbody && m->nwound; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || m->motors[b->motor].wound < 0) continue;
        const int at = m->motors[b->motor].wound;
        const real *x = in->x + last * m->nq + b->qadr;
        if (b->kind == JOINT_BALL) {
            const ball_stages B = ball_at_stages(m, b, t, in);
            const vec3 w = scale(quat_imaginary(ball_rate(t, &B, last, in->inv_h)), rset(2)), now = load3(wound + at);
            const vec3 to = ball_wound_at_stage(m, b, t, in, last);
            const lane_motor a = motor_now(m, b);
            store3(wound + at, sel3(where, ball_wound_after(&a, quat_load(x), w, load3(in->wound + at), to), now));
        } else {
            const real to = wound_at_stage(m, b, t, in, last), w = stage_rate(m, t, in, last, b->vadr);
            const lane_motor a = motor_now(m, b);
            wound[at] = sel(where, wound_after(&a, x[0], w, in->wound[at], to), wound[at]);
        }
    }
}

#endif
