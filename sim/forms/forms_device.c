/// The CPU's side of forms on a device.
#include "sim/forms/forms_device.h"
#include "sim/base/status.h"
#include "sim/engine/device.h"
#include "sim/forms/forward.h"
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
    ctn_forms *const f = forms_create(tree, 1, PIECE_THERE, err);
    if (!f) return NULL;
    f->device = device, f->there = device->open(tree, &f->cut, err);
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

ctn_status forms_forward_there(ctn_forms *f, ctn_forward form, int count, const double *q, const double *v, const double *tau,
                               double *qdd, ctn_error *err)
{
    if (form == CTN_FORWARD_JSIIA) {
        int row = 0;
        ctn_status status = dense_check(f->tree, f->limit, err);
        if (!status) status = f->device->jsiia(f->there, f->all.origin, count, q, v, tau, qdd, &row, err);
        return row ? jsiia_not_positive(row, err) : status;
    }
    int *const fault = count > 0 ? malloc((size_t)count * sizeof *fault) : NULL;
    if (!fault) return count > 0 ? fail(err, CTN_NO_MEMORY, "no memory for %d states", count) : CTN_OK;
    ctn_status status = f->device->star(f->there, count, q, v, tau, qdd, fault, err);
    for (int k = 0; k < count && !status; k++) {
        const size_t at = (size_t)k * (size_t)f->tree->n;
        if (fault[k]) status = star_aba(&f->all, true, q + at, v + at, tau + at, qdd + at, err);
    }
    free(fault);
    return status;
}
