/// What the files of the HDF5 recording share.
#ifndef CATENA_SIM_RECORD_HDF5_H
#define CATENA_SIM_RECORD_HDF5_H

#include "sim/record/record.h"

#include <hdf5.h>

/// Writes everything but the records: attributes, scene/*, model/*. All of it needs at most head_size bytes in the file.
bool put_head(hid_t file, const record_head *head);
size_t head_size(const record_head *head);

/// A dataset that does not grow; rank 0: one value. Its identifier, or negative.
hid_t put_dataset(hid_t at, const char *name, hid_t file_type, hid_t type, int rank, const hsize_t *dims, const void *data);

bool put_text_attribute(hid_t at, const char *name, const char *text);

#endif
