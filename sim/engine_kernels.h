/// The body of every engine: kernels over the lane that the including file has chosen, and the way from plain arrays into
/// lanes and back. The includer defines ENGINE (the table's name) and ENGINE_NAME.
#include "sim/engine.h"
#include "dynamics/spatial.h"
#include "dynamics/trig.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/aba.h"
#include "dynamics/rnea.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "integrators/chart.h"
#include "integrators/explicit.h"
#include "integrators/joint_terms.h"
#include "integrators/collocation.h"
#include "integrators/newton_sweep.h"
#include "integrators/position_step.h"
#include "integrators/momentum.h"
#include "integrators/variational.h"
#include "integrators/variational_sweep.h"
#include "integrators/variational_step.h"
#include "integrators/block_step.h"

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

/// Everything that one lane block of any kernel needs.
typedef struct {
    real *q, *v, *t, *x;  // [nq], [nv], [nv], [max(12 nlink, 6 nv, 11)]
    aba_work aba;
    rnea_work rnea;
    crba_work crba;
    pose *T;
    twist *V;
} frame;

static frame layout(const ctn_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nx = (size_t)(12 * m->nlink > 6 * m->nv ? 12 * m->nlink : 6 * m->nv) + 12;
    frame f;
    f.q = take(a, (size_t)m->nq, sizeof(real));
    f.v = take(a, (size_t)m->nv, sizeof(real));
    f.t = take(a, (size_t)m->nv, sizeof(real));
    f.x = take(a, nx, sizeof(real));
    // one kernel runs at a time: they share what follows
    const size_t common = a->used;
    size_t most = common;
    f.aba.body = take(a, n, sizeof(aba_body));
    f.aba.motion = take(a, n, sizeof(aba_motion));
    f.aba.hand = take(a, n, sizeof(aba_hand));
    f.aba.accel = take(a, n, sizeof(aba_accel));
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
    a->used = a->used > most ? a->used : most;
    return f;
}

static size_t dynamics_size(const ctn_model *m)
{
    arena a = {NULL, 0};
    layout(m, &a);
    return a.used;
}

static frame open_frame(const ctn_model *m, void *scratch)
{
    arena a = {(char *)scratch, 0};
    return layout(m, &a);
}

/// Rows c .. c + LANES - 1 of array [count][n] into lanes; lanes beyond the last row repeat it.
FN void gather(real *dst, const double *src, int n, int c, int count)
{
    const double *row[LANES];
    for (int l = 0; l < LANES; l++) row[l] = src + (size_t)(c + l < count ? c + l : count - 1) * (size_t)n;
    lane_gather(dst, row, n);
}

FN void scatter(double *dst, const real *src, int n, int c, int count)
{
    double *row[LANES];
    for (int l = 0; l < LANES; l++) row[l] = dst + (size_t)(c + l < count ? c + l : count - 1) * (size_t)n;
    lane_scatter(row, count - c < LANES ? count - c : LANES, src, n);
}

static void run_forward_kinematics(const ctn_model *m, void *scratch, int count, const double *q, double *R, double *p)
{
    const frame f = open_frame(m, scratch);
    real *Rl = f.x, *pl = f.x + 9 * m->nlink;
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        forward_kinematics(m, f.q, f.T, Rl, pl);
        if (R) scatter(R, Rl, 9 * m->nlink, c, count);
        if (p) scatter(p, pl, 3 * m->nlink, c, count);
    }
}

static void run_link_twists(const ctn_model *m, void *scratch, int count, const double *q, const double *v, double *t)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        link_twists(m, f.q, f.v, f.T, f.V, f.x);
        scatter(t, f.x, 6 * m->nlink, c, count);
    }
}

static void run_rnea(const ctn_model *m, void *scratch, int count, const double *q, const double *v, const double *a, double *tau)
{
    frame f = open_frame(m, scratch);
    if (!a)
        for (int k = 0; k < m->nv; k++) f.t[k] = rset(0);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        if (a) gather(f.t, a, m->nv, c, count);
        rnea(m, f.q, f.v, f.t, &f.rnea, f.x);
        scatter(tau, f.x, m->nv, c, count);
    }
}

static void run_passive(const ctn_model *m, void *scratch, int count, const double *q, const double *v, double *tau)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        for (int k = 0; k < m->nv; k++) f.x[k] = rset(0);
        add_passive_forces(m, f.q, f.v, f.x);
        scatter(tau, f.x, m->nv, c, count);
    }
}

static void run_crba(const ctn_model *m, void *scratch, int count, const double *q, double *H)
{
    frame f = open_frame(m, scratch);
    const size_t n = (size_t)m->nv * (size_t)m->nv;
    for (int c = 0; c < count; c += LANES) {
        double *out[LANES];
        const int lanes = count - c < LANES ? count - c : LANES;
        for (int l = 0; l < LANES; l++) out[l] = H + (size_t)(l < lanes ? c + l : c) * n;
        gather(f.q, q, m->nq, c, count);
        crba(m, f.q, &f.crba, out, lanes);
    }
}

static void run_aba(const ctn_model *m, void *scratch, int count, const double *q, const double *v, const double *tau,
                    double *qdd)
{
    frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        if (tau) gather(f.x, tau, m->nv, c, count);
        for (int k = 0; k < m->nv && !tau; k++) f.x[k] = rset(0);
        add_passive_forces(m, f.q, f.v, f.x);
        aba(m, f.q, f.v, f.x, &f.aba, f.t);
        scatter(qdd, f.t, m->nv, c, count);
    }
}

static void run_jacobian(const ctn_model *m, void *scratch, int count, const double *q, int link, double *J)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        link_jacobian(m, f.q, link, f.T, f.x);
        scatter(J, f.x, 6 * m->nv, c, count);
    }
}

static void run_totals(const ctn_model *m, void *scratch, int count, const double *q, const double *v, ctn_totals *out)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        totals(m, f.q, f.v, f.T, f.V, f.x);
        f.x[11] = passive_potential(m, f.q);
        for (int l = 0; l < LANES && c + l < count; l++) {
            double s[12];
            for (int k = 0; k < 12; k++) s[k] = ((const double *)&f.x[k])[l];
            ctn_totals *t = &out[c + l];
            t->kinetic = s[0], t->potential = s[1], t->spring = s[11], t->mass = m->mass;
            for (int k = 0; k < 3; k++) t->momentum_linear[k] = s[2 + k], t->momentum_angular[k] = s[5 + k], t->com[k] = s[8 + k];
        }
    }
}

static block_state layout_state(const ctn_model *m, ctn_method method, arena *a)
{
    block_state S = {0};
    S.q = take(a, (size_t)m->nq, sizeof(real));
    S.v = take(a, (size_t)m->nv, sizeof(real));
    if (position_based(method)) {
        S.gain = take(a, (size_t)m->nv, sizeof(real));
        S.V = take(a, (size_t)m->nbody, sizeof(rate_pose));
    }
    if (method == CTN_VARIATIONAL) {
        S.gain = take(a, (size_t)m->nv, sizeof(real));
        S.p = take(a, (size_t)m->nv, sizeof(real));
    }
    return S;
}

static aba_work layout_aba(const ctn_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody;
    aba_work w;
    w.body = take(a, n, sizeof(aba_body));
    w.motion = take(a, n, sizeof(aba_motion));
    w.hand = take(a, n, sizeof(aba_hand));
    w.accel = take(a, n, sizeof(aba_accel));
    return w;
}

static variational_work layout_variational(const ctn_model *m, arena *a)
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

static block_work layout_work(const ctn_model *m, ctn_method method, arena *a)
{
    const size_t n = (size_t)m->nbody, nq = (size_t)m->nq, nv = (size_t)m->nv;
    block_work w = {0};
    w.tau = take(a, nv, sizeof(real));
    w.out = take(a, nv, sizeof(real));
    w.T = take(a, n, sizeof(pose));
    w.D = take(a, n, sizeof(twist));
    w.p = take(a, n, sizeof(vec3));
    if (position_based(method)) {
        position_work *p = &w.po;
        p->x = take(a, nq, sizeof(real));
        p->u = take(a, nv, sizeof(real));
        p->base = take(a, nq, sizeof(real));
        p->base_u = take(a, nv, sizeof(real));
        p->d = take(a, nv, sizeof(real));
        p->fresh = take(a, nv, sizeof(real));
        p->W.in.x = p->x;
        p->W.in.u = p->u;
        p->W.r = take(a, nv, sizeof(real));
        p->W.start = take(a, n, sizeof(placement));
        p->W.now = take(a, n, sizeof(placement));
        p->W.step = take(a, n, sizeof(step_body));
        p->W.body = take(a, n, sizeof(iterate_body));
        p->W.sum = take(a, n, sizeof(wrench));
        p->W.terms = take(a, n, sizeof(terms3));
        p->sweep.body = take(a, n, sizeof(sweep_body));
        p->sweep.hand = take(a, n, sizeof(sweep_hand));
        p->sweep.twist = take(a, n, sizeof(sweep_twist));
        p->sweep.keep = take(a, n, sizeof(real));
        w.aba = layout_aba(m, a);
    } else if (method == CTN_VARIATIONAL) {
        w.va = layout_variational(m, a);
        w.aba = layout_aba(m, a);
    } else {
        explicit_work *e = &w.ex;
        e->x = take(a, nq, sizeof(real));
        e->w = take(a, nv, sizeof(real));
        e->u = take(a, nv, sizeof(real));
        e->force = take(a, nv, sizeof(real));
        for (int s = 0; s < EXPLICIT_STAGES; s++) {
            e->kq[s] = take(a, nv, sizeof(real));
            e->kv[s] = take(a, nv, sizeof(real));
        }
        e->aba = layout_aba(m, a);
    }
    return w;
}

static size_t state_size(const ctn_model *m, ctn_method method)
{
    arena a = {NULL, 0};
    layout_state(m, method, &a);
    return a.used;
}

static size_t work_size(const ctn_model *m, ctn_method method)
{
    arena a = {NULL, 0};
    layout_work(m, method, &a);
    return a.used;
}

static block_state open_state(const ctn_model *m, ctn_method method, void *state)
{
    arena a = {(char *)state, 0};
    return layout_state(m, method, &a);
}

static block_work open_work(const ctn_model *m, ctn_method method, void *work)
{
    arena a = {(char *)work, 0};
    return layout_work(m, method, &a);
}

static void run_set(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work, const double *const *q,
                    const double *const *v)
{
    block_state S = open_state(m, cfg->method, state);
    block_work W = open_work(m, cfg->method, work);
    real *ql = position_based(cfg->method) ? W.po.x : cfg->method == CTN_VARIATIONAL ? W.va.x : W.ex.x;
    lane_gather(ql, q, m->nq);
    lane_gather(W.tau, v, m->nv);
    block_set(m, cfg, &S, &W, ql, W.tau);
}

static void run_get(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, double *const *q,
                    double *const *v)
{
    const block_state S = open_state(m, cfg->method, state);
    block_work W = open_work(m, cfg->method, work);
    if (q) lane_scatter(q, count, S.q, m->nq);
    if (v) lane_scatter(v, count, block_velocity(m, cfg, &S, &W), m->nv);
}

static void run_step(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work, const double *const *tau,
                     int steps, bool energy, int count, ctn_step_stats *stats)
{
    block_state S = open_state(m, cfg->method, state);
    block_work W = open_work(m, cfg->method, work);
    double lane[LANES] __attribute__((aligned(64))) = {0};
    block_counts c;
    if (tau) lane_gather(W.tau, tau, m->nv);
    for (int l = 0; l < LANES; l++) lane[l] = l < count ? stats[l].frozen : CTN_FREEZE_NOT_FINITE;
    c.frozen = lane_load(lane);
    block_step(m, cfg, &S, &W, tau ? W.tau : NULL, steps, energy, &c);
#define PUT(field, source, type)                                                                                                 \
    lane_store(lane, c.source);                                                                                                  \
    for (int l = 0; l < count; l++) stats[l].field = (type)lane[l]
    PUT(steps, steps, long);
    PUT(iterations, iterations, long);
    PUT(iterations_max, iterations_max, int);
    PUT(evaluations, evaluations, long);
    PUT(line_search, line_search, long);
    PUT(curvature, curvature, long);
    PUT(fallbacks, fallbacks, long);
    PUT(substeps, substeps, long);
    PUT(residual, residual, double);
    PUT(energy_before, energy_before, double);
    PUT(energy_after, energy_after, double);
    PUT(energy_min, energy_min, double);
    PUT(energy_max, energy_max, double);
    PUT(frozen, frozen, ctn_freeze);
    PUT(frozen_time, part, double);
#undef PUT
}

/// Numbers of one world's state as a flat array: q, v, gain, V or p.
static size_t flat_size(const ctn_model *m, ctn_method method)
{
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    return nq + nv + (position_based(method) ? nv + 12 * (size_t)m->nbody : method == CTN_VARIATIONAL ? 2 * nv : 0);
}

static void run_flatten(const ctn_model *m, const ctn_batch_config *cfg, void *state, int l, bool load, double *flat)
{
    block_state S = open_state(m, cfg->method, state);
    real *parts[] = {S.q, S.v, S.gain, (real *)S.V, S.p};
    const size_t sizes[] = {(size_t)m->nq, (size_t)m->nv, S.gain ? (size_t)m->nv : 0, S.V ? 12 * (size_t)m->nbody : 0,
                            S.p ? (size_t)m->nv : 0};
    for (int p = 0; p < 5; p++)
        for (size_t k = 0; k < sizes[p]; k++, flat++) {
            double *x = (double *)&parts[p][k] + l;
            if (load) *x = *flat;
            else *flat = *x;
        }
}

const ctn_engine ENGINE = {
    .name = ENGINE_NAME,
    .lanes = LANES,
    .dynamics_size = dynamics_size,
    .forward_kinematics = run_forward_kinematics,
    .link_twists = run_link_twists,
    .rnea = run_rnea,
    .passive = run_passive,
    .crba = run_crba,
    .aba = run_aba,
    .jacobian = run_jacobian,
    .totals = run_totals,
    .state_size = state_size,
    .work_size = work_size,
    .set = run_set,
    .get = run_get,
    .step = run_step,
    .flat_size = flat_size,
    .flatten = run_flatten,
};
