/// The pool: threads sleep until a list comes, take its jobs one by one from a common counter, and sleep again.
#define _GNU_SOURCE  // CPU_COUNT
#include "sim/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
    int threads, started;
    pid_t owner;        // the process that has the threads
    pthread_t *thread;  // [threads - 1]
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    // under `lock`
    long list;  // counts the lists handed out
    int busy;   // threads that have not finished the present list
    bool stop;
    pool_job job;
    void *context;
    int jobs;
    atomic_int next;
};

typedef struct {
    pool *p;
    int index;
} worker;

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
        pthread_mutex_lock(&p->lock);
        while (p->list == seen && !p->stop) pthread_cond_wait(&p->work, &p->lock);
        seen = p->list;
        const bool stop = p->stop;
        pthread_mutex_unlock(&p->lock);
        if (stop) return NULL;
        take_jobs(p, w.index);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0) pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
}

pool *pool_create(int threads)
{
    pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->threads = threads, p->owner = getpid();
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

void pool_free(pool *p)
{
    if (!p) return;
    if (!pool_orphaned(p)) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_broadcast(&p->work);
        pthread_mutex_unlock(&p->lock);
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
    pthread_mutex_lock(&p->lock);
    p->job = job, p->context = context, p->jobs = jobs;
    atomic_store(&p->next, 0);
    if (shared) {
        p->busy = p->started, p->list++;
        pthread_cond_broadcast(&p->work);
    }
    pthread_mutex_unlock(&p->lock);
    take_jobs(p, 0);
    if (!shared) return;
    pthread_mutex_lock(&p->lock);
    while (p->busy) pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

int pool_cpus(void)
{
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
