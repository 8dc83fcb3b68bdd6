/// What HDF5 files of runs and rollouts say, read back.
#ifndef CATENA_SIM_HDF5_READ_H
#define CATENA_SIM_HDF5_READ_H

#include "sim/record.h"

#include <hdf5.h>

/// Opens a file for reading, also one that is being written or was left by a writer that was killed: tries for two seconds while a
/// writer has it. Negative on error.
hid_t open_to_read(const char *path);

/// The value of an attribute as text, to be freed: numbers with as many digits as read back the same, "1, 2, 3" if there are
/// several. NULL: there is none, or it is of another kind.
char *attribute_text(hid_t at, const char *name);

/// What a dataset holds that is one text, or bytes, to be freed, and its length; a zero follows. NULL as above.
char *dataset_bytes(hid_t at, const char *name, size_t *length);

/// A block of a dataset: entries start .. start + count - 1 in each of its first `rank` dimensions, all of the others.
bool get_block(hid_t set, hid_t type, int rank, const int64_t *start, const int64_t *count, void *data);

/// Whether the file was made by a run that `head` is about too: the same attributes, but for those in `apart` (up to NULL), and
/// texts of the scene. If not, CTN_BAD_ARGUMENT with what differs, after `before`.
ctn_status compare_head(hid_t file, const record_head *head, const char *const *apart, const char *before, ctn_error *err);

/// Whether worlds of engine `a` have other bits than those of `b`: one of them alone works in single precision.
bool engines_differ(const char *a, const char *b);

#endif
