/// The backward pass in the avx2 lane.
#include "dynamics/lane_avx2.h"

#define SWEEP sweep_avx2
#include "control/ilqr_sweep.h"
#include "control/ilqr_lanes.h"
