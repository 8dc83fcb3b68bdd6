/// What the tests of worlds along their links have in common.
#ifndef CATENA_TESTS_ALONG_CASES_H
#define CATENA_TESTS_ALONG_CASES_H

#include <math.h>
#include <stddef.h>

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
