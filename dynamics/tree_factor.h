/// Factors of a matrix of the form that elimination.h has, for any number of right-hand sides, each in O(N): the joint-space
/// inertia, and the Newton matrix of position-based steps.
///
/// A block LDL' factorisation from the leaves. Unlike those of aba.h and newton_sweep.h, which solve on the way, tree_factor()
/// takes matrices that are not positive definite; it only needs pivots that are not singular.
#ifndef CATENA_TREE_FACTOR_H
#define CATENA_TREE_FACTOR_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/kinematics.h"
#include "dynamics/elimination.h"

/// What one body puts into the matrix. World axes, body origin.
typedef struct {
    inertia6 P;       // block of the body; tree_factor() makes it that of the subtree
    const wrench *w;  // carried by the subtree: its cross term couples the joint to those above (docs/theory.md 4.3); NULL: none
    sym3 k;           // the joint's own, in its coordinates; one degree of freedom: k.xx
} tree_node;

/// Arrays [nbody]. node: for tree_factor(); p, d: scratch
typedef struct {
    placement *T;
    tree_pivot *pivot;
    tree_node *node;
    wrench *p;
    twist *d;
} tree_factors;

/// Factors the matrix that F->node and F->T describe.
KERNEL void tree_factor(const lane_model *m, tree_factors *F)
{
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const bool root_body = b->flags & BODY_ROOT;
        const mat3 R = F->T[i].R;
        tree_node *n = &F->node[i];
        inertia6 P = n->P;
        if (b->nv == 3) {
            const bool ball = b->kind == JOINT_BALL;
            pivot3 *s = &F->pivot[i].three;
            mat3 Ua, Ul;
            s->D = ldl_factor(sym_add(ball ? P.A : P.D, ball ? turn(R, n->k) : n->k));
            if (!root_body) s->G = eliminate3(s->D, n->w, &P, &Ua, &Ul);
        } else {
            const twist S = joint_subspace(b, b->kind, R, 0);
            pivot1 *s = &F->pivot[i].one;
            joint_column(b, b->kind, R.z, &P, &s->Ua, &s->Ul);
            s->i = rset(1) / dot_add(dot_add(n->k.xx, S.v, s->Ul), S.w, s->Ua);
            if (n->w && !root_body) {  // rounded before it is added, unlike add_cross_term()
                const wrench N = carried(S.w, S.v, *n->w);
                s->Ua = add_scaled(s->Ua, N.n, rset(0.5)), s->Ul = add_scaled(s->Ul, N.f, rset(0.5));
            }
            if (!root_body) P = inertia_eliminate(P, s->Ua, s->Ul, s->i);
        }
        if (!root_body) {
            tree_node *up = &F->node[b->parent];
            up->P = inertia_add(up->P, has_arm(form_of(b)) ? inertia_shift(P, F->T[i].r) : P);
        }
    }
}

/// The half of a solve for b [nv] that goes inwards: x [nv] becomes u, of joints of three degrees of freedom D^-1 u in world
/// axes. w [nbody]: wrenches on the bodies, which add S'(their sums); NULL: none. x may be b.
KERNEL void tree_inward(const lane_model *m, const tree_factors *F, const real *b_, const wrench *w, real *x_)
{
    for (int i = 0; i < m->nbody; i++) {
        F->p[i] = wrench_zero();
        if (w) F->p[i].n = opposite(w[i].n), F->p[i].f = opposite(w[i].f);
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const mat3 R = F->T[i].R;
        const tree_pivot *s = &F->pivot[i];
        real *x = x_ + b->vadr;
        wrench p = F->p[i];
        if (b->nv == 3) store3(x, take_side3(form_of(b), &R, &s->three.D, &s->three.G, load3(b_ + b->vadr), &p));
        else x[0] = take_side1(b, b->kind, R.z, &s->one, b_[b->vadr], &p);
        if (b->flags & BODY_ROOT) continue;
        F->p[b->parent] = wrench_add(F->p[b->parent], has_arm(form_of(b)) ? wrench_shift(p, F->T[i].r) : p);
    }
}

/// The half that goes outwards: x [nv] from what tree_inward() leaves there.
KERNEL void tree_outward(const lane_model *m, const tree_factors *F, real *x_)
{
    twist d;
    d.w = d.v = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const joint_form f = form_of(b);
        const placement *T = &F->T[i];
        const tree_pivot *s = &F->pivot[i];
        real *x = x_ + b->vadr;
        d = motion_before(b, f, &T->r, &d, F->d);
        if (b->nv == 3) move_joint3(f, &T->R, &s->three.G, load3(x), &d, x);
        else {
            x[0] = x[0] * s->one.i;
            if (!(f.flags & BODY_ROOT)) x[0] = fnmadd(s->one.i, dot_add(dot(s->one.Ua, d.w), s->one.Ul, d.v), x[0]);
            add_joint_motion(b, f.kind, T->R.z, x[0], &d.w, &d.v);
        }
        F->d[i] = d;
    }
}

/// x with H x = b. b, x [nv], may be the same.
KERNEL void tree_solve(const lane_model *m, const tree_factors *F, const real *b, real *x)
{
    tree_inward(m, F, b, NULL, x);
    tree_outward(m, F, x);
}

#endif
