/// Initial states of worlds from a file.
#include "cli/starts.h"

#include "cli/message.h"
#include "cli/tables.h"
#include "sim/hdf5_table.h"
#include "sim/model.h"
#include "sim/record.h"

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
static int check_quaternions(const starts *s)
{
    for (int l = 0; l < ctn_model_nlink(s->model); l++) {
        const ctn_link *const link = ctn_model_link(s->model, l);
        const bool turns = link->joint == CTN_BALL || link->joint == CTN_FREE;
        int has = 0;
        for (int i = link->nq - 4; turns && i < link->nq; i++) has += csv_table_has(s->csv, link->qadr + i);
        if (has % 4)
            return usage_error("%s: of the quaternion of '%s', qw qx qy qz, there are only %d columns; give all four", s->path,
                               link->name, has);
    }
    return EXIT_OK;
}

static int open_csv(starts *s)
{
    s->row = malloc((s->nq + s->nv) * sizeof *s->row + 1);
    if (!s->row) return run_error("not enough memory");
    const int status = table_open_csv(s->path, s->model, STATE_COLUMNS, &s->csv);
    if (status != EXIT_OK) return status;
    s->worlds = csv_table_rows(s->csv);
    return check_quaternions(s);
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
static int check_names(const starts *s, const hdf5_table *t)
{
    ctn_error err;
    int64_t count;
    size_t width;
    char *texts, name[280];
    if (hdf5_table_texts(t, "model/q_name", &texts, &count, &width, &err) != CTN_OK) return status_error(&err, "");
    int status = EXIT_OK;
    for (int l = 0; texts && l < ctn_model_nlink(s->model) && status == EXIT_OK; l++) {
        const ctn_link *const link = ctn_model_link(s->model, l);
        for (int i = 0; i < link->nq && link->qadr + i < count && status == EXIT_OK; i++) {
            const char *const found = texts + (size_t)(link->qadr + i) * width;
            coordinate_name(link, i, name, sizeof name);
            if (strlen(name) > width || strncmp(name, found, width))
                status = usage_error("%s: is of another scene: its coordinate %d is called '%.*s', here it is '%s'; take a file "
                                     "without model/q_name if these are the same",
                                     s->path, link->qadr + i, (int)width, found, name);
        }
    }
    free(texts);
    return status;
}

static int open_hdf5(starts *s)
{
    ctn_error err;
    if (hdf5_table_open(s->path, "q", (int)s->nq, "[world][nq] or [world][time][nq]", &s->q, &err) != CTN_OK ||
        hdf5_table_open(s->path, "v", (int)s->nv, "[world][nv] or [world][time][nv]", &s->v, &err) != CTN_OK)
        return status_error(&err, "");
    if (!s->q && !s->v)
        return usage_error("%s: has neither q nor v; expected q [world][nq] or v [world][nv], or the file of a rollout", s->path);
    hdf5_table *const any = s->q ? s->q : s->v;
    if (hdf5_table_format(any, "catena recording"))
        return usage_error("%s: is a recording of `catena run`, whose arrays are [record][world]; take the file of a rollout, or "
                           "write the states that you want as q [world][nq] and v [world][nv]",
                           s->path);
    s->worlds = hdf5_table_size(any, 0);
    if (s->q && s->v && hdf5_table_size(s->v, 0) != s->worlds)
        return usage_error("%s: q has %lld world%s, v has %lld; give both for all", s->path, (long long)s->worlds,
                           plural(s->worlds), (long long)hdf5_table_size(s->v, 0));
    for (int k = 0; k < 2; k++) {
        const hdf5_table *const t = k ? s->v : s->q;
        if (t && hdf5_table_rank(t) == 3 && hdf5_table_size(t, 1) == 0)
            return usage_error("%s: %s has no states: its second dimension is 0", s->path, k ? "v" : "q");
    }
    return check_names(s, any);
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

int starts_read(starts *s, int64_t first, int count, double *q, double *v)
{
    ctn_error err;
    ctn_status status;
    if (s->csv) status = read_csv(s, first, count, q, v, &err);
    else {
        status = read_hdf5(s->q, first, count, q, &err);
        if (status == CTN_OK) status = read_hdf5(s->v, first, count, v, &err);
    }
    if (status == CTN_BAD_ARGUMENT && !s->csv)
        return usage_error("%s; worlds of a rollout that were not run have no states: take fewer --worlds, or make them first",
                           err.message);
    if (status != CTN_OK) return status_error(&err, "");
    for (size_t w = 0; w < (size_t)count; w++)
        if (state_check(s->model, q + w * s->nq, v + w * s->nv, (int)(first + (int64_t)w), &err) != CTN_OK)
            return usage_error("%s: %s", s->path, err.message);
    return EXIT_OK;
}

/// Reads all states that will be used, for their errors.
static int check_all(starts *s)
{
    const size_t rows = CHECKED_TOGETHER;
    double *const q = malloc(rows * s->nq * sizeof *q + 1), *const v = malloc(rows * s->nv * sizeof *v + 1);
    int status = q && v ? EXIT_OK : run_error("not enough memory");
    for (int64_t w = 0; w < s->worlds && status == EXIT_OK; w += CHECKED_TOGETHER) {
        const int count = s->worlds - w < CHECKED_TOGETHER ? (int)(s->worlds - w) : CHECKED_TOGETHER;
        for (size_t k = 0; k < (size_t)count; k++) ctn_model_initial_state(s->model, q + k * s->nq, v + k * s->nv);
        status = starts_read(s, w, count, q, v);
    }
    free(q), free(v);
    return status;
}

int starts_open(const char *path, const ctn_model *model, int64_t *worlds, starts **opened)
{
    bool csv;
    int status = table_format(path, OPT_STARTS, &csv);
    if (status != EXIT_OK) return status;
    starts *const s = calloc(1, sizeof *s);
    if (!s) return run_error("not enough memory");
    *s = (starts){.path = path, .model = model, .nq = (size_t)ctn_model_nq(model), .nv = (size_t)ctn_model_nv(model)};
    *opened = s;
    status = csv ? open_csv(s) : open_hdf5(s);
    if (status != EXIT_OK) return status;
    if (!s->worlds) return usage_error("%s: has no states", path);
    if (*worlds > s->worlds)
        return usage_error("--worlds: %s has the states of %lld world%s, fewer than %lld", path, (long long)s->worlds,
                           plural(s->worlds), (long long)*worlds);
    if (*worlds) s->worlds = *worlds;
    *worlds = s->worlds;
    return check_all(s);
}

const char *starts_path(const starts *s) { return s->path; }

void starts_close(starts *s)
{
    if (!s) return;
    csv_table_close(s->csv);
    hdf5_table_close(s->q), hdf5_table_close(s->v);
    free(s->row), free(s);
}
