/// CMA-ES against pycma 4.5: evaluations to the same values of the same functions (tests/golden/control/cma.json), and its
/// constants.
#include "control/cma.h"
#include "tests/golden.h"
#include "tests/optima.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <cjson/cJSON.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- functions

static double rosenbrock(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n - 1; i++) sum += 100 * pow(x[i] * x[i] - x[i + 1], 2) + pow(x[i] - 1, 2);
    return sum;
}

static double discus(const double *x, int n) { return 1e6 * x[0] * x[0] + sphere(x + 1, n - 1); }
static double cigar(const double *x, int n) { return x[0] * x[0] + 1e6 * sphere(x + 1, n - 1); }

static const struct {
    const char *name;
    double (*f)(const double *x, int n);
    double mean, sigma;
} functions[] = {{"sphere", sphere, 1, 0.5}, {"ellipsoid", ellipsoid, 1, 0.5}, {"rosenbrock", rosenbrock, 0, 0.1},
                 {"discus", discus, 1, 0.5}, {"cigar", cigar, 1, 0.5},         {"rastrigin", rastrigin, 0, 2}};
enum { RASTRIGIN = 5, SEEDS = 31 };

/// Evaluations to 1e-9; 0: it was not reached.
static double evaluations(const ctn_cma_config *cfg, double (*f)(const double *x, int n))
{
    ctn_error err;
    const int n = cfg->n;
    ctn_cma *const cma = ctn_cma_create(cfg, &err);
    ck_assert_msg(cma != NULL, "%s", err.message);
    double *x = NULL, *values = NULL;
    while (!ctn_cma_stopped(cma)) {
        const size_t lambda = (size_t)ctn_cma_population(cma);
        x = realloc(x, lambda * (size_t)n * sizeof *x), values = realloc(values, lambda * sizeof *values);
        ctn_cma_ask(cma, x, NULL);
        for (size_t k = 0; k < lambda; k++) values[k] = f(x + k * (size_t)n, n);
        ck_assert_msg(!ctn_cma_tell(cma, values, NULL, &err), "%s", err.message);
    }
    const ctn_cma_state s = ctn_cma_get_state(cma);
    free(x), free(values), ctn_cma_free(cma);
    return s.stop == CTN_CMA_TARGET ? (double)s.evaluations : 0;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static const cJSON *golden_case(const cJSON *json, int function, int n, const char *variant)
{
    char key[64];
    snprintf(key, sizeof key, "%s/%d/%s", functions[function].name, n, variant);
    const cJSON *const of = cJSON_GetObjectItemCaseSensitive(json, key);
    ck_assert_msg(of != NULL, "no %s", key);
    return of;
}

// ---- medians

/// How many seeds: all up to n = 10, above as many as take a second. Quartiles lie within 5 % of the medians; docs/search.md has
/// the medians of all.
static const struct {
    int n, seeds[5];
} sizes[] = {{5, {31, 31, 31, 31, 31}}, {10, {31, 31, 31, 31, 31}}, {20, {9, 3, 3, 5, 7}}, {40, {5, 1, 1, 1, 3}}};

START_TEST(medians_are_those_of_pycma)
{
    const int size = _i / 2, n = sizes[size].n;
    const bool active = _i % 2 == 0;
    cJSON *json = golden_json("control", "cma.json");
    for (int k = 0; k < RASTRIGIN; k++) {
        if (n == 40 && !active && strcmp(functions[k].name, "sphere") && strcmp(functions[k].name, "discus")) continue;
        const cJSON *const of = golden_case(json, k, n, active ? "active" : "passive");
        double *const quartiles = golden_numbers(of, "quartiles", 3), *const population = golden_numbers(of, "popsize", 1);
        double mean[40], count[SEEDS];
        const int seeds = sizes[size].seeds[k];
        for (int s = 0; s < seeds; s++) {
            ctn_cma_config cfg = ctn_cma_default_config(n);
            for (int i = 0; i < n; i++) mean[i] = functions[k].mean;
            cfg.mean = mean, cfg.sigma = functions[k].sigma, cfg.seed = (uint64_t)s + 1, cfg.active = active;
            cfg.target = 1e-9, cfg.max_evaluations = 1000000, cfg.stop_at_tolerances = false;
            count[s] = evaluations(&cfg, functions[k].f);
            ck_assert_msg(count[s] > 0, "%s, n %d, seed %d: not reached", functions[k].name, n, s + 1);
            ck_assert(fmod(count[s], population[0]) == 0);
        }
        qsort(count, (size_t)seeds, sizeof *count, by_value);
        ck_assert_msg(fabs(count[seeds / 2] / quartiles[1] - 1) < 0.1, "%s, n %d: %g, pycma %g", functions[k].name, n,
                      count[seeds / 2], quartiles[1]);
        free(quartiles), free(population);
    }
    cJSON_Delete(json);
}
END_TEST

// ---- restarts

/// The normal deviate of Wilcoxon's rank sum of a [n] among a and b [n], as far as they differ either way. Equal ones share
/// ranks.
static double rank_sum(const double *a, const double *b, int n)
{
    double u = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) u += a[i] > b[k] ? 1 : a[i] == b[k] ? 0.5 : 0;
    return fabs(u - n * n / 2.0) / sqrt(n * n * (2.0 * n + 1) / 12);
}

static const struct {
    int n, seeds;
    const char *variant;
    ctn_cma_restarts restarts;
} restarted[] = {{5, 31, "ipop", CTN_CMA_IPOP},
                 {5, 31, "bipop", CTN_CMA_BIPOP},
                 {10, 11, "ipop", CTN_CMA_IPOP},
                 {10, 11, "bipop", CTN_CMA_BIPOP}};

START_TEST(restarts_are_those_of_pycma)
{
    const int n = restarted[_i].n, seeds = restarted[_i].seeds;
    cJSON *json = golden_json("control", "cma.json");
    double *const theirs = golden_numbers(golden_case(json, RASTRIGIN, n, restarted[_i].variant), "evaluations", seeds);
    double lower[10], upper[10], ours[SEEDS];
    for (int s = 0; s < seeds; s++) {
        ctn_cma_config cfg = ctn_cma_default_config(n);
        for (int i = 0; i < n; i++) lower[i] = -5, upper[i] = 5;
        cfg.start_lower = lower, cfg.start_upper = upper, cfg.sigma = functions[RASTRIGIN].sigma, cfg.seed = (uint64_t)s + 1;
        cfg.restarts = restarted[_i].restarts, cfg.target = 1e-9, cfg.max_evaluations = 200000 * n;
        ours[s] = evaluations(&cfg, rastrigin);
        ck_assert_msg(ours[s] > 0, "seed %d: not reached", s + 1);
    }
    const double deviate = rank_sum(ours, theirs, seeds);
    ck_assert_msg(deviate < 2.576, "rank sums differ by %g deviations: p < 0.01", deviate);
    free(theirs), cJSON_Delete(json);
}
END_TEST

// ---- constants

/// What pycma 4.5 prints for n = 10: d_sigma, c_sigma, c_c, c_1, c_mu, sum of negative weights.
static const struct {
    int lambda;
    double d_sigma, c_sigma, c_c, c_1, c_mu, negative;
} constants[] = {
    {10, 1.3196142529106334, 0.3196142529106334, 0.29499038303562225, 0.015283824524751714, 0.02355177665041747,
     -1.648945714440647},
    {21, 1.641585118473856, 0.42695456667294157, 0.3031384602357536, 0.01493811672490964, 0.06134781121823321,
     -1.2434987724626412},
    {43, 2.736577519845428, 0.5, 0.3172896870646252, 0.014307464486082931, 0.13363260691210097, -0.6376137892470155},
    {174, 6.0149709439154675, 0.5, 0.3706495489429804, 0.011517152600589452, 0.4657280495818607, -0.11224464540774147},
};

START_TEST(constants_are_those_of_pycma)
{
    const ctn_cma_config cfg = ctn_cma_default_config(10);
    cma_constants k;
    ck_assert(!cma_constants_make(&k, &cfg, CTN_CMA_FULL, constants[_i].lambda, NULL));
    const double is[] = {k.d_sigma, k.c_sigma, k.c_c, k.c_1, k.c_mu, k.negative};
    const double *const be = &constants[_i].d_sigma;
    for (int i = 0; i < 6; i++) ck_assert_msg(fabs(is[i] / be[i] - 1) < 1e-13, "number %d: %.17g, not %.17g", i, is[i], be[i]);
    double positive = 0, negative = 0;
    for (int i = 0; i < k.lambda; i++) *(k.weights[i] > 0 ? &positive : &negative) += k.weights[i];
    ck_assert_double_eq_tol(positive, 1, 1e-14);
    ck_assert_double_eq_tol(negative, k.negative, 1e-14);
    cma_constants_free(&k);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cma_golden");
    TCase *c = tcase_create("cma_golden");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, medians_are_those_of_pycma, 0, 2 * (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(c, restarts_are_those_of_pycma, 0, (int)(sizeof restarted / sizeof *restarted));
    tcase_add_loop_test(c, constants_are_those_of_pycma, 0, (int)(sizeof constants / sizeof *constants));
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
