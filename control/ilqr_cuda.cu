// Passes of iterative LQR for the engine "cuda": on the way back a block of threads has a block of time, and the matrices of its
// knot in shared memory where they fit. With -fmad=false the bits of the CPU.
#include "dynamics/lane_scalar.h"
#include "sim/engine/device_runtime.h"

struct ilqr_crew {
    int thread, threads;
};

FN void crew_wait(const ilqr_crew *) { __syncthreads(); }

#include "control/ilqr_there.h"

enum { WARP = 32, MOST_THREADS = 256, SHARED_BYTES = 40 << 10 };  // a block has 48 KiB without asking

static __global__ __launch_bounds__(MOST_THREADS) void back(const __grid_constant__ ilqr_job job, bool inside)
{
    extern __shared__ real numbers_inside[];
    __shared__ lanes_of_them shared;
    const int b = (int)blockIdx.x;
    const ilqr_crew crew = {(int)threadIdx.x, (int)blockDim.x};
    crew_back(&crew, job.of, job.blocks, b, inside ? numbers_inside : job.rooms + (size_t)b * job.room, &shared);
}

static __global__ __launch_bounds__(MOST_THREADS) void begin(const __grid_constant__ ilqr_job job)
{
    const ilqr_crew crew = {(int)threadIdx.x, (int)blockDim.x};
    crew_begin(&crew, job.of);
}

/// A thread an entry, in warps.
static unsigned threads_for(int entries)
{
    const int whole = (entries + WARP - 1) / WARP * WARP;
    return (unsigned)(whole < MOST_THREADS ? whole : MOST_THREADS);
}

static bool machine_back(const ilqr_job *job)
{
    const size_t bytes = job->room * sizeof(real);
    const bool inside =
        bytes <= SHARED_BYTES || good(cudaFuncSetAttribute(back, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    back<<<(unsigned)job->blocks, threads_for(job->entries), inside ? bytes : 0>>>(*job, inside);
    return good(cudaGetLastError());
}

static bool machine_begin(const ilqr_job *job)
{
    begin<<<1, threads_for(job->points)>>>(*job);
    return good(cudaGetLastError());
}
