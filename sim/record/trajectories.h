/// Trajectories of many worlds in one HDF5 file, world by world: arrays [world][time][...], compressed, written some worlds at a
/// time so that memory does not grow with their number. docs/rollouts.md describes the file.
#ifndef CATENA_SIM_TRAJECTORIES_H
#define CATENA_SIM_TRAJECTORIES_H

#include "sim/record/quantities.h"

#include <stdint.h>

typedef struct trajectories trajectories;

/// What a file is about; texts are copied into it.
typedef struct trajectories_head {
    const ctn_scene *scene;
    ctn_batch *batch;               // one that makes the worlds: its model and configuration
    const char *command;            // NULL: none
    const char *starts, *controls;  // files of their initial states and of the forces on them, NULL: none
    uint64_t seed;
    int64_t worlds, steps, stride;
    int64_t first, end;      // the worlds that go into this file: first .. end - 1; it has room for all
    int rank, ranks;         // of the processes that share the worlds, the one that writes it; ranks <= 1: one makes all
    unsigned keep;           // quantities of each state
    const quantities *kept;  // the same, with their shapes
    bool hashes;             // of every step
    int times;               // states of each world: one every `stride` steps, and the last one
    int block;               // worlds at a time, mostly
} trajectories_head;

/// The step after which state k of a world was taken.
int64_t trajectories_step(const trajectories_head *head, int k);

/// What a file has of each world besides its states, as a number (whole ones exactly, up to 2^53): from 0 to TRAJECTORIES_TOTALS
/// - 1, the last of which is `status`. `name` receives the dataset's.
enum { TRAJECTORIES_TOTALS = 7 };
double trajectories_total(const ctn_step_stats *stats, int k, const char **name);

/// Makes the file anew, as "PATH.new" until it is sound. NULL on error: CTN_IO with its name, CTN_NO_MEMORY.
trajectories *trajectories_create(const char *path, const trajectories_head *head, ctn_error *err);

/// The worlds that a file has: head->first and those after it, of these frozen, and with fallbacks.
typedef struct trajectories_done {
    int64_t count, frozen, fallen;
} trajectories_done;

/// Opens a file that trajectories_create made, to go on after `done`, whatever has become of its writer. NULL on error:
/// CTN_BAD_ARGUMENT if it was made with another head, by what differs, or by trajectories_join; CTN_IO, CTN_NO_MEMORY.
trajectories *trajectories_resume(const char *path, const trajectories_head *head, trajectories_done *done, ctn_error *err);

/// Writes `count` worlds from `first` on: states [quantities][count][times][width], hash [count][steps + 1] (NULL: not asked
/// for), stats [count] of their whole runs. When it returns they are with the operating system, and only then `status` says so.
ctn_status trajectories_put(trajectories *t, int64_t first, int count, double *const *states, const uint64_t *hash,
                            const ctn_step_stats *stats, ctn_error *err);

/// Frees it, also on error. NULL is allowed.
ctn_status trajectories_close(trajectories *t, ctn_error *err);

// A rollout of several processes: rank r of `ranks` makes worlds trajectories_first(worlds, r, ranks) up to those of rank r + 1.

int64_t trajectories_first(int64_t worlds, int rank, int ranks);

/// The file of one rank, "chains.2.h5" for "chains.h5"; to be freed. NULL: no memory.
char *trajectories_path(const char *path, int rank);

/// Makes the file that shows the worlds of all ranks of `head` as one, by virtual datasets over their files in the same folder,
/// which need not be there yet. A file of this name is replaced, whole. CTN_IO, CTN_NO_MEMORY.
ctn_status trajectories_join(const char *path, const trajectories_head *head, ctn_error *err);

/// CTN_BAD_ARGUMENT if the file at `path` has worlds of its own, which trajectories_join would take away; CTN_IO if it is no
/// HDF5.
ctn_status trajectories_check_joined(const char *path, ctn_error *err);

#endif
