/// Bodies as balls that are in sight when they are.
#include "render/draw/fit.h"

#include "render/draw/vectors.h"

#include <math.h>

/// A point d of a body's own axes, relative to `from`.
static void fit_point(const render_instance *b, const double *d, double radius, const double *from, camera_fit *fit)
{
    double x[3];
    for (int i = 0; i < 3; i++) {
        const float *const row = b->rotation + 3 * i;
        x[i] = b->position[i] + row[0] * d[0] + row[1] * d[1] + row[2] * d[2] - from[i];
    }
    camera_fit_ball(fit, x, radius);
}

/// Round bodies lie within a ball at either end, others between their corners.
static void fit_body(const render_instance *b, bool round, const double *from, camera_fit *fit)
{
    for (int end = -1; end <= 1 && round; end += 2) {
        const double d[3] = {0, 0, end * b->half};
        fit_point(b, d, fmax(b->scale[0], fmax(b->scale[1], b->scale[2])), from, fit);
    }
    for (int corner = 0; corner < 8 && !round; corner++) {
        double d[3];
        for (int k = 0; k < 3; k++) d[k] = corner & 1 << k ? b->scale[k] : -b->scale[k];
        fit_point(b, d, 0, from, fit);
    }
}

static bool is_round(int kind) { return kind == MESH_BALL || kind == MESH_CYLINDER || kind == MESH_CAPSULE; }

void fit_surroundings(const instance_list *fixed, const scene_extent *extent, const double *from, camera_fit *fit)
{
    for (int kind = 0; kind < fixed->kinds; kind++)
        for (size_t n = 0; n < fixed->count[kind]; n++) {
            const render_instance *const b = &fixed->of[kind][n];
            const double scale[3] = {b->scale[0], b->scale[1], b->scale[2]}, size = vector_length(scale) + b->half;
            double way[3];
            for (int k = 0; k < 3; k++) way[k] = b->position[k] - extent->center[k];
            if (size <= 2 * extent->radius && vector_length(way) <= 3 * extent->radius + size) fit_body(b, is_round(kind), from, fit);
        }
    const double below[3] = {extent->center[0] - from[0], extent->center[1] - from[1], extent->floor - from[2]};
    if (fabs(extent->center[2] - extent->floor) <= 3 * extent->radius) camera_fit_ball(fit, below, 0);
}

void fit_bodies(const instance_list *bodies, const double *from, double most, camera_fit *fit)
{
    for (int kind = 0; kind < bodies->kinds; kind++) {
        const bool round = is_round(kind);
        for (size_t n = 0; n < bodies->count[kind]; n++) {
            const render_instance *const b = &bodies->of[kind][n];
            const double way[3] = {b->position[0] - from[0], b->position[1] - from[1], b->position[2] - from[2]};
            if (vector_length(way) <= most) fit_body(b, round, from, fit);
        }
    }
}
