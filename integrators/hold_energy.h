/// A step of order 2 on the ground creates no energy.
///
/// The step loses |V' - V|^2/2, in the norm of the kinetic energy, and what convex potentials lose. But its bodies move on arcs,
/// and V' is that of the chord: an arm r that turns by the angle a carries the force f along it off the chord by r a^2/2. That
/// takes f r a^2/2 where the arm is pulled, and gives as much where it is pushed, as a leg is between ground and trunk. Where a
/// tree so comes out with more energy than it had, beyond the work of forces, what was created is taken from its motion: about
/// its centre of mass if it is free, and what that has not from its motion as a whole. V' is of first order, and so is this.
/// (docs/theory.md 4.12)
#ifndef CATENA_HOLD_ENERGY_H
#define CATENA_HOLD_ENERGY_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "contact/law.h"
#include "forces/body_loads.h"
#include "forces/joint_forces.h"
#include "forces/joint_friction.h"
#include "integrators/energy.h"
#include "integrators/position_flow.h"
#include "integrators/position_step.h"

/// What is kept of a tree's velocities: about its centre of mass, which goes with `middle`, and as a whole. Of trees that are not
/// free, `middle` is 0.
typedef struct {
    real inner, whole;
    vec3 middle;
} kept_motion;

/// A tree in a step: the energy that it has gained, what has passed through its forces, and the energies that were added up.
typedef struct {
    real gain, size;
    energy_flow flow;
} tree_books;

FN void book(tree_books *B, real before, real after)
{
    B->gain = B->gain + (after - before), B->size = B->size + (magnitude(before) + magnitude(after));
}

/// Books the motion of body i, which goes on with V and the rates u/h. Returns its kinetic energy then, and adds its momentum.
FN real book_motion(tree_books *B, const lane_model *m, const lane_body *b, const position_state *S, const position_work *P, int i,
                    vec3 *momentum)
{
    const solve *W = &P->W;
    const real half = rset(0.5);
    real kinetic = rset(0);
    if (b->flags & BODY_ARMATURE) {
        real u[3];
        joint_increment(b, S->q, P, u);
        for (int k = 0; k < b->nv; k++) {
            const real J = half * given(b)->armature, old = S->rate[b->vadr + k], rate = u[k] * W->in.inv_h;
            book(B, J * old * old, J * rate * rate), kinetic = fmadd(J * rate, rate, kinetic);
        }
    }
    if (!(b->flags & BODY_MASS)) return kinetic;
    const rate_pose V = chord_rate(W->start[i].R, W->now[i].R, W->body[i].dp, W->in.inv_h);
    const real after = half * twice_kinetic(b, &V);
    const vec3 P_i = add_scaled(mul(V.R, load3(given(b)->h)), V.p, given(b)->mass);
    book(B, half * twice_kinetic(b, &S->V[i]), after);
    book(B, rset(0), negate(W->in.h * dot(load3(m->gravity), P_i)));  // it falls by h P_i/m
    *momentum = add(*momentum, P_i);
    return kinetic + after;
}

/// Books what the joint of body i stores, and what passes through it. Motors are as they are told at the end.
FN void book_joint(tree_books *B, const lane_model *m, const lane_body *b, const position_state *S, const position_work *P)
{
    const solve *W = &P->W;
    add_joint_part(&B->flow, m, b, P);
    if (b->flags & (BODY_SPRING | BODY_SERVO)) {
        real told = rset(0);  // is in the work
        if (b->flags & BODY_SERVO) held_motor(m, b, &W->in, &told);
        book(B, stored_energy(m, b, S->q) - told, stored_energy(m, b, P->x));
    }
    if (!(b->flags & BODY_FRICTION)) return;
    const real z = S->z[b->vadr], s = z + P->u[b->vadr], kept = bent(b, s);
    book(B, friction_potential(b, z).E, friction_potential(b, kept).E);
    B->flow.dissipated = B->flow.dissipated + slip_loss(b, s);
}

/// Books what load k stores, and what passes through it.
FN void book_load(tree_books *B, const lane_model *m, const position_work *P, int k)
{
    const lane_point_load *s = &m->loads[k];
    const solve *W = &P->W;
    add_load_part(&B->flow, m, P, k);
    if (s->flags & LOAD_TOUCHES) {
        const touch c = contact_at(m, W, k);
        const real force = press_on(m, s, c.before, c.gap, W->in.h).force;
        const vec3 kept = kept_slip(s, c.s, W->lag[s->contact], force);
        book(B, contact_energy(s, c.before, W->slip[s->contact]), contact_energy(s, c.gap, kept));
        return;
    }
    const vec3 u = add(W->body[s->body].dp, sub(mul(W->now[s->body].R, load3(s->point)), W->held[k].arm));
    vec3 g;
    if (s->flags & LOAD_ADDED) book(B, rset(0), negate(dot(W->held[k].F, u)));
    book(B, rset(0), load_potential(s, W->held[k].gap, zero3(), u, &g));
}

/// What of its motion a tree keeps whose kinetic energies are these: all, or what leaves no more than it had.
FN kept_motion hold_tree(const tree_books *B, real inner, real whole, vec3 middle)
{
    const real o = rset(0), one = rset(1), created = B->gain - B->flow.work + B->flow.dissipated;
    const real most = rset(10 * ENERGY_ROUNDING) * (B->size + (magnitude(B->flow.work) + magnitude(B->flow.dissipated)));
    const real take = sel(gt(created, most), created, o), left = inner - take, rest = whole + sel(lt(left, o), left, o);
    kept_motion H;
    H.inner = sel(gt(take, o), root(sel(gt(left, o), left, o) / sel(gt(inner, o), inner, one)), one);
    H.whole = sel(lt(left, o), root(sel(gt(rest, o), rest, o) / sel(gt(whole, o), whole, one)), one);
    H.middle = middle;
    return H;
}

/// Before the solution in P is committed: finds what trees are to keep of its velocities, at their roots in kept [nbody].
KERNEL void find_kept(const lane_model *m, const position_state *S, const position_work *P, kept_motion *kept)
{
    for (int r = 0; r < m->nbody; r = m->bodies[r].end) {
        const lane_body *const top = &m->bodies[r];
        const bool free = top->kind == JOINT_TRANSLATION;
        tree_books B = {rset(0), rset(0), no_flow()};
        real kinetic = rset(0), whole = rset(0);
        vec3 momentum = zero3(), middle = zero3();
        for (int i = r; i < top->end; i++) {
            const lane_body *b = &m->bodies[i];
            kinetic = kinetic + book_motion(&B, m, b, S, P, i, &momentum);
            book_joint(&B, m, b, S, P);
            for (int k = b->load; k < b->loads_end && (b->flags & BODY_LOAD); k++) book_load(&B, m, P, k);
        }
        if (free) {
            middle = scale(momentum, rset(1) / subtree_of(m, top)->subtree_mass);
            whole = rset(0.5) * dot(momentum, middle);
        }
        kept[r] = hold_tree(&B, larger(kinetic - whole, rset(0)), whole, middle);
    }
}

/// Where every tree keeps half of its motion or more. What would take more is no step to have: it is halved, up to MOST_HELD
/// times as small.
enum { MOST_HELD = 16 };
FN mask keeps_most(const lane_model *m, const kept_motion *kept)
{
    mask most = not_(none_of());
    for (int r = 0; r < m->nbody; r = m->bodies[r].end) most = both(most, le(rset(0.5), kept[r].inner * kept[r].inner));
    return most;
}

/// v, of which `middle` is that of the whole tree.
FN vec3 hold_velocity(const kept_motion *H, vec3 v)
{
    const vec3 inner = sub(v, H->middle);
    return add_scaled(scale(inner, H->inner), H->middle, H->whole);
}

/// After it is committed, in the lanes `where`.
KERNEL void hold_energy(const lane_model *m, position_state *S, const kept_motion *kept, mask where)
{
    for (int r = 0; r < m->nbody; r = m->bodies[r].end) {
        const lane_body *const top = &m->bodies[r];
        kept_motion H = kept[r];
        const mask takes = both(where, lt(H.inner, rset(1)));
        if (!any_of(takes)) continue;
        for (int i = r; i < top->end; i++) {
            const lane_body *b = &m->bodies[i];
            const bool slides = i == r && b->kind == JOINT_TRANSLATION;
            if (b->flags & BODY_MASS) {
                rate_pose V = S->V[i];
                V.R.x = scale(V.R.x, H.inner), V.R.y = scale(V.R.y, H.inner), V.R.z = scale(V.R.z, H.inner);
                V.p = hold_velocity(&H, V.p);
                S->V[i] = sel_rate(takes, V, S->V[i]);
            }
            vec3 rate = joint_vector(b, S->rate);
            rate = slides ? hold_velocity(&H, rate) : scale(rate, H.inner);
            const real to[3] = {rate.x, rate.y, rate.z};
            for (int k = 0; k < b->nv; k++) S->rate[b->vadr + k] = sel(takes, to[k], S->rate[b->vadr + k]);
        }
    }
}

#endif
