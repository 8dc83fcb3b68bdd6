/// Recorded runs of one world, and their derivatives: the engine's adjoints of single steps, put together.
#include "dynamics/model.h"
#include "sim/config.h"
#include "sim/engine.h"
#include "sim/model.h"
#include "sim/status.h"

#include <catena/derivatives.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Steps are recorded in parts: one, or those in which a step was carried out that had to be halved, and what lies between them.
typedef struct {
    int step;
    double h;  // s; 0: the rates were projected, for a part of another size
} part;

struct ctn_rollout {
    const ctn_model *model;
    lane_model *lanes;
    const ctn_engine *engine;
    ctn_batch_config cfg;
    int steps;
    void *state, *work, *adjoint;
    size_t flat, bar;  // numbers of a state, of a gradient by it
    bool recorded, forced;
    double *tau;     // [steps][nv]
    double *v0;      // [nv]
    double *states;  // [parts + 1][flat]
    double *end;     // [flat]
    part *parts;     // [capacity]
    int used, capacity;
    int fallbacks;           // steps that are in several parts, or were made with fewer stages
    int *first;              // [steps + 1] the first part of a step
    double *g[2], *t, *row;  // [bar], [bar], [nv], [2 nv]
};

static void *aligned(size_t size)
{
    const size_t n = (size + 63) / 64 * 64 + 64;
    void *p = aligned_alloc(64, n);
    if (p) memset(p, 0, n);
    return p;
}

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

static bool make_room(ctn_rollout *r, int capacity)
{
    double *states = realloc(r->states, ((size_t)capacity + 1) * r->flat * sizeof *states + 8);
    if (states) r->states = states;
    part *parts = realloc(r->parts, (size_t)capacity * sizeof *parts);
    if (parts) r->parts = parts;
    if (!states || !parts) return false;
    r->capacity = capacity;
    return true;
}

ctn_rollout *ctn_rollout_create(const ctn_model *model, const ctn_batch_config *cfg, int steps, ctn_error *err)
{
    if (missing(__func__, "model", model, err) || config_check(cfg, err) != CTN_OK ||
        config_check_model(cfg, model, err) != CTN_OK)
        return NULL;
    if (cfg->adaptive) {
        fail(err, CTN_UNAVAILABLE,
             "dt: steps that choose their size (auto) have no derivatives in this version; give dt in seconds");
        return NULL;
    }
    if (cfg->worlds != 1) {
        fail(err, CTN_BAD_CONFIG, "worlds: expected 1, found %d; take a rollout for each world", cfg->worlds);
        return NULL;
    }
    if (steps < 1) {
        fail(err, CTN_BAD_ARGUMENT, "steps: expected 1 or more, found %d", steps);
        return NULL;
    }
    const ctn_engine *engine = engine_find("scalar", 1, err);
    ctn_rollout *r = calloc(1, sizeof *r);
    if (!engine || !r) goto no_memory;
    const size_t nv = (size_t)model->nv;
    r->model = model, r->engine = engine, r->cfg = *cfg, r->steps = steps;
    r->cfg.engine = engine->name;
    r->lanes = engine_model(engine, model, cfg->dt);
    if (!r->lanes) goto no_memory;
    r->flat = engine->flat_size(r->lanes, cfg), r->bar = engine->bar_size(r->lanes, cfg);
    r->state = aligned(engine->state_size(r->lanes, cfg));
    r->work = aligned(engine->work_size(r->lanes, cfg));
    r->adjoint = aligned(engine->adjoint_size(r->lanes, cfg));
    r->tau = numbers((size_t)steps * nv), r->v0 = numbers(nv), r->t = numbers(nv), r->row = numbers(2 * nv);
    r->g[0] = numbers(r->bar), r->g[1] = numbers(r->bar), r->end = numbers(r->flat);
    r->first = calloc((size_t)steps + 1, sizeof *r->first);
    if (!r->state || !r->work || !r->adjoint || !r->tau || !r->v0 || !r->t || !r->row || !r->g[0] || !r->g[1] || !r->end ||
        !r->first || !make_room(r, steps))
        goto no_memory;
    return r;

no_memory:
    ctn_rollout_free(r);
    if (engine) fail(err, CTN_NO_MEMORY, "not enough memory to record %d step%s", steps, plural(steps));
    return NULL;
}

void ctn_rollout_free(ctn_rollout *r)
{
    if (!r) return;
    free(r->lanes), free(r->state), free(r->work), free(r->adjoint), free(r->tau), free(r->v0), free(r->states), free(r->parts);
    free(r->first), free(r->g[0]), free(r->g[1]), free(r->t), free(r->row), free(r->end);
    free(r);
}

int ctn_rollout_state_size(const ctn_rollout *r) { return r ? (int)r->bar : 0; }

static double *state_at(const ctn_rollout *r, int part) { return r->states + (size_t)part * r->flat; }
static const double *force_at(const ctn_rollout *r, int step)
{
    return r->forced ? r->tau + (size_t)step * (size_t)r->model->nv : NULL;
}

/// Moves the world between the engine's state and a record.
static void keep(ctn_rollout *r, double *flat) { r->engine->flatten(r->lanes, &r->cfg, r->state, 0, false, flat); }
static void put_back(ctn_rollout *r, double *flat) { r->engine->flatten(r->lanes, &r->cfg, r->state, 0, true, flat); }

/// Records what the engine's state has become as the end of a part.
static bool record(ctn_rollout *r, int step, double h)
{
    if (r->used == r->capacity && !make_room(r, 2 * r->capacity)) return false;
    r->parts[r->used++] = (part){step, h};
    keep(r, state_at(r, r->used));
    return true;
}

/// A step of size dt.
static ctn_step_stats advance(ctn_rollout *r, const ctn_batch_config *cfg, double dt, int step)
{
    const double *tau = force_at(r, step);
    ctn_step_stats stats = {0};
    r->engine->model_step_size(r->lanes, &dt);
    engine_use use = {0};
    r->engine->step(r->lanes, cfg, r->state, r->work, tau ? &tau : NULL, &(int){1}, false, 1, &stats, &use);
    return stats;
}

/// Makes ready to go backwards through part p. The way in which it was carried out; -1: it cannot be found again.
static int prepare(ctn_rollout *r, int p)
{
    const double *before = state_at(r, p), *after = state_at(r, p + 1), *tau = force_at(r, r->parts[p].step);
    const int ways = r->engine->adjoint_ways(&r->cfg);
    for (int k = 0; k < ways; k++)
        if (r->engine->adjoint_prepare(r->lanes, &r->cfg, r->adjoint, r->parts[p].h, k, &before, &after, tau ? &tau : NULL))
            return k;
    return -1;
}

/// The rates of a method of one stage between parts of different sizes; nothing for others.
static bool record_projection(ctn_rollout *r, int step)
{
    return !r->engine->project(r->lanes, &r->cfg, r->state, r->work) || record(r, step, 0);
}

/// What position_step() and variational_step() do to the state between two parts of a step: one that is halved leaves no guess for the next
/// solve (with several stages, only one that came down to a single stage), and where sizes change there is no old point.
static void between_parts(ctn_rollout *r, bool resized, const ctn_step_stats *stats)
{
    double *flat = state_at(r, r->used);
    const size_t nv = (size_t)r->model->nv;
    const int ways = r->engine->adjoint_ways(&r->cfg);  // one stage is the last of them
    const bool single = ways == 1 || (stats->fewer_stages && prepare(r, r->used - 1) == ways - 1);
    if (single) memset(flat + (size_t)r->model->nq + nv, 0, nv * sizeof *flat);
    if (resized && r->cfg.method == CTN_COLLOCATION && r->cfg.order > 2) flat[r->flat - 1] = 1;
    put_back(r, flat);
}

/// A step that fell back, once more, part by part: as the engine does it, so that every part ends where it ended there. false: no memory,
/// or (*lost) the parts do not lead there.
static bool record_parts(ctn_rollout *r, int step, bool *lost)
{
    double size = 1, here = 0;
    *lost = true;
    keep(r, r->end);
    put_back(r, state_at(r, r->used));
    while (here < 1) {
        ctn_batch_config cfg = r->cfg;
        const double dt = r->cfg.dt * size;
        cfg.max_halvings = 0;
        const ctn_step_stats stats = advance(r, &cfg, dt, step);
        if (!stats.steps) {
            if (size < 1e-12) return false;
            size *= 0.5;
            keep(r, state_at(r, r->used));  // without a guess, now
            if (!record_projection(r, step)) return *lost = false;
            continue;
        }
        if (!record(r, step, dt)) return *lost = false;
        here += size;
        if (size < 1) {
            const bool grows = fmod(here, 2 * size) == 0;
            between_parts(r, grows, &stats);
            if (grows) size *= 2;
            if (grows && !record_projection(r, step)) return *lost = false;
        }
    }
    return !memcmp(r->end, state_at(r, r->used), r->flat * sizeof *r->end);
}

static bool interrupted(const ctn_rollout *r) { return r->cfg.interrupt && *r->cfg.interrupt; }

ctn_status ctn_rollout_run(ctn_rollout *r, const double *q, const double *v, const double *tau, ctn_error *err)
{
    if (missing(__func__, "rollout", r, err)) return CTN_BAD_ARGUMENT;
    const ctn_model *m = r->model;
    if ((m->nq && missing(__func__, "q", q, err)) || (m->nv && missing(__func__, "v", v, err))) return CTN_BAD_ARGUMENT;
    r->recorded = false;
    if (state_check(m, q, v, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    for (int k = 0; k < r->steps && tau; k++)
        for (int j = 0; j < m->nv; j++)
            if (!isfinite(tau[(size_t)k * (size_t)m->nv + (size_t)j]))
                return fail(err, CTN_BAD_ARGUMENT, "step %d: tau[%d] is not finite", k, j);
    r->forced = tau != NULL, r->used = 0, r->fallbacks = 0;
    if (tau) memcpy(r->tau, tau, (size_t)r->steps * (size_t)m->nv * sizeof *tau);
    memcpy(r->v0, v, (size_t)m->nv * sizeof *v);
    r->engine->set(r->lanes, &r->cfg, r->state, r->work, &q, &v);
    keep(r, state_at(r, 0));
    for (int k = 0; k < r->steps; k++) {
        r->first[k] = r->used;
        const ctn_step_stats stats = advance(r, &r->cfg, r->cfg.dt, k);
        if (interrupted(r)) return fail(err, CTN_INTERRUPTED, "interrupted in step %d", k);
        if (stats.frozen) return fail(err, CTN_FROZEN, "step %d: the world is frozen: %s", k, ctn_freeze_text(stats.frozen));
        bool lost = false;
        const bool recorded = stats.fallbacks ? record_parts(r, k, &lost) : record(r, k, r->cfg.dt);
        if (interrupted(r)) return fail(err, CTN_INTERRUPTED, "interrupted in step %d", k);  // its parts may have ended early
        if (recorded) {
            r->fallbacks += stats.fallbacks > 0;
        } else if (lost)
            return fail(err, CTN_UNAVAILABLE, "step %d: carried out in parts that cannot be recorded: take a smaller dt", k);
        else return fail(err, CTN_NO_MEMORY, "not enough memory to record step %d", k);
    }
    r->first[r->steps] = r->used;
    r->recorded = true;
    return CTN_OK;
}

int ctn_rollout_fallbacks(const ctn_rollout *r) { return r && r->recorded ? r->fallbacks : 0; }

/// Is there a record, and `step` in 0 .. most?
static ctn_status check_step(const ctn_rollout *r, int step, int most, ctn_error *err)
{
    if (!r->recorded) return fail(err, CTN_BAD_ARGUMENT, "nothing is recorded: call ctn_rollout_run first");
    if (step < 0 || step > most) return fail(err, CTN_BAD_ARGUMENT, "step: expected 0 to %d, found %d", most, step);
    return CTN_OK;
}

ctn_status ctn_rollout_state(ctn_rollout *r, int step, double *q, double *v, ctn_error *err)
{
    if (missing(__func__, "rollout", r, err) || check_step(r, step, r->steps, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    put_back(r, state_at(r, r->first[step]));
    r->engine->get(r->lanes, &r->cfg, r->state, r->work, 1, q ? &q : NULL, v ? &v : NULL);
    return CTN_OK;
}

static ctn_status lost_way(const ctn_rollout *r, int p, ctn_error *err)
{
    return fail(err, CTN_UNAVAILABLE, "step %d: its solution was not found again, so it has no derivative: take a smaller dt",
                r->parts[p].step);
}

/// One row backwards through the part that was prepared: row [bar] in place, tau_bar [nv] (may be NULL) added to.
static void pull(ctn_rollout *r, double *row, double *tau_bar)
{
    const double *after = r->g[1];
    memcpy(r->g[1], row, r->bar * sizeof *row);
    r->engine->adjoint_step(r->lanes, &r->cfg, r->adjoint, 1, &after, &row, &r->t);
    for (int k = 0; k < r->model->nv && tau_bar; k++) tau_bar[k] += r->t[k];
}

/// Gradient `state` [bar] by the state at the end of part p-1, from those by its q and v.
static void output(ctn_rollout *r, int p, const double *q_bar, const double *v_bar, double *state)
{
    const double *at = state_at(r, p);
    r->engine->adjoint_output(r->lanes, &r->cfg, r->adjoint, 1, &at, &q_bar, &v_bar, &state);
}

static void start(ctn_rollout *r, const double *state, double *q_bar, double *v_bar)
{
    const double *at = r->states, *v = r->v0;
    r->engine->adjoint_start(r->lanes, &r->cfg, r->adjoint, 1, &at, &v, &state, &q_bar, &v_bar);
}

ctn_status ctn_rollout_gradient(ctn_rollout *r, const double *dq, const double *dv, double *grad_q, double *grad_v,
                                double *grad_tau, ctn_error *err)
{
    if (missing(__func__, "rollout", r, err) || check_step(r, 0, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    const size_t nv = (size_t)r->model->nv;
    double *g = r->g[0];
    memset(g, 0, r->bar * sizeof *g);
    if (grad_tau) memset(grad_tau, 0, (size_t)r->steps * nv * sizeof *grad_tau);
    for (int k = r->steps; k > 0; k--) {
        bool any = false;
        for (size_t j = 0; j < nv; j++) {
            r->row[j] = dq ? dq[(size_t)k * nv + j] : 0, r->row[nv + j] = dv ? dv[(size_t)k * nv + j] : 0;
            any = any || r->row[j] != 0 || r->row[nv + j] != 0;
        }
        if (any) {
            output(r, r->first[k], r->row, r->row + nv, r->g[1]);
            for (size_t j = 0; j < r->bar; j++) g[j] += r->g[1][j];
        }
        for (int p = r->first[k] - 1; p >= r->first[k - 1]; p--) {
            if (prepare(r, p) < 0) return lost_way(r, p, err);
            pull(r, g, grad_tau ? grad_tau + (size_t)(k - 1) * nv : NULL);
        }
    }
    start(r, g, r->row, r->row + nv);
    for (size_t j = 0; j < nv; j++) {
        if (grad_q) grad_q[j] = r->row[j] + (dq ? dq[j] : 0);
        if (grad_v) grad_v[j] = r->row[nv + j] + (dv ? dv[j] : 0);
    }
    return CTN_OK;
}

ctn_status ctn_step_jacobian(ctn_rollout *r, int step, double *A, double *B, ctn_error *err)
{
    if (missing(__func__, "rollout", r, err) || check_step(r, step, r->steps - 1, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    const size_t n = r->bar, nv = (size_t)r->model->nv;
    double *own = A ? NULL : numbers(n * n), *rows = A ? A : own;  // all rows go backwards together, part by part
    if (!rows) return fail(err, CTN_NO_MEMORY, "not enough memory for a Jacobian of %zu row%s", n, plural((long long)n));
    for (size_t k = 0; k < n * n; k++) rows[k] = k % (n + 1) == 0;
    if (B) memset(B, 0, n * nv * sizeof *B);
    ctn_status status = CTN_OK;
    for (int p = r->first[step + 1] - 1; p >= r->first[step] && status == CTN_OK; p--) {
        if (prepare(r, p) < 0) status = lost_way(r, p, err);
        for (size_t i = 0; i < n && status == CTN_OK; i++) pull(r, rows + i * n, B ? B + i * nv : NULL);
    }
    free(own);
    return status;
}

ctn_status ctn_start_jacobian(ctn_rollout *r, double *S, ctn_error *err)
{
    if (missing(__func__, "rollout", r, err) || check_step(r, 0, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    if (r->bar && missing(__func__, "S", S, err)) return CTN_BAD_ARGUMENT;
    const size_t nv = (size_t)r->model->nv;
    for (size_t i = 0; i < r->bar; i++) {
        memset(r->g[0], 0, r->bar * sizeof(double));
        r->g[0][i] = 1;
        start(r, r->g[0], S + i * 2 * nv, S + i * 2 * nv + nv);
    }
    return CTN_OK;
}

ctn_status ctn_output_jacobian(ctn_rollout *r, int step, double *C, ctn_error *err)
{
    if (missing(__func__, "rollout", r, err) || check_step(r, step, r->steps, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    if (r->bar && missing(__func__, "C", C, err)) return CTN_BAD_ARGUMENT;
    const size_t nv = (size_t)r->model->nv;
    for (size_t i = 0; i < 2 * nv; i++) {
        memset(r->row, 0, 2 * nv * sizeof(double));
        r->row[i] = 1;
        output(r, r->first[step], r->row, r->row + nv, C + i * r->bar);
    }
    return CTN_OK;
}
