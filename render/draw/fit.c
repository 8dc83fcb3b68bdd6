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

static bool is_round(int kind) { return kind == MESH_BALL || kind == MESH_CYLINDER || kind == MESH_CAPSULE; }

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

void fit_bodies(const instance_list *bodies, const double *from, double most, camera_fit *fit)
{
    for (int kind = 0; kind < bodies->kinds; kind++) {
        for (size_t n = 0; n < bodies->count[kind]; n++) {
            const render_instance *const b = &bodies->of[kind][n];
            if (!b->id && !(b->fade > 0)) continue;  // it is fixed: of no link, and no ghost
            const double way[3] = {b->position[0] - from[0], b->position[1] - from[1], b->position[2] - from[2]};
            if (vector_length(way) <= most) fit_body(b, is_round(kind), from, fit);
        }
    }
}

// ---- what links may touch

static const double PART = 0.5;  // of the radius of links: how far around the nearest point what is larger is in sight

static bool is_in_reach(const scene_reach *r, const double *point)
{
    double d[3], along = 0;
    for (int k = 0; k < 3; k++) d[k] = point[k] - r->from[k], along += d[k] * r->down[k];
    if (along > 0)
        for (int k = 0; k < 3; k++) d[k] -= (1 - 1 / r->fall) * along * r->down[k];
    return vector_length(d) <= r->reach;
}

/// The point of a box about the middle, with sides of 2 half, that is nearest to one.
static void nearest(const double *half, const double *to, double *x)
{
    for (int k = 0; k < 3; k++) x[k] = fmin(fmax(to[k], -half[k]), half[k]);
}

/// A point of the world in the axes of a body, or back.
static void to_body(const render_instance *b, const double *point, double *x)
{
    for (int k = 0; k < 3; k++) {
        x[k] = 0;
        for (int i = 0; i < 3; i++) x[k] += b->rotation[3 * i + k] * (point[i] - b->position[i]);
    }
}

static void to_world(const render_instance *b, const double *x, double *point)
{
    for (int i = 0; i < 3; i++) {
        point[i] = b->position[i];
        for (int k = 0; k < 3; k++) point[i] += b->rotation[3 * i + k] * x[k];
    }
}

/// Of an obstacle that is larger than the links are together, as the box that it lies in: the corners of what is about the point
/// nearest to them, drawn in to where they are no farther from it.
static void fit_part(const render_instance *b, const double *half, const scene_reach *r, const double *from, camera_fit *fit)
{
    const double size = PART * r->radius;
    double center[3], middle[3];
    to_body(b, r->center, center), nearest(half, center, middle);
    for (int corner = 0; corner < 8; corner++) {
        double d[3];
        for (int k = 0; k < 3; k++)
            d[k] = (corner & 1 << k ? fmin(middle[k] + size, half[k]) : fmax(middle[k] - size, -half[k])) - middle[k];
        const double in = fmin(1, size / fmax(vector_length(d), 1e-300));
        for (int k = 0; k < 3; k++) d[k] = middle[k] + in * d[k];
        fit_point(b, d, 0, from, fit);
    }
}

static void fit_obstacle(const render_instance *b, int kind, const scene_reach *r, const double *from, camera_fit *fit)
{
    const double half[3] = {b->scale[0], b->scale[1], b->half + (kind == MESH_CYLINDER ? 0 : b->scale[2])};
    double root[3], near[3];
    to_body(b, r->from, root), nearest(half, root, near), to_world(b, near, root);
    if (!is_in_reach(r, root)) return;
    if (fmax(half[0], fmax(half[1], half[2])) <= r->radius) fit_body(b, is_round(kind), from, fit);
    else fit_part(b, half, r, from, fit);
}

/// A disc on the ground under the links.
static void fit_ground(const scene_reach *r, const double *from, camera_fit *fit)
{
    enum { CORNERS = 8 };
    double foot[3], across[3], up[3];
    const double over = vector_dot(r->normal, r->from) - r->height, here = vector_dot(r->normal, r->center) - r->height;
    for (int k = 0; k < 3; k++) foot[k] = r->from[k] - over * r->normal[k];
    if (!is_in_reach(r, foot)) return;
    vector_frame(r->normal, across, up);
    for (int n = 0; n < CORNERS; n++) {
        const double a = 2 * M_PI * n / CORNERS, x = PART * r->radius * cos(a), y = PART * r->radius * sin(a);
        double at[3];
        for (int k = 0; k < 3; k++) at[k] = r->center[k] - here * r->normal[k] + x * across[k] + y * up[k] - from[k];
        camera_fit_ball(fit, at, 0);
    }
}

void fit_surroundings(const instance_list *fixed, const scene_reach *r, const double *shift, const double *from, camera_fit *fit)
{
    scene_reach there = *r;  // as seen by obstacles, which are where they were
    double seen[3];
    for (int k = 0; k < 3; k++) there.center[k] -= shift[k], there.from[k] -= shift[k], seen[k] = from[k] - shift[k];
    for (int kind = 0; kind < fixed->kinds; kind++)
        for (size_t n = 0; n < fixed->count[kind]; n++) fit_obstacle(&fixed->of[kind][n], kind, &there, seen, fit);
    if (r->ground) fit_ground(r, from, fit);
}
