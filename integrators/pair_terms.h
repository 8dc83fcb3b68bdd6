/// Links that touch each other in a step of order 2: which elements of pairs are looked at, their normal forces and friction at
/// the iterate, their wrenches and second derivatives, and what is remembered of them. (docs/theory.md 4.14)
///
/// An element (contact/pair_gap.h) has the normal law of contact/law.h. Its friction stands on the plane across its normal, and
/// goes by the way of the two material points that are in the middle of the gap as the solve begins:
///
///     D = P [(T_a m_a - T_a,k m_a) - (T_b m_b - T_b,k m_b)],    s = P z + D,    P = 1 - n n'
///
/// with the cap mu l, l the normal force of the solve before: so it has a convex energy, and is bent by nothing but relative
/// motion. What z is remembered turns with the body of b.
///
/// *What lands, sticks.* A pair of flat shapes none of whose elements touch as the step begins, and that may touch in it, has the
/// cap of all the weight in the first solve. The next ones know better; but what slides off before it is known that there is
/// friction is lost, and so is a tower.
///
/// *Nothing is unseen.* An element that overlaps in a solution without having been looked at is added, and the step is solved
/// again.
#ifndef CATENA_PAIR_TERMS_H
#define CATENA_PAIR_TERMS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/articulated.h"
#include "contact/law.h"
#include "contact/pair_gap.h"
#include "contact/pair_weight.h"
#include "forces/body_loads.h"
#include "integrators/collocation.h"

/// Where a body is: its axes, and the way of its origin since the start of the step; the world.
typedef struct {
    mat3 R;
    vec3 dp;
} body_at;

FN body_at world_at(void)
{
    const real o = rset(0), one = rset(1);
    body_at T;
    T.R.x = vec(one, o, o), T.R.y = vec(o, one, o), T.R.z = vec(o, o, one), T.dp = zero3();
    return T;
}
FN body_at begun_at(const solve *W, int i)
{
    body_at T = world_at();
    if (i >= 0) T.R = W->start[i].R;
    return T;
}
FN body_at now_at(const solve *W, int i)
{
    body_at T = world_at();
    if (i >= 0) T.R = W->now[i].R, T.dp = W->body[i].dp;
    return T;
}

/// The origin of the body of a pair's a from that of b's, at the start of the step.
FN vec3 apart_at_start(const lane_model *m, const solve *W, const touch_pair *p)
{
    const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
    return sub(a < 0 ? zero3() : W->p[a], b < 0 ? zero3() : W->p[b]);
}

FN pair_pose pair_where(const lane_model *m, const solve *W, const touch_pair *p, body_at a, body_at b)
{
    const vec3 ab = add(apart_at_start(m, W, p), sub(a.dp, b.dp));
    return pose_of_pair(&m->touch_shapes[p->a], &m->touch_shapes[p->b], a.R, b.R, ab);
}
FN pair_pose pair_begun(const lane_model *m, const solve *W, const touch_pair *p)
{
    return pair_where(m, W, p, begun_at(W, m->touch_shapes[p->a].body), begun_at(W, m->touch_shapes[p->b].body));
}
FN pair_pose pair_now(const lane_model *m, const solve *W, const touch_pair *p)
{
    return pair_where(m, W, p, now_at(W, m->touch_shapes[p->a].body), now_at(W, m->touch_shapes[p->b].body));
}

/// What a pair has in the lanes' worlds: of Coulomb; N/m, stiffness of the gap, and of bristles.
FN real pair_friction(const lane_model *m, const touch_pair *p) { return rset(p->friction) * m->pair_friction; }
FN real pair_grip(const lane_model *m, const touch_pair *p) { return rset(p->grip) * m->pair_grip; }
FN real pair_slide(const lane_model *m, const touch_pair *p) { return rset(p->slide) * m->pair_grip; }

/// More than two elements: faces that may lie on each other.
FN bool is_flat(const touch_pair *p) { return p->elements > 2; }

/// toward: as of gap_at().
FN pair_gap gap_of_pair(const lane_model *m, const touch_pair *p, int element, const pair_pose *P, const vec3 *toward)
{
    return gap_at(&m->touch_shapes[p->a], &m->touch_shapes[p->b], element, P, toward);
}
enum { MOST_NEAR = 256 };  // of a pair

/// The elements of a pair that are near: rising, with how much each counts.
typedef struct {
    int count, element[MOST_NEAR];
    real weight[MOST_NEAR];
    bool full;
} near_touches;

/// How far from each other shapes may be to be looked at, beyond their way in the step.
FN real looked_at(const lane_model *m, const touch_pair *p)
{
    const double small =
        m->touch_shapes[p->a].bound < m->touch_shapes[p->b].bound ? m->touch_shapes[p->a].bound : m->touch_shapes[p->b].bound;
    return rset(0.06 * small);
}

FN bool same_vec(vec3 a, vec3 b)  // in all lanes
{
    const mask x = both(le(a.x, b.x), le(b.x, a.x)), y = both(le(a.y, b.y), le(b.y, a.y)), z = both(le(a.z, b.z), le(b.z, a.z));
    return !any_of(not_(both(x, both(y, z))));
}
FN bool same_axes(mat3 A, mat3 B) { return same_vec(A.x, B.x) && same_vec(A.y, B.y) && same_vec(A.z, B.z); }
FN bool same_pose(const pair_pose *P, const pair_pose *Q)
{
    return same_vec(P->ab, Q->ab) && same_vec(P->a, Q->a) && same_vec(P->b, Q->b) && same_axes(P->A, Q->A) &&
           same_axes(P->B, Q->B);
}

/// Those of pair k that count and have a gap below `reach` in some lane; there may be some that are not as near. B: has what was
/// found for the same pose before, as where a step ends the next one begins, and takes what is found; NULL: neither.
KERNEL void find_near(const lane_model *m, between_work *B, int k, const pair_pose *P, real reach, near_touches *to)
{
    const touch_pair *const p = &m->touch_pairs[k];
    near_memo *const memo = B && B->memos && is_flat(p) ? &B->memo[k % B->memos] : NULL;
    if (memo && memo->pair == k + 1 && !any_of(lt(memo->reach, reach)) && same_pose(&memo->at, P)) {
        to->count = memo->count, to->full = false;
        memcpy(to->element, memo->element, (size_t)memo->count * sizeof *memo->element);
        memcpy(to->weight, memo->weight, (size_t)memo->count * sizeof *memo->weight);
        return;
    }
    if (memo) reach = upper_of(reach, rset(1.125) * looked_at(m, p));  // as far as a step from rest will ask
    const int n = near_elements(&m->touch_shapes[p->a], &m->touch_shapes[p->b], P, reach, MOST_NEAR, to->element, to->weight);
    to->full = n > MOST_NEAR, to->count = to->full ? MOST_NEAR : n;
    if (!memo || n > MEMO_ROOM) return;
    memo->pair = k + 1, memo->count = n, memo->reach = reach, memo->at = *P;
    memcpy(memo->element, to->element, (size_t)n * sizeof *memo->element);
    memcpy(memo->weight, to->weight, (size_t)n * sizeof *memo->weight);
}

/// How many elements a solve has room for: those of all lanes, of whose worlds each may have touch_capacity; and as long as it has
/// none, of all lanes together.
FN int touch_capacity(const lane_model *m)
{
    enum { OF_A_PAIR = 32, OF_FEW = 256, OF_ALL = 2048 };
    const int most = m->touch_capacity ? m->touch_capacity * LANES : OF_ALL;
    int n = 0, all = 0;
    for (int k = 0; k < m->npair && n < most; k++) {
        n += m->touch_pairs[k].elements < OF_A_PAIR ? m->touch_pairs[k].elements : OF_A_PAIR;
        if (all < OF_FEW) all += m->touch_pairs[k].elements;
    }
    if (n < OF_FEW) n = all < OF_FEW ? all : OF_FEW;  // of few pairs one may have more
    return n < most ? n : most;
}

/// Elements are looked at for the first time in the lanes `where`.
FN void count_looked(const lane_model *m, between_work *B, mask where)
{
    B->looked = B->looked + sel(where, rset(1), rset(0));
    if (m->touch_capacity) B->full = either(B->full, both(where, lt(rset(m->touch_capacity), B->looked)));
}

// ---- which elements are looked at

/// Room for an element, at its place in the order of all; it may be there already, for other lanes. NULL: the list is full.
KERNEL pair_touch *enlist(solve *W, int pair, int element)
{
    between_work *const B = &W->between;
    const real o = rset(0);
    int at = B->touches;
    while (at > 0 && (B->touch[at - 1].pair > pair || (B->touch[at - 1].pair == pair && B->touch[at - 1].element > element)))
        at--;
    if (at > 0 && B->touch[at - 1].pair == pair && B->touch[at - 1].element == element) return &B->touch[at - 1];
    if (B->touches == B->capacity) return NULL;
    for (int k = B->touches++; k > at; k--) B->touch[k] = B->touch[k - 1];
    pair_touch *const t = &B->touch[at];
    // lanes that are in the middle of a solve see nothing of it: no force of what stood here, and a normal, as friction has no
    // tangent without
    memset(t, 0, sizeof *t);
    t->pair = pair, t->element = element, t->n = vec(o, o, rset(1)), t->at.gap = rset(1);
    return &B->touch[at];
}

/// Where two shapes may come within `margin` as the middle of a goes from x to y, seen from that of b: by the balls around them.
FN mask balls_meet(const lane_model *m, const touch_pair *p, vec3 x, vec3 y, real margin)
{
    return way_meets(x, y, rset(m->touch_shapes[p->a].bound + m->touch_shapes[p->b].bound) + margin);
}
FN mask balls_overlap(const lane_model *m, const touch_pair *p, vec3 x)
{
    const real near = rset(m->touch_shapes[p->a].bound + m->touch_shapes[p->b].bound);
    return le(dot(x, x), near * near);
}

/// The middle of shape s where its body has these axes and this origin.
FN vec3 middle_of_shape(const touch_shape *s, const placement *T, const vec3 *p)
{
    return s->body < 0 ? const3(s->at) : mul_add(p[s->body], T[s->body].R, const3(s->at));
}
/// Of all shapes, at the start of the step, and where bodies are now.
KERNEL void find_begun_middles(const lane_model *m, solve *W)
{
    for (int k = 0; k < m->ntouch_shape; k++) W->between.begun[k] = middle_of_shape(&m->touch_shapes[k], W->start, W->p);
}
KERNEL void find_middles(const lane_model *m, solve *W)
{
    for (int k = 0; k < m->ntouch_shape; k++) {
        const touch_shape *const s = &m->touch_shapes[k];
        const vec3 arm = s->body < 0 ? const3(s->at) : mul(W->now[s->body].R, const3(s->at));
        W->between.middle[k] = s->body < 0 ? arm : add(W->p[s->body], add(W->body[s->body].dp, arm));
    }
}
FN vec3 begun_apart(const solve *W, const touch_pair *p) { return sub(W->between.begun[p->a], W->between.begun[p->b]); }
FN vec3 now_apart(const solve *W, const touch_pair *p) { return sub(W->between.middle[p->a], W->between.middle[p->b]); }

/// How far points of both shapes may have moved against each other between the poses A and B, at most.
FN real way_of_pair(const lane_model *m, const touch_pair *p, const pair_pose *A, const pair_pose *B)
{
    const vec3 middle = sub(sub(add(B->ab, B->a), B->b), sub(add(A->ab, A->a), A->b));
    const vec3 turned[6] = {sub(B->A.x, A->A.x), sub(B->A.y, A->A.y), sub(B->A.z, A->A.z),
                            sub(B->B.x, A->B.x), sub(B->B.y, A->B.y), sub(B->B.z, A->B.z)};
    real of_a = rset(0), of_b = rset(0);
    for (int k = 0; k < 3; k++) of_a = of_a + dot(turned[k], turned[k]), of_b = of_b + dot(turned[3 + k], turned[3 + k]);
    real way = root(dot(middle, middle));
    way = fmadd(rset(m->touch_shapes[p->a].bound), root(of_a), way);
    return fmadd(rset(m->touch_shapes[p->b].bound), root(of_b), way);
}

/// What slot the pair remembers of an element: bristles, axes of b's body, and the normal force; 0 where it remembers nothing.
FN void recall(const solve *W, const touch_pair *p, int element, vec3 *z, real *press)
{
    const real key = rset(element + 1);
    *z = zero3(), *press = rset(0);
    for (int k = p->slot; k < p->slot + p->slots; k++) {
        const mask is = both(le(key, W->pair_of[k]), le(W->pair_of[k], key));
        *z = sel3(is, W->pair_slip[k], *z), *press = sel(is, W->pair_press[k], *press);
    }
}

/// Friction of an element stands where the pair is at the pose P, of bodies at a and b, in the lanes `where`.
FN void stand_friction(const lane_model *m, const solve *W, const touch_pair *p, const pair_gap *g, body_at a, body_at b,
                       mask where, pair_touch *t)
{
    const touch_shape *const A = &m->touch_shapes[p->a];
    const vec3 middle = sub_scaled(g->ra, g->n, fmadd(rset(0.5), g->gap, rset(A->radius)));
    // from b's origin the same point
    const vec3 ab = add(apart_at_start(m, W, p), sub(a.dp, b.dp)), other = add(middle, ab);
    t->n = sel3(where, g->n, t->n);
    t->ma = sel3(where, tmul(a.R, middle), t->ma), t->mb = sel3(where, tmul(b.R, other), t->mb);
}

/// Whether an element is looked at: at a pose, or on the way between both, it is near.
FN mask is_near(const pair_gap *from, const pair_gap *to, vec3 moved, real margin)
{
    const vec3 way = add(sub(sub(to->ra, to->rb), sub(from->ra, from->rb)), moved);
    const mask close = either(lt(from->gap, margin), lt(to->gap, margin));
    return either(close, lt(from->gap + to->gap, root(dot(way, way)) + margin));
}

/// What element e of pair p has in a solve that begins in the lanes `where`, with the gaps at the start and at the first guess;
/// the normal force that it had.
FN void begin_touch(const lane_model *m, solve *W, const touch_pair *p, const pair_gap *from, const pair_gap *to, real weight,
                    mask where, pair_touch *t)
{
    const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
    const mask apart = gt(from->gap, rset(0));
    vec3 z;
    real press;
    recall(W, p, t->element, &z, &press);
    t->weight = sel(where, weight, t->weight), t->from = sel(where, depth_of(from->gap), t->from);
    t->lag = sel(where, press, t->lag), t->begun = sel(where, from->gap, t->begun),
    t->foreseen = sel(where, to->gap, t->foreseen);
    t->z = sel3(where, mul(begun_at(W, b).R, z), t->z);
    stand_friction(m, W, p, from, begun_at(W, a), begun_at(W, b), both(where, not_(apart)), t);
    stand_friction(m, W, p, to, now_at(W, a), now_at(W, b), both(where, apart), t);
}

/// The solve begins in the lanes `where`, with the first guess in W->now: lists the elements that are looked at.
KERNEL void begin_touches(const lane_model *m, solve *W, mask where)
{
    between_work *const B = &W->between;
    const real o = rset(0);
    int kept = 0;
    for (int k = 0; k < B->touches; k++) {  // what other lanes look at
        B->touch[k].weight = sel(where, o, B->touch[k].weight), B->touch[k].lag = sel(where, o, B->touch[k].lag);
        if (any_of(gt(B->touch[k].weight, o))) B->touch[kept++] = B->touch[k];
    }
    B->touches = kept;
    B->full = both(B->full, not_(where)), B->late = sel(where, o, B->late), B->passes = sel(where, o, B->passes);
    B->looked = sel(where, o, B->looked);
    B->lands = both(B->lands, not_(where)), B->hard = both(B->hard, not_(where));
    const vec3 g = load3(m->gravity);
    find_begun_middles(m, W), find_middles(m, W);
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        const real margin = looked_at(m, p);
        const vec3 was = begun_apart(W, p), is = now_apart(W, p), way = sub(is, was);
        const mask meets = both(where, balls_meet(m, p, was, is, margin));
        if (!any_of(meets)) continue;
        const pair_pose from = pair_begun(m, W, p), to = pair_now(m, W, p);
        const real half = rset(0.5) * root(dot(way, way)), most = rset(8) * margin,
                   reach = margin + sel(lt(half, most), half, most);
        // what hardly moves has the same elements at the guess
        const mask moves = both(meets, not_(lt(way_of_pair(m, p, &from, &to), rset(1. / 64) * margin)));
        near_touches at[2];
        find_near(m, B, k, &from, reach, &at[0]), at[1].count = 0, at[1].full = false;
        if (any_of(moves)) find_near(m, NULL, k, &to, reach, &at[1]);
        if (at[0].full || at[1].full) B->full = either(B->full, where);
        mask touched = none_of();
        int first = -1;
        for (int i = 0, j = 0; i < at[0].count || j < at[1].count;) {
            const bool begun = i < at[0].count && (j == at[1].count || at[0].element[i] <= at[1].element[j]);
            const bool ends = j < at[1].count && (i == at[0].count || at[1].element[j] <= at[0].element[i]);
            const int e = begun ? at[0].element[i] : at[1].element[j];
            const pair_gap f = gap_of_pair(m, p, e, &from, NULL);
            // of what each lane would have found by itself
            const real weight = begun ? sel(lt(f.gap, reach), at[0].weight[i], o) : o;
            real w = weight;
            vec3 toward = f.n;
            if (any_of(both(moves, le(weight, o)))) {
                const pair_gap g = gap_of_pair(m, p, e, &to, NULL);
                const real then = ends ? sel(both(moves, lt(g.gap, reach)), at[1].weight[j], o) : o;
                toward = sel3(gt(weight, o), toward, g.n), w = sel(both(le(weight, o), gt(f.gap, o)), then, weight);
            }
            i += begun, j += ends;
            const pair_gap t = gap_of_pair(m, p, e, &to, &toward);
            const mask near = both(meets, both(gt(w, o), is_near(&f, &t, sub(to.ab, from.ab), margin)));
            if (!any_of(near)) continue;
            pair_touch *const touch = enlist(W, k, e);
            if (!touch) {
                B->full = either(B->full, near);
                continue;
            }
            if (first < 0) first = (int)(touch - B->touch);
            begin_touch(m, W, p, &f, &t, w, near, touch);
            count_looked(m, B, near);
            touched = either(touched, gt(touch->lag, o));
        }
        if (!is_flat(p) || first < 0) continue;
        // what may land: the cap of all the weight
        const real weight = rset(p->weight);
        const real falls = rset(4 * p->depth) / m->pair_grip + root(dot(g, g)) * W->in.h * W->in.h;
        const real size = rset(0.1 * (m->touch_shapes[p->a].bound + m->touch_shapes[p->b].bound));
        for (int j = first; j < B->touches && B->touch[j].pair == k; j++) {
            pair_touch *const t = &B->touch[j];
            const real reach = falls + magnitude(t->foreseen - t->begun), most = sel(lt(reach, size), reach, size);
            const mask lands = both(both(where, gt(t->weight, o)), both(not_(touched), lt(t->begun, most)));
            t->lag = sel(lands, weight, t->lag), B->lands = either(B->lands, lands);
        }
    }
}

// ---- at the iterate

FN real cap_of_pair(const lane_model *m, const touch_pair *p, const pair_touch *t) { return pair_friction(m, p) * t->lag; }

/// The friction of an element that is bent so far: without a damper, as its bristles are soft.
FN friction_law rub_of_pair(const lane_model *m, const touch_pair *p, const pair_touch *t, vec3 bent)
{
    return rub_on(t->n, bent, pair_slide(m, p), cap_of_pair(m, p, t));
}

/// The normal force of an element at a gap, by how much it counts.
FN normal_law press_of_pair(const lane_model *m, const solve *W, const touch_pair *p, const pair_touch *t, real gap)
{
    return press_with(m, pair_grip(m, p) * t->weight * W->firm, t->from, gap, W->in.drag);
}

FN void add_wrench(solve *W, int i, vec3 arm, vec3 f)
{
    if (i >= 0) W->body[i].w = wrench_add(W->body[i].w, force_at(arm, f));
}

/// How far apart element t of pair p is.
FN void place_gap(const lane_model *m, const touch_pair *p, const pair_pose *P, pair_touch *t)
{
    t->at = gap_of_pair(m, p, t->element, P, &t->n);
    // lanes that do not look at it may have it anywhere, at infinity too, as edges that are parallel
    const mask looks = gt(t->weight, rset(0));
    t->at.gap = sel(looks, t->at.gap, rset(1)), t->at.n = sel3(looks, t->at.n, zero3());
    t->at.ra = sel3(looks, t->at.ra, zero3()), t->at.rb = sel3(looks, t->at.rb, zero3());
}

/// How far its friction is bent with its bodies at a and b.
FN void place_friction(const lane_model *m, const solve *W, const touch_pair *p, body_at a, body_at b, pair_touch *t)
{
    const body_at A = begun_at(W, m->touch_shapes[p->a].body), B = begun_at(W, m->touch_shapes[p->b].body);
    t->arm_a = mul(a.R, t->ma), t->arm_b = mul(b.R, t->mb);
    const vec3 way = sub(add(a.dp, sub(t->arm_a, mul(A.R, t->ma))), add(b.dp, sub(t->arm_b, mul(B.R, t->mb))));
    t->s = along_ground(t->n, add(t->z, way));
}

/// All elements at the iterate: adds their wrenches to those of bodies. stood: no lane has moved since the last time, nor have
/// elements been listed: gaps are as they were, whatever has become of friction. Returns their energy.
KERNEL real evaluate_touches(const lane_model *m, solve *W, bool stood)
{
    between_work *const B = &W->between;
    const real o = rset(0);
    real E = o;
    pair_pose P;
    body_at A, C;
    for (int k = 0, last = -1; k < B->touches; k++) {
        pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        if (t->pair != last) {
            A = now_at(W, a), C = now_at(W, b), last = t->pair;
            if (!stood) P = pair_where(m, W, p, A, C);
        }
        if (!stood) place_gap(m, p, &P, t);
        place_friction(m, W, p, A, C, t);
        t->normal = press_of_pair(m, W, p, t, t->at.gap), t->rub = rub_of_pair(m, p, t, t->s);
        t->acts = any_of(either(gt(t->normal.force, o), gt(t->lag, o)));
        if (!t->acts) continue;
        E = E + (t->normal.E + t->rub.E);
        const vec3 push = scale(t->at.n, negate(t->normal.force));
        add_wrench(W, a, t->at.ra, push), add_wrench(W, b, t->at.rb, opposite(push));
        add_wrench(W, a, t->arm_a, t->rub.g), add_wrench(W, b, t->arm_b, opposite(t->rub.g));
    }
    return E;
}

/// A pair where bodies have the axes of T and the origins p [nbody].
FN pair_pose pair_placed(const lane_model *m, const touch_pair *c, const placement *T, const vec3 *p)
{
    const int a = m->touch_shapes[c->a].body, b = m->touch_shapes[c->b].body;
    const body_at world = world_at();
    const vec3 ab = sub(a < 0 ? zero3() : p[a], b < 0 ? zero3() : p[b]);
    return pose_of_pair(&m->touch_shapes[c->a], &m->touch_shapes[c->b], a < 0 ? world.R : T[a].R, b < 0 ? world.R : T[b].R, ab);
}

/// The middle of its a from that of its b.
FN vec3 placed_apart(const lane_model *m, const touch_pair *c, const placement *T, const vec3 *p)
{
    return sub(middle_of_shape(&m->touch_shapes[c->a], T, p), middle_of_shape(&m->touch_shapes[c->b], T, p));
}

/// What pairs store where bodies have the axes of T and the origins p [nbody], and remember slip [nslot] (NULL: nothing), J: of
/// each element as much as it counts there. B: as of find_near().
KERNEL real pairs_energy(const lane_model *m, between_work *B, const placement *T, const vec3 *p, const vec3 *slip)
{
    const real o = rset(0), half = rset(0.5);
    real E = o;
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const c = &m->touch_pairs[k];
        for (int j = c->slot; j < c->slot + c->slots && slip; j++) E = fmadd(half * pair_slide(m, c), dot(slip[j], slip[j]), E);
        if (!any_of(balls_overlap(m, c, placed_apart(m, c, T, p)))) continue;
        const pair_pose P = pair_placed(m, c, T, p);
        near_touches now;
        find_near(m, B, k, &P, o, &now);
        for (int i = 0; i < now.count; i++) {
            const mask counts = gt(now.weight[i], o);  // elsewhere it may be anywhere
            const real depth = sel(counts, depth_of(gap_of_pair(m, c, now.element[i], &P, NULL).gap), o);
            E = fmadd(half * now.weight[i] * pair_grip(m, c), depth * depth, E);
        }
    }
    return E;
}

/// Where shapes of pairs overlap, with bodies as of pairs_energy().
KERNEL mask pairs_overlap(const lane_model *m, const placement *T, const vec3 *p)
{
    const real o = rset(0);
    mask some = none_of();
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const c = &m->touch_pairs[k];
        if (!any_of(balls_overlap(m, c, placed_apart(m, c, T, p)))) continue;
        const pair_pose P = pair_placed(m, c, T, p);
        near_touches now;
        find_near(m, NULL, k, &P, o, &now);
        for (int i = 0; i < now.count; i++)
            some = either(some, both(gt(now.weight[i], o), lt(gap_of_pair(m, c, now.element[i], &P, NULL).gap, o)));
    }
    return some;
}

// ---- after a solve

/// How many pairs of shapes are looked at.
FN real pairs_looked_at(const between_work *B)
{
    real count = rset(0);
    mask looks = none_of();
    for (int k = 0; k < B->touches; k++) {
        const mask more = gt(B->touch[k].weight, rset(0));
        looks = k && B->touch[k].pair == B->touch[k - 1].pair ? either(looks, more) : more;
        if (k + 1 == B->touches || B->touch[k + 1].pair != B->touch[k].pair) count = count + sel(looks, rset(1), rset(0));
    }
    return count;
}

/// Where an element presses or has friction: `acts`, in each lane.
FN mask acts_here(const pair_touch *t) { return either(gt(t->normal.force, rset(0)), gt(t->lag, rset(0))); }

/// By how much friction changes if it gets the normal forces of the solution, and its planes.
KERNEL real change_of_touches(const lane_model *m, const solve *W)
{
    const between_work *const B = &W->between;
    real change = rset(0);
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        if (!t->acts) continue;
        const vec3 turned = sub(t->at.n, t->n);
        change = fmadd(pair_friction(m, p), magnitude(t->normal.force - t->lag), change);
        change = fmadd(pair_friction(m, p) * t->normal.force, root(dot(turned, turned)), change);
    }
    return change;
}

/// Friction gets them, in the lanes `where`, which are to be solved again: in others it stays as it was solved.
KERNEL void correct_touches(const lane_model *m, solve *W, mask where)
{
    between_work *const B = &W->between;
    for (int k = 0; k < B->touches; k++) {
        pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        if (!t->acts) continue;
        const mask acts = both(where, acts_here(t));
        t->lag = sel(where, t->normal.force, t->lag);
        stand_friction(m, W, p, &t->at, now_at(W, a), now_at(W, b), acts, t);
    }
}

/// Where the solution has shapes overlap that nobody has looked at, of the lanes `where`: they are listed.
KERNEL mask find_unseen(const lane_model *m, solve *W, mask where)
{
    between_work *const B = &W->between;
    const real o = rset(0);
    mask some = none_of();
    find_middles(m, W);
    for (int k = 0, at = 0; k < m->npair; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        while (at < B->touches && B->touch[at].pair < k) at++;
        if (!any_of(both(where, balls_overlap(m, p, now_apart(W, p))))) continue;
        const pair_pose from = pair_begun(m, W, p), to = pair_now(m, W, p);
        const mask moved = both(where, gt(way_of_pair(m, p, &from, &to), rset(0.25) * looked_at(m, p)));  // else it was in sight
        if (!any_of(moved)) continue;
        near_touches now;
        find_near(m, B, k, &to, o, &now);
        if (now.full) B->full = either(B->full, where);
        int j = at;
        for (int i = 0; i < now.count; i++) {
            const int e = now.element[i];
            while (j < B->touches && B->touch[j].pair == k && B->touch[j].element < e) j++;
            const bool listed = j < B->touches && B->touch[j].pair == k && B->touch[j].element == e;
            const mask seen = listed ? gt(B->touch[j].weight, o) : none_of();
            const pair_gap t = gap_of_pair(m, p, e, &to, NULL);
            const mask unseen = both(both(moved, not_(seen)), both(gt(now.weight[i], o), lt(t.gap, o)));
            if (!any_of(unseen)) continue;
            pair_touch *const touch = enlist(W, k, e);
            if (!touch) {
                B->full = either(B->full, unseen);
                continue;
            }
            j = (int)(touch - B->touch);
            const pair_gap f = gap_of_pair(m, p, e, &from, &t.n);
            begin_touch(m, W, p, &f, &t, now.weight[i], unseen, touch);
            count_looked(m, B, unseen);
            some = either(some, unseen);
        }
    }
    return some;
}

/// How far the bristles of an element stay bent: up to what has bent them, and what bears them.
FN vec3 kept_bend(const lane_model *m, const touch_pair *p, const pair_touch *t)
{
    const real least = sel(lt(t->lag, t->normal.force), t->lag, t->normal.force);
    return bent_at_most(t->s, pair_friction(m, p) / pair_slide(m, p) * least);
}

/// What bristles store after the solve of W, J.
KERNEL real bent_energy(const lane_model *m, const solve *W)
{
    const between_work *const B = &W->between;
    real E = rset(0);
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const vec3 kept = kept_bend(m, p, t);
        if (t->acts) E = fmadd(rset(0.5) * pair_slide(m, p), sel(gt(t->normal.force, rset(0)), dot(kept, kept), rset(0)), E);
    }
    return E;
}

/// What dampers and friction of pairs take in the step that W has solved, J (contact/law.h).
KERNEL real loss_of_touches(const lane_model *m, const solve *W)
{
    const between_work *const B = &W->between;
    const real half = rset(0.5);
    real loss = rset(0);
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        if (!t->acts) continue;
        const real depth = depth_of(t->at.gap), damped = fnmadd(pair_grip(m, p) * t->weight, depth, t->normal.force);
        const vec3 kept = kept_bend(m, p, t), way = sub(t->s, along_ground(t->n, t->z));
        real more = fmadd(damped, depth - t->from, loss) + dot(t->rub.g, way);
        more = fmadd(half * pair_slide(m, p), dot(t->z, t->z) - dot(kept, kept), more);
        loss = sel(acts_here(t), more, loss);
    }
    return loss;
}

/// What curved gaps have added at most to the energy of the solution of W, J: of each element the normal force times what its gap
/// has closed by more than along the tangent at the end, on the straight ways of the points that are the nearest there. Of a
/// point above a plane that stands still it is 0, of balls never less, of what turns it may be. (docs/theory.md 4.14)
KERNEL real gain_of_curvature(const lane_model *m, const solve *W)
{
    const between_work *const B = &W->between;
    real gain = rset(0);
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const touch_pair *const p = &m->touch_pairs[t->pair];
        const int a = m->touch_shapes[p->a].body, b = m->touch_shapes[p->b].body;
        const mask presses = gt(t->normal.force, rset(0));
        if (!t->acts || !any_of(presses)) continue;
        const body_at A = now_at(W, a), C = now_at(W, b), from_a = begun_at(W, a), from_b = begun_at(W, b);
        const vec3 way_a = add(A.dp, sub(t->at.ra, mul(from_a.R, tmul(A.R, t->at.ra)))),
                   way_b = add(C.dp, sub(t->at.rb, mul(from_b.R, tmul(C.R, t->at.rb))));
        const real closed = (t->begun - t->at.gap) + dot(t->at.n, sub(way_a, way_b));
        gain = sel(presses, fmadd(t->normal.force, closed, gain), gain);
    }
    return gain;
}

/// What the pairs remember of the solution, in the lanes `where`: of each element that presses, in the order of elements, its
/// slip in the axes of b's body, up to what has bent it. Elements beyond the slots are forgotten, and counted.
KERNEL void keep_touches(const lane_model *m, solve *W, mask where, real *pair_of, vec3 *pair_slip, real *pair_press)
{
    between_work *const B = &W->between;
    const real o = rset(0), one = rset(1);
    for (int k = 0, at = 0; k < m->npair; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        while (at < B->touches && B->touch[at].pair < k) at++;
        real count = o;
        for (int j = p->slot; j < p->slot + p->slots; j++) {
            pair_of[j] = sel(where, o, pair_of[j]), pair_press[j] = sel(where, o, pair_press[j]);
            pair_slip[j] = sel3(where, zero3(), pair_slip[j]);
        }
        const body_at C = now_at(W, m->touch_shapes[p->b].body);
        for (; at < B->touches && B->touch[at].pair == k; at++) {
            const pair_touch *const t = &B->touch[at];
            const mask presses = both(where, gt(t->normal.force, o));
            if (!t->acts || !any_of(presses)) continue;
            const vec3 z = kept_bend(m, p, t);
            for (int j = p->slot; j < p->slot + p->slots; j++) {
                const real slot = rset(j - p->slot);
                const mask put = both(presses, both(le(slot, count), le(count, slot)));
                pair_of[j] = sel(put, rset(t->element + 1), pair_of[j]), pair_press[j] = sel(put, t->normal.force, pair_press[j]);
                pair_slip[j] = sel3(put, tmul(C.R, z), pair_slip[j]);
            }
            count = count + sel(presses, one, o);
        }
    }
}

#endif
