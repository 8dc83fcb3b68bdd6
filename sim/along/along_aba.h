/// Forward dynamics along the links: the kernels of dynamics/aba.h over the rows of a plan, and between levels and segments what passes from
/// one to the other. (docs/scans.md)
///
///     relative   axes R and angular velocity w at the tails of cut paths, from those of the heads; then those of all heads in turn
///     outward    aba_outward(), with bias accelerations counted from zero in each segment
///     inward     aba_inward(), and in cut paths the cross block
///     between    wrenches and motions over the cuts (boundary.h)
///     accelerate aba_accelerate(), given the motion above each segment and the wrench at its tail
///
/// A bias acceleration counted from zero is one more motion d of what lies above: where a segment hands P and p on to a body that has the bias b,
/// that is p + P b.
#ifndef CATENA_ALONG_ABA_H
#define CATENA_ALONG_ABA_H

enum { MOTION = 12, START = 12, HAND = 27, FAR = 63 };  // numbers of what lanes carry

/// The scratch of one lane block.
typedef struct {
    real *q, *v, *tau, *x;  // [nq], [nv]
    aba_work aba;
    real *y;  // [nv][6] F'S, of levels with cut paths
} aba_block;

struct along_world {
    const along_plan *plan;
    int count;        // lane blocks
    lane_rows *rows;  // [count]
    aba_block *aba;   // [count]
    double *hand;     // [segments][HAND]
    double *start;    // [cut segments][START] axes and angular velocity above the head; before that, of the tail relative to them
    boundary *cut;    // [cut segments]
};

/// Calls of lane blocks: a phase of a level.
typedef struct {
    along_world *w;
    int level;
    const double *q, *v, *tau;
    double *out;
} along_call;

FN bool is_cut(const along_plan *plan, int level) { return plan->cut_first[level] < plan->cut_first[level + 1]; }

/// The rows of a level in a lane block.
FN void rows_of_level(const lane_rows *B, int level, int *first, int *end)
{
    const int k = B->plan->levels - 1 - level;
    *first = B->block->first[k], *end = B->block->first[k + 1];
}

/// Where body i of the model stands: its lane block, and the lane in it.
FN int place_of(const along_plan *plan, int body, int *row, int *lane)
{
    const along_place *at = &plan->place[body];
    *row = at->row, *lane = at->lane % LANES;
    return at->block * PARTS + at->lane / LANES;
}

// ---- outwards

/// Axes and angular velocity of what a segment's head hangs on.
FN void motion_above(const along_world *w, const along_segment *s, double *M)
{
    static const double still[START] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (s->above < 0) memcpy(M, still, sizeof still);
    else {
        int row, lane;
        const aba_block *const up = &w->aba[place_of(w->plan, s->above, &row, &lane)];
        leave_lane(&up->aba.motion[row], lane, START, M);
    }
}

/// A body whose joint only turns and moves axes: R and w.
FN void relative_row(const lane_rows *B, const aba_block *A, int i, aba_motion *M)
{
    const lane_body *const b = &B->m.bodies[i];
    const joint_form f = form_of(b);
    aba_motion N = *M;
    if (f.flags & BODY_ROOT) N.w = zero3();
    N.R = body_axes(b, f, M->R, A->q);
    if (turns(f)) N.w = add(N.w, joint_turn(b, f, N.R, A->v));
    if (B->partial[i]) {
        const mask live = live_lanes(B, i);
        N.R.x = sel3(live, N.R.x, M->R.x), N.R.y = sel3(live, N.R.y, M->R.y), N.R.z = sel3(live, N.R.z, M->R.z);
        N.w = sel3(live, N.w, M->w);
    }
    *M = N;
}

static void aba_relative(void *context, int thread, int job)
{
    static const double still[START] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    (void)thread;
    const along_call *const c = context;
    along_world *const w = c->w;
    const lane_rows *const B = &w->rows[job];
    int first, end;
    aba_motion M;
    rows_of_level(B, c->level, &first, &end);
    for (int l = 0; l < LANES; l++) set_lane(&M, l, START, still);
    for (int i = first; i <= end; i++) {
        const bool port = i < end && B->m.bodies[i].kind == JOINT_NONE;
        for (int l = 0; (port || i == end) && l < LANES; l++) {
            const int before = port ? segment_before(B, i, l) : last_segment(B, w->plan->levels - 1 - c->level, l);
            const int cut = before < 0 ? -1 : w->plan->segment[before].cut;
            if (cut >= 0) leave_lane(&M, l, START, w->start + (size_t)cut * START);
            if (port && segment_at(B, i, l) >= 0) set_lane(&M, l, START, still);
        }
        if (!port && i < end) relative_row(B, &w->aba[job], i, &M);
    }
}

/// Makes `start` of cut paths that of what their heads hang on.
static void chain_starts(along_world *w, int level)
{
    const along_plan *const plan = w->plan;
    for (int p = plan->cut_first[level]; p < plan->cut_first[level + 1]; p++) {
        double M[START];
        motion_above(w, &plan->segment[plan->cuts[p]], M);
        for (int s = plan->cuts[p]; s >= 0; s = plan->segment[s].after) {
            double *const at = w->start + (size_t)plan->segment[s].cut * START, next[START];
            for (int j = 0; j < 4; j++)  // columns of R, and w
                for (int k = 0; k < 3; k++)
                    next[3 * j + k] =
                        M[k] * at[3 * j] + M[3 + k] * at[3 * j + 1] + M[6 + k] * at[3 * j + 2] + (j == 3 ? M[9 + k] : 0);
            memcpy(at, M, sizeof M), memcpy(M, next, sizeof M);
        }
    }
}

FN void outward_row(const lane_rows *B, aba_block *A, int i, aba_motion *M)
{
    const lane_body *const b = &B->m.bodies[i];
    const aba_motion before = *M;
    BY_FORM(b, f, aba_outward_body(&B->m, b, f, i, A->q, A->v, &A->aba, M))
    if (!B->partial[i]) return;
    const mask live = live_lanes(B, i);
    const real *const old = (const real *)&before;
    for (size_t k = 0; k < sizeof *M / sizeof(real); k++) ((real *)M)[k] = sel(live, ((real *)M)[k], old[k]);
}

static void aba_outwards(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    along_world *const w = c->w;
    const lane_rows *const B = &w->rows[job];
    const along_segment *const segment = w->plan->segment;
    int first, end;
    aba_motion M;
    rows_of_level(B, c->level, &first, &end);
    memset(&M, 0, sizeof M);
    for (int i = first; i <= end; i++) {
        const bool port = i < end && B->m.bodies[i].kind == JOINT_NONE;
        for (int l = 0; (port || i == end) && l < LANES; l++) {
            const int before = port ? segment_before(B, i, l) : last_segment(B, w->plan->levels - 1 - c->level, l);
            const int s = port ? segment_at(B, i, l) : -1, cut = before < 0 ? -1 : segment[before].cut;
            if (cut >= 0) leave_lane(&M.al, l, 6, w->cut[cut].bias);
            if (s < 0) continue;
            double start[START + 6] = {0};
            if (segment[s].cut >= 0) memcpy(start, w->start + (size_t)segment[s].cut * START, START * sizeof *start);
            else motion_above(w, &segment[s], start);
            set_lane(&M, l, START + 6, start);
        }
        if (!port && i < end) outward_row(B, &w->aba[job], i, &M);
    }
}

// ---- inwards

/// What hangs on a fork besides the next body: the sum of hands, in the order of the plan.
FN void gather_hands(const along_world *w, const lane_rows *B, int i, subtree *to)
{
    const along_plan *const plan = w->plan;
    for (int l = 0; l < LANES; l++) {
        const int body = B->block->row[i].body[B->first + l];
        double sum[HAND] = {0};
        for (int k = body < 0 ? 0 : plan->hung[body]; body >= 0 && k < plan->hung[body + 1]; k++)
            for (int j = 0; j < HAND; j++) sum[j] += w->hand[(size_t)plan->hanging[k] * HAND + (size_t)j];
        set_lane(to, l, HAND, sum);
    }
}

FN void inward_row(const lane_rows *B, aba_block *A, int i, subtree *next)
{
    const lane_body *const b = &B->m.bodies[i];
    const subtree before = *next;
    BY_FORM(b, f, aba_inward_body(b, f, i, A->tau, &A->aba, next))
    if (!B->partial[i]) return;
    const mask live = live_lanes(B, i);
    const real *const old = (const real *)&before;
    for (int k = 0; k < HAND; k++) ((real *)next)[k] = sel(live, ((real *)next)[k], old[k]);
}

/// The cross block over a row, after its inward_row().
FN void far_row(const lane_rows *B, aba_block *A, int i, far_end *X)
{
    const lane_body *const b = &B->m.bodies[i];
    const aba_body *const s = &A->aba.body[i];
    real *const y = A->y + 6 * b->vadr;
    const far_end before = *X;
    if (b->nv == 3)
        far_rows3(b->kind == JOINT_BALL, s->three.D, &s->three.G, b->flags & BODY_OFFSET, s->three.r, s->three.u, X, y);
    else {
        const bool arm = has_arm(form_of(b));
        far_columns1(b, b->kind, s->one.z, arm, s->one.r, &s->one.pivot, 0, X->F, y);
        far_columns1(b, b->kind, s->one.z, arm, s->one.r, &s->one.pivot, 3, X->F, y);
        far_corner1(s->one.pivot.i, s->one.u, y, X);
    }
    if (!B->partial[i]) return;
    const mask live = live_lanes(B, i);
    const real *const old = (const real *)&before;
    for (int k = 0; k < FAR; k++) ((real *)X)[k] = sel(live, ((real *)X)[k], old[k]);
}

/// The far end of a segment, in lane l.
FN void open_end(int l, subtree *next, far_end *X)
{
    static const double nothing[FAR] = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                                        0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1};
    set_lane(next, l, HAND, nothing + 36), set_lane(X, l, FAR, nothing);
}

static void aba_inwards(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    along_world *const w = c->w;
    const lane_rows *const B = &w->rows[job];
    aba_block *const A = &w->aba[job];
    const bool cuts = is_cut(w->plan, c->level);
    int first, end;
    subtree next;
    far_end X;
    rows_of_level(B, c->level, &first, &end);
    for (int l = 0; l < LANES; l++) open_end(l, &next, &X);
    for (int i = end - 1; i >= first; i--) {
        const lane_body *const b = &B->m.bodies[i];
        if (b->kind == JOINT_NONE) {
            for (int l = 0; l < LANES; l++) {
                const int s = segment_at(B, i, l);
                if (s < 0) continue;
                leave_lane(&next, l, HAND, w->hand + (size_t)s * HAND);
                if (w->plan->segment[s].cut >= 0) leave_lane(&X, l, FAR, w->cut[w->plan->segment[s].cut].F);
                open_end(l, &next, &X);
            }
            continue;
        }
        if (b->flags & BODY_FORK) {
            subtree *const hand = &A->aba.hand[i];
            gather_hands(w, B, i, hand);
            const twist bias = {A->aba.motion[i].al, A->aba.motion[i].a};
            hand->p = wrench_add(hand->p, inertia_times(&hand->P, bias));
        }
        inward_row(B, A, i, &next);
        if (cuts) far_row(B, A, i, &X);
    }
}

/// Joins the segments of the cut paths of a level.
static void join_segments(along_world *w, int level)
{
    const along_plan *const plan = w->plan;
    for (int p = plan->cut_first[level]; p < plan->cut_first[level + 1]; p++) {
        int s = plan->cuts[p];
        while (plan->segment[s].after >= 0) s = plan->segment[s].after;
        for (s = plan->segment[s].before; s >= 0; s = plan->segment[s].before)
            boundary_join(&w->cut[plan->segment[s].cut], w->hand + (size_t)plan->segment[s].after * HAND,
                          w->hand + (size_t)s * HAND);
    }
}

// ---- outwards again

/// The acceleration of what a segment's head hangs on, the world's being -g. (A translation, which is free to take any, has that in its bias.)
FN void acceleration_above(const along_world *w, const along_segment *s, double *d)
{
    const ctn_model *const m = w->plan->model;
    const bool flies = m->bodies[s->head].kind == JOINT_TRANSLATION;
    for (int k = 0; k < 6; k++) d[k] = k < 3 || flies ? 0 : -m->gravity[k - 3];
    if (s->above < 0) return;
    int row, lane;
    const aba_block *const up = &w->aba[place_of(w->plan, s->above, &row, &lane)];
    double bias[6];
    leave_lane(&up->aba.motion[row].al, lane, 6, bias), leave_lane(&up->aba.accel[row], lane, 6, d);
    for (int k = 0; k < 6; k++) d[k] += bias[k];
}

static void pass_boundaries(along_world *w, int level)
{
    const along_plan *const plan = w->plan;
    for (int p = plan->cut_first[level]; p < plan->cut_first[level + 1]; p++) {
        double d[6];
        const along_segment *s = &plan->segment[plan->cuts[p]];
        acceleration_above(w, s, d);
        for (;; s = &plan->segment[s->after]) {
            boundary *const e = &w->cut[s->cut];
            memcpy(e->d, d, sizeof d);
            if (s->after < 0) {
                memset(e->f, 0, sizeof e->f);
                break;
            }
            boundary_pass(e, d);
        }
    }
}

FN void accelerate_row(const lane_rows *B, aba_block *A, int i, bool cuts, const real *f6, twist *d)
{
    const lane_body *const b = &B->m.bodies[i];
    aba_body *const s = &A->aba.body[i];
    const twist before = *d;
    if (cuts && b->nv == 3) s->three.u = far_take3(s->three.D, A->y + 6 * b->vadr, f6, s->three.u);
    else if (cuts) s->one.u = far_take1(A->y + 6 * b->vadr, f6, s->one.u);
    BY_FORM(b, f, aba_accelerate_body(b, f, i, &A->aba, d, A->x))
    if (!B->partial[i]) return;
    const mask live = live_lanes(B, i);
    d->w = sel3(live, d->w, before.w), d->v = sel3(live, d->v, before.v);
}

static void aba_accelerations(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    along_world *const w = c->w;
    const lane_rows *const B = &w->rows[job];
    const bool cuts = is_cut(w->plan, c->level);
    int first, end;
    twist d;
    real f[6];
    rows_of_level(B, c->level, &first, &end);
    memset(&d, 0, sizeof d), memset(f, 0, sizeof f);
    for (int i = first; i < end; i++) {
        if (B->m.bodies[i].kind != JOINT_NONE) {
            accelerate_row(B, &w->aba[job], i, cuts, f, &d);
            continue;
        }
        for (int l = 0; l < LANES; l++) {
            static const double none[6] = {0};
            const int s = segment_at(B, i, l);
            double above[6];
            if (s < 0) continue;
            const int cut = w->plan->segment[s].cut;
            if (cut < 0) acceleration_above(w, &w->plan->segment[s], above);
            set_lane(&d, l, 6, cut < 0 ? above : w->cut[cut].d), set_lane(f, l, 6, cut < 0 ? none : w->cut[cut].f);
        }
    }
}

// ---- the call

static void aba_load(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    const lane_rows *const B = &c->w->rows[job];
    aba_block *const A = &c->w->aba[job];
    rows_in(B, false, c->q, A->q), rows_in(B, true, c->v, A->v);
    if (c->tau) rows_in(B, true, c->tau, A->tau);
    else memset(A->tau, 0, (size_t)B->m.nv * sizeof *A->tau);
    add_passive_forces(&B->m, A->q, A->v, A->tau);
}

static void aba_store(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    rows_out(&c->w->rows[job], true, c->w->aba[job].x, c->out);
}

static void along_aba(along_world *w, pool *threads, const double *q, const double *v, const double *tau, double *qdd)
{
    const along_plan *const plan = w->plan;
    along_call c = {w, 0, q, v, tau, qdd};
    pool_run(threads, w->count, aba_load, &c);
    for (c.level = plan->levels - 1; c.level >= 0; c.level--) {
        if (is_cut(plan, c.level)) {
            pool_run(threads, w->count, aba_relative, &c);
            chain_starts(w, c.level);
        }
        pool_run(threads, w->count, aba_outwards, &c);
    }
    for (c.level = 0; c.level < plan->levels; c.level++) {
        pool_run(threads, w->count, aba_inwards, &c);
        join_segments(w, c.level);
    }
    for (c.level = plan->levels - 1; c.level >= 0; c.level--) {
        pass_boundaries(w, c.level);
        pool_run(threads, w->count, aba_accelerations, &c);
    }
    pool_run(threads, w->count, aba_store, &c);
}

FN aba_block layout_aba_block(const lane_rows *B, arena *a)
{
    aba_block A;
    A.q = TAKE(a, (size_t)B->block->nq, real), A.v = TAKE(a, (size_t)B->block->nv, real);
    A.tau = TAKE(a, (size_t)B->block->nv, real), A.x = TAKE(a, (size_t)B->block->nv, real);
    A.y = TAKE(a, 6 * (size_t)B->block->nv, real);
    const lane_model rows = {.nbody = B->block->rows};
    A.aba = layout_aba(&rows, a);
    return A;
}

#endif
