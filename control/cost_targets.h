/// Terms of costs, and their targets at the knots of a horizon: those that stay, and those that move with time as targets of
/// motors do (forces/signals.h).
#ifndef CATENA_CONTROL_COST_TARGETS_H
#define CATENA_CONTROL_COST_TARGETS_H

#include "control/told_last.h"

#include <catena/model.h>

/// A list of terms: those of `optimize.cost`, or what limits are of.
typedef struct cost_terms {
    const scene_cost *term;  // [count]
    int count;
    const scene_signal *signals;  // [nsignal], by which targets move
    int nsignal;
    bool told;  // states carry what motors were told last: x = (q, v, p)
} cost_terms;

/// Those of `optimize.cost`.
static inline cost_terms cost_terms_of(const ctn_scene *scene)
{
    const scene_optimize *const o = &scene->optimize;
    return (cost_terms){o->cost, o->ncost, o->signals, o->nsignal, told_last_counts(scene)};
}

typedef struct cost_targets cost_targets;

/// Of horizons of `knots` knots of `knot` s, that begin at time 0. The list is copied; what it points to and the model must last.
/// NULL: CTN_NO_MEMORY.
cost_targets *cost_targets_open(cost_terms of, const ctn_model *model, int knots, double knot, ctn_error *err);
void cost_targets_close(cost_targets *t);  // NULL is allowed

/// The horizon begins at `time`, s; stands: all of its knots are then.
void cost_targets_begin(cost_targets *t, double time, bool stands);

/// The target of term k at a knot, 0 .. knots: posture q [nq], velocity v [nv], control u [nu], its rate
/// [nu]; a point of the world [3], a turn
/// [4].
const double *cost_target(const cost_targets *t, int k, int knot);

/// Whether it moves.
bool cost_target_moves(const cost_targets *t, int k);

#endif
