/// Iteration-level scheduling: each lane is in an iteration of its own of a step of its own. A tick makes one Newton iteration in
/// all lanes; a lane that has found its solution commits it and begins the next step while its neighbours still iterate. What
/// happens to a lane is, to the last bit, what position_step() does.
///
/// Beginning and committing steps costs about as much as an iteration of one stage, for whole blocks: lanes that have stopped
/// wait for others until the waiting has cost as much as one iteration, or two of one stage. A step that fails is parked: its
/// world leaves the lane, and goes down the ladder (down_ladder) together with others.
#ifndef CATENA_LANE_RUN_H
#define CATENA_LANE_RUN_H

#include "dynamics/lane_model.h"
#include "forces/signals.h"
#include "integrators/energy.h"
#include "integrators/position_step.h"
#include "integrators/newton_control.h"
#include "integrators/step_part.h"
#include "integrators/step_ladder.h"
#include "integrators/block_step.h"

#include <catena/batch.h>

typedef struct {
    block_counts counts;   // of each lane's world, since it came
    mask busy;             // lanes whose world has steps to make
    mask stopped;          // of these: whose solve has come to its end, and waits for others
    mask parked;           // whose step needs the ladder; not busy
    newton_progress N;     // of those that are solving
    step_in_hand step;
    int waited;            // passes that stopped lanes have waited, together
} lane_run;

/// The methods whose lanes need not be in step.
FN bool runs_by_iteration(const ctn_batch_config *cfg)
{
    const bool one = cfg->method == CTN_COLLOCATION && cfg->order == 2;
    return (one || cfg->method == CTN_RADAU || is_alpha(cfg)) && cfg->solver == CTN_NEWTON && !cfg->adaptive && !cfg->dense;
}

FN int count_of(mask where)
{
    double lane[LANES] __attribute__((aligned(64)));
    int count = 0;
    lane_store(lane, sel(where, rset(1), rset(0)));
    for (int l = 0; l < LANES; l++) count += lane[l] > 0;
    return count;
}

/// No lane has a world.
KERNEL void open_lanes(lane_run *R)
{
    R->counts.frozen = R->counts.passes = rset(0);
    R->busy = R->stopped = R->parked = none_of();
    R->waited = 0;
    R->N = no_newton();
    R->step = no_step();
}

/// Worlds have come into the lanes `where`, with their states in S and counts.frozen.
KERNEL void enter_lanes(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, bool energy,
                        mask where, lane_run *R)
{
    R->busy = either(both(R->busy, not_(where)), enter_block(m, cfg, S, W, energy, where, &R->counts));
}

/// Advances all busy lanes by an iteration. Returns those that have come to the end of a step.
KERNEL mask tick_lanes(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, bool energy, lane_run *R)
{
    ladder_work *L = &W->po;
    position_state P = as_position(S);
    const mask fresh = both(R->busy, not_(either(R->N.running, R->stopped)));
    position_counts *const k = &R->step.count;
    if (any_of(fresh)) {
        step_begins(m, cfg, S, W, energy, fresh, R->busy, &R->counts, &R->step);
        clock_part(m, rset(0));
        begin_part(m, cfg, m->dt, &P, L, fresh);
        L->one.W.midway = any_of(either(R->N.running, R->stopped));
        enter_rung(m, ladder_rung(cfg, 0), alpha_rung(cfg, 0), &P, L);
        L->one.W.midway = false;
        guess_part(m, &P, L, fresh, fresh);
        begin_newton(&R->N, fresh);
        const mask left = both(fresh, settles(m, cfg, &P));  // to the ladder
        R->N.running = both(R->N.running, not_(left)), R->stopped = either(R->stopped, left);
    }
    const mask solving = R->N.running;
    clock_now(m, m->dt, 1);
    pass_part(m, cfg, &R->N, L, k);
    const mask stopped = R->stopped = either(R->stopped, both(solving, not_(R->N.running)));
    if (!any_of(stopped)) return stopped;
    const int patience = stages_of(cfg) > 1 ? 1 : 2;
    R->waited += count_of(stopped);
    if (any_of(R->N.running) && R->waited <= patience * count_of(R->busy)) return none_of();
    R->waited = 0, R->stopped = none_of();
    k->iterations = k->iterations + sel(stopped, R->N.iterations, rset(0));
    mask far;
    const mask done = accept_part(m, cfg, &P, L, stopped, both(stopped, R->N.converged), &far, k);
    commit_part(m, cfg, &P, L, NULL, R->busy, done, done, k);
    R->parked = both(stopped, not_(done));
    R->busy = both(R->busy, not_(R->parked));
    if (any_of(done)) step_ends(m, cfg, S, W, energy, done, done, rset(1), &R->step, &R->counts);
    return done;
}

/// The steps in which the lanes `where` were parked, by the ladder: completed, or their worlds are frozen. No other lane has a
/// world.
KERNEL void down_ladder(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, bool energy, mask where,
                        lane_run *R)
{
    position_state P = as_position(S);
    real at;
    find_placements(m, S->q, W->po.one.W.start);
    step_begins(m, cfg, S, W, energy, none_of(), where, &R->counts, &R->step);  // it goes on: counts stay
    const mask done = position_step(m, cfg, &P, NULL, true, where, &W->po, &R->step.count, &at);
    step_ends(m, cfg, S, W, energy, where, done, at, &R->step, &R->counts);
}

#endif
