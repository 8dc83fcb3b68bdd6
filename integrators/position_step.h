/// One part of a time step with the position-based method of order 2: predict, iterate by Newton's method with line search,
/// commit. What the state says of velocities and energy is in state_energy.h.
///
/// All lanes run the same loop; what differs between them is selected: whether a Newton step is accepted, its length alpha, where
/// its curvature is dropped, the size of the step. A lane that has converged waits with its iterate unchanged.
#ifndef CATENA_POSITION_STEP_H
#define CATENA_POSITION_STEP_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "forces/joint_forces.h"
#include "forces/body_loads.h"
#include "integrators/between_step.h"
#include "integrators/chart.h"
#include "integrators/joint_terms.h"
#include "integrators/force_unit.h"
#include "integrators/culprit.h"
#include "integrators/collocation.h"
#include "integrators/follow.h"
#include "integrators/newton_control.h"
#include "integrators/newton_sweep.h"
#include "integrators/turning_sweep.h"

enum { SETTLES = 2 };

/// State carried from step to step, of one lane block: with q all that the future depends on.
typedef struct {
    real *q;       // [nq]
    real *rate;    // [nv] joint rates: increments of the last step over its size
    real *gain;    // [nv] what the rates changed by in the last step, for the first guess of the next; 0 after halved steps
    rate_pose *V;  // [nbody] Euclidean velocities
    // collocation of order > 2: rates since the last interior point of the last step, [nv], [nbody]; else NULL
    real *old_rate;
    rate_pose *old;
    real *fresh;  // [1] the same: 1 where these rates are still to be found
    // [2] J, methods with a law of energy: what the method has created (lost: negative) and dampers have taken since the start;
    // else NULL
    real *created;
    // alpha (alpha_step.h): accelerations [nbody], [nv], and the step size that they fit, 0: there was none; else NULL. `fresh`,
    // 1: they are still to be found; SETTLES: order 2 makes the next step (step_part.h)
    rate_pose *A, *B;
    real *a, *b, *size;
    vec3 *slip;     // [ncontact] how far the bristles of contact points are bent (contact/law.h)
    real *press;    // [ncontact] their normal forces
    real *z;        // [nv] how far the bristles of joints with friction are bent; else NULL
    real *wound;    // [nwound] integral terms of motors
    real *pair_of;  // [nslot] what pairs of shapes remember: of which element, how far it is bent, and the normal force
    vec3 *pair_slip;
    real *pair_press, *bond;  // and the forces of equations [nrow]
} position_state;

/// The table of what is counted of a step, a number a lane. fewer: parts done with fewer stages than asked for; rejected: parts
/// repeated for their error; corrections: solves with other normal forces for friction; joined: steps of newton whose matrix was in
/// joint space; near: pairs of shapes that the last solve looked at; curved: J, gain_of_curvature(); full: 1 where it had no room for
/// all that is near; far: 1 where an angle went beyond REAL_MAX_ANGLE; work: so far, in evaluations; frozen: why it cannot go on, a
/// ctn_freeze, where that is known.
#define STEP_COUNTS(count)                                                                                                       \
    count(iterations) count(evaluations) count(line_search) count(curvature) count(substeps) count(halvings) count(residual)     \
        count(fewer) count(rejected) count(corrections) count(joined) count(near) count(curved) count(full) count(far)           \
            count(gave) count(work) count(frozen)

/// What happened, by lane.
typedef struct {
#define MEMBER(name) real name;
    STEP_COUNTS(MEMBER)
#undef MEMBER
    culprit at_fault;               // where no step was found
    energy_flow *flow;              // NULL: not asked for
    long passes;                    // evaluations of all lanes together
    const volatile int *interrupt;  // of the configuration
} position_counts;

/// Whether the caller wants the call to end: then whatever is being solved is given up, and nothing that comes of it is used.
FN bool asked_to_end(const volatile int *interrupt) { return interrupt && *interrupt; }

FN position_counts no_counts(void)
{
    position_counts none;
#define CLEAR(name) none.name = rset(0);
    STEP_COUNTS(CLEAR)
#undef CLEAR
    none.at_fault = no_culprit(), none.flow = NULL, none.passes = 0, none.interrupt = NULL;
    return none;
}

/// Nothing has happened in the lanes `where`.
FN void clear_counts(position_counts *k, mask where)
{
#define CLEAR(name) k->name = sel(where, rset(0), k->name);
    STEP_COUNTS(CLEAR)
#undef CLEAR
}

enum { MOST_WORK = 300000 };  // of one step: with its parts, guesses and trials a step of no number could go on for hours

/// Where a step may go on being solved.
FN mask may_go_on(const position_counts *count) { return lt(count->work, rset(MOST_WORK)); }

/// One more evaluation in the lanes `where`.
FN void count_evaluation(position_counts *count, mask where)
{
    const real more = sel(where, rset(1), rset(0));
    count->evaluations = count->evaluations + more, count->work = count->work + more, count->passes++;
}

/// Scratch of one lane block.
typedef struct {
    solve W;
    sweep_work sweep;
    real *x, *u;              // [nq], [nv]: the iterate, and the increments that lead to it (joints that are not balls)
    real *base, *base_u, *d;  // [nq], [nv], [nv]: where the Newton step starts, and the step
    real *fresh;              // [nv] the step that a sweep finds
    real *lead;               // [nv] its part k (follow.h)
    whereabouts *at;          // [nbody] of steps that are followed: where they start
    real residual;            // at the solution
    stages whole;             // of models whose matrix is not symmetric (turning_sweep.h), as the next
    stage_sweep skew;
    rate_pose *aim, *drift;  // [nbody] of alpha (alpha_step.h), as the next ones [nv]
    real *aim_rate, *slack, *half_turn, *push, *wind;
} position_work;

/// Steps start from the state S under the forces tau (NULL: none).
FN void start_from(const position_state *S, const real *tau, solve *W)
{
    W->in.q = S->q, W->in.rate = S->rate, W->in.tau = tau, W->in.z = S->z, W->in.wound = S->wound, W->V = S->V;
    W->slip = S->slip, W->press = S->press, W->firm = rset(1);
    W->pair_of = S->pair_of, W->pair_slip = S->pair_slip, W->pair_press = S->pair_press, W->bond = S->bond;
}

/// The state S, from which a step begins, as it is seen from the frames of what spins (turning_frame.h). After set_step_size();
/// placements of the start are in W.
KERNEL position_state see_from_frames(const lane_model *m, const position_state *S, solve *W)
{
    position_state seen = *S;
    const turning_frames *const T = &W->turn;
    if (!T->of) return seen;
    seen.V = T->V;
    if (S->A) seen.A = T->A, seen.B = T->B;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        body_frame *const f = &T->of[i];
        const mat3 R = W->start[i].R, V = S->V[i].R;
        turned_frame begun;
        f->from = f->base = R, f->shift = zero3(), f->couple = rset(0), f->rate = W->in.inv_h, f->at = no_turn();
        f->whole = T->mode == BRAKED;
        T->V[i] = S->V[i];
        if (S->A) T->A[i] = S->A[i], T->B[i] = S->B[i];
        if (!is_framed(b, T->mode)) continue;
        f->at = frame_of(b, R, V, W->in.h, &begun);
        f->from = f->base = turned_on(b, &f->at, R);
        f->shift = mul(mat3_add_scaled(R, f->from, rset(-1)), seen_center(b));
        const mat3 D = mat3_add_scaled(V, frame_rate(b, &begun, R), rset(-1));
        T->V[i] = with_columns(b, S->V[i], turned_on(b, &f->at, D));
        if (tilts(b)) f->couple = axial_momentum(b, f->at.r) * W->in.inv_h;
        if (!S->A) continue;
        const mat3 G = frame_change(b, &begun, R, D);
        T->A[i] = with_columns(b, S->A[i], turned_on(b, &f->at, mat3_add_scaled(S->A[i].R, G, rset(-1))));
        T->B[i] = with_columns(b, S->B[i], turned_on(b, &f->at, mat3_add_scaled(S->B[i].R, G, rset(-1))));
    }
    return seen;
}

/// The same after it has been found.
FN position_state seen_from_frames(const position_state *S, const solve *W)
{
    position_state seen = *S;
    if (!W->turn.of) return seen;
    seen.V = W->turn.V;
    if (S->A) seen.A = W->turn.A, seen.B = W->turn.B;
    return seen;
}

/// The velocity V of body i at the end of a step, seen from its frames, as it is in space; R: its axes there.
FN rate_pose leave_frame(const lane_body *b, const turning_frames *T, int i, mat3 R, rate_pose V)
{
    return T->of && spins(b) ? with_columns(b, V, mat3_add(V.R, frame_rate(b, &T->of[i].at, R))) : V;
}
/// The same of an acceleration A, with the velocity V as seen from there.
FN rate_pose leave_frame_faster(const lane_body *b, const turning_frames *T, int i, mat3 R, mat3 V, rate_pose A)
{
    return T->of && spins(b) ? with_columns(b, A, mat3_add(A.R, frame_change(b, &T->of[i].at, R, V))) : A;
}

/// The way of the origin of body i since the start of the step, as it is seen from its frames.
FN vec3 way_seen(const solve *W, int i) { return W->turn.of ? sub(W->body[i].dp, W->turn.of[i].shift) : W->body[i].dp; }

/// The lanes `rest` begin at q, the start of the step. Of one stage.
FN void rest_at(const lane_model *m, const real *q, mask rest, real *x, real *u, real *base, real *base_u)
{
    for (int k = 0; k < m->nq; k++) x[k] = sel(rest, q[k], x[k]), base[k] = sel(rest, q[k], base[k]);
    for (int k = 0; k < m->nv; k++) u[k] = sel(rest, rset(0), u[k]), base_u[k] = sel(rest, rset(0), base_u[k]);
}

/// The iterate of a stage: where it moves from, and along what; the start of the step.
typedef struct {
    real *x, *u;
    const real *base, *base_u, *d, *q;
} moving;

/// A joint by alpha d from the base, in the lanes `where`; d [nv of the joint]. Its increments u from q follow.
FN void move_joint(const lane_body *b, const moving *P, const real *d, real alpha, mask where)
{
    real *x = P->x, *u = P->u;
    if (b->kind == JOINT_BALL) {
        const vec3 a = vec(alpha * d[0], alpha * d[1], alpha * d[2]);
        real y[4];
        quat_store(y, quat_normalised(quat_mul(quat_load(P->base + b->qadr), quat_exp(a))));
        for (int k = 0; k < 4; k++) x[b->qadr + k] = sel(where, y[k], x[b->qadr + k]);
    } else
        for (int k = 0; k < b->nv; k++) {
            const int j = b->vadr + k;
            u[j] = sel(where, fmadd(alpha, d[k], P->base_u[j]), u[j]);
            x[b->qadr + k] = sel(where, P->q[b->qadr + k] + u[j], x[b->qadr + k]);
        }
}

/// x = base (+) alpha d in the lanes `where`.
KERNEL void move_stage(const lane_model *m, const moving *P, real alpha, mask where)
{
    for (int i = 0; i < m->nbody; i++) move_joint(&m->bodies[i], P, P->d + m->bodies[i].vadr, alpha, where);
}
FN void move_iterate(const lane_model *m, position_work *P, real alpha, mask where)
{
    const moving one = {P->x, P->u, P->base, P->base_u, P->d, P->W.in.q};
    move_stage(m, &one, alpha, where);
}

/// One body of follow_iterate().
FN void follow_row(const lane_body *b, int i, position_work *P, real alpha, mask where)
{
    const moving one = {P->x, P->u, P->base, P->base_u, P->d, P->W.in.q};
    solve *W = &P->W;
    const joint_form f = form_of(b);
    const bool root_body = f.flags & BODY_ROOT;
    const tree_pivot *s = &P->sweep.pivot[i];
    const int up = root_body ? i : b->parent;
    const twist t = carried_along(f, &P->at[up], &W->now[up], W->body[up].dp, P->at[i].T.r);
    real y[3];
    store3(y, zero3());
    for (int k = 0; k < b->nv; k++) y[k] = alpha * P->lead[b->vadr + k];
    if (!root_body && b->nv == 1) y[0] = fnmadd(dot(s->one.Ua, t.w) + dot(s->one.Ul, t.v), s->one.i, y[0]);
    if (b->nv == 3) {
        vec3 d = load3(y);
        if (!root_body) d = sub(d, mul_add(mul(s->three.G.Xa, t.w), s->three.G.Xl, t.v));
        store3(y, b->kind == JOINT_BALL ? tmul(P->at[i].T.R, d) : d);
    }
    bound_turns(b, y);
    move_joint(b, &one, y, rset(1), where);
    follow_body(b, f, root_body ? NULL : &W->now[up], &W->body[up].dp, P->x, P->u, &W->start[i], where, &W->now[i],
                &W->body[i].dp);
}

/// The share alpha of the Newton step from `base`, followed, in the lanes `where`.
KERNEL void follow_iterate(const lane_model *m, position_work *P, real alpha, mask where)
{
    for (int i = 0; i < m->nbody; i++) follow_row(&m->bodies[i], i, P, alpha, where);
}

/// Friction stands on the planes below contact points as the step begins, in the lanes `where`.
KERNEL void face_contacts(const lane_model *m, solve *W, mask where)
{
    if (W->watch) keep_faced(m, W, W->start, false, where);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (passes_over(W->watch, &k) || !(s->flags & LOAD_TOUCHES) || !s->surface) continue;
        vec3 *const face = &W->face[s->contact];
        *face = sel3(where, W->begun[s->contact].face, *face);
    }
}

/// The guess d [nv] of a body on a ball joint that spins, in the lanes `where`: as its axes R go on to those of its frames, since
/// rates do not count whole turns. What links carry that turn themselves goes on by its rates, below a radian: they know how it
/// is carried, and a guess that is off by that costs an iteration, or, at small steps, none, and then the motion drifts by what
/// is left.
FN void guess_ball(const lane_body *b, mat3 R, mat3 to, mask where, real *d)
{
    if (b->kind != JOINT_BALL || !spins(b)) return;
    const vec3 u = quat_log(quat_short(quat_of_rotation(mmul(transposed(R), to)))), rates = load3(d + b->vadr);
    const mask far = lt(rset(1), larger(dot(u, u), dot(rates, rates)));
    store3(d + b->vadr, sel3(b->flags & BODY_CARRIED ? both(where, far) : where, u, rates));
}

/// The first guess in the lanes `where`: joint rates that change as they did in the step before. The lanes `rest` begin at the
/// start of the step, `where` among them.
KERNEL void predict_step(const lane_model *m, const position_state *S, position_work *P, mask rest, mask where)
{
    P->W.stands = false;
    rest_at(m, S->q, rest, P->x, P->u, P->base, P->base_u);
    for (int k = 0; k < m->ncontact; k++) P->W.lag[k] = sel(rest, S->press[k], P->W.lag[k]);
    if (m->nsurface) face_contacts(m, &P->W, rest);
    for (int k = 0; k < m->nv; k++) P->d[k] = sel(rest, P->W.in.h * (S->rate[k] + S->gain[k]), P->d[k]);
    for (int i = 0; i < m->nbody && P->W.turn.of; i++)
        guess_ball(&m->bodies[i], P->W.start[i].R, P->W.turn.of[i].from, rest, P->d);
    move_iterate(m, P, rset(1), where);
}

/// The share of the Newton step d [stages][nv] that is tried first: 1, or less where a joint would turn by more than half a turn;
/// by more than a radian, where loops and pairs are, which are far from straight then. Energies and residuals are periodic in
/// angles: near a singular matrix a step of thousands of turns may end as low as any other.
KERNEL real first_share(const lane_model *m, const real *d, int stages)
{
    const real whole = rset(joins(m) ? 1.0 : 3.1);
    real most = whole;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (only_slides(b)) continue;
        for (int a = 0; a < stages; a++)
            for (int k = 0; k < b->nv; k++) most = larger(most, magnitude(d[a * m->nv + b->vadr + k]));
    }
    return sel(le(most, whole), rset(1), whole / most);
}

/// Between the sweeps: keeps what the lanes `where` need to follow the step from the iterate of W.
KERNEL void keep_lead(const lane_model *m, position_work *P, mask where)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real D = b->nv == 1 ? P->sweep.pivot[i].one.i : rset(1);
        keep_whereabouts(&P->at[i], &P->W.now[i], P->W.body[i].dp, where);
        for (int k = b->vadr; k < b->vadr + b->nv; k++) P->lead[k] = sel(where, D * P->fresh[k], P->lead[k]);
    }
}

/// The step from `base` along d, in the lanes `need`; others may be shortening theirs. Returns those in which d is a descent
/// direction; *size: the largest change of place in it; *slope: with what acts between bodies that of the merit.
KERNEL mask newton_direction(const lane_model *m, mask need, newton_progress *N, position_work *P, position_counts *count,
                             real *size, real *slope)
{
    if (is_skew(m, &P->W)) {
        *size = turning_newton(m, &P->W, &P->whole, &P->skew, P->fresh);
        for (int k = 0; k < m->nv; k++) P->d[k] = sel(need, P->fresh[k], P->d[k]);
        return need;
    }
    if (joins(m)) {
        mask dropped;
        need = between_direction(m, &P->W, need, &dropped, &count->curvature, P->fresh, slope, size);
        count->joined = count->joined + sel(need, rset(1), rset(0));
        for (int k = 0; k < m->nv; k++) P->d[k] = sel(need, P->fresh[k], P->d[k]);
        return need;
    }
    P->sweep.held = both(both(N->running, N->follows), not_(need));
    need = sweep_inward(m, &P->W, &P->sweep, need, &count->curvature, P->fresh);
    N->hard = either(N->hard, P->sweep.dropped);
    const mask follows = both(need, N->hard);
    if (any_of(follows)) keep_lead(m, P, follows);
    *size = sweep_outward(m, &P->W, &P->sweep, P->fresh);
    for (int k = 0; k < m->nv; k++) P->d[k] = sel(need, P->fresh[k], P->d[k]);
    return need;
}

/// The normal force of load k, a contact point, in the solution of W, which has it as c.
FN real press_after(const lane_model *m, const solve *W, int k, const touch *c)
{
    return stands_off(m, W, k, c) ? rset(0) : press_in_step(m, &m->loads[k], c, W->in.drag).force;
}

/// Load k, a contact point, at the end of the step that W has solved. Where it has touched nothing it gives up what bristles that
/// slide have stored; they are left with zeros that have the signs of where it is.
FN ended_touch touch_after(const lane_model *m, const solve *W, int k)
{
    const lane_point_load *s = &m->loads[k];
    const real o = rset(0), lag = W->lag[s->contact], drag = W->in.drag;
    const touch c = contact_at(m, W, k);
    const vec3 z = W->slip[s->contact];
    ended_touch e;
    e.at.gap = c.gap, e.at.turned = zero3(), e.turning = o;
    if (!s->rolls && stands_off(m, W, k, &c)) {
        e.at.press = o, e.at.kept = scale(c.s, o);
        e.loss = rset(0.5) * s->grip * stored_bend(s, z, along_ground(c.face, z));
        return e;
    }
    e.at.press = press_in_step(m, s, &c, drag).force, e.at.kept = kept_slip(s, c.s, lag, e.at.press);
    real damped = fnmadd(s->grip, depth_of(c.gap), e.at.press);
    if (W->in.slack) damped = s->grip * m->relaxation * W->in.inv_h * (depth_of(c.gap) - depth_of(c.before));  // at the mean rate
    e.loss = contact_loss(s, &c, z, damped, rub_in_step(m, s, &c, drag, s->friction * lag).g, e.at.kept);
    if (!s->rolls) return e;
    const turned_touch t = turned_in(m, W, k, &c);
    e.at.turned = kept_turn(s, c.face, t.s, lag, e.at.press);
    e.turning = turn_loss(s, &t, W->slip[turn_slot(m, s)], turn_in_step(m, s, &t, c.face, drag, lag).g, e.at.turned);
    return e;
}

/// How all contact points end in the solution of W, before that is looked at: once, as several do.
KERNEL void end_touches(const lane_model *m, solve *W)
{
    for (int k = 0; k < m->nload; k++) {
        if (passes_over(W->watch, &k)) continue;
        if (m->loads[k].flags & LOAD_TOUCHES) W->ended[m->loads[k].contact] = touch_after(m, W, k);
    }
}

/// Gives friction of contact point k the plane below it in the solution, c. Returns by how much that turns it.
FN real correct_face(solve *W, int contact, const touch *c, mask where)
{
    vec3 *const last = &W->face[contact];
    const vec3 turned = sub(c->under, *last);
    *last = sel3(where, c->under, *last);
    return root(dot(turned, turned));
}

/// Gives friction the normal forces of the solution in W, in the lanes `where`. Returns by how much it changes by that.
KERNEL real correct_friction(const lane_model *m, solve *W, mask where)
{
    real change = rset(0);
    ground_below below;
    if (W->watch) keep_faced(m, W, W->now, true, where);
    for (int k = 0, body = -1, first = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (s->group) first = k;
        if (passes_over(W->watch, &k) || !(s->flags & LOAD_TOUCHES)) continue;
        if (s->body != body) below = find_ground(m, W, body = s->body);
        if (is_above(m, W, k, &below)) continue;
        const touch c = contact_at(m, W, k);
        const real force = press_after(m, W, k, &c), last = W->lag[s->contact];
        change = fmadd(s->friction + s->torsional + s->rolling, magnitude(force - last), change);  // torques: over a metre
        if (s->surface) change = fmadd(s->friction * force, correct_face(W, s->contact, &c, where), change);
        W->lag[s->contact] = sel(where, force, last);
        if (W->watch && any_of(gt(force, rset(0)))) W->watch[first].felt = true;
    }
    return change;
}

/// Where such a change of all caps together makes a difference: more than a billionth of the weight.
FN mask is_corrected(const lane_model *m, real change)
{
    const vec3 g = load3(m->gravity);
    const real weight = m->mass * larger(root(dot(g, g)), rset(1));
    return gt(change, rset(1e-9) * weight);
}

/// The solution in W, after end_touches(), is the end of a step in the lanes `where`: what contact points remember of it; idle
/// ones nothing, as before.
KERNEL void keep_contacts(const lane_model *m, const solve *W, mask where, vec3 *slip, real *press)
{
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (passes_over(W->watch, &k) || !(s->flags & LOAD_TOUCHES)) continue;
        keep_touch(m, s, &W->ended[s->contact].at, where, slip, press);
    }
}

/// By how much energies of one iterate may differ: rounding turns the axes of bodies, a little more with every joint, and moves
/// all that hangs there against the force that it carries. In long ropes that is more than the last digits of the energy itself.
KERNEL real energy_blur(const lane_model *m, const solve *W)
{
    real work = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const joint_form f = form_of(&m->bodies[i]);
        if (has_arm(f) && !(f.flags & BODY_ROOT)) work = work + magnitude(dot(W->sum[i].f, W->now[i].r));
    }
    return root(rset(m->nbody)) * (rset(PLACE_ROUNDING) * work);
}

/// Where the energy of the iterate is no more than `bound`, or only by rounding; compared: lanes that go by that.
FN mask lower_energy(const lane_model *m, solve *W, real bound, mask compared)
{
    const mask lower = le(W->E, bound);
    if (!any_of(both(compared, not_(lower)))) return lower;
    residual(m, W);  // for the wrenches; what it has said of other lanes stays
    return either(lower, le(W->E, bound + energy_blur(m, W)));
}

/// Solves of a step with other normal forces, where something lands in it; and with elements that had not been looked at.
enum { MOST_PASSES = 4, MOST_LATE = 4 };

/// One iteration in the lanes that run: evaluates the iterate, and finds the next one, or that it is the solution. A lane that
/// stops leaves its last iterate, as evaluated, in W.
KERNEL void newton_pass(const lane_model *m, double tolerance, int max_iterations, newton_progress *N, position_work *P,
                        position_counts *count)
{
    solve *W = &P->W;
    const real alpha = N->alpha, E = N->E, slope = N->slope;
    if (joins(m)) {
        const bool stood = W->stands;
        evaluate(m, W), evaluate_between(m, W, stood);
    } else if (W->stands) evaluate_again(m, W);
    else evaluate(m, W);
    count_evaluation(count, N->running);
    real rows = rset(0);
    const bool skew = is_skew(m, W);
    if (skew) rows = residual(m, W), W->E = square_of_rows(m, W);
    // Armijo's condition with slack for rounding
    const real bound = fmadd(rset(ENERGY_ROUNDING), magnitude(E), fmadd(rset(1e-4) * alpha, slope, E));
    const mask lower = skew ? le(W->E, bound) : lower_energy(m, W, bound, both(N->running, N->based));
    const mask accepted = takes_iterate(N, le(magnitude(W->E), rset(NOT_REACHED)), lower, tolerance);
    const mask rejected = both(N->running, not_(accepted));
    mask need = none_of();
    if (any_of(accepted)) {
        real res = skew ? rows : residual(m, W);
        if (joins(m)) res = residual_between(m, W, res);
        const mask full = le(rset(1), alpha);
        mask found = is_solved(N, res, W->link, full, tolerance);
        if (m->npair) found = either(found, is_still_solved(N, res, W->link, tolerance));
        if (m->nrow) found = both(found, le(W->between.c, rset(tolerance)));
        need = settle_iterate(N, accepted, res, found, full, W->too_far, max_iterations, &P->residual);
    }
    mask again = both(accepted, both(N->converged, not_(either(N->running, N->corrected))));
    mask unseen = none_of();
    if (m->npair) {
        between_work *const B = &W->between;
        const mask solved = both(accepted, both(N->converged, not_(N->running)));
        if (any_of(solved)) unseen = find_unseen(m, W, solved);
        count->full = sel(solved, sel(B->full, rset(1), rset(0)), count->full);
        if (any_of(solved)) count->near = sel(solved, pairs_looked_at(B), count->near);
        N->converged = both(N->converged, not_(both(solved, either(B->full, both(unseen, le(rset(MOST_LATE), B->late))))));
        unseen = both(unseen, N->converged), again = both(both(again, N->converged), not_(unseen));
        B->late = B->late + sel(unseen, rset(1), rset(0)), B->hard = either(B->hard, unseen);
    }
    if ((m->ncontact || m->npair) && any_of(again)) {
        real change = m->ncontact ? correct_friction(m, W, again) : rset(0);
        if (m->npair) change = change + change_of_touches(m, W);
        again = both(again, is_corrected(m, change));
        if (m->npair && any_of(again)) correct_touches(m, W, again);
    }
    if (any_of(need)) {
        real size, descent = rset(0);
        need = newton_direction(m, need, N, P, count, &size, &descent);
        N->running = both(N->running, either(rejected, need));
        real g = rset(0);
        for (int k = 0; k < m->nv; k++) g = fmadd(W->r[k], P->d[k], g);
        for (int k = 0; k < m->nq; k++) P->base[k] = sel(need, P->x[k], P->base[k]);
        for (int k = 0; k < m->nv; k++) P->base_u[k] = sel(need, P->u[k], P->base_u[k]);
        if (skew) g = rset(-2) * W->E;
        if (joins(m)) g = descent;
        N->slope = sel(need, g, slope);
        base_newton(N, need, W->E, first_share(m, P->d, 1));
        size_newton(N, need, size);
    }
    if (any_of(rejected)) {
        // to the minimum of the parabola through both energies and the slope
        count->line_search = count->line_search + sel(rejected, rset(1), rset(0));
        const real rise = fnmadd(alpha, slope, W->E - E);
        shorten_newton(N, rejected, rset(-0.5) * slope * alpha * alpha / rise, 1e-9);
        if (m->npair) W->between.hard = either(W->between.hard, rejected);
        if (skew || joins(m)) N->hard = none_of();  // there is no sweep whose step could be followed
    }
    const mask moves = both(N->running, either(need, rejected)), follows = both(moves, N->follows);
    W->stands = !any_of(either(moves, unseen));
    move_iterate(m, P, N->alpha, both(moves, not_(follows)));
    if (any_of(follows)) follow_iterate(m, P, N->alpha, follows);
    if (m->ncontact || m->npair) {
        const mask corrected = N->corrected;
        solve_again(N, either(again, unseen));
        count->corrections = count->corrections + sel(again, rset(1), rset(0));
        if (m->npair) {
            between_work *const B = &W->between;
            B->passes = B->passes + sel(again, rset(1), rset(0));
            const mask last = both(again, not_(both(B->lands, lt(B->passes, rset(MOST_PASSES)))));
            N->corrected = either(corrected, last);
        }
    }
    N->running = both(N->running, may_go_on(count));
}

/// The increment of a joint from q in the chart there, to the iterate in P; u [nv] of the joint.
FN void joint_increment(const lane_body *b, const real *q, const position_work *P, real *u)
{
    if (b->kind == JOINT_BALL) {
        const vec3 turn = ball_increment(b, q, P->x);
        u[0] = turn.x, u[1] = turn.y, u[2] = turn.z;
    } else
        for (int k = 0; k < b->nv; k++) u[k] = P->u[b->vadr + k];
}

/// The mean Euclidean rate of a body on the way from axes A to B, its origin by dp, in the time 1/s.
FN rate_pose chord_rate(mat3 A, mat3 B, vec3 dp, real s)
{
    rate_pose V;
    V.R.x = scale(sub(B.x, A.x), s), V.R.y = scale(sub(B.y, A.y), s), V.R.z = scale(sub(B.z, A.z), s);
    V.p = scale(dp, s);
    return V;
}

/// The Euclidean velocity of body i at the end of a step of order 2.
FN rate_pose chord_velocity_of(const lane_body *b, const solve *W, int i)
{
    const mat3 R = W->now[i].R;
    return leave_frame(b, &W->turn, i, R, chord_rate(chord_from(W, i), R, way_seen(W, i), W->in.inv_h));
}

FN rate_pose zero_rate(void)
{
    rate_pose V;
    V.R.x = V.R.y = V.R.z = V.p = zero3();
    return V;
}

FN rate_pose sel_rate(mask m, rate_pose a, rate_pose b)
{
    a.R.x = sel3(m, a.R.x, b.R.x), a.R.y = sel3(m, a.R.y, b.R.y), a.R.z = sel3(m, a.R.z, b.R.z);
    a.p = sel3(m, a.p, b.p);
    return a;
}

/// Moves a body's placement in the lanes `where`.
FN void set_placement(const lane_body *b, mask where, const placement *t, placement *k)
{
    k->R.x = sel3(where, t->R.x, k->R.x), k->R.y = sel3(where, t->R.y, k->R.y), k->R.z = sel3(where, t->R.z, k->R.z);
    if (has_arm(form_of(b))) k->r = sel3(where, t->r, k->r);
}

/// Makes coordinates and placements of the solution in P those of the state, in the lanes `where`. all: no other lane has moved.
FN void commit_placements(const lane_model *m, position_state *S, position_work *P, mask where, bool all)
{
    solve *W = &P->W;
    for (int i = 0; i < m->nbody && !all; i++) set_placement(&m->bodies[i], where, &W->now[i], &W->start[i]);
    if (all) {
        placement *old = W->start;
        W->start = W->now, W->now = old;
    }
    for (int j = 0; j < m->nq; j++) S->q[j] = sel(where, P->x[j], S->q[j]);
}

/// What the next first guess takes for the gain of a joint's rate; s: 1/h. A joint that has turned by a radian more than in the
/// step before has found another way to its pose, by whole turns or by half ones of its neighbours: guesses that went on so would
/// lead it off.
FN real lasting_gain(const lane_body *b, real gain, real s)
{
    return only_slides(b) ? gain : sel(le(magnitude(gain), s), gain, rset(0));
}

/// Makes the solution in P the state, in the lanes `where`. all: no other lane has moved. whole: lanes whose step
/// was not halved.
KERNEL void commit_step(const lane_model *m, position_state *S, position_work *P, mask where, bool all, mask whole)
{
    solve *W = &P->W;
    const real s = W->in.inv_h;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real u[3];
        joint_increment(b, S->q, P, u);
        for (int j = 0; j < b->nv; j++) {
            real *r = &S->rate[b->vadr + j], *g = &S->gain[b->vadr + j];
            const real rate = u[j] * s;
            *g = sel(where, sel(whole, lasting_gain(b, rate - *r, s), rset(0)), *g);
            *r = sel(where, rate, *r);
        }
        if (b->flags & BODY_MASS) {
            rate_pose *V = &S->V[i];
            *V = sel_rate(where, chord_velocity_of(b, W, i), *V);
        }
    }
    commit_placements(m, S, P, where, all);
}

#endif
