/// Factors of a symmetric matrix of the form H_jk = S_j' (sum of blocks beyond both) S_k, kept so that any number of right-hand
/// sides can be solved for, each in O(N): the joint-space inertia, and the Newton matrix of position-based steps.
///
///     factor     U = P S + S x* w / 2,  D = S'P S + k,  P <- P - U D^-1 U', shifted to the parent
///     solve      inwards  u = b - S'p,  p <- p + U D^-1 u, shifted;   outwards  x = D^-1 (u - U' d),  d <- d + S x
///
/// A block LDL' factorisation from the leaves. Unlike those of aba.h and newton_sweep.h, which solve on the way, it takes matrices
/// that are not positive definite; it only needs pivots that are not singular.
#ifndef CATENA_TREE_FACTOR_H
#define CATENA_TREE_FACTOR_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"

/// What one body puts into the matrix. World axes, body origin.
typedef struct {
    mat3 R;  // body axes
    vec3 r;  // from the parent's origin
    sym3 A;  // block of the body: rotational, ...
    vec3 h;  // ... [h]x beside it, mass below
    real mass;
    wrench w;  // carried by the subtree: its cross term couples the joint to those above (docs/theory.md 4.3)
    sym3 k;    // the joint's own, in its coordinates; one degree of freedom: k.xx
    const inertia6 *load;  // more of the block of the body; NULL: nothing
} tree_node;

typedef struct {
    vec3 Ua, Ul;
    real i;  // 1/D
} tree_pivot1;

typedef struct {
    gain3 G;
    ldl3 D;
} tree_pivot3;

typedef union {
    tree_pivot1 one;
    tree_pivot3 three;
} tree_pivot;

/// Arrays [nbody]. P, p, d: scratch
typedef struct {
    tree_node *node;
    tree_pivot *pivot;
    inertia6 *P;
    wrench *p;
    twist *d;
} tree_factors;

/// S x* w: what w changes by where it is carried along by the twist S.
FN wrench carried(vec3 s, vec3 l, wrench w)
{
    wrench x;
    x.n = cross_add(cross(s, w.n), l, w.f), x.f = cross(s, w.f);
    return x;
}

FN void tree_factor3(const lane_body *b, const tree_node *n, inertia6 *P, tree_pivot3 *s)
{
    const bool ball = b->kind == JOINT_BALL;
    s->D = ldl_factor(sym_add(ball ? P->A : P->D, ball ? turn(n->R, n->k) : n->k));
    if (b->flags & BODY_ROOT) return;
    // the parent moves, so this is a ball: columns e_k x w / 2
    const real o = rset(0), one = rset(1);
    const vec3 wn = scale(n->w.n, rset(0.5)), wf = scale(n->w.f, rset(0.5)), x = vec(one, o, o), y = vec(o, one, o),
               z = vec(o, o, one);
    mat3 Ua = sym_full(P->A), Ul = transposed(P->B);
    Ua.x = cross_add(Ua.x, x, wn), Ua.y = cross_add(Ua.y, y, wn), Ua.z = cross_add(Ua.z, z, wn);
    Ul.x = cross_add(Ul.x, x, wf), Ul.y = cross_add(Ul.y, y, wf), Ul.z = cross_add(Ul.z, z, wf);
    s->G = gain_of(s->D, Ua, Ul);
    *P = inertia_eliminate3(*P, Ua, Ul, s->G);
}

FN void tree_factor1(const lane_body *b, const tree_node *n, inertia6 *P, tree_pivot1 *s)
{
    const twist S = joint_subspace(b, b->kind, n->R, 0);
    const vec3 turn_axis = S.w, slide_axis = S.v;
    joint_column(b, b->kind, n->R.z, P, &s->Ua, &s->Ul);
    s->i = rset(1) / dot_add(dot_add(n->k.xx, slide_axis, s->Ul), turn_axis, s->Ua);  // S'(S x* w) = 0
    if (b->flags & BODY_ROOT) return;
    const wrench N = carried(turn_axis, slide_axis, n->w);
    s->Ua = add_scaled(s->Ua, N.n, rset(0.5)), s->Ul = add_scaled(s->Ul, N.f, rset(0.5));
    *P = inertia_eliminate(*P, s->Ua, s->Ul, s->i);
}

/// Factors the matrix that F->node describes.
KERNEL void tree_factor(const lane_model *m, tree_factors *F)
{
    for (int i = 0; i < m->nbody; i++) {
        const tree_node *n = &F->node[i];
        F->P[i] = inertia_rigid(n->A, n->h, n->mass);
        if (n->load) F->P[i] = inertia_add(F->P[i], *n->load);
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        if (b->nv == 3) tree_factor3(b, &F->node[i], &F->P[i], &F->pivot[i].three);
        else tree_factor1(b, &F->node[i], &F->P[i], &F->pivot[i].one);
        if (!(b->flags & BODY_ROOT)) F->P[b->parent] = inertia_add(F->P[b->parent], inertia_shift(F->P[i], F->node[i].r));
    }
}

/// The half of a solve that goes outwards: x [nv] <- x - D^-1 U' d, d <- d + S x. In: D^-1 u, of balls in world axes.
KERNEL void tree_outward(const lane_model *m, tree_factors *F, real *x_)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const tree_node *n = &F->node[i];
        const tree_pivot *s = &F->pivot[i];
        const bool root_body = b->flags & BODY_ROOT;
        twist d;
        d.w = d.v = zero3();
        if (!root_body) d.w = F->d[b->parent].w, d.v = cross_add(F->d[b->parent].v, d.w, n->r);
        real *x = x_ + b->vadr;
        if (b->nv == 3) {
            vec3 y = vec(x[0], x[1], x[2]);
            if (!root_body) y = sub(y, mul_add(mul(s->three.G.Xa, d.w), s->three.G.Xl, d.v));
            if (b->kind == JOINT_BALL) {
                const vec3 e = tmul(n->R, y);
                x[0] = e.x, x[1] = e.y, x[2] = e.z;
                d.w = add(d.w, y);
            } else {
                x[0] = y.x, x[1] = y.y, x[2] = y.z;
                d.v = add(d.v, y);
            }
        } else {
            if (!root_body) x[0] = fnmadd(s->one.i, dot_add(dot(s->one.Ua, d.w), s->one.Ul, d.v), x[0]);
            add_joint_motion(b, b->kind, n->R.z, x[0], &d.w, &d.v);
        }
        F->d[i] = d;
    }
}

/// x with H x = b. b, x [nv], may be the same.
KERNEL void tree_solve(const lane_model *m, tree_factors *F, const real *b_, real *x_)
{
    for (int i = 0; i < m->nbody; i++) F->p[i] = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const tree_node *n = &F->node[i];
        const tree_pivot *s = &F->pivot[i];
        wrench p = F->p[i];
        if (b->nv == 3) {
            const bool ball = b->kind == JOINT_BALL;
            const vec3 t = vec(b_[b->vadr], b_[b->vadr + 1], b_[b->vadr + 2]);
            const vec3 u = ball ? sub(mul(n->R, t), p.n) : sub(t, p.f), y = ldl_solve(s->three.D, u);
            x_[b->vadr] = y.x, x_[b->vadr + 1] = y.y, x_[b->vadr + 2] = y.z;
            if (b->flags & BODY_ROOT) continue;
            p.n = add(p.n, tmul(s->three.G.Xa, u)), p.f = add(p.f, tmul(s->three.G.Xl, u));
        } else {
            const real y = (b_[b->vadr] - joint_row(b, b->kind, n->R.z, p)) * s->one.i;
            x_[b->vadr] = y;
            if (b->flags & BODY_ROOT) continue;
            p.n = add_scaled(p.n, s->one.Ua, y), p.f = add_scaled(p.f, s->one.Ul, y);
        }
        F->p[b->parent] = wrench_add(F->p[b->parent], wrench_shift(p, n->r));
    }
    tree_outward(m, F, x_);
}

#endif
