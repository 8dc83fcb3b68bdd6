/// One world along its links in the lane of the engine scalar_fma.
#include <string.h>

#include "dynamics/lane_scalar.h"

#define ALONG along_scalar_fma
#define ALONG_NAME "scalar-fma"
#include "sim/along/along_kernels.h"
