/// What sensors measure, of a tree whose motion and forces are known (dynamics/sensor.h says what each one needs).
///
/// With the point x of a body, its acceleration a, gravity g and the sensor's own axes R, an accelerometer reads the proper
/// acceleration R'(a - g): 0 in free fall, g upwards at rest. Sums over a tree run over its bodies in their order. With its mass m,
/// centre of mass c, linear momentum l and angular momentum h about the world's origin, the one about c is h - c x l.
/// [Orin, Goswami, Lee 2013: Centroidal dynamics of a humanoid robot]
#ifndef CATENA_SENSORS_KERNEL_H
#define CATENA_SENSORS_KERNEL_H

#include "dynamics/accelerations.h"
#include "dynamics/kinematics.h"
#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/sensor.h"
#include "forces/ball_motors.h"
#include "forces/integral_terms.h"
#include "forces/motors.h"
#include "forces/thrust.h"

/// What is known. Poses, twists, accelerations of bodies [nbody]; coordinates, velocities, their accelerations and forces along
/// joints [nv]; the energy of springs.
typedef struct {
    const pose *T;
    const twist *V, *A;
    const real *q, *v, *acceleration, *force;
    real spring;
} tree_motion;

/// The body of a frame. The world stands still.
typedef struct {
    pose T;
    twist V, A;
} sensed_body;

FN sensed_body sensed_at(const tree_motion *x, int body, unsigned needs)
{
    sensed_body B;
    B.T.R.x = vec(rset(1), rset(0), rset(0)), B.T.R.y = vec(rset(0), rset(1), rset(0)), B.T.R.z = vec(rset(0), rset(0), rset(1));
    B.T.p = B.V.w = B.V.v = B.A.w = B.A.v = zero3();
    if (body < 0) return B;
    B.T = x->T[body], B.V = x->V[body];
    if (needs & SENSOR_ACCELERATIONS) B.A = x->A[body];
    return B;
}

/// Of a joint, its motor.
KERNEL void sense_joint(const lane_model *m, const model_sensor *s, const tree_motion *x, real *out)
{
    const bool position = s->about.type == CTN_SENSE_JOINT_POSITION;
    const real *from = position                                        ? x->q
                       : s->about.type == CTN_SENSE_JOINT_ACCELERATION ? x->acceleration
                       : s->about.type == CTN_SENSE_JOINT_FORCE        ? x->force
                                                                       : x->v;
    if (s->about.type == CTN_SENSE_MOTOR_EFFORT && m->motors[s->motor].type >= MOTOR_THRUST) {
        out[0] = bounded_thrust(&m->motors[s->motor], thrust_told(m, &m->motors[s->motor]));
        return;
    }
    if (s->about.type == CTN_SENSE_MOTOR_EFFORT) {
        const lane_body *b = &m->bodies[m->motors[s->motor].body];
        const lane_motor motor = wound_motor(m, b);
        real torque[3];
        if (b->kind == JOINT_BALL) store3(torque, ball_motor_at(&motor, quat_load(x->q + b->qadr), load3(x->v + b->vadr)).torque);
        else torque[0] = motor_answer_at(&motor, x->q[b->qadr], x->v[b->vadr]).force;
        for (int k = 0; k < s->nv; k++) out[k] = torque[s->vadr - b->vadr + k];
        return;
    }
    for (int k = 0; k < (position ? s->nq : s->nv); k++) out[k] = from[(position ? s->qadr : s->vadr) + k];
}

/// Of a frame, and of two points.
KERNEL void sense_frame(const lane_model *m, const model_sensor *s, const tree_motion *x, real *out)
{
    const sensed_body B = sensed_at(x, s->body, s->needs);
    const pose L = frame_on(&B.T, const33(s->R), const3(s->p));
    const twist V = twist_at(&B.T, &B.V, const3(s->p));
    const vec3 a = acceleration_at(&B.T, &B.V, &B.A, const3(s->p));
    const sensed_body other = sensed_at(x, s->to_body, 0);
    const vec3 gap = sub(mul_add(other.T.p, other.T.R, const3(s->to_p)), L.p);
    switch (s->about.type) {
    case CTN_SENSE_POSITION: store3(out, L.p); break;
    case CTN_SENSE_ORIENTATION: quat_store(out, quat_of_rotation(L.R)); break;
    case CTN_SENSE_POSE: store3(out, L.p), quat_store(out + 3, quat_of_rotation(L.R)); break;
    case CTN_SENSE_VELOCITY: store3(out, V.v); break;
    case CTN_SENSE_ANGULAR_VELOCITY: store3(out, V.w); break;
    case CTN_SENSE_TWIST: store3(out, V.w), store3(out + 3, V.v); break;
    case CTN_SENSE_ACCELERATION: store3(out, a); break;
    case CTN_SENSE_ANGULAR_ACCELERATION: store3(out, B.A.w); break;
    case CTN_SENSE_ACCELEROMETER: store3(out, tmul(L.R, sub(a, load3(m->gravity)))); break;
    case CTN_SENSE_GYRO: store3(out, tmul(L.R, V.w)); break;
    case CTN_SENSE_IMU: store3(out, tmul(L.R, sub(a, load3(m->gravity)))), store3(out + 3, tmul(L.R, V.w)); break;
    case CTN_SENSE_VELOCIMETER: store3(out, tmul(L.R, V.v)); break;
    case CTN_SENSE_DISTANCE: out[0] = root(dot(gap, gap)); break;
    default: store3(out, tmul(L.R, gap));
    }
}

/// The rate of the momentum of added mass in a tree.
FN vec3 added_rate(const lane_model *m, const model_sensor *s, const tree_motion *x)
{
    vec3 rate = zero3();
    for (int k = 0; k < m->nload && s->needs & SENSOR_ACCELERATIONS; k++) {
        const lane_point_load *a = &m->loads[k];
        if (!(a->flags & LOAD_ADDED) || a->body < s->first_body || a->body >= s->end_body) continue;
        rate = add_scaled(rate, acceleration_at(&x->T[a->body], &x->V[a->body], &x->A[a->body], load3(a->point)),
                          rset(a->displaced));
    }
    return rate;
}

/// Of a tree, or of all links.
KERNEL void sense_tree(const lane_model *m, const model_sensor *s, const tree_motion *x, real *out)
{
    body_sums sum;
    vec3 rate = zero3();  // of the linear momentum
    real mass = rset(0);
    sum.kinetic = rset(0), sum.l = sum.h = zero3(), sum.moment = s->whole ? load3(m->fixed_moment) : zero3();
    for (int i = s->first_body; i < s->end_body; i++) {
        const lane_body *b = &m->bodies[i];
        add_body_sums(&sum, b, &x->T[i], &x->V[i], x->v);
        if (!(b->flags & BODY_MASS)) continue;
        mass = mass + given(b)->mass;
        if (!(s->needs & SENSOR_ACCELERATIONS)) continue;
        const vec3 c = mul(x->T[i].R, load3(given(b)->h)), w = x->V[i].w;
        rate = add(rate, cross_add(cross_add(scale(x->A[i].v, given(b)->mass), x->A[i].w, c), w, cross(w, c)));
    }
    if (m->adds) {
        mass = mass - take_off_added(&sum, m, s->first_body, s->end_body, x->T, x->V);
        rate = sub(rate, added_rate(m, s, x));
    }
    if (s->whole) mass = m->mass;
    const real each = sel(gt(mass, rset(0)), rset(1) / mass, rset(0)), weight = dot(load3(m->gravity), sum.moment);
    const vec3 c = scale(sum.moment, each), h = sub(sum.h, cross(c, sum.l));
    switch (s->about.type) {
    case CTN_SENSE_COM: store3(out, c); break;
    case CTN_SENSE_COM_VELOCITY: store3(out, scale(sum.l, each)); break;
    case CTN_SENSE_COM_ACCELERATION: store3(out, scale(rate, each)); break;
    case CTN_SENSE_LINEAR_MOMENTUM: store3(out, sum.l); break;
    case CTN_SENSE_ANGULAR_MOMENTUM: store3(out, h); break;
    case CTN_SENSE_MOMENTUM: store3(out, h), store3(out + 3, sum.l); break;
    case CTN_SENSE_KINETIC_ENERGY: out[0] = sum.kinetic; break;
    case CTN_SENSE_POTENTIAL_ENERGY: out[0] = negate(weight); break;
    default: out[0] = sum.kinetic - weight + x->spring;
    }
}

/// The numbers of one sensor, out [CTN_SENSOR_NUMBERS].
FN void sense(const lane_model *m, const model_sensor *s, const tree_motion *x, real *out)
{
    if (s->about.type <= CTN_SENSE_MOTOR_EFFORT) sense_joint(m, s, x, out);
    else if (s->about.type <= CTN_SENSE_RELATIVE_POSITION) sense_frame(m, s, x, out);
    else sense_tree(m, s, x, out);
}

#endif
