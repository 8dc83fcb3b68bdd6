/// The backward pass: gains and the value's derivatives. With d the defect behind a knot, w = V'_x + V'_xx d:
///
///     Q_x = l_x + A'w    Q_xx = l_xx + A'V'A    Q~_uu = Q_uu + rho B'B    K = -Q~_uu^-1 Q~_ux
///     Q_u = l_u + B'w    Q_uu = l_uu + B'V'B    Q~_ux = Q_ux + rho B'A    kappa = -Q~_uu^-1 Q_u
///     Q_ux = l_ux + B'V'A
///     V_x = Q_x + K'(Q_uu kappa + Q_u) + Q_ux'kappa,   V_xx = Q_xx + K'Q_uu K + K'Q_ux + Q_ux'K
///
/// rho is only in the gains [Tassa, Erez, Todorov 2012]. (Plancher and Kuindersma's equation 5 has two terms with the other sign,
/// which is right in neither convention; their program has these.)
#include "control/ilqr_bounded.h"
#include "control/ilqr_parts.h"
#include "sim/base/matrix.h"
#include "sim/engine/engine.h"

#include <stdint.h>
#include <string.h>

/// Multiples of a tile, so that every array begins where a vector may.
static size_t rounded(size_t x) { return (x + TILE - 1) / TILE * TILE; }

/// Arrays of a knot, out of x; NULL: only counts.
static size_t deal_room(knot_room *r, double *x)
{
    const size_t n = (size_t)r->n, m = (size_t)r->m, a = (size_t)r->a, c = (size_t)r->c, e = (size_t)r->e, b = (size_t)r->b,
                 h = n / 2;
    const struct {
        double **to;
        size_t size;
    } rows[] = {{&r->P, n * a},    {&r->s, a},       {&r->AB, n * c}, {&r->PAB, n * c}, {&r->w, a},     {&r->Pz, n * b},
                {&r->zPAB, h * c}, {&r->zAB, h * c}, {&r->Q, c},      {&r->U, m * c},   {&r->V, m * c}, {&r->R, m * e},
                {&r->T, m * a},    {&r->f, m},       {&r->kappa, m},  {&r->L, m * m}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (x) *rows[k].to = x + sum;
        sum += rounded(rows[k].size + 1);
    }
    if (x) r->K = r->R;
    return sum + ilqr_deal_bounded(&r->bounded, r->m, r->n, x ? x + sum : NULL);
}

knot_room ilqr_room_of(const plant *p, double *x)
{
    const size_t n = (size_t)p->n, m = (size_t)p->m;
    knot_room r = {.n = p->n, .m = p->m, .carried = p->carried, .rates = p->rates, .before = p->before, .after = p->after};
    r.a = (int)rounded(n), r.c = (int)rounded(n + m), r.e = (int)rounded(n + 1), r.b = (int)rounded(n / 2);
    if (x) deal_room(&r, (double *)(((uintptr_t)x + 63) / 64 * 64));
    return r;
}

size_t ilqr_knot_work(const plant *p)
{
    knot_room r = ilqr_room_of(p, NULL);
    return deal_room(&r, NULL) + TILE;
}

const sweep_kernels *ilqr_sweeps(void)
{
    const ctn_engine *const engine = engine_find(NULL, 2, NULL);
#ifdef CATENA_X86
    if (engine == &engine_avx512) return &sweep_avx512;
    if (engine == &engine_avx2) return &sweep_avx2;
    if (engine == &engine_scalar_fma) return &sweep_scalar_fma;
#endif
    (void)engine;
    return &sweep_scalar;
}

/// Adds what the knot itself costs by u, and by u and x, to rows of [Q_ux Q_uu].
static void add_costs(const ilqr *s, int k, const knot_room *r, double *restrict U)
{
    const int n = r->n, m = r->m, c = r->c;
    const double *restrict const ux = ilqr_row(s->costs.ux, k, m * n), *restrict const uu = ilqr_row(s->costs.uu, k, m * m);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) U[i * c + j] += ux[i * n + j];
        for (int j = 0; j < m; j++) U[i * c + n + j] += uu[i * m + j];
    }
}

/// kappa and K of a knot from V, Q in r; also in r. false: no minimum.
static bool gains_of(ilqr *s, int k, const knot_room *r)
{
    const int n = r->n, m = r->m;
    double *const K = ilqr_row(s->K, k, m * n), *const kappa = ilqr_row(s->kappa, k, m);
    const bounded_room *const of = &r->bounded;
    const double *const u = ilqr_row(s->U, k, m);
    for (int i = 0; i < m && s->lower; i++) {
        of->lo[i] = s->lower[i] - u[i], of->hi[i] = s->upper[i] - u[i];
        memcpy(of->side + i * n, r->V + i * r->c, (size_t)n * sizeof *of->side);
        memcpy(of->G + i * m, r->V + i * r->c + n, (size_t)m * sizeof *of->G);
    }
    if (s->lower) {
        if (!ilqr_bounded_gains(m, n, of, r->Q + n, kappa, K)) return false;
        for (int i = 0; i < m; i++) memcpy(r->K + i * r->e, K + i * n, (size_t)n * sizeof *K), r->kappa[i] = kappa[i];
        return true;
    }
    for (int i = 0; i < m; i++) memcpy(r->L + i * m, r->V + i * r->c + n, (size_t)m * sizeof *r->L);
    if (!matrix_cholesky(m, r->L)) return false;
    for (int i = 0; i < m; i++) {
        r->L[i * m + i] = 1 / r->L[i * m + i];
        for (int j = 0; j < n; j++) r->R[i * r->e + j] = -r->V[i * r->c + j];
        r->R[i * r->e + n] = -r->Q[n + i];
    }
    s->sweeps->solve(r, r->L, r->R);
    for (int i = 0; i < m; i++) {
        memcpy(K + i * n, r->R + i * r->e, (size_t)n * sizeof *K);
        kappa[i] = r->kappa[i] = r->R[i * r->e + n];
    }
    return true;
}

/// Knot k, from the value behind it in r, to that before it. false: no minimum.
static bool back_over(ilqr *s, int k, const knot_room *r, back_block *block)
{
    const int n = r->n, m = r->m;
    double *const lx = ilqr_row(s->costs.x, k, n), *const lu = ilqr_row(s->costs.u, k, m);
    memcpy(r->w, r->s, (size_t)n * sizeof *r->w);
    s->sweeps->front(r, ilqr_row(s->A, k, n * n), ilqr_row(s->B, k, n * m), ilqr_row(s->d, k, n), s->state.rho);
    add_costs(s, k, r, r->U), add_costs(s, k, r, r->V);
    for (int i = 0; i < m; i++) {
        double *const Qu = r->Q + n + i;
        block->part = fmax(block->part, fmax(fabs(lu[i]), fabs(*Qu)));
        *Qu += lu[i];
        block->gradient = fmax(block->gradient, ilqr_push(s, k, i, *Qu));
    }
    if (!gains_of(s, k, r)) return false;
    for (int i = 0; i < m; i++) {
        const double *const Quu = r->U + i * r->c + n, Qu = r->Q[n + i];
        double sum = 0;
        for (int j = 0; j < m; j++) sum += Quu[j] * r->kappa[j];
        block->linear += r->kappa[i] * Qu, block->quadratic += 0.5 * r->kappa[i] * sum;
        r->f[i] = sum + Qu;
    }
    for (int i = 0; i < n; i++) r->s[i] = lx[i] + r->Q[i];
    s->sweeps->value(r, ilqr_row(s->costs.xx, k, n * n));
    memcpy(ilqr_row(s->s, k, n), r->s, (size_t)n * sizeof *r->s);
    for (int i = 0; i < n; i++) memcpy(ilqr_row(s->P, k, n * n) + i * n, r->P + i * r->a, (size_t)n * sizeof *r->P);
    return true;
}

/// The value at the end of a block.
static void begin_value(const knot_room *r, const double *P, const double *s)
{
    for (int i = 0; i < r->n; i++) memcpy(r->P + i * r->a, P + i * r->n, (size_t)r->n * sizeof *P);
    memcpy(r->s, s, (size_t)r->n * sizeof *s);
}

/// The pass in hand.
typedef struct {
    ilqr *of;
    int blocks;
} passing;

static void back_over_block(void *context, int thread, int b)
{
    const passing *const pass = context;
    ilqr *const s = pass->of;
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, end = block_at(N, pass->blocks, b + 1);
    const knot_room r = ilqr_room_of(p, s->work + (size_t)thread * ilqr_knot_work(p));
    back_block *const block = &s->blocks[b];
    *block = (back_block){.good = true};
    begin_value(&r, end < N ? ilqr_row(s->end_P, b, n * n) : ilqr_row(s->P, N, n * n),
                end < N ? ilqr_row(s->end_s, b, n) : ilqr_row(s->s, N, n));
    for (int k = end - 1; k >= block_at(N, pass->blocks, b) && block->good; k--) block->good = back_over(s, k, &r, block);
}

void ilqr_begin_back(ilqr *s)
{
    const int N = s->plant->knots, n = s->plant->n;
    memcpy(ilqr_row(s->P, N, n * n), ilqr_row(s->costs.xx, N, n * n), (size_t)(n * n) * sizeof(double));
    memcpy(ilqr_row(s->s, N, n), ilqr_row(s->costs.x, N, n), (size_t)n * sizeof(double));
}

bool ilqr_end_back(ilqr *s, int blocks)
{
    back_block all = {.good = true};
    for (int b = 0; b < blocks; b++) {
        const back_block *const block = &s->blocks[b];
        all.gradient = fmax(all.gradient, block->gradient), all.part = fmax(all.part, block->part);
        all.linear += block->linear, all.quadratic += block->quadratic, all.good = all.good && block->good;
    }
    s->linear_gain = all.linear, s->quadratic_gain = all.quadratic;
    if (all.good) s->state.gradient = all.part > 0 ? all.gradient / all.part : all.gradient;
    return all.good;
}

bool ilqr_backward(ilqr *s, int blocks)
{
    ilqr_begin_back(s);
    pool_run(s->plant->threads, blocks, back_over_block, &(passing){s, blocks});
    return ilqr_end_back(s, blocks);
}
