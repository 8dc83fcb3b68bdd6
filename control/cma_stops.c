/// When a run is over: the rules of pycma 4.5, with its numbers. [Hansen: arXiv 1604.00772, appendix B.3; Auger, Hansen: A
/// restart CMA evolution strategy with increasing population size, CEC 2005]
#include "control/cma.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_RING = 4000, LONG_MOST = 20000 };  // pycma keeps 20000, of which the newest fifth is looked at

double cma_default_generations(int n, double population) { return 100 + floor(150 * pow(n + 3, 2) / sqrt(population)); }
double cma_default_stagnation(int n, double population) { return floor(100 + 100 * pow(n, 1.5) / population); }

int64_t cma_history(int n, double population) { return 10 + (int64_t)(30 * n / population); }

int64_t cma_long_history(double stagnation) { return (int64_t)fmin(LONG_MOST, fmax(LONG_RING, 2 * floor(stagnation / 10) + 2)); }

void cma_stops_begin(ctn_cma *c)
{
    cma_numbers *const s = &c->s;
    s->history = s->long_history = s->flat = s->rested = 0;
    s->best_of_run = INFINITY, s->best_at = s->evaluations;
    memcpy(c->rest_x, c->mean, (size_t)c->cfg.n * sizeof *c->rest_x);
}

/// Where the mean has rested: within 1e-9 of one point, or a little more after long.
static double rest_time(const ctn_cma *c) { return 20 + 0.1 * (double)c->s.generation; }

static void note_rest(ctn_cma *c)
{
    double square = 0;
    for (int i = 0; i < c->cfg.n; i++) square += pow(c->mean[i] - c->rest_x[i], 2);
    const double times = (double)(c->s.generation - c->s.rested) / rest_time(c);
    if (sqrt(square) <= 1e-9 * sqrt(fmax(1, times))) return;
    memcpy(c->rest_x, c->mean, (size_t)c->cfg.n * sizeof *c->rest_x);
    c->s.rested = c->s.generation;
}

void cma_stops_note(ctn_cma *c)
{
    cma_numbers *const s = &c->s;
    const int lambda = c->k.lambda, half = lambda / 2;
    const cma_ranked *const r = c->ranked;
    s->median = lambda % 2 ? r[half].value : (r[half - 1].value + r[half].value) / 2;
    c->history_of_best[s->history++ % c->history] = r[0].value;
    if (s->generation % 5 == 0) {
        const int64_t slot = s->long_history++ % c->long_history;
        c->long_best[slot] = r[0].value, c->long_median[slot] = s->median;
    }
    s->flat = r[0].value < r[(int)(0.75 * lambda)].value ? 0 : s->flat + 1;
    note_rest(c);
}

static double range_of_history(const ctn_cma *c)
{
    int64_t length = cma_history(c->cfg.n, c->k.lambda);
    if (length > c->s.history) length = c->s.history;
    double least = INFINITY, most = -INFINITY;
    for (int64_t k = 1; k <= length; k++) {
        const double x = c->history_of_best[(c->s.history - k) % c->history];
        least = fmin(least, x), most = fmax(most, x);
    }
    return most - least;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/// Of `length` numbers of a ring, the newest of which is the one before `end`.
static double median(const ctn_cma *c, const double *ring, int64_t end, int64_t length)
{
    for (int64_t k = 0; k < length; k++) c->sorted[k] = ring[(end - 1 - k) % c->long_history];
    qsort(c->sorted, (size_t)length, sizeof *c->sorted, by_value);
    const int64_t half = length / 2;
    return length % 2 ? c->sorted[half] : (c->sorted[half - 1] + c->sorted[half]) / 2;
}

/// Best values and medians of the last part of the run are no better than those of the part before.
static bool stagnates(const ctn_cma *c)
{
    const cma_numbers *const s = &c->s;
    const int n = c->cfg.n, lambda = c->k.lambda;
    const int64_t have = s->long_history < LONG_MOST ? s->long_history : LONG_MOST, end = s->long_history;
    const int64_t part = (int64_t)fmax(c->stagnation / 10, (double)have / 10);
    if (have <= 100 || 2 * part >= have || 2 * part > c->long_history) return false;
    if (!((double)s->generation > n * (5 + 100.0 / lambda))) return false;
    if (!((double)(s->evaluations - s->best_at) / lambda > c->stagnation / 2)) return false;
    return median(c, c->long_median, end, part) >= median(c, c->long_median, end - part, part) &&
           median(c, c->long_best, end, part) >= median(c, c->long_best, end - part, part);
}

/// A fifth of a deviation does not change a parameter of the mean, or a tenth of one of the axes, by turns, none of them.
static bool has_no_effect(const ctn_cma *c)
{
    const int n = c->cfg.n, axis = (int)(c->s.generation % n);
    bool none = c->B != NULL;
    for (int i = 0; i < n; i++) {
        const double m = c->mean[i];
        if (m + 0.2 * c->s.sigma * cma_deviation(c, i) == m) return true;
        if (none) {
            const double b = c->B[(size_t)axis * (size_t)n + (size_t)i] * (c->scale ? c->scale[i] : 1);
            none = m + 0.1 * c->s.sigma * c->D[axis] * b == m;
        }
    }
    return none;
}

ctn_cma_stop cma_stops_judge(ctn_cma *c)
{
    const cma_numbers *const s = &c->s;
    const ctn_cma_config *const cfg = &c->cfg;
    if (s->has_best && cfg->target > -INFINITY && s->best <= cfg->target) return CTN_CMA_TARGET;
    if (s->evaluations >= cfg->max_evaluations) return CTN_CMA_MAX_EVALUATIONS;
    if (!cfg->stop_at_tolerances) return CTN_CMA_RUNS;

    const double range = c->ranked[c->k.lambda - 1].value - c->ranked[0].value, history = range_of_history(c);
    double widest = 0, path = 0;
    for (int i = 0; i < cfg->n; i++) {
        widest = fmax(widest, s->sigma * cma_deviation(c, i));
        path = fmax(path, s->sigma * fabs(c->p_c[i]));
    }
    if (range < cfg->tolfun && history < cfg->tolfun) return CTN_CMA_TOLFUN;
    if (s->history > 9 && history < cfg->tolfunhist) return CTN_CMA_TOLFUNHIST;
    if (widest < cfg->tolx && path < cfg->tolx) return CTN_CMA_TOLX;
    if (widest > 1e3 * s->sigma_0) return CTN_CMA_TOLFACUPX;
    if (cma_condition(c) > cfg->tolcondition) return CTN_CMA_TOLCONDITION;
    if ((double)(s->generation - s->rested) > rest_time(c)) return CTN_CMA_TOLXSTAGNATION;
    if (s->flat > 1) return CTN_CMA_FLAT;
    if (has_no_effect(c)) return CTN_CMA_NO_EFFECT;
    if (stagnates(c)) return CTN_CMA_TOLSTAGNATION;
    if (s->generation >= s->max_generations) return CTN_CMA_MAX_GENERATIONS;
    return CTN_CMA_RUNS;
}
