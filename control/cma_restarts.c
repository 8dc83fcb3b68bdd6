/// Runs: how one begins, and what follows where it is over.
///
/// IPOP: twice the population each time [Auger, Hansen, CEC 2005]. BIPOP: besides, whenever runs with small populations have had
/// fewer evaluations than those with large ones, one more of these, with
///
///     lambda = lambda_0 (lambda_large / lambda_0)^(u^2),   sigma = sigma_0 / 100^u',   u, u' uniform in (0, 1),
///
/// and half as many evaluations as the large ones have had at most [Hansen: Benchmarking a BI-population CMA-ES on the BBOB-2009
/// function testbed]. The first run counts as a small one, as in pycma. lambda_0 is not rounded before it is doubled.
#include "control/cma.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t cma_population_bytes(const ctn_cma *c, int lambda)
{
    const size_t l = (size_t)lambda, long_rings = (size_t)c->long_history;
    return l * (size_t)c->cfg.n * sizeof *c->z + l * sizeof *c->ranked + (l > long_rings ? l : long_rings) * sizeof *c->sorted;
}

ctn_status cma_resize(ctn_cma *c, int lambda, ctn_error *err)
{
    cma_constants k;
    if (c->z && lambda == c->k.lambda) return CTN_OK;
    const ctn_status status = cma_constants_make(&k, &c->cfg, c->kind, lambda, err);
    if (status) return status;
    double *const z = malloc(cma_population_bytes(c, lambda));
    if (!z) {
        cma_constants_free(&k);
        return fail(err, CTN_NO_MEMORY, "no memory for a population of %d, %.3g GB", lambda,
                    (double)cma_population_bytes(c, lambda) * 1e-9);
    }
    free(c->z), cma_constants_free(&c->k);
    const size_t l = (size_t)lambda, long_rings = (size_t)c->long_history;
    c->z = z, c->k = k, c->drawn = -1;
    c->sorted = z + l * (size_t)c->cfg.n;
    c->ranked = (cma_ranked *)(void *)(c->sorted + (l > long_rings ? l : long_rings));
    c->s.lambda = lambda;
    return CTN_OK;
}

ctn_status cma_run_begin(ctn_cma *c, int lambda, double sigma, ctn_error *err)
{
    const int n = c->cfg.n;
    cma_numbers *const s = &c->s;
    const ctn_status status = cma_resize(c, lambda, err);
    if (status) return status;
    if (c->start && (s->run == 0 || !c->start_lower)) memcpy(c->mean, c->start, (size_t)n * sizeof *c->mean);
    else cma_draw_start(c, s->run, c->mean);
    for (int i = 0; i < n; i++) {
        c->mean[i] = cma_out_of_bounds(c, i, c->mean[i]);
        c->p_sigma[i] = c->p_c[i] = 0;
    }
    s->sigma = s->sigma_0 = sigma;
    s->generation = s->decomposed = 0;
    s->gamma_scale = 0;
    s->run_begin = s->evaluations;
    cma_covariance_begin(c);
    cma_limit(c);
    cma_rates_begin(c);
    cma_lagrangian_begin(c);
    cma_stops_begin(c);
    return cma_decompose(c, err);
}

ctn_status cma_restart(ctn_cma *c, ctn_cma_stop why, ctn_error *err)
{
    const ctn_cma_config *const cfg = &c->cfg;
    cma_numbers *const s = &c->s;
    const double default_generations =
        cfg->max_generations ? (double)cfg->max_generations : cma_default_generations(cfg->n, c->population);
    if (why <= CTN_CMA_MAX_EVALUATIONS || cfg->restarts == CTN_CMA_NO_RESTARTS ||
        s->run + 1 - s->small_runs > cfg->max_restarts) {
        s->stop = why;
        return CTN_OK;
    }
    const int64_t used = s->evaluations - s->run_begin;
    if (s->run == 0 || s->is_small) s->small_evaluations += used;
    else s->large_evaluations += used;
    s->run++, s->last = why;
    s->is_small = cfg->restarts == CTN_CMA_BIPOP && s->small_evaluations < fmax(1, (double)s->large_evaluations);
    s->small_runs += s->is_small;
    double sigma = cfg->sigma, generations = default_generations;
    double population = c->population * exp2((double)(s->run - s->small_runs));
    if (s->is_small) {
        const double u = cma_draw_uniform(c, s->run, 0);
        sigma *= pow(0.01, cma_draw_uniform(c, s->run, 1));
        population = floor(c->population * pow(population / c->population, u * u));
        generations = fmin(generations, 0.5 * (double)s->large_evaluations / population);
    }
    s->max_generations = (int64_t)ceil(generations);
    ctn_status status =
        population > CTN_CMA_MAX_POPULATION
            ? fail(err, CTN_NO_MEMORY, "a restart with a population of %g, above %d", population, CTN_CMA_MAX_POPULATION)
            : cma_run_begin(c, (int)population, sigma, err);
    if (status) s->stop = why;
    return status;
}
