/// A scene, compiled, with the options of the command line over its `integrator:` section.
#include "cli/base/setup.h"

#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "sim/base/config.h"
#include "sim/model/between.h"
#include "sim/model/contact_points.h"
#include "sim/model/step_limit.h"
#include "sim/scene/scene.h"

#include <stdio.h>
#include <string.h>

/// One option of the configuration, through the checks that scene files use.
static bool override_number(const arguments *args, enum option_id option, const char *field, ctn_batch_config *cfg)
{
    ctn_error err;
    double value = 0;
    if (!args->value[option]) return true;
    if (!number_option(args, option, &value)) return false;
    if (config_set(cfg, field, value, &err) == CTN_OK) return true;
    usage_error("%s: %s", option_name(option), err.message);
    return false;
}

/// --dt, --interval and --tolerance, whose meaning depends on whether the step size is chosen by the program.
static bool override_time_step(const arguments *args, ctn_batch_config *cfg)
{
    const bool automatic = args->value[OPT_DT] && !strcmp(args->value[OPT_DT], "auto");
    bool ok = true;
    if (automatic && !cfg->adaptive) cfg->dt = ctn_batch_config_default().dt;  // the scene's own is a step, not an interval
    if (args->value[OPT_DT]) cfg->adaptive = automatic;
    if (!automatic) ok = override_number(args, OPT_DT, "dt", cfg);
    if (args->value[OPT_INTERVAL] && !cfg->adaptive) usage_error("--interval belongs to --dt auto"), ok = false;
    else ok = override_number(args, OPT_INTERVAL, "dt", cfg) && ok;
    return override_number(args, OPT_TOLERANCE, cfg->adaptive ? "error_tolerance" : "tolerance", cfg) && ok;
}

static int override_all(const arguments *args, ctn_batch_config *cfg)
{
    static const struct {
        enum option_id option;
        const char *field;
    } numbers[] = {{OPT_ORDER, "order"},
                   {OPT_STAGES, "stages"},
                   {OPT_RHO, "rho"},
                   {OPT_MAX_ITERATIONS, "max_iterations"},
                   {OPT_MAX_HALVINGS, "max_halvings"},
                   {OPT_WORLDS, "worlds"},
                   {OPT_LANES, "lanes"},
                   {OPT_THREADS, "threads"}};
    ctn_error err;
    bool ok = true, foreign = false;
    if (args->value[OPT_METHOD] && ctn_method_from_name(args->value[OPT_METHOD], &cfg->method, &err) != CTN_OK)
        usage_error("--method: %s", err.message), ok = false;
    const bool automatic = args->value[OPT_DT] ? !strcmp(args->value[OPT_DT], "auto") : cfg->adaptive;
    static const enum option_id of_solver[] = {OPT_SOLVER, OPT_TOLERANCE, OPT_MAX_ITERATIONS, OPT_MAX_HALVINGS};
    double value;
    const char *const number = method_number(cfg, &value);
    for (size_t i = 0; i < sizeof of_solver / sizeof *of_solver && ok; i++)
        if (args->value[of_solver[i]] && !ctn_method_is_implicit(cfg->method) && !(automatic && of_solver[i] == OPT_TOLERANCE))
            foreign = true, usage_error("%s belongs to " IMPLICIT_METHODS "%s, not to %s", option_name(of_solver[i]),
                                        of_solver[i] == OPT_TOLERANCE ? " and to --dt auto" : "", ctn_method_name(cfg->method));
    if (ok && args->value[OPT_ORDER] && (!number || strcmp(number, "order")))
        foreign = true, usage_error("--order belongs to " METHODS_WITH_ORDER ", not to %s", ctn_method_name(cfg->method));
    if (ok && args->value[OPT_STAGES] && (!number || strcmp(number, "stages")))
        foreign = true, usage_error("--stages belongs to the method radau, not to %s", ctn_method_name(cfg->method));
    if (ok && args->value[OPT_RHO] && (!number || strcmp(number, "rho")))
        foreign = true, usage_error("--rho belongs to the method alpha, not to %s", ctn_method_name(cfg->method));
    if (foreign) return EXIT_USAGE;
    if (args->value[OPT_SOLVER] && ctn_solver_from_name(args->value[OPT_SOLVER], &cfg->solver, &err) != CTN_OK)
        usage_error("--solver: %s", err.message), ok = false;
    if (args->value[OPT_SCHEDULE] && ctn_schedule_from_name(args->value[OPT_SCHEDULE], &cfg->schedule, &err) != CTN_OK)
        usage_error("--schedule: %s", err.message), ok = false;
    if (args->value[OPT_PARALLEL] && ctn_parallel_from_name(args->value[OPT_PARALLEL], &cfg->parallel, &err) != CTN_OK)
        usage_error("--parallel: %s", err.message), ok = false;
    else if (args->value[OPT_LANES] && cfg->parallel == CTN_PARALLEL_WORLDS)
        usage_error("--lanes belongs to --parallel links, both and auto, not to worlds"), ok = false;
    ok = override_time_step(args, cfg) && ok;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ok = override_number(args, numbers[i].option, numbers[i].field, cfg) && ok;
    if (ok && config_check_adaptive(cfg, &err) != CTN_OK)
        usage_error("%s: %s", args->value[OPT_DT] ? "--dt" : "the scene's dt", err.message), ok = false;
    if (ok && config_check_solver(cfg, &err) != CTN_OK)
        usage_error("%s: %s", args->value[OPT_SOLVER] ? "--solver" : "the scene's solver", err.message), ok = false;
    if (ok && config_check_parallel(cfg, &err) != CTN_OK)
        usage_error("%s: %s", args->value[OPT_PARALLEL] ? "--parallel" : "the scene's parallel", err.message), ok = false;
    if (args->value[OPT_ENGINE]) cfg->engine = args->value[OPT_ENGINE];
    return ok ? EXIT_OK : EXIT_USAGE;
}

int setup_configure(const arguments *args, const ctn_scene *scene, ctn_batch_config *cfg)
{
    *cfg = ctn_scene_config(scene);
    cfg->threads = 0, cfg->interrupt = stop_flag();
    return override_all(args, cfg);
}

static int open_setup(const arguments *args, bool to_step, setup *s)
{
    ctn_error err;
    *s = (setup){.path = args->files[0]};
    s->scene = ctn_scene_load(s->path, &err);
    if (!s->scene) return status_error(&err, "");
    int status = setup_configure(args, s->scene, &s->cfg);
    if (status == EXIT_OK) s->model = ctn_model_create(s->scene, &err);
    if (status == EXIT_OK && !s->model) status = status_error(&err, "");
    const bool warn = status == EXIT_OK && to_step;
    if (warn && !(warn_of_depth(s->scene, s->model) && warn_of_between(s->scene, s->model) &&
                  warn_of_stiffness(s->scene, s->model, &s->cfg)))
        status = run_error("not enough memory");
    if (status == EXIT_OK && !args->value[OPT_QUIET]) warn_lines(ctn_scene_warnings(s->scene));
    if (status != EXIT_OK) setup_close(s);
    return status;
}

int setup_open(const arguments *args, setup *s) { return open_setup(args, false, s); }

int setup_open_to_step(const arguments *args, setup *s) { return open_setup(args, true, s); }

void setup_close(setup *s)
{
    ctn_model_free(s->model);
    ctn_scene_free(s->scene);
    s->model = NULL, s->scene = NULL;
}
