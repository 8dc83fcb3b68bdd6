/// Preloaded: a program that is killed in the middle of a write to a file, when it has written so many bytes as TORN_AT says.
/// With TORN_COUNT alone it writes to that file how many bytes the program wrote. Standard output and error do not count.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long long written, end = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *const at = getenv("TORN_AT");
    if (at) end = atoll(at);
}

__attribute__((destructor)) static void finish(void)
{
    const char *const name = getenv("TORN_COUNT");
    if (!name || end >= 0) return;
    FILE *const f = fopen(name, "w");
    if (f) fprintf(f, "%lld\n", written), fclose(f);
}

/// How much of the write is still to happen.
static size_t allowed(int fd, size_t n)
{
    if (fd <= 2 || end < 0 || written + (long long)n <= end) return n;
    return (size_t)(end - written);
}

static ssize_t count(int fd, size_t asked, size_t made, ssize_t done)
{
    if (fd > 2 && done > 0) written += done;
    if (made < asked) kill(getpid(), SIGKILL);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real) real = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64");
    const size_t part = allowed(fd, n);
    return count(fd, n, part, real(fd, data, part, at));
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) { return pwrite(fd, data, n, at); }

ssize_t write(int fd, const void *data, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    const size_t part = allowed(fd, n);
    return count(fd, n, part, real(fd, data, part));
}
