/// `dt: auto` for Radau IIA of s stages and for alpha: a step in parts whose sizes keep the error of each within the tolerance.
///
/// Radau: the polynomial P through the start of a part and its stages leaves the start with another rate than the state has. The
/// defect
///
///     e = c_1 h (rate_k - P'(0)/h)                       one stage: h rate_k - u
///
/// is of the order s + 1 in h, and stays small however stiff forces are, as both rates are those of the smooth motion. [Hairer,
/// Wanner, Solving Ordinary Differential Equations II, section IV.8] The ends of parts are more accurate than that, of order 2 s
/// - 1 over a motion: the defect is compared with K tolerance^p, p = (s+1)/(2s-1), which makes the error of a motion proportional
/// to the tolerance, and K, measured over swinging trees, comparable to it. With one stage p is 1, and errors of parts add up.
/// Coordinates are measured, in the units of adaptive_step.h; velocities are not, as these methods are to step over fast
/// vibrations.
///
/// Alpha: error_of_alpha(), of order 3 in a part and 2 over a motion, so that p = 3/2.
///
/// A part whose equations are not solved is repeated smaller, too: it never falls back on fewer stages or order 2. The estimate
/// takes the place of the law of energy (step_part.h) as well: a solution that gains energy from nothing does not leave with the
/// rate, or the accelerations, that the state has.
#ifndef CATENA_STAGE_ADAPTIVE_H
#define CATENA_STAGE_ADAPTIVE_H

#include "dynamics/lane_model.h"
#include "dynamics/aba.h"
#include "forces/joint_forces.h"
#include "forces/signals.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/force_unit.h"
#include "integrators/load_forces.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_step.h"
#include "integrators/interpolant.h"
#include "integrators/stage_dense.h"
#include "integrators/step_part.h"
#include "integrators/step_control.h"
#include "integrators/adaptive_step.h"

#include <catena/batch.h>

KERNEL_DATA double stage_tolerance[4] = {0.1, 0.25, 0.125, 0.15};  // K of s stages
#define ALPHA_TOLERANCE 0.05                                       // K of alpha

/// The order of the method, and of the estimate in the size of a part.
FN int method_order(const ctn_batch_config *cfg) { return is_alpha(cfg) ? 2 : 2 * cfg->stages - 1; }
FN int estimate_order(const ctn_batch_config *cfg) { return is_alpha(cfg) ? 3 : cfg->stages + 1; }

/// What the largest estimate of a joint may be.
FN real allowed_error(const ctn_batch_config *cfg)
{
    const real t = rset(cfg->error_tolerance);
    if (is_alpha(cfg)) return rset(ALPHA_TOLERANCE) * t * root(t);
    const double p = estimate_order(cfg) / (double)method_order(cfg);
    return rset(stage_tolerance[cfg->stages - 1]) * small_power(t, cfg->stages > 1 ? p : 1);
}

/// The same of a top: what it does beyond its frames, which are exact where nothing acts. It begins at rest there.
FN void top_defect(const stage_table *t, const stages *W, int i, real *e)
{
    vec3 sum = zero3();
    for (int a = 0; a < t->stages; a++) {
        const mat3 turn = mmul(transposed(W->start[i].R), W->seen[i * t->stages + a]);
        sum = add_scaled(sum, quat_log(quat_short(quat_of_rotation(turn))), rset(t->e[a]));
    }
    store3(e, opposite(sum));
}

/// The defect of the part that P holds, as above; the largest of any joint.
KERNEL real part_defect(const lane_model *m, const stage_table *t, const position_state *S, const ladder_work *P)
{
    const real h = P->one.W.in.h;
    const real c = rset(t ? t->c[0] : 1);
    real most = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real u[3], e[3], w[3];
        ball_stages B;
        for (int k = 0; k < b->nv; k++) e[k] = h * S->rate[b->vadr + k];
        if (!t) joint_increment(b, S->q, &P->one, u);
        else if (b->kind == JOINT_BALL) B = ball_at_stages(m, b, t, &P->more.W.in);
        for (int a = 0; a < (t ? t->stages : 1); a++) {
            if (t) stage_motion(m, b, &P->more, &B, a, u, w);
            for (int k = 0; k < b->nv; k++) e[k] = fnmadd(rset(t ? t->e[a] : 1), u[k], e[k]);
        }
        if (t && is_top(b) && has_frame(b, &P->more.W)) top_defect(t, &P->more.W, i, e);
        for (int k = 0; k < b->nv; k++) e[k] = c * e[k];
        most = larger(most, coordinate_error(m, b, u, e));
    }
    return most;
}

/// The error of the part of alpha that L holds, found in the lanes `where`; the largest of any joint.
KERNEL real alpha_error(const lane_model *m, const position_state *S, ladder_work *L, mask where)
{
    real most = rset(0), *x = L->one.d;
    error_of_alpha(m, &L->part.rule, S, &L->one, &L->end, L->id.w, where, x);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real u[3];
        joint_increment(b, S->q, &L->one, u);
        most = larger(most, coordinate_error(m, b, u, x + b->vadr));
    }
    return most;
}

/// The accelerations of alpha before they are made to fit a part; and back where that is rejected, if there were any.
FN void keep_accelerations(const lane_model *m, const position_state *S, ladder_work *L)
{
    for (int i = 0; i < m->nbody; i++) L->A[i] = S->A[i];
    for (int k = 0; k < m->nv; k++) L->a[k] = S->a[k];
    L->size = S->size[0];
}
FN void return_accelerations(const lane_model *m, const ladder_work *L, position_state *S, mask rejected)
{
    const mask where = both(rejected, gt(L->size, rset(0)));
    if (!any_of(where)) return;
    for (int i = 0; i < m->nbody; i++) S->A[i] = sel_rate(where, L->A[i], S->A[i]);
    for (int k = 0; k < m->nv; k++) S->a[k] = sel(where, L->a[k], S->a[k]);
    S->size[0] = sel(where, L->size, S->size[0]);
}

/// One step of m->dt in the lanes `active`, by Radau IIA with cfg->stages stages, or alpha. Where it is not completed the state
/// is that of the last part that was, and *at (0..1) tells which. control: sizes; part: takes note of the last part, may be NULL.
/// Placements of the start are in P->one.W.start. Returns where it was completed.
KERNEL mask adaptive_stages(const lane_model *m, const ctn_batch_config *cfg, position_state *S, step_control *control,
                            interpolant *part, mask active, ladder_work *P, position_counts *count, real *at)
{
    const bool alpha = is_alpha(cfg);
    const int order = method_order(cfg);
    const stage_table *t = ladder_rung(cfg, 0);
    const real one = rset(1), zero = rset(0), allowed = allowed_error(cfg);
    const mask fresh = both(active, le(control->size, zero));
    adaptive_parts Q = begin_parts(m->dt, active);
    if (any_of(fresh)) {
        clock_part(m, zero), clock_now(m, Q.end, 0), hold_wound(m, S->wound);
        real *force = P->one.d, *accel = P->one.fresh;
        for (int k = 0; k < m->nv; k++) force[k] = P->one.W.in.tau ? P->one.W.in.tau[k] : zero;
        P->loads.slip = S->slip;
        add_acting_forces(m, S->q, S->rate, &P->loads, force);
        add_friction_forces(m, S->z, NULL, force);
        aba(m, S->q, S->rate, force, &P->aba, accel);
        begin_control(control, first_size(m, S->rate, accel, cfg->error_tolerance, order > 1 ? order : 2, Q.end), fresh);
    }
    while (any_of(Q.running) && !asked_to_end(count->interrupt)) {
        mask far;
        const real h = next_size(control, &Q), shrunk = h / control->size;
        // the gain (position_step.h) is that of a part of the size that is proposed
        for (int k = 0; k < m->nv; k++) S->gain[k] = sel(Q.running, shrunk * S->gain[k], S->gain[k]);
        const mask running = Q.running;
        if (alpha) keep_accelerations(m, S, P);
        clock_part(m, Q.here);
        begin_part(m, cfg, h, S, P, running);
        enter_rung(m, t, alpha, S, P);
        const mask converged = solve_part(m, cfg, S, running, P, count);
        const mask solved = accept_part(m, cfg, S, P, running, converged, &far, count);
        const real found = alpha ? alpha_error(m, S, P, running) : part_defect(m, t, S, P);
        const real error = sel(either(solved, far), found / allowed, one / zero);
        const mask accepted = take_part(control, &Q, h, error, estimate_order(cfg), &far);
        commit_part(m, cfg, S, P, part, running, accepted, accepted, count);
        if (alpha) return_accelerations(m, P, S, both(running, not_(accepted)));
        const real grown = control->size / h;
        for (int k = 0; k < m->nv; k++) S->gain[k] = sel(running, grown * S->gain[k], S->gain[k]);
        const real small = sel(solved, rset(CTN_FREEZE_STEP), rset(CTN_FREEZE_NOT_CONVERGED));
        const mask unsolved = both(end_part(control, &Q, h, accepted, far, small, count), not_(solved));
        if (any_of(unsolved)) blame_part(m, S, P, unsolved, count);
    }
    *at = Q.here / Q.end;
    return both(active, le(one, *at));
}

#endif
