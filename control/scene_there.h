/// The world of a scene's plant on a device (control/plant.h), where the engine that is asked for is one.
#ifndef CATENA_CONTROL_SCENE_THERE_H
#define CATENA_CONTROL_SCENE_THERE_H

#include "control/plant.h"
#include "sim/scene/scene.h"

#include <catena/batch.h>
#include <catena/model.h>

typedef struct scene_there scene_there;

/// For knots of `hold` steps of a checked configuration, whose engine is a device. The model must last. NULL: CTN_UNAVAILABLE,
/// where there is no device, or it has not what the model, or its parameters, need; CTN_NO_MEMORY.
scene_there *scene_there_open(const ctn_model *model, const ctn_batch_config *cfg, int hold, bool anew, ctn_error *err);
void scene_there_close(scene_there *s);  // NULL is allowed

const plant_there *scene_there_of(const scene_there *s);

#endif
