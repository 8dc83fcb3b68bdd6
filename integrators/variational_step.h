/// One time step of the variational method on the state (q, p): of order 2, or of order 4 as Yoshida's triple jump of three such
/// steps.
///
/// All lanes run the same loop, as in position_step.h; what differs between them is selected. Newton's method with a line search
/// on the scaled residual solves for q1; where it does not converge, a pivot is not positive, or a joint turns too far, the whole
/// step is halved, and doubled again where a half ends on the coarser grid.
#ifndef CATENA_VARIATIONAL_STEP_H
#define CATENA_VARIATIONAL_STEP_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "forces/joint_forces.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/force_unit.h"
#include "integrators/load_forces.h"
#include "integrators/culprit.h"
#include "integrators/halving.h"
#include "integrators/newton_control.h"
#include "integrators/position_step.h"
#include "integrators/variational.h"
#include "integrators/variational_sweep.h"

#include <catena/batch.h>

/// State carried from step to step, of one lane block.
typedef struct {
    real *q;      // [nq]
    real *p;      // [nv] joint momenta
    real *rate;   // [nv] increments of the last part over its size, for the first guess of the next
    real *gain;   // [nv] what the rates change by in one dt, likewise; 0 after halved steps
    vec3 *slip;   // [ncontact] how far the bristles of contact points are bent (contact/law.h)
    real *press;  // [ncontact] their normal forces
} variational_state;

/// Scratch of one lane block.
typedef struct {
    chord W;
    chord_sweep sweep;
    real *base, *d, *fresh;  // [nq], [nv], [nv]: where the Newton step starts, the step, the one that a sweep finds
    real *x, *force;         // [nq], [nv]: q1, joint forces
    real *momentum;          // [nv]: p1
    loads_work loads;
    variational_state saved;  // at the start of the step, to which a part that fails returns
    real residual;            // at the solution
} variational_work;

enum { TRIPLE_JUMP = 3 };
/// Yoshida's weights: two steps of 1 / (2 - 2^(1/3)) around one back in time. [Yoshida 1990]
KERNEL_DATA double triple_jump[TRIPLE_JUMP] = {1.3512071919596576, -1.7024143839193153, 1.3512071919596576};
KERNEL_DATA double single_step[1] = {1};

/// step = base (+) alpha d in the lanes `where`.
KERNEL void move_chord(const lane_model *m, variational_work *P, real alpha, mask where)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real *d = P->d + b->vadr, *base = P->base + b->qadr;
        real y[4], *step = P->W.step + b->qadr;
        if (b->kind == JOINT_BALL) {
            const vec3 a = vec(alpha * d[0], alpha * d[1], alpha * d[2]);
            quat_store(y, quat_normalised(quat_mul(quat_load(base), quat_exp(a))));
        } else
            for (int k = 0; k < b->nv; k++) y[k] = fmadd(alpha, d[k], base[k]);
        for (int k = 0; k < (b->kind == JOINT_BALL ? 4 : b->nv); k++) step[k] = sel(where, y[k], step[k]);
    }
}

/// base: no increments.
KERNEL void rest_chord(const lane_model *m, real *base)
{
    for (int k = 0; k < m->nq; k++) base[k] = rset(0);
    for (int i = 0; i < m->nbody; i++)
        if (m->bodies[i].kind == JOINT_BALL) base[m->bodies[i].qadr] = rset(1);
}

/// Joint forces at q, applied ones included: springs and limits, and the loads on bodies. still [nv]: zeros
KERNEL void joint_forces(const lane_model *m, const real *q, const real *still, const real *tau, loads_work *loads, real *force)
{
    for (int k = 0; k < m->nv; k++) force[k] = tau ? tau[k] : rset(0);
    loads->pressed = m->ncontact;
    add_acting_forces(m, q, still, loads, force);
}

/// What a wrench gives along a chord: half of it is that of the start, half that of the end.
FN real chord_work(const lane_model *m, const chord *W, const lane_point_load *s)
{
    const chord_body *t = &W->body[s->body];
    const mat3 R = W->start[s->body].R;
    const vec3 u = mul_add(t->dp, t->dR, load3(s->point)), F = load_axes(m, s, R, s->force);
    const real half = rset(0.5);
    if (!s->flags) return dot(F, u);
    const vec3 T = add(load_torque(m, s, R), load_torque(m, s, t->R)), a = mul(t->R, axes_increment(R, t->R));
    return half * dot_add(dot(T, a), add(F, load_axes(m, s, t->R, s->force)), u);
}

/// b h / D of a joint with dampers, D the inertia that they meet, after chord_inward() without them.
FN real damped_share(const lane_body *b, const chord *W, const chord_joint *s, int i)
{
    const sym3 drag = W->start[i].drag;
    return W->h * (b->nv == 1 ? drag.xx * s->one.i : (drag.xx + drag.yy + drag.zz) * s->three.mobility);
}

/// The share theta of the dampers' impulse that acts at the start: (1 + z) / (2 + z), z the largest b h / D. A single joint's
/// momentum then changes by 1 / (1 + z + z^2/2), of the second order and without overshoot.
FN real share_of_start(real z) { return (rset(1) + z) / (rset(2) + z); }

KERNEL void share_damping(const lane_model *m, variational_work *P)
{
    chord *W = &P->W;
    real z = rset(0);
    W->theta = rset(0);
    for (int k = 0; k < m->nq; k++) W->step[k] = P->base[k];
    chord_residual(m, W);
    chord_inward(m, W, &P->sweep, P->fresh);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_PASSIVE) z = larger(z, damped_share(b, W, &P->sweep.joint[i], i));
    }
    W->theta = share_of_start(z);
}

/// The part of size W->h begins at the state, with no increments yet.
FN void begin_chord(const lane_model *m, const variational_state *S, variational_work *P)
{
    P->W.q = S->q;
    rest_chord(m, P->base);
    P->W.theta = rset(0.5);
}

/// The first guess, from no increments: the rates change as they did. lead: as of solve_chord().
FN void predict_chord(const lane_model *m, const variational_state *S, real lead, variational_work *P)
{
    for (int k = 0; k < m->nv; k++) P->d[k] = P->W.h * fmadd(lead, S->gain[k], S->rate[k]);
    move_chord(m, P, rset(1), not_(none_of()));
}

/// What the merit has to fall to. It has the slope -2 E along a Newton step.
FN real merit_bound(const newton_progress *N) { return N->E * fnmadd(rset(2e-4), N->alpha, rset(1)); }

/// To the minimum of the parabola through both merits, N->E and `merit` after the share alpha of a step, and the slope -2 E.
FN real shorter_chord(const newton_progress *N, real alpha, real merit)
{
    return N->E * alpha * alpha / fmadd(rset(2) * alpha - rset(1), N->E, merit);
}

/// Solves one part of size h from (q, p) in the lanes `active`; leaves the solution in W. lead: how far the rates of the last
/// part are behind those of this one, in dt. Returns where it converged: the residual is below the tolerance, or below
/// SOLVE_FLOOR and at rounding level, where it falls no more.
KERNEL mask solve_chord(const lane_model *m, const variational_state *S, const real *tau, real lead, double tolerance,
                        int max_iterations, mask active, variational_work *P, position_counts *count)
{
    chord *W = &P->W;
    const real one = rset(1), zero = rset(0);
    for (int k = 0; k < m->nv; k++) P->d[k] = zero;
    joint_forces(m, S->q, P->d, tau, &P->loads, P->force);
    begin_chord(m, S, P);
    start_chord(m, W, S->p, P->force);
    if (m->passive) share_damping(m, P);
    predict_chord(m, S, lead, P);

    newton_progress N = no_newton();  // E: the merit
    begin_newton(&N, active);
    while (any_of(N.running) && !asked_to_end(count->interrupt)) {
        const real res = chord_residual(m, W);
        count_evaluation(count, N.running);
        const real alpha = N.alpha;
        const mask number = both(le(res * res, rset(NOT_REACHED)), not_(W->too_far));
        const mask lower = le(W->merit, merit_bound(&N)), accepted = takes_iterate(&N, number, lower, tolerance);
        const mask rejected = both(N.running, not_(accepted));
        mask need =
            settle_iterate(&N, accepted, res, le(res, rset(tolerance)), le(one, alpha), none_of(), max_iterations, &P->residual);
        if (any_of(need)) {
            need = both(need, chord_inward(m, W, &P->sweep, P->fresh));
            chord_outward(m, W, &P->sweep, P->fresh);
            N.running = both(N.running, either(rejected, need));
            for (int k = 0; k < m->nv; k++) P->d[k] = sel(need, P->fresh[k], P->d[k]);  // others may be shortening theirs
            for (int k = 0; k < m->nq; k++) P->base[k] = sel(need, W->step[k], P->base[k]);
            base_newton(&N, need, W->merit, one);
        }
        if (any_of(rejected)) {
            count->line_search = count->line_search + sel(rejected, one, zero);
            shorten_newton(&N, rejected, shorter_chord(&N, alpha, W->merit), 1e-6);
        }
        N.running = both(N.running, may_go_on(count));
        move_chord(m, P, N.alpha, both(N.running, either(need, rejected)));
    }
    count->iterations = count->iterations + N.iterations;
    return N.converged;
}

/// Whom to blame in the lanes `where`, whose step has failed, as blame_part() (step_part.h): by the rows at the last iterate of
/// the part of size W->h that was accepted.
KERNEL void blame_chord(const lane_model *m, const ctn_batch_config *cfg, const variational_state *S, const real *tau, mask where,
                        variational_work *P, position_counts *count)
{
    chord *W = &P->W;
    position_counts again = no_counts();
    again.interrupt = count->interrupt;
    solve_chord(m, S, tau, rset(1), cfg->tolerance, cfg->max_iterations, where, P, &again);
    for (int k = 0; k < m->nq; k++) W->step[k] = P->base[k];
    chord_residual(m, W);
    for (int i = 0; i < m->nbody; i++) W->reach[i] = W->start[i].unit / W->scale;
    count->at_fault = sel_culprit(where, blame_rows(m, W->r, 1, W->reach, S->q, S->rate), count->at_fault);
}

/// The rates of the solution become those of the state in the lanes `where`. spacing: from the rates of the last part to these,
/// in dt. Adds to *flow what passes through joints along the increments; NULL: not asked for.
KERNEL void take_rates(const lane_model *m, variational_state *S, const real *tau, real spacing, mask where, const chord *W,
                       energy_flow *flow)
{
    const real s = rset(1) / spacing;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real *step = W->step + b->qadr;
        real rate[3];
        if (b->kind == JOINT_BALL) {
            const vec3 u = scale(quat_log(quat_load(step)), W->inv_h);
            rate[0] = u.x, rate[1] = u.y, rate[2] = u.z;
        } else
            for (int k = 0; k < b->nv; k++) rate[k] = step[k] * W->inv_h;
        if (flow && has_forces(b, tau)) add_joint_flow(flow, m, b, S->q, S->q + b->qadr, tau, rate, W->h);
        for (int k = 0; k < b->nv; k++) {
            real *r = &S->rate[b->vadr + k], *g = &S->gain[b->vadr + k];
            *g = sel(where, s * (rate[k] - *r), *g);
            *r = sel(where, rate[k], *r);
        }
    }
}

/// q1 and the momenta there become those of the state in the lanes `where`.
FN void take_end(const lane_model *m, variational_state *S, mask where, const variational_work *P)
{
    for (int k = 0; k < m->nv; k++) S->p[k] = sel(where, P->momentum[k], S->p[k]);
    for (int k = 0; k < m->nq; k++) S->q[k] = sel(where, P->x[k], S->q[k]);
}

/// Contact points act at both ends of a part by their depth, as springs. Their dampers, and friction, act at its end, by the way
/// that has led there: adds what they give the momenta, in the lanes `where`, and what they take to F. f [nv]: scratch
KERNEL void end_contacts(const lane_model *m, variational_state *S, mask where, variational_work *P, energy_flow *F, real *f)
{
    loads_work *const L = &P->loads;
    const chord *W = &P->W;
    const real o = rset(0);
    find_placements(m, S->q, L->T);
    find_origins(m, S->q, L->T, L->p);
    hold_loads(m, L->T, L->p, L->at);
    for (int i = 0; i < m->nbody; i++) L->A.load[i] = wrench_zero();
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        const chord_body *t = &W->body[s->body];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        vec3 *const slip = &S->slip[s->contact];
        const vec3 u = mul_add(t->dp, t->dR, load3(s->point));
        const touch c = touch_at(m, s, &L->at[k], W->start[s->body].R, t->R, u, *slip, NULL);
        const real press = press_at(m, s, c.gap, W->inv_h * (c.gap - c.before)).force;
        const real damped = sel(lt(c.gap, o), fnmadd(s->grip, depth_of(c.gap), press), o);
        const vec3 g = rub_in_step(m, s, &c, W->inv_h, s->friction * press).g, kept = kept_slip(s, c.s, press, press);
        const wrench w = gradient_of_touch(s, &c, g, damped).w;
        L->A.load[s->body].n = sub(L->A.load[s->body].n, w.n), L->A.load[s->body].f = sub(L->A.load[s->body].f, w.f);
        F->dissipated = F->dissipated + contact_loss(s, &c, *slip, damped, g, kept);
        end_touch e = {c.gap, press, kept, zero3()};
        if (s->rolls) {
            const vec3 z = S->slip[turn_slot(m, s)];
            const turned_touch turned = turned_at(c.Qt, z, zero3());
            const vec3 torque = turn_in_step(m, s, &turned, c.face, W->inv_h, press).g;
            e.turned = kept_turn(s, c.face, turned.s, press, press);
            L->A.load[s->body].n = sub(L->A.load[s->body].n, turn_pull(&turned.T, torque));
            F->dissipated = F->dissipated + turn_loss(s, &turned, z, torque, e.turned);
        }
        keep_touch(m, s, &e, where, S->slip, S->press);
    }
    for (int k = 0; k < m->nv; k++) f[k] = o;
    find_placements(m, P->x, L->T);
    add_joint_rows(m, L->T, L->A.load, f);
    for (int k = 0; k < m->nv; k++) P->momentum[k] = fmadd(W->h, f[k], P->momentum[k]);
}

/// q1, the momenta and rates of the solution become the state in the lanes `where`. spacing: as of take_rates(). Adds to *flow
/// what passes through the forces along the increments; NULL: not asked for.
KERNEL void commit_chord(const lane_model *m, variational_state *S, const real *tau, real spacing, mask where,
                         variational_work *P, energy_flow *flow)
{
    chord *W = &P->W;
    energy_flow F = no_flow();
    take_rates(m, S, tau, spacing, where, W, flow ? &F : NULL);
    for (int k = 0; k < m->nload && flow; k++)
        if (!(m->loads[k].flags & LOAD_ADDED)) F.work = F.work + chord_work(m, W, &m->loads[k]);
    for (int k = 0; k < m->nv; k++) P->d[k] = rset(0);
    joint_forces(m, P->x, P->d, tau, &P->loads, P->force);
    chord_momentum(m, W, W->sum, P->force, P->momentum);
    if (m->ncontact) end_contacts(m, S, where, P, &F, P->d);
    if (flow) add_flow(flow, F, where);
    take_end(m, S, where, P);
}

/// x = q (+) step.
KERNEL void end_of_chord(const lane_model *m, const real *q, const real *step, real *x)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real *a = q + b->qadr, *u = step + b->qadr;
        real *y = x + b->qadr;
        if (b->kind == JOINT_BALL) quat_store(y, quat_normalised(quat_mul(quat_load(a), quat_load(u))));
        else
            for (int k = 0; k < b->nv; k++) y[k] = a[k] + u[k];
    }
}

/// to = from in the lanes `where`.
FN void copy_variational(const lane_model *m, const variational_state *from, mask where, variational_state *to)
{
    for (int k = 0; k < m->nq; k++) to->q[k] = sel(where, from->q[k], to->q[k]);
    for (int k = 0; k < m->nv; k++) {
        to->p[k] = sel(where, from->p[k], to->p[k]);
        to->rate[k] = sel(where, from->rate[k], to->rate[k]);
        to->gain[k] = sel(where, from->gain[k], to->gain[k]);
    }
}

/// Where a joint turns by more than 0.35 rad: such steps say too little about the motion, and chains that whip would heat up by
/// them.
KERNEL mask turns_far(const lane_model *m, const real *step)
{
    mask far = none_of();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (about_z(b->kind)) far = either(far, gt(magnitude(step[b->qadr]), rset(0.35)));
        if (b->kind == JOINT_BALL) far = either(far, lt(step[b->qadr], rset(0.9847265389049334)));  // cos(0.35 / 2)
    }
    return far;
}

/// How many parts a step has.
FN int chord_parts(const ctn_batch_config *cfg) { return cfg->order == 4 ? TRIPLE_JUMP : 1; }

/// The size of part k of a step of size h. *spacing: as of take_rates().
FN real chord_part_size(const ctn_batch_config *cfg, int k, real h, real *spacing)
{
    const double *weight = cfg->order == 4 ? triple_jump : single_step;
    *spacing = rset(0.5 * (weight[k ? k - 1 : chord_parts(cfg) - 1] + weight[k]));
    return h * rset(weight[k]);
}

/// Solves part k of a step of size h in the lanes `active`; leaves its end in P->x. *spacing: as of take_rates(). Returns where
/// it converged.
KERNEL mask solve_chord_part(const lane_model *m, const ctn_batch_config *cfg, int k, real h, const variational_state *S,
                             const real *tau, mask active, variational_work *P, position_counts *count, real *spacing)
{
    P->W.h = chord_part_size(cfg, k, h, spacing);
    P->W.inv_h = rset(1) / P->W.h;
    const mask ok = solve_chord(m, S, tau, *spacing, cfg->tolerance, cfg->max_iterations, active, P, count);
    end_of_chord(m, S->q, P->W.step, P->x);
    return ok;
}

/// All parts of one step of size dt * part, in the lanes `active`. Returns where they were solved; elsewhere the state is partly
/// moved.
KERNEL mask composed_step(const lane_model *m, const ctn_batch_config *cfg, const real *tau, real part, variational_state *S,
                          mask active, variational_work *P, position_counts *count)
{
    mask ok = active;
    real worst = rset(0), spacing;
    energy_flow flow = no_flow();
    for (int k = 0; k < chord_parts(cfg) && any_of(ok); k++) {
        ok = solve_chord_part(m, cfg, k, m->dt * part, S, tau, ok, P, count, &spacing);
        mask far;
        const mask valid = config_valid(m, P->x, P->W.r, &far);
        count->far = sel(both(ok, far), rset(1), count->far);
        ok = both(ok, valid);
        worst = sel(gt(P->residual, worst), P->residual, worst);
        ok = both(ok, not_(turns_far(m, P->W.step)));
        if (any_of(ok)) commit_chord(m, S, tau, spacing, ok, P, count->flow ? &flow : NULL);
    }
    count->residual = sel(both(ok, gt(worst, count->residual)), worst, count->residual);
    if (count->flow) add_flow(count->flow, flow, ok);
    return ok;
}

/// One step of size dt in the lanes `active`. Returns where it was completed; elsewhere the state is that of the last part that
/// was, `at` (0..1) tells which.
KERNEL mask variational_step(const lane_model *m, const ctn_batch_config *cfg, const real *tau, variational_state *S, mask active,
                             variational_work *P, position_counts *count, real *at)
{
    const real one = rset(1), zero = rset(0);
    halving H = whole_step();
    mask running = active, resized;
    while (any_of(running) && !asked_to_end(count->interrupt)) {
        copy_variational(m, S, running, &P->saved);
        const mask ok = composed_step(m, cfg, tau, H.size, S, running, P, count), failed = both(running, not_(ok));
        copy_variational(m, &P->saved, failed, S);
        count->substeps = count->substeps + sel(ok, one, zero);
        count->halvings = count->halvings + sel(failed, one, zero);
        const mask halved = either(failed, both(ok, lt(H.size, one)));
        for (int k = 0; k < m->nv; k++) S->gain[k] = sel(halved, zero, S->gain[k]);
        const real size = H.size;
        running = both(next_part(&H, ok, failed, cfg->max_halvings, &resized), may_go_on(count));
        const mask fallen = both(failed, not_(running));
        if (!any_of(fallen)) continue;
        P->W.h = m->dt * size, P->W.inv_h = rset(1) / P->W.h;
        blame_chord(m, cfg, S, tau, fallen, P, count);
    }
    *at = H.here;
    return both(active, le(one, H.here));
}

#endif
