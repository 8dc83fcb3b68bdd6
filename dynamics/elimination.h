/// One joint of a tree eliminated from a symmetric matrix H_jk = S_j' (sum of blocks beyond both) S_k, and given its motion back:
/// what forward dynamics (aba.h), factors for many right-hand sides (tree_factor.h) and the Newton sweeps (integrators/) share.
///
///     inwards    U = P S + N,  D = S'P S + k,  u = b - S'p,  P <- P - U D^-1 U',  p <- p + U D^-1 u, both shifted to the parent
///     outwards   x = D^-1 (u - U'd),  d <- d + S x
///
/// P and p are the articulated inertia and the wrench of what hangs on the joint, N = S x* w / 2 the cross term of the wrench w
/// that it carries (docs/theory.md 4.3), k what the joint adds in its own coordinate. Callers form D and u themselves: they round
/// differently.
#ifndef CATENA_ELIMINATION_H
#define CATENA_ELIMINATION_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"

/// Factors of a joint: no right-hand side is in them.
typedef struct {
    vec3 Ua, Ul;
    real i;  // 1/D
} pivot1;

typedef struct {
    gain3 G;
    ldl3 D;
} pivot3;

typedef union {
    pivot1 one;
    pivot3 three;
} tree_pivot;

/// What a subtree hands to its parent.
typedef struct {
    inertia6 P;
    wrench p;
} subtree;

FN void clear_subtree(subtree *s) { s->P = inertia_zero(), s->p = wrench_zero(); }
FN void add_subtree(subtree *to, const subtree *s) { to->P = inertia_add(to->P, s->P), to->p = wrench_add(to->p, s->p); }

/// P and p of what hangs on a body, itself included: its rigid block (*A, *h, mass) and its wrench (NULL: none), with what the
/// body after it has handed on, and at forks others.
FN void gather_subtree(joint_form f, const sym3 *A, const vec3 *h, real mass, const wrench *own, const subtree *next,
                       const subtree *fork, inertia6 *P, wrench *p)
{
    if (f.flags & BODY_LEAF) {
        *P = inertia_rigid(*A, *h, mass);
        *p = own ? *own : wrench_zero();
        return;
    }
    *P = next->P, *p = next->p;
    if (f.flags & BODY_MASS) {
        *P = inertia_add_rigid(*P, *A, *h, mass);
        if (own) *p = wrench_add(*p, *own);
    }
    if (f.flags & BODY_FORK) *P = inertia_add(*P, fork->P), *p = wrench_add(*p, fork->p);
}

/// Hands P and p on to the parent, at its origin. arm: whether this one stands off it, by r
FN void hand_on(bool arm, vec3 r, inertia6 P, wrench p, subtree *out)
{
    if (arm) out->p = wrench_shift(p, r), out->P = inertia_shift(P, r);
    else out->p = p, out->P = P;
}

/// p + U D^-1 u of one degree of freedom.
FN wrench leave_over1(wrench p, const pivot1 *s, real u)
{
    const real y = u * s->i;
    p.n = add_scaled(p.n, s->Ua, y), p.f = add_scaled(p.f, s->Ul, y);
    return p;
}

/// One right-hand side over a joint of one degree of freedom with the factors s: returns u = b - S'p, and p loses it.
FN real take_side1(const lane_body *b, int kind, vec3 z, const pivot1 *s, real side, wrench *p)
{
    const real u = side - joint_row(b, kind, z, *p);
    *p = leave_over1(*p, s, u);
    return u;
}

/// The same over a ball with the axes R or a translation: D^-1 u in world axes. (A translation has no parent that moves.)
FN vec3 take_side3(joint_form f, const mat3 *R, const ldl3 *D, const gain3 *G, vec3 side, wrench *p)
{
    const vec3 u = f.kind == JOINT_BALL ? sub(mul(*R, side), p->n) : sub(side, p->f);
    if (!(f.flags & BODY_ROOT)) p->n = add(p->n, tmul(G->Xa, u)), p->f = add(p->f, tmul(G->Xl, u));
    return ldl_solve(*D, u);
}

/// Eliminates a ball from P, with its cross term where it carries a wrench w (NULL: none). (A translation has no parent that
/// moves.)
FN gain3 eliminate3(ldl3 D, const wrench *w, inertia6 *P, mat3 *Ua, mat3 *Ul)
{
    *Ua = sym_full(P->A), *Ul = transposed(P->B);
    if (w) {  // its columns: e_k x n / 2, e_k x f / 2
        const vec3 n = scale(w->n, rset(0.5)), f = scale(w->f, rset(0.5));
        Ua->x.y = Ua->x.y - n.z, Ua->x.z = Ua->x.z + n.y, Ua->y.x = Ua->y.x + n.z;
        Ua->y.z = Ua->y.z - n.x, Ua->z.x = Ua->z.x - n.y, Ua->z.y = Ua->z.y + n.x;
        Ul->x.y = Ul->x.y - f.z, Ul->x.z = Ul->x.z + f.y, Ul->y.x = Ul->y.x + f.z;
        Ul->y.z = Ul->y.z - f.x, Ul->z.x = Ul->z.x - f.y, Ul->z.y = Ul->z.y + f.x;
    }
    const gain3 G = gain_of(D, *Ua, *Ul);
    *P = inertia_eliminate3(*P, *Ua, *Ul, G);
    return G;
}

/// Motion of the parent at a body's own origin, which stands off by *r. last: of the body before; kept [nbody]: of forks
FN twist motion_before(const lane_body *b, joint_form f, const vec3 *r, const twist *last, const twist *kept)
{
    twist d = *last;
    if (f.flags & BODY_ROOT) d.w = d.v = zero3();
    else {
        if (!(f.flags & BODY_NEXT)) d = kept[b->parent];
        if (has_arm(f)) d.v = cross_add(d.v, d.w, *r);
    }
    return d;
}

/// A ball or a translation on the way outwards: x [3] from y = D^-1 u, world axes; d becomes the motion of the body.
FN void move_joint3(joint_form f, const mat3 *R, const gain3 *G, vec3 y, twist *d, real *x)
{
    if (!(f.flags & BODY_ROOT)) y = sub(y, mul_add(mul(G->Xa, d->w), G->Xl, d->v));
    const vec3 e = f.kind == JOINT_BALL ? tmul(*R, y) : y;
    x[0] = e.x, x[1] = e.y, x[2] = e.z;
    if (f.kind == JOINT_BALL) d->w = add(d->w, y);
    else d->v = add(d->v, y);
}

#endif
