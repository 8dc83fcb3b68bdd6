/// `catena check`: validates scene files, or finds the time steps that a scene can take.
#include "cli/commands/commands.h"
#include "cli/commands/dt_sweep.h"
#include "cli/base/json.h"
#include "cli/base/message.h"
#include "control/scene_plant.h"
#include "sim/base/status.h"
#include "sim/model/between.h"
#include "sim/model/contact_points.h"
#include "sim/model/step_limit.h"
#include "sim/scene/scene.h"

#include <catena/catena.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static void print_good(const char *path, int nlink, int nv)
{
    printf("%s: ok, %d link%s, %d degree%s of freedom\n", clean(path).text, nlink, plural(nlink), nv, plural(nv));
}

/// A line of a message: its place, as far as it has one, its key, and what it says.
static void add_finding(cJSON *to, const char *path, const ctn_finding *f)
{
    cJSON *const one = json_object(to, NULL);
    const char *const file = *f->file ? f->file : path;
    const size_t length = strlen(file);
    const bool repeats = !strncmp(f->text, file, length) && !strncmp(f->text + length, ": ", 2);  // where there is no line
    json_text(one, "file", file);
    json_number(one, "line", f->line ? f->line : (double)NAN);
    json_number(one, "column", f->line ? f->column : (double)NAN);
    if (*f->key) json_text(one, "key", f->key);
    else cJSON_AddNullToObject(one, "key");
    json_text(one, "text", repeats ? f->text + length + 2 : f->text);
}

/// How many more there are, as the last line of a message says it if not all are listed.
static void add_rest(cJSON *to, const char *path, const char *message)
{
    const char *const last = strrchr(message, '\n');
    ctn_finding f = {0};
    if (!last || strncmp(last, "\n... and ", 9) != 0) return;
    snprintf(f.text, sizeof f.text, "%s", last + 1);
    add_finding(to, path, &f);
}

static void add_findings(cJSON *to, const char *path, const ctn_scene *scene, const ctn_error *err)
{
    ctn_finding f;
    cJSON *const errors = json_array(to, "errors"), *const warnings = json_array(to, "warnings");
    for (int i = 0; err && ctn_error_finding(err, i, &f) == CTN_OK; i++) add_finding(errors, path, &f);
    for (int i = 0; scene && ctn_scene_warning(scene, i, &f) == CTN_OK; i++) add_finding(warnings, path, &f);
    if (err) add_rest(errors, path, err->message);
    if (scene) add_rest(warnings, path, ctn_scene_warnings(scene));
}

/// One file, through everything that can fail before the first step. Returns an exit status.
static int check_file(const char *path, bool quiet, cJSON *results)
{
    ctn_error err, why;
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ctn_model *const model = scene ? ctn_model_create(scene, &err) : NULL;
    bool good = model != NULL;
    int status = EXIT_OK;
    if (model && !(warn_of_depth(scene, model) && warn_of_between(scene, model) && warn_of_stiffness(scene, model, &scene->config)))
        status = run_error("not enough memory");
    const char *const warnings = scene ? ctn_scene_warnings(scene) : "";
    if (model && ctn_batch_check(model, &scene->config, &why) != CTN_OK) scene_refuse(scene, &why, &err), good = false;
    if (good && scene->optimize.given && scene_plant_check(scene, model, &scene->config, &err) != CTN_OK) good = false;
    if (!good) status = err.status == CTN_NO_MEMORY ? EXIT_RUN : EXIT_USAGE;
    if (results) {
        cJSON *const one = json_object(results, NULL);
        json_text(one, "file", path);
        cJSON_AddBoolToObject(one, "ok", good);
        add_findings(one, path, scene, good ? NULL : &err);
    } else {
        if (!quiet) warn_lines(warnings);
        if (!good) status_error(&err, "");
        else if (!quiet) print_good(path, ctn_model_nlink(model), ctn_model_nv(model));
    }
    ctn_model_free(model);
    ctn_scene_free(scene);
    return status;
}

static int check_main(const arguments *args)
{
    static const enum option_id of_sweep[] = {OPT_ERROR, OPT_DURATION, OPT_PLOT};
    if (args->value[OPT_DT_SWEEP]) return dt_sweep_main(args);
    for (size_t i = 0; i < sizeof of_sweep / sizeof *of_sweep; i++)
        if (args->value[of_sweep[i]]) return usage_error("%s belongs to --dt-sweep", option_name(of_sweep[i]));
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
    .scenes = true,
    .does = "Validates scene files and prints every error and warning with its place.",
    .about = "What the scene's own method cannot take is an error, as it is of catena run, and so is an `optimize`\n"
             "that catena optimize would refuse.\n"
             "Springs, limits and dampers that are too stiff for the scene's method and time step are warnings.\n"
             "With --dt-sweep: runs the scene by every method, in smaller and smaller steps, and prints the\n"
             "largest step from which on all links end within --error of where they should be.\n"
             "Exit status: 0 all are good; 1 --dt-sweep found no reference, or a file could not be written;\n"
             "2 bad usage, or a scene has errors.\n",
    .takes = TAKES(OPT_DT_SWEEP) | TAKES(OPT_ERROR) | TAKES(OPT_DURATION) | TAKES(OPT_PLOT) | TAKES(OPT_JSON) | TAKES(OPT_QUIET),
    .plot = "draw errors over time steps: .png, .svg or .pdf, by gnuplot",
    .examples = "  catena check scenes/*.yaml\n"
                "  catena check --json arm.yaml\n"
                "  catena check scenes/double-pendulum.yaml --dt-sweep --duration 2 --plot errors.png\n",
    .main = check_main,
};
