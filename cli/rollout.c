/// `catena rollout`: many worlds from sampled initial states into one file, some of them at a time.
#include "cli/commands.h"
#include "cli/controls.h"
#include "cli/message.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/starts.h"
#include "sim/scene.h"
#include "sim/trajectories.h"

#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 64 << 20, BLOCK_WORLDS = 4096 };  // of states in memory; worlds at a time at most

typedef struct {
    setup s;
    const char *out;
    starts *starts;      // NULL: none
    controls *controls;  // NULL: none
    uint64_t seed;
    long worlds, done, steps, stride, frozen, fallen;
    int times, block;    // states of a world; worlds at a time
    int threads;         // that step a block
    const char *engine;  // likewise
    ctn_batch *batch;
    trajectories *file;
    double *q, *v;                 // [block][times][nq], [block][times][nv]
    double *row_q, *row_v;         // [block][nq], [block][nv]
    double *tau;                   // [block][nv]: joint forces
    ctn_parameter *parameters;     // that worlds have of their own
    double *values;                // [block][parameters]
    ctn_step_stats *total, *part;  // [block]
    double wall, occupancy;  // s; of the lanes, summed over `calls`
    long calls;
} rollout;

/// Steps from state k of a world to the next one.
static int steps_after(const rollout *r, int k)
{
    const long left = r->steps - (long)k * r->stride;
    return (int)(left < r->stride ? left : r->stride);
}

static int open_file(const arguments *args, rollout *r)
{
    ctn_error err;
    double *const time = malloc((size_t)r->times * sizeof *time);
    char *const line = command_line(args);
    if (time) {
        time[0] = 0;
        for (int k = 1; k < r->times; k++) {
            const long step = (long)k * r->stride;
            time[k] = (double)(step < r->steps ? step : r->steps) * r->s.cfg.dt;
        }
        r->file = trajectories_create(r->out,
                                      &(trajectories_head){.scene = r->s.scene,
                                                           .batch = r->batch,
                                                           .command = line,
                                                           .starts = args->value[OPT_STARTS],
                                                           .controls = args->value[OPT_CONTROLS],
                                                           .seed = r->seed,
                                                           .worlds = r->worlds,
                                                           .times = r->times,
                                                           .time = time},
                                      &err);
    }
    free(time), free(line);
    if (!time) return run_error("not enough memory");
    if (r->file) return EXIT_OK;
    status_error(&err, "");
    return EXIT_RUN;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/// Opens the files of initial states and of joint forces; they say how many worlds there are if --worlds does not.
static int open_inputs(const arguments *args, rollout *r)
{
    static const enum option_id inputs[] = {OPT_STARTS, OPT_CONTROLS};
    const char *const start = args->value[OPT_STARTS], *const control = args->value[OPT_CONTROLS];
    int64_t worlds = args->value[OPT_WORLDS] ? r->worlds : 0;
    int status = EXIT_OK;
    for (int k = 0; k < 2; k++)
        if (args->value[inputs[k]] && same_file(args->value[inputs[k]], r->out))
            return usage_error("--out: %s is the file of %s, and would be lost", r->out, option_name(inputs[k]));
    if (start) status = starts_open(start, r->s.model, &worlds, &r->starts);
    if (control && status == EXIT_OK) status = controls_open(control, r->s.model, &worlds, r->steps, &r->controls);
    if (worlds) r->worlds = (long)worlds;
    if (r->controls && r->s.scene->spread[SAMPLE_FORCE])
        return usage_error("--controls: the scene draws joint forces too, by `force` of its `sample`; leave one of them out");
    return status;
}

static int make_batch(rollout *r, int worlds)
{
    ctn_error err;
    ctn_batch_free(r->batch);
    r->s.cfg.worlds = worlds;
    r->batch = ctn_batch_create(r->s.model, &r->s.cfg, &err);
    return r->batch ? EXIT_OK : status_error(&err, "");
}

/// Everything before the first world. close_rollout is due in any case.
static int open_rollout(const arguments *args, rollout *r)
{
    int status = setup_open(args, &r->s);
    if (status != EXIT_OK) return status;
    long seed = (long)ctn_scene_seed(r->s.scene);
    r->out = args->value[OPT_OUT], r->stride = 1, r->worlds = r->s.cfg.worlds;
    const char *const dot = r->out ? strrchr(r->out, '.') : NULL;
    if (!r->out) return usage_error("--out is missing: the file that the worlds go to, .h5 or .hdf5");
    if (!dot || (strcasecmp(dot, ".h5") && strcasecmp(dot, ".hdf5")))
        return usage_error("--out: a rollout ends in .h5 or .hdf5, found %s", r->out);
    if (!whole_option(args, OPT_STRIDE, 1, 1000000000, &r->stride)) return EXIT_USAGE;
    const char *const schedule = args->value[OPT_SCHEDULE];
    if (schedule && strcmp(schedule, "iteration") && strcmp(schedule, "step"))
        return usage_error("--schedule: expected iteration or step, found %s", schedule);
    if (schedule && !strcmp(schedule, "step")) r->s.cfg.schedule = CTN_BY_STEP;
    if (!whole_option(args, OPT_SEED, 0, 9007199254740992, &seed)) return EXIT_USAGE;
    if ((status = plan_steps(args, &r->s, &r->steps)) != EXIT_OK) return status;
    r->seed = (uint64_t)seed;
    if ((status = open_inputs(args, r)) != EXIT_OK) return status;
    if (!ctn_scene_is_sampled(r->s.scene) && !r->starts && !args->value[OPT_QUIET])
        warning("%s has no `sample:` section: all worlds start from the same state", r->s.path);
    const int64_t points = ctn_scene_grid(r->s.scene);
    if (r->worlds % points && !args->value[OPT_QUIET])
        warning("the grids of %s have %lld points: %ld worlds do not end with the last of them", r->s.path, (long long)points,
                r->worlds);
    const long times = (r->steps + r->stride - 1) / r->stride + 1;
    if (times > 100000000) return usage_error("%ld states of each world are too many; give a larger --stride", times);
    r->times = (int)times;
    const size_t nq = (size_t)ctn_model_nq(r->s.model), nv = (size_t)ctn_model_nv(r->s.model),
                 world = (size_t)times * (nq + nv + 1) * sizeof(double);
    const size_t room = BLOCK_BYTES / world;
    long block = room < 1 ? 1 : room > BLOCK_WORLDS ? BLOCK_WORLDS : (long)room;
    r->block = (int)(block < r->worlds ? block : r->worlds);
    const size_t n = (size_t)r->block, t = (size_t)times;
    r->q = malloc(n * t * nq * sizeof *r->q + 1), r->v = malloc(n * t * nv * sizeof *r->v + 1);
    r->row_q = malloc(n * nq * sizeof *r->row_q + 1), r->row_v = malloc(n * nv * sizeof *r->row_v + 1);
    r->tau = malloc(n * nv * sizeof *r->tau + 1);
    r->total = malloc(n * sizeof *r->total), r->part = malloc(n * sizeof *r->part);
    if (!r->q || !r->v || !r->row_q || !r->row_v || !r->tau || !r->total || !r->part) return run_error("not enough memory");
    r->s.cfg.parameter_count = ctn_scene_parameters(r->s.scene, r->s.model, NULL);
    const size_t own = (size_t)r->s.cfg.parameter_count;
    r->parameters = malloc(own * sizeof *r->parameters + 1), r->values = malloc(n * own * sizeof *r->values + 1);
    if (!r->parameters || !r->values) return run_error("not enough memory");
    ctn_scene_parameters(r->s.scene, r->s.model, r->parameters);
    r->s.cfg.parameters = r->parameters;
    if ((status = make_batch(r, r->block)) != EXIT_OK) return status;
    const ctn_batch_config *const cfg = ctn_batch_configuration(r->batch);
    r->threads = cfg->threads, r->engine = cfg->engine;
    return open_file(args, r);
}

static void close_rollout(rollout *r)
{
    trajectories_close(r->file, NULL);
    starts_close(r->starts), controls_close(r->controls);
    ctn_batch_free(r->batch);
    free(r->q), free(r->v), free(r->row_q), free(r->row_v), free(r->tau), free(r->total), free(r->part);
    free(r->parameters), free(r->values);
    setup_close(&r->s);
}

/// The states of `count` worlds, as they are now, become their state k.
static void keep_states(rollout *r, int count, int k)
{
    const size_t nq = (size_t)ctn_model_nq(r->s.model), nv = (size_t)ctn_model_nv(r->s.model), t = (size_t)r->times;
    ctn_batch_state(r->batch, r->row_q, r->row_v);
    for (size_t w = 0; w < (size_t)count; w++) {
        memcpy(r->q + (w * t + (size_t)k) * nq, r->row_q + w * nq, nq * sizeof *r->q);
        memcpy(r->v + (w * t + (size_t)k) * nv, r->row_v + w * nv, nv * sizeof *r->v);
    }
}

/// Puts worlds r->done .. + count - 1 to their starts, as drawn or out of the file. Returns an exit status.
static int start_worlds(rollout *r, int count)
{
    ctn_error err;
    const size_t nq = (size_t)ctn_model_nq(r->s.model), nv = (size_t)ctn_model_nv(r->s.model), own = (size_t)r->s.cfg.parameter_count;
    bool forced = false;
    for (int w = 0; w < count; w++) {
        const size_t row = (size_t)w;
        ctn_sample_state(r->s.scene, r->s.model, r->seed, r->done + w, r->worlds, r->row_q + row * nq, r->row_v + row * nv);
        forced = ctn_sample_force(r->s.scene, r->s.model, r->seed, r->done + w, r->worlds, r->tau + row * nv);
        ctn_sample_parameters(r->s.scene, r->s.model, r->seed, r->done + w, r->worlds, r->values + row * own);
    }
    const int status = r->starts ? starts_read(r->starts, r->done, count, r->row_q, r->row_v) : EXIT_OK;
    if (status != EXIT_OK) return status;
    ctn_batch_set_force(r->batch, forced ? r->tau : NULL);
    if ((!own || ctn_batch_set_parameters(r->batch, r->values, &err) == CTN_OK) &&
        ctn_batch_set_state(r->batch, r->row_q, r->row_v, 0, &err) == CTN_OK)
        return EXIT_OK;
    return usage_error("%s: sample: of the worlds from %ld on, %s", r->s.path, r->done, err.message);
}

/// Makes these worlds from beginning to end; `whole` becomes false if a signal comes in between. Returns an exit status.
static int make_worlds(rollout *r, int count, bool *whole)
{
    ctn_batch_step(r->batch, 0, r->total, NULL);
    keep_states(r, count, 0);
    for (int k = 1; k < r->times; k++) {
        int status = EXIT_OK;
        *whole = !stop_asked();
        if (!*whole) return EXIT_OK;
        if (r->controls)
            status =
                controls_step(r->controls, r->batch, r->done, count, (long)(k - 1) * r->stride, steps_after(r, k - 1), r->part);
        else ctn_batch_step(r->batch, steps_after(r, k - 1), r->part, NULL);
        if (status != EXIT_OK) return status;
        r->occupancy += ctn_batch_occupancy(r->batch), r->calls++;
        for (int w = 0; w < count; w++) ctn_step_stats_add(&r->total[w], &r->part[w]);
        keep_states(r, count, k);
    }
    for (int w = 0; w < count; w++) r->frozen += r->total[w].frozen != CTN_RUNNING, r->fallen += r->total[w].fallbacks > 0;
    return EXIT_OK;
}

static int make_all(rollout *r, bool quiet)
{
    ctn_error err;
    bool whole = true;
    int status = EXIT_OK;
    progress bar = progress_start(quiet);
    const double start = wall_clock();
    catch_signals();
    while (r->done < r->worlds && status == EXIT_OK) {
        const long left = r->worlds - r->done;
        const int count = (int)(left < r->block ? left : r->block);
        if (count < r->s.cfg.worlds) status = make_batch(r, count);
        if (status == EXIT_OK) status = start_worlds(r, count);
        if (status == EXIT_OK) status = make_worlds(r, count, &whole);
        if (status != EXIT_OK || !whole) break;
        if (trajectories_put(r->file, r->done, count, r->q, r->v, r->total, &err) != CTN_OK) {
            status_error(&err, "");
            status = EXIT_RUN;
        } else r->done += count;
        progress_show(&bar, "world", r->done, r->worlds);
    }
    progress_end(&bar);
    r->wall = wall_clock() - start;
    const ctn_status closed = trajectories_close(r->file, &err);
    r->file = NULL;
    if (closed != CTN_OK && status == EXIT_OK) {
        status_error(&err, "");
        status = EXIT_RUN;
    }
    return status;
}

static void print_rollout(const rollout *r)
{
    const double steps = (double)r->done * (double)r->steps;
    printf("scene         %s (%s)\n", ctn_scene_name(r->s.scene), r->s.path);
    printf("worlds        %ld of %ld, seed %llu, %d at a time on %d thread%s, engine %s\n", r->done, r->worlds,
           (unsigned long long)r->seed, r->block, r->threads, r->threads == 1 ? "" : "s", r->engine);
    printf("steps         %ld of %g s each, %d states kept\n", r->steps, r->s.cfg.dt, r->times);
    printf("time          %.3g s: %.4g worlds/s, %.4g steps/s\n", r->wall, (double)r->done / fmax(r->wall, 1e-9),
           steps / fmax(r->wall, 1e-9));
    if (ctn_method_is_implicit(r->s.cfg.method) && r->calls)
        printf("lanes         %.0f %% of their iterations were of use\n", 100 * r->occupancy / (double)r->calls);
    printf("of these      %ld with fallbacks, %ld frozen\n", r->fallen, r->frozen);
    printf("file          %s\n", r->out);
}

static int rollout_main(const arguments *args)
{
    rollout r = {0};
    const bool quiet = args->value[OPT_QUIET] != NULL;
    int status = open_rollout(args, &r);
    if (status == EXIT_OK) {
        status = make_all(&r, quiet);
        if (!quiet) print_rollout(&r);
        fflush(stdout);
        if (r.frozen)
            status = run_error("%ld of %ld worlds are frozen; `status` in %s says which, and why", r.frozen, r.done, r.out);
        if (r.done < r.worlds && stop_asked())
            status = run_error("interrupted after %ld of %ld worlds; the file has these", r.done, r.worlds);
    }
    close_rollout(&r);
    return status;
}

const command command_rollout = {
    .name = "rollout",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .does = "Steps many worlds from sampled initial states into one file.",
    .about = "World i starts from what the scene's `sample:` section draws for it: it is the same whatever\n"
             "other worlds there are, on any engine and number of threads. --starts and --controls take\n"
             "initial states and joint forces from files instead. The file that it writes has arrays\n"
             "[world][time][...]; docs/rollouts.md says how to read it.\n"
             "Ctrl-C ends the run in good order: the file keeps the worlds that are done.\n"
             "Exit status: 0 success; 1 a world froze, the run was interrupted, or the file could not be\n"
             "written; 2 bad usage or a bad scene.\n",
    .takes = TAKES_METHOD | TAKES(OPT_STEPS) | TAKES(OPT_DURATION) | TAKES(OPT_STRIDE) | TAKES(OPT_SEED) | TAKES(OPT_SCHEDULE) | TAKES(OPT_STARTS) |
             TAKES(OPT_CONTROLS) | TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the file: .h5 or .hdf5",
    .examples = "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --out chains.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --stride 10 --seed 7 --out chains.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --starts chains.h5 --controls forces.h5 --out more.h5\n",
    .main = rollout_main,
};
