/// `--save-freeze`: the last steps of worlds that freeze are those of the run, to the last bit, and freeze again in the same way.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char scene_text[] =
    "catena: 1\n"
    "name: bush\n"
    "links:\n"
    "  - {name: trunk, joint: {type: ball, v0: [1, 2, 0.5]}, mass: 1, com: [0, 0.1, 0.2], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: left, parent: trunk, position: [0, 0, 1], joint: {type: revolute, axis: [0, 1, 0], q0: 0.3}, mass: 1, com: [0.2, "
    "0, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: right, parent: trunk, position: [0, 0, 1], joint: {type: prismatic, axis: [1, 0, 0], q0: 0.1, stiffness: 3}, "
    "mass: 2, com: [0, 0.1, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n";

static const char sample_text[] = "sample: {seed: 5, q: {left: {uniform: [-0.5, 0.25]}}, v: {all: {normal: [0, 2]}}%s}\n";

enum { NQ = 6, NV = 5, MOST = 100 };

static void setup(void)
{
    enter_scratch();
    spit("scene.yaml", scene_text);
}

static void teardown(void) { leave_scratch(); }

static void write_scene(const char *more)
{
    char sample[300], text[sizeof scene_text + 300];
    snprintf(sample, sizeof sample, sample_text, more);
    snprintf(text, sizeof text, "%s%s", scene_text, sample);
    spit("scene.yaml", text);
}

/// Joint forces of WORLDS worlds over STEPS steps, small but for one that no method can stand, after push[w] steps.
static void write_controls(int worlds, int steps, const int *push)
{
    double *const tau = calloc((size_t)(worlds * steps * NV), sizeof *tau);
    for (int w = 0; w < worlds; w++)
        for (int k = 0; k < steps; k++)
            for (int i = 0; i < NV; i++) tau[(w * steps + k) * NV + i] = k == push[w] ? 1e300 : 0.01 * ((w + 3 * k + i) % 7);
    put_numbers("tau.h5", "tau", 3, (hsize_t[]){(hsize_t)worlds, (hsize_t)steps, NV}, tau);
    free(tau);
}

static outcome run(const char *const *first, const char *const *then)
{
    const char *args[40] = {0};
    int n = 0;
    while (*first) args[n++] = *first++;
    while (*then && n < 39) args[n++] = *then++;
    return catena_wait(catena_start(args));
}

static void verify(const char *file)
{
    for (int k = 0; k < 2; k++) {
        outcome o = catena("replay", file, "--verify", "--engine", k ? "scalar" : "auto");
        ck_assert_msg(o.status == 0 && strstr(o.out, "identical: 1 world, "), "%s: %s%s", file, o.out, o.err);
        outcome_free(&o);
    }
}

/// The file of world w of a rollout of `steps` steps with hashes in f.h5, which froze after `whole` of them: its hashes are those
/// of the rollout, and how it ends is what the rollout says.
static void compare_with_rollout(const char *file, size_t w, size_t steps, size_t whole)
{
    size_t n, all_size, own_size;
    const size_t from = whole + 1 > MOST ? whole + 1 - MOST : 0;
    uint64_t *const all = raw("f.h5", "hash", &all_size), *const own = raw(file, "hash", &own_size);
    ck_assert_uint_eq(own_size, (whole + 2 - from) * sizeof *own);
    ck_assert_int_eq(memcmp(own, all + w * (steps + 1) + from, own_size), 0);
    double *const why = numbers("f.h5", "status", NULL), *const when = numbers("f.h5", "frozen_time", NULL),
                  *const frozen = numbers(file, "stats/frozen", &n), *const since = numbers(file, "stats/frozen_time", NULL);
    ck_assert_uint_eq(n, whole + 2 - from);
    for (size_t k = 0; k + 1 < n; k++) ck_assert_double_eq(frozen[k], 0);
    ck_assert_double_eq(frozen[n - 1], why[w]);
    ck_assert_double_eq(since[n - 1], when[w]);
    free(all), free(own), free(why), free(when), free(frozen), free(since);
}

static const char *const methods[][8] = {
    {"--dt", "0.01"},
    {"--method", "rk4", "--dt", "0.005"},
    {"--method", "dop853", "--dt", "auto", "--interval", "0.01"},
    {"--method", "radau", "--stages", "3", "--dt", "0.01", "--engine", "scalar"},
    {"--method", "radau", "--dt", "auto", "--interval", "0.01"},
    {"--method", "collocation", "--order", "4", "--dt", "0.005"},
    {"--method", "variational", "--dt", "0.005"},
    {"--method", "alpha", "--dt", "0.005", "--parallel", "links"},
    {"--method", "alpha", "--dt", "auto", "--interval", "0.01"},
    {"--method", "collocation", "--parallel", "both", "--lanes", "16"},
};
enum { METHODS = sizeof methods / sizeof *methods };

/// Worlds that a force from a file freezes at times of their own, early ones, at seams of what is kept, and late ones.
START_TEST(by_controls)
{
    enum { WORLDS = 7, STEPS = 330 };
    static const int push[WORLDS] = {250, 0, 99, 1000, 100, 199, 329};
    write_scene("");
    write_controls(WORLDS, STEPS, push);
    outcome o = run((const char *const[]){"rollout", "scene.yaml", "--controls", "tau.h5", "--steps", "330", "--hash", "--quiet",
                                          "--out", "f.h5", "--save-freeze", "kept", NULL},
                    methods[_i]);
    ck_assert_msg(o.status == 1 && strstr(o.err, "the last steps of worlds that froze are in kept"), "%s%s", o.out, o.err);
    outcome_free(&o);
    o = catena("replay", "f.h5", "--verify");
    ck_assert_msg(o.status == 0 && !strstr(o.out, "of another run"), "%s%s", o.out, o.err);
    outcome_free(&o);
    double *const made = numbers("f.h5", "steps", NULL), *const status = numbers("f.h5", "status", NULL);
    for (int w = 0; w < WORLDS; w++) {
        char file[40];
        snprintf(file, sizeof file, "kept/world-%d.h5", w);
        ck_assert_int_eq(status[w] > 0, !access(file, F_OK));
        ck_assert_int_eq(status[w] > 0, push[w] < STEPS);
        if (!(status[w] > 0)) continue;
        compare_with_rollout(file, (size_t)w, STEPS, (size_t)made[w]);
        if (_i < 2 || w == 5) verify(file);
    }
    free(made), free(status);
}
END_TEST

/// The file has all that its world differs by from the scene: parameters, and forces that it draws once.
START_TEST(drawn)
{
    enum { WORLDS = 40, STEPS = 400 };
    write_scene(", parameters: {mass_scale: {right: {uniform: [0.5, 2]}}, stiffness: {right: {uniform: [1, 900]}}}, force: "
                "{right: {normal: [0, 3]}}");
    outcome o = run((const char *const[]){"rollout", "scene.yaml", "--worlds", "40", "--steps", "400", "--method", "euler",
                                          "--dt", "0.04", "--hash", "--quiet", "--out", "f.h5", "--save-freeze", "kept", NULL},
                    (const char *const[]){"--threads", "3", NULL});
    ck_assert_msg(o.status == 1, "%s%s", o.out, o.err);
    outcome_free(&o);
    double *const made = numbers("f.h5", "steps", NULL), *const status = numbers("f.h5", "status", NULL);
    ctn_scene *const scene = ctn_scene_load("scene.yaml", NULL);
    ctn_model *const model = ctn_model_create(scene, NULL);
    double q[NQ], v[NV], tau[NV], values[2];
    int frozen = 0;
    ck_assert_int_eq(ctn_scene_parameters(scene, model, NULL), 2);
    for (int w = 0; w < WORLDS; w++) {
        if (!(status[w] > 0)) continue;
        char file[40];
        size_t n, rows;
        snprintf(file, sizeof file, "kept/world-%d.h5", w);
        compare_with_rollout(file, (size_t)w, STEPS, (size_t)made[w]);
        ctn_sample_worlds(scene, model, ctn_scene_seed(scene), w, 1, WORLDS, q, v, tau, values);
        double *const own = numbers(file, "start/values", &n), *const forces = numbers(file, "start/tau", &rows);
        ck_assert_uint_eq(n, 2);
        ck_assert_int_eq(memcmp(own, values, sizeof values), 0);
        for (size_t k = 0; k < rows; k += NV) ck_assert_int_eq(memcmp(forces + k, tau, sizeof tau), 0);
        free(own), free(forces);
        if (frozen++ < 3) verify(file);
    }
    ck_assert_int_gt(frozen, 5);
    ctn_model_free(model), ctn_scene_free(scene);
    free(made), free(status);
}
END_TEST

/// Several blocks of worlds, the last one smaller: each long trajectory takes more than an eighth of what a thread keeps in
/// memory.
START_TEST(blocks)
{
    enum { WORLDS = 20, STEPS = 180000 };
    write_scene("");
    outcome o = catena("rollout", "scene.yaml", "--worlds", "20", "--steps", "180000", "--method", "euler", "--dt", "0.05",
                       "--keep", "q", "--threads", "1", "--json", "--out", "f.h5", "--save-freeze", "kept");
    ck_assert_msg(o.status == 1 && strstr(o.out, "\"at_a_time\":\t8,"), "%s%s", o.out, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "\"last_steps\":\t\"kept\""));
    outcome_free(&o);
    double *const all = numbers("f.h5", "q", NULL), *const since = numbers("f.h5", "frozen_time", NULL);
    for (int w = 0; w < WORLDS; w++) {
        char file[40];
        size_t n, m;
        snprintf(file, sizeof file, "kept/world-%d.h5", w);
        double *const q = numbers(file, "q", &n), *const when = numbers(file, "stats/frozen_time", &m);
        ck_assert_int_eq(memcmp(q + n - NQ, all + ((size_t)w * (STEPS + 1) + STEPS) * NQ, NQ * sizeof *q), 0);
        ck_assert_double_eq(when[m - 1], since[w]);
        free(q), free(when);
        if (w % 6 == 1) verify(file);
    }
    free(all), free(since);
}
END_TEST

/// Of `catena run`: records are those of its own recording, by `catena diff`, and every command takes the file.
START_TEST(of_a_run)
{
    static const char *const how[][12] = {
        {"--method", "euler", "--dt", "0.05"},
        {"--method", "rk4", "--dt", "0.3", "--worlds", "5"},
        {"--method", "rk2", "--dt", "0.06", "--every", "7", "--engine", "scalar"},
        {"--method", "radau", "--dt", "0.3", "--max-halvings", "0", "--max-iterations", "5"},
    };
    outcome o = run(
        (const char *const[]){"run", "scene.yaml", "--steps", "20000", "--quiet", "--out", "f.h5", "--save-freeze", "kept", NULL},
        how[_i]);
    ck_assert_msg(o.status == 1 && strstr(o.err, "the last steps of worlds that froze are in kept"), "exit status %d: %s%s",
                  o.status, o.out, o.err);
    outcome_free(&o);
    verify("kept/world-0.h5");
    o = catena("diff", "f.h5", "kept/world-0.h5");
    ck_assert_msg(o.status == 0 && strstr(o.out, "equal: 1 world, "), "%s%s", o.out, o.err);
    outcome_free(&o);
    size_t n, m;
    double *const time = numbers("f.h5", "time", &n), *const own = numbers("kept/world-0.h5", "time", &m);
    ck_assert_double_eq(own[m - 1], time[n - 1]);
    ck_assert_uint_le(m, MOST + 1);
    free(time), free(own);
    ck_assert_int_eq(access("kept/world-4.h5", F_OK), _i == 1 ? 0 : -1);
}
END_TEST

/// A spoilt start is refused, or the difference told at the step of the run that it came from.
START_TEST(damaged)
{
    outcome o =
        catena("run", "scene.yaml", "--steps", "20000", "--quiet", "--save-freeze", "kept", "--method", "euler", "--dt", "0.05");
    outcome_free(&o);
    size_t n;
    double *const time = numbers("kept/world-0.h5", "time", &n);
    char says[80];
    spoil("kept/world-0.h5", "v", 9 * NV + 2);
    o = catena("replay", "kept/world-0.h5", "--verify");
    snprintf(says, sizeof says, "world 0 differs at step %.0f (%.9g s), link 'trunk': v.trunk.wz is ", time[9] / 0.05, time[9]);
    ck_assert_msg(o.status == 1 && strstr(o.err, says), "expected %s, found %s", says, o.err);
    outcome_free(&o);
    const hid_t file = H5Fopen("kept/world-0.h5", H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, "start/state", H5P_DEFAULT);
    size_t size;
    H5Dclose(set), H5Fclose(file);
    unsigned char *const state = raw("kept/world-0.h5", "start/state", &size);
    state[size - 3] ^= 1;
    const hid_t again = H5Fopen("kept/world-0.h5", H5F_ACC_RDWR, H5P_DEFAULT),
                there = H5Dopen2(again, "start/state", H5P_DEFAULT);
    ck_assert_int_ge(H5Dwrite(there, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, state), 0);
    H5Dclose(there), H5Fclose(again);
    o = catena("replay", "kept/world-0.h5", "--verify");
    ck_assert_msg(o.status == 2 && strstr(o.err, "kept/world-0.h5: `start/state`: the saved state is damaged"), "%s", o.err);
    outcome_free(&o);
    free(state), free(time);
}
END_TEST

/// Nothing is written where nothing freezes; a folder that cannot be is said before the first step.
START_TEST(folders)
{
    outcome o = catena("run", "scene.yaml", "--steps", "20", "--quiet", "--save-freeze", "kept");
    ck_assert_int_eq(o.status, 0);
    ck_assert_str_eq(o.err, "");
    ck_assert_int_eq(rmdir("kept"), 0);  // it is empty
    outcome_free(&o);
    for (int k = 0; k < 2; k++) {
        const char *const command = k ? "rollout" : "run";
        o = catena(command, "scene.yaml", "--steps", "20", "--quiet", "--out", "f.h5", "--save-freeze", "scene.yaml");
        ck_assert_msg(o.status == 1 &&
                          strstr(o.err, "scene.yaml: the files of worlds that freeze cannot be put there: it is no folder"),
                      "%d %s", o.status, o.err);
        outcome_free(&o);
        o = catena(command, "scene.yaml", "--steps", "20", "--quiet", "--out", "f.h5", "--save-freeze", "no/where");
        ck_assert_msg(o.status == 1 &&
                          strstr(o.err, "no/where: the files of worlds that freeze cannot be put there: No such file"),
                      "%s", o.err);
        outcome_free(&o);
        ck_assert_int_eq(access("f.h5", F_OK), -1);
    }
}
END_TEST

/// A file that cannot be written ends the run, with what came before.
START_TEST(unwritten)
{
    ck_assert_int_eq(system("mkdir -p kept/world-0.h5/full"), 0);
    for (int k = 0; k < 2; k++) {
        outcome o = catena(k ? "rollout" : "run", "scene.yaml", "--steps", "9000", "--quiet", "--out", "f.h5", "--save-freeze",
                           "kept", "--method", "euler", "--dt", "0.05");
        ck_assert_msg(o.status == 1 && strstr(o.err, "kept/world-0.h5"), "%d %s", o.status, o.err);
        outcome_free(&o);
        ck_assert_int_eq(access("f.h5", F_OK), 0);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("freezes");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, by_controls, 0, METHODS);
    tcase_add_test(all, drawn);
    tcase_add_test(all, blocks);
    tcase_add_loop_test(all, of_a_run, 0, 4);
    tcase_add_test(all, damaged);
    tcase_add_test(all, folders);
    tcase_add_test(all, unwritten);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
