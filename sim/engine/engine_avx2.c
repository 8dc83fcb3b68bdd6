/// The kernels in the avx2 lane.
#include <string.h>

#include "dynamics/lane_avx2.h"

#define ENGINE engine_avx2
#define ENGINE_NAME "avx2"
#include "sim/engine/engine_kernels.h"
