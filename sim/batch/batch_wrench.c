/// Wrenches on links, given to a batch while it runs: loads on bodies (forces/body_loads.h) that its model does not have. A link
/// that is given one gets a place for it, in all worlds, and keeps it; the states of worlds do not depend on that.
#include "sim/base/config.h"
#include "sim/base/status.h"
#include "sim/batch/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Rows of the world's wrenches.
static world_wrench *wrenches_of(const ctn_batch *batch, int world)
{
    return batch->wrenches + (size_t)world * (size_t)batch->nplace;
}

void batch_apply_wrenches(const ctn_batch *batch, int world, ctn_model *variant)
{
    for (int k = 0; k < batch->nplace; k++) {
        const world_wrench *const w = &wrenches_of(batch, world)[k];
        point_load *const load = load_numbered(variant, batch->model->nload + k);
        memcpy(load->point, w->point, sizeof w->point);
        memcpy(load->force, w->force, sizeof w->force);
        memcpy(load->torque, w->torque, sizeof w->torque);
    }
}

/// The place of a wrench on a link; nplace: it has none.
static int find_place(const ctn_batch *batch, int link, bool follows)
{
    int k = 0;
    while (k < batch->nplace && (batch->places[k].link != link || batch->places[k].follows != follows)) k++;
    return k;
}

/// Makes `next` the batch with one more place. Its model, the models of blocks, what threads work in and worlds along their links
/// are new.
static ctn_status open_place(const ctn_batch *batch, wrench_place place, ctn_batch *next, ctn_error *err)
{
    const size_t n = (size_t)batch->nplace, worlds = (size_t)batch->cfg.worlds;
    next->along = NULL, next->parameters = NULL, next->models = next->work = next->lane_models = next->lane_work = NULL;
    memset(next->variant, 0, sizeof next->variant);
    next->nplace = batch->nplace + 1;
    next->places = malloc((n + 1) * sizeof *next->places), next->wrenches = calloc(worlds * (n + 1), sizeof *next->wrenches);
    next->with_wrenches = NULL;
    if (!next->places || !next->wrenches) return CTN_NO_MEMORY;
    for (size_t k = 0; k < n; k++) next->places[k] = batch->places[k];
    next->places[n] = place;
    for (size_t w = 0; w < worlds && n; w++)
        memcpy(next->wrenches + w * (n + 1), batch->wrenches + w * n, n * sizeof *next->wrenches);
    next->with_wrenches = model_with_wrenches(batch->model, next->places, next->nplace);
    if (!next->with_wrenches) return CTN_NO_MEMORY;
    const ctn_status status = config_check_model(&batch->cfg, next->with_wrenches, err);
    if (status != CTN_OK) return status;
    next->parameters = parameters_create(next->with_wrenches, batch->cfg.parameters, batch->cfg.parameter_count, NULL);
    if (!next->parameters || !batch_open_models(next, next->with_wrenches, NULL)) return CTN_NO_MEMORY;
    return !batch->along || batch_along_open(next, err) ? CTN_OK : err->status;
}

static void close_place(ctn_batch *batch)
{
    batch_close_models(batch);
    batch_along_close(batch);
    if (batch->parameters != batch->listed) parameters_free(batch->parameters);
    free(batch->places), free(batch->wrenches), free(batch->with_wrenches);
}

static ctn_status add_place(ctn_batch *batch, wrench_place place, ctn_error *err)
{
    ctn_batch next = *batch;
    ctn_error why;
    fail(&why, CTN_NO_MEMORY, "not enough memory for a wrench on a link in %d world%s", batch->cfg.worlds,
         plural(batch->cfg.worlds));
    const ctn_status status = open_place(batch, place, &next, &why);
    if (status != CTN_OK && err) *err = why;
    close_place(status == CTN_OK ? batch : &next);
    if (status == CTN_OK) *batch = next;
    else if (!batch->dt) free(next.values), free(next.dt);
    return status;
}

/// Whether a wrench can be given to a world.
static ctn_status check_wrench(const ctn_batch *batch, int world, int link, const ctn_wrench *wrench, ctn_error *err)
{
    const ctn_model *const m = batch->model;
    if (batch->device)
        return fail(err, CTN_UNAVAILABLE,
                    "the engine '%s' takes no wrenches while it runs; give the scene `forces` with a force and a torque, and its "
                    "worlds the parameters force and torque",
                    batch->cfg.engine);
    if (world < -1 || world >= batch->cfg.worlds)
        return fail(err, CTN_BAD_ARGUMENT, "world: expected 0 to %d, or -1 for all, found %d", batch->cfg.worlds - 1, world);
    if (link < 0 || link >= m->nlink) return fail(err, CTN_BAD_ARGUMENT, "link: expected 0 to %d, found %d", m->nlink - 1, link);
    if (m->frames[link].body < 0)
        return fail(err, CTN_BAD_ARGUMENT, "link '%s' does not move: nothing can act on it", m->links[link].name);
    if (!wrench) return CTN_OK;
    const struct {
        const char *name;
        const double *x;
    } parts[] = {{"point", wrench->point}, {"force", wrench->force}, {"torque", wrench->torque}};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (int i = 0; i < 3; i++)
            if (!isfinite(parts[k].x[i])) return fail(err, CTN_BAD_ARGUMENT, "%s[%d] is not finite", parts[k].name, i);
    return CTN_OK;
}

ctn_status ctn_batch_set_wrench(ctn_batch *batch, int world, int link, const ctn_wrench *wrench, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err)) return CTN_BAD_ARGUMENT;
    ctn_status status = check_wrench(batch, world, link, wrench, err);
    if (status != CTN_OK) return status;
    batch_fit(batch);
    if (wrench && find_place(batch, link, wrench->link_axes) == batch->nplace)
        status = add_place(batch, (wrench_place){link, wrench->link_axes}, err);
    if (status != CTN_OK) return status;
    const int first = world < 0 ? 0 : world, end = world < 0 ? batch->cfg.worlds : world + 1, lanes = batch->engine->lanes;
    for (int w = first; w < end; w++)
        for (int follows = 0; follows < 2; follows++) {
            const int k = find_place(batch, link, follows);
            if (k == batch->nplace) continue;
            world_wrench *const to = &wrenches_of(batch, w)[k];
            *to = (world_wrench){{0}, {0}, {0}};
            if (!wrench || wrench->link_axes != follows) continue;
            body_point(batch->model, link, wrench->point, to->point);
            memcpy(to->force, wrench->force, sizeof to->force), memcpy(to->torque, wrench->torque, sizeof to->torque);
        }
    for (int b = first / lanes; b <= (end - 1) / lanes && batch->nplace; b++) batch_load_block(batch, b);
    if (batch->along) batch_along_forget(batch);
    return CTN_OK;
}
