/// How far `catena run` and `catena rollout` go.
#ifndef CATENA_CLI_RUN_LENGTH_H
#define CATENA_CLI_RUN_LENGTH_H

#include "cli/base/setup.h"

/// How many steps: --steps, --duration or the scene's duration, whichever comes first in this order. Returns an exit status.
int run_length(const arguments *args, const setup *s, long *steps);

#endif
