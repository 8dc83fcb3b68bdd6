/// `dt: auto` and dense output: errors beside exact motions, counts, units, saved states, freezing; the order of interpolants.
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

/// dop853 with adaptive steps, or with fixed ones if tolerance is 0.
static ctn_batch *open_batch(const ctn_model *m, int worlds, double dt, double tolerance)
{
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_DOP853, cfg.worlds = worlds, cfg.dt = dt, cfg.dense = true;
    if (tolerance > 0) cfg.adaptive = true, cfg.error_tolerance = tolerance;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

// ---- the tolerance

/// A golden trajectory: the state at its start and after 1 s.
typedef struct {
    ctn_model *m;
    int nq, nv;
    double *q[2], *v[2];
} motion;

static motion open_motion(const char *model)
{
    motion t = {.m = golden_model(model)};
    cJSON *const json = golden_json(model, "trajectory.json");
    t.nq = ctn_model_nq(t.m), t.nv = ctn_model_nv(t.m);
    for (int k = 0; k < 2; k++) {
        const cJSON *const sample = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "samples"), k ? 10 : 0);
        t.q[k] = golden_numbers(sample, "q", t.nq), t.v[k] = golden_numbers(sample, "v", t.nv);
    }
    cJSON_Delete(json);
    return t;
}

static void close_motion(motion *t)
{
    for (int k = 0; k < 2; k++) free(t->q[k]), free(t->v[k]);
    ctn_model_free(t->m);
}

/// Largest error of the coordinates after 1 s in intervals of 0.5 s.
static double error_of(const motion *t, double tolerance, ctn_step_stats *stats)
{
    ctn_batch *const b = open_batch(t->m, 1, 0.5, tolerance);
    double *const q = malloc((size_t)t->nq * sizeof *q);
    ck_assert(ctn_batch_set_state(b, t->q[0], t->v[0], 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 2, stats, NULL), CTN_OK);
    ck_assert(ctn_batch_time(b, 0) == 1);
    ctn_batch_state(b, q, NULL);
    const double worst = coordinate_distance(t->m, q, t->q[1]);
    free(q);
    ctn_batch_free(b);
    return worst;
}

/// The error at the end of a motion follows the tolerance over ten decades; the number of parts grows with its eighth root.
START_TEST(tolerance_is_met)
{
    motion t = open_motion(models[_i]);
    ctn_step_stats s, loose, tight;
    for (double tolerance = 1e-3; tolerance > 1e-13; tolerance *= 0.1) {
        const double e = error_of(&t, tolerance, &s);
        ck_assert_msg(e < 30 * tolerance + 1e-12, "%s: error %.3g at tolerance %.0e", models[_i], e, tolerance);
        ck_assert_int_eq(s.steps, 2);
        ck_assert_int_eq(s.evaluations, 1 + 12 * (s.substeps + s.rejected));
        ck_assert_int_eq(s.fallbacks, 0);
    }
    const double a = error_of(&t, 1e-4, &loose), b = error_of(&t, 1e-10, &tight), slope = log10(a / b) / 6,
                 parts = (double)tight.substeps / (double)loose.substeps;
    ck_assert_msg(slope > 0.7 && slope < 1.4, "%s: error %.3g at 1e-4, %.3g at 1e-10", models[_i], a, b);
    ck_assert_msg(parts > 2.5 && parts < 8, "%s: %ld parts at 1e-4, %ld at 1e-10", models[_i], loose.substeps, tight.substeps);
    close_motion(&t);
}
END_TEST

/// A spring a hundred times as stiff swings ten times as fast and needs ten times the parts; an end stop is met by repeating
/// parts.
START_TEST(stiff_springs)
{
    long parts[3];
    for (int k = 0; k < 3; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: a, joint: {type: revolute, stiffness: %g, q0: 0.5}, mass: 1, "
                 "inertia: [1, 1, 1, 0, 0, 0]}\n",
                 100 * pow(100, k));
        ctn_model *const m = model_of(text);
        ctn_batch *const b = open_batch(m, 1, 1, 1e-8);
        ctn_step_stats s;
        ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_OK);
        double q, want = 0.5 * cos(10 * pow(10, k));
        ctn_batch_state(b, &q, NULL);
        parts[k] = s.substeps;
        ck_assert_msg(fabs(q - want) < 1e-8 * (double)s.substeps, "stiffness %d: %.12g, not %.12g", k, q, want);
        ck_assert_int_le(s.rejected, 5);
        ctn_batch_free(b), ctn_model_free(m);
    }
    for (int k = 0; k < 2; k++)
        ck_assert_msg(parts[k + 1] > 8 * parts[k] && parts[k + 1] < 12 * parts[k], "%ld, then %ld parts", parts[k], parts[k + 1]);
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], limits: [-1, 1], "
                                  "limit_stiffness: 1e5, limit_damping: 0}, mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n");
    ctn_batch *const b = open_batch(m, 1, 1, 1e-8);
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_step(b, 3, &s, NULL), CTN_OK);
    ck_assert_int_ge(s.rejected, 5);  // it bounces
    ck_assert_msg(fabs(s.energy_after - s.energy_before) < 1e-4, "energy from %g to %g", s.energy_before, s.energy_after);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A model in other units of length, mass and time makes the same parts. Powers of two: they do not even round differently.
START_TEST(units)
{
    ctn_step_stats s[2];
    for (int k = 0; k < 2; k++) {
        const double L = k ? 1024 : 1, M = k ? 1. / 256 : 1, T = k ? 64 : 1;
        char text[1000];
        snprintf(
            text, sizeof text,
            "catena: 1\ngravity: [0, 0, %.17g]\nlinks:\n"
            "  - {name: cart, joint: {type: prismatic, axis: [1, 0, 0], v0: %.17g}, mass: %.17g, inertia: [0, 0, 0, 0, 0, 0]}\n"
            "  - {name: arm, parent: cart, joint: {type: revolute, axis: [0, 1, 0], q0: 1, damping: %.17g}, mass: %.17g, com: "
            "[%.17g, "
            "0, 0], inertia: [0, 0, 0, 0, 0, 0]}\n"
            "  - {name: top, parent: arm, position: [%.17g, 0, 0], joint: {type: ball, v0: [%.17g, 0, 1]}, mass: %.17g, com: [0, "
            "0, "
            "%.17g], inertia: [%.17g, %.17g, %.17g, 0, 0, 0]}\n",
            -9.75 * L / T / T, 1.5 * L / T, M, 0.125 * M * L * L / T, M, 0.5 * L, L, 3 / T, M, 0.25 * L, 0.5 * M * L * L,
            0.5 * M * L * L, 0.25 * M * L * L);
        char *const one = strstr(text, "0, 1]}, mass");  // the spin about z, in the unit of time
        ck_assert_ptr_nonnull(one);
        ctn_model *const m = model_of(text);
        ctn_batch *const b = open_batch(m, 1, 4 * T, 1e-7);
        double q[6], v[5];
        ctn_batch_state(b, q, v);
        v[4] = 2 / T;
        ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 1, &s[k], NULL), CTN_OK);
        ctn_batch_free(b), ctn_model_free(m);
    }
    ck_assert_int_gt(s[0].substeps, 10);
    ck_assert_int_eq(s[0].substeps, s[1].substeps);
    ck_assert_int_eq(s[0].rejected, s[1].rejected);
}
END_TEST

// ---- the state

/// Steps in one call, in many, and on from a saved state: the same bits; worlds with different parts beside each other and alone.
START_TEST(same_bits)
{
    enum { WORLDS = 5, STEPS = 6 };
    const random_options o = {.links = 5};
    ctn_model *const m = random_model(11, &o);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *const q = malloc(WORLDS * nq * sizeof *q), *const v = malloc(WORLDS * nv * sizeof *v);
    ctn_batch *const one = open_batch(m, WORLDS, 0.2, 1e-9), *const many = open_batch(m, WORLDS, 0.2, 1e-9),
                     *const again = open_batch(m, WORLDS, 0.2, 1e-9), *const fixed = open_batch(m, WORLDS, 0.2, 0);
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
    ck_assert_int_lt(2 * stats[0].substeps, stats[WORLDS - 1].substeps);
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
    ck_assert_int_eq(ctn_batch_restore(fixed, block[0], size, NULL), CTN_BAD_ARGUMENT);
    for (size_t w = 0; w < WORLDS; w++) {
        ctn_batch *const alone = open_batch(m, 1, 0.2, 1e-9);
        double *const x = malloc((nq + nv) * sizeof *x), *const all = malloc(WORLDS * (nq + nv) * sizeof *all);
        ck_assert(ctn_batch_set_state(alone, q + w * nq, v + w * nv, 0, NULL) == CTN_OK);
        ck_assert_int_eq(ctn_batch_step(alone, STEPS, NULL, NULL), CTN_OK);
        ctn_batch_state(alone, x, x + nq);
        ctn_batch_state(one, all, all + WORLDS * nq);
        ck_assert_mem_eq(x, all + w * nq, nq * sizeof *x);
        ck_assert_mem_eq(x + nq, all + WORLDS * nq + w * nv, nv * sizeof *x);
        free(x), free(all);
        ctn_batch_free(alone);
    }
    for (int k = 0; k < 3; k++) free(block[k]);
    free(q), free(v);
    ctn_batch_free(one), ctn_batch_free(many), ctn_batch_free(again), ctn_batch_free(fixed), ctn_model_free(m);
}
END_TEST

#define PENDULUM(more)                                                                                                           \
    "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0]" more "}, mass: 1, com: [0.5, 0, 0], "             \
    "inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n"
static const char pendulum[] = PENDULUM(""), stiff[] = PENDULUM(", stiffness: 1e30, q0: 0.1");

/// A world that cannot go on is frozen at its last good state, with the reason.
START_TEST(freezing)
{
    ctn_model *const m = model_of(pendulum), *const too_stiff = model_of(stiff);
    double q = 0.1, v = 0.2;
    const double bad = NAN;
    ctn_step_stats s;
    ctn_error err;
    ctn_batch *b = open_batch(too_stiff, 1, 0.1, 1e-6);
    ck_assert_int_eq(ctn_batch_step(b, 3, &s, &err), CTN_FROZEN);
    ck_assert_int_eq(s.frozen, CTN_FREEZE_STEP);
    ck_assert_ptr_nonnull(strstr(err.message, "the step size that the tolerance asks for is too small"));
    ck_assert_int_gt(s.rejected, 0);
    ctn_batch_free(b), ctn_model_free(too_stiff);

    b = open_batch(m, 1, 0.1, 1e-6);
    ck_assert(ctn_batch_set_state(b, &q, &v, 0, NULL) == CTN_OK);
    ctn_batch_set_force(b, &bad);
    ck_assert_int_eq(ctn_batch_step(b, 3, &s, NULL), CTN_FROZEN);
    ck_assert_int_eq(s.frozen, CTN_FREEZE_NOT_FINITE);
    ctn_batch_state(b, &q, &v);
    ck_assert(q == 0.1 && v == 0.2 && s.steps == 0 && s.substeps == 0 && s.frozen_time == 0);
    ctn_batch_set_force(b, NULL);
    ck_assert(ctn_batch_set_state(b, &q, &v, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 3, &s, NULL), CTN_OK);

    q = 0, v = 2e5;
    ck_assert(ctn_batch_set_state(b, &q, &v, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 100, &s, NULL), CTN_FROZEN);
    ck_assert_int_eq(s.frozen, CTN_FREEZE_ANGLE);
    ctn_batch_state(b, &q, &v);
    ck_assert_msg(s.steps == 0 && q <= 1e4 && q > 0.9e4 && fabs(s.frozen_time - 0.05) < 0.005, "q %g at %g s", q, s.frozen_time);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A tree at rest: nothing to measure an error by, and long parts all the same.
START_TEST(at_rest)
{
    ctn_model *const m = model_of(pendulum);
    ctn_batch *const b = open_batch(m, 1, 100, 1e-10);
    double q = 1.5707963267948966, v = 0;  // hangs
    ctn_step_stats s;
    ck_assert(ctn_batch_set_state(b, &q, &v, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_OK);
    ctn_batch_state(b, &q, &v);
    ck_assert_msg(fabs(q - 1.5707963267948966) < 1e-9 && s.substeps < 2000, "q %.17g after %ld parts", q, s.substeps);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- refusals

START_TEST(refusals)
{
    static const ctn_method none[] = {CTN_EULER, CTN_SEMI_IMPLICIT, CTN_RK2, CTN_RK3, CTN_RK4, CTN_COLLOCATION, CTN_VARIATIONAL};
    ctn_model *const m = model_of(pendulum);
    ctn_error err;
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        char want[200];
        cfg.method = none[k], cfg.adaptive = true;
        ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
        snprintf(want, sizeof want,
                 "dt: auto needs a method that estimates its error; %s does not; these do: ", ctn_method_name(none[k]));
        ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
        ck_assert_msg(!strncmp(err.message, want, strlen(want)) && strstr(err.message + strlen(want), "dop853"), "%s",
                      err.message);
    }
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_VARIATIONAL, cfg.dense = true;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ck_assert_str_eq(err.message, "dense: output between the steps is not available for variational in this version");
    cfg.method = CTN_RK4, cfg.dense = false;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    double q = 7;
    ck_assert_int_eq(ctn_batch_dense(b, 0.5, &q, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "set `dense` in its configuration"));
    ctn_batch_free(b);
    b = open_batch(m, 1, 0.1, 0);
    static const double bad[] = {-0.1, 1.1, NAN};
    for (int k = 0; k < 3; k++) ck_assert_int_eq(ctn_batch_dense(b, bad[k], &q, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert(q == 7);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- between the steps

/// The state [nq + nv] of dop853 after `time` s in steps of a millisecond or less.
static void exact(const ctn_model *m, const double *start, double time, double *x)
{
    const int nq = ctn_model_nq(m), steps = (int)ceil(time / 1e-3) + 1;
    ctn_batch *const b = open_batch(m, 1, time / steps, 0);
    ck_assert(ctn_batch_set_state(b, start, start + nq, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, steps, NULL, NULL), CTN_OK);
    ctn_batch_state(b, x, x + nq);
    ctn_batch_free(b);
}

static const struct {
    ctn_method method;
    double dt, order, slack;
} dense_methods[] = {{CTN_EULER, 1e-3, 1, 0.1}, {CTN_SEMI_IMPLICIT, 1e-3, 1, 0.1}, {CTN_RK2, 2e-3, 2, 0.2},
                     {CTN_RK3, 5e-3, 3, 0.3},   {CTN_RK4, 1e-2, 4, 0.4},           {CTN_DOP853, 4e-2, 7.7, 0.8}};

/// Halving the steps divides the largest error within the last one by 2^order.
START_TEST(order_of_interpolants)
{
    const random_options o = {.links = 4, .passive = true, .smooth = true};
    ctn_model *const m = random_model(21, &o);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m), n = nq + nv;
    double *const start = malloc((size_t)n * sizeof *start), *const x = malloc((size_t)n * sizeof *x),
                  *const want = malloc((size_t)n * sizeof *want), error[2] = {0};
    rng r = {21};
    random_state(m, &r, start, start + nq);
    for (int h = 0; h < 2; h++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = dense_methods[_i].method, cfg.dt = dense_methods[_i].dt / (h + 1), cfg.dense = true;
        const int steps = (int)lrint(0.2 / cfg.dt);
        ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
        ck_assert(ctn_batch_set_state(b, start, start + nq, 0, NULL) == CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, steps, NULL, NULL), CTN_OK);
        for (int f = 1; f < 8; f++) {
            double time;
            ck_assert_int_eq(ctn_batch_dense(b, f / 8., x, x + nq, &time, NULL), CTN_OK);
            ck_assert_double_eq_tol(time, (steps - 1 + f / 8.) * cfg.dt, 1e-14);
            exact(m, start, time, want);
            error[h] = worse(error[h], relative_error(x, want, n));
        }
        ctn_batch_free(b);
    }
    const double order = log2(error[0] / error[1]);
    ck_assert_msg(fabs(order - dense_methods[_i].order) < dense_methods[_i].slack, "%s: order %.3f (errors %.3g, %.3g)",
                  ctn_method_name(dense_methods[_i].method), order, error[0], error[1]);
    free(start), free(x), free(want);
    ctn_model_free(m);
}
END_TEST

/// At its ends the interpolant is the state before and after the last part, in every lane; and before the first step the state
/// itself.
START_TEST(ends_of_interpolants)
{
    enum { WORLDS = 5 };
    const random_options o = {.links = 4, .passive = true, .smooth = true};
    ctn_model *const m = random_model(31, &o);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = WORLDS * (nq + nv);
    double *const x[4] = {malloc(n * sizeof(double)), malloc(n * sizeof(double)), malloc(n * sizeof(double)),
                          malloc(n * sizeof(double))};
    double time[WORLDS], *const tau = malloc(WORLDS * nv * sizeof *tau);
    rng r = {3};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, x[0] + w * nq, x[0] + WORLDS * nq + w * nv);
    for (size_t k = 0; k < WORLDS * nv; k++) tau[k] = rng_uniform(&r, -1, 1);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = dense_methods[_i].method, cfg.worlds = WORLDS, cfg.dense = true;
    ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
    ck_assert(ctn_batch_set_state(b, x[0], x[0] + WORLDS * nq, 3, NULL) == CTN_OK);
    ctn_batch_state(b, x[0], x[0] + WORLDS * nq);
    ck_assert_int_eq(ctn_batch_dense(b, 0.3, x[1], x[1] + WORLDS * nq, time, NULL), CTN_OK);
    ck_assert(relative_error(x[1], x[0], (int)n) < 1e-15 && time[WORLDS - 1] == 3);
    ctn_batch_set_force(b, tau);
    for (int step = 0; step < 3; step++) {
        ctn_batch_state(b, x[0], x[0] + WORLDS * nq);
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
        ctn_batch_set_force(b, step % 2 ? tau : NULL);  // of the next step: that of the last one is kept
        ctn_batch_state(b, x[1], x[1] + WORLDS * nq);
        ck_assert_int_eq(ctn_batch_dense(b, 0, x[2], x[2] + WORLDS * nq, time, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_dense(b, 1, x[3], x[3] + WORLDS * nq, NULL, NULL), CTN_OK);
        ck_assert_msg(relative_error(x[2], x[0], (int)n) < 1e-15, "step %d: start", step);
        ck_assert_msg(relative_error(x[3], x[1], (int)n) < 1e-14, "step %d: end", step);
        ck_assert_double_eq_tol(time[0], 3 + 0.01 * step, 1e-14);
    }
    const size_t size = ctn_batch_saved_size(b);
    void *const block = malloc(size);
    ctn_batch_save(b, block);
    ck_assert_int_eq(ctn_batch_restore(b, block, size, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_dense(b, 0, x[2], x[2] + WORLDS * nq, time, NULL), CTN_OK);
    ck_assert(relative_error(x[2], x[1], (int)n) < 1e-15);
    for (int k = 0; k < 4; k++) free(x[k]);
    free(tau), free(block);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// With adaptive steps the last part of each world, which has its own start.
START_TEST(interpolants_of_parts)
{
    motion t = open_motion(models[_i]);
    const int n = t.nq + t.nv;
    double *const start = malloc((size_t)n * sizeof *start), *const x = malloc((size_t)n * sizeof *x),
                  *const want = malloc((size_t)n * sizeof *want);
    memcpy(start, t.q[0], (size_t)t.nq * sizeof *start), memcpy(start + t.nq, t.v[0], (size_t)t.nv * sizeof *start);
    ctn_batch *const b = open_batch(t.m, 1, 0.4, 1e-8);
    ck_assert(ctn_batch_set_state(b, start, start + t.nq, 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
    for (int f = 0; f <= 8; f++) {
        double time;
        ck_assert_int_eq(ctn_batch_dense(b, f / 8., x, x + t.nq, &time, NULL), CTN_OK);
        ck_assert(f ? time > 0.2 && time <= 0.4 : time < 0.399);
        exact(t.m, start, time, want);
        ck_assert_msg(relative_error(x, want, n) < 1e-5, "%s at %g s: %.3g", models[_i], time, relative_error(x, want, n));
    }
    free(start), free(x), free(want);
    ctn_batch_free(b), close_motion(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("adaptive");
    TCase *t = tcase_create("adaptive");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, tolerance_is_met, 0, sizeof models / sizeof *models);
    tcase_add_test(t, stiff_springs);
    tcase_add_test(t, units);
    tcase_add_test(t, same_bits);
    tcase_add_test(t, freezing);
    tcase_add_test(t, at_rest);
    tcase_add_test(t, refusals);
    tcase_add_loop_test(t, order_of_interpolants, 0, sizeof dense_methods / sizeof *dense_methods);
    tcase_add_loop_test(t, ends_of_interpolants, 0, sizeof dense_methods / sizeof *dense_methods);
    tcase_add_loop_test(t, interpolants_of_parts, 0, sizeof models / sizeof *models);
    suite_add_tcase(s, t);
    return run_suite(s);
}
