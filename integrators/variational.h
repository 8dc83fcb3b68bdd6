/// The discrete Euler-Lagrange equations of the variational method, as a residual in O(N). (docs/theory.md 6)
///
/// With T = [R p] the pose of a body, M its pseudo-inertia (second moment S, first moment c, mass m; body axes), h the step and
/// dT = T(q1) - T(q0), the discrete Lagrangian
///
///     L(q0, q1) = sum_bodies tr(dT M dT') / (2h) + rotors - h/2 (U(q0) + U(q1))
///
/// gives the joint momenta p0 = -D1 L - F0, p1 = D2 L + F1. With y = dp/h -+ (h/2) g, the sign - at q0 and + at q1, a body adds
/// the wrench
///
///     n = axial(dR S R0') / h + c x y,    f = (dR c + m dp) / h -+ (h/2) m g         (c in world axes, at q0 or q1)
///
/// about its origin at q0 or q1; axial(dR S R1') is axial(dR S R0'), as dR S dR' is symmetric. Rows of joints, a the chord of the
/// joint's own motion (q1 - q0; balls: twice the vector part of the turn's quaternion), b damping, J armature, F springs, limits,
/// applied:
///
///     p0 = S(q0)'sum + J a/h + theta b a - (h/2) F(q0),      p1 = S(q1)'sum + J a/h - (1 - theta) b a + (h/2) F(q1)
///
/// dT grows from the increments of the joints along the tree, never as a difference of poses: small steps and far worlds lose
/// nothing.
#ifndef CATENA_VARIATIONAL_H
#define CATENA_VARIATIONAL_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/trig.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "forces/joint_elements.h"
#include "integrators/force_unit.h"
#include "integrators/collocation.h"
#include "integrators/momentum.h"

/// A body at the start of the step.
typedef struct {
    mat3 R, Zt;   // axes; (R S)'
    sym3 I;       // R S R'
    vec3 r, c;    // origin from the parent's; first moment
    real sn, cs;  // of the angle, joints about z
    sym3 drag;    // joint_drag() at q0: a limit's damper acts in steps that start beyond the limit
    real unit;    // 1 over m L / h (m L^2 / h for turns), mass m and extent L of what hangs on its joint
} chord_start;

/// A body at the present iterate, and where that is seen from the start.
typedef struct {
    mat3 dR, R;  // R1 - R0, R1
    mat3 K;      // dR S R0'
    vec3 dp, r;  // of the origin; r at q1
    wrench w;    // at the start, of the body alone
} chord_body;

/// Everything one solve of a lane block works on. Arrays [nbody] unless noted.
typedef struct {
    chord_start *start;
    chord_body *body;
    wrench *sum;
    real *reach;    // (force_unit.h)
    const real *q;  // [nq] at the start
    real *step;     // [nq] the iterate: increments; balls: the quaternion that turns q into q1
    real *target;   // [nv] p0 + (h/2) F(q0)
    real *r;        // [nv] residual, N m s or N s
    real h, inv_h;  // s, 1/s; h may be negative
    real theta;     // share of the dampers' impulse that acts at the start, 1/2 .. 1
    real scale;     // the largest momentum in those units: how far things move in a step
    real merit;     // sum of the squares of the scaled rows
    mask too_far;   // a ball turns by nearly half a turn or more
} chord;

/// The momenta that the rows aim at. force [nv]: joint forces at q, applied ones included.
FN void aim_chord(const lane_model *m, chord *W, const real *p, const real *force)
{
    const real half = rset(0.5) * W->h;
    for (int k = 0; k < m->nv; k++) W->target[k] = fmadd(half, force[k], p[k]);
}

/// One body of start_chord(), given the parent's axes. Returns the largest momentum of its joint in its units.
FN real start_chord_body(const lane_model *m, const lane_body *b, joint_form f, chord *W, int i, mat3 parent)
{
    const real h = magnitude(W->h);
    chord_start *s = &W->start[i];
    const mat3 P = joint_frame(b, f, parent);
    s->R = P;
    if (about_z(f.kind)) {
        joint_sincos(b, W->q[b->qadr], &s->sn, &s->cs);
        s->R = turn_about_z(P, s->sn, s->cs);
    } else if (f.kind == JOINT_BALL) s->R = mmul(P, quat_rotation(quat_load(W->q + b->qadr)));
    s->r = body_offset(b, f, parent, s->R.z, W->q);
    const row_scale of = row_scale_at(m, b, W->reach[i]);
    s->unit = over_scale(h, of.inertia);
    real scale = h * of.weight * s->unit;
    for (int k = b->vadr; k < b->vadr + b->nv; k++) scale = larger(scale, magnitude(W->target[k]) * s->unit);
    if (b->flags & BODY_PASSIVE) s->drag = joint_drag(b, W->q);
    if (!(f.flags & BODY_MASS)) return scale;
    const sym3 S = load_sym(given(b)->S);
    const mat3 Rt = transposed(s->R);
    s->c = mul(s->R, load3(given(b)->h));
    s->I = turn(s->R, S);
    s->Zt.x = smul(S, Rt.x), s->Zt.y = smul(S, Rt.y), s->Zt.z = smul(S, Rt.z);
    return scale;
}

/// What stays through a step from q: placements, scales, dampers. force: as of aim_chord().
KERNEL void start_chord(const lane_model *m, chord *W, const real *p, const real *force)
{
    real scale = rset(0);
    aim_chord(m, W, p, force);
    find_reach(m, W->q, W->reach);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const joint_form f = form_of(b);
        scale = larger(scale, start_chord_body(m, b, f, W, i, W->start[f.flags & BODY_ROOT ? i : b->parent].R));
    }
    W->scale = sel(gt(scale, rset(0)), scale, rset(1));
}

/// Adds Y (Q - 1) to A, Q the rotation of the quaternion e: 2 Y (w [v] + [v]^2) / |e|^2.
FN mat3 add_turned(mat3 A, mat3 Y, quat e)
{
    const real s = rset(2) / quat_square(e);
    const vec3 v = vec(e.x, e.y, e.z), t = scale(v, s);
    const mat3 Yt = transposed(Y);  // rows y of Y: y (w [v] + [v]^2) = w y x v + (y x v) x v
    const vec3 a = cross(Yt.x, v), b = cross(Yt.y, v), c = cross(Yt.z, v);
    mat3 D;
    D.x = cross_add(scale(a, e.w * s), a, t), D.y = cross_add(scale(b, e.w * s), b, t), D.z = cross_add(scale(c, e.w * s), c, t);
    return mat3_add(A, transposed(D));
}

/// Where a body is at the iterate.
FN void place_chord_body(const lane_body *b, joint_form f, chord *W, int i)
{
    const chord_start *s = &W->start[i];
    chord_body *t = &W->body[i];
    const bool root_body = f.flags & BODY_ROOT;
    const chord_body *up = &W->body[root_body ? i : f.flags & BODY_NEXT ? i - 1 : b->parent];
    const real *step = W->step + b->qadr;
    mat3 dP;
    dP.x = dP.y = dP.z = zero3();
    if (!root_body) dP = joint_frame(b, f, up->dR);
    t->dR = dP;
    if (about_z(f.kind)) {
        // by angle q0, then by u: X (Rz(u) - 1) added to X, from half the angle, so that small turns keep their digits
        real sn, cs;
        const mat3 X = root_body ? dP : turn_about_z(dP, s->sn, s->cs), Y = mat3_add(s->R, X);
        sincosr(rset(0.5) * step[0], &sn, &cs);
        const real su = rset(2) * sn * cs, cu = rset(-2) * sn * sn;
        t->dR.x = add_scaled(add_scaled(X.x, Y.x, cu), Y.y, su);
        t->dR.y = sub_scaled(add_scaled(X.y, Y.y, cu), Y.x, su);
    } else if (f.kind == JOINT_BALL) {
        const quat e = quat_load(step);
        const mat3 X = root_body ? dP : mmul(dP, quat_rotation(quat_load(W->q + b->qadr)));
        t->dR = add_turned(X, mat3_add(s->R, X), e);
        W->too_far = either(W->too_far, lt(e.w, rset(0.02)));  // 3.1 rad
    }
    t->R = mat3_add(s->R, t->dR);

    vec3 dr = zero3();
    if (!root_body && (f.flags & BODY_OFFSET)) dr = mul(up->dR, lengths3(given(b)->r0));
    if (f.kind == JOINT_PRISMATIC) dr = add_scaled(add_scaled(dr, t->dR.z, W->q[b->qadr]), t->R.z, step[0]);
    if (f.kind == JOINT_HELICAL) {
        const real pitch = len(given(b)->pitch);
        dr = add_scaled(add_scaled(dr, t->dR.z, pitch * W->q[b->qadr]), t->R.z, pitch * step[0]);
    }
    if (f.kind == JOINT_TRANSLATION) dr = vec(step[0], step[1], step[2]);
    t->r = add(s->r, dr);
    t->dp = root_body ? dr : add(up->dp, dr);
}

/// Its wrench there.
FN void weigh_chord_body(const lane_model *m, const lane_body *b, joint_form f, chord *W, int i)
{
    const chord_start *s = &W->start[i];
    chord_body *t = &W->body[i];
    t->w = wrench_zero();
    if (!(f.flags & BODY_MASS)) return;
    const real mass = given(b)->mass, k = W->inv_h;
    const vec3 y = sub_scaled(scale(t->dp, k), load3(m->gravity), rset(0.5) * W->h);
    t->K.x = mul(t->dR, s->Zt.x), t->K.y = mul(t->dR, s->Zt.y), t->K.z = mul(t->dR, s->Zt.z);
    t->w.n = cross_add(scale(vec(t->K.y.z - t->K.z.y, t->K.z.x - t->K.x.z, t->K.x.y - t->K.y.x), k), s->c, y);
    t->w.f = add_scaled(scale(mul(t->dR, load3(given(b)->h)), k), y, mass);
}

/// The chord of a joint's own motion: of one degree of freedom in x; balls: body axes, the same at q0 and q1.
FN vec3 joint_chord(const lane_body *b, const chord *W)
{
    const real *step = W->step + b->qadr;
    if (b->kind == JOINT_BALL) return scale(vec(step[1], step[2], step[3]), rset(2));
    if (b->kind == JOINT_TRANSLATION) return vec(step[0], step[1], step[2]);
    return vec(step[0], rset(0), rset(0));
}

/// Momentum of the rotor and `share` of the damper's impulse.
FN vec3 joint_impulse(const lane_body *b, const chord *W, int i, real share)
{
    const vec3 a = joint_chord(b, W);
    const vec3 rotor = scale(a, given(b)->armature * W->inv_h);
    return b->flags & BODY_PASSIVE ? add_scaled(rotor, smul(W->start[i].drag, a), share) : rotor;
}

/// One body of residual: hands the wrench on to its parent. Returns its largest scaled row.
FN real chord_residual_body(const lane_body *b, joint_form f, chord *W, int i, wrench *next)
{
    const chord_start *s = &W->start[i];
    const wrench w = gather_wrench(f, W->body[i].w, next, W->sum, i);
    vec3 row = f.kind == JOINT_BALL          ? tmul(s->R, w.n)
               : f.kind == JOINT_TRANSLATION ? w.f
                                             : vec(joint_row(b, f.kind, s->R.z, w), rset(0), rset(0));
    if (has_terms(b, NULL)) row = add(row, joint_impulse(b, W, i, W->theta));
    const real rows[3] = {row.x, row.y, row.z};
    real most = rset(0);
    for (int k = 0; k < b->nv; k++) {
        const real r = W->r[b->vadr + k] = rows[k] - W->target[b->vadr + k], scaled = magnitude(r) * s->unit;
        W->merit = fmadd(scaled, scaled, W->merit);
        most = larger(most, scaled);
    }
    hand_wrench(b, f, w, &s->r, next, W->sum);
    return most;
}

/// Residual r = -D1 L - F0 - p0 at the iterate `step`, and its merit. Returns the largest row, each in units of its subtree's m L
/// / h (m L^2 / h for turns), over the largest momentum in these units; NaN if one is. Momenta are kept to this, whatever the
/// step size.
KERNEL real chord_residual(const lane_model *m, chord *W)
{
    real most = rset(0);
    wrench next = wrench_zero();
    W->merit = rset(0);
    W->too_far = none_of();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, place_chord_body(b, f, W, i); weigh_chord_body(m, b, f, W, i))
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, most = larger(most, chord_residual_body(b, f, W, i, &next)))
    }
    return most / W->scale;
}

/// The wrench of a body at q1.
FN wrench chord_end_wrench(const lane_model *m, const lane_body *b, const chord *W, int i)
{
    const real k = W->inv_h, half = rset(0.5) * W->h;
    const chord_body *t = &W->body[i];
    wrench w = wrench_zero();
    if (!(b->flags & BODY_MASS)) return w;
    const vec3 y = add_scaled(scale(t->dp, k), load3(m->gravity), half), dc = mul(t->dR, load3(given(b)->h));
    w.n = scale(vec(t->K.y.z - t->K.z.y, t->K.z.x - t->K.x.z, t->K.x.y - t->K.y.x), k);
    w.n = cross_add(w.n, add(W->start[i].c, dc), y);
    w.f = add_scaled(scale(dc, k), y, given(b)->mass);
    return w;
}

/// The momenta of a joint on which all that hangs has the wrench w. force, p: as of chord_momentum().
FN void chord_momentum_rows(const lane_body *b, const chord *W, int i, wrench w, const real *force, real *p)
{
    const real half = rset(0.5) * W->h;
    joint_rows(b, b->kind, W->body[i].R, w, p + b->vadr);
    if (has_terms(b, NULL)) {
        const vec3 a = joint_impulse(b, W, i, W->theta - rset(1));
        const real rows[3] = {a.x, a.y, a.z};
        for (int j = 0; j < b->nv; j++) p[b->vadr + j] = p[b->vadr + j] + rows[j];
    }
    for (int j = b->vadr; j < b->vadr + b->nv; j++) p[j] = fmadd(half, force[j], p[j]);
}

/// p1 = D2 L + F1 [nv] at the iterate, which solves the equations. force [nv]: joint forces at q1, applied ones included.
KERNEL void chord_momentum(const lane_model *m, const chord *W, wrench *sum, const real *force, real *p)
{
    for (int i = 0; i < m->nbody; i++) sum[i] = chord_end_wrench(m, &m->bodies[i], W, i);
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        chord_momentum_rows(b, W, i, sum[i], force, p);
        if (!(b->flags & BODY_ROOT)) sum[b->parent] = wrench_add(sum[b->parent], wrench_shift(sum[i], W->body[i].r));
    }
}

#endif
