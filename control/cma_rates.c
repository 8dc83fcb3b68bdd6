/// Learning rates that keep the signal above the noise: LRA-CMA-ES [Nomura, Akimoto, Ono, arXiv 2401.15876, algorithm 1].
///
/// A generation moves the mean by delta m and Sigma = sigma^2 C by delta Sigma. In coordinates in which Sigma is 1,
///
///     d_m = Sigma^(-1/2) delta m,   d_C = Sigma^(-1/2) delta Sigma Sigma^(-1/2),
///     E = (1 - beta) E + beta d,    V = (1 - beta) V + beta |d|^2,
///     SNR = (|E|^2 - beta / (2 - beta) V) / (V - |E|^2)
///
/// estimates how much of d is the same each time (the paper's d_C has a factor 1 / sqrt 2, which cancels here). Rates follow it:
/// eta *= exp(min(gamma eta, beta) (SNR / (alpha eta) - 1)), the difference within -1 .. 1 and eta at most 1, and so much of each
/// step is taken. The constants are the paper's.
#include "control/cma.h"

#include <math.h>
#include <string.h>

static const double alpha = 1.4, beta_m = 0.1, beta_C = 0.03, gamma_rate = 0.1;

static bool separable(const ctn_cma *c) { return c->kind == CTN_CMA_SEPARABLE; }

static size_t numbers(const ctn_cma *c)
{
    const size_t n = (size_t)c->cfg.n;
    return separable(c) ? n : n * n;
}

void cma_rates_begin(ctn_cma *c)
{
    c->s.eta_m = c->s.eta_C = 1;
    c->s.V_m = c->s.V_C = 0;
    if (!c->cfg.adapt_rates) return;
    memset(c->E_m, 0, (size_t)c->cfg.n * sizeof *c->E_m);
    memset(c->E_C, 0, numbers(c) * sizeof *c->E_C);
}

void cma_rates_remember(ctn_cma *c)
{
    if (c->cfg.adapt_rates) memcpy(c->before, c->C, numbers(c) * sizeof *c->C);
}

/// One of the two rates, after a step d.
static void follow(size_t n, const double *d, double beta, double *E, double *V, double *eta)
{
    double step = 0, mean = 0;
    for (size_t i = 0; i < n; i++) {
        E[i] = (1 - beta) * E[i] + beta * d[i];
        step += d[i] * d[i], mean += E[i] * E[i];
    }
    *V = (1 - beta) * *V + beta * step;
    const double snr = (mean - beta / (2 - beta) * *V) / fmax(*V - mean, 1e-300);
    const double off = fmin(fmax(snr / (alpha * *eta) - 1, -1), 1);
    *eta = fmin(1, *eta * exp(fmin(gamma_rate * *eta, beta) * off));
}

/// P = A G, [n][n].
static void multiply(int n, const double *A, const double *G, double *P)
{
    memset(P, 0, (size_t)n * (size_t)n * sizeof *P);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const double a = A[i * n + k], *const g = G + (size_t)k * (size_t)n;
            double *const p = P + (size_t)i * (size_t)n;
            for (int j = 0; j < n; j++) p[j] += a * g[j];
        }
}

/// R = B D^-1 B' / sigma.
static void inverse_root(const ctn_cma *c, double sigma, double *R)
{
    const int n = c->cfg.n;
    memset(R, 0, (size_t)n * (size_t)n * sizeof *R);
    for (int k = 0; k < n; k++) {
        const double *const b = c->B + (size_t)k * (size_t)n;
        for (int i = 0; i < n; i++) {
            const double a = b[i] / (c->D[k] * sigma);
            for (int j = 0; j < n; j++) R[i * n + j] += a * b[j];
        }
    }
}

/// d_C of `delta`, both triangles; in its place.
static void in_units_of_covariance(const ctn_cma *c, double sigma, double *delta, double *R, double *P)
{
    const int n = c->cfg.n;
    if (separable(c)) {
        for (int i = 0; i < n; i++) delta[i] /= sigma * sigma * c->D[i] * c->D[i];
        return;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) delta[i * n + j] = delta[j * n + i];
    inverse_root(c, sigma, R);
    multiply(n, R, delta, P);
    multiply(n, P, R, delta);
}

/// Sigma, in C, apart into sigma = det^(1 / 2n) and a C of determinant 1, whose eigenvectors these are.
static ctn_status split(ctn_cma *c, ctn_error *err)
{
    const int n = c->cfg.n;
    const ctn_status status = cma_decompose(c, err);
    if (status) return status;
    double log_det = 0;
    for (int i = 0; i < n; i++) log_det += log(c->D[i]);
    c->s.sigma = exp(log_det / n);
    for (int i = 0; i < n; i++) c->D[i] /= c->s.sigma;
    for (size_t i = 0; i < numbers(c); i++) c->C[i] /= c->s.sigma * c->s.sigma;
    return CTN_OK;
}

ctn_status cma_rates_adapt(ctn_cma *c, const double *m, double sigma, ctn_error *err)
{
    const int n = c->cfg.n;
    const size_t all = numbers(c);
    double *const step = c->room, *const d = c->room + n, *const delta = c->before + all, *const room = c->before + 2 * all;
    const double eta = c->s.eta_m;

    for (int i = 0; i < n; i++) step[i] = c->mean[i] - m[i];
    cma_unshape(c, step, d);
    for (int i = 0; i < n; i++) d[i] /= sigma;
    follow((size_t)n, d, beta_m, c->E_m, &c->s.V_m, &c->s.eta_m);

    // Sigma becomes what it was, and delta what is learned; then only a part of that is
    for (size_t i = 0; i < all; i++) {
        const double was = sigma * sigma * c->before[i], is = c->s.sigma * c->s.sigma * c->C[i];
        c->before[i] = was, c->C[i] = delta[i] = is - was;
    }
    in_units_of_covariance(c, sigma, delta, room, room + (separable(c) ? 0 : all));
    follow(all, delta, beta_C, c->E_C, &c->s.V_C, &c->s.eta_C);

    for (int i = 0; i < n; i++) c->mean[i] = m[i] + c->s.eta_m * step[i];
    for (size_t i = 0; i < all; i++) c->C[i] = c->before[i] + c->s.eta_C * c->C[i];
    const ctn_status status = split(c, err);
    c->s.sigma *= eta / c->s.eta_m;  // a mean that is moved less wants larger steps
    return status;
}
