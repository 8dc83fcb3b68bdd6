/// What becomes of rollouts that are killed, interrupted, or run out of disk, and how they go on; what they keep.
#define _GNU_SOURCE  // SEEK_HOLE
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char scene_text[] = "catena: 1\n"
                                 "name: drawn\n"
                                 "include: [arm.yaml]\n"
                                 "integrator: {method: collocation, dt: 0.02}\n"
                                 "sample: {seed: 5, q: {all: {uniform: [-0.5, 0.25]}}, v: {all: {normal: [0, 2]}}}\n";

static const char arm_text[] =
    "catena: 1\n"
    "links:\n"
    "  - {name: upper, joint: ball, mass: 1, com: [0, 0.1, 0.2], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: lower, parent: upper, position: [0, 0, 1], joint: {type: revolute, stiffness: 2}, mass: 1, com: [0.2, 0, 0], "
    "inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n";

static void setup(void)
{
    enter_scratch();
    spit("scene.yaml", scene_text);
    spit("arm.yaml", arm_text);
}

static void teardown(void) { leave_scratch(); }

/// `catena rollout` into `file`; options up to NULL.
static pid_t start(const char *file, const char *const *options)
{
    const char *args[40] = {"rollout", "scene.yaml", "--out", file, "--quiet"};
    for (int n = 5; n < 39 && *options; n++) args[n] = *options++;
    return catena_start(args);
}

static void expect(int status, const char *says, const char *file, const char *const *options)
{
    outcome o = catena_wait(start(file, options));
    ck_assert_msg(!*says || strstr(o.err, says), "expected '%s', found '%s'", says, o.err);
    ck_assert_msg(o.status == status, "exit status %d: %s", o.status, o.err);
    outcome_free(&o);
}

#define MANY "--worlds", "30000", "--steps", "30", "--stride", "10", "--hash", "--keep", "q,v,energy,pose"

enum { RESERVED = 64 << 20 };

/// Leaves a file with so much room as a writer makes that is killed before it writes. Whether the file system tells such room.
static bool reserve(const char *file, off_t bytes)
{
    const int fd = open(file, O_RDWR);
    const off_t end = lseek(fd, 0, SEEK_END);
    ck_assert_int_eq(posix_fallocate(fd, end, bytes), 0);
    const bool tells = lseek(fd, 0, SEEK_HOLE) < end + bytes;
    close(fd);
    return tells;
}

/// Killed at any time, the file has the worlds that it says, and a run that goes on ends with the bits of one that was let alone.
START_TEST(killed)
{
    static const char *const whole[] = {MANY, NULL}, *const resumed[] = {MANY, "--resume", NULL};
    static const char *const arrays[] = {"q", "v", "pose", "energy/energy", "hash", "steps"};
    size_t size, worlds = 30000, before = 0;
    expect(0, "", "whole.h5", whole);
    for (int kills = 0; kills < 4; kills++) {
        const pid_t pid = start("k.h5", resumed);
        if (!kills) nanosleep(&(struct timespec){0, 300000000}, NULL);  // the beginning is there
        wait_for_worlds("k.h5", before, pid);
        nanosleep(&(struct timespec){0, 20000000 * kills}, NULL);
        kill(pid, SIGKILL);
        outcome o = catena_wait(pid);
        ck_assert_int_eq(o.status, 128 + SIGKILL);
        outcome_free(&o);
        const size_t done = worlds_done("k.h5");
        ck_assert_uint_gt(done, before);
        ck_assert_uint_lt(done, worlds);
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
            char *const a = raw("whole.h5", arrays[i], &size), *const b = raw("k.h5", arrays[i], &size);
            ck_assert_msg(!memcmp(a, b, size / worlds * done), "%s of %zu worlds", arrays[i], done);
            free(a), free(b);
        }
        before = done;
    }
    const bool tells = reserve("k.h5", RESERVED);
    expect(0, "", "k.h5", resumed);
    same_datasets("whole.h5", "k.h5");
    struct stat alone, gone_on;  // the room is used; parts of blocks are left
    ck_assert(!stat("whole.h5", &alone) && !stat("k.h5", &gone_on));
    ck_assert_msg(!tells || gone_on.st_size < alone.st_size + RESERVED / 2, "%ld bytes for %ld", (long)gone_on.st_size,
                  (long)alone.st_size);
    expect(0, "", "k.h5", resumed);  // nothing is left to do
    same_datasets("whole.h5", "k.h5");
}
END_TEST

/// Killed at any moment of its beginning, there is no file or one that can be resumed.
START_TEST(killed_early)
{
    static const char *const resumed[] = {"--worlds", "300", "--steps", "30", "--hash", "--resume", NULL};
    int early = 0;
    spit("out", ""), spit("err", "");  // it may be killed before it makes them
    for (long wait = 0; wait < 60; wait++) {
        const pid_t pid = start("e.h5", resumed);
        nanosleep(&(struct timespec){0, wait * 400000}, NULL);
        kill(pid, SIGKILL);
        outcome o = catena_wait(pid);
        outcome_free(&o);
        early += access("e.h5", F_OK) != 0;
        if (wait % 8 != 7) continue;
        expect(0, "", "e.h5", resumed);
        ck_assert_uint_eq(worlds_done("e.h5"), 300);
        ck_assert_int_eq(access("e.h5.new", F_OK), -1);
        remove("e.h5");
    }
    ck_assert_int_gt(early, 0);
    remove("e.h5");
    spit("e.h5.new", "left behind");
    expect(0, "", "e.h5", resumed);
    ck_assert_int_eq(access("e.h5.new", F_OK), -1);
}
END_TEST

/// While one program writes, no other does.
START_TEST(two_writers)
{
    static const char *const options[] = {MANY, "--resume", NULL};
    const pid_t first = start("t.h5", options);
    nanosleep(&(struct timespec){0, 300000000}, NULL);
    wait_for_worlds("t.h5", 0, first);
    kill(first, SIGSTOP);  // however fast the machine is, it is not done
    ck_assert_int_eq(rename("err", "err1"), 0);
    expect(1, "t.h5: cannot be written: another program has it open", "t.h5", options);
    kill(first, SIGINT);
    kill(first, SIGCONT);
    outcome o = catena_wait(first);
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    expect(0, "", "t.h5", options);
}
END_TEST

/// A stride longer than anyone would wait for ends at a signal; and the file can be resumed.
START_TEST(interrupted_within_a_stride)
{
    static const char *const options[] = {"--worlds", "3", "--steps", "2000000000", "--stride", "1000000000", NULL};
    const pid_t pid = start("i.h5", options);
    wait_for_handler(pid, SIGTERM);
    kill(pid, SIGTERM);
    outcome o = catena_wait(pid);
    ck_assert_int_eq(o.status, 1);
    ck_assert_msg(strstr(o.err, "interrupted after 0 of 3 worlds") != NULL, "%s", o.err);
    ck_assert_uint_eq(worlds_done("i.h5"), 0);
    outcome_free(&o);
}
END_TEST

/// A file at the size limit is sound, and goes on when there is room.
START_TEST(no_room)
{
    static const char *const whole[] = {MANY, NULL}, *const resumed[] = {MANY, "--resume", NULL};
    struct rlimit limit;
    expect(0, "", "whole.h5", whole);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 32 << 20;
    setrlimit(RLIMIT_FSIZE, &limit);
    expect(1, "f.h5: cannot be written: File too large", "f.h5", whole);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    const size_t done = worlds_done("f.h5");
    ck_assert_uint_gt(done, 0);
    ck_assert_uint_lt(done, 30000);
    expect(0, "", "f.h5", resumed);
    same_datasets("whole.h5", "f.h5");
}
END_TEST

static const struct {
    const char *options[3], *says;
} others[] = {
    {{"--method", "rk4"}, "method is collocation in the file and rk4 now"},
    {{"--dt", "0.03"}, "dt is 0.02 in the file and 0.029999999999999999 now"},
    {{"--order", "4"}, "order is 2 in the file and 4 now"},
    {{"--tolerance", "1e-8"}, "tolerance is 1.0000000000000001e-09 in the file and 1e-08 now"},
    {{"--solver", "lm"}, "solver is newton in the file and lm now"},
    {{"--seed", "6"}, "seed is 5 in the file and 6 now"},
    {{"--worlds", "12"}, "worlds is 11 in the file and 12 now"},
    {{"--steps", "8"}, "steps is 7 in the file and 8 now"},
    {{"--stride", "2"}, "stride is 3 in the file and 2 now"},
    {{"--keep", "q"}, "keep is q,v in the file and q now"},
    {{"--hash"}, "hash is nothing in the file and XXH3-64 now"},
    {{NULL}, "arm.yaml says something else than the scene in the file"},
};
enum { OTHERS = sizeof others / sizeof *others };

/// What was made with something else is not resumed, and stays as it is.
START_TEST(made_with_something_else)
{
    static const char *const first[] = {"--worlds", "11", "--steps", "7", "--stride", "3", NULL};
    const char *options[12] = {"--worlds", "11", "--steps", "7", "--stride", "3", "--resume"};
    char says[200];
    size_t size, after_size;
    expect(0, "", "o.h5", first);
    char *const before = slurp("o.h5", &size);
    expect(0, "", "o.h5", options);
    for (int k = 0; k < 3 && others[_i].options[k]; k++) options[7 + k] = others[_i].options[k];
    if (!others[_i].options[0]) {
        char text[sizeof arm_text];
        strcpy(text, arm_text);
        strstr(text, "mass: 1")[6] = '2';
        spit("arm.yaml", text);
    }
    snprintf(says, sizeof says, "o.h5: cannot be resumed: %s", others[_i].says);
    char *const complete = slurp("o.h5", &size);
    expect(2, says, "o.h5", options);
    char *const after = slurp("o.h5", &after_size);
    ck_assert_uint_eq(size, after_size);
    ck_assert_mem_eq(complete, after, size);
    free(before), free(complete), free(after);
}
END_TEST

START_TEST(no_file_to_resume)
{
    static const char *const options[] = {"--worlds", "2", "--steps", "1", "--resume", NULL};
    expect(0, "", "new.h5", options);  // it is begun
    ck_assert_uint_eq(worlds_done("new.h5"), 2);
    spit("text.h5", "no HDF5");
    expect(1, "text.h5: cannot be resumed: it is no HDF5 file; start anew without --resume", "text.h5", options);
    char *const text = slurp("text.h5", NULL);
    ck_assert_str_eq(text, "no HDF5");
    free(text);
}
END_TEST

/// Poses and energies of a rollout are those that a recording of the same run has.
START_TEST(kept_quantities)
{
    static const char *const options[] = {"--worlds", "2", "--steps", "20", "--stride", "5", "--keep", "pose,energy", NULL};
    static const char *const names[] = {"pose", "energy/kinetic", "energy/potential", "energy/spring", "energy/energy", "time"};
    spit("scene.yaml", "catena: 1\ninclude: [arm.yaml]\nstate: {v: [1, 2, 3, 4]}\nintegrator: {method: collocation, dt: 0.02}\n");
    expect(0, "", "k.h5", options);
    outcome o = catena("run", "scene.yaml", "--steps", "20", "--every", "5", "--out", "r.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n, m;
        char *const a = raw("k.h5", names[i], &n), *const b = raw("r.h5", names[i], &m);
        ck_assert_uint_eq(n, i < 5 ? 2 * m : m);
        ck_assert_msg(!memcmp(a, b, m) && (i == 5 || !memcmp(a + m, b, m)), "%s", names[i]);
        free(a), free(b);
    }
    ck_assert(!has_dataset("k.h5", "q") && !has_dataset("k.h5", "v") && !has_dataset("k.h5", "hash"));
    static const char *const wrong[] = {"--worlds", "2", "--steps", "20", "--keep", "q,pos", NULL};
    expect(2,
           "--keep: unknown quantity 'pos'; did you mean 'pose'? allowed: q, v, energy, pose, sensors, contacts, separated by "
           "commas",
           "k.h5", wrong);
    static const char *const empty[] = {"--worlds", "2", "--steps", "20", "--keep", "q,", NULL};
    expect(2, "--keep: unknown quantity ''; allowed: q, v, energy, pose", "k.h5", empty);
}
END_TEST

/// Hashes of steps are those of a batch, whatever the stride, engine and threads.
START_TEST(hashes_of_every_step)
{
    enum { WORLDS = 13, STEPS = 20 };
    static const struct {
        const char *stride, *engine, *threads;
    } runs[] = {{"1", "scalar", "1"}, {"7", "auto", "1"}, {"20", "auto", "3"}};
    size_t size;
    uint64_t *hash[3];
    for (int k = 0; k < 3; k++) {
        const char *const options[] = {"--worlds",     "13",       "--steps",      "20",        "--stride",
                                       runs[k].stride, "--engine", runs[k].engine, "--threads", runs[k].threads,
                                       "--hash",       NULL};
        expect(0, "", "h.h5", options);
        hash[k] = raw("h.h5", "hash", &size);
        ck_assert_uint_eq(size, WORLDS * (STEPS + 1) * sizeof **hash);
        ck_assert_mem_eq(hash[k], hash[0], size);
    }
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load("scene.yaml", &err);
    ctn_model *const model = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_batch *const b = ctn_batch_create(model, &cfg, &err);
    double q[5], v[4];
    ctn_sample_state(scene, model, 5, 9, 12, q, v);
    ctn_batch_set_state(b, q, v, 0, NULL);
    for (int n = 0; n <= STEPS; n++) {
        uint64_t one;
        ctn_batch_hashes(b, &one);
        ck_assert_uint_eq(one, hash[0][9 * (STEPS + 1) + n]);
        ctn_batch_step(b, 1, NULL, NULL);
    }
    for (int k = 0; k < 3; k++) free(hash[k]);
    ctn_batch_free(b), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("resume");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, killed);
    tcase_add_test(all, killed_early);
    tcase_add_test(all, two_writers);
    tcase_add_test(all, interrupted_within_a_stride);
    tcase_add_test(all, no_room);
    tcase_add_loop_test(all, made_with_something_else, 0, OTHERS);
    tcase_add_test(all, no_file_to_resume);
    tcase_add_test(all, kept_quantities);
    tcase_add_test(all, hashes_of_every_step);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
