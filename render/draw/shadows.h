/// The shadows of a picture: what keeps the sun away, as a map of depths, and the rows of it where there is anything at all.
#ifndef CATENA_RENDER_SHADOWS_H
#define CATENA_RENDER_SHADOWS_H

#include "render/draw/bodies.h"
#include "render/draw/renderer.h"
#include "render/draw/shaders.h"

enum { SHADOW_ROWS = GLSL_SHADOW_ROWS };

/// All zeros: none.
typedef struct shadows {
    unsigned program, map, frame;
    int size;                    // pixels, of the map's sides
    double to_sun[3];            // unit vector
    double radius;               // m, of the ball that the map shows
    matrix4 light;               // to the map's clip coordinates
    float span[2];               // clip coordinates: where rows begin, and how high they are
    float rows[SHADOW_ROWS][2];  // from, to: shadows may be there; outside all is lit
} shadows;

/// CTN_UNAVAILABLE without a program; shadows_free is due in any case.
bool shadows_create(shadows *s, ctn_error *err);
void shadows_free(shadows *s);

/// As fine a map as a picture of this size asks for. False: OpenGL refuses it.
bool shadows_fit(shadows *s, int width, int height, ctn_error *err);

/// Turns the map to these bodies.
void shadows_aim(shadows *s, const instance_list *bodies, const scenery *around);

/// Draws the map of the bodies that were sent, and binds it as texture 0. The framebuffer is another one after it.
void shadows_draw(const shadows *s, const body_store *bodies);

/// Gives a program with GLSL_LIGHT, which is put to use, the light; and one with `rows` those.
void shadows_give(const shadows *s, unsigned program);

#endif
