/// Derivatives of inverse dynamics by q, v and a, in tangent coordinates: balls move by q exp(delta), body axes, everything else
/// by addition. (docs/theory.md, "Derivatives")
///
/// A joint that moves by S dq carries its subtree along. Seen from the subtree nothing has happened but that the motion it is
/// handed by the parent has changed: by a turn and its rates. A particle at r with velocity u then feels the extra acceleration
///
///     2 dw x u + dal x r + da
///
/// with one triple (dw, dal, da) for the whole subtree, and the subtree answers with the wrench
///
///     n = I dal + c x da + 2 (tr G - G') dw,   f = m da + dal x c + 2 dw x p,     G = sum of m r u',  p = sum of m u,
///
/// in which mass, first moment, inertia, G and p simply add up along the tree. A change of v does the same with another triple.
#ifndef CATENA_DERIVATIVES_H
#define CATENA_DERIVATIVES_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/tree_factor.h"

/// A body in motion, at its origin, world axes.
typedef struct {
    mat3 R;
    vec3 r;           // from the parent's origin
    twist V, Vp;      // of the body; of the parent at this origin, before the joint
    vec3 al, a;       // acceleration less gravity
    vec3 alp, ap;     // of the parent at this origin
    composite rigid;  // first moment and inertia of the body
    wrench w;         // of all that hangs on it
} id_body;

/// What a subtree is told to change by.
typedef struct {
    vec3 w, al, a;
} id_change;

/// Momentum of matter: sums of m r u' and of m u.
typedef struct {
    mat3 G;
    vec3 p;
} id_flow;

/// Arrays [nbody] but column
typedef struct {
    id_body *body;
    composite *rigid;  // of subtrees
    id_flow *flow;     // of subtrees
    twist *V;          // of the virtual motion
    wrench *w;         // that it meets
    vec3 *turn;        // and its share by the angular velocity
} id_work;

/// Second moment of mass from an inertia: tr I / 2 - I.
FN sym3 second_moment(sym3 I)
{
    const real t = rset(0.5) * (I.xx + (I.yy + I.zz));
    sym3 S;
    S.xx = t - I.xx, S.yy = t - I.yy, S.zz = t - I.zz;
    S.xy = negate(I.xy), S.xz = negate(I.xz), S.yz = negate(I.yz);
    return S;
}

/// Motions of all bodies at (q, v, a), and the wrench that what hangs on each of them takes.
KERNEL void id_motion(const lane_model *m, const real *q, const real *v, const real *a, id_work *work)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const joint_form f = form_of(b);
        id_body *s = &work->body[i];
        const id_body *up = b->flags & BODY_ROOT ? s : &work->body[b->parent];
        s->R = body_axes(b, f, up->R, q);
        s->r = body_offset(b, f, up->R, s->R.z, q);
        if (b->flags & BODY_ROOT) {
            s->Vp.w = s->Vp.v = s->alp = zero3();
            s->ap = vec(negate(m->gravity[0]), negate(m->gravity[1]), negate(m->gravity[2]));
        } else {
            s->Vp.w = up->V.w, s->Vp.v = cross_add(up->V.v, up->V.w, s->r);
            s->alp = up->al, s->ap = cross_add(cross_add(up->a, up->al, s->r), up->V.w, cross(up->V.w, s->r));
        }
        const vec3 t = joint_turn(b, f, s->R, v), l = joint_slide(b, f, s->R, v), w = s->Vp.w;
        s->V.w = add(w, t), s->V.v = add(s->Vp.v, l);
        s->al = add(cross_add(s->alp, w, t), joint_turn(b, f, s->R, a));
        s->a = add(add_scaled(s->ap, cross(w, l), rset(2)), joint_slide(b, f, s->R, a));
        s->w = wrench_zero();
        if (!(b->flags & BODY_MASS)) continue;
        const vec3 h = s->rigid.h = mul(s->R, load3(given(b)->h));
        const sym3 I = s->rigid.I = turn(s->R, load_sym(given(b)->I));
        s->w.f = cross_add(cross_add(scale(s->a, given(b)->mass), s->al, h), s->V.w, cross(s->V.w, h));
        s->w.n = cross_add(add(cross(h, s->a), smul(I, s->al)), s->V.w, smul(I, s->V.w));
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_ROOT) continue;
        work->body[b->parent].w = wrench_add(work->body[b->parent].w, wrench_shift(work->body[i].w, work->body[i].r));
    }
}

/// What degree of freedom S = (s, l) of a joint tells its subtree when q changes by it.
FN id_change change_by_q(const id_body *b, vec3 s, vec3 l)
{
    const vec3 w = b->Vp.w;
    id_change x;
    x.w = cross(w, s);
    x.al = cross_add(cross(b->alp, s), w, x.w);
    x.a = cross_add(cross_add(cross(b->ap, s), b->alp, l), w, cross(w, l));
    x.a = sub_scaled(x.a, cross(x.w, b->Vp.v), rset(2));
    return x;
}

/// ... and when v does.
FN id_change change_by_v(const id_body *b, vec3 s, vec3 l)
{
    id_change x;
    x.w = s;
    x.al = cross(add(b->Vp.w, b->V.w), s);
    x.a = scale(sub(cross(b->Vp.w, l), cross(s, b->V.v)), rset(2));
    return x;
}

FN id_flow flow_of(const lane_body *b, const id_body *s)
{
    const vec3 h = s->rigid.h, v = s->V.v, w = s->V.w;
    const mat3 S = sym_full(second_moment(s->rigid.I));
    id_flow F;  // G = h v' + S [w]', whose columns are S ([w]' e_k) = S (e_k x w)
    F.p = add_scaled(cross(w, h), v, given(b)->mass);
    F.G.x = add_scaled(sub(scale(S.y, negate(w.z)), scale(S.z, negate(w.y))), h, v.x);
    F.G.y = add_scaled(sub(scale(S.z, negate(w.x)), scale(S.x, negate(w.z))), h, v.y);
    F.G.z = add_scaled(sub(scale(S.x, negate(w.y)), scale(S.y, negate(w.x))), h, v.z);
    return F;
}

FN id_flow flow_add(id_flow a, id_flow b)
{
    a.G.x = add(a.G.x, b.G.x), a.G.y = add(a.G.y, b.G.y), a.G.z = add(a.G.z, b.G.z), a.p = add(a.p, b.p);
    return a;
}

FN id_flow flow_shift(id_flow a, vec3 r)
{
    a.G.x = add_scaled(a.G.x, r, a.p.x), a.G.y = add_scaled(a.G.y, r, a.p.y), a.G.z = add_scaled(a.G.z, r, a.p.z);
    return a;
}

/// The wrench with which matter answers to a spatial acceleration.
FN wrench rigid_wrench(composite c, real mass, vec3 al, vec3 a)
{
    wrench w;
    w.n = cross_add(smul(c.I, al), c.h, a);
    w.f = cross_add(scale(a, mass), al, c.h);
    return w;
}

FN wrench answer(composite c, real mass, id_flow F, id_change x)
{
    wrench w = rigid_wrench(c, mass, x.al, x.a);
    const real two = rset(2), trace = F.G.x.x + (F.G.y.y + F.G.z.z);
    w.n = add_scaled(w.n, sub(scale(x.w, trace), tmul(F.G, x.w)), two);
    w.f = add_scaled(w.f, cross(x.w, F.p), two);
    return w;
}

FN real along(vec3 s, vec3 l, wrench w) { return dot_add(dot(s, w.n), l, w.f); }
FN real virtual_power(id_change x, wrench w, vec3 turn) { return dot_add(dot_add(dot(x.al, w.n), x.a, w.f), x.w, turn); }

/// Entry `at` of the matrices of the first `count` lanes; M NULL: none are wanted.
FN void matrix_put(double *const *M, int count, size_t at, real x)
{
    double *entry[LANES];
    if (!M) return;
    for (int l = 0; l < LANES; l++) entry[l] = M[l] + at;
    lane_scatter(entry, count, &x, 1);
}
FN real matrix_get(double *const *M, size_t at)
{
    const double *entry[LANES];
    real x;
    for (int l = 0; l < LANES; l++) entry[l] = M[l] + at;
    lane_gather(&x, entry, 1);
    return x;
}
FN void matrix_clear(double *const *M, int count, size_t size)
{
    for (int l = 0; l < count && M; l++)
        for (size_t k = 0; k < size; k++) M[l][k] = 0;
}

/// The derivatives of tau = ID(q, v, a), after id_motion(): a matrix [nv][nv], row-major, for each of the first `count` lanes;
/// each of the three may be NULL. Entries between joints of which neither moves the other are zero. O(N depth).
KERNEL void id_matrices(const lane_model *m, id_work *work, double *const *by_q, double *const *by_v, double *const *by_a,
                        int count)
{
    const size_t n = (size_t)m->nv;
    matrix_clear(by_q, count, n * n), matrix_clear(by_v, count, n * n), matrix_clear(by_a, count, n * n);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const id_body *s = &work->body[i];
        composite *c = &work->rigid[i];
        id_flow *F = &work->flow[i];
        if (b->flags & BODY_MASS) *c = s->rigid, *F = flow_of(b, s);
        else {
            c->h = F->G.x = F->G.y = F->G.z = F->p = zero3();
            c->I.xx = c->I.yy = c->I.zz = c->I.xy = c->I.xz = c->I.yz = rset(0);
        }
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const id_body *s = &work->body[i];
        const composite c = work->rigid[i];
        const id_flow F = work->flow[i];
        const real mass = subtree_of(m, b)->subtree_mass;
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, s->R, k);
            const vec3 turn_axis = S.w, slide_axis = S.v;
            // column: the wrenches of this subtree by q, v and a of this degree of freedom
            wrench q = answer(c, mass, F, change_by_q(s, turn_axis, slide_axis));
            wrench v = answer(c, mass, F, change_by_v(s, turn_axis, slide_axis));
            wrench a = rigid_wrench(c, mass, turn_axis, slide_axis);
            // row: what this degree of freedom feels of changes further in, by the angular velocity: sum of 2 m u x (s x r + l)
            const real trace = F.G.x.x + (F.G.y.y + F.G.z.z);
            const vec3 spin = scale(cross_add(sub(scale(turn_axis, trace), mul(F.G, turn_axis)), F.p, slide_axis), rset(2));
            const size_t col = (size_t)(b->vadr + k);
            for (int j = i; j >= 0; j = m->bodies[j].parent) {
                const lane_body *d = &m->bodies[j];
                const id_body *t = &work->body[j];
                for (int e = 0; e < d->nv; e++) {
                    const size_t row = (size_t)(d->vadr + e);
                    const twist S = joint_subspace(d, d->kind, t->R, e);
                    const vec3 w = S.w, l = S.v;
                    real inertia = along(w, l, a);
                    if (row == col) inertia = inertia + given(b)->armature;
                    matrix_put(by_q, count, row * n + col, along(w, l, q));
                    matrix_put(by_v, count, row * n + col, along(w, l, v));
                    matrix_put(by_a, count, row * n + col, inertia), matrix_put(by_a, count, col * n + row, inertia);
                    if (j == i) continue;
                    matrix_put(by_q, count, col * n + row, virtual_power(change_by_q(t, w, l), a, spin));
                    matrix_put(by_v, count, col * n + row, virtual_power(change_by_v(t, w, l), a, spin));
                }
                if (d->flags & BODY_ROOT) break;
                // joints further in also see the subtree's wrench carried along; the joint itself does not, as it turns with it
                if (j == i) q = wrench_add(q, carried(turn_axis, slide_axis, s->w));
                q = wrench_shift(q, t->r), v = wrench_shift(v, t->r), a = wrench_shift(a, t->r);
            }
        }
        if (b->flags & BODY_ROOT) continue;
        work->rigid[b->parent] = composite_add(work->rigid[b->parent], composite_shift(c, s->r, mass));
        work->flow[b->parent] = flow_add(work->flow[b->parent], flow_shift(F, s->r));
    }
}

/// Factors the joint-space inertia, after id_motion().
KERNEL void factor_motion(const lane_model *m, const id_work *work, tree_factors *F)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const id_body *s = &work->body[i];
        const real J = given(b)->armature;
        F->T[i].R = s->R, F->T[i].r = s->r;
        F->node[i].P = b->flags & BODY_MASS ? inertia_rigid(s->rigid.I, s->rigid.h, given(b)->mass) : inertia_zero();
        F->node[i].w = NULL, F->node[i].k = sym_diagonal(J, J, J);
    }
    tree_factor(m, F);
}

/// Forward dynamics, qdd by q, v and tau: from the derivatives of ID(q, v, qdd) less those of the forces that depend on q and v,
/// in by_q and by_v, to -H^-1 of these, and H^-1; column by column, each by an O(N) solve. After id_motion() with qdd. column
/// [nv]: scratch
KERNEL void fd_matrices(const lane_model *m, const id_work *work, tree_factors *F, real *column, double *const *by_q,
                        double *const *by_v, double *const *by_tau, int count)
{
    const size_t n = (size_t)m->nv;
    factor_motion(m, work, F);
    for (size_t k = 0; k < n; k++)
        for (int which = 0; which < 3; which++) {
            double *const *M = which == 0 ? by_q : which == 1 ? by_v : by_tau;
            if (!M) continue;
            for (size_t j = 0; j < n; j++) column[j] = which == 2 ? rset(j == k) : negate(matrix_get(M, j * n + k));
            tree_solve(m, F, column, column);
            for (size_t j = 0; j < n; j++) matrix_put(M, count, j * n + k, column[j]);
        }
}

#endif
