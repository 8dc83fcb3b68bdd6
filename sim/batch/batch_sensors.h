/// The sensors of a batch, for those who step, save and restart it.
#ifndef CATENA_SIM_BATCH_SENSORS_H
#define CATENA_SIM_BATCH_SENSORS_H

#include "sim/batch/batch.h"

#include <catena/sensors.h>

/// Whether the steps of a configuration suit the delays of a model's sensors.
ctn_status batch_sensing_check(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err);

/// What sensors need; nothing for models without. False: no memory.
bool batch_sensing_open(ctn_batch *batch);
void batch_sensing_close(ctn_batch *batch);

/// What worlds remember for their sensors, a part of their saved states: so many numbers each. Of one world, out of it or (load)
/// into it; of all before a call that may be interrupted, or back. A restart of a world forgets it. layout: a hash of what it means.
size_t batch_sensing_numbers(const ctn_batch *batch);
void batch_sensing_flatten(const ctn_batch *batch, int world, bool load, double *flat);
void batch_sensing_keep(const ctn_batch *batch, bool back);
void batch_sensing_restart(ctn_batch *batch, int world);
uint64_t batch_sensing_layout(const ctn_batch *batch);

/// Whether numbers of a saved state can be a world's memory.
bool batch_sensing_sound(const ctn_batch *batch, const double *flat);

/// As ctn_batch_number_worlds, of one world.
void batch_number_world(ctn_batch *batch, int world, uint64_t seed, int64_t number);

/// Steps of a world were made, the last one under tau [nv] (NULL: none).
void batch_sensing_step(const ctn_batch *batch, int world, long steps, const double *tau);

/// Whether sensors feel joint forces.
bool batch_sensing_feels(const ctn_batch *batch);

/// Whether sensors have delays: then steps are made one by one, and what is measured is noted of each: before the first one of a
/// world (part NULL), and after a step that was made, `part` [lanes]. time [lanes] (s) is that of the states.
bool batch_senses_late(const ctn_batch *batch);
void batch_sensing_note(const ctn_batch *batch, int thread, int block, const double *time, const ctn_step_stats *part);

/// What the sensors of a block's worlds say at `time` [lanes]: [lanes][numbers], in memory of the thread.
double *batch_sense_block(const ctn_batch *batch, int thread, int block, const double *time);

/// On a device: what all worlds' sensors say after `made` [worlds] in a call (NULL: it begins), values [worlds][numbers]; and as
/// batch_sensing_note of all worlds. States come here for it, and are measured on the scalar engine.
void batch_device_sense(ctn_batch *batch, const ctn_step_stats *made, double *values);
void batch_device_note(ctn_batch *batch, const ctn_step_stats *made, const ctn_step_stats *part);

#endif
