/// Whether a method brakes a run: takes energy out of its motion, as those do that put a chord in the place of an arc.
///
/// What the ledger says is lost to the method may be an impact, which loses energy rightly, or a stiff spring that comes to rest.
/// So states of the run are kept, and from each of them some steps are made of the motion alone, without anything that acts on it:
/// what these lose is braked. A run is told of the lesser of both, if that is more than a hundredth of its energy of motion a second,
/// and than a hundredth of what its dampers take.
#ifndef CATENA_SIM_BRAKING_H
#define CATENA_SIM_BRAKING_H

#include <catena/batch.h>

typedef struct braking braking;

/// Room for states of one run. NULL: no memory. `model` must last.
braking *braking_open(const ctn_model *model);
void braking_close(braking *b);  // NULL is allowed

/// How many steps of a run there are from one state that is kept to the next.
long braking_stride(const braking *b, long steps);

/// Keeps the state of the run after another stride, or at its start, and its kinetic energy, J.
void braking_note(braking *b, const double *q, const double *v, double kinetic);

/// What to warn of after `seconds` of a run in which `total` happened: one line without its end; empty: nothing. `cfg`: of the run.
/// false: no memory.
enum { BRAKING_TEXT = 600 };
bool braking_warning(const braking *b, const ctn_batch_config *cfg, const ctn_step_stats *total, double seconds,
                     char text[BRAKING_TEXT]);

#endif
