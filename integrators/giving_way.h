/// Contacts that give way: what is hit so hard that it is nearly pierced within a step is made firmer in it.
///
/// A contact is a spring, and a damper, that bear weight at `depth`. Hit at the speed v it is v sqrt(m/k) deep, whatever the step:
/// at 5 m/s more than a plate of 10 mm is thick. Past its middle the nearest face is the other one, which pushes on. So a solution
/// in which a contact has come to be deeper than a quarter of that, and was not so deep before, is no step. It is halved, as one is
/// in which something passes (pair_sweep.h), and for the rest of the step springs are four times as stiff for each time that
/// happened: k h^2 stays, so that what moves goes half as deep in half of the step. They stop what comes and are as before in the
/// next step, in which less is stored; bristles, and the cap of friction, go by their own numbers.
///
/// Springs may be that soft on purpose. So nothing gives way that is no deeper than all the weight presses it.
#ifndef CATENA_GIVING_WAY_H
#define CATENA_GIVING_WAY_H

#include "integrators/pair_sweep.h"
#include "integrators/point_sweep.h"

/// By how much springs are stiffer in a step in which contacts gave way that often; no more than what the smallest part asks for.
FN real firmness(real gave)
{
    real firm = rset(1);
    for (int parts = 1, n = 0; parts < MOST_SWEPT; parts *= 2, n++) firm = sel(lt(rset(n), gave), rset(4) * firm, firm);
    return firm;
}

/// The depth from which on something gives way that is `thin` from its face to its middle, under what is round by `round`, where
/// all the weight presses it by `rest`; m.
FN real firm_depth(double thin, real round, real rest) { return larger_of(fmadd(rset(0.5), round, rset(0.25 * thin)), rest); }

/// Where it has come to be that deep: at the gap `now`, from `before`.
FN mask has_given_way(real before, real now, real limit)
{
    return both(lt(now, negate(limit)), lt(now, fnmadd(rset(0.1), limit, negate(depth_of(before)))));
}

/// The half of what the core of a shape is thick; NOT_REACHED of points and lines, at which nothing else turns around.
FN double half_of_core(const touch_shape *s) { return s->kind <= CORE_SEGMENT ? NOT_REACHED : ball_within(s) - s->radius; }

KERNEL mask pairs_give_way(const lane_model *m, const solve *W, mask where)
{
    const between_work *const B = &W->between;
    mask some = none_of();
    for (int k = 0; k < B->touches;) {
        const int pair = B->touch[k].pair;
        const touch_pair *const p = &m->touch_pairs[pair];
        const touch_shape *const a = &m->touch_shapes[p->a], *const b = &m->touch_shapes[p->b];
        const double of_a = half_of_core(a), of_b = half_of_core(b), least = of_a < of_b ? of_a : of_b;
        const real limit =
            firm_depth(least < NOT_REACHED ? least : 0, rset(a->radius + b->radius), rset(p->depth) / m->pair_grip);
        const real depth = depth_of_listed(B, &k);
        const mask deep = both(where, gt(depth, limit));
        if (!any_of(deep)) continue;
        const pair_pose from = pair_begun(m, W, p);
        some = either(some, both(deep, has_given_way(negate(overlap_at(m, pair, &from)), negate(depth), limit)));
    }
    return some;
}

/// How deep the weight of the tree of body i is on a contact point alone, m.
FN real depth_at_rest(const lane_model *m, int i, const lane_point_load *s)
{
    const vec3 g = load3(m->gravity);
    while (!(m->bodies[i].flags & BODY_ROOT)) i = m->bodies[i].parent;
    return subtree_of(m, &m->bodies[i])->subtree_mass * root(dot(g, g)) / s->grip;
}

KERNEL mask points_give_way(const lane_model *m, const solve *W, const load_watch *watch, mask where)
{
    mask some = none_of();
    for (int k = 0; k < m->nload; k++) {
        if (passes_over(watch, &k) || !(m->loads[k].flags & LOAD_TOUCHES)) continue;
        const lane_point_load *const s = &m->loads[k];
        const double thin = ball_in_surface(m, s->surface);
        if (!(thin > 0)) continue;
        const fixed_surface *const f = surface_of(m, s);
        const vec3 at = load3(s->point), x = mul_add(W->p[s->body], W->start[s->body].R, at),
                   y = mul_add(add(W->p[s->body], W->body[s->body].dp), W->now[s->body].R, at);
        if (!any_of(both(where, may_touch(f, s->radius, y)))) continue;
        const real now = stand_at(f, y, NULL).gap - s->radius;
        if (!any_of(both(where, lt(now, rset(-0.25 * thin))))) continue;
        const real limit = firm_depth(thin, s->radius, depth_at_rest(m, s->body, s)), from = stand_at(f, x, NULL).gap - s->radius;
        some = either(some, both(where, has_given_way(from, now, limit)));
    }
    return some;
}

#endif
