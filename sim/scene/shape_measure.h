/// What a fluid meets of shapes: their volumes, surfaces and axes as points with weights.
#ifndef CATENA_SIM_SHAPE_MEASURE_H
#define CATENA_SIM_SHAPE_MEASURE_H

#include "sim/scene/scene.h"

/// Over what a drag acts.
typedef enum shape_part { PART_VOLUME, PART_SURFACE, PART_AXIS, PART_FACES, PART_MASS } shape_part;

/// The size of a part of a body, m^3, m^2 or m, and its moments in link axes: its centroid (m), and the integrals of x_i x_j
/// about that, xx yy zz xy xz yz.
typedef struct part_moments {
    double size, center[3], second[6];
} part_moments;

/// Points that have all the moments of a part up to the second; of an axis and of faces more, as far as they can.
typedef struct part_points {
    int count;
    double weight[4], at[4][3];
} part_points;

/// Why a shape has no such part, to stand after "a sphere ": NULL, it has one.
const char *part_lacks(const scene_shape *shape, shape_part part);

/// The moments of a volume or a surface that the shape has; those of a link's mass.
part_moments shape_moments(const scene_shape *shape, shape_part part);
part_moments link_mass_moments(const scene_link *link);

/// Several parts as one.
part_moments combine_parts(const part_moments *parts, int n);

/// Points with the moments of a volume or a surface; of the axis of a capsule or cylinder, whose unit vector goes to `axis`: 2, or
/// 4, which integrate cubes, too; of the two faces of a box across its axis k.
part_points points_of(const part_moments *m);
part_points points_of_axis(const scene_shape *shape, int count, double axis[3]);
part_points points_of_faces(const scene_shape *box, int k, double axis[3]);

/// The part of the volume's moments that a body carries along in a fluid that slips off it: what turns about the longest axes, less
/// the least, so that a ball turns freely.
void carried_moments(const part_moments *volume, double second[6]);

#endif
