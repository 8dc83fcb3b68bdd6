/// The files of `catena rollout`. They survive its writer (sim/record/hdf5_swmr.h): worlds go to the operating system first, and
/// only then their entries of `status`, so that these never promise too much.
#include "sim/record/trajectories.h"

#include "sim/record/hdf5_open.h"
#include "sim/record/hdf5_read.h"
#include "sim/record/hdf5_swmr.h"
#include "sim/record/record_hdf5.h"
#include "sim/base/status.h"

#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)256 << 10)  // before compression

enum { MOST_RANK = 2 + QUANTITY_RANK };

/// An array [world][...] of the file.
typedef struct {
    const char *name, *unit, *about;
    hid_t id, type, memory;  // type: in the file; memory: here
    const void *fill;        // where nothing is written; NULL: 0
    int rank;
    hsize_t dims[MOST_RANK];
    size_t row, chunk;  // bytes of a world, of a chunk
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
enum { TOTALS = sizeof totals / sizeof *totals, FALLBACKS = 2, ARRAYS = QUANTITIES + TOTALS + 2 };

struct trajectories {
    swmr_file to;
    array arrays[ARRAYS];  // the quantities first
    int narray, kept;
    array *totals, *status, *hash;  // hash NULL: not asked for
    int64_t first, end;             // the worlds that it gets
};

int64_t trajectories_step(const trajectories_head *head, int k)
{
    const int64_t step = (int64_t)k * head->stride;
    return step < head->steps ? step : head->steps;
}

double trajectories_total(const ctn_step_stats *stats, int k, const char **name)
{
    _Static_assert(TRAJECTORIES_TOTALS == TOTALS + 1, "status comes last");
    *name = k < TOTALS ? totals[k].name : "status";
    if (k == TOTALS) return (double)stats->frozen;
    const char *const at = (const char *)stats + totals[k].offset;
    double real;
    long whole;
    memcpy(&real, at, sizeof real), memcpy(&whole, at, sizeof whole);
    return totals[k].type == WHOLE ? (double)whole : real;
}

// ---- arrays

static array *add_array(trajectories *t, array a)
{
    a.id = -1, a.row = H5Tget_size(a.type);
    for (int d = 1; d < a.rank; d++) a.row *= a.dims[d];
    t->arrays[t->narray] = a;
    return &t->arrays[t->narray++];
}

/// What arrays there are.
static void describe(trajectories *t, const trajectories_head *head)
{
    static const int not_run = -1;
    static const double nan = __builtin_nan("");
    const hsize_t worlds = (hsize_t)head->worlds;
    const hid_t f64 = H5T_IEEE_F64LE, real = H5T_NATIVE_DOUBLE, i64 = H5T_STD_I64LE, whole = H5T_NATIVE_LONG;
    for (int k = 0; k < head->kept->count; k++) {
        const quantity *const q = &head->kept->list[k];
        array a = {q->name, q->unit, q->about, .type = f64, .memory = real, .fill = &nan, .rank = 2 + q->rank};
        a.dims[0] = worlds, a.dims[1] = (hsize_t)head->times;
        for (int d = 0; d < q->rank; d++) a.dims[2 + d] = (hsize_t)q->dims[d];
        add_array(t, a);
    }
    t->kept = t->narray;
    for (int k = 0; k < TOTALS; k++) {
        const total *const m = &totals[k];
        array *const a = add_array(t, (array){m->name, m->unit, m->about, .rank = 1, .dims = {worlds},
                                              .type = m->type == WHOLE ? i64 : f64, .memory = m->type == WHOLE ? whole : real});
        if (!k) t->totals = a;
    }
    if (head->hashes)
        t->hash = add_array(t, (array){"hash", "1", "XXH3 (64 bits) of all that a world's future depends on, after every step",
                                       .rank = 2, .dims = {worlds, (hsize_t)head->steps + 1}, .type = H5T_STD_U64LE,
                                       .memory = H5T_NATIVE_UINT64});
    t->status =
        add_array(t, (array){"status", "1",
                             "0: the world ran to its end; 1 to 4: why it is frozen (not finite, no step found, angle out "
                             "of range, step too small); -1: not run yet",
                             .rank = 1, .dims = {worlds}, .type = H5T_STD_I32LE, .memory = H5T_NATIVE_INT, .fill = &not_run});
}

/// Makes an array, laid out as `list` says, which can grow to `most` (NULL: not at all).
static bool create_as(hid_t file, array *a, hid_t list, const hsize_t *most)
{
    const hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(a->rank, a->dims, most);
    if (a->fill) H5Pset_fill_value(list, a->memory, a->fill);
    H5Pset_create_intermediate_group(links, 1);
    a->id = H5Dcreate2(file, a->name, a->type, space, links, list, H5P_DEFAULT);
    H5Sclose(space), H5Pclose(links);
    return a->id >= 0 && put_text_attribute(a->id, "unit", a->unit) && put_text_attribute(a->id, "about", a->about);
}

/// Makes an array whose chunks hold some whole worlds, at most `block` of them, or parts of one.
static bool create_array(hid_t file, array *a, int block)
{
    hsize_t chunk[MOST_RANK] = {1}, most[MOST_RANK];
    a->chunk = H5Tget_size(a->type);
    for (int d = a->rank - 1; d >= 0; d--) {
        const hsize_t room = CHUNK_BYTES / a->chunk, wanted = d || a->dims[0] < (hsize_t)block ? a->dims[d] : (hsize_t)block;
        chunk[d] = wanted < room ? wanted : room ? room : 1;
        most[d] = a->dims[d];
        a->chunk *= chunk[d] ? chunk[d] : 1;
    }
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (a->row) {                 // else there is nothing in it
        most[0] = H5S_UNLIMITED;  // of several kinds of index, arrays that may grow get the one for SWMR
        H5Pset_chunk(list, a->rank, chunk), H5Pset_shuffle(list), H5Pset_deflate(list, 1);
    }
    const bool ok = create_as(file, a, list, most);
    H5Pclose(list);
    return ok;
}

/// Opens an array that is there, of the same shape.
static bool open_array(hid_t file, array *a)
{
    hsize_t dims[DATASET_RANK];
    H5T_class_t class;
    size_t size;
    if (open_dataset(file, a->name, &a->id) != SOUND) return false;
    const hid_t list = H5Dget_create_plist(a->id);
    bool same = dataset_shape(a->id, dims, &class, &size) == a->rank && class == H5Tget_class(a->type) &&
                size == H5Tget_size(a->type) && !memcmp(dims, a->dims, (size_t)a->rank * sizeof *dims);
    a->chunk = size;
    if (same && a->row) same = H5Pget_layout(list) == H5D_CHUNKED && H5Pget_chunk(list, a->rank, dims) == a->rank;
    for (int d = 0; d < a->rank && same && a->row; d++) a->chunk *= dims[d];
    H5Pclose(list);
    return same;
}

/// Worlds first .. first + count - 1.
static bool put_rows(trajectories *t, const array *a, int64_t first, int count, const void *data)
{
    hsize_t start[MOST_RANK] = {(hsize_t)first}, block[MOST_RANK];
    memcpy(block, a->dims, sizeof block);
    block[0] = (hsize_t)count;
    if (!a->row) return true;
    t->to.unflushed += (size_t)count * a->row;
    const hid_t file = H5Dget_space(a->id), memory = H5Screate_simple(a->rank, block, NULL);
    const bool ok = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, block, NULL) >= 0 &&
                    H5Dwrite(a->id, a->memory, memory, file, H5P_DEFAULT, data) >= 0;
    H5Sclose(file), H5Sclose(memory);
    return ok;
}

// ---- opening and closing

static bool put_times(hid_t file, const trajectories_head *head)
{
    const hsize_t n = (hsize_t)head->times;
    const double dt = ctn_batch_configuration(head->batch)->dt;
    double *const time = malloc(n * sizeof *time);
    if (!time) return false;
    for (int k = 0; k < head->times; k++) time[k] = (double)trajectories_step(head, k) * dt;
    const hid_t set = put_dataset(file, "time", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &n, time);
    free(time);
    const bool ok =
        set >= 0 && put_text_attribute(set, "unit", "s") && put_text_attribute(set, "about", "of the states of every world");
    if (set >= 0) H5Dclose(set);
    return ok;
}

static bool create_all(trajectories *t, const trajectories_head *head)
{
    record_head about;
    record_head_rollout(&about, head);
    const size_t times = (size_t)head->times * sizeof(double);
    bool ok = swmr_create(&t->to, head_size(&about) + times) && put_head(t->to.id, &about) && put_times(t->to.id, head);
    for (int k = 0; k < t->narray && ok; k++) ok = create_array(t->to.id, &t->arrays[k], head->block);
    return ok && swmr_start(&t->to);
}

/// fresh: a file that is made anew, not one that is there.
static trajectories *prepare(const char *path, bool fresh, const trajectories_head *head, ctn_error *err)
{
    trajectories *const t = calloc(1, sizeof *t);
    if (t && (fresh ? swmr_prepare_new(&t->to, path) : swmr_prepare(&t->to, path))) {
        describe(t, head);
        t->first = head->first, t->end = head->end;
        return t;
    }
    free(t);
    fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", path);
    return NULL;
}

static bool close_all(trajectories *t)
{
    for (int k = 0; k < t->narray; k++)
        if (t->arrays[k].id >= 0) H5Dclose(t->arrays[k].id);
    return swmr_close(&t->to);
}

/// After swmr_call and the calls that made `t` ready, or not.
static trajectories *end_opening(trajectories *t, bool ok, ctn_error *err)
{
    if (!ok) close_all(t);
    if (swmr_end_call(&t->to, ok, err) == CTN_OK) return t;
    swmr_free(&t->to), free(t);
    return NULL;
}

trajectories *trajectories_create(const char *path, const trajectories_head *head, ctn_error *err)
{
    trajectories *const t = prepare(path, true, head, err);
    if (!t) return NULL;
    swmr_call(&t->to);
    const bool whole = create_all(t, head) && swmr_place(&t->to);  // one that is half made could not be resumed
    return end_opening(t, whole, err);
}

ctn_status trajectories_close(trajectories *t, ctn_error *err)
{
    if (!t) return CTN_OK;
    swmr_call(&t->to);
    const ctn_status status = swmr_end_call(&t->to, close_all(t), err);
    swmr_free(&t->to), free(t);
    return status;
}

// ---- a file over those of several processes

int64_t trajectories_first(int64_t worlds, int rank, int ranks) { return worlds * rank / ranks; }

char *trajectories_path(const char *path, int rank)
{
    const size_t size = strlen(path) + 16;
    const char *const dot = strrchr(path, '.');
    char *const own = malloc(size);
    if (own) snprintf(own, size, "%.*s.%d%s", (int)(dot - path), path, rank, dot);
    return own;
}

/// That file's name as HDF5 takes it for the source of virtual datasets: sought in the folder of the file that has them; % is %%.
static char *source_name(const char *path, int rank)
{
    char *const own = trajectories_path(path, rank), *const name = own ? malloc(2 * strlen(own) + 1) : NULL;
    if (name) {
        const char *const slash = strrchr(own, '/');
        char *to = name;
        for (const char *from = slash ? slash + 1 : own; *from; from++) {
            if (*from == '%') *to++ = '%';
            *to++ = *from;
        }
        *to = 0;
    }
    free(own);
    return name;
}

/// Makes an array whose worlds are those of the ranks' files.
static bool join_array(hid_t file, array *a, const char *path, int ranks)
{
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE), part = H5Screate_simple(a->rank, a->dims, NULL);
    hsize_t start[MOST_RANK] = {0}, block[MOST_RANK];
    memcpy(block, a->dims, sizeof block);
    bool ok = true;
    for (int k = 0; k < ranks && a->row && ok; k++) {
        char *const name = source_name(path, k);
        start[0] = (hsize_t)trajectories_first((int64_t)a->dims[0], k, ranks);
        block[0] = (hsize_t)trajectories_first((int64_t)a->dims[0], k + 1, ranks) - start[0];
        ok = name && H5Sselect_hyperslab(part, H5S_SELECT_SET, start, NULL, block, NULL) >= 0 &&
             H5Pset_virtual(list, part, name, a->name, part) >= 0;
        free(name);
    }
    ok = ok && create_as(file, a, list, NULL);
    H5Sclose(part), H5Pclose(list);
    return ok;
}

static bool join_all(trajectories *t, const trajectories_head *head, const char *path)
{
    record_head about;
    trajectories_head all = *head;
    all.ranks = 0;  // what it says about itself is what a file of all worlds says
    record_head_rollout(&about, &all);
    const size_t times = (size_t)head->times * sizeof(double), sources = (size_t)head->ranks * ARRAYS * (strlen(path) + 256);
    bool ok = swmr_create(&t->to, head_size(&about) + times + sources) && put_head(t->to.id, &about) && put_times(t->to.id, head);
    for (int k = 0; k < t->narray && ok; k++) ok = join_array(t->to.id, &t->arrays[k], path, head->ranks);
    return ok && swmr_flush(&t->to);
}

ctn_status trajectories_join(const char *path, const trajectories_head *head, ctn_error *err)
{
    trajectories *const t = prepare(path, true, head, err);
    if (!t) return CTN_NO_MEMORY;
    swmr_call(&t->to);
    const bool joined = join_all(t, head, path), closed = close_all(t);
    const ctn_status status = swmr_end_call(&t->to, joined && closed && swmr_place(&t->to), err);
    swmr_free(&t->to), free(t);
    return status;
}

/// From how many files the worlds of a file come; 0: they are in it. Negative: it cannot be read.
static int joined_files(hid_t file)
{
    size_t count = 0;
    hid_t set;
    const finding there = open_dataset(file, "status", &set);
    if (there != SOUND) return there == DAMAGED ? -1 : 0;
    const hid_t list = H5Dget_create_plist(set);
    if (H5Pget_layout(list) == H5D_VIRTUAL) H5Pget_virtual_count(list, &count);
    H5Pclose(list), H5Dclose(set);
    return (int)count;
}

ctn_status trajectories_check_joined(const char *path, ctn_error *err)
{
    ctn_status status = CTN_OK;
    hdf5_errors errors;
    hdf5_quiet(&errors);
    const hid_t file = open_to_read(path, &errors);
    const int files = file >= 0 ? joined_files(file) : 0;
    if (file < 0) status = fail(err, CTN_IO, "%s: cannot be resumed: %s; start anew without --resume", path, errors.reason);
    else if (files < 0) status = hdf5_damaged(&errors, path, "status", err);
    else if (!files)
        status = fail(err, CTN_BAD_ARGUMENT,
                      "%s: cannot be resumed by several processes: it has the worlds of one; resume it without mpirun, or start "
                      "anew without --resume",
                      path);
    if (file >= 0) H5Fclose(file);
    hdf5_loud(&errors);
    return status;
}

// ---- going on with a file

/// Engines may take turns unless their bits differ.
static ctn_status check_engine(hid_t file, const char *now, const char *before, ctn_error *err)
{
    char *was;
    if (attribute_text(file, "engine", &was) == DAMAGED) return fail(err, CTN_IO, "%sits attribute `engine` is damaged", before);
    const bool differ = was && engines_differ(was, now);
    const ctn_status status =
        differ ? fail(err, CTN_BAD_ARGUMENT,
                      "%sits worlds were made by engine %s, and %s gives other bits; resume it with --engine %s, or start anew "
                      "without --resume",
                      before, was, now, was)
               : CTN_OK;
    free(was);
    return status;
}

/// Nothing is written before it is known that the file is that of this rollout.
static ctn_status check_file(trajectories *t, const trajectories_head *head, ctn_error *err)
{
    static const char *const apart[] = {"started", "command", "engine", "scene_file", NULL};
    record_head about;
    char before[300];
    record_head_rollout(&about, head);
    snprintf(before, sizeof before, "%.250s: cannot be resumed: ", t->to.path);
    swmr_call(&t->to);
    const hid_t file = open_to_read(t->to.path, &t->to.errors);
    const int ranks = file >= 0 ? joined_files(file) : 0;
    ctn_status status = CTN_OK;
    if (file < 0) status = fail(err, CTN_IO, "%s%s; start anew without --resume", before, t->to.errors.reason);
    else if (ranks < 0) status = hdf5_damaged(&t->to.errors, t->to.path, "status", err);
    else if (ranks)
        status = fail(err, CTN_BAD_ARGUMENT, "%sits worlds are in the files of %d processes; resume it by mpirun -n %d", before,
                      ranks, ranks);
    else status = compare_head(file, &about, apart, before, err);
    if (status == CTN_OK) status = check_engine(file, ctn_batch_configuration(head->batch)->engine, before, err);
    if (file >= 0) H5Fclose(file);
    hdf5_loud(&t->to.errors);
    return status;
}

/// The worlds that are done are the first of the file's: they are made in order.
static bool count_done(trajectories *t, trajectories_done *done)
{
    const int64_t own = t->end - t->first;
    const size_t worlds = (size_t)own;
    int *const status = malloc(worlds * sizeof *status);
    long *const fallbacks = malloc(worlds * sizeof *fallbacks);
    const bool ok = status && fallbacks && get_block(t->status->id, H5T_NATIVE_INT, 1, &t->first, &own, 1, status) &&
                    get_block(t->totals[FALLBACKS].id, H5T_NATIVE_LONG, 1, &t->first, &own, 1, fallbacks);
    *done = (trajectories_done){0};
    for (size_t w = 0; w < worlds && ok && status[w] >= 0; w++)
        done->count++, done->frozen += status[w] != CTN_RUNNING, done->fallen += fallbacks[w] > 0;
    free(status), free(fallbacks);
    return ok;
}

trajectories *trajectories_resume(const char *path, const trajectories_head *head, trajectories_done *done, ctn_error *err)
{
    trajectories *const t = prepare(path, false, head, err);
    if (!t) return NULL;
    if (check_file(t, head, err) != CTN_OK) {
        swmr_free(&t->to), free(t);
        return NULL;
    }
    swmr_call(&t->to);
    if (!swmr_reopen(&t->to)) return end_opening(t, false, err);
    const char *damaged = NULL;
    for (int k = 0; k < t->narray && !damaged; k++)
        if (!open_array(t->to.id, &t->arrays[k])) damaged = t->arrays[k].name;
    if (!damaged && !count_done(t, done)) damaged = t->status->name;
    if (!damaged) return end_opening(t, true, err);
    const hdf5_errors reason = t->to.errors;
    end_opening(t, false, err);
    hdf5_damaged(&reason, path, damaged, err);
    return NULL;
}

// ---- worlds

/// One total of `count` worlds.
static bool put_total(trajectories *t, int k, int64_t first, int count, const ctn_step_stats *stats, char *column)
{
    const size_t size = totals[k].type == WHOLE ? sizeof(long) : sizeof(double);
    for (int w = 0; w < count; w++) memcpy(column + (size_t)w * size, (const char *)&stats[w] + totals[k].offset, size);
    return put_rows(t, &t->totals[k], first, count, column);
}

ctn_status trajectories_put(trajectories *t, int64_t first, int count, double *const *states, const uint64_t *hash,
                            const ctn_step_stats *stats, ctn_error *err)
{
    char *const column = malloc((size_t)count * sizeof(double) + 1);
    if (!column) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", t->to.path);
    size_t bytes = 0, chunks = 0;
    for (int k = 0; k < t->narray; k++) bytes += (size_t)count * t->arrays[k].row, chunks += 2 * t->arrays[k].chunk;
    swmr_call(&t->to);
    bool ok = swmr_reserve(&t->to, bytes, chunks);
    for (int k = 0; k < t->kept && ok; k++) ok = put_rows(t, &t->arrays[k], first, count, states[k]);
    for (int k = 0; k < TOTALS && ok; k++) ok = put_total(t, k, first, count, stats, column);
    if (ok && t->hash) ok = put_rows(t, t->hash, first, count, hash);
    ok = ok && swmr_flush(&t->to) && swmr_reserve(&t->to, (size_t)count * t->status->row, t->status->chunk);
    int *const status = (int *)(void *)column;
    for (int w = 0; w < count; w++) status[w] = (int)stats[w].frozen;
    ok = ok && put_rows(t, t->status, first, count, status) && swmr_flush(&t->to);
    free(column);
    return swmr_end_call(&t->to, ok, err);
}
