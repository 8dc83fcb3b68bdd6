/// Trajectories and plans of many worlds side by side against each alone, to the last bit: for any number of worlds, threads and lanes,
/// with bounds, blocks, balls, paths that wait; a world that is lost leaves the others alone.
#include "control/ilqr_together.h"
#include "control/limits.h"
#include "control/mpc.h"
#include "control/mpc_worlds.h"
#include "control/reward_cost.h"
#include "control/scene_plant.h"
#include "control/trajectory.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <catena/motors.h>
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define CHAIN                                                                                                                    \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.1}, mass: 1, com: [0, 0, -0.3],\n"                        \
    "     inertia: [0.03, 0.03, 0.002, 0, 0, 0]}\n"                                                                              \
    "  - {name: b, parent: a, position: [0, 0, -0.6], joint: {type: revolute, axis: [1, 0, 0]}, mass: 0.7, com: [0, 0.05, "      \
    "-0.2],\n"                                                                                                                   \
    "     inertia: [0.02, 0.02, 0.002, 0, 0, 0]}\n"                                                                              \
    "  - {name: c, parent: b, position: [0, 0, -0.4], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.3, com: [0.02, 0, "      \
    "-0.1],\n"                                                                                                                   \
    "     inertia: [0.004, 0.004, 0.001, 0, 0, 0]}\n"
#define TORQUES(effort)                                                                                                          \
    "motors: [{joint: a, type: torque" effort "}, {joint: b, type: torque" effort "}, {joint: c, type: torque" effort "}]\n"
#define COSTS                                                                                                                    \
    "  cost:\n    - {term: posture, weight: 1, end: 50, target: [0.6, -0.4, 0.8]}\n"                                             \
    "    - {term: velocity, weight: 0.02, end: 1}\n    - {term: control, weight: 0.02, target: 0}\n"
#define BALL                                                                                                                     \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: a, joint: {type: ball, damping: 0.1}, mass: 1, com: [0.02, 0, -0.3], inertia: [0.03, 0.03, 0.01, 0, 0, 0]}\n"    \
    "  - {name: b, parent: a, position: [0, 0, -0.6], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.7, com: [0, 0, -0.2],\n" \
    "     inertia: [0.02, 0.02, 0.002, 0, 0, 0]}\n"                                                                              \
    "motors: [{joint: a, type: torque}, {joint: b, type: torque}]\n"

static const struct {
    const char *name, *text;
} scenes[] = {
    {"chain",
     CHAIN TORQUES("") "optimize:\n  alphas: 2\n" COSTS "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.6\n"},
    {"efforts",
     CHAIN TORQUES(", effort: 2") "optimize:\n  alphas: 5\n" COSTS "integrator: {method: euler, dt: 0.01}\nduration: 0.3\n"},
    {"blocks", CHAIN TORQUES("") "optimize:\n  alphas: 4\n  backward: 3\n  forward: 3\n" COSTS
                                 "integrator: {method: rk4, dt: 0.02}\nduration: 0.6\n"},
    {"as published", CHAIN TORQUES("") "optimize:\n  alphas: 3\n  method: plancher\n  backward: 2\n  rho: 0\n" COSTS
                                       "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.4\n"},
    {"second derivatives", CHAIN TORQUES("") "optimize:\n  method: ddp\n  alphas: 4\n" COSTS
                                             "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.4\n"},
    {"ball", BALL "optimize:\n  alphas: 4\n  cost:\n    - {term: posture, weight: 1, end: 50}\n"
                  "    - {term: velocity, weight: 0.02, end: 1}\n    - {term: control, weight: 0.02}\n"
                  "integrator: {method: radau, dt: 0.02}\nduration: 0.4\n"},
    {"rates",
     CHAIN TORQUES(", effort: 4") "reward:\n  - {term: smoothness, weight: -0.001}\noptimize:\n  alphas: 3\n  forward: 2\n"
                                  "  reward: 0.5\n" COSTS "    - {term: control_rate, weight: 0.001}\n"
                                  "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.4\n"},
    {"limits", CHAIN TORQUES("") "reward:\n  - {term: height, link: c, weight: 1}\noptimize:\n  alphas: 3\n  reward: 0.5\n"
                                 "  limits:\n    - {term: velocity, joints: [a, b], within: [-1, 1]}\n"
                                 "    - {term: posture, target: [0.3, -0.2, 0.4], when: end}\n" COSTS
                                 "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.4\n"},
};
enum { SCENES = sizeof scenes / sizeof *scenes, ITERATIONS = 20, MOST_WORLDS = 11 };

typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    ctn_batch_config cfg;
    size_t nq, nv, nu, nx;
    double x0[MOST_WORLDS * 16];
} problem;

/// Worlds begin at states of their own.
static problem open_problem(const char *text)
{
    ctn_error err;
    problem p = {.scene = ctn_scene_parse(text, strlen(text), "worlds", &err)};
    ck_assert_msg(p.scene != NULL, "%s", err.message);
    p.model = ctn_model_create(p.scene, NULL), p.cfg = ctn_scene_config(p.scene);
    p.nq = (size_t)ctn_model_nq(p.model), p.nv = (size_t)ctn_model_nv(p.model), p.nu = (size_t)ctn_model_ntarget(p.model);
    p.nx = p.nq + p.nv;
    for (size_t w = 0; w < MOST_WORLDS; w++) {
        double q[16], *const x = p.x0 + w * p.nx, dq[16];
        ctn_model_initial_state(p.model, q, x + p.nq);
        for (size_t i = 0; i < p.nv; i++)
            dq[i] = 0.4 * sin(1.0 + 3 * (double)w + (double)i), x[p.nq + i] = 0.5 * cos(2.0 * (double)(w + i));
        ctn_model_integrate(p.model, 1, q, dq, 1, x);
    }
    return p;
}

static void close_problem(problem *p) { ctn_model_free(p->model), ctn_scene_free(p->scene); }

/// A world alone: states, controls, gains, one behind the other.
typedef struct {
    ilqr_state state;
    lagrangian_state limits;
    ctn_status status;
    size_t nX, nU, nK;
    double *X, *U, *K;
} alone;

/// The first `some` columns of rows [rows][width].
static void columns(size_t rows, size_t width, size_t some, const double *x, double *to)
{
    for (size_t k = 0; k < rows; k++) memcpy(to + k * some, x + k * width, some * sizeof *to);
}

static alone optimise_alone(const problem *p, const double *x0, int iterations)
{
    ctn_error err;
    scene_plant *const s = scene_plant_open(p->scene, p->model, &p->cfg, ctn_scene_duration(p->scene), 4, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    const plant *const of = scene_plant_of(s);
    const size_t N = (size_t)of->knots;
    reward_cost *const earned =
        p->scene->optimize.reward > 0 ? reward_cost_open(p->scene, p->model, of->knots, scene_plant_knot(s), &err) : NULL;
    if (earned) scene_plant_add(s, reward_cost_added(earned));
    const scene_optimize *const o = &p->scene->optimize;
    limits *const kept = o->nlimit ? limits_open(p->scene, p->model, of->knots, scene_plant_knot(s), &err) : NULL;
    lagrangian *const l = kept ? lagrangian_open(of, limits_of(kept), o->limit_tolerance, o->penalty, &err) : NULL;
    if (l) scene_plant_add(s, lagrangian_added(l));
    double *const U = calloc(N * p->nu, sizeof *U), lower[8], upper[8], x[32];
    ilqr_config cfg = trajectory_settings(p->scene, of->knots);
    if (scene_plant_bounds(s, lower, upper)) cfg.lower = lower, cfg.upper = upper;
    ilqr *const solver = ilqr_open(of, &cfg, &err);
    ck_assert_msg(solver != NULL, "%s", err.message);
    scene_plant_guess(s, U);
    alone a = {.nX = (N + 1) * p->nx, .nU = N * p->nu, .nK = N * p->nu * 2 * p->nv};
    memcpy(x, x0, p->nx * sizeof *x), ctn_model_targets(p->model, x + p->nx);  // which only some plants look at
    a.status = ilqr_begin(solver, x, U, &err);
    for (int k = 0; k < iterations && a.status == CTN_OK; k++)
        a.status = l ? lagrangian_step(l, solver, &err) : ilqr_step(solver, &err);
    a.X = malloc(a.nX * sizeof *a.X), a.U = malloc(a.nU * sizeof *a.U), a.K = malloc(a.nK * sizeof *a.K);
    columns(N + 1, (size_t)of->nx, p->nx, ilqr_states(solver), a.X);
    columns(N * p->nu, (size_t)of->n, 2 * p->nv, ilqr_gains(solver), a.K);
    memcpy(a.U, ilqr_controls(solver), a.nU * sizeof *a.U), a.state = ilqr_get_state(solver);
    if (l) {
        double running[8], end[8];
        const added_cost besides = earned ? reward_cost_added(earned) : (added_cost){0};
        if (!a.status) lagrangian_look(l, a.X, a.U);
        a.limits = lagrangian_get_state(l), a.state.stop = a.limits.stop;
        a.state.cost = trajectory_cost(scene_plant_costs(s), o->ncost, of, &besides, 1, a.X, a.U, running, end);
    }
    lagrangian_close(l), limits_close(kept), free(U), ilqr_close(solver), scene_plant_close(s), reward_cost_close(earned);
    return a;
}

static void same_world(const char *name, const ctn_trajectories *t, int w, const alone *a)
{
    const char *why;
    const ctn_status lost = ctn_trajectories_lost(t, w, &why);
    ck_assert_msg(lost == a->status, "%s, world %d: status %d (%s), alone %d", name, w, lost, why, a->status);
    if (lost != CTN_OK) return;
    const ctn_optimize_state s = ctn_trajectories_get_state(t, w);
    ck_assert_msg(s.iteration == a->state.iteration && s.cost == a->state.cost && s.gradient == a->state.gradient &&
                      (int)s.stop == (int)a->state.stop && s.violation == a->limits.violation && s.penalty == a->limits.penalty,
                  "%s, world %d: iteration %d, cost %.17g, gradient %.17g; alone %d, %.17g, %.17g", name, w, s.iteration, s.cost,
                  s.gradient, a->state.iteration, a->state.cost, a->state.gradient);
    ck_assert_msg(!memcmp(ctn_trajectories_states(t, w), a->X, a->nX * sizeof *a->X), "%s, world %d: other states", name, w);
    ck_assert_msg(!memcmp(ctn_trajectories_controls(t, w), a->U, a->nU * sizeof *a->U), "%s, world %d: other controls", name, w);
    ck_assert_msg(!memcmp(ctn_trajectories_gains(t, w), a->K, a->nK * sizeof *a->K), "%s, world %d: other gains", name, w);
}

/// Any number of worlds, in one call of several iterations or in several calls.
START_TEST(trajectories_as_alone)
{
    static const struct {
        int worlds, threads;
        const char *engine;
    } ways[] = {{MOST_WORLDS, 1, NULL}, {MOST_WORLDS, 2, NULL}, {5, 1, "scalar"}, {4, 1, NULL},
                {3, 1, NULL},           {2, 3, NULL},           {1, 1, NULL}};
    problem p = open_problem(scenes[_i].text);
    double *const lost = p.x0 + 2 * p.nx;  // world 2 flies apart
    for (size_t i = 0; i < p.nv; i++) lost[p.nq + i] = 1e200;
    alone each[MOST_WORLDS];
    int moved = 0;
    for (int w = 0; w < MOST_WORLDS; w++) {
        each[w] = optimise_alone(&p, p.x0 + (size_t)w * p.nx, ITERATIONS);
        moved += each[w].status == CTN_OK && each[w].state.iteration > 2;
    }
    ck_assert_int_eq(moved, MOST_WORLDS - 1);
    ck_assert_int_eq(each[2].status, CTN_FROZEN);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        ctn_error err;
        ctn_batch_config cfg = p.cfg;
        cfg.worlds = ways[k].worlds, cfg.threads = ways[k].threads, cfg.engine = ways[k].engine;
        ctn_trajectories *const t = ctn_trajectories_create(p.scene, p.model, &cfg, ctn_scene_duration(p.scene), p.x0, &err);
        ck_assert_msg(t != NULL, "%s: %s", scenes[_i].name, err.message);
        const int calls = k % 2 ? ITERATIONS : 1;
        for (int c = 0; c < calls; c++) ck_assert(ctn_trajectories_step(t, ITERATIONS / calls, &err) == CTN_OK);
        for (int w = 0; w < cfg.worlds; w++) same_world(scenes[_i].name, t, w, &each[w]);
        ctn_trajectories_free(t);
    }
    for (int w = 0; w < MOST_WORLDS; w++) free(each[w].X), free(each[w].U), free(each[w].K);
    close_problem(&p);
}
END_TEST

/// All of them come to their ends, each to its own optimum.
START_TEST(trajectories_end)
{
    problem p = open_problem(CHAIN TORQUES("") "optimize:\n  alphas: 4\n  tolerance: 1e-3\n" COSTS
                                               "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.6\n");
    ctn_error err;
    ctn_batch_config cfg = p.cfg;
    cfg.worlds = MOST_WORLDS;
    ctn_trajectories *const t = ctn_trajectories_create(p.scene, p.model, &cfg, ctn_scene_duration(p.scene), p.x0, &err);
    ck_assert_msg(t != NULL, "%s", err.message);
    for (int k = 0; k < 200 && ctn_trajectories_run(t); k++) ck_assert(ctn_trajectories_step(t, 1, &err) == CTN_OK);
    for (int w = 0; w < MOST_WORLDS; w++) {
        const ctn_optimize_state s = ctn_trajectories_get_state(t, w);
        ck_assert_msg(s.stop == CTN_OPTIMIZE_OPTIMAL && s.gradient <= 1e-3, "world %d: stop %d, gradient %g after %d", w, s.stop,
                      s.gradient, s.iteration);
    }
    ck_assert(!ctn_trajectories_run(t));
    volatile int stop = 1;
    ctn_trajectories_free(t);
    cfg.interrupt = &stop;
    ck_assert_ptr_null(ctn_trajectories_create(p.scene, p.model, &cfg, ctn_scene_duration(p.scene), p.x0, &err));
    ck_assert_int_eq(err.status, CTN_INTERRUPTED);
    close_problem(&p);
}
END_TEST

// ---- plans made anew

static const char *const controlled[] = {
    CHAIN TORQUES("") "optimize:\n  alphas: 2\n  iterations: 4\n" COSTS
                      "  mpc: {horizon: 0.4, iterations: 2}\nintegrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(", effort: 6") "optimize:\n  alphas: 4\n  iterations: 8\n  cost:\n"
                                 "    - {term: posture, weight: 20, end: 20, target: [{sinusoid: {amplitude: 0.4, frequency: "
                                 "0.7}}, 0, 0]}\n"
                                 "    - {term: velocity, weight: 0.02, end: 1}\n    - {term: control, weight: 0.02, target: 0}\n"
                                 "  mpc: {horizon: 0.3, iterations: 1, starts: {within: 0.3, slower: 2}}\n"
                                 "integrator: {method: rk4, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(", effort: 6") "optimize:\n  iterations: 2\n" COSTS
                                 "  mpc: {horizon: 0.4, iterations: 1, planner: mppi, samples: 10, points: 5}\n"
                                 "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(", effort: 6") "reward:\n  - {term: speed, link: c, axis: [1, 0, 0], weight: 3, from: 0.1, to: 0.3}\n"
                                 "optimize:\n  alphas: 4\n  iterations: 8\n  reward: 0.5\n  cost:\n"
                                 "    - {term: posture, weight: 20, end: 20, target: [{sinusoid: {amplitude: 0.4, frequency: "
                                 "0.7}}, 0, 0]}\n"
                                 "    - {term: velocity, weight: 0.02, end: 1}\n    - {term: control, weight: 0.02, target: 0}\n"
                                 "  mpc: {horizon: 0.3, iterations: 1, starts: {within: 0.3, slower: 2}}\n"
                                 "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(", effort: 6") "optimize:\n  iterations: 0\n" COSTS
                                 "  mpc: {horizon: 0.4, iterations: 0, planner: sampling, samples: 10, points: 5}\n"
                                 "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(", effort: 6") "reward:\n  - {term: smoothness, weight: -0.001}\noptimize:\n  alphas: 4\n  iterations: 8\n"
                                 "  reward: 0.5\n" COSTS "    - {term: control_rate, weight: 0.001}\n"
                                 "  mpc: {horizon: 0.3, iterations: 1}\n"
                                 "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(", effort: 6") "optimize:\n  iterations: 2\n" COSTS "    - {term: control_rate, weight: 0.001}\n"
                                 "  mpc: {horizon: 0.4, iterations: 1, planner: mppi, samples: 10, points: 5}\n"
                                 "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(", effort: 6") "reward:\n  - {term: height, link: c, weight: 1}\noptimize:\n  alphas: 4\n  iterations: 30\n"
                                 "  reward: 0.2\n  limits:\n    - {term: velocity, joints: [a, b], within: [-1, 1]}\n"
                                 "    - {term: posture, joints: [c], target: 0.3, when: end}\n"
                                 "    - {term: place, link: c, above: -0.9, from: 0.2, to: 0.4}\n  cost:\n"
                                 "    - {term: posture, weight: 20, end: 20, target: [{sinusoid: {amplitude: 0.4, frequency: "
                                 "0.7}}, 0, 0]}\n"
                                 "    - {term: velocity, weight: 0.02, end: 1}\n    - {term: control, weight: 0.02, target: 0}\n"
                                 "  mpc: {horizon: 0.3, iterations: 2, starts: {within: 0.3, slower: 2}}\n"
                                 "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
    CHAIN TORQUES(
        "") "optimize:\n  method: ddp\n  alphas: 4\n  iterations: 8\n  limits: [{term: velocity, within: [-1, 1]}]\n" COSTS
            "  mpc: {horizon: 0.3, iterations: 2}\nintegrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n",
};
enum { CONTROLLED = sizeof controlled / sizeof *controlled, SOME = 6, KNOTS = 25 };

/// Where the plant is after a knot, which is pushed besides.
static void move_plant(const plant *of, size_t nq, size_t nx, int w, int k, const double *u, double *x)
{
    double next[32], from[32] = {0};
    bool good;
    memcpy(from, x, nx * sizeof *x);
    ck_assert(plant_step(of, from, u, next, &good, NULL) == CTN_OK && good);
    for (size_t i = 0; i < nx; i++) x[i] = next[i] + (i >= nq ? 0.02 * sin(1.0 + w + 2.0 * k + (double)i) : 0);
}

START_TEST(plans_as_alone)
{
    problem p = open_problem(controlled[_i]);
    const scene_mpc *const how = &p.scene->optimize.mpc;
    ctn_error err;
    scene_plant *const s = scene_plant_open(p.scene, p.model, &p.cfg, 1, 4, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    const plant *const of = scene_plant_of(s);
    double told[SOME][KNOTS][3], start[32];
    mpc_state ends[SOME];
    ctn_model_initial_state(p.model, start, start + p.nq);
    for (int w = 0; w < SOME; w++) {
        double x[32], *const x0 = p.x0 + (size_t)w * p.nx;
        if (p.scene->optimize.mpc.planner == PLANNER_MPPI)
            memcpy(x0, start, p.nx * sizeof *x0);  // samples are drawn one after another: first plans are those of mpc_open
        memcpy(x, x0, p.nx * sizeof *x);
        mpc *const m = mpc_open(p.scene, p.model, &p.cfg, how, 7 + (uint64_t)w, &err);
        ck_assert_msg(m != NULL, "%s", err.message);
        if (how->planner != PLANNER_MPPI) ck_assert(mpc_begin(m, x, 0, &err) == CTN_OK);
        for (int k = 0; k < KNOTS; k++) {
            ck_assert(mpc_step(m, x, told[w][k], &err) == CTN_OK);
            move_plant(of, p.nq, p.nx, w, k, told[w][k], x);
        }
        ends[w] = mpc_get_state(m), mpc_close(m);
    }
    for (int way = 0; way < 4; way++) {
        ctn_batch_config cfg = p.cfg;
        cfg.worlds = way == 3 ? 3 : SOME, cfg.threads = 1 + way % 2, cfg.engine = way == 2 ? "scalar" : NULL;
        ctn_mpc *const m = ctn_mpc_create(p.scene, p.model, &cfg, 7, p.x0, &err);
        ck_assert_msg(m != NULL, "%s", err.message);
        double x[SOME * 16], u[SOME * 3];
        memcpy(x, p.x0, (size_t)cfg.worlds * p.nx * sizeof *x);
        for (int k = 0; k < KNOTS; k++) {
            ck_assert(ctn_mpc_step(m, x, u, &err) == CTN_OK);
            for (int w = 0; w < cfg.worlds; w++) {
                ck_assert_msg(!memcmp(u + 3 * w, told[w][k], sizeof told[w][k]), "way %d, knot %d, world %d: other bits", way, k,
                              w);
                move_plant(of, p.nq, p.nx, w, k, u + 3 * w, x + (size_t)w * p.nx);
            }
        }
        for (int w = 0; w < cfg.worlds; w++) {
            const ctn_mpc_state now = ctn_mpc_get_state(m, w);
            ck_assert(now.knot == KNOTS && now.time == ends[w].time && now.cost == ends[w].cost &&
                      now.planned == ends[w].planned);
            ck_assert(now.violation == ends[w].violation && (now.violation > 0 || !p.scene->optimize.nlimit));
            ck_assert(now.iterations == ends[w].iterations && now.started == ends[w].started && !now.lost);
        }
        ctn_mpc_free(m);
    }
    if (how->within > 0) ck_assert(ends[0].started != ends[1].started);  // each has a time of its own
    ck_assert(ends[0].planned > 0 || p.scene->optimize.reward > 0);      // also where there was no round
    scene_plant_close(s), close_problem(&p);
}
END_TEST

/// With a deadline each plan has an iteration in any case, and no other where there is no time.
START_TEST(by_a_deadline)
{
    problem p = open_problem(CHAIN TORQUES("") "optimize:\n  alphas: 4\n  iterations: 1\n  tolerance: 0\n" COSTS
                                               "  mpc: {horizon: 0.4, deadline: 0.02}\n"
                                               "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\n");
    for (int many = 0; many < 2; many++) {  // in time, and with none left for a second iteration
        ctn_error err;
        ctn_batch_config cfg = p.cfg;
        cfg.worlds = 7, cfg.threads = 1;
        p.scene->optimize.mpc.deadline = many ? 0.02 : 1e-9;
        ctn_mpc *const m = ctn_mpc_create(p.scene, p.model, &cfg, 0, p.x0, &err);
        ck_assert_msg(m != NULL, "%s", err.message);
        double x[7 * 16], u[7 * 3];
        memcpy(x, p.x0, (size_t)cfg.worlds * p.nx * sizeof *x);
        for (int k = 0; k < 3; k++) {
            ck_assert(ctn_mpc_step(m, x, u, &err) == CTN_OK);
            for (int w = 0; w < cfg.worlds; w++) {
                const int made = ctn_mpc_get_state(m, w).iterations;
                ck_assert_msg(many ? made >= 1 : made == 1, "%d iterations", made);
            }
        }
        ctn_mpc_free(m);
    }
    p.scene->optimize.mpc.deadline = 0.03;
    ctn_error err;
    ck_assert_ptr_null(ctn_mpc_create(p.scene, p.model, &p.cfg, 0, p.x0, &err));
    ck_assert_msg(strstr(err.message, "has to be made within a knot of 0.02 s"), "%s", err.message);
    close_problem(&p);
}
END_TEST

/// A world whose plan ends in nothing is told what it was told last, until it begins again; those beside it do not notice.
START_TEST(lost_worlds)
{
    problem p = open_problem(controlled[0]);
    ctn_error err;
    ctn_batch_config cfg = p.cfg;
    cfg.worlds = 5;
    ctn_mpc *const m = ctn_mpc_create(p.scene, p.model, &cfg, 0, p.x0, &err), *const other = ctn_mpc_create(p.scene, p.model,
                                                                                                            &cfg, 0, p.x0, &err);
    ck_assert_msg(m && other, "%s", err.message);
    double x[5 * 16], u[15], v[15], last[3];
    memcpy(x, p.x0, 5 * p.nx * sizeof *x);
    ck_assert(ctn_mpc_step(m, x, u, &err) == CTN_OK && ctn_mpc_step(other, x, v, &err) == CTN_OK);
    x[p.nx + p.nq] = 1e250;  // of world 1
    ck_assert_int_eq(ctn_mpc_step(m, x, u, &err), CTN_FROZEN);
    ck_assert_msg(strstr(err.message, "world 1") != NULL, "%s", err.message);
    memcpy(last, u + 3, sizeof last);
    x[p.nx + p.nq] = 0.1;
    ck_assert(ctn_mpc_step(other, x, v, &err) == CTN_OK);
    for (int k = 0; k < 3; k++) {
        for (int w = 0; w < 5; w++) {
            ck_assert_int_eq(ctn_mpc_get_state(m, w).lost, w == 1);
            if (w != 1) ck_assert(!memcmp(u + 3 * w, v + 3 * w, sizeof last));
            else ck_assert(!memcmp(u + 3, last, sizeof last));
        }
        ck_assert(ctn_mpc_step(m, x, u, &err) == CTN_OK && ctn_mpc_step(other, x, v, &err) == CTN_OK);
    }
    const bool which[5] = {false, true, false, false, false};
    const double time = ctn_mpc_get_state(m, 0).time;
    ck_assert(ctn_mpc_begin(m, which, x, time, &err) == CTN_OK && !ctn_mpc_get_state(m, 1).lost);
    ck_assert(ctn_mpc_begin(other, which, x, time, &err) == CTN_OK);
    ck_assert(ctn_mpc_step(m, x, u, &err) == CTN_OK && ctn_mpc_step(other, x, v, &err) == CTN_OK);
    ck_assert(!memcmp(u, v, sizeof u));
    ck_assert(ctn_mpc_step(m, NULL, u, &err) == CTN_BAD_ARGUMENT && ctn_mpc_step(m, x, NULL, &err) == CTN_BAD_ARGUMENT);
    ck_assert(ctn_mpc_begin(m, NULL, NULL, 0, &err) == CTN_BAD_ARGUMENT &&
              ctn_mpc_begin(m, NULL, x, NAN, &err) == CTN_BAD_ARGUMENT);
    x[2] = NAN;
    ck_assert_int_eq(ctn_mpc_step(m, x, u, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "world 0") != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_mpc_worlds(m), 5);
    ck_assert_double_eq(ctn_mpc_knot_length(m), 0.02);
    ctn_mpc_free(m), ctn_mpc_free(other), close_problem(&p);
}
END_TEST

/// Each with masses and dampers of its own: as the trajectory that has them alone, from the start, and changed on the way; values
/// that cannot be change nothing, and a world that flies apart leaves the others alone.
START_TEST(trajectories_of_parameters)
{
    static const char *const texts[] = {CHAIN TORQUES("") "optimize:\n  alphas: 4\n" COSTS
                                                          "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.4\n",
                                        CHAIN TORQUES("") "optimize:\n  limits: [{term: velocity, within: [-1, 1]}]\n" COSTS
                                                          "integrator: {method: rk4, dt: 0.02}\nduration: 0.4\n"};
    enum { WORLDS = 5 };
    const ctn_parameter of[2] = {{CTN_MASS_SCALE, 1}, {CTN_DAMPING, 0}};
    problem p = open_problem(texts[_i]);
    ctn_error err;
    double values[2 * WORLDS], x0[16];
    for (int w = 0; w < WORLDS; w++) values[2 * w] = 1 + 0.2 * w, values[2 * w + 1] = 0.1 + 0.05 * w;
    p.cfg.parameters = of, p.cfg.parameter_count = 2;
    ctn_model_initial_state(p.model, x0, x0 + p.nq);
    for (int w = 0; w < WORLDS; w++) memcpy(p.x0 + (size_t)w * p.nx, x0, p.nx * sizeof *x0);
    for (int threads = 1; threads <= 3; threads += 2) {
        ctn_batch_config cfg = p.cfg;
        cfg.worlds = WORLDS, cfg.threads = threads;
        ctn_trajectories *const t = ctn_trajectories_create(p.scene, p.model, &cfg, 0.4, p.x0, &err);
        ck_assert_msg(t != NULL, "%s", err.message);
        ck_assert_int_eq(ctn_trajectories_step(t, 3, &err), CTN_OK);
        double bad[2 * WORLDS];
        memcpy(bad, values, sizeof bad), bad[2 * WORLDS - 2] = -1;
        ck_assert_int_eq(ctn_trajectories_set_parameters(t, bad, &err), CTN_BAD_ARGUMENT);
        ck_assert_int_eq(ctn_trajectories_step(t, 1, &err), CTN_OK);
        ck_assert_int_eq(ctn_trajectories_set_parameters(t, values, &err), CTN_OK);
        ck_assert_int_eq(ctn_trajectories_get_state(t, 3).iteration, 0);
        ck_assert_int_eq(ctn_trajectories_step(t, 5, &err), CTN_OK);
        for (int w = 0; w < WORLDS; w++) {
            ctn_optimize *const o = ctn_optimize_create(p.scene, p.model, &p.cfg, 0.4, NULL, &err);
            ck_assert_msg(o != NULL, "%s", err.message);
            for (int k = 0; k < 4; k++) ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
            ck_assert_int_eq(ctn_optimize_set_parameters(o, values + 2 * w, &err), CTN_OK);
            for (int k = 0; k < 5; k++) ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
            const ctn_optimize_state a = ctn_trajectories_get_state(t, w), b = ctn_optimize_get_state(o);
            ck_assert_msg(a.iteration == b.iteration && a.cost == b.cost && a.gradient == b.gradient &&
                              a.violation == b.violation && a.penalty == b.penalty && a.stop == b.stop,
                          "world %d: cost %.17g after %d, alone %.17g after %d", w, a.cost, a.iteration, b.cost, b.iteration);
            const size_t N = (size_t)ctn_optimize_knots(o);
            ck_assert(!memcmp(ctn_trajectories_states(t, w), ctn_optimize_states(o), (N + 1) * p.nx * sizeof(double)));
            ck_assert(!memcmp(ctn_trajectories_controls(t, w), ctn_optimize_controls(o), N * p.nu * sizeof(double)));
            ctn_optimize_free(o);
        }
        memcpy(bad, values, sizeof bad), bad[3] = 1e12;  // a damper too strong for explicit steps
        ck_assert_int_eq(ctn_trajectories_set_parameters(t, bad, &err), CTN_OK);
        for (int w = 0; w < WORLDS; w++) ck_assert_int_eq(ctn_trajectories_lost(t, w, NULL), w == 1 ? CTN_FROZEN : CTN_OK);
        ck_assert_int_eq(ctn_trajectories_set_parameters(t, values, &err), CTN_OK);
        ck_assert_int_eq(ctn_trajectories_lost(t, 1, NULL), CTN_OK);
        ctn_trajectories_free(t);
    }
    close_problem(&p);
}
END_TEST

/// Plans by masses and dampers of their own are those of a scene that has these, from the start and changed on the way; limits
/// hold in all. Values that one world cannot have change nothing.
START_TEST(plans_of_parameters)
{
#define OF(mass, damping)                                                                                                        \
    "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], damping: " damping "}, mass: " mass               \
    ", com: [0, 0, -0.3], inertia: [" mass ", " mass ", " mass ", 0, 0, 0]}\n"                                                   \
    "  - {name: b, parent: a, position: [0, 0, -0.6], joint: {type: revolute, axis: [1, 0, 0]}, mass: 0.7,\n"                    \
    "     com: [0, 0.05, -0.2], inertia: [0.02, 0.02, 0.002, 0, 0, 0]}\n"                                                        \
    "motors: [{joint: a, type: torque}, {joint: b, type: torque}]\n"                                                             \
    "optimize:\n  alphas: 4\n  iterations: 40\n  limit_tolerance: 1e-8\n"                                                        \
    "  cost: [{term: posture, weight: 1, end: 50, target: [0.6, -0.4]}, {term: velocity, weight: 0.02, end: 1},\n"               \
    "         {term: control, weight: 0.02, target: 0}]\n  limits: [{term: velocity, joints: [a], within: [-1, 1]}]\n"           \
    "  mpc: {horizon: 0.4, iterations: 4}\nintegrator: {method: rk4, dt: 0.02}\nduration: 1\n"
    static const char *const texts[] = {OF("1", "0.1"), OF("1.5", "0.1"), OF("1", "0.4")};
    enum { WORLDS = 3, FIRST = 8, ALL = 14 };
    const ctn_parameter of[2] = {{CTN_MASS_SCALE, 0}, {CTN_DAMPING, 0}};
    const double values[2 * WORLDS] = {1, 0.1, 1.5, 0.1, 1, 0.4};
    ctn_error err;
    problem p[WORLDS];
    mpc *alone[WORLDS];
    for (int w = 0; w < WORLDS; w++) {
        p[w] = open_problem(texts[w]), p[w].cfg.threads = 1;
        alone[w] = mpc_open(p[w].scene, p[w].model, &p[w].cfg, &p[w].scene->optimize.mpc, 0, &err);
        ck_assert_msg(alone[w] != NULL, "%s", err.message);
    }
    for (int threads = 1; threads <= 2; threads++) {
        ctn_batch_config cfg = p[0].cfg;
        cfg.worlds = WORLDS, cfg.threads = threads, cfg.parameters = of, cfg.parameter_count = 2;
        ctn_mpc *const m = ctn_mpc_create(p[0].scene, p[0].model, &cfg, 0, NULL, &err);
        ck_assert_msg(m != NULL, "%s", err.message);
        double x[WORLDS * 4] = {0}, u[WORLDS * 2], own[2], bad[2 * WORLDS];
        memcpy(bad, values, sizeof bad), bad[2 * WORLDS - 2] = -1;
        ck_assert_int_eq(ctn_mpc_set_parameters(m, bad, &err), CTN_BAD_ARGUMENT);
        ck_assert_int_eq(ctn_mpc_set_parameters(m, values, &err), CTN_OK);
        ck_assert_int_eq(ctn_mpc_begin(m, NULL, x, 0, &err), CTN_OK);
        double apart = 0, fast = 0;
        for (int w = 0; w < WORLDS; w++) ck_assert_int_eq(mpc_begin(alone[w], x, 0, &err), CTN_OK);
        for (int k = 0; k < ALL; k++) {
            const bool swapped = k >= FIRST;  // what world 1 was, world 2 is from then on
            double other[2 * WORLDS];
            memcpy(other, values, sizeof other), memcpy(other + 2, values + 4, 16), memcpy(other + 4, values + 2, 16);
            if (k == FIRST) {
                ck_assert_int_eq(ctn_mpc_set_parameters(m, other, &err), CTN_OK);
                for (int w = 0; w < WORLDS; w++) {
                    const int as = w ? WORLDS - w : 0;
                    ck_assert_int_eq(mpc_begin(alone[as], x + 4 * w, k * 0.02, &err), CTN_OK);
                }
                ck_assert_int_eq(ctn_mpc_begin(m, NULL, x, k * 0.02, &err), CTN_OK);
            }
            ck_assert_int_eq(ctn_mpc_step(m, x, u, &err), CTN_OK);
            for (int w = 0; w < WORLDS; w++) {
                const int as = swapped && w ? WORLDS - w : w;
                ck_assert_int_eq(mpc_step(alone[as], x + 4 * w, own, &err), CTN_OK);
                for (int i = 0; i < 2; i++)
                    ck_assert_msg(fabs(u[2 * w + i] - own[i]) < 1e-6, "%d threads, knot %d, world %d: %.9g, of its scene %.9g",
                                  threads, k, w, u[2 * w + i], own[i]);
                ck_assert_double_eq_tol(ctn_mpc_get_state(m, w).planned, mpc_get_state(alone[as]).planned, 1e-7);
                fast = fmax(fast, fabs(x[4 * w + 2]));
            }
            apart = fmax(apart, fmin(fabs(u[2] - u[0]), fabs(u[4] - u[0])));
            for (int w = 0; w < WORLDS; w++) {
                double next[4];
                bool good;
                scene_plant *const by = scene_plant_open(p[w].scene, p[w].model, &p[w].cfg, 0.02, 1, &err);
                ck_assert(plant_step(scene_plant_of(by), x + 4 * w, u + 2 * w, next, &good, &err) == CTN_OK && good);
                memcpy(x + 4 * w, next, sizeof next), scene_plant_close(by);
            }
        }
        ck_assert_double_gt(apart, 0.1);  // by models that differ
        ck_assert_double_gt(fast, 0.9);
        ctn_mpc_free(m);
    }
    for (int w = 0; w < WORLDS; w++) mpc_close(alone[w]), close_problem(&p[w]);
}
END_TEST

/// Told on the way, without beginning again: what motors are told in this knot was planned before, the plan for the next one knows.
START_TEST(parameters_on_the_way)
{
    problem p = open_problem(controlled[0]);
    ctn_error err;
    const ctn_parameter mass = {.kind = CTN_MASS_SCALE, .index = 0};
    const double same[2] = {1, 1}, heavy[2] = {1, 2};
    ctn_batch_config cfg = p.cfg;
    cfg.worlds = 2, cfg.parameters = &mass, cfg.parameter_count = 1;
    memcpy(p.x0 + p.nx, p.x0, p.nx * sizeof *p.x0);
    ctn_mpc *const m = ctn_mpc_create(p.scene, p.model, &cfg, 0, p.x0, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    double u[6];
    ck_assert_int_eq(ctn_mpc_set_parameters(m, same, &err), CTN_OK);
    ck_assert_int_eq(ctn_mpc_step(m, p.x0, u, &err), CTN_OK);
    ck_assert(!memcmp(u, u + 3, 24) && ctn_mpc_get_state(m, 0).planned == ctn_mpc_get_state(m, 1).planned);
    ck_assert_int_eq(ctn_mpc_set_parameters(m, heavy, &err), CTN_OK);
    ck_assert_int_eq(ctn_mpc_step(m, p.x0, u, &err), CTN_OK);
    ck_assert(!memcmp(u, u + 3, 24) && ctn_mpc_get_state(m, 0).planned != ctn_mpc_get_state(m, 1).planned);
    ck_assert_int_eq(ctn_mpc_step(m, p.x0, u, &err), CTN_OK);
    ck_assert(memcmp(u, u + 3, 24) != 0);
    ctn_mpc_free(m), close_problem(&p);
}
END_TEST

/// What is of one world alone is refused, with a word for what is not.
START_TEST(refused)
{
    problem p =
        open_problem(CHAIN TORQUES("") "optimize:\n  limits: [{term: velocity, within: [-3, 3], from: 0.3, to: 0.301}]\n" COSTS
                                       "integrator: {method: semi-implicit, dt: 0.02}\nduration: 0.6\n");
    const double value[2] = {1, 1};
    ctn_error err;
    p.cfg.worlds = 2;
    ck_assert_ptr_null(ctn_trajectories_create(p.scene, p.model, &p.cfg, 0.2, p.x0, &err));
    ck_assert_msg(err.status == CTN_BAD_SCENE && strstr(err.message, "counts at no knot"), "%s", err.message);
    ctn_trajectories *const t = ctn_trajectories_create(p.scene, p.model, &p.cfg, 0.6, p.x0, &err);
    ck_assert_int_eq(ctn_trajectories_set_parameters(t, value, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "parameters: there are none"), "%s", err.message);
    ctn_trajectories_free(t);
    ctn_mpc *const m = ctn_mpc_create(p.scene, p.model, &p.cfg, 0, p.x0, &err);
    ck_assert_int_eq(ctn_mpc_set_parameters(m, value, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "parameters: there are none"), "%s", err.message);
    ctn_mpc_free(m);
    const ctn_parameter step = {.kind = CTN_TIME_STEP};
    p.cfg.parameters = &step, p.cfg.parameter_count = 1;
    ck_assert_ptr_null(ctn_mpc_create(p.scene, p.model, &p.cfg, 0, p.x0, &err));
    ck_assert_msg(err.status == CTN_UNAVAILABLE && strstr(err.message, "would change how long a knot is"), "%s", err.message);
    close_problem(&p);
}
END_TEST

/// An interrupt within a call ends it, and loses no world.
static volatile int stops;
static int told_to_stop;
static void stop_soon(int signal) { (void)signal, stops = 1; }

START_TEST(interrupted)
{
    problem p = open_problem(scenes[5].text);  // of steps that take a while
    ctn_error err;
    ctn_batch_config cfg = p.cfg;
    memcpy(p.x0 + 2 * p.nx, p.x0, p.nx * sizeof *p.x0);
    cfg.worlds = MOST_WORLDS, cfg.interrupt = &stops, stops = 0;
    ctn_trajectories *const t = ctn_trajectories_create(p.scene, p.model, &cfg, ctn_scene_duration(p.scene), p.x0, &err);
    ck_assert_msg(t != NULL, "%s", err.message);
    signal(SIGALRM, stop_soon);
    for (int k = 1; k < 40; k++) {
        const struct itimerval soon = {.it_value = {.tv_usec = 500 * k}};
        setitimer(ITIMER_REAL, &soon, NULL);
        const ctn_status status = ctn_trajectories_step(t, 1, &err);
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
        ck_assert_msg(status == CTN_OK || (stops && status == CTN_INTERRUPTED), "%d: %s", status, err.message);
        told_to_stop += status == CTN_INTERRUPTED, stops = 0;
        for (int w = 0; w < MOST_WORLDS; w++) ck_assert_int_eq(ctn_trajectories_lost(t, w, NULL), CTN_OK);
    }
    ck_assert_int_gt(told_to_stop, 0);
    ck_assert(ctn_trajectories_step(t, 1, &err) == CTN_OK);
    ctn_trajectories_free(t), close_problem(&p);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("plan_worlds");
    TCase *const c = tcase_create("plan_worlds");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, trajectories_as_alone, 0, SCENES);
    tcase_add_test(c, trajectories_end);
    tcase_add_loop_test(c, trajectories_of_parameters, 0, 2);
    tcase_add_loop_test(c, plans_as_alone, 0, CONTROLLED);
    tcase_add_test(c, by_a_deadline);
    tcase_add_test(c, lost_worlds);
    tcase_add_test(c, plans_of_parameters);
    tcase_add_test(c, parameters_on_the_way);
    tcase_add_test(c, refused);
    tcase_add_test(c, interrupted);
    suite_add_tcase(s, c);
    return run_suite(s);
}
