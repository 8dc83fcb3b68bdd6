/// What acts on bodies, at points of theirs. World springs and forces stand here and nowhere else: every method, the ledger of
/// energy, Jacobians and adjoints take from here what they need of
///
///     element         potential V, J      drag C
///     world spring    k/2 |x - a|^2       c 1
///     fluid           -(C u).x            c 1 + e t t'
///     force           -F.x
///     torque          -T.log(R R_k')
///     other drag                          d2 psi/dx'2, of forces/drag.h
///
/// x = p + R s is where the point s of a body with the pose [R p] is, a the anchor, R_k the axes at the start of a step. The
/// force on the point is -dV/dx - C x'. A force and a torque may be in the axes of the world, or in those of their link. Only a
/// force in world axes has a potential; where a method wants one of the others (order 2), it takes them as they stand at the
/// start of its step. What they give counts as work, not as energy that is stored. Thrusters are such loads (forces/thrust.h).
///
/// Methods that solve equations want a load as a *wrench* about the body's origin and an *inertia* P that maps its twist to a
/// wrench, the second derivative in the symmetrised chart of the sweeps (docs/theory.md 4.2): with the arm r = R s, the gradient
/// g and the second derivative k of the energy by x
///
///     w = (r x g, g),   P = [k (|r|^2 - r r') + sym(r g') - (r.g), [k r - g/2]x; ., k]
///
/// The terms with g are the curvature; without them P is never negative. (docs/theory.md 4.8)
///
/// What a fluid does to a body is in some such points (sim/scene/shape_measure.c): t is an axis of the body, u the current. C is
/// that of the start of the step where a step is one solve, so that there the drag has an energy, (x - x_k - h u)'C (x - x_k - h
/// u) / 2h; elsewhere that of where the body is. (docs/theory.md 4.8) Where the current differs from place to place, or the drag
/// is by the square of the velocity, a load has LOAD_SLIPS: it is drag alone, of what moves against the current.
///
/// A body's mass has that of the fluid which it carries along. Gravity acts on it as on all mass, and a load with LOAD_ADDED takes
/// the weight off again; this force is part of gravity's energy, and gives no work.
///
/// A new load adds to add_point_load() what it does at its point, and its numbers are the model's (dynamics/model.h).
#ifndef CATENA_BODY_LOADS_H
#define CATENA_BODY_LOADS_H

#include "dynamics/articulated.h"
#include "dynamics/joints.h"
#include "dynamics/kinematics.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/drag.h"
#include "forces/thrust.h"

/// What the loads on a body do together. World axes, about the body's origin.
typedef struct {
    wrench w;          // the gradient of their energy
    inertia6 P;        // its second derivative, or,
    bool curves;       // if this is false, that without curvature
    bool acts;         // whether there is any; else nothing else is set
} body_load;

FN body_load no_load(bool curves)
{
    body_load L;
    L.w = wrench_zero(), L.P = inertia_zero(), L.curves = curves, L.acts = true;
    return L;
}

/// The wrench of a force at the end of the arm r.
FN wrench force_at(vec3 r, vec3 f)
{
    wrench w;
    w.n = cross(r, f), w.f = f;
    return w;
}

/// How a motion of the body moves the end of the arm r.
FN vec3 moved_point(twist t, vec3 r) { return cross_add(t.v, t.w, r); }

/// k (a.b - b a'), which makes k a x (w x b) of w. By rows.
FN mat3 arms_block(vec3 a, vec3 b, real k)
{
    const real s = k * dot(a, b);
    mat3 A;
    A.x = scale(a, negate(k * b.x)), A.y = scale(a, negate(k * b.y)), A.z = scale(a, negate(k * b.z));
    A.x.x = A.x.x + s, A.y.y = A.y.y + s, A.z.z = A.z.z + s;
    return A;
}

FN sym3 sym_of_rows(mat3 A)
{
    sym3 S;
    S.xx = A.x.x, S.yy = A.y.y, S.zz = A.z.z, S.xy = A.x.y, S.xz = A.x.z, S.yz = A.y.z;
    return S;
}

/// sym(r g') - r.g
FN sym3 point_curvature(vec3 r, vec3 g)
{
    const real half = rset(0.5), along = dot(r, g);
    sym3 A;
    A.xx = fmadd(r.x, g.x, negate(along)), A.yy = fmadd(r.y, g.y, negate(along)), A.zz = fmadd(r.z, g.z, negate(along));
    A.xy = half * fmadd(r.x, g.y, r.y * g.x), A.xz = half * fmadd(r.x, g.z, r.z * g.x), A.yz = half * fmadd(r.y, g.z, r.z * g.y);
    return A;
}

/// Adds an energy whose gradient at the end of the arm r is g, and whose second derivative there is k.
FN void add_point_load(body_load *L, vec3 r, vec3 g, real k)
{
    const sym3 A = sym_of_rows(arms_block(r, r, k));
    L->w = wrench_add(L->w, force_at(r, g));
    if (!L->curves) L->P = inertia_add_rigid(L->P, A, scale(r, k), k);
    else L->P = inertia_add_rigid(L->P, sym_add(A, point_curvature(r, g)), add_scaled(scale(r, k), g, rset(-0.5)), k);
}

/// Adds the second derivative e by a way that goes by a motion (w, v) as n.w + t.v.
FN void add_way_block(body_load *L, vec3 n, vec3 t, real e)
{
    const vec3 en = scale(n, e), et = scale(t, e);
    inertia6 P;
    P.A.xx = en.x * n.x, P.A.yy = en.y * n.y, P.A.zz = en.z * n.z;
    P.A.xy = en.x * n.y, P.A.xz = en.x * n.z, P.A.yz = en.y * n.z;
    P.B.x = scale(en, t.x), P.B.y = scale(en, t.y), P.B.z = scale(en, t.z);
    P.D.xx = et.x * t.x, P.D.yy = et.y * t.y, P.D.zz = et.z * t.z;
    P.D.xy = et.x * t.y, P.D.xz = et.x * t.z, P.D.yz = et.y * t.z;
    L->P = inertia_add(L->P, P);
}

/// Adds the second derivative e t t' at the end of the arm r.
FN void add_axial_block(body_load *L, vec3 r, vec3 t, real e) { add_way_block(L, cross(r, t), t, e); }

/// P t.
FN wrench inertia_times(const inertia6 *P, twist t)
{
    wrench w;
    w.n = add(smul(P->A, t.w), mul(P->B, t.v)), w.f = add(tmul(P->B, t.w), smul(P->D, t.v));
    return w;
}

/// P in the lanes `where`, else Q.
FN inertia6 sel_inertia(mask where, inertia6 P, inertia6 Q)
{
    P.A = sel_sym(where, P.A, Q.A), P.D = sel_sym(where, P.D, Q.D);
    P.B.x = sel3(where, P.B.x, Q.B.x), P.B.y = sel3(where, P.B.y, Q.B.y), P.B.z = sel3(where, P.B.z, Q.B.z);
    return P;
}

// ---- loads on points

/// Where a body's origin is, from those of the bodies before it. T: the body's placement at q
FN vec3 placed_origin(const lane_body *b, const placement *T, const real *q, const vec3 *p)
{
    if (b->flags & BODY_ROOT) return body_offset(b, form_of(b), T->R, T->R.z, q);
    return has_arm(form_of(b)) ? add(p[b->parent], T->r) : p[b->parent];
}

/// A load at some configuration: the arm R s of its point, how far that is from the anchor, and the force and the torque in world
/// axes; the axis of an axial drag. Of drag with LOAD_SLIPS the current there, and the drag at the iterate of a solve.
typedef struct {
    vec3 arm, gap, F, T, axis;
    stream_at stream;
    drag_force drag;
} load_state;

/// A force or torque of a load on a body with the axes R, in world axes. Of a thruster whose target moves it is the one now.
FN vec3 load_axes(const lane_model *m, const lane_point_load *s, mat3 R, const real *x)
{
    vec3 y = load3(x);
    if (s->flags & LOAD_DRIVEN) y = scale(y, thrust_of(m, s));
    return s->flags & LOAD_FOLLOWS ? mul(R, mul(const33(m->frames[s->link].R), y)) : y;
}

FN vec3 load_torque(const lane_model *m, const lane_point_load *s, mat3 R)
{
    return s->flags & LOAD_TURNS ? load_axes(m, s, R, s->torque) : zero3();
}

FN vec3 load_axis(const lane_point_load *s, mat3 R) { return s->flags & LOAD_AXIAL ? mul(R, load3(s->axis)) : zero3(); }

/// Its force, and what an axial drag makes of the current.
FN vec3 load_force(const lane_model *m, const lane_point_load *s, mat3 R)
{
    const vec3 F = load_axes(m, s, R, s->force);
    if (!(s->flags & LOAD_AXIAL) || (s->flags & LOAD_SLIPS)) return F;
    const vec3 t = load_axis(s, R);
    return add_scaled(F, t, s->axial * dot(t, load3(s->flow)));
}

/// Adds `rate` times an axial drag of the velocity x to g.
FN vec3 add_axial_drag(vec3 g, const lane_point_load *s, vec3 axis, vec3 x, real rate)
{
    return s->flags & LOAD_AXIAL ? add_scaled(g, axis, s->axial * rate * dot(axis, x)) : g;
}

/// The current that an axial drag, or one that slips, is in.
FN vec3 current_at(const lane_point_load *s, const load_state *at)
{
    return s->flags & LOAD_SLIPS ? at->stream.flow : load3(s->flow);
}

/// A load on a body with the axes R and the origin p.
FN load_state hold_load(const lane_model *m, const lane_point_load *s, mat3 R, vec3 p)
{
    load_state at;
    at.arm = mul(R, load3(s->point));
    at.gap = sub(add(p, at.arm), load3(s->anchor));
    if (s->flags & LOAD_TOUCHES) at.F = at.T = at.axis = zero3();
    else at.F = load_force(m, s, R), at.T = load_torque(m, s, R), at.axis = load_axis(s, R);
    if (s->flags & LOAD_SLIPS) at.stream = stream_now(m, s, at.gap);  // it has no anchor
    return at;
}

/// Whether anything acts between bodies (dynamics/between.h).
FN bool joins(const lane_model *m)
{
#if defined(CATENA_ALONG) || defined(__CUDACC__)  // there it is refused (sim/base/config.c)
    (void)m;
    return false;
#else
    return m->npair > 0 || m->nbond > 0;
#endif
}

/// Whether it matters where the origins of bodies are.
FN bool needs_origins(const lane_model *m) { return m->nload > 0 || joins(m); }

/// Where the origins p [nbody] of bodies are at q, in models that ask for it. T [nbody]: placements there
KERNEL void find_origins(const lane_model *m, const real *q, const placement *T, vec3 *p)
{
    for (int i = 0; i < m->nbody && needs_origins(m); i++) p[i] = placed_origin(&m->bodies[i], &T[i], q, p);
}

/// All loads at [nload] on bodies with these placements and origins.
KERNEL void hold_loads(const lane_model *m, const placement *T, const vec3 *p, load_state *at)
{
    for (int k = 0; k < m->nload; k++) {
        const int i = m->loads[k].body;
        at[k] = hold_load(m, &m->loads[k], T[i].R, p[i]);
    }
}

/// The potential of a load, with the force F in world axes, whose point has moved by u since the gap was `gap`: its change, and
/// its gradient.
FN real load_potential(const lane_point_load *s, vec3 gap, vec3 F, vec3 u, vec3 *g)
{
    const real k = s->stiffness;
    *g = sub(scale(add(gap, u), k), F);
    return dot_sub(k * dot(u, add_scaled(gap, u, rset(0.5))), F, u);
}

/// Adds the energy of a load's spring, on a body with the axes R and the origin p, J.
FN real add_spring_energy(real E, const lane_point_load *s, mat3 R, vec3 p)
{
    const vec3 gap = sub(mul_add(p, R, load3(s->point)), load3(s->anchor));
    return fmadd(rset(0.5) * s->stiffness, dot(gap, gap), E);
}

/// Energy of all springs where the bodies have the axes of T and the origins p [nbody], J.
KERNEL real springs_energy(const lane_model *m, const placement *T, const vec3 *p)
{
    real E = rset(0);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) E = add_spring_energy(E, s, T[s->body].R, p[s->body]);
        else if (s->group) k += s->group - 1;
    }
    return E;
}

/// The energy of the forces that take the weight off added mass, where bodies have the axes R and the origins p, J.
FN real weight_taken(const lane_point_load *s, mat3 R, vec3 p)
{
    return negate(dot(load3(s->force), mul_add(p, R, load3(s->point))));
}

/// The same of all of them. T, p [nbody]
KERNEL real weights_taken(const lane_model *m, const placement *T, const vec3 *p)
{
    real E = rset(0);
    for (int k = 0; k < m->nload && m->adds; k++)
        if (m->loads[k].flags & LOAD_ADDED) E = E + weight_taken(&m->loads[k], T[m->loads[k].body].R, p[m->loads[k].body]);
    return E;
}

/// What a damper takes in the time dt (s) while its point moves with the velocity x.
FN real load_loss(const lane_point_load *s, vec3 axis, vec3 x, real dt)
{
    const real E = s->damping * dt * dot(x, x), along = dot(axis, x);
    return s->flags & LOAD_AXIAL ? fmadd(s->axial * dt, along * along, E) : E;
}

/// What drag that slips takes in that time at the velocity w against the current, and what the current puts in.
typedef struct {
    real loss, work;
} drag_power;

FN drag_power drag_flow(const drag_force *D, vec3 w, vec3 flow, real dt)
{
    drag_power P;
    P.loss = dt * dot(D->g, w), P.work = negate(dt * dot(D->g, flow));
    return P;
}

#endif
