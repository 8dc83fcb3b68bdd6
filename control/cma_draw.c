/// Random numbers of a search, by counters. Those of candidates have the counter (generation, pair of parameters, candidate);
/// what is drawn once a run has the number of the run, and bit 31 of the last word, which no candidate has.
#include "control/cma.h"
#include "sim/base/random.h"

enum { ONCE_A_RUN = 1 };

static philox4x32_ctr_t once_a_run(const ctn_cma *c, int64_t run, int what, int index)
{
    return random_words(c->key, (uint64_t)run, (uint32_t)index, 0x80000000u | (uint32_t)what);
}

void cma_draw(const ctn_cma *c, int k, double *z)
{
    const int n = c->cfg.n;
    for (int i = 0; i < n; i += 2) {
        double x[2], pair[2];
        uniform_pair_of(random_words(c->key, (uint64_t)c->s.generations, (uint32_t)(i / 2), (uint32_t)k), x);
        normal_pair_of(x, pair);
        z[i] = pair[0];
        if (i + 1 < n) z[i + 1] = pair[1];
    }
}

void cma_draw_start(const ctn_cma *c, int64_t run, double *x)
{
    for (int i = 0; i < c->cfg.n; i++) {
        double u[2];
        uniform_pair_of(once_a_run(c, run, 0, i), u);
        x[i] = c->start_lower[i] + u[0] * (c->start_upper[i] - c->start_lower[i]);
    }
}

double cma_draw_uniform(const ctn_cma *c, int64_t run, int which)
{
    double u[2];
    uniform_pair_of(once_a_run(c, run, ONCE_A_RUN, 0), u);
    return u[which];
}
