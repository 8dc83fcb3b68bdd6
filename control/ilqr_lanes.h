/// The backward pass of several trajectories at once, one in each lane, by one thread of a CPU: products in registers, and the
/// way back by the knots of ilqr_knot.h. Included after ilqr_sweep.h.
#ifndef CATENA_CONTROL_ILQR_LANES_H
#define CATENA_CONTROL_ILQR_LANES_H

#include "control/ilqr_knot_room.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 4, BLOCK_COLUMNS = 3 };  // of a product that is in registers

static size_t lanes_need(const plant *p)
{
    lanes_knot r;
    return deal_knot(&r, p, NULL);
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

KERNEL void set_product(const lanes_knot *r, int rows, int columns, int inner, const real *X, int down, int across, const real *Y,
                        int apart, real *Z, int wide)
{
    (void)r;
    all_blocks(rows, columns, true, false, inner, X, down, across, Y, apart, Z, wide);
}

KERNEL void add_product_to(const lanes_knot *r, int rows, int columns, int inner, const real *X, int down, int across,
                           const real *Y, int apart, real *Z, int wide, bool upper)
{
    (void)r;
    all_blocks(rows, columns, false, upper, inner, X, down, across, Y, apart, Z, wide);
}

/// Entry `at` of a lane, and back.
FN double entry(const real *x, int at, int lane) { return ((const lane_number *)x)[at * LANES + lane]; }
FN void set_entry(real *x, int at, int lane, double to) { ((lane_number *)x)[at * LANES + lane] = (lane_number)to; }

// one thread does everything
#define EACH(r, i, count) for (int i = 0; i < (count); i++)
#define EACH_OF(r, i, rows, j, columns)                                                                                          \
    for (int i = 0; i < (rows); i++)                                                                                             \
        for (int j = 0; j < (columns); j++)
#define EACH_ABOVE(r, i, j, n)                                                                                                   \
    for (int i = 0; i < (n); i++)                                                                                                \
        for (int j = i; j < (n); j++)
#define EACH_BELOW(r, i, j, n)                                                                                                   \
    for (int i = 0; i < (n); i++)                                                                                                \
        for (int j = 0; j < i; j++)
#define FIRST(r) true
#define WAIT(r) ((void)0)

FN void rows_in(const lanes_knot *r, const double *const *from, int rows, int size, real *to, int apart)
{
    const double *at[LANES];
    (void)r;
    for (int l = 0; l < LANES; l++) at[l] = from[l];
    for (int i = 0; i < rows; i++) {
        lane_gather(to + i * apart, at, size);
        for (int l = 0; l < LANES; l++) at[l] += size;
    }
}

FN void rows_out(const lanes_knot *r, double *const *to, int size, const real *from)
{
    (void)r;
    lane_scatter(to, LANES, from, size);
}

#include "control/ilqr_knot.h"

static void sweep_back(ilqr *const *of, int count, int blocks, double *room, bool *good)
{
    const plant *const p = of[0]->plant;
    lanes_of_them t = {.count = count};
    lanes_knot r;
    deal_knot(&r, p, room);
    r.before = rset(p->before), r.after = rset(p->after);
    for (int l = 0; l < LANES; l++) t.of[l] = of[l < count ? l : 0];
    for (int l = 0; l < count; l++) ilqr_begin_back(of[l]);
    for (int b = 0; b < blocks; b++) knots_back(&t, &r, blocks, b);
    for (int l = 0; l < count; l++) good[l] = ilqr_end_back(of[l], blocks);
}

const sweep_kernels SWEEP = {sweep_front, sweep_solve, sweep_value, sweep_law, sweep_laws, LANES, lanes_need, sweep_back};

#endif
