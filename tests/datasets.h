/// Datasets of files that catena wrote.
#ifndef CATENA_TESTS_DATASETS_H
#define CATENA_TESTS_DATASETS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// The numbers of a dataset, to be freed; `count` (may be NULL) receives how many there are. The file may be one that is being
/// written, or whose writer was killed.
double *numbers(const char *path, const char *name, size_t *count);

/// Its bytes as they are in the file.
void *raw(const char *path, const char *name, size_t *size);

/// The numbers of a dataset in an open file, which must have `rank` dimensions: the first writes them to dims [rank], the second
/// expects them to be those. To be freed.
double *numbers_in(hid_t file, const char *name, int rank, hsize_t *dims);
double *numbers_of_shape(hid_t file, const char *name, int rank, const hsize_t *dims);

/// Worlds that the file of a rollout says are done; and waits until those are more than `worlds`, while `pid` writes it.
size_t worlds_done(const char *file);
void wait_for_worlds(const char *file, size_t worlds, pid_t pid);

bool has_dataset(const char *path, const char *name);

/// Fails the test unless the two files have the same datasets with the same bytes.
void same_datasets(const char *a, const char *b);

/// Replaces one number of 8 bytes of a dataset, counted over all of it, by the next larger one, or sets one of 4 bytes to -1.
void spoil(const char *path, const char *name, size_t at);

/// Writes a dataset of numbers [dims ...] into a file, which it makes if it is not there.
void put_numbers(const char *path, const char *name, int rank, const hsize_t *dims, const double *x);

#endif
