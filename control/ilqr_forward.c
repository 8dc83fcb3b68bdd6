/// The forward pass: new controls are played with all alpha at once, each in blocks that begin where the linearised plant says.
#include "control/ilqr_closed.h"
#include "control/ilqr_device.h"
#include "control/ilqr_parts.h"
#include "sim/base/matrix.h"

#include <math.h>
#include <string.h>

/// What states change by, of the linearised plant.
static void sweep_linear(ilqr *s)
{
    const plant *const p = s->plant;
    for (int k = 0; k < p->knots; k++)
        for (int part = 0; part < 2; part++) {
            for (int i = 0; i < p->m; i++) ilqr_closed_control(s, k, part, i);
            for (int i = 0; i < p->n; i++) ilqr_closed_state(s, k, part, i);
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
        for (int i = 0; i < n; i++) dx[i] = ilqr_closed_start(s, k, a, i);
        p->add(p->context, ilqr_row(s->X, k, p->nx), dx, ilqr_row(X, k, p->nx));
    }
}

static int block_of(const ilqr_points *q, int at) { return q->whose[at] / q->of[at]->cfg.alphas; }
static int alpha_at(const ilqr_points *q, int at) { return q->whose[at] % q->of[at]->cfg.alphas; }

/// Where the point's block ends.
static int end_of(const ilqr_points *q, int at)
{
    const ilqr *const s = q->of[at];
    return block_at(s->plant->knots, s->cfg.forward, block_of(q, at) + 1);
}

/// Where the point is after so many steps; those that go on beyond the horizon are told what the last knot has.
static int knot_or_last(const ilqr_points *q, int at, int step)
{
    const int k = q->knot[at] + step, last = q->of[at]->plant->knots - 1;
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
static void arrive(const ilqr_points *q, int at, int step, int apart, int l, const double *x, double *row)
{
    ilqr *const s = q->of[at];
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, nx = p->nx, a = alpha_at(q, at), b = block_of(q, at), k = q->knot[at] + step,
              end = end_of(q, at);
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
    ilqr_points *const q = whose;
    ilqr *const s = q->of[first];
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, m = p->m, nx = p->nx;
    double *const dx = q->lanes + (size_t)first * (size_t)(2 * (nx + n) + m), *const row = dx + apart * n,
                  *const change = row + nx, *const alpha = q->alpha + first;
    bool together = true;  // all of one trajectory, at one knot
    for (int i = 0; i < count; i++) {
        const int at = first + i;
        q->lost[at] = q->lost[at] || (!good[i] && q->knot[at] + step <= end_of(q, at));
        if (good[i]) arrive(q, at, step, apart, i, x, row);
        together = together && q->knot[at] == q->knot[first] && q->of[at] == s;
    }
    if (!u) return;
    const double *U[MOST_APART], *kappa[MOST_APART], *K[MOST_APART];
    for (int l = 0; l < apart; l++) {
        const int at = l < count ? first + l : first, k = knot_or_last(q, at, step);
        const ilqr *const of = q->of[at];
        const double *const X = ilqr_row(of->X, k, nx);
        alpha[l] = alpha_of(alpha_at(q, at));
        U[l] = ilqr_row(of->U, k, m), kappa[l] = ilqr_row(of->kappa, k, m), K[l] = ilqr_row(of->K, k, m * n);
        for (int j = 0; j < n && p->added; j++) dx[j * apart + l] = x[j * apart + l] - X[j];
        if (p->added) continue;
        out_of_lane(nx, apart, l, x, row), p->difference(p->context, X, row, change);
        into_lane(n, apart, l, change, dx);
    }
    if (together) s->sweeps->law(m, n, apart, U[0], kappa[0], K[0], alpha, dx, u);
    else s->sweeps->laws(m, n, apart, U, kappa, K, alpha, dx, u);
    for (int i = 0; i < m && s->lower; i++)
        for (int l = 0; l < apart; l++) u[i * apart + l] = fmin(fmax(u[i * apart + l], s->lower[i]), s->upper[i]);
    for (int l = 0; l < count; l++) {
        const int at = first + l, now = q->knot[at] + step;
        if (now >= end_of(q, at)) continue;
        out_of_lane(m, apart, l, u, ilqr_row(q->of[at]->tried_U + (size_t)alpha_at(q, at) * (size_t)N * (size_t)m, now, m));
    }
}

/// Point `point` of a trajectory is point `at` of those that are played; how many steps it has.
static int put_point(ilqr_points *q, int at, ilqr *s, int point)
{
    const plant *const p = s->plant;
    const int a = point % s->cfg.alphas, b = point / s->cfg.alphas, k = block_at(p->knots, s->cfg.forward, b);
    const double *const X = s->tried_X + (size_t)a * (size_t)(p->knots + 1) * (size_t)p->nx;
    q->of[at] = s, q->whose[at] = point, q->knot[at] = k, q->lost[at] = false;
    memcpy(ilqr_row(q->x, at, p->nx), X + (size_t)k * (size_t)p->nx, (size_t)p->nx * sizeof *X);
    return block_at(p->knots, s->cfg.forward, b + 1) - k;
}

/// Plays what was put.
static ctn_status play_points(ilqr_points *q, int count, int longest, ctn_error *err)
{
    const plant *const p = q->of[0]->plant;
    const ctn_status status = p->play(p->context, count, q->x, longest, tell, q, err);
    for (int i = 0; i < count && status == CTN_OK; i++) {
        ilqr *const s = q->of[i];
        const int a = alpha_at(q, i);
        if (q->lost[i]) s->state.failed += s->tried[a], s->tried[a] = false;
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

ctn_status ilqr_forward(ilqr *const *of, int count, ilqr_points *q, ctn_error *err)
{
    const int most = of[0]->plant->most < q->room ? of[0]->plant->most : q->room;
    int at = 0, longest = 0;
    ctn_status status = CTN_OK;
    for (int i = 0; i < count && status == CTN_OK; i++) {
        ilqr *const s = of[i];
        if (s->there) {
            status = ilqr_forward_there(s, err);
            continue;
        }
        if (s->cfg.forward > 1) sweep_linear(s);
        for (int a = 0; a < s->cfg.alphas; a++) s->tried[a] = true, begin_blocks(s, a);
        for (int point = 0; point < s->cfg.forward * s->cfg.alphas && status == CTN_OK; point++) {
            const int length = put_point(q, at++, s, point);
            longest = length > longest ? length : longest;
            if (at == most) status = play_points(q, at, longest, err), at = longest = 0;
        }
    }
    if (at && status == CTN_OK) status = play_points(q, at, longest, err);
    for (int i = 0; i < count && status == CTN_OK; i++)
        for (int a = 0; a < of[i]->cfg.alphas; a++) judge(of[i], a);
    return status;
}
