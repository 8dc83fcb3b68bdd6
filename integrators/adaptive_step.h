/// One step of an explicit method: as one part, or in parts whose sizes keep the error of each within the tolerance, `dt: auto`.
/// Lanes choose their own sizes; one that has reached the end of the step waits.
///
/// The error of a part is measured by joint, in units that do not depend on the model's, and the largest one counts:
///     coordinates   |e| / (s + |u|)                         u the increment in the part, s = 1 rad, or for joints that slide the
///     velocities    |e| / (s max(rho, 0.01/h))              extent of all that hangs on them (m)
/// rho is the largest rate |v|/s of any joint at both ends, so that velocities are measured beside the motion of the whole tree.
/// The second bound of theirs is for trees at rest: there a velocity counts by the way that it goes in the part.
#ifndef CATENA_ADAPTIVE_STEP_H
#define CATENA_ADAPTIVE_STEP_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "forces/signals.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/tableaux.h"
#include "integrators/explicit.h"
#include "integrators/force_unit.h"
#include "integrators/culprit.h"
#include "integrators/position_step.h"
#include "integrators/interpolant.h"
#include "integrators/step_control.h"

#include <catena/batch.h>

enum { DOP853_ERROR_ORDER = 8 };

/// Length of the joint's entries of x [nv].
FN real joint_length(const lane_body *b, const real *x)
{
    real sum = rset(0);
    for (int k = b->vadr; k < b->vadr + b->nv; k++) sum = fmadd(x[k], x[k], sum);
    return root(sum);
}

/// rho: the largest |v|/s of any joint. x [nv]
KERNEL real largest_rate(const lane_model *m, const real *x)
{
    real most = rset(0);
    for (int i = 0; i < m->nbody; i++) most = larger(most, joint_length(&m->bodies[i], x) / joint_unit(m, &m->bodies[i]));
    return most;
}

/// The error e of a joint's coordinates after the increment u, as above; each [nv] of the joint.
FN real coordinate_error(const lane_model *m, const lane_body *b, const real *u, const real *e)
{
    real length = rset(0), sum = rset(0);
    for (int k = 0; k < b->nv; k++) length = fmadd(u[k], u[k], length), sum = fmadd(e[k], e[k], sum);
    return root(sum) / (joint_unit(m, b) + root(length));
}

/// The error of a part of size h from velocities v to w by the increments u, as above; eq, ev [nv]: estimated errors of u and w.
/// NaN or infinite if any of them is.
KERNEL real error_norm(const lane_model *m, real h, const real *u, const real *v, const real *w, const real *eq, const real *ev)
{
    const real rho = larger(larger(largest_rate(m, v), largest_rate(m, w)), rset(0.01) / h);
    real most = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real q = coordinate_error(m, b, u + b->vadr, eq + b->vadr);
        most = larger(most, larger(q, joint_length(b, ev) / (joint_unit(m, b) * rho)));
    }
    return most;
}

/// The error of the step from v that dop853 has left in `work`: its estimate of order 5, made smaller where that of order 3 says
/// that the step is well within the range of convergence, so that it is of order 8. [Hairer, Norsett, Wanner, section II.10]
KERNEL real dop853_norm(const lane_model *m, real h, const real *v, explicit_work *work)
{
    real n[2];
    for (int e = 0; e < 2; e++) {
        for (int k = 0; k < m->nv; k++) {
            real q = rset(0), w = rset(0);
            for (int s = 0; s < EXPLICIT_STAGES; s++) {
                const real c = rset(dop853_error[e][s]);
                q = fmadd(c, work->kq[s][k], q), w = fmadd(c, work->kv[s][k], w);
            }
            work->eq[k] = h * q, work->ev[k] = h * w;
        }
        n[e] = error_norm(m, h, work->u, v, work->w, work->eq, work->ev);
    }
    const real scale = root(fmadd(n[0], n[0], rset(0.01) * n[1] * n[1]));
    return sel(gt(scale, rset(0)), n[0] * (n[0] / scale), n[0]);
}

/// A size to begin with: in which velocities, or accelerations from rest, move no joint by more than the fraction of its unit
/// that meets the tolerance with an error of this order; `most` for a tree at rest. accel [nv]
KERNEL real first_size(const lane_model *m, const real *v, const real *accel, double tolerance, double order, real most)
{
    const real rate = larger(largest_rate(m, v), root(largest_rate(m, accel)));
    const real part = tolerance < 1 ? small_power(rset(tolerance), 1 / order) : rset(1);
    return sel(gt(rate * most, part), larger(part / rate, rset(LEAST_PART) * most), most);
}

/// Tries a part of size h from (q, v), to (x, w) in `work`, in the lanes `active`. Returns where that is valid; *far as of
/// config_valid.
FN mask try_part(const lane_model *m, ctn_method method, const real *q, const real *v, const real *tau, real h, mask active,
                 explicit_work *work, position_counts *count, mask *far)
{
    work->flows = count->flow != NULL;
    const int calls = explicit_step(m, method, q, v, tau, h, work);
    count->evaluations = count->evaluations + sel(active, rset(calls), rset(0));
    return config_valid(m, work->x, work->w, far);
}

/// What contact points remember of the part that was tried, in the lanes `where`; what of the work of friction they give back
/// goes into the flow.
KERNEL void keep_bristles(const lane_model *m, mask where, explicit_work *work, vec3 *slip, real *press)
{
    if (!m->ncontact) return;
    place_loads(m, work->x, work->w, &work->loads);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        const int c = s->contact;
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const meeting t = touch_here(m, &work->loads, k);
        const vec3 kept = kept_slip(s, t.s, t.press.force, t.press.force), from = along_ground(t.face, slip[c]);
        const real stored = rset(0.5) * s->grip * (stored_bend(s, slip[c], from) - dot(kept, kept));
        work->flow.dissipated = work->flow.dissipated + stored;
        end_touch e = {t.gap, t.press.force, kept, zero3()};
        if (s->rolls) {
            e.turned = kept_turn(s, t.face, work->bent[turn_slot(m, s)], e.press, e.press);
            const real given = turn_energy(s, slip[turn_slot(m, s)]) - turn_energy(s, e.turned);
            work->flow.dissipated = work->flow.dissipated + given;
        }
        keep_touch(m, s, &e, where, slip, press);
    }
}

/// Makes the part that was tried the state in the lanes `where`. part: takes note of it; may be NULL.
FN void keep_part(const lane_model *m, real *q, real *v, vec3 *slip, real *press, const real *tau, real h, interpolant *part,
                  mask where, explicit_work *work, position_counts *count)
{
    if (part) start_part(m, part, q, v, work->z, work->wound, tau, h, where);
    for (int k = 0; k < m->nbent && part; k++) part->slip[k] = sel3(where, slip[k], part->slip[k]);
    keep_bristles(m, where, work, slip, press);
    if (count->flow) {
        work->flow.dissipated = work->flow.dissipated + friction_loss(m, work->z, work->u);
        add_flow(count->flow, work->flow, where);
    }
    keep_friction(m, work->u, where, work->z);
    keep_wound(m, work->x, work->w, m->wound, where, work->wound);
    for (int k = 0; k < m->nq; k++) q[k] = sel(where, work->x[k], q[k]);
    for (int k = 0; k < m->nv; k++) v[k] = sel(where, work->w[k], v[k]);
    count->substeps = count->substeps + sel(where, rset(1), rset(0));
}

/// One step of m->dt in the lanes `active`, as one part. Returns where it was completed; elsewhere the state stands at its start.
KERNEL mask fixed_step(const lane_model *m, const ctn_batch_config *cfg, real *q, real *v, vec3 *slip, real *press,
                       interpolant *part, const real *tau, mask active, explicit_work *work, position_counts *count, real *at)
{
    mask far;
    clock_part(m, rset(0));
    const mask done = both(active, try_part(m, cfg->method, q, v, tau, m->dt, active, work, count, &far));
    keep_part(m, q, v, slip, press, tau, m->dt, part, done, work, count);
    count->frozen = sel(done, count->frozen, sel(far, rset(CTN_FREEZE_ANGLE), rset(CTN_FREEZE_NOT_FINITE)));
    *at = rset(0);
    return done;
}

/// One step of m->dt in the lanes `active`, by dop853. Where it is not completed the state is that of the last part that was, and
/// *at (0..1) tells which. part: takes note of the last one; may be NULL. Returns where it was completed.
KERNEL mask adaptive_step(const lane_model *m, const ctn_batch_config *cfg, real *q, real *v, vec3 *slip, real *press,
                          step_control *control, interpolant *part, const real *tau, mask active, explicit_work *work,
                          position_counts *count, real *at)
{
    const real one = rset(1), zero = rset(0);
    const mask fresh = both(active, le(control->size, zero));
    adaptive_parts P = begin_parts(m->dt, active);
    if (any_of(fresh)) {
        clock_part(m, zero), clock_now(m, P.end, 0), hold_wound(m, work->wound);
        start_bristles(m, work);
        acceleration(m, q, v, NULL, tau, work, work->kv[0]);
        count->evaluations = count->evaluations + sel(fresh, one, zero);
        begin_control(control, first_size(m, v, work->kv[0], cfg->error_tolerance, DOP853_ERROR_ORDER, P.end), fresh);
    }
    while (any_of(P.running) && !asked_to_end(count->interrupt)) {
        mask far;
        const real h = next_size(control, &P);
        clock_part(m, P.here);
        const mask valid = try_part(m, CTN_DOP853, q, v, tau, h, P.running, work, count, &far);
        const real norm = sel(either(valid, far), dop853_norm(m, h, v, work), one / zero);
        const mask accepted = take_part(control, &P, h, norm / rset(cfg->error_tolerance), DOP853_ERROR_ORDER, &far);
        keep_part(m, q, v, slip, press, tau, h, part, accepted, work, count);
        const real small = sel(le(norm * zero, zero), rset(CTN_FREEZE_STEP), rset(CTN_FREEZE_NOT_FINITE));
        end_part(control, &P, h, accepted, far, small, count);
    }
    *at = P.here / P.end;
    return both(active, le(one, *at));
}

#endif
