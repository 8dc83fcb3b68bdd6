#include "control/scene_there.h"

#include "sim/base/config.h"
#include "sim/base/status.h"
#include "sim/engine/device.h"
#include "sim/model/model.h"

#include <stdlib.h>

struct scene_there {
    plant_there is;
    ctn_model *told;  // with thrusters that are told; NULL: the model's are
};

/// CTN_UNAVAILABLE in `err`: what plans on a device have not.
static bool check(const ctn_model *model, const ctn_batch_config *cfg, const char *engine, ctn_error *err)
{
    const ctn_device *const device = device_find(engine, err);
    if (!device) return false;
    if (!device->plans || !device->follow)
        return fail(err, CTN_UNAVAILABLE, "engine: '%s' makes no plans in this version; take 'cuda' or 'auto'", engine), false;
    if (config_between(model))
        return fail(err, CTN_UNAVAILABLE, "engine: '%s' takes no %s in this version; take 'auto'", engine, config_between(model)),
               false;
    if (cfg->parameter_count)
        return fail(err, CTN_UNAVAILABLE, "engine: '%s' makes no plans with parameters in this version; take 'auto'", engine),
               false;
    return true;
}

scene_there *scene_there_open(const ctn_model *model, const ctn_batch_config *cfg, int hold, bool anew, ctn_error *err)
{
    const char *const engine = device_asked(cfg->engine);
    if (!check(model, cfg, engine, err)) return NULL;
    scene_there *const s = calloc(1, sizeof *s);
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for a plant"), NULL;
    ctn_batch_config own = *cfg;
    own.engine = engine, own.worlds = own.threads = 1, own.parallel = CTN_PARALLEL_WORLDS;
    own.max_halvings = 0;  // as on the CPU (control/scene_plant.c)
    s->is = (plant_there){.device = device_find(engine, err), .hold = hold, .anew = anew};
    const bool still = model_has_still_thrusters(model);
    if (still && !(s->told = model_with_told_thrusters(model))) fail(err, CTN_NO_MEMORY, "not enough memory for a plant");
    else s->is.worlds = s->is.device->open(still ? s->told : model, &own, true, err);
    if (s->is.worlds) return s;
    scene_there_close(s);
    return NULL;
}

void scene_there_close(scene_there *s)
{
    if (!s) return;
    if (s->is.worlds) s->is.device->close(s->is.worlds);
    free(s->told), free(s);
}

const plant_there *scene_there_of(const scene_there *s) { return &s->is; }
