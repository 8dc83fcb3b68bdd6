/// `dt: auto` and dense output of the position-based methods: errors beside exact motions, stiff forces, rejected parts, saved
/// states; the order of what lies between the steps.
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"double-pendulum", "chain5", "chain10", "ball5", "prismatic-mix", "flying-tree5"};
enum { MODELS = sizeof models / sizeof *models };

/// Radau, or alpha for 0 stages, with parts that meet the tolerance.
static ctn_batch_config automatic(int stages, double interval, double tolerance)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = stages ? CTN_RADAU : CTN_ALPHA, cfg.adaptive = true, cfg.dt = interval, cfg.error_tolerance = tolerance;
    if (stages) cfg.stages = stages;
    return cfg;
}

/// The state [nq + nv] of dop853 after `time` s from `start`.
static void exact(const ctn_model *m, const double *start, double time, double *x)
{
    const int nq = ctn_model_nq(m);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_DOP853, cfg.adaptive = true, cfg.error_tolerance = 1e-13, cfg.dt = time;
    memcpy(x, start, (size_t)(nq + ctn_model_nv(m)) * sizeof *x);
    if (time <= 0) return;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert(ctn_batch_set_state(b, start, start + nq, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
    ctn_batch_state(b, x, x + nq);
    ctn_batch_free(b);
}

// ---- the tolerance

/// Error after 1 s of a golden trajectory, in intervals of 0.5 s.
static double golden_error(const char *model, const ctn_batch_config *cfg, ctn_step_stats *stats)
{
    ctn_model *const m = golden_model(model);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    cJSON *const json = golden_json(model, "trajectory.json");
    const cJSON *const samples = cJSON_GetObjectItem(json, "samples");
    double *const q = golden_numbers(cJSON_GetArrayItem(samples, 0), "q", nq),
                  *const v = golden_numbers(cJSON_GetArrayItem(samples, 0), "v", nv),
                  *const want = golden_numbers(cJSON_GetArrayItem(samples, 10), "q", nq);
    ctn_batch *const b = batch_with(m, cfg);
    ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 2, stats, NULL), CTN_OK);
    ck_assert(ctn_batch_time(b, 0) == 1);
    ctn_batch_state(b, q, NULL);
    const double e = coordinate_distance(m, q, want);
    free(q), free(v), free(want);
    cJSON_Delete(json), ctn_batch_free(b), ctn_model_free(m);
    return e;
}

/// The error at the end of a motion follows the tolerance over six decades; the number of parts grows with the root of its order.
START_TEST(tolerance_is_met)
{
    const int s = 2 + _i / MODELS;
    const char *const model = models[_i % MODELS];
    ctn_step_stats loose, tight, k;
    for (double tolerance = 1e-3; tolerance > 0.9e-9; tolerance *= 0.1) {
        const ctn_batch_config cfg = automatic(s, 0.5, tolerance);
        const double e = golden_error(model, &cfg, &k);
        ck_assert_msg(e < 30 * tolerance, "%s, %d stages: error %.3g at tolerance %.0e", model, s, e, tolerance);
        ck_assert(k.steps == 2 && k.fallbacks == 0 && k.fewer_stages == 0);
        ck_assert_int_ge(k.evaluations, 2 * (k.substeps + k.rejected));
    }
    const ctn_batch_config cfg[2] = {automatic(s, 0.5, 1e-5), automatic(s, 0.5, 1e-9)};
    const double a = golden_error(model, &cfg[0], &loose), b = golden_error(model, &cfg[1], &tight), slope = log10(a / b) / 4,
                 parts = (double)tight.substeps / (double)loose.substeps, want = pow(1e4, 1. / (2 * s - 1));
    ck_assert_msg(slope > 0.6 && slope < 1.5, "%s, %d stages: error %.3g at 1e-5, %.3g at 1e-9", model, s, a, b);
    ck_assert_msg(parts > 0.7 * want && parts < 1.3 * want, "%s, %d stages: %ld parts at 1e-5, %ld at 1e-9", model, s,
                  loose.substeps, tight.substeps);
}
END_TEST

/// One stage: a hundred times the tolerance, a tenth of the parts and ten times the error.
START_TEST(one_stage)
{
    ctn_step_stats k[2];
    const ctn_batch_config loose = automatic(1, 0.5, 1e-4), tight = automatic(1, 0.5, 1e-6);
    const double a = golden_error("double-pendulum", &loose, &k[0]), b = golden_error("double-pendulum", &tight, &k[1]);
    ck_assert_msg(a / b > 8 && a / b < 12, "errors %.3g, %.3g", a, b);
    const double parts = (double)k[1].substeps / (double)k[0].substeps;
    ck_assert_msg(parts > 9 && parts < 11, "parts %ld, %ld", k[0].substeps, k[1].substeps);
}
END_TEST

// ---- stiff forces

/// A chain of three that hangs out sideways by stiff springs with dampers which settle in a hundredth of a second.
static ctn_model *stiff_chain(double stiffness)
{
    char text[1500];
    int used = snprintf(text, sizeof text, "catena: 1\nlinks:\n");
    for (int k = 0; k < 3; k++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "  - {name: l%d, %sjoint: {type: revolute, axis: [0, 1, 0], %s}, mass: 1, com: [0.5, 0, 0], "
                         "inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n",
                         k,
                         k == 2 ? "parent: l1, position: [1, 0, 0], "
                         : k    ? "parent: l0, position: [1, 0, 0], "
                                : "",
                         k == 1 ? "" : "q0: 0.3, stiffness: STIFF, damping: DAMP");
    char full[2000];
    char *to = full;
    for (const char *p = text; *p;) {
        if (!strncmp(p, "STIFF", 5)) to += sprintf(to, "%g", stiffness), p += 5;
        else if (!strncmp(p, "DAMP", 4)) to += sprintf(to, "%g", stiffness / 100), p += 4;
        else *to++ = *p++;
    }
    *to = 0;
    return model_of(full);
}

/// Springs and dampers that settle within 10 ms are followed for their first moments; then parts are as long at a stiffness of
/// 1e8 as at one of 1e4.
START_TEST(stiff_springs)
{
    const int s = _i ? 1 + _i : 0;
    long first[3], later[3];
    for (int k = 0; k < 3; k++) {
        ctn_model *const m = stiff_chain(pow(100, 2 + k));
        const ctn_batch_config cfg = automatic(s, 0.5, 1e-5);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_step_stats st;
        double q[3];
        ck_assert_int_eq(ctn_batch_step(b, 1, &st, NULL), CTN_OK);
        first[k] = st.substeps;
        ck_assert_int_eq(ctn_batch_step(b, 2, &st, NULL), CTN_OK);
        later[k] = st.substeps;
        ctn_batch_state(b, q, NULL);
        ck_assert_msg(st.frozen == CTN_RUNNING && st.fallbacks == 0, "stiffness %d", k);
        ck_assert_msg(fabs(q[0]) < 1e2 / pow(100, 2 + k) && fabs(q[2]) < 1e2 / pow(100, 2 + k), "%g %g", q[0], q[2]);
        ctn_batch_free(b), ctn_model_free(m);
    }
    ck_assert_msg(10 * later[2] < 13 * later[0], "%d stages: %ld parts, then %ld", s, later[0], later[2]);
    ck_assert_msg(first[2] < 4 * first[0], "%d stages: %ld parts at first, then %ld", s, first[0], first[2]);
}
END_TEST

/// An end stop is met by repeating parts. Velocities are not held to the tolerance there: energy is kept to a percent only.
START_TEST(rejected_parts)
{
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], limits: [-1, 1], "
                                 "limit_stiffness: 1e5, limit_damping: 0}, mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n");
    const ctn_batch_config cfg = automatic(3, 1, 1e-8);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_step(b, 3, &s, NULL), CTN_OK);
    ck_assert_int_ge(s.rejected, 5);  // it bounces
    ck_assert_msg(fabs(s.energy_after - s.energy_before) < 0.04, "energy from %g to %g", s.energy_before, s.energy_after);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Alpha: the error follows the tolerance, and parts go by its root, with every rho.
START_TEST(tolerance_of_alpha)
{
    static const double rhos[] = {0, 0.1, 0.2};
    const char *const model = models[_i % MODELS];
    double e[3];
    long parts[3];
    for (int k = 0; k < 3; k++) {
        ctn_step_stats s;
        ctn_batch_config cfg = automatic(0, 0.5, pow(10, -3 - k));
        cfg.rho = rhos[_i / MODELS];
        e[k] = golden_error(model, &cfg, &s), parts[k] = s.substeps;
        ck_assert_msg(e[k] < 30 * cfg.error_tolerance, "%s, rho %g: error %.3g at tolerance %.0e", model, cfg.rho, e[k],
                      cfg.error_tolerance);
        ck_assert(s.steps == 2 && s.fallbacks == 0 && s.fewer_stages == 0);
    }
    ck_assert_msg(e[0] / e[2] > 60 && e[0] / e[2] < 200, "%s: error %.3g, then %.3g", model, e[0], e[2]);
    ck_assert_msg(parts[2] > 9 * parts[0] && parts[2] < 11 * parts[0], "%s: %ld parts, then %ld", model, parts[0], parts[2]);
}
END_TEST

/// The same over random forests with springs, dampers, armature, forces and loads on links.
START_TEST(forests_of_alpha)
{
    double mean = 0;
    int count = 0;
    FOR_SEEDS(seed, 12)
    {
        const random_options o = loaded_forest(seed);
        ctn_model *const m = random_model(seed, &o);
        const int nq = ctn_model_nq(m), n = nq + ctn_model_nv(m);
        double *const start = malloc((size_t)n * sizeof *start), *const x = malloc((size_t)n * sizeof *x),
                      *const want = malloc((size_t)n * sizeof *want), e[2];
        rng r = {seed};
        random_state(m, &r, start, start + nq);
        exact(m, start, 0.2, want);
        for (int k = 0; k < 2; k++) {
            const ctn_batch_config cfg = automatic(0, 0.1, k ? 1e-5 : 1e-3);
            ctn_batch *const b = batch_with(m, &cfg);
            ck_assert(ctn_batch_set_state(b, start, start + nq, 0, NULL) == CTN_OK);
            ck_assert_int_eq(ctn_batch_step(b, 2, NULL, NULL), CTN_OK);
            ctn_batch_state(b, x, NULL);
            e[k] = coordinate_distance(m, x, want);
            ck_assert_msg(e[k] < 30 * cfg.error_tolerance, "seed %llu: error %.3g at tolerance %.0e", (unsigned long long)seed,
                          e[k], cfg.error_tolerance);
            ctn_batch_free(b);
        }
        mean += log10(e[0] / e[1]), count++;
        free(start), free(x), free(want), ctn_model_free(m);
    }
    ck_assert_msg(count < 6 || fabs(mean / count - 2) < 0.3, "a hundredth of the tolerance, an error of 10^-%.2f", mean / count);
}
END_TEST

/// The estimate stands in for the law of energy: whips gain none at the loosest tolerances that say anything, 1 rad or m.
START_TEST(whips_of_alpha)
{
    FOR_SEEDS(seed, 6)
    {
        const random_options o = {.links = 6 + (int)(seed % 3) * 3,
                                  .chain = true,
                                  .joints = seed % 2 ? 1u << CTN_UNIVERSAL : 1u << CTN_BALL | 1u << CTN_REVOLUTE};
        ctn_model *const m = random_model(seed, &o);
        double *const q = calloc((size_t)ctn_model_nq(m) + 1, sizeof *q), *const v =
                                                                              calloc((size_t)ctn_model_nv(m) + 1, sizeof *v);
        for (double tolerance = 1; tolerance > 0.05; tolerance *= 0.1) {
            const ctn_batch_config cfg = automatic(0, 1, tolerance);
            ctn_batch *const b = batch_with(m, &cfg);
            ctn_step_stats s;
            rng r = {seed};
            random_state(m, &r, q, v);
            ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
            ck_assert_int_eq(ctn_batch_step(b, 10, &s, NULL), CTN_OK);
            ck_assert_msg(s.energy_max < s.energy_before + 0.01 * (s.kinetic_before + 1),
                          "seed %llu, tolerance %g: from %.6g to %.6g J", (unsigned long long)seed, tolerance, s.energy_before,
                          s.energy_max);
            ctn_batch_free(b);
        }
        free(q), free(v), ctn_model_free(m);
    }
}
END_TEST

/// Parts that are rejected leave coordinates and velocities as they were.
START_TEST(rejected_parts_of_alpha)
{
    ctn_model *const m = golden_model("chain5");
    ctn_batch_config cfg = automatic(0, 0.05, 1e-5);
    ctn_batch *const b = batch_with(m, &cfg);
    const int nv = ctn_model_nv(m);
    double *const bad = malloc((size_t)nv * sizeof *bad);
    ctn_step_stats s;
    for (int k = 0; k < nv; k++) bad[k] = NAN;
    ck_assert_int_eq(ctn_batch_step(b, 3, &s, NULL), CTN_OK);
    double q[2][16], v[2][16];
    ctn_batch_state(b, q[0], v[0]);
    ctn_batch_set_force(b, bad);  // no part is solved: all are rejected, and the world freezes where it was
    ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_FROZEN);
    ck_assert(s.rejected > 5 && s.substeps == 0);
    ctn_batch_state(b, q[1], v[1]);
    ck_assert_mem_eq(q[0], q[1], (size_t)ctn_model_nq(m) * sizeof **q);
    ck_assert_mem_eq(v[0], v[1], (size_t)nv * sizeof **v);
    free(bad), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// What cannot be solved makes parts smaller down to the limit, and then freezes the world where it was.
START_TEST(freezing)
{
    ctn_model *const m =
        model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.5, 0, "
                "0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n");
    for (int stages = 0; stages <= 4; stages++) {
        const double bad = NAN;
        double q = 0.1, v = 0.2;
        ctn_step_stats s;
        ctn_batch_config cfg = automatic(stages, 0.1, 1e-6);
        ctn_batch *b = batch_with(m, &cfg);
        ck_assert(ctn_batch_set_state(b, &q, &v, 0, NULL) == CTN_OK);
        ctn_batch_set_force(b, &bad);
        ck_assert_int_eq(ctn_batch_step(b, 3, &s, NULL), CTN_FROZEN);
        ck_assert_int_eq(s.frozen, CTN_FREEZE_NOT_CONVERGED);
        ctn_batch_state(b, &q, NULL);
        ck_assert(q == 0.1 && s.steps == 0 && s.substeps == 0 && s.frozen_time == 0 && s.rejected > 5);
        ctn_batch_set_force(b, NULL);
        ck_assert(ctn_batch_set_state(b, &q, &v, 0, NULL) == CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_OK);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

// ---- the state

/// Steps in one call, in many, and on from a saved state: the same bits; worlds with different parts beside each other and alone.
START_TEST(same_bits)
{
    enum { WORLDS = 5, STEPS = 6 };
    const random_options o = {.links = 5};
    ctn_model *const m = random_model(11, &o);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = nq + nv;
    double *const q = malloc(WORLDS * nq * sizeof *q), *const v = malloc(WORLDS * nv * sizeof *v),
                  *const x = malloc(n * sizeof *x), *const all = malloc(WORLDS * n * sizeof *all);
    ctn_batch_config cfg = automatic(_i, 0.1, _i > 1 ? 1e-8 : 1e-4);
    cfg.worlds = WORLDS;
    ctn_batch *const one = batch_with(m, &cfg), *const many = batch_with(m, &cfg), *const again = batch_with(m, &cfg);
    rng r = {5};
    for (size_t w = 0; w < WORLDS; w++) {
        random_state(m, &r, q + w * nq, v + w * nv);
        for (size_t k = 0; k < nv; k++) v[w * nv + k] *= 4 * (double)w;  // the next one faster
    }
    const size_t size = ctn_batch_saved_size(one);
    char *const block[3] = {malloc(size), malloc(size), malloc(size)};
    ctn_step_stats stats[WORLDS];
    ck_assert(ctn_batch_set_state(one, q, v, 0, NULL) == CTN_OK && ctn_batch_set_state(many, q, v, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(one, STEPS, stats, NULL), CTN_OK);
    ck_assert_int_lt(3 * stats[0].substeps, 2 * stats[WORLDS - 1].substeps);
    for (int s = 0; s < STEPS; s++) {
        ck_assert_int_eq(ctn_batch_step(many, 1, NULL, NULL), CTN_OK);
        if (s == 2) ctn_batch_save(many, block[2]);
    }
    ck_assert_int_eq(ctn_batch_restore(again, block[2], size, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_step(again, STEPS - 3, NULL, NULL), CTN_OK);
    ctn_batch_save(one, block[0]), ctn_batch_save(many, block[1]);
    ck_assert_mem_eq(block[0], block[1], size);
    ctn_batch_save(again, block[1]);
    ck_assert_mem_eq(block[0], block[1], size);
    ctn_batch_state(one, all, all + WORLDS * nq);
    cfg.worlds = 1;
    for (size_t w = 0; w < WORLDS; w++) {
        ctn_batch *const alone = batch_with(m, &cfg);
        ck_assert(ctn_batch_set_state(alone, q + w * nq, v + w * nv, 0, NULL) == CTN_OK);
        ck_assert_int_eq(ctn_batch_step(alone, STEPS, NULL, NULL), CTN_OK);
        ctn_batch_state(alone, x, x + nq);
        ck_assert_mem_eq(x, all + w * nq, nq * sizeof *x);
        ck_assert_mem_eq(x + nq, all + WORLDS * nq + w * nv, nv * sizeof *x);
        ctn_batch_free(alone);
    }
    for (int k = 0; k < 3; k++) free(block[k]);
    free(q), free(v), free(x), free(all);
    ctn_batch_free(one), ctn_batch_free(many), ctn_batch_free(again), ctn_model_free(m);
}
END_TEST

// ---- between the steps

static const struct {
    ctn_method method;
    int number;        // order or stages; 0: none
    double dt, order;  // order: of coordinates; of velocities one less, but not below 1
} dense_methods[] = {{CTN_COLLOCATION, 2, 1e-3, 1}, {CTN_COLLOCATION, 3, 2e-3, 1}, {CTN_COLLOCATION, 4, 2e-3, 1},
                     {CTN_RADAU, 1, 1e-3, 1},       {CTN_RADAU, 2, 5e-3, 3},       {CTN_RADAU, 3, 1e-2, 4},
                     {CTN_RADAU, 4, 2e-2, 5}};
enum { DENSE_METHODS = sizeof dense_methods / sizeof *dense_methods };

static ctn_batch_config dense_config(int i)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = dense_methods[i].method, cfg.dt = dense_methods[i].dt, cfg.dense = true, cfg.tolerance = 1e-13;
    if (cfg.method == CTN_RADAU) cfg.stages = dense_methods[i].number;
    else cfg.order = dense_methods[i].number;
    return cfg;
}

/// Halving the steps divides the largest error within the last one by 2^order, that of coordinates and that of velocities.
START_TEST(order_of_interpolants)
{
    const random_options o = {.links = 4, .passive = true, .smooth = true};
    ctn_model *const m = random_model(21, &o);
    const int nq = ctn_model_nq(m), n = nq + ctn_model_nv(m);
    double *const start = malloc((size_t)n * sizeof *start), *const x = malloc((size_t)n * sizeof *x),
                  *const want = malloc((size_t)n * sizeof *want), error[2][2] = {{0}};
    rng r = {21};
    random_state(m, &r, start, start + nq);
    for (int h = 0; h < 2; h++) {
        ctn_batch_config cfg = dense_config(_i);
        cfg.dt /= h + 1;
        const int steps = (int)lrint(0.2 / cfg.dt);
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert(ctn_batch_set_state(b, start, start + nq, 0, NULL) == CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, steps, NULL, NULL), CTN_OK);
        for (int f = 1; f < 8; f++) {
            double time;
            ck_assert_int_eq(ctn_batch_dense(b, f / 8., x, x + nq, &time, NULL), CTN_OK);
            ck_assert_double_eq_tol(time, (steps - 1 + f / 8.) * cfg.dt, 1e-14);
            exact(m, start, time, want);
            error[0][h] = worse(error[0][h], coordinate_distance(m, x, want));
            error[1][h] = worse(error[1][h], relative_error(x + nq, want + nq, n - nq));
        }
        ctn_batch_free(b);
    }
    const double q = log2(error[0][0] / error[0][1]), v = log2(error[1][0] / error[1][1]), order = dense_methods[_i].order;
    ck_assert_msg(q > order - 0.2 && v > (order > 1 ? order - 1 : 1) - 0.2,
                  "%s %d: order %.3f of coordinates, %.3f of velocities", ctn_method_name(dense_methods[_i].method),
                  dense_methods[_i].number, q, v);
    free(start), free(x), free(want);
    ctn_model_free(m);
}
END_TEST

/// At its ends the interpolant is the state before and after the last part, in every lane: coordinates to rounding, velocities as
/// near as the two that the method carries; at the start of a step velocities are those at the end of the one before.
START_TEST(ends_of_interpolants)
{
    enum { WORLDS = 5 };
    const random_options o = {.links = 4, .passive = true, .smooth = true};
    ctn_model *const m = random_model(31, &o);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = WORLDS * (nq + nv), Q = WORLDS * nq;
    double *const x[5] = {malloc(n * sizeof(double)), malloc(n * sizeof(double)), malloc(n * sizeof(double)),
                          malloc(n * sizeof(double)), malloc(n * sizeof(double))};
    double time[WORLDS], *const first = x[4];
    rng r = {3};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, first + w * nq, first + Q + w * nv);
    ctn_batch_config cfg = dense_config(_i);
    cfg.worlds = WORLDS;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert(ctn_batch_set_state(b, first, first + Q, 3, NULL) == CTN_OK);
    ctn_batch_state(b, x[0], x[0] + Q);
    ck_assert_int_eq(ctn_batch_dense(b, 0.3, x[1], x[1] + Q, time, NULL), CTN_OK);
    ck_assert(relative_error(x[1], x[0], (int)Q) < 1e-15 && relative_error(x[1] + Q, x[0] + Q, (int)(n - Q)) < 1e-12);
    ck_assert(time[WORLDS - 1] == 3);
    for (int step = 0; step < 3; step++) {
        ctn_batch_state(b, x[0], x[0] + Q);
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
        ctn_batch_state(b, x[1], x[1] + Q);
        ck_assert_int_eq(ctn_batch_dense(b, 0, x[2], x[2] + Q, time, NULL), CTN_OK);
        if (step) ck_assert_msg(relative_error(x[2] + Q, x[3] + Q, (int)(n - Q)) < 1e-13, "step %d: velocities jump", step);
        ck_assert_int_eq(ctn_batch_dense(b, 1, x[3], x[3] + Q, NULL, NULL), CTN_OK);
        ck_assert_msg(relative_error(x[2], x[0], (int)Q) < 1e-15, "step %d: start", step);
        ck_assert_msg(relative_error(x[3], x[1], (int)Q) < 1e-14, "step %d: end", step);
        ck_assert_msg(relative_error(x[3] + Q, x[1] + Q, (int)(n - Q)) < 0.01, "step %d: velocities at the end", step);
        ck_assert_double_eq_tol(time[0], 3 + cfg.dt * step, 1e-14);
    }
    cfg.engine = "scalar";
    ctn_batch *const other = batch_with(m, &cfg);
    ck_assert(ctn_batch_set_state(other, first, first + Q, 3, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(other, 3, NULL, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_dense(b, 0.3, x[2], x[2] + Q, NULL, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_dense(other, 0.3, x[3], x[3] + Q, NULL, NULL), CTN_OK);
    ck_assert_mem_eq(x[2], x[3], n * sizeof *x[2]);
    const size_t size = ctn_batch_saved_size(b);
    void *const block = malloc(size);
    ctn_batch_save(b, block);
    ck_assert_int_eq(ctn_batch_restore(b, block, size, NULL), CTN_OK);
    for (int f = 0; f < 2; f++) {
        ck_assert_int_eq(ctn_batch_dense(b, f, x[2], x[2] + Q, time, NULL), CTN_OK);
        ck_assert(relative_error(x[2], x[1], (int)Q) < 1e-15);
    }
    for (int k = 0; k < 5; k++) free(x[k]);
    free(block);
    ctn_batch_free(b), ctn_batch_free(other), ctn_model_free(m);
}
END_TEST

/// With adaptive steps, of Radau and of alpha, the last part of each world, which has its own start; keeping it changes no bit of
/// the motion.
START_TEST(interpolants_of_parts)
{
    const char *const model = models[_i % MODELS];
    ctn_model *const m = golden_model(model);
    const int nq = ctn_model_nq(m), n = nq + ctn_model_nv(m);
    double *const start = malloc((size_t)n * sizeof *start), *const x = malloc((size_t)n * sizeof *x),
                  *const want = malloc((size_t)n * sizeof *want);
    ctn_batch_config cfg = _i < MODELS ? automatic(3, 0.4, 1e-8) : automatic(0, 0.4, 1e-4);
    ctn_batch *const plain = batch_with(m, &cfg);
    cfg.dense = true;
    ctn_batch *const b = batch_with(m, &cfg);
    rng r = {8};
    random_state(m, &r, start, start + nq);
    ck_assert(ctn_batch_set_state(b, start, start + nq, 0, NULL) == CTN_OK);
    ck_assert(ctn_batch_set_state(plain, start, start + nq, 0, NULL) == CTN_OK);
    ctn_batch_state(b, start, start + nq);
    ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_step(plain, 1, NULL, NULL), CTN_OK);
    ctn_batch_state(b, x, x + nq), ctn_batch_state(plain, want, want + nq);
    ck_assert_mem_eq(x, want, (size_t)n * sizeof *x);
    for (int f = 0; f <= 8; f++) {
        double time;
        ck_assert_int_eq(ctn_batch_dense(b, f / 8., x, x + nq, &time, NULL), CTN_OK);
        ck_assert(f ? time > 0.2 && time <= 0.4 : time < (_i < MODELS ? 0.399 : 0.3999));
        exact(m, start, time, want);
        const double q = coordinate_distance(m, x, want), v = relative_error(x + nq, want + nq, n - nq);
        ck_assert_msg(q < (_i < MODELS ? 1e-5 : 2e-3) && v < (_i < MODELS ? 1e-4 : 2e-2), "%s at %g s: %.3g, %.3g", model, time,
                      q, v);
    }
    free(start), free(x), free(want);
    ctn_batch_free(b), ctn_batch_free(plain), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("radau_adaptive");
    TCase *t = tcase_create("radau_adaptive");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, tolerance_is_met, 0, 3 * MODELS);
    tcase_add_test(t, one_stage);
    tcase_add_loop_test(t, tolerance_of_alpha, 0, 3 * MODELS);
    tcase_add_test(t, forests_of_alpha);
    tcase_add_loop_test(t, stiff_springs, 0, 4);
    tcase_add_test(t, rejected_parts);
    tcase_add_test(t, whips_of_alpha);
    tcase_add_test(t, rejected_parts_of_alpha);
    tcase_add_test(t, freezing);
    tcase_add_loop_test(t, same_bits, 0, 5);
    tcase_add_loop_test(t, order_of_interpolants, 0, DENSE_METHODS);
    tcase_add_loop_test(t, ends_of_interpolants, 0, DENSE_METHODS);
    tcase_add_loop_test(t, interpolants_of_parts, 0, 2 * MODELS);
    suite_add_tcase(s, t);
    return run_suite(s);
}
