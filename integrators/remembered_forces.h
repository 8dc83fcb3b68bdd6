/// The forces that go by what a state remembers of the step made last, beside its q and v: those of bristles, of joints with dry
/// friction and of contact points, as they were at its end.
///
/// A joint that is bent to z feels -dW(z) (forces/joint_friction.h). A contact point whose normal force was l and that is bent to
/// z feels l n and friction, up to its friction times l, at its surface, r below its middle (contact/law.h).
#ifndef CATENA_REMEMBERED_FORCES_H
#define CATENA_REMEMBERED_FORCES_H

#include "contact/law.h"
#include "contact/rolling.h"
#include "dynamics/kinematics.h"
#include "dynamics/lane_model.h"
#include "dynamics/sensor.h"
#include "forces/body_loads.h"
#include "forces/joint_friction.h"
#include "integrators/load_forces.h"
#include "integrators/pose_pullback.h"
#include "integrators/position_step.h"
#include "integrators/state_energy.h"

#include <catena/contact.h>

/// What a state remembers. z [nv]; slip, press [ncontact]; NULL where the model has none.
typedef struct {
    const real *z;
    const vec3 *slip;
    const real *press;
    const real *pair_of, *pair_press;  // [nslot] of pairs of links; NULL: there are none
    const vec3 *pair_slip;
    const real *bond;  // [nrow] forces of equations
} remembered;

/// What contact point k, of loads at L, feels under the normal force l with bristles bent to z: the force of its surface on it,
/// and where that acts, from the origin of its body.
typedef struct {
    vec3 f, arm;
    vec3 torque;  // of torsional and rolling friction
    mask sticks;
} felt_force;

FN felt_force felt_at(const lane_model *m, const loads_work *L, int k, const vec3 *slip, real l)
{
    const lane_point_load *s = &m->loads[k];
    const surface_point on = stand_of(m, s, L->at[k].gap);
    const vec3 z = slip ? slip[s->contact] : zero3(), n = on.face, from = s->surface ? along_ground(n, z) : z;
    const vec3 slides = surface_slide(m, L, k), y = add_scaled(from, slides, m->relaxation);
    felt_force F;
    F.f = sub(scale(on.n, l), rub_on(n, y, s->grip, s->friction * l).g);
    if (m->published) {  // by the velocity, in the place of D/h
        const real d = depth_of(on.gap);
        F.f = sub_scaled(F.f, slides, rset(2) * s->damping * d * d / m->dt);
    }
    F.arm = sub_scaled(L->at[k].arm, n, s->radius), F.sticks = is_stuck(m, s, from, slides, l);
    F.torque = zero3();
    if (s->rolls) {
        const vec3 bent = slip ? slip[turn_slot(m, s)] : zero3(), y_turn = add_scaled(bent, L->V[s->body].w, m->relaxation);
        F.torque = sub(zero3(), resist_turn(s, n, y_turn, turn_grip(s), l, none_of()).g);  // no zero with a sign
    }
    return F;
}

/// Adds J'f of the contact points to tau [nv], for the bodies at (q, v).
KERNEL void add_contact_forces(const lane_model *m, const real *q, const real *v, const vec3 *slip, const real *press,
                               loads_work *L, real *tau)
{
    place_loads(m, q, v, L);
    for (int i = 0; i < m->nbody; i++) L->A.load[i] = wrench_zero();
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const felt_force F = felt_at(m, L, k, slip, press[s->contact]);
        L->A.load[s->body] = wrench_add(L->A.load[s->body], force_at(F.arm, F.f));
        L->A.load[s->body].n = add(L->A.load[s->body].n, F.torque);
    }
    add_joint_rows(m, L->T, L->A.load, tau);
}

/// What contact point k feels, after place_loads(): its numbers in the order of catena/contact.h.
KERNEL void tell_contact(const lane_model *m, const remembered *R, const loads_work *L, int k, real x[CTN_CONTACT_NUMBERS])
{
    const lane_point_load *s = &m->loads[k];
    const real l = R->press[s->contact];
    const felt_force F = felt_at(m, L, k, R->slip, l);
    const surface_point on = stand_of(m, s, L->at[k].gap);
    const vec3 at = sub_scaled(L->at[k].gap, on.face, s->radius);
    x[0] = at.x, x[1] = at.y, x[2] = at.z, x[3] = F.f.x, x[4] = F.f.y, x[5] = F.f.z;
    x[6] = negate(on.gap);
    x[7] = sel(gt(l, rset(0)), sel(F.sticks, rset(CTN_STICKS), rset(CTN_SLIDES)), rset(CTN_APART));
    store3(x + 8, F.torque);
}

/// Adds all of these to tau [nv].
KERNEL void add_remembered_forces(const lane_model *m, const remembered *R, const real *q, const real *v, loads_work *L,
                                  real *tau)
{
    if (R->z) add_friction_forces(m, R->z, NULL, tau);
    if (R->press) add_contact_forces(m, q, v, R->slip, R->press, L, tau);
}

/// What bristles and contact points store at q, J. T, p [nbody]: scratch; watch: as of contacts_energy()
KERNEL real bristles_energy(const lane_model *m, const remembered *R, const real *q, placement *T, vec3 *p, load_watch *watch)
{
    const real E = R->z ? friction_energy(m, R->z, NULL) : rset(0);
    if (!R->press) return E;
    find_placements(m, q, T);
    for (int i = 0; i < m->nbody; i++) p[i] = placed_origin(&m->bodies[i], &T[i], q, p);
    return E + contacts_energy(m, T, p, R->slip, watch, false);
}

#endif
