/// Of how many elements a pair of shapes is made (contact/pair_gap.h), and of how many numbers the core of a shape. Plain C.
#ifndef CATENA_PAIR_ELEMENTS_H
#define CATENA_PAIR_ELEMENTS_H

#include "dynamics/between.h"

#ifdef __CUDACC__
#define PLAIN_FN static inline __host__ __device__
#else
#define PLAIN_FN static inline __attribute__((unused))
#endif

/// Of an edge: its middle, its direction, half its length, which way out of each of both
/// faces it is along their planes, and out of the core, between both normals. Of a face: its normal n, n.x on its plane, and
/// where its sides are among the numbers of contact/hull.h.
enum { POINT_NUMBERS = 3, EDGE_NUMBERS = 16, FACE_NUMBERS = 5 };

PLAIN_FN int numbers_of_core(const touch_shape *s)
{
    return s->count + s->points * POINT_NUMBERS + s->edges * EDGE_NUMBERS + s->faces * FACE_NUMBERS;
}

enum { MOST_CORE_LINES = 378 };  // edges of a hull of 128 corners

/// Points that stand for the core where it touches another one: ends, corners, points of rims, the nearest ball.
PLAIN_FN int points_of_core(const touch_shape *s)
{
    return s->kind == CORE_POINT || s->kind == CORE_ELLIPSOID ? 1
           : s->kind == CORE_SEGMENT                          ? 2
           : s->kind == CORE_BOX                              ? 8
                                                              : s->points;
}

/// Its edges, or its axis.
PLAIN_FN int lines_of_core(const touch_shape *s)
{
    return s->kind == CORE_BOX ? 12 : s->kind == CORE_HULL ? s->edges : s->kind == CORE_SEGMENT || s->kind == CORE_CYLINDER;
}

/// Its faces, as far as they are flat.
PLAIN_FN int faces_of_core(const touch_shape *s)
{
    return s->kind == CORE_BOX ? 6 : s->kind == CORE_CYLINDER ? 2 : s->kind == CORE_HULL ? s->faces : 0;
}

/// An ellipsoid touches anything at one place (contact/sliding_point.h).
PLAIN_FN bool touch_once(const touch_shape *a, const touch_shape *b)
{
    return b->kind <= CORE_SEGMENT || a->kind == CORE_ELLIPSOID || b->kind == CORE_ELLIPSOID;
}

/// Lines of a at lines of b.
PLAIN_FN int lines_between(const touch_shape *a, const touch_shape *b)
{
    return touch_once(a, b) ? 0 : lines_of_core(a) * lines_of_core(b);
}

/// The kind of a's core is not after that of b's.
PLAIN_FN int elements_of(const touch_shape *a, const touch_shape *b)
{
    if (touch_once(a, b)) return 1;
    return points_of_core(a) + (a->kind == CORE_POINT ? 0 : points_of_core(b)) + lines_between(a, b);
}

#endif
