/// What a surface encloses: vertices welded, sides compared with their neighbours', volume and moments by the divergence theorem.
/// [Mirtich, Fast and Accurate Computation of Polyhedral Mass Properties, 1996; here as a sum of tetrahedra]
#include "sim/scene/mesh.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- welding

static uint64_t hash_place(const double *x)
{
    uint64_t h = 14695981039346656037u, bits[3];  // FNV-1a, by words
    memcpy(bits, x, sizeof bits);
    for (int k = 0; k < 3; k++) h = (h ^ bits[k]) * 1099511628211u, h ^= h >> 29;
    return h;
}

/// Vertices of exactly the same place become one: STL has each corner of each triangle, and exporters double vertices at seams.
static ctn_status weld(mesh_surface *m)
{
    size_t size = 64;
    while (size < 2 * (size_t)m->nvertex) size *= 2;
    int *const slots = calloc(size, sizeof *slots), *const now =
                                                        malloc(((size_t)m->nvertex + 1) * sizeof *now);  // slots: place + 1
    int places = 0;
    for (int i = 0; i < m->nvertex && slots && now; i++) {
        for (int k = 0; k < 3; k++) m->vertices[i][k] += 0.0;  // -0 is 0
        size_t at = hash_place(m->vertices[i]) & (size - 1);
        while (slots[at] && memcmp(m->vertices[slots[at] - 1], m->vertices[i], sizeof *m->vertices)) at = (at + 1) & (size - 1);
        if (!slots[at]) {
            memmove(m->vertices[places], m->vertices[i], sizeof *m->vertices);
            slots[at] = ++places;
        }
        now[i] = slots[at] - 1;
    }
    int kept = 0;
    for (int t = 0; t < m->ntriangle && slots && now; t++) {
        const int a = now[m->triangles[t][0]], b = now[m->triangles[t][1]], c = now[m->triangles[t][2]];
        if (a == b || b == c || c == a) continue;
        m->triangles[kept][0] = a, m->triangles[kept][1] = b, m->triangles[kept++][2] = c;
    }
    const bool ok = slots && now;
    if (ok) m->nvertex = places, m->ntriangle = kept;
    free(slots), free(now);
    return ok ? CTN_OK : CTN_NO_MEMORY;
}

// ---- closed or not

/// The border of the surface is nothing: every side is passed as often in one direction as in the other. Counts those with a
/// border and, where only the directions are wrong, `turned`.
static ctn_status count_borders(const mesh_surface *m, int *open, int *turned)
{
    const size_t n = (size_t)m->nvertex;
    int *const first = calloc(n + 2, sizeof *first), *const net = calloc(n + 1, sizeof *net),
               *const uses = calloc(n + 1, sizeof *uses), *const ends = malloc(((size_t)m->ntriangle * 3 + 1) * sizeof *ends);
    *open = *turned = 0;
    const bool ok = first && net && uses && ends;
    // sides by their lower vertex: ends, and whether they run down to it (as ~end)
    for (int pass = 0; pass < 2 && ok; pass++) {
        for (int t = 0; t < m->ntriangle; t++)
            for (int k = 0; k < 3; k++) {
                const int a = m->triangles[t][k], b = m->triangles[t][(k + 1) % 3], low = a < b ? a : b;
                if (pass) ends[first[low + 1]++] = a < b ? b : ~a;
                else first[low + 2]++;
            }
        for (size_t i = 2; i < n + 2 && !pass; i++) first[i] += first[i - 1];
    }
    for (size_t low = 0; low < n && ok; low++) {
        for (int e = first[low]; e < first[low + 1]; e++) {
            const int end = ends[e] < 0 ? ~ends[e] : ends[e];
            net[end] += ends[e] < 0 ? -1 : 1, uses[end]++;
        }
        for (int e = first[low]; e < first[low + 1]; e++) {
            const int end = ends[e] < 0 ? ~ends[e] : ends[e];
            if (net[end]) (*(uses[end] % 2 ? open : turned))++;
            net[end] = uses[end] = 0;
        }
    }
    free(first), free(net), free(uses), free(ends);
    return ok ? CTN_OK : CTN_NO_MEMORY;
}

// ---- the same triangle again

/// The triangle with its lowest corner first.
static void from_lowest(const int triangle[3], int turned[3])
{
    int k = 0;
    for (int c = 1; c < 3; c++)
        if (triangle[c] < triangle[k]) k = c;
    for (int c = 0; c < 3; c++) turned[c] = triangle[(k + c) % 3];
}

/// Counts triangles that are there a second time, which would count twice, and those that lie on others and face the other way.
static ctn_status count_doubles(const mesh_surface *m, int *doubled, int *reversed)
{
    size_t size = 64;
    while (size < 2 * (size_t)m->ntriangle) size *= 2;
    int *const slots = calloc(size, sizeof *slots);  // number of the triangle + 1
    *doubled = *reversed = 0;
    if (!slots) return CTN_NO_MEMORY;
    for (int t = 0; t < m->ntriangle; t++) {
        int a[3], b[3];
        from_lowest(m->triangles[t], a);
        const bool up = a[1] < a[2];
        const double corners[3] = {a[0], up ? a[1] : a[2], up ? a[2] : a[1]};  // both faces meet in one slot
        size_t at = hash_place(corners) & (size - 1);
        bool again = false, behind = false;
        for (; slots[at] && !again; at = (at + 1) & (size - 1)) {
            from_lowest(m->triangles[slots[at] - 1], b);
            again = a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
            behind = behind || (a[0] == b[0] && a[1] == b[2] && a[2] == b[1]);
        }
        if (again) (*doubled)++;
        else slots[at] = t + 1, *reversed += behind;
    }
    free(slots);
    return CTN_OK;
}

// ---- integrals

/// Sums over the tetrahedra between the middle of all vertices and the triangles. Returns the sum of their volumes without signs.
static double integrate(mesh_surface *m)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, middle[3];
    double volume = 0, without_signs = 0, first[3] = {0}, second[6] = {0};
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int i = 0; i < m->nvertex; i++)
        for (int k = 0; k < 3; k++) low[k] = fmin(low[k], m->vertices[i][k]), high[k] = fmax(high[k], m->vertices[i][k]);
    for (int k = 0; k < 3; k++) middle[k] = low[k] / 2 + high[k] / 2;
    for (int t = 0; t < m->ntriangle; t++) {
        double x[3][3], s[3];
        for (int k = 0; k < 3; k++) {
            for (int c = 0; c < 3; c++) x[c][k] = m->vertices[m->triangles[t][c]][k] - middle[k];
            s[k] = x[0][k] + x[1][k] + x[2][k];
        }
        const double six = x[0][0] * (x[1][1] * x[2][2] - x[1][2] * x[2][1]) + x[0][1] * (x[1][2] * x[2][0] - x[1][0] * x[2][2]) +
                           x[0][2] * (x[1][0] * x[2][1] - x[1][1] * x[2][0]);
        volume += six / 6, without_signs += fabs(six) / 6;
        for (int k = 0; k < 3; k++) first[k] += six / 24 * s[k];
        for (int k = 0; k < 6; k++) {
            const int i = row[k], j = column[k];
            second[k] += six / 120 * (s[i] * s[j] + x[0][i] * x[0][j] + x[1][i] * x[1][j] + x[2][i] * x[2][j]);
        }
    }
    m->volume = volume;
    for (int k = 0; k < 3; k++) first[k] /= volume, m->center[k] = middle[k] + first[k];
    for (int k = 0; k < 6; k++) m->second[k] = second[k] - volume * first[row[k]] * first[column[k]];
    return without_signs;
}

ctn_status mesh_close(mesh_surface *m)
{
    int open, turned, doubled, reversed;
    if (weld(m) != CTN_OK || count_doubles(m, &doubled, &reversed) != CTN_OK || count_borders(m, &open, &turned) != CTN_OK)
        return CTN_NO_MEMORY;
    const double rounding = 1e-12 * integrate(m);
    *m->flaw = 0;
    if (doubled)
        snprintf(m->flaw, sizeof m->flaw, "is doubled: %d of its %d triangles %s there a second time", doubled, m->ntriangle,
                 doubled > 1 ? "are" : "is");
    else if (open)
        snprintf(m->flaw, sizeof m->flaw, "is not closed: %d side%s of its triangles %s no neighbour", open, open > 1 ? "s" : "",
                 open > 1 ? "have" : "has");
    else if (turned) snprintf(m->flaw, sizeof m->flaw, "has neighbours that face opposite ways, at %d of its sides", turned);
    else if (m->volume < -rounding)
        snprintf(m->flaw, sizeof m->flaw, "is inside out: its triangles are clockwise seen from outside");
    else if (!(m->volume > rounding) && reversed)
        snprintf(m->flaw, sizeof m->flaw, "encloses no volume: %d of its %d triangles lie on others that face the other way",
                 reversed, m->ntriangle);
    else if (!(m->volume > rounding)) snprintf(m->flaw, sizeof m->flaw, "encloses no volume");
    return CTN_OK;
}
