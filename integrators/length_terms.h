/// Springs between links and tendons in a step of one stage: potentials of a length at its end. (docs/theory.md 4.14)
///
///     joints    l = sum of shares c_i q_i
///     path      l = sum of shares s_i |X_i - X_i+1|, straight from point to point of bodies, or of the world
///
///     V(l) = spring beyond `rest` + damper + stops beyond `range` + motor,    f = V',   k = V''
///
/// With n_i the direction of a piece and D_i how its ends move against each other by the motions of both bodies, the gradient is
/// g = f sum s_i D_i'n_i, and the second derivative k (sum s_i D_i'n_i)(..)' + f sum s_i [D_i'(1 - n n')/l D_i + curvature of
/// its two points]: rank one over the whole path, and for each piece what a spring between two points has. A piece between two
/// points of one body does not change, and pulls nothing.
#ifndef CATENA_LENGTH_TERMS_H
#define CATENA_LENGTH_TERMS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/articulated.h"
#include "forces/body_loads.h"
#include "forces/motors.h"
#include "integrators/between_work.h"
#include "integrators/collocation.h"
#include "integrators/energy.h"
#include "integrators/pair_terms.h"

/// Two points of two bodies, and how far a's is from b's; p: origins of bodies at the start of the step.
typedef struct {
    body_at A, B;
    vec3 ra, rb, x;
} bond_ends;

FN bond_ends ends_between(const vec3 *p, int a, const double at_a[3], body_at A, int b, const double at_b[3], body_at B)
{
    bond_ends e;
    const vec3 pa = a < 0 ? zero3() : p[a], pb = b < 0 ? zero3() : p[b];
    e.A = A, e.B = B, e.ra = mul(A.R, const3(at_a)), e.rb = mul(B.R, const3(at_b));
    e.x = add(sub(pa, pb), add(sub(A.dp, B.dp), sub(e.ra, e.rb)));
    return e;
}

/// The row of the way along n of a's point from b's; arms from both origins.
FN void set_way_row(bond_row *r, vec3 ra, vec3 rb, vec3 n, real c)
{
    r->c = c, r->a = force_at(ra, n), r->b = force_at(rb, opposite(n));
}

FN void clear_bond_row(bond_row *r, real per)
{
    r->c = rset(0), r->scale = per, r->a = r->b = wrench_zero(), r->by_follower = r->by_leader = rset(0);
}

// ---- lengths

FN real tendon_length(const lane_model *m, const model_bond *o, const real *q)
{
    real l = rset(0);
    for (int k = o->joint; k < o->joint + o->joints; k++)
        l = fmadd(rset(m->bond_joints[k].share), q[m->bodies[m->bond_joints[k].body].qadr], l);
    return l;
}

/// A straight piece of a path, from its point k to the next one: n from b to a, times its share in the length.
typedef struct {
    int a, b;
    vec3 ra, rb, n, pull;
    real length;
} path_piece;

FN path_piece piece_of(const lane_model *m, const solve *W, int k, bool begun)
{
    const bond_point *const from = &m->bond_points[k], *const to = from + 1;
    const int a = from->body, b = to->body;
    const bond_ends e =
        ends_between(W->p, a, from->at, begun ? begun_at(W, a) : now_at(W, a), b, to->at, begun ? begun_at(W, b) : now_at(W, b));
    path_piece P;
    P.a = a, P.b = b, P.ra = e.ra, P.rb = e.rb, P.length = root(dot(e.x, e.x));
    P.n = scale(e.x, rset(1) / sel(gt(P.length, rset(0)), P.length, rset(1)));
    P.pull = scale(P.n, rset(from->share));
    return P;
}

/// The next piece of a path from its point k on, after k; its last point begins none. A piece on one body pulls at nothing.
FN int next_piece(const lane_model *m, const model_bond *o, int k, bool pulls)
{
    while (k < o->point + o->points - 1) {
        const bond_point *const p = &m->bond_points[k];
        if (p->share > 0 && !(pulls && p[0].body == p[1].body)) return k;
        k++;
    }
    return -1;
}
#define EACH_PIECE(k, m, o, pulls)                                                                                               \
    int k = next_piece(m, o, (o)->point, pulls);                                                                                 \
    k >= 0;                                                                                                                      \
    k = next_piece(m, o, k + 1, pulls)

FN real length_in_solve(const lane_model *m, const solve *W, const model_bond *o, bool begun)
{
    real l = rset(0);
    if (o->joints) return tendon_length(m, o, begun ? W->in.q : W->in.x);
    for (EACH_PIECE(k, m, o, false)) l = fmadd(rset(m->bond_points[k].share), piece_of(m, W, k, begun).length, l);
    return l;
}

/// The length of a path where bodies have the axes of T and the origins p [nbody].
FN real path_length(const lane_model *m, const model_bond *o, const placement *T, const vec3 *p)
{
    real l = rset(0);
    for (EACH_PIECE(k, m, o, false)) {
        vec3 x[2];
        for (int side = 0; side < 2; side++) {
            const bond_point *const at = &m->bond_points[k + side];
            x[side] = at->body < 0 ? const3(at->at) : mul_add(p[at->body], T[at->body].R, const3(at->at));
        }
        const vec3 d = sub(x[0], x[1]);
        l = fmadd(rset(m->bond_points[k].share), root(dot(d, d)), l);
    }
    return l;
}

// ---- what they pull with

/// By how much a length is beyond two others, which may be one: negative below them; and where it is.
FN real outside_of(real l, const double between[2], mask *out)
{
    const real o = rset(0), low = l - rset(between[0]), high = l - rset(between[1]);
    const mask under = lt(low, o), over = gt(high, o);
    *out = either(under, over);
    return sel(under, low, sel(over, high, o));
}

FN lane_motor tendon_motor(const lane_model *m, const model_bond *o) { return told_now(m, &m->motors[o->motor - 1], false); }

/// What acts along a length, with a gradient f = V', a curvature k = V'' and an energy V.
typedef struct {
    real force, stiffness, E;
} pull_along_length;

/// Spring and stops at a length, with a damper of c N/m along the way.
KERNEL pull_along_length pull_at(const model_bond *o, real length, real way, real c)
{
    pull_along_length s;
    mask out, apart = lt(rset(o->rest[0]), rset(o->rest[1]));
    const real over = outside_of(length, o->rest, &out);
    const real k = sel(both(apart, not_(out)), rset(0), rset(o->stiffness));  // slack between two lengths
    s.force = fmadd(k, over, c * way), s.stiffness = k + c;
    s.E = rset(0.5) * fmadd(k * over, over, c * way * way);
    if (o->compliance > 0) {  // beyond its range: stiff
        const real past = outside_of(length, o->range, &out), stiff = sel(out, rset(1 / o->compliance), rset(0));
        s.force = fmadd(stiff, past, s.force), s.stiffness = s.stiffness + stiff;
        s.E = fmadd(rset(0.5) * stiff * past, past, s.E);
    }
    return s;
}

/// A length at the iterate, as it was at the start of the step, how far it has gone, and of that what it is braked for: its rate
/// at the end, over drag.
typedef struct {
    real length, begun, way, braked;
} length_way;

FN length_way way_of_length(const lane_model *m, const solve *W, const model_bond *o)
{
    length_way l;
    l.length = length_in_solve(m, W, o, false), l.begun = length_in_solve(m, W, o, true);
    l.way = l.braked = l.length - l.begun;
    if (W->in.slack) l.braked = l.way - W->between.drift[o - m->bonds];
    return l;
}

/// Where the iterate has come to the stops of a length, or has left them, since the start of the step.
FN mask stop_changes(const lane_model *m, const solve *W, const model_bond *o)
{
    mask before, now;
    if (o->rows || !(o->compliance > 0)) return none_of();
    outside_of(length_in_solve(m, W, o, true), o->range, &before), outside_of(length_in_solve(m, W, o, false), o->range, &now);
    return both(either(before, now), not_(both(before, now)));
}

/// Spring, damper, stops and motor of a length at the iterate.
KERNEL pull_along_length pull_of_length(const lane_model *m, const solve *W, const model_bond *o)
{
    const length_way l = way_of_length(m, W, o);
    pull_along_length s = pull_at(o, l.length, l.braked, rset(o->damping) * W->in.drag);
    if (!o->motor) return s;
    const lane_motor a = tendon_motor(m, o);
    const motor_potential V = motor_step(&a, l.length, l.way, W->in.drag * l.braked, W->in.drag);
    s.force = s.force + V.g, s.stiffness = s.stiffness + V.k, s.E = s.E + V.E;
    return s;
}

/// What a spring or tendon of this length stores, J.
FN real stored_along(const lane_model *m, const model_bond *o, real length)
{
    const real E = pull_at(o, length, rset(0), rset(0)).E;
    if (!o->motor) return E;
    const lane_motor a = tendon_motor(m, o);
    return E + motor_energy(&a, length);
}

/// Adds the force along a length to the wrenches of bodies, or to tau.
FN void pull_along(const lane_model *m, solve *W, const model_bond *o, real force)
{
    for (int j = o->joint; j < o->joint + o->joints; j++) {
        real *const t = &W->between.tau[m->bodies[m->bond_joints[j].body].vadr];
        *t = fmadd(rset(m->bond_joints[j].share), force, *t);
    }
    for (EACH_PIECE(k, m, o, true)) {
        const path_piece P = piece_of(m, W, k, false);
        const vec3 f = scale(P.pull, force);
        add_wrench(W, P.a, P.ra, f), add_wrench(W, P.b, P.rb, opposite(f));
    }
}

/// How fast a length goes by the virtual motions y [nv] of joints and V of bodies.
FN real length_rate(const lane_model *m, const solve *W, const model_bond *o, const real *y, const twist *V)
{
    real rate = rset(0);
    for (int j = o->joint; j < o->joint + o->joints; j++)
        rate = fmadd(rset(m->bond_joints[j].share), y[m->bodies[m->bond_joints[j].body].vadr], rate);
    for (EACH_PIECE(k, m, o, true)) {
        const path_piece P = piece_of(m, W, k, false);
        const vec3 ya = P.a < 0 ? zero3() : moved_point(V[P.a], P.ra), yb = P.b < 0 ? zero3() : moved_point(V[P.b], P.rb);
        rate = dot_add(rate, P.pull, sub(ya, yb));
    }
    return rate;
}

// ---- in the matrix

FN void add_point_bend(inertia6 *P, vec3 r, vec3 f)
{
    *P = inertia_add_rigid(*P, point_curvature(r, f), scale(f, rset(-0.5)), rset(0));
}

/// Adds what the stiffness K of the way between two points makes of both bodies' blocks; *cross: of one's by the other's.
FN void add_way_stiffness(inertia6 *A, inertia6 *B, cross_block *cross, vec3 ra, vec3 rb, sym3 K)
{
    body_load L = no_load(false);
    add_bend(&L, ra, K, rset(-1));
    if (A) *A = inertia_add(*A, L.P);
    L = no_load(false);
    add_bend(&L, rb, K, rset(-1));
    if (B) *B = inertia_add(*B, L.P);
    const mat3 full = sym_full(K), Kb = times_skew(full, rb);
    cross->ww = skew_times(ra, Kb), cross->wv = mat3_scale(skew_times(ra, full), rset(-1));
    cross->vw = Kb, cross->vv = mat3_scale(full, rset(-1));
}

/// Adds (1 - n n') f / l, f the force along the way: where it pulls.
FN sym3 string_stiffness(vec3 n, real force, real length)
{
    const real k = sel(gt(length, rset(0)), force / length, rset(0));
    sym3 K = sym_diagonal(k, k, k);
    sym_add_dyad(&K, n, negate(k));
    return K;
}

/// The curvature of piece k of a path whose force is f at the iterate: into the blocks of both bodies, and the cross block, which
/// is not 0 where it returns true.
KERNEL bool piece_curvature(const lane_model *m, const solve *W, int k, real force, inertia6 *P, cross_block *G)
{
    const path_piece e = piece_of(m, W, k, false);
    inertia6 *const A = e.a < 0 ? NULL : &P[e.a], *const B = e.b < 0 ? NULL : &P[e.b];
    const vec3 f = scale(e.pull, force);
    if (A) add_point_bend(A, e.ra, f);
    if (B) add_point_bend(B, e.rb, opposite(f));
    *G = no_cross();
    add_way_stiffness(A, B, G, e.ra, e.rb, string_stiffness(e.n, rset(m->bond_points[k].share) * force, e.length));
    return A && B;
}

// ---- what passes through them

/// What dampers take in the step that W has solved, and what motors on tendons put in and take, J: at mean rates. Motors are told
/// as those of joints are (position_flow.h): by order 2 they begin where they are and hold what they are told at the end, alpha has
/// them as in its middle.
KERNEL void add_length_flow(energy_flow *F, const lane_model *m, const solve *W)
{
    const real h = W->in.h;
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (o->rows || !(o->damping > 0 || o->motor)) continue;
        const length_way l = way_of_length(m, W, o);
        F->dissipated = fmadd(rset(o->damping) * W->in.inv_h * l.way, l.way, F->dissipated);
        if (!o->motor) continue;
        clock_now(m, h, W->in.slack ? 0.5 : 0);
        lane_motor a = tendon_motor(m, o);
        real x = fmadd(rset(0.5), l.way, l.begun);
        if (!W->in.slack) {
            const real stood = motor_energy(&a, l.begun);
            clock_now(m, h, 1);
            a = tendon_motor(m, o), x = l.length;
            F->work = F->work + (motor_energy(&a, l.begun) - stood);
            a.target_rate[0] = a.feedforward_rate[0] = rset(0);
        }
        const motor_power p = motor_flow(&a, x, l.way * W->in.inv_h, rset(0));
        clock_now(m, h, 1);
        F->work = fmadd(h, p.work, F->work), F->dissipated = fmadd(h, p.dissipated, F->dissipated);
    }
}

#endif
