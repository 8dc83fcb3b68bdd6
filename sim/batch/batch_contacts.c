/// What the contact points of a batch's worlds feel, out of their states.
#include "sim/batch/batch.h"
#include "sim/base/status.h"
#include "sim/model/model.h"

#include <catena/contact.h>
#include <stdlib.h>
#include <string.h>

int ctn_model_ncontact(const ctn_model *model) { return model ? model->ncontact + model->nmet : 0; }

const char *ctn_model_surface(const ctn_model *model, int surface)
{
    if (!model || surface < 0 || surface > model->nsurface) return NULL;
    return surface ? model->surface_names[surface - 1] : model->plane ? "ground" : NULL;
}

bool ctn_model_contact(const ctn_model *model, int contact, ctn_contact_point *point)
{
    if (!model || !point || contact < 0 || contact >= ctn_model_ncontact(model)) return false;
    if (contact >= model->ncontact) {
        *point = (ctn_contact_point){.link = contact - model->ncontact, .surface = CTN_SURFACE_LINKS};
        return true;
    }
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
    double *values;  // [worlds][ncontact][CTN_CONTACT_NUMBERS], of what touches surfaces
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

/// Makes room in each world's numbers for those of its links, all 0.
static void make_room(const ctn_model *m, int worlds, double *values)
{
    const size_t points = (size_t)m->ncontact * CTN_CONTACT_NUMBERS, links = (size_t)m->nmet * CTN_CONTACT_NUMBERS;
    for (size_t w = (size_t)worlds; w-- > 0;) {
        double *const to = values + w * (points + links);
        memmove(to, values + w * points, points * sizeof *to), memset(to + points, 0, links * sizeof *to);
    }
}

ctn_status ctn_batch_contacts(ctn_batch *batch, double *values, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    feeling job = {batch, values};
    const ctn_model *const m = batch->model;
    ctn_status status = CTN_OK;
    if (m->ncontact && batch->device) status = feel_there(&job, err);
    else if (m->ncontact) pool_run(batch->pool, batch->blocks, feel_block, &job);
    if (status != CTN_OK || !m->nmet) return status;
    make_room(m, batch->cfg.worlds, values);
    return batch_add_met_links(batch, values + (size_t)m->ncontact * CTN_CONTACT_NUMBERS, err);
}
