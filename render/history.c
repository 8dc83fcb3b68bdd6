/// A ring of entries. Each has the batch's whole state, so that it goes on from there with the same bits, unless it was changed since.
#include "render/history.h"

#include "render/between.h"

#include <catena/dynamics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    history_step step;
    void *saved;  // of the batch; NULL where there was no memory for it
    size_t size;
    int change;  // how many there had been
} entry;

struct history {
    const ctn_model *model;
    size_t nq, nv, worlds, bytes, used;  // by what is saved
    int first, count, room, changes;     // entries are first, first + 1, ... modulo room
    entry *entries;                      // [room]
    double *q, *v;                       // [room][worlds][nq], [room][worlds][nv]
};

static int place(const history *h, int k) { return (h->first + k) % h->room; }

/// A world that froze stands still; the batch is where the others are.
static double batch_time(const ctn_batch *batch, size_t worlds)
{
    double t = 0;
    for (size_t w = 0; w < worlds; w++) t = fmax(t, ctn_batch_time(batch, (int)w));
    return t;
}

static void forget(history *h, int k)
{
    entry *const e = &h->entries[place(h, k)];
    h->used -= e->size;
    free(e->saved);
    e->saved = NULL, e->size = 0;
    h->count--;
}

static void forget_first(history *h)
{
    forget(h, 0);
    h->first = place(h, 1);
}

static void keep(history *h, ctn_batch *batch, history_step step)
{
    const size_t size = ctn_batch_saved_size(batch);
    if (h->count == h->room) forget_first(h);
    while (h->count > 1 && h->used + size > h->bytes) forget_first(h);
    const size_t at = (size_t)place(h, h->count++);
    step.time = batch_time(batch, h->worlds);
    entry *const e = &h->entries[at];
    *e = (entry){.step = step, .saved = malloc(size), .change = h->changes};
    if (e->saved) ctn_batch_save(batch, e->saved), h->used += e->size = size;
    ctn_batch_state(batch, h->q + at * h->worlds * h->nq, h->v + at * h->worlds * h->nv);
}

/// The batch as it stands, with no step before.
static bool keep_start(history *h, ctn_batch *batch)
{
    ctn_totals *const totals = malloc(h->worlds * sizeof *totals);
    if (!totals) return false;
    ctn_batch_totals(batch, totals);
    keep(h, batch, (history_step){.energy = totals->kinetic + totals->potential + totals->spring});
    free(totals);
    return true;
}

history *history_create(ctn_batch *batch, size_t bytes)
{
    history *const h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->model = ctn_batch_model(batch);
    h->nq = (size_t)ctn_model_nq(h->model), h->nv = (size_t)ctn_model_nv(h->model);
    h->worlds = (size_t)ctn_batch_configuration(batch)->worlds;
    const size_t states = h->worlds * (h->nq + h->nv) * sizeof(double),
                 room = bytes / (sizeof *h->entries + states + ctn_batch_saved_size(batch));
    h->room = room < 2 ? 2 : room > 100000 ? 100000 : (int)room;
    const size_t others = (size_t)h->room * (sizeof *h->entries + states);
    h->bytes = bytes > others ? bytes - others : 0;
    h->entries = calloc((size_t)h->room, sizeof *h->entries);
    h->q = malloc(((size_t)h->room * h->worlds * h->nq + 1) * sizeof *h->q);
    h->v = malloc(((size_t)h->room * h->worlds * h->nv + 1) * sizeof *h->v);
    if (h->entries && h->q && h->v && keep_start(h, batch)) return h;
    history_free(h);
    return NULL;
}

void history_free(history *h)
{
    if (!h) return;
    for (int k = 0; k < h->room && h->entries; k++) free(h->entries[k].saved);
    free(h->entries), free(h->q), free(h->v);
    free(h);
}

void history_add(history *h, ctn_batch *batch, const ctn_step_stats *stats)
{
    keep(h, batch, (history_step){.energy = stats->energy_after, .iterations = (int)stats->iterations, .frozen = stats->frozen});
}

void history_change(history *h, ctn_batch *batch)
{
    const history_step last = *history_entry(h, h->count - 1);
    h->changes++;
    forget(h, h->count - 1);
    if (!keep_start(h, batch)) keep(h, batch, last);  // with the energy that it had
}

int history_count(const history *h) { return h->count; }

const history_step *history_entry(const history *h, int k) { return &h->entries[place(h, k)].step; }

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
    const double t0 = h->entries[a].step.time, span = h->entries[b].step.time - t0,
                 share = span > 0 ? fmin(fmax((t - t0) / span, 0), 1) : 0;
    for (size_t w = 0; w < h->worlds; w++) {
        const double *const q0 = h->q + (a * h->worlds + w) * nq, *const q1 = h->q + (b * h->worlds + w) * nq;
        const double *const v0 = h->v + (a * h->worlds + w) * nv, *const v1 = h->v + (b * h->worlds + w) * nv;
        if (share <= 0 || !memcmp(q0, q1, nq * sizeof *q0))  // frozen: it stands, whatever its velocities
            memcpy(q + w * nq, q0, nq * sizeof *q);
        else state_between(h->model, span, q0, v0, q1, v1, share, q + w * nq);
        for (size_t i = 0; i < nv; i++) v[w * nv + i] = v0[i] + share * (v1[i] - v0[i]);
    }
}

bool history_back(history *h, ctn_batch *batch, bool *change)
{
    if (h->count < 2) return false;
    const size_t at = (size_t)place(h, h->count - 2);
    const entry *const e = &h->entries[at];
    *change = e->change != h->changes || !e->saved;
    const ctn_status status =
        *change ? ctn_batch_set_state(batch, h->q + at * h->worlds * h->nq, h->v + at * h->worlds * h->nv, e->step.time, NULL)
                : ctn_batch_restore(batch, e->saved, e->size, NULL);
    if (status != CTN_OK) return false;
    forget(h, h->count - 1);
    return true;
}
