// Worlds along their links for the engine "cuda": a thread a lane; a launch for each list of jobs of one world, or one for all
// steps of many. With -fmad=false the bits of the CPU's engines.
#include "dynamics/lane_scalar.h"
#include "sim/engine/device_runtime.h"

enum { WARP = 32 };

/// The threads of a group: a block, or a part of a warp, of which `part` has the bits.
typedef struct {
    int thread, threads;
    unsigned part;
} along_crew;

FN void along_wait(along_crew *crew)
{
    if (crew->threads > WARP) __syncthreads();
    else __syncwarp(crew->part);
}

FN int along_next(int *p) { return atomicAdd(p, 1); }

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
    enum { FEW = 128 };
#define NAME_KERNEL(job) run_##job,
    static void (*const kernels[])(along_context, int) = {ALONG_TASKS(NAME_KERNEL)};
#undef NAME_KERNEL
    const unsigned threads = count > FEW ? WARP : 1, blocks = ((unsigned)count + threads - 1) / threads;
    kernels[task]<<<blocks, threads>>>(*context, count);
    return good(cudaGetLastError());
}

/// Groups are rows of a block, of which there are several in a warp.
template <bool COUPLED>
static __global__ void __launch_bounds__(MOST_THREADS_OF_GROUP) run_groups(const __grid_constant__ along_launch launch)
{
    const int group = (int)(blockIdx.x * blockDim.y + threadIdx.y), threads = (int)blockDim.x;
    along_crew crew;
    crew.thread = (int)threadIdx.x, crew.threads = threads;
    crew.part = threads < WARP ? ((1u << threads) - 1) << (threadIdx.y * blockDim.x) : ~0u;
    if (group < launch.groups) run_group(&launch, group, COUPLED, &crew);
}

static dim3 block_of(int threads) { return dim3((unsigned)threads, threads < WARP ? WARP / (unsigned)threads : 1); }

static bool machine_step(const along_launch *launch, int threads, bool coupled)
{
    const dim3 block = block_of(threads);
    const unsigned blocks = ((unsigned)launch->groups + block.y - 1) / block.y;
    if (coupled) run_groups<true><<<blocks, block>>>(*launch);
    else run_groups<false><<<blocks, block>>>(*launch);
    return good(cudaGetLastError());
}

static int machine_groups(int threads, bool coupled)
{
    const dim3 block = block_of(threads);
    int device = 0, processors = 0, blocks = 0;
    const void *const kernel = coupled ? (const void *)run_groups<true> : (const void *)run_groups<false>;
    if (!good(cudaGetDevice(&device)) || !good(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device)) ||
        !good(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)(block.x * block.y), 0)))
        return 0;
    return processors * blocks * (int)block.y;
}
