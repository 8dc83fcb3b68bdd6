/// One world along its links in the lane of the engine scalar.
#include <string.h>

#include "dynamics/lane_scalar.h"

#define ALONG along_scalar
#define ALONG_NAME "scalar"
#include "sim/along/along_kernels.h"
