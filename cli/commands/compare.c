/// `catena compare`: beside MuJoCo and Pinocchio, which programs in Python speak to; so it hands over to `catena-compare`, which
/// comes with the package for Python (python/catena/compare) and knows which Python it belongs to.
#include "cli/base/message.h"
#include "cli/commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char program[] = "catena-compare";

static int compare_main(const arguments *args)
{
    char **const words = calloc((size_t)args->nword + 1, sizeof *words);
    if (!words) return run_error("not enough memory for %d words", args->nword);
    memcpy(words, args->words, (size_t)args->nword * sizeof *words);
    words[0] = (char *)program;  // in the place of "compare"
    execvp(program, words);
    const int reason = errno;
    free(words);
    if (reason != ENOENT) return run_error("%s: %s", program, strerror(reason));
    return run_error(
        "%s is not in PATH: it comes with the package for Python; `pip install '.[compare]'` in catena's source folder "
        "installs both it and what it compares with",
        program);
}

const command command_compare = {
    .name = "compare",
    .files = "ROBOT",
    .least = 1,
    .most = 1,
    .does = "Compares a robot here, in MuJoCo and in Pinocchio: your robot, your step.",
    .about =
        "ROBOT is a URDF file or a model of MuJoCo. A page of HTML says whether the programs compute the same accelerations,\n"
        "which time step holds in each, and what an error costs. It takes the package for Python, and those programs that\n"
        "are installed beside it. Unless told: what has to hold is 10 s, 64 worlds run side by side, random states are those\n"
        "of seed 1. docs/compare.md says more.\n",
    .takes = TAKES(OPT_OUT) | TAKES(OPT_DURATION) | TAKES(OPT_WORLDS) | TAKES(OPT_SEED) | TAKES(OPT_BASE) | TAKES(OPT_QUIET),
    .out = "the page (default: NAME-compare.html here)",
    .examples = "  catena compare robot.urdf\n"
                "  catena compare humanoid.xml --out humanoid.html --duration 5\n"
                "  catena compare dog.urdf --base free\n",
    .main = compare_main,
};
