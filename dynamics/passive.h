/// Passive joint forces and their potentials: dampers, springs, soft limits. Everything in the joint's own coordinates.
#ifndef CATENA_PASSIVE_H
#define CATENA_PASSIVE_H

/// How far x is outside [lo, hi]: negative below, positive above, 0 inside.
FN real beyond(real x, const real *limit)
{
    const real lo = limit[0], hi = limit[1];
    return sel(gt(x, hi), x - hi, sel(lt(x, lo), x - lo, rset(0)));
}

/// The turn of a ball joint away from rest, in body axes: log(rest' R).
FN vec3 ball_turn(const lane_body *b, const real *q)
{
    quat rest;
    rest.w = b->rest[0], rest.x = b->rest[1], rest.y = b->rest[2], rest.z = b->rest[3];
    return quat_log(quat_mul(quat_conjugate(rest), quat_normalised(quat_load(q + b->qadr))));
}

/// The limit of a ball with BODY_SPRING at q: a cone about rest.
typedef struct {
    vec3 s, n;  // the turn away from rest; beyond the cone s / |s|, its normal
    real i, d;  // beyond the cone 1 / |s|; how far beyond, rad
    real k, c;  // stiffness and damper of the limit: 0 within
} cone_limit;

FN cone_limit cone_at(const lane_body *b, const real *q)
{
    cone_limit cone;
    cone.s = ball_turn(b, q);
    const real angle = root(dot(cone.s, cone.s)), none = rset(0);
    cone.d = beyond(angle, b->limit);
    const mask out = gt(cone.d, none);
    cone.i = rset(1) / sel(out, angle, rset(1));
    cone.n = scale(cone.s, cone.i);
    cone.k = sel(out, b->limit_k, none), cone.c = sel(out, b->limit_b, none);
    return cone;
}

/// Adds -damping v - stiffness (q - rest) - limits to tau [nv].
/// A ball's spring pulls with -k log(rest' R), the gradient of k/2 |log|^2; its limit is a cone of angles about rest.
KERNEL void add_passive_forces(const lane_model *m, const real *q, const real *v, real *tau)
{
    for (int i = 0; i < m->nbody && m->passive; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_PASSIVE)) continue;
        const real *u = v + b->vadr;
        real t[3];
        for (int k = 0; k < b->nv; k++) t[k] = negate(b->damping[k]) * u[k];
        if ((b->flags & BODY_SPRING) && b->kind == JOINT_BALL) {
            const cone_limit cone = cone_at(b, q);
            const vec3 a = cone.s, n = cone.n;
            const real k = fmadd(cone.k * cone.d, cone.i, b->stiffness);
            const real damp = cone.c * dot(n, vec(u[0], u[1], u[2]));  // along the cone's normal
            t[0] = fnmadd(damp, n.x, fnmadd(k, a.x, t[0]));
            t[1] = fnmadd(damp, n.y, fnmadd(k, a.y, t[1]));
            t[2] = fnmadd(damp, n.z, fnmadd(k, a.z, t[2]));
        } else if (b->flags & BODY_SPRING) {
            const real x = q[b->qadr], d = beyond(x, b->limit);
            const mask out = gt(magnitude(d), rset(0));
            t[0] = fnmadd(b->stiffness, x - b->rest[0], t[0]);
            t[0] = fnmadd(b->limit_k, d, t[0]);
            t[0] = fnmadd(sel(out, b->limit_b, rset(0)), u[0], t[0]);
        }
        for (int k = 0; k < b->nv; k++) tau[b->vadr + k] = tau[b->vadr + k] + t[k];
    }
}

/// What the dampers of a joint at q multiply its rates with; one degree of freedom: xx. A limit's damper acts beyond the limit.
FN sym3 joint_drag(const lane_body *b, const real *q)
{
    sym3 drag = sym_diagonal(b->damping[0], b->damping[1], b->damping[2]);
    if (!(b->flags & BODY_SPRING)) return drag;
    if (b->kind == JOINT_BALL) {  // along the cone's normal
        const cone_limit cone = cone_at(b, q);
        sym_add_dyad(&drag, cone.n, cone.c);
    } else drag.xx = drag.xx + sel(gt(magnitude(beyond(q[b->qadr], b->limit)), rset(0)), b->limit_b, rset(0));
    return drag;
}

/// Potential of springs and limits, J.
KERNEL real passive_potential(const lane_model *m, const real *q)
{
    real E = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_SPRING)) continue;
        real x, d;
        if (b->kind == JOINT_BALL) {
            const vec3 a = ball_turn(b, q);
            x = root(dot(a, a)), d = beyond(x, b->limit);
        } else x = q[b->qadr] - b->rest[0], d = beyond(q[b->qadr], b->limit);
        E = fmadd(rset(0.5) * b->stiffness * x, x, E);
        E = fmadd(rset(0.5) * b->limit_k * d, d, E);
    }
    return E;
}

#endif
