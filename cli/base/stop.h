/// Signals that ask a command to stop: Ctrl-C and its like.
#ifndef CATENA_CLI_STOP_H
#define CATENA_CLI_STOP_H

#include <stdbool.h>

/// From now on the first signal that ends programs makes stop_asked() true, the second one ends this program.
void catch_signals(void);
bool stop_asked(void);

/// For ctn_batch_config.interrupt: other than 0 from then on.
const volatile int *stop_flag(void);

#endif
