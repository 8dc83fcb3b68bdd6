/// Forward dynamics by its forms: which one, of which states.
#include "sim/forms/forward.h"
#include "sim/forms/forms_device.h"
#include "sim/base/lapack.h"
#include "sim/base/status.h"

typedef struct {
    ctn_forward form;
    size_t limit;
    const double *q, *v, *tau;
    double *qdd;
} forward_states;

static ctn_status forward_state(work *w, void *context, int state, ctn_error *err)
{
    const forward_states *c = context;
    const size_t at = (size_t)state * (size_t)w->tree->n;
    const double *q = c->q + at, *v = c->v + at, *tau = c->tau + at;
    double *const qdd = c->qdd + at;
    switch (c->form) {
    case CTN_FORWARD_SERIAL: return star_aba(w, true, q, v, tau, qdd, err);
    case CTN_FORWARD_JSIIA: return jsiia(w, c->limit, q, v, tau, qdd, err);
    case CTN_FORWARD_HYBRID: return hybrid_abia(w, q, v, tau, qdd, err);
    case CTN_FORWARD_STAR: return star_aba(w, false, q, v, tau, qdd, err);
    }
    return fail(err, CTN_BAD_ARGUMENT, "form: expected one of ctn_forward, found %d", (int)c->form);
}

ctn_status ctn_forms_forward(ctn_forms *f, ctn_forward form, int count, const double *q, const double *v, const double *tau,
                             double *qdd, ctn_error *err)
{
    const char *const call = "ctn_forms_forward";
    if (missing(call, "forms", f, err) || missing(call, "q", q, err) || missing(call, "v", v, err) ||
        missing(call, "tau", tau, err) || missing(call, "qdd", qdd, err))
        return CTN_BAD_ARGUMENT;
    if ((int)form < CTN_FORWARD_SERIAL || form > CTN_FORWARD_STAR)
        return fail(err, CTN_BAD_ARGUMENT, "form: expected one of ctn_forward, found %d", (int)form);
    if (forms_refused(f, call, form == CTN_FORWARD_JSIIA || form == CTN_FORWARD_STAR, err)) return CTN_UNAVAILABLE;
    if (f->there) return forms_forward_there(f, form, count, q, v, tau, qdd, err);
    int had = 0;
    if (form == CTN_FORWARD_JSIIA) {
        ctn_status status = lapack_find("jsiia", err);
        if (!status) status = dense_check(f->tree, f->limit, err);
        if (status) return status;
        had = lapack_begin();
    }
    const ctn_status status = each_state(f, count, forward_state, &(forward_states){form, f->limit, q, v, tau, qdd}, err);
    lapack_end(had);
    return status;
}
