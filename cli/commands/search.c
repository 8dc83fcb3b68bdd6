/// `catena search`: finds the parameters of a scene's controller (control/search.h), and writes the scene that has them.
#include "cli/commands/commands.h"
#include "cli/commands/own_reward.h"
#include "cli/plots/search_table.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/processes.h"
#include "cli/base/setup.h"
#include "cli/base/stop.h"
#include "control/search.h"
#include "sim/base/clock.h"
#include "sim/base/new_file.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// What the command line asks for.
typedef struct {
    setup s;
    const char *out;
    char *checkpoint, *table;  // beside it, of the seed in hand
    long generations, seeds, first;
    double duration;
    bool quiet;
    own_reward *reward;  // NULL: the scene's alone
} asked;

static int read_options(const arguments *args, asked *a)
{
    const int status = setup_open_to_step(args, &a->s);
    if (status != EXIT_OK) return status;
    scene_search *const search = &a->s.scene->search;
    long seed = search->seed;
    a->seeds = 1;
    a->out = args->value[OPT_OUT], a->quiet = args->value[OPT_QUIET] != NULL;
    a->generations = search->generations, a->duration = ctn_scene_duration(a->s.scene);
    if (!a->out) return usage_error("--out is missing: the file of the scene that is found, .yaml");
    if (!number_option(args, OPT_DURATION, &a->duration) || !whole_option(args, OPT_SEED, 0, 2147483647, &seed) ||
        !whole_option(args, OPT_GENERATIONS, 1, 100000000, &a->generations) || !whole_option(args, OPT_SEEDS, 1, 1000, &a->seeds))
        return EXIT_USAGE;
    if (seed + a->seeds - 1 > 2147483647)
        return usage_error("--seeds: from %ld on there are no %ld seeds; the last one is 2147483647", seed, a->seeds);
    search->seed = (int)seed, a->first = seed;
    if (a->s.scene->nfile > 1 && !same_folder(a->out, a->s.scene->path))
        return usage_error("--out: the scene names other files by where they lie; name a file in the folder of the scene");
    const int kept = keep_scene(OPT_OUT, a->out, a->s.scene);
    if (kept != EXIT_OK) return kept;
    const size_t room = strlen(a->out) + 40;
    a->checkpoint = malloc(room), a->table = malloc(room);
    return a->checkpoint && a->table ? EXIT_OK : run_error("not enough memory");
}

/// The names of what the search of a seed leaves beside the scene.
static void name_files(asked *a, int k)
{
    const size_t room = strlen(a->out) + 40;
    char seed[24] = "";
    if (a->seeds > 1) snprintf(seed, sizeof seed, ".seed-%ld", a->first + k);
    snprintf(a->checkpoint, room, "%s%s.checkpoint", a->out, seed), snprintf(a->table, room, "%s%s.csv", a->out, seed);
}

/// before: where this run of the command began.
static void print_generation(const asked *a, const search *s, const ctn_search_state *before, double seconds)
{
    const ctn_search_state x = search_get_state(s);
    const long made = x.generation - before->generation;
    const double each = seconds / (double)made, left = each * (double)(a->generations - x.generation);
    if (a->quiet) return;
    if (a->seeds > 1) printf("seed %-4d ", a->s.scene->search.seed);
    if (x.learns)
        printf("generation %-5ld steps %-9ld best %-11.6g mean %-11.5g noise %-9.3g gradient %-8.3g %.0f steps/s, %.0f s left\n",
               x.generation, x.steps, x.best, x.mean, x.sigma, x.gradient, (double)(x.steps - before->steps) / seconds,
               left > 0 ? left : 0);
    else
        printf("generation %-5ld evaluations %-7ld best %-11.6g mean %-11.5g sigma %-9.3g ratio %-8.3g %.0f/s, %.0f s left\n",
               x.generation, x.evaluations, x.best, x.mean, x.sigma, x.ratio, (double)search_worlds(s) / each,
               left > 0 ? left : 0);
    fflush(stdout);
}

/// Of a search whose generations are made, and kept.
static int interrupted_at_the_end(long generations)
{
    return run_error("interrupted after %ld generation%s, while what they found was judged; --resume goes on from there",
                     generations, plural(generations));
}

/// Generations up to the last one, each with a checkpoint and a row of the table (rank 0's).
static int make_generations(const asked *a, search *s, ranks *r, FILE *table)
{
    ctn_error err;
    const ctn_search_state before = search_get_state(s);
    const double began = clock_now();
    long saved = before.generation;  // what a checkpoint has; a policy's may have gone on, to be judged
    while (search_get_state(s).generation < a->generations && !search_get_state(s).over) {
        const ctn_status status = search_step(s, &err);
        if (status == CTN_INTERRUPTED && r->rank) return EXIT_RUN;
        if (status == CTN_INTERRUPTED)
            return saved ? run_error("interrupted after %ld generation%s; --resume goes on from there", saved, plural(saved))
                         : run_error("interrupted before the first generation was made");
        int made = status == CTN_OK ? EXIT_OK : engine_error(&err);
        const ctn_search_state x =
            search_get_state(s);  // its row first: a search that goes on leaves rows behind that are too many
        if (made == EXIT_OK && !r->rank && !search_table_add(table, a->table, &x)) made = EXIT_RUN;
        if (made == EXIT_OK && !r->rank && search_save(s, a->checkpoint, &err) != CTN_OK) status_error(&err, ""), made = EXIT_RUN;
        if (r->worst(r, made) != EXIT_OK) return EXIT_RUN;
        saved = x.generation;
        print_generation(a, s, &before, clock_now() - began);
    }
    const ctn_status status = search_finish(s, &err);
    int made = EXIT_OK;
    if (status == CTN_INTERRUPTED) made = r->rank ? EXIT_RUN : interrupted_at_the_end(saved);
    else if (status != CTN_OK) made = engine_error(&err);
    return r->worst(r, made);
}

/// Writes the scene, and says what it is worth.
static int write_found(const asked *a, const search *s)
{
    ctn_error err;
    const ctn_search_state x = search_get_state(s);
    const int count = search_parameters(s);
    double *const found = malloc((size_t)count * sizeof *found);
    double value = NAN, fine = NAN;
    char about[300], *text = NULL;
    if (!found) return run_error("not enough memory");
    int status = EXIT_OK;
    if (search_best(s, found, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    else if (search_value(s, found, 1, &value, &err) != CTN_OK || search_value(s, found, 10, &fine, &err) != CTN_OK)
        status = err.status == CTN_INTERRUPTED ? interrupted_at_the_end(x.generation) : engine_error(&err);
    if (status == EXIT_OK) {
        char seed[40] = "";
        if (a->seeds > 1) snprintf(seed, sizeof seed, ", seed %d", a->s.scene->search.seed);
        snprintf(about, sizeof about,
                 "Found by catena search: reward %.6g in its steps, %.6g in steps a tenth as long; %ld %s%s.", value, fine,
                 x.learns ? x.steps : x.evaluations, x.learns ? "steps" : "evaluations", seed);
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
        printf("found         %s, %d parameters after %ld %s in %ld generations\n", clean(a->out).text, count,
               x.learns ? x.steps : x.evaluations, x.learns ? "steps" : "evaluations", x.generation);
        if (x.judges) printf("judged        %.6g, the mean of %d worlds of its own\n", x.best, x.judges);
        printf("reward        %.6g in steps of %g s, %.6g in steps of %g s\n", value, a->s.cfg.dt, fine, a->s.cfg.dt / 10);
        if (x.lost)
            printf("lost          %ld %s froze, %sor earned no number\n", x.lost, x.learns ? "windows of worlds" : "candidates",
                   x.learns ? "had steps in halves, " : "");
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

/// What the search of a seed has come to.
typedef struct {
    long evaluations, generations;
    double reward;
} outcome;

/// Opens the search of the seed in hand, where it was or anew. Of several seeds a search that has ended may have begun some only.
static int open_search(const arguments *args, asked *a, ranks *r, bool first, search **s)
{
    ctn_error err;
    const search_reward own = a->reward ? own_reward_of(a->reward) : (search_reward){0};
    int status = EXIT_OK;
    *s = search_open(a->s.scene, &a->s.cfg, a->duration, r, a->reward ? &own : NULL, &err);
    if (!*s) status = r->rank ? EXIT_USAGE : status_error(&err, "");
    const bool there = r->worst(r, access(a->checkpoint, F_OK) ? 1 : 0) == 0;
    if (*s && args->value[OPT_RESUME] && (there || first) && search_restore(*s, a->checkpoint, &err) != CTN_OK)
        status = r->rank ? EXIT_USAGE : status_error(&err, "--resume: ");
    if (status == EXIT_OK && first && !r->rank) status = check_writing(a, *s);
    return r->worst(r, status);
}

/// The search of one seed.
static int search_seed(const arguments *args, asked *a, ranks *r, int k, search **s, outcome *x)
{
    a->s.scene->search.seed = (int)(a->first + k);
    name_files(a, k);
    int status = open_search(args, a, r, k == 0, s);
    if (status != EXIT_OK) return status;
    if (!k) catch_signals();
    FILE *const table = r->rank ? NULL : search_table_open(a->table, search_get_state(*s).generation);
    status = r->worst(r, table || r->rank ? EXIT_OK : EXIT_RUN);
    if (status == EXIT_OK) status = make_generations(a, *s, r, table);
    if (table) fclose(table);
    const ctn_search_state made = search_get_state(*s);
    *x = (outcome){made.evaluations, made.generation, made.best};
    return status;
}

static int compare_rewards(const void *a, const void *b)
{
    const double x = ((const outcome *)a)->reward, y = ((const outcome *)b)->reward;
    return (x < y) - (x > y);
}

/// What the seeds have earned; `all` is sorted afterwards.
static void print_seeds(const asked *a, outcome *all)
{
    const size_t n = (size_t)a->seeds;
    if (a->seeds == 1 || a->quiet) return;
    printf("\n%-12s %-12s %-12s %s\n", "seed", "reward", "evaluations", "generations");
    for (long k = 0; k < a->seeds; k++)
        printf("%-12ld %-12.6g %-12ld %ld\n", a->first + k, all[k].reward, all[k].evaluations, all[k].generations);
    qsort(all, n, sizeof *all, compare_rewards);
    printf("best %.6g, median %.6g, worst %.6g\n", all[0].reward, (all[(n - 1) / 2].reward + all[n / 2].reward) / 2,
           all[n - 1].reward);
}

/// Searches one seed after the other, and writes what the best of them has found.
static int search_seeds(const arguments *args, asked *a, ranks *r, outcome *all)
{
    search *best = NULL;
    int status = EXIT_OK, seed = 0;
    for (int k = 0; k < a->seeds && status == EXIT_OK; k++) {
        search *s = NULL;
        status = search_seed(args, a, r, k, &s, &all[k]);
        const bool better = s && (!best || all[k].reward > search_get_state(best).best);
        if (better) seed = k;
        search_close(better ? best : s);
        if (better) best = s;
    }
    if (status == EXIT_OK) {
        a->s.scene->search.seed = (int)(a->first + seed);  // worlds are drawn by it
        print_seeds(a, all);
        if (!r->rank) status = write_found(a, best);
    }
    search_close(best);
    return status;
}

/// Of one of several processes.
static int share_search(const arguments *args, asked *a, ranks *r)
{
    int status = EXIT_OK;
    for (int turn = 0; turn < 2 && status == EXIT_OK; turn++) {  // rank 0 first: what is wrong for all is said once
        if (turn == (r->rank > 0)) status = read_options(args, a);
        status = r->worst(r, status);
    }
    if (status != EXIT_OK) return status;
    a->s.cfg.interrupt = stop_flag();
    if (args->value[OPT_REWARD]) a->reward = own_reward_open(args->value[OPT_REWARD], &a->s, a->duration, r);
    status = r->worst(r, args->value[OPT_REWARD] && !a->reward ? EXIT_RUN : EXIT_OK);
    outcome *const all = calloc((size_t)a->seeds, sizeof *all);
    if (status == EXIT_OK) status = r->worst(r, all ? EXIT_OK : run_error("not enough memory"));
    if (status == EXIT_OK) status = search_seeds(args, a, r, all);
    free(all);
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
    free(a.checkpoint), free(a.table);
    return r.rank ? status : end_output(status);
}

const command command_search = {
    .name = "search",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Finds the parameters of a scene's controller by CMA-ES or a policy gradient.",
    .about = "The scene has a `controller:`, whose parameters are looked for, a `reward:`, of which there is to be as\n"
             "much as can be, a `duration:`, and perhaps a `search:`, which says the method. All candidates of a\n"
             "generation, or worlds that a policy learns from, are stepped side by side. The scene that is written has\n"
             "what was found in its controller; run, view, render and rollout open it. What it earns is told in its own\n"
             "steps and in a tenth of them.\n"
             "Each generation leaves a checkpoint beside the file, FILE.checkpoint, from which --resume goes on with the\n"
             "same bits, also with more --generations, and a row of FILE.csv, of which catena plot draws the learning\n"
             "curve. The defaults of --generations and --seed are those of `search:`.\n"
             "--seeds N searches N times, from --seed on, and writes the best; checkpoints and tables are then called\n"
             "FILE.seed-1.checkpoint, FILE.seed-1.csv and so on.\n"
             "With --reward CMD a process beside says what worlds earn, in the place of `reward:` or besides it.\n"
             "Processes that mpirun starts (of catena-mpi) share the candidates. Both go with CMA-ES alone.\n"
             "Exit status: 0 success; 1 interrupted, or the file could not be written; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_WORLDS)) | TAKES(OPT_DURATION) | TAKES(OPT_SEED) | TAKES(OPT_SEEDS) |
             TAKES(OPT_GENERATIONS) | TAKES(OPT_RESUME) | TAKES(OPT_REWARD) | TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the file of the scene that is found: .yaml",
    .examples = "  catena search scenes/swimmer-search.yaml --out swimmer-found.yaml\n"
                "  catena search scenes/swimmer-search.yaml --out swimmer-found.yaml --generations 200 --resume\n",
    .main = search_main,
};
