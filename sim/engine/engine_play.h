/// Many steps of one lane block with a caller in between, who sees states and tells motors: what the block needs is laid out once.
/// Included by engine_kernels.h.
#ifndef CATENA_ENGINE_PLAY_H
#define CATENA_ENGINE_PLAY_H

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
        if (m->ncontrol) tell_targets(m, u);
        W.clock.since = rset(0), W.clock.made = rset((double)r * p->hold);
        block_step(m, cfg, &S, &W, rset(p->hold), p->hold, false, &c);
        use->passes += ((const double *)&c.passes)[0] * LANES;
        show_state(m, cfg, &S, &W, x);
    }
}

#endif
