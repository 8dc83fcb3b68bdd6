/// What the statistics of steps tell of what acts between links (sim/base/step_stats.h), out of the state as a step ends: which pairs
/// press, and the islands, groups of trees that pairs which press, and loops, couplings, tendons and springs join. The world, and
/// what is fixed to it, joins nothing.
#ifndef CATENA_BETWEEN_TALLY_H
#define CATENA_BETWEEN_TALLY_H

#include "dynamics/lane_model.h"
#include "forces/body_loads.h"
#include "integrators/between_work.h"

typedef struct {
    real meeting, places, islands, island;
} between_tally;

/// Of sets of trees, by the root bodies: up [nbody], a number a lane, which root another one is joined to. [Tarjan]
FN int set_of(real *up, int body, int l)
{
    int i = body;
    while ((int)((const lane_number *)&up[i])[l] != i) {
        const int next = (int)((const lane_number *)&up[i])[l];
        ((lane_number *)&up[i])[l] = ((const lane_number *)&up[next])[l];
        i = next;
    }
    return i;
}

FN void join_trees(const lane_model *m, real *up, int a, int b, int l)
{
    if (a < 0 || b < 0) return;
    while (!(m->bodies[a].flags & BODY_ROOT)) a = m->bodies[a].parent;
    while (!(m->bodies[b].flags & BODY_ROOT)) b = m->bodies[b].parent;
    const int i = set_of(up, a, l), j = set_of(up, b, l);
    if (i != j) ((lane_number *)&up[i > j ? i : j])[l] = i < j ? i : j;
}

/// What bond o joins, in lane l.
FN void join_bond(const lane_model *m, const model_bond *o, real *up, int l)
{
    int last = -1;
    join_trees(m, up, o->a, o->b, l), join_trees(m, up, o->follower, o->leader, l);
    for (int k = o->joint; k < o->joint + o->joints; k++) {
        join_trees(m, up, last, m->bond_joints[k].body, l);
        last = m->bond_joints[k].body;
    }
    for (int k = o->point; k < o->point + o->points; k++) {
        join_trees(m, up, last, m->bond_points[k].body, l);
        if (m->bond_points[k].body >= 0) last = m->bond_points[k].body;
    }
}

/// press [nslot]: normal forces that the state remembers; up, size [nbody]: scratch.
KERNEL between_tally tally_between(const lane_model *m, const real *press, real *up, real *size)
{
    between_tally t;
    t.meeting = t.places = t.islands = t.island = rset(0);
    for (int i = 0; i < m->nbody; i++) up[i] = rset(i), size[i] = rset(0);
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        real places = rset(0);
        for (int j = p->slot; j < p->slot + p->slots; j++) places = places + sel(gt(press[j], rset(0)), rset(1), rset(0));
        const mask presses = gt(places, rset(0));
        if (!any_of(presses)) continue;
        t.places = t.places + places, t.meeting = t.meeting + sel(presses, rset(1), rset(0));
        for (int l = 0; l < LANES; l++)
            if (((const lane_number *)&places)[l] > 0)
                join_trees(m, up, m->touch_shapes[p->a].body, m->touch_shapes[p->b].body, l);
    }
    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < m->nbond; k++) join_bond(m, &m->bonds[k], up, l);
        int root = -1;  // bodies of a tree follow each other
        for (int i = 0; i < m->nbody; i++) {
            if (m->bodies[i].flags & BODY_ROOT) root = set_of(up, i, l), ((lane_number *)&t.islands)[l] += root == i;
            ((lane_number *)&size[root])[l] += (lane_number)m->bodies[i].nv;
        }
        for (int i = 0; i < m->nbody; i++)
            if (((const lane_number *)&size[i])[l] > ((const lane_number *)&t.island)[l])
                ((lane_number *)&t.island)[l] = ((const lane_number *)&size[i])[l];
    }
    return t;
}

#endif
