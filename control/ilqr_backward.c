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
#include "sim/base/matrix.h"

#include <string.h>

/// Matrices of a knot. Rows are padded: `n`, `m` and `c` = n + m apart.
typedef struct {
    int n, m, c;
    double *AB, *PAB, *H;              // [n][c], [n][c], [c][c]
    double *side, *right, *T, *P, *K;  // Q~_ux, its solution, Q_uu K + Q_ux: [m][n]; [n][n], [m][n]
    double *Quu, *G, *f;               // [m][m], not padded
    double *Qu, *w, *lo, *hi, *g, *dx, *flat;
    int *free;
} knot_room;

size_t ilqr_knot_work(int n, int m)
{
    const size_t a = (size_t)padded(n), b = (size_t)padded(m), c = (size_t)padded(n + m), most = a > b ? a : b;
    return 2 * most * c + c * c + 4 * b * a + a * a + 3 * b * b + 2 * b * a + 12 * b + 2 * a;
}

static knot_room room_in(double *x, int n, int m)
{
    const int a = padded(n), b = padded(m), c = padded(n + m), most = a > b ? a : b;
    knot_room r = {.n = a, .m = b, .c = c, .AB = x};
    r.PAB = r.AB + most * c, r.H = r.PAB + most * c, r.side = r.H + c * c, r.right = r.side + b * a, r.T = r.right + b * a;
    r.K = r.T + b * a, r.P = r.K + b * a, r.Quu = r.P + a * a, r.G = r.Quu + b * b, r.f = r.G + b * b, r.flat = r.f + b * b;
    r.Qu = r.flat + 2 * b * a, r.w = r.Qu + b, r.lo = r.w + 2 * a, r.hi = r.lo + b, r.g = r.hi + b, r.dx = r.g + 2 * b;
    r.free = (int *)(void *)(r.dx + 4 * b);
    return r;
}

/// Copies [rows][cols] between arrays whose rows are so far apart.
INTO_CALLER void copy_rows(int rows, int cols, const double *from, int apart, double *to, int to_apart)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) to[i * to_apart + j] = from[i * apart + j];
}

/// B [m][n], rows padded, becomes (L L')^-1 B.
INTO_CALLER void solve_rows(int m, const double *restrict L, double *restrict B, int stride)
{
    for (int j = 0; j < stride; j += COLUMNS) {
        for (int i = 0; i < m; i++) {
            columns sum = columns_at(B + i * stride + j);
            for (int k = 0; k < i; k++) sum -= L[i * m + k] * columns_at(B + k * stride + j);
            put_columns(B + i * stride + j, sum / L[i * m + i]);
        }
        for (int i = m - 1; i >= 0; i--) {
            columns sum = columns_at(B + i * stride + j);
            for (int k = i + 1; k < m; k++) sum -= L[k * m + i] * columns_at(B + k * stride + j);
            put_columns(B + i * stride + j, sum / L[i * m + i]);
        }
    }
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
        for (int j = 0; j < n; j++) r->flat[i * n + j] = side[r->free[i] * n + j];
    if (count) matrix_cholesky_solve(count, n, r->f, r->flat);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < n; j++) K[r->free[i] * n + j] = -r->flat[i * n + j];
    return true;
}

/// What pushes at control i of knot k: its gradient, but for what holds it at a bound.
static double push(const ilqr *s, int k, int i, double g)
{
    const int m = s->plant->m;
    const double u = s->U[(size_t)k * (size_t)m + (size_t)i], blur = 1e-12 * (1 + fabs(u));  // a sum that is to be the bound
    if (s->lower && ((u <= s->lower[i] + blur && g > 0) || (u >= s->upper[i] - blur && g < 0))) return 0;
    return fabs(g);
}

/// The largest gradient so far, and of what it is made.
typedef struct {
    double gradient, part;
} largest;

/// Knot k, from the value P1, s1 behind it. false: no minimum.
FOR_ALL_WIDTHS static bool back_over(ilqr *s, int k, const double *P1, const double *s1, const knot_room *r, largest *most)
{
    const plant *const p = s->plant;
    const int n = p->n, m = p->m, c = n + m;
    const double *const A = ilqr_row(s->A, k, n * n), *const B = ilqr_row(s->B, k, n * m), *const d = ilqr_row(s->d, k, n);
    double *const K = ilqr_row(s->K, k, m * n), *const kappa = ilqr_row(s->kappa, k, m), *const P0 = ilqr_row(s->P, k, n * n),
                  *const s0 = ilqr_row(s->s, k, n), rho = s->state.rho;
    copy_rows(n, n, A, n, r->AB, r->c), copy_rows(n, m, B, m, r->AB + n, r->c);
    memset(r->PAB, 0, (size_t)(n * r->c) * sizeof *r->PAB), memset(r->H, 0, (size_t)(c * r->c) * sizeof *r->H);
    matrix_product(n, n, c, P1, n, 1, r->AB, r->PAB, r->c), matrix_product(c, n, c, r->AB, 1, r->c, r->PAB, r->H, r->c);
    memcpy(r->w, s1, (size_t)n * sizeof *r->w), matrix_multiply(n, n, 1, 1, P1, d, r->w);
    memcpy(s0, ilqr_row(s->costs.x, k, n), (size_t)n * sizeof *s0), matrix_transposed(n, n, 1, A, r->w, s0);
    memset(r->Qu, 0, (size_t)m * sizeof *r->Qu), matrix_transposed(n, m, 1, B, r->w, r->Qu);
    for (int i = 0; i < m; i++) {
        const double l = ilqr_row(s->costs.u, k, m)[i];
        most->part = fmax(most->part, fmax(fabs(l), fabs(r->Qu[i])));
        r->Qu[i] += l;
        most->gradient = fmax(most->gradient, push(s, k, i, r->Qu[i]));
    }
    const double *const xx = ilqr_row(s->costs.xx, k, n * n), *const ux = ilqr_row(s->costs.ux, k, m * n),
                        *const uu = ilqr_row(s->costs.uu, k, m * m);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) r->P[i * r->n + j] = xx[i * n + j] + r->H[i * r->c + j];
    double *const Qux = r->T;  // then Q_uu K + Q_ux
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) Qux[i * r->n + j] = ux[i * n + j] + r->H[(n + i) * r->c + j];
        for (int j = 0; j < m; j++) r->Quu[i * m + j] = uu[i * m + j] + r->H[(n + i) * r->c + n + j];
    }
    memcpy(r->G, r->Quu, (size_t)(m * m) * sizeof *r->G), memcpy(r->side, Qux, (size_t)(m * r->n) * sizeof *r->side);
    if (rho > 0) {
        memset(r->PAB, 0, (size_t)(m * r->c) * sizeof *r->PAB);
        matrix_product(m, n, c, r->AB + n, 1, r->c, r->AB, r->PAB, r->c);  // B'[A B]
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) r->side[i * r->n + j] += rho * r->PAB[i * r->c + j];
            for (int j = 0; j < m; j++) r->G[i * m + j] += rho * r->PAB[i * r->c + n + j];
        }
    }
    if (s->lower) {
        const double *const u = ilqr_row(s->U, k, m);
        for (int i = 0; i < m; i++) r->lo[i] = s->lower[i] - u[i], r->hi[i] = s->upper[i] - u[i];
        double *const side = r->flat + r->m * r->n;
        copy_rows(m, n, r->side, r->n, side, n);
        if (!bounded_gains(m, n, r, side, kappa, K)) return false;
        copy_rows(m, n, K, n, r->K, r->n);
    } else {
        if (!matrix_cholesky(m, r->G)) return false;
        for (int i = 0; i < m; i++) kappa[i] = -r->Qu[i];
        for (int i = 0; i < m * r->n; i++) r->K[i] = -r->side[i];
        matrix_cholesky_solve(m, 1, r->G, kappa), solve_rows(m, r->G, r->K, r->n);
        copy_rows(m, n, r->K, r->n, K, n);
    }
    double *const f = r->g;  // Q_uu kappa
    memset(f, 0, (size_t)m * sizeof *f), matrix_multiply(m, m, 1, 1, r->Quu, kappa, f);
    for (int i = 0; i < m; i++) {
        s->linear_gain += kappa[i] * r->Qu[i], s->quadratic_gain += 0.5 * kappa[i] * f[i];
        f[i] += r->Qu[i];
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) s0[j] += K[i * n + j] * f[i];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) s0[j] += Qux[i * r->n + j] * kappa[i];
    matrix_product(n, m, n, Qux, 1, r->n, r->K, r->P, r->n);  // Q_ux'K
    matrix_product(m, m, n, r->Quu, m, 1, r->K, r->T, r->n);
    matrix_product(n, m, n, r->K, 1, r->n, r->T, r->P, r->n);  // K'(Q_uu K + Q_ux)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) P0[i * n + j] = 0.5 * (r->P[i * r->n + j] + r->P[j * r->n + i]);
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
