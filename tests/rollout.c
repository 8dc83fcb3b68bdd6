/// `catena rollout`: world i against a batch of one, over numbers of worlds, threads and engines; what is drawn; interrupted
/// runs, errors.
#include "tests/command.h"
#include "tests/datasets.h"
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

static const char scene_text[] =
    "catena: 1\n"
    "name: drawn\n"
    "links:\n"
    "  - {name: body, joint: {type: free, v0: [1, 2, 3, 3, -2, 1]}, mass: 2, com: [0.1, 0.2, 0], inertia: [1, 1.5, 1.2, 0.1, 0, "
    "0]}\n"
    "  - {name: head, parent: body, position: [0, 0, 1], joint: ball, mass: 1, com: [0, 0.1, 0.2], inertia: [0.1, 0.12, 0.13, 0, "
    "0, "
    "0]}\n"
    "  - {name: plate, parent: body, joint: fixed, mass: 0.1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
    "  - {name: arm, parent: body, position: [1, 0, 0], joint: universal, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.12, 0.13, "
    "0, 0, 0]}\n"
    "integrator: {method: collocation, dt: 0.02}\n"
    "sample:\n"
    "  seed: 5\n"
    "  q: {all: {uniform: [-0.5, 0.25]}, arm: {normal: [0.3, 0.1]}}\n"
    "  v: {head: {normal: [0, 2]}}\n";

static ctn_scene *scene;
static ctn_model *model;
static size_t nq, nv;

static void setup(void)
{
    ctn_error err;
    enter_scratch();
    spit("scene.yaml", scene_text);
    scene = ctn_scene_load("scene.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
}

static void teardown(void)
{
    ctn_model_free(model), ctn_scene_free(scene);
    leave_scratch();
}

static void same_start(const char *a, const char *b, const char *name)
{
    size_t n, m;
    double *x = numbers(a, name, &n), *y = numbers(b, name, &m);
    const size_t least = n < m ? n : m;
    ck_assert_msg(least && !memcmp(x, y, least * sizeof *x), "%s of %s and %s", name, a, b);
    free(x), free(y);
}

/// World 12 of 40, every third of 20 steps, is the same as alone in a batch; and all worlds in files made otherwise.
START_TEST(a_world_is_the_same_in_any_company)
{
    enum { STEPS = 20, STRIDE = 3, TIMES = 8, WORLDS = 40 };
    static const struct {
        const char *file, *worlds, *threads, *engine;
    } runs[] = {
        {"a.h5", "40", "1", "auto"}, {"b.h5", "40", "7", "auto"}, {"c.h5", "40", "2", "scalar"}, {"d.h5", "13", "0", "auto"}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        outcome o = catena("rollout", "scene.yaml", "--worlds", runs[k].worlds, "--threads", runs[k].threads, "--engine",
                           runs[k].engine, "--steps", "20", "--stride", "3", "--out", runs[k].file);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        static const char *const names[] = {"q", "v", "iterations", "energy_after", "status"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) same_start("a.h5", runs[k].file, names[i]);
    }
    ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_batch *b = ctn_batch_create(model, &cfg, NULL);
    double *x = calloc(nq, sizeof *x), *w = calloc(nv, sizeof *w);
    size_t n;
    double *q = numbers("a.h5", "q", &n), *v = numbers("a.h5", "v", NULL), *time = numbers("a.h5", "time", NULL);
    ck_assert_uint_eq(n, WORLDS * TIMES * nq);
    ctn_sample_state(scene, model, ctn_scene_seed(scene), 12, WORLDS, x, w);
    ck_assert_int_eq(ctn_batch_set_state(b, x, w, 0, NULL), CTN_OK);
    for (int k = 0; k < TIMES; k++) {
        ctn_batch_state(b, x, w);
        ck_assert(!memcmp(x, q + (12 * TIMES + (size_t)k) * nq, nq * sizeof *x));
        ck_assert(!memcmp(w, v + (12 * TIMES + (size_t)k) * nv, nv * sizeof *w));
        ck_assert_double_eq_tol(time[k], ctn_batch_time(b, 0), 1e-15);
        ctn_batch_step(b, k + 2 < TIMES ? STRIDE : STEPS % STRIDE, NULL, NULL);
    }
    free(q), free(v), free(time), free(x), free(w);
    ctn_batch_free(b);
}
END_TEST

/// Means and variances over many worlds; quaternions stay on the unit sphere; other seeds draw others.
START_TEST(what_is_drawn)
{
    enum { WORLDS = 40000 };
    double *q = calloc(nq, sizeof *q), *v = calloc(nv, sizeof *v), *start_q = calloc(nq, sizeof *q),
           *start_v = calloc(nv, sizeof *v);
    double sum[4] = {0}, square[4] = {0}, product = 0;
    ctn_model_initial_state(model, start_q, start_v);
    ck_assert(ctn_scene_is_sampled(scene));
    ck_assert_uint_eq(ctn_scene_seed(scene), 5);
    const ctn_link *head = ctn_model_link(model, 1), *arm = ctn_model_link(model, 3);
    for (int64_t w = 0; w < WORLDS; w++) {
        ctn_sample_state(scene, model, 5, w, WORLDS, q, v);
        const double x[4] = {q[0] - start_q[0], q[arm->qadr], q[arm->qadr + 1], v[head->vadr + 2]};
        for (int k = 0; k < 4; k++) sum[k] += x[k], square[k] += x[k] * x[k];
        product += (x[1] - 0.3) * (x[2] - 0.3);
        ck_assert(x[0] >= -0.5 && x[0] <= 0.25);
        ck_assert_double_eq_tol(hypot(hypot(q[3], q[4]), hypot(q[5], q[6])), 1, 1e-14);
        ck_assert_double_eq_tol(hypot(hypot(q[7], q[8]), hypot(q[9], q[10])), 1, 1e-14);
        for (int k = 0; k < 6; k++) ck_assert(v[k] == start_v[k]);  // nothing said about the body's velocity
    }
    static const double mean[4] = {-0.125, 0.3, 0.3, 0}, deviation[4] = {0.21650635094610965, 0.1, 0.1, 2};
    for (int k = 0; k < 4; k++) {
        const double m = sum[k] / WORLDS, s = sqrt(square[k] / WORLDS - m * m);
        ck_assert_msg(fabs(m - mean[k]) < 5 * deviation[k] / 200, "%d: mean %g", k, m);
        ck_assert_msg(fabs(s / deviation[k] - 1) < 0.02, "%d: standard deviation %g", k, s);
    }
    ck_assert_msg(fabs(product / WORLDS) < 5 * 0.01 / 200, "degrees of freedom are drawn together: %g", product / WORLDS);
    double *other = calloc(nq, sizeof *q);
    ctn_sample_state(scene, model, 5, 3, WORLDS, q, v);
    ctn_sample_state(scene, model, 6, 3, WORLDS, other, v);
    ck_assert(memcmp(q, other, nq * sizeof *q));
    ctn_sample_state(scene, model, 5, 3, WORLDS, other, v);
    ck_assert(!memcmp(q, other, nq * sizeof *q));
    free(q), free(v), free(start_q), free(start_v), free(other);
}
END_TEST

/// Sampled joint forces act on a world all along: it goes as in a batch of one with the same force.
START_TEST(forces_act)
{
    enum { STEPS = 10, WORLDS = 5 };
    char text[sizeof scene_text + 100];
    ctn_error err;
    snprintf(text, sizeof text, "%s  force: {all: {uniform: [-3, 3]}}\n", scene_text);
    spit("forced.yaml", text);
    outcome o = catena("rollout", "forced.yaml", "--worlds", "5", "--steps", "10", "--stride", "10", "--out", "f.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    double *end = numbers("f.h5", "q", NULL), *q = calloc(nq, sizeof *q), *v = calloc(nv, sizeof *v),
           *tau = calloc(nv, sizeof *tau);
    ctn_scene *const forced = ctn_scene_load("forced.yaml", &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    for (int w = 0; w < WORLDS; w++) {
        ctn_batch *const b = ctn_batch_create(model, &cfg, NULL);
        ctn_sample_state(forced, model, 5, w, WORLDS, q, v);
        ck_assert(ctn_sample_force(forced, model, 5, w, WORLDS, tau));
        ctn_batch_set_state(b, q, v, 0, NULL);
        ctn_batch_set_force(b, tau);
        ctn_batch_step(b, STEPS, NULL, NULL);
        ctn_batch_state(b, q, NULL);
        ck_assert(!memcmp(q, end + (2 * (size_t)w + 1) * nq, nq * sizeof *q));
        ctn_batch_free(b);
    }
    free(end), free(q), free(v), free(tau);
    ctn_scene_free(forced);
}
END_TEST

/// A signal: the worlds that are done are in the file, the others are marked.
START_TEST(interrupted)
{
    const char *const args[] = {"rollout",  "scene.yaml", "--worlds", "200000", "--steps", "200",
                                "--stride", "100",        "--out",    "i.h5",   NULL};
    const pid_t pid = catena_start(args);
    wait_for_worlds("i.h5", 0, pid);
    kill(pid, SIGINT);
    outcome o = catena_wait(pid);
    ck_assert_int_eq(o.status, 1);
    ck_assert_msg(strstr(o.err, "interrupted after ") != NULL, "%s", o.err);
    const long done = atol(strstr(o.err, "interrupted after ") + strlen("interrupted after "));
    size_t n;
    double *status = numbers("i.h5", "status", &n), *q = numbers("i.h5", "q", NULL);
    ck_assert_uint_eq(n, 200000);
    for (size_t w = 0; w < n; w++) {
        ck_assert_double_eq(status[w], (long)w < done ? 0 : -1);
        ck_assert(!isnan(q[3 * nq * w + 2 * nq]) == ((long)w < done));
    }
    free(status), free(q);
    outcome_free(&o);
}
END_TEST

/// Frozen worlds are counted, and the file says which.
START_TEST(frozen)
{
    outcome o = catena("rollout", "scene.yaml", "--worlds", "9", "--steps", "400", "--stride", "400", "--method", "euler", "--dt",
                       "0.5", "--out", "f.h5", "--quiet");
    ck_assert_int_eq(o.status, 1);
    ck_assert_str_eq(o.out, "");
    size_t n;
    double *status = numbers("f.h5", "status", &n);
    int frozen = 0;
    char text[80];
    for (size_t w = 0; w < n; w++) frozen += status[w] > 0;
    ck_assert_int_gt(frozen, 0);
    snprintf(text, sizeof text, "error: %d of 9 worlds %s frozen; `status` in f.h5 says which", frozen, frozen == 1 ? "is" : "are");
    ck_assert_msg(strstr(o.err, text) != NULL, "%s", o.err);
    free(status);
    outcome_free(&o);
}
END_TEST

static const struct {
    const char *args[8], *says;
    int status;
} mistakes[] = {
    {{"--steps", "1"}, "--out is missing: the file that the worlds go to, .h5 or .hdf5", 2},
    {{"--steps", "1", "--out", "a.csv"}, "--out: a rollout ends in .h5 or .hdf5, found a.csv", 2},
    {{"--steps", "1", "--out", "nowhere/a.h5"}, "nowhere/a.h5: cannot be written: No such file or directory", 1},
    {{"--steps", "1", "--out", "a.h5", "--seed", "-1"}, "--seed: expected a whole number, 0 or more, found -1", 2},
    {{"--steps", "1", "--out", "a.h5", "--stride", "0"}, "--stride: expected a whole number, 1 or more, found 0", 2},
    {{"--steps", "1", "--out", "a.h5", "--threads", "2000"}, "--threads: expected a whole number from 0 to 1024, found 2000", 2},
    {{"--out", "a.h5"}, "how long? give --steps or --duration", 2},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

START_TEST(mistakes_are_named)
{
    const char *args[12] = {"rollout", "scene.yaml"};
    for (int k = 0; mistakes[_i].args[k]; k++) args[k + 2] = mistakes[_i].args[k];
    outcome o = catena_wait(catena_start(args));
    ck_assert_msg(strstr(o.err, mistakes[_i].says) != NULL, "%s", o.err);
    ck_assert_int_eq(o.status, mistakes[_i].status);
    outcome_free(&o);
}
END_TEST

/// Processes started by mpirun would all write the same file: `catena` does not let them.
START_TEST(started_by_mpirun)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    const char *const args[] = {"rollout", "scene.yaml", "--steps", "1", "--worlds", "2", "--out", "m.h5", "--quiet", NULL};
    for (int k = 0; k < 4; k++) {
        setenv(sizes[k % 2], k < 2 ? "2" : "1", 1);
        outcome o = catena_wait(catena_start(args));
        unsetenv(sizes[k % 2]);
        ck_assert_int_eq(o.status, k < 2 ? 2 : 0);
        ck_assert_int_eq(access("m.h5", F_OK), k < 2 ? -1 : 0);
        ck_assert_msg(k >= 2 || (strstr(o.err, "error: built without MPI; ") && strstr(o.err, sizes[k])), "%s", o.err);
        outcome_free(&o);
    }
}
END_TEST

/// Threads and lanes have worlds to step however long the trajectories are, up to a limit. (All freeze soon: what counts is the
/// room.)
START_TEST(long_trajectories)
{
    static const struct {
        const char *steps, *says;
    } runs[] = {{"300", "20 at a time on 2 threads"}, {"10000", "16 at a time on 2 threads"}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        outcome o = catena("rollout", "scene.yaml", "--worlds", "20", "--threads", "2", "--engine", "scalar", "--method", "euler",
                           "--dt", "50", "--steps", runs[k].steps, "--keep", "q,v,energy,pose", "--out", "l.h5");
        ck_assert_int_eq(o.status, 1);
        ck_assert_msg(strstr(o.out, runs[k].says) != NULL, "expected '%s', found '%s'", runs[k].says, o.out);
        ck_assert_msg(strstr(o.err, "20 of 20 worlds are frozen") != NULL, "%s", o.err);
        outcome_free(&o);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rollout");
    TCase *c = tcase_create("rollout");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_world_is_the_same_in_any_company);
    tcase_add_test(c, what_is_drawn);
    tcase_add_test(c, forces_act);
    tcase_add_test(c, interrupted);
    tcase_add_test(c, frozen);
    tcase_add_loop_test(c, mistakes_are_named, 0, MISTAKES);
    tcase_add_test(c, started_by_mpirun);
    tcase_add_test(c, long_trajectories);
    suite_add_tcase(s, c);
    return run_suite(s);
}
