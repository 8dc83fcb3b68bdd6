/// One world in the lanes of one engine, parallel along its links. (docs/scans.md)
#ifndef CATENA_ALONG_ALONG_H
#define CATENA_ALONG_ALONG_H

#include "sim/along/plan.h"
#include "sim/base/pool.h"
#include "sim/engine/engine.h"

/// A world in lanes, in one piece of memory; as large as the engine says.
typedef struct along_world along_world;

typedef struct {
    const char *name;  // of the engine with these lanes
    int lanes;
    // bytes of a world that steps by a configuration; NULL: for forward dynamics
    size_t (*size)(const along_plan *plan, const ctn_batch_config *cfg);
    // makes a world of the plan's model in `memory`, 64-byte aligned; plan and configuration must outlive it
    along_world *(*open)(const along_plan *plan, const ctn_batch_config *cfg, void *memory);
    // forward dynamics as ctn_aba of one state, without springs and forces on links; tau NULL: none
    void (*aba)(along_world *w, pool *p, const double *q, const double *v, const double *tau, double *qdd);
    // whether steps of a configuration can be made along the links
    bool (*steps)(const ctn_model *m, const ctn_batch_config *cfg);
    // up to `steps` steps of the state `flat` (ctn_engine.flatten), as ctn_engine.step; forces tau [nv] (NULL: none), further steps' `stride`
    // numbers on. Returns how many were made: the next one is to be made by an engine
    int (*run)(along_world *w, pool *p, const ctn_batch_config *cfg, double *flat, const double *tau, size_t stride, int steps,
               bool energy, ctn_step_stats *stats);
} along_engine;

extern const along_engine along_scalar, along_scalar_fma, along_avx2, along_avx512;

/// The one with the lanes of an engine.
const along_engine *along_engine_of(const ctn_engine *engine);

#endif
