/// Steps of the variational method along the links: integrators/variational_step.h with passes over levels in the place of
/// kernels over the tree. A step that this does not solve, or that turns a joint too far, leaves the state as it was: the serial
/// engine makes it, and halves it.
#ifndef CATENA_ALONG_VARIATIONAL_H
#define CATENA_ALONG_VARIATIONAL_H

typedef struct {
    along_world *w;
    enum {
        SAVE_STATE,
        HOLD_START,
        BEGIN_PART,
        REST,
        BRAKE,
        PREDICT,
        BASE_STEP,
        MOVE,
        END_PART,
        HOLD_END,
        LEAVE_PART,
        TAKE_PART,
        GO_BACK,
        READ,
        KEEP
    } part;
    real h, lead, theta, alpha;
    bool forced, flow;
} variational_part;

/// joint_forces() at q, without loads on bodies: these are among the wrenches of bodies (along_chord.h).
FN void chord_forces(const lane_model *m, const real *q, const real *tau, variational_work *P)
{
    memset(P->d, 0, (size_t)m->nv * sizeof *P->d);
    for (int k = 0; k < m->nv; k++) P->force[k] = tau ? tau[k] : rset(0);
    add_passive_forces(m, q, P->d, P->force);
}

static void chord_part_of_block(void *context, int thread, int job)
{
    (void)thread;
    const variational_part *const c = context;
    const lane_rows *const B = &c->w->rows[job];
    const lane_model *const m = &B->m;
    step_block *const A = &c->w->step[job];
    aba_block *const D = &c->w->aba[job];
    variational_work *const P = &A->W.va;
    variational_state S = as_variational(&A->S);
    step_sums *const sums = &A->sums;
    const real *const tau = c->forced ? A->W.tau : NULL;
    const mask all = not_(none_of());
    mask far;
    switch (c->part) {
    case SAVE_STATE:
        count_row_turns(B, S.q, NULL, A->S.turns);
        copy_variational(m, &S, all, &P->saved);
        break;
    case HOLD_START:
    case HOLD_END:  // as if all were at rest
        memset(P->d, 0, (size_t)m->nv * sizeof *P->d);
        D->q = c->part == HOLD_START ? S.q : P->x, D->v = P->d;
        break;
    case BEGIN_PART:
        P->W.h = c->h, P->W.inv_h = rset(1) / c->h;
        chord_forces(m, S.q, tau, P);
        begin_chord(m, &S, P);
        aim_chord(m, &P->W, S.p, P->force);
        memset(P->W.reach, 0, (size_t)m->nbody * sizeof *P->W.reach);
        break;
    case REST:
        P->W.theta = rset(0);
        memcpy(P->W.step, P->base, (size_t)m->nq * sizeof *P->base);
        break;
    case BRAKE:
        sums->most = rset(0);
        for (int i = 0; i < m->nbody; i++)
            if (m->bodies[i].flags & BODY_PASSIVE) {
                const real z = damped_share(&m->bodies[i], &P->W, &P->sweep.joint[i], i);
                sums->most = larger(sums->most, sel(live_lanes(B, i), z, rset(0)));
            }
        break;
    case PREDICT:
        P->W.theta = c->theta;
        predict_chord(m, &S, c->lead, P);
        break;
    case BASE_STEP:
        memcpy(P->d, P->fresh, (size_t)m->nv * sizeof *P->d), memcpy(P->base, P->W.step, (size_t)m->nq * sizeof *P->base);
        break;
    case MOVE: move_chord(m, P, c->alpha, all); break;
    case END_PART:
        end_of_chord(m, S.q, P->W.step, P->x);
        sums->bad = not_(config_valid(m, P->x, P->W.r, &far));
        sums->bad = either(sums->bad, turns_far(m, P->W.step));
        break;
    case LEAVE_PART:
        take_rates(m, &S, tau, c->lead, all, &P->W, c->flow ? &sums->flow : NULL);
        for (int k = 0; k < m->nload && c->flow; k++) sums->flow.work = sums->flow.work + chord_work(m, &P->W, &m->loads[k]);
        chord_forces(m, P->x, tau, P);
        break;
    case TAKE_PART: take_end(m, &S, all, P); break;
    case GO_BACK: copy_variational(m, &P->saved, all, &S); break;
    case READ:  // H v = p: no forces yet, and all at rest
        memset(P->fresh, 0, (size_t)m->nv * sizeof *P->fresh);
        D->q = S.q, D->v = D->tau = P->fresh, D->x = A->W.out;
        break;
    case KEEP:
        rest_idle(B, D), D->v = D->x;
        sums->slope = rset(0);
        for (int k = 0; k < m->nv; k++) sums->slope = fmadd(S.p[k], D->v[k], sums->slope);
    }
}

static void run_chord(along_world *w, pool *threads, variational_part *step, int part)
{
    step->part = part;
    pool_run(threads, w->count, chord_part_of_block, step);
}

/// The reach of bodies, where joints slide.
static void chord_reach_out(void *context, int thread, int job)
{
    (void)thread;
    along_world *const w = ((const along_ask *)context)->w;
    rows_out(&w->rows[job], false, w->step[job].S.q, w->plain);
}

static void chord_reach_in(void *context, int thread, int job)
{
    (void)thread;
    along_world *const w = ((const along_ask *)context)->w;
    for (int i = 0; i < w->rows[job].m.nbody; i++) chord_of(w, job)->reach[i] = reach_of(w, job, i);
}

static void along_chord_reach(along_world *w, pool *threads)
{
    along_ask c = {w, 0, 0};
    pool_run(threads, w->count, chord_reach_out, &c);
    reach_through(&c, 0, 0);
    pool_run(threads, w->count, chord_reach_in, &c);
}

/// The wrenches of the loads on bodies, at the start of a part or at its end.
static void along_chord_loads(along_world *w, pool *threads, variational_part *step, int part)
{
    if (!w->plan->model->nload) return;
    run_chord(w, threads, step, part);
    along_loads(w, threads);
}

/// Energy of the state, with the velocities v that belong to its momenta. What is kinetic is the largest value that
/// p'v - v'H v / 2 can have, so that errors of v count by their squares alone: those of long chains, solved in pieces, would
/// show.
static energy_parts chord_energy(along_world *w, pool *threads, variational_part *step)
{
    run_chord(w, threads, step, READ);
    along_eliminate(w, threads);
    for (int b = 0; b < w->count; b++) w->aba[b].tau = w->step[b].S.p;
    along_side(w, threads);
    run_chord(w, threads, step, KEEP);
    energy_parts E = along_moving_energy(w, threads);
    E.kinetic = rset(SUM(w, sums.slope)) - E.kinetic;
    return E;
}

/// Where masses and lengths are beyond all reason velocities may be no numbers: the serial engine knows what to do.
FN bool is_number(energy_parts E) { return everywhere(le(magnitude(energy_sum(E)), rset(NOT_REACHED))); }

/// Solves a part, as solve_chord() does, for the residual *residual. Returns whether it was solved.
static bool along_chord(along_world *w, pool *threads, const ctn_batch_config *cfg, variational_part *step,
                        position_counts *count, real *residual)
{
    const mask all = not_(none_of());
    newton_progress N = no_newton();
    along_chord_loads(w, threads, step, HOLD_START);
    run_chord(w, threads, step, BEGIN_PART);
    if (w->plan->model->slides) along_chord_reach(w, threads);
    along_start_chord(w, threads);
    const double most = MOST(w, W.va.W.scale), scale = most > 0 ? most : 1;
    step->theta = rset(0.5);
    if (w->plan->model->passive) {
        run_chord(w, threads, step, REST);
        along_chord_residual(w, threads);
        if (!along_chord_inward(w, threads)) return false;
        run_chord(w, threads, step, BRAKE);
        step->theta = share_of_start(rset(MOST(w, sums.most)));
    }
    run_chord(w, threads, step, PREDICT);
    begin_newton(&N, all);
    while (any_of(N.running) && !asked_to_end(count->interrupt)) {
        along_chord_residual(w, threads);
        count_evaluation(count, all);
        const real res = rset(MOST(w, sums.most) / scale), merit = rset(SUM(w, W.va.W.merit)), alpha = N.alpha;
        mask too_far = none_of();
        for (int b = 0; b < w->count; b++) too_far = either(too_far, chord_of(w, b)->too_far);
        const mask number = any_of(too_far) ? none_of() : le(res * res, rset(NOT_REACHED));
        const mask taken = takes_iterate(&N, number, le(merit, merit_bound(&N)), cfg->tolerance);
        if (any_of(taken)) {
            const mask need = settle_iterate(&N, taken, res, le(res, rset(cfg->tolerance)), le(rset(1), alpha), none_of(),
                                             cfg->max_iterations, residual);
            if (!any_of(need)) break;
            if (!along_chord_inward(w, threads)) return false;
            along_chord_outward(w, threads);
            run_chord(w, threads, step, BASE_STEP);
            base_newton(&N, need, merit, rset(1));
        } else {
            count->line_search = count->line_search + rset(1);
            shorten_newton(&N, all, shorter_chord(&N, alpha, merit), 1e-6);
            if (!any_of(N.running)) break;
        }
        step->alpha = N.alpha;
        run_chord(w, threads, step, MOVE);
        if (!any_of(may_go_on(count))) break;
    }
    count->iterations = count->iterations + N.iterations;
    return everywhere(N.converged);
}

/// One step. Returns whether it was made.
static bool along_chords(along_world *w, pool *threads, const ctn_batch_config *cfg, variational_part *step,
                         position_counts *count)
{
    real worst = rset(0), residual = rset(0);
    for (int b = 0; b < w->count; b++) w->step[b].sums.flow = no_flow();
    run_chord(w, threads, step, SAVE_STATE);
    for (int k = 0; k < chord_parts(cfg); k++) {
        step->h = chord_part_size(cfg, k, w->rows[0].m.dt, &step->lead);
        bool made = along_chord(w, threads, cfg, step, count, &residual);
        if (made) {
            run_chord(w, threads, step, END_PART);
            made = !any_bad(w);
        }
        if (!made) {
            if (k) run_chord(w, threads, step, GO_BACK);
            return false;
        }
        worst = larger(worst, residual);
        along_chord_loads(w, threads, step, HOLD_END);
        run_chord(w, threads, step, LEAVE_PART);
        along_chord_momentum(w, threads);
        run_chord(w, threads, step, TAKE_PART);
    }
    count->residual = worst, count->substeps = rset(1);
    return true;
}

static int variational_run(along_world *w, pool *threads, const ctn_batch_config *cfg, double *flat, const double *tau,
                           size_t stride, int steps, bool energy, ctn_step_stats *stats)
{
    const mask all = not_(none_of());
    along_copy copy = {w, flat, tau, true};
    variational_part part = {.w = w, .forced = tau != NULL, .flow = energy};
    step_in_hand hand = no_step();
    block_counts c;
    energy_parts now;
    int made = 0;
    memset(&c, 0, sizeof c), memset(stats, 0, sizeof *stats);
    w->cfg = cfg;
    c.at_fault = no_culprit();
    pool_run(threads, w->count, step_copy, &copy);
    if (energy) {
        c.before = c.after = now = chord_energy(w, threads, &part);
        if (!is_number(now)) return 0;
        c.energy_min = c.energy_max = energy_sum(now);
    }
    for (; made < steps && !asked_to_end(cfg->interrupt); made++) {
        clear_counts(&hand.count, all);
        hand.count.interrupt = cfg->interrupt;
        if (tau && stride && made) {
            copy.tau = tau + (size_t)made * stride;
            pool_run(threads, w->count, step_forces, &copy);
        }
        if (!along_chords(w, threads, cfg, &part, &hand.count)) break;
        if (energy && !is_number(now = chord_energy(w, threads, &part))) {
            run_chord(w, threads, &part, GO_BACK);
            break;
        }
        count_step(&c, &hand.count, all, all);
        if (!energy) continue;
        hand.flow.work = rset(SUM(w, sums.flow.work)), hand.flow.dissipated = rset(SUM(w, sums.flow.dissipated));
        add_flow(&c.flow, hand.flow, all);
        note_energy(&c, now, all);
    }
    copy.load = false;
    if (made) pool_run(threads, w->count, step_copy, &copy);
    lane_stats(&c, 0, stats);
    return made;
}

#endif
