/// What one thread of a device does: a world out of the device's memory, through the kernels over one lane, and back. Compiled as
/// CUDA C++ (sim/engine/device_cuda.cu) and as C++17 (tests/device_twin.cpp).
///
/// Arrays of numbers that a thread reads one by one are [number][world], so that neighbouring threads read neighbouring memory;
/// within a launch a world lives in its thread's scratch memory.
#ifndef CATENA_SIM_DEVICE_WORLDS_H
#define CATENA_SIM_DEVICE_WORLDS_H

#include "sim/engine/device.h"
#include "sim/engine/kernels.h"
#include "sim/engine/engine_layout.h"
#include "sim/engine/engine_model.h"
#include "sim/engine/engine_stats.h"
#include "sim/engine/engine_round.h"
#ifndef CATENA_FLOAT
#include "sim/engine/device_follow.h"
#endif

typedef enum device_task {
    TASK_MEASURE,  // how large things are, by one thread
    TASK_LOAD,     // make `model` out of `source`, by one thread
    TASK_SET,      // states from q, v
    TASK_GET,      // q, v from states
    TASK_STEP,
    TASK_TOTALS,
    TASK_PLACE,   // a thread has an alpha and a block of time of `follow`: its start
    TASK_FOLLOW,  // likewise: the way from there
} device_task;

typedef struct {
    size_t model, state, work;  // bytes
    size_t flat;                // numbers of a state
} device_sizes;

/// One launch. Everything that it points to is in the device's memory.
typedef struct {
    device_task task;
    int worlds;
    ctn_batch_config cfg;
    device_sizes *sizes;      // TASK_MEASURE: out
    const ctn_model *source;  // bodies, frames and dof_adr, too
    lane_model *model;
    const real *constants;  // [numbers][worlds], in the order of load_constants; NULL: all worlds have those of the model
    real *states;           // [flat][worlds]
    double *q, *v;          // [worlds][nq], [worlds][nv]; TASK_GET: either may be NULL
    const double *tau;      // [worlds][nv], or a table: [worlds][steps][nv]; NULL: none
    bool table;
    int steps;
    const int *horizon;  // [worlds]
    const int *frozen;   // [worlds]
    bool energy;
    uint64_t *stats;     // [words of ctn_step_stats][worlds]
    ctn_totals *totals;  // [worlds]
    device_follow follow;
} device_job;

enum { STATS_WORDS = sizeof(ctn_step_stats) / sizeof(uint64_t) };

/// A world's constants, one after the other as device_table.h packs them.
KERNEL void load_constants(const device_job *job, int world, lane_model *m)
{
    const real *x = job->constants + world;
    const size_t next = (size_t)job->worlds;
    m->dt = *x, x += next;
    for (int k = 0; k < (int)WORLD_NUMBERS; k++, x += next) (&m->mass)[k] = *x;
    for (int i = 0; i < m->nbody; i++)
        for (int k = 0; k < (int)BODY_NUMBERS; k++, x += next) *body_number(&m->bodies[i], k) = *x;
    for (int i = 0; i < m->nload; i++)
        for (int k = 0; k < (int)LOAD_NUMBERS; k++, x += next) (&m->loads[i].stiffness)[k] = *x;
    for (int i = 0; i < m->nmotor; i++)
        for (int k = 0; k < (int)MOTOR_NUMBERS; k++, x += next) (&m->motors[i].kp)[k] = *x;
}

/// The state of a world that was nowhere yet.
FN void clear_state(const device_job *job, const lane_model *m, const block_state *S)
{
    const state_parts s = parts_of(m, &job->cfg, S);
    for (int p = 0; p < PARTS_OF_STATE; p++)
        for (size_t k = 0; k < s.size[p]; k++) s.part[p][k] = rset(0);
}

/// Moves a world's state between the device's memory and S.
KERNEL void move_state(const device_job *job, const lane_model *m, int world, bool load, const block_state *S)
{
    const state_parts s = parts_of(m, &job->cfg, S);
    real *x = job->states + world;
    for (int p = 0; p < PARTS_OF_STATE; p++)
        for (size_t k = 0; k < s.size[p]; k++, x += job->worlds) {
            if (load) s.part[p][k] = *x;
            else *x = s.part[p][k];
        }
}

/// `count` steps of the world in S, each iteration beside whichever one the neighbouring threads are in (integrators/lane_run.h).
KERNEL void step_by_iteration(const device_job *job, const lane_model *m, int count, block_state *S, block_work *W,
                              block_counts *c)
{
    const ctn_batch_config *const cfg = &job->cfg;
    lane_run R;
    open_lanes(&R);
    R.counts = *c;
    enter_lanes(m, cfg, S, W, job->energy, not_(none_of()), &R);
    for (int n = 0; n < count && any_of(R.busy);) {
        mask stepped = tick_lanes(m, cfg, S, W, job->energy, &R);
        if (any_of(R.parked)) {
            stepped = R.parked, R.parked = none_of();
            down_ladder(m, cfg, S, W, job->energy, stepped, &R);
            R.busy = le(R.counts.frozen, rset(0));
        }
        if (any_of(stepped)) n++;
    }
    *c = R.counts;
}

FN void step_world(const device_job *job, const lane_model *m, int world, block_state *S, block_work *W)
{
    block_counts c;
    ctn_step_stats stats;
    uint64_t word[STATS_WORDS];
    const int count = job->horizon ? job->horizon[world] : job->steps;
    memset(&c, 0, sizeof c);
    c.frozen = rset(job->frozen[world]);
    const size_t nv = (size_t)m->nv, rows = job->table ? (size_t)job->steps : 1;
    if (job->tau) W->forces.row[0] = job->tau + (size_t)world * rows * nv;
    W->forces.stride = job->table ? nv : 0, W->forces.fresh = true;
    if (runs_by_iteration(&job->cfg) && job->cfg.schedule != CTN_BY_STEP) step_by_iteration(job, m, count, S, W, &c);
    else block_step(m, &job->cfg, S, W, rset(count), count, job->energy, &c);
    if (job->energy) note_contacts(m, &job->cfg, S, W, &c);
    lane_stats(&c, 0, &stats);
    memcpy(word, &stats, sizeof word);
    for (int k = 0; k < STATS_WORDS; k++) job->stats[(size_t)k * (size_t)job->worlds + (size_t)world] = word[k];
}

FN void get_world(const device_job *job, const lane_model *m, int world, const block_state *S, block_work *W)
{
    double *const q = job->q + (size_t)world * (size_t)m->nq, *const v = job->v + (size_t)world * (size_t)m->nv;
    if (job->q) {
        double *const row[1] = {q};
        for (int k = 0; k < m->nq; k++) lane_store(q + k, S->q[k]);
        add_turns(m, S->turns, 1, row);
    }
    if (!job->v) return;
    const real *const now = block_velocity(m, &job->cfg, S, W);
    for (int k = 0; k < m->nv; k++) lane_store(v + k, now[k]);
}

FN void set_world(const device_job *job, const lane_model *m, int world, block_state *S, block_work *W)
{
    real *const q = position_based(job->cfg.method) ? W->po.one.x : job->cfg.method == CTN_VARIATIONAL ? W->va.x : W->ex.x;
    for (int k = 0; k < m->nq; k++) q[k] = lane_load(job->q + (size_t)world * (size_t)m->nq + k);
    for (int k = 0; k < m->nv; k++) W->tau[k] = lane_load(job->v + (size_t)world * (size_t)m->nv + k);
    block_set(m, &job->cfg, S, W, q, W->tau);
}

FN void sum_world(const device_job *job, const lane_model *m, int world, const block_state *S, block_work *W)
{
    real sums[12];
    totals(m, S->q, block_velocity(m, &job->cfg, S, W), W->T, W->D, sums);
    sums[11] = acting_energy(m, S->q, &W->loads) + remembered_energy(m, S, W);
    lane_totals(m, sums, 0, &job->totals[world]);
}

/// One thread's part of a launch. `scratch`: model (if constants differ), state and work bytes, aligned to 16, with anything in
/// them.
KERNEL void run_world(const device_job *job, int world, char *scratch)
{
    const lane_model *m = job->model;
    if (job->task == TASK_MEASURE) {
        job->sizes->model = model_size(job->source);
        return;
    }
    if (job->task == TASK_LOAD) {
        model_load(&job->source, &job->cfg.dt, job->model);
        job->sizes->state = state_size(m, &job->cfg), job->sizes->work = work_size(m, &job->cfg),
        job->sizes->flat = flat_size(m, &job->cfg);
        return;
    }
#ifndef CATENA_FLOAT
    if (job->task == TASK_PLACE) {
        place_block(&job->follow, m, world);
        return;
    }
#endif
    if (job->constants || job->task == TASK_FOLLOW) {
        lane_model *const own = (lane_model *)(void *)scratch;
        copy_structure(m, own);
        if (job->constants) load_constants(job, world, own);
        m = own, scratch += model_size(job->source);
    }
    block_state S = open_state(m, &job->cfg, scratch);
    block_work W = open_work(m, &job->cfg, scratch + state_size(m, &job->cfg));
    lane_model with = *m;
    with.wound = W.wound, m = &with;
#ifndef CATENA_FLOAT
    if (job->task == TASK_FOLLOW) {
        with.clock = &W.clock, clear_state(job, m, &S);
        follow_block(&job->follow, m, &job->cfg, world, &S, &W);
        return;
    }
#endif
    move_state(job, m, world, true, &S);
    if (job->task == TASK_SET) set_world(job, m, world, &S, &W);
    else if (job->task == TASK_GET) get_world(job, m, world, &S, &W);
    else if (job->task == TASK_STEP) step_world(job, m, world, &S, &W);
    else sum_world(job, m, world, &S, &W);
    if (job->task == TASK_SET || job->task == TASK_STEP) move_state(job, m, world, false, &S);
}

#endif
