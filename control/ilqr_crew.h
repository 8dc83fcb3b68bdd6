/// Passes of iterative LQR by the threads of a block of a device, among whom entries of matrices are dealt out: the way back over
/// a block of time by the knots of ilqr_knot.h, and where roll-outs begin. Compiled as CUDA C++ (ilqr_cuda.cu) and as C++17
/// (tests/ilqr_twin.cpp), for a file that defines
///
///     struct ilqr_crew      with `thread` of `threads`
///     crew_wait(crew)       for all of them; what they have written can be read
#ifndef CATENA_CONTROL_ILQR_CREW_H
#define CATENA_CONTROL_ILQR_CREW_H

#include "control/ilqr_closed.h"
#include "control/ilqr_knot_room.h"

#include <math.h>
#include <string.h>

#define EACH(r, i, count) for (int i = (r)->crew->thread; i < (count); i += (r)->crew->threads)
#define EACH_OF(r, i, rows, j, columns)                                                                                          \
    for (int e_ = (r)->crew->thread, i = 0, j = 0; e_ < (rows) * (columns) && (i = e_ / (columns), j = e_ % (columns), true);    \
         e_ += (r)->crew->threads)
#define EACH_ABOVE(r, i, j, n) EACH_OF(r, i, n, j, n) if (j >= i)
#define EACH_BELOW(r, i, j, n) EACH_OF(r, i, n, j, n) if (j < i)
#define FIRST(r) (!(r)->crew->thread)
#define WAIT(r) crew_wait((r)->crew)

FN double entry(const real *x, int at, int) { return x[at]; }
FN void set_entry(real *x, int at, int, double to) { x[at] = to; }

FN void rows_in(const lanes_knot *r, const double *const *from, int rows, int size, real *to, int apart)
{
    EACH_OF(r, i, rows, j, size) to[i * apart + j] = from[0][i * size + j];
}

FN void rows_out(const lanes_knot *r, double *const *to, int size, const real *from) { EACH(r, i, size) to[0][i] = from[i]; }

KERNEL void set_product(const lanes_knot *r, int rows, int columns, int inner, const real *X, int down, int across, const real *Y,
                        int apart, real *Z, int wide)
{
    EACH_OF(r, i, rows, j, columns)
    {
        real sum = 0;
        for (int k = 0; k < inner; k++) sum = fmadd(X[i * down + k * across], Y[k * apart + j], sum);
        Z[i * wide + j] = sum;
    }
}

/// upper: what is below the diagonal is left to chance.
KERNEL void add_product_to(const lanes_knot *r, int rows, int columns, int inner, const real *X, int down, int across,
                           const real *Y, int apart, real *Z, int wide, bool upper)
{
    EACH_OF(r, i, rows, j, columns)
    {
        real sum = Z[i * wide + j];
        if (upper && j < i) continue;
        for (int k = 0; k < inner; k++) sum = fmadd(X[i * down + k * across], Y[k * apart + j], sum);
        Z[i * wide + j] = sum;
    }
}

#include "control/ilqr_knot.h"

/// Block b of the way back of the trajectory s, in `room`; `t` is shared by the threads.
FN void crew_back(const ilqr_crew *crew, ilqr *s, int blocks, int b, real *room, lanes_of_them *t)
{
    lanes_knot r;
    deal_knot(&r, s->plant, room);
    r.crew = crew, r.before = s->plant->before, r.after = s->plant->after;
    if (!crew->thread) t->of[0] = s, t->count = 1;
    crew_wait(crew);
    knots_back(t, &r, blocks, b);
}

/// By how much blocks of roll-outs begin elsewhere with each alpha, s->tried_d: by the linearised plant (ilqr_closed.h).
FN void crew_begin(const ilqr_crew *crew, ilqr *s)
{
    struct {
        const ilqr_crew *crew;
    } by = {crew}, *const r = &by;
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n, M = s->cfg.forward;
    for (int k = 0; k < N && M > 1; k++) {
        EACH_OF(r, part, 2, i, p->m) ilqr_closed_control(s, k, part, i);
        WAIT(r);
        EACH_OF(r, part, 2, i, n) ilqr_closed_state(s, k, part, i);
        WAIT(r);
    }
    EACH_OF(r, point, s->cfg.alphas * M, i, n)
    {
        const int a = point / M, b = point % M;
        s->tried_d[point * n + i] = b ? ilqr_closed_start(s, block_at(N, M, b), a, i) : 0;
    }
}

#endif
