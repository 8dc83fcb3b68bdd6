/// `catena replay`: runs and rollouts made again from their files alone; what differs is found, and what cannot be replayed is
/// said.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char scene_text[] = "catena: 1\n"
                                 "name: drawn\n"
                                 "include: [{file: parts/arm.yaml, as: left}, {file: parts/arm.yaml, as: right}]\n"
                                 "integrator: {method: collocation, dt: 0.02}\n"
                                 "sample: {seed: 5, q: {all: {uniform: [-0.5, 0.25]}}, v: {all: {normal: [0, 2]}}}\n";

static const char arm_text[] =
    "catena: 1\n"
    "include: [hand.yaml]\n"
    "links:\n"
    "  - {name: upper, joint: ball, mass: 1, com: [0, 0.1, 0.2], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: lower, parent: upper, position: [0, 0, 1], joint: {type: revolute, stiffness: 2, q0: 0.3}, mass: 1, "
    "com: [0.2, 0, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n";

static const char hand_text[] =
    "catena: 1\nlinks:\n"
    "  - {name: hand, joint: {type: free, v0: [0, 0, 1, 3, 2, 1]}, mass: 1, com: [0, 0, 0], inertia: [1, 1.5, 1.7, 0, 0, 0]}\n";

static void setup(void)
{
    enter_scratch();
    spit("scene.yaml", scene_text);
    ck_assert_int_eq(system("mkdir parts"), 0);
    spit("parts/arm.yaml", arm_text);
    spit("parts/hand.yaml", hand_text);
}

static void teardown(void) { leave_scratch(); }

/// Runs the command, up to NULL; expects its status and words in what it printed, errors if it failed.
static void expect(int status, const char *says, const char *const *args)
{
    outcome o = catena_wait(catena_start(args));
    ck_assert_msg(o.status == status, "exit status %d: %s%s", o.status, o.out, o.err);
    const char *const said = status ? o.err : o.out;
    ck_assert_msg(strstr(said, says) != NULL, "expected '%s', found '%s'", says, said);
    outcome_free(&o);
}

static void verify(const char *file, int status, const char *says)
{
    expect(status, says, (const char *const[]){"replay", file, "--verify", NULL});
}

static void rollout(const char *const *options)
{
    const char *args[30] = {"rollout", "scene.yaml", "--quiet", "--out", "f.h5"};
    for (int n = 5; n < 29 && *options; n++) args[n] = *options++;
    expect(0, "", args);
}

static const char *const methods[][10] = {
    {"--steps", "23", "--dt", "0.01"},
    {"--steps", "23", "--method", "rk4", "--dt", "0.0031"},
    {"--steps", "7", "--method", "dop853", "--dt", "auto", "--interval", "0.03", "--tolerance", "1e-5"},
    {"--steps", "9", "--method", "radau", "--stages", "3", "--solver", "lbfgs", "--max-iterations", "7"},
    {"--steps", "9", "--method", "radau", "--dt", "auto"},
    {"--steps", "11", "--method", "variational", "--order", "4", "--dt", "0.005"},
    {"--steps", "11", "--order", "4", "--tolerance", "3.3e-10", "--max-halvings", "3", "--dt", "0.005"},
    {"--steps", "9", "--method", "alpha", "--parallel", "links", "--lanes", "16", "--dt", "0.005"},
    {"--steps", "9", "--parallel", "both"},
    {"--steps", "0"},
};
enum { METHODS = sizeof methods / sizeof *methods };

/// Every option that changes the motion is in the file, and the scene's texts: the files may be gone.
START_TEST(identical)
{
    const bool run = _i >= METHODS;
    const char *args[30] = {run ? "run" : "rollout",      "scene.yaml", "--quiet", "--out", "f.h5", "--worlds", "5", "--hash",
                            run ? "--every" : "--stride", "4"};
    for (int k = 0; k < 10 && methods[_i % METHODS][k]; k++) args[10 + k] = methods[_i % METHODS][k];
    expect(0, "", args);
    remove("scene.yaml"), remove("parts/arm.yaml"), remove("parts/hand.yaml");
    char says[100];
    snprintf(says, sizeof says, "identical: 5 worlds, %s steps (", methods[_i % METHODS][1]);
    static const char *const engines[] = {"scalar", "auto"}, *const threads[] = {"1", "3"};
    for (int k = 0; k < 2; k++)
        expect(0, says,
               (const char *const[]){"replay", "f.h5", "--verify", "--engine", engines[k], "--threads", threads[k], NULL});
    expect(0, "replayed      5 worlds", (const char *const[]){"replay", "f.h5", NULL});
    outcome o = catena("replay", "f.h5", "--verify", "--quiet");
    ck_assert_str_eq(o.out, "");
    ck_assert_str_eq(o.err, "");
    outcome_free(&o);
}
END_TEST

/// Rollouts differ in the last bit of a number or in a hash.
START_TEST(rollout_differs)
{
    enum { NQ = 24, NV = 20, TIMES = 7, WORLDS = 9, HASHES = 22 };
    static const char *const options[] = {"--worlds", "9",      "--steps", "21",       "--stride",
                                          "4",        "--hash", "--keep",  "q,v,pose", NULL};
    rollout(options);
    verify("f.h5", 0, "identical: 9 worlds, 21 steps (7 states and the hashes of all steps of each)");
    spoil("f.h5", "hash", 6 * HASHES + 11);
    verify("f.h5", 1, "world 6 differs at step 11 (0.22 s): its hash is ");
    verify("f.h5", 1, "all states that the file has are the same");
    verify("f.h5", 1, "1 of 9 worlds differ");
    spoil("f.h5", "v", (7 * TIMES + 6) * NV + 7);  // the last state, of step 21
    verify("f.h5", 1, "world 7 differs at step 21 (0.42 s), link 'left.upper': v.left.upper.wy is ");
    spoil("f.h5", "q", (8 * TIMES + 5) * NQ + 11);
    verify("f.h5", 1, "world 8 differs at step 20 (0.4 s), link 'left.lower': q.left.lower is ");
    spoil("f.h5", "pose", ((3 * TIMES + 5) * 6 + 4) * 7 + 1);
    verify("f.h5", 1, "world 3 differs at step 20 (0.4 s), link 'right.upper': pose.right.upper.y is ");
    verify("f.h5", 1, "4 of 9 worlds differ");
}
END_TEST

/// So do totals, `status` and times.
START_TEST(totals_differ)
{
    static const char *const names[] = {"steps", "iterations", "fallbacks", "energy_before", "energy_after", "frozen_time"};
    static const char *const options[] = {"--worlds", "9", "--steps", "5", NULL};
    char says[100];
    for (int k = 0; k < 6; k++) {
        rollout(options);
        spoil("f.h5", names[k], 4);
        snprintf(says, sizeof says, "error: world 4 differs: its `%s` is ", names[k]);
        verify("f.h5", 1, says);
        verify("f.h5", 1, "all states that the file has are the same");
        verify("f.h5", 1, "1 of 9 worlds differ");
    }
    rollout(options);
    spoil("f.h5", "time", 3);
    verify("f.h5", 1, "`time` in the file is not when its states were taken");
    rollout(options);
    const hid_t file = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, "status", H5P_DEFAULT);
    int status[9] = {0, 0, 2};
    H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, status);
    H5Dclose(set), H5Fclose(file);
    verify("f.h5", 1, "error: world 2 differs: its `status` is 2 in the file and 0 now");
}
END_TEST

START_TEST(run_differs)
{
    enum { NQ = 24, WORLDS = 3 };
    expect(0, "",
           (const char *const[]){"run", "scene.yaml", "--quiet", "--out", "f.h5", "--worlds", "3", "--steps", "21", "--every",
                                 "4", "--hash", NULL});
    verify("f.h5", 0, "identical: 3 worlds, 21 steps (7 states and the hashes of all steps of each)");
    spoil("f.h5", "q", (2 * WORLDS + 1) * NQ + 2);
    verify("f.h5", 1, "world 1 differs at step 8 (0.16 s), link 'left.hand': q.left.hand.z is ");
    spoil("f.h5", "hash", 7 * WORLDS + 2);
    verify("f.h5", 1, "world 2 differs at step 7 (0.14 s): its hash is ");
    verify("f.h5", 1, "2 of 3 worlds differ");
}
END_TEST

/// Worlds that freeze do so again.
START_TEST(frozen)
{
    for (int k = 0; k < 2; k++) {
        const char *const args[] = {k ? "run" : "rollout",
                                    "scene.yaml",
                                    "--quiet",
                                    "--out",
                                    "f.h5",
                                    "--worlds",
                                    "9",
                                    "--steps",
                                    "400",
                                    "--method",
                                    "euler",
                                    "--dt",
                                    "0.5",
                                    "--hash",
                                    NULL};
        expect(1, "frozen", args);
        verify("f.h5", 0, "identical: 9 worlds, ");
    }
}
END_TEST

/// A rollout is compared as far as it is done; a killed run as far as it has records.
START_TEST(unfinished)
{
    static const char *const options[] = {"--worlds", "9", "--steps", "5", "--hash", NULL};
    rollout(options);
    spoil("f.h5", "status", 8), spoil("f.h5", "status", 7), spoil("f.h5", "q", (8 * 6 + 2) * 24);
    verify("f.h5", 0, "unfinished    the file has 7 of 9 worlds");
    verify("f.h5", 0, "identical: 7 worlds, 5 steps (");
    for (size_t w = 0; w < 7; w++) spoil("f.h5", "status", w);
    verify("f.h5", 1, "f.h5: there is nothing to compare: no world is done");

    static const char *const run[] = {"run",        "scene.yaml", "--out", "r.h5",   "--steps",
                                      "1000000000", "--every",    "3",     "--hash", NULL};
    const pid_t pid = catena_start(run);
    while (access("r.h5", R_OK)) nanosleep(&(struct timespec){0, 10000000}, NULL);
    for (size_t n = 0; n < 2; nanosleep(&(struct timespec){0, 50000000}, NULL)) free(numbers("r.h5", "time", &n));
    kill(pid, SIGKILL);
    outcome o = catena_wait(pid);
    outcome_free(&o);
    verify("r.h5", 0, "unfinished    the end is missing in the file");
    verify("r.h5", 0, "identical: 1 world, ");
}
END_TEST

static void change_attribute(const char *name, const double *value)
{
    const hid_t file = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    if (H5Aexists(file, name) > 0) H5Adelete(file, name);
    if (value) {
        const hid_t id = H5Acreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(id, H5T_NATIVE_DOUBLE, value);
        H5Aclose(id);
    }
    H5Sclose(space), H5Fclose(file);
}

/// Files that are no recordings, lack something, or have something that is not known here.
START_TEST(cannot_be_replayed)
{
    static const char *const options[] = {"--worlds", "3", "--steps", "5", NULL};
    verify("nowhere.h5", 2, "nowhere.h5: cannot be read: No such file or directory");
    verify("scene.yaml", 2, "scene.yaml: cannot be read: it is no HDF5 file");
    H5Fclose(H5Fcreate("empty.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    verify("empty.h5", 2, "empty.h5: is no recording of catena run or catena rollout");
    rollout(options);
    change_attribute("wind", &(double){3});
    verify("f.h5", 2, "f.h5: cannot be replayed: wind is 3 in the file and nothing now");
    rollout(options);
    change_attribute("nq", &(double){5});
    verify("f.h5", 2, "f.h5: cannot be replayed: nq is 5 in the file and 24 now");
    rollout(options);
    change_attribute("stride", NULL);
    verify("f.h5", 2, "f.h5: is incomplete: it has no `stride`");
    rollout(options);
    change_attribute("worlds", &(double){4});
    verify("f.h5", 2, "f.h5: the shape of `q` does not fit what else is in the file; it is damaged: take another copy of it, or make it again");
    rollout(options);
    change_attribute("steps", &(double){9});
    verify("f.h5", 2, "f.h5: the shape of `time` does not fit what else is in the file");
    rollout(options);
    change_attribute("dt", &(double){-1});
    verify("f.h5", 2, "f.h5: its attribute `dt`: expected a positive time (s), found -1");
    rollout(options);
    change_attribute("dt", &(double){0.021});
    verify("f.h5", 1, "world 0 differs at step 1 (0.021 s)");
}
END_TEST

START_TEST(options_that_do_not_fit)
{
    static const struct {
        const char *args[8], *says;
    } wrong[] = {
        {{"replay"}, "FILE is missing"},
        {{"replay", "f.h5", "--dt", "0.1"}, "'catena replay' has no option '--dt'"},
        {{"replay", "f.h5", "--threads", "-1"}, "--threads: expected a whole number, 0 or more"},
        {{"run", "scene.yaml", "--steps", "1", "--hash"}, "--hash goes into a recording; give --out FILE.h5 with it"},
        {{"run", "scene.yaml", "--steps", "1", "--hash", "--out", "a.csv"}, "a.csv: hashes go into recordings that end in .h5"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) expect(2, wrong[k].says, wrong[k].args);
}
END_TEST

/// A recording older than `scene_defaults` keeps its meaning: its limits are undamped where its scene does not say.
START_TEST(old_limits)
{
    static const char undamped[] = "limits: [-1, 1], limit_damping: 0}", silent[] = "limits: [-1, 1]                  }";
    ck_assert_uint_eq(sizeof undamped, sizeof silent);
    char text[2][300];
    for (int k = 0; k < 2; k++)
        snprintf(text[k], sizeof text[k],
                 "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], %s, mass: 1, com: [0.5, 0, 0], "
                 "inertia: [0.01, 0.1, 0.1, 0, 0, 0]}\n",
                 k ? silent : undamped);
    spit("scene.yaml", text[0]);
    expect(0, "", (const char *const[]){"run", "scene.yaml", "--steps", "200", "--quiet", "--hash", "--out", "f.h5", NULL});
    verify("f.h5", 0, "identical");
    const hid_t file = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, "scene/0", H5P_DEFAULT);
    const hid_t type = H5Dget_type(set);
    ck_assert_int_ge(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text[1]), 0);
    ck_assert_int_ge(H5Adelete(set, "hash"), 0);  // as old files have none
    H5Tclose(type), H5Dclose(set), H5Fclose(file);
    verify("f.h5", 1, "world 0 differs at step ");  // now its limits are damped
    const hid_t again = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert_int_ge(H5Adelete(again, "scene_defaults"), 0);
    H5Fclose(again);
    verify("f.h5", 0, "identical");
}
END_TEST

/// Files that were made before there were texts of variable length, hashes of texts, and where worlds freeze.
START_TEST(old_files)
{
    verify(source("tests/fuzz/recordings/run-old.h5"), 0, "identical");
    verify(source("tests/fuzz/recordings/rollout-old.h5"), 0, "identical");
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("replay");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, identical, 0, 2 * METHODS);
    tcase_add_test(all, rollout_differs);
    tcase_add_test(all, old_limits);
    tcase_add_test(all, old_files);
    tcase_add_test(all, totals_differ);
    tcase_add_test(all, run_differs);
    tcase_add_test(all, frozen);
    tcase_add_test(all, unfinished);
    tcase_add_test(all, cannot_be_replayed);
    tcase_add_test(all, options_that_do_not_fit);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
