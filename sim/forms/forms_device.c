/// The CPU's side of forms on a device.
#include "sim/forms/forms_device.h"
#include "sim/base/status.h"
#include "sim/engine/device.h"
#include "sim/forms/work.h"

#include <stdlib.h>

ctn_forms *ctn_forms_create_on(const ctn_tree *tree, const char *engine, ctn_error *err)
{
    const char *const call = "ctn_forms_create_on";
    if (missing(call, "tree", tree, err) || missing(call, "engine", engine, err)) return NULL;
    const char *const name = device_asked(engine);
    if (!name) {
        fail(err, CTN_BAD_ARGUMENT, "engine: expected 'cuda', found '%s'; forms on threads are made by ctn_forms_create", engine);
        return NULL;
    }
    const char *const why = device_missing(name);
    if (why) {
        fail(err, CTN_UNAVAILABLE, "engine: '%s' %s; forms on threads are made by ctn_forms_create", name, why);
        return NULL;
    }
    const forms_device *const device = device_find(name, err)->forms;
    if (!device || device->layout != FORMS_LAYOUT) {
        fail(err, CTN_UNAVAILABLE, "engine: '%s' has no forms; take 'cuda', or ctn_forms_create", name);
        return NULL;
    }
    ctn_forms *const f = ctn_forms_create(tree, 1, err);
    if (!f) return NULL;
    f->device = device, f->there = device->open(tree, err);
    if (f->there) return f;
    ctn_forms_free(f);
    return NULL;
}

bool forms_refused(const ctn_forms *f, const char *call, bool there, ctn_error *err)
{
    if (!f->there || there) return false;
    fail(err, CTN_UNAVAILABLE, "%s: this form is not on a device; take one that is (docs/scans.md), or ctn_forms_create", call);
    return true;
}
