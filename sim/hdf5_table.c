/// Numbers out of datasets of HDF5 files.
#include "sim/hdf5_table.h"

#include "sim/hdf5_errors.h"
#include "sim/hdf5_read.h"
#include "sim/status.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hdf5_table {
    char *path, *name;
    hid_t file, set;
    int rank;
    hsize_t dims[TABLE_RANK];
};

static ctn_status cannot_read(const hdf5_table *t, const hdf5_errors *errors, ctn_error *err)
{
    return fail(err, CTN_IO, "%s: %s cannot be read: %s", t->path, t->name,
                *errors->reason ? errors->reason : "unknown error of HDF5");
}

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
    const hid_t space = H5Dget_space(t->set), type = H5Dget_type(t->set);
    const H5T_class_t class = H5Tget_class(type);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank >= 0 && rank <= TABLE_RANK) H5Sget_simple_extent_dims(space, t->dims, NULL);
    H5Sclose(space), H5Tclose(type);
    t->rank = rank;
    char found[80];
    dimensions(t, rank <= TABLE_RANK ? rank : 0, found, sizeof found);
    if (class != H5T_FLOAT && class != H5T_INTEGER)
        return fail(err, CTN_BAD_ARGUMENT, "%s: %s: expected numbers %s, found something else", t->path, t->name, shape);
    if (rank < 2 || rank > TABLE_RANK)
        return fail(err, CTN_BAD_ARGUMENT, "%s: %s: expected numbers %s, found %d dimensions", t->path, t->name, shape, rank);
    if (t->dims[rank - 1] != (hsize_t)width)
        return fail(err, CTN_BAD_ARGUMENT, "%s: %s: expected numbers %s, the last dimension %d as in the scene, found %s",
                    t->path, t->name, shape, width, found);
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
    const int fd = open(path, O_RDONLY | O_CLOEXEC);  // the system's words are for people, those of HDF5 are not
    if (fd < 0) status = fail(err, CTN_IO, "%s: cannot be read: %s", path, strerror(errno));
    else {
        close(fd);
        hdf5_quiet(&errors);
        t->file = open_to_read(path);
        const htri_t there = t->file < 0 ? -1 : H5Lexists(t->file, name, H5P_DEFAULT);
        if (there > 0) t->set = H5Dopen2(t->file, name, H5P_DEFAULT);
        if (t->file < 0)
            status = fail(err, CTN_IO, "%s: cannot be read as an HDF5 file: %s", path,
                          *errors.reason ? errors.reason : "unknown error of HDF5");
        else if (there < 0 || (there && t->set < 0)) status = cannot_read(t, &errors, err);
        else if (there) status = check_shape(t, width, shape, err);
        hdf5_loud(&errors);
    }
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
    char *const text = attribute_text(t->file, "format");
    hdf5_loud(&errors);
    const bool same = text && !strcmp(text, format);
    free(text);
    return same;
}

char *hdf5_table_texts(const hdf5_table *t, const char *name, int64_t *count, size_t *width)
{
    char *texts = NULL;
    hdf5_errors errors;
    hdf5_quiet(&errors);
    const hid_t set = H5Dopen2(t->file, name, H5P_DEFAULT);
    if (set >= 0) {
        const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
        *count = (int64_t)H5Sget_simple_extent_npoints(space), *width = H5Tget_size(type);
        if (H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) && *count > 0) texts = malloc((size_t)*count * *width);
        if (texts && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) < 0) {
            free(texts);
            texts = NULL;
        }
        H5Tclose(type), H5Sclose(space), H5Dclose(set);
    }
    hdf5_loud(&errors);
    return texts;
}

ctn_status hdf5_table_read(hdf5_table *t, const int64_t *start, const int64_t *count, double *x, ctn_error *err)
{
    int64_t numbers = 1;
    for (int d = 0; d < t->rank; d++) numbers *= count[d];
    hdf5_errors errors;
    hdf5_quiet(&errors);
    const bool ok = get_block(t->set, H5T_NATIVE_DOUBLE, t->rank, start, count, x);
    hdf5_loud(&errors);
    if (!ok) return cannot_read(t, &errors, err);
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
