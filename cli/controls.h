/// Joint forces by world and step from a file: `catena rollout --controls`.
#ifndef CATENA_CLI_CONTROLS_H
#define CATENA_CLI_CONTROLS_H

#include <catena/batch.h>
#include <stdint.h>

typedef struct controls controls;

/// Opens an HDF5 file with `tau`, [world][step][nv] or [step][nv] for all worlds alike, or a CSV file, a line a step with columns
/// named as velocities in recordings, but tau. for v. Returns an exit status, with the errors printed: too few steps are one, and
/// too few worlds. *worlds is how many there will be, 0: as many as the file has; unchanged if it is for all alike. `model` must
/// outlive it.
int controls_open(const char *path, const ctn_model *model, int64_t *worlds, long steps, controls **c);

/// Makes steps from + 1 .. from + steps of a batch, whose worlds are first .. first + count - 1, each step under its own forces.
/// stats [count] receives what happened. Returns an exit status; after an error the batch is somewhere in between.
int controls_step(controls *c, ctn_batch *batch, int64_t first, int count, long from, int steps, ctn_step_stats *stats);

const char *controls_path(const controls *c);  // as given

void controls_close(controls *c);  // NULL is allowed

#endif
