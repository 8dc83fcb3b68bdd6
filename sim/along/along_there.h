/// A device's side of a world along its links, for the file that defines the machine as sim/engine/device_table.h says, but for
///
///     machine_launch(task, count, context)   jobs 0 .. count - 1, in the order of calls
///
/// Compiled as CUDA C++ (along_cuda.cu) and as C++17 (tests/along_twin.cpp). A thread has one lane: the lane block of the scalar
/// engine.
#ifndef CATENA_ALONG_THERE_H
#define CATENA_ALONG_THERE_H

#define ALONG_JOBS  // what calls them is on the CPU (along_device.c)
#define BOUNDARY KERNEL
#define INNER KERNEL
#include "sim/along/boundary.c"
#include "sim/along/stage_boundary.c"
#include "sim/along/along_kernels.h"
#include "sim/along/along_device.h"

#include <stdlib.h>

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
} along_context;

static bool machine_launch(along_task task, int count, const along_context *context);

/// Pieces of memory that are put together here and lie there afterwards; `here` NULL: only counts.
typedef struct {
    char *here, *there;
    size_t used;
} parcel;

static void *put(parcel *p, const void *from, size_t size)
{
    void *const there = (void *)((uintptr_t)p->there + p->used);
    if (p->here && size) memcpy(p->here + p->used, from, size);
    p->used += (size + 63) / 64 * 64;
    return there;
}
/// `count` things from an array.
#define PUT(p, array, count) ((decltype((array) + 0))put(p, array, (size_t)(count) * sizeof *(array)))

/// The plan, its model and the configuration (NULL: none), with pointers into the device's memory: the addresses of the first and
/// the last, and in *d of the model and its loads.
static along_plan *put_plan(parcel *p, along_there *d, const along_plan *plan, const ctn_batch_config *cfg,
                            ctn_batch_config **settings)
{
    ctn_model m = *plan->model;
    along_plan to = *plan;
    along_block *const blocks = (along_block *)malloc((size_t)plan->blocks * sizeof *blocks);
    if (!blocks) return NULL;
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
    machine_free(d->memory), machine_free(d->plan), machine_free(d->numbers);
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

/// The plan, the world's memory, and its rows. False: no memory, or a failure.
static bool open_world(along_there *d, const along_plan *plan, const ctn_batch_config *cfg, size_t numbers)
{
    parcel p = {NULL, NULL, 0};
    ctn_batch_config *settings;
    along_opening o;
    if (!put_plan(&p, d, plan, cfg, &settings)) return false;
    const size_t size = p.used;
    d->plan = machine_allocate(size), d->numbers = (double *)machine_allocate(numbers * sizeof *d->numbers);
    if (!d->plan || !d->numbers || !(p.here = (char *)malloc(size))) return false;
    p.there = (char *)d->plan, p.used = 0;
    o.plan = put_plan(&p, d, plan, cfg, &settings), o.cfg = cfg ? settings : NULL;
    bool ok = o.plan && copy_there(d, d->plan, p.here, size, true);
    free(p.here);
    // how large it is, into the first of the numbers
    o.memory = NULL, o.size = (size_t *)(void *)d->numbers;
    size_t bytes = 0;
    ok = ok && run_there(d, ALONG_TASK_open_measure, 1, &o, sizeof o) && copy_there(d, &bytes, d->numbers, sizeof bytes, false);
    if (!ok || !(d->memory = machine_allocate(bytes))) return false;
    o.memory = d->memory, d->bytes = size + bytes + numbers * sizeof *d->numbers;
    d->world = (along_world *)d->memory;  // the first thing in it
    along_world w = {};
    ok = run_there(d, ALONG_TASK_open_layout, 1, &o, sizeof o) &&
         run_there(d, ALONG_TASK_open_rows, plan->blocks * PARTS, &o, sizeof o) &&
         copy_there(d, (void *)&w, d->world, sizeof w, false);
    d->told = w.told;
    return ok;
}

static along_there *open_there(const along_plan *plan, const ctn_batch_config *cfg, size_t numbers)
{
    along_there *const d = (along_there *)calloc(1, sizeof(along_there));
    if (d && open_world(d, plan, cfg, numbers)) return d;
    close_there(d);
    return NULL;
}

extern "C" const along_device along_device_here;  // of the library's ctn_device
extern "C" const along_device along_device_here = {ALONG_LAYOUT, open_there, close_there, run_there, copy_there, machine_error};

#endif
