/// Balls by circles of latitude, capsules as balls that are cut, cylinders as rings with lids, boxes.
#include "render/draw/meshes.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_VERTICES = 2048, MOST_INDICES = 8192 };

#define PI 3.14159265358979323846

static const int around_of[MESH_LEVELS] = {48, 24, 12, 6, 4};  // corners of a circle

/// Radius of the corners of a circle of radius 1: it is as wide on the mean as the circle, so that levels look alike.
static double corner_radius(int around) { return PI / around / sin(PI / around); }

static uint32_t vertex(mesh *m, const float *position, const float *normal, float side)
{
    m->vertices[m->nvertex] = (mesh_vertex){{position[0], position[1], position[2]}, {normal[0], normal[1], normal[2]}, side};
    return (uint32_t)m->nvertex++;
}

/// A ring of vertices about z, closed by a repeated one. Returns the first.
static uint32_t ring(mesh *m, int around, double radius, double z, double slope, float side)
{
    const uint32_t first = (uint32_t)m->nvertex;
    for (int k = 0; k <= around; k++) {
        const double a = 2 * PI * (k % around) / around, flat = sqrt(1 - slope * slope);
        const float p[3] = {(float)(radius * cos(a)), (float)(radius * sin(a)), (float)z};
        const float n[3] = {(float)(flat * cos(a)), (float)(flat * sin(a)), (float)slope};
        vertex(m, p, n, side);
    }
    return first;
}

static void triangle(mesh *m, uint32_t a, uint32_t b, uint32_t c)
{
    m->indices[m->nindex++] = a, m->indices[m->nindex++] = b, m->indices[m->nindex++] = c;
}

/// Between two rings, the second one above; a ring at a pole has no width.
static void band(mesh *m, uint32_t around, uint32_t low, uint32_t high, bool from_pole, bool to_pole)
{
    for (uint32_t k = 0; k < around; k++) {
        if (!from_pole) triangle(m, low + k, low + k + 1, high + k);
        if (!to_pole) triangle(m, low + k + 1, high + k + 1, high + k);
    }
}

/// Circles of latitude from pole to pole; cut: the equator twice, once for each half.
static void make_ball(mesh *m, int around, bool cut)
{
    const int rings = (around + 2) / 4 * 2;
    const double size = corner_radius(around);
    uint32_t below = 0;
    for (int r = 0; r <= rings; r++) {
        const double latitude = PI * ((double)r / rings - 0.5), z = r == rings / 2 ? 0 : sin(latitude),
                     radius = r == 0 || r == rings ? 0 : cos(latitude);
        const float side = cut ? (r <= rings / 2 ? -1.0f : 1.0f) : 0.0f;
        const uint32_t now = ring(m, around, size * radius, size * z, z, side);
        if (r) band(m, (uint32_t)around, below, now, r == 1, r == rings);
        below = now;
        if (!cut || r != rings / 2) continue;
        below = ring(m, around, size * radius, size * z, z, 1);
        band(m, (uint32_t)around, now, below, false, false);
    }
}

static void make_cylinder(mesh *m, int around)
{
    const double size = corner_radius(around);
    const uint32_t low = ring(m, around, size, 0, 0, -1), high = ring(m, around, size, 0, 0, 1);
    band(m, (uint32_t)around, low, high, false, false);
    for (int side = -1; side <= 1; side += 2) {
        const uint32_t rim = ring(m, around, size, 0, side, (float)side);
        for (uint32_t k = 1; k + 1 < (uint32_t)around; k++)
            triangle(m, rim, side > 0 ? rim + k : rim + k + 1, side > 0 ? rim + k + 1 : rim + k);
    }
}

static void make_box(mesh *m)
{
    for (int face = 0; face < 6; face++) {
        const int axis = face / 2, u = (axis + 1) % 3, v = (axis + 2) % 3, sign = face % 2 ? 1 : -1;
        float n[3] = {0}, p[3];
        const uint32_t first = (uint32_t)m->nvertex;
        n[axis] = (float)sign;
        for (int k = 0; k < 4; k++) {
            p[axis] = (float)sign, p[u] = k == 1 || k == 2 ? 1.0f : -1.0f, p[v] = k >= 2 ? 1.0f : -1.0f;
            vertex(m, p, n, 0);
        }
        const uint32_t b = sign > 0 ? 1 : 3, d = sign > 0 ? 3 : 1;
        triangle(m, first, first + b, first + 2), triangle(m, first, first + 2, first + d);
    }
}

mesh mesh_create(mesh_kind kind, int level)
{
    mesh m = {malloc(MOST_VERTICES * sizeof *m.vertices), malloc(MOST_INDICES * sizeof *m.indices), 0, 0, {1, 1, 1}};
    if (!m.vertices || !m.indices) {
        mesh_free(&m);
        return m;
    }
    if (kind == MESH_BOX) make_box(&m);
    else if (kind == MESH_CYLINDER) make_cylinder(&m, around_of[level]);
    else make_ball(&m, around_of[level], kind == MESH_CAPSULE);
    return m;
}

int mesh_cells(int level) { return 128 >> level; }

/// Whether a level is as fine as mesh_level promises.
static bool is_fine(mesh_kind kind, int level, double pixels)
{
    if (kind >= MESHES) return pixels * 2 / mesh_cells(level) <= 0.5;
    const int around = around_of[level];
    return pixels * (1 - corner_radius(around) * cos(PI / around)) < 0.25;  // how deep its sides cut into the circle
}

int mesh_level(mesh_kind kind, double pixels)
{
    int level = 0;
    if (kind == MESH_BOX) return 0;
    while (level + 1 < MESH_LEVELS && is_fine(kind, level + 1, pixels)) level++;
    return level;
}

void mesh_free(mesh *m)
{
    free(m->vertices), free(m->indices);
    *m = (mesh){0};
}
