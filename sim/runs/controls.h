/// Joint forces by world and step from a file.
#ifndef CATENA_SIM_CONTROLS_H
#define CATENA_SIM_CONTROLS_H

#include <catena/batch.h>
#include <stdint.h>

typedef struct controls controls;

/// Opens an HDF5 file with `tau`, [world][step][nv] or [step][nv] for all worlds alike, or a CSV file, a line a step with
/// columns named as velocities in recordings, but tau. for v. *worlds is how many there will be, 0: as many as the file has;
/// unchanged if it is for all alike. `model` and the path must outlive it. NULL on error: CTN_BAD_ARGUMENT, also for too few
/// steps or worlds; CTN_IO, with the file; CTN_NO_MEMORY.
controls *controls_open(const char *path, const ctn_model *model, int64_t *worlds, long steps, ctn_error *err);

/// Makes steps from + 1 .. from + steps of a batch, whose worlds are first .. first + count - 1, each step under its own
/// forces. stats [count] receives what happened. Returns what ctn_batch_run returns, but CTN_OK where worlds are frozen; or
/// CTN_IO if the file cannot be read, CTN_NO_MEMORY. After all but CTN_OK the batch is somewhere in between.
ctn_status controls_step(controls *c, ctn_batch *batch, int64_t first, int count, long from, int steps, ctn_step_stats *stats,
                         ctn_error *err);

/// Forces of steps from + 1 .. from + steps of one world: tau [steps][nv]. CTN_IO, CTN_BAD_ARGUMENT, CTN_NO_MEMORY.
ctn_status controls_read(controls *c, int64_t world, long from, int steps, double *tau, ctn_error *err);

const char *controls_path(const controls *c);  // as given

void controls_close(controls *c);  // NULL is allowed

#endif
