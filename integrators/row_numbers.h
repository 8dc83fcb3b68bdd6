/// Numbers that follow each other: rows of the matrix of a step, and parts of them (joint_matrix.h, world_factors.h).
///
/// An engine of one lane does four of them at once (lane_scalar.h). Sums are made of every fourth column first, in every engine, and
/// whatever is joined to what: what other lanes have there adds zeros.
#ifndef CATENA_ROW_NUMBERS_H
#define CATENA_ROW_NUMBERS_H

#include "dynamics/lane_model.h"

FN bool is_zero(real x) { return !any_of(either(lt(x, rset(0)), gt(x, rset(0)))); }  // in all lanes

FN void add_numbers(real *to, const real *of, real a, int n)  // to + a of
{
    int k = 0;
#ifdef FOUR_NUMBERS
    for (; k + 4 <= n; k += 4) four_store(to + k, four_fmadd(four_of(a), four_load(of + k), four_load(to + k)));
#endif
    for (; k < n; k++) to[k] = fmadd(a, of[k], to[k]);
}
FN void take_numbers(real *to, const real *of, real a, int n)  // to - a of
{
    int k = 0;
#ifdef FOUR_NUMBERS
    for (; k + 4 <= n; k += 4) four_store(to + k, four_fnmadd(four_of(a), four_load(of + k), four_load(to + k)));
#endif
    for (; k < n; k++) to[k] = fnmadd(a, of[k], to[k]);
}
FN void copy_numbers(real *to, const real *of, int n)
{
    int k = 0;
#ifdef FOUR_NUMBERS
    for (; k + 4 <= n; k += 4) four_store(to + k, four_load(of + k));
#endif
    for (; k < n; k++) to[k] = of[k];
}
FN void clear_numbers(real *to, int n)
{
    const real o = rset(0);
    int k = 0;
#ifdef FOUR_NUMBERS
    for (; k + 4 <= n; k += 4) four_store(to + k, four_of(o));
#endif
    for (; k < n; k++) to[k] = o;
}
/// Adds a[k] b[k] for columns from k on to the sum of every fourth column.
FN void dot_numbers(const real *a, const real *b, int k, int end, real s[4])
{
#ifdef FOUR_NUMBERS
    for (; k < end && k % 4; k++) s[k % 4] = fmadd(a[k], b[k], s[k % 4]);
    if (k + 4 <= end) {
        four_numbers t = four_load(s);
        for (; k + 4 <= end; k += 4) t = four_fmadd(four_load(a + k), four_load(b + k), t);
        four_store(s, t);
    }
#endif
    for (; k < end; k++) s[k % 4] = fmadd(a[k], b[k], s[k % 4]);
}

#endif
