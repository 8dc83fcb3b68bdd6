/// Trajectories of many worlds in one HDF5 file, world by world: arrays [world][time][...], compressed, written some worlds at a time so
/// that memory does not grow with their number. docs/rollouts.md describes the file.
#ifndef CATENA_SIM_TRAJECTORIES_H
#define CATENA_SIM_TRAJECTORIES_H

#include <catena/batch.h>
#include <stdint.h>

typedef struct trajectories trajectories;

/// What a file is about; texts are copied into it.
typedef struct trajectories_head {
    const ctn_scene *scene;
    ctn_batch *batch;               // one that makes the worlds: its model and configuration
    const char *command;            // NULL: none
    const char *starts, *controls;  // files of their initial states and of the forces on them, NULL: none
    uint64_t seed;
    int64_t worlds;
    int times;           // states of each world
    const double *time;  // [times] s
} trajectories_head;

/// Makes the file anew. NULL on error: CTN_IO with its name, CTN_NO_MEMORY.
trajectories *trajectories_create(const char *path, const trajectories_head *head, ctn_error *err);

/// Writes `count` worlds from `first` on: q [count][times][nq], v [count][times][nv], stats [count] of their whole runs.
ctn_status trajectories_put(trajectories *t, int64_t first, int count, const double *q, const double *v,
                            const ctn_step_stats *stats, ctn_error *err);

/// Frees it, also on error. NULL is allowed.
ctn_status trajectories_close(trajectories *t, ctn_error *err);

#endif
