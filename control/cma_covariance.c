/// The covariance of the candidates: what makes steps of normal numbers, and how it learns from ranked ones.
///
///   [H], [A]: cma_constants.c
///
/// Full: the upper triangle of C, and its eigenvectors as rows of B. They are found anew every so many generations, as that costs
/// n^3, and C changes little in between ([H] appendix B.2). Separable: C is its diagonal. Decoded: x = m + sigma S y, where C
/// becomes a matrix of correlations at each decomposition, and S takes its scales ([A] algorithm 1).
#include "control/cma.h"
#include "sim/base/lapack.h"
#include "sim/base/status.h"

#include <math.h>
#include <string.h>

static bool separable(const ctn_cma *c) { return c->kind == CTN_CMA_SEPARABLE; }

size_t cma_room_bytes(int n, ctn_cma_covariance kind)
{
    return (CMA_ROOM + CMA_BLOCK) * (size_t)n * sizeof(double) + (kind == CTN_CMA_SEPARABLE ? 0 : lapack_eigen_room(n));
}

void cma_covariance_begin(ctn_cma *c)
{
    const size_t n = (size_t)c->cfg.n, step = separable(c) ? 1 : n + 1, all = separable(c) ? n : n * n;
    memset(c->C, 0, all * sizeof *c->C);
    for (size_t i = 0; i < n; i++) c->C[i * step] = c->D[i] = 1;
    if (!separable(c)) memcpy(c->B, c->C, all * sizeof *c->B);
    if (c->kind == CTN_CMA_DECODED)
        for (size_t i = 0; i < n; i++) c->scale[i] = 1, c->p_scale[i] = 0;
}

/// x = B a, a = (s_j z_j), of `count` vectors. Row by row of B: neighbours are added at once, each in the same order, and vectors
/// of a block share a row while it is near.
static void combine(const ctn_cma *c, int count, const double *z, const double *s, double *x)
{
    const size_t n = (size_t)c->cfg.n;
    memset(x, 0, (size_t)count * n * sizeof *x);
    for (int first = 0; first < count; first += CMA_BLOCK)
        for (size_t j = 0; j < n; j++)
            for (int k = first; k < first + CMA_BLOCK && k < count; k++) {
                const double *const b = c->B + j * n, a = (s ? s[j] : 1) * z[(size_t)k * n + j];
                double *const to = x + (size_t)k * n;
                for (size_t i = 0; i < n; i++) to[i] += a * b[i];
            }
}

void cma_shape(const ctn_cma *c, int count, const double *z, double *y)
{
    const size_t n = (size_t)c->cfg.n;
    if (!separable(c)) combine(c, count, z, c->D, y);
    else
        for (size_t k = 0; k < (size_t)count * n; k += n)
            for (size_t i = 0; i < n; i++) y[k + i] = c->D[i] * z[k + i];
}

void cma_turn(const ctn_cma *c, int count, const double *z, double *x)
{
    if (!separable(c)) combine(c, count, z, NULL, x);
    else memcpy(x, z, (size_t)count * (size_t)c->cfg.n * sizeof *x);
}

void cma_unshape(const ctn_cma *c, const double *y, double *x)
{
    const int n = c->cfg.n;
    if (separable(c)) {
        for (int i = 0; i < n; i++) x[i] = y[i] / c->D[i];
        return;
    }
    for (int i = 0; i < n; i++) x[i] = 0;
    for (int j = 0; j < n; j++) {
        const double *const b = c->B + (size_t)j * (size_t)n;
        double a = 0;
        for (int i = 0; i < n; i++) a += b[i] * y[i];
        a /= c->D[j];
        for (int i = 0; i < n; i++) x[i] += a * b[i];
    }
}

/// C += sum of f_k y_k y_k', y [count][n]: row by row, as C may be larger than what is near.
static void add_dyads(ctn_cma *c, int count, const double *f, const double *y)
{
    const int n = c->cfg.n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < count; k++) {
            const double *const of = y + (size_t)k * (size_t)n, a = f[k] * of[i];
            if (separable(c)) {
                c->C[i] += a * of[i];
                continue;
            }
            double *const row = c->C + (size_t)i * (size_t)n;
            for (int j = i; j < n; j++) row[j] += a * of[j];
        }
}

static double square(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/// The weights of candidates, by their numbers, out of those by ranks. Negative ones are scaled by n / |z|^2 for C, so that it
/// stays positive definite ([H] eq. 46).
static double *weights_by_number(ctn_cma *c, const double *by_rank, bool scaled)
{
    const int n = c->cfg.n;
    for (int r = 0; r < c->k.lambda; r++) {
        const int k = c->ranked[r].k;
        const double w = by_rank[r];
        c->sorted[k] = scaled && w < 0 ? w * n / fmax(square(c->z + (size_t)k * (size_t)n, n), 1e-18) : w;
    }
    return c->sorted;
}

/// S_i *= exp((c_1 (q_i^2 - gamma) + c_mu sum w (z_i^2 - 1)) / (2 beta)), q = C^(-1/2) S^-1 p, z in the axes of the parameters:
/// [A] algorithm 1. Where correlations are strong, beta = max(1, sqrt(cond C) - 1) slows this down, as scales then are not what
/// the function needs.
static void learn_scales(ctn_cma *c)
{
    const int n = c->cfg.n;
    const double *const w = weights_by_number(c, c->k.weights_scale, false);
    double *const p = c->room, *const q = c->room + n, *const sum = c->room + 2 * n, *const z = c->room + CMA_ROOM * n;
    for (int i = 0; i < n; i++) p[i] = c->p_scale[i] / c->scale[i], sum[i] = 0;
    cma_unshape(c, p, q);
    for (int first = 0; first < c->k.lambda; first += CMA_BLOCK) {
        const int rest = c->k.lambda - first, count = rest < CMA_BLOCK ? rest : CMA_BLOCK;
        cma_turn(c, count, c->z + (size_t)first * (size_t)n, z);
        for (int k = 0; k < count; k++)
            for (int i = 0; i < n; i++) sum[i] += w[first + k] * (z[k * n + i] * z[k * n + i] - 1);
    }
    const double beta = fmax(1, sqrt(cma_condition(c)) - 1);
    for (int i = 0; i < n; i++)
        c->scale[i] *= exp((c->k.c_1_scale * (q[i] * q[i] - c->s.gamma_scale) + c->k.c_mu_scale * sum[i]) / (2 * beta));
}

/// C = (1 - c_1' - c_mu sum w) C + c_1 p p' + c_mu sum w' y y': [H] eq. 47. c_1' makes up for what p lacks where h_sigma is 0.
void cma_learn(ctn_cma *c, double h_sigma)
{
    const cma_constants *const k = &c->k;
    const int n = c->cfg.n;
    const size_t all = separable(c) ? (size_t)n : (size_t)n * (size_t)n;
    const double c_1 = k->c_1 * (1 - (1 - h_sigma) * k->c_c * (2 - k->c_c));
    const double decay = 1 - c_1 - k->c_mu * (1 + k->negative);
    double *const p = c->room, *const y = c->room + CMA_ROOM * n;
    for (int i = 0; i < n; i++) p[i] = c->scale ? c->p_c[i] / c->scale[i] : c->p_c[i];
    for (size_t i = 0; i < all; i++) c->C[i] *= decay;
    add_dyads(c, 1, &k->c_1, p);
    double *const f = weights_by_number(c, k->weights, true);
    for (int first = 0; first < k->lambda; first += CMA_BLOCK) {
        const int rest = k->lambda - first, count = rest < CMA_BLOCK ? rest : CMA_BLOCK;
        for (int i = first; i < first + count; i++) f[i] *= k->c_mu;
        cma_shape(c, count, c->z + (size_t)first * (size_t)n, y);
        add_dyads(c, count, f + first, y);
    }
    if (c->kind == CTN_CMA_DECODED) learn_scales(c);
}

double cma_deviation(const ctn_cma *c, int i)
{
    const size_t n = (size_t)c->cfg.n;
    return sqrt(separable(c) ? c->C[i] : c->C[(size_t)i * (n + 1)]) * (c->scale ? c->scale[i] : 1);
}

/// Wider, candidates would be spread over the bounds evenly, whatever sigma is, and it would grow for ever. As pycma does.
void cma_limit(ctn_cma *c)
{
    const int n = c->cfg.n;
    if (!c->lower) return;
    for (int i = 0; i < n; i++) {
        const double most = (c->upper[i] - c->lower[i]) / 3, is = c->s.sigma * cma_deviation(c, i);
        if (!(is > most)) continue;
        const double f = most / is;
        c->p_c[i] *= f;
        if (c->scale) c->scale[i] *= f, c->p_scale[i] *= f;
        else if (separable(c)) c->C[i] *= f * f;
        else {
            for (int j = 0; j <= i; j++) c->C[(size_t)j * (size_t)n + (size_t)i] *= f;
            for (int j = i; j < n; j++) c->C[(size_t)i * (size_t)n + (size_t)j] *= f;
        }
    }
}

/// Of dd-CMA: S takes the scales of C.
static void hand_over_scales(ctn_cma *c)
{
    const int n = c->cfg.n;
    double *const s = c->room;
    for (int i = 0; i < n; i++) s[i] = sqrt(c->C[(size_t)i * (size_t)(n + 1)]), c->scale[i] *= s[i];
    for (int i = 0; i < n; i++) {
        double *const row = c->C + (size_t)i * (size_t)n;
        row[i] = 1;
        for (int j = i + 1; j < n; j++) row[j] /= s[i] * s[j];
    }
}

ctn_status cma_decompose(ctn_cma *c, ctn_error *err)
{
    const int n = c->cfg.n;
    c->s.decomposed = c->s.generation;
    if (separable(c)) {
        for (int i = 0; i < n; i++) c->D[i] = sqrt(c->C[i]);
        return CTN_OK;
    }
    if (c->kind == CTN_CMA_DECODED) hand_over_scales(c);
    memcpy(c->B, c->C, (size_t)n * (size_t)n * sizeof *c->B);
    c->s.eigen++;
    const int had = lapack_begin();
    const int failed = lapack_eigen(n, c->B, c->D, c->room + (CMA_ROOM + CMA_BLOCK) * n);
    lapack_end(had);
    if (failed) return fail(err, CTN_UNAVAILABLE, "CMA-ES: the eigenvectors of the covariance cannot be found: it is not finite");
    // rounding can make the smallest eigenvalues negative; as they are here, `tolcondition` sees them
    for (int i = 0; i < n; i++) c->D[i] = sqrt(fmax(c->D[i], 1e-18 * c->D[n - 1]));
    return CTN_OK;
}

double cma_condition(const ctn_cma *c)
{
    double least = c->D[0], most = c->D[0];
    for (int i = 1; i < c->cfg.n; i++) least = fmin(least, c->D[i]), most = fmax(most, c->D[i]);
    return most / least * (most / least);
}
