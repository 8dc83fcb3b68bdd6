/// Where a recording began that is the end of another run.
#include "sim/record/recorded.h"

#include "sim/base/status.h"
#include "sim/scene/scene.h"

#include <limits.h>
#include <stdlib.h>

static ctn_status read_parameters(recorded *r, record_start *s, ctn_error *err)
{
    const int64_t n = recorded_count(r, "start/parameters");
    if (!n) return CTN_OK;
    if (n > INT_MAX) return fail(err, CTN_IO, "%s: `start/parameters` is damaged: " HDF5_REMEDY, r->path);
    int *const ids = malloc(2 * (size_t)n * sizeof *ids);
    ctn_parameter *const list = malloc((size_t)n * sizeof *list);
    s->parameters = list, s->parameter_count = (int)n;
    ctn_status status = ids && list ? recorded_rows(r, "start/parameters", H5T_NATIVE_INT, 0, n, 2, ids, err)
                                    : fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", r->path);
    for (int64_t k = 0; k < n && status == CTN_OK; k++)
        list[k] = (ctn_parameter){.kind = (ctn_parameter_kind)ids[2 * k], .index = ids[2 * k + 1]};
    free(ids);
    return status;
}

static ctn_status read_forces(recorded *r, record_start *s, ctn_error *err)
{
    const int64_t n = recorded_count(r, "start/tau");
    const size_t nv = (size_t)r->scene->nv;
    if (!n) return CTN_OK;
    if (n > INT_MAX) return fail(err, CTN_IO, "%s: `start/tau` is damaged: " HDF5_REMEDY, r->path);
    double *const tau = malloc(((size_t)n * nv + 1) * sizeof *tau);
    if (!tau) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", r->path);
    s->tau = tau, s->steps = (int)n;
    return recorded_rows(r, "start/tau", H5T_NATIVE_DOUBLE, 0, n, nv, tau, err);
}

ctn_status recorded_start(recorded *r, record_start *start, ctn_error *err)
{
    char *state = NULL, *world;
    *start = (record_start){.step = r->first};
    hdf5_quiet(&r->errors);
    const finding there = dataset_bytes(r->file, "start/state", &state, &start->size);
    hdf5_loud(&r->errors);
    start->state = state;
    if (there != SOUND) return hdf5_damaged(&r->errors, r->path, "start/state", err);
    if ((world = recorded_note(r, "start_world"))) start->world = strtoll(world, NULL, 10);
    free(world);
    const ctn_status status = read_parameters(r, start, err);
    return status == CTN_OK ? read_forces(r, start, err) : status;
}

void recorded_start_free(record_start *start)
{
    free((void *)(uintptr_t)start->state), free((void *)(uintptr_t)start->parameters), free((void *)(uintptr_t)start->tau);
    *start = (record_start){0};
}
