/// The part of every engine that goes backwards through time: integrators/block_adjoint.h, and the way from plain arrays into lanes
/// and back. Included by engine_kernels.h.

/// Numbers of a gradient by the state of one world: q, v or rates, then V.
static size_t bar_size(const ctn_model *m, const ctn_batch_config *cfg)
{
    return 2 * (size_t)m->nv + (position_based(cfg->method) ? 12 * (size_t)masses_of(m) : 0);
}

static state_bar layout_bar(const ctn_model *m, const ctn_batch_config *cfg, arena *a)
{
    real *x = take(a, bar_size(m, cfg), sizeof(real));
    state_bar bar = {x, x, NULL};
    if (x) bar.v = x + m->nv, bar.V = (rate_pose *)(x + 2 * m->nv);
    return bar;
}

static adjoint_stage layout_stage(const ctn_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nv = (size_t)m->nv;
    adjoint_stage s;
    s.u = take(a, nv, sizeof(real));
    s.w = take(a, nv, sizeof(real));
    s.x = take(a, (size_t)m->nq, sizeof(real));
    s.body = take(a, n, sizeof(id_body));
    s.node = take(a, n, sizeof(tree_node));
    s.pivot = take(a, n, sizeof(tree_pivot));
    return s;
}

static adjoint_work layout_adjoint(const ctn_model *m, const ctn_batch_config *cfg, arena *a)
{
    const size_t n = (size_t)m->nbody, nv = (size_t)m->nv;
    adjoint_work w = {0};
    w.before = layout_state(m, cfg, a);
    w.after = layout_state(m, cfg, a);
    w.before_bar = layout_bar(m, cfg, a);
    w.after_bar = layout_bar(m, cfg, a);
    real **const vectors[] = {&w.tau, &w.tau_bar, &w.q_bar, &w.v_bar};
    for (int k = 0; k < 4; k++) *vectors[k] = take(a, nv, sizeof(real));
    if (position_based(cfg->method)) {
        position_adjoint *p = &w.po;
        p->W = layout_solve(m, a);
        p->F = layout_factors(m, a);
        p->motion = take(a, n, sizeof(twist));
        p->load = take(a, n, sizeof(wrench));
        p->moment = take(a, n, sizeof(vec3));
        p->M = take(a, n, sizeof(rate_pose));
        p->x = take(a, (size_t)m->nq, sizeof(real));
        p->u = take(a, nv, sizeof(real));
        p->y = take(a, nv, sizeof(real));
        p->b = take(a, nv, sizeof(real));
        p->v = take(a, nv, sizeof(real));
        return w;
    }
    explicit_adjoint *e = &w.ex;
    e->ex = layout_explicit(m, cfg, a);
    e->end = take(a, nv, sizeof(real));
    e->id = layout_id(m, a);
    e->F = layout_factors(m, a);
    e->x = take(a, nv, sizeof(real));
    e->w = take(a, nv, sizeof(real));
    e->y = take(a, nv, sizeof(real));
    e->u = take(a, nv, sizeof(real));
    for (int s = 0; s < tableau_of(cfg->method)->stages; s++) {
        e->stage[s] = layout_stage(m, a);
        e->kq[s] = take(a, nv, sizeof(real));
        e->kv[s] = take(a, nv, sizeof(real));
    }
    return w;
}

/// The work space of `adjoint`: its layout, kept at its front from one call to the next, and the arrays behind it.
static adjoint_work *open_adjoint(void *work) { return work; }

static size_t adjoint_size(const ctn_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    take(&a, 1, sizeof(adjoint_work));
    layout_adjoint(m, cfg, &a);
    return a.used;
}

/// Flat states of the lanes (as run_flatten makes them) into S.
static void gather_state(const ctn_model *m, const double *const *flat, const block_state *S)
{
    real *const parts[] = {S->q, S->v, S->gain, (real *)S->V};
    const int sizes[] = {m->nq, m->nv, S->V ? m->nv : 0, S->V ? 12 * m->nbody : 0};
    int at = 0;
    for (int p = 0; p < 4; at += sizes[p++]) {
        const double *row[LANES];
        for (int l = 0; l < LANES; l++) row[l] = flat[l] + at;
        lane_gather(parts[p], row, sizes[p]);
    }
}

static void run_adjoint_prepare(const ctn_model *m, const ctn_batch_config *cfg, void *work, double h,
                                const double *const *before, const double *const *after, const double *const *tau)
{
    arena a = {(char *)work, 0};
    adjoint_work *W = take(&a, 1, sizeof *W);
    *W = layout_adjoint(m, cfg, &a);
    real *const forces = W->tau;
    gather_state(m, before, &W->before);
    gather_state(m, after, &W->after);
    if (tau) lane_gather(forces, tau, m->nv);
    else W->tau = NULL;
    adjoint_prepare(m, cfg, h, W);
    W->tau = forces;
}

static void run_adjoint_step(const ctn_model *m, const ctn_batch_config *cfg, void *work, int count,
                             const double *const *after_bar, double *const *before_bar, double *const *tau_bar)
{
    adjoint_work *W = open_adjoint(work);
    const int n = (int)bar_size(m, cfg);
    lane_gather(W->after_bar.q, after_bar, n);
    for (int k = 0; k < m->nv; k++) W->tau_bar[k] = rset(0);
    adjoint_step(m, cfg, W);
    lane_scatter(before_bar, count, W->before_bar.q, n);
    lane_scatter(tau_bar, count, W->tau_bar, m->nv);
}

static void run_adjoint_start(const ctn_model *m, const ctn_batch_config *cfg, void *work, int count, const double *const *state,
                              const double *const *v, const double *const *state_bar, double *const *q_bar, double *const *v_bar)
{
    arena a = {(char *)work, 0};
    adjoint_work *W = take(&a, 1, sizeof *W);
    *W = layout_adjoint(m, cfg, &a);
    gather_state(m, state, &W->before);
    lane_gather(W->before_bar.q, state_bar, (int)bar_size(m, cfg));
    lane_gather(W->tau, v, m->nv);
    adjoint_start(m, cfg, W->tau, W);
    lane_scatter(q_bar, count, W->q_bar, m->nv);
    lane_scatter(v_bar, count, W->v_bar, m->nv);
}

static void run_adjoint_output(const ctn_model *m, const ctn_batch_config *cfg, void *work, int count, const double *const *state,
                               const double *const *q_bar, const double *const *v_bar, double *const *state_bar)
{
    arena a = {(char *)work, 0};
    adjoint_work *W = take(&a, 1, sizeof *W);
    *W = layout_adjoint(m, cfg, &a);
    const int n = (int)bar_size(m, cfg);
    gather_state(m, state, &W->after);
    for (int k = 0; k < n; k++) W->after_bar.q[k] = rset(0);
    lane_gather(W->q_bar, q_bar, m->nv);
    lane_gather(W->v_bar, v_bar, m->nv);
    adjoint_output(m, cfg, W);
    lane_scatter(state_bar, count, W->after_bar.q, n);
}
