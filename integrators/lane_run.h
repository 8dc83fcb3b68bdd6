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
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/collocation.h"
#include "integrators/position_step.h"
#include "integrators/stage_step.h"
#include "integrators/position_flow.h"
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
    energy_parts before;   // of its start, methods with a law of energy
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

FN energy_parts sel_energy(mask where, energy_parts a, energy_parts b)
{
    a.kinetic = sel(where, a.kinetic, b.kinetic), a.potential = sel(where, a.potential, b.potential);
    a.spring = sel(where, a.spring, b.spring);
    return a;
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
    R->before.kinetic = R->before.potential = R->before.spring = rset(0);
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

FN void begin_steps(const lane_model *m, const ctn_batch_config *cfg, const position_state *P, ladder_work *L, lane_run *R,
                    mask where)
{
    set_step_size(&L->one.W, m->dt);
    if (stages_of(cfg) > 1) {
        enter_rung(m, ladder_rung(cfg, 0), P, L);
        predict_stages(m, P, &L->more, false, where, where);
    } else {
        start_step(m, &L->one.W);
        predict_step(m, P, &L->one, where, where);
    }
    if (carries_energy(cfg))
        R->before = sel_energy(where, position_energy(m, P->q, P->rate, P->V, L->one.W.start, L->p), R->before);
    begin_newton(&R->N, where);
}

/// Makes solutions the state, in those of the lanes `stopped` that have one, as position_step() does. Returns where they may be taken.
FN mask take_solutions(const lane_model *m, const ctn_batch_config *cfg, position_state *P, ladder_work *L, lane_run *R,
                       mask stopped)
{
    const mask solved = both(stopped, R->N.converged);
    const bool staged = stages_of(cfg) > 1, law = carries_energy(cfg);
    position_counts *k = &R->step;
    energy_flow flow = no_flow();
    mask far, ok;
    if (law || k->flow) flow = staged ? stages_flow(m, &L->more) : step_flow(m, &L->one);
    if (staged) {
        real gain;
        ok = both(solved, accept_stages(m, &L->more, P, L->one.W.now, L->p, cfg->tolerance, R->before, flow, &gain, &far));
        commit_stages(m, P, &L->more, L->one.W.start, ok);
        if (law) note_created(P, gain, flow, ok);
    } else {
        ok = both(solved, config_valid(m, L->one.x, L->one.u, &far));
        commit_step(m, P, &L->one, ok, !any_of(both(R->busy, not_(ok))), ok);
    }
    const real residual = staged ? L->more.residual : L->one.residual;
    k->far = sel(both(staged ? solved : stopped, far), rset(1), k->far);
    if (k->flow) add_flow(k->flow, flow, ok);
    k->residual = sel(both(ok, gt(residual, k->residual)), residual, k->residual);
    k->substeps = k->substeps + sel(ok, rset(1), rset(0));
    return ok;
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
    if (any_of(fresh)) begin_steps(m, cfg, &P, L, R, fresh);
    const mask solving = R->N.running;
    if (stages_of(cfg) > 1) stage_pass(m, cfg->tolerance, cfg->max_iterations, &R->N, &L->more, &R->step);
    else newton_pass(m, cfg->tolerance, cfg->max_iterations, &R->N, &L->one, &R->step);
    const mask stopped = R->stopped = either(R->stopped, both(solving, not_(R->N.running)));
    if (!any_of(stopped)) return stopped;
    const int patience = stages_of(cfg) > 1 ? 1 : 2;
    R->waited += count_of(stopped);
    if (any_of(R->N.running) && R->waited <= patience * count_of(R->busy)) return none_of();
    R->waited = 0, R->stopped = none_of();
    R->step.iterations = R->step.iterations + sel(stopped, R->N.iterations, rset(0));
    const mask done = take_solutions(m, cfg, &P, L, R, stopped);
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
    freeze_lanes(m, S, &R->counts, &R->step, rset(0), at, both(where, not_(done)));
    end_steps(m, cfg, S, W, energy, R, where, done);
}

#endif
