/// The adjoint of a variational step: gradients by (q, p) and the joint forces before it, from those by (q, p) after it.
/// (docs/theory.md 6.5)
///
/// A part of size h solves r(q1; q0, p0) = 0 and makes p1, both from L(q0, q1). With J = dr/dq1, which the Newton sweep factors,
/// and the virtual motions p1_bar at q1 and y at q0,
///
///     J'y = q1_bar + (dp1/dq1)' p1_bar,    p0_bar = y,    q0_bar = (dp1/dq0)' p1_bar - (dr/dq0)' y,
///
/// where p1_bar'p1 = sum <G1, [xi]T1>, y'r = sum <G0, [xi]T0> + joint terms, and G = (dT/h +- h/2 g e4')M are the momenta of the
/// bodies: the derivative of G is an inner product with [xi]T M/h, that of [xi]T is rate_pullback(). One factorisation and one
/// solve a part: O(N).
#ifndef CATENA_VARIATIONAL_ADJOINT_H
#define CATENA_VARIATIONAL_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/articulated.h"
#include "forces/joint_forces.h"
#include "dynamics/tree_factor.h"
#include "dynamics/pullback.h"
#include "integrators/force_unit.h"
#include "integrators/motor_map.h"
#include "integrators/collocation.h"
#include "integrators/position_step.h"
#include "integrators/variational.h"
#include "integrators/variational_sweep.h"
#include "integrators/variational_step.h"
#include "integrators/pose_pullback.h"
#include "integrators/velocity_adjoint.h"
#include "integrators/position_adjoint.h"

#include <catena/batch.h>

/// A part of the step: its solution, and the factors of J there.
typedef struct {
    chord W;
    chord_sweep sweep;  // joint, column: its own
    real *q0, *q1;      // [nq]
} chord_part;

/// Scratch of one lane block.
typedef struct {
    variational_work work;
    variational_state now;  // moves on from part to part
    chord_part part[TRIPLE_JUMP];
    placement *T[2];   // [nbody] at q0 and q1
    rate_pose *G, *M;  // [bodies with mass]
    pose_work P;
    velocity_adjoint mobility;
    real *still, *sink;   // [nv] zeros; what is not wanted
    real *q, *p, *b, *y;  // [nv] gradients between two parts; sides of the solve
} variational_adjoint;

/// Makes the step of size h from `before` once more, and factors J of every part. Returns where it ends at q.
KERNEL mask variational_prepare(const lane_model *m, const ctn_batch_config *cfg, real h, const variational_state *before,
                                const real *q, const real *tau, variational_adjoint *A)
{
    variational_work *P = &A->work;
    real spacing;
    position_counts count = no_counts();
    mask ok = not_(none_of());
    copy_variational(m, before, ok, &A->now);
    for (int k = 0; k < chord_parts(cfg); k++) {
        chord_part *part = &A->part[k];
        for (int j = 0; j < m->nq; j++) part->q0[j] = A->now.q[j];
        P->W = part->W;
        ok = both(ok, solve_chord_part(m, cfg, k, h, &A->now, tau, not_(none_of()), P, &count, &spacing));
        for (int j = 0; j < m->nq; j++) part->q1[j] = P->x[j];
        commit_chord(m, &A->now, tau, spacing, not_(none_of()), P, NULL);
        P->W.q = part->q0;
        part->W = P->W;
        chord_factor(m, &part->W, &part->sweep, P->fresh);
    }
    for (int k = 0; k < m->nq; k++) ok = both(ok, le(magnitude(A->now.q[k] - q[k]), rset(0)));
    return ok;
}

/// M = s [xi_v]T M of the bodies with mass.
KERNEL void chord_virtual(const lane_model *m, const placement *T, const real *v, real s, variational_adjoint *A)
{
    joint_twists(m, T, v, A->P.motion);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) continue;
        A->M[k++] = columns_add_scaled(zero_rate(), times_mass(b, moved_by(A->P.motion[i], T[i].R)), s);
    }
}

/// G = (dT/h + share h g e4') M.
KERNEL void chord_momenta(const lane_model *m, const chord *W, double share, variational_adjoint *A)
{
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const chord_body *t = &W->body[i];
        if (!(b->flags & BODY_MASS)) continue;
        rate_pose X;
        X.R.x = scale(t->dR.x, W->inv_h), X.R.y = scale(t->dR.y, W->inv_h), X.R.z = scale(t->dR.z, W->inv_h);
        X.p = add_scaled(scale(t->dp, W->inv_h), load3(m->gravity), rset(share) * W->h);
        A->G[k++] = times_mass(b, X);
    }
}

/// Momentum of the rotor and `share` of the damper's impulse for the chord v.
FN vec3 resisted(const lane_body *b, const chord *W, int i, real share, vec3 v)
{
    const vec3 rotor = scale(v, given(b)->armature * W->inv_h);
    return b->flags & BODY_PASSIVE ? add_scaled(rotor, smul(W->start[i].drag, v), share) : rotor;
}

/// Adds the gradients of g.a, a the chord of the joint, by its motion at q1 (NULL: not wanted) and at q0.
FN void joint_chord_pullback(const lane_body *b, const chord *W, vec3 g, real *by_q1, real *by_q0)
{
    if (b->kind == JOINT_BALL) {
        ball_chord_pullback(quat_load(W->step + b->qadr), g, by_q1 ? by_q1 + b->vadr : NULL, by_q0 + b->vadr);
        return;
    }
    if (by_q1) add_joint_vector(b, by_q1, g);
    add_joint_vector(b, by_q0, scale(g, rset(-1)));
}

/// How the share theta of the dampers changes with q: adds theta_bar dtheta/dq to q_bar. theta = (1 + z)/(2 + z), z = h b / D the
/// largest of any joint; 1/D = y'H y is what the joint and those beyond it do, H y, when it is pushed by 1 while those further in
/// stand still.
KERNEL void share_pullback(const lane_model *m, const chord_part *part, real theta_bar, velocity_adjoint *A, rate_pose *M,
                           real *q_bar)
{
    const chord *W = &part->W;
    const real zero = rset(0);
    real most = zero;
    factor_inertia(m, part->q0, &A->F);
    for (int pass = 0; pass < 2; pass++) {  // find the largest, then the first joint that has it
        mask taken = none_of();
        for (int i = 0; i < m->nbody; i++) {
            const lane_body *b = &m->bodies[i];
            const tree_pivot *s = &A->F.pivot[i];
            if (!(b->flags & BODY_PASSIVE)) continue;
            const sym3 drag = W->start[i].drag;
            real c = W->h * drag.xx;
            if (b->nv == 3) c = W->h * (drag.xx + drag.yy + drag.zz);
            vec3 D[3];
            real z = c * s->one.i;
            if (b->nv == 3) {
                for (int k = 0; k < 3; k++) D[k] = ldl_solve(s->three.D, vec(rset(k == 0), rset(k == 1), rset(k == 2)));
                z = c * (D[0].x + D[1].y + D[2].z);
            }
            if (pass == 0) {
                most = larger(most, z);
                continue;
            }
            const mask here = both(le(most, z), not_(taken));
            if (!any_of(here)) continue;
            taken = either(taken, here);
            const real by_z = theta_bar / ((rset(2) + most) * (rset(2) + most));
            for (int k = 0; k < b->nv; k++) {
                for (int j = 0; j < m->nv; j++) A->y[j] = zero;
                if (b->nv == 3) add_joint_vector(b, A->y, D[k]);
                else A->y[b->vadr] = rset(1);
                tree_outward(m, &A->F, A->y);
                body_momenta(m, A->y, A, M);
                rate_pullback(m, A->T, A->y, M, sel(here, rset(-2) * by_z * c, zero), &A->W, q_bar, NULL);
            }
        }
        if (!any_of(gt(most, zero))) return;
    }
}

/// One part: gradients by q0 and p0 from those by q1 and p1; adds to tau_bar.
KERNEL void chord_pullback(const lane_model *m, const chord_part *part, const real *q1_bar, const real *p1_bar,
                           variational_adjoint *A, real *q0_bar, real *p0_bar, real *tau_bar)
{
    const chord *W = &part->W;
    const real half = rset(0.5) * W->h, late = W->theta - rset(1);  // shares of the dampers in r and p1: theta, theta - 1
    real theta_bar = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        A->T[0][i].R = W->start[i].R, A->T[0][i].r = W->start[i].r;
        A->T[1][i].R = W->body[i].R, A->T[1][i].r = W->body[i].r;
    }
    for (int k = 0; k < m->nv; k++) A->b[k] = q1_bar[k], q0_bar[k] = rset(0), tau_bar[k] = fmadd(half, p1_bar[k], tau_bar[k]);

    // p1 by q1 and q0
    chord_virtual(m, A->T[1], p1_bar, W->inv_h, A);
    chord_momenta(m, W, 0.5, A);
    add_pose_rows(m, A->T[1], A->M, rset(1), &A->P, A->b);
    add_pose_rows(m, A->T[0], A->M, rset(-1), &A->P, q0_bar);
    rate_pullback(m, A->T[1], p1_bar, A->G, rset(1), &A->P, A->b, NULL);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (has_terms(b, NULL)) joint_chord_pullback(b, W, resisted(b, W, i, late, joint_vector(b, p1_bar)), A->b, q0_bar);
    }
    acting_pullback(m, part->q1, A->still, p1_bar, half, &A->work.loads, A->b, A->sink);
    target_pullback(m, part->q1, A->still, p1_bar, half, &A->work.loads);

    chord_solve_transposed(m, W, &part->sweep, A->b, A->P.load, A->P.motion, A->y);

    // r by q0
    chord_virtual(m, A->T[0], A->y, W->inv_h, A);
    chord_momenta(m, W, -0.5, A);
    add_pose_rows(m, A->T[0], A->M, rset(1), &A->P, q0_bar);
    rate_pullback(m, A->T[0], A->y, A->G, rset(-1), &A->P, q0_bar, NULL);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!has_terms(b, NULL)) continue;
        const vec3 y = joint_vector(b, A->y), p = joint_vector(b, p1_bar), a = joint_chord(b, W);
        joint_chord_pullback(b, W, scale(resisted(b, W, i, W->theta, y), rset(-1)), NULL, q0_bar);
        if (!(b->flags & BODY_PASSIVE)) continue;
        theta_bar = dot_add(theta_bar, sub(p, y), smul(W->start[i].drag, a));
        if (b->kind == JOINT_BALL && (b->flags & BODY_SPRING)) {
            const vec3 both_ends = sub_scaled(scale(p, late), y, W->theta);
            add_joint_vector(b, q0_bar, drag_pullback(cone_at(b, part->q0), a, both_ends));
        }
    }
    acting_pullback(m, part->q0, A->still, A->y, half, &A->work.loads, q0_bar, A->sink);
    target_pullback(m, part->q0, A->still, A->y, half, &A->work.loads);
    if (m->passive) share_pullback(m, part, theta_bar, &A->mobility, A->M, q0_bar);
    for (int k = 0; k < m->nv; k++) p0_bar[k] = A->y[k], tau_bar[k] = fmadd(half, A->y[k], tau_bar[k]);
}

/// After variational_prepare(): gradients by the state before the step, and added to tau_bar [nv], from those by the state after
/// it.
KERNEL void variational_pullback(const lane_model *m, const ctn_batch_config *cfg, variational_adjoint *A, const state_bar *after,
                                 const state_bar *before, real *tau_bar)
{
    for (int k = 0; k < m->nv; k++) A->q[k] = after->q[k], A->p[k] = after->v[k], A->still[k] = A->sink[k] = rset(0);
    for (int k = chord_parts(cfg) - 1; k >= 0; k--) {
        chord_pullback(m, &A->part[k], A->q, A->p, A, before->q, before->v, tau_bar);
        for (int j = 0; j < m->nv; j++) A->q[j] = before->q[j], A->p[j] = before->v[j];
    }
}

#endif
