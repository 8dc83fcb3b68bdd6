/// Many trajectories of one scene, each from a state of its own, optimised side by side as catena/optimize.h does with one:
/// over lanes and threads, each with the bits that it has alone; limits too. Without costs of the program's own.
#ifndef CATENA_TRAJECTORIES_H
#define CATENA_TRAJECTORIES_H

#include <catena/optimize.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_trajectories ctn_trajectories;

/// cfg->worlds trajectories over `duration` s on cfg->threads threads, from x0 [worlds][nq + nv], with the scene's guess for each.
/// A guess that a world does not live through loses that world: `ctn_trajectories_lost`. Others as ctn_optimize_create. NULL on
/// error: CTN_BAD_ARGUMENT: x0 is not finite; as ctn_optimize_create.
CTN_API ctn_trajectories *ctn_trajectories_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg,
                                                  double duration, const double *x0, ctn_error *err);
CTN_API void ctn_trajectories_free(ctn_trajectories *trajectories);  // NULL is allowed

/// Parameters of what is steered, values [worlds][cfg->parameter_count], in the order of cfg->parameters; before the first call
/// those of the model: trajectories of many masses side by side, each as ctn_optimize_set_parameters says. A world that does not
/// live through what was found for it is lost; one that was lost begins with the guess again. Where there are parameters worlds
/// share no lanes, but go over threads one by one. CTN_BAD_ARGUMENT for values that a world cannot have, and without a list: then
/// nothing changes. CTN_INTERRUPTED: call it again before others.
CTN_API ctn_status ctn_trajectories_set_parameters(ctn_trajectories *trajectories, const double *values, ctn_error *err);

/// An iteration of each that is not over, up to `iterations` times. CTN_OK: also where worlds are lost. CTN_INTERRUPTED if
/// cfg->interrupt ended it, after which it can be called again: worlds may differ in how many iterations they have had.
CTN_API ctn_status ctn_trajectories_step(ctn_trajectories *trajectories, int iterations, ctn_error *err);

/// Whether any goes on.
CTN_API bool ctn_trajectories_run(const ctn_trajectories *trajectories);

/// Of a world. For NULL, or none of its worlds, all 0.
CTN_API ctn_optimize_state ctn_trajectories_get_state(const ctn_trajectories *trajectories, int world);

/// Why a world has no trajectory that goes on: CTN_FROZEN, CTN_UNAVAILABLE; CTN_OK: it has. message (NULL: not wanted): in
/// words, valid as long as the trajectories are.
CTN_API ctn_status ctn_trajectories_lost(const ctn_trajectories *trajectories, int world, const char **message);

CTN_API int ctn_trajectories_knots(const ctn_trajectories *trajectories);  // for NULL 0

/// Of a world, as ctn_optimize_states and so on. NULL for NULL, or none of its worlds.
CTN_API const double *ctn_trajectories_states(const ctn_trajectories *trajectories, int world);
CTN_API const double *ctn_trajectories_controls(const ctn_trajectories *trajectories, int world);
CTN_API const double *ctn_trajectories_gains(const ctn_trajectories *trajectories, int world);
CTN_API const double *ctn_trajectories_told_gains(const ctn_trajectories *trajectories, int world);

#ifdef __cplusplus
}
#endif
#endif
