/// What the state of a position-based method (position_step.h) says: the velocity nearest to what it carries, and its energy.
#ifndef CATENA_STATE_ENERGY_H
#define CATENA_STATE_ENERGY_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/aba.h"
#include "dynamics/kinematics.h"
#include "forces/joint_forces.h"
#include "forces/body_loads.h"
#include "integrators/energy.h"
#include "integrators/position_step.h"

/// The momentum of a body with the axes R and the Euclidean velocity V, about its origin in world axes: of the matrix V M what
/// counts for a rigid body.
FN wrench rate_momentum(const lane_body *b, mat3 R, const rate_pose *V)
{
    // columns of rotation G = V_R S + V_p c', last column V_R c + m V_p
    const sym3 I = load_sym(given(b)->S);
    const vec3 c = load3(given(b)->h);
    const mat3 Vt = transposed(V->R);
    mat3 Gt;  // by columns: the rows of G
    Gt.x = add_scaled(smul(I, Vt.x), c, V->p.x), Gt.y = add_scaled(smul(I, Vt.y), c, V->p.y),
    Gt.z = add_scaled(smul(I, Vt.z), c, V->p.z);
    const vec3 ax = mul(R, Gt.x), ay = mul(R, Gt.y), az = mul(R, Gt.z);  // columns of R G'
    wrench w;
    w.n = vec(az.y - ay.z, ax.z - az.x, ay.x - ax.y);
    w.f = add_scaled(mul(V->R, c), V->p, given(b)->mass);
    return w;
}

/// Velocity v [nv] nearest, in the kinetic-energy norm, to what the method carries: H v = sum of S' [momentum of V] + J rate.
/// Where no number comes of that, the rates that it carries.
KERNEL void nearest_velocity(const lane_model *m, const position_state *S, aba_work *work, real *force, real *v)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        aba_rigid *s = &work->body[i].rigid;
        const mat3 parent = b->flags & BODY_ROOT ? work->motion[i].R : work->motion[b->parent].R;
        const mat3 R = work->motion[i].R = body_axes(b, form_of(b), parent, S->q);
        s->z = R.z;
        s->r = body_offset(b, form_of(b), parent, R.z, S->q);
        for (int k = b->vadr; k < b->vadr + b->nv; k++) force[k] = given(b)->armature * S->rate[k];
        if (!(b->flags & BODY_MASS)) continue;
        s->h = mul(R, load3(given(b)->h));
        s->A = turn(R, load_sym(given(b)->I));
        const wrench momentum = rate_momentum(b, R, &S->V[i]);
        s->w.n = vec(negate(momentum.n.x), negate(momentum.n.y), negate(momentum.n.z));
        s->w.f = vec(negate(momentum.f.x), negate(momentum.f.y), negate(momentum.f.z));
    }
    aba_inward(m, force, work);
    aba_accelerate(m, work, v);
    finite_or(m, v, S->rate);
}

/// The Euclidean velocity of a body that moves rigidly.
FN rate_pose rate_of_twist(const pose *T, const twist *D)
{
    rate_pose V;
    V.R.x = cross(D->w, T->R.x), V.R.y = cross(D->w, T->R.y), V.R.z = cross(D->w, T->R.z);
    V.p = D->v;
    return V;
}

/// The state that starts from q and v: V = [w x R, velocity of the origin], rates = v.
KERNEL void start_velocity(const lane_model *m, const real *v, pose *T, twist *D, position_state *S)
{
    body_poses(m, S->q, T);
    body_twists(m, T, v, D);
    for (int k = 0; k < m->nv; k++) S->rate[k] = v[k], S->gain[k] = rset(0);
    for (int i = 0; i < m->nbody; i++) S->V[i] = rate_of_twist(&T[i], &D[i]);
}

/// Twice the kinetic energy of a body with the Euclidean velocity V: tr(V M V').
FN real twice_kinetic(const lane_body *b, const rate_pose *V)
{
    const sym3 I = load_sym(given(b)->S);
    const vec3 c = load3(given(b)->h);
    const mat3 Vt = transposed(V->R);
    real t = dot_add(dot_add(dot(Vt.x, smul(I, Vt.x)), Vt.y, smul(I, Vt.y)), Vt.z, smul(I, Vt.z));
    t = fmadd(rset(2), dot(V->p, mul(V->R, c)), t);
    return fmadd(given(b)->mass, dot(V->p, V->p), t);
}

/// Kinetic energy of free trees about their centre of mass, added up body by body: how fast a tree travels as a whole, or has
/// been falling, is no scale for errors of its motion. With bonds, which may hold trees on their ways, it is.
typedef struct {
    real sum, mass;  // mass, momentum, end: of the free tree in hand
    vec3 momentum;
    int end;
} internal_kinetic;

FN internal_kinetic no_kinetic(void)
{
    internal_kinetic K;
    K.sum = rset(0), K.mass = rset(1), K.momentum = zero3(), K.end = 0;
    return K;
}

/// The next body, with the velocity V; twice: twice its energy, of one with mass.
FN void add_internal(internal_kinetic *K, const lane_model *m, const lane_body *b, int i, const rate_pose *V, real twice)
{
    if ((b->flags & BODY_ROOT) && b->kind == JOINT_TRANSLATION && !m->nbond)
        K->end = b->end, K->mass = subtree_of(m, b)->subtree_mass, K->momentum = zero3();
    if (b->flags & BODY_MASS) {
        K->sum = fmadd(rset(0.5), twice, K->sum);
        if (i < K->end) K->momentum = add(K->momentum, add_scaled(mul(V->R, load3(given(b)->h)), V->p, given(b)->mass));
    }
    if (i == K->end - 1) K->sum = fnmadd(rset(0.5) / K->mass, dot(K->momentum, K->momentum), K->sum);
}

/// Energy of q with these rates: sum tr(V M V') / 2 and rotors; gravity; springs and limits. at: placements at q; p [nbody]:
/// scratch; internal: the kinetic energy without that of free trees as wholes and of rotors, NULL: not asked for.
KERNEL energy_parts position_energy(const lane_model *m, const real *q, const real *rate, const rate_pose *velocity,
                                    const placement *at, vec3 *p, real *internal)
{
    energy_parts E;
    vec3 moment = load3(m->fixed_moment);
    internal_kinetic K = no_kinetic();
    E.kinetic = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const mat3 R = at[i].R;
        real twice = rset(0);
        p[i] = placed_origin(b, &at[i], q, p);
        if (b->flags & BODY_ARMATURE)
            for (int k = b->vadr; k < b->vadr + b->nv; k++)
                E.kinetic = fmadd(rset(0.5) * given(b)->armature * rate[k], rate[k], E.kinetic);
        if (b->flags & BODY_MASS) {
            twice = twice_kinetic(b, &velocity[i]);
            E.kinetic = fmadd(rset(0.5), twice, E.kinetic);
            moment = add(moment, add_scaled(mul(R, load3(given(b)->h)), p[i], given(b)->mass));
        }
        if (internal) add_internal(&K, m, b, i, &velocity[i], twice);
    }
    if (internal) *internal = larger(K.sum, rset(0));
    E.potential = negate(dot(load3(m->gravity), moment));
    if (m->adds) E.potential = E.potential + weights_taken(m, at, p);
    E.spring = passive_potential(m, q) + springs_energy(m, at, p);
    return E;
}

/// What contact points store where bodies have the axes of `at` and the origins p [nbody], bent to `slip`, J. watch [nload]:
/// takes which loads are idle; NULL: all are looked at. watched: it has that.
KERNEL real contacts_energy(const lane_model *m, const placement *at, const vec3 *p, const vec3 *slip, load_watch *watch,
                            bool watched)
{
    real E = rset(0);
    if (watch && !watched) watch_start(m, at, p, slip, NULL, watch);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (passes_over(watch, &k) || !(s->flags & LOAD_TOUCHES)) continue;
        const real gap = gap_of(m, s, mul_add(p[s->body], at[s->body].R, load3(s->point)));
        E = E + stored_in_contact(m, s, gap, slip);
    }
    return E;
}

/// The energy of a state; at: placements there; p [nbody]: scratch; B: as of pairs_energy(); watch, watched: as of contacts_energy().
FN energy_parts energy_of_state(const lane_model *m, const position_state *S, const placement *at, vec3 *p, between_work *B,
                                load_watch *watch, bool watched)
{
    energy_parts E = position_energy(m, S->q, S->rate, S->V, at, p, NULL);
    E.spring = E.spring + friction_energy(m, S->z, NULL) + contacts_energy(m, at, p, S->slip, watch, watched);
    if (m->npair) E.spring = E.spring + pairs_energy(m, B, at, p, S->pair_slip);
    if (m->nbond) E.spring = E.spring + bonds_energy(m, at, p, S->q, S->bond);
    return E;
}

#endif
