/// The backward pass of several trajectories at once, one in each lane: the sums of ilqr_backward.c and ilqr_sweep.h, in the
/// same order and rounded alike, so that each has the bits that it has alone. Included after ilqr_sweep.h.
#ifndef CATENA_CONTROL_ILQR_LANES_H
#define CATENA_CONTROL_ILQR_LANES_H

#include "control/ilqr_parts.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 4, BLOCK_COLUMNS = 3 };  // of a product that is in registers

/// Matrices of a knot of all lanes, each entry a real; as knot_room has them, but for room at the ends of rows.
typedef struct {
    int n, m, c;
    bool rates;
    int carried;
    real before, after;
    real *P, *s, *AB, *PAB, *d, *w, *Q;  // [n][n], [n], [n][c], [n][c], [n], [n], [c]
    real *Pz, *zPAB, *zAB, *zw;          // [n][n / 2], [n / 2][c], likewise, [n / 2]
    real *U, *V;                         // [m][c]
    real *K, *kappa, *T, *L, *f;         // [m][n], [m], [m][n], [m][m], [m]
    real *costs;                         // what the knot costs by something: up to [n][n]
    double *dump;                        // up to [n][n], for lanes that have nothing to keep
    double *alone;                       // a knot of one of them
} lanes_knot;

static size_t deal_lanes(lanes_knot *r, const plant *p, double *room)
{
    const size_t n = (size_t)p->n, m = (size_t)p->m, c = n + m, h = n / 2, most = n > m ? n : m;
    const struct {
        real **to;
        size_t size;
    } rows[] = {{&r->P, n * n}, {&r->s, n},     {&r->AB, n * c}, {&r->PAB, n * c},        {&r->d, n},
                {&r->w, n},     {&r->Q, c},     {&r->Pz, n * h}, {&r->zPAB, h * c},       {&r->zAB, h * c},
                {&r->zw, h},    {&r->U, m * c}, {&r->V, m * c},  {&r->K, m * n},          {&r->kappa, m},
                {&r->T, m * n}, {&r->L, m * m}, {&r->f, m},      {&r->costs, most * most}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (room) *rows[k].to = (real *)(void *)room + sum;
        sum += rows[k].size;
    }
    if (room) {
        r->n = p->n, r->m = p->m, r->c = p->n + p->m, r->rates = p->rates, r->carried = p->carried, r->before = rset(p->before),
        r->after = rset(p->after);
        r->dump = room + sum * LANES, r->alone = r->dump + most * most;
    }
    return sum * LANES + most * most + ilqr_knot_work(p);
}

static size_t lanes_need(const plant *p)
{
    lanes_knot r;
    return deal_lanes(&r, p, NULL);
}

/// Z = X Y of a block of rows and columns, or (fresh false) Z += X Y: X's entry (i, k) at i down + k across, rows of Y and Z
/// so far apart.
FN void block_product(int rows, int columns, bool fresh, int inner, const real *X, int down, int across, const real *Y, int apart,
                      real *Z, int wide)
{
    real z[BLOCK_ROWS][BLOCK_COLUMNS], y[BLOCK_COLUMNS];
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 4") for (int c = 0; c < columns; c++) z[r][c] =
        fresh ? rset(0) : Z[r * wide + c];
    for (int k = 0; k < inner; k++) {
        _Pragma("GCC unroll 4") for (int c = 0; c < columns; c++) y[c] = Y[c];
        _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++)
        {
            const real x = X[r * down];
            _Pragma("GCC unroll 4") for (int c = 0; c < columns; c++) z[r][c] = fmadd(x, y[c], z[r][c]);
        }
        X += across, Y += apart;
    }
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 4") for (int c = 0; c < columns; c++)
        Z[r * wide + c] = z[r][c];
}

/// Of Z [rows][columns]; upper: what is below the diagonal is left to chance.
FN void all_blocks(int rows, int columns, bool fresh, bool upper, int inner, const real *X, int down, int across, const real *Y,
                   int apart, real *Z, int wide)
{
    for (int i = 0; i < rows; i += BLOCK_ROWS)
        for (int j = upper ? i : 0; j < columns; j += BLOCK_COLUMNS) {
            const int r = rows - i < BLOCK_ROWS ? rows - i : BLOCK_ROWS,
                      c = columns - j < BLOCK_COLUMNS ? columns - j : BLOCK_COLUMNS;
#define BLOCK(R, C)                                                                                                              \
    case 4 * R + C: block_product(R, C, fresh, inner, X + i * down, down, across, Y + j, apart, Z + i * wide + j, wide); break
            switch (4 * r + c) {
                BLOCK(4, 3);
                BLOCK(4, 2);
                BLOCK(4, 1);
                BLOCK(3, 3);
                BLOCK(3, 2);
                BLOCK(3, 1);
                BLOCK(2, 3);
                BLOCK(2, 2);
                BLOCK(2, 1);
                BLOCK(1, 3);
                BLOCK(1, 2);
                BLOCK(1, 1);
            }
#undef BLOCK
        }
}

KERNEL void set_product(int rows, int columns, int inner, const real *X, int down, int across, const real *Y, int apart, real *Z,
                        int wide)
{
    all_blocks(rows, columns, true, false, inner, X, down, across, Y, apart, Z, wide);
}

KERNEL void add_product_to(int rows, int columns, int inner, const real *X, int down, int across, const real *Y, int apart,
                           real *Z, int wide, bool upper)
{
    all_blocks(rows, columns, false, upper, inner, X, down, across, Y, apart, Z, wide);
}

FN void add_all(int count, const real *x, real *y)
{
    for (int i = 0; i < count; i++) y[i] = y[i] + x[i];
}

/// Entry `at` of a lane, and back.
FN double entry(const real *x, int at, int lane) { return ((const lane_number *)x)[at * LANES + lane]; }
FN void set_entry(real *x, int at, int lane, double to) { ((lane_number *)x)[at * LANES + lane] = (lane_number)to; }

/// Trajectories as the lanes have them; lanes without one repeat the first.
typedef struct {
    ilqr *of[LANES];
    int count;
    bool good[LANES];  // so far
} lanes_of_them;

/// Row k of an array of each, [n] numbers.
#define GATHER(to, field, k, size)                                                                                               \
    do {                                                                                                                         \
        const double *rows_[LANES];                                                                                              \
        for (int l_ = 0; l_ < LANES; l_++) rows_[l_] = ilqr_row(t->of[l_]->field, k, size);                                      \
        lane_gather(to, rows_, size);                                                                                            \
    } while (0)
#define SCATTER(from, field, k, size)                                                                                            \
    do {                                                                                                                         \
        double *rows_[LANES];                                                                                                    \
        for (int l_ = 0; l_ < LANES; l_++)                                                                                       \
            rows_[l_] = l_ < t->count && t->good[l_] ? ilqr_row(t->of[l_]->field, k, size) : r->dump;                            \
        lane_scatter(rows_, LANES, from, size);                                                                                  \
    } while (0)

/// [A B] and d of the knot.
static void lanes_read(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m;
    const double *A[LANES], *B[LANES];
    for (int l = 0; l < LANES; l++) A[l] = ilqr_row(t->of[l]->A, k, n * n), B[l] = ilqr_row(t->of[l]->B, k, n * m);
    for (int i = 0; i < n; i++) {
        lane_gather(r->AB + i * r->c, A, n), lane_gather(r->AB + i * r->c + n, B, m);
        for (int l = 0; l < LANES; l++) A[l] += n, B[l] += m;
    }
    GATHER(r->d, d, k, n);
}

/// What a rate has of what its position has.
FN real lagged(const lanes_knot *r, bool lags, real x)
{
    if (lags) return r->before * x;
    return rset(0);
}

/// Of plants with rates: PAB, and z' of it and of [A B].
static void lanes_of_rates(const lanes_knot *r, bool lags)
{
    const int n = r->n, c = r->c, h = n / 2;
    for (int i = 0; i < n; i++) {
        const real *const P = r->P + i * n;
        real *const row = r->PAB + i * c;
        for (int k = 0; k < h; k++) r->Pz[i * h + k] = fmadd(r->after, P[k], P[h + k]), row[k] = P[k];
        for (int k = 0; k < h; k++) row[h + k] = lagged(r, lags, P[k]);
        for (int k = n; k < c; k++) row[k] = rset(0);
    }
    add_product_to(n, c, h, r->Pz, h, 1, r->AB + h * c, c, r->PAB, c, false);
    for (int k = 0; k < h * c; k++) {
        r->zPAB[k] = fmadd(r->after, r->PAB[k], r->PAB[h * c + k]);
        r->zAB[k] = fmadd(r->after, r->AB[k], r->AB[h * c + k]);
    }
}

/// Q from w.
static void lanes_pull(const lanes_knot *r, bool lags)
{
    const int n = r->n, c = r->c, h = n / 2;
    if (!r->rates) {
        set_product(1, c, n, r->w, 0, 1, r->AB, c, r->Q, c);
        return;
    }
    for (int k = 0; k < h; k++) {
        r->Q[k] = r->w[k], r->Q[h + k] = lagged(r, lags, r->w[k]);
        r->zw[k] = fmadd(r->after, r->w[k], r->w[h + k]);
    }
    for (int k = n; k < c; k++) r->Q[k] = rset(0);
    add_product_to(1, c, h, r->zw, 0, 1, r->AB + h * c, c, r->Q, c, false);
}

/// What a knot costs by u, and by u and x, to rows of [Q_ux Q_uu].
static void lanes_costs(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m, c = r->c;
    GATHER(r->costs, costs.ux, k, m * n);
    for (int i = 0; i < m; i++) add_all(n, r->costs + i * n, r->U + i * c), add_all(n, r->costs + i * n, r->V + i * c);
    GATHER(r->costs, costs.uu, k, m * m);
    for (int i = 0; i < m; i++) add_all(m, r->costs + i * m, r->U + i * c + n), add_all(m, r->costs + i * m, r->V + i * c + n);
}

/// From P, s behind the knot: Q without costs, and U, V with them.
static void lanes_front(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m, c = r->c, h = n / 2, inner = r->rates ? h : n;
    const bool lags = t->of[0]->plant->before > 0;
    double rhos[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) rhos[l] = t->of[l]->state.rho;
    const real rho = lane_load(rhos);
    const mask some = gt(rho, rset(0));
    lanes_read(t, r, k);
    if (r->rates) lanes_of_rates(r, lags);
    else set_product(n, c, n, r->P, n, 1, r->AB, c, r->PAB, c);
    const real *const B = r->AB + (r->rates ? h * c : 0) + n;
    set_product(m, c, inner, B, 1, c, r->rates ? r->zPAB : r->PAB, c, r->U, c);
    set_product(m, c, inner - r->carried, B, 1, c, r->rates ? r->zAB : r->AB, c, r->V, c);
    for (int i = 0; i < m * c; i++) r->V[i] = fmadd(rho, sel(some, r->V[i], rset(0)), r->U[i]);
    for (int i = 0; i < n; i++) r->w[i] = r->s[i];
    add_product_to(1, n, n, r->d, 0, 1, r->P, n, r->w, n, false);
    lanes_pull(r, lags);
    lanes_costs(t, r, k);
}

/// Factors of V_u, with the inverses of its diagonal on it; lanes where it is not positive definite are good no more.
static void lanes_factor(lanes_of_them *t, const lanes_knot *r)
{
    const int m = r->m;
    real *const L = r->L;
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) L[i * m + j] = r->V[i * r->c + r->n + j];
    for (int j = 0; j < m; j++) {
        real d = L[j * m + j];
        for (int k = 0; k < j; k++) d = d - L[j * m + k] * L[j * m + k];
        for (int l = 0; l < LANES; l++) t->good[l] = t->good[l] && entry(&d, 0, l) > 0 && isfinite(entry(&d, 0, l));
        L[j * m + j] = root(d);
        for (int i = j + 1; i < m; i++) {
            real x = L[i * m + j];
            for (int k = 0; k < j; k++) x = x - L[i * m + k] * L[j * m + k];
            L[i * m + j] = x / L[j * m + j];
        }
    }
    for (int i = 0; i < m; i++) L[i * m + i] = rset(1) / L[i * m + i];
}

/// R [m][columns] becomes (L L')^-1 R.
FN void lanes_solve(int m, int columns, const real *L, real *R)
{
    for (int j = 0; j < columns; j++) {
        for (int i = 0; i < m; i++) {
            real sum = R[i * columns + j];
            for (int k = 0; k < i; k++) sum = fnmadd(L[i * m + k], R[k * columns + j], sum);
            R[i * columns + j] = sum * L[i * m + i];
        }
        for (int i = m - 1; i >= 0; i--) {
            real sum = R[i * columns + j];
            for (int k = i + 1; k < m; k++) sum = fnmadd(L[k * m + i], R[k * columns + j], sum);
            R[i * columns + j] = sum * L[i * m + i];
        }
    }
}

/// Bounded controls: each lane by itself.
static void lanes_bounded(lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m;
    const knot_room alone = ilqr_room_of(t->of[0]->plant, r->alone);
    for (int l = 0; l < t->count; l++) {
        if (!t->good[l]) continue;
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n + m; j++) alone.V[i * alone.c + j] = entry(r->V, i * r->c + j, l);
            alone.Q[n + i] = entry(r->Q, n + i, l);
        }
        t->good[l] = ilqr_gains_of(t->of[l], k, &alone);
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) set_entry(r->K, i * n + j, l, alone.K[i * alone.e + j]);
            set_entry(r->kappa, i, l, alone.kappa[i]);
        }
    }
}

static void lanes_gains(lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m;
    if (t->of[0]->lower) {
        lanes_bounded(t, r, k);
        return;
    }
    lanes_factor(t, r);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) r->K[i * n + j] = negate(r->V[i * r->c + j]);
        r->kappa[i] = negate(r->Q[n + i]);
    }
    lanes_solve(m, n, r->L, r->K), lanes_solve(m, 1, r->L, r->kappa);
    SCATTER(r->K, K, k, m * n);
    SCATTER(r->kappa, kappa, k, m);
}

/// P, s before the knot.
static void lanes_value(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m, c = r->c, h = n / 2;
    const bool lags = t->of[0]->plant->before > 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) r->T[i * n + j] = r->U[i * c + j];
    add_product_to(m, n, m, r->U + n, c, 1, r->K, n, r->T, n, false);
    GATHER(r->P, costs.xx, k, n * n);
    for (int i = 0; i < n && r->rates; i++) {
        real share = rset(1);
        if (i >= h) share = r->before;
        for (int j = i; j < n && (i < h || lags); j++)
            r->P[i * n + j] = r->P[i * n + j] + share * r->PAB[(i < h ? i : i - h) * c + j];
    }
    if (r->rates) add_product_to(n, n, h, r->AB + h * c, 1, c, r->zPAB, c, r->P, n, true);
    else add_product_to(n, n, n, r->AB, 1, c, r->PAB, c, r->P, n, true);
    add_product_to(n, n, m, r->U, 1, c, r->K, n, r->P, n, true);
    add_product_to(n, n, m, r->K, 1, n, r->T, n, r->P, n, true);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) r->P[i * n + j] = r->P[j * n + i];
    GATHER(r->s, costs.x, k, n);
    add_all(n, r->Q, r->s);
    add_product_to(1, n, m, r->f, 0, 1, r->K, n, r->s, n, false),
        add_product_to(1, n, m, r->kappa, 0, 1, r->U, c, r->s, n, false);
    SCATTER(r->s, s, k, n);
    SCATTER(r->P, P, k, n * n);
}

/// Q_u has what its knot costs, too, and is looked at.
static void lanes_look(const lanes_of_them *t, const lanes_knot *r, int k, int b)
{
    const int m = r->m;
    for (int l = 0; l < t->count; l++) {
        if (!t->good[l]) continue;
        const double *const lu = ilqr_row(t->of[l]->costs.u, k, m);
        back_block *const block = &t->of[l]->blocks[b];
        for (int i = 0; i < m; i++) {
            const double Qu = entry(r->Q, r->n + i, l), whole = Qu + lu[i];
            block->part = fmax(block->part, fmax(fabs(lu[i]), fabs(Qu)));
            block->gradient = fmax(block->gradient, ilqr_push(t->of[l], k, i, whole));
            set_entry(r->Q, r->n + i, l, whole);
        }
    }
}

/// Knot k of block b.
static void lanes_over(lanes_of_them *t, const lanes_knot *r, int k, int b)
{
    const int m = r->m;
    lanes_front(t, r, k);
    lanes_look(t, r, k, b);
    lanes_gains(t, r, k);
    for (int i = 0; i < m; i++) {
        real sum = rset(0);
        for (int j = 0; j < m; j++) sum = sum + r->U[i * r->c + r->n + j] * r->kappa[j];
        const real linear = r->kappa[i] * r->Q[r->n + i], quadratic = rset(0.5) * r->kappa[i] * sum;
        for (int l = 0; l < t->count; l++) {
            back_block *const block = &t->of[l]->blocks[b];
            if (t->good[l]) block->linear += entry(&linear, 0, l), block->quadratic += entry(&quadratic, 0, l);
        }
        r->f[i] = sum + r->Q[r->n + i];
    }
    lanes_value(t, r, k);
}

/// The value at the end of block b.
static void lanes_begin(const lanes_of_them *t, const lanes_knot *r, int b, int end)
{
    const int n = r->n, N = t->of[0]->plant->knots;
    if (end < N) {
        GATHER(r->P, end_P, b, n * n);
        GATHER(r->s, end_s, b, n);
        return;
    }
    GATHER(r->P, P, N, n * n);
    GATHER(r->s, s, N, n);
}

static bool any_lane(const lanes_of_them *t)
{
    bool any = false;
    for (int l = 0; l < t->count; l++) any = any || t->good[l];
    return any;
}

static void sweep_back(ilqr *const *of, int count, int blocks, double *room, bool *good)
{
    const plant *const p = of[0]->plant;
    const int N = p->knots;
    lanes_of_them t = {.count = count};
    lanes_knot r;
    deal_lanes(&r, p, room);
    for (int l = 0; l < LANES; l++) t.of[l] = of[l < count ? l : 0];
    for (int l = 0; l < count; l++) ilqr_begin_back(of[l]);
    for (int b = 0; b < blocks; b++) {
        const int end = block_at(N, blocks, b + 1);
        for (int l = 0; l < LANES; l++) t.good[l] = l < count;
        for (int l = 0; l < count; l++) of[l]->blocks[b] = (back_block){0};
        lanes_begin(&t, &r, b, end);
        for (int k = end - 1; k >= block_at(N, blocks, b) && any_lane(&t); k--) lanes_over(&t, &r, k, b);
        for (int l = 0; l < count; l++) of[l]->blocks[b].good = t.good[l];
    }
    for (int l = 0; l < count; l++) good[l] = ilqr_end_back(of[l], blocks);
}

#undef GATHER
#undef SCATTER

const sweep_kernels SWEEP = {sweep_front, sweep_solve, sweep_value, sweep_law, sweep_laws, LANES, lanes_need, sweep_back};

#endif
