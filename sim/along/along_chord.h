/// The rows of a variational step along the links: the functions of integrators/variational.h over the rows of a plan.
///
///     > axes      at the tails of cut paths as seen from their heads; then those of all heads
///     > start     start_chord_body(), once a step
///     > ways      place_chord_body() in cut paths, as if what the heads hang on stayed where it was; then those of all heads
///     > place     place_chord_body(), weigh_chord_body()
///     < sum       wrenches of the segments of cut paths; then what stands behind each tail
///     < rows      chord_residual_body()
///
/// The changes dR, dp of a tail are an affine function of those of the body H that its segment hangs on: with dR', dp' those that
/// there are while H stays,
///
///     dR = dR_H R0_H'(R0 + dR') + dR',      dp = dp_H + dR_H R0_H'(p0 - p0_H + dp') + dp',
///
/// so no difference of poses is ever formed here either. Momenta at the end are summed as the rows are, about the origins there.
/// Of the wrenches l of loads on bodies, at both ends, half of h l is among those of the bodies.
#ifndef CATENA_ALONG_CHORD_H
#define CATENA_ALONG_CHORD_H

FN chord *chord_of(const along_world *w, int block) { return &w->step[block].W.va.W; }

// ---- the start of a step

FN void start_axes_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    mat3 *const R = (mat3 *)carried;
    *R = body_axes(b, form_of(b), *R, w->step[block].S.q);
}

static void chord_axes(void *context, int thread, int job)
{
    const along_call *const c = context;
    mat3 R;
    (void)thread;
    pass_outwards(c->w, job, c->level, 9, (real *)&R, enter_relative, leave_relative_axes, NULL, start_axes_row);
}

/// Axes at the start of what a segment's head hangs on.
static void start_above(const along_world *w, int s, double *to)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    memcpy(to, WORLD_POSE, 9 * sizeof *to);
    if (above < 0) return;
    const chord *const W = chord_of(w, place_of(w->plan, above, &row, &lane));
    leave_lane(&W->start[row].R, lane, 9, to);
}

static void chain_start_axes(void *context, int thread, int job)
{
    (void)thread;
    go_along(context, job, false, 9, start_above, load_motion, chain_on_axes, put_axes, WORLD_POSE);
}

/// What lanes carry: axes, and the way from what the head hangs on.
typedef struct {
    mat3 R;
    vec3 way;
} start_lanes;

static void enter_start(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) start_above(w, s, to);
    else memcpy(to, w->start + (size_t)cut * POSE, 9 * sizeof *to);
    to[9] = to[10] = to[11] = 0;
}

static void leave_start(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->stretch + 3 * (size_t)cut, from + 9, 3 * sizeof *from);
}

/// What rows after a port take for their parent; so below.
FN void start_port(along_world *w, int block, int i, real *carried)
{
    chord_of(w, block)->start[i].R = ((const start_lanes *)carried)->R;
}

FN void start_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    chord *const W = chord_of(w, block);
    start_lanes *const c = (start_lanes *)carried;
    mat3 *const R = &W->start[i].R;
    real most = start_chord_body(&B->m, b, form_of(b), W, i, c->R);
    if (B->partial[i]) {  // idle lanes are where they were
        const mask live = live_lanes(B, i);
        R->x = sel3(live, R->x, c->R.x), R->y = sel3(live, R->y, c->R.y), R->z = sel3(live, R->z, c->R.z);
        most = sel(live, most, rset(0));
    }
    W->scale = larger(W->scale, most);
    c->R = *R, c->way = add(c->way, W->start[i].r);
}

static void chord_starts(void *context, int thread, int job)
{
    const along_call *const c = context;
    start_lanes L;
    (void)thread;
    pass_outwards(c->w, job, c->level, POSE, (real *)&L, enter_start, leave_start, start_port, start_row);
}

/// start_chord() but for what the rows aim at.
static void along_start_chord(along_world *w, pool *threads)
{
    along_call c = {.w = w};
    for (int b = 0; b < w->count; b++) chord_of(w, b)->scale = rset(0);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        if (is_cut(w->plan, c.level)) {
            pool_run(threads, w->count, chord_axes, &c);
            ALONG_CHAIN(threads, w, chain_start_axes, &c);
        }
        pool_run(threads, w->count, chord_starts, &c);
    }
}

// ---- where bodies are at the iterate

/// What lanes carry: the changes of axes and origin since the start.
typedef struct {
    mat3 dR;
    vec3 dp;
} chord_lanes;

static void chord_above(const along_world *w, int s, double *to)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    memset(to, 0, POSE * sizeof *to);
    if (above < 0) return;
    const chord_body *const t = &chord_of(w, place_of(w->plan, above, &row, &lane))->body[row];
    leave_lane(&t->dR, lane, 9, to), leave_lane(&t->dp, lane, 3, to + 9);
}

static void enter_unmoved(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memset(to, 0, POSE * sizeof *to);
}

static void leave_moved(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->start + (size_t)cut * POSE, from, POSE * sizeof *from);
}

static void chain_moved(void *context, int thread, int job)
{
    const along_call *const c = context;
    along_world *const w = c->w;
    int s = first_of_path(c, job);
    double M[POSE], R[9];
    (void)thread;
    chord_above(w, s, M), start_above(w, s, R);
    for (; s >= 0; s = w->plan->segment[s].after) {
        const size_t cut = (size_t)w->plan->segment[s].cut;
        double *const at = w->start + cut * POSE, R0[9], next[POSE], x[3], y[3];
        int row, lane;
        const chord *const W = chord_of(w, place_of(w->plan, w->plan->segment[s].tail, &row, &lane));
        leave_lane(&W->start[row].R, lane, 9, R0);
        for (int j = 0; j < 4; j++) {
            for (int k = 0; k < 3; k++) x[k] = (j < 3 ? R0[3 * j + k] : w->stretch[3 * cut + (size_t)k]) + at[3 * j + k];
            turn_back(R, x, y), turn_plain(M, y, next + 3 * j);
            for (int k = 3 * j; k < 3 * j + 3; k++) next[k] += at[k];
        }
        for (int k = 9; k < POSE; k++) next[k] += M[k];
        memcpy(at, M, sizeof M), memcpy(M, next, sizeof M), memcpy(R, R0, sizeof R);
    }
}

static void enter_moved(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) chord_above(w, s, to);
    else memcpy(to, w->start + (size_t)cut * POSE, POSE * sizeof *to);
}

FN void chord_port(along_world *w, int block, int i, real *carried)
{
    const chord_lanes *const c = (const chord_lanes *)carried;
    chord_body *const t = &chord_of(w, block)->body[i];
    t->dR = c->dR, t->dp = c->dp;
}

FN void way_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    chord *const W = chord_of(w, block);
    chord_lanes *const c = (chord_lanes *)carried;
    chord_body *const t = &W->body[i];
    BY_FORM(b, f, place_chord_body(b, f, W, i))
    if (B->partial[i]) {
        const mask live = live_lanes(B, i);
        mat3 *const R = &t->dR;
        R->x = sel3(live, R->x, c->dR.x), R->y = sel3(live, R->y, c->dR.y), R->z = sel3(live, R->z, c->dR.z);
        t->dp = sel3(live, t->dp, c->dp);
    }
    c->dR = t->dR, c->dp = t->dp;
}

/// Half of what the loads on a row's bodies give in a step, times `sign`.
FN wrench half_impulse(const along_world *w, int block, int i, double sign)
{
    const wrench l = w->aba[block].load[i];
    const real half = rset(0.5 * sign) * chord_of(w, block)->h;
    return (wrench){scale(l.n, half), scale(l.f, half)};
}

FN void chord_place_row(along_world *w, int block, int i, real *carried)
{
    const lane_model *const m = &w->rows[block].m;
    const lane_body *const b = &m->bodies[i];
    wrench *const at = &chord_of(w, block)->body[i].w;
    way_row(w, block, i, carried);
    BY_FORM(b, f, weigh_chord_body(m, b, f, chord_of(w, block), i))
    if (b->flags & BODY_LOAD) *at = wrench_add(*at, half_impulse(w, block, i, -1));
}

static void chord_ways(void *context, int thread, int job)
{
    const along_call *const c = context;
    chord_lanes L;
    (void)thread;
    pass_outwards(c->w, job, c->level, POSE, (real *)&L, enter_unmoved, leave_moved, chord_port, way_row);
}

static void chord_places(void *context, int thread, int job)
{
    const along_call *const c = context;
    chord_lanes L;
    (void)thread;
    pass_outwards(c->w, job, c->level, POSE, (real *)&L, enter_moved, NULL, chord_port, chord_place_row);
}

// ---- the residual

/// The wrench of a row's subtree, of what lanes carry and `own`.
FN wrench chord_wrench(along_world *w, int block, int i, wrench own, const wrench *next)
{
    const lane_rows *const B = &w->rows[block];
    chord *const W = chord_of(w, block);
    if (B->m.bodies[i].flags & BODY_FORK) gather_hands(w, B, i, WRENCH, w->weight, &W->sum[i]);
    return gather_wrench(form_of(&B->m.bodies[i]), own, next, W->sum, i);
}

/// Sums of segments; what hangs on a root is nobody's.
FN void chord_sum_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const chord *const W = chord_of(w, block);
    wrench *const next = (wrench *)carried;
    if (b->kind == JOINT_TRANSLATION) return;
    *next = chord_wrench(w, block, i, W->body[i].w, next);
    if (has_arm(form_of(b))) *next = wrench_shift(*next, W->start[i].r);
}

static void chord_sums(void *context, int thread, int job)
{
    const along_call *const c = context;
    wrench next;
    (void)thread;
    pass_inwards(c->w, job, c->level, WRENCH, (real *)&next, enter_side, leave_weight, chord_sum_row);
}

FN void chord_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    chord *const W = chord_of(w, block);
    step_sums *const sums = &w->step[block].sums;
    const real merit = W->merit;
    real most;
    if (b->flags & BODY_FORK) gather_hands(w, B, i, WRENCH, w->weight, &W->sum[i]);
    BY_FORM(b, f, most = chord_residual_body(b, f, W, i, (wrench *)carried))
    if (B->partial[i]) {
        const mask live = live_lanes(B, i);
        W->merit = sel(live, W->merit, merit), most = sel(live, most, rset(0));
    }
    sums->most = larger(sums->most, most);
}

static void chord_rows(void *context, int thread, int job)
{
    const along_call *const c = context;
    wrench next;
    (void)thread;
    pass_inwards(c->w, job, c->level, WRENCH, (real *)&next, enter_behind, leave_weight, chord_row);
}

/// Inwards by levels, where `sum` finds the wrenches of segments, `chain` those behind their tails, and `rows` goes by these.
static void along_wrenches(along_world *w, pool *threads, pool_job sum, pool_job chain, pool_job rows)
{
    along_call c = {.w = w};
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        if (is_cut(w->plan, c.level)) {
            pool_run(threads, w->count, sum, &c);
            ALONG_CHAIN(threads, w, chain, &c);
        }
        pool_run(threads, w->count, rows, &c);
    }
}

/// chord_residual(): the rows; the largest of them, and the merit, are in lanes.
static void along_chord_residual(along_world *w, pool *threads)
{
    along_call c = {.w = w};
    for (int b = 0; b < w->count; b++)
        chord_of(w, b)->merit = w->step[b].sums.most = rset(0), chord_of(w, b)->too_far = none_of();
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        if (is_cut(w->plan, c.level)) {
            pool_run(threads, w->count, chord_ways, &c);
            ALONG_EACH(threads, cut_paths_of(w->plan, c.level), chain_moved, &c);
        }
        pool_run(threads, w->count, chord_places, &c);
    }
    along_wrenches(w, threads, chord_sums, chain_wrenches, chord_rows);
}

// ---- momenta at the end

/// The same sums about the origins at the end, with the ways there.
FN wrench end_wrench(along_world *w, int block, int i, const wrench *next)
{
    const lane_model *const m = &w->rows[block].m;
    wrench own = chord_end_wrench(m, &m->bodies[i], chord_of(w, block), i);
    if (m->bodies[i].flags & BODY_LOAD) own = wrench_add(own, half_impulse(w, block, i, 1));
    return chord_wrench(w, block, i, own, next);
}

FN void end_sum_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const vec3 r = chord_of(w, block)->body[i].r;
    stretch_lanes *const c = (stretch_lanes *)carried;
    if (b->kind == JOINT_TRANSLATION) return;
    c->w = wrench_shift(end_wrench(w, block, i, &c->w), r), c->stretch = add(c->stretch, r);
}

static void chord_end_sums(void *context, int thread, int job)
{
    const along_call *const c = context;
    stretch_lanes S;
    (void)thread;
    pass_inwards(c->w, job, c->level, 9, (real *)&S, enter_nothing, leave_stretch, end_sum_row);
}

FN void momentum_row(along_world *w, int block, int i, real *carried)
{
    const variational_work *const P = &w->step[block].W.va;
    wrench *const next = (wrench *)carried;
    const wrench of = end_wrench(w, block, i, next);
    chord_momentum_rows(&w->rows[block].m.bodies[i], &P->W, i, of, P->force, P->momentum);
    *next = wrench_shift(of, P->W.body[i].r);
}

static void chord_end_rows(void *context, int thread, int job)
{
    const along_call *const c = context;
    wrench next;
    (void)thread;
    pass_inwards(c->w, job, c->level, WRENCH, (real *)&next, enter_behind, leave_weight, momentum_row);
}

/// chord_momentum().
static void along_chord_momentum(along_world *w, pool *threads)
{
    along_wrenches(w, threads, chord_end_sums, chain_wrenches, chord_end_rows);
}

#endif
