/// Files of runs and rollouts that are damaged: they are read as far as that goes, or refused as damaged, soon.
#define _GNU_SOURCE  // off64_t
#include "sim/record/hdf5_errors.h"
#include "sim/record/recorded.h"
#include "tests/command.h"
#include "tests/recorded.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);  // tests/fuzz/recording_fuzz.c: reads everything in a file
extern int recordings_read;

// ---- chance

static uint64_t chance;

static void seed_chance(void)
{
    const char *const given = getenv("CTN_SEED");
    chance = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("CTN_SEED=%llu\n", (unsigned long long)chance);
    fflush(stdout);
}

/// 0 .. n - 1, by splitmix64.
static size_t pick(size_t n)
{
    uint64_t z = chance += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u, z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (size_t)((z ^ z >> 31) % n);
}

// ---- what was written

/// Every change of files by this process, in order: HDF5 and catena write with these functions alone.
typedef struct change {
    char *bytes;  // NULL: the file's new length is `at`
    size_t length;
    off_t at;
    bool grows;  // the length is not made smaller
} change;

static change *changes;
static size_t nchange;

static void note_change(const void *bytes, size_t length, off_t at, bool grows)
{
    changes = realloc(changes, (nchange + 1) * sizeof *changes);
    change *const c = &changes[nchange++];
    *c = (change){bytes ? malloc(length + 1) : NULL, length, at, grows};
    if (bytes) memcpy(c->bytes, bytes, length);
}

#define SEEN __attribute__((visibility("default")))  // by libhdf5, in place of the C library's
SEEN ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at);
SEEN ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at);
SEEN int ftruncate(int fd, off_t length);
SEEN int ftruncate64(int fd, off64_t length);
SEEN int fallocate(int fd, int mode, off_t at, off_t length);
SEEN int fallocate64(int fd, int mode, off64_t at, off64_t length);

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at)
{
    note_change(bytes, length, at, false);
    return syscall(SYS_pwrite64, fd, bytes, length, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return pwrite(fd, bytes, length, at); }
int ftruncate(int fd, off_t length)
{
    note_change(NULL, 0, length, false);
    return (int)syscall(SYS_ftruncate, fd, length);
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }
int fallocate(int fd, int mode, off_t at, off_t length)
{
    note_change(NULL, 0, at + length, true);
    return (int)syscall(SYS_fallocate, fd, mode, at, length);
}
int fallocate64(int fd, int mode, off64_t at, off64_t length) { return fallocate(fd, mode, at, length); }

/// The file after `whole` changes and `part` bytes of the next one: what a kill leaves. To be freed.
static char *torn(size_t whole, size_t part, size_t *size)
{
    size_t room = 1;
    for (size_t k = 0; k <= whole && k < nchange; k++)
        room = (size_t)changes[k].at + changes[k].length > room ? (size_t)changes[k].at + changes[k].length : room;
    char *const file = calloc(room, 1);
    *size = 0;
    for (size_t k = 0; k < whole + (part > 0); k++) {
        const change *const c = &changes[k];
        const size_t length = k < whole ? c->length : part, end = (size_t)c->at + length,
                     now = c->bytes || c->grows ? (end > *size ? end : *size) : end;
        if (now > *size) memset(file + *size, 0, now - *size);
        *size = now;
        if (c->bytes) memcpy(file + c->at, c->bytes, length);
    }
    return file;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *const out = fopen(path, "wb");
    ck_assert(out && fwrite(bytes, 1, size, out) == size && !fclose(out));
}

// ---- recordings

/// Records some steps; `flushed` (may be NULL) receives how many changes it took until each record was handed over.
static void record(const char *path, int records, size_t *flushed)
{
    ctn_error err;
    ctn_step_stats stats[WORLDS];
    ctn_record_config cfg = ctn_record_config_default();
    cfg.flush_interval = 1e9;
    ctn_recorder *const r = ctn_recorder_create(path, scene, model, batch, &cfg, &err);
    ck_assert_msg(r != NULL, "%s", err.message);
    for (int k = 0; k < records; k++) {
        ck_assert_int_eq(ctn_batch_step(batch, k > 0, stats, &err), CTN_OK);
        ck_assert_int_eq(ctn_recorder_add(r, stats, &err), CTN_OK);
        if (k % 3 == 0) ck_assert_int_eq(ctn_recorder_flush(r, &err), CTN_OK);
        if (flushed) flushed[k] = k % 3 == 0 ? nchange : SIZE_MAX;
    }
    ck_assert_int_eq(ctn_recorder_close(r, &err), CTN_OK);
}

/// q of the first `count` records, to be freed.
static double *states(recorded *r, int64_t count)
{
    ctn_error err;
    const size_t width = (size_t)(WORLDS * nq);
    double *const q = malloc(((size_t)count * width + 1) * sizeof *q);
    ck_assert_msg(recorded_rows(r, "q", H5T_NATIVE_DOUBLE, 0, count, width, q, &err) == CTN_OK, "%s", err.message);
    return q;
}

/// A writer that is killed between two writes leaves whole records, all that were handed over; in the middle of one, at any byte,
/// too, or a file that is refused because it is damaged.
START_TEST(torn_at_any_byte)
{
    enum { TRIES = 50, RECORDS = 25 };
    static size_t flushed[RECORDS];
    ctn_error err;
    recorded r;
    seed_chance();
    nchange = 0;
    record("t.h5", RECORDS, flushed);
    ck_assert_int_eq(recorded_open(&r, "t.h5", &err), CTN_OK);
    const int64_t all = recorded_count(&r, "time");
    ck_assert_int_eq(all, RECORDS);
    double *const q = states(&r, all);
    ctn_scene_free(r.scene), recorded_close(&r);
    const size_t first = flushed[0], last = nchange;
    ck_assert_uint_gt(last, first + 100);
    for (int i = 0; i < TRIES; i++) {
        const size_t whole = first + pick(last - first), part = i % 2 && changes[whole].length ? pick(changes[whole].length) : 0;
        size_t size;
        char *const file = torn(whole, part, &size);
        write_file("torn.h5", file, size);
        free(file);
        int sure = 0;
        for (int k = 0; k < RECORDS; k++) sure = flushed[k] <= whole ? k + 1 : sure;
        if (recorded_open(&r, "torn.h5", &err) == CTN_OK) {
            const int64_t count = recorded_count(&r, "time");
            ck_assert_msg(count >= sure && count <= all, "%d records of %d, after change %d", (int)count, sure, (int)whole);
            double *const found = states(&r, count);
            ck_assert_msg(!memcmp(found, q, (size_t)(count * WORLDS * nq) * sizeof *q), "other states, after change %d",
                          (int)whole);
            free(found);
        } else {
            ck_assert_msg(part && strstr(err.message, HDF5_REMEDY), "%s, after change %d", err.message, (int)whole);
        }
        ctn_scene_free(r.scene), recorded_close(&r);
    }
    free(q);
    for (size_t k = 0; k < nchange; k++) free(changes[k].bytes);
    free(changes);
}
END_TEST

/// Damage of every kind, anywhere.
static size_t damage(char *file, size_t size)
{
    const size_t lengths[] = {1, 8, 64, 512, 4096}, at = pick(size), from = pick(size), length = lengths[pick(5)],
                 most = size - (at > from ? at : from), n = length < most ? length : most;
    const uint64_t count = 7000000000000000000;
    switch (pick(5)) {
    case 0: file[at] ^= (char)(1 << pick(8)); return size;
    case 1: memset(file + at, 0, n); return size;
    case 2: memmove(file + at, file + from, n); return size;
    case 3: memcpy(file + (at & ~(size_t)7), &count, size - (at & ~(size_t)7) < 8 ? size - (at & ~(size_t)7) : 8); return size;
    default: return at;  // the rest is gone
    }
}

/// All that there is in damaged files is read, or refused, without a crash and soon: the suite ends after a minute.
START_TEST(damaged_anywhere)
{
    enum { TRIES = 40 };
    static const char *const files[] = {"run.h5", "rollout.h5"};
    seed_chance();
    record(files[0], 20, NULL);
    outcome o = catena("rollout", "scene.yaml", "--worlds", "4", "--steps", "9", "--stride", "3", "--hash", "--keep",
                       "q,v,pose,energy", "--quiet", "--out", "rollout.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    size_t size;
    char *const whole = slurp(files[_i], &size), *const file = malloc(size);
    LLVMFuzzerTestOneInput((const uint8_t *)whole, size);
    ck_assert_int_eq(recordings_read, 1);
    for (int i = 0; i < TRIES; i++) {
        memcpy(file, whole, size);
        const size_t left = damage(file, size);
        LLVMFuzzerTestOneInput((const uint8_t *)file, left);
    }
    free(file), free(whole);
}
END_TEST

/// In the global heap HDF5 1.10 runs for ever where texts are zero, which no checksum guards, and reads beyond it where one is
/// too long.
START_TEST(what_hdf5_does_not_survive)
{
    static const char *const files[] = {"texts-zero.h5", "texts-long.h5"};
    static const char *const commands[][9] = {{"replay", "d.h5"},
                                              {"plot", "d.h5", "--out", "p.svg"},
                                              {"rollout", "scene.yaml", "--steps", "2", "--out", "d.h5", "--resume"},
                                              {"rollout", "scene.yaml", "--starts", "d.h5", "--steps", "2", "--out", "o.h5"}};
    char path[60];
    size_t size;
    snprintf(path, sizeof path, "tests/fuzz/recordings/%s", files[_i]);
    char *const file = slurp(source(path), &size);
    write_file("d.h5", file, size);
    free(file);
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
        const char *const *c = commands[k];
        outcome o = catena(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]);
        ck_assert_msg(o.status == 1 + (k != 2), "%s: %d: %s", c[0], o.status, o.err);
        ck_assert_msg(strstr(o.err, "it is damaged (HDF5 comes to no end with it); " HDF5_REMEDY) != NULL, "%s", o.err);
        outcome_free(&o);
    }
}
END_TEST

int main(void)
{
    hdf5_end_quietly();
    Suite *suite = suite_create("damaged recordings");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 60);  // what hangs ends
    tcase_add_checked_fixture(tc, open_recorded, close_recorded);
    tcase_add_test(tc, torn_at_any_byte);
    tcase_add_loop_test(tc, damaged_anywhere, 0, 2);
    tcase_add_loop_test(tc, what_hdf5_does_not_survive, 0, 2);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
