/// Learning curves: what the tables of `catena search` (FILE.csv) have, over evaluations.
#ifndef CATENA_CLI_LEARNING_H
#define CATENA_CLI_LEARNING_H

#include "cli/base/arguments.h"

#include <stdbool.h>

/// Whether the file begins as such a table does.
bool is_learning_table(const char *path);

/// Draws all files of the command line into --out. Returns an exit status.
int plot_learning(const arguments *args);

#endif
