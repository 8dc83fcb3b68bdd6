/// Integral terms of motors (forces/integral_terms.h): closed forms, orders, no windup, steps that resolve nothing, the ledger, the same
/// bits on every engine and after a save, by world, sensors, and what takes none. Newton matrices, devices: stages.c, newton_sweep.c,
/// device.c.
#include "sim/model/step_limit.h"
#include "tests/random_scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <stdlib.h>

static const struct {
    ctn_method method;
    int number;
    double dt, order;  // at which steps its order shows
} methods[] = {
    {CTN_COLLOCATION, 2, 0.002, 1}, {CTN_RADAU, 1, 0.002, 1}, {CTN_RADAU, 2, 0.02, 3},          {CTN_RADAU, 3, 0.04, 5},
    {CTN_RADAU, 4, 0.1, 7},         {CTN_ALPHA, 0, 0.01, 2},  {CTN_COLLOCATION, 3, 0.01, 2},    {CTN_COLLOCATION, 4, 0.02, 3},
    {CTN_COLLOCATION, 5, 0.04, 4},  {CTN_EULER, 0, 0.002, 1}, {CTN_SEMI_IMPLICIT, 0, 0.002, 1}, {CTN_RK2, 0, 0.01, 2},
    {CTN_RK3, 0, 0.02, 3},          {CTN_RK4, 0, 0.02, 4},    {CTN_DOP853, 0, 0.1, 8}};
enum { METHODS = sizeof methods / sizeof *methods, ANY_STEP = 6 };  // those that hold any gain in any step come first

static ctn_batch_config config_of(int k, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = dt, cfg.tolerance = 1e-12;
    if (cfg.method == CTN_RADAU) cfg.stages = methods[k].number;
    if (cfg.method == CTN_COLLOCATION) cfg.order = methods[k].number;
    return cfg;
}

#define SLIDER                                                                                                                   \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 2, inertia: [0, 0, "  \
    "0, 0, 0, 0]}\n"                                                                                                             \
    "motors: [{joint: a, %s}]\n"
#define ARM                                                                                                                      \
    "catena: 1\nlinks:\n  - {name: arm, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: [0.01, "   \
    "0.02, 0.02, 0, 0, 0]}\n"                                                                                                    \
    "motors: [{joint: arm, %s}]\n"
#define BALL                                                                                                                     \
    "catena: 1\nlinks:\n  - {name: a, joint: ball, mass: 1, com: [0.4, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n"           \
    "motors: [{joint: a, %s}]\n"

static ctn_model *model_with(const char *scene, const char *motor)
{
    char text[1000];
    snprintf(text, sizeof text, scene, motor);
    return model_of(text);
}

/// An arm, and a body on a ball joint, end where they are told to be, without any sag, whatever the gains and the step.
START_TEST(no_sag)
{
    static const double gains[] = {10, 1e3, 1e6};
    for (int k = 0; k < 3; k++)
        for (int h = 0; h < 2; h++)
            for (int ball = 0; ball < 2; ball++) {
                char motor[200];
                const double kp = gains[k], dt = h ? 0.1 : 0.01;
                snprintf(motor, sizeof motor, "type: position, kp: %g, kd: %g, ki: %g, target: %s", kp, 0.4 * kp, kp,
                         ball ? "[0.3, 0.5, -0.4]" : "0.5");
                ctn_model *const m = model_with(ball ? BALL : ARM, motor);
                const ctn_batch_config cfg = config_of(_i, dt);
                ctn_batch *const b = batch_with(m, &cfg);
                double q[4], v[3];
                ck_assert_int_eq(ctn_batch_step(b, (int)lround(60 / dt), NULL, NULL), CTN_OK);
                ctn_batch_state(b, q, v);
                const double angle = sqrt(0.09 + 0.25 + 0.16), s = sin(angle / 2) / angle;
                const double want[4] = {ball ? cos(angle / 2) : 0.5, 0.3 * s, 0.5 * s, -0.4 * s};
                ck_assert_msg(coordinate_distance(m, q, want) < 1e-7 && fabs(v[0]) < 1e-7, "kp %g, dt %g, ball %d: off by %g", kp,
                              dt, ball, coordinate_distance(m, q, want));
                ctn_batch_free(b), ctn_model_free(m);
            }
}
END_TEST

/// A servo of velocity under a load: m v' = kd (v* - v) + ki (v* t - x) - F, whose difference from v* is a vibration that dies out.
START_TEST(velocity_servo)
{
    const double T = 1.2, m = 2, kd = 6, ki = 40, F = 8, target = 1.5;
    ctn_model *const model = model_with(SLIDER, "type: velocity, kd: 6, ki: 40, target: 1.5, gear: 1");
    // y = v* t - x: m y'' + kd y' + ki y = F, y(0) = 0, y'(0) = v*
    const double a = kd / (2 * m), w = sqrt(ki / m - a * a), rest = F / ki;
    const double c = -rest, s = (target + a * c) / w, e = exp(-a * T);
    const double y = rest + e * (c * cos(w * T) + s * sin(w * T));
    double error[2];
    for (int k = 0; k < 2; k++) {
        const ctn_batch_config cfg = config_of(_i, methods[_i].dt / (1 << k) / (methods[_i].order > 6 ? 0.5 : 1));
        ctn_batch *const b = batch_with(model, &cfg);
        double q, v, force = -F;
        ctn_batch_set_force(b, &force);
        ctn_batch_step(b, (int)lround(T / cfg.dt), NULL, NULL), ctn_batch_state(b, &q, &v);
        error[k] = fabs(target * T - q - y);
        ctn_batch_free(b);
    }
    const double found = log2(error[0] / error[1]);
    ck_assert_msg(error[1] < 1e-13 || (found > methods[_i].order - 0.5 && error[1] < 0.02),
                  "of order %.2f, not %g: off by %g, then %g", found, methods[_i].order, error[0], error[1]);
    ctn_model_free(model);
}
END_TEST

/// kp, kd and ki on a slider: a linear equation of third order, by its characteristic polynomial's roots. No method loses order.
START_TEST(position_servo)
{
    ctn_model *const m = model_with(SLIDER, "type: position, kp: 30, kd: 12, ki: 20, target: 1");
    // 2 e''' + 12 e'' + 30 e' + 20 e = 0: roots -1 and -2.5 +- i sqrt(3.75); e(0) = 1, e' = 0, e'' = -15
    const double T = 1.2, w = sqrt(10 - 6.25);
    // e = a0 exp(-t) + exp(-2.5 t) (b0 cos wt + c0 sin wt)
    // a0 + b0 = 1, -a0 - 2.5 b0 + w c0 = 0, a0 + (6.25 - w^2) b0 - 5 w c0 = -15
    const double a0 = (-15 + 2.5 * 5 - (6.25 - w * w)) / (1 - 5 + 2.5 * 5 - (6.25 - w * w)), b0 = 1 - a0,
                 c0 = (a0 + 2.5 * b0) / w;
    const double want = 1 - (a0 * exp(-T) + exp(-2.5 * T) * (b0 * cos(w * T) + c0 * sin(w * T)));
    double error[2];
    for (int k = 0; k < 2; k++) {
        const ctn_batch_config cfg = config_of(_i, methods[_i].dt / (1 << k) / (methods[_i].order > 6 ? 0.5 : 1));
        ctn_batch *const b = batch_with(m, &cfg);
        double q, v;
        ctn_batch_step(b, (int)lround(T / cfg.dt), NULL, NULL), ctn_batch_state(b, &q, &v);
        error[k] = fabs(q - want);
        ctn_batch_free(b);
    }
    const double found = log2(error[0] / error[1]);
    // alpha, and collocation that looks back, begin with a force that jumps
    const bool begins = methods[_i].method == CTN_ALPHA || (methods[_i].method == CTN_COLLOCATION && methods[_i].number > 2);
    ck_assert_msg(error[1] < 1e-13 || (found > methods[_i].order - (begins ? 1.1 : 0.5) && error[1] < 0.02),
                  "of order %.2f, not %g: off by %g, then %g", found, methods[_i].order, error[0], error[1]);
    ctn_model_free(m);
}
END_TEST

/// Orders with targets that move and on balls, against dop853.
START_TEST(order)
{
    static const char *const text =
        "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
        "  - {name: a, joint: ball, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.2, 0.3, 0, 0, 0]}\n"
        "  - {name: b, parent: a, position: [0.4, 0, 0], joint: {type: revolute, axis: [1, 0, 1]}, mass: 0.4, com: [0, 0.1, "
        "0.1], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n"
        "motors:\n"
        "  - {joint: a, type: position, kp: 6, kd: 1, ki: 5, target: [{sinusoid: {mean: 0.2, amplitude: 0.8, frequency: 0.7}}, "
        "0.3, 0]}\n"
        "  - {joint: b, type: position, kp: 3, kd: 0.4, ki: 3, target: {sinusoid: {amplitude: 1, frequency: 0.5}}, gear: -2}\n";
    ctn_model *const m = model_of(text);
    const double q[5] = {1, 0, 0, 0, 0.3}, v[4] = {1, -2, 0.5, 2};
    double exact[5], error[2];
    for (int k = -1; k < 2; k++) {
        const ctn_batch_config cfg = k < 0 ? config_of(METHODS - 1, 0.0025) : config_of(_i, methods[_i].dt / (1 << k));
        ctn_batch *const b = batch_with(m, &cfg);
        double x[5];
        ctn_batch_set_state(b, q, v, 0.3, NULL);
        ck_assert_int_eq(ctn_batch_step(b, (int)lround(0.8 / cfg.dt), NULL, NULL), CTN_OK);
        ctn_batch_state(b, k < 0 ? exact : x, NULL);
        if (k >= 0) error[k] = coordinate_distance(m, x, exact);
        ctn_batch_free(b);
    }
    const double found = log2(error[0] / error[1]);
    ck_assert_msg(error[1] < 1e-11 || found > methods[_i].order - 0.7, "of order %.2f, not %g: off by %g, then %g", found,
                  methods[_i].order, error[0], error[1]);
    ctn_model_free(m);
}
END_TEST

/// A motor at its effort, or at its speed, does not wind up on a long way: told to stay where it is, it has nothing to unwind.
START_TEST(no_windup)
{
    static const char *const limits[] = {"effort: 4", "effort: 4, speed: 1.5"};
    for (int k = 0; k < 2; k++) {
        char text[1000], motor[200];
        snprintf(motor, sizeof motor, "type: position, kp: 40, kd: 0.5, ki: 30, target: 20, %s", limits[k]);
        snprintf(text, sizeof text, SLIDER "sensors: [{name: e, type: motor_effort, joint: a}]\n", motor);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of(_i, 0.02);
        const ctn_parameter list[] = {{CTN_MOTOR_TARGET, 0}};
        cfg.parameters = list, cfg.parameter_count = 1;
        ctn_batch *const b = batch_with(m, &cfg);
        double q, v, said;
        ctn_batch_step(b, 50, NULL, NULL), ctn_batch_state(b, &q, &v);
        ck_assert_int_eq(ctn_batch_set_parameters(b, &q, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_sensors(b, &said, NULL), CTN_OK);
        ck_assert_msg(fabs(said + 0.5 * v) < 1e-9 && v > 1.4, "motor %d: %g N at %g m/s: wound up to %g", k, said, v,
                      said + 0.5 * v);
        // and it winds up once it is within reach
        ctn_batch_step(b, 1, NULL, NULL), ctn_batch_state(b, &q, &v), ctn_batch_sensors(b, &said, NULL);
        ck_assert_msg(said + 0.5 * v < -0.1, "motor %d: %g N", k, said + 0.5 * v);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

#define SENSED                                                                                                                   \
    "sensors: [{name: f, type: joint_force, joint: a}, {name: g, type: joint_force, joint: b}, {name: e, type: motor_effort, "   \
    "joint: a}, {name: all, type: energy}]\n"
#define TREE                                                                                                                     \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: a, joint: ball, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.2, 0.3, 0, 0, 0]}\n"                                 \
    "  - {name: b, parent: a, position: [0.4, 0, 0], joint: {type: revolute, axis: [1, 0, 1]%s}, mass: 0.4, com: [0, 0.1, "      \
    "0.1], "                                                                                                                     \
    "inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\nmotors:\n"                                                                              \
    "  - {joint: a, type: position, kp: 20, kd: 2, ki: 15, target: [0.5, 0.3, 0], velocity_target: [0.2, 0, 0], effort: 5}\n"    \
    "  - {joint: b, type: position, kp: 12, kd: 0.8, ki: 14, target: 0.7, gear: -2, effort: 6}\n"

/// What goes through motors is the integral of their powers, as sensors feel their forces; with dry friction beside.
START_TEST(ledger)
{
    enum { STEPS = 2000 };
    char text[3000];
    snprintf(text, sizeof text, TREE SENSED, _i ? ", friction: 0.3, presliding: 0.05" : "");
    ctn_model *const m = model_of(text);
    const ctn_batch_config cfg = config_of(METHODS - 1, 1.0 / STEPS);
    ctn_batch *const b = batch_with(m, &cfg);
    double q[5] = {1, 0, 0, 0, 0.3}, v[4] = {1, -2, 0.5, 2}, said[8], given = 0;
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
    ctn_step_stats sum, s;
    for (int n = 0; n <= STEPS; n++) {
        if (n) ctn_batch_step(b, 1, n == 1 ? &sum : &s, NULL);
        if (n > 1) ctn_step_stats_add(&sum, &s);
        ctn_batch_state(b, q, v), ctn_batch_sensors(b, said, NULL);
        for (int k = 0; k < 4; k++) given += cfg.dt / 3 * (n == 0 || n == STEPS ? 1 : n % 2 ? 4 : 2) * said[k] * v[k];
        for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(said[k], said[4 + k], 1e-12);
    }
    const double through = sum.work - sum.dissipated - (sum.spring_after - sum.spring_before);
    const double scale_ = fabs(sum.work) + sum.dissipated + fabs(sum.spring_before);
    ck_assert_msg(fabs(through - given) < 1e-4 * scale_ && scale_ > 1, "%.12g J, by the powers %.12g", through, given);
    ck_assert_msg(fabs(sum.created) < 1e-4 * scale_ && fabs(sum.work) > 0.05, "created %g, work %g, dissipated %g", sum.created,
                  sum.work, sum.dissipated);
    ck_assert_msg(fabs(said[7] - sum.energy_after) < 1e-9 * scale_, "the sensor of energy says %g, not %g", said[7],
                  sum.energy_after);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// The books of other methods come to the same, to their order.
START_TEST(books)
{
    char text[3000];
    snprintf(text, sizeof text, TREE, "");
    ctn_model *const m = model_of(text);
    double got[2][2];
    for (int k = 0; k < 2; k++) {
        const ctn_batch_config cfg = k ? config_of(METHODS - 1, 0.001) : config_of(_i, methods[_i].order < 2 ? 0.0002 : 0.001);
        ctn_batch *const b = batch_with(m, &cfg);
        const double q[5] = {1, 0, 0, 0, 0.3}, v[4] = {1, -2, 0.5, 2};
        ctn_step_stats s;
        ctn_batch_set_state(b, q, v, 0, NULL), ctn_batch_step(b, (int)lround(0.6 / cfg.dt), &s, NULL);
        got[k][0] = s.work, got[k][1] = s.dissipated;
        ctn_batch_free(b);
    }
    for (int k = 0; k < 2; k++)
        ck_assert_msg(fabs(got[0][k] - got[1][k]) < 0.01 * (fabs(got[1][0]) + got[1][1]), "%s %g, by dop853 %g",
                      k ? "dissipated" : "work", got[0][k], got[1][k]);
    ctn_model_free(m);
}
END_TEST

// ---- bits

enum { WORLDS = 11, STEPS = 30 };
static const ctn_parameter own[] = {{CTN_MOTOR_KI, 1}, {CTN_MOTOR_KI, 0}, {CTN_TIME_STEP, 0}};

static ctn_batch *worlds(const ctn_model *m, const ctn_batch_config *of, const char *engine, int count, int first, int threads,
                         ctn_schedule schedule)
{
    ctn_batch_config cfg = *of;
    double values[3 * WORLDS];
    cfg.engine = engine, cfg.worlds = count, cfg.threads = threads, cfg.schedule = schedule;
    cfg.parameters = own, cfg.parameter_count = 3;
    for (int w = 0; w < count; w++)
        values[3 * w] = 2 + first + w, values[3 * w + 1] = 0.5 * (first + w),
                   values[3 * w + 2] = cfg.dt * (1 + 0.25 * ((first + w) % 3));
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
    return b;
}

/// A world has the same bits on each engine, in batches of any size, with any number of threads and schedule, along one call or
/// several, and from a saved state, which holds what is wound up.
START_TEST(bits)
{
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    char text[3000];
    snprintf(text, sizeof text, TREE, "");
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = config_of(_i % METHODS, 0.02);
    cfg.adaptive = _i >= METHODS;
    if (cfg.adaptive) cfg = config_of((int[]){2, 5, METHODS - 1}[_i - METHODS], 0.02), cfg.adaptive = true;
    if (_i == 3) cfg.max_iterations = 2;  // in halves
    uint64_t want[WORLDS], got[WORLDS];
    ctn_batch *const first = worlds(m, &cfg, "scalar", WORLDS, 0, 1, CTN_SCHEDULE_AUTO);
    ctn_batch_step(first, STEPS, NULL, NULL), ctn_batch_hashes(first, want);
    ctn_batch_free(first);
    for (int e = 0; e < 3; e++) {
        ctn_error err;
        ctn_dynamics *const there = ctn_dynamics_create(m, engines[e], &err);
        if (!there) continue;
        ctn_dynamics_free(there);
        for (int way = 0; way < 3; way++) {
            ctn_batch *const b = worlds(m, &cfg, engines[e], WORLDS, 0, 1 + way, way == 1 ? CTN_BY_STEP : CTN_SCHEDULE_AUTO);
            if (way == 2) {
                ctn_batch_step(b, STEPS / 2, NULL, NULL);
                const size_t size = ctn_batch_saved_size(b);
                void *const block = malloc(size);
                ctn_batch_save(b, block);
                ctn_batch_step(b, 3, NULL, NULL);
                ck_assert_msg(ctn_batch_restore(b, block, size, &err) == CTN_OK, "%s", err.message);
                free(block);
                for (int k = STEPS / 2; k < STEPS; k++) ctn_batch_step(b, 1, NULL, NULL);
            } else ctn_batch_step(b, STEPS, NULL, NULL);
            ctn_batch_hashes(b, got);
            for (int w = 0; w < WORLDS; w++)
                ck_assert_msg(got[w] == want[w], "%s, %s, way %d: world %d differs", ctn_method_name(cfg.method), engines[e], way,
                              w);
            ctn_batch_free(b);
        }
        ctn_batch *const one = worlds(m, &cfg, engines[e], 1, 3, 1, CTN_SCHEDULE_AUTO);
        ctn_batch_number_worlds(one, 0, 3);
        ctn_batch_step(one, STEPS, NULL, NULL), ctn_batch_hashes(one, got);
        ck_assert_msg(got[0] == want[3], "%s, %s: world 3 alone differs", ctn_method_name(cfg.method), engines[e]);
        ctn_batch_free(one);
    }
    ctn_model_free(m);
}
END_TEST

/// Dense output of an explicit method knows what was wound up when its part began.
START_TEST(dense)
{
    char text[3000];
    snprintf(text, sizeof text, TREE, "");
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = config_of(_i ? METHODS - 2 : METHODS - 1, 0.02);
    cfg.dense = true;
    ctn_batch *const b = batch_with(m, &cfg);
    double q[5], v[4], x[5], w[4];
    ctn_batch_step(b, 30, NULL, NULL), ctn_batch_state(b, q, v);
    ck_assert_int_eq(ctn_batch_dense(b, 1, x, w, NULL, NULL), CTN_OK);
    for (int k = 0; k < 5; k++) ck_assert_double_eq_tol(x[k], q[k], 1e-13);
    for (int k = 0; k < 4; k++) ck_assert_double_eq_tol(w[k], v[k], 1e-12);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- what takes none, scenes

START_TEST(refused)
{
    static const struct {
        ctn_method method;
        ctn_parallel parallel;
        const char *motor, *says;
    } ways[] = {{CTN_VARIATIONAL, CTN_PARALLEL_WORLDS, "type: position, kp: 5, ki: 1",
                 "method: variational takes `motors` without kd, ki and `speed` alone; take radau"},
                {CTN_ALPHA, CTN_PARALLEL_LINKS, "type: position, kp: 5, ki: 1",
                 "parallel: links takes no `ki` of motors in this version; take worlds"},
                {CTN_RADAU, CTN_PARALLEL_LINKS, "type: velocity, kd: 1, effort: 2, speed: 3",
                 "parallel: links takes no `speed` of motors by radau in this version; take worlds, or collocation"}};
    ctn_model *const m = model_with(ARM, ways[_i].motor);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[_i].method, cfg.parallel = ways[_i].parallel;
    ctn_error err = {0};
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_str_eq(err.message, ways[_i].says);
    ctn_model_free(m);
}
END_TEST

static const struct {
    const char *motor, *says;
} wrong[] = {
    {"{joint: a, type: torque, ki: 1}", "motors[0].ki: a motor of the type torque has none"},
    {"{joint: a, type: position, kp: 1, ki: -1}", "motors[0].ki: expected a number >= 0, found '-1'"},
    {"{joint: b, type: velocity, kd: 1, ki: 1}",
     "motors[0].ki: a servo of velocity on a ball joint has none; take one of position whose target moves"},
    {"{joint: b, type: torque, effort: 1, speed: 1}", "motors[0].speed: the motor of a ball joint has none in this version"},
    {"{joint: a, type: torque, speed: 1}",
     "motors[0].speed: expected an `effort` beside it, of the motor or of its joint: at this speed it has fallen to 0"},
    {"{joint: a, type: torque, effort: 1, speed: 0}", "motors[0].speed: expected a positive number, found '0'"},
    {"{joint: c, type: torque}",
     "motors[0].effort: missing; the joint has a `speed`, at which the effort of its motor has fallen to 0"},
};

START_TEST(mistakes)
{
    char text[800];
    ctn_error err = {0};
    snprintf(text, sizeof text,
             LINKS A "  - {name: b, joint: ball, " MASS "}\n  - {name: c, joint: {type: revolute, speed: 90 deg/s}, " MASS
                     "}\nmotors: [%s]\n",
             wrong[_i].motor);
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.yaml", &err));
    ck_assert_msg(has_error(err.message, "t.yaml", 6, 0, wrong[_i].says, false), "%s", err.message);
}
END_TEST

START_TEST(keys)
{
    ctn_model *const m =
        model_of(LINKS A "  - {name: c, joint: {type: revolute, speed: 90 deg/s, effort: 6}, " MASS "}\nmotors:\n"
                         "  - {joint: a, type: velocity, kd: 1, ki: 0, effort: 2, speed: 3}\n  - {joint: c, type: position, kp: "
                         "1, ki: 4, gear: -2}\n");
    static const struct {
        ctn_parameter of;
        double value;
    } wanted[] = {{{CTN_MOTOR_KI, 0}, 0},
                  {{CTN_MOTOR_KI, 1}, 4},
                  {{CTN_MOTOR_SPEED, 0}, 3},
                  {{CTN_MOTOR_SPEED, 1}, M_PI},
                  {{CTN_MOTOR_EFFORT, 1}, 3}};
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        double value;
        ctn_error err;
        ck_assert_msg(ctn_model_parameter(m, wanted[k].of, &value, &err) == CTN_OK, "%s", err.message);
        ck_assert_double_eq(value, wanted[k].value);
    }
    ctn_batch_config cfg = ctn_batch_config_default();
    const ctn_parameter list[] = {{CTN_MOTOR_EFFORT, 0}};
    cfg.parameters = list, cfg.parameter_count = 1;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_error err = {0};
    double unbounded = INFINITY;
    ck_assert_int_eq(ctn_batch_set_parameters(b, &unbounded, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "world 0: motor_effort: motors[0] has a speed, at which its effort ends: expected a number");
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

START_TEST(no_such_parameter)
{
    ctn_model *const m = model_with(ARM, "type: position, kp: 5");
    ctn_error err;
    double value;
    ck_assert_int_eq(ctn_model_parameter(m, (ctn_parameter){CTN_MOTOR_KI, 0}, &value, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "parameters: motor_ki: motors[0] has none; give it `ki` in the scene, which may be 0");
    ck_assert_int_eq(ctn_model_parameter(m, (ctn_parameter){CTN_MOTOR_SPEED, 0}, &value, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "parameters: motor_speed: motors[0] has none; give it `speed` in the scene");
    ctn_model_free(m);
}
END_TEST

/// A limit of the speed that an explicit method cannot follow is a warning.
START_TEST(too_stiff)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n" A
              "motors: [{joint: a, type: velocity, kd: 1, effort: 100, speed: 0.5}]\nintegrator: {method: rk4, dt: 0.01}\n");
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ck_assert(warn_of_stiffness(scene, m, &cfg));
    ck_assert_msg(strstr(ctn_scene_warnings(scene),
                         "motors[0].kd: the motor of 'a' (stops what it moves in 0.0005 s) is too stiff for rk4"),
                  "%s", ctn_scene_warnings(scene));
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("integral_terms");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, no_sag, 0, ANY_STEP);
    tcase_add_loop_test(all, velocity_servo, 0, METHODS);
    tcase_add_loop_test(all, position_servo, 0, METHODS);
    tcase_add_loop_test(all, order, 0, METHODS - 1);
    tcase_add_loop_test(all, no_windup, 0, ANY_STEP);
    tcase_add_loop_test(all, ledger, 0, 2);
    tcase_add_loop_test(all, books, 0, ANY_STEP);
    tcase_add_loop_test(all, bits, 0, METHODS + 3);
    tcase_add_loop_test(all, dense, 0, 2);
    tcase_add_loop_test(all, refused, 0, 3);
    tcase_add_loop_test(all, mistakes, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(all, keys);
    tcase_add_test(all, no_such_parameter);
    tcase_add_test(all, too_stiff);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
