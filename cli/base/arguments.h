/// Command lines: one table of options for all subcommands, so that a name means the same everywhere.
#ifndef CATENA_CLI_ARGUMENTS_H
#define CATENA_CLI_ARGUMENTS_H

#include <stdbool.h>

enum option_id {
    OPT_STEPS,
    OPT_DURATION,
    OPT_DT,
    OPT_INTERVAL,
    OPT_METHOD,
    OPT_ORDER,
    OPT_STAGES,
    OPT_RHO,
    OPT_SOLVER,
    OPT_TOLERANCE,
    OPT_MAX_ITERATIONS,
    OPT_MAX_HALVINGS,
    OPT_ENGINE,
    OPT_WORLDS,
    OPT_THREADS,
    OPT_SCHEDULE,
    OPT_PARALLEL,
    OPT_LANES,
    OPT_DT_SWEEP,
    OPT_ERROR,
    OPT_IN,
    OPT_OUT,
    OPT_EVERY,
    OPT_STRIDE,
    OPT_SEED,
    OPT_SEEDS,
    OPT_GENERATIONS,
    OPT_ITERATIONS,
    OPT_HORIZON,
    OPT_PLANT,
    OPT_MPC,
    OPT_PLANNER,
    OPT_SAMPLES,
    OPT_DEADLINE,
    OPT_MOTION,
    OPT_STARTS,
    OPT_CONTROLS,
    OPT_CONTROL,
    OPT_REWARD,
    OPT_KEEP,
    OPT_HASH,
    OPT_RESUME,
    OPT_SAVE_FREEZE,
    OPT_VERIFY,
    OPT_RELATIVE,
    OPT_Y,
    OPT_X,
    OPT_SIZE,
    OPT_FPS,
    OPT_FROM,
    OPT_TO,
    OPT_CAMERA,
    OPT_FLOOR,
    OPT_WORLD,
    OPT_SHEET,
    OPT_COMPARE,
    OPT_BASE,
    OPT_SPEED,
    OPT_PAUSED,
    OPT_SHOW,
    OPT_TRAIL,
    OPT_TITLE,
    OPT_COLORS,
    OPT_LAYOUT,
    OPT_PLOT,
    OPT_ALL,
    OPT_JSON,
    OPT_QUIET,
    OPT_HELP,
    OPTIONS
};

/// A set of options, of which there are more than the bits of a long.
__extension__ typedef unsigned __int128 option_set;
#define TAKES(option) ((option_set)1 << (option))
/// Options that override a scene's `integrator:` section and choose where it runs.
#define TAKES_METHOD                                                                                                             \
    (TAKES(OPT_DT) | TAKES(OPT_INTERVAL) | TAKES(OPT_METHOD) | TAKES(OPT_ORDER) | TAKES(OPT_STAGES) | TAKES(OPT_RHO) |           \
     TAKES(OPT_SOLVER) | TAKES(OPT_TOLERANCE) | TAKES(OPT_MAX_ITERATIONS) | TAKES(OPT_MAX_HALVINGS) | TAKES(OPT_ENGINE) |        \
     TAKES(OPT_WORLDS) | TAKES(OPT_THREADS) | TAKES(OPT_SCHEDULE) | TAKES(OPT_PARALLEL) | TAKES(OPT_LANES))

typedef struct arguments {
    const char *command;         // "run"
    const char *value[OPTIONS];  // as given, the last one if given twice; NULL: not given; "" of an option without a value
    char **files;                // what is not an option
    int nfile;
    char **words;  // the whole line after "catena"
    int nword;
} arguments;

/// Of one subcommand.
typedef struct command {
    const char *name;
    const char *files;    // "SCENE", how its usage names what is not an option
    int least, most;      // how many of them
    bool scenes;          // they are scenes, so that names of scenes will do (cli/commands/scenes.h)
    const char *does;     // one line
    const char *about;    // what --help says after it
    option_set takes;     // TAKES(...) of its options
    const char *out;      // what --out is, to it
    const char *plot;     // what --plot draws
    const char *tolerance;  // what --tolerance is, to one that steps nothing; NULL: as in the table of options
    const char *examples;
    int (*main)(const arguments *args);  // an exit status
} command;

/// What is said of an option.
typedef struct option_row {
    const char *name;
    char letter;       // 0: none
    const char *arg;   // NULL: takes no value
    const char *help;  // NULL: option_help() says it
} option_row;

extern const option_row options[OPTIONS];

/// Whether the command takes it, --help among them.
bool takes_option(const command *cmd, enum option_id option);

/// What an option is to a command.
const char *option_help(const command *cmd, enum option_id option);

/// What every command whose files are scenes says about them.
extern const char names_will_do[];

/// Reads argv of a subcommand, argv[0] its name. Returns an exit status to leave with (--help was asked for, or an error was
/// printed), or -1 to go on.
int read_arguments(const command *cmd, int argc, char **argv, arguments *args);

void print_help(const command *cmd);

/// The number given for an option into `value`; false with an error printed if it is none. Not given: true, `value` unchanged.
bool number_option(const arguments *args, enum option_id option, double *value);

/// The same for a whole number from `least` to `most`.
bool whole_option(const arguments *args, enum option_id option, long least, long most, long *value);

/// The pixels of --size, "640x360", likewise.
bool size_option(const arguments *args, int *width, int *height);

/// EXIT_OK unless an option of scenes is given, those of TAKES_METHOD but for `but`, which a recording cannot take.
int refuse_scene_options(const arguments *args, option_set but);

/// EXIT_USAGE, and how to record instead, if a file that is to be drawn is a recording in CSV by its name.
int refuse_csv(const char *path);

/// "--dt"
const char *option_name(enum option_id option);

/// The whole line, to be noted in what the command writes; a text to free.
char *command_line(const arguments *args);

#endif
