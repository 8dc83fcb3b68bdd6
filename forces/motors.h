/// Motors on joints of one degree of freedom. On its own side of the gear g a motor asks for
///
///     y = feedforward + kp (target - g x) + kd (velocity - g w),    x, w: coordinate and velocity of its joint
///
/// and its joint gets the force g sat(y). sat is y up to its effort, with a smooth corner a twentieth of the effort to both
/// sides:
///
///     sat(y) = y - z^2 / (4 W),   z = |y| - effort + W >= 0, at most 2 W,   W = effort / 20       (for y > 0; odd)
///
/// Methods that solve for the end of a step have w = s (u - u_d) with the increment u of the joint (integrators/joint_terms.h),
/// so that y goes by u with the constant slope -g k, k = kp + kd s. Then g sat(y) is the force of the convex potential
///
///     V(u) = F(y) / k,   F' = sat,   V'' = g^2 k sat'(y) >= 0
///
/// and steps are stable at any gain, whatever their size. In the ledger of energy a motor with kp is a spring: what it has at w =
/// velocity / g is -dU/dx, with U stored. The rest of its force is a brake, which takes energy where it holds the joint back from
/// `velocity`, and puts in what it takes to go on with that velocity. Without kp nothing is stored. (docs/theory.md 4.10)
///
/// target, velocity and feedforward may move with time (forces/signals.h). Methods take them at the times of their own points of
/// evaluation: the end of a step, its stages. A servo whose target moves by r and feedforward by f' gives dU/dt = sat(p) r +
/// f' (sat(p) - sat(feedforward))/kp by that alone, p = y at w = velocity / g, which is work that it puts in.
#ifndef CATENA_MOTORS_H
#define CATENA_MOTORS_H

#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "forces/signals.h"

/// The share of the effort over which sat() bends, to both sides.
#define MOTOR_CORNER 0.05

/// A motor with what moves added to what it is told, at t; beside: as of signal_at(). Of a ball the rate of the target becomes its
/// angular velocity, in its own axes.
KERNEL lane_motor moved_motor(const lane_model *m, const lane_motor *from, bool ball, real t, real beside)
{
    lane_motor a = *from;
    for (int k = 0; k < MOTOR_TOLD; k++)
        for (int c = 0; c < (ball ? 3 : 1); c++) {
            real *const x = k == TOLD_TARGET ? &a.target[c] : k == TOLD_VELOCITY ? &a.velocity[c] : &a.feedforward[c];
            real rate = rset(0);
            for (int n = a.moves[k][c]; n; n = next_signal(&m->signals[n - 1])) {
                const lane_signal *of = &m->signals[n - 1];
                const signal_value s = signal_at(of, t, beside);
                *x = *x + acting(of, s.x), rate = rate + acting(of, s.rate);
                if (k == TOLD_TARGET && a.follows && !ball) a.velocity[c] = a.velocity[c] + followed(of, s.rate);
            }
            if (k == TOLD_TARGET) a.target_rate[c] = rate;
            if (k == TOLD_FEEDFORWARD) a.feedforward_rate[c] = rate;
        }
    if (ball) store3(a.target_rate, exp_velocity(load3(a.target), load3(a.target_rate)));
    for (int c = 0; c < 3 && ball && a.follows; c++) a.velocity[c] = a.velocity[c] + a.target_rate[c];
    return a;
}

/// The motor of a body with BODY_MOTOR, as it is told at the time t.
FN lane_motor motor_at_time(const lane_model *m, const lane_body *b, real t, real beside)
{
    const lane_motor *const from = &m->motors[b->motor];
    if (from->moving) return moved_motor(m, from, b->kind == JOINT_BALL, t, beside);
    lane_motor a = *from;
    for (int c = 0; c < 3; c++) a.target_rate[c] = a.feedforward_rate[c] = rset(0);
    return a;
}

/// The same now.
FN lane_motor motor_now(const lane_model *m, const lane_body *b)
{
    const bool runs = m->nsignal && m->clock;
    return motor_at_time(m, b, runs ? m->clock->t : rset(m->time), runs ? m->clock->beside : rset(m->time + 1e-9));
}

/// y at the coordinate x and the velocity w of the joint.
FN real motor_demand(const lane_motor *a, real x, real w)
{
    return fmadd(a->kd, fnmadd(a->gear, w, a->velocity[0]), fmadd(a->kp, fnmadd(a->gear, x, a->target[0]), a->feedforward[0]));
}

/// sat(y), sat'(y), and R = y^2/2 - F(y), which is 0 up to the corner.
typedef struct {
    real force, slope, R;
    mask full;  // beyond the corner
} saturated;

FN saturated saturate(real y, real effort)
{
    const real W = rset(MOTOR_CORNER) * effort, a = magnitude(y), o = rset(0), one = rset(1);
    const real into = a - rset(1 - MOTOR_CORNER) * effort, over = a - effort;
    saturated s;
    s.full = le(rset(1 + MOTOR_CORNER) * effort, a);
    const mask bent = both(gt(into, o), not_(s.full));
    const real z = sel(bent, into, o), t = z / sel(bent, rset(2) * W, one);  // of the corner, 0 to 1
    const real force = sel(s.full, effort, fnmadd(rset(0.5) * z, t, a));
    s.force = sel(lt(y, o), negate(force), force);
    s.slope = sel(s.full, o, one - t);
    s.R = sel(s.full, fmadd(rset(0.5) * over, over, W * W * rset(1. / 6)), z * z * t * rset(1. / 6));
    return s;
}

/// What it gives on its own side of the gear.
FN real motor_effort(const lane_motor *a, real x, real w) { return saturate(motor_demand(a, x, w), a->effort).force; }

/// The force on the joint at x and w, and how fast it falls with y's terms: its derivatives are -kp slope and -kd slope.
typedef struct {
    real force, slope;
} motor_force;

FN motor_force motor_at(const lane_motor *a, real x, real w)
{
    const saturated s = saturate(motor_demand(a, x, w), a->effort);
    motor_force f;
    f.force = a->gear * s.force, f.slope = a->gear * a->gear * s.slope;
    return f;
}

/// The integral of sat(y) along `way`, on which y falls from y0 by `slope`: that of y, the mean of both times the way, less that
/// of y - sat(y). Where sat(y) stays at the effort, or y where it is, it is the force times the way, and digits are not lost to
/// cancellation.
FN real pulled_along(real y0, real y, real way, real slope, real effort)
{
    const saturated now = saturate(y, effort), then = saturate(y0, effort);
    const mask moves = gt(slope, rset(0)), same = both(both(now.full, then.full), gt(y * y0, rset(0)));
    const real cut = (now.R - then.R) / sel(moves, slope, rset(1));
    return sel(either(same, not_(moves)), now.force * way, fmadd(rset(0.5) * (y + y0), way, cut));
}

/// The potential of a step, from its start: at its end x, which is at the velocity w after the increment u, with dw/du = s.
typedef struct {
    real E, g, k;  // value, first and second derivative by u
} motor_potential;

FN motor_potential motor_step(const lane_motor *a, real x, real u, real w, real s)
{
    const real slope = fmadd(a->kd, s, a->kp), y = motor_demand(a, x, w), way = a->gear * u;
    const saturated now = saturate(y, a->effort);
    motor_potential V;
    V.E = negate(pulled_along(fmadd(slope, way, y), y, way, slope, a->effort));
    V.g = negate(a->gear * now.force);
    V.k = a->gear * a->gear * slope * now.slope;
    return V;
}

/// What the servo of a motor with kp stores at x, J: 0 on target.
FN real motor_energy(const lane_motor *a, real x)
{
    const real off = fmadd(a->gear, x, negate(a->target[0])), y = fnmadd(a->kp, off, a->feedforward[0]);
    return sel(gt(a->kp, rset(0)), negate(pulled_along(a->feedforward[0], y, off, a->kp, a->effort)), rset(0));
}

/// The power that it puts in, and the power that it takes out, at the coordinate x and the velocity w of its joint.
typedef struct {
    real work, dissipated;
} motor_power;

FN motor_power motor_flow(const lane_motor *a, real x, real w)
{
    const real p = fmadd(a->kp, fnmadd(a->gear, x, a->target[0]), a->feedforward[0]), turn = a->gear * w;
    const real still = saturate(p, a->effort).force;
    const real braked = saturate(fmadd(a->kd, a->velocity[0] - turn, p), a->effort).force - still;
    motor_power P;
    const mask stores = gt(a->kp, rset(0));
    const real by_feedforward = (still - saturate(a->feedforward[0], a->effort).force) / sel(stores, a->kp, rset(1));
    const real moved = fmadd(a->feedforward_rate[0], by_feedforward, still * a->target_rate[0]);
    P.work = fmadd(braked, a->velocity[0], sel(stores, moved, still * turn));
    P.dissipated = braked * (a->velocity[0] - turn);
    return P;
}

#endif
