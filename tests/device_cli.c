/// The command on the GPU's engines, through their twins (tests/device_twin.cpp): what it does when launches fail.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char scene_text[] =
    "catena: 1\n"
    "links:\n"
    "  - {name: upper, joint: ball, mass: 1, com: [0, 0.1, 0.2], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: lower, parent: upper, position: [0, 0, 1], joint: {type: revolute, stiffness: 2}, mass: 1, com: [0.2, 0, 0], "
    "inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "integrator: {method: rk4, dt: 0.01}\n"
    "sample: {seed: 5, q: {all: {uniform: [-0.5, 0.25]}}, v: {all: {normal: [0, 2]}}}\n";

enum { NV = 4, STEPS = 5 };

static void setup(void)
{
    double tau[STEPS * NV];
    enter_scratch();
    spit("scene.yaml", scene_text);
    for (int k = 0; k < STEPS * NV; k++) tau[k] = sin(k);
    put_numbers("tau.h5", "tau", 2, (hsize_t[]){STEPS, NV}, tau);
}

static void teardown(void) { leave_scratch(); }

/// The command with so many launches that succeed; negative: all.
static outcome with_launches(int launches, const char *const *args)
{
    char text[16];
    snprintf(text, sizeof text, "%d", launches);
    if (launches < 0) unsetenv("CTN_TWIN_LAUNCHES");
    else setenv("CTN_TWIN_LAUNCHES", text, 1);
    return catena_wait(catena_start(args));
}

static void expect(int launches, int status, const char *says, const char *const *args)
{
    outcome o = with_launches(launches, args);
    ck_assert_msg(o.status == status, "%d launches: exit status %d: %s%s", launches, o.status, o.out, o.err);
    ck_assert_msg(strstr(o.err, says) != NULL, "%d launches: expected '%s', found '%s'", launches, says, o.err);
    outcome_free(&o);
}

static void all_finite(const char *file, const char *name)
{
    size_t n;
    double *const x = numbers(file, name, &n);
    for (size_t k = 0; k < n; k++) ck_assert_msg(isfinite(x[k]), "%s: %s has %g", file, name, x[k]);
    free(x);
}

#define ROLLOUT "rollout", "scene.yaml", "--quiet", "--worlds", "3", "--steps", "5", "--hash", "--keep", "q,v,pose,energy"

/// Wherever it fails, the exit status says so, nothing is taken for done, and --resume makes the worlds.
START_TEST(rollout_fails)
{
    static const char *const controls[] = {"--controls", "tau.h5", NULL}, *const none[] = {NULL};
    const char *const *const more = _i ? controls : none;
    const char *whole[20] = {ROLLOUT, "--engine", "scalar", "--out", "whole.h5", more[0], _i ? more[1] : NULL},
               *broken[20] = {ROLLOUT, "--engine", "cuda", "--resume", "--out", "f.h5", more[0], _i ? more[1] : NULL};
    int failures = 0;
    expect(-1, 0, "", whole);
    for (int launches = 2, status = 1; status; launches++) {
        remove("f.h5");
        outcome o = with_launches(launches, broken);
        status = o.status;
        if (status) ck_assert_msg(strstr(o.err, "engine: 'cuda' failed") != NULL, "%d launches: %s", launches, o.err);
        outcome_free(&o);
        if (!status || access("f.h5", F_OK)) continue;  // it failed before the file was begun: no engine, exit status 2
        ck_assert_int_eq(status, 1);
        ck_assert_uint_eq(worlds_done("f.h5"), 0);
        failures++;
        ck_assert_int_lt(launches, 1000);
    }
    ck_assert_int_gt(failures, 10);
    same_datasets("whole.h5", "f.h5");
    remove("f.h5");
    expect(12, 1, "engine: 'cuda' failed", broken);
    expect(-1, 0, "", broken);
    same_datasets("whole.h5", "f.h5");
}
END_TEST

/// What is recorded stays, and is right.
START_TEST(run_fails)
{
    static const char *const args[] = {"run",   "scene.yaml", "--engine", "cuda", "--steps", "500",
                                       "--out", "r.h5",       "--every",  "5",    NULL};
    static const char *const replay[] = {"replay", "r.h5", "--verify", "--engine", "scalar", NULL};
    expect(40, 1, "engine: 'cuda' failed: ", args);
    expect(40, 1, "of 500 steps; the recording has what came before", args);
    all_finite("r.h5", "q");
    size_t n;
    free(numbers("r.h5", "time", &n));
    ck_assert_uint_gt(n, 1);
    ck_assert_uint_lt(n, 101);
    expect(-1, 0, "", replay);
}
END_TEST

START_TEST(others_fail)
{
    static const char *const rollout[] = {ROLLOUT, "--out", "f.h5", NULL};
    static const char *const run[] = {"run", "scene.yaml", "--steps", "20", "--out", "r.h5", "--quiet", NULL};
    static const char *const replay_rollout[] = {"replay", "f.h5", "--verify", "--engine", "cuda", NULL};
    static const char *const replay_run[] = {"replay", "r.h5", "--verify", "--engine", "cuda", NULL};
    static const char *const sweep[] = {"check", "scene.yaml", "--dt-sweep", "--duration", "0.5", NULL};
    expect(-1, 0, "", rollout);
    expect(-1, 0, "", run);
    expect(-1, 0, "", replay_rollout);
    expect(-1, 0, "", replay_run);
    expect(12, 1, "engine: 'cuda' failed", replay_rollout);
    expect(12, 1, "engine: 'cuda' failed", replay_run);
    setenv("CTN_ENGINE", "cuda", 1);
    expect(5, 1, "engine: 'cuda' failed", sweep);
    unsetenv("CTN_ENGINE");
}
END_TEST

/// Worlds in single precision and in double precision do not go into one file; a file that has the former is replayed in it.
START_TEST(single_precision)
{
    static const char *const single[] = {ROLLOUT, "--resume", "--out", "f.h5", "--engine", "cuda-float", NULL};
    static const char *const twice[] = {ROLLOUT, "--resume", "--out", "f.h5", "--engine", "scalar", NULL};
    static const char *const other[] = {ROLLOUT, "--resume", "--out", "d.h5", "--engine", "cuda-float", NULL};
    static const char *const both[] = {ROLLOUT, "--resume", "--out", "d.h5", "--engine", "scalar", NULL};
    static const char *const run[] = {"run", "scene.yaml", "--steps", "20", "--out", "r.h5", "--engine", "cuda-float", NULL};
    static const char *const same[] = {"replay", "f.h5", "--verify", NULL}, *const of_run[] = {"replay", "r.h5", "--verify",
                                                                                               NULL};
    static const char *const differs[] = {"replay", "f.h5", "--verify", "--engine", "scalar", NULL};
    expect(-1, 0, "", single);
    expect(-1, 0, "", run);
    expect(-1, 0, "", both);
    spoil("f.h5", "status", 2), spoil("d.h5", "status", 2);
    expect(-1, 2,
           "f.h5: cannot be resumed: its worlds were made by engine cuda-float, and scalar gives other bits; resume it with "
           "--engine cuda-float, or start anew",
           twice);
    expect(-1, 2, "d.h5: cannot be resumed: its worlds were made by engine scalar, and cuda-float gives other bits", other);
    ck_assert_uint_eq(worlds_done("f.h5"), 2);
    expect(-1, 0, "", single);
    ck_assert_uint_eq(worlds_done("f.h5"), 3);
    expect(-1, 0, "", same);
    expect(-1, 0, "", of_run);
    expect(-1, 1, "the file was made by engine cuda-float, and scalar gives other bits; take --engine cuda-float", differs);
}
END_TEST

/// A plan, and one that is made anew while its plant is on the device, are those of the CPU; --resume goes on where it failed.
START_TEST(plans)
{
    spit("plan.yaml", "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, -0.5],\n"
                      "  inertia: [0.1, 0.1, 0.1, 0, 0, 0]}]\nmotors: [{joint: a, type: torque, effort: 9}]\nduration: 1\n"
                      "integrator: {method: rk4, dt: 0.02}\noptimize:\n  iterations: 12\n  backward: 2\n  forward: 3\n"
                      "  cost: [{term: posture, weight: 1, end: 100, target: 1}, {term: control, weight: 0.01}]\n");
    static const char *const here[] = {"optimize", "plan.yaml", "--out", "here.yaml", "--engine", "scalar", NULL};
    static const char *const there[] = {"optimize", "plan.yaml", "--out", "there.yaml", "--engine", "cuda", NULL};
    static const char *const on[] = {"optimize", "plan.yaml", "--out", "there.yaml", "--engine", "cuda", "--resume", NULL};
    expect(-1, 0, "", here);
    expect(1, 2, "engine: 'cuda' failed", there);
    expect(20, 1, "engine: 'cuda' failed", there);
    ck_assert(access("there.plan.csv", F_OK) != 0 && !access("there.checkpoint", F_OK));
    expect(-1, 0, "", on);
    size_t sizes[2];
    char *const plans[] = {slurp("here.plan.csv", &sizes[0]), slurp("there.plan.csv", &sizes[1])};
    ck_assert(sizes[0] == sizes[1] && !memcmp(plans[0], plans[1], sizes[0]));
    free(plans[0]), free(plans[1]);

    double *q[2];
    for (int k = 0; k < 2; k++) {
        const char *const mpc[] = {"mpc", "plan.yaml", "--duration",          "0.2",   "--horizon",
                                   "0.4", "--engine",  k ? "cuda" : "scalar", "--out", k ? "there.h5" : "here.h5",
                                   NULL};
        expect(-1, 0, "", mpc);
        q[k] = numbers(k ? "there.h5" : "here.h5", "q", &sizes[k]);
    }
    ck_assert(sizes[0] == 11 && sizes[1] == 11 && !memcmp(q[0], q[1], sizes[0] * sizeof *q[0]));
    free(q[0]), free(q[1]);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("device_cli");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, rollout_fails, 0, 2);
    tcase_add_test(all, run_fails);
    tcase_add_test(all, others_fail);
    tcase_add_test(all, single_precision);
    tcase_add_test(all, plans);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
