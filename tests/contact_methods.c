/// Methods on the ground: they agree; alpha's and radau's steps whose contacts stay keep their order, balls roll on, steps whose
/// contacts change are order 2's, and no step creates energy.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model/model.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/text_model.h"

static const struct {
    const char *name;
    ctn_method method;
    int stages;
    double order;  // at least what is measured
} methods[] = {{"order 2", CTN_COLLOCATION, 1, 0.6},
               {"alpha", CTN_ALPHA, 1, 1.7},
               {"radau 2", CTN_RADAU, 2, 2.8},
               {"radau 3", CTN_RADAU, 3, 3.6}};
enum { METHODS = sizeof methods / sizeof *methods };

static ctn_batch_config config_of(int k, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = dt;
    if (cfg.method == CTN_RADAU) cfg.stages = methods[k].stages;
    if (cfg.method == CTN_COLLOCATION) cfg.order = 2;
    return cfg;
}

/// A block with an arm of two links that swings on it, on a slope.
static ctn_model *swinger(double angle, double friction)
{
    char text[2000];
    snprintf(text, sizeof text,
             "catena: 1\nground: {normal: [%.17g, 0, %.17g]}\ncontact: {friction: %g, depth: 0.002}\nlinks:\n"
             "  - {name: block, euler: [0, %.17g, 0], joint: free, mass: 20, inertia: [0.3, 0.3, 0.5, 0, 0, 0], shapes: [{type: "
             "box, size: [0.6, 0.6, 0.2]}]}\n"
             "  - {name: arm, parent: block, position: [0, 0, 0.3], joint: {type: universal, axis: [0, 1, 0], axis2: [1, 0, 0], "
             "q0: [1.2, 0.3]}, mass: 1, com: [0, 0, -0.2], inertia: [0.02, 0.02, 0.01, 0, 0, 0]}\n"
             "  - {name: tip, parent: arm, position: [0, 0, -0.4], joint: {type: revolute, axis: [0, 1, 0], q0: 0.5}, mass: 0.5, "
             "com: [0, 0, -0.15], inertia: [0.01, 0.01, 0.005, 0, 0, 0]}\n",
             sin(angle), cos(angle), friction, angle);
    return model_of(text);
}

/// The same where it rests, or slides down at 1 m/s.
static ctn_model *swinger_started(bool slides, double *q, double *v)
{
    const double angle = slides ? 0.3 : 0, depth = 0.002 * 0.25 * cos(angle);
    ctn_model *const m = swinger(angle, slides ? 0.1 : 0.9);
    memcpy(q, m->q0, sizeof *q * (size_t)m->nq), memset(v, 0, sizeof *v * (size_t)m->nv);
    q[0] = (0.1 - depth) * sin(angle), q[2] = (0.1 - depth) * cos(angle);
    v[0] = slides * cos(angle), v[2] = -slides * sin(angle);
    return m;
}

/// Where a world of q and v is after 0.8 s in n steps; all of them are the method's own.
static void after_steps(const ctn_model *m, int method, int n, const double *q, const double *v, double *end)
{
    ctn_batch_config cfg = config_of(method, 0.8 / n);
    cfg.tolerance = 1e-11;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
    ctn_batch_step(b, n, &s, NULL), ctn_batch_state(b, end, NULL);
    ck_assert_msg(!s.frozen && s.fallbacks == 0, "%s, %d steps: %ld fell back", methods[method].name, n, s.fallbacks);
    ctn_batch_free(b);
}

/// Contact that stays, sticking or sliding, is as smooth as any spring: methods keep their order. (Of 3 stages, below 1e-4 m, the
/// microseconds show in which friction sets in at the start of sliding.)
START_TEST(contact_that_stays_keeps_order)
{
    for (int slides = 0; slides < 2; slides++) {
        double q[16], v[16], reference[16], end[16], error[2];
        ctn_model *const m = swinger_started(slides, q, v);
        after_steps(m, METHODS - 1, 3200, q, v, reference);
        const int coarse = methods[_i].stages > 1 ? 20 : 160;
        for (int k = 0; k < 2; k++) {
            after_steps(m, _i, coarse << k, q, v, end);
            error[k] = coordinate_distance(m, end, reference);
        }
        const double order = log2(error[0] / error[1]), want = slides && methods[_i].stages == 3 ? 2 : methods[_i].order;
        ck_assert_msg(order > want && error[1] < (_i ? 0.02 : 0.3), "%s, slides %d: errors %g and %g, order %g", methods[_i].name,
                      slides, error[0], error[1], order);
        ctn_model_free(m);
    }
}
END_TEST

/// Methods that share no step agree: explicit ones, the variational one, and steps that choose their size, with 3200 of radau; those
/// of fixed steps to their order.
START_TEST(methods_agree)
{
    static const struct {
        const char *name;
        ctn_method method;
        int stages, steps;
        bool adaptive;
        double tolerance, error[2], order;  // at rest, sliding; of half the steps over this one
    } ways[] = {{"semi-implicit", CTN_SEMI_IMPLICIT, 0, 4000, false, 0, {6e-4, 1e-3}, 0.95},
                {"rk2", CTN_RK2, 0, 2000, false, 0, {2e-5, 2e-5}, 1.95},
                {"rk4", CTN_RK4, 0, 2000, false, 0, {1e-7, 2e-6}, 0},
                {"dop853", CTN_DOP853, 0, 1000, false, 0, {1e-7, 2e-6}, 0},
                {"variational", CTN_VARIATIONAL, 0, 4000, false, 0, {5e-6, 2e-4}, 0.95},
                {"dop853, auto", CTN_DOP853, 0, 16, true, 1e-7, {1e-7, 2e-6}, 0},
                {"radau 3, auto", CTN_RADAU, 3, 16, true, 1e-7, {2e-6, 2e-5}, 0},
                {"alpha, auto", CTN_ALPHA, 0, 16, true, 1e-6, {5e-6, 2e-5}, 0}};
    for (int slides = 0; slides < 2; slides++) {
        double q[16], v[16], reference[16], end[16];
        ctn_model *const m = swinger_started(slides, q, v);
        after_steps(m, METHODS - 1, 3200, q, v, reference);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            double error[2] = {0, 0};
            for (int half = 0; half < 1 + (ways[k].order > 0); half++) {
                ctn_batch_config cfg = ctn_batch_config_default();
                cfg.method = ways[k].method, cfg.adaptive = ways[k].adaptive, cfg.dt = 0.8 / (ways[k].steps >> half);
                if (ways[k].stages) cfg.stages = ways[k].stages;
                if (cfg.adaptive) cfg.error_tolerance = ways[k].tolerance;
                ctn_batch *const b = batch_with(m, &cfg);
                ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
                ck_assert_int_eq(ctn_batch_step(b, ways[k].steps >> half, NULL, NULL), CTN_OK);
                ctn_batch_state(b, end, NULL);
                error[half] = coordinate_distance(m, end, reference);
                ctn_batch_free(b);
            }
            ck_assert_msg(error[0] < ways[k].error[slides], "%s, slides %d: off by %g", ways[k].name, slides, error[0]);
            ck_assert_msg(ways[k].order == 0 || log2(error[1] / error[0]) > ways[k].order, "%s, slides %d: order %g",
                          ways[k].name, slides, log2(error[1] / error[0]));
        }
        ctn_model_free(m);
    }
}
END_TEST

/// Steps that choose their size pass landings, and agree to what such a kink leaves of their tolerance.
START_TEST(landings_are_passed)
{
    static const ctn_method chooses[] = {CTN_DOP853, CTN_RADAU, CTN_ALPHA};
    FOR_SEEDS(seed, 3)
    for (int kind = 0; kind < GROUND_KINDS; kind++) {
        double q[GROUND_MOST], v[GROUND_MOST], end[3][GROUND_MOST];
        ctn_model *const m = ground_model((ground_kind)kind, seed, 0.01, q, v);
        for (int k = 0; k < 3; k++) {
            ctn_batch_config cfg = ctn_batch_config_default();
            cfg.method = chooses[k], cfg.adaptive = true, cfg.dt = 0.02, cfg.error_tolerance = k < 2 ? 1e-7 : 1e-5;
            if (k == 1) cfg.stages = 3;
            ctn_batch *const b = batch_with(m, &cfg);
            ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
            ck_assert_int_eq(ctn_batch_step(b, 40, NULL, NULL), CTN_OK);
            ctn_batch_state(b, end[k], NULL), ctn_batch_free(b);
            const double off = coordinate_distance(m, end[k], end[0]);
            ck_assert_msg(off < 0.03, "kind %d, seed %llu, %s: off by %g", kind, (unsigned long long)seed,
                          ctn_method_name(chooses[k]), off);
        }
        ctn_model_free(m);
    }
}
END_TEST

/// Within a step of an explicit method the motion leads from state to state, with what contact points remember at its start.
START_TEST(steps_are_dense)
{
    static const ctn_method dense[] = {CTN_SEMI_IMPLICIT, CTN_RK4, CTN_DOP853};
    for (int slides = 0; slides < 2; slides++) {
        double q[16], v[16], at[16], w[16];
        ctn_model *const m = swinger_started(slides, q, v);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = dense[_i], cfg.adaptive = _i == 2, cfg.dt = _i == 2 ? 0.05 : 2e-4, cfg.dense = true;
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 30, NULL, NULL), CTN_OK);
        ctn_batch_state(b, q, v);
        ck_assert_int_eq(ctn_batch_dense(b, 1, at, w, NULL, NULL), CTN_OK);
        double off = coordinate_distance(m, at, q);
        for (int k = 0; k < m->nv; k++) off = fmax(off, fabs(w[k] - v[k]));
        ck_assert_msg(off < 1e-12, "%s, slides %d: off by %g", ctn_method_name(cfg.method), slides, off);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// What of its energy a ball of 0.1 m keeps in a second that rolls at 14 rad/s, at five steps: at least so much. (docs/theory.md
/// 4.12 has the table.)
START_TEST(balls_roll_on)
{
    enum { STEPS = 5 };
    static const double steps[STEPS] = {1 / 240., 0.01, 1 / 60., 0.05, 0.1};
    static const double keeps[METHODS][STEPS] = {{0.68, 0.47, 0.34, 0.14, 0.06},
                                                 {0.999, 0.99, 0.96, 0.59, 0.25},
                                                 {0.9999, 0.999, 0.997, 0.93, 0.4},
                                                 {0.99999, 0.99999, 0.9999, 0.999, 0.98}};
    ctn_model *const m = model_of("catena: 1\nground: true\ncontact: {friction: 0.6, depth: 0.001}\nlinks:\n"
                                  "  - {name: a, joint: free, shapes: [{type: sphere, radius: 0.1}], density: 1000}\n");
    const double q[] = {0, 0, 0.099, 1, 0, 0, 0}, v[] = {1.4, 0, 0, 0, 14, 0};
    for (int h = 0; h < STEPS; h++) {
        const ctn_batch_config cfg = config_of(_i, steps[h]);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_step_stats s;
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        ctn_batch_step(b, (int)(1 / cfg.dt + 0.5), &s, NULL);
        const double kept = s.kinetic_after / s.kinetic_before;
        ck_assert_msg(kept > keeps[_i][h] && kept < 1 + 1e-9, "%s, dt %g: keeps %g", methods[_i].name, cfg.dt, kept);
        double x[7], w[6];
        ctn_batch_state(b, x, w);
        // the way of a chord is no arc: those of one solve are off by a share of the square of the turn
        const double turn = w[4] * cfg.dt, slips = methods[_i].stages > 1 ? 1e-3 : 1e-3 + 0.5 * turn * turn;
        ck_assert_msg(fabs(w[0] - 0.1 * w[4]) < slips * w[0], "%s, dt %g: slips, %g m/s and %g rad/s", methods[_i].name, cfg.dt,
                      w[0], w[4]);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// Falls: radau creates at most a millionth of the energy in motion in a step; alpha's energy, whose books of dampers are of its
/// order, never rises beyond the work. On the ground most steps are the method's own.
START_TEST(falls_create_nothing)
{
    static const double steps[] = {1 / 240., 1 / 60., 0.05};
    long own = 0, all = 0;
    FOR_ALL_SEEDS(seed, 6)
    for (int kind = 0; kind < GROUND_KINDS; kind++) {
        double q[GROUND_MOST], v[GROUND_MOST], size = 0;
        ctn_model *const m = ground_model((ground_kind)kind, seed, 0.01, q, v);
        const ctn_batch_config cfg = config_of(_i, steps[(seed + (uint64_t)kind) % 3]);
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        for (int k = 0; k < (int)(3 / cfg.dt); k++) {
            ctn_step_stats s;
            ctn_batch_step(b, 1, &s, NULL);
            ck_assert(!s.frozen);
            if (!k) size = s.kinetic_before + fabs(s.potential_before);
            if (s.spring_after == 0) continue;  // in flight each has its own law
            const double gained = methods[_i].method == CTN_ALPHA ? s.energy_after - s.energy_before - s.work : s.created;
            ck_assert_msg(gained < 1e-6 * s.kinetic_after + 1e-11 * size, "%s, kind %d, seed %llu, step %d: %g of %g J",
                          methods[_i].name, kind, (unsigned long long)seed, k, gained, s.kinetic_after);
            own += s.fewer_stages == 0, all++;
        }
        ctn_batch_free(b), ctn_model_free(m);
    }
    ck_assert_msg((all > 1000 && own > 0.85 * (double)all) || getenv("CTN_SEED"), "%ld of %ld", own, all);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact_methods");
    TCase *const t = tcase_create("contact_methods");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, contact_that_stays_keeps_order, 0, METHODS);
    tcase_add_test(t, methods_agree);
    tcase_add_test(t, landings_are_passed);
    tcase_add_loop_test(t, steps_are_dense, 0, 3);
    tcase_add_loop_test(t, balls_roll_on, 0, METHODS);
    tcase_add_loop_test(t, falls_create_nothing, 0, METHODS);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
