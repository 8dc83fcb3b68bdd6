/// What the statistics of steps tell of contact points (sim/base/step_stats.h), out of the state as a step ends.
#ifndef CATENA_CONTACT_TALLY_H
#define CATENA_CONTACT_TALLY_H

#include "contact/law.h"
#include "contact/near.h"
#include "dynamics/lane_model.h"
#include "integrators/energy.h"
#include "integrators/load_forces.h"
#include "integrators/remembered_forces.h"
#include "integrators/state_energy.h"

/// Where load k, a contact point, is.
FN vec3 point_at(const lane_model *m, const placement *at, const vec3 *p, int k)
{
    const lane_point_load *s = &m->loads[k];
    return mul_add(p[s->body], at[s->body].R, load3(s->point));
}

/// A lower bound of all gaps of the group that begins with load k; beyond `enough`, that will do.
FN real group_bound(const lane_model *m, const placement *at, const vec3 *p, int k, const load_watch *watch, real enough)
{
    const lane_point_load *s = &m->loads[k];
    const vec3 x = mul_add(p[s->body], at[s->body].R, const3(s->ball));
    real least = rset(NOT_REACHED);
    for (int j = k; j < k + s->met; j++) {
        const real gap = least_gap(m, m->loads[j].surface, x, rset(s->ball[3]), watch[j].side, enough);
        least = sel(lt(gap, least), gap, least);
    }
    return least;
}

/// Gives all loads of the group that begins with load k a face to try.
KERNEL void find_faces(const lane_model *m, const placement *at, const vec3 *p, int k, load_watch *watch)
{
    const lane_point_load *s = &m->loads[k];
    if (watch[k].seen) return;
    for (int j = k; j < k + s->met; j++) {
        const lane_point_load *const of = &m->loads[j];
        if (watch[j].side < 0 && of->surface && surface_of(m, of)->kind == SURFACE_HULL)
            watch[j].side = farthest_face(surface_of(m, of), mul_add(p[s->body], at[s->body].R, const3(s->ball)));
    }
    for (int j = 0; j < s->group; j++)
        if (watch[k + j].face < 0) watch[k + j].face = watch[k + j % s->met].side;
    watch[k].seen = true;
}

/// A contact point that may well be the deepest: by its bound, of the group with the least one.
KERNEL int likely_deepest(const lane_model *m, const placement *at, const vec3 *p, load_watch *watch)
{
    const real far = rset(NOT_REACHED);
    int group = -1, best = -1;
    real least = far;
    for (int k = 0; k < m->nload; k++) {
        if (!m->loads[k].group) continue;
        const real gap = group_bound(m, at, p, k, watch, far);
        if (group < 0 || !any_of(le(least, gap))) group = k, least = gap;
        k += m->loads[k].group - 1;
    }
    if (group < 0) return -1;
    find_faces(m, at, p, group, watch);
    for (int k = group; k < group + m->loads[group].group; k++) {
        const lane_point_load *s = &m->loads[k];
        const real gap = least_gap(m, s->surface, point_at(m, at, p, k), s->radius, watch[k].face, far);
        if (best < 0 || !any_of(le(least, gap))) best = k, least = gap;
    }
    return best;
}

/// The depth of the deepest contact point where bodies have the axes of `at` and the origins p [nbody], or `most`, if that is more;
/// below 0: how far above the ground it is. watch: as contacts_energy() has left it there; NULL: all are looked at. Else those are
/// not whose bounds are above the deepest one.
KERNEL real deepest_contact(const lane_model *m, const placement *at, const vec3 *p, real most, load_watch *watch)
{
    const int likely = watch && any_of(le(most, rset(-NOT_REACHED))) ? likely_deepest(m, at, p, watch) : -1;
    if (likely >= 0) most = larger_of(most, negate(gap_of(m, &m->loads[likely], point_at(m, at, p, likely))));
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        if (!watch || !s->group) {
            most = larger_of(most, negate(gap_of(m, s, point_at(m, at, p, k))));
            continue;
        }
        const vec3 x = mul_add(p[s->body], at[s->body].R, const3(s->ball));
        const int end = k + s->group;
        for (int j = k; j < k + s->met; j++) {
            const real least = least_gap(m, m->loads[j].surface, x, rset(s->ball[3]), watch[j].side, negate(most));
            if (!any_of(not_(gt(least, negate(most))))) continue;
            find_faces(m, at, p, k, watch);
            for (int i = j; i < end; i += s->met) {
                const lane_point_load *const of = &m->loads[i];
                const vec3 y = point_at(m, at, p, i);
                if (i == likely || is_higher(m, of, y, &watch[i], negate(most))) continue;
                most = larger_of(most, negate(gap_of(m, of, y)));
            }
        }
        k = end - 1;
    }
    return most;
}

/// How many contact points feel the ground, and how many of these stick, as tell_contact() has it.
KERNEL void tally_contacts(const lane_model *m, const remembered *R, const real *q, const real *v, loads_work *L, real *touching,
                           real *sticking)
{
    const real one = rset(1), zero = rset(0);
    mask some = none_of();
    *touching = *sticking = zero;
    for (int k = 0; k < m->ncontact; k++) some = either(some, gt(R->press[k], zero));
    if (!any_of(some)) return;
    place_loads(m, q, v, L);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const real l = R->press[s->contact];
        const mask felt = gt(l, zero);
        if (!any_of(felt)) continue;
        *touching = *touching + sel(felt, one, zero);
        *sticking = *sticking + sel(both(felt, felt_at(m, L, k, R->slip, l).sticks), one, zero);
    }
}

#endif
