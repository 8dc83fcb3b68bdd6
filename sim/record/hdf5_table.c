/// Numbers out of datasets of HDF5 files.
#include "sim/record/hdf5_table.h"

#include "sim/record/hdf5_errors.h"
#include "sim/record/hdf5_open.h"
#include "sim/record/hdf5_read.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hdf5_table {
    char *path, *name;
    hid_t file, set;
    int rank;
    hsize_t dims[TABLE_RANK];
};

/// Dimensions as text, "[3][20]".
static void dimensions(const hdf5_table *t, int rank, char *text, size_t size)
{
    *text = 0;
    for (int d = 0; d < rank; d++) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "[%llu]", (unsigned long long)t->dims[d]);
    }
}

/// Type and dimensions of the dataset.
static ctn_status check_shape(hdf5_table *t, int width, const char *shape, ctn_error *err)
{
    H5T_class_t class;
    size_t size;
    hsize_t dims[DATASET_RANK];
    char found[80];
    const int rank = dataset_shape(t->set, dims, &class, &size);
    if ((class != H5T_FLOAT && class != H5T_INTEGER) || size > sizeof(long double))
        return fail(err, CTN_BAD_ARGUMENT, "%s: %s: expected numbers %s, found something else", t->path, t->name, shape);
    if (rank < 2 || rank > TABLE_RANK)
        return fail(err, CTN_BAD_ARGUMENT, "%s: %s: expected numbers %s, found %d dimensions", t->path, t->name, shape, rank);
    t->rank = rank;
    memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    dimensions(t, rank, found, sizeof found);
    if (dims[rank - 1] != (hsize_t)width)
        return fail(err, CTN_BAD_ARGUMENT, "%s: %s: expected numbers %s, the last dimension %d as in the scene, found %s",
                    t->path, t->name, shape, width, found);
    if (is_hollow(t->set))
        return fail(err, CTN_IO,
                    "%s: %s says that it has numbers %s, of which the file holds next to none; it is damaged: " HDF5_REMEDY,
                    t->path, t->name, found);
    return CTN_OK;
}

ctn_status hdf5_table_open(const char *path, const char *name, int width, const char *shape, hdf5_table **table, ctn_error *err)
{
    hdf5_table *const t = calloc(1, sizeof *t);
    *table = NULL;
    if (t) t->file = t->set = -1, t->path = strdup(path), t->name = strdup(name);
    if (!t || !t->path || !t->name) {
        hdf5_table_close(t);
        return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", path);
    }
    ctn_status status = CTN_OK;
    hdf5_errors errors;
    hdf5_quiet(&errors);
    t->file = open_to_read(path, &errors);
    const finding there = t->file < 0 ? DAMAGED : open_dataset(t->file, name, &t->set);
    if (t->file < 0) status = fail(err, CTN_IO, "%s: cannot be read: %s", path, errors.reason);
    else if (there == DAMAGED) status = hdf5_damaged(&errors, path, name, err);
    else if (there == SOUND) status = check_shape(t, width, shape, err);
    hdf5_loud(&errors);
    if (status == CTN_OK && t->set >= 0) *table = t;
    else hdf5_table_close(t);
    return status;
}

int hdf5_table_rank(const hdf5_table *t) { return t->rank; }

int64_t hdf5_table_size(const hdf5_table *t, int dimension) { return (int64_t)t->dims[dimension]; }

bool hdf5_table_format(const hdf5_table *t, const char *format)
{
    hdf5_errors errors;
    hdf5_quiet(&errors);
    char *text;
    attribute_text(t->file, "format", &text);
    hdf5_loud(&errors);
    const bool same = text && !strcmp(text, format);
    free(text);
    return same;
}

ctn_status hdf5_table_texts(const hdf5_table *t, const char *name, char **texts, int64_t *count, size_t *width, ctn_error *err)
{
    hsize_t dims[DATASET_RANK], most = 0;
    H5T_class_t class = H5T_NO_CLASS;
    hid_t set;
    hdf5_errors errors;
    ctn_status status = CTN_OK;
    *texts = NULL, *count = 0;
    hdf5_quiet(&errors);
    const finding there = open_dataset(t->file, name, &set);
    const int rank = there == SOUND ? dataset_shape(set, dims, &class, width) : 0;
    if (there == DAMAGED || H5Fget_filesize(t->file, &most) < 0) status = hdf5_damaged(&errors, t->path, name, err);
    else if (rank == 1 && class == H5T_STRING && dims[0] > 0) {
        const hid_t type = H5Dget_type(set);
        *count = (int64_t)dims[0];
        *texts = dims[0] <= most / *width ? malloc((size_t)dims[0] * *width) : NULL;
        if (!*texts || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *texts) < 0) {
            status = hdf5_damaged(&errors, t->path, name, err);
            free(*texts);
            *texts = NULL;
        }
        H5Tclose(type);
    }
    if (set >= 0) H5Dclose(set);
    hdf5_loud(&errors);
    return status;
}

ctn_status hdf5_table_read(hdf5_table *t, const int64_t *start, const int64_t *count, double *x, ctn_error *err)
{
    int64_t numbers = 1;
    for (int d = 0; d < t->rank; d++) numbers *= count[d];
    hdf5_errors errors;
    hdf5_quiet(&errors);
    const bool ok = get_block(t->set, H5T_NATIVE_DOUBLE, t->rank, start, count, 1, x);
    hdf5_loud(&errors);
    if (!ok) return hdf5_damaged(&errors, t->path, t->name, err);
    for (int64_t k = 0; k < numbers; k++) {
        if (isfinite(x[k])) continue;
        char place[80];
        hdf5_table at = *t;
        int64_t rest = k;
        for (int d = t->rank - 1; d >= 0; d--) at.dims[d] = (hsize_t)(start[d] + rest % count[d]), rest /= count[d];
        dimensions(&at, t->rank, place, sizeof place);
        return fail(err, CTN_BAD_ARGUMENT, "%s: %s%s is not a finite number, but %g", t->path, t->name, place, x[k]);
    }
    return CTN_OK;
}

void hdf5_table_close(hdf5_table *t)
{
    if (!t) return;
    if (t->set >= 0) H5Dclose(t->set);
    if (t->file >= 0) H5Fclose(t->file);
    free(t->path), free(t->name);
    free(t);
}
