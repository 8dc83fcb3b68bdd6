/// Contact points that go through a fixed body within a step, from one side of it to the other, as pairs of links do
/// (pair_sweep.h).
///
/// Inside a body a point is pushed to the face that is the nearest at the end of the step. So the straight way of a point that
/// moves by more than half of what both are thick is looked at: the first guess ends where it first is deep in the body, and a
/// solution on whose way it was deeper than at both ends is no step, it is halved. Signed distances change by no more than the
/// way, so that a look is as far from the next one as the point is from being as deep; and of a convex body they fall and then
/// rise.
#ifndef CATENA_POINT_SWEEP_H
#define CATENA_POINT_SWEEP_H

#include "contact/near.h"
#include "contact/surface.h"
#include "integrators/collocation.h"

/// As how small a part of a step one is taken that goes through; and which share of the ball within what is thin is deep.
enum { MOST_SWEPT = 128, MOST_LOOKS = 64 };
#define SWEEP_DEEP 0.5

FN double least_of_three(const double *x)
{
    const double least = x[0] < x[1] ? x[0] : x[1];
    return x[2] < least ? x[2] : least;
}

/// The radius of a ball that is in a solid body, m; 0: of the ground and terrains, which have no other side.
FN double ball_in_surface(const lane_model *m, int surface)
{
    const fixed_surface *const f = surface ? &m->surfaces[surface - 1] : NULL;
    if (!f || f->kind == SURFACE_TERRAIN) return 0;
    if (f->kind == SURFACE_SPHERE || f->kind == SURFACE_CAPSULE) return f->radius;
    if (f->kind == SURFACE_CYLINDER) return f->radius < f->half[2] ? f->radius : f->half[2];
    return least_of_three(f->half);
}

/// The share of the way from x to y, in the lanes `where`, before which a point of radius r is deeper than `deep` in a solid
/// body, to a quarter of `thin`: 1 where it never is.
KERNEL real share_before_depth(const fixed_surface *f, real r, vec3 x, vec3 y, real deep, real thin, mask where)
{
    const real one = rset(1), o = rset(0);
    const vec3 way = sub(y, x);
    const real size = root(dot(way, way)), inverse = one / sel(gt(size, o), size, one), shortest = rset(0.25) * thin;
    real t = o, before = o, last = rset(NOT_REACHED), share = one;
    for (int i = 0; i < MOST_LOOKS && any_of(where); i++) {
        const real left = stand_at(f, add_scaled(x, way, t), NULL).gap - r + deep;
        const mask found = both(where, le(left, o));
        share = sel(found, before, share);
        where = both(where, both(lt(t, one), both(gt(left, o), lt(left, last))));
        before = t, last = left;
        t = lesser_of(fmadd(larger_of(left, shortest), inverse, t), one);
    }
    return share;
}

/// The share of the way from the start of the step to where bodies are now, in the lanes `where`, before which no contact point
/// is deep in a fixed body, beyond what it was at the start: 1 where none comes to be. solved: beyond what it is at the end, too;
/// a guess may be anywhere. watch: of the step; NULL: there is none.
KERNEL real share_before_piercing(const lane_model *m, const solve *W, const load_watch *watch, mask where, bool solved)
{
    const real half = rset(0.5);
    real share = rset(1);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *const first = &m->loads[k];
        if (!(first->flags & LOAD_TOUCHES)) continue;
        const int i = first->body, end = k + (first->group ? first->group : 1), met = first->group ? first->met : 1;
        const body_place from = {W->start[i].R, W->p[i]}, at = {W->now[i].R, add(W->p[i], W->body[i].dp)};
        const vec3 ball = first->group ? const3(first->ball) : load3(first->point);
        const vec3 was = mul_add(from.p, from.R, ball), is = mul_add(at.p, at.R, ball);
        const real round = first->group ? rset(first->ball[3]) : first->radius;
        const real most = first->group ? group_way(first, &from, &at) : root(dot(sub(is, was), sub(is, was)));
        const bool clear = first->group && watch && keeps_clear(&watch[k], most);
        for (int j = k; j < k + met && !clear; j++) {
            const double thin = ball_in_surface(m, m->loads[j].surface);
            if (!(thin > 0) || !any_of(both(where, gt(most, half * rset(thin))))) continue;
            const fixed_surface *const f = surface_of(m, &m->loads[j]);
            const vec3 middle = const3(f->at);
            const mask meets = both(where, way_meets(sub(was, middle), sub(is, middle), rset(f->bound) + round));
            if (!any_of(meets)) continue;
            for (int l = j; l < end; l += met) {
                const lane_point_load *const s = &m->loads[l];
                const vec3 x = mul_add(from.p, from.R, load3(s->point)), y = mul_add(at.p, at.R, load3(s->point)),
                           way = sub(y, x);
                const mask fast = both(meets, gt(root(dot(way, way)), half * (rset(thin) + s->radius)));
                if (!any_of(fast)) continue;
                real deep = depth_of(stand_at(f, x, NULL).gap - s->radius);
                if (solved) deep = larger_of(deep, depth_of(stand_at(f, y, NULL).gap - s->radius));
                deep = deep + rset(SWEEP_DEEP * thin);
                share = lesser_of(share, share_before_depth(f, s->radius, x, y, deep, rset(thin), fast));
            }
        }
        k = end - 1;
    }
    return share;
}

/// Where some contact point may move by more than half of what a fixed body is thick, if bodies go on as they do, or twice as fast.
/// What is far from all bodies counts, too, as that is known of all lanes together.
KERNEL mask may_pierce(const lane_model *m, const solve *W, const rate_pose *V)
{
    mask may = none_of();
    double thinnest = NOT_REACHED;
    for (int f = 1; f <= m->nsurface; f++) {
        const double thin = ball_in_surface(m, f);
        if (thin > 0 && thin < thinnest) thinnest = thin;
    }
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *const s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const int end = k + (s->group ? s->group : 1), met = s->group ? s->met : 1;
        const mat3 R = V[s->body].R;
        const vec3 v = mul_add(V[s->body].p, R, s->group ? const3(s->ball) : load3(s->point));
        real speed = root(dot(v, v));
        if (s->group) speed = fmadd(rset(s->ball[3]), root(dot(R.x, R.x) + dot(R.y, R.y) + dot(R.z, R.z)), speed);
        const real way = rset(2) * W->in.h * speed;
        for (int j = k; j < k + met && any_of(gt(way, rset(0.5 * thinnest))); j++) {
            const double thin = ball_in_surface(m, m->loads[j].surface);
            if (thin > 0) may = either(may, gt(way, rset(0.5 * thin)));
        }
        k = end - 1;
    }
    return may;
}

#endif
