/// Bodies in OpenGL's memory: every kind at its levels of detail, and the instances of a picture. With the context that is
/// current.
#ifndef CATENA_RENDER_BODIES_H
#define CATENA_RENDER_BODIES_H

#include "render/draw/camera.h"
#include "render/draw/instances.h"

/// A kind of body at one level, and those that are drawn of it.
typedef struct body {
    unsigned vao, vertices, indices, instances;
    int index_count;
    size_t room, count;  // bytes of `instances`; instances of the picture
} body;

/// All zeros: none.
typedef struct body_store {
    body *bodies;  // [kinds][MESH_LEVELS]
    int kinds;
    render_instance *sorted;  // [most] of one kind by their levels
    uint8_t *levels;          // [most]
    size_t most;
} body_store;

/// From where pictures are taken, and how large a pixel is at distance 1.
typedef struct sight {
    const double *eye;
    double pixel;
    matrix4 clip;
} sight;

/// The unit bodies. False: no memory; bodies_free is due in any case.
bool bodies_create(body_store *s);
void bodies_free(body_store *s);

/// The scene's own kinds, from MESHES on, in place of those it had. CTN_NO_MEMORY.
ctn_status bodies_set_meshes(body_store *s, const mesh *meshes, int count, ctn_error *err);

/// Sends the instances of a picture, each to the level that its size on it asks for. CTN_NO_MEMORY, CTN_BAD_ARGUMENT for kinds
/// that are not there.
ctn_status bodies_send(body_store *s, const instance_list *list, const sight *from, ctn_error *err);

/// Draws what was sent, with the program that is in use.
void bodies_draw(const body_store *s);

/// How many triangles that is.
size_t bodies_triangles(const body_store *s);

#endif
