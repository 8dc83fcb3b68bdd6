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
    // bytes of a world that steps by a configuration; NULL: for forward dynamics; back: it goes backwards through steps, too
    size_t (*size)(const along_plan *plan, const ctn_batch_config *cfg, bool back);
    // makes a world of the plan's model in `memory`, 64-byte aligned; plan and configuration must outlive it
    along_world *(*open)(const along_plan *plan, const ctn_batch_config *cfg, bool back, void *memory);
    // gives the loads on bodies the numbers that they have in another model with the same loads
    void (*loads)(along_world *w, pool *p, const ctn_model *from);
    // gives all that may differ between worlds the numbers of another model of the plan's structure, which must outlive them, and
    // steps the size dt (s)
    void (*numbers)(along_world *w, pool *p, const ctn_model *from, double dt);
    // forward dynamics as ctn_aba of one state; tau NULL: none
    void (*aba)(along_world *w, pool *p, const double *q, const double *v, const double *tau, double *qdd);
    // poses R [nlink][9], p [nlink][3] and twists [nlink][6] of links, each NULL if not asked for; v NULL: at rest
    void (*kinematics)(along_world *w, pool *p, const double *q, const double *v, double *R, double *pos, double *twist);
    // inverse dynamics as ctn_rnea of one state; a NULL: 0
    void (*rnea)(along_world *w, pool *p, const double *q, const double *v, const double *a, double *tau);
    // y = H(q) x, rows [count][nv]; x NULL: the unit vectors from number `first` on, in `unit` [nv]
    void (*products)(along_world *w, pool *p, int count, const double *q, const double *x, int first, double *unit, double *y);
    // factors of H(q), until the next of these or of `aba`; H x = b with them, rows [count][nv], x may be b
    void (*factor)(along_world *w, pool *p, const double *q);
    void (*solve)(along_world *w, pool *p, int count, const double *b, double *x);
    // whether steps of a configuration can be made along the links
    bool (*steps)(const ctn_batch_config *cfg);
    // up to `steps` steps of the state `flat` (ctn_engine.flatten) from what the clock says, as ctn_engine.step; forces tau [nv]
    // (NULL: none), further steps' `stride` numbers on. Returns how many were made: the next one is to be made by an engine. With
    // dense output the motion of the last one comes behind the state (ctn_engine.load_motion)
    int (*run)(along_world *w, pool *p, const ctn_batch_config *cfg, engine_clock clock, double *flat, const double *tau,
               size_t stride, int steps, bool energy, ctn_step_stats *stats);
    // whether they go backwards along the links
    bool (*adjoins)(const ctn_model *m, const ctn_batch_config *cfg);
    // of a world that goes backwards: makes ready for `pull` of the whole step from the state `before` to `after` (flat) under
    // tau (NULL: none). false: it was not made along the links, or in another way
    bool (*prepare)(along_world *w, pool *p, const ctn_batch_config *cfg, const double *before, const double *after,
                    const double *tau);
    // gradients by the state before that step and by tau [nv] from those by the state after it (ctn_engine.adjoint_step)
    void (*pull)(along_world *w, pool *p, const double *after_bar, double *before_bar, double *tau_bar);
} along_engine;

extern const along_engine along_scalar, along_scalar_fma, along_avx2, along_avx512;

/// Memory for a world of so many bytes, in large pages where the system has some: passes go through all of it, again and again.
/// NULL: there is none. free() takes it.
void *along_memory(size_t bytes);

/// The one with the lanes of an engine.
const along_engine *along_engine_of(const ctn_engine *engine);

#endif
