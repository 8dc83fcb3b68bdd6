/// The backward pass in the scalar lane.
#include "dynamics/lane_scalar.h"

#define SWEEP sweep_scalar
#include "control/ilqr_sweep.h"
#include "control/ilqr_lanes.h"
