/// Where everything that an engine works with lies in plain memory: scratch of the dynamics, states of blocks of worlds, scratch of the
/// methods. Included by engine_kernels.h.
#ifndef CATENA_ENGINE_LAYOUT_H
#define CATENA_ENGINE_LAYOUT_H

/// Memory handed out piece by piece; with base NULL it only counts.
typedef struct {
    char *base;
    size_t used;
} arena;

static void *take(arena *a, size_t count, size_t size)
{
    void *p = a->base ? a->base + a->used : NULL;
    a->used += (count * size + 63) / 64 * 64;
    return p;
}

static lane_model *layout_model(int nbody, arena *a)
{
    lane_model *const to = (lane_model *)take(a, 1, sizeof *to);
    lane_body *const bodies = (lane_body *)take(a, (size_t)nbody, sizeof(lane_body));
    if (to) to->bodies = bodies;
    return to;
}

static size_t model_size(const ctn_model *m)
{
    arena a = {NULL, 0};
    layout_model(m->nbody, &a);
    return a.used;
}

/// Everything that one lane block of any kernel needs.
typedef struct {
    real *q, *v, *t, *x;  // [nq], [nv], [nv], [max(12 nlink, 6 nv, 11)]
    aba_work aba;
    rnea_work rnea;
    crba_work crba;
    pose *T;
    twist *V;
    id_work id;
    tree_factors factors;
    real *acceleration;  // [nv], for derivatives
} frame;

static aba_work layout_aba(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    aba_work w;
    w.body = take(a, n, sizeof(aba_body));
    w.motion = take(a, n, sizeof(aba_motion));
    w.hand = take(a, n, sizeof(aba_hand));
    w.accel = take(a, n, sizeof(aba_accel));
    return w;
}

static id_work layout_id(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    id_work w;
    w.body = take(a, n, sizeof(id_body));
    w.rigid = take(a, n, sizeof(composite));
    w.flow = take(a, n, sizeof(id_flow));
    w.V = take(a, n, sizeof(twist));
    w.w = take(a, n, sizeof(wrench));
    w.turn = take(a, n, sizeof(vec3));
    return w;
}

static tree_factors layout_factors(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    tree_factors f;
    f.node = take(a, n, sizeof(tree_node));
    f.pivot = take(a, n, sizeof(tree_pivot));
    f.P = take(a, n, sizeof(inertia6));
    f.p = take(a, n, sizeof(wrench));
    f.d = take(a, n, sizeof(twist));
    return f;
}

static frame layout(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nx = (size_t)(12 * m->nlink > 6 * m->nv ? 12 * m->nlink : 6 * m->nv) + 12;
    frame f;
    f.q = take(a, (size_t)m->nq, sizeof(real));
    f.v = take(a, (size_t)m->nv, sizeof(real));
    f.t = take(a, (size_t)m->nv, sizeof(real));
    f.x = take(a, nx, sizeof(real));
    f.acceleration = take(a, (size_t)m->nv, sizeof(real));
    // one kernel runs at a time: they share what follows
    const size_t common = a->used;
    size_t most = common;
    f.aba = layout_aba(m, a);
    most = a->used > most ? a->used : most;
    a->used = common;
    f.rnea.body = take(a, n, sizeof(rnea_body));
    f.rnea.motion = take(a, n, sizeof(rnea_motion));
    f.rnea.R = take(a, n, sizeof(mat3));
    f.rnea.hand = take(a, n, sizeof(wrench));
    most = a->used > most ? a->used : most;
    a->used = common;
    f.crba.body = take(a, n, sizeof(crba_body));
    f.crba.sum = take(a, n, sizeof(composite));
    for (int k = 0; k < 3; k++) f.crba.n[k] = take(a, (size_t)m->nv, sizeof(real));
    for (int k = 0; k < 3; k++) f.crba.f[k] = take(a, (size_t)m->nv, sizeof(real));
    f.crba.row = take(a, (size_t)m->nv, sizeof(real));
    f.crba.sorted = take(a, (size_t)m->nv, sizeof(real));
    most = a->used > most ? a->used : most;
    a->used = common;
    f.T = take(a, n, sizeof(pose));
    f.V = take(a, n, sizeof(twist));
    most = a->used > most ? a->used : most;
    a->used = common;
    f.id = layout_id(m, a);
    f.factors = layout_factors(m, a);
    a->used = a->used > most ? a->used : most;
    return f;
}

static size_t dynamics_size(const lane_model *m)
{
    arena a = {NULL, 0};
    layout(m, &a);
    return a.used;
}

static frame open_frame(const lane_model *m, void *scratch)
{
    arena a = {(char *)scratch, 0};
    return layout(m, &a);
}

static block_state layout_state(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    block_state S = {0};
    S.q = take(a, (size_t)m->nq, sizeof(real));
    S.v = take(a, (size_t)m->nv, sizeof(real));
    if (cfg->adaptive) S.control = take(a, 1, sizeof(step_control));
    if (cfg->dense) {
        S.part.q = take(a, (size_t)m->nq, sizeof(real));
        S.part.v = take(a, (size_t)m->nv, sizeof(real));
        S.part.tau = take(a, (size_t)m->nv, sizeof(real));
        S.part.size = take(a, 1, sizeof(real));
        for (int c = 0; c < INTERPOLANT_TERMS; c++) {
            S.part.cq[c] = take(a, (size_t)m->nv, sizeof(real));
            S.part.cv[c] = take(a, (size_t)m->nv, sizeof(real));
        }
    }
    if (position_based(cfg->method)) {
        S.gain = take(a, (size_t)m->nv, sizeof(real));
        S.V = take(a, (size_t)m->nbody, sizeof(rate_pose));
    }
    if (carries_old(cfg)) {
        S.old_rate = take(a, (size_t)m->nv, sizeof(real));
        S.old = take(a, (size_t)m->nbody, sizeof(rate_pose));
        S.fresh = take(a, 1, sizeof(real));
    }
    if (carries_energy(cfg)) S.created = take(a, 2, sizeof(real));
    if (cfg->method == CTN_VARIATIONAL) {
        S.gain = take(a, (size_t)m->nv, sizeof(real));
        S.p = take(a, (size_t)m->nv, sizeof(real));
    }
    return S;
}

static solve layout_solve(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    solve W = {0};
    W.r = take(a, (size_t)m->nv, sizeof(real));
    W.start = take(a, n, sizeof(placement));
    W.now = take(a, n, sizeof(placement));
    W.step = take(a, n, sizeof(step_body));
    W.body = take(a, n, sizeof(iterate_body));
    W.sum = take(a, n, sizeof(wrench));
    W.terms = take(a, n, sizeof(terms3));
    return W;
}

static explicit_work layout_explicit(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    const size_t nv = (size_t)m->nv;
    explicit_work e = {0};
    e.x = take(a, (size_t)m->nq, sizeof(real));
    e.w = take(a, nv, sizeof(real));
    e.u = take(a, nv, sizeof(real));
    e.force = take(a, nv, sizeof(real));
    for (int s = 0; s < (cfg->dense ? ALL_STAGES : tableau_of(cfg->method)->stages); s++) {
        e.kq[s] = take(a, nv, sizeof(real));
        e.kv[s] = take(a, nv, sizeof(real));
    }
    if (cfg->adaptive) {
        e.eq = take(a, nv, sizeof(real));
        e.ev = take(a, nv, sizeof(real));
    }
    e.aba = layout_aba(m, a);
    return e;
}

/// How many forks can be open at a time on the way inwards.
static int fork_depth(const lane_model *m)
{
    int open = 0, most = 0;
    for (int i = m->nbody - 1; i >= 0; i--) {
        const unsigned flags = m->bodies[i].flags;
        if (flags & BODY_FORK) open--;
        if (flags & BODY_LAST) open++;
        most = open > most ? open : most;
    }
    return most;
}

/// Scratch of the methods with `s` coupled stages.
static stage_work layout_stages(const lane_model *m, int s_, arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv, s = (size_t)s_, w = 6 * s;
    const size_t forks = (size_t)fork_depth(m);
    stage_work g = {0};
    g.x = take(a, s * nq, sizeof(real));
    g.base = take(a, s * nq, sizeof(real));
    g.u = take(a, s * nv, sizeof(real));
    g.base_u = take(a, s * nv, sizeof(real));
    g.d = take(a, s * nv, sizeof(real));
    g.fresh = take(a, s * nv, sizeof(real));
    g.rate = take(a, n, sizeof(rate_pose));
    g.W.step = take(a, n, sizeof(stage_start));
    g.W.body = take(a, n * s, sizeof(stage_body));
    g.W.r = take(a, s * nv, sizeof(real));
    g.W.K = take(a, nv * 3 * s * s, sizeof(real));
    g.sweep.P = take(a, w * w, sizeof(real));
    g.sweep.p = take(a, w, sizeof(real));
    g.sweep.heap = take(a, forks * w * w, sizeof(real));
    g.sweep.heap_p = take(a, forks * w, sizeof(real));
    g.sweep.X = take(a, nv * s * (w + 1), sizeof(real));
    g.sweep.twist = take(a, n * w, sizeof(real));
    return g;
}

/// Scratch of the solvers besides newton's, for up to `s` stages.
static solver_work layout_solver(const lane_model *m, ctn_solver solver, int s, arena *a)
{
    const size_t bodies = (size_t)m->nbody * (size_t)s, n = (size_t)m->nv * (size_t)s, triangle = n * (n + 1) / 2;
    solver_work w = {0};
    w.objective.product.e = take(a, bodies, sizeof(twist));
    w.objective.product.d = take(a, bodies, sizeof(twist));
    w.objective.product.p = take(a, bodies, sizeof(wrench));
    w.objective.weighted = take(a, n, sizeof(real));
    if (solver == CTN_LM) {
        w.lm.normal = take(a, triangle, sizeof(real));
        w.lm.factor = take(a, triangle, sizeof(real));
        real **const rows[] = {&w.lm.g, &w.lm.y, &w.lm.z};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = take(a, n, sizeof(real));
    } else {
        w.lbfgs.s = take(a, LBFGS_MEMORY * n, sizeof(real));
        w.lbfgs.y = take(a, LBFGS_MEMORY * n, sizeof(real));
        w.lbfgs.between = take(a, (size_t)s * (size_t)s, sizeof(real));
        w.lbfgs.rho = take(a, LBFGS_MEMORY, sizeof(real));
        real **const rows[] = {&w.lbfgs.g, &w.lbfgs.base_g, &w.lbfgs.fresh, &w.lbfgs.mixed};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = take(a, n, sizeof(real));
    }
    return w;
}

static variational_work layout_variational(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv;
    variational_work w = {0};
    w.W.start = take(a, n, sizeof(chord_start));
    w.W.body = take(a, n, sizeof(chord_body));
    w.W.sum = take(a, n, sizeof(wrench));
    w.sweep.joint = take(a, n, sizeof(chord_joint));
    w.sweep.hand = take(a, n, sizeof(chord_hand));
    w.sweep.twist = take(a, n, sizeof(sweep_twist));
    real **const of_q[] = {&w.W.step, &w.base, &w.x, &w.saved.q};
    real **const of_v[] = {&w.W.target, &w.W.r, &w.d, &w.fresh, &w.force, &w.momentum, &w.saved.p, &w.saved.rate, &w.saved.gain};
    for (size_t k = 0; k < sizeof of_q / sizeof *of_q; k++) *of_q[k] = take(a, nq, sizeof(real));
    for (size_t k = 0; k < sizeof of_v / sizeof *of_v; k++) *of_v[k] = take(a, nv, sizeof(real));
    return w;
}

static block_work layout_work(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv;
    block_work w = {0};
    w.tau = take(a, nv, sizeof(real));
    w.out = take(a, nv, sizeof(real));
    w.T = take(a, n, sizeof(pose));
    w.D = take(a, n, sizeof(twist));
    if (position_based(cfg->method)) {
        position_work *p = &w.po.one;
        w.po.p = take(a, n, sizeof(vec3));
        p->x = take(a, nq, sizeof(real));
        p->u = take(a, nv, sizeof(real));
        p->base = take(a, nq, sizeof(real));
        p->base_u = take(a, nv, sizeof(real));
        p->d = take(a, nv, sizeof(real));
        p->fresh = take(a, nv, sizeof(real));
        p->W = layout_solve(m, a);
        p->W.in.x = p->x;
        p->W.in.u = p->u;
        p->sweep.body = take(a, n, sizeof(sweep_body));
        p->sweep.hand = take(a, n, sizeof(sweep_hand));
        p->sweep.twist = take(a, n, sizeof(sweep_twist));
        p->sweep.keep = take(a, n, sizeof(real));
        if (stages_of(cfg) > 1)
            w.po.more = layout_stages(m, carries_old(cfg) && stages_of(cfg) < 3 ? 3 : stages_of(cfg), a);  // start_old takes 3
        if (cfg->solver != CTN_NEWTON) w.po.solver = layout_solver(m, cfg->solver, stages_of(cfg), a);
        w.po.aba = layout_aba(m, a);
        w.po.T = w.T, w.po.D = w.D;
    } else if (cfg->method == CTN_VARIATIONAL) {
        w.va = layout_variational(m, a);
        w.po.aba = layout_aba(m, a);
    } else w.ex = layout_explicit(m, cfg, a);
    return w;
}

static size_t state_size(const lane_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    layout_state(m, cfg, &a);
    return a.used;
}

static size_t work_size(const lane_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    layout_work(m, cfg, &a);
    return a.used;
}

static block_state open_state(const lane_model *m, const ctn_batch_config *cfg, void *state)
{
    arena a = {(char *)state, 0};
    return layout_state(m, cfg, &a);
}

static block_work open_work(const lane_model *m, const ctn_batch_config *cfg, void *work)
{
    arena a = {(char *)work, 0};
    return layout_work(m, cfg, &a);
}

/// The arrays that make up a state, and how many numbers of a world each holds.
enum { STATE_PARTS = 10 };
typedef struct {
    real *part[STATE_PARTS];
    size_t size[STATE_PARTS];
} state_parts;

static state_parts parts_of(const lane_model *m, const ctn_batch_config *cfg, const block_state *S)
{
    const size_t nv = (size_t)m->nv, nV = 12 * (size_t)m->nbody;
    const bool position = position_based(cfg->method), old = carries_old(cfg), created = carries_energy(cfg);
    const bool variational = cfg->method == CTN_VARIATIONAL;
    const state_parts p = {
        {S->q, S->v, (real *)S->control, S->gain, (real *)S->V, S->old_rate, (real *)S->old, S->created, S->p, S->fresh},
        {(size_t)m->nq, nv, cfg->adaptive ? 2 : 0, position || variational ? nv : 0, position ? nV : 0, old ? nv : 0,
         old ? nV : 0, created ? 2 : 0, variational ? nv : 0, old}};
    return p;
}

/// Numbers of one world's state as a flat array.
static size_t flat_size(const lane_model *m, const ctn_batch_config *cfg)
{
    const block_state none = {0};
    const state_parts s = parts_of(m, cfg, &none);
    size_t n = 0;
    for (int p = 0; p < STATE_PARTS; p++) n += s.size[p];
    return n;
}

#endif
