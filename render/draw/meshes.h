/// The unit bodies, and surfaces out of files, as triangles.
#ifndef CATENA_RENDER_MESHES_H
#define CATENA_RENDER_MESHES_H

#include "sim/scene/mesh.h"

#include <stddef.h>
#include <stdint.h>

/// Unit bodies: ball of radius 1, box of half lengths 1, cylinder of radius 1 along z; the round ends of a capsule are a ball cut
/// at z = 0. From MESHES on: surfaces out of files, as high as wide as deep as the box.
typedef enum mesh_kind { MESH_BALL, MESH_BOX, MESH_CYLINDER, MESH_CAPSULE, MESHES } mesh_kind;

enum { MESH_LEVELS = 5 };  // of detail, from the finest on

/// `side`: +1, -1: moved along z by half the axis; 0: not.
typedef struct mesh_vertex {
    float position[3], normal[3], side;
} mesh_vertex;

typedef struct mesh {
    mesh_vertex *vertices;
    uint32_t *indices;
    size_t nvertex, nindex;
    double shape[3];  // of a surface: its half lengths over the largest one, as which its normals are stretched
} mesh;

/// Counter-clockwise triangles seen from outside of a unit body, to be freed with mesh_free; without vertices: no memory.
mesh mesh_create(mesh_kind kind, int level);

/// The coarsest level at which a body whose largest radius is seen as `pixels` is drawn to a quarter of a pixel, a surface to
/// cells of half a pixel. Boxes have one level.
int mesh_level(mesh_kind kind, double pixels);

/// A surface moved and stretched into the unit box: it is back where it was by `center` and, along its axes, `half`. Edges
/// sharper than 35 degrees stay sharp. One with a flaw has a back, so that it is seen from both sides. Without vertices: no
/// memory.
mesh mesh_of_surface(const mesh_surface *surface, double center[3], double half[3]);

/// How many cells a surface has along its longest side at a level above 0.
int mesh_cells(int level);

/// A surface at a level above 0, made of that at the one before: what lies in one cell becomes one vertex, with a normal for each
/// of six directions. It stays as it is where much would vanish that is thinner than a cell. Without vertices: no memory.
mesh mesh_coarsen(const mesh *finer, int level);

void mesh_free(mesh *m);

#endif
