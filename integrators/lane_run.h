/// Iteration-level scheduling: each lane is in an iteration of its own of a step of its own. A tick makes one Newton iteration in all lanes;
/// a lane that has found its solution commits it and begins the next step while its neighbours still iterate. What happens to a lane is,
/// to the last bit, what position_step() does.
///
/// Beginning and committing steps costs about as much as an iteration of one stage, for whole blocks: lanes that have stopped wait for others
/// until the waiting has cost as much as one iteration, or two of one stage. A step whose first guess fails is parked: its world leaves the lane, and goes down the ladder
/// (down_ladder) together with others.
#ifndef CATENA_LANE_RUN_H
#define CATENA_LANE_RUN_H

#include "dynamics/lane_model.h"
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
    position_counts step;  // of the step in hand
    energy_flow flow;      // likewise
    int waited;            // passes that stopped lanes have waited, together
} lane_run;

/// The methods whose lanes need not be in step.
FN bool runs_by_iteration(const ctn_batch_config *cfg)
{
    const bool one = cfg->method == CTN_COLLOCATION && cfg->order == 2;
    return (one || cfg->method == CTN_RADAU) && cfg->solver == CTN_NEWTON && !cfg->adaptive && !cfg->dense;
}

FN int count_of(mask where)
{
    double lane[LANES] __attribute__((aligned(64)));
    int count = 0;
    lane_store(lane, sel(where, rset(1), rset(0)));
    for (int l = 0; l < LANES; l++) count += lane[l] > 0;
    return count;
}

FN void clear_step(lane_run *R, mask where)
{
    clear_counts(&R->step, where);
    R->flow.work = sel(where, rset(0), R->flow.work), R->flow.dissipated = sel(where, rset(0), R->flow.dissipated);
}

/// No lane has a world.
KERNEL void open_lanes(lane_run *R)
{
    R->counts.frozen = R->counts.passes = rset(0);
    R->busy = R->stopped = R->parked = none_of();
    R->waited = 0;
    R->N = no_newton();
    R->step = no_counts();
    R->flow = no_flow();
}

/// Worlds have come into the lanes `where`, with their states in S and counts.frozen.
KERNEL void enter_lanes(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, const real *tau,
                        bool energy, mask where, lane_run *R)
{
    enter_block(m, cfg, S, W, tau);
    begin_counts(m, cfg, S, W, energy, where, &R->counts);
    clear_step(R, where);
    R->step.flow = energy ? &R->flow : NULL, R->step.interrupt = cfg->interrupt;
    R->busy = either(both(R->busy, not_(where)), both(where, le(R->counts.frozen, rset(0))));
}

/// The steps of the lanes `ended` are over; `done` of them were completed.
FN void end_steps(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, bool energy, lane_run *R,
                  mask ended, mask done)
{
    if (!any_of(ended)) return;
    count_step(&R->counts, &R->step, ended, done);
    add_flow(&R->counts.flow, R->flow, ended);
    clear_step(R, ended);
    if (energy) note_energy(&R->counts, block_energy(m, cfg, S, W), ended);
    R->busy = both(R->busy, not_(both(ended, not_(done))));
}

/// Advances all busy lanes by an iteration. Returns those that have come to the end of a step.
KERNEL mask tick_lanes(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, bool energy, lane_run *R)
{
    ladder_work *L = &W->po;
    position_state P = as_position(S);
    const mask fresh = both(R->busy, not_(either(R->N.running, R->stopped)));
    if (any_of(fresh)) {
        begin_part(m, cfg, m->dt, &P, L, fresh);
        enter_rung(m, ladder_rung(cfg, 0), &P, L);
        guess_part(m, &P, L, false, fresh, fresh);
        begin_newton(&R->N, fresh);
    }
    const mask solving = R->N.running;
    pass_part(m, cfg, &R->N, L, &R->step);
    const mask stopped = R->stopped = either(R->stopped, both(solving, not_(R->N.running)));
    if (!any_of(stopped)) return stopped;
    const int patience = stages_of(cfg) > 1 ? 1 : 2;
    R->waited += count_of(stopped);
    if (any_of(R->N.running) && R->waited <= patience * count_of(R->busy)) return none_of();
    R->waited = 0, R->stopped = none_of();
    R->step.iterations = R->step.iterations + sel(stopped, R->N.iterations, rset(0));
    mask far;
    const mask done = accept_part(m, cfg, &P, L, stopped, both(stopped, R->N.converged), &far, &R->step);
    commit_part(m, cfg, &P, L, NULL, R->busy, done, done, &R->step);
    R->parked = both(stopped, not_(done));
    R->busy = both(R->busy, not_(R->parked));
    end_steps(m, cfg, S, W, energy, R, done, done);
    return done;
}

/// The steps in which the lanes `where` were parked, by the ladder: completed, or their worlds are frozen. No other lane has a world.
KERNEL void down_ladder(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, const real *tau,
                        bool energy, mask where, lane_run *R)
{
    position_state P = as_position(S);
    real at;
    enter_block(m, cfg, S, W, tau);
    R->step.flow = energy ? &R->flow : NULL, R->step.interrupt = cfg->interrupt;
    const mask done = position_step(m, cfg, &P, NULL, true, where, &W->po, &R->step, &at);
    freeze_lanes(m, S, &R->counts, &R->step, at, both(where, not_(done)));
    end_steps(m, cfg, S, W, energy, R, where, done);
}

#endif
