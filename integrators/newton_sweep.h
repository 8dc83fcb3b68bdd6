/// The exact Newton step H dq = -r of a position-based method in O(N): one sweep that eliminates joints and solves on the way,
/// with the cross term N, the geometric stiffness of the wrench that a subtree carries. (dynamics/elimination.h, docs/theory.md
/// 4.3)
///
/// It is a block LDL' factorisation: all pivots D positive certify a descent direction. Where a pivot is not positive, the
/// curvature of what hangs on that joint is dropped, which leaves the Gauss-Newton blocks there, and the sweep goes over that
/// subtree again; the rest of the tree keeps its Newton steps. Its factors stay for other right-hand sides: sweep_solve().
#ifndef CATENA_NEWTON_SWEEP_H
#define CATENA_NEWTON_SWEEP_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/kinematics.h"
#include "dynamics/elimination.h"
#include "dynamics/tree_factor.h"
#include "forces/joint_elements.h"
#include "forces/body_loads.h"
#include "integrators/joint_terms.h"
#include "integrators/collocation.h"

enum { SWEEP_RESTARTS = 16 };  // of a lane; then all its curvature is dropped, so that the cost stays linear

/// What a subtree hands to its parent, with the wrench of the bodies whose curvature is dropped.
typedef struct {
    subtree s;
    wrench lost;
} sweep_hand;

/// Scratch of one lane block, arrays [nbody].
typedef struct {
    tree_pivot *pivot;
    sweep_hand *hand;  // sums at forks
    twist *motion;     // written for forks
    real *keep;        // 1: with curvature, 0: without
} sweep_work;

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
    gather_subtree(f, &A, &h, b->mass * W->in.k2, NULL, &next->s, &work->hand[i].s, P, p);
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

/// A joint of one degree of freedom; dropping, and mostly loaded, are constants in each call. d: u of the joint. Returns where
/// its pivot is positive.
FN mask sweep_inward1(const lane_body *b, joint_form f, const solve *W, sweep_work *work, int i, bool dropping, bool loaded,
                      const sweep_hand *next, sweep_hand *out, real *d)
{
    const vec3 z = W->now[i].R.z, r = W->now[i].r;
    pivot1 s;
    inertia6 P;
    wrench p, lost;
    sweep_gather(b, f, W, work, i, dropping, loaded, next, &P, &p, &lost);
    joint_column(b, f.kind, z, &P, &s.Ua, &s.Ul);
    real D = joint_pivot(b, f.kind, z, s.Ua, s.Ul, rset(0));
    if (has_terms(b, W->in.tau)) D = D + W->terms[i].k.xx;
    const mask good = gt(D, rset(0));
    const real u = negate(joint_row(b, f.kind, z, p) + W->r[b->vadr]);
    s.i = rset(1) / sel(good, D, rset(1));
    if (!(f.flags & BODY_ROOT)) add_cross_term(b, f.kind, z, curved_wrench(W, i, dropping, lost), &s.Ua, &s.Ul);
    work->pivot[i].one = s, d[b->vadr] = u;
    if (f.flags & BODY_ROOT) return good;
    hand_on(has_arm(f), r, inertia_eliminate(P, s.Ua, s.Ul, s.i), leave_over1(p, &s, u), &out->s);
    if (dropping) out->lost = has_arm(f) ? wrench_shift(lost, r) : lost;
    return good;
}

/// A ball or a translation.
FN mask sweep_inward3(const lane_body *b, const solve *W, sweep_work *work, int i, bool dropping, bool loaded,
                      const sweep_hand *next, sweep_hand *out, real *d)
{
    const bool ball = b->kind == JOINT_BALL;
    const mat3 R = W->now[i].R;
    const vec3 r = W->now[i].r;
    pivot3 *s = &work->pivot[i].three;
    inertia6 P;
    wrench p, lost;
    mat3 Ua, Ul;
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
    s->D = F;
    const vec3 y = ldl_solve(F, ball ? add(p.n, mul(R, row)) : add(p.f, row));
    store3(d + b->vadr, opposite(y));
    if (b->flags & BODY_ROOT) return good;
    const wrench w = curved_wrench(W, i, dropping, lost);
    const bool arm = b->flags & BODY_OFFSET;
    s->G = eliminate3(F, &w, &P, &Ua, &Ul);
    p.n = sub(p.n, mul(Ua, y)), p.f = sub(p.f, mul(Ul, y));
    hand_on(arm, r, P, p, &out->s);
    if (dropping) out->lost = arm ? wrench_shift(lost, r) : lost;
    return good;
}

FN mask sweep_inward_body(const lane_body *b, joint_form f, const solve *W, sweep_work *work, int i, bool dropping, bool loaded,
                          const sweep_hand *next, sweep_hand *out, real *d)
{
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) return sweep_inward3(b, W, work, i, dropping, loaded, next, out, d);
    return sweep_inward1(b, f, W, work, i, dropping, loaded, next, out, d);
}

/// What seldom occurs: curvature is dropped somewhere, or loads are on the body.
KERNEL mask sweep_inward_seldom(const lane_body *b, const solve *W, sweep_work *work, int i, bool dropping,
                                const sweep_hand *next, sweep_hand *out, real *d)
{
    return sweep_inward_body(b, form_of(b), W, work, i, dropping, b->flags & BODY_LOAD, next, out, d);
}

/// The sweep inwards at the iterate of W (after residual()), for the lanes `where`: factors H, and leaves in d [nv] what
/// sweep_outward() makes the step of. Returns the lanes that have a descent direction: all, but where something is not finite.
/// Lanes in which curvature was dropped are counted in *dropped. What happens in a lane does not depend on the others.
KERNEL mask sweep_inward(const lane_model *m, const solve *W, sweep_work *work, mask where, real *dropped, real *d)
{
    real left = rset(SWEEP_RESTARTS);
    bool dropping = false;
    sweep_hand next, scratch;
    clear_subtree(&next.s), next.lost = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        sweep_hand *out = b->flags & BODY_NEXT ? &next : b->flags & BODY_LAST ? &work->hand[b->parent] : &scratch;
        mask good;
        if (dropping || (b->flags & BODY_LOAD)) good = sweep_inward_seldom(b, W, work, i, dropping, &next, out, d);
        else BY_FORM(b, f, good = sweep_inward_body(b, f, W, work, i, false, false, &next, f.flags & BODY_NEXT ? &next : out, d))
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
            add_subtree(&p->s, &out->s);
            if (dropping) p->lost = wrench_add(p->lost, out->lost);
        }
    }
    *dropped = *dropped + sel(both(where, lt(left, rset(SWEEP_RESTARTS))), rset(1), rset(0));
    return where;
}

/// One body of a sweep outwards, at axes *R and *r from its parent's origin. last: motion of the body before, then of this one;
/// kept: of forks.
FN void sweep_outward_body(const lane_body *b, joint_form f, const mat3 *R, const vec3 *r, const pivot1 *one, const gain3 *three,
                           twist *kept, int i, twist *last, real *d)
{
    twist T = motion_before(b, f, r, last, kept);
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) move_joint3(f, R, three, load3(d + b->vadr), &T, d + b->vadr);
    else {
        real y = d[b->vadr];
        if (!(f.flags & BODY_ROOT)) y = y - (dot(one->Ua, T.w) + dot(one->Ul, T.v));
        y = y * one->i;
        d[b->vadr] = y;
        add_joint_motion(b, f.kind, R->z, y, &T.w, &T.v);
    }
    if (f.flags & BODY_FORK) kept[i] = T;
    *last = T;
}

/// The sweep outwards: d [nv], the Newton step in the coordinates of v (balls: body axes).
KERNEL void sweep_outward(const lane_model *m, const solve *W, sweep_work *work, real *d)
{
    twist T;
    T.w = T.v = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const placement *at = &W->now[i];
        const tree_pivot *s = &work->pivot[i];
        BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &s->one, &s->three.G, work->motion, i, &T, d))
    }
}

/// For forces between bodies, closed loops and products with H^-1: x with H x = b + sum of J_i'w_i by the factors that sweep_inward() left, any number of times, while W stays at that iterate. H
/// is the Hessian of the step's energy E [J] in the coordinates of v, without the curvature that was dropped.
///
///     b [nv]      forces along joints: N, N m (balls: moments in body axes)
///     w [nbody]   wrenches on bodies, about their origins, world axes: N m, N; NULL: none
///     x [nv]      m, rad (balls: turns in body axes); may be b
///     p [nbody]   scratch
///
/// For b = -r it is the Newton step, to the last bit in models without balls that have a parent (there the sweep uses U, which is
/// not kept, in place of D^-1 U').
FN void sweep_solve(const lane_model *m, const solve *W, sweep_work *work, const real *b, const wrench *w, wrench *p, real *x)
{
    tree_factors F;
    F.T = W->now, F.pivot = work->pivot, F.p = p, F.d = NULL, F.node = NULL;
    tree_inward(m, &F, b, w, x);
    sweep_outward(m, W, work, x);
}

#endif
