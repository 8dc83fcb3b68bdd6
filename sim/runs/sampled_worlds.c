/// Draws of sim/model/sample.c as rows of a batch.
#include "sim/runs/sampled_worlds.h"

#include "sim/base/status.h"

#include <catena/sensors.h>

#include <stdlib.h>
#include <string.h>

ctn_status sampled_worlds_open(sampled_worlds *x, const ctn_scene *scene, const ctn_model *model, const char *path, int worlds,
                               ctn_batch_config *cfg, ctn_error *err)
{
    const size_t n = (size_t)worlds, nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    *x = (sampled_worlds){.scene = scene, .model = model, .path = path};
    x->parameter_count = cfg->parameter_count = ctn_scene_parameters(scene, model, NULL);
    const size_t own = (size_t)x->parameter_count;
    x->parameters = calloc(own + 1, sizeof *x->parameters), x->values = calloc(n * own + 1, sizeof *x->values);
    x->q = calloc(n * nq + 1, sizeof *x->q), x->v = calloc(n * nv + 1, sizeof *x->v);
    x->tau = calloc(n * nv + 1, sizeof *x->tau);
    if (!x->parameters || !x->values || !x->q || !x->v || !x->tau) return fail(err, CTN_NO_MEMORY, "not enough memory");
    ctn_scene_parameters(scene, model, x->parameters);
    cfg->parameters = x->parameters;
    return CTN_OK;
}

void sampled_worlds_close(sampled_worlds *x)
{
    free(x->parameters), free(x->values), free(x->q), free(x->v), free(x->tau);
    memset(x, 0, sizeof *x);
}

ctn_status sampled_worlds_start(sampled_worlds *x, uint64_t seed, int64_t all, int64_t first, int count, starts *from,
                                ctn_batch *batch, ctn_error *err)
{
    ctn_error why;
    x->forced = ctn_sample_worlds(x->scene, x->model, seed, first, count, all, x->q, x->v, x->tau, x->values);
    const ctn_status status = from ? starts_read(from, first, count, x->q, x->v, err) : CTN_OK;
    if (status != CTN_OK) return status;
    ctn_batch_number_worlds(batch, seed, first);
    ctn_batch_set_force(batch, x->forced ? x->tau : NULL);
    ctn_status set = x->parameter_count ? ctn_batch_set_parameters(batch, x->values, &why) : CTN_OK;
    if (set == CTN_OK) set = ctn_batch_set_state(batch, x->q, x->v, 0, &why);
    if (set == CTN_OK) return CTN_OK;
    if (set != CTN_BAD_ARGUMENT) return fail(err, set, "%s", why.message);
    return fail(err, set, "%s: sample: of the worlds from %ld on, %s", x->path, (long)first, why.message);
}
