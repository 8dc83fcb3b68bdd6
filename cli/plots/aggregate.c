/// Quantiles and extremes.
#include "cli/plots/aggregate.h"

#include <math.h>
#include <stdlib.h>

// ---- worlds

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void quantiles(double *x, size_t n, const double *p, int count, double *out)
{
    qsort(x, n, sizeof *x, ascending);
    for (int k = 0; k < count; k++) {
        const double at = (double)(n - 1) * p[k];
        const size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
        const double share = at - (double)low;
        out[k] = share > 0 ? x[low] * (1 - share) + x[high] * share : x[low];
    }
}

// ---- times

/// Which part of the time a row lies in. The last row is on the edge, and belongs to the part before it.
static double part_of(const double *time, int64_t rows, int columns, int64_t row)
{
    const double span = time[rows - 1] - time[0];
    return span > 0 ? fmin(floor((time[row] - time[0]) / span * columns), columns - 1) : 0;
}

void keep_extremes(const double *time, const double *y, int lines, int64_t rows, int columns, bool *kept)
{
    for (int64_t first = 0, end; first < rows; first = end) {
        const double part = part_of(time, rows, columns, first);
        const bool gap = isnan(y[first]);
        for (end = first + 1; end < rows && gap == (bool)isnan(y[end]); end++)
            if (!gap && part_of(time, rows, columns, end) != part) break;
        for (int64_t k = first; k < end; k++) kept[k] = k == first || (!gap && k == end - 1);
        for (int l = 0; l < lines && !gap; l++) {
            const double *const line = y + (int64_t)l * rows;
            int64_t least = first, most = first;
            for (int64_t k = first; k < end; k++)
                least = line[k] < line[least] ? k : least, most = line[k] > line[most] ? k : most;
            kept[least] = kept[most] = true;
        }
    }
}
