/// What a batch has been through: the states after its last steps, to be drawn between, plotted, and gone back to.
#ifndef CATENA_RENDER_HISTORY_H
#define CATENA_RENDER_HISTORY_H

#include <catena/batch.h>

typedef struct history history;

/// Of one step, in the first world but for what is said otherwise.
typedef struct history_step {
    double time;     // s, after it
    double energy;   // J
    int iterations;  // of Newton
    ctn_freeze frozen;
    bool fell_back;  // some world needed a fallback
} history_step;

/// For the batch as it is now, which is the first entry. Keeps as many steps as fit into `bytes`, but at least two. NULL: no
/// memory.
history *history_create(ctn_batch *batch, size_t bytes);
void history_free(history *h);  // NULL is allowed

/// The batch made a step, with these statistics [worlds]. The oldest entry is forgotten where there is no room.
void history_add(history *h, ctn_batch *batch, const ctn_step_stats *stats);

/// The batch, where the newest entry is, has been changed, or is another one from now on with the same model and as many worlds.
void history_change(history *h, ctn_batch *batch);

int history_count(const history *h);
const history_step *history_entry(const history *h, int k);  // 0: the oldest

/// Puts q [worlds][nq] and v [worlds][nv] of time t, or of the entry nearest to it where there is none beyond.
void history_state(const history *h, double t, double *q, double *v);

/// Forgets the newest entry and puts the batch back to the one before; false, and nothing is done, if that is forgotten. It goes
/// on with the same bits unless it was changed in between (`*change`): then it has the state of that entry, and all worlds move.
bool history_back(history *h, ctn_batch *batch, bool *change);

#endif
