/// The clock of the wall.
#ifndef CATENA_SIM_CLOCK_H
#define CATENA_SIM_CLOCK_H

#include <time.h>

/// s, from some start.
static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
