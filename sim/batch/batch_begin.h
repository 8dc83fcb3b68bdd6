/// Worlds of a batch that begin anew while the others go on.
#ifndef CATENA_SIM_BATCH_BEGIN_H
#define CATENA_SIM_BATCH_BEGIN_H

#include "sim/batch/batch.h"

typedef struct {
    const bool *which;     // [worlds]
    const double *q, *v;   // [worlds][nq], [worlds][nv], where they do
    const double *time;    // [worlds] s, when
    const double *states;  // [worlds][flat_size] whole states in the place of q and v, which all begin at; NULL: none
    double *room;          // [worlds][flat_size], for others of their lane blocks
} batch_beginning;

/// Puts them there, with clocks of their own, and sensors that remember nothing. States must have been checked. Worlds lie side
/// by side, on the CPU.
void batch_begin(ctn_batch *batch, const batch_beginning *how);

#endif
