/// `dt: auto` for Radau IIA of s stages: a step in parts whose sizes keep the error of each within the tolerance.
///
/// The polynomial P through the start of a part and its stages leaves the start with another rate than the state has. The defect
///
///     e = c_1 h (rate_k - P'(0)/h)                       one stage: h rate_k - u
///
/// is of the order s + 1 in h, and stays small however stiff forces are, as both rates are those of the smooth motion. [Hairer, Wanner,
/// Solving Ordinary Differential Equations II, section IV.8] The ends of parts are more accurate than that, of order 2 s - 1 over a
/// motion: the defect is compared with K tolerance^p, p = (s+1)/(2s-1), which makes the error of a motion proportional to the tolerance,
/// and K, measured over swinging trees, comparable to it. With one stage p is 1, and errors of parts add up. Coordinates are measured,
/// in the units of adaptive_step.h; velocities are not, as these methods are to step over fast vibrations.
///
/// A part whose equations are not solved is repeated smaller, too: it never falls back on fewer stages. The estimate takes the
/// place of the law of energy (step_part.h) as well: a solution that gains energy from nothing does not leave with the rate that
/// the state has.
#ifndef CATENA_STAGE_ADAPTIVE_H
#define CATENA_STAGE_ADAPTIVE_H

#include "dynamics/lane_model.h"
#include "dynamics/aba.h"
#include "forces/joint_forces.h"
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

/// What the largest defect of a joint may be with s stages.
FN real defect_tolerance(int s, double tolerance)
{
    const real t = rset(tolerance), K = rset(stage_tolerance[s - 1]);
    return K * small_power(t, s > 1 ? (s + 1) / (2. * s - 1) : 1);
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
        for (int k = 0; k < b->nv; k++) e[k] = c * e[k];
        most = larger(most, coordinate_error(b, u, e));
    }
    return most;
}

/// One step of m->dt in the lanes `active`, by Radau IIA with cfg->stages stages. Where it is not completed the state is that of
/// the last part that was, and *at (0..1) tells which. control: sizes; part: takes note of the last part, may be NULL. Placements
/// of the start are in P->one.W.start. Returns where it was completed.
KERNEL mask adaptive_stages(const lane_model *m, const ctn_batch_config *cfg, position_state *S, step_control *control,
                            interpolant *part, mask active, ladder_work *P, position_counts *count, real *at)
{
    const int s = cfg->stages;
    const stage_table *t = ladder_rung(cfg, 0);
    const real one = rset(1), zero = rset(0), allowed = defect_tolerance(s, cfg->error_tolerance);
    const mask fresh = both(active, le(control->size, zero));
    adaptive_parts Q = begin_parts(m->dt, active);
    if (any_of(fresh)) {
        real *force = P->one.d, *accel = P->one.fresh;
        for (int k = 0; k < m->nv; k++) force[k] = P->one.W.in.tau ? P->one.W.in.tau[k] : zero;
        add_acting_forces(m, S->q, S->rate, &P->loads, force);
        aba(m, S->q, S->rate, force, &P->aba, accel);
        begin_control(control, first_size(m, S->rate, accel, cfg->error_tolerance, s > 1 ? 2 * s - 1 : 2, Q.end), fresh);
    }
    while (any_of(Q.running) && !asked_to_end(count->interrupt)) {
        mask far;
        const real h = next_size(control, &Q), shrunk = h / control->size;
        // the gain (position_step.h) is that of a part of the size that is proposed
        for (int k = 0; k < m->nv; k++) S->gain[k] = sel(Q.running, shrunk * S->gain[k], S->gain[k]);
        const mask running = Q.running;
        begin_part(m, cfg, h, S, P, running);
        enter_rung(m, t, false, S, P);
        const mask converged = solve_part(m, cfg, S, running, P, count);
        const mask solved = accept_part(m, cfg, S, P, running, converged, &far, count);
        const real error = sel(either(solved, far), part_defect(m, t, S, P) / allowed, one / zero);
        const mask accepted = take_part(control, &Q, h, error, s + 1, &far);
        commit_part(m, cfg, S, P, part, running, accepted, accepted, count);
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
