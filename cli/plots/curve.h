/// What is drawn of a quantity of a recording: a line for each world, or, of many worlds, the quantiles over them.
#ifndef CATENA_CLI_CURVE_H
#define CATENA_CLI_CURVE_H

#include "cli/plots/series.h"

enum { CURVE_LINES = 8, CURVE_QUANTILES = 5 };  // worlds that are drawn one by one, at most

/// Of a curve's quantiles, in this order: 5, 25, 50, 75, 95 %.
extern const double curve_quantiles[CURVE_QUANTILES];

typedef struct curve {
    const timeline *of;
    series what;
    bool bands;  // the lines are quantiles; else worlds
    int lines;
    int64_t rows;
    const double *time;  // [rows], of the timeline, s
    double *y;           // [lines][rows], NaN: none
    double low, high;    // of all of them; low > high: there is none
    long lost;           // numbers that are not finite, and are left out
} curve;

/// Makes the curve of records first .. last. CTN_IO, CTN_NO_MEMORY; curve_free is due in any case.
ctn_status curve_make(timeline *t, const series *what, int64_t first, int64_t last, curve *c, ctn_error *err);
void curve_free(curve *c);

#endif
