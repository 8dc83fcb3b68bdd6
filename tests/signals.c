/// What motors are told over time (forces/signals.h): values and derivatives, the times at which methods take them, their order,
/// the ledger of energy, bits over engines, batches, threads and saved states, and what takes no such targets.
#include "dynamics/lane_scalar.h"
#include "forces/signals.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- values

#define SLIDER                                                                                                                   \
    "catena: 1\ngravity: [0, 0, 0]\n%s\nlinks:\n"                                                                                \
    "  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 2, inertia: [0, 0, 0, 0, 0, 0]}\n"                           \
    "motors: [{joint: a, %s}]\n"

static ctn_model *model_with(const char *top, const char *motor)
{
    char text[2000];
    snprintf(text, sizeof text, SLIDER, top, motor);
    return model_of(text);
}

/// The one signal of a model, in which `target` is of a torque.
static signal_value told(const ctn_model *m, double t) { return signal_at(&m->signals[0], t, t); }

static const char *const forms[] = {
    "{sinusoid: {amplitude: 2, frequency: 0.7, phase: 30 deg}}",
    "{sinusoid: {amplitude: -1, frequency: 3, ramp: 2}}",
    "{gait: trot, amplitude: 1.5}",
    "{gait: trot, wave: lift, amplitude: 0.5, phase: 0.25}",
    "{gait: trot, wave: sine, amplitude: 0.5, phase: -3.1}",
    "{spline: {times: [0.1, 0.5, 2, 2.5], values: [1, -1, 3, 0]}}",
    "{spline: {times: [0, 0.5, 2, 2.5], values: [1, -1, 3, 0], period: 3}}",
    "{spline: {times: [0, 1], values: [1, -1], period: 2.5}}",
    "{table: {times: [0, 1, 1.5, 3], values: [0, 2, -1, 4]}}",
    "{table: {times: [0, 1, 1.5, 3], values: [0, 2, -1, 4]}, period: 3.5, hold: first}",
    "{sinusoid: {amplitude: 2, frequency: 0.7}, hold: first, every: 0.13}",
};
enum { FORMS = sizeof forms / sizeof *forms };

static ctn_model *model_of_form(const char *form)
{
    char motor[300];
    snprintf(motor, sizeof motor, "type: torque, target: %s", form);
    return model_with("gaits: [{name: trot, frequency: 0.8, duty: 0.6, ramp: 0.5}]", motor);
}

/// The rate is the derivative of the value, but for the corners of lines; what begins again does.
START_TEST(rates)
{
    ctn_model *const m = model_of_form(forms[_i]);
    const ctn_signal *const s = &m->signals[0];
    int wrong = 0, moves = 0;
    for (int k = 0; k < 4000; k++) {
        const double t = -1 + k * 0.0025 + 1e-4, e = 1e-5;
        const double by = (8 * (told(m, t + e).x - told(m, t - e).x) - (told(m, t + 2 * e).x - told(m, t - 2 * e).x)) / (12 * e);
        const signal_value v = told(m, t);
        wrong += !(fabs(by - v.rate) < 1e-7 * (1 + fabs(v.rate)));
        moves += fabs(v.rate) > 0.01;
        if (s->period > 0) ck_assert_double_eq_tol(told(m, t + 4 * s->period).x, v.x, 1e-12);
        if (s->kind != SIGNAL_PIECES && !(s->ramp > 0) && s->hold == HOLD_NONE)
            ck_assert_double_eq_tol(told(m, t + 7 / s->frequency).x, v.x, 1e-12);
    }
    ck_assert_msg(wrong == 0 && moves > 400, "%s: %d rates are not the derivative, %d are not 0", forms[_i], wrong, moves);
    ctn_model_free(m);
}
END_TEST

/// Waves by the C library.
START_TEST(waves)
{
    static const double amplitude[] = {2, -1, 1.5, 0.5, 0.5}, pi = 3.14159265358979323846;
    ctn_model *const m = model_of_form(forms[_i]);
    for (int k = 0; k < 1000; k++) {
        const double t = k * 0.01, d = 0.6;
        const double ramp = _i == 1 ? 2 : 0.5, u = fmin(1, t / ramp), w = _i == 0 ? 1 : u * u * (3 - 2 * u);
        const double c = 0.8 * t + (_i == 3 ? 0.25 : _i == 4 ? -3.1 : 0), r = c - floor(c);
        const double wave = _i == 0   ? sin(2 * pi * 0.7 * t + pi / 6)
                            : _i == 1 ? sin(2 * pi * 3 * t)
                            : _i == 2 ? r < d ? cos(pi * r / d) : -cos(pi * (r - d) / (1 - d))
                            : _i == 3 ? r < d ? 0 : pow(sin(pi * (r - d) / (1 - d)), 2)
                                      : sin(2 * pi * c);
        ck_assert_double_eq_tol(told(m, t).x, w * amplitude[_i] * wave, 1e-13);
    }
    ctn_model_free(m);
}
END_TEST

/// A spline goes through its keyframes, has two derivatives where pieces meet, and rests outside, or goes round.
START_TEST(splines)
{
    static const double time[] = {0.1, 0.5, 2, 2.5}, value[] = {1, -1, 3, 0};
    const bool round = _i;
    ctn_model *const m = model_of_form(round ? forms[6] : forms[5]);
    for (int k = 0; k < 4; k++) {
        const double t = round && k == 0 ? 0 : time[k], e = 1e-7, at = round ? t + 3 : t;
        ck_assert_double_eq_tol(told(m, at).x, value[k], 1e-13);
        const double before = (told(m, at - e).rate - told(m, at - 2 * e).rate) / e,
                     after = (told(m, at + 2 * e).rate - told(m, at + e).rate) / e;
        const bool end = !round && (k == 0 || k == 3);
        ck_assert_msg(end || fabs(before - after) < 1e-4 * (1 + fabs(after)), "second derivatives %g and %g", before, after);
        ck_assert_double_eq_tol(told(m, at - e).rate, told(m, at + e).rate, 1e-4);
        if (end) ck_assert_double_eq_tol(told(m, at).rate, 0, 1e-12);
    }
    ck_assert(round || (told(m, -5).x == 1 && told(m, 9).x == 0 && told(m, 9).rate == 0));
    ctn_model_free(m);
}
END_TEST

/// Steps stand until their next time; samples of zero order are those of the last one.
START_TEST(holds)
{
    ctn_model *const m = model_of_form("{table: {times: [0, 1, 1.5], values: [3, 2, -1]}, hold: zero}");
    ck_assert(told(m, -1).x == 3 && told(m, 0.99).x == 3 && told(m, 1).x == 2 && told(m, 1.49).x == 2 && told(m, 7).x == -1);
    ck_assert(signal_at(m->signals, 1, 1 - 1e-9).x == 3 && told(m, 1.2).rate == 0);
    ctn_model_free(m);
    ctn_model *const n = model_of_form("{sinusoid: {amplitude: 2, frequency: 0.7}, hold: zero, every: 0.25}");
    ck_assert(told(n, 0.7).x == told(n, 0.5).x && told(n, 0.7).rate == 0 && told(n, 0.5).x != told(n, 0.75).x);
    ck_assert_double_eq_tol(told(n, 0.7).x, 2 * sin(2 * 3.14159265358979323846 * 0.7 * 0.5), 1e-14);
    ctn_model_free(n);
}
END_TEST

// ---- the times at which methods take them

static const struct {
    ctn_method method;
    int number;
    double dt;
    int order;  // in steps of about dt
} ways[] = {{CTN_SEMI_IMPLICIT, 2, 0.01, 1}, {CTN_EULER, 2, 0.002, 1},      {CTN_RK2, 2, 0.01, 2},
            {CTN_RK3, 2, 0.01, 3},           {CTN_RK4, 2, 0.02, 4},         {CTN_DOP853, 2, 0.04, 7},
            {CTN_COLLOCATION, 2, 0.01, 1},   {CTN_COLLOCATION, 3, 0.02, 2}, {CTN_COLLOCATION, 4, 0.04, 3},
            {CTN_COLLOCATION, 5, 0.02, 4},   {CTN_RADAU, 1, 0.01, 1},       {CTN_RADAU, 2, 0.02, 3},
            {CTN_RADAU, 3, 0.02, 5},         {CTN_RADAU, 4, 0.04, 7},       {CTN_ALPHA, 2, 0.01, 2}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = dt, cfg.tolerance = 1e-13;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    else cfg.order = ways[way].number;
    return cfg;
}

/// An arm of two links, the second on a universal joint; whose motors are told waves.
#define ARM                                                                                                                      \
    "catena: 1\ngaits: [{name: wave, frequency: 0.9}]\nlinks:\n"                                                                 \
    "  - {name: arm, joint: {type: revolute, axis: [0, 1, 0], damping: 0.1}, mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.02, "  \
    "0.02, 0, 0, 0]}\n"                                                                                                          \
    "  - {name: hand, parent: arm, position: [1, 0, 0], joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1]}, mass: "     \
    "0.5, com: [0.3, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n"                                                             \
    "motors:\n"                                                                                                                  \
    "  - {joint: arm, type: position, kp: 60, kd: 4, target: %s}\n"                                                              \
    "  - {joint: hand, dof: 0, type: velocity, kd: 2, target: %s}\n"                                                             \
    "  - {joint: hand, dof: 1, type: position, kp: 9, kd: 1, target: %s, feedforward: %s, gear: -2}\n"
static ctn_model *arm(void)
{
    char text[2000];
    snprintf(text, sizeof text, ARM, "{sinusoid: {mean: 0.1, amplitude: 0.5, frequency: 0.6}}",
             "{gait: wave, wave: sine, amplitude: 1.2, phase: 0.1}",
             "{sinusoid: {amplitude: 0.4, frequency: 1.1, phase: 60 deg}}", "{gait: wave, amplitude: 0.2}");
    return model_of(text);
}

/// Where the arm is at 0.8 s, in steps of dt, from time 0.3 s on.
static void motion(const ctn_model *m, const ctn_batch_config *cfg, double *x)
{
    const double q[] = {0.2, -0.1, 0.3}, v[] = {0.5, -1, 0.4};
    ctn_batch *const b = batch_with(m, cfg);
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0.3, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, (int)lround(0.8 / cfg->dt), NULL, NULL), CTN_OK);
    ctn_batch_state(b, x, x + 3);
    ctn_batch_free(b);
}

static double off(const double *x, const double *y)
{
    double most = 0;
    for (int k = 0; k < 6; k++) most = fmax(most, fabs(x[k] - y[k]));
    return most;
}

/// Targets that move cost no order.
START_TEST(order)
{
    ctn_model *const m = arm();
    double exact[6], x[6], error[2];
    const ctn_batch_config best = config_of(5, 0.0025);
    motion(m, &best, exact);
    for (int k = 0; k < 2; k++) {
        const ctn_batch_config cfg = config_of(_i, ways[_i].dt / (1 << k));
        motion(m, &cfg, x), error[k] = off(x, exact);
    }
    const double found = log2(error[0] / error[1]);
    ck_assert_msg(found > ways[_i].order - 0.4, "%s: of order %.2f, not %d: off by %g, then %g", ctn_method_name(ways[_i].method),
                  found, ways[_i].order, error[0], error[1]);
    ctn_model_free(m);
}
END_TEST

/// Parts of a step that the ladder makes take the times of the parts: a step in halves is nearer to the motion.
START_TEST(halves)
{
    ctn_model *const m = arm();
    double exact[6], x[6], error[2];
    const ctn_batch_config best = config_of(5, 0.0025);
    motion(m, &best, exact);
    for (int k = 0; k < 2; k++) {
        ctn_batch_config cfg = config_of(6, 0.04);
        cfg.max_iterations = k ? 2 : 60;
        motion(m, &cfg, x), error[k] = off(x, exact);
    }
    ck_assert_msg(error[1] < 0.7 * error[0], "off by %g, in halves by %g", error[0], error[1]);
    ctn_model_free(m);
}
END_TEST

/// A torque that is told a wave brings a slider to what its integral says, from any time on.
START_TEST(integral)
{
    static const double pi = 3.14159265358979323846;
    ctn_model *const m =
        model_with("", "type: torque, target: {sinusoid: {mean: 0.5, amplitude: 3, frequency: 2, phase: 90 deg}}");
    ctn_batch_config cfg = config_of(_i ? 13 : 5, 0.02);
    cfg.adaptive = _i == 2;
    ctn_batch *const b = batch_with(m, &cfg);
    double q = 0, v = 0;
    ctn_batch_set_state(b, &q, &v, 0.3, NULL);
    ctn_batch_step(b, 35, NULL, NULL);
    ctn_batch_state(b, &q, &v);
    const double w = 4 * pi, want = (0.5 * 0.7 + 3 / w * (sin(w * 1) - sin(w * 0.3))) / 2;
    ck_assert_msg(fabs(v - want) < (_i == 2 ? 1e-5 : 1e-10), "%.15g, not %.15g", v, want);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A torque that jumps between steps: over each of them a method has the one that is held, to the last of its stages. Its work is
/// all the energy that there is.
START_TEST(jumps)
{
    ctn_model *const m =
        model_with("", "type: torque, target: {table: {times: [0, 0.1, 0.3, 0.4], values: [1, -2, 5, 0.5]}, hold: zero}");
    const ctn_batch_config cfg = config_of(_i, 0.1);
    ctn_batch *const b = batch_with(m, &cfg);
    static const double want[] = {0.05, -0.05, -0.15, 0.1, 0.125};
    for (int k = 0; k < 5; k++) {
        double q, v;
        ctn_step_stats s;
        ctn_batch_step(b, 1, &s, NULL), ctn_batch_state(b, &q, &v);
        // alpha, and collocation that looks back at the step before, spread a jump over some steps
        const bool spreads = cfg.method == CTN_ALPHA || (cfg.method == CTN_COLLOCATION && cfg.order > 2);
        ck_assert_msg(spreads || fabs(v - want[k]) < 1e-12, "%s, step %d: %.15g, not %g", ctn_method_name(cfg.method), k, v,
                      want[k]);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A servo whose target moves, or jumps, puts in what the books lack.
START_TEST(ledger)
{
    static const char *const targets[] = {
        "{sinusoid: {amplitude: 1, frequency: 1}}", "{table: {times: [0, 0.2, 0.5], values: [0, 1, -0.5]}, hold: zero}",
        "{spline: {times: [0, 0.4, 1], values: [0, 1, 0.5]}}, feedforward: {sinusoid: {amplitude: 2, frequency: 0.8}}, gear: -2"};
    char motor[300];
    snprintf(motor, sizeof motor, "type: position, kp: 30, kd: 2, effort: 12, target: %s", targets[_i]);
    ctn_model *const m = model_with("", motor);
    static const int of[] = {4, 5, 12};
    for (int k = 0; k < 3; k++) {
        const ctn_batch_config cfg = config_of(of[k], 0.0025);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_step_stats s;
        ctn_totals now;
        ctn_batch_step(b, 400, &s, NULL);
        ctn_batch_totals(b, &now);
        ck_assert_msg(fabs(s.created) < 2e-6 * (fabs(s.work) + s.dissipated) && s.work > 0.5,
                      "%s: created %g, work %g, dissipated %g", ctn_method_name(cfg.method), s.created, s.work, s.dissipated);
        ck_assert_double_eq_tol(now.spring, s.spring_after, 1e-12);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

// ---- bits

enum { WORLDS = 11, STEPS = 24 };
static const ctn_parameter own[] = {{CTN_MOTOR_TARGET, 0}, {CTN_MOTOR_KP, 2}, {CTN_TIME_STEP, 0}};

static ctn_batch *worlds(const ctn_model *m, const ctn_batch_config *of, const char *engine, int count, int first, int threads,
                         ctn_schedule schedule)
{
    ctn_batch_config cfg = *of;
    double values[3 * WORLDS];
    cfg.engine = engine, cfg.worlds = count, cfg.threads = threads, cfg.schedule = schedule;
    cfg.parameters = own, cfg.parameter_count = 3;
    for (int w = 0; w < count; w++) {
        const int k = first + w;
        values[3 * w] = 0.1 * k, values[3 * w + 1] = 5 + k, values[3 * w + 2] = cfg.dt * (1 + 0.25 * (k % 3));
    }
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
    return b;
}

static void run(ctn_batch *b, int steps)
{
    const ctn_status status = ctn_batch_step(b, steps, NULL, NULL);
    ck_assert(status == CTN_OK || status == CTN_FROZEN);
}

/// A world has the same bits on each engine, in batches of any size, with any number of threads and schedule, along one call or
/// several, and from a saved state.
START_TEST(bits)
{
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    static const int of[] = {0, 4, 5, 6, 8, 11, 12, 14, 5, 11, 14, 6};  // then dt: auto; the last one in halves
    ctn_batch_config cfg = config_of(of[_i], 0.02);
    cfg.adaptive = _i >= 8 && _i < 11;
    if (_i == 11) cfg.max_iterations = 2;
    ctn_model *const m = arm();
    uint64_t want[WORLDS], got[WORLDS];
    for (int w = 0; w < WORLDS; w++) {
        ctn_batch *const b = worlds(m, &cfg, "scalar", 1, w, 1, CTN_BY_STEP);
        for (int k = 0; k < STEPS; k++) run(b, 1);
        ctn_batch_hashes(b, &want[w]);
        ctn_batch_free(b);
    }
    for (int e = 0; e < 3; e++) {
        ctn_error err;
        ctn_batch_config here = cfg;
        here.engine = engines[e];
        ctn_batch *const there = ctn_batch_create(m, &here, &err);
        if (!there) continue;
        ctn_batch_free(there);
        for (int k = 0; k < 4; k++) {
            ctn_batch *const b = worlds(m, &cfg, engines[e], WORLDS, 0, k % 2 ? 2 : 1, k < 2 ? CTN_BY_STEP : CTN_BY_ITERATION);
            run(b, k ? STEPS / 3 : STEPS);
            if (k) {
                const size_t size = ctn_batch_saved_size(b);
                void *const block = malloc(size);
                ctn_batch_save(b, block);
                run(b, 5);
                ck_assert_int_eq(ctn_batch_restore(b, block, size, NULL), CTN_OK);
                run(b, STEPS - STEPS / 3);
                free(block);
            }
            ctn_batch_hashes(b, got);
            for (int w = 0; w < WORLDS; w++)
                ck_assert_msg(got[w] == want[w], "%s %d, %s, world %d, run %d: other bits", ctn_method_name(cfg.method), _i,
                              engines[e], w, k);
            ctn_batch_free(b);
        }
    }
    ctn_model_free(m);
}
END_TEST

/// At a state alone, energy and forces are those of the time that is said.
START_TEST(at_a_time)
{
    ctn_model *const m = arm();
    const ctn_batch_config cfg = config_of(5, 0.02);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double q[6], v[6], force[6];
    ctn_totals want, got[2], early;
    run(b, 30);
    ctn_batch_state(b, q, v), ctn_batch_totals(b, &want);
    memcpy(q + 3, q, 3 * sizeof *q), memcpy(v + 3, v, 3 * sizeof *v);
    ctn_energy_momentum(dyn, 1, q, v, &early);
    ctn_dynamics_set_time(dyn, ctn_batch_time(b, 0)), ctn_dynamics_set_time(dyn, NAN);
    for (int count = 1; count < 3; count++) {
        ctn_energy_momentum(dyn, count, q, v, got), ctn_passive(dyn, count, q, v, force);
        for (int k = 0; k < count; k++) {
            const double t = 0.6, pi = 3.14159265358979323846;
            const double target = 0.1 + 0.5 * sin(2 * pi * 0.6 * t), rate = 0.5 * 2 * pi * 0.6 * cos(2 * pi * 0.6 * t);
            ck_assert(got[k].spring == want.spring && early.spring != want.spring);
            ck_assert_double_eq_tol(force[3 * k], 60 * (target - q[0]) + 4 * (rate - v[0]) - 0.1 * v[0], 1e-10);
        }
    }
    ctn_dynamics_free(dyn), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Between the ends of a step dense output has the motion, targets included.
START_TEST(dense)
{
    ctn_model *const m = arm();
    ctn_batch_config cfg = config_of(5, 0.02), fine = config_of(5, 0.005);
    cfg.dense = true;
    ctn_batch *const b = batch_with(m, &cfg), *const c = batch_with(m, &fine);
    double x[6], y[6], time;
    run(b, 7), run(c, 27);
    ck_assert_int_eq(ctn_batch_dense(b, 0.75, x, x + 3, &time, NULL), CTN_OK);
    ctn_batch_state(c, y, y + 3);
    ck_assert_double_eq_tol(time, ctn_batch_time(c, 0), 1e-12);
    ck_assert_msg(off(x, y) < 1e-7, "off by %g", off(x, y));
    ctn_batch_free(b), ctn_batch_free(c), ctn_model_free(m);
}
END_TEST

/// What takes no targets that move says so.
START_TEST(refused)
{
    static const char *const messages[] = {
        "method: variational takes no targets of `motors` that move with time in this version; take radau or alpha",
        "engine: 'cuda' takes no targets of `motors` that move with time in this version, but along links; take an engine of the "
        "CPU"};
    ctn_model *const m = model_with("", "type: position, kp: 3, target: {sinusoid: {amplitude: 1, frequency: 1}}");
    for (int k = 0; k < 2; k++) {
        ctn_batch_config cfg = config_of(k == 0 ? 5 : 14, 0.01);
        ctn_error err = {0};
        if (k == 0) cfg.method = CTN_VARIATIONAL, cfg.order = 2;
        if (k == 1) cfg.engine = "cuda";
        ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
        ck_assert_str_eq(err.message, messages[k]);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("signals");
    TCase *const t = tcase_create("signals");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, rates, 0, FORMS);
    tcase_add_loop_test(t, waves, 0, 5);
    tcase_add_loop_test(t, splines, 0, 2);
    tcase_add_test(t, holds);
    tcase_add_loop_test(t, order, 0, WAYS);
    tcase_add_test(t, halves);
    tcase_add_loop_test(t, integral, 0, 3);
    tcase_add_loop_test(t, jumps, 0, WAYS);
    tcase_add_loop_test(t, ledger, 0, 3);
    tcase_add_loop_test(t, bits, 0, 12);
    tcase_add_test(t, at_a_time);
    tcase_add_test(t, dense);
    tcase_add_test(t, refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
