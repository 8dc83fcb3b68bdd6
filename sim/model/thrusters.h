/// Thrusters of a model: motors that push links, as loads on their bodies (forces/thrust.h).
#ifndef CATENA_THRUSTERS_H
#define CATENA_THRUSTERS_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// How many of a scene's motors are thrusters.
int count_thrusters(const ctn_scene *scene);

/// Makes their loads, count_thrusters() of them with the numbers from `first` on. Frames of links are known.
void add_thrusters(ctn_model *m, const ctn_scene *scene, point_load *loads, int first);

/// Sets the force and the torque of thrusters that are told what stays, from the numbers of their motors.
void set_thrusts(ctn_model *m);

#endif
