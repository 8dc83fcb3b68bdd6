/// Where the bodies of one world are at an iterate, what they weigh, and the residual: passes of along_solve.h.
#ifndef CATENA_ALONG_PLACE_H
#define CATENA_ALONG_PLACE_H

FN solve *solve_of(const along_world *w, int block) { return &w->step[block].W.po.one.W; }
FN stages *stages_in(const along_world *w, int block) { return &w->step[block].W.po.more.W; }  // of several stages

/// Whether steps of a configuration (NULL: none) are swept with blocks that are not symmetric: of several stages, and of one with
/// such a matrix, where squared rows stand for an energy (integrators/turning_sweep.h).
FN bool is_coupled(const along_plan *plan, const ctn_batch_config *cfg)
{
    return cfg && position_based(cfg->method) && (stages_of(cfg) > 1 || plan->model->skew);
}

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

FN void put_axes(along_world *w, int s, const double *M)
{
    memcpy(w->start + (size_t)w->plan->segment[s].cut * POSE, M, 9 * sizeof *M);
}

FN void chain_on_axes(double *M, const double *e)
{
    double next[9];
    for (int j = 0; j < 3; j++) turn_plain(M, e + 3 * j, next + 3 * j);
    memcpy(M, next, sizeof next);
}

/// Makes axes of tails, as seen from the heads of a cut path, those of what the heads hang on.
KERNEL void chain_axes(void *context, int thread, int job)
{
    (void)thread;
    go_along((const along_call *)context, job, false, 9, place_above, load_motion, chain_on_axes, put_axes, WORLD_POSE);
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

KERNEL_DATA double NOTHING[WRENCH + 3] = {0};

KERNEL void way_above(const along_world *w, int s, double *to)
{
    double M[POSE];
    place_above(w, s, M);
    memcpy(to, M + 9, 3 * sizeof *to);
}

FN void load_way(const along_world *w, int s, double *e)
{
    memcpy(e, w->start + (size_t)w->plan->segment[s].cut * POSE + 9, 3 * sizeof *e);
}

FN void put_way(along_world *w, int s, const double *x)
{
    memcpy(w->start + (size_t)w->plan->segment[s].cut * POSE + 9, x, 3 * sizeof *x);
}

FN void chain_on_way(double *x, const double *e)
{
    for (int k = 0; k < 3; k++) x[k] += e[k];
}

KERNEL void chain_ways(void *context, int thread, int job)
{
    (void)thread;
    go_along((const along_call *)context, job, false, 3, way_above, load_way, chain_on_way, put_way, NOTHING);
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
    TOLD_E,    // energy of the iterate; where they are coupled, of a sum over blocks
    TOLD_FAR,  // whether a joint is too far off
    TOLD_MOST,
    TOLD_SIZE,  // of a step, squared
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
    TOLD_DEPTH,  // of the deepest contact point
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
    case FORGET_ROWS: s->most = s->E = stages_in(c->w, job)->link = zero, stages_in(c->w, job)->too_far = none_of(); break;
    case FORGET_MOST: s->most = s->E = zero; break;
    case FORGET_NEGATIVE: s->negative = zero; break;
    case FORGET_STEP: s->slope = s->most = s->size = zero; break;
    case FORGET_TURNS: s->E = zero; break;
    case FORGET_ENERGIES:
        s->energy.kinetic = s->energy.potential = s->energy.spring = s->internal = zero;
        s->depth = rset(-NOT_REACHED);
    }
}

KERNEL void choose(void *context, int thread, int job)
{
    const along_choice *const c = (const along_choice *)context;
    (void)thread, (void)job;
    c->w->mode = c->mode;
}

/// Lanes are asked in groups of so many, and then the groups: sums run so whatever a lane block has.
enum { ASKED_AT_ONCE = 64 };

/// A group of lanes: lane blocks `first` to `end`; and of cuts.
typedef struct {
    int first, end, first_cut, end_cut;
} lane_group;

FN int groups_of(const along_plan *plan) { return (plan->lanes + ASKED_AT_ONCE - 1) / ASKED_AT_ONCE; }

FN lane_group group_of(const along_world *w, int group)
{
    enum { BLOCKS = ASKED_AT_ONCE / LANES };
    const int groups = groups_of(w->plan), cuts = (w->plan->cut_segments + groups - 1) / groups;
    lane_group g;
    g.first = group * BLOCKS, g.end = g.first + BLOCKS < w->count ? g.first + BLOCKS : w->count;
    g.first_cut = group * cuts;
    g.end_cut = g.first_cut + cuts < w->plan->cut_segments ? g.first_cut + cuts : w->plan->cut_segments;
    return g;
}

FN double sum_group(const along_world *w, lane_group g, size_t at)
{
    double sum = 0;
    for (int k = g.first; k < g.end; k++)
        for (int l = 0; l < LANES; l++) sum += ((const double *)((const char *)&w->step[k] + at))[l];
    return sum;
}

/// The larger one; NaN if one is.
FN double most_of(double most, double x) { return most < x ? x : x != x ? x : most; }

FN double most_of_group(const along_world *w, lane_group g, size_t at)
{
    double most = 0;
    for (int k = g.first; k < g.end; k++)
        for (int l = 0; l < LANES; l++) most = most_of(most, ((const double *)((const char *)&w->step[k] + at))[l]);
    return most;
}

/// Of all lanes.
FN double sum_lanes(const along_world *w, size_t at)
{
    double sum = 0;
    for (int k = 0; k < groups_of(w->plan); k++) sum += sum_group(w, group_of(w, k), at);
    return sum;
}
FN double most_lanes(const along_world *w, size_t at)
{
    double most = 0;
    for (int k = 0; k < groups_of(w->plan); k++) most = most_of(most, most_of_group(w, group_of(w, k), at));
    return most;
}
#define SUM(w, member) sum_lanes(w, offsetof(step_block, member))
#define MOST(w, member) most_lanes(w, offsetof(step_block, member))

/// The least share, at most 1; NaN if one is.
FN double least_share(const along_world *w, lane_group g)
{
    double least = 1;
    for (int k = g.first; k < g.end; k++)
        for (int l = 0; l < LANES; l++) {
            const double x = ((const double *)&w->step[k].sums.slope)[l];
            if (!(x >= least)) least = x;
        }
    return least;
}

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

/// A number of a group of lanes; of what is no sum over lanes all of it, for the group 0.
FN double told_of(const along_world *w, along_told what, lane_group g, int paths)
{
#define OF_GROUP(member) sum_group(w, g, offsetof(step_block, member))
#define MOST_OF_GROUP(member) most_of_group(w, g, offsetof(step_block, member))
    const step_block *const first = &w->step[0];
    double x = 0;
    switch (what) {
    case TOLD_E: return w->coupled ? OF_GROUP(sums.E) : OF_GROUP(W.po.one.W.E);
    case TOLD_FAR:
        for (int k = g.first; k < g.end; k++)
            x = any_of(w->stages > 1 ? stages_in(w, k)->too_far : solve_of(w, k)->too_far) ? 1 : x;
        return x;
    case TOLD_MOST: return MOST_OF_GROUP(sums.most);
    case TOLD_SIZE: return MOST_OF_GROUP(sums.size);
    case TOLD_SLOPE: return OF_GROUP(sums.slope);
    case TOLD_SHARE: return least_share(w, g);
    case TOLD_NEGATIVE: return OF_GROUP(sums.negative);
    case TOLD_CUTS:  // that of a path's last segment stays 0
        for (int k = g.first_cut; k < g.end_cut; k++) x += w->cut[k].negative;
        return x;
    case TOLD_WORK: return OF_GROUP(sums.flow.work);
    case TOLD_DISSIPATED: return OF_GROUP(sums.flow.dissipated);
    case TOLD_BAD:
        for (int k = g.first; k < g.end; k++) x = any_of(w->step[k].sums.bad) ? 1 : x;
        return x;
    case TOLD_TURNED: return MOST_OF_GROUP(sums.E);
    case TOLD_INTERNAL: return OF_GROUP(sums.internal);
    case TOLD_TREES: return g.first ? 0 : energy_of_trees(w);
    case TOLD_KINETIC: return OF_GROUP(sums.energy.kinetic);
    case TOLD_POTENTIAL: return OF_GROUP(sums.energy.potential);
    case TOLD_SPRING: return OF_GROUP(sums.energy.spring);
    case TOLD_DEPTH:
        x = -NOT_REACHED;
        for (int k = g.first; k < g.end; k++)
            for (int l = 0; l < LANES; l++) x = most_of(x, ((const double *)&w->step[k].sums.depth)[l]);
        return x;
    case TOLD_FRESH: return *(const double *)first->S.fresh;
    case TOLD_CREATED: return g.first ? 0 : *(const double *)&first->S.created[0];
    case TOLD_LOST: return g.first ? 0 : *(const double *)&first->S.created[1];
    case TOLD_JUMP: return OF_GROUP(sums.jump);
    case TOLD_CHANGE: return OF_GROUP(sums.change);
    case TOLD_PRESSED:
        for (int k = g.first; k < g.end; k++) x = any_of(w->step[k].sums.pressed) ? 1 : x;
        return x;
    case TOLD_KEPT:
        x = 1;
        for (int t = 0; t < w->plan->trees && !g.first; t++) x = w->kept[t].inner >= x ? x : w->kept[t].inner;
        return x;
    case TOLD_BLUR: return OF_GROUP(sums.blur);
    case TOLD_OFF:
        for (int k = 0; k < paths; k++) x = w->off[k] <= x ? x : w->off[k];
        return x;
    case TOLD: break;
    }
    return x;
#undef OF_GROUP
#undef MOST_OF_GROUP
}

/// Of several groups: what there is of each.
KERNEL void tell_group(void *context, int thread, int job)
{
    const along_ask *const c = (const along_ask *)context;
    const int groups = groups_of(c->w->plan), k = job / groups, group = job % groups;
    (void)thread;
    c->w->groups[k * groups + group] = told_of(c->w, (along_told)(c->what + k), group_of(c->w, group), c->paths);
}

/// And of all.
KERNEL void tell(void *context, int thread, int job)
{
    const along_ask *const c = (const along_ask *)context;
    along_world *const w = c->w;
    const along_told what = (along_told)(c->what + job);
    const int groups = groups_of(w->plan);
    const double *const of = w->groups + job * groups;
    (void)thread;
    if (groups == 1) {
        w->told[what] = told_of(w, what, group_of(w, 0), c->paths);
        return;
    }
    double x = of[0];
    for (int k = 1; k < groups; k++) {
        if (what == TOLD_SHARE) x = !(of[k] >= x) ? of[k] : x;
        else if (what == TOLD_MOST || what == TOLD_SIZE || what == TOLD_TURNED || what == TOLD_FAR || what == TOLD_BAD ||
                 what == TOLD_PRESSED || what == TOLD_FRESH || what == TOLD_OFF || what == TOLD_DEPTH)
            x = most_of(x, of[k]);
        else if (what != TOLD_KEPT) x += of[k];
    }
    w->told[what] = x;
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

/// `told` from one number to another; paths: of heads that were followed from.
KERNEL void ask_for(along_world *w, along_crew *crew, along_told first, along_told last, int paths)
{
    along_ask c = {w->self, (int)first, paths};
    const int groups = groups_of(w->plan);
    if (groups > 1) ALONG_EACH(crew, (last - first + 1) * groups, tell_group, &c);
    ALONG_EACH(crew, last - first + 1, tell, &c);
    along_fetch(crew, w);
}

KERNEL void along_tell(along_world *w, along_crew *crew, along_told first, along_told last) { ask_for(w, crew, first, last, 0); }

/// Placements at the iterate; weigh: and the rest of evaluate().
KERNEL void along_evaluate(along_world *w, along_crew *crew, bool weigh)
{
    along_call c = {.w = w->self};
    along_forget(w, crew, FORGET_ENERGY);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        const bool cut = is_cut(w->plan, c.level);
        if (cut) {
            ALONG_RUN(crew, w->count, step_relative, &c);
            ALONG_CHAIN(crew, w, chain_axes, &c);
        }
        ALONG_RUN(crew, w->count, step_place, &c);
        if (cut) ALONG_CHAIN(crew, w, chain_ways, &c);
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

KERNEL void nothing_behind(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memset(to, 0, (WRENCH + 3) * sizeof *to);
}

/// Its own wrench, and the way to its tail.
FN void load_wrench(const along_world *w, int s, double *e)
{
    memcpy(e, w->weight + (size_t)s * WRENCH, WRENCH * sizeof *e);
    memcpy(e + WRENCH, w->stretch + 3 * (size_t)w->plan->segment[s].cut, 3 * sizeof *e);
}

FN void put_behind(along_world *w, int s, const double *x)
{
    memcpy(w->behind + (size_t)w->plan->segment[s].cut * WRENCH, x, WRENCH * sizeof *x);
}

/// About the head, with its own; and how far that is.
FN void chain_on_wrench(double *x, const double *e)
{
    const double *const r = e + WRENCH;
    double next[WRENCH + 3];
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        next[k] = x[k] + (r[i] * x[3 + j] - r[j] * x[3 + i]) + e[k], next[3 + k] = x[3 + k] + e[3 + k];
        next[6 + k] = x[6 + k] + r[k];
    }
    memcpy(x, next, sizeof next);
}

/// The wrenches behind the tails of a cut path.
KERNEL void chain_wrenches(void *context, int thread, int job)
{
    (void)thread;
    go_along((const along_call *)context, job, true, WRENCH + 3, nothing_behind, load_wrench, chain_on_wrench, put_behind,
             NOTHING);
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
    for (int k = b->vadr; k < b->vadr + b->nv && B->m.skew; k++) {
        const real r = W->r[k] * W->step[i].unit, square = r * r;
        sums->E = sums->E + (B->partial[i] ? sel(live_lanes(B, i), square, rset(0)) : square);
    }
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
            ALONG_CHAIN(crew, w, chain_wrenches, &c);
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
