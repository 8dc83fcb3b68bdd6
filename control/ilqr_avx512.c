/// The backward pass in the avx512 lane.
#include "dynamics/lane_avx512.h"

#define SWEEP sweep_avx512
#include "control/ilqr_sweep.h"
#include "control/ilqr_lanes.h"
