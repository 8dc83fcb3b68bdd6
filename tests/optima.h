/// Functions whose optimum is known, for tests of searches. (golden/README.md has the rest)
#ifndef CATENA_TESTS_OPTIMA_H
#define CATENA_TESTS_OPTIMA_H

#include <math.h>

static inline double sphere(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/// Of condition 10^6, along the parameters.
static inline double ellipsoid(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += pow(10, 6.0 * i / (n - 1)) * x[i] * x[i];
    return sum;
}

/// With many optima, the best one in the middle.
static inline double rastrigin(const double *x, int n)
{
    double sum = 10 * n;
    for (int i = 0; i < n; i++) sum += x[i] * x[i] - 10 * cos(2 * M_PI * x[i]);
    return sum;
}

#endif
