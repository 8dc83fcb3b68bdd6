/// What `catena run` and `catena rollout` begin and end with: how far, how it was asked for, and when to stop.
#include "cli/plan.h"

#include "cli/message.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int plan_steps(const arguments *args, const setup *s, long *steps)
{
    const double most = 9e15;  // whole numbers of a double
    double duration = ctn_scene_duration(s->scene);
    if (args->value[OPT_STEPS] && args->value[OPT_DURATION]) return usage_error("--steps and --duration: give one of them");
    if (args->value[OPT_STEPS]) return whole_option(args, OPT_STEPS, 0, (long)most, steps) ? EXIT_OK : EXIT_USAGE;
    if (!number_option(args, OPT_DURATION, &duration)) return EXIT_USAGE;
    if (args->value[OPT_DURATION] && !(duration >= 0))
        return usage_error("--duration: expected a time (s), 0 or more, found %s", args->value[OPT_DURATION]);
    if (duration < 0) return usage_error("how long? give --steps or --duration, or write 'duration:' into %s", s->path);
    // as many steps as reach the end; one that is nearly whole is not rounded up by an error in the last digits
    const double dt = s->cfg.dt, count = ceil(duration / dt * (1 - 1e-12) - 1e-9);
    const char *const of = args->value[OPT_DURATION] ? "--duration" : "the scene's duration";
    const char *const by = s->cfg.adaptive ? "--interval" : "--dt";
    if (!(count <= most)) return usage_error("%s: %g s is too many steps of %g s; give a larger %s", of, duration, dt, by);
    if (duration > 0 && duration < dt * (1 - 1e-9))
        return usage_error("%s: %g s is less than a step of %g s; give a smaller %s, or --steps 1", of, duration, dt, by);
    *steps = (long)count;
    if (count * dt > duration * (1 + 1e-9) && !args->value[OPT_QUIET])
        warning("%s: %g s is not a whole number of steps of %g s: %ld of them end at %g s", of, duration, dt, *steps, count * dt);
    return EXIT_OK;
}

char *command_line(const arguments *args)
{
    size_t size = sizeof "catena";
    for (int i = 0; i < args->nword; i++) size += strlen(args->words[i]) + 3;
    char *const line = malloc(size);
    if (!line) return NULL;
    strcpy(line, "catena");
    for (int i = 0; i < args->nword; i++) {
        const char *const quote = strpbrk(args->words[i], " \t\n*?\\\"$&;|<>()") || !*args->words[i] ? "'" : "";
        sprintf(line + strlen(line), " %s%s%s", quote, args->words[i], quote);
    }
    return line;
}

long next_piece(long piece, long made, double seconds)
{
    if (seconds > 0.05 && piece > 1) return piece / 2;
    return made == piece && seconds < 0.02 && piece < 1 << 20 ? 2 * piece : piece;
}

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
