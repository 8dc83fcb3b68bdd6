/// The forward pass: new controls are played with all alpha at once, each in blocks that begin where the linearised plant says.
#include "control/ilqr_parts.h"
#include "sim/base/matrix.h"

#include <math.h>
#include <string.h>

/// What states change by, of the linearised plant: without kappa (defects are closed), and for each alpha more.
static void sweep_linear(ilqr *s)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, m = p->m;
    double *const still = s->sweep, *const more = s->sweep + (size_t)(N + 1) * (size_t)n, *const u = s->work;
    memset(still, 0, (size_t)n * sizeof *still), memset(more, 0, (size_t)n * sizeof *more);
    for (int k = 0; k < N; k++)
        for (int part = 0; part < 2; part++) {
            double *const from = ilqr_row(part ? more : still, k, n), *const to = from + n;
            if (part) memcpy(u, ilqr_row(s->kappa, k, m), (size_t)m * sizeof *u), memset(to, 0, (size_t)n * sizeof *to);
            else memset(u, 0, (size_t)m * sizeof *u), memcpy(to, ilqr_row(s->d, k, n), (size_t)n * sizeof *to);
            matrix_multiply(m, n, 1, 1, ilqr_row(s->K, k, m * n), from, u);
            matrix_multiply(n, n, 1, 1, ilqr_row(s->A, k, n * n), from, to);
            matrix_multiply(n, m, 1, 1, ilqr_row(s->B, k, n * m), u, to);
        }
}

static double alpha_of(int a) { return ldexp(1, -a); }

/// Where blocks begin with the alpha.
static void begin_blocks(ilqr *s, int a)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n;
    double *const X = s->tried_X + (size_t)a * (size_t)(N + 1) * (size_t)p->nx, *const dx = s->work;
    memcpy(X, s->X, (size_t)p->nx * sizeof *X);
    for (int b = 1; b < s->cfg.forward; b++) {
        const int k = block_at(N, s->cfg.forward, b);
        for (int i = 0; i < n; i++) dx[i] = s->sweep[k * n + i] + alpha_of(a) * s->sweep[(N + 1 + k) * n + i];
        p->add(p->context, ilqr_row(s->X, k, p->nx), dx, ilqr_row(X, k, p->nx));
    }
}

/// Point `at`: alpha a at knot k.
static void ask(ilqr *s, int at, int a, int b, int k)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, m = p->m, nx = p->nx;
    const double *const x = ilqr_row(s->tried_X + (size_t)a * (size_t)(N + 1) * (size_t)nx, k, nx);
    double *const u = ilqr_row(s->tried_U + (size_t)a * (size_t)N * (size_t)m, k, m), *const dx = s->work;
    p->difference(p->context, ilqr_row(s->X, k, nx), x, dx);
    for (int i = 0; i < m; i++) u[i] = ilqr_row(s->U, k, m)[i] + alpha_of(a) * ilqr_row(s->kappa, k, m)[i];
    matrix_vector(m, n, ilqr_row(s->K, k, m * n), dx, u);
    for (int i = 0; i < m && s->lower; i++) u[i] = fmin(fmax(u[i], s->lower[i]), s->upper[i]);
    memcpy(ilqr_row(s->x, at, nx), x, (size_t)nx * sizeof *x), memcpy(ilqr_row(s->u, at, m), u, (size_t)m * sizeof *u);
    s->knot[at] = k, s->whose[at] = a * s->cfg.forward + b;
}

/// What the plant answered for `count` points.
static void take(ilqr *s, int count)
{
    const plant *const p = s->plant;
    const int N = p->knots, nx = p->nx;
    for (int at = 0; at < count; at++) {
        const int a = s->whose[at] / s->cfg.forward, b = s->whose[at] % s->cfg.forward, next = s->knot[at] + 1;
        double *const X = s->tried_X + (size_t)a * (size_t)(N + 1) * (size_t)nx;
        const double *const x = ilqr_row(s->next, at, nx);
        bool fine = s->good[at];
        for (int i = 0; i < nx && fine; i++) fine = isfinite(x[i]);
        if (!fine) {
            s->state.failed += s->tried[a], s->tried[a] = false;
            continue;
        }
        if (next == N || next < block_at(N, s->cfg.forward, b + 1)) memcpy(ilqr_row(X, next, nx), x, (size_t)nx * sizeof *x);
        else {
            double *const d = ilqr_row(s->tried_d + (size_t)a * (size_t)s->cfg.forward * (size_t)p->n, b, p->n), sum = 0;
            p->difference(p->context, ilqr_row(X, next, nx), x, d);
            for (int i = 0; i < p->n; i++) sum += fabs(d[i]);
            s->tried_defect[a] = fmax(s->tried_defect[a], sum);
        }
    }
}

static ctn_status step_points(ilqr *s, int count, ctn_error *err)
{
    const plant *const p = s->plant;
    if (!count) return CTN_OK;
    const ctn_status status = p->step(p->context, count, s->knot, s->x, s->u, s->next, s->good, err);
    if (status == CTN_OK) take(s, count);
    return status;
}

/// What the trajectories cost, and what closing their defects would cost besides, by this iteration's value:
/// (V_x + V_xx (x~ - x))'d + 1/2 d'V_xx d at the starts of blocks.
static void judge(ilqr *s, int a)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, m = p->m, nx = p->nx;
    double *const X = s->tried_X + (size_t)a * (size_t)(N + 1) * (size_t)nx,
                  *const U = s->tried_U + (size_t)a * (size_t)N * (size_t)m, *const dx = s->work, *const Pd = dx + n,
                  *const spare = s->u;
    s->tried_J[a] = s->tried_M[a] = NAN;
    if (!s->tried[a]) return;
    p->cost(p->context, N, s->knots, X, U, s->each);
    p->cost(p->context, 1, &s->knots[N], ilqr_row(X, N, nx), spare, s->each + N);
    double J = 0, M = 0;
    for (int k = 0; k <= N; k++) J += s->each[k];
    for (int b = 0; b + 1 < s->cfg.forward; b++) {
        const int k = block_at(N, s->cfg.forward, b + 1);
        const double *const d = ilqr_row(s->tried_d + (size_t)a * (size_t)s->cfg.forward * (size_t)n, b, n);
        p->difference(p->context, ilqr_row(s->X, k, nx), ilqr_row(X, k, nx), dx);
        memset(Pd, 0, (size_t)n * sizeof *Pd), matrix_multiply(n, n, 1, 1, ilqr_row(s->P, k, n * n), d, Pd);
        for (int i = 0; i < n; i++) M += ilqr_row(s->s, k, n)[i] * d[i] + (dx[i] + 0.5 * d[i]) * Pd[i];
    }
    s->tried_J[a] = J, s->tried_M[a] = s->cfg.cost_alone ? J : J + M;
}

ctn_status ilqr_forward(ilqr *s, ctn_error *err)
{
    const plant *const p = s->plant;
    const int N = p->knots, M = s->cfg.forward;
    if (M > 1) sweep_linear(s);
    for (int a = 0; a < s->cfg.alphas; a++) s->tried[a] = true, s->tried_defect[a] = 0, begin_blocks(s, a);
    int longest = 0;
    for (int b = 0; b < M; b++) {
        const int length = block_at(N, M, b + 1) - block_at(N, M, b);
        longest = length > longest ? length : longest;
    }
    for (int t = 0; t < longest; t++) {
        int count = 0;
        ctn_status status = CTN_OK;
        for (int b = 0; b < M && status == CTN_OK; b++)
            for (int a = 0; a < s->cfg.alphas && status == CTN_OK; a++) {
                const int k = block_at(N, M, b) + t;
                if (!s->tried[a] || k >= block_at(N, M, b + 1)) continue;
                ask(s, count++, a, b, k);
                if (count == p->most) status = step_points(s, count, err), count = 0;
            }
        if (status == CTN_OK) status = step_points(s, count, err);
        if (status != CTN_OK) return status;
    }
    for (int a = 0; a < s->cfg.alphas; a++) judge(s, a);
    return CTN_OK;
}
