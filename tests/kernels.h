/// The kernels themselves, in the scalar lane, for tests that look inside.
#ifndef CATENA_TESTS_KERNELS_H
#define CATENA_TESTS_KERNELS_H

#include "dynamics/lane_scalar.h"

#define ENGINE engine_test
#define ENGINE_NAME "test"
#define ENGINE_LINKAGE static __attribute__((unused))
#include "sim/engine/engine_kernels.h"

#include <stdlib.h>

/// The model as the kernels read it; free() it before `m`.
__attribute__((unused)) static lane_model *scalar_lanes(const ctn_model *m)
{
    const double dt = 0.01;
    lane_model *const to = (lane_model *)aligned_alloc(64, model_size(m));
    model_load(&m, &dt, to);
    return to;
}

#endif
