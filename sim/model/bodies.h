/// The bodies of a model, out of the links of a scene.
#ifndef CATENA_SIM_BODIES_H
#define CATENA_SIM_BODIES_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// Makes the bodies of `m`, which has its links and gravity, the frames of the links in them, and all that follows from both.
/// False: no memory; what has been made so far is the model's.
bool make_bodies(const ctn_scene *scene, ctn_model *m);

/// The mass of the links that stand in `which` [nlink] and are carried by this body, -1: the world, with its first moment and its
/// inertia about the body's origin, in the body's frame.
void mass_of_links(const ctn_model *m, const ctn_scene *scene, const bool *which, int body, double *mass, double h[3],
                   double I[6]);

#endif
