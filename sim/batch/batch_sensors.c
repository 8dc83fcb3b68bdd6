/// What the sensors of a batch's worlds say: measured in lanes, late where they have a delay, with noise.
///
/// For this each world has a memory, a part of its saved state: how many steps were made since its state was set, by which key its
/// noise is drawn, the joint forces of the last step, and of sensors with a delay what they measured after each of the last steps,
/// in a ring. Models whose sensors need none of it have none.
#include "sim/batch/batch_sensors.h"

#include "dynamics/lane_scalar.h"
#include "dynamics/quaternion.h"
#include "sim/base/random.h"
#include "sim/base/sensor_types.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LATE = 1000000 };  // steps
enum { MADE, KEY, FORCE };     // of a world's memory

struct batch_sensing {
    const model_sensor *sensors;  // [count]
    int count, numbers;
    bool forces;         // what is measured depends on them
    model_sensor *late;  // [nlate], those with a delay, their numbers in a row of the ring
    int *late_of, *lag;  // [nlate]: which sensors these are; in steps
    int nlate, late_numbers, depth;
    size_t size;            // numbers of a world's memory: steps made, key, forces [nv], ring [depth][late_numbers]
    double *memory, *kept;  // [worlds][size]; before a call that may be interrupted
    double *rows;           // [threads][MOST_LANES][numbers + nv + 1]
    void *state, *work;     // of a world of a device's that is looked at here; NULL: worlds are here
};

static double *memory_of(const ctn_batch *batch, int world)
{
    return batch->sensing->memory + (size_t)world * batch->sensing->size;
}
static double *ring_of(const ctn_batch *batch, int world)
{
    return memory_of(batch, world) + FORCE + (batch->sensing->forces ? batch->model->nv : 0);
}

// ---- opening and closing

/// How many steps a delay is, so that what is said is at least as old.
static double steps_of(double delay, double dt) { return ceil(delay / dt - 1e-9); }

ctn_status batch_sensing_check(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    bool sizes = false, masses = false;
    for (int k = 0; k < cfg->parameter_count; k++) {
        sizes = sizes || cfg->parameters[k].kind == CTN_TIME_STEP;
        masses = masses || cfg->parameters[k].kind == CTN_MASS_SCALE;
    }
    for (int k = 0; k < m->nsensor; k++) {
        const ctn_sensor *const about = &m->sensors[k].about;
        if (masses && m->sensors[k].part_mass > 0)
            return fail(err, CTN_BAD_CONFIG,
                        "sensor '%s': measures what holds a link that is fixed to another one, which goes without the parameter "
                        "mass_scale; leave that out, or measure at a joint that moves",
                        about->name);
        if (about->delay == 0) continue;
        if (sizes)
            return fail(err, CTN_BAD_CONFIG,
                        "sensor '%s': has a `delay`, which goes with steps of one size; leave it out, or the parameter time_step",
                        about->name);
        const double steps = steps_of(about->delay, cfg->dt);
        if (steps > MOST_LATE)
            return fail(err, CTN_BAD_CONFIG, "sensor '%s': its `delay` of %g s is %.0f steps, more than %d; take larger steps",
                        about->name, about->delay, steps, MOST_LATE);
    }
    return CTN_OK;
}

/// The sensors with a delay. False: no memory.
static bool open_late(ctn_batch *batch, batch_sensing *s)
{
    const size_t room = (size_t)s->count + 1;
    s->late = calloc(room, sizeof *s->late), s->late_of = calloc(room, sizeof *s->late_of), s->lag = calloc(room, sizeof *s->lag);
    if (!s->late || !s->late_of || !s->lag) return false;
    for (int k = 0; k < s->count; k++) {
        const ctn_sensor *const about = &s->sensors[k].about;
        if (about->delay == 0) continue;
        const int steps = (int)steps_of(about->delay, batch->cfg.dt);
        s->late[s->nlate] = s->sensors[k], s->late[s->nlate].about.first = s->late_numbers;
        s->late_of[s->nlate] = k, s->lag[s->nlate++] = steps;
        s->late_numbers += about->count;
        if (steps >= s->depth) s->depth = steps + 1;
    }
    return true;
}

/// Gives block 0 the constants of a world of a device's.
static void take_constants(ctn_batch *batch, int world)
{
    const double *const values = batch->values + (size_t)world * (size_t)batch->cfg.parameter_count;
    const ctn_model *const variant = batch->variant[0];
    double dt = batch->cfg.dt;
    parameters_apply(batch->parameters, values, batch->variant[0], &dt);
    batch->engine->model_load(&variant, &dt, lanes_of(batch, 0));
}

/// Room for one world of a device's, and for the forces on all. False: no memory.
static bool open_there(ctn_batch *batch, batch_sensing *s)
{
    enum { ALIGNED = 64 };
    const lane_model *const m = lanes_of(batch, 0);
    if (batch->parameters) take_constants(batch, 0);  // it may have parts that the model has not
    const size_t state = batch->engine->state_size(m, &batch->cfg), step = batch->engine->work_size(m, &batch->cfg);
    const size_t dynamics = batch->engine->dynamics_size(m), work = step > dynamics ? step : dynamics;
    const size_t forces = s->forces ? (size_t)batch->cfg.worlds * (size_t)batch->model->nv : 0;
    s->state = aligned_alloc(ALIGNED, (state + ALIGNED) / ALIGNED * ALIGNED);
    s->work = aligned_alloc(ALIGNED, (work + ALIGNED) / ALIGNED * ALIGNED);
    batch->tau = calloc(forces + 1, sizeof *batch->tau);
    batch->rows = calloc((size_t)batch->cfg.worlds * row_size(batch->model), sizeof *batch->rows);
    if (!s->state || !s->work || !batch->tau || !batch->rows) return false;
    memset(s->state, 0, state), memset(s->work, 0, work);
    return true;
}

bool batch_sensing_open(ctn_batch *batch)
{
    const ctn_model *const m = batch->model;
    if (!m->nsensor) return true;
    batch_sensing *const s = batch->sensing = calloc(1, sizeof *s);
    if (!s) return false;
    s->sensors = m->sensors, s->count = m->nsensor, s->numbers = ctn_model_sensor_numbers(m);
    for (int k = 0; k < s->count; k++) s->forces = s->forces || s->sensors[k].needs & (SENSOR_FORCES | SENSOR_ACCELERATIONS);
    if (!open_late(batch, s)) return false;
    const size_t worlds = (size_t)batch->cfg.worlds, nv = (size_t)m->nv;
    bool noisy = false;
    for (int k = 0; k < s->count; k++)
        for (int i = 0; i < CTN_SENSOR_NUMBERS; i++) noisy = noisy || s->sensors[k].about.noise[i] > 0;
    if (s->forces || s->nlate || noisy) s->size = FORCE + (s->forces ? nv : 0) + (size_t)s->depth * (size_t)s->late_numbers;
    s->memory = calloc(worlds * s->size + 1, sizeof *s->memory);
    if (batch->cfg.interrupt) s->kept = calloc(worlds * s->size + 1, sizeof *s->kept);
    s->rows = calloc((size_t)job_threads(batch) * MOST_LANES * ((size_t)s->numbers + nv + 1) + 1, sizeof *s->rows);
    if (!s->memory || !s->rows || (!s->kept && batch->cfg.interrupt) || (batch->device && !open_there(batch, s))) return false;
    ctn_batch_number_worlds(batch, 0, 0);
    return true;
}

void batch_sensing_close(ctn_batch *batch)
{
    batch_sensing *const s = batch->sensing;
    if (!s) return;
    free(s->late), free(s->late_of), free(s->lag), free(s->memory), free(s->kept), free(s->rows), free(s->state), free(s->work);
    free(s);
}

size_t batch_sensing_numbers(const ctn_batch *batch) { return batch->sensing ? batch->sensing->size : 0; }

bool batch_sensing_sound(const ctn_batch *batch, const double *flat)
{
    return !batch_sensing_numbers(batch) || (flat[MADE] >= 0 && flat[MADE] < 1e15 && flat[MADE] == floor(flat[MADE]));
}

void batch_sensing_flatten(const ctn_batch *batch, int world, bool load, double *flat)
{
    const size_t bytes = batch_sensing_numbers(batch) * sizeof *flat;
    if (!bytes) return;
    if (load) memcpy(memory_of(batch, world), flat, bytes);
    else memcpy(flat, memory_of(batch, world), bytes);
}

void batch_sensing_keep(const ctn_batch *batch, bool back)
{
    const size_t bytes = (size_t)batch->cfg.worlds * batch_sensing_numbers(batch) * sizeof *batch->sensing->memory;
    if (!bytes) return;
    if (back) memcpy(batch->sensing->memory, batch->sensing->kept, bytes);
    else memcpy(batch->sensing->kept, batch->sensing->memory, bytes);
}

void batch_sensing_restart(ctn_batch *batch, int world)
{
    const size_t bytes = batch_sensing_numbers(batch) * sizeof *batch->sensing->memory;
    if (!bytes) return;
    const double key = memory_of(batch, world)[KEY];
    memset(memory_of(batch, world), 0, bytes);
    memory_of(batch, world)[KEY] = key;
}

uint64_t batch_sensing_layout(const ctn_batch *batch)
{
    const batch_sensing *const s = batch->sensing;
    uint64_t h = 0;
    for (int k = 0; s && k < s->nlate; k++)
        h = random_words(h, (uint64_t)s->lag[k] << 32 | (uint32_t)s->late[k].about.type, (uint32_t)s->late_of[k], 0).v[0] | 1u;
    return h;
}

// ---- measuring

/// What `n` sensors measure on the worlds of a block at `time` (s), without noise and delay, under the forces of the step made
/// last: values [worlds][width].
static void measure(const ctn_batch *batch, int thread, int b, const double *time, const model_sensor *sensors, int n,
                    double *values, int width)
{
    const batch_sensing *const s = batch->sensing;
    const int first = b * batch->engine->lanes, count = worlds_in(batch, b);
    const size_t nv = (size_t)batch->model->nv;
    double *const tau = s->rows + ((size_t)thread * MOST_LANES) * ((size_t)s->numbers + nv + 1) + MOST_LANES * (size_t)s->numbers;
    lane_model *const lanes = lanes_of(batch, batch->device ? 0 : b);
    void *const work = batch->device ? s->work : work_of(batch, thread), *const state =
                                                                             batch->device ? s->state : state_of(batch, b);
    const world_rows rows = batch->device ? rows_at(batch, batch->rows, 1) : block_rows(batch, thread, b);
    if (batch->device) batch->engine->get(lanes, &batch->cfg, state, work, 1, (double *[1]){rows.q}, (double *[1]){rows.v});
    for (int l = 0; l < count && s->forces && nv; l++) {
        const double *const memory = memory_of(batch, first + l), *const set = batch->tau + (size_t)(first + l) * nv;
        if (memory[MADE] > 0) memcpy(tau + (size_t)l * nv, memory + FORCE, nv * sizeof *tau);
        else if (batch->forced) memcpy(tau + (size_t)l * nv, set, nv * sizeof *tau);
        else memset(tau + (size_t)l * nv, 0, nv * sizeof *tau);
    }
    batch->engine->sensors(lanes, work, sensors, n, count, time, rows.q, rows.v, s->forces ? tau : NULL, &batch->cfg, state,
                           values, width);
}

/// The row of the ring after `made` steps.
static double *late_row(const ctn_batch *batch, int world, double made)
{
    const batch_sensing *const s = batch->sensing;
    return ring_of(batch, world) + (size_t)fmod(made, s->depth) * (size_t)s->late_numbers;
}

bool batch_sensing_feels(const ctn_batch *batch) { return batch->sensing && batch->sensing->forces; }

bool batch_senses_late(const ctn_batch *batch) { return batch->sensing && batch->sensing->nlate; }

void batch_sensing_note(const ctn_batch *batch, int thread, int b, const double *time, const ctn_step_stats *part)
{
    const batch_sensing *const s = batch->sensing;
    const size_t nv = (size_t)batch->model->nv, width = (size_t)s->late_numbers;
    double *const values = s->rows + (size_t)thread * MOST_LANES * ((size_t)s->numbers + nv + 1);
    const int first = b * batch->engine->lanes, count = worlds_in(batch, b);
    bool any = false;
    for (int l = 0; l < count; l++) any = any || (part ? part[l].steps > 0 : memory_of(batch, first + l)[MADE] == 0);
    if (!any) return;
    measure(batch, thread, b, time, s->late, s->nlate, values, s->late_numbers);
    for (int l = 0; l < count; l++) {
        const double made = memory_of(batch, first + l)[MADE];
        if (part ? part[l].steps > 0 : made == 0)
            memcpy(late_row(batch, first + l, made), values + (size_t)l * width, width * sizeof *values);
    }
}

void batch_sensing_step(const ctn_batch *batch, int world, long steps, const double *tau)
{
    if (!batch_sensing_numbers(batch) || !steps) return;
    double *const memory = memory_of(batch, world);
    const size_t bytes = (size_t)batch->model->nv * sizeof *memory;
    memory[MADE] += (double)steps;
    if (!batch->sensing->forces) return;
    if (tau) memcpy(memory + FORCE, tau, bytes);
    else memset(memory + FORCE, 0, bytes);
}

// ---- delay and noise

/// Where among the numbers of a sensor a quaternion begins; -1: it has none.
static int quaternion_at(const model_sensor *s)
{
    if (s->about.type == CTN_SENSE_JOINT_POSITION) return s->nq > s->nv ? s->nq - 4 : -1;
    return sensor_type_quaternion(s->about.type);
}

/// Adds noise to the numbers of a sensor at a time (s). Its counter is the time's bits: a world's clock goes on where a saved
/// state is restored, and does not begin anew where its time step changes.
static void add_noise(const model_sensor *s, uint64_t key, double time, double *x)
{
    const double *const deviation = s->about.noise, now = time + 0.0;  // no negative zero
    const int at = quaternion_at(s), count = at < 0 ? s->about.count : s->about.count - 1;
    double drawn[CTN_SENSOR_NUMBERS];
    bool any = false;
    uint64_t bits;
    memcpy(&bits, &now, sizeof bits);
    for (int k = 0; k < count; k++) {
        double pair[2];
        any = any || deviation[k] > 0, drawn[k] = 0;
        if (!(deviation[k] > 0)) continue;
        uniform_pair_of(random_words(key, bits, (uint32_t)(s->about.first + k), 1), pair);
        drawn[k] = deviation[k] * normal_of(pair);
    }
    if (!any) return;
    for (int k = 0; k < (at < 0 ? count : at); k++) x[k] += drawn[k];
    if (at < 0) return;
    const quat turned = quat_normalised(quat_mul(quat_load(x + at), quat_exp(vec(drawn[at], drawn[at + 1], drawn[at + 2]))));
    const double sign = turned.w < 0 && s->about.type != CTN_SENSE_JOINT_POSITION ? -1 : 1;
    x[at] = sign * turned.w, x[at + 1] = sign * turned.x, x[at + 2] = sign * turned.y, x[at + 3] = sign * turned.z;
}

/// What they say, of what they measure now.
static void say(const ctn_batch *batch, int world, double time, double *x)
{
    const batch_sensing *const s = batch->sensing;
    for (int k = 0; k < s->nlate; k++) {
        const ctn_sensor *const to = &s->sensors[s->late_of[k]].about, *const from = &s->late[k].about;
        const double made = memory_of(batch, world)[MADE];
        if (made > 0)
            memcpy(x + to->first, late_row(batch, world, fmax(made - s->lag[k], 0)) + from->first, (size_t)to->count * sizeof *x);
    }
    uint64_t key = 0;
    if (s->size) memcpy(&key, memory_of(batch, world) + KEY, sizeof key);
    for (int k = 0; k < s->count; k++) add_noise(&s->sensors[k], key, time, x + s->sensors[k].about.first);
}

double *batch_sense_block(const ctn_batch *batch, int thread, int b, const double *time)
{
    const batch_sensing *const s = batch->sensing;
    double *const values = s->rows + (size_t)thread * MOST_LANES * ((size_t)s->numbers + (size_t)batch->model->nv + 1);
    measure(batch, thread, b, time, s->sensors, s->count, values, s->numbers);
    for (int l = 0; l < worlds_in(batch, b); l++)
        say(batch, b * batch->engine->lanes + l, time[l], values + (size_t)l * (size_t)s->numbers);
    return values;
}

typedef struct {
    ctn_batch *batch;
    double *values;  // [worlds][numbers]
} sensing;

static void sense_block(void *context, int thread, int b)
{
    const sensing *const job = context;
    const ctn_batch *const batch = job->batch;
    const int first = b * batch->engine->lanes, count = worlds_in(batch, b);
    const size_t width = (size_t)batch->sensing->numbers;
    double time[MOST_LANES];
    for (int l = 0; l < count; l++) time[l] = time_after(batch, first + l, NULL);
    const double *const values = batch_sense_block(batch, thread, b, time);
    memcpy(job->values + (size_t)first * width, values, (size_t)count * width * sizeof *values);
}

// ---- on a device

/// Brings all worlds here, one after another, each as block 0 with its own constants.
static void visit_there(ctn_batch *batch, void (*visit)(void *context, int world), void *context)
{
    const ctn_engine *const engine = batch->engine;
    const size_t n = engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    for (int first = 0; first < batch->cfg.worlds; first += DEVICE_CHUNK) {
        const int left = batch->cfg.worlds - first, count = left < DEVICE_CHUNK ? left : DEVICE_CHUNK;
        batch_device_flatten(batch, first, count, false, batch->flat);
        for (int k = 0; k < count; k++) {
            if (batch->parameters) take_constants(batch, first + k);
            engine->flatten(lanes_of(batch, 0), &batch->cfg, batch->sensing->state, 0, true, batch->flat + (size_t)k * n);
            visit(context, first + k);
        }
    }
}

typedef struct {
    ctn_batch *batch;
    const ctn_step_stats *made, *part;
    double *values;
} visiting;

static void sense_there(void *context, int world)
{
    const visiting *const job = context;
    const size_t width = (size_t)job->batch->sensing->numbers;
    const double time = time_after(job->batch, world, job->made ? &job->made[world] : NULL);
    memcpy(job->values + (size_t)world * width, batch_sense_block(job->batch, 0, world, &time), width * sizeof(double));
}

static void note_there(void *context, int world)
{
    const visiting *const job = context;
    const double time = time_after(job->batch, world, job->made ? &job->made[world] : NULL);
    batch_sensing_note(job->batch, 0, world, &time, job->part ? &job->part[world] : NULL);
}

void batch_device_sense(ctn_batch *batch, const ctn_step_stats *made, double *values)
{
    visit_there(batch, sense_there, &(visiting){batch, made, NULL, values});
}

void batch_device_note(ctn_batch *batch, const ctn_step_stats *made, const ctn_step_stats *part)
{
    visit_there(batch, note_there, &(visiting){batch, made, part, NULL});
}

ctn_status ctn_batch_sensors(ctn_batch *batch, double *values, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    if (batch->device && batch->sensing) {
        batch_device_sense(batch, NULL, values);
        return batch_device_failed(batch, err);
    }
    if (batch->sensing) pool_run(batch->pool, batch->blocks, sense_block, &(sensing){batch, values});
    return CTN_OK;
}

void batch_number_world(ctn_batch *batch, int world, uint64_t seed, int64_t number)
{
    if (!batch_sensing_numbers(batch)) return;
    const philox4x32_ctr_t r = random_words(seed, (uint64_t)number, 0, 0x73656e73);  // apart from those of samples
    const uint64_t key = (uint64_t)r.v[1] << 32 | r.v[0];
    memcpy(memory_of(batch, world) + KEY, &key, sizeof key);
}

void ctn_batch_number_worlds(ctn_batch *batch, uint64_t seed, int64_t first)
{
    for (int w = 0; batch && w < batch->cfg.worlds; w++) batch_number_world(batch, w, seed, first + w);
}
