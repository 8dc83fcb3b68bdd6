/// The CPU's side of iterative LQR on a device.
#include "control/ilqr_device.h"
#include "sim/base/status.h"

ctn_status ilqr_go_there(ilqr *s, ctn_error *err)
{
    const ctn_device *const device = s->plant->there->device;
    if (device->plans->layout != ILQR_LAYOUT)
        return fail(err, CTN_UNAVAILABLE,
                    "engine: '%s' does not fit: its library belongs to another version of catena; take 'auto'", device->name);
    s->there = device->plans->open(s, err);
    return s->there ? CTN_OK : CTN_NO_MEMORY;
}

void ilqr_leave_there(ilqr *s)
{
    if (s->there) s->plant->there->device->plans->close(s->there);
}

ctn_status ilqr_backward_there(ilqr *s, int blocks, bool *good, ctn_error *err)
{
    ilqr_begin_back(s);
    const ctn_status status = s->plant->there->device->plans->back(s->there, s, blocks, err);
    *good = status == CTN_OK && ilqr_end_back(s, blocks);
    return status;
}

ctn_status ilqr_forward_there(ilqr *s, ctn_error *err)
{
    const plant_there *const on = s->plant->there;
    device_follow plan = {.hold = on->hold, .anew = on->anew};
    ctn_status status = on->device->plans->begin(s->there, &plan, err);
    if (status == CTN_OK) status = on->device->follow(on->worlds, &plan, err);
    return status == CTN_OK ? on->device->plans->take(s->there, s, err) : status;
}
