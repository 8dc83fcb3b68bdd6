/// The exact Newton step H dq = -r of a position-based method in O(N): one sweep that eliminates joints and solves on the way,
/// with the cross term N, the geometric stiffness of the wrench that a subtree carries. (dynamics/elimination.h, docs/theory.md
/// 4.3)
///
/// It is a block LDL' factorisation: all pivots D positive certify a descent direction. Where a pivot is not positive, the
/// curvature is dropped, which leaves the Gauss-Newton blocks, but for what pulls add to them: a subtree that pulls at its arm r
/// with the force -f holds the arm's turns by
///
///     t (|r|^2 - r r'),   t = max(0, -r.f) / |r|^2,
///
/// which is never negative. Pushes, which make pivots negative, add nothing. Factors stay for other right-hand sides:
/// sweep_solve().
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

/// Whether pivots may be negative: those of pieces with an open end (sim/along/along_solve.h).
#ifdef CATENA_ALONG
#define OPEN_ENDS true
#else
#define OPEN_ENDS false
#endif

/// Scratch of one lane block, arrays [nbody].
typedef struct {
    tree_pivot *pivot;
    subtree *hand;  // sums at forks
    twist *motion;  // written for forks
    mask dropped;   // lanes without curvature
    mask held;      // lanes that still need the factors they have (follow.h)
} sweep_work;

/// How an arm's turns are held by the gradient f of what moves with its end.
FN sym3 pull_block(vec3 r, vec3 f)
{
    const real along = dot(r, f), t = sel(lt(along, rset(0)), along / dot(r, r), rset(0));
    sym3 A;
    A.xx = t * fnmadd(r.y, r.y, negate(r.z * r.z)), A.xy = t * (r.x * r.y);
    A.yy = t * fnmadd(r.x, r.x, negate(r.z * r.z)), A.xz = t * (r.x * r.z);
    A.zz = t * fnmadd(r.x, r.x, negate(r.y * r.y)), A.yz = t * (r.y * r.z);
    return A;
}

/// The rotational block and the first moment of one body, without curvature in the lanes `dropped`.
FN void drop_curvature(const lane_body *b, const solve *W, int i, mask dropped, sym3 *A, vec3 *h)
{
    const real k2 = W->in.k2;
    sym3 I = turn(W->now[i].R, load_sym(given(b)->I));
    I.xx = k2 * I.xx, I.yy = k2 * I.yy, I.zz = k2 * I.zz, I.xy = k2 * I.xy, I.xz = k2 * I.xz, I.yz = k2 * I.yz;
    *A = sel_sym(dropped, I, *A);
    *h = sel3(dropped, scale(mul(W->now[i].R, load3(given(b)->h)), k2), *h);
}

/// Inertia and right-hand side of what hangs on body i, itself included. mixed: some lanes have dropped their curvature, or hold
/// their factors.
FN void sweep_gather(const lane_body *b, joint_form f, const solve *W, const sweep_work *work, int i, bool mixed, bool loaded,
                     const subtree *next, inertia6 *P, wrench *p)
{
    const iterate_body *t = &W->body[i];
    sym3 A = t->A;
    vec3 h = t->b;
    if (mixed && (f.flags & BODY_MASS)) drop_curvature(b, W, i, work->dropped, &A, &h);
    gather_subtree(f, &A, &h, given(b)->mass * W->in.k2, NULL, next, &work->hand[i], P, p);
    if (!loaded) return;
    const body_load *L = &W->load[b->load];
    *P = inertia_add(*P, mixed ? sel_inertia(work->dropped, W->safe[b->load], L->P) : L->P);
}

/// The wrench that a subtree carries, where it has curvature.
FN wrench curved_wrench(const solve *W, const sweep_work *work, int i, bool mixed)
{
    wrench w = W->sum[i];
    if (mixed) w.n = sel3(work->dropped, zero3(), w.n), w.f = sel3(work->dropped, zero3(), w.f);
    return w;
}

/// Hands P and p on to the parent, with what their pull adds.
FN void sweep_hand_on(const solve *W, const sweep_work *work, int i, bool arm, bool mixed, inertia6 P, wrench p, subtree *out)
{
    const vec3 r = W->now[i].r;
    hand_on(arm, r, P, p, out);
    if (mixed && arm) out->P.A = sel_sym(work->dropped, sym_add(out->P.A, pull_block(r, W->sum[i].f)), out->P.A);
}

FN pivot1 sel_pivot1(mask where, pivot1 a, pivot1 b)
{
    a.Ua = sel3(where, a.Ua, b.Ua), a.Ul = sel3(where, a.Ul, b.Ul), a.i = sel(where, a.i, b.i);
    return a;
}

FN pivot3 sel_pivot3(mask where, pivot3 a, pivot3 b)
{
    a.G.Xa.x = sel3(where, a.G.Xa.x, b.G.Xa.x), a.G.Xa.y = sel3(where, a.G.Xa.y, b.G.Xa.y);
    a.G.Xa.z = sel3(where, a.G.Xa.z, b.G.Xa.z), a.G.Xl.x = sel3(where, a.G.Xl.x, b.G.Xl.x);
    a.G.Xl.y = sel3(where, a.G.Xl.y, b.G.Xl.y), a.G.Xl.z = sel3(where, a.G.Xl.z, b.G.Xl.z);
    a.D.i1 = sel(where, a.D.i1, b.D.i1), a.D.i2 = sel(where, a.D.i2, b.D.i2), a.D.i3 = sel(where, a.D.i3, b.D.i3);
    a.D.l21 = sel(where, a.D.l21, b.D.l21), a.D.l31 = sel(where, a.D.l31, b.D.l31), a.D.l32 = sel(where, a.D.l32, b.D.l32);
    a.D.least = sel(where, a.D.least, b.D.least);
    return a;
}

/// A joint of one degree of freedom; mixed, and mostly loaded, are constants in each call. d: u of the joint. Returns where
/// its pivot is positive.
FN mask sweep_inward1(const lane_body *b, joint_form f, const solve *W, sweep_work *work, int i, bool mixed, bool loaded,
                      const subtree *next, subtree *out, real *d)
{
    const vec3 z = W->now[i].R.z;
    pivot1 s;
    inertia6 P;
    wrench p;
    sweep_gather(b, f, W, work, i, mixed, loaded, next, &P, &p);
    joint_column(b, f.kind, z, &P, &s.Ua, &s.Ul);
    real D = joint_pivot(b, f.kind, z, s.Ua, s.Ul, rset(0));
    if (has_terms(b, W->in.tau)) D = D + W->terms[i].k.xx;
    const mask good = gt(D, rset(0));
    const real u = negate(joint_row(b, f.kind, z, p) + W->r[b->vadr]);
    s.i = rset(1) / (OPEN_ENDS ? D : sel(good, D, rset(1)));
    if (!(f.flags & BODY_ROOT)) add_cross_term(b, f.kind, z, curved_wrench(W, work, i, mixed), &s.Ua, &s.Ul);
    work->pivot[i].one = mixed ? sel_pivot1(work->held, work->pivot[i].one, s) : s, d[b->vadr] = u;
    if (f.flags & BODY_ROOT) return good;
    sweep_hand_on(W, work, i, has_arm(f), mixed, inertia_eliminate(P, s.Ua, s.Ul, s.i), leave_over1(p, &s, u), out);
    return good;
}

/// A ball or a translation.
FN mask sweep_inward3(const lane_body *b, const solve *W, sweep_work *work, int i, bool mixed, bool loaded, const subtree *next,
                      subtree *out, real *d)
{
    const bool ball = b->kind == JOINT_BALL;
    const mat3 R = W->now[i].R;
    pivot3 *const s = &work->pivot[i].three;
    const pivot3 before = *s;
    inertia6 P;
    wrench p;
    mat3 Ua, Ul;
    sweep_gather(b, form_of(b), W, work, i, mixed, loaded, next, &P, &p);
    sym3 D = ball ? P.A : P.D;
    const vec3 row = vec(W->r[b->vadr], W->r[b->vadr + 1], W->r[b->vadr + 2]);
    if (has_terms(b, W->in.tau)) {
        sym3 k = W->terms[i].k;
        if (mixed) k = sel_sym(work->dropped, W->terms[i].safe, k);
        D = sym_add(D, ball ? turn(R, k) : k);
    }
    const ldl3 F = ldl_factor(D);
    const mask good = gt(F.least, rset(0));
    s->D = F;
    const vec3 y = ldl_solve(F, ball ? add(p.n, mul(R, row)) : add(p.f, row));
    store3(d + b->vadr, opposite(y));
    if (!(b->flags & BODY_ROOT)) {
        const wrench w = curved_wrench(W, work, i, mixed);
        s->G = eliminate3(F, &w, &P, &Ua, &Ul);
        p.n = sub(p.n, mul(Ua, y)), p.f = sub(p.f, mul(Ul, y));
        sweep_hand_on(W, work, i, b->flags & BODY_OFFSET, mixed, P, p, out);
    }
    if (mixed) *s = sel_pivot3(work->held, before, *s);
    return good;
}

FN mask sweep_inward_body(const lane_body *b, joint_form f, const solve *W, sweep_work *work, int i, bool mixed, bool loaded,
                          const subtree *next, subtree *out, real *d)
{
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) return sweep_inward3(b, W, work, i, mixed, loaded, next, out, d);
    return sweep_inward1(b, f, W, work, i, mixed, loaded, next, out, d);
}

/// What seldom occurs: lanes are mixed, or loads are on the body.
KERNEL mask sweep_inward_seldom(const lane_body *b, const solve *W, sweep_work *work, int i, bool mixed, const subtree *next,
                                subtree *out, real *d)
{
    return sweep_inward_body(b, form_of(b), W, work, i, mixed, is_loaded(b, W), next, out, d);
}

/// The sweep inwards at the iterate of W (after residual()), for the lanes `where`: factors H, and leaves in d [nv] what
/// sweep_outward() makes the step of. Returns the lanes that have a descent direction: all, but where something is not finite.
/// Lanes in which curvature was dropped are counted in *count. What happens in a lane does not depend on the others.
KERNEL mask sweep_inward(const lane_model *m, solve *W, sweep_work *work, mask where, real *count, real *d)
{
    subtree next, scratch;
    bool mixed = any_of(work->held);
    work->dropped = none_of();
    clear_subtree(&next);
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        subtree *out = b->flags & BODY_NEXT ? &next : b->flags & BODY_LAST ? &work->hand[b->parent] : &scratch;
        mask good;
        if (mixed || is_loaded(b, W)) good = sweep_inward_seldom(b, W, work, i, mixed, &next, out, d);
        else BY_FORM(b, f, good = sweep_inward_body(b, f, W, work, i, false, false, &next, f.flags & BODY_NEXT ? &next : out, d))
        const mask bad = both(where, not_(good));
        if (any_of(bad)) {
            // again without curvature; where it is bad even so, something is not finite
            where = both(where, not_(both(bad, work->dropped)));
            for (int k = 0; k < m->nbody && m->nload && !any_of(work->dropped); k++) drop_load_curvature(m, W, k);
            work->dropped = either(work->dropped, bad);
            mixed = true, i = m->nbody;
            continue;
        }
        if (out == &scratch && !(b->flags & BODY_ROOT)) add_subtree(&work->hand[b->parent], out);
    }
    work->dropped = both(work->dropped, where);
    *count = *count + sel(work->dropped, rset(1), rset(0));
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

/// The sweep outwards: d [nv], the Newton step in the coordinates of v (balls: body axes). Returns the largest change of place.
KERNEL real sweep_outward(const lane_model *m, const solve *W, sweep_work *work, real *d)
{
    real most = rset(0);
    twist T;
    T.w = T.v = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const placement *at = &W->now[i];
        const tree_pivot *s = &work->pivot[i];
        BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &s->one, &s->three.G, work->motion, i, &T, d))
        most = larger(most, place_change(m, b, &T));
    }
    return root(most);
}

/// For forces between bodies, closed loops and products with H^-1: x with H x = b + sum of J_i'w_i by the factors that
/// sweep_inward() left, any number of times, while W stays at that iterate. H is the Hessian of the step's energy E [J] in the
/// coordinates of v; where its curvature was dropped, with what pulls in its place.
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
