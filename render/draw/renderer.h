/// Draws lists of instances into pictures, with the OpenGL context that is current.
#ifndef CATENA_RENDER_RENDERER_H
#define CATENA_RENDER_RENDERER_H

#include "render/draw/camera.h"
#include "render/draw/instances.h"
#include "render/draw/lines.h"
#include "render/draw/text.h"

typedef struct renderer renderer;

/// What is around the bodies.
typedef struct scenery {
    double center[3], radius;  // m, of the ball that casts shadows on the ground
    double floor;              // m, height of the ground; not finite: none
} scenery;

/// What is drawn over and about the bodies; NULL: nothing.
typedef struct overlay {
    const line_list *lines;
    const label_list *labels;
    double scale;  // of widths, letters and their shifts, where pixels are finer than usual; 0: 1
} overlay;

/// Pictures of width x height pixels, at least 1 x 1. NULL: CTN_UNAVAILABLE (the driver refuses a shader or a framebuffer, in
/// words), CTN_NO_MEMORY.
renderer *renderer_create(int width, int height, ctn_error *err);
void renderer_free(renderer *r);  // NULL is allowed; with the context that it was made in

/// The scene's own kinds of body, as scene_shapes_meshes has them, in place of those it had; copied. CTN_NO_MEMORY.
ctn_status renderer_set_meshes(renderer *r, const mesh *meshes, int count, ctn_error *err);

/// How many triangles the bodies of the last picture had, without their shadows.
size_t renderer_triangles(const renderer *r);

/// Pictures are of another size from now on. CTN_BAD_ARGUMENT: larger than this OpenGL can draw, with nothing changed;
/// CTN_UNAVAILABLE.
ctn_status renderer_resize(renderer *r, int width, int height, ctn_error *err);

/// Draws a picture that stays in the renderer until the next one; `over` may be NULL. CTN_NO_MEMORY; CTN_BAD_ARGUMENT for kinds
/// of body that are not there.
ctn_status renderer_paint(renderer *r, const instance_list *bodies, const render_camera *camera, const scenery *around,
                          const overlay *over, ctn_error *err);

/// The picture painted last: into `rgb` [height][width][3], the top row first; CTN_UNAVAILABLE if OpenGL reports an error, a lost
/// context among them; CTN_NO_MEMORY if letters are missing in it. And into the window whose context is current, which has its
/// size.
ctn_status renderer_read(const renderer *r, uint8_t *rgb, ctn_error *err);
void renderer_show(const renderer *r);

/// As renderer_read, what the window shows, with what else was drawn into it.
ctn_status renderer_read_window(const renderer *r, uint8_t *rgb, ctn_error *err);

/// CTN_UNAVAILABLE if OpenGL has reported an error, a lost context among them.
ctn_status renderer_check(ctn_error *err);

/// renderer_paint and renderer_read.
ctn_status renderer_draw(renderer *r, const instance_list *bodies, const render_camera *camera, const scenery *around,
                         const overlay *over, uint8_t *rgb, ctn_error *err);

/// The id of the body seen at each pixel, 0: none, into ids [height][width], the top row first.
ctn_status renderer_ids(renderer *r, const instance_list *bodies, const render_camera *camera, uint32_t *ids, ctn_error *err);

/// The id of the body seen nearest to pixel x, y (counted from the upper left corner), at most `reach` (up to 16) away, 0: none,
/// and how far it is from the camera: z of camera_unproject.
ctn_status renderer_pick(renderer *r, const instance_list *bodies, const render_camera *camera, int x, int y, int reach,
                         uint32_t *id, double *depth, ctn_error *err);

#endif
