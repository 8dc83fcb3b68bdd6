/// Joints that turn without end: whole turns are counted apart (integrators/turns.h), and nobody sees it but by the digits that
/// stay.
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN 6.28318530717958647693
#define FAN "{name: fan, joint: {type: revolute, axis: [0, 0, 1]}, mass: 0.1, inertia: [0.1, 0.1, 0.001, 0, 0, 0]}"

static const struct {
    ctn_method method;
    int stages;
    double dt;
} ways[] = {{CTN_RK4, 0, 0.01},    {CTN_SEMI_IMPLICIT, 0, 0.002}, {CTN_DOP853, 0, 0.01},      {CTN_COLLOCATION, 0, 0.002},
            {CTN_ALPHA, 0, 0.002}, {CTN_RADAU, 2, 0.002},         {CTN_VARIATIONAL, 0, 0.002}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt;
    if (ways[way].stages) cfg.stages = ways[way].stages;
    return cfg;
}

/// A fan of 1000 rad/s (100 for methods that see no more than half a turn a step) for 20 000 steps, beside one that stands and one
/// that starts far on: its angle goes on, as the method has it.
START_TEST(goes_on)
{
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - " FAN "\n");
    ctn_batch_config cfg = config_of(_i);
    cfg.worlds = 3;
    const bool exact = !ctn_method_is_implicit(cfg.method);
    const double speed = exact ? 1000 : 100, q0[] = {0, 1, 3e6}, v0[] = {speed, 0, -speed};
    double q[3], v[3];
    ctn_step_stats s[3];
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_state(b, q0, v0, 0, NULL), CTN_OK);
    ctn_batch_state(b, q, NULL);
    ck_assert(!memcmp(q, q0, sizeof q));
    ck_assert_int_eq(ctn_batch_step(b, 20000, s, NULL), CTN_OK);
    ctn_batch_state(b, q, v);
    ck_assert_msg(fabs(q[0] + q[2] - 3e6) < 1e-7 && fabs(v[0] + v[2]) < 1e-6 && q[0] > 20 * TURN &&
                      fabs(q[1] - 1) + fabs(v[1]) < 1e-9,
                  "%s: at %.17g and %.17g, moving at %.17g and %.17g", ctn_method_name(cfg.method), q[0], q[2], v[0], v[2]);
    if (exact)
        ck_assert_msg(fabs(q[0] - speed * cfg.dt * 20000) < 1e-7 && v[0] == speed, "%s: at %.17g, moving at %.17g",
                      ctn_method_name(cfg.method), q[0], v[0]);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A windmill in gravity: hinges that turn on a hinge that a spring holds.
#define MILL(fast)                                                                                                               \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: mast, joint: {type: revolute, axis: [0, 1, 0], stiffness: 30}, mass: 1, com: [0, 0, 0.5], "                      \
    "inertia: [0.1, 0.1, 0.01, 0, 0, 0]}\n"                                                                                      \
    "  - {name: wheel, parent: mast, position: [0, 0, 1], joint: {type: revolute, axis: [1, 0, 0], v0: " fast                    \
    "}, mass: 0.2, com: [0, 0.05, 0], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n"                                                   \
    "  - {name: tail, parent: wheel, position: [0, 0.2, 0], joint: {type: revolute, axis: [0, 0, 1], damping: 1.0e-4}, "         \
    "mass: 0.1, com: [0, 0.1, 0], inertia: [0.001, 0.001, 0.001, 0, 0, 0]}\n"
/// Calls of many steps and of single ones, worlds in lanes and alone, states saved and restored between them: the same bits.
START_TEST(same_bits)
{
    ctn_model *const m = model_of(MILL("20"));
    ctn_batch_config cfg = config_of(_i), one = cfg;
    enum { WORLDS = 5, STEPS = 700 };
    cfg.worlds = WORLDS;
    double q0[3 * WORLDS], v0[3 * WORLDS] = {0}, q[3 * WORLDS], v[3 * WORLDS];
    ctn_batch *const b = batch_with(m, &cfg);
    for (int w = 0; w < WORLDS; w++)
        for (int k = 0; k < 3; k++) q0[3 * w + k] = k ? 25.0 * w : 0.1, v0[3 * w + k] = k == 1 ? 20 + 5 * w : 0;
    ck_assert_int_eq(ctn_batch_set_state(b, q0, v0, 0, NULL), CTN_OK);
    ctn_error err;
    ck_assert_msg(ctn_batch_step(b, STEPS, NULL, &err) == CTN_OK, "%s", err.message);
    ctn_batch_state(b, q, v);
    ck_assert_double_gt(q[3 * WORLDS - 2], 17 * TURN);
    for (int w = 0; w < WORLDS; w++) {
        double x[3], u[3];
        ctn_batch *c = batch_with(m, &one);
        ck_assert_int_eq(ctn_batch_set_state(c, q0 + 3 * w, v0 + 3 * w, 0, NULL), CTN_OK);
        for (int k = 0; k < STEPS; k++) {
            ck_assert_int_eq(ctn_batch_step(c, 1, NULL, NULL), CTN_OK);
            if (k % 100) continue;
            const size_t size = ctn_batch_saved_size(c);
            void *const saved = malloc(size);
            ctn_batch_save(c, saved), ctn_batch_free(c);
            c = batch_with(m, &one);
            ck_assert_int_eq(ctn_batch_restore(c, saved, size, NULL), CTN_OK);
            free(saved);
        }
        ctn_batch_state(c, x, u);
        ck_assert_msg(!memcmp(x, q + 3 * w, sizeof x) && !memcmp(u, v + 3 * w, sizeof u), "%s, world %d: %.17g, not %.17g",
                      ctn_method_name(cfg.method), w, x[1], q[3 * w + 1]);
        ctn_batch_free(c);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A start that is whole turns on leads to the same motion, whole turns on.
START_TEST(shifted)
{
    ctn_model *const m = model_of(MILL("20"));
    const ctn_batch_config cfg = config_of(_i);
    double q0[] = {0.1, 0.3, -0.2}, v0[] = {0, 20, 1}, q[2][3], v[2][3];
    for (int far = 0; far < 2; far++) {
        ctn_batch *const b = batch_with(m, &cfg);
        for (int k = 1; k < 3; k++) q0[k] += far * 1000 * TURN;
        ck_assert_int_eq(ctn_batch_set_state(b, q0, v0, 0, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 50, NULL, NULL), CTN_OK);
        ctn_batch_state(b, q[far], v[far]);
        ctn_batch_free(b);
    }
    for (int k = 0; k < 3; k++) {
        const double off = q[1][k] - q[0][k] - (k ? 1000 * TURN : 0);
        ck_assert_msg(fabs(off) < 1e-9 && fabs(v[1][k] - v[0][k]) < 1e-7, "%s, joint %d: off by %g", ctn_method_name(cfg.method),
                      k, off);
    }
    ctn_model_free(m);
}
END_TEST

/// The motion within steps, also within those that begin by taking turns off.
START_TEST(between_states)
{
    if (ways[_i].method == CTN_VARIATIONAL) return;
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - " FAN "\n");
    ctn_batch_config cfg = config_of(_i);
    cfg.dense = true;
    const double speed = cfg.dt > 0.005 ? 300 : 1500, start = 95;
    double last = start;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_state(b, &start, &speed, 0, NULL), CTN_OK);
    for (int k = 0; k < 200; k++) {
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
        double q, time;
        ck_assert_int_eq(ctn_batch_dense(b, 0.3, &q, NULL, &time, NULL), CTN_OK);
        ck_assert_msg(q > last && q < last + speed * cfg.dt * (1 + 1e-9) && fabs(time - (k + 0.3) * cfg.dt) < 1e-12,
                      "%s: at %g s %.17g", ctn_method_name(cfg.method), time, q);
        last = q;
    }
    ck_assert_double_gt(last, 17 * TURN);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Derivatives of runs that take turns off are those of runs that need not.
START_TEST(derivatives)
{
    ctn_model *const m = model_of(MILL("20"));
    const ctn_batch_config cfg = config_of(_i);
    double q0[] = {0.1, 0.3, -0.2}, g[2][6], q[2][3], v[3];
    const double v0[] = {0, 20, 1}, by_q[3 * 31] = {0, 0, 0, [90] = 1, 2, 3}, by_v[3 * 31] = {0, 0, 0, [90] = 0.5, -0.5, 0.1};
    for (int far = 0; far < 2; far++) {
        ctn_tape *const tape = ctn_tape_create(m, &cfg, 30, NULL);
        ck_assert_ptr_nonnull(tape);
        q0[1] += far * 16 * TURN;  // where turns are taken off as the first step begins, or one soon after it
        ck_assert_int_eq(ctn_tape_run(tape, q0, v0, NULL, NULL), CTN_OK);
        ck_assert_int_eq(ctn_tape_state(tape, 30, q[far], v, NULL), CTN_OK);
        ck_assert_int_eq(ctn_tape_gradient(tape, by_q, by_v, g[far], g[far] + 3, NULL, NULL), CTN_OK);
        ctn_tape_free(tape);
    }
    ck_assert_double_lt(fabs(q[1][1] - q[0][1] - 16 * TURN), 1e-9);
    for (int k = 0; k < 6; k++)
        ck_assert_msg(fabs(g[1][k] - g[0][k]) < 1e-7 * (1 + fabs(g[0][k])), "%s: %.17g, not %.17g", ctn_method_name(cfg.method),
                      g[1][k], g[0][k]);
    ctn_model_free(m);
}
END_TEST

/// Along the links, where a spring holds every second wheel: as by worlds.
START_TEST(along_links)
{
    char text[40000] = "catena: 1\ngravity: [0, 0, 0]\nlinks:\n";
    enum { LINKS = 128 };
    for (int i = 0; i < LINKS; i++)
        snprintf(text + strlen(text), 300,
                 "  - {name: l%d, parent: %s%.0d, position: [%d, 0, 0], joint: {type: revolute, axis: [1, 0, 0]%s}, mass: 1, "
                 "com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n",
                 i, i ? i > 1 ? "l" : "l0" : "world", i > 1 ? i - 1 : 0, i > 0, i % 2 ? ", stiffness: 0.01" : "");
    ctn_model *const m = model_of(text);
    double q[2][LINKS], v[2][LINKS], q0[LINKS] = {0}, v0[LINKS] = {0};
    v0[6] = 90, v0[7] = -90, q0[6] = 80, q0[9] = 101, q0[10] = -101;
    for (int along = 0; along < 2; along++) {
        ctn_batch_config cfg = config_of(_i);
        cfg.parallel = along ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
        if (cfg.method == CTN_RADAU) cfg.tolerance = 1e-13;  // the motion multiplies differences
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_set_state(b, q0, v0, 0, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 400, NULL, NULL), CTN_OK);
        if (along) ck_assert_int_le(ctn_batch_serial_steps(b), 1);  // alpha begins with forward dynamics
        ctn_batch_state(b, q[along], v[along]);
        ctn_batch_free(b);
    }
    for (int k = 0; k < LINKS; k++)
        ck_assert_msg(fabs(q[0][k] - q[1][k]) < 1e-6, "%s, joint %d: %.17g by worlds, %.17g along links",
                      ctn_method_name(ways[_i].method), k, q[0][k], q[1][k]);
    ctn_model_free(m);
}
END_TEST

/// An angle that winds up its spring, at the end of the range in which sine and cosine are exact: the step beyond is refused, the
/// state before it stays.
START_TEST(wound_up)
{
    ctn_model *const m =
        model_of("catena: 1\nlinks:\n  - {name: w, joint: {type: revolute, axis: [0, 0, 1], stiffness: 1.0e-9}, mass: 1, "
                 "inertia: [1, 1, 1, 0, 0, 0]}\n");
    ctn_batch_config cfg = config_of(_i);
    ctn_step_stats s;
    double q = 1e6 - 10.5 * cfg.dt, v = 1;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_state(b, &q, &v, 0, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 100, &s, NULL), CTN_FROZEN);
    ctn_batch_state(b, &q, &v);
    ck_assert_msg(s.frozen == CTN_FREEZE_ANGLE && s.steps == 10 && q <= 1e6 && q > 1e6 - cfg.dt, "%s: at %.17g after %ld steps",
                  ctn_method_name(cfg.method), q, s.steps);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// What winds up counts all of its turns, and freezes where they leave the range; what turns too far in one step does, too.
START_TEST(limits)
{
    static const struct {
        const char *joint;
        double q, v;
        int frozen;
    } cases[] = {{"axis: [0, 0, 1]", 1e9, 0, 0},
                 {"axis: [0, 0, 1]", 0, 0.9e6, 0},
                 {"axis: [0, 0, 1]", 0, 1.1e6, CTN_FREEZE_ANGLE},
                 {"axis: [0, 0, 1], friction: 0.1", 1.0e7, 0, 0},
                 {"axis: [0, 0, 1], stiffness: 1.0e-9", 1.1e6, 0, CTN_FREEZE_ANGLE},
                 {"axis: [0, 0, 1], limits: [-3.0e+6, 3.0e+6]", 1.1e6, 0, CTN_FREEZE_ANGLE}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 "catena: 1\nlinks:\n  - {name: w, joint: {type: revolute, %s}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n",
                 cases[k].joint);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of(0);
        ctn_step_stats s;
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_set_state(b, &cases[k].q, &cases[k].v, 0, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 3, &s, NULL), cases[k].frozen ? CTN_FROZEN : CTN_OK);
        ck_assert_msg((int)s.frozen == cases[k].frozen, "%s: %d", cases[k].joint, (int)s.frozen);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("turns");
    TCase *c = tcase_create("turns");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, goes_on, 0, WAYS);
    tcase_add_loop_test(c, same_bits, 0, WAYS);
    tcase_add_loop_test(c, shifted, 0, WAYS);
    tcase_add_loop_test(c, between_states, 0, WAYS);
    tcase_add_loop_test(c, derivatives, 0, WAYS);
    tcase_add_loop_test(c, along_links, 0, WAYS);
    tcase_add_loop_test(c, wound_up, 0, WAYS);
    tcase_add_test(c, limits);
    suite_add_tcase(s, c);
    return run_suite(s);
}
