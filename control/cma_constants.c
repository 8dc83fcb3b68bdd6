/// Weights and learning rates.
///
///   [H] Hansen: The CMA evolution strategy: a tutorial. arXiv 1604.00772
///   [R] Ros, Hansen: A simple modification in CMA-ES achieving linear time and space complexity. PPSN X, 2008
///   [A] Akimoto, Hansen: Diagonal acceleration for covariance matrix adaptation evolution strategies. Evol. Comput. 28(3), 2020
///
/// Where pycma 4.5 departs from [H], its numbers are taken: evaluations are to be those of pycma. These are 3 for 5 in the
/// denominator of c_sigma, its bound 1/2, the 1/4 in c_mu, min(1, lambda / 6) in c_1, and a damping that grows earlier.
#include "control/cma.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>

double cma_default_population(int n) { return 4 + 3 * log(n); }  // [H] eq. 48; lambda is the whole part

/// ln((lambda + 1) / 2) - ln i ([H] eq. 49), positive ones scaled to sum 1, negative ones to sum -1 ([H] eq. 53). Returns the
/// effective numbers of both: (sum |w|)^2 / sum w^2.
static void weights_by_rank(int lambda, double *w, double *mueff, double *mueff_negative)
{
    double sum[2] = {0}, square[2] = {0};
    for (int i = 0; i < lambda; i++) {
        w[i] = log((lambda + 1) / 2.0) - log(i + 1);
        const int negative = w[i] <= 0;
        sum[negative] += fabs(w[i]), square[negative] += w[i] * w[i];
    }
    for (int i = 0; i < lambda; i++)
        if (w[i] != 0) w[i] /= sum[w[i] <= 0];
    *mueff = sum[0] * sum[0] / square[0];
    *mueff_negative = sum[1] * sum[1] / square[1];
}

/// How much negative weight there is ([H] eqs. 50 to 52): as much as makes up for what is forgotten, no more than their number
/// bears, and none that could make C indefinite where |z|^2 is scaled to n.
static double negative_sum(double c_1, double c_mu, double mueff, double mueff_negative, double n)
{
    double sum = 1 + 2 * mueff_negative / (mueff + 2);
    if (c_mu > 0) sum = fmin(sum, fmin(1 + c_1 / c_mu, (1 - c_1 - c_mu) / (n * c_mu)));
    return sum;
}

/// Scales the negative ones; returns their sum.
static double scale_negative(int lambda, double *w, double sum)
{
    double all = 0;
    for (int i = 0; i < lambda; i++)
        if (w[i] < 0) w[i] *= sum, all += w[i];
    return all;
}

/// Of the path of sigma. The damping has 1 + c_sigma + 2 max(0, sqrt((mueff - 1) / (n + 1)) - 1) in [H] eq. 55; pycma puts a
/// factor before the root that grows from 1 to 3 with n.
static void step_size_rates(cma_constants *k, double n)
{
    k->c_sigma = fmin(0.5, (k->mueff + 2) / (n + k->mueff + 3));
    const double early = fmax(1, 3 * (1 - exp2(-n / 9)));
    k->d_sigma = 1 + k->c_sigma + 2 * fmax(0, early * sqrt((k->mueff - 1) / (n + 1)) - 1);
    k->chi = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
}

/// [H] eqs. 56 to 58; separable ones learn (n + 2) / 3 times as fast ([R] section 3), as they have n numbers to learn for n^2 /
/// 2.
static void covariance_rates(cma_constants *k, double n, bool separable)
{
    const double faster = separable ? (n + 2) / 3 : 1, mu = k->mueff;
    k->c_c = (4 + mu / n) / (n + 4 + 2 * mu / n);
    k->c_1 = fmin(1, faster * fmin(1, k->lambda / 6.0) * 2 / ((n + 1.3) * (n + 1.3) + mu));
    k->c_mu = fmin(1 - k->c_1, faster * 2 * (0.25 + mu + 1 / mu - 2) / ((n + 2) * (n + 2) + mu));
    k->gap = 1 / (k->c_1 + k->c_mu) / n / 10;
}

/// [A], for `free` parameters: n of the scales, n (n + 1) / 2 of C.
static void decoded_rates(double n, double free, double mu, int lambda, double *c_c, double *c_1, double *c_mu)
{
    *c_1 = 1 / (2 * (free / n + 1) * pow(n + 1, 0.75) + mu / 2);
    *c_mu = fmin(1 - *c_1, *c_1 * (mu + 1 / mu - 2 + lambda / (2.0 * lambda + 10)));
    *c_c = sqrt(mu * *c_1) / 2;
}

ctn_status cma_constants_make(cma_constants *k, const ctn_cma_config *cfg, ctn_cma_covariance kind, int lambda, ctn_error *err)
{
    const double n = cfg->n;
    double mueff_negative;
    *k = (cma_constants){.lambda = lambda, .weights = malloc((size_t)lambda * sizeof *k->weights)};
    if (k->weights && kind == CTN_CMA_DECODED) k->weights_scale = malloc((size_t)lambda * sizeof *k->weights_scale);
    if (!k->weights || (kind == CTN_CMA_DECODED && !k->weights_scale)) {
        cma_constants_free(k);
        return fail(err, CTN_NO_MEMORY, "no memory for a population of %d", lambda);
    }
    weights_by_rank(lambda, k->weights, &k->mueff, &mueff_negative);
    step_size_rates(k, n);
    if (kind == CTN_CMA_DECODED) {
        decoded_rates(n, n * (n + 1) / 2, k->mueff, lambda, &k->c_c, &k->c_1, &k->c_mu);
        decoded_rates(n, n, k->mueff, lambda, &k->c_c_scale, &k->c_1_scale, &k->c_mu_scale);
        k->gap = floor(1 / (k->c_1 + k->c_mu) / n / 10);
        for (int i = 0; i < lambda; i++) k->weights_scale[i] = k->weights[i];
        // exponentials stay positive by themselves: eq. 52 is not asked for
        const double sum = fmin(1 + k->c_1_scale / k->c_mu_scale, 1 + 2 * mueff_negative / (k->mueff + 2));
        k->negative_scale = scale_negative(lambda, k->weights_scale, cfg->active ? sum : 0);
    } else {
        covariance_rates(k, n, kind == CTN_CMA_SEPARABLE);
    }
    const double sum = cfg->active ? negative_sum(k->c_1, k->c_mu, k->mueff, mueff_negative, n) : 0;
    k->negative = scale_negative(lambda, k->weights, sum);
    return CTN_OK;
}

void cma_constants_free(cma_constants *k)
{
    free(k->weights), free(k->weights_scale);
    k->weights = k->weights_scale = NULL;
}
