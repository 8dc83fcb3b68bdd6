/// What forward dynamics have in common: links in world axes about their own origins, heavy paths level by level.
#ifndef CATENA_SIM_FORMS_PATHS_H
#define CATENA_SIM_FORMS_PATHS_H

#include "sim/forms/fix.h"
#include "sim/forms/path_links.h"

/// Poses and angular velocities by scans, or by the recursion; room for factors and handed ports. false: no memory.
bool path_begin(path_call *c, work *w, const pieces *cut, ctn_scan scan, const double *q, const double *v);

/// The same state once more, after path_begin().
void path_again(path_call *c, work *w, const pieces *cut, const double *v);

/// Notes that link k has no inertia against its joint.
void path_bad(path_call *c, int k);
ctn_status path_bad_status(const path_call *c, ctn_error *err);

#endif
