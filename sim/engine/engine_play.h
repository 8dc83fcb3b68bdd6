/// Many steps of one lane block with a caller in between, who sees states and tells motors: what the block needs is laid out once.
/// Included by engine_kernels.h.
#ifndef CATENA_ENGINE_PLAY_H
#define CATENA_ENGINE_PLAY_H

#include "sim/engine/engine_round.h"

static void run_play(const lane_model *of, const ctn_batch_config *cfg, void *state, void *work, const engine_play *p, int count,
                     engine_use *use)
{
    block_state S = open_state(of, cfg, state);
    block_work W = open_work(of, cfg, work);
    const lane_model with = with_now(of, &W.clock, W.wound), *const m = &with;
    real *const x = (real *)(void *)p->x, *const u = (real *)(void *)p->u;
    double frozen[LANES] __attribute__((aligned(64)));
    bool good[LANES];
    block_counts c;
    memset(&c, 0, sizeof c);
    for (int l = 0; l < LANES; l++) frozen[l] = l < count ? 0 : CTN_FREEZE_NOT_FINITE;
    c.frozen = lane_load(frozen), c.passes = rset(0);
    for (int l = 0; l < LANES; l++) W.forces.row[l] = NULL;
    lane_gather(x, p->q, m->nq), lane_gather(x + m->nq, p->v, m->nv);
    for (int r = 0;; r++) {
        if (!r || p->anew) block_set(m, cfg, &S, &W, x, x + m->nq);
        lane_store(frozen, c.frozen);
        for (int l = 0; l < LANES; l++) good[l] = !(frozen[l] > 0);
        p->tell(p->context, r, good);
        if (r == p->rounds) break;
        play_round(m, cfg, &S, &W, r, p->hold, u, &c);
        use->passes += ((const double *)&c.passes)[0] * LANES;
        show_state(m, cfg, &S, &W, x);
    }
}

#endif
