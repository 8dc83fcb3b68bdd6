/// What a scene's `reward` counts for in the cost of its trajectories: `optimize.reward` times what is earned comes off.
///
/// Running terms are taken at the beginnings of knots, as costs are, where rewards of runs are taken at the ends of intervals;
/// terms of the last state at the end. Of second derivatives there are those of `smoothness` alone: others stand in `cost`.
/// States carry what motors were told last where that is a term (control/told_last.h).
#ifndef CATENA_CONTROL_REWARD_COST_H
#define CATENA_CONTROL_REWARD_COST_H

#include "control/plant.h"
#include "sim/scene/scene.h"

#include <catena/model.h>

typedef struct reward_cost reward_cost;

/// For horizons of `knots` knots of `knot` s. Scene and model must last. NULL: CTN_BAD_SCENE for a scene without a reward, or
/// with terms that have no derivatives; CTN_NO_MEMORY.
reward_cost *reward_cost_open(const ctn_scene *scene, const ctn_model *model, int knots, double knot, ctn_error *err);
void reward_cost_close(reward_cost *r);  // NULL is allowed

/// The horizon begins at `time`, s, of windows, where it is 0 at first; stands: all of its knots are then.
void reward_cost_begin(reward_cost *r, double time, bool stands);

added_cost reward_cost_added(reward_cost *r);

#endif
