/// Controllers: what a scene's `controller` tells the motors of each world, by parameters that worlds may have of their own.
/// (docs/scene.md, Controller)
///
/// Before a step of a world, or every so many seconds of its time, its motors are told targets: of time, or of what sensors say
/// then. They stay until the next ones, and are a part of saved states; the parameters are not.
#ifndef CATENA_CONTROLLER_H
#define CATENA_CONTROLLER_H

#include <catena/batch.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How many parameters the controller of a model has; 0: there is none.
CTN_API int ctn_model_controller_parameters(const ctn_model *model);

/// Those that the scene gives, else where a search of them starts: start [count]; how far from there they are looked for at first:
/// sigma [count]; and within which bounds [count][2], which may be infinite. Each may be NULL.
CTN_API void ctn_model_controller(const ctn_model *model, double *start, double *sigma, double (*bounds)[2]);

/// Parameters of each world from now on, [worlds][count]; before the first call those of the model. CTN_BAD_ARGUMENT for a model
/// without a controller, and numbers that are not finite; nothing is changed then.
CTN_API ctn_status ctn_batch_set_controller(ctn_batch *batch, const double *parameters, ctn_error *err);

/// What the motors of all worlds are told now: u [worlds][targets], in the order of ctn_model_targets (catena/motors.h).
CTN_API void ctn_batch_targets(const ctn_batch *batch, double *u);

#ifdef __cplusplus
}
#endif
#endif
