#include "control/lived.h"

#include "sim/base/random.h"

#include <stdlib.h>

bool lived_open(lived *l, const windows *w)
{
    const size_t n = (size_t)w->worlds * (size_t)w->decisions;
    *l = (lived){.place = calloc(n, sizeof *l->place), .x = calloc(n * (size_t)w->policy.inputs + 1, sizeof *l->x)};
    return l->place && l->x;
}

void lived_close(lived *l) { free(l->place), free(l->x); }

void lived_collect(lived *l, const windows *w)
{
    const size_t n = (size_t)w->worlds, in = (size_t)w->policy.inputs;
    l->count = 0;
    for (int k = 0; k < w->worlds * w->decisions; k++)
        if (w->fate[k] != NOT_LIVED) l->place[l->count++] = k;
    for (size_t k = 0; k < (size_t)l->count; k++) {
        const size_t d = (size_t)l->place[k] / n, world = (size_t)l->place[k] % n;
        for (size_t j = 0; j < in; j++) l->x[j * (size_t)l->count + k] = w->seen[(d * in + j) * n + world];
    }
}

void choose_columns(const double *x, int rows, int count, const int *columns, int chosen, double *y)
{
    for (size_t j = 0; j < (size_t)rows; j++)
        for (size_t k = 0; k < (size_t)chosen; k++) y[j * (size_t)chosen + k] = x[j * (size_t)count + (size_t)columns[k]];
}

void shuffle(int count, uint64_t seed, uint64_t number, uint32_t round, int *order)
{
    for (int k = 0; k < count; k++) order[k] = k;
    for (int k = count - 1; k > 0; k--) {  // Fisher and Yates
        double x[2];
        uniform_pair_of(random_words(seed, number, (uint32_t)k, 0x40000000u | round), x);
        const int other = (int)(x[0] * (k + 1)), kept = order[k];
        order[k] = order[other], order[other] = kept;
    }
}

void advantages(const windows *w, const double *values, double discount, double lambda, double *advantage)
{
    const size_t n = (size_t)w->worlds;
    for (size_t k = 0; k < n; k++)
        for (size_t d = (size_t)w->decisions; d-- > 0;) {
            const size_t at = d * n + k;
            const window_fate fate = w->fate[at];
            const double next = fate == ENDED ? 0 : values[at + n];
            const bool on = fate == LIVED && d + 1 < (size_t)w->decisions;
            advantage[at] = fate == NOT_LIVED
                                ? 0
                                : w->earned[at] + discount * next - values[at] + (on ? discount * lambda * advantage[at + n] : 0);
        }
}
