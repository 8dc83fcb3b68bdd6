/// Threads and memory of the forms.
#include "sim/forms/work.h"
#include "sim/base/status.h"
#include "sim/forms/forms_device.h"

#include <stdlib.h>

void *work_room(work *w, enum work_slot slot, size_t count, size_t size)
{
    if (size && count > (size_t)-1 / 2 / size) {
        w->failed = true;
        return NULL;
    }
    if (count * size > w->bytes[slot]) {
        free(w->slot[slot]);
        w->slot[slot] = malloc(count * size);
        w->bytes[slot] = w->slot[slot] ? count * size : 0;
        if (!w->slot[slot]) w->failed = true;
    }
    return w->slot[slot];
}

typedef struct {
    phase_job job;
    void *context;
} phase_call;

static void run_job(void *context, int thread, int job)
{
    const phase_call *call = context;
    (void)thread;
    call->job(call->context, job);
}

void phase(work *w, int jobs, phase_job job, void *context)
{
    if (w->threads && jobs > 1) pool_run(w->threads, jobs, run_job, &(phase_call){job, context});
    else
        for (int k = 0; k < jobs; k++) job(context, k);
}

typedef struct {
    ctn_forms *forms;
    state_job job;
    void *context;
    ctn_error *errors;   // [threads]
    ctn_status *status;  // [threads]
    int *failed;         // [threads] the first state that failed on the thread
} states_call;

static void run_state(void *context, int thread, int state)
{
    states_call *c = context;
    ctn_error err;
    const ctn_status status = c->job(&c->forms->own[thread], c->context, state, &err);
    if (!status || (c->status[thread] && c->failed[thread] < state)) return;
    c->status[thread] = status, c->failed[thread] = state, c->errors[thread] = err;
}

ctn_status each_state(ctn_forms *f, int count, state_job job, void *context, ctn_error *err)
{
    const int threads = pool_threads(f->threads);
    if (count < threads || threads == 1) {
        for (int k = 0; k < count; k++) {
            const ctn_status status = job(&f->all, context, k, err);
            if (status) return status;
        }
        return CTN_OK;
    }
    states_call c = {f,
                     job,
                     context,
                     malloc((size_t)threads * sizeof(ctn_error)),
                     calloc((size_t)threads, sizeof(ctn_status)),
                     calloc((size_t)threads, sizeof(int))};
    ctn_status status = CTN_OK;
    if (c.errors && c.status && c.failed) {
        pool_run(f->threads, count, run_state, &c);
        int first = count;
        for (int t = 0; t < threads; t++)
            if (c.status[t] && c.failed[t] < first) {
                first = c.failed[t], status = c.status[t];
                if (err) *err = c.errors[t];
            }
    } else status = fail(err, CTN_NO_MEMORY, "no memory for %d threads", threads);
    free(c.errors), free(c.status), free(c.failed);
    return status;
}

ctn_forms *ctn_forms_create(const ctn_tree *tree, int threads, ctn_error *err)
{
    if (missing("ctn_forms_create", "tree", tree, err)) return NULL;
    return forms_create(tree, threads, PIECE, err);
}

ctn_forms *forms_create(const ctn_tree *tree, int threads, int piece, ctn_error *err)
{
    threads = threads_asked(threads, err);
    if (!threads) return NULL;
    ctn_forms *f = calloc(1, sizeof *f);
    if (f) {
        f->tree = tree;
        f->threads = pool_create(threads);
        f->own = calloc((size_t)threads, sizeof *f->own);
    }
    if (!f || !f->threads || !f->own) {
        ctn_forms_free(f);
        fail(err, CTN_NO_MEMORY, "no memory for %d threads, or the system starts no more", threads);
        return NULL;
    }
    if (!pieces_of(tree, piece, &f->cut) || !pieces_of(tree, 0, &f->whole)) {
        ctn_forms_free(f);
        fail(err, CTN_NO_MEMORY, "no memory for the paths of %d links", tree->n);
        return NULL;
    }
    const work own = {.tree = tree, .cut = &f->cut, .whole = &f->whole};
    f->all = own, f->all.threads = threads > 1 ? f->threads : NULL;
    for (int t = 0; t < threads; t++) f->own[t] = own;
    f->limit = CTN_FORMS_LIMIT;
    return f;
}

void ctn_forms_free(ctn_forms *f)
{
    if (!f) return;
    if (f->there) f->device->close(f->there);
    for (int s = 0; s < SLOTS; s++) {
        free(f->all.slot[s]);
        for (int t = 0; f->own && f->threads && t < pool_threads(f->threads); t++) free(f->own[t].slot[s]);
    }
    free(f->own);
    pieces_free(&f->cut), pieces_free(&f->whole);
    pool_free(f->threads);
    free(f);
}

int ctn_forms_threads(const ctn_forms *f) { return f ? pool_threads(f->threads) : 0; }

size_t ctn_forms_bytes(const ctn_forms *f)
{
    size_t sum = f && f->there ? f->device->bytes(f->there) : 0;
    for (int s = 0; f && s < SLOTS; s++) {
        sum += f->all.bytes[s];
        for (int t = 0; t < pool_threads(f->threads); t++) sum += f->own[t].bytes[s];
    }
    return sum;
}

ctn_status ctn_forms_set_origin(ctn_forms *f, ctn_origin origin)
{
    if (!f || (origin != CTN_ORIGIN_ROOT && origin != CTN_ORIGIN_CENTRE)) return CTN_BAD_ARGUMENT;
    f->all.origin = origin;
    for (int t = 0; t < pool_threads(f->threads); t++) f->own[t].origin = origin;
    return CTN_OK;
}

ctn_status ctn_forms_set_limit(ctn_forms *f, size_t bytes)
{
    if (!f) return CTN_BAD_ARGUMENT;
    f->limit = bytes;
    return CTN_OK;
}
