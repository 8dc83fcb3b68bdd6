/// `catena search --reward CMD`: a process that says what worlds earn in every interval (docs/cli.md).
#ifndef CATENA_CLI_OWN_REWARD_H
#define CATENA_CLI_OWN_REWARD_H

#include "cli/base/setup.h"
#include "control/search.h"

typedef struct own_reward own_reward;

/// Starts the command, and greets it. NULL: an error was printed.
own_reward *own_reward_open(const char *command, const setup *s, double duration, const ranks *r);

/// What search_open takes. It lasts as long as `r` and its command line.
search_reward own_reward_of(own_reward *r);

/// Closes its pipes and waits for its end. NULL is allowed. Returns the exit status that it makes of `status`.
int own_reward_close(own_reward *r, int status);

#endif
