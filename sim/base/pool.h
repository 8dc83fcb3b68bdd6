/// A fixed pool of threads that share out a list of equal jobs. Which thread does which job is left to chance: results must not
/// depend on it.
#ifndef CATENA_SIM_POOL_H
#define CATENA_SIM_POOL_H

#include <stdbool.h>

typedef struct pool pool;

/// One job, 0 .. jobs - 1, on thread `thread`, 0 .. threads - 1 (for scratch memory: a thread does one job at a time).
typedef void (*pool_job)(void *context, int thread, int job);

/// A pool of `threads` >= 1, the caller of pool_run() being one of them. NULL: no memory, or the system starts no more threads.
pool *pool_create(int threads);
void pool_free(pool *p);  // NULL is allowed

/// The same pool for one more owner, who frees it as well: threads that wait awake are in the way of those of another pool.
pool *pool_keep(pool *p);

int pool_threads(const pool *p);

/// Whether this is a forked child of the process that made the pool: its threads are not here.
bool pool_orphaned(const pool *p);

/// Does all jobs, and returns when the last one is done. One caller at a time. In a forked child the caller does them alone.
void pool_run(pool *p, int jobs, pool_job job, void *context);

/// How many threads this process may run at the same time: the CPUs that it is allowed to use.
int pool_cpus(void);

#endif
