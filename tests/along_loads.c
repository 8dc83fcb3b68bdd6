/// Loads on links along the links: springs, dampers, forces and torques of a scene, and wrenches that a batch is given while it
/// runs. Against the serial engine; the same bits whatever the lanes and threads of a class.
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
    {.links = 7, .springs = 3, .wrenches = 4},
    {.links = 40, .floating = true, .passive = true, .springs = 9, .wrenches = 12},
    {.links = 60, .chain = true, .passive = true, .springs = 60, .wrenches = 60},
    {.links = 64, .chain = true, .joints = 1u << CTN_UNIVERSAL, .springs = 12, .wrenches = 12},
    {.links = 64, .chain = true, .joints = 1u << CTN_BALL | 1u << CTN_FIXED, .springs = 12, .wrenches = 12},
    {.links = 300, .springs = 20, .wrenches = 20},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/// The rope that whips, held and pushed all along.
#define HELD                                                                                                                     \
    WHIP "springs:\n"                                                                                                            \
         "  - {link: rope.119, point: [0.05, 0, 0], anchor: [4.5, 0, -2], stiffness: 2, damping: 0.02}\n"                        \
         "  - {link: rope.60, anchor: [3, 1, 0], stiffness: 4, damping: 0.05}\n"                                                 \
         "  - {link: rope.60, point: [0.03, 0.01, 0], anchor: [2, -1, 0.5], stiffness: 1}\n"                                     \
         "forces:\n"                                                                                                             \
         "  - {link: rope.100, force: [0, 0.3, 0.1], torque: [0.001, 0, 0.0004]}\n"                                              \
         "  - {link: rope.20, axes: link, point: [0, 0, 0.02], force: [0.1, 0, 0.2], torque: [0, 0.001, 0.002]}\n"               \
         "  - {link: rope.75, torque: [0.002, 0.001, 0]}\n"

static ctn_batch_config steps_of(int method)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method ? CTN_ALPHA : CTN_COLLOCATION, cfg.dt = 1e-4, cfg.tolerance = 1e-13;
    return cfg;
}

static bool agree(double x, double y, double scale) { return fabs(x - y) <= 1e-9 * (1 + scale); }

/// From the same states, step by step.
START_TEST(steps_are_those_of_the_serial_engine)
{
    enum { STEPS = 6 };
    long serial = 0, steps = 0;
    double most = 0, iterations[2] = {0};
    FOR_SEEDS(seed, 12)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i % KINDS]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        double *x = calloc(2 * (nq + nv) + 1, sizeof *x), *q[2] = {x, x + nq}, *v[2] = {x + 2 * nq, x + 2 * nq + nv};
        ctn_batch_config cfg = steps_of(_i / KINDS);
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *one = batch_of(m, seed, cfg);
        cfg.parallel = seed % 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.lanes = seed % 3 ? 8 : 16;
        ctn_batch *along = batch_of(m, seed, cfg);
        const size_t size = ctn_batch_saved_size(along);
        void *saved = malloc(size);
        for (int k = 0; k < STEPS; k++) {
            ctn_step_stats a, b;
            ctn_batch_save(along, saved);
            ck_assert(ctn_batch_restore(one, saved, size, &err) == CTN_OK);
            ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            const double far = distance(q[1], q[0], nq), fast = distance(v[1], v[0], nv), E = fabs(a.energy_after) + a.dissipated;
            most = far > most ? far : most, iterations[0] += (double)a.iterations, iterations[1] += (double)b.iterations;
            ck_assert_msg(far < 1e-9 && fast < 1e-7, "kind %d, seed %llu, step %d: q %g, v %g", _i, (unsigned long long)seed, k,
                          far, fast);
            ck_assert_msg(agree(b.energy_before, a.energy_before, E) && agree(b.energy_after, a.energy_after, E) &&
                              agree(b.work, a.work, E) && agree(b.dissipated, a.dissipated, E) && agree(b.created, a.created, E),
                          "kind %d, seed %llu, step %d: energy %g %g, work %g %g, lost %g %g, created %g %g", _i,
                          (unsigned long long)seed, k, b.energy_after, a.energy_after, b.work, a.work, b.dissipated, a.dissipated,
                          b.created, a.created);
            ck_assert(fabs(a.work) > 0 && a.dissipated > 0);
        }
        steps += STEPS, serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m), free(x), free(saved);
    }
    printf("%s, kind %d: %ld of %ld steps made serially, q off by %.1e\n", _i / KINDS ? "alpha" : "order 2", _i % KINDS, serial,
           steps, most);
    ck_assert_int_le(serial, _i / KINDS ? 12 : 0);  // the first step of alpha
    // along the links a first step is followed by a second one, unless it was small
    ck_assert_msg(iterations[1] > 0.95 * iterations[0] && iterations[1] < iterations[0] + (double)steps,
                  "%g iterations, serially %g", iterations[1], iterations[0]);
}
END_TEST

/// Long steps of the rope: with curvature dropped, shortened and followed.
START_TEST(hard_steps_are_those_of_the_serial_engine)
{
    enum { STEPS = 240 };
    ctn_error err;
    ctn_model *m = model_of(HELD);
    const size_t nq = (size_t)ctn_model_nq(m);
    ctn_batch_config cfg = steps_of(_i);
    cfg.dt = 1. / 60, cfg.tolerance = ctn_batch_config_default().tolerance, cfg.parallel = CTN_PARALLEL_LINKS;
    ctn_batch *along = ctn_batch_create(m, &cfg, &err);
    cfg.parallel = CTN_PARALLEL_WORLDS;
    ctn_batch *one = ctn_batch_create(m, &cfg, &err);
    ck_assert(along && one);
    double *q = calloc(2 * nq, sizeof *q), *x = q + nq;
    const size_t size = ctn_batch_saved_size(along);
    void *saved = malloc(size);
    long hard = 0, same = 0, agree = 0, helped = 0;
    for (int k = 0; k < STEPS; k++) {
        ctn_step_stats a, b;
        ctn_batch_save(along, saved);
        ck_assert(ctn_batch_restore(one, saved, size, &err) == CTN_OK);
        ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
        ctn_batch_state(one, x, NULL), ctn_batch_state(along, q, NULL);
        hard += b.curvature > 0, helped += a.fallbacks > 0;
        if (distance(q, x, nq) > 1e-6) continue;
        same++, agree += fabs(a.created - b.created) <= 1e-5 * (1 + fabs(a.created));
    }
    printf("%s, held rope: %ld of %d steps dropped curvature, %ld made serially, %ld with fallbacks, %ld ended alike\n",
           _i ? "alpha" : "order 2", hard, STEPS, ctn_batch_serial_steps(along), helped, same);
    ck_assert_int_gt(hard, STEPS / 20);
    ck_assert_int_gt(same, STEPS * 9 / 10);
    ck_assert_int_eq(agree, same);
    ck_assert_int_lt(ctn_batch_serial_steps(along), helped + STEPS / 20);
    free(q), free(saved);
    ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
}
END_TEST

/// A link that moves.
static int moving_link(const ctn_model *m, int last)
{
    while (m->frames[last].body < 0) last--;
    return last;
}

static const ctn_wrench pull = {.point = {0.1, 0, -0.05}, .force = {0.5, 1, -0.25}},
                        twist_off = {.force = {0.2, -0.4, 0.3}, .torque = {0.3, 0.1, -0.2}, .link_axes = true};

/// Pulls at a world at two links.
static void push(ctn_batch *b, int world)
{
    ctn_error err;
    const ctn_model *const m = ctn_batch_model(b);
    const int last = moving_link(m, m->nlink - 1);
    ck_assert(ctn_batch_set_wrench(b, world, last, &pull, &err) == CTN_OK);
    ck_assert(ctn_batch_set_wrench(b, world, moving_link(m, m->nlink / 2), &twist_off, &err) == CTN_OK);
}

static void let_go(ctn_batch *b, int world)
{
    ctn_error err;
    const ctn_model *const m = ctn_batch_model(b);
    ck_assert(ctn_batch_set_wrench(b, world, moving_link(m, m->nlink - 1), NULL, &err) == CTN_OK);
    ck_assert(ctn_batch_set_wrench(b, world, moving_link(m, m->nlink / 2), NULL, &err) == CTN_OK);
}

/// Loads and wrenches on every engine, by any number of threads, in calls of any length, with statistics or without.
START_TEST(steps_have_the_same_bits_everywhere)
{
    enum { WORLDS = 3 };
    FOR_SEEDS(seed, 3)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[1 + (int)seed % 4]);
        uint64_t first[WORLDS], hash[WORLDS];
        ctn_step_stats was[WORLDS], stats[WORLDS];
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int way = 0; way < 4; way++) {
                ctn_batch_config cfg = steps_of(_i);
                cfg.worlds = WORLDS, cfg.threads = way % 2 ? 5 : 1, cfg.lanes = 16, cfg.engine = (*e)->name;
                cfg.parallel = way / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
                ctn_batch *b = batch_of(m, seed, cfg);
                push(b, 1);
                for (int k = 0; k < 4; k += 1 + way % 2)
                    ck_assert(ctn_batch_step(b, 1 + way % 2, way ? stats : NULL, &err) == CTN_OK);
                ck_assert(ctn_batch_step(b, 2, stats, &err) == CTN_OK);
                ctn_batch_hashes(b, hash);
                if (!any) memcpy(first, hash, sizeof hash), memcpy(was, stats, sizeof stats);
                any = true;
                ck_assert_msg(!memcmp(hash, first, sizeof hash) && !memcmp(stats, was, sizeof stats), "seed %llu, %s, way %d",
                              (unsigned long long)seed, (*e)->name, way);
                ctn_batch_free(b);
            }
        ctn_model_free(m);
    }
}
END_TEST

/// A wrench that a batch is given is one of the scene, to the last bit.
START_TEST(wrenches_are_those_of_scenes)
{
    ctn_error err;
    ctn_model *plain = model_of(WHIP);
    ctn_model *pushed =
        model_of(WHIP "forces:\n"
                      "  - {link: rope.119, point: [0.1, 0, -0.05], force: [0.1, 0.2, -0.05], torque: [0, 0, 0.0001]}\n"
                      "  - {link: rope.30, axes: link, force: [0.02, -0.04, 0.03], torque: [0.0003, 0.0001, -0.0002]}\n");
    const ctn_wrench second = {.force = {0.02, -0.04, 0.03}, .torque = {0.0003, 0.0001, -0.0002}, .link_axes = true};
    const ctn_wrench first = {.point = {0.1, 0, -0.05}, .force = {0.1, 0.2, -0.05}, .torque = {0, 0, 0.0001}};
    ctn_batch_config cfg = steps_of(_i % 2);
    cfg.dt = 1. / 60, cfg.worlds = 2, cfg.threads = 2, cfg.parallel = _i / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
    ctn_batch *given = ctn_batch_create(plain, &cfg, &err), *scene = ctn_batch_create(pushed, &cfg, &err);
    ck_assert(given && scene);
    ck_assert(ctn_batch_set_wrench(given, -1, 119, &first, &err) == CTN_OK);
    ck_assert(ctn_batch_set_wrench(given, -1, 30, &second, &err) == CTN_OK);
    for (int k = 0; k < 10; k++) {
        uint64_t a[2], b[2];
        ctn_step_stats stats[2][2];
        ck_assert(ctn_batch_step(given, 3, stats[0], &err) == CTN_OK && ctn_batch_step(scene, 3, stats[1], &err) == CTN_OK);
        ctn_batch_hashes(given, a), ctn_batch_hashes(scene, b);
        ck_assert_msg(!memcmp(a, b, sizeof a) && !memcmp(stats[0], stats[1], sizeof stats[0]), "call %d", k);
    }
    ck_assert_int_eq(ctn_batch_serial_steps(given), ctn_batch_serial_steps(scene));
    printf("%s, pushed rope: %ld of 60 steps made serially\n", _i % 2 ? "alpha" : "order 2", ctn_batch_serial_steps(given));
    ck_assert_int_le(ctn_batch_serial_steps(given), 6);
    ctn_batch_free(given), ctn_batch_free(scene), ctn_model_free(plain), ctn_model_free(pushed);
}
END_TEST

/// A world that is pushed goes on along its links, to where it goes serially; others move as before, and so does it once it is
/// let go, to the last bit.
START_TEST(pushed_worlds_go_along)
{
    enum { WORLDS = 3 };
    FOR_SEEDS(seed, 4)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[seed % 2 ? 2 : 4]);
        const size_t nq = (size_t)ctn_model_nq(m);
        ctn_batch_config cfg = steps_of(_i % 2);
        cfg.worlds = WORLDS, cfg.threads = 2, cfg.lanes = 16;
        cfg.parallel = _i / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
        ctn_batch *along = batch_of(m, seed, cfg), *unpushed = batch_of(m, seed, cfg), *later = batch_of(m, seed, cfg);
        cfg.parallel = CTN_PARALLEL_WORLDS, cfg.lanes = 0;
        ctn_batch *beside = batch_of(m, seed, cfg);
        uint64_t a[WORLDS], b[WORLDS];
        double *q = calloc(2 * WORLDS * nq, sizeof *q), *x = q + WORLDS * nq;
        const size_t size = ctn_batch_saved_size(along);
        void *saved = malloc(size);
        ck_assert(ctn_batch_step(along, 2, NULL, &err) == CTN_OK && ctn_batch_step(unpushed, 2, NULL, &err) == CTN_OK);
        ctn_batch_save(along, saved);
        ck_assert(ctn_batch_restore(beside, saved, size, &err) == CTN_OK);
        push(along, 1), push(beside, 1);
        ck_assert_uint_eq(size, ctn_batch_saved_size(along));
        const long serial = ctn_batch_serial_steps(along);
        ctn_step_stats stats[2][WORLDS];
        for (int k = 0; k < 2; k++) {
            ck_assert(ctn_batch_step(along, 3, stats[0], &err) == CTN_OK && ctn_batch_step(beside, 3, stats[1], &err) == CTN_OK);
            ck_assert(ctn_batch_step(unpushed, 3, NULL, &err) == CTN_OK);
        }
        ctn_batch_state(along, q, NULL), ctn_batch_state(beside, x, NULL);
        ck_assert_msg(distance(q, x, WORLDS * nq) < 1e-9, "seed %llu: %g", (unsigned long long)seed, distance(q, x, WORLDS * nq));
        ck_assert(agree(stats[0][1].work, stats[1][1].work, fabs(stats[1][1].work)));
        ck_assert_int_eq(ctn_batch_serial_steps(along), serial);
        ctn_batch_hashes(along, a), ctn_batch_hashes(unpushed, b);
        ck_assert_msg(a[0] == b[0] && a[1] != b[1] && a[2] == b[2], "seed %llu: others move otherwise", (unsigned long long)seed);
        let_go(along, 1);
        ctn_batch_save(along, saved);
        ck_assert(ctn_batch_restore(later, saved, size, &err) == CTN_OK);
        ck_assert(ctn_batch_step(along, 3, NULL, &err) == CTN_OK && ctn_batch_step(later, 3, NULL, &err) == CTN_OK);
        ctn_batch_hashes(along, a), ctn_batch_hashes(later, b);
        ck_assert_msg(!memcmp(a, b, sizeof a), "seed %llu: something acts still", (unsigned long long)seed);
        free(saved), free(q);
        ctn_batch_free(along), ctn_batch_free(unpushed), ctn_batch_free(later), ctn_batch_free(beside), ctn_model_free(m);
    }
}
END_TEST

/// `auto` takes a large world with loads along its links.
START_TEST(auto_takes_links)
{
    ctn_error err;
    random_options chain = {.links = 600, .chain = true, .joints = 1u << CTN_REVOLUTE, .springs = 2, .wrenches = 2};
    ctn_model *m = random_model(4, &chain);
    ctn_batch_config cfg = steps_of(_i);
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_batch_configuration(b)->parallel, CTN_PARALLEL_LINKS);
    ck_assert_int_gt(ctn_batch_lanes(b), 0);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_loads");
    TCase *c = tcase_create("along_loads");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, 2 * KINDS);
    tcase_add_loop_test(c, hard_steps_are_those_of_the_serial_engine, 0, 2);
    tcase_add_loop_test(c, steps_have_the_same_bits_everywhere, 0, 2);
    tcase_add_loop_test(c, wrenches_are_those_of_scenes, 0, 4);
    tcase_add_loop_test(c, pushed_worlds_go_along, 0, 4);
    tcase_add_loop_test(c, auto_takes_links, 0, 2);
    suite_add_tcase(s, c);
    return run_suite(s);
}
