/// The elements of all joints (joint_elements.h, motors.h, ball_motors.h) as forces on a moving tree: their sum, their energy, and their
/// derivatives.
#ifndef CATENA_JOINT_FORCES_H
#define CATENA_JOINT_FORCES_H

#include "dynamics/derivatives.h"
#include "forces/ball_motors.h"
#include "forces/integral_terms.h"
#include "forces/joint_elements.h"
#include "forces/motors.h"

FN vec3 joint_vector(const lane_body *b, const real *v)
{
    const real *u = v + b->vadr;
    return b->nv == 1 ? vec(u[0], rset(0), rset(0)) : vec(u[0], u[1], u[2]);
}

FN void add_joint_vector(const lane_body *b, real *v, vec3 u)
{
    const real entries[3] = {u.x, u.y, u.z};
    for (int k = 0; k < b->nv; k++) v[b->vadr + k] = v[b->vadr + k] + entries[k];
}

/// Adds -dV - C v, and the forces of motors, to tau [nv].
KERNEL void add_passive_forces(const lane_model *m, const real *q, const real *v, real *tau)
{
    for (int i = 0; i < m->nbody && m->passive; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_PASSIVE)) continue;
        const vec3 u = joint_vector(b, v);
        vec3 f;
        if (b->nv == 1) f = vec(fmadd(joint_drag(b, q).xx, u.x, joint_potential(b, q[b->qadr]).g), rset(0), rset(0));
        else if (b->flags & BODY_SPRING) {
            const cone_limit cone = cone_at(b, q);
            f = add(ball_potential(b, cone).g, smul(ball_drag(b, cone), u));
        } else f = smul(joint_drag(b, q), u);
        if (b->flags & BODY_MOTOR) {
            const lane_motor a = wound_motor(m, b);
            if (b->kind == JOINT_BALL) f = sub(f, ball_motor_at(&a, quat_load(q + b->qadr), u).torque);
            else f.x = f.x - motor_at(&a, q[b->qadr], u.x).force;
        }
        add_joint_vector(b, tau, scale(f, rset(-1)));
    }
}

/// What the motor of a joint with BODY_SERVO stores at q, J.
FN real servo_energy(const lane_model *m, const lane_body *b, const real *q)
{
    const lane_motor a = motor_now(m, b);
    return b->kind == JOINT_BALL ? ball_motor_energy(&a, quat_load(q + b->qadr)) : motor_energy(&a, q[b->qadr]);
}

/// What a joint with BODY_SPRING or BODY_SERVO stores at q, J.
FN real stored_energy(const lane_model *m, const lane_body *b, const real *q)
{
    const bool ball = b->kind == JOINT_BALL;
    real E = ball && !(b->flags & BODY_SPRING) ? rset(0)
             : ball                            ? ball_potential(b, cone_at(b, q)).E
                                               : joint_potential(b, q[b->qadr]).E;
    if (b->flags & BODY_SERVO) E = E + servo_energy(m, b, q);
    return E;
}

/// What motors with kp store, J.
KERNEL real servo_potential(const lane_model *m, const real *q)
{
    real E = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_SERVO) E = E + servo_energy(m, b, q);
    }
    return E;
}

/// Potential of springs, limits and motors, J.
KERNEL real passive_potential(const lane_model *m, const real *q)
{
    real E = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & (BODY_SPRING | BODY_SERVO)) E = E + stored_energy(m, b, q);
    }
    return E;
}

/// Adds to q_bar and v_bar [nv] the gradients of -back'f, f the force of the motor of a body with BODY_MOTOR.
FN void motor_pullback_body(const lane_model *m, const lane_body *b, const real *q, const real *v, vec3 back, real *q_bar,
                            real *v_bar)
{
    if (b->kind == JOINT_BALL) {
        const lane_motor a = wound_motor(m, b);
        const quat r = ball_way(&a, quat_load(q + b->qadr));
        const vec3 by = smul(bound_torque(ball_demand(&a, r, joint_vector(b, v)), a.effort).slope, back);
        add_joint_vector(b, q_bar, ball_stiffness_transposed(&a, r, by)), add_joint_vector(b, v_bar, scale(by, a.kd));
    } else {
        const lane_motor a = wound_motor(m, b);
        const motor_force f = motor_at(&a, q[b->qadr], v[b->vadr]);
        const real by = back.x * f.slope;
        q_bar[b->vadr] = fmadd(a.kp, by, q_bar[b->vadr]), v_bar[b->vadr] = fmadd(a.kd, by, v_bar[b->vadr]);
        if (a.fast) v_bar[b->vadr] = fmadd(back.x, f.brake, v_bar[b->vadr]);
    }
}

/// Adds to q_bar and v_bar [nv] the gradients of y'f, f the force along the joint of a body with BODY_PASSIVE.
FN void passive_pullback_body(const lane_model *m, const lane_body *b, const real *q, const real *v, vec3 y, real *q_bar,
                              real *v_bar)
{
    const vec3 back = scale(y, rset(-1));
    if (b->flags & BODY_MOTOR) motor_pullback_body(m, b, q, v, back, q_bar, v_bar);
    if (b->nv == 1 || !(b->flags & BODY_SPRING)) {
        add_joint_vector(b, v_bar, smul(joint_drag(b, q), back));
        if (b->nv == 1) add_joint_vector(b, q_bar, scale(back, joint_potential(b, q[b->qadr]).k));
        return;
    }
    const cone_limit cone = cone_at(b, q);
    const vec3 a = scale(cone.a, rset(-1)), by_a = smul(ball_potential(b, cone).k, back);
    add_joint_vector(b, q_bar, add(chart_velocity(a, by_a), drag_pullback(cone, joint_vector(b, v), back)));  // the former D'
    add_joint_vector(b, v_bar, smul(ball_drag(b, cone), back));
}

/// Adds to q_bar and v_bar the gradients of y'f, f the forces along all joints. y, q_bar, v_bar [nv].
KERNEL void passive_pullback(const lane_model *m, const real *q, const real *v, const real *y, real sign, real *q_bar,
                             real *v_bar)
{
    for (int i = 0; i < m->nbody && m->passive; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_PASSIVE) passive_pullback_body(m, b, q, v, scale(joint_vector(b, y), sign), q_bar, v_bar);
    }
}

/// Adds sign times the derivatives of these forces by q and v to matrices [nv][nv]. q_bar, v_bar [nv]: scratch
KERNEL void passive_matrices(const lane_model *m, const real *q, const real *v, real sign, real *q_bar, real *v_bar,
                             double *const *by_q, double *const *by_v, int count)
{
    const size_t n = (size_t)m->nv;
    for (int i = 0; i < m->nbody && m->passive; i++) {
        const lane_body *b = &m->bodies[i];
        for (int row = 0; row < b->nv && (b->flags & BODY_PASSIVE); row++) {
            const vec3 y = vec(row == 0 ? sign : rset(0), row == 1 ? sign : rset(0), row == 2 ? sign : rset(0));
            for (int k = b->vadr; k < b->vadr + b->nv; k++) q_bar[k] = v_bar[k] = rset(0);
            passive_pullback_body(m, b, q, v, y, q_bar, v_bar);
            for (int k = b->vadr; k < b->vadr + b->nv; k++) {
                const size_t at = (size_t)(b->vadr + row) * n + (size_t)k;
                if (by_q) matrix_put(by_q, count, at, matrix_get(by_q, at) + q_bar[k]);
                if (by_v) matrix_put(by_v, count, at, matrix_get(by_v, at) + v_bar[k]);
            }
        }
    }
}

#endif
