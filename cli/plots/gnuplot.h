/// Pictures drawn by gnuplot.
#ifndef CATENA_CLI_GNUPLOT_H
#define CATENA_CLI_GNUPLOT_H

#include "cli/base/arguments.h"

#include <catena/scene.h>
#include <stdbool.h>
#include <stdio.h>

/// A file to draw into.
typedef struct plot_file {
    enum option_id option;  // that names it
    const char *path;
    int width, height;  // pixels, 120 to the inch in a PDF
} plot_file;

/// The one of --plot, in a size that suits most; its path is NULL if that is not given.
plot_file plot_option(const arguments *args);

/// Whether the file has an ending that gnuplot can draw, is none of the scene's (NULL: any), and lies in a folder that can be
/// written; otherwise an exit status with the error printed. A missing gnuplot is only warned of: the run goes on, and draw_plot
/// keeps its data.
int check_plot(const plot_file *to, const ctn_scene *scene);

/// Draws what `put` writes of `what`: gnuplot's commands and data but for terminal and output. If that fails, `drawn` is false, a
/// file that was there stays, and the script is kept beside it; returns an exit status.
int draw_plot(const plot_file *to, void (*put)(FILE *out, const void *what), const void *what, bool *drawn);

/// A text in gnuplot's single quotes, where nothing has a meaning but their end; what must not be shown is '?'
/// (sim/base/printable.h).
void put_quoted(FILE *out, const char *text);

#endif
