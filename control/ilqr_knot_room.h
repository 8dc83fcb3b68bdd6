/// Room of ilqr_knot.h: matrices of a knot of trajectories in lanes, each entry a real. Rows have no room at their ends.
#ifndef CATENA_CONTROL_ILQR_KNOT_ROOM_H
#define CATENA_CONTROL_ILQR_KNOT_ROOM_H

#include "control/ilqr_bounded.h"
#include "control/ilqr_parts.h"

/// As knot_room has them (control/ilqr_parts.h).
typedef struct {
    const struct ilqr_crew *crew;  // of a device: who works on it (control/ilqr_crew.h)
    int n, m, c;
    bool rates;
    int carried;
    real before, after;
    real *P, *s, *AB, *PAB, *d, *w, *Q;  // [n][n], [n], [n][c], [n][c], [n], [n], [c]
    real *Pz, *zPAB, *zAB, *zw;          // [n][n / 2], [n / 2][c], likewise, [n / 2]
    real *U, *V;                         // [m][c]
    real *K, *kappa, *T, *L, *f;         // [m][n], [m], [m][n], [m][m], [m]
    real *costs;                         // what the knot costs by something: up to [n][n]
    double *dump;                        // up to [n][n], for lanes that have nothing to keep
    double *alone;                       // of one of them: Q_u, kappa [m], K [m][n]
    bounded_room bounded;                // likewise, with bounded controls
} lanes_knot;

/// Trajectories as the lanes have them; lanes without one repeat the first.
typedef struct {
    ilqr *of[LANES];
    int count;
    bool good[LANES];  // so far
} lanes_of_them;

/// Sizes, and arrays out of room (NULL: only counts its doubles); before and after are left to the caller.
ILQR_FN size_t deal_knot(lanes_knot *r, const plant *p, double *room)
{
    const size_t n = (size_t)p->n, m = (size_t)p->m, c = n + m, h = n / 2, most = n > m ? n : m;
    const struct {
        real **to;
        size_t size;
    } rows[] = {{&r->P, n * n}, {&r->s, n},     {&r->AB, n * c}, {&r->PAB, n * c},        {&r->d, n},
                {&r->w, n},     {&r->Q, c},     {&r->Pz, n * h}, {&r->zPAB, h * c},       {&r->zAB, h * c},
                {&r->zw, h},    {&r->U, m * c}, {&r->V, m * c},  {&r->K, m * n},          {&r->kappa, m},
                {&r->T, m * n}, {&r->L, m * m}, {&r->f, m},      {&r->costs, most * most}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (room) *rows[k].to = (real *)(void *)room + sum;
        sum += rows[k].size;
    }
    sum *= LANES;
    if (room) r->dump = room + sum, r->alone = r->dump + most * most;
    sum += most * most + m * (2 + n);
    r->crew = NULL, r->n = p->n, r->m = p->m, r->c = p->n + p->m, r->rates = p->rates, r->carried = p->carried;
    return sum + ilqr_deal_bounded(&r->bounded, p->m, p->n, room ? room + sum : NULL);
}

#endif
