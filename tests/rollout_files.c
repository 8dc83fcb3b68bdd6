/// `catena rollout --starts --controls`: states and joint forces out of files against batches of one; errors of such files.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY "mass: 1, com: [0.1, 0.2, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]"

static const char scene_text[] =
    "catena: 1\n"
    "links:\n"
    "  - {name: cart, joint: {type: prismatic, axis: [1, 0, 0], v0: 0.5}, " BODY "}\n"
    "  - {name: 'arm, \"left\"', parent: cart, joint: {type: universal, q0: [0.3, 0.2]}, " BODY "}\n"
    "  - {name: head, parent: cart, position: [0, 0, 1], joint: {type: ball, v0: [1, 2, 3]}, " BODY "}\n"
    "integrator: {method: semi-implicit, dt: 0.01}\n";
enum { NQ = 7, NV = 6 };  // cart, arm 1 and 2, head

static ctn_scene *scene;
static ctn_model *model;

static void setup(void)
{
    ctn_error err;
    enter_scratch();
    spit("scene.yaml", scene_text);
    scene = ctn_scene_load("scene.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    ck_assert(ctn_model_nq(model) == NQ && ctn_model_nv(model) == NV);
}

static void teardown(void)
{
    ctn_model_free(model), ctn_scene_free(scene);
    leave_scratch();
}

/// Runs `catena rollout scene.yaml --out OUT --quiet` with more options up to NULL, and expects success without a word.
static void rollout(const char *out, ...)
{
    const char *args[24] = {"rollout", "scene.yaml", "--quiet", "--out", out};
    va_list more;
    va_start(more, out);
    for (int k = 5; k < 23 && (args[k] = va_arg(more, const char *)); k++) {}
    va_end(more);
    outcome o = catena_wait(catena_start(args));
    ck_assert_msg(o.status == 0 && !*o.err, "%s", o.err);
    outcome_free(&o);
}

/// Where a batch of one world ends after `steps` from q and v, in q and v; tau [steps][NV], NULL: no forces.
static void reference(double *q, double *v, int steps, const double *tau)
{
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_batch *const b = ctn_batch_create(model, &cfg, NULL);
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
    for (int k = 0; k < steps; k++) {
        if (tau) ctn_batch_set_force(b, tau + (size_t)k * NV);
        ctn_batch_step(b, 1, NULL, NULL);
    }
    ctn_batch_state(b, q, v);
    ctn_batch_free(b);
}

/// States that are not the scene's, of any number of worlds.
static void make_states(size_t worlds, double *q, double *v)
{
    for (size_t w = 0; w < worlds; w++) {
        double *const x = q + w * NQ, turn = 0.1 * (double)w;
        x[0] = 1 / 3.0 + (double)w, x[1] = -0.7 * sin(turn), x[2] = 0.1;
        x[3] = cos(turn), x[4] = 0, x[5] = sin(turn) * 0.6, x[6] = sin(turn) * 0.8;
        for (int i = 0; i < NV; i++) v[w * NV + (size_t)i] = sin((double)w + i);
    }
}

/// The last states of the worlds of a file are those of batches of one.
static void check_ends(const char *file, size_t worlds, int steps, const double *q, const double *v, const double *tau,
                       bool by_world)
{
    size_t n;
    double *const end = numbers(file, "q", &n);
    const size_t times = n / worlds / NQ;
    ck_assert_uint_eq(n, worlds * times * NQ);
    for (size_t w = 0; w < worlds; w++) {
        double x[NQ], y[NV];
        memcpy(x, q + w * NQ, sizeof x), memcpy(y, v + w * NV, sizeof y);
        reference(x, y, steps, tau && by_world ? tau + w * (size_t)steps * NV : tau);
        ck_assert_msg(!memcmp(x, end + ((w + 1) * times - 1) * NQ, sizeof x), "%s, world %zu", file, w);
    }
    free(end);
}

static void check_attribute(const char *path, const char *name, const char *want)
{
    char *text = NULL;
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), id = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(id);
    ck_assert(id >= 0 && H5Aread(id, type, &text) >= 0);
    ck_assert_str_eq(text, want);
    H5free_memory(text);
    H5Tclose(type), H5Aclose(id), H5Fclose(file);
}

// ---- states

/// q and v by world, in HDF5 and with all digits in CSV: the same worlds, and as many.
START_TEST(states_of_both_formats)
{
    enum { WORLDS = 7, STEPS = 5 };
    double q[WORLDS * NQ], v[WORLDS * NV];
    make_states(WORLDS, q, v);
    put_numbers("s.h5", "q", 2, (hsize_t[]){WORLDS, NQ}, q);
    put_numbers("s.h5", "v", 2, (hsize_t[]){WORLDS, NV}, v);
    FILE *const csv = fopen("s.csv", "w");
    fprintf(csv, "\xef\xbb\xbf# drawn by hand\r\n\r\nv.cart, \"v.arm, \"\"left\"\".1\" ,\"v.arm, "
                 "\"\"left\"\".2\",v.head.wx,v.head.wy,v.head.wz,"
                 "q.head.qz,q.head.qy,q.head.qx,q.head.qw,\"q.arm, \"\"left\"\".2\",\"q.arm, \"\"left\"\".1\",q.cart\r\n");
    for (int w = 0; w < WORLDS; w++) {
        for (int i = 0; i < NV; i++) fprintf(csv, "%.17g,", v[w * NV + i]);
        for (int i = NQ - 1; i >= 0; i--) fprintf(csv, " %.17g%s", q[w * NQ + i], i ? "," : w % 2 ? "\n# between\n" : "\r\n");
    }
    fclose(csv);
    rollout("a.h5", "--starts", "s.h5", "--steps", "5", NULL);
    rollout("b.h5", "--starts", "s.csv", "--steps", "5", "--stride", "3", NULL);
    rollout("c.h5", "--starts", "s.h5", "--steps", "5", "--worlds", "3", NULL);
    check_ends("a.h5", WORLDS, STEPS, q, v, NULL, false);
    check_ends("b.h5", WORLDS, STEPS, q, v, NULL, false);
    check_ends("c.h5", 3, STEPS, q, v, NULL, false);
    check_attribute("b.h5", "starts", "s.csv");
    for (int w = 0; w < WORLDS; w++)  // the last states of the file of a rollout, one of whose worlds stands by itself
        reference(q + w * NQ, v + w * NV, STEPS, NULL);
    rollout("d.h5", "--starts", "a.h5", "--steps", "5", NULL);
    check_ends("d.h5", WORLDS, STEPS, q, v, NULL, false);
}
END_TEST

/// What a file does not give is as without it: the scene's, or what its sample section draws. More worlds than a block has.
START_TEST(some_columns)
{
    enum { WORLDS = 4200 };
    double *const q = malloc(WORLDS * NQ * sizeof *q), *const v = malloc(WORLDS * NV * sizeof *v);
    ctn_error err;
    char text[sizeof scene_text + 100];
    snprintf(text, sizeof text, "%ssample: {v: {head: {uniform: [-1, 1]}}, q: {cart: {latin: [0, 1]}}}\n", scene_text);
    spit("scene.yaml", text);
    ctn_scene *const sampled = ctn_scene_load("scene.yaml", &err);
    FILE *const csv = fopen("s.csv", "w");
    fprintf(csv, "v.head.wy,q.cart\n");
    for (int w = 0; w < WORLDS; w++) {
        fprintf(csv, "%d,0.25\n", w);
        ctn_sample_state(sampled, model, 3, w, WORLDS, q + w * NQ, v + w * NV);
        q[w * NQ] = 0.25, v[w * NV + 4] = w;
    }
    fclose(csv);
    rollout("a.h5", "--starts", "s.csv", "--steps", "1", "--seed", "3", NULL);
    check_ends("a.h5", WORLDS, 1, q, v, NULL, false);
    ctn_scene_free(sampled);
    free(q), free(v);
}
END_TEST

/// Writes datasets in SWMR mode, and is killed with the file open, marked as being written.
static void write_and_die(const char *path, size_t worlds, const double *q, const double *tau)
{
    const pid_t pid = fork();
    if (!pid) {
        const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_libver_bounds(list, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list),
                    states = H5Screate_simple(2, (hsize_t[]){worlds, NQ}, NULL),
                    forces = H5Screate_simple(3, (hsize_t[]){worlds, 1, NV}, NULL),
                    a = H5Dcreate2(file, "q", H5T_IEEE_F64LE, states, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                    b = H5Dcreate2(file, "tau", H5T_IEEE_F64LE, forces, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (H5Fstart_swmr_write(file) < 0) _exit(1);
        H5Dwrite(a, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, q);
        H5Dwrite(b, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, tau);
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        raise(SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/// The worlds that a killed writer finished are starts, and forces, like others; those that it did not are named.
START_TEST(left_by_a_killed_writer)
{
    enum { WORLDS = 3 };
    double q[WORLDS * NQ], v[WORLDS * NV], tau[WORLDS * NV], x[NQ];
    make_states(WORLDS, q, v);
    for (int k = 0; k < WORLDS * NV; k++) tau[k] = k;
    q[2 * NQ] = NAN;
    write_and_die("k.h5", WORLDS, q, tau);
    for (size_t w = 0; w < WORLDS; w++) ctn_model_initial_state(model, x, v + w * NV);
    rollout("a.h5", "--starts", "k.h5", "--controls", "k.h5", "--steps", "1", "--worlds", "2", NULL);
    check_ends("a.h5", 2, 1, q, v, tau, true);
    outcome o = catena("rollout", "scene.yaml", "--starts", "k.h5", "--steps", "1", "--out", "b.h5");
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "k.h5: q[2][0] is not a finite number, but nan; worlds of a rollout that were not run") != NULL,
                  "%s", o.err);
    outcome_free(&o);
}
END_TEST

// ---- forces

/// Forces by world and step, held over each step, whatever the stride.
START_TEST(forces_by_world)
{
    enum { WORLDS = 5, STEPS = 11 };
    double q[WORLDS * NQ], v[WORLDS * NV], tau[WORLDS * (STEPS + 2) * NV], first[WORLDS * STEPS * NV];
    make_states(WORLDS, q, v);
    for (size_t k = 0; k < sizeof tau / sizeof *tau; k++) tau[k] = 3 * sin(0.7 * (double)k);
    put_numbers("c.h5", "tau", 3, (hsize_t[]){WORLDS, STEPS + 2, NV}, tau);  // two steps more than are made
    put_numbers("s.h5", "q", 2, (hsize_t[]){WORLDS, NQ}, q);
    put_numbers("s.h5", "v", 2, (hsize_t[]){WORLDS, NV}, v);
    for (size_t w = 0; w < WORLDS; w++) memcpy(first + w * STEPS * NV, tau + w * (STEPS + 2) * NV, STEPS * NV * sizeof *tau);
    rollout("a.h5", "--starts", "s.h5", "--controls", "c.h5", "--steps", "11", NULL);
    rollout("b.h5", "--starts", "s.h5", "--controls", "c.h5", "--steps", "11", "--stride", "4", NULL);
    check_ends("a.h5", WORLDS, STEPS, q, v, first, true);
    check_ends("b.h5", WORLDS, STEPS, q, v, first, true);
    check_attribute("a.h5", "controls", "c.h5");
    rollout("d.h5", "--controls", "c.h5", "--steps", "11", NULL);  // as many worlds as there are forces for
    for (int w = 0; w < WORLDS; w++) ctn_model_initial_state(model, q + w * NQ, v + w * NV);
    check_ends("d.h5", WORLDS, STEPS, q, v, first, true);
    static const char *const sums[] = {"steps", "energy_before", "energy_after"};
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++) {  // statistics add up alike
        double *const a = numbers("a.h5", sums[k], NULL), *const b = numbers("b.h5", sums[k], NULL);
        ck_assert_msg(!memcmp(a, b, WORLDS * sizeof *a), "%s", sums[k]);
        if (!k) ck_assert_double_eq(a[2], STEPS);
        free(a), free(b);
    }
}
END_TEST

/// Forces for all worlds alike, in both formats, and more of them than are in memory at a time.
START_TEST(forces_of_steps)
{
    enum { WORLDS = 600, STEPS = 1300 };  // 37 MB for all worlds
    double *const tau = calloc(STEPS * NV, sizeof *tau);
    double q[2 * NQ], v[2 * NV];
    FILE *const csv = fopen("c.csv", "w");
    fprintf(csv, "tau.head.wz,\"tau.arm, \"\"left\"\".2\"\n");
    for (int k = 0; k < STEPS; k++) {
        tau[k * NV + 5] = 0.01 * sin(0.1 * k), tau[k * NV + 2] = cos(0.03 * k);
        fprintf(csv, "%.17g,%.17g\n", tau[k * NV + 5], tau[k * NV + 2]);
    }
    fclose(csv);
    put_numbers("c.h5", "tau", 2, (hsize_t[]){STEPS, NV}, tau);
    for (int k = 0; k < 2; k++) ctn_model_initial_state(model, q + k * NQ, v + k * NV);
    reference(q, v, STEPS, tau);
    rollout("a.h5", "--controls", "c.csv", "--worlds", "600", "--steps", "1300", "--stride", "1300", NULL);
    rollout("b.h5", "--controls", "c.h5", "--worlds", "2", "--steps", "1300", "--stride", "1", NULL);
    size_t n, m;
    double *const a = numbers("a.h5", "q", &n), *const b = numbers("b.h5", "q", &m);
    ck_assert_uint_eq(n, 2 * WORLDS * NQ);
    for (size_t w = 0; w < WORLDS; w++) ck_assert_msg(!memcmp(a + (2 * w + 1) * NQ, q, sizeof q / 2), "world %zu", w);
    ck_assert(!memcmp(b + m - NQ, q, sizeof q / 2));
    free(tau), free(a), free(b);
}
END_TEST

// ---- errors

static void write_inputs(void)
{
    static const double zero[64];
    double broken[3 * NQ];
    static const double quaternion_less[NQ] = {0};
    make_states(3, broken, (double[3 * NV]){0});
    broken[NQ + 2] = NAN;
    put_numbers("nan.h5", "q", 2, (hsize_t[]){3, NQ}, broken);
    put_numbers("zero.h5", "q", 2, (hsize_t[]){1, NQ}, quaternion_less);
    put_numbers("narrow.h5", "q", 2, (hsize_t[]){3, NQ - 1}, zero);
    put_numbers("flat.h5", "q", 1, (hsize_t[]){NQ}, zero);
    put_numbers("other.h5", "x", 1, (hsize_t[]){3}, zero);
    put_numbers("uneven.h5", "q", 2, (hsize_t[]){3, NQ}, zero);
    put_numbers("uneven.h5", "v", 2, (hsize_t[]){2, NV}, zero);
    put_numbers("none.h5", "q", 2, (hsize_t[]){0, NQ}, zero);
    put_numbers("timeless.h5", "q", 3, (hsize_t[]){2, 0, NQ}, zero);
    put_numbers("tau.h5", "tau", 3, (hsize_t[]){2, 3, NV}, zero);
    broken[NV + 3] = INFINITY;
    put_numbers("tau-nan.h5", "tau", 2, (hsize_t[]){2, NV}, broken);
    spit("text.h5", "no HDF5");
    spit("empty.csv", "# nothing\n\n");
    spit("head.csv", "q.cart\n");
    spit("unknown.csv", "q.cart,q.heads.qw\n");
    spit("foreign.csv", "time,world\n");
    spit("twice.csv", "q.cart, v.cart,q.cart\n");
    spit("quote.csv", "q.cart,\"v.cart\n");
    spit("behind.csv", "\"q.cart\"x,v.cart\n");
    spit("text.csv", "q.cart,v.cart\n1,2\n\n# x\n1,2m\n");
    spit("nan.csv", "q.cart,v.cart\n1,nan\n");
    spit("gap.csv", "q.cart,v.cart\n1,\n");
    spit("short.csv", "q.cart,v.cart\n1,2\n3\n");
    spit("long.csv", "q.cart,v.cart\n1,2,3,4\n");
    spit("half.csv", "q.head.qw,q.head.qx\n1,0\n");
    spit("zero.csv", "q.head.qw,q.head.qx,q.head.qy,q.head.qz\n1,0,0,0\n0,0,0,0\n");
    spit("tau.csv", "tau.cart\n1\n2\n");
    spit("v.csv", "v.cart\n1\n2\n");
    spit("forced.yaml", scene_text);
    FILE *const forced = fopen("forced.yaml", "a");
    fputs("sample: {force: {cart: {uniform: [0, 1]}}}\n", forced);
    fclose(forced);
    char other[sizeof scene_text];
    strcpy(other, scene_text);
    memcpy(strstr(other, "name: head"), "name: tail", 10);
    spit("other.yaml", other);
    outcome o = catena("rollout", "other.yaml", "--steps", "2", "--out", "other-scene.h5", "--quiet");
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
    o = catena("run", "scene.yaml", "--steps", "2", "--worlds", "3", "--out", "run.h5");
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
}

static const struct {
    const char *args[4], *says;
} mistakes[] = {
    {{"--starts", "s.txt"}, "--starts: expected a file that ends in .csv, .h5 or .hdf5, found s.txt"},
    {{"--starts", "s.csv"}, "s.csv: cannot be read: No such file or directory"},
    {{"--starts", "s.h5"}, "s.h5: cannot be read: No such file or directory"},
    {{"--starts", "text.h5"}, "text.h5: cannot be read: it is no HDF5 file"},
    {{"--starts", "other.h5"}, "other.h5: has neither q nor v; expected q [world][nq]"},
    {{"--starts", "flat.h5"}, "flat.h5: q: expected numbers [world][nq] or [world][time][nq], found 1 dimensions"},
    {{"--starts", "narrow.h5"},
     "narrow.h5: q: expected numbers [world][nq] or [world][time][nq], the last dimension 7 as in the scene, found [3][6]"},
    {{"--starts", "uneven.h5"}, "uneven.h5: q has 3 worlds, v has 2; give both for all"},
    {{"--starts", "none.h5"}, "none.h5: has no states"},
    {{"--starts", "timeless.h5"}, "timeless.h5: q has no states: its second dimension is 0"},
    {{"--starts", "nan.h5"},
     "nan.h5: q[1][2] is not a finite number, but nan; worlds of a rollout that were not run have no states: take"},
    {{"--starts", "zero.h5"}, "zero.h5: world 0: the quaternion of link 'head' is zero"},
    {{"--starts", "other-scene.h5"},
     "other-scene.h5: is of another scene: its coordinate 3 is called 'q.tail.qw', here it is 'q.head.qw'; take a file without"},
    {{"--starts", "run.h5"},
     "run.h5: is a recording of `catena run`, whose arrays are [record][world]; take the file of a rollout"},
    {{"--starts", "nan.h5", "--worlds", "4"}, "--worlds: nan.h5 has the states of 3 worlds, fewer than 4"},
    {{"--starts", "nan.h5", "--out", "./nan.h5"}, "--out: ./nan.h5 is the file of --starts, and would be lost"},
    {{"--starts", "empty.csv"}, "empty.csv: is empty; expected a line of column names, such as 'q.cart'"},
    {{"--starts", "head.csv"}, "head.csv: has no states"},
    {{"--starts", "unknown.csv"}, "unknown.csv:1: unknown column 'q.heads.qw'; did you mean 'q.head.qw'?"},
    {{"--starts", "foreign.csv"}, "foreign.csv:1: unknown column 'time'; there are 13 names, from 'q.cart' to 'v.head.wz'"},
    {{"--starts", "twice.csv"}, "twice.csv:1: two columns 'q.cart'"},
    {{"--starts", "quote.csv"}, "quote.csv:1: a quote that is not closed, or has text behind it"},
    {{"--starts", "behind.csv"}, "behind.csv:1: a quote that is not closed, or has text behind it"},
    {{"--starts", "text.csv"}, "text.csv:5: number 2: expected a finite number, found '2m'"},
    {{"--starts", "nan.csv"}, "nan.csv:2: number 2: expected a finite number, found 'nan'"},
    {{"--starts", "gap.csv"}, "gap.csv:2: number 2: expected a finite number, found ''"},
    {{"--starts", "short.csv"}, "short.csv:3: expected 2 numbers, one for each column, found 1"},
    {{"--starts", "long.csv"}, "long.csv:2: expected 2 numbers, one for each column, found 4"},
    {{"--starts", "half.csv"}, "half.csv: of the quaternion of 'head', qw qx qy qz, there are only 2 columns; give all four"},
    {{"--starts", "zero.csv"}, "zero.csv: world 1: the quaternion of link 'head' is zero"},
    {{"--starts", "tau.csv"}, "tau.csv:1: unknown column 'tau.cart'"},
    {{"--controls", "s.txt"}, "--controls: expected a file that ends in .csv, .h5 or .hdf5, found s.txt"},
    {{"--controls", "v.csv"}, "v.csv:1: unknown column 'v.cart'"},
    {{"--controls", "other.h5"},
     "other.h5: has no tau; expected joint forces tau [world][step][nv], or [step][nv] for all worlds"},
    {{"--controls", "tau.csv"}, "tau.csv: has forces for 2 steps, fewer than 3; give more, or ask for fewer --steps"},
    {{"--controls", "tau.h5", "--steps", "4"},
     "tau.h5: has forces for 3 steps, fewer than 4; give more, or ask for fewer --steps"},
    {{"--controls", "tau.h5", "--worlds", "3"}, "tau.h5: tau has 2 worlds, fewer than 3; give as many, or a smaller --worlds"},
    {{"--controls", "tau-nan.h5", "--steps", "2"}, "tau-nan.h5: tau[1][3] is not a finite number, but inf"},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

START_TEST(mistakes_are_named)
{
    write_inputs();
    for (int k = 0; k < MISTAKES; k++) {
        const char *args[12] = {"rollout", "scene.yaml", "--steps", "3", "--out", "a.h5"};
        for (int i = 0; i < 4; i++) args[6 + i] = mistakes[k].args[i];
        outcome o = catena_wait(catena_start(args));
        ck_assert_msg(strstr(o.err, mistakes[k].says) != NULL, "expected %s\nfound %s", mistakes[k].says, o.err);
        ck_assert_int_eq(o.status, 2);
        outcome_free(&o);
    }
    outcome o = catena("rollout", "forced.yaml", "--steps", "2", "--controls", "tau.csv", "--out", "a.h5");
    ck_assert_msg(strstr(o.err, "--controls: the scene draws joint forces too, by `force` of its `sample`") != NULL, "%s", o.err);
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rollout files");
    TCase *c = tcase_create("rollout files");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, states_of_both_formats);
    tcase_add_test(c, some_columns);
    tcase_add_test(c, left_by_a_killed_writer);
    tcase_add_test(c, forces_by_world);
    tcase_add_test(c, forces_of_steps);
    tcase_add_test(c, mistakes_are_named);
    suite_add_tcase(s, c);
    return run_suite(s);
}
