/// The exact Newton step of a position-based method in O(N): one articulated-body sweep with a cross term. (docs/theory.md 4.3)
///
///     inwards    U = P S + N,  D = S'P S + joint terms,  P' = P - U D^-1 U',  p' = p - U D^-1 (S'p + r)
///     outwards   dq = -D^-1 (U' d_parent + S'p + r),  d = d_parent + S dq
///
/// N = S x* w / 2 couples a joint to its parent's twist: the geometric stiffness of the wrench w that its subtree carries.
/// The sweep is a block LDL' factorisation: all pivots D positive certify a descent direction. Where a pivot is not positive, the
/// curvature of what hangs on that joint is dropped, which leaves the Gauss-Newton blocks there, and the sweep goes over that
/// subtree again; the rest of the tree keeps its Newton steps.
#ifndef CATENA_NEWTON_SWEEP_H
#define CATENA_NEWTON_SWEEP_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "forces/joint_elements.h"
#include "forces/body_loads.h"
#include "integrators/joint_terms.h"
#include "integrators/collocation.h"

enum { SWEEP_RESTARTS = 16 };  // of a lane; then all its curvature is dropped, so that the cost stays linear

/// What a sweep inwards leaves for the sweep outwards (where left and right subspaces differ, U' is the left row).
typedef struct {
    vec3 Ua, Ul;
    real i, u;  // 1/D, S'p + r
} sweep_joint1;

typedef struct {
    vec3 u;  // D^-1 (S'p + r), world axes
    gain3 G;
} sweep_joint3;

typedef union {
    sweep_joint1 one;
    sweep_joint3 three;
} sweep_body;

/// What a subtree hands to its parent: inertia, right-hand side, and the wrench of the bodies whose curvature is dropped.
typedef struct {
    inertia6 P;
    wrench p, lost;
} sweep_hand;

typedef struct {
    vec3 w, v;
} sweep_twist;

/// Scratch of one lane block, arrays [nbody].
typedef struct {
    sweep_body *body;
    sweep_hand *hand;    // sums at forks
    sweep_twist *twist;  // written for forks
    real *keep;          // 1: with curvature, 0: without
} sweep_work;

/// Adds S x* w / 2, (s, v) x* (n, f) = (s x n + v x f, s x f), to the column U of a joint of one degree of freedom.
FN void add_cross_term(const lane_body *b, joint_form f, vec3 z, wrench w, vec3 *Ua, vec3 *Ul)
{
    const vec3 s = scale(z, rset(0.5));
    switch (f.kind) {
    case JOINT_PRISMATIC: *Ua = cross_add(*Ua, s, w.f); break;
    case JOINT_HELICAL:
        *Ua = cross_add(cross_add(*Ua, s, w.n), scale(s, rset(b->pitch)), w.f);
        *Ul = cross_add(*Ul, s, w.f);
        break;
    default: *Ua = cross_add(*Ua, s, w.n), *Ul = cross_add(*Ul, s, w.f);
    }
}

/// The rotational block and the first moment of one body, without curvature where keep is 0.
FN void drop_curvature(const lane_body *b, const solve *W, int i, real keep, sym3 *A, vec3 *h)
{
    const mask kept = gt(keep, rset(0));
    const real k2 = W->in.k2;
    sym3 I = turn(W->now[i].R, load_sym(b->I));
    I.xx = k2 * I.xx, I.yy = k2 * I.yy, I.zz = k2 * I.zz, I.xy = k2 * I.xy, I.xz = k2 * I.xz, I.yz = k2 * I.yz;
    *A = sel_sym(kept, *A, I);
    *h = sel3(kept, *h, scale(mul(W->now[i].R, load3(b->h)), k2));
}

/// Inertia, right-hand side and lost wrench of what hangs on body i, itself included.
FN void sweep_gather(const lane_body *b, joint_form f, const solve *W, const sweep_work *work, int i, bool dropping, bool loaded,
                     const sweep_hand *next, inertia6 *P, wrench *p, wrench *lost)
{
    const iterate_body *t = &W->body[i];
    sym3 A = t->A;
    vec3 h = t->b;
    *lost = wrench_zero();
    if (dropping && (loaded || (f.flags & BODY_MASS))) {
        const real keep = work->keep[i];
        if (f.flags & BODY_MASS) drop_curvature(b, W, i, keep, &A, &h);
        lost->n = scale(t->w.n, rset(1) - keep), lost->f = scale(t->w.f, rset(1) - keep);
    }
    if (f.flags & BODY_LEAF) {
        *P = inertia_rigid(A, h, b->mass * W->in.k2);
        *p = wrench_zero();
    } else {
        *P = next->P, *p = next->p;
        if (f.flags & BODY_MASS) *P = inertia_add_rigid(*P, A, h, b->mass * W->in.k2);
        if (f.flags & BODY_FORK) *P = inertia_add(*P, work->hand[i].P), *p = wrench_add(*p, work->hand[i].p);
    }
    if (loaded) {
        const body_load *L = &W->load[b->load];
        *P = inertia_add(*P, dropping ? sel_inertia(gt(work->keep[i], rset(0)), L->P, L->safe) : L->P);
    }
    if (!dropping) return;
    if (!(f.flags & BODY_LEAF)) *lost = wrench_add(*lost, next->lost);
    if (f.flags & BODY_FORK) *lost = wrench_add(*lost, work->hand[i].lost);
}

/// The wrench on body i that has curvature. Taken off the sum, it is the sum to the last bit in lanes that drop nothing.
FN wrench curved_wrench(const solve *W, int i, bool dropping, wrench lost)
{
    wrench w = W->sum[i];
    if (dropping) w.n = sub(w.n, lost.n), w.f = sub(w.f, lost.f);
    return w;
}

/// A joint of one degree of freedom; dropping, and mostly loaded, are constants in each call. Returns where its pivot is positive.
FN mask sweep_inward1(const lane_body *b, joint_form f, const solve *W, sweep_work *work, int i, bool dropping, bool loaded,
                      const sweep_hand *next, sweep_hand *out)
{
    const vec3 z = W->now[i].R.z, r = W->now[i].r;
    sweep_joint1 *s = &work->body[i].one;
    inertia6 P;
    wrench p, lost;
    vec3 Ua, Ul;
    sweep_gather(b, f, W, work, i, dropping, loaded, next, &P, &p, &lost);
    joint_column(b, f.kind, z, &P, &Ua, &Ul);
    // S'N = 0: the pivot needs no cross term
    real D = f.kind == JOINT_PRISMATIC ? dot(z, Ul)
             : f.kind == JOINT_HELICAL ? fmadd(rset(b->pitch), dot(z, Ul), dot(z, Ua))
                                       : dot(z, Ua);
    if (has_terms(b, W->in.tau)) D = D + W->terms[i].k.xx;
    const mask good = gt(D, rset(0));
    const real I = rset(1) / sel(good, D, rset(1)), u = joint_row(b, f.kind, z, p) + W->r[b->vadr];
    if (!(f.flags & BODY_ROOT)) add_cross_term(b, f, z, curved_wrench(W, i, dropping, lost), &Ua, &Ul);
    s->Ua = Ua, s->Ul = Ul, s->i = I, s->u = u;
    if (f.flags & BODY_ROOT) return good;
    const real d = I * u;
    p.n = sub_scaled(p.n, Ua, d), p.f = sub_scaled(p.f, Ul, d);
    P = inertia_eliminate(P, Ua, Ul, I);
    if (has_arm(f)) {
        out->p = wrench_shift(p, r);
        out->P = inertia_shift(P, r);
        if (dropping) out->lost = wrench_shift(lost, r);
    } else {
        out->p = p, out->P = P;
        if (dropping) out->lost = lost;
    }
    return good;
}

/// A ball or a translation.
FN mask sweep_inward3(const lane_body *b, const solve *W, sweep_work *work, int i, bool dropping, bool loaded,
                      const sweep_hand *next, sweep_hand *out)
{
    const bool ball = b->kind == JOINT_BALL;
    const mat3 R = W->now[i].R;
    const vec3 r = W->now[i].r;
    sweep_joint3 *s = &work->body[i].three;
    inertia6 P;
    wrench p, lost;
    sweep_gather(b, form_of(b), W, work, i, dropping, loaded, next, &P, &p, &lost);
    sym3 D = ball ? P.A : P.D;
    const vec3 row = vec(W->r[b->vadr], W->r[b->vadr + 1], W->r[b->vadr + 2]);
    if (has_terms(b, W->in.tau)) {
        sym3 k = W->terms[i].k;
        if (dropping) k = sel_sym(gt(work->keep[i], rset(0)), k, W->terms[i].safe);
        D = sym_add(D, ball ? turn(R, k) : k);
    }
    const ldl3 F = ldl_factor(D);
    const mask good = gt(F.least, rset(0));
    s->u = ldl_solve(F, ball ? add(p.n, mul(R, row)) : add(p.f, row));
    if (b->flags & BODY_ROOT) return good;
    // columns of the cross term: e_k x n / 2, e_k x f / 2
    const wrench w = curved_wrench(W, i, dropping, lost);
    const vec3 n = scale(w.n, rset(0.5)), f = scale(w.f, rset(0.5));
    mat3 Ua = sym_full(P.A), Ul = transposed(P.B);
    Ua.x.y = Ua.x.y - n.z, Ua.x.z = Ua.x.z + n.y, Ua.y.x = Ua.y.x + n.z;
    Ua.y.z = Ua.y.z - n.x, Ua.z.x = Ua.z.x - n.y, Ua.z.y = Ua.z.y + n.x;
    Ul.x.y = Ul.x.y - f.z, Ul.x.z = Ul.x.z + f.y, Ul.y.x = Ul.y.x + f.z;
    Ul.y.z = Ul.y.z - f.x, Ul.z.x = Ul.z.x - f.y, Ul.z.y = Ul.z.y + f.x;
    s->G = gain_of(F, Ua, Ul);
    p.n = sub(p.n, mul(Ua, s->u)), p.f = sub(p.f, mul(Ul, s->u));
    P = inertia_eliminate3(P, Ua, Ul, s->G);
    const bool arm = b->flags & BODY_OFFSET;
    out->p = arm ? wrench_shift(p, r) : p;
    out->P = arm ? inertia_shift(P, r) : P;
    if (dropping) out->lost = arm ? wrench_shift(lost, r) : lost;
    return good;
}

FN mask sweep_inward_body(const lane_body *b, joint_form f, const solve *W, sweep_work *work, int i, bool dropping, bool loaded,
                          const sweep_hand *next, sweep_hand *out)
{
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) return sweep_inward3(b, W, work, i, dropping, loaded, next, out);
    return sweep_inward1(b, f, W, work, i, dropping, loaded, next, out);
}

/// What seldom occurs: curvature is dropped somewhere, or loads are on the body.
KERNEL mask sweep_inward_seldom(const lane_body *b, const solve *W, sweep_work *work, int i, bool dropping,
                                const sweep_hand *next, sweep_hand *out)
{
    return sweep_inward_body(b, form_of(b), W, work, i, dropping, b->flags & BODY_LOAD, next, out);
}

/// The sweep inwards at the iterate of W (after residual()), for the lanes `where`. Returns those that have a descent direction: all,
/// but where something is not finite. Lanes in which curvature was dropped are counted in *dropped. What happens in a lane does not
/// depend on the others.
KERNEL mask sweep_inward(const lane_model *m, const solve *W, sweep_work *work, mask where, real *dropped)
{
    real left = rset(SWEEP_RESTARTS);
    bool dropping = false;
    sweep_hand next, scratch;
    next.P = inertia_zero(), next.p = next.lost = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        sweep_hand *out = b->flags & BODY_NEXT ? &next : b->flags & BODY_LAST ? &work->hand[b->parent] : &scratch;
        mask good;
        if (dropping || (b->flags & BODY_LOAD)) good = sweep_inward_seldom(b, W, work, i, dropping, &next, out);
        else BY_FORM(b, f, good = sweep_inward_body(b, f, W, work, i, false, false, &next, f.flags & BODY_NEXT ? &next : out))
        const mask bad = both(where, not_(good));
        if (any_of(bad)) {
            if (!dropping)
                for (int k = 0; k < m->nbody; k++) work->keep[k] = rset(1);
            for (int k = i; k < b->end; k++) work->keep[k] = sel(bad, rset(0), work->keep[k]);
            // too many restarts: everywhere; bad even so: something is not finite
            const mask all = both(bad, lt(left, rset(1)));
            if (any_of(all))
                for (int k = 0; k < m->nbody; k++) work->keep[k] = sel(all, rset(0), work->keep[k]);
            where = both(where, not_(both(bad, lt(left, rset(0)))));
            left = left - sel(bad, rset(1), rset(0));
            // again over this subtree; sums at forks are begun anew by what is handed to them first
            i = !dropping || any_of(all) ? m->nbody : b->end;
            dropping = true;
            continue;
        }
        if (out == &scratch && !(b->flags & BODY_ROOT)) {
            sweep_hand *p = &work->hand[b->parent];
            p->P = inertia_add(p->P, out->P), p->p = wrench_add(p->p, out->p);
            if (dropping) p->lost = wrench_add(p->lost, out->lost);
        }
    }
    *dropped = *dropped + sel(both(where, lt(left, rset(SWEEP_RESTARTS))), rset(1), rset(0));
    return where;
}

/// One body of a sweep outwards, at axes *R and *r from its parent's origin, from what the sweep inwards left in *s. twist: of the body
/// before, then of this one; kept: of forks.
FN void sweep_outward_body(const lane_body *b, joint_form f, const mat3 *R, const vec3 *r, const sweep_body *s, sweep_twist *kept,
                           int i, sweep_twist *twist, real *d)
{
    const bool root_body = f.flags & BODY_ROOT;
    sweep_twist T = *twist;
    if (root_body) T.w = T.v = zero3();
    else if (!(f.flags & BODY_NEXT)) T = kept[b->parent];
    if (!root_body && has_arm(f)) T.v = cross_add(T.v, T.w, *r);
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) {
        vec3 y = s->three.u;
        if (!root_body) y = add(y, mul_add(mul(s->three.G.Xa, T.w), s->three.G.Xl, T.v));
        const vec3 e = f.kind == JOINT_BALL ? tmul(*R, y) : y;
        d[b->vadr] = negate(e.x), d[b->vadr + 1] = negate(e.y), d[b->vadr + 2] = negate(e.z);
        if (f.kind == JOINT_BALL) T.w = sub(T.w, y);
        else T.v = sub(T.v, y);
    } else {
        const vec3 z = R->z;
        real y = s->one.u;
        if (!root_body) y = y + (dot(s->one.Ua, T.w) + dot(s->one.Ul, T.v));
        y = negate(y * s->one.i);
        d[b->vadr] = y;
        add_joint_motion(b, f.kind, z, y, &T.w, &T.v);
    }
    if (f.flags & BODY_FORK) kept[i] = T;
    *twist = T;
}

/// The sweep outwards: d [nv], the Newton step in the coordinates of v (balls: body axes).
KERNEL void sweep_outward(const lane_model *m, const solve *W, sweep_work *work, real *d)
{
    sweep_twist T;
    T.w = T.v = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const placement *at = &W->now[i];
        BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &work->body[i], work->twist, i, &T, d))
    }
}

#endif
