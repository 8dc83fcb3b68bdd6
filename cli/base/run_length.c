#include "cli/base/run_length.h"

#include "cli/base/message.h"

#include <math.h>

int run_length(const arguments *args, const setup *s, long *steps)
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
