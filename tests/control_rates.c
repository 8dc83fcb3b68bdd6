/// Changes of controls from knot to knot, as a cost, a limit and a reward: optima against a dense quadratic program, in blocks too;
/// A, B and derivatives by differences; plans made anew keep the limit; the same bits for threads and lanes.
#include "control/mpc.h"
#include "control/reward_cost.h"
#include "control/scene_plant.h"
#include "control/trajectory.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Iterations until it is over.
static trajectory *found(const ctn_scene *scene, const ctn_model *model, double duration)
{
    ctn_error err;
    const ctn_batch_config cfg = ctn_scene_config(scene);
    trajectory *const t = trajectory_open(scene, model, &cfg, duration, NULL, &err);
    ck_assert_msg(t != NULL, "%s", err.message);
    for (int k = 0; k < 400 && trajectory_state(t).stop == ILQR_RUNS; k++) ck_assert_int_eq(trajectory_step(t, &err), CTN_OK);
    ck_assert_msg(trajectory_state(t).stop == ILQR_OPTIMAL, "stop %d, gradient %g, violation %g", trajectory_state(t).stop,
                  trajectory_state(t).gradient, trajectory_limits(t).violation);
    return t;
}

// ---- a mass on a rail, whose force is looked for: v' = v + h u, q' = q + h v'; before the first knot it was told 0.4

#define RAIL                                                                                                                     \
    "catena: 1\ngravity: [0, 0, 0]\nlinks: [{name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, "   \
    "0, 0, 0]}]\nmotors: [{joint: a, type: torque, target: 0.4}]\nintegrator: {method: semi-implicit, dt: 0.1}\nduration: 2\n"
#define COSTS                                                                                                                    \
    "  cost:\n    - {term: posture, weight: 2, end: 3, target: 1}\n    - {term: velocity, weight: 0.1, end: 1}\n"                \
    "    - {term: control, weight: 0.05, target: 0.4}\n"
enum { N = 20 };
static const double h = 0.1, TOLD = 0.4, RATE = 0.3, WEIGHT = 0.02;  // of a rate, from its target

/// How the cost of U changes by U; rates with or without a cost.
static void gradient(const double U[N], double weight, double g[N])
{
    double q = 0, v = 0;
    memset(g, 0, N * sizeof *g);
    for (int k = 0; k < N; k++) {
        v += h * U[k], q += h * v;
        const double w = k + 1 < N ? h * 2 : 3, d = k + 1 < N ? h * 0.1 : 1;
        for (int j = 0; j <= k; j++) g[j] += w * (q - 1) * h * h * (k + 1 - j) + d * v * h;
        g[k] += h * 0.05 * (U[k] - TOLD);
        const double by = weight * ((U[k] - (k ? U[k - 1] : TOLD)) / h - RATE);
        g[k] += by;
        if (k) g[k - 1] -= by;
    }
}

/// Where nothing pushes: the gradient is linear in U, and its matrix is found column by column.
static void solve_dense(double weight, double U[N])
{
    double M[N][N + 1], zero[N] = {0}, g0[N], g[N];
    gradient(zero, weight, g0);
    for (int j = 0; j < N; j++) {
        double e[N] = {0};
        e[j] = 1, gradient(e, weight, g);
        for (int i = 0; i < N; i++) M[i][j] = g[i] - g0[i], M[i][N] = -g0[i];
    }
    for (int k = 0; k < N; k++)  // positive definite: no pivots are looked for
        for (int i = k + 1; i < N; i++)
            for (int j = N; j >= k; j--) M[i][j] -= M[i][k] / M[k][k] * M[k][j];
    for (int k = N - 1; k >= 0; k--) {
        U[k] = M[k][N];
        for (int j = k + 1; j < N; j++) U[k] -= M[k][j] * U[j];
        U[k] /= M[k][k];
    }
}

/// _i: without blocks, with blocks backwards, forwards, and both.
START_TEST(dense_optimum)
{
    char text[2000];
    snprintf(text, sizeof text,
             "%soptimize:\n  tolerance: 1e-11\n  iterations: 300\n  backward: %d\n  forward: %d\n%s"
             "    - {term: control_rate, weight: %g, target: %g}\n",
             RAIL, _i % 2 ? 4 : 1, _i / 2 ? 5 : 1, COSTS, WEIGHT, RATE);
    ctn_scene *const scene = parsed_scene(text);
    ctn_model *const model = model_of_scene(scene);
    trajectory *const t = found(scene, model, 2);
    double U[N];
    solve_dense(WEIGHT, U);
    for (int k = 0; k < N; k++) ck_assert_double_eq_tol(ilqr_controls(trajectory_solver(t))[k], U[k], 1e-7);
    const double *const X = ilqr_states(trajectory_solver(t));
    for (int k = 0; k <= N; k++) {  // what was told last is told; between blocks there are defects
        const double told = k ? ilqr_controls(trajectory_solver(t))[k - 1] : TOLD;
        if (_i / 2) ck_assert_double_eq_tol(X[3 * k + 2], told, 1e-9);
        else ck_assert_double_eq(X[3 * k + 2], told);
    }
    double sum = 0, over;
    for (int k = 0; k < N; k++) {
        const double r = (U[k] - (k ? U[k - 1] : TOLD)) / h - RATE;
        sum += 0.5 * h * WEIGHT * r * r;
    }
    ck_assert_double_eq_tol(trajectory_plays(t, 3, &over), sum, 1e-8);
    ck_assert_double_eq(over, trajectory_plays(t, 3, &over));
    trajectory_close(t), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// The Karush-Kuhn-Tucker conditions: rates within their bounds, multipliers of those at a bound alone, and nothing pushes.
START_TEST(limited)
{
    const double lo = -2, hi = 1.5;
    char text[2000];
    snprintf(text, sizeof text,
             "%soptimize:\n  tolerance: 1e-9\n  limit_tolerance: 1e-8\n%s  limits: [{term: control_rate, within: [%g, %g]}]\n",
             RAIL, COSTS, lo, hi);
    ctn_scene *const scene = parsed_scene(text);
    ctn_model *const model = model_of_scene(scene);
    trajectory *const t = found(scene, model, 2);
    const double *const U = ilqr_controls(trajectory_solver(t));
    int rows, low = 0, high = 0;
    const double *const lambda = trajectory_multipliers(t, &rows);
    double g[N], most = 0;
    ck_assert_int_eq(rows, 1);
    gradient(U, 0, g);
    for (int k = 0; k < N; k++) most = fmax(most, fabs(g[k]));
    for (int k = 0; k < N; k++) {
        const double rate = (U[k] - (k ? U[k - 1] : TOLD)) / h;
        ck_assert_msg(rate > lo - 1e-7 && rate < hi + 1e-7, "knot %d: %.10g", k, rate);
        if (lambda[k] > 0) ck_assert_double_eq_tol(rate, hi, 1e-6);
        if (lambda[k] < 0) ck_assert_double_eq_tol(rate, lo, 1e-6);
        high += lambda[k] > 0, low += lambda[k] < 0;
        g[k] += lambda[k];
        if (k) g[k - 1] -= lambda[k];
    }
    ck_assert(low > 0 && high > 0);
    ck_assert_double_eq(lambda[N], 0);  // nothing is told any more
    for (int k = 0; k < N; k++) ck_assert_msg(fabs(g[k]) < 1e-6 * most, "knot %d: %g of %g", k, g[k], most);
    trajectory_close(t), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// What a reward for smoothness takes off is what a term of the cost counts, but for the first knot, before which a run knows of
/// nothing that motors were told.
START_TEST(smooth)
{
    static const char *const texts[] = {RAIL "reward: [{term: smoothness, weight: -0.25, from: 0.1, to: 1.5}]\noptimize:\n"
                                             "  tolerance: 1e-11\n  reward: 0.2\n" COSTS,
                                        RAIL "optimize:\n  tolerance: 1e-11\n" COSTS
                                             "    - {term: control_rate, weight: 0.1, from: 0.1, to: 1.4}\n"};
    double U[2][N], cost[2];
    for (int way = 0; way < 2; way++) {
        ctn_scene *const scene = parsed_scene(texts[way]);
        ctn_model *const model = model_of_scene(scene);
        trajectory *const t = found(scene, model, 2);
        memcpy(U[way], ilqr_controls(trajectory_solver(t)), sizeof U[way]), cost[way] = trajectory_state(t).cost;
        ck_assert_int_lt(trajectory_state(t).iteration, 20);  // with second derivatives
        trajectory_close(t), ctn_model_free(model), ctn_scene_free(scene);
    }
    for (int k = 0; k < N; k++) ck_assert_double_eq_tol(U[0][k], U[1][k], 1e-7);
    ck_assert_double_eq_tol(cost[0], cost[1], 1e-10);
}
END_TEST

// ---- a ball and a hinge: more numbers than changes

#define BALL                                                                                                                     \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: a, joint: {type: ball, damping: 0.1}, mass: 1, com: [0.02, 0, -0.3], inertia: [0.03, 0.03, 0.01, 0, 0, 0]}\n"    \
    "  - {name: b, parent: a, position: [0, 0, -0.6], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.7, com: [0, 0, -0.2],\n" \
    "     inertia: [0.02, 0.02, 0.002, 0, 0, 0]}\n"                                                                              \
    "motors: [{joint: a, type: torque}, {joint: b, type: torque, effort: 5}]\nduration: 0.2\n"
enum { NV = 4, NU = 4, NX = 5 + 4 + 4, WIDTH = 2 * NV + NU };

static const char *const balls[] = {
    BALL
    "reward: [{term: smoothness, weight: -0.3}, {term: height, link: b, weight: 1}]\nintegrator: {method: rk4, dt: 0.05}\n"
    "optimize:\n  reward: 0.5\n  cost: [{term: posture, weight: 1}, {term: control_rate, weight: [1, 2, 3, 4], target: 0.2}]\n",
    BALL "integrator: {method: radau, dt: 0.05}\noptimize:\n"
         "  cost: [{term: control, weight: 1}, {term: control_rate, weight: 0.3}, {term: place, link: b, target: [1, 0, 0], end: "
         "2}]\n"};

START_TEST(differences)
{
    ctn_error err;
    ctn_scene *const scene = parsed_scene(balls[_i]);
    ctn_model *const model = model_of_scene(scene);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    scene_plant *const s = scene_plant_open(scene, model, &cfg, 0.2, 4, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    reward_cost *const r = scene->nreward ? reward_cost_open(scene, model, 4, 0.05, &err) : NULL;
    if (r) scene_plant_add(s, reward_cost_added(r));
    const plant *const p = scene_plant_of(s);
    ck_assert(p->nx == NX && p->n == WIDTH && p->m == NU && p->knots == 4);
    double x[5 * NX], u[4 * NU], A[4 * WIDTH * WIDTH], B[4 * WIDTH * NU], start[NX], dx[WIDTH];
    ctn_model_initial_state(model, start, start + 5), memset(start + 9, 0, NU * sizeof *start);
    for (int k = 0; k <= 4; k++) {
        for (int i = 0; i < WIDTH; i++) dx[i] = 0.5 * sin(1.0 + 3 * k + i);
        p->add(p->context, start, dx, x + k * NX);
        for (int i = 0; i < NU && k < 4; i++) u[k * NU + i] = cos(2.0 * k + i);
    }
    ck_assert_msg(p->linearise(p->context, x, u, A, B, &err) == CTN_OK, "%s", err.message);
    const double step = 1e-6;
    for (int k = 0; k < 4; k++) {
        double gx[WIDTH], gu[NU], xx[WIDTH * WIDTH], uu[NU * NU], ux[NU * WIDTH];
        double at[2][WIDTH + NU];  // the gradient on both sides
        p->cost_derivatives(p->context, 1, &k, x + k * NX, u + k * NU, &(plant_costs){gx, gu, xx, uu, ux});
        for (int j = 0; j < WIDTH + NU; j++) {
            double next[2][NX], cost[2], change[WIDTH];
            for (int side = 0; side < 2; side++) {
                double to[NX], told[NU], xx2[WIDTH * WIDTH], uu2[NU * NU], ux2[NU * WIDTH];
                bool good;
                memset(dx, 0, sizeof dx), memcpy(told, u + k * NU, sizeof told);
                *(j < WIDTH ? dx + j : told + j - WIDTH) += side ? step : -step;
                p->add(p->context, x + k * NX, dx, to);
                ck_assert(plant_step(p, to, told, next[side], &good, &err) == CTN_OK && good);
                ck_assert(!memcmp(next[side] + 9, told, sizeof told));
                p->cost(p->context, 1, &k, to, told, &cost[side]);
                p->cost_derivatives(p->context, 1, &k, to, told, &(plant_costs){at[side], at[side] + WIDTH, xx2, uu2, ux2});
            }
            p->difference(p->context, next[0], next[1], change);
            for (int i = 0; i < WIDTH; i++)
                ck_assert_double_eq_tol(change[i] / (2 * step),
                                        j < WIDTH ? A[(k * WIDTH + i) * WIDTH + j] : B[(k * WIDTH + i) * NU + j - WIDTH], 1e-7);
            ck_assert_double_eq_tol((cost[1] - cost[0]) / (2 * step), j < WIDTH ? gx[j] : gu[j - WIDTH], 1e-7);
            for (int i = 2 * NV; i < WIDTH + NU && j >= 2 * NV; i++) {  // of what is told, all is quadratic
                const double slope = (at[1][i] - at[0][i]) / (2 * step);
                const int a = i - WIDTH, b = j - WIDTH;
                const double second = i < WIDTH && j < WIDTH ? xx[i * WIDTH + j]
                                      : i < WIDTH            ? ux[b * WIDTH + i]
                                      : j < WIDTH            ? ux[a * WIDTH + j]
                                                             : uu[a * NU + b];
                ck_assert_double_eq_tol(slope, second, 1e-6);
            }
        }
    }
    scene_plant_close(s), reward_cost_close(r), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Threads and lanes change no bit, of one after another and of many side by side.
START_TEST(same_bits)
{
    static const char *const engines[] = {"scalar", NULL, NULL};
    ctn_scene *const scene = parsed_scene(balls[_i]);
    ctn_model *const model = model_of_scene(scene);
    double first[4 * NU] = {0}, gains[4 * NU * NU] = {0};
    for (int run = 0; run < 3; run++) {
        ctn_error err;
        ctn_batch_config cfg = ctn_scene_config(scene);
        cfg.engine = engines[run], cfg.threads = 1 + run % 2;
        ctn_optimize *const o = ctn_optimize_create(scene, model, &cfg, 0.2, NULL, &err);
        ck_assert_msg(o != NULL, "%s", err.message);
        for (int k = 0; k < 6; k++) ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
        if (!run) memcpy(first, ctn_optimize_controls(o), sizeof first), memcpy(gains, ctn_optimize_told_gains(o), sizeof gains);
        ck_assert(!memcmp(first, ctn_optimize_controls(o), sizeof first));
        ck_assert(!memcmp(gains, ctn_optimize_told_gains(o), sizeof gains));
        double x0[7 * 9];
        for (int w = 0; w < 7; w++) memcpy(x0 + 9 * w, ctn_optimize_states(o), 9 * sizeof *x0);
        cfg.worlds = 7;
        ctn_trajectories *const t = ctn_trajectories_create(scene, model, &cfg, 0.2, x0, &err);
        ck_assert_msg(t != NULL, "%s", err.message);
        ck_assert_int_eq(ctn_trajectories_step(t, 6, &err), CTN_OK);
        for (int w = 0; w < 7; w++) {
            ck_assert(!memcmp(first, ctn_trajectories_controls(t, w), sizeof first));
            ck_assert(!memcmp(gains, ctn_trajectories_told_gains(t, w), sizeof gains));
            ck_assert(!memcmp(ctn_optimize_states(o), ctn_trajectories_states(t, w), 5 * 9 * sizeof(double)));
            ck_assert(!memcmp(ctn_optimize_gains(o), ctn_trajectories_gains(t, w), (size_t)(4 * NU * 2 * NV) * sizeof(double)));
        }
        ctn_trajectories_free(t), ctn_optimize_free(o);
    }
    ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- costs of a program's own see states as they are

static void own_cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    (void)context, (void)knot, (void)u;
    for (int i = 0; i < count; i++) to[i] += 0.5 * (x[2 * i] - 1) * (x[2 * i] - 1) * (knot[i] < N ? 2 * h : 3);
}

static void own_derivatives(void *context, int count, const int *knot, const double *x, const double *u,
                            const ctn_cost_derivatives *to)
{
    (void)context, (void)u;
    for (int i = 0; i < count; i++) {
        const double w = knot[i] < N ? 2 * h : 3;
        to->x[2 * i] += w * (x[2 * i] - 1), to->xx[4 * i] += w;
    }
}

START_TEST(with_own_cost)
{
    ctn_error err;
    ctn_scene *const scene = parsed_scene(
        RAIL "optimize:\n  tolerance: 1e-11\n  cost:\n    - {term: velocity, weight: 0.1, end: 1}\n"
             "    - {term: control, weight: 0.05, target: 0.4}\n    - {term: control_rate, weight: 0.02, target: 0.3}\n");
    ctn_model *const model = model_of_scene(scene);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    const ctn_optimize_cost own = {own_cost, own_derivatives, NULL};
    ctn_optimize *const o = ctn_optimize_create(scene, model, &cfg, 2, &own, &err);
    ck_assert_msg(o != NULL, "%s", err.message);
    for (int k = 0; k < 100; k++) ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
    double U[N], q = 0, v = 0;
    solve_dense(WEIGHT, U);
    for (int k = 0; k < N; k++) {
        ck_assert_double_eq_tol(ctn_optimize_controls(o)[k], U[k], 1e-7);
        ck_assert_double_eq_tol(ctn_optimize_states(o)[2 * k], q, 1e-7);
        v += h * U[k], q += h * v;
    }
    ctn_optimize_free(o), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- plans made anew

/// From what it was told in the knot before, the first time from what the scene says, a motor's rate is within its limits.
START_TEST(followed)
{
    ctn_error err;
    ctn_scene *const scene =
        parsed_scene(RAIL "optimize:\n  iterations: 100\n  limit_tolerance: 1e-6\n" COSTS
                          "  limits: [{term: control_rate, within: [-2, 1.5]}]\n  mpc: {horizon: 1, iterations: 2}\n");
    ctn_model *const model = model_of_scene(scene);
    ctn_batch_config cfg = ctn_scene_config(scene);
    mpc *const m = mpc_open(scene, model, &cfg, &scene->optimize.mpc, 0, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    double x[2] = {0}, before = TOLD, most = 0, least = 0;
    for (int k = 0; k < 40; k++) {
        double u;
        ck_assert_int_eq(mpc_step(m, x, &u, &err), CTN_OK);
        const double rate = (u - before) / h;
        ck_assert_msg(rate > -2 - 2e-2 && rate < 1.5 + 2e-2, "knot %d: %g", k, rate);
        most = fmax(most, rate), least = fmin(least, rate), before = u;
        x[1] += h * u, x[0] += h * x[1];
        if (k == 4) ck_assert_int_eq(mpc_begin(m, x, 5 * h, &err), CTN_OK);  // goes on from what was told
    }
    ck_assert(most > 1.4 && least < -1.9 && fabs(x[0] - 1) < 0.1);
    mpc_close(m), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("control_rates");
    TCase *const c = tcase_create("control_rates");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, dense_optimum, 0, 4);
    tcase_add_test(c, limited);
    tcase_add_test(c, smooth);
    tcase_add_loop_test(c, differences, 0, 2);
    tcase_add_loop_test(c, same_bits, 0, 2);
    tcase_add_test(c, with_own_cost);
    tcase_add_test(c, followed);
    suite_add_tcase(s, c);
    return run_suite(s);
}
