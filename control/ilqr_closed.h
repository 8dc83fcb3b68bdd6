/// What states change by, of the linearised plant that follows the gains: for alpha = 0, where defects are closed, and for each
/// alpha more [Plancher and Kuindersma, algorithm 1]. In s->sweep, for CPUs and threads of a device.
#ifndef CATENA_CONTROL_ILQR_CLOSED_H
#define CATENA_CONTROL_ILQR_CLOSED_H

#include "control/ilqr_parts.h"

#include <math.h>

/// Part 0: without kappa; part 1: for each alpha more. [N + 1][n] each; behind them controls, [2][m].
ILQR_FN double *ilqr_closed_row(const ilqr *s, int k, int part)
{
    return ilqr_row(s->sweep, part * (s->plant->knots + 1) + k, s->plant->n);
}
ILQR_FN double *ilqr_closed_told(const ilqr *s, int part)
{
    return ilqr_closed_row(s, s->plant->knots + 1, 1) + part * s->plant->m;
}

/// What control i of knot k changes by. At knot 0 no state does.
ILQR_FN void ilqr_closed_control(const ilqr *s, int k, int part, int i)
{
    const int n = s->plant->n, m = s->plant->m;
    const double *const K = ilqr_row(s->K, k, m * n) + i * n, *const from = ilqr_closed_row(s, k, part);
    double sum = part ? ilqr_row(s->kappa, k, m)[i] : 0;
    for (int j = 0; j < n; j++) sum += K[j] * (k ? from[j] : 0);
    ilqr_closed_told(s, part)[i] = sum;
}

/// And then number i of the state behind it.
ILQR_FN void ilqr_closed_state(const ilqr *s, int k, int part, int i)
{
    const int n = s->plant->n, m = s->plant->m;
    const double *const A = ilqr_row(s->A, k, n * n) + i * n, *const B = ilqr_row(s->B, k, n * m) + i * m,
                        *const from = ilqr_closed_row(s, k, part), *const u = ilqr_closed_told(s, part);
    double sum = part ? 0 : ilqr_row(s->d, k, n)[i];
    for (int j = 0; j < n; j++) sum += A[j] * (k ? from[j] : 0);
    for (int j = 0; j < m; j++) sum += B[j] * u[j];
    ilqr_closed_row(s, k + 1, part)[i] = sum;
}

/// What the state at knot k, where a block begins, changes by with alpha 2^-a: number i.
ILQR_FN double ilqr_closed_start(const ilqr *s, int k, int a, int i)
{
    return ilqr_closed_row(s, k, 0)[i] + ldexp(1.0, -a) * ilqr_closed_row(s, k, 1)[i];
}

#endif
