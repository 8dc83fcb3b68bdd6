/// The last steps of worlds that freeze, each in a recording of its own that `catena replay` makes again.
#ifndef CATENA_SIM_FREEZES_H
#define CATENA_SIM_FREEZES_H

#include "sim/runs/controls.h"

#include <catena/batch.h>
#include <catena/scene.h>

/// Steps that are saved of a world, the one that failed among them; fewer of one that freezes earlier.
enum { FREEZE_STEPS = 100 };

/// Looks on while a batch is stepped. It has the states of all worlds at two times in memory, FREEZE_STEPS apart. So a world that
/// freezes is made again, alone, from a state at least FREEZE_STEPS steps before, and the last steps of that are recorded.
typedef struct freezes freezes;

/// Files go into `folder`, which is made if it is not there: world-N.h5 of world N. `scene`, `controls` (NULL: no forces from a
/// file) and the texts must last until freezes_close. `command`: as in ctn_record_config. NULL on error: CTN_IO with the folder,
/// CTN_NO_MEMORY.
freezes *freezes_open(const char *folder, const ctn_scene *scene, const char *command, controls *controls, ctn_error *err);
void freezes_close(freezes *f);  // NULL is allowed

// With NULL for `f` these three do nothing, and cost nothing.

/// The worlds of `batch` begin now; they are called first, first + 1 and so on. tau [worlds][nv]: the joint forces that were set
/// in it, and stay, NULL: none. Both must last until the next call of this, or freezes_close. CTN_NO_MEMORY.
ctn_status freezes_begin(freezes *f, ctn_batch *batch, int64_t first, const double *tau, ctn_error *err);

/// How many steps may be made before freezes_look is to be called.
long freezes_room(const freezes *f);

/// After a call that made `steps` steps, with `part` [worlds] what happened in it: writes files of the worlds that froze. CTN_IO
/// with the file's name; CTN_NO_MEMORY; errors of ctn_batch_create.
ctn_status freezes_look(freezes *f, const ctn_step_stats *part, long steps, ctn_error *err);

/// The file of a world, into text [size].
void freezes_path(const char *folder, int64_t world, char *text, size_t size);

#endif
