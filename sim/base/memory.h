/// How much memory a program can have.
#ifndef CATENA_SIM_MEMORY_H
#define CATENA_SIM_MEMORY_H

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

/// Bytes: what the machine has, or less where the process is limited (`ulimit -v`); infinite: nothing is known. What is promised
/// beyond that (calloc does) ends the program where it is written to.
static inline double memory_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    const double machine = pages > 0 && size > 0 ? (double)pages * (double)size : INFINITY;
    struct rlimit own;
    return getrlimit(RLIMIT_AS, &own) || own.rlim_cur == RLIM_INFINITY ? machine : fmin(machine, (double)own.rlim_cur);
}

#endif
