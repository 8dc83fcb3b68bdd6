/// Batches whose worlds a device steps together, each along its links by a group of threads (sim/along/along_group.h). A launch
/// makes as many steps of each world as it can; where a step is not made so, the scalar engine makes it, and the next launch takes
/// the world up again. With a control, or sensors with a delay, a launch makes one step.
#include "sim/batch/batch_along.h"
#include "sim/batch/batch_sensors.h"

#include <stdlib.h>
#include <string.h>

/// Room for all worlds; of forces for as many steps as have some 64 MB.
bool batch_together_open(ctn_batch *batch)
{
    enum { ROOM = 1 << 23, MOST_ROWS = 1024 };
    const size_t worlds = (size_t)batch->cfg.worlds, nv = (size_t)batch->model->nv, rows = ROOM / (worlds * nv + 1);
    const size_t loads = batch->nplace ? (size_t)batch->along->plan->model->nload : 0;
    const size_t flat = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    together *const t = calloc(1, sizeof *t);
    if (!(batch->along->together = t)) return false;
    t->room = (along_many){batch->cfg.worlds, (int)(rows < 1 ? 1 : rows < MOST_ROWS ? rows : MOST_ROWS), batch->nplace > 0};
    t->slot = calloc(worlds, sizeof *t->slot), t->made = calloc(worlds, sizeof *t->made), t->due = calloc(worlds, sizeof *t->due);
    t->steps = calloc(worlds, sizeof *t->steps), t->got = calloc(worlds, sizeof *t->got);
    t->clock = malloc(worlds * sizeof *t->clock);
    t->flat = malloc((worlds * flat + 1) * sizeof *t->flat);
    t->tau = malloc((worlds * (size_t)t->room.rows * nv + 1) * sizeof *t->tau);
    t->asked = malloc((worlds * nv + 1) * sizeof *t->asked);
    t->part = malloc(worlds * sizeof *t->part), t->total = malloc(worlds * sizeof *t->total);
    t->one = malloc(worlds * sizeof *t->one);
    if (loads) t->loads = malloc(worlds * loads * sizeof *t->loads);
    t->bytes = worlds * (5 * sizeof *t->slot + 3 * sizeof *t->part + loads * sizeof *t->loads +
                         (flat + ((size_t)t->room.rows + 1) * nv) * sizeof *t->flat);
    for (size_t w = 0; t->loads && w < worlds; w++)
        memcpy(t->loads + w * loads, batch->along->plan->model->loads, loads * sizeof *t->loads);
    return t->slot && t->due && t->made && t->steps && t->got && t->clock && t->flat && t->tau && t->asked && t->part &&
           t->total && t->one && (!loads || t->loads);
}

void batch_together_close(together *t)
{
    if (!t) return;
    free(t->slot), free(t->due), free(t->made), free(t->steps), free(t->got), free(t->clock), free(t->flat), free(t->tau),
        free(t->asked);
    free(t->loads), free(t->part), free(t->total), free(t->one), free(t);
}

/// A call for all worlds in progress.
typedef struct {
    ctn_batch *batch;
    const double *force;  // [worlds][rows][nv]; NULL: none
    int rows;             // 1: for all steps
    bool energy, first;
    const ctn_step_stats *before;  // [worlds] in the call that it is a step of; NULL: it begins
    ctn_step_stats *total;         // [worlds]
} together_call;

/// What time it is in a world as it has `made` steps.
static engine_clock clock_of(const together_call *c, int world, long made)
{
    const ctn_step_stats so_far = {.steps = made + (c->before ? c->before[world].steps : 0)};
    return clock_after(c->batch, world, &so_far);
}

static const double *force_of(const together_call *c, int world)
{
    const size_t nv = (size_t)c->batch->model->nv, row = c->rows > 1 ? (size_t)c->batch->along->together->made[world] : 0;
    return c->force ? c->force + ((size_t)world * (size_t)c->rows + row) * nv : NULL;
}

/// What the device is given of a world.
static void hand_over(void *context, int thread, int world)
{
    const together_call *const c = context;
    ctn_batch *const batch = c->batch;
    const together *const t = batch->along->together;
    const lane_model *const m = lanes_of(batch, world);
    const int at = t->slot[world];
    (void)thread;
    if (at < 0) return;
    const size_t k = (size_t)at, nv = (size_t)batch->model->nv, loads = (size_t)batch->along->plan->model->nload;
    const size_t rows = c->rows > 1 ? (size_t)t->room.rows : 1;
    batch->engine->flatten(m, &batch->cfg, state_of(batch, world), 0, false,
                           t->flat + k * batch->engine->flat_size(m, &batch->cfg));
    t->clock[k] = clock_of(c, world, c->first ? 0 : c->total[world].steps);
    if (c->force)
        memcpy(t->tau + k * rows * nv, force_of(c, world), (c->rows > 1 ? (size_t)t->steps[k] : 1) * nv * sizeof *t->tau);
    if (!t->loads) return;
    ctn_model own = *batch->with_wrenches;
    own.loads = t->loads + k * loads;
    batch_apply_wrenches(batch, world, &own);
}

static void add_part(const together_call *c, int world, const ctn_step_stats *part, bool any)
{
    if (any) ctn_step_stats_add(&c->total[world], part);
    else c->total[world] = *part;
}

/// Whether a world has steps to make.
static bool is_due(const together_call *c, int world)
{
    const volatile int *const flag = c->batch->cfg.interrupt;
    const together *const t = c->batch->along->together;
    return t->made[world] < t->due[world] && !c->total[world].frozen && !(flag && *flag);
}

/// What has come back of a world; the next step, if that was not made along the links, and all where the device has failed, is
/// made by the scalar engine.
static void take_back(void *context, int thread, int world)
{
    const together_call *const c = context;
    ctn_batch *const batch = c->batch;
    const batch_along *const a = batch->along;
    const together *const t = a->together;
    const ctn_engine *const serial = batch->engine;
    const lane_model *const m = lanes_of(batch, world);
    const int k = t->slot[world], made = k >= 0 && a->lost->status == CTN_OK ? t->got[k] : 0;
    bool any = !c->first;
    if (!c->first && !is_due(c, world)) return;
    if (made) {
        serial->flatten(m, &batch->cfg, state_of(batch, world), 0, true, t->flat + (size_t)k * serial->flat_size(m, &batch->cfg));
        if (c->energy) batch_along_tally(batch, thread, world, &t->part[k]);
        add_part(c, world, &t->part[k], any);
        t->made[world] += made, any = true;
    }
    if (k >= 0 && made == t->steps[k]) return;
    do {
        const double *const tau = force_of(c, world);
        ctn_step_stats part = {.frozen = c->total[world].frozen};
        const engine_clock clock = clock_of(c, world, any ? c->total[world].steps : 0);
        const int one = t->due[world] ? 1 : 0;
        serial->step(m, &batch->cfg, state_of(batch, world), work_of(batch, thread), &clock, tau ? &tau : NULL, &one, c->energy,
                     1, &part, &batch->use[thread]);
        batch->serial[world] += part.steps;
        add_part(c, world, &part, any);
        t->made[world] += one, any = true;
    } while (a->lost->status != CTN_OK && is_due(c, world));
}

/// `due` steps of all worlds; total in: frozen.
static void step_many(ctn_batch *batch, const double *force, int rows, bool energy, const ctn_step_stats *before,
                      ctn_step_stats *total)
{
    const batch_along *const a = batch->along;
    const together *const t = a->together;
    const int worlds = batch->cfg.worlds;
    together_call c = {batch, force, rows, energy, true, before, total};
    memset(t->made, 0, (size_t)worlds * sizeof *t->made);
    for (bool due = true; due; c.first = false) {
        int count = 0;
        for (int w = 0; w < worlds; w++) {
            const int left = t->due[w] - t->made[w];
            t->slot[w] = is_due(&c, w) && a->lost->status == CTN_OK ? count++ : -1;
            if (t->slot[w] >= 0) t->steps[t->slot[w]] = rows > 1 && left > t->room.rows ? t->room.rows : left;
        }
        pool_run(batch->pool, worlds, hand_over, &c);
        const along_worlds call = {.count = count,
                                   .rows = rows > 1 ? t->room.rows : 1,
                                   .size = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg),
                                   .flat = t->flat,
                                   .tau = force ? t->tau : NULL,
                                   .steps = t->steps,
                                   .clock = t->clock,
                                   .energy = energy,
                                   .loads = t->loads,
                                   .made = t->got,
                                   .stats = t->part};
        if (count) along_remote_worlds(a->there, &call, a->lost);
        pool_run(batch->pool, worlds, take_back, &c);
        due = false;
        for (int w = 0; w < worlds; w++) due = due || is_due(&c, w);
    }
}

/// The forces on a world in step `at` of a call [nv], at a time (s): asked for, of the caller's table, or those that are set.
static void ask(ctn_batch *batch, const ctn_run *run, int world, int at, double time, double *tau)
{
    const size_t nv = (size_t)batch->model->nv, row = (size_t)world * (size_t)run->steps + (size_t)at;
    memset(tau, 0, nv * sizeof *tau);
    if (run->force) memcpy(tau, run->force + row * nv, nv * sizeof *tau);
    else if (run->control || run->sensed) {
        const world_rows rows = block_rows(batch, 0, world);
        if (!run->sensed) run->control(run->context, world, 1, &time, rows.q, rows.v, tau);
        else run->sensed(run->context, world, 1, &time, batch_sense_block(batch, 0, world, &time), rows.q, rows.v, tau);
    } else if (batch->forced) memcpy(tau, batch->tau + (size_t)world * nv, nv * sizeof *tau);
}

/// Step `at` of a call that goes step by step.
static void one_of_many(ctn_batch *batch, const ctn_run *run, int at, bool energy)
{
    const together *const t = batch->along->together;
    const size_t nv = (size_t)batch->model->nv;
    const bool late = batch_senses_late(batch), forced = run->force || run->control || run->sensed || batch->forced;
    ctn_step_stats *const one = at ? t->one : t->total;
    for (int w = 0; w < batch->cfg.worlds; w++) {
        const double time = time_after(batch, w, at ? &t->total[w] : NULL);
        if (late) batch_sensing_note(batch, 0, w, &time, NULL);
        ask(batch, run, w, at, time, t->asked + (size_t)w * nv);
        t->due[w] = at < (run->horizon ? run->horizon[w] : run->steps);
        one[w].frozen = t->total[w].frozen;
    }
    step_many(batch, forced ? t->asked : NULL, 1, energy, at ? t->total : NULL, one);
    for (int w = 0; w < batch->cfg.worlds; w++) {
        if (at && !t->total[w].frozen) ctn_step_stats_add(&t->total[w], &one[w]);
        batch_sensing_step(batch, w, one[w].steps, forced ? t->asked + (size_t)w * nv : NULL);
        const double time = time_after(batch, w, &t->total[w]);
        if (late) batch_sensing_note(batch, 0, w, &time, &one[w]);
    }
}

const ctn_step_stats *batch_along_run(ctn_batch *batch, const ctn_run *run, bool energy)
{
    const together *const t = batch->along->together;
    int most = 0;
    for (int w = 0; w < batch->cfg.worlds; w++) {
        t->due[w] = run->horizon ? run->horizon[w] : run->steps, t->total[w].frozen = (ctn_freeze)batch->clocks[w].frozen;
        most = t->due[w] > most ? t->due[w] : most;
    }
    const bool each = run->control || run->sensed || batch_senses_late(batch);
    for (int k = 0; k < most && each; k++) one_of_many(batch, run, k, energy);
    if (most && each) return t->total;
    const double *const force = most && run->force ? run->force : batch->forced ? batch->tau : NULL;
    const size_t nv = (size_t)batch->model->nv, rows = most && run->force ? (size_t)run->steps : 1;
    step_many(batch, force, (int)rows, energy, NULL, t->total);
    for (int w = 0; w < batch->cfg.worlds; w++) {
        const long made = t->total[w].steps;
        const size_t row = (size_t)w * rows + (rows > 1 && made ? (size_t)made - 1 : 0);
        batch_sensing_step(batch, w, made, force ? force + row * nv : NULL);
    }
    return t->total;
}

bool batch_along_together(const ctn_batch *batch) { return batch->along && batch->along->together; }
