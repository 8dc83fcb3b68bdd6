/// What the tests of the papers' forms have in common.
#ifndef CATENA_TESTS_FORMS_CASES_H
#define CATENA_TESTS_FORMS_CASES_H

#include <check.h>
#include <math.h>
#include <stdlib.h>

/// In loops: Check writes a line to a file for each of its own.
#define MUST(truth)                                                                                                              \
    do {                                                                                                                         \
        if (!(truth)) ck_abort_msg("not so: %s", #truth);                                                                        \
    } while (0)

/// Space for what a test computes, NaN so that an element never written fails.
static inline double *nans(size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    for (size_t k = 0; k < n; k++) x[k] = NAN;
    return x;
}

#endif
