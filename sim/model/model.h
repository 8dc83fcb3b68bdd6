/// Questions about a model that more than one file of sim/ asks.
#ifndef CATENA_SIM_MODEL_H
#define CATENA_SIM_MODEL_H

#include "dynamics/model.h"

/// The place of a link's quaternion among the coordinates of its joint; those before it have rates. nq: it has none.
int link_quaternion(const ctn_link *link);

/// Checks that a world can start from q [nq] and v [nv]: all finite, quaternions of a length that can be normalised. The message names
/// the world.
ctn_status state_check(const ctn_model *m, const double *q, const double *v, int world, ctn_error *err);

/// Sets force_scale, the scales of a residual row under `gravity` [3], from masses, extent and armature. (docs/theory.md 3.3)
void body_force_scales(ctn_body *body, const double *gravity);

/// Sets `held` of all bodies, from their world springs.
void load_scales(ctn_model *model);

#endif
