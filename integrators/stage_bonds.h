/// Loops and couplings in a step of several coupled stages: at each of them the equations c = C mu of bond_terms.h, with forces mu
/// of their own. Bodies keep to them as to their joints, so that the order of the stages stays. (docs/theory.md 5.6)
///
/// With the matrix J of stage_sweep.h, which knows the curvature of both bodies alone, a border has what joins them, at each stage:
///
///     [J P; R D] [d; z] = -[r; c],      R, P: rows and columns of equations, their forces z, and D = -C;
///                                       for a cross block G between a and b the motions t_b and t_a, with T_a'G and T_b'G', D = -1
///
///     d_0 = -J^-1 r,   X = J^-1 P,   (D - R X) z = -c - R d_0,   d = d_0 - X z
///
/// J^-1 has about h^2 A^2 of a mass, A the Runge-Kutta matrix, whose diagonal may be 0: rows of equations are mixed over the stages
/// by A^-2, so that equations which say the same twice can have a billionth of their pivots added, as in joint_factors.h.
#ifndef CATENA_STAGE_BONDS_H
#define CATENA_STAGE_BONDS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "integrators/bond_terms.h"
#include "integrators/force_unit.h"
#include "integrators/joint_matrix.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_solve.h"
#include "integrators/stage_sweep.h"

/// Of the border at a stage: beyond it the dense matrix of all stages would cost more than steps of order 2.
enum { MOST_STAGE_BORDER = 64 };

/// How many motions of its bodies a bond has in the border, to say what they make of each other.
FN int crossing_motions(const model_bond *o)
{
    if (o->kind == BOND_COUPLING) return o->leader >= 0;
    if (o->a < 0 || o->b < 0 || o->kind == BOND_POINT) return 0;
    return o->kind == BOND_HINGE || o->kind == BOND_WELD ? 6 : 12;
}

/// Numbers of the border at a stage.
FN int border_of_bonds(const lane_model *m)
{
    int n = m->nrow;
    for (int k = 0; k < m->nbond; k++) n += crossing_motions(&m->bonds[k]);
    return n;
}

/// Whether several stages take what bonds there are: loops and couplings, where nothing touches the ground; else steps are of
/// order 2. A landing of what is closed has no law that would hold it to its energy (hold_energy.h).
FN bool stages_take_bonds(const lane_model *m)
{
    for (int k = 0; k < m->nbond; k++)
        if (!m->bonds[k].rows) return false;
    return !m->ncontact && border_of_bonds(m) <= MOST_STAGE_BORDER;
}

FN body_at stage_at(const stages *W, int i, int a)
{
    body_at T = world_at();
    if (i < 0) return T;
    const stage_body *const t = &W->body[i * W->table->stages + a];
    T.R = t->T.R, T.dp = t->dp;
    return T;
}
FN bond_ends ends_at_stage(const stages *W, const model_bond *o, int a)
{
    return ends_between(W->p, o->a, o->at_a, stage_at(W, o->a, a), o->b, o->at_b, stage_at(W, o->b, a));
}

/// Where a coupling's polynomial is at stage a.
FN real poly_at_stage(const lane_model *m, const stages *W, const model_bond *o, int a, real *slope, real *bend)
{
    return poly_at(o->poly, o->leader < 0 ? rset(0) : W->in.x[a * m->nq + m->bodies[o->leader].qadr], slope, bend);
}

/// After evaluate_stages(): equations, and what their forces do to bodies.
KERNEL void evaluate_stage_bonds(const lane_model *m, stages *W)
{
    const int s = W->table->stages;
    for (int a = 0; a < s; a++)
        for (int k = 0; k < m->nbond; k++) {
            const model_bond *const o = &m->bonds[k];
            bond_row *const r = &W->bonds.row[a * m->nrow + o->row];
            const real *const f = &W->bonds.force[a * m->nrow + o->row];
            if (o->kind == BOND_COUPLING) {
                real slope, bend;
                const real y = poly_at_stage(m, W, o, a, &slope, &bend);
                clear_bond_row(r, rset(1));
                r->c = W->in.x[a * m->nq + m->bodies[o->follower].qadr] - y;
                r->by_follower = rset(1), r->by_leader = negate(slope);
                continue;
            }
            loop_rows(o, ends_at_stage(W, o, a), r);
            for (int e = 0; e < o->rows; e++)
                for (int side = 0; side < 2; side++) {
                    const int body = side ? o->b : o->a;
                    if (body < 0) continue;
                    wrench *const w = &W->body[body * s + a].w;
                    const wrench by = side ? r[e].b : r[e].a;
                    w->n = add_scaled(w->n, by.n, f[e]), w->f = add_scaled(w->f, by.f, f[e]);
                }
        }
}

/// What equation e of a stage, of bond o, lacks.
FN real lacks_at_stage(const stage_bonds *B, const model_bond *o, int e)
{
    return fnmadd(rset(o->compliance), B->force[e], B->row[e].c);
}

/// After stage_rows(), which it makes whole: returns the largest row and equation over its scale, as it does.
KERNEL real stage_bond_rows(const lane_model *m, stages *W, real *square)
{
    const int s = W->table->stages;
    row_norms norms = {rset(0), rset(0)};
    for (int a = 0; a < s; a++)
        for (int k = 0; k < m->nbond; k++) {
            const model_bond *const o = &m->bonds[k];
            for (int e = a * m->nrow + o->row; e < a * m->nrow + o->row + o->rows; e++) {
                const bond_row *const r = &W->bonds.row[e];
                const real f = W->bonds.force[e], lacks = magnitude(lacks_at_stage(&W->bonds, o, e)) * r->scale;
                norms.most = larger(norms.most, lacks), norms.square = fmadd(lacks, lacks, norms.square);
                if (o->kind != BOND_COUPLING) continue;
                real *const rows = W->r + a * m->nv, *const follows = &rows[m->bodies[o->follower].vadr];
                *follows = fmadd(f, r->by_follower, *follows);
                if (o->leader < 0) continue;
                real *const leads = &rows[m->bodies[o->leader].vadr];
                *leads = fmadd(f, r->by_leader, *leads);
            }
        }
    W->link = rset(0);
    for (int a = 0; a < s; a++)
        for (int i = 0; i < m->nbody; i++)
            for (int k = m->bodies[i].vadr; k < m->bodies[i].vadr + m->bodies[i].nv; k++) {
                const real r = magnitude(W->r[a * m->nv + k]), scaled = r * W->step[i].unit;
                W->link = larger(W->link, r * W->step[i].link);
                norms.most = larger(norms.most, scaled), norms.square = fmadd(scaled, scaled, norms.square);
            }
    *square = norms.square;
    return norms.most;
}

// ---- the border

/// Adds to `to` [nv] what the wrench w on body i is along the joints at stage a.
FN void add_stage_row(const lane_model *m, const stages *W, int a, int i, wrench w, real *to)
{
    while (i >= 0) {
        const lane_body *b = &m->bodies[i];
        const placement *T = &W->body[i * W->table->stages + a].T;
        real r[3];
        joint_rows(b, b->kind, T->R, w, r);
        for (int k = 0; k < b->nv; k++) to[b->vadr + k] = to[b->vadr + k] + r[k];
        if (b->flags & BODY_ROOT) return;
        if (has_arm(form_of(b))) w = wrench_shift(w, T->r);
        i = b->parent;
    }
}

/// The wrench whose row is component j of a body's motion, turns first.
FN wrench unit_wrench(int j)
{
    wrench w = wrench_zero();
    if (j < 3) w.n = unit_axis(j);
    else w.f = unit_axis(j - 3);
    return w;
}
/// Column j of G, or of G'.
FN wrench motion_of_other(const cross_block *G, int j, bool transpose)
{
    const vec3 e = unit_axis(j % 3);
    wrench w;
    if (transpose) w.n = j < 3 ? tmul(G->ww, e) : tmul(G->vw, e), w.f = j < 3 ? tmul(G->wv, e) : tmul(G->vv, e);
    else w.n = j < 3 ? mul(G->ww, e) : mul(G->wv, e), w.f = j < 3 ? mul(G->vw, e) : mul(G->vv, e);
    return w;
}

/// Rows and columns of the border, and the curvature of bodies, at the iterate.
KERNEL void fill_stage_border(const lane_model *m, stages *W)
{
    const int s = W->table->stages, nv = m->nv, n = border_of_bonds(m);
    const stage_bonds *const B = &W->bonds;
    for (int i = 0; i < s * m->nbody; i++) B->bend[i] = inertia_zero();
    for (int i = 0; i < s * n * nv; i++) B->lead[i] = B->push[i] = rset(0);
    for (int a = 0; a < s; a++)
        for (int k = 0, at = a * n; k < m->nbond; k++) {
            const model_bond *const o = &m->bonds[k];
            const bond_row *const r = &B->row[a * m->nrow + o->row];
            const real *const f = &B->force[a * m->nrow + o->row];
            const int crosses = crossing_motions(o);
            for (int e = 0; e < o->rows; e++, at++) {
                real *const row = B->lead + at * nv;
                if (o->kind == BOND_COUPLING) {
                    row[m->bodies[o->follower].vadr] = r->by_follower;
                    if (o->leader >= 0) row[m->bodies[o->leader].vadr] = r->by_leader;
                }
                if (o->a >= 0) add_stage_row(m, W, a, o->a, r[e].a, row);
                if (o->b >= 0) add_stage_row(m, W, a, o->b, r[e].b, row);
                for (int j = 0; j < nv; j++) B->push[at * nv + j] = row[j];
            }
            if (o->kind == BOND_COUPLING) {
                real slope, bend;
                poly_at_stage(m, W, o, a, &slope, &bend);
                if (!crosses) continue;
                const int j = m->bodies[o->leader].vadr;
                B->lead[at * nv + j] = rset(1), B->push[at * nv + j] = negate(f[0] * bend), at++;
                continue;
            }
            cross_block G;
            bond_curvature(o, ends_at_stage(W, o, a), f, B->bend + a * m->nbody, &G);
            for (int j = 0; j < crosses; j++, at++) {  // of b by a, then of a by b
                const int half = crosses / 2, c = j % half;
                const bool of_a = j >= half;
                add_stage_row(m, W, a, of_a ? o->b : o->a, unit_wrench(c), B->lead + at * nv);
                add_stage_row(m, W, a, of_a ? o->a : o->b, motion_of_other(&G, c, !of_a), B->push + at * nv);
            }
        }
}

/// What number c of the border at a stage is added to the matrix by itself.
FN real border_pivot(const lane_model *m, int c)
{
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (c < o->rows) return rset(-o->compliance);
        c -= o->rows;
        const int crosses = crossing_motions(o);
        if (c < crosses) return rset(-1);
        c -= crosses;
    }
    return rset(0);
}
/// Which equation of the model it is; -1: none.
FN int border_equation(const lane_model *m, int c)
{
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (c < o->rows) return o->row + c;
        c -= o->rows + crossing_motions(o);
        if (c < 0) return -1;
    }
    return -1;
}

/// Rows `row` [stages][n][nv] and columns `column` of the border, whose solutions are to be in moves [stages n][stages][nv]: z, in
/// the last column of M, for x [stages][nv] of the rows and c of the border, which M has there. Then x -= moves z. transposed: rows and
/// columns are each other's.
KERNEL void solve_border(const lane_model *m, const stages *W, const real *row, bool transposed, real *x)
{
    const int s = W->table->stages, n = border_of_bonds(m), nv = m->nv, all = s * n, width = all + 1;
    real *const M = W->bonds.M, *const moves = W->bonds.moves;
    const real least = rset(1) / (m->mass * W->in.k2);
    for (int l = 0; l < s; l++)
        for (int e = 0; e < n; e++) {
            real *const to = M + (l * n + e) * width;
            const real *const R = row + (l * n + e) * nv;
            for (int c = 0; c < width; c++) {
                const real *const X = (c < all ? moves + c * s * nv : x) + l * nv;
                real y = c < all ? c == l * n + e ? border_pivot(m, e) : rset(0) : to[all];
                for (int j = 0; j < nv; j++) y = fnmadd(R[j], X[j], y);
                to[c] = y;
            }
        }
    for (int e = 0; e < n; e++) {
        if (border_equation(m, e) < 0) continue;
        for (int c = 0; c < width; c++) {
            real mixed[MOST_STAGES];
            for (int l = 0; l < s; l++) {
                mixed[l] = rset(0);
                for (int a = 0; a < s; a++)
                    mixed[l] =
                        fmadd(rset(transposed ? W->table->h[a][l] : W->table->h[l][a]), M[(a * n + e) * width + c], mixed[l]);
            }
            for (int l = 0; l < s; l++) M[(l * n + e) * width + c] = mixed[l];
        }
        for (int l = 0; l < s; l++) {
            real *const pivot = &M[(l * n + e) * (width + 1)];
            *pivot = *pivot - rset(1e-12) * (magnitude(*pivot) + least);
        }
    }
    solve_dense(M, all, 1);
    for (int c = 0; c < all; c++)
        for (int j = 0; j < s * nv; j++) x[j] = fnmadd(moves[c * s * nv + j], M[c * width + all], x[j]);
}

/// Solutions of all columns, or, transposed, of all rows.
KERNEL void solve_columns(const lane_model *m, const stages *W, stage_sweep *work, const real *column, bool transposed)
{
    const int s = W->table->stages, n = border_of_bonds(m), nv = m->nv;
    for (int c = 0; c < s * n; c++) {
        real *const x = W->bonds.moves + c * s * nv, *const b = W->bonds.rhs;
        for (int j = 0; j < s * nv; j++) b[j] = rset(0);
        for (int j = 0; j < nv; j++) b[c / n * nv + j] = column[c * nv + j];
        if (transposed) stage_solve_transposed(m, W, work, b, x);
        else stage_solve(m, W, work, b, x);
    }
}

/// As stage_newton(), with the forces that equations are to have more in bonds.fresh. After stage_bond_rows().
KERNEL real stage_bond_newton(const lane_model *m, stages *W, stage_sweep *work, real *d)
{
    const int s = W->table->stages, n = border_of_bonds(m), width = s * n + 1;
    stage_bonds *const B = &W->bonds;
    real most = rset(0);
    fill_stage_border(m, W);
    stage_factor(m, W, work);
    stage_sweep_outward(m, W, work, s, d);
    solve_columns(m, W, work, B->push, false);
    for (int a = 0; a < s; a++)
        for (int k = 0, at = a * n; k < m->nbond; k++) {
            const model_bond *const o = &m->bonds[k];
            for (int e = 0; e < o->rows; e++, at++)
                B->M[at * width + s * n] = negate(lacks_at_stage(B, o, a * m->nrow + o->row + e));
            for (int j = 0; j < crossing_motions(o); j++, at++) B->M[at * width + s * n] = rset(0);
        }
    solve_border(m, W, B->lead, false, d);
    for (int a = 0; a < s; a++)
        for (int c = 0; c < n; c++) {
            const int e = border_equation(m, c);
            if (e >= 0) B->fresh[a * m->nrow + e] = B->M[(a * n + c) * width + s * n];
        }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real *const T = work->twist + i * 6 * s;
        hand_down(m, W, work, i);
        for (int c = 0; c < b->nv * s; c++) move_along(b, W, i, c, d[c / b->nv * m->nv + b->vadr + c % b->nv], T);
        for (int a = 0; a < s; a++) {
            const twist t = {vec(T[6 * a], T[6 * a + 1], T[6 * a + 2]), vec(T[6 * a + 3], T[6 * a + 4], T[6 * a + 5])};
            most = larger(most, place_change(m, b, &t));
        }
    }
    return root(most);
}

/// y with the transposed matrix, after fill_stage_border() and stage_factor(), for b [stages][nv].
KERNEL void stage_bond_solve_transposed(const lane_model *m, const stages *W, stage_sweep *work, const real *b, real *y)
{
    const int all = W->table->stages * border_of_bonds(m);
    stage_solve_transposed(m, W, work, b, y);
    solve_columns(m, W, work, W->bonds.lead, true);
    for (int c = 0; c < all; c++) W->bonds.M[c * (all + 1) + all] = rset(0);
    solve_border(m, W, W->bonds.push, true, y);
}

/// That step begins at the iterate in the lanes `need`.
FN void base_stage_bonds(const lane_model *m, const stages *W, mask need)
{
    const stage_bonds *const B = &W->bonds;
    for (int e = 0; e < W->table->stages * m->nrow; e++)
        B->base[e] = sel(need, B->force[e], B->base[e]), B->step[e] = sel(need, B->fresh[e], B->step[e]);
}
/// The share alpha of it in the lanes `where`.
FN void move_stage_bonds(const lane_model *m, const stages *W, real alpha, mask where)
{
    const stage_bonds *const B = &W->bonds;
    for (int e = 0; e < W->table->stages * m->nrow; e++)
        B->force[e] = sel(where, fmadd(alpha, B->step[e], B->base[e]), B->force[e]);
}

/// Forces are those of the guess in the lanes `where`: at all stages what they were.
KERNEL void guess_stage_bonds(const lane_model *m, const real *bond, stages *W, mask where)
{
    for (int e = 0; e < W->table->stages * m->nrow; e++) W->bonds.force[e] = sel(where, bond[e % m->nrow], W->bonds.force[e]);
}

#endif
