// Worlds along their links for the engine "cuda": a thread a lane, a launch for each job. With -fmad=false the bits of the CPU's
// engines.
#include "dynamics/lane_scalar.h"
#include "sim/engine/device_runtime.h"
#include "sim/along/along_there.h"

#define KERNEL_OF(job)                                                                                                           \
    static __global__ void run_##job(const __grid_constant__ along_context context, int count)                                   \
    {                                                                                                                            \
        const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                                              \
        if (k < count) job((void *)&context, 0, k);                                                                              \
    }
ALONG_TASKS(KERNEL_OF)

/// A few jobs have a processor each; more go in warps. Launches on the default stream follow each other.
static bool machine_launch(along_task task, int count, const along_context *context)
{
    enum { FEW = 128, WARP = 32 };
#define NAME_KERNEL(job) run_##job,
    static void (*const kernels[])(along_context, int) = {ALONG_TASKS(NAME_KERNEL)};
#undef NAME_KERNEL
    const unsigned threads = count > FEW ? WARP : 1, blocks = ((unsigned)count + threads - 1) / threads;
    kernels[task]<<<blocks, threads>>>(*context, count);
    return good(cudaGetLastError());
}
