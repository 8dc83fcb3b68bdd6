/// A generation of CMA-ES: candidates are asked for, their values told. [Hansen: arXiv 1604.00772, figure 6]
#include "control/cma.h"
#include "sim/base/lapack.h"
#include "sim/base/random.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- memory

void cma_sizes(ctn_cma *c, const ctn_cma_config *cfg)
{
    c->cfg = *cfg, c->kind = cma_kind(cfg);
    c->population = cfg->population ? cfg->population : cma_default_population(cfg->n);
    c->stagnation = cma_default_stagnation(cfg->n, c->population);
    c->history = cma_history(cfg->n, floor(c->population)), c->long_history = cma_long_history(c->stagnation);
}

size_t cma_lay_out(ctn_cma *c)
{
    const bool separable = c->kind == CTN_CMA_SEPARABLE, decoded = c->kind == CTN_CMA_DECODED, adapts = c->cfg.adapt_rates;
    const size_t N = (size_t)c->cfg.n, NC = separable ? N : N * N, M = (size_t)c->cfg.constraints, M_RING = M * (N + 5);
    const size_t history = (size_t)c->history, long_history = (size_t)c->long_history;
    size_t end = 0;
#define PLACE(name, numbers, text)                                                                                               \
    c->name = (numbers) > 0 && c->arrays ? c->arrays + end : NULL;                                                               \
    end += (numbers);
    CMA_ARRAYS(PLACE)
#undef PLACE
    return end;
}

/// Numbers of the configuration's arrays, and the margins of bounds.
static size_t own_numbers(const ctn_cma_config *cfg)
{
    const bool box = cfg->start_lower || !cfg->mean;
    return (size_t)cfg->n * (size_t)((cfg->lower ? 3 : 0) + (box ? 2 : 0) + (cfg->mean ? 1 : 0));
}

static size_t before_numbers(const ctn_cma *c)
{
    const size_t n = (size_t)c->cfg.n;
    return !c->cfg.adapt_rates ? 0 : c->kind == CTN_CMA_SEPARABLE ? 2 * n : 4 * n * n;
}

size_t ctn_cma_bytes(const ctn_cma_config *cfg, int population)
{
    ctn_cma c = {0};
    if (!cfg || cma_check(cfg, NULL) || population < 0) return 0;
    cma_sizes(&c, cfg);
    const int lambda = population ? population : (int)c.population;
    const size_t weights = (size_t)lambda * (c.kind == CTN_CMA_DECODED ? 2 : 1);
    return sizeof c + (cma_lay_out(&c) + own_numbers(cfg) + before_numbers(&c) + weights) * sizeof(double) +
           cma_room_bytes(cfg->n, c.kind) + cma_population_bytes(&c, lambda);
}

static double *copy(double **at, const double *from, size_t n)
{
    if (!from) return NULL;
    double *const to = *at;
    memcpy(to, from, n * sizeof *to);
    *at += n;
    return to;
}

/// Takes over the configuration's arrays, into memory for own_numbers().
static void own(ctn_cma *c, double *at)
{
    ctn_cma_config *const cfg = &c->cfg;
    const size_t n = (size_t)cfg->n;
    const bool box = cfg->start_lower || !cfg->mean;
    const double *const low = cfg->start_lower ? cfg->start_lower : cfg->lower;
    const double *const high = cfg->start_upper ? cfg->start_upper : cfg->upper;
    c->own = at;
    c->start = copy(&at, cfg->mean, n);
    c->start_lower = copy(&at, box ? low : NULL, n), c->start_upper = copy(&at, box ? high : NULL, n);
    c->lower = copy(&at, cfg->lower, n), c->upper = copy(&at, cfg->upper, n);
    cfg->mean = c->start, cfg->lower = c->lower, cfg->upper = c->upper;
    cfg->start_lower = c->start_lower, cfg->start_upper = c->start_upper;
    if (!c->lower) return;
    c->margin = at;
    cma_bounds_make(c);
}

ctn_cma *ctn_cma_create(const ctn_cma_config *cfg, ctn_error *err)
{
    if (missing("ctn_cma_create", "cfg", cfg, err) || cma_check(cfg, err)) return NULL;
    if (cma_kind(cfg) != CTN_CMA_SEPARABLE && lapack_find("CMA-ES with a full covariance", err)) return NULL;
    ctn_cma *const c = calloc(1, sizeof *c);
    if (!c) goto no_memory;
    cma_sizes(c, cfg);
    c->numbers = cma_lay_out(c);
    c->arrays = calloc(c->numbers, sizeof *c->arrays);
    c->room = malloc(cma_room_bytes(cfg->n, c->kind));
    c->before = malloc((before_numbers(c) + 1) * sizeof *c->before);
    double *const arrays = malloc((own_numbers(cfg) + 1) * sizeof *arrays);
    c->own = arrays;
    if (!c->arrays || !c->room || !c->before || !arrays) goto no_memory;
    c->fingerprint = cma_fingerprint(cfg);
    cma_lay_out(c);
    own(c, arrays);
    const philox4x32_ctr_t key = random_words(cfg->seed, 0, 0, 0x636d61);  // apart from what scenes draw of the same seed
    c->key = (uint64_t)key.v[1] << 32 | key.v[0];
    c->s.best = INFINITY;
    c->s.max_generations = cfg->max_generations ? cfg->max_generations : (int64_t)cma_default_generations(cfg->n, c->population);
    if (cma_run_begin(c, (int)c->population, cfg->sigma, err)) {
        ctn_cma_free(c);
        return NULL;
    }
    return c;
no_memory:
    fail(err, CTN_NO_MEMORY, "no memory for a search of %d parameters, %.3g GB", cfg->n, (double)ctn_cma_bytes(cfg, 0) * 1e-9);
    ctn_cma_free(c);
    return NULL;
}

void ctn_cma_free(ctn_cma *c)
{
    if (!c) return;
    cma_constants_free(&c->k);
    free(c->arrays), free(c->room), free(c->before), free(c->own), free(c->z), free(c);
}

// ---- asking

/// x = m + sigma S y, into the bounds; y and x may be one.
static void candidate(const ctn_cma *c, const double *y, double *x)
{
    for (int i = 0; i < c->cfg.n; i++)
        x[i] = cma_into_bounds(c, i, c->mean[i] + c->s.sigma * (c->scale ? c->scale[i] : 1) * y[i]);
}

static void draw_all(ctn_cma *c)
{
    if (c->drawn == c->s.generations) return;
    for (int k = 0; k < c->k.lambda; k++) cma_draw(c, k, c->z + (size_t)k * (size_t)c->cfg.n);
    c->drawn = c->s.generations;
}

ctn_status ctn_cma_ask(ctn_cma *c, double *x, ctn_error *err)
{
    if (missing("ctn_cma_ask", "cma", c, err) || missing("ctn_cma_ask", "x", x, err)) return CTN_BAD_ARGUMENT;
    const size_t n = (size_t)c->cfg.n;
    draw_all(c);
    cma_shape(c, c->k.lambda, c->z, x);
    for (size_t k = 0; k < (size_t)c->k.lambda; k++) candidate(c, x + k * n, x + k * n);
    return CTN_OK;
}

ctn_status ctn_cma_ask_one(const ctn_cma *c, int k, double *x, ctn_error *err)
{
    if (missing("ctn_cma_ask_one", "cma", c, err) || missing("ctn_cma_ask_one", "x", x, err)) return CTN_BAD_ARGUMENT;
    if (k < 0 || k >= c->k.lambda)
        return fail(err, CTN_BAD_ARGUMENT, "ctn_cma_ask_one: no candidate %d: this generation has 0 .. %d", k, c->k.lambda - 1);
    double *const z = malloc((size_t)c->cfg.n * sizeof *z);
    if (!z) return fail(err, CTN_NO_MEMORY, "no memory for a candidate of %d parameters", c->cfg.n);
    cma_draw(c, k, z);
    cma_shape(c, 1, z, x);
    free(z);
    candidate(c, x, x);
    return CTN_OK;
}

// ---- telling

static int by_value(const void *a, const void *b)
{
    const cma_ranked *const x = a, *const y = b;
    const int nan = isnan(x->value) - isnan(y->value), number = x->k < y->k ? -1 : 1;
    if (nan || isnan(x->value)) return nan ? nan : number;
    return x->value < y->value ? -1 : x->value > y->value ? 1 : number;
}

/// Values that are not NaN; best ones are kept. Returns how many there are.
static int take(ctn_cma *c, const double *f, const double *g)
{
    const int m = c->cfg.constraints;
    int numbers = 0, best = -1;
    for (int k = 0; k < c->k.lambda; k++) {
        bool is_number = !isnan(f[k]), feasible = true;
        for (int i = 0; i < m; i++) {
            const double x = g[(size_t)k * (size_t)m + (size_t)i];
            if (isnan(x)) is_number = false;
            if (x > 0) feasible = false;
        }
        c->ranked[k] = (cma_ranked){is_number ? f[k] : NAN, k};
        numbers += is_number;
        if (!is_number || !feasible) continue;
        if (f[k] < c->s.best_of_run) c->s.best_of_run = f[k], c->s.best_at = c->s.evaluations + k + 1;
        if (!c->s.has_best || f[k] < c->s.best) c->s.has_best = 1, c->s.best = f[k], best = k;
    }
    c->s.not_numbers += c->k.lambda - numbers;
    if (best >= 0) {
        cma_shape(c, 1, c->z + (size_t)best * (size_t)c->cfg.n, c->best_x);
        candidate(c, c->best_x, c->best_x);
    }
    return numbers;
}

/// q = (1 - a) q + sqrt(a (2 - a) mueff) step.
static void follow(double *q, double a, double mueff, const double *step, int n)
{
    const double much = sqrt(a * (2 - a) * mueff);
    for (int i = 0; i < n; i++) q[i] = (1 - a) * q[i] + much * step[i];
}

/// m, the paths, sigma and C of the next generation.
static ctn_status learn(ctn_cma *c, ctn_error *err)
{
    const int n = c->cfg.n;
    const cma_constants *const k = &c->k;
    cma_numbers *const s = &c->s;
    const double sigma = s->sigma;
    double *const z = c->room, *const step = c->room + n, *const old_mean = c->room + 5 * n;
    memcpy(old_mean, c->mean, (size_t)n * sizeof *old_mean);

    // m += sigma S B D sum of w z, over the better half
    memset(z, 0, (size_t)n * sizeof *z);
    for (int r = 0; r < k->lambda && k->weights[r] > 0; r++) {
        const double *const zr = c->z + (size_t)c->ranked[r].k * (size_t)n;
        for (int i = 0; i < n; i++) z[i] += k->weights[r] * zr[i];
    }
    cma_shape(c, 1, z, step);
    if (c->scale)
        for (int i = 0; i < n; i++) step[i] *= c->scale[i];
    for (int i = 0; i < n; i++) c->mean[i] += sigma * step[i];

    // paths; that of C stalls while sigma grows fast
    double square = 0;
    double *const turned = c->room + 2 * n;
    cma_turn(c, 1, z, turned);
    follow(c->p_sigma, k->c_sigma, k->mueff, turned, n);
    for (int i = 0; i < n; i++) square += c->p_sigma[i] * c->p_sigma[i];
    const double begun = 1 - pow(1 - k->c_sigma, 2 * (double)(s->generation + 1));
    const double h_sigma = square / begun / n - 1 < 1 + 4.0 / (n + 1);
    follow(c->p_c, k->c_c, h_sigma * k->mueff, step, n);
    if (c->scale) {
        const double a = k->c_c_scale;
        follow(c->p_scale, a, h_sigma * k->mueff, step, n);
        s->gamma_scale = (1 - a) * (1 - a) * s->gamma_scale + h_sigma * a * (2 - a);
    }

    cma_rates_remember(c);
    cma_learn(c, h_sigma);
    s->sigma *= exp(fmin(fmax(k->c_sigma / k->d_sigma * (sqrt(square) / k->chi - 1), -1), 1));
    s->generation++;
    if (c->cfg.adapt_rates) {
        const ctn_status status = cma_rates_adapt(c, old_mean, sigma, err);
        if (status) return status;
    }
    cma_limit(c);
    return (double)(s->generation - s->decomposed) >= fmax(k->gap, 1e-9) ? cma_decompose(c, err) : CTN_OK;
}

/// Whether candidates still are numbers: where a function falls for ever, and nothing else ends the search, they grow for ever.
static bool is_finite(const ctn_cma *c)
{
    for (int i = 0; i < c->cfg.n; i++)
        if (!isfinite(c->mean[i]) || !isfinite(c->s.sigma * cma_deviation(c, i))) return false;
    return true;
}

ctn_status ctn_cma_tell(ctn_cma *c, const double *f, const double *g, ctn_error *err)
{
    if (missing("ctn_cma_tell", "cma", c, err) || missing("ctn_cma_tell", "f", f, err)) return CTN_BAD_ARGUMENT;
    cma_numbers *const s = &c->s;
    if (s->stop)
        return fail(err, CTN_BAD_ARGUMENT, "ctn_cma_tell: the search is over: %s", ctn_cma_stop_name((ctn_cma_stop)s->stop));
    if (c->cfg.constraints && !g)
        return fail(err, CTN_BAD_ARGUMENT, "ctn_cma_tell: g is NULL, and there are %d constraint%s", c->cfg.constraints,
                    plural(c->cfg.constraints));
    draw_all(c);
    const int numbers = take(c, f, g);
    s->evaluations += c->k.lambda;
    ctn_status status = CTN_OK;
    if (numbers) {
        if (c->cfg.constraints) cma_lagrangian(c, f, g);
        qsort(c->ranked, (size_t)c->k.lambda, sizeof *c->ranked, by_value);
        status = learn(c, err);
        if (!status && !is_finite(c))
            status = fail(err, CTN_UNAVAILABLE, "CMA-ES: the mean or its deviations are infinite: the function has no minimum");
        cma_stops_note(c);
    } else s->generation++;
    s->generations++;
    if (status) {
        s->stop = is_finite(c) ? CTN_CMA_TOLCONDITION : CTN_CMA_TOLFACUPX;
        return status;
    }
    const ctn_cma_stop why = cma_stops_judge(c);
    return why ? cma_restart(c, why, err) : CTN_OK;
}

// ---- what is known

int ctn_cma_parameters(const ctn_cma *c) { return c ? c->cfg.n : 0; }
int ctn_cma_population(const ctn_cma *c) { return c ? c->k.lambda : 0; }
ctn_cma_stop ctn_cma_stopped(const ctn_cma *c) { return c ? (ctn_cma_stop)c->s.stop : CTN_CMA_STOPS; }

const char *ctn_cma_stop_name(ctn_cma_stop stop)
{
    static const char *const names[] = {"runs", "target",    "max_evaluations", "tolfun",        "tolfunhist",
                                        "tolx", "tolfacupx", "tolcondition",    "tolstagnation", "tolxstagnation",
                                        "flat", "no effect", "max_generations"};
    _Static_assert(sizeof names / sizeof *names == CTN_CMA_STOPS, "a name each");
    return (unsigned)stop < CTN_CMA_STOPS ? names[stop] : "unknown";
}

ctn_cma_state ctn_cma_get_state(const ctn_cma *c)
{
    if (!c) return (ctn_cma_state){0};
    const cma_numbers *const s = &c->s;
    return (ctn_cma_state){.evaluations = s->evaluations,
                           .generations = s->generations,
                           .generation = s->generation,
                           .not_numbers = s->not_numbers,
                           .eigen = s->eigen,
                           .run = (int)s->run,
                           .small_runs = (int)s->small_runs,
                           .population = c->k.lambda,
                           .covariance = c->kind,
                           .last = (ctn_cma_stop)s->last,
                           .stop = (ctn_cma_stop)s->stop,
                           .sigma = s->sigma,
                           .condition = cma_condition(c),
                           .best = s->best,
                           .median = s->median,
                           .rate_mean = s->eta_m,
                           .rate_covariance = s->eta_C};
}

ctn_status ctn_cma_best(const ctn_cma *c, double *x, ctn_error *err)
{
    if (missing("ctn_cma_best", "cma", c, err) || missing("ctn_cma_best", "x", x, err)) return CTN_BAD_ARGUMENT;
    if (!c->s.has_best)
        return fail(err, CTN_BAD_ARGUMENT, "ctn_cma_best: no candidate so far has a value%s",
                    c->cfg.constraints ? " and satisfies the constraints" : "");
    memcpy(x, c->best_x, (size_t)c->cfg.n * sizeof *x);
    return CTN_OK;
}

void ctn_cma_mean(const ctn_cma *c, double *x)
{
    for (int i = 0; c && x && i < c->cfg.n; i++) x[i] = cma_into_bounds(c, i, c->mean[i]);
}

void ctn_cma_deviations(const ctn_cma *c, double *x)
{
    for (int i = 0; c && x && i < c->cfg.n; i++) x[i] = c->s.sigma * cma_deviation(c, i);
}

void ctn_cma_multipliers(const ctn_cma *c, double *lambda)
{
    if (c && lambda && c->cfg.constraints) memcpy(lambda, c->multiplier, (size_t)c->cfg.constraints * sizeof *lambda);
}
