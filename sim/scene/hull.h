/// The convex hull of a mesh, as contact points ask for distances from it (contact/hull.h).
#ifndef CATENA_SIM_HULL_H
#define CATENA_SIM_HULL_H

#include <catena/status.h>
#include "sim/scene/mesh.h"

enum {
    HULL_MOST_CORNERS = 10000,
    HULL_MANY_FACES = 1000,  // of which a distance takes long
};

typedef struct mesh_hull {
    double middle[3], bound;  // m, file axes; of a ball about the middle that has all of it
    double within;            // m, of a ball in it, about the middle or the centre of mass; a millionth of the other at least
    int corners, faces, groups, count;
    double *numbers;  // [count] of contact/hull.h, about the middle; to be freed
} mesh_hull;

/// The hull of the vertices of a mesh, each unit of which is `scale` m along each axis. CTN_BAD_SCENE with a reason, after "the
/// hull "; CTN_NO_MEMORY. Vertices within 1e-10 of its size of the hull do not become corners.
ctn_status hull_of_mesh(mesh_hull *hull, const mesh_surface *mesh, const double scale[3], char reason[128]);

#endif
