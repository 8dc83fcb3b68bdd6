// Forms for the engine "cuda": a thread a link between scans, a block a tile within them, by CUB.
#include "dynamics/lane_scalar.h"
#include "sim/engine/device_runtime.h"
#include "sim/forms/forms_there.h"

#include <cub/block/block_scan.cuh>

/// Job::run for all k of all states, state by state. A few threads go in blocks of a warp, so that they are spread over all
/// processors.
enum { WARP = 32, FEW = 1 << 14 };

template <class Job> static __global__ __launch_bounds__(THREADS) void each(const __grid_constant__ Job job, int count, long long all)
{
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < all) Job::run(job, (int)(at / count), (int)(at % count));
}

template <class Job> static bool machine_each(const Job &job, int count, int states)
{
    const long long all = (long long)count * states;
    int threads = THREADS;
    if (all <= FEW) threads = WARP;
    each<Job><<<(unsigned)((all + threads - 1) / threads), (unsigned)threads>>>(job, count, all);
    return good(cudaGetLastError());
}

/// CUB's scan of a block: shuffles within warps, then over the warps, in an order that hangs on the number of threads alone.
template <class Scan> struct tile_scan {
    typedef typename Scan::element element;
    typedef cub::BlockScan<element, THREADS, cub::BLOCK_SCAN_WARP_SCANS> block;
    typedef typename block::TempStorage storage;
    struct times {
        __device__ element operator()(const element &a, const element &b) const { return Scan::product::times(a, b); }
    };
    /// What is before this thread's own product in the tile (not set in the first thread), and all of the tile.
    static __device__ void run(storage &shared, const element &own, element &before, element &all)
    {
        block(shared).ExclusiveScan(own, before, times(), all);
    }
};

template <class Scan> static __global__ __launch_bounds__(THREADS) void fold(const __grid_constant__ Scan s)
{
    __shared__ typename tile_scan<Scan>::storage shared;
    const int state = (int)(blockIdx.x / (unsigned)s.tiles), tile = (int)(blockIdx.x % (unsigned)s.tiles);
    typename Scan::element before, all;
    tile_scan<Scan>::run(shared, thread_product(s, state, tile, (int)threadIdx.x), before, all);
    if (!threadIdx.x) s.part[(size_t)state * ((size_t)s.tiles + 1) + (size_t)tile] = all;
}

template <class Scan> static __global__ __launch_bounds__(THREADS) void join(const __grid_constant__ Scan s)
{
    __shared__ typename tile_scan<Scan>::storage shared;
    const int state = (int)blockIdx.x, thread = (int)threadIdx.x;
    typename Scan::element carried = Scan::product::one(), before, all;
    for (int tile = 0; tile < s.tiles; tile++) {
        tile_scan<Scan>::run(shared, thread_product(s, state, tile, thread), before, all);
        thread_spread(s, state, tile, thread, thread ? Scan::product::times(carried, before) : carried);
        carried = Scan::product::times(carried, all);
        __syncthreads();  // before the shared memory is used again
    }
}

template <class Scan> static __global__ __launch_bounds__(THREADS) void spread(const __grid_constant__ Scan s)
{
    __shared__ typename tile_scan<Scan>::storage shared;
    const int state = (int)(blockIdx.x / (unsigned)s.tiles), tile = (int)(blockIdx.x % (unsigned)s.tiles), thread = (int)threadIdx.x;
    const typename Scan::element first =
        s.tiles > 1 ? s.part[(size_t)state * ((size_t)s.tiles + 1) + (size_t)tile] : Scan::product::one();
    typename Scan::element before, all;
    tile_scan<Scan>::run(shared, thread_product(s, state, tile, thread), before, all);
    thread_spread(s, state, tile, thread, thread ? Scan::product::times(first, before) : first);
}

template <class Scan> static bool machine_fold(const Scan &scan, int states)
{
    fold<Scan><<<(unsigned)scan.tiles * (unsigned)states, THREADS>>>(scan);
    return good(cudaGetLastError());
}

template <class Scan> static bool machine_join(const Scan &scan, int states)
{
    join<parts_of<Scan>><<<(unsigned)states, THREADS>>>(parts(scan));
    return good(cudaGetLastError());
}

template <class Scan> static bool machine_spread(const Scan &scan, int states)
{
    spread<Scan><<<(unsigned)scan.tiles * (unsigned)states, THREADS>>>(scan);
    return good(cudaGetLastError());
}

#include "sim/forms/forms_cusolver.h"
