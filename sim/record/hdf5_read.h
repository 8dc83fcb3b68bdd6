/// What HDF5 files of runs and rollouts say, read back.
#ifndef CATENA_SIM_HDF5_READ_H
#define CATENA_SIM_HDF5_READ_H

#include "sim/record/record.h"

#include <hdf5.h>

/// What there is at a name.
typedef enum finding { NOT_THERE, SOUND, DAMAGED } finding;

/// The value of an attribute as text, to be freed: numbers with as many digits as read back the same, "1, 2, 3" if there are
/// several. NULL unless SOUND: it cannot be read, or is of another kind.
finding attribute_text(hid_t at, const char *name, char **text);

enum { DATASET_RANK = 8 };  // more than any has

/// Opens a dataset "group/name" whose numbers are in this file, without links to others. Negative unless SOUND.
finding open_dataset(hid_t at, const char *name, hid_t *set);

/// Dimensions dims [DATASET_RANK] of a dataset, how many (negative: too many, or larger than any file), and what it holds, each
/// of `size` bytes.
int dataset_shape(hid_t set, hsize_t *dims, H5T_class_t *class, size_t *size);

/// Whether it has far more numbers, by its dimensions, than what the file holds could be unpacked to, and nothing marks those
/// left out as missing: the dimensions are wrong then, and reading them all would not end.
bool is_hollow(hid_t set);

/// What a dataset holds that is one text, or bytes, to be freed, and its length; a zero follows. NULL as above.
finding dataset_bytes(hid_t at, const char *name, char **bytes, size_t *length);

/// A block of a dataset of numbers: entries start .. start + count - 1 in each of its first `rank` dimensions, all of the others,
/// which must be `width` numbers (1: no others). False if it has others than these, or cannot be read.
bool get_block(hid_t set, hid_t type, int rank, const int64_t *start, const int64_t *count, size_t width, void *data);

/// Whether the file was made by a run that `head` is about too: the same attributes, but for those in `apart` (up to NULL), and
/// texts of the scene. If not, CTN_BAD_ARGUMENT with what differs, after `before`.
ctn_status compare_head(hid_t file, const record_head *head, const char *const *apart, const char *before, ctn_error *err);

/// Whether worlds of engine `a` have other bits than those of `b`: one of them alone works in single precision.
bool engines_differ(const char *a, const char *b);

#endif
