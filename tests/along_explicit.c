/// Steps of explicit methods along the links against those of the serial engine; their statistics; the same bits whatever the
/// lanes and threads of a class; and what is left to the serial engine.
#include "sim/engine/engine.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const random_options kinds[] = {
    {.links = 1},
    {.links = 7, .springs = 2, .wrenches = 3},
    {.links = 40, .springs = 9, .wrenches = 12},
    {.links = 40, .floating = true, .passive = true, .springs = 6, .wrenches = 20},
    {.links = 60, .chain = true, .springs = 3, .wrenches = 3},
    {.links = 60, .chain = true, .floating = true, .passive = true, .wrenches = 60},
    {.links = 300, .passive = true, .motors = 150},
    {.links = 300, .chain = true, .floating = true, .springs = 20, .wrenches = 20},
    {.links = 200, .chain = true, .joints = 1u << CTN_UNIVERSAL},
    {.links = 200, .chain = true, .joints = 1u << CTN_BALL, .springs = 5},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const ctn_method methods[] = {CTN_SEMI_IMPLICIT, CTN_EULER, CTN_RK2, CTN_RK3, CTN_RK4, CTN_DOP853};
enum { METHODS = sizeof methods / sizeof *methods };

/// Steps from the same states end at the same place, with the same statistics.
START_TEST(steps_are_those_of_the_serial_engine)
{
    FOR_SEEDS(seed, 2 * METHODS)
    {
        ctn_error err;
        const random_options *const kind = &kinds[_i];
        ctn_model *m = random_model(seed, kind);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = methods[seed % METHODS], cfg.dt = 1e-5, cfg.worlds = seed % 3 ? 1 : 3;
        const size_t W = (size_t)cfg.worlds;
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *one = batch_of(m, seed, cfg);
        cfg.parallel = seed % 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.lanes = seed % 3 ? 8 : 16, cfg.threads = 2;
        ctn_batch *along = batch_of(m, seed, cfg);
        double *q[2] = {numbers(W * nq), numbers(W * nq)}, *v[2] = {numbers(W * nv), numbers(W * nv)};
        for (int k = 0; k < 3; k++) {
            ctn_step_stats a[3], b[3];
            ck_assert(ctn_batch_step(one, 3, a, &err) == CTN_OK);
            ck_assert(ctn_batch_step(along, 3, b, &err) == CTN_OK);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            const double far = distance(q[1], q[0], W * nq), fast = distance(v[1], v[0], W * nv);
            ck_assert_msg(far < 1e-9 && fast < 1e-9, "kind %d, seed %llu, call %d: q %g, v %g", _i, (unsigned long long)seed, k,
                          far, fast);
            for (size_t w = 0; w < W; w++) {
                const double size = 1 + fabs(a[w].energy_after) + fabs(a[w].energy_before);
                const bool same =
                    a[w].steps == b[w].steps && a[w].evaluations == b[w].evaluations && a[w].substeps == b[w].substeps &&
                    a[w].frozen == b[w].frozen && alike(a[w].energy_after, b[w].energy_after, size) &&
                    alike(a[w].energy_before, b[w].energy_before, size) && alike(a[w].created, b[w].created, size) &&
                    alike(a[w].dissipated, b[w].dissipated, size) && alike(a[w].work, b[w].work, size);
                ck_assert_msg(same,
                              "kind %d, seed %llu, call %d: energies %g %g, %g %g; created %g %g, lost %g %g, work %g %g, "
                              "evaluations %g %g",
                              _i, (unsigned long long)seed, k, a[w].energy_before, b[w].energy_before, a[w].energy_after,
                              b[w].energy_after, a[w].created, b[w].created, a[w].dissipated, b[w].dissipated, a[w].work,
                              b[w].work, (double)a[w].evaluations, (double)b[w].evaluations);
            }
        }
        ck_assert_int_eq((int)ctn_batch_serial_steps(along), 0);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
        for (int k = 0; k < 2; k++) free(q[k]), free(v[k]);
    }
}
END_TEST

START_TEST(steps_of_a_class_have_the_same_bits_everywhere)
{
    FOR_SEEDS(seed, METHODS)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = methods[seed % METHODS], cfg.dt = 1e-5, cfg.worlds = 3, cfg.lanes = 16;
        uint64_t first[3] = {0}, now[3];
        ctn_step_stats was[3], stats[3];
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int threads = 1; threads <= 8; threads += threads < 2 ? 1 : 6) {
                cfg.engine = (*e)->name, cfg.threads = threads,
                cfg.parallel = threads == 2 ? CTN_PARALLEL_BOTH : CTN_PARALLEL_LINKS;
                ctn_batch *b = batch_of(m, seed, cfg);
                ck_assert(ctn_batch_step(b, 4, stats, &err) == CTN_OK);
                ctn_batch_hashes(b, now);
                if (!any) memcpy(first, now, sizeof now), memcpy(was, stats, sizeof stats);
                any = true;
                ck_assert_msg(!memcmp(first, now, sizeof now) && !memcmp(was, stats, sizeof stats),
                              "kind %d, seed %llu, %s, %d threads", _i, (unsigned long long)seed, (*e)->name, threads);
                ctn_batch_free(b);
            }
        ctn_model_free(m);
    }
}
END_TEST

/// A world that runs away freezes where and why it does serially, and the serial engine makes that step.
START_TEST(a_world_that_runs_away_is_frozen_as_serially)
{
    for (int far = 0; far < 2; far++) {
        ctn_error err;
        const random_options chain = {.links = 60, .chain = true, .joints = 1u << CTN_REVOLUTE};
        ctn_model *m = random_model(3, &chain);
        const int nv = ctn_model_nv(m);
        double *q = numbers((size_t)ctn_model_nq(m)), *v = numbers((size_t)nv);
        ctn_batch_config cfg = ctn_batch_config_default();
        ctn_step_stats stats[2];
        v[nv - 1] = far ? 3e5 : 1e200, cfg.method = far ? CTN_SEMI_IMPLICIT : CTN_RK4, cfg.dt = far ? 1 : 1e-3;
        for (int k = 0; k < 2; k++) {
            cfg.parallel = k ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
            ctn_batch *b = ctn_batch_create(m, &cfg, &err);
            ck_assert_msg(b != NULL, "%s", err.message);
            ck_assert(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK);
            ck_assert(ctn_batch_step(b, 10, &stats[k], &err) == CTN_FROZEN);
            if (k) ck_assert_int_eq((int)ctn_batch_serial_steps(b), 0);  // none was made: it froze
            ctn_batch_free(b);
        }
        ck_assert_int_eq((int)stats[0].frozen, (int)stats[1].frozen);
        ck_assert_int_eq((int)stats[0].steps, (int)stats[1].steps);
        ck_assert_int_eq(stats[0].frozen_dof, stats[1].frozen_dof);
        free(q), free(v), ctn_model_free(m);
    }
}
END_TEST

/// Wrenches that a batch is given while it runs act, too.
START_TEST(wrenches_act)
{
    ctn_error err;
    ctn_model *m = random_model(5, &kinds[4]);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *q[2] = {numbers(nq), numbers(nq)}, *v[2] = {numbers(nv), numbers(nv)};
    for (int k = 0; k < 2; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_RK2, cfg.dt = 1e-4, cfg.parallel = k ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
        ctn_batch *b = batch_of(m, 5, cfg);
        const ctn_wrench push = {.force = {30, -20, 10}};
        ck_assert(ctn_batch_step(b, 2, NULL, &err) == CTN_OK);
        ck_assert(ctn_batch_set_wrench(b, 0, ctn_model_nlink(m) - 1, &push, &err) == CTN_OK);
        ck_assert(ctn_batch_step(b, 5, NULL, &err) == CTN_OK);
        ck_assert_int_eq((int)ctn_batch_serial_steps(b), 0);
        ctn_batch_state(b, q[k], v[k]);
        ctn_batch_free(b);
    }
    ck_assert(distance(q[1], q[0], nq) < 1e-9 && distance(v[1], v[0], nv) < 1e-9);
    for (int k = 0; k < 2; k++) free(q[k]), free(v[k]);
    ctn_model_free(m);
}
END_TEST

/// What batches along the links do not take is refused at creation.
START_TEST(other_configurations_are_refused)
{
    ctn_error err;
    ctn_model *m = random_model(1, &kinds[6]);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.parallel = CTN_PARALLEL_LINKS, cfg.method = CTN_COLLOCATION, cfg.order = 3;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "of order 2, not 3"), "%s", err.message);
    cfg.method = CTN_RK4, cfg.adaptive = true;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "dt: auto"), "%s", err.message);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_explicit");
    TCase *c = tcase_create("along_explicit");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, KINDS);
    tcase_add_loop_test(c, steps_of_a_class_have_the_same_bits_everywhere, 0, KINDS);
    tcase_add_test(c, a_world_that_runs_away_is_frozen_as_serially);
    tcase_add_test(c, wrenches_act);
    tcase_add_test(c, other_configurations_are_refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
