/// Surfaces for the distance: vertices in a cell become one. [Rossignac and Borrel 1993, Multi-resolution 3D approximations for
/// rendering complex scenes]
#include "render/draw/meshes.h"

#include "render/draw/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 6 };

/// What the vertices in a cell come to.
typedef struct place {
    double position[3];
    int count;
} place;

typedef struct clusters {
    int cells;
    int *place_of, *vertex_of;  // [cells^3], [cells^3][DIRECTIONS]: 1 + a place, 1 + a vertex of the coarse surface; 0: none yet
    place *places;
    int place_count;
    int *at, *cell;  // [vertices of the fine surface]: the coarse vertex that each becomes; [those of the coarse one]: its place
} clusters;

static bool open_clusters(clusters *c, size_t vertices)
{
    const size_t n = (size_t)c->cells * (size_t)c->cells * (size_t)c->cells;
    c->place_of = calloc(n, sizeof *c->place_of), c->vertex_of = calloc(DIRECTIONS * n, sizeof *c->vertex_of);
    c->places = calloc(vertices + 1, sizeof *c->places);
    c->at = malloc((vertices + 1) * sizeof *c->at), c->cell = malloc((vertices + 1) * sizeof *c->cell);
    return c->place_of && c->vertex_of && c->places && c->at && c->cell;
}

static void free_clusters(clusters *c) { free(c->place_of), free(c->vertex_of), free(c->places), free(c->at), free(c->cell); }

/// The normal as it is: `shape` stretches it.
static void true_normal(const mesh *m, const mesh_vertex *v, double n[3])
{
    for (int k = 0; k < 3; k++) n[k] = v->normal[k] / m->shape[k];
    vector_normalise(n);
}

/// Where n points most: x, -x, y ...
static int direction(const double n[3])
{
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (fabs(n[k]) > fabs(n[axis])) axis = k;
    return 2 * axis + (n[axis] < 0);
}

static size_t cell_of(const mesh *m, const mesh_vertex *v, int cells)
{
    size_t cell = 0;
    for (int k = 0; k < 3; k++) {
        const int i = (int)floor((v->position[k] * m->shape[k] + 1) / 2 * cells);
        cell = cell * (size_t)cells + (size_t)(i < 0 ? 0 : i < cells ? i : cells - 1);
    }
    return cell;
}

/// Vertices of one cell and direction become one, whose normal is their mean; all in a cell are at one place, so that there are
/// no cracks.
static void merge(const mesh *fine, clusters *c, mesh *coarse)
{
    for (size_t i = 0; i < fine->nvertex; i++) {
        const mesh_vertex *const v = &fine->vertices[i];
        const size_t cell = cell_of(fine, v, c->cells);
        double n[3];
        true_normal(fine, v, n);
        int *const home = &c->place_of[cell], *const same = &c->vertex_of[cell * DIRECTIONS + (size_t)direction(n)];
        if (!*home) *home = ++c->place_count;
        place *const p = &c->places[*home - 1];
        for (int k = 0; k < 3; k++) p->position[k] += v->position[k];
        p->count++;
        if (!*same) {
            c->cell[coarse->nvertex] = *home - 1;
            coarse->vertices[coarse->nvertex++] = (mesh_vertex){.side = v->side};
            *same = (int)coarse->nvertex;
        }
        c->at[i] = *same - 1;
        for (int k = 0; k < 3; k++) coarse->vertices[c->at[i]].normal[k] += (float)n[k];
    }
    for (size_t i = 0; i < coarse->nvertex; i++) {
        mesh_vertex *const v = &coarse->vertices[i];
        const place *const p = &c->places[c->cell[i]];
        double n[3] = {v->normal[0], v->normal[1], v->normal[2]};
        vector_normalise(n);
        for (int k = 0; k < 3; k++)
            v->position[k] = (float)(p->position[k] / p->count), v->normal[k] = (float)(n[k] * fine->shape[k]);
    }
}

/// Those that are still triangles.
static void keep_triangles(const mesh *fine, const clusters *c, mesh *coarse)
{
    for (size_t i = 0; i < fine->nindex; i += 3) {
        const int a = c->at[fine->indices[i]], b = c->at[fine->indices[i + 1]], d = c->at[fine->indices[i + 2]];
        if (c->cell[a] == c->cell[b] || c->cell[b] == c->cell[d] || c->cell[d] == c->cell[a]) continue;
        const int of[3] = {a, b, d};
        for (int k = 0; k < 3; k++) coarse->indices[coarse->nindex++] = (uint32_t)of[k];
    }
}

/// Of all triangles, in units of the longest half side.
static double area(const mesh *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->nindex; i += 3) {
        const float *const a = m->vertices[m->indices[i]].position, *const b = m->vertices[m->indices[i + 1]].position,
                           *const c = m->vertices[m->indices[i + 2]].position;
        double u[3], v[3], n[3];
        for (int k = 0; k < 3; k++) u[k] = (b[k] - a[k]) * m->shape[k], v[k] = (c[k] - a[k]) * m->shape[k];
        vector_cross(u, v, n);
        sum += vector_length(n) / 2;
    }
    return sum;
}

static void copy(const mesh *from, mesh *to)
{
    memcpy(to->vertices, from->vertices, from->nvertex * sizeof *to->vertices), to->nvertex = from->nvertex;
    memcpy(to->indices, from->indices, from->nindex * sizeof *to->indices), to->nindex = from->nindex;
}

mesh mesh_coarsen(const mesh *finer, int level)
{
    clusters c = {.cells = mesh_cells(level)};
    mesh m = {.vertices = malloc((finer->nvertex + 1) * sizeof *m.vertices),
              .indices = malloc((finer->nindex + 1) * sizeof *m.indices)};
    const bool ok = open_clusters(&c, finer->nvertex) && m.vertices && m.indices;
    for (int k = 0; k < 3; k++) m.shape[k] = finer->shape[k];
    if (ok) merge(finer, &c, &m), keep_triangles(finer, &c, &m);
    free_clusters(&c);
    if (ok && area(&m) < 0.7 * area(finer)) copy(finer, &m);
    if (!ok) mesh_free(&m);
    return m;
}
