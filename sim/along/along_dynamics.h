/// Inverse dynamics along the links, and systems with the joint-space inertia. (docs/scans.md)
///
/// Inverse dynamics works in body axes, as the kernels of dynamics/rnea.h do, so that no number grows with the distance from the
/// world. The motion of a tail is not linear in the angular velocity w of its head, but it is in the rest, and so are wrenches:
///
///     way          axes, arm and w of tails, as seen from what the heads hang on (along_motion.h); then w of all heads in turn
///     > outward    rnea_outward() of cut paths with w as it is, and accelerations counted from zero; then those of all heads
///     > outward    rnea_outward()
///     < inward     rnea_inward() of cut paths with nothing at the tails; then the wrenches there
///     < inward     rnea_inward()
///
/// H x is inverse dynamics at rest without gravity. H x = b takes the factors that forward dynamics leaves, and passes p inwards
/// and the motion outwards, as dynamics/tree_factor.h does.
#ifndef CATENA_ALONG_DYNAMICS_H
#define CATENA_ALONG_DYNAMICS_H

enum { TURNING = 9 };  // numbers of a rnea_motion

// ---- inverse dynamics outwards

/// The motion of what a segment's head hangs on, in that body's axes; the world's acceleration is -g. (A translation has that by
/// itself.)
static void turning_above(const along_world *w, int s, double *M)
{
    const along_segment *const S = &w->plan->segment[s];
    int row, lane;
    memset(M, 0, TURNING * sizeof *M);
    if (S->above >= 0) {
        const aba_block *const up = &w->aba[place_of(w->plan, S->above, &row, &lane)];
        leave_lane(&up->rnea.motion[row], lane, TURNING, M);
    } else if (w->plan->model->bodies[S->head].kind != JOINT_TRANSLATION)
        for (int k = 0; k < 3; k++) M[6 + k] = -w->pull[k];
}

static void enter_turning(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) turning_above(w, s, to);
    else memcpy(to, w->begin + (size_t)cut * MOTION, TURNING * sizeof *to);
}

static void leave_turning(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->start + (size_t)cut * POSE, from, TURNING * sizeof *from);
}

FN void rnea_outward_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    aba_block *const A = &w->aba[block];
    const vec3 g = vec(rset(-w->pull[0]), rset(-w->pull[1]), rset(-w->pull[2]));
    BY_FORM(b, f, rnea_outward_body(b, f, i, g, A->q, A->v, A->x, &A->rnea, (rnea_motion *)carried))
}

static void rnea_outwards(void *context, int thread, int job)
{
    const along_call *const c = context;
    rnea_motion M;
    (void)thread;
    pass_outwards(c->w, job, c->level, TURNING, (real *)&M, enter_turning, leave_turning, NULL, rnea_outward_row);
}

/// The angular velocities that the heads of a path get; or the accelerations, too, once those of the tails are known as if these
/// were zero.
static void chain_turning(const along_call *c, int path, bool accelerations)
{
    const along_world *const w = c->w;
    int s = first_of_path(c, path);
    double M[TURNING];
    for (turning_above(w, s, M); s >= 0; s = w->plan->segment[s].after) {
        const size_t cut = (size_t)w->plan->segment[s].cut;
        const double *const way = w->way + cut * MOTION, *const own = w->start + cut * POSE;
        double *const to = w->begin + cut * MOTION, x[TURNING], next[TURNING];
        memset(to, 0, TURNING * sizeof *to);
        memcpy(to, M, (accelerations ? TURNING : 3) * sizeof *M);
        memcpy(x, to, sizeof x);
        for (int k = 0; k < 3; k++) x[k] += way[POSE + k];
        add_cross(x + 3, way + 9, x + 6);
        for (int j = 0; j < 3; j++) turn_back(way, x + 3 * j, next + 3 * j);
        for (int k = 3; k < TURNING && accelerations; k++) next[k] += own[k];
        memcpy(M, next, sizeof M);
    }
}

static void chain_turns(void *context, int thread, int job)
{
    (void)thread;
    chain_turning(context, job, false);
}

static void chain_accelerations(void *context, int thread, int job)
{
    (void)thread;
    chain_turning(context, job, true);
}

// ---- and inwards

FN void rnea_inward_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    aba_block *const A = &w->aba[block];
    if (b->flags & BODY_FORK) gather_hands(w, B, i, WRENCH, w->weight, &A->rnea.hand[i]);
    BY_FORM(b, f, rnea_inward_body(b, f, i, A->q, A->x, &A->rnea, A->tau, (wrench *)carried))
}

static void rnea_inwards(void *context, int thread, int job)
{
    const along_call *const c = context;
    wrench next;
    (void)thread;
    pass_inwards(c->w, job, c->level, WRENCH, (real *)&next, enter_behind, leave_weight, rnea_inward_row);
}

/// The wrenches behind the tails of a path, in the axes of the tails; known: those of the segments are; else they are to be
/// found with none.
static void chain_behind(const along_call *c, int path, bool known)
{
    const along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, path);
    double behind[WRENCH] = {0};
    while (segment[s].after >= 0) s = segment[s].after;
    for (; s >= 0; s = segment[s].before) {
        const double *const way = w->way + (size_t)segment[s].cut * MOTION, *const own = w->weight + (size_t)s * WRENCH;
        double next[WRENCH];
        memcpy(w->behind + (size_t)segment[s].cut * WRENCH, behind, sizeof behind);
        if (!known) continue;
        turn_plain(way, behind, next), turn_plain(way, behind + 3, next + 3);
        add_cross(way + 9, next + 3, next);
        for (int k = 0; k < WRENCH; k++) behind[k] = next[k] + own[k];
    }
}

static void open_tails(void *context, int thread, int job)
{
    (void)thread;
    chain_behind(context, job, false);
}

static void chain_loads(void *context, int thread, int job)
{
    (void)thread;
    chain_behind(context, job, true);
}

/// Inverse dynamics of the rows: tau from q, v and the acceleration in x; ways: whether those of the tails are to be found, or
/// stand.
static void along_inverse(along_world *w, pool *threads, bool ways)
{
    along_call c = {.w = w};
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        if (is_cut(w->plan, c.level)) {
            if (ways) pool_run(threads, w->count, motion_ways, &c);
            ALONG_EACH(threads, cut_paths_of(w->plan, c.level), chain_turns, &c);
            pool_run(threads, w->count, rnea_outwards, &c);
            ALONG_EACH(threads, cut_paths_of(w->plan, c.level), chain_accelerations, &c);
        }
        pool_run(threads, w->count, rnea_outwards, &c);
    }
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        if (is_cut(w->plan, c.level)) {
            ALONG_EACH(threads, cut_paths_of(w->plan, c.level), open_tails, &c);
            pool_run(threads, w->count, rnea_inwards, &c);
            ALONG_EACH(threads, cut_paths_of(w->plan, c.level), chain_loads, &c);
        }
        pool_run(threads, w->count, rnea_inwards, &c);
    }
}

static void rnea_load(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    const lane_rows *const B = &c->w->rows[job];
    const aba_block *const A = &c->w->aba[job];
    if (c->tau) rows_in(B, true, c->tau, A->x);
    else memset(A->x, 0, (size_t)B->m.nv * sizeof *A->x);
}

static void rnea_store(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    rows_out(&c->w->rows[job], true, c->w->aba[job].tau, c->out);
}

/// tau = H a + c(q, v), a NULL: 0.
static void along_rnea(along_world *w, pool *threads, const double *q, const double *v, const double *a, double *tau)
{
    along_call c = {.w = w, .q = q, .v = v, .tau = a, .out = tau};
    memcpy(w->pull, w->plan->model->gravity, sizeof w->pull);
    pool_run(threads, w->count, motion_load, &c);
    pool_run(threads, w->count, rnea_load, &c);
    along_inverse(w, threads, true);
    pool_run(threads, w->count, rnea_store, &c);
}

/// y = H(q) x, of `count` rows x and y [nv]; NULL x: the unit vectors from number `first` on, in `unit` [nv].
static void along_products(along_world *w, pool *threads, int count, const double *q, const double *x, int first, double *unit,
                           double *y)
{
    const size_t nv = (size_t)w->plan->model->nv;
    along_call c = {.w = w, .q = q};
    memset(w->pull, 0, sizeof w->pull);
    pool_run(threads, w->count, motion_load, &c);
    for (int k = 0; k < count; k++) {
        if (!x) memset(unit, 0, nv * sizeof *unit), unit[first + k] = 1;
        c.tau = x ? x + (size_t)k * nv : unit, c.out = y + (size_t)k * nv;
        pool_run(threads, w->count, rnea_load, &c);
        along_inverse(w, threads, k == 0);
        pool_run(threads, w->count, rnea_store, &c);
    }
}

// ---- factor and solve

static void factor_load(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    const lane_rows *const B = &c->w->rows[job];
    const aba_block *const A = &c->w->aba[job];
    const size_t bytes = (size_t)B->m.nv * sizeof *A->v;
    rows_in(B, false, c->q, A->q);
    memset(A->v, 0, bytes), memset(A->tau, 0, bytes);
}

/// Factors of H(q): those of forward dynamics, whatever its forces.
static void along_factor(along_world *w, pool *threads, const double *q)
{
    along_call c = {.w = w, .q = q};
    pool_run(threads, w->count, factor_load, &c);
    along_eliminate(w, threads);
}

/// What lanes carry of a right-hand side inwards: p, and g of the far end.
typedef struct {
    wrench p;
    real g[6];
} side_lanes;

static void enter_side(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memset(to, 0, 12 * sizeof *to);
}

static void leave_side(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    memcpy(w->weight + (size_t)s * WRENCH, from, WRENCH * sizeof *from);
    if (cut >= 0) memcpy(w->cut[cut].g, from + WRENCH, sizeof w->cut->g);
}

FN void side_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    aba_block *const A = &w->aba[block];
    aba_body *const s = &A->aba.body[i];
    const joint_form f = form_of(b);
    wrench *const p = &((side_lanes *)carried)->p, hand;
    if (b->flags & BODY_FORK) {
        gather_hands(w, B, i, WRENCH, w->weight, &hand);
        *p = wrench_add(*p, hand);
    }
    if (b->nv == 3) s->three.u = take_side3(f, &A->aba.motion[i].R, &s->three.D, &s->three.G, load3(A->tau + b->vadr), p);
    else s->one.u = take_side1(b, f.kind, s->one.z, &s->one.pivot, A->tau[b->vadr], p);
    if (has_arm(f) && !(f.flags & BODY_ROOT)) *p = wrench_shift(*p, b->nv == 3 ? s->three.r : s->one.r);
}

FN void side_cut_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const aba_block *const A = &w->aba[block];
    const aba_body *const s = &A->aba.body[i];
    const real *const y = A->y + 6 * b->vadr;
    real *const g = ((side_lanes *)carried)->g, e[6];
    side_row(w, block, i, carried);
    if (b->nv == 3) {
        far_side3(y, s->three.u, g);
        return;
    }
    for (int k = 0; k < 6; k++) e[k] = y[k] * s->one.pivot.i;
    far_side1(e, s->one.u, g);
}

static void side_inwards(void *context, int thread, int job)
{
    const along_call *const c = context;
    side_lanes I;
    (void)thread;
    pass_inwards(c->w, job, c->level, 12, (real *)&I, enter_side, leave_side,
                 is_cut(c->w->plan, c->level) ? side_cut_row : side_row);
}

static void join_sides(void *context, int thread, int job)
{
    const along_call *const c = context;
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, job);
    (void)thread;
    while (segment[s].after >= 0) s = segment[s].after;
    for (s = segment[s].before; s >= 0; s = segment[s].before)
        boundary_side(&w->cut[segment[s].cut], w->weight + (size_t)segment[s].after * WRENCH, w->weight + (size_t)s * WRENCH);
}

/// The motion that a solution gives to what a segment's head hangs on.
static void solution_above(const along_world *w, int s, double *d)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    memset(d, 0, 6 * sizeof *d);
    if (above < 0) return;
    const aba_block *const up = &w->aba[place_of(w->plan, above, &row, &lane)];
    leave_lane(&up->aba.accel[row], lane, 6, d);
}

static void enter_solution(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    memset(to, 0, 12 * sizeof *to);
    if (cut >= 0) memcpy(to, w->cut[cut].d, 12 * sizeof *to);  // d and f
    else solution_above(w, s, to);
}

static void side_boundaries(void *context, int thread, int job)
{
    (void)thread;
    pass_boundaries(context, job, solution_above);
}

static void side_outwards(void *context, int thread, int job)
{
    const along_call *const c = context;
    outward_lanes O;
    (void)thread;
    pass_outwards(c->w, job, c->level, 12, (real *)&O, enter_solution, NULL, NULL,
                  is_cut(c->w->plan, c->level) ? accelerate_cut_row : accelerate_row);
}

static void side_load(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = context;
    rows_in(&c->w->rows[job], true, c->tau, c->w->aba[job].tau);
}

/// H x = tau of the rows, with the factors that stand.
static void along_side(along_world *w, pool *threads)
{
    along_call c = {.w = w};
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        pool_run(threads, w->count, side_inwards, &c);
        ALONG_EACH(threads, cut_paths_of(w->plan, c.level), join_sides, &c);
    }
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        ALONG_EACH(threads, cut_paths_of(w->plan, c.level), side_boundaries, &c);
        pool_run(threads, w->count, side_outwards, &c);
    }
}

/// H x = b, of `count` rows b and x [nv], which may be the same, with the factors that along_factor() or along_aba() has left.
static void along_solve_sides(along_world *w, pool *threads, int count, const double *b, double *x)
{
    const size_t nv = (size_t)w->plan->model->nv;
    along_call c = {.w = w};
    for (int k = 0; k < count; k++) {
        c.tau = b + (size_t)k * nv, c.out = x + (size_t)k * nv;
        pool_run(threads, w->count, side_load, &c);
        along_side(w, threads);
        pool_run(threads, w->count, aba_store, &c);
    }
}

#endif
