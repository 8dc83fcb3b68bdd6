/// Worlds from a queue through the lanes of an engine, each at its own pace (integrators/lane_run.h). Included by
/// engine_kernels.h.
#ifndef CATENA_ENGINE_RUN_H
#define CATENA_ENGINE_RUN_H

FN void set_lane(real *x, int l, double value) { ((lane_number *)x)[l] = value; }
FN double lane_of(const real *x, int l) { return ((const lane_number *)x)[l]; }

FN mask lanes_where(const bool *where)
{
    double lane[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) lane[l] = where[l];
    return gt(lane_load(lane), rset(0));
}

/// A world's constants from one lane to another.
static void copy_model_lane(const lane_model *from, int f, lane_model *to, int t)
{
    set_lane(&to->dt, t, lane_of(&from->dt, f));
    for (int k = 0; k < WORLD_NUMBERS; k++) set_lane(&to->mass + k, t, lane_of(&from->mass + k, f));
    for (int i = 0; i < from->nbody; i++)
        for (int k = 0; k < BODY_NUMBERS; k++)
            set_lane(body_number(&to->bodies[i], k), t, lane_of(body_number(&from->bodies[i], k), f));
    for (int i = 0; i < from->nload; i++)
        for (int k = 0; k < LOAD_NUMBERS; k++)
            set_lane(&to->loads[i].stiffness + k, t, lane_of(&from->loads[i].stiffness + k, f));
    for (int i = 0; i < from->nmotor; i++)
        for (int k = 0; k < MOTOR_NUMBERS; k++) set_lane(&to->motors[i].kp + k, t, lane_of(&from->motors[i].kp + k, f));
}

static void copy_state_lane(const state_parts *from, int f, const state_parts *to, int t)
{
    for (int p = 0; p < PARTS_OF_STATE; p++)
        for (size_t k = 0; k < from->size[p]; k++) set_lane(&to->part[p][k], t, lane_of(&from->part[p][k], f));
}

/// What is kept of a world between lanes: all its counts so far, and those of the step in which it was parked.
enum {
    COUNT_NUMBERS = sizeof(block_counts) / sizeof(real),
    STEP_NUMBERS = offsetof(position_counts, flow) / sizeof(real),
    FLOW_NUMBERS = sizeof(energy_flow) / sizeof(real),
};
typedef struct {
    engine_world world;
    double counts[COUNT_NUMBERS], step[STEP_NUMBERS], flow[FLOW_NUMBERS];
} engine_parked;

/// The lanes of one thread.
typedef struct {
    const ctn_batch_config *cfg;
    lane_model shared;  // with the clock of these lanes
    const lane_model *m;
    lane_model *own;  // NULL: all worlds share m
    block_state S;
    block_work W;
    lane_run R;
    engine_world world[LANES];
    bool held[LANES];   // a world is in the lane
    bool rests[LANES];  // it has no steps to make
    engine_parked parked[LANES], back[4 * LANES];  // worlds for the ladder, and those that have come from it
    int nparked, nback;
} engine_lanes;

static const lane_model *models_of(const engine_lanes *E) { return E->own ? E->own : E->m; }

/// Lane l takes the world's state, model and forces from where it lives.
static void load_world(engine_lanes *E, const engine_world *w, int l)
{
    const block_state home = open_state(E->m, E->cfg, w->home);
    const state_parts from = parts_of(E->m, E->cfg, &home), to = parts_of(E->m, E->cfg, &E->S);
    E->world[l] = *w;
    copy_state_lane(&from, w->lane, &to, l);
    set_lane(&E->W.po.part.known, l, 0);
    if (E->own) copy_model_lane(w->model, w->lane, E->own, l);
    set_lane(&E->W.clock.since, l, w->clock.since), set_lane(&E->W.clock.made, l, w->clock.made);
    E->W.forces.row[l] = w->tau, E->W.forces.stride = w->stride, E->W.forces.fresh = true;
}

static void store_state(engine_lanes *E, int l)
{
    const engine_world *const w = &E->world[l];
    const block_state home = open_state(E->m, E->cfg, w->home);
    const state_parts from = parts_of(E->m, E->cfg, &E->S), to = parts_of(E->m, E->cfg, &home);
    copy_state_lane(&from, l, &to, w->lane);
}

static void save_counts(const lane_run *R, int l, engine_parked *p)
{
    for (int k = 0; k < COUNT_NUMBERS; k++) p->counts[k] = lane_of((const real *)&R->counts + k, l);
    for (int k = 0; k < STEP_NUMBERS; k++) p->step[k] = lane_of((const real *)&R->step.count + k, l);
    for (int k = 0; k < FLOW_NUMBERS; k++) p->flow[k] = lane_of((const real *)&R->step.flow + k, l);
}

static void load_counts(lane_run *R, int l, const engine_parked *p)
{
    for (int k = 0; k < COUNT_NUMBERS; k++) set_lane((real *)&R->counts + k, l, p->counts[k]);
    for (int k = 0; k < STEP_NUMBERS; k++) set_lane((real *)&R->step.count + k, l, p->step[k]);
    for (int k = 0; k < FLOW_NUMBERS; k++) set_lane((real *)&R->step.flow + k, l, p->flow[k]);
}

/// The world in lane l, whose steps are made or which is frozen, goes home for good.
static void finish_lane(engine_lanes *E, int l, engine_queue *queue, engine_use *use)
{
    engine_world *const w = &E->world[l];
    store_state(E, l);
    if (E->rests[l]) set_lane(&E->R.counts.frozen, l, w->stats.frozen);
    if (queue->energy) note_contacts(models_of(E), E->cfg, &E->S, &E->W, &E->R.counts);
    lane_stats(&E->R.counts, l, &w->stats);
    use->used += (double)w->stats.evaluations;
    queue->put(queue, w);
    E->held[l] = false;
}

/// A step of the world is over: false if it was the last one, or the world is frozen.
static bool next_step(engine_lanes *E, int l)
{
    E->world[l].steps--;
    return E->world[l].steps && !(lane_of(&E->R.counts.frozen, l) > 0);
}

/// All parked worlds, in lanes of their own: they go down the ladder, and wait for a lane again.
static void ladder_block(engine_lanes *main, engine_lanes *E, engine_queue *queue, engine_use *use)
{
    bool where[LANES] = {false};
    if (!main->nparked) return;
    open_lanes(&E->R);
    for (int l = 0; l < LANES; l++) {
        const engine_parked *const p = &main->parked[l < main->nparked ? l : 0];  // lanes without a world: numbers to work with
        load_world(E, &p->world, l);
        load_counts(&E->R, l, p);
        where[l] = E->held[l] = l < main->nparked;
        E->rests[l] = false;
    }
    down_ladder(models_of(E), E->cfg, &E->S, &E->W, queue->energy, lanes_where(where), &E->R);
    for (int l = 0; l < main->nparked; l++)
        if (next_step(E, l)) {
            engine_parked *const p = &main->back[main->nback++];
            store_state(E, l);
            save_counts(&E->R, l, p);
            p->world = E->world[l];
        } else finish_lane(E, l, queue, use);
    main->nparked = 0;
    use->passes += (double)E->R.step.count.passes * LANES;
}

static bool run_iterates(const ctn_batch_config *cfg) { return runs_by_iteration(cfg); }

/// Puts worlds into idle lanes. Returns whether any lane has one.
static bool fill_lanes(engine_lanes *E, engine_queue *queue, bool *more, bool *begun, bool *came)
{
    bool returned[LANES] = {false}, any = false, held = false;
    for (int l = 0; l < LANES; l++) {
        engine_world w;
        came[l] = false;
        if (!E->held[l] && E->nback) {
            const engine_parked *const p = &E->back[--E->nback];
            load_world(E, &p->world, l);
            load_counts(&E->R, l, p);
            E->held[l] = returned[l] = any = true, E->rests[l] = false;
        } else if (!E->held[l] && *more && (*more = queue->take(queue, &w))) {
            for (int k = 0; k < LANES && !*begun; k++) load_world(E, &w, k);  // lanes without a world: numbers to work with
            load_world(E, &w, l);
            E->rests[l] = !w.steps;
            set_lane(&E->R.counts.frozen, l, E->rests[l] ? CTN_FREEZE_NOT_FINITE : w.stats.frozen);
            *begun = E->held[l] = came[l] = any = true;
        }
        held = held || E->held[l];
    }
    if (any) {
        enter_lanes(models_of(E), E->cfg, &E->S, &E->W, queue->energy, lanes_where(came), &E->R);
        E->R.busy = either(E->R.busy, lanes_where(returned));
    }
    return held;
}

static void open_engine_lanes(engine_lanes *E, const lane_model *m, lane_model *own, const ctn_batch_config *cfg, void *state,
                              void *work)
{
    memset(E, 0, sizeof *E);
    E->cfg = cfg, E->m = &E->shared, E->own = own, E->S = open_state(m, cfg, state), E->W = open_work(m, cfg, work);
    E->shared = with_now(m, &E->W.clock, E->W.wound);
    if (own) copy_structure(E->m, own);
    open_lanes(&E->R);
}

static void run_worlds(const lane_model *m, lane_model *const *own, const ctn_batch_config *cfg, void *const *state,
                       void *const *work, engine_queue *queue, engine_use *use)
{
    engine_lanes E, ladder;
    bool more = true, begun = false, came[LANES];
    open_engine_lanes(&E, m, own ? own[0] : NULL, cfg, state[0], work[0]);
    open_engine_lanes(&ladder, m, own ? own[1] : NULL, cfg, state[1], work[1]);
    while (!asked_to_end(cfg->interrupt)) {
        if (!fill_lanes(&E, queue, &more, &begun, came)) {
            if (!E.nparked) break;
            ladder_block(&E, &ladder, queue, use);
            continue;
        }
        double stepped[LANES] __attribute__((aligned(64))) = {0}, parked[LANES] __attribute__((aligned(64))) = {0};
        if (any_of(E.R.busy)) {
            lane_store(stepped, sel(tick_lanes(models_of(&E), cfg, &E.S, &E.W, queue->energy, &E.R), rset(1), rset(0)));
            lane_store(parked, sel(E.R.parked, rset(1), rset(0)));
            E.R.parked = none_of();
        }
        bool leaves[LANES] = {false}, any = false;
        for (int l = 0; l < LANES; l++) {
            if (parked[l] > 0) {
                engine_parked *const p = &E.parked[E.nparked++];
                save_counts(&E.R, l, p);
                p->world = E.world[l];
                store_state(&E, l);
                E.held[l] = false;
                if (E.nparked == LANES) ladder_block(&E, &ladder, queue, use);
            } else if ((stepped[l] > 0 && !next_step(&E, l)) || (came[l] && lane_of(&E.R.counts.frozen, l) > 0)) {
                finish_lane(&E, l, queue, use);
                leaves[l] = any = true;
            }
        }
        if (any) E.R.busy = both(E.R.busy, not_(lanes_where(leaves)));
    }
    use->passes += (double)E.R.step.count.passes * LANES;
}

#endif
