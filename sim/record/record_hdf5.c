/// Recordings as HDF5: everything about the run first, then datasets that grow by one entry a record.
///
/// A program that is killed leaves a file with all records up to the last flush (sim/record/hdf5_swmr.h). `time` grows last, once
/// the rest is with the operating system: who reads entries 0 .. len(time) - 1 of any dataset reads whole records.
///
/// Records are gathered in memory and written many at once: a call into HDF5 costs as much as many steps of a small model.
#include "sim/record/record_hdf5.h"

#include "sim/record/hdf5_swmr.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)4 << 20)  // of records before they go to HDF5
#define HASH_BYTES ((size_t)256 << 10)  // of hashes, likewise
#define CHUNK_BYTES ((size_t)32 << 10)  // of a chunk of several records; small, as a short run fills one of each dataset
#define PART_BYTES ((size_t)1 << 20)    // of a chunk if one record is larger: what HDF5 keeps in memory of a dataset
enum { MOST_ROWS = 1024, TIMES = 16384, SETS = 5 + RECORD_MEMBERS, MOST_RANK = 4 };

/// A dataset [record][dims...] and its records that are not written yet.
typedef struct growing {
    hid_t id, type;  // type: in memory
    int rank;
    hsize_t dims[MOST_RANK];  // [0]: records written
    size_t row, chunk;        // bytes of a record, of a chunk
    char *buffer;             // [rows][row]
} growing;

typedef struct hdf5 {
    swmr_file to;
    hid_t finished;
    growing sets[SETS], time, hash;  // hash [step][world], id -1: not asked for
    int nset, rows, waiting;         // records of a buffer, those in it
    int members;                     // of record_members
    bool senses;                     // has sensors
    int times;                       // times in their buffer
    int hash_rows, hashes;           // steps of the buffer of hashes, those in it
    size_t row, chunks;              // bytes of a record of all sets, of a chunk of each
    bool incomplete;                 // a call failed: records are missing
} hdf5;

// ---- errors

/// After swmr_call(&f->to) and calls into HDF5.
static ctn_status end_call(hdf5 *f, bool ok, ctn_error *err)
{
    if (!ok) f->incomplete = true;
    return swmr_end_call(&f->to, ok, err);
}

// ---- datasets that grow

/// Makes one of `rank` dimensions, dims[1 ..] given, for `rows` records at a time.
static bool create_growing(hdf5 *f, growing *g, const char *name, hid_t file_type, hid_t type, int rank, const hsize_t *dims,
                           const char *unit, const char *about)
{
    *g = (growing){.id = -1, .type = type, .rank = rank, .row = H5Tget_size(type)};
    hsize_t most[MOST_RANK] = {H5S_UNLIMITED}, chunk[MOST_RANK] = {1};
    g->chunk = g->row;
    for (int d = rank - 1; d > 0; d--) {
        g->dims[d] = most[d] = dims[d];
        const size_t room = PART_BYTES / g->chunk;
        chunk[d] = dims[d] < room ? dims[d] : room ? room : 1;
        if (!dims[d]) most[d] = H5S_UNLIMITED, chunk[d] = 1;  // a chunk cannot be empty
        g->row *= dims[d], g->chunk *= chunk[d];
    }
    chunk[0] = CHUNK_BYTES / g->chunk;
    chunk[0] = chunk[0] < 1 ? 1 : chunk[0] > 256 ? 256 : chunk[0];
    g->chunk *= chunk[0];
    const hid_t space = H5Screate_simple(rank, g->dims, most), list = H5Pcreate(H5P_DATASET_CREATE),
                links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_chunk(list, rank, chunk);
    H5Pset_create_intermediate_group(links, 1);
    g->id = H5Dcreate2(f->to.id, name, file_type, space, links, list, H5P_DEFAULT);
    H5Sclose(space), H5Pclose(list), H5Pclose(links);
    return g->id >= 0 && put_text_attribute(g->id, "unit", unit) && put_text_attribute(g->id, "about", about);
}

static bool create_all(hdf5 *f, const record_head *head)
{
    const hsize_t w = (hsize_t)head->worlds, q[] = {0, w, (hsize_t)head->nq}, v[] = {0, w, (hsize_t)head->nv},
                  pose[] = {0, w, (hsize_t)head->nlink, POSE_NUMBERS}, sensors[] = {0, w, (hsize_t)head->sensors},
                  contacts[] = {0, w, (hsize_t)head->contacts, CTN_CONTACT_NUMBERS};
    const hid_t f64 = H5T_IEEE_F64LE, real = H5T_NATIVE_DOUBLE;
    growing *g = f->sets;
    bool ok =
        create_growing(f, &f->time, "time", f64, real, 1, q, "s", "time of the worlds that still run") &&
        create_growing(f, g++, "q", f64, real, 3, q, "model/q_unit", "joint coordinates [record][world][nq]") &&
        create_growing(f, g++, "v", f64, real, 3, v, "model/v_unit", "joint velocities [record][world][nv]") &&
        create_growing(f, g++, "pose", f64, real, 4, pose, "m, 1",
                       "link frames in the world [record][world][link][7]: position x y z, unit quaternion w x y z, w >= 0");
    f->members = head->members;
    for (int i = 0; i < f->members && ok; i++) {
        const record_member *const m = &record_members[i];
        const hid_t types[][2] = {[MEMBER_REAL] = {f64, real},
                                  [MEMBER_LONG] = {H5T_STD_I64LE, H5T_NATIVE_LONG},
                                  [MEMBER_INT] = {H5T_STD_I32LE, H5T_NATIVE_INT}};
        ok = create_growing(f, g++, m->name, types[m->type][0], types[m->type][1], 2, q, m->unit, m->about);
    }
    if (ok && head->sensors)
        ok = create_growing(f, g++, "sensors", f64, real, 3, sensors, "model/sensors_unit",
                            "what the scene's sensors say, with noise and delay [record][world][number]");
    if (ok && head->contacts)
        ok = create_growing(f, g++, "contacts", f64, real, 4, contacts, CONTACTS_UNIT,
                            CONTACTS_ABOUT " [record][world][point][11]");
    f->nset = (int)(g - f->sets), f->senses = head->sensors > 0;
    if (ok && head->hashes)
        ok = create_growing(f, &f->hash, "hash", H5T_STD_U64LE, H5T_NATIVE_UINT64, 2, q, "1",
                            "XXH3 (64 bits) of all that a world's future depends on, after every step [step][world]");
    return ok;
}

static bool allocate(hdf5 *f)
{
    f->chunks = f->time.chunk;
    for (int i = 0; i < f->nset; i++) f->row += f->sets[i].row, f->chunks += f->sets[i].chunk;
    const size_t rows = BUFFER_BYTES / f->row;
    f->rows = rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : (int)rows;
    for (int i = 0; i < f->nset; i++) {
        growing *const g = &f->sets[i];
        g->buffer = malloc((size_t)f->rows * g->row + 1);
        if (!g->buffer) return false;
    }
    f->time.buffer = malloc(TIMES * sizeof(double));
    if (f->hash.id >= 0) {
        f->chunks += f->hash.chunk;
        f->hash_rows = (int)(HASH_BYTES / f->hash.row) + 1;
        f->hash.buffer = malloc((size_t)f->hash_rows * f->hash.row);
        if (!f->hash.buffer) return false;
    }
    return f->time.buffer != NULL;
}

/// Appends `count` records of the buffer.
static bool append(hdf5 *f, growing *g, int count)
{
    hsize_t start[MOST_RANK] = {g->dims[0]}, block[MOST_RANK];
    memcpy(block, g->dims, sizeof block);
    block[0] = (hsize_t)count;
    g->dims[0] += (hsize_t)count;
    f->to.unflushed += (size_t)count * g->row;
    if (H5Dset_extent(g->id, g->dims) < 0) return false;
    if (!g->row) return true;
    const hid_t file = H5Dget_space(g->id), memory = H5Screate_simple(g->rank, block, NULL);
    const bool ok = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, block, NULL) >= 0 &&
                    H5Dwrite(g->id, g->type, memory, file, H5P_DEFAULT, g->buffer) >= 0;
    H5Sclose(file), H5Sclose(memory);
    return ok;
}

/// The waiting records, or as many of them as there is room for; the times of the others are dropped with them.
static bool append_waiting(hdf5 *f)
{
    const int waiting = f->waiting;
    int count = waiting;
    bool ok = true;
    while (count && !swmr_reserve(&f->to, (size_t)count * f->row, f->chunks)) count /= 2;
    f->times -= waiting - count;
    f->waiting = 0;
    for (int i = 0; i < f->nset && ok && count; i++) ok = append(f, &f->sets[i], count);
    return ok && count == waiting;
}

static bool append_hashes(hdf5 *f)
{
    const int count = f->hashes;
    f->hashes = 0;
    return !count || (swmr_reserve(&f->to, (size_t)count * f->hash.row, f->chunks) && append(f, &f->hash, count));
}

/// What fits is written, also when something does not.
static bool flush_all(hdf5 *f)
{
    bool ok = append_waiting(f);
    ok = append_hashes(f) && ok;
    ok = swmr_flush(&f->to) && ok;
    const int times = f->times;
    f->times = 0;
    if (!times) return ok;
    return swmr_reserve(&f->to, (size_t)times * f->time.row, f->chunks) && append(f, &f->time, times) && swmr_flush(&f->to) && ok;
}

// ---- the format

static ctn_status hdf5_flush(void *file, ctn_error *err)
{
    hdf5 *const f = file;
    swmr_call(&f->to);
    const bool ok = flush_all(f);
    return end_call(f, ok && (!f->time.dims[0] || swmr_place(&f->to)), err);
}

static void free_hdf5(hdf5 *f)
{
    for (int i = 0; i < f->nset; i++) free(f->sets[i].buffer);
    free(f->time.buffer), free(f->hash.buffer);
    swmr_free(&f->to);
    free(f);
}

/// Closes all identifiers; false if that lost something.
static bool close_all(hdf5 *f)
{
    bool ok = true;
    for (int i = 0; i < f->nset; i++) ok = (f->sets[i].id < 0 || H5Dclose(f->sets[i].id) >= 0) && ok;
    if (f->time.id >= 0) ok = H5Dclose(f->time.id) >= 0 && ok;
    if (f->hash.id >= 0) ok = H5Dclose(f->hash.id) >= 0 && ok;
    if (f->finished >= 0) ok = H5Dclose(f->finished) >= 0 && ok;
    return swmr_close(&f->to) && ok;
}

static ctn_status hdf5_close(void *file, bool keep, ctn_error *err)
{
    hdf5 *const f = file;
    swmr_call(&f->to);
    const signed char yes = 1;
    bool ok = flush_all(f);
    if (ok && !f->incomplete) ok = H5Dwrite(f->finished, H5T_NATIVE_SCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, &yes) >= 0;
    ok = close_all(f) && ok;
    if (ok && keep && !f->incomplete) ok = swmr_place(&f->to);
    const ctn_status status = end_call(f, ok, err);
    free_hdf5(f);
    return status;
}

/// All of the file but its records.
static bool begin(hdf5 *f, const record_head *head)
{
    const signed char no = 0;
    if (!swmr_create(&f->to, head_size(head)) || !put_head(f->to.id, head) || !create_all(f, head)) return false;
    f->finished = put_dataset(f->to.id, "finished", H5T_STD_I8LE, H5T_NATIVE_SCHAR, 0, NULL, &no);
    if (f->finished < 0 ||
        !put_text_attribute(f->finished, "about", "1: whole and closed; 0: still being written, or the end is missing"))
        return false;
    return swmr_start(&f->to);
}

static void *hdf5_open(const char *path, const record_head *head, ctn_error *err)
{
    hdf5 *const f = calloc(1, sizeof *f);
    if (!f || !swmr_prepare_new(&f->to, path)) {
        free(f);
        fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", path);
        return NULL;
    }
    f->finished = f->time.id = f->hash.id = -1;
    swmr_call(&f->to);
    const bool begun = begin(f, head), ok = begun && allocate(f);
    if (!ok) close_all(f);
    end_call(f, begun, err);
    if (ok) return f;
    if (begun) fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", path);
    free_hdf5(f);
    return NULL;
}

/// Puts member `m` of every world into one record.
static void gather(char *to, const record_row *row, const record_member *m, size_t size, int worlds)
{
    for (int w = 0; w < worlds; w++) memcpy(to + (size_t)w * size, (const char *)&row->world[w] + m->offset, size);
}

static ctn_status hdf5_add(void *file, const record_row *row, ctn_error *err)
{
    hdf5 *const f = file;
    if (f->waiting == f->rows || f->times == TIMES) {
        swmr_call(&f->to);
        const ctn_status status = end_call(f, f->times == TIMES ? flush_all(f) : append_waiting(f), err);
        if (status != CTN_OK) return status;
    }
    const void *const arrays[3] = {row->q, row->v, row->pose};
    for (int i = 0; i < f->nset; i++) {
        growing *const g = &f->sets[i];
        char *const to = g->buffer + (size_t)f->waiting * g->row;
        if (i < 3) memcpy(to, arrays[i], g->row);
        else if (i >= 3 + f->members) memcpy(to, f->senses && i == 3 + f->members ? row->sensors : row->contacts, g->row);
        else gather(to, row, &record_members[i - 3], g->row / g->dims[1], (int)g->dims[1]);
    }
    memcpy(f->time.buffer + (size_t)f->times * sizeof row->time, &row->time, sizeof row->time);
    f->waiting++, f->times++;
    return CTN_OK;
}

static ctn_status hdf5_hash(void *file, const uint64_t *hash, ctn_error *err)
{
    hdf5 *const f = file;
    memcpy(f->hash.buffer + (size_t)f->hashes++ * f->hash.row, hash, f->hash.row);
    if (f->hashes < f->hash_rows) return CTN_OK;
    swmr_call(&f->to);
    return end_call(f, append_hashes(f), err);
}

const record_format record_hdf5 = {hdf5_open, hdf5_add, hdf5_hash, hdf5_flush, hdf5_close};
