/// Points on the rims of cylinders, and the corners, edges and faces of hulls.
#include "sim/model/core_numbers.h"

#include "contact/hull_numbers.h"
#include "contact/pair_elements.h"
#include "sim/model/model.h"
#include "sim/model/solid_points.h"
#include "sim/model/surfaces.h"
#include "sim/scene/hull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double apart3(const double *a, const double *b) { return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]); }

static void set_bound(touch_shape *to, double of_core) { to->bound = of_core * (1 + 1e-9) + to->radius; }

// ---- round cores

/// Puts points in the link's frame into the core's axes.
static ctn_status put_points(const rounded_point *point, touch_shape *to)
{
    double *const numbers = malloc((size_t)to->points * POINT_NUMBERS * sizeof *numbers);
    if (!numbers) return CTN_NO_MEMORY;
    for (int i = 0; i < to->points; i++) {
        double *const at = numbers + i * POINT_NUMBERS;
        for (int k = 0; k < 3; k++) {
            const double axis[3] = {to->R[k], to->R[3 + k], to->R[6 + k]};
            at[k] = dot3(axis, point[i].at) - dot3(axis, to->at);
        }
    }
    to->numbers = numbers;
    return CTN_OK;
}

static ctn_status make_cylinder(const scene_shape *s, touch_shape *to)
{
    rounded_point rim[2 * RIM_POINTS];
    scene_shape core = *s;
    const double length = apart3(s->from, s->to), share = to->radius / length;
    for (int k = 0; k < 3; k++) {
        const double in = share * (s->to[k] - s->from[k]);
        core.from[k] += in, core.to[k] -= in;
    }
    core.radius -= to->radius;
    to->kind = CORE_CYLINDER;
    lay_along(core.from, core.to, to->at, to->R, &to->half[2]);
    to->half[0] = to->half[1] = core.radius;
    to->points = cylinder_points(&core, rim);
    set_bound(to, hypot(to->half[0], to->half[2]));
    return put_points(rim, to);
}

static void make_ellipsoid(const scene_shape *s, touch_shape *to)
{
    to->kind = CORE_ELLIPSOID;
    memcpy(to->at, s->center, sizeof to->at), memcpy(to->half, s->size, sizeof to->half);
    rotation_matrix(s->rotation, to->R);
    set_bound(to, fmax(s->size[0], fmax(s->size[1], s->size[2])));
}

// ---- hulls

static const double *next_face(const double *face) { return face + HULL_FACE + HULL_SIDE * (int)face[4]; }

/// Side k of a face; the sides of a face are in no order.
static const double *side_of(const double *face, int k) { return face + HULL_FACE + HULL_SIDE * k; }

/// Where a side ends.
static void end_of(const double *side, double *to)
{
    for (int c = 0; c < 3; c++) to[c] = side[c] + side[6] * side[3 + c];
}

/// Corners, each once, in the order of the sides. Returns how many; -1: more than `most`.
static int put_corners(const mesh_hull *h, int most, double *to)
{
    int count = 0;
    const double *face = h->numbers;
    for (int i = 0; i < h->faces; i++, face = next_face(face))
        for (int k = 0; k < (int)face[4]; k++) {
            int c = 0;
            while (c < count && apart3(to + c * POINT_NUMBERS, side_of(face, k)) > 1e-9 * h->bound) c++;
            if (c < count) continue;
            if (count == most) return -1;
            memcpy(to + c * POINT_NUMBERS, side_of(face, k), 3 * sizeof *to);
            count++;
        }
    return count;
}

/// Edges: sides that two faces have, one of them from its end to its beginning. Returns how many; -1: more than
/// `most`.
static int put_edges(const mesh_hull *h, int most, double *to)
{
    int count = 0;
    const double *face = h->numbers, near = 1e-9 * h->bound;
    for (int i = 0; i < h->faces; i++, face = next_face(face))
        for (int k = 0; k < (int)face[4]; k++) {
            const double *const from = side_of(face, k), *other = next_face(face);
            double end[3], back[3];
            end_of(from, end);
            for (int j = i + 1; j < h->faces; j++, other = next_face(other))
                for (int l = 0; l < (int)other[4]; l++) {
                    const double *const side = side_of(other, l);
                    end_of(side, back);
                    if (apart3(side, end) > near || apart3(back, from) > near) continue;
                    if (count == most) return -1;
                    double *const edge = to + count++ * EDGE_NUMBERS;
                    for (int c = 0; c < 3; c++) edge[c] = (from[c] + end[c]) / 2, edge[3 + c] = from[3 + c];
                    edge[6] = from[6] / 2;
                    memcpy(edge + 7, from + 7, 3 * sizeof *to), memcpy(edge + 10, side + 7, 3 * sizeof *to);
                    for (int c = 0; c < 3; c++) edge[13 + c] = face[c] + other[c];
                    const double length = sqrt(dot3(edge + 13, edge + 13));
                    for (int c = 0; c < 3; c++) edge[13 + c] /= length;
                }
        }
    return count;
}

static ctn_status put_hull(const mesh_hull *h, touch_shape *to)
{
    int sides = 0;
    const double *face = h->numbers;
    for (int i = 0; i < h->faces; i++, face = next_face(face)) sides += (int)face[4];
    to->kind = CORE_HULL;
    to->count = h->count, to->faces = h->faces, to->groups = h->groups, to->points = h->corners, to->edges = sides / 2;
    if (to->edges > MOST_CORE_LINES) return CTN_BAD_SCENE;
    double *const numbers = malloc((size_t)numbers_of_core(to) * sizeof *numbers), *const points = numbers + h->count;
    if (!numbers) return CTN_NO_MEMORY;
    memcpy(numbers, h->numbers, (size_t)h->count * sizeof *numbers);
    double *const edges = points + to->points * POINT_NUMBERS;
    if (put_corners(h, to->points, points) != to->points || put_edges(h, to->edges, edges) != to->edges) {
        free(numbers);
        return CTN_BAD_SCENE;
    }
    double *plane = edges + to->edges * EDGE_NUMBERS;
    face = h->numbers;
    for (int i = 0; i < h->faces; i++, face = next_face(face), plane += FACE_NUMBERS)
        memcpy(plane, face, 4 * sizeof *plane), plane[4] = (double)(face - h->numbers);
    to->numbers = numbers;
    return CTN_OK;
}

ctn_status make_hull_core(double (*points)[3], int count, double radius, touch_shape *to, char reason[128])
{
    static const double unit[3] = {1, 1, 1}, upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const mesh_surface mesh = {.vertices = points, .nvertex = count};
    mesh_hull hull;
    to->numbers = NULL, to->radius = radius;
    ctn_status status = hull_of_mesh(&hull, &mesh, unit, reason);
    if (status != CTN_OK) return status;
    memcpy(to->at, hull.middle, sizeof to->at), memcpy(to->R, upright, sizeof to->R);
    for (int k = 0; k < 3; k++) to->half[k] = hull.within;
    set_bound(to, hull.bound);
    status = put_hull(&hull, to);
    if (to->edges > MOST_CORE_LINES) strcpy(reason, "has more than 128 corners; take fewer");
    else if (status == CTN_BAD_SCENE)
        strcpy(reason, "has corners too close to each other for its edges to be found; merge these");
    free(hull.numbers);
    return status;
}

ctn_status make_core(const scene_shape *shape, double radius, int points, touch_shape *to, char reason[128])
{
    rounded_point ball[MOST_MESH_POINTS];
    double at[MOST_MESH_POINTS][3];
    to->numbers = NULL, to->radius = radius, to->points = to->edges = to->faces = to->groups = to->count = 0;
    if (shape->type == SHAPE_CYLINDER) return make_cylinder(shape, to);
    if (shape->type == SHAPE_ELLIPSOID) {
        make_ellipsoid(shape, to);
        return CTN_OK;
    }
    const int count = mesh_points(shape, points, ball);
    for (int i = 0; i < count; i++) memcpy(at[i], ball[i].at, sizeof at[i]);
    return make_hull_core(at, count, radius, to, reason);
}
