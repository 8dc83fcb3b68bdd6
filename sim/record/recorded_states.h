/// States of some worlds of a recording, record by record, whichever way round its arrays are.
#ifndef CATENA_SIM_RECORDED_STATES_H
#define CATENA_SIM_RECORDED_STATES_H

#include "sim/record/recorded.h"

enum { RECORDED_STATES_MOST = 1 << 27 };  // numbers, 1 GiB

typedef struct recorded_states {
    recorded *from;
    size_t nq, nv, first, worlds;
    int64_t count;  // records, at least 1
    double *times;  // [count], s
    double *until;  // [worlds], s, and why they froze then: recorded_ends
    ctn_freeze *why;
    double *row;                        // of a run: q or v of all worlds in a record
    double *all_q, *all_v;              // of a rollout, whose chunks have all times of a few worlds: [worlds][held][...],
    int64_t from_record, held, window;  // from that record on so many, at most as many as the last one
    const ctn_model *model;
    bool no_rates;  // the file has q alone: velocities are what differences of q say
} recorded_states;

/// Worlds first .. first + worlds - 1 of `from`, which must outlive it, as must not `model`. Of a rollout no more than `most`
/// numbers are kept in memory, but at least three records. CTN_IO; CTN_NO_MEMORY; CTN_BAD_ARGUMENT if there is no record or no q.
/// recorded_states_close is due in any case.
ctn_status recorded_states_open(recorded_states *s, recorded *from, const ctn_model *model, int64_t first, int worlds,
                                size_t most, ctn_error *err);
void recorded_states_close(recorded_states *s);

/// Record k (0 .. count - 1): q [worlds][nq], v [worlds][nv]; not finite where a world has no state. Of a file without velocities
/// v is the motion from the record before to the one after, by the time between. CTN_IO.
ctn_status recorded_states_read(recorded_states *s, int64_t k, double *q, double *v, ctn_error *err);

/// What contact points of the worlds felt at record k: contacts [worlds][ncontact][CTN_CONTACT_NUMBERS], which the file must have
/// (recorded_count). CTN_IO.
ctn_status recorded_states_contacts(recorded_states *s, int64_t k, double *contacts, ctn_error *err);

/// Whether all n numbers of a state are finite.
bool recorded_state_stands(const double *x, size_t n);

#endif
