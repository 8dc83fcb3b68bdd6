/// How a scene's plans are made anew, from its `optimize.mpc` and the command line: of `catena mpc` and `catena view`.
#ifndef CATENA_CLI_MPC_OPTIONS_H
#define CATENA_CLI_MPC_OPTIONS_H

#include "cli/base/arguments.h"
#include "cli/base/setup.h"
#include "control/mpc.h"

#define TAKES_MPC                                                                                                                \
    (TAKES(OPT_HORIZON) | TAKES(OPT_ITERATIONS) | TAKES(OPT_PLANNER) | TAKES(OPT_SAMPLES) | TAKES(OPT_DEADLINE) | TAKES(OPT_SEED))

/// Into `how` and `seed`; false with an error printed.
bool mpc_options(const arguments *args, const ctn_scene *scene, scene_mpc *how, uint64_t *seed);

#endif
