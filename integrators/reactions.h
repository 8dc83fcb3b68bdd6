/// What holds a link, a joint or what it is fixed to, puts on it: the wrench of sensors of reactions. All that the link carries moves
/// as forward dynamics has it; so the wrench is the rate of its momentum, less its weight and what else acts on it.
/// [Featherstone 2008, 5.3: the force across a joint]
#ifndef CATENA_REACTIONS_H
#define CATENA_REACTIONS_H

#include "forces/sensors.h"
#include "integrators/remembered_forces.h"

/// Adds to w, about a point, the wrench that moves a mass with its body, gravity taken off: the rate of its momentum. h, I: its
/// moments about the body's origin, in the body's frame; arm: from the point to that origin.
FN void add_moving_wrench(wrench *w, const sensed_body *B, vec3 arm, vec3 gravity, real mass, vec3 h, sym3 I)
{
    const vec3 c = mul(B->T.R, h), a = sub(B->A.v, gravity), turning = B->V.w;
    const sym3 J = turn(B->T.R, I);
    const vec3 f = cross_add(cross_add(scale(a, mass), B->A.w, c), turning, cross(turning, c));
    w->f = add(w->f, f);
    w->n = cross_add(cross_add(add(w->n, add(cross(c, a), smul(J, B->A.w))), turning, smul(J, turning)), arm, f);
}

/// The numbers of a sensor of reactions, after place_loads().
KERNEL void sense_reaction(const lane_model *m, const model_sensor *s, const remembered *R, const tree_motion *x,
                           const loads_work *L, real *out)
{
    const sensed_body B = sensed_at(x, s->body, s->needs);
    const pose at = frame_on(&B.T, const33(s->R), const3(s->p));
    const vec3 g = load3(m->gravity);
    wrench w = wrench_zero();
    if (s->part_mass > 0) {
        sym3 I;
        I.xx = rset(s->part_I[0]), I.yy = rset(s->part_I[1]), I.zz = rset(s->part_I[2]);
        I.xy = rset(s->part_I[3]), I.xz = rset(s->part_I[4]), I.yz = rset(s->part_I[5]);
        add_moving_wrench(&w, &B, sub(B.T.p, at.p), g, rset(s->part_mass), const3(s->part_h), I);
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!s->carries_body[i] || !(b->flags & BODY_MASS)) continue;
        const sensed_body C = sensed_at(x, i, s->needs);
        add_moving_wrench(&w, &C, sub(C.T.p, at.p), g, given(b)->mass, load3(given(b)->h), load_sym(given(b)->I));
    }
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *load = &m->loads[k];
        const bool touches = load->flags & LOAD_TOUCHES;
        wrench e = wrench_zero();
        if (!s->carries_link[load->link] || (touches && !R->press)) continue;
        if (touches) {
            const felt_force F = felt_at(m, L, k, R->slip, R->press[load->contact]);
            e = force_at(F.arm, F.f), e.n = add(e.n, F.torque);
        } else add_load_wrench(&e, load, &L->at[k], &L->V[load->body]);
        w.f = sub(w.f, e.f), w.n = sub(w.n, cross_add(e.n, sub(x->T[load->body].p, at.p), e.f));
    }
    const vec3 torque = tmul(at.R, w.n), force = tmul(at.R, w.f);
    if (s->about.type != CTN_SENSE_REACTION_FORCE) store3(out, torque);
    if (s->about.type != CTN_SENSE_REACTION_TORQUE) store3(out + (s->about.type == CTN_SENSE_REACTION ? 3 : 0), force);
}

#endif
