/// The adjoint of what keeps a tree that touches from creating energy (hold_energy.h): velocities of a step of order 2 that it
/// leaves as
///
///     V' = middle + e (X - middle),   e = (1 - created/K)^(1/2),   K: the kinetic energy about the centre of mass
///
/// with those of the chord X = (T(x) - T_k)/h. In lanes where a tree is held, e goes by K and by all the books: motion, gravity,
/// what joints store and take, and of a contact point
///
///     l (d - d_k) - k (d - d_k)^2/2 + g.P (u + r Q f)  (+ g.2 v of friction of turns)
///
/// which its energies and losses come to. What a motor that stores U books is U(x) - U(q) and, at the rate w of the end, the
/// power of that spring there less its own.
#ifndef CATENA_HOLD_ADJOINT_H
#define CATENA_HOLD_ADJOINT_H

#include "forces/joint_forces.h"
#include "integrators/contact_adjoint.h"
#include "integrators/hold_energy.h"
#include "integrators/position_adjoint.h"
#include "integrators/stage_step.h"
#include "integrators/state_energy.h"

/// Scratch of one lane block.
typedef struct {
    kept_motion *kept;  // [nbody] at the roots of trees
    real *c;            // [nbody] likewise: the gradients by what is created
    rate_pose *V;       // [bodies with mass] gradients by the chords
    real *rate;         // [nv] and by their rates
    real *wound;        // [nwound] gradients by integral terms after the step
    vec3 *slip;         // [nbent] of alpha: gradients by how far bristles are bent
} hold_adjoint;

FN mask held_lanes(const kept_motion *H) { return lt(H->inner, rset(1)); }

/// Lanes in which a tree is held whose books are not all known by alpha or several stages: loads besides contact points, motors on
/// balls, integral terms, and, where `motors` are not known, any.
KERNEL mask held_unbooked(const lane_model *m, const kept_motion *kept, bool motors)
{
    mask some = none_of();
    for (int r = 0; r < m->nbody; r = m->bodies[r].end) {
        bool booked = true;
        for (int i = r; i < m->bodies[r].end; i++) {
            const lane_body *b = &m->bodies[i];
            if (b->flags & BODY_MOTOR) booked = booked && motors && b->kind != JOINT_BALL && m->motors[b->motor].wound < 0;
            for (int k = b->load; k < b->loads_end && (b->flags & BODY_LOAD); k++)
                booked = booked && (m->loads[k].flags & LOAD_TOUCHES);
        }
        if (!booked) some = either(some, held_lanes(&kept[r]));
    }
    return some;
}

FN real columns_dot(rate_pose a, rate_pose b)
{
    return dot_add(dot_add(dot_add(dot(a.R.x, b.R.x), a.R.y, b.R.y), a.R.z, b.R.z), a.p, b.p);
}

/// f c', of the momentum's rate of change with a body's columns: adds f by X c + X_p m.
FN void add_momentum_columns(const lane_body *b, vec3 f, rate_pose *X)
{
    const vec3 c = load3(given(b)->h);
    X->R.x = add_scaled(X->R.x, f, c.x), X->R.y = add_scaled(X->R.y, f, c.y), X->R.z = add_scaled(X->R.z, f, c.z);
    X->p = add_scaled(X->p, f, given(b)->mass);
}

/// The rates of a joint by its increments.
FN vec3 chord_rates(const lane_body *b, const solve *W)
{
    const vec3 u = b->kind == JOINT_BALL ? ball_increment(b, W->in.q, W->in.x) : joint_vector(b, W->in.u);
    return scale(u, W->in.inv_h);
}

/// What a step ends with before it is held: chords of order 2, or velocities of alpha and of several stages.
typedef struct {
    const solve *chords;  // NULL: velocities V [nbody] and rate [nv]
    const rate_pose *V;
    const real *rate;
} ended_motion;

FN vec3 ended_rates(const ended_motion *E, const lane_body *b)
{
    return E->chords ? chord_rates(b, E->chords) : joint_vector(b, E->rate);
}

FN rate_pose ended_velocity(const ended_motion *E, const lane_body *b, int i)
{
    return E->chords ? chord_velocity_of(b, E->chords, i) : E->V[i];
}

/// What the motor of a body books with the gradient c: gradients by x, q, the rate w, and its integral term [nwound].
FN void motor_books_pullback(const lane_model *m, const lane_body *b, const solve *W, real c, real w, real *x_bar, real *q_bar,
                             real *w_bar, real *wound_bar)
{
    const lane_motor a = motor_now(m, b), end = motor_in_step(m, b, &W->in);
    const real o = rset(0), x = W->in.x[b->qadr], q = W->in.q[b->qadr], h = W->in.h;
    const mask stores = gt(a.kp, o);
    real y = motor_demand(&a, x, w);
    if (a.wound >= 0) y = y + wound_of_step(&a, &end, b, &W->in);
    const motor_answer A = answer_of(&a, y, a.gear * w);
    const saturated at_x = bounded(&a, fmadd(a.kp, fnmadd(a.gear, x, a.target[0]), a.feedforward[0]));
    const saturated at_q = bounded(&a, fmadd(a.kp, fnmadd(a.gear, q, a.target[0]), a.feedforward[0]));
    const real Sx = sel(stores, at_x.force, o), Sq = sel(stores, at_q.force, o), slope = sel(stores, at_x.slope, o);
    const real way = c * h * a.gear * w, gap = A.by_y - slope;
    *x_bar = *x_bar + (a.kp * a.gear * gap * way - c * a.gear * Sx);
    *q_bar = *q_bar + c * a.gear * Sq;
    *w_bar = *w_bar + (way * a.gear * (a.kd * A.by_y + A.by_turn) - c * h * a.gear * (A.force - Sx));
    if (m->by_target) add_by_target(m, &a, c * (Sx - Sq) - way * target_gain(&a) * gap);
    if (a.wound >= 0) wound_bar[a.wound] = wound_bar[a.wound] - way * A.by_y;
}

/// The same of a motor on a ball, which turns at w: pull is what kp asks for, bounded, and the torque of the spring.
FN void ball_motor_books_pullback(const lane_model *m, const lane_body *b, const solve *W, real c, vec3 w, real *x_bar,
                                  real *q_bar, real *w_bar)
{
    const lane_motor a = motor_in_step(m, b, &W->in);
    const quat x = ball_way(&a, quat_load(W->in.x + b->qadr)), q = ball_way(&a, quat_load(W->in.q + b->qadr));
    const bounded_torque pull = bound_torque(ball_pull(&a, x), a.effort), all = bound_torque(ball_demand(&a, x, w), a.effort);
    const vec3 from = bound_torque(ball_pull(&a, q), a.effort).torque, way = scale(w, c * W->in.h);
    const vec3 by_pull = smul(pull.slope, way), by_all = smul(all.slope, way);
    add_joint_vector(b, x_bar, sub(ball_stiffness_transposed(&a, x, sub(by_all, by_pull)), scale(pull.torque, c)));
    add_joint_vector(b, q_bar, scale(from, c));
    add_joint_vector(b, w_bar, add_scaled(scale(sub(pull.torque, all.torque), c * W->in.h), by_all, a.kd));
    if (!m->by_target) return;
    if (a.type != MOTOR_POSITION) {
        add_by_ball_target(m, &a, scale(by_all, negate(target_gain(&a))));
        return;
    }
    const vec3 stored = exp_pullback(load3(a.target), scale(sub(pull.torque, from), c));
    const vec3 driven = add(by_rotation(&a, x, sub(by_pull, by_all)), by_followed(&a, scale(by_all, negate(a.kd))));
    add_by_ball_target(m, &a, add(stored, driven));
}

/// The books of a joint: gradients by x added to b, by q to q_bar, by its rates to rate, by tau to tau_bar [nv], by integral
/// terms to wound_bar [nwound].
FN void joint_books_pullback(const lane_model *m, const lane_body *b, const position_adjoint *A, real c, real *q_bar, real *rate,
                             real *tau_bar, real *wound_bar)
{
    const solve *W = &A->W;
    const int j = b->vadr;
    const vec3 w = chord_rates(b, W);
    const real h = W->in.h, ch = c * h;
    if (W->in.tau) {
        add_joint_vector(b, rate, scale(joint_vector(b, W->in.tau), negate(ch)));
        add_joint_vector(b, tau_bar, scale(w, negate(ch)));
    }
    if (!(b->flags & BODY_PASSIVE)) return;
    add_joint_vector(b, rate, scale(smul(joint_drag(b, W->in.q), w), rset(2) * ch));
    if (b->flags & BODY_SPRING) {
        vec3 at_x, at_q;
        if (b->kind == JOINT_BALL) {
            const cone_limit cone = cone_at(b, W->in.q);
            at_x = ball_potential(b, cone_at(b, W->in.x)).g, at_q = ball_potential(b, cone).g;
            at_q = sub_scaled(at_q, drag_pullback(cone, w, w), h);
        } else {
            at_x = vec(joint_potential(b, W->in.x[b->qadr]).g, rset(0), rset(0));
            at_q = vec(joint_potential(b, W->in.q[b->qadr]).g, rset(0), rset(0));
        }
        add_joint_vector(b, A->b, scale(at_x, c)), add_joint_vector(b, q_bar, scale(at_q, negate(c)));
    }
    if (b->flags & BODY_FRICTION) {
        const real by = c * friction_potential(b, bent_by(b, W->in.z, W->in.u)).g;
        A->b[j] = A->b[j] + by, q_bar[j] = q_bar[j] - by;
        m->by_bent[j] = m->by_bent[j] + (by - c * friction_potential(b, W->in.z[j]).g);
    }
    if (!(b->flags & BODY_MOTOR)) return;
    if (b->kind == JOINT_BALL) ball_motor_books_pullback(m, b, W, c, w, A->b, q_bar, rate);
    else motor_books_pullback(m, b, W, c, w.x, &A->b[j], &q_bar[j], &rate[j], wound_bar);
}

/// The book of a point's friction of turns, with the gradient c: by x and the start, at the way's end, and to A->bars.
FN void turn_books_pullback(const lane_model *m, position_adjoint *A, int k, const solved_touch *t, real c, int way, wrench *at)
{
    const lane_point_load *s = t->s;
    const solved_turn T = turn_solved(m, &A->W, k, &t->c, t->share);
    const vec3 D = scale(sub(T.bent, T.z), c), work = scale(T.law.g, c), bend = turn_slope(&T.law, D);
    vec3 *const slip = &A->bars.slip[turn_slot(m, s)], *const to = way == 0 ? &at->n : turn_before(t, at, &A->bars);
    if (way == 0) {
        *to = add(*to, turn_pull(&T.T, add(bend, work)));
        return;
    }
    vec3 *const on = way_of_frame(t, &A->bars);
    turn_bristles_pullback(&T, bend, t->share, slip, to, on), turn_bristles_pullback(&T, work, rset(0), slip, to, on);
    A->bars.lag[s->contact] = A->bars.lag[s->contact] + dot(T.law.by_press, D);
    turn_by_contact(m, &A->W, t, &T, D);
    if (s->surface) A->bars.face[s->contact] = add(A->bars.face[s->contact], turn_by_face(&T, D));
}

/// The book of another load, with the gradient c: by where its point ends (way 0) or starts, to the wrench `to` there. With the
/// point's way u, its start at the distance d from the anchor, and the turn a of its link:
///
///     k u.(d + u/2) - F.u - T.a + u.C u/h,    drag that slips: g(u/h - flow).u
FN void load_book_pullback(const lane_model *m, const solve *W, int k, real c, int way, wrench *to)
{
    const lane_point_load *s = &m->loads[k];
    const load_state *at = &W->held[k];
    const mat3 R_k = W->start[s->body].R, R = W->now[s->body].R;
    const vec3 arm = mul(R, load3(s->point)), u = add(W->body[s->body].dp, sub(arm, at->arm)), t = at->axis;
    if (s->flags & LOAD_SLIPS) {
        const vec3 slip = sub(scale(u, W->in.inv_h), at->stream.flow);
        const drag_force D = drag_of(s, t, slip, W->in.inv_h);
        const vec3 by_rate = scale(drag_slope(&D, t, u), c), f = add_scaled(scale(D.g, c), by_rate, W->in.inv_h);
        if (way == 0) {
            *to = wrench_add(*to, force_at(arm, f));
            return;
        }
        const vec3 by_height = vec(rset(0), rset(0), dot(at->stream.shear, by_rate));
        *to = wrench_add(*to, force_at(at->arm, opposite(add(f, by_height))));
        if (s->flags & LOAD_AXIAL) to->n = add_scaled(to->n, drag_by_turn(s, &D, t, slip, u), c);
        return;
    }
    const bool turns = s->flags & LOAD_TURNS;
    const vec3 turned = turns ? scale(mul(R_k, axes_increment(R_k, R)), c) : zero3();
    const vec3 torque = turns ? scale(torque_terms(at->T, R_k, R).g, c) : zero3();
    const vec3 braked = scale(add_axial_drag(scale(u, s->damping), s, t, u, rset(1)), rset(2) * W->in.inv_h);
    const vec3 steady = sub(add_scaled(braked, at->gap, s->stiffness), at->F);
    if (way == 0) {
        *to = wrench_add(*to, force_at(arm, scale(add_scaled(steady, u, s->stiffness), c)));
        to->n = mul_add(to->n, R, torque);
        return;
    }
    *to = wrench_add(*to, force_at(at->arm, scale(steady, negate(c))));
    to->n = sub(to->n, mul(R_k, torque));
    if (s->flags & LOAD_FOLLOWS) to->n = add(to->n, add(scale(cross(u, at->F), c), cross(turned, at->T)));
    else if (s->flags & LOAD_AXIAL) {  // by the axis: drag, and what it makes of the current
        const vec3 flow = load3(s->flow), slip = sub(scale(u, rset(2) * W->in.inv_h), flow);
        const vec3 by_axis = sub_scaled(scale(slip, dot(t, u)), u, dot(t, flow));
        to->n = add_scaled(to->n, cross(t, by_axis), c * s->axial);
    }
    if (s->motor)
        thrust_target_pullback(m, s, push_force(m, s, R_k), push_torque(m, s, R_k), scale(u, negate(c)), opposite(turned));
}

/// The books of loads, with the gradients c at the roots of their trees: by x added to A->b, by q to q_bar, and to A->bars.
KERNEL void load_books_pullback(const lane_model *m, position_adjoint *A, const real *c_, real *q_bar)
{
    const solve *W = &A->W;
    for (int way = 0; way < 2; way++) {  // the end, the start
        clear_wrenches(m, A->P.load);
        for (int k = 0; k < m->nload; k++) {
            const lane_point_load *s = &m->loads[k];
            const real c = c_[s->body];
            if (!(s->flags & LOAD_TOUCHES)) {
                load_book_pullback(m, W, k, c, way, &A->P.load[s->body]);
                continue;
            }
            const solved_touch t = touch_in(m, W, k);
            const friction_law *F = &t.rub;
            const load_state *at = &W->held[k];
            const real o = rset(0), sinks = depth_of(t.c.gap) - depth_of(t.c.before);
            const real by_depth = c * fnmadd(s->grip, sinks, t.normal.force), by_press = c * sinks;
            const vec3 D = scale(sub(t.c.s, t.c.rest), c), work = scale(F->g, c);
            const vec3 bend = add_scaled(scale(D, F->k2), F->t1, (F->k1 - F->k2) * dot(F->t1, D));
            wrench *const to = &A->P.load[s->body];
            if (s->rolls) turn_books_pullback(m, A, k, &t, c, way, to);
            if (way == 0) {
                const real by_gap = fmadd(t.normal.stiffness, by_press, sel(lt(t.c.gap, o), by_depth, o));
                const vec3 along = along_ground(t.c.face, add(bend, work));
                *to = wrench_add(*to, gradient_of_touch(s, &t.c, along, by_gap).w);
                continue;
            }
            real *const lag = &A->bars.lag[s->contact];
            bristles_pullback(&t, bend, t.share, at->arm, to, &A->bars);
            bristles_pullback(&t, work, o, at->arm, to, &A->bars);
            damper_pullback(m, W, k, &t, by_press, to, &A->bars);
            const vec3 n = stand_of(m, s, at->gap).n;
            *to = wrench_add(*to, force_at(at->arm, scale(n, sel(lt(t.c.before, o), by_depth, o))));
            *lag = fmadd(s->friction, dot(F->by_cap, D), *lag);
            rub_by_contact(m, W, &t, D, bend), press_by_contact(m, W, &t, by_press);
            add_by_contact(m, s, o, rset(-0.5) * c * sinks * sinks, o);
        }
        add_joint_rows(m, way ? W->start : W->now, A->P.load, way ? q_bar : A->b);
    }
}

/// From the gradients V and rate of `after`, by what was kept, to those by the velocities E that it was kept of, in H->V and H->rate;
/// H->c. Returns whether a tree is held in any lane.
KERNEL bool kept_pullback(const lane_model *m, const ended_motion *E, hold_adjoint *H, const state_bar *after)
{
    const real o = rset(0), one = rset(1), half = rset(0.5);
    bool any = false;
    for (int k = 0; k < m->nv; k++) H->rate[k] = after->v[k];
    for (int k = 0; k < masses_of(m); k++) H->V[k] = after->V[k];
    for (int k = 0; k < m->nwound; k++) H->wound[k] = after->wound[k];
    for (int r = 0, column = 0; r < m->nbody; r = m->bodies[r].end) {
        const lane_body *const top = &m->bodies[r];
        const bool free = flies_free(top->kind, top->flags);
        const kept_motion *kept = &H->kept[r];
        const mask held = held_lanes(kept);
        const int first = column;
        for (int i = r; i < top->end; i++) H->c[i] = o, column += (m->bodies[i].flags & BODY_MASS) != 0;
        if (!any_of(held)) continue;
        any = true;
        // the energies, and the gradients by e and by the middle
        const vec3 middle = free ? kept->middle : zero3();
        const real e = kept->inner, mass = free ? subtree_of(m, top)->subtree_mass : one;
        real kinetic = o, by_e = o;
        vec3 by_middle = zero3();
        for (int i = r, k = first; i < top->end; i++) {
            const lane_body *b = &m->bodies[i];
            const vec3 w = ended_rates(E, b), by = joint_vector(b, after->v), off = free && i == r ? middle : zero3();
            by_e = dot_add(by_e, by, sub(w, off));
            if (free && i == r) by_middle = add(by_middle, by);
            if (b->flags & BODY_ARMATURE) kinetic = fmadd(half * given(b)->armature, dot(w, w), kinetic);
            if (!(b->flags & BODY_MASS)) continue;
            rate_pose X = ended_velocity(E, b, i);
            kinetic = fmadd(half, twice_kinetic(b, &X), kinetic);
            X.p = sub(X.p, middle);
            by_e = by_e + columns_dot(after->V[k], X), by_middle = add(by_middle, after->V[k++].p);
        }
        const real inner = free ? fnmadd(half * mass, dot(middle, middle), kinetic) : kinetic;
        const real per = sel(held, by_e / (rset(2) * e * inner), o);
        const real c = negate(per), by_inner = per * (one - e * e);  // created = K (1 - e^2)
        const real keeps = sel(held, e, one);
        const vec3 by_momentum = sub_scaled(scale(by_middle, sel(held, (one - e) / mass, o)), middle, by_inner);
        for (int i = r, k = first; i < top->end; i++) {
            const lane_body *b = &m->bodies[i];
            const real J = given(b)->armature;
            H->c[i] = c;
            for (int n = b->vadr; n < b->vadr + b->nv; n++) H->rate[n] = keeps * H->rate[n];
            if (b->flags & BODY_ARMATURE) add_joint_vector(b, H->rate, scale(ended_rates(E, b), (c + by_inner) * J));
            if (!(b->flags & BODY_MASS)) continue;
            const rate_pose X = ended_velocity(E, b, i);
            H->V[k] = columns_add_scaled(columns_add_scaled(zero_rate(), H->V[k], keeps), times_mass(b, X), c + by_inner);
            if (free) add_momentum_columns(b, by_momentum, &H->V[k]);
            k++;
        }
    }
    return any;
}

/// From the gradients V and rate of `after`, by what was kept, to those by the chords, in H->V and H->rate; and what goes through
/// the books: added to A->b, to q and rates of `before`, and to tau_bar [nv]; H->c. H->wound: with what these have of integral
/// terms.
KERNEL void hold_pullback(const lane_model *m, position_adjoint *A, hold_adjoint *H, const state_bar *after,
                          const state_bar *before, real *tau_bar)
{
    const solve *W = &A->W;
    const ended_motion E = {W, NULL, NULL};
    if (!kept_pullback(m, &E, H, after)) return;
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        joint_books_pullback(m, b, A, H->c[i], before->q, H->rate, tau_bar, H->wound);
        if (b->flags & BODY_MASS) add_momentum_columns(b, scale(load3(m->gravity), negate(H->c[i] * W->in.h)), &H->V[k++]);
    }
    load_books_pullback(m, A, H->c, before->q);
}

/// What the kinetic energies before the step add to the gradients by its V and rates.
KERNEL void hold_start_pullback(const lane_model *m, const hold_adjoint *H, const rate_pose *V, const real *rate,
                                const state_bar *before)
{
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real c = negate(H->c[i]);
        if (b->flags & BODY_ARMATURE) add_joint_vector(b, before->v, scale(joint_vector(b, rate), c * given(b)->armature));
        if (!(b->flags & BODY_MASS)) continue;
        before->V[k] = columns_add_scaled(before->V[k], times_mass(b, V[i]), c);
        k++;
    }
}

#endif
