/// Steps of the variational method along the links against those of the serial engine; their statistics; the same bits whatever
/// the lanes and threads of a class; and what is left to the serial engine.
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
    {.links = 60, .chain = true},
    {.links = 60, .chain = true, .floating = true, .passive = true},
    {.links = 300, .motors = 30, .plain_springs = true},
    {.links = 300, .chain = true, .passive = true, .smooth = true},
    {.links = 200, .chain = true, .joints = 1u << CTN_UNIVERSAL},
    {.links = 200, .chain = true, .joints = 1u << CTN_BALL},
    {.links = 120, .chain = true, .joints = 1u << CTN_PRISMATIC | 1u << CTN_HELICAL | 1u << CTN_REVOLUTE},
    {.links = 7, .plain_springs = true, .springs = 3, .wrenches = 4},
    {.links = 40, .floating = true, .passive = true, .plain_springs = true, .springs = 9, .wrenches = 12},
    {.links = 64,
     .chain = true,
     .joints = 1u << CTN_UNIVERSAL | 1u << CTN_BALL,
     .plain_springs = true,
     .springs = 20,
     .wrenches = 20},
    {.links = 200, .motors = 20, .plain_springs = true, .springs = 30, .wrenches = 10},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool damped(int kind) { return kinds[kind].passive; }

static ctn_batch_config steps_of(int order)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_VARIATIONAL, cfg.order = order, cfg.dt = 0.003, cfg.tolerance = 1e-13;
    return cfg;
}

/// Steps from the same states end at the same place, with the same statistics.
START_TEST(steps_are_those_of_the_serial_engine)
{
    long steps = 0, serial = 0;
    double most = 0;
    FOR_SEEDS(seed, 12)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        ctn_batch_config cfg = steps_of(seed % 4 == 1 && !damped(_i) ? 4 : 2);
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
            if (fast > most) most = fast;
            for (size_t w = 0; w < W; w++) {
                const double size = 1 + fabs(a[w].energy_after) + fabs(a[w].energy_before);
                const bool same = a[w].steps == b[w].steps && a[w].substeps == b[w].substeps &&
                                  a[w].fallbacks == b[w].fallbacks && alike(a[w].energy_after, b[w].energy_after, size) &&
                                  alike(a[w].energy_before, b[w].energy_before, size) &&
                                  alike(a[w].created, b[w].created, size) && alike(a[w].dissipated, b[w].dissipated, size) &&
                                  alike(a[w].work, b[w].work, size) && labs(a[w].iterations - b[w].iterations) <= a[w].steps * 3;
                ck_assert_msg(same,
                              "kind %d, seed %llu, call %d: energies %g %g, %g %g; created %g %g, lost %g %g, work %g %g, "
                              "iterations %ld %ld, fallbacks %ld %ld; %g %g",
                              _i, (unsigned long long)seed, k, a[w].energy_before, b[w].energy_before, a[w].energy_after,
                              b[w].energy_after, a[w].created, b[w].created, a[w].dissipated, b[w].dissipated, a[w].work,
                              b[w].work, (long)a[w].iterations, (long)b[w].iterations, (long)a[w].fallbacks, (long)b[w].fallbacks,
                              far, fast);
            }
            ck_assert_msg(far < 1e-9 && fast < 1e-8, "kind %d, seed %llu, call %d: q %g, v %g", _i, (unsigned long long)seed, k,
                          far, fast);
        }
        steps += 6 * cfg.worlds, serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
        for (int k = 0; k < 2; k++) free(q[k]), free(v[k]);
    }
    printf("kind %d: %ld of %ld steps made serially, at most %.1e off\n", _i, serial, steps, most);
    ck_assert_int_lt(serial, steps / 4 + 1);
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
        ctn_batch_config cfg = steps_of(seed % 2 && !damped(_i) ? 4 : 2);
        cfg.worlds = WORLDS, cfg.lanes = 16;
        uint64_t first[WORLDS] = {0}, now[WORLDS];
        ctn_step_stats was[WORLDS], stats[WORLDS];
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int threads = 1; threads <= 5; threads += 2) {
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

/// A rope that whips: from every state the serial engine goes to the same place; steps that it has to halve it makes itself, and
/// there alone.
START_TEST(whips_are_those_of_the_serial_engine)
{
    enum { STEPS = 500 };
    ctn_error err;
    ctn_model *m = model_of(WHIP);
    const size_t nq = (size_t)ctn_model_nq(m);
    ctn_batch_config cfg = steps_of(2);
    cfg.dt = 0.003, cfg.tolerance = 1e-9, cfg.parallel = CTN_PARALLEL_LINKS;
    ctn_batch *along = ctn_batch_create(m, &cfg, &err);
    cfg.parallel = CTN_PARALLEL_WORLDS;
    ctn_batch *one = ctn_batch_create(m, &cfg, &err);
    ck_assert(along && one);
    double *q = numbers(nq), *x = numbers(nq), *v = numbers(nq), most = 0;
    void *saved = malloc(ctn_batch_saved_size(along));
    long halved = 0, shortened = 0;
    for (int k = 0; k < STEPS; k++) {
        ctn_step_stats a, b;
        ctn_batch_save(along, saved);
        ck_assert(ctn_batch_restore(one, saved, ctn_batch_saved_size(along), &err) == CTN_OK);
        ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
        ctn_batch_state(one, x, v), ctn_batch_state(along, q, v);
        halved += a.fallbacks > 0, shortened += b.line_search > 0 && !b.fallbacks;
        const double off = distance(q, x, nq);
        if (off > most) most = off;
        ck_assert_msg(off < 1e-6 && a.fallbacks == b.fallbacks, "step %d: %g off, fallbacks %ld %ld", k, off, a.fallbacks,
                      b.fallbacks);
    }
    const long serial = ctn_batch_serial_steps(along);
    printf("whip: %ld of %d steps halved, %ld made serially, %ld shortened, at most %.1e off\n", halved, STEPS, serial, shortened,
           most);
    ck_assert_int_gt(halved, 0);
    ck_assert_int_lt(halved, STEPS / 2);
    ck_assert_int_eq(serial, halved);
    free(q), free(x), free(v), free(saved);
    ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
}
END_TEST

/// Chains of 1 to 16 links beside each other: in one level some are cut and some are not.
START_TEST(chains_beside_each_other)
{
    static const char *const joints[] = {"revolute, axis: [0, 1, 0]",
                                         "prismatic, axis: [1, 0, 1]",
                                         "universal, axis: [1, 0, 0], axis2: [0, 1, 0]",
                                         "helical, axis: [0, 1, 0], pitch: 0.05",
                                         "ball",
                                         "planar"};
    enum { JOINTS = sizeof joints / sizeof *joints, CHAINS = 4 };
    FOR_SEEDS(seed, 40)
    {
        char text[20000] = "catena: 1\nlinks:\n";
        rng r = {seed};
        for (int chain = 0; chain < CHAINS; chain++)
            for (int k = 0, links = 1 + rng_below(&r, 16); k < links; k++) {
                char parent[40] = "";
                if (k) snprintf(parent, sizeof parent, " parent: l%d.%d,", chain, k - 1);
                snprintf(text + strlen(text), sizeof text - strlen(text),
                         "  - {name: l%d.%d,%s position: [0.1, 0, 0.02], joint: {type: %s}, mass: 0.1, com: [0.05, 0, 0.01], "
                         "inertia: [0.001, 0.001, 0.001, 0, 0, 0]}\n",
                         chain, k, parent, joints[rng_below(&r, JOINTS)]);
            }
        ctn_error err;
        ctn_model *m = model_of(text);
        const size_t nq = (size_t)ctn_model_nq(m);
        double *q[2] = {numbers(nq), numbers(nq)};
        for (int k = 0; k < 2; k++) {
            ctn_batch_config cfg = steps_of(2);
            cfg.dt = 1e-3, cfg.parallel = k ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
            ctn_batch *b = batch_of(m, seed, cfg);
            ck_assert(ctn_batch_step(b, 3, NULL, &err) == CTN_OK);
            ck_assert_msg(!ctn_batch_serial_steps(b), "seed %llu: %ld steps made serially", (unsigned long long)seed,
                          ctn_batch_serial_steps(b));
            ctn_batch_state(b, q[k], NULL), ctn_batch_free(b);
        }
        ck_assert_msg(distance(q[1], q[0], nq) < 1e-9, "seed %llu: %g", (unsigned long long)seed, distance(q[1], q[0], nq));
        free(q[0]), free(q[1]), ctn_model_free(m);
    }
}
END_TEST

/// A world that a wrench acts on goes on along its links, to where it goes serially; others move as if there were none, to the
/// last bit.
START_TEST(pushed_worlds_go_along)
{
    ctn_error err;
    ctn_model *m = random_model(5, &kinds[5]);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    ctn_batch_config cfg = steps_of(_i ? 4 : 2);
    cfg.worlds = 2, cfg.parallel = CTN_PARALLEL_LINKS;
    ctn_batch *along = batch_of(m, 5, cfg), *unpushed = batch_of(m, 5, cfg);
    cfg.parallel = CTN_PARALLEL_WORLDS;
    ctn_batch *beside = batch_of(m, 5, cfg);
    const ctn_wrench push = {.point = {0.1, 0, 0.2}, .force = {0.05, 0.1, -0.025}, .torque = {0.02, 0, 0.03}, .link_axes = _i};
    const int link = ctn_model_nlink(m) - 1;
    void *const saved = malloc(ctn_batch_saved_size(along));
    double *const q[2] = {numbers(2 * nq), numbers(2 * nq)}, *const v[2] = {numbers(2 * nv), numbers(2 * nv)};
    ctn_step_stats s[2][2];
    uint64_t a[2], b[2];
    ck_assert(ctn_batch_step(along, 2, NULL, &err) == CTN_OK && ctn_batch_step(unpushed, 2, NULL, &err) == CTN_OK);
    ctn_batch_save(along, saved);
    ck_assert(ctn_batch_restore(beside, saved, ctn_batch_saved_size(along), &err) == CTN_OK);
    ck_assert(ctn_batch_set_wrench(along, 1, link, &push, &err) == CTN_OK);
    ck_assert(ctn_batch_set_wrench(beside, 1, link, &push, &err) == CTN_OK);
    ck_assert(ctn_batch_step(along, 3, s[0], &err) == CTN_OK && ctn_batch_step(beside, 3, s[1], &err) == CTN_OK);
    ctn_batch_state(along, q[0], v[0]), ctn_batch_state(beside, q[1], v[1]);
    ck_assert(distance(q[0], q[1], 2 * nq) < 1e-9 && distance(v[0], v[1], 2 * nv) < 1e-8);
    const double work = s[1][1].work;
    ck_assert(alike(s[0][1].work, work, 1 + fabs(work)) && fabs(work) > fabs(s[1][0].work));
    ck_assert(ctn_batch_set_wrench(along, 1, link, NULL, &err) == CTN_OK);
    ck_assert(ctn_batch_step(along, 2, NULL, &err) == CTN_OK && ctn_batch_step(unpushed, 5, NULL, &err) == CTN_OK);
    ctn_batch_hashes(along, a), ctn_batch_hashes(unpushed, b);
    ck_assert(a[0] == b[0] && a[1] != b[1]);
    ck_assert_int_eq((int)ctn_batch_serial_steps(along), 0);
    free(saved), free(q[0]), free(q[1]), free(v[0]), free(v[1]);
    ctn_batch_free(along), ctn_batch_free(unpushed), ctn_batch_free(beside), ctn_model_free(m);
}
END_TEST

/// What batches along the links do not take is refused at creation; `auto` takes long ropes along their links.
START_TEST(what_goes_and_what_does_not)
{
    ctn_error err;
    const random_options lies = {.links = 7, .ground = true, .conservative = true},
                         rope = {.links = 600, .chain = true, .joints = 1u << CTN_REVOLUTE};
    ctn_model *m = random_model(1, &lies);
    ctn_batch_config cfg = steps_of(2);
    cfg.parallel = CTN_PARALLEL_LINKS;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "links takes no `ground` by variational"), "%s", err.message);
    ctn_model_free(m), m = random_model(1, &rope);
    cfg.engine = "cuda";
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "takes alpha, collocation of order 2 and radau, not variational"), "%s", err.message);
    cfg.engine = NULL, cfg.parallel = CTN_PARALLEL_AUTO;
    for (int order = 2; order <= 4; order += 2) {
        cfg.order = order;
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        ck_assert(b && ctn_batch_configuration(b)->parallel == CTN_PARALLEL_LINKS);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_variational");
    TCase *c = tcase_create("along_variational");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, KINDS);
    tcase_add_loop_test(c, steps_of_a_class_have_the_same_bits_everywhere, 0, KINDS);
    tcase_add_test(c, whips_are_those_of_the_serial_engine);
    tcase_add_test(c, chains_beside_each_other);
    tcase_add_loop_test(c, pushed_worlds_go_along, 0, 2);
    tcase_add_test(c, what_goes_and_what_does_not);
    suite_add_tcase(s, c);
    return run_suite(s);
}
