/// What the tests of worlds along their links have in common.
#ifndef CATENA_TESTS_ALONG_CASES_H
#define CATENA_TESTS_ALONG_CASES_H

#include "tests/random_scene.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/// A rope that whips when it is let go from the horizontal: steps with curvature dropped, shortened and followed, and joints that
/// turn all the way round.
#define WHIP                                                                                                                     \
    "catena: 1\n"                                                                                                                \
    "links:\n"                                                                                                                   \
    "  - chain:\n"                                                                                                               \
    "      name: rope\n"                                                                                                         \
    "      count: 120\n"                                                                                                         \
    "      step: [0.05, 0, 0]\n"                                                                                                 \
    "      joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1]}\n"                                                        \
    "      mass: 0.005\n"                                                                                                        \
    "      com: [0.025, 0, 0]\n"                                                                                                 \
    "      inertia: [2.5e-7, 1.0e-6, 1.0e-6, 0, 0, 0]\n"

/// A batch from random states that move slowly; with odd seeds under forces along the joints.
static inline ctn_batch *batch_of(const ctn_model *m, uint64_t seed, ctn_batch_config cfg)
{
    ctn_error err;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "seed %llu: %s", (unsigned long long)seed, err.message);
    const size_t W = (size_t)cfg.worlds, nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *q = calloc(W * nq + 1, sizeof *q), *v = calloc(W * nv + 1, sizeof *v), *tau = calloc(W * nv + 1, sizeof *tau);
    rng r = {seed * 31 + 7};
    for (size_t w = 0; w < W; w++) random_state(m, &r, q + w * nq, v + w * nv);
    for (size_t k = 0; k < W * nv; k++) tau[k] = rng_uniform(&r, -1, 1), v[k] *= 0.1;
    ck_assert(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK);
    if (seed % 2) ctn_batch_set_force(b, tau);
    free(q), free(v), free(tau);
    return b;
}

/// n zeros, which the caller frees.
static inline double *numbers(size_t n)
{
    double *const x = calloc(n + 1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    return x;
}

/// Energies of equal steps, to 1e-8 of `size`.
static inline bool alike(double x, double y, double size) { return fabs(x - y) <= 1e-8 * size || (isnan(x) && isnan(y)); }

/// The largest difference of x and y [n] over the largest entry of y.
static inline double distance(const double *x, const double *y, size_t n)
{
    double most = 0, size = 0;
    for (size_t k = 0; k < n; k++) {
        if (!(fabs(x[k] - y[k]) <= most)) most = fabs(x[k] - y[k]);
        if (fabs(y[k]) > size) size = fabs(y[k]);
    }
    return size > 0 ? most / size : most;
}

#endif
