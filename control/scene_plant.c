#include "control/scene_plant.h"

#include "control/accelerations.h"
#include "control/ilqr.h"
#include "control/plant_parameters.h"
#include "control/scene_there.h"
#include "control/told_last.h"
#include "dynamics/model.h"
#include "sim/base/memory.h"
#include "sim/base/status.h"
#include "sim/batch/tapes_play.h"
#include "sim/engine/device.h"
#include "sim/engine/engine.h"

#include <catena/motors.h>
#include <catena/tapes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scene_plant {
    plant plant, bare;  // of which the latter is of x = (q, v)
    told_last *told;    // what the former carries besides; NULL: nothing, they are the same
    const ctn_scene *scene;
    const ctn_model *model;
    costs *costs;
    added_cost added[SCENE_PLANT_ADDED];
    int nadded;
    ctn_tapes *one, *many, *all;  // of a point, of `most`, of all knots with gradients
    int nq, nv, nu, hold;
    double knot;
    bool anew;          // the method carries more than q and v from step to step: each knot begins anew
    ctn_tapes *way;     // of a point through all knots, where these go on from what the method remembers; NULL: they do not
    double *from;       // [knots][size] whole states on that way
    tapes_lead *lead;   // [knots] the steps on it that lead to them
    double *q, *v;      // [knots], or [most]
    const double *u;    // what motors are told in the run in hand
    double *values;     // [parameter_count], as they are
    size_t parameters;  // how many
    size_t bytes;       // of a knot
    scene_there *there;  // its world on a device; NULL: it is on none
    accelerations *by;  // of plants that are linearised by accelerations; NULL: by their steps
};

static void tell(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const scene_plant *const s = context;
    (void)q, (void)v, (void)tau;
    if (!step) memcpy(u, s->u, (size_t)s->plant.knots * (size_t)s->nu * sizeof *u);  // held
}

/// Splits x [count][nx] for `worlds` worlds; the last point again for those that are left over.
static void split(scene_plant *s, int count, int worlds, const double *x)
{
    const size_t nq = (size_t)s->nq, nv = (size_t)s->nv;
    for (int i = 0; i < worlds; i++) {
        const size_t from = (size_t)(i < count ? i : count - 1), to = (size_t)i;
        memcpy(s->q + to * nq, x + from * (nq + nv), nq * sizeof *x);
        memcpy(s->v + to * nv, x + from * (nq + nv) + nq, nv * sizeof *x);
    }
}

/// Points as the tapes play them.
typedef struct {
    int count;
    plant_tell tell;
    void *whose;
} told_points;

static void tell_points(void *context, int first, int count, int lanes, int round, const double *x, const bool *good, double *u)
{
    const told_points *const p = context;
    const int left = p->count - first;  // worlds beyond the last point are idle
    if (left > 0) p->tell(p->whose, first, count < left ? count : left, lanes, round, x, good, u);
}

static ctn_status play_points(void *context, int count, const double *x, int steps, plant_tell tell_point, void *whose,
                              ctn_error *err)
{
    scene_plant *const s = context;
    ctn_tapes *const tapes = count == 1 ? s->one : s->many;
    told_points points = {count, tell_point, whose};
    split(s, count, count == 1 ? 1 : s->plant.most, x);
    return tapes_play(tapes, count, steps, s->hold, s->anew, s->q, s->v, tell_points, &points, err);
}

static void tell_way(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const scene_plant *const s = context;
    (void)q, (void)v, (void)tau;
    memcpy(u, s->u + (size_t)(step / s->hold) * (size_t)s->nu, (size_t)s->nu * sizeof *u);
}

/// What the method remembers where knots begin, on the way from the first state on.
static ctn_status go_way(scene_plant *s, ctn_error *err)
{
    const ctn_tapes_hooks hooks = {.tell = tell_way, .context = s};
    const ctn_status status = ctn_tapes_run(s->way, s->hold * s->plant.knots, s->q, s->v, NULL, &hooks, err);
    for (int k = 0; k < s->plant.knots && status == CTN_OK; k++) {
        size_t size;
        const double *const state = tapes_states(s->way, k * s->hold, &size);
        memcpy(s->from + (size_t)k * size, state, size * sizeof *state);
        if (k) s->lead[k] = (tapes_lead){tapes_states(s->way, k * s->hold - 1, &size), s->u + (size_t)(k - 1) * (size_t)s->nu};
    }
    return status;
}

static ctn_status linearise(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err)
{
    scene_plant *const s = context;
    const ctn_tapes_hooks hooks = {.tell = tell, .context = s};
    split(s, s->plant.knots, s->plant.knots, x);
    s->u = u;
    ctn_status status = s->way ? go_way(s, err) : CTN_OK;
    if (status == CTN_OK)
        status = s->way ? tapes_run_from(s->all, s->hold, s->from, s->lead, s->q, s->v, &hooks, err)
                        : ctn_tapes_run(s->all, s->hold, s->q, s->v, NULL, &hooks, err);
    if (status == CTN_OK) status = ctn_tapes_jacobian(s->all, A, B, NULL, err);
    for (int k = 0; k < s->plant.knots && status == CTN_OK; k++)
        if (ctn_tapes_lost(s->all, k) >= 0)
            return fail(
                err, CTN_UNAVAILABLE,
                "knot %d (t = %g s) has no derivative: a step of it had to be halved, or is not found again; take a smaller "
                "`dt`",
                k, s->knot * k);
    return status;
}

static ctn_status linearise_accelerations(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err)
{
    scene_plant *const s = context;
    split(s, s->plant.knots, s->plant.knots, x);
    return accelerations_linearise(s->by, s->q, s->v, u, A, B, err);
}

static motors_are motors_of(const ctn_scene *scene)
{
    motors_are are = MOTORS_PLAIN;
    for (int k = 0; k < scene->nmotor; k++) {
        const scene_motor *const a = &scene->motors[k];
        if (a->type >= MOTOR_THRUST) are = MOTORS_PUSH;
        else if (a->type != MOTOR_TORQUE) return MOTORS_ANY;
        else if (isfinite(a->effort) && are == MOTORS_PLAIN) are = MOTORS_TORQUES;
    }
    return are;
}

static void cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    const scene_plant *const s = context;
    costs_cost(s->costs, count, knot, x, u, to);
    for (int k = 0; k < s->nadded; k++) s->added[k].cost(s->added[k].context, count, knot, x, u, to);
}

static void cost_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    const scene_plant *const s = context;
    costs_derivatives(s->costs, count, knot, x, u, to);
    for (int k = 0; k < s->nadded; k++) s->added[k].derivatives(s->added[k].context, count, knot, x, u, to);
}

void scene_plant_add(scene_plant *s, added_cost more) { s->added[s->nadded++] = more; }

/// What the world sees of it.
static void face(scene_plant *s) { s->plant = s->told ? told_last_plant(s->told) : s->bare; }

static void add(void *context, const double *x, const double *dx, double *to)
{
    const scene_plant *const s = context;
    ctn_model_integrate(s->model, 1, x, dx, 1, to);
    for (int i = 0; i < s->nv; i++) to[s->nq + i] = x[s->nq + i] + dx[s->nv + i];
}

static void difference(void *context, const double *from, const double *to, double *dx)
{
    const scene_plant *const s = context;
    ctn_model_difference(s->model, 1, from, to, dx);
    for (int i = 0; i < s->nv; i++) dx[s->nv + i] = to[s->nq + i] - from[s->nq + i];
}

/// Knots of the horizon, of `hold` steps each; 0: see err.
static int knots_of(scene_plant *s, double duration, double dt, ctn_error *err)
{
    const scene_optimize *const o = &s->scene->optimize;
    const char *const file = s->scene->path;
    s->knot = o->knot > 0 ? o->knot : dt;
    const double steps = s->knot / dt, knots = duration / s->knot;
    if (!(duration > 0))
        return fail_at(err, CTN_BAD_SCENE, file, o->at.line, o->at.column, "optimize",
                       "the scene has no `duration`, which is how long a trajectory lasts; give it one"),
               0;
    if (!(fabs(steps - rint(steps)) <= 1e-9 * steps) || rint(steps) < 1)
        return fail_at(err, CTN_BAD_SCENE, file, o->knot_at.line, o->knot_at.column, "optimize.knot",
                       "%g s are no whole number of steps of %g s; take a multiple of `dt`", s->knot, dt),
               0;
    if (!(knots < 1e6 + 0.5))
        return fail_at(err, CTN_BAD_SCENE, file, o->at.line, o->at.column, "optimize",
                       "%g s are more than a million knots of %g s; take a longer `knot`, or a shorter horizon", duration,
                       s->knot),
               0;
    if (!(fabs(knots - rint(knots)) <= 1e-6 * knots) || rint(knots) < 1)
        return fail_at(err, CTN_BAD_SCENE, file, o->at.line, o->at.column, "optimize",
                       "the duration (of catena mpc: --horizon) of %g s is no whole number of knots of %g s", duration, s->knot),
               0;
    s->hold = (int)rint(steps);
    return (int)rint(knots);
}

/// As many threads as are asked for, or as there is work at a time for: lanes full of knots or points, blocks on the way back.
static int threads_of(const scene_plant *s, const ctn_batch_config *cfg)
{
    const int knots = s->bare.knots, points = s->bare.most, worlds = knots > points ? knots : points;
    const ctn_engine *const engine = engine_find(cfg->engine, worlds, NULL);
    const int asked = cfg->threads ? cfg->threads : pool_cpus(), lanes = engine ? engine->lanes : 1,
              blocks = (worlds + lanes - 1) / lanes,
              back = s->scene->optimize.backward < knots ? s->scene->optimize.backward : knots,
              jobs = blocks > back ? blocks : back;
    return asked < jobs ? asked : jobs;
}

/// Whether it is linearised by accelerations, which are the model's: of no parameters.
static bool by_accelerations(const scene_plant *s, const ctn_batch_config *cfg)
{
    return !cfg->parameter_count && accelerations_suffice(s->model, cfg, s->hold);
}

/// Whether there is memory for all knots: for what tapes take of each, and for what those keep of it who steer (control/ilqr.h,
/// of as many trajectories as there are points; samples keep less). Tapes of some knots tell, before those of all are opened.
static bool fits(scene_plant *s, const ctn_batch_config *cfg, int points, ctn_error *err)
{
    enum { SOME = 16 };  // whole blocks of every lane
    ctn_batch_config few = *cfg;
    few.worlds = SOME, few.threads = 1;
    ctn_tapes *const tapes = ctn_tapes_create(s->model, &few, s->hold, true, err);
    if (!tapes) return false;
    plant two = s->plant;
    two.knots = 2, two.most = 1;
    plant one = two;
    one.knots = 1;
    const ilqr_config own = {.backward = 1, .forward = 1, .alphas = points, .second = s->scene->optimize.method == 2};
    enum { WRITTEN = 45 };  // bytes of a number of a plan, written and read again
    const plant *const p = &s->plant;
    s->bytes = ctn_tapes_bytes(tapes) / SOME * (s->scene->optimize.remember ? 2 : 1) +
               (ilqr_bytes(&two, &own) - ilqr_bytes(&one, &own)) +
               (by_accelerations(s, cfg) ? accelerations_bytes(s->model, cfg) : 0) +
               WRITTEN * (size_t)(1 + p->m + p->nx + p->m * p->n);
    const double all = (double)s->bytes * p->knots, most = memory_limit();
    ctn_tapes_free(tapes);
    if (1.2 * all <= most) return true;  // what is not counted, as the solver of limits, has room, too
    const scene_optimize *const o = &s->scene->optimize;
    fail_at(err, CTN_NO_MEMORY, s->scene->path, o->at.line, o->at.column, "optimize",
            "%d knots take about %.3g GB, %.3g kB each, and %.3g GB are free; take a longer `knot`, or a shorter horizon",
            s->plant.knots, all * 1e-9, (double)s->bytes * 1e-3, most * 1e-9);
    return false;
}

static bool open_way(scene_plant *s, const ctn_batch_config *one, ctn_error *err)
{
    size_t size;
    s->way = ctn_tapes_create(s->model, one, s->hold * s->bare.knots, true, err);
    if (!s->way) return false;
    tapes_states(s->way, 0, &size);
    s->from = calloc((size_t)s->bare.knots * size + 1, sizeof *s->from);
    s->lead = calloc((size_t)s->bare.knots, sizeof *s->lead);
    return (s->from && s->lead) || (fail(err, CTN_NO_MEMORY, "not enough memory for %d knots", s->bare.knots), false);
}

/// Whether the scene is one that can be optimised, in steps of `cfg`.
static ctn_status refuse(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    if (!o->given)
        return fail(err, CTN_BAD_SCENE, "%s: the scene has no `optimize:`; docs/trajectories.md tells what belongs there",
                    scene->path);
    const char *const lacks = !ctn_model_ntarget(model) ? "motors, which are what is looked for" : NULL;
    if (lacks)
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize", "the scene has no %s", lacks);
    if (scene->controller.given && scene->controller.type != CONTROLLER_PLAN)
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize",
                       "stands beside `controller`, which tells motors, too; leave one of them out");
    if (model->nsignal)
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize",
                       "a motor has a target that moves by itself; make it a number, as what motors are told is looked for");
    if (model->rubs && !ctn_method_is_implicit(cfg->method))
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize",
                       "a joint has dry friction, which begins anew at every knot and is nothing in steps of %s; take radau, or "
                       "leave "
                       "the friction out",
                       ctn_method_name(cfg->method));
    if (o->remember && device_asked(cfg->engine))
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize.remember",
                       "the engine '%s' begins every knot anew in this version; take an engine of the CPU", cfg->engine);
    return CTN_OK;
}

ctn_status scene_plant_check(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err)
{
    scene_plant s = {.scene = scene};
    const double duration = ctn_scene_duration(scene);
    const ctn_status status = refuse(scene, model, cfg, err);
    return status == CTN_OK && duration > 0 && !knots_of(&s, duration, cfg->dt, err) ? CTN_BAD_SCENE : status;
}

scene_plant *scene_plant_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *asked, double duration,
                              int points, ctn_error *err)
{
    ctn_batch_config here = *asked;  // what a device does not do is done beside it
    const ctn_batch_config *const cfg = &here;
    here.engine = engine_beside(asked->engine);
    const scene_optimize *const o = &scene->optimize;
    if (refuse(scene, model, asked, err) != CTN_OK) return NULL;
    scene_plant *const s = calloc(1, sizeof *s);
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for a plant"), NULL;
    s->scene = scene, s->model = model;
    s->nq = ctn_model_nq(model), s->nv = ctn_model_nv(model), s->nu = ctn_model_ntarget(model);
    const int knots = knots_of(s, duration, cfg->dt, err);
    if (!knots || plant_parameters_check(scene, model, cfg, err) != CTN_OK) return scene_plant_close(s), NULL;
    s->anew = !o->remember && (ctn_method_is_implicit(cfg->method) || model->rubs || model->nbent || model->nwound);

    s->bare = (plant){.knots = knots,
                      .nx = s->nq + s->nv,
                      .n = 2 * s->nv,
                      .m = s->nu,
                      .most = points,
                      .added = s->nq == s->nv,
                      .context = s,
                      .play = play_points,
                      .linearise = linearise,
                      .cost = cost,
                      .cost_derivatives = cost_derivatives,
                      .add = add,
                      .difference = difference};
    const int threads = threads_of(s, cfg);
    s->bare.threads = pool_create(threads);
    if (!s->bare.threads)
        return scene_plant_close(s), fail(err, CTN_NO_MEMORY, "not enough memory, or threads: %d", threads), NULL;
    if (device_asked(asked->engine)) {
        if (!(s->there = scene_there_open(model, asked, s->hold, s->anew, err))) return scene_plant_close(s), NULL;
        s->bare.there = scene_there_of(s->there);
    }
    if (told_last_counts(scene) && !(s->told = told_last_open(&s->bare, err))) return scene_plant_close(s), NULL;
    face(s);
    ctn_batch_config own = *cfg;
    own.parallel = CTN_PARALLEL_WORLDS;
    own.max_halvings =
        0;  // what has to be halved has no derivative, and is no trajectory to go on from: it is not worth its while
    if (!fits(s, &own, points, err)) return scene_plant_close(s), NULL;
    const size_t room = (size_t)(knots > points ? knots : points);
    s->q = calloc(room * (size_t)s->nq + 1, sizeof *s->q), s->v = calloc(room * (size_t)s->nv + 1, sizeof *s->v);
    s->parameters = (size_t)cfg->parameter_count, s->values = calloc(s->parameters + 1, sizeof *s->values);
    bool opened = s->q && s->v && s->values;
    if (!opened) fail(err, CTN_NO_MEMORY, "not enough memory for %d knots", knots);
    for (int k = 0; k < cfg->parameter_count && opened; k++)
        opened = ctn_model_parameter(model, cfg->parameters[k], &s->values[k], err) == CTN_OK;
    if (opened && by_accelerations(s, cfg)) {
        s->bare.linearise = linearise_accelerations;
        s->bare.rates = cfg->method == CTN_EULER || cfg->method == CTN_SEMI_IMPLICIT;
        if (s->bare.rates) *(cfg->method == CTN_EULER ? &s->bare.before : &s->bare.after) = cfg->dt;
        opened = (s->by = accelerations_open(model, cfg, knots, motors_of(scene), s->bare.threads, err));
    }
    own.worlds = knots, opened = opened && (s->all = tapes_create(model, &own, s->hold, true, s->bare.threads, err));
    own.worlds = points, opened = opened && (s->many = tapes_create(model, &own, 1, false, s->bare.threads, err));
    own.worlds = 1, own.threads = 1;
    if (o->remember && opened) opened = open_way(s, &own, err);
    opened = opened && (s->one = ctn_tapes_create(model, &own, 1, false, err));
    opened = opened && (s->costs = costs_open(cost_terms_of(scene), model, knots, s->knot, err));
    if (opened) return face(s), s;
    scene_plant_close(s);
    return NULL;
}

/// The same values for all worlds of tapes.
static ctn_status set_parameters(ctn_tapes *tapes, size_t worlds, size_t count, const double *values, ctn_error *err)
{
    double *const all = malloc(worlds * count * sizeof *all);
    if (!all) return fail(err, CTN_NO_MEMORY, "not enough memory for parameters of %zu knots", worlds);
    for (size_t w = 0; w < worlds; w++) memcpy(all + w * count, values, count * sizeof *all);
    const ctn_status status = ctn_tapes_set_parameters(tapes, all, err);
    free(all);
    return status;
}

ctn_status scene_plant_set_parameters(scene_plant *s, const double *values, ctn_error *err)
{
    if (!s->parameters) return fail(err, CTN_BAD_ARGUMENT, "parameters: there are none; list them in the configuration");
    const struct {
        ctn_tapes *tapes;
        int worlds;
    } all[] = {{s->one, 1}, {s->many, s->plant.most}, {s->all, s->plant.knots}, {s->way, 1}};
    for (size_t k = 0; k < sizeof all / sizeof *all && all[k].tapes; k++) {  // the first one refuses what the others would
        const ctn_status status = set_parameters(all[k].tapes, (size_t)all[k].worlds, s->parameters, values, err);
        if (status != CTN_OK) return status;
    }
    memcpy(s->values, values, s->parameters * sizeof *values);
    return CTN_OK;
}

void scene_plant_close(scene_plant *s)
{
    if (!s) return;
    ctn_tapes_free(s->one), ctn_tapes_free(s->many), ctn_tapes_free(s->all), ctn_tapes_free(s->way);
    costs_close(s->costs), accelerations_close(s->by), told_last_close(s->told), scene_there_close(s->there);
    pool_free(s->bare.threads);
    free(s->q), free(s->v), free(s->values), free(s->from), free(s->lead);
    free(s);
}

const double *scene_plant_parameters(const scene_plant *s) { return s->values; }
const plant *scene_plant_of(const scene_plant *s) { return &s->plant; }
costs *scene_plant_costs(const scene_plant *s) { return s->costs; }
double scene_plant_knot(const scene_plant *s) { return s->knot; }
int scene_plant_hold(const scene_plant *s) { return s->hold; }
size_t scene_plant_bytes(const scene_plant *s) { return s->bytes; }

bool scene_plant_bounds(const scene_plant *s, double *lower, double *upper)
{
    const ctn_scene *const scene = s->scene;
    const scene_optimize *const o = &scene->optimize;
    bool any = o->lower != NULL;
    int at = 0;
    for (int k = 0; k < scene->nmotor; k++) {
        const scene_motor *const a = &scene->motors[k];
        for (int i = 0; i < a->told; i++, at++) {
            const bool pushes = a->type >= MOTOR_THRUST, limited = a->type == MOTOR_TORQUE && a->told == 1;
            lower[at] = pushes    ? a->least
                        : limited ? -a->effort
                                  : -INFINITY,
            upper[at] = pushes || limited ? a->effort : INFINITY;
            if (o->lower) lower[at] = fmax(lower[at], o->lower[at]), upper[at] = fmin(upper[at], o->upper[at]);
            any = any || isfinite(lower[at]) || isfinite(upper[at]);
        }
    }
    return any;
}

void scene_plant_guess(const scene_plant *s, double *U)
{
    const scene_optimize *const o = &s->scene->optimize;
    const scene_controller *const c = &s->scene->controller;
    const size_t width = (size_t)c->plan_width;
    size_t row = 0;
    for (int k = 0; k < s->plant.knots; k++) {
        double *const u = U + (size_t)k * (size_t)s->nu;
        if (c->given) {  // a plan: others are refused
            while (row + 1 < (size_t)c->plan_rows && c->plan[(row + 1) * width] <= k * s->knot * (1 + 1e-9)) row++;
            memcpy(u, c->plan + row * width + 1, (size_t)s->nu * sizeof *u);
        } else if (o->guess) memcpy(u, o->guess, (size_t)s->nu * sizeof *u);
        else ctn_model_targets(s->model, u);
    }
}
