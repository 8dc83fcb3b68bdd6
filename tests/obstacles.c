/// What is fixed in the world besides the ground (contact/surface.h, contact/terrain.h): gaps and their derivatives, energies of
/// steps, what rests on it and how deep, the same bits everywhere, keys of scenes.
#include "tests/kernels.h"

#include "sim/engine/engine.h"
#include "sim/model/contact_points.h"
#include "sim/model/model.h"
#include "sim/model/surfaces.h"
#include "tests/ground_checks.h"
#include "tests/ground_scenes.h"
#include "tests/random_scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <unistd.h>
#include <zlib.h>

#define HILLS CATENA_SOURCE_DIR "/scenes/hills.pgm"
#define ROCK CATENA_SOURCE_DIR "/tests/golden/rock.obj"

enum { BOX = 2, ELLIPSOID = 4, HULL, TERRAIN };  // of all_surfaces()

#define BALL(x, z)                                                                                                               \
    "links:\n  - {name: a, position: [" x ", 0, " z "], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n"

static vec3 random_vector(rng *r, double most)
{
    const double x = rng_uniform(r, -most, most), y = rng_uniform(r, -most, most), z = rng_uniform(r, -most, most);
    return vec(x, y, z);
}

/// A scene with a ball and all kinds of surfaces; the terrain is the last.
static ctn_model *all_surfaces(void)
{
    return model_of(
        "catena: 1\nobstacles:\n"
        "  - {type: sphere, center: [0.1, 0.2, 0.3], radius: 0.4}\n"
        "  - {type: capsule, from: [0.3, -0.2, 0.1], to: [-0.2, 0.3, 0.5], radius: 0.25}\n"
        "  - {type: box, center: [-0.1, 0.1, 0], size: [0.8, 0.5, 0.3], euler: [0.3, -0.5, 0.9]}\n"
        "  - {type: cylinder, from: [0.1, 0.1, -0.4], to: [0.2, -0.3, 0.3], radius: 0.3}\n"
        "  - {type: ellipsoid, center: [0.1, -0.1, 0.05], radii: [0.7, 0.25, 0.4], euler: [0.4, 0.2, -0.6]}\n"
        "  - {type: mesh, file: " ROCK ", position: [0.1, 0.05, -0.1], scale: [0.5, 0.6, 0.7], euler: [-0.3, 0.5, 0.2]}\n"
        "terrain: {file: " HILLS ", size: [2.4, 2], height: [-0.1, 0.5], position: [0.2, -0.1, -0.3], "
        "euler: [0.1, 0.2, 0.3]}\n"
        "links:\n  - {name: ball, position: [0, 0, 3], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n");
}

/// The distance from x to a segment.
static double segment_distance(const double *from, const double *to, vec3 x)
{
    const vec3 a = const3(from), d = sub(const3(to), a), y = sub(x, a);
    const double t = fmin(fmax(dot(y, d) / dot(d, d), 0), 1);
    const vec3 r = sub_scaled(y, d, t);
    return sqrt(dot(r, r));
}

/// Gaps as distances are found where they are not: of a sphere and a capsule by their axes; of a box and a cylinder by the nearest
/// of many points on their faces.
START_TEST(gaps_are_distances)
{
    ctn_model *const m = all_surfaces();
    const fixed_surface *const f = m->surfaces;
    rng r = {5};
    for (int k = 0; k < 400; k++) {
        const vec3 x = random_vector(&r, 1.2), d = sub(x, vec(0.1, 0.2, 0.3));
        ck_assert_double_eq_tol(stand_at(&f[0], x, NULL).gap, sqrt(dot(d, d)) - 0.4, 1e-15);
        const double capsule = segment_distance((double[]){0.3, -0.2, 0.1}, (double[]){-0.2, 0.3, 0.5}, x) - 0.25;
        ck_assert_double_eq_tol(stand_at(&f[1], x, NULL).gap, capsule, 1e-14);
        for (int s = 2; s < 4; s++) {  // grids of points on the surface, in its axes
            enum { N = 60 };
            const surface_point at = stand_at(&f[s], x, NULL);
            const vec3 y = tmul(const33(f[s].R), sub(x, const3(f[s].at)));
            double least = INFINITY;
            for (int face = 0; face < 6; face++)
                for (int i = 0; i <= N; i++)
                    for (int j = 0; j <= N; j++) {
                        const double u = 2. * i / N - 1, v = 2. * j / N - 1, side = face % 2 ? 1 : -1, turn = M_PI * v;
                        const double box[3] = {face / 2 == 0 ? side : u,
                                               face / 2 == 1   ? side
                                               : face / 2 == 0 ? u
                                                               : v,
                                               face / 2 == 2 ? side : v};
                        vec3 p = vec(box[0] * f[s].half[0], box[1] * f[s].half[1], box[2] * f[s].half[2]);
                        const double share = face < 2 ? 1 : 0.5 + 0.5 * u;
                        if (s == 3)
                            p = vec(share * f[s].radius * cos(turn), share * f[s].radius * sin(turn),
                                    f[s].half[2] * (face < 2 ? u : side));
                        const vec3 off = sub(y, p);
                        least = fmin(least, sqrt(dot(off, off)));
                    }
            ck_assert_msg(fabs(fabs(at.gap) - least) < 0.02 && fabs(at.gap) < least + 1e-12, "surface %d: gap %g, not %g", s,
                          at.gap, least);
        }
    }
    ctn_model_free(m);
}
END_TEST

/// The distance from x to a triangle, by the nearest of its inside, sides and corners.
static double triangle_distance(const double *a, const double *b, const double *c, vec3 x)
{
    const vec3 u = sub(const3(b), const3(a)), v = sub(const3(c), const3(a)), y = sub(x, const3(a));
    const double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), yu = dot(y, u), yv = dot(y, v), det = uu * vv - uv * uv;
    const double s = (vv * yu - uv * yv) / det, t = (uu * yv - uv * yu) / det;
    const vec3 n = cross(u, v);
    if (det > 0 && s >= 0 && t >= 0 && s + t <= 1) return fabs(dot(n, y)) / sqrt(dot(n, n));
    return fmin(segment_distance(a, b, x), fmin(segment_distance(b, c, x), segment_distance(c, a, x)));
}

/// The signed distance from x to the convex hull of points [n], without their faces: outside the nearest of all triangles of them,
/// inside the nearest of all planes through three of them which have all others on one side.
static double hull_distance(const double (*p)[3], int n, vec3 x)
{
    double outside = INFINITY, inside = -INFINITY;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++)
            for (int c = 0; c < b; c++) {
                const vec3 normal = cross(sub(const3(p[b]), const3(p[a])), sub(const3(p[c]), const3(p[a])));
                double least = 0, most = 0;
                outside = fmin(outside, triangle_distance(p[a], p[b], p[c], x));
                for (int k = 0; k < n; k++) {
                    const double d = dot(normal, sub(const3(p[k]), const3(p[a])));
                    least = fmin(least, d), most = fmax(most, d);
                }
                const double d = dot(normal, sub(x, const3(p[a]))), length = sqrt(dot(normal, normal));
                if (most < 1e-9 * length) inside = fmax(inside, d / length);
                else if (least > -1e-9 * length) inside = fmax(inside, -d / length);
            }
    return inside > 0 ? outside : inside;
}

/// Of a mesh: its hull, found without faces; with vertices inside, in a plane of many, scaled and turned.
START_TEST(hulls_are_distances)
{
    ctn_error err;
    char text[600];
    int inside = 0;
    for (int of = 0; of < 2; of++) {
        snprintf(
            text, sizeof text,
            "catena: 1\nobstacles: [{type: mesh, file: %s, position: [0.1, 0.2, 0.3], scale: [0.5, -0.6, 0.7], euler: [0.3, 0.5, "
            "0.2]}]\n" BALL("0", "9"),
            of ? CATENA_SOURCE_DIR "/tests/golden/mjcf/cube.obj" : ROCK);
        ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "text.yaml", &err);
        ck_assert_msg(scene != NULL, "%s", err.message);
        ctn_model *const m = ctn_model_create(scene, &err);
        const mesh_surface *const mesh = &scene->meshes[scene->nmesh - 1]->surface;
        const scene_obstacle *const o = scene->contact.obstacles;
        double R[9], p[64][3];
        rotation_matrix(o->shape.rotation, R);
        ck_assert_int_le(mesh->nvertex, 64);
        for (int k = 0; k < mesh->nvertex; k++) {
            const vec3 own = vec(0.5 * mesh->vertices[k][0], 0.6 * mesh->vertices[k][1], 0.7 * mesh->vertices[k][2]);
            store3(p[k], add(const3(o->shape.center), mul(const33(R), own)));
        }
        const int cube = 6 * HULL_FACE + 24 * HULL_SIDE + HULL_GROUP + 6;
        if (of) ck_assert(o->hull.corners == 8 && o->hull.faces == 6 && o->hull.groups == 1 && o->hull.count == cube);
        else ck_assert_int_eq(o->hull.corners, mesh->nvertex - 2);
        rng r = {3};
        for (int k = 0; k < 300; k++) {
            const vec3 x = random_vector(&r, k % 3 ? 0.5 : 1.2);
            const double gap = stand_at(m->surfaces, x, NULL).gap,
                         expected = hull_distance((const double(*)[3])p, mesh->nvertex, x);
            ck_assert_msg(fabs(gap - expected) < 1e-13, "mesh %d, point %d: %.17g, not %.17g", of, k, gap, expected);
            inside += gap < 0;
        }
        ctn_model_free(m), ctn_scene_free(scene);
    }
    ck_assert_int_gt(inside, 50);
}
END_TEST

/// Groups of faces are passed over only where none of them would be found: the same bits as with all in one group, of points near
/// the surface, far off, inside, and where faces are as near, in line with a corner, a side or a middle.
START_TEST(faces_in_groups)
{
    enum { MOST = 500 };
    static double points[MOST][3];
    const double unit[3] = {1, 1, 1};
    rng r = {5};
    for (int kind = 0; kind < 3; kind++) {  // a ball, a lattice of corners on a ball, a flat one
        const int n = kind == 1 ? 240 : MOST;
        for (int i = 0; i < n; i++) {
            const double turn = 2 * M_PI * (i % 24) / 24, rise = M_PI * (i / 24 - 4.5) / 10;
            vec3 x = random_vector(&r, 1);
            x = scale(x, 1 / sqrt(dot(x, x)));
            if (kind == 1) x = vec(cos(turn) * cos(rise), sin(turn) * cos(rise), sin(rise));
            if (kind == 2) x.z *= 0.1;
            store3(points[i], x);
        }
        const mesh_surface mesh = {.vertices = points, .nvertex = n};
        mesh_hull h;
        char reason[128];
        ck_assert_int_eq(hull_of_mesh(&h, &mesh, unit, reason), CTN_OK);
        ck_assert_int_gt(h.groups, 8);
        const int sides = h.count - HULL_GROUP * h.groups - h.faces;
        double *const all = malloc((size_t)(sides + HULL_GROUP + h.faces) * sizeof *all), *to = all + sides + HULL_GROUP;
        memcpy(all, h.numbers, (size_t)sides * sizeof *all);
        memset(all + sides, 0, HULL_GROUP * sizeof *all), all[sides + 7] = h.faces;
        for (const double *face = all; face < all + sides; face += HULL_FACE + HULL_SIDE * (int)face[4]) *to++ = face - all;
        fixed_surface grouped = {.bound = h.bound, .faces = h.faces}, plain = grouped;
        grouped.groups = h.groups, grouped.count = h.count, grouped.numbers = h.numbers;
        plain.groups = 1, plain.count = (int)(to - all), plain.numbers = all;
        const double *face = h.numbers;
        for (int k = 0; k < 6000; k++, face += HULL_FACE + HULL_SIDE * (int)face[4]) {
            if (face == h.numbers + sides) face = h.numbers;
            vec3 y = random_vector(&r, k % 2 ? 1.1 : 4);
            const double *const side = face + HULL_FACE, along = k % 7 ? 0.5 * side[6] : 0;
            if (k % 3 == 0) y = scale(add_scaled(const3(side), const3(side + 3), along), k % 5 ? 1.01 : 0.99);
            if (k % 97 == 0) y = scale(y, 0);
            sym3 H[2];
            const surface_point a = at_hull(&grouped, y, &H[0]), b = at_hull(&plain, y, &H[1]);
            const bool same = !memcmp(&a, &b, sizeof a) && !memcmp(&H[0], &H[1], sizeof *H);
            ck_assert_msg(same, "kind %d, point %d: %.17g, not %.17g", kind, k, a.gap, b.gap);
        }
        free(all), free(h.numbers);
    }
}
END_TEST

/// Hulls of lattices, rounded balls, cylinders and boxes, with many points in one plane or nearly: every point is inside, every
/// side is one of two faces (Euler's V - E + F = 2), and of a lattice 6 faces and 8 corners are left.
START_TEST(hulls_hold_all_points)
{
    enum { MOST = 12000 };
    static double points[MOST][3];
    const double scale[3] = {1, 1, 1};
    rng r = {21};
    for (int k = 0; k < 60; k++) {
        const int kind = k % 6, side = 4 + k / 6, n = kind == 0 ? side * side * side : k == 59 ? MOST : 10 * side * side;
        for (int i = 0; i < n; i++) {
            double *const x = points[i];
            const double turn = 2 * M_PI * (i % 24) / 24;
            store3(x, random_vector(&r, 1));
            const double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
            for (int j = 0; j < 3; j++) {
                if (kind == 0) x[j] = (j == 0 ? i % side : j == 1 ? i / side % side : i / side / side) * 0.1;
                if (kind == 1 || kind == 5) x[j] /= length;
                if (kind == 2) x[j] = (float)(j == 0 ? cos(turn) : j == 1 ? sin(turn) : i / 24 % 2);
                if (kind == 3) x[j] = fmax(-0.5, fmin(0.5, x[j]));
                if (kind == 4) x[j] = round(4 * x[j]) / 4 + (j == 0 ? 1e-11 * x[1] : 0);
            }
        }
        const mesh_surface mesh = {.vertices = points, .nvertex = n};
        mesh_hull h;
        char reason[128] = "";
        const ctn_status status = hull_of_mesh(&h, &mesh, scale, reason);
        if (k == 59) {
            ck_assert(status == CTN_BAD_SCENE && !strcmp(reason, "has more than 10000 corners; take a coarser mesh"));
            continue;
        }
        ck_assert_msg(status == CTN_OK, "%d: the hull %s", k, reason);
        double out = -INFINITY;
        int sides = 0;
        const double *face = h.numbers;
        for (int i = 0; i < h.faces; i++, face += HULL_FACE + HULL_SIDE * (int)face[4]) {
            sides += (int)face[4];
            for (int p = 0; p < n; p++) out = fmax(out, dot(const3(face), sub(const3(points[p]), const3(h.middle))) - face[3]);
        }
        ck_assert_msg(out < 1e-8, "%d: a point is %g outside", k, out);
        ck_assert(face + HULL_GROUP * h.groups + h.faces == h.numbers + h.count);
        ck_assert_msg(sides % 2 == 0 && h.corners - sides / 2 + h.faces == 2, "%d: %d corners, %d sides, %d faces", k, h.corners,
                      sides, h.faces);
        if (kind == 0) ck_assert(h.corners == 8 && h.faces == 6);
        if (kind == 1 || kind == 5) ck_assert_int_eq(h.corners, n);
        free(h.numbers);
    }
}
END_TEST

/// The ball that is said to be within a hull: of a plate, however thin, half of it; of a wedge, whose middle may be outside, no
/// less than a quarter of how thick it is, and no more than what is inscribed.
START_TEST(hulls_hold_a_ball)
{
    const double unit[3] = {1, 1, 1};
    for (double thin = 0.1; thin > 1e-5; thin /= 3)
        for (int wedge = 0; wedge < 2; wedge++) {
            double points[8][3];
            int n = 0;
            for (int k = 0; k < 8; k++) {
                const double x = k % 2, y = k / 2 % 2, z = k / 4;
                if (wedge && k % 4 == 0) continue;  // triangles across a square that is sheared by 1 as it goes up by `thin`
                points[n][0] = x + (wedge ? 0.5 * z : 0), points[n][1] = y + (wedge ? 0.5 * z : 0), points[n++][2] = thin * z;
            }
            const mesh_surface mesh = {.vertices = points, .nvertex = n};
            mesh_hull h;
            char reason[128] = "";
            ck_assert_msg(hull_of_mesh(&h, &mesh, unit, reason) == CTN_OK, "the hull %s", reason);
            ck_assert_msg(h.within <= thin / 2 + 1e-12 && h.within >= (wedge ? thin / 4 - 1e-12 : thin / 2 - 1e-12),
                          "%g thick: %g", thin, h.within);
            free(h.numbers);
        }
}
END_TEST

/// The gap of an ellipsoid by bisection, in long double.
static double ellipsoid_distance(const double *e, vec3 x)
{
    const long double y[3] = {fabsl(x.x) + 1e-40L, fabsl(x.y) + 1e-40L, fabsl(x.z) + 1e-40L};
    const long double least = fminl(e[0], fminl(e[1], e[2]));
    long double low = 0, high = 4, w = 0;  // of t + least^2
    for (int k = 0; k < 3; k++) high += e[k] * (y[k] + e[k]);
    for (int step = 0; step < 400; step++) {
        const long double u = step < 300 ? (low > 0 ? sqrtl(low * high) : high * 1e-60L) : (low + high) / 2;
        long double S = w = 0;
        for (int k = 0; k < 3; k++) {
            const long double q = y[k] / (u + (e[k] - least) * (e[k] + least));
            S += e[k] * e[k] * q * q, w += q * q;
        }
        if (S > 1) low = u;
        else high = u;
    }
    return (double)((low - least * least) * sqrtl(w));
}

/// Ellipsoids of all shapes, needles and plates among them: gaps to 1e-12 of their size, near, far, inside, on their axes and in
/// their planes, where the nearest point is no longer one.
START_TEST(ellipsoids_are_distances)
{
    rng r = {9};
    for (int k = 0; k < 20000; k++) {
        fixed_surface f = {.kind = SURFACE_ELLIPSOID, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
        double most = 0;
        for (int i = 0; i < 3; i++) f.half[i] = exp(rng_uniform(&r, k % 2 ? -7 : -1, 0)), most = fmax(most, f.half[i]);
        if (k % 7 == 0) f.half[1] = f.half[0];
        if (k % 14 == 0) f.half[2] = f.half[0];
        double x[3];
        for (int i = 0; i < 3; i++) x[i] = (k % 3 ? 1.2 * f.half[i] : 2) * rng_uniform(&r, -1, 1);
        for (int i = 0; i < 3; i++)
            if (k % 5 == 0 && rng_uniform(&r, 0, 1) < 0.4) x[i] = k % 10 ? 0 : 1e-9 * x[i];
        const surface_point at = stand_at(&f, load3(x), NULL);
        const double expected = ellipsoid_distance(f.half, load3(x));
        ck_assert_msg(fabs(at.gap - expected) < 1e-12 * fmax(most, fabs(expected)),
                      "%d: radii %g %g %g, at %.17g %.17g %.17g: %.17g, not %.17g", k, f.half[0], f.half[1], f.half[2], x[0],
                      x[1], x[2], at.gap, expected);
        // the nearest point is on it, and the normal there is the gradient
        const vec3 on = sub_scaled(load3(x), at.n, at.gap);
        const double d[3] = {on.x / f.half[0], on.y / f.half[1], on.z / f.half[2]};
        ck_assert_double_eq_tol(dot(at.n, at.n), 1, 1e-14);
        ck_assert_msg(fabs(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) - 1) < 1e-9, "%d: off the surface", k);
    }
}
END_TEST

/// Gradients and second derivatives agree with differences wherever no face, edge or corner changes; gradients are unit vectors but
/// on a terrain, whose faces are. Gaps are continuous.
START_TEST(derivatives_are_differences)
{
    ctn_model *const m = all_surfaces();
    const double e = 1e-5;
    int compared[TERRAIN + 1] = {0};
    rng r = {11};
    for (int k = 0; k < 3000; k++)
        for (int s = 0; s <= TERRAIN; s++) {
            const fixed_surface *const f = &m->surfaces[s];
            const vec3 x = random_vector(&r, 0.9), axes[3] = {vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)};
            sym3 H;
            const surface_point at = stand_at(f, x, &H);
            const double columns[3][3] = {{H.xx, H.xy, H.xz}, {H.xy, H.yy, H.yz}, {H.xz, H.yz, H.zz}};
            const double n[3] = {at.n.x, at.n.y, at.n.z};
            double slope = 0, bend = 0, jump = 0;
            ck_assert_double_eq_tol(dot(at.face, at.face), 1, 1e-14);
            for (int c = 0; c < 3; c++) {
                const surface_point a = stand_at(f, add_scaled(x, axes[c], e), NULL),
                                    b = stand_at(f, sub_scaled(x, axes[c], e), NULL);
                const vec3 d = scale(sub(a.n, b.n), 0.5 / e);
                slope = fmax(slope, fabs((a.gap - b.gap) / (2 * e) - n[c]));
                bend = fmax(bend, fmax(fabs(d.x - columns[c][0]), fmax(fabs(d.y - columns[c][1]), fabs(d.z - columns[c][2]))));
                jump = fmax(jump, fmax(fabs(a.gap - at.gap), fabs(b.gap - at.gap)));
            }
            ck_assert_msg(jump < 20 * e, "surface %d: the gap jumps by %g", s, jump);
            if (s == TERRAIN) ck_assert_msg(slope < 1e-5, "terrain: slope off by %g", slope);
            if (s < TERRAIN) ck_assert_double_eq_tol(dot(at.n, at.n), 1, 1e-14);
            compared[s] += slope < 1e-7 && bend < 1e-5;  // the others are near an edge, or a fold of the gap
        }
    for (int s = 0; s < TERRAIN; s++) ck_assert_msg(compared[s] > 2950, "surface %d: %d of 3000 agree", s, compared[s]);
    ctn_model_free(m);
}
END_TEST

/// A spline goes through its heights, is as high as they say between them where they lie on a plane, and goes on mirrored.
START_TEST(terrain_goes_through_heights)
{
    enum { NX = 9, NY = 6 };
    double heights[NX * NY], kept[NX * NY];
    rng r = {3};
    for (int k = 0; k < NX * NY; k++) heights[k] = kept[k] = rng_uniform(&r, -1, 1);
    fit_heights(heights, NX, NY);
    const fixed_surface f = {.kind = SURFACE_TERRAIN, .columns = NX, .rows = NY, .spacing = {0.5, 0.25}, .numbers = heights};
    for (int j = 0; j < NY; j++)
        for (int i = 0; i < NX; i++) {
            const double end = 0.25 * (NX - 1), x = 0.5 * i - end, y = 0.25 * (j - 0.5 * (NY - 1));
            ck_assert_double_eq_tol(terrain_height(&f, x, y), kept[j * NX + i], 1e-13);
            ck_assert_double_eq_tol(terrain_height(&f, 2 * end - x, y), kept[j * NX + i], 1e-12);
            ck_assert_double_eq_tol(terrain_height(&f, x - 12 * end, y), kept[j * NX + i], 1e-12);
        }
}
END_TEST

// ---- the energy of a step near a surface

/// The pose that a twist, angular before linear, makes of R and p: by the exponential about p.
static void move_pose(const double *t, mat3 *R, vec3 *p)
{
    const vec3 w = vec(t[0], t[1], t[2]), v = vec(t[3], t[4], t[5]), wv = cross(w, v);
    *p = add(*p, add(v, add(scale(wv, 0.5), scale(cross(w, wv), 1 / 6.))));
    *R = mmul(quat_rotation(quat_exp(w)), *R);
}

typedef struct {
    const lane_model *m;
    const lane_point_load *s;
    load_state held;
    mat3 R_k, R;
    vec3 p_k, p, z, face;
    double lag;
} near_surface;

static double energy_moved(const near_surface *N, const double *t, body_load *L)
{
    mat3 R = N->R;
    vec3 p = N->p;
    move_pose(t, &R, &p);
    const vec3 u = sub(add(p, mul(R, load3(N->s->point))), N->held.gap);
    const touch c = touch_at(N->m, N->s, &N->held, N->R_k, R, u, N->z, &N->face);
    return add_contact(L, N->m, N->s, &c, 60, N->lag);
}

/// Its gradient and second derivatives, by differences of the energy, on all kinds of bodies; the friction's plane is that of the
/// start.
START_TEST(energy_has_its_derivatives)
{
    ctn_model *const model = all_surfaces();
    lane_model m = {.nsurface = TERRAIN + 1, .surfaces = model->surfaces, .relaxation = 0.02};
    int touching = 0, agree = 0;
    rng r = {17};
    for (int k = 0; k < 30000 && touching < 600; k++) {
        lane_point_load s = {
            .flags = LOAD_TOUCHES, .surface = 1 + k % TERRAIN, .radius = k % 3 ? 0.1 : 0, .grip = 100, .friction = 0.6};
        near_surface N = {.m = &m, .s = &s};
        const vec3 arm = random_vector(&r, 0.3), turn = random_vector(&r, 1), step = random_vector(&r, 0.02);
        store3(s.point, arm);
        N.p_k = random_vector(&r, 0.9), N.R_k = quat_rotation(quat_exp(turn));
        N.held.arm = mul(N.R_k, arm), N.held.gap = add(N.p_k, N.held.arm);
        N.p = add(N.p_k, step), N.R = mmul(quat_rotation(quat_exp(random_vector(&r, 0.1))), N.R_k);
        N.z = random_vector(&r, 0.01), N.lag = rng_uniform(&r, 0, 4);
        N.face = face_of(&m, &s, N.held.gap);
        const double zero[6] = {0}, e = 1.5e-4;
        const vec3 now = add(N.p, mul(N.R, arm));
        const double gap = gap_of(&m, &s, now);
        // inside, deeper than the radius of edges; kinks and corners of the laws are not for differences
        if (gap > -0.01 || gap < -0.08 || (s.radius == 0 && (s.surface == 1 + BOX || s.surface == 1 + HULL))) continue;
        body_load L = no_load(true), none = no_load(true);
        energy_moved(&N, zero, &L);
        const double g[6] = {L.w.n.x, L.w.n.y, L.w.n.z, L.w.f.x, L.w.f.y, L.w.f.z};
        double P[36], slope = 0, bend = 0, size = 0;
        for (int j = 0; j < 6; j++) {
            twist t;
            t.w = vec(j == 0, j == 1, j == 2), t.v = vec(j == 3, j == 4, j == 5);
            const wrench w = inertia_times(&L.P, t);
            const double column[6] = {w.n.x, w.n.y, w.n.z, w.f.x, w.f.y, w.f.z};
            for (int i = 0; i < 6; i++) P[6 * i + j] = column[i], size = fmax(size, fabs(column[i]));
        }
        for (int i = 0; i < 6; i++) {
            double t[6] = {0}, a[4];
            for (int d = 0; d < 4; d++) t[i] = e * (d < 2 ? d - 2 : d - 1), a[d] = energy_moved(&N, t, &none);
            slope = fmax(slope, fabs((a[0] - 8 * a[1] + 8 * a[2] - a[3]) / (12 * e) - g[i]));
        }
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                double sum = 0;
                static const double weight[4] = {1 / 12., -8 / 12., 8 / 12., -1 / 12.};
                for (int a = 0; a < 4; a++)
                    for (int b = 0; b < 4; b++) {
                        double t[6] = {0};
                        t[i] += e * (a < 2 ? a - 2 : a - 1), t[j] += e * (b < 2 ? b - 2 : b - 1);
                        sum += weight[a] * weight[b] * energy_moved(&N, t, &none);
                    }
                bend = fmax(bend, fabs(sum / (e * e) - P[6 * i + j]));
            }
        touching++,
            agree += slope < 1e-9 * size && bend < 1e-7 * size;  // others have a kink of friction, or a fold, within reach
    }
    ck_assert_msg(touching == 600 && agree > 525, "%d of %d agree", agree, touching);
    ctn_model_free(model);
}
END_TEST

// ---- what rests

static ctn_batch_config order_2(double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt;
    return cfg;
}

/// Steps a model of one free body for a time; where it is goes into q, and how fast into v.
static void settle(const char *text, double seconds, double *q, double *v)
{
    ctn_model *const m = model_of(text);
    const ctn_batch_config cfg = order_2(1 / 60.);
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_step(b, (int)(seconds * 60), NULL, NULL), CTN_OK);
    ctn_batch_state(b, q, v);
    ctn_batch_free(b), ctn_model_free(m);
}

/// A ball on top of a sphere, an ellipsoid, or the middle of a cube that is a mesh sinks by the depth; in a groove between two boxes by what leaves each of them 1/sqrt(2) of the
/// weight; a block on a slope of a terrain by a quarter of the cosine, and does not creep.
START_TEST(rests_as_deep)
{
    double q[7], v[6];
    settle("catena: 1\ncontact: {depth: 0.002}\nobstacles: [{type: sphere, radius: 0.5}]\n" BALL("0", "0.61"), 5, q, v);
    ck_assert_msg(fabs(q[2] - 0.598) < 1e-9 && fabs(v[2]) < 1e-9, "at %.9g, %g m/s", q[2], v[2]);
    settle("catena: 1\ncontact: {depth: 0.002}\nobstacles: [{type: ellipsoid, radii: [0.8, 0.6, 0.5]}]\n" BALL("0", "0.61"), 5, q,
           v);
    ck_assert_msg(fabs(q[2] - 0.598) < 1e-9 && fabs(v[2]) < 1e-9, "at %.9g, %g m/s", q[2], v[2]);
    settle("catena: 1\ncontact: {depth: 0.002}\nobstacles: [{type: mesh, file: " CATENA_SOURCE_DIR
           "/tests/golden/mjcf/cube.obj, scale: 0.5}]\n" BALL("0", "1.61"),
           5, q, v);
    ck_assert_msg(fabs(q[2] - 1.598) < 1e-9 && fabs(v[2]) < 1e-9, "at %.9g, %g m/s", q[2], v[2]);
    settle(
        "catena: 1\ncontact: {depth: 0.002, friction: 0}\nobstacles:\n"
        "  - {type: box, center: [0.7071067811865476, 0, -0.7071067811865476], size: [2, 2, 2], euler: [0, 45 deg, 0]}\n"
        "  - {type: box, center: [-0.7071067811865476, 0, -0.7071067811865476], size: [2, 2, 2], euler: [0, 45 deg, 0]}\n" BALL(
            "0.1", "0.3"),
        10, q, v);
    const double deep = 0.1 - q[2] * sqrt(0.5);
    ck_assert_msg(fabs(deep - 0.002 * sqrt(0.5)) < 1e-9 && fabs(q[0]) < 1e-9, "%.9g m deep at %g", deep, q[0]);
    ck_assert_msg(fabs(v[0]) < 1e-9 && fabs(v[2]) < 1e-9, "%g %g m/s", v[0], v[2]);
}
END_TEST

START_TEST(rests_on_a_slope)
{
    // 2 m by 0.4 m, 0.3 m higher at the end; a spline that is mirrored is flat at its ends, and straight in the middle
    char text[2000], path[] = "/tmp/catena-slope-XXXXXX";
    const int fd = mkstemp(path);
    FILE *const f = fdopen(fd, "w");
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 101; i++) fprintf(f, "%.17g%s", 0.2 * (0.02 * i), i < 100 ? "," : "\n");
    fclose(f);
    const double angle = atan(0.2), depth = 0.002 * 0.25 * cos(angle), up = 0.1 - depth;
    for (int k = 0; k < 3; k++) {
        static const char *const methods[] = {"collocation, order: 2", "alpha", "radau"};
        snprintf(
            text, sizeof text,
            "catena: 1\ncontact: {depth: 0.002, friction: 0.5}\nterrain: {file: %s, size: [2, 0.4], position: [0, 0, -0.2]}\n"
            "links:\n  - {name: a, position: [%.17g, 0, %.17g], euler: [0, %.17g, 0], joint: free, density: 1000, shapes: "
            "[{type: box, size: [0.3, 0.2, 0.2]}]}\nintegrator: {method: %s, dt: 0.02}\n",
            path, -0.101 * sin(angle), 0.101 * cos(angle), -angle, methods[k]);
        ctn_error err;
        ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "text.yaml", &err);
        ck_assert_msg(scene != NULL, "%s", err.message);
        ctn_model *const m = ctn_model_create(scene, &err);
        const ctn_batch_config cfg = ctn_scene_config(scene);
        ctn_batch *const b = batch_with(m, &cfg);
        double q[7], before[7], v[6];
        ctn_batch_step(b, 500, NULL, NULL), ctn_batch_state(b, before, v);
        ctn_batch_step(b, 500, NULL, NULL), ctn_batch_state(b, q, v);
        const double height = q[2] * cos(angle) - q[0] * sin(angle);
        ck_assert_msg(fabs(height - up) < 2e-8, "%s: %.9g above the slope, not %.9g", methods[k], height, up);
        for (int i = 0; i < 3; i++)
            ck_assert_msg(fabs(q[i] - before[i]) < 1e-11 && fabs(v[i]) < 1e-11, "%s: creeps by %g m, %g m/s", methods[k],
                          q[i] - before[i], v[i]);
        ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
    }
    unlink(path);
}
END_TEST

// ---- methods, energy, bits

/// A ball on a large beam that slides and rolls down it with an arm that swings: methods that share no step agree, to their orders.
/// With friction it goes straight down: bristles that slide point back along the way of a step, so that where that turns, friction
/// is of first order.
START_TEST(methods_agree)
{
    static const struct {
        const char *name;
        ctn_method method;
        int stages, steps;
        double error[2], order[2];  // without friction, with it; of half the steps over this one
    } ways[] = {{"radau 2", CTN_RADAU, 2, 120, {1e-7, 1e-7}, {2.7, 2.7}},
                {"radau 3", CTN_RADAU, 3, 60, {1e-9, 5e-6}, {3.3, 0}},
                {"alpha", CTN_ALPHA, 0, 480, {1e-4, 1e-3}, {0.9, 0}},
                {"collocation", CTN_COLLOCATION, 0, 480, {2e-3, 2e-3}, {0.9, 0.9}},
                {"rk4", CTN_RK4, 0, 4000, {1e-12, 1e-12}, {0, 0}},
                {"semi-implicit", CTN_SEMI_IMPLICIT, 0, 8000, {1e-4, 1e-4}, {0.9, 0.9}},
                {"variational", CTN_VARIATIONAL, 0, 8000, {1e-6, 1e-4}, {0.9, 0.9}}};
    for (int rubs = 0; rubs < 2; rubs++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "catena: 1\ncontact: {depth: 0.01, friction: %g}\nobstacles:\n"
                 "  - {type: capsule, from: [%g, -3, 0], to: [%g, 3, %g], radius: 1}\n"
                 "links:\n  - {name: a, position: [0.15, 0, %.17g], joint: {type: free, v0: [0.3, %g, -0.07, 0, 0, 0]}, "
                 "density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n"
                 "  - {name: arm, parent: a, joint: {type: revolute, axis: [1, 0, 0], damping: 0.01}, mass: 0.2, com: [0, 0, "
                 "-0.03], inertia: [1e-4, 1e-4, 1e-4, 0, 0, 0]}\n",
                 rubs ? 0.03 : 0, rubs ? 0 : -0.3, rubs ? 0 : 0.2, rubs ? 0 : 0.1,
                 rubs ? sqrt(1.091 * 1.091 - 0.15 * 0.15) : 1.1287, rubs ? 0 : 0.5);
        ctn_model *const m = model_of(text);
        double reference[16], end[16], error[2];
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_DOP853, cfg.adaptive = true, cfg.dt = 0.6 / 600, cfg.error_tolerance = 1e-10;
        ctn_batch *b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_step(b, 600, NULL, NULL), CTN_OK);
        ctn_batch_state(b, reference, NULL), ctn_batch_free(b);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            for (int fine = 0; fine < 2; fine++) {
                cfg = ctn_batch_config_default();
                cfg.method = ways[k].method, cfg.dt = 0.6 / (ways[k].steps << fine);
                if (cfg.method == CTN_COLLOCATION || cfg.method == CTN_VARIATIONAL) cfg.order = 2;
                if (ways[k].stages) cfg.stages = ways[k].stages;
                b = batch_with(m, &cfg);
                ck_assert_int_eq(ctn_batch_step(b, ways[k].steps << fine, NULL, NULL), CTN_OK);
                ctn_batch_state(b, end, NULL), ctn_batch_free(b);
                error[fine] = coordinate_distance(m, end, reference);
            }
            const double order = ways[k].order[rubs];
            ck_assert_msg(error[1] < ways[k].error[rubs] && (!(order > 0) || log2(error[0] / error[1]) > order),
                          "%s, friction %d: errors %g and %g", ways[k].name, rubs, error[0], error[1]);
        }
        ctn_model_free(m);
    }
}
END_TEST

/// Order 2: no step over obstacles ends with more energy than it begins with, but for rounding.
START_TEST(energy_never_rises)
{
    static const double steps[] = {1 / 240., 1 / 60., 0.05, 0.1};
    long touched = 0, made = 0;
    FOR_ALL_SEEDS(seed, 6)
    for (int h = 0; h < 4; h++) {
        double q[GROUND_MOST], v[GROUND_MOST];
        ctn_model *const m = obstacle_model((ground_kind)_i, seed, h % 2 ? 0.01 : 0, q, v);
        check_energy_falls(m, steps[h], 5, q, v, seed, &touched, &made);
        ctn_model_free(m);
    }
    ck_assert_msg(touched > made / 2 || getenv("CTN_SEED"), "%ld of %ld steps in touch", touched, made);
}
END_TEST

static const struct {
    const char *name;
    ctn_method method;
    int stages, steps;
    double dt;
    bool adaptive;
} ways[] = {{"collocation", CTN_COLLOCATION, 0, 40, 0.02, false},
            {"radau 2", CTN_RADAU, 2, 40, 0.02, false},
            {"radau 3", CTN_RADAU, 3, 20, 0.02, false},
            {"alpha", CTN_ALPHA, 0, 40, 0.02, false},
            {"rk4", CTN_RK4, 0, 800, 1e-3, false},
            {"variational", CTN_VARIATIONAL, 0, 800, 1e-3, false},
            {"dop853", CTN_DOP853, 0, 20, 0.02, true}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of_way(int k)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[k].method, cfg.dt = ways[k].dt, cfg.adaptive = ways[k].adaptive;
    if (cfg.method == CTN_COLLOCATION) cfg.order = 2;
    if (ways[k].stages) cfg.stages = ways[k].stages;
    return cfg;
}

/// On every engine, in batches of any size, on several threads, and after a state was saved. A device's, where there is one or its
/// twin, too.
START_TEST(same_bits)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    ctn_model *const m = obstacle_model(GROUND_LOOSE, 3, 0.05, q, v);
    check_bits_of_contact(m, config_of_way(_i), q, v, 0.9, ways[_i].steps / 2, ways[_i].steps);
    ctn_model_free(m);
}
END_TEST

/// What is passed over as far changes no bit: points that are in no group are all looked at. On every engine, three worlds at three
/// heights in one batch.
START_TEST(far_points_change_nothing)
{
    enum { WORLDS = 3 };
    FOR_ALL_SEEDS(seed, GROUND_KINDS)
    {
        double q[GROUND_MOST], v[GROUND_MOST], rows[2][WORLDS * GROUND_MOST];
        ctn_model *const m = obstacle_model((ground_kind)(seed % GROUND_KINDS), seed, seed % 2 ? 0.01 : 0, q, v);
        point_load *const groups = m->loads, *const none = malloc((size_t)m->nload * sizeof *none);
        memcpy(none, groups, (size_t)m->nload * sizeof *none);
        for (int k = 0; k < m->nload; k++) none[k].group = 0;
        for (int w = 0; w < WORLDS; w++) {
            memcpy(rows[0] + w * m->nq, q, (size_t)m->nq * sizeof *q), memcpy(rows[1] + w * m->nv, v, (size_t)m->nv * sizeof *v);
            rows[0][w * m->nq + 2] += 0.4 * w;
        }
        for (const ctn_engine *const *e = engines_available(); *e; e++) {
            ctn_batch_config cfg = config_of_way(_i);
            cfg.worlds = WORLDS, cfg.engine = (*e)->name;
            ctn_step_stats s[2][WORLDS];
            uint64_t hash[2][WORLDS];
            for (int all = 0; all < 2; all++) {
                m->loads = all ? none : groups;
                ctn_batch *const b = batch_with(m, &cfg);
                ck_assert_int_eq(ctn_batch_set_state(b, rows[0], rows[1], 0, NULL), CTN_OK);
                ck_assert_int_eq(ctn_batch_step(b, ways[_i].steps < 50 ? ways[_i].steps : 50, s[all], NULL), CTN_OK);
                ctn_batch_hashes(b, hash[all]), ctn_batch_free(b);
            }
            for (int w = 0; w < WORLDS; w++)
                ck_assert_msg(hash[0][w] == hash[1][w] && !memcmp(&s[0][w], &s[1][w], sizeof s[0][w]),
                              "seed %llu, %s, %s, world %d: other bits", (unsigned long long)seed, ways[_i].name, (*e)->name, w);
        }
        m->loads = groups, free(none), ctn_model_free(m);
    }
}
END_TEST

// ---- scenes

/// Points and surfaces: their order, frictions, names, what is told of them.
START_TEST(points_by_surfaces)
{
    ctn_model *const m =
        model_of("catena: 1\nground: true\ncontact: {friction: 0.7}\nobstacles:\n"
                 "  - {name: ice, type: sphere, radius: 0.5, center: [9, 0, 0], friction: 0.05}\n"
                 "  - {type: box, size: [1, 1, 1], center: [-9, 0, 0]}\n"
                 "links:\n  - {name: a, joint: free, position: [0, 0, 2], density: 1000, shapes: [{type: capsule, "
                 "from: [0, 0, 0], to: [0, 0, 1], radius: 0.1, contact: {points: 3, friction: 0.4}}, {type: box, "
                 "size: [1, 2, 3], contact: {points: 4}}]}\n");
    ck_assert_int_eq(ctn_model_ncontact(m), 3 * (3 + 8 + 12 * 2));
    ck_assert_str_eq(ctn_model_surface(m, 0), "ground");
    ck_assert_str_eq(ctn_model_surface(m, 1), "ice");
    ck_assert_str_eq(ctn_model_surface(m, 2), "obstacle.1");
    ck_assert(!ctn_model_surface(m, 3) && !ctn_model_surface(m, -1));
    ctn_contact_point p;
    static const double friction[] = {0.4, 0.05, 0.4}, other[] = {0.7, 0.05, 0.7};
    for (int k = 0; k < ctn_model_ncontact(m); k++) {
        ck_assert(ctn_model_contact(m, k, &p));
        ck_assert(p.surface == k % 3 && p.friction == (k < 9 ? friction : other)[k % 3]);
        if (k < 9) ck_assert_double_eq_tol(p.point[2], k / 3 / 2., 1e-15);
        // all others lie on edges: two of three coordinates are at their ends, and the opposite point is there, too
        const double ends[] = {0.5, 1, 1.5};
        int sides = 0;
        for (int i = 0; i < 3; i++) sides += fabs(fabs(p.point[i]) - ends[i]) < 1e-12;
        ck_assert(k < 9 || sides >= 2);
    }
    for (int k = 0; k < m->nload; k++) {
        const point_load *const s = &m->loads[k], *const t = s + s->opposite;
        ck_assert(t >= m->loads && t < m->loads + m->nload && (t->surface == s->surface));
        for (int i = 0; i < 3 && s->opposite; i++) ck_assert_double_eq_tol(s->point[i], -t->point[i], 1e-12);
        ck_assert((s->opposite != 0) == (s->contact >= 9));
    }
    ctn_model_free(m);
}
END_TEST

/// Where a ball is that sticks to an obstacle, and which of them it touches.
START_TEST(contacts_are_told)
{
    ctn_model *const m =
        model_of("catena: 1\ncontact: {depth: 0.002}\nobstacles: [{type: box, size: [1, 1, 1], center: [0, 0, -3]}, "
                 "{type: sphere, radius: 0.5}]\n" BALL("0", "0.6"));
    const ctn_batch_config cfg = order_2(1 / 60.);
    ctn_batch *const b = batch_with(m, &cfg);
    double x[2][CTN_CONTACT_NUMBERS];
    ck_assert_int_eq(ctn_batch_step(b, 300, NULL, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_contacts(b, x[0], NULL), CTN_OK);
    ck_assert(x[0][7] == CTN_APART && x[0][5] == 0 && fabs(x[0][6] + 2.998) < 1e-9);
    ck_assert_msg(fabs(x[1][2] - 0.498) < 1e-9 && fabs(x[1][6] - 0.002) < 1e-9, "at %g, %g deep", x[1][2], x[1][6]);
    ck_assert_double_eq_tol(x[1][5], m->bodies[0].subtree_mass * 9.81, 1e-5);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A grey PNG of 2 by 2 pixels of 16 bits, with rows filtered by what is above. Returns its length.
static size_t put_png(unsigned char *to, const uint16_t pixel[4])
{
    unsigned char raw[10] = {0}, packed[64], *at = to;
    uLongf size = sizeof packed;
    for (int k = 0; k < 4; k++)
        raw[1 + 5 * (k / 2) + 2 * (k % 2)] = pixel[k] >> 8, raw[2 + 5 * (k / 2) + 2 * (k % 2)] = pixel[k] & 255;
    raw[5] = 2;
    for (int k = 0; k < 4; k++) raw[6 + k] = (unsigned char)(raw[6 + k] - raw[1 + k]);
    compress(packed, &size, raw, sizeof raw);
    const unsigned char head[13] = {0, 0, 0, 2, 0, 0, 0, 2, 16, 0, 0, 0, 0};
    const struct {
        const char *type;
        const unsigned char *data;
        size_t size;
    } chunks[] = {{"IHDR", head, 13}, {"IDAT", packed, 5}, {"IDAT", packed + 5, size - 5}, {"IEND", packed, 0}};
    memcpy(at, "\x89PNG\r\n\x1a\n", 8), at += 8;
    for (size_t k = 0; k < 4; k++) {
        const size_t n = chunks[k].size;
        memcpy(at + 4, chunks[k].type, 4), memcpy(at + 8, chunks[k].data, n);
        const uint32_t sum = (uint32_t)crc32(crc32(0, NULL, 0), at + 4, (uInt)n + 4);
        for (int i = 0; i < 4; i++)
            at[i] = (unsigned char)(n >> (24 - 8 * i)), at[8 + n + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
        at += n + 12;
    }
    return (size_t)(at - to);
}

/// Files of heights: what is read of each form, first rows at the highest y, and what is wrong with others, with line and column.
START_TEST(files_of_heights)
{
    unsigned char png[200], damaged[200];
    const size_t size = put_png(png, (uint16_t[]){0, 65535, 13107, 26214});
    memcpy(damaged, png, size), damaged[45] ^= 1;
    const struct {
        const char *text;
        size_t size;  // 0: that of the text
        double heights[4];
        const char *error;
    } files[] = {{"# m\n1, 2\n\n 3,4.5e0 \n", 0, {1, 2, 3, 4.5}, NULL},
                 {"P2 2 2 # white:\n4\n0 4 1 2\n", 0, {-1, 1, -0.5, 0}, NULL},
                 {"P5\n2 2\n200\n\0\xc8\x32\x64", 15, {-1, 1, -0.5, 0}, NULL},
                 {"P5 2 2 1000\n\0\0\3\xe8\0\xfa\1\xf4", 20, {-1, 1, -0.5, 0}, NULL},
                 {(const char *)png, size, {-1, 1, -0.6, -0.2}, NULL},
                 {"1,2\n3,x\n", 0, {0}, ":2:3: cell 2: expected a height, m, a finite number"},
                 {"1,2\n3,nan\n", 0, {0}, ":2:3: cell 2: expected a height"},
                 {"1,2\n3\n", 0, {0}, ":2:2: expected 2 heights, as in the first row, found fewer"},
                 {"1,2\n3,4,5\n", 0, {0}, ":2:4: expected 2 heights, as in the first row, found more"},
                 {"1,2\n3 4\n", 0, {0}, ":2:3: expected a comma after cell 1"},
                 {"1,2\n", 0, {0}, ":1:1: expected at least 2 heights in each of 2 rows, found 2 in 1"},
                 {"P5 4097 2 255\n", 0, {0}, ":1:1: expected at most 4096 by 4096 heights, found 4097 by 2"},
                 {"P5 4096 4096 255\nabc", 0, {0}, ":1:1: the image ends too early"},
                 {"P2 2 2 4\n1 2\n3 5\n", 0, {0}, ":3:1: pixel 2 of row 2: expected a whole number from 0 to 4"},
                 {"P2 2 2 4\n1 20000000\n3 4\n", 0, {0}, ":2:1: pixel 2 of row 1: expected a whole number from 0 to 4"},
                 {"P2 2 2\n", 0, {0}, "expected the head of a PGM image"},
                 {(const char *)damaged, size, {0}, ":1:1: the pixels of the PNG image are damaged, or end too early"}};
    char text[600], path[] = "/tmp/catena-heights-XXXXXX";
    close(mkstemp(path));
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        const bool table = files[k].text[0] == '1' || files[k].text[0] == '#';
        const size_t n = files[k].size ? files[k].size : strlen(files[k].text);
        FILE *const f = fopen(path, "wb");
        ck_assert(fwrite(files[k].text, 1, n, f) == n && fclose(f) == 0);
        ctn_error err;
        for (int range = 0; range < 2; range++) {
            snprintf(text, sizeof text,
                     "catena: 1\nterrain: {file: %s, size: [2, 1]%s}\nlinks:\n  - {name: a, joint: free, "
                     "density: 1, shapes: [{type: sphere, radius: 1}]}\n",
                     path, range ? ", height: [-1, 1]" : "");
            ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "text.yaml", &err);
            if (range == table) {
                ck_assert_msg(!scene && strstr(err.message, "text.yaml:2:17: terrain.file: "), "file %zu: %s", k, err.message);
                ck_assert(strstr(err.message, table ? "`height` is for images" : "give `height: [of black, of white]`, m"));
            } else if (files[k].error)
                ck_assert_msg(!scene && !strncmp(err.message, path, strlen(path)) && strstr(err.message, files[k].error),
                              "file %zu: %s", k, err.message);
            else {
                ck_assert_msg(scene != NULL, "file %zu: %s", k, err.message);
                ctn_model *const m = ctn_model_create(scene, NULL);
                for (int i = 0; i < 4; i++)
                    ck_assert_double_eq_tol(terrain_height(m->surfaces, i % 2 ? 1 : -1, i / 2 ? -0.5 : 0.5), files[k].heights[i],
                                            1e-14);
                ctn_model_free(m);
            }
            ctn_scene_free(scene);
        }
    }
    unlink(path);
}
END_TEST

/// Rows in the scene, and heights that are stretched; what is wrong with others.
START_TEST(heights_in_the_scene)
{
    static const struct {
        const char *text;
        double heights[4];
        const char *error;
    } rows[] = {{"heights: [[1, 2], [3, 5]]", {1, 2, 3, 5}, NULL},
                {"heights: [[1, 2], [3, 5]], range: [1, -1]", {1, 0.5, 0, -1}, NULL},
                {"heights: [[4, 4], [4, 4]], range: [2, 3]", {2, 2, 2, 2}, NULL},
                {"heights: [[1, 2], [3]]", {0}, ":2:29: terrain.heights[1]: expected 2 heights, as in the first row, found 1"},
                {"heights: [1, 2]", {0}, ":2:1: expected at least 2 heights in each of 2 rows, found 0 in 2"},
                {"heights: [[1, x], [3, 4]]", {0}, "terrain.heights[0][1]: expected a number"},
                {"height: [0, 1]", {0}, ":2:10: terrain.file: missing; a terrain has"},
                {"heights: [[1, 2], [3, 5]], file: x.pgm", {0}, "terrain.heights: a `file` has them already"},
                {"file: x.pgm, range: [0, 1], height: [0, 1]", {0}, "terrain.range: `height` says how high black and white"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[600];
        ctn_error err;
        snprintf(text, sizeof text,
                 "catena: 1\nterrain: {%s, size: [2, 1]}\nlinks:\n  - {name: a, joint: free, density: 1, shapes: [{type: sphere, "
                 "radius: 1}]}\n",
                 rows[k].text);
        ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "text.yaml", &err);
        if (rows[k].error) ck_assert_msg(!scene && strstr(err.message, rows[k].error), "rows %zu: %s", k, err.message);
        else
            ck_assert_msg(scene && !memcmp(scene->contact.terrain.heights, rows[k].heights, sizeof rows[k].heights), "rows %zu",
                          k);
        ctn_scene_free(scene);
    }
}
END_TEST

/// What shares no layer does not touch: entries, their order and opposites, sensors, and a ball that falls through.
START_TEST(layers)
{
    ctn_model *const m = model_of(
        "catena: 1\nground: {height: -1, layers: [1, 31]}\nobstacles:\n  - {type: sphere, radius: 0.5, layers: [2]}\n"
        "  - {type: sphere, radius: 0.5, center: [3, 0, 0]}\nlinks:\n"
        "  - {name: a, joint: free, position: [0, 0, 2], density: 1000, shapes: [{type: sphere, radius: 0.1, contact: {layers: "
        "[31]}}]}\n"
        "  - {name: b, joint: free, position: [3, 0, 2], density: 1000, shapes: [{type: box, size: [1, 1, 1], contact: {layers: "
        "[1, 2]}}]}\n"
        "  - {name: c, joint: free, position: [6, 0, 2], density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n");
    ck_assert_int_eq(ctn_model_ncontact(m), 1 + 8 * 2 + 1);
    ctn_contact_point p;
    for (int k = 0; ctn_model_contact(m, k, &p); k++) ck_assert_int_eq(p.surface, k == 0 ? 0 : k == 17 ? 2 : (k - 1) % 2);
    for (int k = 0; k < m->nload; k++) {
        const point_load *const s = &m->loads[k], *const t = s + s->opposite;
        ck_assert(t->surface == s->surface && t->link == s->link &&
                  !s->first == (s->link == 1 && s->surface == 1));
        for (int i = 0; i < 3 && s->opposite; i++) ck_assert_double_eq_tol(s->point[i], -t->point[i], 1e-12);
    }
    const ctn_batch_config cfg = order_2(1 / 60.);
    ctn_batch *const b = batch_with(m, &cfg);
    double q[21];
    ck_assert_int_eq(ctn_batch_step(b, 120, NULL, NULL), CTN_OK);
    ctn_batch_state(b, q, NULL);
    ck_assert_msg(fabs(q[2] + 0.9) < 0.01 && q[16] < -10, "at %g and %g", q[2], q[16]);
    ctn_batch_free(b), ctn_model_free(m);
    ctn_error err;
    static const char *const wrong[] = {"layers: [32]", "layers: []", "layers: 1", "layers: [0.5]"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char text[200];
        snprintf(text, sizeof text, "catena: 1\nground: {%s}\nlinks: []\n", wrong[k]);
        ck_assert(!ctn_scene_parse(text, strlen(text), "text.yaml", &err) && strstr(err.message, "ground.layers"));
    }
}
END_TEST

/// What is warned of, and what is refused of models.
START_TEST(warnings_and_refusals)
{
    ctn_error err;
    static const char deep[] = "catena: 1\nobstacles: [{name: rock, type: sphere, radius: 0.5}]\n" BALL("0", "0.3");
    ctn_scene *scene = ctn_scene_parse(deep, strlen(deep), "text.yaml", &err);
    ctn_model *m = ctn_model_create(scene, &err);
    ck_assert(warn_of_depth(scene, m));
    ck_assert_msg(strstr(ctn_scene_warnings(scene), "'a' starts 0.3 m deep in 'rock', where it rests"), "%s",
                  ctn_scene_warnings(scene));
    ctn_batch_config cfg = order_2(0.01);
    cfg.parallel = CTN_PARALLEL_LINKS;
    ck_assert(!ctn_batch_create(m, &cfg, &err) && strstr(err.message, "links takes no `obstacles` and no `terrain`"));
    ck_assert(!ctn_tape_create(m, &(ctn_batch_config){.method = CTN_COLLOCATION, .order = 2, .worlds = 1, .dt = 0.01}, 4, &err));
    ctn_model_free(m), ctn_scene_free(scene);
    // too many pairs
    char *const many = malloc(400000);
    size_t n = (size_t)sprintf(many, "catena: 1\nobstacles:\n");
    for (int k = 0; k < 1000; k++) n += (size_t)sprintf(many + n, "  - {type: sphere, radius: 0.1, center: [%d, 0, 0]}\n", k);
    n += (size_t)sprintf(many + n,
                         "links:\n  - {chain: {name: r, count: 100, step: [0.1, 0, 0], joint: ball, density: 1000, shapes: "
                         "[{type: sphere, radius: 0.01}]}}\n");
    scene = ctn_scene_parse(many, n, "text.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ck_assert(!ctn_model_create(scene, &err));
    ck_assert_msg(strstr(err.message,
                         "100 points of links and 1000 surfaces make 100000 pairs that may touch; a scene has at most "
                         "65536"),
                  "%s", err.message);
    free(many), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("obstacles");
    TCase *const t = tcase_create("obstacles");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, gaps_are_distances);
    tcase_add_test(t, hulls_are_distances);
    tcase_add_test(t, hulls_hold_all_points), tcase_add_test(t, hulls_hold_a_ball), tcase_add_test(t, faces_in_groups);
    tcase_add_test(t, ellipsoids_are_distances);
    tcase_add_test(t, derivatives_are_differences);
    tcase_add_test(t, terrain_goes_through_heights);
    tcase_add_test(t, energy_has_its_derivatives);
    tcase_add_test(t, rests_as_deep);
    tcase_add_test(t, rests_on_a_slope);
    tcase_add_test(t, methods_agree);
    tcase_add_loop_test(t, energy_never_rises, 0, GROUND_KINDS);
    tcase_add_loop_test(t, same_bits, 0, WAYS);
    tcase_add_loop_test(t, far_points_change_nothing, 0, WAYS);
    tcase_add_test(t, points_by_surfaces);
    tcase_add_test(t, contacts_are_told);
    tcase_add_test(t, files_of_heights);
    tcase_add_test(t, heights_in_the_scene);
    tcase_add_test(t, layers);
    tcase_add_test(t, warnings_and_refusals);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
