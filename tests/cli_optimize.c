/// `catena optimize`: what it writes is played to the last bit, a search that was ended goes on with the same bits, bad input is
/// refused with its place.
#include "sim/scene/scene.h"
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PENDULUM                                                                                                                 \
    "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.05}, mass: 1, com: [0, 0, -0.5],\n"        \
    "  inertia: [0.1, 0.1, 0.1, 0, 0, 0]}]\nmotors: [{joint: a, type: torque, effort: 9}]\nduration: 1\n"
#define COSTS                                                                                                                    \
    "optimize:\n  iterations: 60\n  cost:\n    - {term: posture, weight: 1, end: 100, target: 1}\n"                              \
    "    - {term: velocity, weight: 0.1, end: 10}\n    - {term: control, weight: 0.01}\n"

static double number_after(const char *text, const char *words)
{
    const char *const at = strstr(text, words);
    ck_assert_msg(at != NULL, "no '%s' in %s", words, text);
    return atof(at + strlen(words));
}

static const char *const methods[] = {"rk4", "semi-implicit", "radau", "alpha", "collocation"};
enum { METHODS = sizeof methods / sizeof *methods };

/// The scene that is found plays the plan: at the same cost by methods that carry nothing else, nearly so by the others.
START_TEST(found_is_played)
{
    enter_scratch();
    char text[2000];
    snprintf(text, sizeof text, "%sintegrator: {method: %s, dt: 0.02}\n%s", PENDULUM, methods[_i], COSTS);
    spit("scene.yaml", text);
    outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 0 && !*o.err, "%s: %s%s", methods[_i], o.out, o.err);
    const double planned = number_after(o.out, "cost          "), played = number_after(o.out, "planned, "),
                 fine = number_after(o.out, "scene plays it, ");
    ck_assert_msg(strstr(o.out, "50 knots of 0.02 s, optimal after"), "%s", o.out);
    ck_assert_msg(_i < 2 ? played == planned : fabs(played - planned) < 0.02 * planned, "%s: %.15g, %.15g", methods[_i], played,
                  planned);
    ck_assert_double_eq_tol(fine, planned, 0.1 * planned);
    ck_assert_msg(planned < number_after(o.out, "guess          cost "), "%s", o.out);
    outcome_free(&o);
    ck_assert_int_eq(mkdir("other", 0777), 0);
    o = catena("optimize", "scene.yaml", "--out", "other/found.yaml", "--iterations", "2", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("run", "found.yaml", "--out", "rec.csv");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

/// After a plan has ended motors hold it where it ends: a pole stands for ten times as long as it took to swing up; a plan that ends on
/// the move comes to rest there; what lives by nothing lets go.
START_TEST(holds_its_end)
{
    enter_scratch();
    static const struct {
        const char *costs, *run;
        double at, within;
    } cases[] = {{"{term: posture, end: 100, target: 180 deg}, {term: velocity, weight: 0.01, end: 10}", "11", 3.14159265, 0.01},
                 {"{term: posture, end: 100, target: 1}, {term: velocity, end: 50, target: 1.5}", "11", 1, 0.05}};
    char text[2000];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(
            text, sizeof text,
            "%sintegrator: {method: rk4, dt: 0.02}\noptimize:\n  iterations: 60\n  cost: [%s, {term: control, weight: 0.01}]\n",
            PENDULUM, cases[k].costs);
        spit("scene.yaml", text);
        outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml", "--quiet");
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        o = catena("run", "found.yaml", "--duration", cases[k].run);
        ck_assert_msg(o.status == 0, "%s", o.err);
        const double q = number_after(o.out, "  q           ["), v = number_after(o.out, "  v           [");
        ck_assert_msg(fabs(q - cases[k].at) < cases[k].within && fabs(v) < 1e-3, "it is at %g rad, %g rad/s", q, v);
        outcome_free(&o);
    }
    leave_scratch();
}
END_TEST

/// Files that cannot be written are told of before anything is computed, with the status 1.
START_TEST(cannot_be_written)
{
    enter_scratch();
    char text[2000];
    snprintf(text, sizeof text, "%sintegrator: {method: rk4, dt: 0.02}\n%s", PENDULUM, COSTS);
    spit("scene.yaml", text);
    ck_assert_int_eq(mkdir("folder.yaml", 0777) | mkdir("a.plan.csv", 0777), 0);
    static const char *const names[] = {"folder.yaml", "a.yaml", "nowhere/a.yaml"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        outcome o = catena("optimize", "scene.yaml", "--out", names[k]);
        ck_assert_msg(o.status == 1 && !*o.out && strstr(o.err, "cannot be written"), "%d %s%s", o.status, o.out, o.err);
        outcome_free(&o);
    }
    leave_scratch();
}
END_TEST

/// Three iterations and the rest are as all at once; a plan that is played already is where the next search begins.
START_TEST(goes_on)
{
    static const char *const more[] = {"", "  method: ddp\n", "    - {term: control_rate, weight: 0.001}\n"};
    enter_scratch();
    char text[2000];
    snprintf(text, sizeof text, "%s%s", PENDULUM "integrator: {method: radau, dt: 0.02}\n" COSTS, more[_i]);
    spit("scene.yaml", text);
    outcome o = catena("optimize", "scene.yaml", "--out", "all.yaml", "--quiet");
    ck_assert_msg(o.status == 0 && !*o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    o = catena("optimize", "scene.yaml", "--out", "parts.yaml", "--iterations", "3", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *const begun = slurp("parts.csv", NULL), *const third = strstr(begun, "\n3,"), edited[2000];
    ck_assert_ptr_nonnull(third);
    snprintf(edited, sizeof edited, "%.*s\n3,1000.5%s", (int)(third - begun), begun, strchr(third + 3, ','));
    spit("parts.csv", edited), free(begun);
    o = catena("optimize", "scene.yaml", "--out", "parts.yaml", "--resume", "--threads", "2", "--parallel", "links");
    ck_assert_msg(o.status == 0 && strstr(o.out, "iteration 4 ") == o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const a = slurp("all.plan.csv", NULL), *const b = slurp("parts.plan.csv", NULL), *const rows = slurp("parts.csv", NULL);
    ck_assert_str_eq(a, b);
    ck_assert(strstr(rows, "iteration,seconds,cost,defect,gradient,rho,alpha,violation,penalty\n1,") == rows &&
              strstr(rows, "\n3,") && strstr(rows, "\n4,"));
    ck_assert_msg(number_after(rows, "\n4,") > 1000.5 && number_after(rows, "\n4,") < 1100, "%s", rows);  // seconds go on
    free(a), free(b), free(rows);
    o = catena("optimize", "all.yaml", "--out", "all");  // would write over the plan that it plays
    ck_assert_msg(o.status == 2 && strstr(o.err, "all.plan.csv"), "%d %s", o.status, o.err);
    outcome_free(&o);
    o = catena("optimize", "all.yaml", "--out", "again.yaml");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "after 0 iterations") || strstr(o.out, "after 1 iteration"), "%s", o.out);
    outcome_free(&o);
    spit("other.yaml", PENDULUM "integrator: {method: radau, dt: 0.01}\n" COSTS);
    o = catena("optimize", "other.yaml", "--out", "parts.yaml", "--resume");
    ck_assert_msg(o.status == 2 && strstr(o.err, "belongs to another scene"), "%d %s", o.status, o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

/// A plan in which changes of controls cost goes by what was told in the knot before, too: u + K (x - x of the plan, p - p of it).
START_TEST(goes_by_what_was_told)
{
    enter_scratch();
    spit("scene.yaml", PENDULUM "integrator: {method: rk4, dt: 0.02}\n" COSTS "    - {term: control_rate, weight: 0.001}\n"
                                "  limits: [{term: control_rate, within: [-60, 60]}]\n");
    outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
    ck_assert_double_eq(number_after(o.out, "planned, "), number_after(o.out, "cost          "));
    ck_assert_double_le(number_after(o.out, "limits        missed by "), 1e-4);
    ck_assert_double_le(number_after(o.out, "planned, "), number_after(o.out, "guess          cost "));
    ck_assert_ptr_nonnull(strstr(o.out, "  control_rate missed by "));
    outcome_free(&o);
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load("found.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const model = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_batch *const batch = ctn_batch_create(model, &cfg, &err);
    const scene_controller *const c = &scene->controller;
    ck_assert_int_eq(c->plan_gains, 3);
    ck_assert_int_eq(c->plan_width, 1 + 1 + 2 + 3);
    double q, v, u, told = 0, most = 0;
    ctn_batch_state(batch, &q, &v), v += 0.4, ctn_batch_set_state(batch, &q, &v, 0, NULL);
    for (int k = 0; k < 50; k++) {
        const double *const row = c->plan + k * c->plan_width, *const K = row + 4, change = k ? told - row[1 - c->plan_width] : 0;
        const double expected = row[1] + K[0] * (q - row[2]) + K[1] * (v - row[3]) + K[2] * change;
        ck_assert_int_eq(ctn_batch_step(batch, 1, NULL, &err), CTN_OK);
        ctn_batch_targets(batch, &u), ctn_batch_state(batch, &q, &v);
        ck_assert_double_eq_tol(u, expected, 1e-11);
        most = fmax(most, fabs(K[2] * change)), told = u;
    }
    ck_assert_double_gt(most, 1e-2);
    ctn_batch_free(batch), ctn_model_free(model), ctn_scene_free(scene);
    leave_scratch();
}
END_TEST

/// Bounds, of the motor's own effort and of the scene, are kept.
START_TEST(within_bounds)
{
    enter_scratch();
    spit("scene.yaml", PENDULUM "integrator: {method: rk4, dt: 0.02}\n" COSTS "  bounds: [-5, 6]\n  knot: 0.04\n");
    outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load("found.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    const scene_controller *const c = &scene->controller;
    const int width = 1 + 1 + 2 + 2;
    ck_assert_int_eq(c->plan_rows, 26);
    ck_assert_double_eq_tol(c->every, 0.04, 1e-15);
    double most = 0;
    for (int k = 0; k < c->plan_rows; k++) {
        most = fmax(most, c->plan[k * width + 1]);
        ck_assert(c->plan[k * width + 1] >= -5 && c->plan[k * width + 1] <= 6);
    }
    ck_assert_double_eq(most, 6);
    ctn_scene_free(scene);
    leave_scratch();
}
END_TEST

/// Weights, targets and guesses of many joints and motors, a number for each.
START_TEST(many_numbers)
{
    enum { JOINTS = 60 };
    char text[20000], list[JOINTS * 8] = "", motors[JOINTS * 40] = "";
    for (int k = 0; k < JOINTS; k++) {
        sprintf(list + strlen(list), "%s%d", k ? ", " : "", k + 1);
        sprintf(motors + strlen(motors), "  - {joint: a.%d, type: torque}\n", k);
    }
    snprintf(
        text, sizeof text,
        "catena: 1\nlinks: [{chain: {name: a, count: %d, step: [0, 0, -1], joint: {type: revolute, axis: [0, 1, 0]}, mass: 1,\n"
        "  inertia: [1, 1, 1, 0, 0, 0]}}]\nmotors:\n%soptimize:\n  guess: [%s]\n  cost:\n"
        "    - {term: posture, weight: [%s], end: [%s], target: [%s]}\n",
        JOINTS, motors, list, list, list, list);
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "many", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    const scene_optimize *const o = &scene->optimize;
    for (int k = 0; k < JOINTS; k++) {
        ck_assert_double_eq(o->guess[k], k + 1);
        ck_assert_double_eq(o->cost[0].target[k], k + 1);
        ck_assert_double_eq(o->cost[0].weight[k], k + 1);
        ck_assert_double_eq(o->cost[0].end[k], k + 1);
    }
    ctn_scene_free(scene);
}
END_TEST

/// A linkage whose loop is closed, and driven at its crank: its rocker goes where it is to be.
START_TEST(plans_for_a_loop)
{
    enter_scratch();
    spit(
        "scene.yaml",
        "catena: 1\ndefaults: {joint: {type: revolute, axis: [0, -1, 0]}, density: 2000}\nlinks:\n"
        "  - {name: crank, position: [0, 0, 0.5], joint: {q0: 2.2}, shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], "
        "radius: 0.02}]}\n"
        "  - {name: rod, parent: crank, position: [0.2, 0, 0], joint: {q0: -1.8792025567767237}, shapes: [{type: capsule, from: "
        "[0, 0, "
        "0], to: [0.5, 0, 0], radius: 0.015}]}\n"
        "  - {name: rocker, position: [0.5, 0, 0.5], joint: {q0: 1.992336156794888}, shapes: [{type: capsule, from: [0, 0, 0], "
        "to: "
        "[0.35, 0, 0], radius: 0.02}]}\n"
        "loops: [{type: hinge, a: rod, b: rocker, at: [0.5, 0, 0], at_b: [0.35, 0, 0], axis: [0, 1, 0]}]\n"
        "motors: [{joint: crank, type: torque, effort: 5}]\nintegrator: {method: collocation, order: 2, dt: 0.002}\nduration: 1\n"
        "optimize:\n  knot: 0.02\n  iterations: 8\n  guess: 1\n  cost:\n"
        "    - {term: posture, joints: [rocker], end: 100, weight: 0.1, target: 1.8}\n"
        "    - {term: velocity, end: 10, weight: 0.01}\n    - {term: control, weight: 0.01}\n");
    outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml", "--threads", "1");
    ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
    const double planned = number_after(o.out, "cost          "), played = number_after(o.out, "planned, ");
    ck_assert_msg(fabs(played - planned) < 0.01 * planned, "planned %g, played %g", planned, played);
    ck_assert_msg(number_after(o.out, "over time, ") < 0.02, "%s", o.out);  // of the rocker at the end: 0.02 rad
    outcome_free(&o);
    leave_scratch();
}
END_TEST

static const struct {
    const char *text, *says;
} bad[] = {
    {PENDULUM, "the scene has no `optimize:`"},
    {PENDULUM "optimize: {cost: []}\n", "optimize.cost: expected at least one term, found none"},
    {PENDULUM "optimize: {}\n", "optimize.cost: missing; a list of terms"},
    {PENDULUM "optimize: {cost: [{term: posture, weight: 1}], knot: 0.015}\n",
     "optimize.knot: 0.015 s are no whole number of steps of 0.01 s"},
    {PENDULUM "optimize: {cost: [{term: posture, weight: 1}], knot: 0.3}\n", "no whole number of knots of 0.3 s"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}], method: ddp, remember: true}\n",
     "optimize.remember: does not go with `method`, where knots begin at states that nothing has come to; take method: ilqr"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}], forward: 2, remember: true}\n",
     "optimize.remember: does not go with `forward`"},
    {PENDULUM "optimize: {cost: [{term: postur, weight: 1}]}\n", "unknown 'postur'; did you mean 'posture'?"},
    {PENDULUM "optimize: {cost: [{term: posture}]}\n", "optimize.cost[0].weight: missing"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1, end: 3}]}\n", "optimize.cost[0].end: the term control has none"},
    {PENDULUM "optimize: {cost: [{term: control_rate, weight: 1, end: 3}]}\n",
     "optimize.cost[0].end: the term control_rate has none"},
    {PENDULUM "optimize: {cost: [{term: control_rate}]}\n", "optimize.cost[0].weight: missing; what a square costs each second"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}], limits: [{term: control_rate, within: [0, 1], when: end}]}\n",
     "optimize.limits[0].when: motors are told nothing any more at the end"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}], limits: [{term: control_rate}]}\n",
     "a limit of the term control_rate has `within`, or `target`"},
    {PENDULUM "optimize: {cost: [{term: place, link: b, weight: 1, target: [0, 0, 1]}]}\n",
     "optimize.cost[0].link: unknown link 'b'"},
    {PENDULUM "optimize: {cost: [{term: place, link: a, weight: 1}]}\n", "optimize.cost[0].target: missing"},
    {PENDULUM "optimize: {cost: [{term: point_velocity, link: a, weight: 1}]}\n",
     "optimize.cost[0].target: missing; a velocity in axes of the world"},
    {PENDULUM "optimize: {cost: [{term: orientation, link: a, weight: 1, target: [1, 2]}]}\n",
     "optimize.cost[0].target: expected a quaternion [w, x, y, z], a rotation vector of 3 angles, or {slerp: {times, values}}"},
    {PENDULUM "optimize: {cost: [{term: orientation, link: a, weight: 1, target: {slerp: {times: [0, 1], values: [[1, 0, 0, 0], "
              "[0, 1, 0, 0]]}}}]}\n",
     "values[1]: half a turn away from the one before it, which leaves open which way; put one in between"},
    {PENDULUM "optimize: {cost: [{term: orientation, link: a, weight: 1, target: {slerp: {times: [0, 0], values: [[1, 0, 0, 0], "
              "[1, 1, 0, 0]]}}}]}\n",
     "times[1]: expected a time after 0, found '0'"},
    {PENDULUM "optimize: {cost: [{term: orientation, link: a, weight: 1, target: {slerp: {times: [0, 1], values: [[1, 0, 0, "
              "0]]}}}]}\n",
     "values: expected a list of 2 quaternions, one for each time"},
    {PENDULUM "optimize: {cost: [{term: orientation, link: a, weight: 1, target: {slerp: {times: [0, 1]}}}]}\n",
     "slerp.values: missing; a list of quaternions"},
    {PENDULUM "optimize: {cost: [{term: orientation, link: a, weight: 1, target: {sinusoid: {amplitude: 1}}}]}\n",
     "optimize.cost[0].target.sinusoid: unknown"},
    {PENDULUM "optimize: {cost: [{term: posture, weight: -1}]}\n", "optimize.cost[0].weight"},
    {PENDULUM "optimize: {cost: [{term: posture, weight: [1, 2]}]}\n", "optimize.cost[0].weight"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}], bounds: [3, -3]}\n",
     "optimize.bounds: expected [lo, hi] with lo below hi, found [3, -3]"},
    {PENDULUM "optimize: {cost: [{term: posture, joints: [a, a], weight: 1}]}\n", "is named twice"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}], method: newton}\n",
     "optimize.method: expected ilqr, plancher or ddp, found 'newton'"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}], alphas: 33}\n", "optimize.alphas"},
    {PENDULUM "optimize: {cost: [{term: control, weight: 1}]}\nsensors: [{name: x, type: joint_position, joint: a}]\n"
              "controller: {type: linear, sensors: all, range: [-1, 1]}\n",
     "stands beside `controller`"},
    {PENDULUM "controller: {type: plan, table: nowhere.csv}\n", "nowhere.csv"},
    {"catena: 1\nlinks: [{name: a, joint: {type: revolute, friction: 0.5}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n"
     "motors: [{joint: a, type: torque}]\nduration: 1\noptimize: {cost: [{term: control, weight: 1}]}\n",
     "a joint has dry friction, which begins anew at every knot"},
    {"catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\nduration: 1\n"
     "motors: [{joint: a, type: torque, target: {sinusoid: {amplitude: 1, frequency: 1}}}]\noptimize: {cost: [{term: control, "
     "weight: 1}]}\n",
     "a motor has a target that moves by itself"},
    {"catena: 1\nlinks: [{name: a, joint: ball, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\nduration: 1\n"
     "motors: [{joint: a, type: torque}]\noptimize: {cost: [{term: posture, weight: 1, target: 0}]}\n",
     "optimize.cost[0].target: expected a list of the 4 numbers of `q`"},
    {PENDULUM "controller: {type: plan}\n", "controller.table: missing; the file that catena optimize wrote"},
};
enum { BAD = sizeof bad / sizeof *bad };

START_TEST(refused)
{
    enter_scratch();
    char text[2000];
    snprintf(text, sizeof text, "%sintegrator: {method: rk4, dt: 0.01}\n", bad[_i].text);
    spit("scene.yaml", text);
    outcome o = catena("optimize", "scene.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 2 && strstr(o.err, bad[_i].says), "%d: %s\nexpected: %s", o.status, o.err, bad[_i].says);
    outcome_free(&o);
    o = catena("check", "scene.yaml");  // which knows it, too, but for scenes that are not to be optimised at all
    ck_assert_msg(!_i || (o.status == 2 && strstr(o.err, bad[_i].says)), "%d: %s\nexpected: %s", o.status, o.err, bad[_i].says);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

/// The scene and the first two commands of docs/trajectories.md: the pendulum stands in the end.
START_TEST(as_documented)
{
    enter_scratch();
    char *const page = slurp(source("docs/trajectories.md"), NULL), *const scene = between(page, "```yaml\n", "```\n"),
                *const session = between(page, "```console\n", "```\n");
    ck_assert_ptr_nonnull(strstr(session, "$ catena optimize pendulum.yaml --out up.yaml\n$ catena run up.yaml --out up.h5\n"));
    spit("pendulum.yaml", scene);
    outcome o = catena("optimize", "pendulum.yaml", "--out", "up.yaml");
    ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
    outcome_free(&o);
    cJSON *const j = catena_json(0, "run", "up.yaml", "--json", "--out", "up.h5", NULL);
    const double q = member(j, "final.q")->child->valuedouble, v = member(j, "final.v")->child->valuedouble;
    ck_assert_msg(fabs(q - 3.14159265) < 0.1 && fabs(v) < 0.1, "it ends at %g rad, %g rad/s", q, v);
    cJSON_Delete(j);
    o = catena("plot", "up.csv", "--x", "seconds", "--y", "cost,gradient", "--out", "up.png");
    ck_assert_msg(o.status == 0 && strstr(o.out, "up.png: 1 table, 1000x720"), "%s%s", o.out, o.err);
    outcome_free(&o);
    o = catena("plot", "up.csv", "--y", "defect", "--out", "up.png");  // zeros, on an axis that would be logarithmic
    ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
    outcome_free(&o);
    o = catena("plot", "up.csv", "--x", "time", "--out", "up.png");
    ck_assert_msg(o.status == 2 && strstr(o.err, "goes over iteration or seconds, found 'time'"), "%d %s", o.status, o.err);
    outcome_free(&o);
    free(page), free(scene), free(session);
    leave_scratch();
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli_optimize");
    TCase *const c = tcase_create("cli_optimize");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, found_is_played, 0, METHODS);
    tcase_add_loop_test(c, goes_on, 0, 3);
    tcase_add_test(c, holds_its_end);
    tcase_add_test(c, cannot_be_written);
    tcase_add_test(c, goes_by_what_was_told);
    tcase_add_test(c, within_bounds);
    tcase_add_test(c, many_numbers);
    tcase_add_test(c, plans_for_a_loop);
    tcase_add_loop_test(c, refused, 0, BAD);
    tcase_add_test(c, as_documented);
    suite_add_tcase(s, c);
    return run_suite(s);
}
