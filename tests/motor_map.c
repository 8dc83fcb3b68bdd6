/// Motors as a map tau(q, v, u) (integrators/motor_map.h, catena/motors.h): what it gives, its derivatives, and gradients and
/// Jacobians of runs by what motors are told, all against differences; with targets that move, too.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <math.h>
#include <stdlib.h>

#define HULL                                                                                                                     \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: hull, joint: {type: free, q0: [0, 0, 1, 0.8, 0.2, -0.5, 0.1], v0: [0.3, 0, -0.2, 1, -2, 0.5]}, mass: 1.2, "      \
    "inertia: [0.02, 0.03, 0.04, 0.002, 0, 0]}\n"                                                                                \
    "  - {name: arm, parent: hull, position: [0.2, 0, 0.1], euler: [0.3, 0.2, -0.4], joint: {type: revolute, axis: [0, 1, 0], "  \
    "armature: 0.002, q0: 0.3, v0: 0.5%s}, mass: 0.4, com: [0.1, 0, 0], inertia: [0.001, 0.004, 0.004, 0, 0, 0]}\n"              \
    "  - {name: pod, parent: arm, position: [0.2, 0, 0], rotation: [1, 1, 0, 0], mass: 0.1, inertia: [1e-4, 1e-4, 1e-4, 0, 0, "  \
    "0]}\n"                                                                                                                      \
    "  - {name: tail, parent: hull, position: [-0.3, 0, 0], joint: {type: ball, q0: [0.9, 0.1, -0.2, 0.3], v0: [0.4, -0.3, "     \
    "0.2]}, mass: 0.3, com: [-0.1, 0, 0], inertia: [0.001, 0.002, 0.002, 0, 0, 0]}\n"
#define MOVES "{sinusoid: {mean: 0.4, amplitude: 0.3, frequency: 2, phase: 0.4}}"
#define THRUSTERS(target)                                                                                                        \
    "  - {link: pod, type: thrust, point: [0.05, 0.1, 0], axis: [1, 0, 3], reaction: 0.25, target: " target "}\n"                \
    "  - {link: hull, type: thrust, point: [0, 0, -0.5], axis: [0, 1, 0], limits: [-0.1, 0.1], target: 1}\n"                     \
    "  - {link: tail, type: moment, axis: [1, 0, 0], target: " target "}\n"

/// Motors on the arm and the tail, told numbers and what moves; without kd and velocities for the variational method.
static const struct {
    const char *motors[2];
    bool slow;          // no kd
    const char *joint;  // what the arm's has besides
} variants[] = {
    {{"motors:\n  - {joint: arm, type: position, kp: 3, target: 0.4}\n  - {joint: tail, type: torque, target: [0.1, -0.2, "
      "0.3]}\n",
      "motors:\n  - {joint: arm, type: position, kp: 3, target: " MOVES "}\n"
      "  - {joint: tail, type: torque, target: [0.1, " MOVES ", 0.3]}\n"},
     true,
     NULL},
    {{"motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, gear: -2, effort: 5, target: 0.4}\n"
      "  - {joint: tail, type: position, kp: 2, kd: 0.05, target: [0.1, -0.9, 0.3]}\n",
      "motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, gear: -2, effort: 5, target: " MOVES "}\n"
      "  - {joint: tail, type: position, kp: 2, kd: 0.05, target: [0.1, " MOVES ", 0.3]}\n"},
     false,
     NULL},
    {{"motors:\n  - {joint: arm, type: velocity, kd: 0.1, gear: 3, target: 0.4}\n"
      "  - {joint: tail, type: velocity, kd: 0.05, feedforward: [0.1, 0, 0], target: [2, -1, 3]}\n",
      "motors:\n  - {joint: arm, type: velocity, kd: 0.1, gear: 3, target: " MOVES "}\n"
      "  - {joint: tail, type: velocity, kd: 0.05, target: [2, " MOVES ", " MOVES "]}\n"},
     false,
     NULL},
    {{"motors:\n  - {joint: arm, type: torque, effort: 0.41, target: 0.4}\n"
      "  - {joint: tail, type: position, kp: 2, kd: 0.05, effort: 0.5, target: [0.1, -0.9, 0.3]}\n",
      "motors:\n  - {joint: arm, type: torque, effort: 0.41, target: " MOVES "}\n"
      "  - {joint: tail, type: position, kp: 2, kd: 0.05, effort: 0.5, target: [0.1, " MOVES ", 0.3]}\n"},
     false,
     NULL},
// integral terms, at work, and as the corner of an effort, or its end, stops them
#define TAIL "  - {joint: tail, type: torque, target: [0.1, -0.2, 0.3]}\n"
    {{"motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, ki: 20, gear: 2, target: 0.9}\n" TAIL,
      "motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, ki: 20, gear: 2, target: " MOVES "}\n" TAIL},
     false,
     NULL},
    {{"motors:\n  - {joint: arm, type: velocity, kd: 0.1, ki: 2, gear: -2, target: 1.5}\n" TAIL,
      "motors:\n  - {joint: arm, type: velocity, kd: 0.1, ki: 2, gear: -2, target: " MOVES "}\n" TAIL},
     false,
     NULL},
    {{"motors:\n  - {joint: arm, type: position, kp: 3, ki: 9, effort: 0.3, target: 0.4}\n" TAIL,
      "motors:\n  - {joint: arm, type: position, kp: 3, ki: 9, effort: 0.2, target: " MOVES "}\n" TAIL},
     false,
     NULL},
    // dry friction that sticks, and that slides
    {{"motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, target: 0.4}\n" TAIL,
      "motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, target: " MOVES "}\n" TAIL},
     false,
     ", friction: 0.2, presliding: 0.5"},
    {{"motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, target: 0.4}\n" TAIL,
      "motors:\n  - {joint: arm, type: position, kp: 3, kd: 0.1, target: " MOVES "}\n" TAIL},
     false,
     ", friction: 0.05, presliding: 0.0005"},
};
enum { VARIANTS = sizeof variants / sizeof *variants, NQ = 7 + 1 + 4, NV = 6 + 1 + 3, NU = 1 + 3 + 3 };

static ctn_model *model_with(int variant, bool moving, bool thrusts)
{
    char text[4000];
    const int n = snprintf(text, sizeof text, HULL, variants[variant].joint ? variants[variant].joint : "");
    snprintf(text + n, sizeof text - (size_t)n, "%s%s", variants[variant].motors[moving],
             thrusts ? moving ? THRUSTERS(MOVES) : THRUSTERS("0.5") : "");
    return model_of(text);
}

// ---- the map

static void random_motion(const ctn_model *m, rng *r, double *q, double *v)
{
    ctn_model_initial_state(m, q, v);
    for (int k = 3; k < 7; k++) q[k] = rng_uniform(r, -1, 1);
    q[7] = rng_uniform(r, -1, 1);
    for (int k = 8; k < NQ; k++) q[k] = rng_uniform(r, -1, 1) + (k == 8);
    for (int at = 3; at <= 8; at += 5) {
        double n = 0;
        for (int k = 0; k < 4; k++) n += q[at + k] * q[at + k];
        for (int k = 0; k < 4; k++) q[at + k] /= sqrt(n);
    }
    for (int k = 0; k < NV; k++) v[k] = rng_uniform(r, -1, 1);
}

/// q moved by e along a degree of freedom, in tangent coordinates.
static void move(const double *q, int dof, double e, double *to)
{
    const int ball = dof < 3 ? 0 : dof < 6 ? 3 : dof == 6 ? 0 : 8, axis = dof < 6 ? dof - 3 : dof - 7;
    memcpy(to, q, NQ * sizeof *to);
    if (!ball) {
        to[dof < 3 ? dof : 7] += e;
        return;
    }
    const double c = cos(e / 2), s = sin(e / 2), d[4] = {c, axis == 0 ? s : 0, axis == 1 ? s : 0, axis == 2 ? s : 0};
    const double *const a = q + ball;
    double *const y = to + ball;
    y[0] = a[0] * d[0] - a[1] * d[1] - a[2] * d[2] - a[3] * d[3];
    y[1] = a[0] * d[1] + a[1] * d[0] + a[2] * d[3] - a[3] * d[2];
    y[2] = a[0] * d[2] - a[1] * d[3] + a[2] * d[0] + a[3] * d[1];
    y[3] = a[0] * d[3] + a[1] * d[2] - a[2] * d[1] + a[3] * d[0];
}

/// The map is what motors are in ctn_passive, and its derivatives are those of differences, on all engines with the same bits.
START_TEST(map)
{
    FOR_SEEDS(seed, 8)
    {
        enum { COUNT = 5 };
        rng r = {seed};
        const bool moving = seed % 2;
        ctn_model *const m = model_with(_i, moving, true);
        ck_assert_int_eq(ctn_model_ntarget(m), NU);
        double q[COUNT][NQ], v[COUNT][NV], u[COUNT][NU], tau[COUNT][NV], passive[NV], by_q[COUNT][NV][NV], by_v[COUNT][NV][NV],
            by_u[COUNT][NV][NU], own[NU];
        ctn_model_targets(m, own);
        for (int k = 0; k < COUNT; k++) {
            random_motion(m, &r, q[k], v[k]);
            for (int j = 0; j < NU; j++) u[k][j] = own[j] + (k ? rng_uniform(&r, -0.3, 0.3) : 0);
        }
        for (const ctn_engine *const *e = engines_available(); *e; e++) {
            ctn_dynamics *const dyn = ctn_dynamics_create(m, (*e)->name, NULL);
            double again[COUNT][NV], gain_q[COUNT][NV][NV], gain_v[COUNT][NV][NV], gain_u[COUNT][NV][NU];
            const bool first = e == engines_available();
            ctn_dynamics_set_time(dyn, 0.15);
            ctn_motor_map(dyn, COUNT, q[0], v[0], u[0], first ? tau[0] : again[0]);
            ctn_motor_map_derivatives(dyn, COUNT, q[0], v[0], u[0], first ? by_q[0][0] : gain_q[0][0],
                                      first ? by_v[0][0] : gain_v[0][0], first ? by_u[0][0] : gain_u[0][0]);
            if (!first) {
                near(again[0], tau[0], COUNT * NV, 0, "tau"), near(gain_q[0][0], by_q[0][0], COUNT * NV * NV, 0, "by q");
                near(gain_v[0][0], by_v[0][0], COUNT * NV * NV, 0, "by v"),
                    near(gain_u[0][0], by_u[0][0], COUNT * NV * NU, 0, "by u");
            } else {
                ctn_passive(dyn, 1, q[0], v[0], passive), near(tau[0], passive, NV, 1e-13, "passive");
                ctn_motor_map(dyn, 1, q[0], v[0], NULL, again[0]), near(again[0], tau[0], NV, 0, "own targets");
            }
            ctn_dynamics_free(dyn);
        }
        ctn_dynamics *const dyn = ctn_dynamics_create(m, "scalar", NULL);
        ctn_dynamics_set_time(dyn, 0.15);
        const double e = 1e-5;
        for (int k = 0; k < COUNT; k++)
            for (int which = 0; which < 3; which++)
                for (int j = 0; j < (which == 2 ? NU : NV); j++) {
                    double d[2][NV], x[NQ], w[NV], t[NU];
                    for (int side = 0; side < 2; side++) {
                        const double step = side ? e : -e;
                        memcpy(x, q[k], sizeof x), memcpy(w, v[k], sizeof w), memcpy(t, u[k], sizeof t);
                        if (which == 0) move(q[k], j, step, x);
                        else if (which == 1) w[j] += step;
                        else t[j] += step;
                        ctn_motor_map(dyn, 1, x, w, t, d[side]);
                    }
                    for (int i = 0; i < NV; i++) {
                        const double by = (d[1][i] - d[0][i]) / (2 * e), got = which == 0   ? by_q[k][i][j]
                                                                               : which == 1 ? by_v[k][i][j]
                                                                                            : by_u[k][i][j];
                        ck_assert_msg(fabs(by - got) < 3e-8 * (1 + fabs(by)),
                                      "seed %llu: d tau[%d] by %c[%d]: %.12g, by differences %.12g", (unsigned long long)seed, i,
                                      "qvu"[which], j, got, by);
                    }
                }
        ctn_dynamics_free(dyn), ctn_model_free(m);
    }
}
END_TEST

// ---- runs

static const struct {
    ctn_method method;
    int number;
    double dt;
} ways[] = {{CTN_EULER, 0, 0.01},       {CTN_SEMI_IMPLICIT, 0, 0.01}, {CTN_RK2, 0, 0.01},         {CTN_RK3, 0, 0.02},
            {CTN_RK4, 0, 0.02},         {CTN_DOP853, 0, 0.02},        {CTN_COLLOCATION, 2, 0.02}, {CTN_RADAU, 1, 0.02},
            {CTN_RADAU, 2, 0.03},       {CTN_RADAU, 3, 0.02},         {CTN_RADAU, 4, 0.03},       {CTN_ALPHA, 0, 0.02},
            {CTN_COLLOCATION, 3, 0.01}, {CTN_COLLOCATION, 4, 0.01},   {CTN_VARIATIONAL, 2, 0.01}, {CTN_VARIATIONAL, 4, 0.01}};
enum { WAYS = sizeof ways / sizeof *ways, STEPS = 5 };

/// The number of targets that a tape of this way has; 0: the method takes no such motors.
static int targets_of(int way, int variant, bool moving)
{
    const bool variational = ways[way].method == CTN_VARIATIONAL,
               plain = ways[way].method == CTN_COLLOCATION && ways[way].number > 2;
    if (variational && (moving || !variants[variant].slow)) return 0;
    return !plain ? NU : variants[variant].joint ? 0 : NU - 3;
}

static ctn_tape *tape_of(const ctn_model *m, int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_error err = {0};
    cfg.method = ways[way].method, cfg.dt = ways[way].dt, cfg.tolerance = 1e-14;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    else if (ways[way].number) cfg.order = ways[way].number;
    ctn_tape *const tape = ctn_tape_create(m, &cfg, STEPS, &err);
    ck_assert_msg(tape != 0, "%s", err.message);
    return tape;
}

/// A number of the states of a run: weights times v, and the angle of the arm.
static double number_of(ctn_tape *tape, const double *q, const double *v, const double *tau, const double *u,
                        const double *weight)
{
    ctn_error err;
    double x[NQ], w[NV], sum = 0;
    ck_assert(ctn_tape_set_targets(tape, u, &err) == CTN_OK);
    ck_assert_msg(ctn_tape_run(tape, q, v, tau, &err) == CTN_OK, "%s", err.message);
    for (int k = 2; k <= STEPS; k += STEPS - 2) {
        ck_assert(ctn_tape_state(tape, k, x, w, &err) == CTN_OK);
        for (int j = 0; j < NV; j++) sum += weight[j] * w[j];
        sum += weight[NV] * x[7];
    }
    return sum;
}

/// Gradients of runs by targets, and, where targets move, by velocities, places and joint forces, against differences.
START_TEST(gradients)
{
    const int way = _i / 2, moving = _i % 2;
    for (int variant = 0; variant < VARIANTS; variant++) {
        const int nu = targets_of(way, variant, moving);
        if (!nu) continue;
        rng r = {(uint64_t)(variant + 1)};
        ctn_model *const m = model_with(variant, moving, nu == NU);
        ck_assert_int_eq(ctn_model_ntarget(m), nu);
        ctn_tape *const tape = tape_of(m, way);
        double q[NQ], v[NV], tau[STEPS][NV], u[STEPS * NU], weight[NV + 1], own[NU], dq[STEPS + 1][NV] = {{0}},
                                                                                                dv[STEPS + 1][NV] = {{0}};
        double by_q[NV], by_v[NV], by_tau[STEPS][NV], by_u[STEPS * NU];
        ctn_error err;
        ctn_model_initial_state(m, q, v), ctn_model_targets(m, own);
        for (int j = 0; j <= NV; j++) weight[j] = rng_uniform(&r, -1, 1);
        for (int k = 0; k < STEPS; k++) {
            for (int j = 0; j < NV; j++) tau[k][j] = rng_uniform(&r, -0.05, 0.05);
            for (int j = 0; j < nu; j++) u[k * nu + j] = own[j] + rng_uniform(&r, -0.05, 0.05);
        }
        number_of(tape, q, v, tau[0], u, weight);
        for (int k = 2; k <= STEPS; k += STEPS - 2) {
            dq[k][6] = weight[NV];
            for (int j = 0; j < NV; j++) dv[k][j] = weight[j];
        }
        ck_assert_msg(ctn_tape_target_gradient(tape, dq[0], dv[0], by_q, by_v, by_tau[0], by_u, &err) == CTN_OK, "%s",
                      err.message);
        double most = 0;
        for (int j = 0; j < STEPS * nu; j++) most = fmax(most, fabs(by_u[j]));
        ck_assert(most > 1e-3);
        const double e = 2e-5;
        for (int which = 0; which < 4; which++) {
            const int count = which == 0 ? STEPS * nu : which == 3 ? STEPS * NV : NV;
            for (int j = 0; j < count; j++) {
                double f[2], x[NQ], w[NV], t[STEPS][NV], s[STEPS * NU];
                for (int side = 0; side < 2; side++) {
                    const double step = side ? e : -e;
                    memcpy(x, q, sizeof x), memcpy(w, v, sizeof w), memcpy(t, tau, sizeof t), memcpy(s, u, sizeof s);
                    if (which == 0) s[j] += step;
                    else if (which == 1) move(q, j, step, x);
                    else if (which == 2) w[j] += step;
                    else (&t[0][0])[j] += step;
                    f[side] = number_of(tape, x, w, t[0], s, weight);
                }
                const double by = (f[1] - f[0]) / (2 * e), got = which == 0   ? by_u[j]
                                                                 : which == 1 ? by_q[j]
                                                                 : which == 2 ? by_v[j]
                                                                              : (&by_tau[0][0])[j];
                ck_assert_msg(fabs(by - got) < 1e-7 * (1 + fabs(by)) + 1e-6 * (which > 0) * (1 + fabs(by)),
                              "variant %d, by %s[%d]: %.12g, by differences %.12g", variant,
                              (const char *const[]){"u", "q", "v", "tau"}[which], j, got, by);
            }
        }
        ctn_tape_free(tape), ctn_model_free(m);
    }
}
END_TEST

/// The Jacobian of a step by its targets is the gradient of each of its numbers.
START_TEST(jacobians)
{
    ctn_model *const m = model_with(0, false, true);
    ctn_tape *const tape = tape_of(m, 8);
    ctn_error err;
    double q[NQ], v[NV], w[NV], by_u[STEPS][NU], dv[STEPS + 1][NV] = {{0}};
    ctn_model_initial_state(m, q, v);
    ck_assert(ctn_tape_run(tape, q, v, NULL, &err) == CTN_OK);
    const size_t n = (size_t)ctn_tape_state_size(tape);
    double *const by_state = calloc(n * n, sizeof *by_state), *const U = calloc(n * NU, sizeof *U),
                  *const C = calloc(2 * NV * n, sizeof *C);
    ck_assert(ctn_step_target_jacobian(tape, STEPS - 1, by_state, NULL, U, &err) == CTN_OK);
    ck_assert(ctn_output_jacobian(tape, STEPS, C, &err) == CTN_OK);
    for (int j = 0; j < NV; j++) w[j] = dv[STEPS][j] = 0.3 * j - 1;
    ck_assert(ctn_tape_target_gradient(tape, NULL, dv[0], NULL, NULL, NULL, by_u[0], &err) == CTN_OK);
    for (int k = 0; k < NU; k++) {
        double sum = 0;
        for (int j = 0; j < NV; j++)
            for (size_t i = 0; i < n; i++) sum += w[j] * C[(size_t)(NV + j) * n + i] * U[i * NU + (size_t)k];
        ck_assert_double_eq_tol(sum, by_u[STEPS - 1][k], 1e-11);
    }
    free(by_state), free(U), free(C), ctn_tape_free(tape), ctn_model_free(m);
}
END_TEST

/// A tape with targets by step, and one whose targets move, makes the steps of a batch.
START_TEST(as_a_batch)
{
    static const int of[] = {1, 4, 6, 8, 11};
    const int way = of[_i / 2], moving = _i % 2;
    ctn_model *const m = model_with(1, moving, true);
    ctn_tape *const tape = tape_of(m, way);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt, cfg.tolerance = 1e-14;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    ctn_parameter list[NU];
    ctn_model_target_parameters(m, list);
    cfg.parameters = list, cfg.parameter_count = NU, cfg.engine = "scalar";
    ctn_batch *const b = batch_with(m, &cfg);
    double q[NQ], v[NV], x[NQ], w[NV], u[STEPS][NU], own[NU];
    ctn_error err;
    ctn_step_stats stats;
    ctn_model_initial_state(m, q, v), ctn_model_targets(m, own);
    for (int k = 0; k < STEPS; k++)
        for (int j = 0; j < NU; j++) u[k][j] = own[j] + 0.01 * (k - j);
    ck_assert(ctn_tape_set_targets(tape, u[0], &err) == CTN_OK && ctn_tape_run(tape, q, v, NULL, &err) == CTN_OK);
    for (int k = 0; k < STEPS; k++) {
        ck_assert(ctn_batch_set_parameters(b, u[k], NULL) == CTN_OK);
        ctn_batch_step(b, 1, &stats, NULL);
        ctn_batch_state(b, x, w);
        ck_assert(ctn_tape_state(tape, k + 1, q, v, &err) == CTN_OK);
        near(q, x, NQ, 0, "q"), near(v, w, NV, 0, "v");
    }
    ctn_batch_free(b), ctn_tape_free(tape), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("motor_map");
    TCase *const t = tcase_create("motor_map");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, map, 0, VARIANTS);
    tcase_add_loop_test(t, gradients, 0, 2 * WAYS);
    tcase_add_test(t, jacobians);
    tcase_add_loop_test(t, as_a_batch, 0, 10);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
