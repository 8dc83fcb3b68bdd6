/// The products of a knot of the backward pass (ilqr_backward.c), and the law of the forward pass, with columns side by side
/// in the lane that the including file has chosen. Sums run over the inner index in its order and round once a term: the same
/// bits in every lane. ilqr_lanes.h, which follows it, has SWEEP, the table that the includer names.
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

/// to = after x + y, of rows of [columns].
FN void add_rows(int columns, double after, const double *x, const double *y, double *to)
{
    for (int j = 0; j < columns; j += LANES) columns_into(to + j, fmadd(rset(after), columns_from(x + j), columns_from(y + j)));
}

/// PAB, and z' of it and of [A B], of plants with rates: half of the products.
FN void front_of_rates(const knot_room *r)
{
    const int n = r->n, h = n / 2, c = r->c, a = r->a, b = r->b;
    for (int i = 0; i < n; i++) {
        double *const row = r->PAB + i * c;
        add_rows(b, r->after, r->P + i * a, r->P + i * a + h, r->Pz + i * b);
        memset(row, 0, (size_t)c * sizeof *row), memcpy(row, r->P + i * a, (size_t)h * sizeof *row);
        for (int j = 0; j < h && r->before > 0; j++) row[h + j] = r->before * row[j];
    }
    for (int j = 0; j < c; j += TILE) {
#define PAB_ROWS(rows)                                                                                                           \
    tile t = load_tile(rows, r->PAB + i * c + j, c);                                                                             \
    add_product(rows, h, r->Pz + i * b, b, 1, r->AB + h * c + j, c, &t);                                                         \
    store_tile(rows, &t, r->PAB + i * c + j, c)
        TILE_ROWS(n, PAB_ROWS)
#undef PAB_ROWS
    }
    for (int k = 0; k < h; k++) {
        add_rows(c, r->after, r->PAB + k * c, r->PAB + (h + k) * c, r->zPAB + k * c);
        add_rows(c, r->after, r->AB + k * c, r->AB + (h + k) * c, r->zAB + k * c);
    }
}

KERNEL void sweep_front(const knot_room *r, const double *A, const double *B, const double *d, double rho)
{
    const int n = r->n, m = r->m, c = r->c, a = r->a, h = n / 2;
    static const double zero[TILE] = {0};
    for (int i = 0; i < n; i++) {
        memcpy(r->AB + i * c, A + i * n, (size_t)n * sizeof *A);
        memcpy(r->AB + i * c + n, B + i * m, (size_t)m * sizeof *B);
    }
    if (r->rates) front_of_rates(r);
    // B'P [A B] and B'[A B] are products of so many rows
    const int inner = r->rates ? h : n;
    const double *const by_P = r->rates ? r->zPAB : r->PAB, *const by_one = r->rates ? r->zAB : r->AB,
                        *const lower = r->AB + (r->rates ? h * c : 0);
    for (int j = 0; j < c; j += TILE) {
#define PAB_ROWS(rows)                                                                                                           \
    tile t = load_tile(rows, zero, 0);                                                                                           \
    add_product(rows, n, r->P + i * a, a, 1, r->AB + j, c, &t);                                                                  \
    store_tile(rows, &t, r->PAB + i * c + j, c)
        if (!r->rates) TILE_ROWS(n, PAB_ROWS)
#undef PAB_ROWS
#define U_ROWS(rows)                                                                                                             \
    const double *const Bi = lower + n + i;                                                                                      \
    tile t = load_tile(rows, zero, 0), by_rho = load_tile(rows, zero, 0);                                                        \
    add_product(rows, inner, Bi, 1, c, by_P + j, c, &t);                                                                         \
    if (rho > 0) add_product(rows, inner - r->carried, Bi, 1, c, by_one + j, c, &by_rho);                                        \
    store_tile(rows, &t, r->U + i * c + j, c);                                                                                   \
    _Pragma("GCC unroll 8") for (int q = 0; q < (rows); q++) _Pragma("GCC unroll 8") for (int v = 0; v < VECTORS; v++)           \
        t.row[q][v] = fmadd(rset(rho), by_rho.row[q][v], t.row[q][v]);                                                           \
    store_tile(rows, &t, r->V + i * c + j, c)
        TILE_ROWS(m, U_ROWS)
#undef U_ROWS
    }
    add_row_product(n, a, d, r->P, a, r->w);  // P is symmetric
    memset(r->Q, 0, (size_t)c * sizeof *r->Q);
    if (!r->rates) {
        add_row_product(n, c, r->w, r->AB, c, r->Q);
        return;
    }
    double *const zw = r->zAB;  // is done with
    memcpy(r->Q, r->w, (size_t)h * sizeof *r->w);
    for (int j = 0; j < h && r->before > 0; j++) r->Q[h + j] = r->before * r->w[j];
    for (int k = 0; k < h; k++) zw[k] = fma(r->after, r->w[k], r->w[h + k]);
    add_row_product(h, c, zw, lower, c, r->Q);
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
    const int n = r->n, m = r->m, c = r->c, a = r->a, e = r->e, h = n / 2, inner = r->rates ? h : n;
    const double *const by_P = r->rates ? r->zPAB : r->PAB, *const lower = r->AB + (r->rates ? h * c : 0);
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
    for (int i = 0; i < n && r->rates; i++) {
        const double share = i < h ? 1 : r->before;
        for (int j = 0; j < n && share > 0; j++) r->P[i * a + j] += share * r->PAB[(i < h ? i : i - h) * c + j];
    }
    for (int j = 0; j < a; j += TILE) {  // tiles on and above the diagonal
        const int rows_here = j + TILE < n ? j + TILE : n;
#define P_ROWS(rows)                                                                                                             \
    tile t = load_tile(rows, r->P + i * a + j, a);                                                                               \
    add_product(rows, inner, lower + i, 1, c, by_P + j, c, &t);                                                                  \
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

/// Rows of up to TILE numbers of LANES points, from column j on, side by side.
FN void rows_of_points(const double *const *rows, int j, int count, real *to)
{
    const double *at[LANES];
    for (int l = 0; l < LANES; l++) at[l] = rows[l] + j;
    lane_gather(to, at, count);
}

KERNEL void sweep_laws(int m, int n, int apart, const double *const *U, const double *const *kappa, const double *const *K,
                       const double *alpha, const double *dx, double *u)
{
    int l = 0;
    real part[TILE];
    for (; l + LANES <= apart; l += LANES) {
        for (int i = 0; i < m; i++) {
            real of[2];
            rows_of_points(U + l, i, 1, of), rows_of_points(kappa + l, i, 1, of + 1);
            real sum = fmadd(columns_from(alpha + l), of[1], of[0]);
            for (int j = 0; j < n; j += TILE) {
                const int count = n - j < TILE ? n - j : TILE;
                rows_of_points(K + l, i * n + j, count, part);
                for (int q = 0; q < count; q++) sum = fmadd(part[q], columns_from(dx + (j + q) * apart + l), sum);
            }
            columns_into(u + i * apart + l, sum);
        }
    }
    for (; l < apart; l++)  // of narrower lanes than these
        for (int i = 0; i < m; i++) {
            double sum = fma(alpha[l], kappa[l][i], U[l][i]);
            for (int j = 0; j < n; j++) sum = fma(K[l][i * n + j], dx[j * apart + l], sum);
            u[i * apart + l] = sum;
        }
}

#endif
