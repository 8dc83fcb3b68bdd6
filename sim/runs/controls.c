/// Joint forces by world and step from a file, some steps of a block of worlds in memory at a time.
#include "sim/runs/controls.h"

#include "sim/base/status.h"
#include "sim/record/hdf5_table.h"
#include "sim/runs/tables.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16 << 20 };  // of forces in memory, or one step if that is more

struct controls {
    const char *path;
    const ctn_model *model;
    size_t nv;
    csv_table *csv;
    hdf5_table *hdf5;
    double *table;         // [count][room][nv] steps of some worlds
    ctn_step_stats *part;  // [count]
    int count, room;       // worlds and steps that these have room for
};

static ctn_status open_hdf5(controls *c, int64_t *worlds, int64_t *steps, ctn_error *err)
{
    if (hdf5_table_open(c->path, "tau", (int)c->nv, "[world][step][nv] or [step][nv]", &c->hdf5, err) != CTN_OK)
        return err->status;
    if (!c->hdf5)
        return fail(err, CTN_BAD_ARGUMENT,
                    "%s: has no tau; expected joint forces tau [world][step][nv], or [step][nv] for all worlds", c->path);
    const int rank = hdf5_table_rank(c->hdf5);
    *steps = hdf5_table_size(c->hdf5, rank - 2);
    if (rank == 2) return CTN_OK;
    const int64_t most = hdf5_table_size(c->hdf5, 0);
    if (*worlds > most || !most)
        return fail(err, CTN_BAD_ARGUMENT, "%s: tau has %lld world%s, fewer than %lld; give as many, or a smaller --worlds",
                    c->path, (long long)most, plural(most), (long long)*worlds);
    if (!*worlds) *worlds = most;
    return CTN_OK;
}

/// Opens and checks the file.
static ctn_status open_file(controls *c, int64_t *worlds, long steps, ctn_error *err)
{
    bool csv;
    int64_t rows = 0;
    ctn_status status = table_format(c->path, "--controls", &csv, err);
    if (status != CTN_OK) return status;
    if (!csv) status = open_hdf5(c, worlds, &rows, err);
    else if ((c->csv = table_open_csv(c->path, c->model, FORCE_COLUMNS, err))) rows = csv_table_rows(c->csv);
    else status = err->status;
    if (status == CTN_OK && rows < steps)
        return fail(err, CTN_BAD_ARGUMENT, "%s: has forces for %lld step%s, fewer than %ld; give more, or ask for fewer --steps",
                    c->path, (long long)rows, plural(rows), steps);
    return status;
}

controls *controls_open(const char *path, const ctn_model *model, int64_t *worlds, long steps, ctn_error *err)
{
    ctn_error own;
    controls *const c = calloc(1, sizeof *c);
    if (!c) {
        fail(err, CTN_NO_MEMORY, "not enough memory");
        return NULL;
    }
    *c = (controls){.path = path, .model = model, .nv = (size_t)ctn_model_nv(model)};
    if (open_file(c, worlds, steps, err ? err : &own) == CTN_OK) return c;
    controls_close(c);
    return NULL;
}

/// Forces of steps from .. from + steps - 1 of some worlds into c->table [count][steps][nv].
static ctn_status read_steps(controls *c, int64_t first, int count, long from, int steps, ctn_error *err)
{
    const size_t world = (size_t)steps * c->nv;
    ctn_status status;
    if (c->hdf5 && hdf5_table_rank(c->hdf5) == 3)
        return hdf5_table_read(c->hdf5, (int64_t[]){first, from, 0}, (int64_t[]){count, steps, (int64_t)c->nv}, c->table, err);
    memset(c->table, 0, world * sizeof *c->table);
    if (c->csv) status = csv_table_read(c->csv, from, steps, c->table, err);
    else status = hdf5_table_read(c->hdf5, (int64_t[]){from, 0}, (int64_t[]){steps, (int64_t)c->nv}, c->table, err);
    for (size_t w = 1; w < (size_t)count; w++) memcpy(c->table + w * world, c->table, world * sizeof *c->table);
    return status;
}

static bool make_room(controls *c, int count)
{
    if (count <= c->count) return true;
    const size_t n = (size_t)count, step = n * c->nv * sizeof *c->table + 1;
    free(c->table), free(c->part);
    c->count = count, c->room = step < BLOCK_BYTES ? (int)(BLOCK_BYTES / step) : 1;
    c->table = malloc((size_t)c->room * step), c->part = calloc(n, sizeof *c->part);
    if (c->table && c->part) return true;
    c->count = 0;
    return false;
}

ctn_status controls_step(controls *c, ctn_batch *batch, int64_t first, int count, long from, int steps, ctn_step_stats *stats,
                         ctn_error *err)
{
    ctn_error why;  // of worlds that are frozen, too
    if (!make_room(c, count)) return fail(err, CTN_NO_MEMORY, "not enough memory");
    ctn_status status = ctn_batch_step(batch, 0, stats, &why);
    for (int done = 0; done < steps && (status == CTN_OK || status == CTN_FROZEN);) {
        const int some = steps - done < c->room ? steps - done : c->room;
        const ctn_status read = read_steps(c, first, count, from + done, some, err);
        if (read != CTN_OK) return read;
        const ctn_run run = {.steps = some, .force = c->table};
        status = ctn_batch_run(batch, &run, c->part, &why);
        for (int w = 0; w < count && (status == CTN_OK || status == CTN_FROZEN); w++) ctn_step_stats_add(&stats[w], &c->part[w]);
        done += some;
    }
    return status == CTN_OK || status == CTN_FROZEN ? CTN_OK : fail(err, status, "%s", why.message);
}

ctn_status controls_read(controls *c, int64_t world, long from, int steps, double *tau, ctn_error *err)
{
    if (!make_room(c, 1)) return fail(err, CTN_NO_MEMORY, "not enough memory");
    for (int done = 0; done < steps;) {
        const int some = steps - done < c->room ? steps - done : c->room;
        const ctn_status status = read_steps(c, world, 1, from + done, some, err);
        if (status != CTN_OK) return status;
        memcpy(tau + (size_t)done * c->nv, c->table, (size_t)some * c->nv * sizeof *tau);
        done += some;
    }
    return CTN_OK;
}

const char *controls_path(const controls *c) { return c->path; }

void controls_close(controls *c)
{
    if (!c) return;
    csv_table_close(c->csv);
    hdf5_table_close(c->hdf5);
    free(c->table), free(c->part), free(c);
}
