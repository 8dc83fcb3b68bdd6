/// What a fluid meets of shapes: their volumes, surfaces and axes as points with weights.
#ifndef CATENA_SIM_SHAPE_MEASURE_H
#define CATENA_SIM_SHAPE_MEASURE_H

#include "sim/scene/scene.h"

/// Over what a drag acts.
typedef enum shape_part { PART_VOLUME, PART_SURFACE, PART_AXIS } shape_part;

/// The size of a part of a body, m^3, m^2 or m, and its moments in link axes: its centroid (m), and the integrals of x_i x_j
/// about that, xx yy zz xy xz yz.
typedef struct part_moments {
    double size, center[3], second[6];
} part_moments;

/// Points of equal weights that have all the moments of a part up to the second: 4, or 2 of an axis.
typedef struct part_points {
    int count;
    double weight, at[4][3];
} part_points;

/// Why a shape has no such part, to stand after "a sphere ": NULL, it has one.
const char *part_lacks(const scene_shape *shape, shape_part part);

/// The moments of a part that the shape has.
part_moments shape_moments(const scene_shape *shape, shape_part part);

/// Several parts as one.
part_moments combine_parts(const part_moments *parts, int n);

/// Points with the moments of a volume or a surface; of the axis of a capsule or cylinder, whose unit vector goes to `axis`.
part_points points_of(const part_moments *m);
part_points points_of_axis(const scene_shape *shape, double axis[3]);

#endif
