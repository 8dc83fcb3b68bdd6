/// The table of subcommands, and what `catena --help` and the manual say of all of them.
#include "cli/commands/commands.h"

#include <stddef.h>

const command *const commands[] = {
    &command_run,    &command_rollout, &command_replay, &command_diff,
#ifdef CATENA_RENDER
    &command_render,
#endif
#ifdef CATENA_VIEWER
    &command_view,
#endif
    &command_search, &command_optimize, &command_mpc, &command_inverse, &command_plot,   &command_info,    &command_eval,   &command_check, &command_convert, &command_compare, &command_scenes, &command_bench, NULL,
};

const char commands_purpose[] = "Articulated rigid bodies at large time steps";

const meaning exit_statuses[] = {{"0", "success"},
                                 {"1", "failed run: a world froze, it was interrupted, a file could not be written"},
                                 {"2", "bad usage or input"},
                                 {NULL, NULL}};

const meaning environment[] = {{"NO_COLOR", "1 switches colours off"},
                               {"CTN_ENGINE", "names the engine for --engine auto"},
                               {"CATENA_SCENES", "folders of scenes that have names, separated by colons"},
                               {"ROS_PACKAGE_PATH", "folders with packages of meshes, separated by colons"},
                               {NULL, NULL}};
