/// How the program of a test begins and ends: it looks whether the machine has what it needs, and runs its suite.
#ifndef CATENA_TESTS_SUITE_H
#define CATENA_TESTS_SUITE_H

#include <catena/status.h>
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/// Runs a suite and returns the exit status of its program. What is printed is as CK_VERBOSITY says.
static inline int run_suite(Suite *suite)
{
    SRunner *const runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

enum { EXIT_SKIPPED = 77 };  // of a program whose machine lacks something

/// Whether `find` finds it; else says that `test` is skipped, and why. In a process of its own: what drivers begin does not work
/// in the children of a process that has begun it.
static inline bool machine_has(const char *test, bool (*find)(ctn_error *err))
{
    int status = 1;
    fflush(stdout);
    const pid_t child = fork();
    if (child > 0) waitpid(child, &status, 0);
    if (child) return status == 0;
    ctn_error err;
    if (find(&err)) _exit(0);
    printf("%s: skipped: %s\n", test, err.message);
    fflush(stdout);
    _exit(1);
}

#endif
