/// Numbers of worlds at records become lines over time.
#include "cli/plots/curve.h"

#include "cli/plots/aggregate.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>

#define SLAB_BYTES ((size_t)128 << 20)  // of records read together: those of rollouts are unpacked once for each slab

const double curve_quantiles[CURVE_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};

/// What is drawn of number x of a world at a record: NaN where there is none.
static double drawn(curve *c, int64_t record, int world, double x, double *sum)
{
    const timeline *const t = c->of;
    if (c->what.summed) x = *sum += x;
    if (t->time[record] > t->until[world] + 1e-9 * t->from.cfg.dt) return NAN;
    if (c->what.interval && !c->what.summed && !record) return NAN;
    if (isfinite(x)) return x;
    c->lost++;
    return NAN;
}

/// The numbers of all worlds at one record, x [worlds], become row k.
static void put_row(curve *c, int64_t k, double *x)
{
    double out[CURVE_QUANTILES] = {NAN, NAN, NAN, NAN, NAN};
    if (c->bands) {
        size_t n = 0;
        for (int w = 0; w < c->of->worlds; w++)
            if (!isnan(x[w])) x[n++] = x[w];
        if (n) quantiles(x, n, curve_quantiles, CURVE_QUANTILES, out);
        x = out;
    }
    for (int l = 0; l < c->lines; l++) {
        c->y[l * c->rows + k] = x[l];
        if (x[l] < c->low) c->low = x[l];
        if (x[l] > c->high) c->high = x[l];
    }
}

static ctn_status fill(timeline *t, curve *c, int64_t first, int64_t last, ctn_error *err)
{
    const size_t worlds = (size_t)t->worlds;
    const size_t most = SLAB_BYTES / (sizeof(double) * worlds * series_width(t, &c->what)) + 1;
    const int64_t begin = c->what.summed ? 0 : first, all = last + 1 - begin, slab = all < (int64_t)most ? all : (int64_t)most;
    double *const block = malloc((size_t)slab * worlds * sizeof *block), *const row = calloc(worlds, sizeof *row),
                  *const sums = calloc(worlds, sizeof *sums);
    ctn_status status = CTN_OK;
    if (!block || !row || !sums) status = fail(err, CTN_NO_MEMORY, "%s: not enough memory for '%s'", t->from.path, c->what.name);
    for (int64_t from = begin; from <= last && status == CTN_OK; from += slab) {
        const int64_t count = last + 1 - from < slab ? last + 1 - from : slab;
        status = series_read(t, &c->what, from, count, block, err);
        for (int64_t k = 0; k < count && status == CTN_OK; k++) {
            for (int w = 0; w < t->worlds; w++) row[w] = drawn(c, from + k, w, block[timeline_at(t, count, k, w)], &sums[w]);
            if (from + k >= first) put_row(c, from + k - first, row);
        }
    }
    free(block), free(row), free(sums);
    return status;
}

ctn_status curve_make(timeline *t, const series *what, int64_t first, int64_t last, curve *c, ctn_error *err)
{
    *c = (curve){.of = t,
                 .what = *what,
                 .bands = t->worlds > CURVE_LINES,
                 .rows = last + 1 - first,
                 .time = t->time + first,
                 .low = INFINITY,
                 .high = -INFINITY};
    c->lines = c->bands ? CURVE_QUANTILES : t->worlds;
    c->y = malloc((size_t)c->rows * (size_t)c->lines * sizeof *c->y);
    if (c->y) return fill(t, c, first, last, err);
    return fail(err, CTN_NO_MEMORY, "%s: not enough memory for '%s'", t->from.path, what->name);
}

void curve_free(curve *c)
{
    free(c->y);
    *c = (curve){0};
}
