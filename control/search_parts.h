/// A search, for the files that make, save and restore it.
#ifndef CATENA_CONTROL_SEARCH_PARTS_H
#define CATENA_CONTROL_SEARCH_PARTS_H

#include "control/policy.h"
#include "control/reward.h"
#include "control/search.h"
#include "sim/runs/sampled_worlds.h"

/// Worlds that are played together, from beginning to end.
typedef struct {
    ctn_batch *batch;
    sampled_worlds sampled;
    reward *reward;            // NULL: the scene has none
    const search_reward *own;  // NULL: none
    int worlds, hold;          // steps between two times that motors are told
    long steps;
    double *q, *v, *u, *time, *total;
    ctn_step_stats *stats;
    bool *lost;
    double *earned, *sum, *sensed;  // of `own`: in an interval, up to now; what sensors say
    bool *ended, *over;
} play;

struct search {
    ctn_scene *scene;
    ctn_model *model;
    ctn_batch_config cfg;
    ctn_cma *cma;           // NULL: there is a policy
    policy_search *policy;  // NULL: there is CMA-ES
    int judges;             // worlds in which what was found was judged; 0: none were
    int64_t judged;         // windows of the policy that was judged last
    ranks *ranks;
    search_reward own;  // earn NULL: none
    play play;          // of this process' candidates
    int count, each;    // parameters; worlds of a candidate
    double duration;
    double *unit;       // [count], sigma of each: CMA-ES looks in these units
    double *x, *value;  // [population][count], [population]
    double *told;       // [worlds][count]
    int room;           // candidates that there is room for
    double best, mean, worst;
    double *best_x;  // [count], NaN: none
    long lost;
};

#endif
