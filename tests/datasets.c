/// Reading and spoiling HDF5 files.
#include "tests/datasets.h"

#include <check.h>
#include <hdf5.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// A writer that is making the file, or in the middle of a flush, turns readers away for a moment.
static hid_t open_file(const char *path)
{
    hid_t file = -1;
    for (int tries = 0; file < 0 && tries < 200; tries++) {
        if (tries) nanosleep(&(struct timespec){0, 10000000}, NULL);
        H5E_BEGIN_TRY file = H5Fopen(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
        H5E_END_TRY
    }
    ck_assert_msg(file >= 0, "%s cannot be opened", path);
    return file;
}

static void *read_set(hid_t set, hid_t as, size_t *count, size_t *size)
{
    const hid_t space = H5Dget_space(set), own = H5Dget_type(set), type = as >= 0 ? as : own;
    *count = (size_t)H5Sget_simple_extent_npoints(space), *size = *count * H5Tget_size(type);
    void *const data = malloc(*size + 1);
    ck_assert(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Tclose(own), H5Sclose(space);
    return data;
}

static hid_t open_set(hid_t file, const char *name)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    ck_assert_msg(set >= 0, "there is no %s", name);
    return set;
}

static void *read_all(hid_t file, const char *name, hid_t as, size_t *count, size_t *size)
{
    const hid_t set = open_set(file, name);
    void *const data = read_set(set, as, count, size);
    H5Dclose(set);
    return data;
}

double *numbers(const char *path, const char *name, size_t *count)
{
    size_t n, size;
    const hid_t file = open_file(path);
    double *const x = read_all(file, name, H5T_NATIVE_DOUBLE, &n, &size);
    H5Fclose(file);
    if (count) *count = n;
    return x;
}

double *numbers_in(hid_t file, const char *name, int rank, hsize_t *dims)
{
    size_t n, size;
    const hid_t set = open_set(file, name), space = H5Dget_space(set);
    ck_assert_int_eq(H5Sget_simple_extent_ndims(space), rank);
    H5Sget_simple_extent_dims(space, dims, NULL);
    double *const x = read_set(set, H5T_NATIVE_DOUBLE, &n, &size);
    H5Sclose(space), H5Dclose(set);
    return x;
}

double *numbers_of_shape(hid_t file, const char *name, int rank, const hsize_t *dims)
{
    hsize_t found[H5S_MAX_RANK];
    double *const x = numbers_in(file, name, rank, found);
    for (int d = 0; d < rank; d++) ck_assert_msg(found[d] == dims[d], "%s: dimension %d is %d", name, d, (int)found[d]);
    return x;
}

void *raw(const char *path, const char *name, size_t *size)
{
    size_t n;
    const hid_t file = open_file(path);
    void *const data = read_all(file, name, -1, &n, size);
    H5Fclose(file);
    return data;
}

size_t worlds_done(const char *file)
{
    size_t n, done = 0;
    double *const status = numbers(file, "status", &n);
    for (size_t w = 0; w < n; w++) done += status[w] >= 0;
    free(status);
    return done;
}

void wait_for_worlds(const char *file, size_t worlds, pid_t pid)
{
    siginfo_t ended = {0};  // si_pid stays 0 while it runs
    while (access(file, R_OK) || worlds_done(file) <= worlds) {
        ck_assert_msg(!waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) && !ended.si_pid, "ended too soon");
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
}

bool has_dataset(const char *path, const char *name)
{
    const hid_t file = open_file(path);
    bool there = H5Lexists(file, name, H5P_DEFAULT) > 0;
    H5Fclose(file);
    return there;
}

typedef struct comparison {
    hid_t other;
    int count;
} comparison;

static herr_t compare(hid_t file, const char *name, const H5O_info_t *info, void *context)
{
    comparison *const c = context;
    size_t n, size, other_size;
    if (info->type != H5O_TYPE_DATASET) return 0;
    char *const a = read_all(file, name, -1, &n, &size), *const b = read_all(c->other, name, -1, &n, &other_size);
    ck_assert_msg(size == other_size && !memcmp(a, b, size), "%s differs", name);
    free(a), free(b);
    c->count++;
    return 0;
}

void same_datasets(const char *a, const char *b)
{
    const hid_t x = open_file(a), y = open_file(b);
    comparison there = {y, 0}, back = {x, 0};
    H5Ovisit2(x, H5_INDEX_NAME, H5_ITER_NATIVE, compare, &there, H5O_INFO_BASIC);
    H5Ovisit2(y, H5_INDEX_NAME, H5_ITER_NATIVE, compare, &back, H5O_INFO_BASIC);
    ck_assert_int_gt(there.count, 10);
    ck_assert_int_eq(there.count, back.count);
    H5Fclose(x), H5Fclose(y);
}

void spoil(const char *path, const char *name, size_t at)
{
    size_t n, size;
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT), type = H5Dget_type(set);
    char *const data = read_all(file, name, type, &n, &size);
    ck_assert_uint_lt(at, n);
    if (size / n == 8) (*(uint64_t *)(void *)(data + 8 * at))++;
    else memset(data + 4 * at, 0xff, 4);
    ck_assert(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    free(data);
    H5Tclose(type), H5Dclose(set), H5Fclose(file);
}

void put_numbers(const char *path, const char *name, int rank, const hsize_t *dims, const double *x)
{
    const hid_t file =
        access(path, F_OK) ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(rank, dims, NULL),
                set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_msg(set >= 0, "%s: %s cannot be made", path, name);
    ck_assert(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set), H5Sclose(space);
    ck_assert(H5Fclose(file) >= 0);
}
