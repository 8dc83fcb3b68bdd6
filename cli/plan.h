/// What `catena run` and `catena rollout` begin and end with.
#ifndef CATENA_CLI_PLAN_H
#define CATENA_CLI_PLAN_H

#include "cli/setup.h"

/// How many steps: --steps, --duration or the scene's duration, whichever comes first in this order. Returns an exit status.
int plan_steps(const arguments *args, const setup *s, long *steps);

/// The command line, to be noted in what the command writes; a text to free.
char *command_line(const arguments *args);

/// How many steps to make at a time, after `made` of them took `seconds`: few enough to look up often, so many that looking costs
/// nothing. Begins with 1.
long next_piece(long piece, long made, double seconds);

/// From now on the first signal that ends programs makes stop_asked() true, the second one ends this program.
void catch_signals(void);
bool stop_asked(void);

/// For ctn_batch_config.interrupt: other than 0 from then on.
const volatile int *stop_flag(void);

#endif
