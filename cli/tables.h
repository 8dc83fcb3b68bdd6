/// What --starts and --controls have in common: the formats of their files, the names of their columns.
#ifndef CATENA_CLI_TABLES_H
#define CATENA_CLI_TABLES_H

#include "cli/arguments.h"
#include "sim/csv_table.h"

#include <catena/model.h>

/// Whether the file is CSV or HDF5, by its ending. Returns an exit status, with the error printed.
int table_format(const char *path, enum option_id option, bool *csv);

typedef enum table_columns { STATE_COLUMNS, FORCE_COLUMNS } table_columns;

/// Opens a CSV file whose columns are called as in recordings: those of q, then those of v; or those of joint forces, as v but
/// with tau. Returns an exit status.
int table_open_csv(const char *path, const ctn_model *model, table_columns columns, csv_table **t);

#endif
