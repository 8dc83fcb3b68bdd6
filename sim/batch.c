/// Batches: worlds in lane blocks, their configuration, state, time and statistics.
#include "dynamics/model.h"
#include "sim/config.h"
#include "sim/engine.h"
#include "sim/model.h"
#include "sim/pool.h"
#include "sim/status.h"

#include <catena/hash.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/// The clock of one world: time = start + steps * dt, without drift.
typedef struct {
    double start;
    int64_t steps;
    double frozen_time;
    int64_t frozen;  // ctn_freeze; no padding in here, as it is saved
} clock_state;

/// What came out of a step of one block: the first world that is frozen, and the first that needed fallbacks; -1: none.
typedef struct {
    int frozen, fallen;
    long fallbacks;  // of the latter
} outcome;

struct ctn_batch {
    const ctn_model *model;
    const ctn_engine *engine;
    ctn_batch_config cfg;
    int blocks;
    uint64_t constants;  // of the model, hashed
    size_t state_size;
    char *states;  // [blocks][state_size]
    pool *pool;
    size_t work_size;
    char *work;           // [threads][work_size]
    double *flat;         // [threads][flat_size]
    outcome *outcomes;    // [blocks]
    clock_state *clocks;  // [worlds]
    double *tau;          // [worlds][nv]
    bool forced;
    bool fitted;  // the coefficients of ctn_batch_dense are those of the last step
};

static uint64_t hash_numbers(uint64_t h, const double *x, int n)
{
    for (int k = 0; k < n; k++) {
        uint64_t bits;
        memcpy(&bits, &x[k], sizeof bits);
        h = (h ^ bits) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

/// A hash of all that a model's motion depends on: a saved state fits no other model.
static uint64_t model_constants(const ctn_model *m)
{
    uint64_t h = hash_numbers(0xcbf29ce484222325u, m->gravity, 3);
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *o = &m->bodies[i];
        const double n[] = {o->kind, o->parent, o->qadr,     o->vadr,      o->ca,      o->sa,      o->rest_angle, o->quarter,
                            o->mass, o->pitch,  o->armature, o->stiffness, o->limit_k, o->limit_b, o->limit[0],   o->limit[1]};
        h = hash_numbers(h, n, sizeof n / sizeof *n);
        h = hash_numbers(h, o->r0, 3), h = hash_numbers(h, o->C, 9), h = hash_numbers(h, o->h, 3), h = hash_numbers(h, o->S, 6);
        h = hash_numbers(h, o->I, 6), h = hash_numbers(h, o->damping, 3), h = hash_numbers(h, o->rest, 4);
    }
    return h;
}

/// The variational method of order 4 steps back in time on its way, where a damper would drive.
static ctn_status check_undamped(const ctn_model *m, ctn_error *err)
{
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const bool damped = b->damping[0] > 0 || b->damping[1] > 0 || b->damping[2] > 0;
        if (!damped && b->limit_b <= 0) continue;
        const ctn_link *k = m->links;
        while (b->vadr < k->vadr || b->vadr >= k->vadr + k->nv) k++;
        return fail(err, CTN_BAD_CONFIG,
                    "order: the method variational takes no dampers at order 4, but the joint of link '%s' has %s; take order 2",
                    k->name, damped ? "damping" : "limit_damping");
    }
    return CTN_OK;
}

static size_t round_up(size_t n) { return (n + 63) / 64 * 64 + 64; }

static void *state_of(const ctn_batch *batch, int block) { return batch->states + (size_t)block * batch->state_size; }
static void *work_of(const ctn_batch *batch, int thread) { return batch->work + (size_t)thread * batch->work_size; }

/// All jobs of the pool are blocks.
static void start_block(void *batch_, int thread, int b)
{
    ctn_batch *batch = batch_;
    const double *q[16], *v[16];
    for (int l = 0; l < batch->engine->lanes; l++) q[l] = batch->model->q0, v[l] = batch->model->v0;
    batch->engine->set(batch->model, &batch->cfg, state_of(batch, b), work_of(batch, thread), q, v);
}

ctn_batch *ctn_batch_create(const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err)
{
    if (config_check(cfg, err) != CTN_OK) return NULL;
    if (cfg->method == CTN_VARIATIONAL && cfg->order == 4 && check_undamped(model, err) != CTN_OK) return NULL;
    const ctn_engine *engine = engine_find(cfg->engine, cfg->worlds, err);
    if (!engine) return NULL;
    ctn_batch *batch = calloc(1, sizeof *batch);
    if (!batch) goto no_memory;
    batch->model = model, batch->engine = engine, batch->cfg = *cfg;
    batch->cfg.engine = engine->name;
    // what a solve leaves over acts as an impulse, over all parts to come: small beside the error that a part may have
    if (cfg->adaptive) batch->cfg.tolerance = fmin(cfg->tolerance, 1e-6 * cfg->error_tolerance);
    batch->blocks = (cfg->worlds - 1) / engine->lanes + 1;
    batch->constants = model_constants(model);
    batch->state_size = round_up(engine->state_size(model, cfg));
    if (!cfg->threads) batch->cfg.threads = pool_cpus();
    if (batch->cfg.threads > batch->blocks) batch->cfg.threads = batch->blocks;
    const size_t threads = (size_t)batch->cfg.threads;
    batch->states = aligned_alloc(64, (size_t)batch->blocks * batch->state_size);
    batch->work_size = round_up(engine->work_size(model, cfg));
    batch->work = aligned_alloc(64, threads * batch->work_size);
    batch->flat = calloc(threads * engine->flat_size(model, cfg) + 1, sizeof *batch->flat);
    batch->pool = pool_create(batch->cfg.threads);
    batch->outcomes = calloc((size_t)batch->blocks, sizeof *batch->outcomes);
    batch->clocks = calloc((size_t)cfg->worlds, sizeof *batch->clocks);
    batch->tau = calloc((size_t)cfg->worlds * (size_t)model->nv + 1, sizeof *batch->tau);
    if (!batch->states || !batch->work || !batch->flat || !batch->pool || !batch->outcomes || !batch->clocks || !batch->tau)
        goto no_memory;
    memset(batch->states, 0, (size_t)batch->blocks * batch->state_size);
    memset(batch->work, 0, threads * batch->work_size);
    pool_run(batch->pool, batch->blocks, start_block, batch);
    return batch;

no_memory:
    ctn_batch_free(batch);
    fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds on %d threads", cfg->worlds, cfg->threads);
    return NULL;
}

void ctn_batch_free(ctn_batch *batch)
{
    if (!batch) return;
    pool_free(batch->pool);
    free(batch->states), free(batch->work), free(batch->flat), free(batch->outcomes), free(batch->clocks), free(batch->tau);
    free(batch);
}

const ctn_batch_config *ctn_batch_configuration(const ctn_batch *batch) { return &batch->cfg; }

const ctn_model *ctn_batch_model(const ctn_batch *batch) { return batch->model; }

double ctn_batch_time(const ctn_batch *batch, int world)
{
    if (world < 0 || world >= batch->cfg.worlds) return NAN;
    const clock_state *c = &batch->clocks[world];
    return c->frozen ? c->frozen_time : c->start + (double)c->steps * batch->cfg.dt;
}

/// Rows of `array` [worlds][n] for the lanes of block b; lanes beyond the last world repeat it.
static void rows(const ctn_batch *batch, int b, const double *array, int n, const double **row)
{
    const int lanes = batch->engine->lanes, first = b * lanes, more = batch->cfg.worlds - 1 - first;
    for (int l = 0; l < lanes; l++) row[l] = array + ((size_t)first + (size_t)(l < more ? l : more)) * (size_t)n;
}

static int worlds_in(const ctn_batch *batch, int b)
{
    const int lanes = batch->engine->lanes, left = batch->cfg.worlds - b * lanes;
    return left < lanes ? left : lanes;
}

typedef struct {
    ctn_batch *batch;
    int steps;
    ctn_step_stats *stats;  // [worlds]; NULL: not asked for
} stepping;

static void step_block(void *context, int thread, int b)
{
    const stepping *job = context;
    ctn_batch *batch = job->batch;
    const int count = worlds_in(batch, b), first = b * batch->engine->lanes;
    outcome *out = &batch->outcomes[b];
    const double *tau[16];
    ctn_step_stats lane[16];
    for (int l = 0; l < count; l++) lane[l].frozen = (ctn_freeze)batch->clocks[first + l].frozen;
    if (batch->forced) rows(batch, b, batch->tau, batch->model->nv, tau);
    batch->engine->step(batch->model, &batch->cfg, state_of(batch, b), work_of(batch, thread), batch->forced ? tau : NULL,
                        job->steps, job->stats != NULL, count, lane);
    out->frozen = out->fallen = -1;
    for (int l = 0; l < count; l++) {
        clock_state *c = &batch->clocks[first + l];
        c->steps += lane[l].steps;
        if (lane[l].frozen && !c->frozen) {
            c->frozen = lane[l].frozen;
            c->frozen_time = c->start + ((double)c->steps + lane[l].frozen_time) * batch->cfg.dt;
        }
        lane[l].frozen_time = c->frozen ? c->frozen_time : 0;
        if (c->frozen && out->frozen < 0) out->frozen = first + l;
        if (lane[l].fallbacks && out->fallen < 0) out->fallen = first + l, out->fallbacks = lane[l].fallbacks;
        if (job->stats) job->stats[first + l] = lane[l];
    }
}

ctn_status ctn_batch_step(ctn_batch *batch, int steps, ctn_step_stats *stats, ctn_error *err)
{
    const outcome *fallen = NULL;
    if (steps < 0) return fail(err, CTN_BAD_ARGUMENT, "steps: expected 0 or more, found %d", steps);
    batch->fitted = false;
    pool_run(batch->pool, batch->blocks, step_block, &(stepping){batch, steps, stats});
    for (const outcome *o = batch->outcomes; o < batch->outcomes + batch->blocks; o++) {
        if (o->frozen >= 0) {
            const clock_state *c = &batch->clocks[o->frozen];
            return fail(err, CTN_FROZEN, "world %d is frozen at %.6g s: %s", o->frozen, c->frozen_time,
                        ctn_freeze_text((ctn_freeze)c->frozen));
        }
        if (o->fallen >= 0 && !fallen) fallen = o;
    }
    if (!fallen) return CTN_OK;
    return fail(err, CTN_NOT_CONVERGED, "world %d: %ld steps needed fewer stages or halves", fallen->fallen, fallen->fallbacks);
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
    double *q[16], *v[16];
    state_rows(batch, b, job->q, job->v, q, v);
    batch->engine->get(batch->model, &batch->cfg, state_of(batch, b), work_of(batch, thread), worlds_in(batch, b),
                       job->q ? q : NULL, job->v ? v : NULL);
}

void ctn_batch_state(ctn_batch *batch, double *q, double *v)
{
    pool_run(batch->pool, batch->blocks, read_block, &(reading){batch, q, v});
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
    double *q[16], *v[16], size[16];
    state_rows(batch, b, job->to.q, job->to.v, q, v);
    batch->engine->interpolate(batch->model, &batch->cfg, state_of(batch, b), work_of(batch, thread), job->fraction,
                               !batch->fitted, count, job->to.q ? q : NULL, job->to.v ? v : NULL, size);
    for (int l = 0; l < count && job->time; l++)
        job->time[first + l] = ctn_batch_time(batch, first + l) - (1 - job->fraction) * size[l];
}

ctn_status ctn_batch_dense(ctn_batch *batch, double fraction, double *q, double *v, double *time, ctn_error *err)
{
    if (!batch->cfg.dense)
        return fail(err, CTN_BAD_ARGUMENT, "dense output: the batch was made without it; set `dense` in its configuration");
    if (!(fraction >= 0 && fraction <= 1))
        return fail(err, CTN_BAD_ARGUMENT, "fraction: expected a number from 0 to 1, found %g", fraction);
    pool_run(batch->pool, batch->blocks, interpolate_block, &(interpolation){{batch, q, v}, fraction, time});
    batch->fitted = true;
    return CTN_OK;
}

typedef struct {
    ctn_batch *batch;
    const double *q, *v;
} setting;

static void set_block(void *context, int thread, int b)
{
    const setting *job = context;
    ctn_batch *batch = job->batch;
    const double *q[16], *v[16];
    rows(batch, b, job->q, batch->model->nq, q);
    rows(batch, b, job->v, batch->model->nv, v);
    batch->engine->set(batch->model, &batch->cfg, state_of(batch, b), work_of(batch, thread), q, v);
}

ctn_status ctn_batch_set_state(ctn_batch *batch, const double *q, const double *v, double time, ctn_error *err)
{
    const ctn_model *m = batch->model;
    if (!isfinite(time)) return fail(err, CTN_BAD_ARGUMENT, "time: expected a finite number, found %g", time);
    for (int w = 0; w < batch->cfg.worlds; w++) {
        const ctn_status s = state_check(m, q + (size_t)w * (size_t)m->nq, v + (size_t)w * (size_t)m->nv, w, err);
        if (s != CTN_OK) return s;
    }
    batch->fitted = false;
    pool_run(batch->pool, batch->blocks, set_block, &(setting){batch, q, v});
    for (int w = 0; w < batch->cfg.worlds; w++) batch->clocks[w] = (clock_state){.start = time};
    return CTN_OK;
}

void ctn_batch_set_force(ctn_batch *batch, const double *tau)
{
    batch->forced = tau != NULL;
    if (tau) memcpy(batch->tau, tau, (size_t)batch->cfg.worlds * (size_t)batch->model->nv * sizeof *tau);
}

/// A saved state: this header, then the clocks, then flat_size doubles a world. Nothing of it is padding.
typedef struct {
    char magic[8];
    uint32_t version, method;
    uint64_t worlds, numbers, model;
    double dt;
} saved_header;

static saved_header header_of(const ctn_batch *batch)
{
    const uint32_t method = (uint32_t)batch->cfg.method | (uint32_t)batch->cfg.adaptive << 16;
    saved_header h = {"catena", 3, method, (uint64_t)batch->cfg.worlds, 0, batch->constants, batch->cfg.dt};
    h.numbers = batch->engine->flat_size(batch->model, &batch->cfg);
    return h;
}

size_t ctn_batch_saved_size(const ctn_batch *batch)
{
    const saved_header h = header_of(batch);
    return sizeof h + (size_t)h.worlds * (sizeof(clock_state) + (size_t)h.numbers * sizeof(double));
}

/// Copies all worlds between the blocks and `numbers` [worlds][flat_size].
static void flatten_all(const ctn_batch *batch, bool load, double *numbers)
{
    const int lanes = batch->engine->lanes;
    const size_t n = batch->engine->flat_size(batch->model, &batch->cfg);
    for (int w = 0; w < batch->cfg.worlds; w++)
        batch->engine->flatten(batch->model, &batch->cfg, state_of(batch, w / lanes), w % lanes, load, numbers + (size_t)w * n);
}

void ctn_batch_save(const ctn_batch *batch, void *block)
{
    const saved_header h = header_of(batch);
    char *at = block;
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    memcpy(at, batch->clocks, (size_t)h.worlds * sizeof *batch->clocks);
    flatten_all(batch, false, (double *)(void *)(at + (size_t)h.worlds * sizeof *batch->clocks));
}

ctn_status ctn_batch_restore(ctn_batch *batch, const void *block, size_t size, ctn_error *err)
{
    const saved_header h = header_of(batch);
    if (size != ctn_batch_saved_size(batch) || memcmp(block, &h, sizeof h))
        return fail(err, CTN_BAD_ARGUMENT, "the saved state belongs to another model, method, step size or number of worlds");
    const char *at = (const char *)block + sizeof h;
    memcpy(batch->clocks, at, (size_t)h.worlds * sizeof *batch->clocks);
    batch->fitted = false;
    flatten_all(batch, true, (double *)(void *)(uintptr_t)(at + (size_t)h.worlds * sizeof *batch->clocks));
    return CTN_OK;
}

typedef struct {
    const ctn_batch *batch;
    uint64_t *hash;  // [worlds]
} hashing;

static void hash_block(void *context, int thread, int b)
{
    const hashing *job = context;
    const ctn_batch *batch = job->batch;
    const int count = worlds_in(batch, b), first = b * batch->engine->lanes;
    const size_t n = batch->engine->flat_size(batch->model, &batch->cfg);
    double *const flat = batch->flat + (size_t)thread * n;
    for (int l = 0; l < count; l++) {
        const XXH64_hash_t clock = XXH3_64bits(&batch->clocks[first + l], sizeof *batch->clocks);
        batch->engine->flatten(batch->model, &batch->cfg, state_of(batch, b), l, false, flat);
        job->hash[first + l] = XXH3_64bits_withSeed(flat, n * sizeof *flat, clock);
    }
}

void ctn_batch_hashes(const ctn_batch *batch, uint64_t *hash)
{
    pool_run(batch->pool, batch->blocks, hash_block, &(hashing){batch, hash});
}
