/// Where everything that an engine works with lies in plain memory: scratch of the dynamics, states of blocks of worlds, scratch
/// of the methods. Included by engine_kernels.h.
#ifndef CATENA_ENGINE_LAYOUT_H
#define CATENA_ENGINE_LAYOUT_H

/// Memory handed out piece by piece; with base NULL it only counts.
typedef struct {
    char *base;
    size_t used;
} arena;

FN void *take(arena *a, size_t count, size_t size)
{
    void *p = a->base ? a->base + a->used : NULL;
    a->used += (count * size + 63) / 64 * 64;
    return p;
}
/// `count` things of a type.
#define TAKE(a, count, type) ((type *)take(a, count, sizeof(type)))

KERNEL lane_model *layout_model(int nbody, int nload, int nmotor, arena *a)
{
    lane_model *const to = TAKE(a, 1, lane_model);
    lane_body *const bodies = TAKE(a, (size_t)nbody, lane_body);
    lane_point_load *const loads = TAKE(a, (size_t)nload, lane_point_load);
    lane_motor *const motors = TAKE(a, (size_t)nmotor, lane_motor);
    if (to) to->bodies = bodies, to->loads = loads, to->motors = motors;
    return to;
}

KERNEL size_t model_size(const ctn_model *m)
{
    arena a = {NULL, 0};
    layout_model(m->nbody, m->nload, m->nmotor, &a);
    return a.used;
}

/// Everything that one lane block of any kernel needs.
typedef struct {
    real *q, *v, *t, *x;  // [nq], [nv], [nv], [max(12 nlink, 6 nv, 11)]
    aba_work aba;
    rnea_work rnea;
    crba_work crba;
    pose *T;
    twist *V, *A;
    id_work id;
    tree_factors factors;
    real *acceleration;  // [nv], for derivatives and sensors
    real *force;         // [nv], for sensors
    real *unit;          // [nv], for those of loads and motors
    real *target, *by_target;  // [ncontrol] as the next, of the motor map
    lane_motor *motors;        // [nmotor]
    loads_work loads;
} frame;

KERNEL aba_work layout_aba(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    aba_work w;
    w.body = TAKE(a, n, aba_body);
    w.motion = TAKE(a, n, aba_motion);
    w.hand = TAKE(a, n, subtree);
    w.accel = TAKE(a, n, twist);
    return w;
}

KERNEL rnea_work layout_rnea(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    rnea_work w;
    w.body = TAKE(a, n, rnea_body);
    w.motion = TAKE(a, n, rnea_motion);
    w.R = TAKE(a, n, mat3);
    w.hand = TAKE(a, n, wrench);
    return w;
}

KERNEL id_work layout_id(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    id_work w;
    w.body = TAKE(a, n, id_body);
    w.rigid = TAKE(a, n, composite);
    w.flow = TAKE(a, n, id_flow);
    w.V = TAKE(a, n, twist);
    w.w = TAKE(a, n, wrench);
    w.turn = TAKE(a, n, vec3);
    return w;
}

KERNEL tree_factors layout_factors(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    tree_factors f;
    f.T = TAKE(a, n, placement);
    f.pivot = TAKE(a, n, tree_pivot);
    f.node = TAKE(a, n, tree_node);
    f.p = TAKE(a, n, wrench);
    f.d = TAKE(a, n, twist);
    return f;
}

KERNEL pose_work layout_pose(size_t bodies, arena *a)
{
    pose_work w;
    w.motion = TAKE(a, bodies, twist);
    w.load = TAKE(a, bodies, wrench);
    w.moment = TAKE(a, bodies, vec3);
    return w;
}

/// Of models with surfaces; else NULL.
KERNEL load_watch *layout_watch(const lane_model *m, arena *a) { return m->nsurface ? (load_watch *)take(a, 1, watch_size(m)) : NULL; }

/// Nothing for models without loads.
KERNEL loads_work layout_loads(const lane_model *m, arena *a)
{
    const size_t n = m->nload ? (size_t)m->nbody : 0;
    loads_work w;
    w.T = TAKE(a, n, placement);
    w.p = TAKE(a, n, vec3);
    w.at = TAKE(a, (size_t)m->nload, load_state);
    w.V = TAKE(a, n, twist);
    w.A = layout_pose(n, a);
    w.watch = layout_watch(m, a);
    w.slip = NULL, w.slides = NULL, w.pressed = false;
    return w;
}

KERNEL frame layout(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nx = (size_t)(12 * m->nlink > 6 * m->nv ? 12 * m->nlink : 6 * m->nv) + 12;
    frame f;
    f.q = TAKE(a, (size_t)m->nq, real);
    f.v = TAKE(a, (size_t)m->nv, real);
    f.t = TAKE(a, (size_t)m->nv, real);
    f.x = TAKE(a, nx, real);
    f.acceleration = TAKE(a, (size_t)m->nv, real);
    f.force = TAKE(a, (size_t)m->nv, real);
    f.unit = TAKE(a, m->nload || m->nmotor ? (size_t)m->nv : 0, real);
    f.target = TAKE(a, (size_t)m->ncontrol, real);
    f.by_target = TAKE(a, (size_t)m->ncontrol, real);
    f.motors = TAKE(a, (size_t)m->nmotor, lane_motor);
    f.loads = layout_loads(m, a);
    // one kernel runs at a time: they share what follows
    const size_t common = a->used;
    size_t most = common;
    f.aba = layout_aba(m, a);
    most = a->used > most ? a->used : most;
    a->used = common;
    f.rnea = layout_rnea(m, a);
    most = a->used > most ? a->used : most;
    a->used = common;
    f.crba.body = TAKE(a, n, crba_body);
    f.crba.sum = TAKE(a, n, composite);
    for (int k = 0; k < 3; k++) f.crba.n[k] = TAKE(a, (size_t)m->nv, real);
    for (int k = 0; k < 3; k++) f.crba.f[k] = TAKE(a, (size_t)m->nv, real);
    f.crba.row = TAKE(a, (size_t)m->nv, real);
    f.crba.sorted = TAKE(a, (size_t)m->nv, real);
    most = a->used > most ? a->used : most;
    a->used = common;
    f.T = TAKE(a, n, pose);
    f.V = TAKE(a, n, twist);
    f.A = TAKE(a, n, twist);
    most = a->used > most ? a->used : most;
    a->used = common;
    f.id = layout_id(m, a);
    f.factors = layout_factors(m, a);
    a->used = a->used > most ? a->used : most;
    return f;
}

KERNEL size_t dynamics_size(const lane_model *m)
{
    arena a = {NULL, 0};
    layout(m, &a);
    return a.used;
}

KERNEL frame open_frame(const lane_model *m, void *scratch)
{
    arena a = {(char *)scratch, 0};
    return layout(m, &a);
}

KERNEL block_state layout_state(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    block_state S = {0};
#define PLACE(member, type, count)                                                                                               \
    if (count) S.member = TAKE(a, (size_t)(count), type);
    STATE_PARTS(PLACE)
#undef PLACE
    if (cfg->dense) {
        S.part.q = TAKE(a, (size_t)m->nq, real);
        S.part.v = TAKE(a, (size_t)m->nv, real);
        S.part.tau = TAKE(a, (size_t)m->nv, real);
        S.part.z = m->rubs ? TAKE(a, (size_t)m->nv, real) : NULL;
        S.part.wound = TAKE(a, (size_t)m->nwound, real);
        S.part.slip = TAKE(a, (size_t)m->nbent, vec3);
        S.part.size = TAKE(a, 1, real);
        S.part.when = m->nsignal ? TAKE(a, 1, real) : NULL;
        for (int c = 0; c < INTERPOLANT_TERMS; c++) {
            S.part.cq[c] = TAKE(a, (size_t)m->nv, real);
            S.part.cv[c] = TAKE(a, (size_t)m->nv, real);
        }
    }
    return S;
}

/// What bodies that spin are seen from; NULL: there is none.
KERNEL turning_frames layout_frames(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    turning_frames T = {0};
    if (!m->spins) return T;
    T.of = TAKE(a, n, body_frame);
    T.V = TAKE(a, n, rate_pose);
    T.A = TAKE(a, n, rate_pose);
    T.B = TAKE(a, n, rate_pose);
    return T;
}

/// Of worlds that eliminate in orders of their own.
KERNEL void layout_orders(const lane_model *m, arena *a, joint_matrix *M)
{
    if (!by_world(m)) return;
    const size_t groups = (size_t)m->nmatrix_group, words = (size_t)group_words(m);
    world_order o = {.group = m->matrix_groups, .groups = m->nmatrix_group, .words = group_words(m)};
    o.graph = TAKE(a, groups * words, uint64_t);
    o.degree = TAKE(a, groups, int), o.place = TAKE(a, groups, int), o.run = TAKE(a, groups, panel_run);
    M->order = TAKE(a, LANES, world_order);
    for (int l = 0; l < LANES; l++) {
        o.joined = TAKE(a, groups * words, uint64_t), o.seen = TAKE(a, groups * words, uint64_t);
        o.panel = TAKE(a, groups, row_panel), o.number = TAKE(a, groups, int);
        o.later = TAKE(a, groups * (groups - 1) / 2, panel_entry), o.earlier = TAKE(a, groups * (groups - 1) / 2, panel_source);
        if (a->base) M->order[l] = o;
    }
    M->F = TAKE(a, panel_numbers(m), real);
}

/// Of what acts between bodies; else nothing.
KERNEL between_work layout_between(const lane_model *m, arena *a)
{
    between_work B = {0};
    if (!joins(m)) return B;
    const size_t n = (size_t)m->nbody, size = (size_t)matrix_size(m), words = (size_t)matrix_words(m);
    B.capacity = touch_capacity(m);
    B.touch = TAKE(a, (size_t)B.capacity, pair_touch);
    for (int k = 0; k < m->npair && B.memos < MOST_MEMOS; k++) B.memos += is_flat(&m->touch_pairs[k]);
    B.memo = TAKE(a, (size_t)B.memos, near_memo);
    B.begun = TAKE(a, (size_t)m->ntouch_shape, vec3), B.middle = TAKE(a, (size_t)m->ntouch_shape, vec3);
    B.fixed = TAKE(a, (size_t)m->ncontact, fixed_touch);
    B.row = TAKE(a, (size_t)m->nrow, bond_row);
    B.body = TAKE(a, n, matrix_body);
    B.P = TAKE(a, n, inertia6);
    B.w = TAKE(a, n, wrench);
    B.V = TAKE(a, n, twist);
    real **const rows[] = {&B.d, &B.Hd, &B.g, &B.step, &B.M.inverse, &B.M.row, &B.M.x};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = TAKE(a, size, real);
    B.force = TAKE(a, (size_t)m->nrow, real);
    B.fresh = TAKE(a, (size_t)m->nrow, real);
    B.tau = TAKE(a, (size_t)m->nv, real);
    B.drift = TAKE(a, (size_t)m->nbond, real);
    B.M.yields = TAKE(a, size, real);
    B.M.H = TAKE(a, matrix_numbers(m), real);
    B.M.L = TAKE(a, matrix_numbers(m), real);
    B.M.P = TAKE(a, n, inertia6);
    B.M.loaded = TAKE(a, n, bool);
    B.M.pattern = TAKE(a, (size_t)matrix_nodes(m) * words, uint64_t);
    B.M.path = TAKE(a, words, uint64_t);
    B.M.at = TAKE(a, size + 1, size_t);
    const size_t nodes = (size_t)matrix_nodes(m);
    B.M.run = TAKE(a, nodes + 1, column_run);
    B.M.joined = TAKE(a, nodes * (nodes + 1) / 2, column_run);
    B.M.first = TAKE(a, nodes + 1, size_t);
    layout_orders(m, a, &B.M);
    return B;
}

KERNEL solve layout_solve(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    solve W = {0};
    W.r = TAKE(a, (size_t)m->nv, real);
    W.start = TAKE(a, n, placement);
    W.now = TAKE(a, n, placement);
    W.turn = layout_frames(m, a);
    W.step = TAKE(a, n, step_body);
    W.body = TAKE(a, n, iterate_body);
    W.sum = TAKE(a, n, wrench);
    W.terms = TAKE(a, n, terms3);
    W.reach = TAKE(a, n, real);
    W.held = TAKE(a, (size_t)m->nload, load_state);
    W.load = TAKE(a, (size_t)m->nload, body_load);
    W.safe = TAKE(a, (size_t)m->nload, inertia6);
    W.own = TAKE(a, (size_t)m->nload, wrench);
    W.p = TAKE(a, needs_origins(m) ? n : 0, vec3);
    W.between = layout_between(m, a);
    W.lag = TAKE(a, (size_t)m->ncontact, real);
    W.face = TAKE(a, m->nsurface ? (size_t)m->ncontact : 0, vec3);
    W.begun = TAKE(a, m->nsurface ? (size_t)m->ncontact : 0, surface_point);
    W.ended = TAKE(a, (size_t)m->ncontact, ended_touch);
    W.watch = layout_watch(m, a);
    W.faced = TAKE(a, m->nsurface ? n : 0, face_pose);
    return W;
}

KERNEL explicit_work layout_explicit(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    const size_t nv = (size_t)m->nv;
    explicit_work e = {0};
    e.x = TAKE(a, (size_t)m->nq, real);
    e.w = TAKE(a, nv, real);
    e.u = TAKE(a, nv, real);
    e.force = TAKE(a, nv, real);
    for (int s = 0; s < (cfg->dense ? ALL_STAGES : tableau_of(cfg->method)->stages); s++) {
        e.kq[s] = TAKE(a, nv, real);
        e.kv[s] = TAKE(a, nv, real);
        e.kw[s] = TAKE(a, (size_t)m->nwound, real);
        e.slides[s] = TAKE(a, (size_t)m->nbent, vec3);
    }
    e.bent = TAKE(a, (size_t)m->nbent, vec3);
    if (cfg->adaptive) {
        e.eq = TAKE(a, nv, real);
        e.ev = TAKE(a, nv, real);
    }
    e.aba = layout_aba(m, a);
    return e;
}

/// How many forks can be open at a time on the way inwards. Without bodies none: rows along the links hand over otherwise.
KERNEL int fork_depth(const lane_model *m)
{
    int open = 0, most = 0;
    for (int i = m->nbody - 1; i >= 0 && m->bodies; i--) {
        const unsigned flags = m->bodies[i].flags;
        if (flags & BODY_FORK) open--;
        if (flags & BODY_LAST) open++;
        most = open > most ? open : most;
    }
    return most;
}

/// Scratch of the methods with `s` coupled stages.
KERNEL stage_work layout_stages(const lane_model *m, int s_, arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv, s = (size_t)s_, w = 6 * s;
    const size_t forks = (size_t)fork_depth(m);
    stage_work g = {0};
    g.x = TAKE(a, s * nq, real);
    g.base = TAKE(a, s * nq, real);
    g.u = TAKE(a, s * nv, real);
    g.base_u = TAKE(a, s * nv, real);
    g.d = TAKE(a, s * nv, real);
    g.fresh = TAKE(a, s * nv, real);
    g.at = TAKE(a, n * s, whereabouts);
    g.rate = TAKE(a, n, rate_pose);
    if (m->spins) g.W.frame = TAKE(a, n * s, turned_frame), g.W.seen = TAKE(a, n * s, mat3);
    g.W.step = TAKE(a, n, stage_start);
    g.W.reach = TAKE(a, n, real);
    g.W.body = TAKE(a, n * s, stage_body);
    g.W.held = TAKE(a, (size_t)m->nload, load_state);
    g.W.point = TAKE(a, (size_t)m->nload * s, stage_load);
    g.W.watch = layout_watch(m, a);
    g.W.p = TAKE(a, needs_origins(m) ? n : 0, vec3);
    g.W.r = TAKE(a, s * nv, real);
    g.W.K = TAKE(a, nv * 3 * s * s, real);
    g.sweep.P = TAKE(a, w * (w + 1), real);
    g.sweep.heap = TAKE(a, forks * w * (w + 1), real);
    g.sweep.X = TAKE(a, nv * s * (w + 1), real);
    g.sweep.twist = TAKE(a, n * w, real);
    if (s_ == 1 || !m->nrow || !stages_take_bonds(m)) return g;
    const size_t rows = s * (size_t)m->nrow, border = s * (size_t)border_of_bonds(m);
    stage_bonds *const B = &g.W.bonds;
    B->row = TAKE(a, rows, bond_row);
    B->force = TAKE(a, rows, real), B->base = TAKE(a, rows, real), B->step = TAKE(a, rows, real), B->fresh = TAKE(a, rows, real);
    B->bend = TAKE(a, s * n, inertia6);
    B->lead = TAKE(a, border * nv, real), B->push = TAKE(a, border * nv, real);
    B->moves = TAKE(a, border * s * nv, real), B->rhs = TAKE(a, s * nv, real);
    B->M = TAKE(a, border * (border + 1), real);
    g.sweep.U = TAKE(a, nv * 6 * s * s, real), g.sweep.inverse = TAKE(a, nv * 3 * s * s, real);
    return g;
}

/// Scratch of the solvers besides newton's, for up to `s` stages.
KERNEL solver_work layout_solver(const lane_model *m, ctn_solver solver, int s, arena *a)
{
    const size_t bodies = (size_t)m->nbody * (size_t)s, n = (size_t)m->nv * (size_t)s, triangle = n * (n + 1) / 2;
    solver_work w = {0};
    w.objective.product.e = TAKE(a, bodies, twist);
    w.objective.product.d = TAKE(a, bodies, twist);
    w.objective.product.p = TAKE(a, bodies, wrench);
    w.objective.weighted = TAKE(a, n, real);
    if (solver == CTN_LM) {
        w.lm.normal = TAKE(a, triangle, real);
        w.lm.factor = TAKE(a, triangle, real);
        real **const rows[] = {&w.lm.g, &w.lm.y, &w.lm.z};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = TAKE(a, n, real);
    } else {
        w.lbfgs.s = TAKE(a, LBFGS_MEMORY * n, real);
        w.lbfgs.y = TAKE(a, LBFGS_MEMORY * n, real);
        w.lbfgs.between = TAKE(a, (size_t)s * (size_t)s, real);
        w.lbfgs.rho = TAKE(a, LBFGS_MEMORY, real);
        real **const rows[] = {&w.lbfgs.g, &w.lbfgs.base_g, &w.lbfgs.fresh, &w.lbfgs.mixed};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = TAKE(a, n, real);
    }
    return w;
}

KERNEL variational_work layout_variational(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv;
    variational_work w = {0};
    w.W.start = TAKE(a, n, chord_start);
    w.W.body = TAKE(a, n, chord_body);
    w.W.sum = TAKE(a, n, wrench);
    w.W.reach = TAKE(a, n, real);
    w.sweep.joint = TAKE(a, n, chord_joint);
    w.sweep.hand = TAKE(a, n, chord_hand);
    w.sweep.motion = TAKE(a, n, twist);
    real **const of_q[] = {&w.W.step, &w.base, &w.x, &w.saved.q};
    real **const of_v[] = {&w.W.target, &w.W.r, &w.d, &w.fresh, &w.force, &w.momentum, &w.saved.p, &w.saved.rate, &w.saved.gain};
    for (size_t k = 0; k < sizeof of_q / sizeof *of_q; k++) *of_q[k] = TAKE(a, nq, real);
    for (size_t k = 0; k < sizeof of_v / sizeof *of_v; k++) *of_v[k] = TAKE(a, nv, real);
    return w;
}

/// Nothing of models without loops that several stages take.
KERNEL loop_velocity layout_loops(const lane_model *m, arena *a)
{
    const size_t n = stages_take_bonds(m) ? (size_t)m->nrow : 0, nv = (size_t)m->nv, bodies = n ? (size_t)m->nbody : 0;
    loop_velocity w;
    w.row = TAKE(a, n, bond_row);
    w.lead = TAKE(a, n * nv, real), w.moves = TAKE(a, n * nv, real);
    w.M = TAKE(a, n * (n + 1), real);
    w.force = TAKE(a, n, real), w.other_force = TAKE(a, n, real);
    w.p = TAKE(a, bodies, vec3), w.load = TAKE(a, bodies, wrench);
    return w;
}

KERNEL block_work layout_work(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv;
    block_work w = {0};
    w.tau = TAKE(a, nv, real);
    w.out = TAKE(a, nv, real);
    w.wound = TAKE(a, (size_t)m->nwound, real);
    w.T = TAKE(a, n, pose);
    w.D = TAKE(a, n, twist);
    w.loads = layout_loads(m, a);
    if (reads_on_loops(m, cfg)) w.inertia = layout_factors(m, a), w.loops = layout_loops(m, a);
    if (position_based(cfg->method)) {
        position_work *p = &w.po.one;
        w.po.p = TAKE(a, n, vec3);
        w.po.kept = TAKE(a, m->ncontact ? n : 0, kept_motion);
        p->x = TAKE(a, nq, real);
        p->u = TAKE(a, nv, real);
        p->base = TAKE(a, nq, real);
        p->base_u = TAKE(a, nv, real);
        p->d = TAKE(a, nv, real);
        p->fresh = TAKE(a, nv, real);
        p->lead = TAKE(a, nv, real);
        p->at = TAKE(a, n, whereabouts);
        p->W = layout_solve(m, a);
        p->W.in.x = p->x;
        p->W.in.u = p->u;
        p->sweep.pivot = TAKE(a, n, tree_pivot);
        p->sweep.hand = TAKE(a, n, subtree);
        p->sweep.motion = TAKE(a, n, twist);
        if (m->skew) {
            const stage_work one = layout_stages(m, 1, a);
            p->whole = one.W, p->skew = one.sweep;
            if (!is_alpha(cfg)) w.po.end.V = TAKE(a, n, rate_pose), w.po.end.rate = TAKE(a, nv, real);
        }
        if (joins(m) && !m->skew && !is_alpha(cfg)) w.po.end.V = TAKE(a, n, rate_pose), w.po.end.rate = TAKE(a, nv, real);
        if (is_alpha(cfg)) {
            p->aim = TAKE(a, n, rate_pose);
            p->drift = TAKE(a, n, rate_pose);
            p->aim_rate = TAKE(a, nv, real);
            p->slack = TAKE(a, nv, real);
            p->half_turn = TAKE(a, nv, real);
            p->push = TAKE(a, nv, real);
            p->wind = TAKE(a, nv, real);
            w.po.id = layout_id(m, a);
            w.po.end.V = TAKE(a, n, rate_pose);
            w.po.end.A = TAKE(a, n, rate_pose);
            w.po.end.rate = TAKE(a, nv, real);
            w.po.end.a = TAKE(a, nv, real);
            w.po.A = TAKE(a, cfg->adaptive ? n : 0, rate_pose);
            w.po.a = TAKE(a, cfg->adaptive ? nv : 0, real);
        }
        if (stages_of(cfg) > 1)
            w.po.more = layout_stages(m, carries_old(cfg) && stages_of(cfg) < 3 ? 3 : stages_of(cfg), a);  // start_old takes 3
        if (cfg->solver != CTN_NEWTON) w.po.solver = layout_solver(m, cfg->solver, stages_of(cfg), a);
        w.po.aba = layout_aba(m, a);
        w.po.T = w.T, w.po.D = w.D;
    } else if (cfg->method == CTN_VARIATIONAL) {
        w.va = layout_variational(m, a);
        w.po.aba = layout_aba(m, a);
    } else w.ex = layout_explicit(m, cfg, a);
    w.va.loads = w.ex.loads = w.po.loads = w.loads;
    return w;
}

KERNEL size_t state_size(const lane_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    layout_state(m, cfg, &a);
    return a.used;
}

KERNEL size_t work_size(const lane_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    layout_work(m, cfg, &a);
    return a.used;
}

KERNEL block_state open_state(const lane_model *m, const ctn_batch_config *cfg, void *state)
{
    arena a = {(char *)state, 0};
    return layout_state(m, cfg, &a);
}

KERNEL block_work open_work(const lane_model *m, const ctn_batch_config *cfg, void *work)
{
    arena a = {(char *)work, 0};
    return layout_work(m, cfg, &a);
}

/// The arrays that make up a state, and how many numbers of a world each holds.
#define ONE(member, type, count) +1
enum { PARTS_OF_STATE = 0 STATE_PARTS(ONE) };
#undef ONE
typedef struct {
    real *part[PARTS_OF_STATE];
    size_t size[PARTS_OF_STATE];
} state_parts;

KERNEL state_parts parts_of(const lane_model *m, const ctn_batch_config *cfg, const block_state *S)
{
#define ARRAY(member, type, count) (real *)S->member,
#define SIZE(member, type, count) (size_t)(count) * (sizeof(type) / sizeof(real)),
    const state_parts p = {{STATE_PARTS(ARRAY)}, {STATE_PARTS(SIZE)}};
#undef ARRAY
#undef SIZE
    return p;
}

/// Numbers of one world's state as a flat array.
KERNEL size_t flat_size(const lane_model *m, const ctn_batch_config *cfg)
{
    const block_state none = {0};
    const state_parts s = parts_of(m, cfg, &none);
    size_t n = 0;
    for (int p = 0; p < PARTS_OF_STATE; p++) n += s.size[p];
    return n;
}

/// Likewise of the motion of its last part; 0: without dense output.
KERNEL size_t motion_size(const lane_model *m, const ctn_batch_config *cfg)
{
    const size_t arrays = (m->rubs ? 3 : 2) + (position_based(cfg->method) ? 2 * INTERPOLANT_TERMS : 0);
    return cfg->dense ? (size_t)m->nq + arrays * (size_t)m->nv + (m->nsignal ? 2 : 1) : 0;
}

#endif
