/// `catena mpc`: a cart swings its pole up and holds it there, also where the plant is heavier than the model, and by samples; a hand
/// follows a path, which waits for it; the same bits for threads; recordings, deadlines; what does not fit is refused.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CART(mass, pole, method, dt)                                                                                             \
    "catena: 1\nlinks:\n  - {name: cart, joint: {type: prismatic, axis: [1, 0, 0], damping: 0.1}, mass: " mass ",\n"             \
    "     inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n"                                                                               \
    "  - {name: pole, parent: cart, joint: {type: revolute, axis: [0, -1, 0], damping: 0.002, v0: 0.01}, mass: " pole            \
    ",\n     com: [0, 0, -0.5], inertia: [0.017, 0.017, 0.0001, 0, 0, 0]}\n"                                                     \
    "motors: [{joint: cart, type: torque, effort: 20}]\nduration: 5\nintegrator: {method: " method ", dt: " dt "}\n"
#define COSTS                                                                                                                    \
    "optimize:\n  guess: 0.1\n  iterations: 100\n  knot: 0.02\n  cost:\n"                                                        \
    "    - {term: posture, weight: [0.1, 1], end: 100, target: [0, 3.141592653589793]}\n"                                        \
    "    - {term: velocity, weight: 0.01, end: 20}\n    - {term: control, weight: 0.01}\n"

enum { ROW = 9 };  // time, u0, q0, q1, v0, v1, planned, iterations, seconds

/// A line of numbers.
static int line_of(char *at, double *x, int most)
{
    int n = 0;
    for (; n < most && *at && *at != '\n'; n++) {
        x[n] = strtod(at, &at);
        if (*at == ',') at++;
    }
    return n;
}

/// The last row of a table.
static void last_row(const char *path, double *x)
{
    char *const text = slurp(path, NULL), *end = text + strlen(text) - 1;
    *end = 0;
    ck_assert_int_eq(line_of(strrchr(text, '\n') + 1, x, ROW), ROW);
    free(text);
}

/// Within shares of what is usual.
static void stands(const char *path, double share)
{
    double x[ROW];
    last_row(path, x);
    ck_assert_msg(fabs(x[3] - 3.14159265) < 0.05 * share && fabs(x[5]) < 0.1 * share,
                  "%s: at %g s the pole is at %g rad, %g rad/s", path, x[0], x[3], x[5]);
}

START_TEST(swings_up_and_holds)
{
    enter_scratch();
    spit("scene.yaml", CART("1", "0.2", "rk4", "0.02") COSTS);
    spit("heavy.yaml", CART("1.1", "0.22", "radau", "0.005"));
    outcome o = catena("mpc", "scene.yaml", "--horizon", "2", "--out", "same.csv");
    ck_assert_msg(o.status == 0 && !*o.err && strstr(o.out, "followed      5 s, 250 knots of 0.02 s"), "%s%s", o.out, o.err);
    outcome_free(&o);
    stands("same.csv", 1);
    o = catena("mpc", "scene.yaml", "--horizon", "2", "--plant", "heavy.yaml", "--out", "heavy.csv", "--threads", "1");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    stands("heavy.csv", 1);
    o = catena("mpc", "scene.yaml", "--horizon", "2", "--plant", "heavy.yaml", "--out", "again.csv", "--threads", "2", "--quiet");
    ck_assert_msg(o.status == 0 && !*o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    double a[ROW], b[ROW];
    last_row("heavy.csv", a), last_row("again.csv", b);
    ck_assert(!memcmp(a, b, (ROW - 1) * sizeof *a));  // all but the seconds
    leave_scratch();
}
END_TEST

/// So it does by samples, the same with every number of threads, another way with another seed.
START_TEST(samples_swing_up)
{
    static const char *const planners[] = {"sampling", "mppi"};
    enter_scratch();
    spit("scene.yaml", CART("1", "0.2", "rk4", "0.02") COSTS "  mpc: {samples: 40, points: 12, noise: 1, iterations: 1}\n");
    outcome o = catena("mpc", "scene.yaml", "--planner", planners[_i], "--horizon", "0.8", "--duration", "4", "--out", "x.csv");
    ck_assert_msg(o.status == 0 && strstr(o.out, planners[_i]), "%s%s", o.out, o.err);
    outcome_free(&o);
    stands("x.csv", 3);
    double x[3][ROW];
    for (int k = 0; k < 3; k++) {
        o = catena("mpc", "scene.yaml", "--planner", planners[_i], "--horizon", "0.4", "--duration", "0.4", "--out", "x.csv",
                   "--threads", k == 1 ? "2" : "1", "--seed", k == 2 ? "7" : "0");
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        last_row("x.csv", x[k]);
    }
    ck_assert(!memcmp(x[0], x[1], (ROW - 1) * sizeof **x) && memcmp(x[0], x[2], (ROW - 1) * sizeof **x));
    leave_scratch();
}
END_TEST

/// The hand of scenes/iiwa14-eight.yaml, by its links' own kinematics, on the path that the scene has, from when it says that it began.
START_TEST(follows_a_path)
{
    ctn_scene *const scene = ctn_scene_load(source("scenes/iiwa14-eight.yaml"), NULL);
    ctn_model *const model = ctn_model_create(scene, NULL);
    ctn_dynamics *const dyn = ctn_dynamics_create(model, NULL, NULL);
    const char *const from = "began to move at ";
    const int links = ctn_model_nlink(model), hand = ctn_model_find(model, "iiwa_link_7");
    double *const R = calloc(12 * (size_t)links, sizeof *R), *const p = R + 9 * links, x[32], squares = 0, most = 0;
    enter_scratch();
    outcome o =
        catena("mpc", source("scenes/iiwa14-eight.yaml"), "--method", "semi-implicit", "--duration", "3", "--out", "x.csv");
    ck_assert_msg(o.status == 0 && strstr(o.out, from), "%s%s", o.out, o.err);
    const double begin = strtod(strstr(o.out, from) + strlen(from), NULL);
    char *const text = slurp("x.csv", NULL);
    int rows = 0;
    for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        ck_assert_int_eq(line_of(line + 1, x, 32), 25);
        const double t = x[0] < begin - 1e-9 ? 0 : x[0] - begin, turn = 2 * 3.14159265358979323846 * 0.1 * t;
        const double path[3] = {0.6, 0.25 * sin(turn), 0.6 + 0.15 * sin(2 * turn)};
        ctn_forward_kinematics(dyn, 1, x + 8, R, p);
        double far = 0, rate = 0;
        for (int i = 0; i < 3; i++) far += pow(p[3 * hand + i] + 0.05 * R[9 * hand + 3 * i + 2] - path[i], 2);
        for (int i = 0; i < 7; i++) rate = fmax(rate, fabs(x[15 + i]));
        if (x[0] < begin - 1e-9) ck_assert(sqrt(far) > 0.05 || rate > 0.02);  // it waits for what was not there, or fast
        else if (fabs(x[0] - begin) < 1e-9) ck_assert(sqrt(far) < 0.05);
        if (x[0] < begin - 1e-9) continue;
        squares += far, most = fmax(most, sqrt(far)), rows++;
    }
    ck_assert(begin > 0.1 && begin < 1 && rows > 200);
    ck_assert_msg(sqrt(squares / rows) < 2e-3 && most < 0.05, "%g m, %g at most", sqrt(squares / rows), most);
    double told[2];
    ck_assert_int_eq(
        sscanf(strstr(o.out, "  place "), "  place %lg m from its target as root of the mean square, %lg", told, told + 1), 2);
    ck_assert_double_eq_tol(told[0], sqrt(squares / rows), 1e-3 * told[0]);
    ck_assert_double_eq_tol(told[1], most, 1e-3 * most);
    outcome_free(&o), leave_scratch();
    free(text), free(R), ctn_dynamics_free(dyn), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Carts side by side, of masses and starts of their own: each stands in the end; the same bits for threads, and as one alone with those
/// numbers; a recording has all of them.
START_TEST(many_worlds)
{
    enter_scratch();
    spit("scene.yaml", CART("1", "0.2", "rk4", "0.02") COSTS);
    spit("carts.yaml", CART("1", "0.2", "radau", "0.01") "sample: {q: {pole: {uniform: [-0.3, 0.3]}}, "
                                                         "parameters: {mass_scale: {pole: {uniform: [0.9, 1.1]}}}}\n");
    char *text[2];
    for (int k = 0; k < 2; k++) {
        const char *const out = k ? "b.h5" : "a.csv";
        outcome o = catena("mpc", "scene.yaml", "--plant", "carts.yaml", "--worlds", "6", "--horizon", "2", "--threads",
                           k ? "2" : "1", "--out", out);
        ck_assert_msg(o.status == 0 && !*o.err && strstr(o.out, "6 worlds") && strstr(o.out, "lost          0 worlds"), "%s%s",
                      o.out, o.err);
        outcome_free(&o);
        text[k] = slurp(k ? "b.csv" : "a.csv", NULL);
    }
    double stood[6] = {0}, first[6] = {0};
    int rows = 0;
    char *at[2] = {text[0], text[1]};
    ck_assert(!strncmp(text[0], "time,world,u0,q0,q1,v0,v1,planned,iterations,seconds\n", 52));
    while ((at[0] = strchr(at[0], '\n')) && *++at[0]) {
        at[1] = strchr(at[1], '\n') + 1;
        double x[2][ROW + 1];
        for (int k = 0; k < 2; k++) ck_assert_int_eq(line_of(at[k], x[k], ROW + 1), ROW + 1);
        ck_assert(!memcmp(x[0], x[1], ROW * sizeof **x));  // all but the seconds
        const int w = (int)x[0][1];
        ck_assert_int_eq(w, rows++ % 6);
        if (x[0][0] == 0) first[w] = x[0][4];
        stood[w] = fabs(x[0][4] - 3.14159265) + fabs(x[0][6]);
    }
    ck_assert_int_eq(rows, 6 * 250);
    for (int w = 0; w < 6; w++) {
        ck_assert_msg(stood[w] < 0.15, "world %d is %g off in the end", w, stood[w]);
        ck_assert(fabs(first[w]) <= 0.3 && (!w || first[w] != first[w - 1]));
    }
    free(text[0]), free(text[1]);
    outcome o = catena("mpc", "scene.yaml", "--worlds", "3", "--out", "x.csv");
    ck_assert(o.status == 2 && strstr(o.err, "sample"));
    outcome_free(&o);
    o = catena("mpc", "scene.yaml", "--plant", "carts.yaml", "--worlds", "3", "--deadline", "0.01", "--out", "x.csv");
    ck_assert_msg(o.status == 0 && strstr(o.out, " took longer than a knot, ") && strstr(o.out, " than the deadline\n"), "%s%s",
                  o.out, o.err);
    char *const timed = slurp("x.csv", NULL);
    double iterations[2] = {1e9, 0};  // fewest and most of a plan
    for (char *row = timed; (row = strchr(row, '\n')) && *++row;) {
        double x[ROW + 2];
        ck_assert_int_eq(line_of(row, x, ROW + 2), ROW + 1);
        iterations[0] = fmin(iterations[0], x[ROW - 1]), iterations[1] = fmax(iterations[1], x[ROW - 1]);
    }
    ck_assert_msg(iterations[0] >= 1 && iterations[1] < 1000, "%g to %g", iterations[0], iterations[1]);
    free(timed);
    outcome_free(&o), leave_scratch();
}
END_TEST

/// A recording has the plant's states, with the table beside it; a deadline is kept, and what was made in it is told.
START_TEST(records_by_a_deadline)
{
    enter_scratch();
    spit("scene.yaml", CART("1", "0.2", "rk4", "0.02") COSTS);
    spit("fine.yaml", CART("1", "0.2", "rk4", "0.01"));
    outcome o = catena("mpc", "scene.yaml", "--plant", "fine.yaml", "--duration", "1", "--out", "x.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    size_t count;
    double *const q = numbers("x.h5", "q", &count), last[ROW];  // [101][2], before the first step and after each
    ck_assert_int_eq((int)count, 2 * 101);
    last_row("x.csv", last);  // of the knot that begins at 0.98 s
    ck_assert(last[2] == q[2 * 98] && last[3] == q[2 * 98 + 1]);
    free(q);
    o = catena("mpc", "scene.yaml", "--method", "semi-implicit", "--horizon", "0.2", "--duration", "1", "--out", "y.csv",
               "--deadline", "0.02");
    ck_assert_msg(o.status == 0 && strstr(o.out, "than the deadline"), "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const text = slurp("y.csv", NULL);
    double x[ROW];
    int more = 0;
    for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        ck_assert_int_eq(line_of(line + 1, x, ROW), ROW);
        ck_assert(x[7] >= 1);
        more += x[7] > 2;
    }
    ck_assert_int_gt(more, 0);  // an iteration takes a small part of a millisecond
    free(text);
    leave_scratch();
}
END_TEST

/// The largest |q0| of a table's rows.
static double farthest(const char *path)
{
    char *const text = slurp(path, NULL);
    double x[ROW], most = 0;
    int rows = 0;
    for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n'), rows++) {
        ck_assert_int_eq(line_of(line + 1, x, ROW), ROW);
        most = fmax(most, fabs(x[2]));
    }
    ck_assert_int_gt(rows, 100);
    free(text);
    return most;
}

#define LIGHT_COSTS                                                                                                              \
    "optimize:\n  guess: 0.1\n  iterations: 300\n  knot: 0.02\n  cost:\n"                                                        \
    "    - {term: posture, weight: 0.1, end: 100, target: [0, 3.141592653589793]}\n"                                             \
    "    - {term: velocity, weight: 0.01, end: 20}\n    - {term: control, weight: 0.01}\n"
#define RAIL "  limits: [{term: posture, joints: [cart], within: [-0.4, 0.4]}]\n"

/// With limits a cart stays on its rail of 0.8 m where without it leaves it; also with another plant, nearly; the same bits for
/// threads.
START_TEST(keeps_its_rail)
{
    enter_scratch();
    spit("free.yaml", CART("1", "0.2", "rk4", "0.02") LIGHT_COSTS);
    spit("rail.yaml", CART("1", "0.2", "rk4", "0.02") LIGHT_COSTS RAIL);
    spit("heavy.yaml", CART("1.1", "0.22", "radau", "0.005"));
    const struct {
        const char *scene, *plant, *threads, *out;
        double least, most;  // of how far it goes
    } runs[] = {{"free.yaml", "free.yaml", "1", "free.csv", 0.6, 9},
                {"rail.yaml", "rail.yaml", "1", "rail.csv", 0.39, 0.4001},
                {"rail.yaml", "heavy.yaml", "1", "heavy.csv", 0.39, 0.41},
                {"rail.yaml", "heavy.yaml", "2", "again.csv", 0.39, 0.41}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        outcome o = catena("mpc", runs[k].scene, "--plant", runs[k].plant, "--horizon", "3", "--duration", "4", "--out",
                           runs[k].out, "--threads", runs[k].threads);
        ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
        const double most = farthest(runs[k].out);
        ck_assert_msg(most > runs[k].least && most < runs[k].most, "%s: %g m\n%s", runs[k].out, most, o.out);
        double told;
        const char *const line = strstr(o.out, "  posture     missed by ");
        ck_assert((k > 0) == (line != NULL));
        if (line) {
            ck_assert_int_eq(sscanf(line, "  posture missed by %lf at most", &told), 1);
            ck_assert_double_eq_tol(told, fmax(most - 0.4, 0), 0.06 * fmax(most - 0.4, 1e-9));
        }
        outcome_free(&o);
        stands(runs[k].out, 1);
    }
    double a[ROW], b[ROW];
    last_row("heavy.csv", a), last_row("again.csv", b);
    ck_assert(!memcmp(a, b, (ROW - 1) * sizeof *a));
    spit("away.yaml",
         CART("1", "0.2", "rk4", "0.02") LIGHT_COSTS "  limits: [{term: posture, joints: [cart], within: [0.3, 0.4]}]\n");
    outcome o = catena("mpc", "away.yaml", "--horizon", "0.4", "--duration", "0.1", "--out", "away.csv");
    ck_assert_msg(o.status == 0 && strstr(o.err, "warning: the first plan misses limits by up to 0.3, "), "%s%s", o.out, o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

/// Carts of other masses, side by side: each stays on its rail, nearly.
START_TEST(worlds_keep_their_rail)
{
    enter_scratch();
    spit("rail.yaml", CART("1", "0.2", "rk4", "0.02") LIGHT_COSTS RAIL);
    spit("carts.yaml", CART("1", "0.2", "rk4", "0.02") "sample:\n  parameters: {mass_scale: {pole: {uniform: [0.9, 1.1]}}}\n");
    outcome o = catena("mpc", "rail.yaml", "--plant", "carts.yaml", "--worlds", "3", "--horizon", "2.5", "--duration", "3",
                       "--out", "rail.csv");
    ck_assert_msg(o.status == 0 && !*o.err && strstr(o.out, "limits        the last plans miss them by up to "), "%s%s", o.out,
                  o.err);
    char *const text = slurp("rail.csv", NULL);
    double most[3] = {0}, all = 0, told;
    for (char *at = text; (at = strchr(at, '\n')) && *++at;) {
        double x[ROW + 1];
        ck_assert_int_eq(line_of(at, x, ROW + 1), ROW + 1);
        most[(int)x[1]] = fmax(most[(int)x[1]], fabs(x[3]));
    }
    for (int w = 0; w < 3; w++) {
        ck_assert_msg(most[w] > 0.3 && most[w] < 0.41, "world %d: %g m", w, most[w]);
        all = fmax(all, most[w]);
    }
    const char *const line = strstr(o.out, "  posture     missed by ");
    ck_assert(line && sscanf(line, "  posture missed by %lf at most", &told) == 1);
    ck_assert_double_eq_tol(told, fmax(all - 0.4, 0), 0.06 * fmax(all - 0.4, 1e-9));
    free(text), outcome_free(&o);
    leave_scratch();
}
END_TEST

START_TEST(refused)
{
    enter_scratch();
    spit("scene.yaml", CART("1", "0.2", "rk4", "0.02") COSTS);
    spit("free.yaml", CART("1", "0.2", "rk4", "0.02") COSTS "  mpc: {planner: sampling}\n");
    spit("waits.yaml", CART("1", "0.2", "rk4", "0.02") COSTS "  mpc: {starts: {within: 1, slower: 1}}\n");
    spit("earns.yaml", CART("1", "0.2", "rk4", "0.02") COSTS "  reward: 1\n");
    spit("limits.yaml", CART("1", "0.2", "rk4", "0.02") COSTS "  limits: [{term: posture, joints: [cart], within: [-1, 1]}]\n"
                                                              "  mpc: {planner: mppi}\n");
    spit("other.yaml", "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n"
                       "motors: [{joint: a, type: torque}]\n");
    spit("coarse.yaml", CART("1", "0.2", "rk4", "0.03"));
    const struct {
        const char *scene, *plant, *horizon, *says;
    } bad[] = {
        {"scene.yaml", "other.yaml", "1", "--plant: it has 1 coordinates and 1 numbers that motors are told, the scene 2 and 1"},
        {"scene.yaml", "coarse.yaml", "1", "no whole number of its steps of 0.03 s"},
        {"scene.yaml", "scene.yaml", "0.33", "--horizon) of 0.33 s is no whole number of knots"},
        {"scene.yaml", "scene.yaml", "0.013", "--horizon) of 0.013 s is no whole number"},
        {"waits.yaml", "scene.yaml", "1", "optimize.mpc.starts: no target of posture, place, orientation or com moves"},
        {"earns.yaml", "scene.yaml", "1", "optimize.reward: the scene has no `reward`"},
        {"limits.yaml", "scene.yaml", "1", "optimize.limits: are kept by the planner ilqr alone"},
        {"other.yaml", "other.yaml", "1", "the scene has no `optimize:`"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        outcome o = catena("mpc", bad[k].scene, "--plant", bad[k].plant, "--horizon", bad[k].horizon, "--out", "x.csv");
        ck_assert_msg(o.status == 2 && strstr(o.err, bad[k].says), "%d: %s\nexpected: %s", o.status, o.err, bad[k].says);
        outcome_free(&o);
    }
    leave_scratch();
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli_mpc");
    TCase *const c = tcase_create("cli_mpc");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, swings_up_and_holds);
    tcase_add_loop_test(c, samples_swing_up, 0, 2);
    tcase_add_test(c, follows_a_path);
    tcase_add_test(c, many_worlds);
    tcase_add_test(c, records_by_a_deadline);
    tcase_add_test(c, keeps_its_rail);
    tcase_add_test(c, worlds_keep_their_rail);
    tcase_add_test(c, refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
