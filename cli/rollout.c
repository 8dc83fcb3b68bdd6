/// `catena rollout`: many worlds from sampled initial states into one file, some of them at a time.
#include "cli/rollout.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/message.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "sim/record.h"
#include "sim/pool.h"

#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Of states in memory, and worlds, at a time at most; but as many worlds for each thread as engines are wide, if these need no more than
// MOST_BYTES.
enum { BLOCK_BYTES = 64 << 20, BLOCK_WORLDS = 4096, THREAD_WORLDS = 8, MOST_BYTES = 1 << 30 };

/// Worlds at a time if each needs so many bytes.
static long block_of(size_t bytes, int threads)
{
    const size_t least = (size_t)THREAD_WORLDS * (size_t)(threads ? threads : pool_cpus()), most = MOST_BYTES / bytes;
    size_t room = BLOCK_BYTES / bytes;
    if (room > BLOCK_WORLDS) room = BLOCK_WORLDS;
    if (room < least) room = least < most ? least : most;
    return room < 1 ? 1 : (long)room;
}

trajectories_head rollout_head(const rollout *r, const char *command)
{
    return (trajectories_head){.scene = r->s.scene,
                               .batch = r->batch,
                               .command = command,
                               .starts = r->starts ? starts_path(r->starts) : NULL,
                               .controls = r->controls ? controls_path(r->controls) : NULL,
                               .seed = r->seed,
                               .worlds = r->all,
                               .first = r->first,
                               .end = r->end,
                               .rank = r->ranks.rank,
                               .ranks = r->ranks.count,
                               .steps = r->steps,
                               .stride = r->stride,
                               .keep = r->keep,
                               .kept = &r->now,
                               .hashes = r->hashes,
                               .times = r->times,
                               .block = r->block};
}

/// Prints why a file cannot be written. Returns an exit status.
static int file_error(const ctn_error *err)
{
    const int status = status_error(err, "");
    return err->status == CTN_IO ? EXIT_RUN : status;
}

static int open_file(const arguments *args, rollout *r)
{
    ctn_error err;
    char *const line = command_line(args);
    const trajectories_head head = rollout_head(r, line);
    const bool resume = args->value[OPT_RESUME] != NULL, over = resume && r->ranks.count > 1 && !access(r->out, F_OK);
    trajectories_done before = {0};
    if (!over || trajectories_check_joined(r->out, &err) == CTN_OK) {
        if (resume && !access(r->path, F_OK)) r->file = trajectories_resume(r->path, &head, &before, &err);
        else r->file = trajectories_create(r->path, &head, &err);
    }
    free(line);
    r->done = r->first + before.count;
    r->own = (tally){.done = before.count, .before = before.count, .frozen = before.frozen, .fallen = before.fallen};
    return r->file ? EXIT_OK : file_error(&err);
}

/// The file over those of all ranks.
static int join_files(const arguments *args, const rollout *r)
{
    ctn_error err;
    char *const line = command_line(args);
    const trajectories_head head = rollout_head(r, line);
    const ctn_status status = trajectories_join(r->out, &head, &err);
    free(line);
    return status == CTN_OK ? EXIT_OK : file_error(&err);
}

/// An input may not be a file that is written, by this process or another one.
static int check_kept(const arguments *args, const rollout *r)
{
    const int files = r->ranks.count > 1 ? r->ranks.count : 0;
    int status = EXIT_OK;
    for (int k = -1; k < files && status == EXIT_OK; k++) {
        char *const path = k < 0 ? strdup(r->out) : trajectories_path(r->out, k);
        if (!path) return run_error("not enough memory");
        status = keep_scene(OPT_OUT, path, r->s.scene);
        if (status == EXIT_OK) status = keep_input(OPT_OUT, path, args->value[OPT_STARTS], "the file of --starts");
        if (status == EXIT_OK) status = keep_input(OPT_OUT, path, args->value[OPT_CONTROLS], "the file of --controls");
        free(path);
    }
    return status;
}

/// Opens the files of initial states and of joint forces; they say how many worlds there are if --worlds does not.
static int open_inputs(const arguments *args, rollout *r)
{
    const char *const start = args->value[OPT_STARTS], *const control = args->value[OPT_CONTROLS];
    int64_t worlds = args->value[OPT_WORLDS] ? r->all : 0;
    int status = check_kept(args, r);
    if (status != EXIT_OK) return status;
    if (start) status = starts_open(start, r->s.model, &worlds, &r->starts);
    if (control && status == EXIT_OK) status = controls_open(control, r->s.model, &worlds, r->steps, &r->controls);
    if (worlds) r->all = (long)worlds;
    if (r->controls && ctn_scene_has_force(r->s.scene))
        return usage_error("--controls: the scene draws joint forces too, by `force` of its `sample`; leave one of them out");
    return status;
}

static int make_batch(rollout *r, int worlds)
{
    ctn_error err;
    quantities_close(&r->now);
    ctn_batch_free(r->batch);
    r->s.cfg.worlds = worlds;
    r->batch = ctn_batch_create(r->s.model, &r->s.cfg, &err);
    if (!r->batch || quantities_open(&r->now, r->batch, r->keep, &err) != CTN_OK) return status_error(&err, "");
    return EXIT_OK;
}

int prepare_worlds(rollout *r)
{
    const long times = (r->steps + r->stride - 1) / r->stride + 1;
    if (times > 100000000) return usage_error("%ld states of each world are too many; give a larger --stride", times);
    if (r->hashes && r->steps > 100000000)
        return usage_error("%ld hashes of each world are too many; leave out --hash", r->steps);
    r->times = (int)times, r->piece = 1;
    const size_t hashes = (size_t)r->steps + 1,
                 numbers = (size_t)times * (quantities_width(r->s.model, r->keep) + 1) + (r->hashes ? hashes : 0);
    const long block = block_of(numbers * sizeof(double), r->s.cfg.threads), worlds = r->end - r->first;
    r->block = (int)(block < worlds ? block : worlds);
    const size_t n = (size_t)r->block, t = (size_t)times;
    int status = sampled_open(&r->drawn, &r->s, r->block);
    if (status == EXIT_OK) status = make_batch(r, r->block);
    if (status != EXIT_OK) return status;
    r->total = calloc(n, sizeof *r->total), r->part = calloc(n, sizeof *r->part);
    bool ok = r->total && r->part;
    for (int k = 0; k < r->now.count && ok; k++)
        ok = (r->states[k] = malloc(n * t * r->now.list[k].width * sizeof *r->states[k] + 1)) != NULL;
    if (ok && r->hashes) ok = (r->hash = malloc(n * hashes * sizeof *r->hash)) && (r->row_hash = malloc(n * sizeof *r->row_hash));
    if (!ok) return run_error("not enough memory");
    const ctn_batch_config *const cfg = ctn_batch_configuration(r->batch);
    r->threads = cfg->threads, r->engine = cfg->engine;
    r->bytes = (double)ctn_batch_bytes(r->batch) / r->block;
    return EXIT_OK;
}

/// Everything before the first world. close_rollout is due in any case.
static int open_rollout(const arguments *args, rollout *r)
{
    ctn_error err;
    int status = setup_open_to_step(args, &r->s);
    if (status != EXIT_OK) return status;
    long seed = (long)ctn_scene_seed(r->s.scene);
    r->out = args->value[OPT_OUT], r->stride = 1, r->all = r->s.cfg.worlds;
    r->keep = KEEP_Q | KEEP_V, r->hashes = args->value[OPT_HASH] != NULL;
    const char *const keep = args->value[OPT_KEEP];
    if (!r->out) return usage_error("--out is missing: the file that the worlds go to, .h5 or .hdf5");
    if (!named_hdf5(r->out)) return usage_error("--out: a rollout ends in .h5 or .hdf5, found %s", r->out);
    if (!whole_option(args, OPT_STRIDE, 1, 1000000000, &r->stride)) return EXIT_USAGE;
    r->path = r->ranks.count > 1 ? trajectories_path(r->out, r->ranks.rank) : strdup(r->out);
    if (!r->path) return run_error("not enough memory");
    if (!whole_option(args, OPT_SEED, 0, 9007199254740992, &seed)) return EXIT_USAGE;
    if (keep && keep_from_text(keep, &r->keep, &err) != CTN_OK) return status_error(&err, "--keep: ");
    if ((status = plan_steps(args, &r->s, &r->steps)) != EXIT_OK) return status;
    r->seed = (uint64_t)seed;
    if ((status = open_inputs(args, r)) != EXIT_OK) return status;
    if (r->ranks.count > r->all)
        return usage_error("--worlds: %ld world%s too few for %d processes; let mpirun start fewer", r->all,
                           r->all == 1 ? " is" : "s are", r->ranks.count);
    r->first = trajectories_first(r->all, r->ranks.rank, r->ranks.count);
    r->end = trajectories_first(r->all, r->ranks.rank + 1, r->ranks.count);
    if (!ctn_scene_is_sampled(r->s.scene) && !r->starts && !args->value[OPT_QUIET])
        warning("%s has no `sample:` section: all worlds start from the same state", r->s.path);
    const int64_t points = ctn_scene_grid(r->s.scene);
    if (r->all % points && !args->value[OPT_QUIET])
        warning("the grids of %s have %lld point%s: %ld world%s not end with the last of them", r->s.path, (long long)points,
                plural(points), r->all, r->all == 1 ? " does" : "s do");
    if ((status = prepare_worlds(r)) != EXIT_OK) return status;
    return open_file(args, r);
}

void close_rollout(rollout *r)
{
    trajectories_close(r->file, NULL);
    starts_close(r->starts), controls_close(r->controls);
    quantities_close(&r->now);
    ctn_batch_free(r->batch);
    for (int k = 0; k < QUANTITIES; k++) free(r->states[k]);
    free(r->hash), free(r->row_hash), free(r->total), free(r->part), free(r->path);
    sampled_close(&r->drawn);
    setup_close(&r->s);
}

/// The states of `count` worlds, as they are now, become their state k.
static void keep_states(rollout *r, int count, int k)
{
    const size_t t = (size_t)r->times;
    quantities_update(&r->now);
    for (int i = 0; i < r->now.count; i++) {
        const quantity *const x = &r->now.list[i];
        for (size_t w = 0; w < (size_t)count; w++)
            memcpy(r->states[i] + (w * t + (size_t)k) * x->width, x->now + w * x->width, x->width * sizeof *x->now);
    }
}

/// Their hashes, as they are now, become those of the state after `step`.
static void keep_hashes(rollout *r, int count, long step)
{
    const size_t hashes = (size_t)r->steps + 1;
    if (!r->hash) return;
    ctn_batch_hashes(r->batch, r->row_hash);
    for (size_t w = 0; w < (size_t)count; w++) r->hash[w * hashes + (size_t)step] = r->row_hash[w];
}

/// Steps from state k - 1 to state k, some at a time, to look for signals between: then `whole` becomes false. Returns an exit status.
static int make_steps(rollout *r, int count, int k, bool *whole)
{
    const trajectories_head head = rollout_head(r, NULL);
    const long end = trajectories_step(&head, k);
    for (long step = trajectories_step(&head, k - 1); step < end;) {
        ranks_share(&r->ranks, &r->own, &r->sum);
        if (!(*whole = !stop_asked() && !r->sum.status)) return EXIT_OK;
        const long left = end - step, n = r->hash ? 1 : r->piece < left ? r->piece : left;
        const double before = wall_clock();
        int status;
        ctn_error err;
        if (r->controls) status = controls_step(r->controls, r->batch, r->done, count, step, (int)n, r->part);
        else status = step_outcome(ctn_batch_step(r->batch, (int)n, r->part, &err), &err);
        if (status != EXIT_OK) return status;
        if (!(*whole = !stop_asked())) return EXIT_OK;  // the steps may not have been made
        r->piece = next_piece(r->piece, n, wall_clock() - before);
        const double occupancy = ctn_batch_occupancy(r->batch);
        if (isfinite(occupancy)) r->own.occupancy += occupancy, r->own.calls++;
        for (int w = 0; w < count; w++) ctn_step_stats_add(&r->total[w], &r->part[w]);
        step += n;
        keep_hashes(r, count, step);
    }
    return EXIT_OK;
}

int make_worlds(rollout *r, int count, bool *whole)
{
    ctn_error err;
    int status = sampled_start(&r->drawn, &r->s, r->seed, r->all, r->done, count, r->starts, r->batch);
    if (status != EXIT_OK) return status;
    *whole = true;
    status = step_outcome(ctn_batch_step(r->batch, 0, r->total, &err), &err);
    if (status != EXIT_OK) return status;
    keep_states(r, count, 0);
    keep_hashes(r, count, 0);
    for (int k = 1; k < r->times; k++) {
        status = make_steps(r, count, k, whole);
        if (status != EXIT_OK || !*whole) return status;
        keep_states(r, count, k);
    }
    status = step_outcome(ctn_batch_step(r->batch, 0, NULL, &err), &err);  // says whether reading the states failed, too
    if (status != EXIT_OK) return status;
    for (int w = 0; w < count; w++) {
        r->own.frozen += r->total[w].frozen != CTN_RUNNING, r->own.fallen += r->total[w].fallbacks > 0;
        if (r->total[w].frozen && !r->fall.frozen) r->fell = r->done + w, r->fall = r->total[w];
    }
    return EXIT_OK;
}

int next_block(rollout *r, int *count)
{
    const long left = r->end - r->done;
    *count = (int)(left < r->block ? left : r->block);
    return *count == r->s.cfg.worlds ? EXIT_OK : make_batch(r, *count);
}

static int make_all(rollout *r, bool quiet)
{
    ctn_error err;
    int status = EXIT_OK, count;
    bool whole;
    progress bar = progress_start(quiet);
    const double start = wall_clock();
    catch_signals();
    while (r->done < r->end && status == EXIT_OK) {
        status = next_block(r, &count);
        if (status == EXIT_OK) status = make_worlds(r, count, &whole);
        if (status != EXIT_OK || !whole) break;
        if (trajectories_put(r->file, r->done, count, r->states, r->hash, r->total, &err) != CTN_OK) {
            status_error(&err, "");
            status = EXIT_RUN;
        } else r->done += count, r->own.done += count;
        ranks_share(&r->ranks, &r->own, &r->sum);
        progress_show(&bar, "world", r->sum.done, r->all);
    }
    const ctn_status closed = trajectories_close(r->file, &err);
    r->file = NULL;
    if (closed != CTN_OK && status == EXIT_OK) {
        status_error(&err, "");
        status = EXIT_RUN;
    }
    r->own.interrupted = r->done < r->end && stop_asked(), r->own.ended = 1;
    r->own.status = r->own.interrupted ? EXIT_RUN : status;
    while (!ranks_share(&r->ranks, &r->own, &r->sum)) progress_show(&bar, "world", r->sum.done, r->all);
    progress_end(&bar);
    r->wall = wall_clock() - start;
    return (int)r->sum.status;
}

/// What is said in the end, by rank 0 for all. Returns an exit status.
static int report(const arguments *args, const rollout *r, int status)
{
    const tally *const t = &r->sum;
    if (r->ranks.rank) return t->frozen ? EXIT_RUN : status;
    if (args->value[OPT_JSON]) {
        if (print_json_rollout(r) != EXIT_OK) status = EXIT_RUN;
    } else if (!args->value[OPT_QUIET]) print_rollout(r);
    fflush(stdout);
    char why[512];
    if (r->fall.frozen)
        run_error("world %ld is frozen at %.9g s: %s", r->fell, r->fall.frozen_time,
                  ctn_freeze_report(r->s.model, &r->s.cfg, &r->fall, why, sizeof why));
    if (t->frozen)
        status = run_error("%ld of %ld world%s %s frozen; `status` in %s says which, and why", t->frozen, t->done,
                           plural(t->done), t->frozen == 1 ? "is" : "are", r->out);
    if (t->interrupted)
        status = run_error("interrupted after %ld of %ld world%s; the file has %s", t->done, r->all, plural(r->all),
                           t->done ? "these" : "none");
    return status;
}

/// Opens and makes what is this rank's, `who` in messages.
static int share_rollout(const arguments *args, rollout *r, const char *who)
{
    int status = EXIT_OK;
    if (r->ranks.rank) messages_from(who);
    for (int turn = 0; turn < 2 && status == EXIT_OK; turn++) {  // rank 0 first: what is wrong for all is said once
        if (turn == (r->ranks.rank > 0)) status = open_rollout(args, r);
        status = ranks_worst(&r->ranks, status);
    }
    if (status != EXIT_OK) return status;
    if (r->ranks.count > 1 && !r->ranks.rank) status = join_files(args, r);
    status = ranks_worst(&r->ranks, status);
    if (status != EXIT_OK) return status;
    messages_from(r->ranks.count > 1 ? who : NULL);
    status = make_all(r, args->value[OPT_QUIET] != NULL);
    if (!r->ranks.rank) messages_from(NULL);
    return report(args, r, status);
}

static int rollout_main(const arguments *args)
{
    rollout r = {0};
    arguments own = *args;
    char who[32];
    int status = ranks_open(&r.ranks);
    if (r.ranks.rank) own.value[OPT_QUIET] = "";
    snprintf(who, sizeof who, "rank %d", r.ranks.rank);
    if (status == EXIT_OK) status = share_rollout(&own, &r, who);
    close_rollout(&r);
    ranks_close(&r.ranks);
    return status;
}

const command command_rollout = {
    .name = "rollout",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Steps many worlds from sampled initial states into one file.",
    .about = "World i starts from what the scene's `sample:` section draws for it: it is the same whatever\n"
             "other worlds there are, on any engine and number of threads. --starts and --controls take\n"
             "initial states and joint forces from files instead. The file that it writes has arrays\n"
             "[world][time][...]; docs/rollouts.md says how to read it.\n"
             "Ctrl-C ends the run in good order: the file keeps the worlds that are done, even of a run that is\n"
             "killed, and --resume makes the others. Processes that mpirun starts (of catena-mpi) share the\n"
             "worlds, each with a file of its own, and the file given shows them as one.\n"
             "Exit status: 0 success; 1 a world froze, the run was interrupted, the engine failed, or the file\n"
             "could not be written; 2 bad usage or a bad scene.\n",
    .takes = TAKES_METHOD | TAKES(OPT_STEPS) | TAKES(OPT_DURATION) | TAKES(OPT_STRIDE) | TAKES(OPT_SEED) | TAKES(OPT_KEEP) |
             TAKES(OPT_STARTS) | TAKES(OPT_CONTROLS) | TAKES(OPT_HASH) | TAKES(OPT_RESUME) | TAKES(OPT_OUT) | TAKES(OPT_JSON) |
             TAKES(OPT_QUIET),
    .out = "the file: .h5 or .hdf5",
    .examples = "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --out chains.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --stride 10 --seed 7 --out chains.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --starts chains.h5 --controls forces.h5 --out more.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --keep q,pose --hash --resume --out chains.h5\n",
    .main = rollout_main,
};
