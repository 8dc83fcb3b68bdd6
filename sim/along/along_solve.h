/// Newton's method along the links, for steps that are solved with one stage (integrators/position_step.h): the same kernels over the rows of a
/// plan. An iteration goes over the tree six times, outwards (>) and inwards (<):
///
///     > relative   axes at the tails of cut paths as seen from their heads; then those of all heads
///     > place      axes, arms, and ways dp since the start of the step, counted from the heads; then those of all heads
///     > weigh      wrench, block and energy of every body; the energy says whether the iterate is taken
///     < sum        wrenches of segments; then what stands behind each tail
///     < rows       residual(), which says whether it is the solution
///     < sweep      sweep_inward(), and in cut paths the far end; then the boundaries
///     > step       sweep_outward()
///
/// Serially a sweep certifies a direction of descent by positive pivots. Here pivots are those of segments with an open end. Inertia adds up over
/// an elimination: the negative eigenvalues of the Hessian are the negative pivots of all segments and those that the boundaries
/// add (boundary.h). Where there are none, the step descends; else curvature is dropped, as newton_sweep.h says. Hard solves are followed
/// (follow.h), by factors with closed ends. What is not solved here is left to the serial engine and its ladder.
#ifndef CATENA_ALONG_SOLVE_H
#define CATENA_ALONG_SOLVE_H

FN solve *solve_of(const along_world *w, int block) { return &w->step[block].W.po.one.W; }

// ---- where bodies are

KERNEL void leave_relative_axes(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->start + (size_t)cut * POSE, from, 9 * sizeof *from);
}

FN void relative_axes_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    mat3 *const R = (mat3 *)carried;
    *R = body_axes(b, form_of(b), *R, solve_of(w, block)->in.x);
}

KERNEL void step_relative(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    mat3 R;
    (void)thread;
    pass_outwards(c->w, job, c->level, 9, (real *)&R, enter_relative, leave_relative_axes, NULL, relative_axes_row);
}

/// Axes, and dp, of what a segment's head hangs on.
KERNEL void place_above(const along_world *w, int s, double *to)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    memcpy(to, WORLD_POSE, sizeof WORLD_POSE);
    if (above < 0) return;
    const solve *const W = solve_of(w, place_of(w->plan, above, &row, &lane));
    leave_lane(&W->now[row].R, lane, 9, to), leave_lane(&W->body[row].dp, lane, 3, to + 9);
}

KERNEL void chain_axes(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    int s = first_of_path(c, job);
    double M[POSE];
    (void)thread;
    for (place_above(w, s, M); s >= 0; s = w->plan->segment[s].after) {
        double *const at = w->start + (size_t)w->plan->segment[s].cut * POSE, next[POSE];
        for (int j = 0; j < 3; j++) turn_plain(M, at + 3 * j, next + 3 * j);
        memcpy(at, M, 9 * sizeof *at), memcpy(M, next, 9 * sizeof *M);
    }
}

/// In cut paths ways are counted from the heads.
KERNEL void enter_place(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) place_above(w, s, to);
    else memcpy(to, w->start + (size_t)cut * POSE, 9 * sizeof *to), to[9] = to[10] = to[11] = 0;
}

KERNEL void leave_way(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->start + (size_t)cut * POSE + 9, from + 9, 3 * sizeof *from);
}

/// What rows after a port take for their parent.
FN void place_port(along_world *w, int block, int i, real *carried)
{
    solve *const W = solve_of(w, block);
    W->now[i].R = *(mat3 *)carried, W->now[i].r = zero3(), W->body[i].dp = *(vec3 *)(carried + 9), W->body[i].w = wrench_zero();
}

FN void place_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    solve *const W = solve_of(w, block);
    BY_FORM(b, f, place_body(b, f, W, i))
    if (B->partial[i]) {  // idle lanes are where they were
        const mask live = live_lanes(B, i);
        const mat3 R = *(mat3 *)carried;
        mat3 *const N = &W->now[i].R;
        N->x = sel3(live, N->x, R.x), N->y = sel3(live, N->y, R.y), N->z = sel3(live, N->z, R.z);
        W->body[i].dp = sel3(live, W->body[i].dp, *(vec3 *)(carried + 9));
    }
    *(mat3 *)carried = W->now[i].R, *(vec3 *)(carried + 9) = W->body[i].dp;
}

KERNEL void step_place(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    real carried[POSE];
    (void)thread;
    pass_outwards(c->w, job, c->level, POSE, carried, enter_place, leave_way, place_port, place_row);
}

KERNEL void chain_ways(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    int s = first_of_path(c, job);
    double M[POSE];
    (void)thread;
    for (place_above(w, s, M); s >= 0; s = w->plan->segment[s].after) {
        double *const way = w->start + (size_t)w->plan->segment[s].cut * POSE + 9;
        for (int k = 0; k < 3; k++) {
            const double next = M[9 + k] + way[k];
            way[k] = M[9 + k], M[9 + k] = next;
        }
    }
}

// ---- what they weigh

KERNEL void enter_way(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    memset(to, 0, 3 * sizeof *to);
    if (cut >= 0) memcpy(to, w->start + (size_t)cut * POSE + 9, 3 * sizeof *to);
}

FN void weigh_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    solve *const W = solve_of(w, block);
    real E;
    W->body[i].dp = add(W->body[i].dp, *(vec3 *)carried);
    BY_FORM(b, f, E = weigh_body(&B->m, b, f, W, i))
    if (has_terms(b, W->in.tau)) {
        const mask far = W->too_far, live = live_lanes(B, i);
        E = E + evaluate_terms(b, W, i);
        if (B->partial[i]) W->too_far = either(far, both(W->too_far, live)), E = sel(live, E, rset(0));
    }
    W->E = W->E + E;
}

KERNEL void step_weigh(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    vec3 way;
    (void)thread;
    pass_outwards(c->w, job, c->level, 3, (real *)&way, enter_way, NULL, NULL, weigh_row);
}

// ---- numbers of all lanes together, in the order of the lanes

/// What a lane block has, as a job for each.
typedef enum { FORGET_ENERGY, FORGET_MOST, FORGET_NEGATIVE, FORGET_STEP, FORGET_TURNS, FORGET_ENERGIES } along_sums;

/// What `told` has, as a job for each.
typedef enum {
    TOLD_E,    // energy of the iterate
    TOLD_FAR,  // whether a joint is too far off
    TOLD_MOST,
    TOLD_SLOPE,
    TOLD_NEGATIVE,  // negative pivots
    TOLD_CUTS,      // likewise, of boundaries
    TOLD_WORK,
    TOLD_DISSIPATED,
    TOLD_BAD,     // whether the end of a step is none
    TOLD_TURNED,  // whether whole turns were taken off
    TOLD_INTERNAL,
    TOLD_TREES,  // kinetic energy of free trees as wholes
    TOLD_KINETIC,
    TOLD_POTENTIAL,
    TOLD_SPRING,
    TOLD_FRESH,  // of the state
    TOLD_CREATED,
    TOLD_LOST,
    TOLD_OFF,  // of the heads that were followed from
    TOLD
} along_told;

typedef struct {
    along_world *w;
    int what;   // along_sums, or along_told that is the first one
    int paths;  // TOLD_OFF: so many
} along_ask;

typedef struct {
    along_world *w;
    along_mode mode;
} along_choice;

KERNEL void forget(void *context, int thread, int job)
{
    const along_ask *const c = (const along_ask *)context;
    step_sums *const s = &c->w->step[job].sums;
    const real zero = rset(0);
    (void)thread;
    switch ((along_sums)c->what) {
    case FORGET_ENERGY: solve_of(c->w, job)->E = zero, solve_of(c->w, job)->too_far = none_of(); break;
    case FORGET_MOST: s->most = zero; break;
    case FORGET_NEGATIVE: s->negative = zero; break;
    case FORGET_STEP: s->slope = s->most = zero; break;
    case FORGET_TURNS: s->E = zero; break;
    case FORGET_ENERGIES: s->energy.kinetic = s->energy.potential = s->energy.spring = s->internal = zero;
    }
}

KERNEL void choose(void *context, int thread, int job)
{
    const along_choice *const c = (const along_choice *)context;
    (void)thread, (void)job;
    c->w->mode = c->mode;
}

FN double sum_lanes(const along_world *w, size_t at)
{
    double sum = 0;
    for (int k = 0; k < w->count; k++)
        for (int l = 0; l < LANES; l++) sum += ((const double *)((const char *)&w->step[k] + at))[l];
    return sum;
}

/// The largest; NaN if one is.
FN double most_lanes(const along_world *w, size_t at)
{
    double most = 0;
    for (int k = 0; k < w->count; k++)
        for (int l = 0; l < LANES; l++) {
            const double x = ((const double *)((const char *)&w->step[k] + at))[l];
            most = most < x ? x : x != x ? x : most;
        }
    return most;
}
#define SUM(w, member) sum_lanes(w, offsetof(step_block, member))
#define MOST(w, member) most_lanes(w, offsetof(step_block, member))

/// Kinetic energies of the trees that are free to move, each as a whole.
FN double energy_of_trees(const along_world *w)
{
    const ctn_model *const m = w->plan->model;
    double E = 0;
    for (int t = 0; t < w->plan->trees; t++) {
        const along_tree *const tree = &w->plan->tree[t];
        double P[3] = {0};
        if (m->bodies[tree->root].kind != JOINT_TRANSLATION) continue;
        for (int s = tree->first; s >= 0; s = w->plan->segment[s].beside)
            for (int k = 0; k < 3; k++) P[k] += w->moment[3 * (size_t)s + (size_t)k];
        E += 0.5 * (P[0] * P[0] + P[1] * P[1] + P[2] * P[2]) / m->bodies[tree->root].subtree_mass;
    }
    return E;
}

KERNEL void tell(void *context, int thread, int job)
{
    const along_ask *const c = (const along_ask *)context;
    const along_world *const w = c->w;
    const step_block *const first = &w->step[0];
    double x = 0;
    (void)thread;
    switch ((along_told)(c->what + job)) {
    case TOLD_E: x = SUM(w, W.po.one.W.E); break;
    case TOLD_FAR:
        for (int k = 0; k < w->count; k++) x = any_of(solve_of(w, k)->too_far) ? 1 : x;
        break;
    case TOLD_MOST: x = MOST(w, sums.most); break;
    case TOLD_SLOPE: x = SUM(w, sums.slope); break;
    case TOLD_NEGATIVE: x = SUM(w, sums.negative); break;
    case TOLD_CUTS:  // that of a path's last segment stays 0
        for (int k = 0; k < w->plan->cut_segments; k++) x += w->cut[k].negative;
        break;
    case TOLD_WORK: x = SUM(w, sums.flow.work); break;
    case TOLD_DISSIPATED: x = SUM(w, sums.flow.dissipated); break;
    case TOLD_BAD:
        for (int k = 0; k < w->count; k++) x = any_of(w->step[k].sums.bad) ? 1 : x;
        break;
    case TOLD_TURNED: x = MOST(w, sums.E); break;
    case TOLD_INTERNAL: x = SUM(w, sums.internal); break;
    case TOLD_TREES: x = energy_of_trees(w); break;
    case TOLD_KINETIC: x = SUM(w, sums.energy.kinetic); break;
    case TOLD_POTENTIAL: x = SUM(w, sums.energy.potential); break;
    case TOLD_SPRING: x = SUM(w, sums.energy.spring); break;
    case TOLD_FRESH: x = *(const double *)first->S.fresh; break;
    case TOLD_CREATED: x = *(const double *)&first->S.created[0]; break;
    case TOLD_LOST: x = *(const double *)&first->S.created[1]; break;
    case TOLD_OFF:
        for (int k = 0; k < c->paths; k++) x = w->off[k] <= x ? x : w->off[k];
        break;
    case TOLD: break;
    }
    w->told[c->what + job] = x;
}

#ifndef ALONG_JOBS
/// How the passes to come are made.
static void along_choose(along_world *w, along_crew *crew, along_mode mode)
{
    const along_mode *const is = &w->mode;
    along_choice c = {w->self, mode};
    if (is->share == mode.share && is->dropped == mode.dropped && is->closed == mode.closed && is->now == mode.now) return;
    w->mode = mode;
    ALONG_EACH(crew, 1, choose, &c);
}

static void along_forget(along_world *w, along_crew *crew, along_sums what)
{
    along_ask c = {w->self, (int)what, 0};
    ALONG_EACH(crew, w->count, forget, &c);
}

/// `told` from one number to another.
static void along_tell(along_world *w, along_crew *crew, along_told first, along_told last)
{
    along_ask c = {w->self, (int)first, 0};
    ALONG_EACH(crew, last - first + 1, tell, &c);
    along_fetch(crew, w);
}
#endif

#ifndef ALONG_JOBS
/// Placements at the iterate; weigh: and the rest of evaluate().
static void along_evaluate(along_world *w, along_crew *crew, bool weigh)
{
    along_call c = {.w = w->self};
    along_forget(w, crew, FORGET_ENERGY);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        const bool cut = is_cut(w->plan, c.level);
        if (cut) {
            ALONG_RUN(crew, w->count, step_relative, &c);
            ALONG_EACH(crew, cut_paths_of(w->plan, c.level), chain_axes, &c);
        }
        ALONG_RUN(crew, w->count, step_place, &c);
        if (cut) ALONG_EACH(crew, cut_paths_of(w->plan, c.level), chain_ways, &c);
        if (weigh) ALONG_RUN(crew, w->count, step_weigh, &c);
    }
}
#endif

// ---- the residual

/// What lanes carry: the wrench of what hangs there, and the way to the tail.
typedef struct {
    wrench w;
    vec3 stretch;
} stretch_lanes;

KERNEL void enter_nothing(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memset(to, 0, 9 * sizeof *to);
}

KERNEL void leave_stretch(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    memcpy(w->weight + (size_t)s * WRENCH, from, WRENCH * sizeof *from);
    if (cut >= 0) memcpy(w->stretch + 3 * (size_t)cut, from + 6, 3 * sizeof *from);
}

FN void gather_fork(const along_world *w, int block, int i)
{
    const lane_rows *const B = &w->rows[block];
    if (B->m.bodies[i].flags & BODY_FORK) gather_hands(w, B, i, WRENCH, w->weight, &solve_of(w, block)->sum[i]);
}

FN void stretch_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const solve *const W = solve_of(w, block);
    stretch_lanes *const c = (stretch_lanes *)carried;
    const joint_form f = form_of(b);
    if (f.kind == JOINT_TRANSLATION) {
        const real *const q = (w->mode.now ? w->step[block].W.po.one.x : w->step[block].S.q) + b->qadr;
        c->stretch = add(add(c->stretch, lengths3(b->r0)), load3(q));
        return;
    }
    gather_fork(w, block, i);
    c->w = gather_wrench(f, W->body[i].w, &c->w, W->sum, i);
    if (!has_arm(f)) return;
    const vec3 r = w->mode.now ? W->now[i].r : W->start[i].r;
    c->w = wrench_shift(c->w, r), c->stretch = add(c->stretch, r);
}

KERNEL void step_stretch(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    stretch_lanes S;
    (void)thread;
    pass_inwards(c->w, job, c->level, 9, (real *)&S, enter_nothing, leave_stretch, stretch_row);
}

/// The wrenches behind the tails of a cut path.
KERNEL void chain_wrenches(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    double behind[WRENCH] = {0};
    int s = first_of_path(c, job);
    (void)thread;
    while (segment[s].after >= 0) s = segment[s].after;
    for (; s >= 0; s = segment[s].before) {
        const double *const own = w->weight + (size_t)s * WRENCH, *const r = w->stretch + 3 * (size_t)segment[s].cut;
        double *const at = w->behind + (size_t)segment[s].cut * WRENCH;
        const double *const f = at + 3;
        memcpy(at, behind, sizeof behind);
        for (int k = 0; k < 3; k++) {
            const int x = (k + 1) % 3, y = (k + 2) % 3;
            behind[k] = at[k] + (r[x] * f[y] - r[y] * f[x]) + own[k], behind[3 + k] = f[k] + own[3 + k];
        }
    }
}

KERNEL void enter_behind(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    memset(to, 0, (WRENCH + 1) * sizeof *to);
    if (cut >= 0) memcpy(to, w->behind + (size_t)cut * WRENCH, WRENCH * sizeof *to);
}

KERNEL void leave_weight(along_world *w, int s, const double *from)
{
    memcpy(w->weight + (size_t)s * WRENCH, from, WRENCH * sizeof *from);
}

FN void residual_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    solve *const W = solve_of(w, block);
    step_sums *const sums = &w->step[block].sums;
    real most;
    gather_fork(w, block, i);
    BY_FORM(b, f, most = residual_body(b, f, W, i, (wrench *)carried))
    if (B->partial[i]) most = sel(live_lanes(B, i), most, rset(0));
    sums->most = larger(sums->most, most);
}

KERNEL void step_rows(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    wrench next;
    (void)thread;
    pass_inwards(c->w, job, c->level, WRENCH, (real *)&next, enter_behind, leave_weight, residual_row);
}

#ifndef ALONG_JOBS
/// residual(): the rows, and the largest of them.
static double along_residual(along_world *w, along_crew *crew)
{
    along_call c = {.w = w->self};
    along_forget(w, crew, FORGET_MOST);
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        if (is_cut(w->plan, c.level)) {
            ALONG_RUN(crew, w->count, step_stretch, &c);
            ALONG_EACH(crew, cut_paths_of(w->plan, c.level), chain_wrenches, &c);
        }
        ALONG_RUN(crew, w->count, step_rows, &c);
    }
    along_tell(w, crew, TOLD_MOST, TOLD_MOST);
    return w->told[TOLD_MOST];
}
#endif

// ---- the Newton step

/// 1 where a pivot is negative, from its inverse; where it is nothing or no number, more than any sum makes good.
FN real is_negative(real i)
{
    return sel(le(rset(0), i), sel(le(i, rset(NOT_REACHED)), rset(0), rset(1e6)), sel(lt(i, rset(0)), rset(1), rset(1e6)));
}

/// One body of sweep_inward(); dropped: without curvature, but for what pulls.
FN void sweep_any_row(along_world *w, int block, int i, bool dropped, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    position_work *const P = &w->step[block].W.po.one;
    subtree *const next = &((inward_lanes *)carried)->next;
    step_sums *const sums = &w->step[block].sums;
    const tree_pivot *const s = &P->sweep.pivot[i];
    if (b->flags & BODY_FORK) gather_hands(w, B, i, HAND, w->hand, &P->sweep.hand[i]);
    if (dropped) sweep_inward_body(b, form_of(b), &P->W, &P->sweep, i, true, false, next, next, P->fresh);
    else BY_FORM(b, f, sweep_inward_body(b, f, &P->W, &P->sweep, i, false, false, next, next, P->fresh))
    real negative = is_negative(b->nv == 3 ? s->three.D.i1 : s->one.i);
    if (b->nv == 3) negative = negative + is_negative(s->three.D.i2) + is_negative(s->three.D.i3);
    if (B->partial[i]) negative = sel(live_lanes(B, i), negative, rset(0));
    sums->negative = sums->negative + negative;
}

/// And the far end.
FN void sweep_far_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    position_work *const P = &w->step[block].W.po.one;
    far_end *const X = &((inward_lanes *)carried)->X;
    const placement *const at = &P->W.now[i];
    const tree_pivot *const s = &P->sweep.pivot[i];
    real *const y = w->step[block].y + 6 * b->vadr, *const d = P->fresh + b->vadr;
    if (b->nv == 3) far_rows3(b->kind == JOINT_BALL, s->three.D, &s->three.G, b->flags & BODY_OFFSET, at->r, load3(d), X, y);
    else far_row1(b, has_arm(form_of(b)), at->R.z, at->r, &s->one, d[0], X, y);
}

FN void sweep_row(along_world *w, int block, int i, real *carried) { sweep_any_row(w, block, i, false, carried); }
FN void sweep_dropped_row(along_world *w, int block, int i, real *carried) { sweep_any_row(w, block, i, true, carried); }
FN void sweep_cut_row(along_world *w, int block, int i, real *carried)
{
    sweep_any_row(w, block, i, false, carried), sweep_far_row(w, block, i, carried);
}
FN void sweep_dropped_cut_row(along_world *w, int block, int i, real *carried)
{
    sweep_any_row(w, block, i, true, carried), sweep_far_row(w, block, i, carried);
}

KERNEL void step_sweep(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    real *carried;
    inward_lanes I;
    (void)thread;
    carried = (real *)&I;
    w->step[job].W.po.one.sweep.dropped = w->mode.dropped ? not_(none_of()) : none_of(),
    w->step[job].W.po.one.sweep.held = none_of();
    if (is_cut(w->plan, c->level)) {
        if (w->mode.dropped) pass_inwards(w, job, c->level, HAND + FAR, carried, enter_open, leave_hand, sweep_dropped_cut_row);
        else pass_inwards(w, job, c->level, HAND + FAR, carried, enter_open, leave_hand, sweep_cut_row);
    } else if (w->mode.dropped) pass_inwards(w, job, c->level, HAND, carried, enter_open, leave_hand, sweep_dropped_row);
    else pass_inwards(w, job, c->level, HAND, carried, enter_open, leave_hand, sweep_row);
}

// ---- cut paths once more, with what is behind their tails: pivots and factors then are those of the tree as a whole

KERNEL void enter_closed(const along_world *w, int s, double *to)
{
    const int after = w->plan->segment[s].after;
    if (after < 0) memset(to, 0, HAND * sizeof *to);
    else memcpy(to, w->hand + (size_t)after * HAND, HAND * sizeof *to);
}

KERNEL void leave_closed(along_world *w, int s, const double *from) { (void)w, (void)s, (void)from; }

KERNEL void step_closed(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    inward_lanes I;
    (void)thread;
    if (c->w->mode.dropped) pass_inwards(c->w, job, c->level, HAND, (real *)&I, enter_closed, leave_closed, sweep_dropped_row);
    else pass_inwards(c->w, job, c->level, HAND, (real *)&I, enter_closed, leave_closed, sweep_row);
}

KERNEL void step_lead(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = (const along_call *)context;
    keep_lead(&c->w->rows[job].m, &c->w->step[job].W.po.one, not_(none_of()));
}

/// The motion that a step gives to what a segment's head hangs on.
KERNEL void step_above(const along_world *w, int s, double *d)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    memset(d, 0, 6 * sizeof *d);
    if (above < 0) return;
    const step_block *const up = &w->step[place_of(w->plan, above, &row, &lane)];
    leave_lane(&up->W.po.one.sweep.motion[row], lane, 6, d);
}

KERNEL void enter_step(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    memset(to, 0, 12 * sizeof *to);
    if (cut >= 0) memcpy(to, w->cut[cut].d, 12 * sizeof *to);  // d and f
    else step_above(w, s, to);
}

/// Slope and largest turn besides.
FN void step_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    step_block *const A = &w->step[block];
    position_work *const P = &A->W.po.one;
    const placement *const at = &P->W.now[i];
    const tree_pivot *const s = &P->sweep.pivot[i];
    twist *const d = &((outward_lanes *)carried)->d;
    BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &s->one, &s->three.G, P->sweep.motion, i, d, P->fresh))
    for (int k = b->vadr; k < b->vadr + b->nv; k++) {
        P->d[k] = P->fresh[k];
        if (B->partial[i])
            P->d[k] = sel(live_lanes(B, i), P->d[k], rset(0)), P->W.r[k] = sel(live_lanes(B, i), P->W.r[k], rset(0));
        A->sums.slope = fmadd(P->W.r[k], P->d[k], A->sums.slope);
        if (!only_slides(b)) A->sums.most = larger(A->sums.most, magnitude(P->d[k]));
    }
}

FN void step_cut_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    step_block *const A = &w->step[block];
    position_work *const P = &A->W.po.one;
    const real *const f = ((outward_lanes *)carried)->f, *const y = A->y + 6 * b->vadr;
    real *const d = P->fresh + b->vadr;
    if (b->nv == 3) store3(d, far_take3(P->sweep.pivot[i].three.D, y, f, load3(d)));
    else d[0] = far_take1(y, f, d[0]);
    step_row(w, block, i, carried);
}

KERNEL void step_outwards(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    outward_lanes O;
    (void)thread;
    if (is_cut(c->w->plan, c->level) && !c->w->mode.closed)
        pass_outwards(c->w, job, c->level, 12, (real *)&O, enter_step, NULL, NULL, step_cut_row);
    else pass_outwards(c->w, job, c->level, 6, (real *)&O, enter_step, NULL, NULL, step_row);
}

KERNEL void step_boundaries(void *context, int thread, int job)
{
    (void)thread;
    pass_boundaries((const along_call *)context, job, step_above);
}

#ifndef ALONG_JOBS
/// Inwards: factors and right-hand sides of all segments. Returns how many negative eigenvalues the Hessian has.
static double along_sweep(along_world *w, along_crew *crew)
{
    along_call c = {.w = w->self};
    along_forget(w, crew, FORGET_NEGATIVE);
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        ALONG_RUN(crew, w->count, step_sweep, &c);
        ALONG_EACH(crew, cut_paths_of(w->plan, c.level), join_segments, &c);
    }
    along_tell(w, crew, TOLD_NEGATIVE, TOLD_CUTS);
    return w->told[TOLD_CUTS] + w->told[TOLD_NEGATIVE];
}

/// The step d from the iterate, its slope and the largest turn in it into sums; hard: it is to be followed. Returns whether the energy
/// falls along it. Where curvature has been dropped for that, it is hard, and so are those after it.
static bool along_direction(along_world *w, along_crew *crew, bool *hard, position_counts *count)
{
    along_call c = {.w = w->self};
    along_mode mode = w->mode;
    mode.dropped = false;
    along_choose(w, crew, mode);
    if (along_sweep(w, crew) != 0) {
        mode.dropped = *hard = true, count->curvature = count->curvature + rset(1);
        along_choose(w, crew, mode);
        if (along_sweep(w, crew) != 0) return false;
    }
    mode.closed = *hard;
    along_choose(w, crew, mode);
    if (*hard) {
        for (c.level = 0; c.level < w->plan->levels; c.level++)
            if (is_cut(w->plan, c.level)) ALONG_RUN(crew, w->count, step_closed, &c);
        ALONG_RUN(crew, w->count, step_lead, &c);
    }
    along_forget(w, crew, FORGET_STEP);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        ALONG_EACH(crew, cut_paths_of(w->plan, c.level), step_boundaries, &c);
        ALONG_RUN(crew, w->count, step_outwards, &c);
    }
    along_tell(w, crew, TOLD_MOST, TOLD_SLOPE);
    return true;
}
#endif

// ---- steps that follow themselves (integrators/follow.h): within segments; where a path is cut by the linear motion of the cut

/// Turns the axes R (columns) by the vector u, rad, world axes.
KERNEL void turn_axes(const double *u, double *R)
{
    const double x = u[0], y = u[1], z = u[2], t2 = x * x + y * y + z * z, t = sqrt(t2);
    real sine, cosine;
    sincos_quarters(rset(t), rset(0), &sine, &cosine);
    const double s = t > 1e-4 ? *(double *)&sine / t : 1 - t2 / 6, c = t > 1e-4 ? (1 - *(double *)&cosine) / t2 : 0.5 - t2 / 24;
    for (int j = 0; j < 3; j++, R += 3) {  // exp(u) r = r + s u x r + c u x (u x r)
        const double v[3] = {y * R[2] - z * R[1], z * R[0] - x * R[2], x * R[1] - y * R[0]};
        R[0] += s * v[0] + c * (y * v[2] - z * v[1]), R[1] += s * v[1] + c * (z * v[0] - x * v[2]);
        R[2] += s * v[2] + c * (x * v[1] - y * v[0]);
    }
}

/// Where the body above a segment was and is, as bodies stand in whereabouts.
typedef struct {
    whereabouts base, now;
} follow_lanes;
enum { WHERE = sizeof(whereabouts) / sizeof(real) };  // axes, the arm, dp

KERNEL void enter_follow(const along_world *w, int s, double *to)
{
    const along_segment *const S = &w->plan->segment[s];
    int row, lane;
    double *const now = to + WHERE;
    for (int k = 0; k < 2; k++) memset(to + k * WHERE, 0, WHERE * sizeof *to), memcpy(to + k * WHERE, WORLD_POSE, 9 * sizeof *to);
    if (S->above < 0) return;
    const position_work *const P = &w->step[place_of(w->plan, S->above, &row, &lane)].W.po.one;
    leave_lane(&P->at[row], lane, WHERE, to);
    if (S->before < 0) leave_lane(&P->W.now[row].R, lane, 9, now), leave_lane(&P->W.body[row].dp, lane, 3, now + WHERE - 3);
    else {
        const double *const start = w->start + (size_t)S->cut * POSE;
        memcpy(now, start, 9 * sizeof *now), memcpy(now + WHERE - 3, start + 9, 3 * sizeof *now);
    }
}

KERNEL void leave_follow(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) return;
    memcpy(w->tail + (size_t)cut * POSE, from + WHERE, 9 * sizeof *from);
    memcpy(w->tail + (size_t)cut * POSE + 9, from + 2 * WHERE - 3, 3 * sizeof *from);
}

/// Where the heads of a cut path come to by the linear motions of the cuts.
KERNEL void guess_heads(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    (void)thread;
    for (int s = w->plan->segment[first_of_path(c, job)].after; s >= 0; s = w->plan->segment[s].after) {
        int row, lane;
        const along_segment *const S = &w->plan->segment[s];
        const position_work *const P = &w->step[place_of(w->plan, S->above, &row, &lane)].W.po.one;
        double *const start = w->start + (size_t)S->cut * POSE, at[WHERE], u[6];
        leave_lane(&P->at[row], lane, WHERE, at);
        for (int k = 0; k < 6; k++) u[k] = w->mode.share * w->cut[S->cut].d[k];
        memcpy(start, at, 9 * sizeof *at);
        turn_axes(u, start);
        for (int k = 0; k < 3; k++) start[9 + k] = at[WHERE - 3 + k] + u[3 + k];
    }
}

/// Where they come to once segments have been followed from there: each head is where the tail before it is, which has moved with its own head
/// by X, as far as that was elsewhere. Notes by how much the farthest head was elsewhere, in rad and in extents of the tree.
/// (Parareal in space: after n times the first n heads of a path are where they belong.)
KERNEL void mend_heads(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    int s = first_of_path(c, job);
    const double extent = w->plan->model->bodies[w->plan->segment[s].head].extent;
    double off[6] = {0}, most = 0;
    (void)thread;
    for (; w->plan->segment[s].after >= 0; s = w->plan->segment[s].after) {
        const boundary *const e = &w->cut[w->plan->segment[s].cut];
        double *const tail = w->tail + (size_t)w->plan->segment[s].cut * POSE;
        double *const head = w->start + (size_t)w->plan->segment[w->plan->segment[s].after].cut * POSE, u[6] = {0}, y[6] = {0};
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) u[i] += e->X[i][j] * off[j];
        turn_axes(u, tail);
        for (int k = 0; k < 3; k++) tail[9 + k] += u[3 + k];
        for (int j = 0; j < 3; j++) {  // sin of the turn from where the head was taken to be: half the sum of h x t
            const double *const h = head + 3 * j, *const t = tail + 3 * j;
            y[0] += 0.5 * (h[1] * t[2] - h[2] * t[1]), y[1] += 0.5 * (h[2] * t[0] - h[0] * t[2]);
            y[2] += 0.5 * (h[0] * t[1] - h[1] * t[0]);
        }
        for (int k = 0; k < 3; k++) y[3 + k] = tail[9 + k] - head[9 + k];
        for (int k = 0; k < 6; k++) {
            const double far = fabs(k < 3 || extent <= 0 ? y[k] : y[k] / extent);
            if (!(far <= most)) most = far;
        }
        memcpy(off, y, sizeof off), memcpy(head, tail, POSE * sizeof *head);
    }
    w->off[job] = most;
}

/// What rows after a port take for their parent.
FN void follow_port(along_world *w, int block, int i, real *carried)
{
    const follow_lanes *const c = (const follow_lanes *)carried;
    position_work *const P = &w->step[block].W.po.one;
    P->at[i] = c->base, P->W.now[i].R = c->now.T.R, P->W.body[i].dp = c->now.dp;
}

FN void follow_any_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    position_work *const P = &w->step[block].W.po.one;
    follow_lanes *const c = (follow_lanes *)carried;
    const mask live = live_lanes(B, i);
    follow_row(&B->m.bodies[i], i, P, rset(w->mode.share), live);
    if (B->partial[i]) {  // idle lanes are where they were
        keep_whereabouts(&P->at[i], &c->base.T, c->base.dp, not_(live));
        P->W.now[i].R.x = sel3(live, P->W.now[i].R.x, c->now.T.R.x), P->W.now[i].R.y = sel3(live, P->W.now[i].R.y, c->now.T.R.y);
        P->W.now[i].R.z = sel3(live, P->W.now[i].R.z, c->now.T.R.z), P->W.body[i].dp = sel3(live, P->W.body[i].dp, c->now.dp);
    }
    c->base = P->at[i], c->now.T.R = P->W.now[i].R, c->now.dp = P->W.body[i].dp;
}

KERNEL void step_follow(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    follow_lanes F;
    (void)thread;
    pass_outwards(c->w, job, c->level, 2 * WHERE, (real *)&F, enter_follow, leave_follow, follow_port, follow_any_row);
}

// ---- the iteration

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

#ifndef ALONG_JOBS
/// Whether something has been found in every lane; all of them say the same.
FN bool everywhere(mask m) { return !any_of(not_(m)); }

#define HEADS_MEET 1e-7  // tails, in steps that are followed

/// The next iterate.
static void along_step_on(along_world *w, along_crew *crew, along_move *move, bool follows)
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
        double off = 0;
        ALONG_EACH(crew, paths, guess_heads, &c);
        do {
            ALONG_RUN(crew, w->count, step_follow, &c);
            if (!paths) break;
            ALONG_EACH(crew, paths, mend_heads, &c);
            along_ask ask = {w->self, TOLD_OFF, paths};
            ALONG_EACH(crew, 1, tell, &ask);
            along_fetch(crew, w);
            off = w->told[TOLD_OFF];
        } while (off > HEADS_MEET && --more);
    }
}

/// Solves the step, as newton_pass() does, for the residual *residual. Returns whether it was solved.
static bool along_newton(along_world *w, along_crew *crew, const ctn_batch_config *cfg, position_counts *count, real *residual)
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
        count_evaluation(count, all);
        along_tell(w, crew, TOLD_E, TOLD_FAR);
        const bool far = w->told[TOLD_FAR] != 0;
        const real E = rset(w->told[TOLD_E]);
        const real bound = fmadd(rset(ENERGY_ROUNDING), magnitude(N.E), fmadd(rset(1e-4) * alpha, slope, N.E));
        const mask taken = takes_iterate(&N, le(magnitude(E), rset(NOT_REACHED)), le(E, bound), cfg->tolerance);
        move.based = any_of(taken);
        if (any_of(taken)) {
            const real most = rset(along_residual(w, crew));
            const mask need = settle_iterate(&N, taken, most, le(rset(1), alpha), far ? all : none_of(), cfg->tolerance,
                                             cfg->max_iterations, residual);
            if (!any_of(need)) break;
            bool hard = any_of(N.hard);
            if (!along_direction(w, crew, &hard, count)) return false;
            const double turn = w->told[TOLD_MOST];
            N.hard = hard ? all : none_of(), N.slope = rset(w->told[TOLD_SLOPE]);
            base_newton(&N, need, E, rset(turn <= 3.1 ? 1 : 3.1 / turn));
        } else {
            count->line_search = count->line_search + rset(1);
            const real rise = fnmadd(alpha, slope, E - N.E);
            shorten_newton(&N, all, rset(-0.5) * slope * alpha * alpha / rise, 1e-9);
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

#endif
