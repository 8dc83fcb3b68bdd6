/// Tables that grow by a row at a time, each of which begins with its number: written line by line, so that what a killed run leaves
/// can be read, and gone on with.
#ifndef CATENA_CLI_ROW_TABLE_H
#define CATENA_CLI_ROW_TABLE_H

#include <stdbool.h>
#include <stdio.h>

/// Opens it for more rows, with those up to number `done` that it has; 0: it begins. NULL: an error was printed.
FILE *row_table_open(const char *path, const char *const *columns, int count, long done);

/// Whether what was put into it is written; false: an error was printed.
bool row_table_written(FILE *table, const char *path);

#endif
