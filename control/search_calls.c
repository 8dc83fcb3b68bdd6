/// The calls of catena/search.h.
#include "control/search.h"
#include "sim/base/config.h"
#include "sim/base/status.h"

#include <catena/search.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COOKIE 0xca7e4a07u

struct ctn_search {
    ctn_scene *scene;  // of its own, with the seed in hand
    char *engine;      // likewise
    ranks alone;
    search *search;
    void (*progress)(void *context, const ctn_search_state *state);
    void *context;
    bool within;  // a policy was interrupted within a window
};

ctn_search_config ctn_search_config_default(const ctn_scene *scene)
{
    if (!scene) return (ctn_search_config){0};
    return (ctn_search_config){.cookie = COOKIE,
                               .batch = ctn_scene_config(scene),
                               .duration = ctn_scene_duration(scene),
                               .seed = scene->search.seed,
                               .generations = scene->search.generations};
}

static ctn_status check_config(const ctn_search_config *cfg, ctn_error *err)
{
    if (cfg->cookie != COOKIE)
        return fail(err, CTN_BAD_CONFIG, "the configuration was not initialised; start from ctn_search_config_default()");
    if (cfg->seed < 0) return fail(err, CTN_BAD_CONFIG, "seed: expected 0 or more, found %d", cfg->seed);
    return config_check(&cfg->batch, err);
}

ctn_search *ctn_search_create(const ctn_scene *scene, const ctn_search_config *cfg, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err) || missing(__func__, "cfg", cfg, err) || check_config(cfg, err) != CTN_OK)
        return NULL;
    ctn_search *const s = calloc(1, sizeof *s);
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for a search"), NULL;
    ctn_batch_config batch = cfg->batch;
    batch.parameters = NULL, batch.parameter_count = 0;
    s->engine = batch.engine ? strdup(batch.engine) : NULL, batch.engine = s->engine;
    const search_reward own = {cfg->earn, cfg->context, cfg->reward ? cfg->reward : "reward"};
    s->alone = ranks_alone(), s->progress = cfg->progress, s->context = cfg->context;
    if (cfg->batch.engine && !s->engine) fail(err, CTN_NO_MEMORY, "not enough memory for a search");
    else if ((s->scene = scene_from_files(scene->files, scene->nfile, err))) {
        s->scene->search.seed = cfg->seed;
        s->search = search_open(s->scene, &batch, cfg->duration, &s->alone, cfg->earn ? &own : NULL, err);
    }
    if (s->search) return s;
    ctn_search_free(s);
    return NULL;
}

void ctn_search_free(ctn_search *s)
{
    if (!s) return;
    search_close(s->search);
    ctn_scene_free(s->scene);
    free(s->engine), free(s);
}

int ctn_search_parameters(const ctn_search *s) { return s ? search_parameters(s->search) : 0; }
int ctn_search_worlds(const ctn_search *s) { return s ? search_worlds(s->search) : 0; }

ctn_search_state ctn_search_get_state(const ctn_search *s) { return s ? search_get_state(s->search) : (ctn_search_state){0}; }

/// Whether it stands where it can be used.
static bool whole(const char *call, const ctn_search *s, ctn_error *err)
{
    if (missing(call, "search", s, err)) return false;
    if (!s->within) return true;
    fail(err, CTN_BAD_ARGUMENT, "%s: the policy was interrupted within a window; restore it from a checkpoint, or begin anew",
         call);
    return false;
}

ctn_status ctn_search_step(ctn_search *s, ctn_error *err)
{
    if (!whole(__func__, s, err)) return CTN_BAD_ARGUMENT;
    const ctn_status status = search_step(s->search, err);
    s->within = status != CTN_OK && search_get_state(s->search).learns;
    return status;
}

ctn_status ctn_search_finish(ctn_search *s, ctn_error *err)
{
    return whole(__func__, s, err) ? search_finish(s->search, err) : CTN_BAD_ARGUMENT;
}

ctn_status ctn_search_run(ctn_search *s, long generations, const char *checkpoint, ctn_error *err)
{
    if (!whole(__func__, s, err)) return CTN_BAD_ARGUMENT;
    if (generations < 1)
        return fail(err, CTN_BAD_ARGUMENT, "ctn_search_run: generations: expected 1 or more, found %ld", generations);
    bool saved = false;
    for (ctn_search_state x = search_get_state(s->search); x.generation < generations && !x.over;) {
        ctn_status status = ctn_search_step(s, err);
        if (status == CTN_INTERRUPTED && s->within && saved) s->within = search_restore(s->search, checkpoint, NULL) != CTN_OK;
        if (status == CTN_OK && checkpoint) status = search_save(s->search, checkpoint, err);
        if (status != CTN_OK) return status;
        saved = checkpoint;
        x = search_get_state(s->search);
        if (s->progress) s->progress(s->context, &x);
    }
    return search_finish(s->search, err);
}

ctn_status ctn_search_best(const ctn_search *s, double *parameters, ctn_error *err)
{
    if (!whole(__func__, s, err) || missing(__func__, "parameters", parameters, err)) return CTN_BAD_ARGUMENT;
    return search_best(s->search, parameters, err);
}

/// Whether parameters [count] can be told.
static bool numbers(const char *call, const ctn_search *s, const double *parameters, ctn_error *err)
{
    for (int k = 0; k < search_parameters(s->search); k++)
        if (!isfinite(parameters[k]))
            return fail(err, CTN_BAD_ARGUMENT, "%s: parameter %d is %g; expected a number", call, k, parameters[k]), false;
    return true;
}

ctn_status ctn_search_value(const ctn_search *s, const double *parameters, int parts, double *value, ctn_error *err)
{
    if (!whole(__func__, s, err) || missing(__func__, "parameters", parameters, err) || missing(__func__, "value", value, err) ||
        !numbers(__func__, s, parameters, err))
        return CTN_BAD_ARGUMENT;
    if (parts < 1) return fail(err, CTN_BAD_ARGUMENT, "ctn_search_value: parts: expected 1 or more, found %d", parts);
    return search_value(s->search, parameters, parts, value, err);
}

ctn_status ctn_search_save(const ctn_search *s, const char *path, ctn_error *err)
{
    if (!whole(__func__, s, err) || missing(__func__, "path", path, err)) return CTN_BAD_ARGUMENT;
    return search_save(s->search, path, err);
}

ctn_status ctn_search_restore(ctn_search *s, const char *path, ctn_error *err)
{
    if (missing(__func__, "search", s, err) || missing(__func__, "path", path, err)) return CTN_BAD_ARGUMENT;
    const ctn_status status = search_restore(s->search, path, err);
    if (status == CTN_OK) s->within = false;
    return status;
}

char *ctn_search_scene(const ctn_search *s, const double *parameters, const char *about, ctn_error *err)
{
    if (!whole(__func__, s, err) || missing(__func__, "about", about, err)) return NULL;
    const int count = search_parameters(s->search);
    double *const best = parameters ? NULL : malloc((size_t)count * sizeof *best + 1);
    char *text = NULL;
    if (parameters ? numbers(__func__, s, parameters, err)
        : best     ? search_best(s->search, best, err) == CTN_OK
                   : (fail(err, CTN_NO_MEMORY, "not enough memory"), false))
        text = search_scene(s->scene, parameters ? parameters : best, count, about, err);
    free(best);
    return text;
}
