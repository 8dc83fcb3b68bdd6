/// `catena check`: validates scene files.
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"

#include <catena/catena.h>
#include <limits.h>

/// One file, through everything that can fail before the first step. Returns an exit status.
static int check_file(const char *path, bool quiet, cJSON *results)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ctn_model *const model = scene ? ctn_model_create(scene, &err) : NULL;
    const char *const warnings = scene ? ctn_scene_warnings(scene) : "";
    int status = EXIT_OK;
    if (!model) status = err.status == CTN_NO_MEMORY ? EXIT_RUN : EXIT_USAGE;
    if (results) {
        cJSON *const one = json_object(results, NULL);
        json_text(one, "file", path);
        cJSON_AddBoolToObject(one, "ok", model != NULL);
        json_lines(one, "errors", model ? "" : err.message);
        json_lines(one, "warnings", warnings);
    } else {
        if (!quiet) warn_lines(warnings);
        if (!model) status_error(&err, "");
        else if (!quiet) printf("%s: ok, %d links, %d degrees of freedom\n", path, ctn_model_nlink(model), ctn_model_nv(model));
    }
    ctn_model_free(model);
    ctn_scene_free(scene);
    return status;
}

static int check_main(const arguments *args)
{
    cJSON *const results = args->value[OPT_JSON] ? cJSON_CreateArray() : NULL;
    int status = EXIT_OK;
    for (int i = 0; i < args->nfile; i++) {
        fflush(stdout);  // results and errors in the order of the files
        const int one = check_file(args->files[i], args->value[OPT_QUIET] != NULL, results);
        status = one > status ? one : status;
    }
    if (results && json_print(results) != EXIT_OK) status = EXIT_RUN;
    return status;
}

const command command_check = {
    .name = "check",
    .files = "SCENE...",
    .least = 1,
    .most = INT_MAX,
    .does = "Validates scene files and prints every error and warning with its place.",
    .about = "Exit status: 0 all are good, 2 one has errors.\n",
    .takes = TAKES(OPT_JSON) | TAKES(OPT_QUIET),
    .examples = "  catena check scenes/*.yaml\n"
                "  catena check --json arm.yaml\n",
    .main = check_main,
};
