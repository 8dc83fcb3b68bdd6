/// From what is asked for to a file: the driver of rollouts. Blocks of worlds are made one after the other and written as they
/// come.
#include "sim/runs/rollout.h"

#include "sim/base/clock.h"
#include "sim/base/printable.h"
#include "sim/base/status.h"
#include "sim/record/record.h"
#include "sim/runs/blocks.h"
#include "sim/runs/braking.h"
#include "sim/runs/inputs.h"
#include "sim/scene/scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COOKIE 0xca7e4a03u
#define MOST_STEPS 9000000000000000L  // whole numbers of a double

/// Whether the method brakes them is looked at of the first worlds, by some of their states, if so many are kept.
enum { LOOKED_AT = 8, LEAST_STATES = 8, MOST_STATES = 16 };

/// Whose fault an error is: the larger the worse.
enum { NO_FAULT, FAULT_OF_RUN, FAULT_OF_INPUT };

typedef struct rollout {
    const char *out;
    const ctn_scene *scene;
    const ctn_model *model;
    const ctn_rollout_config *cfg;
    ranks alone, *ranks;  // the processes that make the worlds
    blocks blocks;        // those of this one
    char *path;           // where they go: `out`, or a file of this rank's own
    trajectories *file;
    freezes *freezes;  // NULL: none
    trajectories_done before;
    tally own, sum;  // what is done here, and by all
    double wall;     // s

    // what the method takes from the motion
    braking *braking;               // of the world in hand; NULL: no world is looked at
    int looked, braked;             // worlds
    char first[64 + BRAKING_TEXT];  // of the first of these: what to warn of
} rollout;

// ---- errors

/// Adds a line to what `err` says.
__attribute__((format(printf, 2, 3))) static void add_line(ctn_error *err, const char *format, ...)
{
    char text[sizeof err->message];
    const size_t used = strlen(err->message);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_printable(text);
    snprintf(err->message + used, sizeof err->message - used, "%s%s", used ? "\n" : "", text);
    err->count = used ? err->count + 1 : 1, err->placed = 0;
}

/// Says first whose error it is.
static void name_rank(const ranks *ranks, ctn_error *err)
{
    char text[sizeof err->message];
    if (!*err->message) return;
    memcpy(text, err->message, sizeof text);
    snprintf(err->message, sizeof err->message, "rank %d: %.*s", ranks->rank, (int)sizeof err->message - 20, text);
}

static int fault_of_input(ctn_status status)
{
    return status == CTN_OK ? NO_FAULT : status == CTN_NO_MEMORY ? FAULT_OF_RUN : FAULT_OF_INPUT;
}

/// Of a call that sets or steps worlds: an engine may fail, as a GPU may.
static int fault_of_engine(ctn_status status) { return status == CTN_UNAVAILABLE ? FAULT_OF_RUN : fault_of_input(status); }

/// Of a call that opens the file that is written.
static int fault_of_file(ctn_status status) { return status == CTN_IO ? FAULT_OF_RUN : fault_of_input(status); }

// ---- before the first world

static trajectories_head head_of(const rollout *r)
{
    trajectories_head head = blocks_head(&r->blocks, r->cfg->command);
    head.rank = r->ranks->rank, head.ranks = r->ranks->count;
    return head;
}

/// An input may not be a file that is written, by this process or another one.
static ctn_status check_inputs(const rollout *r, ctn_error *err)
{
    const ctn_rollout_config *const cfg = r->cfg;
    const int files = r->ranks->count > 1 ? r->ranks->count : 0;
    ctn_status status = CTN_OK;
    for (int k = -1; k < files && status == CTN_OK; k++) {
        char *const path = k < 0 ? strdup(r->out) : trajectories_path(r->out, k);
        if (!path) return fail(err, CTN_NO_MEMORY, "not enough memory");
        status = inputs_check_scene("--out", path, r->scene, err);
        if (status == CTN_OK) status = inputs_check("--out", path, cfg->starts, "the file of --starts", err);
        if (status == CTN_OK) status = inputs_check("--out", path, cfg->controls, "the file of --controls", err);
        free(path);
    }
    return status;
}

/// Opens the files of initial states and of joint forces; they say how many worlds there are if nothing else does.
static ctn_status open_inputs(rollout *r, ctn_error *err)
{
    const ctn_rollout_config *const cfg = r->cfg;
    blocks *const b = &r->blocks;
    int64_t worlds = cfg->worlds;
    const ctn_status status = check_inputs(r, err);
    if (status != CTN_OK) return status;
    if (cfg->starts && !(b->starts = starts_open(cfg->starts, r->model, &worlds, err))) return err->status;
    if (cfg->controls && !(b->controls = controls_open(cfg->controls, r->model, &worlds, cfg->steps, err))) return err->status;
    b->all = worlds ? (long)worlds : cfg->batch.worlds;
    if (b->all < 1) return fail(err, CTN_BAD_CONFIG, "--worlds: expected 1 or more, found %ld", b->all);
    if (b->controls && ctn_scene_has_force(r->scene))
        return fail(err, CTN_BAD_ARGUMENT,
                    "--controls: the scene draws joint forces too, by `force` of its `sample`; leave one of them out");
    return CTN_OK;
}

/// What is asked for by itself.
static ctn_status check_config(const rollout *r, ctn_error *err)
{
    const ctn_rollout_config *const cfg = r->cfg;
    if (cfg->cookie != COOKIE)
        return fail(err, CTN_BAD_CONFIG, "the configuration was not initialised; start from ctn_rollout_config_default()");
    if (!named_hdf5(r->out)) return fail(err, CTN_BAD_ARGUMENT, "--out: a rollout ends in .h5 or .hdf5, found %s", r->out);
    if (cfg->worlds < 0) return fail(err, CTN_BAD_CONFIG, "--worlds: expected 0 or more, found %ld", cfg->worlds);
    if (cfg->steps < 0 || cfg->steps > MOST_STEPS)
        return fail(err, CTN_BAD_CONFIG, "--steps: expected 0 to %ld, found %ld", MOST_STEPS, cfg->steps);
    if (cfg->stride < 1 || cfg->stride > MOST_STEPS)
        return fail(err, CTN_BAD_CONFIG, "--stride: expected 1 to %ld, found %ld", MOST_STEPS, cfg->stride);
    return CTN_OK;
}

__attribute__((format(printf, 2, 3))) static void warn(const rollout *r, const char *format, ...)
{
    char text[8192];
    va_list args;
    if (!r->cfg->warn || r->ranks->rank) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_printable(text);
    r->cfg->warn(r->cfg->context, text);
}

static void warn_of_worlds(const rollout *r)
{
    const blocks *const b = &r->blocks;
    const int64_t points = ctn_scene_grid(b->scene);
    if (!ctn_scene_is_sampled(b->scene) && !b->starts)
        warn(r, "%s has no `sample:` section: all worlds start from the same state", b->path);
    if (b->all % points)
        warn(r, "the grids of %s have %lld point%s: %ld world%s not end with the last of them", b->path, (long long)points,
             plural(points), b->all, b->all == 1 ? " does" : "s do");
}

/// Tells the others how far this process is. Returns whether all have ended.
static bool share(rollout *r)
{
    const blocks *const b = &r->blocks;
    r->own.frozen = b->frozen, r->own.fallen = b->fallen, r->own.occupancy = b->occupancy, r->own.calls = b->calls;
    return r->ranks->share(r->ranks, &r->own, &r->sum);
}

/// Whether a process has failed, as far as is known here.
static bool is_in_vain(void *context)
{
    rollout *const r = context;
    share(r);
    return r->sum.fault != NO_FAULT;
}

static ctn_status open_blocks(rollout *r, ctn_error *err)
{
    const ctn_rollout_config *const cfg = r->cfg;
    blocks *const b = &r->blocks;
    ctn_error why;
    ctn_status status = check_config(r, err);
    if (status != CTN_OK) return status;
    *b = (blocks){.scene = r->scene,
                  .model = r->model,
                  .path = r->scene->files[0].path,
                  .cfg = cfg->batch,
                  .seed = cfg->seed,
                  .steps = cfg->steps,
                  .stride = cfg->stride,
                  .keep = KEEP_Q | KEEP_V,
                  .hashes = cfg->hashes,
                  .stop = is_in_vain,
                  .context = r};
    r->path = r->ranks->count > 1 ? trajectories_path(r->out, r->ranks->rank) : strdup(r->out);
    if (!r->path) return fail(err, CTN_NO_MEMORY, "not enough memory");
    if (cfg->keep && (status = keep_from_text(cfg->keep, &b->keep, &why)) != CTN_OK)
        return fail(err, CTN_BAD_CONFIG, "--keep: %s", why.message);
    if (b->keep & KEEP_SENSORS && !ctn_model_nsensor(b->model))
        return fail(err, CTN_BAD_CONFIG, "--keep: the scene has no sensors; give it `sensors`, or leave sensors out");
    if (b->keep & KEEP_CONTACTS && !ctn_model_ncontact(b->model))
        return fail(err, CTN_BAD_CONFIG,
                    "--keep: the scene has no contact points; give it a `ground` and links that touch it, or let links touch each other, or leave contacts out");
    if ((status = open_inputs(r, err)) != CTN_OK) return status;
    const int count = r->ranks->count;
    if (count > b->all)
        return fail(err, CTN_BAD_ARGUMENT, "--worlds: %ld world%s too few for %d processes; let mpirun start fewer", b->all,
                    b->all == 1 ? " is" : "s are", count);
    b->first = trajectories_first(b->all, r->ranks->rank, count), b->end = trajectories_first(b->all, r->ranks->rank + 1, count);
    warn_of_worlds(r);
    return blocks_open(b, err);
}

static ctn_status open_file(rollout *r, ctn_error *err)
{
    const ctn_rollout_config *const cfg = r->cfg;
    const trajectories_head head = head_of(r);
    if (cfg->save_freeze && !(r->freezes = freezes_open(cfg->save_freeze, r->scene, cfg->command, r->blocks.controls, err)))
        return err->status;
    r->blocks.freezes = r->freezes;
    if (cfg->resume && r->ranks->count > 1 && !access(r->out, F_OK)) {
        const ctn_status status = trajectories_check_joined(r->out, err);
        if (status != CTN_OK) return status;
    }
    if (cfg->resume && !access(r->path, F_OK)) r->file = trajectories_resume(r->path, &head, &r->before, err);
    else r->file = trajectories_create(r->path, &head, err);
    return r->file ? CTN_OK : err->status;
}

/// Everything before the first world. Returns a fault.
static int open_rollout(rollout *r, ctn_error *err)
{
    blocks *const b = &r->blocks;
    int fault = fault_of_input(open_blocks(r, err));
    if (fault == NO_FAULT) fault = fault_of_file(open_file(r, err));
    const bool looks = r->cfg->warn && !r->ranks->rank && b->times >= LEAST_STATES && !(~b->keep & (KEEP_Q | KEEP_V));
    if (fault == NO_FAULT && looks && !(r->braking = braking_open(b->model, MOST_STATES)))
        fault = fault_of_input(fail(err, CTN_NO_MEMORY, "not enough memory"));
    b->done = b->first + (long)r->before.count;
    b->frozen = (long)r->before.frozen, b->fallen = (long)r->before.fallen;
    r->own = (tally){.done = (long)r->before.count, .before = (long)r->before.count, .frozen = b->frozen, .fallen = b->fallen};
    if (fault != NO_FAULT && r->ranks->rank) name_rank(r->ranks, err);
    return fault;
}

/// Opens what is this rank's, and the file over those of all. Returns the worst fault of all.
static int open_all(rollout *r, ctn_error *err)
{
    int fault = NO_FAULT;
    for (int turn = 0; turn < 2 && fault == NO_FAULT; turn++) {  // rank 0 first: what is wrong for all is said once
        if (turn == (r->ranks->rank > 0)) fault = open_rollout(r, err);
        fault = r->ranks->worst(r->ranks, fault);
    }
    if (fault != NO_FAULT) return fault;
    if (r->ranks->count > 1 && !r->ranks->rank) {
        const trajectories_head head = head_of(r);
        fault = fault_of_file(trajectories_join(r->out, &head, err));
    }
    return r->ranks->worst(r->ranks, fault);
}

// ---- the worlds

/// Whether the method brakes world w of the block: of what is kept of it, evenly, as much as there is room for. false: no memory.
static bool look_at(rollout *r, ctn_dynamics *dyn, int w)
{
    const blocks *const b = &r->blocks;
    const long world = (long)w * b->times, last = b->times - 1, most = braking_room(r->braking) - 1,
               parts = last < most ? last : most;
    char text[BRAKING_TEXT];
    bool braked;
    braking_begin(r->braking);
    for (long k = 0; k <= parts; k++) {
        const size_t state = (size_t)(world + k * last / parts);
        const double *const q = b->states[0] + state * b->now.list[0].width;
        const double *const v = b->states[1] + state * b->now.list[1].width;
        ctn_totals now;
        ctn_energy_momentum(dyn, 1, q, v, &now);
        braking_note(r->braking, q, v, now.kinetic);
    }
    if (!braking_found(r->braking, &b->cfg, &b->total[w], ctn_batch_time(b->batch, w), &braked, r->braked ? NULL : text))
        return false;
    if (braked && !r->braked) snprintf(r->first, sizeof r->first, "of world %ld: %s", b->done + w, text);
    r->looked++, r->braked += braked;
    return true;
}

/// Looks at the first worlds that are made here.
static ctn_status look_at_first(rollout *r, int count, ctn_error *err)
{
    if (!r->braking || r->looked == LOOKED_AT) return CTN_OK;
    ctn_dynamics *const dyn = ctn_dynamics_create(r->blocks.model, "scalar", err);
    bool room = dyn != NULL;
    for (int w = 0; w < count && r->looked < LOOKED_AT && room; w++) room = look_at(r, dyn, w);
    ctn_dynamics_free(dyn);
    return room ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory");
}

/// Makes the next block and writes it. Returns a fault; `whole` becomes false if it was ended early.
static int make_block(rollout *r, bool *whole, ctn_error *err)
{
    blocks *const b = &r->blocks;
    int count;
    ctn_status status = blocks_next(b, &count, err);
    if (status != CTN_OK) return fault_of_input(status);
    status = blocks_make(b, count, err);
    if (!(*whole = status != CTN_INTERRUPTED)) {
        *err = (ctn_error){0};  // it is told of all processes, in the end
        return NO_FAULT;
    }
    if (status != CTN_OK) return b->unsaved ? FAULT_OF_RUN : fault_of_engine(status);
    if (trajectories_put(r->file, b->done, count, b->states, b->hash, b->total, err) != CTN_OK) return FAULT_OF_RUN;
    status = look_at_first(r, count, err);
    b->done += count, r->own.done += count;
    return fault_of_input(status);
}

static void show(const rollout *r)
{
    if (r->cfg->progress) r->cfg->progress(r->cfg->context, r->sum.done, r->blocks.all);
}

/// Makes what is this rank's, and waits for the others. Every process knows at the end what has become of all.
static void make_all(rollout *r, ctn_error *err)
{
    blocks *const b = &r->blocks;
    const volatile int *const interrupt = b->cfg.interrupt;
    ctn_error close;
    int fault = NO_FAULT;
    bool whole = true;
    share(r), show(r);
    const double start = clock_now();
    while (b->done < b->end && fault == NO_FAULT && whole) {
        fault = make_block(r, &whole, err);
        if (fault == NO_FAULT && whole) share(r), show(r);
    }
    const ctn_status closed = trajectories_close(r->file, &close);
    r->file = NULL;
    if (closed != CTN_OK && fault == NO_FAULT) *err = close, fault = FAULT_OF_RUN;
    if (r->ranks->count > 1) name_rank(r->ranks, err);
    r->own.interrupted = b->done < b->end && interrupt && *interrupt, r->own.ended = 1;
    r->own.fault = r->own.interrupted ? FAULT_OF_RUN : fault;
    while (!share(r)) show(r);
    r->wall = clock_now() - start;
}

// ---- after the last one

static void report_of(const rollout *r, ctn_rollout_report *report)
{
    const blocks *const b = &r->blocks;
    const tally *const t = &r->sum;
    *report = (ctn_rollout_report){
        .begun = true,
        .refused = t->fault == FAULT_OF_INPUT && !t->frozen && !t->interrupted,
        .worlds = b->all,
        .done = t->done,
        .before = t->before,
        .frozen = t->frozen,
        .with_fallbacks = t->fallen,
        .interrupted = (int)t->interrupted,
        .processes = r->ranks->count,
        .block = b->block,
        .threads = b->threads,
        .engine = b->engine,
        .parallel = b->batch ? ctn_batch_configuration(b->batch)->parallel : CTN_PARALLEL_WORLDS,
        .lanes = ctn_batch_lanes(b->batch),
        .states = b->times,
        .step_bytes = b->bytes,
        .kept_bytes = (double)b->times * (double)quantities_width(b->model, b->keep) * sizeof(double),
        .wall = r->wall,
        .occupancy = t->calls ? t->occupancy / (double)t->calls : (double)NAN,
    };
}

/// What became of all worlds, which rank 0 says for all processes. `err` has the error of this one, if there is one.
static ctn_status outcome(const rollout *r, ctn_error *err)
{
    const blocks *const b = &r->blocks;
    const tally *const t = &r->sum;
    const char *const out = r->out;
    const bool failed = *err->message != 0;
    char why[512];
    if (!r->ranks->rank) {
        if (b->fall.frozen)
            add_line(err, "world %ld is frozen at %.9g s: %s", b->fell, b->fall.frozen_time,
                     ctn_freeze_report(b->model, &b->cfg, &b->fall, why, sizeof why));
        if (t->frozen)
            add_line(err, "%ld of %ld world%s %s frozen; `status` in %s says which, and why", t->frozen, t->done, plural(t->done),
                     t->frozen == 1 ? "is" : "are", out);
        if (b->fall.frozen && r->freezes)
            add_line(err, "the last steps of worlds that froze are in %s; 'catena replay' makes them again", r->cfg->save_freeze);
        if (t->interrupted)
            add_line(err, "interrupted after %ld of %ld world%s; the file has %s", t->done, b->all, plural(b->all),
                     t->done ? "these" : "none");
    }
    if (r->braked) warn(r, "the method brakes %d of the first %d worlds made; %s", r->braked, r->looked, r->first);
    if (!failed) err->status = t->fault ? CTN_INTERRUPTED : t->frozen ? CTN_FROZEN : CTN_OK;
    return err->status;
}

static void close_rollout(rollout *r)
{
    trajectories_close(r->file, NULL);
    freezes_close(r->freezes);
    braking_close(r->braking);
    blocks_close(&r->blocks);
    free(r->path);
}

ctn_status rollout_make(const char *path, const ctn_scene *scene, const ctn_model *model, const ctn_rollout_config *cfg,
                        ranks *all, ctn_rollout_report *report, ctn_error *err)
{
    rollout r = {.out = path, .scene = scene, .model = model, .cfg = cfg, .alone = ranks_alone()};
    ctn_rollout_report unread;
    ctn_error why = {0};
    r.ranks = all ? all : &r.alone;
    if (!report) report = &unread;
    const int fault = open_all(&r, &why);
    ctn_status status;
    if (fault == NO_FAULT) {
        make_all(&r, &why);
        report_of(&r, report);
        status = outcome(&r, &why);
    } else {
        *report = (ctn_rollout_report){.refused = fault == FAULT_OF_INPUT};
        status = why.status = *why.message ? why.status : CTN_INTERRUPTED;
    }
    close_rollout(&r);
    if (status != CTN_OK && err) *err = why;
    return status;
}

ctn_rollout_config ctn_rollout_config_default(const ctn_scene *scene)
{
    if (!scene) return (ctn_rollout_config){0};
    return (ctn_rollout_config){.cookie = COOKIE, .batch = ctn_scene_config(scene), .stride = 1, .seed = ctn_scene_seed(scene)};
}

ctn_status ctn_rollout(const char *path, const ctn_scene *scene, const ctn_model *model, const ctn_rollout_config *cfg,
                       ctn_rollout_report *report, ctn_error *err)
{
    if (report) *report = (ctn_rollout_report){.refused = true};
    if (missing(__func__, "path", path, err) || missing(__func__, "scene", scene, err) ||
        missing(__func__, "model", model, err) || missing(__func__, "cfg", cfg, err))
        return CTN_BAD_ARGUMENT;
    return rollout_make(path, scene, model, cfg, NULL, report, err);
}
