/// What `sample:` draws: strata of Latin hypercubes, grids, and random numbers that stay as they are for good.
#include "sim/base/parameter_kinds.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <Random123/philox.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY "mass: 1, com: [0.1, 0.2, 0.3], inertia: [1, 1, 1, 0, 0, 0]"

static const char links[] = "catena: 1\n"
                            "links:\n"
                            "  - {name: a, joint: revolute, " BODY "}\n"
                            "  - {name: plate, parent: a, joint: fixed, " BODY "}\n"
                            "  - {name: b, parent: a, joint: universal, " BODY "}\n"
                            "  - {name: c, parent: b, joint: {type: prismatic, limits: [-1, 1]}, " BODY "}\n"
                            "sample:\n";
enum { DOFS = 4 };  // a, b, b, c

static ctn_scene *scene;
static ctn_model *model;

/// The scene with this section `sample:`.
static void sample(const char *section)
{
    char text[4000];
    ctn_error err;
    snprintf(text, sizeof text, "%s%s", links, section);
    ctn_model_free(model), ctn_scene_free(scene);
    scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
}

static void teardown(void)
{
    ctn_model_free(model), ctn_scene_free(scene);
    model = NULL, scene = NULL;
}

/// Number `k` of q, then of v, of a world.
static double drawn(uint64_t seed, int64_t world, int64_t worlds, int k)
{
    double x[2 * DOFS];
    ctn_sample_state(scene, model, seed, world, worlds, x, x + DOFS);
    return x[k];
}

// ---- Latin hypercubes

static const int64_t latin_worlds[] = {1, 2, 3, 4, 5, 16, 17, 101, 256, 257, 1000, 1009, 4097};
enum { LATIN = sizeof latin_worlds / sizeof *latin_worlds };

/// Each of the N strata of each dimension is hit by exactly one of N worlds.
START_TEST(strata_are_hit_once)
{
    const int64_t n = latin_worlds[_i];
    bool *const hit = calloc((size_t)n, sizeof *hit);
    sample("  q: {all: {latin: [-1, 3]}}\n  v: {c: {latin: [0, 0.001]}, b: {latin: [5, 5]}}\n");
    for (int k = 0; k < DOFS + 4; k++) {
        memset(hit, 0, (size_t)n * sizeof *hit);
        for (int64_t w = 0; w < n; w++) {
            const double x = drawn(7, w, n, k), part = k < DOFS ? (x + 1) / 4 : x / 0.001;
            if (k == DOFS) ck_assert_double_eq(x, 0);  // nothing is said about a
            else if (k < DOFS || k == DOFS + 3) {
                const int64_t stratum = (int64_t)floor(part * (double)n);
                ck_assert_msg(stratum >= 0 && stratum < n && !hit[stratum], "world %ld of %ld, number %d: %g", (long)w, (long)n,
                              k, x);
                hit[stratum] = true;
            } else ck_assert_double_eq(x, 5);
        }
    }
    free(hit);
}
END_TEST

/// All six orders of three worlds come up alike over the seeds, and a world's place within its stratum is spread evenly.
START_TEST(orders_are_alike)
{
    enum { SEEDS = 6000 };
    int count[27] = {0};
    double sum = 0, square = 0;
    sample("  q: {all: {latin: [0, 3]}}\n");
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        int order = 0;
        for (int w = 0; w < 3; w++) {
            const double x = drawn(seed, w, 3, 2), place = x - floor(x);
            order = 3 * order + (int)floor(x);
            sum += place, square += place * place;
        }
        count[order]++;
    }
    static const int orders[6] = {5, 7, 11, 15, 19, 21};  // 012, 021, 102, 120, 201, 210
    double chi = 0;
    for (int k = 0; k < 6; k++) chi += (count[orders[k]] - SEEDS / 6.0) * (count[orders[k]] - SEEDS / 6.0) / (SEEDS / 6.0);
    ck_assert_msg(chi < 25.7, "chi squared %g", chi);  // 5 degrees of freedom: one in ten thousand is beyond
    const double n = 3.0 * SEEDS;
    ck_assert_double_eq_tol(sum / n, 0.5, 5 * sqrt(1 / 12.0 / n));
    ck_assert_double_eq_tol(square / n, 1 / 3.0, 5 * sqrt(4 / 45.0 / n));
}
END_TEST

/// Dimensions, q and v, and seeds are drawn apart.
START_TEST(dimensions_are_unrelated)
{
    enum { N = 1000, SERIES = 2 * DOFS + 1 };
    static double x[SERIES][N];
    sample("  q: {all: {latin: [-1, 1]}}\n  v: {all: {latin: [-1, 1]}}\n");
    for (int k = 0; k < SERIES; k++)
        for (int w = 0; w < N; w++) x[k][w] = k < 2 * DOFS ? drawn(1, w, N, k) : drawn(2, w, N, 0);
    for (int a = 0; a < SERIES; a++)
        for (int b = 0; b < a; b++) {
            double product = 0;
            for (int w = 0; w < N; w++) product += x[a][w] * x[b][w];
            ck_assert_msg(fabs(3 * product / N) < 5 / sqrt(N), "series %d and %d: correlation %g", a, b, 3 * product / N);
        }
}
END_TEST

// ---- grids

/// Every combination once: the first one that the file names varies fastest, then the others; those of one joint in the order of
/// its degrees of freedom. Then all over again.
START_TEST(grids_are_complete)
{
    enum { POINTS = 2 * 3 * 3 * 4 };
    sample("  v: {c: {grid: [5, 6, 2]}}\n  q: {b: {grid: [-1, 1, 3]}, a: {grid: [0.1, 0.3, 4]}, c: {grid: [7, 8, 1]}}\n");
    ck_assert_int_eq(ctn_scene_grid(scene), POINTS);
    for (int w = 0; w < 2 * POINTS; w++) {
        const int k = w % POINTS;
        ck_assert_double_eq(drawn(0, w, 100, DOFS + 3), 5 + k % 2);
        ck_assert_double_eq(drawn(0, w, 100, 1), k / 2 % 3 - 1);
        ck_assert_double_eq(drawn(0, w, 100, 2), k / 6 % 3 - 1);
        ck_assert_double_eq_tol(drawn(0, w, 100, 0), 0.1 + (k / 18) * (0.3 - 0.1) / 3, 1e-16);
        ck_assert_double_eq(drawn(0, w, 100, 3), 7.5);  // of one value: the middle
    }
    ck_assert_double_eq(drawn(0, POINTS - 1, 100, 0), 0.3);  // to the last bit
    sample("  q: {all: {grid: [0, 2, 3]}, b: {grid: [0, 0, 1]}}\n");
    ck_assert_int_eq(ctn_scene_grid(scene), 9);
    for (int w = 0; w < 9; w++) {
        ck_assert_double_eq(drawn(0, w, 9, 0), w % 3);
        ck_assert_double_eq(drawn(0, w, 9, 3), w / 3);
    }
    sample("  q: {all: {uniform: [0, 2]}}\n");
    ck_assert_int_eq(ctn_scene_grid(scene), 1);
}
END_TEST

// ---- joint forces

/// Zero where nothing is drawn; the numbers are neither those of q nor of v, and grids of forces count with the others.
START_TEST(forces)
{
    double tau[DOFS], q[DOFS], v[DOFS];
    sample("  q: {all: {uniform: [-1, 1]}}\n  v: {all: {uniform: [-1, 1]}}\n");
    ck_assert(!ctn_scene_has_force(scene));
    ck_assert(!ctn_sample_force(scene, model, 0, 0, 1, tau));
    for (int k = 0; k < DOFS; k++) ck_assert_double_eq(tau[k], 0);
    sample("  q: {all: {uniform: [-1, 1]}}\n  v: {all: {uniform: [-1, 1]}, c: {grid: [0, 1, 2]}}\n"
           "  force: {b: {uniform: [-1, 1]}, c: {grid: [-2, 2, 3]}}\n");
    ck_assert(ctn_scene_has_force(scene));
    ck_assert_int_eq(ctn_scene_grid(scene), 6);
    for (int w = 0; w < 12; w++) {
        ck_assert(ctn_sample_force(scene, model, 9, w, 12, tau));
        ctn_sample_state(scene, model, 9, w, 12, q, v);
        ck_assert_double_eq(tau[0], 0);
        ck_assert_double_eq(tau[3], 2 * (w / 2 % 3) - 2);
        for (int k = 1; k < 3; k++) ck_assert(fabs(tau[k]) < 1 && tau[k] != q[k] && tau[k] != v[k] && tau[k] != tau[3 - k]);
    }
}
END_TEST

/// Rows of a block are those of its worlds one by one; without forces theirs are left alone.
START_TEST(blocks_are_worlds)
{
    enum { FIRST = 3, COUNT = 4, WORLDS = 9 };
    double q[COUNT][DOFS], v[COUNT][DOFS], tau[COUNT][DOFS], values[COUNT], one[3][DOFS], value;
    sample("  q: {all: {latin: [-1, 1]}}\n  v: {all: {uniform: [-1, 1]}}\n  force: {b: {uniform: [-1, 1]}}\n"
           "  parameters: {damping: {b: {uniform: [1, 2]}}}\n");
    ck_assert(ctn_sample_worlds(scene, model, 5, FIRST, COUNT, WORLDS, q[0], v[0], tau[0], values));
    for (int k = 0; k < COUNT; k++) {
        ctn_sample_state(scene, model, 5, FIRST + k, WORLDS, one[0], one[1]);
        ctn_sample_force(scene, model, 5, FIRST + k, WORLDS, one[2]);
        ctn_sample_parameters(scene, model, 5, FIRST + k, WORLDS, &value);
        ck_assert_mem_eq(q[k], one[0], sizeof *q);
        ck_assert_mem_eq(v[k], one[1], sizeof *v);
        ck_assert_mem_eq(tau[k], one[2], sizeof *tau);
        ck_assert(value == values[k]);
    }
    sample("  q: {all: {uniform: [-1, 1]}}\n");
    tau[0][0] = 77;
    ck_assert(!ctn_sample_worlds(scene, model, 5, 0, 1, WORLDS, NULL, NULL, tau[0], NULL));
    ck_assert_double_eq(tau[0][0], 77);
}
END_TEST

// ---- parameters

/// What there is to draw for: `all` stands for the links that have the parameter and are not named; in the order of kinds and
/// links.
START_TEST(parameters_are_listed)
{
    static const ctn_parameter want[] = {{CTN_GRAVITY, 2},    {CTN_MASS_SCALE, 0}, {CTN_MASS_SCALE, 1}, {CTN_MASS_SCALE, 2},
                                         {CTN_MASS_SCALE, 3}, {CTN_ARMATURE, 0},   {CTN_ARMATURE, 2},   {CTN_ARMATURE, 3},
                                         {CTN_DAMPING, 2},    {CTN_LIMIT_UPPER, 3}};
    enum { COUNT = sizeof want / sizeof *want };
    ctn_parameter list[COUNT + 1];
    double values[COUNT + 1];
    sample("  parameters:\n"
           "    limit_upper: {all: {uniform: [6, 7]}}\n"
           "    gravity: {z: {grid: [-10, -9, 3]}}\n"
           "    damping: {b: {normal: [0.5, 0]}}\n"
           "    mass_scale: {plate: {uniform: [2, 3]}, all: {uniform: [1, 1.5]}}\n"
           "    armature: {all: {latin: [4, 5]}}\n");
    ck_assert_int_eq(ctn_scene_parameters(scene, model, NULL), COUNT);
    ck_assert_int_eq(ctn_scene_parameters(scene, model, list), COUNT);
    for (int k = 0; k < COUNT; k++)
        ck_assert_msg(list[k].kind == want[k].kind && list[k].index == want[k].index, "%d: %s %d", k,
                      ctn_parameter_name(list[k].kind), list[k].index);
    static const double least[COUNT] = {-10, 1, 2, 1, 1, 4, 4, 4, 0.5, 6}, most[COUNT] = {-9, 1.5, 3, 1.5, 1.5, 5, 5, 5, 0.5, 7};
    for (int w = 0; w < 30; w++) {
        values[COUNT] = 77;
        ctn_sample_parameters(scene, model, 1, w, 30, values);
        ck_assert_double_eq(values[0], -10 + 0.5 * (w % 3));
        for (int k = 0; k < COUNT; k++) {
            ck_assert(values[k] >= least[k] && values[k] <= most[k]);
            for (int i = 1; i < k && k != 8; i++)
                ck_assert(fmod(values[k], 0.5) != fmod(values[i], 0.5));  // numbers of their own
        }
        ck_assert_double_eq(values[COUNT], 77);
    }
    sample("  q: {all: {uniform: [0, 1]}}\n");
    ck_assert_int_eq(ctn_scene_parameters(scene, model, NULL), 0);
    ck_assert_str_eq(ctn_parameter_name(CTN_LIMIT_DAMPING), "limit_damping");
    ck_assert_ptr_null(ctn_parameter_name((ctn_parameter_kind)PARAMETER_KINDS));
}
END_TEST

/// `all` is for the links that are not named, wherever it stands: here 4 rad suit the hinge alone.
START_TEST(all_is_for_the_others)
{
    static const char text[] =
        "catena: 1\nlinks:\n"
        "  - {name: a, joint: {type: revolute, axis: [0, 0, 1], limits: [-1, 5]}, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, "
        "0, 0]}\n"
        "  - {name: b, parent: a, joint: {type: ball, limits: 2}, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
        "sample: {parameters: {limit_upper: {";
    static const char *const orders[] = {"all: {uniform: [4, 4]}, b: {uniform: [1, 1]}",
                                         "b: {uniform: [1, 1]}, all: {uniform: [4, 4]}"};
    for (int k = 0; k < 2; k++) {
        char whole[1000];
        double values[2];
        ctn_error err;
        snprintf(whole, sizeof whole, "%s%s}}}\n", text, orders[k]);
        scene = ctn_scene_parse(whole, strlen(whole), "t.yaml", &err);
        ck_assert_msg(scene != NULL, "%s", err.message);
        model = ctn_model_create(scene, &err);
        ck_assert_int_eq(ctn_scene_parameters(scene, model, NULL), 2);
        ctn_sample_parameters(scene, model, 1, 0, 1, values);
        ck_assert_double_eq(values[0], 4);
        ck_assert_double_eq(values[1], 1);
        teardown();
    }
}
END_TEST

/// Parameters have numbers of their own, a Latin hypercube too, and their grids count with the others.
START_TEST(parameters_are_drawn_apart)
{
    double x[4] = {0};
    sample("  q: {a: {grid: [0, 1, 2]}}\n  parameters: {mass_scale: {all: {latin: [1, 2]}}, gravity: {x: {grid: [0, 3, 4]}}}\n");
    ck_assert_int_eq(ctn_scene_grid(scene), 8);
    bool hit[4][8] = {{0}};
    for (int w = 0; w < 8; w++) {
        double values[5];
        ctn_sample_parameters(scene, model, 1, w, 8, values);
        ck_assert_double_eq(values[0], w / 2);
        ck_assert_double_eq(drawn(1, w, 8, 0), w % 2);
        for (int k = 0; k < 4; k++) hit[k][(int)(8 * (values[k + 1] - 1))] = true;
        if (w == 0) memcpy(x, values + 1, sizeof x);
    }
    for (int k = 0; k < 32; k++) ck_assert(hit[k / 8][k % 8]);
    ck_assert(x[0] != x[1] && x[1] != x[2] && x[2] != x[3]);
}
END_TEST

// ---- random numbers

/// Numbers of a world are the same whatever the order of worlds; of how many there are only strata depend.
START_TEST(worlds_are_independent)
{
    enum { N = 100 };
    double forth[N][2 * DOFS], x[2 * DOFS];
    sample("  q: {a: {latin: [0, 1]}, b: {uniform: [0, 1]}, c: {grid: [0, 1, 7]}}\n  v: {all: {normal: [0, 1]}}\n");
    for (int w = 0; w < N; w++) ctn_sample_state(scene, model, 3, w, N, forth[w], forth[w] + DOFS);
    for (int w = N - 1; w >= 0; w--) {
        ctn_sample_state(scene, model, 3, w, N, x, x + DOFS);
        ck_assert(!memcmp(x, forth[w], sizeof x));
        ctn_sample_state(scene, model, 3, w, 2 * N, x, x + DOFS);
        ck_assert(x[0] != forth[w][0] && !memcmp(x + 1, forth[w] + 1, sizeof x - sizeof *x));
    }
}
END_TEST

/// Uniform and normal numbers are those of the first version, to the last bit: of q (0) and v (1), world and degree of freedom.
START_TEST(random_numbers_stay)
{
    sample("  q: {all: {uniform: [-0.3, 0.3]}}\n  v: {all: {normal: [0.25, 0.5]}}\n");
    static const double first[DOFS] = {0x1.df8cebb77e96ap-3, -0x1.2255563a9393dp-2, 0x1.ef60171771422p-3, 0x1.7bc0affabc2ep-6};
    for (int k = 0; k < DOFS; k++) ck_assert_double_eq(drawn(1, 0, 1, k), first[k]);
    static const int64_t worlds[] = {0, 1, 1000000007, (int64_t)5 << 40};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        for (int k = 0; k < DOFS; k++) {
            const philox4x32_key_t key = {{0x9abcdef0u, 0x12345678u}};
            philox4x32_ctr_t at = {{(uint32_t)worlds[i], (uint32_t)(worlds[i] >> 32), (uint32_t)k, 0}};
            double x[2][2];
            for (int what = 0; what < 2; what++) {
                at.v[3] = (uint32_t)what;
                const philox4x32_ctr_t r = philox4x32(at, key);
                for (int j = 0; j < 2; j++)
                    x[what][j] = ((double)(((uint64_t)r.v[2 * j] << 32 | r.v[2 * j + 1]) >> 12) + 0.5) * 0x1p-52;
            }
            const double normal = sqrt(-2 * log(x[1][0])) * cos(2 * 3.14159265358979323846 * x[1][1]);
            ck_assert_double_eq(drawn(0x123456789abcdef0u, worlds[i], (int64_t)1 << 60, k), -0.3 + (0.3 - -0.3) * x[0][0]);
            ck_assert_double_eq(drawn(0x123456789abcdef0u, worlds[i], (int64_t)1 << 60, DOFS + k), 0.25 + 0.5 * normal);
        }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sample");
    TCase *c = tcase_create("sample");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_add_loop_test(c, strata_are_hit_once, 0, LATIN);
    tcase_add_test(c, orders_are_alike);
    tcase_add_test(c, dimensions_are_unrelated);
    tcase_add_test(c, grids_are_complete);
    tcase_add_test(c, forces);
    tcase_add_test(c, blocks_are_worlds);
    tcase_add_test(c, parameters_are_listed);
    tcase_add_test(c, all_is_for_the_others);
    tcase_add_test(c, parameters_are_drawn_apart);
    tcase_add_test(c, worlds_are_independent);
    tcase_add_test(c, random_numbers_stay);
    suite_add_tcase(s, c);
    return run_suite(s);
}
