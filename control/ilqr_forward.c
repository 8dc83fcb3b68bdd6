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
        const double *const still = ilqr_row(s->sweep, k, n), *const more = ilqr_row(s->sweep, N + 1 + k, n);
        for (int i = 0; i < n; i++) dx[i] = still[i] + alpha_of(a) * more[i];
        p->add(p->context, ilqr_row(s->X, k, p->nx), dx, ilqr_row(X, k, p->nx));
    }
}

/// dx [n][apart] = x [n][apart] - row [n].
static void subtract_row(int n, int apart, const double *restrict x, const double *restrict row, double *restrict dx)
{
    for (int j = 0; j < n; j++)
        for (int l = 0; l < apart; l++) dx[j * apart + l] = x[j * apart + l] - row[j];
}

static int block_of(const ilqr *s, int at) { return s->whose[at] / s->cfg.alphas; }
static int alpha_at(const ilqr *s, int at) { return s->whose[at] % s->cfg.alphas; }

/// Where the point is after so many steps; those that go on beyond the horizon are told what the last knot has.
static int knot_or_last(const ilqr *s, int at, int step)
{
    const int k = s->knot[at] + step, last = s->plant->knots - 1;
    return k < last ? k : last;
}

/// Lane l of x [n][apart] as a row, and back.
static void out_of_lane(int n, int apart, int l, const double *x, double *row)
{
    for (int j = 0; j < n; j++) row[j] = x[j * apart + l];
}
static void into_lane(int n, int apart, int l, const double *row, double *x)
{
    for (int j = 0; j < n; j++) x[j * apart + l] = row[j];
}

/// Point `at`, lane l of x, has come to a knot of its block, or to the block's end, where the next one begins elsewhere: a
/// defect.
static void arrive(ilqr *s, int at, int step, int apart, int l, const double *x, double *row)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, nx = p->nx, a = alpha_at(s, at), b = block_of(s, at), k = s->knot[at] + step,
              end = block_at(N, s->cfg.forward, b + 1);
    if (!step || k > end) return;  // it has begun there; or the longest of the blocks beside it goes on
    double *const X = ilqr_row(s->tried_X + (size_t)a * (size_t)(N + 1) * (size_t)nx, k, nx);
    if (k < end || k == N) {
        out_of_lane(nx, apart, l, x, X);
        return;
    }
    out_of_lane(nx, apart, l, x, row);
    p->difference(p->context, X, row, ilqr_row(s->tried_d + (size_t)a * (size_t)s->cfg.forward * (size_t)n, b, n));
}

/// What points are told; each has come to where it is.
static void tell(void *whose, int first, int count, int apart, int step, const double *x, const bool *good, double *u)
{
    ilqr *const s = whose;
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, m = p->m, nx = p->nx;
    double *const dx = s->lanes + (size_t)first * (size_t)(2 * (nx + n) + m), *const row = dx + apart * n,
                  *const change = row + nx, *const own = change + n, *const alpha = s->alpha + first;
    bool together = true;
    for (int i = 0; i < count; i++) {
        const int at = first + i, end = block_at(N, s->cfg.forward, block_of(s, at) + 1);
        s->lost[at] = s->lost[at] || (!good[i] && s->knot[at] + step <= end);
        if (good[i]) arrive(s, at, step, apart, i, x, row);
        together = together && s->knot[first + i] == s->knot[first];
    }
    if (!u) return;
    for (int l = 0; l < apart; l++) {
        const int at = l < count ? first + l : first, k = knot_or_last(s, at, step);
        alpha[l] = alpha_of(alpha_at(s, at));
        if (together && p->added) continue;
        out_of_lane(nx, apart, l, x, row), p->difference(p->context, ilqr_row(s->X, k, nx), row, change);
        into_lane(n, apart, l, change, dx);
        if (together) continue;
        s->sweeps->law(m, n, 1, ilqr_row(s->U, k, m), ilqr_row(s->kappa, k, m), ilqr_row(s->K, k, m * n), &alpha[l], change, own);
        into_lane(m, apart, l, own, u);
    }
    const int k = knot_or_last(s, first, step);
    if (together && p->added) subtract_row(n, apart, x, ilqr_row(s->X, k, nx), dx);
    if (together)
        s->sweeps->law(m, n, apart, ilqr_row(s->U, k, m), ilqr_row(s->kappa, k, m), ilqr_row(s->K, k, m * n), alpha, dx, u);
    for (int i = 0; i < m && s->lower; i++)
        for (int l = 0; l < apart; l++) u[i * apart + l] = fmin(fmax(u[i * apart + l], s->lower[i]), s->upper[i]);
    for (int l = 0; l < count; l++) {
        const int at = s->knot[first + l] + step;
        if (at >= block_at(N, s->cfg.forward, block_of(s, first + l) + 1)) continue;
        out_of_lane(m, apart, l, u, ilqr_row(s->tried_U + (size_t)alpha_at(s, first + l) * (size_t)N * (size_t)m, at, m));
    }
}

/// Plays points from .. from + count - 1 of all blocks with all alpha.
static ctn_status play_points(ilqr *s, int from, int count, ctn_error *err)
{
    const plant *const p = s->plant;
    int longest = 0;
    for (int i = 0; i < count; i++) {
        const int a = (from + i) % s->cfg.alphas, b = (from + i) / s->cfg.alphas, k = block_at(p->knots, s->cfg.forward, b);
        const int length = block_at(p->knots, s->cfg.forward, b + 1) - k;
        s->whose[i] = from + i, s->knot[i] = k, s->lost[i] = false;
        longest = length > longest ? length : longest;
        const double *const X = s->tried_X + (size_t)a * (size_t)(p->knots + 1) * (size_t)p->nx;
        memcpy(ilqr_row(s->x, i, p->nx), X + (size_t)k * (size_t)p->nx, (size_t)p->nx * sizeof *X);
    }
    const ctn_status status = p->play(p->context, count, s->x, longest, tell, s, err);
    for (int i = 0; i < count && status == CTN_OK; i++) {
        const int a = alpha_at(s, i);
        if (s->lost[i]) s->state.failed += s->tried[a], s->tried[a] = false;
    }
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
    s->tried_J[a] = s->tried_M[a] = NAN, s->tried_defect[a] = 0;
    if (!s->tried[a]) return;
    p->cost(p->context, N, s->knots, X, U, s->each);
    p->cost(p->context, 1, &s->knots[N], ilqr_row(X, N, nx), spare, s->each + N);
    double J = 0, M = 0, most = 0;
    for (int k = 0; k <= N; k++) J += s->each[k];
    for (int b = 0; b + 1 < s->cfg.forward; b++) {
        const int k = block_at(N, s->cfg.forward, b + 1);
        const double *const d = ilqr_row(s->tried_d + (size_t)a * (size_t)s->cfg.forward * (size_t)n, b, n);
        double sum = 0;
        for (int i = 0; i < n; i++) sum += fabs(d[i]);
        most = fmax(most, sum);
        p->difference(p->context, ilqr_row(s->X, k, nx), ilqr_row(X, k, nx), dx);
        memset(Pd, 0, (size_t)n * sizeof *Pd), matrix_multiply(n, n, 1, 1, ilqr_row(s->P, k, n * n), d, Pd);
        for (int i = 0; i < n; i++) M += ilqr_row(s->s, k, n)[i] * d[i] + (dx[i] + 0.5 * d[i]) * Pd[i];
    }
    s->tried_defect[a] = most, s->tried_J[a] = J, s->tried_M[a] = s->cfg.cost_alone ? J : J + M;
}

ctn_status ilqr_forward(ilqr *s, ctn_error *err)
{
    const plant *const p = s->plant;
    const int M = s->cfg.forward;
    if (M > 1) sweep_linear(s);
    for (int a = 0; a < s->cfg.alphas; a++) s->tried[a] = true, begin_blocks(s, a);
    const int points = M * s->cfg.alphas;
    for (int from = 0; from < points; from += p->most) {
        const ctn_status status = play_points(s, from, points - from < p->most ? points - from : p->most, err);
        if (status != CTN_OK) return status;
    }
    for (int a = 0; a < s->cfg.alphas; a++) judge(s, a);
    return CTN_OK;
}
