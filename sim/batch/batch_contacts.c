/// What the contact points of a batch's worlds feel, out of their states.
#include "sim/batch/batch.h"
#include "sim/base/status.h"
#include "sim/model/model.h"

#include <catena/contact.h>
#include <stdlib.h>

int ctn_model_ncontact(const ctn_model *model) { return model ? model->ncontact : 0; }

const char *ctn_model_surface(const ctn_model *model, int surface)
{
    if (!model || surface < 0 || surface > model->nsurface) return NULL;
    return surface ? model->surface_names[surface - 1] : model->plane ? "ground" : NULL;
}

bool ctn_model_contact(const ctn_model *model, int contact, ctn_contact_point *point)
{
    if (!model || !point || contact < 0 || contact >= model->ncontact) return false;
    for (const point_load *s = model->loads; s < model->loads + model->nload; s++) {
        if (!(s->flags & LOAD_TOUCHES) || s->contact != contact) continue;
        *point = (ctn_contact_point){
            .link = s->link, .radius = s->radius, .friction = s->friction, .stiffness = s->grip, .surface = s->surface};
        link_point(model, s->link, s->point, point->point);
        return true;
    }
    return false;
}

typedef struct {
    const ctn_batch *batch;
    double *values;  // [worlds][ncontact][CTN_CONTACT_NUMBERS]
} feeling;

static double *values_of(const feeling *job, int world)
{
    return job->values + (size_t)world * (size_t)job->batch->model->ncontact * CTN_CONTACT_NUMBERS;
}

static void feel_block(void *context, int thread, int b)
{
    const feeling *const job = context;
    const ctn_batch *const batch = job->batch;
    batch->engine->contacts(lanes_of(batch, b), &batch->cfg, state_of(batch, b), work_of(batch, thread), worlds_in(batch, b),
                            values_of(job, b * batch->engine->lanes));
}

/// Of worlds on a device, one after another on the CPU.
static ctn_status feel_there(const feeling *job, ctn_error *err)
{
    const ctn_batch *const batch = job->batch;
    const ctn_engine *const engine = batch->engine;
    const lane_model *const m = lanes_of(batch, 0);
    const size_t n = engine->flat_size(m, &batch->cfg), worlds = (size_t)batch->cfg.worlds;
    const size_t state = (engine->state_size(m, &batch->cfg) / 64 + 1) * 64,
                 work = (engine->work_size(m, &batch->cfg) / 64 + 1) * 64;
    double *const flat = malloc(worlds * n * sizeof *flat + 1);
    char *const room = aligned_alloc(64, state + work);
    ctn_status status =
        flat && room ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for the contacts of %zu worlds", worlds);
    if (status == CTN_OK) {
        batch_device_flatten(batch, 0, batch->cfg.worlds, false, flat);
        status = batch_device_failed(batch, err);
    }
    for (int w = 0; w < batch->cfg.worlds && status == CTN_OK; w++) {
        engine->flatten(m, &batch->cfg, room, 0, true, flat + (size_t)w * n);
        engine->contacts(m, &batch->cfg, room, room + state, 1, values_of(job, w));
    }
    free(flat), free(room);
    return status;
}

ctn_status ctn_batch_contacts(ctn_batch *batch, double *values, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    const feeling job = {batch, values};
    if (!batch->model->ncontact) return CTN_OK;
    if (batch->device) return feel_there(&job, err);
    pool_run(batch->pool, batch->blocks, feel_block, &(feeling){batch, values});
    return CTN_OK;
}
