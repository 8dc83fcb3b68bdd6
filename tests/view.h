/// What the tests of pictures share: an OpenGL context with a renderer, scenes as instances.
#ifndef CATENA_TESTS_VIEW_H
#define CATENA_TESTS_VIEW_H

#include "render/draw/context.h"
#include "render/draw/renderer.h"

#include <catena/catena.h>

enum { WIDTH = 320, HEIGHT = 200, PIXELS = WIDTH * HEIGHT };

/// Made by set_up_pen, a fixture, and gone with tear_down_pen.
extern renderer *pen;
void set_up_pen(void);
void tear_down_pen(void);

/// A scene at some coordinates, as instances, with the pen's meshes set to its own. The camera is on the orbit.
typedef struct view {
    ctn_scene *scene;
    ctn_model *model;
    ctn_dynamics *dyn;
    double *q, *R, *p;  // [nq] and the poses of its links there; at first those of the initial state
    scene_shapes *shapes;
    instance_list bodies;
    scene_extent extent;
    camera_orbit orbit;
    render_camera camera;
    scenery around;
} view;

/// Of a scene of scenes/, by its name; of a text, whose meshes are in tests/meshes.
view open_view(const char *name);
view parse_view(const char *text);
void close_view(view *v);

/// Computes the poses of v->q, and places the bodies there.
void view_moved(view *v);

/// Whether there is OpenGL, for machine_has.
bool pen_is_there(ctn_error *err);

#endif
