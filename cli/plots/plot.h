/// What the files of `catena plot` share.
#ifndef CATENA_CLI_PLOT_H
#define CATENA_CLI_PLOT_H

#include "cli/plots/curve.h"
#include "cli/plots/gnuplot.h"

/// A pair of axes, with all that is drawn between them.
typedef struct panel {
    char label[SERIES_NAME];
    const char *unit;
    curve *curves;  // [count], to be freed
    int count;
    bool given;        // low and high, by the user
    bool logarithmic;  // the axis of the quantity
    double low, high;  // ends of that axis
} panel;

typedef struct plot {
    plot_file out;
    timeline *files;     // [nfile]
    const char **names;  // [nfile]: without the folder that all have in common
    int nfile;
    panel *panels;  // [npanel], from top to bottom
    int npanel;
    bool bands;          // some curves are quantiles
    double from, until;  // s: of the time that is drawn
    curve *across;       // [nfile], what is drawn along the lower axis; NULL: time
    double left, right;  // its ends
} plot;

/// Whether the picture is large enough for its panels; makes one that suits them if its height is 0. Returns an exit status.
int size_plot(plot *p);

/// The colour of the k-th of several things.
const char *plot_colour(int k);

/// gnuplot's commands and data for a whole plot.
void put_plot(FILE *out, const void *what);

#endif
