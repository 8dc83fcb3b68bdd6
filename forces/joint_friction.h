/// Dry friction of joints of one degree of freedom, as elastic-plastic contact with memory. [Cundall, Strack 1979] A joint carries
/// how far z its bristles are bent, at most p, the `presliding`. A step that moves it by u bends them to s = z + u, and the
/// force -F min(1, p/|s|) s/p, with F the `friction`, is that of the convex potential
///
///     W(s) = F s^2/(2 p)        |s| <= p: sticks
///            F (|s| - p/2)      beyond: slides
///
/// After the step z = s, cut to -p .. p. What is cut off has gone into heat, F (|s| - p); what is left is stored, W(z). So
/// friction takes energy whatever the step, a joint that sticks does not creep, and one that slides feels F alone.
/// (docs/theory.md 4.11)
#ifndef CATENA_JOINT_FRICTION_H
#define CATENA_JOINT_FRICTION_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/joint_elements.h"

/// W, its first and second derivative, for a body with BODY_FRICTION that has been bent to s.
FN potential1 friction_potential(const lane_body *b, real s)
{
    const real F = given(b)->friction, p = given(b)->presliding, a = magnitude(s), stiffness = F / p, o = rset(0);
    const mask sticks = le(a, p);
    potential1 W;
    W.E = sel(sticks, rset(0.5) * stiffness * s * s, F * fnmadd(rset(0.5), p, a));
    W.g = sel(sticks, stiffness * s, sel(lt(s, o), negate(F), F));
    W.k = sel(sticks, stiffness, o);
    return W;
}

/// s, cut to what bristles hold.
FN real bent(const lane_body *b, real s)
{
    const real p = given(b)->presliding;
    return sel(gt(s, p), p, sel(lt(s, negate(p)), negate(p), s));
}

/// How far the increments u [nv] (NULL: none) bend what was bent to z [nv].
FN real bent_by(const lane_body *b, const real *z, const real *u)
{
    real s = z[b->vadr];
    if (u) s = s + u[b->vadr];
    return s;
}

/// What joint friction stores after the increments u [nv] (NULL: none), J. z [nv]
FN real friction_energy(const lane_model *m, const real *z, const real *u)
{
    real E = rset(0);
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_FRICTION) E = E + friction_potential(b, bent(b, bent_by(b, z, u))).E;
    }
    return E;
}

/// What a body with BODY_FRICTION turns into heat by being bent to s, J.
FN real slip_loss(const lane_body *b, real s) { return given(b)->friction * magnitude(s - bent(b, s)); }

/// What the increments u [nv] turn into heat, J.
FN real friction_loss(const lane_model *m, const real *z, const real *u)
{
    real loss = rset(0);
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_FRICTION) loss = loss + slip_loss(b, bent_by(b, z, u));
    }
    return loss;
}

/// The increments u [nv] have been made in the lanes `where`.
FN void keep_friction(const lane_model *m, const real *u, mask where, real *z)
{
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_FRICTION) z[b->vadr] = sel(where, bent(b, bent_by(b, z, u)), z[b->vadr]);
    }
}

/// The gradient by s of -y W'(s), s what a body with BODY_FRICTION is bent to: added to m->by_bent. Returns it: 0 where it
/// slides.
FN real friction_pullback(const lane_model *m, const lane_body *b, real s, real y)
{
    const real by = negate(friction_potential(b, s).k * y);
    if (m->by_bent) m->by_bent[b->vadr] = m->by_bent[b->vadr] + by;
    return by;
}

/// The same of g z', z' what is left of s after a step.
FN real bent_pullback(const lane_model *m, const lane_body *b, real s, real g)
{
    const real by = sel(le(magnitude(s), given(b)->presliding), g, rset(0));
    m->by_bent[b->vadr] = m->by_bent[b->vadr] + by;
    return by;
}

/// Adds -dW after the increments u [nv] (NULL: none) to tau [nv].
FN void add_friction_forces(const lane_model *m, const real *z, const real *u, real *tau)
{
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_FRICTION)) continue;
        tau[b->vadr] = tau[b->vadr] - friction_potential(b, bent_by(b, z, u)).g;
    }
}

#endif
