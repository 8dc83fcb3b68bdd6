#include "control/windows.h"

#include "sim/base/random.h"
#include "sim/batch/batch_controller.h"
#include "sim/base/status.h"

#include <catena/catena.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- open and close

static double *numbers(size_t n, bool *room)
{
    double *const x = calloc(n + 1, sizeof *x);
    *room = *room && x;
    return x;
}

static size_t worlds_of(const windows *w) { return (size_t)w->worlds; }
static size_t inputs_of(const windows *w) { return (size_t)w->policy.inputs; }
static size_t outputs_of(const windows *w) { return (size_t)w->law->outputs; }
static size_t nq_of(const windows *w) { return (size_t)ctn_model_nq(w->model); }
static size_t nv_of(const windows *w) { return (size_t)ctn_model_nv(w->model); }
static size_t nu_of(const windows *w) { return (size_t)ctn_model_ntarget(w->model); }

static bool make_room(windows *w)
{
    const size_t n = worlds_of(w), d = (size_t)w->decisions, in = inputs_of(w), out = outputs_of(w);
    bool room = true;
    w->seen = numbers((d + 1) * in * n, &room), w->means = numbers(d * out * n, &room), w->noise = numbers(d * out * n, &room);
    w->earned = numbers(d * n, &room), w->told = numbers(d * n * nu_of(w), &room);
    w->fate = calloc(d * n, sizeof *w->fate);
    w->anew = calloc(n, 1), w->blind = calloc(n, 1), w->gone = calloc(n, 1), w->over = calloc(n, 1),
    w->age = calloc(n, sizeof *w->age);
    w->begun_age = calloc(n, sizeof *w->begun_age);
    w->gained = numbers(n, &room), w->before = numbers(n, &room), w->total = numbers(n, &room), w->time = numbers(n, &room);
    w->sensed = numbers(n * (size_t)ctn_model_sensor_numbers(w->model), &room);
    w->outputs = numbers(n * (size_t)network_outputs(&w->policy), &room);
    if (w->gradients) {
        double **const by_state[] = {&w->by.q, &w->by.v, &w->by.next_q, &w->by.next_v},
                       **const by_told[] = {&w->by.u, &w->by.u_before, &w->by.next_u};
        for (size_t k = 0; k < 4; k++) *by_state[k] = numbers(d * n * nv_of(w), &room);
        for (size_t k = 0; k < 3; k++) *by_told[k] = numbers(d * n * nu_of(w), &room);
    }
    return room && w->fate && w->anew && w->blind && w->gone && w->over && w->age && w->begun_age;
}

/// What sensors say of q and v alone: forces, accelerations and contact are as motors are told and worlds remember.
static bool is_of_state(ctn_sensor_type type)
{
    switch (type) {
    case CTN_SENSE_JOINT_ACCELERATION:
    case CTN_SENSE_JOINT_FORCE:
    case CTN_SENSE_MOTOR_EFFORT:
    case CTN_SENSE_ACCELERATION:
    case CTN_SENSE_ANGULAR_ACCELERATION:
    case CTN_SENSE_ACCELEROMETER:
    case CTN_SENSE_IMU:
    case CTN_SENSE_COM_ACCELERATION:
    case CTN_SENSE_TOUCH:
    case CTN_SENSE_CONTACT_FORCE:
    case CTN_SENSE_REACTION_FORCE:
    case CTN_SENSE_REACTION_TORQUE:
    case CTN_SENSE_REACTION:
    case CTN_SENSE_LOOP_FORCE:
    case CTN_SENSE_LOOP_TORQUE:
    case CTN_SENSE_LOOP_WRENCH:
    case CTN_SENSE_COUPLING_FORCE:
    case CTN_SENSE_TENDON_FORCE: return false;
    default: return true;
    }
}

/// Whether the policy reads nothing that it would read otherwise later, and the scene draws no targets that it does not tell.
static ctn_status check_model(const windows *w, ctn_error *err)
{
    for (int j = 0; j < w->law->sensors; j++)
        for (int k = 0; k < ctn_model_nsensor(w->model); k++) {
            const ctn_sensor *const x = ctn_model_sensor(w->model, k);
            const int number = w->law->sensed[j];
            if (number < x->first || number >= x->first + x->count || is_of_state(x->type)) continue;
            return fail(
                err, CTN_UNAVAILABLE,
                "%s: sensor '%s' (%s): policy gradients go by where links are and how they move in this version; leave it out of "
                "controller.sensors, or take method: cma",
                w->scene->path, x->name, ctn_sensor_type_name(x->type));
        }
    const int nu = ctn_model_ntarget(w->model);
    ctn_parameter *const list = calloc((size_t)nu + 1, sizeof *list);
    if (!list) return fail(err, CTN_NO_MEMORY, "not enough memory for %d targets", nu);
    ctn_model_target_parameters(w->model, list);
    bool drawn = false;
    for (int k = 0; k < nu; k++)
        for (int i = 0; i < w->sampled.parameter_count; i++)
            drawn = drawn || (w->sampled.parameters[i].kind == list[k].kind && w->sampled.parameters[i].index == list[k].index);
    free(list);
    return drawn ? fail(err, CTN_UNAVAILABLE,
                        "%s: sample: policy gradients draw no targets of motors in this version; leave them out, or take method: "
                        "cma",
                        w->scene->path)
                 : CTN_OK;
}

ctn_status windows_open(windows *w, const ctn_scene *scene, const ctn_model *model, ctn_batch_config *cfg, int hold,
                        int decisions, int episode, bool gradients, ctn_error *err)
{
    const model_controller *const law = model->controller;
    *w = (windows){.scene = scene, .model = model, .law = law, .worlds = cfg->worlds, .hold = hold, .dt = cfg->dt};
    w->decisions = decisions, w->episode = episode, w->gradients = gradients, w->seed = (uint64_t)scene->search.seed;
    w->policy = law->net;
    ctn_status status = gradients ? ctn_sensors_have_gradients(model, law->sensed, law->sensors, err) : CTN_OK;
    if (status == CTN_OK) status = sampled_worlds_open(&w->sampled, scene, model, scene->path, cfg->worlds, cfg, err);
    if (status == CTN_OK) status = check_model(w, err);
    if (status != CTN_OK) return status;
    w->tapes = ctn_tapes_create(model, cfg, hold * decisions, gradients, err);
    w->dyn = w->tapes ? ctn_dynamics_create(model, cfg->engine, err) : NULL;
    w->reward = w->dyn ? reward_open(scene, model, cfg->worlds, err) : NULL;
    if (!w->reward) return err->status;
    if (gradients && reward_open_gradient(w->reward, err) != CTN_OK) return err->status;
    if (!make_room(w)) return fail(err, CTN_NO_MEMORY, "not enough memory for windows of %d worlds", w->worlds);
    for (int k = 0; k < w->worlds; k++) w->anew[k] = true;
    return CTN_OK;
}

void windows_close(windows *w)
{
    ctn_tapes_free(w->tapes), ctn_dynamics_free(w->dyn), reward_close(w->reward);
    sampled_worlds_close(&w->sampled);
    free(w->seen), free(w->means), free(w->noise), free(w->earned), free(w->fate), free(w->told);
    free(w->anew), free(w->blind), free(w->gone), free(w->over), free(w->age), free(w->begun_age), free(w->gained),
        free(w->before), free(w->total), free(w->time);
    free(w->sensed), free(w->outputs), free(w->by.q), free(w->by.v), free(w->by.u), free(w->by.u_before);
    free(w->by.next_q), free(w->by.next_v), free(w->by.next_u);
    *w = (windows){0};
}

// ---- making windows

/// Where worlds that begin anew do so: each episode is a world of its own of `sample`.
static ctn_status draw_starts(windows *w, ctn_error *err)
{
    enum { MANY = 1 << 30 };  // worlds, of which strata of `sample` would be
    sampled_worlds *const x = &w->sampled;
    const size_t own = (size_t)x->parameter_count;
    bool drawn = false;
    for (size_t k = 0; k < worlds_of(w); k++) {
        if (!w->anew[k]) continue;
        x->forced = ctn_sample_worlds(w->scene, w->model, w->seed, w->begun++ % MANY, 1, MANY, x->q + k * nq_of(w),
                                      x->v + k * nv_of(w), x->tau + k * nv_of(w), x->values + k * own);
        w->age[k] = 0, w->gained[k] = 0, drawn = true;
    }
    const ctn_status status = own && drawn ? ctn_tapes_set_parameters(w->tapes, x->values, err) : CTN_OK;
    if (status == CTN_OK) return CTN_OK;
    ctn_error why = {0};
    if (err) why = *err;
    return fail(err, status, "%s: sample: %s; narrow what it draws", w->scene->path, why.message);
}

/// What sensors say at q and v, over their scales, and the clock, after `d` decisions of the window, into seen [inputs][worlds].
static void see(windows *w, int d, const double *q, const double *v)
{
    double *const seen = w->seen + (size_t)d * inputs_of(w) * worlds_of(w);
    const size_t n = worlds_of(w), width = (size_t)ctn_model_sensor_numbers(w->model);
    ctn_sensors(w->dyn, w->worlds, q, v, NULL, w->sensed);
    const size_t sensors = (size_t)w->law->sensors;
    for (size_t j = 0; j < sensors; j++)
        for (size_t k = 0; k < n; k++) seen[j * n + k] = w->sensed[k * width + (size_t)w->law->sensed[j]] / w->law->scale[j];
    for (size_t k = 0; k < n && w->law->clock > 0; k++) {
        double says[CLOCK_NUMBERS];
        controller_clock(w->law, (double)((w->begun_age[k] + d) * w->hold) * w->dt, says);
        for (size_t j = 0; j < CLOCK_NUMBERS; j++) seen[(sensors + j) * n + k] = says[j];
    }
}

static double half_of(const model_controller *law, size_t i) { return (law->range[i][1] - law->range[i][0]) / 2; }
static double middle_of(const model_controller *law, size_t i) { return (law->range[i][0] + law->range[i][1]) / 2; }

/// Normal numbers of a decision, [outputs][worlds].
static void draw_noise(const windows *w, int d, double *noise)
{
    const size_t n = worlds_of(w), out = outputs_of(w);
    for (size_t i = 0; i < out; i += 2)
        for (size_t k = 0; k < n; k++) {
            double x[2], z[2];
            uniform_pair_of(
                random_words(w->seed, (uint64_t)w->made, (uint32_t)d << 12 | (uint32_t)(i / 2), (uint32_t)k | 0x20000000u), x);
            normal_pair_of(x, z);
            noise[i * n + k] = z[0];
            if (i + 1 < out) noise[(i + 1) * n + k] = z[1];
        }
}

static void tell(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    windows *const w = context;
    const size_t n = worlds_of(w), out = outputs_of(w), nu = nu_of(w), d = (size_t)(step / w->hold);
    if (step % w->hold) return;
    if (!step && w->sampled.forced) memcpy(tau, w->sampled.tau, n * nv_of(w) * sizeof *tau);
    double *const seen = w->seen + d * inputs_of(w) * n, *const means = w->means + d * out * n,
                  *const noise = w->noise + d * out * n;
    see(w, (int)d, q, v);
    network_forward(&w->policy, w->parameters, w->worlds, seen, w->outputs);
    memcpy(means, network_says(&w->policy, w->worlds, w->outputs), out * n * sizeof *means);
    draw_noise(w, (int)d, noise);
    for (size_t i = 0; i < out; i++)
        for (size_t k = 0; k < n; k++)
            u[k * nu + (size_t)w->law->target[i]] =
                middle_of(w->law, i) + half_of(w->law, i) * (means[i * n + k] + w->deviation[i] * noise[i * n + k]);
    memcpy(w->told + d * n * nu, u, n * nu * sizeof *u);
}

/// A world is done with its episode, by its end or by time.
static void end_episode(windows *w, size_t k)
{
    w->least = w->ended ? fmin(w->least, w->gained[k]) : w->gained[k];
    w->anew[k] = true, w->returns += w->gained[k], w->ended++;
}

/// Whether a world froze by decision d.
static bool froze(const windows *w, int k, int d)
{
    const double decision = w->hold * w->dt,
                 went = ctn_tapes_time(w->tapes, k, (d + 1) * w->hold) - ctn_tapes_time(w->tapes, k, d * w->hold);
    return ctn_tapes_frozen(w->tapes, k) && went < decision * (1 - 1e-6);
}

/// What worlds earned by decision d, and what became of them.
static void judge(windows *w, int d)
{
    const size_t n = worlds_of(w), nu = nu_of(w), nv = nv_of(w), at = (size_t)d * n;
    const int step = (d + 1) * w->hold;
    const double dt = w->hold * w->dt;
    for (int k = 0; k < w->worlds; k++) w->time[k] = ctn_tapes_time(w->tapes, k, step), w->gone[k] = froze(w, k, d);
    memcpy(w->before, w->total, n * sizeof *w->before);
    const double *const q = ctn_tapes_q(w->tapes, step), *const v = ctn_tapes_v(w->tapes, step), *const u = w->told + at * nu;
    reward_step(w->reward, w->time, dt, q, v, u, w->gone);
    const reward_gradients *const by = &w->by,
                                  here = {by->q + at * nv,      by->v + at * nv,      by->u + at * nu,     by->u_before + at * nu,
                                          by->next_q + at * nv, by->next_v + at * nv, by->next_u + at * nu};
    if (w->gradients) reward_gradient(w->reward, w->time, dt, q, v, u, &here);
    reward_end(w->reward, w->total, NULL, w->over);
    for (size_t k = 0; k < n; k++) {
        const bool ends = w->gone[k] || isnan(w->total[k]);
        w->fate[at + k] = NOT_LIVED, w->earned[at + k] = 0;
        if (w->anew[k]) continue;
        if (ends) {  // of a world that is lost before its end nothing is kept
            for (size_t e = 0; e < (size_t)d; e++) w->fate[e * n + k] = NOT_LIVED, w->earned[e * n + k] = 0;
            w->anew[k] = w->blind[k] = true;
            continue;
        }
        w->earned[at + k] = w->total[k] - w->before[k], w->gained[k] += w->earned[k + at], w->age[k]++;
        w->fate[at + k] = w->over[k] ? ENDED : w->age[k] >= w->episode ? CUT : LIVED;
        if (w->fate[at + k] != LIVED) end_episode(w, k);
    }
}

/// Counts the steps of worlds that lived, and those that are lost.
static void count_worlds(windows *w)
{
    const size_t n = worlds_of(w);
    for (size_t k = 0; k < n; k++) {
        w->blind[k] = w->blind[k] || (w->gradients && ctn_tapes_lost(w->tapes, (int)k) >= 0);
        w->anew[k] = w->anew[k] || ctn_tapes_frozen(w->tapes, (int)k);
        w->lost += w->blind[k];
        for (size_t d = 0; d < (size_t)w->decisions; d++) w->steps += w->fate[d * n + k] == NOT_LIVED ? 0 : w->hold;
    }
}

ctn_status windows_make(windows *w, const double *parameters, const double *deviation, ctn_error *err)
{
    const size_t n = worlds_of(w);
    w->parameters = parameters, w->deviation = deviation, w->returns = 0, w->ended = 0;
    ctn_status status = draw_starts(w, err);
    memcpy(w->begun_age, w->age, n * sizeof *w->age);
    const ctn_tapes_hooks hooks = {.tell = tell, .context = w};
    if (status == CTN_OK)
        status = ctn_tapes_run(w->tapes, w->hold * w->decisions, w->sampled.q, w->sampled.v, w->anew, &hooks, err);
    if (status != CTN_OK) return status;
    const int steps = w->hold * w->decisions;
    see(w, w->decisions, ctn_tapes_q(w->tapes, steps), ctn_tapes_v(w->tapes, steps));
    reward_begin(w->reward, w->anew, ctn_tapes_q(w->tapes, 0), ctn_tapes_v(w->tapes, 0));
    reward_end(w->reward, w->total, NULL, w->over);
    for (size_t k = 0; k < n; k++) w->anew[k] = w->over[k], w->blind[k] = false;  // one that ends where it begins earns nothing
    for (int d = 0; d < w->decisions; d++) judge(w, d);
    count_worlds(w);
    w->made++;
    return CTN_OK;
}

// ---- going back

typedef struct {
    windows *w;
    const double *weight;
    windows_worth *worth;
    void *context;
    double *by_parameters, *by_deviation;
    double *by_u, *by_means, *by_seen, *by_sensed, *by_q, *by_v, *room;  // of all worlds
    bool *last;
} pulling;

/// Through what decision d told: from gradients by targets, and by what the decision earned by itself, to those by the policy and
/// what was seen.
static void pull_policy(pulling *p, int d)
{
    windows *const w = p->w;
    const size_t n = worlds_of(w), out = outputs_of(w), nu = nu_of(w), at = (size_t)d * n;
    for (size_t i = 0; i < out; i++)
        for (size_t k = 0; k < n; k++) {
            const size_t j = k * nu + (size_t)w->law->target[i];
            double by = p->by_u[j] + p->weight[at + k] * w->by.u[at * nu + j];
            if (d + 1 < w->decisions)
                by += p->weight[at + n + k] * (w->by.next_u[at * nu + j] + w->by.u_before[(at + n) * nu + j]);
            by = w->fate[at + k] == NOT_LIVED || w->blind[k] ? 0 : by * half_of(w->law, i);
            p->by_means[i * n + k] = by;
            p->by_deviation[i] += by * w->noise[(at * out) + i * n + k];
        }
    const double *const seen = w->seen + at * inputs_of(w);
    network_forward(&w->policy, w->parameters, w->worlds, seen, w->outputs);
    network_back(&w->policy, w->parameters, w->worlds, seen, w->outputs, p->by_means, p->by_seen, p->by_parameters, p->room);
}

static void back(void *context, int step, const double *q, const double *v, const double *by_u, const double *by_tau,
                 double *by_q, double *by_v)
{
    pulling *const p = context;
    windows *const w = p->w;
    const size_t n = worlds_of(w), nu = nu_of(w), nv = nv_of(w), width = (size_t)ctn_model_sensor_numbers(w->model);
    const int d = step / w->hold;
    (void)by_tau;
    for (size_t k = 0; k < n * nu && by_u; k++) p->by_u[k] += by_u[k];
    if (step % w->hold) return;
    memset(p->by_seen, 0, n * inputs_of(w) * sizeof *p->by_seen);
    if (d < w->decisions) pull_policy(p, d);
    bool any = false;
    for (size_t k = 0; k < n && d; k++) {
        const window_fate fate = w->fate[(size_t)(d - 1) * n + k];
        p->last[k] = !w->blind[k] && (fate == CUT || (fate == LIVED && d == w->decisions)), any = any || p->last[k];
    }
    if (any && p->worth) p->worth(p->context, d, p->last, p->by_seen);
    if (d) {  // what was told at the very beginning moves no state before it
        memset(p->by_sensed, 0, n * width * sizeof *p->by_sensed);
        for (size_t j = 0; j < (size_t)w->law->sensors; j++)
            for (size_t k = 0; k < n; k++)
                p->by_sensed[k * width + (size_t)w->law->sensed[j]] += p->by_seen[j * n + k] / w->law->scale[j];
        ctn_sensors_gradient(w->dyn, w->worlds, q, v, p->by_sensed, p->by_q, p->by_v);
        const size_t at = (size_t)(d - 1) * n;
        for (size_t k = 0; k < n * nv; k++) {
            const double weight = p->weight[at + k / nv], next = d < w->decisions ? p->weight[at + n + k / nv] : 0;
            by_q[k] += p->by_q[k] + weight * w->by.q[at * nv + k] + next * w->by.next_q[at * nv + k];
            by_v[k] += p->by_v[k] + weight * w->by.v[at * nv + k] + next * w->by.next_v[at * nv + k];
        }
    }
    memset(p->by_u, 0, n * nu * sizeof *p->by_u);
}

/// Marks worlds that were found to have no gradient on the way back. Returns how many.
static int mark_blind(windows *w)
{
    int found = 0;
    for (int k = 0; k < w->worlds; k++) {
        if (w->blind[k] || ctn_tapes_lost(w->tapes, k) < 0) continue;
        w->blind[k] = true, w->lost++, found++;
    }
    return found;
}

ctn_status windows_pull(windows *w, const double *weight, windows_worth *worth, void *context, double *by_parameters,
                        double *by_deviation, ctn_error *err)
{
    const size_t n = worlds_of(w), count = (size_t)network_parameters(&w->policy), out = outputs_of(w);
    bool room = true;
    pulling p = {.w = w, .weight = weight, .worth = worth, .context = context};
    p.by_parameters = numbers(count, &room), p.by_deviation = numbers(out, &room);
    p.by_u = numbers(n * nu_of(w), &room), p.by_means = numbers(n * out, &room);
    p.by_seen = numbers(n * inputs_of(w), &room);
    p.by_sensed = numbers(n * (size_t)ctn_model_sensor_numbers(w->model), &room);
    p.by_q = numbers(n * nv_of(w), &room), p.by_v = numbers(n * nv_of(w), &room);
    p.room = numbers(n * (size_t)network_outputs(&w->policy), &room), p.last = calloc(n, sizeof *p.last);
    ctn_status status = room && p.last ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for gradients of %zu worlds", n);
    const ctn_tapes_hooks hooks = {.back = back, .context = &p};
    for (bool again = true; again && status == CTN_OK;) {  // once more without worlds that were lost in the midst of the way
        memset(p.by_parameters, 0, count * sizeof *p.by_parameters), memset(p.by_deviation, 0, out * sizeof *p.by_deviation);
        memset(p.by_u, 0, n * nu_of(w) * sizeof *p.by_u);
        status = ctn_tapes_gradient(w->tapes, &hooks, NULL, NULL, err);
        again = status == CTN_OK && mark_blind(w) > 0;
    }
    for (size_t k = 0; k < count && status == CTN_OK; k++) by_parameters[k] += p.by_parameters[k];
    for (size_t i = 0; i < out && status == CTN_OK; i++) by_deviation[i] += p.by_deviation[i];
    free(p.by_parameters), free(p.by_deviation);
    free(p.by_u), free(p.by_means), free(p.by_seen), free(p.by_sensed), free(p.by_q), free(p.by_v), free(p.room), free(p.last);
    return status;
}

// ---- checkpoints

/// Of each world: whether and how long it lives, what it earned, its reward's numbers, its start; then what its methods carry.
static size_t own_numbers(const windows *w)
{
    return 3 + reward_numbers(w->reward) + nq_of(w) + 2 * nv_of(w) + (size_t)w->sampled.parameter_count;
}

enum { COUNTS = 6 };

size_t windows_numbers(const windows *w)
{
    return COUNTS + worlds_of(w) * own_numbers(w) + (ctn_tapes_saved_size(w->tapes) + sizeof(double) - 1) / sizeof(double);
}

static void flatten_numbers(bool load, double *own, size_t n, double **flat)
{
    memcpy(load ? own : *flat, load ? *flat : own, n * sizeof *own);
    *flat += n;
}

ctn_status windows_flatten(windows *w, bool load, double *flat, ctn_error *err)
{
    sampled_worlds *const x = &w->sampled;
    const size_t own = (size_t)x->parameter_count;
    int64_t *const counts[] = {&w->made, &w->begun, &w->steps, &w->lost, &w->ended};
    for (size_t k = 0; k < COUNTS - 1; k++, flat++)
        if (load) *counts[k] = (int64_t)*flat;
        else *flat = (double)*counts[k];
    if (load) x->forced = *flat != 0;
    else *flat = x->forced;
    flat++;
    for (size_t k = 0; k < worlds_of(w); k++) {
        if (load) w->anew[k] = flat[0] != 0, w->age[k] = (int)flat[1];
        else flat[0] = w->anew[k], flat[1] = w->age[k];
        flat += 2;
        flatten_numbers(load, w->gained + k, 1, &flat);
        reward_flatten(w->reward, (int)k, load, flat), flat += reward_numbers(w->reward);
        flatten_numbers(load, x->q + k * nq_of(w), nq_of(w), &flat), flatten_numbers(load, x->v + k * nv_of(w), nv_of(w), &flat);
        flatten_numbers(load, x->tau + k * nv_of(w), nv_of(w), &flat), flatten_numbers(load, x->values + k * own, own, &flat);
    }
    if (!load) return ctn_tapes_save(w->tapes, flat), CTN_OK;
    ctn_status status = own ? ctn_tapes_set_parameters(w->tapes, x->values, err) : CTN_OK;
    if (status == CTN_OK) status = ctn_tapes_restore(w->tapes, flat, ctn_tapes_saved_size(w->tapes), err);
    if (status == CTN_OK) reward_end(w->reward, w->total, NULL, w->over);
    return status;
}
