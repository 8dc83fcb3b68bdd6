/// Whether a method and its time step can hold the springs, limits and dampers of a model: the test equation of the stiffest one.
#ifndef CATENA_SIM_STEP_LIMIT_H
#define CATENA_SIM_STEP_LIMIT_H

#include "sim/scene/scene.h"

/// The rate (1/s) at which the method makes the vibration x'' = -w2 x - c x' grow in steps of h (s); negative: it fades. w2
/// (1/s^2), c (1/s) >= 0. Of explicit methods and variational; of the others 0.
double growth_of_vibration(const ctn_batch_config *cfg, double w2, double c, double h);

/// Adds a warning to the scene's list if the method, in its steps, makes what the passive forces of joints do grow more than e
/// times within the scene's duration (10 s without one). False without memory.
bool warn_of_stiffness(ctn_scene *scene, const ctn_model *m, const ctn_batch_config *cfg);

#endif
