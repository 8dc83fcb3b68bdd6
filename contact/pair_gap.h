/// How far two shapes are from each other, element by element, and how that changes as their bodies move.
///
/// A shape is what lies within a radius of its core (contact/touch_core.h). The gap of an element is the distance of something on
/// the core of a from something on that of b, less both radii; n is its gradient by a's place.
///
///     a               b                 elements
///     point, segment  point, segment    the nearest points of the cores
///     point           any other         the point at the core of b
///     any             ellipsoid         the nearest of the balls that it is made of, at the core of the other
///     any             any other         points of a at the core of b, points of b at the core of a, lines of a at lines of b
///
/// Points of rims and balls of ellipsoids slide (contact/sliding_point.h).
///
/// *A point at a core* has the signed distance of contact/surface.h. With y where it is for the one whose core it is, the motions
/// (w, v) of both bodies make
///
///     y -> r + w_a x r_a + v_a - w_b x r - v_b + (w_a x (w_a x r_a + v_a) + w_b x (w_b x r + v_b))/2 - w_b x (w_a x r_a + v_a)
///
/// in b's axes, r_a and r the arms of the point from the bodies' origins: the second derivative is J'HJ and n times these terms.
///
/// *Lines* (contact/pair_lines.h) have the ways e_a, e_b, and X_a, X_b are their nearest points. With E = [e_a, -e_b] of what may
/// slide, G = (E'E)^-1, and with the rows r = [(e_a x n).w_a; -(e_b x n).w_b] (pairs.md 1, where E is across n)
///
///     gap'' = J' (1 - nn' - EGE')/d J + C(r_a, n) + C(r_b, -n) - J'EG r - r'GE'J - d r'G r
///
/// C the curvature of a point (forces/body_loads.h). Where both slide EGE' = 1 - nn', so that nothing is divided by d.
#ifndef CATENA_PAIR_GAP_H
#define CATENA_PAIR_GAP_H

#include "contact/pair_weight.h"
#include "contact/sliding_point.h"
#include "dynamics/articulated.h"
#include "forces/body_loads.h"

typedef struct {
    real gap;
    vec3 n;       // from b to a
    vec3 ra, rb;  // arms from the bodies' origins to the nearest points of the cores
} pair_gap;

/// The second derivative of a gap by the motions (w, v) of a and b about their bodies' origins; world axes, symmetric chart. The
/// last four are the rows of a by those of b.
typedef struct {
    inertia6 aa, bb;
    mat3 ww, wv, vw, vv;
} pair_bend;

// ---- gaps

FN pair_gap gap_of_point(const touch_shape *a, const touch_shape *b, int k, const pair_pose *P)
{
    const core_point p = point_at_core(a, b, k, P, NULL);
    pair_gap g;
    g.n = p.n, g.ra = sub_scaled(p.arm, p.n, p.ball), g.rb = sub_scaled(add(p.arm, P->ab), p.n, p.d);
    g.gap = p.d - p.ball - rset(a->radius + b->radius);
    return g;
}

KERNEL pair_gap gap_at(const touch_shape *a, const touch_shape *b, int element, const pair_pose *P, const vec3 *toward)
{
    const pair_element e = element_at(a, b, element);
    if (e.kind == ELEMENT_POINT_OF_A) return gap_of_point(a, b, e.a, P);
    pair_gap g;
    if (e.kind == ELEMENT_POINT_OF_B) {
        const pair_pose Q = swapped_pose(P);
        const pair_gap s = gap_of_point(b, a, e.b, &Q);
        g.gap = s.gap, g.n = opposite(s.n), g.ra = s.rb, g.rb = s.ra;
        return g;
    }
    const two_lines t = e.kind == ELEMENT_LINES ? lines_at(a, b, e, P, toward) : axes_at(a, b, P);
    const double of_a = e.kind == ELEMENT_LINES ? line_of_core(a, e.a).wide : 0,
                 of_b = e.kind == ELEMENT_LINES ? line_of_core(b, e.b).wide : 0;
    g.gap = t.d - rset(of_a + of_b + a->radius + b->radius), g.n = t.n;
    g.ra = sub_scaled(t.ra, t.n, rset(of_a)), g.rb = add_scaled(t.rb, t.n, rset(of_b));
    return g;
}

// ---- second derivatives

/// a b'
FN mat3 dyad(vec3 a, vec3 b)
{
    mat3 D;
    D.x = scale(a, b.x), D.y = scale(a, b.y), D.z = scale(a, b.z);
    return D;
}

/// Where it is 0 in all lanes.
FN bool is_flat_at(const sym3 *H)
{
    const real o = rset(0), *const x = &H->xx;
    mask bent = none_of();
    for (int k = 0; k < 6; k++) bent = either(bent, gt(magnitude(x[k]), o));
    return !any_of(bent);
}

/// J'HJ of the difference of two points at the ends of the arms, and the curvature that comes of n at one and `at_b` at the
/// other.
FN pair_bend bend_of_points(vec3 ra, vec3 rb, sym3 H, vec3 n, vec3 at_b)
{
    const real o = rset(0), half = rset(-0.5);
    pair_bend b;
    inertia6 P = inertia_zero();
    if (is_flat_at(&H)) {  // faces, and edges that cross
        b.aa = inertia_add_rigid(P, point_curvature(ra, n), scale(n, half), o);
        b.bb = inertia_add_rigid(P, point_curvature(rb, at_b), scale(at_b, half), o);
        b.ww = b.wv = b.vw = b.vv = P.B;
        return b;
    }
    P.D = H;
    b.aa = inertia_add_rigid(inertia_shift(P, ra), point_curvature(ra, n), scale(n, half), o);
    b.bb = inertia_add_rigid(inertia_shift(P, rb), point_curvature(rb, at_b), scale(at_b, half), o);
    const mat3 full = sym_full(H), by_a = skew_times(ra, full);
    b.ww = times_skew(by_a, rb), b.wv = mat3_scale(by_a, rset(-1)), b.vw = times_skew(full, rb),
    b.vv = mat3_scale(full, rset(-1));
    return b;
}

/// That of a point of a's body, with its arm, at the surface of b, where H is of the distance in world axes.
FN pair_bend point_bend(vec3 arm, vec3 n, sym3 H, const pair_pose *P)
{
    const real o = rset(0);
    pair_bend s = bend_of_points(arm, add(arm, P->ab), H, n, n);
    mat3 N;  // -[n]x
    N.x = vec(o, negate(n.z), n.y), N.y = vec(n.z, o, negate(n.x)), N.z = vec(negate(n.y), n.x, o);
    s.vw = mat3_add(s.vw, N), s.ww = mat3_add(s.ww, skew_times(arm, N));
    return s;
}

/// -r r' of the row r by which the gradient of the gap changes as the point with the arm slides by w on a.
FN void bend_less_slide(pair_bend *s, vec3 arm, vec3 n, sym3 H, vec3 w, const pair_pose *P)
{
    const real less = rset(-1);
    const vec3 f = smul(H, w), turn = cross(w, n), of_a = cross_add(turn, arm, f), of_b = cross_add(turn, add(arm, P->ab), f);
    sym_add_dyad(&s->aa.A, of_a, less), sym_add_dyad(&s->aa.D, f, less);
    sym_add_dyad(&s->bb.A, of_b, less), sym_add_dyad(&s->bb.D, f, less);
    s->aa.B = mat3_add_scaled(s->aa.B, dyad(of_a, f), less), s->bb.B = mat3_add_scaled(s->bb.B, dyad(of_b, f), less);
    s->ww = mat3_add(s->ww, dyad(of_a, of_b)), s->wv = mat3_add(s->wv, dyad(of_a, f));
    s->vw = mat3_add(s->vw, dyad(f, of_b)), s->vv = mat3_add(s->vv, dyad(f, f));
}

FN pair_bend bend_of_point(const touch_shape *a, const touch_shape *b, int k, const pair_pose *P)
{
    sym3 H;
    const core_point p = point_at_core(a, b, k, P, &H);
    pair_bend s = point_bend(p.arm, p.n, H, P);
    for (int i = 0; i < 2 && points_slide(a); i++) bend_less_slide(&s, p.arm, p.n, H, p.slide[i], P);
    return s;
}

FN pair_bend swapped_bend(pair_bend s)
{
    pair_bend b;
    b.aa = s.bb, b.bb = s.aa, b.ww = transposed(s.ww), b.wv = transposed(s.vw), b.vw = transposed(s.wv), b.vv = transposed(s.vv);
    return b;
}

/// slides_a, slides_b: whether the nearest point may slide along that line.
FN pair_bend lines_bend(const two_lines *t, mask slides_a, mask slides_b)
{
    const real o = rset(0), one = rset(1);
    const mask two = both(slides_a, slides_b);
    // of parallel lines the pseudo-inverse
    const mask beside = both(two, lt(rset(1e9), t->over)), flat = both(two, either(t->parallel, beside)),
               crossed = both(two, not_(flat));
    const real quarter = rset(0.25), alone = sel(crossed, t->over, sel(flat, quarter, one));
    const real aa = sel(slides_a, alone, o), bb = sel(slides_b, alone, o);
    const real ab = sel(crossed, t->along * t->over, sel(flat, negate(t->along * quarter), o));
    const real k = sel(crossed, o, t->inverse), d = t->d;
    sym3 H = sym_diagonal(k, k, k);
    sym_add_dyad(&H, t->n, negate(k)), sym_add_dyad(&H, t->ea, negate(sel(slides_a, k, o)));
    sym_add_dyad(&H, t->eb, negate(sel(both(slides_b, not_(slides_a)), k, o)));
    pair_bend b = bend_of_points(t->ra, t->rb, H, t->n, opposite(t->n));
    const vec3 ta = cross(t->ea, t->n), tb = cross(t->eb, t->n);
    const vec3 p = sub_scaled(scale(t->ea, aa), t->eb, ab), q = sub_scaled(scale(t->ea, ab), t->eb, bb);  // E G
    const vec3 pa = cross(t->ra, p), qa = cross(t->ra, q), pb = cross(t->rb, p), qb = cross(t->rb, q);
    b.aa.A = sym_less_pair(b.aa.A, pa, ta), b.bb.A = sym_less_pair(b.bb.A, qb, tb);
    sym_add_dyad(&b.aa.A, ta, negate(d * aa)), sym_add_dyad(&b.bb.A, tb, negate(d * bb));
    b.aa.B = mat3_add_scaled(b.aa.B, dyad(ta, p), rset(-1)), b.bb.B = mat3_add_scaled(b.bb.B, dyad(tb, q), rset(-1));
    b.ww = mat3_add(mat3_add(b.ww, mat3_add(dyad(qa, tb), dyad(ta, pb))), mat3_scale(dyad(ta, tb), d * ab));
    b.wv = mat3_add(b.wv, dyad(ta, p)), b.vw = mat3_add(b.vw, dyad(q, tb));
    return b;
}

/// As gap_at().
KERNEL pair_bend pair_bend_at(const touch_shape *a, const touch_shape *b, int element, const pair_pose *P, const vec3 *toward)
{
    const pair_element e = element_at(a, b, element);
    const mask always = not_(none_of());
    if (e.kind == ELEMENT_POINT_OF_A) return bend_of_point(a, b, e.a, P);
    if (e.kind == ELEMENT_POINT_OF_B) {
        const pair_pose Q = swapped_pose(P);
        return swapped_bend(bend_of_point(b, a, e.b, &Q));
    }
    if (e.kind == ELEMENT_LINES) {
        const two_lines t = lines_at(a, b, e, P, toward);
        return lines_bend(&t, always, always);
    }
    const two_lines t = axes_at(a, b, P);
    return lines_bend(&t, lt(magnitude(t.ua), rset(length_of_core(a))), lt(magnitude(t.ub), rset(length_of_core(b))));
}

#endif
