/// The kernels themselves, in the scalar lane, for tests that look inside.
#ifndef CATENA_TESTS_KERNELS_H
#define CATENA_TESTS_KERNELS_H

#include "dynamics/lane_scalar.h"

#define ENGINE engine_test
#define ENGINE_NAME "test"
#define ENGINE_LINKAGE static __attribute__((unused))
#include "sim/engine_kernels.h"

#endif
