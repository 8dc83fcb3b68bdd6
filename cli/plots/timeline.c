/// Recordings [record][world] and rollouts [world][time], opened, with what became of their worlds.
#include "cli/plots/timeline.h"

#include "cli/base/message.h"
#include "sim/base/config.h"
#include "sim/record/record.h"
#include "sim/base/status.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A file that is none, by its name.
static int check_name(const char *path)
{
    if (named_hdf5(path)) return EXIT_OK;
    if (refuse_csv(path) != EXIT_OK) return EXIT_USAGE;
    return usage_error("%s: expected a recording, .h5 or .hdf5, as catena run --out and catena rollout make them", path);
}

/// Until when each world ran.
static ctn_status read_ends(timeline *t, ctn_error *err)
{
    t->until = malloc((size_t)t->worlds * sizeof *t->until);
    if (!t->until) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", t->from.path);
    const ctn_status status = recorded_ends(&t->from, t->records, t->first, t->worlds, t->until, NULL, err);
    for (int w = 0; w < t->worlds && status == CTN_OK; w++) t->frozen += isfinite(t->until[w]), t->missing += t->until[w] < 0;
    return status;
}

int timeline_open(const arguments *args, const char *path, timeline *t)
{
    ctn_error err;
    long world = 0;
    *t = (timeline){.from = {.file = -1}};
    if (!whole_option(args, OPT_WORLD, 0, INT_MAX, &world) || check_name(path) != EXIT_OK) return EXIT_USAGE;
    if (recorded_open(&t->from, path, &err) != CTN_OK) return status_error(&err, "");
    if (recorded_check_parts(&t->from, &err) != CTN_OK) return status_error(&err, "");
    if (!(t->model = ctn_model_create(t->from.scene, &err)) || !(t->dyn = ctn_dynamics_create(t->model, NULL, &err)))
        return status_error(&err, "");
    if (world >= t->from.cfg.worlds)
        return usage_error("--world: %s has %d world%s, from 0 on, found %ld", path, t->from.cfg.worlds,
                           plural(t->from.cfg.worlds), world);
    t->first = (int)world, t->worlds = args->value[OPT_WORLD] ? 1 : t->from.cfg.worlds;
    t->records = recorded_count(&t->from, "time");
    if (!t->records) return usage_error("%s: has no record yet", path);
    t->time = malloc((size_t)t->records * sizeof *t->time);
    if (!t->time) return run_error("not enough memory");
    if (recorded_times(&t->from, t->records, t->time, &err) != CTN_OK || read_ends(t, &err) != CTN_OK)
        return status_error(&err, ""), EXIT_RUN;
    if (t->missing == t->worlds && args->value[OPT_WORLD]) return usage_error("%s: world %ld is not run yet", path, world);
    return t->missing < t->worlds ? EXIT_OK : usage_error("%s: no world is done yet", path);
}

void timeline_close(timeline *t)
{
    ctn_dynamics_free(t->dyn);
    ctn_model_free(t->model);
    ctn_scene_free(t->from.scene);
    recorded_close(&t->from);
    free(t->time), free(t->until);
    *t = (timeline){.from = {.file = -1}};
}

void timeline_describe(const timeline *t, char *text, size_t size)
{
    const ctn_batch_config *const cfg = &t->from.cfg;
    char words[CONFIG_WORDS];
    FILE *const out = fmemopen(text, size, "w");
    if (!out) return;
    config_describe(cfg, words);
    fprintf(out, "%s", words);
    if (t->worlds < cfg->worlds) fprintf(out, ", world %d of %d", t->first, cfg->worlds);
    else if (t->worlds > 1) fprintf(out, ", %d worlds", t->worlds);
    if (t->missing) fprintf(out, ", %d not run yet", t->missing);
    if (t->frozen && t->worlds > 1) fprintf(out, ", %d froze", t->frozen);
    else if (t->frozen) fprintf(out, ", froze at %.6g s", t->until[0]);
    if (!t->from.rollout && !t->from.finished) fprintf(out, ", unfinished");
    fclose(out);
}

// ---- datasets over time

ctn_status timeline_block(timeline *t, const char *name, int64_t first, int64_t count, int rank, const int *entry, size_t width,
                          double *x, ctn_error *err)
{
    const bool rollout = t->from.rollout;
    int64_t start[4] = {rollout ? t->first : first, rollout ? first : t->first},
            block[4] = {rollout ? t->worlds : count, rollout ? count : t->worlds};
    for (int d = 0; d < rank; d++) start[2 + d] = entry[d], block[2 + d] = 1;
    return recorded_block(&t->from, name, 2 + rank, start, block, width, x, err);
}

bool timeline_has(timeline *t, const char *name)
{
    if (t->from.rollout) return recorded_count(&t->from, name) == t->from.cfg.worlds;
    return recorded_count(&t->from, name) >= t->records;
}
