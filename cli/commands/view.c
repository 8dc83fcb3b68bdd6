/// `catena view`: a window in which a scene runs.
#include "cli/commands/commands.h"
#include "cli/commands/mpc_options.h"
#include "cli/commands/view_mpc.h"
#include "cli/base/message.h"
#include "sim/base/number.h"
#include "cli/base/setup.h"
#include "cli/pictures/picture_options.h"
#include "render/view/viewer.h"
#include "sim/base/config.h"
#include "sim/record/record.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// METHOD[:NUMBER][@DT] over the configuration in `cfg`: NUMBER is the method's order, stages or rho.
static bool read_way(const char *text, ctn_batch_config *cfg, ctn_error *err)
{
    char method[40];
    ctn_error reason;
    const size_t length = strcspn(text, ":@");
    const char *rest = text + length;
    snprintf(method, sizeof method, "%.*s", (int)length, text);
    if (ctn_method_from_name(method, &cfg->method, &reason) != CTN_OK)
        return fail(err, CTN_BAD_CONFIG, "--compare: %s", reason.message), false;
    double number;
    const char *const field = method_number(cfg, &number);
    for (; *rest; rest += strcspn(rest + 1, ":@") + 1) {
        const char *end;
        double value;
        const number_form form = number_from_text(rest + 1, &value, &end);
        const char *const sets = *rest == '@' ? "dt" : field;
        if (form != NUMBER_GOOD || !strchr(":@", *end))
            return fail(err, CTN_BAD_CONFIG, "--compare: expected METHOD[:NUMBER][@DT] like radau:2@0.05, found '%s'", text),
                   false;
        if (!sets)
            return fail(err, CTN_BAD_CONFIG, "--compare: %s has neither order, stages nor rho, found '%s'", method, text), false;
        if (config_set(cfg, sets, value, &reason) != CTN_OK)
            return fail(err, CTN_BAD_CONFIG, "--compare: %s: %s: %s", text, sets, reason.message), false;
    }
    if (config_check_parallel(cfg, NULL) != CTN_OK) cfg->parallel = CTN_PARALLEL_AUTO;  // of the scene's method
    if (config_check_adaptive(cfg, &reason) != CTN_OK || config_check_solver(cfg, &reason) != CTN_OK)
        return fail(err, CTN_BAD_CONFIG, "--compare: %s: %s", text, reason.message), false;
    return true;
}

/// The methods of --compare, each over what scene and options say; without it these alone.
static bool configure(const void *context, const ctn_scene *scene, ctn_batch_config *cfg, int *runs, ctn_error *err)
{
    const arguments *const args = context;
    ctn_batch_config first;
    *runs = 1;
    errors_into(err);  // the window shows it
    const int status = setup_configure(args, scene, &first);
    errors_into(NULL);
    if (status != EXIT_OK) return false;
    cfg[0] = first;
    if (first.worlds > 1 && !ctn_scene_is_sampled(scene) && !args->value[OPT_QUIET])
        warning("%s has no `sample:` section: all worlds start from the same state", scene->files[0].path);
    if (!args->value[OPT_COMPARE]) return true;
    *runs = 0;
    for (const char *at = args->value[OPT_COMPARE]; *at; at += *at == ',') {
        char text[80];
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof text || *runs == PLAYER_RUNS)
            return fail(err, CTN_BAD_CONFIG, "--compare: expected 1 to %d methods, separated by commas, found '%s'", PLAYER_RUNS,
                        args->value[OPT_COMPARE]),
                   false;
        snprintf(text, sizeof text, "%.*s", (int)length, at);
        cfg[*runs] = first;
        if (!read_way(text, &cfg[(*runs)++], err)) return false;
        at += length;
    }
    return true;
}

/// Options of plans belong to --mpc, which steers one world of a scene.
static int check_steered(const arguments *args)
{
    for (int o = 0; o < OPTIONS && !args->value[OPT_MPC]; o++)
        if (TAKES_MPC & TAKES(o) && args->value[o])
            return usage_error("%s says how plans are made; give --mpc with it", option_name((enum option_id)o));
    if (!args->value[OPT_MPC]) return EXIT_OK;
    if (named_hdf5(args->files[0])) return usage_error("--mpc steers a scene; %s is a recording", args->files[0]);
    if (args->value[OPT_COMPARE]) return usage_error("--mpc steers one run; leave --compare out");
    return EXIT_OK;
}

static int view_main(const arguments *args)
{
    ctn_error err;
    viewer_config config = {
        .path = args->files[0], .width = 1280, .height = 800, .speed = 1, .configure = configure, .context = args};
    if (refuse_csv(args->files[0]) != EXIT_OK || check_steered(args) != EXIT_OK) return EXIT_USAGE;
    if (args->value[OPT_MPC]) config.guide = &guide_of_plans;
    if (named_hdf5(args->files[0]) && refuse_scene_options(args, 0) != EXIT_OK) return EXIT_USAGE;
    if (!size_option(args, &config.width, &config.height) || !number_option(args, OPT_SPEED, &config.speed)) return EXIT_USAGE;
    if (!(config.speed >= 1.0 / 64 && config.speed <= 16))
        return usage_error("--speed: expected a number from 1/64 (slow motion) to 16, found '%s'", args->value[OPT_SPEED]);
    picture_extras extras;
    world_layout layout;
    config.warn = args->value[OPT_QUIET] ? NULL : warn_lines;
    config.paused = args->value[OPT_PAUSED], config.world = -1, config.camera = args->value[OPT_CAMERA];
    if (args->value[OPT_WORLD] && !named_hdf5(args->files[0]))
        return usage_error("--world chooses one of a recording; %s is a scene", args->files[0]);
    if (args->value[OPT_WORLD] && !whole_option(args, OPT_WORLD, 0, 2147483647, &config.world)) return EXIT_USAGE;
    if (picture_extras_read(args, NULL, &extras) != EXIT_OK ||
        colors_option(args, &config.colors, &config.scale_energy) != EXIT_OK || layout_option(args, &layout) != EXIT_OK ||
        floor_option(args, &config.floor) != EXIT_OK)
        return EXIT_USAGE;
    if (extras.what & SHOW_TEXT) return usage_error("--show: text is for catena render; the window's panel has what it says");
    if (args->value[OPT_COMPARE] && !args->value[OPT_COLORS]) config.colors = COLORS_WORLD;
    config.overlaid = layout == LAYOUT_OVERLAY, config.show = extras.what;
    picture_extras_close(&extras);
    bool began;
    if (view(&config, &began, &err) == CTN_OK) return EXIT_OK;
    const int status = status_error(&err, "");
    return began ? EXIT_RUN : status;
}

const command command_view = {
    .name = "view",
    .files = "FILE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Shows a scene or a recording in a window as it moves: look around, pull at links, change methods.",
    .about = "FILE is a scene, or a recording (.h5) of catena run or rollout, of which all worlds are shown, or --world.\n"
             "F1 in the window lists keys and what the mouse does. A scene is read again when its file is saved; its\n"
             "errors are shown in the window. Watching changes no bit of the motion. --compare runs several methods in\n"
             "step: METHOD[:NUMBER][@DT] each, NUMBER its order, stages or rho; the first one stands as a ghost beside the\n"
             "others. Several worlds start as the scene's sample section says.\n"
             "--mpc steers the scene as catena mpc does, by its `optimize:`, and goes on where it is pulled away from its plan.\n"
             "Exit status: 0 the window was closed; 1 no display, or OpenGL fails; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_SCHEDULE)) | TAKES(OPT_MPC) | TAKES_MPC | TAKES(OPT_COMPARE) | TAKES(OPT_SPEED) | TAKES(OPT_PAUSED) |
             TAKES(OPT_LAYOUT) | TAKES(OPT_SIZE) | TAKES(OPT_CAMERA) | TAKES(OPT_FLOOR) | TAKES(OPT_SHOW) | TAKES(OPT_COLORS) |
             TAKES(OPT_WORLD) | TAKES(OPT_QUIET),
    .examples = "  catena view scenes/chain10.yaml\n"
                "  catena view scenes/humanoid.yaml --speed 0.25 --paused\n"
                "  catena view chains.h5\n"
                "  catena view iiwa14-eight --mpc --method semi-implicit\n"
                "  catena view scenes/chain40.yaml --compare rk4@0.001,radau:2@0.05,collocation@0.05\n",
    .main = view_main,
};
