/// The subcommands, one file each, and what is said of all of them.
#ifndef CATENA_CLI_COMMANDS_H
#define CATENA_CLI_COMMANDS_H

#include "cli/base/arguments.h"

extern const command command_run, command_eval, command_info, command_check, command_rollout, command_replay, command_diff,
    command_render, command_view, command_plot, command_compare, command_scenes, command_convert, command_bench, command_search, command_optimize, command_mpc, command_inverse;

extern const command *const commands[];  // those of this build, and NULL
extern const char commands_purpose[];

/// A word and what it means; after the last one {NULL, NULL}.
typedef struct meaning {
    const char *word, *text;
} meaning;

extern const meaning exit_statuses[], environment[];

#endif
