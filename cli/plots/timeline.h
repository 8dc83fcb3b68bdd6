/// A recording of catena run or catena rollout in HDF5 as worlds that go through the same times, whichever way its arrays lie.
#ifndef CATENA_CLI_TIMELINE_H
#define CATENA_CLI_TIMELINE_H

#include "cli/base/arguments.h"
#include "sim/record/recorded.h"

#include <catena/catena.h>

typedef struct timeline {
    recorded from;
    ctn_model *model;
    ctn_dynamics *dyn;
    int64_t records;
    double *time;       // [records], s
    int first, worlds;  // of those in the file: first .. first + worlds - 1
    double *until;  // [worlds]: last good state of a world that froze, s; infinite: it did not; negative infinite: it was not run
    int frozen, missing;  // worlds that froze, that were not run yet
} timeline;

/// Opens a recording, also one that is still being written: all its worlds, or the one of --world. Returns an exit status with
/// errors printed; timeline_close is due in any case.
int timeline_open(const arguments *args, const char *path, timeline *t);
void timeline_close(timeline *t);

/// What made it, and of what it has less than all, "rk4, dt 0.01 s, 64 worlds, 3 froze", into text.
void timeline_describe(const timeline *t, char *text, size_t size);

/// The first number of a world at a record of a block of `records` of them, as timeline_block reads it, in numbers of a world at
/// a record.
static inline size_t timeline_at(const timeline *t, int64_t records, int64_t record, int world)
{
    return t->from.rollout ? (size_t)world * (size_t)records + (size_t)record
                           : (size_t)record * (size_t)t->worlds + (size_t)world;
}

/// Numbers of all worlds at records first .. first + count - 1 of a dataset over time, which timeline_has. Of its other
/// dimensions entries entry[0 .. rank - 1], all of those after them, `width` numbers. CTN_IO.
ctn_status timeline_block(timeline *t, const char *name, int64_t first, int64_t count, int rank, const int *entry, size_t width,
                          double *x, ctn_error *err);

/// Whether there is a dataset of numbers over time.
bool timeline_has(timeline *t, const char *name);

#endif
