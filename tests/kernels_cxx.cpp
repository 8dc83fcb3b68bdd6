// The kernels compiled as C++17.
#include "tests/kernels_guard.h"

void guard_cxx(const lane_model *m, const ctn_batch_config *cfg, guard_work *w, const real *q, const real *v, real *out, double *const *H,
               block_counts *counts)
{
    guard_all(m, cfg, w, q, v, out, H, counts);
}
