/// Thrusters, motors that push links (forces/thrust.h): closed forms, the bits of the forces that they are, limits, targets by
/// world and with time, the ledger of energy, engines, steps along links, sensors, and what takes none.
#include "sim/engine/engine.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <math.h>
#include <stdlib.h>

static ctn_batch_config config_of(ctn_method method, int number, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.dt = dt, cfg.tolerance = 1e-12;
    if (method == CTN_RADAU) cfg.stages = number;
    else cfg.order = number;
    return cfg;
}

static const struct {
    ctn_method method;
    int number;
    double created;  // J, of `ledger`
} ways[] = {{CTN_EULER, 2, 1},          {CTN_SEMI_IMPLICIT, 2, 1}, {CTN_RK2, 2, 1e-3},      {CTN_RK3, 2, 1e-5},
            {CTN_RK4, 2, 1e-7},         {CTN_DOP853, 2, 1e-12},    {CTN_COLLOCATION, 2, 1}, {CTN_RADAU, 1, 1},
            {CTN_RADAU, 2, 3e-5},       {CTN_RADAU, 3, 1e-8},      {CTN_RADAU, 4, 1e-11},   {CTN_ALPHA, 2, 2e-2},
            {CTN_VARIATIONAL, 2, 1e-3}, {CTN_VARIATIONAL, 4, 1e-5}};
enum { WAYS = sizeof ways / sizeof *ways, MOVING = WAYS - 2 };  // the last two take no targets that move

/// Of up to two worlds.
static void step_to(ctn_batch *b, int steps, double *q, double *v)
{
    ctn_step_stats stats[2];
    ctn_batch_step(b, steps, stats, NULL);
    ck_assert_msg(!stats->frozen, "frozen: %s", ctn_freeze_text(stats->frozen));
    ctn_batch_state(b, q, v);
}

// ---- closed forms

/// A propeller on the axis of a free body pulls it along and turns it: w = reaction T t/I, v = T t/m.
START_TEST(propeller)
{
    ctn_model *const m = model_of("catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                                  "  - {name: a, joint: free, mass: 2, inertia: [0.3, 0.3, 0.4, 0, 0, 0]}\n"
                                  "motors: [{link: a, type: thrust, point: [0, 0, 0.3], reaction: 0.05, target: 3}]\n");
    ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.01);
    ctn_batch *const b = batch_with(m, &cfg);
    double q[7], v[6];
    step_to(b, 100, q, v);
    NEAR(v, 3e-4, 0, 0, 1.5, 0, 0, 3 * 0.05 / 0.4);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A moment alone, about an axis of the link.
START_TEST(moment)
{
    ctn_model *const m = model_of("catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                                  "  - {name: a, joint: ball, mass: 2, inertia: [0.3, 0.2, 0.4, 0, 0, 0]}\n"
                                  "motors: [{link: a, type: moment, axis: [0, -2, 0], target: 0.3}]\n");
    ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.01);
    ctn_batch *const b = batch_with(m, &cfg);
    double q[4], v[3];
    step_to(b, 100, q, v);
    NEAR(v, 0.01, 0, -1.5, 0);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- the forces that they are

#define FLYER                                                                                                                    \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: hull, joint: {type: free, q0: [0, 0, 1, 0.8, 0.2, -0.5, 0.1], v0: [0.3, 0, -0.2, 1, -2, 0.5]}, mass: 1.2, "      \
    "inertia: [0.02, 0.03, 0.04, 0.002, 0, 0]}\n"                                                                                \
    "  - {name: arm, parent: hull, position: [0.2, 0, 0.1], euler: [0.3, 0.2, -0.4], joint: {type: revolute, axis: [0, 1, 0], "  \
    "damping: 0.01}, mass: 0.4, com: [0.1, 0, 0], inertia: [0.001, 0.004, 0.004, 0, 0, 0]}\n"                                    \
    "  - {name: pod, parent: arm, position: [0.2, 0, 0], rotation: [1, 1, 0, 0], mass: 0.1, inertia: [1e-4, 1e-4, 1e-4, 0, 0, "  \
    "0]}\n"                                                                                                                      \
    "  - {name: tail, parent: hull, position: [-0.3, 0, 0], joint: ball, mass: 0.3, com: [-0.1, 0, 0], inertia: [0.001, 0.002, " \
    "0.002, 0, 0, 0]}\n"
#define PUSHES(target_a, target_b, target_c)                                                                                     \
    "motors:\n"                                                                                                                  \
    "  - {link: pod, type: thrust, point: [0.05, 0.1, 0], axis: [0, 0, 3], reaction: 0.25, target: " target_a "}\n"              \
    "  - {link: hull, type: thrust, point: [0, 0, -0.5], axis: [0, 1, 0], limits: [-2, 2], target: " target_b "}\n"              \
    "  - {link: tail, type: moment, axis: [1, 0, 0], target: " target_c "}\n"
#define FORCES                                                                                                                   \
    "forces:\n"                                                                                                                  \
    "  - {link: pod, axes: link, point: [0.05, 0.1, 0], force: [0, 0, 4], torque: [0, 0, 1]}\n"                                  \
    "  - {link: hull, axes: link, point: [0, 0, -0.5], force: [0, -2, 0]}\n"                                                     \
    "  - {link: tail, axes: link, torque: [0.125, 0, 0]}\n"
enum { NQ = 7 + 1 + 4, NV = 6 + 1 + 3 };

static void undamped(char *text)  // variational of order 4 takes no dampers
{
    char *const damping = strstr(text, ", damping: 0.01");
    memset(damping, ' ', strlen(", damping: 0.01"));
}

/// Thrusters that are told numbers have the bits of `forces` in link axes: all methods, fixed links, limits.
START_TEST(are_forces)
{
    double q[2][NQ], v[2][NV];
    for (int k = 0; k < 2; k++) {
        char text[] = FLYER PUSHES("4", "-5", "0.125"), other[] = FLYER FORCES;
        undamped(text), undamped(other);
        ctn_model *const m = model_of(k ? other : text);
        ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.005);
        ctn_batch *const b = batch_with(m, &cfg);
        step_to(b, 40, q[k], v[k]);
        ctn_batch_free(b), ctn_model_free(m);
    }
    near(q[0], q[1], NQ, 0, "q"), near(v[0], v[1], NV, 0, "v");
}
END_TEST

// ---- targets

static const ctn_parameter told[] = {{CTN_MOTOR_TARGET, 0}, {CTN_MOTOR_TARGET, 1}, {CTN_MOTOR_EFFORT, 1}};

/// Worlds have targets and limits of their own, and the bits of a scene that says them.
START_TEST(by_world)
{
    const double values[2][3] = {{4, -5, 2}, {1, 1.5, 0.5}};
    double q[2][2][NQ], v[2][2][NV];
    ctn_model *const m = model_of(FLYER PUSHES("1", "0", "0.125"));
    ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.005);
    cfg.worlds = 2, cfg.parameters = told, cfg.parameter_count = 3;
    if (cfg.method == CTN_VARIATIONAL && cfg.order == 4) {
        ctn_model_free(m);
        return;
    }
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert(ctn_batch_set_parameters(b, &values[0][0], NULL) == CTN_OK);
    step_to(b, 20, &q[0][0][0], &v[0][0][0]);
    ctn_batch_free(b), ctn_model_free(m);
    for (int w = 0; w < 2; w++) {
        ctn_model *const own = model_of(w ? FLYER PUSHES("1", "0.5", "0.125") : FLYER PUSHES("4", "-2", "0.125"));
        ctn_batch_config one = config_of(ways[_i].method, ways[_i].number, 0.005);
        ctn_batch *const c = batch_with(own, &one);
        step_to(c, 20, q[1][w], v[1][w]);
        ctn_batch_free(c), ctn_model_free(own);
    }
    near(&q[0][0][0], &q[1][0][0], 2 * NQ, 0, "q"), near(&v[0][0][0], &v[1][0][0], 2 * NV, 0, "v");
}
END_TEST

#define WAVES                                                                                                                    \
    PUSHES("{sinusoid: {mean: 4, amplitude: 1, frequency: 2}}", "{spline: {times: [0, 0.1, 0.3], values: [0, 1.9, -1.5]}}",      \
           "{sinusoid: {amplitude: 0.1, frequency: 3}}")

static void run_waves(ctn_method method, int number, int steps, double *q, double *v, ctn_step_stats *stats)
{
    ctn_model *const m = model_of(FLYER WAVES);
    ctn_batch_config cfg = config_of(method, number, 0.2 / steps);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_batch_step(b, steps, stats, NULL);
    ck_assert(!stats->frozen);
    ctn_batch_state(b, q, v);
    ctn_batch_free(b), ctn_model_free(m);
}

/// Thrust that moves with time is taken when the methods look at the tree: none loses its order.
START_TEST(orders)
{
    static const struct {
        ctn_method method;
        int number, steps;
        double rate;
    } of[] = {{CTN_SEMI_IMPLICIT, 2, 200, 1}, {CTN_RK2, 2, 100, 2},   {CTN_RK3, 2, 50, 3},   {CTN_RK4, 2, 40, 4},
              {CTN_COLLOCATION, 2, 400, 1},   {CTN_RADAU, 1, 400, 1}, {CTN_RADAU, 2, 40, 3}, {CTN_RADAU, 3, 10, 5},
              {CTN_ALPHA, 2, 100, 2}};
    double q[3][NQ], v[3][NV];
    ctn_step_stats stats;
    run_waves(CTN_RADAU, 4, 200, q[2], v[2], &stats);
    double off[2];
    for (int k = 0; k < 2; k++) {
        run_waves(of[_i].method, of[_i].number, of[_i].steps << k, q[k], v[k], &stats);
        off[k] = 0;
        for (int i = 0; i < NV; i++) off[k] = fmax(off[k], fabs(v[k][i] - v[2][i]));
    }
    const double rate = log2(off[0] / off[1]);
    ck_assert_msg(rate > of[_i].rate - 0.35, "order %.2f, expected %g: %g, %g", rate, of[_i].rate, off[0], off[1]);
}
END_TEST

/// What thrusters put in is work: energy goes up by it, as far as the method keeps the ledger.
START_TEST(ledger)
{
    char text[] = FLYER PUSHES("4", "-1", "0.125"), moving[] = FLYER WAVES;
    undamped(text), undamped(moving);
    for (int k = 0; k < (_i < MOVING ? 2 : 1); k++) {
        ctn_model *const m = model_of(k ? moving : text);
        ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.002);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_step_stats s;
        ctn_batch_step(b, 100, &s, NULL);
        ck_assert_msg(fabs(s.created) < ways[_i].created && fabs(s.work) > 0.05, "moving %d: work %g, dissipated %g, created %g",
                      k, s.work, s.dissipated, s.created);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

// ---- engines

/// The same bits on every engine, in every batch.
START_TEST(engines)
{
    enum { WORLDS = 11 };
    double q[WORLDS * NQ], v[WORLDS * NV], other[WORLDS * NQ], others[WORLDS * NV], values[WORLDS][3];
    ctn_model *const m = model_of(FLYER WAVES);
    for (int w = 0; w < WORLDS; w++) values[w][0] = 0.3 * w, values[w][1] = 0.5 - 0.2 * w, values[w][2] = 0.2 * w;
    for (const ctn_engine *const *e = engines_available(); *e; e++) {
        ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.01);
        cfg.engine = (*e)->name, cfg.worlds = WORLDS, cfg.parameters = told, cfg.parameter_count = 3;
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert(ctn_batch_set_parameters(b, &values[0][0], NULL) == CTN_OK);
        ctn_step_stats stats[WORLDS];
        ctn_batch_step(b, 15, stats, NULL);
        const bool first = e == engines_available();
        ctn_batch_state(b, first ? q : other, first ? v : others);
        if (!first) near(other, q, WORLDS * NQ, 0, (*e)->name), near(others, v, WORLDS * NV, 0, (*e)->name);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// Along the links they are the forces that they are; targets that move stay with worlds.
START_TEST(along_links)
{
    static const char tree[] = "catena: 1\nlinks:\n  - chain: {name: c, count: 40, step: [0, 0, -0.1], joint: {type: universal, "
                               "damping: 0.01}, mass: 0.1, "
                               "inertia: [1e-4, 1e-4, 1e-5, 0, 0, 0], com: [0, 0, -0.05]}\n%s\n";
    static const ctn_method methods[] = {CTN_COLLOCATION, CTN_RK4, CTN_ALPHA};
    double q[2][80], v[2][80];
    char text[700];
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, tree,
                 k ? "forces: [{link: c.30, axes: link, point: [0, 0, 0.1], force: [2, 0, 0], torque: [0.5, 0, 0]}]"
                   : "motors: [{link: c.30, type: thrust, point: [0, 0, 0.1], axis: [1, 0, 0], reaction: 0.25, limits: [0, 2], "
                     "target: 7}]");
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of(methods[_i], 2, 0.001);
        cfg.parallel = CTN_PARALLEL_LINKS;
        ctn_batch *const b = batch_with(m, &cfg);
        step_to(b, 10, q[k], v[k]);
        ctn_batch_free(b), ctn_model_free(m);
    }
    near(q[0], q[1], 80, 0, "q"), near(v[0], v[1], 80, 0, "v");
    snprintf(text, sizeof text, tree,
             "motors: [{link: c.30, type: thrust, axis: [1, 0, 0], target: {sinusoid: {amplitude: 1, frequency: 1}}}]");
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = config_of(methods[_i], 2, 0.001);
    cfg.parallel = CTN_PARALLEL_LINKS;
    ctn_error err = {0};
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_str_eq(err.message, "parallel: links takes no targets of thrusters that move in this version; take worlds");
    ctn_model_free(m);
}
END_TEST

// ---- sensors, parameters, mistakes

START_TEST(sensors)
{
    ctn_model *const m = model_of(FLYER WAVES "sensors:\n  - {name: pull, type: motor_effort, link: hull}\n"
                                              "  - {name: turn, type: motor_effort, link: tail, motor: 0, noise: 0}\n"
                                              "  - {name: pod, type: motor_effort, link: pod}\n");
    ck_assert_int_eq(ctn_model_sensor_numbers(m), 3);
    const ctn_batch_config cfg = config_of(CTN_RADAU, 2, 0.05);
    ctn_batch *const b = batch_with(m, &cfg);
    double said[3];
    ctn_step_stats stats;
    ctn_batch_step(b, 2, &stats, NULL);
    ck_assert(ctn_batch_sensors(b, said, NULL) == CTN_OK);
    NEAR(said, 1e-12, 1.9, 0.1 * sin(2 * M_PI * 0.3), 4 + sin(2 * M_PI * 0.2));
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

START_TEST(parameters)
{
    static const struct {
        ctn_parameter of;
        const char *message;
    } bad[] = {{{CTN_MOTOR_KP, 0}, "parameters: motor_kp: motors[0] is of the type thrust, which has none"},
               {{CTN_MOTOR_FEEDFORWARD, 2}, "parameters: motor_feedforward: motors[2] is of the type moment, which has none"},
               {{CTN_MOTOR_SPEED, 1}, "parameters: motor_speed: motors[1] has none; give it `speed` in the scene"}};
    ctn_model *const m = model_of(FLYER PUSHES("4", "-1", "0.125"));
    double x;
    ck_assert(ctn_model_parameter(m, told[1], &x, NULL) == CTN_OK && x == -1);
    ck_assert(ctn_model_parameter(m, told[2], &x, NULL) == CTN_OK && x == 2);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        ctn_error err = {0};
        ck_assert(ctn_model_parameter(m, bad[k].of, &x, &err) == CTN_BAD_ARGUMENT);
        ck_assert_str_eq(err.message, bad[k].message);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("thrusters");
    TCase *const t = tcase_create("thrusters");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, propeller, 0, WAYS);
    tcase_add_loop_test(t, moment, 0, WAYS);
    tcase_add_loop_test(t, are_forces, 0, WAYS);
    tcase_add_loop_test(t, by_world, 0, WAYS);
    tcase_add_loop_test(t, orders, 0, 9);
    tcase_add_loop_test(t, ledger, 0, WAYS);
    tcase_add_loop_test(t, engines, 0, MOVING);
    tcase_add_loop_test(t, along_links, 0, 3);
    tcase_add_test(t, sensors);
    tcase_add_test(t, parameters);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
