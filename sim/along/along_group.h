/// Many worlds on a device, each stepped along its links by a group of threads: a part of a warp, a warp, or a block. What on a
/// CPU calls jobs (along_run() and what it calls) all threads of a group do alike, each with numbers of its own that are the same
/// in all of them. Of a list of jobs each thread has its share, and at its end they wait for each other; so they do when they
/// have read what they were told. One launch makes all steps of a call.
#ifndef CATENA_ALONG_GROUP_H
#define CATENA_ALONG_GROUP_H

/// One launch. Everything that it points to is in the device's memory.
typedef struct {
    along_worlds call;
    char *memory;  // of the worlds in hand, `apart` bytes each
    size_t apart;
    int groups;
} along_launch;

KERNEL void along_fetch(along_crew *crew, along_world *w)
{
    for (int k = 0; k < TOLD; k++) w->told[k] = w->self->told[k];
    along_wait(crew);
}

/// Gives the world that a group has in hand its loads.
KERNEL void load_group(const along_world *w, along_crew *crew, const point_load *loads)
{
    ctn_model m = *w->plan->model;
    along_loading loading = {w->self, &m, 0};
    m.loads = (point_load *)loads;
    ALONG_RUN(crew, w->count, open_loads, &loading);
}

/// Steps worlds until none is left. coupled: those of the worlds are; a constant in each call.
FN void run_group(const along_launch *c, int group, bool coupled, along_crew *crew)
{
    const along_worlds *const call = &c->call;
    along_world *const self = (along_world *)(void *)(c->memory + (size_t)group * c->apart);
    const ctn_model *const m = self->plan->model;
    const size_t nv = (size_t)m->nv;
    double told[TOLD];
    along_world w = *self;
    w.told = told;
    along_wait(crew);
    for (;;) {
        if (!crew->thread) self->taken = along_next(call->next);
        along_wait(crew);
        const size_t k = (size_t)self->taken;
        if (k >= (size_t)call->count) return;
        if (call->loads) load_group(&w, crew, call->loads + k * (size_t)m->nload);
        const double *const tau = call->tau ? call->tau + k * (size_t)call->rows * nv : NULL;
        ctn_step_stats stats;
        const int made = along_run(&w, crew, self->cfg, coupled, call->clock[k], call->flat + k * call->size, tau,
                                   call->rows > 1 ? nv : 0, call->steps[k], call->energy, &stats);
        if (!crew->thread) call->made[k] = made, call->stats[k] = stats;
    }
}

#endif
