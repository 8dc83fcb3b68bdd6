/// How far a point is from a convex polyhedron.
///
/// Inside the gap is the largest distance by a face's plane. Outside, the nearest point is on a face whose plane the point is beyond,
/// as what leads from there to the point is a sum of normals of the faces there: above the face, or at one of the sides that the
/// point is past. Faces farther than what has been found, and those below, are passed over. A point past a side by less than 1e-12
/// of the size still counts as above the face, which has no curvature.
///
/// Faces go in groups whose normals n are alike. With the part a of y along the group's vector c, and b across,
///
///     least(a, a n.c) - |n x c| b  <=  n.y  <=  largest(a, a n.c) + |n x c| b
///
/// bounds the distances by its planes. A ball that has all of it bounds how near it is; as its middle is in the hull, that bounds
/// how far the hull is. Groups that can have no face to be found are passed over. Of faces that are as far the first one counts,
/// whatever the order that they come in.
#ifndef CATENA_HULL_H
#define CATENA_HULL_H

#include "contact/hull_numbers.h"
#include "contact/surface_point.h"
#include "dynamics/lane_model.h"

/// The nearest point of what the search has seen: the square of its distance, where y is from it, and which way the side goes that
/// it is on; 0: it is no such point, but above a face or at a corner.
typedef struct {
    real square;
    vec3 off, along;
} hull_nearest;

/// The nearest point of the sides that y is past; square: 1e30 where it is past none.
FN hull_nearest nearest_side(const double *side, int count, vec3 y, real slack)
{
    const real o = rset(0);
    hull_nearest best;
    best.square = rset(1e30), best.off = best.along = vec(o, o, o);
    for (; count--; side += HULL_SIDE) {
        const vec3 x = sub(y, const3(side)), way = const3(side + 3);
        const real length = rset(side[6]), t = dot(way, x);
        const mask past = gt(dot(const3(side + 7), x), slack), begun = gt(t, o), ended = gt(t, length);
        const vec3 off = sub_scaled(x, way, sel(begun, sel(ended, length, t), o));
        const real square = dot(off, off);
        const mask closer = both(past, lt(square, best.square));
        best.square = sel(closer, square, best.square), best.off = sel3(closer, off, best.off);
        best.along = sel3(closer, sel3(both(begun, not_(ended)), way, vec(o, o, o)), best.along);
    }
    return best;
}

/// Between what the distances of y by the planes of a group are, and a little more on both sides than rounding.
typedef struct {
    real least, most;
} hull_range;

FN hull_range planes_range(const double *group, vec3 y, real slack)
{
    const real o = rset(0), a = dot(const3(group), y), b = root(above_zero(fnmadd(a, a, dot(y, y))));
    const real other = rset(group[3]) * a, swing = fmadd(rset(group[4]), b, slack);
    const mask over = gt(a, o);
    hull_range r;
    r.most = sel(over, a, other) + (swing - rset(group[5])), r.least = sel(over, other, a) - (swing + rset(group[6]));
    return r;
}

/// Where y is above a face, and off all of its sides by more than `off`: then none is nearer, by more than rounding.
FN mask well_above(const double *side, int count, vec3 y, real off)
{
    mask in = not_(none_of());
    for (; count--; side += HULL_SIDE) in = both(in, lt(dot(const3(side + 7), sub(y, const3(side))), negate(off)));
    return in;
}

/// Where a face that begins at `at` comes before the best one in hand: it is nearer by `less`, or as near, `same`, and earlier.
FN mask comes_first(mask less, mask same, real at, real best) { return either(less, both(same, lt(at, best))); }

FN surface_point at_hull(const fixed_surface *f, vec3 y, sym3 *H)
{
    const real o = rset(0), one = rset(1), slack = rset(1e-12 * f->bound), wide = rset(1e-7) * (root(dot(y, y)) + rset(f->bound));
    const double *const groups = f->numbers + (f->count - HULL_GROUP * f->groups - f->faces), *group = groups;
    surface_point s;
    int farthest = 0;  // the face that has been the farthest last; if it is that in all lanes, then for good
    real first = rset(1e30), floor = rset(-1e30), reach = rset(1e30);
    s.gap = rset(-1e30), s.n = vec(one, o, o);
    for (int g = 0; g < f->groups && f->groups > 1; g++, group += HULL_GROUP + (int)group[7]) {
        const vec3 x = sub(y, const3(group + 8));
        const real least = planes_range(group, y, wide).least, square = dot(x, x);
        floor = sel(gt(least, floor), least, floor), reach = sel(lt(square, reach), square, reach);
    }
    group = groups, reach = root(reach) + wide;
    for (int g = 0; g < f->groups; g++, group += HULL_GROUP + (int)group[7]) {
        const real most = planes_range(group, y, wide).most;
        if (f->groups > 1 && !any_of(both(le(s.gap, most), le(floor, most)))) continue;
        for (int k = 0; k < (int)group[7]; k++) {
            const double *const face = f->numbers + (int)group[HULL_GROUP + k];
            const vec3 n = const3(face);
            const real d = dot(n, y) - rset(face[3]), at = rset(group[HULL_GROUP + k]);
            const mask more = comes_first(gt(d, s.gap), le(s.gap, d), at, first);
            if (!any_of(more)) continue;
            s.gap = sel(more, d, s.gap), s.n = sel3(more, n, s.n), first = sel(more, at, first);
            farthest = (int)group[HULL_GROUP + k];
        }
    }
    if (H) *H = sym_diagonal(o, o, o);
    const mask out = gt(s.gap, o);
    const double *const top = f->numbers + farthest;
    mask open = out;
    if (any_of(out)) {
        const mask known = both(le(first, rset(farthest)), le(rset(farthest), first));
        open = both(out, not_(both(known, well_above(top + HULL_FACE, (int)top[4], y, rset(1e4) * wide))));
    }
    if (any_of(open)) {
        hull_nearest best;
        mask flat = not_(none_of());  // until something is found
        best.square = first = rset(1e30), best.off = best.along = vec(o, o, o), group = groups;
        for (int g = 0; g < f->groups; g++, group += HULL_GROUP + (int)group[7]) {
            const vec3 x = sub(y, const3(group + 8));
            reach = sel(lt(best.square, reach * reach), root(best.square) + wide, reach);
            const real ball = rset(group[11]) + reach;
            const mask near = both(le(dot(x, x), ball * ball), gt(planes_range(group, y, wide).most, o));
            if (f->groups > 1 && !any_of(both(out, near))) continue;
            for (int k = 0; k < (int)group[7]; k++) {
                const double *const face = f->numbers + (int)group[HULL_GROUP + k];
                const vec3 n = const3(face);
                const real d = dot(n, y) - rset(face[3]), at = rset(group[HULL_GROUP + k]);
                const mask seen = both(both(out, gt(d, o)), le(d * d, best.square));
                if (!any_of(seen)) continue;
                const hull_nearest side = nearest_side(face + HULL_FACE, (int)face[4], y, slack);
                const mask above = not_(lt(side.square, rset(1e30)));
                const real square = sel(above, d * d, side.square);
                const mask closer = both(seen, comes_first(lt(square, best.square), le(square, best.square), at, first));
                const mask here = both(closer, above);
                best.square = sel(closer, square, best.square), best.off = sel3(closer, side.off, best.off);
                best.along = sel3(closer, side.along, best.along), first = sel(closer, at, first);
                flat = either(both(flat, not_(closer)), here);
                s.gap = sel(here, d, s.gap), s.n = sel3(here, n, s.n);
            }
        }
        const mask bent = both(not_(flat), gt(best.square, o));
        const real d = root(best.square), k = sel(bent, one / sel(bent, d, one), o);
        s.gap = sel(bent, d, s.gap), s.n = sel3(bent, scale(best.off, k), s.n);
        if (H) {
            *H = sym_diagonal(k, k, k);
            sym_add_dyad(H, best.along, negate(k)), sym_add_dyad(H, sel3(bent, s.n, vec(o, o, o)), negate(k));
        }
    }
    s.face = s.n;
    return s;
}

#endif
