/// What spins or rolls by steps of its own size (`dt: auto`), by small steps, between the steps (dense output), on from a saved
/// state, and on a terrain.
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    ctn_method method;
    int stages;
} ways[] = {{"order 2", CTN_COLLOCATION, 0}, {"alpha", CTN_ALPHA, 0}, {"radau 2", CTN_RADAU, 2}, {"radau 3", CTN_RADAU, 3}};
enum { WAYS = sizeof ways / sizeof *ways, MOST = 40 };  // numbers of a state

static ctn_batch_config config_of(int way, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = dt;
    if (ways[way].stages) cfg.stages = ways[way].stages;
    return cfg;
}

/// Intervals of half a second in parts that meet the tolerance.
static ctn_batch_config automatic(int way, double tolerance)
{
    ctn_batch_config cfg = config_of(way, 0.5);
    cfg.adaptive = true, cfg.error_tolerance = tolerance;
    return cfg;
}

static ctn_model *scene(const char *text)
{
    char whole[3000];
    snprintf(whole, sizeof whole, "catena: 1\n%s", text);
    return model_of(whole);
}

/// The state x [nq + nv] after `steps` from the scene's own.
static ctn_step_stats run(const ctn_model *m, const ctn_batch_config *cfg, int steps, double *x)
{
    ctn_step_stats k;
    ctn_batch *const b = batch_with(m, cfg);
    ck_assert_int_eq(ctn_batch_step(b, steps, &k, NULL), CTN_OK);
    ctn_batch_state(b, x, x + ctn_model_nq(m));
    ctn_batch_free(b);
    return k;
}

/// The same of an explicit method of order 8.
static void exact(const ctn_model *m, double time, double *x)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_DOP853, cfg.adaptive = true, cfg.error_tolerance = 1e-13, cfg.dt = time / 4;
    run(m, &cfg, 4, x);
}

#define WHEEL(more)                                                                                                              \
    "links:\n  - {name: wheel, mass: 2, inertia: [0.01, 0.01, 0.02, 0, 0, 0], joint: {type: revolute, axis: [0, 0, 1]" more "}}" \
    "\n"
#define ROTOR "links:\n  - {name: wheel, mass: 2, inertia: [0.01, 0.01, 0, 0, 0, 0], joint: {type: revolute, armature: 0.02"
#define TORQUE "motors: [{joint: wheel, type: torque, target: 1}]\n"
#define FAN(speed)                                                                                                               \
    "links:\n"                                                                                                                   \
    "  - {name: arm, joint: {type: revolute, axis: [0, 0, 1], v0: 1}, mass: 0.7, com: [0.15, 0, 0], inertia: [0.0003, 0.005, "   \
    "0.005, 0, 0, 0]}\n"                                                                                                         \
    "  - {name: l1, parent: arm, position: [0.3, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.2, 0, 0], "   \
    "inertia: [0.0003, 0.013, 0.013, 0, 0, 0]}\n"                                                                                \
    "  - {name: fan, parent: l1, position: [0.4, 0.05, 0], joint: {type: revolute, axis: [0, 1, 0], v0: " speed "}, mass: 0.5, " \
    "inertia: [0.002, 0.004, 0.002, 0, 0, 0]}\n"
#define BALL_ON_ARM                                                                                                              \
    "links:\n"                                                                                                                   \
    "  - {name: arm, joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.7, com: [0.15, 0, 0], inertia: [0.0003, 0.005, 0.005, "   \
    "0, 0, 0]}\n"                                                                                                                \
    "  - {name: ball, parent: arm, position: [0.3, 0, 0], joint: {type: ball, v0: [5, 20, 3], damping: 0.001}, mass: 0.5, "      \
    "inertia: [0.002, 0.002, 0.002, 0, 0, 0]}\n"

// ---- dt: auto

/// A wheel that nothing drives keeps its speed, and parts grow to the whole interval, however fast it is.
START_TEST(free_wheel)
{
    enum { INTERVALS = 60, BEGIN = 15 };  // parts that it takes from the first, small one
    ctn_model *const m = scene(WHEEL(", v0: 500"));
    double x[2];
    const ctn_batch_config cfg = automatic(_i, 1e-6);
    const ctn_step_stats k = run(m, &cfg, INTERVALS, x);
    ck_assert_msg(fabs(x[1] / 500 - 1) < 1e-9 && fabs(x[0] - 15000) < 1e-5, "%s: %.12g rad/s, at %.12g", ways[_i].name, x[1],
                  x[0]);
    ck_assert_msg(k.substeps <= INTERVALS + BEGIN && !k.rejected, "%s: %ld parts, %ld rejected", ways[_i].name, k.substeps,
                  k.rejected);
    ctn_model_free(m);
}
END_TEST

/// One that is driven needs few more parts than a rotor that is the armature of its hinge, and errors are within the tolerance of
/// the way.
START_TEST(driven_wheel)
{
    ctn_model *const m = scene(WHEEL(", damping: 0.01") TORQUE), *const rotor = scene(ROTOR ", damping: 0.01}}\n" TORQUE);
    for (double tolerance = 1e-4; tolerance > 1e-7; tolerance *= 0.1) {
        double x[2], y[2];
        const ctn_batch_config cfg = automatic(_i, tolerance);
        const ctn_step_stats k = run(m, &cfg, 8, x), other = run(rotor, &cfg, 8, y);
        const double v = 100 * (1 - exp(-2)), q = 100 * (4 - 2 * (1 - exp(-2)));
        ck_assert_msg(fabs(x[0] / q - 1) < tolerance && fabs(x[1] / v - 1) < tolerance,
                      "%s, tolerance %g: off by %g rad, %g rad/s", ways[_i].name, tolerance, x[0] - q, x[1] - v);
        ck_assert_msg((double)k.substeps < (_i < 3 ? 1.1 : 1.7) * (double)other.substeps,
                      "%s, tolerance %g: %ld parts, by armature %ld", ways[_i].name, tolerance, k.substeps, other.substeps);
    }
    ctn_model_free(m), ctn_model_free(rotor);
}
END_TEST

/// A fan on swinging arms, which it turns as a gyroscope, and a ball that an arm carries: errors follow the tolerance; and of the
/// fan, parts are no more than where it stands.
START_TEST(carried)
{
    ctn_model *const m[] = {scene(FAN("30")), scene(BALL_ON_ARM), scene(FAN("0"))};
    for (int s = 0; s < 2; s++) {
        double right[MOST], x[MOST];
        exact(m[s], 1, right);
        for (double tolerance = 1e-3; tolerance > 1e-6; tolerance *= 0.1) {
            const ctn_batch_config cfg = automatic(_i, tolerance);
            const ctn_step_stats k = run(m[s], &cfg, 2, x);
            const double off = coordinate_distance(m[s], x, right);
            ck_assert_msg(off < 20 * tolerance, "%s, scene %d, tolerance %g: off by %g", ways[_i].name, s, tolerance, off);
            if (s == 1) continue;
            const ctn_step_stats stands = run(m[2], &cfg, 2, x);
            ck_assert_msg((double)k.substeps < 1.3 * (double)stands.substeps, "%s, tolerance %g: %ld parts, where it stands %ld",
                          ways[_i].name, tolerance, k.substeps, stands.substeps);
        }
    }
    for (int s = 0; s < 3; s++) ctn_model_free(m[s]);
}
END_TEST

/// What a top does is known to its frames: parts grow to the whole interval.
START_TEST(free_top)
{
    enum { INTERVALS = 8, BEGIN = 15 };
    ctn_model *const m =
        scene("gravity: [0, 0, 0]\nlinks:\n  - {name: top, joint: {type: free, v0: [0, 0, 0, 2, 0.1, 10]}, mass: 1, "
              "inertia: [1, 1.5, 2, 0, 0, 0]}\n");
    double x[MOST], right[MOST];
    const ctn_batch_config cfg = automatic(_i, 1e-4);
    const ctn_step_stats k = run(m, &cfg, INTERVALS, x);
    exact(m, 0.5 * INTERVALS, right);
    const double off = coordinate_distance(m, x, right);
    ck_assert_msg(off < 1e-4 && k.substeps <= INTERVALS + BEGIN, "%s: %ld parts, off by %g", ways[_i].name, k.substeps, off);
    ctn_model_free(m);
}
END_TEST

/// Steps of order 2 that gyroscopes make fail go by chords in the end, but a wheel on a fixed axis beside them keeps its speed.
START_TEST(beside_what_fails)
{
    ctn_model *const m = scene(
        "links:\n  - {name: l0, joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0], q0: [0.41, 0.49], v0: [0.7, -0.18]}, "
        "mass: 0.81, com: [-0.017, -0.024, -0.023], inertia: [0.0047, 0.006, 0.01, 0, 0, 0]}\n"
        "  - {name: w0, parent: l0, position: [-0.23, 0.115, 0.068], joint: {type: revolute, axis: [0, 0, 1], v0: -315}, mass: "
        "1.37, "
        "inertia: [0.00835, 0.00835, 0.00364, 0, 0, 0]}\n"
        "  - {name: w1, parent: l0, position: [0.24, 0.009, -0.096], joint: {type: revolute, axis: [0, 0, 1], v0: -680, damping: "
        "0.0018, "
        "armature: 0.00065}, mass: 0.955, inertia: [0.00427, 0.00427, 0.00577, 0, 0, 0]}\n"
        "  - {name: free, joint: {type: revolute, axis: [0, 0, 1], v0: 417}, mass: 0.44, inertia: [0.015, 0.015, 0.027, 0, 0, "
        "0]}\n"
        "motors:\n  - {joint: w1, type: velocity, target: 790, kd: 0.028}\n");
    double x[MOST];
    long failed = 0;
    for (double dt = 0.02; dt < 0.06; dt += 0.01) {
        ctn_batch_config cfg = config_of(_i, dt);
        const ctn_step_stats k = run(m, &cfg, (int)lround(5 / dt), x);
        failed += k.fewer_stages;
        ck_assert_msg(!k.frozen && fabs(x[5 + 4] / 417 - 1) < 1e-8, "%s, dt %g: %g rad/s", ways[_i].name, dt, x[5 + 4]);
    }
    ck_assert_int_gt(failed, 0);
    ctn_model_free(m);
}
END_TEST

/// A torque that turns a wheel from rest by more than a radian in a step has no answer in it but a turn further on: smaller
/// steps.
START_TEST(strong_motor)
{
    ctn_model *const m =
        scene("links:\n  - {name: wheel, joint: {type: revolute, axis: [0, 0, 1], damping: 0.009}, mass: 0.25, inertia: "
              "[0.012, 0.012, 0.0062, 0, 0, 0]}\nmotors: [{joint: wheel, type: torque, target: 3.1}]\n");
    double x[2];
    const ctn_batch_config cfg = config_of(_i, 0.05);
    run(m, &cfg, 200, x);
    ck_assert_msg(fabs(x[1] / (3.1 / 0.009) - 1) < 1e-4, "%s: %g rad/s", ways[_i].name, x[1]);
    ctn_model_free(m);
}
END_TEST

// ---- small steps

/// The guess of a step knows that a ball is carried along: it is solved in one iteration, and what the usual tolerance leaves
/// does not add up to a drift.
START_TEST(carried_ball)
{
    ctn_model *const m = scene(BALL_ON_ARM);
    for (double dt = 2e-3; dt > 3e-4; dt *= 0.2) {
        double x[MOST], y[MOST];
        ctn_batch_config cfg = config_of(_i, dt);
        const ctn_step_stats k = run(m, &cfg, (int)lround(1 / dt), x);
        cfg.tolerance = 1e-14;
        run(m, &cfg, (int)lround(1 / dt), y);
        const double off = coordinate_distance(m, x, y);
        ck_assert_msg(off < 1e-6, "%s, dt %g: off by %g", ways[_i].name, dt, off);
        ck_assert_msg((double)k.iterations < 1.1 * (double)k.steps, "%s, dt %g: %ld iterations in %ld steps", ways[_i].name, dt,
                      k.iterations, k.steps);
    }
    ctn_model_free(m);
}
END_TEST

// ---- between the steps

/// Within a step a wheel of 2 rad a step is where its speed leads. A ball and a top of 0.2 to 0.4 rad are there to the order of
/// the polynomial that goes through the step, of which the worst is order 2's: its velocities are those of both ends.
START_TEST(between_steps)
{
    static const char *const scenes[] = {
        WHEEL(", v0: 100"),
        "links:\n  - {name: ball, joint: {type: ball, v0: [3, 20, 5]}, mass: 1, inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n",
        "gravity: [0, 0, 0]\nlinks:\n  - {name: top, joint: {type: free, v0: [0, 0, 0, 2, 0, 10]}, mass: 1, inertia: [1, 1, 2, "
        "0, 0, "
        "0]}\n"};
    for (int s = 0; s < 3; s++) {
        ctn_model *const m = scene(scenes[s]);
        double q[MOST], v[MOST], right[MOST], time, off[2] = {0};
        for (int fine = 0; fine < 2; fine++) {
            ctn_batch_config cfg = config_of(_i, fine ? 0.01 : 0.02);
            cfg.dense = true;
            ctn_batch *const b = batch_with(m, &cfg);
            ck_assert_int_eq(ctn_batch_step(b, fine ? 50 : 25, NULL, NULL), CTN_OK);
            for (int k = 0; k <= 4; k++) {
                ck_assert_int_eq(ctn_batch_dense(b, 0.25 * k, q, v, &time, NULL), CTN_OK);
                exact(m, time, right);
                off[fine] = fmax(off[fine], coordinate_distance(m, q, right));
            }
            ctn_batch_free(b);
        }
        const bool wheel = s == 0;
        ck_assert_msg(off[0] < (wheel ? 1e-10 : 5e-4) && (off[1] < 0.3 * off[0] || off[1] < 1e-9), "%s, scene %d: off by %g, %g",
                      ways[_i].name, s, off[0], off[1]);
        ctn_model_free(m);
    }
}
END_TEST

// ---- saved states

/// From a saved state parts go on with the same bits.
START_TEST(on_from_saved)
{
    static const char *const scenes[] = {FAN("300"), BALL_ON_ARM, WHEEL(", damping: 0.01") TORQUE};
    for (int s = 0; s < 3; s++) {
        ctn_model *const m = scene(scenes[s]);
        ctn_batch_config cfg = automatic(_i, 1e-3);
        cfg.dt = 0.1;
        ctn_batch *const a = batch_with(m, &cfg), *const b = batch_with(m, &cfg);
        const size_t size = ctn_batch_saved_size(a);
        void *const saved = malloc(size), *const other = malloc(size);
        ck_assert_int_eq(ctn_batch_step(a, 3, NULL, NULL), CTN_OK);
        ctn_batch_save(a, saved);
        ck_assert_int_eq(ctn_batch_restore(b, saved, size, NULL), CTN_OK);
        for (int k = 0; k < 4; k++) ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(a, 4, NULL, NULL), CTN_OK);
        ctn_batch_save(a, saved), ctn_batch_save(b, other);
        ck_assert_mem_eq(saved, other, size);
        free(saved), free(other), ctn_batch_free(a), ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

// ---- terrain

#define BALL                                                                                                                     \
    "contact: {friction: 0.6, depth: 0.001}\nlinks:\n"                                                                           \
    "  - {name: ball, position: [0.0256319045102521, 0, 0.0956595699270146], joint: free, mass: 3, "                             \
    "inertia: [0.012, 0.012, 0.012, 0, 0, 0], shapes: [{type: sphere, radius: 0.1}]}\n"
#define SLOPE 0.26179938779914943654  // 15 degrees, down along x

/// A slope as a field of heights, of 41 by 2 at every half metre, or a level one that is turned.
static ctn_model *slope_of_heights(bool turned)
{
    char text[6000], row[2000] = "", turn[60] = "";
    for (int k = 0; k < 41; k++) sprintf(row + strlen(row), "%s%.17g", k ? ", " : "", turned ? 0 : -tan(SLOPE) * 0.5 * (k - 20));
    if (turned) snprintf(turn, sizeof turn, ", euler: [0, %.17g, 0]", SLOPE);
    snprintf(text, sizeof text, "catena: 1\nterrain: {size: [20, 10], heights: [[%s], [%s]]%s}\n" BALL, row, row, turn);
    return model_of(text);
}

/// A ball rolls down a terrain as it does down the plane of a ground, and by g sin(15 deg)/1.4.
START_TEST(rolls_down_terrain)
{
    ctn_model *const plane = scene("ground: {normal: [0.25881904510252074, 0, 0.9659258262890683]}\n" BALL);
    for (int turned = 0; turned < 2; turned++) {
        ctn_model *const m = slope_of_heights(turned);
        for (int k = 0; k < 3; k++) {
            const double dt = ((double[]){0.005, 0.02, 0.05})[k], right = 9.81 * sin(SLOPE) / 1.4 * 2;
            const ctn_batch_config cfg = config_of(_i, dt);
            double x[13], y[13];
            const ctn_step_stats s = run(m, &cfg, (int)lround(2 / dt), x);
            run(plane, &cfg, (int)lround(2 / dt), y);
            double off = 0;
            for (int j = 0; j < 13; j++) off = fmax(off, fabs(x[j] - y[j]));
            const double along = x[7] * cos(SLOPE) - x[9] * sin(SLOPE);
            ck_assert_msg(!s.frozen && fabs(along / right - 1) < 2e-3 && fabs(x[11] / (right / 0.1) - 1) < 2e-3,
                          "%s, dt %g: %g m/s, %g rad/s, not %g m/s", ways[_i].name, dt, along, x[11], right);
            ck_assert_msg(off < (turned ? 1e-7 : 1e-6), "%s, dt %g: off by %g from the plane", ways[_i].name, dt, off);
        }
        ctn_model_free(m);
    }
    ctn_model_free(plane);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("spin steps");
    TCase *const all = tcase_create("spin steps");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, free_wheel, 1, WAYS);
    tcase_add_loop_test(all, driven_wheel, 1, WAYS);
    tcase_add_loop_test(all, carried, 1, WAYS);
    tcase_add_loop_test(all, free_top, 1, WAYS);
    tcase_add_loop_test(all, beside_what_fails, 0, WAYS);
    tcase_add_loop_test(all, strong_motor, 0, WAYS);
    tcase_add_loop_test(all, carried_ball, 0, WAYS);
    tcase_add_loop_test(all, between_steps, 0, WAYS);
    tcase_add_loop_test(all, on_from_saved, 1, WAYS);
    tcase_add_loop_test(all, rolls_down_terrain, 0, WAYS);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
