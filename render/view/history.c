/// A ring of entries. Each has the batch's whole state, so that it goes on from there with the same bits, unless it was changed
/// since.
#include "render/view/history.h"

#include "render/draw/interpolation.h"

#include <catena/dynamics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    history_step step;
    void *saved;  // of the batch; NULL: it was changed since, or there was no memory
    size_t size;
} entry;

struct history {
    const ctn_model *model;
    size_t nq, nv, worlds, bytes, used;  // by what is saved
    int first, count, room;              // entries are first, first + 1, ... modulo room
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
    *e = (entry){.step = step, .saved = malloc(size)};
    if (e->saved) ctn_batch_save(batch, e->saved), h->used += e->size = size;
    ctn_batch_state(batch, h->q + at * h->worlds * h->nq, h->v + at * h->worlds * h->nv);
}

/// The batch as it stands, after this step but for its energy, which is that of the batch now. False: no memory to tell it.
static bool keep_energy(history *h, ctn_batch *batch, history_step step)
{
    ctn_totals *const totals = malloc(h->worlds * sizeof *totals);
    if (totals) {
        ctn_batch_totals(batch, totals);
        step.energy = totals->kinetic + totals->potential + totals->spring;
    }
    keep(h, batch, step);
    free(totals);
    return totals;
}

history *history_create(ctn_batch *batch, size_t bytes)
{
    history *const h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->model = ctn_batch_model(batch);
    h->nq = (size_t)ctn_model_nq(h->model), h->nv = (size_t)ctn_model_nv(h->model);
    h->worlds = (size_t)ctn_batch_configuration(batch)->worlds;
    enum { HEAP = 16, MOST = 1 << 30 };  // what the heap needs for itself
    const size_t states = h->worlds * (h->nq + h->nv) * sizeof(double),
                 room = bytes / (sizeof *h->entries + states + ctn_batch_saved_size(batch) + HEAP);
    h->room = room < 2 ? 2 : room > MOST ? MOST : (int)room;
    const size_t others = (size_t)h->room * (sizeof *h->entries + states);
    h->bytes = bytes > others ? bytes - others : 0;
    h->entries = calloc((size_t)h->room, sizeof *h->entries);
    h->q = malloc(((size_t)h->room * h->worlds * h->nq + 1) * sizeof *h->q);
    h->v = malloc(((size_t)h->room * h->worlds * h->nv + 1) * sizeof *h->v);
    if (h->entries && h->q && h->v && keep_energy(h, batch, (history_step){0})) return h;
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
    history_step step = {.energy = stats->energy_after, .iterations = (int)stats->iterations, .frozen = stats->frozen};
    for (size_t w = 0; w < h->worlds; w++) step.fell_back = step.fell_back || stats[w].fallbacks;
    keep(h, batch, step);
}

void history_change(history *h, ctn_batch *batch)
{
    const history_step last = *history_entry(h, h->count - 1);
    for (int k = 0; k < h->count; k++) {  // what is saved fits no more: their states do
        entry *const e = &h->entries[place(h, k)];
        free(e->saved), e->saved = NULL;
        h->used -= e->size, e->size = 0;
    }
    h->count--;
    keep_energy(h, batch, last);
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
    const double t0 = h->entries[a].step.time, span = h->entries[b].step.time - t0, share = span > 0 ? (t - t0) / span : 0;
    for (size_t w = 0; w < h->worlds; w++)
        interpolate_state(h->model, span, h->q + (a * h->worlds + w) * nq, h->v + (a * h->worlds + w) * nv,
                          h->q + (b * h->worlds + w) * nq, h->v + (b * h->worlds + w) * nv, share, q + w * nq, v + w * nv);
}

bool history_back(history *h, ctn_batch *batch, bool *change)
{
    if (h->count < 2) return false;
    const size_t at = (size_t)place(h, h->count - 2);
    const entry *const e = &h->entries[at];
    *change = !e->saved;
    const ctn_status status =
        *change ? ctn_batch_set_state(batch, h->q + at * h->worlds * h->nq, h->v + at * h->worlds * h->nv, e->step.time, NULL)
                : ctn_batch_restore(batch, e->saved, e->size, NULL);
    if (status != CTN_OK) return false;
    forget(h, h->count - 1);
    return true;
}
