#include "control/plan_threads.h"

#include "sim/base/pool.h"
#include "sim/base/status.h"
#include "sim/engine/device.h"

#include <stdlib.h>

/// Of a thread.
typedef struct {
    scene_plant *plant;
    reward_cost *reward;  // NULL: none
    limits *limits;       // NULL: none
    ilqr_together *together;
    double *numbers, **work;  // [size] parts of these
    ilqr **going;             // [size]
    int *which;               // [size]
} own_room;

struct plan_threads {
    int worlds, threads, size, groups;  // worlds of a group
    pool *pool;
    own_room *own;  // [threads]
    void (*does)(void *context, const plan_group *g);
    void *context;
};

// ---- a world's plant: all is asked of the thread's

static ctn_status play(void *context, int count, const double *x, int steps, plant_tell tell, void *whose, ctn_error *err)
{
    const plant *const p = scene_plant_of(((plan_world *)context)->on);
    return p->play(p->context, count, x, steps, tell, whose, err);
}

static ctn_status linearise(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err)
{
    const plant *const p = scene_plant_of(((plan_world *)context)->on);
    return p->linearise(p->context, x, u, A, B, err);
}

void plan_world_look(const plan_world *w)
{
    costs_begin(scene_plant_costs(w->on), w->begin, w->stands);
    if (w->reward) reward_cost_begin(w->reward, w->begin, w->stands);
    if (w->limits) limits_begin(w->limits, w->begin, w->stands);
}

static void cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    const plan_world *const w = context;
    const plant *const p = scene_plant_of(w->on);
    plan_world_look(w);
    p->cost(p->context, count, knot, x, u, to);
    if (!w->lagrangian) return;
    const added_cost own = lagrangian_added(w->lagrangian);
    own.cost(own.context, count, knot, x, u, to);
}

static void cost_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    const plan_world *const w = context;
    const plant *const p = scene_plant_of(w->on);
    plan_world_look(w);
    p->cost_derivatives(p->context, count, knot, x, u, to);
    if (!w->lagrangian) return;
    const added_cost own = lagrangian_added(w->lagrangian);
    own.derivatives(own.context, count, knot, x, u, to);
}

static void add(void *context, const double *x, const double *dx, double *to)
{
    const plant *const p = scene_plant_of(((plan_world *)context)->on);
    p->add(p->context, x, dx, to);
}

static void difference(void *context, const double *from, const double *to, double *dx)
{
    const plant *const p = scene_plant_of(((plan_world *)context)->on);
    p->difference(p->context, from, to, dx);
}

void plan_world_open(plan_world *w, scene_plant *on)
{
    *w = (plan_world){.plant = *scene_plant_of(on), .on = on};
    w->plant.context = w, w->plant.play = play, w->plant.linearise = linearise, w->plant.cost = cost;
    w->plant.cost_derivatives = cost_derivatives, w->plant.add = add, w->plant.difference = difference;
}

bool plan_world_limit(plan_world *w, const ctn_scene *scene, limits *limits, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    w->limits = limits;
    w->lagrangian = lagrangian_open(&w->plant, limits_of(limits), o->limit_tolerance, o->penalty, err);
    return w->lagrangian != NULL;
}

void plan_world_close(plan_world *w) { lagrangian_close(w->lagrangian); }

bool plan_world_runs(const plan_world *w, const ilqr *solver)
{
    return (w->lagrangian ? lagrangian_get_state(w->lagrangian).stop : ilqr_get_state(solver).stop) == ILQR_RUNS;
}

ctn_status plan_world_take(plan_world *w, ilqr *solver, const plan_group *g, int world, ctn_error *err)
{
    w->on = g->plant, w->reward = g->reward, w->limits = g->limits, w->plant.threads = scene_plant_of(g->plant)->threads;
    if (w->lagrangian) lagrangian_lend(w->lagrangian, limits_of(w->limits));
    if (solver) ilqr_lend(solver, g->work[world - g->first]);
    return w->parameters ? scene_plant_set_parameters(w->on, w->parameters, err) : CTN_OK;
}

void plan_worlds_step(const plan_group *g, int count, plan_world *const *of, ilqr *const *solver, ctn_status *status,
                      ctn_error *err)
{
    int going = 0;
    for (int i = 0; i < count; i++) {
        status[i] = CTN_OK;
        if (of[i]->lagrangian ? !lagrangian_begins(of[i]->lagrangian, solver[i]) : !plan_world_runs(of[i], solver[i])) continue;
        g->going[going] = solver[i], g->which[going++] = i;
    }
    if (!going) return;
    ilqr_step_together(g->together, going, g->going, status, err);
    for (int i = going - 1; i >= 0; i--) {  // from the back: places lie before
        const int at = g->which[i];
        const ctn_status own = status[i];
        if (at != i) status[i] = CTN_OK;
        status[at] = own;
        if (own != CTN_OK || !of[at]->lagrangian) continue;
        plan_world_look(of[at]), lagrangian_ends(of[at]->lagrangian, g->going[i]);
    }
}

// ---- threads

static bool open_limits(own_room *r, const ctn_scene *scene, const ctn_model *model, ctn_error *err)
{
    if (!scene->optimize.nlimit) return true;
    r->limits = limits_open(scene, model, scene_plant_of(r->plant)->knots, scene_plant_knot(r->plant), err);
    return r->limits != NULL;
}

/// What is earned, of the thread's plant.
static bool open_reward(own_room *r, const ctn_scene *scene, const ctn_model *model, ctn_error *err)
{
    if (!(scene->optimize.reward > 0)) return true;
    r->reward = reward_cost_open(scene, model, scene_plant_of(r->plant)->knots, scene_plant_knot(r->plant), err);
    if (r->reward) scene_plant_add(r->plant, reward_cost_added(r->reward));
    return r->reward != NULL;
}

static bool open_room(plan_threads *t, own_room *r, int each, const ilqr_config *solver, ctn_error *err)
{
    const plant *const p = scene_plant_of(r->plant);
    const size_t numbers = solver ? ilqr_work_numbers(p, solver) : 0, size = (size_t)t->size;
    r->together = ilqr_together_open(p, t->size, t->size * each, err);
    r->numbers = calloc(size * numbers + 1, sizeof *r->numbers), r->work = calloc(size, sizeof *r->work);
    r->going = calloc(size, sizeof(ilqr *)), r->which = calloc(size, sizeof *r->which);
    if (!r->together) return false;
    if (!r->numbers || !r->work || !r->going || !r->which)
        return fail(err, CTN_NO_MEMORY, "not enough memory for %d plans at once", t->size), false;
    for (size_t k = 0; k < size; k++) r->work[k] = r->numbers + k * numbers;
    return true;
}

plan_threads *plan_threads_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                                int each, const ilqr_config *solver, ctn_error *err)
{
    if (device_asked(cfg->engine))
        return fail(err, CTN_UNAVAILABLE,
                    "engine: '%s' plans one trajectory at a time in this version; take 'auto' for many worlds",
                    device_asked(cfg->engine)),
               NULL;
    plan_threads *const t = calloc(1, sizeof *t);
    if (!t) return fail(err, CTN_NO_MEMORY, "not enough memory for plans"), NULL;
    const int asked = cfg->threads ? cfg->threads : pool_cpus(), lanes = ilqr_together_lanes();
    t->worlds = cfg->worlds;
    t->size = (cfg->worlds + asked - 1) / asked;
    t->size = cfg->parameter_count ? 1 : t->size > lanes ? lanes : t->size;
    t->groups = (cfg->worlds + t->size - 1) / t->size, t->threads = asked < t->groups ? asked : t->groups;
    t->pool = pool_create(t->threads), t->own = calloc((size_t)t->threads, sizeof *t->own);
    bool opened = t->pool && t->own;
    if (!opened) fail(err, CTN_NO_MEMORY, "not enough memory, or threads, for plans of %d worlds", cfg->worlds);
    ctn_batch_config own = *cfg;
    own.worlds = own.threads = 1;
    for (int k = 0; k < t->threads && opened; k++) {
        t->own[k].plant = scene_plant_open(scene, model, &own, duration, t->size * each, err);
        opened = t->own[k].plant && open_reward(&t->own[k], scene, model, err) && open_limits(&t->own[k], scene, model, err) &&
                 open_room(t, &t->own[k], each, solver, err);
    }
    if (opened) return t;
    plan_threads_close(t);
    return NULL;
}

void plan_threads_close(plan_threads *t)
{
    if (!t) return;
    for (int k = 0; t->own && k < t->threads; k++) {
        scene_plant_close(t->own[k].plant), reward_cost_close(t->own[k].reward), limits_close(t->own[k].limits),
            ilqr_together_close(t->own[k].together);
        free(t->own[k].numbers), free(t->own[k].work), free(t->own[k].going), free(t->own[k].which);
    }
    pool_free(t->pool);
    free(t->own), free(t);
}

int plan_threads_group(const plan_threads *t, int world)
{
    const int left = t->worlds - world / t->size * t->size;
    return left < t->size ? left : t->size;
}

int plan_threads_rounds(const plan_threads *t) { return (t->groups + t->threads - 1) / t->threads; }

scene_plant *plan_threads_plant(const plan_threads *t, int thread) { return t->own[thread].plant; }
limits *plan_threads_limits(const plan_threads *t, int thread) { return t->own[thread].limits; }

static void run_group(void *context, int thread, int job)
{
    const plan_threads *const t = context;
    const own_room *const own = &t->own[thread];
    const int first = job * t->size, left = t->worlds - first;
    t->does(t->context, &(plan_group){first, left < t->size ? left : t->size, own->plant, own->reward, own->limits, own->together,
                                      own->work, own->going, own->which});
}

void plan_threads_run(plan_threads *t, void (*does)(void *context, const plan_group *g), void *context)
{
    t->does = does, t->context = context;
    pool_run(t->pool, t->groups, run_group, t);
}
