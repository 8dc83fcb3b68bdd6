/// The cores of shapes that touch each other (dynamics/between.h): points and lines that stand for them, and how far a point is
/// from them.
///
///     core        points                  lines               distance of a point
///     point       it                                          sphere
///     segment     both ends               itself              capsule
///     box         8 corners               12 edges            box
///     cylinder    of both rims            its axis, as wide   cylinder
///                                         as it is
///     ellipsoid   the nearest ball                            ellipsoid
///     hull        corners                 edges               hull
///
/// Points of rims and the ball of an ellipsoid slide (contact/sliding_point.h). Lengths are from the middle of the core, in its
/// axes.
#ifndef CATENA_TOUCH_CORE_H
#define CATENA_TOUCH_CORE_H

#include "contact/pair_elements.h"
#include "contact/surface.h"

FN vec3 row_of_axes(unsigned i, double x) { return vec(rset(i == 0 ? x : 0), rset(i == 1 ? x : 0), rset(i == 2 ? x : 0)); }
FN double side(int bit) { return bit ? 1 : -1; }
FN double length_of_core(const touch_shape *s) { return s->kind == CORE_SEGMENT || s->kind == CORE_CYLINDER ? s->half[2] : 0; }

FN const double *point_numbers(const touch_shape *s) { return s->numbers + s->count; }
FN const double *edge_numbers(const touch_shape *s) { return point_numbers(s) + s->points * POINT_NUMBERS; }
FN const double *face_numbers(const touch_shape *s) { return edge_numbers(s) + s->edges * EDGE_NUMBERS; }

/// Point k.
FN vec3 point_of_core(const touch_shape *s, int k)
{
    const double *const half = s->half;
    switch (s->kind) {
    case CORE_POINT: return zero3();
    case CORE_SEGMENT: return vec(rset(0), rset(0), rset(side(k & 1) * half[2]));
    case CORE_BOX: return vec(rset(side(k & 1) * half[0]), rset(side(k & 2) * half[1]), rset(side(k & 4) * half[2]));
    default: return const3(point_numbers(s) + k * POINT_NUMBERS);
    }
}

/// A line: its middle, its direction, half its length, and how far around it the core is. Of an edge which way out of each of
/// both faces it is along their planes, and out of the core: normals there are between those of the faces, where they have
/// neither way back.
typedef struct {
    vec3 at, way, across[2], out;
    double half, wide;
    bool edge;
} core_line;

/// Line k. Edges of a box are along axis k / 4.
FN core_line line_of_core(const touch_shape *s, int k)
{
    core_line l;
    l.wide = 0, l.edge = s->kind == CORE_BOX || s->kind == CORE_HULL;
    if (s->kind == CORE_BOX) {
        const unsigned axis = (unsigned)k / 4, i = (axis + 1) % 3, j = (axis + 2) % 3;
        const double x = side(k & 1), y = side(k & 2), half = 0.70710678118654752;
        l.way = row_of_axes(axis, 1), l.half = s->half[axis], l.across[0] = row_of_axes(i, x), l.across[1] = row_of_axes(j, y);
        l.at = add(row_of_axes(i, x * s->half[i]), row_of_axes(j, y * s->half[j]));
        l.out = add(row_of_axes(i, x * half), row_of_axes(j, y * half));
    } else if (s->kind == CORE_HULL) {
        const double *const edge = edge_numbers(s) + k * EDGE_NUMBERS;
        l.at = const3(edge), l.way = const3(edge + 3), l.half = edge[6];
        l.across[0] = const3(edge + 7), l.across[1] = const3(edge + 10), l.out = const3(edge + 13);
    } else {
        l.at = l.across[0] = l.across[1] = l.out = zero3(), l.way = row_of_axes(2, 1), l.half = length_of_core(s);
        if (s->kind == CORE_CYLINDER) l.wide = s->half[0];
    }
    return l;
}

FN core_line turned_line(mat3 R, core_line l)
{
    l.at = mul(R, l.at), l.way = mul(R, l.way);
    if (l.edge) l.across[0] = mul(R, l.across[0]), l.across[1] = mul(R, l.across[1]), l.out = mul(R, l.out);
    return l;
}

/// The normal of face k; *at: n.x there.
FN vec3 face_of_core(const touch_shape *s, int k, double *at)
{
    if (s->kind == CORE_HULL) {
        const double *const face = face_numbers(s) + k * FACE_NUMBERS;
        *at = face[3];
        return const3(face);
    }
    const unsigned axis = s->kind == CORE_BOX ? (unsigned)k / 2 : 2;
    *at = s->half[axis];
    return row_of_axes(axis, side(k & 1));
}

/// The largest n.x of the core; n is a unit vector.
FN real reach_of_core(const touch_shape *s, vec3 n)
{
    const real o = rset(0), x = magnitude(n.x), y = magnitude(n.y), z = magnitude(n.z);
    const double *const half = s->half;
    real most = o;
    switch (s->kind) {
    case CORE_POINT: break;
    case CORE_SEGMENT: most = z * rset(half[2]); break;
    case CORE_BOX: most = fmadd(z, rset(half[2]), fmadd(y, rset(half[1]), x * rset(half[0]))); break;
    case CORE_CYLINDER: most = fmadd(z, rset(half[2]), root(fmadd(y, y, x * x)) * rset(half[0])); break;
    case CORE_ELLIPSOID: {
        const vec3 e = vec(x * rset(half[0]), y * rset(half[1]), z * rset(half[2]));
        most = root(dot(e, e));
        break;
    }
    case CORE_HULL:
        most = rset(-1e30);  // its middle may be outside
        for (int k = 0; k < s->points; k++) {
            const real d = dot(n, point_of_core(s, k));
            most = sel(gt(d, most), d, most);
        }
    }
    return most;
}

/// How a point y stands at the core; H: takes the second derivative, may be NULL.
KERNEL surface_point at_core(const touch_shape *s, vec3 y, sym3 *H)
{
    fixed_surface f;
    f.kind = s->kind == CORE_POINT       ? SURFACE_SPHERE
             : s->kind == CORE_SEGMENT   ? SURFACE_CAPSULE
             : s->kind == CORE_BOX       ? SURFACE_BOX
             : s->kind == CORE_CYLINDER  ? SURFACE_CYLINDER
             : s->kind == CORE_ELLIPSOID ? SURFACE_ELLIPSOID
                                         : SURFACE_HULL;
    for (int i = 0; i < 3; i++) f.half[i] = s->half[i];
    if (s->kind == CORE_POINT) f.half[2] = 0;
    f.radius = s->kind == CORE_CYLINDER ? s->half[0] : 0, f.bound = s->bound;
    f.faces = s->faces, f.groups = s->groups, f.count = s->count, f.numbers = s->numbers;
    return at_solid(&f, y, H);
}

#endif
