#include "cli/commands/mpc_options.h"

#include "cli/base/message.h"

#include <catena/sample.h>
#include <string.h>

bool mpc_options(const arguments *args, const ctn_scene *scene, scene_mpc *how, uint64_t *seed)
{
    if (!scene->optimize.given)
        return usage_error("%s: the scene has no `optimize:`; docs/trajectories.md tells what belongs there", scene->path), false;
    *how = scene->optimize.mpc;
    const char *const planner = args->value[OPT_PLANNER];
    int chosen = 0;
    while (planner && chosen < PLANNERS && strcmp(planner, mpc_planner_names[chosen])) chosen++;
    if (chosen == PLANNERS)
        return usage_error("--planner: expected ilqr, sampling or mppi, found '%s'", clean(planner).text), false;
    if (planner) how->planner = (mpc_planner)chosen;
    long iterations = how->iterations, samples = how->samples, number = (long)ctn_scene_seed(scene);
    if (!number_option(args, OPT_HORIZON, &how->horizon) || !number_option(args, OPT_DEADLINE, &how->deadline) ||
        !whole_option(args, OPT_ITERATIONS, 0, MOST_MPC_ITERATIONS, &iterations) ||
        !whole_option(args, OPT_SAMPLES, 2, MOST_MPC_SAMPLES, &samples) || !whole_option(args, OPT_SEED, 0, 2147483647, &number))
        return false;
    if (args->value[OPT_DEADLINE] && !(how->deadline > 0))
        return usage_error("--deadline: expected seconds above 0, found '%s'", args->value[OPT_DEADLINE]), false;
    if (args->value[OPT_DEADLINE] && args->value[OPT_ITERATIONS])
        return usage_error("--deadline makes as many iterations as there is time for; leave --iterations out"), false;
    if (args->value[OPT_ITERATIONS]) how->deadline = 0;
    if (how->planner == PLANNER_ILQR && args->value[OPT_SAMPLES])
        return usage_error("--samples: ilqr has none; take --planner sampling or mppi"), false;
    how->iterations = (int)iterations, how->samples = (int)samples, *seed = (uint64_t)number;
    return true;
}
