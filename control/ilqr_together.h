/// Several trajectories of one kind of plant, side by side: each has the bits that it has alone (control/ilqr.h).
///
/// Their plants have the same sizes and step and are linearised alike; what trajectories cost may differ. So do their settings
/// agree, but for rho and tolerance.
#ifndef CATENA_CONTROL_ILQR_TOGETHER_H
#define CATENA_CONTROL_ILQR_TOGETHER_H

#include "control/ilqr.h"

/// Room to work in, of one thread at a time.
typedef struct ilqr_together ilqr_together;

/// For up to `most` trajectories, and as many points that are played at once. NULL: CTN_NO_MEMORY.
ilqr_together *ilqr_together_open(const plant *plant, int most, int points, ctn_error *err);
void ilqr_together_close(ilqr_together *t);  // NULL is allowed

/// How many should be worked on at once: the lanes of this machine.
int ilqr_together_lanes(void);

/// ilqr_step of each, with a status of its own, [count]; err: of one of those that are not CTN_OK.
void ilqr_step_together(ilqr_together *t, int count, ilqr *const *of, ctn_status *status, ctn_error *err);

/// ilqr_shift of each to x0 [count], likewise.
void ilqr_shift_together(ilqr_together *t, int count, ilqr *const *of, const double *const *x0, ctn_status *status,
                         ctn_error *err);

#endif
