/// Worlds along their links on the engine "cuda": the bits of the CPU's lanes of the same class, on a GPU or, where
/// CTN_CUDA_LIBRARY names it, through its twin (tests/along_twin.cpp); what it refuses, and a device that fails.
#include "sim/base/step_stats.h"
#include "sim/engine/device.h"
#include "sim/model/model.h"
#include "tests/along_cases.h"
#include "tests/ground_scenes.h"
#include "tests/random_scene.h"
#include "tests/spinning_ropes.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const random_options kinds[] = {
    {.links = 1},
    {.links = 40, .passive = true},
    {.links = 40, .floating = true, .passive = true},
    {.links = 60, .chain = true, .floating = true, .passive = true},
    {.links = 300, .motors = 100},
    {.links = 300, .chain = true, .passive = true, .smooth = true},
    {.links = 200, .chain = true, .joints = 1u << CTN_UNIVERSAL},
    {.links = 200, .chain = true, .joints = 1u << CTN_BALL},
    {.links = 40, .floating = true, .passive = true, .springs = 9, .wrenches = 12},
    {.links = 60, .chain = true, .springs = 30, .wrenches = 30, .motors = 30, .friction = true},
    {.links = 40, .floating = true, .passive = true, .motors = 10, .fluid = true},
    {.links = 60, .chain = true, .motors = 40, .moving = true, .friction = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds, BARE = KINDS - 4 };  // without loads on links

START_TEST(forward_dynamics_have_the_bits_of_the_cpu)
{
    FOR_SEEDS(seed, 4)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        double *x = calloc(nq + 4 * nv + 1, sizeof *x), *q = x, *v = q + nq, *tau = v + nv, *got = tau + nv, *want = got + nv;
        rng r = {seed * 31 + 7};
        random_state(m, &r, q, v);
        for (size_t k = 0; k < nv; k++) tau[k] = rng_uniform(&r, -1, 1);
        for (int lanes = 8; lanes <= 512; lanes *= 4) {
            ctn_along *here = ctn_along_create(m, "scalar", 1, lanes, &err), *there = ctn_along_create(m, "cuda", 1, lanes, &err);
            ck_assert_msg(here && there, "%s", err.message);
            ck_assert_str_eq(ctn_along_about(there).engine, "cuda");
            ctn_along_rnea(here, q, v, tau, want), ctn_along_rnea(there, q, v, tau, got);  // on the CPU
            ck_assert(!memcmp(got, want, nv * sizeof *got));
            for (int forced = 0; forced < 2; forced++) {
                ctn_along_aba(here, q, v, forced ? tau : NULL, want), ctn_along_aba(there, q, v, forced ? tau : NULL, got);
                ck_assert_msg(!memcmp(got, want, nv * sizeof *got), "kind %d, seed %llu, %d lanes", _i, (unsigned long long)seed,
                              lanes);
            }
            ctn_along_free(here), ctn_along_free(there);
        }
        free(x), ctn_model_free(m);
    }
}
END_TEST

/// Order 2, alpha, radau of 1 to 4 stages.
static ctn_batch_config steps_of(int method, const char *engine, int lanes)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = (ctn_method[]){CTN_COLLOCATION, CTN_ALPHA, CTN_RADAU}[method < 2 ? method : 2];
    cfg.stages = method < 2 ? cfg.stages : method - 1, cfg.dt = 0.001, cfg.tolerance = 1e-12;
    cfg.parallel = CTN_PARALLEL_LINKS, cfg.lanes = lanes, cfg.engine = engine;
    return cfg;
}

/// States, statistics, and which steps were made serially.
START_TEST(steps_have_the_bits_of_the_cpu)
{
    long steps = 0, serial = 0;
    FOR_SEEDS(seed, 6)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i % KINDS]);
        const int lanes = seed % 3 ? 16 : 64, radau = 2 + (int)(seed + (uint64_t)_i) % 4,
                  method = _i < 2 * KINDS ? _i / KINDS : radau;
        ctn_batch *here = batch_of(m, seed, steps_of(method, "scalar", lanes)),
                  *there = batch_of(m, seed, steps_of(method, "cuda", lanes));
        const size_t size = ctn_batch_saved_size(here);
        char *got = malloc(size), *want = malloc(size);
        ck_assert_uint_eq(ctn_batch_saved_size(there), size);
        ck_assert_int_eq(ctn_batch_lanes(there), lanes);
        ck_assert_str_eq(ctn_batch_configuration(there)->engine, "cuda");
        for (int k = 0; k < 3; k++) {
            ctn_step_stats a, b;
            ck_assert(ctn_batch_step(here, 2, k ? &a : NULL, &err) == CTN_OK);
            ck_assert_msg(ctn_batch_step(there, 2, k ? &b : NULL, &err) == CTN_OK, "%s", err.message);
            if (k) ck_assert_msg(!memcmp(&a, &b, sizeof a), "kind %d, seed %llu: statistics", _i, (unsigned long long)seed);
            ctn_batch_save(here, want), ctn_batch_save(there, got);
            ck_assert_msg(!memcmp(got, want, size), "kind %d, seed %llu, call %d", _i, (unsigned long long)seed, k);
        }
        ck_assert_int_eq(ctn_batch_serial_steps(here), ctn_batch_serial_steps(there));
        steps += 6, serial += ctn_batch_serial_steps(there);
        ctn_batch_free(here), ctn_batch_free(there), ctn_model_free(m), free(got), free(want);
    }
    ck_assert_int_lt(serial, steps - 6);
}
END_TEST

/// A rope that whips: steps with curvature dropped, shortened and followed.
START_TEST(whips_have_the_bits_of_the_cpu)
{
    ctn_error err;
    ctn_model *m = model_of(WHIP);
    ctn_batch_config cfg = steps_of(1, "scalar", 24);
    cfg.dt = 1. / 60, cfg.tolerance = ctn_batch_config_default().tolerance;
    ctn_batch *here = ctn_batch_create(m, &cfg, &err);
    cfg.engine = "cuda";
    ctn_batch *there = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(here && there, "%s", err.message);
    const size_t size = ctn_batch_saved_size(here);
    char *got = malloc(size), *want = malloc(size);
    double hard = 0;
    for (int k = 0; k < 13; k++) {
        ctn_step_stats a, b;
        ck_assert(ctn_batch_step(here, 20, &a, &err) == CTN_OK && ctn_batch_step(there, 20, &b, &err) == CTN_OK);
        ctn_batch_save(here, want), ctn_batch_save(there, got);
        ck_assert_msg(!memcmp(got, want, size) && !memcmp(&a, &b, sizeof a), "call %d", k);
        hard += (double)a.curvature;
    }
    ck_assert(hard > 0);
    ck_assert_int_eq(ctn_batch_serial_steps(here), ctn_batch_serial_steps(there));
    ctn_batch_free(here), ctn_batch_free(there), ctn_model_free(m), free(got), free(want);
}
END_TEST

/// Ropes and trees that fall onto the ground, to where they lie.
START_TEST(landings_have_the_bits_of_the_cpu)
{
    long touching = 0;
    FOR_SEEDS(seed, 4)
    {
        ctn_error err;
        double q[GROUND_MOST], v[GROUND_MOST];
        ctn_model *m = ground_model(seed % 2 ? GROUND_ROPE : GROUND_TREE, seed, 0, q, v);
        ctn_batch_config cfg = steps_of(_i, "scalar", 16);
        cfg.dt = 0.01;
        ctn_batch *here = ctn_batch_create(m, &cfg, &err);
        cfg.engine = "cuda";
        ctn_batch *there = ctn_batch_create(m, &cfg, &err);
        ck_assert_msg(here && there, "%s", err.message);
        ck_assert(ctn_batch_set_state(here, q, v, 0, &err) == CTN_OK && ctn_batch_set_state(there, q, v, 0, &err) == CTN_OK);
        const size_t size = ctn_batch_saved_size(here);
        char *got = malloc(size), *want = malloc(size);
        for (int k = 0; k < 8; k++) {
            ctn_step_stats a, b;
            ck_assert(ctn_batch_step(here, 10, &a, &err) == CTN_OK && ctn_batch_step(there, 10, &b, &err) == CTN_OK);
            ctn_batch_save(here, want), ctn_batch_save(there, got);
            ck_assert_msg(!memcmp(got, want, size) && !memcmp(&a, &b, sizeof a), "seed %llu, call %d", (unsigned long long)seed,
                          k);
            const double *const press = (const double *)(void *)(got + size) - m->ncontact;
            for (int c = 0; c < m->ncontact; c++) touching += press[c] > 0;
        }
        ck_assert_int_eq(ctn_batch_serial_steps(here), ctn_batch_serial_steps(there));
        ctn_batch_free(here), ctn_batch_free(there), ctn_model_free(m), free(got), free(want);
    }
    ck_assert_int_gt(touching, 8);
}
END_TEST

/// Wheels, balls and tops: a world by launches, and two by groups of threads.
START_TEST(what_spins_has_the_bits_of_the_cpu)
{
    enum { WORLDS = 2 };
    const int kind = _i % SPIN_KINDS, method = _i / SPIN_KINDS;
    ctn_error err;
    ctn_model *m = spinning_rope(kind, 40);
    for (int together = 0; together < 2; together++) {
        ctn_batch_config cfg = steps_of(method, "scalar", 16);
        uint64_t hash[2][WORLDS];
        long serial[2];
        cfg.worlds = together ? WORLDS : 1, cfg.parallel = together ? CTN_PARALLEL_BOTH : CTN_PARALLEL_LINKS;
        for (int there = 0; there < 2; there++) {
            cfg.engine = there ? "cuda" : "scalar";
            ctn_batch *b = spinning_batch(m, cfg);
            ck_assert_msg(ctn_batch_step(b, 3, NULL, &err) == CTN_OK, "%s", err.message);
            ck_assert_msg(ctn_batch_step(b, 2, NULL, &err) == CTN_OK, "%s", err.message);
            ctn_batch_hashes(b, hash[there]);
            serial[there] = ctn_batch_serial_steps(b);
            ctn_batch_free(b);
        }
        ck_assert_int_eq(serial[0], serial[1]);
        ck_assert_int_le(serial[1], kind == SPIN_GROUND ? 5 * cfg.worlds : method == 1 ? cfg.worlds : 0);
        ck_assert_msg(!memcmp(hash[0], hash[1], (size_t)cfg.worlds * sizeof **hash), "kind %d, method %d, together %d", kind,
                      method, together);
    }
    ctn_model_free(m);
}
END_TEST

/// Paths with many cuts, which are joined in a tree: one world by launches, and two by groups of threads.
START_TEST(trees_of_cuts_have_the_bits_of_the_cpu)
{
    enum { WORLDS = 2 };
    ctn_error err;
    ctn_model *m = random_model(5, &(random_options){.links = 300, .chain = true, .passive = true, .smooth = true});
    ctn_batch_config cfg = steps_of(_i % 3, "scalar", 512);
    cfg.worlds = WORLDS, cfg.parallel = _i < 3 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
    uint64_t hash[2][WORLDS];
    setenv("CTN_TWIN_THREADS", "2", 1);
    for (int there = 0; there < 2; there++) {
        cfg.engine = there ? "cuda" : "scalar";
        ctn_batch *b = batch_of(m, 5, cfg);
        ck_assert_msg(ctn_batch_step(b, 2, NULL, &err) == CTN_OK, "%s", err.message);
        ctn_batch_hashes(b, hash[there]);
        ck_assert_int_le(ctn_batch_serial_steps(b), WORLDS);
        ctn_batch_free(b);
    }
    unsetenv("CTN_TWIN_THREADS");
    ck_assert(!memcmp(hash[0], hash[1], sizeof *hash));
    ctn_model_free(m);
}
END_TEST

/// Gradients are found in the CPU's lanes: of runs that end, to the last bit, where those of the device do.
START_TEST(gradients_are_of_the_steps_of_the_device)
{
    enum { STEPS = 3 };
    ctn_error err;
    ctn_model *m = random_model(3, &(random_options){.links = 60, .chain = true, .passive = true, .motors = 20});
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *q = numbers(nq), *v = numbers(nv), *aim = numbers((STEPS + 1) * nv), *end = numbers(2 * nq), *by = numbers(2 * nv);
    rng r = {3};
    random_state(m, &r, q, v);
    for (size_t k = 0; k < nv; k++) v[k] *= 0.1;
    for (size_t k = 0; k < (STEPS + 1) * nv; k++) aim[k] = rng_uniform(&r, -1, 1);
    ctn_batch *b = batch_of(m, 2, steps_of(_i, "cuda", 16));  // without forces
    ck_assert(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK && ctn_batch_step(b, STEPS, NULL, &err) == CTN_OK);
    ck_assert_int_le(ctn_batch_serial_steps(b), 1);
    for (int there = 0; there < 2; there++) {
        const ctn_batch_config cfg = steps_of(_i, there ? "cuda" : "scalar", 16);
        ctn_tape *tape = ctn_tape_create(m, &cfg, STEPS, &err);
        ck_assert_msg(tape && ctn_tape_run(tape, q, v, NULL, &err) == CTN_OK, "%s", err.message);
        ck_assert(ctn_tape_state(tape, STEPS, end + (there ? nq : 0), NULL, &err) == CTN_OK);
        ck_assert_msg(ctn_tape_gradient(tape, aim, NULL, by + (there ? nv : 0), NULL, NULL, &err) == CTN_OK, "%s", err.message);
        ctn_tape_free(tape);
    }
    ctn_batch_state(b, q, NULL);
    ck_assert(!memcmp(end + nq, q, nq * sizeof *q) && !memcmp(end, q, nq * sizeof *q));
    ck_assert(!memcmp(by, by + nv, nv * sizeof *by));
    free(q), free(v), free(aim), free(end), free(by), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Wrenches that worlds are given while the batch runs.
START_TEST(wrenches_have_the_bits_of_the_cpu)
{
    enum { WORLDS = 2 };
    ctn_error err;
    ctn_model *m = random_model(4, &kinds[KINDS - 1]);
    ctn_batch *batch[2];
    uint64_t hash[2][WORLDS];
    const int link = ctn_model_nlink(m) - 1;
    const ctn_wrench in_world = {.point = {0.1, 0, 0}, .force = {0.5, 1, -0.25}},
                     in_link = {.torque = {0.1, 0, 0.2}, .link_axes = true};
    for (int k = 0; k < 2; k++) {
        ctn_batch_config cfg = steps_of(_i % 2, k ? "cuda" : "scalar", 16);
        cfg.worlds = WORLDS, cfg.parallel = _i < 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
        batch[k] = batch_of(m, 4, cfg);
        ck_assert(ctn_batch_step(batch[k], 2, NULL, &err) == CTN_OK);
        ck_assert_msg(ctn_batch_set_wrench(batch[k], 1, link, &in_world, &err) == CTN_OK, "%s", err.message);
        ck_assert(ctn_batch_step(batch[k], 2, NULL, &err) == CTN_OK);
        ck_assert(ctn_batch_set_wrench(batch[k], -1, link, &in_link, &err) == CTN_OK);
        ck_assert(ctn_batch_step(batch[k], 2, NULL, &err) == CTN_OK);
        ctn_batch_hashes(batch[k], hash[k]);
    }
    ck_assert(!memcmp(hash[0], hash[1], sizeof *hash));
    ck_assert_int_eq(ctn_batch_serial_steps(batch[0]), ctn_batch_serial_steps(batch[1]));
    ck_assert_int_le(ctn_batch_serial_steps(batch[1]), WORLDS);
    ctn_batch_free(batch[0]), ctn_batch_free(batch[1]), ctn_model_free(m);
}
END_TEST

static void push_and_pull(void *context, int first, int count, const double *t, const double *q, const double *v, double *tau)
{
    (void)context, (void)q;
    for (int w = 0; w < count; w++) tau[0] = 0.1 * (first + w) - t[w] - 0.01 * v[0];
}

/// Gives b the energies of a, from which they differ by rounding alone.
static void copy_sums(const ctn_step_stats *a, ctn_step_stats *b)
{
    const double size = 1 + fabs(a->energy_min) + fabs(a->energy_max);
    const double from[] = {a->energy_min, a->energy_max, a->work, a->dissipated, a->created};
    double *const to[] = {&b->energy_min, &b->energy_max, &b->work, &b->dissipated, &b->created};
    for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
        ck_assert_msg(fabs(*to[k] - from[k]) < 1e-12 * size, "number %zu: %.17g %.17g of %g", k, *to[k], from[k], size);
        *to[k] = from[k];
    }
}

static bool same_statistics(const ctn_step_stats *a, const ctn_step_stats *b)
{
#define STAT(member, type, adds, of, unit, about) &&!memcmp(&a->member, &b->member, sizeof a->member)
    return true STEP_STATS(STAT);
#undef STAT
}

/// Worlds that groups of threads step side by side: as many steps as each has, under forces of all kinds; threads: of a group.
static void step_together(int kind, uint64_t seed, ctn_batch_config cfg, const char *threads)
{
    enum { WORLDS = 4, STEPS = 3 };
    static const int horizon[WORLDS] = {1, 3, 0, 2};
    ctn_error err;
    ctn_model *m = random_model(seed, &kinds[kind]);
    const size_t nv = (size_t)ctn_model_nv(m);
    ctn_step_stats stats[2][WORLDS];
    uint64_t hash[2][WORLDS];
    double *force = numbers(WORLDS * STEPS * nv);
    rng r = {seed};
    for (size_t k = 0; k < WORLDS * STEPS * nv; k++) force[k] = rng_uniform(&r, -1, 1);
    const ctn_run calls[] = {{.steps = STEPS, .horizon = horizon},
                             {.steps = STEPS, .force = force},
                             {.steps = 2, .control = push_and_pull},
                             {.steps = 0}};
    cfg.parallel = CTN_PARALLEL_BOTH, cfg.worlds = WORLDS, cfg.threads = 1;
    ctn_batch *batch[2];
    setenv("CTN_TWIN_THREADS", threads, 1);
    for (int there = 0; there < 2; there++) cfg.engine = there ? "cuda" : "scalar", batch[there] = batch_of(m, seed, cfg);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        for (int there = 0; there < 2; there++) {
            ck_assert_msg(ctn_batch_run(batch[there], &calls[k], stats[there], &err) == CTN_OK, "%s", err.message);
            ctn_batch_hashes(batch[there], hash[there]);
        }
        // a CPU takes a table row by row: sums run in another order
        for (int w = 0; w < WORLDS && calls[k].force; w++) copy_sums(&stats[0][w], &stats[1][w]);
        for (int w = 0; w < WORLDS; w++)
            ck_assert_msg(same_statistics(&stats[0][w], &stats[1][w]) && hash[0][w] == hash[1][w],
                          "kind %d, seed %llu, call %zu, world %d", kind, (unsigned long long)seed, k, w);
    }
    ck_assert_int_eq(ctn_batch_serial_steps(batch[0]), ctn_batch_serial_steps(batch[1]));
    unsetenv("CTN_TWIN_THREADS");
    ctn_batch_free(batch[0]), ctn_batch_free(batch[1]), free(force), ctn_model_free(m);
}

START_TEST(worlds_together_have_the_bits_of_the_cpu)
{
    FOR_SEEDS(seed, 1)
    {
        const uint64_t k = seed + (uint64_t)_i;
        step_together(_i, seed, steps_of((int)(k % 6), NULL, k % 4 < 2 ? 8 : 40), "1");
    }
}
END_TEST

/// The threads of a group wait for each other wherever they must: with some that are threads.
START_TEST(threads_of_a_group_have_the_bits_of_one) { step_together(3, 5, steps_of(_i, NULL, 24), "3"); }
END_TEST

START_TEST(what_it_cannot_do_is_refused)
{
    ctn_error err;
    ctn_model *m = random_model(1, &kinds[1]);
    ctn_batch_config cfg = steps_of(0, "cuda", 8);
    cfg.method = CTN_RK4;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
    ck_assert_msg(strstr(err.message, "the engine 'cuda' takes alpha, collocation of order 2 and radau, not rk4"), "%s",
                  err.message);
    ctn_model *loaded = random_model(1, &(random_options){.links = 5, .wrenches = 2});
    ck_assert_ptr_null(ctn_along_create(loaded, "cuda", 1, 8, &err));
    ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
    ck_assert_msg(strstr(err.message, "engine: 'cuda' takes springs and forces on links in steps alone"), "%s", err.message);
    ctn_model_free(loaded);
    if (!device_missing("cuda-float")) {
        cfg = steps_of(0, "cuda-float", 8);
        ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
        ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
        ck_assert_ptr_null(ctn_along_create(m, "cuda-float", 1, 8, &err));
        ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
    }
    ctn_model_free(m);
}
END_TEST

enum { FAILURES = 22 };

/// The twin's launches fail from one on, sooner and later: the call says so, and its steps have been made serially.
START_TEST(a_device_that_fails_is_told_of)
{
    ctn_error err;
    ctn_model *m = random_model(2, &kinds[3]);
    ctn_batch_config cfg = steps_of(_i % 2, "cuda", 8);
    const bool together = _i >= FAILURES - 2;
    if (together) cfg.parallel = CTN_PARALLEL_BOTH;
    ctn_batch *b = batch_of(m, 2, cfg);
    char most[16];
    snprintf(most, sizeof most, "%d", together ? 0 : 7 * _i);
    setenv("CTN_TWIN_LAUNCHES", most, 1);
    ck_assert_int_eq(ctn_batch_step(b, 20, NULL, &err), CTN_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "failed"));
    ck_assert(ctn_batch_time(b, 0) == 20 * 0.001);
    ck_assert_int_ge(ctn_batch_serial_steps(b), 1);
    ck_assert_int_eq(ctn_batch_step(b, 1, NULL, &err), CTN_UNAVAILABLE);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

static bool is_there(ctn_error *err) { return device_find("cuda", err) != NULL; }

int main(void)
{
    if (!machine_has("along_device", is_there)) return EXIT_SKIPPED;
    Suite *s = suite_create("along_device");
    TCase *c = tcase_create("along_device");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, forward_dynamics_have_the_bits_of_the_cpu, 0, BARE);
    tcase_add_loop_test(c, steps_have_the_bits_of_the_cpu, 0, 3 * KINDS);
    tcase_add_test(c, whips_have_the_bits_of_the_cpu);
    tcase_add_loop_test(c, landings_have_the_bits_of_the_cpu, 0, 4);
    tcase_add_loop_test(c, what_spins_has_the_bits_of_the_cpu, 0, 6 * SPIN_KINDS);
    tcase_add_loop_test(c, trees_of_cuts_have_the_bits_of_the_cpu, 0, 6);
    tcase_add_loop_test(c, gradients_are_of_the_steps_of_the_device, 0, 3);
    tcase_add_loop_test(c, wrenches_have_the_bits_of_the_cpu, 0, 4);
    tcase_add_loop_test(c, worlds_together_have_the_bits_of_the_cpu, 0, KINDS);
    tcase_add_loop_test(c, threads_of_a_group_have_the_bits_of_one, 0, 3);
    tcase_add_test(c, what_it_cannot_do_is_refused);
    const char *const library = getenv("CTN_CUDA_LIBRARY");
    if (library && strstr(library, "twin")) tcase_add_loop_test(c, a_device_that_fails_is_told_of, 0, FAILURES);
    suite_add_tcase(s, c);
    return run_suite(s);
}
