/// The adjoint of contact points in a step of order 2: what they add to the gradients by the state before the step, from those by
/// the state after it and the virtual motion y of a solve (position_adjoint.h).
///
/// With the arms of the point at its end, c, and its start, c_k, f the normal of the plane of friction and P = 1 - f f',
///
///     v = xi_c - r Q (w x f),   Q = R_k R'          how the virtual motion bends the bristles, but for P
///     y'r = g(s').v - l n.xi_c,                     s' = P ((1 - a) z + u + r Q f),   a = t/(h + t)
///
/// with the law's gradient g and normal force l. s' is linear in z and u = c - c_k, and l goes by the start through the depth
/// from which its damper counts alone. The cap m l of g is that of the normal forces `lag`: those at the start, or, in the solve that
/// corrects friction, those of the solution before; then their gradient goes on to that solution, and through its solve. So does
/// that of f where a surface is not flat. Torsional and rolling friction: rolling_adjoint.h.
///
/// Alpha solves the same with its sigma for 1/h in a, and counts the rates of bristles and of the depth from where the body drifts
/// to, by the columns D: -a (e + r R_k D'f) joins s', and -n_k.e the depth at the start, with the drift e of c. (docs/theory.md 4.12)
///
/// Of what spins (turning_frame.h), R~ stands in the place of R_k but in c_k, r f x way joins s', and e has what is beyond the arc.
#ifndef CATENA_CONTACT_ADJOINT_H
#define CATENA_CONTACT_ADJOINT_H

#include "contact/law.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "integrators/collocation.h"
#include "integrators/frame_adjoint.h"
#include "integrators/pose_pullback.h"
#include "integrators/position_step.h"
#include "integrators/rolling_adjoint.h"

/// Gradients by what a solve takes from contact points besides poses. [ncontact]
typedef struct {
    vec3 *slip;  // [nbent] by how far bristles were bent as the step began
    real *lag;   // by the normal forces whose friction it has
    vec3 *face;  // by the planes of that, where there are surfaces
    rate_pose *drift;  // [nbody] of alpha: by the columns of drift
    seen_bar *seen;    // [nbody] by what bodies that spin are seen from
} contact_bars;

/// Load k, a contact point, in a solve: where it stands, and its laws there.
typedef struct {
    const lane_point_load *s;
    touch c;
    vec3 u, z, turned;  // its way; how far it was bent; Q f
    real share;         // 1 - a
    const rate_pose *drift;  // NULL: there is none, and
    vec3 drifts, rolled;     // 0: e, R_k D'f
    mat3 R_k;
    const lane_body *spins;   // NULL: the body does not, and
    const body_frame *frame;  // what it is seen from, and its axes as the step begins
    mat3 begun;
    normal_law normal;
    friction_law rub;
} solved_touch;

FN solved_touch touch_in(const lane_model *m, const solve *W, int k)
{
    solved_touch t;
    const lane_point_load *s = t.s = &m->loads[k];
    const real drag = W->in.drag, damped = m->relaxation * drag;
    t.c = contact_at(m, W, k);
    t.u = add(W->body[s->body].dp, sub(t.c.arm, W->held[k].arm)), t.z = W->slip[s->contact];
    t.turned = tmul(t.c.Qt, t.c.face), t.share = rset(1) / (rset(1) + damped);
    t.R_k = chord_from(W, s->body), t.drift = W->drift ? &W->drift[s->body] : NULL, t.drifts = t.rolled = zero3();
    t.spins = W->turn.of && spins(&m->bodies[s->body]) ? &m->bodies[s->body] : NULL;
    t.frame = t.spins ? &W->turn.of[s->body] : NULL, t.begun = W->start[s->body].R;
    if (t.drift) {
        t.drifts = mul_add(t.drift->p, t.drift->R, load3(s->point));
        if (t.spins) t.drifts = add(t.drifts, beyond_arc(m, W, s));
        t.rolled = mul(t.R_k, tmul(t.drift->R, t.c.face));
    }
    t.normal = press_on(m, s, &t.c, t.c.gap, drag);
    t.rub = rub_in_step(m, s, &t.c, drag, s->friction * W->lag[s->contact]);
    return t;
}

/// Takes gradients by the friction and the stiffness k of a point, and by the relaxation of all (m->by_contact).
FN void add_by_contact(const lane_model *m, const lane_point_load *s, real friction, real grip, real relaxation)
{
    real *const to = m->by_contact;
    if (!to) return;
    real *const own = to + 2 * s->contact, *const all = to + 2 * m->ncontact;
    own[0] = own[0] + friction, own[1] = own[1] + grip, *all = *all + relaxation;
}

/// By them, what the gradient l by the normal force K (-gap - from a) of load k makes, with K = k (1 + t), a = t/(1 + t) and
/// t = relaxation/h.
FN void press_by_contact(const lane_model *m, const solve *W, const solved_touch *t, real l)
{
    const lane_point_load *s = t->s;
    const real o = rset(0), over = t->normal.force * t->share / s->grip;
    const mask in = gt(t->normal.force, o);
    const real by_relaxation = W->in.drag * s->grip * fnmadd(t->c.from, t->share, over);
    add_by_contact(m, s, o, l * t->normal.force / s->grip, sel(in, l * by_relaxation, o));
}

/// By them, what g.v makes, g of friction, the second derivative b = g' v: g = K s' to the cap m lag, s' = s - a rest.
FN void rub_by_contact(const lane_model *m, const solve *W, const solved_touch *t, vec3 v, vec3 b)
{
    const lane_point_load *s = t->s;
    const friction_law *F = &t->rub;
    const real o = rset(0), work = sel(gt(F->k1, o), dot(F->g, v), o), drag = W->in.drag;
    const real by_share = negate(drag * t->share * t->share * dot(b, t->c.rest));
    add_by_contact(m, s, W->lag[s->contact] * dot(F->by_cap, v), work / s->grip, fmadd(drag * t->share, work, by_share));
}

/// By the relaxation, what g.v makes of a point that resists turning, g of K y, y = (1 - a) z + 2 v.
FN void turn_by_contact(const lane_model *m, const solve *W, const solved_touch *t, const solved_turn *T, vec3 v)
{
    const turn_law *F = &T->law;
    const real o = rset(0), drag = W->in.drag * t->share;
    real work = o;
    for (int k = 0; k < 2; k++) work = work + sel(gt(F->k[k], o), dot(F->g, F->along[k]) * dot(v, F->along[k]), o);
    add_by_contact(m, t->s, o, o, drag * fnmadd(t->share, dot(turn_slope(F, v), T->z), work));
}

/// Where gradients by turns of the axes go from which those of a body count.
FN vec3 *turn_before(const solved_touch *t, wrench *start, const contact_bars *bars)
{
    return t->spins ? &bars->seen[t->s->body].from : &start->n;
}
FN vec3 *way_of_frame(const solved_touch *t, const contact_bars *bars)
{
    return t->spins ? &bars->seen[t->s->body].at.way : NULL;
}

/// Adds the gradient of f.(e + r R_k D'g) by the columns D, and by the arc.
FN void drift_pullback(const solved_touch *t, vec3 f, vec3 g, real r, const contact_bars *bars)
{
    rate_pose *const D = &bars->drift[t->s->body];
    D->p = add(D->p, f), add_outer(D, f, load3(t->s->point)), add_outer(D, scale(g, r), tmul(t->R_k, f));
    if (t->spins) arc_pullback(t->spins, t->frame, t->begun, load3(t->s->point), f, &bars->seen[t->s->body]);
}

/// Adds the gradients that b, by bristles P (share z + u + r Q f - (1 - share) (e + r R_k D'f)), makes by z, by f, by D, and by the
/// start, as a wrench there. b is a vector of space: P is in here. Returns that by u.
FN vec3 bristles_pullback(const solved_touch *t, vec3 b, real share, vec3 arm, wrench *start, const contact_bars *bars)
{
    const lane_point_load *s = t->s;
    const vec3 f = t->c.face, by = along_ground(f, b);
    vec3 *const slip = &bars->slip[s->contact], *const turn = turn_before(t, start, bars);
    *slip = add_scaled(*slip, by, share);
    *start = wrench_add(*start, force_at(arm, opposite(by)));
    *turn = add_scaled(*turn, cross(t->turned, by), s->radius);
    const real a = share - rset(1), roll = a * s->radius;
    if (t->spins) bars->seen[s->body].at.way = add_scaled(bars->seen[s->body].at.way, cross(by, f), s->radius);
    if (t->drift) {
        *turn = add_scaled(*turn, cross(t->rolled, by), roll);
        drift_pullback(t, scale(by, a), f, s->radius, bars);
    }
    if (!s->surface) return by;
    const vec3 drifts = add_scaled(t->drifts, t->rolled, s->radius);
    const vec3 Y = add_scaled(add_scaled(add_scaled(t->u, t->z, share), t->turned, s->radius), drifts, a);
    vec3 *const face = &bars->face[s->contact];
    *face = sub_scaled(sub_scaled(*face, b, dot(f, Y)), Y, dot(f, b));
    *face = add_scaled(*face, mul(t->c.Qt, by), s->radius);
    if (t->spins) *face = add_scaled(*face, cross(t->frame->at.way, b), s->radius);
    if (t->drift) *face = add_scaled(*face, mul(t->drift->R, tmul(t->R_k, by)), roll);
    return by;
}

/// Adds the gradient of face.f by where the point k is that has its plane from there, x, as a force at the end of the arm.
FN void face_pullback(const lane_model *m, int k, vec3 x, vec3 arm, vec3 face, wrench *load)
{
    *load = wrench_add(*load, force_at(arm, face_slope(surface_of(m, &m->loads[k]), x, face)));
}

/// Adds the gradient that l, by the normal force of load k, makes by the start and by D: through the depth that its damper counts
/// from.
FN void damper_pullback(const lane_model *m, const solve *W, int k, const solved_touch *t, real l, wrench *start,
                        const contact_bars *bars)
{
    const load_state *at = &W->held[k];
    const vec3 n = stand_of(m, t->s, at->gap).n;
    const real by = sel(lt(t->c.before, rset(0)), t->normal.stiffness * (rset(1) - t->share) * l, rset(0));
    *start = wrench_add(*start, force_at(at->arm, scale(n, by)));
    if (!t->drift) return;
    drift_pullback(t, scale(n, by), zero3(), rset(0), bars);
    if (!t->s->surface) return;
    const sym3 H = bend_at(surface_of(m, t->s), at->gap);
    *start = wrench_add(*start, force_at(at->arm, smul(H, scale(t->drifts, by))));
}

/// Steps leave the bend of a terrain out of their Newton matrix: adds it to the loads of the iterate that W has evaluated.
KERNEL void add_terrain_bends(const lane_model *m, solve *W)
{
    for (int k = 0; k < m->nload && m->nsurface; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES) || !s->surface || surface_of(m, s)->kind != SURFACE_TERRAIN) continue;
        const solved_touch t = touch_in(m, W, k);
        add_bend(&W->load[m->bodies[s->body].load], t.c.arm, bend_at(surface_of(m, s), t.c.x), t.normal.force);
    }
}

FN void clear_wrenches(const lane_model *m, wrench *w)
{
    for (int i = 0; i < m->nbody; i++) w[i] = wrench_zero();
}

FN void clear_drift(const lane_model *m, const contact_bars *bars)
{
    for (int i = 0; i < m->nbody && bars->drift; i++)
        bars->drift[i].R.x = bars->drift[i].R.y = bars->drift[i].R.z = bars->drift[i].p = zero3();
}

FN void clear_contact_bars(const lane_model *m, const contact_bars *bars)
{
    for (int k = 0; k < m->nbent; k++) bars->slip[k] = zero3();
    for (int k = 0; k < m->ncontact; k++) {
        bars->lag[k] = rset(0);
        if (m->nsurface) bars->face[k] = zero3();
    }
    clear_drift(m, bars);
}

/// Of a point whose body resists turning, under the virtual turn xi, as add_contact_rows(). acts: where its cap is not 0.
FN void add_turn_rows(const lane_model *m, const solve *W, int k, const solved_touch *t, vec3 xi, mask acts, wrench *start,
                      const contact_bars *bars)
{
    const lane_point_load *s = t->s;
    const solved_turn T = turn_solved(m, W, k, &t->c, t->share);
    const vec3 v = turn_rate(&T.T, xi);
    real *const lag = &bars->lag[s->contact];
    turn_bristles_pullback(&T, opposite(turn_slope(&T.law, v)), t->share, &bars->slip[turn_slot(m, s)],
                           turn_before(t, start, bars), way_of_frame(t, bars));
    turn_arm_pullback(&T, xi, turn_before(t, start, bars));
    *lag = *lag - sel(acts, dot(T.law.by_press, v), rset(0));
    turn_by_contact(m, W, t, &T, opposite(v));
    if (s->surface) bars->face[s->contact] = sub(bars->face[s->contact], turn_by_face(&T, v));
}

/// What the virtual motion A->motion gives: gradients by the start, added to q_bar [nv], and to `bars`, all of -y'r.
KERNEL void add_contact_rows(const lane_model *m, const solve *W, pose_work *A, const contact_bars *bars, real *q_bar)
{
    clear_wrenches(m, A->load);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const solved_touch t = touch_in(m, W, k);
        const friction_law *F = &t.rub;
        const twist xi = A->motion[s->body];
        wrench *const start = &A->load[s->body];
        const vec3 arm = W->held[k].arm, c = moved_point(xi, t.c.arm), turn = cross(xi.w, t.c.face), rolls = tmul(t.c.Qt, turn);
        const vec3 v = sub_scaled(c, rolls, s->radius);
        // the second derivative of the potential by s', in all directions
        const vec3 b = add_scaled(scale(v, F->k2), F->t1, (F->k1 - F->k2) * dot(F->t1, v));
        const mask acts = either(gt(t.normal.stiffness, rset(0)), gt(W->lag[s->contact], rset(0)));
        const real by_cap = sel(acts, s->friction * dot(F->by_cap, v), rset(0));
        rub_by_contact(m, W, &t, opposite(v), opposite(b)), press_by_contact(m, W, &t, dot(t.c.n, c));
        real *const lag = &bars->lag[s->contact];
        bristles_pullback(&t, opposite(b), t.share, arm, start, bars);
        vec3 *const before = turn_before(&t, start, bars);
        *before = add_scaled(*before, cross(rolls, F->g), s->radius);
        damper_pullback(m, W, k, &t, dot(t.c.n, c), start, bars);
        *lag = *lag - by_cap;
        if (s->rolls) add_turn_rows(m, W, k, &t, xi.w, acts, start, bars);
        if (!s->surface) continue;
        vec3 *const face = &bars->face[s->contact];
        *face = add_scaled(*face, cross(mul(t.c.Qt, F->g), xi.w), s->radius);
    }
    add_joint_rows(m, W->start, A->load, q_bar);
}

/// Of z' = s cut to m min(lag, l)/k: the gradients by s, lag and l, by m and k.
typedef struct {
    vec3 s;
    real lag, l, friction, grip;
} kept_bar;

FN kept_bar kept_slip_pullback(const lane_point_load *p, vec3 s, real lag, real l, vec3 bar)
{
    const real o = rset(0), one = rset(1), length = root(dot(s, s)), per = p->friction / p->grip;
    const mask lagged = lt(lag, l), whole = le(length, per * sel(lagged, lag, l));
    const real inverse = one / sel(gt(length, o), length, one), most = p->friction * sel(lagged, lag, l) / p->grip;
    const vec3 t = scale(s, inverse);
    const real by_length = sel(whole, o, dot(t, bar)), by_most = per * by_length;
    kept_bar B;
    B.s = sel3(whole, bar, scale(sub_scaled(bar, t, dot(t, bar)), most * inverse));
    B.lag = sel(lagged, by_most, o), B.l = sel(lagged, o, by_most);
    B.friction = by_length * sel(lagged, lag, l) / p->grip, B.grip = negate(by_length * most / p->grip);
    return B;
}

/// Of what contact points remember after the step, with the gradients slip [nbent] and press [ncontact]: those by x, added to b
/// [nv], by the start, added to q_bar, and to `bars`.
KERNEL void contact_memory_pullback(const lane_model *m, const solve *W, const vec3 *slip, const real *press, pose_work *A,
                                    const contact_bars *bars, real *b, real *q_bar)
{
    for (int way = 0; way < 2; way++) {  // the end, the start
        wrench *const load = A->load;
        clear_wrenches(m, load);
        for (int k = 0; k < m->nload; k++) {
            const lane_point_load *s = &m->loads[k];
            if (!(s->flags & LOAD_TOUCHES)) continue;
            const solved_touch t = touch_in(m, W, k);
            const kept_bar B = kept_slip_pullback(s, t.c.s, W->lag[s->contact], t.normal.force, slip[s->contact]);
            solved_turn T;
            kept_turn_bar C = {zero3(), zero3(), rset(0), rset(0)};
            if (s->rolls) {
                T = turn_solved(m, W, k, &t.c, t.share);
                C = kept_turn_pullback(&T, W->lag[s->contact], t.normal.force, slip[turn_slot(m, s)]);
            }
            const real l = press[s->contact] + B.l + C.l;
            wrench *const to = &load[s->body];
            if (way == 0) {
                const real by_gap = t.normal.stiffness * l;
                *to = wrench_add(*to, gradient_of_touch(s, &t.c, along_ground(t.c.face, B.s), by_gap).w);
                if (s->rolls) to->n = add(to->n, turn_pull(&T.T, C.bent));
                continue;
            }
            real *const lag = &bars->lag[s->contact];
            bristles_pullback(&t, B.s, rset(1), W->held[k].arm, to, bars);
            damper_pullback(m, W, k, &t, l, to, bars);
            *lag = *lag + B.lag + C.lag;
            add_by_contact(m, s, B.friction, B.grip, rset(0)), press_by_contact(m, W, &t, l);
            if (s->rolls)
                turn_bristles_pullback(&T, C.bent, rset(1), &bars->slip[turn_slot(m, s)], turn_before(&t, to, bars),
                                       way_of_frame(&t, bars));
            if (s->rolls && s->surface) bars->face[s->contact] = add(bars->face[s->contact], C.face);
        }
        add_joint_rows(m, way ? W->start : W->now, load, way ? q_bar : b);
    }
}

/// Of planes that the solve took from the start of the step.
KERNEL void start_face_pullback(const lane_model *m, const solve *W, const vec3 *face, pose_work *A, real *q_bar)
{
    if (!m->nsurface) return;
    clear_wrenches(m, A->load);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES) || !s->surface) continue;
        face_pullback(m, k, W->held[k].gap, W->held[k].arm, face[s->contact], &A->load[s->body]);
    }
    add_joint_rows(m, W->start, A->load, q_bar);
}

/// Of the normal forces, and the planes, that the solution in W has given to the next solve, with the gradients of `by`: those by
/// x, added to b [nv], and by the start, added to q_bar and to `bars`, those of this solution.
KERNEL void correction_pullback(const lane_model *m, const solve *W, const contact_bars *by, const contact_bars *bars,
                                pose_work *A, real *b, real *q_bar)
{
    for (int way = 0; way < 2; way++) {
        clear_wrenches(m, A->load);
        for (int k = 0; k < m->nload; k++) {
            const lane_point_load *s = &m->loads[k];
            if (!(s->flags & LOAD_TOUCHES)) continue;
            const solved_touch t = touch_in(m, W, k);
            const real l = by->lag[s->contact];
            wrench *const to = &A->load[s->body];
            if (way) {
                damper_pullback(m, W, k, &t, l, to, bars), press_by_contact(m, W, &t, l);
                continue;
            }
            *to = wrench_add(*to, force_at(t.c.arm, scale(t.c.n, negate(t.normal.stiffness * l))));
            if (s->surface) face_pullback(m, k, t.c.x, t.c.arm, by->face[s->contact], to);
        }
        add_joint_rows(m, way ? W->start : W->now, A->load, way ? q_bar : b);
    }
}

/// Of the normal forces with which a world starts from q and v: adds what their gradients press [ncontact] make by q and v to
/// q_bar and v_bar [nv]. T: placements at q; p [nbody]: scratch.
KERNEL void start_press_pullback(const lane_model *m, const real *q, const real *v, const real *press, const placement *T,
                                 vec3 *p, pose_work *A, real *q_bar, real *v_bar)
{
    if (!m->ncontact) return;
    find_origins(m, q, T, p);
    joint_twists(m, T, v, A->motion);
    for (int way = 0; way < 2; way++) {  // by the rate of the gap, by the gap
        for (int i = 0; i < m->nbody; i++) A->load[i] = wrench_zero(), A->moment[i] = zero3();
        for (int k = 0; k < m->nload; k++) {
            const lane_point_load *s = &m->loads[k];
            if (!(s->flags & LOAD_TOUCHES)) continue;
            const int i = s->body;
            const vec3 arm = mul(T[i].R, load3(s->point)), x = add(p[i], arm), rate = moved_point(A->motion[i], arm);
            const surface_point on = stand_of(m, s, x);
            const press_force N = press_at(m, s, on.gap, dot(on.n, rate));
            const real l = press[s->contact];
            if (way == 0) {
                add_by_contact(m, s, rset(0), l * N.force / s->grip, l * N.by_gap * dot(on.n, rate));
                add_rate_load(A, i, arm, scale(on.n, N.by_rate * l));
                continue;
            }
            A->load[i] = wrench_add(A->load[i], force_at(arm, scale(on.n, N.by_gap * l)));
            if (!s->surface) continue;
            const vec3 by_normal = scale(rate, N.by_rate * l);
            A->load[i] = wrench_add(A->load[i], force_at(arm, smul(bend_at(surface_of(m, s), x), by_normal)));
        }
        if (way == 0) rate_rows(m, T, rset(1), A, q_bar, v_bar);
        else add_joint_rows(m, T, A->load, q_bar);
    }
}

#endif
