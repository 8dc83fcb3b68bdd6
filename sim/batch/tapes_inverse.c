/// The inverse of steps: Newton's method for the joint forces under which a step leads to given coordinates. The step is made, its
/// Jacobian says how q moves with forces, and it is made again from the same state.
#include "sim/base/matrix.h"
#include "sim/base/status.h"
#include "sim/batch/tapes_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 40 };

typedef struct {
    ctn_tapes *tapes;
    const double *to;
    double *tau, *best, *move;  // [worlds][nv]: tried, nearest so far, what is added to that
    double *nearest;            // [worlds], how far `best` is
    double *e, *F, *J;          // [worlds][nv]: what is missing; [worlds][2 nv][nv], [nv][nv]
    int *row;                   // [nv]
    bool *waits, *improves;     // [worlds]: it is to be tried again; the last try came nearer
    void *state;
    size_t size;
} inverse;

static void tell(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const inverse *const s = context;
    (void)step, (void)q, (void)v, (void)u;
    memcpy(tau, s->tau, worlds_of(s->tapes) * s->tapes->nv * sizeof *tau);
}

static bool open_room(inverse *s)
{
    const ctn_tapes *const t = s->tapes;
    const size_t w = worlds_of(t), nv = t->nv;
    s->best = calloc(w * nv + 1, sizeof *s->best), s->move = calloc(w * nv + 1, sizeof *s->move);
    s->nearest = calloc(w, sizeof *s->nearest), s->e = calloc(w * nv + 1, sizeof *s->e);
    s->F = calloc(w * 2 * nv * nv + 1, sizeof *s->F), s->J = calloc(nv * nv + 1, sizeof *s->J);
    s->row = calloc(nv + 1, sizeof *s->row), s->waits = calloc(w, sizeof *s->waits), s->improves = calloc(w, sizeof *s->improves);
    s->size = ctn_tapes_saved_size(t), s->state = malloc(s->size);
    return s->best && s->move && s->nearest && s->e && s->F && s->J && s->row && s->waits && s->improves && s->state;
}

static void close_room(inverse *s)
{
    free(s->best), free(s->move), free(s->nearest), free(s->e), free(s->F), free(s->J), free(s->row), free(s->waits);
    free(s->improves), free(s->state);
}

/// How far the worlds are; which came nearer, and are done. Coordinates are compared up to the rounding of their own size.
static void look(inverse *s)
{
    const ctn_tapes *const t = s->tapes;
    const ctn_model *const m = t->batch->model;
    for (size_t w = 0; w < worlds_of(t); w++) {
        double far = 0, size = 1;
        double *const e = s->e + w * t->nv;
        if (!s->waits[w]) continue;
        ctn_model_difference(m, 1, q_at(t, 1) + w * t->nq, s->to + w * t->nq, e);
        for (size_t j = 0; j < t->nv; j++) far = fmax(far, fabs(e[j]));
        for (size_t j = 0; j < t->nq; j++) size = fmax(size, fabs(s->to[w * t->nq + j]));
        if (t->lost[w] >= 0) far = INFINITY;
        s->improves[w] = far < s->nearest[w];
        if (!s->improves[w]) continue;
        s->nearest[w] = far;
        memcpy(s->best + w * t->nv, s->tau + w * t->nv, t->nv * sizeof *e);
        if (far <= 1e-14 * size) s->waits[w] = false;
    }
}

/// The next try: a Newton step from where a world came nearer, half of the last one where it did not. Whether any is to be tried.
static bool improve(inverse *s)
{
    const ctn_tapes *const t = s->tapes;
    const int nv = (int)t->nv;
    bool any = false;
    for (size_t w = 0; w < worlds_of(t); w++) {
        double *const move = s->move + w * t->nv, most = 0, size = 0;
        if (!s->waits[w]) continue;
        if (s->improves[w]) {
            memcpy(s->J, s->F + w * 2 * t->nv * t->nv, t->nv * t->nv * sizeof *s->J);
            memcpy(move, s->e + w * t->nv, t->nv * sizeof *move);
            if (matrix_lu(nv, s->J, s->row)) matrix_lu_solve(nv, 1, s->J, s->row, move);
            else memset(move, 0, t->nv * sizeof *move);
        } else
            for (int j = 0; j < nv; j++) move[j] *= 0.5;
        for (int j = 0; j < nv; j++) {
            most = fmax(most, fabs(move[j])), size = fmax(size, fabs(s->best[w * t->nv + (size_t)j]));
            s->tau[w * t->nv + (size_t)j] = s->best[w * t->nv + (size_t)j] + move[j];
        }
        if (!(most > 1e-15 * size)) s->waits[w] = false;
        any = any || s->waits[w];
    }
    return any;
}

/// A step from the state kept, under s->tau.
static ctn_status try_step(inverse *s, const double *q, const double *v, const bool *begin, bool again, ctn_error *err)
{
    const ctn_tapes_hooks hooks = {.tell = tell, .context = s};
    const ctn_status back = again ? ctn_tapes_restore(s->tapes, s->state, s->size, err) : CTN_OK;
    return back == CTN_OK ? ctn_tapes_run(s->tapes, 1, q, v, begin, &hooks, err) : back;
}

static ctn_status solve(inverse *s, const double *q, const double *v, const bool *begin, ctn_error *err)
{
    const ctn_tapes *const t = s->tapes;
    const size_t w = worlds_of(t);
    ctn_tapes_save(t, s->state);
    memcpy(s->best, s->tau, w * t->nv * sizeof *s->tau);
    for (size_t k = 0; k < w; k++) s->waits[k] = true, s->nearest[k] = INFINITY;
    bool latest = false;
    for (int turn = 0; turn < MOST_TRIES; turn++) {
        ctn_status status = try_step(s, q, v, begin, turn > 0, err);
        if (status != CTN_OK) return status;
        look(s);
        latest = true;
        for (size_t k = 0; k < w; k++)
            latest = latest && !memcmp(s->tau + k * t->nv, s->best + k * t->nv, t->nv * sizeof *s->tau);
        status = ctn_tapes_jacobian(s->tapes, NULL, NULL, s->F, err);
        if (status != CTN_OK) return status;
        if (!improve(s)) break;
        latest = false;
    }
    memcpy(s->tau, s->best, w * t->nv * sizeof *s->tau);
    return latest ? CTN_OK : try_step(s, q, v, begin, true, err);
}

ctn_status ctn_step_inverse(ctn_tapes *t, const double *q, const double *v, const bool *begin, const double *to, double *tau,
                            double *distance, ctn_error *err)
{
    if (missing(__func__, "tapes", t, err) || missing(__func__, "to", to, err) || missing(__func__, "tau", tau, err))
        return CTN_BAD_ARGUMENT;
    if (!t->gradients) return fail(err, CTN_BAD_ARGUMENT, "the tapes were made without gradients");
    if (t->batch->cfg.method == CTN_EULER)
        return fail(err, CTN_UNAVAILABLE,
                    "method: a step of euler leads where velocities say, whatever the forces; take semi-implicit");
    for (size_t k = 0; k < worlds_of(t) * t->nq; k++)
        if (!isfinite(to[k]))
            return fail(err, CTN_BAD_ARGUMENT, "to[%zu] of world %zu: expected a number, found %g", k % t->nq, k / t->nq, to[k]);
    inverse s = {.tapes = t, .to = to, .tau = tau};
    const ctn_status status =
        open_room(&s) ? solve(&s, q, v, begin, err) : fail(err, CTN_NO_MEMORY, "not enough memory for an inverse");
    for (size_t w = 0; w < worlds_of(t) && status == CTN_OK && distance; w++) distance[w] = t->lost[w] < 0 ? s.nearest[w] : NAN;
    close_room(&s);
    return status;
}
