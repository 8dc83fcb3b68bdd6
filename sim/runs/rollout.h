/// Rollouts of several processes.
#ifndef CATENA_SIM_RUNS_ROLLOUT_H
#define CATENA_SIM_RUNS_ROLLOUT_H

#include "sim/runs/ranks.h"

#include <catena/rollout.h>

/// As ctn_rollout, in each of the processes that share the worlds (`all` NULL: this one makes all worlds), of which the one of
/// rank 0 hears warnings and knows, in the end, what happened to all. Messages begin with the rank where it matters.
/// CTN_INTERRUPTED with an empty message: another process has the error.
ctn_status rollout_make(const char *path, const ctn_scene *scene, const ctn_model *model, const ctn_rollout_config *cfg,
                        ranks *all, ctn_rollout_report *report, ctn_error *err);

#endif
