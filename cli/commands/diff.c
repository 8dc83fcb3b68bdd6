/// `catena diff`: where two recordings part first, and what of their set-ups differs.
#include "cli/commands/diff.h"
#include "cli/base/message.h"
#include "cli/commands/commands.h"
#include "sim/base/status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int open_side(diff *d, int side, const char *path)
{
    ctn_error err;
    recorded *const r = &d->from[side];
    if (recorded_open(r, path, &err) != CTN_OK || recorded_check_parts(r, &err) != CTN_OK) return status_error(&err, "");
    if (!(d->model[side] = ctn_model_create(r->scene, &err))) return status_error(&err, "");
    d->records[side] = recorded_count(r, "time");
    return d->records[side] ? EXIT_OK : usage_error("%s: has no record yet", path);
}

static int open_diff(const arguments *args, diff *d)
{
    long world = 0;
    const char *const one = args->value[OPT_WORLD];
    d->relative = args->value[OPT_RELATIVE] != NULL;
    if (!number_option(args, OPT_TOLERANCE, &d->tolerance) || !whole_option(args, OPT_WORLD, 0, INT_MAX, &world))
        return EXIT_USAGE;
    if (d->tolerance < 0) return usage_error("--tolerance: expected 0 or more, found %s", args->value[OPT_TOLERANCE]);
    if (d->relative && d->tolerance == 0)
        return usage_error("--relative says what --tolerance is relative to; give --tolerance X with it");
    for (int side = 0; side < 2; side++) {
        const int status = open_side(d, side, args->files[side]);
        if (status != EXIT_OK) return status;
        const int worlds = d->from[side].cfg.worlds;
        if (world >= worlds)
            return usage_error("--world: %s has %d world%s, from 0 on, found %ld", args->files[side], worlds, plural(worlds),
                               world);
        if (!side || worlds < d->worlds) d->worlds = worlds;
    }
    if (one) d->first = world, d->worlds = 1;
    return EXIT_OK;
}

static void close_diff(diff *d)
{
    for (int k = 0; k < d->nnote; k++) free(d->notes[k].name), free(d->notes[k].values[0]), free(d->notes[k].values[1]);
    for (int k = 0; k < d->count; k++) free(d->list[k].partner);
    free(d->notes), free(d->common);
    for (int side = 0; side < 2; side++) {
        ctn_model_free(d->model[side]), ctn_scene_free(d->from[side].scene);
        recorded_close(&d->from[side]);
    }
}

static int diff_main(const arguments *args)
{
    diff d = {.from = {{.file = -1}, {.file = -1}}};
    int status = open_diff(args, &d);
    if (status == EXIT_OK) status = diff_setups(&d);
    if (status == EXIT_OK) status = diff_pair(&d);
    if (status == EXIT_OK) status = diff_numbers(&d);
    if (status == EXIT_OK) {
        if (args->value[OPT_JSON]) status = print_json_diff(&d);
        else if (!args->value[OPT_QUIET]) print_diff(&d);
        for (int k = 0; k < d.count; k++)
            if (d.list[k].differ) status = EXIT_RUN;
    }
    close_diff(&d);
    return status;
}

const command command_diff = {
    .name = "diff",
    .files = "A B",
    .least = 2,
    .most = 2,
    .does = "Says where two recordings part first, and what of their set-ups differs.",
    .about = "A and B come from `catena run` or `catena rollout`, .h5 or .hdf5. Records of the same time are compared,\n"
             "number by number: states by the names of links, and whatever else both have. The report names the first\n"
             "step, world, joint and quantity that differ, with both values, and for each quantity the first and the\n"
             "largest difference.\n"
             "Exit status: 0 all that both have is the same; 1 something differs; 2 bad usage, or a file that is no\n"
             "sound recording.\n",
    .takes = TAKES(OPT_TOLERANCE) | TAKES(OPT_RELATIVE) | TAKES(OPT_WORLD) | TAKES(OPT_JSON) | TAKES(OPT_QUIET),
    .tolerance = "numbers that differ by no more are the same (default 0: to the last bit)",
    .examples = "  catena diff monday.h5 tuesday.h5\n"
                "  catena diff coarse.h5 fine.h5 --tolerance 1e-3 --json | jq .first\n",
    .main = diff_main,
};
