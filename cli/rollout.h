/// Worlds made from beginning to end, a block of them at a time: what `catena rollout` writes and `catena replay` compares.
#ifndef CATENA_CLI_ROLLOUT_H
#define CATENA_CLI_ROLLOUT_H

#include "cli/controls.h"
#include "cli/ranks.h"
#include "cli/sampled.h"
#include "cli/setup.h"
#include "cli/starts.h"
#include "sim/trajectories.h"

typedef struct rollout {
    setup s;
    uint64_t seed;
    long all;         // worlds of the whole rollout: draws depend on it
    long first, end;  // those that are made here: first .. end - 1
    long steps, stride;
    unsigned keep;
    bool hashes;
    const char *out;
    char *path;          // where the worlds made here go: `out`, or a file of this rank's own
    starts *starts;      // NULL: none
    controls *controls;  // NULL: none
    trajectories *file;
    long done;           // the next world
    ranks ranks;         // the processes that make the others
    tally own, sum;      // what is done here, and by all
    int times, block;    // states of a world; worlds at a time
    int threads;         // that step a block
    const char *engine;  // likewise
    ctn_batch *batch;
    quantities now;                // of the batch
    double *states[QUANTITIES];    // [block][times][width]
    uint64_t *hash, *row_hash;     // [block][steps + 1], [block]; NULL: not asked for
    sampled drawn;                 // of the block
    ctn_step_stats *total, *part;  // [block]
    long piece;                    // steps at a time
    double wall;                   // s
    double bytes;                  // of a world in memory
    long fell;                     // the first world made here that froze ...
    ctn_step_stats fall;           // ... and how; CTN_RUNNING: none did
} rollout;

/// Makes room for the worlds that `s` to `hashes` describe, and the batch for them. Returns an exit status; close_rollout is due
/// in any case.
int prepare_worlds(rollout *r);
void close_rollout(rollout *r);

/// What was made, by all processes: for people, and as one JSON object, which returns an exit status.
void print_rollout(const rollout *r);
int print_json_rollout(const rollout *r);

/// What the file of this rollout is about.
trajectories_head rollout_head(const rollout *r, const char *command);

/// Worlds of the next block: r->done .. + *count - 1. Returns an exit status.
int next_block(rollout *r, int *count);

/// Makes them from beginning to end; `whole` becomes false if a signal comes in between, or another process fails. Returns an exit
/// status.
int make_worlds(rollout *r, int count, bool *whole);

#endif
