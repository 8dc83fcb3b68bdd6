/// From a file back to the scene and the configuration that it was made with.
#include "sim/recorded.h"

#include "sim/config.h"
#include "sim/printable.h"
#include "sim/scene.h"
#include "sim/status.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- attributes

static ctn_status lacks(const recorded *r, const char *name, ctn_error *err)
{
    return fail(err, CTN_BAD_ARGUMENT, "%s: is incomplete: it has no `%s`, which catena %s writes", r->path, name, ctn_version());
}

/// A number that the file must have, from `least` to `most`.
static ctn_status whole(const recorded *r, const char *name, double least, double most, long *value, ctn_error *err)
{
    char *const text = attribute_text(r->file, name);
    const double number = text ? strtod(text, NULL) : 0;
    free(text);
    if (!text) return lacks(r, name, err);
    if (!(number >= least && number <= most))
        return fail(err, CTN_BAD_ARGUMENT, "%s: its attribute `%s` is %g, expected %.0f to %.0f", r->path, name, number, least,
                    most);
    *value = (long)number;
    return CTN_OK;
}

/// A number of the configuration, through the checks that scene files use. Not there: unchanged.
static ctn_status setting(recorded *r, const char *name, ctn_error *err)
{
    ctn_error reason;
    char *const text = attribute_text(r->file, name);
    const ctn_status status = text ? config_set(&r->cfg, name, strtod(text, NULL), &reason) : CTN_OK;
    free(text);
    return status == CTN_OK ? CTN_OK : fail(err, status, "%s: its attribute `%s`: %s", r->path, name, reason.message);
}

static ctn_status read_config(recorded *r, ctn_error *err)
{
    static const char *const numbers[] = {"dt",        "error_tolerance", "order",        "stages",
                                          "tolerance", "max_iterations",  "max_halvings", "worlds"};
    r->cfg = ctn_batch_config_default();
    char *const method = attribute_text(r->file, "method"), *const solver = attribute_text(r->file, "solver");
    ctn_status status = method ? ctn_method_from_name(method, &r->cfg.method, err) : lacks(r, "method", err);
    if (status == CTN_OK && solver) status = ctn_solver_from_name(solver, &r->cfg.solver, err);
    free(method), free(solver);
    r->cfg.adaptive = H5Aexists(r->file, "error_tolerance") > 0;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers && status == CTN_OK; k++) status = setting(r, numbers[k], err);
    return status;
}

static bool is_finished(const recorded *r)
{
    signed char finished = 0;
    const hid_t set = H5Lexists(r->file, "finished", H5P_DEFAULT) > 0 ? H5Dopen2(r->file, "finished", H5P_DEFAULT) : -1;
    if (set < 0) return false;
    const hid_t space = H5Dget_space(set);
    if (H5Sget_simple_extent_npoints(space) == 1) H5Dread(set, H5T_NATIVE_SCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, &finished);
    H5Sclose(space), H5Dclose(set);
    return finished == 1;
}

/// What says how far it went, and what was kept.
static ctn_status read_extent(recorded *r, ctn_error *err)
{
    const double most = 9007199254740992;
    r->hashes = H5Aexists(r->file, "hash") > 0;
    r->finished = !r->rollout && is_finished(r);
    if (!r->rollout) return whole(r, "every", 1, INT_MAX, &r->every, err);
    ctn_status status = whole(r, "seed", 0, most, &r->seed, err);
    if (status == CTN_OK) status = whole(r, "steps", 0, most, &r->steps, err);
    if (status == CTN_OK) status = whole(r, "stride", 1, most, &r->stride, err);
    if (status != CTN_OK) return status;
    char *const keep = attribute_text(r->file, "keep");
    status = keep ? keep_from_text(keep, &r->keep, err) : lacks(r, "keep", err);
    free(keep);
    if (H5Aexists(r->file, "starts") > 0) r->starts = attribute_text(r->file, "starts");
    if (H5Aexists(r->file, "controls") > 0) r->controls = attribute_text(r->file, "controls");
    return status;
}

// ---- the scene

/// The version of the defaults that the scene was read with.
static ctn_status read_defaults(recorded *r, ctn_error *err)
{
    long defaults = 1;  // of files older than the attribute
    const bool noted = H5Aexists(r->file, "scene_defaults") > 0;
    const ctn_status status = noted ? whole(r, "scene_defaults", 1, SCENE_DEFAULTS, &defaults, err) : CTN_OK;
    if (status == CTN_OK) r->scene->defaults = (int)defaults;
    return status;
}

static ctn_status read_scene(recorded *r, ctn_error *err)
{
    scene_file *files = NULL;
    int count = 0;
    bool ok = true;
    while (ok) {
        char name[24];
        size_t length;
        snprintf(name, sizeof name, "scene/%d", count);
        char *const text = dataset_bytes(r->file, name, &length);
        if (!text) break;
        const hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT);
        char *const path = attribute_text(set, "path");
        H5Dclose(set);
        scene_file *const more = path ? realloc(files, ((size_t)count + 1) * sizeof *files) : NULL;
        if (more) files = more, files[count++] = (scene_file){.path = path, .text = text, .length = length};
        else free(path), free(text), ok = false;
    }
    ctn_status status = CTN_OK;
    if (!ok || !count) status = lacks(r, "scene", err);
    else if (!(r->scene = scene_from_files(files, count, err))) status = err->status;
    for (int k = 0; k < count; k++) free(files[k].path), free(files[k].text);
    free(files);
    return status;
}

// ---- the file

/// Texts that the file has of itself are like names in scenes.
static ctn_status check_texts(const recorded *r, ctn_error *err)
{
    static const char *const names[] = {"catena_version", "started", "engine", "scene"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char *const text = attribute_text(r->file, names[k]);
        const bool good = !text || !find_unprintable(text, NULL);
        free(text);
        if (!good)
            return fail(err, CTN_BAD_ARGUMENT,
                        "%s: its attribute `%s` has characters that cannot be printed: catena did not write it", r->path,
                        names[k]);
    }
    return CTN_OK;
}

static ctn_status read_all(recorded *r, ctn_error *err)
{
    char *const format = attribute_text(r->file, "format"), *const version = attribute_text(r->file, "format_version");
    r->rollout = format && !strcmp(format, ROLLOUT_FORMAT);
    const bool ours = version && !strcmp(version, "1") && (r->rollout || (format && !strcmp(format, RECORDING_FORMAT)));
    free(format), free(version);
    if (!ours) return fail(err, CTN_BAD_ARGUMENT, "%s: is no recording of catena run or catena rollout", r->path);
    r->version = attribute_text(r->file, "catena_version"), r->started = attribute_text(r->file, "started");
    r->engine = attribute_text(r->file, "engine");
    if (!r->version || !r->started) return lacks(r, "catena_version", err);
    ctn_status status = check_texts(r, err);
    if (status == CTN_OK) status = read_config(r, err);
    if (status == CTN_OK) status = read_extent(r, err);
    if (status == CTN_OK) status = read_scene(r, err);
    return status == CTN_OK ? read_defaults(r, err) : status;
}

ctn_status recorded_open(recorded *r, const char *path, ctn_error *err)
{
    *r = (recorded){.path = strdup(path), .file = -1};
    if (!r->path) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", path);
    hdf5_quiet(&r->errors);
    r->file = open_to_read(path);
    const ctn_status status =
        r->file < 0 ? fail(err, CTN_IO, "%s: cannot be read: %s", path, r->errors.reason) : read_all(r, err);
    hdf5_loud(&r->errors);
    return status;
}

void recorded_close(recorded *r)
{
    for (int k = 0; k < r->nset; k++)
        if (r->sets[k].id >= 0) H5Dclose(r->sets[k].id);
    if (r->file >= 0) H5Fclose(r->file);
    free(r->path), free(r->version), free(r->started), free(r->engine), free(r->starts), free(r->controls);
    *r = (recorded){.file = -1};
}

ctn_status recorded_compare(recorded *r, const record_head *head, ctn_error *err)
{
    static const char *const apart[] = {"started", "command", "engine", "catena_version", "rank", "ranks", NULL};
    char before[300];
    snprintf(before, sizeof before, "%.250s: cannot be replayed: ", r->path);
    return compare_head(r->file, head, apart, before, err);
}

/// The path of source `k` of virtual datasets laid out as `list` says, beside the file itself; to be freed. NULL: no memory.
static char *part_path(const recorded *r, hid_t list, size_t k)
{
    const ssize_t length = H5Pget_virtual_filename(list, k, NULL, 0);
    const size_t name = length > 0 ? (size_t)length + 1 : 1;
    const char *const slash = strrchr(r->path, '/');
    const size_t folder = slash ? (size_t)(slash - r->path) + 1 : 0;
    char *const path = malloc(folder + name);
    if (!path) return NULL;
    memcpy(path, r->path, folder);
    path[folder] = 0;
    if (length > 0) H5Pget_virtual_filename(list, k, path + folder, name);
    char *to = path + folder;
    for (const char *from = to; *from; from++) {
        if (*from == '%' && from[1] == '%') from++;  // that is how it is written there
        *to++ = *from;
    }
    *to = 0;
    return path;
}

static ctn_status check_part(recorded *r, hid_t list, size_t k, ctn_error *err)
{
    char *const path = part_path(r, list, k);
    if (!path) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", r->path);
    *r->errors.reason = 0;
    const hid_t file = open_to_read(path);
    const ctn_status status = file >= 0 ? CTN_OK
                                        : fail(err, CTN_IO, "%s: some of its worlds are in %s, which cannot be read: %s", r->path,
                                               path, r->errors.reason);
    if (file >= 0) H5Fclose(file);
    free(path);
    return status;
}

ctn_status recorded_check_parts(recorded *r, ctn_error *err)
{
    ctn_status status = CTN_OK;
    size_t count = 0;
    hdf5_quiet(&r->errors);
    const hid_t set = H5Lexists(r->file, "status", H5P_DEFAULT) > 0 ? H5Dopen2(r->file, "status", H5P_DEFAULT) : -1;
    const hid_t list = set >= 0 ? H5Dget_create_plist(set) : -1;
    if (list >= 0 && H5Pget_layout(list) == H5D_VIRTUAL) H5Pget_virtual_count(list, &count);
    for (size_t k = 0; k < count && status == CTN_OK; k++) status = check_part(r, list, k, err);
    if (list >= 0) H5Pclose(list);
    if (set >= 0) H5Dclose(set);
    hdf5_loud(&r->errors);
    return status;
}

/// A dataset by its name.
static const recorded_set *find_set(recorded *r, const char *name)
{
    enum { MOST_RANK = 8 };
    hsize_t dims[MOST_RANK];
    char group[32];
    for (int k = 0; k < r->nset; k++)
        if (!strcmp(r->sets[k].name, name)) return &r->sets[k];
    recorded_set *const s = &r->sets[r->nset++];
    *s = (recorded_set){.name = name, .id = -1, .width = 1};
    snprintf(group, sizeof group, "%.*s", (int)strcspn(name, "/"), name);
    if (H5Lexists(r->file, group, H5P_DEFAULT) <= 0 || H5Lexists(r->file, name, H5P_DEFAULT) <= 0) return s;
    const hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT), space = set >= 0 ? H5Dget_space(set) : -1;
    const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : 0;
    if (rank > 0 && rank <= MOST_RANK && H5Sget_simple_extent_dims(space, dims, NULL) == rank) {
        s->id = set, s->count = (int64_t)dims[0];
        for (int d = 1; d < rank; d++) s->width *= (size_t)dims[d];
    } else if (set >= 0) H5Dclose(set);
    if (space >= 0) H5Sclose(space);
    return s;
}

int64_t recorded_count(recorded *r, const char *name)
{
    hdf5_quiet(&r->errors);
    const int64_t count = find_set(r, name)->count;
    hdf5_loud(&r->errors);
    return count;
}

ctn_status recorded_rows(recorded *r, const char *name, hid_t type, int64_t first, int64_t count, size_t width, void *data,
                         ctn_error *err)
{
    hdf5_quiet(&r->errors);
    const recorded_set *const s = find_set(r, name);
    const bool fits = s->id >= 0 && s->width == width && first + count <= s->count,
               ok = fits && get_block(s->id, type, 1, &first, &count, data);
    hdf5_loud(&r->errors);
    if (ok) return CTN_OK;
    if (!fits) return fail(err, CTN_BAD_ARGUMENT, "%s: `%s` is not there, or has another shape", r->path, name);
    return fail(err, CTN_IO, "%s: `%s` cannot be read: %s", r->path, name, r->errors.reason);
}

ctn_status recorded_block(recorded *r, const char *name, int rank, const int64_t *start, const int64_t *count, double *data,
                          ctn_error *err)
{
    hdf5_quiet(&r->errors);
    const recorded_set *const s = find_set(r, name);
    const bool ok = s->id >= 0 && get_block(s->id, H5T_NATIVE_DOUBLE, rank, start, count, data);
    hdf5_loud(&r->errors);
    if (ok) return CTN_OK;
    if (s->id < 0) return fail(err, CTN_BAD_ARGUMENT, "%s: `%s` is not there", r->path, name);
    return fail(err, CTN_IO, "%s: `%s` cannot be read: %s", r->path, name, r->errors.reason);
}

ctn_status recorded_ends(recorded *r, int64_t records, int64_t first, int64_t worlds, double *until, ctn_freeze *why,
                         ctn_error *err)
{
    const size_t all = (size_t)r->cfg.worlds, wide = r->rollout ? 1 : all;
    const int64_t row = r->rollout ? 0 : records - 1, rows = r->rollout ? (int64_t)all : 1;
    double *const reason = malloc(2 * all * sizeof *reason), *const when = reason + all;
    if (!reason) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", r->path);
    ctn_status status = recorded_rows(r, r->rollout ? "status" : "stats/frozen", H5T_NATIVE_DOUBLE, row, rows, wide, reason, err);
    if (status == CTN_OK)
        status =
            recorded_rows(r, r->rollout ? "frozen_time" : "stats/frozen_time", H5T_NATIVE_DOUBLE, row, rows, wide, when, err);
    for (int64_t w = 0; w < worlds && status == CTN_OK; w++) {
        const double what = reason[first + w];
        until[w] = what > 0 ? when[first + w] : what < 0 ? -INFINITY : INFINITY;
        if (why) why[w] = what > 0 ? (ctn_freeze)what : CTN_RUNNING;
    }
    free(reason);
    return status;
}
