/// Polygons to triangles by cutting off ears. [Meisters, Polygons Have Ears, 1975]
#include "sim/scene/mesh.h"

#include <math.h>

/// Corners of the polygon in its own plane.
typedef struct plane {
    const double (*vertices)[3];
    int u, v;     // the two axes that the polygon is seen along
    double turn;  // +1: counter-clockwise in them
} plane;

/// Newell's normal: its largest component is the axis along which the polygon is widest.
static plane plane_of(const double (*vertices)[3], const int *corners, int n)
{
    double normal[3] = {0};
    for (int i = 0; i < n; i++) {
        const double *const a = vertices[corners[i]], *const b = vertices[corners[(i + 1) % n]];
        for (int k = 0; k < 3; k++) normal[k] += (a[(k + 1) % 3] - b[(k + 1) % 3]) * (a[(k + 2) % 3] + b[(k + 2) % 3]);
    }
    int along = 0;
    for (int k = 1; k < 3; k++)
        if (fabs(normal[k]) > fabs(normal[along])) along = k;
    return (plane){vertices, (along + 1) % 3, (along + 2) % 3, normal[along] < 0 ? -1 : 1};
}

/// Twice the area of a triangle, positive if it turns as the polygon does.
static double area(const plane *p, int a, int b, int c)
{
    const double *const x = p->vertices[a], *const y = p->vertices[b], *const z = p->vertices[c];
    return p->turn * ((y[p->u] - x[p->u]) * (z[p->v] - x[p->v]) - (y[p->v] - x[p->v]) * (z[p->u] - x[p->u]));
}

/// Whether corner i of the n that are left can be cut off: convex, and no other corner in its triangle.
static bool is_ear(const plane *p, const int *corners, int n, int i)
{
    const int a = corners[(i + n - 1) % n], b = corners[i], c = corners[(i + 1) % n];
    if (!(area(p, a, b, c) > 0)) return false;
    for (int k = 2; k < n - 1; k++) {
        const int d = corners[(i + k) % n];
        if (d == a || d == b || d == c) continue;  // a bridge to a hole passes twice
        if (area(p, a, b, d) >= 0 && area(p, b, c, d) >= 0 && area(p, c, a, d) >= 0) return false;
    }
    return true;
}

void mesh_cut_polygon(const double (*vertices)[3], int *corners, int n, int (*triangles)[3])
{
    const plane p = plane_of(vertices, corners, n);
    int from = 0;
    while (n > 3) {
        int ear = from % n;
        for (int tried = 0; tried < n && !is_ear(&p, corners, n, ear); tried++) ear = (ear + 1) % n;
        // without one (sides that cross), any will do: the sum of the triangles keeps its border
        (*triangles)[0] = corners[(ear + n - 1) % n], (*triangles)[1] = corners[ear], (*triangles)[2] = corners[(ear + 1) % n];
        triangles++;
        for (int k = ear; k < n - 1; k++) corners[k] = corners[k + 1];
        from = ear + 1, n--;
    }
    for (int k = 0; k < 3; k++) (*triangles)[k] = corners[k];
}
