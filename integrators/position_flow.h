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

/// One stage: along the increment, at the mean rates, where the damper's term has its force b u / h.
KERNEL energy_flow step_flow(const lane_model *m, const position_work *P)
{
    const terms_input *in = &P->W.in;
    energy_flow F = no_flow();
    clock_now(m, in->h, in->slack ? 0.5 : 1);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real u[3] = {rset(0), rset(0), rset(0)};
        if (!has_forces(b, in->tau)) continue;
        joint_increment(b, in->q, P, u);
        const real middle = fmadd(rset(0.5), u[0], in->q[b->qadr]);  // as the mean rate, to alpha's order
        for (int k = 0; k < b->nv; k++) u[k] = u[k] * in->inv_h;
        add_joint_flow(&F, m, b, in->q, in->slack ? &middle : P->x + b->qadr, in->tau, u, in->h);
    }
    F.dissipated = F.dissipated + friction_loss(m, in->z, P->u);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        const load_state *at = &P->W.held[k];
        if (s->flags & LOAD_TOUCHES) {
            const touch c = contact_at(m, &P->W, k);
            const vec3 z = P->W.slip[s->contact];
            const real force = press_on(m, s, c.before, c.gap, in->h).force;
            const real lag = P->W.lag[s->contact];
            F.dissipated = F.dissipated + contact_loss(m, s, &c, z, kept_slip(s, c.s, lag, force), in->h, lag);
            continue;
        }
        const mat3 R = P->W.now[s->body].R;
        const vec3 arm = mul(R, load3(s->point)), u = add(P->W.body[s->body].dp, sub(arm, at->arm));
        F.dissipated = F.dissipated + load_loss(s, at->axis, scale(u, in->inv_h), in->h);
        F.work = F.work + dot(at->F, u);
        if (s->flags & LOAD_TURNS) F.work = F.work + dot(at->T, mul(R, axes_increment(P->W.start[s->body].R, R)));
    }
    return F;
}

/// Several stages: by the quadrature over them; the work on joints that are not balls is tau times the increment.
KERNEL energy_flow stages_flow(const lane_model *m, const stage_work *P)
{
    const stage_table *t = P->W.table;
    const stage_input *in = &P->W.in;
    energy_flow F = no_flow();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const bool ball = b->kind == JOINT_BALL;
        const real *u = P->u + (t->stages - 1) * m->nv, *tau = ball ? in->tau : NULL;
        real turn[3], w[3];
        ball_stages B;
        for (int k = b->vadr; k < b->vadr + b->nv && in->tau && !ball; k++) F.work = fmadd(in->tau[k], u[k], F.work);
        if (!has_forces(b, tau)) continue;
        if (ball) B = ball_at_stages(m, b, t, in);
        for (int a = 0; a < t->stages; a++) {
            if (t->b[a] == 0) continue;
            stage_motion(m, b, P, &B, a, turn, w);
            clock_now(m, in->h, t->c[a]);
            add_joint_flow(&F, m, b, in->q, in->x + a * m->nq + b->qadr, tau, w, rset(t->b[a]) * in->h);
        }
    }
    F.dissipated = F.dissipated + friction_loss(m, in->z, P->u + (t->stages - 1) * m->nv);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        const stage_load *of = &P->W.point[k * t->stages];
        const bool follows = s->flags & (LOAD_FOLLOWS | LOAD_AXIAL);
        for (int a = 0; a < t->stages; a++) {
            if (t->b[a] == 0) continue;
            const real dt = rset(t->b[a]) * in->h;
            const vec3 x = load_rate(&P->W, of, a);
            F.dissipated = F.dissipated + load_loss(s, of[a].axis, x, dt);
            if (follows) F.work = fmadd(dt, dot(of[a].F, x), F.work);
            if (s->flags & LOAD_TURNS) F.work = fmadd(dt, dot(of[a].T, stage_spin(&P->W, s->body, a)), F.work);
        }
        if (!follows) F.work = F.work + dot(of[0].F, of[t->stages - 1].u);
    }
    return F;
}

#endif
