/// Pairs that go through each other within a step.
///
/// A step knows where bodies are at its start and at its end. What is thin and fast can be in front of a wall at one and behind it, or
/// past its middle, at the other, and a nearest face would push it on. So the way of a pair from pose to pose is looked at in parts
/// that are shorter than both are thick: the first guess ends where shapes first overlap, before Newton's method begins; and a
/// solution on whose way they were deeper in each other than at its ends is no step, it is halved. (docs/theory.md 4.14)
#ifndef CATENA_PAIR_SWEEP_H
#define CATENA_PAIR_SWEEP_H

#include "integrators/pair_terms.h"
#include "integrators/point_sweep.h"

enum { SWEEP_PARTS = 128 };  // into which a way is cut, at most

/// The radius of a ball that is in a shape, m.
FN double ball_within(const touch_shape *s)
{
    if (s->kind <= CORE_SEGMENT) return s->radius;
    if (s->kind == CORE_CYLINDER) return s->radius + (s->half[0] < s->half[2] ? s->half[0] : s->half[2]);
    return s->radius + least_of_three(s->half);
}

FN vec3 share_of_way(vec3 a, vec3 b, real t) { return add_scaled(a, sub(b, a), t); }

/// Axes between those of A and B, a turn of less than a half.
FN mat3 axes_on_way(mat3 A, mat3 B, real t)
{
    const vec3 x = share_of_way(A.x, B.x, t), y = share_of_way(A.y, B.y, t);
    mat3 C;
    C.x = scale(x, rset(1) / root(dot(x, x)));
    const vec3 off = sub_scaled(y, C.x, dot(C.x, y));
    C.y = scale(off, rset(1) / root(dot(off, off)));
    C.z = cross(C.x, C.y);
    return C;
}

FN pair_pose pose_on_way(const pair_pose *from, const pair_pose *to, real t)
{
    pair_pose P;
    P.A = axes_on_way(from->A, to->A, t), P.B = axes_on_way(from->B, to->B, t);
    P.a = share_of_way(from->a, to->a, t), P.b = share_of_way(from->b, to->b, t), P.ab = share_of_way(from->ab, to->ab, t);
    return P;
}

/// Cores that planes along faces and across edges part, but for points, of which elements know enough.
FN bool parted_by_planes(const touch_shape *s) { return s->kind == CORE_SEGMENT || s->kind == CORE_BOX || s->kind == CORE_HULL; }

/// How deep pair k is in each other at the pose P, at least 0. Elements do not see what is pierced through and through: planes do.
KERNEL real overlap_at(const lane_model *m, int k, const pair_pose *P)
{
    const touch_pair *const p = &m->touch_pairs[k];
    const touch_shape *const a = &m->touch_shapes[p->a], *const b = &m->touch_shapes[p->b];
    const real o = rset(0), round = rset(a->radius + b->radius);
    real depth = o;
    if (!any_of(balls_overlap(m, p, sub(add(P->ab, P->a), P->b)))) return depth;
    if (parted_by_planes(a) && parted_by_planes(b) && b->kind != CORE_SEGMENT) {
        const core_plane s = plane_between(a, b, P);
        return any_of(lt(s.apart, round)) ? larger(depth, round - apart_at(a, b, P, &s, NULL)) : depth;
    }
    near_touches now;
    find_near(m, NULL, k, P, o, &now);
    for (int i = 0; i < now.count; i++) {
        const real gap = gap_of_pair(m, p, now.element[i], P, NULL).gap;
        depth = larger(depth, sel(gt(now.weight[i], o), negate(gap), o));
    }
    return depth;
}

/// How deep the pair whose elements begin at *k in the list has been felt; *k: goes on to the next one.
FN real depth_of_listed(const between_work *B, int *k)
{
    const int pair = B->touch[*k].pair;
    real most = rset(0);
    for (; *k < B->touches && B->touch[*k].pair == pair; ++*k)
        most = larger(most, B->touch[*k].weight * depth_of(B->touch[*k].at.gap));
    return most;
}

/// How deep the solve of W has felt pair k at its solution: what hardly counts has pushed nothing back.
FN real depth_felt(const solve *W, int k)
{
    const between_work *const B = &W->between;
    int j = 0;
    while (j < B->touches && B->touch[j].pair < k) j++;
    return j < B->touches && B->touch[j].pair == k ? depth_of_listed(B, &j) : rset(0);
}

/// The share of the way from the start of the step to where bodies are now, in the lanes `where`, before which no pair is deep in each
/// other, beyond what it was at the start: 1 where none comes to be. solved: beyond what the solve has felt, too; a guess may
/// be anywhere.
KERNEL real share_before_passing(const lane_model *m, solve *W, mask where, bool solved)
{
    const real one = rset(1), half = rset(0.5), shortest = rset(1. / SWEEP_PARTS);
    real share = one;
    find_begun_middles(m, W), find_middles(m, W);
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        const mask meets = both(where, balls_meet(m, p, begun_apart(W, p), now_apart(W, p), rset(0)));
        if (!any_of(meets)) continue;
        const double a = ball_within(&m->touch_shapes[p->a]), b = ball_within(&m->touch_shapes[p->b]);
        const real thick = rset(a + b);
        const pair_pose from = pair_begun(m, W, p), to = pair_now(m, W, p);
        const real way = way_of_pair(m, p, &from, &to);
        mask fast = both(meets, gt(way, half * thick));
        if (!any_of(fast)) continue;
        real most = overlap_at(m, k, &from);
        if (solved) most = larger(most, depth_felt(W, k));
        const real deep = most + rset(SWEEP_DEEP * (a < b ? a : b)), part = larger(half * thick / way, shortest);
        real before = rset(0), after = one;
        mask passes = none_of();
        for (int i = 1; i <= SWEEP_PARTS; i++) {
            const real t = larger(negate(one), negate(rset(i) * part));  // at most 1, with the sign turned
            const pair_pose P = pose_on_way(&from, &to, negate(t));
            const mask found = both(fast, lt(deep, overlap_at(m, k, &P)));
            after = sel(found, negate(t), after), passes = either(passes, found);
            fast = both(fast, both(not_(found), lt(negate(t), one)));
            before = sel(fast, negate(t), before);
            if (!any_of(fast)) break;
        }
        for (int i = 0; i < 5 && !solved && any_of(passes); i++) {
            const real t = half * (before + after);
            const pair_pose P = pose_on_way(&from, &to, t);
            const mask found = lt(deep, overlap_at(m, k, &P));
            after = sel(found, t, after), before = sel(found, before, t);
        }
        share = sel(both(passes, lt(before, share)), before, share);
    }
    return share;
}

#endif
