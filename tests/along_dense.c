/// Along the links: the motion between the steps (ctn_batch_dense). Against the serial engine; the same bits whatever the lanes and
/// threads of a class, and in calls of any length.
#include "sim/engine/engine.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const random_options kinds[] = {
    {.links = 9, .motors = 9, .moving = true, .friction = true},
    {.links = 40, .floating = true, .passive = true, .motors = 20, .friction = true},
    {.links = 64, .chain = true, .joints = 1u << CTN_UNIVERSAL, .passive = true},
    {.links = 120, .motors = 90, .moving = true, .springs = 5},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct {
    ctn_method method;
    int stages;
} ways[] = {{CTN_COLLOCATION, 0}, {CTN_ALPHA, 0}, {CTN_RADAU, 1},         {CTN_RADAU, 2},
            {CTN_RADAU, 3},       {CTN_RK4, 0},   {CTN_SEMI_IMPLICIT, 0}, {CTN_DOP853, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config steps_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = 1e-4, cfg.tolerance = 1e-12, cfg.dense = true;
    if (ways[way].stages) cfg.stages = ways[way].stages;
    return cfg;
}

static const double shares[] = {0, 0.3, 0.75, 1};
enum { SHARES = sizeof shares / sizeof *shares };

START_TEST(motions_are_those_of_the_serial_engine)
{
    enum { STEPS = 5 };
    const int kind = _i % KINDS, way = _i / KINDS;
    double most = 0, moved = 0;
    long serial = 0, steps = 0;
    FOR_SEEDS(seed, 4)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[kind]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = nq + nv;
        double *const x = numbers(4 * n);
        ctn_batch_config cfg = steps_of(way);
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *one = batch_of(m, seed, cfg);
        cfg.parallel = seed % 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.lanes = seed % 3 ? 8 : 16;
        ctn_batch *along = batch_of(m, seed, cfg);
        const size_t size = ctn_batch_saved_size(along);
        void *const saved = malloc(size);
        for (int k = 0; k < STEPS; k++) {
            const int more = k % 2 ? 2 : 0;  // before it, in the same call
            ctn_batch_save(along, saved);
            ck_assert(ctn_batch_restore(one, saved, size, &err) == CTN_OK);
            ctn_batch_state(along, x + 3 * n, x + 3 * n + nq);
            ck_assert(ctn_batch_dense(along, 0.5, x, x + nq, NULL, &err) == CTN_OK);
            ck_assert(ctn_batch_step(one, 1 + more, NULL, &err) == CTN_OK);
            ck_assert(ctn_batch_step(along, 1 + more, NULL, &err) == CTN_OK);
            for (int f = 0; f < SHARES; f++) {
                double t[2];
                ck_assert(ctn_batch_dense(one, shares[f], x, x + nq, &t[0], &err) == CTN_OK);
                ck_assert(ctn_batch_dense(along, shares[f], x + n, x + n + nq, &t[1], &err) == CTN_OK);
                const double far = distance(x + n, x, nq), fast = distance(x + n + nq, x + nq, nv);
                most = far > most ? far : most;
                if (f == 1) moved += distance(x + n, x + 3 * n, nq);
                ck_assert_msg(far < 1e-9 && fast < 1e-7 && t[0] == t[1],
                              "kind %d, seed %llu, step %d, at %g: q %g, v %g, time %.17g %.17g", kind, (unsigned long long)seed,
                              k, shares[f], far, fast, t[1], t[0]);
            }
            ctn_batch_state(along, x + 2 * n, x + 2 * n + nq);
            ck_assert(distance(x + n, x + 2 * n, nq) < 1e-12);  // it ends at the state
        }
        steps += 9, serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m), free(x), free(saved);
    }
    printf("%s %d, kind %d: q off by %.1e; %ld of %ld steps made serially\n", ctn_method_name(ways[way].method), ways[way].stages,
           kind, most, serial, steps);
    ck_assert(moved > 1e-5);
    ck_assert_int_le(serial, ways[way].method == CTN_ALPHA ? 4 : 0);  // its first step
}
END_TEST

/// On every engine, by any number of threads, in calls of any length; whoever stays where it is put does so.
START_TEST(motions_have_the_same_bits_everywhere)
{
    enum { WORLDS = 3 };
    for (int kind = 0; kind < KINDS; kind++) {
        ctn_error err;
        ctn_model *m = random_model(5, &kinds[kind]);
        const size_t n = (size_t)(ctn_model_nq(m) + ctn_model_nv(m)) * WORLDS, nq = (size_t)ctn_model_nq(m) * WORLDS;
        double *const first = numbers(SHARES * n), *const x = numbers(SHARES * n), *const still = numbers(n);
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int way = 0; way < 4; way++) {
                ctn_batch_config cfg = steps_of(_i);
                cfg.worlds = WORLDS, cfg.threads = way % 2 ? 3 : 1, cfg.lanes = 16, cfg.engine = (*e)->name;
                cfg.parallel = way / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
                ctn_batch *b = batch_of(m, 5, cfg);
                double t[WORLDS];
                ctn_batch_state(b, still, still + nq);
                ck_assert(ctn_batch_dense(b, 0.5, x, x + nq, t, &err) == CTN_OK && t[0] == 0);
                ck_assert(distance(x, still, nq) < 1e-15);
                for (int k = 0; k < 8; k += way ? 4 : 2) ck_assert(ctn_batch_step(b, way ? 4 : 2, NULL, &err) == CTN_OK);
                for (size_t f = 0; f < SHARES; f++)
                    ck_assert(ctn_batch_dense(b, shares[f], x + f * n, x + f * n + nq, t, &err) == CTN_OK);
                if (any) ck_assert_msg(!memcmp(x, first, SHARES * n * sizeof *x), "kind %d, %s, way %d", kind, (*e)->name, way);
                else memcpy(first, x, SHARES * n * sizeof *x);
                any = true;
                ctn_batch_free(b);
            }
        ctn_model_free(m), free(first), free(x), free(still);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_dense");
    TCase *c = tcase_create("along_dense");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, motions_are_those_of_the_serial_engine, 0, WAYS * KINDS);
    tcase_add_loop_test(c, motions_have_the_same_bits_everywhere, 0, WAYS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
