/// Closed loops and couplings of joints in a step of one stage: equations c = 0 at its end with a force each; with springs and
/// tendons (length_terms.h). (docs/theory.md 4.14)
///
///     point     X_a - X_b, along the axes of the world
///     axes      L u_a.v_b, where two axes are to be at right angles: hinge x_a.z_b, y_a.z_b; weld (y_a.z_b - z_a.y_b)/2 and so on
///     slider    x_b.(X_a - X_b), y_b.(X_a - X_b), and those of the weld
///     distance  |X_a - X_b| - L
///     coupling  q_i - poly(q_j)
///
/// With the compliance C, c = C mu. Each has a first derivative, a row, and a second one times its force, which is in the Newton
/// matrix: of points at arms, and of two axes (theta_a x u).(theta_b x v) = theta_a'[(u.v) 1 - v u'] theta_b.
#ifndef CATENA_BOND_TERMS_H
#define CATENA_BOND_TERMS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/articulated.h"
#include "forces/body_loads.h"
#include "integrators/between_work.h"
#include "integrators/collocation.h"
#include "integrators/length_terms.h"

FN bond_ends ends_now(const solve *W, const model_bond *o)
{
    return ends_between(W->p, o->a, o->at_a, now_at(W, o->a), o->b, o->at_b, now_at(W, o->b));
}

FN vec3 unit_axis(int k) { return vec(rset(k == 0), rset(k == 1), rset(k == 2)); }

/// Adds s u.v to a row, of axes u of a and v of b.
FN void add_axes_row(bond_row *r, vec3 u, vec3 v, real s)
{
    const vec3 n = scale(cross(u, v), s);
    r->c = fmadd(s, dot(u, v), r->c), r->a.n = add(r->a.n, n), r->b.n = sub(r->b.n, n);
}

/// Which axes of a and b make up row k of those that turn, and how many pairs of them.
FN int axes_of_row(bond_kind kind, int k, int pair[2][2], double sign[2])
{
    if (kind == BOND_HINGE) {
        pair[0][0] = k, pair[0][1] = 2, sign[0] = 1;
        return 1;
    }
    pair[0][0] = (k + 1) % 3, pair[0][1] = (k + 2) % 3, sign[0] = 0.5;
    pair[1][0] = (k + 2) % 3, pair[1][1] = (k + 1) % 3, sign[1] = -0.5;
    return 2;
}

/// How many rows of a bond are of places; those after them are of turns.
FN int place_rows(bond_kind kind) { return kind == BOND_SLIDER ? 2 : kind == BOND_DISTANCE ? 1 : 3; }

FN real poly_at(const double *p, real x, real *slope, real *bend)
{
    real y = rset(p[4]), d = rset(0), e = rset(0);
    for (int k = 3; k >= 0; k--) e = fmadd(e, x, d), d = fmadd(d, x, y), y = fmadd(y, x, rset(p[k]));
    *slope = d, *bend = rset(2) * e;
    return y;
}

/// The equations of a loop whose ends are at e.
KERNEL void loop_rows(const model_bond *o, bond_ends e, bond_row *r)
{
    const int places = place_rows(o->kind);
    const mat3 Aa = mmul(e.A.R, const33(o->axes_a)), Ab = mmul(e.B.R, const33(o->axes_b));
    const real per = rset(1 / o->size);
    for (int k = 0; k < o->rows; k++) {
        clear_bond_row(&r[k], per);
        if (k < places) {
            vec3 n = unit_axis(k), arm = e.rb;
            if (o->kind == BOND_SLIDER) n = column_of(Ab, k), arm = add(e.rb, e.x);
            real c = dot(n, e.x);
            if (o->kind == BOND_DISTANCE) {
                const real length = root(dot(e.x, e.x));
                n = scale(e.x, rset(1) / length), c = length - rset(o->length);
            }
            set_way_row(&r[k], e.ra, arm, n, c);
            continue;
        }
        int pair[2][2];
        double sign[2];
        const int n = axes_of_row(o->kind, k - places, pair, sign);
        for (int i = 0; i < n; i++)
            add_axes_row(&r[k], column_of(Aa, pair[i][0]), column_of(Ab, pair[i][1]), rset(sign[i] * o->length));
    }
}

/// The equations of a bond at the iterate.
KERNEL void bond_rows_now(const lane_model *m, const solve *W, const model_bond *o, bond_row *r)
{
    if (o->kind != BOND_COUPLING) {
        loop_rows(o, ends_now(W, o), r);
        return;
    }
    real slope, bend;
    const real x = o->leader < 0 ? rset(0) : W->in.x[m->bodies[o->leader].qadr];
    clear_bond_row(r, rset(1));
    r->c = W->in.x[m->bodies[o->follower].qadr] - poly_at(o->poly, x, &slope, &bend);
    r->by_follower = rset(1), r->by_leader = negate(slope);
}

/// What bonds store where bodies have the axes of T and the origins p [nbody], the coordinates q, and forces f [nrow], J:
/// springs, and equations with a compliance.
KERNEL real bonds_energy(const lane_model *m, const placement *T, const vec3 *p, const real *q, const real *f)
{
    real E = rset(0);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        for (int e = o->row; e < o->row + o->rows; e++) E = fmadd(rset(0.5 * o->compliance) * f[e], f[e], E);
        if (o->rows) continue;
        E = E + stored_along(m, o, o->joints ? tendon_length(m, o, q) : path_length(m, o, T, p));
    }
    return E;
}

/// All bonds at the iterate, with the forces that they have: adds these to the wrenches of bodies, and to tau. Returns the
/// energy of springs; equations are in B->row.
KERNEL real evaluate_bonds(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    real E = rset(0);
    for (int k = 0; k < m->nv; k++) B->tau[k] = rset(0);
    B->c = rset(0);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (!o->rows) {
            const pull_along_length s = pull_of_length(m, W, o);
            E = E + s.E;
            pull_along(m, W, o, s.force);
            continue;
        }
        bond_row *const r = &B->row[o->row];
        bond_rows_now(m, W, o, r);
        for (int j = 0; j < o->rows; j++) {
            const real f = B->force[o->row + j];
            B->c = larger(B->c, magnitude(fnmadd(rset(o->compliance), f, r[j].c)) * r[j].scale);
            if (o->kind == BOND_COUPLING) {
                real *const t = &B->tau[m->bodies[o->follower].vadr];
                *t = fmadd(f, r[j].by_follower, *t);
                if (o->leader >= 0)
                    B->tau[m->bodies[o->leader].vadr] = fmadd(f, r[j].by_leader, B->tau[m->bodies[o->leader].vadr]);
                continue;
            }
            if (o->a >= 0) {
                wrench *const w = &W->body[o->a].w;
                w->n = add_scaled(w->n, r[j].a.n, f), w->f = add_scaled(w->f, r[j].a.f, f);
            }
            if (o->b >= 0) {
                wrench *const w = &W->body[o->b].w;
                w->n = add_scaled(w->n, r[j].b.n, f), w->f = add_scaled(w->f, r[j].b.f, f);
            }
        }
    }
    return E;
}

// ---- in the matrix

FN bool is_loop(const model_bond *o) { return o->rows && o->kind != BOND_COUPLING; }

/// The curvature of a loop whose ends are at e: into the blocks of both bodies, and the cross block, which is not 0 where it
/// returns true.
KERNEL bool bond_curvature(const model_bond *o, bond_ends e, const real *force, inertia6 *P, cross_block *G)
{
    inertia6 *const A = o->a < 0 ? NULL : &P[o->a], *const B = o->b < 0 ? NULL : &P[o->b];
    *G = no_cross();
    if (o->kind == BOND_DISTANCE) {
        const real length = root(dot(e.x, e.x));
        const vec3 n = scale(e.x, rset(1) / length), f = scale(n, force[0]);
        if (A) add_point_bend(A, e.ra, f);
        if (B) add_point_bend(B, e.rb, opposite(f));
        add_way_stiffness(A, B, G, e.ra, e.rb, string_stiffness(n, force[0], length));
        return A && B;
    }
    const int places = place_rows(o->kind);
    const mat3 Aa = mmul(e.A.R, const33(o->axes_a)), Ab = mmul(e.B.R, const33(o->axes_b));
    bool crosses = false;
    for (int k = 0; k < places; k++) {
        if (o->kind == BOND_SLIDER) {
            // n.(X_a - X_b), n an axis of b: (theta x n).(v_a + theta_a x r_a - v_b) and curvature of the points, and of n
            const vec3 n = scale(column_of(Ab, k), force[k]), arm = add(e.rb, e.x);
            if (A) add_point_bend(A, e.ra, n);
            if (B) add_point_bend(B, arm, n);  // b goes back below it
            // by b's turn: n x (.) of a's way
            mat3 N;
            N.x = vec(rset(0), n.z, negate(n.y)), N.y = vec(negate(n.z), rset(0), n.x),
            N.z = vec(n.y, negate(n.x), rset(0));  // [n]x
            const mat3 Nt = mat3_scale(N, rset(-1));
            G->vw = mat3_add(G->vw, Nt), G->ww = mat3_add(G->ww, skew_times(e.ra, Nt));
            crosses = true;
            continue;
        }
        const vec3 f = scale(unit_axis(k), force[k]);
        if (A) add_point_bend(A, e.ra, f);
        if (B) add_point_bend(B, e.rb, opposite(f));
    }
    for (int k = places; k < o->rows; k++) {
        int pair[2][2];
        double sign[2];
        const int n = axes_of_row(o->kind, k - places, pair, sign);
        for (int i = 0; i < n; i++) {
            const vec3 u = column_of(Aa, pair[i][0]), v = column_of(Ab, pair[i][1]);
            const real s = rset(sign[i] * o->length) * force[k], along = s * dot(u, v);
            if (A) A->A = sym_add(A->A, point_curvature(u, scale(v, s)));
            if (B) B->A = sym_add(B->A, point_curvature(v, scale(u, s)));
            const vec3 sv = scale(v, negate(s));
            mat3 D;
            D.x = scale(sv, u.x), D.y = scale(sv, u.y), D.z = scale(sv, u.z);
            D.x.x = D.x.x + along, D.y.y = D.y.y + along, D.z.z = D.z.z + along;
            G->ww = mat3_add(G->ww, D);
            crosses = true;
        }
    }
    return crosses && A && B;
}

#endif
