/// rootfix and leaffix of a vector tree, for the operators that dynamics needs: poses, first-order recurrences, sums of vectors
/// and of inertias.
///
/// All arrays are in the order of tree.h. rootfix: x, y [n] must not be the same. leaffix: they may; `slot` is for sums between.
/// CTN_SCAN_SIMULATED is CTN_SCAN_BLOCKED here.
#ifndef CATENA_SIM_FORMS_FIX_H
#define CATENA_SIM_FORMS_FIX_H

#include "sim/forms/work.h"

void rootfix_poses(work *w, ctn_scan scan, const se3 *x, se3 *y);
void rootfix_recurrences(work *w, ctn_scan scan, const recurrence *x, recurrence *y);
void rootfix_sums(work *w, ctn_scan scan, const vec6 *x, vec6 *y);
void leaffix_sums(work *w, ctn_scan scan, const vec6 *x, enum work_slot slot, vec6 *y);
void leaffix_inertias(work *w, ctn_scan scan, const inertia *x, enum work_slot slot, inertia *y);

/// The pose of each link in its parent [n], in SLOT_LOCAL. NULL: no memory.
se3 *local_poses(work *w, const double *q);

/// Likewise, and in the world, which it returns, in SLOT_POSE.
se3 *link_poses(work *w, ctn_scan scan, const double *q);

/// The origin of the common frame, from the poses in the world.
v3 common_origin(work *w, const se3 *T);

#endif
