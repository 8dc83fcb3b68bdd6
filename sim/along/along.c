/// The public calls of catena/along.h: a plan, a world in lanes, and threads.
#define _DEFAULT_SOURCE  // madvise
#include "sim/along/along_device.h"

#include "sim/base/status.h"
#include "sim/engine/device.h"
#include "sim/engine/engine.h"

#include <catena/along.h>
#include <catena/batch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct ctn_along {
    const along_engine *engine;
    along_plan *plan;
    along_world *world;
    along_remote *there;  // forward dynamics on a device; NULL: `world` makes it
    const char *name;     // of the engine
    pool *pool;
    size_t bytes;
    double *unit;   // [nv] scratch
    bool factored;  // whether there are factors
};

void *along_memory(size_t bytes)
{
    const size_t large = (size_t)2 << 20, page = bytes < 2 * large ? 64 : large;
    void *const memory = aligned_alloc(page, (bytes + page - 1) / page * page);
    if (memory && page == large) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

const along_engine *along_engine_of(const ctn_engine *engine)
{
#ifdef CATENA_X86
    if (engine == &engine_scalar_fma) return &along_scalar_fma;
    if (engine == &engine_avx2) return &along_avx2;
    if (engine == &engine_avx512) return &along_avx512;
#endif
    return engine == &engine_scalar ? &along_scalar : NULL;
}

ctn_along *ctn_along_create(const ctn_model *model, const char *engine, int threads, int lanes, ctn_error *err)
{
    enum { MOST_LANES_ALONG = 8192, MOST_THREADS = 1024 };
    if (missing(__func__, "model", model, err)) return NULL;
    if (lanes < 0 || lanes > MOST_LANES_ALONG || lanes % ALONG_LANES) {
        fail(err, CTN_BAD_ARGUMENT, "lanes: expected 0 or a multiple of %d up to %d, found %d", ALONG_LANES, MOST_LANES_ALONG,
             lanes);
        return NULL;
    }
    if (threads < 0 || threads > MOST_THREADS) {
        fail(err, CTN_BAD_ARGUMENT, "threads: expected 0 to %d, found %d", MOST_THREADS, threads);
        return NULL;
    }
    const char *const device = device_asked(engine);
    const ctn_engine *const lane = engine_find(engine, 2, err);
    if (!lane) return NULL;
    ctn_along *const a = calloc(1, sizeof *a);
    if (a) {
        a->engine = along_engine_of(lane), a->name = device ? device : a->engine->name;
        a->plan = along_plan_create(model, lanes ? lanes : along_lanes(model), true);
        a->pool = pool_create(threads ? threads : pool_cpus());
        a->unit = calloc((size_t)model->nv + 1, sizeof *a->unit);
    }
    if (a && a->plan && device && !(a->there = along_remote_open(device, a->plan, NULL, NULL, err))) {
        ctn_along_free(a);
        return NULL;
    }
    if (a && a->plan && a->pool && a->unit) {
        a->bytes = a->engine->size(a->plan, NULL, false);
        void *const memory = along_memory(a->bytes);
        if (memory) {
            a->world = a->engine->open(a->plan, NULL, false, memory);
            return a;
        }
    }
    ctn_along_free(a);
    fail(err, CTN_NO_MEMORY, "not enough memory, or threads, for a world along its links");
    return NULL;
}

void ctn_along_free(ctn_along *a)
{
    if (!a) return;
    along_remote_close(a->there), free(a->world), free(a->unit), along_plan_free(a->plan), pool_free(a->pool);
    free(a);
}

ctn_along_info ctn_along_about(const ctn_along *a)
{
    if (!a) return (ctn_along_info){0};
    const along_plan *const p = a->plan;
    ctn_along_info i = {.engine = a->name, .lanes = p->lanes, .levels = p->levels, .segments = p->segments};
    i.cut = p->cut_segments, i.bodies = p->model->nbody,
    i.bytes = (double)(a->bytes + p->bytes + (a->there ? along_remote_bytes(a->there) : 0));
    for (int b = 0; b < p->blocks; b++) i.rows += p->block[b].rows;
    return i;
}

/// Whether pointers that nv numbers stand behind are there.
static bool ready(const ctn_along *a, const void *const *pointers, int count)
{
    for (int k = 0; a && k < count; k++)
        if (a->plan->model->nv && !pointers[k]) return false;
    return a != NULL;
}
#define READY(a, ...)                                                                                                            \
    ready(a, (const void *const[]){__VA_ARGS__}, (int)(sizeof(const void *[]){__VA_ARGS__} / sizeof(const void *)))

void ctn_along_forward_kinematics(ctn_along *a, const double *q, double *R, double *p)
{
    if (READY(a, q, R, p)) a->engine->kinematics(a->world, a->pool, q, NULL, R, p, NULL);
}

void ctn_along_link_twists(ctn_along *a, const double *q, const double *v, double *twist)
{
    if (READY(a, q, v, twist)) a->engine->kinematics(a->world, a->pool, q, v, NULL, NULL, twist);
}

void ctn_along_rnea(ctn_along *a, const double *q, const double *v, const double *acceleration, double *tau)
{
    if (READY(a, q, v, acceleration, tau)) a->engine->rnea(a->world, a->pool, q, v, acceleration, tau);
}

void ctn_along_bias(ctn_along *a, const double *q, const double *v, double *bias)
{
    if (READY(a, q, v, bias)) a->engine->rnea(a->world, a->pool, q, v, NULL, bias);
}

void ctn_along_inertia(ctn_along *a, int count, const double *q, const double *x, double *y)
{
    if (READY(a, q, x, y)) a->engine->products(a->world, a->pool, count, q, x, 0, NULL, y);
}

void ctn_along_crba(ctn_along *a, int first, int count, const double *q, double *H)
{
    if (!READY(a, q, H)) return;
    const int nv = a->plan->model->nv;
    if (first >= 0 && count <= nv - first) a->engine->products(a->world, a->pool, count, q, NULL, first, a->unit, H);
    else
        for (size_t k = 0; count > 0 && k < (size_t)count * (size_t)nv; k++) H[k] = NAN;
}

void ctn_along_aba(ctn_along *a, const double *q, const double *v, const double *tau, double *qdd)
{
    if (!READY(a, q, v, qdd)) return;
    a->factored = !a->there;
    if (!a->there) a->engine->aba(a->world, a->pool, q, v, tau, qdd);
    else if (along_remote_aba(a->there, q, v, tau, qdd, NULL) != CTN_OK)
        for (int k = 0; k < a->plan->model->nv; k++) qdd[k] = NAN;
}

void ctn_along_factor(ctn_along *a, const double *q)
{
    if (!READY(a, q)) return;
    a->engine->factor(a->world, a->pool, q);
    a->factored = true;
}

void ctn_along_solve(ctn_along *a, int count, const double *b, double *x)
{
    if (!READY(a, b, x)) return;
    if (a->factored) a->engine->solve(a->world, a->pool, count, b, x);
    else
        for (size_t k = 0; count > 0 && k < (size_t)count * (size_t)a->plan->model->nv; k++) x[k] = NAN;
}
