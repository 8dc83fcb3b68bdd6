// What a GPU does for worlds along their links, on the CPU: jobs compiled as C++17, a launch as a loop. Jobs of a launch go
// from the last one to the first: on a GPU they are in no order. Groups of threads are side by side, with CTN_TWIN_THREADS threads
// each, if that is given (and the host's memory in sight), else one after another with one that does all jobs.
#include "tests/twin_machine.h"

#include <pthread.h>
#include <thread>
#include <vector>

typedef struct {
    int thread, threads;
    pthread_barrier_t *barrier;
} along_crew;

static void along_wait(along_crew *crew)
{
    if (crew->threads > 1) pthread_barrier_wait(crew->barrier);
}

static int along_next(int *p) { return __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); }

#include "sim/along/along_there.h"

static bool machine_launch(along_task task, int count, const along_context *context)
{
#define NAME_JOB(job) job,
    static void (*const jobs[])(void *, int, int) = {ALONG_TASKS(NAME_JOB)};
#undef NAME_JOB
    if (!may_launch()) return false;
    void (*const job)(void *, int, int) = jobs[task];
    const device_constant<along_context> constant(*context);
    along_context *const there = constant.there();
    launch_kernel([job, there, count] {
        for (int k = count - 1; k >= 0; k--) job(there, 0, k);
    });
    return true;
}

static int machine_groups(int, bool) { return 3; }

static void run_thread(const along_launch *launch, int group, bool coupled, along_crew crew)
{
    if (coupled) run_group(launch, group, true, &crew);
    else run_group(launch, group, false, &crew);
}

static bool machine_step(const along_launch *launch, int, bool coupled)
{
    if (!may_launch()) return false;
    const char *const asked = getenv("CTN_TWIN_THREADS");
    const int threads = asked ? atoi(asked) : 1;
    if (threads == 1) {
        const device_constant<along_launch> constant(*launch);
        const along_launch *const there = constant.there();
        launch_kernel([there, coupled] {
            for (int group = 0; group < there->groups; group++) run_thread(there, group, coupled, along_crew{0, 1, NULL});
        });
        return true;
    }
    std::vector<pthread_barrier_t> barrier((size_t)launch->groups);
    std::vector<std::thread> all;
    for (int group = 0; group < launch->groups; group++) {
        pthread_barrier_init(&barrier[(size_t)group], NULL, (unsigned)threads);
        for (int k = 0; k < threads; k++)
            all.emplace_back(run_thread, launch, group, coupled, along_crew{k, threads, &barrier[(size_t)group]});
    }
    for (std::thread &t : all) t.join();
    for (pthread_barrier_t &b : barrier) pthread_barrier_destroy(&b);
    return true;
}
