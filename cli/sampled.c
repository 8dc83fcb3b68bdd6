/// Draws of sim/sample.c as rows of a batch.
#include "cli/sampled.h"

#include "cli/message.h"

#include <stdlib.h>
#include <string.h>

int sampled_open(sampled *x, setup *s, int worlds)
{
    const size_t n = (size_t)worlds, nq = (size_t)ctn_model_nq(s->model), nv = (size_t)ctn_model_nv(s->model);
    s->cfg.parameter_count = ctn_scene_parameters(s->scene, s->model, NULL);
    const size_t own = (size_t)s->cfg.parameter_count;
    x->parameters = malloc(own * sizeof *x->parameters + 1), x->values = malloc(n * own * sizeof *x->values + 1);
    x->q = malloc(n * nq * sizeof *x->q + 1), x->v = malloc(n * nv * sizeof *x->v + 1);
    x->tau = malloc(n * nv * sizeof *x->tau + 1);
    if (!x->parameters || !x->values || !x->q || !x->v || !x->tau) return run_error("not enough memory");
    ctn_scene_parameters(s->scene, s->model, x->parameters);
    s->cfg.parameters = x->parameters;
    return EXIT_OK;
}

void sampled_close(sampled *x)
{
    free(x->parameters), free(x->values), free(x->q), free(x->v), free(x->tau);
    memset(x, 0, sizeof *x);
}

int sampled_start(sampled *x, const setup *s, uint64_t seed, int64_t all, int64_t first, int count, starts *from,
                  ctn_batch *batch)
{
    ctn_error err;
    const bool forced = ctn_sample_worlds(s->scene, s->model, seed, first, count, all, x->q, x->v, x->tau, x->values);
    const int status = from ? starts_read(from, first, count, x->q, x->v) : EXIT_OK;
    if (status != EXIT_OK) return status;
    ctn_batch_set_force(batch, forced ? x->tau : NULL);
    ctn_status set = s->cfg.parameter_count ? ctn_batch_set_parameters(batch, x->values, &err) : CTN_OK;
    if (set == CTN_OK) set = ctn_batch_set_state(batch, x->q, x->v, 0, &err);
    if (set != CTN_BAD_ARGUMENT) return step_outcome(set, &err);
    return usage_error("%s: sample: of the worlds from %ld on, %s", s->path, (long)first, err.message);
}
