/// Steps of radau with several stages along the links against those of the serial engine; their statistics; the same bits
/// whatever the lanes and threads of a class; and what is left to the serial engine.
#include "sim/along/stage_boundary.h"
#include "sim/engine/engine.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const random_options kinds[] = {
    {.links = 1},
    {.links = 7},
    {.links = 40},
    {.links = 40, .passive = true},
    {.links = 40, .floating = true, .passive = true},
    {.links = 40, .floating = true, .passive = true, .springs = 6},
    {.links = 60, .chain = true},
    {.links = 60, .chain = true, .floating = true, .passive = true},
    {.links = 60, .chain = true, .springs = 6},
    {.links = 300},
    {.links = 150, .chain = true, .passive = true, .smooth = true},
    {.links = 120, .chain = true, .joints = 1u << CTN_UNIVERSAL},
    {.links = 120, .chain = true, .joints = 1u << CTN_BALL},
    {.links = 120, .chain = true, .joints = 1u << CTN_PRISMATIC | 1u << CTN_HELICAL | 1u << CTN_REVOLUTE},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static ctn_batch_config steps_of(int stages)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.stages = stages, cfg.dt = 0.002, cfg.tolerance = 1e-14;
    return cfg;
}

/// y = M x + y, rows of M `width` numbers apart.
static void add_product(int n, int width, const double *M, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) y[i] += M[i * width + j] * x[j];
}

/// What boundaries say solves the equations of both sides: t = E d + g + G f, f = K t + k, and the wrench at the head is P d +
/// p + F f.
START_TEST(boundaries_solve_both_sides)
{
    enum { N = MOST_STAGE_BOUNDARY };
    FOR_SEEDS(seed, 30)
    {
        const int n = 6 * (2 + (int)(seed % 3)), width = 2 * n + 1;
        double own[2 * N * (2 * N + 1)], left[2 * N * (2 * N + 1)], behind[N * (N + 1)], joined[N * (N + 1)], d[N], t[N], f[N];
        rng r = {seed};
        for (int k = 0; k < 2 * n * width; k++) own[k] = left[k] = rng_uniform(&r, -1, 1);
        for (int k = 0; k < n * (n + 1); k++) behind[k] = rng_uniform(&r, -1, 1);
        for (int k = 0; k < n; k++) d[k] = rng_uniform(&r, -1, 1);
        stage_boundary_join(n, left, behind, joined);
        stage_boundary_pass(n, left, behind, d, t, f);
        double tail[N], wrench[N], head[N], whole[N], size = 1;
        for (int i = 0; i < n; i++) {
            tail[i] = own[(n + i) * width + n] - t[i], wrench[i] = behind[i * (n + 1) + n] - f[i];
            head[i] = own[i * width + n], whole[i] = joined[i * (n + 1) + n];
            size = fmax(size, fmax(fabs(t[i]), fabs(f[i])));
        }
        add_product(n, width, own + n * width, d, tail), add_product(n, width, own + n * width + n + 1, f, tail);
        add_product(n, n + 1, behind, t, wrench);
        add_product(n, width, own, d, head), add_product(n, width, own + n + 1, f, head);
        add_product(n, n + 1, joined, d, whole);
        for (int i = 0; i < n; i++)
            ck_assert_msg(fabs(tail[i]) < 1e-10 * size && fabs(wrench[i]) < 1e-10 * size &&
                              fabs(head[i] - whole[i]) < 1e-9 * size,
                          "seed %llu: %g %g %g of %g", (unsigned long long)seed, tail[i], wrench[i], head[i] - whole[i], size);
    }
}
END_TEST

/// Energies of equal steps: they follow the velocities, which are differences of poses over the step, to the first order.
static bool near(double x, double y, double size) { return alike(x, y, 100 * size); }

/// Steps from the same states end at the same place, with the same statistics.
START_TEST(steps_are_those_of_the_serial_engine)
{
    long steps = 0, serial = 0, fallen = 0;
    double most = 0, fastest = 0;
    FOR_SEEDS(seed, 12)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        ctn_batch_config cfg = steps_of(1 + (int)(seed % 4));
        cfg.worlds = seed % 3 ? 1 : 3;
        const size_t W = (size_t)cfg.worlds;
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *one = batch_of(m, seed, cfg);
        cfg.parallel = seed % 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.lanes = seed % 3 ? 8 : 16, cfg.threads = 2;
        ctn_batch *along = batch_of(m, seed, cfg);
        double *q[2] = {numbers(W * nq), numbers(W * nq)}, *v[2] = {numbers(W * nv), numbers(W * nv)};
        for (int k = 0; k < 3; k++) {
            ctn_step_stats a[3], b[3];
            ck_assert(ctn_batch_step(one, 2, a, &err) == CTN_OK);
            ck_assert(ctn_batch_step(along, 2, b, &err) == CTN_OK);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            const double far = distance(q[1], q[0], W * nq), fast = distance(v[1], v[0], W * nv);
            if (far > most) most = far;
            if (fast > fastest) fastest = fast;
            for (size_t w = 0; w < W; w++) {
                const double size = 1 + fabs(a[w].energy_after) + fabs(a[w].energy_before);
                const bool same = a[w].steps == b[w].steps && a[w].substeps == b[w].substeps &&
                                  a[w].fallbacks == b[w].fallbacks && a[w].fewer_stages == b[w].fewer_stages &&
                                  near(a[w].energy_after, b[w].energy_after, size) &&
                                  near(a[w].energy_before, b[w].energy_before, size) && near(a[w].created, b[w].created, size) &&
                                  near(a[w].dissipated, b[w].dissipated, size) && near(a[w].work, b[w].work, size) &&
                                  labs(a[w].iterations - b[w].iterations) <= a[w].steps * 3;
                fallen += a[w].fallbacks;
                ck_assert_msg(same,
                              "kind %d, seed %llu, call %d: energies %g %g, %g %g; created %g %g, lost %g %g, work %g %g, "
                              "iterations %ld %ld, fallbacks %ld %ld; %g %g",
                              _i, (unsigned long long)seed, k, a[w].energy_before, b[w].energy_before, a[w].energy_after,
                              b[w].energy_after, a[w].created, b[w].created, a[w].dissipated, b[w].dissipated, a[w].work,
                              b[w].work, (long)a[w].iterations, (long)b[w].iterations, (long)a[w].fallbacks, (long)b[w].fallbacks,
                              far, fast);
            }
            ck_assert_msg(far < 1e-9 && fast < 1e-6, "kind %d, seed %llu, call %d: q %g, v %g", _i, (unsigned long long)seed, k,
                          far, fast);
        }
        steps += 6 * cfg.worlds, serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
        for (int k = 0; k < 2; k++) free(q[k]), free(v[k]);
    }
    printf("kind %d: %ld of %ld steps made serially, %ld fell back; q at most %.1e off, v %.1e\n", _i, serial, steps, fallen,
           most, fastest);
    ck_assert_int_le(serial, steps / 10);
}
END_TEST

/// Steps of a class have the same bits on every engine, by any number of threads, in calls of any length, saved in between or
/// not.
START_TEST(steps_of_a_class_have_the_same_bits_everywhere)
{
    enum { WORLDS = 3, STEPS = 4 };
    FOR_SEEDS(seed, 4)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        ctn_batch_config cfg = steps_of(2 + (int)(seed % 3));
        cfg.worlds = WORLDS, cfg.lanes = 16;
        uint64_t first[WORLDS] = {0}, now[WORLDS];
        ctn_step_stats was[WORLDS], stats[WORLDS];
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int threads = 1; threads <= 8; threads += threads == 5 ? 3 : 2) {
                cfg.engine = (*e)->name, cfg.threads = threads,
                cfg.parallel = threads == 3 ? CTN_PARALLEL_BOTH : CTN_PARALLEL_LINKS;
                ctn_batch *b = batch_of(m, seed, cfg);
                if (threads == 5) {
                    void *const saved = malloc(ctn_batch_saved_size(b));
                    ck_assert(ctn_batch_step(b, STEPS / 2, NULL, &err) == CTN_OK);
                    ctn_batch_save(b, saved);
                    ck_assert(ctn_batch_restore(b, saved, ctn_batch_saved_size(b), &err) == CTN_OK);
                    ck_assert(ctn_batch_step(b, STEPS - STEPS / 2, NULL, &err) == CTN_OK);
                    free(saved);
                } else {
                    ck_assert(ctn_batch_step(b, STEPS, stats, &err) == CTN_OK);
                    if (!any) memcpy(was, stats, sizeof stats);
                    ck_assert_msg(!memcmp(was, stats, sizeof stats), "kind %d, seed %llu, %s, %d threads", _i,
                                  (unsigned long long)seed, (*e)->name, threads);
                }
                ctn_batch_hashes(b, now);
                if (!any) memcpy(first, now, sizeof now);
                any = true;
                ck_assert_msg(!memcmp(first, now, sizeof now), "kind %d, seed %llu, %s, %d threads", _i, (unsigned long long)seed,
                              (*e)->name, threads);
                ctn_batch_free(b);
            }
        ctn_model_free(m);
    }
}
END_TEST

/// A rope that whips: from every state the serial engine goes to the same place; what falls back is made serially.
START_TEST(whips_are_those_of_the_serial_engine)
{
    enum { STEPS = 300 };
    ctn_error err;
    ctn_model *m = model_of(WHIP);
    const size_t nq = (size_t)ctn_model_nq(m);
    ctn_batch_config cfg = steps_of(2);
    cfg.dt = 0.03, cfg.tolerance = 1e-9, cfg.parallel = CTN_PARALLEL_LINKS;
    ctn_batch *along = ctn_batch_create(m, &cfg, &err);
    cfg.parallel = CTN_PARALLEL_WORLDS;
    ctn_batch *one = ctn_batch_create(m, &cfg, &err);
    ck_assert(along && one);
    double *q = numbers(nq), *x = numbers(nq), *v = numbers(nq), most = 0;
    void *saved = malloc(ctn_batch_saved_size(along));
    long fallen = 0, shortened = 0;
    for (int k = 0; k < STEPS; k++) {
        ctn_step_stats a, b;
        ctn_batch_save(along, saved);
        ck_assert(ctn_batch_restore(one, saved, ctn_batch_saved_size(along), &err) == CTN_OK);
        ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
        ctn_batch_state(one, x, v), ctn_batch_state(along, q, v);
        fallen += a.fallbacks > 0, shortened += a.line_search > 0 && !a.fallbacks;
        const double off = distance(q, x, nq);
        if (off > most) most = off;
        ck_assert_msg(off < 1e-6 && a.fallbacks == b.fallbacks, "step %d: %g off, fallbacks %ld %ld", k, off, a.fallbacks,
                      b.fallbacks);
    }
    const long serial = ctn_batch_serial_steps(along);
    printf("whip: %ld of %d steps fell back, %ld were shortened, %ld made serially, at most %.1e off\n", fallen, STEPS, shortened,
           serial, most);
    ck_assert_int_gt(fallen + shortened, 0);
    ck_assert_int_le(serial, fallen + shortened);
    free(q), free(x), free(v), free(saved);
    ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
}
END_TEST

/// What batches along the links do not take is refused at creation; `auto` takes long ropes along their
/// links where that pays.
START_TEST(what_goes_and_what_does_not)
{
    ctn_error err;
    const random_options rope = {.links = 600, .chain = true, .joints = 1u << CTN_REVOLUTE};
    ctn_model *m = random_model(1, &rope);
    ctn_batch_config cfg = steps_of(2);
    cfg.parallel = CTN_PARALLEL_LINKS, cfg.solver = CTN_LM;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "takes the solver newton alone"), "%s", err.message);
    cfg.solver = CTN_NEWTON, cfg.parallel = CTN_PARALLEL_AUTO;
    for (int stages = 1; stages <= 4; stages++) {
        cfg.stages = stages;
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        ck_assert(b && ctn_batch_configuration(b)->parallel == (stages > 1 ? CTN_PARALLEL_WORLDS : CTN_PARALLEL_LINKS));
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_radau");
    TCase *c = tcase_create("along_radau");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, boundaries_solve_both_sides);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, KINDS);
    tcase_add_loop_test(c, steps_of_a_class_have_the_same_bits_everywhere, 0, KINDS);
    tcase_add_test(c, whips_are_those_of_the_serial_engine);
    tcase_add_test(c, what_goes_and_what_does_not);
    suite_add_tcase(s, c);
    return run_suite(s);
}
