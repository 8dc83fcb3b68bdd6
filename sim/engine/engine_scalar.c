/// The kernels in the scalar lane.
#include <string.h>

#include "dynamics/lane_scalar.h"

#define ENGINE engine_scalar
#define ENGINE_NAME "scalar"
#include "sim/engine/engine_kernels.h"
