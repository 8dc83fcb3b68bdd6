/// The factors A = U'DU of the matrix of a step in the order of one world (world_order.h), and solutions by them.
///
/// A panel has the rows of a group: its own columns, all of them, then those of the groups after it that it is joined to. It is made
/// once all panels before it are whole: what these have for its rows is taken from it, the columns that follow each other in
/// both at once, and then its own rows from each other. Rows stay as they are before they are divided by their pivots.
///
/// Worlds side by side in lanes have panels in common where the same is joined in all of them. Else each has its own, and is
/// factored alone, by the kernels of one lane: sim/engine/one_world.c, where engines have more.
#ifndef CATENA_WORLD_FACTORS_H
#define CATENA_WORLD_FACTORS_H

#include "dynamics/between.h"
#include "integrators/row_numbers.h"
#include "integrators/world_order.h"

#if LANES > 1
/// factor_panels() and solve_panels() of one lane, of one world's numbers.
bool one_world_factor(const world_order *o, double *F, double *inverse, bool minimum);
void one_world_solve(const world_order *o, const double *F, const double *inverse, double *scratch, double *x);
#endif

/// to - l[0] row 0 - ... of w rows that are `stride` apart, n columns.
FN void take_of_rows(real *to, const real *row, int stride, const real *l, int w, int n)
{
    int c = 0;
#ifdef FOUR_NUMBERS
    for (; c + 4 <= n; c += 4) {
        four_numbers t = four_load(to + c);
        for (int k = 0; k < w; k++) t = four_fnmadd(four_of(l[k]), four_load(row + k * stride + c), t);
        four_store(to + c, t);
    }
#endif
    for (; c < n; c++) {
        real t = to[c];
        for (int k = 0; k < w; k++) t = fnmadd(l[k], row[k * stride + c], t);
        to[c] = t;
    }
}

/// Likewise: how many rows there are is known as it is compiled, so that l stays in registers.
FN void take_rows_of(real *to, const real *row, int stride, const real *l, int w, int n)
{
    switch (w) {
    case 1: take_of_rows(to, row, stride, l, 1, n); break;
    case 2: take_of_rows(to, row, stride, l, 2, n); break;
    case 3: take_of_rows(to, row, stride, l, 3, n); break;
    case 4: take_of_rows(to, row, stride, l, 4, n); break;
    case 5: take_of_rows(to, row, stride, l, 5, n); break;
    default: take_of_rows(to, row, stride, l, 6, n);
    }
}

/// Which columns of panel `of`, from its entry e on, are which of the panel whose columns `place` tells. Returns how many runs.
FN int runs_of_panel(const world_order *o, const row_panel *of, int e)
{
    int runs = 0;
    for (int k = e; k < of->later + of->laters; k++) {
        const panel_entry *const next = &o->later[k];
        const int to = o->place[next->panel], n = o->panel[next->panel].width;
        if (runs && o->run[runs - 1].to + o->run[runs - 1].n == to) o->run[runs - 1].n += n;
        else o->run[runs].to = to, o->run[runs].from = next->at, o->run[runs++].n = n;
    }
    return runs;
}

/// Takes from panel P, whose columns `place` tells, what panel S has of its rows: entry e there.
FN void take_panel(const world_order *o, real *F, const row_panel *P, const row_panel *S, int e, const real *inverse)
{
    const real *const from = F + S->at, *const own = from + o->later[e].at;
    const int runs = runs_of_panel(o, S, e);
    for (int r = 0; r < P->width; r++) {
        real l[MATRIX_GROUP], *const to = F + P->at + (size_t)r * (size_t)P->stride;
        bool some = false;
        for (int k = 0; k < S->width; k++) {
            const real x = own[k * S->stride + r];
            some = some || !is_zero(x);
            l[k] = x * inverse[S->start + k];
        }
        if (!some) continue;
        for (int i = 0; i < runs; i++)
            take_rows_of(to + o->run[i].to, from + o->run[i].from, S->stride, l, S->width, o->run[i].n);
    }
}

/// F [numbers]: the panels of the matrix become those of its factors. inverse [size]: 1 over pivots, by columns of the matrix.
/// minimum: they are to be positive; else not 0. Returns the lanes in which they are.
KERNEL mask factor_panels(const world_order *o, real *F, real *inverse, bool minimum)
{
    const real one = rset(1), zero = rset(0);
    mask good = not_(none_of());
    for (int p = 0; p < o->groups; p++) {
        const row_panel *const P = &o->panel[p];
        o->place[p] = 0;
        for (int e = P->later; e < P->later + P->laters; e++) o->place[o->later[e].panel] = o->later[e].at;
        for (int k = P->earlier; k < P->earlier + P->earliers; k++)
            take_panel(o, F, P, &o->panel[o->earlier[k].panel], o->earlier[k].entry, inverse);
        for (int c = 0; c < P->width; c++) {
            const real *const row = F + P->at + (size_t)c * (size_t)P->stride;
            const mask above = gt(row[c], zero), fine = minimum ? above : either(above, lt(row[c], zero));
            const real pivot = inverse[P->start + c] = one / sel(fine, row[c], one);
            good = both(good, fine);
            for (int r = c + 1; r < P->width; r++) {
                if (is_zero(row[r])) continue;
                take_numbers(F + P->at + (size_t)r * (size_t)P->stride + r, row + r, row[r] * pivot, P->stride - r);
            }
        }
    }
    return good;
}

/// x [size]: the solution for what is in x, by columns of the matrix. scratch [size].
KERNEL void solve_panels(const world_order *o, const real *F, const real *inverse, real *scratch, real *x)
{
    for (int p = 0; p < o->groups; p++) {
        const row_panel *const P = &o->panel[p];
        const real *const row = F + P->at;
        real l[MATRIX_GROUP], *const own = x + P->start;
        for (int c = 0; c < P->width; c++) {
            l[c] = own[c] * inverse[P->start + c];
            take_numbers(own + c + 1, row + c * P->stride + c + 1, l[c], P->width - c - 1);
        }
        for (int e = P->later; e < P->later + P->laters; e++) {
            const row_panel *const Q = &o->panel[o->later[e].panel];
            take_rows_of(x + Q->start, row + o->later[e].at, P->stride, l, P->width, Q->width);
        }
        for (int c = 0; c < P->width; c++) own[c] = l[c];
    }
    for (int p = o->groups - 1; p >= 0; p--) {
        const row_panel *const P = &o->panel[p];
        copy_numbers(scratch, x + P->start, P->width);
        for (int e = P->later; e < P->later + P->laters; e++) {
            const row_panel *const Q = &o->panel[o->later[e].panel];
            copy_numbers(scratch + o->later[e].at, x + Q->start, Q->width);
        }
        for (int c = P->width - 1; c >= 0; c--) {
            real s[4] = {rset(0), rset(0), rset(0), rset(0)};
            dot_numbers(F + P->at + (size_t)c * (size_t)P->stride, scratch, c + 1, P->stride, s);
            scratch[c] = fnmadd((s[0] + s[1]) + (s[2] + s[3]), inverse[P->start + c], scratch[c]);
            x[P->start + c] = scratch[c];
        }
    }
}

#endif
