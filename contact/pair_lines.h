/// Two lines of two shapes at each other.
///
/// Edges do not end, as their weight does that (contact/pair_weight.h), and how far they are apart is signed along e_a x e_b,
/// turned outwards: d = n.(X_a - X_b), smooth through 0. That of axes ends where they do, and has no sign.
#ifndef CATENA_PAIR_LINES_H
#define CATENA_PAIR_LINES_H

#include "contact/touch_core.h"

/// Two shapes where their bodies are. World axes.
typedef struct {
    mat3 A, B;  // axes of the cores
    vec3 a, b;  // arms from the bodies' origins to the middles of the cores
    vec3 ab;    // the origin of a's body from that of b's
} pair_pose;

FN pair_pose pose_of_pair(const touch_shape *a, const touch_shape *b, mat3 Ra, mat3 Rb, vec3 ab)
{
    pair_pose P;
    P.A = mmul(Ra, const33(a->R)), P.B = mmul(Rb, const33(b->R));
    P.a = mul(Ra, const3(a->at)), P.b = mul(Rb, const3(b->at)), P.ab = ab;
    return P;
}

/// The pair with its shapes in the other order.
FN pair_pose swapped_pose(const pair_pose *P)
{
    pair_pose Q;
    Q.A = P->B, Q.B = P->A, Q.a = P->b, Q.b = P->a, Q.ab = opposite(P->ab);
    return Q;
}

typedef enum { ELEMENT_AXES, ELEMENT_POINT_OF_A, ELEMENT_POINT_OF_B, ELEMENT_LINES } element_kind;

/// Which point or line of each core.
typedef struct {
    element_kind kind;
    int a, b;
} pair_element;

/// How many elements there are before the points of b, and before lines.
typedef struct {
    int of_b, lines;
} element_counts;

FN element_counts counts_of(const touch_shape *a, const touch_shape *b)
{
    element_counts c;
    c.of_b = points_of_core(a), c.lines = c.of_b + (a->kind == CORE_POINT ? 0 : points_of_core(b));
    return c;
}

FN pair_element element_at(const touch_shape *a, const touch_shape *b, int element)
{
    const element_counts c = counts_of(a, b);
    pair_element e;
    e.kind = ELEMENT_AXES, e.a = e.b = 0;
    if (b->kind <= CORE_SEGMENT) return e;
    if (touch_once(a, b)) {
        e.kind = a->kind == CORE_POINT || a->kind == CORE_ELLIPSOID ? ELEMENT_POINT_OF_A : ELEMENT_POINT_OF_B;
    } else if (element < c.of_b) {
        e.kind = ELEMENT_POINT_OF_A, e.a = element;
    } else if (element < c.lines) {
        e.kind = ELEMENT_POINT_OF_B, e.b = element - c.of_b;
    } else {
        const int lines = lines_of_core(b), k = element - c.lines;
        e.kind = ELEMENT_LINES, e.a = k / lines, e.b = k % lines;
    }
    return e;
}

FN real clamped(real x, real most)
{
    const real least = negate(most);
    return sel(gt(x, most), most, sel(lt(x, least), least, x));
}

/// n: from b to a; ra, rb: arms from the bodies' origins to the nearest points.
typedef struct {
    vec3 ea, eb, n, ra, rb;
    real d, inverse;   // n.(X_a - X_b), and 1/d, which signed distances have no use for: 0
    real along, over;  // ea.eb, 1/|ea x eb|^2; parallel: 0
    real ua, ub;       // where on the lines from their middles
    mask parallel;
} two_lines;

/// What does not depend on how the lines end. n: ea x eb. Returns X_a - X_b at the middles.
FN vec3 lines_begin(const core_line *a, const core_line *b, const pair_pose *P, two_lines *t)
{
    const real one = rset(1), o = rset(0);
    t->ea = a->way, t->eb = b->way, t->n = cross(a->way, b->way);
    t->ra = add(P->a, a->at), t->rb = add(P->b, b->at);
    const real sine2 = dot(t->n, t->n);
    t->parallel = le(sine2, rset(1e-12));
    t->over = sel(t->parallel, o, one / sel(t->parallel, one, sine2)), t->along = dot(a->way, b->way);
    return sub(add(t->ra, P->ab), t->rb);
}

/// Which way is outwards, from b to a: that of the edges; of two axes, from one to the other, s.
FN vec3 outward_of_lines(const core_line *a, const core_line *b, vec3 s) { return a->edge || b->edge ? sub(b->out, a->out) : s; }

/// Lines that cross. toward: to which side n is turned, so that its sign stays in a step; NULL: outwards.
FN two_lines crossing_lines(const core_line *a, const core_line *b, const pair_pose *P, const vec3 *toward)
{
    two_lines t;
    const vec3 s = lines_begin(a, b, P, &t), outward = outward_of_lines(a, b, s);
    const real sa = dot(s, t.ea), sb = dot(s, t.eb), turned = sign_of(dot(t.n, toward ? *toward : outward));
    t.ua = fmadd(t.along, sb, negate(sa)) * t.over, t.ub = fnmadd(t.along, sa, sb) * t.over;
    t.n = sel3(t.parallel, P->A.x, scale(t.n, turned * root(t.over)));
    t.d = dot(t.n, s), t.inverse = rset(0), t.ra = add_scaled(t.ra, t.ea, t.ua), t.rb = add_scaled(t.rb, t.eb, t.ub);
    return t;
}

/// Two axes, with their ends. Parallel ones meet in the middle of where they are beside each other.
FN two_lines ended_lines(const core_line *a, const core_line *b, const pair_pose *P)
{
    two_lines t;
    const vec3 s = lines_begin(a, b, P, &t);
    const real sa = dot(s, t.ea), sb = dot(s, t.eb), ha = rset(a->half), hb = rset(b->half), o = rset(0);
    const real beside = rset(0.5) * (clamped(negate(sa) - hb, ha) + clamped(hb - sa, ha));
    t.ua = clamped(sel(t.parallel, beside, fmadd(t.along, sb, negate(sa)) * t.over), ha);
    t.ub = clamped(fmadd(t.along, t.ua, sb), hb);
    t.ua = clamped(fmadd(t.along, t.ub, negate(sa)), ha);
    const vec3 off = sub_scaled(add_scaled(s, t.ea, t.ua), t.eb, t.ub);
    t.d = root(dot(off, off));
    const mask apart = gt(t.d, o);
    const vec3 across = sel3(t.parallel, P->A.x, scale(t.n, root(t.over)));
    t.inverse = sel(apart, rset(1) / sel(apart, t.d, rset(1)), o), t.n = sel3(apart, scale(off, t.inverse), across);
    t.ra = add_scaled(t.ra, t.ea, t.ua), t.rb = add_scaled(t.rb, t.eb, t.ub);
    return t;
}

FN two_lines lines_at(const touch_shape *a, const touch_shape *b, pair_element e, const pair_pose *P, const vec3 *toward)
{
    const core_line la = turned_line(P->A, line_of_core(a, e.a)), lb = turned_line(P->B, line_of_core(b, e.b));
    return crossing_lines(&la, &lb, P, toward);
}

/// The axes of a point or segment each.
FN two_lines axes_at(const touch_shape *a, const touch_shape *b, const pair_pose *P)
{
    const core_line la = turned_line(P->A, line_of_core(a, 0)), lb = turned_line(P->B, line_of_core(b, 0));
    return ended_lines(&la, &lb, P);
}

#endif
