/// Whether a method brakes a run: takes energy out of its motion, as those do that put a chord in the place of an arc.
///
/// What the ledger says is lost to the method may be an impact, which loses energy rightly, or a stiff spring that comes to rest.
/// So states of the run are kept, and from each of them some steps are made of the motion alone, without anything that acts on
/// it: what these lose is braked. A run is told of the lesser of both, if that is more than a hundredth of its energy of motion a
/// second, and than a hundredth of what its dampers take.
#ifndef CATENA_SIM_BRAKING_H
#define CATENA_SIM_BRAKING_H

#include <catena/batch.h>

typedef struct braking braking;

/// Room for states of one run, at most `most` of them, 8 to BRAKING_STATES. NULL: no memory. `model` must last.
enum { BRAKING_STATES = 40 };
braking *braking_open(const ctn_model *model, int most);
void braking_close(braking *b);  // NULL is allowed

/// Forgets all states: of another run of the model.
void braking_begin(braking *b);

/// How many states there is room for, evenly from the beginning of a run to its end; and of a run of `steps` the steps from one of
/// them to the next.
int braking_room(const braking *b);
long braking_stride(const braking *b, long steps);

/// Keeps a state and its kinetic energy, J, if there is room.
void braking_note(braking *b, const double *q, const double *v, double kinetic);

/// Whether the method of `cfg` braked a run of `seconds` in which `total` happened, and what to warn of then: one line without
/// its end, else empty; NULL: not asked for. false: no memory.
enum { BRAKING_TEXT = 600 };
bool braking_found(const braking *b, const ctn_batch_config *cfg, const ctn_step_stats *total, double seconds, bool *found,
                   char text[BRAKING_TEXT]);

#endif
