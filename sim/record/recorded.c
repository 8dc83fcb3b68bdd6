/// From a file back to the scene and the configuration that it was made with.
#include "sim/record/recorded.h"

#include "sim/base/config.h"
#include "sim/model/between.h"
#include "sim/model/contact_points.h"
#include "sim/record/hdf5_open.h"
#include "sim/base/printable.h"
#include "sim/record/record.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"
#include "sim/record/trajectories.h"

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

/// An attribute as text, to be freed. Not there: NULL, and an error if it `must` be.
static ctn_status text_of(recorded *r, const char *name, bool must, char **text, ctn_error *err)
{
    const finding there = attribute_text(r->file, name, text);
    if (there == DAMAGED) return hdf5_damaged(&r->errors, r->path, name, err);
    return there == NOT_THERE && must ? lacks(r, name, err) : CTN_OK;
}

/// The same, of one that names something and is shown to people.
static ctn_status name_of(recorded *r, const char *name, bool must, char **text, ctn_error *err)
{
    enum { MOST_BYTES = 255 };
    const ctn_status status = text_of(r, name, must, text, err);
    const bool seen = !*text || !find_unprintable(*text, NULL);
    if (!*text || (seen && strlen(*text) <= MOST_BYTES)) return status;
    free(*text);
    *text = NULL;
    if (!seen)
        return fail(err, CTN_BAD_ARGUMENT,
                    "%s: its attribute `%s` has characters that cannot be printed: catena did not write it", r->path, name);
    return fail(err, CTN_BAD_ARGUMENT, "%s: its attribute `%s` is no name: expected at most %d bytes", r->path, name, MOST_BYTES);
}

/// A number, NULL: not there.
static ctn_status number_of(recorded *r, const char *name, bool must, double *number, bool *found, ctn_error *err)
{
    char *text, *end;
    ctn_status status = text_of(r, name, must, &text, err);
    *found = text != NULL, *number = 0;
    if (text) *number = strtod(text, &end);
    if (text && (end == text || *end))
        status = fail(err, CTN_BAD_ARGUMENT, "%s: its attribute `%s`: expected a number", r->path, name);
    free(text);
    return status;
}

/// A whole number that the file must have, from `least` to `most`.
static ctn_status whole(recorded *r, const char *name, double least, double most, long *value, ctn_error *err)
{
    double number;
    bool found;
    const ctn_status status = number_of(r, name, true, &number, &found, err);
    if (status != CTN_OK) return status;
    if (!(number >= least && number <= most && number == floor(number)))
        return fail(err, CTN_BAD_ARGUMENT, "%s: its attribute `%s` is %g, expected a whole number, %.0f to %.0f", r->path, name,
                    number, least, most);
    *value = (long)number;
    return CTN_OK;
}

/// A number of the configuration, through the checks that scene files use. Not there: unchanged.
static ctn_status setting(recorded *r, const char *name, ctn_error *err)
{
    ctn_error reason;
    double number;
    bool found;
    ctn_status status = number_of(r, name, false, &number, &found, err);
    if (status != CTN_OK || !found) return status;
    status = config_set(&r->cfg, name, number, &reason);
    return status == CTN_OK ? CTN_OK : fail(err, status, "%s: its attribute `%s`: %s", r->path, name, reason.message);
}

static ctn_status read_config(recorded *r, ctn_error *err)
{
    static const char *const numbers[] = {"dt",        "error_tolerance", "order",        "stages", "rho",
                                          "tolerance", "max_iterations",  "max_halvings", "worlds", "lanes"};
    r->cfg = ctn_batch_config_default();
    r->cfg.parallel = CTN_PARALLEL_WORLDS;  // of files without the attribute, older ones among them
    char *method = NULL, *solver = NULL, *parallel = NULL;
    ctn_status status = name_of(r, "method", true, &method, err);
    if (status == CTN_OK) status = ctn_method_from_name(method, &r->cfg.method, err);
    if (status == CTN_OK) status = name_of(r, "solver", false, &solver, err);
    if (status == CTN_OK && solver) status = ctn_solver_from_name(solver, &r->cfg.solver, err);
    if (status == CTN_OK) status = name_of(r, "parallel", false, &parallel, err);
    if (status == CTN_OK && parallel) status = ctn_parallel_from_name(parallel, &r->cfg.parallel, err);
    free(method), free(solver), free(parallel);
    r->cfg.adaptive = H5Aexists(r->file, "error_tolerance") > 0;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers && status == CTN_OK; k++) status = setting(r, numbers[k], err);
    return status;
}

static ctn_status read_finished(recorded *r, ctn_error *err)
{
    signed char finished = 0;
    hid_t set;
    const finding there = open_dataset(r->file, "finished", &set);
    const bool ok = there == NOT_THERE || (there == SOUND && get_block(set, H5T_NATIVE_SCHAR, 0, NULL, NULL, 1, &finished));
    if (set >= 0) H5Dclose(set);
    r->finished = finished == 1;
    return ok ? CTN_OK : hdf5_damaged(&r->errors, r->path, "finished", err);
}

static ctn_status read_keep(recorded *r, ctn_error *err)
{
    char *keep;
    ctn_status status = name_of(r, "keep", true, &keep, err);
    if (status == CTN_OK) status = keep_from_text(keep, &r->keep, err);
    free(keep);
    return status;
}

static ctn_status read_hashing(recorded *r, ctn_error *err)
{
    char *name;
    const ctn_status status = name_of(r, "hash", false, &name, err);
    r->hashes = name != NULL;
    free(name);
    return status;
}

/// What says how far it went, and what was kept.
static ctn_status read_extent(recorded *r, ctn_error *err)
{
    const double most = 9007199254740992;
    ctn_status status = read_hashing(r, err);
    if (!r->rollout) {
        if (status == CTN_OK) status = read_finished(r, err);
        if (status == CTN_OK && H5Aexists(r->file, "start_step") > 0) status = whole(r, "start_step", 0, most, &r->first, err);
        return status == CTN_OK ? whole(r, "every", 1, INT_MAX, &r->every, err) : status;
    }
    if (status == CTN_OK) status = whole(r, "seed", 0, most, &r->seed, err);
    if (status == CTN_OK) status = whole(r, "steps", 0, most, &r->steps, err);
    if (status == CTN_OK) status = whole(r, "stride", 1, most, &r->stride, err);
    if (status == CTN_OK) status = read_keep(r, err);
    if (status == CTN_OK) status = text_of(r, "starts", false, &r->starts, err);
    return status == CTN_OK ? text_of(r, "controls", false, &r->controls, err) : status;
}

// ---- the scene

/// The version of the defaults that the scene was read with.
static ctn_status read_defaults(recorded *r, ctn_error *err)
{
    long defaults = 1;  // of files older than the attribute
    const bool noted = H5Aexists(r->file, "scene_defaults") != 0;
    const ctn_status status = noted ? whole(r, "scene_defaults", 1, SCENE_DEFAULTS, &defaults, err) : CTN_OK;
    if (status == CTN_OK) r->scene->defaults = (int)defaults;
    return status;
}

/// Text `k`, and whether it is what was written, by its hash; files of older versions have none. NOT_THERE: there are no more.
static finding read_file(recorded *r, int k, scene_file *file)
{
    char name[24], is[CONTENT_HASH], *was;
    hid_t set;
    *file = (scene_file){0};
    snprintf(name, sizeof name, "scene/%d", k);
    finding there = dataset_bytes(r->file, name, &file->text, &file->length);
    if (there != SOUND) return there;
    if (open_dataset(r->file, name, &set) != SOUND) return DAMAGED;
    there = attribute_text(set, "path", &file->path);
    const finding hashed = attribute_text(set, "hash", &was);
    H5Dclose(set);
    content_hash(file->text, file->length, is);
    const bool same = hashed == NOT_THERE || (was && !strcmp(was, is));
    free(was);
    return there == SOUND && same ? SOUND : DAMAGED;
}

static ctn_status read_scene(recorded *r, ctn_error *err)
{
    scene_file *files = NULL, one = {0};
    int count = 0;
    finding there = SOUND;
    ctn_status status = CTN_OK;
    while (status == CTN_OK && (there = read_file(r, count, &one)) == SOUND) {
        scene_file *const more = realloc(files, ((size_t)count + 1) * sizeof *files);
        if (more) files = more, files[count++] = one, one = (scene_file){0};
        else status = fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", r->path);
    }
    if (status == CTN_OK && there == DAMAGED) status = hdf5_damaged(&r->errors, r->path, "scene", err);
    else if (status == CTN_OK && !count) status = lacks(r, "scene", err);
    else if (status == CTN_OK && !(r->scene = scene_from_files(files, count, err))) status = err->status;
    free(one.path), free(one.text);
    for (int k = 0; k < count; k++) free(files[k].path), free(files[k].text);
    free(files);
    return status;
}

// ---- the datasets

enum { STATE_SETS = 8 };  // time, q, v, pose, sensors, contacts, hash, and one more
_Static_assert(RECORDED_SETS >= STATE_SETS + RECORD_MEMBERS + TRAJECTORIES_TOTALS, "all that a file may have can be asked for");

/// A dataset by its name.
static const recorded_set *find_set(recorded *r, const char *name)
{
    hsize_t dims[DATASET_RANK];
    H5T_class_t class;
    size_t size;
    for (int k = 0; k < r->nset; k++)
        if (!strcmp(r->sets[k].name, name)) return &r->sets[k];
    recorded_set *const s = &r->sets[r->nset++];
    *s = (recorded_set){.name = name, .id = -1, .width = 1};
    s->damaged = open_dataset(r->file, name, &s->id) == DAMAGED;
    const int rank = s->id >= 0 ? dataset_shape(s->id, dims, &class, &size) : 0;
    if (rank > 0) s->count = (int64_t)dims[0];
    for (int d = 1; d < rank; d++) s->width *= (size_t)dims[d];
    return s;
}

enum { ANY = -1 };

/// A dataset must be [dims ...] numbers, dims[0] at least so many where they grow (of runs), and then `width` of each.
static ctn_status check_set(recorded *r, const char *name, int rank, const int64_t *dims, int64_t width, ctn_error *err)
{
    hsize_t is[DATASET_RANK];
    H5T_class_t class;
    size_t size;
    hid_t set;
    const finding there = open_dataset(r->file, name, &set);
    if (there == NOT_THERE) return lacks(r, name, err);
    if (there == DAMAGED) return hdf5_damaged(&r->errors, r->path, name, err);
    const int all = dataset_shape(set, is, &class, &size);
    bool fits = all >= rank && (class == H5T_FLOAT || class == H5T_INTEGER) && size <= sizeof(double);
    int64_t others = 1;
    for (int d = 0; d < rank && fits; d++)
        fits = dims[d] == ANY || (!d && !r->rollout ? is[d] >= (hsize_t)dims[d] : is[d] == (hsize_t)dims[d]);
    for (int d = rank; d < all && fits; d++) others *= (int64_t)is[d];
    fits =
        fits && others == width && ((r->rollout && strcmp(name, "time") != 0) || !is_hollow(set));  // worlds may be missing yet
    H5Dclose(set);
    return fits ? CTN_OK
                : fail(err, CTN_IO, "%s: the shape of `%s` does not fit what else is in the file; it is damaged: " HDF5_REMEDY,
                       r->path, name);
}

/// Whether there is a dataset of this name, sound or not.
static bool has_set(recorded *r, const char *name)
{
    hid_t set;
    const finding there = open_dataset(r->file, name, &set);
    if (there == SOUND) H5Dclose(set);
    return there != NOT_THERE;
}

/// q, v, energies, poses, sensors, contacts (which older recordings have not): [dims[0]][dims[1]], and then as many as the scene says.
static ctn_status check_states(recorded *r, unsigned keep, const int64_t *dims, ctn_error *err)
{
    static const char *const energies[] = {"energy/kinetic", "energy/potential", "energy/spring", "energy/energy"};
    ctn_status status = CTN_OK;
    if (keep & KEEP_Q) status = check_set(r, "q", 2, dims, r->scene->nq, err);
    if (status == CTN_OK && keep & KEEP_V) status = check_set(r, "v", 2, dims, r->scene->nv, err);
    for (int k = 0; k < 4 && status == CTN_OK && keep & KEEP_ENERGY; k++) status = check_set(r, energies[k], 2, dims, 1, err);
    if (status == CTN_OK && keep & KEEP_POSE)
        status = check_set(r, "pose", 2, dims, (int64_t)r->scene->nlink * POSE_NUMBERS, err);
    const int sensors = scene_sensor_numbers(r->scene);
    if (status == CTN_OK && keep & KEEP_SENSORS && sensors) status = check_set(r, "sensors", 2, dims, sensors, err);
    const int64_t contacts = CTN_CONTACT_NUMBERS * ((int64_t)count_contacts(r->scene) + count_met_links(r->scene));
    if (status == CTN_OK && keep & KEEP_CONTACTS && contacts && (r->rollout || has_set(r, "contacts")))
        status = check_set(r, "contacts", 2, dims, contacts, err);
    return status;
}

static ctn_status check_run(recorded *r, ctn_error *err)
{
    ctn_status status = check_set(r, "time", 1, (int64_t[]){ANY}, 1, err);
    if (status != CTN_OK) return status;
    const int64_t dims[] = {find_set(r, "time")->count, r->cfg.worlds};
    status = check_states(r, KEEP_ALL, dims, err);
    for (int k = 0; k < RECORD_MEMBERS && status == CTN_OK; k++)
        if (k < FIRST_MEMBERS || has_set(r, record_members[k].name))
            status = check_set(r, record_members[k].name, 2, dims, 1, err);
    return status == CTN_OK && r->hashes ? check_set(r, "hash", 2, (int64_t[]){ANY, r->cfg.worlds}, 1, err) : status;
}

static ctn_status check_rollout(recorded *r, ctn_error *err)
{
    const int64_t worlds = r->cfg.worlds, times = r->steps / r->stride + (r->steps % r->stride > 0) + 1, dims[] = {worlds, times},
                  steps[] = {worlds, r->steps + 1};
    const ctn_step_stats none = {0};
    ctn_status status = check_set(r, "time", 1, &times, 1, err);
    if (status == CTN_OK) status = check_states(r, r->keep, dims, err);
    for (int k = 0; k < TRAJECTORIES_TOTALS && status == CTN_OK; k++) {
        const char *name;
        trajectories_total(&none, k, &name);
        status = check_set(r, name, 1, dims, 1, err);
    }
    return status == CTN_OK && r->hashes ? check_set(r, "hash", 2, steps, 1, err) : status;
}

// ---- the file

static ctn_status read_all(recorded *r, ctn_error *err)
{
    char *format, *version;
    if (attribute_text(r->file, "format", &format) == DAMAGED) return hdf5_damaged(&r->errors, r->path, "format", err);
    attribute_text(r->file, "format_version", &version);
    r->rollout = format && !strcmp(format, ROLLOUT_FORMAT);
    const bool ours = version && !strcmp(version, "1") && (r->rollout || (format && !strcmp(format, RECORDING_FORMAT)));
    free(format), free(version);
    if (!ours) return fail(err, CTN_BAD_ARGUMENT, "%s: is no recording of catena run or catena rollout", r->path);
    ctn_status status = name_of(r, "catena_version", true, &r->version, err);
    if (status == CTN_OK) status = name_of(r, "started", true, &r->started, err);
    if (status == CTN_OK) status = name_of(r, "engine", false, &r->engine, err);
    char *scene = NULL;
    if (status == CTN_OK) status = name_of(r, "scene", true, &scene, err);
    free(scene);  // it is in the text, too
    if (status == CTN_OK) status = read_config(r, err);
    if (status == CTN_OK) status = read_extent(r, err);
    if (status == CTN_OK) status = read_scene(r, err);
    if (status == CTN_OK) status = read_defaults(r, err);
    if (status != CTN_OK) return status;
    return r->rollout ? check_rollout(r, err) : check_run(r, err);
}

ctn_status recorded_open(recorded *r, const char *path, ctn_error *err)
{
    *r = (recorded){.path = strdup(path), .file = -1, .first = -1};
    if (!r->path) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", path);
    hdf5_quiet(&r->errors);
    r->file = open_to_read(path, &r->errors);
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
    hdf5_quiet(&r->errors);
    const ctn_status status = compare_head(r->file, head, apart, before, err);
    hdf5_loud(&r->errors);
    return status;
}

char *recorded_note(recorded *r, const char *name)
{
    char *text;
    hdf5_quiet(&r->errors);
    attribute_text(r->file, name, &text);
    hdf5_loud(&r->errors);
    return text;
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
    const hid_t file = open_to_read(path, &r->errors);
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
    hid_t set;
    hdf5_quiet(&r->errors);
    if (open_dataset(r->file, "status", &set) == DAMAGED) status = hdf5_damaged(&r->errors, r->path, "status", err);
    const hid_t list = set >= 0 ? H5Dget_create_plist(set) : -1;
    if (list >= 0 && H5Pget_layout(list) == H5D_VIRTUAL) H5Pget_virtual_count(list, &count);
    for (size_t k = 0; k < count && status == CTN_OK; k++) status = check_part(r, list, k, err);
    if (list >= 0) H5Pclose(list);
    if (set >= 0) H5Dclose(set);
    hdf5_loud(&r->errors);
    return status;
}

int64_t recorded_count(recorded *r, const char *name)
{
    hdf5_quiet(&r->errors);
    const int64_t count = find_set(r, name)->count;
    hdf5_loud(&r->errors);
    return count;
}

/// After a failed reading of numbers.
static ctn_status not_read(const recorded *r, const recorded_set *s, ctn_error *err)
{
    if (s->id < 0 && !s->damaged) return fail(err, CTN_BAD_ARGUMENT, "%s: `%s` is not there", r->path, s->name);
    return hdf5_damaged(&r->errors, r->path, s->name, err);
}

ctn_status recorded_part(recorded *r, const char *name, hid_t type, int rank, const int64_t *start, const int64_t *count,
                         size_t width, void *data, ctn_error *err)
{
    hdf5_quiet(&r->errors);
    const recorded_set *const s = find_set(r, name);
    const bool ok = s->id >= 0 && get_block(s->id, type, rank, start, count, width, data);
    hdf5_loud(&r->errors);
    return ok ? CTN_OK : not_read(r, s, err);
}

ctn_status recorded_rows(recorded *r, const char *name, hid_t type, int64_t first, int64_t count, size_t width, void *data,
                         ctn_error *err)
{
    return recorded_part(r, name, type, 1, &first, &count, width, data, err);
}

ctn_status recorded_block(recorded *r, const char *name, int rank, const int64_t *start, const int64_t *count, size_t width,
                          double *data, ctn_error *err)
{
    return recorded_part(r, name, H5T_NATIVE_DOUBLE, rank, start, count, width, data, err);
}

ctn_status recorded_times(recorded *r, int64_t count, double *time, ctn_error *err)
{
    const ctn_status status = recorded_rows(r, "time", H5T_NATIVE_DOUBLE, 0, count, 1, time, err);
    bool sound = true;
    for (int64_t k = 0; k < count && status == CTN_OK; k++) sound = sound && isfinite(time[k]) && (!k || time[k] >= time[k - 1]);
    if (status != CTN_OK || sound) return status;
    return fail(err, CTN_IO, "%s: the numbers in `time` do not rise; the file is damaged: " HDF5_REMEDY, r->path);
}

ctn_status recorded_ends(recorded *r, int64_t records, int64_t first, int64_t worlds, double *until, ctn_freeze *why,
                         ctn_error *err)
{
    enum { MOST_REASONS = 15 };  // for freezing; other versions may have more
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
        if (!(what >= -1 && what <= MOST_REASONS && what == floor(what)) || !isfinite(when[first + w]))
            status = fail(err, CTN_IO, "%s: how world %lld ended is not known; the file is damaged: " HDF5_REMEDY, r->path,
                          (long long)(first + w));
        until[w] = what > 0 ? when[first + w] : what < 0 ? -INFINITY : INFINITY;
        if (why && status == CTN_OK) why[w] = what > 0 ? (ctn_freeze)what : CTN_RUNNING;
    }
    free(reason);
    return status;
}
