/// `catena convert`: robot files as scenes.
#include "cli/base/message.h"
#include "cli/commands/commands.h"
#include "sim/base/new_file.h"

#include <catena/catena.h>
#include <stdlib.h>

/// The text, or NULL with its errors printed; warnings are printed, too.
static char *convert(const char *path, const char *to, bool quiet, int *status)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load(path, &err);
    char *const text = scene ? ctn_scene_convert(path, to, &err) : NULL;
    if (!text) *status = status_error(&err, "");
    else if (!quiet) warn_lines(ctn_scene_warnings(scene));
    ctn_scene_free(scene);
    return text;
}

static int convert_main(const arguments *args)
{
    ctn_error err;
    int status = EXIT_OK;
    const char *const to = args->value[OPT_OUT];
    new_file file = {.stream = stdout};
    char *const text = convert(args->files[0], to, args->value[OPT_QUIET] != NULL, &status);
    if (!text) return status;
    if (to && new_file_open(&file, to, &err) != CTN_OK) {
        free(text);
        return run_error("%s", err.message);
    }
    fputs(text, file.stream);
    free(text);
    if (to && new_file_close(&file, true, &err) != CTN_OK) return run_error("%s", err.message);
    return EXIT_OK;
}

const command command_convert = {
    .name = "convert",
    .files = "ROBOT",
    .least = 1,
    .most = 1,
    .does = "Writes a robot file as a scene, to go on with by hand.",
    .about = "URDF is read as `run` and all others read it, too. What it says and catena has nothing for is a\n"
             "warning. The base is fixed; `urdf: {file: ROBOT, base: free}` in a scene sets it free.\n",
    .takes = TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the scene; without it, standard output",
    .examples = "  catena convert robot.urdf --out robot.yaml\n",
    .main = convert_main,
};
