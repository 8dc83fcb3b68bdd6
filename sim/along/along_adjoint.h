/// The adjoint of steps along the links, of order 2 and of alpha (integrators/position_adjoint.h, alpha_adjoint.h): what goes
/// joint by joint is those kernels over the rows of a plan; what goes over the tree are passes.
///
///     prepare   the step at its end: the passes of an iteration up to the factors, with all of their curvature
///     < rows    wrenches of the gradients by poses, at the end of the step, then at its start; in cut paths as the residual's
///     < side    the right-hand side with the factors that stand; then the boundaries (along_dynamics.h)
///     > motion  the virtual motion y, and the twists of bodies
///     < rows    what it makes of the poses at the start
///
/// The gradients of one step are as many sides with one factorisation. Forces on bodies (springs, wrenches, fluids) are not here.
#ifndef CATENA_ALONG_ADJOINT_H
#define CATENA_ALONG_ADJOINT_H

/// Scratch of a lane block. one: but for its factors, which are those of the sweep.
struct adjoint_block {
    position_adjoint one;
    alpha_adjoint alpha;
    state_bar after, before;
    real *tau_bar;  // [nv]
};

/// Whether steps of a configuration go backwards along the links; what spins does not.
static bool adjoint_steps(const ctn_model *m, const ctn_batch_config *cfg) { return along_steps(cfg) && !m->nload && !m->spins; }

static void layout_bar_rows(size_t n, size_t nv, bool alpha, state_bar *bar, arena *a)
{
    memset(bar, 0, sizeof *bar);
    bar->q = TAKE(a, nv, real), bar->v = TAKE(a, nv, real), bar->V = TAKE(a, n, rate_pose);
    if (!alpha) return;
    bar->A = TAKE(a, n, rate_pose), bar->B = TAKE(a, n, rate_pose), bar->a = TAKE(a, nv, real), bar->b = TAKE(a, nv, real);
}

/// cfg NULL: of a world that goes not backwards.
static adjoint_block layout_adjoint_block(const lane_model *rows, const ctn_batch_config *cfg, arena *a)
{
    const size_t n = (size_t)rows->nbody, nv = (size_t)rows->nv;
    const bool alpha = cfg && is_alpha(cfg);
    adjoint_block A;
    memset(&A, 0, sizeof A);
    if (!cfg) return A;
    A.one.P = layout_pose(n, a), A.one.y = TAKE(a, nv, real), A.one.b = TAKE(a, nv, real), A.tau_bar = TAKE(a, nv, real);
    layout_bar_rows(n, nv, alpha, &A.after, a), layout_bar_rows(n, nv, alpha, &A.before, a);
    if (!alpha) return A;
    real **const vectors[] = {&A.alpha.x, &A.alpha.rate, &A.alpha.slack, &A.alpha.turn};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) *vectors[k] = TAKE(a, nv, real);
    A.alpha.X = TAKE(a, n, rate_pose);
    return A;
}

/// Numbers the bodies with mass, which have columns in a gradient.
static void number_columns(along_world *w)
{
    const ctn_model *const m = w->plan->model;
    w->masses = 0;
    for (int i = 0; i < m->nbody; i++) w->column[i] = m->bodies[i].flags & BODY_MASS ? w->masses++ : -1;
}

// ---- gradients by the state: as one array of a world, and in rows

/// The columns of bodies with mass into those of rows with mass, or back; lanes without a body get 0.
static void columns_copy(const along_world *w, const lane_rows *B, double *flat, rate_pose *bar, bool in)
{
    static double nothing[RATE_NUMBERS];
    double idle[RATE_NUMBERS];
    for (int i = 0; i < B->m.nbody; i++) {
        const int *const body = B->block->row[i].body + B->first;
        double *row[LANES];
        if (B->m.bodies[i].kind == JOINT_NONE || !(B->m.bodies[i].flags & BODY_MASS)) continue;
        for (int l = 0; l < LANES; l++)
            row[l] = body[l] < 0 ? in ? nothing : idle : flat + (size_t)w->column[body[l]] * RATE_NUMBERS;
        if (in) lane_gather((real *)bar, (const double *const *)row, RATE_NUMBERS);
        else lane_scatter(row, LANES, (const real *)bar, RATE_NUMBERS);
        bar++;
    }
}

/// Part after part (BAR_PARTS).
static void bar_copy(const along_world *w, int job, double *flat, const state_bar *bar, bool in)
{
    const lane_rows *const B = &w->rows[job];
    const size_t nv = (size_t)w->plan->model->nv, columns = (size_t)w->masses * RATE_NUMBERS;
#define COPY(member, type, count)                                                                                                \
    if (bar->member) {                                                                                                           \
        if (sizeof(type) != sizeof(real)) columns_copy(w, B, flat, (rate_pose *)(void *)bar->member, in);                        \
        else if (in) rows_in(B, true, flat, (real *)(void *)bar->member);                                                        \
        else rows_out(B, true, (const real *)(void *)bar->member, flat);                                                         \
        flat += sizeof(type) != sizeof(real) ? columns : nv;                                                                     \
    }
    BAR_PARTS(COPY)
#undef COPY
}

// ---- joint rows of wrenches on bodies

static placement *placements_of(const along_world *w, int block)
{
    const solve *const W = solve_of(w, block);
    return w->mode.now ? W->now : W->start;
}

/// Adds the wrench of a body, and of what else hangs on it.
FN void gather_load(const along_world *w, int block, int i, wrench *c)
{
    const lane_rows *const B = &w->rows[block];
    wrench hand;
    *c = wrench_add(*c, w->back[block].one.P.load[i]);
    if (!(B->m.bodies[i].flags & BODY_FORK)) return;
    gather_hands(w, B, i, WRENCH, w->weight, &hand);
    *c = wrench_add(*c, hand);
}

FN void stretch_load_row(along_world *w, int block, int i, real *carried)
{
    const joint_form f = form_of(&w->rows[block].m.bodies[i]);
    stretch_lanes *const c = (stretch_lanes *)carried;
    gather_load(w, block, i, &c->w);
    if (!has_arm(f)) return;
    const vec3 r = placements_of(w, block)[i].r;
    c->w = wrench_shift(c->w, r), c->stretch = add(c->stretch, r);
}

/// One body of add_joint_rows(): at the end of the step into the right-hand side, at its start into the gradient by q.
FN void load_row_of(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    adjoint_block *const A = &w->back[block];
    const placement *const at = &placements_of(w, block)[i];
    real *const to = w->mode.now ? A->one.b : A->before.q;
    wrench *const c = (wrench *)carried;
    gather_load(w, block, i, c);
    for (int k = 0; k < b->nv; k++) {
        const twist S = joint_subspace(b, b->kind, at->R, k);
        to[b->vadr + k] = to[b->vadr + k] + along(S.w, S.v, *c);
    }
    if (has_arm(form_of(b))) *c = wrench_shift(*c, at->r);
}

static void bar_stretch(void *context, int thread, int job)
{
    const along_call *const c = context;
    stretch_lanes S;
    (void)thread;
    pass_inwards(c->w, job, c->level, 9, (real *)&S, enter_nothing, leave_stretch, stretch_load_row);
}

static void bar_rows(void *context, int thread, int job)
{
    const along_call *const c = context;
    wrench next;
    (void)thread;
    pass_inwards(c->w, job, c->level, WRENCH, (real *)&next, enter_behind, leave_weight, load_row_of);
}

/// add_joint_rows() of the wrenches in one.P.load, at the end of the step (now) or at its start.
static void along_joint_rows(along_world *w, pool *threads, bool now)
{
    along_call c = {.w = w};
    w->mode.now = now;
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        if (is_cut(w->plan, c.level)) {
            pool_run(threads, w->count, bar_stretch, &c);
            ALONG_CHAIN(threads, w, chain_wrenches, &c);
        }
        pool_run(threads, w->count, bar_rows, &c);
    }
    w->mode.now = true;
}

// ---- one right-hand side with the factors of the sweep

FN void bar_side_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    position_work *const P = &w->step[block].W.po.one;
    const tree_pivot *const s = &P->sweep.pivot[i];
    const placement *const at = &P->W.now[i];
    const real *const side = w->back[block].one.b + b->vadr;
    const joint_form f = form_of(b);
    wrench *const p = &((side_lanes *)carried)->p, hand;
    if (b->flags & BODY_FORK) {
        gather_hands(w, B, i, WRENCH, w->weight, &hand);
        *p = wrench_add(*p, hand);
    }
    if (b->nv == 3) store3(P->fresh + b->vadr, take_side3(f, &at->R, &s->three.D, &s->three.G, load3(side), p));
    else P->fresh[b->vadr] = take_side1(b, f.kind, at->R.z, &s->one, side[0], p);
    if (has_arm(f) && !(f.flags & BODY_ROOT)) *p = wrench_shift(*p, at->r);
}

FN void bar_side_cut_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const position_work *const P = &w->step[block].W.po.one;
    const real *const y = w->step[block].y + 6 * b->vadr, *const u = P->fresh + b->vadr;
    real *const g = ((side_lanes *)carried)->g, e[6];
    bar_side_row(w, block, i, carried);
    if (b->nv == 3) {
        far_side3(y, load3(u), g);
        return;
    }
    for (int k = 0; k < 6; k++) e[k] = y[k] * P->sweep.pivot[i].one.i;
    far_side1(e, u[0], g);
}

static void bar_side(void *context, int thread, int job)
{
    const along_call *const c = context;
    side_lanes I;
    (void)thread;
    pass_inwards(c->w, job, c->level, 12, (real *)&I, enter_side, leave_side,
                 is_cut(c->w->plan, c->level) ? bar_side_cut_row : bar_side_row);
}

// Rows of a long rope are torques at the end of its length. A tail with nothing behind it has none to set against them
// (along_sweep.h, "tails are pulled"), and here the wrench that would is not known but from the solution. So cut paths are gone
// over twice: with the wrenches behind their tails that the first time has found, little is left for the boundaries.

/// Keeps the wrenches that have been found behind the tails of a path.
static void keep_sides(void *context, int thread, int job)
{
    const along_call *const c = context;
    const along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    (void)thread;
    for (int s = first_of_path(c, job); segment[s].after >= 0; s = segment[s].after)
        memcpy(w->behind + (size_t)segment[s].cut * WRENCH, w->weight + (size_t)segment[s].after * WRENCH,
               WRENCH * sizeof(double));
}

static void enter_kept_side(const along_world *w, int s, double *to)
{
    const along_segment *const S = &w->plan->segment[s];
    enter_side(w, s, to);
    if (S->after >= 0) memcpy(to, w->behind + (size_t)S->cut * WRENCH, WRENCH * sizeof *to);
}

static void bar_kept_side(void *context, int thread, int job)
{
    const along_call *const c = context;
    side_lanes I;
    (void)thread;
    pass_inwards(c->w, job, c->level, 12, (real *)&I, enter_kept_side, leave_side, bar_side_cut_row);
}

/// join_sides() of what is left.
static void join_kept_sides(void *context, int thread, int job)
{
    const along_call *const c = context;
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, job);
    (void)thread;
    while (segment[s].after >= 0) s = segment[s].after;
    for (s = segment[s].before; s >= 0; s = segment[s].before) {
        const double *const all = w->weight + (size_t)segment[s].after * WRENCH, *const kept =
                                                                                     w->behind + (size_t)segment[s].cut * WRENCH;
        double rest[WRENCH];
        for (int k = 0; k < WRENCH; k++) rest[k] = all[k] - kept[k];
        boundary_side(&w->cut[segment[s].cut], rest, w->weight + (size_t)s * WRENCH);
    }
}

/// The solution, and the twist of the body.
FN void bar_motion_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    position_work *const P = &w->step[block].W.po.one;
    adjoint_block *const A = &w->back[block];
    const placement *const at = &P->W.now[i];
    const tree_pivot *const s = &P->sweep.pivot[i];
    twist *const d = &((outward_lanes *)carried)->d;
    BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &s->one, &s->three.G, P->sweep.motion, i, d, P->fresh))
    A->one.P.motion[i] = *d;
    for (int k = b->vadr; k < b->vadr + b->nv; k++) A->one.y[k] = P->fresh[k];
}

FN void bar_motion_cut_row(along_world *w, int block, int i, real *carried)
{
    far_take_row(w, block, i, carried), bar_motion_row(w, block, i, carried);
}

static void bar_motion(void *context, int thread, int job)
{
    const along_call *const c = context;
    outward_lanes O;
    (void)thread;
    pass_outwards(c->w, job, c->level, 12, (real *)&O, enter_step, NULL, NULL,
                  is_cut(c->w->plan, c->level) ? bar_motion_cut_row : bar_motion_row);
}

static void bar_boundaries(void *context, int thread, int job)
{
    (void)thread;
    pass_boundaries(context, job, step_above);
}

/// H y = b.
static void along_virtual_motion(along_world *w, pool *threads)
{
    along_call c = {.w = w};
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        const int paths = cut_paths_of(w->plan, c.level);
        pool_run(threads, w->count, bar_side, &c);
        if (!paths) continue;
        ALONG_EACH(threads, paths, join_sides, &c);
        ALONG_EACH(threads, paths, keep_sides, &c);
        pool_run(threads, w->count, bar_kept_side, &c);
        ALONG_EACH(threads, paths, join_kept_sides, &c);
    }
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        ALONG_EACH(threads, cut_paths_of(w->plan, c.level), bar_boundaries, &c);
        pool_run(threads, w->count, bar_motion, &c);
    }
}

// ---- the calls

typedef enum { BAR_SOLUTION, BAR_READY, BAR_END, BAR_START, BAR_WAY, BAR_AIM, BAR_STORE } bar_parts;

typedef struct {
    along_world *w;
    bar_parts part;
    double *flat, *tau;
} bar_call;

/// The end of the step, and the increments that lead there.
static void bar_solution(const along_world *w, int job, const double *after)
{
    const lane_rows *const B = &w->rows[job];
    step_block *const A = &w->step[job];
    position_work *const P = &A->W.po.one;
    rows_in(B, false, after, P->x);
    if (!is_alpha(w->cfg)) {  // the state has u / h
        rows_in(B, true, after + w->plan->model->nq, P->u);
        for (int k = 0; k < B->m.nv; k++) P->u[k] = P->W.in.h * P->u[k];
        return;
    }
    for (int i = 0; i < B->m.nbody; i++) {
        const lane_body *const b = &B->m.bodies[i];
        for (int k = 0; k < b->nv && b->kind != JOINT_BALL; k++) P->u[b->vadr + k] = P->x[b->qadr + k] - A->S.q[b->qadr + k];
    }
}

static void bar_part_of_block(void *context, int thread, int job)
{
    (void)thread;
    const bar_call *const c = context;
    const along_world *const w = c->w;
    const lane_rows *const B = &w->rows[job];
    const lane_model *const m = &B->m;
    ladder_work *const L = &w->step[job].W.po;
    adjoint_block *const A = &w->back[job];
    position_adjoint *const one = &A->one;
    const bool alpha = is_alpha(w->cfg);
    const alpha_rule *const r = &L->part.rule;
    const rate_pose *const X = alpha ? A->alpha.X : A->after.V;
    const position_state S = as_position(&w->step[job].S);
    switch (c->part) {
    case BAR_SOLUTION: bar_solution(w, job, c->flat); break;
    case BAR_READY: one->W = L->one.W; break;
    case BAR_END:
        bar_copy(w, job, c->flat, &A->after, true);
        for (int k = 0; k < m->nv; k++) A->tau_bar[k] = rset(0);
        if (alpha) alpha_end_pullback(m, r, one, &A->alpha, &A->after, &A->before);
        else position_begin_pullback(m, one, &A->after, &A->before);
        pose_loads(m, one->W.now, X, alpha ? r->end : one->W.in.inv_h, one->P.load);
        break;
    case BAR_START: pose_loads(m, one->W.start, X, negate(alpha ? r->end : one->W.in.inv_h), one->P.load); break;
    case BAR_WAY:
        if (alpha) increments_pullback(m, one, A->alpha.x, r->end, A->before.q);
        else increments_pullback(m, one, A->after.v, one->W.in.inv_h, A->before.q);
        break;
    case BAR_AIM:
        if (alpha) motion_pullback(m, one, r->c * r->h, A->alpha.X, A->before.q, A->alpha.rate, A->alpha.slack, A->alpha.turn);
        else motion_pullback(m, one, one->W.in.inv_h, A->before.V, A->before.q, A->before.v, NULL, A->tau_bar);
        pose_loads(m, one->W.start, alpha ? A->alpha.X : A->before.V, one->W.in.inv_h, one->P.load);
        break;
    case BAR_STORE:
        if (alpha) alpha_aims_pullback(m, r, &S, one, &A->alpha, &A->before, A->tau_bar);
        bar_copy(w, job, c->flat, &A->before, false);
        rows_out(B, true, A->tau_bar, c->tau);
    }
}

static void bar_run(along_world *w, pool *threads, bar_parts part, double *flat, double *tau)
{
    bar_call c = {w, part, flat, tau};
    pool_run(threads, w->count, bar_part_of_block, &c);
}

/// Makes ready for along_pull() of the step from the state `before` to `after` (flat) under tau (NULL: none). false: it was not
/// made so, or begins with forward dynamics.
static bool along_prepare(along_world *w, pool *threads, const ctn_batch_config *cfg, const double *before, const double *after,
                          const double *tau)
{
    along_copy copy = {w, (double *)before, tau, true};
    along_part part = {.w = w, .part = PLACE_START, .forced = tau != NULL};
    const block_state *const S = &w->step[0].S;
    w->cfg = cfg, w->mode = (along_mode){.now = true};
    pool_run(threads, w->count, step_copy, &copy);
    // of another size: its accelerations are to be scaled first
    if (is_alpha(cfg) && (*(const double *)S->fresh > 0 || *(const double *)S->size != cfg->dt)) return false;
    ALONG_EACH(threads, w->count, step_part_of_block, &part);
    along_evaluate(w, threads, false);
    part.part = KEEP_START;
    ALONG_EACH(threads, w->count, step_part_of_block, &part);
    part.part = BEGIN_STEP;
    pool_run(threads, w->count, step_part_of_block, &part);
    if (w->plan->model->slides) along_reach(w, threads);
    bar_run(w, threads, BAR_SOLUTION, (double *)after, NULL);
    along_evaluate(w, threads, true);
    if (!everywhere(solves_step(cfg, rset(along_residual(w, threads))))) return false;
    if (!(along_sweep(w, threads) < 5e5)) return false;  // a pivot is nothing, or no number: at an open end that may be
    bar_run(w, threads, BAR_READY, NULL, NULL);
    return true;
}

/// Gradients by the state before the step that was prepared, and by the joint forces, tau_bar [nv], from those by the state after
/// it.
static void along_pull(along_world *w, pool *threads, const double *after_bar, double *before_bar, double *tau_bar)
{
    bar_run(w, threads, BAR_END, (double *)after_bar, NULL);
    along_joint_rows(w, threads, true);
    bar_run(w, threads, BAR_START, NULL, NULL);
    along_joint_rows(w, threads, false);
    bar_run(w, threads, BAR_WAY, NULL, NULL);
    along_virtual_motion(w, threads);
    bar_run(w, threads, BAR_AIM, NULL, NULL);
    along_joint_rows(w, threads, false);
    bar_run(w, threads, BAR_STORE, before_bar, tau_bar);
}

#endif
