/// `catena run --control`: what a controller is told, what it does, how a run ends with it; and targets that move, on the command
/// line: tables, recordings, rollouts that go on.
#include "dynamics/model.h"
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char slider[] = "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                             "  - {name: cart, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 2, inertia: [0, 0, 0, 0, 0, 0]}\n"
                             "motors: [{joint: cart, type: torque}]\n"
                             "integrator: {method: semi-implicit, dt: 0.01}\nduration: 1\n";

static void setup(void)
{
    enter_scratch();
    spit("slider.yaml", slider);
}

static void teardown(void) { leave_scratch(); }

/// Its force is the number of the step: what comes of it is a sum. It keeps all that it is told.
#define COUNTS                                                                                                                   \
    "read -r hello; echo \"$hello\" > told; while read -r line; do n=$((n+1)); echo \"$line\" >> told; echo \"{\\\"%s\\\": "     \
    "[$n]}\"; done"

START_TEST(lockstep)
{
    static const char *const names[] = {"target", "force"};
    char command[400];
    snprintf(command, sizeof command, COUNTS, names[_i]);
    cJSON *const j = catena_json(0, "run", "slider.yaml", "--control", command, "--json", "--out", "run.csv", NULL);
    ck_assert_double_eq(number(j, "steps"), 100);
    ck_assert_double_eq_tol(member(j, "final.v")->child->valuedouble, 5050 * 0.01 / 2, 1e-10);
    cJSON_Delete(j);
    char *const told = slurp("told", NULL), *line = told;
    int lines = 0;
    for (char *end; *line && (end = strchr(line, '\n')); line = end + 1, lines++) {
        *end = 0;
        cJSON *const o = cJSON_Parse(line);
        ck_assert_ptr_nonnull(o);
        if (lines == 0) {
            ck_assert_str_eq(member(o, "motors")->child->child->valuestring, "cart");
            ck_assert_double_eq(number(o, "dt"), 0.01);
        } else {
            const double n = lines - 1;
            ck_assert_double_eq(number(o, "step"), n);
            ck_assert_double_eq_tol(number(o, "time"), n * 0.01, 1e-12);
            ck_assert_double_eq_tol(member(o, "v")->child->valuedouble, n * (n + 1) / 2 * 0.01 / 2, 1e-12);
        }
        cJSON_Delete(o);
    }
    ck_assert_int_eq(lines, 101);
    free(told);
}
END_TEST

/// How it ends: by the controller, in order or not, by what it says, and by a signal.
static const struct {
    const char *command;
    int status;
    const char *says;
} endings[] = {
    {"read x; for k in 1 2 3; do read x; echo '{}'; done", 0, ""},
    {"read x; read x; echo '{\"stop\": true}'; read x", 0, ""},
    {"read x; for k in 1 2 3; do read x; echo '{}'; done; exit 7", 7,
     "error: --control: the process ended with status 7 before step 3\n"},
    {"read x; read x; kill -9 $$", 137, "error: --control: the process was ended by signal 9 before step 0\n"},
    {"/nowhere/at-all", 127, "error: --control: the process ended with status 127 before step 0\n"},
    {"read x; read x; echo hello; read x", 1,
     "error: --control: expected an object of JSON in a line, as {\"target\": [0.1]} or {}\n"},
    {"read x; read x; echo '{\"target\": [1, 2]}'; read x", 1,
     "error: --control: \"target\": expected a list of 1, a number or null for each motor\n"},
    {"read x; read x; echo '{\"target\": [true]}'; read x", 1,
     "error: --control: \"target\": motor 0: expected a finite number or null\n"},
    {"read x; read x; echo '{\"kp\": [1]}'; read x", 1, "error: --control: \"kp\": motor 0 has none; say null\n"},
    {"read x; read x; echo '{\"force\": [1e999]}'; read x", 1,
     "error: --control: \"force\": entry 0: expected a finite number\n"},
    {"read x; read x; echo '{\"effort\": [-1]}'; read x", 1,
     "error: --control: world 0: motor_effort: expected a number >= 0, or infinity, found -1\n"},
    {"read x; read x; echo '{\"torque\": [1]}'; read x", 1,
     "error: --control: \"torque\": unknown; an answer has target, velocity_target, feedforward, kp, kd, effort, ki, speed, "
     "force, stop\n"},
};
enum { ENDINGS = sizeof endings / sizeof *endings };

/// It is told what sensors say: the same as a recording has of each step.
START_TEST(sensors)
{
    spit(
        "sensed.yaml",
        "catena: 1\nlinks:\n  - {name: arm, joint: {type: revolute, axis: [0, 1, 0], friction: 0.1}, mass: 1, com: [0.5, 0, 0],\n"
        "     inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\nsensors:\n  - {name: angle, type: joint_position, joint: arm, noise: 0.1}\n"
        "  - {name: imu, type: imu, link: arm, delay: 0.02}\nintegrator: {method: alpha, dt: 0.01}\nduration: 0.1\n");
    cJSON *const j = catena_json(0, "run", "sensed.yaml", "--control",
                                 "read x; echo \"$x\" > told; while read x; do "
                                 "echo \"$x\" >> told; echo {}; done",
                                 "--json", "--out", "run.csv", NULL);
    cJSON_Delete(j);
    char *const told = slurp("told", NULL), *const table = slurp("run.csv", NULL), *line = told, *row = strstr(table, "\ntime,");
    ck_assert_ptr_nonnull(row);
    const size_t names = (size_t)(strstr(row, "sensor.angle") - row);  // their columns
    int before = 0, lines = 0;
    for (size_t k = 0; k < names; k++) before += row[k] == ',';
    row = strchr(row + 1, '\n') + 1;
    for (char *end; *line && (end = strchr(line, '\n')); line = end + 1, lines++) {
        *end = 0;
        cJSON *const o = cJSON_Parse(line);
        const cJSON *const list = member(o, "sensors");
        if (!lines) {
            ck_assert_str_eq(member(list->child->next, "name")->valuestring, "imu");
            ck_assert_str_eq(member(list->child->next, "type")->valuestring, "imu");
            ck_assert_double_eq(number(list->child->next, "first"), 1);
            ck_assert_double_eq(number(list->child->next, "count"), 6);
        } else {
            char *at = row;
            ck_assert_int_eq(cJSON_GetArraySize(list), 7);
            for (int k = 0; k < before; k++) at = strchr(at, ',') + 1;
            for (const cJSON *x = list->child; x; x = x->next, at++)
                ck_assert_msg(x->valuedouble == strtod(at, &at), "step %d: told %.17g", lines - 1, x->valuedouble);
            row = strchr(row, '\n') + 1;
        }
        cJSON_Delete(o);
    }
    ck_assert_int_eq(lines, 11);
    free(told), free(table);
}
END_TEST

START_TEST(ends)
{
    outcome o = catena("run", "slider.yaml", "--control", endings[_i].command, "--quiet", "--out", "run.h5");
    ck_assert_msg(o.status == endings[_i].status && strstr(o.err, endings[_i].says), "status %d: %s", o.status, o.err);
    ck_assert(*endings[_i].says || !*o.err);
    outcome_free(&o);
    o = catena("plot", "run.h5", "--y", "q", "--out", "q.svg", "--quiet");  // the recording is closed
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
}
END_TEST

/// One that does not answer is no prison: a signal ends both.
START_TEST(interrupted)
{
    static const char *const args[] = {"run",     "slider.yaml", "--control", "read x; read x; echo $$ > pid; exec sleep 1000",
                                       "--quiet", NULL};
    const pid_t pid = catena_start(args);
    wait_for_handler(pid, SIGINT);
    for (int k = 0; k < 1000 && access("pid", R_OK); k++) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    kill(pid, SIGINT);
    outcome o = catena_wait(pid);
    ck_assert_int_eq(o.status, 1);
    ck_assert_msg(strstr(o.err, "interrupted after 0 of 100 steps"), "%s", o.err);
    outcome_free(&o);
    char *const text = slurp("pid", NULL);
    ck_assert(kill((pid_t)atoi(text), 0) != 0);  // it is gone, too
    free(text);
}
END_TEST

START_TEST(refused)
{
    outcome o = catena("run", "slider.yaml", "--control", "cat", "--worlds", "2");
    ck_assert_int_eq(o.status, 2);
    ck_assert_str_eq(o.err, "error: --control steers one world, not 2\n");
    outcome_free(&o);
    o = catena("run", "slider.yaml", "--control", "cat", "--save-freeze", "there");
    ck_assert_int_eq(o.status, 2);
    ck_assert_str_eq(o.err,
                     "error: --save-freeze: the steps of a run with --control cannot be made again; record them with --out\n");
    outcome_free(&o);
}
END_TEST

// ---- targets that move

static const char arm[] =
    "catena: 1\nlinks:\n"
    "  - {name: arm, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n"
    "  - {name: fore, parent: arm, position: [1, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.5, com: [0.2, 0, 0], "
    "inertia: "
    "[0.001, 0.002, 0.001, 0, 0, 0]}\n"
    "motors:\n"
    "  - {joint: arm, type: position, kp: 500, kd: 20, target: {table: table.csv, column: lift}}\n"
    "  - {joint: fore, type: position, kp: 100, kd: 5, target: {table: table.csv, column: turn, hold: zero}}\n"
    "integrator: {method: radau, dt: 0.01}\nduration: 1\n"
    "sample: {q: {all: {uniform: [-0.5, 0.25]}}}\n";

/// A recording has the tables of its scene: without the file it is made again, to the last bit. So are rollouts.
START_TEST(tables)
{
    spit("arm.yaml", arm), spit("table.csv", "# angles\ntime,lift,\"turn\"\n0, 0, 0\n\n0.5, 0.3, 1\n1, -0.2, 2\n");
    cJSON *const j = catena_json(0, "info", "arm.yaml", "--json", NULL);
    ck_assert_str_eq(member(member(j, "motors")->child, "moves.target")->valuestring, "lines, 3 points");
    ck_assert_str_eq(member(member(j, "motors")->child->next, "moves.target")->valuestring, "steps, 3 points");
    cJSON_Delete(j);
    static const char *const makes[][12] = {
        {"run", "arm.yaml", "--out", "run.h5", "--hash", "--quiet", NULL},
        {"rollout", "arm.yaml", "--worlds", "9", "--steps", "60", "--hash", "--out", "rollout.h5", "--quiet", NULL}};
    for (int k = 0; k < 2; k++) {
        outcome o = catena_wait(catena_start(makes[k]));
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
    }
    ck_assert_int_eq(rename("table.csv", "gone.csv"), 0);
    for (int k = 0; k < 2; k++) {
        outcome o = catena("replay", k ? "rollout.h5" : "run.h5", "--verify");
        ck_assert_msg(o.status == 0 && strstr(o.out, "identical"), "%s%s", o.out, o.err);
        outcome_free(&o);
    }
    outcome o = catena("check", "arm.yaml");
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "motors[0].target.table: 'table.csv' cannot be read"));
    outcome_free(&o);
}
END_TEST

/// What is wrong with a table has its line.
static const struct {
    const char *text, *says;
} bad[] = {
    {"", "table.csv:1:1: an empty table; its first line names the columns, of which one is `time`"},
    {"x,lift,turn\n", "table.csv:1:1: expected a column `time`, s, among the names of the columns"},
    {"time,lift,lift\n", "table.csv:1:1: two columns are called 'lift'"},
    {"time,lift,\"turn\n", "table.csv:1:1: a quote that is not closed, or has text behind it"},
    {"time,lift,turn\n0,0,0\n", "table.csv:2:1: expected at least 2 rows of numbers, found 1"},
    {"time,lift,turn\n0,0,0\n1,2\n", "table.csv:3:1: expected 3 numbers, one for each column"},
    {"time,lift,turn\n0,0,0\n1,2,3,4\n", "table.csv:3:1: expected 3 numbers, one for each column, found more"},
    {"time,lift,turn\n0,0,0\n1,x,3\n", "table.csv:3:1: lift: expected a finite number, found 'x'"},
    {"time,lift,turn\n0,0,0\n0,1,3\n", "table.csv:3:1: time: expected more than 0, that of the row before, found 0"},
    {"time,lift\n0,0\n1,1\n", "motors[1].target.column: the table has no column 'turn'"},
};
enum { BAD = sizeof bad / sizeof *bad };

START_TEST(bad_tables)
{
    spit("arm.yaml", arm), spit("table.csv", bad[_i].text);
    outcome o = catena("check", "arm.yaml");
    ck_assert_msg(o.status == 2 && strstr(o.err, bad[_i].says), "status %d: %s", o.status, o.err);
    outcome_free(&o);
}
END_TEST

/// Files that are included are ahead by their `phase`, those in them by both.
START_TEST(phases)
{
    spit("leg.yaml", "catena: 1\ngaits: [{name: trot, frequency: 1}]\nlinks:\n"
                     "  - {name: hip, joint: {type: revolute}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                     "motors: [{joint: hip, type: position, kp: 1, target: {gait: trot, amplitude: 1, phase: 0.125}}]\n");
    spit("pair.yaml", "catena: 1\ninclude: [{file: leg.yaml, as: left}, {file: leg.yaml, as: right, phase: 0.5}]\n");
    spit("four.yaml", "catena: 1\ninclude: [{file: pair.yaml, as: front}, {file: pair.yaml, as: hind, phase: 0.25}]\n");
    static const double phases[] = {0.125, 0.625, 0.375, 0.875};
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load("four.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_int_eq(m->nsignal, 4);
    for (int k = 0; k < 4; k++) ck_assert_double_eq(m->signals[k].phase, phases[k]);
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// The shipped eel swims forwards, by its gait.
START_TEST(eel)
{
    cJSON *const j = catena_json(0, "run", source("scenes/eel.yaml"), "--json", NULL);
    const cJSON *const q = member(j, "final.q")->child;
    ck_assert_msg(q->valuedouble > 0.5 && fabs(q->next->valuedouble) < 0.2, "at %g, %g m", q->valuedouble, q->next->valuedouble);
    cJSON_Delete(j);
}
END_TEST

/// So does the one with fins; the kite is held up by the wind.
START_TEST(in_fluids)
{
    cJSON *j = catena_json(0, "run", source("scenes/swimmer.yaml"), "--json", NULL);
    const cJSON *q = member(j, "final.q")->child;
    ck_assert_msg(q->valuedouble > 0.9 && fabs(q->next->valuedouble) < 0.1, "at %g, %g m", q->valuedouble, q->next->valuedouble);
    cJSON_Delete(j);
    j = catena_json(0, "run", source("scenes/kite.yaml"), "--json", NULL);
    const double start = number(j, "energy.potential.initial"), end = number(j, "energy.potential.final");
    ck_assert_msg(end > 0.6 * start, "fell from %g to %g J", start, end);
    cJSON_Delete(j);
}
END_TEST

static int link_called(const ctn_model *m, const char *name)
{
    for (int l = 0; l < ctn_model_nlink(m); l++)
        if (!strcmp(ctn_model_link(m, l)->name, name)) return l;
    ck_abort_msg("no link %s", name);
}

/// The shipped robot on two legs walks in the air: left and right do the same half a cycle apart, and its strap holds it.
START_TEST(walker)
{
    enum { STEPS = 250, HALF = 31, STEADY = 150 };  // of 0.02 s each; nearly half of 1.25 s; when the gait has grown
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load(source("scenes/walker.yaml"), &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    const int nlink = ctn_model_nlink(m), chest = link_called(m, "chest"),
              left = ctn_model_link(m, link_called(m, "l_thigh"))->qadr,
              right = ctn_model_link(m, link_called(m, "r_thigh"))->qadr;
    double q[100], v[100], angle[2][STEPS], low = 1, high = -1;
    double *const R = malloc(12 * (size_t)nlink * sizeof *R), *const p = R + (ptrdiff_t)9 * nlink;
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    for (int k = 0; k < STEPS; k++) {
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, &err), CTN_OK);
        ctn_batch_state(b, q, v), ctn_forward_kinematics(dyn, 1, q, R, p);
        angle[0][k] = q[left], angle[1][k] = q[right];
        low = fmin(low, q[left]), high = fmax(high, q[left]);
        ck_assert_msg(fabs(p[3 * chest + 2] - 1.35) < 0.02, "step %d: hangs at %g m", k, p[3 * chest + 2]);
    }
    ck_assert_msg(high - low > 0.6, "its thighs swing by %g rad", high - low);
    for (int k = STEADY; k < STEPS; k++)
        ck_assert_msg(fabs(angle[0][k] - angle[1][k - HALF]) < 0.12, "step %d: left at %g, right was at %g rad", k, angle[0][k],
                      angle[1][k - HALF]);
    free(R), ctn_dynamics_free(dyn), ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// The shipped quadrotor is at its first corner after three seconds, by its controller.
START_TEST(quadrotor)
{
    if (system("command -v python3 >/dev/null")) return;
    char command[300];
    snprintf(command, sizeof command, "python3 '%s'", source("scenes/quadrotor.py"));
    char *const scene = strdup(source("scenes/quadrotor.yaml"));
    cJSON *const j = catena_json(0, "run", scene, "--json", "--duration", "3", "--control", command, NULL);
    const double corner[3] = {2, 0, 2};
    const cJSON *q = member(j, "final.q")->child;
    for (int k = 0; k < 3; k++, q = q->next) ck_assert_double_eq_tol(q->valuedouble, corner[k], 0.1);
    cJSON_Delete(j), free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("control");
    TCase *const t = tcase_create("control");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, lockstep, 0, 2);
    tcase_add_test(t, sensors);
    tcase_add_loop_test(t, ends, 0, ENDINGS);
    tcase_add_test(t, interrupted);
    tcase_add_test(t, refused);
    tcase_add_test(t, tables);
    tcase_add_loop_test(t, bad_tables, 0, BAD);
    tcase_add_test(t, phases);
    tcase_add_test(t, eel);
    tcase_add_test(t, in_fluids);
    tcase_add_test(t, walker);
    tcase_add_test(t, quadrotor);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
