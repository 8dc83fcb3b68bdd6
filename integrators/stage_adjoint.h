/// The adjoint of a position-based step of several coupled stages: gradients by what it starts from, and by the joint forces,
/// from those by what it ends with. (docs/theory.md 5.5)
///
/// The stages x_l of the step have rows r(x; q, V, rate, tau) = 0, all of them together. With J = dr/dx, which the Newton sweep
/// factors,
///
///     x_bar = what q' = x_s, V' = sum d_sl (T_l - T_k)/h + dV_s V and the joint rates make,   J'y = x_bar,   every other bar -= (dr/d.)' y.
///
/// y is a virtual motion of every stage: y'r = sum_a <a_a M, [xi_a]T_a> + joint terms, and a_a = (sum_l h_al (T_l - T_k) - hV_a h
/// V)/h^2 makes the derivatives by T_k and V inner products with Q_a = [xi_a]T_a M / h^2. One factorisation, and two passes and a
/// solve for every gradient: O(N).
#ifndef CATENA_STAGE_ADJOINT_H
#define CATENA_STAGE_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "forces/joint_elements.h"
#include "integrators/collocation.h"
#include "integrators/frame_adjoint.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_contact_adjoint.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_solve.h"
#include "integrators/stage_sweep.h"
#include "integrators/stage_step.h"
#include "integrators/motor_map.h"
#include "integrators/pose_pullback.h"
#include "integrators/position_adjoint.h"

/// Gradients by what a body that spins is seen from: by its frames as the step begins, by turns of R_k, by D_k, what they see of V; by a
/// rate as they see it at the end of the step, and by turns there.
typedef struct {
    frame_bar begun;
    vec3 start, end;
    mat3 D, rate;
} stage_seen;

/// Scratch of one lane block.
typedef struct {
    stage_work P;   // the step, its solution and the factors of J there
    placement *at;  // [stages][nbody]
    pose_work Q;
    rate_pose *M;  // [bodies with mass]
    real *b, *y;   // [stages][nv]
    stage_touches touch;
    frame_bar *frame;  // [nbody][stages] in models with frames
    stage_seen *seen;  // [nbody] likewise
} stage_adjoint;

/// Gradients by what a step starts from: configuration, rates of joints and of poses, joint forces, bristles of contact points.
typedef struct {
    real *q, *rate;  // [nv]
    rate_pose *V;    // [bodies with mass]
    real *tau;       // [nv]
    vec3 *slip;      // [ncontact]
} stage_bar;

/// Factors J at the solution in P.
KERNEL void stage_prepare(const lane_model *m, stage_adjoint *A)
{
    stages *W = &A->P.W;
    const int s = W->table->stages;
    real square;
    look_at_stages(m, W, &square);
    if (W->bonds.row) fill_stage_border(m, W);
    stage_factor(m, W, &A->P.sweep);
    for (int i = 0; i < m->nbody; i++)
        for (int a = 0; a < s; a++) A->at[a * m->nbody + i] = W->body[i * s + a].T;
}

/// Gradients of g.w for the rate w = 2 Im(z_a* Y), Y = v V + sum_l d_l (z_l - 1), of a ball: by turns of the start, by the rate
/// that is carried, and added to by_x [stages][nv] (NULL: not wanted) by turns of the stages.
FN void ball_rate_pullback(const lane_model *m, const stage_table *t, const ball_stages *B, int a, const double *d, real scale_d,
                           real v, vec3 g, vec3 *by_q, vec3 *by_rate, real *by_x)
{
    const quat pure = quat_pure(g, rset(1)), zg = quat_mul(B->z[a], pure);  // z_a (0, g)
    const quat Y = ball_sum(t, B, v, d, scale_d);
    quat start;
    start.w = v * B->V.w, start.x = v * B->V.x, start.y = v * B->V.y, start.z = v * B->V.z;
    for (int l = 0; l < t->stages; l++) {
        const real dl = rset(d[l]) * scale_d;
        start.w = start.w - dl;
        if (by_x) add3(by_x + l * m->nv, scale(quat_imaginary(quat_mul(quat_conjugate(B->z[l]), zg)), dl));
    }
    *by_q = quat_imaginary(quat_mul(zg, quat_conjugate(start)));  // turning the start turns what the z_l are seen from
    *by_rate = scale(add_scaled(quat_imaginary(zg), B->slope, zg.w), v);
    if (!by_x) return;
    const vec3 own = quat_imaginary(quat_mul(pure, quat_mul(quat_conjugate(Y), B->z[a])));  // (0, g) (z_a* Y)*
    add3(by_x + a * m->nv, vec(negate(own.x), negate(own.y), negate(own.z)));
}

/// Adds to the gradients by the stages, A->b, and by q what those by the rates sum_l weight_l (T_l - T_k)/h of poses, and of
/// joints that are not balls, make.
KERNEL void weighted_pullback(const lane_model *m, stage_adjoint *A, const double *weight, const real *rate, const rate_pose *V,
                              real *q_bar)
{
    const stages *W = &A->P.W;
    const int s = W->table->stages;
    double sum = 0;
    for (int l = 0; l < s; l++) sum += weight[l];
    for (int l = -1; l < s; l++) {  // -1: the start
        const double at = l < 0 ? -sum : weight[l];
        const real d = rset(at) * W->in.inv_h;
        real *b_ = l < 0 ? q_bar : A->b + l * m->nv;
        if (at == 0) continue;
        add_pose_rows(m, l < 0 ? W->start : A->at + l * m->nbody, V, d, &A->Q, b_);
        for (int i = 0; i < m->nbody; i++) {
            const lane_body *b = &m->bodies[i];
            for (int k = b->vadr; k < b->vadr + b->nv && b->kind != JOINT_BALL; k++) b_[k] = fmadd(d, rate[k], b_[k]);
        }
    }
}

/// Adds what the gradient `by` of an integral term at stage a makes beyond that by the term: by targets, of a servo of velocity
/// by q.
FN void stage_wound_pullback(const lane_model *m, const lane_body *b, const stages *W, int a, const lane_motor *motor, real by,
                             const stage_bar *bar)
{
    double sum = 0;
    for (int l = 0; l < W->table->stages; l++) sum += W->table->a[a][l];
    add_by_target(m, motor, by * motor->ki * W->in.h * rset(sum));
    if (motor->type != MOTOR_POSITION) bar->q[b->vadr] = fmadd(by * motor->ki, motor->gear, bar->q[b->vadr]);
}

/// Of integral terms after a step, wind_stages(): gradients by the stages, added to A->b, and by what the step starts from. bar
/// [nwound]
KERNEL void end_stages_wound_pullback(const lane_model *m, stage_adjoint *A, const real *wound, const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const stage_input *in = &W->in;
    const int last = t->stages - 1;
    for (int i = 0; i < m->nbody && m->nwound; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || m->motors[b->motor].wound < 0) continue;
        const real to = wound_at_stage(m, b, t, in, last), w = stage_rate(m, t, in, last, b->vadr);
        const lane_motor a = motor_now(m, b);
        const int j = b->vadr;
        real *const end = A->b + last * m->nv + j;
        const wound_bar B = wound_after_pullback(&a, in->x[last * m->nq + b->qadr], w, in->wound[a.wound], to, wound[a.wound]);
        add_by_wound(m, &a, B.from + B.to), add_by_target(m, &a, B.y * target_gain(&a));
        stage_wound_pullback(m, b, W, last, &a, B.to, bar);
        *end = *end + B.x;
        if (a.type != MOTOR_POSITION) *end = fnmadd(B.to * a.ki, a.gear, *end);
        bar->rate[j] = fmadd(rset(t->dV[last]), B.w, bar->rate[j]);
        for (int l = 0; l < t->stages; l++) {
            real *const at = A->b + l * m->nv + j;
            const real d = rset(t->d[last][l]) * in->inv_h * B.w;
            *at = *at + d, bar->q[j] = bar->q[j] - d;
            if (a.type == MOTOR_POSITION) *at = fnmadd(B.to * a.ki * in->h * rset(t->a[last][l]), a.gear, *at);
        }
    }
}

/// What the terms of stage a of a joint without ball give for y: gradients of -y'r. (stage_terms.h)
FN void stage_terms1_pullback(const lane_model *m, const lane_body *b, const stages *W, int a, const real *y,
                              const stage_bar *bar)
{
    const stage_table *t = W->table;
    double d = 0, h = 0;
    for (int l = 0; l < t->stages; l++) d += t->d[a][l], h += t->h[a][l];
    sym3 drag = joint_drag(b, W->in.q);
    if (b->flags & BODY_MOTOR) {  // by the rate
        const lane_motor motor = motor_at_stage(m, b, t, &W->in, a);
        const real w = stage_rate(m, t, &W->in, a, b->vadr);
        drag.xx = add_brake(drag.xx, &motor, motor_at(&motor, W->in.x[a * m->nq + b->qadr], w));
        const real by = plain_target_pullback(m, &motor, W->in.x[a * m->nq + b->qadr], w, y[0]);
        if (motor.wound >= 0) stage_wound_pullback(m, b, W, a, &motor, by, bar);
    }
    if (b->flags & BODY_FRICTION)
        bar->q[b->vadr] = bar->q[b->vadr] - friction_pullback(m, b, bent_by(b, W->in.z, W->in.u + a * m->nv), y[0]);
    const real c[3] = {drag.xx, drag.yy, drag.zz}, J = given(b)->armature * W->in.inv_h;
    for (int k = 0; k < b->nv; k++) {
        const int v = b->vadr + k;
        bar->q[v] = fmadd(fmadd(rset(d), c[k], rset(h) * J) * W->in.inv_h, y[k], bar->q[v]);
        bar->rate[v] = fmadd(fmadd(rset(t->hV[a]), J, negate(rset(t->dV[a]) * c[k])), y[k], bar->rate[v]);
        bar->tau[v] = bar->tau[v] + y[k];
    }
}

/// The same of a ball: its torque C w + J z less the force, w = 2 Im(z_a* z_a') with the table's rate, z with its acceleration.
FN void stage_ball_pullback(const lane_model *m, const lane_body *b, const stages *W, const ball_stages *B, int a, const real *y_,
                            const stage_bar *bar)
{
    const stage_table *t = W->table;
    const int j = b->vadr;
    const vec3 y = vec(y_[0], y_[1], y_[2]);
    const vec3 w = scale(quat_imaginary(ball_rate(t, B, a, W->in.inv_h)), rset(2));
    vec3 Cy = smul(joint_drag(b, W->in.q), y);
    if (b->flags & BODY_MOTOR) {
        const lane_motor motor = motor_at_stage(m, b, t, &W->in, a);
        const bounded_torque T = ball_motor_at(&motor, quat_load(W->in.x + a * m->nq + b->qadr), w);
        Cy = add_scaled(Cy, smul(T.slope, y), motor.kd);
        ball_target_pullback(m, &motor, quat_load(W->in.x + a * m->nq + b->qadr), w, y);
    }
    vec3 by_q[2], by_rate[2];
    ball_rate_pullback(m, t, B, a, t->d[a], W->in.inv_h, rset(t->dV[a]), Cy, &by_q[0], &by_rate[0], NULL);
    ball_rate_pullback(m, t, B, a, t->h[a], rset(1), rset(-t->hV[a]) * W->in.h, scale(y, given(b)->armature * W->in.k2), &by_q[1],
                       &by_rate[1], NULL);
    const vec3 r = add(by_rate[0], by_rate[1]);
    vec3 q = add(by_q[0], by_q[1]);
    if (b->flags & BODY_SPRING) q = add(q, drag_pullback(cone_at(b, W->in.q), w, y));
    add3(bar->q + j, scale(q, rset(-1)));
    add3(bar->rate + j, scale(r, rset(-1)));
    add3(bar->tau + j, y);
}

/// Adds the gradients by targets of thrusters that the virtual motion of stage a, A->Q.motion, makes.
KERNEL void stage_thrust_pullback(const lane_model *m, const stage_adjoint *A, const placement *T, int a)
{
    const stages *W = &A->P.W;
    if (!m->by_target) return;
    clock_now(m, W->in.h, W->table->c[a]);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!s->motor) continue;
        const twist y = A->Q.motion[s->body];
        const mat3 R = T[s->body].R;
        thrust_target_pullback(m, s, push_force(m, s, R), push_torque(m, s, R), moved_point(y, mul(R, load3(s->point))), y.w);
    }
}

// ---- what spins

KERNEL void clear_stage_frames(const lane_model *m, stage_adjoint *A)
{
    const int s = A->P.W.table->stages;
    for (int i = 0; i < m->nbody && A->P.W.frame; i++) {
        for (int a = 0; a < s; a++) A->frame[i * s + a] = no_frame_bar();
        A->seen[i].begun = no_frame_bar(), A->seen[i].start = A->seen[i].end = zero3(),
        A->seen[i].D = A->seen[i].rate = no_columns();
    }
}

/// Of c weight (Q - R_k) with the gradient X by it: by the frame of body i at stage l, and by turns of R_k. Returns that by turns at the stage.
FN vec3 way_of_axes_pullback(const lane_body *b, stage_adjoint *A, int i, int l, real weight, mat3 X)
{
    const stages *W = &A->P.W;
    const int at = i * W->table->stages + l;
    const mat3 R = W->body[at].T.R, by = mat3_scale(X, weight);
    A->seen[i].start = sub(A->seen[i].start, sum_of_crosses(W->start[i].R, by));
    return sum_of_crosses(R, turned_back_pullback(b, &W->frame[at], R, by, &A->frame[at]));
}

/// Of velocities at the end of a step, gradients V by which become those by what frames do not see of them: adds to A->b.
KERNEL void end_frames_pullback(const lane_model *m, stage_adjoint *A, rate_pose *V)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const int s = t->stages, last = s - 1;
    if (!W->frame) return;
    for (int i = 0, k = -1; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const turned_frame *f = &W->frame[i * s + last];
        k += (b->flags & BODY_MASS) != 0;
        if (!has_frame(b, W)) continue;
        const mat3 R = W->body[i * s + last].T.R, X = columns_seen(b, &V[k]);
        const mat3 turned = mat3_add_scaled(end_rate(b, &A->P, i).R, frame_rate(b, f, R), rset(-1));
        A->seen[i].end = sum_of_crosses(R, frame_rate_pullback(b, f, R, X, &A->frame[i * s + last]));
        A->seen[i].rate = turned_on_pullback(b, f, turned, X, &A->frame[i * s + last]);
        V[k].R = moved_with(b, &V[k]);
    }
    for (int l = 0; l < s; l++) {
        for (int i = 0; i < m->nbody; i++) {
            const lane_body *b = &m->bodies[i];
            A->Q.load[i] = wrench_zero();
            if (!has_frame(b, W)) continue;
            A->Q.load[i].n = way_of_axes_pullback(b, A, i, l, rset(t->d[last][l]) * W->in.inv_h, A->seen[i].rate);
            if (l == last) A->Q.load[i].n = add(A->Q.load[i].n, A->seen[i].end);
        }
        add_joint_rows(m, A->at + l * m->nbody, A->Q.load, A->b + l * m->nv);
    }
}

/// Of stage a of body i, with the virtual turn w: what is seen from its frames is taken off its momentum M, and goes on through these.
FN void stage_seen_pullback(const lane_model *m, const lane_body *b, stage_adjoint *A, int i, int a, vec3 w, rate_pose *M)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const int s = t->stages;
    const turned_frame *f = &W->frame[i * s + a];
    frame_bar *const g = &A->frame[i * s + a];
    const mat3 R = W->body[i * s + a].T.R, R_k = W->start[i].R, turned = skew_times(w, R);
    const mat3 S = sym_full(is_top(b) ? mass_of_top(b).S : load_sym(given(b)->S)), X = mmul(turned_back(b, f, turned), S);
    const real k2 = W->in.k2, hV = rset(t->hV[a]);
    turned_frame begun;
    frame_of(b, R_k, W->V[i].R, rset(0), &begun);
    mat3 rate = mat3_scale(mat3_add_scaled(W->V[i].R, frame_rate(b, &begun, R_k), rset(-1)), negate(hV * W->in.h));
    for (int l = 0; l < s; l++) {
        rate = mat3_add(rate, mat3_scaled_difference(*axes_seen(b, W, s, i, l), R_k, rset(t->h[a][l])));
        way_of_axes_pullback(b, A, i, l, rset(-t->h[a][l]) * k2, X);
    }
    M->R = mat3_add_scaled(M->R, mmul(turned, S), rset(-1));
    A->seen[i].D = mat3_add_scaled(A->seen[i].D, X, hV * W->in.inv_h);
    turned_back_pullback(b, f, turned, mat3_scale(mmul(rate, S), negate(k2)), g);
    if (b->flags & (BODY_ROUND | BODY_TOP)) {
        const mat3 D = axes_rate(b, W, s, i, a), by = turned_on_pullback(b, f, D, frame_couple_pullback(b, f, R, D, w, g), g);
        for (int l = 0; l < s; l++) way_of_axes_pullback(b, A, i, l, rset(t->d[a][l]) * W->in.inv_h, by);
    } else if (m->skew && tilts(b)) {
        const vec3 axis = own_axis(b), z = mul(R, axis), r = axis_rate(b, W, s, i, a), across = sub_scaled(w, z, dot(w, z));
        g->r = sub(g->r, scale(axis, axial_momentum(b, axis) * dot(across, r)));
        double sum = 0;
        for (int l = 0; l < s; l++) sum += t->d[a][l];
        const vec3 by = scale(across, axial_momentum(b, f->r) * rset(sum) * W->in.inv_h);
        A->seen[i].start = cross_add(A->seen[i].start, mul(R_k, axis), by);
    }
}

/// Afterwards: gradients by frames go on to what they are made of.
KERNEL void start_frames_pullback(const lane_model *m, stage_adjoint *A, const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const int s = W->table->stages;
    if (!W->frame) return;
    for (int i = 0, k = -1; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        stage_seen *const g = &A->seen[i];
        const mat3 R = W->start[i].R, V = W->V[i].R;
        A->Q.load[i] = wrench_zero();
        k += (b->flags & BODY_MASS) != 0;
        if (!has_frame(b, W)) continue;
        turned_frame begun;
        frame_of(b, R, V, rset(0), &begun);
        vec3 n = add(g->start, sum_of_crosses(R, frame_rate_pullback(b, &begun, R, mat3_scale(g->D, rset(-1)), &g->begun)));
        mat3 by_V = mat3_add(g->D, frame_pullback(b, R, V, rset(0), &g->begun, &n));
        for (int a = 0; a < s; a++)
            by_V = mat3_add(by_V, frame_pullback(b, R, V, rset(W->table->c[a]) * W->in.h, &A->frame[i * s + a], &n));
        bar->V[k].R = mat3_add(bar->V[k].R, by_V), A->Q.load[i].n = n;
    }
    add_joint_rows(m, W->start, A->Q.load, bar->q);
}

/// From the gradients by the stages, A->b, those by what the step starts from, added to `bar`.
KERNEL void rows_pullback(const lane_model *m, stage_adjoint *A, const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const int s = t->stages;
    if (W->bonds.row) stage_bond_solve_transposed(m, W, &A->P.sweep, A->b, A->y);
    else stage_solve_transposed(m, W, &A->P.sweep, A->b, A->y);
    for (int a = 0; a < s; a++) {
        const placement *T = A->at + a * m->nbody;
        double h = 0, d = 0;
        for (int l = 0; l < s; l++) h += t->h[a][l], d += t->d[a][l];
        joint_twists(m, T, A->y + a * m->nv, A->Q.motion);
        for (int i = 0; i < m->nbody && m->ncontact; i++) A->touch.moves[a * m->nbody + i] = A->Q.motion[i];
        for (int i = 0, k = 0; i < m->nbody; i++) {
            const lane_body *b = &m->bodies[i];
            if (!(b->flags & BODY_MASS)) continue;
            A->M[k] = times_mass(b, moved_by(A->Q.motion[i], T[i].R));
            if (has_frame(b, W)) stage_seen_pullback(m, b, A, i, a, A->Q.motion[i].w, &A->M[k]);
            bar->V[k] = columns_add_scaled(bar->V[k], A->M[k], rset(t->hV[a]) * W->in.inv_h);
            k++;
        }
        stage_thrust_pullback(m, A, T, a);
        add_pose_rows(m, W->start, A->M, rset(h) * W->in.k2, &A->Q, bar->q);
        for (int k = 0; k < m->nload; k++) W->held[k].drag = W->point[k * s + a].drag;
        if (m->nload) add_drag_rows(m, T, W->start, W->held, rset(d) * W->in.inv_h, true, &A->Q, bar->q);
    }
    if (m->ncontact) stage_contact_rows(m, W, &A->touch, bar->q, bar->slip);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real *y = A->y + b->vadr;
        if (b->kind == JOINT_BALL) {
            const ball_stages B = ball_at_stages(m, b, t, &W->in);
            for (int a = 0; a < s; a++) stage_ball_pullback(m, b, W, &B, a, y + a * m->nv, bar);
        } else
            for (int a = 0; a < s; a++) stage_terms1_pullback(m, b, W, a, y + a * m->nv, bar);
    }
    start_frames_pullback(m, A, bar);
}

/// The gradient by the stages, A->b, where it begins.
KERNEL void stage_begin_pullback(const lane_model *m, stage_adjoint *A, const state_bar *after)
{
    const int last = A->P.W.table->stages - 1;
    for (int k = 0; k < last * m->nv; k++) A->b[k] = rset(0);
    for (int k = 0; k < m->nv; k++) A->b[last * m->nv + k] = after->q[k];
    clear_stage_frames(m, A);
}

/// Of how far joints with friction are bent after the step, z_bar [nv]: gradients by the last stage, added to A->b, and by q.
KERNEL void end_stage_bent_pullback(const lane_model *m, stage_adjoint *A, const real *z_bar, real *q_bar)
{
    const stages *W = &A->P.W;
    const int last = (W->table->stages - 1) * m->nv;
    for (int i = 0; i < m->nbody && m->rubs; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        if (!(b->flags & BODY_FRICTION)) continue;
        const real by = bent_pullback(m, b, bent_by(b, W->in.z, W->in.u + last), z_bar[j]);
        A->b[last + j] = A->b[last + j] + by, q_bar[j] = q_bar[j] - by;
    }
}

/// Of what rates change by at the end of the step, with the gradient bar [nv]; gain [nv]: what has become of that, 0 where the state
/// has none. Adds to the gradients by the stages, A->b, and by what the step starts from.
KERNEL void stage_gain_pullback(const lane_model *m, stage_adjoint *A, const real *gain, const real *gain_bar,
                                const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const int last = t->stages - 1;
    const real inv_h = W->in.inv_h;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        real by[3];
        for (int k = 0; k < b->nv; k++) by[k] = sel(lt(rset(0), magnitude(gain[j + k])), inv_h * gain_bar[j + k], rset(0));
        if (b->kind == JOINT_BALL) {
            const ball_stages B = ball_at_stages(m, b, t, &W->in);
            vec3 by_q, by_rate;
            ball_rate_pullback(m, t, &B, last, t->h[last], rset(1), rset(-t->hV[last]) * W->in.h, load3(by), &by_q, &by_rate,
                               A->b + j);
            add3(bar->q + j, by_q), add3(bar->rate + j, by_rate);
            continue;
        }
        for (int k = 0; k < b->nv; k++) {
            bar->rate[j + k] = fmadd(rset(-t->hV[last]) * W->in.h, by[k], bar->rate[j + k]);
            for (int l = 0; l < t->stages; l++) {
                const real d = rset(t->h[last][l]) * by[k];
                real *const at = &A->b[l * m->nv + j + k];
                *at = *at + d, bar->q[j + k] = bar->q[j + k] - d;
            }
        }
    }
}

/// After stage_prepare() and stage_begin_pullback(): added to `bar`, the gradients by what the step starts from, from those by the
/// state after it.
KERNEL void stage_pullback(const lane_model *m, stage_adjoint *A, const state_bar *after, const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const stage_table *t = W->table;
    const int s = t->stages, last = s - 1;
    real *const end = A->b + last * m->nv;
    for (int k = 0; k < masses_of(m); k++) A->M[k] = after->V[k];
    end_frames_pullback(m, A, A->M);
    weighted_pullback(m, A, t->d[last], after->v, A->M, bar->q);
    double secant[MOST_STAGES] = {0};
    if (t->old > 0) {
        secant[last] = 1 / t->old, secant[last - 1] = -1 / t->old;
        weighted_pullback(m, A, secant, after->old_rate, after->old, bar->q);
    }
    end_stages_wound_pullback(m, A, after->wound, bar);
    if (m->ncontact) stage_memory_pullback(m, W, &A->touch, A->at, after->slip, after->press, A->b, bar->q, bar->slip);
    end_stage_bent_pullback(m, A, after->z, bar->q);
    const real dV = rset(t->dV[last]);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int j = b->vadr;
        if (b->flags & BODY_MASS) bar->V[k] = columns_add_scaled(bar->V[k], after->V[k], dV), k++;
        if (b->kind == JOINT_BALL) {
            const ball_stages B = ball_at_stages(m, b, t, &W->in);
            const vec3 g = vec(after->v[j], after->v[j + 1], after->v[j + 2]);
            vec3 by_q, by_rate;
            quat p;
            ball_rate_pullback(m, t, &B, last, t->d[last], W->in.inv_h, dV, g, &by_q, &by_rate, A->b + j);
            add3(bar->q + j, by_q), add3(bar->rate + j, by_rate);
            if (!(t->old > 0)) continue;
            const vec3 l =
                scale(vec(after->old_rate[j], after->old_rate[j + 1], after->old_rate[j + 2]), rset(1 / t->old) * W->in.inv_h);
            ball_chord(B.z[last - 1], B.z[last], &p);
            ball_chord_pullback(p, l, end + j, end - m->nv + j);
        } else
            for (int e = j; e < j + b->nv; e++) bar->rate[e] = fmadd(dV, after->v[e], bar->rate[e]);
    }
    rows_pullback(m, A, bar);
}

/// The same for the step back in time that gives collocation its old point: from gradients by the rates since that point.
KERNEL void old_pullback(const lane_model *m, stage_adjoint *A, const real *old_rate, const rate_pose *old, const stage_bar *bar)
{
    const stages *W = &A->P.W;
    const int s = W->table->stages, last = s - 1;
    double chord[MOST_STAGES] = {0};
    chord[last] = 1;
    for (int k = 0; k < s * m->nv; k++) A->b[k] = rset(0);
    clear_stage_frames(m, A);
    weighted_pullback(m, A, chord, old_rate, old, bar->q);
    for (int i = 0; i < m->nbody; i++) {
        const int j = m->bodies[i].vadr;
        if (m->bodies[i].kind != JOINT_BALL) continue;
        const vec3 l = scale(vec(old_rate[j], old_rate[j + 1], old_rate[j + 2]), W->in.inv_h);
        const int at = m->bodies[i].qadr;
        quat p;
        ball_chord(quat_load(W->in.q + at), quat_load(W->in.x + last * m->nq + at), &p);
        ball_chord_pullback(p, l, A->b + last * m->nv + j, bar->q + j);
    }
    rows_pullback(m, A, bar);
}

#endif
