/// The exact Newton step of the variational method in O(N): an articulated-body sweep whose left subspaces are those at q0, where
/// the equations are projected, and whose right ones are those at q1, where the unknowns move the bodies. (docs/theory.md 6.3)
///
///     inwards    D = SL' P SR + joint terms,  u = -(SL' p + h r),  P' = P - P SR D^-1 SL' P,  p' = p + P SR D^-1 u
///     outwards   dq = D^-1 (u - SL' P d_parent),  d = d_parent + SR dq
///
/// P starts as the cross inertia of T(q0) M T(q1)'. It is not symmetric, and moves to the parent's origin by the offset at q0 on
/// the left and the one at q1 on the right. Equations are multiplied by h, so that P is an inertia. A pivot that is not positive
/// says that the step is too large: it is, for a single hinge, the cosine of the angle turned.
#ifndef CATENA_VARIATIONAL_SWEEP_H
#define CATENA_VARIATIONAL_SWEEP_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/kinematics.h"
#include "forces/joint_elements.h"
#include "integrators/newton_sweep.h"
#include "integrators/variational.h"

/// [A B; C D] maps a motion (angular, linear) at q1 to h times a change of momentum (moment, force) at q0.
typedef struct {
    mat3 A, B, C, D;
} cross6;

FN mat3 mat_sub(mat3 A, mat3 B)
{
    A.x = sub(A.x, B.x), A.y = sub(A.y, B.y), A.z = sub(A.z, B.z);
    return A;
}

FN mat3 mat_diagonal(real x, real y, real z)
{
    const real o = rset(0);
    mat3 M;
    M.x = vec(x, o, o), M.y = vec(o, y, o), M.z = vec(o, o, z);
    return M;
}

FN cross6 cross_zero(void)
{
    cross6 P;
    P.A.x = P.A.y = P.A.z = zero3();
    P.B = P.C = P.D = P.A;
    return P;
}

FN cross6 cross_sum(cross6 P, cross6 Q)
{
    P.A = mat3_add(P.A, Q.A), P.B = mat3_add(P.B, Q.B), P.C = mat3_add(P.C, Q.C), P.D = mat3_add(P.D, Q.D);
    return P;
}

/// P + cross inertia of a body: with X = R1 S R0' = I + K and first moments c0, c1: [tr X - X, [c0]; -[c1], m].
FN cross6 cross_add_body(cross6 P, const lane_body *b, const chord_start *s, const chord_body *t)
{
    const real m = given(b)->mass;
    const mat3 X = mat3_add(sym_full(s->I), t->K);
    const vec3 c = s->c, d = mul(t->R, load3(given(b)->h));
    P.A.x = vec(P.A.x.x + (X.y.y + X.z.z), P.A.x.y - X.x.y, P.A.x.z - X.x.z);
    P.A.y = vec(P.A.y.x - X.y.x, P.A.y.y + (X.x.x + X.z.z), P.A.y.z - X.y.z);
    P.A.z = vec(P.A.z.x - X.z.x, P.A.z.y - X.z.y, P.A.z.z + (X.x.x + X.y.y));
    P.B.x.y = P.B.x.y + c.z, P.B.x.z = P.B.x.z - c.y;
    P.B.y.x = P.B.y.x - c.z, P.B.y.z = P.B.y.z + c.x;
    P.B.z.x = P.B.z.x + c.y, P.B.z.y = P.B.z.y - c.x;
    P.C.x.y = P.C.x.y - d.z, P.C.x.z = P.C.x.z + d.y;
    P.C.y.x = P.C.y.x + d.z, P.C.y.z = P.C.y.z - d.x;
    P.C.z.x = P.C.z.x - d.y, P.C.z.y = P.C.z.y + d.x;
    P.D.x.x = P.D.x.x + m, P.D.y.y = P.D.y.y + m, P.D.z.z = P.D.z.z + m;
    return P;
}

/// P about an origin from which the present one stands off by r at q0 (left) and by s at q1 (right):
/// B' = B + [r]D, C' = C - D[s], A' = A + [r]C - B'[s].
FN cross6 cross_shift(cross6 P, vec3 r, vec3 s)
{
    P.A = mat3_add(P.A, skew_times(r, P.C));
    P.B = mat3_add(P.B, skew_times(r, P.D));
    // M [s] = ([s]' M')' = -([s] M')'
    P.A = mat3_add(P.A, transposed(skew_times(s, transposed(P.B))));
    P.C = mat3_add(P.C, transposed(skew_times(s, transposed(P.D))));
    return P;
}

/// P S of a joint of one degree of freedom with axis z, by its halves.
FN void cross_column(const lane_body *b, int kind, vec3 z, const cross6 *P, vec3 *a, vec3 *l)
{
    switch (kind) {
    case JOINT_PRISMATIC: *a = mul(P->B, z), *l = mul(P->D, z); break;
    case JOINT_HELICAL: {
        const vec3 s = scale(z, len(given(b)->pitch));
        *a = mul_add(mul(P->A, z), P->B, s), *l = mul_add(mul(P->C, z), P->D, s);
        break;
    }
    default: *a = mul(P->A, z), *l = mul(P->C, z);
    }
}

/// S' P, by its halves.
FN void cross_row(const lane_body *b, int kind, vec3 z, const cross6 *P, vec3 *a, vec3 *l)
{
    switch (kind) {
    case JOINT_PRISMATIC: *a = tmul(P->C, z), *l = tmul(P->D, z); break;
    case JOINT_HELICAL: {
        const vec3 s = scale(z, len(given(b)->pitch));
        *a = add(tmul(P->A, z), tmul(P->C, s)), *l = add(tmul(P->B, z), tmul(P->D, s));
        break;
    }
    default: *a = tmul(P->A, z), *l = tmul(P->B, z);
    }
}

FN mat3 sub_dyad(mat3 M, vec3 a, vec3 b)  // M - a b'
{
    M.x = sub_scaled(M.x, a, b.x), M.y = sub_scaled(M.y, a, b.y), M.z = sub_scaled(M.z, a, b.z);
    return M;
}

/// L U of a 3x3 matrix without pivoting: its symmetric part is positive definite for steps that are not too large.
typedef struct {
    real i1, i2, i3;  // 1/d
    real l21, l31, l32, u12, u13, u23;
    real least;  // the smallest pivot
} lu3;

FN lu3 lu_factor(mat3 M)
{
    lu3 F;
    F.i1 = rset(1) / M.x.x;
    F.u12 = M.y.x, F.u13 = M.z.x;
    F.l21 = M.x.y * F.i1, F.l31 = M.x.z * F.i1;
    const real d2 = fnmadd(F.l21, F.u12, M.y.y);
    F.i2 = rset(1) / d2;
    F.u23 = fnmadd(F.l21, F.u13, M.z.y);
    F.l32 = fnmadd(F.l31, F.u12, M.y.z) * F.i2;
    const real d3 = fnmadd(F.l32, F.u23, fnmadd(F.l31, F.u13, M.z.z));
    F.i3 = rset(1) / d3;
    const real e = sel(lt(d2, M.x.x), d2, M.x.x);
    F.least = sel(lt(d3, e), d3, e);
    return F;
}

FN vec3 lu_solve(lu3 F, vec3 b)
{
    const real y = fnmadd(F.l21, b.x, b.y), z = fnmadd(F.l32, y, fnmadd(F.l31, b.x, b.z));
    vec3 x;
    x.z = z * F.i3;
    x.y = fnmadd(F.u23, x.z, y) * F.i2;
    x.x = fnmadd(F.u13, x.z, fnmadd(F.u12, x.y, b.x)) * F.i1;
    return x;
}

FN mat3 lu_solve3(lu3 F, mat3 M)
{
    M.x = lu_solve(F, M.x), M.y = lu_solve(F, M.y), M.z = lu_solve(F, M.z);
    return M;
}

/// What the sweep inwards leaves, with SL' P for U'.
typedef union {
    pivot1 one;
    struct {
        gain3 G;
        real mobility;  // trace of D^-1
    } three;
} chord_joint;

/// What a subtree hands to its parent.
typedef struct {
    cross6 P;
    wrench p;
} chord_hand;

/// What is kept besides, for chord_factor(): P SR by its halves, and of three degrees of freedom D^-1.
typedef union {
    struct {
        vec3 a, l;
    } one;
    struct {
        mat3 a, l, inverse;
    } three;
} chord_column;

/// Scratch of one lane block, arrays [nbody].
typedef struct {
    chord_joint *joint;
    chord_hand *hand;    // sums at forks
    twist *motion;       // written for forks
    chord_column *column;
} chord_sweep;

/// A joint of one degree of freedom: P, p of its subtree become what it hands to its parent. keep: what there is besides the
/// factors of the sweep; NULL, a constant in the call: not asked for. Returns where the pivot is positive.
FN mask chord_inward1(const lane_body *b, joint_form f, const chord *W, chord_sweep *work, int i, chord_column *keep, cross6 *P,
                      wrench *p, real *d)
{
    const vec3 z0 = W->start[i].R.z, z1 = W->body[i].R.z;
    pivot1 s;
    vec3 a, l;
    cross_column(b, f.kind, z1, P, &a, &l);
    cross_row(b, f.kind, z0, P, &s.Ua, &s.Ul);
    if (keep) keep->one.a = a, keep->one.l = l;
    wrench column;
    column.n = a, column.f = l;
    real D = joint_row(b, f.kind, z0, column) + given(b)->armature;
    if (b->flags & BODY_PASSIVE) D = fmadd(W->h * W->theta, W->start[i].drag.xx, D);
    const mask good = gt(D, rset(0));
    s.i = rset(1) / sel(good, D, rset(1));
    const real u = negate(fmadd(W->h, W->r[b->vadr], joint_row(b, f.kind, z0, *p)));
    work->joint[i].one = s, d[b->vadr] = u;
    if (f.flags & BODY_ROOT) return good;
    const vec3 ai = scale(a, s.i), li = scale(l, s.i);
    p->n = add_scaled(p->n, ai, u), p->f = add_scaled(p->f, li, u);
    P->A = sub_dyad(P->A, ai, s.Ua), P->B = sub_dyad(P->B, ai, s.Ul);
    P->C = sub_dyad(P->C, li, s.Ua), P->D = sub_dyad(P->D, li, s.Ul);
    return good;
}

/// Change of h times the joint's own row by its motion, world axes: with e = (w, v) the quaternion of a ball's turn, its chord 2
/// v changes by w + [v].
FN mat3 joint_stiffness3(const lane_body *b, const chord *W, int i)
{
    sym3 k = sym_diagonal(given(b)->armature, given(b)->armature, given(b)->armature);
    if (b->flags & BODY_PASSIVE) {
        const sym3 drag = W->start[i].drag;
        const real s = W->h * W->theta;
        k.xx = fmadd(s, drag.xx, k.xx), k.yy = fmadd(s, drag.yy, k.yy), k.zz = fmadd(s, drag.zz, k.zz);
        k.xy = s * drag.xy, k.xz = s * drag.xz, k.yz = s * drag.yz;
    }
    if (b->kind == JOINT_TRANSLATION) return sym_full(k);
    const quat e = quat_load(W->step + b->qadr);
    mat3 Q;  // (w + [v]) R1'
    const mat3 Rt = transposed(W->body[i].R);
    const vec3 v = vec(e.x, e.y, e.z);
    Q.x = cross_add(scale(Rt.x, e.w), v, Rt.x);
    Q.y = cross_add(scale(Rt.y, e.w), v, Rt.y);
    Q.z = cross_add(scale(Rt.z, e.w), v, Rt.z);
    return mmul(W->start[i].R, mmul(sym_full(k), Q));
}

/// A ball or a translation.
FN mask chord_inward3(const lane_body *b, const chord *W, chord_sweep *work, int i, chord_column *keep, cross6 *P, wrench *p,
                      real *d)
{
    const bool ball = b->kind == JOINT_BALL;
    gain3 *G = &work->joint[i].three.G;
    const vec3 r = vec(W->r[b->vadr], W->r[b->vadr + 1], W->r[b->vadr + 2]), row = scale(ball ? mul(W->start[i].R, r) : r, W->h);
    mat3 D = ball ? P->A : P->D;
    if (has_terms(b, NULL)) D = mat3_add(D, joint_stiffness3(b, W, i));
    const lu3 F = lu_factor(D);
    const real one = rset(1);
    const mat3 inverse = lu_solve3(F, mat_diagonal(one, one, one));
    work->joint[i].three.mobility = inverse.x.x + inverse.y.y + inverse.z.z;
    if (keep) keep->three.a = P->A, keep->three.l = P->C, keep->three.inverse = inverse;
    const vec3 y = lu_solve(F, opposite(add(ball ? p->n : p->f, row)));
    store3(d + b->vadr, y);
    const mask good = gt(F.least, rset(0));
    if (b->flags & BODY_ROOT) return good;
    G->Xa = lu_solve3(F, P->A), G->Xl = lu_solve3(F, P->B);
    p->n = add(p->n, mul(P->A, y)), p->f = add(p->f, mul(P->C, y));
    P->B = mat_sub(P->B, mmul(P->A, G->Xl));
    P->A = mat_sub(P->A, mmul(P->A, G->Xa));
    P->D = mat_sub(P->D, mmul(P->C, G->Xl));
    P->C = mat_sub(P->C, mmul(P->C, G->Xa));
    return good;
}

FN mask chord_inward_body(const lane_body *b, joint_form f, const chord *W, chord_sweep *work, int i, chord_column *keep,
                          chord_hand *next, real *d)
{
    cross6 P;
    wrench p;
    if (f.flags & BODY_LEAF) P = cross_zero(), p = wrench_zero();
    else P = next->P, p = next->p;
    if (f.flags & BODY_MASS) P = cross_add_body(P, b, &W->start[i], &W->body[i]);
    if (f.flags & BODY_FORK) P = cross_sum(P, work->hand[i].P), p = wrench_add(p, work->hand[i].p);
    mask good;
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) good = chord_inward3(b, W, work, i, keep, &P, &p, d);
    else good = chord_inward1(b, f, W, work, i, keep, &P, &p, d);
    if (f.flags & BODY_ROOT) return good;
    if (has_arm(f)) p = wrench_shift(p, W->start[i].r), P = cross_shift(P, W->start[i].r, W->body[i].r);
    chord_hand *out = f.flags & BODY_NEXT ? next : &work->hand[b->parent];
    if (!(f.flags & (BODY_NEXT | BODY_LAST))) P = cross_sum(out->P, P), p = wrench_add(out->p, p);
    out->P = P, out->p = p;
    return good;
}

/// The sweep inwards at the iterate of W (after chord_residual), with d [nv] for chord_outward(). Returns the lanes of which all
/// pivots are positive.
KERNEL mask chord_inward(const lane_model *m, const chord *W, chord_sweep *work, real *d)
{
    chord_hand next;
    next.P = cross_zero(), next.p = wrench_zero();
    mask good = not_(none_of());
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, good = both(good, chord_inward_body(b, f, W, work, i, NULL, &next, d)))
    }
    return good;
}

/// The sweep outwards: d [nv], the Newton step in the coordinates of v at q1 (balls: body axes).
KERNEL void chord_outward(const lane_model *m, const chord *W, chord_sweep *work, real *d)
{
    twist T;
    T.w = T.v = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const chord_body *at = &W->body[i];
        const chord_joint *s = &work->joint[i];
        BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &s->one, &s->three.G, work->motion, i, &T, d))
    }
}

/// Keeps the factors of h J, J the matrix of the Newton step at the iterate of W, for chord_solve_transposed(). d [nv]: scratch
KERNEL void chord_factor(const lane_model *m, const chord *W, chord_sweep *work, real *d)
{
    chord_hand next;
    next.P = cross_zero(), next.p = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        chord_inward_body(b, form_of(b), W, work, i, &work->column[i], &next, d);
    }
}

/// y with J'y = b, after chord_factor(); both [nv], b by motions at q1, y at q0. J' has the subspaces exchanged, and so its
/// sweep:
///
///     inwards    g = h b - SR'p,  p' = p + (D^-1 SL'P)' g        outwards   y = D^-T (g - (P SR)' d_parent),  d = d_parent + SL y
///
/// with p about the origins at q1, d at those at q0. load, motion [nbody]: scratch.
KERNEL void chord_solve_transposed(const lane_model *m, const chord *W, const chord_sweep *work, const real *b_, wrench *load,
                                   twist *motion, real *y_)
{
    for (int i = 0; i < m->nbody; i++) load[i] = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const mat3 R = W->body[i].R;
        const chord_joint *s = &work->joint[i];
        const int j = b->vadr;
        wrench p = load[i];
        if (b->nv == 3) {
            const vec3 c = scale(vec(b_[j], b_[j + 1], b_[j + 2]), W->h);
            const vec3 g = b->kind == JOINT_BALL ? sub(mul(R, c), p.n) : sub(c, p.f);  // world axes
            y_[j] = g.x, y_[j + 1] = g.y, y_[j + 2] = g.z;
            if (b->flags & BODY_ROOT) continue;
            p.n = add(p.n, tmul(s->three.G.Xa, g)), p.f = add(p.f, tmul(s->three.G.Xl, g));
        } else {
            const real g = y_[j] = fmadd(W->h, b_[j], negate(joint_row(b, b->kind, R.z, p)));
            if (b->flags & BODY_ROOT) continue;
            p.n = add_scaled(p.n, s->one.Ua, s->one.i * g), p.f = add_scaled(p.f, s->one.Ul, s->one.i * g);
        }
        load[b->parent] = wrench_add(load[b->parent], has_arm(form_of(b)) ? wrench_shift(p, W->body[i].r) : p);
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const bool root_body = b->flags & BODY_ROOT;
        const mat3 R = W->start[i].R;
        const chord_column *k = &work->column[i];
        real *y = y_ + b->vadr;
        twist d;
        d.w = d.v = zero3();
        if (!root_body) {
            d = motion[b->parent];
            if (has_arm(form_of(b))) d.v = cross_add(d.v, d.w, W->start[i].r);
        }
        if (b->nv == 3) {
            vec3 g = vec(y[0], y[1], y[2]);
            if (!root_body) g = sub(g, add(tmul(k->three.a, d.w), tmul(k->three.l, d.v)));
            const vec3 x = tmul(k->three.inverse, g), e = b->kind == JOINT_BALL ? tmul(R, x) : x;
            y[0] = e.x, y[1] = e.y, y[2] = e.z;
            if (b->kind == JOINT_BALL) d.w = add(d.w, x);
            else d.v = add(d.v, x);
        } else {
            if (!root_body) y[0] = dot_sub(dot_sub(y[0], k->one.a, d.w), k->one.l, d.v);
            y[0] = y[0] * work->joint[i].one.i;
            add_joint_motion(b, b->kind, R.z, y[0], &d.w, &d.v);
        }
        motion[i] = d;
    }
}

#endif
