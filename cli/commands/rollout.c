/// `catena rollout`: reads options, has the worlds made (sim/runs/rollout.h), and says what became of them.
#include "cli/commands/rollout.h"
#include "cli/commands/commands.h"
#include "cli/base/message.h"
#include "cli/base/processes.h"
#include "cli/base/run_length.h"
#include "cli/base/stop.h"
#include "cli/base/progress.h"

#include <stdio.h>
#include <stdlib.h>

/// Who looks on.
typedef struct onlooker {
    progress bar;
    bool quiet, begun;
} onlooker;

static void show_progress(void *context, long done, long all)
{
    onlooker *const o = context;
    if (!o->begun) {
        o->begun = true, o->bar = progress_start(o->quiet);
        catch_signals();  // from now on there is something to end in good order
    }
    progress_show(&o->bar, "world", done, all);
}

static void show_warning(void *context, const char *text)
{
    const onlooker *const o = context;
    if (!o->quiet) warning("%s", text);
}

/// What the command line asks for. Returns an exit status.
static int read_options(const arguments *args, setup *s, ctn_rollout_config *cfg)
{
    int status = setup_open_to_step(args, s);
    if (status != EXIT_OK) return status;
    const ctn_rollout_config heard = *cfg;
    *cfg = ctn_rollout_config_default(s->scene);
    cfg->command = heard.command, cfg->warn = heard.warn, cfg->progress = heard.progress, cfg->context = heard.context;
    long seed = (long)cfg->seed;
    cfg->batch = s->cfg, cfg->worlds = args->value[OPT_WORLDS] ? s->cfg.worlds : 0;
    cfg->starts = args->value[OPT_STARTS], cfg->controls = args->value[OPT_CONTROLS];
    cfg->keep = args->value[OPT_KEEP], cfg->hashes = args->value[OPT_HASH] != NULL;
    cfg->resume = args->value[OPT_RESUME] != NULL, cfg->save_freeze = args->value[OPT_SAVE_FREEZE];
    if (!args->value[OPT_OUT]) return usage_error("--out is missing: the file that the worlds go to, .h5 or .hdf5");
    if (!whole_option(args, OPT_STRIDE, 1, 1000000000, &cfg->stride)) return EXIT_USAGE;
    if (!whole_option(args, OPT_SEED, 0, 9007199254740992, &seed)) return EXIT_USAGE;
    cfg->seed = (uint64_t)seed;
    return run_length(args, s, &cfg->steps);
}

/// Makes the worlds and tells of them. Returns an exit status.
static int make(const arguments *args, const setup *s, const ctn_rollout_config *cfg, ranks *r)
{
    ctn_error err;
    ctn_rollout_report report;
    const char *const out = args->value[OPT_OUT];
    onlooker *const o = cfg->context;
    const ctn_status made = rollout_make(out, s->scene, s->model, cfg, r, &report, &err);
    int status = made == CTN_OK ? EXIT_OK : report.refused ? EXIT_USAGE : EXIT_RUN;
    if (o->begun) progress_end(&o->bar);
    if (report.begun && !r->rank) {
        if (args->value[OPT_JSON]) {
            if (print_json_rollout(s, out, cfg, &report) != EXIT_OK) status = EXIT_RUN;
        } else if (!o->quiet) print_rollout(s, out, cfg, &report);
        fflush(stdout);
    }
    if (made != CTN_OK) status_error(&err, "");
    return status;
}

/// Of one of several processes, `who` in messages.
static int share_rollout(const arguments *args, setup *s, ranks *r, const char *who)
{
    int status = EXIT_OK;
    onlooker o = {.quiet = args->value[OPT_QUIET] != NULL};
    char *const line = command_line(args);
    ctn_rollout_config cfg = {.command = line, .warn = show_warning, .progress = show_progress, .context = &o};
    if (r->rank) messages_from(who);
    for (int turn = 0; turn < 2 && status == EXIT_OK; turn++) {  // rank 0 first: what is wrong for all is said once
        if (turn == (r->rank > 0)) status = read_options(args, s, &cfg);
        status = r->worst(r, status);
    }
    messages_from(NULL);  // the errors of a rollout name the rank themselves
    if (status == EXIT_OK) status = make(args, s, &cfg, r);
    free(line);
    return status;
}

static int rollout_main(const arguments *args)
{
    arguments own = *args;
    setup s = {0};
    ranks r;
    char who[32];
    int status = processes_open(&r);
    if (r.rank) own.value[OPT_QUIET] = "";
    snprintf(who, sizeof who, "rank %d", r.rank);
    if (status == EXIT_OK) status = share_rollout(&own, &s, &r, who);
    setup_close(&s);
    processes_close(&r);
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
             TAKES(OPT_STARTS) | TAKES(OPT_CONTROLS) | TAKES(OPT_HASH) | TAKES(OPT_RESUME) | TAKES(OPT_SAVE_FREEZE) |
             TAKES(OPT_OUT) | TAKES(OPT_JSON) | TAKES(OPT_QUIET),
    .out = "the file: .h5 or .hdf5",
    .examples = "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --out chains.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --stride 10 --seed 7 --out chains.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --starts chains.h5 --controls forces.h5 --out more.h5\n"
                "  catena rollout scenes/chain10-sampled.yaml --worlds 1000 --keep q,pose --hash --resume --out chains.h5\n",
    .main = rollout_main,
};
