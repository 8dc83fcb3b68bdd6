/// What motors are told after a plan has ended.
#ifndef CATENA_CONTROL_TRAJECTORY_END_H
#define CATENA_CONTROL_TRAJECTORY_END_H

#include "control/plant.h"

/// Where a plan that ends at x [nx], after u [m], can rest: u becomes what holds it there, and K [m][n] gains by changes of x
/// that bring it back. One that ends on the move is to rest where that is: its velocities, nv numbers of x, become 0. false: it
/// does not rest there, or there is no memory; then all is as it was. knot: its length, s.
bool trajectory_end(const plant *p, double knot, int nv, double *x, double *u, double *K);

#endif
