/// The adjoint of what keeps a tree that touches from creating energy, in a step of several stages (hold_adjoint.h): its velocities
/// are those at the end of the stages, and its books sums over the stages with their weights b_a h (position_flow.h). Of a contact
/// point they come to
///
///     sum_a b_a h ((l_a - k d_a) (-n_a.U_a) + g_a.F_a) + k (d_s^2 - d_k^2)/2
///
/// as what its bristles store at the end stands on both sides.
#ifndef CATENA_STAGE_HOLD_ADJOINT_H
#define CATENA_STAGE_HOLD_ADJOINT_H

#include "integrators/hold_adjoint.h"
#include "integrators/stage_adjoint.h"
#include "integrators/stage_contact_adjoint.h"

/// What the motor of a body books at stage a in the time dt, with the gradient c: gradients by x and by the rate w there.
FN void stage_motor_books(const lane_model *m, const lane_motor *a, real x, real w, real c, real dt, real *x_bar, real *w_bar)
{
    const real o = rset(0), turn = a->gear * w;
    const mask stores = gt(a->kp, o);
    const motor_answer A = motor_answer_at(a, x, w);
    const saturated at = bounded(a, fmadd(a->kp, fnmadd(a->gear, x, a->target[0]), a->feedforward[0]));
    const real S = sel(stores, at.force, o), slope = sel(stores, at.slope, o), gap = A.by_y - slope, by = c * dt;
    // what the servo puts in as it is told to go on
    const real told = slope * fmadd(a->kp, a->target_rate[0], a->feedforward_rate[0]);
    *x_bar = *x_bar + by * a->gear * (a->kp * turn * gap + told);
    *w_bar = *w_bar + by * a->gear * (turn * fmadd(a->kd, A.by_y, A.by_turn) - (A.force - S));
    if (m->by_target) add_by_target(m, a, negate(by * (turn * target_gain(a) * gap + told)));
}

/// What a servo stores, times c: gradients by x.
FN void servo_pullback(const lane_model *m, const lane_body *b, real x, real c, real *x_bar)
{
    const lane_motor a = motor_now(m, b);
    const real S = bounded(&a, fmadd(a.kp, fnmadd(a.gear, x, a.target[0]), a.feedforward[0])).force,
               by = sel(gt(a.kp, rset(0)), c * S, rset(0));
    *x_bar = fnmadd(a.gear, by, *x_bar);
    add_by_target(m, &a, by);
}

/// What a joint stores at the end of the step and at its start, and what its dry friction takes.
FN void stage_store_books(const lane_model *m, const lane_body *b, stage_adjoint *A, real c, const stage_bar *bar)
{
    const stage_input *in = &A->P.W.in;
    const int last = A->P.W.table->stages - 1, j = b->vadr;
    const real *const x = in->x + last * m->nq, *const u = in->u + last * m->nv;
    real *const end = A->b + last * m->nv;
    if (b->flags & BODY_SPRING) {
        const bool ball = b->kind == JOINT_BALL;
        const vec3 at_x = ball ? ball_potential(b, cone_at(b, x)).g : vec(joint_potential(b, x[b->qadr]).g, rset(0), rset(0));
        const vec3 at_q =
            ball ? ball_potential(b, cone_at(b, in->q)).g : vec(joint_potential(b, in->q[b->qadr]).g, rset(0), rset(0));
        add_joint_vector(b, end, scale(at_x, c)), add_joint_vector(b, bar->q, scale(at_q, negate(c)));
    }
    if (b->flags & BODY_FRICTION) {
        const real by = c * friction_potential(b, bent_by(b, in->z, u)).g;
        end[j] = end[j] + by, bar->q[j] = bar->q[j] - by;
        m->by_bent[j] = m->by_bent[j] + (by - c * friction_potential(b, in->z[j]).g);
    }
    if (!(b->flags & BODY_SERVO) || b->kind == JOINT_BALL) return;
    clock_now(m, in->h, 1), servo_pullback(m, b, x[b->qadr], c, &end[j]);
    clock_now(m, in->h, 0), servo_pullback(m, b, in->q[b->qadr], negate(c), &bar->q[j]);
}

/// What passes through a ball, but for its motor.
FN void ball_flow_books(const lane_model *m, const lane_body *b, stage_adjoint *A, real c, const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const ball_stages B = ball_at_stages(m, b, t, &W->in);
    const vec3 tau = W->in.tau ? joint_vector(b, W->in.tau) : zero3();
    const sym3 C = joint_drag(b, W->in.q);
    for (int a = 0; a < t->stages; a++) {
        const real dt = c * rset(t->b[a]) * W->in.h;
        const vec3 w = scale(quat_imaginary(ball_rate(t, &B, a, W->in.inv_h)), rset(2));
        const vec3 by = scale(sub(scale(smul(C, w), rset(2)), tau), dt);
        vec3 by_q, by_rate;
        ball_rate_pullback(m, t, &B, a, t->d[a], W->in.inv_h, rset(t->dV[a]), by, &by_q, &by_rate, A->b + b->vadr);
        if (b->flags & BODY_SPRING) by_q = add_scaled(by_q, drag_pullback(cone_at(b, W->in.q), w, w), dt);
        add3(bar->q + b->vadr, by_q), add3(bar->rate + b->vadr, by_rate);
        if (W->in.tau) add3(bar->tau + b->vadr, scale(w, negate(dt)));
    }
}

/// What passes through another joint.
FN void plain_flow_books(const lane_model *m, const lane_body *b, stage_adjoint *A, real c, const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const stage_input *in = &W->in;
    const int last = t->stages - 1;
    const sym3 drag = joint_drag(b, in->q);
    const real C[3] = {drag.xx, drag.yy, drag.zz};
    for (int k = 0; k < b->nv; k++) {
        const int j = b->vadr + k;
        real *const q = &bar->q[j];
        if (in->tau) {
            real *const end = &A->b[last * m->nv + j];
            const real by = c * in->tau[j];
            *end = *end - by, *q = *q + by, bar->tau[j] = fnmadd(c, in->u[last * m->nv + j], bar->tau[j]);
        }
        if (!(b->flags & BODY_PASSIVE)) continue;
        for (int a = 0; a < t->stages; a++) {
            const real dt = rset(t->b[a]) * in->h, w = stage_rate(m, t, in, a, j);
            real by = rset(2) * c * dt * C[k] * w;
            if (b->flags & BODY_MOTOR) {
                clock_now(m, in->h, t->c[a]);
                const lane_motor motor = motor_now(m, b);
                stage_motor_books(m, &motor, in->x[a * m->nq + b->qadr], w, c, dt, &A->b[a * m->nv + j], &by);
            }
            bar->rate[j] = fmadd(rset(t->dV[a]), by, bar->rate[j]);
            for (int l = 0; l < t->stages; l++) {
                const real d = rset(t->d[a][l]) * in->inv_h * by;
                A->b[l * m->nv + j] = A->b[l * m->nv + j] + d, *q = *q - d;
            }
        }
    }
}

/// The books of contact points, with the gradients c at the bodies: as stage_memory_pullback().
KERNEL void stage_touch_books(const lane_model *m, const stages *W, const stage_touches *A, const placement *at, const real *c_,
                              real *b, real *q_bar, vec3 *slip_bar)
{
    const stage_table *t = W->table;
    const int s = t->stages;
    const real o = rset(0);
    stage_touch_bar B[MOST_STAGES];
    for (int a = 0; a <= s; a++) clear_wrenches(m, A->load + a * m->nbody);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *p = &m->loads[k];
        const stage_load *of = &W->point[k * s];
        if (!(p->flags & LOAD_TOUCHES)) continue;
        const real c = c_[p->body], before = gap_of(m, p, W->held[k].gap);
        for (int a = 0; a < s; a++) {
            const meeting e = touch_at_stage(m, W, k, a);
            const vec3 U = load_rate(W, of, a);
            const real dt = c * rset(t->b[a]) * W->in.h, sinks = negate(dot(e.n, U)), depth = depth_of(e.gap);
            const real damped = fnmadd(p->grip, depth, e.press.force);
            B[a].g = scale(of[a].F, dt), B[a].F = scale(e.rub.g, dt), B[a].s = zero3();
            B[a].l = dt * sinks, B[a].gap = sel(lt(e.gap, o), dt * p->grip * sinks, o);
            if (a == s - 1) B[a].gap = B[a].gap - c * p->grip * depth;
            B[a].n = scale(U, negate(dt * damped)), B[a].U = scale(e.n, negate(dt * damped));
        }
        const real first = depth_of(before), end = depth_of(touch_at_stage(m, W, k, s - 1).gap);
        real by_grip = rset(0.5) * c * fnmadd(first, first, end * end);
        for (int a = 0; a < s; a++) {
            const meeting e = touch_at_stage(m, W, k, a);
            by_grip = fmadd(c * rset(t->b[a]) * W->in.h * depth_of(e.gap), dot(e.n, load_rate(W, of, a)), by_grip);
        }
        add_by_contact(m, p, o, by_grip, o);
        touch_stages_pullback(m, W, k, B, A, &slip_bar[p->contact]);
        wrench *const start = &A->load[s * m->nbody + p->body];
        const vec3 n = stand_of(m, p, W->held[k].gap).n;
        *start = wrench_add(*start, force_at(W->held[k].arm, scale(n, c * p->grip * depth_of(before))));
    }
    stage_touch_rows(m, W, A, at, b, q_bar);
}

/// After stage_begin_pullback(): as hold_pullback(), and what goes through the books is added to `bar`.
KERNEL void stage_hold_pullback(const lane_model *m, stage_adjoint *A, hold_adjoint *H, const state_bar *after,
                                const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const int last = W->table->stages - 1;
    const ended_motion E = {NULL, A->P.rate, A->P.fresh};
    double chord[MOST_STAGES] = {0};
    if (!kept_pullback(m, &E, H, after)) return;
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real c = H->c[i];
        stage_store_books(m, b, A, c, bar);
        if (b->kind != JOINT_BALL) plain_flow_books(m, b, A, c, bar);
        else if (has_forces(b, W->in.tau)) ball_flow_books(m, b, A, c, bar);
        if (!(b->flags & BODY_MASS)) continue;
        A->M[k] = zero_rate();
        add_momentum_columns(b, scale(load3(m->gravity), negate(c * W->in.h)), &A->M[k++]);
    }
    chord[last] = 1;
    for (int k = 0; k < m->nv; k++) A->y[k] = rset(0);
    weighted_pullback(m, A, chord, A->y, A->M, bar->q);
    stage_touch_books(m, W, &A->touch, A->at, H->c, A->b, bar->q, bar->slip);
    clock_now(m, W->in.h, 1);
}

#endif
