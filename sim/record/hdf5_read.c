/// Reading back what sim/record/record_hdf5_head.c wrote.
#include "sim/record/hdf5_read.h"

#include "sim/scene/scene.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/// The one text of an attribute; "" is one, too.
static char *read_text(hid_t id, hid_t type, hid_t space)
{
    enum { MOST_TEXT = 1 << 20 };
    const size_t size = H5Tget_size(type);
    char *text = NULL;
    if (H5Tis_variable_str(type) > 0) {
        char *found = NULL;
        if (H5Aread(id, type, &found) >= 0) text = found ? strndup(found, MOST_TEXT) : strdup("");
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, &found);
    } else if (size <= MOST_TEXT && (text = calloc(size + 1, 1)) && H5Aread(id, type, text) < 0) {
        free(text);
        text = NULL;
    }
    return text;
}

finding attribute_text(hid_t at, const char *name, char **text)
{
    *text = NULL;
    const htri_t there = H5Aexists(at, name);
    if (there <= 0) return there ? DAMAGED : NOT_THERE;
    const hid_t id = H5Aopen(at, name, H5P_DEFAULT);
    if (id < 0) return DAMAGED;
    const hid_t type = H5Aget_type(id), space = H5Aget_space(id);
    const H5T_class_t kind = H5Tget_class(type);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    double x[MOST_NUMBERS];
    if (kind == H5T_STRING && count == 1) *text = read_text(id, type, space);
    else if ((kind == H5T_INTEGER || kind == H5T_FLOAT) && H5Tget_size(type) <= sizeof *x && count > 0 && count <= MOST_NUMBERS &&
             H5Aread(id, H5T_NATIVE_DOUBLE, x) >= 0)
        *text = number_text(x, (int)count, kind == H5T_INTEGER);
    H5Sclose(space), H5Tclose(type), H5Aclose(id);
    return *text ? SOUND : DAMAGED;
}

// ---- datasets

/// Whether `name`, "group/name", leads to an object in this file: each link on the way there.
static finding follow(hid_t at, const char *name)
{
    char part[64];
    H5L_info_t info;
    for (const char *end = name; *end; end += *end == '/') {
        end += strcspn(end, "/");
        if ((size_t)(end - name) >= sizeof part) return DAMAGED;
        snprintf(part, sizeof part, "%.*s", (int)(end - name), name);
        const htri_t there = H5Lexists(at, part, H5P_DEFAULT);
        if (there <= 0) return there ? DAMAGED : NOT_THERE;
        if (H5Lget_info(at, part, &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD) return DAMAGED;
    }
    return SOUND;
}

/// Whether its bytes are in this file, or in those of a rollout by several processes, and come through filters that are part of
/// HDF5.
static bool is_plain(hid_t set)
{
    enum { MOST_FILTER = 255 };  // beyond it: plug-ins
    const hid_t list = H5Dget_create_plist(set);
    bool plain = list >= 0 && H5Pget_external_count(list) == 0;
    const int filters = plain ? H5Pget_nfilters(list) : 0;
    for (int k = 0; k < filters && plain; k++) {
        size_t none = 0;
        plain = H5Pget_filter2(list, (unsigned)k, NULL, &none, NULL, 0, NULL, NULL) <= MOST_FILTER;
    }
    if (list >= 0) H5Pclose(list);
    return plain && filters >= 0;
}

finding open_dataset(hid_t at, const char *name, hid_t *set)
{
    const finding there = follow(at, name);
    *set = there == SOUND ? H5Dopen2(at, name, H5P_DEFAULT) : -1;
    if (there != SOUND || (*set >= 0 && is_plain(*set))) return there;
    if (*set >= 0) H5Dclose(*set);
    *set = -1;
    return DAMAGED;
}

int dataset_shape(hid_t set, hsize_t *dims, H5T_class_t *class, size_t *size)
{
    const hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    int rank = H5Sget_simple_extent_type(space) == H5S_NULL ? -1 : H5Sget_simple_extent_ndims(space);
    if (rank > DATASET_RANK || (rank >= 0 && H5Sget_simple_extent_dims(space, dims, NULL) != rank)) rank = -1;
    *class = H5Tget_class(type), *size = H5Tget_size(type);
    uint64_t bytes = *size;  // no product of dimensions is too large for others
    for (int d = 0; d < rank; d++)
        if (dims[d] && bytes > INT64_MAX / dims[d]) rank = -1;
        else if (dims[d]) bytes *= dims[d];
    if (H5Tis_variable_str(type) > 0) *class = H5T_VLEN;
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    return rank;
}

bool is_hollow(hid_t set)
{
    enum { BEST_PACKED = 1032, FEW = 1 << 20 };  // times, by deflate; bytes
    hsize_t dims[DATASET_RANK];
    H5T_class_t class;
    size_t size;
    double fill = 0;
    const int rank = dataset_shape(set, dims, &class, &size);
    hsize_t wanted = size;
    for (int d = 0; d < rank; d++) wanted *= dims[d];
    if (wanted / BEST_PACKED <= FEW) return false;
    const hid_t list = H5Dget_create_plist(set);
    const bool hollow = H5Pget_layout(list) != H5D_VIRTUAL && wanted / BEST_PACKED > H5Dget_storage_size(set) + FEW &&
                        (H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &fill) < 0 || isfinite(fill));
    H5Pclose(list);
    return hollow;
}

finding dataset_bytes(hid_t at, const char *name, char **bytes, size_t *length)
{
    hsize_t dims[DATASET_RANK] = {0}, most = 0;
    H5T_class_t class;
    size_t size;
    hid_t set;
    *bytes = NULL;
    const finding there = open_dataset(at, name, &set);
    if (there != SOUND) return there;
    const int rank = dataset_shape(set, dims, &class, &size);
    const hid_t type = H5Dget_type(set), file = H5Iget_file_id(set);
    *length = rank == 1 ? (size_t)dims[0] : size;
    const bool known = (rank == 0 && class == H5T_STRING) || (rank == 1 && class == H5T_INTEGER && size == 1);
    if (known && H5Fget_filesize(file, &most) >= 0 && *length <= most) *bytes = calloc(*length + 1, 1);
    if (*bytes && *length && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *bytes) < 0) {
        free(*bytes);
        *bytes = NULL;
    }
    if (*bytes && !rank) *length = strlen(*bytes);
    H5Fclose(file), H5Tclose(type), H5Dclose(set);
    return *bytes ? SOUND : DAMAGED;
}

bool get_block(hid_t set, hid_t type, int rank, const int64_t *start, const int64_t *count, size_t width, void *data)
{
    hsize_t from[DATASET_RANK] = {0}, block[DATASET_RANK] = {0};
    H5T_class_t class;
    size_t size;
    const int all = dataset_shape(set, block, &class, &size);
    bool ok = all >= rank && (class == H5T_FLOAT || class == H5T_INTEGER);
    for (int d = 0; d < rank && ok; d++) {
        ok = start[d] >= 0 && count[d] >= 0 && (hsize_t)start[d] <= block[d] && (hsize_t)count[d] <= block[d] - (hsize_t)start[d];
        from[d] = (hsize_t)start[d], block[d] = (hsize_t)count[d];
    }
    size_t others = 1;
    for (int d = rank; d < all && ok; d++) others *= (size_t)block[d];
    if (!ok || others != width) return false;
    if (!all) return H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    const hid_t file = H5Dget_space(set), memory = H5Screate_simple(all, block, NULL);
    ok = !H5Sget_simple_extent_npoints(memory) || (H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, block, NULL) >= 0 &&
                                                   H5Dread(set, type, memory, file, H5P_DEFAULT, data) >= 0);
    H5Sclose(memory), H5Sclose(file);
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
    char *value;
    attribute_text(file, name, &value);
    snprintf(c->differs, sizeof c->differs, "%s is %.80s in the file and nothing now", name, value ? value : "something");
    free(value);
    return 1;
}

static bool compare_notes(hid_t file, comparison *c)
{
    for (int i = 0; i < c->head->nnote; i++) {
        const record_note *const n = &c->head->notes[i];
        if (is_apart(c->apart, n->name)) continue;
        char *was, *const is = note_value(n);
        attribute_text(file, n->name, &was);
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
        char *was;
        const finding there = dataset_bytes(file, name, &was, &length);
        const bool same = i < scene->nfile ? was && length == scene->files[i].length && !memcmp(was, scene->files[i].text, length)
                                           : there == NOT_THERE;
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
