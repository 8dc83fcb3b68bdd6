/// The subcommands, one file each.
#ifndef CATENA_CLI_COMMANDS_H
#define CATENA_CLI_COMMANDS_H

#include "cli/arguments.h"

extern const command command_run, command_eval, command_info, command_check, command_rollout, command_replay, command_render,
    command_view, command_plot;

#endif
