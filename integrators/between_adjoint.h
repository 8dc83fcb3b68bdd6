/// The adjoint of what acts between bodies in a step of one stage. (docs/theory.md 4.14)
///
/// The solution x and the forces f of equations have r(x, f; start) = 0 and c(x) - C f = 0, so that with the matrix of the Newton
/// step, which is symmetric,
///
///     [H J'; J -C] [y; z] = [x_bar; 0],      every other bar -= (dr/d.)'y
///
/// as c is of the end of the step alone. H has all curvature: forces of equations times the second derivatives of c among it.
/// What is added to it for the merit, rho J'J, adds rho J'C z: nothing, where C = 0, and where it is not, nothing is added.
#ifndef CATENA_BETWEEN_ADJOINT_H
#define CATENA_BETWEEN_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "integrators/between_step.h"
#include "integrators/bond_terms.h"
#include "integrators/collocation.h"
#include "integrators/joint_factors.h"
#include "integrators/joint_matrix.h"
#include "integrators/length_terms.h"
#include "integrators/motor_map.h"
#include "integrators/pose_pullback.h"

/// Factors the matrix of the step at the solution in W, after residual(). Returns where it has an inverse.
KERNEL mask factor_between(const lane_model *m, solve *W)
{
    between_work *const B = &W->between;
    matrix_of_step(m, W, none_of());
    for (int k = 0; k < B->touches; k++)
        B->touch[k].stiffness = B->touch[k].normal.stiffness, B->touch[k].slides = B->touch[k].rub;
    B->fixeds = 0;  // H has what touches the ground as it is at the solution
    inner_matrix(m, W);
    return matrix_factor(m, &B->M, rset(1) / (m->mass * W->in.k2), false, not_(none_of()));
}

/// y [nv] of the above for the gradient b [nv] by x. What pivots of equations have besides makes equations yield by up to a
/// millionth: that is solved for once more.
KERNEL void solve_between(const lane_model *m, solve *W, const real *b_, real *y)
{
    between_work *const B = &W->between;
    real *const x = B->step, *const more = B->g;
    for (int c = 0; c < matrix_size(m); c++) x[c] = more[c] = rset(0);
    for (int i = 0; i < m->nbody; i++)
        for (int k = 0; k < m->bodies[i].nv; k++) x[body_start(m, i) + k] = b_[m->bodies[i].vadr + k];
    matrix_solve(m, &B->M, x);
    for (int k = 0; k < m->nbond; k++)
        for (int c = bond_start(m, k); c < bond_start(m, k) + m->bonds[k].rows; c++) more[c] = B->M.yields[c] * x[c];
    if (m->nrow) matrix_solve(m, &B->M, more);
    for (int i = 0; i < m->nbody; i++)
        for (int k = 0; k < m->bodies[i].nv; k++) y[m->bodies[i].vadr + k] = x[body_start(m, i) + k] + more[body_start(m, i) + k];
}

FN void add_load_at(pose_work *A, int i, vec3 arm, vec3 f)
{
    if (i >= 0) A->load[i] = wrench_add(A->load[i], force_at(arm, f));
}

/// How the force of a length rises with what it is braked for.
FN real brake_of_length(const lane_model *m, const solve *W, const model_bond *o)
{
    const real c = rset(o->damping) * W->in.drag;
    if (!o->motor) return c;
    const lane_motor a = tendon_motor(m, o);
    const length_way l = way_of_length(m, W, o);
    return fmadd(W->in.drag, add_brake(rset(0), &a, motor_at(&a, l.length, W->in.drag * l.braked)), c);
}

/// What dampers and motors of springs and tendons give for the virtual motion y [nv], with A->motion, by how long they were at the
/// start: added to q_bar [nv]. And the gradients by what these motors are told.
KERNEL void add_bond_rows(const lane_model *m, const solve *W, const real *y, pose_work *A, real *q_bar)
{
    for (int i = 0; i < m->nbody; i++) A->load[i] = wrench_zero();
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        if (o->rows || !(o->damping > 0 || o->motor)) continue;
        const real rate = length_rate(m, W, o, y, A->motion);
        const real c = brake_of_length(m, W, o);
        if (o->motor) {
            const lane_motor a = tendon_motor(m, o);
            const length_way l = way_of_length(m, W, o);
            plain_target_pullback(m, &a, l.length, W->in.drag * l.braked, rate);
        }
        for (int j = o->joint; j < o->joint + o->joints; j++) {
            real *const to = &q_bar[m->bodies[m->bond_joints[j].body].vadr];
            *to = fmadd(rset(m->bond_joints[j].share) * c, rate, *to);
        }
        for (EACH_PIECE(i, m, o, true)) {
            const path_piece was = piece_of(m, W, i, true);
            const vec3 f = scale(was.pull, c * rate);
            add_load_at(A, was.a, was.ra, f), add_load_at(A, was.b, was.rb, opposite(f));
        }
    }
    add_joint_rows(m, W->start, A->load, q_bar);
}

#endif
