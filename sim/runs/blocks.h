/// Worlds made from beginning to end, a block of them at a time: what rollouts write and `catena replay` compares.
#ifndef CATENA_SIM_BLOCKS_H
#define CATENA_SIM_BLOCKS_H

#include "sim/record/trajectories.h"
#include "sim/runs/freezes.h"
#include "sim/runs/sampled_worlds.h"

typedef struct blocks {
    // what is asked for: scene and model must last until blocks_close
    const ctn_scene *scene;
    const ctn_model *model;
    const char *path;  // where messages say that the scene is
    ctn_batch_config cfg;
    uint64_t seed;
    long all;         // worlds of the whole rollout: draws depend on it
    long first, end;  // those that are made here: first .. end - 1
    long steps, stride;
    unsigned keep;
    bool hashes;
    starts *starts;               // NULL: none; blocks_close closes them
    controls *controls;           // likewise
    freezes *freezes;             // saves worlds that freeze; NULL: nobody does. The caller's
    bool (*stop)(void *context);  // asked between steps whether to end early; NULL: only cfg.interrupt is
    void *context;

    // what is there once they are open
    int times, block;    // states of a world; worlds at a time
    int threads;         // that step a block
    const char *engine;  // likewise
    double bytes;        // of a world in memory
    ctn_batch *batch;
    quantities now;                // of the batch
    double *states[QUANTITIES];    // [block][times][width]
    uint64_t *hash, *row_hash;     // [block][steps + 1], [block]; NULL: not asked for
    sampled_worlds drawn;          // of the block
    ctn_step_stats *total, *part;  // [block]
    long piece;                    // steps at a time

    // how far they are
    long done;            // the next world
    long frozen, fallen;  // of those made: frozen, with fallbacks
    double occupancy;     // of the lanes, summed over `calls` in which they iterated
    long calls;
    long fell;            // the first world that froze ...
    ctn_step_stats fall;  // ... and how; CTN_RUNNING: none did
    bool unsaved;         // a world that froze could not be saved, which is an error
} blocks;

// Here `err` is not NULL.

/// Makes room for the worlds that are asked for, and the batch for them. blocks_close is due in any case. CTN_BAD_ARGUMENT for
/// more states than a file takes; errors of ctn_batch_create; CTN_NO_MEMORY.
ctn_status blocks_open(blocks *b, ctn_error *err);
void blocks_close(blocks *b);

/// What a file of all these worlds is about, made by one process.
trajectories_head blocks_head(const blocks *b, const char *command);

/// Worlds of the next block: b->done .. + *count - 1. Errors of ctn_batch_create.
ctn_status blocks_next(blocks *b, int *count, ctn_error *err);

/// Makes them from beginning to end: states, hash and total have them. b->done stays what it is. CTN_INTERRUPTED: it was ended
/// early; CTN_BAD_ARGUMENT, CTN_IO for what the scene draws and what is read; CTN_UNAVAILABLE, CTN_NO_MEMORY if the engine
/// fails.
ctn_status blocks_make(blocks *b, int count, ctn_error *err);

/// How many steps to make at a time, after `made` of them took `seconds`: few enough to look up often, so many that looking costs
/// nothing. Begins with 1.
long next_piece(long piece, long made, double seconds);

#endif
