/// Which contact points are near what they may touch: those that are not are passed over, shape by shape and point by point, before
/// any face of a surface is looked at.
///
/// The points of a shape are a group, in a ball. The gap of all that is in a ball of radius r about x is no less than
///
///     of the ground                n.x - height - r
///     of a solid body              |x - at| - bound - r, for the ball that has all of the body
///     of a convex polyhedron       n.x - d - r, for the plane of any face
///     of a terrain                 (z - highest)/slope - r
///
/// What is clear of a surface by more than rounding has no force, stores nothing and remembers nothing: to leave it out changes no
/// bit, whatever has been looked at, and in whichever lanes. Through a step a load is idle while it is clear in all lanes, at the
/// start of the step and where the step looks now. A group that was clear of everything stays so, unlooked at, until it has moved as
/// far as it was clear: most cost no more than a way from step to step.
#ifndef CATENA_NEAR_H
#define CATENA_NEAR_H

#include "contact/hull.h"
#include "contact/law.h"
#include "contact/rolling.h"
#include "contact/surface.h"
#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "forces/body_loads.h"

FN real lesser_of(real a, real b) { return sel(lt(a, b), a, b); }

/// What is known of a load of a model with surfaces in the step in hand. Faces, as their numbers begin, stay from step to step: which
/// one is tried first changes no bit.
typedef struct {
    int idle;     // so many loads from this one on are idle; 0: this one is not
    int face;     // of a hull: whose plane is tried first; -1: none is known. Of a point,
    int side;     // and of a group, in its first loads, one for each surface
    bool begins;  // it was near as the step began
    bool wakes;   // it was when it was looked at last
    bool some, seen,
        felt;    // of a group's first: one of its loads began near; they have been looked at; a solve has friction of one
    real clear;  // less than its gap was as the step began
    real whole;  // of a group's first: of all its gaps, where its body was by watched_places(); 0 or less: that is not known
} load_watch;

/// Where a body is.
typedef struct {
    mat3 R;
    vec3 p;
} body_place;

/// Where bodies [nbody] were when watch_start() was there last: behind the loads of a watch.
FN body_place *watched_places(const lane_model *m, load_watch *watch) { return (body_place *)(void *)(watch + m->nload); }

FN size_t watch_size(const lane_model *m)
{
    return (size_t)m->nload * sizeof(load_watch) + (size_t)m->nbody * sizeof(body_place);
}

/// Nothing is known: before watch_start() gets such room for the first time.
FN void forget_watch(const lane_model *m, load_watch *watch)
{
    for (int k = 0; k < m->nload && watch; k++) watch[k].face = watch[k].side = -1, watch[k].whole = rset(0);
}

/// Whether load *k of a walk over all is idle; then *k is the last of those from there on that are. watch: NULL: none is.
FN bool passes_over(const load_watch *watch, int *k)
{
    const int idle = watch ? watch[*k].idle : 0;
    if (idle) *k += idle - 1;
    return idle;
}

/// What gaps of a ball of radius r about x are uncertain by.
FN real gap_rounding(const fixed_surface *f, vec3 x, real r)
{
    const real far = magnitude(rset(f->at[0])) + magnitude(rset(f->at[1])) + magnitude(rset(f->at[2])) + rset(f->bound);
    return rset(GAP_ROUNDING) * (magnitude(x.x) + magnitude(x.y) + magnitude(x.z) + (r + magnitude(far)));
}

/// Where the straight way from x to y comes within `near` of the origin.
FN mask way_meets(vec3 x, vec3 y, real near)
{
    const vec3 way = sub(y, x);
    const real d = dot(x, x), all = dot(way, way), share = sel(gt(all, rset(0)), negate(dot(x, way)) / all, rset(0));
    const real t = sel(lt(share, rset(0)), rset(0), sel(lt(rset(1), share), rset(1), share));
    const vec3 nearest = add_scaled(x, way, t);
    return either(le(d, near * near), le(dot(nearest, nearest), near * near));
}

/// The least that gaps may be of what is in the ball of radius r about x. Where the first bound is above `enough` in all lanes, that
/// will do. face: of a hull, as of load_watch.
FN real least_gap(const lane_model *m, int surface, vec3 x, real r, int face, real enough)
{
    if (!surface) {
        const real size = magnitude(x.x) + magnitude(x.y) + magnitude(x.z) + (r + magnitude(m->ground[3]));
        return dot(ground_normal(m), x) - m->ground[3] - fmadd(rset(GAP_ROUNDING), size, r);
    }
    const fixed_surface *const f = &m->surfaces[surface - 1];
    const vec3 d = sub(x, const3(f->at));
    const real back = r + gap_rounding(f, x, r);
    if (f->kind == SURFACE_TERRAIN) return (dot(const33(f->R).z, d) - rset(f->bound)) / rset(f->half[2]) - back;
    const real least = root(dot(d, d)) - rset(f->bound) - back;
    if (f->kind != SURFACE_HULL || face < 0 || !any_of(not_(gt(least, enough)))) return least;
    const double *const plane = f->numbers + face;
    return larger_of(least, dot(const3(plane), tmul(const33(f->R), d)) - rset(plane[3]) - back);
}

/// A face whose plane x is far beyond: the farthest one of those in the group of faces that promises the most, in all lanes alike.
KERNEL int farthest_face(const fixed_surface *f, vec3 x)
{
    const vec3 y = tmul(const33(f->R), sub(x, const3(f->at)));
    const double *group = f->numbers + (f->count - HULL_GROUP * f->groups - f->faces), *best = group;
    real most = rset(-1e30);
    int face = -1;
    for (int g = 0; g < f->groups && f->groups > 1; g++, group += HULL_GROUP + (int)group[7]) {
        const real least = planes_range(group, y, rset(0)).least;
        if (!any_of(le(least, most))) best = group, most = least;
    }
    for (int k = 0; k < (int)best[7]; k++) {
        const double *const n = f->numbers + (int)best[HULL_GROUP + k];
        const real d = dot(const3(n), y) - rset(n[3]);
        if (face < 0 || !any_of(le(d, most))) face = (int)best[HULL_GROUP + k], most = d;
    }
    return face;
}

/// Where the ball of radius r about x is clear of a hull by the plane of some face; *face: the last one that has shown it.
KERNEL mask beyond_faces(const fixed_surface *f, vec3 x, real r, int *face)
{
    const vec3 y = tmul(const33(f->R), sub(x, const3(f->at)));
    const double *group = f->numbers + (f->count - HULL_GROUP * f->groups - f->faces);
    const real back = r + gap_rounding(f, x, magnitude(r));
    mask clear = none_of();
    for (int g = 0; g < f->groups; g++, group += HULL_GROUP + (int)group[7]) {
        if (f->groups > 1 && !any_of(gt(planes_range(group, y, back).most, back))) continue;
        for (int k = 0; k < (int)group[7]; k++) {
            const double *const n = f->numbers + (int)group[HULL_GROUP + k];
            const mask now = gt(dot(const3(n), y) - rset(n[3]), back);
            if (!any_of(both(now, not_(clear)))) continue;
            clear = either(clear, now), *face = (int)group[HULL_GROUP + k];
            if (!any_of(not_(clear))) return clear;
        }
    }
    return clear;
}

/// Whether the gap of the contact point of load s, whose middle is at x, is more than `least` in all lanes by what costs little.
FN bool is_higher(const lane_model *m, const lane_point_load *s, vec3 x, load_watch *w, real least)
{
    const mask low = not_(gt(least_gap(m, s->surface, x, s->radius, w->face, least), least));
    if (!any_of(low)) return true;
    const fixed_surface *const f = s->surface ? surface_of(m, s) : NULL;
    if (!f || f->kind == SURFACE_TERRAIN || f->kind == SURFACE_SPHERE) return false;
    if (f->kind == SURFACE_HULL) return !any_of(both(low, not_(beyond_faces(f, x, s->radius + least, &w->face))));
    return !any_of(both(low, not_(gt(stand_at(f, x, NULL).gap, (s->radius + least) + gap_rounding(f, x, s->radius)))));
}

/// A plane that parts space, seen from a body: its points s with n.s - radius > least are clear of a surface.
typedef struct {
    vec3 n;
    real least;
} parting_plane;

/// Of the ground, or of a face of a hull; r: the radius of the ball about x that has all that is asked for.
FN parting_plane plane_from(const lane_model *m, int surface, int face, const body_place *of, vec3 x, real r)
{
    parting_plane P;
    vec3 n = ground_normal(m), from = of->p;
    real at = m->ground[3], slack = rset(GAP_ROUNDING) * (magnitude(x.x) + magnitude(x.y) + magnitude(x.z) + (r + magnitude(at)));
    if (surface) {
        const fixed_surface *const f = &m->surfaces[surface - 1];
        const double *const plane = f->numbers + face;
        n = mul(const33(f->R), const3(plane)), at = rset(plane[3]), from = sub(of->p, const3(f->at)),
        slack = gap_rounding(f, x, r);
    }
    P.n = tmul(of->R, n), P.least = at - dot(n, from) + slack;
    return P;
}

/// A lower bound of all gaps of a group to the surface of its load j, where its ball has the middle x. Of other bodies the gap
/// of that counts, too: it changes by no more than the way from there. begins: the step does; a better face is looked for.
FN real group_gap(const lane_model *m, const lane_point_load *group, int j, vec3 x, bool begins, load_watch *watch)
{
    const int surface = m->loads[j].surface;
    const real r = rset(group->ball[3]), o = rset(0), gap = least_gap(m, surface, x, r, watch[j].side, o);
    if (!surface || !any_of(not_(gt(gap, o)))) return gap;
    const fixed_surface *const f = &m->surfaces[surface - 1];
    if (f->kind == SURFACE_TERRAIN || f->kind == SURFACE_SPHERE || (f->kind == SURFACE_HULL && !begins && watch[j].side >= 0))
        return gap;
    if (f->kind != SURFACE_HULL) return larger_of(gap, stand_at(f, x, NULL).gap - (r + gap_rounding(f, x, r)));
    watch[j].side = farthest_face(f, x);
    return least_gap(m, surface, x, r, watch[j].side, o);
}

/// Whether something of the group that begins with load k may come within `reach` of a surface in some lane, its body being there.
FN bool group_near(const lane_model *m, int k, const body_place *at, bool begins, real reach, load_watch *watch)
{
    const lane_point_load *const s = &m->loads[k];
    const vec3 x = mul_add(at->p, at->R, const3(s->ball));
    real least = rset(NOT_REACHED);
    for (int j = k; j < k + s->met; j++) {
        least = lesser_of(group_gap(m, s, j, x, begins, watch), least);
        if (any_of(not_(gt(least, reach)))) return true;
    }
    if (begins) watch[k].whole = least;
    return false;
}

/// How far at most what is in a group's ball has moved since its body was at `from`.
FN real group_way(const lane_point_load *group, const body_place *from, const body_place *at)
{
    const vec3 x = sub(at->R.x, from->R.x), y = sub(at->R.y, from->R.y), z = sub(at->R.z, from->R.z);
    const vec3 way = add_scaled(add_scaled(add_scaled(sub(at->p, from->p), x, rset(group->ball[0])), y, rset(group->ball[1])), z,
                                rset(group->ball[2]));
    return fmadd(rset(group->ball[3]), root(dot(x, x) + dot(y, y) + dot(z, z)), root(dot(way, way)));
}

/// What that is uncertain by.
FN real way_rounding(const lane_point_load *group, const body_place *at)
{
    const vec3 x = mul_add(at->p, at->R, const3(group->ball));
    return rset(GAP_ROUNDING) * (magnitude(x.x) + magnitude(x.y) + magnitude(x.z) + rset(group->ball[3]));
}

/// How far, about, an iteration may move a group on that has moved by `way` in a step: as far again, and its own size; m.
FN real ahead_of(const lane_point_load *group, real way) { return way + rset(group->ball[3]); }

/// Whether a group that was clear of everything as the step began cannot have come near by that way.
FN bool keeps_clear(const load_watch *first, real way)
{
    return !first->some && !first->felt && !any_of(not_(lt(way, first->whole)));
}

/// The group that begins with load k may be near: its loads are idle until they are looked at. Where they have not been since the
/// step began, nothing is known of them but a face, or that of the group.
FN void enter_group(const lane_model *m, int k, load_watch *watch)
{
    const int met = m->loads[k].met;
    for (int j = 0; j < m->loads[k].group; j++) {
        load_watch *const w = &watch[k + j];
        w->idle = 1;
        if (watch[k].seen) continue;
        w->begins = false, w->clear = rset(0);
        if (w->face < 0) w->face = watch[k + j % met].side;
    }
    watch[k].seen = true;
}

/// Looks at a load that may come within `reach` of the surface of plane P (NULL: there is none), its body being there. Returns less
/// than its gap, or where it may be that near, `reach` or less.
FN real look_at_load(const lane_model *m, const lane_point_load *s, const body_place *at, const parting_plane *P, real reach,
                     load_watch *w)
{
    real over = rset(0);
    if (P) over = dot(P->n, load3(s->point)) - s->radius - P->least;
    if (!any_of(not_(gt(over, reach)))) return over;
    const vec3 x = mul_add(at->p, at->R, load3(s->point));
    w->wakes = !is_higher(m, s, x, w, reach);
    const real gap = larger_of(over, least_gap(m, s->surface, x, s->radius, w->face, rset(NOT_REACHED)));
    if (w->wakes || !s->surface || !any_of(not_(gt(gap, reach)))) return gap;
    const fixed_surface *const f = surface_of(m, s);
    return f->kind == SURFACE_HULL ? gap : larger_of(gap, stand_at(f, x, NULL).gap - s->radius - gap_rounding(f, x, s->radius));
}

/// Looks at all loads of the group that begins with load k where its body is. begins: that is at the start of the step; else they
/// have moved by `way` since. Those that may come within `reach` wake. lag [ncontact]: the normal forces of friction that is felt;
/// NULL: there is none.
KERNEL void look_at_group(const lane_model *m, int k, const body_place *at, bool begins, real way, real reach, const real *lag,
                          load_watch *watch)
{
    const lane_point_load *const group = &m->loads[k];
    const int end = k + group->group;
    const vec3 x = mul_add(at->p, at->R, const3(group->ball));
    real least = rset(NOT_REACHED);
    for (int i = k; i < end && lag; i++) watch[i].wakes = watch[i].wakes || any_of(gt(lag[m->loads[i].contact], rset(0)));
    for (int j = k; j < k + group->met; j++) {
        bool asleep = false;
        for (int i = j; i < end && !asleep; i += group->met) asleep = !watch[i].wakes;
        if (!asleep) continue;
        const int surface = m->loads[j].surface, side = watch[j].side;
        const bool plane = !surface || (m->surfaces[surface - 1].kind == SURFACE_HULL && side >= 0);
        const real all = group_gap(m, group, j, x, false, watch);
        const bool clear = !any_of(not_(gt(all, reach)));
        parting_plane P;
        if (clear && !begins) continue;
        if (plane && !clear) P = plane_from(m, surface, side, at, x, rset(group->ball[3]));
        for (int i = j; i < end; i += group->met) {
            load_watch *const w = &watch[i];
            if (w->wakes || (!begins && !any_of(not_(lt(way + reach, w->clear))))) continue;
            real gap = all;
            if (!clear) gap = look_at_load(m, &m->loads[i], at, plane ? &P : NULL, reach, w);
            if (begins) w->clear = gap, least = lesser_of(gap, least);
        }
    }
    if (begins) watch[k].whole = least;
}

/// Whether the bristles of load s are bent in some lane: what steps leave so is in its surface, other states may have it so anywhere.
FN bool is_bent(const lane_model *m, const lane_point_load *s, const vec3 *slip)
{
    const vec3 z = slip[s->contact];
    if (any_of(gt(dot(z, z), rset(0)))) return true;
    if (!s->rolls) return false;
    const vec3 turned = slip[turn_slot(m, s)];
    return any_of(gt(dot(turned, turned), rset(0)));
}

/// Whether something of the group that begins with load s is bent: its contact points have numbers one after the other.
FN bool is_group_bent(const lane_model *m, const lane_point_load *s, const vec3 *slip)
{
    for (int at = s->contact; at < m->nbent; at += m->ncontact)
        for (int k = at; k < at + s->group; k++)
            if (any_of(gt(dot(slip[k], slip[k]), rset(0)))) return true;
    return false;
}

/// Watches all loads from the start of a step on, where bodies have the axes of T and the origins p [nbody]. slip: what contact points
/// remember. lag [ncontact]: the normal forces whose friction is felt in lanes that are within a step; NULL: there is no such lane.
/// What is in no group is looked at.
KERNEL void watch_start(const lane_model *m, const placement *T, const vec3 *p, const vec3 *slip, const real *lag,
                        load_watch *watch)
{
    body_place *const from = watched_places(m, watch);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        load_watch *const first = &watch[k];
        const int end = k + s->group;
        first->idle = 0;
        if (!s->group) continue;
        const body_place at = {T[s->body].R, p[s->body]};
        const real *const felt = first->felt ? lag : NULL;
        const bool bent = is_group_bent(m, s, slip);
        first->some = first->seen = first->felt = false;
        const real way = group_way(s, &from[s->body], &at);
        if (!felt && !bent && !any_of(not_(lt(way, first->whole)))) {
            first->whole = first->whole - way - way_rounding(s, &at);
            first->idle = s->group, k = end - 1;
            continue;
        }
        if (group_near(m, k, &at, true, rset(0), watch) || felt || bent) {
            enter_group(m, k, watch);
            for (int j = k; j < end; j++) watch[j].wakes = bent && is_bent(m, &m->loads[j], slip);
            look_at_group(m, k, &at, true, rset(0), rset(0), felt, watch);
            for (int j = k; j < end; j++) {
                watch[j].begins = watch[j].wakes, watch[j].idle = !watch[j].wakes, first->some = first->some || watch[j].wakes;
                first->felt = first->felt || (felt && any_of(gt(felt[m->loads[j].contact], rset(0))));
            }
        }
        if (!first->some) first->idle = s->group;
        else first->whole = rset(0);
        k = end - 1;
    }
    for (int i = 0; i < m->nbody; i++) from[i].R = T[i].R, from[i].p = p[i];
}

/// Whether some load of the group that begins with load k is to be looked at, its body having been at `from` as the step began, and
/// being at the places now; which ones wake. ahead: those, too, that what touches could move as far as ahead_of() says. lag: as of
/// look_at_group().
KERNEL bool group_wakes(const lane_model *m, int k, const body_place *from, const body_place *at, int places, bool ahead,
                        const real *lag, load_watch *watch)
{
    const lane_point_load *const group = &m->loads[k];
    load_watch *const first = &watch[k];
    bool near = false, some = false;
    for (int a = 0; a < places; a++) {
        const real way = group_way(group, from, &at[a]), reach = ahead ? ahead_of(group, way) : rset(0);
        if (keeps_clear(first, way + reach) ||
            !(near || first->some || first->felt || group_near(m, k, &at[a], false, reach, watch)))
            continue;
        if (!near) {
            if (first->idle == group->group) enter_group(m, k, watch);
            for (int j = k; j < k + group->group; j++) watch[j].wakes = watch[j].begins;
            near = true;
        }
        look_at_group(m, k, &at[a], false, way, reach, first->felt ? lag : NULL, watch);
    }
    for (int j = k; j < k + group->group && near; j++) some = some || watch[j].wakes;
    if (!some) first->idle = group->group;
    return some;
}

#endif
