/// Reading back what sim/record_hdf5_head.c wrote.
#include "sim/hdf5_read.h"

#include "sim/scene.h"
#include "sim/status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/// Whether its writer holds a lock (sim/hdf5_swmr.c), or has just made it and will. File systems that cannot tell, as NFS does of files that are open
/// for reading, count as if it did.
static bool is_being_written(const char *path)
{
    struct stat of;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool written = fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) || (!fstat(fd, &of) && S_ISREG(of.st_mode) && !of.st_size));
    if (fd >= 0) close(fd);
    return written;
}

static hid_t try_to_read(const char *path)
{
    hid_t file;
    H5E_BEGIN_TRY { file = H5Fopen(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT); }
    H5E_END_TRY;
    return file;
}

/// HDF5 looks how long the file is before it reads in the superblock how long it should be. A writer that flushes changes both: where
/// it has nothing else to do, every third opening fails, and succeeds when it is tried again.
hid_t open_to_read(const char *path)
{
    const struct timespec pause = {0, 5000000};
    hid_t file = try_to_read(path);
    for (int tries = 400; file < 0 && tries > 0; tries--) {
        if (is_being_written(path)) nanosleep(&pause, NULL);
        else tries = 1;  // the writer may just have closed it
        file = try_to_read(path);
    }
    return file >= 0 ? file : H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);  // of another kind than ours, or it says what is wrong
}

// ---- values as text

enum { MOST_NUMBERS = 3 };  // of an attribute

static char *number_text(const double *x, int count, bool whole)
{
    char text[MOST_NUMBERS * 32] = "";
    for (int k = 0; k < count; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), whole ? "%s%.0f" : "%s%.17g", k ? ", " : "", x[k]);
    return strdup(text);
}

static char *note_value(const record_note *n)
{
    return n->text ? strdup(n->text) : number_text(n->numbers, n->whole ? 1 : n->count, n->whole);
}

char *attribute_text(hid_t at, const char *name)
{
    if (H5Aexists(at, name) <= 0) return NULL;
    const hid_t id = H5Aopen(at, name, H5P_DEFAULT), type = H5Aget_type(id), space = H5Aget_space(id);
    const H5T_class_t kind = H5Tget_class(type);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    char *text = NULL;
    double x[MOST_NUMBERS];
    if (kind == H5T_STRING && count == 1 && !H5Tis_variable_str(type)) {
        text = calloc(size + 1, 1);
        if (text && H5Aread(id, type, text) < 0) *text = 0;
    } else if ((kind == H5T_INTEGER || kind == H5T_FLOAT) && count <= MOST_NUMBERS && H5Aread(id, H5T_NATIVE_DOUBLE, x) >= 0)
        text = number_text(x, (int)count, kind == H5T_INTEGER);
    H5Sclose(space), H5Tclose(type), H5Aclose(id);
    return text;
}

char *dataset_bytes(hid_t at, const char *name, size_t *length)
{
    if (H5Lexists(at, name, H5P_DEFAULT) <= 0) return NULL;
    const hid_t id = H5Dopen2(at, name, H5P_DEFAULT), type = H5Dget_type(id), space = H5Dget_space(id);
    char *text = NULL;
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const bool string = H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) && count == 1;
    if (string || (H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 && count > 0)) {
        *length = string ? H5Tget_size(type) : (size_t)count;
        text = calloc(*length + 1, 1);
        if (text && H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
            free(text);
            text = NULL;
        }
        if (text && string) *length = strlen(text);
    }
    H5Sclose(space), H5Tclose(type), H5Dclose(id);
    return text;
}

bool get_block(hid_t set, hid_t type, int rank, const int64_t *start, const int64_t *count, void *data)
{
    enum { MOST_RANK = 8 };
    hsize_t from[MOST_RANK] = {0}, block[MOST_RANK];
    const hid_t file = H5Dget_space(set);
    const int all = H5Sget_simple_extent_ndims(file);
    bool ok = all >= rank && all <= MOST_RANK && H5Sget_simple_extent_dims(file, block, NULL) == all;
    if (ok) {
        for (int d = 0; d < rank; d++) from[d] = (hsize_t)start[d], block[d] = (hsize_t)count[d];
        const hid_t memory = H5Screate_simple(all, block, NULL);
        ok = !H5Sget_simple_extent_npoints(memory) || (H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, block, NULL) >= 0 &&
                                                       H5Dread(set, type, memory, file, H5P_DEFAULT, data) >= 0);
        H5Sclose(memory);
    }
    H5Sclose(file);
    return ok;
}

// ---- the same head

bool engines_differ(const char *a, const char *b)
{
    static const char single[] = "cuda-float";
    return !strcmp(a, single) != !strcmp(b, single);
}

typedef struct comparison {
    const record_head *head;
    const char *const *apart;
    char differs[200];  // "": nothing does
} comparison;

static bool is_apart(const char *const *apart, const char *name)
{
    while (*apart && strcmp(*apart, name)) apart++;
    return *apart != NULL;
}

/// An attribute of the file that we would not write.
static herr_t find_foreign(hid_t file, const char *name, const H5A_info_t *info, void *context)
{
    comparison *const c = context;
    (void)info;
    if (is_apart(c->apart, name)) return 0;
    for (int i = 0; i < c->head->nnote; i++)
        if (!strcmp(c->head->notes[i].name, name)) return 0;
    char *const value = attribute_text(file, name);
    snprintf(c->differs, sizeof c->differs, "%s is %.80s in the file and nothing now", name, value ? value : "something");
    free(value);
    return 1;
}

static bool compare_notes(hid_t file, comparison *c)
{
    for (int i = 0; i < c->head->nnote; i++) {
        const record_note *const n = &c->head->notes[i];
        if (is_apart(c->apart, n->name)) continue;
        char *const was = attribute_text(file, n->name), *const is = note_value(n);
        const bool same = was && is && !strcmp(was, is);
        if (!same)
            snprintf(c->differs, sizeof c->differs, "%s is %.80s in the file and %.80s now", n->name, was ? was : "nothing",
                     is ? is : "nothing");
        free(was), free(is);
        if (!same) return false;
    }
    H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, find_foreign, c);
    return !*c->differs;
}

static bool compare_texts(hid_t file, comparison *c)
{
    const ctn_scene *const scene = c->head->scene;
    for (int i = 0; i <= scene->nfile; i++) {
        char name[24];
        snprintf(name, sizeof name, "scene/%d", i);
        size_t length;
        char *const was = dataset_bytes(file, name, &length);
        const bool same =
            i < scene->nfile ? was && length == scene->files[i].length && !memcmp(was, scene->files[i].text, length) : !was;
        free(was);
        if (same) continue;
        if (i == scene->nfile) snprintf(c->differs, sizeof c->differs, "the scene in the file includes more files");
        else
            snprintf(c->differs, sizeof c->differs, "%.100s says something else than the scene in the file",
                     scene->files[i].path);
        return false;
    }
    return true;
}

ctn_status compare_head(hid_t file, const record_head *head, const char *const *apart, const char *before, ctn_error *err)
{
    comparison c = {.head = head, .apart = apart};
    if (compare_texts(file, &c) && compare_notes(file, &c)) return CTN_OK;
    return fail(err, CTN_BAD_ARGUMENT, "%s%s", before, c.differs);
}
