/// One world along its links in the lane of the engine avx512.
#include <string.h>

#include "dynamics/lane_avx512.h"

#define ALONG along_avx512
#define ALONG_NAME "avx512"
#include "sim/along/along_kernels.h"
