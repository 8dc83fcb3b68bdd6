/// The table that a search leaves beside its scene: a row a generation, which `catena plot` draws as a learning curve.
#ifndef CATENA_CLI_SEARCH_TABLE_H
#define CATENA_CLI_SEARCH_TABLE_H

#include "control/search.h"

#include <stdio.h>

enum {
    TABLE_GENERATION,
    TABLE_EVALUATIONS,  // episodes, of a policy gradient
    TABLE_BEST,
    TABLE_MEAN,
    TABLE_WORST,
    TABLE_SIGMA,  // deviation of noise, likewise
    TABLE_LOST,
    TABLE_DRAWN,                // columns that plots know
    TABLE_STEPS = TABLE_DRAWN,  // of all worlds
    TABLE_COLUMNS
};
extern const char *const search_table_columns[TABLE_COLUMNS];

/// Opens it for more rows, with those of the generations up to `done` that it has; 0: it begins. NULL: an error was printed.
FILE *search_table_open(const char *path, long done);

/// Adds a generation, unless no candidate of it earned a number. False: it could not be written, which was printed.
bool search_table_add(FILE *table, const char *path, const ctn_search_state *x);

#endif
