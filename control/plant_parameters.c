#include "control/plant_parameters.h"

#include "sim/base/status.h"

#include <catena/motors.h>
#include <stdlib.h>

/// Whether costs or limits are of the centre of mass.
static bool asks_for_masses(const ctn_scene *scene)
{
    const scene_optimize *const o = &scene->optimize;
    bool asks = false;
    for (int k = 0; k < o->ncost; k++) asks = asks || o->cost[k].term == COST_COM;
    for (int k = 0; k < o->nlimit; k++) asks = asks || o->limits[k].of.term == COST_COM;
    for (int k = 0; k < scene->nreward && o->reward > 0; k++) {
        const scene_reward *const t = &scene->reward[k];
        asks = asks || (t->link < 0 && (t->term == REWARD_PROGRESS || t->term == REWARD_SPEED || t->term == REWARD_HEIGHT ||
                                        t->term == REWARD_REACH));
    }
    return asks;
}

/// Whether rewards are of what motors give.
static bool asks_for_motors(const ctn_scene *scene)
{
    for (int k = 0; k < scene->nreward && scene->optimize.reward > 0; k++)
        if (scene->reward[k].term == REWARD_EFFORT || scene->reward[k].term == REWARD_ENERGY) return true;
    return false;
}

/// Why it cannot be a parameter; NULL: it can. told [nu]: those that are looked for.
static const char *why_not(const ctn_scene *scene, ctn_parameter p, const ctn_parameter *told, int nu)
{
    for (int i = 0; i < nu; i++)
        if (told[i].kind == p.kind && told[i].index == p.index) return "is what is looked for";
    switch (p.kind) {
    case CTN_TIME_STEP: return "would change how long a knot is; make a configuration with another dt";
    case CTN_MOTOR_EFFORT:
        return "bounds what motors are told, and bounds are those of the scene; compile a model of another scene";
    case CTN_MASS_SCALE:
        return asks_for_masses(scene)
                   ? "changes the centre of mass, of which costs, limits and rewards are by the scene's masses; "
                     "take a term `place`, or compile a model of another scene"
                   : NULL;
    case CTN_MOTOR_VELOCITY:
    case CTN_MOTOR_FEEDFORWARD:
    case CTN_MOTOR_KP:
    case CTN_MOTOR_KD:
    case CTN_MOTOR_KI:
    case CTN_MOTOR_SPEED:
    case CTN_MOTOR_ROTATION:
    case CTN_MOTOR_SPIN:
    case CTN_MOTOR_TORQUE:
        return asks_for_motors(scene)
                   ? "changes what motors give, of which `effort` and `energy` of the reward are by the scene's "
                     "motors; give `control` a weight instead"
                   : NULL;
    default: return NULL;
    }
}

ctn_status plant_parameters_check(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err)
{
    const int nu = ctn_model_ntarget(model);
    ctn_parameter *const told = calloc((size_t)nu + 1, sizeof *told);
    if (!told) return fail(err, CTN_NO_MEMORY, "not enough memory for parameters");
    ctn_model_target_parameters(model, told);
    ctn_status status = CTN_OK;
    for (int k = 0; k < cfg->parameter_count && status == CTN_OK; k++) {
        const char *const name = ctn_parameter_name(cfg->parameters[k].kind), *const why =
                                                                                  name ? why_not(scene, cfg->parameters[k], told,
                                                                                                 nu)
                                                                                       : NULL;
        if (why) status = fail(err, CTN_UNAVAILABLE, "%s: parameters[%d], %s, %s", scene->path, k, name, why);
    }
    free(told);
    return status;
}
