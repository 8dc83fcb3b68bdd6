/// Policy gradients: networks against differences, the way back through windows against differences of windows, learning.
#include "control/critic.h"
#include "control/learning.h"
#include "control/policy.h"
#include "control/windows.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- networks

/// What the network says, weighed.
static double weighed(const network *n, const double *p, int columns, const double *x, const double *weight, double *y)
{
    double sum = 0;
    network_forward(n, p, columns, x, y);
    const double *const says = network_says(n, columns, y);
    for (int k = 0; k < columns * n->width[n->layers - 1]; k++) sum += weight[k] * says[k];
    return sum;
}

START_TEST(network_gradients)
{
    const network nets[] = {{3, 1, {2}, false}, {4, 2, {5, 3}, true}, {2, 3, {6, 5, 1}, false}, {3, 3, {4, 4, 2}, true}};
    const network *const n = &nets[_i];
    enum { COLUMNS = 11, MOST = 400 };
    double p[MOST], x[MOST], y[MOST], weight[MOST], by_p[MOST] = {0}, by_x[MOST], room[MOST];
    const int count = network_parameters(n), in = n->inputs * COLUMNS, out = n->width[n->layers - 1] * COLUMNS;
    ck_assert(count < MOST && in < MOST && network_outputs(n) * COLUMNS < MOST);
    network_draw(n, 5, 1, p);
    for (int k = 0; k < count; k++) p[k] += 0.1 * sin(3 * k);
    for (int k = 0; k < in; k++) x[k] = sin(k + 0.5);
    for (int k = 0; k < out; k++) weight[k] = cos(2 * k);
    weighed(n, p, COLUMNS, x, weight, y);
    network_back(n, p, COLUMNS, x, y, weight, by_x, by_p, room);
    const double step = 1e-5;
    for (int k = 0; k < count + in; k++) {
        double *const at = k < count ? &p[k] : &x[k - count], kept = *at, got = k < count ? by_p[k] : by_x[k - count];
        *at = kept + step;
        const double up = weighed(n, p, COLUMNS, x, weight, room);
        *at = kept - step;
        const double down = weighed(n, p, COLUMNS, x, weight, room);
        *at = kept;
        ck_assert_double_eq_tol(got, (up - down) / (2 * step), 1e-8 * (1 + fabs(got)));
    }
}
END_TEST

// ---- windows

/// An arm of two links that is told by sensors of several kinds, a third link swings on it; rewards of all times.
static const char arm[] =
    "catena: 1\n"
    "links:\n"
    "  - {name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.1}, mass: 1, com: [0.2, 0, 0],\n"
    "     inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n"
    "  - {name: b, parent: a, position: [0.4, 0, 0], joint: {type: ball, damping: 0.1}, mass: 1, com: [0.2, 0, 0],\n"
    "     inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n"
    "  - {name: c, parent: b, position: [0.4, 0, 0], joint: {type: revolute, axis: [0, 0, 1]}, mass: 0.5, com: [0.1, 0, 0],\n"
    "     inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n"
    "motors:\n"
    "  - {joint: a, type: position, kp: 20, kd: 1}\n"
    "  - {joint: c, type: torque, effort: 50}\n"
    "sensors:\n"
    "  - {name: angle, type: joint_position, joint: a}\n"
    "  - {name: rate, type: joint_velocity, joint: a}\n"
    "  - {name: spin, type: gyro, link: b}\n"
    "  - {name: tip, type: position, link: c, point: [0.2, 0, 0]}\n"
    "  - {name: fast, type: velocity, link: c, point: [0.2, 0, 0]}\n"
    "controller: {type: tanh, sensors: all, hidden: [5], range: [[-1, 1], [-2, 2]], every: 0.04, clock: 0.7}\n"
    "reward:\n"
    "  - {term: height, link: c, point: [0.2, 0, 0], weight: 2}\n"
    "  - {term: speed, link: c, axis: [1, 0, 0], weight: 0.3}\n"
    "  - {term: effort, weight: -0.01}\n"
    "  - {term: smoothness, weight: -0.001}\n"
    "  - {term: upright, link: b, axis: [1, 0, 0], weight: 3, when: end}\n"
    "sample: {seed: 3, q: {a: {uniform: [-0.5, 0.5]}}, v: {c: {uniform: [-1, 1]}}}\n"
    "search: {method: shac, worlds: 5}\n"
    "duration: 0.4\n";

static ctn_scene *parse(const char *text)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "policy.yaml", &err);
    ck_assert_msg(scene, "%s", err.message);
    return scene;
}

/// What the worlds of a fresh window earn, weighed, with what its last states are worth: a sum of squares of what was seen.
static double value_of(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const double *p,
                       const double *deviation, const double *weight, int windows_before, windows *keep)
{
    ctn_error err;
    ctn_batch_config own = *cfg;
    windows *const w = keep;
    double sum = 0;
    ck_assert_msg(windows_open(w, scene, model, &own, 2, 5, 10, true, &err) == CTN_OK, "%s", err.message);
    for (int k = 0; k <= windows_before; k++) ck_assert_msg(windows_make(w, p, deviation, &err) == CTN_OK, "%s", err.message);
    for (int k = 0; k < w->worlds * w->decisions; k++) sum += weight[k] * w->earned[k];
    for (int k = 0; k < w->worlds; k++)
        for (int d = 0; d < w->decisions; d++) {
            const window_fate fate = w->fate[d * w->worlds + k];
            if (fate != CUT && (fate != LIVED || d + 1 < w->decisions)) continue;
            for (int j = 0; j < w->policy.inputs; j++) {
                const double x = w->seen[((d + 1) * w->policy.inputs + j) * w->worlds + k];
                sum += 0.1 * (j + 1) * x * x;
            }
        }
    return sum;
}

static void worth(void *context, int d, const bool *last, double *by_seen)
{
    const windows *const w = context;
    for (int j = 0; j < w->policy.inputs; j++)
        for (int k = 0; k < w->worlds; k++)
            if (last[k]) by_seen[j * w->worlds + k] += 0.2 * (j + 1) * w->seen[(d * w->policy.inputs + j) * w->worlds + k];
}

/// The first window of an episode; by the method.
START_TEST(windows_against_differences)
{
    static const ctn_method methods[] = {CTN_COLLOCATION, CTN_RADAU, CTN_ALPHA, CTN_RK4};
    enum { WORLDS = 5, DECISIONS = 5 };
    ctn_scene *const scene = parse(arm);
    ctn_error err;
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.method = methods[_i], cfg.dt = 0.02, cfg.tolerance = 1e-13, cfg.worlds = WORLDS, cfg.order = 2;
    windows w, other;
    double deviation[2] = {0.1, 0.2}, weight[WORLDS * DECISIONS], p[200];
    for (int k = 0; k < WORLDS * DECISIONS; k++) weight[k] = 1 + 0.3 * sin(k);
    ck_assert_msg(windows_open(&w, scene, model, &cfg, 2, DECISIONS, 10, true, &err) == CTN_OK, "%s", err.message);
    const int count = network_parameters(&w.policy);
    ck_assert_int_lt(count, 200);
    network_draw(&w.policy, 11, 1, p);
    windows_close(&w);
    value_of(scene, model, &cfg, p, deviation, weight, 0, &w);
    double by[200] = {0}, by_deviation[2] = {0};
    ck_assert_msg(windows_pull(&w, weight, worth, &w, by, by_deviation, &err) == CTN_OK, "%s", err.message);
    const double step = 1e-5;
    double size = 0;
    for (int k = 0; k < count; k++) size = fmax(size, fabs(by[k]));
    ck_assert_double_gt(size, 0.01);
    for (int k = 0; k < count + 2; k++) {
        double *const at = k < count ? &p[k] : &deviation[k - count], kept = *at;
        *at = kept + step;
        const double up = value_of(scene, model, &cfg, p, deviation, weight, 0, &other);
        windows_close(&other);
        *at = kept - step;
        const double down = value_of(scene, model, &cfg, p, deviation, weight, 0, &other);
        windows_close(&other);
        *at = kept;
        const double got = k < count ? by[k] : by_deviation[k - count];
        ck_assert_msg(fabs(got - (up - down) / (2 * step)) < 1e-6 * size,
                      "method %d, parameter %d of %d: %.12g, by differences %.12g", _i, k, count, got, (up - down) / (2 * step));
    }
    windows_close(&w), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Without noise worlds go as those of a batch that its controller tells, to the last bit, and earn what a reward says of them.
START_TEST(as_the_controller_tells)
{
    enum { WORLDS = 5, DECISIONS = 4, WINDOWS = 2 };
    ctn_scene *const scene = parse(arm);
    ctn_error err;
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.worlds = WORLDS, cfg.dt = 0.02;
    windows w;
    ck_assert_msg(windows_open(&w, scene, model, &cfg, 2, DECISIONS, DECISIONS * WINDOWS, false, &err) == CTN_OK, "%s",
                  err.message);
    const size_t nq = (size_t)ctn_model_nq(model), count = (size_t)ctn_model_controller_parameters(model);
    double *const p = calloc(WORLDS * count, sizeof *p), *const q = calloc(WORLDS * nq, sizeof *q), deviation[2] = {0};
    network_draw(&w.policy, 11, 1, p);
    for (size_t k = 1; k < WORLDS; k++) memcpy(p + k * count, p, count * sizeof *p);
    double earned = 0;
    for (int k = 0; k < WINDOWS; k++) {
        ck_assert(windows_make(&w, p, deviation, &err) == CTN_OK);
        for (int j = 0; j < DECISIONS * WORLDS; j++) earned += w.earned[j];
    }
    ck_assert_int_eq(w.ended, WORLDS);
    ctn_batch *const batch = ctn_batch_create(model, &cfg, &err);
    ck_assert(ctn_batch_set_controller(batch, p, &err) == CTN_OK);
    ck_assert(ctn_batch_set_state(batch, w.sampled.q, w.sampled.v, 0, &err) == CTN_OK);
    ck_assert(ctn_batch_step(batch, 2 * DECISIONS * WINDOWS, NULL, &err) == CTN_OK);
    ctn_batch_state(batch, q, NULL);
    ck_assert(!memcmp(q, ctn_tapes_q(w.tapes, 2 * DECISIONS), WORLDS * nq * sizeof *q));
    ck_assert_double_eq_tol(earned, w.returns, 1e-12 * fabs(earned));
    ctn_batch_free(batch), windows_close(&w), ctn_model_free(model), ctn_scene_free(scene);
    free(p), free(q);
}
END_TEST

// ---- learning

/// A pendulum that is to be held at an angle; of `alive` it falls out of its episode where it goes too low.
static char *pendulum(const char *search, const char *more)
{
    char *const text = malloc(2000);
    snprintf(text, 2000,
             "catena: 1\n"
             "links: [{name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.2, q0: 0.3}, mass: 1, com: [0.3, 0, 0],\n"
             "         inertia: [0.01, 0.02, 0.02, 0, 0, 0]},\n"
             "        {name: tip, parent: a, position: [0.3, 0, 0], joint: {type: fixed}}]\n"
             "motors: [{joint: a, type: torque}]\n"
             "sensors: [{name: x, type: joint_position, joint: a}, {name: w, type: joint_velocity, joint: a}]\n"
             "controller: {type: tanh, sensors: all, hidden: [8], range: [-6, 6], every: 0.04}\n"
             "reward:\n"
             "  - {term: height, link: a, point: [0.3, 0, 0], target: 0.15, weight: -50}\n"
             "%s"
             "sample: {q: {a: {uniform: [-0.5, 0.5]}}}\n"
             "search: {%s, seed: 4}\n"
             "integrator: {method: collocation, dt: 0.02}\n"
             "duration: 1.2\n",
             more, search);
    return text;
}

static policy_search *open_search(const char *text, const char *engine, int threads, ctn_scene **scene, ctn_model **model)
{
    ctn_error err;
    *scene = parse(text), *model = ctn_model_create(*scene, &err);
    ck_assert_msg(*model, "%s", err.message);
    ctn_batch_config cfg = ctn_scene_config(*scene);
    cfg.engine = engine, cfg.threads = threads;
    policy_search *const p = policy_open(*scene, *model, &cfg, 1.2, 2, &err);
    ck_assert_msg(p, "%s", err.message);
    return p;
}

static void step_policy(policy_search *p, int windows)
{
    ctn_error err;
    for (int k = 0; k < windows; k++) ck_assert_msg(policy_step(p, &err) == CTN_OK, "%s", err.message);
}

static const char *const searches[] = {"method: likelihood, worlds: 16, rate: 0.03", "method: ppo, worlds: 16, rate: 0.002",
                                       "method: shac, worlds: 16, horizon: 0.4, rate: 0.03"};

/// Each method learns to hold the pendulum: by probabilities it misses less than three fifths as much, by the gradient of steps a quarter.
START_TEST(learns)
{
    static const int windows_of[] = {150, 60, 60};
    static const double left[] = {0.6, 0.6, 0.25};
    char *const text = pendulum(searches[_i], "");
    ctn_scene *scene;
    ctn_model *model;
    policy_search *const p = open_search(text, NULL, 1, &scene, &model);
    for (int k = 0; k < 4 && isnan(policy_get_state(p).mean); k++) step_policy(p, 1);
    const double before = policy_get_state(p).mean;
    step_policy(p, windows_of[_i]);
    const policy_state now = policy_get_state(p);
    ck_assert_double_lt(before, 0);
    ck_assert_msg(now.mean > before * left[_i], "%s: %g became %g in %lld steps", searches[_i], before, now.mean,
                  (long long)now.steps);
    ck_assert_int_eq(now.lost, 0);
    policy_close(p), ctn_model_free(model), ctn_scene_free(scene), free(text);
}
END_TEST

/// The same numbers on any engine and number of threads, and from a saved state on; worlds fall, and begin anew.
START_TEST(same_bits)
{
    char *const text = pendulum(searches[_i], "  - {term: alive, link: tip, above: -0.22, weight: 1}\n");
    ctn_error err;
    ctn_scene *scene[3];
    ctn_model *model[3];
    policy_search *const one = open_search(text, "scalar", 1, &scene[0], &model[0]),
                         *const two = open_search(text, NULL, 2, &scene[1], &model[1]),
                         *const three = open_search(text, NULL, 1, &scene[2], &model[2]);
    step_policy(one, 7), step_policy(two, 7), step_policy(three, 3);
    const size_t n = policy_numbers(one);
    double *const flat = calloc(2 * n, sizeof *flat), *const kept = flat + n;
    ck_assert_uint_eq(policy_numbers(three), n);
    ck_assert(policy_flatten(three, false, kept, &err) == CTN_OK);
    step_policy(three, 2);  // elsewhere
    ck_assert_msg(policy_flatten(three, true, kept, &err) == CTN_OK, "%s", err.message);
    step_policy(three, 4);
    ck_assert(policy_flatten(one, false, flat, &err) == CTN_OK);
    const policy_state s = policy_get_state(one);
    ck_assert(s.windows == 7 && s.steps > 0 && s.episodes > 0);
    const int count = ctn_model_controller_parameters(model[0]);
    ck_assert(!memcmp(policy_parameters(one), policy_parameters(two), (size_t)count * sizeof(double)));
    ck_assert(!memcmp(policy_parameters(one), policy_parameters(three), (size_t)count * sizeof(double)));
    ck_assert(policy_flatten(three, false, kept, &err) == CTN_OK);
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(flat[k] == kept[k] || (isnan(flat[k]) && isnan(kept[k])), "number %zu of %zu", k, n);
    policy_close(one), policy_close(two), policy_close(three);
    for (int k = 0; k < 3; k++) ctn_model_free(model[k]), ctn_scene_free(scene[k]);
    free(text), free(flat);
}
END_TEST

/// What becomes of worlds: they end, are cut, and begin anew; their earnings are those of their episodes.
START_TEST(fates)
{
    enum { WORLDS = 12, DECISIONS = 10, EPISODE = 15 };
    char *const text = pendulum("method: ppo, worlds: 12", "  - {term: alive, link: tip, above: -0.22, weight: 1}\n");
    ctn_scene *const scene = parse(text);
    ctn_error err;
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.worlds = WORLDS;
    windows w;
    ck_assert(windows_open(&w, scene, model, &cfg, 2, DECISIONS, EPISODE, false, &err) == CTN_OK);
    double p[200] = {[8 * 3] = -0.4};  // holds it up, nearly
    const double deviation = 0.3;
    int fallen = 0, cut = 0, lived = 0, age[WORLDS] = {0};
    double gained[WORLDS] = {0}, returns = 0;
    for (int k = 0; k < 6; k++) {
        ck_assert(windows_make(&w, p, &deviation, &err) == CTN_OK);
        returns = 0;
        for (int j = 0; j < WORLDS; j++) {
            bool over = false;
            for (int d = 0; d < DECISIONS; d++) {
                const window_fate fate = w.fate[d * WORLDS + j];
                ck_assert((fate == NOT_LIVED) == over);
                ck_assert(fate != NOT_LIVED || w.earned[d * WORLDS + j] == 0);
                if (over) continue;
                lived++, age[j]++, gained[j] += w.earned[d * WORLDS + j];
                ck_assert((fate == CUT) == (age[j] == EPISODE && fate != ENDED));
                fallen += fate == ENDED, cut += fate == CUT, over = fate != LIVED;
                if (over) returns += gained[j], age[j] = 0, gained[j] = 0;
            }
        }
        ck_assert_double_eq_tol(w.returns, returns, 1e-12 * fabs(returns));
    }
    ck_assert(fallen > 3 && cut > 3);
    ck_assert_int_eq(w.steps, 2 * lived);
    ck_assert_int_ge(w.begun, fallen + cut);
    windows_close(&w), ctn_model_free(model), ctn_scene_free(scene), free(text);
}
END_TEST

/// A world that freezes in the window: before its end nothing of it is kept, after it all; it begins anew, others are as without it.
START_TEST(freezes)
{
    enum { WORLDS = 6, DECISIONS = 10 };
    char *const text = pendulum("method: ppo, worlds: 6", _i ? "  - {term: alive, link: tip, above: -0.25, weight: 1}\n" : "");
    ctn_scene *const scene = parse(text);
    ctn_error err;
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.worlds = WORLDS, cfg.method = CTN_RK4;
    windows w;
    ck_assert(windows_open(&w, scene, model, &cfg, 2, DECISIONS, DECISIONS, false, &err) == CTN_OK);
    double p[200] = {[8 * 3] = 20};  // all that there is of torque, which is as good as without end
    const double deviation = 0;
    w.law->range[0][0] = -1e-3, w.law->range[0][1] = 1e9;
    ck_assert(windows_make(&w, p, &deviation, &err) == CTN_OK);
    for (int k = 0; k < WORLDS; k++) {
        ck_assert(ctn_tapes_frozen(w.tapes, k) != CTN_RUNNING && w.anew[k]);
        for (int d = 0; d < DECISIONS && !_i; d++)
            ck_assert(w.fate[d * WORLDS + k] == NOT_LIVED && w.earned[d * WORLDS + k] == 0);
    }
    if (!_i) ck_assert_int_eq(w.lost, WORLDS);
    p[8 * 3] = -0.4, w.law->range[0][0] = -6, w.law->range[0][1] = 6;
    ck_assert(windows_make(&w, p, &deviation, &err) == CTN_OK);
    for (int k = 0; k < WORLDS; k++) ck_assert(w.fate[k] != NOT_LIVED && ctn_tapes_frozen(w.tapes, k) == CTN_RUNNING);
    windows_close(&w), ctn_model_free(model), ctn_scene_free(scene), free(text);
}
END_TEST

/// Advantages by their definition, as a sum over all later errors.
START_TEST(generalised_advantages)
{
    enum { WORLDS = 3, DECISIONS = 6 };
    window_fate fate[DECISIONS * WORLDS];
    double earned[DECISIONS * WORLDS], values[(DECISIONS + 1) * WORLDS], got[DECISIONS * WORLDS];
    const int last[WORLDS] = {DECISIONS - 1, 3, 2};
    for (int k = 0; k < DECISIONS * WORLDS; k++) {
        const int d = k / WORLDS, w = k % WORLDS;
        fate[k] = d < last[w] || (w == 0) ? LIVED : d > last[w] ? NOT_LIVED : w == 1 ? ENDED : CUT;
        earned[k] = fate[k] == NOT_LIVED ? 0 : sin(k);
    }
    for (int k = 0; k < (DECISIONS + 1) * WORLDS; k++) values[k] = cos(k);
    const windows w = {.worlds = WORLDS, .decisions = DECISIONS, .fate = fate, .earned = earned};
    const double discount = 0.9, lambda = 0.8;
    advantages(&w, values, discount, lambda, got);
    for (int k = 0; k < DECISIONS * WORLDS; k++) {
        const int world = k % WORLDS;
        double want = 0, factor = 1;
        for (int d = k / WORLDS; d <= last[world]; d++, factor *= discount * lambda) {
            const double next = fate[d * WORLDS + world] == ENDED ? 0 : values[(d + 1) * WORLDS + world];
            want += factor * (earned[d * WORLDS + world] + discount * next - values[d * WORLDS + world]);
        }
        ck_assert_double_eq_tol(got[k], want, 1e-14);
    }
}
END_TEST

/// A critic learns a function of what it sees, whatever its size.
START_TEST(critics)
{
    enum { COUNT = 512 };
    critic c;
    lived l = {.count = COUNT, .place = calloc(COUNT, sizeof(int)), .x = calloc(2 * COUNT, sizeof(double))};
    double target[COUNT], got[COUNT];
    ck_assert(critic_open(&c, 2, (const int[]){16, 16}, COUNT, 3));
    for (int k = 0; k < COUNT; k++) {
        l.x[k] = sin(k), l.x[COUNT + k] = sin(1.7 * k);
        target[k] = 300 * (l.x[k] * l.x[k] - l.x[COUNT + k]);
    }
    for (uint64_t k = 0; k < 60; k++) ck_assert(critic_learn(&c, &l, target, 0.01, 4, 4, 0.4, 9, k));
    double missed = 0, all = 0;
    critic_values(&c, true, COUNT, l.x, got);
    for (int k = 0; k < COUNT; k++) missed += pow(got[k] - target[k], 2), all += target[k] * target[k];
    ck_assert_msg(missed < 0.01 * all, "missed %g of %g", missed, all);
    critic_close(&c), lived_close(&l);
}
END_TEST

/// What does not go is refused by name.
START_TEST(mistakes)
{
    static const struct {
        const char *search, *from, *to, *says;
        double duration;
        int hold;
    } bad[] = {{"method: shac", "joint_velocity", "joint_force   ", "'w'", 1.2, 2},
               {"method: ppo", "joint_velocity", "motor_effort  ", "sensor 'w' (motor_effort)", 1.2, 2},
               {"method: likelihood, worlds: 1", "", "", "search.worlds: likelihood compares", 1.2, 2},
               {"method: ppo", "every: 0.04", "every: 0.05", "controller.every", 1.2, 2},
               {"method: ppo", "", "", "duration: policy gradients need a multiple of 0.04 s", 1.21, 2},
               {"method: ppo", "every: 0.04", "every: 4   ", "duration: policy gradients need a multiple of 4 s", 1.2, 200},
               {"method: ppo, noise: 0.5", "q: {a: {uniform: [-0.5, 0.5]}}}", "parameters: {mass_scale: {a: {uniform: [1, 2]}}}}",
                NULL, 1.2, 2},
               {"method: shac, horizon: 1e20", "", "", NULL, 1.2, 2}};
    char *const text = pendulum(bad[_i].search, "");
    char whole[2000] = "", *const at = strstr(text, bad[_i].from);
    ck_assert(at != NULL);
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - text), text, bad[_i].to, at + strlen(bad[_i].from));
    ctn_scene *const scene = parse(whole);
    ctn_error err;
    ctn_model *const model = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    policy_search *const p = policy_open(scene, model, &cfg, bad[_i].duration, bad[_i].hold, &err);
    ck_assert((p == NULL) == (bad[_i].says != NULL));
    ck_assert_msg(p || strstr(err.message, bad[_i].says), "%s", err.message);
    if (p) step_policy(p, 1);
    policy_close(p), ctn_model_free(model), ctn_scene_free(scene), free(text);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("policy");
    TCase *const c = tcase_create("policy");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, network_gradients, 0, 4);
    tcase_add_loop_test(c, windows_against_differences, 0, 4);
    tcase_add_test(c, as_the_controller_tells);
    tcase_add_loop_test(c, learns, 0, 3);
    tcase_add_loop_test(c, same_bits, 0, 3);
    tcase_add_test(c, fates);
    tcase_add_loop_test(c, freezes, 0, 2);
    tcase_add_test(c, generalised_advantages);
    tcase_add_test(c, critics);
    tcase_add_loop_test(c, mistakes, 0, 8);
    suite_add_tcase(s, c);
    return run_suite(s);
}
