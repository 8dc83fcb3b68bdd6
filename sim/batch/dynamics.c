/// The public calls of catena/dynamics.h: an engine and its scratch memory.
#include "sim/batch/dynamics.h"

#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>

ctn_dynamics *ctn_dynamics_create(const ctn_model *model, const char *engine, ctn_error *err)
{
    if (missing(__func__, "model", model, err)) return NULL;
    const ctn_engine *one = engine_find(engine, 1, err), *many = engine_find(engine, 2, err);
    if (!one || !many) return NULL;
    ctn_dynamics *const dyn = malloc(sizeof *dyn);
    if (dyn) {
        *dyn = (ctn_dynamics){.model = model, .one = one, .many = many};
        dyn->lane = engine_model(one, model, 0), dyn->lanes = engine_model(many, model, 0);
    }
    if (dyn && dyn->lane && dyn->lanes) {
        const size_t a = one->dynamics_size(dyn->lane), b = many->dynamics_size(dyn->lanes);
        dyn->scratch = aligned_alloc(64, (a > b ? a : b) + 64);
        dyn->frames = malloc((size_t)model->nlink * 24 * sizeof *dyn->frames);
        dyn->columns = malloc(((size_t)model->nv * 7 + 1) * sizeof *dyn->columns);
        dyn->pulls = malloc(((size_t)model->nlink * 12 + (size_t)model->nv * 6 + 1) * sizeof *dyn->pulls);
        dyn->pulled = malloc((size_t)model->nlink * 2 + 1);
        if (dyn->scratch && dyn->frames && dyn->columns && dyn->pulls && dyn->pulled) return dyn;
    }
    ctn_dynamics_free(dyn);
    fail(err, CTN_NO_MEMORY, "not enough memory for the work space of the dynamics");
    return NULL;
}

void ctn_dynamics_free(ctn_dynamics *dyn)
{
    if (!dyn) return;
    free(dyn->lane), free(dyn->lanes), free(dyn->scratch), free(dyn->frames), free(dyn->columns);
    free(dyn->pulls), free(dyn->pulled);
    free(dyn);
}

void ctn_dynamics_set_time(ctn_dynamics *dyn, double time)
{
    if (!dyn || !isfinite(time)) return;
    dyn->one->model_time(dyn->lane, time), dyn->many->model_time(dyn->lanes, time);
}

const char *ctn_dynamics_engine(const ctn_dynamics *dyn) { return dyn ? dyn->many->name : NULL; }

/// Whether there are states, and no pointer [n] that the call needs is NULL; q and v may be where the model has no coordinates.
static bool ready(const ctn_dynamics *dyn, int count, int n, const double *const *needed)
{
    if (!dyn || count < 1) return false;
    for (int k = 0; k < n; k++)
        if (!needed[k] && dyn->model->nv) return false;
    return true;
}
#define READY(...) ready(dyn, count, sizeof((const double *[]){__VA_ARGS__}) / sizeof(double *), (const double *[]){__VA_ARGS__})

static const ctn_engine *engine_for(const ctn_dynamics *dyn, int count) { return count > 1 ? dyn->many : dyn->one; }
static const lane_model *model_for(const ctn_dynamics *dyn, int count) { return count > 1 ? dyn->lanes : dyn->lane; }

void ctn_forward_kinematics(ctn_dynamics *dyn, int count, const double *q, double *R, double *p)
{
    if (!READY(q)) return;
    engine_for(dyn, count)->forward_kinematics(model_for(dyn, count), dyn->scratch, count, q, R, p);
}

void ctn_link_twists(ctn_dynamics *dyn, int count, const double *q, const double *v, double *twist)
{
    if (!twist || !READY(q, v)) return;
    engine_for(dyn, count)->link_twists(model_for(dyn, count), dyn->scratch, count, q, v, twist);
}

void ctn_rnea(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a, double *tau)
{
    if (!READY(q, v, a, tau)) return;
    engine_for(dyn, count)->rnea(model_for(dyn, count), dyn->scratch, count, q, v, a, tau);
}

void ctn_bias(ctn_dynamics *dyn, int count, const double *q, const double *v, double *bias)
{
    if (!READY(q, v, bias)) return;
    engine_for(dyn, count)->rnea(model_for(dyn, count), dyn->scratch, count, q, v, NULL, bias);
}

void ctn_passive(ctn_dynamics *dyn, int count, const double *q, const double *v, double *passive)
{
    if (!READY(q, v, passive)) return;
    engine_for(dyn, count)->passive(model_for(dyn, count), dyn->scratch, count, q, v, passive);
}

void ctn_crba(ctn_dynamics *dyn, int count, const double *q, double *H)
{
    if (!READY(q, H)) return;
    engine_for(dyn, count)->crba(model_for(dyn, count), dyn->scratch, count, q, H);
}

void ctn_aba(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *tau, double *qdd)
{
    if (!READY(q, v, qdd)) return;
    engine_for(dyn, count)->aba(model_for(dyn, count), dyn->scratch, count, q, v, tau, qdd);
}

void ctn_rnea_derivatives(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a, double *dtau_dq,
                          double *dtau_dv, double *dtau_da)
{
    if (!READY(q, v, a)) return;
    engine_for(dyn, count)->rnea_derivatives(model_for(dyn, count), dyn->scratch, count, q, v, a, dtau_dq, dtau_dv, dtau_da);
}

void ctn_aba_derivatives(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *tau, double *dqdd_dq,
                         double *dqdd_dv, double *dqdd_dtau)
{
    if (!READY(q, v)) return;
    engine_for(dyn, count)->aba_derivatives(model_for(dyn, count), dyn->scratch, count, q, v, tau, dqdd_dq, dqdd_dv, dqdd_dtau);
}

void ctn_jacobian(ctn_dynamics *dyn, int count, const double *q, int link, double *J)
{
    if (!READY(q, J)) return;
    if (link < 0 || link >= dyn->model->nlink) {
        const size_t n = (size_t)count * 6 * (size_t)dyn->model->nv;
        for (size_t k = 0; k < n; k++) J[k] = NAN;
        return;
    }
    engine_for(dyn, count)->jacobian(model_for(dyn, count), dyn->scratch, count, q, link, J);
}

void ctn_energy_momentum(ctn_dynamics *dyn, int count, const double *q, const double *v, ctn_totals *totals)
{
    if (!totals || !READY(q, v)) return;
    engine_for(dyn, count)->totals(model_for(dyn, count), dyn->scratch, count, NULL, q, v, totals);
}

void ctn_sensors(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *tau, double *values)
{
    if (!values || !READY(q, v) || !dyn->model->nsensor) return;
    engine_for(dyn, count)
        ->sensors(model_for(dyn, count), dyn->scratch, dyn->model->sensors, dyn->model->nsensor, count, NULL, q, v, tau, NULL,
                  NULL, values, ctn_model_sensor_numbers(dyn->model));
}

void ctn_link_accelerations(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a, double *acceleration)
{
    if (!acceleration || !READY(q, v, a)) return;
    engine_for(dyn, count)->link_accelerations(model_for(dyn, count), dyn->scratch, count, q, v, a, acceleration);
}

void ctn_jacobian_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, int link, double *dJ)
{
    if (!READY(q, v, dJ)) return;
    if (link < 0 || link >= dyn->model->nlink) {
        const size_t n = (size_t)count * 6 * (size_t)dyn->model->nv;
        for (size_t k = 0; k < n; k++) dJ[k] = NAN;
        return;
    }
    engine_for(dyn, count)->jacobian_rate(model_for(dyn, count), dyn->scratch, count, q, v, link, dJ);
}
