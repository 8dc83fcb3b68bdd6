// The kernels compiled for the GPU, one thread a world.
#include "tests/kernels_guard.h"

__global__ void guard_cuda(const lane_model *m, ctn_batch_config cfg, guard_work *w, const real *q, const real *v, real *out,
                           double *const *H, block_counts *counts)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    guard_all(m, &cfg, w + i, q, v, out, H, counts + i);
}
