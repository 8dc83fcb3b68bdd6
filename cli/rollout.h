/// Worlds made from beginning to end, a block of them at a time: what `catena rollout` writes and `catena replay` compares.
#ifndef CATENA_CLI_ROLLOUT_H
#define CATENA_CLI_ROLLOUT_H

#include "cli/setup.h"
#include "sim/trajectories.h"

typedef struct rollout {
    setup s;
    uint64_t seed;
    long worlds, steps, stride;
    unsigned keep;
    bool hashes;
    const char *out;
    trajectories *file;
    trajectories_done before;  // worlds that the file had already
    long done, frozen, fallen;
    int times, block;    // states of a world; worlds at a time
    int threads;         // that step a block
    const char *engine;  // likewise
    ctn_batch *batch;
    quantities now;                // of the batch
    double *states[QUANTITIES];    // [block][times][width]
    uint64_t *hash, *row_hash;     // [block][steps + 1], [block]; NULL: not asked for
    double *row_q, *row_v;         // [block][nq], [block][nv]
    ctn_step_stats *total, *part;  // [block]
    long piece;                    // steps at a time
    double wall;
} rollout;

/// Makes room for the worlds that `s` to `hashes` describe, and the batch for them. Returns an exit status; close_rollout is due
/// in any case.
int prepare_worlds(rollout *r);
void close_rollout(rollout *r);

/// What the file of this rollout is about.
trajectories_head rollout_head(const rollout *r, const char *command);

/// Worlds of the next block: r->done .. + *count - 1. Returns an exit status.
int next_block(rollout *r, int *count);

/// Makes them from beginning to end. Returns false if a signal came in between.
bool make_worlds(rollout *r, int count);

#endif
