/// Where bodies are along the links, and how they move: world axes and origins, twists; and what the loads on them do
/// (forces/body_loads.h). (docs/scans.md)
///
///     way      pose and twist at the tails of cut paths, as seen from what the heads hang on; then those of all heads in turn
///     move     poses and twists of all bodies
#ifndef CATENA_ALONG_MOTION_H
#define CATENA_ALONG_MOTION_H

/// What lanes carry.
typedef struct {
    pose T;
    twist V;
} motion_lanes;

static void still(double *to)
{
    memset(to, 0, MOTION * sizeof *to);
    to[0] = to[4] = to[8] = 1;
}

static void moving_above(const along_world *w, int s, double *to)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    still(to);
    if (above < 0) return;
    const aba_block *const up = &w->aba[place_of(w->plan, above, &row, &lane)];
    leave_lane(&up->T[row], lane, POSE, to), leave_lane(&up->V[row], lane, 6, to + POSE);
}

static void enter_still(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    still(to);
}

static void enter_moving(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) moving_above(w, s, to);
    else memcpy(to, w->begin + (size_t)cut * MOTION, MOTION * sizeof *to);
}

static void leave_way_made(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->way + (size_t)cut * MOTION, from, MOTION * sizeof *from);
}

FN void move_body(const lane_body *b, joint_form f, const aba_block *A, int i, motion_lanes *c)
{
    const pose before = c->T;
    c->T = body_pose(b, f, &before, A->q);
    c->V = body_twist(b, f, &c->T, &before, &c->V, A->v);
    A->T[i] = c->T, A->V[i] = c->V;
}

FN void moving_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    BY_FORM(b, f, move_body(b, f, &w->aba[block], i, (motion_lanes *)carried))
}

static void motion_ways(void *context, int thread, int job)
{
    const along_call *const c = context;
    motion_lanes M;
    (void)thread;
    pass_outwards(c->w, job, c->level, MOTION, (real *)&M, enter_still, leave_way_made, NULL, moving_row);
}

static void motion_moves(void *context, int thread, int job)
{
    const along_call *const c = context;
    motion_lanes M;
    (void)thread;
    pass_outwards(c->w, job, c->level, MOTION, (real *)&M, enter_moving, NULL, NULL, moving_row);
}

/// What the heads of a path get: poses and twists of the tails before them.
static void chain_moves(void *context, int thread, int job)
{
    const along_call *const c = context;
    along_world *const w = c->w;
    int s = first_of_path(c, job);
    double M[MOTION];
    (void)thread;
    for (moving_above(w, s, M); s >= 0; s = w->plan->segment[s].after) {
        const size_t at = (size_t)w->plan->segment[s].cut * MOTION;
        const double *const way = w->way + at;
        double next[MOTION];
        memcpy(w->begin + at, M, sizeof M);
        for (int j = 0; j < MOTION / 3; j++) turn_plain(M, way + 3 * j, next + 3 * j);
        add_cross(M + 12, next + 9, next + 15);
        for (int k = 9; k < MOTION; k++) next[k] += M[k];
        memcpy(M, next, sizeof M);
    }
}

/// Poses and twists of all bodies, at the rows' q and v.
static void along_motions(along_world *w, pool *threads)
{
    along_call c = {.w = w};
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        if (is_cut(w->plan, c.level)) {
            pool_run(threads, w->count, motion_ways, &c);
            ALONG_EACH(threads, cut_paths_of(w->plan, c.level), chain_moves, &c);
        }
        pool_run(threads, w->count, motion_moves, &c);
    }
}

static void load_wrenches(void *context, int thread, int job)
{
    (void)thread;
    const along_world *const w = context;
    const lane_model *const m = &w->rows[job].m;
    const aba_block *const A = &w->aba[job];
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *const b = &m->bodies[i];
        A->load[i] = wrench_zero();
        for (int k = b->load; k < b->loads_end; k++) {
            const load_state at = hold_load(m, &m->loads[k], A->T[i].R, A->T[i].p);
            add_load_wrench(&A->load[i], &m->loads[k], &at, &A->V[i]);
        }
    }
}

/// Poses, twists, and the wrenches of all loads.
static void along_loads(along_world *w, pool *threads)
{
    along_motions(w, threads);
    pool_run(threads, w->count, load_wrenches, w);
}

// ---- links

enum { LINKS_AT_ONCE = 64 };

typedef struct {
    along_world *w;
    double *R, *p, *twist;
} link_call;

/// Poses (R, p) or twists of links; as many links as there are lanes side by side.
static void link_out(void *context, int thread, int job)
{
    (void)thread;
    const link_call *const c = context;
    const along_world *const w = c->w;
    const ctn_model *const m = w->plan->model;
    const int end = (job + 1) * LINKS_AT_ONCE < m->nlink ? (job + 1) * LINKS_AT_ONCE : m->nlink;
    for (int first = job * LINKS_AT_ONCE; first < end; first += LANES) {
        motion_lanes on;
        pose F, L;
        twist V;
        const int count = end - first < LANES ? end - first : LANES;
        for (int l = 0; l < LANES; l++) {
            const ctn_frame *const f = &m->frames[first + (l < count ? l : 0)];
            double M[MOTION], in[POSE];
            int row, lane;
            still(M);
            if (f->body >= 0) {
                const aba_block *const A = &w->aba[place_of(w->plan, f->body, &row, &lane)];
                leave_lane(&A->T[row], lane, POSE, M), leave_lane(&A->V[row], lane, 6, M + POSE);
            }
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) in[3 * i + j] = f->R[3 * j + i];
            memcpy(in + 9, f->p, 3 * sizeof *in);
            set_lane(&on, l, MOTION, M), set_lane(&F, l, POSE, in);
        }
        L = frame_on(&on.T, F.R, F.p), V = twist_at(&on.T, &on.V, F.p);
        for (int l = 0; l < count; l++) {
            const size_t at = (size_t)(first + l);
            double x[POSE];
            leave_lane(&L, l, POSE, x);
            for (int i = 0; i < 3 && c->R; i++)
                for (int j = 0; j < 3; j++) c->R[9 * at + (size_t)(3 * i + j)] = x[3 * j + i];
            if (c->p) memcpy(c->p + 3 * at, x + 9, 3 * sizeof *x);
            if (c->twist) leave_lane(&V, l, 6, c->twist + 6 * at);
        }
    }
}

static void motion_load(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    const lane_rows *const B = &c->w->rows[job];
    const aba_block *const A = &c->w->aba[job];
    rows_in(B, false, c->q, A->q);
    if (c->v) rows_in(B, true, c->v, A->v);
    else memset(A->v, 0, (size_t)B->m.nv * sizeof *A->v);
}

/// Poses R [nlink][9], p [nlink][3] and twists [nlink][6] of links, each NULL if not asked for; v NULL: at rest.
static void along_kinematics(along_world *w, pool *threads, const double *q, const double *v, double *R, double *p, double *twist)
{
    along_call c = {.w = w, .q = q, .v = v};
    link_call links = {w, R, p, twist};
    pool_run(threads, w->count, motion_load, &c);
    along_motions(w, threads);
    pool_run(threads, (w->plan->model->nlink + LINKS_AT_ONCE - 1) / LINKS_AT_ONCE, link_out, &links);
}

#endif
