/// Contact points on what is fixed in the inner problem of a step (between_step.h).
///
/// H has them as they are at the iterate, with the stiffness K of the normal force and k_1, k_2 of friction. Where the inner step
/// takes one off the ground, or lets it slide, that is another law: with l and g as of contact/law.h, delta the change of gap and
/// eps that of how far bristles are bent, it adds to the gradient, along the rows of both,
///
///     -l(gap + delta) + l(gap) - K delta        and        g(s + eps) - g(s) - sum of k_i t_i t_i' eps
///
/// and to the matrix the differences of stiffness. Points are looked at that touch, have friction to feel, or are no farther off
/// than they have moved in the step, and their shape is large: a step that runs into a wall that nobody has looked at is cut to
/// where it just does not, again and again. That bound is of a lane alone, so that it does not know what others look at.
#ifndef CATENA_FIXED_TOUCHES_H
#define CATENA_FIXED_TOUCHES_H

#include "contact/law.h"
#include "contact/near.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "integrators/between_work.h"
#include "integrators/collocation.h"
#include "integrators/joint_matrix.h"
#include "integrators/slip_newton.h"

/// Inner steps begin at the iterate, in the lanes `where`.
FN void start_fixed(between_work *B, mask where)
{
    for (int k = 0; k < B->fixeds; k++) {
        fixed_touch *const t = &B->fixed[k];
        t->gap = sel(where, t->at.gap, t->gap), t->bent = sel3(where, t->begun, t->bent);
        t->pull = sel3(where, first_pull(&t->rub, t->cap), t->pull);
    }
}

/// Those of the iterate, with what they do there. Returns the lanes in which there are any.
KERNEL mask find_fixed(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    const real o = rset(0), t = m->relaxation * W->in.drag, share = t / (rset(1) + t);
    mask some = none_of();
    B->fixeds = 0;
    const lane_point_load *group = m->loads;
    for (int k = 0; k < m->nload && !m->published; k++) {
        const lane_point_load *s = &m->loads[k];
        if (s->group) group = s;
        if (passes_over(W->watch, &k) || !(s->flags & LOAD_TOUCHES)) continue;
        const touch c = contact_at(m, W, k);
        const vec3 u = add(W->body[s->body].dp, sub(c.arm, W->held[k].arm));
        const real lag = W->lag[s->contact];
        const mask looks = either(gt(lag, o), lt(c.gap, ahead_of(group, root(dot(u, u)))));
        if (!any_of(looks)) continue;
        fixed_touch *const f = &B->fixed[B->fixeds++];
        f->load = k, f->at = c, f->looks = looks, f->cap = sel(looks, s->friction * lag, o), f->grip = fmadd(s->grip, t, s->grip);
        f->normal = press_on(m, s, &c, c.gap, W->in.drag);
        f->normal.force = sel(looks, f->normal.force, o), f->normal.stiffness = sel(looks, f->normal.stiffness, o);
        f->begun = sub_scaled(c.s, c.rest, share), f->rub = rub_on(c.face, f->begun, f->grip, f->cap);
        some = either(some, looks);
    }
    start_fixed(B, not_(none_of()));
    return some;
}

/// How friction bends with the motion V of the body: along the way of the surface.
FN vec3 bend_of_motion(const lane_model *m, const fixed_touch *t, const twist *V)
{
    const vec3 rolls = tmul(t->at.Qt, cross(t->at.face, V->w));
    return along_ground(t->at.face, add_scaled(moved_point(*V, t->at.arm), rolls, m->loads[t->load].radius));
}

/// How gaps and bends go with the motions B->V of bodies.
KERNEL void rates_of_fixed(const lane_model *m, between_work *B)
{
    for (int k = 0; k < B->fixeds; k++) {
        fixed_touch *const t = &B->fixed[k];
        const twist *const V = &B->V[m->loads[t->load].body];
        t->gap_rate = dot(t->at.n, moved_point(*V, t->at.arm)), t->bent_rate = bend_of_motion(m, t, V);
    }
}

/// The whole inner step is known.
FN void pull_fixed(between_work *B)
{
    for (int k = 0; k < B->fixeds; k++) {
        fixed_touch *const t = &B->fixed[k];
        t->pull = next_pull(t->pull, t->bent, t->bent_rate, t->grip, t->cap);
    }
}

FN void move_fixed(between_work *B, real x)
{
    for (int k = 0; k < B->fixeds; k++) {
        fixed_touch *const t = &B->fixed[k];
        t->gap = fmadd(x, t->gap_rate, t->gap), t->bent = add_scaled(t->bent, t->bent_rate, x);
    }
}

FN normal_law press_of_fixed(const lane_model *m, const solve *W, const fixed_touch *t, real gap)
{
    normal_law N = press_on(m, &m->loads[t->load], &t->at, gap, W->in.drag);
    N.force = sel(t->looks, N.force, rset(0)), N.stiffness = sel(t->looks, N.stiffness, rset(0));
    return N;
}
FN friction_law rub_of_fixed(const fixed_touch *t, vec3 bent) { return rub_on(t->at.face, bent, t->grip, t->cap); }

/// What H makes of a change of bend.
FN vec3 linear_rub(const fixed_touch *t, vec3 change)
{
    return add_scaled(scale(t->rub.t1, t->rub.k1 * dot(t->rub.t1, change)), t->rub.t2, t->rub.k2 * dot(t->rub.t2, change));
}

FN wrench rub_wrench(const lane_model *m, const fixed_touch *t, vec3 g)
{
    wrench w;
    w.n = tangent_turn(&m->loads[t->load], &t->at, g), w.f = g;
    return w;
}

/// The laws at the inner step, and what they add to wrenches B->w.
KERNEL void add_fixed_gradient(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    for (int k = 0; k < B->fixeds; k++) {
        fixed_touch *const t = &B->fixed[k];
        wrench *const w = &B->w[m->loads[t->load].body];
        const normal_law N = press_of_fixed(m, W, t, t->gap);
        t->press = N.force, t->stiffness = N.stiffness, t->slides = slip_with(rub_of_fixed(t, t->bent), t->pull, t->grip);
        const real push = fnmadd(t->normal.stiffness, t->gap - t->at.gap, t->normal.force - t->press);
        const vec3 rub = sub(sub(t->slides.g, t->rub.g), linear_rub(t, sub(t->bent, t->begun)));
        *w = wrench_add(*w, wrench_add(force_at(t->at.arm, scale(t->at.n, push)), rub_wrench(m, t, rub)));
    }
}

/// The differences of stiffness, as blocks of bodies. What sticks, and stuck, is the same whatever its tangents are.
KERNEL void load_fixed(const lane_model *m, solve *W)
{
    const between_work *const B = &W->between;
    const real o = rset(0);
    for (int k = 0; k < B->fixeds; k++) {
        const fixed_touch *const t = &B->fixed[k];
        const friction_law *const F = &t->slides, *const G = &t->rub;
        const mask turned = both(gt(t->cap, o), either(lt(F->k1, t->grip), lt(G->k1, t->grip)));
        const wrench row[5] = {force_at(t->at.arm, t->at.n), rub_wrench(m, t, F->t1), rub_wrench(m, t, F->t2),
                               rub_wrench(m, t, G->t1), rub_wrench(m, t, G->t2)};
        const real more[5] = {t->stiffness - t->normal.stiffness, F->k1, F->k2, negate(G->k1), negate(G->k2)};
        for (int i = 0; i < (any_of(turned) ? 5 : 1); i++) {
            const real s = i ? sel(turned, more[i], o) : more[i];
            if (any_of(either(lt(s, o), gt(s, o))))
                join_block(&W->between.M, m->loads[t->load].body,
                           inertia_eliminate(inertia_zero(), row[i].n, row[i].f, negate(s)));
        }
    }
}

/// What they add to the slope f at x of the inner step.
KERNEL real add_fixed_slope(const lane_model *m, const solve *W, real x, real f)
{
    const between_work *const B = &W->between;
    for (int k = 0; k < B->fixeds; k++) {
        const fixed_touch *const t = &B->fixed[k];
        const vec3 way = scale(t->bent_rate, x);
        const real press = press_of_fixed(m, W, t, fmadd(x, t->gap_rate, t->gap)).force;
        const vec3 rub = sub(sub(rub_of_fixed(t, add(t->bent, way)).g, t->slides.g), linear_rub(t, way));
        f = fnmadd(fmadd(t->normal.stiffness * x, t->gap_rate, press - t->press), t->gap_rate, f);
        f = f + dot(rub, t->bent_rate);
    }
    return f;
}

#endif
