/// Forward dynamics along the links: the kernels of dynamics/aba.h over the rows of a plan, and between levels and segments what
/// passes from one to the other. (docs/scans.md)
///
///     relative   axes R and angular velocity w at the tails of cut paths, from the heads'; then of all heads in turn
///     outward    aba_outward(), with bias accelerations counted from zero in each segment
///     inward     aba_inward(), and in cut paths the far end
///     between    wrenches and motions over the cuts (boundary.h)
///     accelerate aba_accelerate(), given the motion above each segment and the wrench at its tail
///
/// A bias acceleration counted from zero is one more motion d of what lies above: where a segment hands P and p on to a body that
/// has the bias b, that is p + P b.
#ifndef CATENA_ALONG_ABA_H
#define CATENA_ALONG_ABA_H

// ---- outwards

/// Axes and angular velocity of what a segment's head hangs on.
KERNEL void motion_above(const along_world *w, int s, double *M)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    if (above < 0) memcpy(M, WORLD_POSE, sizeof WORLD_POSE);
    else {
        const aba_block *const up = &w->aba[place_of(w->plan, above, &row, &lane)];
        leave_lane(&up->aba.motion[row], lane, POSE, M);
    }
}

KERNEL void enter_relative(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memcpy(to, WORLD_POSE, sizeof WORLD_POSE);
}

KERNEL void leave_relative(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->start + (size_t)cut * POSE, from, POSE * sizeof *from);
}

/// A body whose joint only turns: axes and angular velocity.
FN void relative_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const aba_block *const A = &w->aba[block];
    const joint_form f = form_of(b);
    aba_motion *const M = (aba_motion *)carried;
    if (f.flags & BODY_ROOT) M->w = zero3();
    M->R = body_axes(b, f, M->R, A->q);
    if (turns(f)) M->w = add(M->w, joint_turn(b, f, M->R, A->v));
}

KERNEL void aba_relative(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    aba_motion M;
    (void)thread;
    pass_outwards(c->w, job, c->level, POSE, (real *)&M, enter_relative, leave_relative, NULL, relative_row);
}

FN void load_motion(const along_world *w, int s, double *e)
{
    memcpy(e, w->start + (size_t)w->plan->segment[s].cut * POSE, POSE * sizeof *e);
}

FN void put_motion(along_world *w, int s, const double *M)
{
    memcpy(w->start + (size_t)w->plan->segment[s].cut * POSE, M, POSE * sizeof *M);
}

FN void chain_on_motion(double *M, const double *e)
{
    double next[POSE];
    for (int j = 0; j < 4; j++) turn_plain(M, e + 3 * j, next + 3 * j);
    for (int k = 9; k < POSE; k++) next[k] += M[k];
    memcpy(M, next, sizeof next);
}

/// Makes `start` of a cut path that of what its heads hang on.
KERNEL void chain_motions(void *context, int thread, int job)
{
    (void)thread;
    go_along((const along_call *)context, job, false, POSE, motion_above, load_motion, chain_on_motion, put_motion, WORLD_POSE);
}

KERNEL void enter_motion(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(to, w->start + (size_t)cut * POSE, POSE * sizeof *to);
    else motion_above(w, s, to);
    for (int k = POSE; k < POSE + 6; k++) to[k] = 0;
}

KERNEL void leave_bias(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut >= 0) memcpy(w->cut[cut].bias, from + POSE, 6 * sizeof *from);
}

FN void outward_row(along_world *w, int block, int i, real *carried)
{
    const lane_model *const m = &w->rows[block].m;
    const lane_body *const b = &m->bodies[i];
    aba_block *const A = &w->aba[block];
    BY_FORM(b, f, aba_outward_body(m, b, f, i, A->q, A->v, &A->aba, (aba_motion *)carried))
}

KERNEL void aba_outwards(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    aba_motion M;
    (void)thread;
    pass_outwards(c->w, job, c->level, POSE + 6, (real *)&M, enter_motion, leave_bias, NULL, outward_row);
}

// ---- inwards

/// What lanes carry inwards.
typedef struct {
    subtree next;
    far_end X;
} inward_lanes;

FN void inward_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    aba_block *const A = &w->aba[block];
    inward_lanes *const c = (inward_lanes *)carried;
    if (b->flags & BODY_FORK) {
        subtree *const hand = &A->aba.hand[i];
        const twist bias = {A->aba.motion[i].al, A->aba.motion[i].a};
        gather_hands(w, B, i, HAND, w->hand, hand);
        hand->p = wrench_add(hand->p, inertia_times(&hand->P, bias));
    }
    if (b->flags & BODY_LOAD) {
        const wrench load = A->load[i];
        c->next.p.n = sub(c->next.p.n, load.n), c->next.p.f = sub(c->next.p.f, load.f);
    }
    BY_FORM(b, f, aba_inward_body(b, f, i, A->tau, &A->aba, &c->next))
}

/// The same, then the far end.
FN void inward_cut_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    aba_block *const A = &w->aba[block];
    far_end *const X = &((inward_lanes *)carried)->X;
    inward_row(w, block, i, carried);
    const aba_body *const s = &A->aba.body[i];
    real *const y = A->y + 6 * b->vadr;
    if (b->nv == 3)
        far_rows3(b->kind == JOINT_BALL, s->three.D, &s->three.G, b->flags & BODY_OFFSET, s->three.r, s->three.u, X, y);
    else far_row1(b, has_arm(form_of(b)), s->one.z, s->one.r, &s->one.pivot, s->one.u, X, y);
}

KERNEL void aba_inwards(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    inward_lanes I;
    (void)thread;
    if (is_cut(c->w->plan, c->level))
        pass_inwards(c->w, job, c->level, HAND + FAR, (real *)&I, enter_open, leave_hand, inward_cut_row);
    else pass_inwards(c->w, job, c->level, HAND, (real *)&I, enter_open, leave_hand, inward_row);
}

// ---- outwards again

/// The acceleration of what a segment's head hangs on, the world's being -g. (A translation, which is free to take any, has that
/// in its bias.)
KERNEL void acceleration_above(const along_world *w, int s, double *d)
{
    const ctn_model *const m = w->model;
    const along_segment *const S = &w->plan->segment[s];
    const bool flies = m->bodies[S->head].kind == JOINT_TRANSLATION;
    for (int k = 0; k < 6; k++) d[k] = k < 3 || flies ? 0 : -m->gravity[k - 3];
    if (S->above < 0) return;
    int row, lane;
    const aba_block *const up = &w->aba[place_of(w->plan, S->above, &row, &lane)];
    double bias[6];
    leave_lane(&up->aba.motion[row].al, lane, 6, bias), leave_lane(&up->aba.accel[row], lane, 6, d);
    for (int k = 0; k < 6; k++) d[k] += bias[k];
}

/// What lanes carry outwards: the motion, and the wrench at the tail.
typedef struct {
    twist d;
    real f[6];
} outward_lanes;

KERNEL void enter_acceleration(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    memset(to, 0, 12 * sizeof *to);
    if (cut >= 0) memcpy(to, w->cut[cut].d, 12 * sizeof *to);  // d and f
    else acceleration_above(w, s, to);
}

FN void accelerate_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    aba_block *const A = &w->aba[block];
    BY_FORM(b, f, aba_accelerate_body(b, f, i, &A->aba, &((outward_lanes *)carried)->d, A->x))
}

FN void accelerate_cut_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const aba_block *const A = &w->aba[block];
    aba_body *const s = &A->aba.body[i];
    const real *const f = ((outward_lanes *)carried)->f, *const y = A->y + 6 * b->vadr;
    if (b->nv == 3) s->three.u = far_take3(s->three.D, y, f, s->three.u);
    else s->one.u = far_take1(y, f, s->one.u);
    accelerate_row(w, block, i, carried);
}

KERNEL void aba_accelerations(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    outward_lanes O;
    (void)thread;
    if (is_cut(c->w->plan, c->level))
        pass_outwards(c->w, job, c->level, 12, (real *)&O, enter_acceleration, NULL, NULL, accelerate_cut_row);
    else pass_outwards(c->w, job, c->level, 6, (real *)&O, enter_acceleration, NULL, NULL, accelerate_row);
}

KERNEL void aba_boundaries(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    (void)thread;
    if (!is_long(c->w->plan, c->level, job)) pass_boundaries(c, job, acceleration_above);
}

// ---- the call

KERNEL void aba_load(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = (const along_call *)context;
    const lane_rows *const B = &c->w->rows[job];
    aba_block *const A = &c->w->aba[job];
    rows_in(B, false, c->q, A->q), rows_in(B, true, c->v, A->v);
    if (c->tau) rows_in(B, true, c->tau, A->tau);
    else memset(A->tau, 0, (size_t)B->m.nv * sizeof *A->tau);
    add_passive_forces(&B->m, A->q, A->v, A->tau);
}

KERNEL void aba_store(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = (const along_call *)context;
    rows_out(&c->w->rows[job], true, c->w->aba[job].x, c->out);
}

#ifndef ALONG_JOBS
/// Both passes that factor the inertia, at the rows' q and v with the forces tau.
static void along_eliminate(along_world *w, along_crew *crew)
{
    const along_plan *const plan = w->plan;
    along_call c = {.w = w->self};
    for (c.level = plan->levels - 1; c.level >= 0; c.level--) {
        if (is_cut(plan, c.level)) {
            ALONG_RUN(crew, w->count, aba_relative, &c);
            ALONG_CHAIN(crew, w, chain_motions, &c);
        }
        ALONG_RUN(crew, w->count, aba_outwards, &c);
    }
    for (c.level = 0; c.level < plan->levels; c.level++) {
        ALONG_RUN(crew, w->count, aba_inwards, &c);
        along_join_cuts(w, crew, &c, false);
    }
}

/// Forward dynamics of the rows: x from q, v, tau.
static void along_forward(along_world *w, along_crew *crew)
{
    along_call c = {.w = w->self};
#ifdef ALONG
    if (w->plan->model->nload) along_loads(w, crew);
#endif
    along_eliminate(w, crew);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        along_pass_cuts(w, crew, &c, false);
        ALONG_RUN(crew, w->count, aba_accelerations, &c);
    }
}

static void along_aba(along_world *w, along_crew *crew, const double *q, const double *v, const double *tau, double *qdd)
{
    along_call c = {.w = w->self, .q = q, .v = v, .tau = tau, .out = qdd};
    ALONG_RUN(crew, w->count, aba_load, &c);
    along_forward(w, crew);
    ALONG_RUN(crew, w->count, aba_store, &c);
}
#endif

#endif
