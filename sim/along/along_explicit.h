/// Steps of explicit methods along the links: integrators/explicit.h with forward dynamics along the links in the place of aba().
/// A step that ends at what is no state leaves the state as it was: the serial engine makes it, and says why the world freezes.
#ifndef CATENA_ALONG_EXPLICIT_H
#define CATENA_ALONG_EXPLICIT_H

typedef struct {
    along_world *w;
    enum { START_CLOCK, BEGIN_STAGE, KEEP_STAGE, FLOW_THROUGH, LEAP, END_STAGES, KEEP_STATE } part;
    ctn_method method;
    const tableau *table;
    int stage;
    bool forced;
    engine_clock clock;  // of the call
    int made;            // steps in it
} explicit_part;

/// What passes through the forces in the time dt, at the rows' q and v; poses and twists are those there.
FN void explicit_flow(const lane_model *m, const aba_block *A, const real *tau, real dt, energy_flow *F)
{
    add_flow_at(F, m, A->q, tau, A->v, dt);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *const s = &m->loads[k];
        const pose *const T = &A->T[s->body];
        const load_state at = hold_load(m, s, T->R, T->p);
        add_load_flow(F, s, &at, &A->V[s->body], dt);
    }
}

/// Energy of the bodies of a lane block at the rows' q and v; poses and twists are those there.
FN energy_parts moving_energy(const lane_model *m, const aba_block *A)
{
    energy_parts E;
    body_sums s;
    s.kinetic = rset(0), s.moment = s.l = s.h = zero3();
    for (int i = 0; i < m->nbody; i++) add_body_sums(&s, &m->bodies[i], &A->T[i], &A->V[i], A->v);
    E.kinetic = s.kinetic, E.potential = negate(dot(load3(m->gravity), s.moment)), E.spring = passive_potential(m, A->q);
    for (int k = 0; k < m->nload; k++) {
        const pose *const T = &A->T[m->loads[k].body];
        E.spring = add_spring_energy(E.spring, &m->loads[k], T->R, T->p);
    }
    return E;
}

/// Joints of idle lanes stay where they are: x of the rows.
FN void rest_idle(const lane_rows *B, const aba_block *A)
{
    for (int i = 0; i < B->m.nbody; i++) {
        const lane_body *const b = &B->m.bodies[i];
        for (int k = b->vadr; k < b->vadr + b->nv && B->partial[i]; k++) A->x[k] = sel(live_lanes(B, i), A->x[k], rset(0));
    }
}

static void explicit_part_of_block(void *context, int thread, int job)
{
    (void)thread;
    const explicit_part *const c = context;
    const lane_rows *const B = &c->w->rows[job];
    const lane_model *const m = &B->m;
    step_block *const S = &c->w->step[job];
    aba_block *const A = &c->w->aba[job];
    explicit_work *const ex = &S->W.ex;
    const real *const tau = c->forced ? S->W.tau : NULL;
    const bool leaps = c->method == CTN_SEMI_IMPLICIT;
    mask far;
    switch (c->part) {
    case START_CLOCK: start_clock(&c->w->rows[job], c->clock); break;
    case BEGIN_STAGE:
        if (!c->stage) clock_step(m, rset(c->made)), count_row_turns(B, S->S.q, S->S.part.q, S->S.turns);
        if (!leaps) {
            advance(m, c->stage, c->table->a[c->stage], S->S.q, S->S.v, m->dt, ex);
            chart_rate(m, ex->u, ex->w, ex->kq[c->stage]);
        } else clock_now(m, m->dt, 0);
        A->q = leaps ? S->S.q : ex->x, A->v = leaps ? S->S.v : ex->w, A->x = ex->kv[c->stage], A->tau = ex->force;
        for (int k = 0; k < m->nv; k++) ex->force[k] = tau ? tau[k] : rset(0);
        add_passive_forces(m, A->q, A->v, ex->force), add_friction_forces(m, S->S.z, leaps ? NULL : ex->u, ex->force);
        break;
    case KEEP_STAGE: rest_idle(B, A); break;
    case FLOW_THROUGH: explicit_flow(m, A, tau, rset(leaps ? 1 : c->table->b[c->stage]) * m->dt, &S->sums.flow); break;
    case LEAP:
        move_on(m, S->S.q, S->S.v, m->dt, ex);
        A->v = ex->w;
        break;
    case END_STAGES:
        if (!leaps) advance(m, c->table->stages, c->table->b, S->S.q, S->S.v, m->dt, ex);
        S->sums.bad = not_(config_valid(m, ex->x, ex->w, &far));
        S->sums.flow.dissipated = S->sums.flow.dissipated + friction_loss(m, S->S.z, ex->u);
        break;
    case KEEP_STATE:
        if (c->w->cfg->dense) start_part(m, &S->S.part, S->S.q, S->S.v, S->S.z, NULL, tau, m->dt, not_(none_of()));
        keep_friction(m, ex->u, not_(none_of()), S->S.z);
        if (m->nsignal) S->sums.jump = jump_work(m, ex->x, m->dt);
        if (!m->nv) break;  // all of the block's lanes idle
        memcpy(S->S.q, ex->x, (size_t)m->nq * sizeof *ex->x), memcpy(S->S.v, ex->w, (size_t)m->nv * sizeof *ex->w);
    }
}

static void run_part(along_world *w, pool *threads, explicit_part *step, int part)
{
    step->part = part;
    pool_run(threads, w->count, explicit_part_of_block, step);
}

/// One step of m->dt; flow: and what passes through the forces. Returns whether it was made.
static bool explicit_one_step(along_world *w, pool *threads, explicit_part *step, bool flow)
{
    const bool leaps = step->method == CTN_SEMI_IMPLICIT, loads = w->plan->model->nload > 0;
    for (int b = 0; b < w->count; b++) w->step[b].sums.flow = no_flow();
    for (step->stage = 0; step->stage < step->table->stages; step->stage++) {
        run_part(w, threads, step, BEGIN_STAGE);
        along_forward(w, threads);
        run_part(w, threads, step, KEEP_STAGE);
        if (leaps) run_part(w, threads, step, LEAP);
        if (!flow || (!leaps && step->table->b[step->stage] == 0)) continue;
        if (leaps && loads) along_motions(w, threads);  // forces act along the way that the step goes
        run_part(w, threads, step, FLOW_THROUGH);
    }
    run_part(w, threads, step, END_STAGES);
    for (int b = 0; b < w->count; b++)
        if (any_of(w->step[b].sums.bad)) return false;
    run_part(w, threads, step, KEEP_STATE);
    return true;
}

static void weigh_moving(void *context, int thread, int job)
{
    (void)thread;
    const along_world *const w = context;
    const lane_model *const m = &w->rows[job].m;
    energy_parts *const E = &w->step[job].sums.energy;
    *E = moving_energy(m, &w->aba[job]);
    E->spring = E->spring + friction_energy(m, w->step[job].S.z, NULL);
}

/// Energy at the rows' q and v.
static energy_parts along_moving_energy(along_world *w, pool *threads)
{
    const ctn_model *const m = w->model;
    double fixed = 0;
    energy_parts E;
    along_motions(w, threads);
    pool_run(threads, w->count, weigh_moving, w);
    for (int k = 0; k < 3; k++) fixed -= m->gravity[k] * m->fixed_moment[k];
    E.kinetic = rset(SUM(w, sums.energy.kinetic)), E.potential = rset(SUM(w, sums.energy.potential) + fixed),
    E.spring = rset(SUM(w, sums.energy.spring));
    return E;
}

static energy_parts explicit_state_energy(along_world *w, pool *threads)
{
    for (int b = 0; b < w->count; b++) w->aba[b].q = w->step[b].S.q, w->aba[b].v = w->step[b].S.v;
    return along_moving_energy(w, threads);
}

static int explicit_run(along_world *w, pool *threads, const ctn_batch_config *cfg, engine_clock clock, double *flat,
                        const double *tau, size_t stride, int steps, bool energy, ctn_step_stats *stats)
{
    const mask all = not_(none_of());
    along_copy copy = {w, flat, tau, true};
    explicit_part step = {.w = w, .method = cfg->method, .table = tableau_of(cfg->method), .forced = tau != NULL, .clock = clock};
    step_in_hand hand = no_step();
    block_counts c;
    int made = 0;
    memset(&c, 0, sizeof c), memset(stats, 0, sizeof *stats);
    c.at_fault = no_culprit();
    w->cfg = cfg;
    pool_run(threads, w->count, step_copy, &copy);
    run_part(w, threads, &step, START_CLOCK);
    if (energy) {
        c.before = c.after = explicit_state_energy(w, threads);
        c.energy_min = c.energy_max = energy_sum(c.before);
    }
    for (; made < steps && !asked_to_end(cfg->interrupt); made++) {
        clear_counts(&hand.count, all);
        if (tau && stride && made) {
            copy.tau = tau + (size_t)made * stride;
            pool_run(threads, w->count, step_forces, &copy);
        }
        step.made = made;
        if (!explicit_one_step(w, threads, &step, energy)) break;
        hand.count.evaluations = rset(step.table->stages), hand.count.substeps = rset(1);
        count_step(&c, &hand.count, all, all);
        if (!energy) continue;
        hand.flow.work = rset(SUM(w, sums.flow.work)), hand.flow.dissipated = rset(SUM(w, sums.flow.dissipated));
        if (w->plan->model->nsignal) hand.flow.work = hand.flow.work + rset(SUM(w, sums.jump));
        add_flow(&c.flow, hand.flow, all);
        note_energy(&c, explicit_state_energy(w, threads), all);
    }
    copy.load = false;
    if (made) pool_run(threads, w->count, step_copy, &copy);
    lane_stats(&c, 0, stats);
    return made;
}

#endif
