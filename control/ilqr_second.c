/// Second derivatives of the plant and of all that costs, of differential dynamic programming: those of each knot's Hamiltonian
///
///     H_k(x, u) = l_k(x, u) + p_{k+1}'F(x, u),    p_k = l_x + A'p_{k+1},   p_N = l_x
///
/// in the place of Gauss-Newton's second derivatives of costs: with costates p a step is Newton's on all controls at once [De
/// O. Pantoja, "Differential dynamic programming and Newton's method", 1988]. The gradient is exact; what it changes by is
/// found by a difference for each number of x and u, and made symmetric, which is what lines in tangent coordinates have, of
/// balls too.
#include "control/ilqr_parts.h"

#include <math.h>
#include <string.h>

static const double STEP = 1e-6;

/// By x and u, [N + 1][n], [N + 1][m], of derivatives at all knots.
static void hamiltonian_gradient(const ilqr *s, const double *A, const double *B, const plant_costs *c, double *by_x,
                                 double *by_u)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, m = p->m;
    memcpy(by_x, c->x, (size_t)(N + 1) * (size_t)n * sizeof *by_x), memcpy(by_u, c->u, (size_t)N * (size_t)m * sizeof *by_u);
    for (int k = 0; k < N; k++) {
        const double *const next = ilqr_row(s->second.p, k + 1, n);
        for (int i = 0; i < n; i++) {
            const double *const row = A + ((size_t)k * (size_t)n + (size_t)i) * (size_t)n;
            for (int j = 0; j < n; j++) ilqr_row(by_x, k, n)[j] += row[j] * next[i];
        }
        for (int i = 0; i < n; i++) {
            const double *const row = B + ((size_t)k * (size_t)n + (size_t)i) * (size_t)m;
            for (int j = 0; j < m; j++) ilqr_row(by_u, k, m)[j] += row[j] * next[i];
        }
    }
}

/// Costates.
static void go_back(const ilqr *s)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n;
    memcpy(s->second.p, s->costs.x, (size_t)(N + 1) * (size_t)n * sizeof *s->second.p);
    for (int k = N - 1; k >= 0; k--) {
        const double *const A = ilqr_row(s->A, k, n * n), *const next = ilqr_row(s->second.p, k + 1, n);
        double *const own = ilqr_row(s->second.p, k, n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) own[j] += A[i * n + j] * next[i];
    }
}

/// All knots are moved along number j of x, then u; by [N + 1]: how far.
static void move(const ilqr *s, int j, double *by)
{
    const plant *const p = s->plant;
    const ilqr_second_room *const r = &s->second;
    const int N = p->knots, n = p->n, m = p->m, nx = p->nx;
    memcpy(r->X, s->X, (size_t)(N + 1) * (size_t)nx * sizeof *r->X), memcpy(r->U, s->U, (size_t)N * (size_t)m * sizeof *r->U);
    memset(r->dx, 0, (size_t)n * sizeof *r->dx);
    for (int k = 0; k <= N; k++) {
        by[k] = j < n ? STEP : k < N ? STEP * fmax(1, fabs(ilqr_row(s->U, k, m)[j - n])) : 1;
        if (j < n) r->dx[j] = by[k], p->add(p->context, ilqr_row(s->X, k, nx), r->dx, ilqr_row(r->X, k, nx));
        else if (k < N) ilqr_row(r->U, k, m)[j - n] += by[k];
    }
}

/// The symmetric part into the place of Gauss-Newton's.
static void put(const ilqr *s)
{
    const int N = s->plant->knots, n = s->plant->n, m = s->plant->m, c = n + m;
    for (int k = 0; k <= N; k++) {
        const double *const H = s->second.H + (size_t)k * (size_t)c * (size_t)c;
        const plant_costs to = {
            .xx = ilqr_row(s->costs.xx, k, n * n), .uu = ilqr_row(s->costs.uu, k, m * m), .ux = ilqr_row(s->costs.ux, k, m * n)};
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) to.xx[i * n + j] = 0.5 * (H[i * c + j] + H[j * c + i]);
        for (int i = 0; i < m && k < N; i++) {
            for (int j = 0; j < n; j++) to.ux[i * n + j] = 0.5 * (H[(n + i) * c + j] + H[j * c + n + i]);
            for (int j = 0; j < m; j++) to.uu[i * m + j] = 0.5 * (H[(n + i) * c + n + j] + H[(n + j) * c + n + i]);
        }
    }
}

ctn_status ilqr_find_second(ilqr *s, ctn_error *err)
{
    const plant *const p = s->plant;
    const ilqr_second_room *const r = &s->second;
    const int N = p->knots, n = p->n, m = p->m, c = n + m;
    go_back(s), hamiltonian_gradient(s, s->A, s->B, &s->costs, r->by_x, r->by_u);
    for (int j = 0; j < c; j++) {
        move(s, j, r->by);
        const ctn_status status = ilqr_derive(s, r->X, r->U, r->A, r->B, &r->costs, err);
        if (status != CTN_OK) return status;
        hamiltonian_gradient(s, r->A, r->B, &r->costs, r->moved_x, r->moved_u);
        for (int k = 0; k <= N; k++) {
            double *const H = r->H + (size_t)k * (size_t)c * (size_t)c;
            for (int i = 0; i < n; i++) H[i * c + j] = (ilqr_row(r->moved_x, k, n)[i] - ilqr_row(r->by_x, k, n)[i]) / r->by[k];
            for (int i = 0; i < m && k < N; i++)
                H[(n + i) * c + j] = (ilqr_row(r->moved_u, k, m)[i] - ilqr_row(r->by_u, k, m)[i]) / r->by[k];
        }
    }
    put(s);
    return CTN_OK;
}
