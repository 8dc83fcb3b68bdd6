/// What every worker shares: the clocks, the timed loop, the pool of states, and the conversation with run.py.
///
/// A worker reads one request a line ("dynamics chain7 aba 64 0.1") and answers with one line: "ok" and pairs of a name and a
/// number, or "error" and a sentence. C11 and C++17.
#ifndef CATENA_BENCH_BENCH_H
#define CATENA_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// Results end here, so that no compiler can drop the work that made them.
static volatile double bench_sink;

static inline double bench_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Work to be timed: `run` does `units` units of it, `prepare` (may be NULL) puts the start back, off the clock.
typedef struct bench_job {
    void (*prepare)(void *self);
    void (*run)(void *self);
    void *self;
    double units;
} bench_job;

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Times passes of about 1 ms for `seconds`, or a single longer one, and answers with the least and the median ns a unit, on the
/// clock of the thread (what the work cost) and on the wall (which also sees the neighbours).
static inline void bench_time(const bench_job *job, double seconds)
{
    enum { MOST = 20000 };
    static double cpu[MOST], wall[MOST];

    // warm up caches and clock frequency: the core has just been somebody else's
    const double warm = seconds / 10 < 2e-3 ? seconds / 10 : 2e-3, start = bench_clock(CLOCK_MONOTONIC);
    double once = 1;  // on the clock of the thread: the core may be taken away meanwhile
    do {
        if (job->prepare) job->prepare(job->self);
        const double t = bench_clock(CLOCK_THREAD_CPUTIME_ID);
        job->run(job->self);
        const double took = bench_clock(CLOCK_THREAD_CPUTIME_ID) - t;
        if (took < once) once = took;
    } while (bench_clock(CLOCK_MONOTONIC) - start < warm);

    const long repeat = job->prepare ? 1 : (long)(1e-3 / (once + 1e-9)) + 1;
    const double units = job->units * (double)repeat, end = bench_clock(CLOCK_MONOTONIC) + seconds;
    int n = 0;
    do {
        if (job->prepare) job->prepare(job->self);
        const double w = bench_clock(CLOCK_MONOTONIC), c = bench_clock(CLOCK_THREAD_CPUTIME_ID);
        for (long k = 0; k < repeat; k++) job->run(job->self);
        cpu[n] = (bench_clock(CLOCK_THREAD_CPUTIME_ID) - c) / units * 1e9;
        wall[n++] = (bench_clock(CLOCK_MONOTONIC) - w) / units * 1e9;
    } while (n < MOST && bench_clock(CLOCK_MONOTONIC) < end);
    qsort(cpu, (size_t)n, sizeof *cpu, bench_compare);
    qsort(wall, (size_t)n, sizeof *wall, bench_compare);
    printf("ok passes %d min %.9g median %.9g wall_min %.9g wall_median %.9g ", n, cpu[0], cpu[n / 2], wall[0], wall[n / 2]);
}

/// States written by models.py: three int64 (count, nq, nv), then q [count][nq] and v, a, tau [count][nv].
typedef struct bench_states {
    int count, nq, nv;
    double *numbers;
    const double *q, *v, *a, *tau;
} bench_states;

static inline bool bench_states_load(bench_states *s, const char *path)
{
    FILE *file = fopen(path, "rb");
    int64_t head[3];
    if (!file) return false;
    free(s->numbers);
    s->numbers = NULL;
    if (fread(head, sizeof *head, 3, file) == 3) {
        const size_t n = (size_t)head[0] * (size_t)(head[1] + 3 * head[2]);
        s->count = (int)head[0], s->nq = (int)head[1], s->nv = (int)head[2];
        s->numbers = (double *)malloc(n * sizeof *s->numbers);
        if (s->numbers && fread(s->numbers, sizeof *s->numbers, n, file) != n) free(s->numbers), s->numbers = NULL;
        if (s->numbers) {
            s->q = s->numbers;
            s->v = s->q + (size_t)s->count * (size_t)s->nq;
            s->a = s->v + (size_t)s->count * (size_t)s->nv;
            s->tau = s->a + (size_t)s->count * (size_t)s->nv;
        }
    }
    fclose(file);
    return s->numbers != NULL;
}

/// Row i of an array of rows of n numbers.
static inline const double *bench_row(const double *array, int i, int n) { return array + (size_t)i * (size_t)n; }

/// The algorithms that all peers have.
typedef enum bench_algorithm { BENCH_ABA, BENCH_RNEA, BENCH_CRBA, BENCH_ALGORITHMS } bench_algorithm;

static inline bench_algorithm bench_algorithm_from(const char *name)
{
    static const char *const names[BENCH_ALGORITHMS] = {"aba", "rnea", "crba"};
    int i = 0;
    while (i < BENCH_ALGORITHMS && strcmp(name, names[i])) i++;
    return (bench_algorithm)i;
}

/// Numbers a state that an algorithm gives.
static inline size_t bench_size(bench_algorithm which, int nv)
{
    return which == BENCH_CRBA ? (size_t)nv * (size_t)nv : (size_t)nv;
}

static inline bool bench_write(const char *path, const double *numbers, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    const bool written = fwrite(numbers, sizeof *numbers, count, file) == count;
    return !fclose(file) && written;
}

/// Answers requests from standard input until it ends. `answer` gets the words of one line and prints its answer, which is
/// ended here.
static inline void bench_serve(void (*answer)(int count, char **words))
{
    char line[4096], *words[16];
    while (fgets(line, sizeof line, stdin)) {
        int n = 0;
        for (char *w = strtok(line, " \n"); w && n < 16; w = strtok(NULL, " \n")) words[n++] = w;
        if (n) answer(n, words);
        putchar('\n');
        fflush(stdout);
    }
}

#endif
