/// Cores of cylinders, ellipsoids and meshes, as they touch other links (contact/touch_core.h).
#ifndef CATENA_CORE_NUMBERS_H
#define CATENA_CORE_NUMBERS_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// Fills the kind, pose and numbers of `to` for a cylinder, an ellipsoid or a mesh, with all lengths in the link's frame, m. A cylinder
/// is as large with its radius of rounding as it is without, and must be larger than that; a hull and an ellipsoid grow by it. A mesh is
/// the convex hull of `points` of its corners (sim/model/solid_points.h), or of as many as make it fine. Its numbers are to.numbers,
/// [numbers_of_core()], to be freed by the caller, NULL where this fails: CTN_NO_MEMORY, or CTN_BAD_SCENE with a reason, after
/// "the hull ".
ctn_status make_core(const scene_shape *shape, double radius, int points, touch_shape *to, char reason[128]);

/// The same of the convex hull of points [count][3], in the link's frame, all of whose corners count.
ctn_status make_hull_core(double (*points)[3], int count, double radius, touch_shape *to, char reason[128]);

#endif
