/// Opening HDF5 files to read them: files that are being written, were left by a writer that was killed, are damaged, or a
/// stranger's.
#ifndef CATENA_SIM_HDF5_OPEN_H
#define CATENA_SIM_HDF5_OPEN_H

#include "sim/record/hdf5_errors.h"

/// Opens a file: tries for two seconds while a writer has it. Negative on error, with `e->reason` that says what is wrong with it
/// and what to do. Call it between hdf5_quiet(e) and hdf5_loud(e).
///
/// The HDF5 library may crash or run for ever on damaged files. So a process of its own reads all that the file says about itself
/// first; where that does not come to an end, the file is refused. Damage that the library finds by itself, by a checksum, is
/// left to those who read what it concerns.
hid_t open_to_read(const char *path, hdf5_errors *e);

/// How files are opened, also to go on with them; to be closed.
hid_t access_to_read(void);

#endif
