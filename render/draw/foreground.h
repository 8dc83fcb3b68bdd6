/// The foreground of a picture: where there is more than sky and ground.
#ifndef CATENA_RENDER_FOREGROUND_H
#define CATENA_RENDER_FOREGROUND_H

#include "render/draw/bodies.h"
#include "render/draw/lines.h"
#include "render/draw/shadows.h"

/// Pixels from the left and from the lower edge; from `left` and `low` on, up to before `right` and `high`.
typedef struct picture_part {
    int left, low, right, high;
} picture_part;

/// The part of a picture of width x height outside of which there is no body, no shadow on the ground (at height `floor`, m) and
/// no line; these (may be NULL) are `scale` times as wide as they say. All of it where that cannot be told: what is beside the
/// camera or behind it, lines on the picture.
picture_part picture_foreground(const instance_list *bodies, const shadows *s, double floor, const line_list *lines, float scale,
                                const sight *from, int width, int height);

#endif
