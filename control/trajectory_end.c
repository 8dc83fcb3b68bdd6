/// What motors are told after a plan has ended: what holds it where it ends, and gains that bring it back.
///
/// The controls of rest take away what a knot would change: with the drift c = F(x_N, u) - x_N, u goes on by the du for which
/// |c + B du| is least. Gains are those of a horizon that goes on: Riccati's recursion with A and B of a knot at rest and what
/// the last knot costs, and what the end costs besides, each second. They are tried: what does not come to rest by them is left
/// as it was.
#include "control/trajectory_end.h"

#include "sim/base/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORRECTIONS = 3, MOST_KNOTS = 500 };  // of the controls; of the horizon that goes on
static const double AT_REST = 0.05;          // the most that drifts there in a knot, over its length: rad/s, m/s, or per s
static const double RIDGE = 1e-9;            // of the largest one, where controls do nothing
static const double SETTLED = 1e-9;          // of gains that change no more

typedef struct {
    const plant *p;
    int n, m;
    double knot;
    double *memory, *X, *U, *A, *B;  // of all knots, which are all at rest; A, B of the first one count
    double *at, *rest, *next, *drift, *PA, *PB, *G, *L, *P, *Q, *K, *step;
    plant_costs running, end;
} resting;

static bool open_room(resting *r)
{
    const size_t N = (size_t)r->p->knots, n = (size_t)r->n, m = (size_t)r->m, nx = (size_t)r->p->nx;
    const struct {
        double **to;
        size_t size;
    } rows[] = {{&r->X, (N + 1) * nx},   {&r->U, N * m},     {&r->A, N * n * n},      {&r->B, N * n * m},
                {&r->next, nx},          {&r->at, nx},       {&r->rest, m},           {&r->drift, n},
                {&r->PA, n * n},         {&r->PB, n * m},    {&r->G, m * n},          {&r->L, m * m},
                {&r->P, n * n},          {&r->Q, n * n},     {&r->K, m * n},          {&r->step, m},
                {&r->running.x, n},      {&r->running.u, m}, {&r->running.xx, n * n}, {&r->running.uu, m * m},
                {&r->running.ux, m * n}, {&r->end.x, n},     {&r->end.u, m},          {&r->end.xx, n * n},
                {&r->end.uu, m * m},     {&r->end.ux, m * n}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) sum += rows[k].size;
    double *at = r->memory = calloc(sum, sizeof *at);
    for (size_t k = 0; k < sizeof rows / sizeof *rows && at; k++) *rows[k].to = at, at += rows[k].size;
    return r->memory != NULL;
}

/// A and B at rest at x [nx] under u [m].
static bool linearise(resting *r, const double *x, const double *u)
{
    const plant *const p = r->p;
    for (int k = 0; k <= p->knots; k++) memcpy(r->X + (size_t)k * (size_t)p->nx, x, (size_t)p->nx * sizeof *x);
    for (int k = 0; k < p->knots; k++) memcpy(r->U + (size_t)k * (size_t)p->m, u, (size_t)p->m * sizeof *u);
    return p->linearise(p->context, r->X, r->U, r->A, r->B, NULL) == CTN_OK;
}

/// The largest rate of what a knot changes; NAN: there is no next state.
static double find_drift(resting *r, const double *x, const double *u)
{
    bool good = false;
    double most = 0;
    if (plant_step(r->p, x, u, r->next, &good, NULL) != CTN_OK || !good) return NAN;
    r->p->difference(r->p->context, x, r->next, r->drift);
    for (int i = 0; i < r->n - r->p->carried; i++) most = fmax(most, fabs(r->drift[i]));
    return most / r->knot;
}

/// L = B'PB + R, with its factors; PB.
static bool factor(resting *r, const double *P, const double *R)
{
    const int n = r->n, m = r->m;
    memset(r->PB, 0, (size_t)(n * m) * sizeof *r->PB), matrix_multiply(n, n, m, 1, P, r->B, r->PB);
    memcpy(r->L, R, (size_t)(m * m) * sizeof *R), matrix_transposed(n, m, m, r->B, r->PB, r->L);
    return matrix_cholesky(m, r->L);
}

/// u goes on to the controls of rest at x.
static bool come_to_rest(resting *r, double *x, double *u)
{
    const int n = r->n - r->p->carried, m = r->m, told = r->p->nx - r->p->carried;
    memcpy(x + told, u, (size_t)r->p->carried * sizeof *u);
    double most = find_drift(r, x, u);
    for (int k = 0; k < CORRECTIONS && most > SETTLED; k++) {
        double largest = 0;
        if (!linearise(r, x, u)) return false;
        memset(r->L, 0, (size_t)(m * m) * sizeof *r->L), matrix_transposed(n, m, m, r->B, r->B, r->L);
        for (int i = 0; i < m; i++) largest = fmax(largest, r->L[i * m + i]);
        for (int i = 0; i < m; i++) r->L[i * m + i] += RIDGE * largest;
        if (!matrix_cholesky(m, r->L)) return false;
        memset(r->step, 0, (size_t)m * sizeof *r->step), matrix_transposed(n, m, 1, r->B, r->drift, r->step);
        matrix_cholesky_solve(m, 1, r->L, r->step);
        for (int i = 0; i < m; i++) u[i] -= r->step[i];
        memcpy(x + told, u, (size_t)r->p->carried * sizeof *u);
        most = find_drift(r, x, u);
    }
    return isfinite(most);
}

/// K of a horizon that goes on; none by what was told before, which at rest is u.
static bool find_gains(resting *r)
{
    const int n = r->n, m = r->m;
    const size_t all = (size_t)(n * n) * sizeof *r->P, some = (size_t)(m * n) * sizeof *r->K;
    memcpy(r->P, r->end.xx, all);
    for (int k = 0; k < MOST_KNOTS; k++) {
        if (!factor(r, r->P, r->running.uu)) return false;
        memset(r->PA, 0, all), matrix_multiply(n, n, n, 1, r->P, r->A, r->PA);
        memcpy(r->G, r->running.ux, some), matrix_transposed(n, m, n, r->B, r->PA, r->G);  // S = B'PA + l_ux
        double change = 0, largest = 0;
        double *const before = r->Q;  // n >= m: a plan has no more motors than numbers
        for (int i = 0; i < m * n; i++) before[i] = r->K[i], r->K[i] = -r->G[i];
        matrix_cholesky_solve(m, n, r->L, r->K);
        for (int i = 0; i < m * n; i++) change = fmax(change, fabs(r->K[i] - before[i])), largest = fmax(largest, fabs(r->K[i]));
        if (!isfinite(largest)) return false;
        if (change <= SETTLED * largest) break;
        for (int i = 0; i < n * n; i++) r->P[i] = r->running.xx[i] + r->knot * r->end.xx[i];
        // P = Q + A'PA + S'K
        matrix_transposed(n, n, n, r->A, r->PA, r->P), matrix_transposed(m, n, n, r->G, r->K, r->P);
        matrix_symmetric(n, r->P);
    }
    for (int i = 0; i < m; i++)
        for (int k = n - r->p->carried; k < n; k++) r->K[i * n + k] = 0;
    return true;
}

/// Whether the plant, from x_N on, comes to rest by these gains, within as many knots as the plan has.
static bool holds(resting *r, const double *end)
{
    const plant *const p = r->p;
    double *const now = r->X, *const u = r->U;
    double most = 0;
    memcpy(now, end, (size_t)p->nx * sizeof *end);
    for (int k = 0; k < p->knots; k++) {
        bool good = false;
        p->difference(p->context, r->at, now, r->drift);
        memcpy(u, r->rest, (size_t)p->m * sizeof *u), matrix_multiply(p->m, p->n, 1, 1, r->K, r->drift, u);
        if (plant_step(p, now, u, r->next, &good, NULL) != CTN_OK || !good) return false;
        p->difference(p->context, now, r->next, r->drift);
        most = 0;
        for (int i = 0; i < r->n - p->carried; i++) most = fmax(most, fabs(r->drift[i]));
        memcpy(now, r->next, (size_t)p->nx * sizeof *now);
    }
    return most <= AT_REST * r->knot;
}

bool trajectory_end(const plant *p, double knot, int nv, double *x, double *u, double *K)
{
    resting r = {.p = p, .n = p->n, .m = p->m, .knot = knot};
    if (p->m > p->n || !open_room(&r)) return false;
    const int N = p->knots, last = N - 1, nx = p->nx;
    const size_t states = (size_t)nx * sizeof *x, controls = (size_t)p->m * sizeof *u;
    bool found = false;
    for (int still = 0; still < 2 && !found; still++) {  // as it ends, or where it ends, without moving
        memcpy(r.at, x, states), memcpy(r.rest, u, controls);
        for (int i = nx - p->carried - nv; i < nx - p->carried && still; i++) r.at[i] = 0;
        p->cost_derivatives(p->context, 1, &last, r.at, u, &r.running);
        p->cost_derivatives(p->context, 1, &N, r.at, u, &r.end);
        found = come_to_rest(&r, r.at, r.rest) && linearise(&r, r.at, r.rest) && find_gains(&r) && holds(&r, x);
    }
    if (found) memcpy(x, r.at, states), memcpy(u, r.rest, controls), memcpy(K, r.K, (size_t)(p->m * p->n) * sizeof *K);
    free(r.memory);
    return found;
}
