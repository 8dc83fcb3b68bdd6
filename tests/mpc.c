/// What plans that are made anew go by: costs whose targets move and whose windows pass, against closed forms and differences; when
/// time begins; plans by samples against the optimum of iterative LQR, and their bits.
#include "control/costs.h"
#include "control/ilqr.h"
#include "control/mpc.h"
#include "control/sampling.h"
#include "control/scene_plant.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static ctn_scene *scene_of(const char *text)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "mpc", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return scene;
}

#define SLIDERS                                                                                                                  \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"                                                                                    \
    "  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"                           \
    "  - {name: b, parent: a, joint: {type: prismatic, axis: [0, 1, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"                \
    "motors: [{joint: a, type: torque}, {joint: b, type: torque}]\nintegrator: {method: rk4, dt: 0.1}\nduration: 1\n"

enum { KNOTS = 10 };
static const double h = 0.1, pi = 3.14159265358979323846;

static double eight(double t) { return 0.5 + 2 * sin(2 * pi * 0.3 * t); }
static double ramp(double t) { return t < 1 ? 0 : t < 2 ? 3 * (t - 1) : 3; }

static const char *const moving[] = {
    "{term: place, link: b, target: [{sinusoid: {mean: 0.5, amplitude: 2, frequency: 0.3}}, "
    "{table: {times: [1, 2], values: [0, 3]}}, 0], weight: 2, end: 5}",
    "{term: com, target: [{sinusoid: {mean: 0.5, amplitude: 2, frequency: 0.3}}, "
    "{table: {times: [1, 2], values: [0, 3]}}, 0], weight: 2, end: 5}",
    "{term: posture, target: [{sinusoid: {mean: 0.5, amplitude: 2, frequency: 0.3}}, {table: {times: [1, 2], values: [0, 3]}}], "
    "weight: 2, end: 5}",
    "{term: velocity, target: [{sinusoid: {mean: 0.5, amplitude: 2, frequency: 0.3}}, {table: {times: [1, 2], values: [0, 3]}}], "
    "weight: 2, end: 5}",
    "{term: control, target: [{sinusoid: {mean: 0.5, amplitude: 2, frequency: 0.3}}, {table: {times: [1, 2], values: [0, 3]}}], "
    "weight: 2}",
};
enum { MOVING = sizeof moving / sizeof *moving };

/// What a term costs at knots of a horizon that begins late, or stands, is what its path says of then.
START_TEST(targets_move)
{
    char text[1500];
    const bool com = strstr(moving[_i], "com") != NULL, control = strstr(moving[_i], "control") != NULL;
    snprintf(text, sizeof text, SLIDERS "optimize: {cost: [%s]}\n", moving[_i]);
    ctn_scene *const scene = scene_of(text);
    ctn_model *const model = ctn_model_create(scene, NULL);
    costs *const c = costs_open(cost_terms_of(scene), model, KNOTS, h, NULL);
    const double x[4] = {0.3, -0.7, 0.3, -0.7}, u[2] = {0.3, -0.7};
    for (int way = 0; way < 3; way++) {
        const double begin = way ? 0.85 : 0;
        if (way) costs_begin(c, begin, way == 2);
        for (int k = 0; k <= KNOTS; k++) {
            double cost;
            costs_cost(c, 1, &k, x, u, &cost);
            const double t = begin + (way == 2 ? 0 : k * h), share = com ? 0.5 : 1;  // half of the mass stays at y = 0
            const double r[2] = {0.3 - eight(t), -0.7 * share - ramp(t)}, w = k < KNOTS ? 2 * h : control ? 0 : 5;
            ck_assert_double_eq_tol(cost, 0.5 * w * (r[0] * r[0] + r[1] * r[1]), 1e-12);
        }
    }
    double far, rate;
    const bool follows = costs_distance(c, 0, x, &far, &rate);
    ck_assert_int_eq(follows, _i < 3);
    if (follows) {  // the horizon stands at 0.85 s
        ck_assert_double_eq_tol(far, hypot(0.3 - eight(0.85), -0.7 * (com ? 0.5 : 1)), 1e-12);
        ck_assert_double_eq_tol(rate, hypot(0.3, 0.7 * (com ? 0.5 : 1)), 1e-12);
    }
    costs_close(c), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- turns

#define TURNING                                                                                                                  \
    "catena: 1\ngravity: [0, 0, 0]\nintegrator: {method: rk4, dt: 0.02}\nduration: 4\nlinks: [{name: a, joint: ball, mass: 1, "  \
    "inertia: [0.1, 0.12, 0.09, 0, 0, 0]}]\nmotors: [{joint: a, type: torque}]\n"
#define KEYS "{slerp: {times: [0.2, 0.7, 1.5], values: [[2, 0, 0, 0], [1, 1, 0, 0], [-0.2, -1, 0.3, 0.4]]}}"

static void product(const double a[4], const double b[4], double q[4])
{
    for (int i = 0; i < 3; i++)
        q[1 + i] =
            a[0] * b[1 + i] + b[0] * a[1 + i] + a[1 + (i + 1) % 3] * b[1 + (i + 2) % 3] - a[1 + (i + 2) % 3] * b[1 + (i + 1) % 3];
    q[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
}

static void turn_of(const double e[3], double q[4])
{
    const double angle = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
    q[0] = cos(angle / 2);
    for (int i = 0; i < 3; i++) q[1 + i] = angle > 0 ? sin(angle / 2) * e[i] / angle : 0;
}

/// Where the keyframes have it: from the one before by a share of the rotation vector to the next.
static void keyed(double t, double q[4])
{
    static const double times[3] = {0.2, 0.7, 1.5}, keys[3][4] = {{2, 0, 0, 0}, {1, 1, 0, 0}, {-0.2, -1, 0.3, 0.4}};
    double unit[3][4], back[4], between[4], e[3], turn[4];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            unit[k][i] = keys[k][i] / sqrt(keys[k][0] * keys[k][0] + keys[k][1] * keys[k][1] + keys[k][2] * keys[k][2] +
                                           keys[k][3] * keys[k][3]);
    const int k = t < times[1] ? 0 : 1;
    const double share = fmin(fmax((t - times[k]) / (times[k + 1] - times[k]), 0), 1);
    for (int i = 0; i < 4; i++) back[i] = i ? -unit[k][i] : unit[k][i];
    product(back, unit[k + 1], between);
    const double sign = between[0] < 0 ? -1 : 1, sine = sqrt(1 - between[0] * between[0]);
    for (int i = 0; i < 3; i++) e[i] = share * 2 * acos(fabs(between[0])) * sign * between[1 + i] / sine;
    turn_of(e, turn), product(unit[k], turn, q);
}

static void swung(double t, double q[4]) { turn_of((double[3]){0.3, 0, pi / 3 * sin(2 * pi * 0.2 * t)}, q); }

/// A link that is off by a turn e of the world costs as much as e says, wherever the target has gone to.
START_TEST(turns_move)
{
    static const char *const targets[] = {KEYS, "[0.3, 0, {sinusoid: {amplitude: 60 deg, frequency: 0.2}}]"};
    char text[1500];
    snprintf(text, sizeof text, TURNING "optimize: {cost: [{term: orientation, link: a, target: %s, weight: 2, end: 5}]}\n",
             targets[_i]);
    ctn_scene *const scene = scene_of(text);
    ctn_model *const model = ctn_model_create(scene, NULL);
    costs *const c = costs_open(cost_terms_of(scene), model, KNOTS, h, NULL);
    const double e[3] = {0.2, -0.5, 0.4}, u[3] = {0};
    double off[4], q[4], x[7] = {0}, far, rate;
    turn_of(e, off);
    for (int way = 0; way < 4; way++) {
        const double begin = 0.55 * (way % 3);
        costs_begin(c, begin, way == 3);
        for (int k = 0; k <= KNOTS; k++) {
            const double t = begin + (way == 3 ? 0 : k * h);
            double cost;
            (_i ? swung : keyed)(t, q), product(off, q, x);
            costs_cost(c, 1, &k, x, u, &cost);
            ck_assert_double_eq_tol(cost, 0.5 * (k < KNOTS ? 2 * h : 5) * (0.04 + 0.25 + 0.16), 1e-12);
        }
    }
    const double axis[4] = {0, 0.2, -0.5, 0.4}, back[4] = {x[0], -x[1], -x[2], -x[3]};
    double half[4], body[4];  // it turns away along e, at a rate of its length, told in axes of the link
    product(back, axis, half), product(half, x, body), memcpy(x + 4, body + 1, 3 * sizeof *x);
    ck_assert(costs_distance(c, 0, x, &far, &rate));
    ck_assert_double_eq_tol(far, sqrt(0.45), 1e-12);
    ck_assert_double_eq_tol(rate, sqrt(0.45), 1e-12);
    costs_close(c), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// A turn that waits until the link is near and slow, and is followed from then on.
START_TEST(turns_wait)
{
    ctn_error err;
    ctn_scene *const scene =
        scene_of(TURNING "optimize: {iterations: 20, cost: [{term: orientation, link: a, target: {slerp: {times: [0, 1, 2],\n"
                         "  values: [[1, 0, 0.5, 0], [1, 1, 0, 0], [1, 0, 0, 1]]}}, weight: 100, end: 10}, "
                         "{term: velocity, weight: 0.01}, {term: control, weight: 0.1}], mpc: {horizon: 0.4, iterations: 2, "
                         "starts: {within: 0.05, slower: 0.2}}}\n");
    ctn_model *const model = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    mpc *const m = mpc_open(scene, model, &cfg, &scene->optimize.mpc, 0, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    scene_plant *const by = scene_plant_open(scene, model, &cfg, 0.02, 1, &err);
    double x[7] = {1}, u[3], next[7], rms, most;
    for (int k = 0; k < 150; k++) {
        bool good;
        ck_assert_msg(mpc_step(m, x, u, &err) == CTN_OK, "knot %d: %s", k, err.message);
        ck_assert(plant_step(scene_plant_of(by), x, u, next, &good, &err) == CTN_OK && good);
        memcpy(x, next, sizeof x);
    }
    const double started = mpc_get_state(m).started;
    ck_assert_msg(started > 0.05 && started < 1, "%g", started);
    ck_assert(mpc_distance(m, 0, &rms, &most));
    ck_assert_msg(rms < 0.03 && most < 0.12, "%g, %g", rms, most);
    const double turned[4] = {sqrt(0.5), 0, 0, sqrt(0.5)};  // in the end it stands at the last keyframe
    double same = 0;
    for (int i = 0; i < 4; i++) same += turned[i] * x[i];
    ck_assert_double_eq_tol(fabs(same), 1, 1e-4);
    scene_plant_close(by), mpc_close(m), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// A window opens and closes by the time at which a knot is.
START_TEST(windows_pass)
{
    ctn_scene *const scene = scene_of(
        SLIDERS "optimize: {cost: [{term: posture, target: 1, weight: 2, from: 1, to: 1.45}, {term: control, weight: 0}]}\n");
    ctn_model *const model = ctn_model_create(scene, NULL);
    costs *const c = costs_open(cost_terms_of(scene), model, KNOTS, h, NULL);
    const double x[4] = {0}, u[2] = {0};
    for (int begin = 0; begin < 30; begin++) {
        costs_begin(c, begin * h, false);
        for (int k = 0; k < KNOTS; k++) {
            double cost;
            costs_cost(c, 1, &k, x, u, &cost);
            ck_assert_double_eq_tol(cost, begin + k >= 10 && begin + k <= 14 ? 2 * h : 0, 1e-15);
        }
    }
    costs_close(c), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- samples

#define STEADY                                                                                                                   \
    SLIDERS "optimize: {bounds: [-6, 6], cost: [{term: posture, target: [1, -1], weight: 1, end: 30}, "                          \
            "{term: velocity, weight: 0.1, end: 3}, {term: control, weight: 0.02}]}\n"

typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    scene_plant *plant;
} problem;

static problem open_problem(int samples, int threads, const char *engine)
{
    ctn_error err;
    problem p = {.scene = scene_of(STEADY)};
    p.model = ctn_model_create(p.scene, NULL);
    ctn_batch_config cfg = ctn_scene_config(p.scene);
    cfg.threads = threads, cfg.engine = engine;
    p.plant = scene_plant_open(p.scene, p.model, &cfg, KNOTS * h, samples, &err);
    ck_assert_msg(p.plant != NULL, "%s", err.message);
    return p;
}

static void close_problem(problem *p) { scene_plant_close(p->plant), ctn_model_free(p->model), ctn_scene_free(p->scene); }

static const double noise[] = {1, 1}, lower[] = {-6, -6}, upper[] = {6, 6}, x0[4] = {0}, U0[2 * KNOTS] = {0};

static sampling *open_samples(const problem *p, bool mean, int points, uint64_t seed)
{
    const sampling_config cfg = {mean, 60, points, 0.05, noise, lower, upper, seed};
    sampling *const s = sampling_open(scene_plant_of(p->plant), &cfg, NULL);
    ck_assert_ptr_nonnull(s);
    sampling_begin(s, x0, U0);
    return s;
}

/// Both come near to the cost that iterative LQR finds, and never below it; the best sample never costs more than the plan before.
START_TEST(samples_find_the_optimum)
{
    const bool mean = _i;
    problem p = open_problem(60, 1, "scalar");
    ilqr_config cfg = ilqr_default_config();
    cfg.lower = lower, cfg.upper = upper;
    ilqr *const best = ilqr_open(scene_plant_of(p.plant), &cfg, NULL);
    ck_assert_int_eq(ilqr_begin(best, x0, U0, NULL), CTN_OK);
    const double begin = ilqr_get_state(best).cost;
    for (int k = 0; k < 50; k++) ck_assert_int_eq(ilqr_step(best, NULL), CTN_OK);
    const double optimum = ilqr_get_state(best).cost;
    sampling *const s = open_samples(&p, mean, KNOTS, 1);
    double before = begin;
    for (int k = 0; k < 300; k++) {
        ck_assert_int_eq(sampling_step(s, NULL), CTN_OK);
        const sampling_state now = sampling_get_state(s);
        ck_assert(now.best <= before && (mean || now.cost == now.best) && now.cost >= optimum - 1e-9);
        ck_assert(mean ? now.effective >= 1 && now.effective <= 60 : now.effective == 1);
        before = now.cost;
    }
    ck_assert_msg(before - optimum < 0.03 * (begin - optimum), "%g at first, %g after samples, %g at best", begin, before,
                  optimum);
    sampling_close(s), ilqr_close(best), close_problem(&p);
}
END_TEST

/// Moved on by a knot, a line of a point a knot goes on where it was; the plan is within its bounds; the same bits for threads, in
/// lanes and alone; other seeds, others.
START_TEST(samples_move_on)
{
    const char *const engines[] = {"scalar", "auto", "auto", "scalar"};
    const int threads[] = {1, 1, 2, 1};
    double told[4][40];
    for (int way = 0; way < 4; way++) {
        problem p = open_problem(60, threads[way], engines[way]);
        sampling *const s = open_samples(&p, _i, 4, way == 3);
        double x[4] = {0};
        for (int k = 0; k < 20; k++) {
            bool good;
            ck_assert_int_eq(sampling_step(s, NULL), CTN_OK);
            memcpy(told[way] + 2 * k, sampling_control(s), 2 * sizeof **told);
            for (int i = 0; i < 2; i++) ck_assert(fabs(told[way][2 * k + i]) <= 6);
            const plant *const q = scene_plant_of(p.plant);
            double next[4];
            ck_assert_int_eq(plant_step(q, x, told[way] + 2 * k, next, &good, NULL), CTN_OK);
            memcpy(x, next, sizeof x);
            sampling_shift(s, x);
        }
        ck_assert_msg(hypot(x[0] - 1, x[1] + 1) < 0.1, "%g %g", x[0], x[1]);
        sampling_close(s), close_problem(&p);
    }
    ck_assert(!memcmp(told[0], told[1], sizeof *told) && !memcmp(told[0], told[2], sizeof *told));
    ck_assert(memcmp(told[0], told[3], sizeof *told));
    problem p = open_problem(60, 1, "scalar");
    sampling *const s = open_samples(&p, false, KNOTS, 0);
    double U[2 * KNOTS];
    for (int k = 0; k < 2 * KNOTS; k++) U[k] = 0.1 * k;
    sampling_begin(s, x0, U);
    for (int k = 0; k < KNOTS; k++, sampling_shift(s, x0))
        for (int i = 0; i < 2; i++) ck_assert_double_eq(sampling_control(s)[i], U[2 * k + i]);
    ck_assert_double_eq(sampling_control(s)[1], U[2 * KNOTS - 1]);
    sampling_close(s), close_problem(&p);
}
END_TEST

// ---- plans made anew

/// A plan that is begun again goes the same way as a new one, also with a path that waits; a knot that comes later sees the path later.
START_TEST(begins_again)
{
    ctn_error err;
    ctn_scene *const scene = scene_of(
        SLIDERS "optimize: {cost: [{term: place, link: b, target: [{sinusoid: {amplitude: 1, frequency: 0.3}}, 1, 0], weight: 9, "
                "end: 9}, {term: velocity, weight: 0.001}, {term: control, weight: 0.001}], "
                "mpc: {starts: {within: 0.2, slower: 0.5}}}\n");
    ctn_model *const model = ctn_model_create(scene, NULL);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    mpc *const m = mpc_open(scene, model, &cfg, &scene->optimize.mpc, 0, &err), *const other =
                                                                                    mpc_open(scene, model, &cfg,
                                                                                             &scene->optimize.mpc, 0, &err);
    ck_assert_msg(m && other, "%s", err.message);
    scene_plant *const by = scene_plant_open(scene, model, &cfg, 1, 4, &err);
    const plant *const p = scene_plant_of(by);
    double told[2][30][2], started[2];
    for (int way = 0; way < 2; way++) {
        double x[4] = {0}, next[4];
        bool good;
        if (way) ck_assert_int_eq(mpc_begin(m, x0, 0, &err), CTN_OK);
        for (int k = 0; k < 30; k++) {
            ck_assert_int_eq(mpc_step(m, x, told[way][k], &err), CTN_OK);
            ck_assert_int_eq(plant_step(p, x, told[way][k], next, &good, &err), CTN_OK);
            memcpy(x, next, sizeof x);
        }
        started[way] = mpc_get_state(m).started;
        double rms, most;
        ck_assert(mpc_distance(m, 0, &rms, &most) && !mpc_distance(m, 1, &rms, &most));
        const double t = mpc_get_state(m).time;
        ck_assert_double_eq_tol(t, 3, 1e-12);
        ck_assert_msg(hypot(x[0] - sin(2 * pi * 0.3 * (t - started[way])), x[1] - 1) < 0.1, "%g %g, begun at %g s", x[0], x[1],
                      started[way]);
    }
    ck_assert(started[0] > 0 && started[0] < 2);
    ck_assert_double_eq_tol(started[0], started[1], 1e-12);
    for (int k = 0; k < 60; k++) ck_assert_double_eq_tol(told[0][k / 2][k % 2], told[1][k / 2][k % 2], 1e-9);
    const double near[4] = {0, 1, 0, 0};  // where targets begin to move at once
    double u[2], later[2];
    ck_assert_int_eq(mpc_begin(m, near, 0, &err), CTN_OK);
    ck_assert_int_eq(mpc_begin(other, near, 0, &err), CTN_OK);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(mpc_step(m, near, u, &err), CTN_OK);
        mpc_go_to(other, 0.5 * k);
        ck_assert_int_eq(mpc_step(other, near, later, &err), CTN_OK);
        ck_assert(k || (u[0] == later[0] && mpc_get_state(other).started == 0));
    }
    ck_assert_double_eq_tol(mpc_get_state(m).time, 0.2, 1e-12);
    ck_assert_double_eq_tol(mpc_get_state(other).time, 0.6, 1e-12);
    ck_assert(mpc_get_state(m).planned != mpc_get_state(other).planned);
    scene_plant_close(by), mpc_close(m), mpc_close(other), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Plans without iterations cost what they cost: two masses that stay 1 m from where they are to be.
START_TEST(plans_without_iterations)
{
    ctn_error err;
    ctn_scene *const scene = scene_of(STEADY);
    ctn_model *const model = ctn_model_create(scene, NULL);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    scene_mpc how = scene->optimize.mpc;
    scene->optimize.iterations = how.iterations = 0, how.planner = (mpc_planner)_i;
    mpc *const m = mpc_open(scene, model, &cfg, &how, 0, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    double u[2];
    ck_assert_int_eq(mpc_step(m, x0, u, &err), CTN_OK);
    ck_assert_int_eq(mpc_get_state(m).iterations, 0);
    ck_assert_double_eq_tol(mpc_get_state(m).planned, 0.5 * 2 * (1 * KNOTS * h + 30), 1e-12);
    mpc_close(m), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// With second derivatives plans come nearer to the best ones in as many iterations, from the first iteration of each on.
START_TEST(second_derivatives)
{
    static const char *const text =
        "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, -0.5], inertia: [0.1, "
        "0.1, "
        "0.01, 0, 0, 0]}\n  - {name: b, parent: a, position: [0, 0, -1], joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: "
        "[0, "
        "0, -0.5], inertia: [0.1, 0.1, 0.01, 0, 0, 0]}\nmotors: [{joint: a, type: torque}, {joint: b, type: torque}]\n"
        "integrator: {method: semi-implicit, dt: 0.02}\nduration: 1\noptimize: {iterations: 200, method: %s, cost: [{term: "
        "place, "
        "link: b, point: [0, 0, -1], target: [{sinusoid: {mean: 0.5, amplitude: 1, frequency: 1}}, 0, -1], weight: 20}, {term: "
        "velocity, weight: 0.01}, {term: control, weight: 0.01}], mpc: {horizon: 0.5, iterations: 1}}\n";
    char of[2][1500];
    ctn_error err;
    ctn_scene *scene[3];
    ctn_model *model[3];
    mpc *m[3];
    double beyond[2] = {0};
    for (int k = 0; k < 3; k++) {  // the last one: as good as there is
        snprintf(of[k > 0], sizeof *of, text, k ? "ddp" : "ilqr");
        scene[k] = scene_of(of[k > 0]), model[k] = ctn_model_create(scene[k], NULL);
        const ctn_batch_config cfg = ctn_scene_config(scene[k]);
        scene_mpc how = scene[k]->optimize.mpc;
        if (k == 2) how.iterations = 100;
        m[k] = mpc_open(scene[k], model[k], &cfg, &how, 0, &err);
        ck_assert_msg(m[k] != NULL, "%s", err.message);
    }
    const ctn_batch_config cfg = ctn_scene_config(scene[0]);
    scene_plant *const by = scene_plant_open(scene[0], model[0], &cfg, 1, 4, &err);
    double x[4] = {0}, next[4], u[2];
    bool good;
    for (int k = 0; k < 30; k++) {
        for (int i = 0; i < 3; i++) ck_assert_int_eq(mpc_step(m[i], x, u, &err), CTN_OK);
        for (int i = 0; i < 2; i++) beyond[i] += mpc_get_state(m[i]).planned - mpc_get_state(m[2]).planned;
        ck_assert_int_eq(plant_step(scene_plant_of(by), x, u, next, &good, &err), CTN_OK);
        memcpy(x, next, sizeof x);
    }
    ck_assert_msg(beyond[1] < 0.2 * beyond[0] && beyond[1] > -1e-6, "beyond the best plans by %g, by ilqr %g", beyond[1],
                  beyond[0]);
    scene_plant_close(by);
    for (int k = 0; k < 3; k++) mpc_close(m[k]), ctn_model_free(model[k]), ctn_scene_free(scene[k]);
}
END_TEST

// ---- limits and rewards

#define RAIL                                                                                                                     \
    SLIDERS "optimize: {tolerance: 1e-10, limit_tolerance: 1e-8, iterations: 400, cost: [{term: posture, target: [3, -1], "      \
            "weight: 2, end: 3}, {term: velocity, weight: 0.1, end: 1}, {term: control, weight: 0.05}], limits: [{term: "        \
            "velocity, within: [-1, 1]}, {term: posture, joints: [a], within: [none, 1.2], from: 1.15, to: 1.75}, {term: "       \
            "control, within: [-4, 4]}]}\n"

/// Plans that are moved on with their multipliers, and have iterations enough, are those that are found from where the plant is
/// without any; the plant keeps to limits, of windows when these have come.
START_TEST(limits_move_on)
{
    ctn_error err;
    ctn_scene *const scene = scene_of(RAIL);
    ctn_model *const model = ctn_model_create(scene, NULL);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    scene_mpc how = scene->optimize.mpc;
    how.iterations = 400;
    mpc *const m = mpc_open(scene, model, &cfg, &how, 0, &err), *const fresh = mpc_open(scene, model, &cfg, &how, 0, &err);
    ck_assert_msg(m && fresh, "%s", err.message);
    scene_plant *const by = scene_plant_open(scene, model, &cfg, 1, 4, &err);
    const plant *const p = scene_plant_of(by);
    double x[4] = {0}, next[4], u[2], cold[2], most = 0, beyond = 0;
    for (int k = 0; k < 30; k++) {
        ck_assert_int_eq(mpc_begin(fresh, x, k * h, &err), CTN_OK);
        ck_assert_int_eq(mpc_step(m, x, u, &err), CTN_OK);
        ck_assert_int_eq(mpc_step(fresh, x, cold, &err), CTN_OK);
        const mpc_state warm = mpc_get_state(m);
        ck_assert_msg(fabs(u[0] - cold[0]) < 1e-5 && fabs(u[1] - cold[1]) < 1e-5, "knot %d: %.9g %.9g, anew %.9g %.9g", k, u[0],
                      u[1], cold[0], cold[1]);
        ck_assert_double_eq_tol(warm.planned, mpc_get_state(fresh).planned, 1e-6);
        ck_assert_msg(warm.violation <= 1e-8, "knot %d: missed by %g", k, warm.violation);
        bool good;
        ck_assert_int_eq(plant_step(p, x, u, next, &good, &err), CTN_OK);
        memcpy(x, next, sizeof x);
        const double t = (k + 1) * h;
        most = fmax(most, fmax(fabs(x[2]), fabs(x[3])));
        if (t > 1.15 && t < 1.75) ck_assert_msg(x[0] <= 1.2 + 1e-7, "%g m at %g s", x[0], t);
        beyond = fmax(beyond, x[0]);
    }
    ck_assert_double_eq_tol(most, 1, 1e-7);
    ck_assert_double_gt(beyond, 1.5);  // after the window
    for (int k = 0; k < 3; k++) ck_assert(mpc_missed(m, k) >= 0 && mpc_missed(m, k) < 1e-7);
    scene_plant_close(by), mpc_close(m), mpc_close(fresh), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

#define PAID                                                                                                                     \
    "catena: 1\ngravity: [0, 0, 0]\nlinks: [{name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, "   \
    "0, 0, 0]}]\nmotors: [{joint: a, type: torque}]\nintegrator: {method: semi-implicit, dt: 0.1}\nduration: 1\n"                \
    "optimize: {cost: [{term: control, weight: 0.05}], reward: 0.5, tolerance: 1e-11, mpc: {iterations: 60}}\nreward:\n"

/// A cart that is paid for how far it is at the end of each plan: x_N = sum of h^2 (N - k) u_k, so that u_0 = w h N / 0.05 always.
/// One that is paid for its speed in a window is told 0 until plans see it, and w h / 0.05 a second that it will be paid for.
START_TEST(rewards_move_on)
{
    static const char *const rewards[] = {PAID "  - {term: progress, link: a, axis: [1, 0, 0], weight: 1, when: end}\n",
                                          PAID "  - {term: speed, link: a, axis: [1, 0, 0], weight: 2, from: 2, to: 3}\n"};
    ctn_error err;
    ctn_scene *const scene = scene_of(rewards[_i]);
    ctn_model *const model = ctn_model_create(scene, NULL);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    mpc *const m = mpc_open(scene, model, &cfg, &scene->optimize.mpc, 0, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    double x[2] = {0}, u, cost = 0;
    for (int k = 0; k < 40; k++) {
        const double v = x[1];
        ck_assert_int_eq(mpc_step(m, x, &u, &err), CTN_OK);
        int paid = 0;  // knots of the plan after this one in which the speed is paid for: those whose ends are in the window
        for (int j = k + 1; j < k + KNOTS; j++) paid += j >= 20 && j < 30;
        ck_assert_double_eq_tol(u, _i ? 0.5 * 2 * h * paid / 0.05 : 0.5 * h * KNOTS / 0.05, 1e-6);
        cost += 0.5 * h * 0.05 * u * u - (_i && k >= 20 && k < 30 ? 0.5 * 2 * h * v : 0);
        ck_assert_double_eq_tol(mpc_get_state(m).cost, cost, 1e-9 * fmax(1, fabs(cost)));
        x[1] += h * u, x[0] += h * x[1];
    }
    mpc_close(m), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("mpc");
    TCase *const c = tcase_create("mpc");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, targets_move, 0, MOVING);
    tcase_add_loop_test(c, turns_move, 0, 2);
    tcase_add_test(c, turns_wait);
    tcase_add_test(c, windows_pass);
    tcase_add_loop_test(c, samples_find_the_optimum, 0, 2);
    tcase_add_loop_test(c, samples_move_on, 0, 2);
    tcase_add_test(c, begins_again);
    tcase_add_test(c, second_derivatives);
    tcase_add_test(c, limits_move_on);
    tcase_add_loop_test(c, rewards_move_on, 0, 2);
    tcase_add_loop_test(c, plans_without_iterations, 0, PLANNERS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
