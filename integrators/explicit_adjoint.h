/// The adjoint of a step of an explicit method: gradients of a scalar by q, v and the joint forces before it, from those by q and
/// v after it. The stages are taken backwards; each has the transposed chain
///
///     kv = FD(x, w, tau)   y = H^-1 kv_bar,  tau_bar += y,  x_bar, w_bar += -y'(dID - dpassive)
///     kq = D(u) w          w_bar += D' kq_bar,  u_bar += d(kq_bar.D w)/du
///     x = q (+) u          u_bar += J(u)' x_bar,  q_bar += R(u) x_bar                       (balls; else 1)
///     u = h sum a kq,  w = v + h sum a kv
///
/// at the cost of a solve and two passes: O(N), whatever the number of degrees of freedom. (docs/theory.md 3)
#ifndef CATENA_EXPLICIT_ADJOINT_H
#define CATENA_EXPLICIT_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/kinematics.h"
#include "dynamics/tree_factor.h"
#include "dynamics/derivatives.h"
#include "dynamics/pullback.h"
#include "integrators/tableaux.h"
#include "integrators/explicit.h"
#include "integrators/motor_map.h"
#include "integrators/pose_pullback.h"

#include <catena/batch.h>

/// A stage of the step: [nv], [nq], and [nbody].
typedef struct {
    real *u, *w, *x;
    real *wound;  // [nwound] integral terms there
    id_body *body;
    placement *T;
    tree_pivot *pivot;
} adjoint_stage;

/// Scratch of one lane block.
typedef struct {
    explicit_work ex;
    adjoint_stage stage[EXPLICIT_STAGES];
    real *end;                                        // [nv] increments of the whole step, in the chart at its start
    id_work id;                                       // body: of the stage at hand
    tree_factors F;                                   // T and pivot: likewise
    real *x, *w, *y;                                  // [nv] gradients by a stage's configuration and velocity; a solution
    real *u;                                          // [nv] gradient by a stage's increments
    real *bent;                                       // [nv] what friction makes of it
    real *kq[EXPLICIT_STAGES], *kv[EXPLICIT_STAGES];  // [nv] gradients by a stage's rates
    real *kw[EXPLICIT_STAGES];                        // [nwound] likewise, of integral terms
    real *end_x, *end_w, *end_wound;                  // [nq], [nv], [nwound]: what the step ends with
    real *q_end, *v_end, *sum;                        // [nv], [nv], [nwound] gradients by these; by integral terms at the start
} explicit_adjoint;

/// x = q (+) u: adds to u_bar and q_bar what x_bar makes. [nv]
KERNEL void config_pullback(const lane_model *m, const real *u, const real *x_bar, real *u_bar, real *q_bar)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        if (b->kind == JOINT_BALL) {
            const vec3 a = vec(u[j], u[j + 1], u[j + 2]), x = vec(x_bar[j], x_bar[j + 1], x_bar[j + 2]);
            const vec3 g = exp_pullback(a, x), r = mul(quat_rotation(quat_exp(a)), x);
            u_bar[j] = u_bar[j] + g.x, u_bar[j + 1] = u_bar[j + 1] + g.y, u_bar[j + 2] = u_bar[j + 2] + g.z;
            q_bar[j] = q_bar[j] + r.x, q_bar[j + 1] = q_bar[j + 1] + r.y, q_bar[j + 2] = q_bar[j + 2] + r.z;
        } else
            for (int k = j; k < j + b->nv; k++) u_bar[k] = u_bar[k] + x_bar[k], q_bar[k] = q_bar[k] + x_bar[k];
    }
}

/// kq = D(u) w: adds to u_bar and w_bar what k_bar makes. [nv]
KERNEL void chart_pullback(const lane_model *m, const real *u, const real *w, const real *k_bar, real *u_bar, real *w_bar)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        if (b->kind == JOINT_BALL) {
            const vec3 a = vec(u[j], u[j + 1], u[j + 2]), g = vec(k_bar[j], k_bar[j + 1], k_bar[j + 2]);
            const vec3 x = chart_slope(a, vec(w[j], w[j + 1], w[j + 2]), g);
            const vec3 y = chart_velocity(vec(negate(a.x), negate(a.y), negate(a.z)), g);
            u_bar[j] = u_bar[j] + x.x, u_bar[j + 1] = u_bar[j + 1] + x.y, u_bar[j + 2] = u_bar[j + 2] + x.z;
            w_bar[j] = w_bar[j] + y.x, w_bar[j + 1] = w_bar[j + 1] + y.y, w_bar[j + 2] = w_bar[j + 2] + y.z;
        } else
            for (int k = j; k < j + b->nv; k++) w_bar[k] = w_bar[k] + k_bar[k];
    }
}

/// The arrays of stage s take their places in the work space.
FN void open_stage(explicit_adjoint *A, int s)
{
    A->id.body = A->stage[s].body, A->F.T = A->stage[s].T, A->F.pivot = A->stage[s].pivot;
}

/// Repeats the step of size h from (q, v) and factors the inertia at every stage.
KERNEL void explicit_prepare(const lane_model *m, ctn_method method, double h, const real *q, const real *v, real *wound, real *z,
                             const real *tau, explicit_adjoint *A)
{
    explicit_work *ex = &A->ex;
    ex->z = z, ex->wound = wound;
    const int stages = explicit_step(m, method, q, v, tau, rset(h), ex);
    for (int k = 0; k < m->nv; k++) A->end[k] = ex->u[k], A->end_w[k] = ex->w[k];
    for (int k = 0; k < m->nq; k++) A->end_x[k] = ex->x[k];
    for (int k = 0; k < m->nwound; k++) A->end_wound[k] = m->wound[k];
    for (int s = 0; s < stages; s++) {
        adjoint_stage *t = &A->stage[s];
        if (method == CTN_SEMI_IMPLICIT) {
            for (int k = 0; k < m->nq; k++) ex->x[k] = q[k];
            for (int k = 0; k < m->nv; k++) ex->w[k] = v[k], ex->u[k] = rset(0);
            hold_wound(m, ex->wound);
        } else advance(m, s, tableau_of(method)->a[s], q, v, rset(h), ex);
        for (int k = 0; k < m->nq; k++) t->x[k] = ex->x[k];
        for (int k = 0; k < m->nv; k++) t->w[k] = ex->w[k], t->u[k] = ex->u[k];
        for (int k = 0; k < m->nwound; k++) t->wound[k] = m->wound[k];
        open_stage(A, s);
        id_motion(m, t->x, t->w, ex->kv[s], &A->id);
        factor_motion(m, &A->id, &A->F);
    }
}

/// It is the time of stage s, which begins after the rates of those before it, of a step of size h.
FN void clock_stage(const lane_model *m, ctn_method method, int s, real h)
{
    double time = 0;
    for (int j = 0; j < s && method != CTN_SEMI_IMPLICIT; j++) time += tableau_of(method)->a[s][j];
    clock_now(m, h, time);
}

/// kv = FD(x, w, tau) at stage s: gradients by x and w into A->x and A->w, that by tau added to tau_bar, from that by kv.
KERNEL void acceleration_pullback(const lane_model *m, explicit_adjoint *A, int s, const real *kv_bar, real *tau_bar)
{
    open_stage(A, s);
    hold_wound(m, A->stage[s].wound);
    tree_solve(m, &A->F, kv_bar, A->y);
    for (int k = 0; k < m->nv; k++) A->x[k] = A->w[k] = rset(0), tau_bar[k] = tau_bar[k] + A->y[k];
    id_pullback(m, &A->id, A->y, rset(-1), A->x, A->w);
    acting_pullback(m, A->stage[s].x, A->stage[s].w, A->y, rset(1), &A->ex.loads, A->x, A->w);
    target_pullback(m, A->stage[s].x, A->stage[s].w, A->y, rset(1), &A->ex.loads);
    for (int k = 0; k < m->nv; k++) A->bent[k] = rset(0);
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_FRICTION)) continue;
        A->bent[b->vadr] = friction_pullback(m, b, bent_by(b, A->ex.z, A->stage[s].u), A->y[b->vadr]);
    }
}

/// Integral terms at the end of the step: gradients by where it would take them into A->kw[0], by what they were added to A->sum,
/// and by the end added to A->q_end and A->v_end. bar [nwound]
KERNEL void end_wound_pullback(const lane_model *m, explicit_adjoint *A, const real *bar)
{
    for (int i = 0; i < m->nbody && m->nwound; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || m->motors[b->motor].wound < 0) continue;
        const lane_motor a = motor_now(m, b);
        const int at = a.wound, j = b->vadr;
        const wound_bar B = wound_after_pullback(&a, A->end_x[b->qadr], A->end_w[j], A->ex.wound[at], A->end_wound[at], bar[at]);
        A->kw[0][at] = B.to, A->sum[at] = A->sum[at] + B.from;
        A->q_end[j] = A->q_end[j] + B.x, A->v_end[j] = A->v_end[j] + B.w;
        add_by_target(m, &a, B.y * target_gain(&a));
    }
}

/// After explicit_prepare(): gradients by the state before the step, and added to tau_bar [nv], from those by the state after it.
KERNEL void explicit_pullback(const lane_model *m, ctn_method method, double h_, explicit_adjoint *A, const state_bar *after,
                              const state_bar *before, real *tau_bar)
{
    const real h = rset(h_);
    const int nv = m->nv;
    for (int k = 0; k < nv; k++) A->q_end[k] = after->q[k], A->v_end[k] = after->v[k];
    for (int k = 0; k < m->nwound; k++) A->sum[k] = rset(0);
    clock_now(m, h, 1);
    end_wound_pullback(m, A, after->wound);
    for (int k = 0; k < m->nwound; k++) A->sum[k] = A->sum[k] + A->kw[0][k];
    if (method == CTN_SEMI_IMPLICIT) {
        for (int k = 0; k < m->nwound; k++) A->kw[0][k] = h * A->kw[0][k];
        wind_pullback(m, A->kw[0], A->q_end, A->v_end);
    }
    for (int k = 0; k < nv; k++) A->u[k] = before->q[k] = rset(0), before->v[k] = A->v_end[k];
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        if (b->flags & BODY_FRICTION) A->u[j] = bent_pullback(m, b, bent_by(b, A->ex.z, A->end), after->z[j]);
    }
    config_pullback(m, A->end, A->q_end, A->u, before->q);
    if (method == CTN_SEMI_IMPLICIT) {  // w' = v + h FD(q, v), q' = q (+) h w'
        for (int k = 0; k < nv; k++) before->v[k] = fmadd(h, A->u[k], before->v[k]), A->kv[0][k] = h * before->v[k];
        clock_stage(m, method, 0, h);
        acceleration_pullback(m, A, 0, A->kv[0], tau_bar);
        for (int k = 0; k < nv; k++) before->q[k] = before->q[k] + A->x[k], before->v[k] = before->v[k] + A->w[k];
        for (int k = 0; k < m->nwound; k++) before->wound[k] = before->wound[k] + A->sum[k];
        return;
    }
    const tableau *t = tableau_of(method);
    for (int s = 0; s < t->stages; s++)
        for (int k = 0; k < nv; k++) A->kq[s][k] = rset(t->b[s]) * h * A->u[k], A->kv[s][k] = rset(t->b[s]) * h * A->v_end[k];
    for (int s = t->stages - 1; s >= 0; s--)  // the first one is what they are made of
        for (int k = 0; k < m->nwound; k++) A->kw[s][k] = rset(t->b[s]) * h * A->kw[0][k];
    for (int s = t->stages - 1; s >= 0; s--) {
        const adjoint_stage *g = &A->stage[s];
        clock_stage(m, method, s, h);
        for (int k = 0; k < m->nwound; k++) before->wound[k] = rset(0);
        acceleration_pullback(m, A, s, A->kv[s], tau_bar);
        wind_pullback(m, A->kw[s], A->x, A->w);
        for (int k = 0; k < m->nwound; k++) {
            A->sum[k] = A->sum[k] + before->wound[k];
            for (int j = 0; j < s; j++) A->kw[j][k] = fmadd(rset(t->a[s][j]) * h, before->wound[k], A->kw[j][k]);
        }
        for (int k = 0; k < nv; k++) A->u[k] = A->bent[k];
        chart_pullback(m, g->u, g->w, A->kq[s], A->u, A->w);
        config_pullback(m, g->u, A->x, A->u, before->q);
        for (int k = 0; k < nv; k++) {
            before->v[k] = before->v[k] + A->w[k];
            for (int j = 0; j < s; j++) {
                const real a = rset(t->a[s][j]) * h;
                A->kq[j][k] = fmadd(a, A->u[k], A->kq[j][k]), A->kv[j][k] = fmadd(a, A->w[k], A->kv[j][k]);
            }
        }
    }
    for (int k = 0; k < m->nwound; k++) before->wound[k] = A->sum[k];
}

#endif
