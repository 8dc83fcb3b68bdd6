/// Gradients of what dynamics gives, in O(N): of a weighted sum of forces by all coordinates and velocities at once.
#ifndef CATENA_PULLBACK_H
#define CATENA_PULLBACK_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/derivatives.h"

/// Adds to q_bar and v_bar [nv] the gradients of sign lambda'ID by q and v, after id_motion(): one pass outwards with the virtual
/// motion of velocities lambda, one inwards with what it meets. O(N).
KERNEL void id_pullback(const lane_model *m, id_work *work, const real *lambda, real sign, real *q_bar, real *v_bar)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const joint_form f = form_of(b);
        const id_body *s = &work->body[i];
        twist V = joint_twist(b, f, s->R, lambda);
        if (!(b->flags & BODY_ROOT)) {
            const twist *up = &work->V[b->parent];
            V.w = add(V.w, up->w), V.v = add(V.v, cross_add(up->v, up->w, s->r));
        }
        work->V[i] = V, work->w[i] = wrench_zero(), work->turn[i] = zero3();
        if (!(b->flags & BODY_MASS)) continue;
        // the sum of 2 m u x y over particles with velocities u, and y in the virtual motion
        const vec3 h = s->rigid.h, w = s->V.w;
        const wrench I = work->w[i] = rigid_wrench(s->rigid, given(b)->mass, V.w, V.v);
        const vec3 t = add(cross_add(cross(s->V.v, I.f), cross(w, h), V.v), smul(second_moment(s->rigid.I), cross(w, V.w)));
        work->turn[i] = scale(t, rset(2));
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const id_body *s = &work->body[i];
        const wrench w = work->w[i];
        const vec3 spin = work->turn[i];
        const bool root_body = b->flags & BODY_ROOT;
        twist up;
        up.w = up.v = zero3();
        if (!root_body) up.w = work->V[b->parent].w, up.v = cross_add(work->V[b->parent].v, up.w, s->r);
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, s->R, k);
            const vec3 t = S.w, l = S.v;
            // the virtual motion is changed too, as the subtree sees it
            const real g = dot_add(dot(cross(up.w, t), s->w.n), cross_add(cross(up.v, t), up.w, l), s->w.f);
            real *qk = &q_bar[b->vadr + k], *vk = &v_bar[b->vadr + k];
            *qk = fmadd(sign, g + virtual_power(change_by_q(s, t, l), w, spin), *qk);
            *vk = fmadd(sign, virtual_power(change_by_v(s, t, l), w, spin), *vk);
        }
        if (root_body) continue;
        work->w[b->parent] = wrench_add(work->w[b->parent], wrench_shift(w, s->r));
        work->turn[b->parent] = add(work->turn[b->parent], spin);
    }
}

#endif
