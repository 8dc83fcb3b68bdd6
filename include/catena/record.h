/// Recordings: what the worlds of a batch do, in a file for later. docs/recording.md describes the two formats, CSV and HDF5,
/// and how to read them.
#ifndef CATENA_RECORD_H
#define CATENA_RECORD_H

#include <catena/batch.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a recording says about itself, and how often it goes to disk. Start from ctn_record_config_default().
typedef struct ctn_record_config {
    unsigned cookie;        // set by ctn_record_config_default; catches an uninitialised struct
    int every;              // steps from one record to the next, >= 1, default 1: noted in the file, the caller keeps to it
    const char *command;    // the command line or program behind the run, noted in the file; NULL (default): none
    double flush_interval;  // s of wall time, >= 0, default 0.5: a killed program loses at most so much (CSV: nothing);
                            // 0: after every record, which costs more
    bool hashes;            // room for ctn_recorder_hash, default false; HDF5 only
} ctn_record_config;

CTN_API ctn_record_config ctn_record_config_default(void);

typedef struct ctn_recorder ctn_recorder;

/// Begins a recording that is to be called `path`, which ends in .csv, .h5 or .hdf5, and writes what it says about scene, model
/// and batch; no record yet. It is made as `path`.new. When its first record is with the operating system, or it is closed, it
/// gets its name and replaces a file that has it: what fails before leaves that one as it was. `model` is ctn_batch_model(batch),
/// and `scene` the one that it was compiled from. `model` and `batch` must outlive the recorder, `scene` and `cfg` (NULL: the
/// defaults) may go. NULL on error: CTN_BAD_ARGUMENT for another ending or another model, CTN_BAD_CONFIG, CTN_IO with the file's
/// name. All memory is allocated here. HDF5 is not safe for threads: all recorders into .h5 files of a program belong to one
/// thread at a time.
CTN_API ctn_recorder *ctn_recorder_create(const char *path, const ctn_scene *scene, const ctn_model *model, ctn_batch *batch,
                                          const ctn_record_config *cfg, ctn_error *err);

/// What recordings call number `number` of all sensors of a model together, "sensor.imu.ax", into name [size], terminated if size >
/// 0. Returns its unit, "m/s^2"; NULL, with nothing written: there is none.
CTN_API const char *ctn_sensor_number(const ctn_model *model, int number, char *name, size_t size);

/// Adds a record of the batch as it is now: time, q, v, link poses, energies and what sensors say of every world, and stats
/// [worlds], what happened since the record before. For the first record, ctn_batch_step with 0 steps gives them.
/// CTN_IO if the file cannot be written; every later call then fails in the same way. CTN_UNAVAILABLE, CTN_NO_MEMORY if a GPU
/// has failed to give the state; nothing is added then.
CTN_API ctn_status ctn_recorder_add(ctn_recorder *recorder, const ctn_step_stats *stats, ctn_error *err);

/// Adds a hash of every world as it is now (catena/hash.h). For a file that `catena replay` verifies step by step: once before
/// the first step, and after each. CTN_BAD_ARGUMENT unless the configuration asked for `hashes`; CTN_IO as ctn_recorder_add.
CTN_API ctn_status ctn_recorder_hash(ctn_recorder *recorder, ctn_error *err);

/// Hands all records to the operating system now; ctn_recorder_add does so by itself once flush_interval has passed.
CTN_API ctn_status ctn_recorder_flush(ctn_recorder *recorder, ctn_error *err);

/// Records added so far.
CTN_API long ctn_recorder_count(const ctn_recorder *recorder);

/// Finishes the file and frees the recorder, also on error: CTN_IO if something could not be written. NULL is allowed.
CTN_API ctn_status ctn_recorder_close(ctn_recorder *recorder, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
