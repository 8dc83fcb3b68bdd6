/// `catena search`: finds the parameters of a scene's controller (control/search.h), and writes the scene that has them.
#include "cli/commands/commands.h"
#include "cli/commands/own_reward.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/processes.h"
#include "cli/base/setup.h"
#include "cli/base/stop.h"
#include "control/search.h"
#include "sim/base/clock.h"
#include "sim/base/new_file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What the command line asks for.
typedef struct {
    setup s;
    const char *out;
    char *checkpoint;  // beside it
    long generations;
    double duration;
    bool quiet;
    own_reward *reward;  // NULL: the scene's alone
} asked;

/// Whether two files lie in one folder.
static bool same_folder(const char *a, const char *b)
{
    const char *const paths[] = {a, b};
    char folder[2][PATH_MAX], *real[2];
    for (int k = 0; k < 2; k++) {
        const char *const slash = strrchr(paths[k], '/');
        snprintf(folder[k], sizeof folder[k], "%.*s", slash ? (int)(slash - paths[k]) + 1 : 1, slash ? paths[k] : ".");
        real[k] = realpath(folder[k], NULL);
    }
    const bool same = real[0] && real[1] && !strcmp(real[0], real[1]);
    free(real[0]), free(real[1]);
    return same;
}

static int read_options(const arguments *args, asked *a)
{
    const int status = setup_open_to_step(args, &a->s);
    if (status != EXIT_OK) return status;
    scene_search *const search = &a->s.scene->search;
    long seed = search->seed;
    a->out = args->value[OPT_OUT], a->quiet = args->value[OPT_QUIET] != NULL;
    a->generations = search->generations, a->duration = ctn_scene_duration(a->s.scene);
    if (!a->out) return usage_error("--out is missing: the file of the scene that is found, .yaml");
    if (!number_option(args, OPT_DURATION, &a->duration) || !whole_option(args, OPT_SEED, 0, 2147483647, &seed) ||
        !whole_option(args, OPT_GENERATIONS, 1, 100000000, &a->generations))
        return EXIT_USAGE;
    search->seed = (int)seed;
    if (a->s.scene->nfile > 1 && !same_folder(a->out, a->s.scene->path))
        return usage_error("--out: the scene names other files by where they lie; name a file in the folder of the scene");
    const int kept = keep_scene(OPT_OUT, a->out, a->s.scene);
    if (kept != EXIT_OK) return kept;
    a->checkpoint = malloc(strlen(a->out) + 12);
    if (!a->checkpoint) return run_error("not enough memory");
    strcat(strcpy(a->checkpoint, a->out), ".checkpoint");
    return EXIT_OK;
}

static void print_generation(const asked *a, const search *s, long before, double seconds)
{
    const search_state x = search_get_state(s);
    const long made = x.generation - before;
    const double each = seconds / (double)made, left = each * (double)(a->generations - x.generation);
    if (a->quiet) return;
    printf("generation %-5ld evaluations %-7ld best %-11.6g mean %-11.5g sigma %-9.3g ratio %-8.3g %.0f/s, %.0f s left\n",
           x.generation, x.evaluations, x.best, x.mean, x.sigma, x.ratio, (double)search_worlds(s) / each, left > 0 ? left : 0);
    fflush(stdout);
}

/// Generations up to the last one, each with a checkpoint.
static int make_generations(const asked *a, search *s, ranks *r)
{
    ctn_error err;
    const long before = search_get_state(s).generation;
    const double began = clock_now();
    while (search_get_state(s).generation < a->generations && !search_get_state(s).over) {
        const ctn_status status = search_step(s, &err);
        if (status == CTN_INTERRUPTED && r->rank) return EXIT_RUN;
        if (status == CTN_INTERRUPTED)
            return search_get_state(s).generation ? run_error("interrupted after %ld generations; --resume goes on from there",
                                                              search_get_state(s).generation)
                                                  : run_error("interrupted before the first generation was made");
        int made = status == CTN_OK ? EXIT_OK : engine_error(&err);
        if (made == EXIT_OK && !r->rank && search_save(s, a->checkpoint, &err) != CTN_OK) status_error(&err, ""), made = EXIT_RUN;
        if (r->worst(r, made) != EXIT_OK) return EXIT_RUN;
        print_generation(a, s, before, clock_now() - began);
    }
    return EXIT_OK;
}

/// Writes the scene, and says what it is worth.
static int write_found(const asked *a, const search *s)
{
    ctn_error err;
    const search_state x = search_get_state(s);
    const int count = search_parameters(s);
    double *const found = malloc((size_t)count * sizeof *found);
    double value = NAN, fine = NAN;
    char about[300], *text = NULL;
    if (!found) return run_error("not enough memory");
    int status = EXIT_OK;
    if (search_best(s, found, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    else if (search_value(s, found, 1, &value, &err) != CTN_OK || search_value(s, found, 10, &fine, &err) != CTN_OK)
        status = engine_error(&err);
    if (status == EXIT_OK) {
        snprintf(about, sizeof about,
                 "Found by catena search: reward %.6g in its steps, %.6g in steps a tenth as long; %ld evaluations.", value, fine,
                 x.evaluations);
        text = search_scene(a->s.scene, found, count, about, &err);
        if (!text) status = status_error(&err, "");
    }
    new_file f = {0};
    if (status == EXIT_OK && new_file_open(&f, a->out, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    if (status == EXIT_OK) {
        fputs(text, f.stream);
        if (new_file_close(&f, true, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    }
    if (status == EXIT_OK && !a->quiet) {
        printf("found         %s, %d parameters after %ld evaluations in %ld generations\n", clean(a->out).text, count,
               x.evaluations, x.generation);
        printf("reward        %.6g in steps of %g s, %.6g in steps of %g s\n", value, a->s.cfg.dt, fine, a->s.cfg.dt / 10);
        if (x.lost) printf("lost          %ld candidates froze, or earned no number\n", x.lost);
    }
    if (status == EXIT_OK && !(fabs(value - fine) <= 0.1 * fabs(value)))
        warning("what was found earns %.3g in its steps and %.3g in a tenth of them: it lives by the size of the steps; search "
                "in smaller ones",
                value, fine);
    free(found), free(text);
    return status;
}

/// Whether what is found can be written, before it is looked for.
static int check_writing(const asked *a, const search *s)
{
    ctn_error err;
    const int count = search_parameters(s);
    double *const zero = calloc((size_t)count, sizeof *zero);
    char *const text = zero ? search_scene(a->s.scene, zero, count, "", &err) : NULL;
    const int status = text ? EXIT_OK : zero ? status_error(&err, "") : run_error("not enough memory");
    free(zero), free(text);
    return status;
}

/// Of one of several processes.
static int share_search(const arguments *args, asked *a, ranks *r)
{
    ctn_error err;
    int status = EXIT_OK;
    for (int turn = 0; turn < 2 && status == EXIT_OK; turn++) {  // rank 0 first: what is wrong for all is said once
        if (turn == (r->rank > 0)) status = read_options(args, a);
        status = r->worst(r, status);
    }
    if (status != EXIT_OK) return status;
    a->s.cfg.interrupt = stop_flag();
    if (args->value[OPT_REWARD]) a->reward = own_reward_open(args->value[OPT_REWARD], &a->s, a->duration, r);
    status = r->worst(r, args->value[OPT_REWARD] && !a->reward ? EXIT_RUN : EXIT_OK);
    if (status != EXIT_OK) return status;
    const search_reward own = a->reward ? own_reward_of(a->reward) : (search_reward){0};
    search *const s = search_open(a->s.scene, &a->s.cfg, a->duration, r, a->reward ? &own : NULL, &err);
    if (!s) status = r->rank ? EXIT_USAGE : status_error(&err, "");
    else if (args->value[OPT_RESUME] && search_restore(s, a->checkpoint, &err) != CTN_OK)
        status = r->rank ? EXIT_USAGE : status_error(&err, "--resume: ");
    if (s && status == EXIT_OK && !r->rank) status = check_writing(a, s);
    status = r->worst(r, status);
    if (status == EXIT_OK) {
        catch_signals();
        status = make_generations(a, s, r);
        if (status == EXIT_OK && !r->rank) status = write_found(a, s);
    }
    search_close(s);
    return r->worst(r, status);
}

static int search_main(const arguments *args)
{
    arguments own = *args;
    asked a = {0};
    ranks r;
    int status = processes_open(&r);
    if (r.rank) own.value[OPT_QUIET] = "";
    if (status == EXIT_OK) status = share_search(&own, &a, &r);
    if (own_reward_close(a.reward, EXIT_OK) != EXIT_OK && status == EXIT_OK) status = EXIT_RUN;
    setup_close(&a.s);
    processes_close(&r);
    free(a.checkpoint);
    return r.rank ? status : end_output(status);
}

const command command_search = {
    .name = "search",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Finds the parameters of a scene's controller by CMA-ES.",
    .about = "The scene has a `controller:`, whose parameters are looked for, a `reward:`, of which there is to be as\n"
             "much as can be, a `duration:`, and perhaps a `search:`. All candidates of a generation are stepped side by\n"
             "side. The scene that is written has what was found in its controller; run, view, render and rollout open\n"
             "it. What it earns is told in its own steps and in a tenth of them.\n"
             "Each generation leaves a checkpoint beside the file, FILE.checkpoint, from which --resume goes on with the\n"
             "same bits, also with more --generations. The defaults of --generations and --seed are those of `search:`.\n"
             "With --reward CMD a process beside says what worlds earn, in the place of `reward:` or besides it.\n"
             "Processes that mpirun starts (of catena-mpi) share the candidates.\n"
             "Exit status: 0 success; 1 interrupted, or the file could not be written; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_WORLDS)) | TAKES(OPT_DURATION) | TAKES(OPT_SEED) | TAKES(OPT_GENERATIONS) |
             TAKES(OPT_RESUME) | TAKES(OPT_REWARD) | TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the file of the scene that is found: .yaml",
    .examples = "  catena search scenes/swimmer-search.yaml --out swimmer-found.yaml\n"
                "  catena search scenes/swimmer-search.yaml --out swimmer-found.yaml --generations 200 --resume\n",
    .main = search_main,
};
