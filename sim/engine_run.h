/// Worlds from a queue through the lanes of an engine, each at its own pace (integrators/lane_run.h). Included by engine_kernels.h.
#ifndef CATENA_ENGINE_RUN_H
#define CATENA_ENGINE_RUN_H

FN void set_lane(real *x, int l, double value) { ((double *)x)[l] = value; }
FN double lane_of(const real *x, int l) { return ((const double *)x)[l]; }

FN mask lanes_where(const bool *where)
{
    double lane[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) lane[l] = where[l];
    return gt(lane_load(lane), rset(0));
}

/// A world's constants from one lane to another.
static void copy_model_lane(const lane_model *from, int f, lane_model *to, int t)
{
    set_lane(&to->dt, t, lane_of(&from->dt, f)), set_lane(&to->mass, t, lane_of(&from->mass, f));
    for (int k = 0; k < 3; k++) {
        set_lane(&to->gravity[k], t, lane_of(&from->gravity[k], f));
        set_lane(&to->fixed_moment[k], t, lane_of(&from->fixed_moment[k], f));
    }
    for (int i = 0; i < from->nbody; i++)
        for (int k = 0; k < BODY_NUMBERS; k++) set_lane(&to->bodies[i].mass + k, t, lane_of(&from->bodies[i].mass + k, f));
}

static void copy_state_lane(const state_parts *from, int f, const state_parts *to, int t)
{
    for (int p = 0; p < STATE_PARTS; p++)
        for (size_t k = 0; k < from->size[p]; k++) set_lane(&to->part[p][k], t, lane_of(&from->part[p][k], f));
}

/// The lanes of one thread.
typedef struct {
    const ctn_batch_config *cfg;
    lane_model *own;  // NULL: all worlds share one
    block_state S;
    block_work W;
    lane_run R;
    engine_world world[LANES];
    bool held[LANES];   // a world is in the lane
    bool rests[LANES];  // it has no steps to make
    bool forced;
} engine_lanes;

static void load_world(engine_lanes *E, const lane_model *m, int l)
{
    engine_world *const w = &E->world[l];
    const block_state home = open_state(m, E->cfg, w->home);
    const state_parts from = parts_of(m, E->cfg, &home), to = parts_of(m, E->cfg, &E->S);
    copy_state_lane(&from, w->lane, &to, l);
    if (E->own) copy_model_lane(w->model, w->lane, E->own, l);
    E->rests[l] = !w->steps;
    set_lane(&E->R.counts.frozen, l, E->rests[l] ? CTN_FREEZE_NOT_FINITE : w->stats.frozen);
    for (int k = 0; k < m->nv && w->tau; k++) set_lane(&E->W.tau[k], l, w->tau[k]);
    E->held[l] = true;
}

static void store_world(engine_lanes *E, const lane_model *m, int l)
{
    engine_world *const w = &E->world[l];
    const block_state home = open_state(m, E->cfg, w->home);
    const state_parts from = parts_of(m, E->cfg, &E->S), to = parts_of(m, E->cfg, &home);
    copy_state_lane(&from, l, &to, w->lane);
    if (E->rests[l]) set_lane(&E->R.counts.frozen, l, w->stats.frozen);
    lane_stats(&E->R.counts, l, &w->stats);
    E->held[l] = false;
}

static bool run_iterates(const ctn_batch_config *cfg) { return runs_by_iteration(cfg); }

static void run_worlds(const lane_model *m, lane_model *own, const ctn_batch_config *cfg, void *state, void *work,
                       engine_queue *queue, engine_use *use)
{
    engine_lanes E;
    bool more = true, begun = false;
    memset(&E, 0, sizeof E);
    E.cfg = cfg, E.own = own, E.S = open_state(m, cfg, state), E.W = open_work(m, cfg, work);
    if (own) copy_structure(m, own);
    open_lanes(&E.R);
    for (;;) {
        bool came[LANES] = {false}, any = false;
        for (int l = 0; l < LANES && more; l++) {
            if (E.held[l]) continue;
            if (!(more = queue->take(queue, &E.world[l]))) break;
            if (!begun)  // lanes without a world have the first one's numbers to work with
                for (int k = 1; k < LANES; k++) E.world[k] = E.world[0], load_world(&E, m, k), E.held[k] = false;
            begun = came[l] = any = true;
            load_world(&E, m, l);
            E.forced = E.world[l].tau != NULL;
        }
        const lane_model *const models = own ? own : m;
        if (any)
            enter_lanes(models, cfg, &E.S, &E.W, E.forced ? E.W.tau : NULL, queue->energy, lanes_where(came), &E.R);
        bool ended[LANES], idle = true;
        for (int l = 0; l < LANES; l++) ended[l] = came[l] && lane_of(&E.R.counts.frozen, l) > 0, idle = idle && !E.held[l];
        if (idle) break;
        const mask busy = E.R.busy;
        if (any_of(busy)) {
            const mask stepped = tick_lanes(models, cfg, &E.S, &E.W, queue->energy, &E.R);
            double lane[LANES] __attribute__((aligned(64)));
            lane_store(lane, sel(stepped, rset(1), rset(0)));
            for (int l = 0; l < LANES; l++) {
                engine_world *const w = &E.world[l];
                if (lane[l] == 0) continue;
                w->steps--;
                if (lane_of(&E.R.counts.frozen, l) > 0 || !w->steps) ended[l] = true;
                else if (w->stride) {
                    w->tau += w->stride;
                    for (int k = 0; k < m->nv; k++) set_lane(&E.W.tau[k], l, w->tau[k]);
                }
            }
        }
        bool leaves = false;
        for (int l = 0; l < LANES; l++) {
            if (!ended[l]) continue;
            store_world(&E, m, l);
            use->used += (double)E.world[l].stats.evaluations;
            queue->put(queue, &E.world[l]);
            leaves = true;
        }
        if (leaves) E.R.busy = both(E.R.busy, not_(lanes_where(ended)));
    }
    use->passes += (double)E.R.step.passes * LANES;
}

#endif
