/// Generalised-alpha: a step of second order that is solved as one of order 2 (position_step.h), with another weight of inertia
/// and another aim. [Arnold, Bruls 2007, "Convergence of the generalized-alpha scheme for constrained mechanical systems"]
/// (docs/theory.md 4.9)
///
/// Beside V the state carries, for every body, the accelerations A (which stand for the time t + (am - af) h) and B (the true
/// ones), and for every joint freedom r, a and b likewise. With rho from 0 (vibrations beyond the step die at once) to 1 (they
/// live on)
///
///     am = (2 rho - 1)/(rho + 1),  af = rho/(rho + 1),  gamma = 1/2 - am + af,  beta = (gamma + 1/2)^2/4
///     c = (1 - am)/((1 - af) beta h^2),  s = gamma/(beta h),  k = 1/((1 - af) c)
///     P = h V + h^2 (1/2 - beta) A,   aim = P - k (am A - af B),   drift = P - (V + h (1 - gamma) A)/s       as ways from T_k
///
/// a step minimises c/2 |T - T_k - aim|^2 + U, with c J/2 (u - aim)^2 of rotors and s b/2 (u - drift)^2 of dampers in U; from its
/// end T'
///
///     A' = (T' - T_k - P)/(beta h^2),  V' = V + h ((1 - gamma) A + gamma A'),  B' = ((1 - am) A' + am A - af B)/(1 - af).
///
/// Springs, gravity and forces act in full at the end of the step.
#ifndef CATENA_ALPHA_STEP_H
#define CATENA_ALPHA_STEP_H

#include "dynamics/aba.h"
#include "dynamics/derivatives.h"
#include "dynamics/lane_model.h"
#include "forces/ball_motors.h"
#include "forces/integral_terms.h"
#include "forces/joint_friction.h"
#include "integrators/collocation.h"
#include "integrators/length_terms.h"
#include "integrators/load_forces.h"
#include "integrators/position_step.h"
#include "integrators/state_energy.h"

/// The numbers of a step of size h.
typedef struct {
    real h, P, c, s, kA, kB;  // P = h^2 (1/2 - beta), kA = k am, kB = k af
    real end, old, fresh;     // 1/(beta h^2), h (1 - gamma), h gamma
    real b_new, b_A, b_B;     // B' = b_new A' + b_A A - b_B B
    real e_new, e_A, e_B;     // e = e_new A' + e_A A + e_B B (error_of_alpha())
} alpha_rule;

FN alpha_rule alpha_rule_of(double rho, real h)
{
    const double am = (2 * rho - 1) / (rho + 1), af = rho / (rho + 1), gamma = 0.5 - am + af;
    const double beta = (gamma + 0.5) * (gamma + 0.5) / 4;
    const real h2 = h * h;
    alpha_rule r;
    r.h = h, r.P = rset(0.5 - beta) * h2;
    r.c = rset((1 - am) / ((1 - af) * beta)) / h2, r.s = rset(gamma / beta) / h;
    r.kA = rset(am * beta / (1 - am)) * h2, r.kB = rset(af * beta / (1 - am)) * h2;
    r.end = rset(1 / beta) / h2, r.old = rset(1 - gamma) * h, r.fresh = rset(gamma) * h;
    r.b_new = rset((1 - am) / (1 - af)), r.b_A = rset(am / (1 - af)), r.b_B = rset(af / (1 - af));
    r.e_new = rset(beta - (1 - am) / (1 - af) / 6) * h2, r.e_A = rset(0.5 - beta - am / (1 - af) / 6) * h2;
    r.e_B = rset(af / (1 - af) / 6 - 1. / 3) * h2;
    return r;
}

/// The rates of drift and slack by those of the state, and by its accelerations.
typedef struct {
    real rate, a;
} alpha_slack;

FN alpha_slack slack_of(const alpha_rule *r)
{
    alpha_slack s;
    s.rate = r->h - rset(1) / r->s, s.a = fnmadd(r->old, rset(1) / r->s, r->P);
    return s;
}

FN rate_pose rate_sum(rate_pose a, rate_pose b, real s)  // a + s b
{
    a.R = mat3_add_scaled(a.R, b.R, s), a.p = add_scaled(a.p, b.p, s);
    return a;
}

FN rate_pose rate_scale(rate_pose a, real s)
{
    a.R.x = scale(a.R.x, s), a.R.y = scale(a.R.y, s), a.R.z = scale(a.R.z, s), a.p = scale(a.p, s);
    return a;
}

// ---- formulas for numbers [n] of any kind: the twelve of a body's rates, [R p] by columns, and those of joints. What is written
// is an array of its own (restrict), so that several are computed at a time

enum { RATE_NUMBERS = sizeof(rate_pose) / sizeof(real) };

/// P
FN real way_ahead(const alpha_rule *r, real V, real A) { return fmadd(r->P, A, r->h * V); }

/// Where to aim, over h.
FN void find_aims(const alpha_rule *r, int n, const real *V, const real *A, const real *B, real *__restrict__ aim)
{
    const real inv_h = rset(1) / r->h;
    for (int k = 0; k < n; k++) aim[k] = inv_h * fmadd(r->kB, B[k], fnmadd(r->kA, A[k], way_ahead(r, V[k], A[k])));
}

/// The drift.
FN void find_drifts(const alpha_rule *r, int n, const real *V, const real *A, real *__restrict__ drift)
{
    const real inv_s = rset(1) / r->s;
    for (int k = 0; k < n; k++) drift[k] = fnmadd(inv_s, fmadd(r->old, A[k], V[k]), way_ahead(r, V[k], A[k]));
}

/// A' and V'; A1 comes with the ways D.
FN void find_ends(const alpha_rule *r, int n, const real *V, const real *A, real *__restrict__ A1, real *__restrict__ V1)
{
    for (int k = 0; k < n; k++) {
        A1[k] = r->end * (A1[k] - way_ahead(r, V[k], A[k]));
        V1[k] = fmadd(r->fresh, A1[k], fmadd(r->old, A[k], V[k]));
    }
}

/// s + 0 x: no number where x has none.
FN real and_number(real s, vec3 x) { return fmadd(x.x, rset(0), fmadd(x.y, rset(0), fmadd(x.z, rset(0), s))); }

/// Accelerations of a state that has none yet, in the lanes `where`: those of forward dynamics under tau (NULL: none). Where they
/// are no numbers, as after velocities beyond all reason, 0.
KERNEL void start_accelerations(const lane_model *m, const real *tau, position_state *S, aba_work *aba_, id_work *id,
                                loads_work *loads, real *force, real *accel, mask where)
{
    for (int k = 0; k < m->nv; k++) force[k] = tau ? tau[k] : rset(0);
    loads->slip = S->slip;
    add_acting_forces(m, S->q, S->rate, loads, force);
    add_friction_forces(m, S->z, NULL, force);
    aba(m, S->q, S->rate, force, aba_, accel);
    id_motion(m, S->q, S->rate, accel, id);
    const vec3 g = load3(m->gravity);
    real zero = rset(0);
    for (int i = 0; i < m->nbody; i++) zero = and_number(and_number(zero, id->body[i].al), id->body[i].a);
    for (int i = 0; i < m->nbody; i++) zero = fmadd(dot(id->body[i].V.w, id->body[i].V.w), rset(0), zero);
    const mask finite = le(zero, rset(0));
    for (int i = 0; i < m->nbody; i++) {
        const id_body *s = &id->body[i];
        const vec3 w = s->V.w;
        rate_pose T;  // ([xi'] + [xi]^2) T; id_motion() has accelerations beside free fall
        T.R.x = cross_add(cross(s->al, s->R.x), w, cross(w, s->R.x));
        T.R.y = cross_add(cross(s->al, s->R.y), w, cross(w, s->R.y));
        T.R.z = cross_add(cross(s->al, s->R.z), w, cross(w, s->R.z));
        T.p = add(s->a, g);
        T = sel_rate(finite, T, zero_rate());
        S->A[i] = sel_rate(where, T, S->A[i]), S->B[i] = sel_rate(where, T, S->B[i]);
    }
    for (int k = 0; k < m->nv; k++) {
        const real a = sel(finite, accel[k], rset(0));
        S->a[k] = sel(where, a, S->a[k]), S->b[k] = sel(where, a, S->b[k]);
    }
}

/// Makes the accelerations carried fit a step of size h in the lanes `where`: A stands for a time beyond the state's, by a part
/// of the step. What has none yet has zeros.
KERNEL void fit_accelerations(const lane_model *m, real h, position_state *S, mask where)
{
    const real ratio = sel(gt(S->size[0], rset(0)), h / S->size[0], rset(1));
    const mask other = both(where, not_(le(magnitude(ratio - rset(1)), rset(0))));
    if (any_of(other)) {
        for (int i = 0; i < m->nbody; i++)
            S->A[i] = sel_rate(other, rate_sum(S->B[i], rate_sum(S->A[i], S->B[i], rset(-1)), ratio), S->A[i]);
        for (int k = 0; k < m->nv; k++) S->a[k] = sel(other, fmadd(ratio, S->a[k] - S->b[k], S->b[k]), S->a[k]);
    }
    S->size[0] = sel(where, h, S->size[0]);
}

/// What the start of a step of size h winds up integral terms by (forces/integral_terms.h): wind [nv]. Leaves the clock at the end.
KERNEL void wind_ahead(const lane_model *m, const position_state *S, real h, real *wind)
{
    clock_now(m, h, 0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || m->motors[b->motor].wound < 0) continue;
        const lane_motor a = motor_now(m, b);
        const real rest = (rset(1) - wind_share(&a, h)) * h * a.ki;
        if (b->kind == JOINT_BALL) store3(wind + b->vadr, scale(ball_error(&a, quat_load(S->q + b->qadr)), rest));
        else if (a.type == MOTOR_POSITION) wind[b->vadr] = rest * motor_error(&a, S->q[b->qadr], rset(0));
        else wind[b->vadr] = rset(0.5) * h * a.ki * a.velocity[0];
    }
    clock_now(m, h, 1);
}

/// What the drift of body b, V and A as seen from its frames, makes of these: the rate of the axes; and of loads, dampers of which
/// go by the way of the frames beyond it.
FN void drift_of_frame(const alpha_rule *r, const lane_body *b, const rate_pose *V, const rate_pose *A, rate_pose *drift,
                       body_frame *f)
{
    rate_pose D;
    find_drifts(r, RATE_NUMBERS, (const real *)V, (const real *)A, (real *)&D);
    f->rate = r->s, f->base = mat3_add(f->from, D.R);
    if (tilts(b)) f->couple = axial_momentum(b, f->at.r) * r->s;
    const mat3 X = skew_times(sub_scaled(f->at.way, frame_spin(&f->at, f->from), rset(1) / r->s), f->from);
    drift->p = sub(D.p, mul(X, seen_center(b))), drift->R = mat3_add(D.R, X);
}

/// Sets the solve's weights and aims, from the state as it is seen from the frames of what spins.
KERNEL void aim_alpha(const lane_model *m, const alpha_rule *rule, const position_state *S, position_work *P)
{
    solve *W = &P->W;
    const alpha_rule own = *rule, *const r = &own;
    W->in.k2 = r->c, W->in.drag = r->s;
    for (int i = 0; i < m->nbody; i++) {
        const unsigned flags = m->bodies[i].flags;
        const real *V = (const real *)&S->V[i], *A = (const real *)&S->A[i], *B = (const real *)&S->B[i];
        if (flags & (BODY_MASS | BODY_LOAD)) find_aims(r, RATE_NUMBERS, V, A, B, (real *)&P->aim[i]);
        if (flags & BODY_LOAD) find_drifts(r, RATE_NUMBERS, V, A, (real *)&P->drift[i]);
        if (m->spins && spins(&m->bodies[i])) drift_of_frame(r, &m->bodies[i], &S->V[i], &S->A[i], &P->drift[i], &W->turn.of[i]);
    }
    find_aims(r, m->nv, S->rate, S->a, S->b, P->aim_rate);
    find_drifts(r, m->nv, S->rate, S->a, P->slack);
    if (m->nwound) wind_ahead(m, S, r->h, P->wind);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->kind != JOINT_BALL) continue;
        // a torque g that goes by the increments u acts as D(u)'g = g - u x g/2 ...: half a turn of it is put back
        const vec3 rate = load3(S->rate + b->vadr);
        vec3 g = add_scaled(smul(joint_drag(b, S->q), rate), load3(S->b + b->vadr), given(b)->armature);
        if (W->in.tau) g = sub(g, load3(W->in.tau + b->vadr));
        const vec3 turn = scale(cross(g, rate), rset(0.5) * r->h);
        store3(P->half_turn + b->vadr, turn);
        if (b->flags & BODY_MOTOR) {
            lane_motor a = motor_now(m, b);
            if (a.wound >= 0) add3(a.feedforward, add(load3(S->wound + a.wound), load3(P->wind + b->vadr)));
            store3(P->push + b->vadr, scale(cross(rate, steady_torque(&a)), rset(0.5) * r->h));
        }
    }
    W->V = P->aim, W->in.rate = P->aim_rate, W->in.slack = P->slack, W->in.half_turn = P->half_turn;
    W->in.push = P->push, W->in.wind = P->wind;
    W->drift = m->nload ? P->drift : NULL;
}

/// After start_step(): the wrenches on bodies as they will be at the end of the step, to its second order. A torque acts as one
/// of a ball does, by half of the turn less.
KERNEL void aim_wrenches(const lane_model *m, const alpha_rule *r, const position_state *S, solve *W)
{
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *load = &m->loads[k];
        load_state *at = &W->held[k];
        if (!load->flags || load->flags & LOAD_TOUCHES) continue;
        const mat3 R = chord_from(W, load->body), V = S->V[load->body].R, ahead = mat3_add_scaled(R, V, r->h);
        at->F = load_force(m, load, ahead), at->T = load_torque(m, load, ahead), at->axis = load_axis(load, ahead);
        if (load->flags & LOAD_SLIPS) {  // its law wants a unit vector, and the current is that of where the point will be
            vec3 way = scale(mul_add(S->V[load->body].p, V, load3(load->point)), r->h);
            if (W->turn.of) way = add(way, sub(mul(R, load3(load->point)), mul(W->start[load->body].R, load3(load->point))));
            if (load->flags & LOAD_AXIAL) at->axis = scale(at->axis, rset(1) / root(dot(at->axis, at->axis)));
            at->stream = stream_now(m, load, add(at->gap, way));
        }
        const vec3 turn = scale(sum_of_crosses(R, V), rset(0.25) * r->h);
        at->T = cross_add(at->T, at->T, turn);
    }
}

/// How the ends of piece k of a path move against each other: velocity and acceleration, by what bodies carry.
FN void piece_motion(const lane_model *m, const position_state *S, int k, vec3 *v, vec3 *a)
{
    *v = *a = zero3();
    for (int side = 0; side < 2; side++) {
        const bond_point *const of = &m->bond_points[k + side];
        if (of->body < 0) continue;
        const rate_pose *const V = &S->V[of->body], *const A = &S->A[of->body];
        const vec3 at = const3(of->at);
        const real sign = rset(side ? -1 : 1);
        *v = add_scaled(*v, mul_add(V->p, V->R, at), sign), *a = add_scaled(*a, mul_add(A->p, A->R, at), sign);
    }
}

/// After start_step(): by how much lengths go without being braked, the drift of l by l' = n.v and l" = n.a + (|v|^2 - l'^2)/l.
KERNEL void aim_lengths(const lane_model *m, const alpha_rule *r, const position_state *S, solve *W)
{
    const alpha_slack slack = slack_of(r);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        real drift = rset(0);
        for (int j = o->joint; j < o->joint + o->joints; j++)
            drift = fmadd(rset(m->bond_joints[j].share), W->in.slack[m->bodies[m->bond_joints[j].body].vadr], drift);
        for (EACH_PIECE(i, m, o, true)) {
            const path_piece e = piece_of(m, W, i, true);
            vec3 v, a;
            piece_motion(m, S, i, &v, &a);
            const real rate = dot(e.n, v), across = fnmadd(rate, rate, dot(v, v));
            const real bend = dot(e.n, a) + across / sel(gt(e.length, rset(0)), e.length, rset(1));
            drift = fmadd(rset(m->bond_points[i].share), fmadd(slack.rate, rate, slack.a * bend), drift);
        }
        W->between.drift[k] = drift;
    }
}

/// What order 2 aims at, after alpha has failed.
FN void aim_plainly(const position_state *S, real h, position_work *P)
{
    set_step_size(&P->W, h);
    P->W.in.rate = S->rate, P->W.in.slack = P->W.in.half_turn = P->W.in.push = P->W.in.wind = NULL;
    P->W.drift = NULL;
}

/// Poses do not see whole turns, and the next guess goes by the joints' rates: takes a whole turn off hinges that nothing holds,
/// in the lanes `where`; off wheels, of what they have turned beyond their rate. Returns where there was one.
FN mask unwind(const lane_model *m, position_work *P, mask where)
{
    const real turn = rset(6.283185307179586);
    mask turned = none_of();
    for (int i = 0; i < m->nbody && !P->W.in.tau; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->kind != JOINT_REVOLUTE || (b->flags & (BODY_PASSIVE | BODY_ARMATURE))) continue;
        const real u = P->u[b->vadr];
        real off = u;
        if (is_wheel(b)) off = u - P->W.in.h * P->W.in.rate[b->vadr];
        real way = sel(gt(off, rset(0.5) * turn), u - turn, u);
        way = sel(lt(off, rset(-0.5) * turn), u + turn, way);
        P->x[b->qadr] = sel(where, P->x[b->qadr] + (way - u), P->x[b->qadr]), P->u[b->vadr] = sel(where, way, u);
        turned = either(turned, both(where, lt(rset(0), magnitude(way - u))));
    }
    return turned;
}

/// Velocities and A at the end of a step, [nbody], [nv].
typedef struct {
    rate_pose *V, *A;
    real *rate, *a;
} alpha_end;

/// The end of the step that P has solved; A as it is seen from the frames of what spins.
KERNEL void end_rates_of_alpha(const lane_model *m, const alpha_rule *rule, const position_state *state, position_work *P,
                               const alpha_end *E)
{
    const solve *W = &P->W;
    const position_state seen = seen_from_frames(state, W), *const S = &seen;
    const alpha_rule own = *rule, *const r = &own;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        joint_increment(b, S->q, P, E->a + b->vadr);
        if (!(b->flags & (BODY_MASS | BODY_LOAD))) continue;
        E->A[i] = chord_rate(chord_from(W, i), W->now[i].R, way_seen(W, i), rset(1));
        find_ends(r, RATE_NUMBERS, (const real *)&S->V[i], (const real *)&S->A[i], (real *)&E->A[i], (real *)&E->V[i]);
        E->V[i] = leave_frame(b, &W->turn, i, W->now[i].R, E->V[i]);
    }
    find_ends(r, m->nv, S->rate, S->a, E->a, E->rate);
}

/// The error of the step that P has solved, in joint coordinates: x [nv]. Beside the way by the true accelerations, taken to
/// change evenly, bodies and joints went off by
///
///     e = D - h V - h^2 (2 B + B')/6 = (beta - 1/6 + (am - af)/2) h^3 dA/dt + ...
///
/// and an aim that is off by e moves the end of the step by x, H x = c S' e M, with the Hessian H of its energy: where forces are
/// stiff, by little. (docs/theory.md 4.9) w [nbody]: scratch. In the lanes `where`; uses up W->sum.
KERNEL void error_of_alpha(const lane_model *m, const alpha_rule *rule, const position_state *state, position_work *P,
                           const alpha_end *E, wrench *w, mask where, real *x)
{
    solve *W = &P->W;
    const position_state seen = seen_from_frames(state, W), *const S = &seen;
    const alpha_rule own = *rule, *const r = &own;
    real dropped = rset(0);
    for (int k = 0; k < m->nv; k++) x[k] = r->c * fmadd(r->e_new, E->a[k], fmadd(r->e_A, S->a[k], r->e_B * S->b[k]));
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = b->vadr; k < b->vadr + b->nv; k++) x[k] = given(b)->armature * x[k];
        w[i] = wrench_zero();
        if (!(b->flags & BODY_MASS)) continue;
        const real *A1 = (const real *)&E->A[i], *A = (const real *)&S->A[i], *B = (const real *)&S->B[i];
        rate_pose off;
        real *const e = (real *)&off;
        for (int k = 0; k < RATE_NUMBERS; k++) e[k] = r->c * fmadd(r->e_new, A1[k], fmadd(r->e_A, A[k], r->e_B * B[k]));
        w[i] = rate_momentum(b, W->now[i].R, &off);
    }
    P->sweep.held = none_of();  // the last solve may have left some
    sweep_inward(m, W, &P->sweep, where, &dropped, P->fresh);
    sweep_solve(m, W, &P->sweep, x, w, W->sum, x);
}

/// Body i of commit_alpha(), which spins.
FN void commit_spinning(const lane_body *b, const alpha_rule *r, position_state *S, const position_work *P, const alpha_end *E,
                        mask where, int i)
{
    const turning_frames *const T = &P->W.turn;
    const mat3 R = P->W.now[i].R, V = mat3_add_scaled(E->V[i].R, frame_rate(b, &T->of[i].at, R), rset(-1));
    const rate_pose B = rate_sum(rate_sum(rate_scale(E->A[i], r->b_new), T->A[i], r->b_A), T->B[i], negate(r->b_B));
    S->V[i] = sel_rate(where, E->V[i], S->V[i]);
    S->A[i] = sel_rate(where, leave_frame_faster(b, T, i, R, V, E->A[i]), S->A[i]);
    S->B[i] = sel_rate(where, leave_frame_faster(b, T, i, R, V, B), S->B[i]);
}

/// Makes the solution in P, which ends with E, the state, in the lanes `where`; `all` and `whole` as of commit_step().
KERNEL void commit_alpha(const lane_model *m, const alpha_rule *r, position_state *S, position_work *P, const alpha_end *E,
                         mask where, bool all, mask whole)
{
    const real b_new = r->b_new, b_A = r->b_A, b_B = r->b_B;
    const turning_frames *const T = &P->W.turn;
    for (int i = 0; i < m->nbody; i++) {
        if (!(m->bodies[i].flags & (BODY_MASS | BODY_LOAD))) continue;
        if (T->of && spins(&m->bodies[i])) {
            commit_spinning(&m->bodies[i], r, S, P, E, where, i);
            continue;
        }
        const real *V1 = (const real *)&E->V[i], *A1 = (const real *)&E->A[i];
        real *__restrict__ V = (real *)&S->V[i], *__restrict__ A = (real *)&S->A[i], *__restrict__ B = (real *)&S->B[i];
        for (int k = 0; k < RATE_NUMBERS; k++) {
            B[k] = sel(where, fnmadd(b_B, B[k], fmadd(b_A, A[k], b_new * A1[k])), B[k]);
            V[k] = sel(where, V1[k], V[k]), A[k] = sel(where, A1[k], A[k]);
        }
    }
    for (int k = 0; k < m->nv; k++) {
        const real V = E->rate[k], A = E->a[k], B = fmadd(b_new, A, fnmadd(b_B, S->b[k], b_A * S->a[k]));
        // the mean rate of the next step is half a change ahead
        S->gain[k] = sel(where, sel(whole, rset(0.5) * (V - S->rate[k]), rset(0)), S->gain[k]);
        S->rate[k] = sel(where, V, S->rate[k]), S->a[k] = sel(where, A, S->a[k]), S->b[k] = sel(where, B, S->b[k]);
    }
    commit_placements(m, S, P, where, all);
}

/// After a step of order 2 in the place of one of alpha, from the velocities `V` [nbody] and `rate` [nv], as seen from the frames
/// of what spins: accelerations that carry on from it, in the lanes `where`. They balance the forces, and one such step in a run costs no
/// order. R [nbody]: at its end.
KERNEL void restart_alpha(const lane_model *m, const turning_frames *T, const placement *R, real h, const rate_pose *V,
                          const real *rate, position_state *S, mask where)
{
    const real inv_h = rset(1) / h;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        rate_pose now = S->V[i], A;
        if (T->of && spins(b)) now = with_columns(b, now, mat3_add_scaled(now.R, frame_rate(b, &T->of[i].at, R[i].R), rset(-1)));
        A = leave_frame_faster(b, T, i, R[i].R, now.R, rate_scale(rate_sum(now, V[i], rset(-1)), inv_h));
        S->A[i] = sel_rate(where, A, S->A[i]), S->B[i] = sel_rate(where, A, S->B[i]);
    }
    for (int k = 0; k < m->nv; k++) {
        const real a = inv_h * (S->rate[k] - rate[k]);
        S->a[k] = sel(where, a, S->a[k]), S->b[k] = sel(where, a, S->b[k]);
    }
}

#endif
