/// Tables of generations: written line by line, so that what a killed search leaves can be read.
#include "cli/plots/search_table.h"

#include "cli/base/message.h"
#include "sim/base/new_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const search_table_columns[TABLE_COLUMNS] = {"generation", "evaluations", "best", "mean",
                                                         "worst",      "sigma",       "lost", "steps"};

/// Copies rows of generations up to `done`; a line that a killed search began is left behind, and so is what is no such row.
static void copy_rows(FILE *from, FILE *to, long done)
{
    char *line = NULL, *end;
    size_t room = 0;
    while (getline(&line, &room, from) > 0) {
        const long generation = strtol(line, &end, 10);
        if (end != line && *end == ',' && generation <= done && strchr(line, '\n')) fputs(line, to);
    }
    free(line);
}

FILE *search_table_open(const char *path, long done)
{
    ctn_error err;
    new_file f = {0};
    if (new_file_open(&f, path, &err) != CTN_OK) return status_error(&err, ""), NULL;
    for (int k = 0; k < TABLE_COLUMNS; k++) fprintf(f.stream, k ? ",%s" : "%s", search_table_columns[k]);
    fputc('\n', f.stream);
    FILE *const before = done ? fopen(path, "r") : NULL;
    if (before) copy_rows(before, f.stream, done), fclose(before);
    if (new_file_close(&f, true, &err) != CTN_OK) return status_error(&err, ""), NULL;
    FILE *const table = fopen(path, "a");
    if (!table) run_error("%s: cannot be written: %s", path, strerror(errno));
    return table;
}

bool search_table_add(FILE *table, const char *path, const search_state *x)
{
    if (!isfinite(x->best) || !isfinite(x->mean)) return true;
    fprintf(table, "%ld,%ld,%.17g,%.17g,%.17g,%.17g,%ld,%ld\n", x->generation, x->evaluations, x->best, x->mean, x->worst,
            x->sigma, x->lost, x->steps);
    return (!fflush(table) && !ferror(table)) || (run_error("%s: cannot be written: %s", path, strerror(errno)), false);
}
