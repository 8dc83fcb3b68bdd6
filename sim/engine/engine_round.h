/// A round of a lane block that is played (engine_play.h): so many steps under what motors were told, and the state as callers
/// know it. For engines of the CPU and threads of a device.
#ifndef CATENA_ENGINE_ROUND_H
#define CATENA_ENGINE_ROUND_H

/// The state as callers know it, into x: q with all turns, and v.
FN void show_state(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, real *x)
{
    const real *const v = block_velocity(m, cfg, S, W);
    for (int k = 0; k < m->nq; k++) x[k] = S->q[k];
    for (int k = 0; k < m->nv; k++) x[m->nq + k] = v[k];
    for (int i = 0; i < m->nbody && S->turns; i++) {
        const lane_body *const b = &m->bodies[i];
        if (turns_freely(b)) x[b->qadr] = x[b->qadr] + rset(TWO_PI) * S->turns[b->vadr];
    }
}

/// Round r, of `hold` steps, from the state in S; the model is the block's own, with its clock. c: as block_step.
FN void play_round(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, int r, int hold,
                   const real *u, block_counts *c)
{
    if (m->ncontrol) tell_targets(m, u);
    W->clock.since = rset(0), W->clock.made = rset((double)r * hold);
    block_step(m, cfg, S, W, rset(hold), hold, false, c);
}

#endif
