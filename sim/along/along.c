/// The public calls of catena/along.h: a plan, a world in lanes, and threads.
#include "sim/along/along.h"

#include "sim/base/status.h"
#include "sim/engine/engine.h"

#include <catena/along.h>
#include <catena/batch.h>
#include <stdlib.h>
#include <string.h>

struct ctn_along {
    const along_engine *engine;
    along_plan *plan;
    along_world *world;
    pool *pool;
    size_t bytes;
};

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
    enum { MOST_LANES_ALONG = 1024, MOST_THREADS = 1024 };
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
    const ctn_engine *const lane = engine_find(engine, 2, err);
    if (!lane) return NULL;
    ctn_along *const a = calloc(1, sizeof *a);
    if (a) {
        a->engine = along_engine_of(lane);
        a->plan = along_plan_create(model, lanes ? lanes : along_lanes(model));
        a->pool = pool_create(threads ? threads : pool_cpus());
    }
    if (a && a->plan && a->pool) {
        a->bytes = a->engine->size(a->plan, NULL);
        void *const memory = aligned_alloc(64, (a->bytes + 63) / 64 * 64);
        if (memory) {
            a->world = a->engine->open(a->plan, NULL, memory);
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
    free(a->world), along_plan_free(a->plan), pool_free(a->pool);
    free(a);
}

ctn_along_info ctn_along_about(const ctn_along *a)
{
    if (!a) return (ctn_along_info){0};
    const along_plan *const p = a->plan;
    ctn_along_info i = {.engine = a->engine->name, .lanes = p->lanes, .levels = p->levels, .segments = p->segments};
    i.cut = p->cut_segments, i.bodies = p->model->nbody, i.bytes = (double)(a->bytes + p->bytes);
    for (int b = 0; b < p->blocks; b++) i.rows += p->block[b].rows;
    return i;
}

void ctn_along_aba(ctn_along *a, const double *q, const double *v, const double *tau, double *qdd)
{
    if (!a || (a->plan->model->nv && (!q || !v || !qdd))) return;
    a->engine->aba(a->world, a->pool, q, v, tau, qdd);
}
