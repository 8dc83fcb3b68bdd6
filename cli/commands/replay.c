/// `catena replay`: makes the worlds of a recording again, from nothing but the file, and compares them.
#include "cli/commands/replay.h"
#include "cli/commands/commands.h"
#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "sim/base/clock.h"
#include "sim/record/record.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- differences

/// Makes `d` the place, unless it is an earlier one. Returns whether it is.
static bool note_place(replay *p, difference *d, long world, long step)
{
    p->differs[world] = true;
    if (d->found && (d->step < step || (d->step == step && d->world <= world))) return false;
    *d = (difference){.found = true, .world = world, .step = step};
    return true;
}

void compare_state(replay *p, const quantity *what, long world, long step, const double *was, const double *is)
{
    size_t k = 0;
    if (!memcmp(was, is, what->width * sizeof *was)) return;
    while (!memcmp(&was[k], &is[k], sizeof *was)) k++;
    if (note_place(p, &p->state, world, step))
        p->state.what = what, p->state.entry = k, p->state.was = was[k], p->state.is = is[k];
}

void compare_hash(replay *p, long world, long step, uint64_t was, uint64_t is)
{
    if (was != is && note_place(p, &p->hash, world, step)) p->hash.hash_was = was, p->hash.hash_is = is;
}

void compare_total(replay *p, const char *name, long world, double was, double is)
{
    if (memcmp(&was, &is, sizeof was) && note_place(p, &p->total, world, 0))
        p->total.name = name, p->total.was = was, p->total.is = is;
}

/// The name of a number of a state: "link 'arm': q.arm.1".
static void number_name(const replay *p, const difference *d, char *text, size_t size)
{
    char name[300];
    const char *unit;
    int link;
    if (!state_number(p->b.model, d->what->name, d->entry, name, sizeof name, &unit, &link))
        snprintf(text, size, "%s", d->what->name);
    else if (link < 0) snprintf(text, size, "%s", name);
    else snprintf(text, size, "link '%s': %s", ctn_model_link(p->b.model, link)->name, name);
}

/// Prints where the worlds differ. Returns an exit status.
static int report(const replay *p)
{
    const difference *const h = &p->hash, *const s = &p->state, *const t = &p->total;
    const double dt = p->b.cfg.dt;
    const long before = p->from.first > 0 ? p->from.first : 0;  // steps
    char name[600];
    long count = 0;
    for (long w = 0; w < p->from.cfg.worlds; w++) count += p->differs[w];
    if (p->time_differs) run_error("`time` in the file is not when its states were taken");
    if (!count) return p->time_differs ? EXIT_RUN : EXIT_OK;
    if (h->found)
        run_error("world %ld differs at step %ld (%.9g s): its hash is %016llx in the file and %016llx now", h->world,
                  before + h->step, (double)(before + h->step) * dt, (unsigned long long)h->hash_was,
                  (unsigned long long)h->hash_is);
    if (s->found) {
        number_name(p, s, name, sizeof name);
        run_error("world %ld differs at step %ld (%.9g s), %s is %.17g in the file and %.17g now", s->world, before + s->step,
                  (double)(before + s->step) * dt, name, s->was, s->is);
    } else run_error("all states that the file has are the same");
    if (t->found) run_error("world %ld differs: its `%s` is %.17g in the file and %.17g now", t->world, t->name, t->was, t->is);
    if (p->from.engine && engines_differ(p->from.engine, p->b.engine))
        run_error("the file was made by engine %s, and %s gives other bits; take --engine %s", p->from.engine, p->b.engine,
                  p->from.engine);
    if (strcmp(p->from.version, ctn_version()))
        run_error("the file was made by catena %s, and this is %s", p->from.version, ctn_version());
    return run_error("%ld of %ld world%s differ%s", count, p->worlds, plural(p->worlds), count == 1 ? "s" : "");
}

// ---- rollouts

/// Compares what the file has of each world besides its states, of the worlds that have just been made.
static ctn_status compare_totals(replay *p, int count, ctn_error *err)
{
    const blocks *const b = &p->b;
    ctn_status status = CTN_OK;
    for (int k = 0; k < TRAJECTORIES_TOTALS; k++) {
        const char *name;
        trajectories_total(b->total, k, &name);
        if (!recorded_count(&p->from, name)) continue;
        for (int w = 0; w < count && status == CTN_OK; w++) {
            const double is = trajectories_total(&b->total[w], k, &name);
            double was;
            status = recorded_rows(&p->from, name, H5T_NATIVE_DOUBLE, b->done + w, 1, 1, &was, err);
            if (status == CTN_OK) compare_total(p, name, b->done + w, was, is);
        }
    }
    return status;
}

/// Compares the times of all worlds' states.
static ctn_status compare_times(replay *p, double *row, ctn_error *err)
{
    const blocks *const b = &p->b;
    const trajectories_head head = blocks_head(b, NULL);
    if (!recorded_count(&p->from, "time")) return CTN_OK;
    const ctn_status status = recorded_rows(&p->from, "time", H5T_NATIVE_DOUBLE, 0, b->times, 1, row, err);
    for (int k = 0; k < b->times && status == CTN_OK; k++)
        if (row[k] != (double)trajectories_step(&head, k) * b->cfg.dt) p->time_differs = true;
    return status;
}

/// Compares the worlds that have just been made.
static ctn_status compare_worlds(replay *p, int count, double *row, uint64_t *hashes, ctn_error *err)
{
    blocks *const b = &p->b;
    const trajectories_head head = blocks_head(b, NULL);
    const size_t times = (size_t)b->times, steps = (size_t)b->steps + 1;
    ctn_status status = compare_totals(p, count, err);
    for (int w = 0; w < count; w++) {
        const long world = b->done + w;
        for (int i = 0; i < b->now.count && status == CTN_OK; i++) {
            const quantity *const x = &b->now.list[i];
            const double *const is = b->states[i] + (size_t)w * times * x->width;
            status = recorded_rows(&p->from, x->name, H5T_NATIVE_DOUBLE, world, 1, times * x->width, row, err);
            for (size_t k = 0; k < times && status == CTN_OK; k++)
                compare_state(p, x, world, trajectories_step(&head, (int)k), row + k * x->width, is + k * x->width);
        }
        if (!b->hash || status != CTN_OK) continue;
        status = recorded_rows(&p->from, "hash", H5T_NATIVE_UINT64, world, 1, steps, hashes, err);
        for (size_t k = 0; k < steps && status == CTN_OK; k++)
            compare_hash(p, world, (long)k, hashes[k], b->hash[(size_t)w * steps + k]);
    }
    return status;
}

/// The next worlds that the file has: b->done .. b->end - 1. False: there are no more.
static bool find_worlds(replay *p)
{
    blocks *const b = &p->b;
    while (b->done < b->all && p->status[b->done] < 0) b->done++;
    for (b->end = b->done; b->end < b->all && p->status[b->end] >= 0;) b->end++;
    return b->done < b->end;
}

static int make_all(replay *p, double *row, uint64_t *hashes)
{
    blocks *const b = &p->b;
    ctn_error err;
    int count;
    if (p->verify && compare_times(p, row, &err) != CTN_OK) return status_error(&err, "");
    while (find_worlds(p)) {
        if (blocks_next(b, &count, &err) != CTN_OK) return status_error(&err, "");
        const ctn_status made = blocks_make(b, count, &err);
        if ((p->interrupted = made == CTN_INTERRUPTED)) break;
        if (made != CTN_OK) return engine_error(&err);
        if (p->verify && compare_worlds(p, count, row, hashes, &err) != CTN_OK) return status_error(&err, "");
        b->done += count, p->worlds += count;
        progress_show(&p->bar, "world", p->worlds, p->there);
    }
    return EXIT_OK;
}

/// The worlds of a file that are done: those at the beginning of what each process had to do.
static ctn_status count_worlds(replay *p, ctn_error *err)
{
    const long worlds = p->b.all;
    p->status = malloc((size_t)worlds * sizeof *p->status);
    if (!p->status) return fail(err, CTN_NO_MEMORY, "not enough memory");
    const ctn_status read = recorded_rows(&p->from, "status", H5T_NATIVE_INT, 0, worlds, 1, p->status, err);
    for (long w = 0; w < worlds && read == CTN_OK; w++) p->there += p->status[w] >= 0;
    return read;
}

static int replay_rollout(replay *p)
{
    blocks *const b = &p->b;
    ctn_error err;
    record_head head;
    b->seed = (uint64_t)p->from.seed, b->all = b->end = b->cfg.worlds, b->steps = p->from.steps, b->stride = p->from.stride;
    b->keep = p->from.keep, b->hashes = p->from.hashes;
    int64_t worlds = b->all;
    if (p->verify && recorded_check_parts(&p->from, &err) != CTN_OK) return run_error("%s", err.message);
    if (p->from.starts && !(b->starts = starts_open(p->from.starts, b->model, &worlds, &err))) return status_error(&err, "");
    if (p->from.controls && !(b->controls = controls_open(p->from.controls, b->model, &worlds, b->steps, &err)))
        return status_error(&err, "");
    if (blocks_open(b, &err) != CTN_OK) return status_error(&err, "");
    const trajectories_head about = blocks_head(b, NULL);
    record_head_rollout(&head, &about);
    if (recorded_compare(&p->from, &head, &err) != CTN_OK || count_worlds(p, &err) != CTN_OK) return status_error(&err, "");
    size_t widest = 1;
    for (int i = 0; i < b->now.count; i++) widest = b->now.list[i].width > widest ? b->now.list[i].width : widest;
    double *const row = malloc((size_t)b->times * widest * sizeof *row);
    uint64_t *const hashes = malloc(((size_t)b->steps + 1) * sizeof *hashes);
    const int status = row && hashes ? make_all(p, row, hashes) : run_error("not enough memory");
    free(row), free(hashes);
    p->steps = b->steps, p->states = b->times, p->hashes = b->hashes ? b->steps + 1 : 0;
    return status;
}

// ---- the command

static void print_replay(const replay *p)
{
    const blocks *const b = &p->b;
    const long unfinished = p->from.rollout ? p->from.cfg.worlds - p->there : 0;
    printf("scene         %s (%s), as in %s\n", ctn_scene_name(b->scene), p->from.rollout ? "rollout" : "run",
           clean(p->from.path).text);
    printf("made          %s by catena %s\n", clean(p->from.started).text, clean(p->from.version).text);
    printf("method        %s, dt %g s\n", ctn_method_name(b->cfg.method), b->cfg.dt);
    if (p->from.first >= 0)
        printf("from          world %lld of another run, after %ld step%s\n", (long long)p->start.world, p->from.first,
               plural(p->from.first));
    if (b->cfg.lanes) printf("parallel      %s, %d lanes\n", ctn_parallel_name(b->cfg.parallel), b->cfg.lanes);
    if (unfinished)
        printf("unfinished    the file has %ld of %d world%s\n", p->there, p->from.cfg.worlds, plural(p->from.cfg.worlds));
    if (!p->from.rollout && !p->from.finished)
        printf("unfinished    the end is missing in the file: it has %ld record%s\n", p->states, plural(p->states));
    printf("replayed      %ld world%s, %ld step%s each, in %.3g s on %d thread%s, engine %s\n", p->worlds, plural(p->worlds),
           p->steps, plural(p->steps), p->wall, b->threads, plural(b->threads), b->engine);
}

static int open_replay(const arguments *args, replay *p)
{
    ctn_error err;
    blocks *const b = &p->b;
    long threads = 0;
    p->verify = args->value[OPT_VERIFY] != NULL;
    if (!whole_option(args, OPT_THREADS, 0, 1024, &threads)) return EXIT_USAGE;
    const ctn_status opened = recorded_open(&p->from, args->files[0], &err);
    b->path = p->from.path, b->scene = p->from.scene, b->cfg = p->from.cfg;
    if (opened != CTN_OK) return status_error(&err, "");
    b->cfg.engine = args->value[OPT_ENGINE];
    if (!b->cfg.engine && p->from.engine && engines_differ(p->from.engine, "scalar")) b->cfg.engine = p->from.engine;
    b->cfg.threads = (int)threads, b->cfg.interrupt = stop_flag();
    b->model = p->model = ctn_model_create(b->scene, &err);
    if (!p->model) return status_error(&err, "");
    p->differs = calloc((size_t)b->cfg.worlds, sizeof *p->differs);
    return p->differs ? EXIT_OK : run_error("not enough memory");
}

static int replay_main(const arguments *args)
{
    replay p = {.from = {.file = -1}};
    const bool quiet = args->value[OPT_QUIET] != NULL;
    int status = open_replay(args, &p);
    if (status == EXIT_OK) {
        p.bar = progress_start(quiet);
        const double start = clock_now();
        catch_signals();
        status = p.from.rollout ? replay_rollout(&p) : replay_recording(&p);
        p.wall = clock_now() - start;
        progress_end(&p.bar);
    }
    if (status == EXIT_OK) {
        if (!quiet) print_replay(&p);
        if (p.verify) status = report(&p);
        if (p.interrupted)
            status =
                run_error("interrupted after %ld world%s and %ld step%s", p.worlds, plural(p.worlds), p.steps, plural(p.steps));
        else if (p.verify && !p.worlds) status = run_error("%s: there is nothing to compare: no world is done", p.from.path);
        else if (p.verify && status == EXIT_OK && !quiet)
            printf("identical: %ld world%s, %ld step%s (%ld state%s%s of each)\n", p.worlds, plural(p.worlds), p.steps,
                   plural(p.steps), p.states, plural(p.states), p.hashes ? " and the hashes of all steps" : "");
        fflush(stdout);
    }
    free(p.status), free(p.differs);
    blocks_close(&p.b);
    ctn_model_free(p.model), ctn_scene_free(p.from.scene);
    recorded_start_free(&p.start);
    recorded_close(&p.from);
    return status;
}

const command command_replay = {
    .name = "replay",
    .files = "FILE",
    .least = 1,
    .most = 1,
    .does = "Makes the worlds of a recording again, and compares them with it.",
    .about = "FILE comes from `catena run` or `catena rollout`, .h5 or .hdf5. The scene, its includes, method and\n"
             "options are taken out of the file, not from the disk; files of --starts and --controls are read again.\n"
             "A file of --save-freeze begins with the state in it, and ends where its world froze.\n"
             "All engines give the same bits but cuda-float, which is taken for files that it made.\n"
             "With --verify what the file has is compared to the last bit: q and v of runs, whatever was kept of\n"
             "rollouts and what they say of each world, times, and hashes if it has them.\n"
             "Exit status: 0 success, with --verify: identical; 1 something differs, the run was interrupted,\n"
             "or the engine failed; 2 bad usage or a file that cannot be replayed.\n",
    .takes = TAKES(OPT_VERIFY) | TAKES(OPT_ENGINE) | TAKES(OPT_THREADS) | TAKES(OPT_QUIET),
    .examples = "  catena replay chains.h5 --verify\n"
                "  catena replay arm.h5 --verify --engine scalar --threads 1\n",
    .main = replay_main,
};
