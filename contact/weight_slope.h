/// How the weight of an element (contact/pair_weight.h) changes as the body of a moves by (w, v) and that of b rests: as a wrench about
/// the origin of a's body, whose product with the motion that is.
///
/// With s from b's line to a's and the ways e_a, e_b, sines, places along lines, and arcs go by
///
///     d(e_a.e_b) = w.(e_a x e_b),    d(s.e_a) = v.e_a + w.(r_a x e_a + e_a x s),    dn = (1 - nn') ((w x e_a) x e_b)/|e_a x e_b|
///
/// and distances along a normal n by n, at the point of a, or of b, that is the nearest.
#ifndef CATENA_WEIGHT_SLOPE_H
#define CATENA_WEIGHT_SLOPE_H

#include "contact/pair_gap.h"
#include "contact/pair_weight.h"
#include "dynamics/articulated.h"
#include "forces/body_loads.h"

FN wrench add_slope(wrench sum, wrench g, real k)
{
    sum.n = add_scaled(sum.n, g.n, k), sum.f = add_scaled(sum.f, g.f, k);
    return sum;
}
FN wrench slope_times(wrench g, real k) { return add_slope(wrench_zero(), g, k); }
FN wrench turn_slope_of(vec3 n)
{
    wrench g;
    g.n = n, g.f = zero3();
    return g;
}
FN wrench sel_slope(mask where, wrench x, wrench y)
{
    x.n = sel3(where, x.n, y.n), x.f = sel3(where, x.f, y.f);
    return x;
}

/// Of smooth_step().
FN real step_slope(real x)
{
    const real o = rset(0), one = rset(1);
    return sel(both(gt(x, o), lt(x, one)), rset(6) * x * (one - x), o);
}

/// The point of a core that is the farthest along n, its axes.
KERNEL vec3 end_of_core(const touch_shape *s, vec3 n)
{
    const double *const half = s->half;
    const real o = rset(0), one = rset(1);
    switch (s->kind) {
    case CORE_POINT: return zero3();
    case CORE_SEGMENT: return vec(o, o, sign_of(n.z) * rset(half[2]));
    case CORE_BOX: return vec(sign_of(n.x) * rset(half[0]), sign_of(n.y) * rset(half[1]), sign_of(n.z) * rset(half[2]));
    case CORE_CYLINDER: {
        const real across = root(fmadd(n.y, n.y, n.x * n.x)), k = rset(half[0]) / sel(gt(across, o), across, one);
        return vec(n.x * k, n.y * k, sign_of(n.z) * rset(half[2]));
    }
    case CORE_ELLIPSOID: {
        const vec3 e = vec(n.x * rset(half[0]), n.y * rset(half[1]), n.z * rset(half[2]));
        const real k = one / root(dot(e, e));
        return vec(e.x * rset(half[0]) * k, e.y * rset(half[1]) * k, e.z * rset(half[2]) * k);
    }
    default: break;
    }
    vec3 end = zero3();
    real most = rset(-1e30);
    for (int k = 0; k < s->points; k++) {
        const vec3 x = point_of_core(s, k);
        const real d = dot(n, x);
        end = sel3(gt(d, most), x, end), most = sel(gt(d, most), d, most);
    }
    return end;
}

/// How far cores are apart, as near_elements() has it, and the slope of that.
typedef struct {
    real apart;
    wrench slope;
} apart_with_slope;

KERNEL apart_with_slope apart_and_slope(const touch_shape *a, const touch_shape *b, const pair_pose *P)
{
    const core_plane s = plane_between(a, b, P);
    const vec3 of_b = add(P->a, mul(P->A, end_of_core(a, tmul(P->A, opposite(s.way))))),
               of_a = sub(add(P->b, mul(P->B, end_of_core(b, tmul(P->B, s.way)))), P->ab);
    apart_with_slope d;
    d.apart = s.apart, d.slope = force_at(sel3(s.of_a, of_a, of_b), s.way);
    if (!lines_between(a, b)) return d;
    lines_apart lines;
    d.apart = apart_at(a, b, P, &s, &lines);
    d.slope = sel_slope(lines.best, force_at(lines.arm, lines.n), d.slope);
    return d;
}

/// Of weight_of_lines(). a, b: turned, world axes.
FN wrench slope_of_lines(const core_line *a, const core_line *b, const pair_pose *P, const apart_with_slope *apart, double band)
{
    const real o = rset(0), one = rset(1);
    const double slack = 0.1, window = 0.02 * a->half * b->half;
    const two_lines t = crossing_lines(a, b, P, NULL);
    const vec3 ra = add(P->a, a->at), s = sub(add(ra, P->ab), add(P->b, b->at)), c = cross(t.ea, t.eb);
    const real sa = dot(s, t.ea), sb = dot(s, t.eb), sine2 = sel(t.parallel, o, one / sel(t.parallel, one, t.over));
    const wrench by_along = turn_slope_of(c), by_sine2 = slope_times(by_along, rset(-2) * t.along);
    wrench by_sa = force_at(ra, t.ea);
    const wrench by_sb = force_at(ra, t.eb), by_d = force_at(t.ra, t.n);
    by_sa.n = add(by_sa.n, cross(t.ea, s));
    // places along both lines
    wrench by_ua = slope_times(by_along, sb), by_ub = slope_times(by_along, negate(sa));
    by_ua = add_slope(add_slope(by_ua, by_sb, t.along), by_sa, rset(-1));
    by_ub = add_slope(add_slope(by_ub, by_sa, negate(t.along)), by_sb, one);
    by_ua = slope_times(add_slope(by_ua, by_sine2, negate(t.ua)), t.over);
    by_ub = slope_times(add_slope(by_ub, by_sine2, negate(t.ub)), t.over);
    const real ia = rset(b->half) * (rset(a->half) - magnitude(t.ua)), ib = rset(a->half) * (rset(b->half) - magnitude(t.ub));
    const mask first = lt(ia, ib);
    const real ends = sel(first, ia, ib) * rset(window > 0 ? 1 / window : 0), per = rset(window > 0 ? 1 / window : 0);
    const wrench by_ends = sel_slope(first, slope_times(by_ua, negate(sign_of(t.ua)) * rset(b->half)),
                                     slope_times(by_ub, negate(sign_of(t.ub)) * rset(a->half)));
    const real turned = sine2 * rset(1e4), far = smooth_step(turned), inside = smooth_step(ends);
    const real crossing = far * inside;
    const wrench by_crossing =
        add_slope(slope_times(by_sine2, inside * step_slope(turned) * rset(1e4)), by_ends, far * step_slope(ends) * per);
    if (!a->edge && !b->edge) return by_crossing;
    // arcs of normals
    const real k = dot(t.n, c) * t.over;
    real arc = one;
    wrench by_arc = wrench_zero();
    for (int i = 0; i < 4; i++) {
        const core_line *const l = i < 2 ? b : a;
        if (!l->edge) continue;
        const vec3 u = l->across[i % 2], across = sub_scaled(u, t.n, dot(u, t.n));
        const real x = i < 2 ? dot(t.n, u) : negate(dot(t.n, u));
        vec3 by = scale(cross(t.ea, cross(t.eb, across)), k);
        if (i >= 2) by = opposite(add(by, cross(u, t.n)));
        by_arc = sel_slope(lt(x, arc), turn_slope_of(by), by_arc), arc = sel(lt(x, arc), x, arc);
    }
    const real d = t.d - rset(a->wide + b->wide), nearer = sel(lt(d, apart->apart), d, apart->apart) * rset(1 / band);
    const real beside = fmadd(arc, rset(1 / slack), one), deeper = fmadd(d - apart->apart, rset(1 / band), one);
    const real within = smooth_step(beside), off = smooth_step(nearer), least = smooth_step(deeper), most = upper_of(within, off);
    const wrench by_most =
        sel_slope(gt(within, off), slope_times(by_arc, step_slope(beside) * rset(1 / slack)),
                  slope_times(sel_slope(lt(d, apart->apart), by_d, apart->slope), step_slope(nearer) * rset(1 / band)));
    const wrench by_least = slope_times(add_slope(by_d, apart->slope, rset(-1)), step_slope(deeper) * rset(1 / band));
    return add_slope(add_slope(slope_times(by_crossing, least * most), by_least, crossing * most), by_most, crossing * least);
}

/// What a motion of b makes of something that goes by where both are to each other, from what one of a makes.
FN wrench slope_of_other(wrench a, vec3 ab)
{
    wrench b;
    b.f = opposite(a.f), b.n = opposite(cross_add(a.n, ab, a.f));
    return b;
}

/// Of weight_of_element().
KERNEL wrench weight_slope(const touch_shape *a, const touch_shape *b, int element, const pair_pose *P)
{
    const pair_element e = element_at(a, b, element);
    const double band = weight_band(a, b);
    if (e.kind != ELEMENT_LINES) return wrench_zero();
    const apart_with_slope apart = apart_and_slope(a, b, P);
    const core_line la = turned_line(P->A, line_of_core(a, e.a)), lb = turned_line(P->B, line_of_core(b, e.b));
    return slope_of_lines(&la, &lb, P, &apart, band);
}

#endif
