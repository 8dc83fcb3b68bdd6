/// Rounded points of shapes that are not made of a few: cylinders, ellipsoids and meshes.
#ifndef CATENA_SOLID_POINTS_H
#define CATENA_SOLID_POINTS_H

#include "sim/scene/scene.h"

/// A ball of a shape, in its link's frame, m.
typedef struct rounded_point {
    double at[3], radius;
} rounded_point;

enum {
    RIM_POINTS = 16,  // of each end of a cylinder
    ELLIPSOID_RINGS = 3,
    RING_POINTS = 12,
    ELLIPSOID_POINTS = 1 + ELLIPSOID_RINGS * RING_POINTS,
};

/// Corners around both ends, 2 RIM_POINTS. Returns how many.
int cylinder_points(const scene_shape *s, rounded_point *to);

/// Which of them is across the middle from k.
int opposite_on_cylinder(int k);

/// Balls that fill it, at most ELLIPSOID_POINTS: 1 of a sphere, a row of one that is round about its longest axis. Returns how
/// many.
int ellipsoid_points(const scene_shape *s, rounded_point *to);

/// Corners of the convex hull of a mesh: of those that are the farthest in MOST_MESH_POINTS directions, one after the other the one
/// that sticks out by the most from those before. `asked` of them; 0: until none sticks out by more than 0.03 of the mesh's size, at
/// most MESH_POINTS. Returns how many; 0: it could not be read.
int mesh_points(const scene_shape *s, int asked, rounded_point *to);

#endif
