#include "control/cost_targets.h"

#include "dynamics/lane_scalar.h"
#include "forces/signals.h"
#include "sim/base/quaternion.h"
#include "sim/base/status.h"
#include "sim/model/model.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Of a term: a row at each knot, or one for all of them.
typedef struct {
    bool moves;
    int size;      // of a row
    double *rows;  // [knots + 1][size] or [size]
} target;

struct cost_targets {
    cost_terms list;
    const ctn_model *model;
    int knots;
    double knot;
    ctn_signal *signals;
    double *numbers;  // of these
    target *of;       // [ncost]
    double *given;    // what the scene says, at the time in hand
};

static int row_size(const cost_targets *t, const scene_cost *x)
{
    switch (x->term) {
    case COST_POSTURE: return ctn_model_nq(t->model);
    case COST_VELOCITY: return ctn_model_nv(t->model);
    case COST_CONTROL:
    case COST_CONTROL_RATE: return ctn_model_ntarget(t->model);
    case COST_ORIENTATION: return 4;
    default: return x->ntarget;
    }
}

/// Rows of what is not said: where the scene begins, at rest, and as it tells its motors.
static bool open_rows(cost_targets *t, int k)
{
    const scene_cost *const x = &t->list.term[k];
    const int nq = ctn_model_nq(t->model), nv = ctn_model_nv(t->model);
    target *const to = &t->of[k];
    to->moves = x->nturn > 0;
    for (int i = 0; i < x->ntarget && x->moves; i++) to->moves = to->moves || x->moves[i];
    to->size = row_size(t, x);
    const size_t rows = to->moves ? (size_t)t->knots + 1 : 1, size = (size_t)to->size;
    to->rows = calloc(rows * size + 1, sizeof *to->rows);
    double *const spare = calloc((size_t)(nq + nv) + 1, sizeof *spare);
    const bool room = to->rows && spare;
    for (size_t r = 0; r < rows && room; r++) {
        if (x->term == COST_CONTROL) ctn_model_targets(t->model, to->rows + r * size);
        if (x->term == COST_POSTURE) ctn_model_initial_state(t->model, to->rows + r * size, spare);
    }
    free(spare);
    return room;
}

/// Between keyframes the shorter way, about one axis at one rate; at the first and the last one beyond them.
static void slerp(const scene_cost *x, double time, double q[4])
{
    const double(*const key)[5] = (const double(*)[5])x->turns;
    int k = 0;
    while (k + 2 < x->nturn && time >= key[k + 1][0]) k++;
    const double s = fmin(fmax((time - key[k][0]) / (key[k + 1][0] - key[k][0]), 0), 1);
    double cosine = 0, length = 0;
    for (int i = 1; i <= 4; i++) cosine += key[k][i] * key[k + 1][i];
    const double angle = acos(fmin(cosine, 1)), sine = sin(angle);
    const double a = sine > 1e-8 ? sin((1 - s) * angle) / sine : 1 - s, b = sine > 1e-8 ? sin(s * angle) / sine : s;
    for (int i = 0; i < 4; i++) q[i] = a * key[k][i + 1] + b * key[k + 1][i + 1], length += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(length);
}

/// What term k says, t->given, of postures and velocities joint by joint, into its row.
static void fill_row(const cost_targets *t, int k, double *row)
{
    const scene_cost *const x = &t->list.term[k];
    const double *given = t->given;
    if (x->term == COST_ORIENTATION && x->ntarget == 3) {
        quaternion_of_turn(given, row);
        return;
    }
    if (x->term != COST_POSTURE && x->term != COST_VELOCITY) {
        memcpy(row, given, (size_t)x->ntarget * sizeof *row);
        return;
    }
    for (int j = 0; j < x->njoint; j++) {
        const ctn_link *const link = ctn_model_link(t->model, x->joints[j]);
        const int size = x->term == COST_POSTURE ? link->nq : link->nv;
        double *const to = row + (x->term == COST_POSTURE ? link->qadr : link->vadr);
        memcpy(to, given, (size_t)size * sizeof *to);
        given += size;
        if (x->term != COST_POSTURE || (link->joint != CTN_BALL && link->joint != CTN_FREE)) continue;
        double *const turn = to + link->nq - 4, length = 0;
        for (int i = 0; i < 4; i++) length += turn[i] * turn[i];
        for (int i = 0; i < 4 && length > 0; i++) turn[i] /= sqrt(length);
    }
}

/// Rows of a term at `time` and a knot's length from one to the next.
static void fill(cost_targets *t, int k, double time, bool stands)
{
    const scene_cost *const x = &t->list.term[k];
    target *const to = &t->of[k];
    for (int r = 0; r <= (to->moves ? t->knots : 0); r++) {
        double *const row = to->rows + (size_t)r * (size_t)to->size;
        if (r && stands) {
            memcpy(row, to->rows, (size_t)to->size * sizeof *row);
            continue;
        }
        const double now = time + t->knot * r;
        if (x->nturn) {
            slerp(x, now, row);
            continue;
        }
        const double after = now + 1e-6 * t->knot;  // at a jump: what comes
        for (int i = 0; i < x->ntarget; i++) {
            const int signal = x->moves ? x->moves[i] : 0;
            t->given[i] = x->target[i] + (signal ? signal_at(&t->signals[signal - 1], now, after).x : 0);
        }
        fill_row(t, k, row);
    }
}

cost_targets *cost_targets_open(cost_terms of, const ctn_model *model, int knots, double knot, ctn_error *err)
{
    cost_targets *const t = calloc(1, sizeof *t);
    if (!t) return fail(err, CTN_NO_MEMORY, "not enough memory for targets"), NULL;
    t->list = of, t->model = model, t->knots = knots, t->knot = knot;
    int most = 0;
    for (int k = 0; k < of.count; k++) most = of.term[k].ntarget > most ? of.term[k].ntarget : most;
    t->of = calloc((size_t)of.count + 1, sizeof *t->of), t->given = calloc((size_t)most + 1, sizeof *t->given);
    bool room = t->of && t->given && compile_signal_list(of.signals, of.nsignal, &t->signals, &t->numbers);
    for (int k = 0; k < of.count && room; k++)
        if ((room = open_rows(t, k)) && (of.term[k].target || of.term[k].nturn)) fill(t, k, 0, false);
    if (room) return t;
    cost_targets_close(t);
    return fail(err, CTN_NO_MEMORY, "not enough memory for targets of %d knots", knots), NULL;
}

void cost_targets_close(cost_targets *t)
{
    if (!t) return;
    for (int k = 0; k < t->list.count && t->of; k++) free(t->of[k].rows);
    free(t->of), free(t->given), free(t->signals), free(t->numbers);
    free(t);
}

void cost_targets_begin(cost_targets *t, double time, bool stands)
{
    for (int k = 0; k < t->list.count; k++)
        if (t->of[k].moves) fill(t, k, time, stands);
}

const double *cost_target(const cost_targets *t, int k, int knot)
{
    const target *const of = &t->of[k];
    return of->rows + (of->moves ? (size_t)knot * (size_t)of->size : 0);
}

bool cost_target_moves(const cost_targets *t, int k) { return t->of[k].moves; }
