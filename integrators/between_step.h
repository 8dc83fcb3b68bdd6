/// The Newton step of models with pairs, loops, couplings and springs between links. (docs/theory.md 4.14)
///
/// Contacts that switch on and off stop Newton's method on the energy itself after steps of 1e-5. So each iteration solves a
/// convex problem to its end, on frozen places: with the matrix H of all that is smooth, the rows J of gaps and B of what
/// friction bends,
///
///     min over d   g.d + d'H d/2 + sum psi(gap + J d) + sum W(s + B d)     with the equations c + J_c d = 0
///
/// by Newton's method with an exact line search, in which gaps, places and trees stand still: an inner iteration is one
/// factorisation, and mostly there is one. Equations make their energy a Lagrangian; its merit is
///
///     E + mu.c - C mu.mu/2 + rho |c - C mu|^2/2,
///
/// for which the step descends. The solution is that of the whole energy; MuJoCo and SAP make one such problem of a step.
#ifndef CATENA_BETWEEN_STEP_H
#define CATENA_BETWEEN_STEP_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "integrators/between_work.h"
#include "integrators/bond_terms.h"
#include "integrators/collocation.h"
#include "integrators/fixed_touches.h"
#include "integrators/force_unit.h"
#include "integrators/joint_factors.h"
#include "integrators/joint_matrix.h"
#include "integrators/newton_sweep.h"
#include "integrators/pair_sweep.h"
#include "integrators/pair_terms.h"
#include "integrators/world_matrix.h"

enum { INNER_STEPS = 40, SLOPES = 24 };

// ---- the iterate

/// Bodies at W->in.x.
KERNEL void place_bodies(const lane_model *m, solve *W)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, place_body(b, f, W, i))
    }
    W->stands = false;
}

/// The solve begins in the lanes `where`, of which W->in.x is the first guess, with bodies there.
KERNEL void begin_between(const lane_model *m, solve *W, mask where)
{
    for (int e = 0; e < m->nrow; e++) W->between.force[e] = sel(where, W->bond[e], W->between.force[e]);
    if (m->npair) begin_touches(m, W, where);
}

/// The weight of the square of equation e in the merit.
FN real penalty_of(const lane_model *m, const solve *W, const model_bond *o)
{
    if (o->compliance > 0) return rset(0);
    const real k = rset(1e3) * m->mass * W->in.k2;
    return rset(o->kind == BOND_COUPLING ? o->size * o->size : 1) * k;
}

/// What equations add to the energy of the iterate.
KERNEL real merit_of_bonds(const lane_model *m, const solve *W)
{
    const between_work *const B = &W->between;
    real E = rset(0);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        const real penalty = penalty_of(m, W, o), C = rset(o->compliance);
        for (int e = o->row; e < o->row + o->rows; e++) {
            const real f = B->force[e], c = B->row[e].c, left = fnmadd(C, f, c);
            E = E + fmadd(rset(0.5) * penalty * left, left, f * fnmadd(rset(0.5) * C, f, c));
        }
    }
    return E;
}

/// After evaluate(): what acts between bodies. stood: as of evaluate_touches().
KERNEL void evaluate_between(const lane_model *m, solve *W, bool stood)
{
    real E = W->E;
    if (m->npair) E = E + evaluate_touches(m, W, stood);
    if (m->nbond) E = E + evaluate_bonds(m, W);
    W->between.plain = E;
    W->E = E;
    if (m->nrow) W->E = E + merit_of_bonds(m, W);
}

/// After residual(), which it makes whole: forces along joints. Returns the largest row over its scale.
KERNEL real residual_between(const lane_model *m, solve *W, real most)
{
    if (!m->nbond) return most;
    W->link = most = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = b->vadr; k < b->vadr + b->nv; k++) {
            W->r[k] = W->r[k] + W->between.tau[k];
            most = larger(most, magnitude(W->r[k]) * W->step[i].unit);
            W->link = larger(W->link, magnitude(W->r[k]) * W->step[i].link);
        }
    }
    return most;
}

// ---- the matrix

/// Blocks of bodies, without curvature in the lanes `dropped`.
KERNEL void gather_blocks(const lane_model *m, solve *W, mask dropped)
{
    between_work *const B = &W->between;
    const bool drops = any_of(dropped);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const iterate_body *t = &W->body[i];
        matrix_body *const to = &B->body[i];
        sym3 A = t->A;
        vec3 h = t->b;
        if (!(b->flags & BODY_MASS)) to->P = inertia_zero();
        else {
            if (drops) drop_curvature(b, W, i, dropped, &A, &h);
            to->P = inertia_rigid(A, h, given(b)->mass * W->in.k2);
        }
        if (is_loaded(b, W)) {
            if (drops) drop_load_curvature(m, W, i);
            to->P = inertia_add(to->P, drops ? sel_inertia(dropped, W->safe[b->load], W->load[b->load].P) : W->load[b->load].P);
        }
        to->P = inertia_add(to->P, drops ? sel_inertia(dropped, inertia_zero(), B->P[i]) : B->P[i]);
        to->own = sym_diagonal(rset(0), rset(0), rset(0));
        if (has_terms(b, W->in.tau))
            to->own = drops && b->nv == 3 ? sel_sym(dropped, W->terms[i].safe, W->terms[i].k) : W->terms[i].k;
        to->carried = W->sum[i];
        if (drops) to->carried.n = sel3(dropped, zero3(), to->carried.n), to->carried.f = sel3(dropped, zero3(), to->carried.f);
    }
    for (int i = 0; i < m->nbody && drops; i++) {
        const lane_body *b = &m->bodies[i];
        if ((b->flags & BODY_ROOT) || !has_arm(form_of(b))) continue;
        sym3 *const up = &B->body[b->parent].P.A;
        *up = sel_sym(dropped, sym_add(*up, pull_block(W->now[i].r, W->sum[i].f)), *up);
    }
}

FN inertia6 inertia_scale(inertia6 P, real s)
{
    P.A = sym_scale(P.A, s), P.D = sym_scale(P.D, s), P.B = mat3_scale(P.B, s);
    return P;
}
FN cross_block scaled_cross(cross_block G, real s)
{
    G.ww = mat3_scale(G.ww, s), G.wv = mat3_scale(G.wv, s), G.vw = mat3_scale(G.vw, s), G.vv = mat3_scale(G.vv, s);
    return G;
}
FN cross_block cross_add_scaled(cross_block G, const pair_bend *H, real s)  // G + s H
{
    G.ww = mat3_add_scaled(G.ww, H->ww, s), G.wv = mat3_add_scaled(G.wv, H->wv, s);
    G.vw = mat3_add_scaled(G.vw, H->vw, s), G.vv = mat3_add_scaled(G.vv, H->vv, s);
    return G;
}
FN mat3 sel_mat3(mask where, mat3 A, mat3 B)
{
    mat3 C;
    C.x = sel3(where, A.x, B.x), C.y = sel3(where, A.y, B.y), C.z = sel3(where, A.z, B.z);
    return C;
}
FN cross_block sel_cross(mask where, cross_block G, cross_block H)
{
    G.ww = sel_mat3(where, G.ww, H.ww), G.wv = sel_mat3(where, G.wv, H.wv);
    G.vw = sel_mat3(where, G.vw, H.vw), G.vv = sel_mat3(where, G.vv, H.vv);
    return G;
}

FN cross_block undropped_cross(cross_block G, mask dropped)
{
    return any_of(dropped) ? scaled_cross(G, sel(dropped, rset(0), rset(1))) : G;
}

/// The row in hand is to have both bodies.
FN void reach_both(const lane_model *m, joint_matrix *M, int a, int b)
{
    begin_row(m, M);
    row_reaches(m, M, a), row_reaches(m, M, b);
}
/// The curvature of elements: of normal forces, -l times that of the gap, and of friction at its points. What motions of one body
/// make of wrenches on the other is added to H, but in the lanes `dropped`.
KERNEL void bend_of_touches(const lane_model *m, solve *W, mask dropped)
{
    between_work *const B = &W->between;
    pair_pose P;
    cross_block G = no_cross();
    for (int k = 0, last = -1; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        const mask presses = gt(t->normal.force, rset(0));  // elsewhere its curvature may be infinite
        if (t->acts && any_of(presses)) {
            if (t->pair != last) P = pair_now(m, W, p), last = t->pair, G = no_cross();
            const pair_bend H = pair_bend_at(&m->touch_shapes[p->a], &m->touch_shapes[p->b], t->element, &P, &t->n);
            const real f = negate(t->normal.force);
            if (a >= 0) B->P[a] = inertia_add(B->P[a], sel_inertia(presses, inertia_scale(H.aa, f), inertia_zero()));
            if (b >= 0) B->P[b] = inertia_add(B->P[b], sel_inertia(presses, inertia_scale(H.bb, f), inertia_zero()));
            G = sel_cross(presses, cross_add_scaled(G, &H, f), G);
        }
        if (t->acts && a >= 0) add_point_bend(&B->P[a], t->arm_a, t->rub.g);
        if (t->acts && b >= 0) add_point_bend(&B->P[b], t->arm_b, opposite(t->rub.g));
        if (t->pair != last || (k + 1 < B->touches && B->touch[k + 1].pair == last) || a < 0 || b < 0) continue;
        reach_both(m, &B->M, a, b);
        G = undropped_cross(G, dropped);
        matrix_add_cross(m, &B->M, B->M.H, W->now, a, b, &G);
    }
}

/// The first body that an end of a loop moves: of a distance to a joint's centre that joint turns without it.
FN int moved_by_line(const lane_model *m, const model_bond *o, int body, const double *at)
{
    if (body < 0 || o->kind != BOND_DISTANCE) return body;
    const lane_body *b = &m->bodies[body];
    if (b->kind != JOINT_BALL && b->kind != JOINT_REVOLUTE) return body;
    if (at[0] != 0 || at[1] != 0 || at[2] != 0) return body;
    return b->flags & BODY_ROOT ? -1 : b->parent;
}
FN void reach_bond(const lane_model *m, joint_matrix *M, int k, bool equations)
{
    const model_bond *const o = &m->bonds[k];
    begin_row(m, M);
    if (equations && o->rows) set_bit(M->path, m->bond_nodes[k]);
    if (o->kind == BOND_COUPLING) {
        set_bit(M->path, m->body_nodes[o->follower]);
        if (o->leader >= 0) set_bit(M->path, m->body_nodes[o->leader]);
        return;
    }
    for (int i = o->joint; i < o->joint + o->joints; i++) set_bit(M->path, m->body_nodes[m->bond_joints[i].body]);
    for (int i = o->point; i < o->point + o->points; i++) row_reaches(m, M, m->bond_points[i].body);
    if (o->rows) row_reaches(m, M, moved_by_line(m, o, o->a, o->at_a)), row_reaches(m, M, moved_by_line(m, o, o->b, o->at_b));
}

/// The row in hand: an equation.
FN void fill_bond_row(const lane_model *m, const solve *W, joint_matrix *M, const model_bond *o, const bond_row *r)
{
    clear_row(M);
    if (o->kind == BOND_COUPLING) {
        M->row[body_start(m, o->follower)] = r->by_follower;
        if (o->leader >= 0) M->row[body_start(m, o->leader)] = M->row[body_start(m, o->leader)] + r->by_leader;
        return;
    }
    if (o->a >= 0) row_of_wrench(m, M, W->now, o->a, r->a);
    if (o->b >= 0) row_of_wrench(m, M, W->now, o->b, r->b);
}

/// Likewise: the length of a spring or tendon.
FN void fill_length_row(const lane_model *m, const solve *W, joint_matrix *M, const model_bond *o)
{
    clear_row(M);
    for (int k = o->joint; k < o->joint + o->joints; k++) {
        real *const to = &M->row[body_start(m, m->bond_joints[k].body)];
        *to = *to + rset(m->bond_joints[k].share);
    }
    for (EACH_PIECE(k, m, o, true)) {
        const path_piece P = piece_of(m, W, k, false);
        row_of_wrench(m, M, W->now, P.a, force_at(P.ra, P.pull));
        row_of_wrench(m, M, W->now, P.b, force_at(P.rb, opposite(P.pull)));
    }
}

/// The orders of worlds that have one of their own: what is joined in each lane are bodies of pairs that it looks at, and of bonds.
KERNEL void find_orders_of_step(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    uint64_t *const some = B->M.path;
    const size_t bytes = (size_t)group_words(m) * sizeof *some;
    begin_orders(m, &B->M);
    for (int k = 0; k < B->touches;) {
        const int pair = B->touch[k].pair;
        mask looks = none_of();
        for (; k < B->touches && B->touch[k].pair == pair; k++)
            looks = either(looks, either(gt(B->touch[k].weight, rset(0)), gt(B->touch[k].lag, rset(0))));
        memset(some, 0, bytes);
        add_path(m, m->touch_shapes[m->touch_pairs[pair].a].body, some);
        add_path(m, m->touch_shapes[m->touch_pairs[pair].b].body, some);
        join_in_lanes(&B->M, some, looks);
    }
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        memset(some, 0, bytes);
        for (int i = o->joint; i < o->joint + o->joints; i++) set_bit(some, m->body_groups[m->bond_joints[i].body]);
        for (int i = o->point; i < o->point + o->points; i++) add_path(m, m->bond_points[i].body, some);
        join_in_lanes(&B->M, some, not_(none_of()));
    }
    find_orders(&B->M);
}

/// H of all that is smooth, without curvature in the lanes `dropped`; and what is joined to what.
KERNEL void matrix_of_step(const lane_model *m, solve *W, mask dropped)
{
    between_work *const B = &W->between;
    joint_matrix *const M = &B->M;
    cross_block G;
    matrix_pattern(m, M);
    for (int k = 0, last = -1; k < B->touches; last = B->touch[k++].pair) {
        if (B->touch[k].pair == last) continue;
        const touch_pair *const p = &m->touch_pairs[B->touch[k].pair];
        reach_both(m, M, m->touch_shapes[p->a].body, m->touch_shapes[p->b].body), row_joins(m, M);
    }
    for (int k = 0; k < m->nbond; k++) reach_bond(m, M, k, true), row_joins(m, M);
    matrix_begin(m, M);
    if (by_world(m)) find_orders_of_step(m, W);
    for (int i = 0; i < m->nbody; i++) B->P[i] = inertia_zero();
    bend_of_touches(m, W, dropped);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (is_loop(o)) bond_curvature(o, ends_now(W, o), B->force + o->row, B->P, &G);
        if (!o->points) continue;
        const real pull = pull_of_length(m, W, o).force;
        for (EACH_PIECE(i, m, o, true)) piece_curvature(m, W, i, pull, B->P, &G);
    }
    gather_blocks(m, W, dropped);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (o->kind != BOND_COUPLING || o->leader < 0) continue;
        real slope, bend;
        poly_at(o->poly, W->in.x[m->bodies[o->leader].qadr], &slope, &bend);
        real *const own = &B->body[o->leader].own.xx;
        *own = sel(dropped, *own, fnmadd(B->force[o->row], bend, *own));
    }
    matrix_of_tree(m, M, W->now, B->body);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        reach_bond(m, M, k, false), row_is_known(m, M);
        if (is_loop(o) && bond_curvature(o, ends_now(W, o), B->force + o->row, B->P, &G)) {
            G = undropped_cross(G, dropped);
            matrix_add_cross(m, M, M->H, W->now, o->a, o->b, &G);
        }
        if (o->rows) continue;
        const pull_along_length s = pull_of_length(m, W, o);
        for (EACH_PIECE(i, m, o, true)) {
            if (!piece_curvature(m, W, i, s.force, B->P, &G)) continue;
            G = undropped_cross(G, dropped);
            matrix_add_cross(m, M, M->H, W->now, m->bond_points[i].body, m->bond_points[i + 1].body, &G);
        }
        fill_length_row(m, W, M, o);
        matrix_add_row(M, M->H, s.stiffness);
    }
}

// ---- the inner problem

/// How bodies move by x [size].
KERNEL void motions_of(const lane_model *m, const solve *W, const real *x, twist *V)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        twist T;
        T.w = T.v = zero3();
        if (!(b->flags & BODY_ROOT)) {
            T = V[b->parent];
            if (has_arm(form_of(b))) T.v = cross_add(T.v, T.w, W->now[i].r);
        }
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, W->now[i].R, k);
            const real y = x[body_start(m, i) + k];
            T.w = add_scaled(T.w, S.w, y), T.v = add_scaled(T.v, S.v, y);
        }
        V[i] = T;
    }
}

FN vec3 moves_arm(const twist *V, int i, vec3 arm) { return i < 0 ? zero3() : moved_point(V[i], arm); }

/// How gaps and bends go with these motions.
KERNEL void rates_of_touches(const lane_model *m, between_work *B)
{
    for (int k = 0; k < B->touches; k++) {
        pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        t->gap_rate = dot(t->at.n, sub(moves_arm(B->V, a, t->at.ra), moves_arm(B->V, b, t->at.rb)));
        t->bent_rate = along_ground(t->n, sub(moves_arm(B->V, a, t->arm_a), moves_arm(B->V, b, t->arm_b)));
    }
}

/// Elements begin the inner problem at the iterate, in the lanes `where`.
FN void start_touches(const lane_model *m, between_work *B, mask where)
{
    for (int k = 0; k < B->touches; k++) {
        pair_touch *const t = &B->touch[k];
        t->gap = sel(where, t->at.gap, t->gap), t->bent = sel3(where, t->s, t->bent);
        t->pull = sel3(where, first_pull(&t->rub, cap_of_pair(m, &m->touch_pairs[t->pair], t)), t->pull);
    }
}

/// The whole inner step is known.
FN void pull_touches(const lane_model *m, between_work *B)
{
    for (int k = 0; k < B->touches; k++) {
        pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        if (any_of(gt(t->lag, rset(0)))) t->pull = next_pull(t->pull, t->bent, t->bent_rate, pair_slide(m, p), cap_of_pair(m, p, t));
    }
}

/// The gradient of the inner problem at its step: g, in the order of the matrix, 0 at equations; with the forces of equations in
/// B->fresh.
KERNEL void inner_gradient(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    const real o = rset(0);
    for (int i = 0; i < m->nbody; i++) B->w[i] = wrench_zero();
    for (int c = 0; c < matrix_size(m); c++) B->g[c] = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = 0; k < b->nv; k++) B->g[body_start(m, i) + k] = W->r[b->vadr + k] + B->Hd[body_start(m, i) + k];
    }
    for (int k = 0; k < B->touches; k++) {
        pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        const normal_law N = press_of_pair(m, W, p, t, t->gap);
        t->press = N.force, t->stiffness = N.stiffness;
        const bool rubs = any_of(gt(t->lag, o));
        if (!rubs && !any_of(either(gt(t->press, o), gt(t->normal.force, o)))) continue;
        const vec3 push = scale(t->at.n, t->normal.force - t->press);
        wrench wa = force_at(t->at.ra, push), wb = force_at(t->at.rb, opposite(push));
        if (rubs) {
            t->slides = slip_with(rub_of_pair(m, p, t, t->bent), t->pull, pair_slide(m, p));
            const vec3 rub = sub(t->slides.g, t->rub.g);
            wa = wrench_add(wa, force_at(t->arm_a, rub)), wb = wrench_add(wb, force_at(t->arm_b, opposite(rub)));
        }
        if (a >= 0) B->w[a] = wrench_add(B->w[a], wa);
        if (b >= 0) B->w[b] = wrench_add(B->w[b], wb);
    }
    add_fixed_gradient(m, W);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        for (int e = o->row; e < o->row + o->rows; e++) {
            const bond_row *const r = &B->row[e];
            const real f = B->fresh[e] - B->force[e];
            if (o->kind == BOND_COUPLING) {
                real *const g = B->g;
                g[body_start(m, o->follower)] = fmadd(f, r->by_follower, g[body_start(m, o->follower)]);
                if (o->leader >= 0) g[body_start(m, o->leader)] = fmadd(f, r->by_leader, g[body_start(m, o->leader)]);
                continue;
            }
            if (o->a >= 0) B->w[o->a].n = add_scaled(B->w[o->a].n, r->a.n, f), B->w[o->a].f = add_scaled(B->w[o->a].f, r->a.f, f);
            if (o->b >= 0) B->w[o->b].n = add_scaled(B->w[o->b].n, r->b.n, f), B->w[o->b].f = add_scaled(B->w[o->b].f, r->b.f, f);
        }
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        real r[3];
        joint_rows(b, b->kind, W->now[i].R, B->w[i], r);
        for (int k = 0; k < b->nv; k++) B->g[body_start(m, i) + k] = B->g[body_start(m, i) + k] + r[k];
        if (b->flags & BODY_ROOT) continue;
        B->w[b->parent] = wrench_add(B->w[b->parent], has_arm(form_of(b)) ? wrench_shift(B->w[i], W->now[i].r) : B->w[i]);
    }
}

/// The largest row of that gradient, over its scale.
KERNEL real inner_size(const lane_model *m, const solve *W)
{
    real most = rset(0);
    for (int i = 0; i < m->nbody; i++)
        for (int k = 0; k < m->bodies[i].nv; k++)
            most = larger(most, magnitude(W->between.g[body_start(m, i) + k]) * W->step[i].unit);
    return most;
}

/// How an equation goes by the motions V of bodies and the step x of joints.
FN real rate_of_row(const lane_model *m, const model_bond *o, const bond_row *r, const twist *V, const real *x)
{
    if (o->kind == BOND_COUPLING) {
        const real follows = r->by_follower * x[body_start(m, o->follower)];
        if (o->leader < 0) return follows;
        return fmadd(r->by_leader, x[body_start(m, o->leader)], follows);
    }
    real s = rset(0);
    if (o->a >= 0) s = dot_add(dot_add(s, r->a.n, V[o->a].w), r->a.f, V[o->a].v);
    if (o->b >= 0) s = dot_add(dot_add(s, r->b.n, V[o->b].w), r->b.f, V[o->b].v);
    return s;
}

/// What elements make of motions of their bodies at the inner step: blocks of bodies, and in L those of both.
KERNEL void load_touches(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    joint_matrix *const M = &B->M;
    const real o = rset(0);
    for (int k = 0; k < B->touches;) {
        const int pair = B->touch[k].pair;
        const touch_pair *const p = &m->touch_pairs[pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        inertia6 aa = inertia_zero(), bb = aa;
        cross_block G = no_cross();
        bool some = false;
        for (; k < B->touches && B->touch[k].pair == pair; k++) {
            const pair_touch *const t = &B->touch[k];
            const vec3 way[3] = {t->at.n, t->slides.t1, t->slides.t2};
            const real stiff[3] = {t->stiffness, t->slides.k1, t->slides.k2};
            const bool rubs = any_of(gt(t->lag, o));
            for (int i = 0; i < (rubs ? 3 : 1); i++) {
                if (!any_of(gt(stiff[i], o))) continue;
                add_pair_row(&aa, &bb, &G, force_at(i ? t->arm_a : t->at.ra, way[i]),
                             force_at(i ? t->arm_b : t->at.rb, opposite(way[i])), stiff[i]);
                some = true;
            }
        }
        if (!some) continue;
        if (a >= 0) join_block(M, a, aa);
        if (b >= 0) join_block(M, b, bb);
        if (a >= 0 && b >= 0) reach_both(m, M, a, b), matrix_add_cross(m, M, M->L, W->now, a, b, &G);
    }
}

/// The matrix of the inner problem at its step, in L: H, what presses and rubs, equations.
KERNEL void inner_matrix(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    joint_matrix *const M = &B->M;
    matrix_copy(m, M);
    clear_blocks(m, M);
    load_touches(m, W), load_fixed(m, W);
    matrix_add_blocks(m, M, M->L, W->now);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (o->rows) reach_bond(m, M, k, false), row_is_known(m, M);
        for (int e = 0; e < o->rows; e++) {
            fill_bond_row(m, W, M, o, &B->row[o->row + e]);
            if (!(o->compliance > 0)) matrix_add_row(M, M->L, penalty_of(m, W, o));
            matrix_set_equation(M, M->L, bond_start(m, k) + e, rset(o->compliance));
        }
    }
}

/// What equations lack at the inner step, with the forces f.
FN real lacks(const between_work *B, const model_bond *o, int e, const real *f)
{
    return fnmadd(rset(o->compliance), f[e], B->row[e].c + B->row[e].along);
}

/// The slope of the inner problem along its step, x of it on: slope and curvature at its start are those of what is smooth.
KERNEL real slope_at(const lane_model *m, const solve *W, real x, real slope, real curvature)
{
    const between_work *const B = &W->between;
    real f = fmadd(x, curvature, slope);
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const real press = press_of_pair(m, W, p, t, fmadd(x, t->gap_rate, t->gap)).force;
        f = fnmadd(press - t->press, t->gap_rate, f);
        if (!any_of(gt(t->lag, rset(0)))) continue;
        const vec3 rub = rub_of_pair(m, p, t, add_scaled(t->bent, t->bent_rate, x)).g;
        f = f + dot(sub(rub, t->slides.g), t->bent_rate);
    }
    return add_fixed_slope(m, W, x, f);
}

/// How far the inner step goes, in the lanes `busy`: to where its slope is a thousandth of that at the start.
KERNEL real share_of_step(const lane_model *m, const solve *W, real slope, real curvature, mask busy)
{
    const real most = rset(1e-3) * magnitude(slope);
    real x = rset(1), low = rset(0), high = rset(0), f_low = slope, f_high = rset(0);
    mask bounded = none_of();
    for (int k = 0; k < SLOPES && any_of(busy); k++) {
        const real f = slope_at(m, W, x, slope, curvature);
        busy = both(busy, not_(le(magnitude(f), most)));
        const mask over = both(busy, gt(f, rset(0))), under = both(busy, not_(gt(f, rset(0))));
        high = sel(over, x, high), f_high = sel(over, f, f_high), bounded = either(bounded, over);
        low = sel(under, x, low), f_low = sel(under, f, f_low);
        // beyond: twice as far; between: where a line through both is 0, or in every other trial the middle
        const real t = f_low / (f_low - f_high),
                   chord = fmadd(high - low, sel(lt(t, rset(0.05)), rset(0.05), sel(gt(t, rset(0.95)), rset(0.95), t)), low);
        const real middle = rset(0.5) * (low + high), between = k % 2 ? middle : chord;
        x = sel(busy, sel(bounded, between, rset(2) * x), x);
        busy = both(busy, both(lt(x, rset(64)), either(not_(bounded), gt(high - low, rset(1e-12)))));
    }
    return x;
}

/// Solves the inner problem at the iterate of W, after residual_between(), in the lanes `need`: d [nv], the Newton step, with the
/// forces of equations; *slope: of the merit along it, *size: the largest change of place. dropped: takes the lanes in which the
/// matrix has no curvature. Returns where there is a step.
KERNEL mask between_direction(const lane_model *m, solve *W, mask need, mask *dropped, real *count, real *d, real *slope,
                              real *size)
{
    between_work *const B = &W->between;
    joint_matrix *const M = &B->M;
    const int n = matrix_size(m);
    const real o = rset(0), one = rset(1);
    real first = o;
    // lanes in which a step has been made; in which something may touch, or let go
    mask busy = need, begun = none_of(), switches = find_fixed(m, W);
    *dropped = none_of();
    matrix_of_step(m, W, *dropped);
    for (int c = 0; c < n; c++) B->d[c] = B->Hd[c] = o;
    start_touches(m, B, not_(none_of()));
    for (int k = 0; k < B->touches; k++) switches = either(switches, either(gt(B->touch[k].weight, o), gt(B->touch[k].lag, o)));
    for (int e = 0; e < m->nrow; e++) B->fresh[e] = B->force[e], B->row[e].along = o;
    for (int it = 0; it < INNER_STEPS && any_of(busy); it++) {
        inner_gradient(m, W);
        const real now = inner_size(m, W);
        first = sel(begun, first, now);
        // what is far from its solution is to be linear anew before it has many digits
        real most = first * sel(lt(first, rset(0.01)), rset(1e-4) * first, rset(0.01));
        most = sel(lt(most, rset(1e-13)), rset(1e-13), most);
        busy = both(busy, either(not_(begun), gt(now, most)));
        if (!any_of(busy)) break;
        inner_matrix(m, W);
        const mask good = matrix_factor(m, M, one / (m->mass * W->in.k2), true, busy), bad = both(busy, not_(good));
        if (any_of(bad)) {
            need = both(need, not_(both(bad, *dropped))), busy = both(busy, need);
            const mask again = both(busy, bad);
            *dropped = either(*dropped, again), begun = both(begun, not_(again));
            matrix_of_step(m, W, *dropped);
            for (int c = 0; c < n; c++) B->d[c] = sel(again, o, B->d[c]), B->Hd[c] = sel(again, o, B->Hd[c]);
            start_touches(m, B, again), start_fixed(B, again);
            for (int e = 0; e < m->nrow; e++)
                B->fresh[e] = sel(again, B->force[e], B->fresh[e]), B->row[e].along = sel(again, o, B->row[e].along);
            it--;  // what others do is no business of a lane
            continue;
        }
        begun = either(begun, busy);
        for (int k = 0; k < n; k++) B->step[k] = negate(B->g[k]);
        for (int k = 0; k < m->nbond; k++) {
            const model_bond *const b = &m->bonds[k];
            const real penalty = penalty_of(m, W, b);
            if (b->rows) reach_bond(m, M, k, false), row_is_known(m, M);
            for (int e = 0; e < b->rows; e++) {
                const real left = lacks(B, b, b->row + e, B->fresh);
                B->step[bond_start(m, k) + e] = negate(left);
                if (b->compliance > 0) continue;
                fill_bond_row(m, W, M, b, &B->row[b->row + e]);
                for (int i = 0; i < M->runs; i++) {
                    const column_run r = M->run[i];
                    take_numbers(B->step + r.start, M->row + r.start, penalty * left, r.end - r.start);
                }
            }
        }
        matrix_solve(m, M, B->step);
        // lanes that are done may have a matrix without a minimum by now, and a step that is no number
        for (int k = 0; k < n; k++) B->step[k] = sel(busy, B->step[k], o);
        motions_of(m, W, B->step, B->V);
        rates_of_touches(m, B), rates_of_fixed(m, B);
        matrix_times(m, M, B->step, B->M.x);
        real down = o, curvature = o;
        for (int k = 0; k < n; k++)  // g and M.x are 0 at equations
            down = fmadd(B->g[k], B->step[k], down), curvature = fmadd(B->M.x[k], B->step[k], curvature);
        for (int k = 0; k < m->nbond; k++) {
            const model_bond *const b = &m->bonds[k];
            const real penalty = penalty_of(m, W, b);
            for (int e = b->row; e < b->row + b->rows; e++) {
                bond_row *const r = &B->row[e];
                r->rate = rate_of_row(m, b, r, B->V, B->step);
                const real more = B->step[bond_start(m, k) + e - b->row], f = B->fresh[e] + more,
                           left = fnmadd(rset(b->compliance), f, r->c + r->along);
                down = fmadd(fmadd(penalty, left, more), r->rate, down), curvature = fmadd(penalty * r->rate, r->rate, curvature);
            }
        }
        pull_touches(m, B), pull_fixed(B);
        real x = one;
        if (any_of(both(busy, switches))) x = sel(switches, share_of_step(m, W, down, curvature, both(busy, switches)), one);
        x = sel(busy, x, o);
        for (int k = 0; k < n; k++) B->d[k] = fmadd(x, B->step[k], B->d[k]), B->Hd[k] = fmadd(x, B->M.x[k], B->Hd[k]);
        for (int k = 0; k < B->touches; k++) {
            pair_touch *const t = &B->touch[k];
            t->gap = fmadd(x, t->gap_rate, t->gap), t->bent = add_scaled(t->bent, t->bent_rate, x);
        }
        move_fixed(B, x);
        for (int k = 0; k < m->nbond; k++)
            for (int e = 0; e < m->bonds[k].rows; e++) {
                bond_row *const r = &B->row[m->bonds[k].row + e];
                real *const f = &B->fresh[m->bonds[k].row + e];
                *f = *f + sel(busy, B->step[bond_start(m, k) + e], o), r->along = fmadd(x, r->rate, r->along);
            }
        busy = both(busy, switches);  // in others one step is all
    }
    *count = *count + sel(both(need, *dropped), one, o);
    *slope = *size = o;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = 0; k < b->nv; k++)
            d[b->vadr + k] = B->d[body_start(m, i) + k], *slope = fmadd(W->r[b->vadr + k], d[b->vadr + k], *slope);
    }
    motions_of(m, W, B->d, B->V);
    for (int i = 0; i < m->nbody; i++) *size = larger(*size, place_change(m, &m->bodies[i], &B->V[i]));
    *size = root(*size);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const b = &m->bonds[k];
        const real penalty = penalty_of(m, W, b);
        for (int e = b->row; e < b->row + b->rows; e++) {
            bond_row *const r = &B->row[e];
            const real rate = rate_of_row(m, b, r, B->V, B->d), left = fnmadd(rset(b->compliance), B->fresh[e], r->c);
            *slope = fmadd(fmadd(penalty, left, B->fresh[e] - B->force[e]), rate, *slope);
            B->force[e] = sel(need, B->fresh[e], B->force[e]);
        }
    }
    if (m->nrow) W->E = sel(need, B->plain + merit_of_bonds(m, W), W->E);
    return need;
}

#endif
