/// One world along its links on a device: jobs (along_passes.h) are done there, what calls them stays here. Forces and states go
/// there and back once a call; in between a few sums come here for each Newton iteration. (docs/architecture.md)
#ifndef CATENA_ALONG_DEVICE_H
#define CATENA_ALONG_DEVICE_H

#include "sim/along/along.h"

#include <stdint.h>

/// All jobs that a device does, by name.
#define ALONG_TASKS(task)                                                                                                        \
    WORLD_TASKS(task) ABA_TASKS(task) STEP_TASKS(task) STAR_TASKS(task) FOLLOW_TASKS(task) CONTACT_TASKS(task) STAGE_TASKS(task)
#define STAR_TASKS(task) task(star_up) task(star_down) task(star_leaf) task(star_head) task(star_motion) task(star_wrench)
#define WORLD_TASKS(task)                                                                                                        \
    task(open_measure) task(open_layout) task(open_rows) task(open_loads) task(forget) task(tell) task(tell_group) task(choose)
#define ABA_TASKS(task)                                                                                                          \
    task(aba_load) task(aba_relative) task(chain_motions) task(aba_outwards) task(aba_inwards) task(join_segments)               \
        task(aba_boundaries) task(aba_accelerations) task(aba_store)
#define STEP_TASKS(task)                                                                                                         \
    task(step_copy) task(step_forces) task(step_part_of_block) task(step_move) task(step_relative) task(chain_axes)              \
        task(step_place) task(chain_ways) task(step_weigh) task(step_stretch) task(chain_wrenches) task(step_rows)               \
            task(step_sweep) task(join_pulled) task(step_boundaries) task(step_outwards) task(reach_out) task(reach_through)     \
                task(reach_in) task(chain_origins) task(step_energy) task(step_blur)
#define FOLLOW_TASKS(task) task(step_closed) task(step_lead) task(guess_heads) task(step_follow) task(mend_heads)
#define CONTACT_TASKS(task) task(step_correct) task(step_books) task(step_trees) task(step_hold)
#define STAGE_TASKS(task)                                                                                                        \
    task(stage_part_of_block) task(stage_axes) task(chain_stage_axes) task(stage_places) task(chain_stage_ways)                  \
        task(stage_weights) task(stage_sums) task(chain_stage_wrenches) task(stage_rows_along) task(stages_inward)               \
            task(join_stages) task(pass_stages) task(stage_steps) task(guess_stage_heads) task(stages_follow)                    \
                task(mend_stage_heads)
#define NAME_TASK(job) ALONG_TASK_##job,
typedef enum along_task { ALONG_TASKS(NAME_TASK) ALONG_TASK_COUNT } along_task;
#undef NAME_TASK

/// A world on a device. All pointers are into its memory.
typedef struct along_there {
    along_world *world;
    double *told;     // the world's
    double *numbers;  // room for what goes there and back
    void *plan, *memory;
    ctn_model *model;   // the plan's
    point_load *loads;  // its loads
    size_t nv, nload;
    size_t bytes;
    // of many worlds: those in hand, `apart` bytes each, of so many groups of threads; and room for a call
    void *worlds, *room;
    size_t apart;
    int groups, threads;
    bool coupled;  // of the world
} along_there;

/// Worlds of a batch, each of which a group of threads steps along its links (along_group.h): at most so many in a call, with so
/// many rows of forces each; whether their loads differ.
typedef struct {
    int worlds, rows;
    bool loaded;
} along_many;

/// A call of theirs. Arrays are on the CPU for `step`, in the device's memory for the groups.
typedef struct along_worlds {
    int count, rows;
    size_t size;                // numbers of a state
    double *flat;               // [count][size], before and after
    const double *tau;          // [count][rows][nv], rows 1: for all steps, else for each; NULL: none
    const int *steps;           // [count]
    const engine_clock *clock;  // [count]
    bool energy;
    const point_load *loads;  // [count][nload]; NULL: as the model has them
    int *made;                // [count], out: how many steps; the next one is not to be made along the links
    ctn_step_stats *stats;    // [count], out
    int *next;                // of the groups: the first world that none has taken
} along_worlds;

/// A device's functions for worlds along their links; they return false, or NULL, where the device has failed, or has no memory
/// left.
typedef struct along_device {
    uint64_t layout;  // ALONG_LAYOUT of the sources that it was built from
    // many: for `step` besides; NULL: for the others alone
    along_there *(*open)(const along_plan *plan, const ctn_batch_config *cfg, size_t numbers, const along_many *many);
    void (*close)(along_there *there);
    // does jobs 0 .. count - 1, after all that it was given before
    bool (*run)(along_there *there, along_task task, int count, const void *context, size_t size);
    bool (*copy)(along_there *there, void *to, const void *from, size_t size, bool in);  // after these, too; done when it returns
    bool (*step)(along_there *there, const along_worlds *call);                          // done when it returns
    const char *(*error)(void);
} along_device;

#define ALONG_LAYOUT                                                                                                             \
    ((uint64_t)sizeof(along_plan) +                                                                                              \
     1000 * (sizeof(along_row) + 1000 * (sizeof(along_segment) + 1000 * (sizeof(ctn_body) + 1000 * ALONG_TASK_COUNT))))

/// The CPU's side of such a world; cfg NULL: for forward dynamics; many NULL: there is one. NULL on error.
typedef struct along_remote along_remote;
along_remote *along_remote_open(const char *engine, const along_plan *plan, const ctn_batch_config *cfg, const along_many *many,
                                ctn_error *err);
void along_remote_close(along_remote *r);  // NULL is allowed
size_t along_remote_bytes(const along_remote *r);

/// Of along_engine; a failure is told by the next of the calls that follow.
void along_remote_loads(along_remote *r, const ctn_model *from);

/// Of along_engine. CTN_UNAVAILABLE: the device has failed, and the world on it is lost.
ctn_status along_remote_aba(along_remote *r, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err);
ctn_status along_remote_run(along_remote *r, const ctn_batch_config *cfg, engine_clock clock, double *flat, const double *tau,
                            int steps, bool energy, ctn_step_stats *stats, int *made, ctn_error *err);

/// The same for many worlds, each by the threads of a group.
ctn_status along_remote_worlds(along_remote *r, const along_worlds *call, ctn_error *err);

#endif
