/// What the statistics of steps tell of contact points (sim/base/step_stats.h), out of the state as a step ends.
#ifndef CATENA_CONTACT_TALLY_H
#define CATENA_CONTACT_TALLY_H

#include "contact/law.h"
#include "dynamics/lane_model.h"
#include "integrators/energy.h"
#include "integrators/load_forces.h"
#include "integrators/remembered_forces.h"

/// The depth of the deepest contact point where bodies have the axes of `at` and the origins p [nbody]; below 0: how far above
/// the ground it is.
KERNEL real deepest_contact(const lane_model *m, const placement *at, const vec3 *p)
{
    real most = rset(-NOT_REACHED);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const vec3 x = mul_add(p[s->body], at[s->body].R, load3(s->point));
        most = larger_of(most, negate(gap_of(m, s, x)));
    }
    return most;
}

/// How many contact points feel the ground, and how many of these stick, as tell_contact() has it.
KERNEL void tally_contacts(const lane_model *m, const remembered *R, const real *q, const real *v, loads_work *L, real *touching,
                           real *sticking)
{
    const real one = rset(1), zero = rset(0);
    *touching = *sticking = zero;
    place_loads(m, q, v, L);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const real l = R->press[s->contact];
        const mask felt = gt(l, zero);
        *touching = *touching + sel(felt, one, zero);
        *sticking = *sticking + sel(both(felt, felt_at(m, L, k, R->slip, l).sticks), one, zero);
    }
}

#endif
