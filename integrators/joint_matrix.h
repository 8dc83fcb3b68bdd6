/// The Newton matrix of a step in joint space, with what acts between bodies in it: the tree's own composite blocks, rows that
/// join two bodies, equations at its border; and its LDL' factors, which keep to what is not zero. (docs/theory.md 4.14)
///
///     [H + sum k r r'   J']      H_jk = S_j'(sum of blocks beyond both) S_k, the matrix of newton_sweep.h
///     [J               -C ]      r: a row that joins two bodies; J: equations, with compliance C
///
/// Its columns are the equations, then degrees of freedom in the order of the bodies. What is eliminated first is the last: a
/// tree alone so fills in nothing. [Featherstone 2005, 'Efficient factorization of the joint-space inertia matrix'] Equations
/// come last, when the pivot of each is -J H^-1 J', which a billionth more keeps from zero where they say the same thing twice:
/// what that falsifies is a step of their forces, not the forces that the solve ends with.
///
/// A lane whose pivots do not have the signs of a minimum is told (matrix_factor()). Which entries are looked at depends on lists
/// that all lanes share; where a lane has nothing there, it adds zeros.
#ifndef CATENA_JOINT_MATRIX_H
#define CATENA_JOINT_MATRIX_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/kinematics.h"

/// A node is an equation, then the degrees of freedom of a body. rows of the lower triangle follow each other.
typedef struct {
    real *H;            // [matrix_numbers()]: without what joins
    real *L;            // likewise: with it, then its factors
    real *inverse;      // [size] 1 over pivots
    real *yields;       // [nrow] what the pivots of equations have besides
    uint64_t *pattern;  // [nodes][words] which nodes before it a node is joined to
    uint64_t *path;     // [words] of the row in hand
    real *row;          // [size] likewise
    int *list;          // [size] likewise: its entries, falling
    int count;
    inertia6 *P;  // [nbody] scratch: composite blocks
    real *x;      // [size]
} joint_matrix;

FN int matrix_size(const lane_model *m) { return m->nrow + m->nv; }
FN int matrix_nodes(const lane_model *m) { return m->nrow + m->nbody; }
FN int matrix_words(const lane_model *m) { return (matrix_nodes(m) + 63) / 64; }
FN size_t matrix_numbers(const lane_model *m) { return (size_t)matrix_size(m) * ((size_t)matrix_size(m) + 1) / 2; }

FN real *matrix_row(real *H, int i) { return H + (size_t)i * ((size_t)i + 1) / 2; }
FN void set_bit(uint64_t *bits, int k) { bits[k / 64] |= (uint64_t)1 << (k % 64); }
FN int last_bit(uint64_t bits)  // of one that has any
{
    int k = 0;
    for (int step = 32; step; step /= 2)
        if (bits >> step) bits >>= step, k += step;
    return k;
}
FN bool has_bit(const uint64_t *bits, int k) { return bits[k / 64] >> (k % 64) & 1; }

/// Where the columns of a node begin, and how many there are.
FN int node_start(const lane_model *m, int node) { return node < m->nrow ? node : m->nrow + m->bodies[node - m->nrow].dof; }
FN int node_width(const lane_model *m, int node) { return node < m->nrow ? 1 : m->bodies[node - m->nrow].nv; }
FN int body_start(const lane_model *m, int body) { return m->nrow + m->bodies[body].dof; }

// ---- the tree

/// What a body has in the matrix: its block, and how the joint holds itself; 1 degree of freedom: own.xx.
typedef struct {
    inertia6 P;
    sym3 own;
    wrench carried;  // that its subtree carries: its cross term (docs/theory.md 4.3)
} matrix_body;

/// P S + S x* w / 2 of column k of the joint of body b; *plain: without the cross term, which its own block has none of.
FN wrench matrix_column(const lane_body *b, mat3 R, int k, const inertia6 *P, wrench w, wrench *plain)
{
    const twist S = joint_subspace(b, b->kind, R, k);
    wrench F, N = carried(S.w, S.v, w);
    F.n = add(smul(P->A, S.w), mul(P->B, S.v)), F.f = add(tmul(P->B, S.w), smul(P->D, S.v));
    *plain = F;
    F.n = add_scaled(F.n, N.n, rset(0.5)), F.f = add_scaled(F.f, N.f, rset(0.5));
    return F;
}

FN real sym_entry(const sym3 *S, int i, int j)
{
    const int k = i < j ? 3 * i + j : 3 * j + i;
    return k == 0 ? S->xx : k == 1 ? S->xy : k == 2 ? S->xz : k == 4 ? S->yy : k == 5 ? S->yz : S->zz;
}

/// H of the tree, in the lanes `where`; T [nbody]: placements; body [nbody]. Joined nodes are those on the way to the root.
KERNEL void matrix_of_tree(const lane_model *m, joint_matrix *M, const placement *T, const matrix_body *body, mask where)
{
    for (int i = 0; i < m->nbody; i++) M->P[i] = body[i].P;
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const inertia6 P = M->P[i];
        for (int k = 0; k < b->nv; k++) {
            real *const row = matrix_row(M->H, body_start(m, i) + k), own[3];
            wrench plain, F = matrix_column(b, T[i].R, k, &P, body[i].carried, &plain);
            joint_rows(b, b->kind, T[i].R, plain, own);
            for (int j = 0; j <= k; j++) {
                real *const to = &row[body_start(m, i) + j];
                *to = sel(where, own[j] + sym_entry(&body[i].own, k, j), *to);
            }
            for (int j = i; !(m->bodies[j].flags & BODY_ROOT);) {
                if (has_arm(form_of(&m->bodies[j]))) F = wrench_shift(F, T[j].r);
                j = m->bodies[j].parent;
                const lane_body *up = &m->bodies[j];
                joint_rows(up, up->kind, T[j].R, F, own);
                for (int c = 0; c < up->nv; c++) {
                    real *const to = &row[body_start(m, j) + c];
                    *to = sel(where, own[c], *to);
                }
            }
        }
        if (b->flags & BODY_ROOT) continue;
        M->P[b->parent] = inertia_add(M->P[b->parent], has_arm(form_of(b)) ? inertia_shift(P, T[i].r) : P);
    }
}

/// Nodes are joined as those of the tree are, and nothing else is.
KERNEL void matrix_pattern(const lane_model *m, joint_matrix *M)
{
    const int words = matrix_words(m), nodes = matrix_nodes(m);
    memset(M->pattern, 0, (size_t)nodes * (size_t)words * sizeof *M->pattern);
    for (int i = 0; i < m->nbody; i++) {
        uint64_t *const bits = M->pattern + (size_t)(m->nrow + i) * (size_t)words;
        for (int j = i; !(m->bodies[j].flags & BODY_ROOT);) j = m->bodies[j].parent, set_bit(bits, m->nrow + j);
    }
}

/// H is 0 where nodes are joined otherwise.
KERNEL void clear_joint_matrix(const lane_model *m, joint_matrix *M)
{
    const size_t n = matrix_numbers(m);
    for (size_t k = 0; k < n; k++) M->H[k] = rset(0);
}

// ---- what joins

/// The row in hand begins: nothing is in it.
FN void begin_row(const lane_model *m, joint_matrix *M)
{
    memset(M->path, 0, (size_t)matrix_words(m) * sizeof *M->path);
    M->count = 0;
}

/// The row in hand is to have body i, and those on the way to the root.
FN void row_reaches(const lane_model *m, joint_matrix *M, int i)
{
    while (i >= 0 && !has_bit(M->path, m->nrow + i)) {
        set_bit(M->path, m->nrow + i);
        i = m->bodies[i].flags & BODY_ROOT ? -1 : m->bodies[i].parent;
    }
}

/// What is in it is known: all of these are joined to each other.
KERNEL void row_joins(const lane_model *m, joint_matrix *M)
{
    const int words = matrix_words(m);
    M->count = 0;
    for (int node = matrix_nodes(m) - 1; node >= 0; node--) {
        if (!has_bit(M->path, node)) continue;
        uint64_t *const bits = M->pattern + (size_t)node * (size_t)words;
        for (int k = 0; k < node / 64; k++) bits[k] |= M->path[k];
        bits[node / 64] |= M->path[node / 64] & (((uint64_t)1 << (node % 64)) - 1);
        for (int k = node_width(m, node) - 1; k >= 0; k--) M->list[M->count++] = node_start(m, node) + k;
    }
}

FN void clear_row(joint_matrix *M)
{
    for (int k = 0; k < M->count; k++) M->row[M->list[k]] = rset(0);
}

/// Adds S'w to the row in hand, of the wrench w on body i about its origin.
FN void row_of_wrench(const lane_model *m, joint_matrix *M, const placement *T, int i, wrench w)
{
    while (i >= 0) {
        const lane_body *b = &m->bodies[i];
        real r[3];
        joint_rows(b, b->kind, T[i].R, w, r);
        for (int k = 0; k < b->nv; k++) M->row[body_start(m, i) + k] = M->row[body_start(m, i) + k] + r[k];
        if (b->flags & BODY_ROOT) return;
        if (has_arm(form_of(b))) w = wrench_shift(w, T[i].r);
        i = b->parent;
    }
}

/// H + k r r' of the row in hand.
KERNEL void matrix_add_row(joint_matrix *M, real *H, real k)
{
    for (int i = 0; i < M->count; i++) {
        real *const to = matrix_row(H, M->list[i]);
        const real a = k * M->row[M->list[i]];
        for (int j = i; j < M->count; j++) to[M->list[j]] = fmadd(a, M->row[M->list[j]], to[M->list[j]]);
    }
}

/// The row in hand is equation e, with compliance C.
KERNEL void matrix_set_equation(joint_matrix *M, real *H, int e, real C)
{
    for (int i = 0; i < M->count; i++) {
        if (M->list[i] > e) matrix_row(H, M->list[i])[e] = M->row[M->list[i]];
    }
    matrix_row(H, e)[e] = negate(C);
}

/// What a motion of one body makes of the wrench on another, by their twists about their origins: rows of the first by columns of
/// the second.
typedef struct {
    mat3 ww, wv, vw, vv;  // by columns
} cross_block;

/// H + X'G Y + Y'G'X, X and Y how the bodies a and b move. The row in hand has both.
KERNEL void matrix_add_cross(const lane_model *m, real *H, const placement *T, int a, int b, const cross_block *G)
{
    vec3 arm = zero3();
    for (int k = b; k >= 0;) {
        const lane_body *B = &m->bodies[k];
        for (int c = 0; c < B->nv; c++) {
            const twist S = joint_subspace(B, B->kind, T[k].R, c);
            const vec3 v = cross_add(S.v, S.w, arm);
            const int col = body_start(m, k) + c;
            wrench w;
            w.n = add(mul(G->ww, S.w), mul(G->wv, v)), w.f = add(mul(G->vw, S.w), mul(G->vv, v));
            for (int j = a; j >= 0;) {
                const lane_body *A = &m->bodies[j];
                real r[3];
                joint_rows(A, A->kind, T[j].R, w, r);
                for (int d = 0; d < A->nv; d++) {
                    const int row = body_start(m, j) + d, hi = row > col ? row : col, lo = row > col ? col : row;
                    real *const to = &matrix_row(H, hi)[lo];
                    *to = *to + r[d];
                    if (row == col) *to = *to + r[d];
                }
                if (A->flags & BODY_ROOT) break;
                if (has_arm(form_of(A))) w = wrench_shift(w, T[j].r);
                j = A->parent;
            }
        }
        if (B->flags & BODY_ROOT) break;
        if (has_arm(form_of(B))) arm = add(arm, T[k].r);
        k = B->parent;
    }
}

// ---- factors

/// What nodes are joined to when those after them have been eliminated.
KERNEL void matrix_fill(const lane_model *m, joint_matrix *M)
{
    const int words = matrix_words(m);
    for (int node = matrix_nodes(m) - 1; node > 0; node--) {
        const uint64_t *const bits = M->pattern + (size_t)node * (size_t)words;
        int up = -1;
        for (int k = words - 1; k >= 0 && up < 0; k--)
            if (bits[k]) up = 64 * k + last_bit(bits[k]);
        if (up < 0) continue;
        uint64_t *const to = M->pattern + (size_t)up * (size_t)words;
        for (int k = 0; k < up / 64; k++) to[k] |= bits[k];
        to[up / 64] |= bits[up / 64] & (((uint64_t)1 << (up % 64)) - 1);
    }
}

/// The columns before column c of a node that it is joined to, falling, into M->list.
FN int joined_columns(const lane_model *m, joint_matrix *M, int node, int c)
{
    const uint64_t *const bits = M->pattern + (size_t)node * (size_t)matrix_words(m);
    int n = 0;
    for (int k = c - 1; k >= node_start(m, node); k--) M->list[n++] = k;
    for (int w = node / 64; w >= 0; w--)
        for (uint64_t rest = bits[w]; rest;) {
            const int bit = last_bit(rest), from = 64 * w + bit;
            rest &= ~((uint64_t)1 << bit);
            for (int k = node_width(m, from) - 1; k >= 0; k--) M->list[n++] = node_start(m, from) + k;
        }
    return n;
}

/// L becomes L and D of what is there; least: how much an equation yields that no joint feels, over 1e-9. minimum: pivots are to
/// be those of one: positive, negative of equations; else of either sign. Returns the lanes in which they are.
KERNEL mask matrix_factor(const lane_model *m, joint_matrix *M, real least, bool minimum)
{
    const real one = rset(1), zero = rset(0);
    mask good = not_(none_of());
    for (int node = matrix_nodes(m) - 1; node >= 0; node--) {
        const bool equation = node < m->nrow;
        if (node == m->nrow - 1)
            for (int e = 0; e < m->nrow; e++) {
                real *const pivot = &matrix_row(M->L, e)[e];
                M->yields[e] = rset(1e-9) * (*pivot - least);
                *pivot = fmadd(rset(1e-9), *pivot - least, *pivot);
            }
        for (int c = node_start(m, node) + node_width(m, node) - 1; c >= node_start(m, node); c--) {
            real *const row = matrix_row(M->L, c);
            const int n = joined_columns(m, M, node, c);
            const mask above = gt(row[c], zero), below = lt(row[c], zero);
            const mask fine = !minimum ? either(above, below) : equation ? below : above;
            const real inverse = M->inverse[c] = one / sel(fine, row[c], one);
            good = both(good, fine);
            for (int j = 0; j < n; j++) {
                real *const to = matrix_row(M->L, M->list[j]);
                const real l = row[M->list[j]] * inverse;
                for (int k = j; k < n; k++) to[M->list[k]] = fnmadd(l, row[M->list[k]], to[M->list[k]]);
                row[M->list[j]] = l;
            }
        }
    }
    return good;
}

/// x [size]: the solution for what is in x.
KERNEL void matrix_solve(const lane_model *m, joint_matrix *M, real *x)
{
    for (int node = matrix_nodes(m) - 1; node >= 0; node--)
        for (int c = node_start(m, node) + node_width(m, node) - 1; c >= node_start(m, node); c--) {
            const real *const row = matrix_row(M->L, c);
            const int n = joined_columns(m, M, node, c);
            for (int j = 0; j < n; j++) x[M->list[j]] = fnmadd(row[M->list[j]], x[c], x[M->list[j]]);
            x[c] = x[c] * M->inverse[c];
        }
    for (int node = 0; node < matrix_nodes(m); node++)
        for (int c = node_start(m, node); c < node_start(m, node) + node_width(m, node); c++) {
            const real *const row = matrix_row(M->L, c);
            const int n = joined_columns(m, M, node, c);
            for (int j = n - 1; j >= 0; j--) x[c] = fnmadd(row[M->list[j]], x[M->list[j]], x[c]);
        }
}

/// y = H x for the degrees of freedom, by what nodes are joined to; x, y [size], of which equations are left out.
KERNEL void matrix_times(const lane_model *m, joint_matrix *M, const real *x, real *y)
{
    for (int c = m->nrow; c < matrix_size(m); c++) y[c] = rset(0);
    for (int node = m->nrow; node < matrix_nodes(m); node++)
        for (int c = node_start(m, node); c < node_start(m, node) + node_width(m, node); c++) {
            const real *const row = matrix_row(M->H, c);
            const int n = joined_columns(m, M, node, c);
            y[c] = fmadd(row[c], x[c], y[c]);
            for (int j = 0; j < n; j++) {
                const int k = M->list[j];
                if (k < m->nrow) continue;
                y[c] = fmadd(row[k], x[k], y[c]), y[k] = fmadd(row[k], x[c], y[k]);
            }
        }
}

#endif
