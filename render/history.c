/// A ring of entries; each has the batch's whole state, so that it goes on from there with the same bits.
#include "render/history.h"

#include "render/between.h"

#include <catena/dynamics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct history {
    const ctn_model *model;
    size_t nq, nv, worlds, saved;
    int first, count, room;  // entries are first, first + 1, ... modulo room
    history_step *steps;     // [room]
    double *q, *v;           // [room][worlds][nq], [room][worlds][nv]
    char *blocks;            // [room][saved]
};

static int place(const history *h, int k) { return (h->first + k) % h->room; }

/// A world that froze stands still; the batch is where the others are.
static double batch_time(const ctn_batch *batch, size_t worlds)
{
    double t = 0;
    for (size_t w = 0; w < worlds; w++) t = fmax(t, ctn_batch_time(batch, (int)w));
    return t;
}

static void keep(history *h, ctn_batch *batch, history_step step)
{
    if (h->count == h->room) h->first = place(h, 1), h->count--;
    const size_t at = (size_t)place(h, h->count++);
    step.time = batch_time(batch, h->worlds);
    h->steps[at] = step;
    ctn_batch_state(batch, h->q + at * h->worlds * h->nq, h->v + at * h->worlds * h->nv);
    ctn_batch_save(batch, h->blocks + at * h->saved);
}

history *history_create(ctn_batch *batch, size_t bytes)
{
    history *const h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->model = ctn_batch_model(batch);
    h->nq = (size_t)ctn_model_nq(h->model), h->nv = (size_t)ctn_model_nv(h->model);
    h->worlds = (size_t)ctn_batch_configuration(batch)->worlds;
    h->saved = ctn_batch_saved_size(batch);
    const size_t entry = sizeof *h->steps + h->saved + h->worlds * (h->nq + h->nv) * sizeof(double), room = bytes / entry;
    h->room = room < 2 ? 2 : room > 100000 ? 100000 : (int)room;
    h->steps = calloc((size_t)h->room, sizeof *h->steps), h->blocks = malloc((size_t)h->room * h->saved);
    h->q = malloc(((size_t)h->room * h->worlds * h->nq + 1) * sizeof *h->q);
    h->v = malloc(((size_t)h->room * h->worlds * h->nv + 1) * sizeof *h->v);
    ctn_totals *const totals = malloc(h->worlds * sizeof *totals);
    if (h->steps && h->blocks && h->q && h->v && totals) {
        ctn_batch_totals(batch, totals);
        keep(h, batch, (history_step){.energy = totals->kinetic + totals->potential + totals->spring});
        free(totals);
        return h;
    }
    free(totals);
    history_free(h);
    return NULL;
}

void history_free(history *h)
{
    if (!h) return;
    free(h->steps), free(h->blocks), free(h->q), free(h->v);
    free(h);
}

void history_add(history *h, ctn_batch *batch, const ctn_step_stats *stats)
{
    keep(h, batch, (history_step){.energy = stats->energy_after, .iterations = (int)stats->iterations, .frozen = stats->frozen});
}

int history_count(const history *h) { return h->count; }

const history_step *history_entry(const history *h, int k) { return &h->steps[place(h, k)]; }

/// The last entry at or before t, the first one if there is none.
static int entry_before(const history *h, double t)
{
    int low = 0, high = h->count;  // entry `high` is after t
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (history_entry(h, middle)->time <= t) low = middle;
        else high = middle;
    }
    return low;
}

void history_state(const history *h, double t, double *q, double *v)
{
    const int k = entry_before(h, t), next = k + 1 < h->count ? k + 1 : k;
    const size_t a = (size_t)place(h, k), b = (size_t)place(h, next), nq = h->nq, nv = h->nv;
    const double t0 = h->steps[a].time, span = h->steps[b].time - t0, share = span > 0 ? fmin(fmax((t - t0) / span, 0), 1) : 0;
    for (size_t w = 0; w < h->worlds; w++) {
        const double *const q0 = h->q + (a * h->worlds + w) * nq, *const q1 = h->q + (b * h->worlds + w) * nq;
        const double *const v0 = h->v + (a * h->worlds + w) * nv, *const v1 = h->v + (b * h->worlds + w) * nv;
        if (share <= 0 || !memcmp(q0, q1, nq * sizeof *q0))  // frozen: it stands, whatever its velocities
            memcpy(q + w * nq, q0, nq * sizeof *q);
        else state_between(h->model, span, q0, v0, q1, v1, share, q + w * nq);
        for (size_t i = 0; i < nv; i++) v[w * nv + i] = v0[i] + share * (v1[i] - v0[i]);
    }
}

bool history_back(history *h, ctn_batch *batch)
{
    if (h->count < 2) return false;
    const size_t at = (size_t)place(h, h->count - 2);
    if (ctn_batch_restore(batch, h->blocks + at * h->saved, h->saved, NULL) != CTN_OK) return false;
    h->count--;
    return true;
}
