/// Rollouts by calls of the library: the file of the command, progress, interruption, what is wrong, other processes.
#include "sim/runs/rollout.h"
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
    "name: runs\n"
    "links:\n"
    "  - {name: arm, joint: revolute, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: hand, parent: arm, position: [0.4, 0, 0], joint: universal, mass: 1, com: [0.1, 0, 0], inertia: [0.1, 0.12, "
    "0.13, "
    "0, 0, 0]}\n"
    "integrator: {method: semi-implicit, dt: 0.01}\n";
static const char sample_text[] = "sample: {seed: 5, q: {all: {uniform: [-0.5, 0.25]}}, v: {hand: {normal: [0, 2]}}}\n";

/// What a call tells on its way.
typedef struct onlooker {
    long calls, first, last, all;
    volatile int *interrupt;  // set after so many worlds, NULL: never
    long after;
    int warnings;
    char warning[400];
} onlooker;

static ctn_scene *scene;
static ctn_model *model;
static ctn_error err;
static ctn_rollout_report report;
static onlooker seen;

static void look(void *context, long done, long all)
{
    onlooker *const o = context;
    ck_assert(done >= o->last && done <= all);
    if (!o->calls++) o->first = done;
    o->last = done, o->all = all;
    if (o->interrupt && done >= o->after) *o->interrupt = 1;
}

static void hear(void *context, const char *text)
{
    onlooker *const o = context;
    o->warnings++;
    snprintf(o->warning, sizeof o->warning, "%s", text);
}

static void load(const char *sample)
{
    char text[2000];
    ctn_model_free(model), ctn_scene_free(scene);
    snprintf(text, sizeof text, "%s%s", scene_text, sample);
    spit("scene.yaml", text);
    scene = ctn_scene_load("scene.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
}

static void setup(void)
{
    enter_scratch();
    load(sample_text);
}

static void teardown(void)
{
    ctn_model_free(model), ctn_scene_free(scene);
    model = NULL, scene = NULL;
    leave_scratch();
}

/// Ten steps of some worlds.
static ctn_rollout_config config_for(long worlds)
{
    ctn_rollout_config cfg = ctn_rollout_config_default(scene);
    seen = (onlooker){0}, report = (ctn_rollout_report){0}, err = (ctn_error){0};
    cfg.worlds = worlds, cfg.steps = 10;
    cfg.warn = hear, cfg.progress = look, cfg.context = &seen;
    return cfg;
}

static ctn_status make(const char *path, const ctn_rollout_config *cfg)
{
    return ctn_rollout(path, scene, model, cfg, &report, &err);
}

static void succeeds(const char *path, const ctn_rollout_config *cfg)
{
    const ctn_status status = make(path, cfg);
    ck_assert_msg(status == CTN_OK, "%s", err.message);
    ck_assert(!*err.message && report.begun && !report.refused);
    ck_assert_int_eq(report.done, report.worlds);
}

/// Joint forces of 12 steps, for worlds 0 .. worlds - 1.
static void put_forces(const char *path, hsize_t worlds)
{
    const hsize_t dims[3] = {worlds, 12, 3};
    double *const x = calloc(worlds * 12 * 3, sizeof *x);
    for (size_t k = 0; k < worlds * 12 * 3; k++) x[k] = sin(0.1 * (double)k);
    put_numbers(path, "tau", 3, dims, x);
    free(x);
}

/// The same worlds, from files, too, as the command makes them.
START_TEST(as_the_command)
{
    outcome o = catena("rollout", "scene.yaml", "--worlds", "40", "--steps", "10", "--stride", "3", "--seed", "9", "--keep",
                       "q,v,energy", "--hash", "--out", "a.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    ctn_rollout_config cfg = config_for(40);
    cfg.stride = 3, cfg.seed = 9, cfg.keep = "q,v,energy", cfg.hashes = true, cfg.command = "a test";
    succeeds("b.h5", &cfg);
    same_datasets("a.h5", "b.h5");
    ck_assert_int_eq(report.states, 5);
    ck_assert_int_eq(report.processes, 1);
    ck_assert_int_eq(report.before + report.frozen + report.interrupted, 0);
    ck_assert_double_eq(report.kept_bytes, 8.0 * 5 * (3 + 3 + 4));

    put_forces("tau.h5", 30);
    o = catena("rollout", "scene.yaml", "--steps", "10", "--starts", "a.h5", "--controls", "tau.h5", "--worlds", "20", "--out",
               "c.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    cfg = config_for(20);
    cfg.starts = "a.h5", cfg.controls = "tau.h5";
    succeeds("d.h5", &cfg);
    same_datasets("c.h5", "d.h5");

    spit("starts.csv", "q.arm\n0.1\n0.2\n0.3\n");
    cfg = config_for(0);  // as many as the file has
    cfg.starts = "starts.csv";
    succeeds("e.h5", &cfg);
    ck_assert_int_eq(report.worlds, 3);
    cfg = config_for(0);
    cfg.batch.worlds = 4;
    succeeds("e.h5", &cfg);
    ck_assert_int_eq(report.worlds, 4);
}
END_TEST

START_TEST(progress)
{
    ctn_rollout_config cfg = config_for(5000);
    cfg.batch.threads = 1;
    succeeds("a.h5", &cfg);
    ck_assert_int_eq(seen.first, 0);
    ck_assert_int_eq(seen.last, 5000);
    ck_assert_int_eq(seen.all, 5000);
    ck_assert_int_ge(seen.calls, 1 + 5000 / report.block);
    ck_assert_int_eq(seen.warnings, 0);
    cfg.warn = NULL, cfg.progress = NULL;
    succeeds("a.h5", &cfg);
}
END_TEST

/// After the first block, and before it; what is missing is made later.
START_TEST(interrupted)
{
    enum { WORLDS = 5000 };
    volatile int stop = 0;
    ctn_rollout_config whole = config_for(WORLDS);
    succeeds("a.h5", &whole);
    ctn_rollout_config cfg = config_for(WORLDS);
    cfg.batch.interrupt = &stop, cfg.batch.threads = 1, seen.interrupt = &stop, seen.after = 1;
    ck_assert_int_eq(make("b.h5", &cfg), CTN_INTERRUPTED);
    ck_assert_int_eq(err.status, CTN_INTERRUPTED);
    ck_assert(report.begun && !report.refused && report.interrupted == 1);
    ck_assert(report.done > 0 && report.done < WORLDS && report.done == seen.last);
    const long done = report.done;
    char says[200];
    snprintf(says, sizeof says, "interrupted after %ld of 5000 worlds; the file has these", done);
    ck_assert_str_eq(err.message, says);

    cfg.resume = true, seen = (onlooker){0};  // `stop` is still set
    ck_assert_int_eq(make("b.h5", &cfg), CTN_INTERRUPTED);
    ck_assert_int_eq(report.before, done);
    ck_assert_int_eq(report.done, done);
    stop = 0, seen = (onlooker){0}, err = (ctn_error){0};
    succeeds("b.h5", &cfg);
    ck_assert_int_eq(report.before, done);
    ck_assert_int_eq(seen.first, done);
    same_datasets("a.h5", "b.h5");
}
END_TEST

START_TEST(frozen)
{
    load("sample: {q: {arm: {uniform: [-0.5, 0.25]}}, v: {arm: {grid: [0, 1e9, 2]}}}\n");
    ctn_rollout_config cfg = config_for(3);
    ck_assert_int_eq(make("a.h5", &cfg), CTN_FROZEN);
    ck_assert_int_eq(report.frozen, 1);
    ck_assert_int_eq(report.done, 3);
    ck_assert_msg(err.count == 2 && !strncmp(err.message, "world 1 is frozen at ", 21), "%s", err.message);
    ck_assert_msg(strstr(err.message, "\n1 of 3 worlds is frozen; `status` in a.h5 says which, and why"), "%s", err.message);
    ck_assert_int_eq(seen.warnings, 1);
    ck_assert_msg(strstr(seen.warning, "the grids of scene.yaml have 2 points: 3 worlds do not"), "%s", seen.warning);
    load("");
    cfg = config_for(1);
    succeeds("b.h5", &cfg);
    ck_assert_int_eq(seen.warnings, 1);
    ck_assert_msg(strstr(seen.warning, "scene.yaml has no `sample:` section"), "%s", seen.warning);
}
END_TEST

static void fails(const char *path, const ctn_rollout_config *cfg, ctn_status status, bool refused, const char *says)
{
    ck_assert_int_eq(make(path, cfg), status);
    ck_assert_int_eq(err.status, status);
    ck_assert_msg(strstr(err.message, says) != NULL, "expected '%s', found '%s'", says, err.message);
    ck_assert_msg(report.refused == refused && !report.begun, "%s", err.message);
    ck_assert_int_eq(ctn_rollout(path, scene, model, cfg, NULL, NULL), status);
    ck_assert_int_eq(seen.calls, 0);
}

START_TEST(errors_name_the_file)
{
    ctn_rollout_config cfg = config_for(2);
    cfg.starts = "none.csv";
    fails("a.h5", &cfg, CTN_IO, true, "none.csv");
    cfg.starts = "none.txt";
    fails("a.h5", &cfg, CTN_BAD_ARGUMENT, true, "--starts: expected a file that ends in .csv, .h5 or .hdf5, found none.txt");
    spit("bad.csv", "q.arm\n1\nnan\n");
    cfg.starts = "bad.csv";
    fails("a.h5", &cfg, CTN_BAD_ARGUMENT, true, "bad.csv:3");
    spit("few.csv", "q.arm\n1\n");
    cfg.starts = "few.csv";
    fails("a.h5", &cfg, CTN_BAD_ARGUMENT, true, "--worlds: few.csv has the states of 1 world, fewer than 2");
    cfg = config_for(40), cfg.controls = "tau.h5";
    put_forces("tau.h5", 30);
    fails("a.h5", &cfg, CTN_BAD_ARGUMENT, true, "tau.h5: tau has 30 worlds");
    cfg.worlds = 2, cfg.steps = 13;
    fails("a.h5", &cfg, CTN_BAD_ARGUMENT, true, "tau.h5: has forces for 12 steps, fewer than 13");
    cfg = config_for(2), cfg.controls = "tau.h5";
    fails("tau.h5", &cfg, CTN_BAD_ARGUMENT, true, "--out: tau.h5 is the file of --controls, and would be lost");
    cfg = config_for(2);
    fails("nowhere/a.h5", &cfg, CTN_IO, false, "nowhere/a.h5");
    cfg = config_for(2);
    fails("a.csv", &cfg, CTN_BAD_ARGUMENT, true, "found a.csv");
    cfg = config_for(2);
    fails(NULL, &cfg, CTN_BAD_ARGUMENT, true, "path is NULL");
    cfg.cookie = 0;
    fails("a.h5", &cfg, CTN_BAD_CONFIG, true, "start from ctn_rollout_config_default()");
    cfg = config_for(2), cfg.keep = "p";
    fails("a.h5", &cfg, CTN_BAD_CONFIG, true, "--keep: ");
    cfg = config_for(2), cfg.stride = 0;
    fails("a.h5", &cfg, CTN_BAD_CONFIG, true, "--stride: expected 1 to 9000000000000000, found 0");
    cfg = config_for(2), cfg.steps = -1;
    fails("a.h5", &cfg, CTN_BAD_CONFIG, true, "--steps: expected 0 to 9000000000000000, found -1");
    cfg.steps = cfg.stride = 9000000000000000, cfg.hashes = true;
    fails("a.h5", &cfg, CTN_BAD_ARGUMENT, true, "9000000000000000 hashes of each world are too many");
    cfg = config_for(0), cfg.batch.worlds = -3;
    fails("a.h5", &cfg, CTN_BAD_CONFIG, true, "--worlds: expected 1 or more, found -3");
    cfg = config_for(2), cfg.batch.engine = "abacus";
    ck_assert_int_ne(make("a.h5", &cfg), CTN_OK);
    ck_assert(report.refused && strstr(err.message, "abacus"));
    ck_assert_int_eq(access("a.h5", F_OK), -1);
}
END_TEST

// ---- two processes, of which the other one is made up

static int worst_fault;   // of the other, before the first world
static long later_fault;  // after it

static int worst(ranks *r, int fault)
{
    (void)r;
    return fault > worst_fault ? fault : worst_fault;
}

static bool share(ranks *r, const tally *own, tally *sum)
{
    (void)r;
    *sum = *own, sum->fault = sum->fault > later_fault ? sum->fault : later_fault;
    return own->ended;
}

/// What is wrong in another process ends this one, without a word; its own errors begin with its rank.
START_TEST(other_processes)
{
    ranks two = {.rank = 1, .count = 2, .worst = worst, .share = share};
    ctn_rollout_config cfg = config_for(4);
    ck_assert_int_eq(rollout_make("a.h5", scene, model, &cfg, &two, &report, &err), CTN_OK);
    ck_assert(report.processes == 2 && report.done == 2 && report.worlds == 4);
    ck_assert_int_eq(access("a.1.h5", F_OK), 0);
    later_fault = 2, seen = (onlooker){0};
    ck_assert_int_eq(rollout_make("a.h5", scene, model, &cfg, &two, &report, &err), CTN_INTERRUPTED);
    ck_assert(report.begun && report.refused && !report.done && !*err.message);
    worst_fault = 1, seen = (onlooker){0};
    ck_assert_int_eq(rollout_make("a.h5", scene, model, &cfg, &two, &report, &err), CTN_INTERRUPTED);
    ck_assert(!report.begun && !report.refused && !*err.message);
    worst_fault = later_fault = 0, cfg.starts = "none.csv";
    ck_assert_int_eq(rollout_make("a.h5", scene, model, &cfg, &two, &report, &err), CTN_IO);
    ck_assert_msg(!strncmp(err.message, "rank 1: ", 8) && strstr(err.message, "none.csv"), "%s", err.message);
    cfg.starts = NULL, cfg.worlds = 1;
    ck_assert_int_eq(rollout_make("a.h5", scene, model, &cfg, &two, &report, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "1 world is too few for 2 processes"), "%s", err.message);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("runs");
    TCase *c = tcase_create("runs");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, as_the_command);
    tcase_add_test(c, progress);
    tcase_add_test(c, interrupted);
    tcase_add_test(c, frozen);
    tcase_add_test(c, errors_name_the_file);
    tcase_add_test(c, other_processes);
    suite_add_tcase(s, c);
    return run_suite(s);
}
