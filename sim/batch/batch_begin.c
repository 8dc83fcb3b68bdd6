#include "sim/batch/batch_begin.h"

#include "sim/batch/batch_sensors.h"

typedef struct {
    ctn_batch *batch;
    const batch_beginning *how;
} beginning;

/// Puts the worlds of a block that begin at their states; the others stay where they are.
static void begin_block(void *context, int thread, int b)
{
    const beginning *const job = context;
    ctn_batch *const batch = job->batch;
    const batch_beginning *const how = job->how;
    const ctn_engine *const g = batch->engine;
    const size_t nq = (size_t)batch->model->nq, nv = (size_t)batch->model->nv,
                 flat = g->flat_size(lanes_of(batch, b), &batch->cfg);
    const int count = worlds_in(batch, b), first = b * g->lanes;
    double *const old = how->room + (size_t)first * flat;
    const double *q[MOST_LANES], *v[MOST_LANES];
    int like = -1, begin = 0;
    for (int l = 0; l < count; l++)
        if (how->which[first + l]) like = l, begin++;
    if (like < 0) return;
    for (int l = 0; l < count && begin < count; l++)
        g->flatten(lanes_of(batch, b), &batch->cfg, state_of(batch, b), l, false, old + (size_t)l * flat);
    for (int l = 0; l < g->lanes; l++) {  // lanes that do not begin are set like one that does, and put back below
        const size_t w = (size_t)(first + (l < count && how->which[first + l] ? l : like));
        q[l] = how->q + w * nq, v[l] = how->v + w * nv;
    }
    g->set(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), q, v);
    for (int l = 0; l < count && how->states; l++)
        g->flatten(lanes_of(batch, b), &batch->cfg, state_of(batch, b), l, true,
                   (double *)how->states + (size_t)(first + l) * flat);
    for (int l = 0; l < count; l++)
        if (!how->which[first + l])
            g->flatten(lanes_of(batch, b), &batch->cfg, state_of(batch, b), l, true, old + (size_t)l * flat);
}

void batch_begin(ctn_batch *batch, const batch_beginning *how)
{
    for (int w = 0; w < batch->cfg.worlds; w++) {
        if (!how->which[w]) continue;
        batch->clocks[w] = (clock_state){.start = how->time[w]};
        batch_sensing_restart(batch, w);
    }
    batch->fitted = false;
    pool_run(batch->pool, batch->blocks, begin_block, &(beginning){batch, how});
}
