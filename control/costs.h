/// The cost of trajectories of a scene: `optimize.cost`, half of a sum of weights times squares of what differs from its targets,
/// over time, a knot's length times what its state and controls cost at its beginning, and at the end.
#ifndef CATENA_CONTROL_COSTS_H
#define CATENA_CONTROL_COSTS_H

#include "control/cost_targets.h"
#include "control/plant.h"

/// One thread at a time may use it.
typedef struct costs costs;

/// Of a list of terms, which is copied, for horizons of `knots` knots of `knot` s. What the list points to and the model must
/// last. NULL: CTN_NO_MEMORY.
costs *costs_open(cost_terms of, const ctn_model *model, int knots, double knot, ctn_error *err);
void costs_close(costs *c);  // NULL is allowed

/// The horizon begins at `time`, s, of targets that move and of windows, where it is 0 at first; stands: all of its knots are
/// then.
void costs_begin(costs *c, double time, bool stands);

/// As a plant's, at x = (q, v) [count][nx], or, where states carry what motors were told last, x = (q, v, p), u [count][nu]; of
/// derivatives up to knots + 1. Second derivatives are Gauss-Newton's: those of the squares, without what residuals bend, so
/// that they are positive semi-definite. Derivatives in tangent coordinates.
void costs_cost(costs *c, int count, const int *knot, const double *x, const double *u, double *cost);
void costs_derivatives(costs *c, int count, const int *knot, const double *x, const double *u, const plant_costs *to);

/// What each term costs in a trajectory, X [knots + 1][nx], U [knots][nu], over time and at the end: [ncost] each.
void costs_terms(costs *c, const double *X, const double *U, double *running, double *end);

/// How far x [nx] is from the target of term k where the horizon begins, m or rad, and how fast that changes where the
/// target stands, a second. false: it is not of posture, place, orientation or com, or has a target that never moves.
bool costs_distance(costs *c, int k, const double *x, double *far, double *rate);
/// What terms square: how many numbers all of them together have, and these at points: r [count][squares], and their derivatives
/// by changes of x and by u, J [count][squares][n + nu], NULL: not asked for. At the end u counts for nothing.
int costs_squares(const costs *c);
void costs_residuals(costs *c, int count, const double *x, const double *u, double *r, double *J);

#endif
