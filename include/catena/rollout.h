/// Many worlds from beginning to end into one file: what `catena rollout` does, as a call. docs/rollouts.md describes the file,
/// and those of initial states and joint forces.
#ifndef CATENA_ROLLOUT_H
#define CATENA_ROLLOUT_H

#include <catena/batch.h>
#include <catena/scene.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What is asked for. Start from ctn_rollout_config_default(), and say how many steps.
typedef struct ctn_rollout_config {
    unsigned cookie;         // set by ctn_rollout_config_default; catches an uninitialised struct
    ctn_batch_config batch;  // default: that of the scene. Its parameters are not used: they are those that the scene draws
    long worlds;             // default 0: as many as the files of starts and controls have; without these batch.worlds
    long steps;              // of each world, >= 0, default 0
    long stride;             // from one state that is kept to the next, in steps, >= 1, default 1; the last one is kept, too
    uint64_t seed;           // of what the scene's `sample` section draws, default its own
    const char *starts;      // a file of initial states, .csv, .h5 or .hdf5; NULL (default): none
    const char *controls;    // likewise of joint forces by step
    const char
        *keep;  // what is kept of a state: some of q, v, energy, pose, sensors, contacts, with commas; NULL (default): q and v
    bool hashes;             // of every world after every step (catena/hash.h), default false
    bool resume;          // go on with the file of an earlier call, which ended early, if it is there; default false: replace it
    const char *save_freeze;  // a folder, made if need be, for the last 100 steps of each world that freezes: world-N.h5, which
                              // `catena replay` makes again (docs/recording.md); NULL (default): they are not saved
    const char *command;  // the command line or program behind it, noted in the file; NULL (default): none

    /// Hears what is allowed but probably not meant, before the first world, and after the last one whether the method took
    /// energy from the motion of the first ones; NULL (default): nobody does.
    void (*warn)(void *context, const char *text);

    /// Hears how many of `all` worlds are done: before the first, and whenever some more are in the file. NULL (default):
    /// nobody does.
    void (*progress)(void *context, long done, long all);
    void *context;  // of both
} ctn_rollout_config;

/// For NULL a configuration that the call refuses.
CTN_API ctn_rollout_config ctn_rollout_config_default(const ctn_scene *scene);

/// What happened.
typedef struct ctn_rollout_report {
    bool begun;    // false: there was an error before the first world, and nothing else here counts but `refused`
    bool refused;  // the error lies in what was asked for, or in a file that is read; else it came up while worlds were made
    long worlds;   // in all
    long done;     // worlds that the file has now
    long before;   // of these, those that it had before the call
    long frozen;   // of these, those that could not be stepped to the end
    long with_fallbacks;  // of these, those with steps that needed fewer stages or had to be halved
    int interrupted;      // processes that were asked to stop
    int processes;        // that shared the worlds: 1, but in catena-mpi
    int block;            // worlds at a time
    int threads;          // that stepped them
    const char *engine;   // likewise; lasts
    ctn_parallel parallel;  // what went side by side
    int lanes;              // of a world along its links; 0: worlds were side by side
    int states;           // of each world in the file
    double step_bytes;    // of a world in memory to step it
    double kept_bytes;    // of its states
    double wall;          // s of wall time, from the first world on
    double occupancy;     // how much of the work was of use, 0 to 1 (ctn_batch_occupancy); NaN: not measured
} ctn_rollout_report;

/// Makes worlds of `scene`, from which `model` was compiled, from beginning to end, some at a time, and writes them into the
/// file `path`, .h5 or .hdf5. What is done stays in the file, whatever ends the call: `resume` goes on from there. `report` may
/// be NULL. Returns CTN_OK; CTN_FROZEN if worlds are frozen, and all are done; CTN_INTERRUPTED if `batch.interrupt` ended it
/// early; CTN_BAD_ARGUMENT, CTN_BAD_CONFIG; CTN_IO with the file's name; CTN_UNAVAILABLE if there is no such engine, or it
/// fails; CTN_NO_MEMORY. Messages call members as the command calls its options: --starts. HDF5 is not safe for threads: all
/// calls of a program that read or write such files belong to one thread at a time.
CTN_API ctn_status ctn_rollout(const char *path, const ctn_scene *scene, const ctn_model *model, const ctn_rollout_config *cfg,
                               ctn_rollout_report *report, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
