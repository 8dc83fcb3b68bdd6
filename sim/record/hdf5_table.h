/// Numbers out of datasets of HDF5 files, some rows at a time.
#ifndef CATENA_SIM_HDF5_TABLE_H
#define CATENA_SIM_HDF5_TABLE_H

#include <catena/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_RANK = 3 };

/// A dataset that is open for reading.
typedef struct hdf5_table hdf5_table;

/// Opens dataset `name` of a file into *t: numbers of two or three dimensions, the last of them `width`, as `shape` tells the
/// user ("[world][nq] or [world][time][nq]"). *t is NULL if the file has no such dataset. CTN_IO (it is damaged, too),
/// CTN_BAD_ARGUMENT or CTN_NO_MEMORY with the file and the dataset.
ctn_status hdf5_table_open(const char *path, const char *name, int width, const char *shape, hdf5_table **t, ctn_error *err);

int hdf5_table_rank(const hdf5_table *t);
int64_t hdf5_table_size(const hdf5_table *t, int dimension);

/// Whether the file is of a format by its attribute `format`, "catena recording".
bool hdf5_table_format(const hdf5_table *t, const char *format);

/// The texts of fixed length in a dataset of the same file, "model/q_name": texts [*count][*width], filled up with NULs, to be
/// freed. NULL: there are none of this kind. CTN_IO.
ctn_status hdf5_table_texts(const hdf5_table *t, const char *name, char **texts, int64_t *count, size_t *width, ctn_error *err);

/// Numbers from start [rank] on, count [rank] of them in each dimension, into x. CTN_IO if they cannot be read, CTN_BAD_ARGUMENT
/// with the place of the first one that is not finite.
ctn_status hdf5_table_read(hdf5_table *t, const int64_t *start, const int64_t *count, double *x, ctn_error *err);

void hdf5_table_close(hdf5_table *t);  // NULL is allowed

#endif
