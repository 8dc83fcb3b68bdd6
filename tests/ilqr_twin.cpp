// What a GPU does for iterative LQR, on the CPU: blocks from the last to the first, each with a few threads, which go one after
// another from one wait to the next, in one launch the last one first, in the next one the first. So what is read before all
// threads have written it is not there yet in one of them.
#include "tests/twin_machine.h"

#include <stdio.h>

struct twin_block;
struct ilqr_crew {
    int thread, threads;
    twin_block *block;
};

static void crew_wait(const ilqr_crew *crew);

static bool machine_zero(void *to, size_t size)
{
    memset(to, 0, size);
    return true;
}

#include "control/ilqr_there.h"

enum { TWIN_CREW = 5, CREW_STACK = 1 << 18 };

/// The threads of the block in hand.
struct twin_block {
    ucontext_t scheduler, at[TWIN_CREW];
    ilqr_crew crew[TWIN_CREW];
    bool over[TWIN_CREW];
    const ilqr_job *job;
    int number;      // of the block; -1: where roll-outs begin
    int threads;     // TWIN_CREW, or one beneath sanitizers, which do not know of threads that go on elsewhere
    bool forwards;   // the first thread goes first
    bool lone_wait;  // some wait for others that are over: on a GPU for good
};
static twin_block *in_hand;

static void crew_wait(const ilqr_crew *crew)
{
    if (crew->threads > 1) swapcontext(&crew->block->at[crew->thread], &crew->block->scheduler);
}

static void run_thread(int thread)
{
    twin_block *const w = in_hand;
    const ilqr_job *const job = w->job;
    if (w->number < 0) crew_begin(&w->crew[thread], job->of);
    else
        crew_back(&w->crew[thread], job->of, job->blocks, w->number, job->rooms + (size_t)w->number * job->room,
                  job->shared + w->number);
    w->over[thread] = true;
}

static void run_block(twin_block *w, const ilqr_job *job, int number, char *stacks)
{
    in_hand = w, w->job = job, w->number = number;
    for (int k = 0; k < w->threads; k++) {
        w->crew[k] = ilqr_crew{k, w->threads, w}, w->over[k] = false;
        getcontext(&w->at[k]);
        w->at[k].uc_stack.ss_sp = stacks + k * CREW_STACK, w->at[k].uc_stack.ss_size = CREW_STACK;
        w->at[k].uc_link = &w->scheduler;
        makecontext(&w->at[k], (void (*)())run_thread, 1, k);
    }
    if (w->threads == 1) {
        run_thread(0);
        return;
    }
    for (int left = TWIN_CREW; left;) {
        left = 0;
        for (int i = TWIN_CREW - 1; i >= 0; i--) {
            const int k = w->forwards ? TWIN_CREW - 1 - i : i;
            if (!w->over[k]) swapcontext(&w->scheduler, &w->at[k]);
            left += !w->over[k];
        }
        w->lone_wait = w->lone_wait || (left && left < TWIN_CREW);
    }
}

static bool run_blocks(const ilqr_job *job, int first, int end)
{
    if (!may_launch()) return false;
    twin_block *const w = (twin_block *)device_map(sizeof *w);
    char *const stacks = (char *)device_map(TWIN_CREW * CREW_STACK);
    if (!w || !stacks) abort();
    static bool forwards;
    w->threads = sanitized() ? 1 : TWIN_CREW;
    w->lone_wait = false, w->forwards = forwards = !forwards;
    {
        const device_constant<ilqr_job> constant(*job);
        const ilqr_job *const there = constant.there();
        launch_kernel([w, there, first, end, stacks] {
            for (int b = end - 1; b >= first; b--) run_block(w, there, b, stacks);
        });
    }
    if (w->lone_wait) fprintf(stderr, "twin of the GPU: threads wait for others that are over\n"), abort();
    device_unmap(w), device_unmap(stacks);
    return true;
}

static bool machine_back(const ilqr_job *job) { return run_blocks(job, 0, job->blocks); }
static bool machine_begin(const ilqr_job *job) { return run_blocks(job, -1, 0); }
