#include "cli/plots/optimize_table.h"

#include "cli/base/message.h"
#include "cli/base/row_table.h"
#include "sim/base/csv_table.h"

const char *const optimize_table_columns[ROW_COLUMNS] = {"iteration", "seconds", "cost",      "defect", "gradient",
                                                         "rho",       "alpha",   "violation", "penalty"};

static ctn_status last_seconds(const char *path, double *seconds, ctn_error *err)
{
    csv_table *const rows = csv_table_open_some(path, &optimize_table_columns[ROW_SECONDS], 1, err);
    if (!rows) return err->status;
    const int64_t count = csv_table_rows(rows);
    const ctn_status status = count ? csv_table_read(rows, count - 1, 1, seconds, err) : CTN_OK;
    csv_table_close(rows);
    return status;
}

FILE *optimize_table_open(const char *path, long done, double *seconds)
{
    ctn_error err;
    *seconds = 0;
    FILE *const table = row_table_open(path, optimize_table_columns, ROW_COLUMNS, done);
    if (!table || !done || last_seconds(path, seconds, &err) == CTN_OK) return table;
    status_error(&err, ""), fclose(table);
    return NULL;
}

bool optimize_table_add(FILE *table, const char *path, const ilqr_state *x, const lagrangian_state *limits, double seconds)
{
    fprintf(table, "%d,%.6f,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", x->iteration, seconds, x->cost, x->defect, x->gradient,
            x->rho, x->alpha, limits->violation, limits->penalty);
    return row_table_written(table, path);
}
