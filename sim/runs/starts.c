/// Initial states of worlds from a file.
#include "sim/runs/starts.h"

#include "sim/base/status.h"
#include "sim/model/model.h"
#include "sim/record/hdf5_table.h"
#include "sim/record/record.h"
#include "sim/runs/tables.h"

#include <stdlib.h>
#include <string.h>

enum { CHECKED_TOGETHER = 256 };  // worlds

struct starts {
    const char *path;
    const ctn_model *model;
    size_t nq, nv;
    csv_table *csv;
    double *row;        // of the CSV file: q, then v
    hdf5_table *q, *v;  // NULL: not in the file
    int64_t worlds;
};

// ---- CSV

/// Of a joint's quaternion a file has all numbers or none.
static ctn_status check_quaternions(const starts *s, ctn_error *err)
{
    for (int l = 0; l < ctn_model_nlink(s->model); l++) {
        const ctn_link *const link = ctn_model_link(s->model, l);
        const bool turns = link->joint == CTN_BALL || link->joint == CTN_FREE;
        int has = 0;
        for (int i = link->nq - 4; turns && i < link->nq; i++) has += csv_table_has(s->csv, link->qadr + i);
        if (has % 4)
            return fail(err, CTN_BAD_ARGUMENT,
                        "%s: of the quaternion of '%s', qw qx qy qz, there are only %d columns; give all four", s->path,
                        link->name, has);
    }
    return CTN_OK;
}

static ctn_status open_csv(starts *s, ctn_error *err)
{
    s->row = malloc((s->nq + s->nv) * sizeof *s->row + 1);
    if (!s->row) return fail(err, CTN_NO_MEMORY, "not enough memory");
    s->csv = table_open_csv(s->path, s->model, STATE_COLUMNS, err);
    if (!s->csv) return err->status;
    s->worlds = csv_table_rows(s->csv);
    return check_quaternions(s, err);
}

static ctn_status read_csv(starts *s, int64_t first, int count, double *q, double *v, ctn_error *err)
{
    ctn_status status = CTN_OK;
    for (size_t w = 0; w < (size_t)count && status == CTN_OK; w++) {
        memcpy(s->row, q + w * s->nq, s->nq * sizeof *q), memcpy(s->row + s->nq, v + w * s->nv, s->nv * sizeof *v);
        status = csv_table_read(s->csv, first + (int64_t)w, 1, s->row, err);
        memcpy(q + w * s->nq, s->row, s->nq * sizeof *q), memcpy(v + w * s->nv, s->row + s->nq, s->nv * sizeof *v);
    }
    return status;
}

// ---- HDF5

/// A file that names its coordinates, as that of a rollout does, must have those of the scene.
static ctn_status check_names(const starts *s, const hdf5_table *t, ctn_error *err)
{
    int64_t count;
    size_t width;
    char *texts, name[280];
    ctn_status status = hdf5_table_texts(t, "model/q_name", &texts, &count, &width, err);
    if (status != CTN_OK) return status;
    for (int l = 0; texts && l < ctn_model_nlink(s->model) && status == CTN_OK; l++) {
        const ctn_link *const link = ctn_model_link(s->model, l);
        for (int i = 0; i < link->nq && link->qadr + i < count && status == CTN_OK; i++) {
            const char *const found = texts + (size_t)(link->qadr + i) * width;
            coordinate_name(link, i, name, sizeof name);
            if (strlen(name) > width || strncmp(name, found, width))
                status = fail(err, CTN_BAD_ARGUMENT,
                              "%s: is of another scene: its coordinate %d is called '%.*s', here it is '%s'; take a file "
                              "without model/q_name if these are the same",
                              s->path, link->qadr + i, (int)width, found, name);
        }
    }
    free(texts);
    return status;
}

static ctn_status open_hdf5(starts *s, ctn_error *err)
{
    if (hdf5_table_open(s->path, "q", (int)s->nq, "[world][nq] or [world][time][nq]", &s->q, err) != CTN_OK ||
        hdf5_table_open(s->path, "v", (int)s->nv, "[world][nv] or [world][time][nv]", &s->v, err) != CTN_OK)
        return err->status;
    if (!s->q && !s->v)
        return fail(err, CTN_BAD_ARGUMENT,
                    "%s: has neither q nor v; expected q [world][nq] or v [world][nv], or the file of a rollout", s->path);
    hdf5_table *const any = s->q ? s->q : s->v;
    if (hdf5_table_format(any, "catena recording"))
        return fail(err, CTN_BAD_ARGUMENT,
                    "%s: is a recording of `catena run`, whose arrays are [record][world]; take the file of a rollout, or "
                    "write the states that you want as q [world][nq] and v [world][nv]",
                    s->path);
    s->worlds = hdf5_table_size(any, 0);
    if (s->q && s->v && hdf5_table_size(s->v, 0) != s->worlds)
        return fail(err, CTN_BAD_ARGUMENT, "%s: q has %lld world%s, v has %lld; give both for all", s->path, (long long)s->worlds,
                    plural(s->worlds), (long long)hdf5_table_size(s->v, 0));
    for (int k = 0; k < 2; k++) {
        const hdf5_table *const t = k ? s->v : s->q;
        if (t && hdf5_table_rank(t) == 3 && hdf5_table_size(t, 1) == 0)
            return fail(err, CTN_BAD_ARGUMENT, "%s: %s has no states: its second dimension is 0", s->path, k ? "v" : "q");
    }
    return check_names(s, any, err);
}

/// The last states of some worlds.
static ctn_status read_hdf5(hdf5_table *t, int64_t first, int count, double *x, ctn_error *err)
{
    if (!t) return CTN_OK;
    int64_t from[TABLE_RANK] = {first}, block[TABLE_RANK] = {count};
    const int rank = hdf5_table_rank(t);
    if (rank == 3) from[1] = hdf5_table_size(t, 1) - 1, block[1] = 1;
    block[rank - 1] = hdf5_table_size(t, rank - 1);
    return hdf5_table_read(t, from, block, x, err);
}

// ---- both

ctn_status starts_read(starts *s, int64_t first, int count, double *q, double *v, ctn_error *err)
{
    ctn_error why;
    ctn_status status;
    if (s->csv) status = read_csv(s, first, count, q, v, &why);
    else {
        status = read_hdf5(s->q, first, count, q, &why);
        if (status == CTN_OK) status = read_hdf5(s->v, first, count, v, &why);
    }
    if (status == CTN_BAD_ARGUMENT && !s->csv)
        return fail(err, status,
                    "%s; worlds of a rollout that were not run have no states: take fewer --worlds, or make them first",
                    why.message);
    if (status != CTN_OK) return fail(err, status, "%s", why.message);
    for (size_t w = 0; w < (size_t)count; w++) {
        status = state_check(s->model, q + w * s->nq, v + w * s->nv, (int)(first + (int64_t)w), &why);
        if (status != CTN_OK) return fail(err, CTN_BAD_ARGUMENT, "%s: %s", s->path, why.message);
    }
    return CTN_OK;
}

/// Reads all states that will be used, for their errors.
static ctn_status check_all(starts *s, ctn_error *err)
{
    const size_t rows = CHECKED_TOGETHER;
    double *const q = malloc(rows * s->nq * sizeof *q + 1), *const v = malloc(rows * s->nv * sizeof *v + 1);
    ctn_status status = q && v ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory");
    for (int64_t w = 0; w < s->worlds && status == CTN_OK; w += CHECKED_TOGETHER) {
        const int count = s->worlds - w < CHECKED_TOGETHER ? (int)(s->worlds - w) : CHECKED_TOGETHER;
        for (size_t k = 0; k < (size_t)count; k++) ctn_model_initial_state(s->model, q + k * s->nq, v + k * s->nv);
        status = starts_read(s, w, count, q, v, err);
    }
    free(q), free(v);
    return status;
}

/// Opens and checks the file, and counts its worlds.
static ctn_status open_file(starts *s, int64_t *worlds, ctn_error *err)
{
    bool csv;
    ctn_status status = table_format(s->path, "--starts", &csv, err);
    if (status == CTN_OK) status = csv ? open_csv(s, err) : open_hdf5(s, err);
    if (status != CTN_OK) return status;
    if (!s->worlds) return fail(err, CTN_BAD_ARGUMENT, "%s: has no states", s->path);
    if (*worlds > s->worlds)
        return fail(err, CTN_BAD_ARGUMENT, "--worlds: %s has the states of %lld world%s, fewer than %lld", s->path,
                    (long long)s->worlds, plural(s->worlds), (long long)*worlds);
    if (*worlds) s->worlds = *worlds;
    *worlds = s->worlds;
    return check_all(s, err);
}

starts *starts_open(const char *path, const ctn_model *model, int64_t *worlds, ctn_error *err)
{
    ctn_error own;
    starts *const s = calloc(1, sizeof *s);
    if (!s) {
        fail(err, CTN_NO_MEMORY, "not enough memory");
        return NULL;
    }
    *s = (starts){.path = path, .model = model, .nq = (size_t)ctn_model_nq(model), .nv = (size_t)ctn_model_nv(model)};
    if (open_file(s, worlds, err ? err : &own) == CTN_OK) return s;
    starts_close(s);
    return NULL;
}

const char *starts_path(const starts *s) { return s->path; }

void starts_close(starts *s)
{
    if (!s) return;
    csv_table_close(s->csv);
    hdf5_table_close(s->q), hdf5_table_close(s->v);
    free(s->row), free(s);
}
