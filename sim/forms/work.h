/// Work space of the forms, and how their phases are shared among threads.
///
/// A phase is a list of jobs that do not depend on each other. What a job does depends on the tree alone, never on how many
/// threads there are: blocks are cut by number, so that sums associate in one way and results have the same bits with any number
/// of threads.
#ifndef CATENA_SIM_FORMS_WORK_H
#define CATENA_SIM_FORMS_WORK_H

#include "sim/forms/pieces.h"

#include <stdatomic.h>
#include <stddef.h>

enum work_slot {  // arrays that calls share: each is what the call at work makes of it
    SLOT_LOCAL,   // poses in the parent
    SLOT_POSE,    // in the world
    SLOT_A,
    SLOT_B,
    SLOT_C,
    SLOT_FORCE,
    SLOT_SPACE,
    SLOT_PARTS,      // of blocks
    SLOT_TOUR,       // all steps, or links
    SLOT_COMPOSITE,  // what pairs are made of, until other composites are
    SLOT_AXES,
    SLOT_STARTS,
    SLOT_DENSE,  // jsiia
    SLOT_COLUMNS,
    SLOT_BIAS,
    SLOT_FACTORS,  // of links, paths and pieces (paths.h)
    SLOT_HANDED,
    SLOT_ELEMENTS,
    SLOT_ENDS,
    SLOT_RATES,
    SLOTS
};

/// One state's work, of all threads together or of one thread alone.
typedef struct work {
    const ctn_tree *tree;
    pool *threads;  // NULL: the thread that calls does all
    const pieces *cut, *whole;
    ctn_origin origin;
    void *slot[SLOTS];
    size_t bytes[SLOTS];
    bool failed;  // there was no memory
    bool has_composites;
    atomic_int bad;  // the first link, as it was given, without inertia against its joint; INT_MAX: none
} work;

/// Room for `count` elements of `size` bytes, which are not set. NULL: no memory; the work then says so.
void *work_room(work *w, enum work_slot slot, size_t count, size_t size);

typedef void (*phase_job)(void *context, int job);

/// Does all jobs and returns when they are done.
void phase(work *w, int jobs, phase_job job, void *context);

/// Links, or steps of the tour, in a block: the association of sums hangs on it. A block of poses is 50 KB, within a core's
/// cache.
enum { BLOCK = 512 };
static inline int blocks_of(int count) { return (count + BLOCK - 1) / BLOCK; }

/// A loop over links k of a block.
#define FOR_BLOCK(k, block, count)                                                                                               \
    for (int k = (block)*BLOCK, end_##k = (block)*BLOCK + BLOCK < (count) ? (block)*BLOCK + BLOCK : (count); k < end_##k; k++)

struct ctn_forms {
    const ctn_tree *tree;
    pool *threads;
    work all;   // all threads on one state
    work *own;  // [threads] a state a thread
    pieces cut, whole;
    size_t limit;                       // bytes of dense matrices
    const struct forms_device *device;  // that computes them (forms_device.h); NULL: threads do
    struct forms_there *there;
};

/// ctn_forms_create(), paths cut into pieces of `piece` links.
ctn_forms *forms_create(const ctn_tree *tree, int threads, int piece, ctn_error *err);

/// Does one state, number `state`; CTN_NO_MEMORY and others end the call.
typedef ctn_status (*state_job)(work *w, void *context, int state, ctn_error *err);

/// `count` states: a thread each where there are enough, else one after the other with all threads.
ctn_status each_state(ctn_forms *f, int count, state_job job, void *context, ctn_error *err);

/// The parts of calls that others need.
ctn_status forms_rnea(work *w, ctn_scan scan, const double *q, const double *v, const double *a, double *tau, ctn_error *err);
ctn_status scan_check(ctn_scan scan, ctn_error *err);
ctn_status dense_check(const ctn_tree *t, size_t limit,
                       ctn_error *err);  // whether a matrix of all links has at most `limit` bytes

#endif
