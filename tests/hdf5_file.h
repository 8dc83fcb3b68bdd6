/// Datasets of HDF5 files, for tests.
#ifndef CATENA_TESTS_HDF5_FILE_H
#define CATENA_TESTS_HDF5_FILE_H

#include <hdf5.h>
#include <stddef.h>

/// The numbers of a dataset, to be freed; `count` (may be NULL) receives how many there are.
double *numbers(const char *path, const char *name, size_t *count);

/// Writes a dataset of numbers [dims ...] into a file, which it makes if it is not there.
void put_numbers(const char *path, const char *name, int rank, const hsize_t *dims, const double *x);

#endif
