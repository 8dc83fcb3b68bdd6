/// Ropes that pull so hard that little of a step is left in the last digits of its energy, and less in those of the torques at the
/// cuts: 20 000 links in a hundred times the gravity, as 200 000 in that of the earth.
#include "tests/along_cases.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 20000, STEPS = 4 };

/// Slightly bent, in waves of 300 links.
static void bend(void *context, int i, ctn_link_spec *link)
{
    (void)context;
    link->q0[0] = 1. / LINKS * cos(i / 50.0), link->q0[1] = 1. / LINKS * sin(i / 50.0);
}

static ctn_model *heavy_rope(void)
{
    ctn_error err;
    ctn_tree_spec spec = ctn_tree_spec_default();
    int *const parent = malloc(LINKS * sizeof *parent);
    for (int i = 0; i < LINKS; i++) parent[i] = i - 1;
    spec.links = LINKS, spec.parent = parent, spec.link = bend, spec.gravity[2] = -1000;
    spec.like.joint = CTN_UNIVERSAL, spec.like.position[2] = -0.01;
    memcpy(spec.like.axis, (double[]){1, 0, 0}, sizeof spec.like.axis);
    memcpy(spec.like.axis2, (double[]){0, 1, 0}, sizeof spec.like.axis2);
    spec.like.mass = 0.001, spec.like.com[2] = -0.005;
    memcpy(spec.like.inertia, (double[]){3.3333333333e-8, 3.3333333333e-8, 5e-8, 0, 0, 0}, sizeof spec.like.inertia);
    ctn_model *const m = ctn_model_from_parents(&spec, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    free(parent);
    return m;
}

static ctn_batch *batch_by(const ctn_model *m, ctn_method method, ctn_parallel parallel)
{
    ctn_error err;
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.dt = 0.01, cfg.parallel = parallel;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

/// Steps are solved in a few iterations, along the links (but the first one of alpha) and serially, without one that is shortened
/// for what is rounding; and end alike, from the same states.
START_TEST(steps_of_a_heavy_rope)
{
    const ctn_method method = _i ? CTN_ALPHA : CTN_COLLOCATION;
    ctn_error err;
    ctn_model *const m = heavy_rope();
    const size_t nq = (size_t)ctn_model_nq(m);
    ctn_batch *const links = batch_by(m, method, CTN_PARALLEL_LINKS), *const one = batch_by(m, method, CTN_PARALLEL_WORLDS);
    double *const q = numbers(nq), *const x = numbers(nq), *const v = numbers(nq);
    void *const saved = malloc(ctn_batch_saved_size(links));
    for (int k = 0; k < STEPS; k++) {
        ctn_step_stats a, b;
        ctn_batch_save(links, saved);
        ck_assert(ctn_batch_restore(one, saved, ctn_batch_saved_size(links), &err) == CTN_OK);
        ck_assert(ctn_batch_step(links, 1, &a, &err) == CTN_OK && ctn_batch_step(one, 1, &b, &err) == CTN_OK);
        ck_assert_int_eq(ctn_batch_serial_steps(links), _i);
        ck_assert_msg(a.iterations <= 6 && b.iterations <= 6, "step %d: %ld and %ld iterations", k, a.iterations, b.iterations);
        ck_assert_msg(!a.line_search && !b.line_search, "step %d: %ld and %ld shortened", k, a.line_search, b.line_search);
        ck_assert(a.residual <= 1e-6 && b.residual <= 1e-6 && !a.curvature && !b.curvature);
        ctn_batch_state(links, q, v), ctn_batch_state(one, x, v);
        const double off = distance(q, x, nq);
        ck_assert_msg(off < 1e-5, "step %d: %g", k, off);
    }
    free(q), free(x), free(v), free(saved);
    ctn_batch_free(links), ctn_batch_free(one), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_pull");
    TCase *c = tcase_create("along_pull");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, steps_of_a_heavy_rope, 0, 2);
    suite_add_tcase(s, c);
    return run_suite(s);
}
