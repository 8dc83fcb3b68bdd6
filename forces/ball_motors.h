/// Motors on balls. With the unit quaternions x of the joint and p of the target, and r = x* p, of r and -r the one with r.w >= 0, a
/// motor asks for the torque, in link axes,
///
///     Y = feedforward + 2 kp Im r + kd (velocity - w)
///
/// and its joint gets S(Y) = sat(|Y|) Y/|Y|, with the sat of forces/motors.h. Near the target 2 Im r is the rotation vector to it,
/// half a turn away it is 2 and does not jump but in sign.
///
/// 2 kp Im r is the torque of the potential 4 kp (1 - |p.x|), whose second derivative in the exponential chart is kp |p.x|, alike
/// in all directions. The sum of such potentials is another one, 4 c.x with a quaternion c of any length: so a step that minimises
/// an energy, from x_k by x = x_k z, has the potential -4 c.z with
///
///     c = kp x_k* p + kd s exp(d) + (0, f)/2,   d = u_d + velocity/s,   f the feedforward,
///
/// whose torque Y is 2 Im(z* c): at z = exp(u) that is kd (velocity - s (u - u_d)) and f, up to half a turn by u. With K = |c| and
/// the angle a between z and c, |Y| = 2 K sin(a/2). The effort bounds this one torque: V(a) is the integral of sat(2 K sin(a/2)), and
///
///     V' = -S(Y),   V'' = K cos(a/2) S'(Y),   S'(Y) = sat'(|Y|) n n' + sat(|Y|)/|Y| (1 - n n'),   n = Y/|Y|,
///
/// which is not negative while a is at most half a turn. (docs/theory.md 4.10)
///
/// An integral term is one more torque, wound (forces/integral_terms.h). In the ledger of energy what kp would give alone is a spring with the energy U, and the rest of the torque with w = velocity is
/// work; what kd changes of that is a brake, as in forces/motors.h. The target may turn with time, about its own axes by target_rate.
#ifndef CATENA_BALL_MOTORS_H
#define CATENA_BALL_MOTORS_H

#include "dynamics/articulated.h"
#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "forces/motors.h"

/// S(Y), and its derivative by Y: symmetric, never negative.
typedef struct {
    vec3 torque;
    sym3 slope;
} bounded_torque;

FN bounded_torque bound_torque(vec3 Y, real effort)
{
    const real size = root(dot(Y, Y)), one = rset(1);
    const mask some = gt(size, rset(0));
    const saturated s = saturate(size, effort, MOTOR_CORNER);
    const real each = one / sel(some, size, one), share = sel(some, s.force * each, s.slope);
    bounded_torque S;
    S.torque = scale(Y, share), S.slope = sym_diagonal(share, share, share);
    sym_add_dyad(&S.slope, scale(Y, each), s.slope - share);
    return S;
}

/// r: how the target is seen from the ball at x.
FN quat ball_way(const lane_motor *a, quat x) { return quat_short(quat_mul(quat_conjugate(x), quat_exp(load3(a->target)))); }

/// What kp asks for.
FN vec3 ball_pull(const lane_motor *a, quat r) { return scale(quat_imaginary(r), rset(2) * a->kp); }

/// What Y does not owe to where the ball is and how it turns.
FN vec3 steady_torque(const lane_motor *a) { return add_scaled(load3(a->feedforward), load3(a->velocity), a->kd); }

/// Y with the angular velocity w.
FN vec3 ball_demand(const lane_motor *a, quat r, vec3 w)
{
    return add_scaled(add(load3(a->feedforward), ball_pull(a, r)), sub(load3(a->velocity), w), a->kd);
}

/// What a motor does at x and w.
FN bounded_torque ball_motor_at(const lane_motor *a, quat x, vec3 w)
{
    return bound_torque(ball_demand(a, ball_way(a, x), w), a->effort);
}

/// By what 2 Im r falls with a turn d of x about link axes, (r.w - [Im r]x) d; likewise Y, and the transpose of that.
FN vec3 ball_fall(quat r, vec3 d) { return cross_add(scale(d, r.w), d, quat_imaginary(r)); }
FN vec3 ball_stiffness(const lane_motor *a, quat r, vec3 d) { return scale(ball_fall(r, d), a->kp); }
FN vec3 ball_stiffness_transposed(const lane_motor *a, quat r, vec3 y) { return ball_stiffness(a, quat_conjugate(r), y); }

// ---- energy

enum { CORNER_POINTS = 5 };
/// Nodes and weights of Gauss on 0 .. 1.
KERNEL_DATA double corner_node[CORNER_POINTS] = {0.04691007703066800, 0.2307653449471585, 0.5, 0.7692346550528415,
                                                 0.9530899229693320};
KERNEL_DATA double corner_weight[CORNER_POINTS] = {0.1184634425280945, 0.2393143352496832, 0.2844444444444444, 0.2393143352496832,
                                                   0.1184634425280945};

/// The integral of sat(2 K sin(a/2)) from 0 to the angle whose half has this sine and cosine: 4 K (1 - cos) up to the corner, by
/// quadrature over it, and linear beyond. K > 0
KERNEL real bounded_quarter(real K, real effort, real sine, real cosine)
{
    const real one = rset(1), two = rset(2), twice = two * K;
    const real near = rset(1 - MOTOR_CORNER) * effort / twice, far = rset(1 + MOTOR_CORNER) * effort / twice;
    const real from = sel(lt(near, one), near, one), to = sel(lt(far, one), far, one);  // sines where the corner is
    const real from_cosine = root(fnmadd(from, from, one)), to_cosine = root(fnmadd(to, to, one));
    const real half = atan2r(sine, cosine), begins = atan2r(from, from_cosine), ends = atan2r(to, to_cosine);
    const real s = sel(lt(sine, from), sine, from), c = sel(lt(sine, from), cosine, from_cosine);
    const real stop = sel(lt(half, ends), half, ends), way = sel(lt(begins, stop), stop - begins, rset(0));
    real corner = rset(0);
    for (int k = 0; k < CORNER_POINTS; k++) {
        real sn, cs;
        sincosr(fmadd(rset(corner_node[k]), way, begins), &sn, &cs);
        corner = fmadd(rset(corner_weight[k]), saturate(twice * sn, effort, MOTOR_CORNER).force, corner);
    }
    const real before = rset(4) * K * (s * s / (one + c)), beyond = sel(lt(ends, half), effort * (half - ends), rset(0));
    return before + two * fmadd(way, corner, beyond);
}

/// The same up to a whole turn: beyond half of one it falls off as it has risen. Where no effort bounds it it is 4 K (1 - cos).
FN real bounded_spring(real K, real effort, real sine, real cosine)
{
    const real one = rset(1), zero = rset(0);
    const mask turned = lt(cosine, zero), bent = lt(rset(1 - MOTOR_CORNER) * effort, rset(2) * K * sel(turned, one, sine));
    const real free = rset(4) * K * sel(turned, one - cosine, sine * sine / (one + magnitude(cosine)));
    if (!any_of(bent)) return free;
    const real safe = sel(gt(K, zero), K, one);
    real E = bounded_quarter(safe, effort, sine, magnitude(cosine));
    if (any_of(turned)) E = sel(turned, fmadd(rset(2), bounded_quarter(safe, effort, one, zero), negate(E)), E);
    return sel(bent, E, free);
}

/// U at x, J: 0 on target.
FN real ball_motor_energy(const lane_motor *a, quat x)
{
    const quat r = ball_way(a, x);
    const vec3 v = quat_imaginary(r);
    return bounded_spring(a->kp, a->effort, root(dot(v, v)), r.w);
}

/// The power that it puts in, and the power that it takes out, at x and w.
FN motor_power ball_motor_flow(const lane_motor *a, quat x, vec3 w, vec3 wound)
{
    const quat r = ball_way(a, x);
    const vec3 aim = load3(a->velocity), pull = bound_torque(ball_pull(a, r), a->effort).torque;
    const vec3 still = bound_torque(add(ball_demand(a, r, aim), wound), a->effort).torque;
    const vec3 braked = sub(bound_torque(add(ball_demand(a, r, w), wound), a->effort).torque, still);
    motor_power P;
    P.work = dot_add(dot_add(dot(braked, aim), sub(still, pull), w), pull, load3(a->target_rate));
    P.dissipated = dot(braked, sub(aim, w));
    return P;
}

// ---- the potential of a step

/// c of a motor in a step from x_k, and its part that turns with x_k.
typedef struct {
    quat c, turns, ahead;  // ahead: exp(d)
    vec3 d;
    real shortened;  // by which d is, at most half a turn: the servo of a velocity beyond any step pulls that far
} ball_spring;

/// s: as of the step; drift: u_d; push: added to the feedforward.
FN ball_spring ball_spring_of(const lane_motor *a, quat x_k, vec3 drift, real s, vec3 push)
{
    ball_spring B;
    const vec3 d = add_scaled(drift, load3(a->velocity), rset(1) / s);
    const real angle = root(dot(d, d)), most = rset(3.141592653589793), one = rset(1);
    B.shortened = sel(gt(angle, most), most / sel(gt(angle, most), angle, one), one);
    B.d = scale(d, B.shortened), B.ahead = quat_exp(B.d);
    B.turns = quat_add_scaled(quat_pure(add(load3(a->feedforward), push), rset(0.5)), B.ahead, a->kd * s);
    B.c = quat_add_scaled(B.turns, ball_way(a, x_k), a->kp);
    return B;
}

/// The gradient by u_d, or by velocity/s, of what has the gradient x by turns of exp(d), body axes.
FN vec3 by_ahead(const ball_spring *B, vec3 x)
{
    const vec3 g = exp_pullback(B->d, x);
    const real d2 = dot(B->d, B->d), one = rset(1);
    const mask cut = lt(B->shortened, one);
    return scale(sub_scaled(g, B->d, sel(cut, dot(g, B->d) / sel(cut, d2, one), rset(0))), B->shortened);
}

/// Its torque at z.
FN bounded_torque ball_spring_torque(const lane_motor *a, const ball_spring *B, quat z)
{
    return bound_torque(scale(quat_imaginary(quat_mul(quat_conjugate(z), B->c)), rset(2)), a->effort);
}

/// Its energy, gradient and second derivative at z by turns, body axes; safe: never negative.
typedef struct {
    real E;
    vec3 g;
    sym3 k, safe;
} turn_potential;

FN turn_potential ball_motor_step(const lane_motor *a, const ball_spring *B, quat z)
{
    const real K = root(quat_square(B->c)), zero = rset(0), one = rset(1);
    const quat t = quat_mul(quat_conjugate(z), B->c);
    const real each = one / sel(gt(K, zero), K, one), level = sel(gt(t.w, zero), t.w, zero);
    const vec3 v = quat_imaginary(t);
    const bounded_torque S = bound_torque(scale(v, rset(2)), a->effort);
    turn_potential V;
    V.E = bounded_spring(K, a->effort, root(dot(v, v)) * each, t.w * each);
    V.g = opposite(S.torque);
    V.k = sym_scale(S.slope, t.w), V.safe = sym_scale(S.slope, level);
    return V;
}

#endif
