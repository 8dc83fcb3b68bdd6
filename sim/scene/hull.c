/// Convex hulls: corners are added one by one, the farthest of those that are outside of a triangle, in the place of the triangles
/// that it sees [Barber, Dobkin, Huhdanpaa, The Quickhull Algorithm, 1996]; then triangles in one plane become a face.
#include "sim/scene/hull.h"

#include "contact/hull_numbers.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Counter-clockwise seen from outside; side k leads from corner k to k + 1, and `beside` it is another triangle.
typedef struct triangle {
    int corner[3], beside[3];
    double n[3], height, area;
    int first;  // of the points outside of it, the farthest; -1: none
    bool gone;
    int mark, face;
} triangle;

typedef struct hull_work {
    const double (*x)[3];
    int n;
    double nearly;  // m: what is closer to a plane is on it
    triangle *t;
    int count, room;
    int *next;      // [n] of the list of a triangle
    int *stack;     // [room + 1]
    int (*rim)[3];  // [3 room]: from, to, and the triangle behind
    double lost;    // m: how far a point is outside that has been left out
    int *starts;    // [n]: which new triangle has its rim side begin there
} hull_work;

static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross3(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}
static double beyond(const hull_work *w, const triangle *t, int p) { return dot3(t->n, w->x[p]) - t->height; }

// ---- triangles

static bool grow(hull_work *w)
{
    if (w->count < w->room) return true;
    const size_t room = (size_t)w->room * 2 + 64;
    triangle *const t = realloc(w->t, room * sizeof *t);
    if (t) w->t = t;
    int *const stack = realloc(w->stack, (room + 1) * sizeof *stack);
    if (stack) w->stack = stack;
    int(*const rim)[3] = realloc(w->rim, 3 * room * sizeof *rim);
    if (rim) w->rim = rim;
    if (!t || !stack || !rim) return false;
    w->room = (int)room;
    return true;
}

static void set_plane(hull_work *w, triangle *t)
{
    const double *const a = w->x[t->corner[0]], *const b = w->x[t->corner[1]], *const c = w->x[t->corner[2]];
    double u[3], v[3];
    for (int k = 0; k < 3; k++) u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    cross3(u, v, t->n);
    const double length = sqrt(dot3(t->n, t->n));
    for (int k = 0; k < 3; k++) t->n[k] /= length > 0 ? length : 1;
    t->height = fmax(dot3(t->n, a), fmax(dot3(t->n, b), dot3(t->n, c))), t->area = length / 2;
}

/// A triangle; -1: no memory.
static int add_triangle(hull_work *w, int a, int b, int c)
{
    if (!grow(w)) return -1;
    w->t[w->count] = (triangle){.corner = {a, b, c}, .first = -1, .face = -1};
    set_plane(w, &w->t[w->count]);
    return w->count++;
}

/// Gives a point to the first of the triangles from `from` on that it is outside of; the farthest of them comes first.
static void give_point(hull_work *w, int p, int from)
{
    for (int i = from; i < w->count; i++) {
        triangle *const t = &w->t[i];
        const double d = t->gone ? 0 : beyond(w, t, p);
        if (!(d > w->nearly)) continue;
        if (t->first >= 0 && beyond(w, t, t->first) >= d) w->next[p] = w->next[t->first], w->next[t->first] = p;
        else w->next[p] = t->first, t->first = p;
        return;
    }
}

/// The point with the most of something; `best`: how much.
static int extreme(const hull_work *w, double (*of)(const hull_work *, const int *, int), const int *chosen, double *best)
{
    int at = 0;
    *best = -INFINITY;
    for (int p = 0; p < w->n; p++) {
        const double d = of(w, chosen, p);
        if (d > *best) *best = d, at = p;
    }
    return at;
}
static double from_point(const hull_work *w, const int *c, int p)
{
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = w->x[p][k] - w->x[c[0]][k];
    return sqrt(dot3(d, d));
}
static double from_line(const hull_work *w, const int *c, int p)
{
    double d[3], e[3], n[3];
    for (int k = 0; k < 3; k++) d[k] = w->x[p][k] - w->x[c[0]][k], e[k] = w->x[c[1]][k] - w->x[c[0]][k];
    cross3(d, e, n);
    return sqrt(dot3(n, n) / dot3(e, e));
}
static double from_plane(const hull_work *w, const int *c, int p)
{
    triangle t = {.corner = {c[0], c[1], c[2]}};
    set_plane((hull_work *)w, &t);
    return fabs(beyond(w, &t, p));
}

/// Four points far apart, as a tetrahedron. 0: they are all in a plane; -1: no memory.
static int begin_hull(hull_work *w)
{
    double d = 0;
    int c[4] = {0};
    c[0] = extreme(w, from_point, c, &d);
    c[1] = extreme(w, from_point, c, &d);
    if (!(d > 100 * w->nearly)) return 0;
    c[2] = extreme(w, from_line, c, &d);
    if (!(d > 100 * w->nearly)) return 0;
    c[3] = extreme(w, from_plane, c, &d);
    if (!(d > 100 * w->nearly)) return 0;
    triangle t = {.corner = {c[0], c[1], c[2]}};
    set_plane(w, &t);
    if (beyond(w, &t, c[3]) > 0) {
        const int swap = c[1];
        c[1] = c[2], c[2] = swap;
    }
    static const int corners[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}},
                     beside[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    for (int i = 0; i < 4; i++)
        if (add_triangle(w, c[corners[i][0]], c[corners[i][1]], c[corners[i][2]]) < 0) return -1;
    for (int i = 0; i < 4; i++) memcpy(w->t[i].beside, beside[i], sizeof beside[i]);
    for (int p = 0; p < w->n; p++)
        if (p != c[0] && p != c[1] && p != c[2] && p != c[3]) give_point(w, p, 0);
    return 1;
}

/// The triangles that a point sees, from one of them on: they are marked, and their rim is listed. Returns how long that is.
static int find_rim(hull_work *w, int from, int p, int mark)
{
    int top = 0, rim = 0;
    w->stack[top++] = from, w->t[from].mark = mark;
    for (int at = 0; at < top; at++) {  // the stack keeps all of them
        const triangle *const t = &w->t[w->stack[at]];
        for (int k = 0; k < 3; k++) {
            triangle *const other = &w->t[t->beside[k]];
            if (other->mark == mark) continue;
            if (beyond(w, other, p) > w->nearly) other->mark = mark, w->stack[top++] = t->beside[k];
        }
    }
    for (int at = 0; at < top; at++) {
        const triangle *const t = &w->t[w->stack[at]];
        for (int k = 0; k < 3; k++)
            if (w->t[t->beside[k]].mark != mark) {
                w->rim[rim][0] = t->corner[k], w->rim[rim][1] = t->corner[(k + 1) % 3], w->rim[rim++][2] = t->beside[k];
            }
    }
    w->stack[top] = -1;
    return rim;
}

/// Whether the sides of a rim are one way round; `starts` says which side begins at a point.
static bool is_ring(hull_work *w, int rim)
{
    for (int i = 0; i < rim; i++) w->starts[w->rim[i][0]] = -1;
    for (int i = 0; i < rim; i++) {
        if (w->starts[w->rim[i][0]] >= 0) return false;
        w->starts[w->rim[i][0]] = i;
    }
    int at = 0;
    for (int i = 0; i < rim; i++) {
        const int to = w->rim[at][1];
        at = w->starts[to];
        if (at < 0 || at >= rim || w->rim[at][0] != to || (at == 0 && i + 1 < rim)) return false;
    }
    return at == 0;
}

/// Adds the farthest point that triangle i has outside. A point whose rim is no ring is nearly in the planes of several triangles
/// and is left out. False: no memory.
static bool add_corner(hull_work *w, int i, int mark)
{
    const int p = w->t[i].first;
    const int rim = find_rim(w, i, p, mark);
    if (!is_ring(w, rim)) {
        w->lost = fmax(w->lost, beyond(w, &w->t[i], p)), w->t[i].first = w->next[p];
        return true;
    }
    int points = -1;  // of all that go
    for (int k = 0; w->stack[k] >= 0; k++) {
        triangle *const t = &w->t[w->stack[k]];
        t->gone = true;
        for (int q = t->first, after; q >= 0; q = after) {
            after = w->next[q];
            if (q != p) w->next[q] = points, points = q;
        }
    }
    const int first = w->count;
    for (int k = 0; k < rim; k++) {
        const int from = w->rim[k][0], to = w->rim[k][1], behind = w->rim[k][2], t = add_triangle(w, from, to, p);
        if (t < 0) return false;
        w->t[t].beside[0] = behind;
        for (int s = 0; s < 3; s++)
            if (w->t[behind].corner[s] == to && w->t[behind].corner[(s + 1) % 3] == from) w->t[behind].beside[s] = t;
    }
    for (int k = 0; k < rim; k++) {  // the one after it begins where it ends
        const int t = first + k, after = first + w->starts[w->rim[k][1]];
        w->t[t].beside[1] = after, w->t[after].beside[2] = t;
    }
    for (int q = points, after; q >= 0; q = after) after = w->next[q], give_point(w, q, first);
    return true;
}

// ---- faces

static int by_area(const void *a, const void *b)
{
    const triangle *const *const s = a, *const *const t = b;
    return (*s)->area < (*t)->area ? 1 : (*s)->area > (*t)->area ? -1 : *s < *t ? -1 : 1;
}

/// Marks what is in the plane of triangle i, and hangs together with it, as one face.
static void spread_face(hull_work *w, int i, int face)
{
    int top = 0;
    const triangle *const seed = &w->t[i];
    w->stack[top++] = i, w->t[i].face = face;
    for (int at = 0; at < top; at++)
        for (int k = 0; k < 3; k++) {
            triangle *const t = &w->t[w->t[w->stack[at]].beside[k]];
            bool flat = t->face < 0;
            for (int c = 0; c < 3 && flat; c++) flat = fabs(beyond(w, seed, t->corner[c])) <= 4 * w->nearly;
            if (flat) t->face = face, w->stack[top++] = w->t[w->stack[at]].beside[k];
        }
    w->stack[top] = -1;
}

/// Writes a side from a to b of a face with the normal n.
static void put_side(double *to, const double *n, const double *a, const double *b)
{
    double *const way = to + 3;
    memcpy(to, a, 3 * sizeof *to);
    for (int k = 0; k < 3; k++) way[k] = b[k] - a[k];
    to[6] = sqrt(dot3(way, way));
    for (int k = 0; k < 3; k++) way[k] /= to[6];
    cross3(way, n, to + 7);
    const double length = sqrt(dot3(to + 7, to + 7));
    for (int k = 0; k < 3; k++) to[7 + k] /= length;
}

/// Writes the face that has been spread from `seed`. Returns the end.
static double *put_face(hull_work *w, const triangle *seed, double *to)
{
    double *const head = to;
    int sides = 0;
    memcpy(head, seed->n, 3 * sizeof *head);
    to += HULL_FACE;
    for (int at = 0; w->stack[at] >= 0; at++) {
        const triangle *const t = &w->t[w->stack[at]];
        for (int k = 0; k < 3; k++) {
            if (w->t[t->beside[k]].face == seed->face) continue;
            put_side(to, seed->n, w->x[t->corner[k]], w->x[t->corner[(k + 1) % 3]]);
            w->starts[t->corner[k]] = 1;
            to += HULL_SIDE, sides++;
        }
    }
    head[3] = -INFINITY, head[4] = sides;
    for (const double *side = head + HULL_FACE; side < to; side += HULL_SIDE) head[3] = fmax(head[3], dot3(head, side));
    return to;
}

/// Faces in the making of groups: where they begin in the numbers.
typedef struct {
    double *numbers, *to;  // to: the end
    int *other;            // [faces] scratch
    int groups;
} grouping;

/// The middle of the corners of these faces, and how far they are from it, a little more than rounding.
static void put_ball(const grouping *g, const int *face, int count, double *to)
{
    int corners = 0;
    for (int i = 0; i < count; i++) {
        const double *side = g->numbers + face[i] + HULL_FACE;
        for (int n = (int)side[-1]; n--; side += HULL_SIDE, corners++)
            for (int k = 0; k < 3; k++) to[k] += side[k];
    }
    for (int k = 0; k < 3; k++) to[k] /= corners;
    for (int i = 0; i < count; i++) {
        const double *side = g->numbers + face[i] + HULL_FACE;
        for (int n = (int)side[-1]; n--; side += HULL_SIDE)
            to[3] = fmax(to[3], hypot(hypot(side[0] - to[0], side[1] - to[1]), side[2] - to[2]));
    }
}

/// Writes the group of these faces.
static void put_group(grouping *g, const int *face, int count)
{
    double *const c = g->to, length = 0;
    for (int k = 0; k < HULL_GROUP; k++) c[k] = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) c[k] += g->numbers[face[i] + k];
    length = sqrt(dot3(c, c));
    if (length > 0)
        for (int k = 0; k < 3; k++) c[k] /= length;
    else c[0] = 1;
    c[3] = 1, c[5] = INFINITY, c[6] = -INFINITY, c[7] = count;
    for (int i = 0; i < count; i++) {
        const double *const n = g->numbers + face[i];
        double across[3];
        cross3(n, c, across);
        c[3] = fmin(c[3], dot3(n, c)), c[4] = fmax(c[4], sqrt(dot3(across, across)));
        c[5] = fmin(c[5], n[3]), c[6] = fmax(c[6], n[3]), c[HULL_GROUP + i] = face[i];
    }
    put_ball(g, face, count, c + 8);
    g->to += HULL_GROUP + count, g->groups++;
}

/// Halves faces, along the axis along which their normals differ most, until few are left. Keeps their order.
static void group_faces(grouping *g, int *face, int count)
{
    enum { FEW = 16 };
    double least[3], most[3];
    int axis = 0, low = 0, high = 0;
    for (int k = 0; k < 3; k++) {
        least[k] = INFINITY, most[k] = -INFINITY;
        for (int i = 0; i < count; i++) {
            const double n = g->numbers[face[i] + k];
            least[k] = fmin(least[k], n), most[k] = fmax(most[k], n);
        }
        if (most[k] - least[k] > most[axis] - least[axis]) axis = k;
    }
    const double middle = (least[axis] + most[axis]) / 2;
    if (count <= FEW || !(middle > least[axis] && middle < most[axis])) {
        put_group(g, face, count);
        return;
    }
    for (int i = 0; i < count; i++)
        if (g->numbers[face[i] + axis] < middle) face[low++] = face[i];
        else g->other[high++] = face[i];
    memcpy(face + low, g->other, (size_t)high * sizeof *face);
    group_faces(g, face, low), group_faces(g, face + low, high);
}

/// Puts all faces into groups, after their numbers. CTN_NO_MEMORY.
static ctn_status put_groups(mesh_hull *hull)
{
    const size_t n = (size_t)hull->faces;
    int *const face = malloc((2 * n + 1) * sizeof *face);
    if (!face) return CTN_NO_MEMORY;
    grouping g = {.numbers = hull->numbers, .to = hull->numbers + hull->count, .other = face + n};
    for (int i = 0, at = 0; i < hull->faces; i++) {
        face[i] = at;
        at += HULL_FACE + HULL_SIDE * (int)hull->numbers[at + 4];
    }
    group_faces(&g, face, hull->faces);
    hull->count = (int)(g.to - hull->numbers), hull->groups = g.groups;
    free(face);
    return CTN_OK;
}

/// Makes the numbers of all faces, the largest triangles' first. CTN_NO_MEMORY.
static ctn_status put_faces(hull_work *w, mesh_hull *hull)
{
    size_t n = 0;
    triangle **const order = malloc((size_t)w->count * sizeof *order);
    for (int i = 0; i < w->count && order; i++)
        if (!w->t[i].gone) order[n++] = &w->t[i];
    hull->numbers = malloc(n * (HULL_FACE + 3 * HULL_SIDE + 1 + HULL_GROUP) * sizeof *hull->numbers + 1);
    const bool ok = order && hull->numbers;
    if (ok) {
        double *to = hull->numbers;
        for (int p = 0; p < w->n; p++) w->starts[p] = 0;  // from here on: whether it is a corner
        qsort(order, n, sizeof *order, by_area);
        for (size_t i = 0; i < n; i++) {
            if (order[i]->face >= 0) continue;
            spread_face(w, (int)(order[i] - w->t), hull->faces++);
            to = put_face(w, order[i], to);
        }
        hull->count = (int)(to - hull->numbers);
        for (int p = 0; p < w->n; p++) hull->corners += w->starts[p];
    }
    free(order);
    return ok ? put_groups(hull) : CTN_NO_MEMORY;
}

/// How far a corner is outside, or a point that has been left out.
static double farthest(const hull_work *w, const mesh_hull *hull)
{
    double most = w->lost;
    const double *face = hull->numbers;
    for (int i = 0; i < hull->faces; i++, face += HULL_FACE + HULL_SIDE * (int)face[4])
        for (int p = 0; p < w->n; p++)
            if (w->starts[p]) most = fmax(most, dot3(face, w->x[p]) - face[3]);
    return most;
}

// ---- the hull of a mesh

/// Adds corners until nothing is outside.
static ctn_status make_hull(hull_work *w, mesh_hull *hull, char reason[128])
{
    const int begun = begin_hull(w);
    int mark = 0, added = 4;
    if (begun < 0) return CTN_NO_MEMORY;
    if (!begun) return snprintf(reason, 128, "encloses nothing: its vertices are in a plane"), CTN_BAD_SCENE;
    for (int i = 0; i < w->count; i++)
        while (!w->t[i].gone && w->t[i].first >= 0) {
            if (added++ == HULL_MOST_CORNERS)
                return snprintf(reason, 128, "has more than %d corners; take a coarser mesh", (int)HULL_MOST_CORNERS),
                       CTN_BAD_SCENE;
            if (!add_corner(w, i, ++mark)) return CTN_NO_MEMORY;
        }
    const ctn_status status = put_faces(w, hull);
    if (status == CTN_OK && farthest(w, hull) > 100 * w->nearly)
        return snprintf(reason, 128, "has corners too close to each other for its faces to be found; merge these"), CTN_BAD_SCENE;
    return status;
}

static double least_from_planes(const mesh_hull *h, const double *x)
{
    const double *face = h->numbers;
    double least = h->bound;
    for (int k = 0; k < h->faces; k++, face += HULL_FACE + (int)face[4] * HULL_SIDE) least = fmin(least, face[3] - dot3(face, x));
    return least;
}

/// The centre of mass is in it, and as far from its faces as a quarter of how thick it is; the middle may be outside.
static double ball_within(const mesh_hull *h)
{
    const double *face = h->numbers, none[3] = {0};
    double volume = 0, moment[3] = {0};
    for (int k = 0; k < h->faces; k++, face += HULL_FACE + (int)face[4] * HULL_SIDE) {
        const double *const first = face + HULL_FACE, *side = first;
        for (int i = 0; i < (int)face[4]; i++, side += HULL_SIDE) {  // a tetrahedron from the middle, to each of its sides
            double end[3], across[3];
            for (int c = 0; c < 3; c++) end[c] = side[c] + side[6] * side[3 + c];
            cross3(side, end, across);
            const double six = dot3(first, across);
            volume += six / 6;
            for (int c = 0; c < 3; c++) moment[c] += six / 24 * (first[c] + side[c] + end[c]);
        }
    }
    for (int c = 0; c < 3; c++) moment[c] /= volume;
    const double least = volume > 0 ? least_from_planes(h, moment) : 0;
    return fmax(fmax(least_from_planes(h, none), least), 1e-6 * h->bound);
}

ctn_status hull_of_mesh(mesh_hull *hull, const mesh_surface *mesh, const double scale[3], char reason[128])
{
    *hull = (mesh_hull){0};
    const size_t n = (size_t)mesh->nvertex;
    double least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY};
    double(*const x)[3] = malloc((n + 1) * sizeof *x);
    hull_work w = {.x = (const double(*)[3])x, .n = mesh->nvertex};
    w.next = malloc((n + 1) * sizeof *w.next), w.starts = malloc((n + 1) * sizeof *w.starts);
    if (!x || !w.next || !w.starts) {
        free(x), free(w.next), free(w.starts);
        return CTN_NO_MEMORY;
    }
    for (size_t p = 0; p < n; p++) {
        w.starts[p] = -1;
        for (int k = 0; k < 3; k++) {
            x[p][k] = mesh->vertices[p][k] * scale[k];
            least[k] = fmin(least[k], x[p][k]), most[k] = fmax(most[k], x[p][k]);
        }
    }
    for (int k = 0; k < 3; k++) hull->middle[k] = n ? (least[k] + most[k]) / 2 : 0;
    for (size_t p = 0; p < n; p++) {
        for (int k = 0; k < 3; k++) x[p][k] -= hull->middle[k];
        hull->bound = fmax(hull->bound, sqrt(dot3(x[p], x[p])));
    }
    w.nearly = 1e-10 * hull->bound;
    const ctn_status status = make_hull(&w, hull, reason);
    if (status != CTN_OK) free(hull->numbers), hull->numbers = NULL;
    else hull->within = ball_within(hull);
    free(x), free(w.t), free(w.next), free(w.stack), free(w.rim), free(w.starts);
    return status;
}
