/// What the files that make up a batch share: its worlds in lane blocks, and where everything of a block lies.
#ifndef CATENA_SIM_BATCH_H
#define CATENA_SIM_BATCH_H

#include "sim/engine/device.h"
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "sim/model/parameters.h"
#include "sim/base/pool.h"

#include <catena/batch.h>
#include <stdint.h>

/// The clock of one world: time = start + steps * dt, without drift.
typedef struct {
    double start;
    int64_t steps;
    double frozen_time;
    int64_t frozen;  // ctn_freeze; no padding in here, as it is saved
} clock_state;

/// Of a frozen world: at which degree of freedom, and how that was (ctn_step_stats); saved, too.
typedef struct {
    int64_t dof;
    double position, velocity, residual;
} world_fall;

/// A wrench on a link of a world: body frame, and the axes of its place.
typedef struct {
    double point[3], force[3], torque[3];
} world_wrench;

/// What a step of a world is likely to cost.
typedef struct {
    float evaluations, dt;
    int world;
} world_cost;

/// What its sensors need (sim/batch/batch_sensors.c).
typedef struct batch_sensing batch_sensing;

/// What a controller tells the motors of worlds (sim/batch/batch_controller.c).
typedef struct batch_telling batch_telling;

/// Worlds along their links: in lanes, with threads.
typedef struct batch_along batch_along;

struct ctn_batch {
    const ctn_model *model;
    const ctn_engine *engine;
    ctn_batch_config cfg;
    int blocks;
    uint64_t constants;                        // of the model, hashed
    size_t state_size, work_size, model_size;  // bytes of a block, of a thread, of a block
    char *models;  // [blocks][model_size] lane_model; of a single block if worlds have no constants of their own: all share it
    char *states;  // [blocks][state_size]
    char *kept;    // likewise, then clocks and counts of steps, at the begin of a call that may be interrupted; NULL: none may
    pool *pool;
    char *work;           // [threads][work_size]
    double *flat;         // [threads][flat_size]: a world's state; [DEVICE_CHUNK][flat_size] on a device
    double *rows;         // [threads][MOST_LANES], or on a device [worlds], rows of world_rows
    long *fallbacks;      // [worlds], steps made with fewer stages or in halves
    long *serial;         // [worlds], steps of worlds along their links that the scalar engine made; NULL: side by side
    engine_use *use;      // [threads], of the last call
    char *lane_states;    // [threads][2][state_size]: worlds that a thread advances, if by iteration; those on the ladder
    char *lane_models;    // [threads][2][model_size], likewise, if they have constants of their own
    char *lane_work;      // [threads][work_size], likewise, for the ladder
    world_cost *queue;    // [worlds], likewise: in the order in which threads take them up
    float *cost;          // [worlds], likewise: evaluations a step in the last call; 0 before the first one
    clock_state *clocks;  // [worlds]
    world_fall *falls;    // [worlds], of those that are frozen
    double *tau;          // [worlds][nv]
    bool forced;
    bool told;                       // by who made it (batch_create): statistics are without energies
    bool fitted;                     // the coefficients of ctn_batch_dense are those of the last step
    parameters *parameters;          // NULL: worlds have neither parameters nor wrenches of their own
    parameters *listed;              // those that the batch was made with, whose list the configuration has
    double *values;                  // [worlds][parameters], likewise
    double *dt;                      // [worlds], likewise
    ctn_model *variant[MOST_LANES];  // likewise; of the lanes of the block in hand
    ctn_model *with_wrenches;        // the model with room for `places` (sim/batch/batch_wrench.c); NULL: there are none
    wrench_place *places;            // [nplace]
    world_wrench *wrenches;          // [worlds][nplace]
    int nplace;
    batch_along *along;              // worlds along their links (sim/batch/batch_along.c); NULL: side by side
    batch_sensing *sensing;          // NULL: the model has no sensors
    batch_telling *telling;          // what motors are told; NULL: the model has no controller
    const ctn_device *device;        // NULL: the worlds are in `states`; else there are no blocks, and `engine` is the scalar one
    device_worlds *on_device;
    ctn_step_stats *device_stats;  // [worlds], of the last call
    ctn_step_stats *device_parts;  // [worlds], of one step; NULL before the first call that goes step by step
    int *device_horizon;           // likewise
    double *device_sensed;         // likewise, of one that is told sensors: [worlds][numbers]
    ctn_error *device_error;       // of a call that could not return it
};

/// As ctn_batch_create. told: motors of worlds are told by who made it, between steps (engine->model_tell, of the lanes of a block),
/// and not by the model's controller; what a block is told holds until its constants change. Statistics are without energies, which
/// cost. threads: the batch keeps these, however many the configuration asks for; NULL: it has its own.
ctn_batch *batch_create(const ctn_model *model, const ctn_batch_config *cfg, bool told, pool *threads, ctn_error *err);

enum { DEVICE_CHUNK = 1024 };  // worlds whose states are looked at on the CPU at a time

/// What follows is for batches on a device (sim/batch/batch_device.c). Memory, without parameters or states; false: none, or see
/// `err`.
bool batch_device_open(ctn_batch *batch, ctn_error *err);
bool batch_device_start(ctn_batch *batch, ctn_error *err);  // all worlds at the start of the model
void batch_device_close(ctn_batch *batch);
ctn_status batch_device_parameters(ctn_batch *batch, ctn_error *err);  // of all worlds, from `values`
ctn_status batch_device_set(ctn_batch *batch, const double *q, const double *v, ctn_error *err);
void batch_device_state(ctn_batch *batch, double *q, double *v);
void batch_device_totals(ctn_batch *batch, ctn_totals *totals);
void batch_device_flatten(const ctn_batch *batch, int first, int count, bool load, double *flat);  // as the device's
ctn_status batch_device_load(ctn_batch *batch, double *flat, ctn_error *err);                      // as with load, all worlds
/// A failure that no call has told yet. CTN_UNAVAILABLE: the device is lost, and every call says so.
ctn_status batch_device_failed(const ctn_batch *batch, ctn_error *err);
void batch_device_force(ctn_batch *batch, const double *tau);
/// Into `device_stats`, with frozen_time as the part of the step that was completed; all of them, or what clocks need.
ctn_status batch_device_run(ctn_batch *batch, const ctn_run *run, bool all, ctn_error *err);

/// Adds to `values`, whose first world's numbers of links begin there and are 0, what other links do to each (ctn_batch_contacts), of
/// all worlds: sim/batch/batch_between.c. CTN_NO_MEMORY.
ctn_status batch_add_met_links(ctn_batch *batch, double *values, ctn_error *err);

/// How many places where links may touch a step has room for, and the bytes of that for a lane of a thread: batch_between.c.
int touch_room(const ctn_model *model, size_t *bytes);

/// What follows is for batches along the links (sim/batch/batch_along.c). What a configuration comes to for a model; whether it
/// can; memory (false: none, or see `err`), for the batch's configuration on an engine's lanes or a device.
ctn_parallel batch_parallel(const ctn_model *m, const ctn_batch_config *cfg);
int batch_along_lanes(const ctn_model *m, const ctn_batch_config *cfg);  // 0: worlds side by side
int batch_along_threads(const ctn_model *m, int threads);                // of one world, of so many (0: all CPUs)
enum { PARALLEL_WORDS = 200 };
void batch_parallel_reason(const ctn_model *m, const ctn_batch_config *cfg, char text[PARALLEL_WORDS]);  // why, for people
ctn_status batch_along_check(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err);
bool batch_along_open(ctn_batch *batch, ctn_error *err);
void batch_along_close(ctn_batch *batch);
void batch_along_forget(ctn_batch *batch);         // parameters or wrenches are others now
size_t batch_along_bytes(const ctn_batch *batch);  // of the worlds in hand and their plan; 0: side by side
/// Steps of one world, as ctn_engine.step; stats in: frozen.
void batch_along_step(ctn_batch *batch, int thread, int world, engine_clock begin, const double *tau, int steps, bool energy,
                      ctn_step_stats *stats);

/// Whether a device steps all worlds at once; a call of steps then, and what it has come to [worlds].
bool batch_along_together(const ctn_batch *batch);
const ctn_step_stats *batch_along_run(ctn_batch *batch, const ctn_run *run, bool energy);

/// Where the device has failed that the worlds are stepped on: every call says so, and what it should have done the scalar engine
/// has done.
ctn_status batch_along_failed(const ctn_batch *batch, ctn_error *err);

/// Takes a world out of `block`, a saved state of all worlds of the batch: into one [batch_saved_world_size], what a batch of
/// this world alone, of the same configuration, saves.
size_t batch_saved_world_size(const ctn_batch *batch);
void batch_saved_world(const ctn_batch *batch, const void *block, int world, void *one);

/// A hash of all that a model's motion depends on: a saved state fits no other model.
uint64_t model_constants(const ctn_model *m);

/// Whether steps of the batch are scheduled by iteration. Worlds with one time step take about as many iterations, and what a
/// lane wins by going on alone it loses by committing alone; with time steps of their own they differ, in a way that is known
/// before.
static inline bool by_iteration(const ctn_batch *batch)
{
    const ctn_batch_config *const cfg = &batch->cfg;
    const bool pays = parameters_have(batch->parameters, CTN_TIME_STEP);
    if (batch->model->npair || batch->model->nbond) return false;  // what touches in one lane is looked at in all
    return (cfg->schedule == CTN_BY_ITERATION || (cfg->schedule == CTN_SCHEDULE_AUTO && pays)) && batch->engine->lanes > 1 &&
           batch->engine->iterates(cfg);
}

static inline lane_model *lanes_of(const ctn_batch *batch, int block)
{
    return (lane_model *)(void *)(batch->models + (batch->parameters ? (size_t)block * batch->model_size : 0));
}

/// States, forces and times of some worlds as plain rows.
typedef struct {
    double *q, *v, *tau, *time;  // [worlds][nq], [worlds][nv], [worlds][nv], [worlds]
} world_rows;

static inline size_t row_size(const ctn_model *m) { return (size_t)(m->nq + 2 * m->nv + 1); }

/// Those of `worlds` worlds, at `rows`.
static inline world_rows rows_at(const ctn_batch *batch, double *rows, size_t worlds)
{
    const size_t nq = (size_t)batch->model->nq, nv = (size_t)batch->model->nv;
    double *const v = rows + worlds * nq, *const tau = v + worlds * nv;
    return (world_rows){rows, v, tau, tau + worlds * nv};
}

/// What sim/batch/batch_wrench.c needs of sim/batch/batch.c: the models of all blocks and the memory of threads, for the model
/// and parameters that the batch has (false: no memory, or see `err`; free with batch_close_models); the interpolants of what was
/// carried out last, before constants change.
bool batch_open_models(ctn_batch *batch, const ctn_model *model, ctn_error *err);
void batch_close_models(ctn_batch *batch);
void batch_load_block(ctn_batch *batch, int block);
void batch_fit(ctn_batch *batch);

/// Gives a variant the wrenches of a world (sim/batch/batch_wrench.c).
void batch_apply_wrenches(const ctn_batch *batch, int world, ctn_model *variant);

/// Makes the constants of all worlds those of their `values` (sim/batch/batch.c).
ctn_status batch_load_parameters(ctn_batch *batch, ctn_error *err);

/// The rows of a thread, with the states of block b in q and v (sim/batch/batch.c).
world_rows block_rows(const ctn_batch *batch, int thread, int b);

static inline void *state_of(const ctn_batch *batch, int block) { return batch->states + (size_t)block * batch->state_size; }
static inline void *work_of(const ctn_batch *batch, int thread) { return batch->work + (size_t)thread * batch->work_size; }
/// Threads that take blocks, each with scratch of its own: one of `links`, whose worlds go one after another.
static inline int job_threads(const ctn_batch *batch)
{
    const int threads = batch->cfg.threads;
    if (batch->pool) return pool_threads(batch->pool);
    return batch->device || threads < batch->blocks ? threads : batch->blocks;
}
static inline double dt_of(const ctn_batch *batch, int world) { return batch->dt ? batch->dt[world] : batch->cfg.dt; }

/// The world's time after `made`, what it has done so far in a call (NULL: nothing): the bits that ctn_batch_time has there. That
/// of a frozen world stands still.
static inline double time_after(const ctn_batch *batch, int world, const ctn_step_stats *made)
{
    const clock_state *const c = &batch->clocks[world];
    if (c->frozen) return c->frozen_time;
    const double steps = (double)(c->steps + (made ? made->steps : 0));
    return c->start + (steps + (made && made->frozen ? made->frozen_time : 0)) * dt_of(batch, world);
}

/// What the engines' clock says in a world after `made`, as above.
static inline engine_clock clock_after(const ctn_batch *batch, int world, const ctn_step_stats *made)
{
    const clock_state *const c = &batch->clocks[world];
    return (engine_clock){c->start, (double)(c->steps + (made ? made->steps : 0))};
}

/// How many worlds are in the block: the last one may have idle lanes.
static inline int worlds_in(const ctn_batch *batch, int block)
{
    const int lanes = batch->engine->lanes, left = batch->cfg.worlds - block * lanes;
    return left < lanes ? left : lanes;
}

/// Rows of `array` [worlds][n] for the lanes of a block; lanes beyond the last world repeat it.
static inline void rows_of(const ctn_batch *batch, int block, const double *array, int n, const double **row)
{
    const int lanes = batch->engine->lanes, first = block * lanes, more = batch->cfg.worlds - 1 - first;
    for (int l = 0; l < lanes; l++) row[l] = array + ((size_t)first + (size_t)(l < more ? l : more)) * (size_t)n;
}

#endif
