/// Many numbers as few that look the same in a picture: quantiles of worlds, extremes of pixel columns.
#ifndef CATENA_CLI_AGGREGATE_H
#define CATENA_CLI_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Sorts x [n], n > 0, and writes the quantiles p [count], each in [0, 1], to out [count]: linear between the two numbers around
/// (n - 1) p, so that 0.5 is the median. [Hyndman, Fan 1996: Sample Quantiles in Statistical Packages, definition 7]
void quantiles(double *x, size_t n, const double *p, int count, double *out);

/// Marks in kept [rows] those rows of lines y [lines][rows] over time [rows], which does not fall, that a picture `columns`
/// pixels wide needs: in each of `columns` equal parts of the time the first, the last, and the first of those where a line is
/// least or largest. A row is all finite or all NaN; rows of NaN are gaps, of each of which the first row is kept, and the rows
/// around it. [Jugel, Jerzak, Hackenbroich, Markl 2014: M4: A Visualization-Oriented Time Series Data Aggregation]
void keep_extremes(const double *time, const double *y, int lines, int64_t rows, int columns, bool *kept);

#endif
