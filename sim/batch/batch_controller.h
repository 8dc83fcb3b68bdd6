/// What motors of a batch are told, for those who step, save and restart it.
#ifndef CATENA_SIM_BATCH_CONTROLLER_H
#define CATENA_SIM_BATCH_CONTROLLER_H

#include "sim/batch/batch.h"
#include "sim/model/controller.h"

/// Targets of all worlds, where the model has a controller; nothing for others. False: no memory.
bool batch_telling_open(ctn_batch *batch);
void batch_telling_close(ctn_batch *batch);
size_t batch_telling_bytes(const ctn_batch *batch);  // a world

/// Targets are a part of saved states: so many numbers a world. Of one world, out of it or (load) into it; of all before a call that
/// may be interrupted, or back. A restart forgets them.
size_t batch_telling_numbers(const ctn_batch *batch);
void batch_telling_flatten(const ctn_batch *batch, int world, bool load, double *flat);
const double *batch_told(const ctn_batch *batch, int world);  // the same, where they are
void batch_telling_keep(const ctn_batch *batch, bool back);
void batch_telling_restart(ctn_batch *batch);

/// Puts the targets of its worlds into the model of a block.
void batch_tell_lanes(const ctn_batch *batch, int block);
void batch_telling_load(const ctn_batch *batch);  // of all blocks

/// Whether motors are told before steps, which then are made one by one; tells those of a block, after `made` [lanes] in this call
/// (NULL: it begins); steps [lanes] that are to be made: worlds with none, and those that are frozen, are told nothing.
bool batch_tells(const ctn_batch *batch);
void batch_tell_block(ctn_batch *batch, int thread, int block, const int *steps, const ctn_step_stats *made);

/// What the clock of a controller says.
void controller_clock(const model_controller *c, double time, double says[CLOCK_NUMBERS]);

#endif
