/// The ledger of energy: what a state has, and what passes through the forces of a step.
///
///     E_after - E_before = work - dissipated + created
///
/// Work of applied forces, along joints and on bodies, what motors put in, and what they and dampers take out are sums over a
/// step's own points of evaluation: weights w_i h of the method times tau.v_i and v_i'D v_i. So they are integrals to the
/// method's order, and `created`, which is what the numerics add (or lose: negative), goes to zero with it. (docs/theory.md 8)
#ifndef CATENA_ENERGY_H
#define CATENA_ENERGY_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/ball_motors.h"
#include "forces/integral_terms.h"
#include "forces/joint_elements.h"
#include "forces/motors.h"

/// Energy of a state, J.
typedef struct {
    real kinetic, potential, spring;  // rotors included; gravity; springs, limits and motors
} energy_parts;

/// What has passed through forces, J.
typedef struct {
    real work, dissipated;
} energy_flow;

FN real energy_sum(energy_parts E) { return E.kinetic + E.potential + E.spring; }

FN energy_parts sel_energy(mask where, energy_parts a, energy_parts b)
{
    a.kinetic = sel(where, a.kinetic, b.kinetic), a.potential = sel(where, a.potential, b.potential);
    a.spring = sel(where, a.spring, b.spring);
    return a;
}

FN energy_flow no_flow(void)
{
    energy_flow F;
    F.work = F.dissipated = rset(0);
    return F;
}

FN void add_flow(energy_flow *sum, energy_flow part, mask where)
{
    sum->work = sum->work + sel(where, part.work, rset(0));
    sum->dissipated = sum->dissipated + sel(where, part.dissipated, rset(0));
}

/// What numerics create on the way from energies `before` to `after`; the differences first, as levels may be far from zero.
FN real energy_created(energy_parts before, energy_parts after, energy_flow F)
{
    const real change = (after.kinetic - before.kinetic) + (after.potential - before.potential) + (after.spring - before.spring);
    return change - F.work + F.dissipated;
}

/// Adds what passes through a joint in the time dt (s) at its rates w and coordinates x: tau (NULL: none), dampers as at q, and
/// its motor; NULL: it has none.
FN void add_driven_flow(energy_flow *F, const lane_model *m, const lane_body *b, const real *q, const real *x, const real *tau,
                        const real *w, real dt, const lane_motor *motor)
{
    real power = rset(0);
    for (int k = 0; k < b->nv && tau; k++) power = fmadd(tau[b->vadr + k], w[k], power);
    F->work = fmadd(dt, power, F->work);
    if (!(b->flags & BODY_PASSIVE)) return;
    const sym3 drag = joint_drag(b, q);
    if (b->nv == 1) power = drag.xx * w[0] * w[0];
    else {
        const vec3 rate = vec(w[0], w[1], w[2]);
        power = dot(rate, smul(drag, rate));
    }
    F->dissipated = fmadd(dt, power, F->dissipated);
    if (!motor) return;
    const motor_power P = b->kind == JOINT_BALL
                              ? ball_motor_flow(motor, quat_load(x), vec(w[0], w[1], w[2]), wound_now3(m, motor))
                              : motor_flow(motor, x[0], w[0], wound_now(m, motor));
    F->work = fmadd(dt, P.work, F->work), F->dissipated = fmadd(dt, P.dissipated, F->dissipated);
}

/// The same with motors as they are told now.
FN void add_joint_flow(energy_flow *F, const lane_model *m, const lane_body *b, const real *q, const real *x, const real *tau,
                       const real *w, real dt)
{
    lane_motor motor;
    const bool driven = b->flags & BODY_MOTOR;
    if (driven) motor = motor_now(m, b);
    add_driven_flow(F, m, b, q, x, tau, w, dt, driven ? &motor : NULL);
}

/// The same for all joints. w [nv]
KERNEL void add_flow_at(energy_flow *F, const lane_model *m, const real *q, const real *tau, const real *w, real dt)
{
    for (int i = 0; i < m->nbody && (m->passive || tau); i++) {
        const lane_body *b = &m->bodies[i];
        if (has_forces(b, tau)) add_joint_flow(F, m, b, q, q + b->qadr, tau, w + b->vadr, dt);
    }
}

#endif
