/// Balls by circles of latitude, capsules as balls that are cut, cylinders as rings with lids, boxes.
#include "render/meshes.h"

#include <math.h>
#include <stdlib.h>

enum { AROUND = 24, RINGS = 12, MOST_VERTICES = 2048, MOST_INDICES = 8192 };

static uint16_t vertex(mesh *m, const float *position, const float *normal, float side)
{
    m->vertices[m->nvertex] = (mesh_vertex){{position[0], position[1], position[2]}, {normal[0], normal[1], normal[2]}, side};
    return (uint16_t)m->nvertex++;
}

/// A ring of vertices about z, closed by a repeated one. Returns the first.
static uint16_t ring(mesh *m, double radius, double z, double slope, float side)
{
    const uint16_t first = (uint16_t)m->nvertex;
    for (int k = 0; k <= AROUND; k++) {
        const double a = 2 * 3.14159265358979323846 * (k % AROUND) / AROUND, flat = sqrt(1 - slope * slope);
        const float p[3] = {(float)(radius * cos(a)), (float)(radius * sin(a)), (float)z};
        const float n[3] = {(float)(flat * cos(a)), (float)(flat * sin(a)), (float)slope};
        vertex(m, p, n, side);
    }
    return first;
}

static void triangle(mesh *m, int a, int b, int c)
{
    m->indices[m->nindex++] = (uint16_t)a, m->indices[m->nindex++] = (uint16_t)b, m->indices[m->nindex++] = (uint16_t)c;
}

/// Between two rings, the second one above.
static void band(mesh *m, uint16_t low, uint16_t high)
{
    for (int k = 0; k < AROUND; k++)
        triangle(m, low + k, low + k + 1, high + k), triangle(m, low + k + 1, high + k + 1, high + k);
}

/// Circles of latitude from pole to pole; cut: the equator twice, once for each half.
static void make_ball(mesh *m, bool cut)
{
    uint16_t below = 0;
    for (int r = 0; r <= RINGS; r++) {
        const double latitude = 3.14159265358979323846 * ((double)r / RINGS - 0.5), z = r == RINGS / 2 ? 0 : sin(latitude),
                     radius = r == 0 || r == RINGS ? 0 : cos(latitude);
        const float side = cut ? (r <= RINGS / 2 ? -1.0f : 1.0f) : 0.0f;
        const uint16_t now = ring(m, radius, z, z, side);
        if (r) band(m, below, now);
        below = now;
        if (!cut || r != RINGS / 2) continue;
        below = ring(m, radius, z, z, 1);
        band(m, now, below);
    }
}

static void make_cylinder(mesh *m)
{
    band(m, ring(m, 1, 0, 0, -1), ring(m, 1, 0, 0, 1));
    for (int side = -1; side <= 1; side += 2) {
        const float center[3] = {0, 0, 0}, normal[3] = {0, 0, (float)side};
        const uint16_t middle = vertex(m, center, normal, (float)side), rim = ring(m, 1, 0, side, (float)side);
        for (int k = 0; k < AROUND; k++) triangle(m, middle, side > 0 ? rim + k : rim + k + 1, side > 0 ? rim + k + 1 : rim + k);
    }
}

static void make_box(mesh *m)
{
    for (int face = 0; face < 6; face++) {
        const int axis = face / 2, u = (axis + 1) % 3, v = (axis + 2) % 3, sign = face % 2 ? 1 : -1;
        float n[3] = {0}, p[3];
        const int first = (int)m->nvertex;
        n[axis] = (float)sign;
        for (int k = 0; k < 4; k++) {
            p[axis] = (float)sign, p[u] = k == 1 || k == 2 ? 1.0f : -1.0f, p[v] = k >= 2 ? 1.0f : -1.0f;
            vertex(m, p, n, 0);
        }
        const int b = sign > 0 ? 1 : 3, d = sign > 0 ? 3 : 1;
        triangle(m, first, first + b, first + 2), triangle(m, first, first + 2, first + d);
    }
}

mesh mesh_create(mesh_kind kind)
{
    mesh m = {malloc(MOST_VERTICES * sizeof *m.vertices), malloc(MOST_INDICES * sizeof *m.indices), 0, 0};
    if (!m.vertices || !m.indices) {
        mesh_free(&m);
        return m;
    }
    if (kind == MESH_BOX) make_box(&m);
    else if (kind == MESH_CYLINDER) make_cylinder(&m);
    else make_ball(&m, kind == MESH_CAPSULE);
    return m;
}

void mesh_free(mesh *m)
{
    free(m->vertices), free(m->indices);
    *m = (mesh){NULL, NULL, 0, 0};
}
