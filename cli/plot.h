/// Pictures drawn by gnuplot.
#ifndef CATENA_CLI_PLOT_H
#define CATENA_CLI_PLOT_H

#include <stdbool.h>
#include <stdio.h>

/// Whether `path` has an ending that gnuplot can draw and lies in a folder that can be written; otherwise an exit status with the
/// error printed. A missing gnuplot is only warned of: the run goes on, and draw_plot keeps its data.
int check_plot(const char *path);

/// Draws into `path` what `put` writes of `what`: gnuplot's commands and data but for terminal and output. If that fails, `drawn`
/// is false and the script stays beside it; returns an exit status.
int draw_plot(const char *path, void (*put)(FILE *out, const void *what), const void *what, bool *drawn);

/// A text in gnuplot's single quotes.
void put_quoted(FILE *out, const char *text);

#endif
