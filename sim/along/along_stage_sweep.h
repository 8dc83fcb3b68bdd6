/// The Newton step of several coupled stages along the links (integrators/stage_sweep.h).
///
/// Segments of cut paths are swept with an open end: what is in hand of them has a border, [P p F; E g G], with the unknown
/// wrenches f at the tail, 6 numbers a stage. The boundaries (stage_boundary.h) find the motions d of all heads and the
/// wrenches f. On the way outwards a joint's part D^-1 (S'p + r) gets what f adds to it, D^-1 S'F f, and goes on as it does
/// serially. Steps that are to be followed need factors of the tree as a whole: then segments are swept once more, with what
/// hangs on their tails.
#ifndef CATENA_ALONG_STAGE_SWEEP_H
#define CATENA_ALONG_STAGE_SWEEP_H

FN int stage_hand(const along_world *w) { return 6 * w->stages * (6 * w->stages + 1); }      // numbers of [P p]
FN int stage_border(const along_world *w) { return 12 * w->stages * (12 * w->stages + 1); }  // and with the border

FN double *hand_of(const along_world *w, int segment) { return w->stage_hand + (size_t)(segment * stage_hand(w)); }
FN double *border_at(const along_world *w, int segment)
{
    return w->border + (size_t)(w->plan->segment[segment].cut * stage_border(w));
}
/// Motion and wrench of a boundary: d of the head, f at the tail.
FN double *motion_at(const along_world *w, int segment)
{
    return w->crossed + (size_t)(w->plan->segment[segment].cut * 12 * w->stages);
}

/// One body of stage_sweep_inward(), for s stages.
FN void stage_sweep_row(along_world *w, int block, int i, int s, bool open, real *P)
{
    const lane_rows *const B = &w->rows[block];
    stage_sweep *const work = &w->step[block].W.po.more.sweep;
    const int n = 6 * s, width = border_of(s, open).width;
    if (B->m.bodies[i].flags & BODY_FORK) {
        gather_hands(w, B, i, n * (n + 1), w->stage_hand, work->P);
        for (int k = 0; k < n; k++)
            for (int j = 0; j <= n; j++) P[width * k + j] = P[width * k + j] + work->P[(n + 1) * k + j];
    }
    stage_inward_body(&B->m, stages_in(w, block), work, s, i, open, false, P);
}

/// The far end, open: nothing hangs there, E = F = 1.
KERNEL void enter_stages_open(const along_world *w, int segment, double *to)
{
    const int n = 6 * w->stages, width = 2 * n + 1;
    (void)segment;
    memset(to, 0, (size_t)stage_border(w) * sizeof *to);
    for (int k = 0; k < n; k++) to[k * width + n + 1 + k] = to[(n + k) * width + k] = 1;
}

KERNEL void leave_stages_open(along_world *w, int segment, const double *from)
{
    const int n = 6 * w->stages;
    if (w->plan->segment[segment].cut >= 0) memcpy(border_at(w, segment), from, (size_t)stage_border(w) * sizeof *from);
    for (int k = 0; k < n; k++) memcpy(hand_of(w, segment) + k * (n + 1), from + k * (2 * n + 1), (size_t)(n + 1) * sizeof *from);
}

KERNEL void enter_stages_whole(const along_world *w, int segment, double *to)
{
    (void)segment;
    memset(to, 0, (size_t)stage_hand(w) * sizeof *to);
}

KERNEL void leave_stages_whole(along_world *w, int segment, const double *from)
{
    memcpy(hand_of(w, segment), from, (size_t)stage_hand(w) * sizeof *from);
}

KERNEL void enter_stages_closed(const along_world *w, int segment, double *to)
{
    const int after = w->plan->segment[segment].after;
    if (after < 0) enter_stages_whole(w, segment, to);
    else memcpy(to, hand_of(w, after), (size_t)stage_hand(w) * sizeof *to);
}

/// Of cut paths the joined hands stand already.
KERNEL void leave_stages_closed(along_world *w, int segment, const double *from) { (void)w, (void)segment, (void)from; }

/// Before the first level: the blocks of a solve of one stage are those of stages.
FN void enter_one_stage(along_world *w, int block, int level)
{
    if (w->stages == 1 && !level) one_stage_of(&w->rows[block].m, solve_of(w, block), stages_in(w, block));
}

/// The passes inwards over a level: of cut paths, with open ends or with closed ones, or of whole paths.
FN void stages_inward_in(along_world *w, int block, int level, int plain, int bordered, real *P, real *room, lane_row *open,
                         lane_row *whole)
{
    if (!is_cut(w->plan, level)) pass_inwards_in(w, block, level, plain, P, room, enter_stages_whole, leave_stages_whole, whole);
    else if (w->mode.closed) pass_inwards_in(w, block, level, plain, P, room, enter_stages_closed, leave_stages_closed, whole);
    else pass_inwards_in(w, block, level, bordered, P, room, enter_stages_open, leave_stages_open, open);
}

#ifdef ALONG_JOBS  // a thread has one lane: what it carries lies in the memory of the world, and one function is for all stages
KERNEL void stage_any_row(along_world *w, int block, int i, bool open, real *P)
{
    stage_sweep_row(w, block, i, w->stages, open, P);
}
FN void stage_open_row(along_world *w, int block, int i, real *carried) { stage_any_row(w, block, i, true, carried); }
FN void stage_whole_row(along_world *w, int block, int i, real *carried) { stage_any_row(w, block, i, false, carried); }

KERNEL void stages_inward(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    real *const P = w->step[job].carried;
    (void)thread;
    w->step[job].W.po.more.sweep.held = none_of();
    enter_one_stage(w, job, c->level);
    stages_inward_in(w, job, c->level, stage_hand(w), stage_border(w), P, P + stage_border(w), stage_open_row, stage_whole_row);
}
#else
#define STAGE_PASSES(s)                                                                                                          \
    FN void stage_open_row##s(along_world *w, int block, int i, real *carried)                                                   \
    {                                                                                                                            \
        stage_sweep_row(w, block, i, s, true, carried);                                                                          \
    }                                                                                                                            \
    FN void stage_whole_row##s(along_world *w, int block, int i, real *carried)                                                  \
    {                                                                                                                            \
        stage_sweep_row(w, block, i, s, false, carried);                                                                         \
    }                                                                                                                            \
    static void stage_inward##s(along_world *w, int block, int level)                                                            \
    {                                                                                                                            \
        enum { N = 6 * s, PLAIN = N * (N + 1), BORDERED = 2 * N * (2 * N + 1) };                                                 \
        real P[BORDERED], room[BORDERED];                                                                                        \
        stages_inward_in(w, block, level, PLAIN, BORDERED, P, room, stage_open_row##s, stage_whole_row##s);                      \
    }
STAGE_PASSES(1)
STAGE_PASSES(2)
STAGE_PASSES(3)
STAGE_PASSES(4)

KERNEL void stages_inward(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    (void)thread;
    c->w->step[job].W.po.more.sweep.held = none_of();
    enter_one_stage(c->w, job, c->level);
    switch (c->w->stages) {
    case 1: stage_inward1(c->w, job, c->level); break;
    case 2: stage_inward2(c->w, job, c->level); break;
    case 3: stage_inward3(c->w, job, c->level); break;
    default: stage_inward4(c->w, job, c->level);
    }
}
#endif

/// Joins the segments of a cut path, from its tail on.
KERNEL void join_stages(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, job);
    (void)thread;
    while (segment[s].after >= 0) s = segment[s].after;
    for (s = segment[s].before; s >= 0; s = segment[s].before)
        stage_boundary_join(6 * w->stages, border_at(w, s), hand_of(w, segment[s].after), hand_of(w, s));
}

// ---- outwards

/// The motion that a step gives to what a segment's head hangs on.
KERNEL void stage_step_above(const along_world *w, int segment, double *d)
{
    const int above = w->plan->segment[segment].above, n = 6 * w->stages;
    int row, lane;
    memset(d, 0, (size_t)n * sizeof *d);
    if (above < 0) return;
    const step_block *const up = &w->step[place_of(w->plan, above, &row, &lane)];
    leave_lane(up->W.po.more.sweep.twist + row * n, lane, n, d);
}

/// Takes motions and wrenches over the cuts of a path.
KERNEL void pass_stages(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    const along_world *const w = c->w;
    const int n = 6 * w->stages;
    int s = first_of_path(c, job);
    (void)thread;
    stage_step_above(w, s, motion_at(w, s));
    for (int after; (after = w->plan->segment[s].after) >= 0; s = after)
        stage_boundary_pass(n, border_at(w, s), hand_of(w, after), motion_at(w, s), motion_at(w, after), motion_at(w, s) + n);
    memset(motion_at(w, s) + n, 0, (size_t)n * sizeof(double));
}

KERNEL void enter_stage_step(const along_world *w, int segment, double *to)
{
    const size_t n = (size_t)(6 * w->stages);
    memset(to + n, 0, n * sizeof *to);
    if (w->plan->segment[segment].cut >= 0) memcpy(to, motion_at(w, segment), 2 * n * sizeof *to);
    else stage_step_above(w, segment, to);
}

FN void stage_step_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    stage_work *const P = &w->step[block].W.po.more;
    step_sums *const sums = &w->step[block].sums;
    const real change = stage_outward_body(&B->m, &P->W, &P->sweep, w->stages, i, carried, P->fresh);
    sums->size = larger(sums->size, B->partial[i] ? sel(live_lanes(B, i), change, rset(0)) : change);
    for (int a = 0; a < w->stages; a++)
        for (int k = a * B->m.nv + b->vadr; k < a * B->m.nv + b->vadr + b->nv; k++)
            P->d[k] = B->partial[i] ? sel(live_lanes(B, i), P->fresh[k], rset(0)) : P->fresh[k],
            sums->most = only_slides(b) ? sums->most : larger(sums->most, magnitude(P->d[k]));
}

FN void stage_step_cut_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const stage_sweep *const work = &w->step[block].W.po.more.sweep;
    const int n = 6 * w->stages, first = b->dof * w->stages;
    for (int c = first; c < first + b->nv * w->stages; c++) {
        real *const x = &work->X[c * (n + 1) + n];
        for (int k = 0; k < n; k++) *x = fmadd(work->Y[c * n + k], carried[n + k], *x);
    }
    stage_step_row(w, block, i, carried);
}

KERNEL void stage_steps(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    const int n = 6 * w->stages;
    real T[12 * MOST_STAGES_ALONG];
    (void)thread;
    if (is_cut(w->plan, c->level) && !w->mode.closed)
        pass_outwards(w, job, c->level, 2 * n, T, enter_stage_step, NULL, NULL, stage_step_cut_row);
    else pass_outwards(w, job, c->level, n, T, enter_stage_step, NULL, NULL, stage_step_row);
}

/// stage_newton(): the step d from the iterate; closed: with factors of the tree as a whole.
KERNEL void along_stage_direction(along_world *w, along_crew *crew, bool closed)
{
    along_call c = {.w = w->self};
    along_mode mode = w->mode;
    along_forget(w, crew, FORGET_STEP);
    mode.closed = false;
    along_choose(w, crew, mode);
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        ALONG_RUN(crew, w->count, stages_inward, &c);
        ALONG_EACH(crew, cut_paths_of(w->plan, c.level), join_stages, &c);
    }
    mode.closed = closed;
    along_choose(w, crew, mode);
    for (c.level = 0; c.level < w->plan->levels && closed; c.level++)
        if (is_cut(w->plan, c.level)) ALONG_RUN(crew, w->count, stages_inward, &c);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        ALONG_EACH(crew, cut_paths_of(w->plan, c.level), pass_stages, &c);
        ALONG_RUN(crew, w->count, stage_steps, &c);
    }
}

#endif
