/// The pool: threads wait for a list, take its jobs one by one from a common counter, and wait again, at first awake.
#define _GNU_SOURCE  // CPU_COUNT
#include "sim/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// What threads look at while they wait, take jobs by, and report to has a cache line each, or they would slow each other down.
enum { CACHE_LINE = 64 };

struct pool {
    int threads, started, looks, owners;
    pid_t owner;        // the process that has the threads
    pthread_t *thread;  // [threads - 1]
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    int asleep;  // threads that wait for `work`, under `lock`
    bool stop;
    atomic_bool waiting;                   // the caller waits for `done`
    alignas(CACHE_LINE) atomic_long list;  // counts the lists handed out; what follows is written before
    pool_job job;
    void *context;
    int jobs;
    alignas(CACHE_LINE) atomic_int next;
    alignas(CACHE_LINE) atomic_int busy;  // threads that have not finished the present list
};

typedef struct {
    pool *p;
    int index;
} worker;

/// Lists that come one soon after another, as passes over one large tree do, find the threads awake: on a virtual machine, to
/// sleep and to wake up takes as long as many of these. So often a thread looks before it sleeps, some 200 microseconds, if each
/// has a CPU. (Not by the instruction `pause`: such machines take a CPU away from those that say it often.)
enum { LOOKS = 131072 };

static void take_jobs(pool *p, int thread)
{
    for (int k; (k = atomic_fetch_add(&p->next, 1)) < p->jobs;) p->job(p->context, thread, k);
}

static void *work(void *argument)
{
    const worker w = *(worker *)argument;
    pool *p = w.p;
    long seen = 0;
    free(argument);
    for (;;) {
        for (int k = 0; k < p->looks && atomic_load(&p->list) == seen;) k++;
        if (atomic_load(&p->list) == seen) {
            pthread_mutex_lock(&p->lock);
            p->asleep++;
            while (atomic_load(&p->list) == seen) pthread_cond_wait(&p->work, &p->lock);
            p->asleep--;
            pthread_mutex_unlock(&p->lock);
        }
        seen = atomic_load(&p->list);
        if (p->stop) return NULL;
        take_jobs(p, w.index);
        if (atomic_fetch_sub(&p->busy, 1) == 1 && atomic_load(&p->waiting)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

/// Hands out what has been written.
static void hand_out(pool *p)
{
    atomic_fetch_add(&p->list, 1);
    pthread_mutex_lock(&p->lock);
    if (p->asleep) pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}

pool *pool_create(int threads)
{
    pool *p = aligned_alloc(CACHE_LINE, sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->threads = threads, p->owners = 1, p->owner = getpid(), p->looks = threads <= pool_cpus() ? LOOKS : 0;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    p->thread = calloc((size_t)threads, sizeof *p->thread);
    for (; p->thread && p->started < threads - 1; p->started++) {
        worker *w = malloc(sizeof *w);
        if (w) *w = (worker){p, p->started + 1};
        if (!w || pthread_create(&p->thread[p->started], NULL, work, w)) {
            free(w);
            break;
        }
    }
    if (p->started == threads - 1) return p;
    pool_free(p);
    return NULL;
}

pool *pool_keep(pool *p) { return p->owners++, p; }

void pool_free(pool *p)
{
    if (!p || --p->owners) return;
    if (!pool_orphaned(p)) {
        p->stop = true;
        hand_out(p);
        for (int k = 0; k < p->started; k++) pthread_join(p->thread[k], NULL);
        pthread_mutex_destroy(&p->lock);
        pthread_cond_destroy(&p->work);
        pthread_cond_destroy(&p->done);
    }
    free(p->thread);
    free(p);
}

int pool_threads(const pool *p) { return p->threads; }

bool pool_orphaned(const pool *p) { return p->started && getpid() != p->owner; }

void pool_run(pool *p, int jobs, pool_job job, void *context)
{
    if (pool_orphaned(p)) {  // one of the threads that are not here may have held the lock
        for (int k = 0; k < jobs; k++) job(context, 0, k);
        return;
    }
    const bool shared = p->started && jobs > 1;
    p->job = job, p->context = context, p->jobs = jobs;
    atomic_store(&p->next, 0);
    if (shared) {
        atomic_store(&p->busy, p->started);
        hand_out(p);
    }
    take_jobs(p, 0);
    if (!shared) return;
    for (int k = 0; k < p->looks && atomic_load(&p->busy);) k++;
    if (!atomic_load(&p->busy)) return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->waiting, true);
    while (atomic_load(&p->busy)) pthread_cond_wait(&p->done, &p->lock);
    atomic_store(&p->waiting, false);
    pthread_mutex_unlock(&p->lock);
}

int pool_cpus(void)
{
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
