/// The problem of a knot whose controls are bounded, by projected Newton steps [Tassa, Mansard, Todorov 2014], and what pushes at
/// its bounds. For CPUs and threads of a device.
#ifndef CATENA_CONTROL_ILQR_BOUNDED_H
#define CATENA_CONTROL_ILQR_BOUNDED_H

#include "control/ilqr_parts.h"
#include "sim/base/matrix.h"

#include <math.h>
#include <string.h>

/// Arrays of the problem out of x; NULL: only counts.
ILQR_FN size_t ilqr_deal_bounded(bounded_room *r, int controls, int states, double *x)
{
    const size_t m = (size_t)controls, n = (size_t)states;
    if (x) {
        r->G = x, r->L = r->G + m * m, r->side = r->L + m * m, r->flat = r->side + m * n, r->lo = r->flat + m * n;
        r->hi = r->lo + m, r->g = r->hi + m, r->dx = r->g + m, r->free = (int *)(void *)(r->dx + 2 * m);
    }
    return 2 * m * (m + n) + 6 * m;
}

/// kappa minimises 1/2 k'G k + Q_u'k within bounds, by projected Newton steps; gains of controls that stay at a bound are 0.
/// G, lo, hi, and Q~_ux as side are in r; Qu [m]. false: what is free has no minimum.
ILQR_FN bool ilqr_bounded_gains(int m, int n, const bounded_room *r, const double *Qu, double *kappa, double *K)
{
    enum { MOST = 100 };
    for (int i = 0; i < m; i++) kappa[i] = fmin(fmax(0.0, r->lo[i]), r->hi[i]);
    int count = 0;
    for (int turn = 0; turn < MOST; turn++) {
        double size = 0;
        count = 0;
        for (int i = 0; i < m; i++) {
            double g = Qu[i];
            for (int j = 0; j < m; j++) g += r->G[i * m + j] * kappa[j];
            r->g[i] = g;
            const bool held = (kappa[i] <= r->lo[i] && g > 0) || (kappa[i] >= r->hi[i] && g < 0);
            if (!held) r->free[count++] = i, size = fmax(size, fabs(g));
        }
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++) r->L[i * count + j] = r->G[r->free[i] * m + r->free[j]];
        if (count && !matrix_cholesky(count, r->L)) return false;
        for (int i = 0; i < count; i++) r->dx[i] = -r->g[r->free[i]];
        if (count) matrix_cholesky_solve(count, 1, r->L, r->dx);
        double scale = 0;
        for (int i = 0; i < m; i++) scale = fmax(scale, fabs(Qu[i]));
        if (size <= 1e-14 * scale) break;
        double length = 1, before = 0, trial[2] = {0};  // 1/2 k'G k + Q_u'k falls along the projected arc [Bertsekas 1982]
        for (int i = 0; i < m; i++) before += 0.5 * kappa[i] * (r->g[i] + Qu[i]);
        double *const at = r->dx + m;
        bool falls = false;
        for (int halvings = 0; halvings < 40 && !falls; halvings++, length *= 0.5) {
            memcpy(at, kappa, (size_t)m * sizeof *at);
            for (int i = 0; i < count; i++) {
                const int k = r->free[i];
                at[k] = fmin(fmax(kappa[k] + length * r->dx[i], r->lo[k]), r->hi[k]);
            }
            double value = 0, slope = 0;
            for (int i = 0; i < m; i++) {
                double g = 0;
                for (int j = 0; j < m; j++) g += r->G[i * m + j] * at[j];
                value += at[i] * (0.5 * g + Qu[i]), slope += r->g[i] * (at[i] - kappa[i]);
            }
            falls = value <= before + 0.1 * slope && slope < 0;
            trial[0] = value, trial[1] = slope;
        }
        if (!falls || trial[1] >= 0) break;  // to rounding
        double moved = 0;
        for (int i = 0; i < m; i++) moved = fmax(moved, fabs(at[i] - kappa[i])), kappa[i] = at[i];
        if (moved == 0) break;
    }
    memset(K, 0, (size_t)(m * n) * sizeof *K);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < n; j++) r->flat[i * n + j] = r->side[r->free[i] * n + j];
    if (count) matrix_cholesky_solve(count, n, r->L, r->flat);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < n; j++) K[r->free[i] * n + j] = -r->flat[i * n + j];
    return true;
}

/// What pushes at control i of knot k: its gradient, but for what holds it at a bound.
ILQR_FN double ilqr_push(const ilqr *s, int k, int i, double g)
{
    const int m = s->plant->m;
    const double u = s->U[(size_t)k * (size_t)m + (size_t)i], blur = 1e-12 * (1 + fabs(u));  // a sum that is to be the bound
    if (s->lower && ((u <= s->lower[i] + blur && g > 0) || (u >= s->upper[i] - blur && g < 0))) return 0;
    return fabs(g);
}

#endif
