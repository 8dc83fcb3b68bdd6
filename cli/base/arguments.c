/// The table of options, and getopt_long driven by it.
#include "cli/base/arguments.h"

#include "cli/base/message.h"
#include "sim/base/number.h"
#include "sim/base/suggest.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const option_row options[OPTIONS] = {
    [OPT_STEPS] = {"steps", 'n', "N", "make N steps"},
    [OPT_DURATION] = {"duration", 0, "S", "simulate S seconds (default: the scene's duration)"},
    [OPT_DT] = {"dt", 0, "S",
                "time step in seconds (0.01), or auto: parts as large as --tolerance allows (dop853, radau, alpha)"},
    [OPT_INTERVAL] = {"interval", 0, "S", "with --dt auto: length of a step, which is made in parts (0.01)"},
    [OPT_METHOD] = {"method", 'm', "NAME",
                    "radau (the default), euler, semi-implicit, rk2, rk3, rk4, dop853, collocation, alpha or variational"},
    [OPT_ORDER] = {"order", 0, "K", "order of collocation: 2 (default) to 6; of variational: 2 (default) or 4"},
    [OPT_STAGES] = {"stages", 0, "N", "stages of radau: 1 to 4 (default 2)"},
    [OPT_RHO] = {"rho", 0, "X", "of alpha: the share that a step leaves of vibrations too fast for it, 0 to 0.3 (default 0.2)"},
    [OPT_SOLVER] = {"solver", 0, "NAME", "how collocation and radau solve their equations: newton (default), lm or lbfgs"},
    [OPT_TOLERANCE] = {"tolerance", 0, "X", "where a solve stops (1e-09); with --dt auto: error of a part (1e-06)"},
    [OPT_MAX_ITERATIONS] = {"max-iterations", 0, "N", "iterations before a step is halved (60; lbfgs: 50 for each of these)"},
    [OPT_MAX_HALVINGS] = {"max-halvings", 0, "N", "halvings of a step before its world freezes (10)"},
    [OPT_ENGINE] = {"engine", 0, "NAME", "auto (default), scalar, avx2, avx512, cuda: all the same bits; cuda-float"},
    [OPT_WORLDS] = {"worlds", 0, "N", "how many worlds (1)"},
    [OPT_THREADS] = {"threads", 0, "N", "threads that step the worlds (default: one a CPU); all numbers give the same bits"},
    [OPT_SCHEDULE] = {"schedule", 0, "NAME", "iteration: worlds solved side by side go on alone; step: together; auto (default)"},
    [OPT_PARALLEL] = {"parallel", 0, "NAME",
                      "side by side: worlds, links (pieces of one world), both; auto (default) by their sizes"},
    [OPT_LANES] = {"lanes", 0, "N", "of --parallel links and both: lanes of a world, a multiple of 8 (default: by the model)"},
    [OPT_DT_SWEEP] = {"dt-sweep", 0, NULL, "find the largest time step of each method that meets --error"},
    [OPT_ERROR] = {"error", 0, "E", "largest error of any link at the end, in metres (default 0.001)"},
    [OPT_IN] = {"in", 'i', "FILE", "JSON file with the states; - reads standard input"},
    [OPT_OUT] = {"out", 'o', "FILE", NULL},
    [OPT_EVERY] = {"every", 0, "N", "record every N steps (default 1)"},
    [OPT_STRIDE] = {"stride", 0, "N", "write the state every N steps (default 1)"},
    [OPT_GENERATIONS] = {"generations", 0, "N", "how many, those before --resume among them (default: of the scene, or 100)"},
    [OPT_ITERATIONS] = {"iterations", 0, "N", "how many, those before --resume among them (default: of the scene, or 200)"},
    [OPT_HORIZON] = {"horizon", 0, "S", "how far plans look ahead, in seconds (default: of the scene, or 1)"},
    [OPT_PLANT] = {"plant", 0, "SCENE", "what is really moved: a scene with the same coordinates and motors (default: the same)"},
    [OPT_MPC] = {"mpc", 0, NULL, "steer by plans that are made anew in every knot, as catena mpc does"},
    [OPT_PLANNER] = {"planner", 0, "NAME", "how plans are made: ilqr (default), sampling or mppi"},
    [OPT_SAMPLES] = {"samples", 0, "N", "of sampling and mppi: how many are rolled out side by side (default 64)"},
    [OPT_DEADLINE] = {"deadline", 0, "S", "seconds in which a plan is made, instead of --iterations"},
    [OPT_MOTION] = {"motion", 0, "FILE", "states of the motion, one step apart: .csv"},
    [OPT_SEED] = {"seed", 0, "N", "of the random numbers (default: that of the scene's sample section, or 0)"},
    [OPT_SEEDS] = {"seeds", 0, "N", "how many searches, from --seed on, of which the best counts (default 1)"},
    [OPT_STARTS] = {"starts", 0, "FILE", "initial states of the worlds: .csv, or .h5 with q and v, also of an earlier rollout"},
    [OPT_CONTROLS] = {"controls", 0, "FILE", "joint forces by step: .csv, or .h5 with tau, also by world"},
    [OPT_CONTROL] = {"control", 0, "CMD", "run CMD beside, which is told the state before every step and answers what motors do"},
    [OPT_REWARD] = {"reward", 0, "CMD", "run CMD beside, which is told the states of all worlds and answers what they earn"},
    [OPT_KEEP] = {"keep", 0, "LIST",
                  "what to keep of a state: q, v, energy, pose, sensors, contacts, separated by commas (default q,v)"},
    [OPT_HASH] = {"hash", 0, NULL, "write a hash of every world's state after every step"},
    [OPT_RESUME] = {"resume", 0, NULL, "go on with --out where a run of the same command line ended or was killed"},
    [OPT_SAVE_FREEZE] = {"save-freeze", 0, "DIR",
                         "write the last 100 steps of each world that freezes to DIR/world-N.h5, for 'catena replay'"},
    [OPT_VERIFY] = {"verify", 0, NULL, "compare with the file, to the last bit"},
    [OPT_RELATIVE] = {"relative", 0, NULL, "--tolerance is relative to the larger of the two numbers"},
    [OPT_Y] = {"y", 'y', "LIST", "what to draw, separated by commas (default energy)"},
    [OPT_X] = {"x", 0, "NAME", "one number to draw them over, as com.x (default: time)"},
    [OPT_SIZE] = {"size", 0, "WxH", "pixels of a picture (default 1280x720; a window 1280x800; a plot as its panels need)"},
    [OPT_FPS] = {"fps", 0, "N", "pictures a second (default 30)"},
    [OPT_FROM] = {"from", 0, "S", "time of the first picture, or where a plot begins, in seconds (default 0)"},
    [OPT_TO] = {"to", 0, "S", "time of the last one, or where it ends (default: the scene's duration, or the recording's)"},
    [OPT_CAMERA] = {"camera", 0, "C", "where from: a camera of the scene, or AZIMUTH,ELEVATION[,DISTANCE] (degrees, m)"},
    [OPT_FLOOR] = {"floor", 0, "Z", "height of the floor, m, or none (default: that of the scene, else under its bases)"},
    [OPT_WORLD] = {"world", 0, "N", "which world of a recording, from 0 on (default 0; of a plot, a window or diff: all)"},
    [OPT_SHEET] = {"sheet", 0, "CxR", "one picture of C x R pictures from --from to --to, row by row"},
    [OPT_COMPARE] = {"compare", 0, "LIST", "methods to run in step, as rk4@0.001,radau:2@0.05"},
    [OPT_BASE] = {"base", 0, "KIND", "of a URDF: fixed (default), or free: it flies"},
    [OPT_SPEED] = {"speed", 0, "X", "of the clock, times real time (default 1; below: slow motion)"},
    [OPT_PAUSED] = {"paused", 0, NULL, "begin with the clock stopped"},
    [OPT_SHOW] = {"show", 0, "LIST", "list of axes, frames, com, trail, names, contacts; render: text, trail:LINK[:x,y,z], too"},
    [OPT_TRAIL] = {"trail", 0, "S", "how long trails last, in seconds (default 2)"},
    [OPT_TITLE] = {"title", 0, "TEXT", "written in the corner"},
    [OPT_COLORS] = {"colors", 0, "WHAT", "scene, link, energy[:MAX] (kinetic, J) or world (default scene, of --compare world)"},
    [OPT_LAYOUT] = {"layout", 0, "NAME", "of several worlds, or methods: grid, side by side (default), or overlay"},
    [OPT_PLOT] = {"plot", 0, "FILE", NULL},
    [OPT_ALL] = {"all", 'a', NULL, "print all links, however many"},
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object on standard output instead of text"},
    [OPT_QUIET] = {"quiet", 'q', NULL, "print nothing but errors"},
    [OPT_HELP] = {"help", 'h', NULL, "print this help"},
};

const char *option_name(enum option_id option)
{
    static char names[OPTIONS][24];
    snprintf(names[option], sizeof names[option], "--%s", options[option].name);
    return names[option];
}

const char names_will_do[] = "For a scene a name will do that `catena scenes` lists.\n";

bool takes_option(const command *cmd, enum option_id option) { return option == OPT_HELP || cmd->takes & TAKES(option); }

const char *option_help(const command *cmd, enum option_id option)
{
    if (option == OPT_TOLERANCE && cmd->tolerance) return cmd->tolerance;
    return option == OPT_OUT ? cmd->out : option == OPT_PLOT ? cmd->plot : options[option].help;
}

/// Text in columns from INDENT to ACROSS.
static void print_wrapped(const char *text)
{
    enum { INDENT = 28, ACROSS = 100 };
    int column = INDENT;
    while (*text) {
        const int word = (int)strcspn(text, " ");
        if (column > INDENT && column + 1 + word > ACROSS) printf("\n%*s", INDENT, ""), column = INDENT;
        else if (column > INDENT) putchar(' '), column++;
        printf("%.*s", word, text);
        column += word, text += word, text += *text == ' ';
    }
    putchar('\n');
}

void print_help(const command *cmd)
{
    printf("usage: catena %s %s%s[options]\n\n%s\n%s%s\noptions:\n", cmd->name, cmd->files, *cmd->files ? " " : "", cmd->does,
           cmd->about, cmd->scenes ? names_will_do : "");
    for (int o = 0; o < OPTIONS; o++) {
        if (!takes_option(cmd, (enum option_id)o)) continue;
        char left[40], letter[8] = "    ";
        if (options[o].letter) snprintf(letter, sizeof letter, "-%c, ", options[o].letter);
        snprintf(left, sizeof left, "%s--%s %s", letter, options[o].name, options[o].arg ? options[o].arg : "");
        printf("  %-26s", left);
        print_wrapped(option_help(cmd, (enum option_id)o));
    }
    printf("\nexamples:\n%s", cmd->examples);
}

/// Options as other simulators call them, without the hyphens; by words separated by spaces.
static const struct {
    const char *words;
    enum option_id ours;  // OPTIONS: none, but a hint
    const char *hint;
} foreign[] = {
    {"timestep time-step stepsize step-size h", OPT_DT, NULL},
    {"time t-end tend t-final tmax end-time max-time sim-time until seconds", OPT_DURATION, NULL},
    {"nsteps nstep num-steps max-steps", OPT_STEPS, NULL},
    {"integrator scheme", OPT_METHOD, NULL},
    {"nthread nthreads num-threads jobs cpus num-cpus", OPT_THREADS, NULL},
    {"envs nenv num-envs nworld nworlds num-worlds batch batch-size rollouts samples", OPT_WORLDS, NULL},
    {"output outfile output-file save record log", OPT_OUT, NULL},
    {"input infile", OPT_IN, NULL},
    {"max-iter maxiter", OPT_MAX_ITERATIONS, NULL},
    {"atol rtol eps epsilon", OPT_TOLERANCE, NULL},
    {"width height resolution", OPT_SIZE, NULL},
    {"framerate frame-rate rate", OPT_FPS, NULL},
    {"start begin", OPT_FROM, NULL},
    {"end stop duration", OPT_TO, NULL},  // of commands that have no --duration
    {"init initial initial-states", OPT_STARTS, NULL},
    {"ctrl torques forces", OPT_CONTROLS, NULL},
    {"controller policy", OPT_CONTROL, NULL},
    {"objective fitness cost", OPT_REWARD, NULL},
    {"device backend gpu cuda", OPT_ENGINE, NULL},
    {"random-seed rng", OPT_SEED, NULL},
    {"realtime real-time slow-motion", OPT_SPEED, NULL},
    {"silent", OPT_QUIET, NULL},
    {"gui viewer visualize headless no-gui", OPTIONS, "'catena view' opens a window, the other commands do not"},
    {"gravity", OPTIONS, "gravity is in the scene: 'gravity: [0, 0, -9.81]'"},
    {"scene model file xml urdf mjcf", OPTIONS, "the scene is named without an option: 'catena run SCENE.yaml'"},
    {"version", OPTIONS, "'catena --version' prints it"},
};

/// What others call an option. -1: nobody calls one so.
static int foreign_option(const command *cmd, const char *word)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (!is_word_of(foreign[i].words, word)) continue;
        const enum option_id ours = foreign[i].ours;
        if (ours == OPTIONS) return usage_error("unknown option '--%s'; %s", word, foreign[i].hint);
        if (cmd->takes & TAKES(ours))
            return usage_error("unknown option '--%s'; catena calls it '--%s'", word, options[ours].name);
        return usage_error(
            "unknown option '--%s'; catena calls it '--%s', which 'catena %s' does not have; see 'catena %s --help'", word,
            options[ours].name, cmd->name, cmd->name);
    }
    return -1;
}

static int no_option(const command *cmd, const char *text)
{
    return usage_error("'catena %s' has no option '%.*s'; see 'catena %s --help'", cmd->name, (int)strcspn(text, "="), text,
                       cmd->name);
}

/// The option that `text`, "--stepz=3", was meant to be is suggested, if there is one.
static int unknown_option(const command *cmd, const char *text)
{
    char word[40];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text + 2, "="), text + 2);
    const char *names[OPTIONS];
    for (int o = 0; o < OPTIONS; o++) names[o] = takes_option(cmd, (enum option_id)o) ? options[o].name : NULL;
    const char *const meant = nearest_name(word, names, OPTIONS);
    int beginning = 0;
    for (int o = 0; o < OPTIONS; o++) beginning += names[o] && !strncmp(names[o], word, strlen(word));
    if (beginning > 1) return usage_error("--%s: several options begin like this; see 'catena %s --help'", word, cmd->name);
    const int known = foreign_option(cmd, word);
    if (known >= 0) return known;
    if (meant) return usage_error("unknown option '--%s'; did you mean '--%s'?", word, meant);
    return no_option(cmd, text);
}

/// Whether `text`, "--dt=3", is an option of other commands, and no short form of `o`, --dt-sweep, which it begins like.
static bool is_of_another(const char *text, int o)
{
    const char *const ours = options[o].name;
    const size_t length = strncmp(text, "--", 2) ? 0 : strcspn(text + 2, "=");
    if (!length || length >= strlen(ours) || ours[length] != '-' || strncmp(text + 2, ours, length)) return false;
    for (int k = 0; k < OPTIONS; k++)
        if (strlen(options[k].name) == length && !strncmp(text + 2, options[k].name, length)) return true;
    return false;
}

int read_arguments(const command *cmd, int argc, char **argv, arguments *args)
{
    struct option table[OPTIONS + 1];
    char letters[2 * OPTIONS + 2] = ":";
    int n = 0;
    memset(table, 0, sizeof table);
    for (int o = 0; o < OPTIONS; o++) {
        if (!takes_option(cmd, (enum option_id)o)) continue;
        const char letter[3] = {options[o].letter, options[o].arg ? ':' : 0, 0};
        if (*letter) strcat(letters, letter);
        table[n++] = (struct option){options[o].name, options[o].arg ? required_argument : no_argument, NULL, 256 + o};
    }
    *args = (arguments){.command = cmd->name, .words = argv, .nword = argc};
    optind = 0;  // glibc: start anew
    for (int c; (c = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
        const char *const text = argv[optind - 1];
        int o = c - 256;
        for (int k = 0; k < OPTIONS && c < 256 && c != '?' && c != ':'; k++)
            if (options[k].letter == c) o = k;
        if (c == ':') return usage_error("%s: a value is missing; see 'catena %s --help'", text, cmd->name);
        if (c == '?' && optopt >= 256 && is_of_another(text, optopt - 256)) return no_option(cmd, text);
        if (c == '?' && optopt >= 256) return usage_error("%s takes no value", option_name((enum option_id)(optopt - 256)));
        if (c == '?' && optopt)
            return usage_error("'catena %s' has no option '-%c'; see 'catena %s --help'", cmd->name, optopt, cmd->name);
        if (c == '?') return unknown_option(cmd, text);
        if (c >= 256 && is_of_another(text, o)) return no_option(cmd, text);
        args->value[o] = optarg ? optarg : "";
        if (o == OPT_HELP) {
            print_help(cmd);
            return EXIT_OK;
        }
    }
    args->files = argv + optind, args->nfile = argc - optind;
    if (args->nfile < cmd->least)
        return usage_error("%s is missing; usage: catena %s %s [options]", cmd->files, cmd->name, cmd->files);
    if (args->nfile && !cmd->most) return usage_error("'%s': 'catena %s' takes no files", args->files[0], cmd->name);
    if (args->nfile > cmd->most)
        return usage_error("'%s': one file too many; usage: catena %s %s [options]", args->files[cmd->most], cmd->name,
                           cmd->files);
    return -1;
}

bool number_option(const arguments *args, enum option_id option, double *value)
{
    const char *const text = args->value[option];
    if (!text) return true;
    const char *end;
    double number;
    const number_form form = number_from_text(text, &number, &end);
    if (form == NUMBER_GOOD && !*end) {
        *value = number;
        return true;
    }
    const bool seconds = options[option].arg && !strcmp(options[option].arg, "S");
    const char *remedy = form == NUMBER_NONE || form == NUMBER_GOOD ? number_remedy(text) : number_form_remedy(form);
    if (form == NUMBER_GOOD && seconds && !*remedy) remedy = "; it is in seconds: give the number alone";
    usage_error("%s: expected a %snumber, found '%s'%s", option_name(option),
                form == NUMBER_NOT_FINITE || form == NUMBER_TOO_LARGE ? "finite " : "", text, remedy);
    return false;
}

bool whole_option(const arguments *args, enum option_id option, long least, long most, long *value)
{
    double number = (double)*value;
    if (!number_option(args, option, &number)) return false;
    if (!(number >= (double)least && number <= (double)most) || number != floor(number)) {
        if (number > (double)most)
            usage_error("%s: expected at most %ld, found %s", option_name(option), most, args->value[option]);
        else usage_error("%s: expected a whole number, %ld or more, found %s", option_name(option), least, args->value[option]);
        return false;
    }
    *value = (long)number;
    return true;
}

int refuse_scene_options(const arguments *args, option_set but)
{
    for (int o = 0; o < OPTIONS; o++)
        if ((TAKES_METHOD | TAKES(OPT_SEED) | TAKES(OPT_COMPARE)) & ~but & TAKES(o) && args->value[o])
            return usage_error("%s is for scenes; %s is drawn as it was recorded", option_name((enum option_id)o),
                               args->files[0]);
    return EXIT_OK;
}

bool size_option(const arguments *args, int *width, int *height)
{
    const char *const text = args->value[OPT_SIZE];
    int end = 0;
    if (!text) return true;
    if (sscanf(text, "%dx%d%n", width, height, &end) == 2 && !text[end] && *width >= 1 && *height >= 1 && *width <= 16384 &&
        *height <= 16384)
        return true;
    usage_error("%s: expected WIDTHxHEIGHT in pixels like 640x360, each 1 to 16384, found '%s'", option_name(OPT_SIZE), text);
    return false;
}

int refuse_csv(const char *path)
{
    const char *const dot = strrchr(path, '.');
    if (!dot || strcasecmp(dot, ".csv")) return EXIT_OK;
    return usage_error("%s: recordings are drawn from HDF5, not from CSV; record with --out %.*s.h5", path, (int)(dot - path),
                       path);
}

char *command_line(const arguments *args)
{
    size_t size = sizeof "catena";
    for (int i = 0; i < args->nword; i++) size += strlen(args->words[i]) + 3;
    char *const line = malloc(size);
    if (!line) return NULL;
    strcpy(line, "catena");
    for (int i = 0; i < args->nword; i++) {
        const char *const quote = strpbrk(args->words[i], " \t\n*?\\\"$&;|<>()") || !*args->words[i] ? "'" : "";
        sprintf(line + strlen(line), " %s%s%s", quote, args->words[i], quote);
    }
    return line;
}
