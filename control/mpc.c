#include "control/mpc.h"

#include "control/scene_plant.h"
#include "sim/base/clock.h"
#include "sim/base/matrix.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <catena/tapes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mpc {
    scene_plant *plan;
    ilqr *solver;
    ctn_tapes *plant;
    int nq, nv, nu, hold, iterations;
    bool bounded;
    double *x, *u, *next, *dx, *lower, *upper, *guess;
    mpc_state state;
};

static bool open_room(mpc *m)
{
    const size_t nx = (size_t)(m->nq + m->nv), nu = (size_t)m->nu, n = 2 * (size_t)m->nv;
    m->x = calloc(2 * nx + 3 * nu + n + 1, sizeof *m->x);
    if (!m->x) return false;
    m->next = m->x + nx, m->u = m->next + nx, m->lower = m->u + nu, m->upper = m->lower + nu, m->dx = m->upper + nu;
    return true;
}

/// The first plan, from the scene's start.
static ctn_status plan_first(mpc *m, const ctn_scene *scene, const ctn_model *model, int first, ctn_error *err)
{
    const plant *const p = scene_plant_of(m->plan);
    const scene_optimize *const o = &scene->optimize;
    m->guess = calloc((size_t)p->knots * (size_t)m->nu + 1, sizeof *m->guess);
    if (!m->guess) return fail(err, CTN_NO_MEMORY, "not enough memory for a guess");
    scene_plant_guess(m->plan, m->guess);
    m->bounded = scene_plant_bounds(m->plan, m->lower, m->upper);
    ilqr_config own = ilqr_default_config();
    own.alphas = o->alphas, own.rho = o->rho, own.tolerance = o->tolerance;
    own.lower = m->bounded ? m->lower : NULL, own.upper = m->bounded ? m->upper : NULL;
    m->solver = ilqr_open(p, &own, err);
    if (!m->solver) return CTN_NO_MEMORY;
    ctn_model_initial_state(model, m->x, m->x + m->nq);
    ctn_status status = ilqr_begin(m->solver, m->x, m->guess, err);
    for (int k = 0; k < first && status == CTN_OK; k++) status = ilqr_step(m->solver, err);
    return status;
}

mpc *mpc_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const ctn_model *plant,
              const ctn_batch_config *plant_cfg, double horizon, int iterations, int first, ctn_error *err)
{
    mpc *const m = calloc(1, sizeof *m);
    if (!m) return fail(err, CTN_NO_MEMORY, "not enough memory for a plan"), NULL;
    m->nq = ctn_model_nq(model), m->nv = ctn_model_nv(model), m->nu = ctn_model_ntarget(model), m->iterations = iterations;
    bool opened = ctn_model_nq(plant) == m->nq && ctn_model_nv(plant) == m->nv && ctn_model_ntarget(plant) == m->nu;
    if (!opened)
        fail(err, CTN_BAD_SCENE, "the plant has %d coordinates and %d numbers that motors are told, the scene %d and %d",
             ctn_model_nq(plant), ctn_model_ntarget(plant), m->nq, m->nu);
    for (int k = 0; k < scene->optimize.ncost && opened; k++) {
        const scene_cost *const t = &scene->optimize.cost[k];
        if (t->from == 0 && !isfinite(t->to)) continue;
        fail_at(err, CTN_BAD_SCENE, scene->path, scene->optimize.at.line, scene->optimize.at.column, "optimize",
                "cost[%d] counts between two times, and a horizon that recedes has no such times; leave `from` and `to` out", k);
        opened = false;
    }
    opened = opened && (m->plan = scene_plant_open(scene, model, cfg, horizon, scene->optimize.alphas, err));
    if (opened && !open_room(m)) opened = false, fail(err, CTN_NO_MEMORY, "not enough memory for a plan");
    const double knot = opened ? scene_plant_knot(m->plan) : 1, steps = knot / plant_cfg->dt;
    if (opened && (!(fabs(steps - rint(steps)) <= 1e-9 * steps) || rint(steps) < 1))
        opened = false,
        fail(err, CTN_BAD_SCENE, "a knot of %g s is no whole number of the plant's steps of %g s", knot, plant_cfg->dt);
    if (opened) {
        ctn_batch_config own = *plant_cfg;
        own.worlds = 1, own.threads = 1, own.parallel = CTN_PARALLEL_WORLDS, own.parameter_count = 0;
        m->hold = (int)rint(steps), m->plant = ctn_tapes_create(plant, &own, m->hold, false, err);
        opened = m->plant && plan_first(m, scene, model, first, err) == CTN_OK;
    }
    if (opened) return m->state = (mpc_state){.length = knot, .x = m->x, .u = m->u}, m;
    mpc_close(m);
    return NULL;
}

void mpc_close(mpc *m)
{
    if (!m) return;
    ilqr_close(m->solver), scene_plant_close(m->plan), ctn_tapes_free(m->plant);
    free(m->x), free(m->guess), free(m);
}

static void tell(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const mpc *const m = context;
    (void)step, (void)q, (void)v, (void)tau;
    memcpy(u, m->u, (size_t)m->nu * sizeof *u);
}

/// What the plan has for where the plant is.
static void decide(mpc *m)
{
    const plant *const p = scene_plant_of(m->plan);
    memcpy(m->u, ilqr_controls(m->solver), (size_t)m->nu * sizeof *m->u);
    p->difference(p->context, ilqr_states(m->solver), m->x, m->dx);
    matrix_multiply(m->nu, 2 * m->nv, 1, 1, ilqr_gains(m->solver), m->dx, m->u);
    for (int i = 0; i < m->nu && m->bounded; i++) m->u[i] = fmin(fmax(m->u[i], m->lower[i]), m->upper[i]);
}

/// The plan for the next knot, from where the model says that this one leads.
static ctn_status plan_next(mpc *m, ctn_error *err)
{
    const plant *const p = scene_plant_of(m->plan);
    const int now = 0;
    bool good;
    ctn_status status = p->step(p->context, 1, &now, m->x, m->u, m->next, &good, err);
    if (status == CTN_OK && !good) status = fail(err, CTN_FROZEN, "the model cannot step from where the plant is");
    if (status == CTN_OK) status = ilqr_shift(m->solver, m->next, err);
    for (int k = 0; k < m->iterations && status == CTN_OK; k++) status = ilqr_step(m->solver, err);
    return status;
}

ctn_status mpc_step(mpc *m, ctn_error *err)
{
    const bool begin = m->state.knot == 0;
    const int now = 0;
    double cost;
    decide(m);
    costs_cost(scene_plant_costs(m->plan), 1, &now, m->x, m->u, &cost);
    const double began = clock_now();
    ctn_status status = plan_next(m, err);
    m->state.seconds = clock_now() - began;
    if (status != CTN_OK) return status;
    const ctn_tapes_hooks hooks = {.tell = tell, .context = m};
    status = ctn_tapes_run(m->plant, m->hold, m->x, m->x + m->nq, &begin, &hooks, err);
    if (status != CTN_OK) return status;
    memcpy(m->x, ctn_tapes_q(m->plant, m->hold), (size_t)m->nq * sizeof *m->x);
    memcpy(m->x + m->nq, ctn_tapes_v(m->plant, m->hold), (size_t)m->nv * sizeof *m->x);
    m->state.knot++, m->state.time = m->state.knot * m->state.length;
    m->state.cost += cost, m->state.planned = ilqr_get_state(m->solver).cost;
    if (ctn_tapes_frozen(m->plant, 0) == CTN_RUNNING) return CTN_OK;
    return fail(err, CTN_FROZEN, "the plant froze at %g s: %s", m->state.time, ctn_freeze_text(ctn_tapes_frozen(m->plant, 0)));
}

mpc_state mpc_get_state(const mpc *m) { return m->state; }
