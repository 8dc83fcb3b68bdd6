/// Inverse dynamics by the recursive Newton-Euler algorithm, in body axes: inertias are constants there. [Featherstone 2008, ch.
/// 5]
#ifndef CATENA_RNEA_H
#define CATENA_RNEA_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"

typedef struct {
    vec3 w, al, a;  // angular velocity, angular acceleration, acceleration of the origin less gravity; body axes
} rnea_motion;

typedef struct {
    wrench w;   // body axes
    real s, c;  // of the joint's angle
} rnea_body;

/// Scratch of one lane block. [nbody] each
typedef struct {
    rnea_body *body;
    rnea_motion *motion;  // written for forks
    mat3 *R;              // written for balls: body axes in the joint frame
    wrench *hand;         // sums at forks
} rnea_work;

/// Turns a vector from the parent's axes into the joint frame, and back.
FN vec3 into_joint(const lane_body *b, joint_form f, vec3 a)
{
    if (f.flags & BODY_ABOUT_X) {
        const real c = len(given(b)->ca), s = len(given(b)->sa);
        return vec(a.x, fmadd(a.z, s, a.y * c), fnmadd(a.y, s, a.z * c));
    }
    return tmul(lengths33(given(b)->C), a);
}
FN vec3 out_of_joint(const lane_body *b, joint_form f, vec3 a)
{
    if (f.flags & BODY_ABOUT_X) {
        const real c = len(given(b)->ca), s = len(given(b)->sa);
        return vec(a.x, fnmadd(a.z, s, a.y * c), fmadd(a.y, s, a.z * c));
    }
    return mul(lengths33(given(b)->C), a);
}

/// From the joint frame into body axes, and back. R: of a ball
FN vec3 into_body(joint_form f, vec3 a, real s, real c, const mat3 *R)
{
    switch (f.kind) {
    case JOINT_REVOLUTE:
    case JOINT_HELICAL: return vec(fmadd(a.y, s, a.x * c), fnmadd(a.x, s, a.y * c), a.z);
    case JOINT_BALL: return tmul(*R, a);
    default: return a;
    }
}
FN vec3 out_of_body(joint_form f, vec3 a, real s, real c, const mat3 *R)
{
    switch (f.kind) {
    case JOINT_REVOLUTE:
    case JOINT_HELICAL: return vec(fnmadd(a.y, s, a.x * c), fmadd(a.x, s, a.y * c), a.z);
    case JOINT_BALL: return mul(*R, a);
    default: return a;
    }
}

/// One body of the pass outwards. M: the motion of the body before, then of this one; g: gravity, negated.
FN void rnea_outward_body(const lane_body *b, joint_form f, int i, vec3 g, const real *q, const real *v, const real *a,
                          rnea_work *work, rnea_motion *motion)
{
    rnea_motion M = *motion;
    rnea_body *s = &work->body[i];
    const mat3 *R = &work->R[i];
    const real *qj = q + b->qadr, *vj = v + b->vadr, *aj = a + b->vadr;
    real sn = rset(0), cs = rset(0);
    if (about_z(f.kind)) {
        joint_sincos(b, qj[0], &sn, &cs);
        s->s = sn, s->c = cs;
    }
    if (f.kind == JOINT_BALL) work->R[i] = quat_rotation(quat_load(qj));

    // the parent's motion at this origin, in body axes
    if (f.flags & BODY_ROOT) {
        M.w = M.al = zero3();
        M.a = into_body(f, into_joint(b, f, g), sn, cs, R);
    } else {
        if (!(f.flags & BODY_NEXT)) M = work->motion[b->parent];
        if (f.flags & BODY_OFFSET) {
            const vec3 r = lengths3(given(b)->r0);
            M.a = cross_add(cross_add(M.a, M.al, r), M.w, cross(M.w, r));
        }
        M.w = into_body(f, into_joint(b, f, M.w), sn, cs, R);
        M.al = into_body(f, into_joint(b, f, M.al), sn, cs, R);
        M.a = into_body(f, into_joint(b, f, M.a), sn, cs, R);
    }
    // what the joint adds
    const real o = rset(0);
    if (f.kind == JOINT_PRISMATIC || f.kind == JOINT_HELICAL) {
        const real k = (f.kind == JOINT_HELICAL ? len(given(b)->pitch) : rset(1));
        if (!(f.flags & BODY_ROOT)) {
            const vec3 x = vec(o, o, k * qj[0]), u = vec(o, o, rset(2) * k * vj[0]);
            M.a = cross_add(cross_add(M.a, M.al, x), M.w, add(cross(M.w, x), u));
        }
        M.a.z = fmadd(k, aj[0], M.a.z);
    }
    if (about_z(f.kind)) {
        if (!(f.flags & BODY_ROOT)) M.al.x = fmadd(M.w.y, vj[0], M.al.x), M.al.y = fnmadd(M.w.x, vj[0], M.al.y);
        M.al.z = M.al.z + aj[0];
        M.w.z = M.w.z + vj[0];
    } else if (f.kind == JOINT_BALL) {
        const vec3 t = vec(vj[0], vj[1], vj[2]);
        M.al = add(cross_add(M.al, M.w, t), vec(aj[0], aj[1], aj[2]));
        M.w = add(M.w, t);
    } else if (f.kind == JOINT_TRANSLATION) M.a = add(M.a, vec(aj[0], aj[1], aj[2]));

    if (f.flags & BODY_MASS) {
        const vec3 h = load3(given(b)->h);
        const sym3 I = load_sym(given(b)->I);
        s->w.f = cross_add(cross_add(scale(M.a, given(b)->mass), M.al, h), M.w, cross(M.w, h));
        s->w.n = cross_add(add(cross(h, M.a), smul(I, M.al)), M.w, smul(I, M.w));
    }
    if (f.flags & BODY_FORK) work->motion[i] = M;
    *motion = M;
}

KERNEL void rnea_outward(const lane_model *m, const real *q, const real *v, const real *a, rnea_work *work)
{
    rnea_motion M;
    M.w = M.al = M.a = zero3();
    const vec3 g = vec(negate(m->gravity[0]), negate(m->gravity[1]), negate(m->gravity[2]));
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, rnea_outward_body(b, f, i, g, q, v, a, work, &M))
    }
}

/// One body of the pass inwards. next: the wrench of the subtree of the body after it, then of its own.
FN void rnea_inward_body(const lane_body *b, joint_form f, int i, const real *q, const real *a, rnea_work *work, real *tau,
                         wrench *next)
{
    const rnea_body *s = &work->body[i];
    wrench w;
    if (f.flags & BODY_LEAF) w = s->w;
    else {
        w = *next;
        if (f.flags & BODY_FORK) w = wrench_add(w, work->hand[i]);
        if (f.flags & BODY_MASS) w = wrench_add(w, s->w);
    }
    real *t = tau + b->vadr;
    switch (f.kind) {
    case JOINT_REVOLUTE: t[0] = w.n.z; break;
    case JOINT_PRISMATIC: t[0] = w.f.z; break;
    case JOINT_HELICAL: t[0] = fmadd(len(given(b)->pitch), w.f.z, w.n.z); break;
    case JOINT_BALL: t[0] = w.n.x, t[1] = w.n.y, t[2] = w.n.z; break;
    case JOINT_TRANSLATION: t[0] = w.f.x, t[1] = w.f.y, t[2] = w.f.z; break;
    }
    if (b->flags & BODY_ARMATURE)
        for (int k = 0; k < b->nv; k++) t[k] = fmadd(given(b)->armature, a[b->vadr + k], t[k]);
    if (f.flags & BODY_ROOT) return;

    if (f.kind == JOINT_PRISMATIC || f.kind == JOINT_HELICAL) {
        const real x = (f.kind == JOINT_HELICAL ? len(given(b)->pitch) : rset(1)) * q[b->qadr];
        w.n.x = fnmadd(x, w.f.y, w.n.x), w.n.y = fmadd(x, w.f.x, w.n.y);
    }
    const mat3 *R = &work->R[i];
    const real sn = s->s, cs = s->c;
    w.f = out_of_joint(b, f, out_of_body(f, w.f, sn, cs, R));
    w.n = out_of_joint(b, f, out_of_body(f, w.n, sn, cs, R));
    if (f.flags & BODY_OFFSET) w.n = cross_add(w.n, lengths3(given(b)->r0), w.f);
    if (f.flags & BODY_NEXT) *next = w;
    else if (f.flags & BODY_LAST) work->hand[b->parent] = w;
    else work->hand[b->parent] = wrench_add(work->hand[b->parent], w);
}

KERNEL void rnea_inward(const lane_model *m, const real *q, const real *a, rnea_work *work, real *tau)
{
    wrench next = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, rnea_inward_body(b, f, i, q, a, work, tau, &next))
    }
}

/// tau = H a + c(q, v)
KERNEL void rnea(const lane_model *m, const real *q, const real *v, const real *a, rnea_work *work, real *tau)
{
    rnea_outward(m, q, v, a, work);
    rnea_inward(m, q, a, work, tau);
}

#endif
