/// Worlds on their way through many steps, with a caller in between who works on lanes as they are: what policies and
/// roll-outs with feedback ask for in every step. Nothing is recorded.
#ifndef CATENA_SIM_TAPES_PLAY_H
#define CATENA_SIM_TAPES_PLAY_H

#include "sim/base/pool.h"

#include <catena/tapes.h>

/// As ctn_tapes_create. threads: as of batch_create (sim/batch/batch.h).
ctn_tapes *tapes_create(const ctn_model *model, const ctn_batch_config *cfg, int steps, bool gradients, pool *threads,
                        ctn_error *err);

/// The step that has led to where a world begins: the whole state before it, and what motors were told in it. state NULL: there was
/// none.
typedef struct tapes_lead {
    const double *state, *u;
} tapes_lead;

/// As ctn_tapes_run of all worlds, which begin at whole states `from` [worlds][size] that tapes of the same model and method have
/// come to, with all that the method remembers; q and v are theirs. Jacobians are then by q and v. What is remembered follows these
/// where methods of one stage have made the steps `lead` [worlds] (integrators/memory_adjoint.h), else velocities alone do, and the
/// rest is as it is. `lead` lives as long as the run is recorded.
ctn_status tapes_run_from(ctn_tapes *t, int steps, const double *from, const tapes_lead *lead, const double *q, const double *v,
                          const ctn_tapes_hooks *hooks, ctn_error *err);

/// Whole states [worlds][*size] after `step` steps of the run that tapes with gradients have recorded.
const double *tapes_states(const ctn_tapes *t, int step, size_t *size);

/// Worlds first .. first + count - 1, side by side: x [nq + nv][lanes] is their state as `round` rounds have left it, u
/// [ncontrol][lanes] is to be what motors are told in the next one (NULL: the last one is over). good [count]: false: the
/// world was frozen on its way. Several threads ask, each for other worlds.
typedef void (*tapes_teller)(void *context, int first, int count, int lanes, int round, const double *x, const bool *good,
                             double *u);

/// The first `worlds` worlds, from q [all][nq], v [all][nv] through `rounds` times `hold` steps; what lies in a block with them
/// goes along. anew: each round begins at q and v alone, as ctn_tapes_run does when worlds begin. The model has no targets that
/// move. CTN_BAD_ARGUMENT: a state that cannot be begun at; CTN_INTERRUPTED: `interrupt` of the configuration ended it, after the
/// worlds that were on their way; what was told is not all.
ctn_status tapes_play(ctn_tapes *t, int worlds, int rounds, int hold, bool anew, const double *q, const double *v,
                      tapes_teller tell, void *context, ctn_error *err);

#endif
