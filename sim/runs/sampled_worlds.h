/// Worlds as the `sample` section of a scene draws them, put into a batch.
#ifndef CATENA_SIM_SAMPLED_WORLDS_H
#define CATENA_SIM_SAMPLED_WORLDS_H

#include "sim/runs/starts.h"

#include <catena/catena.h>

typedef struct sampled_worlds {
    const ctn_scene *scene;
    const ctn_model *model;
    const char *path;           // where messages say that the scene is
    ctn_parameter *parameters;  // that worlds have of their own
    int parameter_count;
    bool forced;                   // joint forces were drawn for these
    double *q, *v, *tau, *values;  // of the worlds drawn last: [n][nq], [n][nv], joint forces [n][nv], [n][parameters]
} sampled_worlds;

/// Room for `worlds` worlds of a scene and its model; `cfg` names the parameters that they have of their own. All four must
/// last until sampled_worlds_close, which is due in any case. CTN_NO_MEMORY.
ctn_status sampled_worlds_open(sampled_worlds *x, const ctn_scene *scene, const ctn_model *model, const char *path, int worlds,
                               ctn_batch_config *cfg, ctn_error *err);
void sampled_worlds_close(sampled_worlds *x);

/// Puts worlds first .. first + count - 1 of `all`, drawn with `seed`, at the beginning of `batch`, which has `count`; from
/// `starts`, if it is not NULL, their q and v. CTN_BAD_ARGUMENT for what a world cannot have; errors of starts_read;
/// CTN_UNAVAILABLE if a GPU fails.
ctn_status sampled_worlds_start(sampled_worlds *x, uint64_t seed, int64_t all, int64_t first, int count, starts *from,
                                ctn_batch *batch, ctn_error *err);

#endif
