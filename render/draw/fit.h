/// What a camera has to have in sight of bodies.
#ifndef CATENA_RENDER_FIT_H
#define CATENA_RENDER_FIT_H

#include "render/draw/camera.h"
#include "render/draw/instances.h"

/// Adds the bodies that are at most `most` m from the point `from`, which is the target of the orbit that the fit began with.
void fit_bodies(const instance_list *bodies, const double *from, double most, camera_fit *fit);

#endif
