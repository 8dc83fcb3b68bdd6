/// The file of `catena rollout`.
#include "sim/trajectories.h"

#include "sim/hdf5_errors.h"
#include "sim/record_hdf5.h"
#include "sim/status.h"

#include <catena/catena.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)256 << 10)  // before compression

enum { MOST_RANK = 3 };

typedef struct {
    hid_t id;
    int rank;
    hsize_t dims[MOST_RANK];
} array;

/// Of a world, besides its states.
typedef struct {
    const char *name, *unit, *about;
    enum { WHOLE, REAL } type;
    size_t offset;
} total;

#define OF(member) offsetof(ctn_step_stats, member)
static const total totals[] = {
    {"steps", "1", "steps of dt carried out", WHOLE, OF(steps)},
    {"iterations", "1", "Newton iterations, all steps together", WHOLE, OF(iterations)},
    {"fallbacks", "1", "steps that needed fewer stages or had to be halved", WHOLE, OF(fallbacks)},
    {"energy_before", "J", "kinetic + potential + springs at the start", REAL, OF(energy_before)},
    {"energy_after", "J", "the same at the end", REAL, OF(energy_after)},
    {"frozen_time", "s", "of the last good state of a frozen world, else 0", REAL, OF(frozen_time)},
};
enum { TOTALS = sizeof totals / sizeof *totals };

struct trajectories {
    char *path;
    hid_t file;
    array q, v, status, totals[TOTALS];
    hdf5_errors errors;
};

/// After hdf5_quiet(&t->errors) and calls into HDF5.
static ctn_status end_call(trajectories *t, bool ok, ctn_error *err)
{
    hdf5_loud(&t->errors);
    if (ok) return CTN_OK;
    return fail(err, CTN_IO, "%s: cannot be written: %s", t->path,
                *t->errors.reason ? t->errors.reason : "unknown error of HDF5");
}

// ---- arrays

/// An array [worlds][...] of the file, whose chunks hold some whole worlds, or parts of one. fill: where nothing is written.
static bool create_array(trajectories *t, array *a, const char *name, hid_t type, int rank, const hsize_t *dims, const void *fill,
                         const char *unit, const char *about)
{
    hsize_t chunk[MOST_RANK] = {1};
    size_t bytes = H5Tget_size(type);
    *a = (array){.id = -1, .rank = rank};
    for (int d = rank - 1; d >= 0; d--) {
        a->dims[d] = dims[d];
        const size_t room = CHUNK_BYTES / bytes;
        chunk[d] = dims[d] < room ? dims[d] : room ? room : 1;
        if (!chunk[d]) chunk[d] = 1;
        bytes *= chunk[d];
    }
    const hid_t space = H5Screate_simple(rank, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    bool empty = false;
    for (int d = 0; d < rank; d++) empty = empty || !dims[d];
    if (!empty) H5Pset_chunk(list, rank, chunk), H5Pset_shuffle(list), H5Pset_deflate(list, 1);
    if (fill) H5Pset_fill_value(list, type, fill);
    a->id = H5Dcreate2(t->file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Sclose(space), H5Pclose(list);
    return a->id >= 0 && put_text_attribute(a->id, "unit", unit) && put_text_attribute(a->id, "about", about);
}

/// Rows first .. first + count - 1.
static bool put_rows(const array *a, hid_t type, int64_t first, int count, const void *data)
{
    hsize_t start[MOST_RANK] = {(hsize_t)first}, block[MOST_RANK];
    memcpy(block, a->dims, sizeof block);
    block[0] = (hsize_t)count;
    for (int d = 0; d < a->rank; d++)
        if (!block[d]) return true;
    const hid_t file = H5Dget_space(a->id), memory = H5Screate_simple(a->rank, block, NULL);
    const bool ok = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, block, NULL) >= 0 &&
                    H5Dwrite(a->id, type, memory, file, H5P_DEFAULT, data) >= 0;
    H5Sclose(file), H5Sclose(memory);
    return ok;
}

static bool create_all(trajectories *t, const trajectories_head *head, const record_head *about)
{
    const hsize_t w = (hsize_t)head->worlds, n = (hsize_t)head->times, q[] = {w, n, (hsize_t)about->nq},
                  v[] = {w, n, (hsize_t)about->nv};
    const int not_run = -1;
    const double nan = __builtin_nan("");
    const hid_t time = put_dataset(t->file, "time", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &n, head->time);
    bool ok =
        time >= 0 && put_text_attribute(time, "unit", "s") && put_text_attribute(time, "about", "of the states of every world");
    if (time >= 0) H5Dclose(time);
    ok = ok && create_array(t, &t->q, "q", H5T_IEEE_F64LE, 3, q, &nan, "model/q_unit", "joint coordinates [world][time][nq]") &&
         create_array(t, &t->v, "v", H5T_IEEE_F64LE, 3, v, &nan, "model/v_unit", "joint velocities [world][time][nv]") &&
         create_array(
             t, &t->status, "status", H5T_STD_I32LE, 1, &w, &not_run, "1",
             "0: the world ran to its end; 1 to 4: why it is frozen (not finite, no step found, angle out of range, step too "
             "small); -1: not run yet");
    for (int k = 0; k < TOTALS && ok; k++) {
        const total *m = &totals[k];
        ok = create_array(t, &t->totals[k], m->name, m->type == WHOLE ? H5T_STD_I64LE : H5T_IEEE_F64LE, 1, &w, NULL, m->unit,
                          m->about);
    }
    return ok;
}

static void close_array(array *a)
{
    if (a->id >= 0) H5Dclose(a->id);
    a->id = -1;
}

static bool close_all(trajectories *t)
{
    close_array(&t->q), close_array(&t->v), close_array(&t->status);
    for (int k = 0; k < TOTALS; k++) close_array(&t->totals[k]);
    const bool ok = t->file < 0 || H5Fclose(t->file) >= 0;
    t->file = -1;
    return ok;
}

trajectories *trajectories_create(const char *path, const trajectories_head *head, ctn_error *err)
{
    trajectories *t = calloc(1, sizeof *t);
    if (t) t->path = strdup(path);
    if (!t || !t->path) {
        free(t);
        fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", path);
        return NULL;
    }
    t->file = t->q.id = t->v.id = t->status.id = -1;
    for (int k = 0; k < TOTALS; k++) t->totals[k].id = -1;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);  // the system's words are for people, those of HDF5 are not
    if (fd < 0) fail(err, CTN_IO, "%s: cannot be written: %s", path, strerror(errno));
    else {
        record_head about;
        close(fd);
        record_head_rollout(&about, head->scene, head->batch, head->command, head->seed, head->worlds, head->starts,
                            head->controls);
        hdf5_quiet(&t->errors);
        t->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        if (end_call(t, t->file >= 0 && put_head(t->file, &about) && create_all(t, head, &about), err) == CTN_OK) return t;
    }
    close_all(t);
    free(t->path), free(t);
    return NULL;
}

ctn_status trajectories_put(trajectories *t, int64_t first, int count, const double *q, const double *v,
                            const ctn_step_stats *stats, ctn_error *err)
{
    int *const status = malloc((size_t)count * sizeof *status + 1);
    char *const column = malloc((size_t)count * sizeof(double) + 1);
    if (!status || !column) {
        free(status), free(column);
        return fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", t->path);
    }
    hdf5_quiet(&t->errors);
    bool ok = put_rows(&t->q, H5T_NATIVE_DOUBLE, first, count, q) && put_rows(&t->v, H5T_NATIVE_DOUBLE, first, count, v);
    for (int k = 0; k < TOTALS && ok; k++) {
        const size_t size = totals[k].type == WHOLE ? sizeof(long) : sizeof(double);
        for (int w = 0; w < count; w++) memcpy(column + (size_t)w * size, (const char *)&stats[w] + totals[k].offset, size);
        ok = put_rows(&t->totals[k], totals[k].type == WHOLE ? H5T_NATIVE_LONG : H5T_NATIVE_DOUBLE, first, count, column);
    }
    for (int w = 0; w < count; w++) status[w] = (int)stats[w].frozen;
    ok = ok && put_rows(&t->status, H5T_NATIVE_INT, first, count, status);  // last: who reads it has the rest
    ok = ok && H5Fflush(t->file, H5F_SCOPE_GLOBAL) >= 0;
    free(status), free(column);
    return end_call(t, ok, err);
}

ctn_status trajectories_close(trajectories *t, ctn_error *err)
{
    if (!t) return CTN_OK;
    hdf5_quiet(&t->errors);
    const ctn_status status = end_call(t, close_all(t), err);
    free(t->path), free(t);
    return status;
}
