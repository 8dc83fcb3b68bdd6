/// The part of every engine that goes backwards through time: integrators/block_adjoint.h, and the way from plain arrays into
/// lanes and back. Included by engine_kernels.h.

/// Numbers of a gradient by the state of one world.
static size_t bar_size(const lane_model *m, const ctn_batch_config *cfg)
{
#define SIZE(member, type, count) +(size_t)(count) * (sizeof(type) / sizeof(real))
    return 0 BAR_PARTS(SIZE);
#undef SIZE
}

/// One array, part after part.
static state_bar layout_bar(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    real *x = TAKE(a, bar_size(m, cfg), real);
    state_bar bar = {0};
    if (!x) return bar;
#define PLACE(member, type, count)                                                                                               \
    bar.member = (count) ? (type *)(void *)x : NULL;                                                                             \
    x += (size_t)(count) * (sizeof(type) / sizeof(real));
    BAR_PARTS(PLACE)
#undef PLACE
    return bar;
}

static adjoint_stage layout_stage(const lane_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nv = (size_t)m->nv;
    adjoint_stage s;
    s.u = TAKE(a, nv, real);
    s.w = TAKE(a, nv, real);
    s.x = TAKE(a, (size_t)m->nq, real);
    s.wound = TAKE(a, (size_t)m->nwound, real);
    s.body = TAKE(a, n, id_body);
    s.T = TAKE(a, n, placement);
    s.pivot = TAKE(a, n, tree_pivot);
    return s;
}

static velocity_adjoint layout_velocity(const lane_model *m, arena *a)
{
    const size_t nv = (size_t)m->nv;
    velocity_adjoint w;
    w.F = layout_factors(m, a);
    w.T = w.F.T;
    w.W = layout_pose((size_t)m->nbody, a);
    w.M = TAKE(a, (size_t)m->nbody, rate_pose);
    w.b = TAKE(a, nv, real);
    w.v = TAKE(a, nv, real);
    w.y = TAKE(a, nv, real);
    w.p = TAKE(a, m->ncontact ? (size_t)m->nbody : 0, vec3);
    w.loops = layout_loops(m, a);
    return w;
}

static stage_adjoint layout_stage_adjoint(const lane_model *m, int s_, arena *a)
{
    const size_t n = (size_t)m->nbody, nv = (size_t)m->nv, s = (size_t)s_;
    stage_adjoint w;
    w.P = layout_stages(m, s_, a);
    w.P.W.watch = NULL;  // all loads are looked at
    w.P.sweep.U = TAKE(a, nv * 6 * s * s, real);
    w.P.sweep.inverse = TAKE(a, nv * 3 * s * s, real);
    w.at = TAKE(a, s * n, placement);
    w.Q = layout_pose((size_t)m->nbody, a);
    w.M = TAKE(a, n, rate_pose);
    w.b = TAKE(a, s * nv, real);
    w.y = TAKE(a, s * nv, real);
    w.frame = TAKE(a, m->spins ? s * n : 0, frame_bar);
    w.seen = TAKE(a, m->spins ? n : 0, stage_seen);
    w.touch.frame = w.frame;
    w.touch.load = TAKE(a, m->ncontact ? (s + 1) * n : 0, wrench);
    w.touch.moves = TAKE(a, m->ncontact ? s * n : 0, twist);
    return w;
}

static alpha_adjoint layout_alpha_adjoint(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    const size_t n = (size_t)m->nbody;
    alpha_adjoint w = {0};
    w.X = TAKE(a, n, rate_pose);
    w.L = TAKE(a, n, rate_pose);
    real **const vectors[] = {&w.x, &w.rate, &w.slack, &w.turn, &w.y};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) *vectors[k] = TAKE(a, (size_t)m->nv, real);
    w.F = layout_factors(m, a);
    w.P = layout_pose(n, a);
    w.spin = TAKE(a, n, vec3);
    w.after = layout_bar(m, cfg, a);
    return w;
}

static position_adjoint layout_position_adjoint(const lane_model *m, arena *a)
{
    const size_t nv = (size_t)m->nv, contacts = (size_t)m->ncontact;
    position_adjoint w = {0};
    w.W = layout_solve(m, a);
    w.W.watch = NULL;
    w.F = layout_factors(m, a);
    if (m->skew) {
        const stage_adjoint one = layout_stage_adjoint(m, 1, a);
        w.whole = one.P.W, w.skew = one.P.sweep;
    }
    w.P = layout_pose((size_t)m->nbody, a);
    w.seen = w.bars.seen = TAKE(a, m->spins ? (size_t)m->nbody : 0, seen_bar);
    w.x = TAKE(a, (size_t)m->nq, real);
    real **const vectors[] = {&w.u, &w.y, &w.b};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) *vectors[k] = TAKE(a, nv, real);
    w.bars.lag = TAKE(a, contacts, real);
    w.bars.drift = TAKE(a, contacts ? (size_t)m->nbody : 0, rate_pose);
    w.bars.face = TAKE(a, m->nsurface ? contacts : 0, vec3);
    return w;
}

/// Nothing of models without pairs.
static pair_bars layout_pair_bars(const lane_model *m, arena *a)
{
    const size_t n = (size_t)touch_capacity(m);
    pair_bars w;
    real **const numbers[] = {&w.weight, &w.before, &w.lag};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) *numbers[k] = TAKE(a, n, real);
    vec3 **const vectors[] = {&w.z, &w.n, &w.ma, &w.mb};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) *vectors[k] = TAKE(a, n, vec3);
    return w;
}

static touching_adjoint layout_touching(const lane_model *m, position_adjoint *one, arena *a)
{
    const size_t n = (size_t)m->nbody, nv = (size_t)m->nv;
    touching_adjoint w = {0};
    one->touch = layout_pair_bars(m, a);
    w.leads = m->npair ? MOST_LEADS : 1, w.V = TAKE(a, n, rate_pose);
    for (int k = 0; k < w.leads; k++) {
        w.lead[k] = layout_position_adjoint(m, a);
        w.lead[k].seen = w.lead[k].bars.seen = one->seen;  // all solves see the same
        w.lead[k].touch = one->touch;
    }
    w.guess_x = TAKE(a, m->npair ? (size_t)m->nq : 0, real), w.guess_u = TAKE(a, m->npair ? nv : 0, real);
    w.hold.kept = TAKE(a, n, kept_motion), w.hold.c = TAKE(a, n, real);
    w.hold.V = TAKE(a, n, rate_pose), w.hold.rate = TAKE(a, nv, real);
    w.hold.wound = TAKE(a, (size_t)m->nwound, real);
    w.hold.slip = TAKE(a, (size_t)m->nbent, vec3);
    return w;
}

static ladder_adjoint layout_ladder(const lane_model *m, const ctn_batch_config *cfg, velocity_adjoint ve, arena *a)
{
    const size_t nv = (size_t)m->nv;
    ladder_adjoint w = {0};
    w.one = layout_position_adjoint(m, a);
    if (m->ncontact || m->npair) w.touch = layout_touching(m, &w.one, a);
    real **const vectors[] = {&w.q_bar, &w.v_bar, &w.tau_bar};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) *vectors[k] = TAKE(a, nv, real);
    w.again = layout_work(m, cfg, a).po;
    w.again.one.W.watch = w.again.more.W.watch = w.again.loads.watch = NULL;
    w.projection = ve;
    const block_state chord = layout_state(m, cfg, a);
    w.chord = as_position(&chord);
    w.chord_bar = layout_bar(m, cfg, a);
    if (is_alpha(cfg)) w.alpha = layout_alpha_adjoint(m, cfg, a);
    if (stages_of(cfg) > 1) w.more = layout_stage_adjoint(m, stages_of(cfg), a);
    if (carries_old(cfg)) w.first = layout_stage_adjoint(m, 3, a), w.fresh_bar = layout_bar(m, cfg, a);
    if (carries_old(cfg)) w.untouched = TAKE(a, (size_t)m->ncontrol + (size_t)m->nwound + nv, real);
    return w;
}

static variational_adjoint layout_variational_adjoint(const lane_model *m, const ctn_batch_config *cfg, velocity_adjoint ve,
                                                      arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv;
    variational_adjoint w = {0};
    w.work = layout_variational(m, a);
    w.work.loads = layout_loads(m, a);
    w.work.loads.watch = NULL;
    const block_state now = layout_state(m, cfg, a);
    w.now = as_variational(&now);
    for (int k = 0; k < (cfg->order == 4 ? TRIPLE_JUMP : 1); k++) {
        const variational_work part = layout_variational(m, a);
        w.part[k].W = part.W, w.part[k].sweep = part.sweep;
        w.part[k].sweep.column = TAKE(a, n, chord_column);
        w.part[k].q0 = TAKE(a, nq, real);
        w.part[k].q1 = TAKE(a, nq, real);
    }
    for (int k = 0; k < 2; k++) w.T[k] = TAKE(a, n, placement);
    w.G = TAKE(a, n, rate_pose);
    w.M = TAKE(a, n, rate_pose);
    w.P = layout_pose((size_t)m->nbody, a);
    w.mobility = ve;
    real **const vectors[] = {&w.still, &w.sink, &w.q, &w.p, &w.b, &w.y};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) *vectors[k] = TAKE(a, nv, real);
    return w;
}

static adjoint_work layout_adjoint(const lane_model *m, const ctn_batch_config *cfg, arena *a)
{
    const size_t nv = (size_t)m->nv;
    adjoint_work w = {0};
    w.before = layout_state(m, cfg, a);
    w.after = layout_state(m, cfg, a);
    w.before_bar = layout_bar(m, cfg, a);
    w.after_bar = layout_bar(m, cfg, a);
    real **const vectors[] = {&w.tau, &w.tau_bar, &w.q_bar, &w.v_bar};
    for (int k = 0; k < 4; k++) *vectors[k] = TAKE(a, nv, real);
    w.by_target = TAKE(a, (size_t)m->ncontrol, real);
    w.by_contact = TAKE(a, CONTACT_GRADIENTS(m->ncontact), real);
    w.wound = TAKE(a, (size_t)m->nwound, real);
    if (solves_equations(cfg->method)) {
        w.ve = layout_velocity(m, a);
        if (cfg->method == CTN_VARIATIONAL) w.va = layout_variational_adjoint(m, cfg, w.ve, a);
        else w.po = layout_ladder(m, cfg, w.ve, a);
        return w;
    }
    explicit_adjoint *e = &w.ex;
    e->ex = layout_explicit(m, cfg, a);
    e->ex.loads = layout_loads(m, a);
    e->ex.loads.watch = NULL;
    e->end = TAKE(a, nv, real);
    e->id = layout_id(m, a);
    e->F = layout_factors(m, a);
    e->x = TAKE(a, nv, real);
    e->w = TAKE(a, nv, real);
    e->y = TAKE(a, nv, real);
    e->u = TAKE(a, nv, real);
    e->bent = TAKE(a, nv, real);
    e->end_x = TAKE(a, (size_t)m->nq, real);
    e->end_w = TAKE(a, nv, real);
    e->end_wound = TAKE(a, (size_t)m->nwound, real);
    e->q_end = TAKE(a, nv, real);
    e->v_end = TAKE(a, nv, real);
    e->sum = TAKE(a, (size_t)m->nwound, real);
    for (int s = 0; s < tableau_of(cfg->method)->stages; s++) {
        e->stage[s] = layout_stage(m, a);
        e->kq[s] = TAKE(a, nv, real);
        e->kv[s] = TAKE(a, nv, real);
        e->kw[s] = TAKE(a, (size_t)m->nwound, real);
    }
    return w;
}

/// The work space of `adjoint`: its layout, kept at its front from one call to the next, and the arrays behind it.
static adjoint_work *open_adjoint(void *work) { return work; }

static size_t adjoint_size(const lane_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    TAKE(&a, 1, adjoint_work);
    layout_adjoint(m, cfg, &a);
    return a.used;
}

/// Flat states of the lanes (as run_flatten makes them) into S.
static void gather_state(const lane_model *m, const ctn_batch_config *cfg, const double *const *flat, const block_state *S)
{
    const state_parts s = parts_of(m, cfg, S);
    size_t at = 0;
    for (int p = 0; p < PARTS_OF_STATE; at += s.size[p++]) {
        const double *row[LANES];
        for (int l = 0; l < LANES; l++) row[l] = flat[l] + at;
        lane_gather(s.part[p], row, (int)s.size[p]);
    }
}

/// The model while lanes go back through a step: it has their clock.
FN lane_model going_back(const lane_model *of, adjoint_work *W, bool by_target, bool by_contact)
{
    lane_model m = with_now(of, &W->clock, W->wound);
    m.by_target = by_target ? W->by_target : NULL, m.by_wound = m.nwound ? W->before_bar.wound : NULL;
    m.by_bent = m.rubs ? W->before_bar.z : NULL;
    m.by_contact = by_contact ? W->by_contact : NULL;
    return m;
}

static bool run_adjoint_prepare(const lane_model *of, const ctn_batch_config *cfg, void *work, const double *time, double h,
                                int way, const double *const *before, const double *const *after, const double *const *tau,
                                bool *made)
{
    arena a = {(char *)work, 0};
    adjoint_work *W = TAKE(&a, 1, adjoint_work);
    *W = layout_adjoint(of, cfg, &a);
    const lane_model with = going_back(of, W, false, false), *const m = &with;
    double lane[LANES] __attribute__((aligned(64))) = {0};
    for (int l = 0; l < LANES && time; l++) lane[l] = time[l];
    W->clock.step = W->clock.part = lane_load(lane);
    real *const forces = W->tau;
    gather_state(m, cfg, before, &W->before);
    if (m->turns) count_turns(m, W->before.q, NULL, W->before.turns, not_(none_of()));
    gather_state(m, cfg, after, &W->after);
    if (tau) lane_gather(forces, tau, m->nv);
    else W->tau = NULL;
    const mask found = adjoint_prepare(m, cfg, h, way, W);
    W->tau = forces;
    lane_store(lane, sel(found, rset(1), rset(0)));
    for (int l = 0; l < LANES && made; l++) made[l] = lane[l] != 0;
    return !any_of(not_(found));
}

static void run_adjoint_step(const lane_model *of, const ctn_batch_config *cfg, void *work, int count,
                             const double *const *after_bar, double *const *before_bar, double *const *tau_bar,
                             double *const *by_target, double *const *by_contact)
{
    adjoint_work *W = open_adjoint(work);
    const lane_model with = going_back(of, W, by_target, by_contact), *const m = &with;
    const int n = (int)bar_size(m, cfg), gradients = (int)CONTACT_GRADIENTS(m->ncontact);
    lane_gather(W->after_bar.q, after_bar, n);
    for (int k = 0; k < m->nv; k++) W->tau_bar[k] = rset(0);
    for (int k = 0; k < m->ncontrol; k++) W->by_target[k] = rset(0);
    for (int k = 0; k < gradients; k++) W->by_contact[k] = rset(0);
    adjoint_step(m, cfg, W);
    lane_scatter(before_bar, count, W->before_bar.q, n);
    lane_scatter(tau_bar, count, W->tau_bar, m->nv);
    if (by_target) lane_scatter(by_target, count, W->by_target, m->ncontrol);
    if (by_contact) lane_scatter(by_contact, count, W->by_contact, gradients);
}

static void run_adjoint_start(const lane_model *of, const ctn_batch_config *cfg, void *work, int count, const double *const *state,
                              const double *const *v, const double *const *state_bar, double *const *q_bar, double *const *v_bar,
                              double *const *by_contact)
{
    arena a = {(char *)work, 0};
    adjoint_work *W = TAKE(&a, 1, adjoint_work);
    *W = layout_adjoint(of, cfg, &a);
    lane_model with = *of, *const m = &with;
    const int gradients = (int)CONTACT_GRADIENTS(m->ncontact);
    for (int k = 0; k < gradients; k++) W->by_contact[k] = rset(0);
    m->by_contact = by_contact ? W->by_contact : NULL;
    gather_state(m, cfg, state, &W->before);
    lane_gather(W->before_bar.q, state_bar, (int)bar_size(m, cfg));
    lane_gather(W->tau, v, m->nv);
    adjoint_start(m, cfg, W->tau, W);
    lane_scatter(q_bar, count, W->q_bar, m->nv);
    lane_scatter(v_bar, count, W->v_bar, m->nv);
    if (by_contact) lane_scatter(by_contact, count, W->by_contact, gradients);
}

static memory_kind adjoint_memory_of(const lane_model *m, const ctn_batch_config *cfg) { return memory_of(m, cfg); }

static void run_adjoint_memory(const lane_model *of, const ctn_batch_config *cfg, void *work, int count,
                               const double *const *state_bar, double *const *q_bar, double *const *before_bar)
{
    adjoint_work *W = open_adjoint(work);
    const lane_model with = going_back(of, W, false, false), *const m = &with;
    lane_gather(W->after_bar.q, state_bar, (int)bar_size(m, cfg));
    const position_state start = as_position(&W->before);
    for (int k = 0; k < m->nv; k++) W->v_bar[k] = rset(0);
    if (memory_of(m, cfg) == MEMORY_FRICTION) friction_memory_pullback(m, &W->po, &W->after_bar, &W->before_bar, W->q_bar);
    else place_memory_pullback(m, &W->po, &start, &W->after_bar, &W->before_bar, W->q_bar, W->v_bar);
    lane_scatter(q_bar, count, W->q_bar, m->nv);
    lane_scatter(before_bar, count, W->v_bar, m->nv);
}

static void run_adjoint_output(const lane_model *m, const ctn_batch_config *cfg, void *work, int count, const double *const *state,
                               const double *const *q_bar, const double *const *v_bar, double *const *state_bar)
{
    arena a = {(char *)work, 0};
    adjoint_work *W = TAKE(&a, 1, adjoint_work);
    *W = layout_adjoint(m, cfg, &a);
    const int n = (int)bar_size(m, cfg);
    gather_state(m, cfg, state, &W->after);
    for (int k = 0; k < n; k++) W->after_bar.q[k] = rset(0);
    lane_gather(W->q_bar, q_bar, m->nv);
    lane_gather(W->v_bar, v_bar, m->nv);
    adjoint_output(m, cfg, W);
    lane_scatter(state_bar, count, W->after_bar.q, n);
}
