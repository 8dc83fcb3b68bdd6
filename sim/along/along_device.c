/// The CPU's side of a world on a device: what calls jobs, with a device for a crew.
#include <string.h>

#include "dynamics/lane_scalar.h"
#include "sim/along/along_device.h"

typedef struct {
    const along_device *device;
    along_there *there;
    bool failed;
} along_crew;

static void run_there(along_crew *crew, along_task task, int count, const void *context, size_t size)
{
    if (count && !crew->failed) crew->failed = !crew->device->run(crew->there, task, count, context, size);
}
#define ALONG_RUN(crew, count, job, context) run_there(crew, ALONG_TASK_##job, count, context, sizeof *(context))
#define ALONG_EACH ALONG_RUN
static void along_fetch(along_crew *crew, along_world *w);

#include "sim/along/along_kernels.h"
#include "sim/base/status.h"
#include "sim/engine/device.h"

#include <stdlib.h>

struct along_remote {
    along_crew crew;
    along_world world;  // of which the CPU knows the plan, and what it is told
    double told[TOLD];
    const char *engine;
    size_t room;  // numbers
};

/// After a failure all numbers are none, so that every solve ends.
static void along_fetch(along_crew *crew, along_world *w)
{
    if (!crew->failed) crew->failed = !crew->device->copy(crew->there, w->told, crew->there->told, TOLD * sizeof *w->told, false);
    for (int k = 0; k < TOLD && crew->failed; k++) w->told[k] = NAN;
}

static bool send(along_remote *r, size_t at, const double *from, size_t count)
{
    along_crew *const c = &r->crew;
    if (!c->failed) c->failed = !c->device->copy(c->there, c->there->numbers + at, from, count * sizeof *from, true);
    return !c->failed;
}
static bool receive(along_remote *r, double *to, size_t at, size_t count)
{
    along_crew *const c = &r->crew;
    if (!c->failed) c->failed = !c->device->copy(c->there, to, c->there->numbers + at, count * sizeof *to, false);
    return !c->failed;
}

static ctn_status lost(const along_remote *r, ctn_error *err)
{
    return fail(err, CTN_UNAVAILABLE, "engine: '%s' failed: %s; make the batch anew", r->engine, r->crew.device->error());
}

along_remote *along_remote_open(const char *engine, const along_plan *plan, const ctn_batch_config *cfg, const along_many *many,
                                ctn_error *err)
{
    const ctn_model *const m = plan->model;
    const ctn_device *const device = device_find(engine, err);
    if (!device) return NULL;
    if (!device->along || device->along->layout != ALONG_LAYOUT) {
        fail(err, CTN_BAD_CONFIG, "engine: '%s' does not go along links; take 'cuda', or parallel: worlds", engine);
        return NULL;
    }
    if (m->nload && !cfg) {
        fail(err, CTN_BAD_CONFIG, "engine: '%s' takes springs and forces on links in steps alone; take a CPU's engine", engine);
        return NULL;
    }
    along_remote *const r = calloc(1, sizeof *r);
    if (r) {
        lane_model bodies = {.nbody = m->nbody,
                             .nq = m->nq,
                             .nv = m->nv,
                             .rubs = m->rubs,
                             .turns = m->turns,
                             .skew = m->skew,
                             .ncontact = m->ncontact,
                             .nbent = m->nbent};
        r->room = (cfg ? flat_size(&bodies, cfg) + (size_t)m->nv : (size_t)(m->nq + 3 * m->nv)) + 1;
        r->engine = device->name, r->crew.device = device->along;
        r->crew.there = device->along->open(plan, cfg, r->room, many);
    }
    if (!r || !r->crew.there) {
        if (r) fail(err, CTN_NO_MEMORY, "engine: '%s' cannot take the world: %s", engine, device->along->error());
        else fail(err, CTN_NO_MEMORY, "not enough memory for a world along its links");
        free(r);
        return NULL;
    }
    r->world.plan = plan, r->world.model = m, r->world.self = r->crew.there->world, r->world.count = plan->blocks * PARTS,
    r->world.told = r->told;
    r->world.stages = cfg ? stages_of(cfg) : 1, r->world.coupled = is_coupled(plan, cfg);
    return r;
}

void along_remote_close(along_remote *r)
{
    if (!r) return;
    r->crew.device->close(r->crew.there);
    free(r);
}

size_t along_remote_bytes(const along_remote *r) { return sizeof *r + r->crew.there->bytes; }

void along_remote_loads(along_remote *r, const ctn_model *from)
{
    along_crew *const c = &r->crew;
    along_loading loading = {r->world.self, c->there->model, 0};
    if (!c->failed)
        c->failed = !c->device->copy(c->there, c->there->loads, from->loads, (size_t)from->nload * sizeof *from->loads, true);
    ALONG_EACH(c, r->world.count, open_loads, &loading);
}

ctn_status along_remote_aba(along_remote *r, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err)
{
    const ctn_model *const m = r->world.plan->model;
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    double *const there = r->crew.there->numbers, *const to = there + nq + 2 * nv;
    send(r, 0, q, nq), send(r, nq, v, nv);
    if (tau) send(r, nq + nv, tau, nv);
    along_aba(&r->world, &r->crew, there, there + nq, tau ? there + nq + nv : NULL, to);
    return receive(r, qdd, nq + 2 * nv, nv) ? CTN_OK : lost(r, err);
}

ctn_status along_remote_run(along_remote *r, const ctn_batch_config *cfg, engine_clock clock, double *flat, const double *tau,
                            int steps, bool energy, ctn_step_stats *stats, int *made, ctn_error *err)
{
    const size_t nv = (size_t)r->world.plan->model->nv, size = r->room - nv - 1;
    double *const there = r->crew.there->numbers;
    send(r, 0, flat, size);
    if (tau) send(r, size, tau, nv);
    const double *const forces = tau ? there + size : NULL;
    if (r->world.coupled) *made = along_run(&r->world, &r->crew, cfg, true, clock, there, forces, 0, steps, energy, stats);
    else *made = along_run(&r->world, &r->crew, cfg, false, clock, there, forces, 0, steps, energy, stats);
    if (*made) receive(r, flat, 0, size);
    return r->crew.failed ? lost(r, err) : CTN_OK;
}

ctn_status along_remote_worlds(along_remote *r, const along_worlds *call, ctn_error *err)
{
    along_crew *const c = &r->crew;
    if (!c->failed) c->failed = !c->device->step(c->there, call);
    return c->failed ? lost(r, err) : CTN_OK;
}
