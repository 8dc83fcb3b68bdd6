/// The bodies of a model, out of the links of a scene.
#ifndef CATENA_SIM_BODIES_H
#define CATENA_SIM_BODIES_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// Makes the bodies of `m`, which has its links and gravity, the frames of the links in them, and all that follows from both.
/// False: no memory; what has been made so far is the model's.
bool make_bodies(const ctn_scene *scene, ctn_model *m);

#endif
