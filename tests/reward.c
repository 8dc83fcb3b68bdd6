/// Rewards against closed forms: every term, windows, ends of episodes; worlds that know nothing of each other.
/// What a scene may not say is in scene_errors.c.
#include "control/reward.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST_TERMS = 32, MOST_WORLDS = 131 };

static ctn_scene *scene;
static ctn_model *model;
static reward *r;
static double total[MOST_WORLDS], terms[MOST_WORLDS * MOST_TERMS];
static bool ended[MOST_WORLDS];

static void open_reward(const char *links, const char *list, int worlds)
{
    char text[8000];
    ctn_error err;
    snprintf(text, sizeof text, "%s%s", links, list);
    scene = parse(text);
    ck_assert_str_eq(ctn_scene_warnings(scene), "");
    ck_assert_int_le(scene->nreward, MOST_TERMS);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    r = reward_open(scene, model, worlds, &err);
    ck_assert_msg(r != NULL, "%s", err.message);
}

static void close_reward(void)
{
    reward_close(r), ctn_model_free(model), ctn_scene_free(scene);
    r = NULL, model = NULL, scene = NULL;
}

/// What there is of one world up to now.
static double now(void)
{
    for (int k = 0; k < MOST_TERMS; k++) terms[k] = NAN;
    total[0] = NAN;
    reward_end(r, total, terms, ended);
    return total[0];
}

#define CLOSE(got, expected, ...)                                                                                                \
    do {                                                                                                                         \
        const double got_ = (got), expected_ = (expected);                                                                       \
        char of_[80];                                                                                                            \
        snprintf(of_, sizeof of_, __VA_ARGS__);                                                                                  \
        ck_assert_msg(fabs(got_ - expected_) <= 1e-13 * (1 + fabs(expected_)), "%s: expected %.17g, got %.17g", of_, expected_,  \
                      got_);                                                                                                     \
    } while (0)

// ---- a pendulum about y

#define PENDULUM                                                                                                                 \
    "catena: 1\nlinks:\n  - {name: arm, position: [0, 0, 1], joint: {type: revolute, axis: [0, 1, 0], q0: 0.3}, mass: 2, com: "  \
    "[0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n  - {name: base, mass: 6, com: [0, 0, 3], inertia: [1, 1, 1, 0, 0, 0]}\n"  \
    "motors: [{joint: arm, type: position, kp: 5, kd: 0.7, gear: 3}]\nreward:\n"
#define POINT "link: arm, point: [0.4, 0.2, 0.1]"

/// Ry(q) (x, y, z) and its rate.
static void swung(double q, const double *a, double *x)
{
    x[0] = cos(q) * a[0] + sin(q) * a[2], x[1] = a[1], x[2] = cos(q) * a[2] - sin(q) * a[0];
}
static void swinging(double q, double v, const double *a, double *x)
{
    x[0] = v * (cos(q) * a[2] - sin(q) * a[0]), x[1] = 0, x[2] = -v * (sin(q) * a[2] + cos(q) * a[0]);
}

/// What the motor gives the joint.
static double driven(double q, double v, double u) { return 3 * (5 * (u - 3 * q) - 0.7 * 3 * v); }

static const double point[3] = {0.4, 0.2, 0.1}, start_q = 0.3;

/// A state of the pendulum, what its motor was told, and what it was told before.
typedef struct {
    double q, v, u, before;
    bool first;  // nothing
} swing;

static double progress(swing s)
{
    double a[3], b[3];
    swung(s.q, point, a), swung(start_q, point, b);
    return a[0] - b[0];
}
static double progress_aslant(swing s)  // along (3, 0, -4) / 5
{
    double a[3], b[3];
    swung(s.q, point, a), swung(start_q, point, b);
    return 0.6 * (a[0] - b[0]) - 0.8 * (a[2] - b[2]);
}
static double speed(swing s)
{
    double u[3];
    swinging(s.q, s.v, point, u);
    return u[0];
}
static double speed_missed(swing s)
{
    double u[3];
    swinging(s.q, s.v, point, u);
    return (u[2] - 0.25) * (u[2] - 0.25);
}
static double speed_of_origin(swing s) { return 0 * s.v; }
static double height(swing s)
{
    double a[3];
    swung(s.q, point, a);
    return 1 + a[2];
}
static double height_missed(swing s) { return (height(s) - 1.5) * (height(s) - 1.5); }
static double upright(swing s) { return cos(s.q); }
static double upright_x(swing s) { return -sin(s.q); }
static double reach(swing s)
{
    double a[3];
    swung(s.q, point, a);
    return sqrt((a[0] - 1) * (a[0] - 1) + (a[1] + 2) * (a[1] + 2) + (1 + a[2] - 0.5) * (1 + a[2] - 0.5));
}
static double com_height(swing s) { return (2 * (1 - 0.5 * sin(s.q)) + 6 * 3) / 8; }
static double com_speed(swing s) { return 2 * -0.5 * sin(s.q) * s.v / 8; }
static double posture(swing s) { return (s.q - start_q) * (s.q - start_q); }
static double effort(swing s) { return driven(s.q, s.v, s.u) * driven(s.q, s.v, s.u); }
static double energy(swing s) { return fabs(driven(s.q, s.v, s.u) * s.v); }
static double smoothness(swing s) { return s.first ? 0 : (s.u - s.before) / 0.1 * ((s.u - s.before) / 0.1); }
static double alive(swing s) { return height(s) - 0.1 > -100 && 1.0 >= 0.5; }

static const struct {
    const char *term;
    double weight, (*of)(swing s);
    bool at_end;  // where it does not say
} pendulum[] = {
    {"term: progress, weight: 2, " POINT, 2, progress, true},
    {"term: progress, weight: -1, axis: [3, 0, -4], " POINT, -1, progress_aslant, true},
    {"term: speed, weight: 1, " POINT, 1, speed, false},
    {"term: speed, weight: -0.5, axis: [0, 0, 2], target: 0.25, " POINT, -0.5, speed_missed, false},
    {"term: speed, weight: 1, link: arm", 1, speed_of_origin, false},
    {"term: height, weight: 3, " POINT, 3, height, false},
    {"term: height, weight: 1, target: 1.5, " POINT, 1, height_missed, false},
    {"term: upright, weight: 1, link: arm", 1, upright, false},
    {"term: upright, weight: 1, link: arm, axis: [5, 0, 0]", 1, upright_x, false},
    {"term: reach, weight: -1, target: [1, -2, 0.5], " POINT, -1, reach, true},
    {"term: height, weight: 1, of: com", 1, com_height, false},
    {"term: speed, weight: 1, of: com", 1, com_speed, false},
    {"term: posture, weight: -1", -1, posture, false},
    {"term: effort, weight: -0.001", -0.001, effort, false},
    {"term: effort, weight: 1, joints: [arm]", 1, effort, false},
    {"term: energy, weight: -0.01", -0.01, energy, false},
    {"term: smoothness, weight: -1", -1, smoothness, false},
    {"term: alive, weight: 1, link: arm, above: 0.5", 1, alive, false},
};
enum { PENDULUM_TERMS = sizeof pendulum / sizeof *pendulum };

/// Every term, running and of the last state, and by default.
START_TEST(terms_of_a_pendulum)
{
    static const char *const when[] = {"", ", when: running", ", when: end"};
    char list[6000] = "";
    for (int k = 0; k < PENDULUM_TERMS; k++) {
        const bool never = _i == 2 && pendulum[k].of == smoothness;
        char entry[200];
        snprintf(entry, sizeof entry, "  - {%s%s}\n", pendulum[k].term, never ? "" : when[_i]);
        strcat(list, entry);
    }
    open_reward(PENDULUM, list, 1);
    ck_assert_int_eq(scene->nreward, PENDULUM_TERMS);
    double sums[PENDULUM_TERMS] = {0}, last[PENDULUM_TERMS];
    swing s = {.q = start_q, .v = -0.2, .first = true};
    reward_begin(r, NULL, &s.q, &s.v);
    for (int n = 1; n <= 7; n++) {
        const double time = 0.1 * n;
        s.q = 0.3 + 0.9 * sin(n), s.v = 2 * cos(3.0 * n) - 0.2, s.before = s.u, s.u = 0.5 * sin(5.0 * n);
        reward_step(r, &time, 0.1, &s.q, &s.v, &s.u, NULL);
        for (int k = 0; k < PENDULUM_TERMS; k++) last[k] = pendulum[k].of(s), sums[k] += 0.1 * last[k];
        s.first = false;
        double all = 0;
        now();
        for (int k = 0; k < PENDULUM_TERMS; k++) {
            const bool at_end = (_i == 0 ? pendulum[k].at_end : _i == 2) && pendulum[k].of != smoothness;
            CLOSE(terms[k], pendulum[k].weight * (at_end ? last[k] : sums[k]), "%s%s, step %d", pendulum[k].term, when[_i], n);
            all += terms[k];
        }
        ck_assert_double_eq(total[0], all);
        ck_assert(!ended[0]);
    }
    // from the beginning again, from elsewhere: progress is counted from there
    s.q = 0.8;
    reward_begin(r, NULL, &s.q, &s.v);
    now();
    for (int k = 0; k < PENDULUM_TERMS; k++)
        if (pendulum[k].of == progress || pendulum[k].of == smoothness || pendulum[k].of == effort)
            ck_assert_double_eq(terms[k], 0);
    reward_step(r, &(double){0.1}, 0.1, &s.q, &s.v, &(double){100}, NULL);
    now();
    for (int k = 0; k < PENDULUM_TERMS; k++)
        if (pendulum[k].of == smoothness) ck_assert_double_eq(terms[k], 0);  // what was told before is forgotten
}
END_TEST

/// What motors are told where nothing is told: what the model says, at the time of each world.
START_TEST(what_the_model_tells)
{
    open_reward("catena: 1\nlinks:\n  - {name: a, joint: prismatic, " MASS "}\n"
                "motors: [{joint: a, type: torque, target: {table: {times: [0, 1], values: [0, 10]}}}]\nreward:\n",
                "  - {term: effort, weight: 1, when: end}\n  - {term: smoothness, weight: 1}\n", 4);
    const double q[4] = {0}, v[4] = {1, 1, 1, 1}, times[] = {0.25, 0.25, 0.5, 0.25}, u[4] = {1, 1, 1, 1};
    reward_begin(r, NULL, q, v);
    reward_step(r, times, 0.1, q, v, NULL, NULL);
    reward_end(r, NULL, terms, NULL);
    for (int w = 0; w < 4; w++) CLOSE(terms[2 * w], 100 * times[w] * times[w], "world %d", w);
    // what is told is added to it; between telling nothing and telling something there is no rate
    reward_step(r, times, 0.1, q, v, u, NULL);
    reward_end(r, NULL, terms, NULL);
    for (int w = 0; w < 4; w++) CLOSE(terms[2 * w], (1 + 10 * times[w]) * (1 + 10 * times[w]), "world %d", w);
    for (int w = 0; w < 4; w++) ck_assert_double_eq(terms[2 * w + 1], 0);
}
END_TEST

/// Thrusters act along joints; effort of some of them alone; a ball has three numbers.
START_TEST(efforts)
{
    open_reward("catena: 1\nlinks:\n  - {name: drone, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                "  - {name: eye, joint: ball, " MASS "}\n  - {name: slide, joint: prismatic, " MASS "}\n"
                "motors:\n  - {link: drone, type: thrust, point: [0.5, 0, 0], axis: [0, 0, 1]}\n  - {joint: eye, type: torque, "
                "target: [0, 0, 0]}\n  - {joint: slide, type: torque}\nreward:\n",
                "  - {term: effort, weight: 1, when: end}\n  - {term: effort, weight: 1, when: end, joints: [eye]}\n"
                "  - {term: effort, weight: 1, when: end, joints: [slide, drone]}\n"
                "  - {term: energy, weight: 1, when: end, joints: [eye]}\n  - {term: energy, weight: 1, when: end}\n"
                "  - {term: smoothness, weight: 1}\n",
                1);
    const double q[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, v[] = {0, 0, 2, 0, 3, 0, 1, -2, 3, 7}, time[] = {0.5, 1};
    const double u[2][5] = {{4, 1, 2, 3, 6}, {4.5, 1, 2, 2, 6}};
    reward_begin(r, NULL, q, v);
    for (int k = 0; k < 2; k++) reward_step(r, &time[k], 0.5, q, v, u[k], NULL);
    now();
    const double F = 4.5;  // and its moment -0.5 F about y
    CLOSE(terms[0], F * F * 1.25 + 9 + 36, "all");
    CLOSE(terms[1], 9, "eye");
    CLOSE(terms[2], F * F * 1.25 + 36, "slide and drone");
    CLOSE(terms[3], 1 + 4 + 6, "energy of the eye");
    CLOSE(terms[4], 2 * F + 3 * 0.5 * F + 11 + 42, "energy of all");
    CLOSE(terms[5], 0.5 * (1 + 4), "smoothness");  // rates of 1 and -2 a second
}
END_TEST

/// A ball is as far as it has turned; a free joint counts only where it is named; the scene's `state` is where it starts.
START_TEST(postures)
{
    open_reward("catena: 1\nlinks:\n  - {name: body, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                "  - {name: eye, joint: ball, " MASS "}\n  - {name: slide, joint: prismatic, " MASS "}\n"
                "state: {q: [1, 2, 3, 1, 0, 0, 0, 1, 0, 0, 0, 0.5]}\nreward:\n",
                "  - {term: posture, weight: 1, when: end}\n  - {term: posture, weight: 1, when: end, joints: [body]}\n"
                "  - {term: posture, weight: 1, when: end, joints: [slide, eye]}\n"
                "  - {term: posture, weight: 1, when: end, joints: [slide]}\n",
                1);
    const double a = 0.7, b = 0.2;
    const double q[] = {1, 2.5, 1, cos(b / 2), sin(b / 2), 0, 0, cos(a / 2), 0, sin(a / 2) * 0.6, sin(a / 2) * 0.8, 1.5};
    const double v[10] = {0};
    reward_begin(r, NULL, q, v);
    now();
    CLOSE(terms[0], a * a + 1, "all but the free one");
    CLOSE(terms[1], 0.25 + 4 + b * b, "body");
    CLOSE(terms[2], a * a + 1, "slide and eye");
    CLOSE(terms[3], 1, "slide");
}
END_TEST

/// A body that spins about z, its centre of mass off its origin.
START_TEST(centre_of_mass)
{
    open_reward("catena: 1\nlinks:\n  - {name: a, joint: free, mass: 1, com: [0.1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
                "  - {name: b, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 3, inertia: [1, 1, 1, 0, 0, 0]}\nreward:\n",
                "  - {term: progress, weight: 1, of: com}\n  - {term: speed, weight: 1, of: com, axis: [0, 1, 0], when: end}\n"
                "  - {term: height, weight: 1, of: com, when: end}\n  - {term: reach, weight: 1, of: com, target: [0, 1, 0]}\n"
                "  - {term: speed, weight: 1, link: a, point: [0.1, 0, 0], axis: [0, 1, 0], when: end}\n",
                1);
    const double q0[] = {0, 0, 0, 1, 0, 0, 0, 0}, a = 0.9, w = 2, time = 1;
    const double q[] = {1, 2, 4, cos(a / 2), 0, 0, sin(a / 2), 5}, v[] = {0.5, 0.25, 0, 0, 0, w, 7};
    reward_begin(r, NULL, q0, v);
    reward_step(r, &time, 1, q, v, NULL, NULL);
    now();
    const double x = (1 + 0.1 * cos(a) + 3 * 5) / 4, y = (2 + 0.1 * sin(a)) / 4, z = 1, vy = 0.25 + w * 0.1 * cos(a);
    CLOSE(terms[0], x - 0.1 / 4, "progress");
    CLOSE(terms[1], vy / 4, "speed");
    CLOSE(terms[2], z, "height");
    CLOSE(terms[3], sqrt(x * x + (y - 1) * (y - 1) + z * z), "reach");
    CLOSE(terms[4], vy, "speed of a point");
}
END_TEST

/// Thrown, by a batch: what is integrated over time is the rectangle rule at ends of intervals.
START_TEST(thrown)
{
    open_reward("catena: 1\nlinks:\n  - {name: ball, joint: {type: free, v0: [3, 0, 4, 0, 1, 0]}, mass: 1, com: [0.1, 0, 0], "
                "inertia: [1, 1, 1, 0, 0, 0]}\nintegrator: {method: rk4, dt: 0.01}\nreward:\n",
                "  - {term: progress, weight: 1, of: com}\n  - {term: progress, weight: 1, of: com, axis: [0, 0, 1]}\n"
                "  - {term: speed, weight: 1, of: com, axis: [0, 0, 1]}\n",
                1);
    ctn_batch_config config = ctn_scene_config(scene);
    ctn_error err;
    ctn_batch *const batch = ctn_batch_create(model, &config, &err);
    ck_assert_msg(batch != NULL, "%s", err.message);
    double q[7], v[6];
    ctn_batch_state(batch, q, v);
    reward_begin(r, NULL, q, v);
    const int steps = 50;
    for (int n = 1; n <= steps; n++) {
        ck_assert_int_eq(ctn_batch_step(batch, 1, NULL, &err), CTN_OK);
        ctn_batch_state(batch, q, v);
        const double time = n * 0.01;
        reward_step(r, &time, 0.01, q, v, NULL, NULL);
    }
    ctn_batch_free(batch);
    now();
    const double t = steps * 0.01, up = 4 - 1 * 0.1;  // of the centre of mass: w x c = (0, 1, 0) x (0.1, 0, 0)
    ck_assert_double_eq_tol(terms[0], 3 * t, 1e-9);
    ck_assert_double_eq_tol(terms[1], up * t - 9.81 * t * t / 2, 1e-9);
    ck_assert_double_eq_tol(terms[2], up * t - 9.81 * 0.01 * 0.01 * (steps * (steps + 1)) / 2, 1e-9);
}
END_TEST

// ---- windows and ends, of a slider whose height is told

#define SLIDER                                                                                                                   \
    "catena: 1\nlinks:\n  - {name: s, position: [0, 0, 2], joint: {type: prismatic, axis: [0, 0, 1]}, mass: 1, inertia: [1, 1, " \
    "1, 0, 0, 0]}\nreward:\n"

/// Heights z [n] of the slider's origin at the ends of intervals of 0.1 s, added up as a clock would; z[0] at the beginning.
static void slide(const double *z, int n)
{
    const double v = 0;
    double time = 0, q = z[0] - 2;
    reward_begin(r, NULL, &q, &v);
    for (int k = 1; k < n; k++) {
        time += 0.1, q = z[k] - 2;
        reward_step(r, &time, 0.1, &q, &v, NULL, NULL);
    }
}

START_TEST(windows)
{
    // 0.1 added three times is more than 0.3
    static const double z[] = {1, 2, 4, 8, 16, 32, 64};
    static const struct {
        const char *window;
        double running, end;
    } cases[] = {
        {"", 12.6, 64},
        {", from: 0, to: 0.3", 0.1 * (2 + 4 + 8), 8},
        {", to: 0.3", 0.1 * (2 + 4 + 8), 8},
        {", from: 0.3", 0.1 * (16 + 32 + 64), 64},
        {", from: 0.25, to: 0.42", 0.05 * 8 + 0.1 * 16 + 0.02 * 32, 16},
        {", from: 0.32, to: 0.38", 0.06 * 16, 0},  // no state within
        {", from: 0.55, to: 9", 0.05 * 64, 64},
        {", to: 0.05", 0.05 * 2, 1},  // the one at the beginning
        {", from: 0.7", 0, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char list[300];
        snprintf(list, sizeof list,
                 "  - {term: height, weight: 1, link: s%s}\n  - {term: height, weight: 1, link: s, when: end%s}\n",
                 cases[k].window, cases[k].window);
        open_reward(SLIDER, list, 1);
        slide(z, 7);
        CLOSE(now(), cases[k].running + cases[k].end, "window '%s'", cases[k].window);
        CLOSE(terms[0], cases[k].running, "running, window '%s'", cases[k].window);
        CLOSE(terms[1], cases[k].end, "end, window '%s'", cases[k].window);
        double whole = 0;
        for (int n = 1; n < 7; n++) whole += 0.1 * z[n];
        if (k == 0) ck_assert_double_eq(terms[0], whole);  // whole intervals are as long as they are
        close_reward();
    }
}
END_TEST

#define OTHERS "  - {term: height, weight: 1, link: s}\n  - {term: height, weight: 1, link: s, when: end}\n"

START_TEST(ends_of_episodes)
{
    static const double z[] = {1, 1.5, 1.25, 0.5, 2, 9};
    static const struct {
        const char *alive;
        double worth;  // of the term
        int last;      // state that counts
        bool ends;
    } cases[] = {
        {"above: 1", 0.1 * 2, 3, true},
        {"above: 0.5", 0.1 * 5, 5, false},  // not below it
        {"below: 1.75", 0.1 * 3, 4, true},
        {"below: 1.75, ends: false", 0.1 * 3, 5, false},
        {"above: 1, below: 1.4", 0, 1, true},
        {"above: 1, below: 1.4, ends: false", 0.1 * 1, 5, false},
        {"above: 1, ends: true, when: end", 0, 3, true},
        {"above: 1, ends: false, when: end", 1, 5, false},
        {"above: 1, to: 0.25", 0.1 * 2, 5, false},  // what happens outside its window is nothing to it
        {"above: 1, from: 0.35", 0.1 * 1.5, 5, false},
        {"above: 3", 0, 0, true},  // dead at the beginning
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char list[400];
        snprintf(list, sizeof list, OTHERS "  - {term: alive, weight: 1, link: s, %s}\n", cases[k].alive);
        open_reward(SLIDER, list, 1);
        slide(z, 6);
        now();
        double sum = 0;
        for (int n = 1; n <= cases[k].last; n++) sum += 0.1 * z[n];
        CLOSE(terms[0], sum, "height with alive: %s", cases[k].alive);
        CLOSE(terms[1], z[cases[k].last], "last height with alive: %s", cases[k].alive);
        CLOSE(terms[2], cases[k].worth, "alive: %s", cases[k].alive);
        ck_assert_msg(ended[0] == cases[k].ends, "alive: %s: ended %d", cases[k].alive, ended[0]);
        close_reward();
    }
}
END_TEST

/// Of several, each one ends it.
START_TEST(either_ends_it)
{
    static const double z[] = {1, 1, 1, 3, 1, -3};
    static const char *const list[] = {
        "  - {term: alive, weight: 1, link: s, below: 2}\n  - {term: alive, weight: 1, link: s, above: 0}\n",
        "  - {term: alive, weight: 1, link: s, above: 0}\n  - {term: alive, weight: 1, link: s, below: 2}\n"};
    for (int k = 0; k < 2; k++) {
        open_reward(SLIDER, list[k], 1);
        slide(z, 6);
        CLOSE(now(), 0.2 + 0.3, "order %d", k);
        CLOSE(terms[k], 0.2, "order %d", k);
        ck_assert(ended[0]);
        close_reward();
    }
}
END_TEST

/// Where the first worlds are all lost, those behind them go on.
START_TEST(some_go_on)
{
    static double q[70], v[70], time[70];
    static bool lost[70];
    open_reward(SLIDER, "  - {term: height, weight: 1, link: s}\n", 70);
    reward_begin(r, NULL, q, v);
    for (int w = 0; w < 70; w++) lost[w] = w < 66, time[w] = 0.1, q[w] = w;
    reward_step(r, time, 0.1, q, v, NULL, lost);
    reward_end(r, total, NULL, NULL);
    for (int w = 0; w < 66; w++) ck_assert(isnan(total[w]));
    for (int w = 66; w < 70; w++) CLOSE(total[w], 0.1 * (2 + w), "world %d", w);
}
END_TEST

/// States that are not finite and worlds that are lost have no reward, those of episodes that ended before have theirs.
START_TEST(lost_worlds)
{
    open_reward(SLIDER, OTHERS "  - {term: alive, weight: 1, link: s, above: 1}\n", 5);
    double q[] = {0, 0, 0, -1.5, 0}, v[] = {0, 0, 0, 0, 0}, time[] = {0.1, 0.1, 0.1, 0.1, 0.1};
    bool lost[] = {false, false, true, true, false};
    reward_begin(r, NULL, (double[]){0, 0, 0, 0, 0}, v);
    reward_step(r, time, 0.1, q, v, NULL, NULL);  // world 3 ends
    q[1] = NAN, q[3] = NAN, v[4] = INFINITY;
    for (int w = 0; w < 5; w++) time[w] = 0.2;
    reward_step(r, time, 0.1, q, v, NULL, lost);
    q[1] = 0, v[4] = 0;  // too late
    for (int w = 0; w < 5; w++) time[w] = 0.3;
    reward_step(r, time, 0.1, q, v, NULL, NULL);
    reward_end(r, total, terms, ended);
    CLOSE(total[0], 0.3 * 2 + 2 + 0.3, "world 0");
    CLOSE(total[3], 0.1 * 0.5 + 0.5 + 0, "world 3");
    for (int w = 0; w < 5; w++) {
        const bool none = w == 1 || w == 2 || w == 4;
        ck_assert_int_eq(isnan(total[w]) != 0, none);
        for (int k = 0; k < 3; k++) ck_assert_int_eq(isnan(terms[3 * w + k]) != 0, none);
        ck_assert_int_eq(ended[w], w == 3);
    }
    q[3] = 0;
    reward_begin(r, NULL, q, v);  // all anew
    reward_end(r, total, NULL, ended);
    for (int w = 0; w < 5; w++) CLOSE(total[w], 2, "world %d, begun anew", w);
    ck_assert(!ended[3]);
    // too large for a number
    v[0] = 0, q[0] = 1e308;
    for (int n = 1; n < 60; n++) reward_step(r, time, 0.1, q, v, NULL, NULL);
    reward_end(r, total, NULL, NULL);
    ck_assert(!isinf(total[0]));
}
END_TEST

// ---- many worlds

static const char many[] =
    "catena: 1\nlinks:\n  - {name: body, joint: free, density: 500, shapes: [{type: box, size: [0.4, 0.3, 0.1]}]}\n"
    "  - {name: neck, parent: body, position: [0.2, 0, 0], joint: ball, mass: 1, com: [0.1, 0, 0], inertia: [0.1, 0.1, 0.1, 0, "
    "0, 0]}\n"
    "  - {name: hip, parent: body, position: [-0.2, 0, 0], joint: {type: universal}, mass: 1, com: [0, 0, -0.2], inertia: [0.1, "
    "0.1, "
    "0.1, 0, 0, 0]}\n"
    "  - {name: foot, parent: hip, position: [0, 0, -0.4], joint: {type: prismatic}, mass: 0.5, com: [0, 0, -0.1], inertia: "
    "[0.1, "
    "0.1, 0.1, 0, 0, 0]}\n"
    "motors:\n  - {joint: neck, type: position, kp: 4, kd: 0.2, target: [0, 0, 0]}\n  - {joint: hip, dof: 0, type: velocity, kd: "
    "1}\n"
    "  - {joint: hip, dof: 1, type: position, kp: 10, effort: 3, target: {sinusoid: {amplitude: 1, frequency: 1}}}\n"
    "  - {joint: foot, type: torque}\n  - {link: body, type: thrust, axis: [0, 1, 1]}\nreward:\n"
    "  - {term: alive, weight: 1, link: body, above: -0.9}\n"
    "  - {term: progress, weight: 2, link: foot, point: [0, 0, -0.1], axis: [1, 1, 0]}\n"
    "  - {term: progress, weight: 1, of: com}\n  - {term: speed, weight: 0.5, link: neck, point: [0.2, 0, 0], target: 1}\n"
    "  - {term: speed, weight: 1, of: com, axis: [0, 0, 1]}\n  - {term: height, weight: 1, link: hip, target: 0.2}\n"
    "  - {term: upright, weight: 1, link: neck, axis: [1, 2, 3], from: 0.2}\n"
    "  - {term: reach, weight: -1, link: foot, target: [1, 2, 3]}\n  - {term: posture, weight: -0.1}\n"
    "  - {term: effort, weight: -0.01}\n  - {term: energy, weight: -0.01, to: 0.7}\n  - {term: smoothness, weight: -0.01}\n";

static uint64_t seed;
static double chance(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0 * 2 - 1;
}

enum { STEPS = 9, NQ = 7 + 4 + 2 + 1, NV = 6 + 3 + 2 + 1, NU = 3 + 1 + 1 + 1 + 1, NTERM = 12 };

/// The rewards of `count` worlds of the many, by their numbers.
static void rewards_of(const int *worlds, int count, double *sum, double *parts, bool *ends)
{
    static double q[STEPS + 1][MOST_WORLDS * NQ], v[STEPS + 1][MOST_WORLDS * NV], u[STEPS + 1][MOST_WORLDS * NU];
    static double time[STEPS + 1][MOST_WORLDS];
    static bool lost[STEPS + 1][MOST_WORLDS];
    double home[NQ], away[NV];
    for (int i = 0; i < count; i++)
        for (int n = 0; n <= STEPS; n++) {
            seed = (uint64_t)(worlds[i] * 1000 + n) * 0x9e3779b97f4a7c15u + 12345;
            for (int k = 0; k < 8; k++) chance();
            ctn_model_initial_state(model, home, NULL);
            for (int k = 0; k < NV; k++) away[k] = chance(), v[n][i * NV + k] = 2 * chance();
            ctn_model_integrate(model, 1, home, away, 1, q[n] + i * NQ);
            for (int k = 0; k < NU; k++) u[n][i * NU + k] = chance();
            time[n][i] = 0.1 * n + (worlds[i] % 5 == 3 ? 0.01 : 0);
            lost[n][i] = worlds[i] % 11 == 5 && n == 6;
            if (worlds[i] % 13 == 6 && n == 4) q[n][i * NQ + 8] = NAN;
        }
    ctn_error err;
    reward *const own = reward_open(scene, model, count, &err);
    ck_assert_msg(own != NULL, "%s", err.message);
    reward_begin(own, NULL, q[0], v[0]);
    for (int n = 1; n <= STEPS; n++) reward_step(own, time[n], 0.1, q[n], v[n], u[n], lost[n]);
    reward_end(own, sum, parts, ends);
    reward_close(own);
}

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a); }

/// The same bits by every engine, whatever the number of worlds, their order and their neighbours.
START_TEST(worlds_alone)
{
    static double alone[MOST_WORLDS], alone_terms[MOST_WORLDS * NTERM];
    static bool alone_ended[MOST_WORLDS];
    open_reward(many, "", 1);
    ck_assert_int_eq(ctn_model_nq(model), NQ);
    ck_assert_int_eq(ctn_model_nv(model), NV);
    ck_assert_int_eq(scene->nreward, NTERM);
    int ends = 0, none = 0, engines = 0;
    for (int w = 0; w < MOST_WORLDS; w++) {
        rewards_of(&w, 1, &alone[w], alone_terms + w * NTERM, &alone_ended[w]);
        ends += alone_ended[w], none += isnan(alone[w]) != 0;
    }
    ck_assert_msg(ends > 10 && ends < 100 && none > 10 && none < 100, "%d end, %d are lost", ends, none);
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    for (int e = 0; e < 3; e++) {
        ctn_dynamics *const there = ctn_dynamics_create(model, names[e], NULL);
        if (!there) continue;
        ctn_dynamics_free(there), engines++;
        setenv("CTN_ENGINE", names[e], 1);
        static const int counts[] = {1, 2, 17, 64, 65, MOST_WORLDS};
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int back = 0; back < 2; back++) {
                int worlds[MOST_WORLDS];
                for (int i = 0; i < counts[c]; i++) worlds[i] = back ? MOST_WORLDS - 1 - i : i;
                rewards_of(worlds, counts[c], total, terms, ended);
                for (int i = 0; i < counts[c]; i++) {
                    const int w = worlds[i];
                    ck_assert_msg(same(total[i], alone[w]) && ended[i] == alone_ended[w],
                                  "%s, world %d of %d: %.17g, alone %.17g", names[e], w, counts[c], total[i], alone[w]);
                    for (int k = 0; k < NTERM; k++)
                        ck_assert_msg(same(terms[i * NTERM + k], alone_terms[w * NTERM + k]), "%s, world %d of %d, term %d",
                                      names[e], w, counts[c], k);
                }
            }
        unsetenv("CTN_ENGINE");
    }
    ck_assert_int_ge(engines, 1);
}
END_TEST

// ---- scenes

/// What a scene says where it says little.
START_TEST(defaults)
{
    ctn_scene *const s =
        parse(LINKS A "  - {name: b, parent: a, " MASS "}\nreward:\n"
                      "  - {term: progress, weight: 1, of: com}\n  - {term: upright, weight: -2, link: b}\n"
                      "  - {term: alive, weight: 3, link: b, below: 4}\n  - {term: posture, weight: 1, from: 1, "
                      "to: 2, joints: [a], when: end}\n  - {term: reach, weight: 1, link: a, target: [1, 2, 3]}\n");
    ck_assert_int_eq(s->nreward, 5);
    const scene_reward *const x = s->reward;
    ck_assert(x[0].at_end && x[0].link == -1 && x[0].term == REWARD_PROGRESS && isnan(x[0].target[0]) && !x[0].joints);
    EXACT(x[0].axis, 1, 0, 0), EXACT(&x[0].weight, 1), EXACT(&x[0].from, 0);
    ck_assert(x[0].to == INFINITY);
    ck_assert(!x[1].at_end && x[1].link == 1);
    EXACT(x[1].axis, 0, 0, 1), EXACT(&x[1].weight, -2), EXACT(x[1].point, 0, 0, 0);
    ck_assert(x[2].ends && !x[2].at_end && x[2].above == -INFINITY && x[2].below == 4);
    ck_assert(x[3].at_end && x[3].njoint == 1 && x[3].joints[0] == 0 && x[3].from == 1 && x[3].to == 2);
    ck_assert(x[4].at_end);
    EXACT(x[4].target, 1, 2, 3);
    static const char *const names[] = {"progress", "speed",  "height", "upright",    "reach",
                                        "posture",  "effort", "energy", "smoothness", "alive"};
    for (int k = 0; k < REWARD_TERMS; k++) ck_assert_str_eq(reward_term_name((reward_term)k), names[k]);
    ctn_scene_free(s);
}
END_TEST

/// A section of an included file is checked, with that file's names, and has no effect.
START_TEST(included)
{
    char folder[] = "/tmp/catena-reward-XXXXXX", part[64], text[400];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(part, sizeof part, "%s/part.yaml", folder);
    snprintf(text, sizeof text,
             "catena: 1\ninclude: [{file: %s, as: left}]\nreward: [{term: upright, weight: 1, link: left.a}]\n", part);
    static const char *const links[] = {"a", "b"};
    for (int k = 0; k < 2; k++) {
        FILE *const file = fopen(part, "w");
        ck_assert_ptr_nonnull(file);
        fprintf(file, TOP("reward: [{term: height, weight: 5, link: %s}, {term: posture, weight: 1, joints: [a]}]"), links[k]);
        fclose(file);
        ctn_error err = {0};
        ctn_scene *const s = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
        if (k == 0) {
            ck_assert_msg(s != NULL, "%s", err.message);
            ck_assert(s->nreward == 1 && s->reward[0].term == REWARD_UPRIGHT && s->reward[0].link == 0);
        } else {
            ck_assert_ptr_null(s);
            ck_assert_msg(has_error(err.message, part, 4, 42, "reward[0].link: unknown link 'b'", false), "%s", err.message);
        }
        ctn_scene_free(s);
    }
    remove(part), rmdir(folder);
}
END_TEST

START_TEST(refused)
{
    ctn_error err = {0};
    ctn_scene *const s = parse(TOP(""));
    ctn_model *const m = ctn_model_create(s, &err);
    ck_assert_ptr_nonnull(m);
    ck_assert_ptr_null(reward_open(s, m, 1, &err));
    ck_assert_int_eq(err.status, CTN_BAD_SCENE);
    ck_assert_str_eq(err.message, "folder/t.yaml: the scene has no reward; say in `reward` what worlds are to be good at");
    ck_assert_ptr_null(reward_open(s, m, 0, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_ptr_null(reward_open(NULL, m, 1, &err));
    ck_assert_ptr_null(reward_open(s, NULL, 1, NULL));
    reward_close(NULL);
    ctn_model_free(m), ctn_scene_free(s);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("reward");
    TCase *const numbers = tcase_create("numbers"), *const scenes = tcase_create("scenes");
    tcase_add_checked_fixture(numbers, NULL, close_reward);
    tcase_set_timeout(numbers, 60);
    tcase_add_loop_test(numbers, terms_of_a_pendulum, 0, 3);
    tcase_add_test(numbers, what_the_model_tells);
    tcase_add_test(numbers, efforts);
    tcase_add_test(numbers, postures);
    tcase_add_test(numbers, centre_of_mass);
    tcase_add_test(numbers, thrown);
    tcase_add_test(numbers, windows);
    tcase_add_test(numbers, ends_of_episodes);
    tcase_add_test(numbers, either_ends_it);
    tcase_add_test(numbers, some_go_on);
    tcase_add_test(numbers, lost_worlds);
    tcase_add_test(numbers, worlds_alone);
    suite_add_tcase(suite, numbers);
    tcase_add_test(scenes, defaults);
    tcase_add_test(scenes, included);
    tcase_add_test(scenes, refused);
    suite_add_tcase(suite, scenes);
    return run_suite(suite);
}
