/// What points touch besides the ground, as kernels read it: poses of obstacles, and the spline of the terrain.
#include "sim/model/surfaces.h"

#include "sim/model/model.h"

#include "dynamics/lane_scalar.h"

#include "contact/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int count_surfaces(const ctn_scene *scene)
{
    return scene->contact.ground + scene->contact.nobstacle + (scene->contact.terrain.columns > 0);
}

int next_surface(const ctn_scene *scene, const scene_shape *shape, int k)
{
    const scene_contact *const c = &scene->contact;
    if (k < 1 && c->ground && c->layers & shape->layers) return 0;
    for (k = k < 1 ? 1 : k; k <= c->nobstacle; k++)
        if (c->obstacles[k - 1].shape.layers & shape->layers) return k;
    return k == c->nobstacle + 1 && c->terrain.columns && c->terrain.layers & shape->layers ? k : -1;
}

void surface_normal(const ctn_model *m, int k, const double *x, double *n)
{
    if (k) store3(n, stand_at(&m->surfaces[k - 1], load3(x), NULL).face);
    else memcpy(n, m->ground, 3 * sizeof *n);
}

double surface_friction(const ctn_scene *scene, int k)
{
    const scene_contact *const c = &scene->contact;
    return k < 1 ? NAN : k <= c->nobstacle ? c->obstacles[k - 1].shape.friction : c->terrain.friction;
}

void axes_along(const double z[3], double R[9])
{
    const int least = fabs(z[0]) <= fabs(z[1]) && fabs(z[0]) <= fabs(z[2]) ? 0 : fabs(z[1]) <= fabs(z[2]) ? 1 : 2;
    double x[3], across = 0;
    for (int k = 0; k < 3; k++) x[k] = (k == least) - z[least] * z[k], across = hypot(across, x[k]);
    for (int k = 0; k < 3; k++) x[k] /= across;
    const double y[3] = {z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]};
    for (int k = 0; k < 3; k++) R[3 * k] = x[k], R[3 * k + 1] = y[k], R[3 * k + 2] = z[k];
}

void lay_along(const double *from, const double *to, double at[3], double R[9], double *half)
{
    double z[3], length = 0;
    for (int k = 0; k < 3; k++) at[k] = (from[k] + to[k]) / 2, z[k] = to[k] - from[k], length = hypot(length, z[k]);
    *half = length / 2;
    for (int k = 0; k < 3; k++) z[k] /= length;
    axes_along(z, R);
}

/// numbers: room for those of a hull.
static fixed_surface surface_of(const scene_obstacle *o, double *numbers)
{
    const scene_shape *const s = &o->shape;
    static const surface_kind kinds[] = {[SHAPE_SPHERE] = SURFACE_SPHERE,       [SHAPE_BOX] = SURFACE_BOX,
                                         [SHAPE_CAPSULE] = SURFACE_CAPSULE,     [SHAPE_CYLINDER] = SURFACE_CYLINDER,
                                         [SHAPE_ELLIPSOID] = SURFACE_ELLIPSOID, [SHAPE_MESH] = SURFACE_HULL};
    fixed_surface f = {.kind = kinds[s->type], .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    if (s->type == SHAPE_CAPSULE || s->type == SHAPE_CYLINDER) lay_along(s->from, s->to, f.at, f.R, &f.half[2]);
    else memcpy(f.at, s->center, sizeof f.at);
    if (s->type == SHAPE_BOX || s->type == SHAPE_ELLIPSOID || s->type == SHAPE_MESH) rotation_matrix(s->rotation, f.R);
    if (s->type == SHAPE_BOX) {
        for (int k = 0; k < 3; k++) f.half[k] = s->size[k] / 2;
        f.bound = hypot(hypot(f.half[0], f.half[1]), f.half[2]);
    } else if (s->type == SHAPE_ELLIPSOID) {
        memcpy(f.half, s->size, sizeof f.half);
        f.bound = fmax(f.half[0], fmax(f.half[1], f.half[2]));
    } else if (s->type == SHAPE_MESH) {
        store3(f.at, add(const3(f.at), mul(const33(f.R), const3(o->hull.middle))));
        for (int k = 0; k < 3; k++) f.half[k] = o->hull.within;
        f.bound = o->hull.bound, f.faces = o->hull.faces, f.groups = o->hull.groups, f.count = o->hull.count, f.numbers = numbers;
        memcpy(numbers, o->hull.numbers, (size_t)f.count * sizeof *numbers);
    } else {
        f.radius = s->radius;
        f.bound = s->type == SHAPE_CYLINDER ? hypot(f.radius, f.half[2]) : f.radius + f.half[2];
    }
    f.bound *= 1 + 1e-9;
    return f;
}

/// c [n], `step` apart, becomes the coefficients of the spline through it, mirrored at its ends: c- + 4 c + c+ = 6 f. work [n]
static void fit_row(double *c, int n, size_t step, double *work)
{
    for (int k = 0; k < n; k++) {
        const double before = k == 0 ? 0 : k == n - 1 ? 2 : 1, after = k == 0 ? 2 : 1, pivot = 4 - (k ? before * work[k - 1] : 0);
        work[k] = after / pivot;
        c[(size_t)k * step] = (6 * c[(size_t)k * step] - (k ? before * c[(size_t)(k - 1) * step] : 0)) / pivot;
    }
    for (int k = n - 2; k >= 0; k--) c[(size_t)k * step] -= work[k] * c[(size_t)(k + 1) * step];
}

void fit_heights(double *heights, int columns, int rows)
{
    double work[4096];
    for (int j = 0; j < rows; j++) fit_row(heights + (size_t)j * (size_t)columns, columns, 1, work);
    for (int i = 0; i < columns; i++) fit_row(heights + i, rows, (size_t)columns, work);
}

/// Of a spline, whose coefficients bound it and its slopes: the highest it may be, and how much longer than high a slope may be.
static void bound_terrain(fixed_surface *f)
{
    double highest = -INFINITY, x = 0, y = 0;
    for (int j = 0; j < f->rows; j++)
        for (int i = 0; i < f->columns; i++) {
            const double *const c = f->numbers + (size_t)j * (size_t)f->columns + i;
            highest = fmax(highest, *c);
            if (i) x = fmax(x, fabs(c[0] - c[-1]) / f->spacing[0]);
            if (j) y = fmax(y, fabs(c[0] - c[-f->columns]) / f->spacing[1]);
        }
    f->bound = highest + 1e-9 * fabs(highest), f->half[2] = (1 + 1e-9) * hypot(1, hypot(x, y));
}

static void make_terrain(const scene_terrain *t, double *heights, fixed_surface *f)
{
    const size_t columns = (size_t)t->columns, rows = (size_t)t->rows;
    for (size_t j = 0; j < rows; j++)  // the scene's first row is the last here
        memcpy(heights + j * columns, t->heights + (rows - 1 - j) * columns, columns * sizeof *heights);
    fit_heights(heights, t->columns, t->rows);
    *f = (fixed_surface){.kind = SURFACE_TERRAIN, .columns = t->columns, .rows = t->rows, .numbers = heights};
    f->count = (int)(columns * rows);
    f->spacing[0] = t->size[0] / (t->columns - 1), f->spacing[1] = t->size[1] / (t->rows - 1);
    memcpy(f->at, t->position, sizeof f->at);
    rotation_matrix(t->rotation, f->R);
    bound_terrain(f);
}

double terrain_height(const fixed_surface *terrain, double x, double y)
{
    double h[HEIGHT_NUMBERS];
    height_at(terrain, x, y, h);
    return h[HEIGHT];
}

bool make_surfaces(ctn_model *m, const ctn_scene *scene)
{
    const scene_contact *const c = &scene->contact;
    const int n = c->nobstacle + (c->terrain.columns > 0);
    m->plane = c->ground;
    m->surfaces = calloc((size_t)n + 1, sizeof *m->surfaces), m->surface_names = calloc((size_t)n + 1, sizeof *m->surface_names);
    m->nnumber = (size_t)c->terrain.columns * (size_t)c->terrain.rows;
    for (int k = 0; k < c->nobstacle; k++) m->nnumber += (size_t)c->obstacles[k].hull.count;
    m->surface_numbers = malloc(m->nnumber * sizeof *m->surface_numbers + 1);
    if (!m->surfaces || !m->surface_names || !m->surface_numbers) return false;
    m->nsurface = n;
    double *numbers = m->surface_numbers;
    for (int k = 0; k < n; k++) {
        const bool solid = k < c->nobstacle;
        m->surface_names[k] = strdup(solid ? c->obstacles[k].name : "terrain");
        if (!m->surface_names[k]) return false;
        if (solid) m->surfaces[k] = surface_of(&c->obstacles[k], numbers);
        else make_terrain(&c->terrain, numbers, &m->surfaces[k]);
        numbers += m->surfaces[k].count;
    }
    return true;
}

void free_surfaces(ctn_model *m)
{
    for (int k = 0; k < m->nsurface && m->surface_names; k++) free(m->surface_names[k]);
    free(m->surface_names), free(m->surfaces), free(m->surface_numbers);
}
