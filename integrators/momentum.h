/// Joint momenta p = H v and the velocities that belong to them, both in O(N) without the matrix H. Momenta stand in the
/// coordinates of v: N m s or N s, balls in body axes; armature counts.
#ifndef CATENA_MOMENTUM_H
#define CATENA_MOMENTUM_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/aba.h"
#include "dynamics/kinematics.h"

/// Scratch of one lane block. [nbody] each
typedef struct {
    pose *T;
    twist *V;
    wrench *sum;
} momentum_work;

/// p = H(q) v: the momenta of all bodies, summed towards the root and projected on the joints.
KERNEL void joint_momentum(const lane_model *m, const real *q, const real *v, momentum_work *work, real *p)
{
    const pose *T = work->T;
    const twist *V = work->V;
    wrench *sum = work->sum;
    body_poses(m, q, work->T);
    body_twists(m, T, v, work->V);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const vec3 c = mul(T[i].R, load3(given(b)->h));
        sum[i].f = cross_add(scale(V[i].v, given(b)->mass), V[i].w, c);
        sum[i].n = cross_add(mul(T[i].R, smul(load_sym(given(b)->I), tmul(T[i].R, V[i].w))), c, V[i].v);
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        joint_rows(b, b->kind, T[i].R, sum[i], p + b->vadr);
        for (int k = b->vadr; k < b->vadr + b->nv; k++) p[k] = fmadd(given(b)->armature, v[k], p[k]);
        if (b->flags & BODY_ROOT) continue;
        sum[b->parent] = wrench_add(sum[b->parent], wrench_shift(sum[i], sub(T[i].p, T[b->parent].p)));
    }
}

/// H(q) v = p: forward dynamics of bodies at rest without weight, with the momenta for forces.
KERNEL void momentum_velocity(const lane_model *m, const real *q, const real *p, aba_work *work, real *v)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        aba_rigid *s = &work->body[i].rigid;
        const mat3 parent = b->flags & BODY_ROOT ? work->motion[i].R : work->motion[b->parent].R;
        const mat3 R = work->motion[i].R = body_axes(b, form_of(b), parent, q);
        s->z = R.z;
        s->r = body_offset(b, form_of(b), parent, R.z, q);
        s->h = mul(R, load3(given(b)->h));
        s->A = turn(R, load_sym(given(b)->I));
        s->w = wrench_zero();
    }
    aba_inward(m, p, work);
    aba_accelerate(m, work, v);
}

#endif
