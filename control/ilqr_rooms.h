/// Where the numbers of a trajectory are: in the same order here and on a device, so that arrays that are side by side cross at
/// once.
#ifndef CATENA_CONTROL_ILQR_ROOMS_H
#define CATENA_CONTROL_ILQR_ROOMS_H

#include "control/ilqr_parts.h"

typedef struct {
    double **to;
    size_t size;
} ilqr_numbers_row;

/// Deals rows out of x, or (NULL) only counts.
static inline size_t ilqr_deal(const ilqr_numbers_row *rows, size_t count, double *x)
{
    size_t sum = 0;
    for (size_t k = 0; k < count; k++) {
        if (x) *rows[k].to = x + sum;
        sum += rows[k].size;
    }
    return sum;
}

/// What lasts from one call to the next.
static inline size_t ilqr_deal_kept(ilqr *s, double *x)
{
    const plant *const p = s->plant;
    const size_t N = (size_t)p->knots, n = (size_t)p->n, m = (size_t)p->m, back = (size_t)s->cfg.backward;
    const ilqr_numbers_row rows[] = {{&s->lower, m},
                                     {&s->upper, m},
                                     {&s->X, (N + 1) * (size_t)p->nx},
                                     {&s->U, N * m},
                                     {&s->d, N * n},
                                     {&s->end_P, back * n * n},
                                     {&s->end_s, back * n},
                                     {&s->K, N * m * n},
                                     {&s->kappa, N * m},
                                     {&s->u, m}};
    return ilqr_deal(rows, sizeof rows / sizeof *rows, x);
}

/// What an iteration works in, and `room` numbers of it beside that.
static inline size_t ilqr_deal_work(ilqr *s, size_t room, double *x)
{
    const plant *const p = s->plant;
    const size_t N = (size_t)p->knots, n = (size_t)p->n, m = (size_t)p->m, nx = (size_t)p->nx, alphas = (size_t)s->cfg.alphas,
                 M = (size_t)s->cfg.forward;
    const ilqr_numbers_row rows[] = {{&s->A, N * n * n},
                                     {&s->B, N * n * m},
                                     {&s->costs.x, (N + 1) * n},
                                     {&s->costs.u, (N + 1) * m},
                                     {&s->costs.xx, (N + 1) * n * n},
                                     {&s->costs.uu, (N + 1) * m * m},
                                     {&s->costs.ux, (N + 1) * m * n},
                                     {&s->P, (N + 1) * n * n},
                                     {&s->s, (N + 1) * n},
                                     {&s->sweep, 2 * (N + 1) * n + 2 * m},
                                     {&s->tried_X, alphas * (N + 1) * nx},
                                     {&s->tried_U, alphas * N * m},
                                     {&s->tried_d, alphas * M * n},
                                     {&s->each, N + 1},
                                     {&s->work, room}};
    return ilqr_deal(rows, sizeof rows / sizeof *rows, x);
}

#endif
