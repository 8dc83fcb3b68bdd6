/// What a camera has to have in sight of bodies.
#ifndef CATENA_RENDER_FIT_H
#define CATENA_RENDER_FIT_H

#include "render/draw/camera.h"
#include "render/draw/instances.h"

/// Adds the bodies that are at most `most` m from the point `from`, which is the target of the orbit that the fit began with.
void fit_bodies(const instance_list *bodies, const double *from, double most, camera_fit *fit);

/// Adds what is fixed near bodies, which fill the ball `extent`: what is no more than twice as large and no further off than its
/// diameter, and the floor below, if it is as near. What is larger reaches out of the picture.
void fit_surroundings(const instance_list *fixed, const scene_extent *extent, const double *from, camera_fit *fit);

#endif
