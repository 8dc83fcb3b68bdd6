/// The backward pass in the scalar lane, with -mfma: the same bits as ilqr_scalar.c, where fma is a library call.
#include "dynamics/lane_scalar.h"

#define SWEEP sweep_scalar_fma
#include "control/ilqr_sweep.h"
#include "control/ilqr_lanes.h"
