/// Passes of iterative LQR on a device: the way back, a block of threads for each block of time, and where roll-outs begin.
/// Roll-outs are those of the device's worlds, a warp an alpha (device_follow, sim/engine/device.h). The device has the
/// trajectory's arrays as they are here (control/ilqr_rooms.h); derivatives and costs are found here. docs/trajectories.md tells
/// what crosses.
#ifndef CATENA_CONTROL_ILQR_DEVICE_H
#define CATENA_CONTROL_ILQR_DEVICE_H

#include "control/ilqr_parts.h"
#include "sim/engine/device.h"

/// A device's functions for a trajectory, whose arrays are in the CPU's memory. CTN_NO_MEMORY: the device has not so much;
/// CTN_UNAVAILABLE: it has failed, and the trajectory on it is lost.
typedef struct ilqr_device {
    uint64_t layout;  // ILQR_LAYOUT of the sources that it was built from
    ilqr_there *(*open)(const ilqr *s, ctn_error *err);
    void (*close)(ilqr_there *there);
    // all that an iteration begins with goes there; K, kappa, P, s of all knots but the last and s->blocks come back: of knots
    // that a pass without a minimum has not come to, what they were
    ctn_status (*back)(ilqr_there *there, ilqr *s, int blocks, ctn_error *err);
    // after it: what is to be followed, from where roll-outs begin; then what was found: tried_X, tried_U, tried_d, tried
    ctn_status (*begin)(ilqr_there *there, device_follow *plan, ctn_error *err);
    ctn_status (*take)(ilqr_there *there, ilqr *s, ctn_error *err);
} ilqr_device;

#define ILQR_LAYOUT                                                                                                              \
    ((uint64_t)sizeof(struct ilqr) + 1000 * (sizeof(struct plant) + 1000 * (sizeof(device_follow) + 1000 * sizeof(ilqr_device))))

/// The trajectory goes to the device of its plant. CTN_UNAVAILABLE: it has no such passes; else as `open`.
ctn_status ilqr_go_there(ilqr *s, ctn_error *err);
void ilqr_leave_there(ilqr *s);

/// ilqr_backward and ilqr_forward of a trajectory that is there. good: as the former returns.
ctn_status ilqr_backward_there(ilqr *s, int blocks, bool *good, ctn_error *err);
ctn_status ilqr_forward_there(ilqr *s, ctn_error *err);

#endif
