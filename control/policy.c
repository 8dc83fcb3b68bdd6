#include "control/policy_parts.h"

#include "sim/base/status.h"

#include <catena/catena.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DECISIONS_PPO = 64, DECISIONS_SHAC = 32 };

static void follow_deviations(policy_search *p)
{
    for (int i = 0; i < p->outputs; i++) {
        double *const log_of = p->theta + p->count + i;
        *log_of = fmin(fmax(*log_of, log(LEAST_NOISE)), log(MOST_NOISE));
        p->deviation[i] = exp(*log_of);
    }
}

/// Where learning begins: at what the scene gives, else at weights by chance, the last layer's small.
static void start_network(policy_search *p, const ctn_scene *scene)
{
    const model_controller *const law = p->windows.law;
    if (scene->controller.parameters) memcpy(p->theta, law->start, (size_t)p->count * sizeof *p->theta);
    else network_draw(&p->windows.policy, (uint64_t)scene->search.seed, 0.1, p->theta);
    for (int i = 0; i < p->outputs; i++) p->theta[p->count + i] = log(p->how->noise);
    follow_deviations(p);
}

/// Decisions of a window: whole episodes, or what `horizon` says.
static int decisions_of(const scene_search *how, double decision, int episode)
{
    if (how->method == SEARCH_LIKELIHOOD) return episode;
    const int usual = how->method == SEARCH_PPO ? DECISIONS_PPO : DECISIONS_SHAC;
    const double asked = how->horizon > 0 ? how->horizon / decision : usual;
    return (int)fmax(1, round(fmin(asked, episode)));
}

/// Decisions are steps, and episodes decisions, without a rest: what is learned is told at the same times later.
static ctn_status check_times(const ctn_scene *scene, const model_controller *law, const ctn_batch_config *cfg, double duration,
                              int hold, ctn_error *err)
{
    const double decision = hold * cfg->dt, episode = duration / decision;
    if (law->every > cfg->dt && fabs(law->every - decision) > 1e-6 * decision)
        return fail(err, CTN_BAD_SCENE,
                    "%s: controller.every: policy gradients need a multiple of the step of %g s, found %g s; %g s is one",
                    scene->path, cfg->dt, law->every, decision);
    if (fabs(episode - round(episode)) > 1e-6 || round(episode) < 1)
        return fail(err, CTN_BAD_SCENE,
                    "%s: duration: policy gradients need a multiple of %g s, which motors are told the same, found %g s",
                    scene->path, decision, duration);
    if (scene->search.method == SEARCH_LIKELIHOOD && scene->search.worlds < 2)
        return fail(err, CTN_BAD_SCENE, "%s:%d: search.worlds: likelihood compares worlds with their mean, and needs two or more",
                    scene->path, scene->search.line);
    return CTN_OK;
}

policy_search *policy_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration, int hold,
                           ctn_error *err)
{
    const scene_search *const how = &scene->search;
    const model_controller *const law = model->controller;
    if (law->type != CONTROLLER_LINEAR && law->type != CONTROLLER_TANH)
        return fail(err, CTN_BAD_SCENE,
                    "%s:%d: search.method: policy gradients are for networks of sensors; take a controller of type linear or "
                    "tanh, or method cma",
                    scene->path, how->line),
               NULL;
    if (check_times(scene, law, cfg, duration, hold, err) != CTN_OK) return NULL;
    policy_search *const p = calloc(1, sizeof *p);
    if (!p) return fail(err, CTN_NO_MEMORY, "not enough memory for a search"), NULL;
    const int episode = (int)lround(duration / (hold * cfg->dt)), decisions = decisions_of(how, hold * cfg->dt, episode);
    ctn_batch_config own = *cfg;
    own.worlds = how->worlds;
    p->how = how, p->mean = p->least = NAN;
    if (windows_open(&p->windows, scene, model, &own, hold, decisions, episode, how->method == SEARCH_SHAC, err) != CTN_OK) {
        policy_close(p);
        return NULL;
    }
    p->count = network_parameters(&p->windows.policy), p->outputs = law->outputs;
    const size_t all = (size_t)(p->count + p->outputs), n = (size_t)how->worlds, d = (size_t)decisions;
    p->theta = calloc(all, sizeof *p->theta), p->g = calloc(all, sizeof *p->g), p->deviation = calloc(all, sizeof *p->deviation);
    p->values = calloc((d + 1) * n, sizeof *p->values), p->advantage = calloc(d * n, sizeof *p->advantage);
    p->weight = calloc(d * n, sizeof *p->weight);
    const bool critic = how->method == SEARCH_LIKELIHOOD ||
                        critic_open(&p->critic, law->inputs, how->critic, n, (uint64_t)how->seed ^ 0x5851f42d4c957f2d);
    if (!adam_open(&p->adam, (int)all) || !lived_open(&p->lived, &p->windows) || !critic || !p->theta || !p->g || !p->deviation ||
        !p->values || !p->advantage || !p->weight) {
        policy_close(p);
        return fail(err, CTN_NO_MEMORY, "not enough memory for a search in %zu worlds", n), NULL;
    }
    start_network(p, scene);
    return p;
}

void policy_close(policy_search *p)
{
    if (!p) return;
    windows_close(&p->windows), critic_close(&p->critic), adam_close(&p->adam), lived_close(&p->lived);
    free(p->theta), free(p->g), free(p->deviation), free(p->values), free(p->advantage), free(p->weight);
    free(p);
}

void policy_ascend(policy_search *p, double most)
{
    p->length = clip_gradient(p->g, (size_t)(p->count + p->outputs), most);
    if (!isfinite(p->length)) return;  // told by policy_state
    adam_step(&p->adam, p->how->rate, p->g, p->theta);
    follow_deviations(p);
}

void policy_value(policy_search *p, bool slow)
{
    const size_t n = (size_t)p->windows.worlds, in = (size_t)p->windows.policy.inputs;
    for (size_t d = 0; d <= (size_t)p->windows.decisions; d++)
        critic_values(&p->critic, slow, p->windows.worlds, p->windows.seen + d * in * n, p->values + d * n);
}

ctn_status policy_step(policy_search *p, ctn_error *err)
{
    const ctn_status status = windows_make(&p->windows, p->theta, p->deviation, err);
    if (status != CTN_OK) return status;
    if (p->windows.ended) p->mean = p->windows.returns / (double)p->windows.ended, p->least = p->windows.least;
    p->episodes += p->windows.ended;
    memset(p->g, 0, (size_t)(p->count + p->outputs) * sizeof *p->g);
    lived_collect(&p->lived, &p->windows);
    if (!p->lived.count)
        return fail(
            err, CTN_UNAVAILABLE,
            "no world lives: in window %lld all froze, or ended where they began; look at the bounds of `alive`, or take smaller "
            "steps or less noise",
            (long long)p->windows.made);
    switch (p->how->method) {
    case SEARCH_LIKELIHOOD: return learn_by_likelihood(p, err);
    case SEARCH_PPO: return learn_by_ppo(p, err);
    default: return learn_by_shac(p, err);
    }
}

policy_state policy_get_state(const policy_search *p)
{
    double sum = 0;
    for (int i = 0; i < p->outputs; i++) sum += p->deviation[i];
    return (policy_state){.windows = p->windows.made,
                          .steps = p->windows.steps,
                          .episodes = p->episodes,
                          .lost = p->windows.lost,
                          .mean = p->mean,
                          .least = p->least,
                          .deviation = sum / p->outputs,
                          .gradient = p->length};
}

const double *policy_parameters(const policy_search *p) { return p->theta; }

static size_t own_numbers(const policy_search *p)
{
    return 3 * (size_t)(p->count + p->outputs) + 5 + (p->critic.p ? critic_numbers(&p->critic) : 0);
}

size_t policy_numbers(const policy_search *p) { return own_numbers(p) + windows_numbers(&p->windows); }

ctn_status policy_flatten(policy_search *p, bool load, double *flat, ctn_error *err)
{
    const size_t all = (size_t)(p->count + p->outputs);
    double episodes = (double)p->episodes, *const own[] = {p->theta, p->adam.m, p->adam.v,  &p->adam.steps,
                                                           &p->mean, &p->least, &p->length, &episodes};
    double *at = flat;
    for (size_t k = 0; k < 8; k++) {
        const size_t size = k < 3 ? all : 1;
        memcpy(load ? own[k] : at, load ? at : own[k], size * sizeof *at);
        at += size;
    }
    p->episodes = (int64_t)episodes;
    if (p->critic.p) critic_flatten(&p->critic, load, at);
    if (load) follow_deviations(p);
    return windows_flatten(&p->windows, load, flat + own_numbers(p), err);
}
