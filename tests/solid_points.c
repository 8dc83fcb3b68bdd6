/// Rounded points of cylinders, ellipsoids and meshes against the shapes: how far they reach in any direction; and such shapes on
/// the ground.
#include "sim/model/solid_points.h"
#include "sim/model/model.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 128, DIRECTIONS = 500 };

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void any_direction(rng *r, double d[3])
{
    do
        for (int k = 0; k < 3; k++) d[k] = rng_uniform(r, -1, 1);
    while (!(dot3(d, d) > 0.01 && dot3(d, d) < 1));
    const double length = sqrt(dot3(d, d));
    for (int k = 0; k < 3; k++) d[k] /= length;
}

/// How far the balls reach along d.
static double reach_of(const rounded_point *points, int n, const double d[3])
{
    double most = -INFINITY;
    for (int i = 0; i < n; i++) most = fmax(most, dot3(points[i].at, d) + points[i].radius);
    return most;
}

START_TEST(ellipsoids)
{
    FOR_SEEDS(seed, 60)
    {
        rng r = {seed};
        rounded_point points[ELLIPSOID_POINTS];
        scene_shape s = {.type = SHAPE_ELLIPSOID, .rotation = {0.5, 0.5, -0.5, 0.5}};  // turns axes into each other
        const int kind = seed % 4;
        for (int k = 0; k < 3; k++) s.center[k] = rng_uniform(&r, -1, 1), s.size[k] = rng_uniform(&r, 0.1, 1);
        if (kind == 1) s.size[1] = s.size[2] = 0.5 * s.size[0];  // long
        if (kind == 2) s.size[1] = s.size[0], s.size[2] = 0.3 * s.size[0];  // flat
        if (kind == 3) s.size[1] = s.size[2] = s.size[0];
        const int n = ellipsoid_points(&s, points);
        const double most = fmax(s.size[0], fmax(s.size[1], s.size[2]));
        ck_assert_int_eq(n, kind == 3 ? 1 : kind == 1 ? 1 + 2 * ELLIPSOID_RINGS : ELLIPSOID_POINTS);
        double R[9];
        rotation_matrix(s.rotation, R);
        for (int i = 0; i < DIRECTIONS; i++) {
            double d[3], far = 0;
            any_direction(&r, d);
            for (int k = 0; k < 3; k++) {
                const double along = R[k] * d[0] + R[3 + k] * d[1] + R[6 + k] * d[2];
                far += s.size[k] * s.size[k] * along * along;
            }
            const double exact = dot3(s.center, d) + sqrt(far), got = reach_of(points, n, d);
            ck_assert_msg(got <= exact + 1e-7 * most, "seed %llu: sticks out by %g", (unsigned long long)seed, got - exact);
            ck_assert_msg(got >= exact - (kind == 3 ? 1e-12 : 0.05 * most), "seed %llu: lacks %g of %g", (unsigned long long)seed,
                          exact - got, most);
        }
    }
}
END_TEST

START_TEST(cylinders)
{
    FOR_SEEDS(seed, 30)
    {
        rng r = {seed};
        rounded_point points[2 * RIM_POINTS];
        scene_shape s = {.type = SHAPE_CYLINDER, .radius = rng_uniform(&r, 0.01, 1)};
        for (int k = 0; k < 3; k++) s.from[k] = rng_uniform(&r, -1, 1), s.to[k] = rng_uniform(&r, -1, 1);
        ck_assert_int_eq(cylinder_points(&s, points), 2 * RIM_POINTS);
        double axis[3], length;
        for (int k = 0; k < 3; k++) axis[k] = s.to[k] - s.from[k];
        length = sqrt(dot3(axis, axis));
        for (int i = 0; i < 2 * RIM_POINTS; i++) {
            const double *const across = points[opposite_on_cylinder(i)].at;
            for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(points[i].at[k] + across[k], s.from[k] + s.to[k], 1e-14);
        }
        for (int i = 0; i < DIRECTIONS; i++) {
            double d[3];
            any_direction(&r, d);
            const double lies = dot3(d, axis) / length, out = s.radius * sqrt(fmax(1 - lies * lies, 0));
            const double exact = fmax(dot3(d, s.from), dot3(d, s.to)) + out, got = reach_of(points, 2 * RIM_POINTS, d);
            ck_assert(got <= exact + 1e-14 && got >= exact - 1.01 * out * (1 - cos(M_PI / RIM_POINTS)) - 1e-14);
        }
    }
}
END_TEST

/// Vertices of a cube and many inside it: the cube's eight are left. Of a ball's, 24 reach all directions to 30 %, and as
/// many as there may be to 6 %; so many as are asked for are taken.
START_TEST(meshes)
{
    enum { INSIDE = 500 };
    static double vertices[8 + INSIDE][3];
    rng r = {7};
    rounded_point points[MOST];
    scene_mesh mesh = {.good = true, .surface = {.vertices = vertices, .nvertex = 8 + INSIDE}};
    const scene_shape s = {.type = SHAPE_MESH, .rotation = {1, 0, 0, 0}, .size = {1, 2, 0.5}, .center = {3, 0, 0}, .mesh = &mesh};
    for (int i = 0; i < 8 + INSIDE; i++)
        for (int k = 0; k < 3; k++) vertices[i][k] = i < 8 ? (i >> k & 1 ? 1 : -1) : rng_uniform(&r, -0.9, 0.9);
    ck_assert_int_eq(mesh_points(&s, 0, points), 8);
    for (int i = 0; i < 8; i++) {
        const double expected[3] = {3 + vertices[i][0], 2 * vertices[i][1], 0.5 * vertices[i][2]};
        ck_assert(!memcmp(points[i].at, expected, sizeof expected) && points[i].radius == 0);
    }
    for (int i = 0; i < 8 + INSIDE; i++) any_direction(&r, vertices[i]);
    const scene_shape ball = {.type = SHAPE_MESH, .rotation = {1, 0, 0, 0}, .size = {1, 1, 1}, .mesh = &mesh};
    for (int asked = 0; asked <= MOST_MESH_POINTS; asked += MOST_MESH_POINTS) {
        const int n = mesh_points(&ball, asked, points);
        ck_assert(asked ? n > 64 && n <= MOST : n == MESH_POINTS);
        for (int i = 0; i < DIRECTIONS; i++) {
            double d[3];
            any_direction(&r, d);
            ck_assert_double_gt(reach_of(points, n, d), asked ? 0.94 : 0.7);
        }
    }
    ck_assert_int_eq(mesh_points(&ball, 40, points), 40);
}
END_TEST

static ctn_model *model_of(const char *shapes, double height)
{
    char text[1000];
    snprintf(text, sizeof text,
             "catena: 1\nground: true\ncontact: {depth: 0.01, friction: 0.5}\nlinks:\n"
             "  - {name: a, position: [0, 0, %g], joint: free, mass: 2, inertia: [0.02, 0.02, 0.02, 0, 0, 0], shapes: [%s]}\n",
             height, shapes);
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m, "%s", err.message);
    ctn_scene_free(scene);
    return m;
}

/// The state after 5 s by order 2 in steps of 10 ms.
static void end_of(const ctn_model *m, double *q, double *v)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.dt = 0.01, cfg.method = CTN_COLLOCATION;
    ctn_error err;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b, "%s", err.message);
    ctn_step_stats s;
    ctn_batch_step(b, 500, &s, NULL), ctn_batch_state(b, q, v);
    ck_assert(!s.frozen && s.created <= 1e-12);
    ctn_batch_free(b);
}

/// A can that falls on its foot stands on RIM_POINTS points, each a spring that carries it at 10 mm; an egg of three equal axes
/// is a ball to the last bit.
START_TEST(on_the_ground)
{
    double q[7], v[6], ball_q[7], ball_v[6];
    ctn_model *const can = model_of("{type: cylinder, from: [0, 0, -0.2], to: [0, 0, 0.2], radius: 0.1}", 0.25);
    end_of(can, q, v);
    ck_assert_double_eq_tol(q[2], 0.2 - 0.01 / RIM_POINTS, 1e-9);
    for (int k = 0; k < 6; k++) ck_assert_double_lt(fabs(v[k]), 1e-9);
    ctn_model *const egg = model_of("{type: ellipsoid, radii: [0.1, 0.1, 0.1]}", 0.3),
                    *const ball = model_of("{type: sphere, radius: 0.1}", 0.3);
    end_of(egg, q, v), end_of(ball, ball_q, ball_v);
    ck_assert(!memcmp(q, ball_q, sizeof q) && !memcmp(v, ball_v, sizeof v));
    ctn_model_free(can), ctn_model_free(egg), ctn_model_free(ball);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("solid_points");
    TCase *const t = tcase_create("solid_points");
    tcase_add_test(t, ellipsoids);
    tcase_add_test(t, cylinders);
    tcase_add_test(t, meshes);
    tcase_add_test(t, on_the_ground);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
