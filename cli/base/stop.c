#include "cli/base/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t asked;

/// The first signal ends the run, within the step in progress; the second one the program. Calls that it interrupts go on: what
/// is being written gets written.
static void ask_to_stop(int signal)
{
    (void)signal;
    asked = 1;
}

void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        sigaction(signals[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);  // nohup means it
    }
}

bool stop_asked(void) { return asked; }

const volatile int *stop_flag(void) { return &asked; }
