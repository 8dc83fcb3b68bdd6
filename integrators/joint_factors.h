/// The LDL' factors of the Newton matrix of a step in joint space (joint_matrix.h), and solutions by them. (docs/theory.md 4.14)
///
/// What is eliminated first is the last. Nodes that follow each other and are joined to the same ones before them are one block:
/// its rows are eliminated from each other first, and then three at a time from all rows before them, each of which is so read
/// and written once and not three times. Every number is made of the same terms in the same order as row by row.
#ifndef CATENA_JOINT_FACTORS_H
#define CATENA_JOINT_FACTORS_H

#include "dynamics/lane_model.h"
#include "integrators/joint_matrix.h"
#include "integrators/row_numbers.h"
#include "integrators/world_matrix.h"

enum { ROWS_TOGETHER = 3 };
/// Rows of L, from row `first` on downwards, whose columns before `start` are eliminated together: as one after the other, but
/// what they are taken from is read once. Where there are fewer, the last one stands for the others.
typedef struct {
    real *row[ROWS_TOGETHER];
    int rows, first;
} row_group;

FN row_group group_of_rows(const joint_matrix *M, int first, int start)
{
    row_group G;
    G.first = first, G.rows = first + 1 - start < ROWS_TOGETHER ? first + 1 - start : ROWS_TOGETHER;
    for (int r = 0; r < ROWS_TOGETHER; r++) G.row[r] = matrix_row(M, M->L, r < G.rows ? first - r : first + 1 - G.rows);
    return G;
}

/// l: column k of its rows over their pivots; 0 of rows that are not there. Returns whether any is not 0.
FN bool group_factors(const joint_matrix *M, const row_group *G, int k, real l[ROWS_TOGETHER])
{
    bool some = false;
    for (int r = 0; r < ROWS_TOGETHER; r++) {
        l[r] = rset(0);
        if (r >= G->rows || is_zero(G->row[r][k])) continue;
        l[r] = G->row[r][k] * M->inverse[G->first - r], some = true;
    }
    return some;
}

/// to - l[0] row 0 - l[1] row 1 - l[2] row 2, of columns k to end - 1.
FN void take_rows(real *to, const row_group *G, const real l[ROWS_TOGETHER], int k, int end)
{
    const real *const a = G->row[0], *const b = G->row[1], *const c = G->row[2];
#ifdef FOUR_NUMBERS
    for (; k + 4 <= end; k += 4) {
        const four_numbers x = four_fnmadd(four_of(l[0]), four_load(a + k), four_load(to + k)),
                           y = four_fnmadd(four_of(l[1]), four_load(b + k), x);
        four_store(to + k, four_fnmadd(four_of(l[2]), four_load(c + k), y));
    }
#endif
    for (; k < end; k++) to[k] = fnmadd(l[2], c[k], fnmadd(l[1], b[k], fnmadd(l[0], a[k], to[k])));
}

/// The first of the nodes that end with this one and are joined to the same ones before them: their rows are alike.
FN int first_alike(const lane_model *m, const joint_matrix *M, int node)
{
    for (; node > 0; node--) {
        int n, last;
        const column_run *const run = joined_runs(M, node, &n), *const before = joined_runs(M, node - 1, &last);
        bool alike = last == n && before[0].start == run[0].start && run[0].start < node_start(m, node);
        for (int i = 1; i < n && alike; i++) alike = before[i].start == run[i].start && before[i].end == run[i].end;
        if (!alike) break;
    }
    return node;
}

/// L becomes L and D of what is there; least: how much an equation yields that no joint feels, over 1e-9. minimum: pivots are to
/// be those of one: positive, negative of equations; else of either sign. Returns the lanes in which they are; others than `where`
/// may not have been looked at.
KERNEL mask matrix_factor(const lane_model *m, joint_matrix *M, real least, bool minimum, mask where)
{
    if (by_world(m)) return factor_worlds(m, M, minimum, where);
    const real one = rset(1), zero = rset(0);
    mask good = not_(none_of());
    for (int first, node = matrix_nodes(m) - 1; node >= 0; node = first - 1) {
        first = first_alike(m, M, node);
        int n;
        const column_run *const run = joined_runs(M, first, &n);
        const int start = node_start(m, first), end = node_end(m, node);
        for (int at = node; at >= first; at--) {  // among each other
            const bool equation = m->matrix_nodes[at].equations;
            for (int c = node_end(m, at) - 1; equation && c >= node_start(m, at); c--) {
                real *const pivot = &matrix_row(M, M->L, c)[c];
                M->yields[c] = rset(1e-9) * (*pivot - least);
                *pivot = fmadd(rset(1e-9), *pivot - least, *pivot);
            }
            for (int c = node_end(m, at) - 1; c >= node_start(m, at); c--) {
                real *const row = matrix_row(M, M->L, c);
                const mask above = gt(row[c], zero), below = lt(row[c], zero);
                const mask fine = !minimum ? either(above, below) : equation ? below : above;
                const real inverse = M->inverse[c] = one / sel(fine, row[c], one);
                good = both(good, fine);
                for (int k = c - 1; k >= start; k--) {
                    if (is_zero(row[k])) continue;  // it need not be joined
                    real *const to = matrix_row(M, M->L, k);
                    const real l = row[k] * inverse;
                    take_numbers(to + run[0].start, row + run[0].start, l, k + 1 - run[0].start);
                    for (int j = 1; j < n; j++) take_numbers(to + run[j].start, row + run[j].start, l, run[j].end - run[j].start);
                    row[k] = l;
                }
            }
        }
        for (int c = end - 1; c >= start; c -= ROWS_TOGETHER) {  // and of what is before them
            const row_group G = group_of_rows(M, c, start);
            for (int i = 0; i < n; i++)
                for (int k = (i ? run[i].end : start) - 1; k >= run[i].start; k--) {
                    real l[ROWS_TOGETHER];
                    if (!group_factors(M, &G, k, l)) continue;
                    real *const to = matrix_row(M, M->L, k);
                    take_rows(to, &G, l, run[i].start, k + 1);
                    for (int j = i + 1; j < n; j++) take_rows(to, &G, l, run[j].start, run[j].end);
                    for (int r = 0; r < G.rows; r++) G.row[r][k] = l[r];
                }
        }
    }
    return good;
}

/// x [size]: the solution for what is in x, in the lanes that have been factored.
KERNEL void matrix_solve(const lane_model *m, joint_matrix *M, real *x)
{
    int n;
    if (by_world(m)) {
        solve_worlds(m, M, x);
        return;
    }
    for (int first, node = matrix_nodes(m) - 1; node >= 0; node = first - 1) {
        first = first_alike(m, M, node);
        const column_run *const run = joined_runs(M, first, &n);
        const int start = node_start(m, first);
        for (int c = node_end(m, node) - 1; c >= start; c -= ROWS_TOGETHER) {
            const row_group G = group_of_rows(M, c, start);
            real y[ROWS_TOGETHER];
            for (int r = 0; r < ROWS_TOGETHER; r++) {
                y[r] = r < G.rows ? x[c - r] : rset(0);
                for (int k = r + 1; k < G.rows; k++) x[c - k] = fnmadd(y[r], G.row[r][c - k], x[c - k]);
            }
            take_rows(x, &G, y, run[0].start, c + 1 - G.rows);
            for (int i = 1; i < n; i++) take_rows(x, &G, y, run[i].start, run[i].end);
            for (int r = 0; r < G.rows; r++) x[c - r] = y[r] * M->inverse[c - r];
        }
    }
    for (int node = 0; node < matrix_nodes(m); node++) {
        const column_run *const run = joined_runs(M, node, &n);
        for (int c = node_start(m, node); c < node_end(m, node); c++) {
            const real *const row = matrix_row(M, M->L, c);
            real s[4] = {rset(0), rset(0), rset(0), rset(0)};
            for (int i = n - 1; i >= 0; i--) dot_numbers(row, x, run[i].start, end_before(run, i, c), s);
            x[c] = x[c] - ((s[0] + s[1]) + (s[2] + s[3]));
        }
    }
}

#endif
