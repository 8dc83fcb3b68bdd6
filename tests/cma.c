/// CMA-ES: what a candidate depends on and what it does not, saved states, bounds, constraints, noise, many parameters, and what
/// is refused. Evaluations against pycma: cma_golden.c.
#include "control/cma.h"
#include "sim/base/random.h"
#include "tests/optima.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <float.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef double (*function)(const double *x, int n);

/// Reflected by turns at as many vectors, drawn once: along no parameter.
enum { TURNS = 10 };
static double mirrors[TURNS][TURNS], mirror_squares[TURNS];

static double turned_ellipsoid(const double *x, int n)
{
    double y[TURNS];
    ck_assert_int_eq(n, TURNS);
    memcpy(y, x, sizeof y);
    for (int r = 0; r < TURNS; r++) {
        double product = 0;
        for (int i = 0; i < n; i++) product += mirrors[r][i] * y[i];
        for (int i = 0; i < n; i++) y[i] -= 2 * product / mirror_squares[r] * mirrors[r][i];
    }
    return ellipsoid(y, n);
}

// ---- searches

enum { MOST = 40000 };  // parameters
static double ones[MOST], threes[MOST];

static void setup(void)
{
    for (int i = 0; i < MOST; i++) ones[i] = 1, threes[i] = 3;
    for (int r = 0; r < TURNS; r++) {
        for (int i = 0; i < TURNS; i++) {
            double u[2];
            uniform_pair_of(random_words(5, (uint64_t)r, (uint32_t)i, 0), u);
            mirrors[r][i] = normal_of(u);
        }
        mirror_squares[r] = sphere(mirrors[r], TURNS);
    }
}

static ctn_cma_config config(int n)
{
    ctn_cma_config cfg = ctn_cma_default_config(n);
    cfg.mean = ones, cfg.sigma = 0.5;
    return cfg;
}

static ctn_cma *create(const ctn_cma_config *cfg)
{
    ctn_error err;
    ctn_cma *const cma = ctn_cma_create(cfg, &err);
    ck_assert_msg(cma != NULL, "%s", err.message);
    return cma;
}

/// Candidates of a generation, and room for their values and those of constraints. Grows.
typedef struct {
    double *x, *f, *g;
} population;

static void room(population *p, const ctn_cma *cma)
{
    const size_t lambda = (size_t)ctn_cma_population(cma);
    p->x = realloc(p->x, lambda * (size_t)ctn_cma_parameters(cma) * sizeof(double));
    p->f = realloc(p->f, lambda * sizeof(double));
    p->g = realloc(p->g, lambda * 2 * sizeof(double));
}

static void population_free(population *p) { free(p->x), free(p->f), free(p->g); }

static void ask(ctn_cma *cma, population *p)
{
    room(p, cma);
    ck_assert(!ctn_cma_ask(cma, p->x, NULL));
}

static void tell(ctn_cma *cma, const population *p)
{
    ctn_error err;
    ck_assert_msg(!ctn_cma_tell(cma, p->f, p->g, &err), "%s", err.message);
}

/// One generation.
static void evaluate(ctn_cma *cma, population *p, function f)
{
    const int n = ctn_cma_parameters(cma);
    ask(cma, p);
    for (int k = 0; k < ctn_cma_population(cma); k++) p->f[k] = f(p->x + (size_t)k * (size_t)n, n);
}

/// To the end.
static ctn_cma_state search(const ctn_cma_config *cfg, function f, double *best)
{
    ctn_cma *const cma = create(cfg);
    population p = {0};
    while (!ctn_cma_stopped(cma)) evaluate(cma, &p, f), tell(cma, &p);
    const ctn_cma_state s = ctn_cma_get_state(cma);
    if (best) ck_assert(!ctn_cma_best(cma, best, NULL));
    population_free(&p), ctn_cma_free(cma);
    return s;
}

static bool same(const double *a, const double *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

// ---- what a candidate depends on

/// All configurations whose bits are compared: kinds of covariance, and what comes on top.
static const struct {
    const char *name;
    ctn_cma_covariance covariance;
    bool adapt_rates, bounds, constraints;
    ctn_cma_restarts restarts;
} kinds[] = {
    {.name = "full", .covariance = CTN_CMA_FULL},
    {.name = "decoded", .covariance = CTN_CMA_DECODED},
    {.name = "separable", .covariance = CTN_CMA_SEPARABLE},
    {.name = "adapted rates", .covariance = CTN_CMA_FULL, .adapt_rates = true},
    {.name = "separable, adapted rates", .covariance = CTN_CMA_SEPARABLE, .adapt_rates = true},
    {.name = "bounds", .covariance = CTN_CMA_DECODED, .bounds = true},
    {.name = "constraints", .covariance = CTN_CMA_FULL, .constraints = true},
    {.name = "BIPOP", .covariance = CTN_CMA_FULL, .bounds = true, .constraints = true, .restarts = CTN_CMA_BIPOP},
};
enum { KINDS = sizeof kinds / sizeof *kinds, N = 7 };

static ctn_cma_config kind(int k)
{
    static const double lower[N] = {-2, -2, 0.5, -INFINITY, -3, -INFINITY, -2}, upper[N] = {2, 2, 2, 4, INFINITY, INFINITY, 2};
    ctn_cma_config cfg = config(N);
    cfg.covariance = kinds[k].covariance, cfg.adapt_rates = kinds[k].adapt_rates, cfg.restarts = kinds[k].restarts;
    if (kinds[k].bounds) cfg.lower = lower, cfg.upper = upper;
    cfg.constraints = kinds[k].constraints ? 2 : 0;
    cfg.max_evaluations = kinds[k].restarts ? 12000 : 1500, cfg.max_generations = kinds[k].restarts ? 70 : 0;
    cfg.stop_at_tolerances = kinds[k].restarts != CTN_CMA_NO_RESTARTS;
    return cfg;
}

/// Rastrigin's function, and two constraints: one that matters and one that does not.
static void evaluate_kind(ctn_cma *cma, population *p)
{
    evaluate(cma, p, rastrigin);
    for (int k = 0; k < ctn_cma_population(cma); k++) {
        const double *const x = p->x + k * N;
        p->g[2 * k] = 0.7 - x[0], p->g[2 * k + 1] = x[1] - 50;
    }
}

/// Candidates depend on the seed, the generation, and their number, whoever asks, in which order and how often, and whether all
/// are asked for or none.
START_TEST(one_candidate_is_that_of_all)
{
    const ctn_cma_config cfg = kind(_i);
    ctn_cma *const a = create(&cfg), *const b = create(&cfg);
    population p = {0}, q = {0};
    double before[N] = {0};
    int different = 0;
    while (!ctn_cma_stopped(a)) {
        evaluate_kind(a, &p);
        room(&q, b);
        for (int k = ctn_cma_population(b) - 1; k >= 0; k--) ck_assert(!ctn_cma_ask_one(b, k, q.x + k * N, NULL));
        ck_assert(same(p.x, q.x, (size_t)ctn_cma_population(a) * N));
        different += !same(before, p.x, N) && !same(p.x, p.x + N, N);
        memcpy(before, p.x, sizeof before);
        tell(a, &p), tell(b, &p);  // b tells candidates that it has never asked for as a generation
    }
    ck_assert_int_eq(different, (int)ctn_cma_get_state(a).generations);
    ctn_cma_free(b);

    ctn_cma_config other = cfg;
    other.seed++;
    ctn_cma *const c = create(&other), *const d = create(&cfg);
    ask(c, &p), ask(d, &q);
    ck_assert(!same(p.x, q.x, N));
    population_free(&p), population_free(&q), ctn_cma_free(a), ctn_cma_free(c), ctn_cma_free(d);
}
END_TEST

/// The first candidates are m + sigma z with normal z that stay as they are for good: made here again from Philox.
START_TEST(numbers_stay_as_they_are)
{
    ctn_cma_config cfg = config(3);
    cfg.seed = 0x123456789abcdef;
    ctn_cma *const cma = create(&cfg);
    double x[3];
    const philox4x32_ctr_t key = random_words(cfg.seed, 0, 0, 0x636d61);
    for (int k = 0; k < ctn_cma_population(cma); k++) {
        ck_assert(!ctn_cma_ask_one(cma, k, x, NULL));
        for (int i = 0; i < 3; i++) {
            double u[2];
            uniform_pair_of(random_words((uint64_t)key.v[1] << 32 | key.v[0], 0, (uint32_t)i / 2, (uint32_t)k), u);
            const double angle = 2 * M_PI * u[1], z = sqrt(-2 * log(u[0])) * (i % 2 ? sin(angle) : cos(angle));
            ck_assert_double_eq_tol(x[i], 1 + 0.5 * z, 1e-14);
        }
    }
    ctn_cma_free(cma);
}
END_TEST

static double exponential(const double *x, int n) { return exp(sphere(x, n) - 3); }
static double cubed(const double *x, int n) { return pow(sphere(x, n), 3); }

/// Values count by their order alone.
START_TEST(order_is_all_that_counts)
{
    ctn_cma_config cfg = kind(_i);
    if (cfg.constraints) return;  // these weigh values against each other
    cfg.stop_at_tolerances = false, cfg.max_evaluations = 900, cfg.restarts = CTN_CMA_NO_RESTARTS;
    ctn_cma *const a = create(&cfg), *const b = create(&cfg), *const c = create(&cfg);
    population p = {0}, q = {0}, r = {0};
    while (!ctn_cma_stopped(a)) {
        evaluate(a, &p, sphere), evaluate(b, &q, exponential), evaluate(c, &r, cubed);
        const size_t all = (size_t)ctn_cma_population(a) * N;
        ck_assert(same(p.x, q.x, all) && same(p.x, r.x, all));
        tell(a, &p), tell(b, &q), tell(c, &r);
    }
    population_free(&p), population_free(&q), population_free(&r), ctn_cma_free(a), ctn_cma_free(b), ctn_cma_free(c);
}
END_TEST

/// Units of x that are powers of two change no bit.
START_TEST(units_do_not_matter)
{
    ctn_cma_config cfg = config(N), large = cfg;
    double mean[N];
    for (int i = 0; i < N; i++) mean[i] = 1024;
    large.mean = mean, large.sigma *= 1024, large.tolx *= 1024;
    large.covariance = cfg.covariance = (ctn_cma_covariance)_i;
    ctn_cma *const a = create(&cfg), *const b = create(&large);
    population p = {0}, q = {0};
    for (int g = 0; g < 100; g++) {
        evaluate(a, &p, ellipsoid), evaluate(b, &q, ellipsoid);
        for (int i = 0; i < ctn_cma_population(a) * N; i++) ck_assert(1024 * p.x[i] == q.x[i]);
        tell(a, &p), tell(b, &q);
    }
    population_free(&p), population_free(&q), ctn_cma_free(a), ctn_cma_free(b);
}
END_TEST

/// The search of a function that is turned takes as long.
START_TEST(axes_do_not_matter)
{
    double sum[2] = {0};
    for (int turned = 0; turned < 2; turned++)
        for (uint64_t seed = 1; seed <= 15; seed++) {
            ctn_cma_config cfg = config(TURNS);
            cfg.seed = seed, cfg.stop_at_tolerances = false, cfg.target = 1e-9;
            sum[turned] += (double)search(&cfg, turned ? turned_ellipsoid : ellipsoid, NULL).evaluations;
        }
    ck_assert_msg(fabs(sum[1] / sum[0] - 1) < 0.05, "turned: %g times as many", sum[1] / sum[0]);
}
END_TEST

// ---- values that are equal, or no numbers

/// NaN is as the worst values, and equal values are as rising ones.
START_TEST(nan_is_last_and_ties_go_by_number)
{
    const ctn_cma_config cfg = config(N);
    ctn_cma *const a = create(&cfg), *const b = create(&cfg);
    population p = {0}, q = {0};
    const int lambda = ctn_cma_population(a);
    for (int g = 0; g < 60; g++) {
        evaluate(a, &p, sphere), evaluate(b, &q, sphere);
        ck_assert(same(p.x, q.x, (size_t)lambda * N));
        p.f[g % lambda] = NAN, q.f[g % lambda] = 1e300;
        p.f[(g + 3) % lambda] = -NAN, q.f[(g + 3) % lambda] = (g + 3) % lambda > g % lambda ? 2e300 : 0.5e300;
        p.f[(g + 1) % lambda] = q.f[(g + 1) % lambda] = 1e200;
        p.f[(g + 2) % lambda] = 1e200, q.f[(g + 2) % lambda] = 1e200 * ((g + 2) % lambda > (g + 1) % lambda ? 1.5 : 0.5);
        tell(a, &p), tell(b, &q);
    }
    ck_assert_int_eq(ctn_cma_get_state(a).not_numbers, 120);
    ck_assert_int_eq(ctn_cma_get_state(b).not_numbers, 0);

    // none is a number: other candidates around the same mean
    const ctn_cma_state before = ctn_cma_get_state(a);
    double mean[2][N];
    ctn_cma_mean(a, mean[0]);
    ask(a, &p);
    double first[N];
    memcpy(first, p.x, sizeof first);
    for (int k = 0; k < lambda; k++) p.f[k] = NAN;
    tell(a, &p);
    ctn_cma_mean(a, mean[1]);
    ask(a, &p);
    ck_assert(same(mean[0], mean[1], N) && !same(first, p.x, N));
    ck_assert(ctn_cma_get_state(a).sigma == before.sigma && ctn_cma_get_state(a).not_numbers == 120 + lambda);
    population_free(&p), population_free(&q), ctn_cma_free(a), ctn_cma_free(b);
}
END_TEST

// ---- saved states

static void save(const ctn_cma *cma, void **bytes, size_t *size)
{
    *size = ctn_cma_saved_bytes(cma), *bytes = realloc(*bytes, *size);
    ck_assert(!ctn_cma_save(cma, *bytes, *size, NULL));
}

/// A search that is saved and taken up by another one, between any two calls, and as often as need be, has the same bits.
START_TEST(a_restored_search_goes_on)
{
    ctn_cma_config cfg = kind(_i);
    ctn_cma *a = create(&cfg), *b = create(&cfg);
    population p = {0}, q = {0};
    void *saved = NULL, *ends[2] = {NULL, NULL};
    size_t size, sizes[2];
    int generation = 0, most = 0;
    while (!ctn_cma_stopped(a)) {
        evaluate_kind(a, &p);
        if (generation % 9 == 4) {
            if (generation % 2) ask(b, &q);  // between ask and tell, too
            save(b, &saved, &size);
            ctn_cma_free(b);
            b = create(&cfg);
            ck_assert(!ctn_cma_restore(b, saved, size, NULL));
        }
        evaluate_kind(b, &q);
        ck_assert(ctn_cma_population(a) == ctn_cma_population(b) && same(p.x, q.x, (size_t)ctn_cma_population(a) * N));
        if (ctn_cma_population(a) > most) most = ctn_cma_population(a);
        tell(a, &p), tell(b, &q);
        generation++;
    }
    if (kinds[_i].restarts) ck_assert_msg(ctn_cma_get_state(a).run > 3 && most > 30, "%d runs", ctn_cma_get_state(a).run);
    save(a, &ends[0], &sizes[0]), save(b, &ends[1], &sizes[1]);
    ck_assert(sizes[0] == sizes[1] && memcmp(ends[0], ends[1], sizes[0]) == 0);

    // with more evaluations it goes on from its end
    ck_assert_int_eq(ctn_cma_stopped(a), CTN_CMA_MAX_EVALUATIONS);
    cfg.max_evaluations *= 2;
    ctn_cma *const longer = create(&cfg);
    ck_assert(!ctn_cma_restore(longer, ends[0], sizes[0], NULL) && ctn_cma_stopped(longer) == CTN_CMA_RUNS);
    evaluate_kind(longer, &p), tell(longer, &p);
    free(saved), free(ends[0]), free(ends[1]), population_free(&p), population_free(&q);
    ctn_cma_free(a), ctn_cma_free(b), ctn_cma_free(longer);
}
END_TEST

#define REFUSES(code, text, call)                                                                                                \
    do {                                                                                                                         \
        ctn_error err = {0};                                                                                                     \
        (void)(call);                                                                                                            \
        ck_assert_msg(err.status == (code) && strstr(err.message, text), "%d: %s", (int)err.status, err.message);                \
    } while (0)

START_TEST(what_is_not_a_saved_search_is_refused)
{
    ctn_cma_config cfg = kind(0);
    ctn_cma *const a = create(&cfg);
    population p = {0};
    evaluate(a, &p, sphere), tell(a, &p);
    void *bytes = NULL, *after = NULL;
    size_t size, end;
    save(a, &bytes, &size);
    char *const b = bytes;
    REFUSES(CTN_BAD_ARGUMENT, "ctn_cma_saved_bytes()", ctn_cma_save(a, bytes, size - 8, &err));
    REFUSES(CTN_BAD_ARGUMENT, "ctn_cma_saved_bytes()", ctn_cma_restore(a, bytes, size - 8, &err));
    REFUSES(CTN_BAD_ARGUMENT, "not a saved search", ctn_cma_restore(a, bytes, 3, &err));
    b[0] ^= 1;
    REFUSES(CTN_BAD_ARGUMENT, "not a saved search", ctn_cma_restore(a, bytes, size, &err));
    b[0] ^= 1, b[8] ^= 2;
    REFUSES(CTN_BAD_ARGUMENT, "version", ctn_cma_restore(a, bytes, size, &err));
    b[8] ^= 2, b[size - 5] ^= 4;
    REFUSES(CTN_BAD_ARGUMENT, "damaged", ctn_cma_restore(a, bytes, size, &err));
    b[size - 5] ^= 4;
    for (int k = 0; k < 4; k++) {
        ctn_cma_config other = cfg;
        if (k == 0) other.sigma = 0.25;
        if (k == 1) other.active = false;
        if (k == 2) other.mean = threes;
        if (k == 3) other.seed++;
        ctn_cma *const c = create(&other);
        REFUSES(CTN_BAD_ARGUMENT, "another configuration", ctn_cma_restore(c, bytes, size, &err));
        ctn_cma_free(c);
    }
    save(a, &after, &end);
    ck_assert(end == size && memcmp(bytes, after, size) == 0);  // none of these has changed it
    ck_assert(!ctn_cma_restore(a, bytes, size, NULL));
    free(bytes), free(after), population_free(&p), ctn_cma_free(a);
}
END_TEST

// ---- bounds

static double away_from_the_middle(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (i % 2 ? 1 : 1000) * pow(x[i] - (i % 3 == 0 ? 5 : i % 3 == 1 ? -5 : 0.3), 2);
    return sum;
}

/// Candidates are within the bounds, starts stay where they are, and an optimum on bounds is found, between two and at one.
START_TEST(bounds_hold)
{
    enum { n = 6 };
    static const double lower[n] = {-1, -2, -INFINITY, -INFINITY, 0, 0.25}, upper[n] = {2, INFINITY, INFINITY, 3, 1e-3, 1};
    static const double mean[n] = {-1, 0, 7, 3, 0.0005, 0.9}, optimum[n] = {2, -2, 0.3, 3, 0, 0.3};
    ctn_cma_config cfg = config(n);
    cfg.mean = mean, cfg.lower = lower, cfg.upper = upper, cfg.sigma = 1, cfg.covariance = (ctn_cma_covariance)_i;
    ctn_cma *const cma = create(&cfg);
    population p = {0};
    double x[n];
    ctn_cma_mean(cma, x);
    for (int i = 0; i < n; i++) ck_assert_double_eq_tol(x[i], mean[i], 1e-12);
    int touched = 0;
    while (!ctn_cma_stopped(cma)) {
        evaluate(cma, &p, away_from_the_middle);
        for (int k = 0; k < ctn_cma_population(cma); k++)
            for (int i = 0; i < n; i++) {
                const double at = p.x[k * n + i];
                ck_assert_msg(at >= lower[i] && at <= upper[i], "parameter %d: %.17g", i, at);
                touched += fmin(at - lower[i], upper[i] - at) < 1e-6;
            }
        ctn_cma_deviations(cma, x);
        for (int i = 0; i < n; i++) ck_assert(x[i] <= (upper[i] - lower[i]) / 3 * (1 + 1e-12));
        tell(cma, &p);
    }
    ck_assert_int_gt(touched, 100);
    ck_assert(!ctn_cma_best(cma, x, NULL));
    for (int i = 0; i < n; i++)
        ck_assert_msg(fabs(x[i] - optimum[i]) < 1e-5, "parameter %d: %.9g, %s", i, x[i], ctn_cma_stop_name(ctn_cma_stopped(cma)));
    population_free(&p), ctn_cma_free(cma);
}
END_TEST

/// The map into bounds is the identity away from them, has no jump or kink, and its inverse is one.
START_TEST(the_map_into_bounds_is_smooth)
{
    static const double lower[3] = {-1, -1, -INFINITY}, upper[3] = {3, INFINITY, 3};
    ctn_cma_config cfg = config(3);
    cfg.lower = lower, cfg.upper = upper;
    ctn_cma *const c = create(&cfg);
    const double h = 1e-3;
    for (int i = 0; i < 3; i++)
        for (double u = -30; u < 30; u += h) {
            const double x = cma_into_bounds(c, i, u), next = cma_into_bounds(c, i, u + h), last = cma_into_bounds(c, i, u - h);
            ck_assert_msg(fabs(next - 2 * x + last) < 1.01 * h * h / (2 * 0.2), "%d at %g: a kink", i, u);
            if (u > -0.4 && u < 2.4) ck_assert_double_eq_tol(x, u, 1e-15);
            ck_assert_double_eq_tol(cma_into_bounds(c, i, cma_out_of_bounds(c, i, x)), x, 1e-13);
        }
    ctn_cma_free(c);
}
END_TEST

// ---- constraints

/// The smallest |x|^2 with x_0 >= 1 and x_0 + x_1 >= 1.5: at (1, 0.5, 0, ..), with multipliers 1 and 1. `inactive`: the second
/// one is x_1 <= 10, which costs nothing; then it is (1, 0, ..), with 2 and 0.
static ctn_cma *constrained(int n, bool inactive, uint64_t seed, double target)
{
    ctn_cma_config cfg = config(n);
    cfg.mean = threes, cfg.constraints = 2, cfg.seed = seed, cfg.max_evaluations = 50000, cfg.target = target;
    ctn_cma *const cma = create(&cfg);
    population p = {0};
    while (!ctn_cma_stopped(cma)) {
        evaluate(cma, &p, sphere);
        for (int k = 0; k < ctn_cma_population(cma); k++) {
            const double *const x = p.x + k * n;
            p.g[2 * k] = 1 - x[0], p.g[2 * k + 1] = inactive ? x[1] - 10 : 1.5 - x[0] - x[1];
        }
        tell(cma, &p);
    }
    population_free(&p);
    return cma;
}

/// `pycma`: median of evaluations of pycma 4.5, 15 seeds, until the best one that satisfies both is within 1e-6.
static const struct {
    int n;
    bool inactive;
    double pycma;
} cornered[] = {{4, false, 1072}, {4, true, 712}, {10, false, 2510}, {10, true, 1600}};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

START_TEST(constraints_are_met)
{
    enum { SEEDS = 15 };
    const int n = cornered[_i].n;
    const bool inactive = cornered[_i].inactive;
    const double is = inactive ? 1 : 1.25;
    double count[SEEDS];
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        ctn_cma *cma = constrained(n, inactive, seed, -INFINITY);
        double x[10], lambda[2];
        ck_assert(!ctn_cma_best(cma, x, NULL));
        ctn_cma_multipliers(cma, lambda);
        const double best = ctn_cma_get_state(cma).best;
        ck_assert(x[0] >= 1 && (inactive || x[0] + x[1] >= 1.5));
        ck_assert_msg(best >= is && best < is + 1e-6, "seed %d: %.9g, %s", (int)seed, best,
                      ctn_cma_stop_name(ctn_cma_stopped(cma)));
        ck_assert_double_eq_tol(lambda[0], inactive ? 2 : 1, 0.01);
        ck_assert_double_eq_tol(lambda[1], inactive ? 0 : 1, 0.01);
        ctn_cma_free(cma);

        cma = constrained(n, inactive, seed, is + 1e-6);
        ck_assert_int_eq(ctn_cma_stopped(cma), CTN_CMA_TARGET);
        count[seed - 1] = (double)ctn_cma_get_state(cma).evaluations;
        ctn_cma_free(cma);
    }
    qsort(count, SEEDS, sizeof *count, by_value);
    ck_assert_msg(fabs(count[SEEDS / 2] / cornered[_i].pycma - 1) < 0.25, "%g evaluations", count[SEEDS / 2]);
}
END_TEST

// ---- noise

/// Rates that adapt: by the same number of evaluations the mean is a tenth as far from the optimum of a noisy sphere, and in the
/// basin of Rastrigin's optimum, where plain CMA-ES is not. Full and separable.
START_TEST(rates_adapt_to_noise)
{
    enum { n = 10 };
    const bool noisy = _i % 2 == 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double far[2];
        for (int adapts = 0; adapts < 2; adapts++) {
            ctn_cma_config cfg = config(n);
            cfg.mean = threes, cfg.sigma = 2, cfg.seed = seed, cfg.stop_at_tolerances = false, cfg.max_evaluations = 60000;
            cfg.adapt_rates = adapts, cfg.covariance = _i < 2 ? CTN_CMA_FULL : CTN_CMA_SEPARABLE;
            ctn_cma *const cma = create(&cfg);
            population p = {0};
            uint64_t number = 0;
            while (!ctn_cma_stopped(cma)) {
                evaluate(cma, &p, noisy ? sphere : rastrigin);
                for (int k = 0; noisy && k < ctn_cma_population(cma); k++) {
                    double u[2];
                    uniform_pair_of(random_words(seed, number++, 0, 1), u);
                    p.f[k] += normal_of(u);
                }
                tell(cma, &p);
            }
            double mean[n], most = 0;
            ctn_cma_mean(cma, mean);
            for (int i = 0; i < n; i++) most = fmax(most, fabs(mean[i]));
            far[adapts] = noisy ? sqrt(sphere(mean, n)) : most;
            const ctn_cma_state s = ctn_cma_get_state(cma);
            ck_assert(adapts ? s.rate_mean < 0.1 && s.rate_covariance < 0.5 : s.rate_mean == 1 && s.rate_covariance == 1);
            population_free(&p), ctn_cma_free(cma);
        }
        if (noisy) ck_assert_msg(far[1] < far[0] / 5 && far[1] < 0.15, "|m| %g, and with rates that adapt %g", far[0], far[1]);
        else ck_assert_msg(far[0] > 0.5 && far[1] < 0.5, "max |m_i| %g, and with rates that adapt %g", far[0], far[1]);
    }
}
END_TEST

// ---- many parameters

static double factors[MOST];

static double scaled(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += factors[i] * x[i] * x[i];
    return sum;
}

/// From 9e4 to 1, of condition 1000, where AUTO begins to be separable.
START_TEST(separable_ones_learn_many_scales)
{
    enum { n = CTN_CMA_AUTO_FULL + 100 };
    for (int i = 0; i < n; i++) factors[i] = pow(10, 3.0 * i / (n - 1));
    ctn_cma_config cfg = config(n);
    cfg.stop_at_tolerances = false, cfg.target = 1, cfg.max_evaluations = 65000;
    const ctn_cma_state s = search(&cfg, scaled, NULL);
    ck_assert_int_eq(s.covariance, CTN_CMA_SEPARABLE);  // by the rule of CTN_CMA_AUTO
    ck_assert_msg(s.stop == CTN_CMA_TARGET, "%g after %lld", s.best, (long long)s.evaluations);
    ck_assert_msg(s.condition > 300 && s.condition < 3000, "condition %g", s.condition);
}
END_TEST

static double mean_evaluations(ctn_cma_covariance covariance, int n, function f)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= 7; seed++) {
        ctn_cma_config cfg = config(n);
        cfg.covariance = covariance, cfg.seed = seed, cfg.stop_at_tolerances = false, cfg.target = 1e-9;
        cfg.max_evaluations = 100000;
        const ctn_cma_state s = search(&cfg, f, NULL);
        sum += s.stop == CTN_CMA_TARGET ? (double)s.evaluations / 7 : INFINITY;
    }
    return sum;
}

/// Along the parameters decoded ones need about half as many evaluations as full ones, as their scales are learned faster; turned
/// away from them they are no worse, where separable ones do not get there.
START_TEST(decoded_ones_learn_scales_and_turns)
{
    enum { n = TURNS };
    const double full[] = {mean_evaluations(CTN_CMA_FULL, n, ellipsoid), mean_evaluations(CTN_CMA_FULL, n, turned_ellipsoid)};
    const double decoded[] = {mean_evaluations(CTN_CMA_DECODED, n, ellipsoid),
                              mean_evaluations(CTN_CMA_DECODED, n, turned_ellipsoid)};
    ck_assert_msg(decoded[0] < 0.65 * full[0], "decoded %g, full %g", decoded[0], full[0]);
    ck_assert_msg(decoded[1] < 1.2 * full[1], "turned: decoded %g, full %g", decoded[1], full[1]);
    ck_assert(mean_evaluations(CTN_CMA_SEPARABLE, n, ellipsoid) < 0.65 * full[0]);
    ck_assert(isinf(mean_evaluations(CTN_CMA_SEPARABLE, n, turned_ellipsoid)));
}
END_TEST

/// Thousands of candidates a generation, for few parameters: weights stay such that C is positive, and generations become few.
START_TEST(populations_may_be_large)
{
    static const int sizes[] = {3, 4, 10, 100, 5000};
    int64_t last = INT64_MAX;
    for (int kind = CTN_CMA_FULL; kind <= CTN_CMA_SEPARABLE; kind++)
        for (int k = 0; k < 5; k++) {
            ctn_cma_config cfg = config(10);
            cfg.population = sizes[k], cfg.covariance = (ctn_cma_covariance)kind, cfg.target = 1e-9;
            cfg.stop_at_tolerances = false, cfg.max_evaluations = 1000000;
            const ctn_cma_state s = search(&cfg, sphere, NULL);
            ck_assert_msg(s.stop == CTN_CMA_TARGET, "population %d: %g", sizes[k], s.best);
            ck_assert(k < 2 || s.generations < last);
            last = s.generations;
        }
    ck_assert_int_lt(last, 60);
}
END_TEST

/// What it says it takes is what it takes, with separable covariances n times some, with full ones n^2.
START_TEST(bytes_are_told)
{
    const ctn_cma_covariance covariance = (ctn_cma_covariance)_i;
    for (int adapts = 0; adapts < 2; adapts++) {
        ctn_cma_config cfg = config(600);
        cfg.covariance = covariance, cfg.constraints = 3, cfg.lower = threes, cfg.upper = threes, cfg.population = 50;
        static double lower[MOST], upper[MOST];
        for (int i = 0; i < MOST; i++) lower[i] = -9, upper[i] = 9;
        cfg.lower = lower, cfg.upper = upper, cfg.adapt_rates = adapts && covariance != CTN_CMA_DECODED;
        ctn_cma_free(create(&cfg));  // opens LAPACK
        const struct mallinfo2 before = mallinfo2();
        ctn_cma *const cma = create(&cfg);
        const struct mallinfo2 after = mallinfo2();
        const double is = (double)(after.uordblks - before.uordblks + after.hblkhd - before.hblkhd);
        const double told = (double)ctn_cma_bytes(&cfg, 0);
        ctn_cma_free(cma);
        if (before.uordblks) ck_assert_msg(is > 0.99 * told && is < 1.01 * told + 40000, "%g, told %g", is, told);

        ck_assert(ctn_cma_bytes(&cfg, 1000) > ctn_cma_bytes(&cfg, 50) + 950 * 600 * sizeof(double));
        const bool separable = covariance == CTN_CMA_SEPARABLE;
        cfg.constraints = 0, cfg.n = separable ? MOST / 2 : 600;
        const double once = (double)ctn_cma_bytes(&cfg, 0);
        cfg.n *= 2;
        const double ratio = (double)ctn_cma_bytes(&cfg, 0) / once;
        ck_assert_msg(separable ? ratio < 2 : ratio > 3.5 && ratio < 4, "twice as many: %g times", ratio);
    }
}
END_TEST

// ---- ends

static double level(const double *x, int n) { return x[n - 1] * 0 + 4; }
static double slope(const double *x, int n) { return x[n - 1]; }
static double noise(const double *x, int n) { return (double)(XXH3_64bits(x, (size_t)n * sizeof *x) >> 11); }

/// A search ends for the reason that there is.
START_TEST(ends_have_reasons)
{
    static const struct {
        function f;
        ctn_cma_stop stop;
        double sigma, tolfun, tolx, tolcondition, target;
        int64_t evaluations, generations;
    } cases[] = {
        {.f = sphere, .stop = CTN_CMA_TARGET, .target = 1e-5},
        {.f = sphere, .stop = CTN_CMA_MAX_EVALUATIONS, .evaluations = 101},
        {.f = sphere, .stop = CTN_CMA_TOLFUN},
        {.f = sphere, .stop = CTN_CMA_TOLFUNHIST, .tolfun = 1e-30},
        {.f = sphere, .stop = CTN_CMA_TOLX, .tolx = 1e-3},
        {.f = sphere, .stop = CTN_CMA_MAX_GENERATIONS, .generations = 17},
        {.f = slope, .stop = CTN_CMA_TOLFACUPX, .sigma = 1e-6},
        {.f = ellipsoid, .stop = CTN_CMA_TOLCONDITION, .tolcondition = 1e4},
        {.f = level, .stop = CTN_CMA_FLAT},
        {.f = noise, .stop = CTN_CMA_TOLSTAGNATION, .generations = 1000000},
        {.f = sphere, .stop = CTN_CMA_NO_EFFECT, .sigma = 1e-17},
        {.f = noise, .stop = CTN_CMA_TOLXSTAGNATION, .sigma = 1e-13},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ctn_cma_config cfg = config(4);
        if (cases[k].sigma > 0) cfg.sigma = cases[k].sigma;
        if (cases[k].target > 0) cfg.target = cases[k].target;
        if (cases[k].tolfun > 0) cfg.tolfun = cases[k].tolfun;
        if (cases[k].tolx > 0) cfg.tolx = cases[k].tolx, cfg.tolfun = cfg.tolfunhist = 0;
        if (cases[k].tolcondition > 0) cfg.tolcondition = cases[k].tolcondition;
        if (cases[k].evaluations) cfg.max_evaluations = cases[k].evaluations;
        if (cases[k].f == level || (cases[k].sigma < 1e-10 && cases[k].sigma > 0)) cfg.tolfun = cfg.tolfunhist = cfg.tolx = 0;
        cfg.max_generations = cases[k].generations;
        const ctn_cma_state s = search(&cfg, cases[k].f, NULL);
        ck_assert_msg(s.stop == cases[k].stop, "case %zu: %s, not %s", k, ctn_cma_stop_name(s.stop),
                      ctn_cma_stop_name(cases[k].stop));
        if (cases[k].evaluations) ck_assert_int_eq(s.evaluations, 104);  // generations are told to their ends
        if (cases[k].generations == 17) ck_assert_int_eq(s.generations, 17);
    }
}
END_TEST

/// Where there is no minimum and no tolerance ends it, it ends where numbers do.
START_TEST(numbers_end)
{
    for (int kind = CTN_CMA_FULL; kind <= CTN_CMA_SEPARABLE; kind++) {
        ctn_cma_config cfg = config(4);
        cfg.covariance = (ctn_cma_covariance)kind, cfg.stop_at_tolerances = false;
        ctn_cma *const cma = create(&cfg);
        population p = {0};
        ctn_error err = {0};
        do evaluate(cma, &p, slope);
        while (!ctn_cma_tell(cma, p.f, NULL, &err));
        ck_assert_msg(err.status == CTN_UNAVAILABLE && strstr(err.message, "CMA-ES"), "%s", err.message);
        ck_assert(ctn_cma_stopped(cma) != CTN_CMA_RUNS);
        population_free(&p), ctn_cma_free(cma);
    }
}
END_TEST

/// Runs of IPOP double the population before it is rounded; starts are spread over their box; after the last run it is over.
START_TEST(runs_follow_each_other)
{
    double lower[10], upper[10], mean[10];
    for (int i = 0; i < 10; i++) lower[i] = -1 - i, upper[i] = 3 + i;
    ctn_cma_config cfg = config(10);
    cfg.mean = NULL, cfg.start_lower = lower, cfg.start_upper = upper, cfg.restarts = CTN_CMA_IPOP, cfg.max_restarts = 4;
    cfg.max_generations = 5;
    static const int populations[] = {10, 21, 43, 87, 174};  // 4 + 3 ln 10 = 10.9
    ctn_cma *const cma = create(&cfg);
    population p = {0};
    int runs = 0;
    double sum = 0, square = 0;
    while (!ctn_cma_stopped(cma)) {
        const ctn_cma_state s = ctn_cma_get_state(cma);
        if (s.generation == 0) {
            ck_assert_int_eq(s.population, populations[runs]);
            ck_assert(runs++ == 0 || s.last == CTN_CMA_MAX_GENERATIONS);
            ctn_cma_mean(cma, mean);
            for (int i = 0; i < 10; i++) {
                const double u = (mean[i] - lower[i]) / (upper[i] - lower[i]);
                ck_assert(u > 0 && u < 1);
                sum += u / 50, square += u * u / 50;
            }
        }
        evaluate(cma, &p, rastrigin), tell(cma, &p);
    }
    ck_assert_int_eq(runs, 5);
    ck_assert_double_eq_tol(sum, 0.5, 5 * sqrt(1 / 12.0 / 50));
    ck_assert_double_eq_tol(square, 1 / 3.0, 5 * sqrt(4 / 45.0 / 50));
    population_free(&p), ctn_cma_free(cma);
}
END_TEST

/// BIPOP's small runs come when they have had fewer evaluations than the large ones; populations and steps vary in their ranges.
START_TEST(small_runs_follow_large_ones)
{
    ctn_cma_config cfg = config(10);
    cfg.restarts = CTN_CMA_BIPOP, cfg.max_restarts = 6, cfg.max_generations = 40;
    ctn_cma *const cma = create(&cfg);
    population p = {0};
    int64_t begin = 0, used[2] = {0, 0};
    int small_runs = 0, large = 10;
    bool is_small = true;
    double sum = 0, least = INFINITY, most = 0;
    while (!ctn_cma_stopped(cma)) {
        const ctn_cma_state s = ctn_cma_get_state(cma);
        if (s.generation == 0 && s.run > 0) {
            used[!is_small] += s.evaluations - begin, begin = s.evaluations;
            is_small = s.small_runs > small_runs, small_runs = s.small_runs;
            ck_assert(is_small == (used[0] < (used[1] > 1 ? used[1] : 1)));
            if (!is_small) {
                ck_assert(s.sigma == cfg.sigma && s.population == (int)(10.907755278982137 * (1 << (s.run - s.small_runs))));
                large = s.population;
            } else {
                const double smaller = s.sigma / cfg.sigma;
                ck_assert(smaller > 0.01 && smaller < 1 && s.population >= 10 && s.population <= large);
                sum += log(smaller) / log(0.01), least = fmin(least, s.population), most = fmax(most, s.population);
            }
        }
        evaluate(cma, &p, rastrigin), tell(cma, &p);
    }
    ck_assert_int_gt(small_runs, 8);
    ck_assert_double_eq_tol(sum / small_runs, 0.5, 4 / sqrt(12.0 * small_runs));
    ck_assert(most > 2 * least);
    population_free(&p), ctn_cma_free(cma);
}
END_TEST

// ---- what is refused

START_TEST(what_cannot_be_is_refused)
{
    double nan[N], none[N] = {0}, half[N], infinite[N];
    for (int i = 0; i < N; i++) nan[i] = NAN, half[i] = 0.5, infinite[i] = INFINITY;
#define CONFIG_REFUSES(text, change)                                                                                             \
    do {                                                                                                                         \
        ctn_cma_config cfg = config(N);                                                                                          \
        change;                                                                                                                  \
        REFUSES(CTN_BAD_CONFIG, text, ck_assert(!ctn_cma_create(&cfg, &err)));                                                   \
        ck_assert(ctn_cma_bytes(&cfg, 0) == 0);                                                                                  \
    } while (0)
    CONFIG_REFUSES("ctn_cma_default_config", memset(&cfg, 0, sizeof cfg));
    CONFIG_REFUSES("n is 0", cfg.n = 0);
    CONFIG_REFUSES("sigma is nan", cfg.sigma = NAN);
    CONFIG_REFUSES("sigma is 0", cfg.sigma = 0);
    CONFIG_REFUSES("sigma is inf", cfg.sigma = INFINITY);
    CONFIG_REFUSES("population is 1", cfg.population = 1);
    CONFIG_REFUSES("population is -5", cfg.population = -5);
    CONFIG_REFUSES("covariance is 9", cfg.covariance = (ctn_cma_covariance)9);
    CONFIG_REFUSES("CTN_CMA_SEPARABLE", (cfg.n = 20000, cfg.covariance = CTN_CMA_FULL));
    CONFIG_REFUSES("adapt_rates", (cfg.adapt_rates = true, cfg.covariance = CTN_CMA_DECODED));
    CONFIG_REFUSES("constraints is -1", cfg.constraints = -1);
    CONFIG_REFUSES("restarts is 7", cfg.restarts = (ctn_cma_restarts)7);
    CONFIG_REFUSES("max_restarts is -1", cfg.max_restarts = -1);
    CONFIG_REFUSES("target is NaN", cfg.target = NAN);
    CONFIG_REFUSES("max_evaluations is 0", cfg.max_evaluations = 0);
    CONFIG_REFUSES("max_generations is -1", cfg.max_generations = -1);
    CONFIG_REFUSES("tolfun is -1", cfg.tolfun = -1);
    CONFIG_REFUSES("tolfunhist is nan", cfg.tolfunhist = NAN);
    CONFIG_REFUSES("tolx is -1", cfg.tolx = -1);
    CONFIG_REFUSES("tolcondition is nan", cfg.tolcondition = NAN);
    CONFIG_REFUSES("mean is NULL", cfg.mean = NULL);
    CONFIG_REFUSES("mean[0] is nan", cfg.mean = nan);
    CONFIG_REFUSES("mean[0] is 1, out of its bounds 0 .. 0.5", (cfg.lower = none, cfg.upper = half));
    CONFIG_REFUSES("upper is NULL and lower is not", cfg.lower = none);
    CONFIG_REFUSES("lower is NULL and upper is not", cfg.upper = threes);
    CONFIG_REFUSES("lower[0] is 3 and upper[0] 1", (cfg.lower = threes, cfg.upper = ones));
    CONFIG_REFUSES("lower[0] is 1 and upper[0] 1", (cfg.lower = ones, cfg.upper = ones));
    CONFIG_REFUSES("lower[0] is nan", (cfg.lower = nan, cfg.upper = ones));
    CONFIG_REFUSES("start_upper[0] is inf", (cfg.start_lower = ones, cfg.start_upper = infinite));
    CONFIG_REFUSES("start_lower[0] is 3 and start_upper[0] 1", (cfg.start_lower = threes, cfg.start_upper = ones));
    CONFIG_REFUSES("bound 0 is infinite", (cfg.mean = NULL, cfg.lower = ones, cfg.upper = infinite));
    REFUSES(CTN_BAD_ARGUMENT, "cfg is NULL", ck_assert(!ctn_cma_create(NULL, &err)));

    ctn_cma_config cfg = config(N);
    cfg.constraints = 1, cfg.max_evaluations = 1;
    ctn_cma *const cma = create(&cfg);
    population p = {0};
    double x[N];
    evaluate(cma, &p, sphere);
    for (int k = 0; k < ctn_cma_population(cma); k++) p.g[k] = 1;
    REFUSES(CTN_BAD_ARGUMENT, "no candidate 9: this generation has 0 .. 8", ctn_cma_ask_one(cma, 9, x, &err));
    REFUSES(CTN_BAD_ARGUMENT, "no candidate -1", ctn_cma_ask_one(cma, -1, x, &err));
    REFUSES(CTN_BAD_ARGUMENT, "x is NULL", ctn_cma_ask(cma, NULL, &err));
    REFUSES(CTN_BAD_ARGUMENT, "f is NULL", ctn_cma_tell(cma, NULL, NULL, &err));
    REFUSES(CTN_BAD_ARGUMENT, "g is NULL, and there are 1 constraint", ctn_cma_tell(cma, p.f, NULL, &err));
    REFUSES(CTN_BAD_ARGUMENT, "satisfies the constraints", ctn_cma_best(cma, x, &err));
    tell(cma, &p);
    REFUSES(CTN_BAD_ARGUMENT, "over: max_evaluations", ctn_cma_tell(cma, p.f, p.g, &err));
    REFUSES(CTN_BAD_ARGUMENT, "satisfies the constraints", ctn_cma_best(cma, x, &err));
    population_free(&p), ctn_cma_free(cma);
    ctn_cma_free(NULL);
}
END_TEST

/// Without LAPACK full covariances say so, and separable ones do without.
START_TEST(without_lapack_separable_ones_work)
{
    setenv("CTN_LAPACK_LIBRARY", "/nowhere/liblapack.so", 1);
    ctn_error err = {0};
    ctn_cma_config cfg = config(N);
    ctn_cma *const full = ctn_cma_create(&cfg, &err);
    if (!getenv("CK_FORK") || strcmp(getenv("CK_FORK"), "no"))
        ck_assert_msg(!full && err.status == CTN_UNAVAILABLE && strstr(err.message, "CMA-ES") &&
                          strstr(err.message, "/nowhere/liblapack.so"),
                      "%s", err.message);
    ctn_cma_free(full);
    cfg.covariance = CTN_CMA_SEPARABLE, cfg.target = 1e-9;
    ck_assert_int_eq(search(&cfg, sphere, NULL).stop, CTN_CMA_TARGET);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cma");
    TCase *c = tcase_create("cma");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, one_candidate_is_that_of_all, 0, KINDS);
    tcase_add_test(c, numbers_stay_as_they_are);
    tcase_add_loop_test(c, order_is_all_that_counts, 0, KINDS);
    tcase_add_loop_test(c, units_do_not_matter, CTN_CMA_FULL, CTN_CMA_SEPARABLE + 1);
    tcase_add_test(c, axes_do_not_matter);
    tcase_add_test(c, nan_is_last_and_ties_go_by_number);
    tcase_add_loop_test(c, a_restored_search_goes_on, 0, KINDS);
    tcase_add_test(c, what_is_not_a_saved_search_is_refused);
    tcase_add_loop_test(c, bounds_hold, CTN_CMA_FULL, CTN_CMA_SEPARABLE + 1);
    tcase_add_test(c, the_map_into_bounds_is_smooth);
    tcase_add_loop_test(c, constraints_are_met, 0, 4);
    tcase_add_loop_test(c, rates_adapt_to_noise, 0, 4);
    tcase_add_test(c, separable_ones_learn_many_scales);
    tcase_add_test(c, decoded_ones_learn_scales_and_turns);
    tcase_add_test(c, populations_may_be_large);
    tcase_add_loop_test(c, bytes_are_told, CTN_CMA_FULL, CTN_CMA_SEPARABLE + 1);
    tcase_add_test(c, ends_have_reasons);
    tcase_add_test(c, numbers_end);
    tcase_add_test(c, runs_follow_each_other);
    tcase_add_test(c, small_runs_follow_large_ones);
    tcase_add_test(c, what_cannot_be_is_refused);
    tcase_add_test(c, without_lapack_separable_ones_work);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
