/// Motors as a map from what they are told, the targets u, to forces along the joints, tau(q, v, u), and how it goes by all of
/// these. For a virtual motion y of the joints
///
///     y'tau = sum y g C(y_k)  +  sum y.S(Y)  +  sum T (e.y_p + m.y_w)
///
/// over motors on joints (forces/motors.h), on balls (forces/ball_motors.h), and thrusters (forces/thrust.h), y_p and y_w the
/// motion of a thruster's point and the turn of its link. Adjoints of steps ask for the gradients by u, and by integral terms,
/// where a method evaluates forces; they go to m->by_target and m->by_wound, if these are wanted. (docs/theory.md 4.10)
#ifndef CATENA_MOTOR_MAP_H
#define CATENA_MOTOR_MAP_H

#include "dynamics/derivatives.h"
#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "forces/ball_motors.h"
#include "forces/joint_forces.h"
#include "forces/motors.h"
#include "forces/thrust.h"
#include "integrators/load_forces.h"
#include "integrators/pose_pullback.h"

// ---- by targets

/// Adds to the gradients by a motor's target, of a ball three; and by its integral term.
FN void add_by_target(const lane_model *m, const lane_motor *a, real by)
{
    if (m->by_target) m->by_target[a->control] = m->by_target[a->control] + by;
}
FN void add_by_wound(const lane_model *m, const lane_motor *a, real by)
{
    if (m->by_wound && a->wound >= 0) m->by_wound[a->wound] = m->by_wound[a->wound] + by;
}
FN void add_by_ball_target(const lane_model *m, const lane_motor *a, vec3 by) { add3(m->by_target + a->control, by); }

/// How what a motor asks for rises with its target.
FN real target_gain(const lane_motor *a)
{
    return a->type == MOTOR_POSITION ? a->kp : a->type == MOTOR_VELOCITY ? a->kd : rset(1);
}

/// Adds the gradient of y F, F the force of a motor on a joint that is at x and moves with w. Returns that by what it asks for.
FN real plain_target_pullback(const lane_model *m, const lane_motor *a, real x, real w, real y)
{
    if (!m->by_target && !m->by_wound) return rset(0);
    const real by = y * a->gear * motor_answer_at(a, x, w).by_y;
    add_by_target(m, a, by * target_gain(a)), add_by_wound(m, a, by);
    return by;
}

/// Of a position motor on a ball: the gradient by the rotation vector of its target of l.(2 kp Im r), r how the target is seen.
FN vec3 by_rotation(const lane_motor *a, quat r, vec3 l)
{
    const vec3 by_turn = scale(cross_add(scale(l, r.w), l, quat_imaginary(r)), a->kp);
    return exp_pullback(load3(a->target), by_turn);
}

/// Where its velocity follows that: the gradient by the rotation vector of velocity.l.
FN vec3 by_followed(const lane_motor *a, vec3 l)
{
    return a->follows ? exp_velocity_slope(load3(a->target), load3(a->led), l) : zero3();
}

/// Adds the gradient of y.S(Y) of a motor on a ball at x that turns with w.
FN void ball_target_pullback(const lane_model *m, const lane_motor *a, quat x, vec3 w, vec3 y)
{
    if (!m->by_target) return;
    const quat r = ball_way(a, x);
    const vec3 l = smul(bound_torque(ball_demand(a, r, w), a->effort).slope, y);
    if (a->type == MOTOR_POSITION) add_by_ball_target(m, a, add(by_rotation(a, r, l), by_followed(a, scale(l, a->kd))));
    else add_by_ball_target(m, a, scale(l, target_gain(a)));
}

/// Adds the gradient of what a thruster with e and m gives for the motion `point` of its point and the turn w of its link.
FN void thrust_target_pullback(const lane_model *m, const lane_point_load *s, vec3 e, vec3 moment, vec3 point, vec3 w)
{
    if (!m->by_target) return;
    const lane_motor *const a = &m->motors[s->motor - 1];
    const real by = thrust_slope(a, thrust_told(m, a)) * dot_add(dot(e, point), moment, w);
    add_by_target(m, a, by);
}

/// Adds sign times the gradients by all targets of y'tau at (q, v), now. y [nv]
KERNEL void target_pullback(const lane_model *m, const real *q, const real *v, const real *y, real sign, loads_work *L)
{
    if (!m->by_target && !m->by_wound) return;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR)) continue;
        const lane_motor a = wound_motor(m, b);
        const vec3 y_j = scale(joint_vector(b, y), sign), w = joint_vector(b, v);
        if (b->kind == JOINT_BALL) ball_target_pullback(m, &a, quat_load(q + b->qadr), w, y_j);
        else plain_target_pullback(m, &a, q[b->qadr], w.x, y_j.x);
    }
    if (!m->nload || !m->by_target) return;
    find_placements(m, q, L->T);
    joint_twists(m, L->T, y, L->A.motion);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!s->motor) continue;
        const mat3 R = L->T[s->body].R;
        const twist y_k = L->A.motion[s->body];
        thrust_target_pullback(m, s, scale(push_force(m, s, R), sign), scale(push_torque(m, s, R), sign),
                               moved_point(y_k, mul(R, load3(s->point))), y_k.w);
    }
}

/// Where integral terms are wound up at the rates ki e at (q, v), now: adds the gradients of rate_bar' of these, [nwound].
KERNEL void wind_pullback(const lane_model *m, const real *rate_bar, real *q_bar, real *v_bar)
{
    for (int i = 0; i < m->nbody && m->nwound; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || m->motors[b->motor].wound < 0) continue;
        const lane_motor *const a = &m->motors[b->motor];
        const real by = a->ki * rate_bar[a->wound];
        real *const to = a->type == MOTOR_POSITION ? &q_bar[b->vadr] : &v_bar[b->vadr];
        *to = fnmadd(a->gear, by, *to);
        add_by_target(m, a, by);
    }
}

// ---- the map

/// The motors of m, which are its own, are told u [ncontrol].
KERNEL void tell_targets(const lane_model *m, const real *u)
{
    for (int k = 0; k < m->nmotor; k++) {
        lane_motor *const a = &m->motors[k];
        for (int c = 0; c < told_numbers(m, a); c++) told_target(a)[c] = u[a->control + c];
    }
}

/// The thrust of a load that is a thruster along its force and its torque, in world axes, on a body with the axes R.
FN wrench thrust_on(const lane_model *m, const lane_point_load *s, mat3 R)
{
    const real T = thrust_of(m, s);
    wrench w;
    w.f = scale(push_force(m, s, R), T), w.n = scale(push_torque(m, s, R), T);
    return w;
}

/// tau [nv] at (q, v), now.
KERNEL void motor_map(const lane_model *m, const real *q, const real *v, loads_work *L, real *tau)
{
    for (int k = 0; k < m->nv; k++) tau[k] = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR)) continue;
        const lane_motor a = wound_motor(m, b);
        const vec3 w = joint_vector(b, v);
        if (b->kind == JOINT_BALL) add_joint_vector(b, tau, ball_motor_at(&a, quat_load(q + b->qadr), w).torque);
        else tau[b->vadr] = tau[b->vadr] + motor_at(&a, q[b->qadr], w.x).force;
    }
    if (!m->nload) return;
    find_placements(m, q, L->T);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        L->A.load[i] = wrench_zero();
        for (int k = b->load; k < b->loads_end; k++) {
            const lane_point_load *s = &m->loads[k];
            if (!s->motor) continue;
            const wrench w = thrust_on(m, s, L->T[i].R);
            L->A.load[i] = wrench_add(L->A.load[i], force_at(mul(L->T[i].R, load3(s->point)), w.f));
            L->A.load[i].n = add(L->A.load[i].n, w.n);
        }
    }
    add_joint_rows(m, L->T, L->A.load, tau);
}

/// Adds to q_bar [nv] the gradient by q of what thrusters give for y: by the motion of their points, and by how they turn.
KERNEL void thrust_pullback(const lane_model *m, const real *q, const real *y, loads_work *L, real *q_bar)
{
    pose_work *const A = &L->A;
    if (!m->nload) return;
    find_placements(m, q, L->T);
    joint_twists(m, L->T, y, A->motion);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < m->nbody; i++) {
            const lane_body *b = &m->bodies[i];
            A->load[i] = wrench_zero(), A->moment[i] = zero3();
            for (int k = b->load; k < b->loads_end; k++) {
                const lane_point_load *s = &m->loads[k];
                if (!s->motor) continue;
                const wrench w = thrust_on(m, s, L->T[i].R);
                const vec3 arm = mul(L->T[i].R, load3(s->point));
                if (pass == 0) add_rate_load(A, i, arm, w.f), add_rate_torque(A, i, w.n);
                else A->load[i].n = add(A->load[i].n, cross_add(cross(w.f, moved_point(A->motion[i], arm)), w.n, A->motion[i].w));
            }
        }
        if (pass == 0) rate_rows(m, L->T, rset(1), A, q_bar, NULL);
        else add_joint_rows(m, L->T, A->load, q_bar);
    }
}

/// Its derivatives by q and v [nv][nv], and by u [nv][ncontrol]; each may be NULL. y, q_bar, v_bar [nv]: scratch; m->by_target
/// is, too
KERNEL void motor_matrices(const lane_model *m, const real *q, const real *v, loads_work *L, real *y, real *q_bar, real *v_bar,
                           double *const *by_q, double *const *by_v, double *const *by_u, int count)
{
    const size_t n = (size_t)m->nv, nu = (size_t)m->ncontrol;
    for (size_t row = 0; row < n; row++) {
        for (size_t k = 0; k < n; k++) y[k] = rset(k == row), q_bar[k] = v_bar[k] = rset(0);
        for (size_t k = 0; k < nu; k++) m->by_target[k] = rset(0);
        for (int i = 0; i < m->nbody; i++) {
            const lane_body *b = &m->bodies[i];
            if (b->flags & BODY_MOTOR) motor_pullback_body(m, b, q, v, scale(joint_vector(b, y), rset(-1)), q_bar, v_bar);
        }
        thrust_pullback(m, q, y, L, q_bar);
        target_pullback(m, q, v, y, rset(1), L);
        for (size_t k = 0; k < n; k++)
            matrix_put(by_q, count, row * n + k, q_bar[k]), matrix_put(by_v, count, row * n + k, v_bar[k]);
        for (size_t k = 0; k < nu; k++) matrix_put(by_u, count, row * nu + k, m->by_target[k]);
    }
}

#endif
