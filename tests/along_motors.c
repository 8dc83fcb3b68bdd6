/// Along the links: motors whose targets move, dry friction of joints, and fluid. Against the serial engine; the same bits
/// whatever the lanes and threads of a class, and from saved states.
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
    {.links = 7, .motors = 9, .moving = true},
    {.links = 7, .friction = true},
    {.links = 40, .floating = true, .passive = true, .motors = 20, .moving = true, .friction = true},
    {.links = 60, .chain = true, .passive = true, .friction = true, .fluid = true},
    {.links = 64, .chain = true, .joints = 1u << CTN_UNIVERSAL, .motors = 100, .moving = true, .friction = true, .fluid = true},
    {.links = 200, .motors = 150, .moving = true, .friction = true, .springs = 5},
    {.links = 60, .floating = true, .passive = true, .motors = 60, .moving = true, .speeds = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct {
    ctn_method method;
    int stages;
} ways[] = {{CTN_COLLOCATION, 0}, {CTN_ALPHA, 0},         {CTN_RADAU, 1}, {CTN_RADAU, 2},
            {CTN_RADAU, 3},       {CTN_SEMI_IMPLICIT, 0}, {CTN_EULER, 0}, {CTN_RK4, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config steps_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = 1e-4, cfg.tolerance = 1e-13;
    if (ways[way].stages) cfg.stages = ways[way].stages;
    return cfg;
}

/// Begins at 0.37 s, in the middle of all that moves.
static ctn_batch *later_batch(const ctn_model *m, uint64_t seed, ctn_batch_config cfg)
{
    ctn_error err;
    ctn_batch *const b = batch_of(m, seed, cfg);
    const size_t W = (size_t)cfg.worlds;
    double *const q = numbers(W * (size_t)ctn_model_nq(m)), *const v = numbers(W * (size_t)ctn_model_nv(m));
    ctn_batch_state(b, q, v);
    ck_assert(ctn_batch_set_state(b, q, v, 0.37, &err) == CTN_OK);
    free(q), free(v);
    return b;
}

static bool agree(double x, double y, double scale) { return fabs(x - y) <= 1e-9 * (1 + scale); }

/// From the same states, step by step; the ledger of energy with jumps of targets, and what friction stores.
START_TEST(steps_are_those_of_the_serial_engine)
{
    enum { STEPS = 6 };
    const int kind = _i % KINDS, way = _i / KINDS;
    if (kinds[kind].speeds && (ways[way].method == CTN_ALPHA || ways[way].method == CTN_RADAU)) return;  // refused
    long serial = 0, steps = 0, helped = 0;
    double most = 0, iterations[2] = {0};
    FOR_SEEDS(seed, 6)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[kind]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        double *x = numbers(2 * (nq + nv)), *q[2] = {x, x + nq}, *v[2] = {x + 2 * nq, x + 2 * nq + nv};
        ctn_batch_config cfg = steps_of(way);
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *one = later_batch(m, seed, cfg);
        cfg.parallel = seed % 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.lanes = seed % 3 ? 8 : 16;
        ctn_batch *along = later_batch(m, seed, cfg);
        const size_t size = ctn_batch_saved_size(along);
        void *saved = malloc(size);
        for (int k = 0; k < STEPS; k++) {
            ctn_step_stats a, b;
            ctn_totals sum[2];
            ctn_batch_save(along, saved);
            ck_assert(ctn_batch_restore(one, saved, size, &err) == CTN_OK);
            ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            ctn_batch_totals(one, &sum[0]), ctn_batch_totals(along, &sum[1]);
            const double far = distance(q[1], q[0], nq), fast = distance(v[1], v[0], nv);
            const double E = fabs(a.energy_after) + a.dissipated + fabs(a.work);
            helped += a.fallbacks > 0;
            most = far > most ? far : most, iterations[0] += (double)a.iterations, iterations[1] += (double)b.iterations;
            ck_assert_msg(far < 1e-9 && fast < 3e-7, "kind %d, seed %llu, step %d: q %g, v %g", kind, (unsigned long long)seed, k,
                          far, fast);
            ck_assert_msg(agree(b.energy_before, a.energy_before, E) && agree(b.energy_after, a.energy_after, E) &&
                              agree(b.work, a.work, E) && agree(b.dissipated, a.dissipated, E) &&
                              agree(b.created, a.created, E) && agree(sum[1].spring, sum[0].spring, E),
                          "%s, kind %d, seed %llu, step %d: energy %g %g, work %g %g, lost %g %g, created %g %g",
                          ctn_method_name(cfg.method), kind, (unsigned long long)seed, k, b.energy_after, a.energy_after, b.work,
                          a.work, b.dissipated, a.dissipated, b.created, a.created);
        }
        steps += STEPS, serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m), free(x), free(saved);
    }
    printf("%s %d, kind %d: %ld of %ld steps made serially, %ld with fallbacks, q off by %.1e\n",
           ctn_method_name(ways[way].method), ways[way].stages, kind, serial, steps, helped, most);
    ck_assert_int_le(serial, helped + (ways[way].method == CTN_ALPHA ? 6 : 0));  // its first step
    // along the links a first step is followed by a second one, unless it was small
    ck_assert_msg(iterations[1] >= 0.85 * iterations[0] - 4 && iterations[1] <= 1.15 * iterations[0] + 4 + (double)steps,
                  "%g iterations, serially %g", iterations[1], iterations[0]);
}
END_TEST

/// Ball joints whose motors are told numbers that move, all three or some of them; some follow their targets, some do not, and
/// some joints have no motor.
static ctn_model *twisting_model(int count)
{
    char *const text = malloc(400 + 300 * (size_t)count);
    int n = sprintf(text,
                    "catena: 1\nlinks:\n  - chain:\n      name: rope\n      count: %d\n      step: [0.1, 0, 0]\n"
                    "      joint: {type: ball, damping: 0.01}\n      mass: 0.1\n      com: [0.05, 0, 0]\n"
                    "      inertia: [1e-4, 2e-4, 2e-4, 0, 0, 0]\nmotors:\n",
                    count);
    for (int i = 0; i < count; i++) {
        const double f = 1 + 0.1 * i;
        if (i % 4 == 0)
            n += sprintf(
                text + n,
                "  - {joint: rope.%d, type: position, kp: 5, kd: 1, target: [{sinusoid: {amplitude: 0.3, frequency: %g}}, 0.1, "
                "{sinusoid: {amplitude: 0.5, frequency: %g, ramp: 0.2}}]}\n",
                i, f, 2 * f);
        if (i % 4 == 1)
            n += sprintf(text + n,
                         "  - {joint: rope.%d, type: position, kp: 3, kd: 0.5, velocity_target: [0, {sinusoid: {amplitude: 1, "
                         "frequency: %g}}, 1], target: [0.2, {sinusoid: {amplitude: 0.4, frequency: %g}}, 0]}\n",
                         i, f, f);
        if (i % 4 == 2)
            n += sprintf(
                text + n,
                "  - {joint: rope.%d, type: torque, effort: 0.4, target: [0, 0, {sinusoid: {amplitude: 1, frequency: %g}}]}\n", i,
                f);
    }
    ctn_model *const m = model_of(text);
    free(text);
    return m;
}

START_TEST(motors_of_balls_are_told_as_serially)
{
    ctn_error err;
    ctn_model *m = twisting_model(37);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = nq + nv;
    double *const x = numbers(3 * n);
    ctn_batch_config cfg = steps_of(_i);
    ctn_batch *b[2];
    for (int k = 0; k < 2; k++) {
        cfg.parallel = k ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS, cfg.lanes = 8;
        b[k] = ctn_batch_create(m, &cfg, &err);
        ck_assert_msg(b[k] != NULL, "%s", err.message);
        ck_assert(ctn_batch_step(b[k], 20, NULL, &err) == CTN_OK);
        ctn_batch_state(b[k], x + (size_t)k * n, x + (size_t)k * n + nq);
    }
    ctn_model_initial_state(m, x + 2 * n, x + 2 * n + nq);
    ck_assert_msg(distance(x + n, x, nq) < 1e-9 && distance(x + n + nq, x + nq, nv) < 1e-7, "%s: q %g, v %g",
                  ctn_method_name(cfg.method), distance(x + n, x, nq), distance(x + n + nq, x + nq, nv));
    ck_assert(distance(x + 2 * n, x, nq) > 1e-4);
    ck_assert_int_le(ctn_batch_serial_steps(b[1]), cfg.method == CTN_ALPHA ? 1 : 0);
    ctn_batch_free(b[0]), ctn_batch_free(b[1]), ctn_model_free(m), free(x);
}
END_TEST

/// On every engine, by any number of threads, in calls of any length, with statistics or without, from a saved state.
START_TEST(steps_have_the_same_bits_everywhere)
{
    enum { WORLDS = 3 };
    FOR_SEEDS(seed, 2)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[2 + (int)(seed + (uint64_t)_i) % 3]);
        uint64_t first[WORLDS], hash[WORLDS];
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int way = 0; way < 4; way++) {
                ctn_batch_config cfg = steps_of(_i);
                cfg.worlds = WORLDS, cfg.threads = way % 2 ? 5 : 1, cfg.lanes = 16, cfg.engine = (*e)->name;
                cfg.parallel = way / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
                ctn_batch *b = later_batch(m, seed, cfg), *const c = later_batch(m, seed + 1, cfg);
                ctn_step_stats stats[WORLDS];
                ck_assert(ctn_batch_step(b, way ? 3 : 1, way ? stats : NULL, &err) == CTN_OK);
                if (!way) ck_assert(ctn_batch_step(b, 2, NULL, &err) == CTN_OK);
                const size_t size = ctn_batch_saved_size(b);
                void *const saved = malloc(size);
                ctn_batch_save(b, saved);
                ck_assert(ctn_batch_restore(c, saved, size, &err) == CTN_OK);
                ck_assert(ctn_batch_step(b, 3, NULL, &err) == CTN_OK);
                if (seed % 2) ck_assert(ctn_batch_step(c, 3, stats, &err) == CTN_OK);  // under the forces of the other one, else
                ctn_batch_hashes(b, any ? hash : first);
                ck_assert_msg(!any || !memcmp(hash, first, sizeof hash), "seed %llu, %s, way %d", (unsigned long long)seed,
                              (*e)->name, way);
                any = true;
                free(saved), ctn_batch_free(b), ctn_batch_free(c);
            }
        ctn_model_free(m);
    }
}
END_TEST

/// Steps of a call are each at their own time, whether they are made at once or, as those of a table of forces, one by one.
START_TEST(steps_of_a_call_know_the_time)
{
    enum { WORLDS = 2, STEPS = 3 };
    ctn_error err;
    ctn_model *m = random_model(3, &kinds[4]);
    uint64_t hash[2][WORLDS];
    double *const none = numbers(WORLDS * STEPS * (size_t)ctn_model_nv(m));
    for (int table = 0; table < 2; table++) {
        ctn_batch_config cfg = steps_of(_i);
        cfg.worlds = WORLDS, cfg.parallel = CTN_PARALLEL_BOTH, cfg.lanes = 8;
        ctn_batch *const b = later_batch(m, 4, cfg);
        ctn_batch_set_force(b, none);
        ck_assert(ctn_batch_run(b, &(ctn_run){.steps = STEPS, .force = table ? none : NULL}, NULL, &err) == CTN_OK);
        ctn_batch_hashes(b, hash[table]);
        ctn_batch_free(b);
    }
    ck_assert(!memcmp(hash[0], hash[1], sizeof *hash));
    free(none), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_motors");
    TCase *c = tcase_create("along_motors");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, KINDS * WAYS);
    tcase_add_loop_test(c, motors_of_balls_are_told_as_serially, 0, WAYS);
    tcase_add_loop_test(c, steps_have_the_same_bits_everywhere, 0, WAYS);
    tcase_add_loop_test(c, steps_of_a_call_know_the_time, 0, WAYS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
