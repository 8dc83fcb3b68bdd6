/// Tapes of many worlds, for the files that run them and that go back.
#ifndef CATENA_SIM_TAPES_PARTS_H
#define CATENA_SIM_TAPES_PARTS_H

#include "sim/batch/batch.h"
#include "sim/batch/tapes_play.h"

#include <catena/tapes.h>

struct ctn_tapes {
    ctn_batch *batch;
    ctn_model *told;  // NULL: the model as it is; else the one whose thrusters are told between steps
    bool gradients;
    int capacity, steps;        // of a run, at most; of the one that is recorded, 0: none is
    size_t nq, nv, nu, flat;    // numbers of a world
    size_t bar;                 // of a gradient by its state
    double *states;             // [capacity + 1][worlds][flat]
    double *q, *v;              // [capacity + 1][worlds][nq], [nv]
    double *u, *tau;            // [capacity][worlds][nu], [nv]
    double *time;               // [capacity + 1][worlds]
    double *last_u, *last_tau;  // [worlds][nu], [nv], told last by a run that is recorded
    double *begun_v;            // [worlds][nv]
    bool *begun;                // [worlds]
    double *start;              // [worlds] time at which worlds begin, s
    const tapes_lead *lead;     // [worlds] what has led to where they begin; NULL: nothing, they begin at q and v
    int *lost;                  // [worlds] step, -1: not
    ctn_step_stats *stats;      // [worlds]
    double *g;                  // [worlds][bar], by the state that was come back to
    double *by_q, *by_v, *by_u, *by_tau;
    char *work;    // [threads][work_size] of the engine's adjoint
    double *rows;  // [threads][MOST_LANES][row_size], what adjoints of lanes give
    char *lanes;   // [threads][lanes_size] states and targets of a block, side by side
    size_t work_size, row_size, lanes_size;
};

static inline size_t worlds_of(const ctn_tapes *t) { return (size_t)t->batch->cfg.worlds; }
static inline double *state_at(const ctn_tapes *t, int step) { return t->states + (size_t)step * worlds_of(t) * t->flat; }
static inline double *q_at(const ctn_tapes *t, int step) { return t->q + (size_t)step * worlds_of(t) * t->nq; }
static inline double *v_at(const ctn_tapes *t, int step) { return t->v + (size_t)step * worlds_of(t) * t->nv; }
static inline double *u_at(const ctn_tapes *t, int step) { return t->u + (size_t)step * worlds_of(t) * t->nu; }
static inline double *tau_at(const ctn_tapes *t, int step) { return t->tau + (size_t)step * worlds_of(t) * t->nv; }
static inline double *time_at(const ctn_tapes *t, int step) { return t->time + (size_t)step * worlds_of(t); }

/// Numbers of a block of a thread, side by side.
static inline double *lanes_room(const ctn_tapes *t, int thread)
{
    return (double *)(void *)(t->lanes + (size_t)thread * t->lanes_size);
}

/// Whether worlds that begin (NULL: all) can.
ctn_status tapes_check_begin(const ctn_tapes *t, const double *q, const double *v, const bool *begin, ctn_error *err);

/// Rows of a lane of a thread.
static inline double *row_of(const ctn_tapes *t, int thread, int lane)
{
    return t->rows + ((size_t)thread * MOST_LANES + (size_t)lane) * t->row_size;
}

/// Motors of a block are told u; which [lanes]: a lane's world in the block.
static inline void tell_block(const ctn_tapes *t, int b, const double *u, const int *which)
{
    const double *rows[MOST_LANES];
    for (int l = 0; l < t->batch->engine->lanes; l++)
        rows[l] = u + ((size_t)(b * t->batch->engine->lanes) + (size_t)which[l]) * t->nu;
    t->batch->engine->model_tell(lanes_of(t->batch, b), rows);
}

#endif
