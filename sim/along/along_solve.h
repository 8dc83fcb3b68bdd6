/// Newton's method along the links, for steps that are solved with one stage (integrators/position_step.h): the same kernels over
/// the rows of a plan. An iteration goes over the tree seven times, outwards (>) and inwards (<):
///
///     > relative   axes at the tails of cut paths as seen from their heads; then those of all heads
///     > place      axes, arms, and ways dp since the start of the step, counted from the heads; then those of all heads
///     > weigh      wrench, block and energy of every body; the energy says whether the iterate is taken
///     < sum        wrenches of segments; then what stands behind each tail
///     < rows       residual(), which says whether it is the solution
///     < sweep      sweep_inward(), and in cut paths the far end; then the boundaries
///     > step       sweep_outward()
///
/// Serially a sweep certifies a direction of descent by positive pivots. Here pivots are those of segments with an open end.
/// Inertia adds up over an elimination: the negative eigenvalues of the Hessian are the negative pivots of all segments and those
/// that the boundaries add (boundary.h). Where there are none, the step descends; else curvature is dropped, as newton_sweep.h
/// says. Hard solves are followed (follow.h), by factors with closed ends. What is not solved here is left to the serial engine
/// and its ladder.
#ifndef CATENA_ALONG_SOLVE_H
#define CATENA_ALONG_SOLVE_H

typedef struct {
    along_world *w;
    bool first;  // the guess
    bool based;  // the iterate is the base of the next step
    real alpha;
} along_move;

KERNEL void step_move(void *context, int thread, int job)
{
    (void)thread;
    const along_move *const c = (const along_move *)context;
    const lane_model *const m = &c->w->rows[job].m;
    step_block *const A = &c->w->step[job];
    position_work *const P = &A->W.po.one;
    const mask all = not_(none_of());
    const position_state S = as_position(&A->S);
    if (c->first) predict_step(m, &S, P, all, all);
    if (c->based) {
        memcpy(P->base, P->x, (size_t)m->nq * sizeof *P->base), memcpy(P->base_u, P->u, (size_t)m->nv * sizeof *P->base_u);
    }
    if (!c->first) move_iterate(m, P, c->alpha, all);
}

/// Whether something has been found in every lane; all of them say the same.
FN bool everywhere(mask m) { return !any_of(not_(m)); }

#define HEADS_MEET 1e-7  // tails, in steps that are followed

/// How far off the farthest head of so many paths was.
KERNEL double heads_off(along_world *w, along_crew *crew, int paths)
{
    ask_for(w, crew, TOLD_OFF, TOLD_OFF, paths);
    return w->told[TOLD_OFF];
}

/// The next iterate.
KERNEL void along_step_on(along_world *w, along_crew *crew, along_move *move, bool follows)
{
    along_call c = {.w = w->self};
    if (!follows || move->based) {
        along_move base = {.w = w->self, .based = move->based, .alpha = follows ? rset(0) : move->alpha};
        ALONG_RUN(crew, w->count, step_move, &base);
    }
    if (!follows) return;
    along_mode mode = w->mode;
    mode.share = *(const double *)&move->alpha;
    along_choose(w, crew, mode);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        const int paths = cut_paths_of(w->plan, c.level);
        int more = w->plan->lanes;
        ALONG_EACH(crew, paths, guess_heads, &c);
        do {
            ALONG_RUN(crew, w->count, step_follow, &c);
            if (!paths) break;
            ALONG_EACH(crew, paths, mend_heads, &c);
        } while (heads_off(w, crew, paths) > HEADS_MEET && --more);
    }
}

/// Solves the step, as newton_pass() does, for the residual *residual. Returns whether it was solved. skew: its matrix is not
/// symmetric, a constant in each call.
FN bool along_newton(along_world *w, along_crew *crew, const ctn_batch_config *cfg, bool skew, position_counts *count,
                     real *residual)
{
    const mask all = not_(none_of());
    newton_progress N = no_newton();
    along_move move = {.w = w->self, .first = true};
    begin_newton(&N, all);
    ALONG_RUN(crew, w->count, step_move, &move);
    move.first = false;
    while (any_of(N.running) && !asked_to_end(count->interrupt)) {
        const real alpha = N.alpha, slope = N.slope;
        along_evaluate(w, crew, true);
        real most = rset(skew ? along_residual(w, crew) : 0);
        count_evaluation(count, all);
        along_tell(w, crew, TOLD_E, TOLD_FAR);
        const bool far = w->told[TOLD_FAR] != 0;
        const real E = rset(w->told[TOLD_E]);
        const real bound = fmadd(rset(ENERGY_ROUNDING), magnitude(N.E), fmadd(rset(1e-4) * alpha, slope, N.E));
        mask lower = le(E, bound);
        if (!any_of(lower) && any_of(N.based) && !skew) lower = le(E, bound + along_blur(w, crew));
        const mask taken = takes_iterate(&N, le(magnitude(E), rset(NOT_REACHED)), lower, cfg->tolerance);
        move.based = any_of(taken);
        if (any_of(taken)) {
            if (!skew) most = rset(along_residual(w, crew));
            const mask full = le(rset(1), alpha), found = is_solved(&N, most, rset(NOT_REACHED), full, cfg->tolerance);
            const mask need = settle_iterate(&N, taken, most, found, full, far ? all : none_of(), cfg->max_iterations, residual);
            if (!any_of(need)) {
                if (any_of(N.corrected) || !everywhere(N.converged) || !along_corrects(w, crew)) break;
                solve_again(&N, may_go_on(count));
                count->corrections = count->corrections + rset(1);
                continue;
            }
            bool hard = any_of(N.hard);
            if (skew) along_stage_direction(w, crew, false), along_tell(w, crew, TOLD_MOST, TOLD_SIZE);
            else if (!along_direction(w, crew, &hard, count)) return false;
            const double turn = w->told[TOLD_MOST];
            N.hard = hard ? all : none_of(), N.slope = rset(w->told[TOLD_SLOPE]);
            if (skew) N.slope = rset(-2) * E;
            base_newton(&N, need, E, rset(turn <= 3.1 ? 1 : 3.1 / turn));
            size_newton(&N, need, rset(sqrt(w->told[TOLD_SIZE])));
        } else {
            count->line_search = count->line_search + rset(1);
            const real rise = fnmadd(alpha, slope, E - N.E);
            shorten_newton(&N, all, rset(-0.5) * slope * alpha * alpha / rise, 1e-9);
            if (skew) N.hard = none_of();
            if (!any_of(N.running)) break;
        }
        move.alpha = N.alpha;
        along_step_on(w, crew, &move, any_of(N.follows));
        if (!any_of(may_go_on(count))) break;
    }
    count->iterations = count->iterations + N.iterations;
    return everywhere(N.converged);
}

#endif
