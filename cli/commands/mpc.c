/// `catena mpc`: model predictive control of a plant by a scene's plans (control/mpc.h), and the table of what happened.
#include "cli/commands/commands.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/setup.h"
#include "cli/base/stop.h"
#include "control/mpc.h"
#include "sim/base/new_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What the command line asks for.
typedef struct {
    setup s, plant;  // plant.scene NULL: the same
    const char *out;
    long iterations, first;
    double duration, horizon;
    bool quiet;
} asked;

static int read_options(const arguments *args, asked *a)
{
    int status = setup_open_to_step(args, &a->s);
    if (status != EXIT_OK) return status;
    a->out = args->value[OPT_OUT], a->quiet = args->value[OPT_QUIET] != NULL;
    a->iterations = 2, a->first = a->s.scene->optimize.iterations;
    a->duration = ctn_scene_duration(a->s.scene), a->horizon = 1;
    if (!a->out) return usage_error("--out is missing: the file of the table of what happens, .csv");
    if (!number_option(args, OPT_DURATION, &a->duration) || !number_option(args, OPT_HORIZON, &a->horizon) ||
        !whole_option(args, OPT_ITERATIONS, 0, 1000000, &a->iterations))
        return EXIT_USAGE;
    status = keep_scene(OPT_OUT, a->out, a->s.scene);
    if (status != EXIT_OK || !args->value[OPT_PLANT]) return status;
    arguments other = *args;                      // by its own method and steps, but for what the command line says
    char *path = (char *)args->value[OPT_PLANT];  // is only read
    other.files = &path;
    status = setup_open_to_step(&other, &a->plant);
    return status == EXIT_OK ? keep_scene(OPT_OUT, a->out, a->plant.scene) : status;
}

static void put_names(FILE *to, const char *prefix, int count)
{
    for (int i = 0; i < count; i++) fprintf(to, ",%s%d", prefix, i);
}

static void put_numbers(FILE *to, const double *x, int count)
{
    for (int i = 0; i < count; i++) fprintf(to, ",%.17g", x[i]);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Knot after knot; a row has the state that a knot begins with.
static int follow(const asked *a, mpc *m, FILE *to)
{
    ctn_error err;
    const int nq = ctn_model_nq(a->s.model), nv = ctn_model_nv(a->s.model), nu = ctn_model_ntarget(a->s.model);
    const mpc_state start = mpc_get_state(m);
    const double whole = a->duration / start.length;
    if (!(whole >= 1 && whole < 1e7) || fabs(whole - rint(whole)) > 1e-6 * whole)
        return usage_error("--duration: expected a whole number, up to ten million, of knots of %g s, found %g s", start.length,
                           a->duration);
    const int knots = (int)rint(whole);
    double *const seconds = calloc((size_t)knots + 1, sizeof *seconds), *const x = calloc((size_t)(nq + nv) + 1, sizeof *x);
    int status = seconds && x ? EXIT_OK : run_error("not enough memory"), late = 0;
    fputs("time", to), put_names(to, "u", nu), put_names(to, "q", nq), put_names(to, "v", nv), fputs(",planned,seconds\n", to);
    for (int k = 0; k < knots && status == EXIT_OK; k++) {
        memcpy(x, start.x, (size_t)(nq + nv) * sizeof *x);
        const ctn_status made = mpc_step(m, &err);
        const mpc_state now = mpc_get_state(m);
        if (*stop_flag()) status = run_error("interrupted at %g s", now.time);
        else if (made != CTN_OK) status = engine_error(&err), status = made == CTN_FROZEN ? EXIT_RUN : status;
        seconds[k] = now.seconds, late += now.seconds > now.length;
        fprintf(to, "%.17g", k * now.length), put_numbers(to, now.u, nu), put_numbers(to, x, nq + nv);
        fprintf(to, ",%.17g,%.6f\n", now.planned, now.seconds);
    }
    const mpc_state end = mpc_get_state(m);
    if (status == EXIT_OK && !a->quiet) {
        qsort(seconds, (size_t)knots, sizeof *seconds, compare);
        printf("followed      %g s, %d knots of %g s, plans of %g s and %ld iterations\n", end.time, end.knot, end.length,
               a->horizon, a->iterations);
        printf("cost          %.6g over time, %.6g planned from there\n", end.cost, end.planned);
        printf("plans         %.3f ms median, %.3f ms at most; %d of %d took longer than a knot\n", 1e3 * seconds[knots / 2],
               1e3 * seconds[knots - 1], late, knots);
        printf("  q           [");
        for (int i = 0; i < nq; i++) printf(i ? ", %.6g" : "%.6g", end.x[i]);
        printf("]\n  v           [");
        for (int i = 0; i < nv; i++) printf(i ? ", %.6g" : "%.6g", end.x[nq + i]);
        printf("]\n");
    }
    free(seconds), free(x);
    return status;
}

static int mpc_main(const arguments *args)
{
    asked a = {0};
    ctn_error err;
    mpc *m = NULL;
    new_file f = {0};
    int status = read_options(args, &a);
    if (status == EXIT_OK) {
        catch_signals();
        const setup *const plant = a.plant.scene ? &a.plant : &a.s;
        m = mpc_open(a.s.scene, a.s.model, &a.s.cfg, plant->model, &plant->cfg, a.horizon, (int)a.iterations, (int)a.first, &err);
        if (!m) status = err.status == CTN_INTERRUPTED ? run_error("interrupted before the first plan") : status_error(&err, "");
    }
    if (status == EXIT_OK && new_file_open(&f, a.out, &err) != CTN_OK) status = status_error(&err, "");
    if (status == EXIT_OK) {
        status = follow(&a, m, f.stream);
        if (new_file_close(&f, true, &err) != CTN_OK) status = status_error(&err, "");
    }
    mpc_close(m);
    if (a.s.scene) setup_close(&a.s);
    if (a.plant.scene) setup_close(&a.plant);
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
             "the next plan is made: the last one, moved on, and --iterations of iterative LQR (default 2).\n"
             "--plant SCENE is what is really moved, with other masses, say; it has the same coordinates and motors.\n"
             "--out FILE.csv is a table of time, what motors were told, states, what plans cost, and how long each took.\n"
             "Exit status: 0 success; 1 interrupted, frozen, or the file could not be written; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_WORLDS)) | TAKES(OPT_DURATION) | TAKES(OPT_ITERATIONS) | TAKES(OPT_HORIZON) |
             TAKES(OPT_PLANT) | TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the file of the table: .csv",
    .examples = "  catena mpc scenes/cartpole-swing-up.yaml --horizon 1.5 --duration 6 --out followed.csv\n",
    .main = mpc_main,
};
