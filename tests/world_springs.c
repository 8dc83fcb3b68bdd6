/// Springs between links and the world, and forces on links (forces/body_loads.h): motions in closed form, steps far longer than
/// a stiff spring's vibrations, and what takes no springs. Hessians, adjoints, the ledger, other engines: newton_sweep.c,
/// step_jacobian.c, energy.c, engines.c, device.c.
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_batch_config config_of(ctn_method method, int number, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.dt = dt, cfg.tolerance = 1e-12;
    if (method == CTN_RADAU) cfg.stages = number;
    else cfg.order = number;
    return cfg;
}

/// A ball of mass m on a spring, held at its centre: each coordinate is a damped oscillator.
START_TEST(damped_oscillator)
{
    static const struct {
        ctn_method method;
        int number;
        double dt, order, error;
    } ways[] = {{CTN_RK4, 2, 0.01, 4, 1e-6},         {CTN_DOP853, 2, 0.02, 8, 1e-9},     {CTN_SEMI_IMPLICIT, 2, 1e-3, 1, 0.02},
                {CTN_COLLOCATION, 2, 1e-3, 1, 0.03}, {CTN_RADAU, 2, 0.01, 3, 1e-4},      {CTN_RADAU, 3, 0.02, 5, 1e-5},
                {CTN_VARIATIONAL, 2, 2e-3, 2, 1e-4}, {CTN_VARIATIONAL, 4, 0.01, 4, 1e-4}};
    const double m = 2, k = 50, T = 1, x0 = 0.3, v0 = -0.7, anchor = -0.1;
    const double c = ways[_i].method == CTN_VARIATIONAL ? 0 : 1.5;
    char text[600];
    snprintf(text, sizeof text,
             "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
             "  - {name: a, joint: {type: free, q0: [%g, 0, 0, 1, 0, 0, 0], v0: [%g, 0, 0, 0, 0, 0]}, mass: %g, inertia: [1, 1, "
             "1, 0, 0, 0]}\n"
             "springs: [{link: a, anchor: [%g, 0, 0], stiffness: %g, damping: %g}]\n",
             x0, v0, m, anchor, k, c);
    ctn_model *const model = model_of(text);
    const double d = c / (2 * m), w = sqrt(k / m - d * d), a = x0 - anchor, b = (v0 + d * a) / w;
    const double want = anchor + exp(-d * T) * (a * cos(w * T) + b * sin(w * T));
    double error[2];
    for (int h = 0; h < 2; h++) {
        ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, ways[_i].dt / (1 + h));
        ctn_error err;
        ctn_batch *const batch = ctn_batch_create(model, &cfg, &err);
        ck_assert_msg(batch != NULL, "%s", err.message);
        double q[7];
        ctn_step_stats stats;
        ctn_batch_step(batch, (int)lround(T / cfg.dt), &stats, NULL);
        ctn_batch_state(batch, q, NULL);
        error[h] = fabs(q[0] - want);
        ck_assert(fabs(q[1]) < 1e-12 && fabs(q[2]) < 1e-12);
        // the spring's energy is in the ledger, and what the method creates is small
        const double all = 0.5 * m * v0 * v0 + 0.5 * k * a * a;
        ck_assert_msg(fabs(stats.energy_before - all) < 1e-12 * all, "%.17g, not %.17g", stats.energy_before, all);
        ck_assert_msg(fabs(stats.energy_after - stats.energy_before + stats.dissipated - stats.created) < 1e-12 * all,
                      "open books");
        ctn_batch_free(batch);
    }
    const double order = log2(error[0] / error[1]);
    ck_assert_msg(error[0] < ways[_i].error, "off by %.3g", error[0]);
    ck_assert_msg(error[1] < 1e-12 || order > ways[_i].order - 0.3, "order %.2f (%.3g, %.3g)", order, error[0], error[1]);
    ctn_model_free(model);
}
END_TEST

#define ARC                                                                                                                      \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - chain: {name: c, count: 20, step: [0.1, 0, 0], mass: 0.1, com: [0.05, 0, 0], inertia: [1e-5, 1e-4, 1e-4, 0, 0, 0],\n"   \
    "            joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1], q0: [0.05, 0.1]}}\n"

/// Where the free end of the arc is.
static void end_of(const ctn_model *m, const double *q, double x[3])
{
    const size_t links = (size_t)ctn_model_nlink(m), last = links - 1;
    double *const R = malloc(9 * links * sizeof *R), *const p = malloc(3 * links * sizeof *p);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    ctn_forward_kinematics(dyn, 1, q, R, p);
    for (size_t k = 0; k < 3; k++) x[k] = p[3 * last + k] + 0.1 * R[9 * last + 3 * k];
    ctn_dynamics_free(dyn);
    free(R), free(p);
}

/// An arc of 20 links whose end a spring of 1e8 N/m holds, in steps of 0.1 s, some thousand times its slowest vibration: the end
/// stays where it is held, nothing gains energy, and no world freezes.
START_TEST(stiff)
{
    static const struct {
        ctn_method method;
        int number;
    } ways[] = {{CTN_COLLOCATION, 2}, {CTN_RADAU, 1}, {CTN_RADAU, 2}, {CTN_RADAU, 3}, {CTN_RADAU, 4}};
    ctn_model *const free_arc = model_of(ARC);
    const size_t nq = (size_t)ctn_model_nq(free_arc);
    double *const q = malloc(nq * sizeof *q), anchor[3], x[3];
    for (size_t k = 0; k < nq; k++) q[k] = k % 2 ? 0.1 : 0.05;
    end_of(free_arc, q, anchor);
    char text[1000];
    snprintf(text, sizeof text,
             ARC "springs: [{link: c.19, point: [0.1, 0, 0], anchor: [%.17g, %.17g, %.17g], stiffness: 1.0e8}]\n", anchor[0],
             anchor[1], anchor[2] - 1e-4);
    ctn_model *const model = model_of(text);
    ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.1);
    cfg.tolerance = 1e-9;
    ctn_error err;
    ctn_batch *const batch = ctn_batch_create(model, &cfg, &err);
    ck_assert_msg(batch != NULL, "%s", err.message);
    ctn_step_stats stats;
    for (int n = 0; n < 100; n++) {
        ck_assert_msg(ctn_batch_step(batch, 1, &stats, &err) == CTN_OK, "step %d: %s", n, err.message);
        ck_assert_msg(stats.created < 0.01, "step %d creates %.3g J", n, stats.created);
        ctn_batch_state(batch, q, NULL);
        end_of(model, q, x);
        for (int k = 0; k < 3; k++)
            ck_assert_msg(fabs(x[k] - anchor[k] + (k == 2 ? 1e-4 : 0)) < 1e-5, "step %d: coordinate %d is off by %.3g m", n, k,
                          x[k] - anchor[k]);
    }
    ctn_batch_free(batch), ctn_model_free(model), ctn_model_free(free_arc);
    free(q);
}
END_TEST

/// A force on a free body, in the world's axes: at its centre the body falls by gravity less that, and what the force gives is
/// its way along it; off the centre it turns the body, too, and the angular momentum about the origin grows by the moment.
START_TEST(a_force)
{
    static const struct {
        ctn_method method;
        int number;
        double error;  // of the way, m
    } ways[] = {
        {CTN_RK4, 2, 1e-12}, {CTN_RADAU, 2, 1e-9}, {CTN_RADAU, 3, 1e-9}, {CTN_VARIATIONAL, 2, 1e-9}, {CTN_COLLOCATION, 2, 0.02}};
    const double F[3] = {3, -1, 24}, m = 2, T = 0.5;
    ctn_model *const model =
        model_of("catena: 1\nlinks:\n  - {name: a, joint: free, mass: 2, inertia: [0.3, 0.2, 0.4, 0, 0, 0]}\n"
                 "forces: [{link: a, force: [3, -1, 24]}, {link: a, point: [0.1, 0.2, 0], force: [0, 0, 0]}]\n");
    const ctn_parameter list[] = {{CTN_FORCE, 3}, {CTN_FORCE, 4}, {CTN_FORCE, 5}};
    ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.005);
    cfg.worlds = 2, cfg.parameters = list, cfg.parameter_count = 3;
    ctn_error err;
    ctn_batch *const batch = ctn_batch_create(model, &cfg, &err);
    ck_assert_msg(batch != NULL, "%s", err.message);
    const double values[6] = {0, 0, 0, 0, 0, 0.5};  // in the second world a second force lifts off the centre
    ck_assert_int_eq(ctn_batch_set_parameters(batch, values, &err), CTN_OK);
    double q[14];
    ctn_step_stats stats[2];
    ctn_totals sums[2];
    ctn_batch_step(batch, (int)lround(T / cfg.dt), stats, NULL);
    ctn_batch_state(batch, q, NULL), ctn_batch_totals(batch, sums);
    double work = 0;
    for (int k = 0; k < 3; k++) {
        const double a = F[k] / m - (k == 2 ? 9.81 : 0);
        ck_assert_msg(fabs(q[k] - a * T * T / 2) < ways[_i].error, "%d: %.12g, not %.12g", k, q[k], a * T * T / 2);
        work += F[k] * q[k];
    }
    ck_assert_msg(fabs(stats[0].work - work) < 1e-9, "work %.12g, not %.12g", stats[0].work, work);
    ck_assert(fabs(stats[0].created) < (ways[_i].method == CTN_COLLOCATION ? 1 : 1e-8));
    ck_assert(fabs(q[3] - 1) < 1e-12 && fabs(q[10] - 1) > 1e-4);
    // all that acts in world 1: (F + e/2, gravity), and the moments about the centre of mass
    const double p = sums[1].momentum_linear[2], want = (F[2] + 0.5 - m * 9.81) * T;
    ck_assert_msg(fabs(p - want) < 1e-8, "momentum %.12g, not %.12g", p, want);
    ctn_batch_free(batch), ctn_model_free(model);
}
END_TEST

/// What takes no springs, or none with dampers, says so, and what to take.
START_TEST(refused)
{
    static const struct {
        ctn_method method;
        int order;
        ctn_solver solver;
        const char *damping, *message;  // NULL: taken
    } cases[] = {
        {CTN_COLLOCATION, 3, CTN_NEWTON, "",
         "order: collocation takes `springs`, `forces`, thrusters, a `fluid` and wrenches at order 2 alone; take that, or radau"},
        {CTN_COLLOCATION, 2, CTN_LM, "", "solver: lm takes no `springs`, `forces`, thrusters, `fluid` or wrenches; take newton"},
        {CTN_RADAU, 2, CTN_LBFGS, "", "solver: lbfgs takes no `springs`, `forces`, thrusters, `fluid` or wrenches; take newton"},
        {CTN_VARIATIONAL, 2, CTN_NEWTON, ", damping: 1", "method: variational takes `springs` without damping alone; take radau"},
        {CTN_VARIATIONAL, 2, CTN_NEWTON, "", NULL},
        {CTN_COLLOCATION, 2, CTN_NEWTON, ", damping: 1", NULL}};
    char text[300];
    snprintf(text, sizeof text,
             "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n"
             "springs: [{link: a, anchor: [0, 0, 1], stiffness: 1%s}]\n",
             cases[_i].damping);
    ctn_model *const model = model_of(text);
    ctn_batch_config cfg = config_of(cases[_i].method, cases[_i].order, 0.01);
    cfg.solver = cases[_i].solver;
    ctn_error err = {0};
    ctn_batch *const batch = ctn_batch_create(model, &cfg, &err);
    if (cases[_i].message) ck_assert_str_eq(err.message, cases[_i].message);
    ck_assert((batch == NULL) == (cases[_i].message != NULL));
    ctn_batch_free(batch), ctn_model_free(model);
}
END_TEST

/// A force without a torque has none to be a parameter.
START_TEST(no_torque)
{
    ctn_model *const model = model_of("catena: 1\nlinks: [{name: a, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n"
                                      "forces: [{link: a, torque: [1, 0, 0]}, {link: a, force: [1, 0, 0]}]\n");
    ctn_error err;
    double value;
    ck_assert(ctn_model_parameter(model, (ctn_parameter){CTN_TORQUE, 0}, &value, &err) == CTN_OK && value == 1);
    ck_assert_int_eq(ctn_model_parameter(model, (ctn_parameter){CTN_TORQUE, 4}, &value, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "torque: forces[1] has none; give it `torque: [0, 0, 0]` in the scene"), "%s", err.message);
    ctn_model_free(model);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("world_springs");
    TCase *const t = tcase_create("world_springs");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, damped_oscillator, 0, 8);
    tcase_add_loop_test(t, stiff, 0, 5);
    tcase_add_loop_test(t, a_force, 0, 5);
    tcase_add_loop_test(t, refused, 0, 6);
    tcase_add_test(t, no_torque);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
