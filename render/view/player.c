/// The thread that steps, and the orders that it takes between steps.
#include "render/view/player.h"

#include "sim/base/clock.h"
#include "sim/base/config.h"
#include "sim/batch/batch.h"
#include "sim/base/status.h"

#include <catena/contact.h>
#include <catena/motors.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SET = 256 };                                // parameters that can be set
static const size_t history_bytes = (size_t)256 << 20;  // of all runs

typedef struct {
    ctn_batch *batch;
    history *past;
    player_run about;
    double begin_energy;          // J
    double rate_time, rate_wall;  // s, simulated and spent on it of late
    double *frozen_at;            // [worlds] s; infinite: it is not
    double *contacts;             // [worlds][ncontact][CTN_CONTACT_NUMBERS] after the last step
    ctn_batch_config wanted;
    bool change;  // `wanted` is to be
    bool holds;   // a hand has pulled in the last step: at `held` of the world
    int held, held_world;
} run;

struct player {
    const ctn_scene *scene;
    const ctn_model *model;
    size_t nq, nv, worlds;
    int runs;
    run run[PLAYER_RUNS];
    pull *puller;
    ctn_step_stats *stats;                                  // [worlds], of the step in hand
    double *q, *v, *tau, *start_q, *start_v, *drawn_force;  // the thread's: [worlds][...]
    bool forced;                                            // some joint force is drawn or set
    ctn_parameter *list;                                    // that worlds have of their own: those drawn, then those set
    double *set, *drawn;                                    // values of `list`, NAN: as drawn; [worlds][ndrawn]
    int nlist, ndrawn;
    player_steer steer;  // its targets come next in the list
    bool steers;         // it has not failed
    double *told;        // [ntold]
    int ntold;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t order;
    // under `lock`
    bool started, stop, running, late, reset;
    int steps;                            // to be made or taken back, without the one in hand
    double goal;                          // s, that this leads to, negative: there is none
    double speed, from_time, from_clock;  // the clock shows from_time + speed * (now - from_clock)
    ctn_parameter edit[MOST_SET];         // to be set,
    double value[MOST_SET];               // to these values
    int edits;
    double *force;  // [nv], set
    pull_at pulled;
    bool pulls;
    int pulled_run, pulled_world;
    char trouble[400];
};

static double last_time(const run *r) { return r->about.time; }

/// Where the last of the runs is that still move; infinity: none does.
static double earliest(const player *p)
{
    double t = INFINITY;
    for (int k = 0; k < p->runs; k++)
        if (!p->run[k].about.stands) t = fmin(t, last_time(&p->run[k]));
    return t;
}

void player_count_contacts(player_run *run, const ctn_model *model, size_t worlds, const double *contacts)
{
    const int points = ctn_model_ncontact(model);
    run->sticking = run->sliding = 0, run->depth = -INFINITY;
    for (size_t w = 0; w < worlds; w++)
        for (int k = 0; k < points; k++) {
            const double *const x = contacts + (w * (size_t)points + (size_t)k) * CTN_CONTACT_NUMBERS;
            ctn_contact_point at = {.surface = 0};
            if (x[7] == CTN_APART && ctn_model_contact(model, k, &at) && at.surface == CTN_SURFACE_LINKS) continue;
            run->sticking += x[7] == CTN_STICKS, run->sliding += x[7] == CTN_SLIDES, run->depth = fmax(run->depth, x[6]);
        }
    run->touching = run->sticking + run->sliding;
}

/// What the contact points of a run feel now.
static void feel(run *r)
{
    const ctn_model *const m = ctn_batch_model(r->batch);
    const size_t worlds = (size_t)ctn_batch_configuration(r->batch)->worlds;
    r->about.touching = r->about.sticking = r->about.sliding = 0;
    if (!ctn_model_ncontact(m) || ctn_batch_contacts(r->batch, r->contacts, NULL) != CTN_OK) return;
    player_count_contacts(&r->about, m, worlds, r->contacts);
}

// ---- the beginning of a run

/// What entry k of p->list is in a world.
static double value_in(const player *p, size_t world, int k)
{
    return isnan(p->set[k]) ? p->drawn[world * (size_t)p->ndrawn + (size_t)k] : p->set[k];
}

/// The values of p->list in all worlds.
static bool set_parameters(const player *p, ctn_batch *batch, ctn_error *err)
{
    if (!p->nlist) return true;
    const size_t own = (size_t)p->nlist;
    double *const values = malloc(p->worlds * own * sizeof *values);
    if (!values) return fail(err, CTN_NO_MEMORY, "not enough memory for parameters"), false;
    for (size_t w = 0; w < p->worlds; w++)
        for (size_t k = 0; k < own; k++) values[w * own + k] = value_in(p, w, (int)k);
    const bool ok = ctn_batch_set_parameters(batch, values, err) == CTN_OK;
    free(values);
    return ok;
}

/// A batch of this configuration at state q, v.
static ctn_batch *make_batch(const player *p, const ctn_batch_config *cfg, const double *q, const double *v, double time,
                             ctn_error *err)
{
    ctn_batch_config with = *cfg;
    with.worlds = (int)p->worlds, with.dense = false;
    with.parameters = p->nlist ? p->list : NULL, with.parameter_count = p->nlist;
    if (batch_along_check(p->model, &with, NULL) != CTN_OK) with.parallel = CTN_PARALLEL_WORLDS;  // what is not along the links
    ctn_batch *const batch = ctn_batch_create(p->model, &with, err);
    if (batch && set_parameters(p, batch, err) && ctn_batch_set_state(batch, q, v, time, err) == CTN_OK) return batch;
    ctn_batch_free(batch);
    return NULL;
}

static void all_move(const player *p, run *r)
{
    for (size_t w = 0; w < p->worlds; w++) r->frozen_at[w] = INFINITY;
    r->about.frozen = CTN_RUNNING, r->about.frozen_time = 0, r->about.froze = 0, r->about.stands = false;
}

/// What a run has from now on: `cfg` as the batch has it, but free to be parallel in another way when it changes.
static ctn_batch_config in_use(const ctn_batch *batch, const ctn_batch_config *cfg)
{
    ctn_batch_config now = *ctn_batch_configuration(batch);
    now.parallel = cfg->parallel, now.lanes = cfg->lanes, now.threads = cfg->threads, now.engine = cfg->engine;
    return now;
}

static bool begin(player *p, run *r, const ctn_batch_config *cfg, ctn_error *err)
{
    ctn_batch *const batch = make_batch(p, cfg, p->start_q, p->start_v, 0, err);
    history *const past = batch ? history_create(batch, history_bytes / (size_t)p->runs) : NULL;
    if (batch && !past) fail(err, CTN_NO_MEMORY, "not enough memory for %zu worlds", p->worlds), ctn_batch_free(batch);
    if (!past) return false;
    ctn_batch_free(r->batch), history_free(r->past);
    r->batch = batch, r->past = past, r->holds = false;
    r->about = (player_run){.cfg = in_use(batch, cfg), .lanes = ctn_batch_lanes(batch), .energy = history_entry(past, 0)->energy};
    r->begin_energy = r->about.energy, r->rate_time = r->rate_wall = 0;
    all_move(p, r);
    feel(r);
    return true;
}

// ---- orders, carried out between steps with the lock held

static void complain(player *p, const ctn_error *err) { snprintf(p->trouble, sizeof p->trouble, "%.390s", err->message); }

/// The run whose steps are counted: the first one that moves, if there is one.
static run *leader(player *p)
{
    for (int k = 0; k < p->runs; k++)
        if (!p->run[k].about.stands) return &p->run[k];
    return &p->run[0];
}

static void restart_clock(player *p)
{
    const double t = earliest(p);
    p->from_time = isfinite(t) ? t : last_time(leader(p)), p->from_clock = clock_now();
}

/// A batch that goes on as `cfg` says from where the run is; NULL on error.
static ctn_batch *from_here(player *p, run *r, const ctn_batch_config *cfg, ctn_error *err)
{
    ctn_batch_state(r->batch, p->q, p->v);
    return make_batch(p, cfg, p->q, p->v, last_time(r), err);
}

/// What the energy is from now on, and counted from.
static void count_energy(run *r)
{
    r->begin_energy = r->about.energy = history_entry(r->past, history_count(r->past) - 1)->energy;
    r->about.change = 0;
}

static void go_on(const player *p, run *r, ctn_batch *batch, const ctn_batch_config *cfg)
{
    ctn_batch_free(r->batch);
    r->batch = batch, r->about.cfg = in_use(batch, cfg), r->about.lanes = ctn_batch_lanes(batch), r->holds = false;
    r->rate_time = r->rate_wall = r->about.real_time = 0;
    all_move(p, r);
    history_change(r->past, batch), count_energy(r);
    feel(r);
}

/// Goes on as `cfg` says; false, with nothing changed, if that is refused.
static bool change_run(player *p, run *r, const ctn_batch_config *cfg, ctn_error *err)
{
    ctn_batch *const batch = from_here(p, r, cfg, err);
    if (batch) go_on(p, r, batch, cfg);
    return batch;
}

/// All runs have another value of a parameter, or none has.
static void edit(player *p, ctn_parameter parameter, double value)
{
    ctn_error err;
    ctn_batch *all[PLAYER_RUNS] = {NULL};
    int at = 0;
    while (at < p->nlist && (p->list[at].kind != parameter.kind || p->list[at].index != parameter.index)) at++;
    const bool added = at == p->nlist;
    if (added && at == p->ndrawn + p->ntold + MOST_SET) return (void)snprintf(p->trouble, sizeof p->trouble, "too many parameters are set");
    const double before = added ? NAN : p->set[at];
    p->list[at] = parameter, p->set[at] = value, p->nlist += added;
    bool ok = true;
    for (int k = 0; k < p->runs && ok; k++) {
        run *const r = &p->run[k];
        const bool anew = added || r->about.frozen != CTN_RUNNING;  // what froze moves again
        ok = anew ? (all[k] = from_here(p, r, &r->about.cfg, &err)) != NULL : set_parameters(p, r->batch, &err);
    }
    for (int k = 0; k < p->runs && ok; k++) {
        if (all[k]) go_on(p, &p->run[k], all[k], &p->run[k].about.cfg);
        else history_change(p->run[k].past, p->run[k].batch), count_energy(&p->run[k]);
    }
    if (ok) return;
    complain(p, &err);
    p->set[at] = before, p->nlist -= added;
    for (int k = 0; k < p->runs; k++) {
        ctn_batch_free(all[k]);
        if (!added) set_parameters(p, p->run[k].batch, NULL);
    }
}

static void carry_out(player *p)
{
    ctn_error err;
    for (int k = 0; k < p->edits; k++) edit(p, p->edit[k], p->value[k]);
    for (int k = 0; k < p->runs; k++) {
        run *const r = &p->run[k];
        const ctn_batch_config cfg = r->change ? r->wanted : r->about.cfg;
        const bool ok = p->reset ? begin(p, r, &cfg, &err) : !r->change || change_run(p, r, &cfg, &err);
        if (!ok) complain(p, &err);
        if (!ok && p->reset && !begin(p, r, &r->about.cfg, &err)) complain(p, &err);
        r->change = false;
    }
    if (p->reset) restart_clock(p), p->steers = p->steer.tell != NULL;
    p->edits = 0, p->reset = false;
}

/// All runs back to before the last step of the one that leads.
static void step_back(player *p)
{
    const history *const past = leader(p)->past;
    const int count = history_count(past);
    const double to = history_entry(past, count > 1 ? count - 2 : 0)->time;
    for (int k = 0; k < p->runs; k++) {
        run *const r = &p->run[k];
        player_run *const a = &r->about;
        while (last_time(r) > to + 1e-9 * a->cfg.dt) {
            const bool fell_back = history_entry(r->past, history_count(r->past) - 1)->fell_back;
            bool change;
            if (!history_back(r->past, r->batch, &change)) break;
            const history_step *const last = history_entry(r->past, history_count(r->past) - 1);
            a->fallbacks -= fell_back;
            a->time = last->time, a->energy = last->energy, a->change = last->energy - r->begin_energy, a->steps--;
            a->stands = false;
            if (a->plotted) a->plotted--;
            if (a->frozen_time > a->time) a->frozen = CTN_RUNNING;
            for (size_t w = 0; w < p->worlds; w++)
                if (isfinite(r->frozen_at[w]) && r->frozen_at[w] > a->time) r->frozen_at[w] = INFINITY, a->froze--;
            set_parameters(p, r->batch, NULL);  // they stay what they are
            if (change) all_move(p, r), history_change(r->past, r->batch), count_energy(r);
            feel(r);
        }
    }
}

// ---- steps

static void plot(float *row, int count, double x)
{
    if (count == PLAYER_PLOT) memmove(row, row + 1, (PLAYER_PLOT - 1) * sizeof *row), count--;
    row[count] = (float)x;
}

static void note_step(run *r, const ctn_step_stats *stats, size_t worlds, double wall)
{
    player_run *const a = &r->about;
    size_t standing = 0;
    for (size_t w = 0; w < worlds; w++) {
        if (stats[w].frozen == CTN_RUNNING) continue;
        if (a->frozen == CTN_RUNNING) {
            a->frozen = stats[w].frozen, a->frozen_time = stats[w].frozen_time;
            ctn_freeze_report(ctn_batch_model(r->batch), &a->cfg, &stats[w], a->why, sizeof a->why);
        }
        r->frozen_at[w] = stats[w].frozen_time;
        standing++;
    }
    a->froze = (int)standing;
    if ((a->stands = standing == worlds)) return;
    feel(r);
    history_add(r->past, r->batch, stats);
    const history_step *const last = history_entry(r->past, history_count(r->past) - 1);
    const double h = last->time - a->time;
    a->time = last->time, a->energy = last->energy, a->steps++, a->change = last->energy - r->begin_energy;
    a->fallbacks += last->fell_back;
    r->rate_time = 0.9 * r->rate_time + h, r->rate_wall = 0.9 * r->rate_wall + wall;
    a->real_time = r->rate_wall > 0 ? r->rate_time / r->rate_wall : 0;
    plot(a->plot_time, a->plotted, a->time), plot(a->plot_energy, a->plotted, a->energy),
        plot(a->plot_iterations, a->plotted, last->iterations);
    plot(a->plot_real_time, a->plotted, a->real_time);
    if (a->plotted < PLAYER_PLOT) a->plotted++;
}

/// Joint forces of the coming step: false if there are none.
static bool joint_forces(player *p)
{
    for (size_t w = 0; w < p->worlds && p->forced; w++)
        for (size_t i = 0; i < p->nv; i++) p->tau[w * p->nv + i] = p->force[i] + p->drawn_force[w * p->nv + i];
    return p->forced;
}

/// What a hand pulls with in the coming step; nothing, where it has let go.
static void pull_link(player *p, run *r)
{
    const pull_at *const at = p->pulls && &p->run[p->pulled_run] == r ? &p->pulled : NULL;
    ctn_error err;
    if (r->holds && (!at || at->link != r->held || p->pulled_world != r->held_world))
        ctn_batch_set_wrench(r->batch, r->held_world, r->held, NULL, NULL), r->holds = false;
    if (!at) return;
    ctn_wrench w = {{at->point[0], at->point[1], at->point[2]}, {0}, {0}, false};
    const size_t world = (size_t)p->pulled_world;
    ctn_batch_state(r->batch, p->q, p->v);
    pull_force(p->puller, at, r->about.cfg.dt, p->q + world * p->nq, p->v + world * p->nv, w.force);
    if (w.force[0] == 0 && w.force[1] == 0 && w.force[2] == 0 && !r->holds) return;  // nothing there can move
    if (ctn_batch_set_wrench(r->batch, p->pulled_world, at->link, &w, &err) == CTN_OK) {
        r->holds = true, r->held = at->link, r->held_world = p->pulled_world;
        return;
    }
    // a method that takes none, or a force that is no number
    if (r->holds) ctn_batch_set_wrench(r->batch, r->held_world, r->held, NULL, NULL), r->holds = false;
    complain(p, &err), p->pulls = false;
}

/// Motors are told by who steers them, without the lock, which is held before and after.
static void tell_motors(player *p, run *r)
{
    ctn_error err;
    if (!p->steers) return;
    ctn_batch_state(r->batch, p->q, p->v);
    pthread_mutex_unlock(&p->lock);
    const bool told = p->steer.tell(p->steer.context, last_time(r), p->q, p->v, p->told, &err);
    pthread_mutex_lock(&p->lock);
    if (told) memcpy(p->set + p->ndrawn, p->told, (size_t)p->ntold * sizeof *p->set);
    if (told && set_parameters(p, r->batch, &err)) return;
    complain(p, &err), p->steers = false;
}

/// One step, without the lock, which is held before and after.
static void step(player *p, run *r, ctn_step_stats *stats)
{
    ctn_error err;
    tell_motors(p, r);
    ctn_batch_set_force(r->batch, joint_forces(p) ? p->tau : NULL);
    pull_link(p, r);
    pthread_mutex_unlock(&p->lock);
    const double begun = clock_now();
    const ctn_status status = ctn_batch_step(r->batch, 1, stats, &err);
    const double wall = clock_now() - begun;
    pthread_mutex_lock(&p->lock);
    if (status == CTN_OK || status == CTN_FROZEN) note_step(r, stats, p->worlds, wall);
    else complain(p, &err), r->about.stands = true;  // its engine failed
}

/// Whether a run that moves has not reached `time`; makes a step of it.
static bool step_towards(player *p, double time, ctn_step_stats *stats)
{
    bool stepped = false;
    for (int k = 0; k < p->runs; k++) {
        run *const r = &p->run[k];
        if (r->about.stands || last_time(r) > time - 1e-9 * r->about.cfg.dt) continue;
        step(p, r, stats);
        stepped = true;
    }
    return stepped;
}

/// Waits until an order comes, at most `seconds`.
static void wait_order(player *p, double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const double until = (double)t.tv_nsec * 1e-9 + fmin(seconds, 1);
    t.tv_sec += (time_t)floor(until), t.tv_nsec = (long)((until - floor(until)) * 1e9);
    pthread_cond_timedwait(&p->order, &p->lock, &t);
}

static void *play(void *argument)
{
    player *const p = argument;
    ctn_step_stats *const stats = p->stats;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        carry_out(p);
        if (p->goal >= 0 || p->steps > 0) {  // a step that was begun is finished, whatever is asked for since
            if (p->goal < 0) p->goal = last_time(leader(p)) + leader(p)->about.cfg.dt, p->steps--;
            if (!step_towards(p, p->goal, stats)) p->goal = -1;
        } else if (p->steps < 0) p->steps++, step_back(p), restart_clock(p);
        else if (!p->running) wait_order(p, 1);
        else {
            const double clock = p->from_time + p->speed * (clock_now() - p->from_clock);
            const bool stepped = step_towards(p, clock, stats);
            const double lag = p->from_time + p->speed * (clock_now() - p->from_clock) - earliest(p);
            p->late = stepped && lag > 0.25 * p->speed;
            if (p->late) restart_clock(p);  // it does not try to make up for what it could not do in time
            if (!stepped) wait_order(p, fmax((earliest(p) - clock) / p->speed, 1e-3));
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// ---- the whole

static bool open_memory(player *p)
{
    const size_t w = p->worlds;
    p->q = calloc(w * p->nq + 1, sizeof *p->q), p->start_q = calloc(w * p->nq + 1, sizeof *p->q);
    p->v = calloc(w * p->nv + 1, sizeof *p->v), p->start_v = calloc(w * p->nv + 1, sizeof *p->v);
    p->tau = calloc(w * p->nv + 1, sizeof *p->tau), p->force = calloc(p->nv + 1, sizeof *p->force);
    p->puller = pull_create(p->model);
    p->stats = calloc(w, sizeof *p->stats);
    const size_t touch = w * (size_t)ctn_model_ncontact(p->model) * CTN_CONTACT_NUMBERS;
    for (int k = 0; k < p->runs; k++)
        if (!(p->run[k].frozen_at = calloc(w, sizeof *p->run[k].frozen_at)) ||
            !(p->run[k].contacts = calloc(touch + 1, sizeof *p->run[k].contacts)))
            return false;
    return p->stats && p->q && p->start_q && p->v && p->start_v && p->tau && p->force && p->puller;
}

/// Initial states, forces and the list of parameters, as `catena rollout` draws them if there are several worlds.
static bool draw_starts(player *p)
{
    const bool drawn = p->worlds > 1 && ctn_scene_is_sampled(p->scene);
    p->ndrawn = drawn ? ctn_scene_parameters(p->scene, p->model, NULL) : 0;
    p->ntold = p->steer.tell ? ctn_model_ntarget(p->model) : 0;
    const size_t first = (size_t)p->ndrawn, told = (size_t)p->ntold;
    p->list = calloc(first + told + MOST_SET, sizeof *p->list), p->set = calloc(first + told + MOST_SET, sizeof *p->set);
    p->told = calloc(told + 1, sizeof *p->told);
    p->drawn = calloc(p->worlds * (size_t)p->ndrawn + 1, sizeof *p->drawn);
    p->drawn_force = calloc(p->worlds * p->nv + 1, sizeof *p->drawn_force);
    if (!p->list || !p->set || !p->told || !p->drawn || !p->drawn_force) return false;
    for (size_t w = 0; w < p->worlds && !drawn; w++)
        ctn_model_initial_state(p->model, p->start_q + w * p->nq, p->start_v + w * p->nv);
    p->nlist = p->ndrawn + p->ntold;
    for (int k = 0; k < p->ndrawn; k++) p->set[k] = NAN;
    if (told) {
        ctn_model_target_parameters(p->model, p->list + first), ctn_model_targets(p->model, p->told);
        memcpy(p->set + first, p->told, told * sizeof *p->set);
    }
    if (!drawn) return true;
    ctn_scene_parameters(p->scene, p->model, p->list);
    p->forced = ctn_sample_worlds(p->scene, p->model, ctn_scene_seed(p->scene), 0, (int)p->worlds, (int64_t)p->worlds, p->start_q,
                                  p->start_v, p->drawn_force, p->drawn);
    return true;
}

static bool start_thread(player *p)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL), pthread_cond_init(&p->order, &attributes);
    pthread_condattr_destroy(&attributes);
    p->started = !pthread_create(&p->thread, NULL, play, p);
    return p->started;
}

player *player_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, int runs,
                      const player_steer *steer, ctn_error *err)
{
    player *const p = calloc(1, sizeof *p);
    fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds", cfg->worlds);
    if (!p) return NULL;
    p->scene = scene, p->model = model, p->worlds = (size_t)cfg->worlds, p->runs = runs, p->speed = 1, p->goal = -1;
    p->nq = (size_t)ctn_model_nq(model), p->nv = (size_t)ctn_model_nv(model);
    if (steer) p->steer = *steer, p->steers = true;
    bool ok = open_memory(p) && draw_starts(p);
    for (int k = 0; k < runs && ok; k++) ok = begin(p, &p->run[k], &cfg[k], err);
    if (ok && start_thread(p)) return p;
    player_free(p);
    return NULL;
}

void player_free(player *p)
{
    if (!p) return;
    if (p->started) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->order);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
        pthread_mutex_destroy(&p->lock), pthread_cond_destroy(&p->order);
    }
    for (int k = 0; k < p->runs; k++) {
        ctn_batch_free(p->run[k].batch), history_free(p->run[k].past);
        free(p->run[k].frozen_at), free(p->run[k].contacts);
    }
    free(p->stats);
    pull_free(p->puller);
    free(p->q), free(p->v), free(p->tau), free(p->start_q), free(p->start_v), free(p->drawn_force), free(p->force), free(p->list),
        free(p->told), free(p->set), free(p->drawn);
    free(p);
}

bool player_view_open(player_view *view, int runs, size_t worlds, const ctn_model *model)
{
    const size_t touch = (size_t)ctn_model_ncontact(model) * CTN_CONTACT_NUMBERS;
    const size_t all = (size_t)runs * worlds, links = worlds * (size_t)ctn_model_nlink(model);
    *view = (player_view){.q = calloc(all * (size_t)ctn_model_nq(model) + 1, sizeof *view->q),
                          .v = calloc(all * (size_t)ctn_model_nv(model) + 1, sizeof *view->v),
                          .frozen = calloc(all, sizeof *view->frozen),
                          .mass_scale = malloc((links + 1) * sizeof *view->mass_scale)};
    for (size_t k = 0; k < links && view->mass_scale; k++) view->mass_scale[k] = 1;
    if (touch && !(view->contacts = calloc(all * touch, sizeof *view->contacts))) return false;
    return view->q && view->v && view->frozen && view->mass_scale;
}

bool player_view_create(const player *p, player_view *view) { return player_view_open(view, p->runs, p->worlds, p->model); }

void player_view_free(player_view *view)
{
    free(view->q), free(view->v), free(view->frozen), free(view->mass_scale), free(view->contacts);
    view->q = view->v = view->mass_scale = view->contacts = NULL, view->frozen = NULL;
}

void player_look(player *p, player_view *view)
{
    pthread_mutex_lock(&p->lock);
    const double clock = p->from_time + p->speed * (clock_now() - p->from_clock);
    const double reached = earliest(p);
    view->time = p->running && isfinite(reached) ? fmin(clock, reached) : last_time(leader(p));
    view->running = p->running, view->late = p->running && p->late;
    memcpy(view->trouble, p->trouble, sizeof view->trouble);
    for (int k = 0; k < p->nlist; k++)
        for (size_t w = 0; w < p->worlds && p->list[k].kind == CTN_MASS_SCALE; w++)
            view->mass_scale[w * (size_t)ctn_model_nlink(p->model) + (size_t)p->list[k].index] = value_in(p, w, k);
    const size_t touch = p->worlds * (size_t)ctn_model_ncontact(p->model) * CTN_CONTACT_NUMBERS;
    for (int k = 0; k < p->runs; k++) {
        if (touch) memcpy(view->contacts + (size_t)k * touch, p->run[k].contacts, touch * sizeof *view->contacts);
        view->run[k] = p->run[k].about;
        for (size_t w = 0; w < p->worlds; w++)
            view->frozen[(size_t)k * p->worlds + w] = p->run[k].frozen_at[w] <= fmin(view->time, last_time(&p->run[k]));
        history_state(p->run[k].past, view->time, view->q + (size_t)k * p->worlds * p->nq,
                      view->v + (size_t)k * p->worlds * p->nv);
    }
    view->pull[0] = view->pull[1] = view->pull[2] = 0;
    const size_t pulled = (size_t)p->pulled_run * p->worlds + (size_t)p->pulled_world;
    if (p->pulls)
        pull_force(p->puller, &p->pulled, p->run[p->pulled_run].about.cfg.dt, view->q + pulled * p->nq, view->v + pulled * p->nv,
                   view->pull);
    pthread_mutex_unlock(&p->lock);
}

// ---- orders, taken from another thread

#define ORDER(p, ...)                                                                                                            \
    do {                                                                                                                         \
        pthread_mutex_lock(&(p)->lock);                                                                                          \
        __VA_ARGS__;                                                                                                             \
        pthread_cond_signal(&(p)->order);                                                                                        \
        pthread_mutex_unlock(&(p)->lock);                                                                                        \
    } while (0)

void player_run_on(player *p, bool running) { ORDER(p, p->running = running, restart_clock(p)); }

void player_speed(player *p, double times)
{
    ORDER(p, if (p->running) p->from_time += p->speed * (clock_now() - p->from_clock); p->from_clock = clock_now();
          p->speed = times);
}

void player_steps(player *p, int steps) { ORDER(p, p->running = false, p->steps += steps); }

void player_reset(player *p) { ORDER(p, p->reset = true, p->steps = 0, p->goal = -1, p->trouble[0] = 0); }

void player_configure(player *p, int run, const ctn_batch_config *cfg)
{
    ORDER(p, p->run[run].wanted = *cfg, p->run[run].wanted.threads = p->run[run].about.cfg.threads,
          p->run[run].wanted.engine = p->run[run].about.cfg.engine, p->run[run].change = true, p->trouble[0] = 0);
}

ctn_batch_config player_configuration(player *p, int run)
{
    pthread_mutex_lock(&p->lock);
    const ctn_batch_config cfg = p->run[run].change ? p->run[run].wanted : p->run[run].about.cfg;
    pthread_mutex_unlock(&p->lock);
    return cfg;
}

double player_parameter(player *p, ctn_parameter parameter)
{
    double value = NAN;
    pthread_mutex_lock(&p->lock);
    for (int k = 0; k < p->nlist; k++)
        if (p->list[k].kind == parameter.kind && p->list[k].index == parameter.index) value = p->set[k];
    for (int k = 0; k < p->edits; k++)
        if (p->edit[k].kind == parameter.kind && p->edit[k].index == parameter.index) value = p->value[k];
    pthread_mutex_unlock(&p->lock);
    if (isnan(value)) ctn_model_parameter(p->model, parameter, &value, NULL);
    return value;
}

void player_set_force(player *p, int dof, double tau) { ORDER(p, p->force[dof] = tau, p->forced = p->forced || tau != 0); }

/// Several values of one parameter that come between two steps are one.
void player_set_parameter(player *p, ctn_parameter parameter, double value)
{
    pthread_mutex_lock(&p->lock);
    int k = 0;
    while (k < p->edits && (p->edit[k].kind != parameter.kind || p->edit[k].index != parameter.index)) k++;
    if (k < MOST_SET) p->edit[k] = parameter, p->value[k] = value, p->edits += k == p->edits;
    p->trouble[0] = 0;
    pthread_cond_signal(&p->order);
    pthread_mutex_unlock(&p->lock);
}

void player_set_pull(player *p, int run, int world, const pull_at *at)
{
    ORDER(p, p->pulls = at != NULL; if (at) p->pulled = *at, p->pulled_run = run, p->pulled_world = world);
}
