/// Full-scan forward dynamics on a device: a thread a piece, or a node, of a level of heavy paths. For forms_there.h.
#ifndef CATENA_SIM_FORMS_FORMS_STAR_H
#define CATENA_SIM_FORMS_FORMS_STAR_H

#define STAR KERNEL
#define STAR_PART KERNEL
#include "sim/forms/star.c"
#include "sim/forms/forms_machine.h"
#include "sim/forms/star_passes.h"

/// What jobs of several states have in common: the arrays of state 0.
struct star_call {
    star_passes of;
    int parts;   // of a state: slots, nodes, and one
    int *fault;  // [states] 1: it could not be done
    int first;   // piece, or node, of job 0
};
FN star_passes passes_of(const star_call &c, int state)
{
    star_passes s = c.of;
    path_call *const p = &s.path;
    const size_t at = (size_t)state * (size_t)p->tree->n, part = (size_t)state * (size_t)c.parts;
    p->local += at, p->pose += at, p->V += at, p->v += at, p->tau += at, p->qdd += at, p->f += at;
    p->handed += (size_t)state * (size_t)p->tree->npath;
    s.stars += part, s.behind += part, s.before += part;
    return s;
}

#define STAR_JOB(name, done)                                                                                                     \
    struct name {                                                                                                                \
        star_call c;                                                                                                             \
        FN void run(const name &job, int state, int k)                                                                           \
        {                                                                                                                        \
            const star_passes c = passes_of(job.c, state);                                                                       \
            const int number = job.c.first + k;                                                                                  \
            if (!(done)) job.c.fault[state] = 1; /* whichever thread it is */                                                    \
        }                                                                                                                        \
    };
STAR_JOB(piece_stars, star_of_piece(&c, &c.path.cut->piece[number]))
STAR_JOB(node_stars, star_of_node(&c, number))
STAR_JOB(behind_nodes, star_behind_node(&c, number))
STAR_JOB(links_in, star_links_in(&c, &c.path.cut->piece[number]) < 0)
STAR_JOB(before_nodes, star_before_node(&c, number))

struct links_out {
    star_call c;
    FN void run(const links_out &job, int state, int k)
    {
        const star_passes c = passes_of(job.c, state);
        star_links_out(&c, &c.path.cut->piece[job.c.first + k]);
    }
};
struct turnings {
    star_call c;
    vec6 *joint;
    FN void run(const turnings &job, int state, int k)
    {
        const star_passes c = passes_of(job.c, state);
        job.joint[(size_t)state * (size_t)c.path.tree->n + (size_t)k] = path_turning(&c.path, k);
    }
};

template <class Job> static bool pieces_of_level(const pieces *cut, int level, star_call *c, int states)
{
    const int end = cut->job[cut->level_job[level + 1]];
    c->first = cut->job[cut->level_job[level]];
    const Job job = {*c};
    return machine_each(job, end - c->first, states);
}
template <class Job> static bool nodes_of_batch(const pieces *cut, int batch, star_call *c, int states)
{
    c->first = cut->batch[batch];
    const Job job = {*c};
    return machine_each(job, cut->batch[batch + 1] - c->first, states);
}

/// All levels inwards, then outwards, as star_aba.c has them.
static bool star_levels(const forms_there *d, star_call *c, int states)
{
    const pieces *const cut = d->cut;
    const int *const batch = cut->level_batch;
    bool ok = true;
    for (int level = d->levels - 1; level >= 0 && ok; level--) {
        if (batch[level + 1] > batch[level]) ok = pieces_of_level<piece_stars>(cut, level, c, states);
        for (int b = batch[level]; b < batch[level + 1] && ok; b++) ok = nodes_of_batch<node_stars>(cut, b, c, states);
        for (int b = batch[level + 1] - 1; b >= batch[level] && ok; b--) ok = nodes_of_batch<behind_nodes>(cut, b, c, states);
        ok = ok && pieces_of_level<links_in>(cut, level, c, states);
    }
    for (int level = 0; level < d->levels && ok; level++) {
        for (int b = batch[level + 1] - 1; b >= batch[level] && ok; b--) ok = nodes_of_batch<before_nodes>(cut, b, c, states);
        ok = ok && pieces_of_level<links_out>(cut, level, c, states);
    }
    return ok;
}

static ctn_status star_there(forms_there *d, int count, const double *q, const double *v, const double *tau, double *qdd,
                             int *fault, ctn_error *err)
{
    const size_t n = (size_t)d->tree.n;
    const int group = states_at_once(d, count);
    const size_t parts = (size_t)d->cut->slots + (size_t)d->cut->nodes + 1, all_parts = parts * (size_t)group;
    states_call links;
    star_call c;
    memset((void *)&c, 0, sizeof c);
    double *numbers;
    path_call *const p = &c.of.path;
    if (count <= 0) return CTN_OK;
    if (!states_room(d, CTN_ORIGIN_ROOT, group, &links, &numbers, err) || !room(d, ROOM_COLUMNS, n * (size_t)group, &p->f, err) ||
        !room(d, ROOM_SUMS, (size_t)d->tree.npath * (size_t)group, &p->handed, err) ||
        !room(d, ROOM_STARS, all_parts, &c.of.stars, err) || !room(d, ROOM_BEHIND, all_parts, &c.of.behind, err) ||
        !room(d, ROOM_BEFORE, all_parts, &c.of.before, err) || !room(d, ROOM_FAULT, group, &c.fault, err))
        return CTN_NO_MEMORY;
    c.parts = (int)parts;
    p->tree = d->there, p->cut = d->cut_there, p->local = links.call.local, p->pose = links.call.pose, p->V = links.call.V;
    p->v = links.call.v, p->tau = links.call.a, p->qdd = links.call.tau;
    for (int first = 0; first < count; first += group) {
        const int states = count - first < group ? count - first : group;
        const size_t at = (size_t)first * n, all = (size_t)states * n;
        const turnings job = {c, links.call.joint};
        if (!send_there((void *)links.q, q + at, all) || !send_there((void *)p->v, v + at, all) ||
            !send_there((void *)p->tau, tau + at, all) || !machine_zero(c.fault, (size_t)states * sizeof *c.fault) ||
            !place_links(d, states, &links) || !machine_each(job, d->tree.n, states) ||
            !rootfix_there<vector_sum>(d, states, links.call.joint, links.call.V) || !star_levels(d, &c, states) ||
            !receive_there(qdd + at, p->qdd, all) ||
            !machine_copy(fault + first, c.fault, (size_t)states * sizeof *fault, FROM_DEVICE, NULL))
            return lost_there(err);
    }
    return CTN_OK;
}

#endif
