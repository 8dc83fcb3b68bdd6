/// The linearised runs of many worlds: all rows of a world's Jacobian go back together, step by step, so that a step is prepared
/// once. Worlds of a block go side by side in lanes.
#include "sim/base/status.h"
#include "sim/batch/tape.h"
#include "sim/batch/tapes_parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    ctn_tapes *tapes;
    double *A, *B, *F;
    double *bars;  // [threads][MOST_LANES][2 nv][bar], gradients of the rows by the state in hand
} linearising;

/// Row `r` of a lane.
static double *bar_of(const linearising *job, int thread, int lane, size_t r)
{
    const ctn_tapes *const t = job->tapes;
    return job->bars + (((size_t)thread * MOST_LANES + (size_t)lane) * 2 * t->nv + r) * t->bar;
}

/// The rows of the last state: each coordinate by itself.
static void begin_rows(const linearising *job, int thread, int b, const int *which)
{
    const ctn_tapes *const t = job->tapes;
    const ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    const double *state[MOST_LANES], *by_q[MOST_LANES], *by_v[MOST_LANES];
    double *own[MOST_LANES], *const unit = row_of(t, thread, 0), *const zero = unit + t->nv;
    if (!ctn_method_is_implicit(batch->cfg.method)) {  // the state begins with q and v
        for (size_t r = 0; r < 2 * t->nv; r++)
            for (int l = 0; l < g->lanes; l++)
                memset(bar_of(job, thread, l, r), 0, t->bar * sizeof *unit), bar_of(job, thread, l, r)[r] = 1;
        return;
    }
    memset(unit, 0, 2 * t->nv * sizeof *unit);
    for (size_t r = 0; r < 2 * t->nv; r++) {
        for (int l = 0; l < g->lanes; l++) {
            const size_t w = (size_t)(b * g->lanes + which[l]);
            state[l] = state_at(t, t->steps) + w * t->flat, own[l] = bar_of(job, thread, l, r);
            by_q[l] = r < t->nv ? unit : zero, by_v[l] = r < t->nv ? zero : unit;
        }
        unit[r % t->nv] = 1;
        g->adjoint_output(lanes_of(batch, b), &batch->cfg, t->work + (size_t)thread * t->work_size, g->lanes, state, by_q, by_v,
                          own);
        unit[r % t->nv] = 0;
    }
}

/// All rows go back over step k; lanes that wait are those that are made in this way. Returns how many were.
static int step_rows(const linearising *job, int thread, int b, int k, int way, const int *which, bool *waits)
{
    const ctn_tapes *const t = job->tapes;
    const ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    void *const work = t->work + (size_t)thread * t->work_size;
    const int count = worlds_in(batch, b);
    const double *before[MOST_LANES], *after[MOST_LANES], *tau[MOST_LANES], *bar[MOST_LANES];
    double *own[MOST_LANES], *by_tau[MOST_LANES], *by_u[MOST_LANES], time[MOST_LANES] = {0};
    bool made[MOST_LANES];
    int found = 0;
    for (int l = 0; l < g->lanes; l++) {
        const size_t w = (size_t)(b * g->lanes + which[l]);
        before[l] = state_at(t, k) + w * t->flat, after[l] = state_at(t, k + 1) + w * t->flat;
        tau[l] = tau_at(t, k) + w * t->nv, time[l] = time_at(t, k)[w];
        own[l] = row_of(t, thread, l), by_tau[l] = own[l] + t->bar, by_u[l] = by_tau[l] + t->nv;
    }
    g->adjoint_prepare(lanes_of(batch, b), &batch->cfg, work, time, batch->cfg.dt, way, before, after, tau, made);
    for (int l = 0; l < count; l++) found += waits[l] && made[l];
    for (size_t r = 0; r < 2 * t->nv && found; r++) {
        for (int l = 0; l < g->lanes; l++) bar[l] = bar_of(job, thread, l, r);
        g->adjoint_step(lanes_of(batch, b), &batch->cfg, work, count, bar, own, by_tau, by_u, NULL);
        for (int l = 0; l < count; l++) {
            if (!waits[l] || !made[l]) continue;
            const size_t row = (size_t)(b * g->lanes + l) * 2 * t->nv + r;
            memcpy(bar_of(job, thread, l, r), own[l], t->bar * sizeof *own[l]);
            for (size_t j = 0; j < t->nu && job->B; j++) job->B[row * t->nu + j] += by_u[l][j];
            for (size_t j = 0; j < t->nv && job->F; j++) job->F[row * t->nv + j] += by_tau[l][j];
        }
    }
    for (int l = 0; l < count; l++) waits[l] = waits[l] && !made[l];
    return found;
}

/// By the q and v at which the worlds began.
static void end_rows(const linearising *job, int thread, int b, const int *which)
{
    const ctn_tapes *const t = job->tapes;
    const ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    const int count = worlds_in(batch, b);
    const double *state[MOST_LANES], *v[MOST_LANES], *bar[MOST_LANES];
    double *by_q[MOST_LANES], *by_v[MOST_LANES];
    for (size_t r = 0; r < 2 * t->nv && !ctn_method_is_implicit(batch->cfg.method); r++)  // likewise
        for (int l = 0; l < count; l++)
            memcpy(job->A + ((size_t)(b * g->lanes + l) * 2 * t->nv + r) * 2 * t->nv, bar_of(job, thread, l, r),
                   2 * t->nv * sizeof(double));
    for (size_t r = 0; r < 2 * t->nv && ctn_method_is_implicit(batch->cfg.method); r++) {
        for (int l = 0; l < g->lanes; l++) {
            const size_t w = (size_t)(b * g->lanes + which[l]);
            state[l] = state_at(t, 0) + w * t->flat, v[l] = t->begun_v + w * t->nv, bar[l] = bar_of(job, thread, l, r);
            by_q[l] = row_of(t, thread, l), by_v[l] = by_q[l] + t->nv;
        }
        g->adjoint_start(lanes_of(batch, b), &batch->cfg, t->work + (size_t)thread * t->work_size, count, state, v, bar, by_q,
                         by_v, NULL);
        for (int l = 0; l < count; l++) {
            const size_t w = (size_t)(b * g->lanes + l);
            if (t->lost[w] < 0) memcpy(job->A + (w * 2 * t->nv + r) * 2 * t->nv, by_q[l], 2 * t->nv * sizeof *by_q[l]);
        }
    }
}

/// Lost worlds have zeros.
static void drop_rows(const linearising *job, int w)
{
    const ctn_tapes *const t = job->tapes;
    if (t->lost[w] < 0) return;
    const size_t n = 2 * t->nv;
    if (job->A) memset(job->A + (size_t)w * n * n, 0, n * n * sizeof *job->A);
    if (job->B) memset(job->B + (size_t)w * n * t->nu, 0, n * t->nu * sizeof *job->B);
    if (job->F) memset(job->F + (size_t)w * n * t->nv, 0, n * t->nv * sizeof *job->F);
}

static void linearise_block(void *context, int thread, int b)
{
    const linearising *const job = context;
    ctn_tapes *const t = job->tapes;
    const ctn_engine *const g = t->batch->engine;
    const int count = worlds_in(t->batch, b), first = b * g->lanes;
    const int ways = tape_ways(g, t->batch->model, &t->batch->cfg);
    int which[MOST_LANES], any = -1;
    for (int l = 0; l < count; l++)
        if (t->lost[first + l] < 0) any = l;
    for (int l = 0; l < g->lanes; l++) which[l] = l < count && t->lost[first + l] < 0 ? l : any;
    if (any >= 0) begin_rows(job, thread, b, which);
    for (int k = t->steps - 1; k >= 0 && any >= 0; k--) {
        bool waits[MOST_LANES] = {false};
        int left = 0;
        for (int l = 0; l < count; l++) waits[l] = t->lost[first + l] < 0, left += waits[l];
        if (t->nu) tell_block(t, b, u_at(t, k), which);
        for (int way = 0; way < ways && left; way++) left -= step_rows(job, thread, b, k, way, which, waits);
        for (int l = 0; l < count; l++)
            if (waits[l]) t->lost[first + l] = k;
    }
    if (any >= 0 && job->A) end_rows(job, thread, b, which);
    for (int l = 0; l < count; l++) drop_rows(job, first + l);
}

ctn_status ctn_tapes_jacobian(ctn_tapes *t, double *A, double *B, double *F, ctn_error *err)
{
    if (missing(__func__, "tapes", t, err)) return CTN_BAD_ARGUMENT;
    if (!t->gradients) return fail(err, CTN_BAD_ARGUMENT, "the tapes were made without gradients");
    if (!t->steps) return fail(err, CTN_BAD_ARGUMENT, "nothing is recorded: call ctn_tapes_run first");
    for (size_t w = 0; w < worlds_of(t) && A; w++)
        if (!t->begun[w])
            return fail(err, CTN_BAD_ARGUMENT, "world %zu went on from the run before it; linearised runs begin at q and v", w);
    const size_t n = 2 * t->nv;
    if (!n) return CTN_OK;
    linearising job = {t, A, B, F, calloc((size_t)job_threads(t->batch) * MOST_LANES * n * t->bar, sizeof(double))};
    if (!job.bars)
        return fail(err, CTN_NO_MEMORY, "not enough memory to linearise %d world%s", t->batch->cfg.worlds,
                    plural(t->batch->cfg.worlds));
    if (B) memset(B, 0, worlds_of(t) * n * t->nu * sizeof *B);
    if (F) memset(F, 0, worlds_of(t) * n * t->nv * sizeof *F);
    pool_run(t->batch->pool, t->batch->blocks, linearise_block, &job);
    free(job.bars);
    return CTN_OK;
}
