/// Controllers of scenes: what they tell motors, when, and that nobody sees who told it.
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Two links on servos, which sensors look at.
#define LINKS                                                                                                                    \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.2, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n" \
    "  - {name: b, parent: a, position: [0.4, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.5, com: [0.1, 0, 0],\n"   \
    "     inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n"                                                                               \
    "motors:\n"                                                                                                                  \
    "  - {joint: a, type: position, kp: 40, kd: 2, target: 0.1}\n"                                                               \
    "  - {joint: b, type: torque, effort: 3, target: 0.3}\n"                                                                     \
    "sensors:\n"                                                                                                                 \
    "  - {name: angle, type: joint_position, joint: a}\n"                                                                        \
    "  - {name: tip, type: velocity, link: b, point: [0.3, 0, 0]}\n"
#define STEPS "integrator: {method: radau, dt: 0.01}\n"

static ctn_scene *scene;
static ctn_model *model;

static void load(const char *section)
{
    char text[4000];
    ctn_error err;
    snprintf(text, sizeof text, LINKS "%s" STEPS, section);
    ctn_model_free(model), ctn_scene_free(scene);
    scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
}

static void teardown(void)
{
    ctn_model_free(model), ctn_scene_free(scene);
    model = NULL, scene = NULL;
}

static ctn_batch *batch_of(int worlds, const char *engine, int threads)
{
    ctn_error err;
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.worlds = worlds, cfg.engine = engine, cfg.threads = threads;
    ctn_batch *const b = ctn_batch_create(model, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

static void step(ctn_batch *b, int steps)
{
    ctn_error err;
    ck_assert_msg(ctn_batch_step(b, steps, NULL, &err) == CTN_OK, "%s", err.message);
}

enum { NQ = 2, NU = 2, MOST = 9 };

#define SINUSOIDS "controller: {type: sinusoids, frequency: [0.5, 3], range: [[-1, 1], [-2, 2]], ramp: 0.5%s}\n"
static const double sines[] = {1.25, 0.1, 0.4, 0.2, -0.3, 1.5, -0.35};

static const char *sinusoids(const char *more)
{
    static char text[300];
    snprintf(text, sizeof text, SINUSOIDS, more);
    return text;
}

static double sine_at(const double *p, int i, double time)
{
    const double ramp = time < 0.5 ? time / 0.5 : 1;
    return p[1 + 3 * i] + ramp * p[2 + 3 * i] * sin(2 * M_PI * (p[0] * time + p[3 + 3 * i]));
}

// ---- what is told

START_TEST(tells_sinusoids)
{
    load(sinusoids(""));
    ck_assert_int_eq(ctn_model_controller_parameters(model), 7);
    ctn_batch *const b = batch_of(1, "scalar", 1);
    ctn_error err;
    double u[NU];
    ctn_batch_targets(b, u);
    ck_assert_double_eq(u[0], 0.1);
    ck_assert_double_eq(u[1], 0.3);  // what motors say, before the first step
    ck_assert_int_eq(ctn_batch_set_controller(b, sines, &err), CTN_OK);
    for (int k = 0; k < 120; k++) {
        step(b, 1);
        ctn_batch_targets(b, u);
        for (int i = 0; i < NU; i++) ck_assert_double_eq_tol(u[i], sine_at(sines, i, 0.01 * k), 1e-13);
    }
    ctn_batch_free(b);
}
END_TEST

/// Without parameters of its own a scene has the middle of what they may be.
START_TEST(starts_in_the_middle)
{
    double start[7], sigma[7], bounds[7][2];
    load(sinusoids(""));
    ctn_model_controller(model, start, sigma, bounds);
    ck_assert_double_eq(start[0], 1.75);
    ck_assert_double_eq(bounds[0][0], 0.5);
    ck_assert_double_eq(bounds[0][1], 3);
    ck_assert_double_eq(start[1], 0);
    ck_assert_double_eq(bounds[4][1], 2);
    ck_assert_double_eq(bounds[5][1], 2);
    for (int k = 0; k < 7; k++) ck_assert_double_eq_tol(sigma[k], 0.3 * (bounds[k][1] - bounds[k][0]), 1e-15);
    load(sinusoids(", parameters: [1.25, 0.1, 0.4, 0.2, -0.3, 1.5, -0.35]"));
    ctn_model_controller(model, start, NULL, NULL);
    for (int k = 0; k < 7; k++) ck_assert_double_eq(start[k], sines[k]);
}
END_TEST

/// A spline whose control points are alike is that number; of others it is periodic, smooth, and within their hull.
START_TEST(tells_splines)
{
    double p[10], u[NU], before = NAN, first[3];
    ctn_error err;
    load("controller: {type: spline, motors: [b], knots: 5, period: 0.4, range: [-3, 3]}\n");
    ck_assert_int_eq(ctn_model_controller_parameters(model), 5);
    ctn_batch *const b = batch_of(1, NULL, 1);
    for (int k = 0; k < 5; k++) p[k] = 1.5;
    ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
    for (int k = 0; k < 30; k++) {
        step(b, 1), ctn_batch_targets(b, u);
        ck_assert_double_eq_tol(u[1], 1.5, 1e-14);
        ck_assert_double_eq(u[0], 0.1);  // another motor is left alone
    }
    ctn_batch_free(b);
    ctn_batch *const c = batch_of(1, NULL, 1);
    for (int k = 0; k < 5; k++) p[k] = k == 2 ? 1 : 0;
    ck_assert_int_eq(ctn_batch_set_controller(c, p, &err), CTN_OK);
    double most = 0, sum = 0;
    for (int k = 0; k < 80; k++) {
        step(c, 1), ctn_batch_targets(c, u);
        if (k < 3) first[k] = u[1];
        if (k >= 40 && k < 43) ck_assert_double_eq_tol(u[1], first[k - 40], 1e-13);
        if (k) ck_assert_double_lt(fabs(u[1] - before), 0.11);
        if (k < 40) sum += u[1] / 40;
        most = fmax(most, u[1]), before = u[1];
        ck_assert(u[1] >= -1e-15 && u[1] <= 2. / 3 + 1e-14);
    }
    ck_assert_double_eq_tol(most, 2. / 3, 1e-12);  // at the knot itself, which is a multiple of a step
    ck_assert_double_eq_tol(sum, 0.2, 1e-13);      // each control point has the same weight
    ctn_batch_free(c);
}
END_TEST

/// A spline that is played once goes from its first control point to its last one, which it keeps: at knots it is what its control
/// points beside them say, at both ends it is at rest, and it has two continuous derivatives.
START_TEST(plays_splines_once)
{
    enum { KNOTS = 5, PARTS = 10, STEPS_OF_IT = (KNOTS + 1) * PARTS };
    static const double p[KNOTS] = {-1, 2, 0.5, -2.5, 1.5};
    double u[STEPS_OF_IT + 40], other[NU], told[NU];
    ctn_error err;
    load("controller: {type: spline, motors: [b], knots: 5, duration: 0.6, range: [-3, 3]}\n");
    ck_assert_int_eq(ctn_model_controller_parameters(model), KNOTS);
    ctn_batch *const b = batch_of(1, NULL, 1);
    ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
    for (int k = 0; k < STEPS_OF_IT + 40; k++) step(b, 1), ctn_batch_targets(b, told), u[k] = told[1];
    ctn_batch_free(b);
    ck_assert_double_eq_tol(u[0], p[0], 1e-14);
    for (int k = 0; k < KNOTS; k++) {
        const double before = p[k ? k - 1 : 0], after = p[k < KNOTS - 1 ? k + 1 : k];
        ck_assert_double_eq_tol(u[(k + 1) * PARTS], (before + 4 * p[k] + after) / 6, 1e-12);
    }
    for (int k = STEPS_OF_IT; k < STEPS_OF_IT + 40; k++) ck_assert_double_eq_tol(u[k], p[KNOTS - 1], 1e-14);
    // of the first and last interval the curve is a cube: (p1 - p0) x^3 / 6
    for (int k = 0; k <= PARTS; k++) {
        const double cube = pow((double)k / PARTS, 3) / 6;
        ck_assert_double_eq_tol(u[k], p[0] + (p[1] - p[0]) * cube, 1e-12);
        ck_assert_double_eq_tol(u[STEPS_OF_IT - k], p[KNOTS - 1] + (p[KNOTS - 2] - p[KNOTS - 1]) * cube, 1e-12);
    }
    // third differences are those of pieces of cubes, and nowhere those of a jump of a second derivative: |B'''| h^3
    for (int k = 0; k + 3 < STEPS_OF_IT + 40; k++)
        ck_assert_double_lt(fabs(u[k + 3] - 3 * u[k + 2] + 3 * u[k + 1] - u[k]), 14. / pow(PARTS, 3));

    // saved states belong to it alone
    ctn_batch *const once = batch_of(1, NULL, 1);
    const size_t size = ctn_batch_saved_size(once);
    void *const saved = malloc(size);
    ctn_batch_save(once, saved), ctn_batch_free(once);
    load("controller: {type: spline, motors: [b], knots: 5, period: 0.6, range: [-3, 3]}\n");
    ctn_batch *const again = batch_of(1, NULL, 1);
    ck_assert_int_ne(ctn_batch_restore(again, saved, size, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_set_controller(again, p, &err), CTN_OK);
    step(again, 1), ctn_batch_targets(again, other);
    ck_assert_double_eq_tol(other[1], (p[KNOTS - 1] + 4 * p[0] + p[1]) / 6, 1e-14);
    ctn_batch_free(again), free(saved);
}
END_TEST

/// A dog's legs, each a hinge and a slider, which weigh so little that nothing matters but what they are told.
static void load_legs(const char *controller)
{
    static const char *const legs[] = {"fl", "fr", "hl", "hr"};
    char text[6000] = "catena: 1\nlinks:\n";
    ctn_error err;
    for (int k = 0; k < 4; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "  - {name: %s, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                 "  - {name: %s_foot, parent: %s, joint: {type: prismatic, axis: [0, 0, 1]}, mass: 1, inertia: [1, 1, 1, 0, 0, "
                 "0]}\n",
                 legs[k], legs[k], legs[k]);
    strcat(text, "motors:\n");
    for (int k = 3; k >= 0; k--)  // in another order than that of legs
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "  - {joint: %s_foot, type: position, kp: 40, kd: 2}\n  - {joint: %s, type: position, kp: 40, kd: 2}\n", legs[k],
                 legs[k]);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s" STEPS, controller);
    ctn_model_free(model), ctn_scene_free(scene);
    scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
}

#define LEGS "legs: [[fl, fl_foot], [fr, fr_foot], [hl, hl_foot], [hr, hr_foot]]"

/// What `gaits` make of a leg's cycles.
static double step_at(double cycles, double duty, const double *joint)
{
    const double r = cycles - floor(cycles), swing = (r - duty) / (1 - duty), way = r < duty ? r / duty : swing;
    return joint[0] + joint[1] * (r < duty ? 1 : -1) * cos(M_PI * way) + (r < duty ? 0 : joint[2] * pow(sin(M_PI * swing), 2));
}

/// All legs do the same at phases of their own, which are given or the parameters'; mirrored joints to the other side.
START_TEST(tells_gaits)
{
    static const char *const sections[] = {
        "controller: {type: gait, " LEGS ", phases: [0, 0.5, 0.5, 1], mirror: [fr, hr], frequency: [1, 3], "
        "range: [[-1, 1], [-0.5, 0.1]]}\n",
        "controller: {type: gait, " LEGS ", mirror: [fr, hr], frequency: [1, 3], duty: [0.2, 0.9], range: [-1, 1], ramp: 0.5}\n"};
    static const double fixed[] = {2.2, 0.6, 0.3, -0.2, 0.1, -0.3, 0.05, 0.15},
                        searched[] = {2.2, 0.6, 0.25, 0.7, -0.4, 0.3, -0.2, 0.1, -0.3, 0.05, 0.15};
    const double *const p = _i ? searched : fixed, *const joints = p + (_i ? 5 : 2);
    const double phases[2][4] = {{0, 0.5, 0.5, 1}, {0, 0.25, 0.7, -0.4}};
    double u[8], before[8] = {0}, rate[8] = {0};
    ctn_error err;
    load_legs(sections[_i]);
    ck_assert_int_eq(ctn_model_controller_parameters(model), _i ? 11 : 8);
    ctn_batch *const b = batch_of(1, NULL, 1);
    ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
    for (int k = 0; k < 150; k++) {
        const double time = 0.01 * k, ramp = _i && time < 0.5 ? time / 0.5 : 1;
        step(b, 1), ctn_batch_targets(b, u);
        for (int leg = 0; leg < 4; leg++)
            for (int j = 0; j < 2; j++) {
                const int at = 2 * (3 - leg) + 1 - j;
                const double *const of = joints + 3 * j, sign = j == 0 && leg % 2 ? -1 : 1;
                const double is = of[0] + ramp * (step_at(p[0] * time + phases[_i][leg], p[1], of) - of[0]);
                ck_assert_double_eq_tol(u[at], sign * is, 1e-12);
                // no jump, and none in its rate: of a curve that turns in a cycle of 0.45 s
                if (k > 0) ck_assert_double_lt(fabs(u[at] - before[at]), 0.09);
                if (k > 1) ck_assert_double_lt(fabs(u[at] - before[at] - rate[at]), 0.02);
                rate[at] = k > 0 ? u[at] - before[at] : 0, before[at] = u[at];
            }
    }
    ctn_batch_free(b);
}
END_TEST

/// Where they are looked for.
START_TEST(looks_for_gaits)
{
    double start[11], bounds[11][2];
    load_legs("controller: {type: gait, " LEGS ", frequency: [1, 3], range: [[-1, 1], [-0.5, 0.1]]}\n");
    ctn_model_controller(model, start, NULL, bounds);
    static const double lower[] = {1, 0.5, -1, -1, -1, -1, -1, -1, -0.5, -0.3, -0.3},
                        upper[] = {3, 0.8, 1, 1, 1, 1, 1, 1, 0.1, 0.3, 0.3};
    for (int k = 0; k < 11; k++) {
        ck_assert_double_eq_tol(bounds[k][0], lower[k], 1e-15);
        ck_assert_double_eq_tol(bounds[k][1], upper[k], 1e-15);
        ck_assert_double_eq_tol(start[k], (lower[k] + upper[k]) / 2, 1e-15);
    }
}
END_TEST

/// Networks against the same sums with the C library's tanh.
START_TEST(tells_networks)
{
    static const struct {
        const char *section;
        int layers, width[3];
    } cases[] = {
        {"controller: {type: linear, sensors: all, scale: [2, 5], range: [[-1, 1], [0, 4]]}\n", 1, {2}},
        {"controller: {type: tanh, sensors: [tip, angle], scale: [5, 2], hidden: [7], range: [[-1, 1], [0, 4]]}\n", 2, {7, 2}},
        {"controller: {type: tanh, sensors: [angle, tip], scale: [2, 5], hidden: [6, 3], range: [[-1, 1], [0, 4]]}\n",
         3,
         {6, 3, 2}}};
    load(cases[_i].section);
    const int count = ctn_model_controller_parameters(model);
    int expected = 0, in = 4;
    for (int l = 0; l < cases[_i].layers; in = cases[_i].width[l++]) expected += cases[_i].width[l] * (in + 1);
    ck_assert_int_eq(count, expected);
    double *const p = malloc((size_t)count * sizeof *p), sensed[4], u[NU];
    for (int k = 0; k < count; k++) p[k] = sin(1.3 * k * k + 0.7);
    ctn_batch *const b = batch_of(1, NULL, 1);
    ctn_error err;
    ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
    for (int s = 0; s < 40; s++) {
        double x[8], y[8];
        ck_assert_int_eq(ctn_batch_sensors(b, sensed, &err), CTN_OK);
        const bool turned = _i == 1;
        for (int j = 0; j < 4; j++) x[j] = turned ? j < 3 ? sensed[1 + j] / 5 : sensed[0] / 2 : j ? sensed[j] / 5 : sensed[0] / 2;
        int at = 0, width = 4;
        for (int l = 0; l < cases[_i].layers; width = cases[_i].width[l++]) {
            for (int i = 0; i < cases[_i].width[l]; i++) {
                y[i] = p[at++];
                for (int j = 0; j < width; j++) y[i] += p[at++] * x[j];
            }
            for (int i = 0; i < cases[_i].width[l]; i++) x[i] = _i ? tanh(y[i]) : y[i];
        }
        step(b, 1), ctn_batch_targets(b, u);
        ck_assert_double_eq_tol(u[0], x[0], 1e-14);
        ck_assert_double_eq_tol(u[1], 2 + 2 * x[1], 4e-14);
    }
    ctn_batch_free(b), free(p);
}
END_TEST

/// Targets stay for `every` seconds of the world's time, whatever calls the steps are made in.
START_TEST(tells_now_and_then)
{
    double u[NU];
    ctn_error err;
    load(sinusoids(", every: 0.03"));
    ctn_batch *const b = batch_of(1, NULL, 1);
    ck_assert_int_eq(ctn_batch_set_controller(b, sines, &err), CTN_OK);
    for (int k = 0; k < 100; k++) {
        step(b, 1), ctn_batch_targets(b, u);
        ck_assert_double_eq_tol(u[0], sine_at(sines, 0, 0.01 * (k / 3 * 3)), 1e-13);
    }
    ctn_batch_free(b);
}
END_TEST

// ---- who tells it

/// The same bits as worlds that are told the same by their parameters, step by step.
START_TEST(tells_as_parameters_do)
{
    enum { WORLDS = 5, STEPS_MADE = 60 };
    double p[WORLDS * 7], u[WORLDS * NU], values[WORLDS * NU], q[2][WORLDS * NQ], v[2][WORLDS * NQ];
    ctn_parameter list[NU];
    ctn_error err;
    load(sinusoids(""));
    for (int k = 0; k < WORLDS * 7; k++) p[k] = sines[k % 7] * (1 + 0.01 * k);
    ctn_batch *const told = batch_of(WORLDS, NULL, 1);
    ck_assert_int_eq(ctn_batch_set_controller(told, p, &err), CTN_OK);
    char text[4000];
    snprintf(text, sizeof text, LINKS STEPS);
    ctn_scene *const plain = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ctn_model *const of = ctn_model_create(plain, &err);
    ctn_batch_config cfg = ctn_scene_config(plain);
    ctn_model_target_parameters(of, list);
    cfg.worlds = WORLDS, cfg.parameters = list, cfg.parameter_count = NU;
    ctn_batch *const set = ctn_batch_create(of, &cfg, &err);
    ck_assert_msg(set != NULL, "%s", err.message);
    for (int k = 0; k < STEPS_MADE; k++) {
        step(told, 1), ctn_batch_targets(told, u);
        for (int w = 0; w < WORLDS; w++) memcpy(values + w * NU, u + w * NU, sizeof *u * NU);
        ck_assert_int_eq(ctn_batch_set_parameters(set, values, &err), CTN_OK);
        step(set, 1);
        ctn_batch_state(told, q[0], v[0]), ctn_batch_state(set, q[1], v[1]);
        ck_assert(!memcmp(q[0], q[1], sizeof q[0]) && !memcmp(v[0], v[1], sizeof v[0]));
    }
    ctn_batch_free(told), ctn_batch_free(set), ctn_model_free(of), ctn_scene_free(plain);
}
END_TEST

/// Every engine, number of threads and of steps a call: each world has the bits that it has alone.
START_TEST(same_bits)
{
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    const char *const network = "controller: {type: tanh, sensors: all, hidden: [5], range: [-1, 1], every: 0.02}\n";
    ctn_error err;
    load(_i ? network : sinusoids(", every: 0.02"));
    const size_t count = (size_t)ctn_model_controller_parameters(model);
    double *const p = malloc(MOST * count * sizeof *p), q[MOST * NQ], alone[MOST * NQ];
    for (size_t k = 0; k < MOST * count; k++) p[k] = _i ? sin(1.7 * (double)k) : sines[k % 7] * (1 + 0.003 * (double)k);
    for (int w = 0; w < MOST; w++) {
        ctn_batch *const b = batch_of(1, "scalar", 1);
        ck_assert_int_eq(ctn_batch_set_controller(b, p + (size_t)w * count, &err), CTN_OK);
        for (int k = 0; k < 50; k++) step(b, 1);
        ctn_batch_state(b, alone + w * NQ, NULL);
        ctn_batch_free(b);
    }
    for (size_t e = 0; e < 3; e++)
        for (int threads = 1; threads < 3; threads++) {
            ctn_batch_config cfg = ctn_scene_config(scene);
            cfg.worlds = MOST, cfg.engine = engines[e], cfg.threads = threads;
            ctn_batch *const b = ctn_batch_create(model, &cfg, &err);
            if (!b) continue;  // a CPU without it
            ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
            step(b, 17), step(b, 33);
            ctn_batch_state(b, q, NULL);
            ck_assert_msg(!memcmp(q, alone, sizeof q), "%s, %d threads", engines[e], threads);
            ctn_batch_free(b);
        }
    free(p);
}
END_TEST

/// Motors that the controller does not tell are told what their worlds say.
START_TEST(leaves_others_alone)
{
    enum { WORLDS = 3 };
    double values[WORLDS], q[WORLDS * NQ], u[WORLDS * NU], p[WORLDS * 2];
    ctn_parameter list[NU];
    ctn_error err;
    load("controller: {type: spline, motors: [b], knots: 2, period: 1, range: [-1, 1]}\n");
    ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_model_target_parameters(model, list);
    cfg.worlds = WORLDS, cfg.parameters = list, cfg.parameter_count = 1;
    ctn_batch *const b = ctn_batch_create(model, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    for (int w = 0; w < WORLDS; w++) values[w] = 0.3 * (w + 1), p[2 * w] = p[2 * w + 1] = 0.1 * w;
    ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, &err), CTN_OK);
    step(b, 20);
    for (int w = 0; w < WORLDS; w++) values[w] += 0.05;
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, &err), CTN_OK);
    step(b, 1);
    ctn_batch_targets(b, u), ctn_batch_state(b, q, NULL);
    for (int w = 0; w < WORLDS; w++) {
        ck_assert_double_eq(u[w * NU], values[w]);
        ck_assert_double_eq_tol(u[w * NU + 1], 0.1 * w, 1e-15);
        if (w) ck_assert_double_gt(q[w * NQ], q[(w - 1) * NQ] + 0.01);
    }
    ctn_batch_free(b);
}
END_TEST

/// Worlds that have made their steps are told nothing more, whoever goes on beside them.
START_TEST(rests_at_horizons)
{
    double p[MOST * 7], u[2][MOST * NU];
    uint64_t hash[2][MOST];
    int horizon[MOST];
    ctn_error err;
    load(sinusoids(""));
    for (int k = 0; k < MOST * 7; k++) p[k] = sines[k % 7] * (1 + 0.003 * k);
    for (int w = 0; w < MOST; w++) horizon[w] = 5 + 3 * (w % 4);
    for (int e = 0; e < 2; e++) {
        ctn_batch *const b = batch_of(MOST, e ? NULL : "scalar", 1);
        ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
        ck_assert_int_eq(ctn_batch_run(b, &(ctn_run){.steps = 20, .horizon = horizon}, NULL, &err), CTN_OK);
        ctn_batch_targets(b, u[e]), ctn_batch_hashes(b, hash[e]);
        for (int w = 0; w < MOST; w++)
            ck_assert_double_eq_tol(u[e][w * NU], sine_at(p + 7 * w, 0, 0.01 * (horizon[w] - 1)), 1e-13);
        ctn_batch_free(b);
    }
    ck_assert(!memcmp(u[0], u[1], sizeof u[0]) && !memcmp(hash[0], hash[1], sizeof hash[0]));
}
END_TEST

/// A saved state has what motors were told; it goes on between two times that they are.
START_TEST(goes_on_where_it_was)
{
    double q[2][NQ], u[2][NU];
    ctn_error err;
    load(sinusoids(", every: 0.05"));
    ctn_batch *const b = batch_of(1, NULL, 1), *const c = batch_of(1, NULL, 1);
    ck_assert_int_eq(ctn_batch_set_controller(b, sines, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_set_controller(c, sines, &err), CTN_OK);
    step(b, 23);
    const size_t size = ctn_batch_saved_size(b);
    void *const block = malloc(size);
    ctn_batch_save(b, block);
    step(b, 9);
    ctn_batch_state(b, q[0], NULL), ctn_batch_targets(b, u[0]);
    step(c, 3);
    ck_assert_msg(ctn_batch_restore(c, block, size, &err) == CTN_OK, "%s", err.message);
    step(c, 9);
    ctn_batch_state(c, q[1], NULL), ctn_batch_targets(c, u[1]);
    ck_assert(!memcmp(q[0], q[1], sizeof q[0]) && !memcmp(u[0], u[1], sizeof u[0]));
    double start_q[NQ] = {0}, start_v[NQ] = {0};
    ck_assert_int_eq(ctn_batch_set_state(c, start_q, start_v, 0, &err), CTN_OK);
    ctn_batch_targets(c, u[1]);
    ck_assert_double_eq(u[1][0], 0.1);  // nothing was told yet
    ctn_batch_free(b), ctn_batch_free(c), free(block);
}
END_TEST

/// What a target that jumps stores in a servo is work, and none of the method's making.
START_TEST(jumps_are_work)
{
    ctn_error err;
    ctn_step_stats s;
    load(sinusoids(", every: 0.1"));
    ctn_batch *const b = batch_of(1, NULL, 1);
    ck_assert_int_eq(ctn_batch_set_controller(b, sines, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 300, &s, &err), CTN_OK);
    ck_assert_double_gt(fabs(s.work), 5);
    ck_assert_double_lt(fabs(s.created), 0.02 * fabs(s.work));
    ctn_batch_free(b);
}
END_TEST

/// A thruster is told, too, within its limits.
START_TEST(tells_thrusters)
{
    static const char text[] = "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                               "  - {name: a, joint: {type: prismatic, axis: [0, 0, 1]}, mass: 2, inertia: [1, 1, 1, 0, 0, 0]}\n"
                               "motors: [{link: a, type: thrust, limits: [0, 4]}]\n"
                               "controller: {type: spline, knots: 2, period: 1, range: [0, 10]}\n" STEPS;
    ctn_error err;
    ctn_model_free(model), ctn_scene_free(scene);
    scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    for (int k = 0; k < 2; k++) {
        const double force = k ? 7 : 3, p[2] = {force, force};
        double v;
        ctn_batch *const b = batch_of(1, NULL, 1);
        ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_OK);
        step(b, 100);
        ctn_batch_state(b, NULL, &v);
        ck_assert_double_eq_tol(v, fmin(force, 4) / 2, 1e-10);
        ctn_batch_free(b);
    }
}
END_TEST

#define ROD(name, place)                                                                                                         \
    "  - {name: " name ", " place ", density: 1000, shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], radius: "         \
    "0.02}]}\n"
#define HINGE "position: [0.2, 0, 0], joint: {type: revolute, axis: [0, 0, 1]}"

/// Four equal links whose drag is the same in all directions, in proportion to their mass, swim nowhere, whatever they do: the drag
/// on all of them is that on their centre of mass. Drag across rods alone drives them.
START_TEST(swims_by_drag_across)
{
    char text[3000];
    snprintf(text, sizeof text,
             "catena: 1\ngravity: [0, 0, 0]\nlinks:\n" ROD("a", "joint: free") ROD("b", "parent: a, " HINGE)
                 ROD("c", "parent: b, " HINGE) ROD(
                     "d", "parent: c, " HINGE) "motors:\n"
                                               "  - {joint: b, type: position, kp: 5, kd: 0.05}\n"
                                               "  - {joint: c, type: position, kp: 5, kd: 0.05}\n"
                                               "  - {joint: d, type: position, kp: 5, kd: 0.05}\n"
                                               "fluid: {drag: {%s, law: linear}}\nsensors: [{name: com, type: com}, {name: tip, "
                                               "type: position, link: a}]\n"
                                               "controller: {type: sinusoids, frequency: [0.5, 2], range: [-40 deg, 40 deg],\n"
                                               "  parameters: [1.5, 0, 0.6, 0, 0.1, 0.6, 0.2, 0, 0.5, 0.45]}\n"
                                               "integrator: {method: radau, dt: 0.02, tolerance: 1e-13}\n",
             _i ? "normal: 40, tangential: 4, over: axis" : "coefficient: 5, over: mass");
    ctn_error err;
    ctn_model_free(model), ctn_scene_free(scene);
    scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    ctn_batch *const b = batch_of(1, NULL, 1);
    double before[6], now[6], far = 0, moved = 0;
    ck_assert_int_eq(ctn_batch_sensors(b, before, &err), CTN_OK);
    for (int k = 0; k < 250; k++) {
        step(b, 1);
        ck_assert_int_eq(ctn_batch_sensors(b, now, &err), CTN_OK);
        for (int i = 0; i < 3; i++)
            far = fmax(far, fabs(now[i] - before[i])), moved = fmax(moved, fabs(now[3 + i] - before[3 + i]));
    }
    ck_assert_double_gt(moved, 0.05);
    if (_i) ck_assert_double_gt(far, 0.02);
    else ck_assert_double_lt(far, 1e-9);
    ctn_batch_free(b);
}
END_TEST

START_TEST(refuses)
{
    ctn_error err;
    double p[7] = {1, 0, 0, 0, 0, NAN, 0};
    load(sinusoids(""));
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.parallel = CTN_PARALLEL_LINKS;
    ck_assert_int_eq(ctn_batch_check(model, &cfg, &err), CTN_BAD_CONFIG);
    ck_assert_msg(strstr(err.message, "takes no `controller` in this version; take worlds"), "%s", err.message);
    cfg.parallel = CTN_PARALLEL_WORLDS;
    ck_assert_ptr_null(ctn_tape_create(model, &cfg, 10, &err));
    ck_assert_msg(strstr(err.message, "controller: "), "%s", err.message);
    ctn_batch *const b = batch_of(1, NULL, 1);
    ck_assert_int_eq(ctn_batch_set_controller(b, p, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "parameter 5 of the controller of world 0 is not finite"), "%s", err.message);
    ctn_batch_free(b);
    load("");
    ctn_batch *const c = batch_of(1, NULL, 1);
    ck_assert_int_eq(ctn_model_controller_parameters(model), 0);
    ck_assert_int_eq(ctn_batch_set_controller(c, sines, &err), CTN_BAD_ARGUMENT);
    ctn_batch_free(c);
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("all");
    Suite *const suite = suite_create("controller");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, tells_sinusoids), tcase_add_test(t, starts_in_the_middle), tcase_add_test(t, tells_splines);
    tcase_add_test(t, plays_splines_once);
    tcase_add_loop_test(t, tells_gaits, 0, 2), tcase_add_test(t, looks_for_gaits);
    tcase_add_loop_test(t, tells_networks, 0, 3);
    tcase_add_test(t, tells_now_and_then), tcase_add_test(t, tells_as_parameters_do);
    tcase_add_loop_test(t, same_bits, 0, 2);
    tcase_add_test(t, leaves_others_alone), tcase_add_test(t, rests_at_horizons);
    tcase_add_test(t, goes_on_where_it_was), tcase_add_test(t, jumps_are_work), tcase_add_test(t, tells_thrusters);
    tcase_add_loop_test(t, swims_by_drag_across, 0, 2);
    tcase_add_test(t, refuses);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
