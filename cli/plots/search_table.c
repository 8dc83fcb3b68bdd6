#include "cli/plots/search_table.h"

#include "cli/base/row_table.h"

#include <math.h>

const char *const search_table_columns[TABLE_COLUMNS] = {"generation", "evaluations", "best", "mean",
                                                         "worst",      "sigma",       "lost", "steps"};

FILE *search_table_open(const char *path, long done) { return row_table_open(path, search_table_columns, TABLE_COLUMNS, done); }

bool search_table_add(FILE *table, const char *path, const ctn_search_state *x)
{
    if (!isfinite(x->best) || !isfinite(x->mean)) return true;
    fprintf(table, "%ld,%ld,%.17g,%.17g,%.17g,%.17g,%ld,%ld\n", x->generation, x->evaluations, x->best, x->mean, x->worst,
            x->sigma, x->lost, x->steps);
    return row_table_written(table, path);
}
