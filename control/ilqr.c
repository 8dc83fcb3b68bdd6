#include "control/ilqr_device.h"
#include "control/ilqr_parts.h"
#include "control/ilqr_rooms.h"

#include "sim/base/matrix.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double RHO_LEAST = 0.01, RHO_MOST = 1e7;
static const double AT_END = 1e-2;  // a gradient from which on rho may be 0: what regularises for good makes the end slow
static const double NEAR = 0.1, NEARER = 0.1;  // gradients from which on second derivatives count, and count again
static const double ROUNDING = 1e-14;          // of a cost: what an iteration expects to gain is not seen in it any more

ilqr_config ilqr_default_config(void)
{
    return (ilqr_config){.backward = 1, .forward = 1, .alphas = 16, .rho = 1, .tolerance = 1e-6};
}

/// What second derivatives are found in.
static size_t deal_second(ilqr *s, double *x)
{
    const plant *const p = s->plant;
    const size_t N = (size_t)p->knots, n = (size_t)p->n, m = (size_t)p->m, nx = (size_t)p->nx;
    ilqr_second_room *const r = &s->second;
    const ilqr_numbers_row rows[] = {{&r->p, (N + 1) * n},
                                     {&r->X, (N + 1) * nx},
                                     {&r->U, N * m},
                                     {&r->dx, n},
                                     {&r->by, N + 1},
                                     {&r->A, N * n * n},
                                     {&r->B, N * n * m},
                                     {&r->costs.x, (N + 1) * n},
                                     {&r->costs.u, (N + 1) * m},
                                     {&r->costs.xx, (N + 1) * n * n},
                                     {&r->costs.uu, (N + 1) * m * m},
                                     {&r->costs.ux, (N + 1) * m * n},
                                     {&r->by_x, (N + 1) * n},
                                     {&r->by_u, (N + 1) * m},
                                     {&r->moved_x, (N + 1) * n},
                                     {&r->moved_u, (N + 1) * m},
                                     {&r->H, (N + 1) * (n + m) * (n + m)}};
    return ilqr_deal(rows, sizeof rows / sizeof *rows, x);
}

/// What an iteration works in.
static size_t deal_work(ilqr *s, double *x)
{
    const plant *const p = s->plant;
    const size_t room = (size_t)pool_threads(p->threads) * ilqr_knot_work(p) + 2 * (size_t)p->n + (size_t)p->m;
    const size_t own = ilqr_deal_work(s, room, x);
    return s->cfg.second ? own + deal_second(s, x ? x + own : NULL) : own;
}

size_t ilqr_work_numbers(const plant *p, const ilqr_config *cfg) { return deal_work(&(ilqr){.plant = p, .cfg = *cfg}, NULL); }

size_t ilqr_bytes(const plant *p, const ilqr_config *cfg)
{
    ilqr s = {.plant = p, .cfg = *cfg};
    return sizeof s + (ilqr_deal_kept(&s, NULL) + deal_work(&s, NULL)) * sizeof(double);
}

void ilqr_lend(ilqr *s, double *work)
{
    deal_work(s, work);
    s->linear = false;
}

ilqr *ilqr_open(const plant *p, const ilqr_config *cfg, ctn_error *err)
{
    if (cfg->backward < 1 || cfg->backward > p->knots || cfg->forward < 1 || cfg->forward > p->knots)
        return fail(err, CTN_BAD_ARGUMENT, "blocks: expected 1 to %d, the number of knots, found %d backward and %d forward",
                    p->knots, cfg->backward, cfg->forward),
               NULL;
    if (p->n > MOST_NUMBERS || p->m > MOST_NUMBERS)
        return fail(err, CTN_BAD_ARGUMENT, "a knot of %d states and %d controls has matrices beyond the %d rows of this version",
                    p->n, p->m, MOST_NUMBERS),
               NULL;
    if (cfg->alphas < 1 || cfg->alphas > MOST_ALPHAS || !(cfg->rho >= 0) || !(cfg->tolerance >= 0))
        return fail(err, CTN_BAD_ARGUMENT, "expected 1 to %d alphas, and a rho and tolerance of 0 or more", MOST_ALPHAS), NULL;
    ilqr *const s = calloc(1, sizeof *s);
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for a trajectory"), NULL;
    s->plant = p, s->cfg = *cfg, s->sweeps = ilqr_sweeps();
    const size_t kept = ilqr_deal_kept(s, NULL), all = kept + (cfg->lent ? 0 : deal_work(s, NULL));
    const int points = cfg->alphas * cfg->forward;
    s->memory = calloc(all + 8, sizeof(double)), s->knots = calloc((size_t)p->knots + 1, sizeof *s->knots);
    s->blocks = calloc((size_t)cfg->backward, sizeof *s->blocks);
    if (!s->memory || !s->knots || !s->blocks || !ilqr_points_open(&s->points, p, points < p->most ? points : p->most)) {
        ilqr_close(s);
        return fail(err, CTN_NO_MEMORY, "not enough memory for a horizon of %d knots, which takes %.0f MB", p->knots,
                    (double)all * sizeof(double) / 1e6),
               NULL;
    }
    ilqr_deal_kept(s, s->memory);
    if (!cfg->lent) deal_work(s, (double *)s->memory + kept);
    for (int k = 0; k <= p->knots; k++) s->knots[k] = k;
    for (int i = 0; i < p->m; i++) {
        s->lower[i] = cfg->lower ? cfg->lower[i] : -INFINITY, s->upper[i] = cfg->upper ? cfg->upper[i] : INFINITY;
        if (s->lower[i] <= s->upper[i]) continue;
        fail(err, CTN_BAD_ARGUMENT, "control %d: its lower bound %g is above its upper one, %g", i, s->lower[i], s->upper[i]);
        ilqr_close(s);
        return NULL;
    }
    if (!cfg->lower && !cfg->upper) s->lower = s->upper = NULL;
    s->cfg.lower = s->cfg.upper = NULL;
    if (!p->there || ilqr_go_there(s, err) == CTN_OK) return s;
    ilqr_close(s);
    return NULL;
}

void ilqr_close(ilqr *s)
{
    if (!s) return;
    ilqr_leave_there(s);
    ilqr_points_close(&s->points);
    free(s->memory), free(s->knots), free(s->blocks);
    free(s);
}

double ilqr_largest_defect(const ilqr *s)
{
    double most = 0;
    for (int k = 0; k < s->plant->knots; k++) {
        const double *const d = ilqr_row(s->d, k, s->plant->n);
        double sum = 0;
        for (int i = 0; i < s->plant->n; i++) sum += fabs(d[i]);
        most = fmax(most, sum);
    }
    return most;
}

double ilqr_cost(ilqr *s)
{
    const plant *const p = s->plant;
    p->cost(p->context, p->knots, s->knots, s->X, s->U, s->each);
    p->cost(p->context, 1, &s->knots[p->knots], ilqr_row(s->X, p->knots, p->nx), s->u, s->each + p->knots);
    double sum = 0;
    for (int k = 0; k <= p->knots; k++) sum += s->each[k];
    return sum;
}

/// Of a guess.
static ctn_status try_guess(ilqr *s, ctn_error *err)
{
    const double *const x0 = s->X;
    int fails;
    const ctn_status status = ilqr_roll_out(&s, 1, &x0, false, &fails, &s->points, err);
    if (status != CTN_OK) return status;
    if (fails < s->plant->knots)
        return fail(err, CTN_FROZEN,
                    "the guess does not live through knot %d; take another `guess` in `optimize`, or a smaller dt", fails);
    return isfinite(s->state.cost)
               ? CTN_OK
               : fail(err, CTN_FROZEN, "what the guess costs is not finite; take another `guess` in `optimize`, or a smaller dt");
}

static void begin(ilqr *s, const double *U)
{
    const size_t m = (size_t)s->plant->m, all = (size_t)s->plant->knots * m;
    memcpy(s->U, U, all * sizeof *U);
    for (size_t k = 0; k < all && s->lower; k++) s->U[k] = fmin(fmax(s->U[k], s->lower[k % m]), s->upper[k % m]);
    s->state = (ilqr_state){.rho = s->cfg.rho};
    s->delta = 1, s->valued = s->graded = false, s->near = NEAR;
    memset(s->kappa, 0, all * sizeof *s->kappa);
    memset(s->K, 0, all * (size_t)s->plant->n * sizeof *s->K);
}

ctn_status ilqr_begin_from(ilqr *s, const double *X, const double *U, ctn_error *err)
{
    begin(s, U);
    memcpy(s->X, X, ((size_t)s->plant->knots + 1) * (size_t)s->plant->nx * sizeof *X);
    return try_guess(s, err);
}

ctn_status ilqr_begin(ilqr *s, const double *x0, const double *U, ctn_error *err)
{
    const int forward = s->cfg.forward;
    begin(s, U);
    memcpy(s->X, x0, (size_t)s->plant->nx * sizeof *x0);
    s->cfg.forward = 1;
    const ctn_status status = try_guess(s, err);
    s->cfg.forward = forward;
    return status;
}

/// The values at the ends of backward blocks are those of this pass, at the states that are there now, X from `old`.
static void keep_values(ilqr *s, const double *old)
{
    const plant *const p = s->plant;
    const int n = p->n, nx = p->nx;
    for (int b = 0; b + 1 < s->cfg.backward; b++) {
        const int k = block_at(p->knots, s->cfg.backward, b + 1);
        double *const P = ilqr_row(s->end_P, b, n * n), *const v = ilqr_row(s->end_s, b, n), *const dx = s->work;
        memcpy(P, ilqr_row(s->P, k, n * n), (size_t)(n * n) * sizeof *P), memcpy(v, ilqr_row(s->s, k, n), (size_t)n * sizeof *v);
        if (!old) continue;
        p->difference(p->context, ilqr_row((double *)old, k, nx), ilqr_row(s->X, k, nx), dx);
        matrix_multiply(n, n, 1, 1, P, dx, v);
    }
}

static bool rho_up(ilqr *s)
{
    s->delta = fmax(1.25 * s->delta, 1.25), s->state.rho = fmax(s->state.rho * s->delta, RHO_LEAST);
    return s->state.rho <= RHO_MOST;
}

/// Where second derivatives count it falls to 0 below its least value [Tassa, Erez, Todorov 2012], as it would damp their steps.
static void rho_down(ilqr *s)
{
    s->delta = fmin(s->delta / 1.25, 1 / 1.25);
    const double rho = s->state.rho * s->delta;
    s->state.rho = rho >= RHO_LEAST ? rho : s->cfg.second || s->state.gradient < AT_END ? 0 : RHO_LEAST;
}

/// What the old trajectory is judged by, as the new ones are.
static double own_merit(ilqr *s)
{
    const plant *const p = s->plant;
    const int n = p->n;
    double M = 0, *const Pd = s->work;
    for (int b = 0; b + 1 < s->cfg.forward && !s->cfg.cost_alone; b++) {
        const int k = block_at(p->knots, s->cfg.forward, b + 1);
        const double *const d = ilqr_row(s->d, k - 1, n);
        memset(Pd, 0, (size_t)n * sizeof *Pd), matrix_multiply(n, n, 1, 1, ilqr_row(s->P, k, n * n), d, Pd);
        for (int i = 0; i < n; i++) M += ilqr_row(s->s, k, n)[i] * d[i] + 0.5 * d[i] * Pd[i];
    }
    return s->state.cost + M;
}

/// The best of what was tried, -1: none. z compares what it gains with what was expected.
static int choose(ilqr *s)
{
    const double merit = own_merit(s);
    if (-(s->linear_gain + s->quadratic_gain) <= 1e-12 * fabs(s->state.cost) && s->tried[0] && isfinite(s->tried_J[0]))
        return 0;  // J resolves no more
    int best = -1;
    for (int a = 0; a < s->cfg.alphas; a++) {
        const double alpha = ldexp(1, -a), expected = alpha * s->linear_gain + alpha * alpha * s->quadratic_gain;
        const double z = (s->tried_M[a] - merit) / expected;
        if (!s->tried[a] || !(expected < 0) || !(z > 0.05) || !(s->tried_defect[a] < 1)) continue;
        if (best < 0 || s->tried_M[a] < s->tried_M[best]) best = a;
    }
    return best;
}

static void accept(ilqr *s, int a)
{
    const plant *const p = s->plant;
    const int N = p->knots, n = p->n;
    const size_t states = (size_t)(N + 1) * (size_t)p->nx, controls = (size_t)N * (size_t)p->m;
    memcpy(s->U, s->tried_U + (size_t)a * controls, controls * sizeof *s->U);
    double *const old = s->tried_X + (size_t)a * states;  // they change places
    for (size_t k = 0; k < states; k++) {
        const double x = s->X[k];
        s->X[k] = old[k], old[k] = x;
    }
    keep_values(s, old);
    memset(s->d, 0, (size_t)N * (size_t)n * sizeof *s->d);
    for (int b = 0; b + 1 < s->cfg.forward; b++)
        memcpy(ilqr_row(s->d, block_at(N, s->cfg.forward, b + 1) - 1, n),
               ilqr_row(s->tried_d + (size_t)a * (size_t)s->cfg.forward * (size_t)n, b, n), (size_t)n * sizeof *s->d);
    s->state.cost = s->tried_J[a], s->state.defect = s->tried_defect[a], s->state.alpha = ldexp(1, -a);
    s->linear = false;
}

static void derive_costs(ilqr *s, const double *X, const double *U, const plant_costs *c)
{
    const plant *const p = s->plant;
    const size_t N = (size_t)p->knots, n = (size_t)p->n, m = (size_t)p->m;
    p->cost_derivatives(p->context, p->knots, s->knots, X, U, c);
    const plant_costs end = {c->x + N * n, c->u + N * m, c->xx + N * n * n, c->uu + N * m * m, c->ux + N * m * n};
    p->cost_derivatives(p->context, 1, &s->knots[N], X + N * (size_t)p->nx, s->u, &end);
}

ctn_status ilqr_derive(ilqr *s, const double *X, const double *U, double *A, double *B, const plant_costs *costs, ctn_error *err)
{
    const ctn_status status = s->plant->linearise(s->plant->context, X, U, A, B, err);
    if (status == CTN_OK) derive_costs(s, X, U, costs);
    return status;
}

/// Gauss-Newton's second derivatives again: those of all led to nothing at this gradient.
static void refuse_newton(ilqr *s, double gradient)
{
    derive_costs(s, s->X, s->U, &s->costs);
    s->newton = false, s->near = NEARER * gradient;
}

/// Derivatives at X, U; near the optimum of all to second order, where they are to be had.
static ctn_status linearise(ilqr *s, ctn_error *err)
{
    const bool newton = s->cfg.second && s->graded && s->state.gradient <= s->near;
    if (s->linear && s->newton == newton) return CTN_OK;
    const ctn_status status = ilqr_derive(s, s->X, s->U, s->A, s->B, &s->costs, err);
    if (status != CTN_OK) return status;
    s->linear = true, s->newton = newton;
    if (!newton) return CTN_OK;
    const ctn_status found = ilqr_find_second(s, err);
    if (found == CTN_UNAVAILABLE) refuse_newton(s, s->state.gradient);  // a knot beside this one has no derivative
    else if (found != CTN_OK) s->linear = false;
    return found == CTN_UNAVAILABLE ? CTN_OK : found;
}

bool ilqr_begins(ilqr *s, ilqr_turn *t, ctn_error *err)
{
    t->before = s->state, t->delta = s->delta, t->status = CTN_OK;
    if (s->state.stop != ILQR_RUNS) return false;
    if ((t->status = linearise(s, err)) != CTN_OK) return false;
    t->blocks = s->valued || s->cfg.zero_start ? s->cfg.backward : 1;
    if (!s->valued && s->cfg.zero_start) {
        const size_t rows = (size_t)s->cfg.backward * (size_t)s->plant->n;
        memset(s->end_P, 0, rows * (size_t)s->plant->n * sizeof *s->end_P);
        memset(s->end_s, 0, rows * sizeof *s->end_s);
    }
    return true;
}

bool ilqr_goes_on(ilqr *s, ilqr_turn *t, bool valued, ctn_error *err)
{
    for (bool good = valued; !good;) {
        if (!s->there) good = ilqr_backward(s, t->blocks);
        else if ((t->status = ilqr_backward_there(s, t->blocks, &good, err)) != CTN_OK) return ilqr_ends(s, t, false), false;
        if (good) break;
        if (s->newton) refuse_newton(s, t->before.gradient);  // they have no minimum
        else if (!rho_up(s)) return s->state.stop = ILQR_STUCK, false;
    }
    s->state.alpha = 0;
    const bool resolved = -(s->linear_gain + s->quadratic_gain) <= ROUNDING * fabs(s->state.cost);
    if ((s->state.gradient <= s->cfg.tolerance || (resolved && t->blocks == 1)) && s->state.defect <= s->cfg.tolerance)
        return keep_values(s, NULL), s->valued = true, s->state.stop = ILQR_OPTIMAL, false;
    return true;
}

void ilqr_ends(ilqr *s, const ilqr_turn *t, bool played)
{
    if (!played) {  // as if it had not begun
        s->state = t->before, s->delta = t->delta;
        return;
    }
    s->valued = s->graded = true;
    s->state.iteration++;
    const int best = choose(s);
    if (best >= 0) accept(s, best), rho_down(s);
    else {
        keep_values(s, NULL);
        if (s->newton) s->near = NEARER * t->before.gradient;  // before anything is damped
        else if (!rho_up(s)) s->state.stop = ILQR_STUCK;
    }
}

void ilqr_moved_on(ilqr *s)
{
    const double rho = s->state.stop == ILQR_STUCK ? s->cfg.rho : s->state.rho;
    s->state = (ilqr_state){.rho = rho, .cost = s->state.cost, .gradient = s->state.gradient};
    s->valued = false, s->near = NEAR;
}

void ilqr_judge_again(ilqr *s)
{
    s->state.cost = ilqr_cost(s), s->state.stop = ILQR_RUNS, s->state.rho = s->cfg.rho, s->delta = 1, s->near = NEAR;
    s->linear = s->valued = false;
}

/// Hands out, or takes in, so many numbers; moves on.
static void move_numbers(double *own, size_t n, bool load, double **flat)
{
    memcpy(load ? own : *flat, load ? *flat : own, n * sizeof *own);
    *flat += n;
}

enum { STATE_NUMBERS = 11 };

size_t ilqr_numbers(const ilqr *s)
{
    const plant *const p = s->plant;
    const size_t N = (size_t)p->knots, n = (size_t)p->n, m = (size_t)p->m, back = (size_t)s->cfg.backward;
    return STATE_NUMBERS + (N + 1) * (size_t)p->nx + N * m + N * n + back * (n * n + n) + N * m * (n + 1);
}

void ilqr_flatten(ilqr *s, bool load, double *flat)
{
    const plant *const p = s->plant;
    const size_t N = (size_t)p->knots, n = (size_t)p->n, m = (size_t)p->m, back = (size_t)s->cfg.backward;
    ilqr_state *const x = &s->state;
    double numbers[STATE_NUMBERS] = {x->iteration,      x->cost, x->defect, x->gradient, x->rho, x->alpha,
                                     (double)x->failed, x->stop, s->delta,  s->valued,   s->near};
    move_numbers(numbers, STATE_NUMBERS, load, &flat);
    if (load) {
        *x = (ilqr_state){(int)numbers[0], numbers[1], numbers[2],       numbers[3],
                          numbers[4],      numbers[5], (long)numbers[6], (ilqr_stop)numbers[7]};
        s->delta = numbers[8], s->valued = numbers[9] != 0, s->near = numbers[10];
        s->linear = false, s->graded = x->iteration > 0;
    }
    move_numbers(s->X, (N + 1) * (size_t)p->nx, load, &flat), move_numbers(s->U, N * m, load, &flat);
    move_numbers(s->d, N * n, load, &flat), move_numbers(s->end_P, back * n * n, load, &flat);
    move_numbers(s->end_s, back * n, load, &flat), move_numbers(s->K, N * m * n, load, &flat);
    move_numbers(s->kappa, N * m, load, &flat);
}

ilqr_state ilqr_get_state(const ilqr *s) { return s->state; }
const double *ilqr_states(const ilqr *s) { return s->X; }
const double *ilqr_controls(const ilqr *s) { return s->U; }
const double *ilqr_gains(const ilqr *s) { return s->K; }
const double *ilqr_feedforward(const ilqr *s) { return s->kappa; }
const double *ilqr_tried(const ilqr *s) { return s->tried_J; }

const double *ilqr_value(const ilqr *s, int knot, const double **gradient)
{
    const size_t n = (size_t)s->plant->n, k = (size_t)knot;
    if (gradient) *gradient = s->s + k * n;
    return s->P + k * n * n;
}

void ilqr_expected(const ilqr *s, double *linear, double *quadratic) { *linear = s->linear_gain, *quadratic = s->quadratic_gain; }
