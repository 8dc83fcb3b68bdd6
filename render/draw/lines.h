/// Lines as wide as so many pixels, at places in space or on the picture.
#ifndef CATENA_RENDER_LINES_H
#define CATENA_RENDER_LINES_H

#include "render/draw/camera.h"

#include <catena/status.h>
#include <stdbool.h>
#include <stddef.h>

/// A point of a line. Position, width and color vary from one point to the next; `hidden` and `thickness` are the first one's.
typedef struct line_point {
    float position[3];  // m; on the picture: pixels from its left and from its upper edge, 0
    float width;        // pixels, > 0
    float color[4];     // 0 to 1, sRGB; opacity
    float thickness;    // m: no wider than this, so that it shrinks when it is far away; 0: as wide everywhere
    float hidden;       // share of the opacity where bodies are in front: 0 hides it, 1 draws it over them. LINE_ON_PICTURE
} line_point;

#define LINE_ON_PICTURE (-1.0f)

/// Lines in the order in which they are drawn. Zero is an empty one.
typedef struct line_list {
    line_point *of;
    size_t count, room;
} line_list;

/// Appends the line through points [count]; a single one is a disc as wide as it says. False: no memory, nothing is appended.
bool line_list_add(line_list *l, const line_point *points, size_t count);
void line_list_clear(line_list *l);
void line_list_free(line_list *l);

/// Draws lists, with the OpenGL context that is current.
typedef struct line_pen line_pen;

/// NULL: CTN_UNAVAILABLE, CTN_NO_MEMORY.
line_pen *line_pen_create(ctn_error *err);
void line_pen_free(line_pen *pen);  // NULL is allowed; with the context that it was made in

/// Into the framebuffer that is bound, width x height pixels, whose depths hide lines and stay as they are. `clip` is the
/// camera's; lines are `scale` times as wide as they say.
void line_pen_draw(line_pen *pen, const line_list *lines, const matrix4 *clip, int width, int height, float scale);

#endif
