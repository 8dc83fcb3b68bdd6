/// The unit in which a joint's residual rows are measured: the force that gravity, or inertia over the step, can ask of it, by
/// mass and extent of all that hangs on it. (docs/theory.md 4.4)
///
/// The extent is that of the tree as it stands: at rest (model.h), and what sliding joints have carried off since. A load that
/// has run for kilometres on its slider acts on the joints before it at the end of that arm, and so do the last digits of its
/// motion.
#ifndef CATENA_FORCE_UNIT_H
#define CATENA_FORCE_UNIT_H

#include "dynamics/joints.h"
#include "dynamics/lane_model.h"
#include "dynamics/precision.h"

/// The larger of two numbers that are not negative; NaN if one is.
FN real larger(real a, real b) { return sel(lt(a, b), b, fmadd(rset(0), b, a)); }

/// reach [nbody], m: how much further than at rest what hangs on each body extends at q, the strokes of the joints between added
/// up.
KERNEL void find_reach(const lane_model *m, const real *q, real *reach)
{
    for (int i = 0; i < m->nbody; i++) reach[i] = rset(0);
    for (int i = m->nbody - 1; i >= 0 && m->slides; i--) {
        const lane_body *b = &m->bodies[i];
        if ((b->flags & BODY_ROOT) || b->parent < 0) continue;  // the first row along the links has none before it
        real all = reach[i];
        if (b->kind == JOINT_PRISMATIC) all = all + magnitude(q[b->qadr]);
        if (b->kind == JOINT_HELICAL) all = all + magnitude(len(given(b)->pitch) * q[b->qadr]);
        reach[b->parent] = larger(reach[b->parent], all);
    }
}

/// A body's weight m g L^r and inertia m L^(1+r) (r = 1 for turns, else 0) at the extent L that it has now, from those at rest.
typedef struct {
    real weight, inertia;
} row_scale;

FN row_scale row_scale_at(const lane_model *m, const lane_body *b, real reach)
{
    const bool turns = b->kind == JOINT_REVOLUTE || b->kind == JOINT_HELICAL || b->kind == JOINT_BALL;
    const lane_subtree *const t = subtree_of(m, b);
    const real L = extent_of(m, b);
    const real moment = t->subtree_mass * reach;
    row_scale s;
    s.weight = t->force_scale[0], s.inertia = t->force_scale[1] + moment;
    if (!turns) return s;
    s.weight = fmadd(s.weight, reach / L, s.weight);
    s.inertia = fmadd(moment, rset(2) * L + reach, t->force_scale[1]);
    return s;
}

/// x over a scale; NaN for one that is not finite, in which nothing can be measured.
FN real over_scale(real x, real scale) { return fmadd(rset(0), scale, x) / scale; }

/// What the last digits of where world springs hold the subtree make of a body's rows, over SOLVE_FLOOR: no solve can ask for
/// less.
FN real held_scale(const lane_model *m, const lane_body *b, real reach, real k2)
{
    const bool turns = b->kind == JOINT_REVOLUTE || b->kind == JOINT_HELICAL || b->kind == JOINT_BALL;
    const lane_subtree *const t = subtree_of(m, b);
    const real L = extent_of(m, b) + reach, k = fmadd(root(k2), t->held[1], t->held[0]);
    return rset(HELD_DIGITS) * k * L * (turns ? L : rset(1));
}

/// The square of the largest change of place that the motion T foresees for a body: its turn in rad, or the way of its origin
/// against its own extent.
FN real place_change(const lane_model *m, const lane_body *b, const twist *T)
{
    const real per = subtree_of(m, b)->inv_size;
    return larger(dot(T->w, T->w), per * per * dot(T->v, T->v));
}

/// 1 over the force that the inertia of the link at a body's joint alone asks for in a step.
FN real link_unit(const lane_model *m, const lane_body *b, real reach, real k2)
{
    return over_scale(rset(1), row_scale_at(m, b, reach).inertia * k2 * subtree_of(m, b)->link_share);
}

/// 1 over the scale of force of a body's rows in a step; k2: 1/h^2.
FN real force_unit(const lane_model *m, const lane_body *b, real reach, real k2)
{
    const row_scale s = row_scale_at(m, b, reach);
    const real inertia = s.inertia * k2;
    real most = sel(gt(inertia, s.weight), inertia, s.weight);
    if (b->flags & BODY_HELD) most = larger(most, held_scale(m, b, reach, k2));
    return over_scale(rset(1), most);
}

#endif
