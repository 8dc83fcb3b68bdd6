/// The adjoints of the ways in and out of a state that carries something else than joint velocities: Euclidean velocities V of
/// bodies (position-based methods) or joint momenta p (the variational one). (docs/theory.md 4.6, 6.5)
///
///     in    V = [xi_v]T               or  p = H v
///     out   H v = S'[momentum of V] + J rate  or  H v = p
///
/// H v is S' sum [xi_v]T M, M the mass of a body, so that y'H v = sum <[xi_v]T M, [xi_y]T> and no derivative of H is ever formed.
#ifndef CATENA_VELOCITY_ADJOINT_H
#define CATENA_VELOCITY_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/articulated.h"
#include "dynamics/tree_factor.h"
#include "integrators/collocation.h"
#include "integrators/contact_adjoint.h"
#include "integrators/loop_velocity.h"
#include "integrators/position_step.h"
#include "integrators/pose_pullback.h"

/// Scratch of one lane block.
typedef struct {
    placement *T;  // [nbody] of F
    tree_factors F;
    pose_work W;
    rate_pose *M;     // [bodies with mass]
    real *b, *v, *y;  // [nv]
    vec3 *p;          // [nbody] of models that touch
    loop_velocity loops;
} velocity_adjoint;

/// L = [xi_v]T M of the bodies with mass.
KERNEL void body_momenta(const lane_model *m, const real *v, velocity_adjoint *A, rate_pose *L)
{
    joint_twists(m, A->T, v, A->W.motion);
    for (int i = 0, k = 0; i < m->nbody; i++)
        if (m->bodies[i].flags & BODY_MASS) L[k++] = times_mass(&m->bodies[i], moved_by(A->W.motion[i], A->T[i].R));
}

/// From the gradient by V = [xi]T and rates v, of the motion (q, v), to those by q and v: added to q_bar, v_bar [nv].
KERNEL void motion_start_pullback(const lane_model *m, const real *q, const real *v, const state_bar *state, velocity_adjoint *A,
                                  real *q_bar, real *v_bar)
{
    find_placements(m, q, A->T);
    for (int k = 0; k < m->nv; k++) q_bar[k] = q_bar[k] + state->q[k], v_bar[k] = v_bar[k] + state->v[k];
    rate_pullback(m, A->T, v, state->V, rset(1), &A->W, q_bar, v_bar);
}

/// The same of all of the state that starts from (q, v).
KERNEL void position_start_pullback(const lane_model *m, const real *q, const real *v, const state_bar *state, velocity_adjoint *A,
                                    real *q_bar, real *v_bar)
{
    motion_start_pullback(m, q, v, state, A, q_bar, v_bar);
    start_press_pullback(m, q, v, state->press, A->T, A->p, &A->W, q_bar, v_bar);
}

/// Adds to the gradient by a state what those by its q and v, q_bar and v_bar [nv], make: v is the velocity nearest to V,
/// H v = S'[momentum of V] + J rate, and with y = H^-1 v_bar the scalar changes by sum <(V - [xi_v]T) M, [xi_y]T> + ... on_loops:
/// v keeps to loops (loop_velocity.h), and so does y, with the forces f of v and g of y: -f.(L y) - g.(L v) goes by q, too.
KERNEL void position_output_pullback(const lane_model *m, const position_state *S, const real *q_bar, const real *v_bar,
                                     bool on_loops, velocity_adjoint *A, const state_bar *state)
{
    factor_inertia(m, S->q, &A->F);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int e = b->vadr; e < b->vadr + b->nv; e++) A->b[e] = given(b)->armature * S->rate[e];
        if (b->flags & BODY_MASS) A->M[k++] = times_mass(b, S->V[i]);
    }
    add_pose_rows(m, A->T, A->M, rset(1), &A->W, A->b);
    tree_solve(m, &A->F, A->b, A->v);
    tree_solve(m, &A->F, v_bar, A->y);
    for (int k = 0; k < m->nv; k++) state->q[k] = state->q[k] + q_bar[k];
    if (on_loops) {
        const loop_velocity *const B = &A->loops;
        find_loop_rows(m, S->q, &A->F, B);
        keep_to_loops(m, B, A->v, B->force), keep_to_loops(m, B, A->y, B->other_force);
        loops_rate_pullback(m, S->q, A->T, B, B->force, A->y, &A->W, state->q);
        loops_rate_pullback(m, S->q, A->T, B, B->other_force, A->v, &A->W, state->q);
    }

    joint_twists(m, A->T, A->v, A->W.motion);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) continue;
        A->M[k] = columns_add_scaled(A->M[k], times_mass(b, moved_by(A->W.motion[i], A->T[i].R)), rset(-1));
        k++;
    }
    rate_pullback(m, A->T, A->y, A->M, rset(1), &A->W, state->q, NULL);
    body_momenta(m, A->y, A, A->M);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int e = b->vadr; e < b->vadr + b->nv; e++) state->v[e] = fmadd(given(b)->armature, A->y[e], state->v[e]);
        if (!(b->flags & BODY_MASS)) continue;
        state->V[k] = columns_add_scaled(state->V[k], A->M[k], rset(1));
        k++;
    }
    rate_pullback(m, A->T, A->v, A->M, rset(-1), &A->W, state->q, NULL);
}

/// From the gradient by the state that starts from (q, v), p = H v, to those by q and v: added to q_bar, v_bar [nv].
KERNEL void momentum_start_pullback(const lane_model *m, const real *q, const real *v, const state_bar *state, velocity_adjoint *A,
                                    real *q_bar, real *v_bar)
{
    find_placements(m, q, A->T);
    for (int i = 0; i < m->nbody; i++)
        for (int k = m->bodies[i].vadr; k < m->bodies[i].vadr + m->bodies[i].nv; k++) {
            q_bar[k] = q_bar[k] + state->q[k];
            v_bar[k] = fmadd(given(&m->bodies[i])->armature, state->v[k], v_bar[k]);
        }
    body_momenta(m, state->v, A, A->M);
    rate_pullback(m, A->T, v, A->M, rset(1), &A->W, q_bar, v_bar);
    body_momenta(m, v, A, A->M);
    rate_pullback(m, A->T, state->v, A->M, rset(1), &A->W, q_bar, NULL);
}

/// Adds to the gradient by a state (q, p) what those by its q and v = H^-1 p, q_bar and v_bar [nv], make.
KERNEL void momentum_output_pullback(const lane_model *m, const real *q, const real *p, const real *q_bar, const real *v_bar,
                                     velocity_adjoint *A, const state_bar *state)
{
    factor_inertia(m, q, &A->F);
    tree_solve(m, &A->F, p, A->v);
    tree_solve(m, &A->F, v_bar, A->y);
    for (int k = 0; k < m->nv; k++) state->q[k] = state->q[k] + q_bar[k], state->v[k] = state->v[k] + A->y[k];
    body_momenta(m, A->v, A, A->M);
    rate_pullback(m, A->T, A->y, A->M, rset(-1), &A->W, state->q, NULL);
    body_momenta(m, A->y, A, A->M);
    rate_pullback(m, A->T, A->v, A->M, rset(-1), &A->W, state->q, NULL);
}

#endif
