/// Constraints g_i(x) <= 0 by an augmented Lagrangian: what is ranked is
///
///     f + sum_i (lambda_i g_i + mu_i g_i^2 / 2),   g_i replaced by -lambda_i / mu_i where it is below,
///
/// whose lambda and mu follow the candidates, once a generation, at the one that has the smallest value. At the end lambda are
/// the Lagrange multipliers. [Atamna, Auger, Hansen: Linearly convergent evolution strategies via augmented Lagrangian constraint
/// handling, FOGA 2017, algorithm 1]; when mu grows and shrinks, and the first values of both, as in pycma 4.5: mu grows while
/// g_i > 0, or while what is penalised is feasible nearly always, and shrinks where g_i < 0 and a tenth is not feasible.
#include "control/cma.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cma_lagrangian_begin(ctn_cma *c)
{
    const size_t m = (size_t)c->cfg.constraints, n = (size_t)c->cfg.n;
    c->s.constrained = 0;
    if (!m) return;
    memset(c->multiplier, 0, m * sizeof(double)), memset(c->penalty, 0, m * sizeof(double));
    memset(c->settled, 0, m * sizeof(double)), memset(c->same, 0, m * sizeof(double));
    memset(c->penalized, 0, m * sizeof(double)), memset(c->feasible, 0, m * (n + 5) * sizeof(double));
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/// From the first to the third quartile, between order statistics as they lie.
static double quartiles_apart(double *x, int count)
{
    double at[2];
    qsort(x, (size_t)count, sizeof *x, by_value);
    for (int q = 0; q < 2; q++) {
        const double place = (q ? 0.75 : 0.25) * (count - 1);
        const int k = (int)place, next = k + 1 < count ? k + 1 : k;
        at[q] = x[k] + (place - k) * (x[next] - x[k]);
    }
    return at[1] - at[0];
}

static bool is_number(const ctn_cma *c, int k) { return !isnan(c->ranked[k].value); }

/// Of constraint i, or of f (i < 0), or of g^2.
static double spread(const ctn_cma *c, const double *f, const double *g, int i, bool squared)
{
    const int m = c->cfg.constraints;
    int count = 0;
    for (int k = 0; k < c->k.lambda; k++) {
        if (!is_number(c, k)) continue;
        const double x = i < 0 ? f[k] : g[(size_t)k * (size_t)m + (size_t)i];
        c->sorted[count++] = squared ? x * x : x;
    }
    return quartiles_apart(c->sorted, count);
}

/// First values, for constraints that more than a tenth of the candidates violate: of the order that moves f as much as g.
static void first_values(ctn_cma *c, const double *f, const double *g, int i)
{
    const int m = c->cfg.constraints;
    const double n = c->cfg.n;
    double violated = 0, count = 0, largest = 0;
    for (int k = 0; k < c->k.lambda; k++) {
        if (!is_number(c, k)) continue;
        const double x = g[(size_t)k * (size_t)m + (size_t)i];
        count++, violated += x > 0, largest = fmax(largest, fabs(x));
    }
    const double sign = 2 * violated / count - 1;
    if (sign <= -0.8) return;
    const double df = spread(c, f, g, -1, false), dg = spread(c, f, g, i, false), dg2 = spread(c, f, g, i, true);
    const double mu = 0.4 * df / n / (dg + 1e-6 * dg2 + 1e-11 * (df + 1)), had = c->penalty[i];
    double lambda = df / (n * dg + 1e-11 * (df + 1));
    if (sign <= 0.2 && had > mu) lambda *= mu / had;
    c->multiplier[i] = lambda;
    c->penalty[i] = fmin(20 * mu, fmax(mu, lambda / (1e-22 + largest)));
    if (c->s.constrained > 2 + n || fabs(sign) < 0.8) c->settled[i] = 1;
}

/// What candidate k is ranked by, and which constraints cost it something.
static double lagrangian(ctn_cma *c, double f, const double *g)
{
    double sum = 0;
    for (int i = 0; i < c->cfg.constraints; i++) {
        const double lambda = c->multiplier[i], mu = c->penalty[i];
        if (mu * g[i] > -lambda) c->penalized[i]++;
        const double x = mu * g[i] < -lambda ? -lambda / mu : g[i];
        sum += lambda * x + mu * x * x / 2;
    }
    return f + sum;
}

/// More of the same change makes it larger: after 2 + m times up to four times as large.
static double exponent(ctn_cma *c, int i, double change)
{
    const double wait = 2 + c->cfg.constraints;
    c->same[i] = (c->same[i] * change < 0 ? 0 : c->same[i]) + change;
    const double beyond = fmin(wait, fmax(0, fabs(c->same[i]) - wait));
    return change / 4 * (1 + 4 / wait * beyond);
}

static void follow(ctn_cma *c, const double *g, int i)
{
    const double change = exp2(0.2 / c->cfg.n);
    double *const lambda = &c->multiplier[i], *const mu = &c->penalty[i];
    const int64_t all = c->cfg.n + 5, have = c->s.constrained < all ? c->s.constrained : all;
    double often = 0;
    if (*mu == 0) return;
    if (g[i] * *mu > -*lambda || c->penalized[i] > 0) *lambda += *mu * g[i] / 5;
    if (*lambda < 0) *lambda = 0;
    else if (g[i] * *mu >= -*lambda) {
        for (int64_t k = 0; k < have; k++) often += c->feasible[(int64_t)i * all + k];
        often /= (double)have;
        if (g[i] > 0 || (g[i] * *mu > -*lambda && often > 0.95)) *mu *= pow(change, exponent(c, i, 1));
        else if (g[i] < 0 && often < 0.9) *mu *= pow(change, exponent(c, i, -1));
    }
}

static int rank_all(ctn_cma *c, const double *f, const double *g)
{
    int best = -1;
    for (int k = 0; k < c->k.lambda; k++) {
        if (!is_number(c, k)) continue;
        c->ranked[k].value = lagrangian(c, f[k], g + (size_t)k * (size_t)c->cfg.constraints);
        if (best < 0 || c->ranked[k].value < c->ranked[best].value) best = k;
    }
    return best;
}

void cma_lagrangian(ctn_cma *c, const double *f, const double *g)
{
    const int m = c->cfg.constraints;
    for (int i = 0; i < m; i++)
        if (!c->settled[i] || c->penalty[i] == 0) first_values(c, f, g, i);
    const double *const at = g + (size_t)rank_all(c, f, g) * (size_t)m;
    const int64_t all = c->cfg.n + 5, slot = c->s.constrained++ % all;
    for (int i = 0; i < m; i++) {
        c->feasible[(int64_t)i * all + slot] = at[i] < 0 ? 1 : at[i] == 0 ? 0.5 : 0;
        follow(c, at, i);
        c->penalized[i] = 0;
    }
    rank_all(c, f, g);
}
