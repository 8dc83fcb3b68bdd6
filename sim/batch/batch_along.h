/// What batches along their links have in hand (sim/batch/batch_along.c), and, on a device, all of their worlds together
/// (sim/batch/batch_together.c).
#ifndef CATENA_BATCH_ALONG_H
#define CATENA_BATCH_ALONG_H

#include "sim/along/along_device.h"
#include "sim/batch/batch.h"

/// Worlds of a batch that a device steps together; what it is given of those in hand, one after another.
typedef struct {
    along_many room;
    int *slot;                    // [worlds] where a world stands among those in hand; -1: it is none of them
    int *due;                     // [worlds] steps of a world, in all
    int *made;                    // [worlds] so far
    int *steps, *got;             // [in hand]
    engine_clock *clock;          // [in hand]
    double *flat;                 // [in hand][numbers of a state]
    double *tau;                  // [in hand][rows][nv]
    double *asked;                // [worlds][nv] of a control
    point_load *loads;            // [in hand][nload]; NULL: as the model has them
    ctn_step_stats *part;         // [in hand]
    ctn_step_stats *total, *one;  // [worlds] of a call, of a step of it
    size_t bytes;
} together;

struct batch_along {
    const along_engine *engine;
    along_plan *plan;
    pool **own;           // [at_once] of `links`: one of all threads; of `both`: of one thread each
    along_world **world;  // [worlds at a time]
    along_remote *there;  // on a device; NULL: worlds are here
    ctn_error *lost;      // likewise: what it failed of
    together *together;   // of `both` there
    int at_once;
    size_t bytes;  // of one of `world`
    // of batches whose worlds differ: which of these has its numbers in each of `world`, -1: none
    int *whose;
    point_load *load;     // with wrenches alone: numbers of loads [worlds at a time][nload]
    ctn_model *base;      // with parameters: the model of the plan, with all that worlds may have
    ctn_model **variant;  // [worlds at a time] likewise: those of worlds
};

/// Puts into statistics of steps that were made along the links what contact points feel at their end, as the scalar engine has
/// it of the state there.
void batch_along_tally(ctn_batch *batch, int thread, int world, ctn_step_stats *stats);

/// Memory of a batch for that; false: there is none.
bool batch_together_open(ctn_batch *batch);
void batch_together_close(together *t);  // NULL is allowed

#endif
