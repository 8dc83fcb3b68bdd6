/// One world along its links in the lane of the engine avx2.
#include <string.h>

#include "dynamics/lane_avx2.h"

#define ALONG along_avx2
#define ALONG_NAME "avx2"
#include "sim/along/along_kernels.h"
