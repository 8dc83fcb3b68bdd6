/// Batches whose worlds are stepped along their links: `links`, one world after another on all threads; `both`, a world a thread,
/// in its lanes, or, on a device, all worlds at once. States are those of the scalar engine, which makes the steps that are not
/// made along the links. (docs/scans.md)
#include "sim/batch/batch_along.h"

#include "sim/base/config.h"
#include "sim/base/status.h"
#include "sim/engine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Whether the ground keeps a method from going along the links: implicit ones alone meet it there.
static bool ground_stops(const ctn_model *m, const ctn_batch_config *cfg)
{
    return !m->nsurface && m->ncontact && cfg->method != CTN_COLLOCATION && cfg->method != CTN_ALPHA && cfg->method != CTN_RADAU;
}

/// Whether limits of motors' speeds keep a method from going along the links: those that go by several points of a step see the
/// corner late, and look for it serially (integrators/step_part.h).
static bool speeds_stop(const ctn_model *m, const ctn_batch_config *cfg)
{
    return m->fast && (cfg->method == CTN_ALPHA || cfg->method == CTN_RADAU);
}

/// What of a fluid goes along no links; NULL: nothing.
static const char *fluid_stops(const ctn_model *m)
{
    return m->slips ? "drag by the square or in a current that varies" : m->adds ? "`added_mass`" : NULL;
}

/// Why what motors are told goes along no links: lanes have none for thrusters, and are not told anew between steps. NULL: it does.
static const char *targets_stop(const ctn_model *m)
{
    return m->controller ? "`controller`" : m->driven ? "targets of thrusters that move" : NULL;
}

/// Whether there is more to touch than the ground, which goes along no links.
static bool surfaces_stop(const ctn_model *m) { return m->nsurface && m->ncontact; }

/// What else of contact goes along no links; NULL: nothing.
static const char *law_stops(const ctn_model *m)
{
    return config_between(m)          ? config_between(m)
           : m->published           ? "`contact` of `law: as-published`"
           : m->nbent > m->ncontact ? "torsional or rolling friction"
                                    : NULL;
}

/// What goes along the links only where it is asked for; NULL: nothing. Where blocks are not symmetric open ends make four times
/// the operations of an elimination, which lanes make good on wide CPUs alone, and threads.
static const char *if_asked(const ctn_model *m, const ctn_batch_config *cfg)
{
    if (cfg->method == CTN_RADAU && cfg->stages > 1) return "radau of several stages";
    const bool frames = cfg->method == CTN_COLLOCATION || cfg->method == CTN_ALPHA || cfg->method == CTN_RADAU;
    return frames && m->skew ? "what spins about axes that turn" : NULL;
}

ctn_parallel batch_parallel(const ctn_model *m, const ctn_batch_config *cfg)
{
    const bool able = along_scalar.steps(cfg) && !if_asked(m, cfg) && !ground_stops(m, cfg) && !surfaces_stop(m) &&
                      !law_stops(m) && !fluid_stops(m) && !targets_stop(m) && !m->nwound && !speeds_stop(m, cfg) &&
                      !device_asked(cfg->engine);
    if (cfg->parallel != CTN_PARALLEL_AUTO) return cfg->parallel;
    return able && along_pays(m, cfg->worlds) ? cfg->worlds > 1 ? CTN_PARALLEL_BOTH : CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
}

int batch_along_lanes(const ctn_model *m, const ctn_batch_config *cfg)
{
    if (batch_parallel(m, cfg) == CTN_PARALLEL_WORLDS) return 0;
    return cfg->lanes ? cfg->lanes : along_lanes(m);
}

void batch_parallel_reason(const ctn_model *m, const ctn_batch_config *cfg, char text[PARALLEL_WORDS])
{
    ctn_batch_config links = *cfg;
    ctn_error no;
    links.parallel = CTN_PARALLEL_LINKS;
    if (cfg->parallel != CTN_PARALLEL_AUTO) snprintf(text, PARALLEL_WORDS, "asked for");
    else if (device_asked(cfg->engine))
        snprintf(text, PARALLEL_WORDS, "engine %s takes links if asked", device_asked(cfg->engine));
    else if (m->nwound) snprintf(text, PARALLEL_WORDS, "links takes no `ki` of motors");
    else if (speeds_stop(m, cfg))
        snprintf(text, PARALLEL_WORDS, "links takes no `speed` of motors by %s", ctn_method_name(cfg->method));
    else if (ground_stops(m, cfg)) snprintf(text, PARALLEL_WORDS, "links takes no `ground` by %s", ctn_method_name(cfg->method));
    else if (surfaces_stop(m)) snprintf(text, PARALLEL_WORDS, "links takes no `obstacles` and no `terrain`");
    else if (law_stops(m)) snprintf(text, PARALLEL_WORDS, "links takes no %s", law_stops(m));
    else if (fluid_stops(m)) snprintf(text, PARALLEL_WORDS, "links takes no %s", fluid_stops(m));
    else if (targets_stop(m)) snprintf(text, PARALLEL_WORDS, "links takes no %s", targets_stop(m));
    else if (config_check_parallel(&links, &no) != CTN_OK)  // without the remedy
        snprintf(text, PARALLEL_WORDS, "%.*s", (int)strcspn(no.message, ";"), no.message);
    else if (if_asked(m, cfg)) snprintf(text, PARALLEL_WORDS, "%s takes links if asked", if_asked(m, cfg));
    else {
        along_reason(m, cfg->worlds, text);
        const ctn_engine *const engine = engine_find(cfg->engine, 2, &no);
        if (engine && engine->lanes == 1 && along_pays(m, cfg->worlds))  // the choice goes by sizes, so that the bits do
            strncat(text, " in lanes; the engine scalar has one: worlds are faster there", PARALLEL_WORDS - strlen(text) - 1);
    }
}

ctn_status batch_along_check(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    if (cfg->parallel != CTN_PARALLEL_LINKS && cfg->parallel != CTN_PARALLEL_BOTH) return CTN_OK;
    const char *const name = ctn_parallel_name(cfg->parallel);
    const char *const device = device_asked(cfg->engine);
    ctn_error reason;
    if (device && (!ctn_method_is_implicit(cfg->method) || cfg->method == CTN_VARIATIONAL))
        return fail(err, CTN_BAD_CONFIG,
                    "parallel: %s: the engine '%s' takes alpha, collocation of order 2 and radau, not %s; take one of these, or "
                    "worlds",
                    name, device, ctn_method_name(cfg->method));
    if (device && cfg->parameter_count)
        return fail(
            err, CTN_BAD_CONFIG,
            "parallel: %s: the engine '%s' takes no parameters by world in this version; take worlds, or an engine of the "
            "CPU",
            name, device);
    if (config_check_parallel(cfg, &reason) != CTN_OK) return fail(err, CTN_BAD_CONFIG, "parallel: %s", reason.message);
    if (fluid_stops(m))
        return fail(err, CTN_BAD_CONFIG, "parallel: %s takes no %s in this version; take worlds", name, fluid_stops(m));
    if (targets_stop(m))
        return fail(err, CTN_BAD_CONFIG, "parallel: %s takes no %s in this version; take worlds", name, targets_stop(m));
    if (m->nwound) return fail(err, CTN_BAD_CONFIG, "parallel: %s takes no `ki` of motors in this version; take worlds", name);
    if (speeds_stop(m, cfg))
        return fail(err, CTN_BAD_CONFIG,
                    "parallel: %s takes no `speed` of motors by %s in this version; take worlds, or collocation", name,
                    ctn_method_name(cfg->method));
    if (surfaces_stop(m))
        return fail(err, CTN_BAD_CONFIG, "parallel: %s takes no `obstacles` and no `terrain` in this version; take worlds", name);
    if (law_stops(m)) return fail(err, CTN_BAD_CONFIG, "parallel: %s takes no %s; take worlds", name, law_stops(m));
    if (ground_stops(m, cfg))
        return fail(err, CTN_BAD_CONFIG, "parallel: %s takes no `ground` by %s in this version; take worlds, or alpha", name,
                    ctn_method_name(cfg->method));
    return CTN_OK;
}

/// Bodies from which on threads pay that were asleep before a step (bench/crossover).
enum { THREADS_PAY_FROM = 4096 };

int batch_along_threads(const ctn_model *m, int threads)
{
    return m->nbody < THREADS_PAY_FROM ? 1 : threads ? threads : pool_cpus();
}

/// Whether worlds have numbers of their own.
static bool worlds_differ(const ctn_batch *batch) { return batch->nplace || batch->cfg.parameter_count; }

/// Numbers of loads for the worlds in hand, all but those of wrenches.
static bool open_wrenches(batch_along *a, const ctn_model *m)
{
    const size_t at_once = (size_t)a->at_once, loads = (size_t)m->nload;
    a->load = malloc(at_once * loads * sizeof *a->load);
    for (size_t t = 0; a->load && t < at_once; t++) memcpy(a->load + t * loads, m->loads, loads * sizeof *a->load);
    return a->load;
}

/// Models for the numbers of the worlds in hand, and for the plan.
static bool open_variants(const ctn_batch *batch, batch_along *a)
{
    double dt;
    double *const values = malloc((size_t)batch->cfg.parameter_count * sizeof *values);
    bool ok = values && (a->base = parameters_variant(batch->parameters)) &&
              (a->variant = calloc((size_t)a->at_once, sizeof *a->variant));
    if (ok)
        parameters_of_model(batch->parameters, batch->cfg.dt, values), parameters_apply(batch->parameters, values, a->base, &dt);
    for (int t = 0; ok && t < a->at_once; t++) ok = (a->variant[t] = parameters_variant(batch->parameters));
    free(values);
    return ok;
}

/// What worlds may differ in.
static bool open_numbers(const ctn_batch *batch, batch_along *a, const ctn_model *m)
{
    if (!worlds_differ(batch)) return true;
    a->whose = malloc((size_t)a->at_once * sizeof *a->whose);
    for (int t = 0; a->whose && t < a->at_once; t++) a->whose[t] = -1;
    return a->whose && (batch->cfg.parameter_count ? open_variants(batch, a) : open_wrenches(a, m));
}

/// The world on the device that the batch asks for, or its worlds.
static bool open_there(ctn_batch *batch, ctn_error *err)
{
    batch_along *const a = batch->along;
    a->lost = calloc(1, sizeof *a->lost);
    if (!a->lost || (batch->cfg.parallel == CTN_PARALLEL_BOTH && !batch_together_open(batch))) return false;
    return (a->there = along_remote_open(batch->cfg.engine, a->plan, &batch->cfg, a->together ? &a->together->room : NULL, err));
}

/// The model with all loads that the batch has by now.
static const ctn_model *loaded_model(const ctn_batch *batch)
{
    return batch->with_wrenches ? batch->with_wrenches : batch->model;
}

bool batch_along_open(ctn_batch *batch, ctn_error *err)
{
    const ctn_batch_config *const cfg = &batch->cfg;
    const ctn_engine *const lanes = engine_find(cfg->engine, 2, err);
    const ctn_model *const m = loaded_model(batch);
    batch_along *const a = calloc(1, sizeof *a);
    if (!(batch->along = a) || !lanes) return false;
    a->engine = along_engine_of(lanes);
    const bool links = cfg->parallel == CTN_PARALLEL_LINKS;
    const size_t at_once = a->at_once = links ? 1 : cfg->threads;
    a->world = calloc(at_once, sizeof *a->world), a->own = calloc(at_once, sizeof *a->own);
    if (!a->world || !a->own || !open_numbers(batch, a, m)) return false;
    a->plan = along_plan_create(a->base ? a->base : m, batch_along_lanes(m, cfg), !parameters_change_bodies(batch->parameters));
    if (!a->plan) return false;
    if (device_asked(cfg->engine)) return open_there(batch, err);
    a->bytes = (a->engine->size(a->plan, cfg, false) + 63) / 64 * 64;
    for (size_t t = 0; t < at_once; t++) {
        void *const memory = along_memory(a->bytes);
        a->own[t] = pool_create(links ? batch_along_threads(batch->model, cfg->threads) : 1);
        if (!memory || !a->own[t]) {
            free(memory);
            return false;
        }
        a->world[t] = a->engine->open(a->plan, cfg, false, memory);
    }
    return true;
}

void batch_along_close(ctn_batch *batch)
{
    batch_along *const a = batch->along;
    if (!a) return;
    for (int t = 0; t < a->at_once; t++) {
        if (a->world) free(a->world[t]);
        if (a->own) pool_free(a->own[t]);
        if (a->variant) free(a->variant[t]);
    }
    along_remote_close(a->there);
    along_plan_free(a->plan);
    batch_together_close(a->together);
    free(a->world), free(a->own), free(a->whose), free(a->load), free(a->base), free(a->variant), free(a->lost), free(a);
    batch->along = NULL;
}

size_t batch_along_bytes(const ctn_batch *batch)
{
    const batch_along *const a = batch->along;
    if (!a) return 0;
    const ctn_model *const m = a->plan->model;
    const size_t loads = (size_t)m->nload * sizeof *m->loads;
    const size_t variant = sizeof *m + (size_t)m->nbody * sizeof *m->bodies + loads + (size_t)m->nmotor * sizeof *m->motors;
    const size_t numbers = a->variant ? variant : a->load ? loads : 0, whose = a->whose ? sizeof *a->whose : 0;
    return a->plan->bytes + (a->base ? variant : 0) + (size_t)a->at_once * (a->bytes + numbers + whose) +
           (a->there ? along_remote_bytes(a->there) : 0) + (a->together ? a->together->bytes : 0);
}

void batch_along_forget(ctn_batch *batch)
{
    for (int t = 0; batch->along->whose && t < batch->along->at_once; t++) batch->along->whose[t] = -1;
}

/// Gives the world `slot` of those in hand the numbers of one of the batch's, if it has not got them.
static void take_up(const ctn_batch *batch, int slot, int world)
{
    const batch_along *const a = batch->along;
    if (!a->whose || a->whose[slot] == world) return;
    if (a->variant) {
        double dt = batch->cfg.dt;
        ctn_model *const own = a->variant[slot];
        parameters_apply(batch->parameters, batch->values + (size_t)world * (size_t)batch->cfg.parameter_count, own, &dt);
        batch_apply_wrenches(batch, world, own);
        a->engine->numbers(a->world[slot], a->own[slot], own, dt);
    } else {
        ctn_model m = *batch->with_wrenches;
        m.loads = a->load + (size_t)slot * (size_t)m.nload;
        batch_apply_wrenches(batch, world, &m);
        if (a->there) along_remote_loads(a->there, &m);
        else a->engine->loads(a->world[slot], a->own[slot], &m);
    }
    a->whose[slot] = world;
}

void batch_along_tally(ctn_batch *batch, int thread, int world, ctn_step_stats *stats)
{
    const int none = 0;
    ctn_step_stats now = {.frozen = stats->frozen};
    if (!batch->model->ncontact) return;
    batch->engine->step(lanes_of(batch, world), &batch->cfg, state_of(batch, world), work_of(batch, thread), NULL, NULL, &none,
                        true, 1, &now, &batch->use[thread]);
    stats->touching = now.touching, stats->sticking = now.sticking, stats->sliding = now.sliding;
}

void batch_along_step(ctn_batch *batch, int thread, int world, engine_clock begin, const double *tau, int steps, bool energy,
                      ctn_step_stats *stats)
{
    const batch_along *const a = batch->along;
    const int slot = a->at_once == batch->cfg.worlds ? world : thread;  // where worlds can, they stay
    const ctn_engine *const serial = batch->engine;
    const lane_model *const m = lanes_of(batch, world);
    const size_t size = serial->flat_size(m, &batch->cfg), more = serial->motion_size(m, &batch->cfg);
    double *const flat = batch->flat + (size_t)thread * (size + more);
    const ctn_freeze frozen = stats->frozen;
    int made = 0;
    bool any = false;
    if (steps) take_up(batch, slot, world);
    while (!any || (made < steps && !stats->frozen && !(batch->cfg.interrupt && *batch->cfg.interrupt))) {
        ctn_step_stats part = {.frozen = any ? stats->frozen : frozen};
        const engine_clock clock = {begin.since, begin.made + (double)(any ? stats->steps : 0)};
        int done = 0;
        if (!part.frozen && steps) {
            serial->flatten(m, &batch->cfg, state_of(batch, world), 0, false, flat);
            if (a->there && a->lost->status == CTN_OK)
                along_remote_run(a->there, &batch->cfg, clock, flat, tau, steps - made, energy, &part, &done, a->lost);
            else if (!a->there)
                done =
                    a->engine->run(a->world[slot], a->own[slot], &batch->cfg, clock, flat, tau, 0, steps - made, energy, &part);
            if (a->there && a->lost->status != CTN_OK) done = 0;
            if (done) serial->flatten(m, &batch->cfg, state_of(batch, world), 0, true, flat);
            if (done && more) serial->load_motion(m, &batch->cfg, state_of(batch, world), 0, flat + size);
        }
        if (!done) {
            const int one = steps ? 1 : 0;
            serial->step(m, &batch->cfg, state_of(batch, world), work_of(batch, thread), &clock, tau ? &tau : NULL, &one, energy,
                         1, &part, &batch->use[thread]);
            batch->serial[world] += part.steps, done = one;
        }
        if (!any) *stats = part;
        else ctn_step_stats_add(stats, &part);
        any = true, made += done;
        if (!steps) break;
    }
    if (energy) batch_along_tally(batch, thread, world, stats);
}

ctn_status batch_along_failed(const ctn_batch *batch, ctn_error *err)
{
    const ctn_error *const lost = batch->along->lost;
    return lost && lost->status != CTN_OK ? fail(err, lost->status, "%s", lost->message) : CTN_OK;
}

int ctn_batch_lanes(const ctn_batch *batch) { return batch && batch->along ? batch->along->plan->lanes : 0; }

long ctn_batch_serial_steps(const ctn_batch *batch)
{
    long sum = 0;
    for (int w = 0; batch && batch->serial && w < batch->cfg.worlds; w++) sum += batch->serial[w];
    return sum;
}
