/// The Newton matrix of a step in joint space, with what acts between bodies in it: the tree's own composite blocks, rows that
/// join two bodies, equations at its border. Its factors, joint_factors.h, keep to what is not zero. (docs/theory.md 4.14)
///
///     [H + sum k r r'   J']      H_jk = S_j'(sum of blocks beyond both) S_k, the matrix of newton_sweep.h
///     [J               -C ]      r: a row that joins two bodies; J: equations, with compliance C
///
/// Its columns are degrees of freedom in the order of the bodies, with the equations of each bond somewhere among them. What is
/// eliminated first is the last: a tree alone so fills in nothing. [Featherstone 2005, 'Efficient factorization of the joint-space
/// inertia matrix'] The pivot of an equation is -J H^-1 J' of what has been eliminated before it: a bond comes as soon as that is
/// enough (sim/model/matrix_order.c), and fills in what its bodies are joined to, not what all others are. A billionth more keeps
/// that pivot from zero where equations say the same thing twice: what it falsifies is a step of their forces, not the forces
/// that the solve ends with.
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
#include "integrators/row_numbers.h"
#include "integrators/world_order.h"

/// Columns that follow each other: start to end - 1.
typedef struct {
    int start, end;
} column_run;

/// A node is the degrees of freedom of a body, or the equations of a bond. Rows of the lower triangle follow each other, each from
/// the first column that it is joined to on.
typedef struct {
    real *H;            // [at[size]], at most matrix_numbers(): without what joins
    real *L;            // likewise: with it, then its factors
    size_t *at;         // [size + 1] where column 0 of a row would be; then how many numbers there are
    real *inverse;      // [size] 1 over pivots
    real *yields;       // [size] what the pivots of equations have besides
    uint64_t *pattern;  // [nodes][words] which nodes before it a node is joined to
    uint64_t *path;     // [words] of the row in hand
    real *row;          // [size] likewise
    column_run *run;    // [nodes + 1] likewise: its columns, the last ones first
    int runs;
    column_run *joined;  // of all nodes: the columns that each is joined to, and its own, as matrix_begin() has found them
    size_t *first;       // [nodes + 1] where those of a node begin
    inertia6 *P;   // [nbody] composite blocks, or what comes on top of them
    bool *loaded;  // [nbody] where anything does
    real *x;       // [size]
    // of models whose worlds have orders of their own (world_matrix.h)
    world_order *order;  // [LANES]
    real *F;             // [panel_numbers()] factors
    bool alike;          // lanes have one order, the first
    mask factored;       // lanes whose factors there are
} joint_matrix;

enum { RUNS_APART = 3 };  // runs so many columns apart are one

FN int matrix_size(const lane_model *m) { return m->nrow + m->nv; }
FN int matrix_nodes(const lane_model *m) { return m->nmatrix_node; }
FN int matrix_words(const lane_model *m) { return (matrix_nodes(m) + 63) / 64; }
FN size_t matrix_numbers(const lane_model *m) { return (size_t)matrix_size(m) * ((size_t)matrix_size(m) + 1) / 2; }
/// Worlds eliminate in orders of their own.
FN bool by_world(const lane_model *m) { return m->nmatrix_group > 0; }

/// Row i of H or L, of which column k is [k].
FN real *matrix_row(const joint_matrix *M, real *H, int i) { return H + M->at[i]; }
FN void set_bit(uint64_t *bits, int k) { bits[k / 64] |= (uint64_t)1 << (k % 64); }
FN int last_bit(uint64_t bits)  // of one that has any
{
#ifdef __CUDA_ARCH__
    return 63 - __clzll((long long)bits);
#else
    return 63 - __builtin_clzll(bits);
#endif
}
FN bool has_bit(const uint64_t *bits, int k) { return bits[k / 64] >> (k % 64) & 1; }

/// Where the columns of a node begin, and end; those of a body, and of a bond.
FN int node_start(const lane_model *m, int node) { return m->matrix_nodes[node].start; }
FN int node_end(const lane_model *m, int node) { return m->matrix_nodes[node].start + m->matrix_nodes[node].width; }
FN int body_start(const lane_model *m, int body) { return m->body_columns[body]; }
FN int bond_start(const lane_model *m, int bond) { return m->matrix_nodes[m->bond_nodes[bond]].start; }

// ---- the tree

/// What a body has in the matrix: its block, and how the joint holds itself; 1 degree of freedom: own.xx.
typedef struct {
    inertia6 P;
    sym3 own;
    wrench carried;  // that its subtree carries: its cross term (docs/theory.md 4.3)
} matrix_body;

/// Column k of a 3x3 block.
FN vec3 mat3_column(const mat3 *A, int k) { return k == 0 ? A->x : k == 1 ? A->y : A->z; }
FN vec3 sym_column(const sym3 *S, int k)
{
    return k == 0 ? vec(S->xx, S->xy, S->xz) : k == 1 ? vec(S->xy, S->yy, S->yz) : vec(S->xz, S->yz, S->zz);
}

/// The wrench P S, S of column k of a joint of this kind: what is 0 there is left out.
FN wrench moved_block(const inertia6 *P, int kind, int k, twist S)
{
    wrench F;
    switch (kind) {
    case JOINT_TRANSLATION: F.n = mat3_column(&P->B, k), F.f = sym_column(&P->D, k); break;
    case JOINT_PRISMATIC: F.n = mul(P->B, S.v), F.f = smul(P->D, S.v); break;
    case JOINT_HELICAL: F.n = add(smul(P->A, S.w), mul(P->B, S.v)), F.f = add(tmul(P->B, S.w), smul(P->D, S.v)); break;
    default: F.n = smul(P->A, S.w), F.f = tmul(P->B, S.w);
    }
    return F;
}

/// P S + S x* w / 2, of which its own block has no second term.
FN wrench matrix_column(wrench F, twist S, wrench w)
{
    const wrench N = carried(S.w, S.v, w);
    F.n = add_scaled(F.n, N.n, rset(0.5)), F.f = add_scaled(F.f, N.f, rset(0.5));
    return F;
}

FN real sym_entry(const sym3 *S, int i, int j)
{
    const int k = i < j ? 3 * i + j : 3 * j + i;
    return k == 0 ? S->xx : k == 1 ? S->xy : k == 2 ? S->xz : k == 4 ? S->yy : k == 5 ? S->yz : S->zz;
}

/// Adds to H the columns of body i, of whose composite block P is; own: what it has besides, of H alone; may be NULL.
FN void add_body_columns(const lane_model *m, const joint_matrix *M, real *H, const placement *T, int i, const inertia6 *P,
                         const matrix_body *own)
{
    const lane_body *b = &m->bodies[i];
    for (int k = 0; k < b->nv; k++) {
        real *const row = matrix_row(M, H, body_start(m, i) + k), r[3];
        const twist S = joint_subspace(b, b->kind, T[i].R, k);
        wrench plain = moved_block(P, b->kind, k, S), F = own ? matrix_column(plain, S, own->carried) : plain;
        joint_rows(b, b->kind, T[i].R, plain, r);
        for (int j = 0; j <= k; j++) {
            real *const to = &row[body_start(m, i) + j];
            if (own) r[j] = r[j] + sym_entry(&own->own, k, j);
            *to = *to + r[j];
        }
        for (int j = i; !(m->bodies[j].flags & BODY_ROOT);) {
            if (has_arm(form_of(&m->bodies[j]))) F = wrench_shift(F, T[j].r);
            j = m->bodies[j].parent;
            const lane_body *up = &m->bodies[j];
            joint_rows(up, up->kind, T[j].R, F, r);
            for (int c = 0; c < up->nv; c++) row[body_start(m, j) + c] = row[body_start(m, j) + c] + r[c];
        }
    }
}

FN inertia6 block_at_parent(const lane_body *b, const placement *T, const inertia6 *P)
{
    return has_arm(form_of(b)) ? inertia_shift(*P, T->r) : *P;
}

/// Adds H of the tree; T [nbody]: placements; body [nbody]. Joined nodes are those on the way to the root.
KERNEL void matrix_of_tree(const lane_model *m, joint_matrix *M, const placement *T, const matrix_body *body)
{
    for (int i = 0; i < m->nbody; i++) M->P[i] = body[i].P;
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        add_body_columns(m, M, M->H, T, i, &M->P[i], &body[i]);
        if (b->flags & BODY_ROOT) continue;
        M->P[b->parent] = inertia_add(M->P[b->parent], block_at_parent(b, &T[i], &M->P[i]));
    }
}

// ---- blocks that come on top

FN void clear_blocks(const lane_model *m, joint_matrix *M) { memset(M->loaded, 0, (size_t)m->nbody * sizeof *M->loaded); }

/// Adds P to what comes on top of body i.
FN void join_block(joint_matrix *M, int i, inertia6 P)
{
    M->P[i] = M->loaded[i] ? inertia_add(M->P[i], P) : P;
    M->loaded[i] = true;
}

/// H + X'PX of all blocks that have been added, X how bodies move.
KERNEL void matrix_add_blocks(const lane_model *m, joint_matrix *M, real *H, const placement *T)
{
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        if (!M->loaded[i]) continue;
        add_body_columns(m, M, H, T, i, &M->P[i], NULL);
        if (!(b->flags & BODY_ROOT)) join_block(M, b->parent, block_at_parent(b, &T[i], &M->P[i]));
    }
}

/// Nodes are joined as those of the tree are, and nothing else is.
KERNEL void matrix_pattern(const lane_model *m, joint_matrix *M)
{
    const int words = matrix_words(m), nodes = matrix_nodes(m);
    memset(M->pattern, 0, (size_t)nodes * (size_t)words * sizeof *M->pattern);
    for (int i = 0; i < m->nbody; i++) {
        uint64_t *const bits = M->pattern + (size_t)m->body_nodes[i] * (size_t)words;
        for (int j = i; !(m->bodies[j].flags & BODY_ROOT);) j = m->bodies[j].parent, set_bit(bits, m->body_nodes[j]);
    }
}

// ---- what joins

/// The row in hand begins: nothing is in it.
FN void begin_row(const lane_model *m, joint_matrix *M)
{
    memset(M->path, 0, (size_t)matrix_words(m) * sizeof *M->path);
    M->runs = 0;
}

/// The row in hand is to have body i, and those on the way to the root.
FN void row_reaches(const lane_model *m, joint_matrix *M, int i)
{
    while (i >= 0 && !has_bit(M->path, m->body_nodes[i])) {
        set_bit(M->path, m->body_nodes[i]);
        i = m->bodies[i].flags & BODY_ROOT ? -1 : m->bodies[i].parent;
    }
}

/// A force along a line that goes through a joint's centre does not turn it, and the row leaves it out.
FN bool row_has(const lane_model *m, const joint_matrix *M, int i) { return has_bit(M->path, m->body_nodes[i]); }

/// Adds columns to n runs, before all that are there; those at most `apart` columns from each other become one. Returns how
/// many there are then.
FN int add_run(column_run *run, int n, int start, int end, int apart)
{
    if (start == end) return n;
    if (n && run[n - 1].start - end <= apart) run[n - 1].start = start;
    else run[n].start = start, run[n++].end = end;
    return n;
}

/// The columns of these nodes, likewise.
FN int add_runs(const lane_model *m, const uint64_t *bits, int words, column_run *run, int n, int apart)
{
    for (int w = words - 1; w >= 0; w--)
        for (uint64_t rest = bits[w]; rest;) {
            const int bit = last_bit(rest), node = 64 * w + bit;
            rest &= ~((uint64_t)1 << bit);
            n = add_run(run, n, node_start(m, node), node_end(m, node), apart);
        }
    return n;
}

/// What is in it is known.
FN void row_is_known(const lane_model *m, joint_matrix *M) { M->runs = add_runs(m, M->path, matrix_words(m), M->run, 0, 0); }

/// Nodes in it are joined to each other.
KERNEL void row_joins(const lane_model *m, joint_matrix *M)
{
    const int words = matrix_words(m);
    for (int w = words - 1; w >= 0; w--)
        for (uint64_t rest = M->path[w]; rest;) {
            const int bit = last_bit(rest);
            uint64_t *const to = M->pattern + (size_t)(64 * w + bit) * (size_t)words;
            rest &= ~((uint64_t)1 << bit);
            for (int k = 0; k < w; k++) to[k] |= M->path[k];
            to[w] |= rest;
        }
}

FN void clear_row(joint_matrix *M)
{
    for (int i = 0; i < M->runs; i++)
        for (int k = M->run[i].start; k < M->run[i].end; k++) M->row[k] = rset(0);
}

/// Adds S'w to the row in hand, of the wrench w on body i about its origin.
FN void row_of_wrench(const lane_model *m, joint_matrix *M, const placement *T, int i, wrench w)
{
    while (i >= 0) {
        const lane_body *b = &m->bodies[i];
        real r[3];
        joint_rows(b, b->kind, T[i].R, w, r);
        for (int k = 0; k < b->nv && row_has(m, M, i); k++) M->row[body_start(m, i) + k] = M->row[body_start(m, i) + k] + r[k];
        if (b->flags & BODY_ROOT) return;
        if (has_arm(form_of(b))) w = wrench_shift(w, T[i].r);
        i = b->parent;
    }
}

/// H + k r r' of the row in hand.
KERNEL void matrix_add_row(joint_matrix *M, real *H, real k)
{
    for (int i = 0; i < M->runs; i++)
        for (int c = M->run[i].end - 1; c >= M->run[i].start; c--) {
            real *const to = matrix_row(M, H, c);
            const real a = k * M->row[c];
            add_numbers(to + M->run[i].start, M->row + M->run[i].start, a, c + 1 - M->run[i].start);
            for (int j = i + 1; j < M->runs; j++) {
                const column_run r = M->run[j];
                add_numbers(to + r.start, M->row + r.start, a, r.end - r.start);
            }
        }
}

/// The row in hand is the equation of column e, with compliance C.
KERNEL void matrix_set_equation(joint_matrix *M, real *H, int e, real C)
{
    real *const own = matrix_row(M, H, e);
    for (int i = 0; i < M->runs; i++)
        for (int k = M->run[i].start; k < M->run[i].end; k++) *(k > e ? &matrix_row(M, H, k)[e] : &own[k]) = M->row[k];
    own[e] = negate(C);
}

/// What a motion of one body makes of the wrench on another, by their twists about their origins: rows of the first by columns of
/// the second.
typedef struct {
    mat3 ww, wv, vw, vv;  // by columns
} cross_block;

FN cross_block no_cross(void)
{
    cross_block G;
    G.ww.x = G.ww.y = G.ww.z = zero3(), G.wv = G.vw = G.vv = G.ww;
    return G;
}

FN mat3 add_dyad(mat3 A, vec3 a, vec3 b)  // A + a b'
{
    A.x = add_scaled(A.x, a, b.x), A.y = add_scaled(A.y, a, b.y), A.z = add_scaled(A.z, a, b.z);
    return A;
}

/// What a row adds that has the wrenches a and b on both bodies, with the stiffness k: k (a; b)(a; b)'.
FN void add_pair_row(inertia6 *aa, inertia6 *bb, cross_block *G, wrench a, wrench b, real k)
{
    const vec3 n = scale(b.n, k), f = scale(b.f, k);
    *aa = inertia_eliminate(*aa, a.n, a.f, negate(k)), *bb = inertia_eliminate(*bb, b.n, b.f, negate(k));
    G->ww = add_dyad(G->ww, a.n, n), G->wv = add_dyad(G->wv, a.n, f);
    G->vw = add_dyad(G->vw, a.f, n), G->vv = add_dyad(G->vv, a.f, f);
}

/// The wrench G S, likewise; arm: from the origin that the joint is at to that of the second body; NULL: it is there.
FN wrench moved_cross(const cross_block *G, int kind, int k, twist S, const vec3 *arm)
{
    wrench w;
    if (kind == JOINT_TRANSLATION) {
        w.n = mat3_column(&G->wv, k), w.f = mat3_column(&G->vv, k);
        return w;
    }
    w.n = mul(G->ww, S.w), w.f = mul(G->vw, S.w);
    if (!arm && kind != JOINT_PRISMATIC && kind != JOINT_HELICAL) return w;
    const vec3 v = arm ? cross_add(S.v, S.w, *arm) : S.v;
    w.n = add(w.n, mul(G->wv, v)), w.f = add(w.f, mul(G->vv, v));
    return w;
}

/// H + X'G Y + Y'G'X, X and Y how the bodies a and b move. The row in hand has both.
KERNEL void matrix_add_cross(const lane_model *m, joint_matrix *M, real *H, const placement *T, int a, int b,
                             const cross_block *G)
{
    vec3 arm = zero3();
    bool off = false;
    for (int k = b; k >= 0;) {
        const lane_body *B = &m->bodies[k];
        for (int c = 0; c < (row_has(m, M, k) ? B->nv : 0); c++) {
            wrench w = moved_cross(G, B->kind, c, joint_subspace(B, B->kind, T[k].R, c), off ? &arm : NULL);
            const int col = body_start(m, k) + c;
            for (int j = a; j >= 0;) {
                const lane_body *A = &m->bodies[j];
                const int row = body_start(m, j);
                real r[3];
                joint_rows(A, A->kind, T[j].R, w, r);
                for (int d = 0; d < (row_has(m, M, j) ? A->nv : 0); d++) {
                    real *const to = row + d > col ? &matrix_row(M, H, row + d)[col] : &matrix_row(M, H, col)[row + d];
                    *to = *to + r[d];
                    if (row + d == col) *to = *to + r[d];
                }
                if (A->flags & BODY_ROOT) break;
                if (has_arm(form_of(A))) w = wrench_shift(w, T[j].r);
                j = A->parent;
            }
        }
        if (B->flags & BODY_ROOT) break;
        if (has_arm(form_of(B))) arm = add(arm, T[k].r), off = true;
        k = B->parent;
    }
}

// ---- its rows

/// The runs of a node, with its own columns in the first. Columns between those that it is joined to may be among them: numbers
/// of them are zeros, and one run is done sooner than two.
FN const column_run *joined_runs(const joint_matrix *M, int node, int *n)
{
    *n = (int)(M->first[node + 1] - M->first[node]);
    return M->joined + M->first[node];
}
/// Where run i of a node ends before column c of it.
FN int end_before(const column_run *run, int i, int c) { return i ? run[i].end : c; }

/// All that joins is known: what nodes are joined to when those after them have been eliminated, where that happens in rows, and so
/// where rows are, and H, of zeros.
KERNEL void matrix_begin(const lane_model *m, joint_matrix *M)
{
    const int words = matrix_words(m);
    for (int node = matrix_nodes(m) - 1; node > 0 && !by_world(m); node--) {
        const uint64_t *const bits = M->pattern + (size_t)node * (size_t)words;
        int up = -1;
        for (int k = words - 1; k >= 0 && up < 0; k--)
            if (bits[k]) up = 64 * k + last_bit(bits[k]);
        if (up < 0) continue;
        uint64_t *const to = M->pattern + (size_t)up * (size_t)words;
        for (int k = 0; k < up / 64; k++) to[k] |= bits[k];
        to[up / 64] |= bits[up / 64] & (((uint64_t)1 << (up % 64)) - 1);
    }
    size_t used = 0, runs = 0;
    for (int node = 0; node < matrix_nodes(m); node++) {
        column_run *const run = M->joined + runs;
        const int end = node_end(m, node), own = add_run(run, 0, node_start(m, node), end, 0);
        const int n = add_runs(m, M->pattern + (size_t)node * (size_t)words, node / 64 + 1, run, own, RUNS_APART);
        M->first[node] = runs, runs += (size_t)n;
        const size_t from = (size_t)run[n - 1].start;
        for (size_t c = (size_t)node_start(m, node); c < (size_t)end; c++) {
            M->at[c] = used - from, used += c + 1 - from;
            for (int i = 0; i < n; i++)
                clear_numbers(M->H + M->at[c] + (size_t)run[i].start, end_before(run, i, (int)c + 1) - run[i].start);
        }
    }
    M->first[matrix_nodes(m)] = runs, M->at[matrix_size(m)] = used;
}

/// L becomes H.
KERNEL void matrix_copy(const lane_model *m, joint_matrix *M)
{
    for (int node = 0, n; node < matrix_nodes(m); node++) {
        const column_run *const run = joined_runs(M, node, &n);
        for (int c = node_start(m, node); c < node_end(m, node); c++)
            for (int i = 0; i < n; i++)
                copy_numbers(matrix_row(M, M->L, c) + run[i].start, matrix_row(M, M->H, c) + run[i].start,
                             end_before(run, i, c + 1) - run[i].start);
    }
}

/// y = H x, by what nodes are joined to; x, y [size]. Equations are not in H.
KERNEL void matrix_times(const lane_model *m, joint_matrix *M, const real *x, real *y)
{
    for (int c = 0; c < matrix_size(m); c++) y[c] = rset(0);
    for (int node = 0, n; node < matrix_nodes(m); node++) {
        if (m->matrix_nodes[node].equations) continue;
        const column_run *const run = joined_runs(M, node, &n);
        for (int c = node_start(m, node); c < node_end(m, node); c++) {
            const real *const row = matrix_row(M, M->H, c);
            real s[4] = {rset(0), rset(0), rset(0), rset(0)};
            for (int i = n - 1; i >= 0; i--) {
                const int start = run[i].start, end = end_before(run, i, c);
                dot_numbers(row, x, start, end, s);
                add_numbers(y + start, row + start, x[c], end - start);
            }
            y[c] = fmadd(row[c], x[c], y[c]) + ((s[0] + s[1]) + (s[2] + s[3]));
        }
    }
}

#endif
