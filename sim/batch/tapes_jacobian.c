/// The linearised runs of many worlds: all rows of a world's Jacobian go back together, step by step, so that a step is prepared
/// once. Worlds of a block go side by side in lanes.
#include "sim/base/matrix.h"
#include "sim/base/status.h"
#include "sim/batch/tape.h"
#include "sim/batch/tapes_parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    ctn_tapes *tapes;
    double *A, *B, *F;
    double *bars;  // [threads][MOST_LANES][2 nv][bar], gradients of the rows by the state in hand
    bool led;      // worlds were led to where they begin, and that tells what is remembered: of friction, and maybe of velocities
    double *read;  // [threads][MOST_LANES][nv][bar], then gradients of velocities there; NULL: these go with q and v
    double *way;   // [threads][2 nv][nv], [nv][2 nv]: the inverse of how these go with places, and as they are
    int *pivot;    // [threads][nv]
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

// ---- worlds that a step has led to where they begin

/// The gradient of velocity r, as it is read where a lane begins.
static double *read_of(const linearising *job, int thread, int lane, size_t r)
{
    const ctn_tapes *const t = job->tapes;
    return job->read + (((size_t)thread * MOST_LANES + (size_t)lane) * t->nv + r) * t->bar;
}

static void read_velocities(const linearising *job, int thread, int b, const int *which)
{
    const ctn_tapes *const t = job->tapes;
    const ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    const double *state[MOST_LANES], *by_q[MOST_LANES], *by_v[MOST_LANES];
    double *own[MOST_LANES], *const unit = row_of(t, thread, 0), *const zero = unit + t->nv;
    memset(unit, 0, 2 * t->nv * sizeof *unit);
    for (size_t r = 0; r < t->nv; r++) {
        for (int l = 0; l < g->lanes; l++)
            state[l] = state_at(t, 0) + (size_t)(b * g->lanes + which[l]) * t->flat, by_q[l] = zero, by_v[l] = unit,
            own[l] = read_of(job, thread, l, r);
        unit[r] = 1;
        g->adjoint_output(lanes_of(batch, b), &batch->cfg, t->work + (size_t)thread * t->work_size, g->lanes, state, by_q, by_v,
                          own);
        unit[r] = 0;
    }
}

/// The steps that have led to where lanes begin, made ready. Lanes that nothing has led to, or in another way, are not `made`.
static bool prepare_leads(const linearising *job, int thread, int b, const int *which, bool *made)
{
    const ctn_tapes *const t = job->tapes;
    const ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    const double *before[MOST_LANES], *after[MOST_LANES], *u[MOST_LANES];
    double time[MOST_LANES] = {0};
    int any = -1;
    for (int l = 0; l < g->lanes; l++)
        if (t->lead[b * g->lanes + which[l]].state) any = l;
    if (any < 0) return false;
    for (int l = 0; l < g->lanes; l++) {
        const int like = t->lead[b * g->lanes + which[l]].state ? l : any;
        const size_t w = (size_t)(b * g->lanes + which[like]);
        before[l] = t->lead[w].state, after[l] = state_at(t, 0) + w * t->flat, u[l] = t->lead[w].u;
        time[l] = time_at(t, 0)[w] - batch->cfg.dt;
    }
    if (t->nu) g->model_tell(lanes_of(batch, b), u);
    g->adjoint_prepare(lanes_of(batch, b), &batch->cfg, t->work + (size_t)thread * t->work_size, time, batch->cfg.dt, 0, before,
                       after, NULL, made);
    for (int l = 0; l < g->lanes; l++) made[l] = made[l] && t->lead[b * g->lanes + which[l]].state;
    return true;
}

/// How x goes with q at the start [lanes][nv], and with q a step before, of x with the gradients `bar` by the state.
static void by_places(const linearising *job, int thread, int b, const double *const *bar, double **by_q, double **by_before)
{
    const ctn_tapes *const t = job->tapes;
    const ctn_engine *const g = t->batch->engine;
    for (int l = 0; l < g->lanes; l++) by_q[l] = row_of(t, thread, l), by_before[l] = by_q[l] + t->nv;
    g->adjoint_memory(lanes_of(t->batch, b), &t->batch->cfg, t->work + (size_t)thread * t->work_size, g->lanes, bar, by_q,
                      by_before);
}

/// Rows [2 nv][2 nv] by q and by q a step before become those by q and v: changes of (q, v) are [1 0; C D] times those of the
/// places, with [C D] in `read` [nv][2 nv]. false: velocities do not tell the places.
static bool by_velocities(size_t nv, const double *read, double *D, int *pivot, double *A)
{
    for (size_t i = 0; i < nv; i++)
        for (size_t j = 0; j < nv; j++) D[j * nv + i] = read[i * 2 * nv + nv + j];
    if (!matrix_lu((int)nv, D, pivot)) return false;
    for (size_t r = 0; r < 2 * nv; r++) {
        double *const by_q = A + r * 2 * nv, *const by_v = by_q + nv;
        matrix_lu_solve((int)nv, 1, D, pivot, by_v);
        for (size_t i = 0; i < nv; i++)
            for (size_t j = 0; j < nv; j++) by_q[j] -= by_v[i] * read[i * 2 * nv + j];
    }
    return true;
}

/// Rows of lanes that a step has led to where they begin, by what is remembered of it; those of others stay.
static void led_rows(const linearising *job, int thread, int b, const int *which)
{
    const ctn_tapes *const t = job->tapes;
    const size_t nv = t->nv, first = (size_t)(b * t->batch->engine->lanes);
    const int lanes = t->batch->engine->lanes, count = worlds_in(t->batch, b);
    const double *bar[MOST_LANES];
    double *by_q[MOST_LANES], *by_before[MOST_LANES];
    double *const D = job->way + (size_t)thread * 3 * nv * nv, *const read = D + nv * nv;
    bool done[MOST_LANES];
    if (job->read) read_velocities(job, thread, b, which);
    if (!prepare_leads(job, thread, b, which, done)) return;
    for (size_t r = 0; r < 2 * nv; r++) {
        for (int l = 0; l < lanes; l++) bar[l] = bar_of(job, thread, l, r);
        by_places(job, thread, b, bar, by_q, by_before);
        for (int l = 0; l < count; l++) {
            double *const row = job->A + ((first + (size_t)l) * 2 * nv + r) * 2 * nv;
            if (t->lost[first + (size_t)l] >= 0 || !done[l]) continue;
            for (size_t j = 0; j < nv && !job->read; j++) row[j] += by_q[l][j];
            if (job->read) memcpy(row, by_q[l], nv * sizeof *row), memcpy(row + nv, by_before[l], nv * sizeof *row);
        }
    }
    for (size_t r = 0; r < nv && job->read; r++) {  // into what is done with
        for (int l = 0; l < lanes; l++) bar[l] = read_of(job, thread, l, r);
        by_places(job, thread, b, bar, by_q, by_before);
        for (int l = 0; l < lanes; l++)
            memcpy(bar_of(job, thread, l, r), by_q[l], nv * sizeof *read),
                memcpy(bar_of(job, thread, l, r) + nv, by_before[l], nv * sizeof *read);
    }
    for (int l = 0; l < count && job->read; l++) {
        if (t->lost[first + (size_t)l] >= 0 || !done[l]) continue;
        for (size_t r = 0; r < nv; r++) memcpy(read + r * 2 * nv, bar_of(job, thread, l, r), 2 * nv * sizeof *read);
        if (!by_velocities(nv, read, D, job->pivot + (size_t)thread * nv, job->A + (first + (size_t)l) * 4 * nv * nv))
            t->lost[first + (size_t)l] = 0;
    }
}

// ---- the start

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
    if (any >= 0 && job->led) led_rows(job, thread, b, which);
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
    const size_t threads = (size_t)job_threads(t->batch), rows = threads * MOST_LANES * n * t->bar;
    const memory_kind memory =
        A && t->lead ? t->batch->engine->adjoint_memory_of(lanes_of(t->batch, 0), &t->batch->cfg) : MEMORY_HELD;
    const bool places = memory == MEMORY_PLACES;
    linearising job = {.tapes = t, .A = A, .B = B, .F = F, .led = memory != MEMORY_HELD};
    job.bars = calloc(rows + (places ? rows / 2 + threads * 3 * t->nv * t->nv : 0), sizeof(double));
    if (places && job.bars) {
        job.read = job.bars + rows, job.way = job.read + rows / 2;
        job.pivot = calloc(threads * t->nv, sizeof *job.pivot);
    }
    if (!job.bars || (places && !job.pivot))
        return free(job.bars), fail(err, CTN_NO_MEMORY, "not enough memory to linearise %d world%s", t->batch->cfg.worlds,
                                    plural(t->batch->cfg.worlds));
    if (B) memset(B, 0, worlds_of(t) * n * t->nu * sizeof *B);
    if (F) memset(F, 0, worlds_of(t) * n * t->nv * sizeof *F);
    pool_run(t->batch->pool, t->batch->blocks, linearise_block, &job);
    free(job.bars), free(job.pivot);
    return CTN_OK;
}
