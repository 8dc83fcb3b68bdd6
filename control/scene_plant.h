/// A scene as a plant of trajectory optimisation: x = (q, v), and u what its motors are told, held over a knot of one step or
/// several. Where changes of u from knot to knot count, x = (q, v, p), with p what motors were told last (control/told_last.h).
///
/// Methods that carry more than (q, v) from step to step begin anew from (q, v) at every knot: between knots nothing else is
/// carried. With `remember` of the scene they go on instead, from the state that a way begins with: A and B are then by (q, v)
/// of each knot on that way, with what is remembered there as it is. Explicit methods carry nothing, so that a run of the scene
/// makes the same states to the last bit; of the others it does only where they remember, and docs/trajectories.md says by how
/// much.
#ifndef CATENA_CONTROL_SCENE_PLANT_H
#define CATENA_CONTROL_SCENE_PLANT_H

#include "control/costs.h"
#include "control/plant.h"

#include <catena/batch.h>

typedef struct scene_plant scene_plant;

/// Of a scene with `optimize:` and its model, over `duration` s in knots of the scene's length, in steps of `cfg`. `points`: so
/// many alpha are played side by side. Scene and model must last. NULL on error: CTN_BAD_SCENE where the scene lacks something,
/// or a knot is no number of steps; else as
/// plant_parameters_check (control/plant_parameters.h) and ctn_tapes_create.
scene_plant *scene_plant_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                              int points, ctn_error *err);
/// Whether there would be one, as far as that can be told without opening it, over the scene's own duration if it has one.
ctn_status scene_plant_check(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err);
void scene_plant_close(scene_plant *s);  // NULL is allowed

/// Parameters of the plant, values [parameter_count] of its configuration's list; at first those of the model. CTN_BAD_ARGUMENT
/// for values that it cannot have, and without a list: then nothing changes.
ctn_status scene_plant_set_parameters(scene_plant *s, const double *values, ctn_error *err);
const double *scene_plant_parameters(const scene_plant *s);

const plant *scene_plant_of(const scene_plant *s);
costs *scene_plant_costs(const scene_plant *s);
double scene_plant_knot(const scene_plant *s);  // s
int scene_plant_hold(const scene_plant *s);     // steps of a knot

/// Adds to what its trajectories cost. Up to SCENE_PLANT_ADDED times.
void scene_plant_add(scene_plant *s, added_cost more);
enum { SCENE_PLANT_ADDED = 4 };

/// What motors are told at first, U [knots][nu]: the plan that the scene plays already, or its `guess`, or the model's own
/// targets.
void scene_plant_guess(const scene_plant *s, double *U);

/// What motors may be told: `bounds` of the scene, and their own limits: [nu] each; false: there are none.
bool scene_plant_bounds(const scene_plant *s, double *lower, double *upper);

/// Bytes of a knot: what is kept to linearise it and by who steers, and the plan that is written.
size_t scene_plant_bytes(const scene_plant *s);

#endif
