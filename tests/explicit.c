/// Explicit methods: measured order of convergence against the exact motions of the golden trajectories, and their conservation.
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"double-pendulum", "chain5", "chain10", "ball5", "prismatic-mix", "flying-tree5"};

/// Largest error of q and v at sample `index` of a golden trajectory, with steps of dt.
static double golden_error(const char *model, ctn_method method, double dt, int index)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.dt = dt;
    return golden_trajectory_error(model, &cfg, index, true);
}

/// Comparisons must not lose a NaN among numbers.
START_TEST(not_a_number_is_worst)
{
    ck_assert(isnan(relative_error((double[]){1, NAN, 3}, (double[]){1, 2, 3}, 3)));
    ck_assert(isnan(relative_error((double[]){NAN, 2}, (double[]){1, 2}, 2)));
    ck_assert(relative_error((double[]){1, 2, 3}, (double[]){1, 2, 4}, 3) == 0.25);
}
END_TEST

/// Halving the step divides the error by 2^order.
START_TEST(order_of_convergence)
{
    static const struct {
        ctn_method method;
        double dt, order, slack;
    } cases[] = {{CTN_EULER, 1.25e-4, 1, 0.1}, {CTN_SEMI_IMPLICIT, 1.25e-4, 1, 0.1}, {CTN_RK2, 1e-3, 2, 0.15},
                 {CTN_RK3, 1.25e-3, 3, 0.15},  {CTN_RK4, 2.5e-3, 4, 0.25},           {CTN_COLLOCATION, 1.25e-4, 1, 0.1}};
    const char *model = models[_i];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double a = golden_error(model, cases[c].method, cases[c].dt, 2),
                     b = golden_error(model, cases[c].method, cases[c].dt / 2, 2);
        const double order = log2(a / b);
        ck_assert_msg(fabs(order - cases[c].order) < cases[c].slack, "%s, %s: order %.3f (errors %.3g, %.3g)", model,
                      ctn_method_name(cases[c].method), order, a, b);
    }
}
END_TEST

/// rk4 with small steps is as exact as doubles allow.
START_TEST(limit_of_rk4)
{
    const double e = golden_error(models[_i], CTN_RK4, 2.5e-5, 10);
    ck_assert_msg(e < 1e-9, "%s after 1 s: %.3g", models[_i], e);
}
END_TEST

/// Halving the step of dop853 divides the error by 2^8 nearly; the steps are those between rounding and the first digits.
START_TEST(order_of_dop853)
{
    static const double dt[] = {0.05, 0.025, 0.0125, 0.0125, 0.1, 0.1};
    const double a = golden_error(models[_i], CTN_DOP853, dt[_i], 2), b = golden_error(models[_i], CTN_DOP853, dt[_i] / 2, 2);
    ck_assert_msg(log2(a / b) > 7.5 && log2(a / b) < 10 && a < 1e-4, "%s: order %.3f (errors %.3g, %.3g)", models[_i],
                  log2(a / b), a, b);
    const double e = golden_error(models[_i], CTN_DOP853, 6.25e-4, 10);
    ck_assert_msg(e < 1e-11, "%s after 1 s: %.3g", models[_i], e);
}
END_TEST

/// The same on random forests of all joints, beside steps an eighth as large.
START_TEST(order_of_dop853_on_forests)
{
    double sum = 0;
    int count = 0;
    FOR_SEEDS(seed, 12)
    {
        const random_options o = {.links = 7, .passive = true, .smooth = true};
        ctn_model *m = random_model(seed, &o);
        const int nq = ctn_model_nq(m), nv = ctn_model_nv(m), n = nq + nv;
        double *x[4], error[2];
        for (int k = 0; k < 4; k++) x[k] = malloc((size_t)(n + 1) * sizeof *x[k]);
        rng r = {seed};
        random_state(m, &r, x[3], x[3] + nq);
        for (int k = 0; k < 3; k++) {
            static const int steps[] = {8, 16, 128};
            ctn_batch_config cfg = ctn_batch_config_default();
            cfg.method = CTN_DOP853, cfg.dt = 0.08 / steps[k];
            ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
            ck_assert(ctn_batch_set_state(b, x[3], x[3] + nq, 0, NULL) == CTN_OK);
            ck_assert_int_eq(ctn_batch_step(b, steps[k], NULL, NULL), CTN_OK);
            ctn_batch_state(b, x[k], x[k] + nq);
            ctn_batch_free(b);
        }
        for (int k = 0; k < 2; k++) error[k] = relative_error(x[k], x[2], n);
        const double order = log2(error[0] / error[1]);
        if (error[1] > 1e-13) {  // else rounding is a part of it
            ck_assert_msg(order > 6, "seed %llu: order %.3f (errors %.3g, %.3g)", (unsigned long long)seed, order, error[0],
                          error[1]);
            sum += order, count++;
        }
        for (int k = 0; k < 4; k++) free(x[k]);
        ctn_model_free(m);
    }
    ck_assert_msg(count < 4 || (sum / count > 7.5 && sum / count < 9), "order %.3f on average of %d", sum / count, count);
}
END_TEST

/// A free body spinning about a principal axis: turned exactly, whatever the step.
START_TEST(steady_spin)
{
    static const char text[] = "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - name: top\n    joint: free\n    mass: 1\n"
                               "    inertia: [0.1, 0.2, 0.3, 0, 0, 0]\n";
    ctn_error err = {0};
    ctn_scene *scene = ctn_scene_parse(text, strlen(text), "top", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *m = ctn_model_create(scene, &err);
    static const ctn_method all[] = {CTN_EULER, CTN_SEMI_IMPLICIT, CTN_RK2, CTN_RK3, CTN_RK4, CTN_DOP853};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = all[k], cfg.dt = 0.1;
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        double q[7] = {0, 0, 0, 1, 0, 0, 0}, v[6] = {1, 2, 3, 0, 0, 7};
        ck_assert(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK);
        ctn_batch_step(b, 100, NULL, NULL);
        ctn_batch_state(b, q, v);
        ck_assert_msg(fabs(q[0] - 10) + fabs(q[1] - 20) + fabs(q[2] - 30) < 1e-12 && fabs(v[5] - 7) < 1e-13, "%s",
                      ctn_method_name(all[k]));
        ck_assert_msg(fabs(fabs(q[3]) - fabs(cos(35))) + fabs(fabs(q[6]) - fabs(sin(35))) < 1e-13, "%s", ctn_method_name(all[k]));
        ctn_batch_free(b);
    }
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// Energy of a random forest without dampers under rk4: kept to the fourth order, springs included.
START_TEST(energy_of_rk4)
{
    FOR_SEEDS(seed, 12)
    {
        const random_options o = {.links = 6, .passive = true, .conservative = true, .smooth = true};
        ctn_model *m = random_model(seed, &o);
        const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
        double *q = malloc((size_t)(nq + 1) * sizeof *q), *v = malloc((size_t)(nv + 1) * sizeof *v), drift[2];
        rng r = {seed};
        random_state(m, &r, q, v);
        for (int h = 0; h < 2; h++) {
            ctn_batch_config cfg = ctn_batch_config_default();
            cfg.method = CTN_RK4, cfg.dt = h ? 1.25e-4 : 2.5e-4;
            ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
            ctn_step_stats s;
            ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
            ck_assert_int_eq(ctn_batch_step(b, h ? 1600 : 800, &s, NULL), CTN_OK);
            drift[h] = fabs(s.energy_after - s.energy_before) / fmax(1, fabs(s.energy_before));
            ctn_batch_free(b);
        }
        ck_assert_msg(drift[1] < 1e-6 && drift[1] < drift[0] / 8 + 1e-12, "seed %llu: drift %.3g, %.3g", (unsigned long long)seed,
                      drift[0], drift[1]);
        free(q), free(v);
        ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("explicit");
    TCase *t = tcase_create("explicit");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, order_of_convergence, 0, sizeof models / sizeof *models);
    tcase_add_loop_test(t, limit_of_rk4, 0, sizeof models / sizeof *models);
    tcase_add_loop_test(t, order_of_dop853, 0, sizeof models / sizeof *models);
    tcase_add_test(t, order_of_dop853_on_forests);
    tcase_add_test(t, not_a_number_is_worst);
    tcase_add_test(t, steady_spin);
    tcase_add_test(t, energy_of_rk4);
    suite_add_tcase(s, t);
    return run_suite(s);
}
