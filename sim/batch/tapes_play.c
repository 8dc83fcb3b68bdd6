#include "sim/batch/tapes_play.h"

#include "sim/base/status.h"
#include "sim/batch/tapes_parts.h"

#include <string.h>

typedef struct {
    ctn_tapes *tapes;
    int rounds, hold;
    bool anew;
    const double *q, *v;
    tapes_teller tell;
    void *context;
} playing;

/// A block as the engine asks for it.
typedef struct {
    const playing *job;
    int first, count;
    double *x, *u;
} asked;

static void tell_lanes(void *context, int round, const bool *good)
{
    const asked *const a = context;
    const playing *const job = a->job;
    job->tell(job->context, a->first, a->count, job->tapes->batch->engine->lanes, round, a->x, good,
              round < job->rounds ? a->u : NULL);
}

static bool interrupted(const ctn_tapes *t) { return t->batch->cfg.interrupt && *t->batch->cfg.interrupt; }

static void play_block(void *context, int thread, int b)
{
    const playing *const job = context;
    const ctn_tapes *const t = job->tapes;
    if (interrupted(t)) return;
    ctn_batch *const batch = t->batch;
    const ctn_engine *const g = batch->engine;
    const int count = worlds_in(batch, b), first = b * g->lanes;
    const double *q[MOST_LANES], *v[MOST_LANES];
    for (int l = 0; l < g->lanes; l++) {
        const size_t w = (size_t)(first + (l < count ? l : 0));
        q[l] = job->q + w * t->nq, v[l] = job->v + w * t->nv;
    }
    double *const x = lanes_room(t, thread), *const u = x + (t->nq + t->nv) * (size_t)g->lanes;
    asked a = {job, first, count, x, u};
    const engine_play play = {.rounds = job->rounds,
                              .hold = job->hold,
                              .anew = job->anew,
                              .q = q,
                              .v = v,
                              .x = x,
                              .u = u,
                              .tell = tell_lanes,
                              .context = &a};
    g->play(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), &play, count, &batch->use[thread]);
}

ctn_status tapes_play(ctn_tapes *t, int worlds, int rounds, int hold, bool anew, const double *q, const double *v,
                      tapes_teller tell, void *context, ctn_error *err)
{
    const ctn_status status = tapes_check_begin(t, q, v, NULL, err);
    if (status != CTN_OK) return status;
    t->steps = 0;
    playing job = {t, rounds, hold, anew, q, v, tell, context};
    const int lanes = t->batch->engine->lanes;
    pool_run(t->batch->pool, (worlds + lanes - 1) / lanes, play_block, &job);
    return interrupted(t) ? fail(err, CTN_INTERRUPTED, "the call was interrupted: the worlds are nowhere") : CTN_OK;
}
