/// A device's side of worlds along their links, for the file that defines the machine as sim/engine/device_table.h says, but for
///
///     machine_launch(task, count, context)   jobs 0 .. count - 1, in the order of calls
///     machine_step(launch, threads, coupled) run_group() for all groups of a launch, of so many threads each; after these, too
///     machine_groups(threads, coupled)       how many such groups it can have in hand
///     along_crew, along_wait, along_next     a group's threads, of which this one is number `thread` of `threads`; waits for all
///                                            of them; *p, and adds one
///
/// Compiled as CUDA C++ (along_cuda.cu) and as C++17 (tests/along_twin.cpp). A thread has one lane: the lane block of the scalar
/// engine. For one world lists of jobs are launches, and what calls them is on the CPU (along_device.c); many worlds are in the
/// hands of groups of threads (along_group.h).
#ifndef CATENA_ALONG_THERE_H
#define CATENA_ALONG_THERE_H

#define ALONG_JOBS
#define ALONG_RUN(crew, count, job, context)                                                                                     \
    do {                                                                                                                         \
        for (int job_ = (crew)->thread, jobs_ = (count); job_ < jobs_; job_ += (crew)->threads) job(context, 0, job_);           \
        along_wait(crew);                                                                                                        \
    } while (0)
#define ALONG_EACH ALONG_RUN
#define BOUNDARY KERNEL
#define INNER KERNEL
#include "sim/along/along.h"

KERNEL void along_fetch(along_crew *crew, along_world *w);  // what it is told into numbers of this thread

#include "sim/along/boundary.c"
#include "sim/along/stage_boundary.c"
#include "sim/along/along_kernels.h"
#include "sim/along/along_device.h"
#include "sim/along/along_group.h"

#include <stdlib.h>

enum { MOST_THREADS_OF_GROUP = 256 };  // for more a processor has not the registers that jobs want

/// Any context of a job.
typedef union {
    along_opening opening;
    along_loading loading;
    along_call call;
    along_ask ask;
    along_choice choice;
    along_move move;
    along_copy copy;
    along_part part;
    stage_part stage;
    star_call star;
} along_context;

static bool machine_launch(along_task task, int count, const along_context *context);
static bool machine_step(const along_launch *launch, int threads, bool coupled);
static int machine_groups(int threads, bool coupled);

/// Pieces of memory that are put together here and lie there afterwards; `here` NULL: only counts.
typedef struct {
    char *here, *there;
    size_t used;
} parcel;

static void *put(parcel *p, const void *from, size_t size)
{
    void *const there = (void *)((uintptr_t)p->there + p->used);
    if (p->here && from && size) memcpy(p->here + p->used, from, size);
    p->used += (size + 63) / 64 * 64;
    return there;
}
/// `count` things from an array.
#define PUT(p, array, count) ((decltype((array) + 0))put(p, array, (size_t)(count) * sizeof *(array)))

/// What motors are told over time, with its tables. false: there is no memory.
static bool put_signals(parcel *p, ctn_model *m)
{
    const size_t n = (size_t)m->nsignal;
    ctn_signal *const signals = (ctn_signal *)malloc((n + 1) * sizeof *signals);
    if (!signals) return false;
    for (size_t k = 0; k < n; k++) {
        ctn_signal *const s = &signals[k];
        *s = m->signals[k];
        if (s->count) s->knots = PUT(p, s->knots, s->count), s->pieces = PUT(p, s->pieces, 4 * (s->count + 1));
    }
    m->signals = PUT(p, signals, n);
    free(signals);
    return true;
}

/// The plan, its model and the configuration (NULL: none), with pointers into the device's memory: the addresses of the first and
/// the last, and in *d of the model and its loads.
static along_plan *put_plan(parcel *p, along_there *d, const along_plan *plan, const ctn_batch_config *cfg,
                            ctn_batch_config **settings)
{
    ctn_model m = *plan->model;
    along_plan to = *plan;
    if (!put_signals(p, &m)) return NULL;
    along_block *const blocks = (along_block *)malloc((size_t)plan->blocks * sizeof *blocks);
    if (!blocks) return NULL;
    m.nsurface = 0, m.surfaces = NULL, m.surface_names = NULL, m.surface_numbers = NULL;
    m.touch_shapes = NULL, m.touch_pairs = NULL, m.bonds = NULL, m.bond_joints = NULL, m.bond_points = NULL;
    m.matrix_nodes = NULL, m.body_nodes = m.body_columns = m.bond_nodes = NULL;
    m.matrix_groups = NULL, m.body_groups = NULL;
    m.links = NULL, m.dof_adr = NULL, m.q0 = m.v0 = NULL, m.name = m.names = NULL;
    m.frames = PUT(p, m.frames, m.nlink), m.loads = d->loads = PUT(p, m.loads, m.nload);
    m.motors = PUT(p, m.motors, m.nmotor), m.bodies = PUT(p, m.bodies, m.nbody), to.model = d->model = PUT(p, &m, 1);
    for (int b = 0; b < plan->blocks; b++) {
        along_block *const B = &blocks[b];
        *B = plan->block[b];
        B->row = PUT(p, B->row, B->rows), B->first = PUT(p, B->first, plan->levels + 1), B->last = PUT(p, B->last, plan->levels);
    }
    to.block = PUT(p, blocks, plan->blocks);
    free(blocks);
    to.segment = PUT(p, to.segment, plan->segments), to.place = PUT(p, to.place, m.nbody), to.tree = PUT(p, to.tree, plan->trees);
    to.hung = PUT(p, to.hung, m.nbody + 1), to.hanging = PUT(p, to.hanging, plan->segments);
    to.cuts = PUT(p, to.cuts, plan->cut_first[plan->levels]), to.cut_first = PUT(p, to.cut_first, plan->levels + 1);
    to.longest = PUT(p, to.longest, plan->levels);
    ctn_batch_config c;
    memset(&c, 0, sizeof c);
    if (cfg) c = *cfg;
    c.interrupt = NULL, c.parameters = NULL, c.engine = NULL;  // in the CPU's memory
    *settings = PUT(p, &c, 1);
    return PUT(p, &to, 1);
}

static void close_there(along_there *d)
{
    if (!d) return;
    machine_free(d->memory), machine_free(d->plan), machine_free(d->numbers), machine_free(d->worlds), machine_free(d->room);
    free(d);
}

static bool copy_there(along_there *, void *to, const void *from, size_t size, bool in)
{
    return !size || machine_copy(to, from, size, in ? TO_DEVICE : FROM_DEVICE, NULL);
}

static bool run_there(along_there *, along_task task, int count, const void *context, size_t size)
{
    along_context c;
    memcpy((void *)&c, context, size);
    return machine_launch(task, count, &c);
}

/// How large a world is, by way of the first of the numbers.
static bool measure(along_there *d, along_opening *o, size_t *bytes)
{
    o->size = (size_t *)(void *)d->numbers;
    return run_there(d, ALONG_TASK_open_measure, 1, o, sizeof *o) && copy_there(d, bytes, d->numbers, sizeof *bytes, false);
}

/// Worlds for as many groups as the device can have in hand, or has memory for.
static bool open_groups(along_there *d, along_opening o, const along_plan *plan, const along_many *many)
{
    enum { OF_WARP = 32 };
    d->threads = plan->lanes < MOST_THREADS_OF_GROUP ? plan->lanes : MOST_THREADS_OF_GROUP;
    while (d->threads < OF_WARP && d->threads & (d->threads - 1)) d->threads += ALONG_LANES;  // 24: a whole warp
    if (!measure(d, &o, &d->apart)) return false;
    d->apart = (d->apart + 63) / 64 * 64;
    d->groups = machine_groups(d->threads, d->coupled);
    if (d->groups > many->worlds) d->groups = many->worlds;
    while (d->groups && !(d->worlds = machine_allocate((size_t)d->groups * d->apart))) d->groups /= 2;
    if (!d->worlds) return false;
    d->bytes += (size_t)d->groups * d->apart;
    o.memory = d->worlds, o.apart = d->apart;
    const int rows = o.shared ? 0 : d->groups * plan->blocks * PARTS;
    return run_there(d, ALONG_TASK_open_layout, d->groups, &o, sizeof o) &&
           (!rows || run_there(d, ALONG_TASK_open_rows, rows, &o, sizeof o));
}

/// Room for the largest call.
static bool open_room(along_there *d, size_t numbers, const along_many *many)
{
    const size_t n = (size_t)many->worlds;
    parcel p = {NULL, NULL, 0};
    put(&p, NULL, n * numbers * sizeof(double)), put(&p, NULL, n * (size_t)many->rows * d->nv * sizeof(double));
    put(&p, NULL, many->loaded ? n * d->nload * sizeof(point_load) : 0), put(&p, NULL, n * sizeof(ctn_step_stats));
    put(&p, NULL, n * sizeof(int)), put(&p, NULL, n * sizeof(int)), put(&p, NULL, sizeof(int));
    put(&p, NULL, n * sizeof(engine_clock));
    d->bytes += p.used;
    return (d->room = machine_allocate(p.used)) != NULL;
}

/// The plan, the world's memory, and its rows. False: no memory, or a failure.
static bool open_world(along_there *d, const along_plan *plan, const ctn_batch_config *cfg, size_t numbers,
                       const along_many *many)
{
    parcel p = {NULL, NULL, 0};
    ctn_batch_config *settings;
    along_opening o;
    if (!put_plan(&p, d, plan, cfg, &settings)) return false;
    const size_t size = p.used;
    d->plan = machine_allocate(size), d->numbers = (double *)machine_allocate(numbers * sizeof *d->numbers);
    if (!d->plan || !d->numbers || !(p.here = (char *)malloc(size))) return false;
    p.there = (char *)d->plan, p.used = 0;
    memset((void *)&o, 0, sizeof o);
    o.plan = put_plan(&p, d, plan, cfg, &settings), o.cfg = cfg ? settings : NULL;
    bool ok = o.plan && copy_there(d, d->plan, p.here, size, true);
    free(p.here);
    size_t bytes = 0;
    if (!ok || !measure(d, &o, &bytes) || !(d->memory = machine_allocate(bytes))) return false;
    o.memory = d->memory, d->bytes = size + bytes + numbers * sizeof *d->numbers;
    d->world = (along_world *)d->memory;  // the first thing in it
    along_world w = {};
    ok = run_there(d, ALONG_TASK_open_layout, 1, &o, sizeof o) &&
         run_there(d, ALONG_TASK_open_rows, plan->blocks * PARTS, &o, sizeof o) &&
         copy_there(d, (void *)&w, d->world, sizeof w, false);
    d->told = w.told, d->coupled = w.coupled, d->nv = (size_t)plan->model->nv, d->nload = (size_t)plan->model->nload;
    if (!ok || !many) return ok;
    o.shared = many->loaded || plan->model->nsignal ? NULL : w.rows;  // they have a clock each
    return open_groups(d, o, plan, many) && open_room(d, numbers, many);
}

static along_there *open_there(const along_plan *plan, const ctn_batch_config *cfg, size_t numbers, const along_many *many)
{
    along_there *const d = (along_there *)calloc(1, sizeof(along_there));
    if (d && open_world(d, plan, cfg, numbers, many)) return d;
    close_there(d);
    return NULL;
}

/// A call for many worlds.
static bool step_there(along_there *d, const along_worlds *call)
{
    const size_t n = (size_t)call->count, rows = call->tau ? (size_t)call->rows : 0, loads = call->loads ? d->nload : 0;
    along_launch launch;
    launch.memory = (char *)d->worlds, launch.apart = d->apart, launch.groups = d->groups;
    along_worlds *const to = &launch.call;
    *to = *call;
    parcel p = {NULL, (char *)d->room, 0};
    to->flat = PUT(&p, call->flat, n * call->size), to->steps = PUT(&p, call->steps, n), to->clock = PUT(&p, call->clock, n);
    to->tau = PUT(&p, call->tau, n * rows * d->nv), to->loads = PUT(&p, call->loads, n * loads);
    to->made = PUT(&p, call->made, n), to->stats = PUT(&p, call->stats, n), to->next = PUT(&p, call->made, 1);
    if (!rows) to->tau = NULL;
    if (!loads) to->loads = NULL;
    const int none = 0;
    return copy_there(d, to->flat, call->flat, n * call->size * sizeof *call->flat, true) &&
           copy_there(d, (void *)to->steps, call->steps, n * sizeof *call->steps, true) &&
           copy_there(d, (void *)to->clock, call->clock, n * sizeof *call->clock, true) &&
           copy_there(d, (void *)to->tau, call->tau, n * rows * d->nv * sizeof *call->tau, true) &&
           copy_there(d, (void *)to->loads, call->loads, n * loads * sizeof *call->loads, true) &&
           copy_there(d, to->next, &none, sizeof none, true) && machine_step(&launch, d->threads, d->coupled) &&
           copy_there(d, call->flat, to->flat, n * call->size * sizeof *call->flat, false) &&
           copy_there(d, call->made, to->made, n * sizeof *call->made, false) &&
           copy_there(d, call->stats, to->stats, n * sizeof *call->stats, false);
}

extern "C" const along_device along_device_here;  // of the library's ctn_device
extern "C" const along_device along_device_here = {ALONG_LAYOUT, open_there, close_there,  run_there,
                                                   copy_there,   step_there, machine_error};

#endif
