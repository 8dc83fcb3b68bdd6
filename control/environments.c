/// Environments: worlds of a batch that are told between steps (engine->model_tell), each with an episode of its own.
#include "control/environment_spaces.h"
#include "control/reward.h"
#include "sim/base/status.h"
#include "sim/batch/batch_begin.h"
#include "sim/batch/batch_sensors.h"
#include "sim/runs/sampled_worlds.h"

#include <catena/environments.h>
#include <catena/motors.h>
#include <catena/sample.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ctn_environments {
    const ctn_scene *scene;
    const ctn_model *model;
    ctn_model *told;  // NULL: the model as it is; else the one whose thrusters are told between steps
    ctn_batch *batch;
    reward *reward;
    sampled_worlds sampled;  // where the worlds began last
    environment_spaces spaces;
    int *column;  // [nu], which of the parameters that are drawn a target is; -1: none
    size_t worlds, nq, nv, nu, nterm;
    int hold, limit;

    // of each world
    uint64_t *seed;
    int64_t *episode;    // number of the one that it is in; -1: of none yet
    int *age;            // actions of it
    bool *over, *ended;  // it is over; by the reward
    bool *terminated, *truncated, *lost;
    double *total, *terms;  // earned up to now: [worlds], [worlds][nterm]

    // of a call
    bool *which, *frozen;
    int *steps;                           // to make
    double *q, *v, *u, *time, *sensed;    // [worlds][..]
    double *total_before, *terms_before;  // as total, terms
    double *flat;                         // [worlds][numbers of a state]
    ctn_step_stats *stats;
};

// ---- open and close

static double *numbers(size_t n, bool *room)
{
    double *const x = calloc(n + 1, sizeof *x);
    *room = *room && x;
    return x;
}

static bool make_room(ctn_environments *e)
{
    const size_t n = e->worlds, flat = e->batch->engine->flat_size(lanes_of(e->batch, 0), &e->batch->cfg);
    bool room = true;
    e->total = numbers(n, &room), e->total_before = numbers(n, &room), e->time = numbers(n, &room);
    e->terms = numbers(n * e->nterm, &room), e->terms_before = numbers(n * e->nterm, &room);
    e->q = numbers(n * e->nq, &room), e->v = numbers(n * e->nv, &room), e->u = numbers(n * e->nu, &room);
    e->sensed = numbers(n * (size_t)ctn_model_sensor_numbers(e->model), &room), e->flat = numbers(n * flat, &room);
    e->seed = calloc(n, sizeof *e->seed), e->episode = calloc(n, sizeof *e->episode), e->age = calloc(n, sizeof *e->age);
    e->over = calloc(n, 1), e->ended = calloc(n, 1), e->terminated = calloc(n, 1), e->truncated = calloc(n, 1);
    e->lost = calloc(n, 1), e->which = calloc(n, 1), e->frozen = calloc(n, 1);
    e->steps = calloc(n, sizeof *e->steps), e->stats = calloc(n, sizeof *e->stats);
    return room && e->seed && e->episode && e->age && e->over && e->ended && e->terminated && e->truncated && e->lost &&
           e->which && e->frozen && e->steps && e->stats;
}

/// Which targets are drawn with the worlds.
static ctn_status list_drawn(ctn_environments *e, ctn_error *err)
{
    ctn_parameter *const list = calloc(e->nu + 1, sizeof *list);
    e->column = calloc(e->nu + 1, sizeof *e->column);
    if (list) ctn_model_target_parameters(e->model, list);
    for (size_t k = 0; list && e->column && k < e->nu; k++) {
        e->column[k] = -1;
        for (int i = 0; i < e->sampled.parameter_count; i++) {
            const ctn_parameter p = e->sampled.parameters[i];
            if (p.kind == list[k].kind && p.index == list[k].index) e->column[k] = i;
        }
    }
    const bool room = list && e->column;
    free(list);
    return room ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for environments");
}

/// How long actions and episodes are.
static ctn_status choose_lengths(ctn_environments *e, const ctn_batch_config *cfg, int hold, int limit, ctn_error *err)
{
    enum { MOST = 1000000000 };
    const model_controller *const c = e->model->controller;
    if (hold < 0) return fail(err, CTN_BAD_ARGUMENT, "hold: expected 0 or more steps of an action, found %d", hold);
    e->hold = hold ? hold : (int)fmin(fmax(1, c ? floor(c->every / cfg->dt * (1 + 1e-9)) : 1), MOST);
    const double duration = ctn_scene_duration(e->scene), actions = duration / (e->hold * cfg->dt);
    e->limit = limit ? (limit > 0 ? limit : 0) : duration > 0 ? (int)fmin(fmax(1, ceil(actions * (1 - 1e-9))), MOST) : 0;
    return CTN_OK;
}

static ctn_status open_batch(ctn_environments *e, const ctn_batch_config *cfg, ctn_error *err)
{
    ctn_batch_config own = *cfg;
    if (cfg->parameter_count)
        return fail(err, CTN_BAD_ARGUMENT,
                    "parameters: environments have those that `sample` of the scene draws; say them there");
    const ctn_status status = sampled_worlds_open(&e->sampled, e->scene, e->model, e->scene->path, cfg->worlds, &own, err);
    if (status != CTN_OK) return status;
    if (own.parallel == CTN_PARALLEL_AUTO) own.parallel = CTN_PARALLEL_WORLDS;
    const bool still = model_has_still_thrusters(e->model);
    if (still && !(e->told = model_with_told_thrusters(e->model)))
        return fail(err, CTN_NO_MEMORY, "not enough memory for environments");
    ctn_error why = {.status = CTN_OK};
    e->batch = batch_create(still ? e->told : e->model, &own, true, NULL, &why);
    if (err && !e->batch) *err = why;
    if (!e->batch) return why.status;
    if (e->batch->device || e->batch->cfg.parallel != CTN_PARALLEL_WORLDS)
        return fail(err, CTN_UNAVAILABLE,
                    "%s: environments are stepped side by side in lanes of the CPU in this version; take %s",
                    e->batch->device ? "engine" : "parallel", e->batch->device ? "engine: auto" : "parallel: worlds");
    return CTN_OK;
}

/// What motors of a world are told before any action: parameters of its own, or the model's targets.
static void start_targets(const ctn_environments *e, size_t w)
{
    double *const u = e->u + w * e->nu;
    ctn_model_targets(e->model, u);
    for (size_t k = 0; k < e->nu; k++)
        if (e->column[k] >= 0) u[k] = e->batch->values[w * (size_t)e->sampled.parameter_count + (size_t)e->column[k]];
}

ctn_environments *ctn_environments_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, int hold,
                                          int limit, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err) || missing(__func__, "model", model, err)) return NULL;
    if (ctn_batch_check(model, cfg, err) != CTN_OK) return NULL;
    if (!scene->nreward) {
        fail(err, CTN_BAD_SCENE, "%s: the scene has no reward; say in `reward` what worlds are to be good at", scene->path);
        return NULL;
    }
    ctn_environments *const e = calloc(1, sizeof *e);
    if (!e) return fail(err, CTN_NO_MEMORY, "not enough memory for environments"), NULL;
    e->scene = scene, e->model = model, e->worlds = (size_t)cfg->worlds, e->nterm = (size_t)scene->nreward;
    e->nq = (size_t)model->nq, e->nv = (size_t)model->nv, e->nu = (size_t)model->ncontrol;
    ctn_status status = choose_lengths(e, cfg, hold, limit, err);
    if (status == CTN_OK) status = environment_spaces_open(&e->spaces, scene, model, err);
    if (status == CTN_OK) status = open_batch(e, cfg, err);
    if (status == CTN_OK) status = list_drawn(e, err);
    if (status == CTN_OK && !(e->reward = reward_open(scene, model, cfg->worlds, err))) status = CTN_NO_MEMORY;
    if (status == CTN_OK && !make_room(e))
        status = fail(err, CTN_NO_MEMORY, "not enough memory for environments of %d worlds", cfg->worlds);
    for (size_t w = 0; status == CTN_OK && w < e->worlds; w++) {  // they wait for their first episodes
        e->seed[w] = w, e->episode[w] = -1, e->over[w] = e->truncated[w] = true;
        start_targets(e, w);
    }
    if (status == CTN_OK) return e;
    ctn_environments_free(e);
    return NULL;
}

void ctn_environments_free(ctn_environments *e)
{
    if (!e) return;
    ctn_batch_free(e->batch), reward_close(e->reward), sampled_worlds_close(&e->sampled), environment_spaces_close(&e->spaces);
    free(e->told), free(e->column), free(e->seed), free(e->episode), free(e->age), free(e->over), free(e->ended),
        free(e->terminated), free(e->truncated);
    free(e->total), free(e->terms), free(e->which), free(e->lost), free(e->frozen), free(e->steps), free(e->q), free(e->v),
        free(e->u);
    free(e->time), free(e->sensed), free(e->total_before), free(e->terms_before), free(e->flat), free(e->stats);
    free(e);
}

// ---- what they are

int ctn_environments_actions(const ctn_environments *e) { return e ? e->spaces.actions : 0; }
int ctn_environments_observations(const ctn_environments *e) { return e ? e->spaces.observations : 0; }
int ctn_environments_rewards(const ctn_environments *e) { return e ? (int)e->nterm : 0; }
double ctn_environments_every(const ctn_environments *e) { return e ? e->hold * e->batch->cfg.dt : NAN; }
int ctn_environments_limit(const ctn_environments *e) { return e ? e->limit : 0; }

void ctn_environments_bounds(const ctn_environments *e, double (*actions)[2], double (*observations)[2])
{
    if (e && actions) memcpy(actions, e->spaces.action_bounds, (size_t)e->spaces.actions * sizeof *actions);
    if (e && observations) memcpy(observations, e->spaces.observation_bounds, (size_t)e->spaces.observations * sizeof *actions);
}

const char *ctn_environments_action_name(const ctn_environments *e, int number)
{
    return e && number >= 0 && number < e->spaces.actions ? e->spaces.action_names[number] : NULL;
}

const char *ctn_environments_observation_name(const ctn_environments *e, int number)
{
    return e && number >= 0 && number < e->spaces.observations ? e->spaces.observation_names[number] : NULL;
}

const char *ctn_environments_reward_name(const ctn_environments *e, int term)
{
    return e && term >= 0 && term < (int)e->nterm ? reward_term_name(e->scene->reward[term].term) : NULL;
}

const ctn_batch_config *ctn_environments_configuration(const ctn_environments *e) { return e ? &e->batch->cfg : NULL; }

// ---- what is seen

void ctn_environments_state(ctn_environments *e, double *q, double *v, double *time)
{
    if (!e) return;
    ctn_batch_state(e->batch, q, v);
    for (size_t w = 0; w < e->worlds && time; w++) time[w] = ctn_batch_time(e->batch, (int)w);
}

/// Of the states that are in q and v.
static void observe(ctn_environments *e, double *observation)
{
    const size_t width = (size_t)ctn_model_sensor_numbers(e->model);
    if (!observation) return;
    if (e->spaces.sensed) ctn_batch_sensors(e->batch, e->sensed, NULL);
    for (size_t w = 0; w < e->worlds; w++)
        environment_observe(&e->spaces, e->model, e->sensed + w * width, e->q + w * e->nq, e->v + w * e->nv, e->time[w],
                            observation + w * (size_t)e->spaces.observations);
}

// ---- what is told

/// Tells the motors of all worlds u.
static void tell(const ctn_environments *e)
{
    const double *rows[MOST_LANES];
    for (int b = 0; b < e->batch->blocks; b++) {
        rows_of(e->batch, b, e->u, (int)e->nu, rows);
        e->batch->engine->model_tell(lanes_of(e->batch, b), rows);
    }
}

// ---- episodes

enum { MANY = 1 << 30 };  // worlds of `sample`, of which its strata would be

/// The world of `sample` in which episode `number` of a seed begins: other seeds are at other points of its grids, too.
static int64_t world_of(uint64_t seed, int64_t number) { return (int64_t)((seed + (uint64_t)number) % MANY); }

/// Draws where world w begins, or takes what it is given, into `sampled`. CTN_BAD_ARGUMENT: it cannot.
static ctn_status draw_start(ctn_environments *e, size_t w, uint64_t seed, int64_t number, const double *q, const double *v,
                             ctn_error *err)
{
    sampled_worlds *const x = &e->sampled;
    double *const to_q = x->q + w * e->nq, *const to_v = x->v + w * e->nv;
    double *const own = x->values + w * (size_t)x->parameter_count;
    x->forced = ctn_sample_worlds(e->scene, e->model, seed, world_of(seed, number), 1, MANY, to_q, to_v, x->tau + w * e->nv, own);
    if (q) memcpy(to_q, q + w * e->nq, e->nq * sizeof *q), memcpy(to_v, v + w * e->nv, e->nv * sizeof *v);
    ctn_error why;
    ctn_status status = state_check(e->model, to_q, to_v, (int)w, q ? err : &why);
    if (status != CTN_OK && q) return status;
    if (status == CTN_OK && x->parameter_count) status = parameters_check(e->batch->parameters, own, (int)w, &why);
    if (status == CTN_OK) return CTN_OK;
    return fail(err, status, "%s: sample: %s; narrow what it draws", e->scene->path, why.message);
}

/// Gives the worlds that begin what was drawn with them: parameters, joint forces, and the targets of their motors.
static void give_drawn(ctn_environments *e)
{
    ctn_batch *const batch = e->batch;
    const sampled_worlds *const x = &e->sampled;
    const size_t own = (size_t)x->parameter_count;
    for (size_t w = 0; w < e->worlds; w++) {
        if (!e->which[w]) continue;
        if (own) memcpy(batch->values + w * own, x->values + w * own, own * sizeof *x->values);
        if (x->forced) memcpy(batch->tau + w * e->nv, x->tau + w * e->nv, e->nv * sizeof *x->tau);
        start_targets(e, w);
    }
    batch->forced = x->forced;
    for (int b = 0; b < batch->blocks && own; b++) {
        bool any = false;
        for (int l = 0; l < worlds_in(batch, b); l++) any = any || e->which[b * batch->engine->lanes + l];
        if (any) batch_load_block(batch, b);
    }
    tell(e);
}

ctn_status ctn_environments_reset(ctn_environments *e, const bool *which, const uint64_t *seeds, const double *q, const double *v,
                                  double *observation, ctn_error *err)
{
    if (missing(__func__, "environments", e, err)) return CTN_BAD_ARGUMENT;
    if (q && e->nv && missing(__func__, "v", v, err)) return CTN_BAD_ARGUMENT;
    if (v && e->nq && missing(__func__, "q", q, err)) return CTN_BAD_ARGUMENT;
    for (size_t w = 0; w < e->worlds; w++) {
        if (which && !which[w]) continue;
        const ctn_status status = draw_start(e, w, seeds ? seeds[w] : e->seed[w], seeds ? 0 : e->episode[w] + 1, q, v, err);
        if (status != CTN_OK) return status;
    }
    for (size_t w = 0; w < e->worlds; w++) {
        e->which[w] = !which || which[w];
        if (!e->which[w]) continue;
        e->episode[w] = seeds ? 0 : e->episode[w] + 1;
        if (seeds) e->seed[w] = seeds[w];
        e->age[w] = 0, e->over[w] = e->terminated[w] = e->truncated[w] = e->lost[w] = false, e->time[w] = 0;
    }
    give_drawn(e);
    batch_begin(e->batch, &(batch_beginning){e->which, e->sampled.q, e->sampled.v, e->time, NULL, e->flat});
    for (size_t w = 0; w < e->worlds; w++)
        if (e->which[w]) batch_number_world(e->batch, (int)w, e->seed[w], e->episode[w]);
    ctn_environments_state(e, e->q, e->v, e->time);
    reward_begin(e->reward, e->which, e->q, e->v);
    reward_end(e->reward, e->total, e->terms, e->ended);
    observe(e, observation);
    return CTN_OK;
}

// ---- steps

/// Takes the actions of worlds whose episodes go on.
static ctn_status take_actions(ctn_environments *e, const double *action, ctn_error *err)
{
    const environment_spaces *const s = &e->spaces;
    const size_t n = (size_t)s->actions;
    for (size_t w = 0; w < e->worlds; w++)
        for (size_t i = 0; i < n && e->steps[w]; i++)
            if (!isfinite(action[w * n + i]))
                return fail(err, CTN_BAD_ARGUMENT, "action[%zu], of '%s', of world %zu is not finite", i, s->action_names[i], w);
    for (size_t w = 0; w < e->worlds; w++)
        for (size_t i = 0; i < n && e->steps[w]; i++)
            e->u[w * e->nu + (size_t)s->target[i]] =
                fmin(fmax(action[w * n + i], s->action_bounds[i][0]), s->action_bounds[i][1]);
    tell(e);
    return CTN_OK;
}

/// What becomes of a world that has acted, or whose episode was over where it began.
static void judge(ctn_environments *e, size_t w)
{
    if (e->over[w]) return;
    e->age[w] += e->steps[w] > 0;
    e->terminated[w] = e->ended[w];
    e->lost[w] = !e->ended[w] && (e->frozen[w] || isnan(e->total[w]));
    e->truncated[w] = e->lost[w] || (!e->ended[w] && e->limit && e->age[w] >= e->limit);
    e->over[w] = e->terminated[w] || e->truncated[w];
}

/// What a world has earned in this step: nothing where it rests, or has come to no number.
static void earn(const ctn_environments *e, size_t w, const ctn_environments_result *to)
{
    const bool earns = e->steps[w] && !isnan(e->total[w]);
    if (to->reward) to->reward[w] = earns ? e->total[w] - e->total_before[w] : 0;
    for (size_t k = w * e->nterm; k < (w + 1) * e->nterm && to->terms; k++)
        to->terms[k] = earns ? e->terms[k] - e->terms_before[k] : 0;
    if (to->terminated) to->terminated[w] = e->terminated[w];
    if (to->truncated) to->truncated[w] = e->truncated[w];
    if (to->lost) to->lost[w] = e->lost[w];
}

ctn_status ctn_environments_step(ctn_environments *e, const double *action, const ctn_environments_result *to, ctn_error *err)
{
    if (missing(__func__, "environments", e, err) || missing(__func__, "action", action, err) ||
        missing(__func__, "result", to, err))
        return CTN_BAD_ARGUMENT;
    for (size_t w = 0; w < e->worlds; w++) e->steps[w] = e->over[w] || e->ended[w] ? 0 : e->hold;
    ctn_status status = take_actions(e, action, err);
    if (status != CTN_OK) return status;
    status = ctn_batch_run(e->batch, &(ctn_run){.steps = e->hold, .horizon = e->steps}, e->stats, err);
    if (status != CTN_OK && status != CTN_FROZEN) return status;
    ctn_environments_state(e, e->q, e->v, e->time);
    for (size_t w = 0; w < e->worlds; w++) e->frozen[w] = e->stats[w].frozen != CTN_RUNNING;
    memcpy(e->total_before, e->total, e->worlds * sizeof *e->total);
    memcpy(e->terms_before, e->terms, e->worlds * e->nterm * sizeof *e->terms);
    reward_step(e->reward, e->time, e->hold * e->batch->cfg.dt, e->q, e->v, e->u, e->frozen);
    reward_end(e->reward, e->total, e->terms, e->ended);
    for (size_t w = 0; w < e->worlds; w++) judge(e, w), earn(e, w, to);
    if (to->stats) memcpy(to->stats, e->stats, e->worlds * sizeof *e->stats);
    observe(e, to->observation);
    return CTN_OK;
}
