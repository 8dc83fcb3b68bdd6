/// The limits of a scene's trajectories, `optimize.limits`, as numbers between bounds (control/lagrangian.h).
#ifndef CATENA_CONTROL_LIMITS_H
#define CATENA_CONTROL_LIMITS_H

#include "control/lagrangian.h"
#include "sim/scene/scene.h"

#include <catena/model.h>

/// One thread at a time may use it.
typedef struct limits limits;

/// For horizons of `knots` knots of `knot` s. Scene and model must last. Limits of states count from the first knot on that
/// motors have an influence on, those of controls at all but the end. NULL: CTN_NO_MEMORY; CTN_BAD_SCENE where bounds that move
/// lie the wrong way round at a knot of the horizon that begins at 0.
limits *limits_open(const ctn_scene *scene, const ctn_model *model, int knots, double knot, ctn_error *err);
void limits_close(limits *l);  // NULL is allowed

/// The horizon begins at `time`, s, of windows, where it is 0 at first; stands: all of its knots are then.
void limits_begin(limits *l, double time, bool stands);

/// CTN_BAD_SCENE: a limit counts at no knot.
ctn_status limits_check(const limits *l, ctn_error *err);

const plant_limits *limits_of(const limits *l);

/// Which rows are limit k's: from *first on, so many.
int limits_rows(const limits *l, int k, int *first);

/// The most that limits are missed by at a point x, u: of those that count at knot k, or, `between` k and the next one, at both.
double limits_missed(limits *l, int k, bool between, const double *x, const double *u);

/// The most that limit k is missed by at x, u at `time`, s, wherever the horizon begins; 0 of those of the end.
double limits_missed_at(limits *l, int k, double time, const double *x, const double *u);

#endif
