/// A device's side of iterative LQR: its memory, what crosses, its launches. Compiled as CUDA C++ (ilqr_cuda.cu) and as C++17
/// (tests/ilqr_twin.cpp), for a file that defines the machine as sim/engine/device_table.h says, a crew (ilqr_crew.h), and
///
///     machine_back(job)      crew_back() of all blocks of time by a block of threads each, in room of its own
///     machine_begin(job)     crew_begin() by a block of threads
#ifndef CATENA_CONTROL_ILQR_THERE_H
#define CATENA_CONTROL_ILQR_THERE_H

#include "control/ilqr_crew.h"
#include "control/ilqr_device.h"
#include "control/ilqr_rooms.h"
#include "sim/base/status.h"

#include <stdlib.h>

/// A launch; all that it points to is in the device's memory.
struct ilqr_job {
    ilqr *of;
    int blocks;
    int entries, points;    // of the largest matrix of a knot, and of where roll-outs begin: what threads may have to do
    size_t room;            // numbers of a block of time
    real *rooms;            // [blocks][room]
    lanes_of_them *shared;  // [blocks]
};

static bool machine_back(const ilqr_job *job);
static bool machine_begin(const ilqr_job *job);

struct ilqr_there {
    ilqr image;  // of the trajectory, whose pointers are the device's
    plant *plant_there;
    int knots, nx, n, m, carried;
    ilqr_job job;
    double *kept, *work, *ends;
    int *lost, *lost_here;  // [alphas][forward], there and here
};

static ctn_status lost_there(ctn_error *err)
{
    return fail(err, CTN_UNAVAILABLE, "engine: 'cuda' failed: %s; make the plan anew", machine_error());
}

template <class T> static bool take_memory(size_t count, T **to) { return (*to = (T *)machine_allocate(count * sizeof(T))); }

template <class T> static bool send_there(T *to, const T *from, size_t count)
{
    return machine_copy((void *)to, from, count * sizeof(T), TO_DEVICE, NULL);
}
template <class T> static bool receive_there(T *to, const T *from, size_t count)
{
    return machine_copy((void *)to, from, count * sizeof(T), FROM_DEVICE, NULL);
}

static void close_there(ilqr_there *d)
{
    if (!d) return;
    machine_free(d->job.of), machine_free(d->plant_there), machine_free(d->job.rooms), machine_free(d->job.shared);
    machine_free(d->kept), machine_free(d->work), machine_free(d->image.blocks), machine_free(d->ends), machine_free(d->lost);
    free(d->lost_here);
    free(d);
}

static ilqr_there *open_there(const ilqr *s, ctn_error *err)
{
    ilqr_there *const d = (ilqr_there *)calloc(1, sizeof(ilqr_there));
    if (!d) {
        fail(err, CTN_NO_MEMORY, "no memory for a trajectory on a device");
        return NULL;
    }
    const size_t blocks = (size_t)s->cfg.backward, points = (size_t)s->cfg.alphas * (size_t)s->cfg.forward;
    lanes_knot r;
    d->image = *s, d->image.cfg.second = false, d->image.sweeps = NULL, d->image.blocks = NULL, d->image.there = NULL;
    d->knots = s->plant->knots, d->nx = s->plant->nx, d->n = s->plant->n, d->m = s->plant->m, d->carried = s->plant->carried;
    d->job.room = deal_knot(&r, s->plant, NULL);
    d->job.entries = s->plant->n * (s->plant->n + s->plant->m), d->job.points = (int)points * s->plant->n;
    d->lost_here = (int *)malloc(points * sizeof *d->lost_here);
    if (d->lost_here && take_memory(ilqr_deal_kept(&d->image, NULL), &d->kept) &&
        take_memory(ilqr_deal_work(&d->image, 0, NULL), &d->work) && take_memory(1, &d->job.of) &&
        take_memory(1, &d->plant_there) && take_memory(blocks, &d->image.blocks) && take_memory(points, &d->lost) &&
        take_memory(points * (size_t)d->nx, &d->ends) && take_memory(blocks * d->job.room, &d->job.rooms) &&
        take_memory(blocks, &d->job.shared) && send_there(d->plant_there, s->plant, 1) &&
        machine_zero(d->work, ilqr_deal_work(&d->image, 0, NULL) * sizeof(double))) {  // as it is here at first
        ilqr_deal_kept(&d->image, d->kept), ilqr_deal_work(&d->image, 0, d->work);
        d->image.plant = d->plant_there;
        if (!s->lower) d->image.lower = d->image.upper = NULL;
        return d;
    }
    close_there(d);
    fail(err, CTN_NO_MEMORY, "engine: 'cuda' cannot take a trajectory of %d knots: %s", s->plant->knots, machine_error());
    return NULL;
}

/// From `first` to where `end` begins: arrays that lie side by side, here and there.
static bool send_arrays(double *to, const double *first, const double *end)
{
    return send_there(to, first, (size_t)(end - first));
}
static bool receive_arrays(double *first, const double *end, const double *from)
{
    return receive_there(first, from, (size_t)(end - first));
}

static ctn_status back_there(ilqr_there *d, ilqr *s, int blocks, ctn_error *err)
{
    ilqr *const to = &d->image;
    const size_t N = (size_t)s->plant->knots, n = (size_t)s->plant->n;
    to->state = s->state, to->cfg.forward = s->cfg.forward, d->job.blocks = blocks;
    if (!send_there(d->job.of, to, 1) || (s->lower && !send_arrays(to->lower, s->lower, s->X)) ||
        !send_arrays(to->X, s->X, s->u) || !send_arrays(to->A, s->A, s->P) || !machine_back(&d->job) ||
        !receive_there(s->blocks, to->blocks, (size_t)blocks) || !receive_arrays(s->K, s->u, to->K) ||
        !receive_there(s->P, to->P, N * n * n) || !receive_there(s->s, to->s, N * n))
        return lost_there(err);
    return CTN_OK;
}

static ctn_status begin_there(ilqr_there *d, device_follow *plan, ctn_error *err)
{
    const ilqr *const s = &d->image;
    if (!machine_begin(&d->job)) return lost_there(err);
    plan->knots = d->knots, plan->nx = d->nx, plan->n = d->n, plan->m = d->m, plan->carried = d->carried;
    plan->blocks = s->cfg.forward, plan->alphas = s->cfg.alphas;
    plan->X = s->X, plan->U = s->U, plan->K = s->K, plan->kappa = s->kappa, plan->lower = s->lower, plan->upper = s->upper;
    plan->own_X = s->tried_X, plan->own_U = s->tried_U, plan->defect = s->tried_d, plan->ends = d->ends, plan->lost = d->lost;
    return CTN_OK;
}

static ctn_status take_there(ilqr_there *d, ilqr *s, ctn_error *err)
{
    const ilqr *const from = &d->image;
    const int alphas = s->cfg.alphas, blocks = s->cfg.forward;
    if (!receive_arrays(s->tried_X, s->each, from->tried_X) ||
        !receive_there(d->lost_here, d->lost, (size_t)alphas * (size_t)blocks))
        return lost_there(err);
    for (int a = 0; a < alphas; a++) {
        bool lost = false;
        for (int b = 0; b < blocks; b++) lost = lost || d->lost_here[a * blocks + b];
        s->tried[a] = !lost, s->state.failed += lost;
    }
    return CTN_OK;
}

extern "C" const ilqr_device ilqr_device_here;  // of the library's ctn_device
extern "C" const ilqr_device ilqr_device_here = {ILQR_LAYOUT, open_there, close_there, back_there, begin_there, take_there};

#endif
