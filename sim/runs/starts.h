/// Initial states of worlds from a file.
#ifndef CATENA_SIM_STARTS_H
#define CATENA_SIM_STARTS_H

#include <catena/model.h>
#include <stdint.h>

typedef struct starts starts;

/// Opens a CSV file, a line a world with columns named as in recordings, or an HDF5 file with `q` and `v`, also that of an
/// earlier rollout, whose last states these are then. *worlds is how many of them are wanted, 0: all; receives how many there
/// are. They are all checked here. `model` and the path must outlive it. NULL on error: CTN_IO or CTN_BAD_ARGUMENT, with the
/// file and the place in it; CTN_NO_MEMORY.
starts *starts_open(const char *path, const ctn_model *model, int64_t *worlds, ctn_error *err);

/// Puts the states of worlds first .. first + count - 1 over q [count][nq] and v [count][nv]; what the file does not have stays
/// as it is. Errors as above.
ctn_status starts_read(starts *s, int64_t first, int count, double *q, double *v, ctn_error *err);

const char *starts_path(const starts *s);  // as given

void starts_close(starts *s);  // NULL is allowed

#endif
