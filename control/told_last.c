#include "control/told_last.h"

#include "sim/base/status.h"

#include <stdlib.h>
#include <string.h>

struct told_last {
    const plant *inner;
    double *x;      // [knots or most][inner nx]: points without what was told last
    double *lanes;  // [most + MOST_APART][nx]: points on their way
};

bool told_last_counts(const ctn_scene *scene)
{
    const scene_optimize *const o = &scene->optimize;
    bool counts = false;
    for (int k = 0; k < o->ncost; k++) counts = counts || o->cost[k].term == COST_CONTROL_RATE;
    for (int k = 0; k < o->nlimit; k++) counts = counts || o->limits[k].of.term == COST_CONTROL_RATE;
    for (int k = 0; k < scene->nreward && o->reward > 0; k++) counts = counts || scene->reward[k].term == REWARD_SMOOTHNESS;
    return counts;
}

/// Columns from .. from + some - 1 of rows [rows][width], as rows of their own.
static void part_of(int rows, int width, int from, int some, const double *x, double *to)
{
    for (int k = 0; k < rows; k++)
        memcpy(to + (size_t)k * (size_t)some, x + (size_t)k * (size_t)width + from, (size_t)some * sizeof *to);
}

bool told_apart_open(told_apart *a, const plant *p)
{
    *a = (told_apart){.knots = p->knots, .nx = p->nx - p->m, .n = p->n - p->m, .m = p->m};
    const size_t N = (size_t)a->knots, m = (size_t)a->m, states = (N + 1) * (size_t)a->nx, gains = N * m * (size_t)a->n;
    a->memory = calloc(states + gains + N * m * m + 1, sizeof *a->memory);
    a->X = a->memory, a->K = a->X + states, a->told = a->K + gains;
    return a->memory != NULL;
}

void told_apart_close(told_apart *a) { free(a->memory); }

const double *told_apart_states(const told_apart *a, const double *X)
{
    return part_of(a->knots + 1, a->nx + a->m, 0, a->nx, X, a->X), a->X;
}

const double *told_apart_gains(const told_apart *a, const double *K)
{
    return part_of(a->knots * a->m, a->n + a->m, 0, a->n, K, a->K), a->K;
}

const double *told_apart_told(const told_apart *a, const double *K)
{
    return part_of(a->knots * a->m, a->n + a->m, a->n, a->m, K, a->told), a->told;
}

static int nx_of(const plant *inner) { return inner->nx + inner->m; }
static int n_of(const plant *inner) { return inner->n + inner->m; }

// ---- on their way

typedef struct {
    const told_last *plant;
    const double *x;  // where points begin
    int count;
    plant_tell tell;
    void *whose;
} way;

static void tell(void *whose, int first, int count, int apart, int step, const double *x, const bool *good, double *u)
{
    const way *const y = whose;
    const plant *const p = y->plant->inner;
    const size_t nx = (size_t)nx_of(p), row = (size_t)apart;
    double *const lanes = y->plant->lanes + (size_t)first * nx, *const told = lanes + (size_t)p->nx * row;
    for (int l = 0; l < apart && !step; l++) {  // lanes without a point do what the last one does
        const size_t at = (size_t)(first + (l < count ? l : count - 1));
        for (int j = 0; j < p->m; j++) told[j * apart + l] = y->x[at * nx + (size_t)(p->nx + j)];
    }
    memcpy(lanes, x, (size_t)p->nx * row * sizeof *x);
    y->tell(y->whose, first, count, apart, step, lanes, good, u);
    for (int j = 0; j < p->m && u; j++) memcpy(told + j * apart, u + j * apart, (size_t)count * sizeof *u);
}

static ctn_status play(void *context, int count, const double *x, int steps, plant_tell to_tell, void *whose, ctn_error *err)
{
    told_last *const t = context;
    const plant *const p = t->inner;
    way y = {t, x, count, to_tell, whose};
    part_of(count, nx_of(p), 0, p->nx, x, t->x);
    return p->play(p->context, count, t->x, steps, tell, &y, err);
}

// ---- derivatives

/// Rows [rows][size] of each knot, one after another, get room for `more` numbers each and for `below` rows behind them, all 0.
static void spread(int knots, int rows, int size, int more, int below, double *x)
{
    const size_t wide = (size_t)(size + more), high = (size_t)(rows + below), tight = (size_t)size;
    for (size_t k = (size_t)knots; k-- > 0;)  // from the back: what is still to be moved lies before
        for (size_t i = high; i-- > 0;) {
            double *const to = x + (k * high + i) * wide;
            if (i < (size_t)rows) memmove(to, x + (k * (size_t)rows + i) * tight, tight * sizeof *x);
            memset(i < (size_t)rows ? to + tight : to, 0, (i < (size_t)rows ? wide - tight : wide) * sizeof *x);
        }
}

static ctn_status linearise(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err)
{
    told_last *const t = context;
    const plant *const p = t->inner;
    part_of(p->knots, nx_of(p), 0, p->nx, x, t->x);
    const ctn_status status = p->linearise(p->context, t->x, u, A, B, err);
    if (status != CTN_OK) return status;
    spread(p->knots, p->n, p->n, p->m, p->m, A), spread(p->knots, p->n, p->m, 0, p->m, B);
    for (int k = 0; k < p->knots; k++)
        for (int j = 0; j < p->m; j++) B[((size_t)k * (size_t)n_of(p) + (size_t)(p->n + j)) * (size_t)p->m + (size_t)j] = 1;
    return CTN_OK;
}

static void cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    const plant *const p = ((told_last *)context)->inner;
    p->cost(p->context, count, knot, x, u, to);
}

static void cost_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    const plant *const p = ((told_last *)context)->inner;
    p->cost_derivatives(p->context, count, knot, x, u, to);
}

static void add(void *context, const double *x, const double *dx, double *to)
{
    const plant *const p = ((told_last *)context)->inner;
    p->add(p->context, x, dx, to);
    for (int j = 0; j < p->m; j++) to[p->nx + j] = x[p->nx + j] + dx[p->n + j];
}

static void difference(void *context, const double *from, const double *to, double *dx)
{
    const plant *const p = ((told_last *)context)->inner;
    p->difference(p->context, from, to, dx);
    for (int j = 0; j < p->m; j++) dx[p->n + j] = to[p->nx + j] - from[p->nx + j];
}

// ---- opening

told_last *told_last_open(const plant *inner, ctn_error *err)
{
    told_last *const t = calloc(1, sizeof *t);
    const size_t points = (size_t)(inner->knots > inner->most ? inner->knots : inner->most);
    if (!t) return fail(err, CTN_NO_MEMORY, "not enough memory for a plant"), NULL;
    t->inner = inner;
    t->x = calloc(points * (size_t)inner->nx + 1, sizeof *t->x);
    t->lanes = calloc(((size_t)inner->most + MOST_APART) * (size_t)nx_of(inner), sizeof *t->lanes);
    if (t->x && t->lanes) return t;
    told_last_close(t);
    return fail(err, CTN_NO_MEMORY, "not enough memory for %d knots", inner->knots), NULL;
}

void told_last_close(told_last *t)
{
    if (!t) return;
    free(t->x), free(t->lanes);
    free(t);
}

plant told_last_plant(told_last *t)
{
    plant p = *t->inner;
    p.nx = nx_of(t->inner), p.n = n_of(t->inner), p.carried = p.m, p.rates = false;
    p.context = t, p.play = play, p.linearise = linearise, p.add = add, p.difference = difference;
    p.cost = cost, p.cost_derivatives = cost_derivatives;
    return p;
}
