/// Rounded points of shapes that are not made of a few: cylinders, ellipsoids and meshes.
#include "sim/model/solid_points.h"

#include "sim/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


/// A point of the shape's own axes, in the link's.
static void place(const scene_shape *s, const double R[9], const double own[3], double at[3])
{
    for (int k = 0; k < 3; k++) at[k] = s->center[k] + R[3 * k] * own[0] + R[3 * k + 1] * own[1] + R[3 * k + 2] * own[2];
}

/// Two directions that complete `axis`, of length 1, to a frame.
static void across(const double axis[3], double x[3], double y[3])
{
    const int least = fabs(axis[0]) <= fabs(axis[1]) && fabs(axis[0]) <= fabs(axis[2]) ? 0 : fabs(axis[1]) <= fabs(axis[2]) ? 1 : 2;
    double length = 0;
    for (int k = 0; k < 3; k++) x[k] = (k == least) - axis[least] * axis[k], length += x[k] * x[k];
    for (int k = 0; k < 3; k++) x[k] /= sqrt(length);
    for (int k = 0; k < 3; k++) y[k] = axis[(k + 1) % 3] * x[(k + 2) % 3] - axis[(k + 2) % 3] * x[(k + 1) % 3];
}

int cylinder_points(const scene_shape *s, rounded_point *to)
{
    double axis[3], x[3], y[3], length = 0;
    for (int k = 0; k < 3; k++) axis[k] = s->to[k] - s->from[k], length += axis[k] * axis[k];
    for (int k = 0; k < 3; k++) axis[k] = length > 0 ? axis[k] / sqrt(length) : k == 2;
    across(axis, x, y);
    for (int i = 0; i < 2 * RIM_POINTS; i++) {
        const double turn = 2 * M_PI * (i % RIM_POINTS) / RIM_POINTS, *const middle = i < RIM_POINTS ? s->from : s->to;
        for (int k = 0; k < 3; k++) to[i].at[k] = middle[k] + s->radius * (cos(turn) * x[k] + sin(turn) * y[k]);
        to[i].radius = 0;
    }
    return 2 * RIM_POINTS;
}

int opposite_on_cylinder(int k) { return (k < RIM_POINTS) * RIM_POINTS + (k + RIM_POINTS / 2) % RIM_POINTS; }

/// The largest balls in an ellipsoid with semi-axes a >= b >= c have their middles (x, y) in an ellipse across c, of semi-axes
/// (a^2 - c^2)/a and (b^2 - c^2)/b, and the radii c (1 - x^2/(a^2 - c^2) - y^2/(b^2 - c^2))^(1/2): where the surface's normal at
/// a ball is that of the ball. Together they are the ellipsoid; these lie on rings, closer where the surface is more bent.
int ellipsoid_points(const scene_shape *s, rounded_point *to)
{
    int axis[3] = {0, 1, 2};  // from the longest to the shortest
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 2; k++)
            if (s->size[axis[k]] < s->size[axis[k + 1]]) {
                const int swap = axis[k];
                axis[k] = axis[k + 1], axis[k + 1] = swap;
            }
    const double a = s->size[axis[0]], b = s->size[axis[1]], c = s->size[axis[2]];
    const double A = (a * a - c * c) / a, B = (b * b - c * c) / b;
    const bool ball = A < 1e-6 * a, line = B < 1e-6 * a;  // of a long ellipsoid of revolution the ellipse is a line
    double R[9];
    int count = 0;
    rotation_matrix(s->rotation, R);
    for (int ring = 0; ring <= (ball ? 0 : ELLIPSOID_RINGS); ring++)
        for (int i = 0; i < (ring == 0 ? 1 : line ? 2 : RING_POINTS); i++) {
            const double out = sin(M_PI / 2 * ring / ELLIPSOID_RINGS), turn = 2 * M_PI * i / (line ? 2 : RING_POINTS);
            const double x = A * out * cos(turn), y = line ? 0 : B * out * sin(turn);
            const double left = 1 - (ball ? 0 : x * x / (a * a - c * c)) - (line ? 0 : y * y / (b * b - c * c));
            double own[3] = {0};
            own[axis[0]] = x, own[axis[1]] = y;
            place(s, R, own, to[count].at);
            to[count++].radius = c * sqrt(left);
        }
    return count;
}

/// Direction i of MOST_MESH_POINTS that are spread evenly, on a spiral.
static void direction(int i, double d[3])
{
    const double z = 1 - (2 * i + 1.0) / MOST_MESH_POINTS, r = sqrt(1 - z * z), turn = M_PI * (3 - sqrt(5)) * i;
    d[0] = r * cos(turn), d[1] = r * sin(turn), d[2] = z;
}

/// How far a corner of a mesh is in the direction d, in the mesh's own axes.
static double reach(const scene_shape *s, const double x[3], const double d[3])
{
    return d[0] * s->size[0] * x[0] + d[1] * s->size[1] * x[1] + d[2] * s->size[2] * x[2];
}

/// What a corner that is left out may stick out by, as a share of the mesh's size.
#define MESH_LACK 0.03

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int mesh_points(const scene_shape *s, int asked, rounded_point *to)
{
    const mesh_surface *const m = s->mesh ? &s->mesh->surface : NULL;
    const int most = asked ? asked : MESH_POINTS;
    double d[MOST_MESH_POINTS][3], far[MOST_MESH_POINTS], taken[MOST_MESH_POINTS], R[9], size = 0;
    int corners[MOST_MESH_POINTS], list[MOST_MESH_POINTS], count = 0, next = 0;
    if (!m || !s->mesh->good || !m->nvertex) return 0;
    for (int i = 0; i < MOST_MESH_POINTS; i++) {
        direction(i, d[i]);
        far[i] = taken[i] = -INFINITY;
        for (int v = 0; v < m->nvertex; v++) {
            const double x = reach(s, m->vertices[v], d[i]);
            if (x > far[i]) far[i] = x, corners[i] = v;
        }
    }
    for (int i = 0; i < MOST_MESH_POINTS / 2; i++) size = fmax(size, far[i] + far[MOST_MESH_POINTS - 1 - i]);  // about opposite
    for (double left = INFINITY; count < most && left > (asked ? 0 : MESH_LACK * size);) {
        list[count++] = corners[next], left = 0;
        for (int i = 0; i < MOST_MESH_POINTS; i++) {
            taken[i] = fmax(taken[i], reach(s, m->vertices[list[count - 1]], d[i]));
            if (far[i] - taken[i] > left) left = far[i] - taken[i], next = i;
        }
    }
    rotation_matrix(s->rotation, R);
    qsort(list, (size_t)count, sizeof *list, by_number);
    for (int i = 0; i < count; i++) {
        double own[3];
        for (int k = 0; k < 3; k++) own[k] = s->size[k] * m->vertices[list[i]][k];
        place(s, R, own, to[i].at);
        to[i].radius = 0;
    }
    return count;
}
