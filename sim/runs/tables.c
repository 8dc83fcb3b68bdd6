/// What files of initial states and of joint forces have in common.
#include "sim/runs/tables.h"

#include "sim/base/status.h"
#include "sim/record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

ctn_status table_format(const char *path, const char *option, bool *csv, ctn_error *err)
{
    const char *const dot = strrchr(path, '.');
    *csv = dot && !strcasecmp(dot, ".csv");
    if (*csv || named_hdf5(path)) return CTN_OK;
    return fail(err, CTN_BAD_ARGUMENT, "%s: expected a file that ends in .csv, .h5 or .hdf5, found %s", option, path);
}

csv_table *table_open_csv(const char *path, const ctn_model *model, table_columns columns, ctn_error *err)
{
    enum { WIDEST = 280 };  // a link's name and what stands about it
    const int nq = columns == FORCE_COLUMNS ? 0 : ctn_model_nq(model), nv = ctn_model_nv(model),
              count = nq + nv + (columns == MOTION_COLUMNS);
    char(*const text)[WIDEST] = malloc((size_t)count * sizeof *text + 1), velocity[WIDEST];
    const char **const names = malloc((size_t)count * sizeof *names + 1);
    const bool memory = text && names;
    for (int l = 0; memory && l < ctn_model_nlink(model); l++) {
        const ctn_link *const link = ctn_model_link(model, l);
        for (int i = 0; nq && i < link->nq; i++) coordinate_name(link, i, text[link->qadr + i], WIDEST);
        for (int i = 0; i < link->nv; i++) {
            velocity_name(link, i, velocity, sizeof velocity);
            snprintf(text[nq + link->vadr + i], WIDEST, "%s%.*s", columns == FORCE_COLUMNS ? "tau" : "v", WIDEST - 4,
                     velocity + 1);
        }
    }
    for (int k = 0; memory && k < count; k++) names[k] = k < nq + nv ? text[k] : "time";
    csv_table *const t = !memory                     ? NULL
                         : columns == MOTION_COLUMNS ? csv_table_open_some(path, names, count, err)
                                                     : csv_table_open(path, names, count, err);
    free(text), free(names);
    if (!memory) fail(err, CTN_NO_MEMORY, "not enough memory");
    return t;
}
