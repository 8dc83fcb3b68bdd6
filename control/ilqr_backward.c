/// The backward pass: gains and the value's derivatives. With d the defect behind a knot, w = V'_x + V'_xx d:
///
///     Q_x = l_x + A'w    Q_xx = l_xx + A'V'A    Q~_uu = Q_uu + rho B'B    K = -Q~_uu^-1 Q~_ux
///     Q_u = l_u + B'w    Q_uu = l_uu + B'V'B    Q~_ux = Q_ux + rho B'A    kappa = -Q~_uu^-1 Q_u
///     Q_ux = l_ux + B'V'A
///     V_x = Q_x + K'(Q_uu kappa + Q_u) + Q_ux'kappa,   V_xx = Q_xx + K'Q_uu K + K'Q_ux + Q_ux'K
///
/// rho is only in the gains [Tassa, Erez, Todorov 2012]. (Plancher and Kuindersma's equation 5 has two terms with the other sign,
/// which is right in neither convention; their program has these.)
#include "control/ilqr_parts.h"
#include "control/matrix.h"

#include <string.h>

/// Matrices of a knot.
typedef struct {
    double *AB, *PAB, *H, *Quu, *Qux, *G, *T, *Qu, *w, *lo, *hi, *g, *dx, *f;
    int *free;
} knot_room;

size_t ilqr_knot_work(int n, int m)
{
    const size_t a = (size_t)n, b = (size_t)m, c = a + b;
    return 2 * (a > b ? a : b) * c + c * c + 3 * b * b + 4 * b * a + 10 * b + 2 * a + b;
}

static knot_room room_in(double *x, int n, int m)
{
    const int c = n + m, most = n > m ? n : m;
    knot_room r = {.AB = x};
    r.PAB = r.AB + most * c, r.H = r.PAB + most * c, r.Quu = r.H + c * c, r.G = r.Quu + m * m, r.f = r.G + m * m;
    r.Qux = r.f + m * m, r.T = r.Qux + 2 * m * n, r.Qu = r.T + 2 * m * n, r.w = r.Qu + m, r.lo = r.w + 2 * n;
    r.hi = r.lo + m, r.g = r.hi + m, r.dx = r.g + 2 * m, r.free = (int *)(r.dx + 3 * m);
    return r;
}

/// kappa minimises 1/2 k'G k + Q_u'k within bounds, by projected Newton steps; gains of controls that stay at a bound are 0.
/// side [m][n]: Q~_ux. false: what is free has no minimum.
static bool bounded_gains(int m, int n, const knot_room *r, const double *side, double *kappa, double *K)
{
    enum { MOST = 100 };
    for (int i = 0; i < m; i++) kappa[i] = fmin(fmax(0, r->lo[i]), r->hi[i]);
    int count = 0;
    for (int turn = 0; turn < MOST; turn++) {
        double size = 0;
        count = 0;
        for (int i = 0; i < m; i++) {
            double g = r->Qu[i];
            for (int j = 0; j < m; j++) g += r->G[i * m + j] * kappa[j];
            r->g[i] = g;
            const bool held = (kappa[i] <= r->lo[i] && g > 0) || (kappa[i] >= r->hi[i] && g < 0);
            if (!held) r->free[count++] = i, size = fmax(size, fabs(g));
        }
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++) r->f[i * count + j] = r->G[r->free[i] * m + r->free[j]];
        if (count && !matrix_cholesky(count, r->f)) return false;
        for (int i = 0; i < count; i++) r->dx[i] = -r->g[r->free[i]];
        if (count) matrix_cholesky_solve(count, 1, r->f, r->dx);
        double scale = 0;
        for (int i = 0; i < m; i++) scale = fmax(scale, fabs(r->Qu[i]));
        if (size <= 1e-14 * scale) break;
        double length = 1, before = 0, trial[2] = {0};  // 1/2 k'G k + Q_u'k falls along the projected arc [Bertsekas 1982]
        for (int i = 0; i < m; i++) before += 0.5 * kappa[i] * (r->g[i] + r->Qu[i]);
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
                value += at[i] * (0.5 * g + r->Qu[i]), slope += r->g[i] * (at[i] - kappa[i]);
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
        for (int j = 0; j < n; j++) r->T[i * n + j] = side[r->free[i] * n + j];
    if (count) matrix_cholesky_solve(count, n, r->f, r->T);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < n; j++) K[r->free[i] * n + j] = -r->T[i * n + j];
    return true;
}

/// What pushes at control i of knot k: its gradient, but for what holds it at a bound.
static double push(const ilqr *s, int k, int i, double g)
{
    const int m = s->plant->m;
    const double u = s->U[(size_t)k * (size_t)m + (size_t)i];
    if (s->lower && ((u <= s->lower[i] && g > 0) || (u >= s->upper[i] && g < 0))) return 0;
    return fabs(g);
}

/// The largest gradient so far, and of what it is made.
typedef struct {
    double gradient, part;
} largest;

/// Knot k, from the value P1, s1 behind it. false: no minimum.
static bool back_over(ilqr *s, int k, const double *P1, const double *s1, const knot_room *r, largest *most)
{
    const plant *const p = s->plant;
    const int n = p->n, m = p->m, c = n + m;
    const double *const A = ilqr_row(s->A, k, n * n), *const B = ilqr_row(s->B, k, n * m), *const d = ilqr_row(s->d, k, n);
    double *const K = ilqr_row(s->K, k, m * n), *const kappa = ilqr_row(s->kappa, k, m), *const P0 = ilqr_row(s->P, k, n * n),
                  *const s0 = ilqr_row(s->s, k, n), rho = s->state.rho;
    for (int i = 0; i < n; i++)
        memcpy(r->AB + i * c, A + i * n, (size_t)n * sizeof *A), memcpy(r->AB + i * c + n, B + i * m, (size_t)m * sizeof *B);
    memset(r->PAB, 0, (size_t)(n * c) * sizeof *r->PAB), memset(r->H, 0, (size_t)(c * c) * sizeof *r->H);
    matrix_multiply(n, n, c, 1, P1, r->AB, r->PAB), matrix_transposed(n, c, c, r->AB, r->PAB, r->H);
    memcpy(r->w, s1, (size_t)n * sizeof *r->w), matrix_multiply(n, n, 1, 1, P1, d, r->w);
    memcpy(s0, ilqr_row(s->costs.x, k, n), (size_t)n * sizeof *s0), matrix_transposed(n, n, 1, A, r->w, s0);
    memset(r->Qu, 0, (size_t)m * sizeof *r->Qu), matrix_transposed(n, m, 1, B, r->w, r->Qu);
    for (int i = 0; i < m; i++) {
        const double l = ilqr_row(s->costs.u, k, m)[i];
        most->part = fmax(most->part, fmax(fabs(l), fabs(r->Qu[i])));
        r->Qu[i] += l;
        most->gradient = fmax(most->gradient, push(s, k, i, r->Qu[i]));
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) P0[i * n + j] = ilqr_row(s->costs.xx, k, n * n)[i * n + j] + r->H[i * c + j];
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) r->Qux[i * n + j] = ilqr_row(s->costs.ux, k, m * n)[i * n + j] + r->H[(n + i) * c + j];
        for (int j = 0; j < m; j++) r->Quu[i * m + j] = ilqr_row(s->costs.uu, k, m * m)[i * m + j] + r->H[(n + i) * c + n + j];
    }
    double *const side = r->Qux + m * n;  // Q~_ux
    memcpy(r->G, r->Quu, (size_t)(m * m) * sizeof *r->G), memcpy(side, r->Qux, (size_t)(m * n) * sizeof *side);
    if (rho > 0) {
        memset(r->PAB, 0, (size_t)(m * c) * sizeof *r->PAB), matrix_transposed(n, m, c, B, r->AB, r->PAB);  // B'[A B]
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) side[i * n + j] += rho * r->PAB[i * c + j];
            for (int j = 0; j < m; j++) r->G[i * m + j] += rho * r->PAB[i * c + n + j];
        }
    }
    if (s->lower) {
        const double *const u = ilqr_row(s->U, k, m);
        for (int i = 0; i < m; i++) r->lo[i] = s->lower[i] - u[i], r->hi[i] = s->upper[i] - u[i];
        if (!bounded_gains(m, n, r, side, kappa, K)) return false;
    } else {
        if (!matrix_cholesky(m, r->G)) return false;
        for (int i = 0; i < m; i++) kappa[i] = -r->Qu[i];
        for (int i = 0; i < m * n; i++) K[i] = -side[i];
        matrix_cholesky_solve(m, 1, r->G, kappa), matrix_cholesky_solve(m, n, r->G, K);
    }
    double *const f = r->g;  // Q_uu kappa
    memset(f, 0, (size_t)m * sizeof *f), matrix_multiply(m, m, 1, 1, r->Quu, kappa, f);
    for (int i = 0; i < m; i++) {
        s->linear_gain += kappa[i] * r->Qu[i], s->quadratic_gain += 0.5 * kappa[i] * f[i];
        f[i] += r->Qu[i];
    }
    matrix_transposed(m, n, 1, K, f, s0), matrix_transposed(m, n, 1, r->Qux, kappa, s0);
    memcpy(r->T, r->Qux, (size_t)(m * n) * sizeof *r->T), matrix_multiply(m, m, n, 1, r->Quu, K, r->T);
    matrix_transposed(m, n, n, K, r->T, P0), matrix_transposed(m, n, n, r->Qux, K, P0);
    matrix_symmetric(n, P0);
    return true;
}

bool ilqr_backward(ilqr *s, int blocks)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n;
    const knot_room r = room_in(s->work, n, p->m);
    largest most = {0};
    s->linear_gain = s->quadratic_gain = 0;
    memcpy(ilqr_row(s->P, N, n * n), ilqr_row(s->costs.xx, N, n * n), (size_t)(n * n) * sizeof(double));
    memcpy(ilqr_row(s->s, N, n), ilqr_row(s->costs.x, N, n), (size_t)n * sizeof(double));
    for (int b = 0; b < blocks; b++) {
        const int end = block_at(N, blocks, b + 1);
        const double *P1 = end < N ? ilqr_row(s->end_P, b, n * n) : ilqr_row(s->P, N, n * n),
                     *s1 = end < N ? ilqr_row(s->end_s, b, n) : ilqr_row(s->s, N, n);
        for (int k = end - 1; k >= block_at(N, blocks, b); k--) {
            if (!back_over(s, k, P1, s1, &r, &most)) return false;
            P1 = ilqr_row(s->P, k, n * n), s1 = ilqr_row(s->s, k, n);
        }
    }
    s->state.gradient = most.part > 0 ? most.gradient / most.part : most.gradient;
    return true;
}
