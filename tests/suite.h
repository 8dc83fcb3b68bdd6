/// How the program of a test ends: it runs its suite.
#ifndef CATENA_TESTS_SUITE_H
#define CATENA_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/// Runs a suite and returns the exit status of its program. What is printed is as CK_VERBOSITY says.
static inline int run_suite(Suite *suite)
{
    SRunner *const runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
