/// Batches: worlds in lane blocks, their configuration, parameters, state and time.
#include "sim/batch/batch.h"
#include "sim/batch/batch_controller.h"
#include "sim/batch/batch_sensors.h"

#include "sim/base/config.h"
#include "sim/model/model.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t n) { return (n + 63) / 64 * 64 + 64; }

static void start_block(void *batch_, int thread, int b)
{
    ctn_batch *batch = batch_;
    const double *q[MOST_LANES], *v[MOST_LANES];
    for (int l = 0; l < batch->engine->lanes; l++) q[l] = batch->model->q0, v[l] = batch->model->v0;
    batch->engine->set(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), q, v);
}

/// Puts the parameters of its worlds into the model of a block.
void batch_load_block(ctn_batch *batch, int block)
{
    const int lanes = batch->engine->lanes, count = worlds_in(batch, block), n = parameters_count(batch->parameters);
    const ctn_model *model[MOST_LANES];
    double dt[MOST_LANES];
    for (int l = 0; l < lanes; l++) {
        const int w = block * lanes + (l < count ? l : count - 1);
        dt[l] = batch->cfg.dt;
        parameters_apply(batch->parameters, batch->values + (size_t)w * (size_t)n, batch->variant[l], &dt[l]);
        batch_apply_wrenches(batch, w, batch->variant[l]);
        model[l] = batch->variant[l], batch->dt[w] = dt[l];
    }
    batch->engine->model_load(model, dt, lanes_of(batch, block));
    batch_tell_lanes(batch, block);
}

ctn_status batch_load_parameters(ctn_batch *batch, ctn_error *err)
{
    if (batch->device) return batch_device_parameters(batch, err);
    if (batch->along) batch_along_forget(batch);
    for (int b = 0; b < batch->blocks; b++) batch_load_block(batch, b);
    return CTN_OK;
}

/// The parameters that worlds have of their own, at first those of the model. false: no memory, or see `err`.
static bool open_parameters(ctn_batch *batch, ctn_error *err)
{
    const size_t n = (size_t)batch->cfg.parameter_count, worlds = (size_t)batch->cfg.worlds;
    const bool fresh = !batch->dt;
    if (fresh) batch->values = malloc(worlds * n * sizeof *batch->values + 1), batch->dt = malloc(worlds * sizeof *batch->dt);
    for (int l = 0; l < batch->engine->lanes; l++)
        if (!(batch->variant[l] = parameters_variant(batch->parameters))) return false;
    if (!batch->values || !batch->dt) return false;
    for (size_t w = 0; w < worlds && fresh; w++) parameters_of_model(batch->parameters, batch->cfg.dt, batch->values + w * n);
    return batch_load_parameters(batch, err) == CTN_OK;
}

bool batch_open_models(ctn_batch *batch, const ctn_model *m, ctn_error *err)
{
    const ctn_engine *const engine = batch->engine;
    const ctn_model *of[MOST_LANES];
    const size_t threads = (size_t)job_threads(batch), blocks = (size_t)batch->blocks;
    double dt[MOST_LANES];
    batch->models = batch->work = batch->lane_models = batch->lane_work = NULL;
    memset(batch->variant, 0, sizeof batch->variant);
    batch->model_size = engine->model_size(m);
    batch->models = aligned_alloc(64, (batch->parameters ? blocks : 1) * batch->model_size);
    if (!batch->models) return false;
    for (int l = 0; l < engine->lanes; l++) of[l] = m, dt[l] = batch->cfg.dt;
    if (!batch->parameters) engine->model_load(of, dt, lanes_of(batch, 0));
    else if (!open_parameters(batch, err)) return false;
    const lane_model *const lanes = lanes_of(batch, 0);
    const size_t step = engine->work_size(lanes, &batch->cfg), dynamics = engine->dynamics_size(lanes);
    batch->work_size = round_up(step > dynamics ? step : dynamics);
    batch->work = aligned_alloc(64, threads * batch->work_size);
    if (!batch->work) return false;
    memset(batch->work, 0, threads * batch->work_size);
    if (!by_iteration(batch)) return true;
    batch->lane_models = aligned_alloc(64, 2 * threads * batch->model_size);
    batch->lane_work = aligned_alloc(64, threads * batch->work_size);
    if (!batch->lane_models || !batch->lane_work) return false;
    memset(batch->lane_work, 0, threads * batch->work_size);
    return true;
}

void batch_close_models(ctn_batch *batch)
{
    for (int l = 0; l < MOST_LANES; l++) free(batch->variant[l]);
    free(batch->models), free(batch->work), free(batch->lane_models), free(batch->lane_work);
}

/// Memory for everything, and the worlds at their start. false: there is not enough.
static bool open_blocks(ctn_batch *batch)
{
    const ctn_engine *const engine = batch->engine;
    const ctn_model *const m = batch->model;
    const size_t worlds = (size_t)batch->cfg.worlds, threads = (size_t)job_threads(batch), blocks = (size_t)batch->blocks;
    if (!batch_open_models(batch, m, NULL)) return false;
    const lane_model *const lanes = lanes_of(batch, 0);
    batch->state_size = round_up(engine->state_size(lanes, &batch->cfg));
    batch->states = aligned_alloc(64, blocks * batch->state_size);
    const bool along = batch->cfg.parallel != CTN_PARALLEL_WORLDS;
    const size_t counts = sizeof *batch->fallbacks + (along ? sizeof *batch->serial : 0);
    if (batch->cfg.interrupt) batch->kept = malloc(blocks * batch->state_size + worlds * (sizeof *batch->clocks + counts));
    const size_t numbers = engine->flat_size(lanes, &batch->cfg) + (along ? engine->motion_size(lanes, &batch->cfg) : 0);
    batch->flat = calloc(threads * numbers + 1, sizeof *batch->flat);
    batch->rows = calloc(threads * MOST_LANES * row_size(m), sizeof *batch->rows);
    if (!batch->pool) batch->pool = pool_create(job_threads(batch));
    batch->fallbacks = calloc(worlds, sizeof *batch->fallbacks);
    if (along) batch->serial = calloc(worlds, sizeof *batch->serial);
    batch->use = calloc(threads, sizeof *batch->use);
    if (by_iteration(batch)) {
        batch->lane_states = aligned_alloc(64, 2 * threads * batch->state_size);
        batch->queue = calloc(worlds, sizeof *batch->queue), batch->cost = calloc(worlds, sizeof *batch->cost);
        if (!batch->lane_states || !batch->queue || !batch->cost) return false;
        for (int w = 0; w < batch->cfg.worlds; w++) batch->queue[w].world = w;
    }
    batch->clocks = calloc(worlds, sizeof *batch->clocks);
    batch->falls = calloc(worlds, sizeof *batch->falls);
    batch->tau = calloc(worlds * (size_t)m->nv + 1, sizeof *batch->tau);
    if (!batch->states || !batch->flat || !batch->rows || !batch->pool || !batch->fallbacks || !batch->use || !batch->clocks ||
        !batch->falls || !batch->tau || (batch->cfg.interrupt && !batch->kept) || (along && !batch->serial))
        return false;
    memset(batch->states, 0, blocks * batch->state_size);
    pool_run(batch->pool, batch->blocks, start_block, batch);
    return true;
}

static bool open_on_device(ctn_batch *batch, ctn_error *err)
{
    return batch_device_open(batch, err) && (!batch->parameters || open_parameters(batch, err)) && batch_device_start(batch, err);
}

ctn_status ctn_batch_check(const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err)
{
    if (missing(__func__, "model", model, err)) return CTN_BAD_ARGUMENT;
    ctn_status status = config_check(cfg, err);
    if (status == CTN_OK) status = config_check_model(cfg, model, err);
    if (status != CTN_OK) return status;
    const char *const on_device = device_asked(cfg->engine);
    if (on_device && cfg->dense)
        return fail(err, CTN_UNAVAILABLE, "dense: the engine '%s' has no dense output; take 'scalar' or 'avx2'", on_device);
    if (on_device && model->controller)
        return fail(err, CTN_UNAVAILABLE, "controller: the engine '%s' takes none in this version; take an engine of the CPU",
                    on_device);
    if (on_device && config_between(model))
        return fail(err, CTN_UNAVAILABLE, "engine: '%s' takes no %s in this version; take an engine of the CPU", on_device,
                    config_between(model));
    status = batch_along_check(model, cfg, err);
    return status == CTN_OK ? batch_sensing_check(model, cfg, err) : status;
}

ctn_batch *ctn_batch_create(const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err)
{
    return batch_create(model, cfg, false, NULL, err);
}

/// Worlds of many trees that may touch each other share little of a step in lanes, and wait for each other: 50 balls take 1.2 times
/// as long as one by one. So 'auto' takes an engine of one lane there. (docs/performance.md)
enum { LANES_PAY = 40 };
static int worlds_side_by_side(const ctn_model *m, int worlds) { return m->nmatrix_group < LANES_PAY ? worlds : 1; }

ctn_batch *batch_create(const ctn_model *model, const ctn_batch_config *cfg, bool told, pool *lent, ctn_error *err)
{
    if (ctn_batch_check(model, cfg, err) != CTN_OK) return NULL;
    const char *const on_device = device_asked(cfg->engine);
    const ctn_parallel parallel = batch_parallel(model, cfg);
    const bool device_worlds = on_device && parallel == CTN_PARALLEL_WORLDS;  // else they are here, and their steps made there
    const bool along = parallel != CTN_PARALLEL_WORLDS;
    const ctn_engine *const lanes = engine_find(cfg->engine, along ? 2 : worlds_side_by_side(model, cfg->worlds), err);
    const ctn_engine *const engine = along && lanes ? engines_available()[0] : lanes;  // states are those of the scalar one
    if (engine && on_device && cfg->adaptive && cfg->error_tolerance < device_find(on_device, err)->least_error) {
        fail(err, CTN_BAD_CONFIG, "error_tolerance: the engine '%s' works with %g or more, found %g", on_device,
             device_find(on_device, err)->least_error, cfg->error_tolerance);
        return NULL;
    }
    const bool own_models = cfg->parameter_count || model->controller || told;
    parameters *const own = engine && own_models ? parameters_create(model, cfg->parameters, cfg->parameter_count, err) : NULL;
    if (!engine || (own_models && !own)) return NULL;
    ctn_batch *const batch = calloc(1, sizeof *batch);
    if (batch) {
        batch->told = told, batch->model = model, batch->engine = engine, batch->cfg = *cfg, batch->parameters = batch->listed = own;
        batch->device = device_worlds ? device_find(on_device, err) : NULL;
        batch->cfg.engine = on_device ? on_device : lanes->name;
        batch->cfg.parallel = parallel;
        batch->cfg.parameters = own ? parameters_list(own) : NULL;
        // what a solve leaves over acts as an impulse, over all parts to come: small beside the error that a part may have
        if (cfg->adaptive) batch->cfg.tolerance = fmin(cfg->tolerance, 1e-6 * cfg->error_tolerance);
        if (batch->device) batch->cfg.tolerance = fmax(batch->cfg.tolerance, batch->device->least_tolerance);
        batch->blocks = batch->device ? 0 : (cfg->worlds - 1) / engine->lanes + 1;
        batch->constants = model_constants(model);
        if (!cfg->threads) batch->cfg.threads = pool_cpus();
        if (batch->cfg.threads > batch->blocks && parallel != CTN_PARALLEL_LINKS)
            batch->cfg.threads = batch->device ? 1 : batch->blocks;
        if (lent) batch->cfg.threads = pool_threads(lent), batch->pool = pool_keep(lent);
    } else parameters_free(own);
    ctn_error why;
    const int threads = batch ? batch->cfg.threads : pool_cpus();
    fail(&why, CTN_NO_MEMORY, "not enough memory for %d world%s on %d thread%s", cfg->worlds, plural(cfg->worlds), threads,
         plural(threads));
    if (batch && (batch->device ? open_on_device(batch, &why) : open_blocks(batch)) &&
        (!along || batch_along_open(batch, &why)) && batch_sensing_open(batch) && (told || batch_telling_open(batch))) {
        batch->cfg.lanes = ctn_batch_lanes(batch);
        return batch;
    }
    ctn_batch_free(batch);
    if (err) *err = why;
    return NULL;
}

void ctn_batch_free(ctn_batch *batch)
{
    if (!batch) return;
    if (batch->device) batch_device_close(batch);
    batch_along_close(batch), batch_sensing_close(batch), batch_telling_close(batch);
    pool_free(batch->pool);
    if (batch->parameters != batch->listed) parameters_free(batch->parameters);
    parameters_free(batch->listed);
    batch_close_models(batch);
    free(batch->with_wrenches), free(batch->places), free(batch->wrenches);
    free(batch->flat), free(batch->states), free(batch->kept), free(batch->rows);
    free(batch->fallbacks), free(batch->serial), free(batch->clocks), free(batch->falls);
    free(batch->tau), free(batch->values), free(batch->dt), free(batch->use), free(batch->lane_states);
    free(batch->queue), free(batch->cost);
    free(batch);
}

const ctn_batch_config *ctn_batch_configuration(const ctn_batch *batch) { return batch ? &batch->cfg : NULL; }

const ctn_model *ctn_batch_model(const ctn_batch *batch) { return batch ? batch->model : NULL; }

double ctn_batch_time(const ctn_batch *batch, int world)
{
    if (!batch || world < 0 || world >= batch->cfg.worlds) return NAN;
    return time_after(batch, world, NULL);
}

size_t ctn_batch_bytes(const ctn_batch *batch)
{
    if (!batch) return 0;
    const size_t worlds = (size_t)batch->cfg.worlds, blocks = (size_t)batch->blocks;
    const size_t world =
        sizeof *batch->clocks + sizeof *batch->falls + (batch->device ? sizeof *batch->device_stats : 0) +
        sizeof *batch->fallbacks + (batch->serial ? sizeof *batch->serial : 0) + (size_t)batch->model->nv * sizeof *batch->tau +
        (size_t)batch->cfg.parameter_count * sizeof *batch->values + (size_t)batch->nplace * sizeof *batch->wrenches +
        (batch->dt ? sizeof *batch->dt : 0) + (batch->queue ? sizeof *batch->queue + sizeof *batch->cost : 0);
    return worlds * (world + batch_sensing_numbers(batch) * sizeof(double) + batch_telling_bytes(batch)) +
           batch_along_bytes(batch) + (batch->device ? batch->device->bytes(batch->on_device) : 0) +
           blocks * (batch->state_size * (batch->kept ? 2 : 1) + (batch->parameters ? batch->model_size : 0));
}

typedef struct {
    ctn_batch *batch;
    double *q, *v;  // [worlds][nq], [worlds][nv]; either may be NULL
} reading;

/// Rows of arrays of states for the lanes of block b to be written to; lanes beyond the last world repeat it.
static void state_rows(const ctn_batch *batch, int b, double *q, double *v, double **qr, double **vr)
{
    const int lanes = batch->engine->lanes, count = worlds_in(batch, b);
    for (int l = 0; l < lanes; l++) {
        const size_t w = (size_t)(b * lanes) + (size_t)(l < count ? l : count - 1);
        qr[l] = q ? q + w * (size_t)batch->model->nq : NULL, vr[l] = v ? v + w * (size_t)batch->model->nv : NULL;
    }
}

static void read_block(void *context, int thread, int b)
{
    const reading *job = context;
    ctn_batch *batch = job->batch;
    double *q[MOST_LANES], *v[MOST_LANES];
    state_rows(batch, b, job->q, job->v, q, v);
    batch->engine->get(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), worlds_in(batch, b),
                       job->q ? q : NULL, job->v ? v : NULL);
}

void ctn_batch_state(ctn_batch *batch, double *q, double *v)
{
    if (!batch) return;
    if (batch->device) batch_device_state(batch, q, v);
    else pool_run(batch->pool, batch->blocks, read_block, &(reading){batch, q, v});
}

typedef struct {
    reading to;
    double fraction, *time;  // [worlds]; may be NULL
} interpolation;

static void interpolate_block(void *context, int thread, int b)
{
    const interpolation *job = context;
    ctn_batch *batch = job->to.batch;
    const int count = worlds_in(batch, b), first = b * batch->engine->lanes;
    double *q[MOST_LANES], *v[MOST_LANES], size[MOST_LANES];
    state_rows(batch, b, job->to.q, job->to.v, q, v);
    batch->engine->interpolate(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), job->fraction,
                               !batch->fitted, count, job->to.q ? q : NULL, job->to.v ? v : NULL, size);
    for (int l = 0; l < count && job->time; l++)
        job->time[first + l] = ctn_batch_time(batch, first + l) - (1 - job->fraction) * size[l];
}

ctn_status ctn_batch_dense(ctn_batch *batch, double fraction, double *q, double *v, double *time, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err)) return CTN_BAD_ARGUMENT;
    if (!batch->cfg.dense)
        return fail(err, CTN_BAD_ARGUMENT, "dense output: the batch was made without it; set `dense` in its configuration");
    if (!(fraction >= 0 && fraction <= 1))
        return fail(err, CTN_BAD_ARGUMENT, "fraction: expected a number from 0 to 1, found %g", fraction);
    pool_run(batch->pool, batch->blocks, interpolate_block, &(interpolation){{batch, q, v}, fraction, time});
    batch->fitted = true;
    return CTN_OK;
}

/// Finds the interpolants of the parts carried out last, with the constants that these were made with, before there are others.
void batch_fit(ctn_batch *batch)
{
    if (!batch->cfg.dense || batch->fitted) return;
    pool_run(batch->pool, batch->blocks, interpolate_block, &(interpolation){{batch, NULL, NULL}, 1, NULL});
    batch->fitted = true;
}

ctn_status ctn_batch_set_parameters(ctn_batch *batch, const double *values, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    const size_t n = (size_t)batch->cfg.parameter_count, worlds = (size_t)batch->cfg.worlds;
    if (!n) return fail(err, CTN_BAD_ARGUMENT, "parameters: the batch was made without; list them in its configuration");
    for (size_t w = 0; w < worlds; w++)
        if (parameters_check(batch->parameters, values + w * n, (int)w, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    for (size_t k = 0; k < worlds * n; k++) {
        clock_state *const c = &batch->clocks[k / n];
        if (batch->cfg.parameters[k % n].kind != CTN_TIME_STEP || values[k] == batch->dt[k / n]) continue;
        c->start = ctn_batch_time(batch, (int)(k / n)), c->steps = 0;  // no world jumps in time
    }
    batch_fit(batch);
    memcpy(batch->values, values, worlds * n * sizeof *values);
    return batch_load_parameters(batch, err);
}

typedef struct {
    ctn_batch *batch;
    const double *q, *v;
} setting;

static void set_block(void *context, int thread, int b)
{
    const setting *job = context;
    ctn_batch *batch = job->batch;
    const double *q[MOST_LANES], *v[MOST_LANES];
    rows_of(batch, b, job->q, batch->model->nq, q);
    rows_of(batch, b, job->v, batch->model->nv, v);
    batch->engine->set(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), q, v);
}

ctn_status ctn_batch_set_state(ctn_batch *batch, const double *q, const double *v, double time, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err)) return CTN_BAD_ARGUMENT;
    const ctn_model *m = batch->model;
    if ((m->nq && missing(__func__, "q", q, err)) || (m->nv && missing(__func__, "v", v, err))) return CTN_BAD_ARGUMENT;
    if (!isfinite(time)) return fail(err, CTN_BAD_ARGUMENT, "time: expected a finite number, found %g", time);
    for (int w = 0; w < batch->cfg.worlds; w++) {
        const ctn_status s = state_check(m, q + (size_t)w * (size_t)m->nq, v + (size_t)w * (size_t)m->nv, w, err);
        if (s != CTN_OK) return s;
    }
    batch->fitted = false;
    if (batch->device) {
        const ctn_status s = batch_device_set(batch, q, v, err);
        if (s != CTN_OK) return s;
    } else pool_run(batch->pool, batch->blocks, set_block, &(setting){batch, q, v});
    for (int w = 0; w < batch->cfg.worlds; w++) batch->clocks[w] = (clock_state){.start = time}, batch_sensing_restart(batch, w);
    batch_telling_restart(batch);
    return CTN_OK;
}

world_rows block_rows(const ctn_batch *batch, int thread, int b)
{
    const world_rows rows = rows_at(batch, batch->rows + (size_t)thread * MOST_LANES * row_size(batch->model), MOST_LANES);
    double *q[MOST_LANES], *v[MOST_LANES];
    for (int l = 0; l < batch->engine->lanes; l++) q[l] = rows.q + l * batch->model->nq, v[l] = rows.v + l * batch->model->nv;
    batch->engine->get(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), worlds_in(batch, b), q, v);
    return rows;
}

typedef struct {
    ctn_batch *batch;
    ctn_totals *totals;  // [worlds]
} summing;

static void sum_block(void *context, int thread, int b)
{
    const summing *const job = context;
    ctn_batch *const batch = job->batch;
    const world_rows rows = block_rows(batch, thread, b);
    for (int l = 0; l < worlds_in(batch, b); l++) rows.time[l] = ctn_batch_time(batch, b * batch->engine->lanes + l);
    batch->engine->totals(lanes_of(batch, b), work_of(batch, thread), worlds_in(batch, b), rows.time, rows.q, rows.v,
                          job->totals + b * batch->engine->lanes);
    batch->engine->stored(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), worlds_in(batch, b),
                          job->totals + b * batch->engine->lanes);
}

void ctn_batch_totals(ctn_batch *batch, ctn_totals *totals)
{
    if (!batch || !totals) return;
    if (batch->device) batch_device_totals(batch, totals);
    else pool_run(batch->pool, batch->blocks, sum_block, &(summing){batch, totals});
}
