/// Motors on joints of one degree of freedom, and on tendons, whose lengths are as a joint's coordinate. On its own side of the
/// gear g a motor asks for
///
///     y = feedforward + kp (target - g x) + kd (velocity - g w),    x, w: coordinate and velocity of its joint
///
/// and its joint gets the force g sat(y). sat is y up to its effort, with a smooth corner a twentieth of the effort to both
/// sides:
///
///     sat(y) = y - z^2 / (4 W),   z = |y| - effort + W >= 0, at most 2 W,   W = effort / 20       (for y > 0; odd)
///
/// A motor with a speed limit has sharp corners, and drives with the full effort up to nine tenths of its speed, from where on the
/// most that it gives falls evenly, to nothing at its speed and beyond:
///
///     C(y, g w) = min(y, max(0, min(effort, line))),   line = 10 effort (1 - g w/speed)           (for y > 0; odd in both)
///
/// What brakes is not limited by the speed. C falls with w, as sat(y) does.
///
/// Methods that solve for the end of a step have w = s (u - u_d) with the increment u of the joint (integrators/joint_terms.h),
/// so that y goes by u with the constant slope -g k, k = kp + kd s. Then g sat(y) is the force of the convex potential
///
///     V(u) = F(y) / k,   F' = sat,   V'' = g^2 k sat'(y) >= 0
///
/// and steps are stable at any gain, whatever their size; likewise with C, whose integral is that of a line with corners. In the
/// ledger of energy a motor with kp is a spring: what it has at w = velocity / g is -dU/dx, with U stored. The rest of its force is
/// a brake, which takes energy where it holds the joint back from `velocity`, and puts in what it takes to go on with that
/// velocity; what a speed limit takes off is lost as well. Without kp nothing is stored. (docs/theory.md 4.10)
///
/// target, velocity and feedforward may move with time (forces/signals.h). Methods take them at the times of their own points of
/// evaluation: the end of a step, its stages. A servo whose target moves by r and feedforward by f' gives dU/dt = sat(p) r +
/// f' (sat(p) - sat(feedforward))/kp by that alone, p = y at w = velocity / g, which is work that it puts in.
#ifndef CATENA_MOTORS_H
#define CATENA_MOTORS_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "forces/signals.h"

/// The share of the effort over which sat() bends, to both sides.
#define MOTOR_CORNER 0.05
/// The share of its speed up to which a motor drives with its full effort.
#define FULL_EFFORT 0.9

/// The numbers that a motor is told as its target, and where it keeps them.
FN int told_numbers(const lane_model *m, const lane_motor *a)
{
    return a->type < MOTOR_THRUST && !a->tendon && m->bodies[a->body].kind == JOINT_BALL ? 3 : 1;
}
FN real *told_target(lane_motor *a)
{
    return a->type == MOTOR_POSITION ? a->target : a->type == MOTOR_VELOCITY ? a->velocity : a->feedforward;
}

/// A motor with what moves added to what it is told, at t; beside: as of signal_at(). Of a ball the rate of the target becomes its
/// angular velocity, in its own axes.
KERNEL lane_motor moved_motor(const lane_model *m, const lane_motor *from, bool ball, real t, real beside)
{
    lane_motor a = *from;
    real *const led = a.led;
    led[0] = led[1] = led[2] = rset(0);
    for (int k = 0; k < MOTOR_TOLD; k++)
        for (int c = 0; c < (ball ? 3 : 1); c++) {
            real *const x = k == TOLD_TARGET ? &a.target[c] : k == TOLD_VELOCITY ? &a.velocity[c] : &a.feedforward[c];
            real rate = rset(0);
            for (int n = a.moves[k][c]; n; n = next_signal(&m->signals[n - 1])) {
                const lane_signal *of = &m->signals[n - 1];
                const signal_value s = signal_at(of, t, beside);
                *x = *x + acting(of, s.x), rate = rate + acting(of, s.rate);
                if (k != TOLD_TARGET || !a.follows) continue;
                real *const w = ball ? &led[c] : &a.velocity[c];
                *w = *w + followed(of, s.rate);
            }
            if (k == TOLD_TARGET) a.target_rate[c] = rate;
            if (k == TOLD_FEEDFORWARD) a.feedforward_rate[c] = rate;
        }
    if (ball) store3(a.target_rate, exp_velocity(load3(a.target), load3(a.target_rate)));
    if (ball && a.follows) store3(a.velocity, add(load3(a.velocity), exp_velocity(load3(a.target), load3(led))));
    return a;
}

/// A motor as it is told at the time t.
FN lane_motor motor_at_time(const lane_model *m, const lane_motor *from, bool ball, real t, real beside)
{
    if (from->moving) return moved_motor(m, from, ball, t, beside);
    lane_motor a = *from;
    for (int c = 0; c < 3; c++) a.target_rate[c] = a.feedforward_rate[c] = a.led[c] = rset(0);
    return a;
}

/// The same now.
FN lane_motor told_now(const lane_model *m, const lane_motor *from, bool ball)
{
    const bool runs = m->nsignal && m->clock;
    return motor_at_time(m, from, ball, runs ? m->clock->t : rset(m->time), runs ? m->clock->beside : rset(m->time + 1e-9));
}

/// The motor of a body with BODY_MOTOR now.
FN lane_motor motor_now(const lane_model *m, const lane_body *b)
{
    return told_now(m, &m->motors[b->motor], b->kind == JOINT_BALL);
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

FN saturated saturate(real y, real effort, double corner)
{
    const real W = rset(corner) * effort, a = magnitude(y), o = rset(0), one = rset(1);
    const real into = a - rset(1 - corner) * effort, over = a - effort;
    saturated s;
    s.full = le(rset(1 + corner) * effort, a);
    const mask bent = both(gt(into, o), not_(s.full));
    const real z = sel(bent, into, o), t = z / sel(bent, rset(2) * W, one);  // of the corner, 0 to 1
    const real force = sel(s.full, effort, fnmadd(rset(0.5) * z, t, a));
    s.force = sel(lt(y, o), negate(force), force);
    s.slope = sel(s.full, o, one - t);
    s.R = sel(s.full, fmadd(rset(0.5) * over, over, W * W * rset(1. / 6)), z * z * t * rset(1. / 6));
    return s;
}

/// In which lanes a motor has a speed limit.
FN mask speed_limited(const lane_motor *a) { return lt(a->speed, rset(NOT_REACHED)); }

/// The same of a motor, whose corners are sharp where its speed is limited.
FN saturated bounded(const lane_motor *a, real y)
{
    saturated s = saturate(y, a->effort, MOTOR_CORNER);
    if (!a->fast) return s;
    const saturated sharp = saturate(y, a->effort, 0);
    const mask here = speed_limited(a);
    s.force = sel(here, sharp.force, s.force), s.slope = sel(here, sharp.slope, s.slope), s.R = sel(here, sharp.R, s.R);
    s.full = either(both(here, sharp.full), both(not_(here), s.full));
    return s;
}

/// The line of a motor with a speed limit while it turns forwards at `turn`, and how fast that falls with it.
typedef struct {
    real at, slope;
} speed_line;

FN speed_line line_of(const lane_motor *a, real turn)
{
    const mask here = speed_limited(a);
    const real band = rset(1 - FULL_EFFORT) * sel(here, a->speed, rset(1));
    speed_line L;
    L.at = sel(here, a->effort * ((a->speed - turn) / band), a->effort);
    L.slope = sel(here, a->effort / band, rset(0));
    return L;
}

/// What a motor gives on its own side of the gear, how it rises with y, and how it falls with the motor's velocity by itself.
typedef struct {
    real force, by_y, by_turn;
} motor_answer;

FN motor_answer answer_of(const lane_motor *a, real y, real turn)
{
    motor_answer A;
    const real o = rset(0), one = rset(1);
    const saturated s = saturate(y, a->effort, MOTOR_CORNER);
    A.force = s.force, A.by_y = s.slope, A.by_turn = o;
    if (!a->fast) return A;
    const mask back = lt(y, o), here = speed_limited(a);
    const real size = magnitude(y);
    const speed_line L = line_of(a, sel(back, negate(turn), turn));
    const mask slow = le(a->effort, L.at), still = le(L.at, o);
    const real most = sel(slow, a->effort, sel(still, o, L.at)), force = sel(lt(most, size), most, size);
    A.force = sel(here, sel(back, negate(force), force), A.force);
    A.by_y = sel(here, sel(lt(most, size), o, one), A.by_y);
    A.by_turn = sel(both(both(here, lt(most, size)), not_(either(slow, still))), L.slope, o);
    return A;
}

/// What it gives on its own side of the gear at x and w.
FN motor_answer motor_answer_at(const lane_motor *a, real x, real w) { return answer_of(a, motor_demand(a, x, w), a->gear * w); }

/// The force on the joint at x and w, and how fast it falls with y's terms, and with the speed by itself: its derivatives are
/// -kp slope by x and -(kd slope + brake) by w.
typedef struct {
    real force, slope, brake;
} motor_force;

FN motor_force motor_at(const lane_motor *a, real x, real w)
{
    const motor_answer A = motor_answer_at(a, x, w);
    motor_force f;
    f.force = a->gear * A.force, f.slope = a->gear * a->gear * A.by_y, f.brake = a->gear * a->gear * A.by_turn;
    return f;
}

/// What it brakes with by the velocity: kd slope + brake, added to c.
FN real add_brake(real c, const lane_motor *a, motor_force f)
{
    c = fmadd(a->kd, f.slope, c);
    if (a->fast) c = c + f.brake;
    return c;
}

/// The integral of sat(y) along `way`, on which y falls from y0 by `slope`: that of y, the mean of both times the way, less that
/// of y - sat(y). Where sat(y) stays at the effort, or y where it is, it is the force times the way, and digits are not lost to
/// cancellation.
FN real pulled_along(const lane_motor *a, real y0, real y, real way, real slope)
{
    const saturated now = bounded(a, y), then = bounded(a, y0);
    const mask moves = gt(slope, rset(0)), same = both(both(now.full, then.full), gt(y * y0, rset(0)));
    const real cut = (now.R - then.R) / sel(moves, slope, rset(1));
    return sel(either(same, not_(moves)), now.force * way, fmadd(rset(0.5) * (y + y0), way, cut));
}

FN real lesser(real a, real b) { return sel(lt(a, b), a, b); }
FN real greater(real a, real b) { return sel(lt(a, b), b, a); }

/// Where gap - slope t comes down to 0; slope >= 0.
FN real falls_to_0(real gap, real slope)
{
    const mask falls = gt(slope, rset(0));
    const real never = sel(gt(gap, rset(0)), rset(NOT_REACHED), rset(-NOT_REACHED));
    return sel(falls, gap / sel(falls, slope, rset(1)), never);
}

/// The integral of max(0, min(y, effort, line)) from `from` to `to` on the way t, y = y0 - k t, line = l0 - m t: constant, then
/// along the lower one of both lines, then 0. k, m >= 0
KERNEL real driven_along(real y0, real k, real l0, real m, real effort, real from, real to)
{
    const real o = rset(0), apart = k - m;
    const real leaves = lesser(falls_to_0(y0 - effort, k), falls_to_0(l0 - effort, m));
    const real ends = lesser(falls_to_0(y0, k), falls_to_0(l0, m));
    const mask cross = gt(magnitude(apart), o);
    const real meet = lesser(greater((y0 - l0) / sel(cross, apart, rset(1)), leaves), ends);
    const real at[3] = {leaves, meet, ends};
    real sum = o, t = from, f = o;
    for (int i = 0; i < 5; i++) {
        const real next = i == 0 ? from : i == 4 ? to : lesser(greater(at[i - 1], from), to);
        const real there = greater(o, lesser(effort, lesser(fnmadd(k, next, y0), fnmadd(m, next, l0))));
        if (i) sum = fmadd(rset(0.5) * (f + there), next - t, sum);
        t = next, f = there;
    }
    return sum;
}

/// The potential of a step, from its start: at its end x, which is at the velocity w after the increment u, with dw/du = s.
typedef struct {
    real E, g, k;  // value, first and second derivative by u
} motor_potential;

/// Of a motor with a speed limit.
KERNEL real fast_step_energy(const lane_motor *a, real y, real turn, real way, real slope, real s)
{
    const real o = rset(0), back = lesser(way, o), ahead = greater(way, o), y0 = fmadd(slope, way, y),
               turn0 = fnmadd(s, way, turn);
    const speed_line up = line_of(a, turn0), down = line_of(a, negate(turn0));
    const real driven = driven_along(y0, slope, up.at, up.slope * s, a->effort, back, ahead) -
                        driven_along(negate(y0), slope, down.at, down.slope * s, a->effort, negate(ahead), negate(back));
    return sel(lt(way, o), driven, negate(driven));
}

FN motor_potential motor_step(const lane_motor *a, real x, real u, real w, real s)
{
    const real slope = fmadd(a->kd, s, a->kp), y = motor_demand(a, x, w), way = a->gear * u;
    const motor_answer now = answer_of(a, y, a->gear * w);
    motor_potential V;
    V.g = negate(a->gear * now.force);
    V.E = negate(pulled_along(a, fmadd(slope, way, y), y, way, slope));
    V.k = a->gear * a->gear * slope * now.by_y;
    if (!a->fast) return V;
    V.E = sel(speed_limited(a), fast_step_energy(a, y, a->gear * w, way, slope, s), V.E);
    V.k = fmadd(a->gear * a->gear * s, now.by_turn, V.k);
    return V;
}

/// What the servo of a motor with kp stores at x, J: 0 on target.
FN real motor_energy(const lane_motor *a, real x)
{
    const real off = fmadd(a->gear, x, negate(a->target[0])), y = fnmadd(a->kp, off, a->feedforward[0]);
    return sel(gt(a->kp, rset(0)), negate(pulled_along(a, a->feedforward[0], y, off, a->kp)), rset(0));
}

/// The power that it puts in, and the power that it takes out, at the coordinate x and the velocity w of its joint, with what is
/// wound up in its integral term.
typedef struct {
    real work, dissipated;
} motor_power;

FN motor_power motor_flow(const lane_motor *a, real x, real w, real wound)
{
    const real p = fmadd(a->kp, fnmadd(a->gear, x, a->target[0]), a->feedforward[0]), turn = a->gear * w;
    const real stored = bounded(a, p).force;
    real still = stored, full = fmadd(a->kd, a->velocity[0] - turn, p);
    if (a->wound >= 0) still = bounded(a, p + wound).force, full = full + wound;
    const real given = bounded(a, full).force, braked = given - still;
    motor_power P;
    const mask stores = gt(a->kp, rset(0));
    const real by_feedforward = (stored - bounded(a, a->feedforward[0]).force) / sel(stores, a->kp, rset(1));
    const real moved = fmadd(a->feedforward_rate[0], by_feedforward, stored * a->target_rate[0]);
    P.work = fmadd(braked, a->velocity[0], sel(stores, moved, still * turn));
    if (a->wound >= 0) P.work = fmadd(sel(stores, still - stored, rset(0)), turn, P.work);
    P.dissipated = braked * (a->velocity[0] - turn);
    if (a->fast) P.dissipated = fmadd(given - answer_of(a, full, turn).force, turn, P.dissipated);
    return P;
}

#endif
