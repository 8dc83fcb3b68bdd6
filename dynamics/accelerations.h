/// Accelerations of bodies on a moving tree, of given accelerations of the joints: the forward pass of inverse dynamics, without
/// gravity. [Featherstone 2008, ch. 5]
///
/// With the parent's angular velocity w, its angular acceleration al and the acceleration a of its origin, the offset r, and the
/// joint's own turn t and slide s in world axes,
///
///     al_i = al + w x t + t',    a_i = a + al x r + w x (w x r) + 2 w x s + s',
///
/// where t' and s' are S times the accelerations of the joint. The acceleration of an origin is that of the point of the body
/// there: no spatial acceleration.
#ifndef CATENA_ACCELERATIONS_H
#define CATENA_ACCELERATIONS_H

#include "dynamics/joints.h"
#include "dynamics/kinematics.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"

/// Of one body, from poses, twists and accelerations of its parent; roots need none. Angular, then that of the origin.
FN twist body_acceleration(const lane_body *b, joint_form f, const pose *T, const pose *parent, const twist *V,
                           const twist *before, const real *v, const real *acceleration)
{
    twist A = joint_twist(b, f, T->R, acceleration);
    if (f.flags & BODY_ROOT) return A;
    const vec3 r = sub(T->p, parent->p);
    vec3 a = cross_add(cross_add(before->v, before->w, r), V->w, cross(V->w, r));
    if (slides(f)) a = add_scaled(a, cross(V->w, joint_slide(b, f, T->R, v)), rset(2));
    vec3 al = before->w;
    if (turns(f)) al = cross_add(al, V->w, joint_turn(b, f, T->R, v));
    A.w = add(al, A.w), A.v = add(a, A.v);
    return A;
}

/// Of all bodies. T, V [nbody]: poses and twists; A [nbody]
KERNEL void body_accelerations(const lane_model *m, const pose *T, const twist *V, const real *v, const real *acceleration,
                               twist *A)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int up = b->flags & BODY_ROOT ? i : b->parent;
        A[i] = body_acceleration(b, form_of(b), &T[i], &T[up], &V[up], &A[up], v, acceleration);
    }
}

/// The acceleration of a point p, body axes, of a body with the twist V and the acceleration A.
FN vec3 acceleration_at(const pose *T, const twist *V, const twist *A, vec3 p)
{
    const vec3 r = mul(T->R, p);
    return cross_add(cross_add(A->v, A->w, r), V->w, cross(V->w, r));
}

/// t [nlink][6] of the links: angular acceleration, acceleration of the origin. T, V, A [nbody]: scratch
KERNEL void link_accelerations(const lane_model *m, const real *q, const real *v, const real *acceleration, pose *T, twist *V,
                               twist *A, real *t)
{
    body_poses(m, q, T);
    body_twists(m, T, v, V);
    body_accelerations(m, T, V, v, acceleration, A);
    for (int l = 0; l < m->nlink; l++) {
        const ctn_frame *F = &m->frames[l];
        const int i = F->body;
        store3(t + 6 * l, i < 0 ? zero3() : A[i].w);
        store3(t + 6 * l + 3, i < 0 ? zero3() : acceleration_at(&T[i], &V[i], &A[i], const3(F->p)));
    }
}

/// The rate dJ/dt [6][nv] of a link's Jacobian (link_jacobian()) while the tree moves with v: its twist changes by J v' + dJ/dt v.
/// A column S_j at the link's origin p turns with its body, and its arm from the body's origin p_i grows: (w, u + w x (p - p_i))
/// changes by (w', u' + w' x (p - p_i) + w x (v - v_i)), where axes change by w_i x axis. T, V [nbody]: scratch
KERNEL void link_jacobian_rate(const lane_model *m, const real *q, const real *v, int link, pose *T, twist *V, real *J)
{
    const int n = m->nv, body = m->frames[link].body;
    body_poses(m, q, T);
    body_twists(m, T, v, V);
    for (int k = 0; k < 6 * n; k++) J[k] = rset(0);
    if (body < 0) return;
    const vec3 p = link_pose(m, link, T).p, moves = twist_at(&T[body], &V[body], const3(m->frames[link].p)).v;
    for (int i = body; i >= 0; i = m->bodies[i].parent) {
        const lane_body *b = &m->bodies[i];
        const vec3 arm = sub(p, T[i].p), grows = sub(moves, V[i].v);
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, T[i].R, k);
            const bool turned = b->kind != JOINT_TRANSLATION;  // whose axes are the world's
            const vec3 w = turned ? cross(V[i].w, S.w) : zero3(), s = turned ? cross(V[i].w, S.v) : zero3();
            const vec3 u = cross_add(cross_add(s, w, arm), S.w, grows);
            const int j = b->vadr + k;
            J[0 * n + j] = w.x, J[1 * n + j] = w.y, J[2 * n + j] = w.z;
            J[3 * n + j] = u.x, J[4 * n + j] = u.y, J[5 * n + j] = u.z;
        }
    }
}

#endif
