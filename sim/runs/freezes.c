/// Worlds that froze, made again from a state that was kept, and recorded step by step.
#include "sim/runs/freezes.h"

#include "sim/base/status.h"
#include "sim/batch/batch.h"
#include "sim/record/record.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct freezes {
    const char *folder, *command;
    const ctn_scene *scene;
    controls *controls;

    ctn_batch *batch;
    int64_t first;
    const double *held;  // [worlds][nv], joint forces that stay; NULL: none
    char *kept[2];       // states of all worlds: the older one, and the newer one
    long at[2], made;    // steps that these had made; that have been made now
    bool *frozen;        // [worlds], and their files are written

    ctn_batch *again;  // one world; NULL: none froze yet
    void *state;       // of it
    double *tau;       // [2 FREEZE_STEPS][nv]
};

void freezes_path(const char *folder, int64_t world, char *text, size_t size)
{
    snprintf(text, size, "%s/world-%" PRId64 ".h5", folder, world);
}

freezes *freezes_open(const char *folder, const ctn_scene *scene, const char *command, controls *controls, ctn_error *err)
{
    struct stat what;
    if (mkdir(folder, 0777) && (errno != EEXIST || stat(folder, &what) || !S_ISDIR(what.st_mode) || access(folder, W_OK))) {
        fail(err, CTN_IO, "%s: the files of worlds that freeze cannot be put there: %s", folder,
             errno == EEXIST ? "it is no folder" : strerror(errno));
        return NULL;
    }
    freezes *const f = calloc(1, sizeof *f);
    if (f) *f = (freezes){.folder = folder, .command = command, .scene = scene, .controls = controls};
    else fail(err, CTN_NO_MEMORY, "not enough memory");
    return f;
}

void freezes_close(freezes *f)
{
    if (!f) return;
    ctn_batch_free(f->again);
    free(f->kept[0]), free(f->kept[1]), free(f->frozen), free(f->state), free(f->tau);
    free(f);
}

ctn_status freezes_begin(freezes *f, ctn_batch *batch, int64_t first, const double *tau, ctn_error *err)
{
    if (!f) return CTN_OK;
    const size_t worlds = (size_t)ctn_batch_configuration(batch)->worlds, size = ctn_batch_saved_size(batch);
    for (int k = 0; k < 2; k++) free(f->kept[k]), f->kept[k] = malloc(size), f->at[k] = 0;
    free(f->frozen);
    f->frozen = calloc(worlds, sizeof *f->frozen);
    f->batch = batch, f->first = first, f->held = tau, f->made = 0;
    if (!f->kept[0] || !f->kept[1] || !f->frozen) return fail(err, CTN_NO_MEMORY, "not enough memory to save worlds that freeze");
    ctn_batch_save(batch, f->kept[1]);
    memcpy(f->kept[0], f->kept[1], size);
    return CTN_OK;
}

long freezes_room(const freezes *f) { return f ? f->at[1] + FREEZE_STEPS - f->made : LONG_MAX; }

// ---- one world again

/// A batch for one world, which stays until freezes_close.
static ctn_status make_again(freezes *f, ctn_error *err)
{
    if (f->again) return CTN_OK;
    const size_t nv = (size_t)ctn_model_nv(f->batch->model);
    ctn_batch_config cfg = *ctn_batch_configuration(f->batch);
    cfg.worlds = cfg.threads = 1, cfg.interrupt = NULL;
    f->state = f->state ? f->state : malloc(batch_saved_world_size(f->batch));
    f->tau = f->tau ? f->tau : malloc((2 * FREEZE_STEPS * nv + 1) * sizeof *f->tau);
    if (!f->state || !f->tau) return fail(err, CTN_NO_MEMORY, "not enough memory to save worlds that freeze");
    f->again = ctn_batch_create(f->batch->model, &cfg, err);
    return f->again ? CTN_OK : err->status;
}

/// The joint forces on a world in steps from + 1 .. from + steps, into f->tau; *tau is NULL if there are none.
static ctn_status find_forces(freezes *f, int world, long from, int steps, const double **tau, ctn_error *err)
{
    const size_t nv = (size_t)ctn_model_nv(f->batch->model);
    *tau = f->controls || f->held ? f->tau : NULL;
    if (f->controls) return controls_read(f->controls, f->first + world, from, steps, f->tau, err);
    for (int k = 0; k < steps && *tau; k++) memcpy(f->tau + (size_t)k * nv, f->held + (size_t)world * nv, nv * sizeof *f->tau);
    return CTN_OK;
}

/// Steps of the world, under forces tau [steps][nv]. Errors but that it is frozen.
static ctn_status make_steps(freezes *f, const double *tau, int steps, ctn_step_stats *stats, ctn_error *err)
{
    const ctn_run run = {.steps = steps, .force = tau};
    const ctn_status status = ctn_batch_run(f->again, &run, stats, err);
    return status == CTN_FROZEN ? CTN_OK : status;
}

/// Records `steps` steps from where the world is now.
static ctn_status record_steps(freezes *f, const char *path, const record_start *start, ctn_error *err)
{
    const size_t nv = (size_t)ctn_model_nv(f->batch->model);
    ctn_step_stats stats = {0};
    ctn_record_config cfg = ctn_record_config_default();
    cfg.command = f->command, cfg.hashes = true;
    ctn_recorder *const r = recorder_create(path, f->scene, f->again, &cfg, start, err);
    if (!r) return err->status;
    ctn_status status = CTN_OK;
    for (int k = 0; k <= start->steps && status == CTN_OK; k++) {
        status = make_steps(f, k && start->tau ? start->tau + (size_t)(k - 1) * nv : NULL, k > 0, &stats, err);
        if (status == CTN_OK) status = ctn_recorder_add(r, &stats, err);
        if (status == CTN_OK) status = ctn_recorder_hash(r, err);
    }
    ctn_error closing;
    const ctn_status closed = ctn_recorder_close(r, &closing);
    if (status == CTN_OK && closed != CTN_OK) *err = closing, status = closed;
    return status;
}

/// Writes the file of a world that froze after `whole` steps, in the one that followed.
static ctn_status save_world(freezes *f, int world, long whole, ctn_error *err)
{
    const long from = whole + 1 > FREEZE_STEPS ? whole + 1 - FREEZE_STEPS : 0;
    const int k = f->at[1] <= from, before = (int)(from - f->at[k]), last = (int)(whole + 1 - from);
    const size_t nv = (size_t)ctn_model_nv(f->batch->model), size = batch_saved_world_size(f->batch);
    const double *tau;
    char path[4200];
    freezes_path(f->folder, f->first + world, path, sizeof path);
    ctn_status status = make_again(f, err);
    if (status == CTN_OK) status = find_forces(f, world, f->at[k], before + last, &tau, err);
    if (status != CTN_OK) return status;
    batch_saved_world(f->batch, f->kept[k], world, f->state);
    status = ctn_batch_restore(f->again, f->state, size, err);
    if (status == CTN_OK) status = make_steps(f, tau, before, NULL, err);
    if (status != CTN_OK) return status;
    ctn_batch_save(f->again, f->state);
    const record_start start = {.world = f->first + world,
                                .step = from,
                                .state = f->state,
                                .size = size,
                                .parameters = f->again->cfg.parameters,
                                .values = f->again->values,
                                .parameter_count = f->again->cfg.parameter_count,
                                .tau = tau ? tau + (size_t)before * nv : NULL,
                                .steps = last};
    return record_steps(f, path, &start, err);
}

ctn_status freezes_look(freezes *f, const ctn_step_stats *part, long steps, ctn_error *err)
{
    if (!f) return CTN_OK;
    const int worlds = ctn_batch_configuration(f->batch)->worlds;
    ctn_status status = CTN_OK;
    bool running = false;
    for (int w = 0; w < worlds && status == CTN_OK; w++) {
        if (part[w].frozen && !f->frozen[w]) f->frozen[w] = true, status = save_world(f, w, f->made + part[w].steps, err);
        running = running || !part[w].frozen;
    }
    f->made += steps;
    if (f->made < f->at[1] + FREEZE_STEPS) return status;
    char *const older = f->kept[0];
    f->kept[0] = f->kept[1], f->at[0] = f->at[1];
    f->kept[1] = older, f->at[1] = f->made;
    if (running) ctn_batch_save(f->batch, f->kept[1]);
    return status;
}
