/// Environments (catena/environments.h): steps against a batch that is told the same, rewards against control/reward.h and closed
/// forms; seeds, worlds and threads to the last bit; ends of episodes; spaces; what is refused.
#include "control/reward.h"
#include "sim/engine/engine.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>

enum { MOST = 4096 };

static ctn_scene *scene;
static ctn_model *model;
static ctn_batch_config cfg;
static ctn_error err;
static double seen[MOST], earned[64], parts[MOST], q[MOST], v[MOST], moment[64];
static bool terminated[64], truncated[64], lost[64];
static ctn_step_stats stats[64];
static const ctn_environments_result result = {seen, earned, parts, terminated, truncated, lost, stats};

static void read_scene(const char *text)
{
    scene = parse(text);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    cfg = ctn_scene_config(scene);
}

static void forget_scene(void) { ctn_model_free(model), ctn_scene_free(scene); }

static ctn_environments *open_worlds(int worlds, int hold, int limit)
{
    cfg.worlds = worlds;
    ctn_environments *const e = ctn_environments_create(scene, model, &cfg, hold, limit, &err);
    ck_assert_msg(e != NULL, "%s", err.message);
    return e;
}

static void act(ctn_environments *e, const double *action)
{
    ck_assert_msg(ctn_environments_step(e, action, &result, &err) == CTN_OK, "%s", err.message);
}

static void begin(ctn_environments *e, const bool *which, const uint64_t *seeds)
{
    ck_assert_msg(ctn_environments_reset(e, which, seeds, NULL, NULL, seen, &err) == CTN_OK, "%s", err.message);
}

/// An action of world w in step k, number i: within -1 and 1, and no two alike.
static double action_of(int w, int k, int i) { return sin(1.7 * w + 0.9 * k + 2.3 * i + 0.4); }

// ---- a leg on a body that falls and is pushed

#define LEG                                                                                                                      \
    "catena: 1\nground: true\nlinks:\n  - {name: body, joint: free, position: [0, 0, 0.5], density: 300, shapes: [{type: box, "  \
    "size: [0.4, 0.2, 0.1]}]}\n  - {name: leg, parent: body, joint: {type: revolute, axis: [0, 1, 0], damping: 0.1}, density: "  \
    "300, shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -0.3], radius: 0.03}]}\nmotors:\n  - {joint: leg, type: "         \
    "position, kp: 50, kd: 2, effort: 30, target: 0.1}\n  - {link: body, type: thrust, axis: [1, 0, 0], limits: [0, 20]}\n"      \
    "sensors:\n  - {name: place, type: position, link: body}\n  - {name: way, type: orientation, link: body}\n  - {name: felt, " \
    "type: touch, link: leg, noise: 0.1}\n  - {name: late, type: joint_velocity, joint: leg, delay: 0.03, noise: "               \
    "0.01}\nreward:\n"                                                                                                           \
    "  - {term: progress, link: body, weight: 10}\n  - {term: height, link: body, weight: -5, target: 0.45}\n  - {term: "        \
    "effort, "                                                                                                                   \
    "weight: -0.001}\n  - {term: smoothness, weight: -0.0001}\n"
#define DRAWN                                                                                                                    \
    "sample:\n  q: {all: {uniform: [-0.1, 0.1]}}\n  v: {body: {normal: [0, 0.2]}}\n  force: {leg: {uniform: [-1, 1]}}\n  "       \
    "parameters: {mass_scale: {all: {uniform: [0.8, 1.2]}}}\n"
#define STEPPED "integrator: {method: collocation, order: 2, dt: 0.01}\nduration: 1\n"

/// Targets of LEG out of an action: the thruster takes what is beyond its limits as these.
static void targets_of(int w, int k, double action[2], double u[2])
{
    action[0] = action_of(w, k, 0), action[1] = 15 + 10 * action_of(w, k, 1);
    u[0] = action[0], u[1] = fmin(action[1], 20);
}

/// A batch whose worlds are told the same by their parameters, and a reward that is told where it goes, have the same states and
/// total, and sensors without noise and delay say the same.
START_TEST(as_a_batch)
{
    enum { WORLDS = 5, HOLD = 3, ACTIONS = 20 };
    read_scene(LEG STEPPED);
    ctn_environments *const e = open_worlds(WORLDS, HOLD, -1);
    ctn_parameter told[2];
    ctn_model_target_parameters(model, told);
    ctn_batch_config own = cfg;
    own.parameters = told, own.parameter_count = 2;
    ctn_batch *const b = ctn_batch_create(model, &own, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    reward *const r = reward_open(scene, model, WORLDS, &err);
    ctn_dynamics *const dyn = ctn_dynamics_create(model, NULL, &err);
    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    double at[WORLDS * 8], going[WORLDS * 7], time[WORLDS], u[WORLDS * 2], action[WORLDS * 2], total[WORLDS], sum[WORLDS] = {0};
    begin(e, NULL, NULL);
    ctn_batch_state(b, at, going);
    reward_begin(r, NULL, at, going);
    for (int k = 0; k < ACTIONS; k++) {
        for (int w = 0; w < WORLDS; w++) targets_of(w, k, action + 2 * w, u + 2 * w);
        act(e, action);
        ck_assert_int_eq(ctn_batch_set_parameters(b, u, &err), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, HOLD, NULL, &err), CTN_OK);
        ctn_batch_state(b, at, going);
        for (int w = 0; w < WORLDS; w++) time[w] = ctn_batch_time(b, w);
        reward_step(r, time, HOLD * cfg.dt, at, going, u, NULL);
        ctn_environments_state(e, q, v, moment);
        ck_assert(!memcmp(q, at, WORLDS * nq * sizeof *q) && !memcmp(v, going, WORLDS * nv * sizeof *v));
        for (int w = 0; w < WORLDS; w++) {
            double measured[9];
            ctn_sensors(dyn, 1, at + (size_t)w * nq, going + (size_t)w * nv, NULL, measured);
            near(seen + 9 * w, measured, 7, 1e-15, "observation");
            ck_assert_double_eq(moment[w], time[w]);
            ck_assert_int_eq(stats[w].steps, HOLD);
            double of_terms = 0;
            for (int t = 0; t < 4; t++) of_terms += parts[4 * w + t];
            ck_assert_double_eq_tol(of_terms, earned[w], 1e-12);
            sum[w] += earned[w];
            ck_assert(!terminated[w] && !truncated[w] && !lost[w]);
        }
    }
    reward_end(r, total, NULL, NULL);
    for (int w = 0; w < WORLDS; w++) ck_assert_double_eq_tol(sum[w], total[w], 1e-10 * (1 + fabs(total[w])));
    ck_assert_double_ne(sum[0], sum[1]);
    ctn_dynamics_free(dyn), reward_close(r), ctn_batch_free(b), ctn_environments_free(e);
    forget_scene();
}
END_TEST

// ---- seeds

enum { KEPT = 12 };

/// What a world of a seed sees and earns in its first two episodes, in place `at` of so many worlds, whose others have other
/// seeds, and begin their episodes at other times.
static void life_of(uint64_t seed, int at, int worlds, int threads, const char *engine, double kept[2 * KEPT][10])
{
    uint64_t seeds[64];
    bool which[64];
    double action[2 * 64];
    cfg.threads = threads, cfg.engine = engine;
    ctn_environments *const e = open_worlds(worlds, 0, 0);
    for (int w = 0; w < worlds; w++) seeds[w] = w == at ? seed : 1000 + (uint64_t)w;
    begin(e, NULL, seeds);
    for (int k = 0; k < 2 * KEPT; k++) {
        for (int w = 0; w < worlds; w++) which[w] = w == at ? k == KEPT : k % 5 == w % 5;
        if (k) begin(e, which, NULL);
        for (int w = 0; w < worlds; w++)
            for (int i = 0; i < 2; i++) action[2 * w + i] = 10 * action_of(w == at ? 0 : w + 1, k, i);
        act(e, action);
        memcpy(kept[k], seen + 9 * at, 9 * sizeof *seen), kept[k][9] = earned[at];
    }
    ctn_environments_free(e);
}

START_TEST(seeds)
{
    static const struct {
        int at, worlds, threads;
    } places[] = {{0, 7, 1}, {6, 7, 1}, {3, 33, 2}, {32, 33, 3}};
    double alone[2 * KEPT][10], kept[2 * KEPT][10];
    read_scene(LEG DRAWN STEPPED);
    life_of(5, 0, 1, 1, "scalar", alone);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++)
        for (int i = 0; engines_available()[i]; i++) {
            life_of(5, places[k].at, places[k].worlds, places[k].threads, engines_available()[i]->name, kept);
            ck_assert_msg(!memcmp(kept, alone, sizeof kept), "%s, world %d of %d", engines_available()[i]->name, places[k].at,
                          places[k].worlds);
        }
    life_of(6, 0, 1, 1, "scalar", kept);
    ck_assert_double_ne(kept[0][0], alone[0][0]);
    ck_assert_double_ne(alone[KEPT][0], alone[0][0]);  // the second episode begins elsewhere
    forget_scene();
}
END_TEST

/// Worlds are those that `sample` draws, with their parameters and joint forces; noise of sensors is drawn anew in each episode.
START_TEST(drawn)
{
    read_scene(LEG DRAWN STEPPED);
    ctn_environments *const e = open_worlds(2, 0, 0);
    const uint64_t seeds[2] = {40, 50};
    begin(e, NULL, seeds);
    ctn_environments_state(e, q, v, NULL);
    double at[8], going[7], noise = seen[7];
    for (int episode = 0; episode < 3; episode++) {
        ctn_sample_state(scene, model, 40, 40 + episode, 1 << 30, at, going);
        ctn_environments_state(e, q, v, NULL);
        near(q, at, 8, 1e-15, "q"), near(v, going, 7, 1e-15, "v");
        if (episode) ck_assert_double_ne(seen[7], noise);  // nothing touches: the sensor says its noise alone
        begin(e, NULL, NULL);
    }
    // heavier by a parameter: a batch of the same world goes the same way
    ctn_parameter list[2];
    ck_assert_int_eq(ctn_scene_parameters(scene, model, list), 2);
    double values[2], tau[7];
    ctn_batch_config own = cfg;
    own.worlds = 1, own.parameters = list, own.parameter_count = 2;
    ctn_batch *const b = ctn_batch_create(model, &own, &err);
    begin(e, NULL, seeds);
    ctn_sample_worlds(scene, model, 40, 40, 1, 1 << 30, at, going, tau, values);
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, &err), CTN_OK);
    ctn_batch_set_force(b, tau);
    ck_assert_int_eq(ctn_batch_set_state(b, at, going, 0, &err), CTN_OK);
    for (int k = 0; k < 10; k++) act(e, (double[4]){0.1, 0, 0.1, 0});  // the targets that the scene gives
    ck_assert_int_eq(ctn_batch_step(b, 10, NULL, &err), CTN_OK);
    ctn_environments_state(e, q, v, NULL), ctn_batch_state(b, at, going);
    ck_assert(!memcmp(q, at, sizeof at) && !memcmp(v, going, sizeof going));
    ctn_batch_free(b), ctn_environments_free(e);
    forget_scene();
}
END_TEST

/// What a world draws as the target of a motor holds for those that no action tells.
START_TEST(drawn_targets)
{
    read_scene(
        "catena: 1\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, " MASS "}\n  - {name: b, joint: {type: "
        "prismatic, axis: [1, 0, 0]}, " MASS "}\nmotors:\n  - {joint: a, type: torque, effort: 5}\n  - {joint: b, type: "
        "torque, effort: 5}\ncontroller: {type: sinusoids, motors: [a], frequency: [1, 2], range: [-1, 1]}\nsample: "
        "{parameters: {motor_target: {all: {uniform: [2, 3]}}}}\nreward: [{term: effort, weight: 1}]\nintegrator: {method: "
        "semi-implicit, dt: 0.1}\n");
    ctn_environments *const e = open_worlds(1, 0, 0);
    double values[2];
    ck_assert_int_eq(ctn_environments_actions(e), 1);
    begin(e, NULL, (uint64_t[]){7});
    ctn_sample_parameters(scene, model, 7, 7, 1 << 30, values);
    act(e, (double[]){0.5});
    ctn_environments_state(e, q, v, NULL);
    NEAR(v, 1e-15, 0.1 * 0.5, 0.1 * values[1]);
    ctn_environments_free(e);
    forget_scene();
}
END_TEST

// ---- episodes

#define FALLS                                                                                                                    \
    "catena: 1\nlinks:\n  - {name: ball, position: [0, 0, 1], joint: {type: prismatic, axis: [0, 0, 1]}, mass: 2, inertia: [1, " \
    "1, 1, 0, 0, 0]}\nmotors: [{joint: ball, type: torque, effort: 100}]\nreward:\n  - {term: alive, link: ball, above: 0.8, "   \
    "weight: 3}\n  - {term: height, link: ball, when: end, weight: 2}\nintegrator: {method: semi-implicit, dt: 0.01}\n"

/// A ball falls from 1 m: after n steps it has fallen by g dt^2 n (n + 1) / 2.
START_TEST(ends)
{
    read_scene(FALLS "duration: 0.5\n");
    ctn_environments *const e = open_worlds(2, 2, 0);
    ck_assert_int_eq(ctn_environments_limit(e), 25);
    ck_assert_double_eq_tol(ctn_environments_every(e), 0.02, 1e-15);
    begin(e, NULL, NULL);
    int ended = 0, cut = 0;
    double sum[2] = {0};
    for (int k = 1; k <= 30; k++) {
        act(e, (double[2]){0, 2 * 9.81});  // the second one is held up
        const double fallen = 9.81e-4 * 2 * k * (2 * k + 1) / 2;
        if (!ended && terminated[0]) ended = k;
        if (!cut && truncated[1]) cut = k;
        ck_assert(terminated[0] == (k >= ended && ended) && !truncated[0] && !terminated[1] && truncated[1] == (k >= 25));
        if (ended && k > ended) {
            ck_assert_double_eq(earned[0], 0);
            ck_assert_int_eq(stats[0].steps, 0);
        } else {
            const double alive = 1 - fallen >= 0.8 ? 3 * 0.02 : 0,
                         step = 9.81e-4 * (2 * k * (2 * k + 1) - (2 * k - 2) * (2 * k - 1)) / 2;
            ck_assert_double_eq_tol(earned[0], alive - 2 * step, 1e-12);
            ck_assert(terminated[0] == (1 - fallen < 0.8));
        }
        sum[0] += earned[0], sum[1] += earned[1];
    }
    ck_assert_int_gt(ended, 5);
    ck_assert_int_eq(cut, 25);
    ck_assert_double_eq_tol(sum[1], 3 * 0.5, 1e-12);  // and its height stays
    // one begins anew, the other one rests
    begin(e, (bool[2]){true, false}, NULL);
    act(e, (double[2]){2 * 9.81, 0});
    ck_assert(!terminated[0] && !truncated[0] && truncated[1] && !lost[1]);
    ck_assert_double_eq_tol(earned[0], 0.06, 1e-12);
    ck_assert_double_eq(earned[1], 0);
    ctn_environments_free(e);
    forget_scene();
}
END_TEST

/// A world rests until it is reset; an episode that is over where it begins ends with its first step, which earns nothing; limits
/// of the caller's.
START_TEST(begins_over)
{
    read_scene(FALLS);
    ctn_environments *e = open_worlds(1, 0, 3);
    act(e, (double[]){0});  // nothing has begun
    ck_assert(truncated[0] && !terminated[0] && !lost[0] && stats[0].steps == 0);
    ck_assert_msg(ctn_environments_reset(e, NULL, NULL, (double[]){-0.5}, (double[]){0}, seen, &err) == CTN_OK, "%s",
                  err.message);
    EXACT(seen, -0.5, 0);
    act(e, (double[]){0});
    ck_assert(terminated[0] && !truncated[0]);
    ck_assert_double_eq(earned[0], 0);
    begin(e, NULL, NULL);
    for (int k = 1; k <= 3; k++) {
        act(e, (double[]){0});
        ck_assert(truncated[0] == (k == 3) && !terminated[0]);
    }
    ctn_environments_free(e);
    e = open_worlds(1, 0, 0);
    ck_assert_int_eq(ctn_environments_limit(e), 0);  // the scene has no duration
    ctn_environments_free(e);
    forget_scene();
}
END_TEST

/// A world that freezes is truncated at its last good state, with a reward that is a number, and the reason; the other one goes
/// on.
START_TEST(freezes)
{
    read_scene(
        "catena: 1\nlinks:\n  - {name: rod, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: "
        "[0.1, 0.1, 0.1, 0, 0, 0]}\nmotors: [{joint: rod, type: torque, effort: 1e12}]\nreward: [{term: posture, weight: -1}]"
        "\nintegrator: {method: semi-implicit, dt: 0.1}\n");
    ctn_environments *const e = open_worlds(2, 0, 0);
    begin(e, NULL, NULL);
    act(e, (double[2]){1, 1});
    const double before = seen[0];
    act(e, (double[2]){1e12, 1});
    ck_assert(lost[0] && truncated[0] && !terminated[0] && !lost[1] && !truncated[1]);
    ck_assert_int_eq(stats[0].frozen, CTN_FREEZE_ANGLE);
    ck_assert_double_eq(earned[0], 0);
    ck_assert_double_eq(seen[0], before);
    ck_assert_double_lt(earned[1], 0);
    act(e, (double[2]){1, 1});
    ck_assert(lost[0] && truncated[0]);
    begin(e, (bool[2]){true, false}, NULL);
    act(e, (double[2]){1, 1});
    ck_assert(!lost[0] && !truncated[0] && stats[0].frozen == CTN_RUNNING && stats[0].steps == 1);
    ctn_environments_free(e);
    forget_scene();
}
END_TEST

/// A call that is interrupted has done nothing.
START_TEST(interrupted)
{
    enum { WORLDS = 3 };
    volatile int stop = 0;
    double action[2 * WORLDS] = {0}, with[10 * WORLDS], earned_with[WORLDS];
    read_scene(LEG DRAWN STEPPED);
    cfg.interrupt = &stop;
    for (int k = 0; k < 2; k++) {
        ctn_environments *const e = open_worlds(WORLDS, 5, 0);
        begin(e, NULL, NULL);
        act(e, action);
        stop = 1;
        if (k) ck_assert_int_eq(ctn_environments_step(e, action, &result, &err), CTN_INTERRUPTED);
        stop = 0;
        act(e, action);
        if (k) ck_assert(!memcmp(with, seen, 9 * WORLDS * sizeof *seen) && !memcmp(earned_with, earned, sizeof earned_with));
        memcpy(with, seen, 9 * WORLDS * sizeof *seen), memcpy(earned_with, earned, sizeof earned_with);
        ctn_environments_free(e);
    }
    forget_scene();
}
END_TEST

// ---- spaces

static double bounds[64][2], sights[64][2];

static ctn_environments *open_spaces(const char *text)
{
    read_scene(text);
    ctn_environments *const e = open_worlds(1, 0, 0);
    ctn_environments_bounds(e, bounds, sights);
    return e;
}

static void close_spaces(ctn_environments *e)
{
    ctn_environments_free(e);
    forget_scene();
}

#define MOTORS                                                                                                                   \
    "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], limits: [-1, 2]}, " MASS                          \
    "}\n  - {name: b, joint: "                                                                                                   \
    "{type: revolute, axis: [0, 1, 0], effort: 3, speed: 4}, " MASS "}\n  - {name: c, joint: {type: universal}, " MASS "}\n  - " \
    "{name: d, joint: ball, " MASS "}\n  - {name: e, joint: free, " MASS                                                         \
    "}\n  - {name: f, joint: {type: revolute, axis: [0, 1, "                                                                     \
    "0]}, " MASS                                                                                                                 \
    "}\nmotors:\n  - {joint: a, type: position, kp: 5, gear: -2}\n  - {joint: b, type: velocity, kd: 5}\n  - {joint: "           \
    "c, dof: 1, type: torque, effort: 7}\n  - {joint: d, type: position, kp: 5}\n  - {link: e, type: thrust, limits: [0, 9]}\n " \
    " - "                                                                                                                        \
    "{link: e, type: moment, limits: [-2, 3]}\n  - {joint: f, type: torque, target: {sinusoid: {amplitude: 1, frequency: 1}}}\n" \
    "  - {joint: c, dof: 0, type: torque}\nreward: [{term: effort, weight: -1}]\n"

START_TEST(motors)
{
    ctn_environments *const e = open_spaces(MOTORS);
    static const struct {
        const char *name;
        double lo, hi;
    } expected[] = {{"a", -4, 2},          {"b", -4, 4},   {"c[1]", -7, 7}, {"d[0]", -M_PI, M_PI},        {"d[1]", -M_PI, M_PI},
                    {"d[2]", -M_PI, M_PI}, {"e[0]", 0, 9}, {"e[1]", -2, 3}, {"c[0]", -INFINITY, INFINITY}};
    const int n = sizeof expected / sizeof *expected;
    ck_assert_int_eq(ctn_environments_actions(e), n);  // f moves by itself
    for (int k = 0; k < n; k++) {
        ck_assert_str_eq(ctn_environments_action_name(e, k), expected[k].name);
        ck_assert(bounds[k][0] == expected[k].lo && bounds[k][1] == expected[k].hi);
    }
    ck_assert_ptr_null(ctn_environments_action_name(e, n));
    // without sensors: q, then v; quaternions are within 1
    ck_assert_int_eq(ctn_environments_observations(e), ctn_model_nq(model) + ctn_model_nv(model));
    ck_assert_str_eq(ctn_environments_observation_name(e, 0), "q.a");
    ck_assert_str_eq(ctn_environments_observation_name(e, 2), "q.c[0]");
    ck_assert_str_eq(ctn_environments_observation_name(e, ctn_model_nq(model)), "v.a");
    for (int k = 0; k < ctn_model_nq(model); k++) {
        const bool unit = (k >= 4 && k < 8) || (k >= 11 && k < 15);
        ck_assert_msg(sights[k][0] == (unit ? -1 : -INFINITY) && sights[k][1] == (unit ? 1 : INFINITY), "q[%d]", k);
    }
    ck_assert_str_eq(ctn_environments_reward_name(e, 0), "effort");
    ck_assert_int_eq(ctn_environments_rewards(e), 1);
    close_spaces(e);
}
END_TEST

#define TWO                                                                                                                      \
    "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, " MASS                                           \
    "}\n  - {name: b, joint: {type: revolute, "                                                                                  \
    "axis: [0, 1, 0]}, " MASS "}\nmotors:\n  - {joint: a, type: torque}\n  - {joint: b, type: torque}\nreward: [{term: effort, " \
    "weight: -1}]\nsensors:\n  - {name: far, type: distance, link: a, to_point: [1, 0, 0]}\n  - {name: way, type: orientation, " \
    "link: b}\n  - {name: near, type: distance, link: b, to_point: [1, 0, 0], noise: 0.1}\n"

/// The range of a controller, mirrored where a gait mirrors; its sensors, scales and clock.
START_TEST(controllers)
{
    ctn_environments *e =
        open_spaces(TWO "controller: {type: gait, legs: [[a], [b]], mirror: [b], frequency: [1, 2], range: [[1, "
                        "3]], every: 0.05}\nintegrator: {method: rk4, dt: 0.01}\n");
    ck_assert_int_eq(ctn_environments_actions(e), 2);
    ck_assert(bounds[0][0] == 1 && bounds[0][1] == 3 && bounds[1][0] == -3 && bounds[1][1] == -1);
    ck_assert_double_eq_tol(ctn_environments_every(e), 0.05, 1e-15);
    ck_assert_int_eq(ctn_environments_observations(e), 6);  // all sensors
    ck_assert(sights[0][0] == 0 && sights[0][1] == INFINITY && sights[1][0] == 0 && sights[2][0] == -1 && sights[4][1] == 1);
    ck_assert(sights[5][0] == -INFINITY);  // it has noise
    close_spaces(e);
    e = open_spaces(TWO "controller: {type: linear, motors: [b], sensors: [way, far], scale: [2, 4], clock: 3, range: [-1, 2]}\n"
                        "integrator: {method: rk4, dt: 0.01}\n");
    ck_assert_int_eq(ctn_environments_actions(e), 1);
    ck_assert_str_eq(ctn_environments_action_name(e, 0), "b");
    ck_assert_int_eq(ctn_environments_observations(e), 7);
    static const char *const names[] = {"way.qw", "way.qx", "way.qy", "way.qz", "far", "clock.sine", "clock.cosine"};
    for (int k = 0; k < 7; k++) ck_assert_str_eq(ctn_environments_observation_name(e, k), names[k]);
    ck_assert(sights[1][0] == -0.5 && sights[1][1] == 0.5 && sights[5][0] == -1 && sights[6][1] == 1);
    begin(e, NULL, NULL);
    NEAR(seen, 1e-15, 0.5, 0, 0, 0, 0.25, 0, 1);
    for (int k = 1; k <= 5; k++) {
        act(e, (double[]){9});  // as the bound, 2
        const double turn = 2 * M_PI * 3 * 0.01 * k;
        near(seen + 5, (double[]){sin(turn), cos(turn)}, 2, 1e-13, "clock");
    }
    ctn_environments_state(e, q, v, NULL);
    NEAR(v, 1e-12, 0, 2 * 0.05);  // N m over kg m^2 for 0.05 s
    close_spaces(e);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        const char *text, *words;
        ctn_status status;
    } scenes[] = {
        {TOP("motors: [{joint: a, type: torque}]"), "the scene has no reward; say in `reward`", CTN_BAD_SCENE},
        {TOP("reward: [{term: posture, weight: 1}]"), "there is nothing to act on: give the scene `motors`", CTN_BAD_SCENE},
    };
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        read_scene(scenes[k].text);
        ck_assert_ptr_null(ctn_environments_create(scene, model, &cfg, 0, 0, &err));
        ck_assert_int_eq(err.status, scenes[k].status);
        ck_assert_msg(has_error(err.message, "folder/t.yaml", 0, 0, scenes[k].words, false), "%s", err.message);
        forget_scene();
    }
    read_scene(FALLS);
    ck_assert_ptr_null(ctn_environments_create(scene, model, &cfg, -1, 0, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "hold: expected 0 or more"));
    ctn_batch_config own = cfg;
    own.parameters = &(ctn_parameter){CTN_GRAVITY, 2}, own.parameter_count = 1;
    ck_assert_ptr_null(ctn_environments_create(scene, model, &own, 0, 0, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "parameters: environments have those that `sample`"));
    own = cfg, own.parallel = CTN_PARALLEL_LINKS;
    ck_assert_ptr_null(ctn_environments_create(scene, model, &own, 0, 0, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ctn_environments *const e = open_worlds(2, 0, 0);
    begin(e, NULL, NULL);
    ck_assert_int_eq(ctn_environments_step(e, (double[2]){0, NAN}, &result, &err), CTN_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "action[0], of 'ball', of world 1 is not finite"));
    ck_assert_int_eq(ctn_environments_reset(e, NULL, NULL, (double[2]){0, INFINITY}, (double[2]){0}, NULL, &err),
                     CTN_BAD_ARGUMENT);
    ck_assert_int_eq(
        ctn_environments_reset(e, (bool[2]){true, false}, NULL, (double[2]){0, INFINITY}, (double[2]){0}, NULL, &err), CTN_OK);
    ctn_environments_free(e);
    forget_scene();
    // a sample that may draw what a world cannot have: the error says where, and nothing has changed
    read_scene(FALLS "sample: {parameters: {mass_scale: {ball: {normal: [1, 1]}}}}\n");
    ctn_environments *const bad = ctn_environments_create(scene, model, &cfg, 0, 0, &err);
    int refusals = 0;
    ck_assert_msg(bad != NULL, "%s", err.message);
    for (uint64_t seed = 0; seed < 40; seed++) {
        if (ctn_environments_reset(bad, NULL, &seed, NULL, NULL, seen, &err) == CTN_OK) continue;
        ck_assert_msg(has_error(err.message, "folder/t.yaml", 0, 0, "narrow what it draws", false), "%s", err.message);
        refusals++;
    }
    ck_assert(refusals > 0 && refusals < 20);
    ctn_environments_free(bad);
    forget_scene();
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("environments");
    TCase *const c = tcase_create("environments");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, as_a_batch), tcase_add_test(c, seeds), tcase_add_test(c, drawn), tcase_add_test(c, drawn_targets);
    tcase_add_test(c, ends), tcase_add_test(c, begins_over), tcase_add_test(c, freezes), tcase_add_test(c, interrupted);
    tcase_add_test(c, motors), tcase_add_test(c, controllers), tcase_add_test(c, refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
