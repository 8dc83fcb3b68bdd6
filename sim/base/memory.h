/// How much memory a program can have.
#ifndef CATENA_SIM_MEMORY_H
#define CATENA_SIM_MEMORY_H

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/// Bytes: what is free, of what the machine has, or less where the process is limited (`ulimit -v`); infinite: nothing is known. What
/// is promised beyond that (calloc does) ends the program where it is written to.
static inline double memory_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    double machine = pages > 0 && size > 0 ? (double)pages * (double)size : INFINITY, kilobytes;
    char line[200];
    FILE *const told = fopen("/proc/meminfo", "r");  // Linux; elsewhere all of the machine's
    while (told && fgets(line, sizeof line, told))
        if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) == 1) machine = fmin(machine, 1024 * kilobytes);
    if (told) fclose(told);
    struct rlimit own;
    return getrlimit(RLIMIT_AS, &own) || own.rlim_cur == RLIM_INFINITY ? machine : fmin(machine, (double)own.rlim_cur);
}

#endif
