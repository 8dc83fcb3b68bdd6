#include "control/mpc.h"

#include "control/mpc_parts.h"
#include "sim/base/clock.h"
#include "sim/base/matrix.h"
#include "sim/base/status.h"
#include "sim/engine/device.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool open_room(mpc *m)
{
    const size_t nx = (size_t)m->plan.plant.nx, nu = (size_t)m->nu, ncost = (size_t)m->ncost, dx = (size_t)m->plan.plant.n;
    m->memory = calloc(2 * nx + dx + 4 * nu + 2 * ncost + (size_t)m->nlimit + 1, sizeof *m->memory);
    if (!m->memory) return false;
    m->x = m->memory, m->last = m->x + nx, m->next = m->last + nu, m->dx = m->next + nx, m->lower = m->dx + dx,
    m->upper = m->lower + nu, m->noise = m->upper + nu;
    m->squares = m->noise + nu, m->most = m->squares + ncost, m->missed = m->most + ncost;
    return true;
}

// ---- the planner

static ctn_status open_samples(mpc *m, const ctn_scene *scene, uint64_t seed, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    for (int i = 0; i < m->nu; i++) {
        m->noise[i] = m->how.noise ? m->how.noise[i] : 0.05 * (m->upper[i] - m->lower[i]);
        if (!isfinite(m->noise[i]) || (!m->how.noise && !m->bounded))
            return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize.mpc.noise",
                           "missing; number %d of what motors are told has no bounds to take a share of", i);
    }
    const sampling_config own = {.mean = m->how.planner == PLANNER_MPPI,
                                 .samples = m->how.samples,
                                 .points = m->how.points,
                                 .temperature = m->how.temperature,
                                 .noise = m->noise,
                                 .lower = m->bounded ? m->lower : NULL,
                                 .upper = m->bounded ? m->upper : NULL,
                                 .seed = seed};
    m->sampler = sampling_open(&m->plan.plant, &own, err);
    return m->sampler ? CTN_OK : CTN_NO_MEMORY;
}

ilqr_config mpc_solver(const ctn_scene *scene)
{
    const scene_optimize *const o = &scene->optimize;
    ilqr_config own = ilqr_default_config();
    own.alphas = o->alphas, own.rho = o->rho, own.tolerance = o->tolerance, own.second = o->method == 2;
    return own;
}

static ctn_status open_solver(mpc *m, const ctn_scene *scene, bool lent, ctn_error *err)
{
    ilqr_config own = mpc_solver(scene);
    own.lower = m->bounded ? m->lower : NULL, own.upper = m->bounded ? m->upper : NULL, own.lent = lent;
    m->solver = ilqr_open(&m->plan.plant, &own, err);
    return m->solver ? CTN_OK : CTN_NO_MEMORY;
}

/// What is earned counts on the plant `own`.
static bool open_reward(mpc *m, const ctn_scene *scene, const ctn_model *model, ctn_error *err)
{
    if (!(scene->optimize.reward > 0)) return true;
    m->plan.reward = m->reward = reward_cost_open(scene, model, m->plan.plant.knots, m->state.length, err);
    if (m->reward) scene_plant_add(m->own, reward_cost_added(m->reward));
    return m->reward != NULL;
}

// ---- limits

void mpc_begin_limits(mpc *m)
{
    if (m->plan.lagrangian) plan_world_look(&m->plan), lagrangian_begin(m->plan.lagrangian);
}

void mpc_shift_limits(mpc *m)
{
    if (m->plan.lagrangian) plan_world_look(&m->plan), lagrangian_shift(m->plan.lagrangian);
}

void mpc_follow_limits(mpc *m)
{
    if (m->plan.lagrangian) plan_world_look(&m->plan), lagrangian_follow(m->plan.lagrangian, m->solver);
}

// ---- plans

const double *mpc_state_at(mpc *m, const double *x)
{
    memcpy(m->x, x, (size_t)m->nx * sizeof *x);
    if (m->plan.plant.carried) memcpy(m->x + m->nx, m->last, (size_t)m->nu * sizeof *x);
    return m->x;
}

static ctn_status begin(mpc *m, const double *x0, const double *U, ctn_error *err)
{
    mpc_begin_limits(m);
    if (m->solver) return ilqr_begin(m->solver, x0, U, err);
    sampling_begin(m->sampler, x0, U);
    return CTN_OK;
}

static ctn_status shift(mpc *m, const double *x0, ctn_error *err)
{
    mpc_shift_limits(m);
    if (m->solver) return ilqr_shift(m->solver, x0, err);
    sampling_shift(m->sampler, x0);
    return CTN_OK;
}

/// One iteration; false with CTN_OK: there is nothing to be gained any more.
static bool improve(mpc *m, ctn_status *status, ctn_error *err)
{
    if (!m->solver) return (*status = sampling_step(m->sampler, err)) == CTN_OK;
    lagrangian *const l = m->plan.lagrangian;
    *status = l ? lagrangian_step(l, m->solver, err) : ilqr_step(m->solver, err);
    return *status == CTN_OK && plan_world_runs(&m->plan, m->solver);
}

/// The time of costs, which may wait.
static double time_of(const mpc *m, double time) { return isinf(m->state.started) ? 0 : time - m->state.started; }

/// Costs are those of a horizon that begins at `time`, and so are limits and what is earned.
static void look_from(mpc *m, double time)
{
    m->plan.begin = time_of(m, time), m->plan.stands = isinf(m->state.started);
    plan_world_look(&m->plan);
}

ctn_status mpc_judge(mpc *m, ctn_error *err)
{
    if (m->sampler && !sampling_get_state(m->sampler).round) {
        const ctn_status status = sampling_judge(m->sampler, err);
        if (status != CTN_OK) return status;
    }
    m->state.planned = m->solver ? ilqr_get_state(m->solver).cost : sampling_get_state(m->sampler).cost;
    m->state.iterations = m->solver ? ilqr_get_state(m->solver).iteration : sampling_get_state(m->sampler).round;
    lagrangian *const l = m->plan.lagrangian;
    if (!l) return CTN_OK;
    const double *const X = ilqr_states(m->solver), *const U = ilqr_controls(m->solver);
    plan_world_look(&m->plan);
    if (!m->state.iterations) lagrangian_look(l, X, U);
    m->state.planned -= lagrangian_cost(l, X, U);
    m->state.violation = lagrangian_get_state(l).violation;
    return CTN_OK;
}

void mpc_go_to(mpc *m, double time)
{
    if (m->state.time != time) m->origin = time - m->state.knot * m->state.length;
    m->state.time = time;
}

void mpc_waits(mpc *m, double time)
{
    mpc_go_to(m, time);
    if (m->how.within > 0) m->state.started = INFINITY;
    look_from(m, time);
}

ctn_status mpc_begin(mpc *m, const double *x, double time, ctn_error *err)
{
    mpc_waits(m, time);
    ctn_status status = begin(m, mpc_state_at(m, x), m->guess, err);
    for (int k = 0; k < m->first && status == CTN_OK; k++)
        if (!improve(m, &status, err)) break;
    return status == CTN_OK ? mpc_judge(m, err) : status;
}

/// What makes plans.
static ctn_status open_planner(mpc *m, const ctn_scene *scene, uint64_t seed, bool lent, ctn_error *err)
{
    m->guess = calloc((size_t)m->plan.plant.knots * (size_t)m->nu + 1, sizeof *m->guess);
    if (!m->guess) return fail(err, CTN_NO_MEMORY, "not enough memory for a guess");
    scene_plant_guess(m->plan.on, m->guess);
    m->first = scene->optimize.iterations, m->bounded = scene_plant_bounds(m->plan.on, m->lower, m->upper);
    return m->how.planner == PLANNER_ILQR ? open_solver(m, scene, lent, err) : open_samples(m, scene, seed, err);
}

ctn_status mpc_check(const ctn_scene *scene, const scene_mpc *how, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    if (!o->nlimit || how->planner == PLANNER_ILQR) return CTN_OK;
    return fail_at(err, CTN_BAD_SCENE, scene->path, o->limits_at.line, o->limits_at.column, "optimize.limits",
                   "are kept by the planner ilqr alone, as samples have no multipliers; take it, or write them as costs");
}

mpc *mpc_make(const ctn_scene *scene, const ctn_model *model, const scene_mpc *how, uint64_t seed, scene_plant *on,
              limits *limits, bool lent, ctn_error *err)
{
    mpc *const m = calloc(1, sizeof *m);
    if (!m) return fail(err, CTN_NO_MEMORY, "not enough memory for a plan"), NULL;
    m->how = *how, m->nx = ctn_model_nq(model) + ctn_model_nv(model), m->nu = ctn_model_ntarget(model);
    m->ncost = scene->optimize.ncost, m->nlimit = scene->optimize.nlimit;
    plan_world_open(&m->plan, on);
    const double knot = scene_plant_knot(on);
    m->state = (mpc_state){.length = knot, .started = how->within > 0 ? INFINITY : 0};
    bool made = open_room(m);
    if (made) ctn_model_targets(model, m->last);
    if (!made) fail(err, CTN_NO_MEMORY, "not enough memory for a plan");
    if (made && how->deadline > knot)
        made = false, fail(err, CTN_BAD_SCENE, "a plan has to be made within a knot of %g s, not within %g s; take longer knots",
                           knot, how->deadline);
    made = made && (!limits || plan_world_limit(&m->plan, scene, limits, err));
    if (made && open_planner(m, scene, seed, lent, err) == CTN_OK) return m;
    mpc_close(m);
    return NULL;
}

mpc *mpc_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const scene_mpc *how, uint64_t seed,
              ctn_error *err)
{
    const int points = how->planner == PLANNER_ILQR ? scene->optimize.alphas : how->samples;
    if (mpc_check(scene, how, err) != CTN_OK) return NULL;
    if (device_asked(cfg->engine) && how->planner != PLANNER_ILQR)
        return fail(err, CTN_UNAVAILABLE, "engine: '%s' plays no samples in this version; take planner: ilqr, or 'auto'",
                    device_asked(cfg->engine)),
               NULL;
    scene_plant *const plan = scene_plant_open(scene, model, cfg, how->horizon, points, err);
    const bool limited = scene->optimize.nlimit > 0;
    limits *const own =
        plan && limited ? limits_open(scene, model, scene_plant_of(plan)->knots, scene_plant_knot(plan), err) : NULL;
    mpc *const m = plan && (own || !limited) ? mpc_make(scene, model, how, seed, plan, own, false, err) : NULL;
    if (!m) return limits_close(own), scene_plant_close(plan), NULL;
    m->own = plan, m->limits = own;
    double *const start = m->next;
    ctn_model_initial_state(model, start, start + ctn_model_nq(model));
    if (open_reward(m, scene, model, err) && mpc_begin(m, start, 0, err) == CTN_OK) return m;
    mpc_close(m);
    return NULL;
}

void mpc_close(mpc *m)
{
    if (!m) return;
    ilqr_close(m->solver), sampling_close(m->sampler), scene_plant_close(m->own);
    plan_world_close(&m->plan), limits_close(m->limits), reward_cost_close(m->reward);
    free(m->memory), free(m->guess), free(m);
}

// ---- knots

/// Time begins where all that follows a target is near to it and slow; from then on it is told how far from it.
static void note_distances(mpc *m, const double *x)
{
    costs *const c = scene_plant_costs(m->plan.on);
    double far, rate;
    bool near = true;
    look_from(m, m->state.time);
    for (int k = 0; k < m->ncost && isinf(m->state.started); k++)
        if (costs_distance(c, k, x, &far, &rate)) near = near && far < m->how.within && rate < m->how.slower;
    if (!near) return;
    if (isinf(m->state.started)) m->state.started = m->state.time, look_from(m, m->state.time);
    m->followed++;
    for (int k = 0; k < m->ncost; k++)
        if (costs_distance(c, k, x, &far, &rate)) m->squares[k] += far * far, m->most[k] = fmax(m->most[k], far);
}

/// How limits are kept where the plant is, and by what it is told there.
static void note_limits(mpc *m, const double *x, const double *u)
{
    for (int k = 0; k < m->nlimit && m->state.knot; k++)
        m->missed[k] = fmax(m->missed[k], limits_missed_at(m->plan.limits, k, time_of(m, m->state.time), x, u));
}

/// What x, u cost where the horizon begins, but for what limits add.
static double cost_now(const mpc *m, const double *x, const double *u)
{
    const int now = 0;
    double cost;
    costs_cost(scene_plant_costs(m->plan.on), 1, &now, x, u, &cost);
    if (!m->plan.reward) return cost;
    const added_cost earned = reward_cost_added(m->plan.reward);
    earned.cost(earned.context, 1, &now, x, u, &cost);
    return cost;
}

/// What the plan has for where the plant is.
static void decide(const mpc *m, const double *x, double *u)
{
    const plant *const p = &m->plan.plant;
    memcpy(u, m->solver ? ilqr_controls(m->solver) : sampling_control(m->sampler), (size_t)m->nu * sizeof *u);
    if (!m->solver) return;
    p->difference(p->context, ilqr_states(m->solver), x, m->dx);
    matrix_multiply(m->nu, p->n, 1, 1, ilqr_gains(m->solver), m->dx, u);
    for (int i = 0; i < m->nu && m->bounded; i++) u[i] = fmin(fmax(u[i], m->lower[i]), m->upper[i]);
}

/// The plan for the next knot, from where the model says that this one leads. By a deadline one iteration is always made, and
/// others while the longest one of them still fits in.
static ctn_status plan_next(mpc *m, const double *u, ctn_error *err)
{
    const plant *const p = &m->plan.plant;
    const double began = clock_now();
    double longest = 0;
    bool good;
    ctn_status status = plant_step(p, m->x, u, m->next, &good, err);
    if (status == CTN_OK && !good)
        status = fail(err, CTN_FROZEN,
                      "the model freezes in a step from where the plant is, at %g s: take a smaller dt, or another "
                      "method, for plans",
                      m->state.time);
    if (status == CTN_OK) status = shift(m, m->next, err);
    double last = clock_now();
    for (int k = 0; status == CTN_OK; k++) {
        if (m->how.deadline > 0 ? k && last - began + longest > m->how.deadline : k >= m->how.iterations) break;
        if (!improve(m, &status, err)) break;
        const double after = clock_now();
        longest = fmax(longest, after - last), last = after;
    }
    if (status == CTN_OK) status = mpc_judge(m, err);
    if (status == CTN_OK) mpc_follow_limits(m);
    m->state.seconds = clock_now() - began;
    return status;
}

/// When the next knot begins.
static double after_this(const mpc *m) { return m->origin + (m->state.knot + 1) * m->state.length; }

void mpc_tell(mpc *m, const double *x, double *u)
{
    x = mpc_state_at(m, x);
    note_distances(m, x);
    decide(m, x, u), note_limits(m, x, u);
    m->told = cost_now(m, x, u), memcpy(m->last, u, (size_t)m->nu * sizeof *u);
    look_from(m, after_this(m));
}

void mpc_move_on(mpc *m) { m->state.time = after_this(m), m->state.knot++, m->state.cost += m->told; }

ctn_status mpc_step(mpc *m, const double *x, double *u, ctn_error *err)
{
    mpc_tell(m, x, u);
    const ctn_status status = plan_next(m, u, err);
    if (status == CTN_OK) mpc_move_on(m);
    return status;
}

mpc_state mpc_get_state(const mpc *m) { return m->state; }

bool mpc_distance(const mpc *m, int k, double *rms, double *most)
{
    *rms = m->followed ? sqrt(m->squares[k] / m->followed) : 0, *most = m->most[k];
    return m->most[k] > 0;
}

double mpc_missed(const mpc *m, int k) { return m->missed[k]; }
