/// What acts along joints, in their own coordinates. Springs, limits and dampers stand here and nowhere else: every method, the
/// ledger of energy, Jacobians and adjoints take from here what they need of
///
///     element    potential V, J                          drag C
///     spring     k/2 |a|^2
///     limit      k_l/2 d^2                               b_l n n' where d is not 0
///     damper                                             diag(b)
///
/// Motors, whose force goes by both, are in forces/motors.h; dry friction, which remembers, in forces/joint_friction.h.
///
/// a is how far the joint is from rest: q - rest; of balls the turn log(rest' R), body axes. d is how far it is beyond its
/// limits, or |a| beyond the cone about rest, n = a/|a|. The force is -dV - C v, with the joint's velocity v. Methods with steps
/// take C at the start of a step, so that the energy of one step is smooth. (docs/theory.md 2, 4.5, 5.3)
///
/// A new element adds to joint_potential(), ball_potential(), joint_drag() or drag_pullback(), and its numbers are parameters of
/// the model (dynamics/model.h, sim/base/parameter_kinds.c).
#ifndef CATENA_JOINT_ELEMENTS_H
#define CATENA_JOINT_ELEMENTS_H

#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"

/// Whether forces act along a joint: its elements, or applied ones tau [nv] (NULL: none).
FN bool has_forces(const lane_body *b, const real *tau) { return (b->flags & BODY_PASSIVE) || tau; }

/// Whether a joint has a term in the equations of a step: these, or the inertia of a rotor.
FN bool has_terms(const lane_body *b, const real *tau) { return has_forces(b, tau) || (b->flags & BODY_ARMATURE); }

/// How far x is outside [lo, hi]: negative below, positive above, 0 inside.
FN real beyond(real x, const real *limit)
{
    const real lo = limit[0], hi = limit[1];
    return sel(gt(x, hi), x - hi, sel(lt(x, lo), x - lo, rset(0)));
}

/// Value, first and second derivative in one coordinate.
typedef struct {
    real E, g, k;
} potential1;

/// The potential of a joint of one degree of freedom at x.
FN potential1 joint_potential(const lane_body *b, real x)
{
    const real k = given(b)->stiffness, kl = given(b)->limit_k, a = x - given(b)->rest[0], d = beyond(x, given(b)->limit);
    potential1 V;
    V.E = rset(0.5) * fmadd(k * a, a, kl * d * d);
    V.g = fmadd(k, a, kl * d);
    V.k = k + sel(gt(magnitude(d), rset(0)), kl, rset(0));
    return V;
}

/// The limit of a ball with BODY_SPRING at q: a cone about rest.
typedef struct {
    vec3 a, n;  // the turn away from rest; beyond the cone a / |a|, its normal
    real i, d;  // beyond the cone 1 / |a|; how far beyond, rad
    real k, c;  // stiffness and damper of the limit: 0 within
} cone_limit;

FN cone_limit cone_at(const lane_body *b, const real *q)
{
    cone_limit cone;
    quat rest;
    rest.w = given(b)->rest[0], rest.x = given(b)->rest[1], rest.y = given(b)->rest[2], rest.z = given(b)->rest[3];
    cone.a = quat_log(quat_mul(quat_conjugate(rest), quat_normalised(quat_load(q + b->qadr))));
    const real angle = root(dot(cone.a, cone.a)), none = rset(0);
    cone.d = beyond(angle, given(b)->limit);
    const mask out = gt(cone.d, none);
    cone.i = rset(1) / sel(out, angle, rset(1));
    cone.n = scale(cone.a, cone.i);
    cone.k = sel(out, given(b)->limit_k, none), cone.c = sel(out, given(b)->limit_b, none);
    return cone;
}

/// The potential of a ball with BODY_SPRING, by its turn a away from rest: value, gradient and second derivative by a. All that
/// acts is along a, so that the gradient by turns, D'g with the chart's derivative D, is g.
typedef struct {
    real E;
    vec3 a, g;
    sym3 k;
} potential3;

FN potential3 ball_potential(const lane_body *b, cone_limit cone)
{
    const real k = given(b)->stiffness, p = cone.k * cone.d * cone.i;
    potential3 V;
    V.a = cone.a, V.g = scale(cone.a, k + p);
    V.k = sym_diagonal(k + p, k + p, k + p);
    sym_add_dyad(&V.k, cone.n, cone.k - p);
    V.E = rset(0.5) * fmadd(k, dot(cone.a, cone.a), cone.k * cone.d * cone.d);
    return V;
}

/// The drag C of a ball with BODY_SPRING.
FN sym3 ball_drag(const lane_body *b, cone_limit cone)
{
    sym3 C = sym_diagonal(given(b)->damping[0], given(b)->damping[1], given(b)->damping[2]);
    sym_add_dyad(&C, cone.n, cone.c);
    return C;
}

/// The drag C of a joint at q; one degree of freedom: xx.
FN sym3 joint_drag(const lane_body *b, const real *q)
{
    sym3 C = sym_diagonal(given(b)->damping[0], given(b)->damping[1], given(b)->damping[2]);
    if (!(b->flags & BODY_SPRING)) return C;
    if (b->kind == JOINT_BALL) return ball_drag(b, cone_at(b, q));
    C.xx = C.xx + sel(gt(magnitude(beyond(q[b->qadr], given(b)->limit)), rset(0)), given(b)->limit_b, rset(0));
    return C;
}

/// The gradient of u'C y by turns of a ball with BODY_SPRING, C its drag there. That of other joints is 0.
FN vec3 drag_pullback(cone_limit cone, vec3 u, vec3 y)
{
    const vec3 by_n = scale(add_scaled(scale(y, dot(cone.n, u)), u, dot(cone.n, y)), cone.c * cone.i);
    return chart_velocity(vec(negate(cone.a.x), negate(cone.a.y), negate(cone.a.z)), sub_scaled(by_n, cone.n, dot(cone.n, by_n)));
}

#endif
