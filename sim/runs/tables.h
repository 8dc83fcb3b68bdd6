/// What files of initial states and of joint forces have in common: their formats, the names of their columns.
#ifndef CATENA_SIM_TABLES_H
#define CATENA_SIM_TABLES_H

#include "sim/base/csv_table.h"

#include <catena/model.h>

/// Whether the file is CSV or HDF5, by its ending. CTN_BAD_ARGUMENT if it is neither; `option` is how the message calls it,
/// "--starts".
ctn_status table_format(const char *path, const char *option, bool *csv, ctn_error *err);

typedef enum table_columns { STATE_COLUMNS, FORCE_COLUMNS, MOTION_COLUMNS } table_columns;

/// Opens a CSV file whose columns are called as in recordings: those of q, then those of v; or those of joint forces, as v but
/// with tau; or those of states, then `time`, among whatever else a recording has. NULL on error, as csv_table_open.
csv_table *table_open_csv(const char *path, const ctn_model *model, table_columns columns, ctn_error *err);

#endif
