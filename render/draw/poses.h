/// Where the links of a world are drawn.
#ifndef CATENA_RENDER_POSES_H
#define CATENA_RENDER_POSES_H

#include <catena/catena.h>

/// Poses R [links][9], p [links][3] (m) of the links at q, all moved by `offset` (m), and their centre of mass there, which is
/// `offset` if nothing has mass. `mass_scale` [links]: masses are these times the model's; NULL: 1.
void world_poses(ctn_dynamics *dyn, const ctn_model *model, const double *mass_scale, const double *q, const double *offset,
                 double *R, double *p, double *com);

/// What a camera goes with that goes with a world of radius `radius` (m) which has been moved by `offset` and has its centre of
/// mass at `com`: the place below it on the ground or the terrain, so that a jump or a fall is seen as one. Where that is farther
/// below than some radii, the place so far below; without ground `com` itself.
void world_followed(const ctn_scene *scene, const ctn_model *model, double radius, const double *offset, const double *com,
                    double *place);

/// The masses of worlds first .. first + worlds - 1 of `all` as times the model's, scale [worlds][links], to be freed, if the
/// scene's `sample:` section draws masses; else NULL. False: no memory.
bool drawn_masses(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t first, int worlds, int64_t all,
                  double **scale);

#endif
