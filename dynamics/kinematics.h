/// Poses and twists of bodies and links, link Jacobians, and the sums over the model.
#ifndef CATENA_KINEMATICS_H
#define CATENA_KINEMATICS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"

typedef struct {
    mat3 R;
    vec3 p;
} pose;

/// Where a body is as seen from its parent: world axes, and its origin from the parent's.
typedef struct {
    mat3 R;
    vec3 r;
} placement;

/// World axes and origin of every body, by the forward recursion. T [nbody]
KERNEL void body_poses(const lane_model *m, const real *q, pose *T)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_ROOT) {
            T[i].R = body_axes(b, form_of(b), T[i].R, q);
            T[i].p = body_offset(b, form_of(b), T[i].R, T[i].R.z, q);
        } else {
            const pose *P = &T[b->parent];
            T[i].R = body_axes(b, form_of(b), P->R, q);
            T[i].p = add(P->p, body_offset(b, form_of(b), P->R, T[i].R.z, q));
        }
    }
}

/// Twists of every body at its origin. V [nbody]
KERNEL void body_twists(const lane_model *m, const pose *T, const real *v, twist *V)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const twist own = joint_twist(b, form_of(b), T[i].R, v);
        twist t;
        t.w = t.v = zero3();
        if (!(b->flags & BODY_ROOT)) {
            const twist *P = &V[b->parent];
            t.w = P->w;
            t.v = cross_add(P->v, P->w, sub(T[i].p, T[b->parent].p));
        }
        V[i].w = add(t.w, own.w), V[i].v = add(t.v, own.v);
    }
}

FN void store33(real *a, mat3 M)
{
    a[0] = M.x.x, a[1] = M.y.x, a[2] = M.z.x;
    a[3] = M.x.y, a[4] = M.y.y, a[5] = M.z.y;
    a[6] = M.x.z, a[7] = M.y.z, a[8] = M.z.z;
}
FN void store3(real *a, vec3 v) { a[0] = v.x, a[1] = v.y, a[2] = v.z; }

FN pose link_pose(const lane_model *m, int link, const pose *T)
{
    const ctn_frame *F = &m->frames[link];
    pose L;
    if (F->body < 0) {
        L.R = const33(F->R), L.p = const3(F->p);
    } else {
        L.R = mmul(T[F->body].R, const33(F->R));
        L.p = mul_add(T[F->body].p, T[F->body].R, const3(F->p));
    }
    return L;
}

/// R [nlink][9] row-major, p [nlink][3] of the links. T [nbody]: scratch
KERNEL void forward_kinematics(const lane_model *m, const real *q, pose *T, real *R, real *p)
{
    body_poses(m, q, T);
    for (int l = 0; l < m->nlink; l++) {
        const pose L = link_pose(m, l, T);
        store33(R + 9 * l, L.R);
        store3(p + 3 * l, L.p);
    }
}

/// t [nlink][6] of the links. T, V [nbody]: scratch
KERNEL void link_twists(const lane_model *m, const real *q, const real *v, pose *T, twist *V, real *t)
{
    body_poses(m, q, T);
    body_twists(m, T, v, V);
    for (int l = 0; l < m->nlink; l++) {
        const ctn_frame *F = &m->frames[l];
        vec3 w = zero3(), u = zero3();
        if (F->body >= 0) {
            w = V[F->body].w;
            u = cross_add(V[F->body].v, w, mul(T[F->body].R, const3(F->p)));
        }
        store3(t + 6 * l, w);
        store3(t + 6 * l + 3, u);
    }
}

/// J [6][nv] of a link: column j is S_j at the link's origin for joints on the way to the world, else zero. T [nbody]: scratch
KERNEL void link_jacobian(const lane_model *m, const real *q, int link, pose *T, real *J)
{
    const int n = m->nv;
    body_poses(m, q, T);
    for (int k = 0; k < 6 * n; k++) J[k] = rset(0);
    if (m->frames[link].body < 0) return;
    const vec3 p = link_pose(m, link, T).p;
    for (int i = m->frames[link].body; i >= 0; i = m->bodies[i].parent) {
        const lane_body *b = &m->bodies[i];
        const vec3 arm = sub(p, T[i].p);
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, T[i].R, k);
            const vec3 w = S.w, u = cross_add(S.v, w, arm);
            const int j = b->vadr + k;
            J[0 * n + j] = w.x, J[1 * n + j] = w.y, J[2 * n + j] = w.z;
            J[3 * n + j] = u.x, J[4 * n + j] = u.y, J[5 * n + j] = u.z;
        }
    }
}

/// Sums over the model: kinetic (rotors of armature too), potential of gravity, linear momentum [3], angular momentum [3]
/// about the world origin, centre of mass [3]: sums [11]. Bodies in their order. T, V [nbody]: scratch
KERNEL void totals(const lane_model *m, const real *q, const real *v, pose *T, twist *V, real *sums)
{
    body_poses(m, q, T);
    body_twists(m, T, v, V);
    real kinetic = rset(0);
    vec3 moment = load3(m->fixed_moment), l = zero3(), h = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_ARMATURE)
            for (int k = 0; k < b->nv; k++) kinetic = fmadd(rset(0.5) * b->armature * v[b->vadr + k], v[b->vadr + k], kinetic);
        if (!(b->flags & BODY_MASS)) continue;
        const mat3 R = T[i].R;
        const vec3 w = V[i].w, u = V[i].v, c = mul(R, load3(b->h));
        const real mass = b->mass;
        const vec3 p = add(scale(u, mass), cross(w, c));                             // linear momentum
        const vec3 s = add(mul(R, smul(load_sym(b->I), tmul(R, w))), cross(c, u));  // about the body's origin
        kinetic = fmadd(rset(0.5), dot_add(dot(w, s), u, p), kinetic);
        moment = add(moment, add_scaled(c, T[i].p, mass));
        l = add(l, p);
        h = add(h, cross_add(s, T[i].p, p));
    }
    const vec3 g = load3(m->gravity);
    sums[0] = kinetic;
    sums[1] = negate(dot(g, moment));
    store3(sums + 2, l);
    store3(sums + 5, h);
    store3(sums + 8, scale(moment, sel(gt(m->mass, rset(0)), rset(1) / m->mass, rset(0))));
}

#endif
