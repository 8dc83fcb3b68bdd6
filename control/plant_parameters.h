/// Which parameters a scene's plant may have, whose costs, limits, bounds and rewards are those of the scene.
#ifndef CATENA_CONTROL_PLANT_PARAMETERS_H
#define CATENA_CONTROL_PLANT_PARAMETERS_H

#include "sim/scene/scene.h"

#include <catena/batch.h>
#include <catena/model.h>

/// CTN_UNAVAILABLE for those of `cfg` that are what is looked for, change the length of a knot, or would leave what a scene's
/// trajectories are judged by behind.
ctn_status plant_parameters_check(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err);

#endif
