/// States at given times, one after the other: of a scene that is stepped, or out of a recording.
#ifndef CATENA_CLI_FRAMES_H
#define CATENA_CLI_FRAMES_H

#include "cli/setup.h"
#include "sim/recorded.h"

typedef struct frames {
    setup s;         // scene and model, of a recording those that it has inside
    double end;      // s, of the recording, or the scene's duration; negative: it has none
    bool recording;  // else of a scene
    long world;      // of the recording
    double *q, *v;   // [nq], [nv]: the state that was asked for
    // between these it lies
    double t0, t1, *q0, *v0, *q1, *v1;
    ctn_batch *batch;       // of a scene
    recorded from;          // of a recording
    int64_t count, next;    // records; the one after t1
    double *times, *rows;   // [count]; of a run: [worlds][nq or nv] of a record
    double *all_q, *all_v;  // of a rollout: [count][nq], [count][nv] of the world
} frames;

/// Opens args->files[0], a recording if its name ends in .h5 or .hdf5, at its first state. Returns an exit status with errors printed;
/// frames_close is due in any case.
int frames_open(const arguments *args, frames *f);
void frames_close(frames *f);

/// The state at t (s), which is not before the last one asked for, into q and v. CTN_FROZEN: there is none, as the world froze before;
/// CTN_BAD_ARGUMENT: the recording ends before; CTN_IO; what ctn_batch_step returns.
ctn_status frames_at(frames *f, double t, ctn_error *err);

#endif
