/// CSV files of numbers, read row by row: lines that begin with `#` are passed over, the first other line names the columns, the
/// rest are rows of as many numbers. Nothing is kept in memory but a line.
#ifndef CATENA_SIM_CSV_TABLE_H
#define CATENA_SIM_CSV_TABLE_H

#include <catena/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct csv_table csv_table;

/// Opens a file whose columns are some of names [count], in any order, and reads it through once, so that its errors are known at
/// the beginning. `names` may go afterwards. NULL on error: CTN_IO, CTN_BAD_ARGUMENT or CTN_NO_MEMORY, with the file, the line
/// and the column.
csv_table *csv_table_open(const char *path, const char *const *names, int count, ctn_error *err);

/// The same of a file that may have other columns besides, which are passed over.
csv_table *csv_table_open_some(const char *path, const char *const *names, int count, ctn_error *err);

int64_t csv_table_rows(const csv_table *t);

/// Whether there is a column names[k].
bool csv_table_has(const csv_table *t, int k);

/// Numbers of rows first .. first + rows - 1 into x [rows][count]; those without a column are left as they are. Cheap where
/// `first` follows the rows read before.
ctn_status csv_table_read(csv_table *t, int64_t first, int rows, double *x, ctn_error *err);

/// Takes the field at *at, unquoted, in place, and moves on to the one after it; *at NULL: it was the last. NULL: a quote is not
/// closed, or has text behind it.
char *csv_field(char **at);

void csv_table_close(csv_table *t);  // NULL is allowed

#endif
