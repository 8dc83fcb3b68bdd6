/// Gradients of what intervals earn: those of the quantities that reward.c has, by the state and by what motors are told. What is
/// of links pulls at them (sim/batch/motion_pullback.h), what is of motors goes by the derivatives of their map.
#include "control/reward_parts.h"

#include "sim/batch/motion_pullback.h"

#include <catena/motors.h>
#include <math.h>
#include <string.h>

/// Where gradients of one world go; each may be NULL.
typedef struct {
    double *q, *v, *u, *u_before;
} sinks;

static void add(double *to, size_t k, double x)
{
    if (to) to[k] += x;
}

/// What the gradient of a term's quantity counts: in what the interval of world i of a block earns, or in what the next one does.
static double factor_of(const reward *r, const reward_states *s, int i, int k, bool next)
{
    const scene_reward *const t = &r->terms[k];
    const size_t w = (size_t)(s->first + i);
    const bool here = reward_within(t, s->time[w], s->dt);
    if (t->term == REWARD_ALIVE) return 0;
    if (next) return t->at_end && here && !r->ended[w] && reward_within(t, s->time[w] + s->dt, s->dt) ? -t->weight : 0;
    return t->weight * (!t->at_end ? reward_share(t, s->time[w], s->dt) : here ? 1 : 0);
}

// ---- terms of links

static bool is_of_links(reward_term term)
{
    return term == REWARD_PROGRESS || term == REWARD_SPEED || term == REWARD_HEIGHT || term == REWARD_UPRIGHT ||
           term == REWARD_REACH;
}

/// y = s x.
static void scaled(double s, const double *x, double *y)
{
    for (int k = 0; k < 3; k++) y[k] = s * x[k];
}

/// The derivative of a number, or of the square of what it misses its target by.
static double missing_slope(const scene_reward *t, double x) { return isnan(t->target[0]) ? 1 : 2 * (x - t->target[0]); }

/// By the place of a term's point, or by its velocity.
static void pull_at(const motion_pullback *m, const scene_reward *t, const double *by, bool velocity)
{
    double x[3];
    if (t->link < 0) {
        pull_com(m, -1, m->dyn->model->nbody, by, velocity);
        return;
    }
    motion_of_point(m, t->link, t->point, x, NULL);
    (velocity ? pull_velocity : pull_place)(m, t->link, x, by);
}

/// A term of links of world i of a block, times a factor.
static void pull_term(const reward *r, const motion_pullback *m, int i, int k, double factor)
{
    static const double up[3] = {0, 0, 1};
    const scene_reward *const t = &r->terms[k];
    double x[3], by[3], length = 0;
    switch (t->term) {
    case REWARD_PROGRESS: scaled(factor, t->axis, by), pull_at(m, t, by, false); break;
    case REWARD_SPEED:
        reward_velocity(r, t, i, x);
        scaled(factor * missing_slope(t, t->axis[0] * x[0] + t->axis[1] * x[1] + t->axis[2] * x[2]), t->axis, by);
        pull_at(m, t, by, true);
        break;
    case REWARD_HEIGHT:
        reward_position(r, t, i, x);
        scaled(factor * missing_slope(t, x[2]), up, by), pull_at(m, t, by, false);
        break;
    case REWARD_UPRIGHT:  // d . (x, up) of a turn d is (d x x) . up
        reward_turned(r, t->link, i, t->axis, x);
        by[0] = factor * x[1], by[1] = -factor * x[0], by[2] = 0;
        pull_turn(m, t->link, by);
        break;
    default:  // reach
        reward_position(r, t, i, x);
        for (int c = 0; c < 3; c++) x[c] -= t->target[c], length += x[c] * x[c];
        length = sqrt(length);
        scaled(length > 0 ? factor / length : 0, x, by), pull_at(m, t, by, false);
    }
}

// ---- terms of joints and motors

/// Adds a term's gradient by what motors give, and what it has by q, v and u besides.
static void add_term(reward *r, const reward_states *s, int i, int k, double factor, const sinks *to)
{
    const size_t w = (size_t)(s->first + i), nv = (size_t)r->nv, nu = (size_t)r->nu;
    const bool *const counts = r->counts + (size_t)k * nv;
    const double *const v = s->v + w * nv;
    switch (r->terms[k].term) {
    case REWARD_POSTURE:  // the turn from home to a ball, a, changes by d along its own axis alone: a . d
        for (size_t j = 0; j < nv; j++)
            if (counts[j]) add(to->q, j, factor * 2 * r->away[(size_t)i * nv + j]);
        break;
    case REWARD_EFFORT:
        for (size_t j = 0; j < nv; j++)
            if (counts[j]) r->by_tau[j] += factor * 2 * r->tau[(size_t)i * nv + j];
        break;
    case REWARD_ENERGY:
        for (size_t j = 0; j < nv; j++) {
            const double tau = r->tau[(size_t)i * nv + j], power = tau * v[j];
            const double side = !counts[j] || power == 0 ? 0 : power > 0 ? factor : -factor;
            r->by_tau[j] += side * v[j], add(to->v, j, side * tau);
        }
        break;
    case REWARD_SMOOTHNESS:
        for (size_t j = 0; j < nu && s->u && r->told_earlier[w]; j++) {
            const double x = factor * 2 * (s->u[w * nu + j] - r->earlier[w * nu + j]) / (s->dt * s->dt);
            add(to->u, j, x), add(to->u_before, j, -x);
        }
        break;
    default: break;
    }
}

/// The derivatives of what motors give, of `n` states of one time.
static void measure_motor_slopes(reward *r, const reward_states *s, int i, int n)
{
    const size_t w = (size_t)(s->first + i);
    const double *const q = s->q + w * (size_t)r->nq, *const v = s->v + w * (size_t)r->nv;
    ctn_dynamics_set_time(r->dyn, s->time[w]);
    ctn_motor_map_derivatives(r->dyn, n, q, v, s->u ? s->u + w * (size_t)r->nu : NULL, r->tau_by_q, r->tau_by_v, r->tau_by_u);
}

/// Takes the gradient by what motors give on to q, v, u. g: which state of its group.
static void add_motors(const reward *r, int g, const sinks *to)
{
    const size_t nv = (size_t)r->nv, nu = (size_t)r->nu;
    for (size_t i = 0; i < nv; i++) {
        const double by = r->by_tau[i];
        const size_t row = (size_t)g * nv + i;
        if (by == 0) continue;
        for (size_t j = 0; j < nv; j++)
            add(to->q, j, by * r->tau_by_q[row * nv + j]), add(to->v, j, by * r->tau_by_v[row * nv + j]);
        for (size_t j = 0; j < nu; j++) add(to->u, j, by * r->tau_by_u[row * nu + j]);
    }
}

// ---- worlds

/// Of world i of a block, state g of its group.
static void add_world(reward *r, const reward_states *s, int i, int g, bool next, const sinks *to)
{
    const size_t w = (size_t)(s->first + i);
    motion_pullback m = {.dyn = NULL};  // while nothing asks for it
    memset(r->by_tau, 0, (size_t)r->nv * sizeof *r->by_tau);
    for (int k = 0; k < r->nterm; k++) {
        const double factor = factor_of(r, s, i, k, next);
        if (factor == 0) continue;
        if (!is_of_links(r->terms[k].term)) {
            add_term(r, s, i, k, factor, to);
            continue;
        }
        if (!m.dyn) m = motion_pullback_at(r->dyn, s->q + w * (size_t)r->nq, s->v + w * (size_t)r->nv);
        pull_term(r, &m, i, k, factor);
    }
    if (m.dyn) motion_pullback_end(&m, to->q, to->v);
    if (r->tau) add_motors(r, g, to);
}

static double *at(double *x, size_t n) { return x ? x + n : NULL; }

static void clear(double *x, size_t n)
{
    if (x) memset(x, 0, n * sizeof *x);
}

void reward_gradient(reward *r, const double *time, double dt, const double *q, const double *v, const double *u,
                     const reward_gradients *to)
{
    const size_t nv = (size_t)r->nv, nu = (size_t)r->nu, all = (size_t)r->worlds * nv, told = (size_t)r->worlds * nu;
    reward_states s = {.dt = dt, .time = time, .q = q, .v = v, .u = u};
    clear(to->q, all), clear(to->v, all), clear(to->next_q, all), clear(to->next_v, all);
    clear(to->u, told), clear(to->u_before, told), clear(to->next_u, told);
    for (int first = 0; first < r->worlds; first += r->block) {
        bool any = false;
        s.first = first, s.count = r->worlds - first < r->block ? r->worlds - first : r->block;
        for (int i = 0; i < s.count; i++) any = any || r->counted[first + i];
        if (!any) continue;
        reward_measure(r, &s);
        for (int i = 0, n; i < s.count; i += n) {
            for (n = 1; n < REWARD_GROUP && i + n < s.count && time[first + i + n] == time[first + i];) n++;
            if (r->tau) measure_motor_slopes(r, &s, i, n);
            for (int g = 0; g < n; g++) {
                const size_t w = (size_t)(first + i + g);
                const sinks now = {at(to->q, w * nv), at(to->v, w * nv), at(to->u, w * nu), at(to->u_before, w * nu)};
                const sinks next = {at(to->next_q, w * nv), at(to->next_v, w * nv), at(to->next_u, w * nu), NULL};
                if (!r->counted[w]) continue;
                if (now.q || now.v || now.u || now.u_before) add_world(r, &s, i + g, g, false, &now);
                if (next.q || next.v || next.u) add_world(r, &s, i + g, g, true, &next);
            }
        }
    }
}
