/// Integral terms of motors. A motor with ki asks for I besides (forces/motors.h: it joins the feedforward), with
///
///     dI/dt = ki e,    e = target - g x of a servo of position (of a ball 2 Im r), velocity - g w of one of velocity
///
/// I is part of the state of its world. Every method winds it up by its own rule, so that it keeps its order, and methods that
/// solve for the end of a step have I there as it will be. A step of one solve takes it to
///
///     I' = I + h ki ((1 - share) e_k + share e'),    of velocity  I + ki (h mean velocity - g u),
///
/// which is a motor with kp + share h ki in the place of kp (of velocity: with kp = ki, and a target): as stable as any. Order 2 has
/// share 1; alpha (1 + z)/(2 + z), z = h ki/kp, of second order and without overshoot, as dampers of the variational method have
/// theirs (docs/theory.md 6.4). Stages have I_i = I + h sum a_ij ki e_j.
///
/// A motor at its effort, or its speed, winds up no more: what I gains in a step counts by the slope of its answer at the end of the
/// step, where it would have it ask for still more. (docs/theory.md 4.10)
#ifndef CATENA_INTEGRAL_TERMS_H
#define CATENA_INTEGRAL_TERMS_H

#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "forces/ball_motors.h"
#include "forces/motors.h"

/// The integral terms are `wound` [nwound] now; NULL: 0.
FN void hold_wound(const lane_model *m, const real *wound)
{
    for (int k = 0; k < m->nwound && m->wound; k++) m->wound[k] = wound ? wound[k] : rset(0);
}

/// That of a motor now; of a ball three numbers.
FN real wound_now(const lane_model *m, const lane_motor *a) { return a->wound >= 0 && m->wound ? m->wound[a->wound] : rset(0); }
FN vec3 wound_now3(const lane_model *m, const lane_motor *a)
{
    return a->wound >= 0 && m->wound ? load3(m->wound + a->wound) : zero3();
}

/// The motor of a body as it is told now, with its integral term in the feedforward.
FN lane_motor wound_motor(const lane_model *m, const lane_body *b)
{
    lane_motor a = motor_now(m, b);
    if (a.wound < 0 || !m->wound) return a;
    for (int c = 0; c < (b->kind == JOINT_BALL ? 3 : 1); c++) a.feedforward[c] = a.feedforward[c] + m->wound[a.wound + c];
    return a;
}

/// e at x and w.
FN real motor_error(const lane_motor *a, real x, real w)
{
    return a->type == MOTOR_POSITION ? fnmadd(a->gear, x, a->target[0]) : fnmadd(a->gear, w, a->velocity[0]);
}
FN vec3 ball_error(const lane_motor *a, quat x) { return scale(quat_imaginary(ball_way(a, x)), rset(2)); }

/// How fast the integral terms change at (q, v), now: rate [nwound].
KERNEL void wind_rates(const lane_model *m, const real *q, const real *v, real *rate)
{
    for (int k = 0; k < m->nmotor && m->nwound; k++) {
        const lane_body *b = &m->bodies[m->motors[k].body];
        if (m->motors[k].wound < 0) continue;
        const lane_motor a = motor_now(m, b);
        if (b->kind == JOINT_BALL) store3(rate + a.wound, scale(ball_error(&a, quat_load(q + b->qadr)), a.ki));
        else rate[a.wound] = a.ki * motor_error(&a, q[b->qadr], v[b->vadr]);
    }
}

/// What I becomes in a step that ends at x and w and would take it from `from` to `to`.
FN real wound_after(const lane_motor *a, real x, real w, real from, real to)
{
    const real more = to - from, y = motor_demand(a, x, w) + to, slope = answer_of(a, y, a->gear * w).by_y;
    return fmadd(sel(gt(more * y, rset(0)), slope, rset(1)), more, from);
}

/// The gradients of g I' by I, by what the step would take it to, by x and w, and by what the motor asks for at the end.
typedef struct {
    real from, to, x, w, y;
} wound_bar;

FN wound_bar wound_after_pullback(const lane_motor *a, real x, real w, real from, real to, real g)
{
    const real o = rset(0), one = rset(1), more = to - from, y = motor_demand(a, x, w) + to;
    const mask winds = gt(more * y, o);
    const real size = magnitude(y), width = rset(2 * MOTOR_CORNER) * a->effort;
    const real f = sel(winds, answer_of(a, y, a->gear * w).by_y, one);
    // the slope falls over the corner of an effort; corners of motors with a speed are sharp
    const mask inside = both(gt(size, rset(1 - MOTOR_CORNER) * a->effort), lt(size, rset(1 + MOTOR_CORNER) * a->effort));
    const mask bent = both(both(winds, inside), not_(speed_limited(a)));
    const real falls = sel(bent, one / sel(bent, width, one), o);
    wound_bar B;
    B.y = negate(g * more * sel(lt(y, o), negate(falls), falls));
    B.to = fmadd(g, f, B.y), B.from = g * (one - f);
    B.x = negate(B.y * a->kp * a->gear), B.w = negate(B.y * a->kd * a->gear);
    return B;
}

FN vec3 ball_wound_after(const lane_motor *a, quat x, vec3 w, vec3 from, vec3 to)
{
    const vec3 Y = add(ball_demand(a, ball_way(a, x), w), to);
    const real square = dot(Y, Y), along = dot(sub(to, from), Y);
    const mask further = gt(along, rset(0));
    const real lost = (rset(1) - saturate(root(square), a->effort, MOTOR_CORNER).slope) * along;
    return sub_scaled(to, Y, sel(further, lost / sel(further, square, rset(1)), rset(0)));
}

/// The integral terms of a state that would go to `to` [nwound] in a step that ends at x [nq] and w [nv], in the lanes `where`.
KERNEL void keep_wound(const lane_model *m, const real *x, const real *w, const real *to, mask where, real *wound)
{
    for (int k = 0; k < m->nmotor && m->nwound; k++) {
        const lane_body *b = &m->bodies[m->motors[k].body];
        const int at = m->motors[k].wound;
        if (at < 0) continue;
        const lane_motor a = motor_now(m, b);
        if (b->kind == JOINT_BALL) {
            const vec3 now = load3(wound + at);
            const vec3 next = ball_wound_after(&a, quat_load(x + b->qadr), load3(w + b->vadr), now, load3(to + at));
            store3(wound + at, sel3(where, next, now));
        } else wound[at] = sel(where, wound_after(&a, x[b->qadr], w[b->vadr], wound[at], to[at]), wound[at]);
    }
}

/// The share of the end in a step of size h of alpha.
FN real wind_share(const lane_motor *a, real h)
{
    const real more = fmadd(h, a->ki, a->kp), both_ends = fmadd(h, a->ki, rset(2) * a->kp);
    const mask some = gt(both_ends, rset(0));
    return sel(some, more / sel(some, both_ends, rset(1)), rset(1));
}

#endif
