#include "control/lagrangian.h"

#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GROWTH = 10, PROGRESS = 0.25, MOST_PENALTY = 1e10;
static const double ENOUGH_GRADIENT = 1e-2, NEARLY_ENOUGH = 0.1,
                    ENOUGH_GAIN = 1e-4;  // of a round after which limits are still missed
enum { MOST_ROUNDS = 100, LAGRANGIAN_NUMBERS = 5 };

struct lagrangian {
    const plant *plant;
    const plant_limits *limits;
    double tolerance;    // of limits
    double mu, penalty;  // now, and at first
    double before;       // how far limits were missed, or multipliers off, when the last round ended
    double now;          // likewise of what was looked at
    int steps;           // that were taken in this round
    lagrangian_state state;
    double merit;    // before the iteration in hand
    double *lambda;  // [knots + 1][rows]
    double *missed;  // [rows]
};

lagrangian *lagrangian_open(const plant *plant, const plant_limits *limits, double tolerance, double penalty, ctn_error *err)
{
    const size_t rows = (size_t)limits->rows;
    lagrangian *const l = calloc(1, sizeof *l);
    if (!l) return fail(err, CTN_NO_MEMORY, "not enough memory for limits"), NULL;
    *l = (lagrangian){.plant = plant, .limits = limits, .tolerance = tolerance, .mu = penalty, .penalty = penalty};
    l->before = INFINITY, l->state.penalty = penalty;
    l->lambda = calloc(((size_t)plant->knots + 1) * rows + 1, sizeof *l->lambda);
    l->missed = calloc(rows + 1, sizeof *l->missed);
    if (l->lambda && l->missed) return l;
    lagrangian_close(l);
    return fail(err, CTN_NO_MEMORY, "not enough memory for limits of %d knots", plant->knots), NULL;
}

void lagrangian_close(lagrangian *l)
{
    if (!l) return;
    free(l->lambda), free(l->missed);
    free(l);
}

void lagrangian_lend(lagrangian *l, const plant_limits *limits) { l->limits = limits; }

static double within(double y, double lower, double upper) { return fmin(fmax(y, lower), upper); }

/// y - min(max(y, lower), upper) of number i at a knot, y = c + lambda/mu.
static double beyond(const lagrangian *l, int knot, int i, double c)
{
    const size_t at = (size_t)knot * (size_t)l->limits->rows + (size_t)i;
    const double y = c + l->lambda[at] / l->mu;
    return y - within(y, l->limits->lower[at], l->limits->upper[at]);
}

static void add_cost(void *context, int count, const int *knot, const double *x, const double *u, double *cost)
{
    lagrangian *const l = context;
    const plant *const p = l->plant;
    const int rows = l->limits->rows;
    for (int first = 0; first < count; first += LIMIT_GROUP) {
        const int n = count - first < LIMIT_GROUP ? count - first : LIMIT_GROUP;
        l->limits->evaluate(l->limits->context, n, x + (size_t)first * (size_t)p->nx, u + (size_t)first * (size_t)p->m,
                            l->limits->c, NULL);
        for (int k = 0; k < n; k++) {
            double sum = 0;
            for (int i = 0; i < rows; i++) {
                const double z = beyond(l, knot[first + k], i, l->limits->c[k * rows + i]),
                             lambda = l->lambda[(size_t)knot[first + k] * (size_t)rows + (size_t)i];
                sum += 0.5 * l->limits->weight[i] * (l->mu * z * z - lambda * lambda / l->mu);
            }
            cost[first + k] += sum;
        }
    }
}

/// Adds g J of a row to the gradients of a point, and h J'J to its second derivatives.
static void add_row(const plant *p, double g, double h, const double *J, const plant_costs *to)
{
    const int n = p->n, m = p->m;
    for (int a = 0; a < n; a++) {
        if (J[a] == 0) continue;
        to->x[a] += g * J[a];
        for (int b = 0; b < n; b++) to->xx[a * n + b] += h * J[a] * J[b];
    }
    for (int a = 0; a < m; a++) {
        if (J[n + a] == 0) continue;
        to->u[a] += g * J[n + a];
        for (int b = 0; b < m; b++) to->uu[a * m + b] += h * J[n + a] * J[n + b];
        for (int b = 0; b < n; b++) to->ux[a * n + b] += h * J[n + a] * J[b];
    }
}

static void add_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    lagrangian *const l = context;
    const plant *const p = l->plant;
    const size_t rows = (size_t)l->limits->rows, n = (size_t)p->n, m = (size_t)p->m;
    for (int first = 0; first < count; first += LIMIT_GROUP) {
        const int some = count - first < LIMIT_GROUP ? count - first : LIMIT_GROUP;
        l->limits->evaluate(l->limits->context, some, x + (size_t)first * (size_t)p->nx, u + (size_t)first * m, l->limits->c,
                            l->limits->J);
        for (size_t k = 0; k < (size_t)some; k++) {
            const size_t at = (size_t)first + k;
            const plant_costs here = {to->x + at * n, to->u + at * m, to->xx + at * n * n, to->uu + at * m * m,
                                      to->ux + at * m * n};
            for (size_t i = 0; i < rows; i++) {
                const size_t of = (size_t)knot[at] * rows + i;
                const double z = beyond(l, knot[at], (int)i, l->limits->c[k * rows + i]), w = l->mu * l->limits->weight[i];
                if (z == 0 && l->limits->lower[of] != l->limits->upper[of]) continue;
                add_row(p, w * z, w, l->limits->J + (k * rows + i) * (n + m), &here);
            }
        }
    }
}

added_cost lagrangian_added(lagrangian *l) { return (added_cost){l, add_cost, add_derivatives}; }

/// Looks at the numbers of all knots, and, if they `follow`, changes the multipliers by them.
static void look(lagrangian *l, const double *X, const double *U, bool follow)
{
    const plant *const p = l->plant;
    const int rows = l->limits->rows;
    l->now = 0;
    memset(l->missed, 0, (size_t)rows * sizeof *l->missed);
    for (int first = 0; first <= p->knots; first += LIMIT_GROUP) {
        const int last = p->knots, n = last + 1 - first < LIMIT_GROUP ? last + 1 - first : LIMIT_GROUP;
        const bool ends = first + n > last;  // where u has no row
        if (n > ends)
            l->limits->evaluate(l->limits->context, n - ends, X + (size_t)first * (size_t)p->nx, U + (size_t)first * (size_t)p->m,
                                l->limits->c, NULL);
        if (ends)
            l->limits->evaluate(l->limits->context, 1, X + (size_t)last * (size_t)p->nx, U, l->limits->c + (n - 1) * rows, NULL);
        for (int k = 0; k < n; k++)
            for (int i = 0; i < rows; i++) {
                const size_t at = (size_t)(first + k) * (size_t)rows + (size_t)i;
                const double c = l->limits->c[k * rows + i], z = beyond(l, first + k, i, c);
                l->missed[i] = fmax(l->missed[i], fmax(l->limits->lower[at] - c, c - l->limits->upper[at]));
                l->now = fmax(l->now, fabs(z - l->lambda[at] / l->mu));  // of what is kept: a multiplier that is to go
                if (follow) l->lambda[at] = l->mu * z;
            }
    }
    l->state.violation = 0;
    for (int i = 0; i < rows; i++) l->state.violation = fmax(l->state.violation, l->missed[i]);
}

void lagrangian_look(lagrangian *l, const double *X, const double *U) { look(l, X, U, false); }

/// The next round: other multipliers, another penalty where they alone do too little.
static void next_round(lagrangian *l, ilqr *solver)
{
    look(l, ilqr_states(solver), ilqr_controls(solver), true);
    if (l->now > l->tolerance && l->now > PROGRESS * l->before) l->mu = fmin(GROWTH * l->mu, MOST_PENALTY);
    l->before = l->now, l->state.penalty = l->mu, l->state.round++, l->steps = 0;
    ilqr_judge_again(solver);
}

void lagrangian_begin(lagrangian *l)
{
    memset(l->lambda, 0, ((size_t)l->plant->knots + 1) * (size_t)l->limits->rows * sizeof *l->lambda);
    l->mu = l->penalty;
    lagrangian_begin_again(l);
}

void lagrangian_begin_again(lagrangian *l)
{
    l->state = (lagrangian_state){.penalty = l->mu};
    l->before = INFINITY, l->steps = 0;
}

void lagrangian_shift(lagrangian *l)
{
    const size_t N = (size_t)l->plant->knots, rows = (size_t)l->limits->rows, all = (N + 1) * rows;
    memmove(l->lambda, l->lambda + rows, N * rows * sizeof *l->lambda);
    for (size_t i = 0; i < rows; i++) {  // controls end a knot before states do
        const bool ends = isfinite(l->limits->lower[N * rows + i]) || isfinite(l->limits->upper[N * rows + i]);
        if (!ends && N > 1 && l->lambda[(N - 1) * rows + i] == 0) l->lambda[(N - 1) * rows + i] = l->lambda[(N - 2) * rows + i];
    }
    for (size_t k = 0; k < all; k++)  // of a window that has passed, or of the end
        if (isinf(l->limits->lower[k]) && isinf(l->limits->upper[k])) l->lambda[k] = 0;
    lagrangian_begin_again(l);
}

void lagrangian_follow(lagrangian *l, const ilqr *solver)
{
    if (l->steps && l->state.stop != ILQR_OPTIMAL && ilqr_get_state(solver).gradient <= NEARLY_ENOUGH)
        look(l, ilqr_states(solver), ilqr_controls(solver), true);
    l->steps = 0;
}

double lagrangian_cost(lagrangian *l, const double *X, const double *U)
{
    const plant *const p = l->plant;
    double sum = 0;
    for (int k = 0; k <= p->knots; k++)  // at the end u counts for nothing
        add_cost(l, 1, &k, X + (size_t)k * (size_t)p->nx, U + (k < p->knots ? (size_t)k * (size_t)p->m : 0), &sum);
    return sum;
}

bool lagrangian_begins(lagrangian *l, const ilqr *solver)
{
    l->merit = ilqr_get_state(solver).cost;
    return l->state.stop == ILQR_RUNS;
}

void lagrangian_ends(lagrangian *l, ilqr *solver)
{
    const ilqr_state s = ilqr_get_state(solver);
    l->steps += s.alpha > 0;
    look(l, ilqr_states(solver), ilqr_controls(solver), false);
    const bool enough = l->steps > 1 && (s.gradient <= ENOUGH_GRADIENT || (s.alpha > 0 && s.gradient <= NEARLY_ENOUGH &&
                                                                           l->merit - s.cost <= ENOUGH_GAIN * fabs(l->merit)));
    if (s.stop == ILQR_RUNS && (l->now <= l->tolerance || !enough)) return;
    if (s.stop == ILQR_OPTIMAL && l->now <= l->tolerance)  // with the multipliers at which nothing pushes
        l->state.stop = ILQR_OPTIMAL, look(l, ilqr_states(solver), ilqr_controls(solver), true);
    else if (l->state.round >= MOST_ROUNDS ||
             (s.stop == ILQR_STUCK && !l->steps && (l->now <= l->tolerance || l->mu >= MOST_PENALTY)))
        l->state.stop = ILQR_STUCK;
    else next_round(l, solver);
}

ctn_status lagrangian_step(lagrangian *l, ilqr *solver, ctn_error *err)
{
    if (!lagrangian_begins(l, solver)) return CTN_OK;
    const ctn_status status = ilqr_step(solver, err);
    if (status == CTN_OK) lagrangian_ends(l, solver);
    return status;
}

lagrangian_state lagrangian_get_state(const lagrangian *l) { return l->state; }
const double *lagrangian_multipliers(const lagrangian *l) { return l->lambda; }

double lagrangian_row(const lagrangian *l, int i, int *active)
{
    *active = 0;
    for (int k = 0; k <= l->plant->knots; k++) *active += l->lambda[(size_t)k * (size_t)l->limits->rows + (size_t)i] != 0;
    return l->missed[i];
}

size_t lagrangian_numbers(const lagrangian *l)
{
    return LAGRANGIAN_NUMBERS + ((size_t)l->plant->knots + 1) * (size_t)l->limits->rows;
}

void lagrangian_flatten(lagrangian *l, bool load, double *flat)
{
    double numbers[LAGRANGIAN_NUMBERS] = {l->mu, l->before, l->steps, l->state.round, l->state.stop};
    const size_t rest = lagrangian_numbers(l) - LAGRANGIAN_NUMBERS;
    double *const lambda = flat + LAGRANGIAN_NUMBERS;
    memcpy(load ? numbers : flat, load ? flat : numbers, sizeof numbers);
    memcpy(load ? l->lambda : lambda, load ? lambda : l->lambda, rest * sizeof *lambda);
    if (!load) return;
    l->mu = numbers[0], l->before = numbers[1], l->steps = (int)numbers[2];
    l->state.round = (int)numbers[3], l->state.stop = (ilqr_stop)numbers[4], l->state.penalty = l->mu;
}
