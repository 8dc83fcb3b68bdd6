/// Batches along the links: calls that are interrupted, with tables of forces, horizons and controls; worlds in which nothing
/// moves; memory.
#include "sim/engine/engine.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { WORLDS = 3 };

static const struct {
    ctn_method method;
    ctn_parallel parallel;
} ways[] = {{CTN_COLLOCATION, CTN_PARALLEL_LINKS}, {CTN_COLLOCATION, CTN_PARALLEL_BOTH}, {CTN_ALPHA, CTN_PARALLEL_LINKS},
            {CTN_ALPHA, CTN_PARALLEL_BOTH},        {CTN_RK4, CTN_PARALLEL_LINKS},        {CTN_RK4, CTN_PARALLEL_BOTH}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.parallel = ways[way].parallel;
    cfg.dt = 1e-4, cfg.tolerance = 1e-12, cfg.worlds = WORLDS, cfg.threads = 2, cfg.lanes = 16;
    return cfg;
}

/// The same, side by side.
static ctn_batch_config beside(ctn_batch_config cfg)
{
    cfg.parallel = CTN_PARALLEL_WORLDS, cfg.lanes = 0;
    return cfg;
}

static const random_options loaded = {.links = 40, .chain = true, .passive = true, .springs = 5, .wrenches = 5};

static volatile int flag;
static void set_flag(int number) { (void)number, flag = 1; }

/// A call that is ended leaves all as it was: states, time, and what is counted; so does one that is ended before it begins. What
/// comes after it has the bits of a batch that may not be interrupted.
START_TEST(interrupted_calls_leave_no_trace)
{
    ctn_error err;
    ctn_model *m = random_model(5, &loaded);
    ctn_batch_config cfg = config_of(_i);
    ctn_batch *never = batch_of(m, 5, cfg);
    cfg.interrupt = &flag, flag = 0;
    ctn_batch *b = batch_of(m, 5, cfg);
    uint64_t before[WORLDS], after[WORLDS];
    ck_assert(ctn_batch_step(b, 3, NULL, &err) == CTN_OK && ctn_batch_step(never, 3, NULL, &err) == CTN_OK);
    ctn_batch_hashes(b, before);
    const long serial = ctn_batch_serial_steps(b);
    for (int k = 0; k < 2; k++) {
        flag = k;
        ck_assert(signal(SIGALRM, set_flag) != SIG_ERR);
        if (!k) ck_assert(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 100000}}, NULL) == 0);
        ck_assert_int_eq(ctn_batch_step(b, 100000000, NULL, &err), CTN_INTERRUPTED);
        ctn_batch_hashes(b, after);
        ck_assert(!memcmp(before, after, sizeof before));
        ck_assert(ctn_batch_time(b, 0) == ctn_batch_time(never, 0));
        ck_assert_int_eq(ctn_batch_serial_steps(b), serial);
    }
    flag = 0;
    ck_assert(ctn_batch_step(b, 3, NULL, &err) == CTN_OK && ctn_batch_step(never, 3, NULL, &err) == CTN_OK);
    ctn_batch_hashes(b, before), ctn_batch_hashes(never, after);
    ck_assert(!memcmp(before, after, sizeof before));
    ctn_batch_free(b), ctn_batch_free(never), ctn_model_free(m);
}
END_TEST

/// Forces that a control gives: rows of the table, by time.
typedef struct {
    const double *force;
    int steps, nv;
    double dt;
} table;

static void from_table(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    const table *const t = context;
    (void)q, (void)v;
    for (int w = 0; w < count; w++) {
        const size_t k = (size_t)(time[w] / t->dt + 0.5), nv = (size_t)t->nv;
        memcpy(tau + (size_t)w * nv, t->force + ((size_t)(first + w) * (size_t)t->steps + k) * nv, nv * sizeof *tau);
    }
}

/// Each world by its own forces for its own number of steps, as side by side; a control that gives the same has the same bits.
START_TEST(forces_and_horizons_are_those_of_worlds)
{
    enum { STEPS = 7 };
    const int horizon[WORLDS] = {STEPS, 0, 3};
    FOR_SEEDS(seed, 4)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &loaded);
        const int nv = ctn_model_nv(m);
        const size_t nq = (size_t)ctn_model_nq(m), size = (size_t)(WORLDS * STEPS) * (size_t)nv;
        double *force = calloc(size + 1, sizeof *force), *q = calloc(2 * WORLDS * nq + 1, sizeof *q), *x = q + WORLDS * nq;
        rng r = {seed};
        for (size_t k = 0; k < size; k++) force[k] = rng_uniform(&r, -20, 20);
        const ctn_batch_config cfg = config_of(_i);
        ctn_batch *along = batch_of(m, seed, cfg), *control = batch_of(m, seed, cfg), *one = batch_of(m, seed, beside(cfg));
        ctn_step_stats a[WORLDS], b[WORLDS];
        const ctn_run run = {.steps = STEPS, .horizon = horizon, .force = force};
        ck_assert(ctn_batch_run(along, &run, a, &err) == CTN_OK && ctn_batch_run(one, &run, b, &err) == CTN_OK);
        ctn_batch_state(along, q, NULL), ctn_batch_state(one, x, NULL);
        const double far = distance(q, x, WORLDS * nq);
        ck_assert_msg(far < 1e-9, "seed %llu: %g", (unsigned long long)seed, far);
        for (int w = 0; w < WORLDS; w++) {
            ck_assert(a[w].steps == horizon[w] && b[w].steps == horizon[w]);
            ck_assert(ctn_batch_time(along, w) == horizon[w] * cfg.dt);
            ck_assert(fabs(a[w].work - b[w].work) <= 1e-9 * (1 + fabs(b[w].work)));
        }
        ck_assert_int_le(ctn_batch_serial_steps(along), ways[_i].method == CTN_ALPHA ? 2 : 0);  // the first ones
        table t = {force, STEPS, nv, cfg.dt};
        const ctn_run asks = {.steps = STEPS, .horizon = horizon, .control = from_table, .context = &t};
        uint64_t hash[2][WORLDS];
        ck_assert(ctn_batch_run(control, &asks, NULL, &err) == CTN_OK);
        ctn_batch_hashes(along, hash[0]), ctn_batch_hashes(control, hash[1]);
        ck_assert_msg(!memcmp(hash[0], hash[1], sizeof *hash), "seed %llu: a control", (unsigned long long)seed);
        free(force), free(q);
        ctn_batch_free(along), ctn_batch_free(control), ctn_batch_free(one), ctn_model_free(m);
    }
}
END_TEST

/// Time goes by where all links are fixed to the world, and their energy is that of gravity.
START_TEST(a_world_without_joints)
{
    ctn_error err;
    ctn_model *m =
        model_of("catena: 1\nlinks:\n"
                 "  - {name: a, joint: fixed, position: [0, 0, 2], mass: 3, com: [0, 0, 1], inertia: [1, 1, 1, 0, 0, 0]}\n"
                 "  - {name: b, joint: fixed, parent: a, mass: 1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n");
    const ctn_batch_config cfg = config_of(_i);
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    ctn_step_stats stats[WORLDS];
    ck_assert_int_eq(ctn_model_nv(m), 0);
    ck_assert(ctn_batch_step(b, 5, stats, &err) == CTN_OK && ctn_batch_step(b, 2, NULL, &err) == CTN_OK);
    for (int w = 0; w < WORLDS; w++) {
        ck_assert(stats[w].steps == 5 && !stats[w].frozen);
        ck_assert_double_eq_tol(stats[w].energy_after, 9.81 * (3 * 3 + 2), 1e-9);
        ck_assert_double_eq(stats[w].created, 0);
        ck_assert(ctn_batch_time(b, w) == 7 * cfg.dt);
    }
    ck_assert_int_eq(ctn_batch_set_wrench(b, 0, 1, &(ctn_wrench){.force = {1, 0, 0}}, &err), CTN_BAD_ARGUMENT);
    ctn_batch_free(b);
    ctn_along *a = ctn_along_create(m, NULL, 1, 0, &err);
    ck_assert_msg(a != NULL, "%s", err.message);
    double nothing[1] = {0}, R[18], p[6];
    ctn_along_aba(a, nothing, nothing, NULL, nothing);
    ctn_along_forward_kinematics(a, nothing, R, p);
    ck_assert(p[2] == 2 && p[5] == 2 && R[0] == 1 && R[17] == 1);
    ctn_along_free(a), ctn_model_free(m);
}
END_TEST

/// A batch counts the worlds that it has along their links: of `both` one a thread; larger ones with a wrench.
START_TEST(worlds_along_links_are_counted)
{
    ctn_error err;
    ctn_model *m = random_model(2, &(random_options){.links = 300, .chain = true});
    const double body = (double)m->nbody;
    size_t bytes[2];
    for (int both = 0; both < 2; both++) {
        ctn_batch_config cfg = config_of(2 * _i + both);
        ctn_batch *along = ctn_batch_create(m, &cfg, &err);
        cfg = beside(cfg), cfg.engine = "scalar";  // the same states
        ctn_batch *one = ctn_batch_create(m, &cfg, &err);
        ck_assert(along && one);
        bytes[both] = ctn_batch_bytes(along) - ctn_batch_bytes(one);
        ck_assert_msg((double)bytes[both] > 500 * body, "%zu bytes for %g bodies", bytes[both], body);
        const ctn_wrench pull = {.force = {1, 0, 0}};
        const size_t before = ctn_batch_bytes(along);
        int link = m->nlink - 1;
        while (m->frames[link].body < 0) link--;
        ck_assert(ctn_batch_set_wrench(along, 0, link, &pull, &err) == CTN_OK);
        ck_assert_uint_gt(ctn_batch_bytes(along), before);
        ctn_batch_free(along), ctn_batch_free(one);
    }
    ck_assert((double)bytes[1] > 1.5 * (double)bytes[0] && (double)bytes[1] < 2 * (double)bytes[0]);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_batch");
    TCase *c = tcase_create("along_batch");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, interrupted_calls_leave_no_trace, 0, WAYS);
    tcase_add_loop_test(c, forces_and_horizons_are_those_of_worlds, 0, WAYS);
    tcase_add_loop_test(c, a_world_without_joints, 0, WAYS);
    tcase_add_loop_test(c, worlds_along_links_are_counted, 0, WAYS / 2);
    suite_add_tcase(s, c);
    return run_suite(s);
}
