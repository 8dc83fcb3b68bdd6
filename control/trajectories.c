/// The calls of catena/trajectories.h: a solver for each world, which groups of them lend what they work in.
#include "control/ilqr.h"
#include "control/plan_threads.h"
#include "control/told_last.h"
#include "control/trajectory.h"
#include "sim/base/config.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <catena/trajectories.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 200 };

/// Of a world.
typedef struct {
    plan_world plan;
    ilqr *solver;
    double cost;       // without what limits add
    told_apart apart;  // where states carry what motors were told last
    ctn_status lost;
    char why[MOST_WORDS];
} one_of_them;

struct ctn_trajectories {
    int worlds, ncost;
    size_t nparameter;
    double *values, *controls;  // [worlds][nparameter], [worlds][knots][nu]: of the call in hand
    plan_threads *threads;
    one_of_them *of;     // [worlds]
    double *x0, *guess;  // [worlds][nx of plants], [knots][nu]
    size_t nx;
    bool carries;  // states carry what motors were told last
    const volatile int *interrupt;
    int iterations;  // of the call in hand
    atomic_int status;
};

static void lose(one_of_them *w, ctn_status status, const ctn_error *err)
{
    w->lost = status;
    snprintf(w->why, sizeof w->why, "%.*s", MOST_WORDS - 1, err->message);
}

static bool takes(ctn_trajectories *t, const plan_group *g, int w)
{
    ctn_error err;
    const ctn_status status = plan_world_take(&t->of[w].plan, t->of[w].solver, g, w, &err);
    if (status != CTN_OK) lose(&t->of[w], status, &err);
    return status == CTN_OK;
}

/// What the trajectory of a world that is taken costs, and how it keeps to limits; running: [2 ncost].
static void judge(const ctn_trajectories *t, const plan_group *g, one_of_them *w, double *running)
{
    w->cost = ilqr_get_state(w->solver).cost;
    if (w->lost != CTN_OK || !w->plan.lagrangian) return;
    const added_cost earned = g->reward ? reward_cost_added(g->reward) : (added_cost){0};
    const double *const X = ilqr_states(w->solver), *const U = ilqr_controls(w->solver);
    plan_world_look(&w->plan), lagrangian_look(w->plan.lagrangian, X, U);
    w->cost = trajectory_cost(scene_plant_costs(g->plant), t->ncost, scene_plant_of(g->plant), &earned, 1, X, U, running,
                              running + t->ncost);
}

static bool interrupted(ctn_trajectories *t)
{
    if (!t->interrupt || !*t->interrupt) return false;
    t->status = CTN_INTERRUPTED;
    return true;
}

/// From the starts of worlds, with what they are to be told: their own controls, or the guess.
static void begin_group(void *context, const plan_group *g)
{
    ctn_trajectories *const t = context;
    const size_t told = (size_t)scene_plant_of(g->plant)->knots * (size_t)scene_plant_of(g->plant)->m;
    double *const running = calloc(2 * (size_t)t->ncost + 1, sizeof *running);
    ctn_error err;
    if (!running) t->status = CTN_NO_MEMORY;
    for (int w = g->first; w < g->first + g->count && running && !interrupted(t); w++) {
        one_of_them *const one = &t->of[w];
        const bool again = t->controls && one->lost == CTN_OK;
        const double *const U = again ? t->controls + (size_t)w * told : t->guess;
        one->lost = CTN_OK, one->why[0] = 0;
        if (!takes(t, g, w)) continue;
        if (one->plan.lagrangian) (again ? lagrangian_begin_again : lagrangian_begin)(one->plan.lagrangian);
        const ctn_status status = ilqr_begin(one->solver, t->x0 + (size_t)w * t->nx, U, &err);
        if (status == CTN_INTERRUPTED) t->status = CTN_INTERRUPTED;
        else if (status != CTN_OK) lose(one, status, &err);
        judge(t, g, one, running);
    }
    free(running);
}

static void step_group(void *context, const plan_group *g)
{
    ctn_trajectories *const t = context;
    const size_t count = (size_t)g->count;
    ctn_error err;
    ilqr **const solver = calloc(count, sizeof(ilqr *));
    plan_world **const plan = calloc(count, sizeof(plan_world *));
    int *const world = calloc(2 * count, sizeof *world), *const taken = world + count;
    double *const running = calloc(2 * (size_t)t->ncost + 1, sizeof *running);
    ctn_status *const status = calloc(count, sizeof *status);
    int moved = 0;
    if (!solver || !plan || !world || !running || !status) t->status = CTN_NO_MEMORY;
    for (int k = 0; k < t->iterations && t->status != CTN_NO_MEMORY && !interrupted(t); k++) {
        int going = 0;
        for (int w = g->first; w < g->first + g->count; w++) {
            if (t->of[w].lost != CTN_OK || !plan_world_runs(&t->of[w].plan, t->of[w].solver)) continue;
            if (!k && !takes(t, g, w)) continue;
            if (!k) taken[moved++] = w;
            solver[going] = t->of[w].solver, plan[going] = &t->of[w].plan, world[going++] = w;
        }
        if (!going) break;
        plan_worlds_step(g, going, plan, solver, status, &err);
        for (int i = 0; i < going; i++) {
            if (status[i] == CTN_OK) continue;
            if (status[i] == CTN_INTERRUPTED) t->status = CTN_INTERRUPTED;
            else lose(&t->of[world[i]], status[i], &err);
        }
    }
    for (int i = 0; i < moved; i++) judge(t, g, &t->of[taken[i]], running);
    free(solver), free(plan), free(world), free(running), free(status);
}

static ctn_status run(ctn_trajectories *t, void (*does)(void *context, const plan_group *g), ctn_error *err)
{
    t->status = CTN_OK;
    plan_threads_run(t->threads, does, t);
    if (t->status == CTN_INTERRUPTED) return fail(err, CTN_INTERRUPTED, "interrupted");
    if (t->status == CTN_NO_MEMORY) return fail(err, CTN_NO_MEMORY, "not enough memory for %d trajectories", t->worlds);
    return CTN_OK;
}

// ---- opening

static bool open_worlds(ctn_trajectories *t, const ctn_scene *scene, const ctn_model *model, const double *x0, ctn_error *err)
{
    scene_plant *const on = plan_threads_plant(t->threads, 0);
    const size_t worlds = (size_t)t->worlds, knots = (size_t)scene_plant_of(on)->knots, m = (size_t)scene_plant_of(on)->m,
                 bare = (size_t)(ctn_model_nq(model) + ctn_model_nv(model));
    t->nx = (size_t)scene_plant_of(on)->nx, t->carries = scene_plant_of(on)->carried > 0;
    double *const lower = calloc(2 * m + 1, sizeof *lower), *const upper = lower + m;
    t->of = calloc(worlds, sizeof *t->of);
    t->x0 = calloc(worlds * t->nx + 1, sizeof *t->x0), t->guess = calloc(knots * m + 1, sizeof *t->guess);
    t->values = calloc(worlds * t->nparameter + 1, sizeof *t->values);
    bool opened = lower && t->of && t->x0 && t->guess && t->values;
    if (!opened) fail(err, CTN_NO_MEMORY, "not enough memory for %d trajectories", t->worlds);
    if (opened) {
        for (size_t w = 0; w < worlds; w++)
            memcpy(t->values + w * t->nparameter, scene_plant_parameters(on), t->nparameter * sizeof *t->values);
        ilqr_config own = trajectory_settings(scene, (int)knots);
        const bool bounded = scene_plant_bounds(on, lower, upper);
        own.lower = bounded ? lower : NULL, own.upper = bounded ? upper : NULL, own.lent = true;
        for (size_t w = 0; w < worlds; w++) {
            memcpy(t->x0 + w * t->nx, x0 + w * bare, bare * sizeof *x0);
            if (t->carries) ctn_model_targets(model, t->x0 + w * t->nx + bare);
        }
        scene_plant_guess(on, t->guess);
        for (int w = 0; w < t->worlds && opened; w++) {
            plan_world_open(&t->of[w].plan, on);
            limits *const kept = plan_threads_limits(t->threads, 0);
            t->of[w].plan.parameters = t->nparameter ? t->values + (size_t)w * t->nparameter : NULL;
            opened = (!kept || plan_world_limit(&t->of[w].plan, scene, kept, err)) &&
                     (t->of[w].solver = ilqr_open(&t->of[w].plan.plant, &own, err));
            if (opened && t->carries && !told_apart_open(&t->of[w].apart, &t->of[w].plan.plant))
                opened = false, fail(err, CTN_NO_MEMORY, "not enough memory for %d trajectories", t->worlds);
        }
    }
    free(lower);
    return opened;
}

ctn_trajectories *ctn_trajectories_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg,
                                          double duration, const double *x0, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err) || missing(__func__, "model", model, err) || missing(__func__, "cfg", cfg, err) ||
        missing(__func__, "x0", x0, err) || config_check(cfg, err) != CTN_OK)
        return NULL;
    const size_t nx = (size_t)(ctn_model_nq(model) + ctn_model_nv(model));
    for (size_t i = 0; i < (size_t)cfg->worlds * nx; i++)
        if (!isfinite(x0[i]))
            return fail(err, CTN_BAD_ARGUMENT, "x0: number %zu of world %zu is %g; expected a number", i % nx, i / nx, x0[i]),
                   NULL;
    ctn_trajectories *const t = calloc(1, sizeof *t);
    if (!t) return fail(err, CTN_NO_MEMORY, "not enough memory for trajectories"), NULL;
    t->worlds = cfg->worlds, t->ncost = scene->optimize.ncost, t->nparameter = (size_t)cfg->parameter_count,
    t->interrupt = cfg->interrupt;
    const ilqr_config solver = trajectory_settings(scene, INT32_MAX);
    t->threads = plan_threads_open(scene, model, cfg, duration, solver.alphas, &solver, err);
    limits *const kept = t->threads ? plan_threads_limits(t->threads, 0) : NULL;
    const bool opened = t->threads && (!kept || limits_check(kept, err) == CTN_OK) && open_worlds(t, scene, model, x0, err) &&
                        run(t, begin_group, err) == CTN_OK;
    if (opened) return t;
    ctn_trajectories_free(t);
    return NULL;
}

void ctn_trajectories_free(ctn_trajectories *t)
{
    if (!t) return;
    for (int w = 0; w < t->worlds && t->of; w++)
        ilqr_close(t->of[w].solver), plan_world_close(&t->of[w].plan), told_apart_close(&t->of[w].apart);
    plan_threads_close(t->threads);
    free(t->of), free(t->x0), free(t->guess), free(t->values), free(t);
}

// ---- iterations, and what there is

ctn_status ctn_trajectories_step(ctn_trajectories *t, int iterations, ctn_error *err)
{
    if (missing(__func__, "trajectories", t, err)) return CTN_BAD_ARGUMENT;
    if (iterations < 0) return fail(err, CTN_BAD_ARGUMENT, "iterations: expected 0 or more, found %d", iterations);
    t->iterations = iterations;
    return run(t, step_group, err);
}

ctn_status ctn_trajectories_set_parameters(ctn_trajectories *t, const double *values, ctn_error *err)
{
    if (missing(__func__, "trajectories", t, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    scene_plant *const on = plan_threads_plant(t->threads, 0);
    const size_t worlds = (size_t)t->worlds, told = (size_t)scene_plant_of(on)->knots * (size_t)scene_plant_of(on)->m;
    if (!t->nparameter) return scene_plant_set_parameters(on, values, err);
    for (size_t w = 0; w < worlds; w++) {  // what one world cannot have none gets
        const ctn_status status = scene_plant_set_parameters(on, values + w * t->nparameter, err);
        if (status != CTN_OK) return status;
    }
    t->controls = calloc(worlds * told + 1, sizeof *t->controls);
    if (!t->controls) return fail(err, CTN_NO_MEMORY, "not enough memory for parameters of %d trajectories", t->worlds);
    for (size_t w = 0; w < worlds; w++)
        memcpy(t->controls + w * told, ilqr_controls(t->of[w].solver), told * sizeof *t->controls);
    memcpy(t->values, values, worlds * t->nparameter * sizeof *values);
    const ctn_status status = run(t, begin_group, err);
    free(t->controls), t->controls = NULL;
    return status;
}

static const one_of_them *world_of(const ctn_trajectories *t, int w) { return t && w >= 0 && w < t->worlds ? &t->of[w] : NULL; }

bool ctn_trajectories_run(const ctn_trajectories *t)
{
    for (int w = 0; t && w < t->worlds; w++)
        if (t->of[w].lost == CTN_OK && plan_world_runs(&t->of[w].plan, t->of[w].solver)) return true;
    return false;
}

ctn_optimize_state ctn_trajectories_get_state(const ctn_trajectories *t, int world)
{
    const one_of_them *const w = world_of(t, world);
    if (!w) return (ctn_optimize_state){0};
    const ilqr_state x = ilqr_get_state(w->solver);
    static const ctn_optimize_stop stops[] = {
        [ILQR_RUNS] = CTN_OPTIMIZE_RUNS, [ILQR_OPTIMAL] = CTN_OPTIMIZE_OPTIMAL, [ILQR_STUCK] = CTN_OPTIMIZE_STUCK};
    const lagrangian *const l = w->plan.lagrangian;
    const lagrangian_state limits = l ? lagrangian_get_state(l) : (lagrangian_state){.stop = x.stop};
    return (ctn_optimize_state){x.iteration, w->cost, x.gradient, limits.violation, limits.penalty, stops[limits.stop]};
}

ctn_status ctn_trajectories_lost(const ctn_trajectories *t, int world, const char **message)
{
    const one_of_them *const w = world_of(t, world);
    if (message) *message = w ? w->why : "";
    return w ? w->lost : CTN_OK;
}

int ctn_trajectories_knots(const ctn_trajectories *t) { return t ? scene_plant_of(plan_threads_plant(t->threads, 0))->knots : 0; }

const double *ctn_trajectories_states(const ctn_trajectories *t, int world)
{
    const one_of_them *const w = world_of(t, world);
    const double *const X = w ? ilqr_states(w->solver) : NULL;
    return X && t->carries ? told_apart_states(&w->apart, X) : X;
}

const double *ctn_trajectories_controls(const ctn_trajectories *t, int world)
{
    const one_of_them *const w = world_of(t, world);
    return w ? ilqr_controls(w->solver) : NULL;
}

const double *ctn_trajectories_gains(const ctn_trajectories *t, int world)
{
    const one_of_them *const w = world_of(t, world);
    const double *const K = w ? ilqr_gains(w->solver) : NULL;
    return K && t->carries ? told_apart_gains(&w->apart, K) : K;
}

const double *ctn_trajectories_told_gains(const ctn_trajectories *t, int world)
{
    const one_of_them *const w = world_of(t, world);
    return w && t->carries ? told_apart_told(&w->apart, ilqr_gains(w->solver)) : NULL;
}
