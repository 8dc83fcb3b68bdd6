/// Forward dynamics by the articulated-body algorithm. [Featherstone 2008, ch. 7]
///
/// Outwards: axes R, and what inverse dynamics would say at zero joint acceleration: angular velocity w, bias acceleration
/// (al, a) of the origin with gravity in it, rigid inertia, wrench (n, f) = I a + v x* I v. Inwards: articulated inertias and
/// the wrench that the joints leave over. Outwards again: joint accelerations, and what they add to the links'.
/// Taking the bias acceleration first spares the product of articulated inertia and bias in the inward pass.
#ifndef CATENA_ABA_H
#define CATENA_ABA_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/elimination.h"

typedef struct {
    vec3 r, z;  // from the parent's origin to this one; joint axis
    sym3 A;     // rotational inertia
    vec3 h;     // first moment
    wrench w;
} aba_rigid;

typedef struct {
    vec3 r, z;
    pivot1 pivot;
    real u;  // tau - S'w
} aba_joint1;

typedef struct {
    vec3 r, u;  // u = D^-1 (tau - S'w)
    gain3 G;
#ifdef CATENA_ALONG
    ldl3 D;  // what follows behind a far end needs it (dynamics/scan/far_end.h)
#endif
} aba_joint3;

typedef union {
    aba_rigid rigid;
    aba_joint1 one;
    aba_joint3 three;
} aba_body;

typedef struct {
    mat3 R;
    vec3 w, al, a;
} aba_motion;  // of a body: axes, angular velocity, acceleration

/// Scratch of one lane block. [nbody] each
typedef struct {
    aba_body *body;
    aba_motion *motion;  // written for forks and joints of three degrees of freedom
    subtree *hand;       // sums at forks
    twist *accel;        // angular and linear, written for forks
} aba_work;

/// One body of the pass outwards. motion: of the body before, then of this one.
FN void aba_outward_body(const lane_model *m, const lane_body *b, joint_form f, int i, const real *q, const real *v, aba_work *work,
                         aba_motion *motion)
{
    aba_motion M = *motion;
    aba_rigid *s = &work->body[i].rigid;
    if (f.flags & BODY_ROOT) {
        M.w = M.al = zero3();
        M.a = vec(negate(m->gravity[0]), negate(m->gravity[1]), negate(m->gravity[2]));
    } else if (!(f.flags & BODY_NEXT)) M = work->motion[b->parent];

    const mat3 R = body_axes(b, f, M.R, q);
    const vec3 r = body_offset(b, f, M.R, R.z, q);
    if (!(f.flags & BODY_ROOT) && has_arm(f)) M.a = cross_add(cross_add(M.a, M.al, r), M.w, cross(M.w, r));
    M.R = R;
    if (!(f.flags & BODY_ROOT) && slides(f)) M.a = add_scaled(M.a, cross(M.w, joint_slide(b, f, R, v)), rset(2));
    if (turns(f)) {
        const vec3 t = joint_turn(b, f, R, v);
        M.al = cross_add(M.al, M.w, t);
        M.w = add(M.w, t);
    }
    s->z = R.z;
    if (has_arm(f) || (f.flags & BODY_ROOT)) s->r = r;
    if (f.flags & BODY_MASS) {
        const vec3 h = mul(R, load3(given(b)->h));
        const sym3 A = turn(R, load_sym(given(b)->I));
        s->h = h;
        s->A = A;
        s->w.f = cross_add(cross_add(scale(M.a, given(b)->mass), M.al, h), M.w, cross(M.w, h));
        s->w.n = cross_add(add(cross(h, M.a), smul(A, M.al)), M.w, smul(A, M.w));
    }
    if ((f.flags & BODY_FORK) || f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) work->motion[i] = M;
    *motion = M;
}

KERNEL void aba_outward(const lane_model *m, const real *q, const real *v, aba_work *work)
{
    aba_motion M;
    M.R.x = M.R.y = M.R.z = M.w = M.al = M.a = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, aba_outward_body(m, b, f, i, q, v, work, &M))
    }
}

/// A body whose joint has one degree of freedom.
FN void aba_inward1(const lane_body *b, joint_form f, const real *tau, aba_body *s, subtree *next, subtree *fork, int i,
                    subtree *out)
{
    const vec3 z = s->rigid.z, r = s->rigid.r;
    inertia6 P;
    wrench w;
    gather_subtree(f, &s->rigid.A, &s->rigid.h, given(b)->mass, &s->rigid.w, next, &fork[i], &P, &w);
    pivot1 t;
    joint_column(b, f.kind, z, &P, &t.Ua, &t.Ul);
    t.i = rset(1) / joint_pivot(b, f.kind, z, t.Ua, t.Ul, given(b)->armature);
    const real u = tau[b->vadr] - joint_row(b, f.kind, z, w);
    s->one.pivot = t, s->one.u = u;
    if (f.flags & BODY_ROOT) return;
    hand_on(has_arm(f), r, inertia_eliminate(P, t.Ua, t.Ul, t.i), leave_over1(w, &t, u), out);
}

/// A ball or a translation.
FN void aba_inward3(const lane_body *b, const real *tau, const aba_motion *M, aba_body *s, subtree *next, subtree *fork, int i,
                    subtree *out)
{
    const bool ball = b->kind == JOINT_BALL;
    const vec3 r = s->rigid.r, t = vec(tau[b->vadr], tau[b->vadr + 1], tau[b->vadr + 2]);
    inertia6 P;
    wrench w;
    gather_subtree(form_of(b), &s->rigid.A, &s->rigid.h, given(b)->mass, &s->rigid.w, next, &fork[i], &P, &w);
    sym3 D = ball ? P.A : P.D;
    const real J = given(b)->armature;
    D.xx = D.xx + J, D.yy = D.yy + J, D.zz = D.zz + J;
    const ldl3 F = ldl_factor(D);
    const vec3 u = ldl_solve(F, ball ? sub(mul(M->R, t), w.n) : sub(t, w.f));
    s->three.r = r, s->three.u = u;
#ifdef CATENA_ALONG
    s->three.D = F;
#endif
    if (b->flags & BODY_ROOT) return;
    mat3 Ua, Ul;
    s->three.G = eliminate3(F, NULL, &P, &Ua, &Ul);
    w.n = mul_add(w.n, Ua, u), w.f = mul_add(w.f, Ul, u);
    hand_on(b->flags & BODY_OFFSET, r, P, w, out);
}

/// One body of the pass inwards. next: what the body after it hands on, then what it hands on.
FN void aba_inward_body(const lane_body *b, joint_form f, int i, const real *tau, aba_work *work, subtree *next)
{
    aba_body *s = &work->body[i];
    subtree scratch, *out = f.flags & BODY_NEXT ? next : f.flags & BODY_LAST ? &work->hand[b->parent] : &scratch;
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) aba_inward3(b, tau, &work->motion[i], s, next, work->hand, i, out);
    else aba_inward1(b, f, tau, s, next, work->hand, i, out);
    if (!(f.flags & (BODY_NEXT | BODY_LAST | BODY_ROOT))) add_subtree(&work->hand[b->parent], out);
}

KERNEL void aba_inward(const lane_model *m, const real *tau, aba_work *work)
{
    subtree next;
    clear_subtree(&next);
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, aba_inward_body(b, f, i, tau, work, &next))
    }
}

/// One body of the second pass outwards. accel: d, the acceleration that the joints up to the parent add, then up to this one.
FN void aba_accelerate_body(const lane_body *b, joint_form f, int i, aba_work *work, twist *accel, real *x)
{
    const aba_body *s = &work->body[i];
    twist d = motion_before(b, f, &s->rigid.r, accel, work->accel);
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION)
        move_joint3(f, &work->motion[i].R, &s->three.G, s->three.u, &d, x + b->vadr);
    else {
        const pivot1 *t = &s->one.pivot;
        const real y = dot_sub(dot_sub(s->one.u, t->Ua, d.w), t->Ul, d.v) * t->i;
        x[b->vadr] = y;
        add_joint_motion(b, f.kind, s->one.z, y, &d.w, &d.v);
    }
    if (f.flags & BODY_FORK) work->accel[i] = d;
    *accel = d;
}

KERNEL void aba_accelerate(const lane_model *m, aba_work *work, real *x)
{
    twist d;
    d.w = d.v = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, aba_accelerate_body(b, f, i, work, &d, x))
    }
}

/// qdd with H qdd = tau - c(q, v).
KERNEL void aba(const lane_model *m, const real *q, const real *v, const real *tau, aba_work *work, real *qdd)
{
    aba_outward(m, q, v, work);
    aba_inward(m, tau, work);
    aba_accelerate(m, work, qdd);
}

#endif
