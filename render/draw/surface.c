/// Surfaces out of files, ready to be drawn: normals at corners, smooth but for sharp edges.
/// [Thuermer and Wuethrich, Computing Vertex Normals from Polygonal Facets, 1998]
#include "render/draw/meshes.h"

#include "render/draw/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SMOOTH = 1000 };  // triangles about a vertex; with more each stays flat, as their pairs would take too long

static const double sharpest = 0.819152044288992;  // cosine of 35 degrees

/// Of each triangle its normal and, at each corner, its angle; the corners about each vertex.
typedef struct corners {
    double (*normal)[3], (*angle)[3];
    int *first, *list;  // [nvertex + 1]; 3 triangle + corner
} corners;

static void free_corners(corners *c) { free(c->normal), free(c->angle), free(c->first), free(c->list); }

static void measure(const mesh_surface *s, int t, corners *c)
{
    double side[3][3];  // from corner k on
    for (int k = 0; k < 3; k++) {
        const double *const a = s->vertices[s->triangles[t][k]], *const b = s->vertices[s->triangles[t][(k + 1) % 3]];
        for (int i = 0; i < 3; i++) side[k][i] = b[i] - a[i];
        vector_normalise(side[k]);
    }
    vector_cross(side[0], side[1], c->normal[t]);
    vector_normalise(c->normal[t]);
    for (int k = 0; k < 3; k++) c->angle[t][k] = acos(fmax(-1, fmin(1, -vector_dot(side[k], side[(k + 2) % 3]))));
}

static bool find_corners(const mesh_surface *s, corners *c)
{
    const size_t n = (size_t)s->nvertex, m = (size_t)s->ntriangle;
    *c = (corners){malloc(m * sizeof *c->normal), malloc(m * sizeof *c->angle), calloc(n + 2, sizeof *c->first),
                   malloc(3 * m * sizeof *c->list)};
    if (!c->normal || !c->angle || !c->first || !c->list) return false;
    for (int t = 0; t < s->ntriangle; t++) {
        measure(s, t, c);
        for (int k = 0; k < 3; k++) c->first[s->triangles[t][k] + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) c->first[i] += c->first[i - 1];
    for (int t = 0; t < s->ntriangle; t++)
        for (int k = 0; k < 3; k++) c->list[c->first[s->triangles[t][k] + 1]++] = 3 * t + k;
    return true;
}

/// The normal of corner `at` of a vertex: the mean of the triangles about it that are nearly as turned as its own.
static void smooth(const corners *c, int vertex, int at, double normal[3])
{
    const double *const own = c->normal[at / 3];
    const int from = c->first[vertex], to = c->first[vertex + 1];
    memcpy(normal, own, 3 * sizeof *normal);
    if (to - from > MOST_SMOOTH) return;
    double sum[3] = {0};
    for (int e = from; e < to; e++) {
        const double *const other = c->normal[c->list[e] / 3];
        if (!(vector_dot(own, other) > sharpest)) continue;
        for (int k = 0; k < 3; k++) sum[k] += c->angle[c->list[e] / 3][c->list[e] % 3] * other[k];
    }
    vector_normalise(sum);
    if (vector_dot(sum, sum) > 0) memcpy(normal, sum, sizeof sum);
}

/// A vertex for each normal that there is at a place; indices to them.
static void join(const mesh_surface *s, const corners *c, const double center[3], const double half[3], mesh *m)
{
    const double most = fmax(half[0], fmax(half[1], half[2]));
    for (int v = 0; v < s->nvertex; v++) {
        const size_t before = m->nvertex;
        for (int e = c->first[v]; e < c->first[v + 1]; e++) {
            double normal[3];
            mesh_vertex x = {.side = 0};
            smooth(c, v, c->list[e], normal);
            for (int k = 0; k < 3; k++) {
                x.position[k] = (float)((s->vertices[v][k] - center[k]) / half[k]);
                x.normal[k] = (float)(normal[k] * (half[k] / most));  // the body is stretched by `half` when it is drawn
            }
            size_t known = m->nvertex - before > MOST_SMOOTH ? m->nvertex : before;
            while (known < m->nvertex && memcmp(&m->vertices[known], &x, sizeof x)) known++;
            if (known == m->nvertex) m->vertices[m->nvertex++] = x;
            m->indices[c->list[e]] = (uint32_t)known;
        }
    }
    m->nindex = 3 * (size_t)s->ntriangle;
}

static void add_back(mesh *m)
{
    const size_t vertices = m->nvertex, indices = m->nindex;
    for (size_t i = 0; i < vertices; i++) {
        mesh_vertex x = m->vertices[i];
        for (int k = 0; k < 3; k++) x.normal[k] = -x.normal[k];
        m->vertices[m->nvertex++] = x;
    }
    for (size_t i = 0; i < indices; i += 3)
        for (size_t k = 0; k < 3; k++) m->indices[m->nindex++] = m->indices[i + 2 - k] + (uint32_t)vertices;
}

mesh mesh_of_surface(const mesh_surface *s, double center[3], double half[3])
{
    corners c;
    const size_t sides = *s->flaw ? 2 : 1, most = sides * 3 * (size_t)s->ntriangle;
    mesh m = {.vertices = malloc(most * sizeof *m.vertices), .indices = malloc(most * sizeof *m.indices)};
    const bool ok = find_corners(s, &c) && m.vertices && m.indices;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < s->nvertex; v++)
        for (int k = 0; k < 3; k++) low[k] = fmin(low[k], s->vertices[v][k]), high[k] = fmax(high[k], s->vertices[v][k]);
    for (int k = 0; k < 3; k++) center[k] = (low[k] + high[k]) / 2, half[k] = (high[k] - low[k]) / 2;
    const double largest = fmax(half[0], fmax(half[1], half[2]));
    for (int k = 0; k < 3; k++)
        half[k] = fmax(half[k], 1e-6 * largest), m.shape[k] = half[k] / largest;  // a flat one keeps its normals
    if (ok) join(s, &c, center, half, &m);
    if (ok && *s->flaw) add_back(&m);
    free_corners(&c);
    if (!ok) mesh_free(&m);
    return m;
}
