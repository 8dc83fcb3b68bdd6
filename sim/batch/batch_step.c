/// Stepping batches: blocks of worlds step by step, or worlds one by one through the lanes of each thread, iteration by
/// iteration.
#include "sim/batch/batch.h"
#include "sim/batch/batch_controller.h"
#include "sim/batch/batch_sensors.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/// A call of ctn_batch_run in progress.
typedef struct {
    ctn_batch *batch;
    ctn_run run;
    ctn_step_stats *stats;  // [worlds]; NULL: not asked for
    atomic_int next;        // world to be taken up, by iteration
} stepping;

/// Whether the caller has ended the call: what its steps have come to is of no use then.
static bool interrupted(const stepping *job)
{
    const volatile int *const flag = job->batch->cfg.interrupt;
    return flag && *flag && job->batch->kept && job->run.steps;
}

/// Copies states, clocks and counts before a call that may be interrupted, or back.
static void keep_worlds(const ctn_batch *batch, bool back)
{
    const size_t worlds = (size_t)batch->cfg.worlds;
    const struct {
        void *of;
        size_t size;
    } part[] = {{batch->states, (size_t)batch->blocks * batch->state_size},
                {batch->clocks, worlds * sizeof *batch->clocks},
                {batch->fallbacks, worlds * sizeof *batch->fallbacks},
                {batch->serial, batch->serial ? worlds * sizeof *batch->serial : 0}};
    char *kept = batch->kept;
    for (size_t k = 0; k < sizeof part / sizeof *part; kept += part[k++].size) {
        if (!part[k].size) continue;
        if (back) memcpy(part[k].of, kept, part[k].size);
        else memcpy(kept, part[k].of, part[k].size);
    }
    batch_sensing_keep(batch, back), batch_telling_keep(batch, back);
}

/// Whether a call asks the caller's function for forces.
static bool asks(const ctn_run *run) { return run->control || run->sensed; }

static bool wants_energy(const stepping *job) { return job->stats && !job->batch->told; }

static int horizon_of(const stepping *job, int world) { return job->run.horizon ? job->run.horizon[world] : job->run.steps; }

/// Of a frozen world: where that was.
static void tell_fall(const world_fall *fall, ctn_step_stats *s)
{
    s->frozen_dof = (int)fall->dof, s->frozen_position = fall->position, s->frozen_velocity = fall->velocity,
    s->frozen_residual = fall->residual;
}

/// A world is done, as its statistics say: time goes on, and stops where it froze.
static void finish_world(const stepping *job, int world, ctn_step_stats *s)
{
    ctn_batch *const batch = job->batch;
    clock_state *const c = &batch->clocks[world];
    if (s->frozen && !c->frozen) {
        c->frozen_time = time_after(batch, world, s), c->frozen = s->frozen;
        batch->falls[world] = (world_fall){s->frozen_dof, s->frozen_position, s->frozen_velocity, s->frozen_residual};
    }
    c->steps += s->steps;
    s->frozen_time = c->frozen ? c->frozen_time : 0;
    if (c->frozen) tell_fall(&batch->falls[world], s);
    batch->fallbacks[world] += s->fallbacks;
    if (batch->cost && s->steps) batch->cost[world] = (float)s->evaluations / (float)s->steps;
    if (job->stats) job->stats[world] = *s;
}

// ---- step by step

/// Asks the caller's function for the forces on the worlds of a block, after `made` [worlds] in this call; NULL: it begins.
static const double *control_block(const stepping *job, int thread, int b, const ctn_step_stats *made)
{
    ctn_batch *const batch = job->batch;
    const int count = worlds_in(batch, b), first = b * batch->engine->lanes;
    const world_rows rows = block_rows(batch, thread, b);
    for (int l = 0; l < count; l++) rows.time[l] = time_after(batch, first + l, made ? &made[l] : NULL);
    memset(rows.tau, 0, (size_t)count * (size_t)batch->model->nv * sizeof *rows.tau);
    if (!job->run.sensed) job->run.control(job->run.context, first, count, rows.time, rows.q, rows.v, rows.tau);
    else {
        const double *const sensors = batch_sense_block(batch, thread, b, rows.time);
        job->run.sensed(job->run.context, first, count, rows.time, sensors, rows.q, rows.v, rows.tau);
    }
    return rows.tau;
}

/// Up to `count` steps of a block from step `at` of the call on; adds to total [lanes]. Lanes that have reached their horizon
/// rest. 0 steps: statistics alone; then there are no forces to be read or asked for.
static void advance_block(const stepping *job, int thread, int b, int at, int count, ctn_step_stats *total)
{
    ctn_batch *const batch = job->batch;
    const int lanes = batch->engine->lanes, worlds = worlds_in(batch, b), first = b * lanes;
    const size_t nv = (size_t)batch->model->nv;
    const double *tau[MOST_LANES];
    ctn_step_stats part[MOST_LANES];
    int steps[MOST_LANES];
    engine_clock clock[MOST_LANES];
    bool forced = batch->forced;
    for (int l = 0; l < worlds; l++) {
        const int left = horizon_of(job, first + l) - at;
        steps[l] = left < 0 ? 0 : left < count ? left : count;
    }
    if (count && batch_tells(batch)) batch_tell_block(batch, thread, b, steps, at ? total : NULL);
    if (count && asks(&job->run)) {
        const double *const rows = control_block(job, thread, b, at ? total : NULL);
        for (int l = 0; l < lanes; l++) tau[l] = rows + (size_t)(l < worlds ? l : worlds - 1) * nv;
        forced = true;
    } else if (count && job->run.force) {
        for (int l = 0; l < lanes; l++) {
            const size_t w = (size_t)(first + (l < worlds ? l : worlds - 1));
            tau[l] = job->run.force + (w * (size_t)job->run.steps + (size_t)at) * nv;
        }
        forced = true;
    } else if (forced) rows_of(batch, b, batch->tau, batch->model->nv, tau);
    for (int l = 0; l < worlds; l++) {
        clock[l] = clock_after(batch, first + l, at ? &total[l] : NULL);
        part[l].frozen = at ? total[l].frozen : (ctn_freeze)batch->clocks[first + l].frozen;
    }
    const bool late = count && batch_senses_late(batch);
    double time[MOST_LANES];
    for (int l = 0; l < worlds; l++) time[l] = time_after(batch, first + l, at ? &total[l] : NULL);
    if (late) batch_sensing_note(batch, thread, b, time, NULL);
    if (batch->along) {
        batch_along_step(batch, thread, b, clock[0], forced ? tau[0] : NULL, steps[0], wants_energy(job), part);
    } else
        batch->engine->step(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), clock,
                            forced ? tau : NULL, steps, wants_energy(job), worlds, part, &batch->use[thread]);
    for (int l = 0; l < worlds; l++) batch_sensing_step(batch, first + l, part[l].steps, forced ? tau[l] : NULL);
    for (int l = 0; l < worlds && late; l++) {
        const ctn_step_stats made = {.steps = (at ? total[l].steps : 0) + part[l].steps};
        time[l] = time_after(batch, first + l, &made);
    }
    if (late) batch_sensing_note(batch, thread, b, time, part);
    for (int l = 0; l < worlds; l++) {
        if (!at) total[l] = part[l];
        else if (!total[l].frozen) ctn_step_stats_add(&total[l], &part[l]);
    }
}

static void step_block(void *context, int thread, int b)
{
    const stepping *const job = context;
    const int worlds = worlds_in(job->batch, b), first = b * job->batch->engine->lanes;
    ctn_step_stats total[MOST_LANES];
    int most = 0;
    for (int l = 0; l < worlds; l++) most = horizon_of(job, first + l) > most ? horizon_of(job, first + l) : most;
    const int at_once =
        most && (asks(&job->run) || job->run.force || batch_senses_late(job->batch) || batch_tells(job->batch)) ? 1 : most;
    int k = 0;
    do advance_block(job, thread, b, k, at_once, total);
    while ((k += at_once) < most && !interrupted(job));
    for (int l = 0; l < worlds; l++) finish_world(job, first + l, &total[l]);
}

// ---- iteration by iteration

typedef struct {
    engine_queue queue;  // first: the engine knows this part
    stepping *job;
} thread_queue;

/// Whether `a` is to be taken up before `b`: the dearest first; of worlds alike those with the longest steps.
static bool goes_before(const world_cost *a, const world_cost *b)
{
    if (a->evaluations != b->evaluations) return a->evaluations > b->evaluations;
    if (a->dt != b->dt) return a->dt > b->dt;
    return a->world < b->world;
}

/// Makes [root, end) a heap, the last to be taken up on top, of which all but the root is one.
static void sift_down(world_cost *x, size_t root, size_t end)
{
    const world_cost sifted = x[root];
    for (size_t child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && goes_before(&x[child], &x[child + 1])) child++;
        if (!goes_before(&sifted, &x[child])) break;
        x[root] = x[child];
    }
    x[root] = sifted;
}

/// Worlds that cost alike, as far as one knows, come after each other: lanes beside each other then end their steps together, and
/// the last worlds that threads take up are the cheap ones. In place, as stepping allocates nothing; starts from the last call's
/// order, which is often that of this one.
static void order_worlds(ctn_batch *batch)
{
    const size_t n = (size_t)batch->cfg.worlds;
    world_cost *const x = batch->queue;
    bool ordered = true;
    for (size_t k = 0; k < n; k++) {
        const int w = x[k].world;
        x[k] = (world_cost){batch->cost[w], (float)dt_of(batch, w), w};
        ordered = ordered && (!k || goes_before(&x[k - 1], &x[k]));
    }
    if (ordered) return;
    for (size_t k = n / 2; k-- > 0;) sift_down(x, k, n);
    for (size_t end = n; --end > 0;) {
        const world_cost last = x[0];
        x[0] = x[end], x[end] = last;
        sift_down(x, 0, end);
    }
}

/// The next world that nobody has taken up.
static bool take_world(engine_queue *queue, engine_world *w)
{
    stepping *const job = ((thread_queue *)(void *)queue)->job;
    ctn_batch *const batch = job->batch;
    const int lanes = batch->engine->lanes, next = atomic_fetch_add(&job->next, 1);
    if (next >= batch->cfg.worlds) return false;
    const int world = batch->queue[next].world;
    const size_t nv = (size_t)batch->model->nv;
    *w = (engine_world){.world = world,
                        .home = state_of(batch, world / lanes),
                        .model = lanes_of(batch, world / lanes),
                        .lane = world % lanes,
                        .steps = horizon_of(job, world),
                        .clock = clock_after(batch, world, NULL)};
    w->stats.frozen = (ctn_freeze)batch->clocks[world].frozen;
    if (job->run.force) w->tau = job->run.force + (size_t)world * (size_t)job->run.steps * nv, w->stride = nv;
    else if (batch->forced) w->tau = batch->tau + (size_t)world * nv;
    return true;
}

static void put_world(engine_queue *queue, engine_world *w)
{
    stepping *const job = ((thread_queue *)(void *)queue)->job;
    const double *const first = job->run.force ? job->run.force : job->batch->forced ? job->batch->tau : NULL;
    const size_t nv = (size_t)job->batch->model->nv, world = (size_t)w->world;
    const size_t row = job->run.force && w->stats.steps ? world * (size_t)job->run.steps + (size_t)w->stats.steps - 1 : world;
    batch_sensing_step(job->batch, w->world, w->stats.steps, first ? first + row * nv : NULL);
    finish_world(job, w->world, &w->stats);
}

/// Advances worlds until none is left.
static void step_worlds(void *context, int job_thread, int k)
{
    (void)k;
    stepping *const job = context;
    ctn_batch *const batch = job->batch;
    const size_t thread = (size_t)job_thread;
    lane_model *own[2];
    void *state[2], *work[2] = {work_of(batch, job_thread), batch->lane_work + thread * batch->work_size};
    for (size_t i = 0; i < 2; i++) {
        own[i] = (lane_model *)(void *)(batch->lane_models + (2 * thread + i) * batch->model_size);
        state[i] = batch->lane_states + (2 * thread + i) * batch->state_size;
    }
    thread_queue q = {{take_world, put_world, job->stats != NULL}, job};
    batch->engine->run(lanes_of(batch, 0), batch->parameters ? own : NULL, &batch->cfg, state, work, &q.queue,
                       &batch->use[thread]);
}

// ---- calls

enum { MOST_STEPS_OF_FLOATS = 1 << 24 };  // a device in single precision, which has a least tolerance, counts them in 24 bits

static ctn_status check_run(const ctn_batch *batch, const ctn_run *run, ctn_error *err)
{
    if (run->steps < 0) return fail(err, CTN_BAD_ARGUMENT, "steps: expected 0 or more, found %d", run->steps);
    if (batch->device && batch->device->least_tolerance > 0 && run->steps > MOST_STEPS_OF_FLOATS)
        return fail(err, CTN_BAD_ARGUMENT, "steps: the engine '%s' counts up to %d a call, found %d", batch->device->name,
                    MOST_STEPS_OF_FLOATS, run->steps);
    for (int w = 0; w < batch->cfg.worlds && run->horizon; w++)
        if (run->horizon[w] < 0 || run->horizon[w] > run->steps)
            return fail(err, CTN_BAD_ARGUMENT, "horizon of world %d: expected 0 to %d steps, found %d", w, run->steps,
                        run->horizon[w]);
    if (run->control && run->sensed) return fail(err, CTN_BAD_ARGUMENT, "forces: give control or sensed, not both");
    if (run->sensed && !batch->sensing)
        return fail(err, CTN_BAD_ARGUMENT, "sensed: the model has no sensors; give its scene `sensors`, or take control");
    if (run->force && asks(run)) return fail(err, CTN_BAD_ARGUMENT, "forces: give a table or a control, not both");
    return CTN_OK;
}

ctn_status ctn_batch_run(ctn_batch *batch, const ctn_run *run, ctn_step_stats *stats, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "run", run, err)) return CTN_BAD_ARGUMENT;
    if (check_run(batch, run, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    if (batch->pool && pool_orphaned(batch->pool))
        return fail(
            err, CTN_UNAVAILABLE,
            "the threads of the batch stayed in the process that this one was forked from: make a batch of its own in the "
            "child, and restore there what ctn_batch_save gives");
    stepping job = {.batch = batch, .run = *run, .stats = stats};
    const bool fitted = batch->fitted;
    if (batch->kept && run->steps) keep_worlds(batch, false);
    batch->fitted = false;
    memset(batch->use, 0, (size_t)job_threads(batch) * sizeof *batch->use);
    atomic_store(&job.next, 0);
    if (batch->device) {
        const ctn_status status = batch_device_run(batch, run, stats != NULL, err);
        if (status != CTN_OK) return status;
        for (int w = 0; w < batch->cfg.worlds; w++) finish_world(&job, w, &batch->device_stats[w]);
    } else if (batch_along_together(batch)) {
        const ctn_step_stats *const made = batch_along_run(batch, run, stats != NULL);
        for (int w = 0; w < batch->cfg.worlds; w++) {
            ctn_step_stats s = made[w];
            finish_world(&job, w, &s);
        }
        if (batch_along_failed(batch, err) != CTN_OK) return CTN_UNAVAILABLE;
    } else if (by_iteration(batch) && run->steps > 1 && !asks(run) && !batch_senses_late(batch) && !batch_tells(batch)) {
        order_worlds(batch);
        pool_run(batch->pool, batch->cfg.threads, step_worlds, &job);
    } else if (batch->along && batch->cfg.parallel == CTN_PARALLEL_LINKS) {
        for (int w = 0; w < batch->cfg.worlds; w++) step_block(&job, 0, w);
        if (batch_along_failed(batch, err) != CTN_OK) return CTN_UNAVAILABLE;
    } else pool_run(batch->pool, batch->blocks, step_block, &job);
    if (interrupted(&job)) {
        keep_worlds(batch, true);
        batch->fitted = fitted;
        return fail(err, CTN_INTERRUPTED, "the call was interrupted: the worlds are where they were before it");
    }
    for (int w = 0; w < batch->cfg.worlds; w++) {
        const clock_state *const c = &batch->clocks[w];
        if (c->frozen) {
            char why[512];
            ctn_step_stats s = {.frozen = (ctn_freeze)c->frozen};
            tell_fall(&batch->falls[w], &s);
            return fail(err, CTN_FROZEN, "world %d is frozen at %.6g s: %s", w, c->frozen_time,
                        ctn_freeze_report(batch->model, &batch->cfg, &s, why, sizeof why));
        }
    }
    return CTN_OK;
}

ctn_status ctn_batch_step(ctn_batch *batch, int steps, ctn_step_stats *stats, ctn_error *err)
{
    return ctn_batch_run(batch, &(ctn_run){.steps = steps}, stats, err);
}

long ctn_batch_fallbacks(const ctn_batch *batch)
{
    long sum = 0;
    for (int w = 0; batch && w < batch->cfg.worlds; w++) sum += batch->fallbacks[w];
    return sum;
}

void ctn_batch_set_force(ctn_batch *batch, const double *tau)
{
    if (!batch) return;
    batch->forced = tau != NULL;
    if (batch->device) batch_device_force(batch, tau);
    else if (tau) memcpy(batch->tau, tau, (size_t)batch->cfg.worlds * (size_t)batch->model->nv * sizeof *tau);
}

double ctn_batch_occupancy(const ctn_batch *batch)
{
    double passes = 0, used = 0;
    for (int t = 0; batch && t < job_threads(batch); t++) passes += batch->use[t].passes, used += batch->use[t].used;
    return passes > 0 ? used / passes : NAN;
}
