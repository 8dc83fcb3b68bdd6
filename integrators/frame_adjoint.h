/// Gradients through the frames of what spins (turning_frame.h), for the adjoints of position-based steps. (docs/theory.md 4.13)
///
/// What frames see is a plain step, and its adjoint gives gradients by R~, V~, A~ and B~, or by Q at the stages, and by the couples. From
/// there they go on to the frames' own numbers, where gradients X of Y = E M F by turns dE = [e] E and dF = F [f] are
///
///     e: sum of Y_i x X_i,    f: the same of the columns of 1 and of Y'X,    M: E'X F'
///
/// and from these to what the frame goes by, which is k <V, R [e] S> along the body's axes e: r of wheels and balls (S = 1), or the
/// momentum of tops. The turn of these depends on that alone, and on its own tangents along the three axes.
#ifndef CATENA_FRAME_ADJOINT_H
#define CATENA_FRAME_ADJOINT_H

#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "integrators/collocation.h"
#include "integrators/pose_pullback.h"
#include "integrators/position_step.h"
#include "integrators/turning_frame.h"

/// Gradients by the numbers of a frame; E, F: by turns.
typedef struct {
    vec3 E, F, l, a, r, way;
} frame_bar;

/// By what a body is seen from in a step of one stage: besides, by turns of R~, by turns of R_k that frames see as such, by the axes
/// `base` of a couple, and by V~ where alpha restarts from that.
typedef struct {
    frame_bar at, begun;
    vec3 from, start;
    mat3 base;
    rate_pose V;
} seen_bar;

FN mat3 no_columns(void)
{
    mat3 M;
    M.x = M.y = M.z = zero3();
    return M;
}
FN frame_bar no_frame_bar(void)
{
    frame_bar g;
    g.E = g.F = g.l = g.a = g.r = g.way = zero3();
    return g;
}

/// The gradient of <X, M [t]> by t; that of <X, [t] M> is sum_of_crosses().
FN vec3 by_own_turn(mat3 M, mat3 X) { return sum_of_crosses(no_turn().E, mmul(transposed(M), X)); }

/// Of Y = E M F with the gradient X: that by M.
FN mat3 turned_on_pullback(const lane_body *b, const turned_frame *f, mat3 Y, mat3 X, frame_bar *g)
{
    g->E = add(g->E, sum_of_crosses(Y, X));
    if (!is_top(b)) g->F = add(g->F, by_own_turn(Y, X));
    return turned_back(b, f, X);
}
/// Of E'M F'.
FN mat3 turned_back_pullback(const lane_body *b, const turned_frame *f, mat3 M, mat3 X, frame_bar *g)
{
    const mat3 N = turned_on(b, f, X);
    g->E = sub(g->E, sum_of_crosses(M, N));
    if (!is_top(b)) g->F = sub(g->F, by_own_turn(M, N));
    return N;
}

/// Of X(R) and G(R, D), with the gradient X: that by R, and by D.
FN mat3 frame_rate_pullback(const lane_body *b, const turned_frame *f, mat3 R, mat3 X, frame_bar *g)
{
    g->l = add(g->l, sum_of_crosses(R, X)), g->r = add(g->r, by_own_turn(R, X));
    return mat3_scale(frame_rate(b, f, X), rset(-1));
}
FN mat3 frame_change_pullback(const lane_body *b, const turned_frame *f, mat3 R, mat3 D, mat3 X, frame_bar *g, mat3 *by_D)
{
    const mat3 Y = mat3_add(mat3_add(D, D), frame_rate(b, f, R));
    const mat3 by_Y = mat3_scale(frame_rate(b, f, X), rset(-1));
    g->l = add(g->l, sum_of_crosses(Y, X)), g->r = add(g->r, by_own_turn(Y, X)), g->a = add(g->a, sum_of_crosses(R, X));
    *by_D = mat3_add(by_Y, by_Y);
    const mat3 by_R = frame_rate_pullback(b, f, R, by_Y, g);
    return is_top(b) ? mat3_scaled_difference(by_R, skew_times(f->a, X), rset(1)) : by_R;
}

/// A couple on a body with the virtual turn w, negated: that by what it makes of it; returns that by D.
FN mat3 frame_couple_pullback(const lane_body *b, const turned_frame *f, mat3 R, mat3 D, vec3 w, frame_bar *g)
{
    mat3 by_D;
    frame_change_pullback(b, f, R, D, skew_times(opposite(w), mmul(R, sym_full(mass_of_top(b).S))), g, &by_D);
    return by_D;
}

/// The tangents of turn_top() along the axes of L: its turn, from the right, and its way.
FN void tangents_of_top(const ldl3 *inertia, vec3 L, real t, vec3 *turn, vec3 *way)
{
    const ldl3 I = *inertia;
    const real half = rset(0.5), one = rset(1), two = rset(2), o = rset(0), parts = parts_of_top(&I, L, t), k = t / parts,
               c = k / rset(6);
    const vec3 axes[3] = {vec(one, o, o), vec(o, one, o), vec(o, o, one)};
    quat z, dz[3];
    vec3 dL[3];
    z.w = one, z.x = z.y = z.z = o;
    for (int e = 0; e < 3; e++) dL[e] = axes[e], dz[e].w = dz[e].x = dz[e].y = dz[e].z = o, way[e] = zero3();
    for (int n = 0; n < MOST_TOP_PARTS; n++) {
        const mask goes = lt(rset(n), parts);
        if (!any_of(goes)) break;
        quat y = z, dy[3] = {dz[0], dz[1], dz[2]}, at = z, next[3] = {dz[0], dz[1], dz[2]};
        vec3 x = L, dx[3] = {dL[0], dL[1], dL[2]}, sum = L, middle = zero3(), more[3] = {dL[0], dL[1], dL[2]}, by[3];
        by[0] = by[1] = by[2] = zero3();
        for (int s = 0; s < 4; s++) {
            const real part = rset(s < 2 ? 0.5 : 1) * k, share = rset(s == 0 || s == 3 ? 1 : 2) * c;
            const vec3 w = ldl_solve(I, x), l = cross(x, w), x_ = x;
            const quat d = quat_mul(y, quat_pure(w, half)), y_ = y;
            sum = add_scaled(sum, l, share), middle = add_scaled(middle, w, share), at = quat_add_scaled(at, d, share);
            x = add_scaled(L, l, part), y = quat_add_scaled(z, d, part);
            for (int e = 0; e < 3; e++) {
                const vec3 dw = ldl_solve(I, dx[e]), dl = cross_add(cross(dx[e], w), x_, dw);
                const quat dd = quat_add_scaled(quat_mul(dy[e], quat_pure(w, half)), quat_mul(y_, quat_pure(dw, half)), one);
                more[e] = add_scaled(more[e], dl, share), by[e] = add_scaled(by[e], dw, share),
                next[e] = quat_add_scaled(next[e], dd, share);
                dx[e] = add_scaled(dL[e], dl, part), dy[e] = quat_add_scaled(dz[e], dd, part);
            }
        }
        const mat3 R = quat_rotation(z);
        for (int e = 0; e < 3; e++) {
            const vec3 f = scale(quat_imaginary(quat_mul(quat_conjugate(z), dz[e])), two);
            way[e] = sel3(goes, add(way[e], mul(R, cross_add(by[e], f, middle))), way[e]);
            dL[e] = sel3(goes, more[e], dL[e]), dz[e] = sel_quat(goes, next[e], dz[e]);
        }
        L = sel3(goes, sum, L), z = sel_quat(goes, at, z);
    }
    const real inv = two / fmadd(z.w, z.w, fmadd(z.x, z.x, fmadd(z.y, z.y, z.z * z.z)));
    for (int e = 0; e < 3; e++) turn[e] = scale(quat_imaginary(quat_mul(quat_conjugate(z), dz[e])), inv);
}

/// From the gradients by a top's numbers after the time t, that by the momentum L, body axes.
FN vec3 top_pullback(const turned_frame *f, mat3 R, const ldl3 *I, vec3 L, real t, const frame_bar *g)
{
    const mat3 T = f->F, now = mmul(R, T);
    const vec3 at = tmul(T, L), W = ldl_solve(*I, at), A = ldl_solve(*I, cross(at, W));
    const vec3 by_T = tmul(now, g->E), by_l = tmul(now, g->l), by_a = tmul(now, g->a), by_way = tmul(R, g->way);
    const vec3 rows[3] = {transposed(T).x, transposed(T).y, transposed(T).z};
    vec3 turn[3], way[3];
    real x[3];
    tangents_of_top(I, L, t, turn, way);
    for (int e = 0; e < 3; e++) {
        const vec3 dL = sub(rows[e], cross(turn[e], at)), dW = ldl_solve(*I, dL);
        const vec3 dA = ldl_solve(*I, cross_add(cross(dL, W), at, dW));
        x[e] = dot_add(dot(by_T, turn[e]), by_way, way[e]);
        x[e] = dot_add(dot_add(x[e], by_l, cross_add(dW, turn[e], W)), by_a, cross_add(dA, turn[e], A));
    }
    return vec(x[0], x[1], x[2]);
}

/// From the gradients by the frame of body b after the time t of a step that begins with the axes R and their change V: adds those by
/// turns of R. Returns that by V.
FN mat3 frame_pullback(const lane_body *b, mat3 R, mat3 V, real t, const frame_bar *g, vec3 *start)
{
    turned_frame begun;
    const turned_frame f = frame_of(b, R, V, t, &begun);
    mat3 X;  // [s] S of the gradient s, times k
    if (is_top(b)) {
        const top_mass M = mass_of_top(b);
        const ldl3 I = ldl_factor(M.I);
        const vec3 L = tmul(R, moment_of_columns(R, V, M.S)), s = top_pullback(&f, R, &I, L, t, g);
        *start = cross_add(cross_add(cross_add(*start, f.l, g->l), f.a, g->a), f.way, g->way);
        X = skew_times(s, sym_full(M.S));
    } else if (is_wheel(b)) {
        const vec3 axis = own_axis(b);
        const real s = dot(axis, add_scaled(g->r, add(g->F, tmul(R, g->way)), t));
        *start = cross_add(*start, f.way, g->way);
        X = skew_times(scale(axis, rset(0.5) * s), no_turn().E);
    } else {
        const vec3 l = add_scaled(g->l, g->way, t + t), F = add(g->F, tmul(f.F, tmul(R, g->E)));
        const vec3 s = add_scaled(add(g->r, tmul(R, l)), exp_pullback(scale(f.r, t), F), t);
        *start = cross_add(*start, f.l, l);
        X = skew_times(scale(s, rset(0.25)), no_turn().E);
    }
    if (!is_wheel(b)) *start = add(*start, sub(g->E, tmul(f.E, g->E)));
    X = mmul(R, X);
    *start = add(*start, sum_of_crosses(X, V));
    return X;
}

/// The gradient by the columns of a pose where its centre of mass goes on as it did: X_p c' is to be taken off. (with_columns())
FN mat3 moved_with(const lane_body *b, const rate_pose *X)
{
    const vec3 c = seen_center(b);
    mat3 M;
    M.x = scale(X->p, c.x), M.y = scale(X->p, c.y), M.z = scale(X->p, c.z);
    return M;
}
FN mat3 columns_seen(const lane_body *b, const rate_pose *X) { return mat3_add_scaled(X->R, moved_with(b, X), rset(-1)); }

// ---- steps of one stage

KERNEL void clear_seen(const lane_model *m, const solve *W, seen_bar *seen)
{
    for (int i = 0; i < m->nbody && W->turn.of; i++) {
        seen[i].at = seen[i].begun = no_frame_bar();
        seen[i].from = seen[i].start = zero3(), seen[i].base = no_columns(), seen[i].V = zero_rate();
    }
}

/// A gradient f by where R~ takes the point at the arm r, body axes, against where R_k does.
FN void arm_pullback(const body_frame *f, mat3 R, vec3 r, vec3 by, seen_bar *g)
{
    g->from = cross_add(g->from, mul(f->from, r), by), g->start = sub(g->start, cross(mul(R, r), by));
}

/// A gradient by beyond_arc() of a point of body b.
FN void arc_pullback(const lane_body *b, const body_frame *f, mat3 R, vec3 point, vec3 by, seen_bar *g)
{
    const vec3 arm = sub(point, seen_center(b)), on = mul(f->from, arm);
    arm_pullback(f, R, arm, by, g);
    g->at.way = sub(g->at.way, cross(on, by)), g->from = sub(g->from, cross(on, cross(by, f->at.way)));
}

/// Adds to b [nv] the joint rows of the gradients s X by the poses from which chords go. X: columns of the bodies with mass.
KERNEL void add_chord_rows(const lane_model *m, const solve *W, const rate_pose *X, real s, seen_bar *seen, pose_work *P,
                           real *b_)
{
    pose_loads(m, W->start, X, s, P->load);
    for (int i = 0, k = 0; i < m->nbody && W->turn.of; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) continue;
        const wrench w = wrench_on(W->turn.of[i].from, X[k++]);
        if (!is_framed(b, W->turn.mode)) continue;
        P->load[i].n = zero3(), seen[i].from = add_scaled(seen[i].from, w.n, s);
        arm_pullback(&W->turn.of[i], W->start[i].R, seen_center(b), scale(w.f, negate(s)), &seen[i]);  // the shift
    }
    add_joint_rows(m, W->start, P->load, b_);
}

/// Of what frames leave of velocities V and, of alpha, accelerations at the end of a step: adds to b [nv] the rows there. bar: gradients
/// by V; A (NULL: there is none) by A and B together, with the velocities V [nbody] themselves: what these make is added to bar.
KERNEL void leave_frames_pullback(const lane_model *m, const solve *W, rate_pose *bar, const rate_pose *A, const rate_pose *V,
                                  seen_bar *seen, pose_work *P, real *b_)
{
    if (!W->turn.of) return;
    for (int i = 0, k = -1; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const turned_frame *f = &W->turn.of[i].at;
        const mat3 R = W->now[i].R;
        P->load[i] = wrench_zero();
        k += (b->flags & BODY_MASS) != 0;
        if (!is_framed(b, W->turn.mode)) continue;
        mat3 by_R = frame_rate_pullback(b, f, R, columns_seen(b, &bar[k]), &seen[i].at), by_D;
        if (A) {
            const mat3 D = mat3_add_scaled(V[i].R, frame_rate(b, f, R), rset(-1));
            by_R = mat3_add(by_R, frame_change_pullback(b, f, R, D, columns_seen(b, &A[k]), &seen[i].at, &by_D));
            bar[k].R = mat3_add(bar[k].R, by_D);
        }
        P->load[i].n = sum_of_crosses(R, by_R);
    }
    add_joint_rows(m, W->now, P->load, b_);
}

/// After a solve for the virtual motion P->motion: what couples make of it.
KERNEL void couples_pullback(const lane_model *m, const solve *W, const pose_work *P, seen_bar *seen)
{
    for (int i = 0; i < m->nbody && m->skew && W->turn.of; i++) {
        const lane_body *b = &m->bodies[i];
        const body_frame *const f = &W->turn.of[i];
        seen_bar *const g = &seen[i];
        const mat3 R = W->now[i].R;
        const vec3 w = P->motion[i].w;
        rate_pose base = zero_rate();
        if (!has_couple(b) || !is_framed(b, W->turn.mode)) continue;
        if (is_top(b)) {
            const mat3 D = mat3_scaled_difference(R, f->base, f->rate);
            base.R = mat3_scale(frame_couple_pullback(b, &f->at, R, D, w, &g->at), negate(f->rate));
        } else {
            const vec3 axis = own_axis(b), z = mul(R, axis), from = mul(f->base, axis);
            g->at.r = sub(g->at.r,
                          scale(axis, axial_momentum(b, axis) * f->rate * dot(w, gyrostat_couple(rset(1), f->whole, z, from))));
            add_outer(&base, scale(f->whole ? w : sub_scaled(w, z, dot(z, w)), f->couple), axis);
        }
        g->base = mat3_add(g->base, base.R), g->from = add(g->from, sum_of_crosses(f->from, base.R));
    }
}

/// Likewise of dampers, which go by the way beyond the arc of a point.
KERNEL void arcs_pullback(const lane_model *m, const solve *W, const pose_work *P, seen_bar *seen)
{
    for (int k = 0; k < m->nload && W->turn.of; k++) {
        const lane_point_load *s = &m->loads[k];
        const lane_body *b = &m->bodies[s->body];
        if (!is_framed(b, W->turn.mode) || s->flags & LOAD_TOUCHES) continue;
        const vec3 y = moved_point(P->motion[s->body], mul(W->now[s->body].R, load3(s->point))), axis = W->held[k].axis;
        const vec3 braked = s->flags & LOAD_SLIPS ? drag_slope(&W->held[k].drag, axis, y)
                                                  : add_axial_drag(scale(y, s->damping), s, axis, y, rset(1));
        arc_pullback(b, &W->turn.of[s->body], W->start[s->body].R, load3(s->point), scale(braked, W->in.drag), &seen[s->body]);
    }
}

/// Of what a drift, columns D as frames see them, takes besides: gradients `by` by the drift [bodies with mass], which those by D are, too.
/// inv_s: of drift_of_frame()
KERNEL void drifts_pullback(const lane_model *m, const solve *W, real inv_s, const rate_pose *by, seen_bar *seen)
{
    for (int i = 0, k = -1; i < m->nbody && W->turn.of; i++) {
        const lane_body *b = &m->bodies[i];
        const body_frame *const f = &W->turn.of[i];
        seen_bar *const g = &seen[i];
        k += (b->flags & BODY_MASS) != 0;
        if (!is_framed(b, W->turn.mode)) continue;
        const mat3 X = columns_seen(b, &by[k]);
        const vec3 u = sub_scaled(f->at.way, frame_spin(&f->at, f->from), inv_s), by_u = sum_of_crosses(f->from, X),
                   back = scale(by_u, negate(inv_s));
        const vec3 turned = mul(f->from, f->at.r);
        g->from = add(g->from, sub(cross(turned, back), sum_of_crosses(f->from, skew_times(u, X))));
        g->at.way = add(g->at.way, by_u), g->at.l = add(g->at.l, back), g->at.r = add(g->at.r, tmul(f->from, back));
    }
}

/// Gradients by what frames see of the state S at the start of a step, in `bar`, become those by S; adds to those by q.
KERNEL void enter_frames_pullback(const lane_model *m, const solve *W, const position_state *S, seen_bar *seen, pose_work *P,
                                  const state_bar *bar)
{
    const turning_frames *const T = &W->turn;
    if (!T->of) return;
    for (int i = 0, k = -1; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const mat3 R = W->start[i].R, V = S->V[i].R;
        seen_bar *const g = &seen[i];
        P->load[i] = wrench_zero();
        k += (b->flags & BODY_MASS) != 0;
        if (!is_framed(b, W->turn.mode)) continue;
        const turned_frame *f = &T->of[i].at;
        turned_frame begun;
        frame_of(b, R, V, rset(0), &begun);
        const mat3 D = mat3_add_scaled(V, frame_rate(b, &begun, R), rset(-1));
        bar->V[k] = columns_add_scaled(bar->V[k], g->V, rset(1));
        mat3 by_D = turned_on_pullback(b, f, T->V[i].R, columns_seen(b, &bar->V[k]), &g->at), by_R = no_columns();
        mat3 by_V = moved_with(b, &bar->V[k]);
        for (int n = 0; n < 2 && bar->A; n++) {
            rate_pose *const A = n ? &bar->B[k] : &bar->A[k];
            const mat3 X = turned_on_pullback(b, f, (n ? T->B : T->A)[i].R, columns_seen(b, A), &g->at);
            mat3 more;
            A->R = mat3_add(moved_with(b, A), X);
            by_R = mat3_add(by_R, frame_change_pullback(b, &begun, R, D, mat3_scale(X, rset(-1)), &g->begun, &more));
            by_D = mat3_add(by_D, more);
        }
        by_R = mat3_add(by_R, frame_rate_pullback(b, &begun, R, mat3_scale(by_D, rset(-1)), &g->begun));
        // R~ = E R F
        g->at.E = add(g->at.E, g->from), g->at.F = add(g->at.F, tmul(T->of[i].from, g->from));
        vec3 n = add(add(g->start, tmul(f->E, g->from)), sum_of_crosses(R, by_R));
        by_V = mat3_add(mat3_add(by_V, by_D), frame_pullback(b, R, V, W->in.h, &g->at, &n));
        bar->V[k].R = mat3_add(by_V, frame_pullback(b, R, V, rset(0), &g->begun, &n));
        P->load[i].n = n;
    }
    add_joint_rows(m, W->start, P->load, bar->q);
}

#endif
