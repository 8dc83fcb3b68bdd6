/// Forces and torques on links, of the scene and given while a batch runs (ctn_batch_set_wrench): motions in closed form, the
/// same bits either way, and nothing to other worlds. Hessians, adjoints, the ledger, other engines: newton_sweep.c,
/// step_jacobian.c, energy.c, engines.c.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    ctn_method method;
    int number;
    double dt;
    double error;  // of what is in closed form, of its size
} ways[] = {{CTN_RK4, 0, 0.005, 1e-8},        {CTN_DOP853, 0, 0.01, 1e-9},       {CTN_SEMI_IMPLICIT, 0, 1e-4, 3e-3},
            {CTN_RADAU, 2, 0.005, 1e-5},      {CTN_RADAU, 3, 0.01, 1e-7},        {CTN_RADAU, 1, 1e-4, 3e-3},
            {CTN_COLLOCATION, 2, 1e-4, 3e-3}, {CTN_VARIATIONAL, 2, 0.002, 1e-4}, {CTN_VARIATIONAL, 4, 0.005, 1e-6}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = dt, cfg.tolerance = 1e-12;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    else if (ways[way].number) cfg.order = ways[way].number;
    return cfg;
}

static void give(ctn_batch *batch, int world, int link, const ctn_wrench *w)
{
    ctn_error err = {.status = CTN_OK};
    ck_assert_msg(ctn_batch_set_wrench(batch, world, link, w, &err) == CTN_OK && err.status == CTN_OK, "%s", err.message);
}

#define BODY                                                                                                                     \
    "catena: 1\ngravity: [0, 0, 0]\nlinks: [{name: a, joint: {type: free, v0: %s}, mass: 2, inertia: [0.3, 0.2, 0.4, 0, 0, "     \
    "0]}]\n"

static ctn_model *free_body(const char *v0)
{
    char text[400];
    snprintf(text, sizeof text, BODY, v0);
    return model_of(text);
}

/// A torque in world axes on a tumbling body: its angular momentum grows by the torque times the time, whatever it does. What the
/// torque gives is the kinetic energy.
START_TEST(angular_momentum)
{
    const double T = 0.4, torque[3] = {0.3, -0.2, 0.5};
    ctn_model *const m = free_body("[0, 0, 0, 2, -1, 1.5]");
    const ctn_batch_config cfg = config_of(_i, ways[_i].dt);
    ctn_batch *const batch = batch_with(m, &cfg);
    ctn_totals before, after;
    ctn_step_stats s;
    ctn_batch_totals(batch, &before);
    give(batch, 0, 0, &(ctn_wrench){.torque = {torque[0], torque[1], torque[2]}});
    ctn_batch_step(batch, (int)lround(T / cfg.dt), &s, NULL);
    ctn_batch_totals(batch, &after);
    for (int k = 0; k < 3; k++) {
        const double grown = after.momentum_angular[k] - before.momentum_angular[k];
        ck_assert_msg(fabs(grown - torque[k] * T) < ways[_i].error, "%s: %.9g, not %.9g", ctn_method_name(cfg.method), grown,
                      torque[k] * T);
    }
    ck_assert_msg(fabs(after.kinetic - before.kinetic - s.work) < 3 * ways[_i].error, "work %.9g, energy %.9g", s.work,
                  after.kinetic - before.kinetic);
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

/// A thruster on a body that turns about z: in link axes the force turns along, so that velocities go by the integral of its
/// direction; a torque about the axis speeds the turn up.
START_TEST(thruster)
{
    const double T = 0.5, F = 3, m = 2, w = 4;
    ctn_model *const model = free_body("[0, 0, 0, 0, 0, 4]");
    const ctn_batch_config cfg = config_of(_i, ways[_i].dt);
    ctn_batch *const batch = batch_with(model, &cfg);
    double v[6];
    give(batch, -1, 0, &(ctn_wrench){.force = {F, 0, 0}, .link_axes = true});
    ctn_batch_step(batch, (int)lround(T / cfg.dt), NULL, NULL);
    ctn_batch_state(batch, NULL, v);
    const double x = F / m * sin(w * T) / w, y = F / m * (1 - cos(w * T)) / w;
    ck_assert_msg(fabs(v[0] - x) < 3 * ways[_i].error && fabs(v[1] - y) < 3 * ways[_i].error, "%s: %.9g %.9g, not %.9g %.9g",
                  ctn_method_name(cfg.method), v[0], v[1], x, y);
    const double turns = v[5];  // numerical damping brakes it a little
    ck_assert(fabs(turns - w) < 3 * ways[_i].error);
    give(batch, 0, 0, &(ctn_wrench){.torque = {0, 0, 0.8}, .link_axes = true});
    ctn_batch_step(batch, (int)lround(T / cfg.dt), NULL, NULL);
    ctn_batch_state(batch, NULL, v);
    ck_assert_msg(fabs(v[5] - turns - 0.8 / 0.4 * T) < 3 * ways[_i].error, "turns by %.12g, then %.12g", turns, v[5]);
    give(batch, 0, 0, NULL);
    ctn_batch_step(batch, 10, NULL, NULL);
    double u[6];
    ctn_batch_state(batch, NULL, u);
    for (int k = 0; k < 6; k++) ck_assert_msg(fabs(u[k] - v[k]) < ways[_i].error, "something acts still: %g, %g", u[k], v[k]);
    ctn_batch_free(batch), ctn_model_free(model);
}
END_TEST

enum { WORLDS = 11 };

/// A wrench given while a batch runs is one of the scene, to the last bit, on every engine and schedule; worlds that are given
/// none, and those from which it was taken again, move as if there were no such thing.
START_TEST(as_in_the_scene)
{
    FOR_SEEDS(seed, 6)
    {
        const random_options o = {
            .links = 5, .passive = ways[_i].method != CTN_VARIATIONAL, .conservative = ways[_i].number == 4};
        ctn_model *const plain = random_model(seed, &o);
        char *const text = random_scene(seed, &o), all[12000];
        const int links = ctn_model_nlink(plain);
        int link = links - 1;
        ctn_batch_config cfg = config_of(_i, 0.005);
        const ctn_engine *const *engine = engines_available();
        for (uint64_t k = seed; k > 0; k--) engine = engine[1] ? engine + 1 : engines_available();
        cfg.engine = (*engine)->name, cfg.worlds = WORLDS, cfg.threads = 2,
        cfg.schedule = seed % 2 ? CTN_BY_ITERATION : CTN_BY_STEP;
        ctn_batch *const batch = batch_with(plain, &cfg), *const without = batch_with(plain, &cfg);
        ctn_wrench w = {{0.1, -0.2, 0.3}, {4, -3, 2}, {0.5, 0.25, -1}, seed % 3 == 0};
        ctn_error err;
        while (link >= 0 && ctn_batch_set_wrench(batch, 3, link, &w, &err) != CTN_OK) link--;  // it moves
        ck_assert_int_ge(link, 0);
        const int written =
            snprintf(all, sizeof all,
                     "%sforces: [{link: %s, axes: %s, point: [0.1, -0.2, 0.3], force: [4, -3, 2], torque: [0.5, 0.25, -1]}]\n",
                     text, ctn_model_link(plain, link)->name, w.link_axes ? "link" : "world");
        ck_assert_int_lt(written, (int)sizeof all);
        ctn_model *const forced = model_of(all);
        ctn_batch *const scene = batch_with(forced, &cfg);
        uint64_t a[WORLDS], b[WORLDS], c[WORLDS];
        ctn_batch_step(batch, 12, NULL, NULL), ctn_batch_step(scene, 12, NULL, NULL), ctn_batch_step(without, 12, NULL, NULL);
        ctn_batch_hashes(batch, a), ctn_batch_hashes(scene, b), ctn_batch_hashes(without, c);
        for (int k = 0; k < WORLDS; k++)
            ck_assert_msg(a[k] == (k == 3 ? b : c)[k], "seed %llu, world %d: other bits", (unsigned long long)seed, k);
        ck_assert(b[3] != c[3]);
        // taken again, with the state of the others: as them
        const size_t size = ctn_batch_saved_size(without);
        char *const saved = malloc(size);
        ctn_batch_save(without, saved);
        ck_assert_int_eq(ctn_batch_restore(batch, saved, size, NULL), CTN_OK);
        give(batch, -1, link, NULL);
        ctn_batch_step(batch, 7, NULL, NULL), ctn_batch_step(without, 7, NULL, NULL);
        ctn_batch_hashes(batch, a), ctn_batch_hashes(without, c);
        for (int k = 0; k < WORLDS; k++) ck_assert_msg(a[k] == c[k], "seed %llu: something acts still", (unsigned long long)seed);
        free(saved), free(text);
        ctn_batch_free(batch), ctn_batch_free(scene), ctn_batch_free(without);
        ctn_model_free(plain), ctn_model_free(forced);
    }
}
END_TEST

/// Beside parameters of the worlds, on several links, in both axes, one taking the place of another.
START_TEST(beside_parameters)
{
    const random_options o = {.links = 4, .passive = true, .joints = 1u << CTN_REVOLUTE | 1u << CTN_BALL, .springs = 2};
    ctn_model *const m = random_model(11, &o);
    const ctn_parameter list[] = {{CTN_GRAVITY, 2}, {CTN_FORCE, 1}};
    ctn_batch_config cfg = config_of(3, 0.01);
    cfg.worlds = WORLDS, cfg.parameters = list, cfg.parameter_count = 2;
    ctn_batch *const batch[2] = {batch_with(m, &cfg), batch_with(m, &cfg)};
    double values[WORLDS][2];
    for (int w = 0; w < WORLDS; w++) values[w][0] = -9 - 0.1 * w, values[w][1] = 0.2 * w;
    const ctn_wrench world = {.force = {1, 2, 3}}, own = {.point = {0, 0.1, 0}, .torque = {0.1, 0, 0}, .link_axes = true};
    // in another order, and over what was there
    ctn_batch_set_parameters(batch[0], values[0], NULL);
    give(batch[0], -1, 1, &world), give(batch[0], 4, 1, &own), give(batch[0], 5, 2, &own), give(batch[0], 5, 1, NULL);
    give(batch[1], 5, 2, &own), give(batch[1], 4, 1, &world), give(batch[1], 4, 1, &own);
    for (int w = 0; w < WORLDS; w++)
        if (w != 4 && w != 5) give(batch[1], w, 1, &world);
    ctn_batch_set_parameters(batch[1], values[0], NULL);
    uint64_t hash[2][WORLDS];
    for (int k = 0; k < 2; k++) {
        ctn_batch_step(batch[k], 20, NULL, NULL), ctn_batch_hashes(batch[k], hash[k]);
        ctn_batch_free(batch[k]);
    }
    for (int w = 0; w < WORLDS; w++) ck_assert_msg(hash[0][w] == hash[1][w], "world %d: other bits", w);
    ctn_model_free(m);
}
END_TEST

/// A hinge in a plane, where many numbers are zeros of either sign: they are the same ones beside a world that is pushed.
START_TEST(beside_zeros)
{
    ctn_model *const m = model_of("catena: 1\ndefaults: {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01, 0, 0, 0]}\n"
                                  "links:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], q0: 1}}\n"
                                  "  - {name: b, parent: a, position: [0, 0, -1], joint: {type: ball, v0: [0, 1, 0]}}\n"
                                  "  - {name: c, parent: b, position: [0, 0, -1], joint: {type: revolute, axis: [0, 1, 0]}}\n");
    ctn_batch_config cfg = config_of(_i, 0.005);
    cfg.worlds = WORLDS;
    ctn_batch *const batch = batch_with(m, &cfg), *const without = batch_with(m, &cfg);
    give(batch, 3, 1, &(ctn_wrench){.force = {1, 2, 3}, .torque = {3, 2, 1}});
    uint64_t a[WORLDS], b[WORLDS];
    ctn_batch_step(batch, 20, NULL, NULL), ctn_batch_step(without, 20, NULL, NULL);
    ctn_batch_hashes(batch, a), ctn_batch_hashes(without, b);
    for (int w = 0; w < WORLDS; w++) ck_assert_msg((a[w] == b[w]) == (w != 3), "world %d", w);
    ctn_batch_free(batch), ctn_batch_free(without), ctn_model_free(m);
}
END_TEST

START_TEST(refused)
{
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - {name: base, joint: fixed, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                                  "  - {name: a, parent: base, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n");
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.worlds = 2;
    ctn_batch *const batch = batch_with(m, &cfg);
    const ctn_wrench w = {.force = {1, 0, 0}}, bad = {.torque = {0, NAN, 0}};
    const struct {
        int world, link;
        const ctn_wrench *w;
        const char *says;
    } cases[] = {{2, 1, &w, "world: expected 0 to 1, or -1 for all, found 2"},
                 {-2, 1, &w, "world: expected 0 to 1, or -1 for all, found -2"},
                 {0, 2, &w, "link: expected 0 to 1, found 2"},
                 {0, -1, NULL, "link: expected 0 to 1, found -1"},
                 {0, 0, &w, "link 'base' does not move: nothing can act on it"},
                 {0, 1, &bad, "torque[1] is not finite"}};
    ctn_error err;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ck_assert_int_eq(ctn_batch_set_wrench(batch, cases[k].world, cases[k].link, cases[k].w, &err), CTN_BAD_ARGUMENT);
        ck_assert_str_eq(err.message, cases[k].says);
    }
    ctn_batch_free(batch);
    cfg.method = CTN_COLLOCATION, cfg.order = 4;
    ctn_batch *const other = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_wrench(other, 0, 1, &w, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(
        err.message,
        "order: collocation takes `springs`, `forces`, thrusters, a `fluid` and wrenches at order 2 alone; take that, or radau");
    ck_assert_int_eq(ctn_batch_step(other, 3, NULL, &err), CTN_OK);  // as before
    ck_assert_int_eq(ctn_batch_set_wrench(other, 0, 1, NULL, &err), CTN_OK);
    ctn_batch_free(other);
    cfg.method = CTN_RADAU, cfg.solver = CTN_LM;
    ctn_batch *const dense_solver = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_wrench(dense_solver, 0, 1, &w, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "solver: lm takes no `springs`, `forces`, thrusters, `fluid` or wrenches; take newton");
    ctn_batch_free(dense_solver), ctn_model_free(m);
}
END_TEST

/// The list of parameters that a configuration was asked for stays; a restored state leaves wrenches as they are; what dense
/// output tells of the last step stays, too.
START_TEST(what_stays)
{
    const random_options o = {.links = 4, .passive = true, .joints = 1u << CTN_REVOLUTE};
    ctn_model *const m = random_model(5, &o);
    const ctn_parameter list[] = {{CTN_GRAVITY, 2}};
    ctn_batch_config cfg = config_of(3, 0.01);
    cfg.parameters = list, cfg.parameter_count = 1, cfg.dense = true;
    ctn_batch *const batch = batch_with(m, &cfg);
    const ctn_parameter *const asked = ctn_batch_configuration(batch)->parameters;
    double q[2][64];
    uint64_t h[2];
    const size_t size = ctn_batch_saved_size(batch);
    char *const saved = malloc(size);
    ctn_batch_step(batch, 3, NULL, NULL);
    give(batch, 0, 3, &(ctn_wrench){.torque = {1, 2, 3}}),
        give(batch, 0, 2, &(ctn_wrench){.force = {1, 2, 3}, .link_axes = true});
    ck_assert_ptr_eq(ctn_batch_configuration(batch)->parameters, asked);
    ck_assert(asked[0].kind == CTN_GRAVITY && asked[0].index == 2);
    ctn_batch_save(batch, saved);
    ctn_batch_step(batch, 2, NULL, NULL), ctn_batch_hashes(batch, &h[0]);
    ck_assert_int_eq(ctn_batch_restore(batch, saved, size, NULL), CTN_OK);
    ctn_batch_step(batch, 2, NULL, NULL), ctn_batch_hashes(batch, &h[1]);
    ck_assert(h[0] == h[1]);
    ctn_batch *const plain = batch_with(m, &cfg);
    ctn_batch_step(plain, 3, NULL, NULL);
    ctn_batch *const pushed = batch_with(m, &cfg);
    ctn_batch_step(pushed, 3, NULL, NULL), give(pushed, 0, 3, &(ctn_wrench){.force = {5, 5, 5}});
    ctn_batch_dense(plain, 0.3, q[0], NULL, NULL, NULL), ctn_batch_dense(pushed, 0.3, q[1], NULL, NULL, NULL);
    ck_assert(!memcmp(q[0], q[1], (size_t)ctn_model_nq(m) * sizeof(double)));
    ctn_batch_free(batch), ctn_batch_free(plain), ctn_batch_free(pushed), ctn_model_free(m);
    free(saved);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("wrenches");
    TCase *const t = tcase_create("wrenches");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, angular_momentum, 0, WAYS);
    tcase_add_loop_test(t, thruster, 0, WAYS);
    tcase_add_loop_test(t, as_in_the_scene, 0, WAYS);
    tcase_add_test(t, beside_parameters);
    tcase_add_loop_test(t, beside_zeros, 0, WAYS);
    tcase_add_test(t, refused);
    tcase_add_test(t, what_stays);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
