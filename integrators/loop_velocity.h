/// Velocities of a state of several stages as they are read where links close loops: nearest to what bodies carry, in the
/// kinetic-energy norm, of those that joints and equations allow.
///
///     [H L'; L 0] [v; f] = [p; 0],    p = sum of S' [momentum of V] + J rate
///
/// V is off the equations' own velocities L v = 0 by the error of a stage, of order s, as it is off those of joints; across them it is
/// of order 2 s - 1, as places are. [Hairer, Lubich, Roche 1989: Radau IIA of index 3] (docs/theory.md 5.6)
#ifndef CATENA_LOOP_VELOCITY_H
#define CATENA_LOOP_VELOCITY_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/tree_factor.h"
#include "integrators/bond_terms.h"
#include "integrators/pose_pullback.h"
#include "integrators/stage_sweep.h"

/// Scratch of one lane block, of models whose bonds several stages take.
typedef struct {
    bond_row *row;              // [nrow]
    real *lead, *moves;         // [nrow][nv] L, and H^-1 L'
    real *M;                    // [nrow][nrow + 1]
    real *force, *other_force;  // [nrow]
    vec3 *p;                    // [nbody] origins
    wrench *load;               // [nbody]
} loop_velocity;

/// Factors the joint-space inertia at q; takes placements there.
KERNEL void factor_inertia(const lane_model *m, const real *q, tree_factors *F)
{
    find_placements(m, q, F->T);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const mat3 R = F->T[i].R;
        const real J = given(b)->armature;
        tree_node *n = &F->node[i];
        n->P = inertia_zero(), n->w = NULL, n->k = sym_diagonal(J, J, J);
        if (b->flags & BODY_MASS)
            n->P = inertia_rigid(turn(R, load_sym(given(b)->I)), mul(R, load3(given(b)->h)), given(b)->mass);
    }
    tree_factor(m, F);
}

FN body_at stands_at(const placement *T, int i)
{
    body_at at = world_at();
    if (i >= 0) at.R = T[i].R;
    return at;
}
FN bond_ends ends_standing(const loop_velocity *B, const placement *T, const model_bond *o)
{
    return ends_between(B->p, o->a, o->at_a, stands_at(T, o->a), o->b, o->at_b, stands_at(T, o->b));
}

/// Adds to `to` [nv] what the wrench w on body i is along the joints.
FN void add_row_along(const lane_model *m, const placement *T, int i, wrench w, real *to)
{
    while (i >= 0) {
        const lane_body *b = &m->bodies[i];
        real r[3];
        joint_rows(b, b->kind, T[i].R, w, r);
        for (int k = 0; k < b->nv; k++) to[b->vadr + k] = to[b->vadr + k] + r[k];
        if (b->flags & BODY_ROOT) return;
        if (has_arm(form_of(b))) w = wrench_shift(w, T[i].r);
        i = b->parent;
    }
}

/// After factor_inertia(): the rows L, of equations that yield nothing, and H^-1 L'.
KERNEL void find_loop_rows(const lane_model *m, const real *q, const tree_factors *F, const loop_velocity *B)
{
    find_origins(m, q, F->T, B->p);
    for (int j = 0; j < m->nrow * m->nv; j++) B->lead[j] = rset(0);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        bond_row *const r = &B->row[o->row];
        real *const L = B->lead + o->row * m->nv;
        if (o->compliance > 0) continue;
        if (o->kind == BOND_COUPLING) {
            real slope = rset(0), bend;
            if (o->leader >= 0) {
                poly_at(o->poly, q[m->bodies[o->leader].qadr], &slope, &bend);
                L[m->bodies[o->leader].vadr] = negate(slope);
            }
            L[m->bodies[o->follower].vadr] = rset(1);
            continue;
        }
        loop_rows(o, ends_standing(B, F->T, o), r);
        for (int e = 0; e < o->rows; e++) {
            if (o->a >= 0) add_row_along(m, F->T, o->a, r[e].a, L + e * m->nv);
            if (o->b >= 0) add_row_along(m, F->T, o->b, r[e].b, L + e * m->nv);
        }
    }
    for (int e = 0; e < m->nrow; e++) tree_solve(m, F, B->lead + e * m->nv, B->moves + e * m->nv);
}

/// After find_loop_rows(): H^-1 b in v becomes the solution of the above, with the forces f [nrow].
KERNEL void keep_to_loops(const lane_model *m, const loop_velocity *B, real *v, real *f)
{
    const int n = m->nrow, width = n + 1;
    for (int e = 0; e < n; e++) {
        real *const row = B->M + e * width;
        for (int c = 0; c < width; c++) {
            const real *const x = c < n ? B->moves + c * m->nv : v;
            row[c] = rset(0);
            for (int j = 0; j < m->nv; j++) row[c] = fmadd(B->lead[e * m->nv + j], x[j], row[c]);
        }
        row[e] = row[e] + rset(1e-12) * (row[e] + rset(1) / m->mass);  // that say the same twice, as in joint_factors.h
    }
    solve_dense(B->M, n, 1);
    for (int e = 0; e < n; e++) {
        f[e] = B->M[e * width + n];
        for (int j = 0; j < m->nv; j++) v[j] = fnmadd(B->moves[e * m->nv + j], f[e], v[j]);
    }
}

// ---- backwards

/// Where the rate of an equation has its forces, at a point of body i at the arm r, and what else goes by that point with `by`.
FN void point_rate_pullback(int i, vec3 r, vec3 f, vec3 by, pose_work *A, wrench *load)
{
    if (i < 0) return;
    add_rate_load(A, i, r, f), load[i] = wrench_add(load[i], force_at(r, by));
}
/// The same of an axis u of body i, along which it has v.
FN void axis_rate_pullback(int i, vec3 u, vec3 v, vec3 by, pose_work *A, wrench *load)
{
    if (i < 0) return;
    A->load[i].n = add(A->load[i].n, cross(u, v));
    A->moment[i] = add(A->moment[i], cross(cross(A->motion[i].w, u), v)), load[i].n = add(load[i].n, cross(u, by));
}
FN vec3 turn_rate_of(const pose_work *A, int i, vec3 u) { return i < 0 ? zero3() : cross(A->motion[i].w, u); }
FN vec3 point_rate_of(const pose_work *A, int i, vec3 r) { return i < 0 ? zero3() : moved_point(A->motion[i], r); }

/// f.(L v) of a loop whose ends are at e, with the twists A->motion: the forces by which its rate goes with those of poses, in A, and
/// the wrenches of what these forces change by with poses.
FN void loop_rate_pullback(const model_bond *o, bond_ends e, const real *f, pose_work *A, wrench *load)
{
    const int places = place_rows(o->kind);
    const mat3 Aa = mmul(e.A.R, const33(o->axes_a)), Ab = mmul(e.B.R, const33(o->axes_b));
    const vec3 rate = sub(point_rate_of(A, o->a, e.ra), point_rate_of(A, o->b, e.rb));
    for (int k = 0; k < places; k++) {
        vec3 n = scale(unit_axis(k), f[k]), by = zero3();
        if (o->kind == BOND_DISTANCE) {
            const real per = rset(1) / root(dot(e.x, e.x));
            const vec3 u = scale(e.x, per);
            n = scale(u, f[0]), by = scale(sub_scaled(rate, u, dot(u, rate)), f[0] * per);
        } else if (o->kind == BOND_SLIDER) {
            n = scale(column_of(Ab, k), f[k]), by = turn_rate_of(A, o->b, n);
            axis_rate_pullback(o->b, n, e.x, rate, A, load);
        }
        point_rate_pullback(o->a, e.ra, n, by, A, load), point_rate_pullback(o->b, e.rb, opposite(n), opposite(by), A, load);
    }
    for (int k = places; k < o->rows; k++) {
        int pair[2][2];
        double sign[2];
        const int n = axes_of_row(o->kind, k - places, pair, sign);
        for (int i = 0; i < n; i++) {
            const vec3 u = scale(column_of(Aa, pair[i][0]), rset(sign[i] * o->length) * f[k]), v = column_of(Ab, pair[i][1]);
            const vec3 u_rate = turn_rate_of(A, o->a, u), v_rate = turn_rate_of(A, o->b, v);
            axis_rate_pullback(o->a, u, v, v_rate, A, load), axis_rate_pullback(o->b, v, u, u_rate, A, load);
        }
    }
}

/// After find_loop_rows(): adds to q_bar [nv] the gradient of -f.(L v) by q, v as it is.
KERNEL void loops_rate_pullback(const lane_model *m, const real *q, const placement *T, const loop_velocity *B, const real *f,
                                const real *v, pose_work *A, real *q_bar)
{
    joint_twists(m, T, v, A->motion);
    for (int i = 0; i < m->nbody; i++) A->load[i] = B->load[i] = wrench_zero(), A->moment[i] = zero3();
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        real by[6];
        for (int e = 0; e < o->rows; e++) by[e] = negate(f[o->row + e]);
        if (o->compliance > 0) continue;
        if (o->kind != BOND_COUPLING) loop_rate_pullback(o, ends_standing(B, T, o), by, A, B->load);
        else if (o->leader >= 0) {
            const lane_body *const b = &m->bodies[o->leader];
            real slope, bend;
            poly_at(o->poly, q[b->qadr], &slope, &bend);
            q_bar[b->vadr] = fnmadd(by[0] * bend, v[b->vadr], q_bar[b->vadr]);
        }
    }
    rate_rows(m, T, rset(1), A, q_bar, NULL);
    add_joint_rows(m, T, B->load, q_bar);
}

#endif
