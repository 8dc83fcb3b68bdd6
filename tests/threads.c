/// Threads: the pool does every job once, and a batch has the same bits, statistics and messages on any number of them.
#include "sim/base/pool.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS = 1000 };

typedef struct {
    atomic_int done[JOBS];
    atomic_int inside[8];  // jobs in progress, by thread
    atomic_bool crowded;
    int offset;
} tally;

static void count_job(void *context, int thread, int job)
{
    tally *t = context;
    if (atomic_fetch_add(&t->inside[thread], 1)) atomic_store(&t->crowded, true);
    atomic_fetch_add(&t->done[job + t->offset], 1);
    atomic_fetch_sub(&t->inside[thread], 1);
}

/// Lists of every length, one after the other on the same threads.
START_TEST(every_job_once)
{
    for (int threads = 1; threads <= 8; threads++) {
        pool *p = pool_create(threads);
        ck_assert_ptr_nonnull(p);
        ck_assert_int_eq(pool_threads(p), threads);
        tally *t = calloc(1, sizeof *t);
        for (int jobs = 0; t->offset + jobs <= JOBS; jobs++) {
            pool_run(p, jobs, count_job, t);
            t->offset += jobs;
        }
        for (int k = 0; k < JOBS; k++) ck_assert_int_eq(atomic_load(&t->done[k]), k < t->offset);
        ck_assert(!atomic_load(&t->crowded));
        pool_free(p);
        free(t);
    }
}
END_TEST

START_TEST(cpus_are_counted) { ck_assert_int_ge(pool_cpus(), 1); }
END_TEST

enum { WORLDS = 37 };

/// Everything that a run leaves behind.
typedef struct {
    void *saved;
    size_t size;
    double *q, *v;
    ctn_step_stats stats[WORLDS];
    ctn_status status;
    ctn_error err;
} remains;

static void free_remains(remains *r) { free(r->saved), free(r->q), free(r->v); }

/// 20 steps of 37 worlds that start from different states.
static remains run(const ctn_model *m, ctn_batch_config cfg, int threads, uint64_t seed)
{
    remains r = {0};
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    ctn_error err = {0};
    cfg.worlds = WORLDS, cfg.threads = threads;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    r.q = calloc(WORLDS * nq + 1, sizeof *r.q), r.v = calloc(WORLDS * nv + 1, sizeof *r.v);
    rng random = {seed};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &random, r.q + w * nq, r.v + w * nv);
    ck_assert_int_eq(ctn_batch_set_state(b, r.q, r.v, 0, &err), CTN_OK);
    r.status = ctn_batch_step(b, 20, r.stats, &r.err);
    ctn_batch_state(b, r.q, r.v);
    r.size = ctn_batch_saved_size(b);
    r.saved = malloc(r.size);
    ctn_batch_save(b, r.saved);
    ctn_batch_free(b);
    return r;
}

/// Of every method, at a step where some worlds need fallbacks or freeze.
START_TEST(same_bits_on_any_number)
{
    static const ctn_method methods[] = {CTN_SEMI_IMPLICIT, CTN_RK4, CTN_COLLOCATION, CTN_RADAU, CTN_VARIATIONAL};
    const ctn_method method = methods[_i];
    FOR_SEEDS(seed, 4)
    {
        const random_options o = {.links = 2 + (int)(seed % 5), .passive = seed % 2};
        ctn_model *m = random_model(seed, &o);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = method, cfg.dt = 0.02;
        const remains one = run(m, cfg, 1, seed);
        for (int threads = 2; threads <= 8; threads++) {
            remains many = run(m, cfg, threads, seed);
            ck_assert_int_eq(many.status, one.status);
            ck_assert_str_eq(many.err.message, one.err.message);
            ck_assert_msg(!memcmp(many.saved, one.saved, one.size), "seed %llu, %s: %d threads", (unsigned long long)seed,
                          ctn_method_name(method), threads);
            ck_assert(!memcmp(many.q, one.q, WORLDS * (size_t)ctn_model_nq(m) * sizeof *one.q));
            ck_assert(!memcmp(many.v, one.v, WORLDS * (size_t)ctn_model_nv(m) * sizeof *one.v));
            for (int w = 0; w < WORLDS; w++) {
                ck_assert_int_eq(many.stats[w].iterations, one.stats[w].iterations);
                ck_assert_int_eq(many.stats[w].frozen, one.stats[w].frozen);
                ck_assert(many.stats[w].energy_after == one.stats[w].energy_after);
            }
            free_remains(&many);
        }
        remains last = one;
        free_remains(&last);
        ctn_model_free(m);
    }
}
END_TEST

/// No more threads than blocks; 0 takes those of the machine; out of range is refused.
START_TEST(configuration)
{
    const random_options o = {.links = 3};
    ctn_model *m = random_model(1, &o);
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_error err = {0};
    cfg.threads = 8, cfg.engine = "scalar";
    for (int worlds = 1; worlds < 12; worlds++) {
        cfg.worlds = worlds;
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        ck_assert_int_eq(ctn_batch_configuration(b)->threads, worlds < 8 ? worlds : 8);
        ctn_batch_free(b);
    }
    cfg.worlds = 4096, cfg.threads = 0;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_int_eq(ctn_batch_configuration(b)->threads, pool_cpus());
    ctn_batch_free(b);
    cfg.threads = -1;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_str_eq(err.message, "threads: expected a whole number from 0 to 1024, found -1");
    ctn_model_free(m);
}
END_TEST

/// What a forked child does with a batch of several threads: 0, or the number of what went wrong.
static int child_of(const ctn_model *m, ctn_batch *b, const void *saved, size_t size, const void *next)
{
    ctn_error err = {0};
    ctn_step_stats stats[WORLDS];
    ctn_batch_config cfg = *ctn_batch_configuration(b);
    void *const now = malloc(size);
    alarm(60);  // ends a hang
    if (ctn_batch_step(b, 5, stats, &err) != CTN_UNAVAILABLE || !strstr(err.message, "a batch of its own")) return 1;
    if (ctn_batch_run(b, &(ctn_run){.steps = 1}, NULL, NULL) != CTN_UNAVAILABLE) return 2;
    ctn_batch_save(b, now);
    if (memcmp(now, saved, size)) return 3;
#ifdef __SANITIZE_THREAD__
    cfg.threads = 1;  // the sanitizer ends children that start threads
#endif
    ctn_batch *const own = ctn_batch_create(m, &cfg, NULL);
    double *const q = calloc(WORLDS, (size_t)ctn_model_nq(m) * sizeof *q);
    ctn_batch_state(b, q, NULL);
    if (!own || ctn_batch_restore(own, saved, size, NULL) != CTN_OK || ctn_batch_step(own, 5, NULL, NULL) != CTN_OK) return 4;
    ctn_batch_save(own, now);
    if (memcmp(now, next, size)) return 5;
    ctn_batch_free(b), ctn_batch_free(own);
    free(now), free(q);
    return 0;
}

/// Its threads are not there: steps are refused, and nothing waits for them. A batch of its own goes on from the state.
START_TEST(forked_child)
{
    const random_options o = {.links = 3, .passive = true};
    ctn_model *m = random_model(2, &o);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.worlds = WORLDS, cfg.threads = 4, cfg.engine = "scalar", cfg.method = CTN_COLLOCATION;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    ck_assert_int_eq(ctn_batch_step(b, 5, NULL, NULL), CTN_OK);
    const size_t size = ctn_batch_saved_size(b);
    void *const saved = malloc(size), *const next = malloc(size);
    ctn_batch_save(b, saved);
    ck_assert_int_eq(ctn_batch_step(b, 5, NULL, NULL), CTN_OK);
    ctn_batch_save(b, next);
    ck_assert_int_eq(ctn_batch_restore(b, saved, size, NULL), CTN_OK);
    fflush(stdout);
    const pid_t child = fork();
    if (!child) _exit(child_of(m, b, saved, size, next));
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %#x", (unsigned)status);
    ck_assert_int_eq(ctn_batch_step(b, 5, NULL, NULL), CTN_OK);  // the parent goes on
    ctn_batch_free(b);
    free(saved), free(next);
    ctn_model_free(m);
}
END_TEST

/// A rope that is let go from the horizontal, with as many bodies as threads are used from on.
#define ROPE                                                                                                                     \
    "catena: 1\nlinks:\n  - chain: {name: rope, count: 2100, step: [0.05, 0, 0], mass: 0.005, com: [0.025, 0, 0],\n"             \
    "      joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1]}, inertia: [2.5e-7, 1.0e-6, 1.0e-6, 0, 0, 0]}\n"

/// One world along its links on many threads: what they hand to each other is what the thread sanitizer looks at. Implicit steps
/// are so large that they are followed.
START_TEST(one_world_on_any_number)
{
    static const struct {
        ctn_method method;
        double dt;
    } ways[] = {{CTN_COLLOCATION, 0.1}, {CTN_ALPHA, 0.1}, {CTN_VARIATIONAL, 1e-3}, {CTN_RK2, 1e-4}};
    uint64_t first = 0;
    ctn_model *m = model_of(ROPE);
    for (int threads = 1; threads <= 4; threads += 3) {
        ctn_error err;
        uint64_t hash;
        ctn_step_stats stats;
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = ways[_i].method, cfg.dt = ways[_i].dt, cfg.parallel = CTN_PARALLEL_LINKS, cfg.lanes = 32,
        cfg.threads = threads, cfg.engine = "scalar";
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        ck_assert_msg(b != NULL, "%s", err.message);
        ck_assert(ctn_batch_step(b, 4, &stats, &err) == CTN_OK);
        ck_assert_int_le((int)ctn_batch_serial_steps(b), 1);  // the first one of alpha
        ck_assert(_i > 1 || stats.curvature > 0);
        ctn_batch_hashes(b, &hash);
        if (threads == 1) first = hash;
        ck_assert(hash == first);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("threads");
    TCase *c = tcase_create("threads");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, every_job_once);
    tcase_add_test(c, cpus_are_counted);
    tcase_add_loop_test(c, same_bits_on_any_number, 0, 5);
    tcase_add_loop_test(c, one_world_on_any_number, 0, 4);
    tcase_add_test(c, configuration);
    tcase_add_test(c, forked_child);
    suite_add_tcase(s, c);
    return run_suite(s);
}
