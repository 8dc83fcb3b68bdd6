/// The kernels in the portable lane of eight.
#include "tests/lane_eight.h"

#define ENGINE engine_eight
#define ENGINE_NAME "eight"
#include "sim/engine/engine_kernels.h"
