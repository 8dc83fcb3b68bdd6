/// The optimisation of a scene's trajectory: `optimize:` of the scene by iterative LQR (control/ilqr.h), from a guess, or from a
/// plan that the scene plays already. What is found is a plan: a table of what motors are told, with states and gains, that a
/// controller of the type `plan` plays.
#ifndef CATENA_CONTROL_TRAJECTORY_H
#define CATENA_CONTROL_TRAJECTORY_H

#include "control/costs.h"
#include "control/lagrangian.h"
#include "sim/scene/scene.h"

#include <catena/batch.h>
#include <catena/model.h>

typedef struct trajectory trajectory;

/// What a trajectory of plant `p` costs, X [knots + 1][nx], U [knots][m], but for what limits add: terms of `c`, which are told
/// apart, over time and at the end [ncost], and what comes `besides` [count], where that has a context.
double trajectory_cost(costs *c, int ncost, const plant *p, const added_cost *besides, int count, const double *X,
                       const double *U, double *running, double *end);

/// What the scene says of the solver of so many knots, but for bounds.
ilqr_config trajectory_settings(const ctn_scene *scene, int knots);

/// Over `duration` s in steps of `cfg`; `more` is added to its cost (NULL: nothing), but not to trajectory_value. Scene and model
/// must last. NULL on error: CTN_BAD_SCENE, CTN_FROZEN for a guess that the scene does not live through, others as
/// ctn_tapes_create.
trajectory *trajectory_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                            const added_cost *more, ctn_error *err);
void trajectory_close(trajectory *t);  // NULL is allowed

/// Parameters of the plant, as scene_plant_set_parameters (control/scene_plant.h). The controls that were found are rolled out
/// anew, and iterations begin again from there, with the multipliers of limits. CTN_FROZEN: the plant does not live through that;
/// then parameters are what they were.
ctn_status trajectory_set_parameters(trajectory *t, const double *values, ctn_error *err);

/// One iteration; with limits, and other multipliers where these are due.
ctn_status trajectory_step(trajectory *t, ctn_error *err);

ilqr_state trajectory_state(const trajectory *t);         // the cost is that of `optimize.cost` alone
lagrangian_state trajectory_limits(const trajectory *t);  // without limits all 0
double trajectory_limit(const trajectory *t, int k,
                        int *active);  // the most that limit k is missed by, at how many knots it acts
const double *trajectory_multipliers(const trajectory *t, int *rows);  // [knots + 1][rows]; NULL without limits
int trajectory_knots(const trajectory *t);
double trajectory_knot(const trajectory *t);                 // s
size_t trajectory_bytes(const trajectory *t, size_t *knot);  // all, and of a knot
ilqr *trajectory_solver(const trajectory *t);
const plant *trajectory_plant(const trajectory *t);
double trajectory_plays(const trajectory *t, int k, double *running);  // what term k costs, in all and over time

/// A file to go on from with the same bits, and back. Errors as search_save and search_restore (control/search.h).
ctn_status trajectory_save(const trajectory *t, const char *path, ctn_error *err);
ctn_status trajectory_restore(trajectory *t, const char *path, ctn_error *err);

/// Writes the plan: a CSV file with the columns time, u0 .., q0 .., v0 .., K0_0 ..; a row a knot, and one for what comes after.
ctn_status trajectory_write(const trajectory *t, const char *path, ctn_error *err);

/// The scene's text with a controller that plays the plan in the file `table`, which lies beside the file `path` that the text is
/// for, and a first line `about`; to be freed. NULL: it is no scene, of a text in which controllers cannot be put.
char *trajectory_scene(const ctn_scene *scene, const char *path, const char *table, const char *about, ctn_error *err);

/// What a run of the scene that plays the plan costs, in steps of the scene or `finer` times as many, and the most that it misses
/// limits by, after each of these steps; NAN: it froze.
ctn_status trajectory_value(const trajectory *t, const char *scene, int finer, double *cost, double *missed, ctn_error *err);

#endif
