/// `optimize.limits` from the command: a cart on a short rail, an arm around a ball, searches that go on with the same bits; limits
/// that cannot be kept are told of; bad input is refused with its place.
#include "sim/scene/scene.h"
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number_after(const char *text, const char *words)
{
    const char *const at = strstr(text, words);
    ck_assert_msg(at != NULL, "no '%s' in %s", words, text);
    return atof(at + strlen(words));
}

/// The scene that was found, with its plan.
static ctn_scene *load(const char *path)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ck_assert(scene->controller.plan_rows > 0);
    return scene;
}

/// Every knot is within the rail, the end where it has to be; between knots the cart is beyond by no more than its force can do.
START_TEST(short_rail)
{
    enter_scratch();
    outcome o = catena("optimize", source("scenes/cartpole-track.yaml"), "--out", "found.yaml");
    ck_assert_msg(o.status == 0 && !*o.err && strstr(o.out, "optimal after"), "%s%s", o.out, o.err);
    const char *const line = strstr(o.out, "limits    ");
    ck_assert_ptr_nonnull(line);
    const double planned = number_after(line, "missed by "), played = number_after(line, "planned, "),
                 fine = number_after(line, "plays it, ");
    ck_assert_msg(planned <= 1e-4 && played <= 1e-4 && fine <= 20 * 0.02 * 0.02 / 8 + 1e-4, "%s", o.out);
    ck_assert(strstr(o.out, "violation ") && strstr(o.out, "penalty "));
    ctn_scene *const scene = load("found.yaml");
    const scene_controller *const c = &scene->controller;
    double most = 0;
    for (int k = 0; k < c->plan_rows; k++) most = fmax(most, fabs(c->plan[k * c->plan_width + 2]));
    ck_assert_msg(most <= 0.4 + 1e-4 && most > 0.399, "%g", most);
    const double *const end = c->plan + (c->plan_rows - 1) * c->plan_width + 2, goal[4] = {0, 3.141592653589793, 0, 0};
    for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(end[i], goal[i], 1e-4);
    ctn_scene_free(scene), outcome_free(&o);
    o = catena("plot", "found.csv", "--y", "cost,violation", "--out", "up.png");
    ck_assert_msg(o.status == 0, "%s%s", o.out, o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

/// Where a search was ended in the middle of its rounds it goes on with the same bits.
START_TEST(goes_on)
{
    enter_scratch();
    const char *const scene = source("scenes/cartpole-track.yaml");
    outcome o = catena("optimize", scene, "--out", "all.yaml", "--iterations", "125", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("optimize", scene, "--out", "parts.yaml", "--iterations", "104", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("optimize", scene, "--out", "parts.yaml", "--iterations", "125", "--resume", "--threads", "2");
    ck_assert_msg(o.status == 0 && strstr(o.out, "iteration 105 ") == o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const a = slurp("all.plan.csv", NULL), *const b = slurp("parts.plan.csv", NULL), *const rows = slurp("parts.csv", NULL);
    ck_assert_str_eq(a, b);
    ck_assert_ptr_nonnull(strstr(rows, "iteration,seconds,cost,defect,gradient,rho,alpha,violation,penalty\n1,"));
    free(a), free(b), free(rows);
    leave_scratch();
}
END_TEST

/// The arm's hand goes around a ball that lies in the way of its cheapest motion.
START_TEST(around_a_ball)
{
    enter_scratch();
    char text[3000];
    snprintf(text, sizeof text,
             "catena: 1\ninclude: [%s]\nmotors:\n"
             "  - {joint: iiwa_link_1, type: torque}\n  - {joint: iiwa_link_2, type: torque}\n"
             "  - {joint: iiwa_link_3, type: torque}\n  - {joint: iiwa_link_4, type: torque}\n"
             "  - {joint: iiwa_link_5, type: torque}\n  - {joint: iiwa_link_6, type: torque}\n"
             "  - {joint: iiwa_link_7, type: torque}\nstate: {q: [0, 0.6, 0, -1.2, 0, 1.3, 0]}\noptimize:\n  cost:\n"
             "    - {term: place, link: iiwa_link_7, point: [0, 0, 0.05], target: [0.45, 0.35, 0.4], weight: 1, end: 1000}\n"
             "    - {term: posture, weight: 0.1}\n    - {term: velocity, weight: 0.1, end: 10}\n"
             "    - {term: control, weight: 0.0001}\n  limits:\n"
             "    - {term: place, link: iiwa_link_7, point: [0, 0, 0.05],\n"
             "       outside: {type: sphere, center: [0.58, 0.17, 0.53], radius: 0.12}}\n"
             "  guess: [0, -54.2746, -0.480687, 22.4654, -0.6953, -0.0498788, 0]\n  tolerance: 1e-5\n"
             "integrator: {method: radau, dt: 0.02}\nduration: 1\n",
             source("scenes/iiwa14.yaml"));
    spit("arm.yaml", text);
    outcome o = catena("optimize", "arm.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 0 && !*o.err && strstr(o.out, "optimal after"), "%s%s", o.out, o.err);
    outcome_free(&o);
    ctn_error err;
    ctn_scene *const scene = load("found.yaml");
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_dynamics *const dyn = ctn_dynamics_create(model, NULL, &err);
    const scene_controller *const c = &scene->controller;
    const int hand = ctn_model_find(model, "iiwa_link_7"), links = ctn_model_nlink(model);
    double *const R = calloc(9 * (size_t)links, sizeof *R), *const p = calloc(3 * (size_t)links, sizeof *p), least = INFINITY;
    static const double center[3] = {0.58, 0.17, 0.53};
    for (int k = 0; k < c->plan_rows; k++) {
        ctn_forward_kinematics(dyn, 1, c->plan + k * c->plan_width + 8, R, p);
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            const double d = p[3 * hand + i] + 0.05 * R[9 * hand + 3 * i + 2] - center[i];
            sum += d * d;
        }
        least = fmin(least, sqrt(sum));
    }
    ck_assert_msg(least >= 0.12 - 1e-4 && least < 0.121, "%g m", least);
    free(R), free(p), ctn_dynamics_free(dyn), ctn_model_free(model), ctn_scene_free(scene);
    leave_scratch();
}
END_TEST

#define PENDULUM                                                                                                                 \
    "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, "    \
    "0.1, 0, 0, 0]}]\nmotors: [{joint: a, type: torque, effort: 1}]\nduration: 0.2\nintegrator: {method: rk4, dt: 0.02}\n"       \
    "optimize:\n  cost: [{term: control, weight: 1}]\n  limits:\n"

/// What no motor can do is told of.
START_TEST(cannot_be_kept)
{
    enter_scratch();
    spit("scene.yaml", PENDULUM "    - {term: posture, target: 1, when: end}\n");
    outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 0 && strstr(o.err, "warning: the plan misses limits by up to "), "%d %s%s", o.status, o.out, o.err);
    ck_assert_msg(strstr(o.out, "stuck: ") || strstr(o.out, "ended at the last iteration"), "%s", o.out);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

static const struct {
    const char *limit, *says;
} bad[] = {
    {"{within: [0, 1]}", "optimize.limits[0].term: missing; as posture, velocity or place"},
    {"{term: postur, within: [0, 1]}", "unknown 'postur'; did you mean 'posture'?"},
    {"{term: posture}", "optimize.limits[0].within: missing; a limit of the term posture has `within`, or `target`"},
    {"{term: posture, within: [0, 1], target: 1}", "a limit has one of `within`, or `target`; write two limits"},
    {"{term: posture, within: [1, 0]}", "optimize.limits[0].within: expected [lo, hi] with lo below hi, found [1, 0]"},
    {"{term: posture, within: 3}", "expected [lo, hi], either of which may be `none`, found '3'"},
    {"{term: posture, within: [[0, 1], [0, 1]]}", "or one of these for each of the 1 numbers, found 2"},
    {"{term: posture, within: own}", "none of these joints has `limits` of its own"},
    {"{term: velocity, within: own}", "`own` are limits of joints' positions; the term velocity has bounds alone"},
    {"{term: posture, joints: [b], within: [0, 1]}", "unknown link 'b'"},
    {"{term: posture, link: a, within: [0, 1]}", "optimize.limits[0].link: a limit of the term posture has none"},
    {"{term: posture, above: 1}", "optimize.limits[0].above: a limit of the term posture has none"},
    {"{term: place, above: 1}", "optimize.limits[0].link: missing; name the link"},
    {"{term: place, link: a, above: 1, below: 0}", "expected a height over `above` (1 m), found '0'"},
    {"{term: place, link: a, plane: {height: 1}}", "optimize.limits[0].plane.normal: missing"},
    {"{term: place, link: a, outside: {center: [0, 0, 1], radius: 1}}", "optimize.limits[0].outside.type: missing"},
    {"{term: place, link: a, outside: {type: sphere, center: [0, 0, 1]}}", "optimize.limits[0].outside.radius: missing; m"},
    {"{term: place, link: a, outside: {type: sphere, to: [0, 0, 1], radius: 1}}", "a shape of type sphere has none"},
    {"{term: place, link: a, inside: {type: capsule, from: [0, 0, 1], radius: 1}}", "inside.to: missing; a capsule needs it"},
    {"{term: orientation, link: a, angle: 0.1}", "optimize.limits[0].target: missing"},
    {"{term: posture, within: [0, 1], from: 0.1, when: end}", "a limit has a window, or counts at the end"},
    {"{term: posture, within: [0, 1], from: 0.1, to: 0.05}", "expected a time not before `from` (0.1 s), found '0.05'"},
    {"{term: posture, within: [0, 1], from: 0.105, to: 0.11}", "a limit from 0.105 to 0.11 s counts at no knot"},
    {"{term: control, within: [0, 1], when: end}", "motors are told nothing any more at the end"},
    {"{term: posture, within: [0, {table: {times: [0, 1], values: [0.5, -50]}}]}",
     "scene.yaml:9:7: optimize.limits: at 0.02 s the lower bound of number 0 is 0, above the upper one, -0.51"},
    {"{term: posture, within: [0, {table: {times: [0, 1]}}]}", "optimize.limits[0].within[1].table.values: missing"},
    {"{term: place, link: a, target: {sinusoid: {amplitude: 1, frequency: 1}}}", "target: expected a list of 3 numbers"},
    {"{term: place, link: a, outside: {type: sphere, radius: 1, center: [0, 0, {sinusoid: {amplitude: 1, frequency: 1}}]}}",
     "outside.center[2]: expected a number"},
    {"{term: orientation, link: a, target: {slerp: {times: [0, 1], values: [[1, 0, 0, 0], [1, 1, 0, 0]]}}}",
     "turns of limits stand still: expected a number, found a mapping"},
    {"3", "optimize.limits[0]: expected"},
};
enum { BAD = sizeof bad / sizeof *bad };

START_TEST(refused)
{
    enter_scratch();
    char text[2000];
    snprintf(text, sizeof text, "%s    - %s\n", PENDULUM, bad[_i].limit);
    spit("scene.yaml", text);
    outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 2 && strstr(o.err, bad[_i].says), "%d: %s\nexpected: %s", o.status, o.err, bad[_i].says);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli_limits");
    TCase *const c = tcase_create("cli_limits");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, short_rail);
    tcase_add_test(c, goes_on);
    tcase_add_test(c, around_a_ball);
    tcase_add_test(c, cannot_be_kept);
    tcase_add_loop_test(c, refused, 0, BAD);
    suite_add_tcase(s, c);
    return run_suite(s);
}
