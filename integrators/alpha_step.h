/// Generalised-alpha: a step of second order that is solved as one of order 2 (position_step.h), with another weight of inertia and another
/// aim. [Arnold, Bruls 2007, "Convergence of the generalized-alpha scheme for constrained mechanical systems"] (docs/theory.md 4.9)
///
/// Beside V the state carries, for every body, the accelerations A (which stand for the time t + (am - af) h) and B (the true ones),
/// and for every joint freedom r, a and b likewise. With rho from 0 (vibrations beyond the step die at once) to 1 (they live on)
///
///     am = (2 rho - 1)/(rho + 1),  af = rho/(rho + 1),  gamma = 1/2 - am + af,  beta = (gamma + 1/2)^2/4
///     c = (1 - am)/((1 - af) beta h^2),  s = gamma/(beta h),  k = 1/((1 - af) c)
///     P = h V + h^2 (1/2 - beta) A,   aim = P - k (am A - af B),   drift = P - (V + h (1 - gamma) A)/s       as ways from T_k
///
/// a step minimises c/2 |T - T_k - aim|^2 + U, with c J/2 (u - aim)^2 of rotors and s b/2 (u - drift)^2 of dampers in U; from its end T'
///
///     A' = (T' - T_k - P)/(beta h^2),  V' = V + h ((1 - gamma) A + gamma A'),  B' = ((1 - am) A' + am A - af B)/(1 - af).
///
/// Springs, gravity and forces act in full at the end of the step.
#ifndef CATENA_ALPHA_STEP_H
#define CATENA_ALPHA_STEP_H

#include "dynamics/aba.h"
#include "dynamics/derivatives.h"
#include "dynamics/lane_model.h"
#include "integrators/collocation.h"
#include "integrators/load_forces.h"
#include "integrators/position_step.h"

/// The numbers of a step of size h.
typedef struct {
    real h, P, c, s, kA, kB;  // P = h^2 (1/2 - beta), kA = k am, kB = k af
    real end, old, fresh;     // 1/(beta h^2), h (1 - gamma), h gamma
    real b_new, b_A, b_B;     // B' = b_new A' + b_A A - b_B B
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
    return r;
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

/// P of a body and of a joint freedom.
FN rate_pose way_ahead(const alpha_rule *r, rate_pose V, rate_pose A) { return rate_sum(rate_scale(V, r->h), A, r->P); }
FN real joint_ahead(const alpha_rule *r, real rate, real a) { return fmadd(r->P, a, r->h * rate); }

/// s + 0 x: no number where x has none.
FN real and_number(real s, vec3 x) { return fmadd(x.x, rset(0), fmadd(x.y, rset(0), fmadd(x.z, rset(0), s))); }

/// Accelerations of a state that has none yet, in the lanes `where`: those of forward dynamics under tau (NULL: none). Where they are
/// no numbers, as after velocities beyond all reason, 0.
KERNEL void start_accelerations(const lane_model *m, const real *tau, position_state *S, aba_work *aba_, id_work *id,
                                loads_work *loads, real *force, real *accel, mask where)
{
    for (int k = 0; k < m->nv; k++) force[k] = tau ? tau[k] : rset(0);
    add_acting_forces(m, S->q, S->rate, loads, force);
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

/// Makes the accelerations carried fit a step of size h in the lanes `where`: A stands for a time beyond the state's, by a part of the step.
KERNEL void fit_accelerations(const lane_model *m, real h, position_state *S, mask where)
{
    const real ratio = h / S->size[0];
    const mask other = both(where, not_(le(magnitude(ratio - rset(1)), rset(0))));
    if (any_of(other)) {
        for (int i = 0; i < m->nbody; i++)
            S->A[i] = sel_rate(other, rate_sum(S->B[i], rate_sum(S->A[i], S->B[i], rset(-1)), ratio), S->A[i]);
        for (int k = 0; k < m->nv; k++) S->a[k] = sel(other, fmadd(ratio, S->a[k] - S->b[k], S->b[k]), S->a[k]);
    }
    S->size[0] = sel(where, h, S->size[0]);
}

/// Sets the solve's weights and aims, from the state.
KERNEL void aim_alpha(const lane_model *m, const alpha_rule *r, const position_state *S, position_work *P)
{
    solve *W = &P->W;
    const real inv_h = rset(1) / r->h, inv_s = rset(1) / r->s;
    W->in.k2 = r->c, W->in.drag = r->s;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & (BODY_MASS | BODY_LOAD))) continue;
        const rate_pose ahead = way_ahead(r, S->V[i], S->A[i]);
        P->aim[i] = rate_scale(rate_sum(rate_sum(ahead, S->A[i], negate(r->kA)), S->B[i], r->kB), inv_h);
        if (b->flags & BODY_LOAD) P->drift[i] = rate_sum(ahead, rate_sum(S->V[i], S->A[i], r->old), negate(inv_s));
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = b->vadr; k < b->vadr + b->nv; k++) {
            const real ahead = joint_ahead(r, S->rate[k], S->a[k]);
            P->aim_rate[k] = inv_h * fmadd(r->kB, S->b[k], fnmadd(r->kA, S->a[k], ahead));
            P->slack[k] = fnmadd(inv_s, fmadd(r->old, S->a[k], S->rate[k]), ahead);
        }
        if (b->kind != JOINT_BALL) continue;
        // a torque g that goes by the increments u acts as D(u)'g = g - u x g/2 ...: half a turn of it is put back
        const vec3 rate = load3(S->rate + b->vadr);
        vec3 g = add_scaled(smul(joint_drag(b, S->q), rate), load3(S->b + b->vadr), b->armature);
        if (W->in.tau) g = sub(g, load3(W->in.tau + b->vadr));
        const vec3 turn = scale(cross(g, rate), rset(0.5) * r->h);
        real *const half = P->half_turn + b->vadr;
        half[0] = turn.x, half[1] = turn.y, half[2] = turn.z;
    }
    W->V = P->aim, W->in.rate = P->aim_rate, W->in.slack = P->slack, W->in.half_turn = P->half_turn;
    W->drift = m->nload ? P->drift : NULL;
}

/// After start_step(): the wrenches on bodies as they will be at the end of the step, to its second order. A torque acts as one of a ball
/// does, by half of the turn less.
KERNEL void aim_wrenches(const lane_model *m, const alpha_rule *r, const position_state *S, solve *W)
{
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *load = &m->loads[k];
        load_state *at = &W->held[k];
        if (!load->flags) continue;
        const mat3 R = W->start[load->body].R, V = S->V[load->body].R, ahead = mat3_add_scaled(R, V, r->h);
        at->F = load_axes(m, load, ahead, load->force), at->T = load_torque(m, load, ahead);
        const vec3 turn = scale(cross_add(cross_add(cross(R.x, V.x), R.y, V.y), R.z, V.z), rset(0.25) * r->h);
        at->T = cross_add(at->T, at->T, turn);
    }
}

/// What order 2 aims at, after alpha has failed.
FN void aim_plainly(const position_state *S, real h, position_work *P)
{
    set_step_size(&P->W, h);
    P->W.V = S->V, P->W.in.rate = S->rate, P->W.in.slack = P->W.in.half_turn = NULL, P->W.drift = NULL;
}

/// The velocity and the accelerations at the end of the step, of a body that went the way D.
FN void alpha_end(const alpha_rule *r, rate_pose D, rate_pose V, rate_pose A, rate_pose B, rate_pose *V1, rate_pose *A1,
                  rate_pose *B1)
{
    *A1 = rate_scale(rate_sum(D, way_ahead(r, V, A), rset(-1)), r->end);
    *V1 = rate_sum(rate_sum(V, A, r->old), *A1, r->fresh);
    *B1 = rate_sum(rate_sum(rate_scale(*A1, r->b_new), A, r->b_A), B, negate(r->b_B));
}

/// Velocities at the end of the step in P: V [nbody], rate [nv].
KERNEL void end_rates_of_alpha(const lane_model *m, const alpha_rule *r, const position_state *S, const position_work *P,
                               rate_pose *V, real *rate)
{
    const solve *W = &P->W;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        rate_pose A, B;
        if (b->flags & (BODY_MASS | BODY_LOAD))
            alpha_end(r, chord_rate(W->start[i].R, W->now[i].R, W->body[i].dp, rset(1)), S->V[i], S->A[i], S->B[i], &V[i], &A,
                      &B);
        real u[3];
        joint_increment(b, S->q, P, u);
        for (int k = 0; k < b->nv; k++) {
            const int j = b->vadr + k;
            const real a = r->end * (u[k] - joint_ahead(r, S->rate[j], S->a[j]));
            rate[j] = fmadd(r->fresh, a, fmadd(r->old, S->a[j], S->rate[j]));
        }
    }
}

/// Poses do not see whole turns, and the next guess goes by the joints' rates: u without a whole turn, of a hinge that nothing holds.
FN real unwound(const lane_body *b, const real *tau, real u)
{
    const real turn = rset(6.283185307179586);
    if (b->kind != JOINT_REVOLUTE || (b->flags & (BODY_PASSIVE | BODY_ARMATURE)) || tau) return u;
    u = sel(gt(u, rset(0.5) * turn), u - turn, u);
    return sel(lt(u, rset(-0.5) * turn), u + turn, u);
}

/// Makes the solution in P the state, in the lanes `where`; `all` and `whole` as of commit_step().
KERNEL void commit_alpha(const lane_model *m, const alpha_rule *r, position_state *S, position_work *P, mask where, bool all,
                         mask whole)
{
    solve *W = &P->W;
    const real one = rset(1);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & (BODY_MASS | BODY_LOAD)) {
            const rate_pose D = chord_rate(W->start[i].R, W->now[i].R, W->body[i].dp, one);
            rate_pose V, A, B;
            alpha_end(r, D, S->V[i], S->A[i], S->B[i], &V, &A, &B);
            S->V[i] = sel_rate(where, V, S->V[i]), S->A[i] = sel_rate(where, A, S->A[i]), S->B[i] = sel_rate(where, B, S->B[i]);
        }
        real u[3];
        joint_increment(b, S->q, P, u);
        for (int k = 0; k < b->nv; k++) {
            const int j = b->vadr + k;
            const real way = unwound(b, W->in.tau, u[k]), rate = S->rate[j], a = S->a[j],
                       A = r->end * (way - joint_ahead(r, rate, a));
            const real V = fmadd(r->fresh, A, fmadd(r->old, a, rate)),
                       B = fmadd(r->b_new, A, fnmadd(r->b_B, S->b[j], r->b_A * a));
            if (b->kind == JOINT_REVOLUTE) P->x[b->qadr] = sel(where, P->x[b->qadr] + (way - u[k]), P->x[b->qadr]);
            // the mean rate of the next step is half a change ahead
            S->gain[j] = sel(where, sel(whole, rset(0.5) * (V - rate), rset(0)), S->gain[j]);
            S->rate[j] = sel(where, V, rate), S->a[j] = sel(where, A, a), S->b[j] = sel(where, B, S->b[j]);
        }
    }
    commit_placements(m, S, P, where, all);
}

/// After a step of order 2 in the place of one of alpha, from the velocities `V` [nbody] and `rate` [nv]: accelerations that carry on from it,
/// in the lanes `where`. They balance the forces, and one such step in a run costs no order.
KERNEL void restart_alpha(const lane_model *m, real h, const rate_pose *V, const real *rate, position_state *S, mask where)
{
    const real inv_h = rset(1) / h;
    for (int i = 0; i < m->nbody; i++) {
        const rate_pose A = rate_scale(rate_sum(S->V[i], V[i], rset(-1)), inv_h);
        S->A[i] = sel_rate(where, A, S->A[i]), S->B[i] = sel_rate(where, A, S->B[i]);
    }
    for (int k = 0; k < m->nv; k++) {
        const real a = inv_h * (S->rate[k] - rate[k]);
        S->a[k] = sel(where, a, S->a[k]), S->b[k] = sel(where, a, S->b[k]);
    }
}

#endif
