/// What sensors say of loops, couplings and tendons. The forces of equations are those that the state has of the step made last
/// (bond_terms.h), in the rows of where the bodies are now; a length and what acts along it go by q and v alone (length_terms.h).
#ifndef CATENA_BOND_SENSORS_H
#define CATENA_BOND_SENSORS_H

#include "dynamics/lane_model.h"
#include "dynamics/sensor.h"
#include "dynamics/spatial.h"
#include "forces/motors.h"
#include "forces/sensors.h"
#include "integrators/bond_terms.h"
#include "integrators/length_terms.h"

/// The two ends of a loop.
FN bond_ends loop_ends(const model_bond *o, const tree_motion *x)
{
    const sensed_body A = sensed_at(x, o->a, 0), B = sensed_at(x, o->b, 0);
    bond_ends e;
    e.A.R = A.T.R, e.B.R = B.T.R, e.A.dp = e.B.dp = zero3();
    e.ra = mul(A.T.R, const3(o->at_a)), e.rb = mul(B.T.R, const3(o->at_b));
    e.x = add(sub(A.T.p, B.T.p), sub(e.ra, e.rb));
    return e;
}

/// What a loop puts on a, about its point there: less the force of each equation times its row, which is about a's origin.
FN wrench loop_wrench(const model_bond *o, const real *force, const tree_motion *x)
{
    enum { MOST_ROWS = 6 };
    bond_row row[MOST_ROWS];
    const bond_ends e = loop_ends(o, x);
    wrench w = wrench_zero();
    loop_rows(o, e, row);
    for (int k = 0; k < o->rows; k++)
        w.f = sub_scaled(w.f, row[k].a.f, force[o->row + k]), w.n = sub_scaled(w.n, row[k].a.n, force[o->row + k]);
    w.n = sub(w.n, cross(e.ra, w.f));
    return w;
}

/// The length of a tendon, and how fast it changes.
FN real tendon_now(const lane_model *m, const model_bond *o, const tree_motion *x, real *rate)
{
    real length = rset(0), speed = rset(0);
    if (o->joints) length = tendon_length(m, o, x->q);
    for (int k = o->joint; k < o->joint + o->joints; k++)
        speed = fmadd(rset(m->bond_joints[k].share), x->v[m->bodies[m->bond_joints[k].body].vadr], speed);
    for (EACH_PIECE(k, m, o, false)) {
        const bond_point *const p = &m->bond_points[k];
        const sensed_body A = sensed_at(x, p[0].body, 0), B = sensed_at(x, p[1].body, 0);
        const vec3 d = sub(mul_add(A.T.p, A.T.R, const3(p[0].at)), mul_add(B.T.p, B.T.R, const3(p[1].at)));
        const vec3 u = sub(twist_at(&A.T, &A.V, const3(p[0].at)).v, twist_at(&B.T, &B.V, const3(p[1].at)).v);
        const real piece = root(dot(d, d)), per = rset(p->share) / sel(gt(piece, rset(0)), piece, rset(1));
        length = fmadd(rset(p->share), piece, length), speed = fmadd(per, dot(d, u), speed);
    }
    *rate = speed;
    return length;
}

/// The numbers of a sensor on a bond. force [nrow]: NULL: none is remembered.
KERNEL void sense_bond(const lane_model *m, const model_sensor *s, const real *force, const tree_motion *x, real *out)
{
    const model_bond *const o = &m->bonds[s->bond];
    if (o->rows) {
        wrench w = wrench_zero();
        if (force && o->kind != BOND_COUPLING) w = loop_wrench(o, force, x);
        if (s->about.type == CTN_SENSE_COUPLING_FORCE) {
            out[0] = rset(0);
            if (force) out[0] = negate(force[o->row]);
        } else if (s->about.type == CTN_SENSE_LOOP_FORCE) store3(out, w.f);
        else store3(out, w.n);
        if (s->about.type == CTN_SENSE_LOOP_WRENCH) store3(out + 3, w.f);
        return;
    }
    real rate;
    const real length = tendon_now(m, o, x, &rate);
    if (s->about.type == CTN_SENSE_TENDON_LENGTH) out[0] = length;
    else if (s->about.type == CTN_SENSE_TENDON_VELOCITY) out[0] = rate;
    else if (s->about.type == CTN_SENSE_MOTOR_EFFORT) {
        const lane_motor motor = tendon_motor(m, o);
        out[0] = motor_answer_at(&motor, length, rate).force;
    } else {
        out[0] = negate(pull_at(o, length, rate, rset(o->damping)).force);
        if (!o->motor) return;
        const lane_motor motor = tendon_motor(m, o);
        out[0] = out[0] + motor_at(&motor, length, rate).force;
    }
}

#endif
