/// Two states that are known, and what lies between: dense output of the step in hand, or cubic polynomials.
#include "cli/pictures/frames.h"

#include "cli/base/message.h"
#include "render/draw/interpolation.h"
#include "render/draw/poses.h"
#include "sim/batch/batch.h"
#include "sim/engine/device.h"
#include "sim/base/status.h"

#include <catena/contact.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t nq_of(const frames *f) { return (size_t)ctn_model_nq(f->s.model); }
static size_t nv_of(const frames *f) { return (size_t)ctn_model_nv(f->s.model); }

static int open_states(frames *f)
{
    double **const rows[] = {&f->q, &f->q0, &f->q1, &f->v, &f->v0, &f->v1};
    const size_t n = (size_t)f->worlds;
    bool ok = (f->frozen = calloc(n, sizeof *f->frozen)) && (f->stats = calloc(n, sizeof *f->stats)) &&
              (f->time = calloc(n, sizeof *f->time));
    for (int k = 0; k < 6; k++) ok = (*rows[k] = calloc(n * (k < 3 ? nq_of(f) : nv_of(f)) + 1, sizeof **rows[k])) && ok;
    return ok ? EXIT_OK : run_error("not enough memory for %d world%s", f->worlds, plural(f->worlds));
}

static void swap(frames *f)
{
    double *const q = f->q0, *const v = f->v0;
    f->q0 = f->q1, f->v0 = f->v1, f->q1 = q, f->v1 = v, f->t0 = f->t1;
}

static void freeze(frames *f, int world)
{
    if (!f->frozen[world]) f->frozen[world] = true, f->frozen_count++;
}

/// The masses that worlds have of their own, if these are drawn.
static int find_masses(frames *f)
{
    f->own = ctn_scene_parameters(f->s.scene, f->s.model, NULL) > 0;
    return drawn_masses(f->s.scene, f->s.model, f->seed, f->first, f->worlds, f->all, &f->mass_scale)
               ? EXIT_OK
               : run_error("not enough memory for %d world%s", f->worlds, plural(f->worlds));
}

/// How many worlds --worlds asks for, of `all` if it is that word; 0: it is not given. Returns an exit status.
static int read_worlds(const arguments *args, long all, long *worlds)
{
    const char *const text = args->value[OPT_WORLDS];
    *worlds = 0;
    if (!text) return EXIT_OK;
    if (strcmp(text, "all") == 0) *worlds = all;
    else if (!isdigit((unsigned char)*text))
        return usage_error("--worlds: expected a whole number, 1 or more, or all, found '%s'", text);
    else if (!whole_option(args, OPT_WORLDS, 1, 2147483647, worlds)) return EXIT_USAGE;
    return EXIT_OK;
}

// ---- a scene

/// Puts the worlds that --worlds asks for to where the scene's `sample` section draws them.
static int draw_worlds(const arguments *args, frames *f)
{
    ctn_error err;
    if (!ctn_scene_is_sampled(f->s.scene) && f->worlds > 1 && !args->value[OPT_QUIET])
        warning("%s has no `sample:` section: all worlds start from the same state", f->s.path);
    if (sampled_worlds_open(&f->drawn, f->s.scene, f->s.model, f->s.path, f->worlds, &f->s.cfg, &err) != CTN_OK)
        return status_error(&err, "");
    const int status = find_masses(f);
    if (status != EXIT_OK) return status;
    if (!(f->batch = ctn_batch_create(f->s.model, &f->s.cfg, &err))) return status_error(&err, "");
    const ctn_status started = sampled_worlds_start(&f->drawn, f->seed, f->all, f->first, f->worlds, NULL, f->batch, &err);
    return started == CTN_OK ? EXIT_OK : engine_error(&err);
}

static int open_scene(const arguments *args, frames *f)
{
    ctn_error err;
    arguments own = *args;
    own.value[OPT_WORLDS] = NULL;  // it may be a word
    int status = setup_open_to_step(&own, &f->s);
    if (status != EXIT_OK) return status;
    const int64_t grid = ctn_scene_grid(f->s.scene);
    long worlds, seed = (long)ctn_scene_seed(f->s.scene);
    if ((status = read_worlds(args, grid <= 2147483647 ? (long)grid : 2147483647, &worlds)) != EXIT_OK) return status;
    if (!whole_option(args, OPT_SEED, 0, 9007199254740992, &seed)) return EXIT_USAGE;
    if (worlds == 1 && !isdigit((unsigned char)*args->value[OPT_WORLDS]))
        return usage_error("--worlds: %s has no grids in a `sample` section that say how many are all; give a number", f->s.path);
    if (!worlds && args->value[OPT_SEED]) return usage_error("--seed is for the worlds that --worlds draws");
    f->end = ctn_scene_duration(f->s.scene), f->seed = (uint64_t)seed;
    f->all = f->worlds = f->s.cfg.worlds = worlds ? (int)worlds : 1;
    f->s.cfg.dense = !f->s.cfg.adaptive && f->s.cfg.method != CTN_VARIATIONAL && !device_asked(f->s.cfg.engine);
    if (worlds) status = draw_worlds(args, f);
    else if (!(f->batch = ctn_batch_create(f->s.model, &f->s.cfg, &err))) status = status_error(&err, "");
    if (status != EXIT_OK || (status = open_states(f)) != EXIT_OK) return status;
    ctn_batch_state(f->batch, f->q1, f->v1);
    return EXIT_OK;
}

static ctn_status step(frames *f, ctn_error *err)
{
    swap(f);
    const ctn_status status = ctn_batch_step(f->batch, 1, f->stats, err);
    for (int w = 0; w < f->worlds && status == CTN_FROZEN; w++)
        if (f->stats[w].frozen != CTN_RUNNING) freeze(f, w);
    for (int w = f->worlds - 1; w >= 0; w--)
        if (!f->frozen[w]) f->t1 = ctn_batch_time(f->batch, w);
    ctn_batch_state(f->batch, f->q1, f->v1);
    const bool lasting = status == CTN_FROZEN && f->frozen_count < f->worlds;
    return lasting ? CTN_OK : status;
}

// ---- a recording

/// Record k, into q1 and v1. A world without a state there stays where it was.
static ctn_status read_record(frames *f, int64_t k, ctn_error *err)
{
    const size_t nq = nq_of(f), nv = nv_of(f);
    const ctn_status status = recorded_states_read(&f->states, k, f->q1, f->v1, err);
    if (status != CTN_OK) return status;
    f->t1 = f->states.times[k];
    int gone = 0;
    for (int w = 0; w < f->worlds; w++) {
        double *const q = f->q1 + (size_t)w * nq, *const v = f->v1 + (size_t)w * nv;
        const long world = (long)f->first + w;
        if (recorded_state_stands(q, nq) && recorded_state_stands(v, nv)) continue;
        if (!k && w) return fail(err, CTN_FROZEN, "world %ld has not been run yet; --worlds %d leaves it out", world, w);
        if (!k) return fail(err, CTN_FROZEN, "world %ld has not been run yet; choose another --world", world);
        if (f->worlds == 1) return fail(err, CTN_FROZEN, "world %ld has no state at %g s", world, f->t1);
        freeze(f, w), gone++;
        memcpy(q, f->q0 + (size_t)w * nq, nq * sizeof *q), memcpy(v, f->v0 + (size_t)w * nv, nv * sizeof *v);
    }
    return gone < f->worlds ? CTN_OK : fail(err, CTN_FROZEN, "no world has a state at %g s", f->t1);
}

/// Of all worlds those up to the first that was not run yet.
static int leave_out(const arguments *args, frames *f)
{
    ctn_error err;
    const int64_t records = recorded_count(&f->from, "time");
    if (!records) return EXIT_OK;  // it is said when it is read
    double *const until = malloc((size_t)f->worlds * sizeof *until);
    if (!until) return run_error("not enough memory for %d world%s", f->worlds, plural(f->worlds));
    const ctn_status status = recorded_ends(&f->from, records, f->first, f->worlds, until, NULL, &err);
    const int asked = f->worlds;
    int run = 0;
    while (run < asked && status == CTN_OK && until[run] >= 0) run++;
    free(until);
    if (status != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    if (run == asked || !run) return EXIT_OK;  // of none, too
    if (!args->value[OPT_QUIET])
        warning("%s: worlds from %ld on are left out: that one has not been run yet", args->files[0], (long)f->first + run);
    f->worlds = run;
    return EXIT_OK;
}

/// Which worlds of the file.
static int read_window(const arguments *args, frames *f)
{
    long worlds;
    f->all = f->s.cfg.worlds;
    if (f->first >= f->all)
        return usage_error("--world: %s has %d world%s, from 0 on, found %ld", args->files[0], (int)f->all, plural(f->all),
                           (long)f->first);
    const int status = read_worlds(args, (long)(f->all - f->first), &worlds);
    if (status != EXIT_OK) return status;
    if (worlds > f->all - f->first)
        return usage_error("--worlds: %s has %d world%s from --world %ld on, found %ld", args->files[0], (int)(f->all - f->first),
                           plural(f->all - f->first), (long)f->first, worlds);
    f->worlds = worlds ? (int)worlds : 1;
    return worlds && !isdigit((unsigned char)*args->value[OPT_WORLDS]) ? leave_out(args, f) : EXIT_OK;
}

static int open_recording(const arguments *args, frames *f)
{
    ctn_error err;
    f->recording = true;
    if (refuse_scene_options(args, TAKES(OPT_WORLDS)) != EXIT_OK) return EXIT_USAGE;
    const ctn_status opened = recorded_open(&f->from, args->files[0], &err);
    f->s = (setup){.path = args->files[0], .scene = f->from.scene, .cfg = f->from.cfg};
    if (opened != CTN_OK) return status_error(&err, "");
    if (recorded_check_parts(&f->from, &err) != CTN_OK) return status_error(&err, "");
    if (!(f->s.model = ctn_model_create(f->s.scene, &err))) return status_error(&err, "");
    int status = read_window(args, f);
    if (status != EXIT_OK) return status;
    f->seed = (uint64_t)f->from.seed;
    if (recorded_states_open(&f->states, &f->from, f->s.model, f->first, f->worlds, RECORDED_STATES_MOST, &err) != CTN_OK) {
        status = status_error(&err, "");
        return err.status == CTN_IO ? EXIT_RUN : status;
    }
    if ((status = open_states(f)) != EXIT_OK) return status;
    if (f->from.rollout && (status = find_masses(f)) != EXIT_OK) return status;
    if (read_record(f, 0, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    f->next = 1, f->t0 = f->t1, f->end = f->states.times[f->states.count - 1];
    return EXIT_OK;
}

// ---- either

int frames_open(const arguments *args, frames *f)
{
    *f = (frames){.from = {.file = -1}};
    long world = 0;
    if (!whole_option(args, OPT_WORLD, 0, 2147483647, &world)) return EXIT_USAGE;
    f->first = world;
    const bool recording = named_hdf5(args->files[0]);
    if (refuse_csv(args->files[0]) != EXIT_OK) return EXIT_USAGE;
    if (!recording && args->value[OPT_WORLD])
        return usage_error("--world chooses one of a recording; %s is a scene", args->files[0]);
    return recording ? open_recording(args, f) : open_scene(args, f);
}

void frames_close(frames *f)
{
    ctn_batch_free(f->batch);
    sampled_worlds_close(&f->drawn);
    free(f->q), free(f->v), free(f->q0), free(f->v0), free(f->q1), free(f->v1);
    free(f->frozen), free(f->stats), free(f->time), free(f->mass_scale);
    recorded_states_close(&f->states);
    if (f->recording) recorded_close(&f->from);
    setup_close(&f->s);
}

ctn_status frames_at(frames *f, double t, ctn_error *err)
{
    const double slack = 1e-9 * f->s.cfg.dt;
    while (f->recording && f->next + 1 < f->states.count && f->states.times[f->next] < t - slack &&
           f->states.times[f->next + 1] < t - slack)
        f->next++;  // they need not be read
    while (f->t1 < t - slack) {
        if (f->recording && f->next >= f->states.count)
            return fail(err, CTN_BAD_ARGUMENT, "%s: ends at %g s", f->from.path, f->t1);
        if (f->recording) swap(f);
        const ctn_status status = f->recording ? read_record(f, f->next++, err) : step(f, err);
        if (status != CTN_OK) return status;
    }
    const double h = f->t1 - f->t0, share = h > 0 ? (t - f->t0) / h : 1;
    const size_t nq = nq_of(f), nv = nv_of(f), worlds = (size_t)f->worlds;
    const bool between = share < 1 - 1e-9;
    const bool dense =
        between && f->s.cfg.dense && !f->recording && ctn_batch_dense(f->batch, share, f->q, f->v, f->time, err) == CTN_OK;
    for (size_t w = 0; w < worlds; w++) {
        if (dense && !f->frozen[w] && fabs(f->time[w] - t) <= 1e-6 * h) continue;  // else its step was halved
        double last = f->t1;                                                       // until when it moves
        if (f->recording && f->states.until[w] <= t) freeze(f, (int)w);
        else if (f->recording) last = fmin(last, f->states.until[w]);
        const double span = last - f->t0, s = f->frozen[w] || !between ? 1 : span > 0 ? (t - f->t0) / span : 1;
        interpolate_state(f->s.model, span, f->q0 + w * nq, f->v0 + w * nv, f->q1 + w * nq, f->v1 + w * nv, s, f->q + w * nq,
                          f->v + w * nv);
    }
    return CTN_OK;
}

bool frames_touch(frames *f)
{
    return ctn_model_ncontact(f->s.model) && (!f->recording || recorded_count(&f->from, "contacts") > 0);
}

ctn_status frames_contacts(frames *f, double *contacts, ctn_error *err)
{
    return f->recording ? recorded_states_contacts(&f->states, f->next - 1, contacts, err)
                        : ctn_batch_contacts(f->batch, contacts, err);
}
