/// The products of a knot of the backward pass (ilqr_backward.c), and the law of the forward pass, with columns side by side in
/// the lane that the including file has chosen. Sums run over the inner index in its order and round once a term: the same bits
/// in every lane. The includer defines SWEEP, the table's name.
#ifndef CATENA_CONTROL_ILQR_SWEEP_H
#define CATENA_CONTROL_ILQR_SWEEP_H

#include "control/ilqr_parts.h"

#include <math.h>
#include <string.h>

enum { VECTORS = LANES < TILE ? TILE / LANES : 1, MOST_ROWS = LANES == 8 ? 8 : 4 };
_Static_assert(VECTORS *LANES == TILE, "lanes fill a tile");

FN real columns_from(const double *x)
{
    real y;
    memcpy(&y, x, sizeof y);
    return y;
}
FN void columns_into(double *x, real y) { memcpy(x, &y, sizeof y); }

/// A tile of `rows` rows.
typedef struct {
    real row[MOST_ROWS][VECTORS];
} tile;

FN tile load_tile(int rows, const double *from, int apart)
{
    tile t;
    _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 8") for (int v = 0; v < VECTORS; v++) t.row[r][v] =
        columns_from(from + r * apart + v * LANES);
    return t;
}

FN void store_tile(int rows, const tile *t, double *to, int apart)
{
    _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 8") for (int v = 0; v < VECTORS; v++)
        columns_into(to + r * apart + v * LANES, t->row[r][v]);
}

/// t += A B, of A [rows][inner] whose entry (i, k) is at i down + k across, and a tile's columns of B.
FN void add_product(int rows, int inner, const double *A, int down, int across, const double *B, int apart, tile *t)
{
    for (int k = 0; k < inner; k++) {
        real b[VECTORS];
        _Pragma("GCC unroll 8") for (int v = 0; v < VECTORS; v++) b[v] = columns_from(B + k * apart + v * LANES);
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)
        {
            const real a = rset(A[r * down + k * across]);
            _Pragma("GCC unroll 8") for (int v = 0; v < VECTORS; v++) t->row[r][v] = fmadd(a, b[v], t->row[r][v]);
        }
    }
}

/// `does(rows)` for as many rows at a time as there are, i of `all`.
#define TILE_ROWS(all, does)                                                                                                     \
    for (int i = 0; i < (all);) {                                                                                                \
        if (MOST_ROWS == 8 && i + 8 <= (all)) {                                                                                  \
            does(MOST_ROWS);                                                                                                     \
            i += MOST_ROWS;                                                                                                      \
        } else if (i + 4 <= (all)) {                                                                                             \
            does(4);                                                                                                             \
            i += 4;                                                                                                              \
        } else if (i + 2 <= (all)) {                                                                                             \
            does(2);                                                                                                             \
            i += 2;                                                                                                              \
        } else {                                                                                                                 \
            does(1);                                                                                                             \
            i += 1;                                                                                                              \
        }                                                                                                                        \
    }

/// y [columns] += x A, of x [inner], A [inner][columns].
FN void add_row_product(int inner, int columns, const double *x, const double *A, int apart, double *y)
{
    for (int j = 0; j < columns; j += TILE) {
        tile t = load_tile(1, y + j, 0);
        add_product(1, inner, x, 0, 1, A + j, apart, &t);
        store_tile(1, &t, y + j, 0);
    }
}

KERNEL void sweep_front(const knot_room *r, const double *A, const double *B, const double *d, double rho)
{
    const int n = r->n, m = r->m, c = r->c, a = r->a;
    static const double zero[TILE] = {0};
    for (int i = 0; i < n; i++) {
        memcpy(r->AB + i * c, A + i * n, (size_t)n * sizeof *A);
        memcpy(r->AB + i * c + n, B + i * m, (size_t)m * sizeof *B);
    }
    for (int j = 0; j < c; j += TILE) {
#define PAB_ROWS(rows)                                                                                                           \
    tile t = load_tile(rows, zero, 0);                                                                                           \
    add_product(rows, n, r->P + i * a, a, 1, r->AB + j, c, &t);                                                                  \
    store_tile(rows, &t, r->PAB + i * c + j, c)
        TILE_ROWS(n, PAB_ROWS)
#undef PAB_ROWS
#define U_ROWS(rows)                                                                                                             \
    const double *const Bi = r->AB + n + i;                                                                                      \
    tile t = load_tile(rows, zero, 0), by_rho = load_tile(rows, zero, 0);                                                        \
    add_product(rows, n, Bi, 1, c, r->PAB + j, c, &t);                                                                           \
    if (rho > 0) add_product(rows, n, Bi, 1, c, r->AB + j, c, &by_rho);                                                          \
    store_tile(rows, &t, r->U + i * c + j, c);                                                                                   \
    _Pragma("GCC unroll 8") for (int q = 0; q < (rows); q++) _Pragma("GCC unroll 8") for (int v = 0; v < VECTORS; v++)           \
        t.row[q][v] = fmadd(rset(rho), by_rho.row[q][v], t.row[q][v]);                                                           \
    store_tile(rows, &t, r->V + i * c + j, c)
        TILE_ROWS(m, U_ROWS)
#undef U_ROWS
    }
    add_row_product(n, a, d, r->P, a, r->w);  // P is symmetric
    memset(r->Q, 0, (size_t)c * sizeof *r->Q);
    add_row_product(n, c, r->w, r->AB, c, r->Q);
}

/// R [m][e] becomes (L L')^-1 R, of L [m][m] with the inverses of its diagonal on it.
KERNEL void sweep_solve(const knot_room *r, const double *L, double *R)
{
    const int m = r->m, e = r->e;
    for (int j = 0; j < e; j += LANES) {
        for (int i = 0; i < m; i++) {
            real sum = columns_from(R + i * e + j);
            for (int k = 0; k < i; k++) sum = fnmadd(rset(L[i * m + k]), columns_from(R + k * e + j), sum);
            columns_into(R + i * e + j, sum * rset(L[i * m + i]));
        }
        for (int i = m - 1; i >= 0; i--) {
            real sum = columns_from(R + i * e + j);
            for (int k = i + 1; k < m; k++) sum = fnmadd(rset(L[k * m + i]), columns_from(R + k * e + j), sum);
            columns_into(R + i * e + j, sum * rset(L[i * m + i]));
        }
    }
}

KERNEL void sweep_value(const knot_room *r, const double *xx)
{
    const int n = r->n, m = r->m, c = r->c, a = r->a, e = r->e;
    for (int j = 0; j < a; j += TILE) {
#define T_ROWS(rows)                                                                                                             \
    tile t = load_tile(rows, r->U + i * c + j, c);                                                                               \
    add_product(rows, m, r->U + i * c + n, c, 1, r->K + j, e, &t);                                                               \
    store_tile(rows, &t, r->T + i * a + j, a)
        TILE_ROWS(m, T_ROWS)
#undef T_ROWS
    }
    memset(r->P, 0, (size_t)(n * a) * sizeof *xx);
    for (int i = 0; i < n; i++) memcpy(r->P + i * a, xx + i * n, (size_t)n * sizeof *xx);
    for (int j = 0; j < a; j += TILE) {  // tiles on and above the diagonal
        const int rows_here = j + TILE < n ? j + TILE : n;
#define P_ROWS(rows)                                                                                                             \
    tile t = load_tile(rows, r->P + i * a + j, a);                                                                               \
    add_product(rows, n, r->AB + i, 1, c, r->PAB + j, c, &t);                                                                    \
    add_product(rows, m, r->U + i, 1, c, r->K + j, e, &t);                                                                       \
    add_product(rows, m, r->K + i, 1, e, r->T + j, a, &t);                                                                       \
    store_tile(rows, &t, r->P + i * a + j, a)
        TILE_ROWS(rows_here, P_ROWS)
#undef P_ROWS
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) r->P[i * a + j] = r->P[j * a + i];
    add_row_product(m, a, r->f, r->K, e, r->s), add_row_product(m, a, r->kappa, r->U, c, r->s);
}

KERNEL void sweep_law(int m, int n, int apart, const double *U, const double *kappa, const double *K, const double *alpha,
                      const double *dx, double *u)
{
    int l = 0;
    for (; l + LANES <= apart; l += LANES)
        for (int i = 0; i < m; i++) {
            real sum = fmadd(columns_from(alpha + l), rset(kappa[i]), rset(U[i]));
            for (int j = 0; j < n; j++) sum = fmadd(rset(K[i * n + j]), columns_from(dx + j * apart + l), sum);
            columns_into(u + i * apart + l, sum);
        }
    for (; l < apart; l++)  // of narrower lanes than these
        for (int i = 0; i < m; i++) {
            double sum = fma(alpha[l], kappa[i], U[i]);
            for (int j = 0; j < n; j++) sum = fma(K[i * n + j], dx[j * apart + l], sum);
            u[i * apart + l] = sum;
        }
}

const sweep_kernels SWEEP = {sweep_front, sweep_solve, sweep_value, sweep_law};

#endif
