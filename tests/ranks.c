/// `catena-mpi rollout` by several processes: the file over theirs against that of one process; kills, failures, resuming.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NV = 3 };
static const char scene_text[] =
    "catena: 1\n"
    "name: drawn\n"
    "links:\n"
    "  - {name: upper, joint: universal, mass: 1, com: [0, 0.1, 0.2], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: lower, parent: upper, position: [0, 0, 1], joint: {type: revolute, stiffness: 2}, mass: 1, com: [0.2, 0, 0], "
    "inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "integrator: {method: collocation, dt: 0.02}\n"
    "sample:\n"
    "  seed: 5\n"
    "  q: {upper: {latin: [-0.5, 0.25]}, lower: {normal: [0, 0.3]}}\n"
    "  v: {all: {normal: [0, 2]}}\n"
    "  parameters: {mass_scale: {all: {latin: [0.8, 1.2]}}}\n";

static void setup(void)
{
    enter_scratch();
    spit("scene.yaml", scene_text);
    // in containers too, and more processes than CPUs (Open MPI; others do not ask)
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1), setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
}

static void teardown(void) { leave_scratch(); }

/// `catena-mpi rollout scene.yaml --out FILE --threads 1` by `ranks` processes of mpirun; 0: `catena` alone. Options up to NULL.
static pid_t start(int ranks, const char *file, const char *const *options)
{
    char count[16];
    const char *words[40] = {CATENA_BINARY};
    int n = 1;
    snprintf(count, sizeof count, "%d", ranks);
    if (ranks) words[0] = MPIRUN, words[n++] = "-n", words[n++] = count, words[n++] = CATENA_MPI_BINARY;
    const char *const fixed[] = {"rollout", "scene.yaml", "--out", file, "--threads", "1"};
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) words[n++] = fixed[k];
    while (n < 39 && *options) words[n++] = *options++;
    return program_start(words);
}

static void expect(int status, const char *says, int ranks, const char *file, const char *const *options)
{
    outcome o = catena_wait(start(ranks, file, options));
    ck_assert_msg(strstr(o.err, says) != NULL, "expected '%s', found '%s'", says, o.err);
    ck_assert_msg(o.status == status, "exit status %d: %s", o.status, o.err);
    outcome_free(&o);
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (; (text = strstr(text, word)); text++) count++;
    return count;
}

static void verify(const char *file, const char *says)
{
    outcome o = catena("replay", file, "--verify");
    ck_assert_msg(o.status == 0 && strstr(o.out, says), "expected '%s', found '%s%s'", says, o.out, o.err);
    outcome_free(&o);
}

// ---- the same file

static herr_t same_attribute(hid_t at, const char *name, const H5A_info_t *info, void *other)
{
    char a[4096], b[4096];
    (void)info;
    if (!strcmp(name, "started") || !strcmp(name, "command")) return 0;
    const hid_t x = H5Aopen(at, name, H5P_DEFAULT), y = H5Aopen(*(hid_t *)other, name, H5P_DEFAULT), type = H5Aget_type(x);
    ck_assert_msg(y >= 0 && H5Aget_storage_size(x) == H5Aget_storage_size(y), "attribute %s", name);
    if (H5Tis_variable_str(type) > 0) {
        char *text[2];
        ck_assert(H5Aread(x, type, &text[0]) >= 0 && H5Aread(y, type, &text[1]) >= 0);
        ck_assert_msg(!strcmp(text[0], text[1]), "attribute %s: %s, %s", name, text[0], text[1]);
        H5free_memory(text[0]), H5free_memory(text[1]);
    } else {
        ck_assert(H5Aread(x, type, a) >= 0 && H5Aread(y, type, b) >= 0);
        ck_assert_msg(!memcmp(a, b, H5Aget_storage_size(x)), "attribute %s", name);
    }
    H5Tclose(type), H5Aclose(x), H5Aclose(y);
    return 0;
}

static herr_t same_object(hid_t file, const char *name, const H5O_info_t *info, void *other)
{
    hid_t x = H5Oopen(file, name, H5P_DEFAULT), y = H5Oopen(*(hid_t *)other, name, H5P_DEFAULT);
    ck_assert_msg(y >= 0 && H5Aget_num_attrs(x) == H5Aget_num_attrs(y), "attributes of %s", name);
    H5Aiterate2(x, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, same_attribute, &y);
    if (info->type == H5O_TYPE_DATASET) {
        hsize_t a[8] = {0}, b[8] = {0};
        const hid_t s = H5Dget_space(x), t = H5Dget_space(y);
        ck_assert_int_eq(H5Sget_simple_extent_dims(s, a, NULL), H5Sget_simple_extent_dims(t, b, NULL));
        ck_assert_msg(!memcmp(a, b, sizeof a), "shape of %s", name);
        H5Sclose(s), H5Sclose(t);
    }
    H5Oclose(x), H5Oclose(y);
    return 0;
}

/// The same datasets, bits, shapes and attributes, but for the time and the command line.
static void same_files(const char *a, const char *b)
{
    same_datasets(a, b);
    hid_t x = H5Fopen(a, H5F_ACC_RDONLY, H5P_DEFAULT), y = H5Fopen(b, H5F_ACC_RDONLY, H5P_DEFAULT);
    ck_assert_msg(x >= 0 && y >= 0, "%s and %s cannot be opened", a, b);
    H5Ovisit2(x, H5_INDEX_NAME, H5_ITER_NATIVE, same_object, &y, H5O_INFO_BASIC);
    H5Fclose(x), H5Fclose(y);
}

#define SOME "--worlds", "41", "--steps", "20", "--stride", "3", "--hash", "--keep", "q,v,energy,pose"

/// One, two, three processes: the same bits, Latin hypercubes too, and the file reads as one from wherever the folder is.
START_TEST(the_same_file)
{
    static const char *const options[] = {SOME, NULL};
    expect(0, "", 0, "whole.h5", options);
    for (int ranks = 1; ranks <= 3; ranks++) {
        char last[32];
        outcome o = catena_wait(start(ranks, "50%bc.h5", options));
        // limbs that swing by 0.12 rad a step: the first of the processes says that it looked, and at which
        ck_assert_msg(o.status == 0 && count_of(o.err, "\n") == 1, "%s", o.err);
        ck_assert_msg(count_of(o.err, "warning: the method brakes 8 of the first 8 worlds made; of world 0: ") == 1, "%s", o.err);
        ck_assert_msg(count_of(o.out, "41 of 41, seed 5") == 1, "%s", o.out);
        ck_assert_int_eq(count_of(o.out, "processes  "), ranks > 1);
        outcome_free(&o);
        same_files("whole.h5", "50%bc.h5");
        verify("50%bc.h5", "identical: 41 worlds, 20 steps (8 states and the hashes of all steps of each)");
        for (int r = 0; r <= 3; r++) {
            snprintf(last, sizeof last, "50%%bc.%d.h5", r);
            ck_assert_int_eq(access(last, F_OK), ranks > 1 && r < ranks ? 0 : -1);
            if (ranks > 1 && r < ranks) ck_assert_uint_eq(worlds_done(last), (size_t)(41 * (r + 1) / ranks - 41 * r / ranks));
        }
        if (ranks == 2) verify("50%bc.1.h5", "identical: 21 worlds");
    }
    ck_assert_int_eq(system("mkdir moved && mv 50* moved"), 0);
    same_files("whole.h5", "moved/50%bc.h5");
    remove("moved/50%bc.1.h5");  // its worlds are missing then, and said to be
    ck_assert_uint_eq(worlds_done("moved/50%bc.h5"), 27);
    outcome o = catena("replay", "moved/50%bc.h5", "--verify");
    ck_assert_int_eq(o.status, 1);
    ck_assert_msg(strstr(o.err, "moved/50%bc.h5: some of its worlds are in moved/50%bc.1.h5, which cannot be read: No such file"),
                  "%s", o.err);
    outcome_free(&o);
#ifdef HAS_RENDER
    o = catena("render", "moved/50%bc.h5", "--worlds", "all", "--out", "a.png");
    ck_assert_msg(o.status == 2 && strstr(o.err, "some of its worlds are in moved/50%bc.1.h5, which cannot be read"), "%d: %s",
                  o.status, o.err);
    outcome_free(&o);
#endif
    o = catena("replay", "moved/50%bc.h5");  // nothing is compared: those that are there
    ck_assert_msg(!o.status && strstr(o.out, "unfinished    the file has 27 of 41 worlds"), "%s%s", o.out, o.err);
    outcome_free(&o);
}
END_TEST

/// World i gets the start and the forces of world i.
START_TEST(starts_and_controls)
{
    enum { WORLDS = 7, STEPS = 5 };
    static const char *const options[] = {"--starts", "starts.h5", "--controls", "forces.h5", "--steps", "5", "--quiet", NULL};
    double v[WORLDS * NV], tau[WORLDS * STEPS * NV];
    for (int k = 0; k < WORLDS * NV; k++) v[k] = sin(k);
    for (int k = 0; k < WORLDS * STEPS * NV; k++) tau[k] = cos(k);
    put_numbers("starts.h5", "v", 2, (hsize_t[]){WORLDS, NV}, v);
    put_numbers("forces.h5", "tau", 3, (hsize_t[]){WORLDS, STEPS, NV}, tau);
    expect(0, "", 0, "whole.h5", options);
    expect(0, "", 3, "r.h5", options);
    same_files("whole.h5", "r.h5");
    static const char *const own[] = {"--starts", "r.1.h5", "--steps", "5", "--quiet", NULL};
    expect(2, "error: --out: r.1.h5 is the file of --starts, and would be lost", 3, "r.h5", own);
    static const char *const joined[] = {"--starts", "r.h5", "--steps", "5", "--quiet", NULL};
    expect(0, "", 0, "a.h5", joined);  // it is a file of starts like others
    static const char *const plain[] = {"--starts", "whole.h5", "--steps", "5", "--quiet", NULL};
    expect(0, "", 2, "b.h5", plain);
    same_datasets("a.h5", "b.h5");
}
END_TEST

// ---- kills, signals, failures

/// Kills mpirun and the ranks, which would go on until they notice that it is gone.
static void kill_all(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    char *const children = slurp(path, NULL), *at = children, *end;
    for (long child; (child = strtol(at, &end, 10)) > 0; at = end) kill((pid_t)child, SIGKILL);
    kill(pid, SIGKILL);
    free(children);
}

/// Waits until those who wrote the files of two ranks are gone.
static void wait_for_locks(void)
{
    static const char *const files[] = {"r.0.h5", "r.1.h5"};
    for (int k = 0; k < 2; k++) {
        const int fd = open(files[k], O_RDONLY);
        ck_assert_int_ge(fd, 0);
        while (flock(fd, LOCK_EX | LOCK_NB)) nanosleep(&(struct timespec){0, 5000000}, NULL);
        close(fd);
    }
}

#define MANY "--worlds", "30000", "--steps", "30", "--stride", "10", "--hash", "--quiet"

/// Killed with mpirun, what is done is in the file and right, and a run that goes on ends with the bits of one process.
START_TEST(killed)
{
    static const char *const whole[] = {MANY, NULL}, *const resumed[] = {MANY, "--resume", NULL};
    expect(0, "", 0, "whole.h5", whole);
    const pid_t pid = start(2, "r.h5", resumed);
    wait_for_worlds("r.h5", 0, pid);
    kill_all(pid);
    outcome o = catena_wait(pid);
    ck_assert_int_eq(o.status, 128 + SIGKILL);
    outcome_free(&o);
    wait_for_locks();
    const size_t done = worlds_done("r.h5");
    ck_assert_uint_lt(done, 30000);
    char says[64];
    snprintf(says, sizeof says, "identical: %zu world%s, 30 steps", done, done == 1 ? "" : "s");
    verify("r.h5", says);
    expect(0, "", 2, "r.h5", resumed);
    same_files("whole.h5", "r.h5");
    expect(0, "", 2, "r.h5", resumed);  // nothing is left to do
    same_files("whole.h5", "r.h5");
}
END_TEST

/// A signal to one process ends all, in good order, within a stride that none of them would end.
START_TEST(one_is_asked_to_stop)
{
    static const char *const options[] = {"--worlds", "3", "--steps", "2000000000", "--stride", "1000000000", "--quiet", NULL};
    char path[64], *end;
    const pid_t pid = start(3, "r.h5", options);
    while (access("r.h5", F_OK)) nanosleep(&(struct timespec){0, 5000000}, NULL);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    char *const children = slurp(path, NULL);
    const long first = strtol(children, &end, 10), second = strtol(end, NULL, 10);
    ck_assert_msg(first > 0 && second > 0, "no children of mpirun: %s", children);
    wait_for_handler((pid_t)second, SIGTERM);
    kill((pid_t)second, SIGTERM);
    outcome o = catena_wait(pid);
    ck_assert_int_eq(o.status, 1);
    ck_assert_msg(count_of(o.err, "error: interrupted after 0 of 3 worlds") == 1, "%s", o.err);
    ck_assert_uint_eq(worlds_done("r.h5"), 0);
    free(children), outcome_free(&o);
}
END_TEST

/// What goes wrong in one process ends all with its exit status, and says where; what is wrong for all is said once.
START_TEST(failures_are_named)
{
    static const char *const options[] = {"--worlds", "7", "--steps", "5", "--quiet", NULL};
    static const char *const few[] = {"--worlds", "2", "--steps", "5", "--quiet", NULL};
    static const char *const forced[] = {"--worlds", "7", "--steps", "5", "--controls", "forces.h5", "--quiet", NULL};
    static const char *const method[] = {"--worlds", "7", "--steps", "5", "--method", "rk5", NULL};
    double tau[7 * 5 * NV] = {0};
    tau[(3 * 5 + 4) * NV] = NAN;  // world 3 is of rank 1
    put_numbers("forces.h5", "tau", 3, (hsize_t[]){7, 5, NV}, tau);
    expect(2, "error: rank 1: forces.h5: ", 3, "r.h5", forced);
    expect(2, "error: --worlds: 2 worlds are too few for 3 processes; let mpirun start fewer", 3, "r.h5", few);
    outcome o = catena_wait(start(3, "r.h5", method));
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(count_of(o.err, "error: ") == 1 && strstr(o.err, "error: --method: "), "%s", o.err);
    outcome_free(&o);
    remove("r.2.h5");
    ck_assert_int_eq(mkdir("r.2.h5", 0777), 0);
    expect(1, "error: rank 2: r.2.h5: cannot be written: Is a directory", 3, "r.h5", options);
    ck_assert_int_eq(mkdir("s.h5", 0777), 0);
    expect(1, "s.h5: cannot be written: Is a directory", 2, "s.h5", options);
    ck_assert_int_eq(access("s.h5.new", F_OK), -1);
    spit("t.h5", "not ours");
    const int fd = open("t.h5", O_RDONLY);
    ck_assert_int_eq(flock(fd, LOCK_SH), 0);
    expect(1, "t.h5: cannot be written: another program has it open", 2, "t.h5", options);
    close(fd);
    char *const text = slurp("t.h5", NULL);
    ck_assert_str_eq(text, "not ours");
    free(text);
}
END_TEST

/// Frozen worlds of all processes are counted.
START_TEST(frozen)
{
    static const char *const options[] = {"--worlds", "9",     "--steps", "400", "--stride", "400",
                                          "--method", "euler", "--dt",    "0.5", NULL};
    size_t n;
    int count = 0;
    char says[100];
    outcome o = catena_wait(start(3, "f.h5", options));
    ck_assert_int_eq(o.status, 1);
    double *const status = numbers("f.h5", "status", &n);
    for (size_t w = 0; w < n; w++) count += status[w] > 0;
    ck_assert_int_gt(count, 3);
    snprintf(says, sizeof says, "error: %d of 9 worlds are frozen; `status` in f.h5 says which", count);
    ck_assert_msg(count_of(o.err, says) == 1, "%s", o.err);
    free(status), outcome_free(&o);
}
END_TEST

/// A rollout is resumed by as many processes as it was begun with; otherwise nothing is written.
START_TEST(resumed_by_others)
{
    static const char *const options[] = {"--worlds", "7", "--steps", "5", "--quiet", "--resume", NULL};
    static const char *const others[] = {"--worlds", "7", "--steps", "5", "--quiet", "--resume", "--seed", "9", NULL};
    expect(0, "", 0, "one.h5", options);
    expect(0, "", 2, "r.h5", options);
    expect(2, "one.h5: cannot be resumed by several processes: it has the worlds of one; resume it without mpirun", 2, "one.h5",
           options);
    expect(2, "r.h5: cannot be resumed: its worlds are in the files of 2 processes; resume it by mpirun -n 2", 0, "r.h5",
           options);
    expect(2, "r.h5: cannot be resumed: its worlds are in the files of 2 processes; resume it by mpirun -n 2", 1, "r.h5",
           options);
    expect(2, "error: r.0.h5: cannot be resumed: ranks is 2 in the file and 3 now", 3, "r.h5", options);
    expect(2, "error: r.0.h5: cannot be resumed: seed is 5 in the file and 9 now", 2, "r.h5", others);
    expect(2, "r.0.h5: cannot be resumed: rank is 0 in the file and nothing now", 0, "r.0.h5", options);
    ck_assert_int_eq(access("one.0.h5", F_OK), -1);
    ck_assert_int_eq(access("r.2.h5", F_OK), -1);
    same_files("one.h5", "r.h5");
    expect(0, "", 2, "r.h5", options);
    same_files("one.h5", "r.h5");
}
END_TEST

// ---- searches

/// A search of a population over processes: the same scene in the end, bit by bit, and one checkpoint that any number goes on from.
START_TEST(a_search)
{
    static const char text[] = "catena: 1\nlinks:\n"
                               "  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.3, 0, 0], inertia: "
                               "[0.01, 0.03, 0.03, 0, 0, 0]}\n"
                               "motors: [{joint: a, type: position, kp: 20, kd: 1}]\n"
                               "sensors: [{name: angle, type: joint_position, joint: a, noise: 0.01}]\n"
                               "controller: {type: linear, sensors: all, range: [-2, 2]}\n"
                               "reward: [{term: upright, link: a, axis: [1, 0, 0], weight: 1}, {term: effort, weight: -0.001}]\n"
                               "sample: {q: {a: {normal: [0, 0.5]}}}\nsearch: {generations: 8, population: 7, worlds: 2}\n"
                               "integrator: {method: radau, dt: 0.02}\nduration: 1\n";
    spit("search.yaml", text);
    for (int ranks = 0; ranks <= 3; ranks++) {
        char count[16], file[32];
        snprintf(count, sizeof count, "%d", ranks), snprintf(file, sizeof file, "found%d.yaml", ranks);
        const char *const alone[] = {CATENA_BINARY, "search", "search.yaml", "--out", file, "--threads", "1", NULL};
        const char *const shared[] = {MPIRUN,  "-n", count, CATENA_MPI_BINARY, "search", "search.yaml", "--threads", "1",
                                      "--out", file, NULL};
        outcome o = catena_wait(program_start(ranks ? shared : alone));
        ck_assert_msg(o.status == 0 && count_of(o.out, "generation ") == 8, "%s%s", o.out, o.err);
        outcome_free(&o);
        char *const one = slurp("found0.yaml", NULL), *const other = slurp(file, NULL);
        ck_assert_str_eq(one, other);
        free(one), free(other);
    }
    const char *const many[] = {MPIRUN,          "-n",          "3",        CATENA_MPI_BINARY,
                                "search",        "search.yaml", "--out",    "found1.yaml",
                                "--generations", "9",           "--resume", NULL};
    outcome o = catena_wait(program_start(many));
    ck_assert_msg(o.status == 0 && count_of(o.out, "generation 9 ") == 1 && count_of(o.out, "generation ") == 1, "%s%s", o.out,
                  o.err);
    outcome_free(&o);
}
END_TEST

/// Each process has a program of its own that says what its worlds earn, and all make the searches of several seeds.
START_TEST(searches_by_a_program)
{
    static const char text[] = "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                               "  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                               "motors: [{joint: a, type: position, kp: 20, kd: 1}]\n"
                               "controller: {type: spline, knots: 3, period: 2, range: [-1, 1], every: 0.04}\n"
                               "search: {generations: 3, population: 5}\n"
                               "integrator: {method: radau, dt: 0.02}\nduration: 0.4\n";
    static const char says[] = "sed -un '/protocol/d; /begin/d; s/.*\"q\":\\[\\(.*\\)\\],\"v\":.*/\\1/; s/[][]//g; "
                               "s/.*/{\"reward\": [&]}/p'";
    spit("search.yaml", text);
    for (int ranks = 0; ranks <= 3; ranks++) {
        char count[16], file[32];
        snprintf(count, sizeof count, "%d", ranks), snprintf(file, sizeof file, "found%d.yaml", ranks);
        const char *const alone[] = {CATENA_BINARY, "search", "search.yaml", "--out", file,
                                     "--seeds",     "2",      "--reward",    says,    NULL};
        const char *const shared[] = {MPIRUN, "-n",      count, CATENA_MPI_BINARY, "search", "search.yaml", "--out",
                                      file,   "--seeds", "2",   "--reward",        says,     NULL};
        outcome o = catena_wait(program_start(ranks ? shared : alone));
        ck_assert_msg(o.status == 0 && count_of(o.out, "generation ") == 6, "%s%s", o.out, o.err);
        outcome_free(&o);
        char *const one = slurp("found0.yaml", NULL), *const other = slurp(file, NULL);
        ck_assert_str_eq(one, other);
        free(one), free(other);
    }
    // one that dies ends them all
    const char *const dies[] = {MPIRUN,  "-n",         "2",        CATENA_MPI_BINARY, "search", "search.yaml",
                                "--out", "found.yaml", "--reward", "read x; exit 3",  NULL};
    outcome o = catena_wait(program_start(dies));
    ck_assert_msg(o.status == 1 && strstr(o.err, "--reward: the process ended with status 3"), "%d: %s", o.status, o.err);
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("ranks");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, a_search), tcase_add_test(all, searches_by_a_program);
    tcase_add_test(all, the_same_file);
    tcase_add_test(all, starts_and_controls);
    tcase_add_test(all, killed);
    tcase_add_test(all, one_is_asked_to_stop);
    tcase_add_test(all, failures_are_named);
    tcase_add_test(all, frozen);
    tcase_add_test(all, resumed_by_others);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
