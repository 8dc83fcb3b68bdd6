/// The body of every engine: kernels over the lane that the including file has chosen, and the way from plain arrays into
/// lanes and back. The includer defines ENGINE (the table's name) and ENGINE_NAME; ENGINE_LINKAGE where nobody but itself uses
/// the table: kernels that it does not call cost no compiling then.
#include "sim/engine/engine.h"
#include "sim/engine/kernels.h"
#include "sim/engine/engine_layout.h"
#include "sim/engine/engine_model.h"
#include "sim/engine/engine_stats.h"

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
        add_weights_taken(m, f.q, rset(-1), &f.loads, f.x);
        scatter(tau, f.x, m->nv, c, count);
    }
}

static void run_passive(const lane_model *m, void *scratch, int count, const double *q, const double *v, double *tau)
{
    frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        for (int k = 0; k < m->nv; k++) f.x[k] = rset(0);
        add_acting_forces(m, f.q, f.v, &f.loads, f.x);
        add_weights_taken(m, f.q, rset(-1), &f.loads, f.x);
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
        add_acting_forces(m, f.q, f.v, &f.loads, f.x);
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
        weight_matrix(m, f.q, rset(-1), &f.loads, f.unit, f.x, matrices(by_q, n, c, count, Q), lanes);
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
        add_acting_forces(m, f.q, f.v, &f.loads, f.x);
        aba(m, f.q, f.v, f.x, &f.aba, f.acceleration);
        id_motion(m, f.q, f.v, f.acceleration, &f.id);
        double *const *const q_ = matrices(by_q, n, c, count, Q), *const *const v_ = matrices(by_v, n, c, count, V);
        id_matrices(m, &f.id, q_, v_, NULL, lanes);
        passive_matrices(m, f.q, f.v, rset(-1), f.t, f.x, q_, v_, lanes);
        load_matrices(m, f.q, f.v, rset(-1), &f.loads, f.unit, f.t, f.x, q_, v_, lanes);
        fd_matrices(m, &f.id, &f.factors, f.t, q_, v_, matrices(by_tau, n, c, count, T), lanes);
    }
}

static void run_motor_map(const lane_model *of, void *scratch, int count, const double *q, const double *v, const double *u,
                          double *tau, double *by_q, double *by_v, double *by_u)
{
    frame f = open_frame(of, scratch);
    lane_model own = *of;
    const lane_model *const m = &own;
    const size_t n = (size_t)m->nv, nu = (size_t)m->ncontrol;
    own.motors = f.motors, own.by_target = f.by_target;
    memcpy(f.motors, of->motors, (size_t)of->nmotor * sizeof *f.motors);
    for (int c = 0; c < count; c += LANES) {
        double *Q[LANES], *V[LANES], *U[LANES];
        const int lanes = count - c < LANES ? count - c : LANES;
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        if (u && nu) gather(f.target, u, m->ncontrol, c, count), tell_targets(m, f.target);
        if (tau) {
            motor_map(m, f.q, f.v, &f.loads, f.x);
            scatter(tau, f.x, m->nv, c, count);
            continue;
        }
        for (int l = 0; l < LANES && by_u; l++) U[l] = by_u + (size_t)(c + l < count ? c + l : c) * n * nu;
        motor_matrices(m, f.q, f.v, &f.loads, f.unit, f.t, f.x, matrices(by_q, n, c, count, Q), matrices(by_v, n, c, count, V),
                       by_u ? U : NULL, lanes);
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

/// The model of lanes that have a clock, and integral terms.
FN lane_model with_now(const lane_model *m, lane_clock *clock, real *wound)
{
    lane_model own = *m;
    own.clock = clock, own.wound = wound;
    return own;
}

static void run_totals(const lane_model *of, void *scratch, int count, const double *time, const double *q, const double *v,
                       ctn_totals *out)
{
    lane_clock clock = {rset(0), rset(0), rset(0), rset(0), rset(0), rset(0)};
    const lane_model with = with_now(of, time ? &clock : NULL, NULL), *const m = &with;
    frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        if (time) gather(&clock.step, time, 1, c, count), clock_state_at(m, rset(0));
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        totals(m, f.q, f.v, f.T, f.V, f.x);
        f.x[11] = acting_energy(m, f.q, &f.loads);
        for (int l = 0; l < LANES && c + l < count; l++) lane_totals(m, f.x, l, &out[c + l]);
    }
}

/// Numbers of one sensor are scattered before the next one is read.
static void run_sensors(const lane_model *of, void *scratch, const model_sensor *sensors, int n, int count, const double *time,
                        const double *q, const double *v, const double *tau, const ctn_batch_config *cfg, void *state,
                        double *values, int width)
{
    block_state S = {0};
    if (state) S = open_state(of, cfg, state);
    lane_clock clock = {rset(0), rset(0), rset(0), rset(0), rset(0), rset(0)};
    const lane_model with = with_now(of, time ? &clock : NULL, S.wound), *const m = &with;
    frame f = open_frame(m, scratch);
    unsigned needs = 0;
    remembered R = {0};
    if (state) R = remembered_by(&S);
    for (int k = 0; k < n; k++) needs |= sensors[k].needs;
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        if (time) gather(&clock.step, time, 1, c, count), clock_state_at(m, rset(0));
        if (tau) gather(f.force, tau, m->nv, c, count);
        for (int k = 0; k < m->nv && !tau; k++) f.force[k] = rset(0);
        for (int k = 0; k < m->nv; k++) f.x[k] = f.force[k];
        if (needs & SENSOR_FORCES) add_passive_forces(m, f.q, f.v, f.force);
        if (needs & SENSOR_FORCES && R.z) add_friction_forces(m, R.z, NULL, f.force);
        if (needs & SENSOR_ACCELERATIONS) {
            add_acting_forces(m, f.q, f.v, &f.loads, f.x);
            add_remembered_forces(m, &R, f.q, f.v, &f.loads, f.x);
            aba(m, f.q, f.v, f.x, &f.aba, f.acceleration);
        }
        tree_motion x = {f.T, f.V, f.A, f.q, f.v, f.acceleration, f.force, rset(0)};
        if (needs & SENSOR_SPRINGS) {
            forget_watch(m, f.loads.watch);
            x.spring = acting_energy(m, f.q, &f.loads) + bristles_energy(m, &R, f.q, f.loads.T, f.loads.p, f.loads.watch);
        }
        body_poses(m, f.q, f.T);  // in the memory of aba()
        body_twists(m, f.T, f.v, f.V);
        if (needs & SENSOR_ACCELERATIONS) body_accelerations(m, f.T, f.V, f.v, f.acceleration, f.A);
        if (needs & (SENSOR_CONTACTS | SENSOR_REACTIONS) && m->nload) place_loads(m, state ? S.q : f.q, state ? S.v : f.v, &f.loads);
        double *row[LANES];
        const int lanes = count - c < LANES ? count - c : LANES;
        for (int k = 0; k < n; k++) {
            real out[CTN_SENSOR_NUMBERS];
            if (sensors[k].needs & SENSOR_CONTACTS) sense_contacts(m, &sensors[k], &R, &f.loads, f.T, out);
            else if (sensors[k].needs & SENSOR_REACTIONS) sense_reaction(m, &sensors[k], &R, &x, &f.loads, out);
            else if (sensors[k].needs & SENSOR_BONDS || sensors[k].bond >= 0) sense_bond(m, &sensors[k], R.bond, &x, out);
            else sense(m, &sensors[k], &x, out);
            for (int l = 0; l < LANES; l++)
                row[l] = values + (size_t)(c + (l < lanes ? l : 0)) * (size_t)width + (size_t)sensors[k].about.first;
            lane_scatter(row, lanes, out, sensors[k].about.count);
        }
    }
}

static void run_link_accelerations(const lane_model *m, void *scratch, int count, const double *q, const double *v,
                                   const double *a, double *acceleration)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        gather(f.t, a, m->nv, c, count);
        link_accelerations(m, f.q, f.v, f.t, f.T, f.V, f.A, f.x);
        scatter(acceleration, f.x, 6 * m->nlink, c, count);
    }
}

static void run_jacobian_rate(const lane_model *m, void *scratch, int count, const double *q, const double *v, int link,
                              double *J)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        link_jacobian_rate(m, f.q, f.v, link, f.T, f.V, f.x);
        scatter(J, f.x, 6 * m->nv, c, count);
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

static void run_stored(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, ctn_totals *totals)
{
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    double lane[LANES] __attribute__((aligned(64)));
    real E = remembered_energy(m, &S, &W);
    if (joins(m) && position_based(cfg->method)) {
        placement *const at = W.po.one.W.now;
        find_placements(m, S.q, at), find_origins(m, S.q, at, W.po.p);
        E = E + pairs_energy(m, NULL, at, W.po.p, S.pair_slip) + bonds_energy(m, at, W.po.p, S.q, S.bond);
    }
    lane_store(lane, E);
    for (int l = 0; l < count; l++) totals[l].spring += lane[l];
}

/// Numbers of one contact point are scattered before the next one is read.
static void run_contacts(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, double *values)
{
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    const remembered R = remembered_by(&S);
    place_loads(m, S.q, S.v, &W.loads);
    for (int k = 0; k < m->nload; k++) {
        real x[CTN_CONTACT_NUMBERS];
        double *row[LANES];
        if (!(m->loads[k].flags & LOAD_TOUCHES)) continue;
        tell_contact(m, &R, &W.loads, k, x);
        for (int l = 0; l < LANES; l++)
            row[l] =
                values + ((size_t)(l < count ? l : 0) * (size_t)m->ncontact + (size_t)m->loads[k].contact) * CTN_CONTACT_NUMBERS;
        lane_scatter(row, count, x, CTN_CONTACT_NUMBERS);
    }
}

static void run_get(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, double *const *q,
                    double *const *v)
{
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    if (q) lane_scatter(q, count, S.q, m->nq), add_turns(m, S.turns, count, q);
    if (v) lane_scatter(v, count, block_velocity(m, cfg, &S, &W), m->nv);
}

static bool run_project(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work)
{
    if (!position_based(cfg->method) || stages_of(cfg) > 1) return false;
    const block_state S = open_state(m, cfg, state);
    block_work W = open_work(m, cfg, work);
    position_state P = as_position(&S);
    const mask all = not_(none_of());
    if (is_alpha(cfg)) begin_anew(m, &P, &W.po, all);
    else project_rates(m, &P, &W.po, all);
    return true;
}

static void run_step(const lane_model *of, const ctn_batch_config *cfg, void *state, void *work, const engine_clock *clock,
                     const double *const *tau, const int *steps, bool energy, int count, ctn_step_stats *stats, engine_use *use)
{
    block_state S = open_state(of, cfg, state);
    block_work W = open_work(of, cfg, work);
    const lane_model with = with_now(of, &W.clock, W.wound), *const m = &with;
    double frozen[LANES] __attribute__((aligned(64))), horizon[LANES] __attribute__((aligned(64)));
    double since[LANES] __attribute__((aligned(64))), made[LANES] __attribute__((aligned(64)));
    block_counts c;
    int most = 0;
    memset(&c, 0, sizeof c);
    W.forces.fresh = true;
    for (int l = 0; l < LANES; l++) {
        frozen[l] = l < count ? stats[l].frozen : CTN_FREEZE_NOT_FINITE, horizon[l] = l < count ? steps[l] : 0;
        if (l < count && steps[l] > most) most = steps[l];
        W.forces.row[l] = tau ? tau[l] : NULL;
        since[l] = clock && l < count ? clock[l].since : 0, made[l] = clock && l < count ? clock[l].made : 0;
    }
    c.frozen = lane_load(frozen);
    W.clock.since = lane_load(since), W.clock.made = lane_load(made);
    block_step(m, cfg, &S, &W, lane_load(horizon), most, energy, &c);
    if (energy) note_contacts(m, cfg, &S, &W, &c);
    for (int l = 0; l < count; l++) {
        lane_stats(&c, l, &stats[l]);
        if (solves_equations(cfg->method)) use->used += (double)stats[l].evaluations;
    }
    use->passes += ((const double *)&c.passes)[0] * LANES;
}

#include "sim/engine/engine_play.h"
#include "sim/engine/engine_run.h"

static void run_interpolate(const lane_model *of, const ctn_batch_config *cfg, void *state, void *work, double t, bool fit,
                            int count, double *const *q, double *const *v, double *size)
{
    block_state S = open_state(of, cfg, state);
    block_work W = open_work(of, cfg, work);
    const lane_model with = with_now(of, &W.clock, W.wound), *const m = &with;
    double lane[LANES] __attribute__((aligned(64)));
    const bool position = position_based(cfg->method);
    real *const x = position ? W.po.one.x : W.ex.x, *const w = position ? W.po.one.d : W.ex.w;
    block_interpolate(m, cfg, &S, &W, t, fit, x, w);
    if (q) lane_scatter(q, count, x, m->nq), add_turns(m, S.turns, count, q);
    if (v) lane_scatter(v, count, w, m->nv);
    lane_store(lane, *S.part.size);
    for (int l = 0; l < count; l++) size[l] = lane[l];
}

static void run_flatten(const lane_model *m, const ctn_batch_config *cfg, void *state, int l, bool load, double *flat)
{
    const block_state S = open_state(m, cfg, state);
    const state_parts s = parts_of(m, cfg, &S);
    for (int p = 0; p < PARTS_OF_STATE; p++)
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

static void run_load_motion(const lane_model *m, const ctn_batch_config *cfg, void *state, int l, const double *flat)
{
    const block_state S = open_state(m, cfg, state);
    real *array[MOTION_ARRAYS];
    const int arrays = motion_arrays(&S.part, position_based(cfg->method), array);
    for (int k = 0; k < m->nq; k++) ((double *)&S.part.q[k])[l] = *flat++;
    for (int a = 0; a < arrays; a++)
        for (int k = 0; k < m->nv; k++) ((double *)&array[a][k])[l] = *flat++;
    ((double *)S.part.size)[l] = *flat++;
    if (S.part.when) ((double *)S.part.when)[l] = *flat;
}

#include "sim/engine/engine_adjoint.h"

#ifndef ENGINE_LINKAGE
#define ENGINE_LINKAGE
#endif
ENGINE_LINKAGE const ctn_engine ENGINE = {
    .name = ENGINE_NAME,
    .lanes = LANES,
    .model_size = model_size,
    .model_load = model_load,
    .model_step_size = model_step_size,
    .model_tell = model_tell,
    .model_time = model_time,
    .dynamics_size = dynamics_size,
    .forward_kinematics = run_forward_kinematics,
    .link_twists = run_link_twists,
    .rnea = run_rnea,
    .passive = run_passive,
    .crba = run_crba,
    .aba = run_aba,
    .rnea_derivatives = run_rnea_derivatives,
    .aba_derivatives = run_aba_derivatives,
    .motor_map = run_motor_map,
    .jacobian = run_jacobian,
    .totals = run_totals,
    .sensors = run_sensors,
    .link_accelerations = run_link_accelerations,
    .jacobian_rate = run_jacobian_rate,
    .state_size = state_size,
    .work_size = work_size,
    .set = run_set,
    .get = run_get,
    .stored = run_stored,
    .contacts = run_contacts,
    .project = run_project,
    .step = run_step,
    .play = run_play,
    .iterates = run_iterates,
    .run = run_worlds,
    .interpolate = run_interpolate,
    .flat_size = flat_size,
    .flatten = run_flatten,
    .motion_size = motion_size,
    .load_motion = run_load_motion,
    .adjoint_size = adjoint_size,
    .bar_size = bar_size,
    .adjoint_ways = adjoint_ways,
    .adjoint_prepare = run_adjoint_prepare,
    .adjoint_step = run_adjoint_step,
    .adjoint_start = run_adjoint_start,
    .adjoint_output = run_adjoint_output,
    .adjoint_memory_of = adjoint_memory_of,
    .adjoint_memory = run_adjoint_memory,
};
