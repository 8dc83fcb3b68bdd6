/// Datasets of HDF5 files, for tests.
#include "tests/hdf5_file.h"

#include <check.h>
#include <stdlib.h>
#include <unistd.h>

double *numbers(const char *path, const char *name, size_t *count)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    ck_assert_msg(file >= 0, "%s cannot be opened", path);
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    ck_assert_msg(set >= 0, "%s has no %s", path, name);
    const size_t n = (size_t)H5Sget_simple_extent_npoints(space);
    double *x = malloc((n + 1) * sizeof *x);
    ck_assert(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Sclose(space), H5Dclose(set), H5Fclose(file);
    if (count) *count = n;
    return x;
}

void put_numbers(const char *path, const char *name, int rank, const hsize_t *dims, const double *x)
{
    const hid_t file =
        access(path, F_OK) ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(rank, dims, NULL),
                set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_msg(set >= 0, "%s: %s cannot be made", path, name);
    ck_assert(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set), H5Sclose(space);
    ck_assert(H5Fclose(file) >= 0);
}
