#include "control/sampling.h"

#include "sim/base/random.h"
#include "sim/base/status.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sampling {
    const plant *plant;
    sampling_config cfg;
    uint64_t key;
    int64_t rounds;  // in all: the samples' counter
    double *noise, *lower, *upper;
    double *x0, *line, *tried;   // [nx], [points][m], [samples][points][m]
    double *x0s, *X, *U, *each;  // [samples][nx], [samples][knots + 1][nx], [samples][knots + 1][m], [knots + 1]: roll-outs
    double *told;                // [samples][m], of those that are told
    double *spare;               // [points][m]
    double *J, *weight;          // [samples]; J NaN: it failed
    int *knot;                   // [knots + 1], 0, 1, ..
    const double *lines;         // of the roll-outs in hand, [count][points][m]
    sampling_state state;
    double *memory;
};

/// Deals out the arrays of the block, or counts them when there is none.
static size_t deal(sampling *s)
{
    const size_t S = (size_t)s->cfg.samples, m = (size_t)s->plant->m, nx = (size_t)s->plant->nx, P = (size_t)s->cfg.points,
                 N = (size_t)s->plant->knots + 1;
    const struct {
        double **to;
        size_t size;
    } rows[] = {{&s->noise, m},     {&s->lower, m},         {&s->upper, m},    {&s->x0, nx},        {&s->line, P * m},
                {&s->spare, P * m}, {&s->tried, S * P * m}, {&s->x0s, S * nx}, {&s->X, S * N * nx}, {&s->U, S * N * m},
                {&s->each, N},      {&s->told, S * m},      {&s->J, S},        {&s->weight, S}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (s->memory) *rows[k].to = s->memory + sum;
        sum += rows[k].size;
    }
    return sum;
}

sampling *sampling_open(const plant *p, const sampling_config *cfg, ctn_error *err)
{
    if ((double)cfg->points * p->m > INT_MAX)
        return fail(err, CTN_BAD_ARGUMENT, "%d points of %d numbers are too many for samples", cfg->points, p->m), NULL;
    if (cfg->samples < 2 || cfg->samples > p->most || cfg->points < 2 || !(cfg->temperature > 0))
        return fail(err, CTN_BAD_ARGUMENT, "expected 2 to %d samples, 2 points or more, and a temperature above 0", p->most),
               NULL;
    sampling *const s = calloc(1, sizeof *s);
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for samples"), NULL;
    s->plant = p, s->cfg = *cfg;
    s->cfg.points = cfg->points < p->knots ? cfg->points : p->knots;
    const philox4x32_ctr_t key = random_words(cfg->seed, 0, 0, 0x6d7063);  // apart from what scenes draw of the same seed
    s->key = (uint64_t)key.v[0] << 32 | key.v[1];
    s->memory = calloc(deal(s) + 1, sizeof *s->memory);
    s->knot = calloc((size_t)p->knots + 1, sizeof *s->knot);
    if (!s->memory || !s->knot) {
        sampling_close(s);
        return fail(err, CTN_NO_MEMORY, "not enough memory for %d samples", cfg->samples), NULL;
    }
    deal(s);
    for (int k = 0; k <= p->knots; k++) s->knot[k] = k;
    for (int i = 0; i < p->m; i++) {
        s->noise[i] = cfg->noise[i];
        s->lower[i] = cfg->lower ? cfg->lower[i] : -INFINITY, s->upper[i] = cfg->upper ? cfg->upper[i] : INFINITY;
    }
    s->cfg.noise = s->cfg.lower = s->cfg.upper = NULL;
    return s;
}

void sampling_close(sampling *s)
{
    if (!s) return;
    free(s->memory), free(s->knot);
    free(s);
}

// ---- lines through points

/// At which knot point j is.
static double place_of(const sampling *s, int j)
{
    return s->cfg.points > 1 ? (double)j * (s->plant->knots - 1) / (s->cfg.points - 1) : 0;
}

/// The line through points at a knot, or between two; it stays beyond its end.
static void line_at(const sampling *s, const double *points, double knot, double *u)
{
    const int m = s->plant->m, last = s->cfg.points - 1;
    const double at = last ? fmin(fmax(knot * last / (s->plant->knots - 1), 0), last) : 0, below = floor(at + 1e-9);
    const int j = (int)below, next = j < last ? j + 1 : last;
    const double share = fmax(at - below, 0);
    const double *const from = points + (size_t)j * (size_t)m, *const to = points + (size_t)next * (size_t)m;
    for (int i = 0; i < m; i++) u[i] = from[i] + share * (to[i] - from[i]);
}

static double bounded(const sampling *s, int i, double u) { return fmin(fmax(u, s->lower[i]), s->upper[i]); }

void sampling_begin(sampling *s, const double *x0, const double *U)
{
    const size_t m = (size_t)s->plant->m, last = (size_t)s->plant->knots - 1;
    memcpy(s->x0, x0, (size_t)s->plant->nx * sizeof *x0);
    for (int j = 0; j < s->cfg.points; j++) {
        const double at = place_of(s, j), below = floor(at);
        const size_t k = (size_t)below, next = k < last ? k + 1 : last;
        for (size_t i = 0; i < m; i++)
            s->line[(size_t)j * m + i] = bounded(s, (int)i, U[k * m + i] + (at - below) * (U[next * m + i] - U[k * m + i]));
    }
    s->state = (sampling_state){0};
}

void sampling_shift(sampling *s, const double *x0)
{
    const size_t m = (size_t)s->plant->m, points = (size_t)s->cfg.points;
    memcpy(s->x0, x0, (size_t)s->plant->nx * sizeof *x0);
    for (size_t j = 0; j < points; j++) line_at(s, s->line, place_of(s, (int)j) + 1, s->spare + j * m);
    memcpy(s->line, s->spare, points * m * sizeof *s->line);
    s->state = (sampling_state){.failed = s->state.failed};
}

// ---- a round

/// The last plan, and samples around it.
static void draw(sampling *s)
{
    const int n = s->cfg.points * s->plant->m, m = s->plant->m;
    memcpy(s->tried, s->line, (size_t)n * sizeof *s->tried);
    for (int k = 1; k < s->cfg.samples; k++)
        for (int i = 0; i < n; i += 2) {
            double x[2], z[2], *const to = s->tried + (size_t)k * (size_t)n;
            uniform_pair_of(random_words(s->key, (uint64_t)s->rounds, (uint32_t)(i / 2), (uint32_t)k), x);
            normal_pair_of(x, z);
            for (int e = i; e < i + 2 && e < n; e++) to[e] = bounded(s, e % m, s->line[e] + s->noise[e % m] * z[e - i]);
        }
    s->rounds++;
}

/// Lines have come to where they are after `step` knots.
static void tell(void *whose, int first, int count, int apart, int step, const double *x, const bool *good, double *u)
{
    sampling *const s = whose;
    const plant *const p = s->plant;
    const size_t nx = (size_t)p->nx, m = (size_t)p->m, n = (size_t)s->cfg.points * m, N = (size_t)p->knots + 1;
    for (int l = 0; l < count; l++) {
        const size_t k = (size_t)(first + l), row = k * N + (size_t)step;
        double *const own = s->told + k * m;
        line_at(s, s->lines + k * n, step, own);
        for (size_t i = 0; i < nx; i++) s->X[row * nx + i] = x[i * (size_t)apart + (size_t)l];
        for (size_t i = 0; i < m; i++) s->U[row * m + i] = own[i];
        for (size_t i = 0; i < m && u; i++) u[i * (size_t)apart + (size_t)l] = own[i];
        if (!good[l]) s->J[k] = NAN;
    }
}

/// Rolls out `count` lines side by side: s->J [count] of each, NaN: the plant cannot go through it.
static ctn_status roll_out(sampling *s, int count, const double *lines, ctn_error *err)
{
    const plant *const p = s->plant;
    const size_t nx = (size_t)p->nx, m = (size_t)p->m, N = (size_t)p->knots + 1;
    s->lines = lines;
    for (int k = 0; k < count; k++) memcpy(s->x0s + (size_t)k * nx, s->x0, nx * sizeof *s->x0), s->J[k] = 0;
    const ctn_status status = p->play(p->context, count, s->x0s, p->knots, tell, s, err);
    if (status != CTN_OK) return status;
    for (int k = 0; k < count; k++) {
        if (!isnan(s->J[k])) p->cost(p->context, (int)N, s->knot, s->X + (size_t)k * N * nx, s->U + (size_t)k * N * m, s->each);
        for (size_t i = 0; i < N && !isnan(s->J[k]); i++) s->J[k] += s->each[i];
        if (!isfinite(s->J[k])) s->J[k] = NAN;
        s->state.failed += isnan(s->J[k]);
    }
    return CTN_OK;
}

/// The weighted mean of all samples that live, of which `best` costs least.
static void average(sampling *s, int best)
{
    const int n = s->cfg.points * s->plant->m, S = s->cfg.samples;
    double above = 0, sum = 0, squares = 0;
    int lives = 0;
    for (int k = 0; k < S; k++)
        if (!isnan(s->J[k])) above += s->J[k] - s->J[best], lives++;
    const double lambda = s->cfg.temperature * above / lives;
    for (int k = 0; k < S; k++) {
        s->weight[k] = isnan(s->J[k]) ? 0 : lambda > 0 ? exp(-(s->J[k] - s->J[best]) / lambda) : 1;
        sum += s->weight[k], squares += s->weight[k] * s->weight[k];
    }
    memset(s->spare, 0, (size_t)n * sizeof *s->spare);
    for (int k = 0; k < S; k++)
        for (int i = 0; i < n && s->weight[k] > 0; i++)
            s->spare[i] += s->weight[k] / sum * s->tried[(size_t)k * (size_t)n + (size_t)i];
    s->state.effective = sum * sum / squares;
}

ctn_status sampling_step(sampling *s, ctn_error *err)
{
    const int n = s->cfg.points * s->plant->m;
    draw(s);
    ctn_status status = roll_out(s, s->cfg.samples, s->tried, err);
    if (status != CTN_OK) return status;
    int best = -1;
    for (int k = 0; k < s->cfg.samples; k++)
        if (!isnan(s->J[k]) && (best < 0 || s->J[k] < s->J[best])) best = k;
    if (best < 0)
        return fail(err, CTN_FROZEN,
                    "none of %d samples lives through the horizon; take less `noise` in `optimize.mpc`, or a "
                    "smaller dt",
                    s->cfg.samples);
    double cost = NAN;
    s->state.best = s->J[best], s->state.effective = 1, s->state.round++;
    if (s->cfg.mean) {
        average(s, best);
        status = roll_out(s, 1, s->spare, err);
        if (status != CTN_OK) return status;
        cost = s->J[0];
    }
    if (isnan(cost)) memcpy(s->spare, s->tried + (size_t)best * (size_t)n, (size_t)n * sizeof *s->spare), cost = s->state.best;
    memcpy(s->line, s->spare, (size_t)n * sizeof *s->line);
    s->state.cost = cost;
    return CTN_OK;
}

ctn_status sampling_judge(sampling *s, ctn_error *err)
{
    const ctn_status status = roll_out(s, 1, s->line, err);
    if (status != CTN_OK) return status;
    s->state.cost = s->J[0];
    return isnan(s->J[0]) ? fail(err, CTN_FROZEN, "the model does not live through the plan; take a smaller dt") : CTN_OK;
}

sampling_state sampling_get_state(const sampling *s) { return s->state; }
const double *sampling_control(const sampling *s) { return s->line; }
