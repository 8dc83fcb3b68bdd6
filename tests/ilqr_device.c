/// Iterative LQR on the engine "cuda": every number of an iteration has the bits of the CPU, on a GPU or, where CTN_CUDA_LIBRARY
/// names it, through its twin (tests/ilqr_twin.cpp); what is refused, and a device that fails.
#include "control/trajectory.h"
#include "sim/engine/device.h"
#include "tests/golden_plans.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void same(const char *name, int iteration, const char *what, const double *here, const double *there, size_t count)
{
    for (size_t k = 0; k < count; k++)
        ck_assert_msg(!memcmp(&here[k], &there[k], sizeof *here) || (isnan(here[k]) && isnan(there[k])),
                      "%s, iteration %d: %s[%zu] is %.17g, on the device %.17g", name, iteration, what, k, here[k], there[k]);
}

/// All that an iteration has found.
static void same_iteration(const char *name, const plant *p, const ilqr_config *cfg, const ilqr *here, const ilqr *there)
{
    const ilqr_state a = ilqr_get_state(here), b = ilqr_get_state(there);
    const size_t N = (size_t)p->knots, n = (size_t)p->n, m = (size_t)p->m;
    const double numbers[2][7] = {{a.cost, a.defect, a.gradient, a.rho, a.alpha, (double)a.failed, a.stop},
                                  {b.cost, b.defect, b.gradient, b.rho, b.alpha, (double)b.failed, b.stop}};
    same(name, a.iteration, "states", ilqr_states(here), ilqr_states(there), (N + 1) * (size_t)p->nx);
    same(name, a.iteration, "controls", ilqr_controls(here), ilqr_controls(there), N * m);
    same(name, a.iteration, "kappa", ilqr_feedforward(here), ilqr_feedforward(there), N * m);
    same(name, a.iteration, "K", ilqr_gains(here), ilqr_gains(there), N * m * n);
    for (int k = 0; k <= p->knots; k++) {
        const double *x, *y, *const P = ilqr_value(here, k, &x), *const Q = ilqr_value(there, k, &y);
        same(name, a.iteration, "V_x", x, y, n), same(name, a.iteration, "V_xx", P, Q, n * n);
    }
    double expected[2], on_device[2];
    ilqr_expected(here, &expected[0], &expected[1]), ilqr_expected(there, &on_device[0], &on_device[1]);
    same(name, a.iteration, "what is expected", expected, on_device, 2);
    same(name, a.iteration, "costs of all alpha", ilqr_tried(here), ilqr_tried(there), (size_t)cfg->alphas);
    same(name, a.iteration, "its state", numbers[0], numbers[1], 7);
}

/// So many iterations on both; how many points of roll-outs failed.
static long compare(int c, double bound, ilqr_config cfg, int iterations)
{
    problem here = open_problem(&cases[c], NULL, 1, bound), there = open_problem(&cases[c], "cuda", 1, bound);
    double lower[8], upper[8];
    ck_assert(scene_plant_of(there.plant)->there && !scene_plant_of(here.plant)->there);
    if (scene_plant_bounds(here.plant, lower, upper)) cfg.lower = lower, cfg.upper = upper;
    ilqr *const a = begin_problem(&here, &cfg), *const b = begin_problem(&there, &cfg);
    for (int k = 0; k < iterations && ilqr_get_state(a).stop == ILQR_RUNS; k++) {
        iterate(a), iterate(b);
        same_iteration(cases[c].name, scene_plant_of(here.plant), &cfg, a, b);
    }
    const long failed = ilqr_get_state(a).failed;
    ilqr_close(a), ilqr_close(b);
    close_problem(&here), close_problem(&there);
    return failed;
}

/// In whole, in blocks one way or the other, and in more blocks than a warp has threads.
static const int blocks[][2] = {{1, 1}, {4, 1}, {1, 4}, {5, 3}, {2, 40}};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

START_TEST(golden_plans)
{
    ilqr_config cfg = ilqr_default_config();
    const int knots = golden_knots(&cases[_i / BLOCKS]), forward = blocks[_i % BLOCKS][1];
    cfg.backward = blocks[_i % BLOCKS][0], cfg.forward = forward < knots ? forward : knots;
    compare(_i / BLOCKS, INFINITY, cfg, 3);
}
END_TEST

/// As published, with few alpha, to the end.
START_TEST(to_the_end)
{
    ilqr_config cfg = ilqr_default_config();
    cfg.backward = cfg.forward = 4, cfg.zero_start = cfg.cost_alone = true, cfg.alphas = 5;
    compare(2, INFINITY, cfg, 100);
}
END_TEST

START_TEST(bounded)
{
    ilqr_config cfg = ilqr_default_config();
    compare(0, 8, cfg, 100);
    cfg.backward = cfg.forward = 3;
    compare(4, 60, cfg, 6);
}
END_TEST

/// What controls of some knots cost has no minimum, but for large rho: passes end in the middle of blocks.
static void no_cost(void *context, int count, const int *knot, const double *x, const double *u, double *cost)
{
    (void)context, (void)count, (void)knot, (void)x, (void)u, (void)cost;
}
static void bent_down(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    (void)x, (void)u;
    for (int i = 0; i < count; i++)
        if (knot[i] % 9 == 4) to->uu[4 * i] -= *(double *)context;
}

START_TEST(no_minimum)
{
    double by = _i ? 1e9 : 2;  // there is one in the end, or there is none
    problem here = open_problem(&cases[2], NULL, 1, INFINITY), there = open_problem(&cases[2], "cuda", 1, INFINITY);
    ilqr_config cfg = ilqr_default_config();
    cfg.backward = 3;
    ilqr *of[2];
    for (int k = 0; k < 2; k++) {
        problem *const p = k ? &there : &here;
        of[k] = begin_problem(p, &cfg);
        iterate(of[k]), iterate(of[k]);
        scene_plant_add(p->plant, (added_cost){&by, no_cost, bent_down});
        ck_assert_int_eq(ilqr_begin(of[k], p->x0, p->U, NULL), CTN_OK);  // whose gains are 0
    }
    for (int k = 0; k < 4; k++) {
        iterate(of[0]), iterate(of[1]);
        same_iteration("no minimum", scene_plant_of(here.plant), &cfg, of[0], of[1]);
        ck_assert_msg(ilqr_get_state(of[0]).rho > 2, "rho is %g", ilqr_get_state(of[0]).rho);
    }
    ck_assert_int_eq(ilqr_get_state(of[0]).stop == ILQR_STUCK, _i);
    ilqr_close(of[0]), ilqr_close(of[1]);
    close_problem(&here), close_problem(&there);
}
END_TEST

// ---- scenes

/// A scene's trajectory on an engine, in so many blocks both ways.
typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    trajectory *is;
} plan;

static plan open_plan(ctn_scene *scene, const char *engine, double duration, int in_blocks)
{
    ctn_error err;
    plan p = {.scene = scene};
    ck_assert(scene != NULL);
    p.scene->optimize.backward = p.scene->optimize.forward = in_blocks;
    p.model = ctn_model_create(scene, &err);
    ck_assert_msg(p.model != NULL, "%s", err.message);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.engine = engine, cfg.threads = 1;
    p.is = trajectory_open(scene, p.model, &cfg, duration, NULL, &err);
    ck_assert_msg(p.is != NULL, "%s", err.message);
    return p;
}

static void close_plan(plan *p) { trajectory_close(p->is), ctn_model_free(p->model), ctn_scene_free(p->scene); }

/// How many points of roll-outs failed.
static long compare_scenes(const char *name, ctn_scene *here, ctn_scene *there, double duration, int in_blocks, int iterations)
{
    plan a = open_plan(here, NULL, duration, in_blocks), b = open_plan(there, "cuda", duration, in_blocks);
    const ilqr_config cfg = trajectory_settings(here, trajectory_knots(a.is));
    ctn_error err;
    for (int k = 0; k < iterations && trajectory_state(a.is).stop == ILQR_RUNS; k++) {
        ck_assert_msg(trajectory_step(a.is, &err) == CTN_OK, "%s: %s", name, err.message);
        ck_assert_msg(trajectory_step(b.is, &err) == CTN_OK, "%s: %s", name, err.message);
        same_iteration(name, trajectory_plant(a.is), &cfg, trajectory_solver(a.is), trajectory_solver(b.is));
    }
    const long failed = ilqr_get_state(trajectory_solver(a.is)).failed;
    close_plan(&a), close_plan(&b);
    return failed;
}

/// Thrusters on a body that is free; limits; steps that carry more than (q, v); feet on a ground, in knots of ten steps.
static const struct {
    const char *name;
    double duration;
    int blocks, iterations;
} scenes[] = {{"quadrotor-slalom", 1, 3, 3},
              {"cartpole-track", 1, 1, 6},
              {"cartpole-track", 1, 4, 6},
              {"iiwa14-throw", 0.4, 2, 2},
              {"go2-stands-up", 0.2, 2, 1}};
enum { SCENES = sizeof scenes / sizeof *scenes };

START_TEST(whole_scenes)
{
    char path[400];
    ctn_error err;
    snprintf(path, sizeof path, CATENA_SOURCE_DIR "/scenes/%s.yaml", scenes[_i].name);
    compare_scenes(scenes[_i].name, ctn_scene_load(path, &err), ctn_scene_load(path, &err), scenes[_i].duration,
                   scenes[_i].blocks, scenes[_i].iterations);
}
END_TEST

#define PENDULUM                                                                                                                 \
    "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.05}, mass: 1, com: [0, 0, -0.5],\n"        \
    "  inertia: [0.1, 0.1, 0.1, 0, 0, 0]}]\nduration: 2\n"
#define TORQUES PENDULUM "motors: [{joint: a, type: torque}]\n"
#define COSTS                                                                                                                    \
    "optimize:\n  rho: 0\n  cost:\n    - {term: posture, weight: 1, end: 100, target: 3}\n"                                      \
    "    - {term: velocity, weight: 0.01}\n"

static long compare_texts(const char *name, const char *text, int in_blocks, int iterations)
{
    return compare_scenes(name, parsed_scene(text), parsed_scene(text), 2, in_blocks, iterations);
}

/// States that carry what was told last.
START_TEST(rates_of_controls)
{
    compare_texts("rates",
                  PENDULUM "motors: [{joint: a, type: torque, target: 0.1}]\nintegrator: {method: alpha, dt: 0.05}\n" COSTS
                           "    - {term: control_rate, weight: 0.001}\n    - {term: control, weight: 0.1}\n",
                  3, 8);
}
END_TEST

#define TWO_LINKS(method)                                                                                                        \
    "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, "    \
    "0.1, 0, 0, 0]},\n  {name: b, parent: a, position: [0, 0, -1], joint: {type: revolute, axis: [0, 1, 0]}, mass: 1,\n"         \
    "  com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}]\nmotors: [{joint: a, type: torque}]\nduration: 2\n"                \
    "integrator: {method: " method ", dt: 0.1}\noptimize:\n  rho: 0\n  cost:\n"                                                  \
    "    - {term: posture, weight: 1, end: 1000, target: [3, 0]}\n    - {term: velocity, weight: 0.001}\n"                       \
    "    - {term: control, weight: 1e-7}\n"

/// Torques are hardly of account: with the largest alpha states come to be out of bounds, or steps have no solution.
START_TEST(lost)
{
    const long failed = compare_texts("lost", _i % 2 ? TWO_LINKS("rk4") : TWO_LINKS("radau"), 1 + _i / 2, 6);
    ck_assert_msg(failed > 0, "nothing was lost");
}
END_TEST

// ---- what it has not, and failures

START_TEST(refused)
{
    ctn_error err;
    ctn_scene *const scene =
        parsed_scene(TORQUES "integrator: {method: rk4, dt: 0.05}\n" COSTS "    - {term: control, weight: 0.1}\n");
    ctn_model *const model = model_of_scene(scene);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.engine = "cuda-float";
    ck_assert(!ctn_optimize_create(scene, model, &cfg, 2, NULL, &err));
    ck_assert_msg(err.status == CTN_UNAVAILABLE && strstr(err.message, "'cuda-float' makes no plans"), "%s", err.message);
    cfg.engine = "cuda", cfg.worlds = 2;
    const double starts[4] = {0};
    ck_assert(!ctn_trajectories_create(scene, model, &cfg, 2, starts, &err));
    ck_assert_msg(err.status == CTN_UNAVAILABLE && strstr(err.message, "one trajectory at a time"), "%s", err.message);
    cfg.worlds = 1;
    const ctn_parameter mass = {CTN_MASS_SCALE, 0};
    cfg.parameters = &mass, cfg.parameter_count = 1;
    ck_assert(!ctn_optimize_create(scene, model, &cfg, 2, NULL, &err));
    ck_assert_msg(err.status == CTN_UNAVAILABLE && strstr(err.message, "no plans with parameters"), "%s", err.message);
    ctn_model_free(model), ctn_scene_free(scene);
    ctn_scene *const remembers = parsed_scene(TORQUES "integrator: {method: radau, dt: 0.05}\noptimize:\n  remember: true\n"
                                                      "  cost: [{term: control, weight: 0.1}]\n");
    ctn_model *const other = model_of_scene(remembers);
    cfg = ctn_scene_config(remembers), cfg.engine = "cuda";
    ck_assert(!ctn_optimize_create(remembers, other, &cfg, 2, NULL, &err));
    ck_assert_msg(strstr(err.message, "optimize.remember: the engine 'cuda' begins every knot anew") != NULL, "%s", err.message);
    ctn_model_free(other), ctn_scene_free(remembers);
}
END_TEST

/// Wherever it fails the call says so, and the trajectory is what it was.
START_TEST(a_device_that_fails_is_told_of)
{
    char most[16];
    snprintf(most, sizeof most, "%d", _i);
    setenv("CTN_TWIN_LAUNCHES", most, 1);
    ctn_error err;
    ctn_scene *const scene =
        parsed_scene(TORQUES "integrator: {method: rk4, dt: 0.05}\n" COSTS "    - {term: control, weight: 0.1}\n");
    ctn_model *const model = model_of_scene(scene);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.engine = "cuda";
    scene->optimize.backward = scene->optimize.forward = 2;
    trajectory *const t = trajectory_open(scene, model, &cfg, 2, NULL, &err);
    if (_i < 2) ck_assert_msg(!t && err.status == CTN_UNAVAILABLE, "%s", t ? "it opens" : err.message);
    else ck_assert_msg(t != NULL, "%s", err.message);
    ctn_status status = t ? CTN_OK : CTN_UNAVAILABLE;
    while (status == CTN_OK) {
        double X[2 * 41], U[40];
        const int before = trajectory_state(t).iteration;
        memcpy(X, ilqr_states(trajectory_solver(t)), sizeof X), memcpy(U, ilqr_controls(trajectory_solver(t)), sizeof U);
        status = trajectory_step(t, &err);
        ck_assert_msg(before < 8, "%d launches, and it never fails", _i);
        ck_assert_int_eq(trajectory_state(t).iteration, before + (status == CTN_OK));
        if (status == CTN_OK) continue;
        ck_assert(!memcmp(X, ilqr_states(trajectory_solver(t)), sizeof X));
        ck_assert(!memcmp(U, ilqr_controls(trajectory_solver(t)), sizeof U));
    }
    ck_assert_int_eq(status, CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "engine: 'cuda' failed") != NULL, "%s", err.message);
    trajectory_close(t), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

static bool is_there(ctn_error *err) { return device_find("cuda", err) != NULL; }

int main(void)
{
    if (!machine_has("ilqr_device", is_there)) return EXIT_SKIPPED;
    Suite *const s = suite_create("ilqr_device");
    TCase *const c = tcase_create("ilqr_device");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, golden_plans, 0, CASES * BLOCKS);
    tcase_add_test(c, to_the_end);
    tcase_add_test(c, bounded);
    tcase_add_loop_test(c, no_minimum, 0, 2);
    tcase_add_loop_test(c, whole_scenes, 0, SCENES);
    tcase_add_test(c, rates_of_controls);
    tcase_add_loop_test(c, lost, 0, 4);
    tcase_add_test(c, refused);
    const char *const library = getenv("CTN_CUDA_LIBRARY");
    if (library && strstr(library, "twin")) tcase_add_loop_test(c, a_device_that_fails_is_told_of, 0, 12);
    suite_add_tcase(s, c);
    return run_suite(s);
}
