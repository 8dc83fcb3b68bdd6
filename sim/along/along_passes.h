/// A world in lanes, and how a pass goes over the rows of a level: what lanes carry from row to row, and hand over where segments
/// begin and end. Included by along_kernels.h.
#ifndef CATENA_ALONG_PASSES_H
#define CATENA_ALONG_PASSES_H

/// What has been booked of a segment (integrators/hold_energy.h): momentum and kinetic energy that it ends with besides.
typedef struct {
    vec3 momentum;
    tree_books books;
    real kinetic;
} book_lanes;

enum {
    HAND = 27,
    FAR = 63,
    POSE = 12,
    WRENCH = 6,
    MOTION = 18,
    WHERE = sizeof(whereabouts) / sizeof(real),
    CROSSING = sizeof(crossing) / sizeof(double),
    BOOKS = sizeof(book_lanes) / sizeof(real),
};  // numbers of an inertia and a wrench, a far_end, axes and a vector, a wrench, a pose and a twist; axes, an arm and a way

/// What a lane block works with in forward dynamics.
typedef struct {
    real *q, *v, *tau, *x;  // [nq], [nv]
    aba_work aba;
    real *y;  // [nv][6] F'S, of levels with cut paths
    pose *T;  // [rows] world axes and origins, and their twists (along_motion.h)
    twist *V;
    wrench *load;    // [rows] of the loads on bodies, where there are some
    rnea_work rnea;  // of worlds that do not step
} aba_block;

/// What it tells of a pass of a step, by lane.
typedef struct {
    real E, slope, most;  // energy, r'd, the largest row or turn
    real size;            // the square of the largest change of place
    energy_parts energy;
    real internal;  // kinetic energy without that of rotors
    real jump;      // work of motors where what they are told jumps
    real change;    // of the caps of friction
    mask pressed;   // contact points at the end of the step
    real depth;     // of the deepest one
    energy_flow flow;
    real negative;  // negative pivots
    real blur;      // work that the wrenches of all bodies do along their arms (along_blur())
    mask bad;       // an end that is none
} step_sums;

/// And in steps.
typedef struct {
    block_state S;
    block_work W;
    real *y;  // [nv][6]
    real *
        carried;  // what a lane has in hand in sweeps over several stages, where that is not on the stack, and as much room again
    step_sums sums;
} step_block;

/// What a tree that may touch the ground keeps of its velocities (integrators/hold_energy.h).
typedef struct {
    double inner, whole, middle[3];
} tree_kept;

typedef struct adjoint_block adjoint_block;  // and backwards through them (along_adjoint.h)

/// How the passes in hand are made.
typedef struct {
    double share;          // of the step that is followed
    bool dropped, closed;  // in the sweep in hand: no curvature; factors of cut paths are those of the tree as a whole
    bool now;              // it is about the placements at the iterate, not about those at the start
} along_mode;

struct along_world {
    const along_plan *plan;
    const ctn_model *model;  // whose numbers it has: the plan's, or one of that structure
    along_world *self;       // as jobs know it; on the CPU's side of a device (along_device.c) that is elsewhere
    int count;               // lane blocks
    int taken;               // which of many worlds it is, where groups of threads step them (along_group.h)
    lane_rows *rows;         // [count]
    aba_block *aba;          // [count]; NULL: the world steps by a method that needs none (has_dynamics())
    step_block *step;        // [count]; NULL: it does not step
    const ctn_batch_config *cfg;
    adjoint_block *back;  // [count]; NULL: it goes not backwards
    int *column, masses;  // likewise: [nbody] the number of a body among those with mass, -1: it has none; how many have some
    // of segments
    double *hand;     // [segments][HAND] what they hand to the body above
    double *cross;    // [segments][CROSS_HAND] likewise, in variational steps
    double *weight;   // [segments][WRENCH] wrenches of all that hangs there
    double *moment;   // [segments][3] momentum
    double *books;    // [segments][BOOKS] what has passed in a step, of models with contact points
    tree_kept *kept;  // [trees] of these
    // of those of cut paths
    double *start;    // [][POSE] axes, and angular velocity or origin, above the head; before that, of the tail relative to them
    double *tail;     // [][POSE] where tails come to in steps that are followed
    double *base;     // [][WHERE] likewise, where what the head hangs on was
    double *stretch;  // [][3] from what the head hangs on to the tail
    double *behind;   // [][WRENCH] the wrench behind the tail
    double *way;      // [][MOTION] pose and twist of the tail as seen from what the head hangs on, that being at rest
    double *begin;    // [][MOTION] what the head gets
    boundary *cut;
    boundary_star *stars;  // of long paths alone, as the next
    double *runs;          // [][POSE] what goes over runs of segments
    crossing *crossings;   // [] of variational steps
    double *off;           // [] of cut paths of a level: how far off the farthest head was that was followed from
    // of steps of several coupled stages: their number, else 1; poses, wrenches and ways above are then those of stage after
    // stage
    int stages;
    bool coupled;        // is_coupled(): then there are the next ones
    double *stage_hand;  // [segments][6 s][6 s + 1] what they hand to the body above
    double *border;      // [][12 s][12 s + 1] with the border of an open end
    double *crossed;     // [][12 s] the motion of the head, and the wrench at the tail
    // of the call
    double *plain;   // [nq + nbody], models with joints that slide
    double *told;    // [TOLD] numbers of all lanes together
    double *groups;  // [TOLD][groups] of groups of lanes, where there are several (along_place.h)
    double pull[3];  // gravity, in inverse dynamics
    along_mode mode;
};

/// Jobs are `void (*)(void *context, int thread, int job)`, one for each lane block or path that was cut, or one alone. They are
/// all that looks into lanes: who calls them (the functions that are told of a crew) sees a plan and `told`. So that can be on
/// the CPU, and jobs on a device (along_device.h).
///
///     ALONG_RUN(crew, count, job, context)    side by side
///     ALONG_EACH(crew, count, job, context)   short ones, which are not worth waking threads
///     along_fetch(crew, w)                    `told` is there to be read
#ifndef ALONG_RUN
typedef pool along_crew;
#define ALONG_RUN(crew, count, job, context) pool_run(crew, count, job, context)
#define ALONG_EACH(crew, count, job, context)                                                                                    \
    for (int job_ = ((void)(crew), 0), jobs_ = (count); job_ < jobs_; job_++) job(context, 0, job_)
#define along_fetch(crew, w) ((void)(crew))
#endif

/// A pass over a level by lane blocks.
typedef struct {
    along_world *w;
    int level;
    const double *q, *v, *tau;  // of forward dynamics
    double *out;
    int turn;  // chain_turn
} along_call;

typedef void lane_enter(const along_world *w, int segment, double *to);    // what a lane has at the begin of a segment
typedef void lane_leave(along_world *w, int segment, const double *from);  // what it has come to there
typedef void lane_row(along_world *w, int block, int row, real *carried);  // a body, or a port with what lanes carry there

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

enum {
    MOST_STAGES_ALONG = 4,
    MOST_CARRIED = CROSS_HAND + CROSSING,  // but for sweeps over several stages
};

/// A body's row; what idle lanes carry stays. room: for n numbers
FN void carry_over(along_world *w, int block, int row, int n, real *carried, real *room, lane_row *body)
{
    const lane_rows *const B = &w->rows[block];
    if (!B->partial[row]) {
        body(w, block, row, carried);
        return;
    }
    const mask live = live_lanes(B, row);
    for (int k = 0; k < n; k++) room[k] = carried[k];
    body(w, block, row, carried);
    for (int k = 0; k < n; k++) carried[k] = sel(live, carried[k], room[k]);
}

/// What lane l carries goes to a segment, or comes from one.
FN void leave_segment(along_world *w, int s, int l, int n, const real *carried, real *room, lane_leave *leave)
{
    if (LANES > 1) leave_lane(carried, l, n, (double *)room);
    leave(w, s, (const double *)(LANES > 1 ? room : carried));
}
FN void enter_segment(along_world *w, int s, int l, int n, real *carried, real *room, lane_enter *enter)
{
    enter(w, s, (double *)room);  // may write more than n
    set_lane(carried, l, n, (const double *)room);
}

/// Over the rows of a level outwards. Lanes carry n numbers, which begin with `enter` and end with `leave` (NULL: nothing);
/// `port` (NULL: nothing) sees them at ports, `body` elsewhere. room: for as many
FN void pass_outwards_in(along_world *w, int block, int level, int n, real *carried, real *room, lane_enter *enter,
                         lane_leave *leave, lane_row *port, lane_row *body)
{
    const lane_rows *const B = &w->rows[block];
    int first, end;
    rows_of_level(B, level, &first, &end);
    for (int k = 0; k < n; k++) carried[k] = rset(0);
    for (int i = first; i <= end; i++) {
        const bool over = i == end;
        if (!over && B->m.bodies[i].kind != JOINT_NONE) {
            carry_over(w, block, i, n, carried, room, body);
            continue;
        }
        for (int l = 0; l < LANES; l++) {
            const int before = over ? last_segment(B, w->plan->levels - 1 - level, l) : segment_before(B, i, l);
            if (before >= 0 && leave) leave_segment(w, before, l, n, carried, room, leave);
            const int s = over ? -1 : segment_at(B, i, l);
            if (s >= 0) enter_segment(w, s, l, n, carried, room, enter);
        }
        if (!over && port) port(w, block, i, carried);
    }
}
FN void pass_outwards(along_world *w, int block, int level, int n, real *carried, lane_enter *enter, lane_leave *leave,
                      lane_row *port, lane_row *body)
{
    real room[MOST_CARRIED];
    pass_outwards_in(w, block, level, n, carried, room, enter, leave, port, body);
}

/// The same inwards: lanes begin at tails, and leave a segment at its port.
FN void pass_inwards_in(along_world *w, int block, int level, int n, real *carried, real *room, lane_enter *enter,
                        lane_leave *leave, lane_row *body)
{
    const lane_rows *const B = &w->rows[block];
    int first, end;
    rows_of_level(B, level, &first, &end);
    for (int k = 0; k < n; k++) carried[k] = rset(0);
    for (int i = end; i >= first; i--) {
        const bool begin = i == end;
        if (!begin && B->m.bodies[i].kind != JOINT_NONE) {
            carry_over(w, block, i, n, carried, room, body);
            continue;
        }
        for (int l = 0; l < LANES; l++) {
            const int s = begin ? -1 : segment_at(B, i, l);
            if (s >= 0) leave_segment(w, s, l, n, carried, room, leave);
            const int next = begin ? last_segment(B, w->plan->levels - 1 - level, l) : segment_before(B, i, l);
            if (next >= 0) enter_segment(w, next, l, n, carried, room, enter);
        }
    }
}
FN void pass_inwards(along_world *w, int block, int level, int n, real *carried, lane_enter *enter, lane_leave *leave,
                     lane_row *body)
{
    real room[MOST_CARRIED];
    pass_inwards_in(w, block, level, n, carried, room, enter, leave, body);
}

/// What a fork's lanes get of what hangs on them besides the next body: sums, in the order of the plan, of n numbers of each
/// segment in `of`.
FN void gather_hands(const along_world *w, const lane_rows *B, int row, int n, const double *of, void *to)
{
    const along_plan *const plan = w->plan;
    for (int l = 0; l < LANES; l++) {
        const int body = B->block->row[row].body[B->first + l];
        double *const sum = (double *)to + l;
        for (int j = 0; j < n; j++) sum[j * LANES] = 0;
        for (int k = body < 0 ? 0 : plan->hung[body]; body >= 0 && k < plan->hung[body + 1]; k++)
            for (int j = 0; j < n; j++) sum[j * LANES] += of[(size_t)plan->hanging[k] * (size_t)n + (size_t)j];
    }
}

/// How many paths of a level are cut, and the first segment of one of them.
FN int cut_paths_of(const along_plan *plan, int level) { return plan->cut_first[level + 1] - plan->cut_first[level]; }
FN int first_of_path(const along_call *c, int path)
{
    const along_plan *const plan = c->w->plan;
    return plan->cuts[plan->cut_first[c->level] + path];
}

enum { MOST_CHAINED = 64 };  // segments of paths whose cuts go one after another; those of longer ones in a tree (along_star.h)

/// Segments of a cut path of a level.
FN int segments_of(const along_plan *plan, int level, int path)
{
    const int p = plan->cut_first[level] + path,
              end = p + 1 < plan->cut_first[plan->levels] ? plan->segment[plan->cuts[p + 1]].cut : plan->cut_segments;
    return end - plan->segment[plan->cuts[p]].cut;
}
FN bool is_long(const along_plan *plan, int level, int path) { return segments_of(plan, level, path) > MOST_CHAINED; }

// ---- along the segments of cut paths
//
// What goes from one segment to the next, a pose or a sum, goes along short paths at once. Along long ones each run of segments
// finds first what it makes of nothing, then these follow each other, then each goes on from where it begins.

enum { RUN = 32 };  // segments

typedef enum { CHAIN_WHOLE, CHAIN_RUNS, CHAIN_BETWEEN, CHAIN_FROM } chain_turn;

typedef void chain_load(const along_world *w, int segment, double *e);  // what a segment, or a run of them, does
typedef void chain_op(double *x, const double *e);                      // does it to x
typedef void chain_put(along_world *w, int segment, const double *x);   // keeps what it is done to

/// One turn of a chain of n numbers, from what `above` says; inwards: from the tail on.
FN void go_along(const along_call *c, int job, bool inwards, int n, lane_enter *above, chain_load *load, chain_op *op,
                 chain_put *put, const double *unit)
{
    along_world *const w = c->w;
    const along_plan *const plan = w->plan;
    const bool in_runs = c->turn == CHAIN_RUNS || c->turn == CHAIN_FROM;
    const int most = (plan->longest[c->level] - 1) / RUN + 1, path = in_runs ? job / most : job;
    const int first = plan->cuts[plan->cut_first[c->level] + path], count = segments_of(plan, c->level, path);
    const int runs = (count - 1) / RUN + 1, run = in_runs ? job % most : 0;
    double x[POSE], e[POSE];
    if ((count > MOST_CHAINED) != (c->turn != CHAIN_WHOLE) || run >= runs) return;
    double *const at = w->runs + (size_t)plan->segment[first].cut * POSE;  // of the runs one after another
    const int from = in_runs ? run * RUN : 0, end = !in_runs ? count : from + RUN < count ? from + RUN : count;
    if (c->turn == CHAIN_RUNS) memcpy(x, unit, (size_t)n * sizeof *x);
    else if (c->turn == CHAIN_FROM) memcpy(x, at + run * POSE, (size_t)n * sizeof *x);
    else above(w, first, x);
    for (int k = 0; k < runs && c->turn == CHAIN_BETWEEN; k++) {
        double *const of = at + (inwards ? runs - 1 - k : k) * POSE;
        memcpy(e, of, (size_t)n * sizeof *e), memcpy(of, x, (size_t)n * sizeof *x), op(x, e);
    }
    for (int k = from; k < end && c->turn != CHAIN_BETWEEN; k++) {
        const int s = first + (inwards ? end - 1 - (k - from) : k);
        load(w, s, e);
        if (c->turn != CHAIN_RUNS) put(w, s, x);
        op(x, e);
    }
    if (c->turn == CHAIN_RUNS) memcpy(at + run * POSE, x, (size_t)n * sizeof *x);
}

/// A chain over the cut paths of a level, whose job is go_along().
#define ALONG_CHAIN(crew, world, job, call)                                                                                      \
    do {                                                                                                                         \
        const int paths_ = cut_paths_of((world)->plan, (call)->level), longest_ = (world)->plan->longest[(call)->level];         \
        const int turns_ = longest_ > MOST_CHAINED ? CHAIN_FROM : CHAIN_WHOLE;                                                   \
        for ((call)->turn = CHAIN_WHOLE; (call)->turn <= turns_; (call)->turn++)                                                 \
            ALONG_EACH(crew, paths_ *((call)->turn % 2 ? (longest_ - 1) / RUN + 1 : 1), job, call);                              \
    } while (0)

/// Joins the segments of the cut paths of a level, and takes motions and wrenches over the cuts; step: of a Newton step, else of
/// forward dynamics. (along_star.h)
KERNEL void along_join_cuts(along_world *w, along_crew *crew, along_call *c, bool step);
KERNEL void along_pass_cuts(along_world *w, along_crew *crew, along_call *c, bool step);

/// Sums [x y] of R y: columns of R in M.
FN void turn_plain(const double *M, const double *y, double *to)
{
    for (int k = 0; k < 3; k++) to[k] = M[k] * y[0] + M[3 + k] * y[1] + M[6 + k] * y[2];
}

/// R'y.
FN void turn_back(const double *M, const double *y, double *to)
{
    for (int k = 0; k < 3; k++) to[k] = M[3 * k] * y[0] + M[3 * k + 1] * y[1] + M[3 * k + 2] * y[2];
}

/// Adds x cross y.
FN void add_cross(const double *x, const double *y, double *to)
{
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        to[k] += x[i] * y[j] - x[j] * y[i];
    }
}

FN bool is_explicit(const ctn_batch_config *cfg) { return !solves_equations(cfg->method); }

/// Whether a world needs forward dynamics: variational steps, for the velocities of their momenta.
FN bool has_dynamics(const ctn_batch_config *cfg) { return !cfg || is_explicit(cfg) || cfg->method == CTN_VARIATIONAL; }

KERNEL_DATA double WORLD_POSE[POSE] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};

/// Joins the segments of a cut path, from its tail on.
KERNEL void join_segments(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, job);
    (void)thread;
    if (is_long(w->plan, c->level, job)) return;
    while (segment[s].after >= 0) s = segment[s].after;
    for (s = segment[s].before; s >= 0; s = segment[s].before)
        boundary_join(&w->cut[segment[s].cut], w->hand + (size_t)segment[s].after * HAND, w->hand + (size_t)s * HAND);
}

/// Takes motions and wrenches over the cuts of a path, from what `above` says of the motion that the first segment's head is
/// given.
FN void pass_boundaries(const along_call *c, int path, lane_enter *above)
{
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, path);
    double d[6];
    above(w, s, d);
    for (;; s = segment[s].after) {
        boundary *const e = &w->cut[segment[s].cut];
        memcpy(e->d, d, sizeof d);
        if (segment[s].after < 0) break;
        boundary_pass(e, d);
    }
    memset(w->cut[segment[s].cut].f, 0, sizeof w->cut->f);
}

/// The far end, open: an inertia and a wrench of nothing, F = 1.
KERNEL void enter_open(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memset(to, 0, (HAND + FAR) * sizeof *to);
    for (int k = 0; k < 6; k++) to[HAND + 7 * k] = 1;
}

/// P, p, and of cut paths the far end.
KERNEL void leave_hand(along_world *w, int s, const double *from)
{
    memcpy(w->hand + (size_t)s * HAND, from, HAND * sizeof *from);
    if (w->plan->segment[s].cut >= 0) memcpy(w->cut[w->plan->segment[s].cut].F, from + HAND, FAR * sizeof *from);
}

#endif
