/// Palette, scale and circle of colours, and the legend of the scale.
#include "render/draw/colors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void color_palette(int k, float *rgb)
{
    static const float paint[][3] = {{0.90f, 0.56f, 0.25f}, {0.35f, 0.62f, 0.82f}, {0.85f, 0.80f, 0.45f},
                                     {0.55f, 0.72f, 0.45f}, {0.80f, 0.45f, 0.50f}, {0.62f, 0.55f, 0.80f}};
    memcpy(rgb, paint[(size_t)k % (sizeof paint / sizeof *paint)], 3 * sizeof *rgb);
}

void color_scale(double x, float *rgb)
{
    // viridis [van der Walt and Smith 2015] at eighths
    static const unsigned char at[][3] = {{68, 1, 84},    {71, 45, 123}, {59, 82, 139},  {44, 114, 142}, {33, 145, 140},
                                          {40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37}};
    enum { PARTS = sizeof at / sizeof *at - 1 };
    const double place = (x > 0 ? (x < 1 ? x : 1) : 0) * PARTS;
    const int k = place < PARTS ? (int)place : PARTS - 1;
    for (int c = 0; c < 3; c++) rgb[c] = (float)((at[k][c] + (place - k) * (at[k + 1][c] - at[k][c])) / 255);
}

void color_hue(double share, float *rgb)
{
    for (int c = 0; c < 3; c++) {  // three triangles, a third of a turn apart
        const double turn = share + (3 - c) / 3.0, far = fabs(turn - floor(turn) - 0.5);
        rgb[c] = (float)(0.25 + 0.70 * fmin(fmax(6 * far - 1, 0), 1));
    }
}

void color_shade(float *rgb)
{
    const bool bright = 0.2126f * rgb[0] + 0.7152f * rgb[1] + 0.0722f * rgb[2] > 0.3f;
    for (int c = 0; c < 3; c++) rgb[c] = bright ? 0.8f * rgb[c] : rgb[c] + 0.12f * (1 - rgb[c]);
}

/// All links alike, every other one along a branch in another shade. Parents come before their children.
static void color_alternately(const float *color, const ctn_model *model, float (*rgb)[3])
{
    float shade[3];
    memcpy(shade, color, sizeof shade), color_shade(shade);
    for (int i = 0; i < ctn_model_nlink(model); i++) {
        const int parent = ctn_model_link(model, i)->parent;
        memcpy(rgb[i], parent >= 0 && memcmp(rgb[parent], shade, sizeof shade) ? shade : color, sizeof shade);
    }
}

const float (*color_links(const link_paint *how, const ctn_model *model, float (*rgb)[3]))[3]
{
    static const float grey[3] = {0.5f, 0.5f, 0.5f};
    float hue[3];
    if (how->by == COLORS_SCENE && !how->frozen) return NULL;
    color_hue(how->share, hue);
    if (how->frozen || how->by == COLORS_WORLD) color_alternately(how->frozen ? grey : hue, model, rgb);
    else
        for (int i = 0; i < ctn_model_nlink(model); i++) {
            if (how->by == COLORS_LINK) color_palette(i, rgb[i]);
            else color_scale(how->most_energy > 0 ? how->energy[i] / how->most_energy : 0, rgb[i]);
        }
    return (const float(*)[3])rgb;
}

void link_energies(const ctn_model *model, const double *mass_scale, const double *R, const double *twist, double *energy)
{
    for (int i = 0; i < ctn_model_nlink(model); i++) {
        const ctn_link *const l = ctn_model_link(model, i);
        const double *const Ri = R + 9 * (size_t)i, *const w = twist + 6 * (size_t)i, *const v = w + 3, *const J = l->inertia;
        double c[3], u[3];  // in the world: from origin to centre of mass; in link axes: angular velocity
        for (int k = 0; k < 3; k++) {
            c[k] = Ri[3 * k] * l->com[0] + Ri[3 * k + 1] * l->com[1] + Ri[3 * k + 2] * l->com[2];
            u[k] = Ri[k] * w[0] + Ri[3 + k] * w[1] + Ri[6 + k] * w[2];
        }
        const double s[3] = {v[0] + w[1] * c[2] - w[2] * c[1], v[1] + w[2] * c[0] - w[0] * c[2],
                             v[2] + w[0] * c[1] - w[1] * c[0]};
        const double turning = J[0] * u[0] * u[0] + J[1] * u[1] * u[1] + J[2] * u[2] * u[2] +
                               2 * (J[3] * u[0] * u[1] + J[4] * u[0] * u[2] + J[5] * u[1] * u[2]);
        energy[i] = 0.5 * (l->mass * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) + turning) * (mass_scale ? mass_scale[i] : 1);
    }
}

bool legend_place(const char *title, double most, int width, int height, float size, line_list *lines, label_list *labels)
{
    enum { PARTS = 32, NUMBERS = 3 };
    const float margin = size, bar = 0.8f * size, apart = 0.4f * size, room = label_margin(size), right = (float)width - margin;
    const float x = right - bar / 2, low = (float)height - margin - 0.5f * size;
    float wide, title_high, number_high = 0;
    text_size(NULL, title, size, right - margin, &wide, &title_high);
    char numbers[NUMBERS][24];
    for (int k = 0; k < NUMBERS; k++) {
        float number;
        snprintf(numbers[k], sizeof numbers[k], "%.3g", most * k / (NUMBERS - 1));
        text_size(NULL, numbers[k], size, 0, &number, &number_high);
        wide = fmaxf(wide, number + apart + bar);
    }
    // the title stands over the upper number, and all of it in the lower half of the picture, about
    const float over = title_high + number_high / 2 + 2 * room;
    const float high = fmaxf(fminf(9 * size, 0.6f * (float)height - 1.5f * size - over), 2 * size);
    const float top = low - high, middle = right - wide / 2;
    const line_point plate[2] = {
        {{middle, top - over + room / 2, 0}, wide + 2 * room, {0.05f, 0.06f, 0.08f, TEXT_PLATE}, 0, LINE_ON_PICTURE},
        {{middle, low + number_high / 2 + room / 2, 0}, wide + 2 * room, {0.05f, 0.06f, 0.08f, TEXT_PLATE}, 0, LINE_ON_PICTURE}};
    line_point points[PARTS + 1];
    for (int k = 0; k <= PARTS; k++) {
        points[k] = (line_point){{x, low - high * (float)k / PARTS, 0}, bar, {0, 0, 0, 1}, 0, LINE_ON_PICTURE};
        color_scale((double)k / PARTS, points[k].color);
    }
    if (!line_list_add(lines, plate, 2) || !line_list_add(lines, points, PARTS + 1)) return false;
    for (int k = 0; k < NUMBERS; k++) {
        const label number = {.position = {x - bar / 2 - apart, low - high * (float)k / (NUMBERS - 1), 0},
                              .align = {1, 0.5f},
                              .size = size,
                              .color = {1, 1, 1}};
        if (!label_list_add(labels, &number, "%s", numbers[k])) return false;
    }
    const label head = {.position = {right, top - number_high / 2 - room, 0},
                        .align = {1, 1},
                        .size = size,
                        .color = {1, 1, 1},
                        .width = right - margin};
    return label_list_add(labels, &head, "%s", title);
}
