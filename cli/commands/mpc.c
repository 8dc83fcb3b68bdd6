/// `catena mpc`: model predictive control of a plant by a scene's plans (control/mpc.h), the table of what happened, and a recording.
#include "cli/commands/commands.h"
#include "cli/commands/mpc_asked.h"
#include "cli/commands/mpc_options.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "dynamics/model.h"
#include "sim/base/new_file.h"
#include "sim/record/record.h"

#include <catena/motors.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What is really moved: one world, whose motors are told.
typedef struct {
    ctn_model model;  // as compiled, but without a controller
    ctn_batch *batch;
    ctn_recorder *recorder;
    ctn_parameter *list;
    int hold;              // steps of a knot
    ctn_step_stats stats;  // of the last step
} moved;

static int read_options(const arguments *args, mpc_asked *a)
{
    int status = setup_open_to_step(args, &a->s);
    if (status != EXIT_OK) return status;
    a->out = args->value[OPT_OUT], a->quiet = args->value[OPT_QUIET] != NULL;
    a->duration = ctn_scene_duration(a->s.scene);
    if (!a->out) return usage_error("--out is missing: the file of the table of what happens, .csv, or of a recording, .h5");
    a->worlds = args->value[OPT_WORLDS] ? a->s.cfg.worlds : 0;
    if (!args->value[OPT_THREADS] && !a->worlds) a->s.cfg.threads = 1;  // a plan is made of short pieces of work
    if (!number_option(args, OPT_DURATION, &a->duration) || !mpc_options(args, a->s.scene, &a->how, &a->seed)) return EXIT_USAGE;
    const char *const dot = named_hdf5(a->out) ? strrchr(a->out, '.') : NULL;
    a->table = malloc(strlen(a->out) + sizeof ".csv");
    if (!a->table) return run_error("not enough memory");
    sprintf(a->table, "%.*s%s", dot ? (int)(dot - a->out) : (int)strlen(a->out), a->out, dot ? ".csv" : "");
    if (args->value[OPT_PLANT]) {
        arguments other = *args;                      // by its own method and steps, but for what the command line says
        char *path = (char *)args->value[OPT_PLANT];  // is only read
        other.files = &path;
        status = setup_open_to_step(&other, &a->plant);
    }
    const ctn_scene *const kept[] = {a->s.scene, a->plant.scene};
    for (int k = 0; k < 2 && kept[k] && status == EXIT_OK; k++) {
        status = keep_scene(OPT_OUT, a->out, kept[k]);
        if (status == EXIT_OK) status = keep_scene(OPT_OUT, a->table, kept[k]);
    }
    if (status == EXIT_OK) status = keep_output(a->out);
    if (status == EXIT_OK) status = keep_output(a->table);
    const scene_optimize *const o = &a->s.scene->optimize;
    int hold;
    const double knot = o->knot > 0 ? o->knot : a->s.cfg.dt;
    if (status == EXIT_OK && ((a->plant.scene && !mpc_plant(a, knot, &hold)) || !mpc_knots(a, knot))) status = EXIT_USAGE;
    if (status == EXIT_OK && (o->method == 1 || o->backward > 1 || o->forward > 1))
        warning("%s: `method: plancher`, `backward` and `forward` are for catena optimize; plans that are made anew are by "
                "iterative LQR in one piece",
                clean(a->s.scene->path).text);
    return status;
}

// ---- the plant

const setup *mpc_plant(const mpc_asked *a, double knot, int *hold)
{
    const setup *const s = a->plant.scene ? &a->plant : &a->s;
    const int nq = ctn_model_nq(a->s.model), nv = ctn_model_nv(a->s.model), nu = ctn_model_ntarget(a->s.model);
    const double steps = knot / s->cfg.dt;
    *hold = (int)rint(steps);
    if (ctn_model_nq(s->model) != nq || ctn_model_nv(s->model) != nv || ctn_model_ntarget(s->model) != nu)
        return usage_error("--plant: it has %d coordinates and %d numbers that motors are told, the scene %d and %d",
                           ctn_model_nq(s->model), ctn_model_ntarget(s->model), nq, nu),
               NULL;
    if (!(fabs(steps - rint(steps)) <= 1e-9 * steps) || rint(steps) < 1)
        return usage_error("--plant: a knot of %g s is no whole number of its steps of %g s", knot, s->cfg.dt), NULL;
    return s;
}

/// An exit status; close_plant is due in any case.
static int open_plant(const arguments *args, const mpc_asked *a, double knot, moved *p)
{
    ctn_error err;
    const int nu = ctn_model_ntarget(a->s.model);
    const setup *const s = mpc_plant(a, knot, &p->hold);
    if (!s) return EXIT_USAGE;
    p->model = *s->model, p->model.controller = NULL;
    p->list = calloc((size_t)nu + 1, sizeof *p->list);
    if (!p->list) return run_error("not enough memory");
    ctn_model_target_parameters(&p->model, p->list);
    ctn_batch_config cfg = s->cfg;
    cfg.worlds = 1, cfg.threads = 1, cfg.parallel = CTN_PARALLEL_WORLDS, cfg.parameters = p->list, cfg.parameter_count = nu;
    p->batch = ctn_batch_create(&p->model, &cfg, &err);
    if (!p->batch) return status_error(&err, "");
    if (!named_hdf5(a->out)) return EXIT_OK;
    ctn_record_config record = ctn_record_config_default();
    char *const line = command_line(args);
    record.command = line;
    p->recorder = ctn_recorder_create(a->out, s->scene, &p->model, p->batch, &record, &err);
    free(line);
    if (!p->recorder || ctn_batch_step(p->batch, 0, &p->stats, &err) != CTN_OK ||
        ctn_recorder_add(p->recorder, &p->stats, &err) != CTN_OK)
        return status_error(&err, ""), EXIT_RUN;
    return EXIT_OK;
}

static int close_plant(moved *p, int status)
{
    ctn_error err;
    if (ctn_recorder_close(p->recorder, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    ctn_batch_free(p->batch);
    free(p->list);
    return status;
}

/// A knot in which motors are told u.
static int move(moved *p, const double *u)
{
    ctn_error err;
    if (ctn_batch_set_parameters(p->batch, u, &err) != CTN_OK) return engine_error(&err);
    for (int k = 0; k < p->hold; k++) {
        const ctn_status status = ctn_batch_step(p->batch, 1, &p->stats, &err);
        char why[512];
        if (status == CTN_FROZEN)
            return run_error("the plant froze at %g s: %s", p->stats.frozen_time,
                             ctn_freeze_report(&p->model, ctn_batch_configuration(p->batch), &p->stats, why, sizeof why));
        if (status == CTN_OK && p->recorder && ctn_recorder_add(p->recorder, &p->stats, &err) != CTN_OK)
            return status_error(&err, ""), EXIT_RUN;
        if (status != CTN_OK) return engine_error(&err), EXIT_RUN;
    }
    return EXIT_OK;
}

// ---- the loop

/// What is to be told of all knots.
typedef struct {
    double *seconds, *iterations;  // [knots], of plans
    int knots, late;               // of these: which took longer than a knot
} told;

void mpc_names(FILE *to, const char *prefix, int count)
{
    for (int i = 0; i < count; i++) fprintf(to, ",%s%d", prefix, i);
}

void mpc_numbers(FILE *to, const double *x, int count)
{
    for (int i = 0; i < count; i++) fprintf(to, ",%.17g", x[i]);
}

int mpc_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

const char *mpc_unit(cost_term term) { return term == COST_POSTURE ? "(rad, m)" : term == COST_ORIENTATION ? "rad" : "m"; }

void mpc_print_limit(const scene_limit *limit, double missed)
{
    if (limit->end) printf("  %-11s of the end of plans\n", cost_term_name(limit->of.term));
    else printf("  %-11s missed by %.2g at most, where knots began\n", cost_term_name(limit->of.term), missed);
}

void mpc_warn_of_limits(const scene_optimize *o, double violation)
{
    if (violation > o->limit_tolerance)
        warning(
            "the first plan misses limits by up to %.2g, more than `limit_tolerance`, %g, and the next ones have few iterations: "
            "give `optimize` more of them, another `guess` or `penalty`, or limits that can be kept",
            violation, o->limit_tolerance);
}

const char *mpc_planner_of(const mpc_asked *a)
{
    return a->how.planner == PLANNER_ILQR && a->s.scene->optimize.method == 2 ? "ddp" : mpc_planner_names[a->how.planner];
}

static void print_summary(const mpc_asked *a, const mpc *m, told *t, const double *x, int nq, int nv)
{
    const mpc_state state = mpc_get_state(m), *const end = &state;
    const int n = t->knots;
    int missed = 0;
    for (int k = 0; k < n; k++) missed += a->how.deadline > 0 && t->seconds[k] > a->how.deadline;
    qsort(t->seconds, (size_t)n, sizeof *t->seconds, mpc_compare),
        qsort(t->iterations, (size_t)n, sizeof *t->iterations, mpc_compare);
    printf("followed      %g s, %d knots of %g s, plans of %g s by %s\n", end->time, end->knot, end->length, a->how.horizon,
           mpc_planner_of(a));
    if (a->how.within > 0 && isfinite(end->started)) printf("targets       began to move at %g s\n", end->started);
    else if (a->how.within > 0) printf("targets       stood all the time: nothing came near to them\n");
    for (int k = 0; k < a->s.scene->optimize.ncost; k++) {
        const cost_term term = a->s.scene->optimize.cost[k].term;
        double rms, most;
        if (mpc_distance(m, k, &rms, &most))
            printf("  %-11s %.4g %s from its target as root of the mean square, %.4g at most\n", cost_term_name(term), rms,
                   mpc_unit(term), most);
    }
    if (a->s.scene->optimize.nlimit) printf("limits        the last plan misses them by up to %.2g\n", end->violation);
    for (int k = 0; k < a->s.scene->optimize.nlimit; k++) {
        const scene_limit *const t = &a->s.scene->optimize.limits[k];
        mpc_print_limit(t, mpc_missed(m, k));
    }
    printf("cost          %.6g over time, %.6g planned from there\n", end->cost, end->planned);
    printf("iterations    %g median, %g at least, %g at most\n", t->iterations[n / 2], t->iterations[0], t->iterations[n - 1]);
    printf("plans         %.3f ms median, %.3f ms at most; %d of %d took longer than a knot", 1e3 * t->seconds[n / 2],
           1e3 * t->seconds[n - 1], t->late, n);
    if (a->how.deadline > 0) printf(", %d than the deadline", missed);
    printf("\n  q           [");
    for (int i = 0; i < nq; i++) printf(i ? ", %.6g" : "%.6g", x[i]);
    printf("]\n  v           [");
    for (int i = 0; i < nv; i++) printf(i ? ", %.6g" : "%.6g", x[nq + i]);
    printf("]\n");
}

int mpc_knots(const mpc_asked *a, double knot)
{
    const double whole = a->duration / knot;
    if (whole >= 1 && whole < 1e7 && fabs(whole - rint(whole)) <= 1e-6 * whole) return (int)rint(whole);
    if (!(a->duration > 0))
        usage_error("--duration is missing, and %s has no `duration`: say how long to follow", clean(a->s.scene->path).text);
    else usage_error("--duration: expected a whole number, up to ten million, of knots of %g s, found %g s", knot, a->duration);
    return 0;
}

/// Knot after knot; a row has the state that a knot begins with.
static int follow(const mpc_asked *a, mpc *m, moved *p, FILE *to)
{
    ctn_error err;
    const int nq = ctn_model_nq(a->s.model), nv = ctn_model_nv(a->s.model), nu = ctn_model_ntarget(a->s.model);
    const double length = mpc_get_state(m).length;
    told t = {.knots = mpc_knots(a, length)};
    if (!t.knots) return EXIT_USAGE;
    t.seconds = calloc(2 * (size_t)t.knots, sizeof *t.seconds), t.iterations = t.seconds + t.knots;
    double *const x = calloc((size_t)(nq + nv + nu) + 1, sizeof *x), *const u = x + nq + nv;
    int status = t.seconds && x ? EXIT_OK : run_error("not enough memory");
    fputs("time", to), mpc_names(to, "u", nu), mpc_names(to, "q", nq), mpc_names(to, "v", nv);
    fputs(",planned,iterations,seconds\n", to);
    for (int k = 0; k < t.knots && status == EXIT_OK; k++) {
        ctn_batch_state(p->batch, x, x + nq);
        const ctn_status made = mpc_step(m, x, u, &err);
        const mpc_state now = mpc_get_state(m);
        if (*stop_flag()) status = run_error("interrupted at %g s", k * length);
        else if (made != CTN_OK) status = engine_error(&err), status = made == CTN_FROZEN ? EXIT_RUN : status;
        if (status != EXIT_OK) break;
        t.seconds[k] = now.seconds, t.iterations[k] = now.iterations, t.late += now.seconds > length;
        fprintf(to, "%.17g", k * length), mpc_numbers(to, u, nu), mpc_numbers(to, x, nq + nv);
        fprintf(to, ",%.17g,%d,%.6f\n", now.planned, now.iterations, now.seconds);
        status = move(p, u);
    }
    if (status == EXIT_OK && !a->quiet) {
        ctn_batch_state(p->batch, x, x + nq);
        print_summary(a, m, &t, x, nq, nv);
    }
    free(t.seconds), free(x);
    return status;
}

/// One world.
static int follow_one(const arguments *args, const mpc_asked *a)
{
    ctn_error err;
    moved plant = {0};
    new_file f = {0};
    mpc *const m = mpc_open(a->s.scene, a->s.model, &a->s.cfg, &a->how, a->seed, &err);
    int status = m                               ? EXIT_OK
                 : err.status == CTN_INTERRUPTED ? run_error("interrupted before the first plan")
                                                 : status_error(&err, "");
    if (status == EXIT_OK) mpc_warn_of_limits(&a->s.scene->optimize, mpc_get_state(m).violation);
    if (status == EXIT_OK) status = open_plant(args, a, mpc_get_state(m).length, &plant);
    if (status == EXIT_OK && new_file_open(&f, a->table, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    else if (status == EXIT_OK) {
        status = follow(a, m, &plant, f.stream);
        if (new_file_close(&f, true, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    }
    status = close_plant(&plant, status);
    mpc_close(m);
    return status;
}

static int mpc_main(const arguments *args)
{
    mpc_asked a = {0};
    int status = read_options(args, &a);
    if (status == EXIT_OK) {
        catch_signals();
        a.s.cfg.interrupt = stop_flag();
        status = a.worlds ? mpc_follow_worlds(args, &a) : follow_one(args, &a);
    }
    if (a.s.scene) setup_close(&a.s);
    if (a.plant.scene) setup_close(&a.plant);
    free(a.table);
    return end_output(status);
}

const command command_mpc = {
    .name = "mpc",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Steers a plant by plans that are made anew in every knot.",
    .about = "The scene has `motors:` and `optimize:`, as for catena optimize. A plan of --horizon seconds is made from its\n"
             "start. Then, knot after knot, motors are told what the plan has, with its gains for where the plant is, while\n"
             "the next plan is made: the last one, moved on, and --iterations of it (default: of the scene, or 2), or as\n"
             "many as --deadline has time for. --planner sampling and mppi are base lines that need no derivatives.\n"
             "--worlds N steers as many plants, which the `sample:` section of their scene makes differ, with plans of their\n"
             "own, over lanes and threads; the table then has a row for each, with its number.\n"
             "--plant SCENE is what is really moved, with other masses, say; it has the same coordinates and motors.\n"
             "--out FILE.csv is a table of time, what motors were told, states, what plans cost, how many iterations they\n"
             "had, and how long each took. --out FILE.h5 records the plant as catena run does, and has the table beside it.\n"
             "Exit status: 0 success; 1 interrupted, frozen, or a file could not be written; 2 bad usage or a bad scene.\n",
    .takes = TAKES_METHOD | TAKES_MPC | TAKES(OPT_DURATION) | TAKES(OPT_PLANT) | TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the file of the table, .csv, or of a recording, .h5, which has the table beside it",
    .examples = "  catena mpc scenes/cartpole-swing-up.yaml --horizon 1.5 --duration 6 --out followed.csv\n"
                "  catena mpc scenes/iiwa14-eight.yaml --deadline 0.008 --out eight.h5\n"
                "  catena mpc scenes/cartpole-swing-up.yaml --plant carts.yaml --worlds 100 --out carts.h5\n"
                "  catena mpc scenes/cartpole-swing-up.yaml --planner mppi --samples 128 --iterations 1 --out sampled.csv\n",
    .main = mpc_main,
};
