/// Steps are solved alike at every size: ropes of 10 to 5000 links, in steps of 1 ms to 0.1 s, end where they end with a tolerance
/// of nothing; by worlds and along the links.
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 20 };

/// scenes/rope1000.yaml with so many links, and its size and masses in other units.
static ctn_model *rope_of(int links, double length, double mass)
{
    char text[600];
    const double across = mass * 3.3333333333e-5 * length * length / 1e-4, about = mass * 5e-5 * length * length / 1e-4;
    snprintf(text, sizeof text,
             "catena: 1\nname: rope\ngravity: [0, 0, %.17g]\nlinks:\n"
             "  - chain:\n      name: rope\n      count: %d\n      step: [%.17g, 0, 0]\n"
             "      joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1]}\n"
             "      mass: %.17g\n      com: [%.17g, 0, 0]\n      inertia: [%.17g, %.17g, %.17g, 0, 0, 0]\n",
             -981 * length, links, length, mass, length / 2, about, across, across);
    return model_of(text);
}

typedef struct {
    ctn_method method;
    ctn_parallel parallel;
    double dt, tolerance;
} way;

/// q [nq] after the steps. Returns the mean number of iterations.
static double run(const ctn_model *m, way w, double *q)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_step_stats stats;
    double *const v = malloc((size_t)ctn_model_nv(m) * sizeof *v);
    cfg.method = w.method, cfg.parallel = w.parallel, cfg.dt = w.dt, cfg.max_iterations = 100;
    if (w.tolerance > 0) cfg.tolerance = w.tolerance;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_step(b, STEPS, &stats, NULL), CTN_OK);
    ck_assert_int_le(stats.fallbacks, 1);
    ctn_batch_state(b, q, v);
    ctn_batch_free(b), free(v);
    return (double)stats.iterations / STEPS;
}

static const ctn_method methods[] = {CTN_COLLOCATION, CTN_ALPHA, CTN_RADAU};
enum { METHODS = sizeof methods / sizeof *methods };
static const int sizes[] = {10, 100, 1000, 5000};
static const double steps[] = {0.001, 1. / 60, 0.1};

/// Steps of 0.1 s are too large for several stages: a third of them ends with one, and by which way decides rounding.
static size_t steps_of(ctn_method method) { return method == CTN_RADAU ? 2 : 3; }

START_TEST(of_every_size)
{
    const ctn_method method = methods[_i % METHODS];
    const int links = sizes[_i / METHODS];
    ctn_model *const m = rope_of(links, 0.01, 0.001);
    double *const q = malloc(2 * (size_t)ctn_model_nq(m) * sizeof *q), *const exact = q + ctn_model_nq(m);
    for (size_t k = 0; k < steps_of(method); k++) {
        run(m, (way){method, CTN_PARALLEL_WORLDS, steps[k], 1e-14}, exact);
        for (int along = 0; along < (links < 100 ? 1 : 2); along++) {
            const double iterations = run(m, (way){method, along ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS, steps[k], 0}, q);
            const double off = coordinate_distance(m, q, exact);
            ck_assert_msg(off < 1e-6 && iterations < 5, "%d links, %s, dt %g, %s: off by %.1e rad, %g iterations a step", links,
                          ctn_method_name(method), steps[k], along ? "links" : "worlds", off, iterations);
        }
    }
    ctn_model_free(m), free(q);
}
END_TEST

/// In units in which lengths are 1e4 times and masses 1e-6 times as large, steps take as many iterations.
START_TEST(in_other_units)
{
    const ctn_method method = methods[_i];
    ctn_model *const m = rope_of(300, 0.01, 0.001), *const other = rope_of(300, 100, 1e-9);
    double *const q = malloc(2 * (size_t)ctn_model_nq(m) * sizeof *q), *const x = q + ctn_model_nq(m);
    for (size_t k = 0; k < steps_of(method); k++) {
        const way w = {method, CTN_PARALLEL_WORLDS, steps[k], 0};
        const double a = run(m, w, q), b = run(other, w, x);
        ck_assert_msg(a == b && coordinate_distance(m, q, x) < 1e-6, "%s, dt %g: %g and %g iterations a step, q off by %.1e",
                      ctn_method_name(method), steps[k], a, b, coordinate_distance(m, q, x));
    }
    ctn_model_free(m), ctn_model_free(other), free(q);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("ropes");
    TCase *const c = tcase_create("ropes");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, of_every_size, 0, METHODS * (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(c, in_other_units, 0, METHODS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
