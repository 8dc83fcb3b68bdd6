/// What happens where a body touches the ground: the force on one rounded point, its energy in a step, and what it remembers.
///
/// A rounded point is a ball of radius r about a point c of a body; the ground is the plane n.x = height. Its gap is
///
///     g = n.c - height - r,    depth d = max(0, -g)
///
/// *Normal force.* A spring k d with a damper that only acts in contact and never pulls, in a step of size h from the depth d_k:
///
///     l = K <-g - d_0>,    K = k (1 + t/h),    d_0 = d_k t/(h + t)          t: the relaxation, s
///
/// the slope of the convex potential K/2 <-g - d_0>^2, a parabola that the damper has shifted.
///
/// *Friction.* [Cundall, Strack 1979] The point remembers how far z its bristles are bent along the ground. With the way D that
/// the surface has slid in the step, s = z + D and a cap m l, l the normal force of the pass before,
///
///     W(s) = k/2 |s|^2                   k |s| <= m l: it sticks
///            m l (|s| - m l/(2 k))       beyond: it slides
///
/// After the step z = s, cut to m l'/k with the normal force l' there or, if that is less, to the m l/k up to which the force has
/// bent it: friction takes energy whatever l and l' are, and what sticks does not creep.
///
/// D is the way of the material point that is the lowest at the end: with R_k and R the axes at the start and now, and Q = R_k R',
/// D = P (c - c_k + r Q n), P = 1 - n n'. (docs/theory.md 4.12)
#ifndef CATENA_CONTACT_LAW_H
#define CATENA_CONTACT_LAW_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/body_loads.h"

FN vec3 ground_normal(const lane_model *m) { return load3(m->ground); }

/// The gap of the rounded point s whose middle is at x.
FN real ground_gap(const lane_model *m, const lane_point_load *s, vec3 x)
{
    return dot(ground_normal(m), x) - m->ground[3] - s->radius;
}

FN real depth_of(real gap) { return sel(lt(gap, rset(0)), negate(gap), rset(0)); }

/// The normal force in a step, its potential and stiffness.
typedef struct {
    real E, force, stiffness;
} normal_law;

FN normal_law press_on(const lane_model *m, const lane_point_load *s, real before, real gap, real h)
{
    const real o = rset(0), t = m->relaxation, K = fmadd(s->grip, t / h, s->grip);
    const real over = fnmadd(depth_of(before), t / (h + t), negate(gap));
    const mask in = gt(over, o);
    normal_law N;
    N.force = sel(in, K * over, o), N.stiffness = sel(in, K, o), N.E = rset(0.5) * N.force * sel(in, over, o);
    return N;
}

/// Friction bent to s: its potential, the gradient g by s, and second derivatives k1, k2 along the tangents t1, t2.
typedef struct {
    real E, k1, k2;
    vec3 g, t1, t2;
} friction_law;

FN friction_law rub_on(vec3 n, vec3 s, real grip, real cap)
{
    const real o = rset(0), one = rset(1), length = root(dot(s, s)), pull = grip * length;
    const mask moves = gt(length, o), sticks = both(le(pull, cap), gt(cap, o));
    // without a direction any tangent does: across the normal, from an axis that is not along it
    const vec3 other = sel3(lt(magnitude(n.x), rset(0.7)), vec(one, o, o), vec(o, one, o)), across = cross(n, other);
    const real inverse = one / sel(moves, length, one);
    friction_law F;
    F.t1 = sel3(moves, scale(s, inverse), scale(across, one / root(dot(across, across))));
    F.t2 = cross(n, F.t1);
    F.E = sel(sticks, rset(0.5) * pull * length, cap * fnmadd(rset(0.5), cap / grip, length));
    F.E = sel(gt(cap, o), F.E, o);
    F.g = scale(F.t1, sel(moves, sel(sticks, pull, cap), o));
    F.k1 = sel(sticks, grip, o), F.k2 = sel(sticks, grip, sel(moves, cap * inverse, o));
    return F;
}

/// A contact point in a step that has moved its middle by u, and its body from the axes R_k to R.
typedef struct {
    real before, gap;  // at the start of the step, now
    vec3 arm, s;       // from the body's origin to the middle; how far it is bent, along the ground
    mat3 Qt;           // R R_k'
} touch;

FN touch touch_at(const lane_model *m, const lane_point_load *s, const load_state *at, mat3 R_k, mat3 R, vec3 u, vec3 z)
{
    const vec3 n = ground_normal(m);
    touch c;
    c.before = ground_gap(m, s, at->gap), c.gap = c.before + dot(n, u);
    c.arm = mul(R, load3(s->point)), c.Qt = mmul(R, transposed(R_k));
    const vec3 way = add(z, add_scaled(u, tmul(c.Qt, n), s->radius));
    c.s = sub_scaled(way, n, dot(n, way));
    return c;
}

/// Adds what a contact point does in a step of size h, with the normal force `lag` of the pass before. Returns its energy.
FN real add_contact(body_load *L, const lane_model *m, const lane_point_load *s, const touch *c, real h, real lag)
{
    const vec3 n = ground_normal(m);
    const normal_law N = press_on(m, s, c->before, c->gap, h);
    const friction_law F = rub_on(n, c->s, s->grip, s->friction * lag);
    const real r = s->radius;
    // of the middle, whose way is u
    add_point_load(L, c->arm, sub_scaled(F.g, n, N.force), rset(0));
    // of the surface, which rolls: the way r Q n gives g'r Q n, by a turn r Q'g x n
    const vec3 rolls = scale(mul(c->Qt, F.g), r);
    L->w.n = add(L->w.n, cross(rolls, n));
    L->P.A = sym_add(L->P.A, point_curvature(n, rolls));
    // second derivatives along the normal and both tangents, none of them negative
    add_way_block(L, cross(c->arm, n), n, N.stiffness);
    add_way_block(L, add(cross(c->arm, F.t1), cross(scale(mul(c->Qt, F.t1), r), n)), F.t1, F.k1);
    add_way_block(L, add(cross(c->arm, F.t2), cross(scale(mul(c->Qt, F.t2), r), n)), F.t2, F.k2);
    return N.E + F.E;
}

/// What a point that has been bent to s remembers, with the cap of the normal force `lag`, under the normal force l.
FN vec3 kept_slip(const lane_point_load *p, vec3 s, real lag, real l)
{
    const real length = root(dot(s, s)), most = p->friction * sel(lt(lag, l), lag, l) / p->grip;
    return scale(s, sel(le(length, most), rset(1), most / sel(gt(length, rset(0)), length, rset(1))));
}

/// Energy that a point stores at a gap, bent to z, J.
FN real contact_energy(const lane_point_load *s, real gap, vec3 z)
{
    const real d = depth_of(gap);
    return rset(0.5) * s->grip * fmadd(d, d, dot(z, z));
}

/// What damper and friction take in a step, J: the damper's share of the force along the depth, and the work of friction beyond
/// what its bristles store. z, kept: what the point remembers before and after the step.
FN real contact_loss(const lane_model *m, const lane_point_load *s, const touch *c, vec3 z, vec3 kept, real h, real lag)
{
    const vec3 n = ground_normal(m), from = sub_scaled(z, n, dot(n, z));
    const real d = depth_of(c->gap), damped = fnmadd(s->grip, d, press_on(m, s, c->before, c->gap, h).force);
    const vec3 g = rub_on(n, c->s, s->grip, s->friction * lag).g;
    const real rubbed = fmadd(rset(0.5) * s->grip, dot(from, from) - dot(kept, kept), dot(g, sub(c->s, from)));
    return fmadd(damped, d - depth_of(c->before), rubbed);
}

#endif
