/// Steps of radau with several stages along the links: what the ladder does for its first rung (integrators/step_part.h), with
/// passes over levels in the place of kernels over the tree. A step that this does not solve, or that gains energy, leaves the
/// state as it was: the serial engine makes it, with fewer stages or in halves if need be.
#ifndef CATENA_ALONG_RADAU_H
#define CATENA_ALONG_RADAU_H

typedef enum {
    STAGES_BEGIN,
    STAGES_GUESS,
    STAGES_BASE,
    STAGES_MOVE,
    STAGES_CHECK,
    STAGES_END,
    STAGES_COMMIT,
    STAGES_NOTE
} stage_parts;

typedef struct {
    along_world *w;
    stage_parts part;
    bool forced;
    int made;              // STAGES_BEGIN: steps in this call
    real alpha;            // STAGES_MOVE
    double created, lost;  // STAGES_NOTE
} stage_part;

KERNEL void stage_part_of_block(void *context, int thread, int job)
{
    (void)thread;
    const stage_part *const c = (const stage_part *)context;
    along_world *const w = c->w;
    const lane_model *const m = &w->rows[job].m;
    step_block *const A = &w->step[job];
    ladder_work *const P = &A->W.po;
    stage_work *const Q = &P->more;
    step_sums *const sums = &A->sums;
    position_state S = as_position(&A->S);
    const int last = w->stages - 1;
    const mask all = not_(none_of());
    mask far;
    switch (c->part) {
    case STAGES_BEGIN:
        clock_step(m, rset(c->made));
        count_row_turns(&w->rows[job], S.q, A->S.part.q, A->S.turns);
        start_from(&S, c->forced ? A->W.tau : NULL, &P->one.W);
        set_step_size(&P->one.W, m->dt);
        enter_rung(m, ladder_rung(w->cfg, 0), false, &S, P);
        break;
    case STAGES_GUESS:
        predict_stages(m, &S, Q, all, all);
        Q->W.glued = m->ncontact ? all : none_of();
        break;
    case STAGES_BASE:
        Q->W.glued = none_of();
        memcpy(Q->base, Q->x, (size_t)(w->stages * m->nq) * sizeof *Q->base);
        memcpy(Q->base_u, Q->u, (size_t)(w->stages * m->nv) * sizeof *Q->base_u);
        for (int i = 0; i < w->stages * m->nbody && w->mode.closed; i++)
            keep_whereabouts(&Q->at[i], &Q->W.body[i].T, Q->W.body[i].dp, all);
        sums->slope = first_share(m, Q->d, w->stages);
        break;
    case STAGES_MOVE: move_stages(m, Q, c->alpha, all); break;
    case STAGES_CHECK:
        sums->bad = not_(config_valid(m, Q->x + last * m->nq, Q->u + last * m->nv, &far));
        sums->flow = stages_flow(m, Q);
        break;
    case STAGES_END:  // as along_energy() takes it
        for (int i = 0; i < m->nbody; i++)
            Q->rate[i] = end_rate(&m->bodies[i], Q, i), P->one.W.now[i] = Q->W.body[i * w->stages + last].T;
        memcpy(P->one.x, Q->x + last * m->nq, (size_t)m->nq * sizeof *P->one.x);
        memcpy(P->one.u, Q->u + last * m->nv, (size_t)m->nv * sizeof *P->one.u);
        clock_now(m, P->one.W.in.h, 1);
        P->end.V = Q->rate, P->end.rate = (real *)end_rates(m, Q);
        sums->E = defect_energy(m, Q);
        break;
    case STAGES_COMMIT:
        keep_friction(m, Q->u + last * m->nv, all, S.z);
        keep_stage_contacts(m, &Q->W, all, S.slip, S.press);
        if (w->cfg->dense) keep_stages(m, &A->S.part, &S, Q, all);
        commit_stages(m, &S, Q, P->one.W.start, all);
        if (m->nsignal) sums->jump = jump_work(m, S.q, m->dt);
        break;
    case STAGES_NOTE: note_created(&S, rset(c->created), (energy_flow){rset(0), rset(c->lost)}, all);
    }
}

KERNEL void run_stages(along_world *w, along_crew *crew, stage_part *step, stage_parts part)
{
    step->part = part;
    ALONG_RUN(crew, w->count, stage_part_of_block, step);
}

/// Solves the step, as stage_pass() does, for the residual *residual. Returns whether it was solved.
KERNEL bool along_stage_newton(along_world *w, along_crew *crew, const ctn_batch_config *cfg, stage_part *step,
                               position_counts *count, real *residual)
{
    const mask all = not_(none_of());
    newton_progress N = no_newton();
    begin_newton(&N, all);
    run_stages(w, crew, step, STAGES_GUESS);
    while (any_of(N.running) && !asked_to_end(count->interrupt)) {
        const real alpha = N.alpha, norm = N.E;
        const bool glued = w->plan->model->ncontact && any_of(lt(N.iterations, rset(1)));
        along_stage_residual(w, crew);
        count_evaluation(count, all);
        const real most = rset(w->told[TOLD_MOST]), square = rset(w->told[TOLD_E]);
        const mask too_far = w->told[TOLD_FAR] != 0 ? all : none_of();
        const mask taken = takes_iterate(&N, le(square, rset(NOT_REACHED)), is_lower(square, norm, alpha), cfg->tolerance);
        if (any_of(taken)) {
            const mask full = le(rset(1), alpha), found = are_solved(&N, most, rset(NOT_REACHED), full, cfg->tolerance);
            const mask need = settle_iterate(&N, taken, most, found, full, too_far, most_stage_iterations(cfg->max_iterations), residual);
            if (!any_of(need)) break;
            along_stage_direction(w, crew, any_of(N.hard));
            run_stages(w, crew, step, STAGES_BASE);
            along_tell(w, crew, TOLD_SIZE, TOLD_SHARE);
            base_newton(&N, need, square, rset(w->told[TOLD_SHARE]));
            size_newton(&N, need, rset(sqrt(w->told[TOLD_SIZE])));
            if (glued) N.based = none_of();  // what it was compared with is another friction
        } else {
            count->line_search = count->line_search + rset(1);
            shorten_stages(&N, all, square, norm);
            if (!any_of(N.running)) break;
        }
        step->alpha = N.alpha;
        if (any_of(N.follows)) along_follow_stages(w, crew, *(const double *)&N.alpha);
        else run_stages(w, crew, step, STAGES_MOVE);
        if (!any_of(may_go_on(count))) break;
    }
    count->iterations = count->iterations + N.iterations;
    return everywhere(N.converged);
}

/// One step, as along_one_step().
KERNEL bool along_stage_step(along_world *w, along_crew *crew, const ctn_batch_config *cfg, const double *tau, int made,
                             bool energy, along_ledger *ledger, step_in_hand *hand)
{
    stage_part step = {.w = w->self, .forced = tau != NULL, .made = made};
    const bool touches = w->plan->model->ncontact;
    real residual = rset(0), internal;
    if (!ledger->known) along_take_stock(w, crew, made, ledger);
    run_stages(w, crew, &step, STAGES_BEGIN);
    if (w->plan->model->slides) along_reach(w, crew);
    if (!along_stage_newton(w, crew, cfg, &step, &hand->count, &residual)) return false;
    run_stages(w, crew, &step, STAGES_CHECK);
    along_tell(w, crew, TOLD_WORK, TOLD_BAD);
    if (w->told[TOLD_BAD] != 0) return false;
    energy_flow F = {rset(w->told[TOLD_WORK]), rset(w->told[TOLD_DISSIPATED])};
    run_stages(w, crew, &step, STAGES_END);
    along_tell(w, crew, TOLD_E, TOLD_E);
    const real defect = rset(w->told[TOLD_E]);
    energy_parts after = along_energy(w, crew, true, false, &internal);
    const real error = root(internal * defect);
    along_tell(w, crew, TOLD_CREATED, TOLD_LOST);
    real created[2] = {rset(w->told[TOLD_CREATED]), rset(w->told[TOLD_LOST])};
    const position_state S = {.created = created};
    const energy_parts before = ledger->now;
    step_part of = {.before = before, .flow = F};
    if (!everywhere(gains_nothing(&of, &S, after, internal, &error, cfg->tolerance))) return false;
    const double kept = touches ? along_keeps(w, crew) : 1;
    if (!keeps_enough(kept)) return false;
    run_stages(w, crew, &step, STAGES_COMMIT);
    step.created = *(const double *)&of.created, step.lost = *(const double *)&F.dissipated;
    if (kept < 1) along_hold(w, crew);
    if (touches) after = along_energy(w, crew, false, false, &internal);
    along_jump(w, crew, touches, after, ledger, &F);
    if (touches) step.created = created_by(before, after, F);
    run_stages(w, crew, &step, STAGES_NOTE);
    if (energy) add_flow(&hand->flow, F, not_(none_of()));
    hand->count.residual = residual, hand->count.substeps = rset(1);
    return true;
}

#endif
