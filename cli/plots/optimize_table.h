/// The table that an optimization leaves beside its scene: a row an iteration, which `catena plot` draws.
#ifndef CATENA_CLI_OPTIMIZE_TABLE_H
#define CATENA_CLI_OPTIMIZE_TABLE_H

#include "control/lagrangian.h"

#include <stdio.h>

enum {
    ROW_ITERATION,
    ROW_SECONDS,
    ROW_COST,
    ROW_DEFECT,
    ROW_GRADIENT,
    ROW_RHO,
    ROW_ALPHA,
    ROW_VIOLATION,  // of limits; without these 0
    ROW_PENALTY,
    ROW_COLUMNS
};
extern const char *const optimize_table_columns[ROW_COLUMNS];

/// As row_table_open (cli/base/row_table.h); *seconds: of the last row that it has, 0: it has none.
FILE *optimize_table_open(const char *path, long done, double *seconds);

/// Adds an iteration. False: it could not be written, which was printed.
bool optimize_table_add(FILE *table, const char *path, const ilqr_state *x, const lagrangian_state *limits, double seconds);

#endif
