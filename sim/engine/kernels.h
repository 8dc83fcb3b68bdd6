/// All kernels that engines call, over the lane that the including file has chosen (dynamics/lane.h). Each kernel includes those
/// that it calls itself.
#ifndef CATENA_KERNELS_H
#define CATENA_KERNELS_H

#include "dynamics/lane_model.h"
#include "dynamics/aba.h"
#include "dynamics/rnea.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "forces/joint_forces.h"
#include "forces/sensors.h"
#include "integrators/reactions.h"
#include "dynamics/derivatives.h"
#include "integrators/block_step.h"
#include "integrators/bond_sensors.h"
#include "integrators/contact_sensors.h"
#include "integrators/lane_run.h"
#include "integrators/block_adjoint.h"
#include "integrators/motor_map.h"

#endif
