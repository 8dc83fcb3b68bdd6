/// What a search is asked for: defaults, and what is refused.
#include "control/cma.h"
#include "sim/base/status.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

enum { COOKIE = 0x436d4131 };

ctn_cma_config ctn_cma_default_config(int n)
{
    return (ctn_cma_config){.cookie = COOKIE,
                            .n = n,
                            .seed = 1,
                            .active = true,
                            .max_restarts = 9,
                            .target = -INFINITY,
                            .max_evaluations = INT64_MAX,
                            .stop_at_tolerances = true,
                            .tolfun = 1e-11,
                            .tolfunhist = 1e-12,
                            .tolx = 1e-11,
                            .tolcondition = 1e14};
}

ctn_cma_covariance cma_kind(const ctn_cma_config *cfg)
{
    if (cfg->covariance != CTN_CMA_AUTO) return cfg->covariance;
    return cfg->n <= CTN_CMA_AUTO_FULL ? CTN_CMA_FULL : CTN_CMA_SEPARABLE;
}

/// A box given by two arrays, or by none.
static ctn_status check_box(const ctn_cma_config *cfg, const char *low, const char *high, const double *lower,
                            const double *upper, ctn_error *err)
{
    if (!lower != !upper)
        return fail(err, CTN_BAD_CONFIG, "%s is NULL and %s is not: give both, with -inf or inf where there is none, or neither",
                    lower ? high : low, lower ? low : high);
    for (int i = 0; lower && i < cfg->n; i++)
        if (!(lower[i] < upper[i]) || lower[i] == INFINITY || upper[i] == -INFINITY)
            return fail(err, CTN_BAD_CONFIG, "%s[%d] is %g and %s[%d] %g: the first must be below the second", low, i, lower[i],
                        high, i, upper[i]);
    return CTN_OK;
}

/// What a start is, or may be, lies within the bounds, and is finite.
static ctn_status check_start(const ctn_cma_config *cfg, const char *name, const double *x, ctn_error *err)
{
    for (int i = 0; x && i < cfg->n; i++) {
        if (!isfinite(x[i])) return fail(err, CTN_BAD_CONFIG, "%s[%d] is %g: must be finite", name, i, x[i]);
        if (cfg->lower && (x[i] < cfg->lower[i] || x[i] > cfg->upper[i]))
            return fail(err, CTN_BAD_CONFIG, "%s[%d] is %g, out of its bounds %g .. %g: move it inside", name, i, x[i],
                        cfg->lower[i], cfg->upper[i]);
    }
    return CTN_OK;
}

static ctn_status check_starts(const ctn_cma_config *cfg, ctn_error *err)
{
    ctn_status status = check_box(cfg, "lower", "upper", cfg->lower, cfg->upper, err);
    if (!status) status = check_box(cfg, "start_lower", "start_upper", cfg->start_lower, cfg->start_upper, err);
    if (!status) status = check_start(cfg, "mean", cfg->mean, err);
    if (!status) status = check_start(cfg, "start_lower", cfg->start_lower, err);
    if (!status) status = check_start(cfg, "start_upper", cfg->start_upper, err);
    if (status || cfg->mean || cfg->start_lower) return status;
    if (!cfg->lower)
        return fail(err, CTN_BAD_CONFIG, "mean is NULL: give it, or a box of starts, start_lower and start_upper, or bounds");
    for (int i = 0; i < cfg->n; i++)
        if (!isfinite(cfg->lower[i]) || !isfinite(cfg->upper[i]))
            return fail(
                err, CTN_BAD_CONFIG,
                "mean is NULL, and bound %d is infinite: starts are drawn between finite bounds; give mean, or start_lower "
                "and start_upper",
                i);
    return CTN_OK;
}

static ctn_status check_tolerance(const char *name, double x, ctn_error *err)
{
    return x >= 0 ? CTN_OK : fail(err, CTN_BAD_CONFIG, "%s is %g: must be 0 or above", name, x);
}

ctn_status cma_check(const ctn_cma_config *cfg, ctn_error *err)
{
    if (cfg->cookie != COOKIE) return fail(err, CTN_BAD_CONFIG, "the configuration does not come from ctn_cma_default_config()");
    if (cfg->n < 1) return fail(err, CTN_BAD_CONFIG, "n is %d: must be 1 or above", cfg->n);
    if (!(cfg->sigma > 0) || !isfinite(cfg->sigma))
        return fail(err, CTN_BAD_CONFIG, "sigma is %g: must be a positive number, about a third of how far the optimum may be",
                    cfg->sigma);
    if (cfg->population && (cfg->population < 2 || cfg->population > CTN_CMA_MAX_POPULATION))
        return fail(err, CTN_BAD_CONFIG, "population is %d: must be 2 .. %d, or 0 for %d", cfg->population,
                    CTN_CMA_MAX_POPULATION, (int)cma_default_population(cfg->n));
    if (cfg->covariance < CTN_CMA_AUTO || cfg->covariance > CTN_CMA_SEPARABLE)
        return fail(err, CTN_BAD_CONFIG, "covariance is %d: must be one of CTN_CMA_AUTO, _FULL, _DECODED, _SEPARABLE",
                    (int)cfg->covariance);
    if (cma_kind(cfg) != CTN_CMA_SEPARABLE && cfg->n > CTN_CMA_MAX_FULL)
        return fail(err, CTN_BAD_CONFIG, "n is %d, above %d: a covariance of %.3g GB; take CTN_CMA_SEPARABLE", cfg->n,
                    CTN_CMA_MAX_FULL, 8e-9 * cfg->n * cfg->n);
    if (cfg->adapt_rates && cma_kind(cfg) == CTN_CMA_DECODED)
        return fail(err, CTN_BAD_CONFIG, "adapt_rates: not for CTN_CMA_DECODED; take CTN_CMA_FULL or CTN_CMA_SEPARABLE");
    if (cfg->constraints < 0) return fail(err, CTN_BAD_CONFIG, "constraints is %d: must be 0 or above", cfg->constraints);
    if (cfg->restarts < CTN_CMA_NO_RESTARTS || cfg->restarts > CTN_CMA_BIPOP)
        return fail(err, CTN_BAD_CONFIG, "restarts is %d: must be one of CTN_CMA_NO_RESTARTS, _IPOP, _BIPOP", (int)cfg->restarts);
    if (cfg->max_restarts < 0) return fail(err, CTN_BAD_CONFIG, "max_restarts is %d: must be 0 or above", cfg->max_restarts);
    if (isnan(cfg->target)) return fail(err, CTN_BAD_CONFIG, "target is NaN: must be a number, or -inf for none");
    if (cfg->max_evaluations < 1)
        return fail(err, CTN_BAD_CONFIG, "max_evaluations is %lld: must be 1 or above", (long long)cfg->max_evaluations);
    if (cfg->max_generations < 0)
        return fail(err, CTN_BAD_CONFIG, "max_generations is %lld: must be 1 or above, or 0 for the default",
                    (long long)cfg->max_generations);
    ctn_status status = check_tolerance("tolfun", cfg->tolfun, err);
    if (!status) status = check_tolerance("tolfunhist", cfg->tolfunhist, err);
    if (!status) status = check_tolerance("tolx", cfg->tolx, err);
    if (!status) status = check_tolerance("tolcondition", cfg->tolcondition, err);
    return status ? status : check_starts(cfg, err);
}

static uint64_t mix(uint64_t h, const void *bytes, size_t size) { return bytes ? XXH3_64bits_withSeed(bytes, size, h) : h + 1; }

uint64_t cma_fingerprint(const ctn_cma_config *cfg)
{
    const size_t bytes = (size_t)cfg->n * sizeof(double);
    const int64_t whole[] = {
        cfg->n,           cfg->population, (int64_t)cfg->seed, cma_kind(cfg),           cfg->active,         cfg->adapt_rates,
        cfg->constraints, cfg->restarts,   cfg->max_restarts,  cfg->stop_at_tolerances, cfg->max_generations};
    const double real[] = {cfg->sigma, cfg->tolfun, cfg->tolfunhist, cfg->tolx, cfg->tolcondition};
    const double *const arrays[] = {cfg->mean, cfg->lower, cfg->upper, cfg->start_lower, cfg->start_upper};
    uint64_t h = mix(mix(0, whole, sizeof whole), real, sizeof real);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) h = mix(h, arrays[k], bytes);
    return h;
}
