/// What the files of `catena replay` share: the worlds that are made again, and where they differ from those of the file.
#ifndef CATENA_CLI_REPLAY_H
#define CATENA_CLI_REPLAY_H

#include "cli/base/progress.h"
#include "sim/record/recorded.h"
#include "sim/runs/blocks.h"

/// The earliest place where something differs.
typedef struct difference {
    bool found;
    long world, step;
    const quantity *what;  // of states
    const char *name;      // of totals: the dataset
    size_t entry;          // of its numbers
    double was, is;
    uint64_t hash_was, hash_is;  // of hashes
} difference;

typedef struct replay {
    recorded from;
    ctn_model *model;
    blocks b;     // the worlds again
    record_start start;  // of a recording that is the end of another run; else `state` is NULL
    bool verify;  // compare them
    difference state, hash, total;
    bool time_differs;                   // of a rollout: `time`
    int *status;                         // [worlds] of a rollout: as in the file
    bool *differs;                       // [worlds]
    long there;                          // worlds of a rollout that the file has
    long worlds, steps, states, hashes;  // made and compared: worlds, steps of each, states and hashes of each
    progress bar;
    double wall;  // s
    bool interrupted;
    bool failed;  // the engine did, which has been said
} replay;

/// Compare `was`, what the file says about the state or hash of a world after `step`, with `is`, and note the earliest
/// difference.
void compare_state(replay *p, const quantity *what, long world, long step, const double *was, const double *is);
void compare_hash(replay *p, long world, long step, uint64_t was, uint64_t is);

/// The same of a number that the file has of a world, besides its states.
void compare_total(replay *p, const char *name, long world, double was, double is);

/// Makes the worlds of a recording again. Returns an exit status.
int replay_recording(replay *p);

#endif
