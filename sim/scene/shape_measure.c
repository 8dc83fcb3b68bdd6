/// Moments of the volumes and surfaces of shapes, and points that stand for them. A drag that goes with the velocity is a
/// quadratic form in it, so that moments up to the second are all that it needs of a body (docs/theory.md 4.8).
#include "sim/scene/shape_measure.h"

#include "sim/scene/scene_reader.h"

#include <math.h>
#include <string.h>

static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};

const char *part_lacks(const scene_shape *shape, shape_part part)
{
    const bool round_bar = shape->type == SHAPE_CAPSULE || shape->type == SHAPE_CYLINDER;
    if (part == PART_AXIS && !round_bar) return "has no axis: capsules and cylinders have; take `over: surface` or volume";
    if (part == PART_FACES && shape->type != SHAPE_BOX) return "has no faces: boxes have; take `over: surface` or volume";
    if (part == PART_VOLUME && shape->mesh && *shape->mesh->surface.flaw)
        return "encloses no volume (its surface is not closed): mend its file, or take `over: surface`";
    return NULL;
}

/// The moments that go with a mass that is spread evenly: of inertia, (tr I / 2) 1 - I.
static part_moments moments_of_mass(const mass_properties *p)
{
    const double *const I = p->inertia, half = (I[0] + I[1] + I[2]) / 2;
    part_moments m = {.size = p->mass, .second = {half - I[0], half - I[1], half - I[2], -I[3], -I[4], -I[5]}};
    memcpy(m.center, p->com, sizeof m.center);
    return m;
}

/// across 1 + (along - across) u u' about the unit axis u.
static void round_moments(const double u[3], double along, double across, double S[6])
{
    for (int k = 0; k < 6; k++) S[k] = (along - across) * u[row[k]] * u[col[k]] + (k < 3 ? across : 0);
}

static void axis_of(const scene_shape *shape, double u[3], double *length)
{
    for (int i = 0; i < 3; i++) u[i] = shape->to[i] - shape->from[i];
    *length = norm(u, 3);
    for (int i = 0; i < 3; i++) u[i] /= *length;
}

/// A cylinder's side, and two discs or half spheres.
static part_moments round_bar_surface(const scene_shape *shape)
{
    double u[3], L;
    axis_of(shape, u, &L);
    const double r = shape->radius, side = 2 * M_PI * r * L;
    const bool capsule = shape->type == SHAPE_CAPSULE;
    const double ends = (capsule ? 4 : 2) * M_PI * r * r;
    part_moments m = {.size = side + ends};
    for (int i = 0; i < 3; i++) m.center[i] = shape->from[i] + 0.5 * (shape->to[i] - shape->from[i]);
    const double along = side * L * L / 12 + ends * (L * L / 4 + (capsule ? L * r / 2 + r * r / 3 : 0));
    const double across = side * r * r / 2 + ends * r * r * (capsule ? 1.0 / 3 : 1.0 / 4);
    round_moments(u, along, across, m.second);
    return m;
}

static part_moments box_surface(const scene_shape *shape)
{
    const double *const a = shape->size, face[3] = {a[1] * a[2], a[2] * a[0], a[0] * a[1]};
    part_moments m = {.size = 2 * (face[0] + face[1] + face[2])};
    double axis[3][3];
    memcpy(m.center, shape->center, sizeof m.center);
    for (int i = 0; i < 3; i++) {
        const double e[3] = {i == 0, i == 1, i == 2};
        rotate(shape->rotation, e, axis[i]);
        // two faces half of a away, and four across
        const double x = a[i] * a[i] * (face[i] / 2 + (m.size / 2 - face[i]) / 6);
        for (int k = 0; k < 6; k++) m.second[k] += x * axis[i][row[k]] * axis[i][col[k]];
    }
    return m;
}

/// Nodes and weights of Gauss and Legendre on [0, 1], by Newton's method.
static void gauss_nodes(int n, double *x, double *w)
{
    for (int i = 0; i < n; i++) {
        double z = cos(M_PI * (i + 0.75) / (n + 0.5)), slope = 1;
        for (int pass = 0; pass < 10; pass++) {
            double p = 1, before = 0;
            for (int k = 0; k < n; k++) {
                const double next = ((2 * k + 1) * z * p - k * before) / (k + 1);
                before = p, p = next;
            }
            slope = n * (z * p - before) / (z * z - 1);
            z -= p / slope;
        }
        x[i] = (1 - z) / 2, w[i] = 1 / ((1 - z * z) * slope * slope);
    }
}

/// The image of the unit sphere, whose parts grow by a_i a_j a_k |n_i / a_i|: an eighth of it by n times n points, twice as many
/// until nothing changes. Down to shapes 100 times as long as thick to 1e-9, and better where they are rounder.
static part_moments ellipsoid_surface(const scene_shape *shape)
{
    enum { MOST = 512 };
    static const double none[3] = {0};
    const double *const a = shape->size;
    double x[MOST], w[MOST], last[4] = {0}, sum[4] = {0}, change = 1;
    for (int n = 16; n <= MOST && change > 1e-14; n *= 2) {
        memset(sum, 0, sizeof sum);
        gauss_nodes(n, x, w);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                const double turn = M_PI / 2 * (j + 0.5) / n, across = sqrt(1 - x[i] * x[i]);
                const double u[3] = {across * cos(turn), across * sin(turn), x[i]};
                const double area =
                    4 * M_PI * w[i] / n * norm((double[]){a[1] * a[2] * u[0], a[2] * a[0] * u[1], a[0] * a[1] * u[2]}, 3);
                sum[3] += area;
                for (int k = 0; k < 3; k++) sum[k] += area * a[k] * a[k] * u[k] * u[k];
            }
        change = 0;
        for (int k = 0; k < 4; k++) change = fmax(change, fabs(sum[k] - last[k]) / sum[k]), last[k] = sum[k];
    }
    part_moments m = {.size = sum[3]};
    double axis[3][3];
    memcpy(m.center, shape->center, sizeof none);
    for (int k = 0; k < 3; k++) {
        const double e[3] = {k == 0, k == 1, k == 2};
        rotate(shape->rotation, e, axis[k]);
        for (int i = 0; i < 6; i++) m.second[i] += sum[k] * axis[k][row[i]] * axis[k][col[i]];
    }
    return m;
}

/// Triangle by triangle: the integral of p p' over one with the corners a, b, c and the sum s of them is A/12 (a a' + b b' + c c'
/// + s s').
static part_moments mesh_surface_moments(const scene_shape *shape)
{
    const mesh_surface *const f = &shape->mesh->surface;
    part_moments m = {.size = 0};
    for (int t = 0; t < f->ntriangle; t++) {
        double p[3][3], s[3], n[3];
        for (int c = 0; c < 3; c++) {
            for (int i = 0; i < 3; i++) p[c][i] = shape->size[i] * f->vertices[f->triangles[t][c]][i];
            rotate(shape->rotation, p[c], p[c]);
            for (int i = 0; i < 3; i++) p[c][i] += shape->center[i];
        }
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            n[i] = (p[1][j] - p[0][j]) * (p[2][k] - p[0][k]) - (p[1][k] - p[0][k]) * (p[2][j] - p[0][j]);
            s[i] = p[0][i] + p[1][i] + p[2][i];
        }
        const double area = norm(n, 3) / 2;
        m.size += area;
        for (int i = 0; i < 3; i++) m.center[i] += area / 3 * s[i];
        for (int k = 0; k < 6; k++) {
            double sum = s[row[k]] * s[col[k]];
            for (int c = 0; c < 3; c++) sum += p[c][row[k]] * p[c][col[k]];
            m.second[k] += area / 12 * sum;
        }
    }
    for (int i = 0; i < 3; i++) m.center[i] /= m.size;
    for (int k = 0; k < 6; k++) m.second[k] -= m.size * m.center[row[k]] * m.center[col[k]];
    return m;
}

part_moments shape_moments(const scene_shape *shape, shape_part part)
{
    if (part == PART_VOLUME) {
        const mass_properties p = shape_mass(shape, 1);
        return moments_of_mass(&p);
    }
    if (shape->type == SHAPE_MESH) return mesh_surface_moments(shape);
    if (shape->type == SHAPE_BOX) return box_surface(shape);
    if (shape->type == SHAPE_ELLIPSOID) return ellipsoid_surface(shape);
    if (shape->type != SHAPE_SPHERE) return round_bar_surface(shape);
    const double r = shape->radius, area = 4 * M_PI * r * r, x = area * r * r / 3;
    part_moments m = {.size = area, .second = {x, x, x}};
    memcpy(m.center, shape->center, sizeof m.center);
    return m;
}

part_moments link_mass_moments(const scene_link *link)
{
    mass_properties p = {.mass = link->mass};
    memcpy(p.com, link->com, sizeof p.com), memcpy(p.inertia, link->inertia, sizeof p.inertia);
    return moments_of_mass(&p);
}

part_moments combine_parts(const part_moments *parts, int n)
{
    part_moments all = {.size = 0};
    for (int k = 0; k < n; k++) all.size += parts[k].size;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) all.center[i] += parts[k].size / all.size * parts[k].center[i];
    for (int k = 0; k < n; k++)
        for (int e = 0; e < 6; e++) {
            const double x = parts[k].center[row[e]] - all.center[row[e]], y = parts[k].center[col[e]] - all.center[col[e]];
            all.second[e] += parts[k].second[e] + parts[k].size * x * y;
        }
    return all;
}

/// c + B s for the corners s of a tetrahedron in the cube [-1, 1]^3, whose mean of s s' is 1, with B B' = second / size.
part_points points_of(const part_moments *m)
{
    static const double corner[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    static const int entry[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    double B[3][3] = {{0}};  // Cholesky's factor
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            double x = m->second[entry[i][j]] / m->size;
            for (int k = 0; k < j; k++) x -= B[i][k] * B[j][k];
            B[i][j] = i == j ? sqrt(fmax(x, 0)) : B[j][j] > 0 ? x / B[j][j] : 0;
        }
    part_points P = {.count = 4};
    for (int c = 0; c < 4; c++) {
        P.weight[c] = m->size / 4;
        for (int i = 0; i < 3; i++) {
            P.at[c][i] = m->center[i];
            for (int k = 0; k <= i; k++) P.at[c][i] += B[i][k] * corner[c][k];
        }
    }
    return P;
}

/// Gauss's.
part_points points_of_axis(const scene_shape *shape, int count, double axis[3])
{
    const double inner = sqrt(3.0 / 7 - 2.0 / 7 * sqrt(1.2)), outer = sqrt(3.0 / 7 + 2.0 / 7 * sqrt(1.2));
    const double place[4] = {count == 2 ? -1 / sqrt(3) : -outer, count == 2 ? 1 / sqrt(3) : outer, -inner, inner};
    double L;
    axis_of(shape, axis, &L);
    part_points P = {.count = count};
    for (int c = 0; c < count; c++) {
        P.weight[c] = L / 2 * (count == 2 ? 1 : (18 + (c < 2 ? -1 : 1) * sqrt(30)) / 36);
        for (int i = 0; i < 3; i++) {
            const double middle = shape->from[i] + 0.5 * (shape->to[i] - shape->from[i]);
            P.at[c][i] = middle + 0.5 * place[c] * L * axis[i];
        }
    }
    return P;
}

/// Gauss's two by two. What is across a face does not count: its drag is by its velocity along the axis.
part_points points_of_faces(const scene_shape *box, int k, double axis[3])
{
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const double e[3] = {k == 0, k == 1, k == 2};
    part_points P = {.count = 4};
    rotate(box->rotation, e, axis);
    for (int c = 0; c < 4; c++) {
        double at[3] = {0};
        at[i] = (c & 1 ? 0.5 : -0.5) * box->size[i] / sqrt(3), at[j] = (c & 2 ? 0.5 : -0.5) * box->size[j] / sqrt(3);
        rotate(box->rotation, at, P.at[c]);
        for (int d = 0; d < 3; d++) P.at[c][d] += box->center[d];
        P.weight[c] = box->size[i] * box->size[j] / 2;
    }
    return P;
}

void carried_moments(const part_moments *volume, double second[6])
{
    const double *const S = volume->second, trace = S[0] + S[1] + S[2];
    const double inertia[6] = {trace - S[0], trace - S[1], trace - S[2], -S[3], -S[4], -S[5]};
    double most[3];
    inertia_possible(inertia, most);
    const double least = fmax(trace - fmax(fmax(most[0], most[1]), most[2]), 0);
    for (int k = 0; k < 6; k++) second[k] = S[k] - (k < 3 ? least : 0);
}
