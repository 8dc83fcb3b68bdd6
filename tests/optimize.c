/// catena/optimize.h: the trajectories of `catena optimize`, to the last bit; a program's own cost is as good as the scene's, with
/// limits, too; what a scene lacks is told; motions through contact;
/// plans that remember, against runs.
#include "control/ilqr.h"
#include "control/scene_plant.h"
#include "control/trajectory.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <catena/motors.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PENDULUM                                                                                                                 \
    "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.05}, mass: 1, com: [0, 0, -0.5],\n"        \
    "  inertia: [0.1, 0.1, 0.1, 0, 0, 0]}]\nmotors: [{joint: a, type: torque, effort: 9}]\nduration: 1\n"                        \
    "integrator: {method: rk4, dt: 0.02}\noptimize:\n  iterations: 60\n  tolerance: 1e-8\n"
#define LIMITS "  limits: [{term: velocity, within: [-1.5, 1.5]}]\n  limit_tolerance: 1e-6\n"
#define POSTURE "    - {term: posture, weight: 1, end: 100, target: 1}\n"
#define OTHERS "  cost:\n    - {term: velocity, weight: 0.1, end: 10}\n    - {term: control, weight: 0.01}\n"
enum { KNOTS = 50, MOST = 400 };

/// The same as POSTURE.
typedef struct {
    double knot, target;
} posture;

static double weight(const posture *p, int knot) { return knot == KNOTS ? 100 : p->knot; }

static void cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    const posture *const p = context;
    (void)u;
    for (int i = 0; i < count; i++) to[i] += 0.5 * weight(p, knot[i]) * (x[2 * i] - p->target) * (x[2 * i] - p->target);
}

static void derivatives(void *context, int count, const int *knot, const double *x, const double *u,
                        const ctn_cost_derivatives *to)
{
    const posture *const p = context;
    (void)u;
    for (int i = 0; i < count; i++)
        to->x[2 * i] += weight(p, knot[i]) * (x[2 * i] - p->target), to->xx[4 * i] += weight(p, knot[i]);
}

typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    ctn_optimize *optimize;
} found;

static found find(const char *text, const ctn_optimize_cost *own)
{
    ctn_error err;
    found f = {.scene = ctn_scene_parse(text, strlen(text), "optimize", &err)};
    ck_assert_msg(f.scene != NULL, "%s", err.message);
    f.model = ctn_model_create(f.scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(f.scene);
    f.optimize = ctn_optimize_create(f.scene, f.model, &cfg, 1, own, &err);
    ck_assert_msg(f.optimize != NULL, "%s", err.message);
    for (int k = 0; k < MOST && ctn_optimize_get_state(f.optimize).stop == CTN_OPTIMIZE_RUNS; k++)
        ck_assert_int_eq(ctn_optimize_step(f.optimize, &err), CTN_OK);
    ck_assert_int_eq(ctn_optimize_get_state(f.optimize).stop, CTN_OPTIMIZE_OPTIMAL);
    ck_assert_int_eq(ctn_optimize_knots(f.optimize), KNOTS);
    ck_assert_double_eq(ctn_optimize_knot_length(f.optimize), 0.02);
    return f;
}

static void drop(found *f) { ctn_optimize_free(f->optimize), ctn_model_free(f->model), ctn_scene_free(f->scene); }

static const char *const whole[] = {PENDULUM OTHERS POSTURE, PENDULUM LIMITS OTHERS POSTURE};
static const char *const part[] = {PENDULUM OTHERS, PENDULUM LIMITS OTHERS};

START_TEST(own_cost)
{
    posture p = {0.02, 1};
    const ctn_optimize_cost own = {cost, derivatives, &p};
    found a = find(whole[_i], NULL), b = find(part[_i], &own);
    const ctn_optimize_state x = ctn_optimize_get_state(a.optimize), y = ctn_optimize_get_state(b.optimize);
    ck_assert_double_eq_tol(x.cost, y.cost, 1e-7 * x.cost);
    ck_assert_msg(_i ? x.violation <= 1e-6 && y.violation <= 1e-6 && x.penalty > 0 : x.violation == 0 && x.penalty == 0, "%g, %g",
                  x.violation, y.violation);
    for (int k = 0; k < KNOTS; k++) {
        ck_assert_double_eq_tol(ctn_optimize_controls(a.optimize)[k], ctn_optimize_controls(b.optimize)[k], 1e-3);
        ck_assert_double_eq_tol(ctn_optimize_states(a.optimize)[2 * k], ctn_optimize_states(b.optimize)[2 * k], 1e-5);
    }
    drop(&a), drop(&b);
}
END_TEST

START_TEST(as_the_command)
{
    ctn_error err;
    found f = find(whole[1], NULL);
    const ctn_batch_config cfg = ctn_scene_config(f.scene);
    trajectory *const t = trajectory_open(f.scene, f.model, &cfg, 1, NULL, &err);
    while (trajectory_state(t).stop == ILQR_RUNS) ck_assert_int_eq(trajectory_step(t, &err), CTN_OK);
    ck_assert(!memcmp(ilqr_controls(trajectory_solver(t)), ctn_optimize_controls(f.optimize), KNOTS * sizeof(double)));
    ck_assert(!memcmp(ilqr_gains(trajectory_solver(t)), ctn_optimize_gains(f.optimize), KNOTS * 2 * sizeof(double)));
    trajectory_close(t), drop(&f);
}
END_TEST

// ---- parameters

#define HEAVY                                                                                                                    \
    "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.4}, mass: 1.5, com: [0, 0, -0.5],\n"       \
    "  inertia: [0.15, 0.15, 0.15, 0, 0, 0]}]\nmotors: [{joint: a, type: torque, effort: 9}]\nduration: 1\n"                     \
    "integrator: {method: rk4, dt: 0.02}\noptimize:\n  iterations: 60\n  tolerance: 1e-8\n"

static const ctn_parameter changing[2] = {{CTN_MASS_SCALE, 0}, {CTN_DAMPING, 0}};

static void run_to_the_end(ctn_optimize *o)
{
    ctn_error err;
    for (int k = 0; k < MOST && ctn_optimize_get_state(o).stop == CTN_OPTIMIZE_RUNS; k++)
        ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
    ck_assert_int_eq(ctn_optimize_get_state(o).stop, CTN_OPTIMIZE_OPTIMAL);
}

static void same_trajectory(const ctn_optimize *a, const ctn_optimize *b)
{
    ck_assert_double_eq_tol(ctn_optimize_get_state(a).cost, ctn_optimize_get_state(b).cost, 1e-7);
    for (int k = 0; k < KNOTS; k++) ck_assert_double_eq_tol(ctn_optimize_controls(a)[k], ctn_optimize_controls(b)[k], 1e-3);
    for (int k = 0; k <= 2 * KNOTS; k++) ck_assert_double_eq_tol(ctn_optimize_states(a)[k], ctn_optimize_states(b)[k], 1e-5);
}

/// _i: without limits and with. A heavier pendulum is that of the scene that says so; so is, after it, the lighter one again.
START_TEST(parameters)
{
    static const char *const heavy[] = {HEAVY OTHERS POSTURE, HEAVY LIMITS OTHERS POSTURE};
    ctn_error err;
    found light = find(whole[_i], NULL), other = find(heavy[_i], NULL);
    ctn_batch_config cfg = ctn_scene_config(light.scene);
    ck_assert_int_eq(ctn_optimize_set_parameters(light.optimize, (const double[]){1, 1}, &err), CTN_BAD_ARGUMENT);
    cfg.parameters = changing, cfg.parameter_count = 2;
    ctn_optimize *const o = ctn_optimize_create(light.scene, light.model, &cfg, 1, NULL, &err);
    ck_assert_msg(o != NULL, "%s", err.message);
    run_to_the_end(o), same_trajectory(o, light.optimize);
    ck_assert_int_eq(ctn_optimize_set_parameters(o, (const double[]){1.5, 0.4}, &err), CTN_OK);
    ck_assert_int_eq(ctn_optimize_get_state(o).iteration, 0);
    run_to_the_end(o), same_trajectory(o, other.optimize);
    ck_assert_int_eq(ctn_optimize_set_parameters(o, (const double[]){-1, 0.4}, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_optimize_set_parameters(o, (const double[]){1, 1e9}, &err), CTN_FROZEN);  // beyond what rk4 goes through
    same_trajectory(o, other.optimize);
    run_to_the_end(o), same_trajectory(o, other.optimize);
    ck_assert_int_eq(ctn_optimize_set_parameters(o, (const double[]){1, 0.05}, &err), CTN_OK);
    run_to_the_end(o), same_trajectory(o, light.optimize);
    ctn_optimize_free(o), drop(&light), drop(&other);
}
END_TEST

START_TEST(parameters_refused)
{
    static const char com[] = PENDULUM "  cost: [{term: com, target: [0, 0, 1], weight: 1}, {term: control, weight: 1}]\n";
    const struct {
        ctn_parameter p;
        const char *says;
    } bad[] = {{{CTN_MOTOR_TARGET, 0}, "parameters[0], motor_target, is what is looked for"},
               {{CTN_TIME_STEP, 0}, "time_step, would change how long a knot is"},
               {{CTN_MOTOR_EFFORT, 0}, "motor_effort, bounds what motors are told"},
               {{CTN_MASS_SCALE, 0}, "mass_scale, changes the centre of mass"}};
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(com, sizeof com - 1, "optimize", &err);
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        cfg.parameters = &bad[k].p, cfg.parameter_count = 1;
        ck_assert_ptr_null(ctn_optimize_create(scene, model, &cfg, 1, NULL, &err));
        ck_assert_msg(err.status == CTN_UNAVAILABLE && strstr(err.message, bad[k].says), "%s", err.message);
    }
    ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- interruptions

typedef struct {
    posture own;
    volatile int *flag;
    int raised;
} raising;

static void raising_cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    cost(&((raising *)context)->own, count, knot, x, u, to);
}

/// Raises the flag when knots have been linearised already.
static void raising_derivatives(void *context, int count, const int *knot, const double *x, const double *u,
                                const ctn_cost_derivatives *to)
{
    raising *const r = context;
    derivatives(&r->own, count, knot, x, u, to);
    *r->flag = 1, r->raised++;
}

/// _i: knots are linearised by their steps, or by accelerations. The flag is seen before these, and before what is played after
/// them; an iteration that was ended early is made again, with the same bits.
START_TEST(interrupted)
{
    ctn_error err;
    volatile int flag = 0, never = 0;
    double U[2][KNOTS];
    int iterations[2];
    for (int way = 0; way < 2; way++) {
        raising r = {{0.02, 1}, way ? &flag : &never, 0};
        const ctn_optimize_cost own = {raising_cost, raising_derivatives, &r};
        ctn_scene *const scene = ctn_scene_parse(part[0], strlen(part[0]), "optimize", &err);
        ctn_model *const model = ctn_model_create(scene, &err);
        ctn_batch_config cfg = ctn_scene_config(scene);
        if (_i) cfg.method = CTN_SEMI_IMPLICIT;
        cfg.interrupt = &flag;
        ctn_optimize *const o = ctn_optimize_create(scene, model, &cfg, 1, &own, &err);
        ck_assert_msg(o != NULL, "%s", err.message);
        for (int k = 0; k < 6; k++) {
            const int before = ctn_optimize_get_state(o).iteration;
            if (way) {
                flag = 1;
                ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_INTERRUPTED);
                flag = 0;
                const int raised = r.raised;
                ck_assert_int_eq(ctn_optimize_step(o, &err), r.raised > raised ? CTN_INTERRUPTED : CTN_OK);
                if (r.raised > raised) ck_assert_int_eq(ctn_optimize_get_state(o).iteration, before);
                flag = 0;
                if (r.raised == raised) continue;
            }
            ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
            ck_assert_int_eq(ctn_optimize_get_state(o).iteration, before + 1);
        }
        if (way) ck_assert_int_gt(r.raised, 2);
        iterations[way] = ctn_optimize_get_state(o).iteration;
        memcpy(U[way], ctn_optimize_controls(o), sizeof *U);
        flag = 1;
        ck_assert_ptr_null(ctn_optimize_create(scene, model, &cfg, 1, NULL, &err));
        ck_assert_int_eq(err.status, CTN_INTERRUPTED);
        flag = 0;
        ctn_optimize_free(o), ctn_model_free(model), ctn_scene_free(scene);
    }
    ck_assert_int_eq(iterations[0], iterations[1]);
    ck_assert(!memcmp(U[0], U[1], sizeof *U));
}
END_TEST

static void raise_flag(void *whose, int first, int count, int apart, int step, const double *x, const bool *good, double *u)
{
    volatile int *const flag = whose;
    (void)step, (void)x, (void)good;
    ck_assert_msg(!first, "point %d is played after the flag was raised", first);
    for (int l = 0; l < count && u; l++) u[l * apart] = 0;
    *flag = 1;
}

/// Of points that are played one after another those that come after the flag are left out.
START_TEST(interrupted_between_points)
{
    ctn_error err;
    volatile int flag = 0;
    ctn_scene *const scene = ctn_scene_parse(whole[0], strlen(whole[0]), "optimize", &err);
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.interrupt = &flag, cfg.engine = "scalar";
    scene_plant *const s = scene_plant_open(scene, model, &cfg, 1, 4, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    const plant *const p = scene_plant_of(s);
    const double x[8] = {0};
    ck_assert_int_eq(p->play(p->context, 4, x, KNOTS, raise_flag, (void *)&flag, &err), CTN_INTERRUPTED);
    scene_plant_close(s), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Where memory ends before the horizon does, that is told before any is taken, with what a knot takes.
START_TEST(beyond_memory)
{
#if !defined __SANITIZE_ADDRESS__  // which takes more to begin with
    ctn_error err;
    const struct rlimit limit = {1 << 30, 1 << 30};
    ctn_scene *const scene = ctn_scene_parse(whole[0], strlen(whole[0]), "optimize", &err);
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.threads = 1;
    ck_assert(!setrlimit(RLIMIT_AS, &limit));
    ck_assert_ptr_null(ctn_optimize_create(scene, model, &cfg, 900000 * cfg.dt, NULL, &err));
    ck_assert_int_eq(err.status, CTN_NO_MEMORY);
    const char *const at = strstr(err.message, "optimize:8:3: optimize: 900000 knots take about ");
    double all = 0, each = 0, most = 0;
    ck_assert_msg(at && sscanf(strstr(at, "about"), "about %lf GB, %lf kB each, and %lf GB", &all, &each, &most) == 3,
                  "%s", err.message);
    ck_assert(all > most && fabs(most - 1.07) < 0.01);
    ck_assert_double_eq_tol(all, 0.9 * each, 0.02 * all);
    ctn_optimize_free(ctn_optimize_create(scene, model, &cfg, 1, NULL, &err));
    ctn_model_free(model), ctn_scene_free(scene);
#endif
}
END_TEST

START_TEST(refused)
{
    static const char text[] = "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n";
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, sizeof text - 1, "optimize", &err);
    ctn_model *const model = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ck_assert_ptr_null(ctn_optimize_create(scene, model, &cfg, 1, NULL, &err));
    ck_assert_msg(err.status == CTN_BAD_SCENE && strstr(err.message, "the scene has no `optimize:`"), "%s", err.message);
    ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// A dog steps over a bar, with contact in the model: in seven iterations a plan by hand becomes much better, by exact derivatives
/// of contact; the left front leg has the bar on its other side in the end, and was never in it.
START_TEST(steps_over_a_bar)
{
    enum { CALF = 3, LINKS = 13, ITERATIONS = 7 };
    const double bar[2] = {0.2, 0.015}, foot[3] = {0, 0, -0.213}, round[2] = {0.022 + 0.015, 0.012 + 0.015};
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load(CATENA_SOURCE_DIR "/scenes/go2-steps-over.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const model = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_optimize *const o = ctn_optimize_create(scene, model, &cfg, ctn_scene_duration(scene), NULL, &err);
    ck_assert_msg(o != NULL, "%s", err.message);
    ck_assert_str_eq(ctn_model_link(model, CALF)->name, "front_left_calf");
    const double guess = ctn_optimize_get_state(o).cost;
    for (int k = 0; k < ITERATIONS; k++) ck_assert_int_eq(ctn_optimize_step(o, &err), CTN_OK);
    const double cost = ctn_optimize_get_state(o).cost;
    ck_assert_msg(cost < 0.05 * guess, "%g, by hand %g", cost, guess);
    ctn_dynamics *const dyn = ctn_dynamics_create(model, NULL, &err);
    const int nx = ctn_model_nq(model) + ctn_model_nv(model), knots = ctn_optimize_knots(o);
    double R[9 * LINKS], p[3 * LINKS], at[3] = {0}, highest = 0;
    for (int k = 0; k <= knots; k++) {
        ctn_forward_kinematics(dyn, 1, ctn_optimize_states(o) + (size_t)k * (size_t)nx, R, p);
        for (int along = 20; along >= 0; along--) {  // of the shank, from its knee on; the last one: the foot
            const double share = along ? (along - 1) / 19.0 * 0.2 / 0.213 : 1;
            for (int i = 0; i < 3; i++) {
                const double *const row = R + 9 * CALF + 3 * i;
                at[i] = p[3 * CALF + i] + share * (row[0] * foot[0] + row[1] * foot[1] + row[2] * foot[2]);
            }
            const double gap = hypot(at[1] - bar[0], at[2] - bar[1]) - round[along > 0];
            ck_assert_msg(gap > 0, "knot %d: in the bar by %g m", k, -gap);
        }
        highest = fmax(highest, at[2]);
        if (!k) ck_assert_double_lt(at[1], 0.15);
    }
    ck_assert_msg(at[1] > 0.25 && fabs(at[2] - 0.02) < 0.01 && highest > 0.07, "ends at %g, %g m, was %g m high", at[1], at[2],
                  highest);
    ctn_dynamics_free(dyn), ctn_optimize_free(o), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- knots that go on from what the method remembers

#define BODIES(joint)                                                                                                            \
    "links:\n  - {name: a, position: [0, 0, 0.1], joint: {" joint                                                                \
    ", damping: 0.2}, mass: 1, inertia: [0.01, 0.01, 0.01, 0, 0, 0],\n"                                                          \
    "     shapes: [{type: sphere, radius: 0.1}]}\n"                                                                              \
    "  - {name: b, parent: a, joint: {type: revolute, axis: [0, 1, 0], friction: 0.3}, mass: 0.5, com: [0, 0, 0.2],\n"           \
    "     inertia: [0.02, 0.02, 0.002, 0, 0, 0]}\nmotors: [{joint: b, type: torque, effort: 3}]\n"                               \
    "optimize:\n  guess: 0.8\n  alphas: 8\n  knot: 0.02\n  cost:\n    - {term: posture, joints: [b], weight: 1, end: 20, "       \
    "target: 0.7}\n    - {term: velocity, weight: 0.02, end: 1}\n    - {term: control, weight: 0.02}\n"
#define FOOT "catena: 1\nground: true\ncontact: {friction: 0.5, depth: 0.005}\n" BODIES("type: free")
#define ARM "catena: 1\n" BODIES("type: revolute, axis: [0, 1, 0]")
static const struct {
    const char *text;
    double as_near;           // how near A and B, one after another, are to differences of roll-outs
} remembered[] = {{NULL, 0},  // the scene below, in which fingers begin to touch
                  {FOOT "integrator: {method: collocation, order: 2, dt: 0.01}\nduration: 0.4\n", 3e-4},
                  {ARM "integrator: {method: collocation, order: 2, dt: 0.01}\nduration: 0.4\n", 1e-5},
                  {FOOT "integrator: {method: radau, stages: 2, dt: 0.01}\nduration: 0.4\n", 0.015},
                  {ARM "integrator: {method: alpha, dt: 0.01}\nduration: 0.4\n", 0.3}};
enum { REMEMBERED = sizeof remembered / sizeof *remembered };

typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    scene_plant *plant;
    ilqr *solver;
    size_t nq, nx, nu;
    int knots;
} planned;

static planned plan(const char *text, bool remember, int iterations)
{
    ctn_error err;
    planned p = {.scene = text ? ctn_scene_parse(text, strlen(text), "remembers", &err)
                               : ctn_scene_load(CATENA_SOURCE_DIR "/scenes/gripper-picks.yaml", &err)};
    ck_assert_msg(p.scene != NULL, "%s", err.message);
    p.scene->optimize.remember = remember;
    p.model = ctn_model_create(p.scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(p.scene);
    p.plant = scene_plant_open(p.scene, p.model, &cfg, ctn_scene_duration(p.scene), 8, &err);
    ck_assert_msg(p.plant != NULL, "%s", err.message);
    const plant *const of = scene_plant_of(p.plant);
    p.nq = (size_t)ctn_model_nq(p.model), p.nx = (size_t)of->nx, p.nu = (size_t)of->m, p.knots = of->knots;
    ilqr_config own = ilqr_default_config();
    own.alphas = 8, p.solver = ilqr_open(of, &own, &err);
    double *const U = calloc((size_t)p.knots * p.nu, sizeof *U), x0[32];
    scene_plant_guess(p.plant, U), ctn_model_initial_state(p.model, x0, x0 + p.nq);
    ck_assert_int_eq(ilqr_begin(p.solver, x0, U, &err), CTN_OK);
    for (int k = 0; k < iterations; k++) ck_assert_msg(ilqr_step(p.solver, &err) == CTN_OK, "%s", err.message);
    free(U);
    return p;
}

static void drop_plan(planned *p)
{
    ilqr_close(p->solver), scene_plant_close(p->plant), ctn_model_free(p->model), ctn_scene_free(p->scene);
}

/// How far an uninterrupted run that is told the plan's controls is from its states.
static double apart(const planned *p)
{
    ctn_error err;
    ctn_parameter list[4];
    ctn_model_target_parameters(p->model, list);
    ctn_batch_config cfg = ctn_scene_config(p->scene);
    cfg.worlds = 1, cfg.parameters = list, cfg.parameter_count = (int)p->nu;
    ctn_batch *const run = ctn_batch_create(p->model, &cfg, &err);
    ck_assert_msg(run != NULL, "%s", err.message);
    double x[32], far = 0;
    for (int k = 0; k <= p->knots; k++) {
        ctn_batch_state(run, x, x + p->nq);
        for (size_t i = 0; i < p->nx; i++) far = fmax(far, fabs(x[i] - ilqr_states(p->solver)[(size_t)k * p->nx + i]));
        if (k == p->knots) break;
        ck_assert_int_eq(ctn_batch_set_parameters(run, ilqr_controls(p->solver) + (size_t)k * p->nu, &err), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(run, scene_plant_hold(p->plant), NULL, &err), CTN_OK);
    }
    ctn_batch_free(run);
    return far;
}

/// Plans that remember are runs to the last bit, by every method that carries something, with dry friction, contact, links that hold
/// each other; others are not.
START_TEST(plans_are_runs)
{
    for (int remember = 0; remember < 2; remember++) {
        planned p = plan(remembered[_i].text, remember, 3);
        const double far = apart(&p);
        ck_assert_msg(remember ? far == 0 : far > 1e-6, "remember %d: off by %g", remember, far);
        drop_plan(&p);
    }
}
END_TEST

/// Fingers lift a box that they hold by friction alone.
START_TEST(lifts_a_box)
{
    planned p = plan(remembered[0].text, true, 0);
    const double guess = ilqr_get_state(p.solver).cost;
    for (int k = 0; k < 8; k++) ck_assert_int_eq(ilqr_step(p.solver, NULL), CTN_OK);
    const double *const end = ilqr_states(p.solver) + (size_t)p.knots * p.nx;
    const double cost = ilqr_get_state(p.solver).cost, slipped = end[0] - (end[5] - 0.05);
    ck_assert_msg(cost < 0.02 * guess, "%g, guess %g", cost, guess);
    ck_assert_msg(fabs(end[5] - 0.15) < 0.005 && fabs(slipped) < 0.005, "the box is at %g m, slipped by %g", end[5], slipped);
    ck_assert_double_eq(apart(&p), 0);
    drop_plan(&p);
}
END_TEST

/// A and B, one after another, against differences of whole roll-outs: with one stage they have what is remembered, else it is taken
/// as it is, which counts.
START_TEST(remembered_derivatives)
{
    planned p = plan(remembered[_i].text, true, 0);
    const plant *const of = scene_plant_of(p.plant);
    const size_t N = (size_t)p.knots, n = (size_t)of->n, m = p.nu;
    double *const A = calloc(N * n * n, sizeof *A), *const B = calloc(N * n * m, sizeof *B), *const U = calloc(N * m, sizeof *U);
    double *const X = calloc((N + 1) * p.nx, sizeof *X), x[2][32], off = 0, largest = 0;
    memcpy(X, ilqr_states(p.solver), (N + 1) * p.nx * sizeof *X), memcpy(U, ilqr_controls(p.solver), N * m * sizeof *U);
    ck_assert_int_eq(of->linearise(of->context, X, U, A, B, NULL), CTN_OK);
    for (size_t k = 0; k < N; k += 4) {  // the end by what is told in knot k
        double by[32], next[32], found[32];
        for (size_t i = 0; i < n; i++) by[i] = B[k * n * m + i * m];
        for (size_t j = k + 1; j < N; j++) {
            for (size_t i = 0; i < n; i++) {
                next[i] = 0;
                for (size_t l = 0; l < n; l++) next[i] += A[(j * n + i) * n + l] * by[l];
            }
            memcpy(by, next, sizeof by);
        }
        for (int way = 0; way < 2; way++) {
            const double u = U[k * m];
            U[k * m] = u + (way ? 1e-5 : -1e-5);
            ck_assert_int_eq(ilqr_begin(p.solver, X, U, NULL), CTN_OK);
            memcpy(x[way], ilqr_states(p.solver) + N * p.nx, p.nx * sizeof **x), U[k * m] = u;
        }
        of->difference(of->context, x[0], x[1], found);
        for (size_t i = 0; i < n; i++) off = fmax(off, fabs(found[i] / 2e-5 - by[i])), largest = fmax(largest, fabs(by[i]));
    }
    ck_assert_msg(off < remembered[_i].as_near * largest, "off by %g of %g", off, largest);
    free(A), free(B), free(U), free(X), drop_plan(&p);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("optimize");
    TCase *const c = tcase_create("optimize");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, own_cost, 0, 2);
    tcase_add_test(c, as_the_command);
    tcase_add_loop_test(c, parameters, 0, 2);
    tcase_add_test(c, parameters_refused);
    tcase_add_loop_test(c, interrupted, 0, 2);
    tcase_add_test(c, interrupted_between_points);
    tcase_add_test(c, beyond_memory);
    tcase_add_test(c, refused);
    tcase_add_test(c, steps_over_a_bar);
    tcase_add_loop_test(c, plans_are_runs, 0, REMEMBERED);
    tcase_add_test(c, lifts_a_box);
    tcase_add_loop_test(c, remembered_derivatives, 1, REMEMBERED);
    suite_add_tcase(s, c);
    return run_suite(s);
}
