/// A search by CMA-ES for the x [n] at which a function is smallest, without knowing the function: candidates are asked for,
/// their values are told. docs/search.md has the rules, where they come from, and how they compare.
///
///     ctn_cma_config cfg = ctn_cma_default_config(n);
///     cfg.mean = start, cfg.sigma = 0.3;
///     ctn_cma *cma = ctn_cma_create(&cfg, &err);
///     while (!ctn_cma_stopped(cma)) {
///         ctn_cma_ask(cma, x, &err);                                  // x [ctn_cma_population(cma)][n]
///         for (int k = 0; k < ctn_cma_population(cma); k++) f[k] = ...;
///         ctn_cma_tell(cma, f, NULL, &err);
///     }
///
/// A candidate depends on what has been told so far, the seed, the generation and its number alone: any process that has the same
/// state may make it. Sums run in a fixed order. What has a full covariance needs LAPACK, and has the same bits wherever the
/// library and the machine's instructions are the same.
#ifndef CATENA_CMA_H
#define CATENA_CMA_H

#include <catena/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_cma ctn_cma;

/// What of the covariance is learned. Bytes and time a generation grow as n^2 and n^3, or as n.
typedef enum ctn_cma_covariance {
    CTN_CMA_AUTO,       // full up to CTN_CMA_AUTO_FULL parameters, above separable
    CTN_CMA_FULL,       // all of it: turned and stretched as the function is
    CTN_CMA_DECODED,    // all of it, and scales of the parameters beside it, which are learned faster (dd-CMA)
    CTN_CMA_SEPARABLE,  // the scales alone (sep-CMA): linear memory
} ctn_cma_covariance;

#define CTN_CMA_AUTO_FULL 500   // docs/search.md: measured
#define CTN_CMA_MAX_FULL 16384  // above, a full covariance is refused: 8 GiB a matrix begin there
#define CTN_CMA_MAX_POPULATION 16777216

/// Whether the search begins again where it has come to rest.
typedef enum ctn_cma_restarts {
    CTN_CMA_NO_RESTARTS,
    CTN_CMA_IPOP,   // each time with twice the population
    CTN_CMA_BIPOP,  // likewise, and between these with small ones and small steps, for as many evaluations
} ctn_cma_restarts;

/// Why a search, or one run of several, is over. The first two end all runs, the others one.
typedef enum ctn_cma_stop {
    CTN_CMA_RUNS,             // it is not
    CTN_CMA_TARGET,           // a value is as small as `target`, and satisfies the constraints
    CTN_CMA_MAX_EVALUATIONS,  // `max_evaluations` have been told
    CTN_CMA_TOLFUN,           // values of a generation, and the best of the last ones, lie within `tolfun`
    CTN_CMA_TOLFUNHIST,       // the best values of the last generations lie within `tolfunhist`
    CTN_CMA_TOLX,             // deviations and the path of the mean are below `tolx`
    CTN_CMA_TOLFACUPX,        // a deviation has grown to 1000 times what it was at first: sigma was far too small
    CTN_CMA_TOLCONDITION,     // the condition of the covariance is above `tolcondition`
    CTN_CMA_TOLSTAGNATION,    // medians of the last generations are no better than those before
    CTN_CMA_TOLXSTAGNATION,   // the mean has stayed where it is
    CTN_CMA_FLAT,             // the best three quarters of the values have been equal, two generations long
    CTN_CMA_NO_EFFECT,        // steps are too small to change the mean's last digit
    CTN_CMA_MAX_GENERATIONS,  // `max_generations` of a run
    CTN_CMA_STOPS,            // how many reasons there are
} ctn_cma_stop;

/// What is asked for. Start from ctn_cma_default_config(). Arrays are copied by ctn_cma_create().
typedef struct ctn_cma_config {
    unsigned cookie;     // set by ctn_cma_default_config; catches an uninitialised struct
    int n;               // parameters, at least 1
    const double *mean;  // [n], where the search begins, within the bounds; NULL (default): drawn from the box of starts
    double sigma;        // the first steps' standard deviation, in units of x, > 0, to be given: about a third of how far the
                         // optimum may be; scale parameters so that one fits all
    int population;      // candidates a generation, >= 2; 0 (default): 4 + floor(3 ln n). More find better optima of functions
                         // with many, and bear noise; fewer are quicker
    uint64_t seed;       // default 1
    ctn_cma_covariance covariance;  // default CTN_CMA_AUTO
    bool active;                    // learn from bad candidates, too, default true: a quarter to half of the evaluations less
    bool adapt_rates;  // keep the signal above noise by slower learning (LRA-CMA-ES), for full and separable ones, default false:
                       // without noise it costs evaluations
    const double *lower, *upper;              // [n], bounds of x, -inf and inf where there is none; NULL (default): none
    int constraints;                          // m >= 0, default 0: how many g_i(x) <= 0 are told with each value
    ctn_cma_restarts restarts;                // default CTN_CMA_NO_RESTARTS
    int max_restarts;                         // with larger populations, >= 0, default 9
    const double *start_lower, *start_upper;  // [n], the box from which starts are drawn, within the bounds; NULL (default): the
                                              // bounds if `mean` is NULL, else every start is `mean`
    double target;                            // default -inf
    int64_t max_evaluations;                  // of all runs, default INT64_MAX; a generation that has begun is told to its end
    bool stop_at_tolerances;                  // default true; false: only the two above end it. Those below stay as they are
    double tolfun;                            // units of the values, default 1e-11
    double tolfunhist;                        // likewise, default 1e-12
    double tolx;                              // units of x, default 1e-11
    double tolcondition;                      // default 1e14
    int64_t max_generations;                  // of a run; 0 (default): 100 + 150 (n + 3)^2 / sqrt(population)
} ctn_cma_config;

CTN_API ctn_cma_config ctn_cma_default_config(int n);

/// A search, at its first generation. NULL on error: CTN_BAD_CONFIG names the member, what it is and what it may be;
/// CTN_UNAVAILABLE: no LAPACK; CTN_NO_MEMORY.
CTN_API ctn_cma *ctn_cma_create(const ctn_cma_config *cfg, ctn_error *err);
CTN_API void ctn_cma_free(ctn_cma *cma);  // NULL is allowed

/// Bytes that a search of this configuration takes with `population` candidates (0: that of the configuration; restarts have
/// more). 0: the configuration is not valid.
CTN_API size_t ctn_cma_bytes(const ctn_cma_config *cfg, int population);

CTN_API int ctn_cma_parameters(const ctn_cma *cma);  // n
CTN_API int ctn_cma_population(const ctn_cma *cma);  // candidates of this generation; changes where a run begins

/// All candidates of this generation, x [population][n], within the bounds. The same as often as it is asked.
CTN_API ctn_status ctn_cma_ask(ctn_cma *cma, double *x, ctn_error *err);

/// Candidate k of 0 .. population - 1 alone, x [n], with the same bits. Changes nothing: any number of threads may call it at
/// once. CTN_BAD_ARGUMENT: there is no such candidate; CTN_NO_MEMORY.
CTN_API ctn_status ctn_cma_ask_one(const ctn_cma *cma, int k, double *x, ctn_error *err);

/// The values of all candidates, f [population], and of the constraints, g [population][m] (NULL without any): the search goes on
/// to the next generation, or the next run, or is over. Need not be asked before. Values count by their order alone, equal ones
/// by their numbers; NaN, in f or g, is worse than all else, and counted. If all are NaN, candidates are drawn anew around the
/// same mean. CTN_BAD_ARGUMENT: g is missing, or the search is over. With other errors it is over from now on: CTN_UNAVAILABLE,
/// where the mean is infinite or the eigenvectors of the covariance cannot be found; CTN_NO_MEMORY for the next run's population.
CTN_API ctn_status ctn_cma_tell(ctn_cma *cma, const double *f, const double *g, ctn_error *err);

/// Why it is over; CTN_CMA_RUNS: it is not; CTN_CMA_STOPS for NULL.
CTN_API ctn_cma_stop ctn_cma_stopped(const ctn_cma *cma);
CTN_API const char *ctn_cma_stop_name(ctn_cma_stop stop);  // e.g. "tolfun". Never NULL

/// Where the search is.
typedef struct ctn_cma_state {
    int64_t evaluations;            // told, in all runs
    int64_t generations;            // told, in all runs
    int64_t generation;             // of this run, from 0
    int64_t not_numbers;            // of the evaluations, those that were NaN
    int64_t eigen;                  // eigenproblems solved, in all runs
    int run;                        // from 0; restarts have been as many
    int small_runs;                 // of these, those with small populations (BIPOP)
    int population;                 // of this generation
    ctn_cma_covariance covariance;  // never CTN_CMA_AUTO
    ctn_cma_stop last;              // why the run before this one was over
    ctn_cma_stop stop;              // why the search is over
    double sigma;                   // step size
    double condition;               // of the covariance when its eigenvectors were last found, or of scales
    double best;                    // the smallest value of all runs that satisfies the constraints; inf: none
    double median;                  // of the last generation's values; with constraints, of their augmented Lagrangian
    double rate_mean;               // of the adapted learning rates, 0 to 1; 1: not adapted
    double rate_covariance;
} ctn_cma_state;

CTN_API ctn_cma_state ctn_cma_get_state(const ctn_cma *cma);

/// The best candidate so far that satisfies all constraints, x [n]; its value is in the state. CTN_BAD_ARGUMENT: there is none.
CTN_API ctn_status ctn_cma_best(const ctn_cma *cma, double *x, ctn_error *err);

/// The mean of this generation's candidates, x [n], moved into the bounds: where there is noise, the better guess.
CTN_API void ctn_cma_mean(const ctn_cma *cma, double *x);

/// Standard deviations of this generation's candidates, x [n], before they are moved into the bounds.
CTN_API void ctn_cma_deviations(const ctn_cma *cma, double *x);

/// The Lagrange multipliers of the constraints as they are now, lambda [m] >= 0.
CTN_API void ctn_cma_multipliers(const ctn_cma *cma, double *lambda);

/// All that the future depends on, as ctn_cma_saved_bytes() bytes, flat and with a version, in this machine's order of bytes. A
/// search that was created with the same configuration and is given them goes on with the same bits. CTN_BAD_ARGUMENT: `size` is
/// another, or `bytes` are of another version or configuration, or damaged; the search is as it was. CTN_NO_MEMORY.
CTN_API size_t ctn_cma_saved_bytes(const ctn_cma *cma);
CTN_API ctn_status ctn_cma_save(const ctn_cma *cma, void *bytes, size_t size, ctn_error *err);
CTN_API ctn_status ctn_cma_restore(ctn_cma *cma, const void *bytes, size_t size, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
