/// Joint forces by world and step from a file, some steps of a block of worlds in memory at a time.
#include "cli/controls.h"

#include "cli/message.h"
#include "cli/tables.h"
#include "sim/hdf5_table.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16 << 20 };  // of forces in memory, or one step if that is more

struct controls {
    const char *path;
    size_t nv;
    csv_table *csv;
    hdf5_table *hdf5;
    double *table;         // [count][room][nv] steps of some worlds
    ctn_step_stats *part;  // [count]
    int count, room;       // worlds and steps that these have room for
};

static int open_hdf5(controls *c, int64_t *worlds, int64_t *steps)
{
    ctn_error err;
    if (hdf5_table_open(c->path, "tau", (int)c->nv, "[world][step][nv] or [step][nv]", &c->hdf5, &err) != CTN_OK)
        return status_error(&err, "");
    if (!c->hdf5)
        return usage_error("%s: has no tau; expected joint forces tau [world][step][nv], or [step][nv] for all worlds", c->path);
    const int rank = hdf5_table_rank(c->hdf5);
    *steps = hdf5_table_size(c->hdf5, rank - 2);
    if (rank == 2) return EXIT_OK;
    const int64_t most = hdf5_table_size(c->hdf5, 0);
    if (*worlds > most || !most)
        return usage_error("%s: tau has %lld world%s, fewer than %lld; give as many, or a smaller --worlds", c->path,
                           (long long)most, plural(most), (long long)*worlds);
    if (!*worlds) *worlds = most;
    return EXIT_OK;
}

int controls_open(const char *path, const ctn_model *model, int64_t *worlds, long steps, controls **opened)
{
    bool csv;
    int64_t rows = 0;
    int status = table_format(path, OPT_CONTROLS, &csv);
    if (status != EXIT_OK) return status;
    controls *const c = calloc(1, sizeof *c);
    if (!c) return run_error("not enough memory");
    *c = (controls){.path = path, .nv = (size_t)ctn_model_nv(model)};
    *opened = c;
    status = csv ? table_open_csv(path, model, FORCE_COLUMNS, &c->csv) : open_hdf5(c, worlds, &rows);
    if (status == EXIT_OK && csv) rows = csv_table_rows(c->csv);
    if (status == EXIT_OK && rows < steps)
        return usage_error("%s: has forces for %lld step%s, fewer than %ld; give more, or ask for fewer --steps", path,
                           (long long)rows, plural(rows), steps);
    return status;
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

int controls_step(controls *c, ctn_batch *batch, int64_t first, int count, long from, int steps, ctn_step_stats *stats)
{
    ctn_error err;
    if (!make_room(c, count)) return run_error("not enough memory");
    int outcome = step_outcome(ctn_batch_step(batch, 0, stats, &err), &err);
    for (int done = 0; done < steps && outcome == EXIT_OK;) {
        const int some = steps - done < c->room ? steps - done : c->room;
        const ctn_status status = read_steps(c, first, count, from + done, some, &err);
        if (status != CTN_OK) return status_error(&err, "");
        const ctn_run run = {.steps = some, .force = c->table};
        outcome = step_outcome(ctn_batch_run(batch, &run, c->part, &err), &err);
        for (int w = 0; w < count && outcome == EXIT_OK; w++) ctn_step_stats_add(&stats[w], &c->part[w]);
        done += some;
    }
    return outcome;
}

const char *controls_path(const controls *c) { return c->path; }

void controls_close(controls *c)
{
    if (!c) return;
    csv_table_close(c->csv);
    hdf5_table_close(c->hdf5);
    free(c->table), free(c->part), free(c);
}
