// The engine "cuda": one thread a world, a launch for all steps of a call. Contraction is off (-fmad=false): the same bits as on
// the CPU. With CATENA_FLOAT the engine "cuda-float", the same in single precision. A library of its own, with the CUDA runtime
// in it; without a driver, machine_find() says so.
#include "dynamics/lane_scalar.h"
#include "sim/engine/device_worlds.h"
#include "sim/base/status.h"

#include "sim/engine/device_runtime.h"

#ifdef CATENA_FLOAT
#define MACHINE_NAME "cuda-float"
#define MACHINE_ALONG NULL
#define MACHINE_FORMS NULL
#define MACHINE_PLANS NULL
#else
#define MACHINE_NAME "cuda"
#define MACHINE_ALONG &along_device_here
#define MACHINE_FORMS &forms_device_here
#define MACHINE_PLANS &ilqr_device_here
extern "C" const struct along_device along_device_here;
extern "C" const struct forms_device forms_device_here;
extern "C" const struct ilqr_device ilqr_device_here;
#endif
enum { MACHINE_SCRATCH = 256 * 1024, THREADS = 32 };  // of a block: a warp, so that few worlds are spread over all processors
static ctn_status machine_find(ctn_error *err)
{
    int count = 0;
    if (!good(cudaGetDeviceCount(&count)))
        return fail(err, CTN_UNAVAILABLE, "needs an NVIDIA GPU and its driver (%s)", machine_error());
    return count ? CTN_OK : fail(err, CTN_UNAVAILABLE, "needs an NVIDIA GPU (none is visible)");
}

static bool machine_knows(const void *p)
{
    cudaPointerAttributes a;
    return good(cudaPointerGetAttributes(&a, p)) && (a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged);
}

/// Scratch memory is a thread's local memory, which the hardware interleaves: neighbouring threads that work on the same number
/// of their worlds read neighbouring memory.
template <int KIB> __global__ void run_worlds(const __grid_constant__ device_job job)
{
    __align__(16) char scratch[KIB * 1024];
    const int world = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (world < job.worlds) run_world(&job, world, scratch);
}

static bool machine_launch(const device_job *job, size_t scratch, void *stream)
{
    static const struct {
        size_t size;
        void (*kernel)(device_job);
    } kernels[] = {{4 << 10, run_worlds<4>},    {8 << 10, run_worlds<8>},   {16 << 10, run_worlds<16>},
                   {32 << 10, run_worlds<32>},  {64 << 10, run_worlds<64>}, {128 << 10, run_worlds<128>},
                   {256 << 10, run_worlds<256>}};
    size_t k = 0;
    while (kernels[k].size < scratch) k++;  // MACHINE_SCRATCH at most
    if (!good(cudaFuncSetCacheConfig((const void *)kernels[k].kernel, cudaFuncCachePreferL1))) return false;
    const unsigned blocks = (unsigned)((job->worlds - 1) / THREADS + 1);
    kernels[k].kernel<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*job);
    return good(cudaGetLastError()) && good(cudaStreamSynchronize((cudaStream_t)stream));
}

#include "sim/engine/device_table.h"
