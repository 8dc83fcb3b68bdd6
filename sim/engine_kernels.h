/// The body of every engine: kernels over the lane that the including file has chosen, and the way from plain arrays into
/// lanes and back. The includer defines ENGINE (the table's name) and ENGINE_NAME; ENGINE_LINKAGE where nobody but itself uses the table:
/// kernels that it does not call cost no compiling then.
#include "sim/engine.h"
#include "dynamics/lane_model.h"
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
#include "integrators/lane_run.h"
#include "integrators/pose_pullback.h"
#include "integrators/velocity_adjoint.h"
#include "integrators/position_adjoint.h"
#include "integrators/stage_adjoint.h"
#include "integrators/ladder_adjoint.h"
#include "integrators/variational_adjoint.h"
#include "integrators/explicit_adjoint.h"
#include "integrators/block_adjoint.h"
#include "sim/engine_layout.h"

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

/// Number k of every lane's world, at `number` in its model.
FN real numbers(const double *const *number, size_t k)
{
    double lane[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) lane[l] = number[l][k];
    return lane_load(lane);
}

static void model_step_size(lane_model *m, const double *dt)
{
    const double *of[LANES];
    for (int l = 0; l < LANES; l++) of[l] = dt + l;
    m->dt = numbers(of, 0);
}

static void model_load(const ctn_model *const *m, const double *dt, lane_model *to)
{
    const ctn_model *const first = m[0];
    const double *of[LANES];
    arena a = {(char *)to, 0};
    layout_model(first->nbody, &a);
    lane_body *const bodies = to->bodies;
    to->nbody = first->nbody, to->nlink = first->nlink, to->nq = first->nq, to->nv = first->nv;
    to->frames = first->frames, to->dof_adr = first->dof_adr, to->in_order = first->in_order, to->passive = first->passive;
    model_step_size(to, dt);
    for (int k = 0; k < 3; k++) {
        for (int l = 0; l < LANES; l++) of[l] = m[l]->gravity;
        to->gravity[k] = numbers(of, (size_t)k);
        for (int l = 0; l < LANES; l++) of[l] = m[l]->fixed_moment;
        to->fixed_moment[k] = numbers(of, (size_t)k);
    }
    for (int l = 0; l < LANES; l++) of[l] = &m[l]->mass;
    to->mass = numbers(of, 0);
    for (int i = 0; i < first->nbody; i++) {
        memcpy(&bodies[i], &first->bodies[i], offsetof(ctn_body, mass));
        for (int l = 0; l < LANES; l++) of[l] = &m[l]->bodies[i].mass;
        for (size_t k = 0; k < BODY_NUMBERS; k++) (&bodies[i].mass)[k] = numbers(of, k);
    }
}

/// All but the constants, so that lanes of `to`, model_size bytes, can be filled one by one.
static void copy_structure(const lane_model *from, lane_model *to)
{
    arena a = {(char *)to, 0};
    layout_model(from->nbody, &a);
    lane_body *const bodies = to->bodies;
    memcpy(bodies, from->bodies, (size_t)from->nbody * sizeof *bodies);
    *to = *from;
    to->bodies = bodies;
}

static void run_forward_kinematics(const lane_model *m, void *scratch, int count, const double *q, double *R, double *p)
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

static void run_link_twists(const lane_model *m, void *scratch, int count, const double *q, const double *v, double *t)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        link_twists(m, f.q, f.v, f.T, f.V, f.x);
        scatter(t, f.x, 6 * m->nlink, c, count);
    }
}

static void run_rnea(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *a, double *tau)
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

static void run_passive(const lane_model *m, void *scratch, int count, const double *q, const double *v, double *tau)
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

static void run_crba(const lane_model *m, void *scratch, int count, const double *q, double *H)
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

static void run_aba(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *tau,
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

static void run_rnea_derivatives(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *a,
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

static void run_aba_derivatives(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *tau,
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

static void run_jacobian(const lane_model *m, void *scratch, int count, const double *q, int link, double *J)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        link_jacobian(m, f.q, link, f.T, f.x);
        scatter(J, f.x, 6 * m->nv, c, count);
    }
}

static void run_totals(const lane_model *m, void *scratch, int count, const double *q, const double *v, ctn_totals *out)
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
            t->kinetic = s[0], t->potential = s[1], t->spring = s[11], t->mass = ((const double *)&m->mass)[l];
            for (int k = 0; k < 3; k++) t->momentum_linear[k] = s[2 + k], t->momentum_angular[k] = s[5 + k], t->com[k] = s[8 + k];
        }
    }
}

static void run_set(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, const double *const *q,
                    const double *const *v)
{
    block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    real *ql = position_based(cfg->method) ? W.po.one.x : cfg->method == CTN_VARIATIONAL ? W.va.x : W.ex.x;
    lane_gather(ql, q, m->nq);
    lane_gather(W.tau, v, m->nv);
    block_set(m, cfg, &S, &W, ql, W.tau);
}

static void run_get(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, double *const *q,
                    double *const *v)
{
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    if (q) lane_scatter(q, count, S.q, m->nq);
    if (v) lane_scatter(v, count, block_velocity(m, cfg, &S, &W), m->nv);
}

static bool run_project(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work)
{
    if (!position_based(cfg->method) || stages_of(cfg) > 1) return false;
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    position_state P = as_position(&S);
    project_rates(m, &P, &W.po, le(rset(0), rset(0)));
    return true;
}

/// What happened in lane l.
static void lane_stats(const block_counts *c, int l, ctn_step_stats *s)
{
    const real created = energy_created(c->before, c->after, c->flow), before = energy_sum(c->before), after = energy_sum(c->after);
#define LANE(x) (((const double *)&(x))[l])
    memset(s, 0, sizeof *s);  // padding, too
    s->steps = (long)LANE(c->steps);
    s->iterations = (long)LANE(c->iterations);
    s->iterations_max = (int)LANE(c->iterations_max);
    s->evaluations = (long)LANE(c->evaluations);
    s->line_search = (long)LANE(c->line_search);
    s->curvature = (long)LANE(c->curvature);
    s->fallbacks = (long)LANE(c->fallbacks);
    s->fewer_stages = (long)LANE(c->fewer);
    s->substeps = (long)LANE(c->substeps);
    s->rejected = (long)LANE(c->rejected);
    s->residual = LANE(c->residual);
    s->energy_before = LANE(before);
    s->energy_after = LANE(after);
    s->energy_min = LANE(c->energy_min);
    s->energy_max = LANE(c->energy_max);
    s->kinetic_before = LANE(c->before.kinetic);
    s->kinetic_after = LANE(c->after.kinetic);
    s->potential_before = LANE(c->before.potential);
    s->potential_after = LANE(c->after.potential);
    s->spring_before = LANE(c->before.spring);
    s->spring_after = LANE(c->after.spring);
    s->work = LANE(c->flow.work);
    s->dissipated = LANE(c->flow.dissipated);
    s->created = LANE(created);
    s->frozen = (ctn_freeze)LANE(c->frozen);
    s->frozen_time = LANE(c->part);
#undef LANE
}

static void run_step(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, const double *const *tau,
                     const int *steps, bool energy, int count, ctn_step_stats *stats, engine_use *use)
{
    block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    double frozen[LANES] __attribute__((aligned(64))), horizon[LANES] __attribute__((aligned(64)));
    block_counts c;
    int most = 0;
    memset(&c, 0, sizeof c);
    if (tau) lane_gather(W.tau, tau, m->nv);
    for (int l = 0; l < LANES; l++) {
        frozen[l] = l < count ? stats[l].frozen : CTN_FREEZE_NOT_FINITE, horizon[l] = l < count ? steps[l] : 0;
        if (l < count && steps[l] > most) most = steps[l];
    }
    c.frozen = lane_load(frozen);
    block_step(m, cfg, &S, &W, tau ? W.tau : NULL, lane_load(horizon), most, energy, &c);
    for (int l = 0; l < count; l++) {
        lane_stats(&c, l, &stats[l]);
        if (solves_equations(cfg->method)) use->used += (double)stats[l].evaluations;
    }
    use->passes += ((const double *)&c.passes)[0] * LANES;
}

#include "sim/engine_run.h"

static void run_interpolate(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, double t, bool fit,
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

static void run_flatten(const lane_model *m, const ctn_batch_config *cfg, void *state, int l, bool load, double *flat)
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
    .model_size = model_size,
    .model_load = model_load,
    .model_step_size = model_step_size,
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
    .iterates = run_iterates,
    .run = run_worlds,
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
