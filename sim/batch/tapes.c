/// Tapes of many worlds: a batch whose states are kept after every step, and the engine's adjoints of single steps, in lanes and
/// threads. Worlds of a block go back together; each by the way in which its step was carried out.
#include "sim/base/config.h"
#include "sim/base/status.h"
#include "sim/batch/batch_begin.h"
#include "sim/batch/tape.h"
#include "sim/batch/tapes_parts.h"
#include "sim/batch/tapes_play.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

/// Bytes of all worlds, but for the batch's.
static size_t own_bytes(const ctn_tapes *t)
{
    const size_t steps = (size_t)t->capacity, state = t->nq + t->nv + 1, told = t->nu + t->nv;
    const size_t states = t->gradients ? steps + 1 : 1;  // whole ones, which are gone back from
    return worlds_of(t) * (states * t->flat + (steps + 1) * state + (steps + 2) * told + t->bar + 4 * t->nv + t->nu + 1) *
               sizeof(double) +
           worlds_of(t) * (sizeof *t->begun + sizeof *t->lost + sizeof *t->stats);
}

static bool open_room(ctn_tapes *t)
{
    const ctn_batch *const batch = t->batch;
    const ctn_model *const m = batch->model;
    const lane_model *const lanes = lanes_of(batch, 0);
    const size_t w = worlds_of(t), states = (size_t)t->capacity + 1, threads = (size_t)job_threads(batch);
    t->nq = (size_t)m->nq, t->nv = (size_t)m->nv, t->nu = (size_t)m->ncontrol;
    t->flat = batch->engine->flat_size(lanes, &batch->cfg), t->bar = batch->engine->bar_size(lanes, &batch->cfg);
    t->states = numbers((t->gradients ? states : 1) * w * t->flat), t->q = numbers(states * w * t->nq),
    t->v = numbers(states * w * t->nv);
    t->u = numbers(states * w * t->nu), t->tau = numbers(states * w * t->nv), t->time = numbers(states * w);
    t->last_u = numbers(w * t->nu), t->last_tau = numbers(w * t->nv);
    t->begun_v = numbers(w * t->nv), t->start = numbers(w);
    t->begun = calloc(w, sizeof *t->begun), t->lost = calloc(w, sizeof *t->lost);
    t->stats = calloc(w, sizeof *t->stats), t->g = numbers(w * t->bar);
    t->by_q = numbers(w * t->nv), t->by_v = numbers(w * t->nv), t->by_u = numbers(w * t->nu), t->by_tau = numbers(w * t->nv);
    if (t->gradients) t->work_size = batch->engine->adjoint_size(lanes, &batch->cfg);
    t->work_size = (t->work_size + 63) / 64 * 64 + 64;
    t->row_size = t->bar + 2 * t->nv + t->nu;
    t->lanes_size = ((t->nq + t->nv + t->nu) * MOST_LANES * sizeof(double) + 63) / 64 * 64;
    t->work = aligned_alloc(64, threads * t->work_size), t->rows = numbers(threads * MOST_LANES * t->row_size);
    t->lanes = aligned_alloc(64, threads * t->lanes_size);
    if (t->lanes) memset(t->lanes, 0, threads * t->lanes_size);
    if (t->work) memset(t->work, 0, threads * t->work_size);
    return t->states && t->q && t->v && t->u && t->tau && t->time && t->last_u && t->last_tau && t->begun_v && t->start &&
           t->begun && t->lost && t->stats && t->g && t->by_q && t->by_v && t->by_u && t->by_tau && t->work && t->rows &&
           t->lanes;
}

/// The model's own targets are those before the first run.
static void start_targets(ctn_tapes *t)
{
    for (size_t w = 0; w < worlds_of(t); w++) ctn_model_targets(t->batch->model, t->last_u + w * t->nu);
}

ctn_tapes *ctn_tapes_create(const ctn_model *model, const ctn_batch_config *cfg, int steps, bool gradients, ctn_error *err)
{
    return tapes_create(model, cfg, steps, gradients, NULL, err);
}

ctn_tapes *tapes_create(const ctn_model *model, const ctn_batch_config *cfg, int steps, bool gradients, pool *threads,
                        ctn_error *err)
{
    if (missing("ctn_tapes_create", "model", model, err) || config_check(cfg, err) != CTN_OK) return NULL;
    if (steps < 1) return fail(err, CTN_BAD_ARGUMENT, "steps: expected 1 or more, found %d", steps), NULL;
    if (gradients && tape_check(model, cfg, steps, err) != CTN_OK) return NULL;
    for (int k = 0; k < cfg->parameter_count && gradients; k++)
        if (cfg->parameters[k].kind == CTN_TIME_STEP) {
            fail(err, CTN_UNAVAILABLE, "parameters: worlds with steps of their own have no gradients side by side; take one dt");
            return NULL;
        }
    ctn_batch_config own = *cfg;
    if (own.parallel == CTN_PARALLEL_AUTO) own.parallel = CTN_PARALLEL_WORLDS;
    ctn_tapes *const t = calloc(1, sizeof *t);
    if (!t) return fail(err, CTN_NO_MEMORY, "not enough memory for tapes"), NULL;
    t->capacity = steps, t->gradients = gradients;
    const bool still = model_has_still_thrusters(model);
    if (still && !(t->told = model_with_told_thrusters(model))) fail(err, CTN_NO_MEMORY, "not enough memory for tapes");
    else t->batch = batch_create(still ? t->told : model, &own, true, threads, err);
    if (t->batch && (t->batch->device || t->batch->cfg.parallel != CTN_PARALLEL_WORLDS))
        fail(err, CTN_UNAVAILABLE, "%s: gradients of many worlds are those of lanes of the CPU in this version; take %s",
             t->batch->device ? "engine" : "parallel", t->batch->device ? "engine: auto" : "parallel: worlds");
    else if (t->batch) {
        if (open_room(t)) return start_targets(t), t;
        fail(err, CTN_NO_MEMORY, "not enough memory to record %d step%s of %d worlds", steps, plural(steps), cfg->worlds);
    }
    ctn_tapes_free(t);
    return NULL;
}

void ctn_tapes_free(ctn_tapes *t)
{
    if (!t) return;
    ctn_batch_free(t->batch);
    free(t->told);
    free(t->states), free(t->q), free(t->v), free(t->u), free(t->tau), free(t->time), free(t->last_u), free(t->last_tau),
        free(t->begun_v), free(t->start), free(t->begun);
    free(t->lost), free(t->stats), free(t->g), free(t->by_q), free(t->by_v), free(t->by_u), free(t->by_tau);
    free(t->work), free(t->rows), free(t->lanes);
    free(t);
}

size_t ctn_tapes_bytes(const ctn_tapes *t) { return t ? own_bytes(t) + ctn_batch_bytes(t->batch) : 0; }

int ctn_tapes_lost(const ctn_tapes *t, int world)
{
    return t && t->steps && world >= 0 && world < t->batch->cfg.worlds ? t->lost[world] : -1;
}

ctn_freeze ctn_tapes_frozen(const ctn_tapes *t, int world)
{
    return t && world >= 0 && world < t->batch->cfg.worlds ? (ctn_freeze)t->batch->clocks[world].frozen : CTN_RUNNING;
}

static bool is_recorded(const ctn_tapes *t, int step) { return t && t->steps && step >= 0 && step <= t->steps; }

const double *ctn_tapes_q(const ctn_tapes *t, int step) { return is_recorded(t, step) ? q_at(t, step) : NULL; }
const double *ctn_tapes_v(const ctn_tapes *t, int step) { return is_recorded(t, step) ? v_at(t, step) : NULL; }
double ctn_tapes_time(const ctn_tapes *t, int world, int step)
{
    return is_recorded(t, step) && world >= 0 && world < t->batch->cfg.worlds ? time_at(t, step)[world] : NAN;
}

ctn_status ctn_tapes_set_parameters(ctn_tapes *t, const double *values, ctn_error *err)
{
    if (missing(__func__, "tapes", t, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    const ctn_status status = ctn_batch_set_parameters(t->batch, values, err);
    if (status == CTN_OK) t->steps = 0;  // constants of the way back would be others
    return status;
}

ctn_status ctn_tapes_begin_at(ctn_tapes *t, const double *time, ctn_error *err)
{
    if (missing(__func__, "tapes", t, err) || missing(__func__, "time", time, err)) return CTN_BAD_ARGUMENT;
    for (size_t w = 0; w < worlds_of(t); w++)
        if (!isfinite(time[w])) return fail(err, CTN_BAD_ARGUMENT, "time[%zu]: expected a number, found %g", w, time[w]);
    memcpy(t->start, time, worlds_of(t) * sizeof *time);
    return CTN_OK;
}

/// What was told last, and the worlds behind it.
static size_t told_size(const ctn_tapes *t) { return worlds_of(t) * (t->nu + t->nv) * sizeof(double); }

size_t ctn_tapes_saved_size(const ctn_tapes *t) { return t ? told_size(t) + ctn_batch_saved_size(t->batch) : 0; }

void ctn_tapes_save(const ctn_tapes *t, void *block)
{
    if (!t || !block) return;
    char *const to = block;
    memcpy(to, t->last_u, worlds_of(t) * t->nu * sizeof(double));
    memcpy(to + worlds_of(t) * t->nu * sizeof(double), t->last_tau, worlds_of(t) * t->nv * sizeof(double));
    ctn_batch_save(t->batch, to + told_size(t));
}

ctn_status ctn_tapes_restore(ctn_tapes *t, const void *block, size_t size, ctn_error *err)
{
    if (missing(__func__, "tapes", t, err) || missing(__func__, "block", block, err)) return CTN_BAD_ARGUMENT;
    const char *const from = block;
    if (size != ctn_tapes_saved_size(t))
        return fail(err, CTN_BAD_ARGUMENT, "%zu bytes are no saved state of these tapes, which has %zu", size,
                    ctn_tapes_saved_size(t));
    const ctn_status status = ctn_batch_restore(t->batch, from + told_size(t), size - told_size(t), err);
    if (status != CTN_OK) return status;
    memcpy(t->last_u, from, worlds_of(t) * t->nu * sizeof(double));
    memcpy(t->last_tau, from + worlds_of(t) * t->nu * sizeof(double), worlds_of(t) * t->nv * sizeof(double));
    t->steps = 0;
    return CTN_OK;
}

// ---- forwards

typedef struct {
    ctn_tapes *tapes;
    int step;
} running;

/// What a block has come to, as the state after `step` steps.
static void record_block(void *context, int thread, int b)
{
    const running *const job = context;
    ctn_tapes *const t = job->tapes;
    ctn_batch *const batch = t->batch;
    const int count = worlds_in(batch, b), first = b * batch->engine->lanes;
    double *q[MOST_LANES], *v[MOST_LANES];
    for (int l = 0; l < count; l++) {
        const size_t w = (size_t)(first + l);
        q[l] = q_at(t, job->step) + w * t->nq, v[l] = v_at(t, job->step) + w * t->nv;
        time_at(t, job->step)[w] = time_after(batch, (int)w, NULL);
        if (t->gradients)
            batch->engine->flatten(lanes_of(batch, b), &batch->cfg, state_of(batch, b), l, false,
                                   state_at(t, job->step) + w * t->flat);
    }
    batch->engine->get(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), count, q, v);
}

ctn_status tapes_check_begin(const ctn_tapes *t, const double *q, const double *v, const bool *begin, ctn_error *err)
{
    const ctn_model *const m = t->batch->model;
    for (size_t w = 0; w < worlds_of(t); w++) {
        if (begin && !begin[w]) continue;
        if ((t->nq && missing("ctn_tapes_run", "q", q, err)) || (t->nv && missing("ctn_tapes_run", "v", v, err)))
            return CTN_BAD_ARGUMENT;
        const ctn_status status = state_check(m, q + w * t->nq, v + w * t->nv, (int)w, err);
        if (status != CTN_OK) return status;
    }
    return CTN_OK;
}

static void tell_all(const ctn_tapes *t, int step)
{
    for (int b = 0; b < t->batch->blocks && t->nu; b++) {
        int which[MOST_LANES];
        for (int l = 0; l < t->batch->engine->lanes; l++) which[l] = l < worlds_in(t->batch, b) ? l : worlds_in(t->batch, b) - 1;
        tell_block(t, b, u_at(t, step), which);
    }
}

/// Asks what is told in a step, and tells it.
static ctn_status ask(ctn_tapes *t, int step, const ctn_tapes_hooks *hooks, ctn_error *err)
{
    const size_t w = worlds_of(t);
    double *const u = u_at(t, step), *const tau = tau_at(t, step);
    memcpy(u, step ? u_at(t, step - 1) : t->last_u, w * t->nu * sizeof *u);
    memcpy(tau, step ? tau_at(t, step - 1) : t->last_tau, w * t->nv * sizeof *tau);
    if (hooks && hooks->tell) hooks->tell(hooks->context, step, q_at(t, step), v_at(t, step), u, tau);
    for (size_t k = 0; k < w * t->nu; k++)
        if (!isfinite(u[k]) && t->lost[k / t->nu] < 0)
            return fail(err, CTN_BAD_ARGUMENT, "step %d: u[%zu] of world %zu is not finite", step, k % t->nu, k / t->nu);
    for (size_t k = 0; k < w * t->nv; k++)
        if (!isfinite(tau[k]) && t->lost[k / t->nv] < 0)
            return fail(err, CTN_BAD_ARGUMENT, "step %d: tau[%zu] of world %zu is not finite", step, k % t->nv, k / t->nv);
    tell_all(t, step);
    return CTN_OK;
}

static ctn_status run_tapes(ctn_tapes *t, int steps, const double *from, const double *q, const double *v, const bool *begin,
                            const ctn_tapes_hooks *hooks, ctn_error *err)
{
    if (steps < 1 || steps > t->capacity)
        return fail(err, CTN_BAD_ARGUMENT, "steps: expected 1 to %d, found %d", t->capacity, steps);
    if (tapes_check_begin(t, q, v, begin, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    ctn_batch *const batch = t->batch;
    t->steps = 0, t->lead = NULL;
    for (size_t w = 0; w < worlds_of(t); w++) {
        t->begun[w] = !begin || begin[w];
        if (t->begun[w]) memcpy(t->begun_v + w * t->nv, v + w * t->nv, t->nv * sizeof *v);
    }
    batch_begin(batch, &(batch_beginning){t->begun, q, v, t->start, from, state_at(t, 0)});
    for (size_t w = 0; w < worlds_of(t); w++) t->lost[w] = batch->clocks[w].frozen ? 0 : -1;
    pool_run(batch->pool, batch->blocks, record_block, &(running){.tapes = t});
    for (int k = 0; k < steps; k++) {
        ctn_status status = ask(t, k, hooks, err);
        if (status != CTN_OK) return status;
        status = ctn_batch_run(batch, &(ctn_run){.steps = 1, .force = tau_at(t, k)}, t->stats, err);
        if (status != CTN_OK && status != CTN_FROZEN) return status;
        for (size_t w = 0; w < worlds_of(t); w++) {  // a step in halves is several, whose states are not kept
            const ctn_step_stats *const s = &t->stats[w];
            if (t->lost[w] < 0 && (s->frozen || (t->gradients && s->substeps > 1))) t->lost[w] = k;
        }
        pool_run(batch->pool, batch->blocks, record_block, &(running){.tapes = t, .step = k + 1});
    }
    t->steps = steps;
    memcpy(t->last_u, u_at(t, steps - 1), worlds_of(t) * t->nu * sizeof *t->u);
    memcpy(t->last_tau, tau_at(t, steps - 1), worlds_of(t) * t->nv * sizeof *t->tau);
    return CTN_OK;
}

ctn_status ctn_tapes_run(ctn_tapes *t, int steps, const double *q, const double *v, const bool *begin,
                         const ctn_tapes_hooks *hooks, ctn_error *err)
{
    if (missing(__func__, "tapes", t, err)) return CTN_BAD_ARGUMENT;
    return run_tapes(t, steps, NULL, q, v, begin, hooks, err);
}

ctn_status tapes_run_from(ctn_tapes *t, int steps, const double *from, const tapes_lead *lead, const double *q, const double *v,
                          const ctn_tapes_hooks *hooks, ctn_error *err)
{
    const ctn_status status = run_tapes(t, steps, from, q, v, NULL, hooks, err);
    t->lead = lead;
    return status;
}

const double *tapes_states(const ctn_tapes *t, int step, size_t *size)
{
    *size = t->flat;
    return state_at(t, step);
}

// ---- backwards

/// Whether the scalar has anything of the state in hand of these worlds by itself.
static bool asks_of(const ctn_tapes *t, int first, int count)
{
    const size_t at = (size_t)first * t->nv;
    for (size_t k = 0; k < (size_t)count * t->nv; k++)
        if (t->by_q[at + k] != 0 || t->by_v[at + k] != 0) return true;
    return false;
}

/// A block goes back: the gradient by the state after job->step steps becomes that by the one before, and there are those by what
/// was told in between.
static void back_block(void *context, int thread, int b)
{
    const running *const job = context;
    ctn_tapes *const t = job->tapes;
    ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    void *const work = t->work + (size_t)thread * t->work_size;
    const int count = worlds_in(batch, b), first = b * g->lanes, k = job->step;
    const double *before[MOST_LANES], *after[MOST_LANES], *tau[MOST_LANES], *bar[MOST_LANES], *by_q[MOST_LANES],
        *by_v[MOST_LANES];
    double *own[MOST_LANES], *by_tau[MOST_LANES], *by_u[MOST_LANES], time[MOST_LANES] = {0};
    bool waits[MOST_LANES] = {false}, made[MOST_LANES];
    int which[MOST_LANES], left = 0, any = 0;
    for (int l = 0; l < count; l++) {
        waits[l] = t->lost[first + l] < 0, left += waits[l];
        if (waits[l]) any = l;
    }
    if (!left) return;
    for (int l = 0; l < g->lanes; l++) {  // lanes that are lost, or idle, do what another one does
        which[l] = l < count && waits[l] ? l : any;
        const size_t w = (size_t)(first + which[l]);
        before[l] = state_at(t, k - 1) + w * t->flat, after[l] = state_at(t, k) + w * t->flat;
        tau[l] = tau_at(t, k - 1) + w * t->nv, bar[l] = t->g + w * t->bar, time[l] = time_at(t, k - 1)[w];
        by_q[l] = t->by_q + w * t->nv, by_v[l] = t->by_v + w * t->nv;
        own[l] = row_of(t, thread, l), by_tau[l] = own[l] + t->bar, by_u[l] = by_tau[l] + t->nv;
    }
    if (t->nu) tell_block(t, b, u_at(t, k - 1), which);
    if (asks_of(t, first, count)) {
        g->adjoint_output(lanes_of(batch, b), &batch->cfg, work, count, after, by_q, by_v, own);
        for (int l = 0; l < count; l++)
            for (size_t j = 0; j < t->bar && waits[l]; j++) t->g[(size_t)(first + l) * t->bar + j] += own[l][j];
    }
    const int ways = tape_ways(g, batch->model, &batch->cfg);
    for (int way = 0; way < ways && left; way++) {
        g->adjoint_prepare(lanes_of(batch, b), &batch->cfg, work, time, batch->cfg.dt, way, before, after, tau, made);
        int found = 0;
        for (int l = 0; l < count; l++) found += waits[l] && made[l];
        if (!found) continue;
        g->adjoint_step(lanes_of(batch, b), &batch->cfg, work, count, bar, own, by_tau, by_u, NULL);
        for (int l = 0; l < count; l++) {
            const size_t w = (size_t)(first + l);
            if (!waits[l] || !made[l]) continue;
            memcpy(t->g + w * t->bar, own[l], t->bar * sizeof *own[l]);
            memcpy(t->by_tau + w * t->nv, by_tau[l], t->nv * sizeof *t->by_tau);
            memcpy(t->by_u + w * t->nu, by_u[l], t->nu * sizeof *t->by_u);
            waits[l] = false, left--;
        }
    }
    for (int l = 0; l < count; l++)
        if (waits[l]) t->lost[first + l] = k - 1;
}

/// From the gradient by the first state to that by the q and v at which worlds began: into by_q and by_v, to which what the scalar
/// has of these by itself is added.
static void start_block_back(void *context, int thread, int b)
{
    const running *const job = context;
    ctn_tapes *const t = job->tapes;
    ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    void *const work = t->work + (size_t)thread * t->work_size;
    const int count = worlds_in(batch, b), first = b * g->lanes;
    const double *state[MOST_LANES], *v[MOST_LANES], *bar[MOST_LANES];
    double *by_q[MOST_LANES], *by_v[MOST_LANES];
    for (int l = 0; l < g->lanes; l++) {
        const size_t w = (size_t)(first + (l < count ? l : count - 1));
        state[l] = state_at(t, 0) + w * t->flat, v[l] = t->begun_v + w * t->nv, bar[l] = t->g + w * t->bar;
        by_q[l] = row_of(t, thread, l), by_v[l] = by_q[l] + t->nv;
    }
    g->adjoint_start(lanes_of(batch, b), &batch->cfg, work, count, state, v, bar, by_q, by_v, NULL);
    for (int l = 0; l < count; l++) {
        const size_t w = (size_t)(first + l);
        for (size_t j = 0; j < t->nv; j++) {
            const bool counts = t->begun[w] && t->lost[w] < 0;
            t->by_q[w * t->nv + j] = counts ? by_q[l][j] + t->by_q[w * t->nv + j] : 0;
            t->by_v[w * t->nv + j] = counts ? by_v[l][j] + t->by_v[w * t->nv + j] : 0;
        }
    }
}

/// Lost worlds have no gradients.
static void drop_lost(const ctn_tapes *t)
{
    for (size_t w = 0; w < worlds_of(t); w++) {
        if (t->lost[w] < 0) continue;
        memset(t->g + w * t->bar, 0, t->bar * sizeof *t->g);
        memset(t->by_tau + w * t->nv, 0, t->nv * sizeof *t->by_tau), memset(t->by_u + w * t->nu, 0, t->nu * sizeof *t->by_u);
    }
}

ctn_status ctn_tapes_gradient(ctn_tapes *t, const ctn_tapes_hooks *hooks, double *by_q, double *by_v, ctn_error *err)
{
    if (missing(__func__, "tapes", t, err) || missing(__func__, "hooks", hooks, err)) return CTN_BAD_ARGUMENT;
    if (!t->gradients) return fail(err, CTN_BAD_ARGUMENT, "the tapes were made without gradients");
    if (!t->steps) return fail(err, CTN_BAD_ARGUMENT, "nothing is recorded: call ctn_tapes_run first");
    const size_t w = worlds_of(t);
    memset(t->g, 0, w * t->bar * sizeof *t->g);
    for (int k = t->steps; k >= 0; k--) {
        memset(t->by_q, 0, w * t->nv * sizeof *t->by_q), memset(t->by_v, 0, w * t->nv * sizeof *t->by_v);
        if (hooks->back)
            hooks->back(hooks->context, k, q_at(t, k), v_at(t, k), k < t->steps ? t->by_u : NULL, k < t->steps ? t->by_tau : NULL,
                        t->by_q, t->by_v);
        pool_run(t->batch->pool, t->batch->blocks, k ? back_block : start_block_back, &(running){.tapes = t, .step = k});
        drop_lost(t);
    }
    if (by_q) memcpy(by_q, t->by_q, w * t->nv * sizeof *by_q);
    if (by_v) memcpy(by_v, t->by_v, w * t->nv * sizeof *by_v);
    return CTN_OK;
}
