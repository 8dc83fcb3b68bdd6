/// What happens where a body touches the ground, or what else is fixed in the world: the force on one rounded point, its energy
/// in a step, and what it remembers.
///
/// A rounded point is a ball of radius r about a point c of a body; the ground is the plane n.x = height. Its gap is
///
///     g = n.c - height - r,    depth d = max(0, -g)
///
/// and of another surface that of contact/surface.h less r, n its gradient. A point has an entry for each surface, with a memory
/// of its own.
///
/// *Normal force.* A spring k d with a damper that only acts in contact and never pulls, in a step of size h from the depth d_k:
///
///     l = K <-g - d_0>,    K = k (1 + t/h),    d_0 = d_k t/(h + t)          t: the relaxation, s
///
/// the slope of the convex potential K/2 <-g - d_0>^2, a parabola that the damper has shifted.
///
/// *Friction.* [Cundall, Strack 1979] The point remembers how far z its bristles are bent along the ground. With the way D that
/// the surface has slid in the step they are bent to s = z + D, and push back by k (s + t s'), with the same damper, up to a cap
/// m l, l the normal force of the pass before. With y = s - z t/(h + t)
///
///     W(y) = K/2 |y|^2                   K |y| <= m l: it sticks
///            m l (|y| - m l/(2 K))       beyond: it slides
///
/// After the step z = s, cut to m l'/k with the normal force l' there or, if that is less, to the m l/k up to which the force has
/// bent it: friction takes energy whatever l and l' are, and what sticks does not creep.
///
/// D is the way of the material point that is the lowest at the end: with R_k and R the axes at the start and now, and Q = R_k R',
/// D = P (c - c_k + r Q n), P = 1 - n n'. Where a surface is not flat, friction stands on the plane that it had as the solve began;
/// the pass that corrects it takes that of the solution. What is stored in bristles that the plane has turned away from, counts as
/// taken. (docs/theory.md 4.12)
///
/// *As published* [Pan, Manocha 2018, eq. 9] (m->published), by order 2 on the ground alone: the energy D1 d^2 + D2 d^2 |D/h|^2 of
/// a step, k = 2 D1, which remembers nothing. It rubs by the square of the depth, and the more the smaller the step.
#ifndef CATENA_CONTACT_LAW_H
#define CATENA_CONTACT_LAW_H

#include "contact/surface.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/body_loads.h"

FN vec3 ground_normal(const lane_model *m) { return load3(m->ground); }

/// The gap of the rounded point s whose middle is at x.
FN real ground_gap(const lane_model *m, const lane_point_load *s, vec3 x)
{
    return dot(ground_normal(m), x) - m->ground[3] - s->radius;
}

/// The surface of a contact point that is not the ground.
FN const fixed_surface *surface_of(const lane_model *m, const lane_point_load *s) { return &m->surfaces[s->surface - 1]; }

/// How the rounded point s stands whose middle is at x.
FN surface_point stand_of(const lane_model *m, const lane_point_load *s, vec3 x)
{
    surface_point at;
    if (s->surface) {
        at = stand_at(surface_of(m, s), x, NULL);
        at.gap = at.gap - s->radius;
    } else at.n = at.face = ground_normal(m), at.gap = ground_gap(m, s, x);
    return at;
}

/// Its gap, and the normal of the plane of its friction, alone.
FN real gap_of(const lane_model *m, const lane_point_load *s, vec3 x)
{
    return s->surface ? stand_of(m, s, x).gap : ground_gap(m, s, x);
}
FN vec3 face_of(const lane_model *m, const lane_point_load *s, vec3 x)
{
    return s->surface ? stand_of(m, s, x).face : ground_normal(m);
}

FN real larger_of(real a, real b) { return sel(lt(a, b), b, a); }

FN real depth_of(real gap) { return sel(lt(gap, rset(0)), negate(gap), rset(0)); }

/// The normal force in a step, its potential and stiffness.
typedef struct {
    real E, force, stiffness;
} normal_law;

/// grip: N/m; drag: the rate's derivative by the gap, 1/h; from: the depth from which the rate is counted, that of the start.
FN normal_law press_with(const lane_model *m, real grip, real from, real gap, real drag)
{
    const real o = rset(0), one = rset(1), t = m->relaxation * drag, K = fmadd(grip, t, grip);
    const real over = fnmadd(from, t / (one + t), negate(gap));
    const mask in = gt(over, o);
    normal_law N;
    N.force = sel(in, K * over, o), N.stiffness = sel(in, K, o), N.E = rset(0.5) * N.force * sel(in, over, o);
    return N;
}

/// The normal force at a gap that changes by `rate`, and its slopes by both, for methods that take forces where they are:
/// k (d - t rate) in contact, never below 0.
typedef struct {
    real force, by_gap, by_rate;
} press_force;

FN press_force press_at(const lane_model *m, const lane_point_load *s, real gap, real rate)
{
    const real o = rset(0), over = negate(fmadd(m->relaxation, rate, gap));
    const mask in = both(lt(gap, o), gt(over, o));
    press_force N;
    N.force = sel(in, s->grip * over, o);
    N.by_gap = sel(in, negate(s->grip), o), N.by_rate = sel(in, negate(s->grip * m->relaxation), o);
    return N;
}

/// Friction bent to s: its potential, the gradient g by s, and second derivatives k1, k2 along the tangents t1, t2.
typedef struct {
    real E, k1, k2;
    vec3 g, t1, t2;
    vec3 by_cap;  // the derivative of g by the cap
} friction_law;

FN friction_law rub_on(vec3 n, vec3 s, real grip, real cap)
{
    const real o = rset(0), one = rset(1), length = root(dot(s, s)), pull = grip * length;
    const mask moves = gt(length, o), sticks = both(le(pull, cap), gt(cap, o));
    const real inverse = one / sel(moves, length, one);
    friction_law F;
    F.t1 = scale(s, inverse);
    if (any_of(not_(moves))) {  // without a direction any tangent does: across the normal, from an axis that is not along it
        const vec3 other = sel3(lt(magnitude(n.x), rset(0.7)), vec(one, o, o), vec(o, one, o)), across = cross(n, other);
        F.t1 = sel3(moves, F.t1, scale(across, one / root(dot(across, across))));
    }
    F.t2 = cross(n, F.t1);
    F.E = sel(sticks, rset(0.5) * pull * length, cap * fnmadd(rset(0.5), cap / grip, length));
    F.E = sel(gt(cap, o), F.E, o);
    F.g = scale(F.t1, sel(moves, sel(sticks, pull, cap), o));
    F.by_cap = sel3(both(moves, not_(sticks)), F.t1, zero3());
    F.k1 = sel(sticks, grip, o), F.k2 = sel(sticks, grip, sel(moves, cap * inverse, o));
    return F;
}

FN vec3 along_ground(vec3 n, vec3 x) { return sub_scaled(x, n, dot(n, x)); }

/// A contact point in a step that has moved its middle by u, and its body from the axes R_k to R.
typedef struct {
    real before, gap;  // at the start of the step, now
    real from;         // the depth from which the rate of the gap is counted: that before (order 2), or what alpha_step.h says
    real firm;         // how many times as stiff the spring is in this step (integrators/giving_way.h)
    vec3 n, face;      // the gradient of the gap; the normal of the plane of friction
    vec3 under;        // that of the plane below the point, now
    vec3 x, arm;       // the middle, where there is a surface; and from the body's origin
    vec3 s, rest;      // along that plane: how far it is bent, and from where the rate of that is counted, likewise
    mat3 Qt;           // R R_k'
} touch;

/// How a rounded point stands whose middle has moved by u from x, where its gap was `before`.
FN surface_point stand_after(const lane_model *m, const lane_point_load *s, real before, vec3 x, vec3 u)
{
    surface_point now;
    if (s->surface) now = stand_of(m, s, add(x, u));
    else now.n = now.face = ground_normal(m), now.gap = before + dot(now.n, u);
    return now;
}

/// before: its gap at the start of the step, where its middle was x; now: how it stands. face: the normal of the plane of
/// friction; NULL: that of now. The ground has one.
FN touch touch_of(const lane_point_load *s, real before, surface_point now, vec3 x, vec3 arm, mat3 Qt, vec3 u, vec3 z,
                  const vec3 *face)
{
    touch c;
    c.before = before, c.from = depth_of(c.before), c.firm = rset(1);
    if (s->surface) c.x = add(x, u);
    c.gap = now.gap, c.n = now.n, c.under = now.face, c.face = face ? *face : now.face;
    c.arm = arm, c.Qt = Qt;
    c.rest = along_ground(c.face, z);
    c.s = add(c.rest, along_ground(c.face, add_scaled(u, tmul(c.Qt, c.face), s->radius)));
    return c;
}

/// The same, of a body that has turned from the axes R_k to R.
FN touch touch_at(const lane_model *m, const lane_point_load *s, const load_state *at, mat3 R_k, mat3 R, vec3 u, vec3 z,
                  const vec3 *face)
{
    const real before = gap_of(m, s, at->gap);
    const surface_point now = stand_after(m, s, before, at->gap, u);
    return touch_of(s, before, now, at->gap, mul(R, load3(s->point)), mmul(R, transposed(R_k)), u, z, face);
}

/// How s goes along the tangent t by turns of the body: with the middle, and as the surface rolls, by r Q n.
FN vec3 tangent_turn(const lane_point_load *s, const touch *c, vec3 t)
{
    return add(cross(c->arm, t), cross(scale(mul(c->Qt, t), s->radius), c->face));
}

/// What the gradient of friction by s, g, and the normal force give the body: f by the motion of the middle, the wrench w in all,
/// and the curvature by turns.
typedef struct {
    vec3 f;
    wrench w;
    sym3 curvature;
} touch_gradient;

FN touch_gradient gradient_of_touch(const lane_point_load *s, const touch *c, vec3 g, real press)
{
    const vec3 rolls = scale(mul(c->Qt, g), s->radius);
    touch_gradient t;
    t.f = sub_scaled(g, c->n, press);
    t.w = force_at(c->arm, t.f), t.w.n = add(t.w.n, cross(rolls, c->face));
    t.curvature = sym_add(point_curvature(c->arm, t.f), point_curvature(c->face, rolls));
    return t;
}

/// D2 d^2 |D/h|^2 as friction; it pushes, too, as d is in it.
FN friction_law rub_as_published(const lane_point_load *s, const touch *c, real drag)
{
    const real d = depth_of(c->gap), e = rset(2) * s->damping * drag * drag * d * d;
    friction_law F = rub_on(c->face, c->s, e, rset(0));  // the tangents
    F.g = scale(c->s, e), F.E = rset(0.5) * e * dot(c->s, c->s), F.k1 = F.k2 = e;
    return F;
}

/// The normal force of a contact point c in a step, at a gap.
FN normal_law press_on(const lane_model *m, const lane_point_load *s, const touch *c, real gap, real drag)
{
    return press_with(m, s->grip * c->firm, c->from, gap, drag);
}

/// The same at the gap that it has.
FN normal_law press_in_step(const lane_model *m, const lane_point_load *s, const touch *c, real drag)
{
    normal_law N = press_on(m, s, c, c->gap, drag);
    if (!m->published) return N;
    const real e = rset(2) * s->damping * drag * drag * dot(c->s, c->s), d = depth_of(c->gap);
    N.force = fmadd(e, d, N.force), N.stiffness = N.stiffness + sel(gt(d, rset(0)), e, rset(0));
    return N;
}

/// Friction in a step, as the normal force of press_on(): bristles have the same damper.
FN friction_law rub_in_step(const lane_model *m, const lane_point_load *s, const touch *c, real drag, real cap)
{
    if (m->published) return rub_as_published(s, c, drag);
    const real t = m->relaxation * drag, one = rset(1);
    return rub_on(c->face, sub_scaled(c->s, c->rest, t / (one + t)), fmadd(s->grip, t, s->grip), cap);
}

/// Adds the curvature that the force l along the gradient of a gap makes at the end of the arm r, -l H, H the gap's second
/// derivative.
FN void add_bend(body_load *L, vec3 r, sym3 H, real l)
{
    const vec3 x = scale(vec(H.xx, H.xy, H.xz), negate(l)), y = scale(vec(H.xy, H.yy, H.yz), negate(l)),
               z = scale(vec(H.xz, H.yz, H.zz), negate(l));
    const vec3 a = cross(r, x), b = cross(r, y), c = cross(r, z);  // the columns of [r]x K
    inertia6 P;
    P.B.x = a, P.B.y = b, P.B.z = c;
    P.D.xx = x.x, P.D.yy = y.y, P.D.zz = z.z, P.D.xy = x.y, P.D.xz = x.z, P.D.yz = y.z;
    const vec3 first = cross(r, vec(a.x, b.x, c.x)), second = cross(r, vec(a.y, b.y, c.y)), third = cross(r, vec(a.z, b.z, c.z));
    P.A.xx = first.x, P.A.xy = first.y, P.A.xz = first.z, P.A.yy = second.y, P.A.yz = second.z, P.A.zz = third.z;
    L->P = inertia_add(L->P, P);
}

/// Adds the second derivative of D2 d^2 |D/h|^2 by the gap and by D, which has either sign: as curvature.
FN void add_mixed_block(body_load *L, const lane_point_load *s, const touch *c, real drag)
{
    const real e = rset(-4) * s->damping * drag * drag * depth_of(c->gap);
    const vec3 way = scale(c->s, e);
    const wrench n = force_at(c->arm, c->n);
    wrench t;
    t.n = tangent_turn(s, c, way), t.f = way;
    inertia6 P;
    P.A.xx = rset(2) * n.n.x * t.n.x, P.A.yy = rset(2) * n.n.y * t.n.y, P.A.zz = rset(2) * n.n.z * t.n.z;
    P.A.xy = fmadd(n.n.x, t.n.y, n.n.y * t.n.x), P.A.xz = fmadd(n.n.x, t.n.z, n.n.z * t.n.x);
    P.A.yz = fmadd(n.n.y, t.n.z, n.n.z * t.n.y);
    P.B.x = add_scaled(scale(n.n, t.f.x), t.n, n.f.x), P.B.y = add_scaled(scale(n.n, t.f.y), t.n, n.f.y);
    P.B.z = add_scaled(scale(n.n, t.f.z), t.n, n.f.z);
    P.D.xx = rset(2) * n.f.x * t.f.x, P.D.yy = rset(2) * n.f.y * t.f.y, P.D.zz = rset(2) * n.f.z * t.f.z;
    P.D.xy = fmadd(n.f.x, t.f.y, n.f.y * t.f.x), P.D.xz = fmadd(n.f.x, t.f.z, n.f.z * t.f.x);
    P.D.yz = fmadd(n.f.y, t.f.z, n.f.z * t.f.y);
    L->P = inertia_add(L->P, P);
}

/// Adds what a contact point does in a step, with the normal force `lag` of the pass before; drag as of press_on(). Returns its
/// energy.
FN real add_contact(body_load *L, const lane_model *m, const lane_point_load *s, const touch *c, real drag, real lag)
{
    const normal_law N = press_in_step(m, s, c, drag);
    const friction_law F = rub_in_step(m, s, c, drag, s->friction * lag);
    const touch_gradient t = gradient_of_touch(s, c, F.g, N.force);
    L->w = wrench_add(L->w, t.w);
    if (L->curves) L->P = inertia_add_rigid(L->P, t.curvature, scale(t.f, rset(-0.5)), rset(0));
    // second derivatives along the normal and both tangents, none of them negative
    add_way_block(L, cross(c->arm, c->n), c->n, N.stiffness);
    add_way_block(L, tangent_turn(s, c, F.t1), F.t1, F.k1);
    add_way_block(L, tangent_turn(s, c, F.t2), F.t2, F.k2);
    if (m->published && L->curves) add_mixed_block(L, s, c, drag);
    if (s->surface && L->curves && any_of(gt(N.force, rset(0)))) {
        sym3 H;
        stand_at(surface_of(m, s), c->x, &H);
        add_bend(L, c->arm, H, N.force);
    }
    return N.E + F.E;
}

/// A contact point where forces are taken where it is: its normal force, and the friction that this caps.
typedef struct {
    real gap;
    vec3 n, face, arm, s;  // as of touch
    press_force press;
    friction_law rub;
} meeting;

/// x, slides: the velocities of its middle, and of its surface along the ground. glued: lanes in which what touches sticks,
/// whatever it takes.
FN meeting meet(const lane_model *m, const lane_point_load *p, surface_point at, vec3 arm, vec3 x, vec3 s, vec3 slides,
                mask glued)
{
    meeting t;
    t.gap = at.gap, t.n = at.n, t.face = at.face, t.arm = arm, t.s = s;
    t.press = press_at(m, p, at.gap, dot(at.n, x));
    const vec3 y = add_scaled(s, slides, m->relaxation);
    const real cap = p->friction * t.press.force, pull = rset(2) * p->grip * root(dot(y, y));
    t.rub = rub_on(at.face, y, p->grip, sel(both(glued, gt(cap, rset(0))), larger_of(cap, pull), cap));
    return t;
}

/// The gradient of its energy by the motion of its middle; and the wrench on its body, as friction acts on the surface.
FN vec3 meeting_gradient(const meeting *t) { return sub_scaled(t->rub.g, t->n, t->press.force); }
FN wrench meeting_wrench(const lane_point_load *p, const meeting *t)
{
    wrench w = force_at(t->arm, meeting_gradient(t));
    w.n = add(w.n, cross(scale(t->rub.g, p->radius), t->face));
    return w;
}

/// Where a point sticks as a step begins: the normal force is l, and its bristles are bent to z and go on with `slides`.
FN mask is_stuck(const lane_model *m, const lane_point_load *p, vec3 z, vec3 slides, real l)
{
    const vec3 y = add_scaled(z, slides, m->relaxation);
    const real most = rset(0.999) * p->friction * l;
    return both(gt(most, rset(0)), lt(p->grip * p->grip * dot(y, y), most * most));
}

/// s, cut to the length `most`.
FN vec3 bent_at_most(vec3 s, real most)
{
    const real length = root(dot(s, s));
    return scale(s, sel(le(length, most), rset(1), most / sel(gt(length, rset(0)), length, rset(1))));
}

/// What a point that has been bent to s remembers, with the cap of the normal force `lag`, under the normal force l.
FN vec3 kept_slip(const lane_point_load *p, vec3 s, real lag, real l)
{
    return bent_at_most(s, p->friction * sel(lt(lag, l), lag, l) / p->grip);
}

/// A contact point at the end of a step: its gap, its normal force, and what it remembers.
typedef struct {
    real gap, press;
    vec3 kept, turned;  // bristles that slide, and that turn (contact/rolling.h)
} end_touch;

/// Energy that a point stores at a gap, bent to z, J.
FN real contact_energy(const lane_point_load *s, real gap, vec3 z)
{
    const real d = depth_of(gap);
    return rset(0.5) * s->grip * fmadd(d, d, dot(z, z));
}

/// What bristles that were bent to z store where the plane of friction has the part `from` of z, over k/2.
FN real stored_bend(const lane_point_load *s, vec3 z, vec3 from) { return s->surface ? dot(z, z) : dot(from, from); }

/// What damper and friction take in a step, J: the damper's force along the depth, and the work of friction, with the gradient g,
/// beyond what its bristles store. kept: what the point remembers.
FN real contact_loss(const lane_point_load *s, const touch *c, vec3 z, real damped, vec3 g, vec3 kept)
{
    const vec3 from = along_ground(c->face, z);
    const real rubbed = fmadd(rset(0.5) * s->grip, stored_bend(s, z, from) - dot(kept, kept), dot(g, sub(c->s, from)));
    return fmadd(damped, depth_of(c->gap) - depth_of(c->before), rubbed);
}

#endif
