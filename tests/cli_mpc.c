/// `catena mpc`: a cart swings its pole up and holds it there, also where the plant is heavier than the model; the same bits for
/// threads; what does not fit is refused.
#include "tests/command.h"
#include "tests/suite.h"

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

/// The last row of a table: its numbers.
static int last_row(const char *path, double *x, int most)
{
    char *const text = slurp(path, NULL), *end = text + strlen(text) - 1;
    *end = 0;
    char *at = strrchr(text, '\n') + 1;
    int n = 0;
    for (; n < most && *at; n++) {
        x[n] = strtod(at, &at);
        if (*at == ',') at++;
    }
    free(text);
    return n;
}

static void stands(const char *path)
{
    double x[8];
    ck_assert_int_eq(last_row(path, x, 8), 8);  // time, u0, q0, q1, v0, v1, planned, seconds
    ck_assert_msg(fabs(x[3] - 3.14159265) < 0.05 && fabs(x[5]) < 0.1, "%s: at %g s the pole is at %g rad, %g rad/s", path, x[0],
                  x[3], x[5]);
}

START_TEST(swings_up_and_holds)
{
    enter_scratch();
    spit("scene.yaml", CART("1", "0.2", "rk4", "0.02") COSTS);
    spit("heavy.yaml", CART("1.1", "0.22", "radau", "0.005"));
    outcome o = catena("mpc", "scene.yaml", "--horizon", "2", "--out", "same.csv");
    ck_assert_msg(o.status == 0 && !*o.err && strstr(o.out, "followed      5 s, 250 knots of 0.02 s"), "%s%s", o.out, o.err);
    outcome_free(&o);
    stands("same.csv");
    o = catena("mpc", "scene.yaml", "--horizon", "2", "--plant", "heavy.yaml", "--out", "heavy.csv", "--threads", "1");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    stands("heavy.csv");
    o = catena("mpc", "scene.yaml", "--horizon", "2", "--plant", "heavy.yaml", "--out", "again.csv", "--threads", "2", "--quiet");
    ck_assert_msg(o.status == 0 && !*o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    double a[8], b[8];
    last_row("heavy.csv", a, 8), last_row("again.csv", b, 8);
    ck_assert(!memcmp(a, b, 7 * sizeof *a));  // all but the seconds
    leave_scratch();
}
END_TEST

START_TEST(refused)
{
    enter_scratch();
    spit("scene.yaml", CART("1", "0.2", "rk4", "0.02") COSTS);
    spit("window.yaml", CART("1", "0.2", "rk4", "0.02") COSTS "    - {term: com, target: [0, 0, 1], weight: 1, from: 1}\n");
    spit("other.yaml", "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n"
                       "motors: [{joint: a, type: torque}]\n");
    spit("coarse.yaml", CART("1", "0.2", "rk4", "0.03"));
    const struct {
        const char *scene, *plant, *horizon, *says;
    } bad[] = {
        {"scene.yaml", "other.yaml", "1", "the plant has 1 coordinates and 1 numbers that motors are told, the scene 2 and 1"},
        {"scene.yaml", "coarse.yaml", "1", "no whole number of the plant's steps of 0.03 s"},
        {"scene.yaml", "scene.yaml", "0.33", "--horizon) of 0.33 s is no whole number, up to a million, of knots"},
        {"scene.yaml", "scene.yaml", "0.013", "--horizon) of 0.013 s is no whole number"},
        {"window.yaml", "scene.yaml", "1", "leave `from` and `to` out"},
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
    tcase_set_timeout(c, 60);
    tcase_add_test(c, swings_up_and_holds);
    tcase_add_test(c, refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
