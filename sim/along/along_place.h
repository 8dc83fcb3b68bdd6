/// Where the bodies of one world are at an iterate, what they weigh, and the residual: passes of along_solve.h.
#ifndef CATENA_ALONG_PLACE_H
#define CATENA_ALONG_PLACE_H

FN solve *solve_of(const along_world *w, int block) { return &w->step[block].W.po.one.W; }
FN stages *stages_in(const along_world *w, int block) { return &w->step[block].W.po.more.W; }  // of several stages

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

/// Makes axes of tails, as seen from the heads of a cut path, those of what the heads hang on.
FN void chain_turned(const along_call *c, int path, lane_enter *above)
{
    along_world *const w = c->w;
    int s = first_of_path(c, path);
    double M[POSE];
    for (above(w, s, M); s >= 0; s = w->plan->segment[s].after) {
        double *const at = w->start + (size_t)w->plan->segment[s].cut * POSE, next[POSE];
        for (int j = 0; j < 3; j++) turn_plain(M, at + 3 * j, next + 3 * j);
        memcpy(at, M, 9 * sizeof *at), memcpy(M, next, 9 * sizeof *M);
    }
}

KERNEL void chain_axes(void *context, int thread, int job)
{
    (void)thread;
    chain_turned((const along_call *)context, job, place_above);
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
        E = E + evaluate_terms(&B->m, b, W, i);
        if (B->partial[i]) W->too_far = either(far, both(W->too_far, live)), E = sel(live, E, rset(0));
    }
    if (b->flags & BODY_LOAD) E = E + evaluate_loads(&B->m, W, i);  // lanes without a load have one of nothing
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
typedef enum { FORGET_ENERGY, FORGET_ROWS, FORGET_MOST, FORGET_NEGATIVE, FORGET_STEP, FORGET_TURNS, FORGET_ENERGIES } along_sums;

/// What `told` has, as a job for each.
typedef enum {
    TOLD_E,    // energy of the iterate; with several stages, of a sum over blocks
    TOLD_FAR,  // whether a joint is too far off
    TOLD_MOST,
    TOLD_SLOPE,
    TOLD_SHARE,     // with several stages: of the step, to begin with
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
    TOLD_JUMP,     // of what motors are told
    TOLD_CHANGE,   // of the caps of friction
    TOLD_PRESSED,  // whether a contact point is
    TOLD_KEPT,     // the least of what trees keep
    TOLD_BLUR,     // of the energy
    TOLD_OFF,      // of the heads that were followed from
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
    case FORGET_ROWS: s->most = s->E = zero, stages_in(c->w, job)->too_far = none_of(); break;
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

/// The least share, at most 1; NaN if one is.
FN double least_share(const along_world *w)
{
    double least = 1;
    for (int k = 0; k < w->count; k++)
        for (int l = 0; l < LANES; l++) {
            const double x = ((const double *)&w->step[k].sums.slope)[l];
            if (!(x >= least)) least = x;
        }
    return least;
}
#define SUM(w, member) sum_lanes(w, offsetof(step_block, member))
#define MOST(w, member) most_lanes(w, offsetof(step_block, member))

/// Kinetic energies of the trees that are free to move, each as a whole.
FN double energy_of_trees(const along_world *w)
{
    const ctn_model *const m = w->model;
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
    case TOLD_E: x = w->stages > 1 ? SUM(w, sums.E) : SUM(w, W.po.one.W.E); break;
    case TOLD_FAR:
        for (int k = 0; k < w->count; k++) x = any_of(w->stages > 1 ? stages_in(w, k)->too_far : solve_of(w, k)->too_far) ? 1 : x;
        break;
    case TOLD_MOST: x = MOST(w, sums.most); break;
    case TOLD_SLOPE: x = SUM(w, sums.slope); break;
    case TOLD_SHARE: x = least_share(w); break;
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
    case TOLD_JUMP: x = SUM(w, sums.jump); break;
    case TOLD_CHANGE: x = SUM(w, sums.change); break;
    case TOLD_PRESSED:
        for (int k = 0; k < w->count; k++) x = any_of(w->step[k].sums.pressed) ? 1 : x;
        break;
    case TOLD_KEPT:
        x = 1;
        for (int t = 0; t < w->plan->trees; t++) x = w->kept[t].inner >= x ? x : w->kept[t].inner;
        break;
    case TOLD_BLUR: x = SUM(w, sums.blur); break;
    case TOLD_LOST: x = *(const double *)&first->S.created[1]; break;
    case TOLD_OFF:
        for (int k = 0; k < c->paths; k++) x = w->off[k] <= x ? x : w->off[k];
        break;
    case TOLD: break;
    }
    w->told[c->what + job] = x;
}

/// How the passes to come are made.
KERNEL void along_choose(along_world *w, along_crew *crew, along_mode mode)
{
    const along_mode *const is = &w->mode;
    along_choice c = {w->self, mode};
    if (is->share == mode.share && is->dropped == mode.dropped && is->closed == mode.closed && is->now == mode.now) return;
    w->mode = mode;
    ALONG_EACH(crew, 1, choose, &c);
}

KERNEL void along_forget(along_world *w, along_crew *crew, along_sums what)
{
    along_ask c = {w->self, (int)what, 0};
    ALONG_EACH(crew, w->count, forget, &c);
}

/// `told` from one number to another.
KERNEL void along_tell(along_world *w, along_crew *crew, along_told first, along_told last)
{
    along_ask c = {w->self, (int)first, 0};
    ALONG_EACH(crew, last - first + 1, tell, &c);
    along_fetch(crew, w);
}

/// Placements at the iterate; weigh: and the rest of evaluate().
KERNEL void along_evaluate(along_world *w, along_crew *crew, bool weigh)
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
        c->stretch = add(add(c->stretch, lengths3(given(b)->r0)), load3(q));
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
    memset(to, 0, WRENCH * sizeof *to);
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

/// residual(): the rows, and the largest of them.
KERNEL double along_residual(along_world *w, along_crew *crew)
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

// ---- what rounding makes of the energy

KERNEL void step_blur(void *context, int thread, int job)
{
    (void)thread;
    const along_world *const w = ((const along_ask *)context)->w;
    const solve *const W = solve_of(w, job);
    const lane_rows *const B = &w->rows[job];
    real sum = rset(0);
    for (int i = 0; i < B->m.nbody; i++) {
        const joint_form f = form_of(&B->m.bodies[i]);
        if (f.kind == JOINT_NONE || !has_arm(f) || (f.flags & BODY_ROOT)) continue;
        const real work = magnitude(dot(W->sum[i].f, W->now[i].r));
        sum = sum + (B->partial[i] ? sel(live_lanes(B, i), work, rset(0)) : work);
    }
    w->step[job].sums.blur = sum;
}

/// energy_blur() of the tree, with the wrenches of the last residual.
KERNEL real along_blur(along_world *w, along_crew *crew)
{
    along_ask c = {w->self, 0, 0};
    ALONG_RUN(crew, w->count, step_blur, &c);
    along_tell(w, crew, TOLD_BLUR, TOLD_BLUR);
    return rset(PLACE_ROUNDING * sqrt((double)w->plan->model->nbody) * w->told[TOLD_BLUR]);
}

#endif
