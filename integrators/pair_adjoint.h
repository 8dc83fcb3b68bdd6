/// The adjoint of links that touch each other in a step of order 2: what elements of pairs (pair_terms.h) add to the gradients by
/// the state before the step, from those by the state after it and the virtual motion y of a solve (position_adjoint.h).
///
/// With the points m_a, m_b of the bodies at the ends of the arms r, the normal n of the plane of friction and P = 1 - n n',
///
///     y'r = g(s).v - l c,     v = y(m_a) - y(m_b),   c = n_gap.(y(X_a) - y(X_b)),   s = P Y,   Y = z + (T_a - T_a,k) m_a - (T_b - T_b,k) m_b
///
/// with the gradient g of friction and the normal force l. s is linear in z and in both poses at the start; l goes by the start
/// through the depth from which its damper counts. The cap m lag of g, n, m_a and m_b are those of where friction stands: of the start,
/// of the first guess, or of the solution before, through whose solve their gradients then go on (contact_adjoint.h has the same of
/// the ground).
///
/// *Where friction stands*: n is the gradient of the gap by the place of a, t = X x n that by its turn, X the middle of the gap from
/// a's origin, so that X = n x t + (n.X) n. A motion (w, v) of a, with the second derivative H of the gap, makes
///
///     dn = H_v + w x n/2,    dt = H_w + (w x t - v x n)/2,    d(n.X) = n.(w x X) + X.dn - dgap/2
///
/// as places on a core slide along it, across n: so the second derivative, which steps have, is all that is needed of shapes.
#ifndef CATENA_PAIR_ADJOINT_H
#define CATENA_PAIR_ADJOINT_H

#include "contact/law.h"
#include "contact/pair_gap.h"
#include "contact/weight_slope.h"
#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "integrators/collocation.h"
#include "integrators/pair_terms.h"
#include "integrators/pose_pullback.h"

/// Gradients by what a solve takes from elements besides poses, in the order of its list. [capacity]
typedef struct {
    real *weight;           // by how much its normal force counts
    real *before;           // by the gap at the start, of which the damper counts
    real *lag;              // by the normal force whose friction it has
    vec3 *z, *n, *ma, *mb;  // by how far bristles were bent, world axes; by where its friction stands
} pair_bars;

FN void clear_pair_bars(int count, const pair_bars *bars)
{
    for (int k = 0; k < count; k++) {
        bars->weight[k] = bars->before[k] = bars->lag[k] = rset(0);
        bars->z[k] = bars->n[k] = bars->ma[k] = bars->mb[k] = zero3();
    }
}

// ---- lists

/// What solves are given of an element t, in the lanes `where`.
FN void sel_given(mask where, const pair_touch *t, pair_touch *to)
{
    to->weight = sel(where, t->weight, to->weight), to->from = sel(where, t->from, to->from);
    to->begun = sel(where, t->begun, to->begun), to->lag = sel(where, t->lag, to->lag);
    to->z = sel3(where, t->z, to->z), to->n = sel3(where, t->n, to->n);
    to->ma = sel3(where, t->ma, to->ma), to->mb = sel3(where, t->mb, to->mb);
}

/// Adds to the list of W what the solve `from` has in its list, in the lanes `where`; in others without weight.
KERNEL void keep_list(const solve *from, mask where, solve *W)
{
    for (int k = 0; k < from->between.touches; k++) {
        const pair_touch *const t = &from->between.touch[k];
        pair_touch *const to = enlist(W, t->pair, t->element);
        if (to) sel_given(where, t, to);
    }
}

// ---- one element

/// Element t of a solve, with its bodies at the solution and at the start.
typedef struct {
    const pair_touch *t;
    const touch_pair *p;
    int a, b;
    body_at A, B, A0, B0;
    vec3 Y;
} solved_pair;

FN solved_pair pair_in(const lane_model *m, const solve *W, const pair_touch *t)
{
    solved_pair s;
    s.t = t, s.p = &m->touch_pairs[t->pair];
    s.a = m->touch_shapes[s.p->a].body, s.b = m->touch_shapes[s.p->b].body;
    s.A = now_at(W, s.a), s.B = now_at(W, s.b), s.A0 = begun_at(W, s.a), s.B0 = begun_at(W, s.b);
    s.Y = add(t->z, sub(add(s.A.dp, sub(t->arm_a, mul(s.A0.R, t->ma))), add(s.B.dp, sub(t->arm_b, mul(s.B0.R, t->mb)))));
    return s;
}

FN void add_body_load(wrench *load, int i, wrench w)
{
    if (i >= 0) load[i] = wrench_add(load[i], w);
}
FN void push_apart(const solved_pair *s, vec3 arm_a, vec3 arm_b, vec3 f, wrench *load)
{
    add_body_load(load, s->a, force_at(arm_a, f)), add_body_load(load, s->b, force_at(arm_b, opposite(f)));
}

/// Adds what the gradient b by s makes by the start, as wrenches there, and by where friction stands.
FN void bend_pullback(const solved_pair *s, vec3 b, int k, const pair_bars *bars, wrench *start)
{
    const pair_touch *const t = s->t;
    const vec3 by = along_ground(t->n, b);
    bars->z[k] = add(bars->z[k], by);
    bars->n[k] = sub_scaled(sub_scaled(bars->n[k], b, dot(t->n, s->Y)), s->Y, dot(t->n, b));
    bars->ma[k] = add(bars->ma[k], sub(tmul(s->A.R, by), tmul(s->A0.R, by)));
    bars->mb[k] = sub(bars->mb[k], sub(tmul(s->B.R, by), tmul(s->B0.R, by)));
    push_apart(s, mul(s->A0.R, t->ma), mul(s->B0.R, t->mb), opposite(by), start);
}

/// Takes gradients by what friction and stiffness of all pairs are times, and by the relaxation (m->by_contact).
FN void add_by_pairs(const lane_model *m, real friction, real grip, real relaxation)
{
    real *const all = m->by_contact ? m->by_contact + 2 * m->ncontact : NULL;
    if (all) all[0] = all[0] + relaxation, all[1] = all[1] + friction, all[2] = all[2] + grip;
}

/// What the gradient l by the normal force makes: by the gap; and added by that at the start, by the weight, and by what pairs are
/// made of, as press_by_contact().
FN real press_pullback(const lane_model *m, const solve *W, const pair_touch *t, real l, int k, const pair_bars *bars)
{
    const real damped = m->relaxation * W->in.drag, share = damped / (rset(1) + damped);
    const real by = sel(lt(t->begun, rset(0)), t->normal.stiffness * share * l, rset(0));
    bars->before[k] = bars->before[k] + by;
    bars->weight[k] = bars->weight[k] + l * t->normal.force / sel(gt(t->weight, rset(0)), t->weight, rset(1));
    const real undamped = rset(1) / (rset(1) + damped), grip = t->normal.stiffness * undamped;
    const real by_relaxation = W->in.drag * fnmadd(grip * t->from, undamped, t->normal.force * undamped);
    add_by_pairs(m, rset(0), l * t->normal.force / m->pair_grip, sel(gt(t->normal.force, rset(0)), l * by_relaxation, rset(0)));
    return negate(t->normal.stiffness * l);
}

// ---- what is remembered

/// Of z' = s cut to m min(lag, l)/k: the gradients by s, lag and l, and by what m and k of all pairs are times.
typedef struct {
    vec3 s;
    real lag, l, friction, grip;
} kept_bend_bar;

FN kept_bend_bar kept_bend_pullback(const lane_model *m, const touch_pair *p, const pair_touch *t, vec3 bar)
{
    const real o = rset(0), one = rset(1), length = root(dot(t->s, t->s)), per = pair_friction(m, p) / pair_slide(m, p);
    const mask lagged = lt(t->lag, t->normal.force);
    const real least = sel(lagged, t->lag, t->normal.force), most = per * least;
    const mask whole = le(length, most);
    const real inverse = one / sel(gt(length, o), length, one);
    const vec3 d = scale(t->s, inverse);
    const real cut = sel(whole, o, dot(d, bar)), by_most = per * cut;
    kept_bend_bar B;
    B.friction = cut * least * rset(p->friction) / pair_slide(m, p), B.grip = negate(cut * most / m->pair_grip);
    B.s = sel3(whole, bar, scale(sub_scaled(bar, d, dot(d, bar)), most * inverse));
    B.lag = sel(lagged, by_most, o), B.l = sel(lagged, o, by_most);
    return B;
}

/// Of what pairs remember after the step, with the gradients slip and press [nslot]: those by x, added to b [nv], by the start,
/// added to q_bar, and to `bars`. Slots as of keep_touches().
KERNEL void touch_memory_pullback(const lane_model *m, const solve *W, const vec3 *slip, const real *press, pose_work *A,
                                  const pair_bars *bars, real *b, real *q_bar)
{
    const between_work *const B = &W->between;
    const real o = rset(0), one = rset(1);
    wrench *const load = A->load;
    for (int way = 0; way < 2; way++) {  // the end, the start
        real count = o;
        for (int i = 0; i < m->nbody; i++) load[i] = wrench_zero();
        for (int k = 0, pair = -1; k < B->touches; k++) {
            const pair_touch *const t = &B->touch[k];
            if (t->pair != pair) count = o, pair = t->pair;
            const mask presses = gt(t->normal.force, o);
            if (!t->acts || !any_of(presses)) continue;
            const solved_pair s = pair_in(m, W, t);
            vec3 by = zero3();
            real l = o;
            for (int j = s.p->slot; j < s.p->slot + s.p->slots; j++) {
                const real slot = rset(j - s.p->slot);
                const mask put = both(presses, both(le(slot, count), le(count, slot)));
                by = sel3(put, slip[j], by), l = sel(put, press[j], l);
            }
            count = count + sel(presses, one, o);
            by = mul(s.B.R, by);
            const kept_bend_bar kept = kept_bend_pullback(m, s.p, t, by);
            if (way == 0) {
                const real by_gap = negate(t->normal.stiffness * (l + kept.l));
                wrench turned = wrench_zero();
                turned.n = cross(by, kept_bend(m, s.p, t));
                push_apart(&s, t->at.ra, t->at.rb, scale(t->at.n, by_gap), load);
                push_apart(&s, t->arm_a, t->arm_b, along_ground(t->n, kept.s), load);
                add_body_load(load, s.b, turned);
                continue;
            }
            bend_pullback(&s, kept.s, k, bars, load);
            press_pullback(m, W, t, l + kept.l, k, bars);
            bars->lag[k] = bars->lag[k] + kept.lag, add_by_pairs(m, kept.friction, kept.grip, o);
        }
        add_joint_rows(m, way ? W->start : W->now, load, way ? q_bar : b);
    }
}

// ---- the solve

FN twist motion_of(const pose_work *A, int i)
{
    twist none;
    none.w = none.v = zero3();
    return i < 0 ? none : A->motion[i];
}

/// What the virtual motion A->motion gives: gradients by the start, added to q_bar [nv], and to `bars`, all of -y'r.
KERNEL void add_touch_rows(const lane_model *m, const solve *W, pose_work *A, const pair_bars *bars, real *q_bar)
{
    const between_work *const B = &W->between;
    for (int i = 0; i < m->nbody; i++) A->load[i] = wrench_zero();
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        if (!t->acts) continue;
        const solved_pair s = pair_in(m, W, t);
        const friction_law *const F = &t->rub;
        const twist ya = motion_of(A, s.a), yb = motion_of(A, s.b);
        const vec3 v = sub(moved_point(ya, t->arm_a), moved_point(yb, t->arm_b));
        press_pullback(m, W, t, dot(t->at.n, sub(moved_point(ya, t->at.ra), moved_point(yb, t->at.rb))), k, bars);
        // the second derivative of the potential by s, in all directions
        const vec3 b = add_scaled(scale(v, F->k2), F->t1, (F->k1 - F->k2) * dot(F->t1, v));
        bend_pullback(&s, opposite(b), k, bars, A->load);
        bars->ma[k] = sub(bars->ma[k], tmul(s.A.R, cross(F->g, ya.w)));
        bars->mb[k] = add(bars->mb[k], tmul(s.B.R, cross(F->g, yb.w)));
        const real by_cap = sel(gt(t->lag, rset(0)), dot(F->by_cap, v), rset(0)),
                   work = sel(gt(F->k1, rset(0)), dot(F->g, v), rset(0));
        bars->lag[k] = bars->lag[k] - pair_friction(m, s.p) * by_cap;
        add_by_pairs(m, negate(rset(s.p->friction) * t->lag * by_cap), negate(work / m->pair_grip), rset(0));
    }
    add_joint_rows(m, W->start, A->load, q_bar);
}

// ---- where friction stands

/// Adds in the lanes `where` what the gradients by n, ma and mb of element k make by the poses at which it stood, as wrenches.
FN void stand_pullback(const lane_model *m, const solved_pair *s, const pair_pose *P, mat3 Ra, mat3 Rb, mask where, int k,
                       const pair_bars *bars, wrench *load)
{
    const touch_shape *const a = &m->touch_shapes[s->p->a], *const b = &m->touch_shapes[s->p->b];
    const pair_gap g = gap_at(a, b, s->t->element, P, &s->t->n);
    const pair_bend H = pair_bend_at(a, b, s->t->element, P, &s->t->n);
    const real half = rset(0.5);
    const vec3 n = g.n, turn = cross(g.ra, n), X = sub_scaled(g.ra, n, fmadd(half, g.gap, rset(a->radius)));
    const vec3 by_a = mul(Ra, bars->ma[k]), by_b = mul(Rb, bars->mb[k]), by = add(by_a, by_b);
    const real along = dot(n, by);
    twist d;  // gradients by t and by n
    d.w = cross(by, n);
    d.v = add_scaled(add(bars->n[k], add_scaled(cross(turn, by), by, dot(n, X))), X, along);
    wrench on_a = inertia_times(&H.aa, d), on_b;
    on_b.n = add(tmul(H.ww, d.w), tmul(H.vw, d.v)), on_b.f = add(tmul(H.wv, d.w), tmul(H.vv, d.v));
    on_a.n = add_scaled(on_a.n, add(cross(n, d.v), cross(turn, d.w)), half);
    on_a.f = add_scaled(on_a.f, cross(d.w, n), half);
    // the middle turns with both bodies, and is half the gap off
    on_a.n = sub(add_scaled(on_a.n, cross(X, n), along), cross(X, by_a));
    on_b.n = sub(on_b.n, cross(add(X, P->ab), by_b));
    on_a.f = add(on_a.f, by_b), on_b.f = sub(on_b.f, by_b);
    on_a = wrench_add(on_a, force_at(g.ra, scale(n, negate(half * along))));
    on_b = wrench_add(on_b, force_at(g.rb, scale(n, half * along)));
    const wrench none = wrench_zero();
    add_body_load(load, s->a, sel_slope(where, on_a, none)), add_body_load(load, s->b, sel_slope(where, on_b, none));
}

/// Adds what the gradient `by` by the weight of an element makes by the pose P, in the lanes `where`, as wrenches.
FN void add_weight_slope(const lane_model *m, const solved_pair *s, const pair_pose *P, mask where, real by, wrench *load)
{
    const wrench none = wrench_zero(),
                 g = slope_times(weight_slope(&m->touch_shapes[s->p->a], &m->touch_shapes[s->p->b], s->t->element, P), by);
    add_body_load(load, s->a, sel_slope(where, g, none));
    add_body_load(load, s->b, sel_slope(where, slope_of_other(g, P->ab), none));
}

/// Of the normal forces, and where friction stands, that the solution in W has given to the next solve in the lanes `where`: takes
/// their gradients out of `bars`, and adds those by x to b [nv].
KERNEL void touch_correction_pullback(const lane_model *m, const solve *W, mask where, pose_work *A, const pair_bars *bars,
                                      real *b)
{
    const between_work *const B = &W->between;
    const real o = rset(0);
    for (int i = 0; i < m->nbody; i++) A->load[i] = wrench_zero();
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const mask acts = both(where, acts_here(t));
        if (any_of(acts)) {
            const solved_pair s = pair_in(m, W, t);
            const pair_pose P = pair_now(m, W, s.p);
            const real by_gap = press_pullback(m, W, t, sel(acts, bars->lag[k], o), k, bars);
            push_apart(&s, t->at.ra, t->at.rb, scale(t->at.n, by_gap), A->load);
            stand_pullback(m, &s, &P, s.A.R, s.B.R, acts, k, bars, A->load);
        }
        bars->lag[k] = sel(where, o, bars->lag[k]), bars->n[k] = sel3(where, zero3(), bars->n[k]);
        bars->ma[k] = sel3(where, zero3(), bars->ma[k]), bars->mb[k] = sel3(where, zero3(), bars->mb[k]);
    }
    add_joint_rows(m, W->now, A->load, b);
}

/// Of how much elements count that the solution in W has brought up in the lanes `where`, for the next solve: takes their gradients out
/// of `bars`, and adds those by x to b [nv].
KERNEL void touch_joining_pullback(const lane_model *m, const solve *W, const solve *next, mask where, pose_work *A,
                                   const pair_bars *bars, real *b)
{
    const real o = rset(0);
    for (int i = 0; i < m->nbody; i++) A->load[i] = wrench_zero();
    for (int k = 0; k < W->between.touches; k++) {
        const pair_touch *const t = &W->between.touch[k], *const then = &next->between.touch[k];
        const mask brought = both(where, both(le(t->weight, o), gt(then->weight, o))),
                   part = both(brought, lt(then->weight, rset(1)));
        if (any_of(part)) {
            const solved_pair s = pair_in(m, W, t);
            const pair_pose P = pair_now(m, W, s.p);
            add_weight_slope(m, &s, &P, part, bars->weight[k], A->load);
        }
        bars->weight[k] = sel(brought, o, bars->weight[k]);
    }
    add_joint_rows(m, W->now, A->load, b);
}

// ---- the start

/// Where an element of the first solve has friction, and stands where it was foreseen: it was apart as the step began.
FN mask stands_ahead(const pair_touch *t) { return both(gt(t->lag, rset(0)), gt(t->begun, rset(0))); }

/// Adds what the gradient by the weight of element k makes where that counts in part, of the lanes `where`: as it does at the start of
/// the step, or, where it was not near then, at the first guess (way 1).
FN void part_pullback(const lane_model *m, const solved_pair *s, const pair_pose *start, const pair_pose *guess, int way,
                      mask where, int k, const pair_bars *bars, wrench *load)
{
    const touch_shape *const a = &m->touch_shapes[s->p->a], *const b = &m->touch_shapes[s->p->b];
    const pair_touch *const t = s->t;
    const mask part = both(where, lt(t->weight, rset(1)));
    if (!any_of(part)) return;
    const real begun = weight_of_element(a, b, t->element, start, apart_and_slope(a, b, start).apart);
    const mask of_start = le(magnitude(begun - t->weight), rset(1e-9)), here = both(part, way ? not_(of_start) : of_start);
    if (!any_of(here)) return;
    add_weight_slope(m, s, way ? guess : start, here, bars->weight[k], load);
}

/// Element k as its first solve was given it: that of `first`, or, of what later solves have brought up, of `last`.
FN pair_touch given_first(const lane_model *m, const solve *first, const solve *last, int k)
{
    pair_touch t = last->between.touch[k];
    const pair_touch *const f = &first->between.touch[k];
    const mask there = gt(f->weight, rset(0));
    vec3 z;
    real press;
    recall(first, &m->touch_pairs[t.pair], t.element, &z, &press);
    t.lag = sel(there, f->lag, press), t.n = sel3(there, f->n, t.n);
    return t;
}

/// What is left in `bars` after the first solve of a step whose last one is `last`: by the start, added to q_bar [nv], and by what
/// pairs remember of the step before, added to slip and press [nslot]; and by the first guess, where G has bodies, added to
/// guess_bar [nv].
KERNEL void touch_start_pullback(const lane_model *m, const solve *first, const solve *last, const solve *G, pose_work *A,
                                 const pair_bars *bars, vec3 *slip, real *press, real *q_bar, real *guess_bar)
{
    const real o = rset(0);
    for (int way = 0; way < 2; way++) {  // the start, the guess
        for (int i = 0; i < m->nbody; i++) A->load[i] = wrench_zero();
        for (int k = 0; k < last->between.touches; k++) {
            const pair_touch t = given_first(m, first, last, k);
            const solved_pair s = pair_in(m, last, &t);
            const mask looks = gt(t.weight, o), rubs = both(looks, gt(t.lag, o)), ahead = both(rubs, stands_ahead(&t));
            const pair_pose P0 = pair_begun(m, last, s.p), P = pair_now(m, G, s.p);
            part_pullback(m, &s, &P0, &P, way, both(looks, gt(first->between.touch[k].weight, o)), k, bars, A->load);
            if (way) {
                if (!any_of(ahead)) continue;
                stand_pullback(m, &s, &P, now_at(G, s.a).R, now_at(G, s.b).R, ahead, k, bars, A->load);
                continue;
            }
            const mask stands = both(rubs, not_(ahead)), damped = both(looks, lt(t.begun, o));
            if (any_of(stands)) stand_pullback(m, &s, &P0, s.A0.R, s.B0.R, stands, k, bars, A->load);
            if (any_of(damped)) {
                const pair_gap g = gap_of_pair(m, s.p, t.element, &P0, &t.n);
                const vec3 f = sel3(damped, scale(g.n, bars->before[k]), zero3());
                push_apart(&s, sel3(damped, g.ra, zero3()), sel3(damped, g.rb, zero3()), f, A->load);
            }
            wrench turned = wrench_zero();
            turned.n = cross(t.z, bars->z[k]);
            add_body_load(A->load, s.b, turned);
            const real key = rset(t.element + 1);
            const vec3 by = tmul(s.B0.R, bars->z[k]);
            for (int j = s.p->slot; j < s.p->slot + s.p->slots; j++) {
                const mask is = both(looks, both(le(key, last->pair_of[j]), le(last->pair_of[j], key)));
                slip[j] = add(slip[j], sel3(is, by, zero3())), press[j] = press[j] + sel(is, bars->lag[k], o);
            }
        }
        add_joint_rows(m, way ? G->now : last->start, A->load, way ? guess_bar : q_bar);
    }
}

#endif
