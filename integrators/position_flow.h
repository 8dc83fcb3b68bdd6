/// What passes through the forces of a position-based part (energy.h), while its solution stands beside its start.
#ifndef CATENA_POSITION_FLOW_H
#define CATENA_POSITION_FLOW_H

#include "dynamics/lane_model.h"
#include "forces/joint_elements.h"
#include "forces/body_loads.h"
#include "forces/signals.h"
#include "integrators/energy.h"
#include "integrators/joint_terms.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_step.h"
#include "integrators/stage_dense.h"

/// A servo in a part of order 2, which begins where it is and holds what it is told at the end: `told`, the work of that change.
/// The rest of its power is that of a motor told to stand still.
FN lane_motor held_motor(const lane_model *m, const lane_body *b, const terms_input *in, real *told)
{
    const bool moves = m->nsignal && (b->flags & BODY_SERVO);
    *told = rset(0);
    if (moves) clock_now(m, in->h, 0), *told = negate(servo_energy(m, b, in->q));
    clock_now(m, in->h, 1);
    lane_motor a = motor_now(m, b);
    if (moves) *told = *told + servo_energy(m, b, in->q);
    for (int c = 0; c < 3; c++) a.target_rate[c] = a.feedforward_rate[c] = rset(0);
    return a;
}

/// One stage, a joint: along the increment, at the mean rates, where the damper's term has its force b u / h. Order 2 has motors
/// as they are told at the end of the part, alpha in its middle.
FN void add_joint_part(energy_flow *F, const lane_model *m, const lane_body *b, const position_work *P)
{
    const terms_input *in = &P->W.in;
    const bool alpha = in->slack;
    real u[3] = {rset(0), rset(0), rset(0)}, told = rset(0);
    lane_motor motor;
    if (!has_forces(b, in->tau)) return;
    joint_increment(b, in->q, P, u);
    real middle[4];  // as the mean rate, to alpha's order
    if (b->kind == JOINT_BALL && (b->flags & BODY_MOTOR))
        quat_store(middle, quat_mul(quat_load(in->q + b->qadr), quat_exp(scale(load3(u), rset(0.5)))));
    else middle[0] = fmadd(rset(0.5), u[0], in->q[b->qadr]);
    for (int k = 0; k < b->nv; k++) u[k] = u[k] * in->inv_h;
    clock_now(m, in->h, 0.5);
    if (b->flags & BODY_MOTOR) motor = alpha ? motor_now(m, b) : held_motor(m, b, in, &told);
    F->work = F->work + told;
    add_driven_flow(F, m, b, in->q, alpha ? middle : P->x + b->qadr, in->tau, u, in->h, b->flags & BODY_MOTOR ? &motor : NULL);
}

/// The force and the torque that a load's work goes by. Of what turns with its link alpha has the mean of both ends: the work of
/// the force that it solves with, that of the end, is of the first order.
FN wrench acting_in_part(const lane_model *m, const position_work *P, const lane_point_load *s, const load_state *at)
{
    wrench w;
    w.f = at->F, w.n = at->T;
    if (!P->W.in.slack || !(s->flags & LOAD_FOLLOWS)) return w;
    const mat3 R_k = P->W.start[s->body].R, R = P->W.now[s->body].R;
    const real half = rset(0.5);
    clock_now(m, P->W.in.h, 0);
    const vec3 f = load_force(m, s, R_k), n = load_torque(m, s, R_k);
    clock_now(m, P->W.in.h, 1);
    w.f = scale(add(f, load_force(m, s, R)), half), w.n = scale(add(n, load_torque(m, s, R)), half);
    return w;
}

/// A load.
FN void add_load_part(energy_flow *F, const lane_model *m, const position_work *P, int k)
{
    const lane_point_load *s = &m->loads[k];
    const terms_input *in = &P->W.in;
    const load_state *at = &P->W.held[k];
    if (s->flags & LOAD_TOUCHES) {
        const ended_touch *e = &P->W.ended[s->contact];
        F->dissipated = F->dissipated + e->loss;
        if (s->rolls) F->dissipated = F->dissipated + e->turning;
        return;
    }
    const mat3 R = P->W.now[s->body].R;
    const vec3 arm = mul(R, load3(s->point)), u = add(P->W.body[s->body].dp, sub(arm, at->arm));
    if (s->flags & LOAD_ADDED) return;
    if (s->flags & LOAD_SLIPS) {
        const vec3 w = sub(scale(u, in->inv_h), at->stream.flow);
        const drag_force D = drag_of(s, at->axis, w, in->inv_h);
        const drag_power p = drag_flow(&D, w, at->stream.flow, in->h);
        F->dissipated = F->dissipated + p.loss, F->work = F->work + p.work;
        return;
    }
    F->dissipated = F->dissipated + load_loss(s, at->axis, scale(u, in->inv_h), in->h);
    const wrench w = acting_in_part(m, P, s, at);
    F->work = F->work + dot(w.f, u);
    if (s->flags & LOAD_TURNS) F->work = F->work + dot(w.n, mul(R, axes_increment(P->W.start[s->body].R, R)));
}

/// Integral terms now are those by which energy passes through motors in a part: as the coordinates of these.
KERNEL void wind_part(const lane_model *m, const terms_input *in)
{
    if (!m->nwound) return;
    clock_now(m, in->h, 1);
    hold_wound(m, in->wound), wind_step(m, in, not_(none_of()), m->wound);
    for (int k = 0; k < m->nwound && in->slack; k++) m->wound[k] = rset(0.5) * (in->wound[k] + m->wound[k]);
}

/// All of them.
KERNEL energy_flow step_flow(const lane_model *m, const position_work *P)
{
    energy_flow F = no_flow();
    const terms_input *in = &P->W.in;
    wind_part(m, in);
    for (int i = 0; i < m->nbody; i++) add_joint_part(&F, m, &m->bodies[i], P);
    F.dissipated = F.dissipated + friction_loss(m, in->z, P->u);
    for (int k = 0; k < m->nload; k++) {
        if (passes_over(P->W.watch, &k)) continue;
        add_load_part(&F, m, P, k);
    }
    if (joins(m)) F.dissipated = F.dissipated + loss_of_touches(m, &P->W), add_length_flow(&F, m, &P->W);
    return F;
}

/// What damper and friction of contact point k take, by the quadrature over the stages; friction without what its bristles store.
FN real touch_loss(const lane_model *m, const stages *W, int k)
{
    const lane_point_load *s = &m->loads[k];
    const stage_table *t = W->table;
    const stage_load *of = &W->point[k * t->stages];
    const vec3 z = W->slip[s->contact];
    const end_touch end = touch_after_stages(m, W, k);
    const vec3 kept = end.kept, from = s->surface ? z : along_ground(ground_normal(m), z);
    real loss = rset(0);
    for (int a = 0; a < t->stages; a++) {
        const meeting c = touch_at_stage(m, W, k, a);
        const real dt = rset(t->b[a]) * W->in.h, sinks = negate(dot(c.n, load_rate(W, of, a)));
        const real damped = fnmadd(s->grip, depth_of(c.gap), c.press.force);
        loss = fmadd(dt, fmadd(damped, sinks, dot(c.rub.g, of[a].F)), loss);
        if (s->rolls) {
            const stage_turn t = turn_at_stage(m, W, k, a, &c);
            loss = fmadd(dt, dot(t.law.g, t.rate), loss);
        }
    }
    if (s->rolls) loss = loss + turn_energy(s, W->slip[turn_slot(m, s)]) - turn_energy(s, end.turned);
    return fmadd(rset(0.5) * s->grip, dot(from, from) - dot(kept, kept), loss);
}

/// Several stages, a joint: by the quadrature over them; the work on joints that are not balls is tau times the increment.
FN void add_joint_stages(energy_flow *F, const lane_model *m, const lane_body *b, const stage_work *P)
{
    const stage_table *t = P->W.table;
    const stage_input *in = &P->W.in;
    const bool ball = b->kind == JOINT_BALL;
    const real *u = P->u + (t->stages - 1) * m->nv, *tau = ball ? in->tau : NULL;
    real turn[3], w[3];
    ball_stages B;
    for (int k = b->vadr; k < b->vadr + b->nv && in->tau && !ball; k++) F->work = fmadd(in->tau[k], u[k], F->work);
    if (!has_forces(b, tau)) return;
    if (ball) B = ball_at_stages(m, b, t, in);
    for (int a = 0; a < t->stages; a++) {
        if (t->b[a] == 0) continue;
        stage_motion(m, b, P, &B, a, turn, w);
        clock_now(m, in->h, t->c[a]);
        if ((b->flags & BODY_MOTOR) && m->motors[b->motor].wound >= 0) {
            real *const to = m->wound + m->motors[b->motor].wound;
            if (ball) store3(to, ball_wound_at_stage(m, b, t, in, a));
            else to[0] = wound_at_stage(m, b, t, in, a);
        }
        add_joint_flow(F, m, b, in->q, in->x + a * m->nq + b->qadr, tau, w, rset(t->b[a]) * in->h);
    }
}

/// A load.
FN void add_load_stages(energy_flow *F, const lane_model *m, const stage_work *P, int k)
{
    const stage_table *t = P->W.table;
    const lane_point_load *s = &m->loads[k];
    const stage_load *of = &P->W.point[k * t->stages];
    const bool follows = s->flags & (LOAD_FOLLOWS | LOAD_AXIAL);
    if (s->flags & LOAD_ADDED) return;
    if (s->flags & LOAD_TOUCHES) {
        F->dissipated = F->dissipated + touch_loss(m, &P->W, k);
        return;
    }
    for (int a = 0; a < t->stages; a++) {
        if (t->b[a] == 0) continue;
        const real dt = rset(t->b[a]) * P->W.in.h;
        const vec3 x = load_rate(&P->W, of, a);
        if (s->flags & LOAD_SLIPS) {
            const drag_power p = drag_flow(&of[a].drag, of[a].slip, sub(x, of[a].slip), dt);
            F->dissipated = F->dissipated + p.loss, F->work = F->work + p.work;
            continue;
        }
        F->dissipated = F->dissipated + load_loss(s, of[a].axis, x, dt);
        if (follows) F->work = fmadd(dt, dot(of[a].F, x), F->work);
        if (s->flags & LOAD_TURNS) F->work = fmadd(dt, dot(of[a].T, stage_spin(&P->W, s->body, a)), F->work);
    }
    if (!follows && !(s->flags & LOAD_SLIPS)) F->work = F->work + dot(of[0].F, of[t->stages - 1].u);
}

/// All of them.
KERNEL energy_flow stages_flow(const lane_model *m, const stage_work *P)
{
    energy_flow F = no_flow();
    for (int i = 0; i < m->nbody; i++) add_joint_stages(&F, m, &m->bodies[i], P);
    F.dissipated = F.dissipated + friction_loss(m, P->W.in.z, P->u + (P->W.table->stages - 1) * m->nv);
    for (int k = 0; k < m->nload; k++) {
        if (passes_over(P->W.watch, &k)) continue;
        add_load_stages(&F, m, P, k);
    }
    return F;
}

#endif
