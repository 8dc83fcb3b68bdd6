/// Several trajectories side by side: an iteration of each, or a knot of time. Where there are enough of them the way back has
/// one in each lane; roll-outs fill lanes with the points of all.
#include "control/ilqr_together.h"

#include "control/ilqr_parts.h"
#include "sim/base/matrix.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ilqr_together {
    int most;
    ilqr_points points;
    double *memory, *lanes;  // of the way back
    ilqr_turn *turn;         // [most]
    ilqr **going;            // [most]: who goes on
    int *which, *fails;      // [most]
    bool *good;              // [most]
};

// ---- points

bool ilqr_points_open(ilqr_points *q, const plant *p, int room)
{
    const size_t points = (size_t)room, apart = points + MOST_APART, nx = (size_t)p->nx, n = (size_t)p->n, m = (size_t)p->m;
    *q = (ilqr_points){.room = room,
                       .of = calloc(points, sizeof *q->of),
                       .knot = calloc(points, sizeof *q->knot),
                       .whose = calloc(points, sizeof *q->whose),
                       .alpha = calloc(apart, sizeof *q->alpha),
                       .lost = calloc(points, sizeof *q->lost),
                       .fails = calloc(points, sizeof *q->fails),
                       .rolls = calloc(points, sizeof(int *)),
                       .x = calloc(points * nx + 1, sizeof *q->x),
                       .lanes = calloc(apart * (2 * (nx + n) + m), sizeof *q->lanes)};
    return q->of && q->knot && q->whose && q->alpha && q->lost && q->fails && q->rolls && q->x && q->lanes;
}

void ilqr_points_close(ilqr_points *q)
{
    free(q->of), free(q->knot), free(q->whose), free(q->alpha), free(q->lost), free(q->fails), free(q->rolls), free(q->x),
        free(q->lanes);
}

ilqr_together *ilqr_together_open(const plant *p, int most, int points, ctn_error *err)
{
    const sweep_kernels *const sweeps = ilqr_sweeps();
    const size_t count = (size_t)most;
    ilqr_together *const t = calloc(1, sizeof *t);
    bool opened = t != NULL;
    if (opened) {
        t->most = most;
        t->memory = calloc(sweeps->room(p) + 8, sizeof *t->memory);
        t->turn = calloc(count, sizeof *t->turn), t->going = calloc(count, sizeof(ilqr *));
        t->which = calloc(count, sizeof *t->which), t->fails = calloc(count, sizeof *t->fails);
        t->good = calloc(count, sizeof *t->good);
        opened = ilqr_points_open(&t->points, p, points) && t->memory && t->turn && t->going && t->which && t->fails && t->good;
    }
    if (opened) return t->lanes = (double *)(((uintptr_t)t->memory + 63) / 64 * 64), t;
    ilqr_together_close(t);
    return fail(err, CTN_NO_MEMORY, "not enough memory for %d trajectories side by side", most), NULL;
}

void ilqr_together_close(ilqr_together *t)
{
    if (!t) return;
    ilqr_points_close(&t->points);
    free(t->memory), free(t->turn), free(t->going), free(t->which), free(t->fails), free(t->good);
    free(t);
}

// ---- an iteration

/// Those that go on back over all knots: in lanes where that fills more than half of them. good [count]: it was done, and was
/// good.
static void back(ilqr_together *t, int count)
{
    const sweep_kernels *const sweeps = t->going[0]->sweeps;
    for (int from = 0, some; from < count; from += some) {
        const int blocks = t->turn[t->which[from]].blocks;
        for (some = 1; some < sweeps->lanes && from + some < count && t->turn[t->which[from + some]].blocks == blocks;) some++;
        if (2 * some > sweeps->lanes && some > 1) sweeps->back(t->going + from, some, blocks, t->lanes, t->good + from);
        else memset(t->good + from, 0, (size_t)some * sizeof *t->good);
    }
}

void ilqr_step_together(ilqr_together *t, int count, ilqr *const *of, ctn_status *status, ctn_error *err)
{
    int going = 0;
    for (int i = 0; i < count; i++)
        if (ilqr_begins(of[i], &t->turn[i], err)) t->going[going] = of[i], t->which[going++] = i;
    if (going) back(t, going);
    int left = 0;
    for (int i = 0; i < going; i++)
        if (ilqr_goes_on(t->going[i], &t->turn[t->which[i]], t->good[i], err))
            t->going[left] = t->going[i], t->which[left++] = t->which[i];
    const ctn_status played = left ? ilqr_forward(t->going, left, &t->points, err) : CTN_OK;
    for (int i = 0; i < left; i++) {
        t->turn[t->which[i]].status = played;
        ilqr_ends(t->going[i], &t->turn[t->which[i]], played == CTN_OK);
    }
    for (int i = 0; i < count; i++) status[i] = t->turn[i].status;
}

ctn_status ilqr_step(ilqr *s, ctn_error *err)
{
    ilqr_turn turn;
    if (!ilqr_begins(s, &turn, err) || !ilqr_goes_on(s, &turn, false, err)) return turn.status;
    const ctn_status played = ilqr_forward(&s, 1, &s->points, err);
    ilqr_ends(s, &turn, played == CTN_OK);
    return played;
}

// ---- roll-outs with gains, and a knot of time

/// A roll-out of blocks, in the place of the states that were there.
typedef struct {
    ilqr_points *points;  // whose: which block; knot: where it begins
    bool follows;         // with the gains, of what differs from those states
} rolling;

/// Points have come to where they are.
static void roll_on(void *whose, int first, int count, int apart, int step, const double *x, const bool *good, double *u)
{
    const rolling *const r = whose;
    const ilqr_points *const q = r->points;
    for (int l = 0; l < count; l++) {
        const int at = first + l, k = q->knot[at] + step;
        ilqr *const s = q->of[at];
        const plant *const p = s->plant;
        const int N = p->knots, n = p->n, m = p->m, nx = p->nx, end = block_at(N, s->cfg.forward, q->whose[at] + 1);
        double *const own = q->lanes + (size_t)at * (size_t)(2 * (nx + n) + m), *const dx = own + nx;
        for (int j = 0; j < m && u; j++) u[j * apart + l] = 0;  // for those that are beyond their block
        if (!good[l] && q->fails[at] < 0 && k <= end) q->fails[at] = k - 1;
        if (!good[l] || k > end) continue;
        for (int j = 0; j < nx; j++) own[j] = x[j * apart + l];
        double *const X = ilqr_row(s->X, k, nx), *const U = ilqr_row(s->U, k, m);
        if (k == end && k < N) {
            p->difference(p->context, X, own, ilqr_row(s->d, k - 1, n));
            continue;
        }
        if (r->follows && k < N) {
            p->difference(p->context, X, own, dx), matrix_multiply(m, n, 1, 1, ilqr_row(s->K, k, m * n), dx, U);
            for (int j = 0; j < m && s->lower; j++) U[j] = fmin(fmax(U[j], s->lower[j]), s->upper[j]);
        }
        if (step || !k)
            memcpy(X, own, (size_t)nx * sizeof *own);  // a block begins where X is, which the one before it may be reading
        for (int j = 0; j < m && u && k < N; j++) u[j * apart + l] = U[j];
    }
}

ctn_status ilqr_roll_out(ilqr *const *of, int count, const double *const *x0, bool follows, int *fails, ilqr_points *q,
                         ctn_error *err)
{
    const plant *const p = of[0]->plant;
    const int N = p->knots, nx = p->nx, most = p->most < q->room ? p->most : q->room;
    for (int i = 0; i < count; i++) {
        memset(of[i]->d, 0, (size_t)N * (size_t)p->n * sizeof *of[i]->d);
        of[i]->linear = false, fails[i] = N;
    }
    for (int i = 0, b = 0; i < count;) {
        int points = 0, longest = 0;
        for (; i < count && points < most; points++) {
            const int M = of[i]->cfg.forward, k = block_at(N, M, b), length = block_at(N, M, b + 1) - k;
            q->of[points] = of[i], q->whose[points] = b, q->knot[points] = k, q->fails[points] = -1, q->rolls[points] = &fails[i];
            longest = length > longest ? length : longest;
            memcpy(ilqr_row(q->x, points, nx), b ? ilqr_row(of[i]->X, k, nx) : x0[i], (size_t)nx * sizeof **x0);
            if (++b == M) b = 0, i++;
        }
        const ctn_status status = p->play(p->context, points, q->x, longest, roll_on, &(rolling){q, follows}, err);
        if (status != CTN_OK) return status;
        for (int k = 0; k < points; k++)
            if (q->fails[k] >= 0 && q->fails[k] < *q->rolls[k]) *q->rolls[k] = q->fails[k];
    }
    for (int i = 0; i < count; i++) of[i]->state.cost = ilqr_cost(of[i]), of[i]->state.defect = ilqr_largest_defect(of[i]);
    return CTN_OK;
}

/// Knots move to the front by one, the last control and gains are repeated.
static void move_knots(ilqr *s)
{
    const plant *const p = s->plant;
    const size_t N = (size_t)p->knots, kept = N - 1, m = (size_t)p->m, gains = m * (size_t)p->n, nx = (size_t)p->nx;
    memmove(s->U, s->U + m, kept * m * sizeof *s->U);
    memmove(s->K, s->K + gains, kept * gains * sizeof *s->K);
    memmove(s->X, s->X + nx, N * nx * sizeof *s->X);
}

/// From the new first states; status [count].
static void shift_all(ilqr *const *of, int count, const double *const *x0, int *fails, ilqr_points *q, ctn_status *status,
                      ctn_error *err)
{
    const int forward = of[0]->cfg.forward;
    for (int i = 0; i < count; i++) move_knots(of[i]), of[i]->cfg.forward = 1;
    const ctn_status played = ilqr_roll_out(of, count, x0, true, fails, q, err);
    for (int i = 0; i < count; i++) {
        ilqr *const s = of[i];
        s->cfg.forward = forward;
        status[i] = played;
        if (played != CTN_OK) continue;
        if (fails[i] < s->plant->knots) {
            status[i] = fail(err, CTN_FROZEN, "knot %d cannot be stepped from", fails[i]);
            continue;
        }
        ilqr_moved_on(s);
        if (!isfinite(s->state.cost)) status[i] = fail(err, CTN_FROZEN, "what the plan costs is not finite");
    }
}

void ilqr_shift_together(ilqr_together *t, int count, ilqr *const *of, const double *const *x0, ctn_status *status,
                         ctn_error *err)
{
    if (count) shift_all(of, count, x0, t->fails, &t->points, status, err);
}

ctn_status ilqr_shift(ilqr *s, const double *x0, ctn_error *err)
{
    ctn_status status;
    int fails;
    shift_all(&s, 1, &x0, &fails, &s->points, &status, err);
    return status;
}

int ilqr_together_lanes(void) { return ilqr_sweeps()->lanes; }
