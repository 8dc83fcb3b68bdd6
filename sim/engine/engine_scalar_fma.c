/// The scalar engine once more, with -mfma: the same bits as engine_scalar.c, where fma is a library call.
#include <string.h>

#include "dynamics/lane_scalar.h"

#define ENGINE engine_scalar_fma
#define ENGINE_NAME "scalar"
#include "sim/engine/engine_kernels.h"
