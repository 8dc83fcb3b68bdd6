/// What must hold for every input that a fuzzer makes.
#ifndef CATENA_TESTS_FUZZ_CLAIM_H
#define CATENA_TESTS_FUZZ_CLAIM_H

#include <stdio.h>
#include <stdlib.h>

/// One that fails says which it is: all claims are inlined into the function that the fuzzer calls, so its trace does not.
#define claim(holds) ((holds) ? (void)0 : refute(__FILE__, __LINE__, #holds))

static _Noreturn void refute(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, text);
    abort();
}

#endif
