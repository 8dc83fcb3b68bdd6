/// Tapes, which are recorded runs of one world, and their derivatives: the engine's adjoints of single steps, put together. Worlds
/// that go along their links go so here, too, both ways; what is not done so the engine does.
#include "dynamics/model.h"
#include "sim/along/along.h"
#include "sim/base/config.h"
#include "sim/batch/batch.h"
#include "sim/batch/tape.h"
#include "sim/engine/device.h"
#include "sim/engine/engine.h"
#include "sim/base/parameter_kinds.h"
#include "sim/model/contact_points.h"
#include "sim/model/model.h"
#include "sim/model/parameters.h"
#include "sim/base/status.h"

#include <catena/contact.h>
#include <catena/derivatives.h>
#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Steps are recorded in parts: one, or those in which a step was carried out that had to be halved, and what lies between them.
typedef struct {
    int step;
    double h;     // s; 0: the rates were projected, for a part of another size
    double time;  // s, when it begins
} part;

struct ctn_tape {
    const ctn_model *model;
    lane_model *lanes;
    const ctn_engine *engine;
    ctn_batch_config cfg;
    int steps;
    void *state, *work, *adjoint;
    const along_engine *along;  // along the links; NULL: they are not gone along
    along_plan *plan;
    along_world *world;
    pool *pool;
    bool linked;       // the part that was prepared is
    size_t flat, bar;  // numbers of a state, of a gradient by it
    bool recorded, forced;
    parameters *list;    // the targets of motors, once they are given by step
    ctn_model *variant;  // the model with those of a step
    double *targets;     // [steps][ncontrol]; NULL: they are the model's
    int told;            // the step whose targets `lanes` have
    double *tau;     // [steps][nv]
    double *v0;      // [nv]
    double *states;  // [parts + 1][flat]
    double *end;     // [flat]
    part *parts;     // [capacity]
    int used, capacity;
    int fallbacks;           // steps that are in several parts, or were made with fewer stages
    int *first;              // [steps + 1] the first part of a step
    double *g[2], *t, *row, *u, *c;  // [bar], [bar], [nv], [2 nv], [ncontrol], [CONTACT_GRADIENTS(ncontact)]
};

static void *aligned(size_t size)
{
    const size_t n = (size + 63) / 64 * 64 + 64;
    void *p = aligned_alloc(64, n);
    if (p) memset(p, 0, n);
    return p;
}

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

static bool make_room(ctn_tape *tape, int capacity)
{
    double *states = realloc(tape->states, ((size_t)capacity + 1) * tape->flat * sizeof *states + 8);
    if (states) tape->states = states;
    part *parts = realloc(tape->parts, (size_t)capacity * sizeof *parts);
    if (parts) tape->parts = parts;
    if (!states || !parts) return false;
    tape->capacity = capacity;
    return true;
}

/// Gradients by the state of alpha know bodies with mass only.
static bool loads_have_mass(const ctn_model *m, ctn_error *err)
{
    for (int k = 0; k < m->nload; k++) {
        if (m->bodies[m->loads[k].body].flags & BODY_MASS) continue;
        fail(err, CTN_UNAVAILABLE,
             "link '%s' has no mass, and a spring, a force, a drag or a contact on it: the method alpha has no derivatives there; give it a "
             "mass, "
             "or take collocation or radau",
             m->links[m->loads[k].link].name);
        return false;
    }
    return true;
}

static bool is_order2(const ctn_batch_config *cfg)
{
    return (cfg->method == CTN_COLLOCATION && cfg->order == 2) || (cfg->method == CTN_RADAU && cfg->stages == 1);
}

/// Of steps that touch there are derivatives by order 2, alpha and radau.
static bool touching_steps(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    const bool order2 = is_order2(cfg);
    if (m->published) {
        fail(err, CTN_UNAVAILABLE, "contact: law: as-published has no derivatives in this version; take friction of Coulomb");
        return false;
    }
    if (!order2 && m->nbent > m->ncontact) {
        fail(err, CTN_UNAVAILABLE,
             "contact: torsional or rolling friction has derivatives by order 2 alone in this version; take collocation of order 2, or "
             "radau of 1 stage");
        return false;
    }
    for (int k = 0; k < m->nsurface && cfg->method == CTN_RADAU && !order2; k++) {
        if (m->surfaces[k].kind != SURFACE_TERRAIN) continue;
        fail(err, CTN_UNAVAILABLE,
             "terrain: it has no derivatives by radau of several stages in this version; take alpha, or collocation of order 2");
        return false;
    }
    if (order2 || cfg->method == CTN_ALPHA || cfg->method == CTN_RADAU) return true;
    fail(err, CTN_UNAVAILABLE,
         "method: %s has no derivatives where links touch a `ground` or obstacles in this version; take collocation of order 2, "
         "radau or alpha",
         ctn_method_name(cfg->method));
    return false;
}

/// Opens the world along its links, if that is how the configuration is stepped and the steps can be gone back so. false: there
/// is no memory.
static bool open_along(ctn_tape *tape, const ctn_batch_config *cfg)
{
    const ctn_model *const m = tape->model;
    ctn_error no;
    const ctn_engine *lanes = NULL;
    // of what a device steps, the CPU's lanes of the same class have the bits
    if (device_asked(cfg->engine))
        for (const ctn_engine *const *e = engines_available(); *e; e++) lanes = *e;
    else lanes = engine_find(cfg->engine, 2, &no);
    if (!lanes || !batch_along_lanes(m, cfg) || cfg->parameter_count || m->nsignal) return true;
    const along_engine *const along = along_engine_of(lanes);
    if (!along->steps(cfg) || !along->adjoins(m, cfg)) return true;
    tape->plan = along_plan_create(m, batch_along_lanes(m, cfg), true);
    tape->pool = pool_create(cfg->parallel == CTN_PARALLEL_BOTH ? 1 : batch_along_threads(m, cfg->threads));
    if (!tape->plan || !tape->pool) return false;
    void *const memory = along_memory((along->size(tape->plan, &tape->cfg, true) + 63) / 64 * 64);
    if (memory) tape->along = along, tape->world = along->open(tape->plan, &tape->cfg, true, memory);
    return memory;
}

ctn_status tape_check(const ctn_model *model, const ctn_batch_config *cfg, int steps, ctn_error *err)
{
    ctn_status status = config_check(cfg, err);
    if (status == CTN_OK) status = config_check_model(cfg, model, err);
    if (status != CTN_OK) return status;
    if (cfg->adaptive)
        return fail(err, CTN_UNAVAILABLE,
                    "dt: steps that choose their size (auto) have no derivatives in this version; give dt in seconds");
    for (int k = 0; k < model->nmotor; k++)
        if (model->motors[k].wound >= 0 && model->bodies[model->motors[k].body].kind == JOINT_BALL)
            return fail(err, CTN_UNAVAILABLE,
                        "motors[%d]: the integral term (ki) of a motor on a ball has no derivatives in this version; take kp and kd "
                        "alone",
                        k);
    if (model->ncontact && !touching_steps(model, cfg, err)) return CTN_UNAVAILABLE;
    if (cfg->method == CTN_ALPHA && !loads_have_mass(model, err)) return CTN_UNAVAILABLE;
    if (steps < 1) return fail(err, CTN_BAD_ARGUMENT, "steps: expected 1 or more, found %d", steps);
    return CTN_OK;
}

int tape_ways(const ctn_engine *engine, const ctn_model *model, const ctn_batch_config *cfg)
{
    const int ways = engine->adjoint_ways(cfg);
    return ways + (model->skew && ways == 1 ? 2 : 0);  // order 2 may see what spins otherwise
}

ctn_tape *ctn_tape_create(const ctn_model *model, const ctn_batch_config *cfg, int steps, ctn_error *err)
{
    if (missing(__func__, "model", model, err) || tape_check(model, cfg, steps, err) != CTN_OK) return NULL;
    if (model->controller) {
        fail(err, CTN_UNAVAILABLE,
             "controller: runs of a scene with one have no derivatives in this version; take the scene without it");
        return NULL;
    }
    if (cfg->worlds != 1) {
        fail(err, CTN_BAD_CONFIG, "worlds: expected 1, found %d; take ctn_tapes for several", cfg->worlds);
        return NULL;
    }
    const ctn_engine *engine = engine_find("scalar", 1, err);
    ctn_tape *tape = calloc(1, sizeof *tape);
    if (!engine || !tape) goto no_memory;
    const size_t nv = (size_t)model->nv;
    tape->model = model, tape->engine = engine, tape->cfg = *cfg, tape->steps = steps;
    tape->cfg.engine = engine->name, tape->cfg.parallel = CTN_PARALLEL_WORLDS;
    tape->lanes = engine_model(engine, model, cfg->dt);
    if (!tape->lanes || !open_along(tape, cfg)) goto no_memory;
    tape->flat = engine->flat_size(tape->lanes, cfg), tape->bar = engine->bar_size(tape->lanes, cfg);
    tape->state = aligned(engine->state_size(tape->lanes, cfg));
    tape->work = aligned(engine->work_size(tape->lanes, cfg));
    tape->adjoint = aligned(engine->adjoint_size(tape->lanes, cfg));
    tape->tau = numbers((size_t)steps * nv), tape->v0 = numbers(nv), tape->t = numbers(nv), tape->row = numbers(2 * nv);
    tape->u = numbers((size_t)model->ncontrol), tape->c = numbers(CONTACT_GRADIENTS(model->ncontact));
    tape->g[0] = numbers(tape->bar), tape->g[1] = numbers(tape->bar), tape->end = numbers(tape->flat);
    tape->first = calloc((size_t)steps + 1, sizeof *tape->first);
    if (!tape->state || !tape->work || !tape->adjoint || !tape->tau || !tape->v0 || !tape->t || !tape->u || !tape->c ||
        !tape->row || !tape->g[0] || !tape->g[1] || !tape->end || !tape->first || !make_room(tape, steps))
        goto no_memory;
    return tape;

no_memory:
    ctn_tape_free(tape);
    if (engine) fail(err, CTN_NO_MEMORY, "not enough memory to record %d step%s", steps, plural(steps));
    return NULL;
}

void ctn_tape_free(ctn_tape *tape)
{
    if (!tape) return;
    free(tape->lanes), free(tape->state), free(tape->work), free(tape->adjoint), free(tape->tau), free(tape->v0),
        free(tape->states), free(tape->parts);
    free(tape->world), pool_free(tape->pool), along_plan_free(tape->plan);
    parameters_free(tape->list), free(tape->variant), free(tape->targets);
    free(tape->first), free(tape->g[0]), free(tape->g[1]), free(tape->t), free(tape->u), free(tape->c), free(tape->row);
    free(tape->end);
    free(tape);
}

int ctn_tape_state_size(const ctn_tape *tape) { return tape ? (int)tape->bar : 0; }

static double *state_at(const ctn_tape *tape, int part) { return tape->states + (size_t)part * tape->flat; }
static const double *force_at(const ctn_tape *tape, int step)
{
    return tape->forced ? tape->tau + (size_t)step * (size_t)tape->model->nv : NULL;
}

/// Moves the world between the engine's state and a record.
static void keep(ctn_tape *tape, double *flat) { tape->engine->flatten(tape->lanes, &tape->cfg, tape->state, 0, false, flat); }
static void put_back(ctn_tape *tape, double *flat) { tape->engine->flatten(tape->lanes, &tape->cfg, tape->state, 0, true, flat); }

/// Records what the engine's state has become as the end of a part.
static bool record(ctn_tape *tape, int step, double h, double time)
{
    if (tape->used == tape->capacity && !make_room(tape, 2 * tape->capacity)) return false;
    tape->parts[tape->used++] = (part){step, h, time};
    keep(tape, state_at(tape, tape->used));
    return true;
}

/// When a step begins, with the bits of a batch's clock.
static double time_of(const ctn_tape *tape, int step) { return (double)step * tape->cfg.dt; }

/// Motors are told what is theirs in a step.
static void tell(ctn_tape *tape, int step)
{
    double dt = tape->cfg.dt;
    if (!tape->targets || tape->told == step) return;
    parameters_apply(tape->list, tape->targets + (size_t)step * (size_t)tape->model->ncontrol, tape->variant, &dt);
    tape->engine->model_load((const ctn_model *const[]){tape->variant}, &dt, tape->lanes);
    tape->told = step;
}

/// A step of size dt that begins at `time`.
static ctn_step_stats advance(ctn_tape *tape, const ctn_batch_config *cfg, double dt, int step, double time)
{
    const double *tau = force_at(tape, step);
    ctn_step_stats stats = {0};
    tell(tape, step);
    tape->engine->model_step_size(tape->lanes, &dt);
    engine_use use = {0};
    tape->engine->step(tape->lanes, cfg, tape->state, tape->work, &(engine_clock){.since = time}, tau ? &tau : NULL, &(int){1},
                       false, 1, &stats, &use);
    return stats;
}

/// A whole step: along the links, if it can be made so.
static ctn_step_stats advance_whole(ctn_tape *tape, int step)
{
    ctn_step_stats stats = {0};
    if (!tape->along || tape->targets) return advance(tape, &tape->cfg, tape->cfg.dt, step, time_of(tape, step));
    keep(tape, tape->end);
    if (!tape->along->run(tape->world, tape->pool, &tape->cfg, (engine_clock){0}, tape->end, force_at(tape, step), 0, 1, false,
                          &stats))
        return advance(tape, &tape->cfg, tape->cfg.dt, step, time_of(tape, step));
    put_back(tape, tape->end);
    return stats;
}

/// Makes ready to go backwards through part p. The way in which it was carried out; -1: it cannot be found again. alone: not
/// along the links, which know no gradients by targets.
static int prepare(ctn_tape *tape, int p, bool alone)
{
    const double *before = state_at(tape, p), *after = state_at(tape, p + 1), *tau = force_at(tape, tape->parts[p].step);
    const int ways = tape_ways(tape->engine, tape->model, &tape->cfg);
    tell(tape, tape->parts[p].step);
    tape->linked = tape->along && !alone && !tape->targets && tape->parts[p].h == tape->cfg.dt &&
                   tape->along->prepare(tape->world, tape->pool, &tape->cfg, before, after, tau);
    for (int k = 0; k < ways; k++)
        if (tape->linked || tape->engine->adjoint_prepare(tape->lanes, &tape->cfg, tape->adjoint, &tape->parts[p].time,
                                                          tape->parts[p].h, k, &before, &after, tau ? &tau : NULL, NULL))
            return k;
    return -1;
}

/// The rates of a method of one stage between parts of different sizes; nothing for others.
static bool record_projection(ctn_tape *tape, int step)
{
    return !tape->engine->project(tape->lanes, &tape->cfg, tape->state, tape->work) || record(tape, step, 0, 0);
}

/// What position_step() and variational_step() do to the state between two parts of a step: one that is halved leaves no guess
/// for the next solve (with several stages, only one that came down to a single stage), and where sizes change there is no old
/// point.
static void between_parts(ctn_tape *tape, bool resized, const ctn_step_stats *stats)
{
    double *flat = state_at(tape, tape->used);
    const size_t nv = (size_t)tape->model->nv;
    const int ways = tape->engine->adjoint_ways(&tape->cfg);  // one stage is the last of them
    const bool single =
        ways == 1 || tape->cfg.method == CTN_ALPHA || (stats->fewer_stages && prepare(tape, tape->used - 1, true) == ways - 1);
    if (single) memset(flat + (size_t)tape->model->nq + nv, 0, nv * sizeof *flat);
    if (resized && tape->cfg.method == CTN_COLLOCATION && tape->cfg.order > 2)
        flat[tape->flat - 1 - (size_t)tape->model->nwound - (tape->model->turns ? nv : 0)] = 1;
    put_back(tape, flat);
}

/// A step that fell back, once more, part by part: as the engine does it, so that every part ends where it ended there. false: no
/// memory, or (*lost) the parts do not lead there.
static bool record_parts(ctn_tape *tape, int step, bool *lost)
{
    double size = 1, here = 0;
    *lost = true;
    keep(tape, tape->end);
    put_back(tape, state_at(tape, tape->used));
    while (here < 1) {
        ctn_batch_config cfg = tape->cfg;
        const double dt = tape->cfg.dt * size, time = time_of(tape, step) + tape->cfg.dt * here;
        cfg.max_halvings = 0;
        const ctn_step_stats stats = advance(tape, &cfg, dt, step, time);
        if (!stats.steps) {
            if (size < 1e-12) return false;
            size *= 0.5;
            keep(tape, state_at(tape, tape->used));  // without a guess, now
            if (!record_projection(tape, step)) return *lost = false;
            continue;
        }
        if (!record(tape, step, dt, time)) return *lost = false;
        here += size;
        if (size < 1) {
            const bool grows = fmod(here, 2 * size) == 0;
            between_parts(tape, grows, &stats);
            if (grows) size *= 2;
            if (grows && tape->cfg.method != CTN_ALPHA && !record_projection(tape, step)) return *lost = false;
        }
    }
    return !memcmp(tape->end, state_at(tape, tape->used), tape->flat * sizeof *tape->end);
}

/// Opens what targets by step need. false: no memory.
static bool open_targets(ctn_tape *tape)
{
    const int count = tape->model->ncontrol;
    if (!tape->list) {
        ctn_parameter *const list = calloc((size_t)count + 1, sizeof *list);
        if (list) ctn_model_target_parameters(tape->model, list), tape->list = parameters_create(tape->model, list, count, NULL);
        free(list);
    }
    if (tape->list && !tape->variant) tape->variant = parameters_variant(tape->list);
    if (tape->variant && !tape->targets) tape->targets = numbers((size_t)tape->steps * (size_t)count);
    return tape->targets;
}

ctn_status ctn_tape_set_targets(ctn_tape *tape, const double *u, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err)) return CTN_BAD_ARGUMENT;
    const size_t n = (size_t)tape->model->ncontrol;
    for (int k = 0; k < tape->steps && u; k++)
        for (size_t j = 0; j < n; j++)
            if (!isfinite(u[(size_t)k * n + j])) return fail(err, CTN_BAD_ARGUMENT, "step %d: u[%zu] is not finite", k, j);
    if (u && !open_targets(tape)) return fail(err, CTN_NO_MEMORY, "not enough memory for the targets of %d steps", tape->steps);
    tape->recorded = false, tape->told = -1;
    if (u) memcpy(tape->targets, u, (size_t)tape->steps * n * sizeof *u);
    else if (tape->targets) {  // the model's own
        const double dt = tape->cfg.dt;
        free(tape->targets), tape->targets = NULL;
        tape->engine->model_load((const ctn_model *const[]){tape->model}, &dt, tape->lanes);
    }
    return CTN_OK;
}

static bool interrupted(const ctn_tape *tape) { return tape->cfg.interrupt && *tape->cfg.interrupt; }

ctn_status ctn_tape_run(ctn_tape *tape, const double *q, const double *v, const double *tau, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err)) return CTN_BAD_ARGUMENT;
    const ctn_model *m = tape->model;
    if ((m->nq && missing(__func__, "q", q, err)) || (m->nv && missing(__func__, "v", v, err))) return CTN_BAD_ARGUMENT;
    tape->recorded = false;
    if (state_check(m, q, v, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    for (int k = 0; k < tape->steps && tau; k++)
        for (int j = 0; j < m->nv; j++)
            if (!isfinite(tau[(size_t)k * (size_t)m->nv + (size_t)j]))
                return fail(err, CTN_BAD_ARGUMENT, "step %d: tau[%d] is not finite", k, j);
    tape->forced = tau != NULL, tape->used = 0, tape->fallbacks = 0;
    if (tau) memcpy(tape->tau, tau, (size_t)tape->steps * (size_t)m->nv * sizeof *tau);
    memcpy(tape->v0, v, (size_t)m->nv * sizeof *v);
    tape->engine->set(tape->lanes, &tape->cfg, tape->state, tape->work, &q, &v);
    keep(tape, state_at(tape, 0));
    for (int k = 0; k < tape->steps; k++) {
        tape->first[k] = tape->used;
        const ctn_step_stats stats = advance_whole(tape, k);
        if (interrupted(tape)) return fail(err, CTN_INTERRUPTED, "interrupted in step %d", k);
        if (stats.frozen) return fail(err, CTN_FROZEN, "step %d: the world is frozen: %s", k, ctn_freeze_text(stats.frozen));
        bool lost = false;
        const bool recorded = stats.fallbacks ? record_parts(tape, k, &lost) : record(tape, k, tape->cfg.dt, time_of(tape, k));
        if (interrupted(tape)) return fail(err, CTN_INTERRUPTED, "interrupted in step %d", k);  // its parts may have ended early
        if (recorded) {
            tape->fallbacks += stats.fallbacks > 0;
        } else if (lost)
            return fail(err, CTN_UNAVAILABLE, "step %d: carried out in parts that cannot be recorded: take a smaller dt", k);
        else return fail(err, CTN_NO_MEMORY, "not enough memory to record step %d", k);
    }
    tape->first[tape->steps] = tape->used;
    tape->recorded = true;
    return CTN_OK;
}

int ctn_tape_fallbacks(const ctn_tape *tape) { return tape && tape->recorded ? tape->fallbacks : 0; }

/// Is there a record, and `step` in 0 .. most?
static ctn_status check_step(const ctn_tape *tape, int step, int most, ctn_error *err)
{
    if (!tape->recorded) return fail(err, CTN_BAD_ARGUMENT, "nothing is recorded: call ctn_tape_run first");
    if (step < 0 || step > most) return fail(err, CTN_BAD_ARGUMENT, "step: expected 0 to %d, found %d", most, step);
    return CTN_OK;
}

ctn_status ctn_tape_contact_changes(ctn_tape *tape, long *changes, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err) || missing(__func__, "changes", changes, err)) return CTN_BAD_ARGUMENT;
    if (check_step(tape, 0, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    const size_t n = (size_t)tape->model->ncontact;
    double *const felt = numbers(2 * n * CTN_CONTACT_NUMBERS);
    if (!felt) return fail(err, CTN_NO_MEMORY, "not enough memory for %zu contact points", n);
    *changes = 0;
    for (int p = 0; p <= tape->used && n; p++) {
        const size_t width = n * CTN_CONTACT_NUMBERS, odd = (size_t)(p % 2);
        double *const now = felt + odd * width, *const before = felt + (1 - odd) * width;
        tell(tape, tape->parts[p ? p - 1 : 0].step);
        put_back(tape, state_at(tape, p));
        tape->engine->contacts(tape->lanes, &tape->cfg, tape->state, tape->work, 1, now);
        for (size_t k = 7; k < width && p; k += CTN_CONTACT_NUMBERS) *changes += now[k] != before[k];
    }
    free(felt);
    return CTN_OK;
}

ctn_status ctn_tape_state(ctn_tape *tape, int step, double *q, double *v, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err) || check_step(tape, step, tape->steps, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    put_back(tape, state_at(tape, tape->first[step]));
    tape->engine->get(tape->lanes, &tape->cfg, tape->state, tape->work, 1, q ? &q : NULL, v ? &v : NULL);
    return CTN_OK;
}

/// What the books of a tree that touches have no derivatives of by alpha, or by several stages (held_unbooked()); NULL: none of it.
static const char *not_booked(const ctn_model *m, const ctn_batch_config *cfg)
{
    const bool alpha = cfg->method == CTN_ALPHA;
    if (!m->ncontact || !(alpha || (cfg->method == CTN_RADAU && cfg->stages > 1))) return NULL;
    if (alpha && m->nmotor) return "motors";
    for (int k = 0; k < m->nmotor; k++) {
        const bool ball = m->bodies[m->motors[k].body].kind == JOINT_BALL;
        if (ball || m->motors[k].wound >= 0) return ball ? "motors on balls" : "integral terms (ki) of motors";
    }
    for (int k = 0; k < m->nload; k++)
        if (!(m->loads[k].flags & LOAD_TOUCHES)) return "springs, forces and fluids on links";
    return NULL;
}

static ctn_status lost_way(const ctn_tape *tape, int p, ctn_error *err)
{
    if (tape->model->npair)
        return fail(err, CTN_UNAVAILABLE,
                    "step %d: it has no derivative: links land in it faster than its first guess may lead, it had too many solves, or "
                    "its solution was not found again: take a smaller dt",
                    tape->parts[p].step);
    const char *const other = not_booked(tape->model, &tape->cfg);
    if (other)
        return fail(err, CTN_UNAVAILABLE,
                    "step %d: its solution was not found again; it may have been held to its energy, which has no derivatives in this version "
                    "with %s in the scene: take a smaller dt",
                    tape->parts[p].step, other);
    return fail(err, CTN_UNAVAILABLE, "step %d: its solution was not found again, so it has no derivative: take a smaller dt",
                tape->parts[p].step);
}

static void add_numbers(double *to, const double *by, size_t n)
{
    for (size_t k = 0; k < n && to; k++) to[k] += by[k];
}

/// One row backwards through the part that was prepared: row [bar] in place; tau_bar [nv], u_bar [ncontrol] and c_bar
/// [CONTACT_GRADIENTS(ncontact)] (may be NULL) added to.
static void pull(ctn_tape *tape, double *row, double *tau_bar, double *u_bar, double *c_bar)
{
    const double *after = tape->g[1];
    memcpy(tape->g[1], row, tape->bar * sizeof *row);
    if (tape->linked) tape->along->pull(tape->world, tape->pool, after, row, tape->t);
    else
        tape->engine->adjoint_step(tape->lanes, &tape->cfg, tape->adjoint, 1, &after, &row, &tape->t, u_bar ? &tape->u : NULL,
                                   c_bar ? &tape->c : NULL);
    add_numbers(tau_bar, tape->t, (size_t)tape->model->nv), add_numbers(u_bar, tape->u, (size_t)tape->model->ncontrol);
    add_numbers(c_bar, tape->c, CONTACT_GRADIENTS(tape->model->ncontact));
}

/// Gradient `state` [bar] by the state at the end of part p-1, from those by its q and v.
static void output(ctn_tape *tape, int p, const double *q_bar, const double *v_bar, double *state)
{
    const double *at = state_at(tape, p);
    tape->engine->adjoint_output(tape->lanes, &tape->cfg, tape->adjoint, 1, &at, &q_bar, &v_bar, &state);
}

static void start(ctn_tape *tape, const double *state, double *q_bar, double *v_bar, double *c_bar)
{
    const double *at = tape->states, *v = tape->v0;
    tape->engine->adjoint_start(tape->lanes, &tape->cfg, tape->adjoint, 1, &at, &v, &state, &q_bar, &v_bar,
                                c_bar ? &tape->c : NULL);
    add_numbers(c_bar, tape->c, CONTACT_GRADIENTS(tape->model->ncontact));
}

ctn_status ctn_tape_gradient(ctn_tape *tape, const double *dq, const double *dv, double *grad_q, double *grad_v, double *grad_tau,
                             ctn_error *err)
{
    return ctn_tape_target_gradient(tape, dq, dv, grad_q, grad_v, grad_tau, NULL, err);
}

/// Backwards through the whole run. by_contact [CONTACT_GRADIENTS(ncontact)]; each gradient may be NULL.
static ctn_status go_back(ctn_tape *tape, const double *dq, const double *dv, double *grad_q, double *grad_v, double *grad_tau,
                          double *grad_u, double *by_contact, ctn_error *err)
{
    const size_t nv = (size_t)tape->model->nv, nu = (size_t)tape->model->ncontrol;
    double *g = tape->g[0];
    memset(g, 0, tape->bar * sizeof *g);
    if (grad_tau) memset(grad_tau, 0, (size_t)tape->steps * nv * sizeof *grad_tau);
    if (grad_u) memset(grad_u, 0, (size_t)tape->steps * nu * sizeof *grad_u);
    if (by_contact) memset(by_contact, 0, CONTACT_GRADIENTS(tape->model->ncontact) * sizeof *by_contact);
    for (int k = tape->steps; k > 0; k--) {
        bool any = false;
        for (size_t j = 0; j < nv; j++) {
            tape->row[j] = dq ? dq[(size_t)k * nv + j] : 0, tape->row[nv + j] = dv ? dv[(size_t)k * nv + j] : 0;
            any = any || tape->row[j] != 0 || tape->row[nv + j] != 0;
        }
        if (any) {
            output(tape, tape->first[k], tape->row, tape->row + nv, tape->g[1]);
            for (size_t j = 0; j < tape->bar; j++) g[j] += tape->g[1][j];
        }
        for (int p = tape->first[k] - 1; p >= tape->first[k - 1]; p--) {
            if (prepare(tape, p, grad_u) < 0) return lost_way(tape, p, err);
            pull(tape, g, grad_tau ? grad_tau + (size_t)(k - 1) * nv : NULL, grad_u ? grad_u + (size_t)(k - 1) * nu : NULL,
                 by_contact);
        }
    }
    start(tape, g, tape->row, tape->row + nv, by_contact);
    for (size_t j = 0; j < nv; j++) {
        if (grad_q) grad_q[j] = tape->row[j] + (dq ? dq[j] : 0);
        if (grad_v) grad_v[j] = tape->row[nv + j] + (dv ? dv[j] : 0);
    }
    return CTN_OK;
}

ctn_status ctn_tape_target_gradient(ctn_tape *tape, const double *dq, const double *dv, double *grad_q, double *grad_v,
                                    double *grad_tau, double *grad_u, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err) || check_step(tape, 0, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    return go_back(tape, dq, dv, grad_q, grad_v, grad_tau, grad_u, NULL, err);
}

/// Whether the tape's model has these parameters, and gradients by them.
static ctn_status check_parameters(const ctn_tape *tape, const ctn_parameter *list, int count, ctn_error *err)
{
    if (count < 0) return fail(err, CTN_BAD_ARGUMENT, "count: expected 0 or more, found %d", count);
    if (count && missing("ctn_tape_parameter_gradient", "list", list, err)) return CTN_BAD_ARGUMENT;
    parameters *const p = parameters_create(tape->model, list, count, err);
    if (!p) return CTN_BAD_ARGUMENT;
    parameters_free(p);
    for (int k = 0; k < count; k++)
        if (!parameter_of_contact(list[k].kind) && !parameter_of_pairs(list[k].kind))
            return fail(err, CTN_UNAVAILABLE,
                        "parameters: there are no gradients by %s in this version; there are by ground_friction, ground_depth, "
                        "contact_friction, pair_friction_scale and pair_depth_scale, by targets of motors "
                        "(ctn_tape_target_gradient) and by joint forces",
                        ctn_parameter_name(list[k].kind));
    return CTN_OK;
}

ctn_status ctn_tape_parameter_gradient(ctn_tape *tape, const double *dq, const double *dv, const ctn_parameter *list, int count,
                                       double *grad, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err) || check_step(tape, 0, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    ctn_status status = check_parameters(tape, list, count, err);
    if (status != CTN_OK || !count) return status;
    if (missing(__func__, "grad", grad, err)) return CTN_BAD_ARGUMENT;
    double *const by_contact = numbers(CONTACT_GRADIENTS(tape->model->ncontact));
    if (!by_contact) return fail(err, CTN_NO_MEMORY, "not enough memory for gradients by contact points");
    status = go_back(tape, dq, dv, NULL, NULL, NULL, NULL, by_contact, err);
    if (status == CTN_OK) contact_gradients(tape->model, list, count, by_contact, grad);
    free(by_contact);
    return status;
}

ctn_status ctn_step_jacobian(ctn_tape *tape, int step, double *A, double *B, ctn_error *err)
{
    return ctn_step_target_jacobian(tape, step, A, B, NULL, err);
}

ctn_status ctn_step_target_jacobian(ctn_tape *tape, int step, double *A, double *B, double *U, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err) || check_step(tape, step, tape->steps - 1, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    const size_t n = tape->bar, nv = (size_t)tape->model->nv, nu = (size_t)tape->model->ncontrol;
    double *own = A ? NULL : numbers(n * n), *rows = A ? A : own;  // all rows go backwards together, part by part
    if (!rows) return fail(err, CTN_NO_MEMORY, "not enough memory for a Jacobian of %zu row%s", n, plural((long long)n));
    for (size_t k = 0; k < n * n; k++) rows[k] = k % (n + 1) == 0;
    if (B) memset(B, 0, n * nv * sizeof *B);
    if (U) memset(U, 0, n * nu * sizeof *U);
    ctn_status status = CTN_OK;
    for (int p = tape->first[step + 1] - 1; p >= tape->first[step] && status == CTN_OK; p--) {
        if (prepare(tape, p, U) < 0) status = lost_way(tape, p, err);
        for (size_t i = 0; i < n && status == CTN_OK; i++)
            pull(tape, rows + i * n, B ? B + i * nv : NULL, U ? U + i * nu : NULL, NULL);
    }
    free(own);
    return status;
}

ctn_status ctn_start_jacobian(ctn_tape *tape, double *S, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err) || check_step(tape, 0, 0, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    if (tape->bar && missing(__func__, "S", S, err)) return CTN_BAD_ARGUMENT;
    const size_t nv = (size_t)tape->model->nv;
    for (size_t i = 0; i < tape->bar; i++) {
        memset(tape->g[0], 0, tape->bar * sizeof(double));
        tape->g[0][i] = 1;
        start(tape, tape->g[0], S + i * 2 * nv, S + i * 2 * nv + nv, NULL);
    }
    return CTN_OK;
}

ctn_status ctn_output_jacobian(ctn_tape *tape, int step, double *C, ctn_error *err)
{
    if (missing(__func__, "tape", tape, err) || check_step(tape, step, tape->steps, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    if (tape->bar && missing(__func__, "C", C, err)) return CTN_BAD_ARGUMENT;
    const size_t nv = (size_t)tape->model->nv;
    for (size_t i = 0; i < 2 * nv; i++) {
        memset(tape->row, 0, 2 * nv * sizeof(double));
        tape->row[i] = 1;
        output(tape, tape->first[step], tape->row, tape->row + nv, C + i * tape->bar);
    }
    return CTN_OK;
}
