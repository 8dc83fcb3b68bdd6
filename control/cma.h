/// CMA-ES from the inside: the state, what is computed of it, and the steps of a generation. docs/search.md.
///
///   m       mean of the candidates               sigma   step size
///   C       covariance: x = m + sigma S y, y ~ N(0, C), S the scales of dd-CMA, else 1
///   B, D    C = B diag(D^2) B', at the last eigen-decomposition; z ~ N(0, I), y = B D z
///   lambda  population; w its weights by rank    p       evolution paths
#ifndef CATENA_CONTROL_CMA_H
#define CATENA_CONTROL_CMA_H

#include <catena/cma.h>

/// Constants of a run, which n, lambda and the kind of covariance decide: cma_constants.c.
typedef struct cma_constants {
    int lambda;
    double mueff;                             // of the positive weights
    double c_sigma, d_sigma;                  // of the path of sigma, and its damping
    double c_c, c_1, c_mu;                    // of the path of C, and learning rates of rank one and rank mu
    double c_c_scale, c_1_scale, c_mu_scale;  // likewise of the scales
    double chi;                               // E |N(0, I)|
    double gap;                               // generations from one decomposition to the next
    double *weights;                          // [lambda], negative ones at the end; sum of the positive ones 1
    double *weights_scale;                    // [lambda] of the scales; NULL: there are none
    double negative;                          // sum of the negative weights, <= 0, and of those of the scales
    double negative_scale;
} cma_constants;

/// Numbers of the state. All have 8 bytes: no byte of a saved state is left to chance.
typedef struct cma_numbers {
    int64_t evaluations, not_numbers, eigen, stop, last;
    int64_t generations;  // told in all runs: candidates' counter
    int64_t generation;   // of this run
    int64_t decomposed;   // generation of this run at which B and D are C's
    int64_t run, small_runs, is_small, lambda;
    int64_t large_evaluations, small_evaluations, run_begin;  // BIPOP's accounts
    int64_t max_generations;                                  // of this run
    int64_t best_at;                                          // evaluations when the best of this run was found
    int64_t history, long_history;                            // values that have gone into these rings
    int64_t flat;                                             // generations on end with equal values
    int64_t rested;                                           // generation from which on the mean has rested
    int64_t constrained;                                      // generations whose constraints have gone into the multipliers
    int64_t has_best;
    double sigma, sigma_0, best, best_of_run, median;
    double gamma_scale;             // how far the path of the scales is from being new
    double eta_m, eta_C, V_m, V_C;  // adapted learning rates; second moments of what is learned
} cma_numbers;

/// Arrays of the state, in the order in which they are saved: name, numbers, meaning. N is n, NC how many numbers C has, M those
/// of constraints. Arrays without numbers are NULL.
#define CMA_ARRAYS(X)                                                                                                            \
    X(mean, N, "m")                                                                                                              \
    X(p_sigma, N, "path of sigma, in the axes of x, of length sqrt(n) by chance")                                                \
    X(p_c, N, "path of C, in units of sigma")                                                                                    \
    X(p_scale, decoded ? N : 0, "path of S, likewise")                                                                           \
    X(C, NC, "its upper triangle, row by row; or its diagonal")                                                                  \
    X(B, separable ? 0 : NC, "eigenvectors, one a row")                                                                          \
    X(D, N, "roots of the eigenvalues, from the smallest on; or those of C")                                                     \
    X(scale, decoded ? N : 0, "S")                                                                                               \
    X(E_m, adapts ? N : 0, "running mean of the mean's steps")                                                                   \
    X(E_C, adapts ? NC : 0, "and of the covariance's")                                                                           \
    X(best_x, N, "best candidate")                                                                                               \
    X(rest_x, N, "where the mean has rested")                                                                                    \
    X(history_of_best, history, "ring of best values, one a generation")                                                         \
    X(long_best, long_history, "ring of best values, one in five generations")                                                   \
    X(long_median, long_history, "and of medians")                                                                               \
    X(multiplier, M, "lambda of the constraints")                                                                                \
    X(penalty, M, "mu of the constraints")                                                                                       \
    X(settled, M, "whether these have their first values")                                                                       \
    X(same, M, "changes of mu to the same side, on end")                                                                         \
    X(penalized, M, "candidates that it has cost something since these changed")                                                 \
    X(feasible, M_RING, "ring: 1 where g < 0, 1/2 where it is 0")

/// A candidate and what it is ranked by.
typedef struct cma_ranked {
    double value;
    int k;
} cma_ranked;

enum { CMA_BLOCK = 8 };  // candidates that are worked on together
enum { CMA_ROOM = 6 };   // vectors of n numbers that calls need

struct ctn_cma {
    ctn_cma_config cfg;             // its arrays are copies
    ctn_cma_covariance kind;        // never AUTO
    double population;              // of the first run: not rounded, as doubling begins here
    int64_t history, long_history;  // lengths of the rings
    double stagnation;              // generations
    uint64_t key;                   // of random numbers
    uint64_t fingerprint;           // of the configuration
    cma_constants k;
    cma_numbers s;
#define CMA_MEMBER(name, size, text) double *name;
    CMA_ARRAYS(CMA_MEMBER)
#undef CMA_MEMBER
    double *arrays;                                             // all of them
    size_t numbers;                                             // in all of them
    double *lower, *upper, *start_lower, *start_upper, *start;  // [n] or NULL
    double *margin;                                             // [n], of the bounds
    double *own;                                                // where these are
    // for the time of a call
    double *z;  // [lambda][n], of this generation if `drawn` is its number
    int64_t drawn;
    cma_ranked *ranked;  // [lambda], from the best on; by numbers while values are told
    double *sorted;      // [lambda], and no fewer than the long rings have
    double *room;        // [CMA_ROOM][n], [CMA_BLOCK][n], and for full covariances lapack_eigen_room()
    double *before;      // [4] of the size of C: as it was, and room; where rates are adapted
};

// cma_constants.c
double cma_default_population(int n);
ctn_status cma_constants_make(cma_constants *k, const ctn_cma_config *cfg, ctn_cma_covariance kind, int lambda, ctn_error *err);
void cma_constants_free(cma_constants *k);

// cma_draw.c
void cma_draw(const ctn_cma *c, int k, double *z);                  // z [n] of candidate k
void cma_draw_start(const ctn_cma *c, int64_t run, double *x);      // x [n] in the box of starts
double cma_draw_uniform(const ctn_cma *c, int64_t run, int which);  // (0, 1)

// cma_covariance.c
void cma_covariance_begin(ctn_cma *c);  // C = 1
size_t cma_room_bytes(int n, ctn_cma_covariance kind);
void cma_shape(const ctn_cma *c, int count, const double *z, double *y);  // y = B D z
void cma_turn(const ctn_cma *c, int count, const double *z, double *x);   // x = B z
void cma_unshape(const ctn_cma *c, const double *y, double *x);           // x = B D^-1 B' y
void cma_learn(ctn_cma *c, double h_sigma);                               // C, of this generation's ranks and paths
void cma_limit(ctn_cma *c);                                               // deviations: to a third of what is between the bounds
ctn_status cma_decompose(ctn_cma *c, ctn_error *err);                     // B, D
double cma_deviation(const ctn_cma *c, int i);                            // in units of sigma
double cma_condition(const ctn_cma *c);                                   // of C, at the last decomposition

// cma_rates.c
void cma_rates_begin(ctn_cma *c);
void cma_rates_remember(ctn_cma *c);                                                    // C before it learns
ctn_status cma_rates_adapt(ctn_cma *c, const double *m, double sigma, ctn_error *err);  // m, sigma: as they were

// cma_bounds.c
void cma_bounds_make(ctn_cma *c);
double cma_into_bounds(const ctn_cma *c, int i, double u);
double cma_out_of_bounds(const ctn_cma *c, int i, double x);  // the other way

// cma_lagrangian.c
void cma_lagrangian_begin(ctn_cma *c);
void cma_lagrangian(ctn_cma *c, const double *f, const double *g);  // c->ranked[].value of them

// cma_stops.c
double cma_default_generations(int n, double population);
double cma_default_stagnation(int n, double population);
int64_t cma_history(int n, double population);  // length of the rings
int64_t cma_long_history(double stagnation);
void cma_stops_begin(ctn_cma *c);
void cma_stops_note(ctn_cma *c);  // this generation's values
ctn_cma_stop cma_stops_judge(ctn_cma *c);

// cma_restarts.c
ctn_status cma_run_begin(ctn_cma *c, int lambda, double sigma, ctn_error *err);
ctn_status cma_restart(ctn_cma *c, ctn_cma_stop why, ctn_error *err);  // or the end
ctn_status cma_resize(ctn_cma *c, int lambda, ctn_error *err);         // constants and memory; on error as it was
size_t cma_population_bytes(const ctn_cma *c, int lambda);

// cma_config.c
ctn_status cma_check(const ctn_cma_config *cfg, ctn_error *err);
ctn_cma_covariance cma_kind(const ctn_cma_config *cfg);
uint64_t cma_fingerprint(const ctn_cma_config *cfg);  // of all but `target` and `max_evaluations`

// cma.c
void cma_sizes(ctn_cma *c, const ctn_cma_config *cfg);  // lengths, of a valid configuration
size_t cma_lay_out(ctn_cma *c);                         // where in `arrays` each begins; their numbers together

#endif
