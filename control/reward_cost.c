#include "control/reward_cost.h"

#include "control/reward_parts.h"
#include "control/told_last.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 16 };  // points

struct reward_cost {
    const ctn_scene *scene;
    reward *over_time, *end;       // of AT_ONCE worlds, of terms over time and of those of the end; NULL: there are no such terms
    int knots, nq, nv, nu, nx, n;  // the latter of states, and of changes of them
    double knot, weight, begin;    // s; where the horizon begins
    bool stands;                   // all knots are then
    double *q0, *v0;               // [AT_ONCE][..], where episodes begin
    double *q, *v, *u, *time, *total, *by_q, *by_v, *by_u, *memory;
    int *which;  // [AT_ONCE] points in hand
};

static bool open_part(reward **to, const ctn_scene *scene, const ctn_model *model, bool end, ctn_error *err)
{
    scene_reward *const terms = calloc((size_t)scene->nreward + 1, sizeof *terms);
    if (!terms) return fail(err, CTN_NO_MEMORY, "not enough memory for rewards"), false;
    int count = 0;
    for (int k = 0; k < scene->nreward; k++)
        if (scene->reward[k].at_end == end && scene->reward[k].term != REWARD_SMOOTHNESS) terms[count++] = scene->reward[k];
    if (count) *to = reward_open_terms(terms, count, model, AT_ONCE, err);
    free(terms);
    return !count || (*to && reward_open_gradient(*to, err) == CTN_OK);
}

/// Terms that have no derivative, or no place.
static bool refuse(const ctn_scene *scene, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    const char *why = scene->nreward ? NULL : "the scene has no `reward`";
    for (int k = 0; k < scene->nreward && !why; k++) {
        const scene_reward *const t = &scene->reward[k];
        if (t->term == REWARD_ALIVE)
            why = "the term `alive` of the reward has no derivative, as it jumps from 1 to 0; leave it out, or write a limit";
        if (t->at_end && (t->term == REWARD_EFFORT || t->term == REWARD_ENERGY))
            why = "motors are told nothing any more at the end; take their terms of the reward over time";
    }
    if (why) fail_at(err, CTN_BAD_SCENE, scene->path, o->reward_at.line, o->reward_at.column, "optimize.reward", "%s", why);
    return why != NULL;
}

static bool open_room(reward_cost *r)
{
    const size_t nq = (size_t)r->nq, nv = (size_t)r->nv, nu = (size_t)r->nu;
    const struct {
        double **to;
        size_t size;
    } rows[] = {{&r->q0, nq},  {&r->v0, nv},   {&r->q, nq},    {&r->v, nv},    {&r->u, nu},
                {&r->time, 1}, {&r->total, 1}, {&r->by_q, nv}, {&r->by_v, nv}, {&r->by_u, nu}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) sum += AT_ONCE * rows[k].size;
    double *at = r->memory = calloc(sum + 1, sizeof *at);
    for (size_t k = 0; k < sizeof rows / sizeof *rows && at; k++) *rows[k].to = at, at += AT_ONCE * rows[k].size;
    r->which = calloc(AT_ONCE, sizeof *r->which);
    return r->memory && r->which;
}

reward_cost *reward_cost_open(const ctn_scene *scene, const ctn_model *model, int knots, double knot, ctn_error *err)
{
    if (refuse(scene, err)) return NULL;
    reward_cost *const r = calloc(1, sizeof *r);
    if (!r) return fail(err, CTN_NO_MEMORY, "not enough memory for rewards"), NULL;
    r->scene = scene, r->knots = knots, r->knot = knot, r->weight = scene->optimize.reward;
    r->nq = ctn_model_nq(model), r->nv = ctn_model_nv(model), r->nu = ctn_model_ntarget(model);
    const int told = told_last_counts(scene) ? r->nu : 0;
    r->nx = r->nq + r->nv + told, r->n = 2 * r->nv + told;
    bool opened = open_room(r);
    if (!opened) fail(err, CTN_NO_MEMORY, "not enough memory for rewards");
    for (int w = 0; w < AT_ONCE && opened; w++) ctn_model_initial_state(model, r->q0 + w * r->nq, r->v0 + w * r->nv);
    opened = opened && open_part(&r->over_time, scene, model, false, err) && open_part(&r->end, scene, model, true, err);
    if (opened) return r;
    reward_cost_close(r);
    return NULL;
}

void reward_cost_close(reward_cost *r)
{
    if (!r) return;
    reward_close(r->over_time), reward_close(r->end);
    free(r->memory), free(r->which);
    free(r);
}

void reward_cost_begin(reward_cost *r, double time, bool stands) { r->begin = time, r->stands = stands; }

/// Up to AT_ONCE points from `from` on that are of the part: how many, in r->which; *from: what comes after them.
static int take(reward_cost *r, bool end, int *from, int count, const int *knot, const double *x, const double *u)
{
    const size_t nq = (size_t)r->nq, nv = (size_t)r->nv, nu = (size_t)r->nu, nx = (size_t)r->nx;
    int n = 0;
    for (; *from < count && n < AT_ONCE; (*from)++)
        if ((knot[*from] == r->knots) == end) r->which[n++] = *from;
    for (int w = 0; w < AT_ONCE && n; w++) {  // worlds without a point do what the first one does
        const size_t i = (size_t)r->which[w < n ? w : 0], to = (size_t)w;
        memcpy(r->q + to * nq, x + i * nx, nq * sizeof *x);
        memcpy(r->v + to * nv, x + i * nx + nq, nv * sizeof *x);
        if (!end) memcpy(r->u + to * nu, u + i * nu, nu * sizeof *u);
        r->time[w] = r->begin + r->knot * ((r->stands ? 0 : knot[i]) + !end);
    }
    if (!n) return 0;
    reward *const own = end ? r->end : r->over_time;
    reward_begin(own, NULL, r->q0, r->v0);
    reward_step(own, r->time, r->knot, r->q, r->v, end ? NULL : r->u, NULL);
    return n;
}

// ---- changes of what motors are told, which are quadratic

/// What the square of a change earns at a knot. As in runs, nothing has been told before the first knot of all.
static double smoothness(const reward_cost *r, int knot)
{
    const bool begins = r->begin == 0 && !r->stands && knot == 0;
    const double time = r->begin + r->knot * ((r->stands ? 0 : knot) + 1);
    double sum = 0;
    for (int k = 0; k < r->scene->nreward && !begins && knot < r->knots; k++) {
        const scene_reward *const t = &r->scene->reward[k];
        if (t->term == REWARD_SMOOTHNESS) sum += t->weight * reward_share(t, time, r->knot) / (r->knot * r->knot);
    }
    return r->weight * sum;
}

/// What changes that point i has from what motors were told last, x, to u.
static double change_of(const reward_cost *r, int i, int j, const double *x, const double *u)
{
    return u[(size_t)i * (size_t)r->nu + (size_t)j] - x[(size_t)i * (size_t)r->nx + (size_t)(r->nq + r->nv + j)];
}

static void add_changes(const reward_cost *r, int count, const int *knot, const double *x, const double *u, double *cost)
{
    for (int i = 0; i < count; i++) {
        const double by = smoothness(r, knot[i]);
        for (int j = 0; j < r->nu && by != 0; j++) {
            const double d = change_of(r, i, j, x, u);
            cost[i] -= by * d * d;
        }
    }
}

/// Second derivatives where roughness costs: else they would not be positive semi-definite.
static void derive_changes(const reward_cost *r, int count, const int *knot, const double *x, const double *u,
                           const plant_costs *to)
{
    const size_t n = (size_t)r->n, m = (size_t)r->nu, told = n - m;
    for (int i = 0; i < count; i++) {
        const double by = -2 * smoothness(r, knot[i]), second = by > 0 ? by : 0;
        double *const gx = to->x + (size_t)i * n, *const gxx = to->xx + (size_t)i * n * n, *const gu = to->u + (size_t)i * m,
                      *const guu = to->uu + (size_t)i * m * m, *const gux = to->ux + (size_t)i * m * n;
        for (size_t j = 0; j < m && by != 0; j++) {
            const double d = by * change_of(r, i, (int)j, x, u);
            const size_t a = told + j;
            gu[j] += d, gx[a] -= d;
            guu[j * m + j] += second, gxx[a * n + a] += second, gux[j * n + a] -= second;
        }
    }
}

static void add_cost(void *context, int count, const int *knot, const double *x, const double *u, double *cost)
{
    reward_cost *const r = context;
    for (int end = 0; end < 2; end++) {
        const reward *const own = end ? r->end : r->over_time;
        for (int from = 0, n; own && (n = take(r, end, &from, count, knot, x, u));) {
            reward_end(own, r->total, NULL, NULL);
            for (int w = 0; w < n; w++) cost[r->which[w]] -= r->weight * r->total[w];
        }
    }
    add_changes(r, count, knot, x, u, cost);
}

static void add_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    reward_cost *const r = context;
    const size_t nv = (size_t)r->nv, nu = (size_t)r->nu, width = (size_t)r->n;
    const reward_gradients by = {.q = r->by_q, .v = r->by_v, .u = r->by_u};
    for (int end = 0; end < 2; end++) {
        reward *const own = end ? r->end : r->over_time;
        for (int from = 0, n; own && (n = take(r, end, &from, count, knot, x, u));) {
            reward_gradient(own, r->time, r->knot, r->q, r->v, end ? NULL : r->u, &by);
            for (size_t w = 0; w < (size_t)n; w++) {
                const size_t i = (size_t)r->which[w];
                for (size_t j = 0; j < nv; j++)
                    to->x[i * width + j] -= r->weight * r->by_q[w * nv + j],
                        to->x[i * width + nv + j] -= r->weight * r->by_v[w * nv + j];
                for (size_t j = 0; j < nu && !end; j++) to->u[i * nu + j] -= r->weight * r->by_u[w * nu + j];
            }
        }
    }
    derive_changes(r, count, knot, x, u, to);
}

added_cost reward_cost_added(reward_cost *r) { return (added_cost){r, add_cost, add_derivatives}; }
