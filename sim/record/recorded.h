/// A recording of `catena run` or `catena rollout` in HDF5, opened to make the same motion again: scene, configuration and all
/// else come out of the file.
#ifndef CATENA_SIM_RECORDED_H
#define CATENA_SIM_RECORDED_H

#include "sim/record/hdf5_errors.h"
#include "sim/record/hdf5_read.h"

/// A dataset, open: entries of its first dimension, numbers of each.
typedef struct recorded_set {
    const char *name;
    hid_t id;      // negative: there is none
    bool damaged;  // it is there, but cannot be opened
    int64_t count;
    size_t width;
} recorded_set;

enum { RECORDED_SETS = 64 };  // at least as many as are asked for

typedef struct recorded {
    char *path;
    hid_t file;
    hdf5_errors errors;
    bool rollout;              // arrays are [world][time]; else [record][world]
    ctn_scene *scene;          // the caller's to free
    ctn_batch_config cfg;      // what changes the motion, and `worlds`, at most INT_MAX
    char *starts, *controls;   // of a rollout: files of initial states and forces, NULL: none
    char *version, *started;   // of the catena that made it; when
    char *engine;              // that made it, NULL: not said
    long seed, steps, stride;  // of a rollout
    long every;                // of a run
    long first;                // of a run that begins with a state of another one: steps made before; else -1
    bool finished;             // a run: its end is in the file
    unsigned keep;             // datasets of states
    bool hashes;
    recorded_set sets[RECORDED_SETS];  // those that were asked for: HDF5 keeps chunks unpacked while they are open
    int nset;
} recorded;

/// Opens a file, and compares the shapes of all its datasets with what it says about itself. On error (`err` is not NULL) CTN_IO
/// (it is damaged, too), CTN_BAD_ARGUMENT (it is something else, or lacks something) with its name, or what its scene is refused
/// for; recorded_close is due in any case.
ctn_status recorded_open(recorded *r, const char *path, ctn_error *err);
void recorded_close(recorded *r);

/// Where a recording began whose `first` is not -1. The arrays are to be freed by recorded_start_free, which is due in any case.
/// CTN_IO, CTN_BAD_ARGUMENT, CTN_NO_MEMORY.
ctn_status recorded_start(recorded *r, record_start *start, ctn_error *err);
void recorded_start_free(record_start *start);

/// CTN_BAD_ARGUMENT unless the file says the same about itself as `head`, that of a run which repeats it.
ctn_status recorded_compare(recorded *r, const record_head *head, ctn_error *err);

/// CTN_IO, with its name, if a file is missing or cannot be opened that worlds of this one are in, which trajectories_join made.
ctn_status recorded_check_parts(recorded *r, ctn_error *err);

/// What the file says about itself under `name`, "dt", as text, to be freed: numbers with as many digits as read back the same.
/// NULL: nothing.
char *recorded_note(recorded *r, const char *name);

/// Until when worlds first .. first + worlds - 1 moved in a file of `records` records: until [worlds], s, the last good state of
/// a world that froze, whose states later repeat it; infinity: it did not; negative infinity: it was not run. why [worlds] may be
/// NULL. CTN_IO, CTN_BAD_ARGUMENT, CTN_NO_MEMORY.
ctn_status recorded_ends(recorded *r, int64_t records, int64_t first, int64_t worlds, double *until, ctn_freeze *why,
                         ctn_error *err);

/// Entries of the first dimension of a dataset, 0 if there is none. `name`, here and below, lasts as long as the file is open.
int64_t recorded_count(recorded *r, const char *name);

/// Numbers of entries first .. first + count - 1, `width` of each, as `type`: H5T_NATIVE_DOUBLE, ... CTN_IO if they cannot be
/// read, or entries have another width; CTN_BAD_ARGUMENT if there is no such dataset.
ctn_status recorded_rows(recorded *r, const char *name, hid_t type, int64_t first, int64_t count, size_t width, void *data,
                         ctn_error *err);

/// Numbers start .. start + count - 1 in each of the first `rank` dimensions of a dataset, and of the others all, `width`, as
/// doubles. Errors as above.
ctn_status recorded_block(recorded *r, const char *name, int rank, const int64_t *start, const int64_t *count, size_t width,
                          double *data, ctn_error *err);

/// The same as `type`.
ctn_status recorded_part(recorded *r, const char *name, hid_t type, int rank, const int64_t *start, const int64_t *count,
                         size_t width, void *data, ctn_error *err);

/// The times of the first `count` records or states, which rise. CTN_IO.
ctn_status recorded_times(recorded *r, int64_t count, double *time, ctn_error *err);

#endif
