/// The unit bodies as triangles.
#ifndef CATENA_RENDER_MESHES_H
#define CATENA_RENDER_MESHES_H

#include "render/instances.h"

/// `side`: +1, -1: moved along z by half the axis; 0: not.
typedef struct mesh_vertex {
    float position[3], normal[3], side;
} mesh_vertex;

typedef struct mesh {
    mesh_vertex *vertices;
    uint16_t *indices;
    size_t nvertex, nindex;
} mesh;

/// Counter-clockwise triangles seen from outside, to be freed with mesh_free; without vertices: no memory.
mesh mesh_create(mesh_kind kind);
void mesh_free(mesh *m);

#endif
