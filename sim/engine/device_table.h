/// The host's side of a device: its memory, what is copied there and back, its launches. C++, for the file that defines the
/// machine:
///
///     machine_find(err)                      CTN_UNAVAILABLE: there is none
///     machine_allocate(size), machine_free   device memory; NULL: there is not so much
///     machine_copy(to, from, size, kind, stream)   done when it returns
///     machine_zero(to, size)
///     machine_launch(job, scratch, stream)   run_world() for all worlds of a copy of *job, with so many bytes of scratch; done when it returns
///     machine_error()                        what went wrong in the last of these that returned false, in words
///     machine_knows(p)                       p is in device memory
///     MACHINE_ALONG, MACHINE_FORMS, MACHINE_PLANS   its along_device, forms_device and ilqr_device, or NULL
///     MACHINE_NAME, MACHINE_SCRATCH          the engine's name, most bytes of scratch that a thread can have
#ifndef CATENA_SIM_DEVICE_TABLE_H
#define CATENA_SIM_DEVICE_TABLE_H

#include "sim/engine/device_worlds.h"
#include "sim/base/status.h"

#include <stdlib.h>

struct device_worlds {
    device_job job;  // what all launches have in common
    device_sizes size;
    size_t worlds, nq, nv, scratch;
    void *stream;
    real *constants;  // on the host, packed for the device
    size_t constant_count;
    double *rows;   // [worlds][nq + nv], on the device as all that follows
    double *force;  // [worlds][nv]
    bool forced;
    double *table;  // of `table_size` bytes
    size_t table_size;
    int *horizon, *frozen;  // [worlds]
    uint64_t *words;        // [worlds], on the host
    size_t bytes;           // allocated on the device
};

static ctn_status lost(ctn_error *err)
{
    return fail(err, CTN_UNAVAILABLE, "engine: '" MACHINE_NAME "' failed: %s; make the batch anew", machine_error());
}

/// Device memory that is counted; NULL with CTN_NO_MEMORY.
static void *allocate(device_worlds *d, size_t size, ctn_error *err)
{
    void *const p = machine_allocate(size + 64);
    if (p) d->bytes += size + 64;
    else
        fail(err, CTN_NO_MEMORY,
             "engine: '" MACHINE_NAME "' has not %.3g GB left for %zu worlds; take fewer worlds or steps a call",
             (double)size * 1e-9, d->worlds);
    return p;
}

static bool copy_in(const device_worlds *d, void *to, const void *from, size_t size, device_place place)
{
    return machine_copy(to, from, size, place == ON_DEVICE ? WITHIN_DEVICE : TO_DEVICE, d->stream);
}
static bool copy_out(const device_worlds *d, void *to, const void *from, size_t size)
{
    return machine_copy(to, from, size, FROM_DEVICE, d->stream);
}

static ctn_status launch(device_worlds *d, const device_job *job, ctn_error *err)
{
    return machine_launch(job, d->scratch, d->stream) ? CTN_OK : lost(err);
}

/// The model as TASK_LOAD reads it: one piece of device memory, with pointers into it.
static ctn_model *send_model(device_worlds *d, const ctn_model *m, ctn_error *err)
{
    const size_t bodies = (size_t)m->nbody * sizeof *m->bodies, frames = (size_t)m->nlink * sizeof *m->frames;
    const size_t loads = (size_t)m->nload * sizeof *m->loads, head = (sizeof *m + 63) / 64 * 64;
    const size_t motors = (size_t)m->nmotor * sizeof *m->motors, lists = head + bodies + frames;
    const size_t numbers = lists + loads + motors + (d->nv * sizeof *m->dof_adr + 7) / 8 * 8;
    const size_t surfaces = (size_t)m->nsurface * sizeof *m->surfaces, bytes = m->nnumber * sizeof *m->surface_numbers;
    const size_t size = numbers + surfaces + bytes;
    char *const there = (char *)allocate(d, size, err), *const here = (char *)calloc(size, 1);
    bool sent = false;
    if (there && here) {
        ctn_model *const to = (ctn_model *)(void *)here;
        *to = *m;
        to->links = NULL, to->q0 = to->v0 = NULL, to->name = to->names = NULL;
        to->bodies = (ctn_body *)(void *)(there + head), to->frames = (ctn_frame *)(void *)(there + head + bodies);
        to->loads = (point_load *)(void *)(there + lists), to->motors = (joint_motor *)(void *)(there + lists + loads);
        to->dof_adr = (int *)(void *)(there + lists + loads + motors);
        memcpy(here + head, m->bodies, bodies), memcpy(here + head + bodies, m->frames, frames);
        if (loads) memcpy(here + lists, m->loads, loads);
        if (motors) memcpy(here + lists + loads, m->motors, motors);
        memcpy(here + lists + loads + motors, m->dof_adr, d->nv * sizeof *m->dof_adr);
        to->surfaces = (fixed_surface *)(void *)(there + numbers), to->surface_names = NULL;
        to->surface_numbers = (double *)(void *)(there + numbers + surfaces);
        for (int k = 0; k < m->nsurface; k++) {
            fixed_surface *const f = (fixed_surface *)(void *)(here + numbers) + k;
            *f = m->surfaces[k];
            if (f->numbers) f->numbers = to->surface_numbers + (f->numbers - m->surface_numbers);
        }
        if (bytes) memcpy(here + numbers + surfaces, m->surface_numbers, bytes);
        sent = copy_in(d, there, here, size, ON_HOST);
        if (!sent) lost(err);
    } else if (there) fail(err, CTN_NO_MEMORY, "not enough memory for the model of engine '" MACHINE_NAME "'");
    free(here);
    if (sent) return (ctn_model *)(void *)there;
    machine_free(there);
    return NULL;
}

static void close_worlds(device_worlds *d)
{
    if (!d) return;
    void *const owned[] = {d->job.sizes,  (void *)d->job.source,
                           d->job.model,  (void *)d->job.constants,
                           d->job.states, d->job.stats,
                           d->rows,       d->force,
                           d->table,      d->horizon,
                           d->frozen};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) machine_free(owned[k]);
    free(d->constants), free(d->words);
    free(d);
}

/// The device's model, and how large things of this model and method are.
static ctn_status measure(device_worlds *d, const ctn_model *m, bool own, ctn_error *err)
{
    device_job job = d->job;
    job.worlds = 1;
    d->job.sizes = job.sizes = (device_sizes *)allocate(d, sizeof d->size, err);
    if (!job.sizes || !(job.source = send_model(d, m, err))) return CTN_NO_MEMORY;
    d->job.source = job.source;
    job.task = TASK_MEASURE;
    if (launch(d, &job, err) != CTN_OK || !copy_out(d, &d->size, job.sizes, sizeof d->size)) return lost(err);
    job.task = TASK_LOAD;
    d->job.model = job.model = (lane_model *)allocate(d, d->size.model, err);
    if (!job.model) return CTN_NO_MEMORY;
    if (launch(d, &job, err) != CTN_OK || !copy_out(d, &d->size, job.sizes, sizeof d->size)) return lost(err);
    d->scratch = d->size.state + d->size.work + (own ? d->size.model : 0);
    if (d->scratch <= MACHINE_SCRATCH) return CTN_OK;
    return fail(
        err, CTN_UNAVAILABLE,
        "engine: '" MACHINE_NAME
        "' has %d KiB for the work on a world, but this model needs %zu KiB with its method; take 'auto', or "
        "parallel: both with alpha, radau or collocation of order 2, or a method that needs less: collocation of order 2, "
        "semi-implicit",
        MACHINE_SCRATCH / 1024, (d->scratch + 1023) / 1024);
}

static device_worlds *open_worlds(const ctn_model *m, const ctn_batch_config *cfg, bool own, ctn_error *err)
{
    device_worlds *const d = (device_worlds *)calloc(1, sizeof(device_worlds));
    if (!d) {
        fail(err, CTN_NO_MEMORY, "not enough memory for the worlds of engine '" MACHINE_NAME "'");
        return NULL;
    }
    d->worlds = (size_t)cfg->worlds, d->nq = (size_t)m->nq, d->nv = (size_t)m->nv;
    d->job.cfg = *cfg, d->job.worlds = cfg->worlds;
    d->job.cfg.interrupt = NULL;  // it lies in the host's memory
    const size_t W = d->worlds, number = sizeof(double), held = sizeof(real);
    bool ok = measure(d, m, own, err) == CTN_OK;
    if (own)
        d->constant_count = 1 + WORLD_NUMBERS + (size_t)m->nbody * BODY_NUMBERS + (size_t)m->nload * LOAD_NUMBERS +
                            (size_t)m->nmotor * MOTOR_NUMBERS;
    const struct {
        void *to;  // a pointer
        size_t size;
    } memory[] = {{&d->job.states, W * d->size.flat * held},
                  {&d->job.stats, W * sizeof(ctn_step_stats)},
                  {&d->rows, W * (d->nq + d->nv) * number},
                  {&d->force, W * d->nv * number},
                  {&d->horizon, W * sizeof(int)},
                  {&d->frozen, W * sizeof(int)},
                  {&d->job.constants, W * d->constant_count * held}};
    for (size_t k = 0; k < sizeof memory / sizeof *memory && ok; k++) {
        void *const p = memory[k].size ? allocate(d, memory[k].size, err) : NULL;
        memcpy(memory[k].to, &p, sizeof p);
        ok = p || !memory[k].size;
    }
    if (ok && !machine_zero(d->job.states, W * d->size.flat * held)) lost(err), ok = false;
    if (ok) {
        d->words = (uint64_t *)malloc(W * sizeof *d->words);
        if (own) d->constants = (real *)malloc(W * d->constant_count * held);
        ok = d->words && (!own || d->constants);
        if (!ok) fail(err, CTN_NO_MEMORY, "not enough memory for %zu worlds", W);
    }
    if (ok) return d;
    close_worlds(d);
    return NULL;
}

static size_t bytes_of(const device_worlds *d)
{
    return d->bytes + d->worlds * (sizeof *d->words + d->constant_count * sizeof(real));
}

static void use_stream(device_worlds *d, void *stream) { d->stream = stream; }

/// In the order of load_constants().
static void pack_constants(device_worlds *d, int world, const ctn_model *m, double dt)
{
    real *x = d->constants + world;
    *x = (real)dt, x += d->worlds;
    for (int k = 0; k < (int)WORLD_NUMBERS; k++, x += d->worlds) *x = (real)(&m->mass)[k];
    for (int i = 0; i < m->nbody; i++)
        for (int k = 0; k < (int)BODY_NUMBERS; k++, x += d->worlds) *x = (real)(&m->bodies[i].mass)[k];
    for (int i = 0; i < m->nload; i++)
        for (int k = 0; k < (int)LOAD_NUMBERS; k++, x += d->worlds) *x = (real)(&m->loads[i].stiffness)[k];
    for (int i = 0; i < m->nmotor; i++)
        for (int k = 0; k < (int)MOTOR_NUMBERS; k++, x += d->worlds) *x = (real)(&m->motors[i].kp)[k];
}

static ctn_status send_constants(device_worlds *d, ctn_error *err)
{
    const size_t size = d->worlds * d->constant_count * sizeof(real);
    return copy_in(d, (void *)d->job.constants, d->constants, size, ON_HOST) ? CTN_OK : lost(err);
}

static ctn_status foreign(const char *what, ctn_error *err)
{
    return fail(err, CTN_BAD_ARGUMENT, "%s: expected a pointer into the memory of the engine's device", what);
}

static ctn_status set_worlds(device_worlds *d, const double *q, const double *v, device_place place, ctn_error *err)
{
    device_job job = d->job;
    job.task = TASK_SET;
    if (place == ON_DEVICE) {
        if (!machine_knows(q)) return foreign("q", err);
        if (!machine_knows(v)) return foreign("v", err);
        job.q = (double *)q, job.v = (double *)v;
    } else {
        job.q = d->rows, job.v = d->rows + d->worlds * d->nq;
        if (!copy_in(d, job.q, q, d->worlds * d->nq * sizeof *q, place) ||
            !copy_in(d, job.v, v, d->worlds * d->nv * sizeof *v, place))
            return lost(err);
    }
    return launch(d, &job, err);
}

static ctn_status get_worlds(device_worlds *d, double *q, double *v, device_place place, ctn_error *err)
{
    device_job job = d->job;
    job.task = TASK_GET;
    if (place == ON_DEVICE) {
        if (q && !machine_knows(q)) return foreign("q", err);
        if (v && !machine_knows(v)) return foreign("v", err);
        job.q = q, job.v = v;
        return launch(d, &job, err);
    }
    job.q = q ? d->rows : NULL, job.v = v ? d->rows + d->worlds * d->nq : NULL;
    if (launch(d, &job, err) != CTN_OK) return CTN_UNAVAILABLE;
    if (q && !copy_out(d, q, job.q, d->worlds * d->nq * sizeof *q)) return lost(err);
    if (v && !copy_out(d, v, job.v, d->worlds * d->nv * sizeof *v)) return lost(err);
    return CTN_OK;
}

static ctn_status set_force(device_worlds *d, const double *tau, device_place place, ctn_error *err)
{
    if (tau && place == ON_DEVICE && !machine_knows(tau)) return foreign("tau", err);
    d->forced = tau != NULL;
    if (!tau || copy_in(d, d->force, tau, d->worlds * d->nv * sizeof *tau, place)) return CTN_OK;
    return lost(err);
}

/// The forces of a run on the device; a table stays allocated for the next one.
static ctn_status send_forces(device_worlds *d, const ctn_run *run, device_job *job, ctn_error *err)
{
    job->table = run->force && run->steps, job->tau = d->forced ? d->force : NULL;
    if (!job->table) return CTN_OK;
    const size_t size = d->worlds * (size_t)run->steps * d->nv * sizeof *run->force;
    if (size > d->table_size) {
        machine_free(d->table);
        if (d->table) d->bytes -= d->table_size + 64;
        d->table_size = 0, d->table = (double *)allocate(d, size, err);
        if (!d->table) return CTN_NO_MEMORY;
        d->table_size = size;
    }
    job->tau = d->table;
    return copy_in(d, d->table, run->force, size, ON_HOST) ? CTN_OK : lost(err);
}

static ctn_status step_worlds(device_worlds *d, const ctn_run *run, bool all, ctn_step_stats *stats, ctn_error *err)
{
    const size_t W = d->worlds;
    device_job job = d->job;
    job.task = TASK_STEP, job.steps = run->steps, job.energy = all;
    ctn_status status = send_forces(d, run, &job, err);
    if (status != CTN_OK) return status;
    int *const frozen = (int *)(void *)d->words;
    for (size_t w = 0; w < W; w++) frozen[w] = stats[w].frozen;
    if (!copy_in(d, d->frozen, frozen, W * sizeof *frozen, ON_HOST)) return lost(err);
    if (run->horizon && !copy_in(d, d->horizon, run->horizon, W * sizeof *run->horizon, ON_HOST)) return lost(err);
    job.frozen = d->frozen, job.horizon = run->horizon ? d->horizon : NULL;
    if (launch(d, &job, err) != CTN_OK) return CTN_UNAVAILABLE;
    memset(stats, 0, W * sizeof *stats);
    for (size_t k = 0; k < STATS_WORDS; k++) {
        const size_t needed[] = {offsetof(ctn_step_stats, steps), offsetof(ctn_step_stats, fallbacks),
                                 offsetof(ctn_step_stats, frozen), offsetof(ctn_step_stats, frozen_time),
                                 offsetof(ctn_step_stats, frozen_dof), offsetof(ctn_step_stats, frozen_position),
                                 offsetof(ctn_step_stats, frozen_velocity), offsetof(ctn_step_stats, frozen_residual)};
        bool take = all;
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) take = take || needed[i] / sizeof *d->words == k;
        if (!take) continue;
        if (!copy_out(d, d->words, job.stats + k * W, W * sizeof *d->words)) return lost(err);
        for (size_t w = 0; w < W; w++) memcpy((char *)&stats[w] + k * sizeof *d->words, &d->words[w], sizeof *d->words);
    }
    return CTN_OK;
}

static ctn_status sum_worlds(device_worlds *d, ctn_totals *totals, ctn_error *err)
{
    device_job job = d->job;
    const size_t size = d->worlds * sizeof *totals;
    job.task = TASK_TOTALS, job.totals = (ctn_totals *)machine_allocate(size);
    if (!job.totals)
        return fail(err, CTN_NO_MEMORY, "engine: '" MACHINE_NAME "' has no memory left for the totals of %zu worlds", d->worlds);
    ctn_status status = launch(d, &job, err);
    if (status == CTN_OK && !copy_out(d, totals, job.totals, size)) status = lost(err);
    machine_free(job.totals);
    return status;
}

#ifndef CATENA_FLOAT
static ctn_status follow_plan(device_worlds *d, const device_follow *plan, ctn_error *err)
{
    device_job job = d->job;
    job.task = TASK_PLACE, job.worlds = threads_that_follow(plan), job.constants = NULL, job.follow = *plan;
    bool made = machine_launch(&job, d->scratch, d->stream);
    job.task = TASK_FOLLOW;
    made = made && machine_launch(&job, d->scratch, d->stream);
    return made ? CTN_OK
                : fail(err, CTN_UNAVAILABLE, "engine: '" MACHINE_NAME "' failed: %s; make the plan anew", machine_error());
}
#endif

/// One number of all these worlds at a time: the device has them side by side.
static ctn_status flatten_worlds(device_worlds *d, int first, int count, bool load, double *flat, ctn_error *err)
{
    const size_t n = d->size.flat, size = (size_t)count * sizeof(real);
    real *const column = (real *)(void *)d->words;
    for (size_t k = 0; k < n; k++) {
        real *const there = d->job.states + k * d->worlds + first;
        if (!load && !copy_out(d, column, there, size)) return lost(err);
        for (size_t w = 0; w < (size_t)count; w++) {
            if (load) column[w] = (real)flat[w * n + k];
            else flat[w * n + k] = column[w];
        }
        if (load && !copy_in(d, there, column, size, ON_HOST)) return lost(err);
    }
    return CTN_OK;
}

static void *allocate_for_caller(device_worlds *, size_t bytes, ctn_error *err)
{
    void *const p = machine_allocate(bytes ? bytes : 1);
    if (!p) fail(err, CTN_NO_MEMORY, "engine: '" MACHINE_NAME "' has not %.3g GB left", (double)bytes * 1e-9);
    return p;
}

static void release(device_worlds *, void *memory) { machine_free(memory); }

static ctn_status copy_for_caller(device_worlds *d, void *to, const void *from, size_t bytes, device_place place, ctn_error *err)
{
    if (!machine_knows(place == ON_DEVICE ? to : from)) return foreign(place == ON_DEVICE ? "to" : "from", err);
    return (place == ON_DEVICE ? copy_in(d, to, from, bytes, ON_HOST) : copy_out(d, to, from, bytes)) ? CTN_OK : lost(err);
}

extern "C" __attribute__((visibility("default"))) const ctn_device catena_device;
#ifdef CATENA_FLOAT
#define FOLLOW_PLAN NULL
#else
#define FOLLOW_PLAN follow_plan
#endif
extern "C" const ctn_device catena_device = {
    DEVICE_LAYOUT,  MACHINE_NAME,        LEAST_TOLERANCE, LEAST_ERROR,     machine_find,  open_worlds,  close_worlds,
    bytes_of,       use_stream,          pack_constants,  send_constants,  set_worlds,    get_worlds,   set_force,
    step_worlds,    sum_worlds,          FOLLOW_PLAN,     flatten_worlds,  allocate_for_caller,         release,
    copy_for_caller, MACHINE_ALONG,      MACHINE_FORMS,   MACHINE_PLANS};

#endif
