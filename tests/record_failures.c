/// Recordings that do not end as they should: killed writers, second writers, full disks, files that cannot be made. What was
/// recorded until then stays readable.
#include "sim/record/hdf5_errors.h"
#include "sim/record/hdf5_open.h"
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/recorded.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/// The length of `time` and that of the shortest other dataset, or -1 if the file does not open.
static long records_in(const char *path, unsigned flags, long *shortest)
{
    long count = -1;
    H5E_BEGIN_TRY
    {
        const hid_t file = H5Fopen(path, H5F_ACC_RDONLY | flags, H5P_DEFAULT);
        if (file >= 0) {
            hsize_t n[4], m[4];
            double *const t = numbers_in(file, "time", 1, n);
            count = (long)n[0];
            *shortest = 1L << 60;
            for (int i = 0; i < MEMBERS; i++) {
                free(numbers_in(file, members[i], 2, m));
                *shortest = (long)m[0] < *shortest ? (long)m[0] : *shortest;
            }
            double *const poses = numbers_in(file, "pose", 4, m);
            *shortest = (long)m[0] < *shortest ? (long)m[0] : *shortest;
            // whole records: times in order, quaternions of unit length
            for (long i = 1; i < count; i++) ck_assert_double_gt(t[i], t[i - 1]);
            for (long i = 0; i < count * WORLDS * nlink; i++) {
                const double *const x = poses + 7 * i + 3;
                ck_assert_double_eq_tol(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3], 1, 1e-14);
            }
            free(t), free(poses);
            H5Fclose(file);
        }
    }
    H5E_END_TRY
    return count;
}

/// Writers killed at some moment leave files that open for readers of both kinds, with whole records. They flush without pause,
/// so that some die in the middle of it. A plain reader may then, rarely, find the mark of a writer (docs/recording.md).
START_TEST(killed)
{
    enum { KILLS = 8 };
    int plain = 0;
    for (int i = 0; i < KILLS; i++) {
        remove("k.h5");
        const pid_t pid = fork();
        if (!pid) {
            ctn_record_config cfg = ctn_record_config_default();
            cfg.flush_interval = i % 2 ? 0.005 : 0.1;
            ctn_recorder *const r = ctn_recorder_create("k.h5", scene, model, batch, &cfg, NULL);
            for (ctn_step_stats s[WORLDS];;) {
                ctn_batch_step(batch, 1, s, NULL);
                usleep(100);  // some MB a second
                if (!r || ctn_recorder_add(r, s, NULL) != CTN_OK) _exit(1);
            }
        }
        long shortest, found = 0;
        while (found < 20) {  // live
            ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
            if (!access("k.h5", R_OK)) found = records_in("k.h5", H5F_ACC_SWMR_READ, &shortest);
        }
        usleep((useconds_t)(3000 * i + 137));
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        waitpid(pid, NULL, 0);
        const long swmr = records_in("k.h5", H5F_ACC_SWMR_READ, &shortest);
        ck_assert_int_ge(swmr, found);
        ck_assert_int_ge(shortest, swmr);
        const long ordinary = records_in("k.h5", 0, &shortest);
        plain += ordinary == swmr;
    }
    ck_assert_int_ge(plain, KILLS - 1);
}
END_TEST

/// Our readers get in although a writer turns them away while it makes the file, and in the middle of a flush; a file that is
/// none is refused at once.
START_TEST(read_while_written)
{
#ifdef __SANITIZE_ADDRESS__
    enum { READERS = 60 };
#else
    enum { READERS = 300 };
#endif
    const pid_t pid = fork();
    if (!pid) {
        ctn_record_config cfg = ctn_record_config_default();
        cfg.flush_interval = 0.01;
        ctn_recorder *const r = ctn_recorder_create("k.h5", scene, model, batch, &cfg, NULL);
        for (ctn_step_stats s[WORLDS];;) {
            ctn_batch_step(batch, 1, s, NULL);
            usleep(300);  // what readers read grows no faster than they can
            if (!r || ctn_recorder_add(r, s, NULL) != CTN_OK) _exit(1);
        }
    }
    while (access("k.h5", R_OK)) ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    for (int k = 0; k < READERS; k++) {
        hdf5_errors errors;
        hdf5_quiet(&errors);
        const hid_t file = open_to_read("k.h5", &errors);
        hdf5_loud(&errors);
        ck_assert_msg(file >= 0, "reader %d is turned away: %s", k, errors.reason);
        hsize_t n[2], m[2];
        free(numbers_in(file, "time", 1, n));
        free(numbers_in(file, members[0], 2, m));
        ck_assert_int_ge((int)m[0], (int)n[0]);
        H5Fclose(file);
    }
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    spit("none.h5", "this is no recording\n");
    hdf5_errors errors;
    hdf5_quiet(&errors);
    ck_assert_int_lt(open_to_read("none.h5", &errors), 0);
    hdf5_loud(&errors);
    ck_assert_str_eq(errors.reason, "it is no HDF5 file");
}
END_TEST

/// A line is with the operating system as soon as its record was added.
START_TEST(killed_csv)
{
    const pid_t pid = fork();
    if (!pid) {
        ctn_step_stats s[WORLDS];
        ctn_recorder *const r = ctn_recorder_create("k.csv", scene, model, batch, NULL, NULL);
        for (int n = 0; n < 25; n++) ctn_batch_step(batch, 1, s, NULL), ctn_recorder_add(r, s, NULL);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    char *const text = slurp("k.csv", NULL);
    int lines = 0;
    for (char *c = text; *c; c++) lines += *c == '\n' && c[1] != '#';
    ck_assert_int_eq(lines, 2 + 25 * WORLDS);  // ends of: the header, the names, the records
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    free(text);
}
END_TEST

/// While one program writes, a second one neither gets the file nor harms it; readers of both kinds do.
START_TEST(two_writers)
{
    ctn_error err;
    long shortest;
    ctn_step_stats s[WORLDS];
    ctn_record_config cfg = ctn_record_config_default();
    cfg.flush_interval = 0;
    ctn_recorder *const r = ctn_recorder_create("two.h5", scene, model, batch, &cfg, &err);
    ck_assert_ptr_nonnull(r);
    ctn_batch_step(batch, 0, s, NULL);
    ck_assert_int_eq(ctn_recorder_add(r, s, &err), CTN_OK);
    const pid_t pid = fork();
    if (!pid) {  // the state of HDF5 is the parent's: only the lock matters here
        ctn_recorder *const second = ctn_recorder_create("two.h5", scene, model, batch, &cfg, &err);
        _exit(!second && err.status == CTN_IO && strstr(err.message, "two.h5: cannot be written: another program has it open")
                  ? 7
                  : 8);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    const char *const args[] = {"run", source("scenes/double-pendulum.yaml"), "--steps", "1", "--out", "two.h5", NULL};
    outcome o = catena_wait(catena_start(args));
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    ctn_batch_step(batch, 1, s, NULL);
    ck_assert_int_eq(ctn_recorder_add(r, s, &err), CTN_OK);
    ck_assert_int_eq(ctn_recorder_close(r, &err), CTN_OK);
    ck_assert_int_eq(records_in("two.h5", 0, &shortest), 2);
}
END_TEST

/// A file at the size limit: an error with the file's name, on that call and all later ones, and whole records before it.
START_TEST(full)
{
    static const char *const files[] = {"full.csv", "full.h5"};
    ctn_error err;
    ctn_step_stats s[WORLDS];
    signal(SIGXFSZ, SIG_IGN);
    ctn_recorder *const r = ctn_recorder_create(files[_i], scene, model, batch, NULL, &err);
    ck_assert_ptr_nonnull(r);
    const struct rlimit limit = {4 << 20, 4 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    ctn_status status = CTN_OK;
    int added = 0;
    for (; status == CTN_OK && added < 20000; added++) {
        ctn_batch_step(batch, 1, s, NULL);
        status = ctn_recorder_add(r, s, &err);
    }
    ck_assert_int_eq(status, CTN_IO);
    char expected[100];
    snprintf(expected, sizeof expected, "%s: cannot be written: File too large", files[_i]);
    ck_assert_str_eq(err.message, expected);
    err = (ctn_error){0};
    ck_assert_int_eq(ctn_recorder_add(r, s, &err), CTN_IO);
    ck_assert_str_eq(err.message, expected);
    ck_assert_int_eq(ctn_recorder_flush(r, &err), CTN_IO);
    ck_assert_int_eq(ctn_recorder_count(r), added - 1);
    ck_assert_int_eq(ctn_recorder_close(r, &err), CTN_IO);
    ck_assert_str_eq(err.message, expected);
    if (_i) {
        long shortest;
        const long count = records_in(files[_i], 0, &shortest);
        ck_assert_int_gt(count, 100);
        ck_assert_int_ge(shortest, count);
        const hid_t file = H5Fopen(files[_i], H5F_ACC_RDONLY, H5P_DEFAULT);
        double *const done = numbers_of_shape(file, "finished", 0, NULL);
        ck_assert_double_eq(*done, 0);
        free(done);
        H5Fclose(file);
    } else {
        char *const text = slurp(files[_i], NULL);
        ck_assert_int_gt((int)strlen(text), 1 << 20);
        ck_assert_int_eq(text[strlen(text) - 1], '\n');
        free(text);
    }
}
END_TEST

/// No room for the beginning of a file.
START_TEST(full_at_once)
{
    static const char *const files[] = {"full.csv", "full.h5"};
    const struct rlimit limit = {100, 100};
    ctn_error err;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert_ptr_null(ctn_recorder_create(files[_i], scene, model, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_IO);
    ck_assert_ptr_nonnull(strstr(err.message, files[_i]));
    ck_assert_ptr_nonnull(strstr(err.message, "File too large"));
}
END_TEST

START_TEST(refused)
{
    ctn_error err;
    ctn_record_config cfg = {0};
    ck_assert_ptr_null(ctn_recorder_create("x.h5", scene, model, batch, &cfg, &err));
    ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "ctn_record_config_default()"));
    cfg = ctn_record_config_default(), cfg.every = 0;
    ck_assert_ptr_null(ctn_recorder_create("x.h5", scene, model, batch, &cfg, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "every: "));
    cfg = ctn_record_config_default(), cfg.flush_interval = NAN;
    ck_assert_ptr_null(ctn_recorder_create("x.h5", scene, model, batch, &cfg, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "flush_interval: "));
    cfg = ctn_record_config_default(), cfg.hashes = true;
    ck_assert_ptr_null(ctn_recorder_create("x.csv", scene, model, batch, &cfg, &err));
    ck_assert_str_eq(err.message, "x.csv: hashes go into recordings that end in .h5 or .hdf5");
    ctn_recorder *const without = ctn_recorder_create("without.h5", scene, model, batch, NULL, &err);
    ck_assert_int_eq(ctn_recorder_hash(without, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_recorder_close(without, &err), CTN_OK);
    ck_assert_int_ne(access("x.h5", F_OK), 0);
    ck_assert_ptr_null(ctn_recorder_create("x.dat", scene, model, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ctn_scene *const other_scene = ctn_scene_load("part.yaml", &err);
    ctn_model *const smaller = ctn_model_create(other_scene, &err);
    ck_assert_ptr_null(ctn_recorder_create("x.h5", other_scene, smaller, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "x.h5: the batch is of another model");
    ck_assert_int_ne(access("x.h5", F_OK), 0);
    ctn_model_free(smaller), ctn_scene_free(other_scene);
    ck_assert_ptr_null(ctn_recorder_create("no/x.h5", scene, model, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_IO);
    ck_assert_str_eq(err.message, "no/x.h5: cannot be written: No such file or directory");
    ck_assert_int_eq(ctn_recorder_close(NULL, &err), CTN_OK);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("record failures");
    TCase *const all = tcase_create("all");
    unsetenv("CTN_ENGINE");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, open_recorded, close_recorded);
    tcase_add_test(all, killed);
    tcase_add_test(all, read_while_written);
    tcase_add_test(all, killed_csv);
    tcase_add_test(all, two_writers);
    tcase_add_loop_test(all, full, 0, 2);
    tcase_add_loop_test(all, full_at_once, 0, 2);
    tcase_add_test(all, refused);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
