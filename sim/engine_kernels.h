/// The body of every engine: kernels over the lane that the including file has chosen, and the way from plain arrays into
/// lanes and back. The includer defines ENGINE (the table's name) and ENGINE_NAME; ENGINE_LINKAGE where nobody but itself uses the table:
/// kernels that it does not call cost no compiling then.
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
#include "dynamics/tree_factor.h"
#include "dynamics/derivatives.h"
#include "dynamics/pullback.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/tableaux.h"
#include "integrators/explicit.h"
#include "integrators/joint_terms.h"
#include "integrators/collocation.h"
#include "integrators/newton_sweep.h"
#include "integrators/halving.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_sweep.h"
#include "integrators/stage_step.h"
#include "integrators/jacobian_product.h"
#include "integrators/objective.h"
#include "integrators/levenberg_marquardt.h"
#include "integrators/lbfgs.h"
#include "integrators/solvers.h"
#include "integrators/interpolant.h"
#include "integrators/stage_dense.h"
#include "integrators/position_flow.h"
#include "integrators/step_ladder.h"
#include "integrators/momentum.h"
#include "integrators/variational.h"
#include "integrators/variational_sweep.h"
#include "integrators/variational_step.h"
#include "integrators/step_control.h"
#include "integrators/adaptive_step.h"
#include "integrators/stage_adaptive.h"
#include "integrators/block_step.h"
#include "integrators/pose_pullback.h"
#include "integrators/velocity_adjoint.h"
#include "integrators/position_adjoint.h"
#include "integrators/stage_adjoint.h"
#include "integrators/ladder_adjoint.h"
#include "integrators/variational_adjoint.h"
#include "integrators/explicit_adjoint.h"
#include "integrators/block_adjoint.h"

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
    id_work id;
    tree_factors factors;
    real *acceleration;  // [nv], for derivatives
} frame;

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

static id_work layout_id(const ctn_model *m, arena *a)
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

static tree_factors layout_factors(const ctn_model *m, arena *a)
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

static frame layout(const ctn_model *m, arena *a)
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

/// The matrices [nv][nv] of the lanes from c on, out of M [count][nv][nv]; NULL if M is.
FN double *const *matrices(double *M, size_t n, int c, int count, double **lane)
{
    for (int l = 0; l < LANES && M; l++) lane[l] = M + (size_t)(c + l < count ? c + l : c) * n * n;
    return M ? lane : NULL;
}

static void run_rnea_derivatives(const ctn_model *m, void *scratch, int count, const double *q, const double *v, const double *a,
                                 double *by_q, double *by_v, double *by_a)
{
    frame f = open_frame(m, scratch);
    const size_t n = (size_t)m->nv;
    for (int c = 0; c < count; c += LANES) {
        double *Q[LANES], *V[LANES], *A[LANES];
        const int lanes = count - c < LANES ? count - c : LANES;
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        gather(f.t, a, m->nv, c, count);
        id_motion(m, f.q, f.v, f.t, &f.id);
        id_matrices(m, &f.id, matrices(by_q, n, c, count, Q), matrices(by_v, n, c, count, V), matrices(by_a, n, c, count, A),
                    lanes);
    }
}

static void run_aba_derivatives(const ctn_model *m, void *scratch, int count, const double *q, const double *v, const double *tau,
                                double *by_q, double *by_v, double *by_tau)
{
    frame f = open_frame(m, scratch);
    const size_t n = (size_t)m->nv;
    for (int c = 0; c < count; c += LANES) {
        double *Q[LANES], *V[LANES], *T[LANES];
        const int lanes = count - c < LANES ? count - c : LANES;
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        if (tau) gather(f.x, tau, m->nv, c, count);
        for (int k = 0; k < m->nv && !tau; k++) f.x[k] = rset(0);
        add_passive_forces(m, f.q, f.v, f.x);
        aba(m, f.q, f.v, f.x, &f.aba, f.acceleration);
        id_motion(m, f.q, f.v, f.acceleration, &f.id);
        fd_matrices(m, f.q, f.v, &f.id, &f.factors, f.t, matrices(by_q, n, c, count, Q), matrices(by_v, n, c, count, V),
                    matrices(by_tau, n, c, count, T), lanes);
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

static block_state layout_state(const ctn_model *m, const ctn_batch_config *cfg, arena *a)
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

static solve layout_solve(const ctn_model *m, arena *a)
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

static explicit_work layout_explicit(const ctn_model *m, const ctn_batch_config *cfg, arena *a)
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
static int fork_depth(const ctn_model *m)
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
static stage_work layout_stages(const ctn_model *m, int s_, arena *a)
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
static solver_work layout_solver(const ctn_model *m, ctn_solver solver, int s, arena *a)
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

static block_work layout_work(const ctn_model *m, const ctn_batch_config *cfg, arena *a)
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

static size_t state_size(const ctn_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    layout_state(m, cfg, &a);
    return a.used;
}

static size_t work_size(const ctn_model *m, const ctn_batch_config *cfg)
{
    arena a = {NULL, 0};
    layout_work(m, cfg, &a);
    return a.used;
}

static block_state open_state(const ctn_model *m, const ctn_batch_config *cfg, void *state)
{
    arena a = {(char *)state, 0};
    return layout_state(m, cfg, &a);
}

static block_work open_work(const ctn_model *m, const ctn_batch_config *cfg, void *work)
{
    arena a = {(char *)work, 0};
    return layout_work(m, cfg, &a);
}

static void run_set(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work, const double *const *q,
                    const double *const *v)
{
    block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    real *ql = position_based(cfg->method) ? W.po.one.x : cfg->method == CTN_VARIATIONAL ? W.va.x : W.ex.x;
    lane_gather(ql, q, m->nq);
    lane_gather(W.tau, v, m->nv);
    block_set(m, cfg, &S, &W, ql, W.tau);
}

static void run_get(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, double *const *q,
                    double *const *v)
{
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    if (q) lane_scatter(q, count, S.q, m->nq);
    if (v) lane_scatter(v, count, block_velocity(m, cfg, &S, &W), m->nv);
}

static void run_project(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work)
{
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    position_state P = as_position(&S);
    project_rates(m, &P, &W.po, le(rset(0), rset(0)));
}

static void run_step(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work, const double *const *tau,
                     int steps, bool energy, int count, ctn_step_stats *stats)
{
    block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    double lane[LANES] __attribute__((aligned(64))) = {0};
    block_counts c;
    if (tau) lane_gather(W.tau, tau, m->nv);
    for (int l = 0; l < LANES; l++) lane[l] = l < count ? stats[l].frozen : CTN_FREEZE_NOT_FINITE;
    c.frozen = lane_load(lane);
    block_step(m, cfg, &S, &W, tau ? W.tau : NULL, steps, energy, &c);
#define PUT(field, source, type)                                                                                                 \
    lane_store(lane, source);                                                                                                    \
    for (int l = 0; l < count; l++) stats[l].field = (type)lane[l]
    PUT(steps, c.steps, long);
    PUT(iterations, c.iterations, long);
    PUT(iterations_max, c.iterations_max, int);
    PUT(evaluations, c.evaluations, long);
    PUT(line_search, c.line_search, long);
    PUT(curvature, c.curvature, long);
    PUT(fallbacks, c.fallbacks, long);
    PUT(fewer_stages, c.fewer, long);
    PUT(substeps, c.substeps, long);
    PUT(rejected, c.rejected, long);
    PUT(residual, c.residual, double);
    PUT(kinetic_before, c.before.kinetic, double);
    PUT(kinetic_after, c.after.kinetic, double);
    PUT(potential_before, c.before.potential, double);
    PUT(potential_after, c.after.potential, double);
    PUT(spring_before, c.before.spring, double);
    PUT(spring_after, c.after.spring, double);
    PUT(work, c.flow.work, double);
    PUT(dissipated, c.flow.dissipated, double);
    PUT(created, energy_created(c.before, c.after, c.flow), double);
    PUT(energy_before, energy_sum(c.before), double);
    PUT(energy_after, energy_sum(c.after), double);
    PUT(energy_min, c.energy_min, double);
    PUT(energy_max, c.energy_max, double);
    PUT(frozen, c.frozen, ctn_freeze);
    PUT(frozen_time, c.part, double);
#undef PUT
}

static void run_interpolate(const ctn_model *m, const ctn_batch_config *cfg, void *state, void *work, double t, bool fit,
                            int count, double *const *q, double *const *v, double *size)
{
    block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    double lane[LANES] __attribute__((aligned(64)));
    const bool position = position_based(cfg->method);
    real *const x = position ? W.po.one.x : W.ex.x, *const w = position ? W.po.one.d : W.ex.w;
    block_interpolate(m, cfg, &S, &W, t, fit, x, w);
    if (q) lane_scatter(q, count, x, m->nq);
    if (v) lane_scatter(v, count, w, m->nv);
    lane_store(lane, *S.part.size);
    for (int l = 0; l < count; l++) size[l] = lane[l];
}

/// The arrays that make up a state, and how many numbers of a world each holds.
enum { STATE_PARTS = 10 };
typedef struct {
    real *part[STATE_PARTS];
    size_t size[STATE_PARTS];
} state_parts;

static state_parts parts_of(const ctn_model *m, const ctn_batch_config *cfg, const block_state *S)
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
static size_t flat_size(const ctn_model *m, const ctn_batch_config *cfg)
{
    const block_state none = {0};
    const state_parts s = parts_of(m, cfg, &none);
    size_t n = 0;
    for (int p = 0; p < STATE_PARTS; p++) n += s.size[p];
    return n;
}

static void run_flatten(const ctn_model *m, const ctn_batch_config *cfg, void *state, int l, bool load, double *flat)
{
    const block_state S = open_state(m, cfg, state);
    const state_parts s = parts_of(m, cfg, &S);
    for (int p = 0; p < STATE_PARTS; p++)
        for (size_t k = 0; k < s.size[p]; k++, flat++) {
            double *x = (double *)&s.part[p][k] + l;
            if (load) *x = *flat;
            else *flat = *x;
        }
    if (!load || !cfg->dense) return;
    for (int k = 0; k < m->nq; k++) ((double *)&S.part.q[k])[l] = ((double *)&S.q[k])[l];
    for (int k = 0; k < m->nv; k++) ((double *)&S.part.v[k])[l] = ((double *)&S.v[k])[l];
    ((double *)S.part.size)[l] = 0;
}

#include "sim/engine_adjoint.h"

#ifndef ENGINE_LINKAGE
#define ENGINE_LINKAGE
#endif
ENGINE_LINKAGE const ctn_engine ENGINE = {
    .name = ENGINE_NAME,
    .lanes = LANES,
    .dynamics_size = dynamics_size,
    .forward_kinematics = run_forward_kinematics,
    .link_twists = run_link_twists,
    .rnea = run_rnea,
    .passive = run_passive,
    .crba = run_crba,
    .aba = run_aba,
    .rnea_derivatives = run_rnea_derivatives,
    .aba_derivatives = run_aba_derivatives,
    .jacobian = run_jacobian,
    .totals = run_totals,
    .state_size = state_size,
    .work_size = work_size,
    .set = run_set,
    .get = run_get,
    .project = run_project,
    .step = run_step,
    .interpolate = run_interpolate,
    .flat_size = flat_size,
    .flatten = run_flatten,
    .adjoint_size = adjoint_size,
    .bar_size = bar_size,
    .adjoint_ways = adjoint_ways,
    .adjoint_prepare = run_adjoint_prepare,
    .adjoint_step = run_adjoint_step,
    .adjoint_start = run_adjoint_start,
    .adjoint_output = run_adjoint_output,
};
