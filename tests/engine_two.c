/// The kernels in the portable lane of two.
#include "tests/lane_two.h"

#define ENGINE engine_two
#define ENGINE_NAME "two"
#include "sim/engine/engine_kernels.h"
