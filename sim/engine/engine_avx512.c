/// The kernels in the avx512 lane.
#include <string.h>

#include "dynamics/lane_avx512.h"

#define ENGINE engine_avx512
#define ENGINE_NAME "avx512"
#include "sim/engine/engine_kernels.h"
