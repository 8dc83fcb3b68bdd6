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

typedef struct {
    vec3 z, r;  // joint axis; from the parent's origin to this one
    sym3 A;     // rotational inertia
    vec3 h;     // first moment
    wrench w;
} aba_rigid;

typedef struct {
    vec3 z, r;
    vec3 Ua, Ul;
    real i, u;  // 1/D, tau - S'w
} aba_joint1;

typedef struct {
    vec3 r, u;  // u = D^-1 (tau - S'w)
    gain3 G;
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

typedef struct {
    inertia6 P;
    wrench w;
} aba_hand;  // what a subtree hands to its parent

typedef struct {
    vec3 al, a;
} aba_accel;

/// Scratch of one lane block. [nbody] each
typedef struct {
    aba_body *body;
    aba_motion *motion;  // written for forks and joints of three degrees of freedom
    aba_hand *hand;      // sums at forks
    aba_accel *accel;    // written for forks
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
        const vec3 h = mul(R, load3(b->h));
        const sym3 A = turn(R, load_sym(b->I));
        s->h = h;
        s->A = A;
        s->w.f = cross_add(cross_add(scale(M.a, b->mass), M.al, h), M.w, cross(M.w, h));
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

/// What hangs on body i, itself included.
FN void gather_subtree(const lane_body *b, joint_form f, const aba_rigid *s, const aba_hand *next, const aba_hand *fork,
                       inertia6 *P, wrench *w)
{
    if (f.flags & BODY_LEAF) {
        *P = inertia_rigid(s->A, s->h, b->mass);
        *w = s->w;
        return;
    }
    *P = next->P;
    *w = next->w;
    if (f.flags & BODY_MASS) {
        *P = inertia_add_rigid(*P, s->A, s->h, b->mass);
        *w = wrench_add(*w, s->w);
    }
    if (f.flags & BODY_FORK) *P = inertia_add(*P, fork->P), *w = wrench_add(*w, fork->w);
}

/// A body whose joint has one degree of freedom.
FN void aba_inward1(const lane_body *b, joint_form f, const real *tau, aba_body *s, aba_hand *next, aba_hand *fork, int i,
                    aba_hand *out)
{
    const vec3 z = s->rigid.z, r = s->rigid.r;
    inertia6 P;
    wrench w;
    vec3 Ua, Ul;
    gather_subtree(b, f, &s->rigid, next, &fork[i], &P, &w);
    joint_column(b, f.kind, z, &P, &Ua, &Ul);
    const real I = rset(1) / joint_pivot(b, f.kind, z, Ua, Ul), u = tau[b->vadr] - joint_row(b, f.kind, z, w);
    s->one.Ua = Ua, s->one.Ul = Ul, s->one.i = I, s->one.u = u;
    if (f.flags & BODY_ROOT) return;
    const real d = I * u;
    w.n = add_scaled(w.n, Ua, d), w.f = add_scaled(w.f, Ul, d);
    P = inertia_eliminate(P, Ua, Ul, I);
    if (has_arm(f)) {
        out->w = wrench_shift(w, r);
        out->P = inertia_shift(P, r);
    } else out->P = P, out->w = w;
}

/// A ball or a translation.
FN void aba_inward3(const lane_body *b, const real *tau, const aba_motion *M, aba_body *s, aba_hand *next, aba_hand *fork, int i,
                    aba_hand *out)
{
    const bool ball = b->kind == JOINT_BALL;
    const vec3 r = s->rigid.r, t = vec(tau[b->vadr], tau[b->vadr + 1], tau[b->vadr + 2]);
    inertia6 P;
    wrench w;
    gather_subtree(b, form_of(b), &s->rigid, next, &fork[i], &P, &w);
    sym3 D = ball ? P.A : P.D;
    const real J = b->armature;
    D.xx = D.xx + J, D.yy = D.yy + J, D.zz = D.zz + J;
    const ldl3 F = ldl_factor(D);
    const vec3 u = ldl_solve(F, ball ? sub(mul(M->R, t), w.n) : sub(t, w.f));
    s->three.r = r, s->three.u = u;
    if (b->flags & BODY_ROOT) return;
    const mat3 Ua = sym_full(P.A), Ul = transposed(P.B);
    s->three.G = gain_of(F, Ua, Ul);
    w.n = mul_add(w.n, Ua, u), w.f = mul_add(w.f, Ul, u);
    P = inertia_eliminate3(P, Ua, Ul, s->three.G);
    const bool arm = b->flags & BODY_OFFSET;
    out->w = arm ? wrench_shift(w, r) : w;
    out->P = arm ? inertia_shift(P, r) : P;
}

/// One body of the pass inwards. next: what the body after it hands on, then what it hands on.
FN void aba_inward_body(const lane_body *b, joint_form f, int i, const real *tau, aba_work *work, aba_hand *next)
{
    aba_body *s = &work->body[i];
    aba_hand scratch, *out = f.flags & BODY_NEXT ? next : f.flags & BODY_LAST ? &work->hand[b->parent] : &scratch;
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) aba_inward3(b, tau, &work->motion[i], s, next, work->hand, i, out);
    else aba_inward1(b, f, tau, s, next, work->hand, i, out);
    if (!(f.flags & (BODY_NEXT | BODY_LAST | BODY_ROOT))) {
        aba_hand *p = &work->hand[b->parent];
        p->P = inertia_add(p->P, out->P), p->w = wrench_add(p->w, out->w);
    }
}

KERNEL void aba_inward(const lane_model *m, const real *tau, aba_work *work)
{
    aba_hand next;
    next.P = inertia_zero(), next.w = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, aba_inward_body(b, f, i, tau, work, &next))
    }
}

/// One body of the second pass outwards: x = D^-1 (u - U' d). accel: d, the acceleration that the joints up to the parent add, then up
/// to this one.
FN void aba_accelerate_body(const lane_body *b, joint_form f, int i, aba_work *work, aba_accel *accel, real *x)
{
    const aba_body *s = &work->body[i];
    aba_accel d = *accel;
    const bool root_body = f.flags & BODY_ROOT;
    if (root_body) d.al = d.a = zero3();
    else if (!(f.flags & BODY_NEXT)) d = work->accel[b->parent];
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) {
        vec3 y = s->three.u;
        if (!root_body) {
            if (has_arm(f)) d.a = cross_add(d.a, d.al, s->three.r);
            y = sub(y, mul_add(mul(s->three.G.Xa, d.al), s->three.G.Xl, d.a));
        }
        const vec3 e = f.kind == JOINT_BALL ? tmul(work->motion[i].R, y) : y;
        x[b->vadr] = e.x, x[b->vadr + 1] = e.y, x[b->vadr + 2] = e.z;
        if (f.kind == JOINT_BALL) d.al = add(d.al, y);
        else d.a = add(d.a, y);
    } else {
        if (!root_body && has_arm(f)) d.a = cross_add(d.a, d.al, s->one.r);
        const vec3 z = s->one.z;
        const real y = dot_sub(dot_sub(s->one.u, s->one.Ua, d.al), s->one.Ul, d.a) * s->one.i;
        x[b->vadr] = y;
        add_joint_motion(b, f.kind, z, y, &d.al, &d.a);
    }
    if (f.flags & BODY_FORK) work->accel[i] = d;
    *accel = d;
}

KERNEL void aba_accelerate(const lane_model *m, aba_work *work, real *x)
{
    aba_accel d;
    d.al = d.a = zero3();
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
