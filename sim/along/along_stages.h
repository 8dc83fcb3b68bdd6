/// Where the bodies of one world are at all stages of an iterate, and the rows there, along the links: the functions of
/// integrators/stage_residual.h over the rows of a plan.
///
///     > axes      at the tails of cut paths as seen from their heads; then those of all heads
///     > places    stage_place(), in cut paths with ways counted from the heads; then those of all heads
///     > weights   weigh_stages(), and loads
///     < sums      wrenches of the segments of cut paths; then what stands behind each tail
///     < rows      stage_rows_of()
///
/// What lanes hand over of poses, ways and wrenches in along_place.h they hand over here of stage after stage.
#ifndef CATENA_ALONG_STAGES_H
#define CATENA_ALONG_STAGES_H

/// What lanes carry outwards of each stage: axes, and the way since the start of the step.
typedef struct {
    mat3 R;
    vec3 dp;
} stage_lanes;

// ---- where bodies are

KERNEL void enter_stages_relative(const along_world *w, int segment, double *to)
{
    (void)segment;
    for (int a = 0; a < w->stages; a++) memcpy(to + a * POSE, WORLD_POSE, sizeof WORLD_POSE);
}

/// Axes and ways at a segment's tail, or above its head.
FN double *stage_starts(const along_world *w, int segment)
{
    return w->start + (size_t)(w->plan->segment[segment].cut * w->stages) * POSE;
}

KERNEL void leave_stage_axes(along_world *w, int segment, const double *from)
{
    if (w->plan->segment[segment].cut >= 0) memcpy(stage_starts(w, segment), from, (size_t)(w->stages * POSE) * sizeof *from);
}

FN void stage_axes_row(along_world *w, int block, int i, real *carried)
{
    const lane_model *const m = &w->rows[block].m;
    stage_lanes *const c = (stage_lanes *)carried;
    const lane_body *const b = &m->bodies[i];
    const joint_form f = form_of(b);
    for (int a = 0; a < w->stages; a++) c[a].R = body_axes(b, f, c[a].R, stages_in(w, block)->in.x + a * m->nq);
}

KERNEL void stage_axes(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    stage_lanes L[MOST_STAGES_ALONG];
    (void)thread;
    pass_outwards(c->w, job, c->level, c->w->stages * POSE, (real *)L, enter_stages_relative, leave_stage_axes, NULL,
                  stage_axes_row);
}

/// Axes, and dp, of what a segment's head hangs on.
KERNEL void stages_above(const along_world *w, int segment, double *to)
{
    const int above = w->plan->segment[segment].above;
    int row, lane;
    enter_stages_relative(w, segment, to);
    if (above < 0) return;
    const stages *const W = stages_in(w, place_of(w->plan, above, &row, &lane));
    for (int a = 0; a < w->stages; a++) {
        const stage_body *const t = &W->body[row * w->stages + a];
        leave_lane(&t->T.R, lane, 9, to + a * POSE), leave_lane(&t->dp, lane, 3, to + a * POSE + 9);
    }
}

/// Makes axes of tails, as seen from the heads of a cut path, those of what the heads hang on.
KERNEL void chain_stage_axes(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    double M[MOST_STAGES_ALONG * POSE];
    int s = first_of_path(c, job);
    (void)thread;
    for (stages_above(w, s, M); s >= 0; s = w->plan->segment[s].after)
        for (int a = 0; a < w->stages; a++) {
            double *const at = stage_starts(w, s) + a * POSE, *const before = M + a * POSE, next[9];
            for (int j = 0; j < 9; j += 3) turn_plain(before, at + j, next + j);
            memcpy(at, before, sizeof next), memcpy(before, next, sizeof next);
        }
}

/// In cut paths ways are counted from the heads.
KERNEL void enter_stage_place(const along_world *w, int segment, double *to)
{
    if (w->plan->segment[segment].cut < 0) {
        stages_above(w, segment, to);
        return;
    }
    memcpy(to, stage_starts(w, segment), (size_t)(w->stages * POSE) * sizeof *to);
    for (int a = 0; a < w->stages; a++) memset(to + a * POSE + 9, 0, 3 * sizeof *to);
}

KERNEL void leave_stage_ways(along_world *w, int segment, const double *from)
{
    if (w->plan->segment[segment].cut < 0) return;
    for (int a = 0; a < w->stages; a++) memcpy(stage_starts(w, segment) + a * POSE + 9, from + a * POSE + 9, 3 * sizeof *from);
}

/// What rows after a port take for their parent.
FN void stage_port(along_world *w, int block, int i, real *carried)
{
    const stage_lanes *const c = (const stage_lanes *)carried;
    for (int a = 0; a < w->stages; a++) {
        stage_body *const t = &stages_in(w, block)->body[i * w->stages + a];
        t->T.R = c[a].R, t->T.r = zero3(), t->dp = c[a].dp, t->w = wrench_zero();
    }
}

FN void stage_place_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    stage_lanes *const c = (stage_lanes *)carried;
    stages *const W = stages_in(w, block);
    const mask live = live_lanes(B, i);
    for (int a = 0; a < w->stages; a++) {
        stage_body *const t = &W->body[i * w->stages + a];
        stage_place(&B->m, &B->m.bodies[i], W, w->stages, i, a);
        if (B->partial[i]) {  // idle lanes are where they were
            t->T.R.x = sel3(live, t->T.R.x, c[a].R.x), t->T.R.y = sel3(live, t->T.R.y, c[a].R.y);
            t->T.R.z = sel3(live, t->T.R.z, c[a].R.z), t->dp = sel3(live, t->dp, c[a].dp);
        }
        c[a].R = t->T.R, c[a].dp = t->dp;
    }
}

KERNEL void stage_places(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    stage_lanes L[MOST_STAGES_ALONG];
    (void)thread;
    pass_outwards(c->w, job, c->level, c->w->stages * POSE, (real *)L, enter_stage_place, leave_stage_ways, stage_port,
                  stage_place_row);
}

/// Makes the ways of tails since their heads those of what the heads hang on.
KERNEL void chain_stage_ways(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    double M[MOST_STAGES_ALONG * POSE];
    int s = first_of_path(c, job);
    (void)thread;
    for (stages_above(w, s, M); s >= 0; s = w->plan->segment[s].after)
        for (int a = 0; a < w->stages; a++)
            for (int k = a * POSE + 9; k < (a + 1) * POSE; k++) {
                double *const way = stage_starts(w, s) + k, next = M[k] + *way;
                *way = M[k], M[k] = next;
            }
}

// ---- what they weigh

KERNEL void enter_stage_way(const along_world *w, int segment, double *to)
{
    const bool cut = w->plan->segment[segment].cut >= 0;
    for (int a = 0; a < w->stages; a++)
        if (cut) memcpy(to + 3 * a, stage_starts(w, segment) + a * POSE + 9, 3 * sizeof *to);
        else memset(to + 3 * a, 0, 3 * sizeof *to);
}

FN void weigh_stages_row(along_world *w, int block, int i, real *carried)
{
    const lane_model *const m = &w->rows[block].m;
    const lane_body *const b = &m->bodies[i];
    stages *const W = stages_in(w, block);
    const int s = w->stages;
    for (int a = 0; a < s; a++) W->body[i * s + a].dp = add(W->body[i * s + a].dp, ((const vec3 *)carried)[a]);
    weigh_stages(m, b, W, s, i);
    if (b->flags & BODY_LOAD) stage_loads(m, W, s, i);  // lanes without a load have one of nothing
}

KERNEL void stage_weights(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    vec3 way[MOST_STAGES_ALONG];
    (void)thread;
    pass_outwards(c->w, job, c->level, 3 * c->w->stages, (real *)way, enter_stage_way, NULL, NULL, weigh_stages_row);
}

// ---- the rows

/// What lanes carry inwards of each stage: the wrench of what hangs there; in sums the way to the tail besides.
enum { STAGE_STRETCH = WRENCH + 3 };

KERNEL void enter_stages_nothing(const along_world *w, int segment, double *to)
{
    (void)segment;
    memset(to, 0, (size_t)(w->stages * STAGE_STRETCH) * sizeof *to);
}

KERNEL void leave_stage_weights(along_world *w, int segment, const double *from)
{
    const size_t n = (size_t)(w->stages * WRENCH);
    memcpy(w->weight + (size_t)segment * n, from, n * sizeof *from);
}

KERNEL void leave_stage_stretch(along_world *w, int segment, const double *from)
{
    const size_t ways = (size_t)(w->stages * 3);
    const int cut = w->plan->segment[segment].cut;
    leave_stage_weights(w, segment, from);
    if (cut >= 0) memcpy(w->stretch + (size_t)cut * ways, from + w->stages * WRENCH, ways * sizeof *from);
}

/// The wrenches of a row's subtree at all stages: of what lanes carry, of the body, and at forks of all that hangs there besides.
FN void gather_stages(const along_world *w, int block, int i, wrench *next)
{
    const lane_rows *const B = &w->rows[block];
    const int s = w->stages;
    const bool fork = B->m.bodies[i].flags & BODY_FORK;
    wrench hands[MOST_STAGES_ALONG];
    if (fork) gather_hands(w, B, i, s * WRENCH, w->weight, hands);
    for (int a = 0; a < s; a++) {
        next[a] = wrench_add(next[a], stages_in(w, block)->body[i * s + a].w);
        if (fork) next[a] = wrench_add(next[a], hands[a]);
    }
}

FN void stage_sum_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const int s = w->stages;
    wrench *const next = (wrench *)carried;
    vec3 *const way = (vec3 *)(next + s);
    if (b->kind == JOINT_TRANSLATION) return;  // what hangs on a root is nobody's
    gather_stages(w, block, i, next);
    for (int a = 0; a < s && has_arm(form_of(b)); a++) {
        const vec3 r = stages_in(w, block)->body[i * s + a].T.r;
        next[a] = wrench_shift(next[a], r), way[a] = add(way[a], r);
    }
}

KERNEL void stage_sums(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    real carried[MOST_STAGES_ALONG * STAGE_STRETCH];
    (void)thread;
    pass_inwards(c->w, job, c->level, c->w->stages * STAGE_STRETCH, carried, enter_stages_nothing, leave_stage_stretch,
                 stage_sum_row);
}

/// The wrenches behind the tails of a cut path.
KERNEL void chain_stage_wrenches(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    const size_t n = (size_t)w->stages;
    double behind[MOST_STAGES_ALONG * WRENCH] = {0};
    int s = first_of_path(c, job);
    (void)thread;
    while (segment[s].after >= 0) s = segment[s].after;
    for (; s >= 0; s = segment[s].before) {
        const size_t cut = (size_t)segment[s].cut;
        memcpy(w->behind + cut * n * WRENCH, behind, n * WRENCH * sizeof *behind);
        for (size_t a = 0; a < n; a++) {
            const double *const own = w->weight + ((size_t)s * n + a) * WRENCH;
            double *const f = behind + a * WRENCH;
            add_cross(w->stretch + (cut * n + a) * 3, f + 3, f);
            for (int k = 0; k < WRENCH; k++) f[k] += own[k];
        }
    }
}

KERNEL void enter_stages_behind(const along_world *w, int segment, double *to)
{
    const size_t n = (size_t)(w->stages * WRENCH);
    const int cut = w->plan->segment[segment].cut;
    memset(to, 0, n * sizeof *to);
    if (cut >= 0) memcpy(to, w->behind + (size_t)cut * n, n * sizeof *to);
}

FN void stage_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    const joint_form f = form_of(b);
    const int s = w->stages;
    stages *const W = stages_in(w, block);
    step_sums *const sums = &w->step[block].sums;
    wrench *const next = (wrench *)carried;
    row_norms norms = {sums->most, sums->E};
    const mask far = W->too_far;
    gather_stages(w, block, i, next);
    for (int a = 0; a < s; a++) W->body[i * s + a].w = next[a];
    stage_rows_of(&B->m, b, f, W, s, i, &norms);
    if (B->partial[i]) {
        const mask live = live_lanes(B, i);
        W->too_far = either(far, both(W->too_far, live));
        norms.most = sel(live, norms.most, sums->most), norms.square = sel(live, norms.square, sums->E);
    }
    sums->most = norms.most, sums->E = norms.square;
    for (int a = 0; a < s && has_arm(f); a++) next[a] = wrench_shift(next[a], W->body[i * s + a].T.r);
}

KERNEL void stage_rows_along(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    wrench next[MOST_STAGES_ALONG];
    (void)thread;
    pass_inwards(c->w, job, c->level, c->w->stages * WRENCH, (real *)next, enter_stages_behind, leave_stage_weights, stage_row);
}

/// evaluate_stages() and stage_rows(); tells of the largest row, the sum of squares and what is too far.
KERNEL void along_stage_residual(along_world *w, along_crew *crew)
{
    along_call c = {.w = w->self};
    along_forget(w, crew, FORGET_ROWS);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        const bool cut = is_cut(w->plan, c.level);
        if (cut) {
            ALONG_RUN(crew, w->count, stage_axes, &c);
            ALONG_EACH(crew, cut_paths_of(w->plan, c.level), chain_stage_axes, &c);
        }
        ALONG_RUN(crew, w->count, stage_places, &c);
        if (cut) ALONG_EACH(crew, cut_paths_of(w->plan, c.level), chain_stage_ways, &c);
        ALONG_RUN(crew, w->count, stage_weights, &c);
    }
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        if (is_cut(w->plan, c.level)) {
            ALONG_RUN(crew, w->count, stage_sums, &c);
            ALONG_EACH(crew, cut_paths_of(w->plan, c.level), chain_stage_wrenches, &c);
        }
        ALONG_RUN(crew, w->count, stage_rows_along, &c);
    }
    along_tell(w, crew, TOLD_E, TOLD_MOST);
}

#endif
