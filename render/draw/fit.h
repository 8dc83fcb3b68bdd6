/// What a camera has to have in sight of bodies.
#ifndef CATENA_RENDER_FIT_H
#define CATENA_RENDER_FIT_H

#include "render/draw/camera.h"
#include "render/draw/instances.h"

/// Adds the bodies, but for what is fixed, that are at most `most` m from the point `from`, which is the target of the orbit that
/// the fit began with.
void fit_bodies(const instance_list *bodies, const double *from, double most, camera_fit *fit);

/// Adds what links may touch, where they are as `r` says: of `fixed`, obstacles that have been moved by `shift` since, and of the
/// ground. What is no larger than the links are together is there as a whole, of what is larger the part about the point that is
/// nearest to them, to half their radius.
void fit_surroundings(const instance_list *fixed, const scene_reach *r, const double *shift, const double *from, camera_fit *fit);

#endif
