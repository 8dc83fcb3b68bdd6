/// The residual of a position-based step of order 2, its energy and its Newton blocks. (docs/theory.md 4.2)
///
/// With T = [R p] the pose of a body, V its Euclidean velocity (the rate of R and p that the method carries), h the step,
/// M the pseudo-inertia (second moment S, first moment c, mass m; body axes), the step minimises over q
///
///     E(q) = sum_bodies tr(a M a') / (2 h^2) - m g.com + joint terms,    a = T(q) - T_k - h V.
///
/// Writing Y = R_k + h V_R and tr(R S R') = tr S, the rotational part is -tr(R Z') with Z = Y S / h^2 constant through the
/// step. With e = p - p_k - h V_p, y = e / h^2 - g, and c turned into world axes, the link gradient needs only
///
///     K = R Z' - c y',   n = antisym(-K),   f = m y + c / h^2 - Y c / h^2        (wrench about the body's origin)
///     E = -tr K + e.(m e / (2 h^2) - Y c / h^2) - m g.(p - p_k)                 (up to a constant)
///
/// and the exact Newton block, inertia and curvature together, is [tr K - sym K, [b]x; ., m / h^2] with b = c / h^2 - f / 2:
/// the world inertia R S R' cancels between the two (Gauss-Newton alone would need it). The cross term of the sweep is
/// N = S x* w / 2. p only enters through differences, so that far worlds and small steps lose nothing.
#ifndef CATENA_COLLOCATION_H
#define CATENA_COLLOCATION_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/kinematics.h"
#include "forces/joint_elements.h"
#include "forces/body_loads.h"
#include "contact/law.h"
#include "contact/near.h"
#include "contact/rolling.h"
#include "integrators/between_work.h"
#include "integrators/joint_terms.h"
#include "integrators/force_unit.h"
#include "integrators/turning_frame.h"

/// What a body keeps through a step.
typedef struct {
    mat3 Zt;    // Z'
    vec3 G;     // Y c / h^2
    vec3 e;     // h V_p
    real unit;  // 1 over the scale of force of its joint's residual rows
    real link;  // and over that of the link alone
} step_body;

/// A body at the present iterate.
typedef struct {
    vec3 dp;  // p - p_k
    sym3 A;   // tr K - sym K
    vec3 b;
    wrench w;  // of the body alone
} iterate_body;

/// A contact point at the end of a step, and what its dampers and friction take in it, J: what slides, what turns.
typedef struct {
    end_touch at;
    real loss, turning;
} ended_touch;

/// A body's axes, and the way of its origin since the start of the step.
typedef struct {
    mat3 R;
    vec3 dp;
} face_pose;

/// Everything one solve of a lane block works on. Arrays [nbody] unless noted.
typedef struct {
    terms_input in;      // q, rate, tau, the iterate x, u; step size
    const rate_pose *V;  // where bodies would go without forces, over h: the rates that are carried, of order 2
    const rate_pose *drift;  // [nbody] where bodies go without being braked by loads; NULL: nowhere
    placement *start;    // at q
    placement *now;      // at x
    turning_frames turn;
    step_body *step;
    real *reach;  // (force_unit.h)
    iterate_body *body;
    wrench *sum;    // of the subtree, about the body's origin
    terms3 *terms;  // of joints that have any; one degree of freedom: g.x, k.xx
    load_state *held;  // [nload] at q
    vec3 *p;           // origins at q, with loads
    const vec3 *slip;  // [ncontact] what contact points remember
    const real *press;  // [ncontact] their normal forces at the start of the step
    real *lag;          // [ncontact] the normal forces whose friction the solve has
    vec3 *face;         // [ncontact] the planes of that, where there are surfaces
    surface_point *begun;  // [ncontact] how they stand at the start of the step, likewise
    ended_touch *ended;    // [ncontact] what end_touches() finds; not of idle loads
    const real *pair_of;   // [nslot] what pairs remember, as the next two; and forces of equations [nrow]
    const vec3 *pair_slip;
    const real *pair_press, *bond;
    between_work between;
    load_watch *watch;     // [nload] which loads are idle (contact/near.h); NULL: none is
    face_pose *faced;      // [nbody] likewise: where the planes of `face` are those below the points
    real firm;             // how many times as stiff springs of contacts are (giving_way.h)
    bool midway;           // as a step begins in some lanes, others are within theirs
    body_load *load;   // [nload] of a body with BODY_LOAD, at its first load; likewise
    inertia6 *safe;    // their blocks without curvature, where a sweep has dropped it,
    wrench *own;       // and wrenches of bodies without loads
    real *r;        // [nv] residual of the joint rows
    real link;      // the largest one over the scales of links alone
    real E;         // energy of the iterate, up to a constant,
    real unloaded;  // and without loads
    bool stands;    // no lane has moved since all that was evaluated
    mask too_far;   // an increment is ambiguous (joint_terms.h)
} solve;

/// The axes of body i from which its chord goes.
FN mat3 chord_from(const solve *W, int i) { return W->turn.of ? W->turn.of[i].from : W->start[i].R; }

FN void set_step_size(solve *W, real h)
{
    W->in.h = h;
    W->in.inv_h = rset(1) / h;
    W->in.k2 = W->in.inv_h * W->in.inv_h, W->in.drag = W->in.inv_h;
}

/// Placements at q: the ones that evaluate() finds at the end of a step, bit by bit.
KERNEL void find_placements(const lane_model *m, const real *q, placement *T)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const mat3 parent = b->flags & BODY_ROOT ? T[i].R : T[b->parent].R;
        T[i].R = body_axes(b, form_of(b), parent, q);
        T[i].r = body_offset(b, form_of(b), parent, T[i].R.z, q);
    }
}

/// Load k is idle no more: holds it, and finds how it stands at the start of the step, and the plane of its friction.
FN void wake_load(const lane_model *m, solve *W, int k)
{
    const lane_point_load *s = &m->loads[k];
    const face_pose *at = &W->faced[s->body];
    load_state *const held = &W->held[k];
    *held = hold_load(m, s, W->start[s->body].R, W->p[s->body]);
    if (!(s->flags & LOAD_TOUCHES) || !s->surface) return;
    W->begun[s->contact] = stand_of(m, s, held->gap);
    W->face[s->contact] = face_of(m, s, add(held->gap, add(at->dp, sub(mul(at->R, load3(s->point)), held->arm))));
}

/// Planes of friction are those below the points where bodies are now, in the lanes `where`.
KERNEL void keep_faced(const lane_model *m, solve *W, const placement *T, bool moved, mask where)
{
    for (int i = 0; i < m->nbody; i++) {
        face_pose *const at = &W->faced[i];
        const vec3 dp = moved ? W->body[i].dp : zero3();
        at->R.x = sel3(where, T[i].R.x, at->R.x), at->R.y = sel3(where, T[i].R.y, at->R.y), at->R.z = sel3(where, T[i].R.z, at->R.z);
        at->dp = sel3(where, dp, at->dp);
    }
}

/// Watches loads from the start of the step on, and holds those that are not idle.
KERNEL void start_watch(const lane_model *m, solve *W)
{
    watch_start(m, W->start, W->p, W->slip, W->midway ? W->lag : NULL, W->watch);
    if (!W->midway) keep_faced(m, W, W->start, false, not_(none_of()));
    for (int k = 0; k < m->nload; k++) {
        if (W->watch[k].idle) k += W->watch[k].idle - 1;
        else wake_load(m, W, k);
    }
}

/// Watches the contact points of body i where it is at the iterate.
KERNEL void watch_body(const lane_model *m, solve *W, int i)
{
    const lane_body *b = &m->bodies[i];
    const body_place from = {W->start[i].R, W->p[i]}, at = {W->now[i].R, add(W->p[i], W->body[i].dp)};
    for (int k = b->load; k < b->loads_end; k++) {
        const int end = k + m->loads[k].group;
        if (!m->loads[k].group) continue;
        for (int j = group_wakes(m, k, &from, &at, 1, joins(m), W->lag, W->watch) ? k : end; j < end; j++) {
            load_watch *const w = &W->watch[j];
            if (w->wakes && w->idle) wake_load(m, W, j);
            w->idle = !w->wakes;
        }
        k = end - 1;
    }
}

/// Constants of a step from the placements at its start, V and the step size.
KERNEL void start_step(const lane_model *m, solve *W)
{
    const real h = W->in.h, k2 = W->in.k2;
    W->stands = false;
    find_reach(m, W->in.q, W->reach);
#ifndef CATENA_ALONG  // there a pass finds them (sim/along/along_step.h)
    find_origins(m, W->in.q, W->start, W->p);
#endif
    if (W->watch) start_watch(m, W);
    else hold_loads(m, W->start, W->p, W->held);
    for (int k = 0; k < m->nload && m->nsurface && !W->watch; k++) {
        const lane_point_load *s = &m->loads[k];
        if (s->flags & LOAD_TOUCHES && s->surface) W->begun[s->contact] = stand_of(m, s, W->held[k].gap);
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        step_body *s = &W->step[i];
        s->unit = force_unit(m, b, W->reach[i], k2), s->link = link_unit(m, b, W->reach[i], k2);
        if (!(b->flags & BODY_MASS)) continue;
        const mat3 R = chord_from(W, i);
        const rate_pose *V = &W->V[i];
        const sym3 S = load_sym(given(b)->S);
        mat3 Y;
        Y.x = scale(add_scaled(R.x, V->R.x, h), k2);
        Y.y = scale(add_scaled(R.y, V->R.y, h), k2);
        Y.z = scale(add_scaled(R.z, V->R.z, h), k2);
        s->G = mul(Y, load3(given(b)->h));
        const mat3 Yt = transposed(Y);
        s->Zt.x = smul(S, Yt.x), s->Zt.y = smul(S, Yt.y), s->Zt.z = smul(S, Yt.z);
        s->e = scale(V->p, h);
        if (W->turn.of) s->e = add(s->e, W->turn.of[i].shift);
    }
}

/// Where body i is at the iterate: its axes, its origin from the parent's, and dp.
FN void place_body(const lane_body *b, joint_form f, solve *W, int i)
{
    const real *x = W->in.x;
    const bool root_body = f.flags & BODY_ROOT;
    const placement *s = &W->start[i];
    placement *T = &W->now[i];
    iterate_body *t = &W->body[i];
    const int up = f.flags & BODY_NEXT ? i - 1 : b->parent;
    const mat3 parent = root_body ? T->R : W->now[up].R;
    const mat3 P = joint_frame(b, f, parent);
    mat3 R = P;
    if (about_z(f.kind)) {
        real sn, cs;
        joint_sincos(b, x[b->qadr], &sn, &cs);
        R = turn_about_z(P, sn, cs);
    } else if (f.kind == JOINT_BALL) R = mmul(P, quat_rotation(quat_load(x + b->qadr)));
    T->R = R;
    vec3 dp = root_body ? zero3() : W->body[up].dp;
    if (f.kind == JOINT_TRANSLATION) dp = vec(W->in.u[b->vadr], W->in.u[b->vadr + 1], W->in.u[b->vadr + 2]);
    else if (f.kind == JOINT_PRISMATIC || f.kind == JOINT_HELICAL || (f.flags & BODY_OFFSET)) {
        T->r = body_offset(b, f, parent, R.z, x);
        dp = add(dp, sub(T->r, s->r));
    }
    t->dp = dp;
}

/// The wrench and the Newton block of body i where it is. Returns its energy.
FN real weigh_body(const lane_model *m, const lane_body *b, joint_form f, solve *W, int i)
{
    iterate_body *t = &W->body[i];
    if (!(f.flags & BODY_MASS)) {
        t->w = wrench_zero();
        return rset(0);
    }
    const real k2 = W->in.k2;
    const mat3 R = W->now[i].R;
    const vec3 dp = t->dp;
    const step_body *k = &W->step[i];
    const real mass = given(b)->mass, half = rset(-0.5);
    const vec3 g = load3(m->gravity), c = mul(R, load3(given(b)->h)), e = sub(dp, k->e);
    const vec3 y = vec(fmadd(k2, e.x, negate(g.x)), fmadd(k2, e.y, negate(g.y)), fmadd(k2, e.z, negate(g.z)));
    const vec3 ck = scale(c, k2), force = add_scaled(sub(ck, k->G), y, mass);
    mat3 K;
    K.x = sub_scaled(mul(R, k->Zt.x), c, y.x);
    K.y = sub_scaled(mul(R, k->Zt.y), c, y.y);
    K.z = sub_scaled(mul(R, k->Zt.z), c, y.z);
    t->w.n = vec(K.y.z - K.z.y, K.z.x - K.x.z, K.x.y - K.y.x);
    if (m->skew && has_couple(b)) t->w.n = add(t->w.n, end_couple(b, &W->turn.of[i], R));
    t->w.f = force;
    t->b = add_scaled(ck, force, half);
    t->A.xx = K.y.y + K.z.z, t->A.yy = K.x.x + K.z.z, t->A.zz = K.x.x + K.y.y;
    t->A.xy = half * (K.y.x + K.x.y), t->A.xz = half * (K.z.x + K.x.z), t->A.yz = half * (K.z.y + K.y.z);
    const vec3 v = sub(scale(e, rset(0.5) * given(b)->mass * k2), k->G);
    const real E = dot_add(negate(K.x.x + t->A.xx), e, v);
    return fnmadd(mass, dot(g, dp), E);
}

/// The square of the cosine of half the turn Q.
FN real half_cosine2(mat3 Q) { return fmadd(rset(0.25), Q.x.x + Q.y.y + Q.z.z, rset(0.25)); }

/// The increments of a body's axes from R_k to R, body axes; near half a turn they are ambiguous.
FN vec3 axes_increment(mat3 R_k, mat3 R)
{
    const mat3 Q = mmul(transposed(R_k), R);
    const real w = root(larger(half_cosine2(Q), rset(1e-8))), s = rset(0.25) / w;
    quat q;
    q.w = w, q.x = s * (Q.y.z - Q.z.y), q.y = s * (Q.z.x - Q.x.z), q.z = s * (Q.x.y - Q.y.x);
    return quat_log(q);
}

/// What a torque T, in world axes as the step began, adds to a load on a body that has turned from the axes R_k to R: the energy
/// -T.log(R R_k'). In body axes this is a turn's energy like a joint's (joint_terms.h).
FN terms3 torque_terms(vec3 T, mat3 R_k, mat3 R)
{
    const real o = rset(0);
    const vec3 a = axes_increment(R_k, R), t = tmul(R_k, T);
    terms3 e;
    e.g = zero3(), e.k = e.safe = sym_diagonal(o, o, o);
    add_turn_energy(&e, a, vec(negate(t.x), negate(t.y), negate(t.z)), sym_diagonal(o, o, o));
    e.E = negate(dot(t, a));
    // cos(3.1 / 2); a torque of nothing may turn any way
    e.too_far = both(lt(rset(0), dot(t, t)), lt(half_cosine2(mmul(transposed(R_k), R)), rset(0.0208 * 0.0208)));
    return e;
}

/// Adds drag that slips to a load on a body, at the end of the arm, after the way w that counts for dampers. Returns its energy.
FN real add_drag(body_load *L, const lane_point_load *s, load_state *at, vec3 arm, vec3 w, const terms_input *in)
{
    const vec3 slip = sub(scale(w, in->drag), at->stream.flow);
    const drag_force D = at->drag = drag_of(s, at->axis, slip, in->inv_h);
    add_point_load(L, arm, D.g, D.k * in->drag);
    if (s->flags & LOAD_AXIAL) add_axial_block(L, arm, at->axis, D.along * in->drag);
    if (s->flags & LOAD_SQUARE) add_axial_block(L, arm, D.n, D.across * in->drag);
    return drag_potential(s, &D, slip) / in->drag;
}

/// How the body i has turned since the start of the step, R R_k'; of one with a frame, beyond that.
FN mat3 turned_body(const solve *W, int i) { return mmul(W->now[i].R, transposed(chord_from(W, i))); }

/// What the way of a load's point has beyond what its velocity says, if its body goes on as its frames do: a chord has an arc.
FN vec3 beyond_arc(const lane_model *m, const solve *W, const lane_point_load *s)
{
    const lane_body *b = &m->bodies[s->body];
    const body_frame *const f = &W->turn.of[s->body];
    if (!spins(b)) return zero3();
    const vec3 arm = sub(load3(s->point), seen_center(b)), on = mul(f->from, arm);
    return sub(sub(on, cross(f->at.way, on)), mul(W->start[s->body].R, arm));
}

/// The way u of a load's point, as dampers have it.
FN vec3 way_of_load(const lane_model *m, const solve *W, const lane_point_load *s, vec3 u)
{
    return W->turn.of ? sub(u, beyond_arc(m, W, s)) : u;
}

/// The gap of load k, a contact point, at the start of the step.
FN real gap_before(const lane_model *m, const solve *W, int k)
{
    const lane_point_load *s = &m->loads[k];
    return s->surface ? W->begun[s->contact].gap : ground_gap(m, s, W->held[k].gap);
}

/// How load k, a contact point, stands at the iterate of W. Where dampers have a drift, that of the gap, if it begins in contact,
/// and of the bristles goes by the way less the drift. arm: from its body's origin; u: its way; Qt: how its body has turned.
FN touch contact_of(const lane_model *m, const solve *W, int k, surface_point now, vec3 arm, vec3 u, mat3 Qt)
{
    const lane_point_load *s = &m->loads[k];
    const vec3 *const face = s->surface ? &W->face[s->contact] : NULL;
    touch c = touch_of(s, gap_before(m, W, k), now, W->held[k].gap, arm, Qt, u, W->slip[s->contact], face);
    c.firm = W->firm;
    if (W->turn.of) c.s = add(c.s, scale(cross(c.face, W->turn.of[s->body].at.way), s->radius));  // the surface goes on an arc
    if (W->drift) {
        const rate_pose *D = &W->drift[s->body];
        vec3 drift = mul_add(D->p, D->R, load3(s->point)), rolls = mul(chord_from(W, s->body), tmul(D->R, c.face));
        if (W->turn.of) drift = add(drift, beyond_arc(m, W, s));
        const vec3 n = s->surface ? W->begun[s->contact].n : c.n;
        c.from = sel(lt(c.before, rset(0)), negate(c.before + dot(n, drift)), rset(0));
        c.rest = add(c.rest, along_ground(c.face, add_scaled(drift, rolls, s->radius)));
    }
    return c;
}

FN touch contact_at(const lane_model *m, const solve *W, int k)
{
    const lane_point_load *s = &m->loads[k];
    const vec3 arm = mul(W->now[s->body].R, load3(s->point)), u = add(W->body[s->body].dp, sub(arm, W->held[k].arm));
    const surface_point now = stand_after(m, s, gap_before(m, W, k), W->held[k].gap, u);
    return contact_of(m, W, k, now, arm, u, turned_body(W, s->body));
}

/// How that point's body has turned, after contact_at().
FN turned_touch turned_in(const lane_model *m, const solve *W, int k, const touch *c)
{
    const lane_point_load *s = &m->loads[k];
    vec3 drift = zero3();
    if (W->drift) {  // of the axes: half the sum of R_k e x D e
        const mat3 R = chord_from(W, s->body), D = W->drift[s->body].R;
        drift = scale(add(add(cross(R.x, D.x), cross(R.y, D.y)), cross(R.z, D.z)), rset(0.5));
    }
    turned_touch t = turned_at(c->Qt, W->slip[turn_slot(m, s)], drift);
    if (W->turn.of) t.s = add(t.s, W->turn.of[s->body].at.way);
    return t;
}

/// Whether load k, a contact point that has moved by u, touches in some lane, or has friction to feel; *now: how it stands.
FN bool may_act(const lane_model *m, const solve *W, int k, vec3 u, surface_point *now)
{
    const lane_point_load *s = &m->loads[k];
    const real o = rset(0), before = gap_before(m, W, k);
    const vec3 from = W->held[k].gap, x = add(from, u);
    mask acts = gt(W->lag[s->contact], o);
    if (W->drift) acts = either(acts, lt(before, o));
    if (s->surface && !any_of(either(acts, may_touch(surface_of(m, s), s->radius, x)))) return false;  // far: that costs little
    *now = stand_after(m, s, before, from, u);
    return any_of(either(acts, lt(s->surface ? now->gap : ground_gap(m, s, x), o)));
}

/// The ground below a body: the points s of it with down.s - radius > near are above it by more than rounding.
typedef struct {
    vec3 down;
    real near;
} ground_below;

FN ground_below find_ground(const lane_model *m, const solve *W, int i)
{
    const vec3 n = ground_normal(m), x = add(W->p[i], W->body[i].dp);
    ground_below g;
    g.down = tmul(W->now[i].R, n);
    g.near = m->ground[3] - dot(n, x) + fmadd(rset(1e-12), fmadd(m->ground[3], m->ground[3], dot(x, x)), rset(1e-9));
    return g;
}

/// Whether load k is a contact point that is so far above the ground, and has nothing to feel.
FN bool is_above(const lane_model *m, const solve *W, int k, const ground_below *g)
{
    const lane_point_load *s = &m->loads[k];
    if (!(s->flags & LOAD_TOUCHES) || s->surface) return false;
    if (any_of(either(gt(W->lag[s->contact], rset(0)), le(dot(g->down, load3(s->point)) - s->radius, g->near)))) return false;
    return !W->drift || !any_of(lt(gap_before(m, W, k), rset(0)));
}

/// Whether load k touches in no lane, and has no friction to feel, after contact_at().
FN bool stands_off(const lane_model *m, const solve *W, int k, const touch *c)
{
    const mask touches = either(gt(W->lag[m->loads[k].contact], rset(0)), lt(c->gap, rset(0)));
    return !any_of(W->drift ? either(touches, lt(c->before, rset(0))) : touches);
}

/// Whether loads act on a body at the iterate: what is above the ground does not.
FN bool is_loaded(const lane_body *b, const solve *W) { return (b->flags & BODY_LOAD) && W->load[b->load].acts; }

/// What the loads on body i do, in *to: their wrench, their block, with curvature or without; and their energy, which it returns.
/// A damper's is c/(2h) |u|^2 for the way u that its point has come since the start of the step; with drift, as joints' dampers.
KERNEL real find_loads(const lane_model *m, solve *W, int i, bool curves, body_load *to)
{
    const lane_body *b = &m->bodies[i];
    const iterate_body *t = &W->body[i];
    ground_below below;
    int k = b->load;
    if (m->ncontact) below = find_ground(m, W, i);
    if (W->watch) watch_body(m, W, i);
    for (; k < b->loads_end; k++) {
        if (passes_over(W->watch, &k)) continue;
        if (!is_above(m, W, k, &below)) break;
    }
    to->acts = k < b->loads_end;
    if (!to->acts) return rset(0);
    body_load L = no_load(curves);
    mat3 Qt;
    bool met = false;
    real E = rset(0);
    for (; k < b->loads_end; k++) {
        const lane_point_load *s = &m->loads[k];
        if (passes_over(W->watch, &k) || is_above(m, W, k, &below)) continue;
        const load_state *at = &W->held[k];
        const vec3 arm = mul(W->now[i].R, load3(s->point)), u = add(t->dp, sub(arm, at->arm));
        if (s->flags & LOAD_TOUCHES) {
            surface_point now;
            if (!may_act(m, W, k, u, &now)) continue;
            if (!met) Qt = turned_body(W, i), met = true;
            const touch c = contact_of(m, W, k, now, arm, u, Qt);
            E = E + add_contact(&L, m, s, &c, W->in.drag, W->lag[s->contact]);
            if (s->rolls) {
                const turned_touch t = turned_in(m, W, k, &c);
                E = E + add_turn_friction(&L, m, s, &t, c.face, W->in.drag, W->lag[s->contact]);
            }
            continue;
        }
        vec3 w = way_of_load(m, W, s, u);
        if (W->drift) w = sub(w, mul_add(W->drift[i].p, W->drift[i].R, load3(s->point)));
        if (s->flags & LOAD_SLIPS) {
            E = E + add_drag(&L, s, &W->held[k], arm, w, &W->in);
            continue;
        }
        const real c = s->damping * W->in.drag;
        vec3 g;
        E = E + fmadd(rset(0.5) * c, dot(w, w), load_potential(s, at->gap, at->F, u, &g));
        g = add_axial_drag(add_scaled(g, w, c), s, at->axis, w, W->in.drag);
        add_point_load(&L, arm, g, s->stiffness + c);
        if (s->flags & LOAD_AXIAL) {
            const real e = s->axial * W->in.drag, along = dot(at->axis, w);
            E = fmadd(rset(0.5) * e, along * along, E);
            add_axial_block(&L, arm, at->axis, e);
        }
        if (!(s->flags & LOAD_TURNS)) continue;
        const terms3 e = torque_terms(at->T, chord_from(W, i), W->now[i].R);
        L.w.n = mul_add(L.w.n, W->now[i].R, e.g);
        if (curves) L.P.A = sym_add(L.P.A, turn(W->now[i].R, e.k));
        E = E + e.E, W->too_far = either(W->too_far, e.too_far);
    }
    *to = L;
    return E;
}

/// Adds it to the wrench of the body. Returns the energy.
FN real evaluate_loads(const lane_model *m, solve *W, int i)
{
    body_load *const L = &W->load[m->bodies[i].load];
    iterate_body *t = &W->body[i];
    const real E = find_loads(m, W, i, true, L);
    if (L->acts) t->w = wrench_add(t->w, L->w);
    return E;
}

/// The block of body i without curvature, where it has loads.
FN void drop_load_curvature(const lane_model *m, solve *W, int i)
{
    const lane_body *b = &m->bodies[i];
    body_load L;
    if (!is_loaded(b, W)) return;
    find_loads(m, W, i, false, &L);
    W->safe[b->load] = L.acts ? L.P : inertia_zero();
}

/// One body of evaluate(). Returns its energy.
FN real evaluate_body(const lane_model *m, const lane_body *b, joint_form f, solve *W, int i)
{
    place_body(b, f, W, i);
    return weigh_body(m, b, f, W, i);
}

/// The own terms of a joint that has any. Returns their energy.
FN real evaluate_terms(const lane_model *m, const lane_body *b, solve *W, int i)
{
    if (b->nv == 1) {
        const potential1 t = joint_terms1(m, b, &W->in);
        W->terms[i].g.x = t.g, W->terms[i].k.xx = t.k;
        if (winds(b)) W->too_far = either(W->too_far, winds_on(b, W->in.u[b->vadr], W->in.h * W->in.rate[b->vadr]));
        return t.E;
    }
    const terms3 t = W->terms[i] = joint_terms3(m, b, &W->in);
    W->too_far = either(W->too_far, t.too_far);
    return t.E;
}

/// Placements, energy, own wrench and Newton block of every body at the iterate x, and the joints' own terms.
KERNEL void evaluate(const lane_model *m, solve *W)
{
    W->E = rset(0);
    W->too_far = none_of();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, W->E = W->E + evaluate_body(m, b, f, W, i))
        if (has_terms(b, W->in.tau)) W->E = W->E + evaluate_terms(m, b, W, i);
    }
    W->unloaded = W->E;
    for (int k = 0; k < m->nload; k = m->bodies[m->loads[k].body].loads_end) {
        const int i = m->loads[k].body;
        W->own[k] = W->body[i].w;
        W->E = W->E + evaluate_loads(m, W, i);
    }
    W->stands = true;
}

/// The same where no lane has moved since: what loads do alone, as the friction that they have has changed.
KERNEL void evaluate_again(const lane_model *m, solve *W)
{
    W->E = W->unloaded;
    for (int k = 0; k < m->nload; k = m->bodies[m->loads[k].body].loads_end) {
        const int i = m->loads[k].body;
        W->body[i].w = W->own[k];
        W->E = W->E + evaluate_loads(m, W, i);
    }
}

/// The wrench of body i's subtree: its own, and what is handed on by the next body and, at forks, by others into sum [nbody].
FN wrench gather_wrench(joint_form f, wrench own, const wrench *next, const wrench *sum, int i)
{
    if (f.flags & BODY_LEAF) return own;
    wrench w = *next;
    if (f.flags & (BODY_MASS | BODY_LOAD)) w = wrench_add(w, own);
    if (f.flags & BODY_FORK) w = wrench_add(w, sum[i]);
    return w;
}

/// Hands a subtree's wrench on to its parent, whose origin stands off by -*r.
FN void hand_wrench(const lane_body *b, joint_form f, wrench w, const vec3 *r, wrench *next, wrench *sum)
{
    if (f.flags & BODY_ROOT) return;
    if (has_arm(f)) w = wrench_shift(w, *r);
    if (f.flags & BODY_NEXT) *next = w;
    else if (f.flags & BODY_LAST) sum[b->parent] = w;
    else sum[b->parent] = wrench_add(sum[b->parent], w);
}

/// One body of residual(). next: the wrench that the body after it hands on, then what it hands on itself. Returns its largest
/// row, over its scale.
FN real residual_body(const lane_body *b, joint_form f, solve *W, int i, wrench *next)
{
    const placement *T = &W->now[i];
    const wrench w = gather_wrench(f, W->body[i].w, next, W->sum, i);
    W->sum[i] = w;
    real *r = W->r + b->vadr, most = rset(0);
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) {
        vec3 row = f.kind == JOINT_BALL ? tmul(T->R, w.n) : w.f;
        if (has_terms(b, W->in.tau)) row = add(row, W->terms[i].g);
        r[0] = row.x, r[1] = row.y, r[2] = row.z;
        for (int k = 0; k < 3; k++) most = larger(most, magnitude(r[k]));
    } else {
        real row = joint_row(b, f.kind, T->R.z, w);
        if (has_terms(b, W->in.tau)) row = row + W->terms[i].g.x;
        r[0] = row;
        most = magnitude(row);
    }
    W->link = larger(W->link, most * W->step[i].link);
    hand_wrench(b, f, w, &T->r, next, W->sum);
    return most * W->step[i].unit;
}

/// Sums the wrenches towards the root and forms the residual r [nv] (balls: body axes, the gradient by turns). Returns the
/// largest row over its scale of force, max(m g, m L / h^2) of its subtree, times L for rotations; NaN if one is.
KERNEL real residual(const lane_model *m, solve *W)
{
    real most = W->link = rset(0);
    wrench next = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, most = larger(most, residual_body(b, f, W, i, &next)))
    }
    return most;
}

#endif
