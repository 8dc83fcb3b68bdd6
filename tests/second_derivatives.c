/// `method: ddp`: second derivatives of Hamiltonians against second differences along lines, balls and all kinds of costs included;
/// the last digits come at a quadratic rate, at the optimum that Gauss-Newton's steps find; the same bits for threads and blocks.
#include "control/ilqr_parts.h"
#include "control/limits.h"
#include "control/reward_cost.h"
#include "control/scene_plant.h"
#include "control/trajectory.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BALL                                                                                                                     \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: a, joint: {type: ball, damping: 0.1}, mass: 1, com: [0.02, 0, -0.3], inertia: [0.03, 0.03, 0.01, 0, 0, 0]}\n"    \
    "  - {name: b, parent: a, position: [0, 0, -0.6], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.7, com: [0, 0, -0.2],\n" \
    "     inertia: [0.02, 0.02, 0.002, 0, 0, 0]}\n"                                                                              \
    "motors: [{joint: a, type: torque}, {joint: b, type: torque}]\nduration: 0.2\n"
#define ALL                                                                                                                      \
    "reward: [{term: upright, link: b, weight: 1}, {term: height, link: b, weight: -1, when: end}]\n"                            \
    "optimize:\n  method: ddp\n  reward: 0.5\n  cost:\n    - {term: posture, weight: 1, end: 2}\n"                               \
    "    - {term: place, link: b, point: [0, 0.1, -0.3], target: [0.3, 0.2, -0.5], weight: 3, end: 5}\n"                         \
    "    - {term: orientation, link: b, target: [1, 0.3, 0.2, 0], weight: 1}\n"                                                  \
    "    - {term: point_velocity, link: b, target: [0, 1, 0], weight: 0.3}\n    - {term: com, target: [0, 0, -1], end: 3}\n"     \
    "    - {term: control, weight: 0.1}\n    - {term: control_rate, weight: 0.001}\n"
static const char *const balls[] = {BALL ALL "integrator: {method: rk4, dt: 0.05}\n",
                                    BALL ALL "integrator: {method: radau, dt: 0.05}\n"};

/// l(x, u) + p'(F(x, u) - y) of a knot, at t along a line from x, u: in tangent coordinates.
static double hamiltonian(const ilqr *s, int k, const double *dx, const double *du, double t, const double *y)
{
    const plant *const p = s->plant;
    double to[32], told[8], step[32], next[32], change[32], H;
    for (int i = 0; i < p->n; i++) step[i] = t * dx[i];
    p->add(p->context, s->X + k * p->nx, step, to);
    for (int i = 0; i < p->m; i++) told[i] = k < p->knots ? s->U[k * p->m + i] + t * du[i] : 0;
    p->cost(p->context, 1, &k, to, told, &H);
    if (k == p->knots) return H;
    bool good;
    ck_assert(plant_step(p, to, told, next, &good, NULL) == CTN_OK && good);
    p->difference(p->context, y, next, change);
    for (int i = 0; i < p->n; i++) H += s->second.p[(k + 1) * p->n + i] * change[i];
    return H;
}

START_TEST(along_lines)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(balls[_i], strlen(balls[_i]), "second", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const model = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    scene_plant *const plant = scene_plant_open(scene, model, &cfg, 0.2, 16, &err);
    ck_assert_msg(plant != NULL, "%s", err.message);
    const struct plant *const p = scene_plant_of(plant);
    reward_cost *const earned = reward_cost_open(scene, model, p->knots, 0.05, &err);
    scene_plant_add(plant, reward_cost_added(earned));
    const ilqr_config own = trajectory_settings(scene, p->knots);
    ck_assert(own.second);
    ilqr *const s = ilqr_open(p, &own, &err);
    double x0[32] = {0}, U[4 * 4];
    ctn_model_initial_state(model, x0, x0 + 5);
    const double turn[4] = {0.6, -0.4, 0.8, 0.5};
    ctn_model_integrate(model, 1, x0, turn, 1, x0);
    for (int i = 0; i < 4; i++) x0[5 + i] = cos(1.0 + i);
    for (int i = 0; i < 16; i++) U[i] = 2 * sin(2.0 * i);
    ck_assert_msg(ilqr_begin(s, x0, U, &err) == CTN_OK, "%s", err.message);
    ck_assert_int_eq(ilqr_derive(s, s->X, s->U, s->A, s->B, &s->costs, &err), CTN_OK);
    ck_assert_int_eq(ilqr_find_second(s, &err), CTN_OK);
    const int n = p->n, m = p->m;
    for (int k = 0; k <= p->knots; k++)
        for (int line = 0; line < 6; line++) {
            double dx[32], du[8], expected = 0;
            for (int i = 0; i < n; i++) dx[i] = sin(3.0 * line + 1.3 * i + k);
            for (int i = 0; i < m; i++) du[i] = k < p->knots ? cos(2.0 * line + 0.7 * i) : 0;
            const double h = 2e-3, *const y = s->X + (k < p->knots ? k + 1 : k) * p->nx;
            double at[5];
            for (int j = 0; j < 5; j++) at[j] = hamiltonian(s, k, dx, du, (j - 2) * h, y);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) expected += dx[i] * s->costs.xx[(k * n + i) * n + j] * dx[j];
            for (int i = 0; i < m; i++) {
                for (int j = 0; j < n; j++) expected += 2 * du[i] * s->costs.ux[(k * m + i) * n + j] * dx[j];
                for (int j = 0; j < m; j++) expected += du[i] * s->costs.uu[(k * m + i) * m + j] * du[j];
            }
            const double second = (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * h * h);
            ck_assert_msg(fabs(second - expected) < 2e-5 * fmax(1, fabs(second)), "knot %d, line %d: %.9g, expected %.9g", k,
                          line, expected, second);
        }
    ilqr_close(s), scene_plant_close(plant), reward_cost_close(earned), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- swing-ups and reaches

#define CART                                                                                                                     \
    "catena: 1\nlinks:\n  - {name: cart, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"     \
    "  - {name: pole, parent: cart, joint: {type: revolute, axis: [0, -1, 0]}, mass: 0.3, com: [0, 0, -0.5],\n"                  \
    "     inertia: [0.025, 0.025, 1e-4, 0, 0, 0]}\nmotors: [{joint: cart, type: torque}]\nduration: 1\n"                         \
    "integrator: {method: rk4, dt: 0.02}\noptimize:\n  iterations: 300\n  tolerance: 1e-9\n"
static const struct {
    const char *before, *after;
} problems[] = {{CART, "  cost:\n    - {term: posture, weight: 1, end: 100, target: [0.5, 1.2]}\n"
                       "    - {term: velocity, weight: 0.1, end: 10}\n    - {term: control, weight: 0.05}\n"},
                {CART,
                 "  bounds: [-12, 12]\n  cost:\n    - {term: place, link: pole, point: [0, 0, -1], target: [0.4, 0, 0.1], "
                 "weight: 1, end: 100}\n    - {term: velocity, weight: 0.1, end: 10}\n    - {term: control, weight: 0.05}\n"},
                {CART, "  limits: [{term: velocity, joints: [cart], within: [-0.8, 0.8]}]\n  cost:\n"
                       "    - {term: posture, weight: 1, end: 100, target: [0.5, 1.2]}\n"
                       "    - {term: velocity, weight: 0.1, end: 10}\n    - {term: control, weight: 0.05}\n"}};
enum { PROBLEMS = sizeof problems / sizeof *problems, KNOTS = 50 };

static ctn_optimize *open_problem(int k, const char *settings, const char *engine, int threads, ctn_scene **scene,
                                  ctn_model **model)
{
    ctn_error err;
    char text[4000];
    snprintf(text, sizeof text, "%s%s%s", problems[k].before, settings, problems[k].after);
    *scene = ctn_scene_parse(text, strlen(text), "second", &err);
    ck_assert_msg(*scene != NULL, "%s\n%s", err.message, text);
    *model = ctn_model_create(*scene, &err);
    ctn_batch_config cfg = ctn_scene_config(*scene);
    cfg.engine = engine, cfg.threads = threads;
    ctn_optimize *const o = ctn_optimize_create(*scene, *model, &cfg, 1, NULL, &err);
    ck_assert_msg(o != NULL, "%s", err.message);
    return o;
}

static void drop(ctn_optimize *o, ctn_scene *scene, ctn_model *model)
{
    ctn_optimize_free(o), ctn_model_free(model), ctn_scene_free(scene);
}

/// To the end; from a gradient of 1e-3 on: how many iterations.
static int finish(ctn_optimize *o)
{
    ctn_error err;
    int near = -1;
    while (ctn_optimize_get_state(o).stop == CTN_OPTIMIZE_RUNS && ctn_optimize_get_state(o).iteration < 300) {
        ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
        const ctn_optimize_state now = ctn_optimize_get_state(o);
        if (near < 0 && now.gradient <= 1e-3 && now.iteration > 0) near = now.iteration;
    }
    return ctn_optimize_get_state(o).iteration - near;
}

START_TEST(last_digits)
{
    ctn_scene *scene[2];
    ctn_model *model[2];
    ctn_optimize *const a = open_problem(_i, "", NULL, 1, &scene[0], &model[0]), *const b =
                                                                                     open_problem(_i, "  method: ddp\n", NULL, 1,
                                                                                                  &scene[1], &model[1]);
    const int first = finish(a), last = finish(b);
    ck_assert_int_eq(ctn_optimize_get_state(b).stop, CTN_OPTIMIZE_OPTIMAL);
    if (_i < 2)
        ck_assert_msg(last <= 3 && last < first, "%d iterations from near on, without second derivatives %d", last, first);
    const double cost = ctn_optimize_get_state(a).cost;
    ck_assert_double_eq_tol(ctn_optimize_get_state(b).cost, cost, (_i < 2 ? 1e-8 : 1e-4) * cost);
    for (int k = 0; k < KNOTS; k++)
        ck_assert_double_eq_tol(ctn_optimize_controls(a)[k], ctn_optimize_controls(b)[k], _i < 2 ? 1e-3 : 0.1);
    drop(a, scene[0], model[0]), drop(b, scene[1], model[1]);
}
END_TEST

START_TEST(same_bits)
{
    static const char *const engines[] = {"scalar", NULL, NULL};
    double first[KNOTS];
    for (int run = 0; run < 3; run++) {
        ctn_error err;
        ctn_scene *scene;
        ctn_model *model;
        ctn_optimize *const o =
            open_problem(_i, "  method: ddp\n  backward: 3\n  forward: 3\n", engines[run], 1 + run % 2, &scene, &model);
        for (int k = 0; k < 25; k++) ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
        if (!run) memcpy(first, ctn_optimize_controls(o), sizeof first);
        ck_assert_msg(!memcmp(first, ctn_optimize_controls(o), sizeof first), "run %d has other bits", run);
        drop(o, scene, model);
    }
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("second_derivatives");
    TCase *const c = tcase_create("second_derivatives");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, along_lines, 0, 2);
    tcase_add_loop_test(c, last_digits, 0, PROBLEMS);
    tcase_add_loop_test(c, same_bits, 0, PROBLEMS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
