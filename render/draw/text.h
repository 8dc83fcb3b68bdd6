/// Text on pictures: labels at pixels, or at points in space.
#ifndef CATENA_RENDER_TEXT_H
#define CATENA_RENDER_TEXT_H

#include "render/draw/camera.h"

#include <catena/status.h>
#include <stdbool.h>
#include <stddef.h>

/// Where a text stands, and how.
typedef struct label {
    bool in_space;
    float position[3];  // in space: m; else pixels from the left and from the upper edge of the picture, 0
    float shift[2];     // pixels to the right and down from there
    float align[2];     // which point of the text is there: 0, 0 its upper left corner, 1, 1 the lower right one
    float size;         // pixels: the em; lines are 1.16 times as far apart
    float color[3];     // 0 to 1, sRGB
    float width;  // pixels: longer lines go on in the next one, from a space on if there is one; 0: they may have any length
    bool below;   // position[1] is from the lower edge of the label before on
    float plate;  // 0 to 1: opacity of a dark plate behind the text, so that it can be read on what is light
    size_t text;  // set by label_list_add
} label;

#define TEXT_PLATE 0.6f  // on which white text can be read before white

/// Labels in the order in which they are drawn. Zero is an empty one.
typedef struct label_list {
    label *of;
    size_t count, room;
    char *letters;
    size_t letter_count, letter_room;
} label_list;

/// White, small, on a faint plate, its lower middle at a point in space (m).
label label_over(const double *at);

/// Appends a text in UTF-8, made as by printf; \n begins a line. Bytes that are none stand as U+FFFD. False: no memory, nothing
/// is appended.
bool label_list_add(label_list *l, const label *how, const char *format, ...) __attribute__((format(printf, 3, 4)));
void label_list_clear(label_list *l);
void label_list_free(label_list *l);

/// Room about a text of this size that its plate covers, pixels.
float label_margin(float size);

/// Draws lists, with the OpenGL context that is current; keeps the letters that it has drawn.
typedef struct text_pen text_pen;

/// NULL: CTN_UNAVAILABLE, CTN_NO_MEMORY.
text_pen *text_pen_create(ctn_error *err);
void text_pen_free(text_pen *pen);  // NULL is allowed; with the context that it was made in

/// Width of the widest line and height of all lines of a text whose lines may be `most` wide (0: any width), pixels. It needs no
/// pen: NULL.
void text_size(const text_pen *pen, const char *text, float size, float most, float *width, float *height);

/// Into the framebuffer that is bound, width x height pixels. `clip` is the camera's; what is behind it is not drawn. Labels in
/// space that would cover others go up or down by some lines. Sizes and shifts are `scale` times what they say. False: some
/// letters are missing, as there is no room for them.
bool text_pen_draw(text_pen *pen, const label_list *labels, const matrix4 *clip, int width, int height, float scale);

#endif
