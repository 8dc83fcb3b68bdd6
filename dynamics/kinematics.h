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

/// World axes and origin of a body, from those of its parent; roots need none.
FN pose body_pose(const lane_body *b, joint_form f, const pose *parent, const real *q)
{
    pose T;
    T.R = body_axes(b, f, parent->R, q);
    T.p = body_offset(b, f, parent->R, T.R.z, q);
    if (!(f.flags & BODY_ROOT)) T.p = add(parent->p, T.p);
    return T;
}

/// The same for all bodies, by the forward recursion. T [nbody]
KERNEL void body_poses(const lane_model *m, const real *q, pose *T)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        T[i] = body_pose(b, form_of(b), &T[b->flags & BODY_ROOT ? i : b->parent], q);
    }
}

/// Twist of a body at its origin, from poses and twist of itself and its parent; roots need none.
FN twist body_twist(const lane_body *b, joint_form f, const pose *T, const pose *parent, const twist *before, const real *v)
{
    const twist own = joint_twist(b, f, T->R, v);
    twist t;
    t.w = t.v = zero3();
    if (!(f.flags & BODY_ROOT)) {
        t.w = before->w;
        t.v = cross_add(before->v, before->w, sub(T->p, parent->p));
    }
    t.w = add(t.w, own.w), t.v = add(t.v, own.v);
    return t;
}

/// Twists of every body at its origin. V [nbody]
KERNEL void body_twists(const lane_model *m, const pose *T, const real *v, twist *V)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int up = b->flags & BODY_ROOT ? i : b->parent;
        V[i] = body_twist(b, form_of(b), &T[i], &T[up], &V[up], v);
    }
}

FN void store33(real *a, mat3 M)
{
    a[0] = M.x.x, a[1] = M.y.x, a[2] = M.z.x;
    a[3] = M.x.y, a[4] = M.y.y, a[5] = M.z.y;
    a[6] = M.x.z, a[7] = M.y.z, a[8] = M.z.z;
}

/// A frame that is R, p as seen from the pose T.
FN pose frame_on(const pose *T, mat3 R, vec3 p)
{
    pose L;
    L.R = mmul(T->R, R), L.p = mul_add(T->p, T->R, p);
    return L;
}

/// The twist of a point p, body axes, of a body with the twist V.
FN twist twist_at(const pose *T, const twist *V, vec3 p)
{
    twist t;
    t.w = V->w, t.v = cross_add(V->v, V->w, mul(T->R, p));
    return t;
}

FN pose link_pose(const lane_model *m, int link, const pose *T)
{
    const ctn_frame *F = &m->frames[link];
    pose L;
    L.R = const33(F->R), L.p = const3(F->p);
    return F->body < 0 ? L : frame_on(&T[F->body], L.R, L.p);
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
        twist L;
        L.w = L.v = zero3();
        if (F->body >= 0) L = twist_at(&T[F->body], &V[F->body], const3(F->p));
        store3(t + 6 * l, L.w);
        store3(t + 6 * l + 3, L.v);
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

/// Sums over bodies: their kinetic energy (rotors of armature too), first moment of mass, linear momentum, and angular about the
/// world's origin.
typedef struct {
    real kinetic;
    vec3 moment, l, h;
} body_sums;

FN void add_body_sums(body_sums *s, const lane_body *b, const pose *T, const twist *V, const real *v)
{
    if (b->flags & BODY_ARMATURE)
        for (int k = 0; k < b->nv; k++)
            s->kinetic = fmadd(rset(0.5) * given(b)->armature * v[b->vadr + k], v[b->vadr + k], s->kinetic);
    if (!(b->flags & BODY_MASS)) return;
    const mat3 R = T->R;
    const vec3 w = V->w, u = V->v, c = mul(R, load3(given(b)->h));
    const real mass = given(b)->mass;
    const vec3 p = add(scale(u, mass), cross(w, c));                            // linear momentum
    const vec3 a = add(mul(R, smul(load_sym(given(b)->I), tmul(R, w))), cross(c, u));  // about the body's origin
    s->kinetic = fmadd(rset(0.5), dot_add(dot(w, a), u, p), s->kinetic);
    s->moment = add(s->moment, add_scaled(c, T->p, mass));
    s->l = add(s->l, p);
    s->h = add(s->h, cross_add(a, T->p, p));
}

/// Takes added mass (LOAD_ADDED) on bodies from `first` to before `end` off the sums, but for the kinetic energy: what goes along
/// with a link is not of the link. Returns how much it is.
FN real take_off_added(body_sums *s, const lane_model *m, int first, int end, const pose *T, const twist *V)
{
    real mass = rset(0);
    for (int k = 0; k < m->nload && m->adds; k++) {
        const lane_point_load *a = &m->loads[k];
        if (!(a->flags & LOAD_ADDED) || a->body < first || a->body >= end) continue;
        const vec3 r = mul(T[a->body].R, load3(a->point)), x = add(T[a->body].p, r);
        const vec3 p = scale(cross_add(V[a->body].v, V[a->body].w, r), rset(a->displaced));
        s->moment = sub_scaled(s->moment, x, rset(a->displaced)), s->l = sub(s->l, p), s->h = sub(s->h, cross(x, p));
        mass = mass + rset(a->displaced);
    }
    return mass;
}

/// Sums over the model: kinetic (rotors of armature too), potential of gravity, linear momentum [3], angular momentum [3]
/// about the world origin, centre of mass [3]: sums [11]. Bodies in their order. T, V [nbody]: scratch
KERNEL void totals(const lane_model *m, const real *q, const real *v, pose *T, twist *V, real *sums)
{
    body_poses(m, q, T);
    body_twists(m, T, v, V);
    body_sums s;
    s.kinetic = rset(0), s.moment = load3(m->fixed_moment), s.l = s.h = zero3();
    for (int i = 0; i < m->nbody; i++) add_body_sums(&s, &m->bodies[i], &T[i], &V[i], v);
    if (m->adds) take_off_added(&s, m, 0, m->nbody, T, V);
    const vec3 g = load3(m->gravity);
    sums[0] = s.kinetic;
    sums[1] = negate(dot(g, s.moment));
    store3(sums + 2, s.l);
    store3(sums + 5, s.h);
    store3(sums + 8, scale(s.moment, sel(gt(m->mass, rset(0)), rset(1) / m->mass, rset(0))));
}

#endif
