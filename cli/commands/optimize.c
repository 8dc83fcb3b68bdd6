/// `catena optimize`: finds what motors are to be told so that a scene's trajectory costs least (control/trajectory.h), and writes the
/// scene that plays it.
#include "cli/commands/commands.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/setup.h"
#include "cli/base/stop.h"
#include "cli/plots/optimize_table.h"
#include "control/trajectory.h"
#include "sim/base/clock.h"
#include "sim/base/new_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What the command line asks for.
typedef struct {
    setup s;
    const char *out;
    char *checkpoint, *table, *plan;  // beside it
    long iterations;
    double duration;
    bool quiet;
} asked;

/// FILE without ".yaml", and the ending.
static char *beside_out(const char *out, const char *ending)
{
    const size_t length = strlen(out), stem = length > 5 && !strcmp(out + length - 5, ".yaml") ? length - 5 : length;
    char *const path = malloc(length + strlen(ending) + 1);
    if (path) sprintf(path, "%.*s%s", (int)stem, out, ending);
    return path;
}

static int read_options(const arguments *args, asked *a)
{
    const int status = setup_open_to_step(args, &a->s);
    if (status != EXIT_OK) return status;
    a->out = args->value[OPT_OUT], a->quiet = args->value[OPT_QUIET] != NULL;
    a->iterations = a->s.scene->optimize.iterations, a->duration = ctn_scene_duration(a->s.scene);
    if (!a->out) return usage_error("--out is missing: the file of the scene that is found, .yaml");
    if (!number_option(args, OPT_DURATION, &a->duration) || !whole_option(args, OPT_ITERATIONS, 0, 100000000, &a->iterations))
        return EXIT_USAGE;
    const char *const slash = strrchr(a->out, '/'), *const dot = strrchr(slash ? slash : a->out, '.');
    if (dot && strcmp(dot, ".yaml"))
        return usage_error("--out: expected a name that ends in .yaml, of a scene, found '%s'", clean(a->out).text);
    if (a->s.scene->nfile > 1 && !same_folder(a->out, a->s.scene->path))
        return usage_error(
            "--out: the scene names other files by where they lie: name a file in the folder of %s, or copy it and "
            "them to where you may write",
            clean(a->s.scene->path).text);
    const int kept = keep_scene(OPT_OUT, a->out, a->s.scene);
    if (kept != EXIT_OK) return kept;
    a->checkpoint = beside_out(a->out, ".checkpoint"), a->table = beside_out(a->out, ".csv");
    a->plan = beside_out(a->out, ".plan.csv");
    if (!a->checkpoint || !a->table || !a->plan) return run_error("not enough memory");
    const char *const written[] = {a->checkpoint, a->table, a->plan};
    for (int k = 0; k < 3; k++)
        if (keep_scene(OPT_OUT, written[k], a->s.scene) != EXIT_OK) return EXIT_USAGE;
    if (strpbrk(a->out, "\"\\\n\r\t")) return usage_error("--out: a name without quotes, backslashes and tabs is needed here");
    const int can = keep_output(a->out);
    return can == EXIT_OK ? keep_output(a->plan) : can;
}

static void print_iteration(const asked *a, const trajectory *t, double seconds)
{
    const ilqr_state x = trajectory_state(t);
    if (a->quiet) return;
    printf("iteration %-4d cost %-14.9g defect %-9.2g gradient %-9.2g rho %-8.3g alpha %-8.4g ", x.iteration, x.cost, x.defect,
           x.gradient, x.rho, x.alpha);
    if (a->s.scene->optimize.nlimit) {
        const lagrangian_state y = trajectory_limits(t);
        printf("violation %-9.2g penalty %-8.3g ", y.violation, y.penalty);
    }
    printf("%.2f s\n", seconds);
    fflush(stdout);
}

/// `seconds`: those that iterations before took.
static int make_iterations(const asked *a, trajectory *t, FILE *table, double seconds)
{
    ctn_error err;
    double saved = clock_now();
    const double began = saved - seconds;
    if (!a->quiet && !trajectory_state(t).iteration) printf("guess          cost %-14.9g\n", trajectory_state(t).cost);
    while (trajectory_state(t).iteration < a->iterations && trajectory_state(t).stop == ILQR_RUNS) {
        const int before = trajectory_state(t).iteration;
        const ctn_status status = trajectory_step(t, &err);
        const bool stops = status == CTN_INTERRUPTED || *stop_flag();
        if (status != CTN_OK && !stops) {  // the trajectory is what it was: a device may have failed
            trajectory_save(t, a->checkpoint, NULL);
            return engine_error(&err);
        }
        const ilqr_state x = trajectory_state(t);
        const lagrangian_state limits = trajectory_limits(t);
        const double now = clock_now();
        if (x.iteration > before && !optimize_table_add(table, a->table, &x, &limits, now - began)) return EXIT_RUN;
        if (stops || now - saved > 1 || x.stop != ILQR_RUNS || x.iteration >= a->iterations) {
            if (trajectory_save(t, a->checkpoint, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
            saved = clock_now();
        }
        if (x.iteration > before) print_iteration(a, t, now - began);
        if (stops)
            return run_error("interrupted after %d iterations; --resume goes on from there", trajectory_state(t).iteration);
    }
    return EXIT_OK;
}

/// What limits are missed by, planned and played, and which of them act.
static void print_limits(const asked *a, const trajectory *t, double coarse, double fine)
{
    const scene_optimize *const o = &a->s.scene->optimize;
    const double planned = trajectory_limits(t).violation;
    printf("limits        missed by %.2g planned, %.2g as the scene plays it, %.2g in steps a tenth as long\n", planned, coarse,
           fine);
    for (int k = 0; k < o->nlimit; k++) {
        int active;
        const double missed = trajectory_limit(t, k, &active);
        printf("  %-12s missed by %.2g, acts at %d of %d knots\n", cost_term_name(o->limits[k].of.term), missed, active,
               trajectory_knots(t));
    }
    if (planned > o->limit_tolerance)
        warning(
            "the plan misses limits by up to %.2g, more than `limit_tolerance`, %g: take more iterations, or limits that can be "
            "kept",
            planned, o->limit_tolerance);
}

/// Writes the plan and the scene, and says what it is worth.
static int write_found(const asked *a, trajectory *t)
{
    ctn_error err;
    const ilqr_state x = trajectory_state(t);
    const char *const slash = strrchr(a->plan, '/');
    char about[300];
    double coarse = NAN, fine = NAN, missed = NAN, missed_fine = NAN;
    snprintf(about, sizeof about, "Found by catena optimize: cost %.9g after %d iterations.", x.cost, x.iteration);
    if (trajectory_write(t, a->plan, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    char *const text = trajectory_scene(a->s.scene, a->out, slash ? slash + 1 : a->plan, about, &err);
    if (!text) return status_error(&err, "");
    new_file f = {0};
    int status = EXIT_OK;
    if (new_file_open(&f, a->out, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    else {
        fputs(text, f.stream);
        if (new_file_close(&f, true, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    }
    free(text);
    if (status == EXIT_OK && (trajectory_value(t, a->out, 1, &coarse, &missed, &err) != CTN_OK ||
                              trajectory_value(t, a->out, 10, &fine, &missed_fine, &err) != CTN_OK))
        status = err.status == CTN_INTERRUPTED
                     ? run_error("interrupted while the plan was played: %s and its plan are written; --resume plays it again",
                                 clean(a->out).text)
                     : engine_error(&err);
    if (status != EXIT_OK || a->quiet) return status;
    static const char *const ends[] = {"ended at the last iteration that was asked for", "optimal", "stuck: no step is better"};
    size_t knot;
    const size_t bytes = trajectory_bytes(t, &knot);
    printf("found         %s, %d knots of %g s, %s after %d iterations\n", clean(a->out).text, trajectory_knots(t),
           trajectory_knot(t), ends[x.stop], x.iteration);
    printf("cost          %.9g planned", x.cost);
    printf(", %.9g as the scene plays it, %.9g in steps a tenth as long\n", coarse, fine);
    for (int k = 0; k < a->s.scene->optimize.ncost; k++) {
        double running;
        const double all = trajectory_plays(t, k, &running);
        printf("  %-12s %.6g over time, %.6g at the end\n", cost_term_name(a->s.scene->optimize.cost[k].term), running,
               all - running);
    }
    if (a->s.scene->optimize.nlimit) print_limits(a, t, missed, missed_fine);
    printf("memory        %.1f MB, %.0f bytes a knot\n", (double)bytes / 1e6, (double)knot);
    if (!(fabs(coarse - x.cost) <= 0.1 * fabs(x.cost)))
        warning(
            "the plan costs %.6g, and %.6g where the scene plays it: its method carries more than positions and velocities from "
            "step to step, or what is planned is not stable; take shorter knots or steps",
            x.cost, coarse);
    else if (!(fabs(fine - coarse) <= 0.1 * fabs(coarse)))
        warning("the plan costs %.6g in its steps and %.6g in a tenth of them: it lives by the size of the steps", coarse, fine);
    return status;
}

static int optimize_main(const arguments *args)
{
    asked a = {0};
    ctn_error err;
    trajectory *t = NULL;
    FILE *table = NULL;
    double seconds = 0;
    int status = read_options(args, &a);
    if (status == EXIT_OK) {
        catch_signals();
        a.s.cfg.interrupt = stop_flag();
        t = trajectory_open(a.s.scene, a.s.model, &a.s.cfg, a.duration, NULL, &err);
        if (!t)
            status = err.status == CTN_INTERRUPTED ? run_error("interrupted before the first iteration") : status_error(&err, "");
    }
    if (status == EXIT_OK && args->value[OPT_RESUME] && trajectory_restore(t, a.checkpoint, &err) != CTN_OK)
        status = status_error(&err, "--resume: ");
    if (status == EXIT_OK && !(table = optimize_table_open(a.table, trajectory_state(t).iteration, &seconds))) status = EXIT_RUN;
    if (status == EXIT_OK) status = make_iterations(&a, t, table, seconds);
    if (table) fclose(table);
    if (status == EXIT_OK) status = write_found(&a, t);
    trajectory_close(t);
    if (a.s.scene) setup_close(&a.s);
    free(a.checkpoint), free(a.table), free(a.plan);
    return end_output(status);
}

const command command_optimize = {
    .name = "optimize",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Finds the cheapest trajectory of a scene by iterative LQR.",
    .about = "The scene has `motors:`, a `duration:` and `optimize:`, which says what a trajectory costs. What motors are\n"
             "told in each knot of time is looked for, from a guess on, until no change makes it cheaper.\n"
             "Three files are written, named after --out FILE.yaml: the scene with a controller that plays what was\n"
             "found, which run, view, render and rollout open; FILE.plan.csv, the plan itself: what motors are told,\n"
             "states, gains that bring the motion back to them, and last what holds it where it ends; FILE.csv, a row an\n"
             "iteration. What the plan costs is told as planned, as the scene plays it, and in steps a tenth as long.\n"
             "Of limits that the scene has, it is told how far they are missed. FILE.checkpoint is where --resume goes on\n"
             "from, with the same bits, also with more --iterations. A scene that plays a plan already begins with that.\n"
             "Exit status: 0 success; 1 interrupted, or a file could not be written; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_WORLDS)) | TAKES(OPT_DURATION) | TAKES(OPT_ITERATIONS) | TAKES(OPT_RESUME) |
             TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the file of the scene that is found: .yaml",
    .examples = "  catena optimize scenes/cartpole-swing-up.yaml --out swing-up.yaml\n"
                "  catena optimize scenes/cartpole-swing-up.yaml --out swing-up.yaml --iterations 300 --resume\n",
    .main = optimize_main,
};
