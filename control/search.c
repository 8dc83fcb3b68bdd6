/// Generations of candidates in worlds of a batch.
#include "control/search_parts.h"

#include "sim/base/status.h"
#include "sim/model/controller.h"

#include <catena/catena.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- playing

static void close_play(play *p)
{
    ctn_batch_free(p->batch);
    sampled_worlds_close(&p->sampled);
    reward_close(p->reward);
    free(p->q), free(p->v), free(p->u), free(p->time), free(p->total), free(p->stats), free(p->lost);
    free(p->earned), free(p->sum), free(p->sensed), free(p->ended), free(p->over);
    *p = (play){0};
}

/// Room for `worlds` worlds of a model by `cfg`, in whose steps the motors are told every `hold`.
static ctn_status open_play(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                            int worlds, int hold, play *p, ctn_error *err)
{
    const size_t w = (size_t)worlds, nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    ctn_batch_config own = *cfg;
    *p = (play){.worlds = worlds, .hold = hold, .steps = lround(duration / cfg->dt)};
    own.worlds = worlds;
    const ctn_status status = sampled_worlds_open(&p->sampled, scene, model, scene->path, worlds, &own, err);
    if (status != CTN_OK) return status;
    if (!(p->batch = ctn_batch_create(model, &own, err))) return err->status;
    if (scene->nreward && !(p->reward = reward_open(scene, model, worlds, err))) return err->status;
    p->earned = malloc(w * sizeof *p->earned), p->sum = malloc(w * sizeof *p->sum);
    p->sensed = malloc(w * (size_t)ctn_model_sensor_numbers(model) * sizeof *p->sensed + 1);
    p->ended = calloc(w, sizeof *p->ended), p->over = calloc(w, sizeof *p->over);
    p->q = malloc(w * nq * sizeof *p->q + 1), p->v = malloc(w * nv * sizeof *p->v + 1);
    p->u = malloc(w * (size_t)ctn_model_ntarget(model) * sizeof *p->u + 1), p->time = malloc(w * sizeof *p->time);
    p->total = malloc(w * sizeof *p->total), p->stats = malloc(w * sizeof *p->stats), p->lost = malloc(w * sizeof *p->lost);
    if (p->q && p->v && p->u && p->time && p->total && p->stats && p->lost && p->earned && p->sum && p->sensed && p->ended &&
        p->over)
        return CTN_OK;
    return fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of a search", worlds);
}

/// Puts all worlds at their beginning, the first of which is number `first` of all: `each` of them are drawn, alike for every
/// candidate.
static ctn_status start_play(play *p, const ctn_scene *scene, uint64_t seed, int64_t first, int each, ctn_error *err)
{
    sampled_worlds *const x = &p->sampled;
    const size_t block = (size_t)each, nq = (size_t)ctn_model_nq(x->model), nv = (size_t)ctn_model_nv(x->model),
                 own = (size_t)x->parameter_count;
    const bool forced = ctn_sample_worlds(scene, x->model, seed, 0, each, each, x->q, x->v, x->tau, x->values);
    for (size_t w = block; w < (size_t)p->worlds; w += block) {
        memcpy(x->q + w * nq, x->q, block * nq * sizeof *x->q), memcpy(x->v + w * nv, x->v, block * nv * sizeof *x->v);
        memcpy(x->tau + w * nv, x->tau, block * nv * sizeof *x->tau);
        memcpy(x->values + w * own, x->values, block * own * sizeof *x->values);
    }
    ctn_batch_number_worlds(p->batch, seed, first);
    ctn_batch_set_force(p->batch, forced ? x->tau : NULL);
    const ctn_status status = own ? ctn_batch_set_parameters(p->batch, x->values, err) : CTN_OK;
    return status == CTN_OK ? ctn_batch_set_state(p->batch, x->q, x->v, 0, err) : status;
}

/// Tells the caller's own reward of where worlds are, after an interval of dt or (0) at their beginning.
static ctn_status ask_own(play *p, double dt, bool last, ctn_error *err)
{
    const ctn_model *const model = p->sampled.model;
    ctn_status status = CTN_OK;
    if (!p->own) return CTN_OK;
    for (int w = 0; w < p->worlds; w++) {
        if (dt <= 0) p->time[w] = 0, p->sum[w] = 0, p->ended[w] = p->lost[w] = false;
        p->over[w] = p->ended[w] || p->lost[w], p->earned[w] = 0;
    }
    const bool senses = ctn_model_nsensor(model) > 0;
    if (senses) status = ctn_batch_sensors(p->batch, p->sensed, err);
    if (dt <= 0) ctn_batch_targets(p->batch, p->u);
    const ctn_search_moment now = {p->worlds, last, dt, p->time, p->q, p->v, p->u, senses ? p->sensed : NULL, p->over};
    if (status == CTN_OK) status = p->own->earn(p->own->with, &now, p->earned, err);
    for (int w = 0; w < p->worlds && dt > 0; w++)
        if (!p->ended[w]) p->sum[w] += p->lost[w] ? NAN : p->earned[w];
    if (p->reward) reward_end(p->reward, NULL, NULL, p->ended);
    return status;
}

/// Plays all worlds from beginning to end, told by `parameters` [worlds][count]: what they earn goes into total.
static ctn_status play_all(play *p, const ctn_scene *scene, uint64_t seed, int64_t first, int each, const double *parameters,
                           ctn_error *err)
{
    ctn_status status = start_play(p, scene, seed, first, each, err);
    if (status == CTN_OK) status = ctn_batch_set_controller(p->batch, parameters, err);
    if (status != CTN_OK) return status;
    const double dt = ctn_batch_configuration(p->batch)->dt;
    ctn_batch_state(p->batch, p->q, p->v);
    if (p->reward) reward_begin(p->reward, NULL, p->q, p->v);
    status = ask_own(p, 0, false, err);
    if (status != CTN_OK) return status;
    for (long done = 0; done < p->steps;) {
        const int count = p->steps - done < p->hold ? (int)(p->steps - done) : p->hold;
        status = ctn_batch_step(p->batch, count, p->stats, err);
        if (status != CTN_OK && status != CTN_FROZEN) return status;
        done += count;
        for (int w = 0; w < p->worlds; w++)
            p->time[w] = ctn_batch_time(p->batch, w), p->lost[w] = p->stats[w].frozen != CTN_RUNNING;
        ctn_batch_state(p->batch, p->q, p->v), ctn_batch_targets(p->batch, p->u);
        if (p->reward) reward_step(p->reward, p->time, count * dt, p->q, p->v, p->u, p->lost);
        status = ask_own(p, count * dt, done == p->steps, err);
        if (status != CTN_OK) return status;
    }
    memset(p->total, 0, (size_t)p->worlds * sizeof *p->total);
    if (p->reward) reward_end(p->reward, p->total, NULL, NULL);
    for (int w = 0; w < p->worlds && p->own; w++) p->total[w] += isfinite(p->sum[w]) ? p->sum[w] : NAN;
    return CTN_OK;
}

/// The mean of what the worlds of a candidate earn.
static double mean_of(const double *total, int each)
{
    double sum = 0;
    for (int j = 0; j < each; j++) sum += total[j];
    return sum / each;
}

// ---- the search

enum { MOST_EPISODE = 10000000 };  // steps

static ctn_status check_scene(const ctn_scene *scene, const ctn_batch_config *cfg, double duration, bool own, ctn_error *err)
{
    const char *const path = scene->path;
    if (!scene->controller.given)
        return fail(err, CTN_BAD_SCENE, "%s: there is nothing to search for: the scene has no `controller`", path);
    if (scene->controller.type == CONTROLLER_PLAN)
        return fail(
            err, CTN_BAD_SCENE,
            "%s: there is nothing to search for: a controller of the type plan has no parameters; catena optimize makes plans",
            path);
    if (!scene->nreward && !own)
        return fail(err, CTN_BAD_SCENE, "%s: there is nothing to go by: the scene has no `reward`; give it one, or --reward",
                    path);
    if (cfg->adaptive) return fail(err, CTN_BAD_CONFIG, "%s: dt: a search takes steps of one size; give dt in seconds", path);
    if (!(duration >= cfg->dt))
        return fail(err, CTN_BAD_SCENE,
                    "%s: duration: a search plays so many seconds; give the scene one of at least a step, or say it", path);
    if (duration / cfg->dt > MOST_EPISODE)
        return fail(err, CTN_BAD_SCENE, "%s: duration: %g s are too many steps for a search; the most are %g s", path, duration,
                    MOST_EPISODE * cfg->dt);
    return CTN_OK;
}

/// Units in which all parameters are looked for alike; bounds in them.
static bool open_cma(search *s, const scene_search *of, ctn_error *err)
{
    const model_controller *const c = s->model->controller;
    const size_t n = (size_t)s->count;
    double *const mean = malloc(3 * n * sizeof *mean), *const lower = mean + n, *const upper = lower + n;
    ctn_cma_config cfg = ctn_cma_default_config(s->count);
    if (!mean) return fail(err, CTN_NO_MEMORY, "not enough memory for a search"), false;
    for (size_t k = 0; k < n; k++) {
        s->unit[k] = c->sigma[k];
        lower[k] = c->bounds[k][0] / s->unit[k], upper[k] = c->bounds[k][1] / s->unit[k];
        mean[k] = fmin(fmax(c->start[k] / s->unit[k], lower[k]), upper[k]);
    }
    cfg.mean = mean, cfg.lower = lower, cfg.upper = upper, cfg.sigma = of->sigma;
    cfg.population = of->population, cfg.seed = (uint64_t)of->seed;
    cfg.restarts = (ctn_cma_restarts)of->restarts, cfg.covariance = (ctn_cma_covariance)of->covariance;
    cfg.adapt_rates = of->adapt_rates;
    s->cma = ctn_cma_create(&cfg, err);
    free(mean);
    return s->cma;
}

/// The first of a generation's candidates that are this process' own, and the one behind them.
static int own_begin(const search *s, int population) { return share_of_rank(s->ranks, s->ranks->rank, population); }
static int own_end(const search *s, int population) { return share_of_rank(s->ranks, s->ranks->rank + 1, population); }

/// Steps between two times that motors are told.
static int hold_of(const search *s)
{
    enum { MOST_HOLD = 100000000 };  // more than an episode has
    return (int)fmin(fmax(1, floor(s->model->controller->every / s->cfg.dt * (1 + 1e-9))), MOST_HOLD);
}

/// Room for as many candidates as this generation has.
static ctn_status make_room(search *s, ctn_error *err)
{
    const int population = ctn_cma_population(s->cma), own = own_end(s, population) - own_begin(s, population);
    const size_t n = (size_t)population, count = (size_t)s->count;
    if (population == s->room) return CTN_OK;
    if (population < s->ranks->count)
        return fail(err, CTN_BAD_CONFIG, "population: %d candidates are too few for %d processes; let mpirun start fewer",
                    population, s->ranks->count);
    close_play(&s->play);
    free(s->x), free(s->value), free(s->told);
    s->x = malloc(n * count * sizeof *s->x), s->value = malloc(n * sizeof *s->value);
    s->told = malloc((size_t)own * (size_t)s->each * count * sizeof *s->told);
    s->room = 0;
    if (!s->x || !s->value || !s->told) return fail(err, CTN_NO_MEMORY, "not enough memory for %d candidates", population);
    const ctn_status status = open_play(s->scene, s->model, &s->cfg, s->duration, own * s->each, hold_of(s), &s->play, err);
    if (s->own.earn) s->play.own = &s->own;
    if (status == CTN_OK) s->room = population;
    return status;
}

enum { JUDGES = 8, JUDGED_EACH = 10 };  // worlds in which a policy is judged, where they differ; after so many generations

/// By policy gradients: a learner, and worlds in which what it has learned is judged, without noise.
static bool open_policy(search *s, ctn_error *err)
{
    const ctn_scene *const scene = s->scene;
    if (s->ranks->count > 1) {
        fail(err, CTN_BAD_CONFIG,
             "%s: a search by policy gradients takes one process in this version, and its threads; leave mpirun out, or take "
             "method: cma",
             scene->path);
        return false;
    }
    if (s->own.earn) {
        fail(err, CTN_BAD_CONFIG,
             "%s: --reward goes with method: cma in this version; policy gradients go by the scene's `reward`", scene->path);
        return false;
    }
    s->each = ctn_scene_is_sampled(scene) ? JUDGES : 1;
    s->told = malloc((size_t)s->each * (size_t)s->count * sizeof *s->told);
    if (!s->told) return fail(err, CTN_NO_MEMORY, "not enough memory for a search"), false;
    s->policy = policy_open(scene, s->model, &s->cfg, s->duration, hold_of(s), err);
    return s->policy && open_play(scene, s->model, &s->cfg, s->duration, s->each, hold_of(s), &s->play, err) == CTN_OK;
}

search *search_open(ctn_scene *scene, const ctn_batch_config *cfg, double duration, ranks *all, const search_reward *own,
                    ctn_error *err)
{
    if (check_scene(scene, cfg, duration, own, err) != CTN_OK) return NULL;
    search *const s = calloc(1, sizeof *s);
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for a search"), NULL;
    s->scene = scene, s->cfg = *cfg, s->duration = duration, s->each = scene->search.worlds;
    if (own) s->own = *own;
    s->best = -INFINITY, s->mean = s->worst = NAN, s->ranks = all;
    if (!(scene->controller.every > 0)) scene->controller.every = cfg->dt;  // so that smaller steps have the same controller
    s->model = ctn_model_create(scene, err);
    s->count = ctn_model_controller_parameters(s->model);
    s->unit = calloc((size_t)s->count + 1, sizeof *s->unit), s->best_x = calloc((size_t)s->count + 1, sizeof *s->best_x);
    if (s->model && (!s->unit || !s->best_x)) fail(err, CTN_NO_MEMORY, "not enough memory for a search");
    else if (s->model && scene->search.method != SEARCH_CMA) {
        if (open_policy(s, err)) return s;
    } else if (s->model && open_cma(s, &scene->search, err) && make_room(s, err) == CTN_OK) return s;
    search_close(s);
    return NULL;
}

void search_close(search *s)
{
    if (!s) return;
    close_play(&s->play);
    policy_close(s->policy), ctn_cma_free(s->cma), ctn_model_free(s->model);
    free(s->unit), free(s->x), free(s->value), free(s->told), free(s->best_x);
    free(s);
}

int search_parameters(const search *s) { return s->count; }
int search_worlds(const search *s) { return s->policy ? s->scene->search.worlds : ctn_cma_population(s->cma) * s->each; }

ctn_search_state search_get_state(const search *s)
{
    if (s->policy) {
        const policy_state p = policy_get_state(s->policy);
        return (ctn_search_state){.learns = true,
                                  .generation = (long)p.windows,
                                  .evaluations = (long)p.episodes,
                                  .steps = (long)p.steps,
                                  .best = s->best,
                                  .mean = p.mean,
                                  .worst = p.least,
                                  .lost = (long)p.lost,
                                  .sigma = p.deviation,
                                  .gradient = p.gradient,
                                  .judges = s->judges};
    }
    const ctn_cma_state c = ctn_cma_get_state(s->cma);
    return (ctn_search_state){.generation = (long)c.generations,
                              .evaluations = (long)c.evaluations,
                              .steps = (long)c.evaluations * s->each * lround(s->duration / s->cfg.dt),
                              .best = s->best,
                              .mean = s->mean,
                              .worst = s->worst,
                              .lost = s->lost,
                              .sigma = c.sigma,
                              .ratio = sqrt(c.condition),
                              .judges = s->judges,
                              .over = c.stop != CTN_CMA_RUNS};
}

/// Generations that none is: in the worlds of the first one of two is chosen, in those of the next one that is judged, and in
/// those of the last one it is told what it is worth. So what is told of it is not the luck by which it was chosen.
enum { CHOOSING = INT32_MAX - 2, JUDGING, TELLING };

/// What worlds are drawn by in a generation.
static uint64_t draw_of(const search *s, int64_t generation)
{
    return ((uint64_t)s->scene->search.seed << 32) + (uint64_t)generation;
}

/// What the candidates of a generation have earned, `value`, which becomes what CMA-ES makes small.
static void judge(search *s, int population)
{
    int told = 0;
    double sum = 0;
    s->worst = INFINITY;
    for (int k = 0; k < population; k++) {
        const double earned = s->value[k];
        s->value[k] = -earned;
        if (isnan(earned)) {
            s->lost++;
            continue;
        }
        told++, sum += earned, s->worst = fmin(s->worst, earned);
        if (earned <= s->best) continue;
        s->best = earned;
        memcpy(s->best_x, s->x + (size_t)k * (size_t)s->count, (size_t)s->count * sizeof *s->best_x);
    }
    s->mean = told ? sum / told : NAN;
    if (!told) s->worst = NAN;
}

/// Plays this process' candidates, and hears of the others.
static ctn_status play_own(search *s, int64_t generation, ctn_error *err)
{
    const int population = s->room, begin = own_begin(s, population), end = own_end(s, population);
    const size_t count = (size_t)s->count, each = (size_t)s->each;
    for (size_t w = 0; w < (size_t)(end - begin) * each; w++)
        memcpy(s->told + w * count, s->x + ((size_t)begin + w / each) * count, count * sizeof *s->told);
    const ctn_status status =
        play_all(&s->play, s->scene, draw_of(s, generation), (int64_t)begin * s->each, s->each, s->told, err);
    for (int k = begin; k < end && status == CTN_OK; k++)
        s->value[k] = mean_of(s->play.total + (size_t)(k - begin) * each, s->each);
    return status;
}

/// What the policy earns without noise.
static ctn_status judge_policy(search *s, ctn_error *err)
{
    const size_t count = (size_t)s->count;
    for (int j = 0; j < s->each; j++) memcpy(s->told + (size_t)j * count, policy_parameters(s->policy), count * sizeof *s->told);
    const ctn_status status = play_all(&s->play, s->scene, draw_of(s, 0), 0, s->each, s->told, err);
    if (status != CTN_OK) return status;
    s->judged = policy_get_state(s->policy).windows;
    const double earned = mean_of(s->play.total, s->each);
    if (earned > s->best) s->best = earned, memcpy(s->best_x, s->told, count * sizeof *s->best_x);
    return CTN_OK;
}

/// What parameters earn in the worlds of a judge, drawn as those of a generation.
static ctn_status play_judge(search *s, play *p, int64_t generation, const double *parameters, double *told, double *value,
                             ctn_error *err)
{
    const size_t count = (size_t)s->count;
    for (size_t j = 0; j < JUDGES; j++) memcpy(told + j * count, parameters, count * sizeof *told);
    const ctn_status status = play_all(p, s->scene, draw_of(s, generation), 0, JUDGES, told, err);
    *value = status == CTN_OK ? mean_of(p->total, JUDGES) : NAN;
    return status;
}

/// Where worlds are drawn anew in each generation, the best candidate of all was lucky in its own, and so was the best policy in
/// those that it was judged in: beside the mean of the search, or the last policy, it is played in others, and the better one is
/// taken. What that one earns is found in others again. Where it freezes there, it is the other one's turn.
static ctn_status judge_found(search *s, ctn_error *err)
{
    const size_t count = (size_t)s->count;
    double *const told = malloc((JUDGES + 1) * count * sizeof *told), *const mean = told + JUDGES * count, value[2], judged = NAN;
    const double *const both[2] = {s->best_x, mean};
    play p = {0};
    if (!told) return fail(err, CTN_NO_MEMORY, "not enough memory for a search");
    if (s->policy) memcpy(mean, policy_parameters(s->policy), count * sizeof *mean);
    else ctn_cma_mean(s->cma, mean);
    for (size_t k = 0; k < count && s->cma; k++) mean[k] *= s->unit[k];
    ctn_status status = open_play(s->scene, s->model, &s->cfg, s->duration, JUDGES, s->play.hold, &p, err);
    if (s->own.earn) p.own = &s->own;
    for (int k = 0; k < 2 && status == CTN_OK; k++) status = play_judge(s, &p, CHOOSING, both[k], told, &value[k], err);
    int chosen = status == CTN_OK && (value[1] > value[0] || isnan(value[0]));
    if (status == CTN_OK) status = play_judge(s, &p, JUDGING, both[chosen], told, &judged, err);
    if (status == CTN_OK && isnan(judged))
        chosen = !chosen, status = play_judge(s, &p, JUDGING, both[chosen], told, &judged, err);
    if (status == CTN_OK && chosen) memcpy(s->best_x, mean, count * sizeof *mean);
    if (status == CTN_OK) s->best = isnan(judged) ? -INFINITY : judged, s->judges = JUDGES;
    close_play(&p);
    free(told);
    return status;
}

ctn_status search_finish(search *s, ctn_error *err)
{
    if (s->policy && s->judged < policy_get_state(s->policy).windows) {
        const ctn_status status = judge_policy(s, err);
        if (status != CTN_OK) return status;
    }
    return ctn_scene_is_sampled(s->scene) && isfinite(s->best) ? judge_found(s, err) : CTN_OK;
}

/// The first policy is judged, and every tenth.
static bool is_judged(const search *s)
{
    const int64_t windows = policy_get_state(s->policy).windows;
    return windows == 1 || windows % JUDGED_EACH == 0;
}

ctn_status search_step(search *s, ctn_error *err)
{
    if (s->policy) {
        const ctn_status status = policy_step(s->policy, err);
        return status == CTN_OK && is_judged(s) ? judge_policy(s, err) : status;
    }
    enum { WELL, INTERRUPTED, FAILED };
    const int64_t generation = ctn_cma_get_state(s->cma).generations;
    const size_t count = (size_t)s->count;
    ctn_status status = make_room(s, err);
    if (status == CTN_OK) status = ctn_cma_ask(s->cma, s->x, err);
    for (size_t k = 0; status == CTN_OK && k < (size_t)s->room * count; k++) s->x[k] *= s->unit[k % count];
    if (status == CTN_OK) status = play_own(s, generation, err);
    const int own = status == CTN_OK            ? WELL
                    : status == CTN_INTERRUPTED ? INTERRUPTED
                                                : FAILED,
              all = s->ranks->worst(s->ranks, own);
    if (own < all && all == FAILED) return fail(err, CTN_UNAVAILABLE, "another process has failed");
    if (own < all) return fail(err, CTN_INTERRUPTED, "another process was interrupted");
    if (status != CTN_OK) return status;
    s->ranks->gather(s->ranks, s->value, s->room);
    judge(s, s->room);
    return ctn_cma_tell(s->cma, s->value, NULL, err);
}

ctn_status search_best(const search *s, double *parameters, ctn_error *err)
{
    if (!isfinite(s->best))
        return fail(err, CTN_BAD_ARGUMENT,
                    "no candidate has earned a number: all have frozen; try smaller steps, radau, or narrower ranges");
    memcpy(parameters, s->best_x, (size_t)s->count * sizeof *parameters);
    return CTN_OK;
}

ctn_status search_value(const search *s, const double *parameters, int parts, double *value, ctn_error *err)
{
    ctn_batch_config cfg = s->cfg;
    play p;
    double *const told = malloc((size_t)s->each * (size_t)s->count * sizeof *told + 1);
    if (!told) return fail(err, CTN_NO_MEMORY, "not enough memory");
    cfg.dt /= parts;
    for (int j = 0; j < s->each; j++) memcpy(told + (size_t)j * (size_t)s->count, parameters, (size_t)s->count * sizeof *told);
    ctn_status status = open_play(s->scene, s->model, &cfg, s->duration, s->each, s->play.hold * parts, &p, err);
    if (s->own.earn) p.own = &s->own;
    if (status == CTN_OK) status = play_all(&p, s->scene, draw_of(s, TELLING), 0, s->each, told, err);
    if (status == CTN_OK) *value = mean_of(p.total, s->each);
    close_play(&p);
    free(told);
    return status;
}
