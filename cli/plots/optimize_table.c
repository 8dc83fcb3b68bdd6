#include "cli/plots/optimize_table.h"

#include "cli/base/row_table.h"

const char *const optimize_table_columns[ROW_COLUMNS] = {"iteration", "seconds", "cost", "defect", "gradient", "rho", "alpha"};

FILE *optimize_table_open(const char *path, long done) { return row_table_open(path, optimize_table_columns, ROW_COLUMNS, done); }

bool optimize_table_add(FILE *table, const char *path, const ilqr_state *x, double seconds)
{
    fprintf(table, "%d,%.6f,%.17g,%.17g,%.17g,%.17g,%.17g\n", x->iteration, seconds, x->cost, x->defect, x->gradient, x->rho,
            x->alpha);
    return row_table_written(table, path);
}
