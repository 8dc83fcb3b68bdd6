#include "control/mpc.h"

#include "control/ilqr.h"
#include "control/sampling.h"
#include "control/scene_plant.h"
#include "sim/base/clock.h"
#include "sim/base/matrix.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mpc {
    scene_mpc how;
    scene_plant *plan;
    ilqr *solver;                 // or
    sampling *sampler;            // by the planner
    int first;                    // iterations of first plans
    int nv, nu, ncost, followed;  // knots since the time of costs began
    bool bounded;
    double *squares, *most;  // [ncost] of distances in these
    double *guess;           // [knots][nu]
    double origin;           // s, at which knot 0 would have begun
    double *next, *dx, *lower, *upper, *noise, *memory;
    mpc_state state;
};

static bool open_room(mpc *m, size_t nx)
{
    const size_t nu = (size_t)m->nu, ncost = (size_t)m->ncost;
    m->memory = calloc(nx + 2 * (size_t)m->nv + 3 * nu + 2 * ncost + 1, sizeof *m->memory);
    if (!m->memory) return false;
    m->next = m->memory, m->dx = m->next + nx, m->lower = m->dx + 2 * m->nv, m->upper = m->lower + nu, m->noise = m->upper + nu;
    m->squares = m->noise + nu, m->most = m->squares + ncost;
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
    m->sampler = sampling_open(scene_plant_of(m->plan), &own, err);
    return m->sampler ? CTN_OK : CTN_NO_MEMORY;
}

static ctn_status open_solver(mpc *m, const scene_optimize *o, ctn_error *err)
{
    ilqr_config own = ilqr_default_config();
    own.alphas = o->alphas, own.rho = o->rho, own.tolerance = o->tolerance;
    own.lower = m->bounded ? m->lower : NULL, own.upper = m->bounded ? m->upper : NULL;
    m->solver = ilqr_open(scene_plant_of(m->plan), &own, err);
    return m->solver ? CTN_OK : CTN_NO_MEMORY;
}

static ctn_status begin(mpc *m, const double *x0, const double *U, ctn_error *err)
{
    if (m->solver) return ilqr_begin(m->solver, x0, U, err);
    sampling_begin(m->sampler, x0, U);
    return CTN_OK;
}

static ctn_status shift(mpc *m, const double *x0, ctn_error *err)
{
    if (m->solver) return ilqr_shift(m->solver, x0, err);
    sampling_shift(m->sampler, x0);
    return CTN_OK;
}

/// One iteration; false with CTN_OK: there is nothing to be gained any more.
static bool improve(mpc *m, ctn_status *status, ctn_error *err)
{
    if (!m->solver) return (*status = sampling_step(m->sampler, err)) == CTN_OK;
    *status = ilqr_step(m->solver, err);
    return *status == CTN_OK && ilqr_get_state(m->solver).stop == ILQR_RUNS;
}

/// Costs are those of a horizon that begins at `time`.
static void look_from(mpc *m, double time)
{
    const bool waits = isinf(m->state.started);
    costs_begin(scene_plant_costs(m->plan), waits ? 0 : time - m->state.started, waits);
}

void mpc_go_to(mpc *m, double time)
{
    if (m->state.time != time) m->origin = time - m->state.knot * m->state.length;
    m->state.time = time;
}

ctn_status mpc_begin(mpc *m, const double *x, double time, ctn_error *err)
{
    mpc_go_to(m, time);
    if (m->how.within > 0) m->state.started = INFINITY;
    look_from(m, time);
    ctn_status status = begin(m, x, m->guess, err);
    for (int k = 0; k < m->first && status == CTN_OK; k++)
        if (!improve(m, &status, err)) break;
    return status;
}

/// The first plan, from the scene's start.
static ctn_status plan_first(mpc *m, const ctn_scene *scene, const ctn_model *model, uint64_t seed, ctn_error *err)
{
    m->guess = calloc((size_t)scene_plant_of(m->plan)->knots * (size_t)m->nu + 1, sizeof *m->guess);
    if (!m->guess) return fail(err, CTN_NO_MEMORY, "not enough memory for a guess");
    scene_plant_guess(m->plan, m->guess);
    m->first = scene->optimize.iterations, m->bounded = scene_plant_bounds(m->plan, m->lower, m->upper);
    const ctn_status status =
        m->how.planner == PLANNER_ILQR ? open_solver(m, &scene->optimize, err) : open_samples(m, scene, seed, err);
    double *const start = m->next;
    ctn_model_initial_state(model, start, start + ctn_model_nq(model));
    return status == CTN_OK ? mpc_begin(m, start, 0, err) : status;
}

mpc *mpc_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const scene_mpc *how, uint64_t seed,
              ctn_error *err)
{
    mpc *const m = calloc(1, sizeof *m);
    if (!m) return fail(err, CTN_NO_MEMORY, "not enough memory for a plan"), NULL;
    m->how = *how, m->nv = ctn_model_nv(model), m->nu = ctn_model_ntarget(model), m->ncost = scene->optimize.ncost;
    const int points = how->planner == PLANNER_ILQR ? scene->optimize.alphas : how->samples;
    const bool limited = scene->optimize.nlimit;
    if (limited)
        fail_at(err, CTN_BAD_SCENE, scene->path, scene->optimize.at.line, scene->optimize.at.column, "optimize.limits",
                "are kept by catena optimize alone; a plan that is made anew has too few iterations to find their multipliers: "
                "write them as costs");
    const bool earns = !limited && scene->optimize.reward > 0;
    if (earns)
        fail_at(err, CTN_BAD_SCENE, scene->path, scene->optimize.at.line, scene->optimize.at.column, "optimize.reward",
                "counts in catena optimize alone in this version; write it as costs");
    bool opened = !limited && !earns && (m->plan = scene_plant_open(scene, model, cfg, how->horizon, points, err));
    if (opened && !open_room(m, (size_t)scene_plant_of(m->plan)->nx))
        opened = false, fail(err, CTN_NO_MEMORY, "not enough memory for a plan");
    const double knot = opened ? scene_plant_knot(m->plan) : 1;
    if (opened && how->deadline > knot)
        opened = false,
        fail(err, CTN_BAD_SCENE, "a plan has to be made within a knot of %g s, not within %g s; take longer knots", knot,
             how->deadline);
    m->state = (mpc_state){.length = knot, .started = how->within > 0 ? INFINITY : 0};
    if (opened && plan_first(m, scene, model, seed, err) == CTN_OK) return m;
    mpc_close(m);
    return NULL;
}

void mpc_close(mpc *m)
{
    if (!m) return;
    ilqr_close(m->solver), sampling_close(m->sampler), scene_plant_close(m->plan);
    free(m->memory), free(m->guess), free(m);
}

// ---- knots

/// Time begins where all that follows a target is near to it and slow; from then on it is told how far from it.
static void note_distances(mpc *m, const double *x)
{
    costs *const c = scene_plant_costs(m->plan);
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

/// What the plan has for where the plant is.
static void decide(const mpc *m, const double *x, double *u)
{
    const plant *const p = scene_plant_of(m->plan);
    memcpy(u, m->solver ? ilqr_controls(m->solver) : sampling_control(m->sampler), (size_t)m->nu * sizeof *u);
    if (!m->solver) return;
    p->difference(p->context, ilqr_states(m->solver), x, m->dx);
    matrix_multiply(m->nu, 2 * m->nv, 1, 1, ilqr_gains(m->solver), m->dx, u);
    for (int i = 0; i < m->nu && m->bounded; i++) u[i] = fmin(fmax(u[i], m->lower[i]), m->upper[i]);
}

/// The plan for the next knot, from where the model says that this one leads. By a deadline one iteration is always made, and
/// others while the longest one of them still fits in.
static ctn_status plan_next(mpc *m, const double *x, const double *u, ctn_error *err)
{
    const plant *const p = scene_plant_of(m->plan);
    const double began = clock_now();
    double longest = 0;
    bool good;
    ctn_status status = plant_step(p, x, u, m->next, &good, err);
    if (status == CTN_OK && !good) status = fail(err, CTN_FROZEN, "the model cannot step from where the plant is");
    if (status == CTN_OK) status = shift(m, m->next, err);
    double last = clock_now();
    for (int k = 0; status == CTN_OK; k++) {
        if (m->how.deadline > 0 ? k && last - began + longest > m->how.deadline : k >= m->how.iterations) break;
        if (!improve(m, &status, err)) break;
        const double after = clock_now();
        longest = fmax(longest, after - last), last = after;
    }
    if (status == CTN_OK && m->sampler && !sampling_get_state(m->sampler).round) status = sampling_judge(m->sampler, err);
    m->state.seconds = clock_now() - began;
    return status;
}

ctn_status mpc_step(mpc *m, const double *x, double *u, ctn_error *err)
{
    costs *const c = scene_plant_costs(m->plan);
    const int now = 0;
    double cost;
    note_distances(m, x);
    decide(m, x, u);
    costs_cost(c, 1, &now, x, u, &cost);
    const double after = m->origin + (m->state.knot + 1) * m->state.length;
    look_from(m, after);
    const ctn_status status = plan_next(m, x, u, err);
    if (status != CTN_OK) return status;
    m->state.knot++, m->state.time = after, m->state.cost += cost;
    m->state.planned = m->solver ? ilqr_get_state(m->solver).cost : sampling_get_state(m->sampler).cost;
    m->state.iterations = m->solver ? ilqr_get_state(m->solver).iteration : sampling_get_state(m->sampler).round;
    return CTN_OK;
}

mpc_state mpc_get_state(const mpc *m) { return m->state; }

bool mpc_distance(const mpc *m, int k, double *rms, double *most)
{
    *rms = m->followed ? sqrt(m->squares[k] / m->followed) : 0, *most = m->most[k];
    return m->most[k] > 0;
}
