/// Batches on a device: what sim/batch*.c do with lane blocks, through the device's table; and states in the device's memory.
#include "sim/batch/batch.h"
#include "sim/batch/batch_sensors.h"
#include "sim/base/status.h"

#include <catena/device.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A failure that a call cannot return: the next call that can says it.
static bool note_failure(const ctn_batch *batch, ctn_status status, const ctn_error *err)
{
    const ctn_status noted = batch->device_error->status;
    if (status != CTN_OK && (noted == CTN_OK || (status == CTN_UNAVAILABLE && noted != status))) *batch->device_error = *err;
    return status != CTN_OK;
}

static void undefined(double *x, size_t n)
{
    for (size_t k = 0; k < n && x; k++) x[k] = NAN;
}

ctn_status batch_device_failed(const ctn_batch *batch, ctn_error *err)
{
    const ctn_error e = *batch->device_error;
    if (e.status != CTN_UNAVAILABLE) *batch->device_error = (ctn_error){.status = CTN_OK};  // told now, and over
    return e.status == CTN_OK ? CTN_OK : fail(err, e.status, "%s", e.message);
}

/// Worlds with parameters of their own may have springs that the model has not: that is structure.
static void open_with_parameters(ctn_batch *batch, ctn_error *err)
{
    double dt = batch->cfg.dt, *const values = malloc((size_t)batch->cfg.parameter_count * sizeof *values);
    ctn_model *const variant = parameters_variant(batch->parameters);
    if (values && variant) {
        parameters_of_model(batch->parameters, dt, values);
        parameters_apply(batch->parameters, values, variant, &dt);
        batch->on_device = batch->device->open(variant, &batch->cfg, true, err);
    }
    free(values), free(variant);
}

bool batch_device_open(ctn_batch *batch, ctn_error *err)
{
    const size_t worlds = (size_t)batch->cfg.worlds;
    const ctn_engine *const engine = batch->engine;
    batch->model_size = engine->model_size(batch->model);
    batch->models = aligned_alloc(64, batch->model_size);
    batch->clocks = calloc(worlds, sizeof *batch->clocks);
    batch->falls = calloc(worlds, sizeof *batch->falls);
    batch->fallbacks = calloc(worlds, sizeof *batch->fallbacks);
    batch->use = calloc(1, sizeof *batch->use);
    batch->device_stats = calloc(worlds, sizeof *batch->device_stats);
    batch->device_error = calloc(1, sizeof *batch->device_error);
    if (!batch->models || !batch->clocks || !batch->falls || !batch->fallbacks || !batch->use || !batch->device_stats ||
        !batch->device_error)
        return false;
    engine->model_load(&batch->model, &batch->cfg.dt, lanes_of(batch, 0));
    batch->flat = malloc(DEVICE_CHUNK * (engine->flat_size(lanes_of(batch, 0), &batch->cfg) + 1) * sizeof *batch->flat);
    if (!batch->flat) return false;
    if (batch->parameters) open_with_parameters(batch, err);
    else batch->on_device = batch->device->open(batch->model, &batch->cfg, false, err);
    return batch->on_device != NULL;
}

bool batch_device_start(ctn_batch *batch, ctn_error *err)
{
    const ctn_model *const m = batch->model;
    const size_t worlds = (size_t)batch->cfg.worlds, nq = (size_t)m->nq, nv = (size_t)m->nv;
    double *const q = malloc((worlds * nq + 1) * sizeof *q), *const v = malloc((worlds * nv + 1) * sizeof *v);
    const bool room = q && v;
    for (size_t w = 0; w < worlds && room; w++)
        memcpy(q + w * nq, m->q0, nq * sizeof *q), memcpy(v + w * nv, m->v0, nv * sizeof *v);
    const bool ok = room && batch->device->set(batch->on_device, q, v, ON_HOST, err) == CTN_OK;
    free(q), free(v);
    return ok;
}

void batch_device_close(ctn_batch *batch)
{
    if (batch->on_device) batch->device->close(batch->on_device);
    free(batch->device_stats), free(batch->device_parts), free(batch->device_horizon), free(batch->device_error);
    free(batch->device_sensed);
}

ctn_status batch_device_parameters(ctn_batch *batch, ctn_error *err)
{
    const size_t n = (size_t)parameters_count(batch->parameters);
    for (int w = 0; w < batch->cfg.worlds; w++) {
        double dt = batch->cfg.dt;
        parameters_apply(batch->parameters, batch->values + (size_t)w * n, batch->variant[0], &dt);
        batch->device->constants(batch->on_device, w, batch->variant[0], dt);
        batch->dt[w] = dt;
    }
    return batch->device->send_constants(batch->on_device, err);
}

ctn_status batch_device_set(ctn_batch *batch, const double *q, const double *v, ctn_error *err)
{
    return batch->device->set(batch->on_device, q, v, ON_HOST, err);
}

void batch_device_state(ctn_batch *batch, double *q, double *v)
{
    ctn_error err;
    if (!note_failure(batch, batch->device->get(batch->on_device, q, v, ON_HOST, &err), &err)) return;
    undefined(q, (size_t)batch->cfg.worlds * (size_t)batch->model->nq);
    undefined(v, (size_t)batch->cfg.worlds * (size_t)batch->model->nv);
}

void batch_device_totals(ctn_batch *batch, ctn_totals *totals)
{
    ctn_error err;
    if (note_failure(batch, batch->device->totals(batch->on_device, totals, &err), &err))
        undefined((double *)totals, (size_t)batch->cfg.worlds * sizeof *totals / sizeof(double));
}

void batch_device_flatten(const ctn_batch *batch, int first, int count, bool load, double *flat)
{
    ctn_error err;
    const size_t n = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    if (note_failure(batch, batch->device->flatten(batch->on_device, first, count, load, flat, &err), &err) && !load)
        undefined(flat, (size_t)count * n);
}

ctn_status batch_device_load(ctn_batch *batch, double *flat, ctn_error *err)
{
    ctn_error why;
    const ctn_status status = batch->device->flatten(batch->on_device, 0, batch->cfg.worlds, true, flat, &why);
    if (!note_failure(batch, status, &why)) return CTN_OK;
    return fail(err, status, "%s", why.message);
}

/// Bytes of the forces on all worlds, which are kept here for sensors that feel them.
static size_t forces_size(const ctn_batch *batch)
{
    return batch_sensing_feels(batch) ? (size_t)batch->cfg.worlds * (size_t)batch->model->nv * sizeof *batch->tau : 0;
}

/// These forces [worlds][nv]; NULL: none are set, or no sensor feels them.
static const double *forces_set(const ctn_batch *batch)
{
    return batch->forced && batch_sensing_feels(batch) ? batch->tau : NULL;
}

void batch_device_force(ctn_batch *batch, const double *tau)
{
    ctn_error err;
    note_failure(batch, batch->device->force(batch->on_device, tau, ON_HOST, &err), &err);
    if (batch->tau && tau) memcpy(batch->tau, tau, forces_size(batch));
}

// ---- steps

/// What a call that goes step by step needs, kept for the next one. false: no memory.
static bool open_control(ctn_batch *batch, const ctn_run *run)
{
    const size_t numbers = run->sensed ? (size_t)ctn_model_sensor_numbers(batch->model) : 0;
    const size_t worlds = (size_t)batch->cfg.worlds;
    if (!batch->rows) batch->rows = calloc(worlds * row_size(batch->model), sizeof *batch->rows);
    if (!batch->device_parts) batch->device_parts = calloc(worlds, sizeof *batch->device_parts);
    if (!batch->device_horizon) batch->device_horizon = calloc(worlds, sizeof *batch->device_horizon);
    if (numbers && !batch->device_sensed) batch->device_sensed = calloc(worlds * numbers, sizeof *batch->device_sensed);
    return batch->rows && batch->device_parts && batch->device_horizon && (!numbers || batch->device_sensed);
}

/// The forces of step `at` of a call [worlds][nv], asked for or of the caller's table; NULL: those that are set.
static const double *forces_of_step(ctn_batch *batch, const ctn_run *run, int at, const ctn_step_stats *made, ctn_status *status,
                                    ctn_error *err)
{
    const size_t worlds = (size_t)batch->cfg.worlds, nv = (size_t)batch->model->nv;
    const world_rows rows = rows_at(batch, batch->rows, worlds);
    for (size_t w = 0; w < worlds && run->force; w++)
        memcpy(rows.tau + w * nv, run->force + (w * (size_t)run->steps + (size_t)at) * nv, nv * sizeof *rows.tau);
    if (run->force) return rows.tau;
    if (!run->control && !run->sensed) return NULL;
    if (run->sensed) batch_device_sense(batch, made, batch->device_sensed);  // before the rows are filled: it uses them
    if ((*status = batch_device_failed(batch, err)) != CTN_OK) return NULL;
    if ((*status = batch->device->get(batch->on_device, rows.q, rows.v, ON_HOST, err)) != CTN_OK) return NULL;
    for (int w = 0; w < batch->cfg.worlds; w++) rows.time[w] = time_after(batch, w, made ? &made[w] : NULL);
    memset(rows.tau, 0, worlds * nv * sizeof *rows.tau);
    if (!run->sensed) run->control(run->context, 0, batch->cfg.worlds, rows.time, rows.q, rows.v, rows.tau);
    else run->sensed(run->context, 0, batch->cfg.worlds, rows.time, batch->device_sensed, rows.q, rows.v, rows.tau);
    return rows.tau;
}

/// Step `at` of a call that goes step by step; adds to the statistics.
static ctn_status one_step(ctn_batch *batch, const ctn_run *run, int at, bool all, ctn_error *err)
{
    const size_t nv = (size_t)batch->model->nv;
    ctn_step_stats *const total = batch->device_stats, *const part = at ? batch->device_parts : total;
    ctn_status status = CTN_OK;
    if (!at && batch_senses_late(batch)) batch_device_note(batch, NULL, NULL);
    const double *const tau = forces_of_step(batch, run, at, at ? total : NULL, &status, err);
    if (status != CTN_OK) return status;
    for (int w = 0; w < batch->cfg.worlds; w++) {
        batch->device_horizon[w] = at < (run->horizon ? run->horizon[w] : run->steps);
        part[w].frozen = total[w].frozen;
    }
    const ctn_run one = {.steps = 1, .horizon = batch->device_horizon, .force = tau};
    if ((status = batch->device->step(batch->on_device, &one, all, part, err)) != CTN_OK) return status;
    for (int w = 0; w < batch->cfg.worlds; w++) {
        const double *const felt = tau ? tau : forces_set(batch);
        batch_sensing_step(batch, w, part[w].steps, felt ? felt + (size_t)w * nv : NULL);
        if (at && !total[w].frozen) ctn_step_stats_add(&total[w], &part[w]);
    }
    if (batch_senses_late(batch)) batch_device_note(batch, total, part);
    return batch_device_failed(batch, err);
}

/// Tells sensors of all steps of a call: the last ones' forces.
static void tell_sensors(ctn_batch *batch, const ctn_run *run)
{
    const size_t nv = (size_t)batch->model->nv;
    for (int w = 0; w < batch->cfg.worlds; w++) {
        const long steps = batch->device_stats[w].steps;
        const size_t row = run->force ? (size_t)w * (size_t)run->steps + (size_t)(steps ? steps - 1 : 0) : (size_t)w;
        const double *const felt = run->force ? run->force : forces_set(batch);
        batch_sensing_step(batch, w, steps, felt ? felt + row * nv : NULL);
    }
}

ctn_status batch_device_run(ctn_batch *batch, const ctn_run *run, bool all, ctn_error *err)
{
    ctn_error why;
    ctn_status status = batch_device_failed(batch, err);
    if (status != CTN_OK) return status;
    for (int w = 0; w < batch->cfg.worlds; w++) batch->device_stats[w].frozen = (ctn_freeze)batch->clocks[w].frozen;
    int most = run->horizon ? 0 : run->steps;
    for (int w = 0; w < batch->cfg.worlds && run->horizon; w++) most = run->horizon[w] > most ? run->horizon[w] : most;
    if (!most) status = batch->device->step(batch->on_device, &(ctn_run){.steps = 0}, all, batch->device_stats, &why);
    else if (!run->control && !run->sensed && !batch_senses_late(batch)) {
        status = batch->device->step(batch->on_device, run, all, batch->device_stats, &why);
        if (status == CTN_OK) tell_sensors(batch, run);
    } else if (!open_control(batch, run))
        status = fail(&why, CTN_NO_MEMORY, "not enough memory for the control of %d world%s", batch->cfg.worlds,
                      plural(batch->cfg.worlds));
    else
        for (int k = 0; k < most && status == CTN_OK; k++) status = one_step(batch, run, k, all, &why);
    if (status == CTN_UNAVAILABLE) note_failure(batch, status, &why);
    return status == CTN_OK ? CTN_OK : fail(err, status, "%s", why.message);
}

// ---- the device's memory

/// CTN_UNAVAILABLE if the batch has no device, or it has failed.
static ctn_status need_device(const char *call, const ctn_batch *batch, ctn_error *err)
{
    if (missing(call, "batch", batch, err)) return CTN_BAD_ARGUMENT;
    if (batch->device) return batch_device_failed(batch, err);
    return fail(err, CTN_UNAVAILABLE,
                "the engine '%s' has no memory of its own; make the batch with engine 'cuda', or take the calls of "
                "catena/batch.h",
                batch->cfg.engine);
}

ctn_status ctn_batch_device_stream(ctn_batch *batch, void *stream, ctn_error *err)
{
    const ctn_status status = need_device(__func__, batch, err);
    if (status == CTN_OK) batch->device->stream(batch->on_device, stream);
    return status;
}

ctn_status ctn_batch_device_state(ctn_batch *batch, double *q, double *v, ctn_error *err)
{
    const ctn_status status = need_device(__func__, batch, err);
    return status == CTN_OK ? batch->device->get(batch->on_device, q, v, ON_DEVICE, err) : status;
}

ctn_status ctn_batch_device_set_state(ctn_batch *batch, const double *q, const double *v, double time, ctn_error *err)
{
    const bool none =
        batch && ((batch->model->nq && missing(__func__, "q", q, err)) || (batch->model->nv && missing(__func__, "v", v, err)));
    ctn_status status = none ? CTN_BAD_ARGUMENT : need_device(__func__, batch, err);
    if (status == CTN_OK && !isfinite(time))
        status = fail(err, CTN_BAD_ARGUMENT, "time: expected a finite number, found %g", time);
    if (status == CTN_OK) status = batch->device->set(batch->on_device, q, v, ON_DEVICE, err);
    for (int w = 0; status == CTN_OK && w < batch->cfg.worlds; w++)
        batch->clocks[w] = (clock_state){.start = time}, batch_sensing_restart(batch, w);
    return status;
}

ctn_status ctn_batch_device_set_force(ctn_batch *batch, const double *tau, ctn_error *err)
{
    ctn_status status = need_device(__func__, batch, err);
    if (status == CTN_OK) status = batch->device->force(batch->on_device, tau, ON_DEVICE, err);
    if (status != CTN_OK) return status;
    batch->forced = tau != NULL;
    const size_t felt = tau ? forces_size(batch) : 0;
    return felt ? batch->device->copy(batch->on_device, batch->tau, tau, felt, ON_HOST, err) : CTN_OK;
}

void *ctn_batch_device_allocate(ctn_batch *batch, size_t bytes, ctn_error *err)
{
    return need_device(__func__, batch, err) == CTN_OK ? batch->device->allocate(batch->on_device, bytes, err) : NULL;
}

void ctn_batch_device_free(ctn_batch *batch, void *memory)
{
    if (batch && batch->device && memory) batch->device->release(batch->on_device, memory);
}

ctn_status ctn_batch_device_write(ctn_batch *batch, void *to, const void *from, size_t bytes, ctn_error *err)
{
    if (bytes && (missing(__func__, "to", to, err) || missing(__func__, "from", from, err))) return CTN_BAD_ARGUMENT;
    const ctn_status status = need_device(__func__, batch, err);
    return status == CTN_OK ? batch->device->copy(batch->on_device, to, from, bytes, ON_DEVICE, err) : status;
}

ctn_status ctn_batch_device_read(ctn_batch *batch, void *to, const void *from, size_t bytes, ctn_error *err)
{
    if (bytes && (missing(__func__, "to", to, err) || missing(__func__, "from", from, err))) return CTN_BAD_ARGUMENT;
    const ctn_status status = need_device(__func__, batch, err);
    return status == CTN_OK ? batch->device->copy(batch->on_device, to, from, bytes, ON_HOST, err) : status;
}
