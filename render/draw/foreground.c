/// Bounds of what is drawn, in clip coordinates: balls about bodies, corners of the rows that shadows reach, points of lines.
#include "render/draw/foreground.h"

#include <math.h>

enum { MARGIN = 4 };  // pixels: bodies are drawn at least so wide, as are edges

/// In units of half the picture, from its middle.
typedef struct bounds {
    float from[2], to[2];
    bool all;
} bounds;

static void add(bounds *b, int axis, float low, float high)
{
    b->from[axis] = fminf(b->from[axis], low), b->to[axis] = fmaxf(b->to[axis], high);
}

/// A ball, whose clip coordinates x, y and w change by no more than the lengths of their rows a metre.
static void add_ball(bounds *b, const float m[16], const float steep[2], const float p[3], float reach)
{
    const float w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15], near = w - reach, far = w + reach;
    if (!(near > 0.01f * far)) {
        b->all = true;
        return;
    }
    for (int i = 0; i < 2; i++) {
        const float x = m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i], low = x - steep[i] * reach,
                    high = x + steep[i] * reach;
        add(b, i, low / (low < 0 ? near : far), high / (high > 0 ? near : far));
    }
}

static void add_bodies(bounds *b, const instance_list *bodies, const float m[16])
{
    float steep[2];
    for (int i = 0; i < 2; i++) steep[i] = sqrtf(m[i] * m[i] + m[4 + i] * m[4 + i] + m[8 + i] * m[8 + i]);
    for (int kind = 0; kind < bodies->kinds; kind++)
        for (size_t n = 0; n < bodies->count[kind] && !b->all; n++) {
            const render_instance *const x = &bodies->of[kind][n];
            const float thick = sqrtf(x->scale[0] * x->scale[0] + x->scale[1] * x->scale[1] + x->scale[2] * x->scale[2]);
            add_ball(b, m, steep, x->position, thick + x->half);
        }
}

/// What a row of the map has on the ground: the same corners as the shader's (shaders.h).
static void add_rows(bounds *b, const shadows *s, float floor, const float m[16])
{
    const float *const l = s->light.m, turn = l[0] * l[5] - l[4] * l[1];
    static const float steep[2] = {0};
    for (int k = 0; k < SHADOW_ROWS && isfinite(floor) && !b->all; k++) {
        if (!(s->rows[k][0] < s->rows[k][1])) continue;
        for (int corner = 0; corner < 4; corner++) {
            const float x = s->rows[k][corner & 1] - l[12] - l[8] * floor,
                        y = s->span[0] + ((float)k + (corner >> 1 ? 1.01f : -0.01f)) * s->span[1] - l[13] - l[9] * floor;
            const float at[3] = {(l[5] * x - l[4] * y) / turn, (l[0] * y - l[1] * x) / turn, floor};
            add_ball(b, m, steep, at, 0);
        }
    }
}

static void add_lines(bounds *b, const line_list *lines, float scale, const float m[16], const int size[2])
{
    static const float steep[2] = {0};
    float widest = 0;
    for (size_t n = 0; n < lines->count && !b->all; n++) {
        const line_point *const p = &lines->of[n];
        if (p->hidden == LINE_ON_PICTURE) b->all = true;
        else add_ball(b, m, steep, p->position, 0);
        widest = fmaxf(widest, scale * p->width);
    }
    for (int i = 0; i < 2; i++) b->from[i] -= widest / (float)size[i], b->to[i] += widest / (float)size[i];
}

picture_part picture_foreground(const instance_list *bodies, const shadows *s, double floor, const line_list *lines, float scale,
                                const sight *from, int width, int height)
{
    const int size[2] = {width, height};
    bounds b = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, false};
    add_bodies(&b, bodies, from->clip.m);
    add_rows(&b, s, (float)floor, from->clip.m);
    if (lines) add_lines(&b, lines, scale, from->clip.m, size);
    int low[2] = {0}, high[2] = {width, height};
    for (int i = 0; i < 2 && !b.all; i++) {
        const float first = (0.5f + 0.5f * fmaxf(b.from[i], -1)) * (float)size[i] - MARGIN,
                    last = (0.5f + 0.5f * fminf(b.to[i], 1)) * (float)size[i] + MARGIN;
        low[i] = (int)fminf(fmaxf(0, floorf(first)), (float)size[i]), high[i] = (int)fmaxf(fminf((float)size[i], ceilf(last)), 0);
        if (!(low[i] < high[i])) low[i] = high[i] = 0;
    }
    return (picture_part){low[0], low[1], high[0], high[1]};
}
