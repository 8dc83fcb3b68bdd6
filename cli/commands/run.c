/// `catena run`: steps a scene, records, draws, sums up.
#include "cli/commands/run.h"
#include "cli/commands/commands.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/run_length.h"
#include "cli/base/stop.h"
#include "sim/base/clock.h"
#include "sim/runs/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 2000 };  // of the plot: more than it has pixels across

static int open_recording(const arguments *args, run *r)
{
    ctn_error err;
    ctn_record_config cfg = ctn_record_config_default();
    char *const line = command_line(args);
    cfg.every = (int)r->every, cfg.command = line, cfg.hashes = r->hashes;
    r->recorder = ctn_recorder_create(r->out, r->s.scene, r->s.model, r->batch, &cfg, &err);
    free(line);
    if (r->recorder) return EXIT_OK;
    const int status = status_error(&err, "");
    return err.status == CTN_IO ? EXIT_RUN : status;
}

static void close_run(run *r)
{
    ctn_recorder_close(r->recorder, NULL);
    freezes_close(r->freezes);
    braking_close(r->braking);
    free(r->command);
    ctn_dynamics_free(r->dyn);
    ctn_batch_free(r->batch);
    free(r->total), free(r->since), free(r->q), free(r->v), free(r->samples);
    setup_close(&r->s);
}

static int open_freezes(const arguments *args, run *r)
{
    ctn_error err;
    r->save_freeze = args->value[OPT_SAVE_FREEZE];
    if (!r->save_freeze) return EXIT_OK;
    r->command = command_line(args);
    r->freezes = freezes_open(r->save_freeze, r->s.scene, r->command, NULL, &err);
    return r->freezes ? EXIT_OK : run_error("%s", err.message);
}

/// Everything before the first step. Returns an exit status; close_run is due in any case.
static int open_run(const arguments *args, run *r)
{
    ctn_error err;
    int status = setup_open_to_step(args, &r->s);
    if (status != EXIT_OK) return status;
    r->out = args->value[OPT_OUT], r->plot = plot_option(args), r->every = 1;
    if (!whole_option(args, OPT_EVERY, 1, 1000000000, &r->every)) return EXIT_USAGE;
    if (args->value[OPT_EVERY] && !r->out) return usage_error("--every says how often to record; give --out FILE with it");
    r->hashes = args->value[OPT_HASH] != NULL;
    if (r->hashes && !r->out) return usage_error("--hash goes into a recording; give --out FILE.h5 with it");
    if ((status = run_length(args, &r->s, &r->steps)) != EXIT_OK) return status;
    if (r->plot.path && (status = check_plot(&r->plot, r->s.scene)) != EXIT_OK) return status;
    if (r->out && (status = keep_scene(OPT_OUT, r->out, r->s.scene)) != EXIT_OK) return status;
    const char *const command = args->value[OPT_CONTROL];
    if (command && r->s.cfg.worlds != 1) return usage_error("--control steers one world, not %d", r->s.cfg.worlds);
    if (command && args->value[OPT_SAVE_FREEZE])
        return usage_error("--save-freeze: the steps of a run with --control cannot be made again; record them with --out");
    if (command && !(r->control = controller_open(command, &r->s, &r->s.cfg))) return EXIT_RUN;
    r->batch = ctn_batch_create(r->s.model, &r->s.cfg, &err);
    if (!r->batch) return status_error(&err, "");
    const size_t worlds = (size_t)r->s.cfg.worlds;
    r->total = calloc(worlds, sizeof *r->total);
    r->since = calloc(worlds, sizeof *r->since);
    r->q = calloc(worlds * (size_t)ctn_model_nq(r->s.model) + 1, sizeof *r->q);
    r->v = calloc(worlds * (size_t)ctn_model_nv(r->s.model) + 1, sizeof *r->v);
    r->samples = calloc(MOST_SAMPLES + 2, sizeof *r->samples);
    r->braking = braking_open(r->s.model, BRAKING_STATES);
    if (!r->total || !r->since || !r->q || !r->v || !r->samples || !r->braking) return run_error("not enough memory");
    r->dyn = ctn_dynamics_create(r->s.model, ctn_batch_configuration(r->batch)->engine, &err);
    if (!r->dyn) return status_error(&err, "");
    r->stride = (r->steps + MOST_SAMPLES - 1) / MOST_SAMPLES;
    if (r->stride < 1) r->stride = 1;
    if ((status = open_freezes(args, r)) != EXIT_OK) return status;
    return r->out ? open_recording(args, r) : EXIT_OK;
}

/// Notes a failure of the recording, or of the engine that it reads, which ends the run: its rest would be lost.
static void check_recording(run *r, ctn_status status, const ctn_error *err)
{
    if (status == CTN_OK || r->lost) return;
    status_error(err, "");
    r->lost = true, r->failed = status == CTN_UNAVAILABLE;
}

static void record(run *r)
{
    ctn_error err;
    if (r->recorder && !r->lost) check_recording(r, ctn_recorder_add(r->recorder, r->since, &err), &err);
}

static void hash(run *r)
{
    ctn_error err;
    if (r->hashes && !r->lost) check_recording(r, ctn_recorder_hash(r->recorder, &err), &err);
}

/// Saves the worlds that froze in a call of `n` steps; 0: before the first one.
static void save_freezes(run *r, const ctn_step_stats *part, long n)
{
    ctn_error err;
    if (r->lost) return;
    check_recording(r, n ? freezes_look(r->freezes, part, n, &err) : freezes_begin(r->freezes, r->batch, 0, NULL, &err), &err);
}

static void sample(run *r)
{
    ctn_totals t;
    if (!r->plot.path || r->nsample > MOST_SAMPLES) return;
    ctn_batch_state(r->batch, r->q, r->v);
    ctn_dynamics_set_time(r->dyn, ctn_batch_time(r->batch, 0));
    ctn_energy_momentum(r->dyn, 1, r->q, r->v, &t);
    r->samples[r->nsample++] =
        (energy_sample){ctn_batch_time(r->batch, 0), t.kinetic, t.potential, t.spring, r->total[0].energy_after};
}

/// For what there is to warn of in the end.
static void note_motion(run *r)
{
    ctn_batch_state(r->batch, r->q, r->v);
    braking_note(r->braking, r->q, r->v, r->total[0].kinetic_after);
}

/// Sums up the statistics of one call. Returns whether a world still runs.
static bool sum_up(run *r, const ctn_step_stats *part, bool fresh)
{
    bool running = false;
    for (int w = 0; w < r->s.cfg.worlds; w++) {
        ctn_step_stats_add(&r->total[w], &part[w]);
        if (fresh) r->since[w] = part[w];
        else ctn_step_stats_add(&r->since[w], &part[w]);
        running = running || !part[w].frozen;
    }
    return running;
}

/// Asks the controller, if there is one, what to do in the next step. False: the run ends.
static bool ask_controller(run *r)
{
    const control_answer answer = r->control ? controller_ask(r->control, r->batch, r->done) : CONTROL_GOES_ON;
    if (answer == CONTROL_GOES_ON) return true;
    r->interrupted = stop_asked();
    return false;
}

/// Makes steps; false if the engine fails, which ends the run, or a signal has come, and they are not made.
static bool make_steps(run *r, long n, ctn_step_stats *stats)
{
    ctn_error err;
    const ctn_status status = ctn_batch_step(r->batch, (int)n, stats, &err);
    r->failed = step_outcome(status, &err) != EXIT_OK, r->interrupted = r->interrupted || status == CTN_INTERRUPTED;
    return !r->failed && status != CTN_INTERRUPTED;
}

/// Steps until the end, a signal, a failed recording, a failed engine, or the last world freezes. `part` [worlds].
static void step_all(run *r, ctn_step_stats *part, progress *bar)
{
    const double start = clock_now();
    double flushed = start;
    const long stride = braking_stride(r->braking, r->steps);
    long piece = 1;  // steps at a time
    bool running = true, recorded = true, sampled = true;
    if (!make_steps(r, 0, r->total)) return;
    memcpy(r->since, r->total, (size_t)r->s.cfg.worlds * sizeof *r->since);
    record(r);
    hash(r);
    sample(r);
    note_motion(r);
    save_freezes(r, NULL, 0);
    while (r->done < r->steps && running && !r->lost && !(r->interrupted = stop_asked())) {
        const long left = r->steps - r->done, to_record = r->recorder ? r->every - r->done % r->every : left,
                   to_sample = r->plot.path ? r->stride - r->done % r->stride : left, to_note = stride - r->done % stride;
        if (!ask_controller(r)) break;
        long n = r->hashes || r->control ? 1 : piece < left ? piece : left;
        n = to_record < n ? to_record : n;
        n = to_sample < n ? to_sample : n;
        n = to_note < n ? to_note : n;
        n = freezes_room(r->freezes) < n ? freezes_room(r->freezes) : n;
        const double before = clock_now();
        if (!make_steps(r, n, part)) {
            if (r->failed) return;
            break;
        }
        const double after = clock_now();
        piece = next_piece(piece, n, after - before);
        running = sum_up(r, part, recorded);
        save_freezes(r, part, n);
        r->done += n;
        hash(r);
        recorded = n == to_record, sampled = n == to_sample;
        if (recorded) record(r);
        else if (r->recorder && after - flushed > 0.5) {
            ctn_error err;
            check_recording(r, ctn_recorder_flush(r->recorder, &err), &err);
            flushed = after;
        }
        if (sampled) sample(r);
        if (n == to_note) note_motion(r);
        progress_show(bar, "step", r->done, r->steps);
    }
    if (!recorded) record(r);  // the last state always
    if (!sampled) sample(r);
    r->wall = clock_now() - start;
    r->done = 0;
    for (int w = 0; w < r->s.cfg.worlds; w++) r->done = r->total[w].steps > r->done ? r->total[w].steps : r->done;
}

/// Prints which worlds froze; false if none did.
static bool report_frozen(const run *r)
{
    enum { MOST = 10 };
    int frozen = 0;
    for (int w = 0; w < r->s.cfg.worlds; w++) {
        const ctn_step_stats *const t = &r->total[w];
        char why[512];
        if (t->frozen && frozen++ < MOST)
            run_error("world %d is frozen at %.9g s: %s", w, t->frozen_time,
                      ctn_freeze_report(r->s.model, &r->s.cfg, t, why, sizeof why));
    }
    if (frozen > MOST) run_error("... and %d more worlds", frozen - MOST);
    if (frozen && r->freezes && !r->lost)
        run_error("the last steps of worlds that froze are in %s; 'catena replay' makes them again", r->save_freeze);
    return frozen > 0;
}

static int step_and_report(const arguments *args, run *r)
{
    const bool quiet = args->value[OPT_QUIET] != NULL;
    ctn_step_stats *const part = calloc((size_t)r->s.cfg.worlds, sizeof *part);
    if (!part) return run_error("not enough memory");
    progress bar = progress_start(quiet);
    catch_signals();
    step_all(r, part, &bar);
    progress_end(&bar);
    free(part);
    ctn_error err;
    r->records = r->recorder ? ctn_recorder_count(r->recorder) : 0;
    const ctn_status closed = ctn_recorder_close(r->recorder, &err);
    r->recorder = NULL;
    check_recording(r, closed, &err);

    ctn_batch_state(r->batch, r->q, r->v);
    if (r->failed || !make_steps(r, 0, NULL))  // the latter says whether reading states failed
        return run_error("the run ends after %ld of %ld step%s%s", r->done, r->steps, plural(r->steps),
                         r->out ? "; the recording has what came before" : "");
    bool braked;
    if (!braking_found(r->braking, &r->s.cfg, &r->total[0], ctn_batch_time(r->batch, 0), &braked, r->braked))
        return run_error("not enough memory");
    if (!quiet) warn_lines(r->braked);
    int status = r->lost || r->interrupted ? EXIT_RUN : EXIT_OK;
    if (r->plot.path && draw_energies(r) != EXIT_OK) status = EXIT_RUN;
    if (args->value[OPT_JSON]) {
        if (print_json_summary(r) != EXIT_OK) status = EXIT_RUN;
    } else if (!quiet) print_summary(r);
    fflush(stdout);
    if (report_frozen(r)) status = EXIT_RUN;
    if (r->interrupted) run_error("interrupted after %ld of %ld step%s", r->done, r->steps, plural(r->steps));
    return status;
}

static int run_main(const arguments *args)
{
    run r = {0};
    int status = open_run(args, &r);
    if (status == EXIT_OK) status = step_and_report(args, &r);
    close_run(&r);
    return controller_close(r.control, status);
}

const command command_run = {
    .name = "run",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Steps a scene, prints a summary, and records or draws what happens.",
    .about = "Options override what the scene says. All worlds start from the scene's initial state.\n"
             "Ctrl-C ends the run in good order: the recording is closed and the summary printed.\n"
             "Exit status: 0 success; 1 a world froze, the run was interrupted, the engine failed, or a file\n"
             "could not be written; 2 bad usage or a bad scene; that of --control's process, if it failed.\n",
    .takes = TAKES_METHOD | TAKES(OPT_CONTROL) | TAKES(OPT_STEPS) | TAKES(OPT_DURATION) | TAKES(OPT_OUT) | TAKES(OPT_EVERY) |
             TAKES(OPT_HASH) | TAKES(OPT_SAVE_FREEZE) | TAKES(OPT_PLOT) | TAKES(OPT_JSON) | TAKES(OPT_QUIET),
    .out = "record to FILE: .csv, .h5 or .hdf5",
    .plot = "draw the energies over time: .png, .svg or .pdf, by gnuplot",
    .examples = "  catena run scenes/double-pendulum.yaml\n"
                "  catena run scenes/chain40.yaml --dt 0.1 --duration 60 --plot energy.png\n"
                "  catena run scenes/iiwa14.yaml --method rk4 --dt 0.001 --out arm.h5 --every 10\n"
                "  catena run scenes/humanoid.yaml --steps 100 --json | jq .energy\n"
                "  catena run scenes/arm-reach.yaml --control 'python3 controller.py' --out reach.h5\n",
    .main = run_main,
};
