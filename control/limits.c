#include "control/limits.h"

#include "control/costs.h"
#include "dynamics/lane_scalar.h"
#include "forces/signals.h"
#include "sim/base/status.h"
#include "sim/model/model.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct limits {
    const ctn_scene *scene;
    scene_cost *terms;  // [nlimit], what its limits are of
    costs *residuals;
    ctn_signal *signals;  // by which bounds move
    double *numbers;      // of these
    int knots, squares, width;
    double knot, begin;  // s: of a knot, and where the horizon begins
    bool stands;         // all knots are then
    plant_limits rows;
    double *memory, *lower, *upper, *weight;
    double *r, *J;  // [LIMIT_GROUP][squares], [LIMIT_GROUP][squares][n + nu]
};

/// A limit's number at r, of which it is the distance from the segment from 0 to `axis`; n: its direction, 0 on the segment.
static double distance(const double axis[3], const double r[3], double n[3])
{
    double along = 0, length2 = 0, sum = 0;
    for (int i = 0; i < 3; i++) along += r[i] * axis[i], length2 += axis[i] * axis[i];
    const double at = length2 > 0 ? fmin(fmax(along / length2, 0), 1) : 0;
    for (int i = 0; i < 3; i++) n[i] = r[i] - at * axis[i], sum += n[i] * n[i];
    const double d = sqrt(sum);
    for (int i = 0; i < 3; i++) n[i] = d > 0 ? n[i] / d : 0;
    return d;
}

static void evaluate(void *context, int count, const double *x, const double *u, double *c, double *J)
{
    limits *const l = context;
    const size_t width = (size_t)l->width, squares = (size_t)l->squares;
    costs_residuals(l->residuals, count, x, u, l->r, J ? l->J : NULL);
    for (size_t i = 0; i < (size_t)count; i++)
        for (size_t k = 0, from = i * squares; k < (size_t)l->scene->optimize.nlimit; k++) {
            const scene_limit *const t = &l->scene->optimize.limits[k];
            const double *const r = l->r + from, *const rows = l->J + from * width;
            const size_t numbers = (size_t)t->count;
            double n[3] = {t->axis[0], t->axis[1], t->axis[2]};
            if (t->form == LIMIT_EACH) {
                memcpy(c, r, numbers * sizeof *c);
                if (J) memcpy(J, rows, numbers * width * sizeof *J);
            } else {
                *c = t->form == LIMIT_ALONG ? n[0] * r[0] + n[1] * r[1] + n[2] * r[2] : distance(t->axis, r, n);
                for (size_t j = 0; j < width && J; j++)
                    J[j] = n[0] * rows[j] + n[1] * rows[width + j] + n[2] * rows[2 * width + j];
            }
            c += numbers, from += (size_t)t->of.count;
            if (J) J += numbers * width;
        }
}

/// Whether limit t, which is not of the end, counts at a time: a knot belongs to a window that it misses by a millionth of it.
static bool counts_at(const limits *l, const scene_limit *t, double time)
{
    return time + 1e-6 * l->knot >= t->of.from && time - 1e-6 * l->knot <= t->of.to;
}

static double time_of(const limits *l, int knot) { return l->begin + (l->stands ? 0 : l->knot * knot); }

/// A bound at a time; at a jump: what comes.
static double bound_at(const limits *l, double constant, int moves, double time)
{
    return constant + (moves ? signal_at(&l->signals[moves - 1], time, time + 1e-6 * l->knot).x : 0);
}

/// Whether limit t counts at a knot.
static bool counts(const limits *l, const scene_limit *t, int knot)
{
    const bool told = t->of.term == COST_CONTROL || t->of.term == COST_CONTROL_RATE;
    if (told ? knot == l->knots : knot == 0) return false;
    return t->end ? knot == l->knots : counts_at(l, t, time_of(l, knot));
}

/// Bounds of all knots.
static void spread(limits *l)
{
    const scene_optimize *const o = &l->scene->optimize;
    const int rows = l->rows.rows;
    for (int k = 0, row = 0; k < o->nlimit; row += o->limits[k++].count) {
        const scene_limit *const t = &o->limits[k];
        for (int i = 0; i < t->count; i++) l->weight[row + i] = t->end ? 1 : l->knot;
        for (int knot = 0; knot <= l->knots; knot++) {
            const bool here = counts(l, t, knot);
            for (int i = 0; i < t->count; i++) {
                const size_t at = (size_t)knot * (size_t)rows + (size_t)(row + i);
                l->lower[at] = here ? bound_at(l, t->lower[i], t->lower_moves[i], time_of(l, knot)) : -INFINITY;
                l->upper[at] = here ? bound_at(l, t->upper[i], t->upper_moves[i], time_of(l, knot)) : INFINITY;
            }
        }
    }
}

void limits_begin(limits *l, double time, bool stands)
{
    if (time == l->begin && stands == l->stands) return;
    l->begin = time, l->stands = stands;
    spread(l);
}

ctn_status limits_check(const limits *l, ctn_error *err)
{
    const scene_optimize *const o = &l->scene->optimize;
    for (int k = 0; k < o->nlimit; k++) {
        bool any = false;
        for (int knot = 0; knot <= l->knots && !any; knot++) any = counts(l, &o->limits[k], knot);
        if (!any)
            return fail_at(err, CTN_BAD_SCENE, l->scene->path, o->at.line, o->at.column, "optimize",
                           "a limit from %g to %g s counts at no knot, which are %g s apart, up to %g s", o->limits[k].of.from,
                           o->limits[k].of.to, l->knot, l->knot * l->knots);
    }
    return CTN_OK;
}

/// Bounds that move may come to lie the wrong way round.
static ctn_status check_order(const limits *l, ctn_error *err)
{
    const scene_optimize *const o = &l->scene->optimize;
    const int rows = l->rows.rows;
    for (int k = 0, row = 0; k < o->nlimit; row += o->limits[k++].count)
        for (int knot = 0; knot <= l->knots; knot++)
            for (int i = 0; i < o->limits[k].count; i++) {
                const size_t at = (size_t)knot * (size_t)rows + (size_t)(row + i);
                if (l->lower[at] <= l->upper[at]) continue;
                return fail_at(err, CTN_BAD_SCENE, l->scene->path, o->limits[k].at.line, o->limits[k].at.column,
                               "optimize.limits", "at %g s the lower bound of number %d is %g, above the upper one, %g",
                               time_of(l, knot), i, l->lower[at], l->upper[at]);
            }
    return CTN_OK;
}

limits *limits_open(const ctn_scene *scene, const ctn_model *model, int knots, double knot, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    limits *const l = calloc(1, sizeof *l);
    if (!l) return fail(err, CTN_NO_MEMORY, "not enough memory for limits"), NULL;
    l->scene = scene, l->knots = knots, l->knot = knot;
    const bool told = told_last_counts(scene);
    l->width = 2 * ctn_model_nv(model) + (told ? 2 : 1) * ctn_model_ntarget(model);
    l->terms = calloc((size_t)o->nlimit + 1, sizeof *l->terms);
    size_t rows = 0, squares = 0;
    for (int k = 0; k < o->nlimit; k++) {
        if (l->terms) l->terms[k] = o->limits[k].of;
        rows += (size_t)o->limits[k].count, squares += (size_t)o->limits[k].of.count;
    }
    l->squares = (int)squares;
    const size_t all = ((size_t)knots + 1) * rows;
    l->memory = calloc(2 * all + rows + LIMIT_GROUP * (rows + squares) * (1 + (size_t)l->width) + 1, sizeof *l->memory);
    const bool signals = compile_signal_list(o->signals, o->nsignal, &l->signals, &l->numbers);
    if (!l->terms || !l->memory || !signals) {
        limits_close(l);
        return fail(err, CTN_NO_MEMORY, "not enough memory for limits of %d knots", knots), NULL;
    }
    l->lower = l->memory, l->upper = l->lower + all, l->weight = l->upper + all, l->r = l->weight + rows;
    l->J = l->r + LIMIT_GROUP * squares;
    l->rows = (plant_limits){
        (int)rows, l->lower, l->upper, l->weight, l, evaluate, .c = l->J + LIMIT_GROUP * squares * (size_t)l->width};
    l->rows.J = l->rows.c + LIMIT_GROUP * rows;
    l->residuals =
        costs_open((cost_terms){.term = l->terms, .count = o->nlimit, .told = told}, model, LIMIT_GROUP - 1, knot, err);
    if (!l->residuals) return limits_close(l), NULL;
    spread(l);
    if (check_order(l, err) != CTN_OK) return limits_close(l), NULL;
    return l;
}

void limits_close(limits *l)
{
    if (!l) return;
    costs_close(l->residuals);
    free(l->terms), free(l->memory), free(l->signals), free(l->numbers), free(l);
}

const plant_limits *limits_of(const limits *l) { return &l->rows; }

int limits_rows(const limits *l, int k, int *first)
{
    *first = 0;
    for (int i = 0; i < k; i++) *first += l->scene->optimize.limits[i].count;
    return l->scene->optimize.limits[k].count;
}

double limits_missed(limits *l, int k, bool between, const double *x, const double *u)
{
    const size_t rows = (size_t)l->rows.rows;
    double most = 0;
    evaluate(l, 1, x, u, l->rows.c, NULL);
    for (size_t i = 0; i < rows; i++) {
        const size_t a = (size_t)k * rows + i, b = between ? a + rows : a;
        most = fmax(most, fmax(fmin(l->lower[a], l->lower[b]) - l->rows.c[i], l->rows.c[i] - fmax(l->upper[a], l->upper[b])));
    }
    return most;
}

double limits_missed_at(limits *l, int k, double time, const double *x, const double *u)
{
    const scene_limit *const t = &l->scene->optimize.limits[k];
    int first;
    double most = 0;
    limits_rows(l, k, &first);
    if (t->end || !counts_at(l, t, time)) return 0;
    evaluate(l, 1, x, u, l->rows.c, NULL);
    for (int i = 0; i < t->count; i++)
        most = fmax(most, fmax(bound_at(l, t->lower[i], t->lower_moves[i], time) - l->rows.c[first + i],
                               l->rows.c[first + i] - bound_at(l, t->upper[i], t->upper_moves[i], time)));
    return most;
}
