/// Draws lists of instances into pictures, with the OpenGL context that is current.
#ifndef CATENA_RENDER_RENDERER_H
#define CATENA_RENDER_RENDERER_H

#include "render/camera.h"
#include "render/instances.h"

typedef struct renderer renderer;

/// What is around the bodies.
typedef struct scenery {
    double center[3], radius;  // m, of the ball that casts shadows on the ground
    double floor;              // m, height of the ground
} scenery;

/// Pictures of width x height pixels, at least 1 x 1. NULL: CTN_UNAVAILABLE (the driver refuses a shader or a framebuffer, in words),
/// CTN_NO_MEMORY.
renderer *renderer_create(int width, int height, ctn_error *err);
void renderer_free(renderer *r);  // NULL is allowed; with the context that it was made in

/// The scene's own kinds of body, as scene_shapes_meshes has them, in place of those it had; copied. CTN_NO_MEMORY.
ctn_status renderer_set_meshes(renderer *r, const mesh *meshes, int count, ctn_error *err);

/// How many triangles the bodies of the last picture had, without their shadows.
size_t renderer_triangles(const renderer *r);

/// Draws a picture into `rgb` [height][width][3], the top row first. CTN_UNAVAILABLE if OpenGL reports an error, a lost context among
/// them.
ctn_status renderer_draw(renderer *r, const instance_list *bodies, const render_camera *camera, const scenery *around,
                         uint8_t *rgb, ctn_error *err);

/// The id of the body seen at each pixel, 0: none, into ids [height][width], the top row first.
ctn_status renderer_ids(renderer *r, const instance_list *bodies, const render_camera *camera, uint32_t *ids, ctn_error *err);

#endif
