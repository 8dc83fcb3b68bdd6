/// States at given times, one after the other: of a scene that is stepped, or out of a recording.
#ifndef CATENA_CLI_FRAMES_H
#define CATENA_CLI_FRAMES_H

#include "cli/base/setup.h"
#include "sim/record/recorded_states.h"
#include "sim/runs/sampled_worlds.h"

typedef struct frames {
    setup s;             // scene and model, of a recording those that it has inside
    double end;          // s, of the recording, or the scene's duration; negative: it has none
    bool recording;      // else of a scene
    int64_t first, all;  // worlds first .. first + worlds - 1 of so many are shown
    int worlds;
    uint64_t seed;       // they are drawn with, if they are
    bool own;            // worlds have parameters of their own
    double *mass_scale;  // [worlds][links] of the masses of the model; NULL: the model's own
    double *q, *v;       // [worlds][nq], [worlds][nv]: the states that were asked for
    bool *frozen;        // [worlds]: stays where it is
    int frozen_count;
    ctn_step_stats *stats;  // [worlds] of the step in hand, of a scene; zero before the first
    // between these they lie
    double t0, t1, *q0, *v0, *q1, *v1;
    ctn_batch *batch;  // of a scene
    sampled_worlds drawn;
    double *time;   // [worlds]
    recorded from;  // of a recording
    recorded_states states;
    int64_t next;  // the record after t1
} frames;

/// Opens args->files[0], a recording if its name ends in .h5 or .hdf5, at its first states: one world, or as many as --worlds
/// says. Returns an exit status with errors printed; frames_close is due in any case.
int frames_open(const arguments *args, frames *f);
void frames_close(frames *f);

/// The states at t (s), which is not before the last one asked for, into q and v. CTN_FROZEN: the only world, or all of them,
/// froze before; CTN_BAD_ARGUMENT: the recording ends before; CTN_IO; what ctn_batch_step returns.
ctn_status frames_at(frames *f, double t, ctn_error *err);

/// Whether it can be said what contact points feel; and that, at the end of the step or at the record that the states asked for
/// last lead to: contacts [worlds][ncontact][CTN_CONTACT_NUMBERS]. Errors as above.
bool frames_touch(frames *f);
ctn_status frames_contacts(frames *f, double *contacts, ctn_error *err);

#endif
