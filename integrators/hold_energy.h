/// A step of a tree that touches the ground creates no energy.
///
/// Order 2 loses |V' - V|^2/2, in the norm of the kinetic energy, and what convex potentials lose. But its bodies move on arcs,
/// and V' is that of the chord: an arm r that turns by the angle a carries the force f along it off the chord by r a^2/2. That
/// takes f r a^2/2 where the arm is pulled, and gives as much where it is pushed, as a leg is between ground and trunk. Where a
/// tree so comes out with more energy than it had, beyond the work of forces, what was created is taken from its motion: about
/// its centre of mass if it is free, and what that has not from its motion as a whole. That is as small as the error of the step,
/// and leaves every method its order. Order 2 is held wherever its tree is, several stages where it touches; so is alpha, but by
/// what the energy has risen beyond the work, as its books of dampers are of its order only. (docs/theory.md 4.12)
#ifndef CATENA_HOLD_ENERGY_H
#define CATENA_HOLD_ENERGY_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "contact/law.h"
#include "contact/rolling.h"
#include "forces/body_loads.h"
#include "forces/joint_forces.h"
#include "forces/joint_friction.h"
#include "integrators/energy.h"
#include "integrators/pair_terms.h"
#include "integrators/position_flow.h"
#include "integrators/position_step.h"
#include "integrators/state_energy.h"
#include "integrators/stage_step.h"

/// A part that has been solved, and what it ends with.
typedef struct {
    const position_work *one;  // one stage
    const stage_work *more;    // several; NULL: one
    const real *x, *u;         // [nq], [nv] at the end; increments of joints that are not balls
    const real *rate;          // [nv]; NULL, order 2: u/h,
    const rate_pose *V;        // [nbody]              and of chords
} solved_part;

/// What is kept of a tree's velocities: about its centre of mass, which goes with `middle`, and as a whole. Of trees that are not
/// free, `middle` is 0.
typedef struct {
    real inner, whole;
    vec3 middle;
    real fails;  // 1: it keeps less than half, of more than what solves leave
} kept_motion;

/// A tree in a step: the energy that it has gained, what has passed through its forces, and the energies that were added up.
typedef struct {
    real gain, size;
    energy_flow flow;
    real touches;  // 1: it does, at the start or the end
} tree_books;

FN void book(tree_books *B, real before, real after)
{
    B->gain = B->gain + (after - before), B->size = B->size + (magnitude(before) + magnitude(after));
}

/// The mean Euclidean rate of body i over the part.
FN rate_pose part_chord(const lane_body *b, const solved_part *Q, int i)
{
    if (!Q->more) return chord_velocity_of(b, &Q->one->W, i);
    const stages *W = &Q->more->W;
    const stage_body *end = &W->body[(i + 1) * W->table->stages - 1];
    return chord_rate(W->start[i].R, end->T.R, end->dp, W->in.inv_h);
}

/// Books the motion of body i. Returns its kinetic energy at the end, and adds its momentum there.
FN real book_motion(tree_books *B, const lane_model *m, const lane_body *b, const position_state *S, const solved_part *Q, int i,
                    real h, vec3 *momentum)
{
    const real half = rset(0.5);
    real kinetic = rset(0);
    if (b->flags & BODY_ARMATURE) {
        real u[3];
        if (!Q->rate) joint_increment(b, S->q, Q->one, u);
        for (int k = 0; k < b->nv; k++) {
            const real J = half * given(b)->armature, old = S->rate[b->vadr + k];
            real rate = u[k] / h;
            if (Q->rate) rate = Q->rate[b->vadr + k];
            book(B, J * old * old, J * rate * rate), kinetic = fmadd(J * rate, rate, kinetic);
        }
    }
    if (!(b->flags & BODY_MASS)) return kinetic;
    const rate_pose chord = part_chord(b, Q, i), *const V = Q->V ? &Q->V[i] : &chord;
    const real after = half * twice_kinetic(b, V);
    const vec3 c = load3(given(b)->h), way = add_scaled(mul(chord.R, c), chord.p, given(b)->mass);
    book(B, half * twice_kinetic(b, &S->V[i]), after);
    book(B, rset(0), negate(h * dot(load3(m->gravity), way)));
    *momentum = add(*momentum, add_scaled(mul(V->R, c), V->p, given(b)->mass));
    return kinetic + after;
}

/// Books what a joint stores, and what passes through it.
FN void book_joint(tree_books *B, const lane_model *m, const lane_body *b, const position_state *S, const solved_part *Q, real h)
{
    if (Q->more) add_joint_stages(&B->flow, m, b, Q->more);
    else add_joint_part(&B->flow, m, b, Q->one);
    if (b->flags & (BODY_SPRING | BODY_SERVO)) {
        clock_now(m, h, 0);
        const real before = stored_energy(m, b, S->q);
        clock_now(m, h, 1);
        book(B, before, stored_energy(m, b, Q->x));
    }
    if (!(b->flags & BODY_FRICTION)) return;
    const real z = S->z[b->vadr], s = z + Q->u[b->vadr];
    book(B, friction_potential(b, z).E, friction_potential(b, bent(b, s)).E);
    B->flow.dissipated = B->flow.dissipated + slip_loss(b, s);
}

/// Books what load k stores, and what passes through it.
FN void book_load(tree_books *B, const lane_model *m, const position_state *S, const solved_part *Q, int k)
{
    const lane_point_load *s = &m->loads[k];
    const load_state *at = Q->more ? &Q->more->W.held[k] : &Q->one->W.held[k];
    if (Q->more) add_load_stages(&B->flow, m, Q->more, k);
    else add_load_part(&B->flow, m, Q->one, k);
    if (s->flags & LOAD_TOUCHES) {
        const end_touch e = Q->more ? touch_after_stages(m, &Q->more->W, k) : Q->one->W.ended[s->contact].at;
        const real before = Q->more ? gap_of(m, s, at->gap) : gap_before(m, &Q->one->W, k);
        book(B, stored_in_contact(m, s, before, S->slip), stored_at_end(s, &e));
        B->touches = sel(either(lt(before, rset(0)), lt(e.gap, rset(0))), rset(1), B->touches);
        return;
    }
    vec3 u, g;
    if (Q->more) u = Q->more->W.point[(k + 1) * Q->more->W.table->stages - 1].u;
    else u = add(Q->one->W.body[s->body].dp, sub(mul(Q->one->W.now[s->body].R, load3(s->point)), at->arm));
    if (s->flags & LOAD_ADDED) book(B, rset(0), negate(dot(at->F, u)));
    book(B, rset(0), load_potential(s, at->gap, zero3(), u, &g));
}

/// What of its motion a tree keeps whose kinetic energies are these: all, or, in the lanes `where`, what leaves no more than it
/// had.
FN kept_motion hold_tree(const tree_books *B, real inner, real whole, vec3 middle, mask where)
{
    const real o = rset(0), one = rset(1), created = B->gain - B->flow.work + B->flow.dissipated;
    const real most = rset(10 * ENERGY_ROUNDING) * (B->size + (magnitude(B->flow.work) + magnitude(B->flow.dissipated)));
    const real take = sel(both(where, gt(created, most)), created, o), left = inner - take,
               rest = whole + sel(lt(left, o), left, o);
    kept_motion H;
    H.inner = sel(gt(take, o), root(sel(gt(left, o), left, o) / sel(gt(inner, o), inner, one)), one);
    H.whole = sel(lt(left, o), root(sel(gt(rest, o), rest, o) / sel(gt(whole, o), whole, one)), one);
    H.middle = middle;
    // what rests has books of solves' last digits
    H.fails = sel(both(gt(take, rset(1e3) * most), lt(left, rset(0.5) * inner)), one, o);
    return H;
}

/// Where no other tree touches the bodies from r on up to `end`, in a step of order 2: others push, or rub, and have a part in the books.
KERNEL mask stands_alone(const lane_model *m, const between_work *B, int r, int end)
{
    mask alone = not_(none_of());
    for (int k = 0; k < B->touches; k++) {
        const touch_pair *const p = &m->touch_pairs[B->touch[k].pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        if ((a >= r && a < end) || (b >= r && b < end))
            alone = both(alone, not_(both(gt(B->touch[k].weight, rset(0)), acts_here(&B->touch[k]))));
    }
    return alone;
}

/// What a tree keeps that has the books B, with the kinetic energy and the momentum that it ends with. mass: of a free one, else 0.
FN kept_motion kept_of_tree(const solved_part *Q, tree_books B, real kinetic, vec3 momentum, bool free, real mass)
{
    const bool alpha = Q->rate && !Q->more;
    real whole = rset(0);
    vec3 middle = zero3();
    if (free) {
        middle = scale(momentum, rset(1) / mass);
        whole = rset(0.5) * dot(momentum, middle);
    }
    if (alpha) B.flow.dissipated = rset(0);
    const mask where = Q->rate ? gt(B.touches, rset(0)) : not_(none_of());
    return hold_tree(&B, larger(kinetic - whole, rset(0)), whole, middle, where);
}

/// Whether a tree moves as a whole by its translation alone. An armature of that is no mass of the tree: nothing is kept then.
FN bool flies_free(int kind, unsigned flags) { return kind == JOINT_TRANSLATION && !(flags & BODY_ARMATURE); }

/// Trees keep all.
FN void keep_all(const lane_model *m, kept_motion *kept)
{
    for (int r = 0; r < m->nbody; r = m->bodies[r].end)
        kept[r].inner = kept[r].whole = rset(1), kept[r].middle = zero3(), kept[r].fails = rset(0);
}

/// Before a part of size h is committed: finds what trees are to keep of the velocities that it ends with, at their roots in kept
/// [nbody].
KERNEL void find_kept(const lane_model *m, const position_state *S, const solved_part *Q, real h, kept_motion *kept)
{
    if (!Q->more) wind_part(m, &Q->one->W.in);
    keep_all(m, kept);
    if (m->published) return;  // that law is as it is
    for (int r = 0; r < m->nbody; r = m->bodies[r].end) {
        const lane_body *const top = &m->bodies[r];
        const bool free = flies_free(top->kind, top->flags);
        tree_books B = {rset(0), rset(0), no_flow(), rset(0)};
        real kinetic = rset(0);
        vec3 momentum = zero3();
        for (int i = r; i < top->end; i++) {
            const lane_body *b = &m->bodies[i];
            kinetic = kinetic + book_motion(&B, m, b, S, Q, i, h, &momentum);
            book_joint(&B, m, b, S, Q, h);
            for (int k = b->load; k < b->loads_end && (b->flags & BODY_LOAD); k++) {
                if (passes_over(Q->more ? Q->more->W.watch : Q->one->W.watch, &k)) continue;
                book_load(&B, m, S, Q, k);
            }
        }
        kept[r] = kept_of_tree(Q, B, kinetic, momentum, free, free ? subtree_of(m, top)->subtree_mass : rset(0));
        if (!m->npair || Q->rate) continue;
        const mask alone = stands_alone(m, &Q->one->W.between, r, top->end);
        kept[r].inner = sel(alone, kept[r].inner, rset(1)), kept[r].whole = sel(alone, kept[r].whole, rset(1));
        kept[r].fails = sel(alone, kept[r].fails, rset(0));
    }
}

/// Where every tree keeps half of its motion or more. What would take more is no step to have: it is halved, up to MOST_HELD
/// times as small.
enum { MOST_HELD = 16 };
FN mask keeps_most(const lane_model *m, const kept_motion *kept)
{
    mask fails = none_of();
    for (int r = 0; r < m->nbody; r = m->bodies[r].end) fails = either(fails, gt(kept[r].fails, rset(0)));
    return not_(fails);
}

/// v, of which `middle` is that of the whole tree.
FN vec3 hold_velocity(const kept_motion *H, vec3 v)
{
    const vec3 inner = sub(v, H->middle);
    return add_scaled(scale(inner, H->inner), H->middle, H->whole);
}

/// The velocities of body i of a tree, in the lanes `takes`. slides: it is the translation of a free tree.
FN void hold_body(const kept_motion *H, const lane_body *b, bool slides, int i, mask takes, position_state *S)
{
    if (b->flags & (BODY_MASS | BODY_LOAD)) {
        rate_pose V = S->V[i];
        V.R.x = scale(V.R.x, H->inner), V.R.y = scale(V.R.y, H->inner), V.R.z = scale(V.R.z, H->inner);
        V.p = hold_velocity(H, V.p);
        S->V[i] = sel_rate(takes, V, S->V[i]);
    }
    vec3 rate = joint_vector(b, S->rate);
    rate = slides ? hold_velocity(H, rate) : scale(rate, H->inner);
    const real to[3] = {rate.x, rate.y, rate.z};
    for (int k = 0; k < b->nv; k++) S->rate[b->vadr + k] = sel(takes, to[k], S->rate[b->vadr + k]);
}

/// After it is committed, in the lanes `where`.
KERNEL void hold_energy(const lane_model *m, position_state *S, const kept_motion *kept, mask where)
{
    for (int r = 0; r < m->nbody; r = m->bodies[r].end) {
        const lane_body *const top = &m->bodies[r];
        const kept_motion H = kept[r];
        const mask takes = both(where, lt(H.inner, rset(1)));
        if (!any_of(takes)) continue;
        for (int i = r; i < top->end; i++) hold_body(&H, &m->bodies[i], i == r && flies_free(top->kind, top->flags), i, takes, S);
    }
}

#endif
