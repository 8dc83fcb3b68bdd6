/// The residual of a position-based step with several coupled stages, and what its Newton blocks are made of. (docs/theory.md 5)
///
/// At stage i the Euclidean acceleration of a body is a_i = (sum_j h_ij (T_j - T_k) - hV_i h V) / h^2, and the rows of its joint
/// are S(q_i)' times the wrench of a_i M - g e4' M, summed over the subtree. With a_i = k_i T_i - Y_i, k_i = h_ii / h^2, the
/// stage by itself is a step of order 2 (collocation.h) with k_i for 1/h^2: the same K, wrench and block. Stages meet in the
/// cross inertias
///
///     h_ij / h^2 [tr Q - Q', [c_i]x; -[c_j]x, m],   Q = R_i S R_j',  c_i = R_i c   (row of stage i, column of stage j).
#ifndef CATENA_STAGE_RESIDUAL_H
#define CATENA_STAGE_RESIDUAL_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "forces/joint_elements.h"
#include "forces/body_loads.h"
#include "contact/law.h"
#include "contact/rolling.h"
#include "integrators/between_work.h"
#include "integrators/joint_terms.h"
#include "integrators/force_unit.h"
#include "integrators/collocation.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"

/// A body at one stage of the iterate.
typedef struct {
    placement T;
    vec3 dp;   // p - p_k
    mat3 W;    // S R'; of a body that spins S Q' (turning_frame.h)
    vec3 c;    // R c, world axes
    sym3 A;    // tr K - sym K
    vec3 b;    // the first moment of the block: k_i c_i - f / 2
    wrench w;  // of the body, then of its subtree; about the body's origin
} stage_body;

/// A load at one stage of the iterate: the arm of its point, how far that has come since the start, the gradient there, and the
/// force, the torque and the axis of axial drag of the stage, world axes; the drag, of dampers k alone, and the velocity against
/// the current, of what is axial or slips. Of a contact point: F the velocity with which its surface slides, T how far its
/// bristles are bent, axis: what Q' (Q n)' of stand_at_stages() is.
typedef struct {
    vec3 arm, u, g, F, T, axis, slip, shear;
    drag_force drag;
} stage_load;

/// What a body keeps through a step, world axes.
typedef struct {
    mat3 W, WV;  // S R_k', h S V_R'
    vec3 c, cV;  // R_k c, h V_R c
    vec3 e;      // h V_p
    real unit;   // 1 over the scale of force of its joint's rows
    real link;   // and over that of the link alone
} stage_start;

/// Loops and couplings at the stages of the iterate (stage_bonds.h), with n numbers of the border at each.
typedef struct {
    bond_row *row;                      // [stages][nrow]; NULL: there are none that stages take
    real *force, *base, *step, *fresh;  // [stages][nrow], where the Newton step starts, the step, and the one in hand
    inertia6 *bend;                     // [stages][nbody] curvature
    real *lead, *push;                  // [stages][n][nv] rows and columns of the border
    real *moves, *rhs;                  // [stages n][stages][nv] what columns are solved to; [stages][nv]
    real *M;                            // [stages n][stages n + 1]
} stage_bonds;

/// Everything a solve with stages works on; stage by stage: x, u, r.
typedef struct {
    const stage_table *table;
    const solve *one;  // whose matrix this is (turning_sweep.h); NULL: that of these stages
    stage_input in;
    const rate_pose *V;      // [nbody] carried
    const placement *start;  // [nbody] at q
    turned_frame *frame;     // [nbody][stages] of what spins; NULL in models without any
    mat3 *seen;              // likewise, its axes as frames see them
    stage_start *step;       // [nbody]
    real *reach;             // [nbody] (force_unit.h)
    stage_body *body;        // [nbody][stages]
    load_state *held;        // [nload] at q
    stage_load *point;       // [nload][stages]
    load_watch *watch;  // [nload] which loads are idle (contact/near.h), whose `held` and `point` are not known; NULL: none is
    bool watched;       // it has been told already where bodies are as the step begins
    vec3 *p;            // [nbody] origins at q, with loads
    const vec3 *slip;   // [ncontact] what contact points remember
    const real *press;  // [ncontact] their normal forces at the start of the step
    mask glued;         // lanes at their first iterate, where what has stuck sticks
    real *r;            // [stages][nv] rows (balls: body axes)
    real *K;            // [nv][3 stages^2] derivatives of the joint terms: of a body from 3 s^2 times its `dof` on
    stage_bonds bonds;
    real link;          // the largest row over the scales of links alone
    mask too_far;       // an increment is ambiguous (joint_terms.h)
} stages;

/// Whether body b is seen from frames. Collocation beyond order 2, which goes by chords of the step before, has none.
FN bool has_frame(const lane_body *b, const stages *W) { return W->frame && spins(b) && !(W->table->old > 0); }

/// The axes of body i at stage a, as its frames see them: Q of R = E Q F.
FN const mat3 *axes_seen(const lane_body *b, const stages *W, int s, int i, int a)
{
    return has_frame(b, W) ? &W->seen[i * s + a] : &W->body[i * s + a].T.R;
}

/// R S in the shape that products with other rotations need: S R', by columns.
FN mat3 turned_moment(const lane_body *b, const stages *G, mat3 R)
{
    const sym3 S = b->flags & BODY_TOP && is_top(b) && has_frame(b, G) ? mass_of_top(b).S : load_sym(given(b)->S);
    const mat3 Rt = transposed(R);
    mat3 W;
    W.x = smul(S, Rt.x), W.y = smul(S, Rt.y), W.z = smul(S, Rt.z);
    return W;
}

/// The frames of body i at all stages of a step of size h that begins with the axes R and their change V. Returns what they see of V.
FN mat3 enter_stage_frames(const lane_body *b, stages *W, int i, mat3 R, mat3 V, real h)
{
    const int s = W->table->stages;
    turned_frame begun = no_turn();
    for (int a = 0; a < s; a++) W->frame[i * s + a] = frame_of(b, R, V, rset(W->table->c[a]) * h, &begun);
    return mat3_add_scaled(V, frame_rate(b, &begun, R), rset(-1));
}

/// Constants of a step from the placements at its start, V and the step size h.
KERNEL void start_stages(const lane_model *m, stages *W, real h)
{
    W->in.h = h, W->in.inv_h = rset(1) / h;
    W->in.k2 = W->in.inv_h * W->in.inv_h;
    find_reach(m, W->in.q, W->reach);
#ifndef CATENA_ALONG  // there a pass finds them (sim/along/along_step.h)
    find_origins(m, W->in.q, W->start, W->p);
#endif
    if (!W->watch) hold_loads(m, W->start, W->p, W->held);
    else {
        if (!W->watched) watch_start(m, W->start, W->p, W->slip, NULL, W->watch);
        W->watched = false;
        for (int k = 0; k < m->nload; k++)
            if (W->watch[k].idle) k += W->watch[k].idle - 1;
            else W->held[k] = hold_load(m, &m->loads[k], W->start[m->loads[k].body].R, W->p[m->loads[k].body]);
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        stage_start *s = &W->step[i];
        s->unit = force_unit(m, b, W->reach[i], W->in.k2), s->link = link_unit(m, b, W->reach[i], W->in.k2);
        if (!(b->flags & BODY_MASS)) continue;
        const mat3 R = W->start[i].R;
        mat3 V = W->V[i].R;
        V.x = scale(V.x, h), V.y = scale(V.y, h), V.z = scale(V.z, h);
        s->cV = mul(V, load3(given(b)->h));
        if (has_frame(b, W)) {
            V = enter_stage_frames(b, W, i, R, W->V[i].R, h);
            V.x = scale(V.x, h), V.y = scale(V.y, h), V.z = scale(V.z, h);
        }
        s->W = turned_moment(b, W, R), s->WV = turned_moment(b, W, V);
        s->c = mul(R, load3(given(b)->h));
        s->e = scale(W->V[i].p, h);
    }
}

/// Where body i is at stage a.
FN void stage_place(const lane_model *m, const lane_body *b, stages *W, int s, int i, int a)
{
    stage_body *t = &W->body[i * s + a];
    const stage_body *up = b->flags & BODY_ROOT ? t : &W->body[b->parent * s + a];
    const real *x = W->in.x + a * m->nq;
    const joint_form f = form_of(b);
    const bool root_body = f.flags & BODY_ROOT;
    const mat3 parent = up->T.R, R = body_axes(b, f, parent, x);
    vec3 dp = root_body ? zero3() : up->dp;
    t->T.R = R;
    if (f.kind == JOINT_TRANSLATION) {
        const real *u = W->in.u + a * m->nv + b->vadr;
        dp = vec(u[0], u[1], u[2]);
    } else if (has_arm(f)) {
        t->T.r = body_offset(b, f, parent, R.z, x);
        dp = add(dp, sub(t->T.r, W->start[i].r));
    }
    t->dp = dp;
    if (!(f.flags & BODY_MASS)) return;
    if (has_frame(b, W)) W->seen[i * s + a] = turned_back(b, &W->frame[i * s + a], R);
    t->W = turned_moment(b, W, *axes_seen(b, W, s, i, a));
    t->c = mul(R, load3(given(b)->h));
}

/// The derivative of a wheel's axis at stage a by time: what its couple I w b' goes by (turning_frame.h).
FN vec3 axis_rate(const lane_body *b, const stages *W, int s, int i, int a)
{
    const vec3 from = wheel_axis(b, W->start[i].R);
    vec3 r = zero3();
    for (int l = 0; l < s; l++)
        r = add_scaled(r, sub(wheel_axis(b, W->body[i * s + l].T.R), from), rset(W->table->d[a][l]) * W->in.inv_h);
    return r;
}

/// The couple of a wheel at stage a, and its derivative by turns at stage l, by rows.
FN vec3 stage_couple(const lane_body *b, const stages *W, int s, int i, int a)
{
    const vec3 z = wheel_axis(b, W->body[i * s + a].T.R), r = axis_rate(b, W, s, i, a);
    return scale(sub_scaled(r, z, dot(z, r)), axial_momentum(b, W->frame[i * s].r));
}
FN mat3 stage_couple_block(const lane_body *b, const stages *W, int s, int i, int a, int l)
{
    const vec3 z = wheel_axis(b, W->body[i * s + a].T.R), y = wheel_axis(b, W->body[i * s + l].T.R), r = axis_rate(b, W, s, i, a);
    const real Iw = axial_momentum(b, W->frame[i * s].r), d = Iw * rset(W->table->d[a][l]) * W->in.inv_h;
    // y goes by turns with -[y]x: across z
    const vec3 by = scale(cross(z, y), d);  // -d (1 - z z') [y]x = -d [y]x + z (z x y)' d
    vec3 c = scale(y, negate(d)), k = by;
    if (a == l) c = add_scaled(c, z, Iw * dot(z, r)), k = add(k, scale(cross(r, z), Iw));
    return dyad_and_skew(z, k, c);
}

/// The derivative of the axes of body i at stage a, seen from its frames and turned on: E Q' F.
FN mat3 axes_rate(const lane_body *b, const stages *W, int s, int i, int a)
{
    mat3 D;
    D.x = D.y = D.z = zero3();
    for (int l = 0; l < s; l++)
        D = mat3_add(D, mat3_scaled_difference(*axes_seen(b, W, s, i, l), W->start[i].R, rset(W->table->d[a][l]) * W->in.inv_h));
    return turned_on(b, &W->frame[i * s + a], D);
}

/// What the frames of a ball or a top do at stage a besides.
FN vec3 frame_couple_at(const lane_body *b, const stages *W, int s, int i, int a)
{
    return frame_couple(b, &W->frame[i * s + a], W->body[i * s + a].T.R, axes_rate(b, W, s, i, a));
}

/// What a turn of a ball or a top at stage l makes of the moment at stage a, by rows: of what the frames do, of its inertia at
/// other stages, and of the way of its centre of mass.
FN mat3 stage_frame_block(const lane_body *b, const stages *W, int s, int i, int a, int l)
{
    const turned_frame *f = &W->frame[i * s + a];
    const stage_body *o = &W->body[i * s];
    const real d = rset(W->table->d[a][l]) * W->in.inv_h, h = rset(W->table->h[a][l]) * W->in.k2, zero = rset(0), one = rset(1);
    const mat3 R = o[a].T.R, D = axes_rate(b, W, s, i, a);
    const top_mass M = mass_of_top(b);
    const vec3 e[3] = {vec(one, zero, zero), vec(zero, one, zero), vec(zero, zero, one)};
    vec3 c[3];
    for (int k = 0; k < 3; k++) {
        const mat3 turned = skew_times(e[k], o[l].T.R), none = mat3_scale(R, zero);
        const mat3 on = turned_on(b, f, turned_back(b, &W->frame[i * s + l], turned)), dD = mat3_scale(on, d);
        c[k] = couple_change(b, f, R, D, a == l ? turned : none, dD);
        if (!(b->flags & BODY_PINNED)) c[k] = add_scaled(c[k], cross(o[a].c, cross(e[k], o[l].c)), h / given(b)->mass);
        if (a != l) c[k] = add_scaled(c[k], moment_of_columns(R, on, M.S), h);
    }
    mat3 A;
    A.x = vec(c[0].x, c[1].x, c[2].x), A.y = vec(c[0].y, c[1].y, c[2].y), A.z = vec(c[0].z, c[1].z, c[2].z);
    return A;
}

/// The moment about the origin and the block of turns of a ball or a top, of K = Q Z' in its frames; force: on it.
FN void weigh_in_frames(const lane_body *b, const stages *W, int s, int i, int a, mat3 K, vec3 y, vec3 force, stage_body *at)
{
    const mat3 E = W->frame[i * s + a].E;
    const real half = rset(-0.5);
    sym3 A;
    A.xx = K.y.y + K.z.z, A.yy = K.x.x + K.z.z, A.zz = K.x.x + K.y.y;
    A.xy = half * (K.y.x + K.x.y), A.xz = half * (K.z.x + K.x.z), A.yz = half * (K.z.y + K.y.z);
    A = turn(E, A);
    // the centre of mass, or of roots the origin: -c y'
    vec3 c = at->c, f = y;
    if (!(b->flags & BODY_PINNED)) c = scale(c, rset(1) / given(b)->mass), f = force;
    at->w.n = mul(E, vec(K.y.z - K.z.y, K.z.x - K.x.z, K.x.y - K.y.x));
    at->w.n = add(cross_add(at->w.n, c, f), frame_couple_at(b, W, s, i, a));
    at->A.xx = A.xx - (c.y * f.y + c.z * f.z), at->A.yy = A.yy - (c.x * f.x + c.z * f.z),
    at->A.zz = A.zz - (c.x * f.x + c.y * f.y);
    at->A.xy = fnmadd(half, c.x * f.y + c.y * f.x, A.xy), at->A.xz = fnmadd(half, c.x * f.z + c.z * f.x, A.xz);
    at->A.yz = fnmadd(half, c.y * f.z + c.z * f.y, A.yz);
}

/// The body's own wrench and block at stage a, from its placements at all stages.
FN void stage_wrench(const lane_model *m, const lane_body *b, stages *W, int s, int i, int a)
{
    const stage_table *t = W->table;
    const stage_start *k = &W->step[i];
    stage_body *o = &W->body[i * s], *at = o + a;
    const real k2 = W->in.k2, hV = rset(t->hV[a]), mass = given(b)->mass, half = rset(-0.5);
    // the acceleration times h^2: of the origin, of the first moment; Z' = S Y', without the stage's own part
    vec3 y = scale(k->e, negate(hV)), ac = scale(k->cV, negate(hV));
    mat3 Z;
    Z.x = scale(k->WV.x, hV), Z.y = scale(k->WV.y, hV), Z.z = scale(k->WV.z, hV);
    double sum = 0;
    for (int l = 0; l < s; l++) {
        const real h = rset(t->h[a][l]);
        sum += t->h[a][l];
        y = add_scaled(y, o[l].dp, h);
        ac = add_scaled(ac, sub(o[l].c, k->c), h);
        if (l != a) Z = mat3_add_scaled(Z, o[l].W, negate(h));
    }
    Z = mat3_add_scaled(Z, k->W, rset(sum));
    const vec3 g = load3(m->gravity);
    y = vec(fmadd(k2, y.x, negate(g.x)), fmadd(k2, y.y, negate(g.y)), fmadd(k2, y.z, negate(g.z)));
    const vec3 force = add_scaled(scale(ac, k2), y, mass);
    const mat3 R = *axes_seen(b, W, s, i, a);
    mat3 K;
    at->w.f = force;
    at->b = add_scaled(scale(at->c, rset(t->h[a][a]) * k2), force, half);
    if (b->flags & (BODY_ROUND | BODY_TOP) && has_frame(b, W)) {
        K.x = scale(mul(R, Z.x), k2), K.y = scale(mul(R, Z.y), k2), K.z = scale(mul(R, Z.z), k2);
        weigh_in_frames(b, W, s, i, a, K, y, force, at);
        return;
    }
    K.x = sub_scaled(scale(mul(R, Z.x), k2), at->c, y.x);
    K.y = sub_scaled(scale(mul(R, Z.y), k2), at->c, y.y);
    K.z = sub_scaled(scale(mul(R, Z.z), k2), at->c, y.z);
    at->w.n = vec(K.y.z - K.z.y, K.z.x - K.x.z, K.x.y - K.y.x);
    if (m->skew && tilts(b) && has_frame(b, W)) at->w.n = add(at->w.n, stage_couple(b, W, s, i, a));
    at->A.xx = K.y.y + K.z.z, at->A.yy = K.x.x + K.z.z, at->A.zz = K.x.x + K.y.y;
    at->A.xy = half * (K.y.x + K.x.y), at->A.xz = half * (K.z.x + K.x.z), at->A.yz = half * (K.z.y + K.y.z);
}

/// The velocity of a load's point at stage a: the rate of stage_tables.h, formed from where it is at the stages.
FN vec3 load_rate(const stages *W, const stage_load *of, int a)
{
    vec3 x = zero3();
    for (int l = 0; l < W->table->stages; l++) x = add_scaled(x, of[l].u, rset(W->table->d[a][l]) * W->in.inv_h);
    return x;
}

/// The angular velocity of body i at stage a, likewise: half the sum of e x e' over the axes e.
FN vec3 stage_spin(const stages *W, int i, int a)
{
    const int s = W->table->stages;
    const mat3 start = W->start[i].R, R = W->body[i * s + a].T.R;
    mat3 D;
    D.x = D.y = D.z = zero3();
    for (int l = 0; l < s; l++) {
        const mat3 *at = &W->body[i * s + l].T.R;
        const real d = rset(W->table->d[a][l]) * W->in.inv_h;
        D.x = add_scaled(D.x, sub(at->x, start.x), d), D.y = add_scaled(D.y, sub(at->y, start.y), d);
        D.z = add_scaled(D.z, sub(at->z, start.z), d);
    }
    return scale(sum_of_crosses(R, D), rset(0.5));
}

/// Drag that slips at stage a, where its point has the velocity x.
FN void slip_at_stage(const lane_model *m, const stages *W, const lane_point_load *load, const load_state *at, vec3 x, int a,
                      stage_load *of)
{
    clock_now(m, W->in.h, W->table->c[a]);
    const stream_at stream = stream_now(m, load, add(at->gap, of->u));
    of->slip = sub(x, stream.flow), of->shear = stream.shear;
    of->drag = drag_of(load, of->axis, of->slip, W->in.inv_h);
    of->g = of->drag.g;
}

/// The velocity of the surface of body i at stage a, where that touches a plane with the normal n, against the middle of the
/// rounding, over its radius: what points at stages say, seen from the frame, and that of the frame.
FN vec3 surface_rate(const lane_body *b, const stages *W, int i, const stage_load *of, int a, vec3 n)
{
    const int s = W->table->stages;
    return has_frame(b, W) ? add(of[a].axis, cross(n, frame_spin(&W->frame[i * s + a], W->body[i * s + a].T.R))) : of[a].axis;
}

/// How contact point k stands at all stages, after their arms and ways. Its surface slides with Pi (x + r Q' (Q n)'), Q = R_k R',
/// where it touches; s is what the step's quadrature makes of that.
FN void stand_at_stages(const lane_model *m, const stages *W, int k)
{
    const stage_table *t = W->table;
    const lane_point_load *s = &m->loads[k];
    const lane_body *b = &m->bodies[s->body];
    const mat3 R_k = W->start[s->body].R;
    const vec3 n = ground_normal(m);
    stage_load *of = &W->point[k * t->stages];
    vec3 turned[MOST_STAGES];
    for (int l = 0; l < t->stages; l++) turned[l] = sub(mul(R_k, tmul(*axes_seen(b, W, t->stages, s->body, l), n)), n);
    for (int a = 0; a < t->stages; a++) {
        vec3 x = zero3();
        for (int l = 0; l < t->stages; l++) x = add_scaled(x, turned[l], rset(t->d[a][l]) * W->in.inv_h);
        of[a].axis = mul(*axes_seen(b, W, t->stages, s->body, a), tmul(R_k, x));
        of[a].F = along_ground(n, add_scaled(load_rate(W, of, a), surface_rate(b, W, s->body, of, a, n), s->radius));
    }
    for (int a = 0; a < t->stages; a++) {
        vec3 x = add(W->slip[s->contact], of[a].u);
        for (int l = 0; l < t->stages; l++)
            x = add_scaled(x, surface_rate(b, W, s->body, of, l, n), rset(t->a[a][l]) * W->in.h * s->radius);
        of[a].T = along_ground(n, x);
    }
}

/// The same of a surface that is not flat: at each stage with its plane there, on which s is what remains of z and the way since.
FN void stand_on_surface(const lane_model *m, const stages *W, int k)
{
    const stage_table *t = W->table;
    const lane_point_load *s = &m->loads[k];
    const lane_body *b = &m->bodies[s->body];
    const mat3 R_k = W->start[s->body].R;
    stage_load *of = &W->point[k * t->stages];
    vec3 way = W->slip[s->contact], face[MOST_STAGES];
    for (int a = 0; a < t->stages; a++) {
        const vec3 n = face[a] = face_of(m, s, add(W->held[k].gap, of[a].u));
        vec3 x = zero3();
        for (int l = 0; l < t->stages; l++)
            x = add_scaled(x, sub(mul(R_k, tmul(*axes_seen(b, W, t->stages, s->body, l), n)), n), rset(t->d[a][l]) * W->in.inv_h);
        of[a].axis = mul(*axes_seen(b, W, t->stages, s->body, a), tmul(R_k, x));
        of[a].F = along_ground(n, add_scaled(load_rate(W, of, a), surface_rate(b, W, s->body, of, a, n), s->radius));
    }
    for (int a = 0; a < t->stages; a++) {
        vec3 x = add(way, of[a].u);
        for (int l = 0; l < t->stages; l++)
            x = add_scaled(x, surface_rate(b, W, s->body, of, l, face[l]), rset(t->a[a][l]) * W->in.h * s->radius);
        of[a].T = along_ground(face[a], x);
    }
}

/// Where a contact point sticks as the step begins.
FN mask stuck_at_start(const lane_model *m, const stages *W, int k)
{
    const lane_point_load *s = &m->loads[k];
    const rate_pose *V = &W->V[s->body];
    const vec3 n = face_of(m, s, W->held[k].gap), x = mul_add(V->p, V->R, load3(s->point)),
               rolls = mul(W->start[s->body].R, tmul(V->R, n));
    if (!(m->bodies[s->body].flags & BODY_MASS)) return none_of();
    return is_stuck(m, s, W->slip[s->contact], along_ground(n, add_scaled(x, rolls, s->radius)), W->press[s->contact]);
}

/// Contact point k at stage a, after stage_loads().
FN meeting touch_at_stage(const lane_model *m, const stages *W, int k, int a)
{
    const lane_point_load *s = &m->loads[k];
    const stage_load *of = &W->point[k * W->table->stages];
    surface_point on;
    if (s->surface) on = stand_of(m, s, add(W->held[k].gap, of[a].u));
    else on.n = on.face = ground_normal(m), on.gap = ground_gap(m, s, W->held[k].gap) + dot(on.n, of[a].u);
    const mask glued = any_of(W->glued) ? both(W->glued, stuck_at_start(m, W, k)) : W->glued;
    return meet(m, s, on, of[a].arm, load_rate(W, of, a), of[a].T, of[a].F, glued);
}

/// Contact point k at stage a as a brake of turns: with the turns since the start of all stages, the rate of bristles at a is
/// that of the polynomial through them.
typedef struct {
    small_turn T;
    vec3 s, rate;
    turn_law law;
} stage_turn;

/// How body i has turned at stage l since the start of the step; of one that spins, beyond what its frames have.
FN small_turn turned_at_stage(const lane_body *b, const stages *W, int i, int l)
{
    const int at = i * W->table->stages + l;
    const mat3 R = W->start[i].R;
    return turn_of(mmul(W->body[at].T.R, transposed(has_frame(b, W) ? turned_on(b, &W->frame[at], R) : R)));
}

FN stage_turn turn_at_stage(const lane_model *m, const stages *W, int k, int a, const meeting *c)
{
    const stage_table *t = W->table;
    const lane_point_load *s = &m->loads[k];
    const lane_body *b = &m->bodies[s->body];
    stage_turn of;
    of.rate = zero3();
    for (int l = 0; l < t->stages; l++) {
        const small_turn T = turned_at_stage(b, W, s->body, l);
        of.rate = add_scaled(of.rate, T.v, rset(2 * t->d[a][l]) * W->in.inv_h);
        if (l == a) of.T = T;
    }
    of.s = add_scaled(W->slip[turn_slot(m, s)], of.T.v, rset(2));
    if (has_frame(b, W)) {
        const turned_frame *const f = &W->frame[s->body * t->stages + a];
        of.s = add(of.s, f->way), of.rate = add(of.rate, frame_spin(f, W->body[s->body * t->stages + a].T.R));
    }
    const vec3 y = add_scaled(of.s, of.rate, m->relaxation);
    of.law = resist_turn(s, c->face, y, turn_grip(s), c->press.force, W->glued);
    return of;
}

/// Contact point k at the end of the step that W has solved.
FN end_touch touch_after_stages(const lane_model *m, const stages *W, int k)
{
    const meeting t = touch_at_stage(m, W, k, W->table->stages - 1);
    end_touch e;
    const lane_point_load *s = &m->loads[k];
    e.gap = t.gap, e.press = t.press.force, e.kept = kept_slip(s, t.s, e.press, e.press), e.turned = zero3();
    if (s->rolls) e.turned = kept_turn(s, t.face, turn_at_stage(m, W, k, W->table->stages - 1, &t).s, e.press, e.press);
    return e;
}

/// The solution in W is the end of a step in the lanes `where`, as keep_contacts() (position_step.h).
KERNEL void keep_stage_contacts(const lane_model *m, const stages *W, mask where, vec3 *slip, real *press)
{
    for (int k = 0; k < m->nload; k++) {
        if (passes_over(W->watch, &k) || !(m->loads[k].flags & LOAD_TOUCHES)) continue;
        const end_touch e = touch_after_stages(m, W, k);
        keep_touch(m, &m->loads[k], &e, where, slip, press);
    }
}

/// Watches the contact points of body i where it is at the s stages.
KERNEL void watch_stages(const lane_model *m, stages *W, int s, int i)
{
    const lane_body *b = &m->bodies[i];
    const stage_body *t = &W->body[i * s];
    const body_place from = {W->start[i].R, W->p[i]};
    body_place at[MOST_STAGES];
    for (int a = 0; a < s; a++) at[a].R = t[a].T.R, at[a].p = add(W->p[i], t[a].dp);
    for (int k = b->load; k < b->loads_end; k++) {
        const int end = k + m->loads[k].group;
        if (!m->loads[k].group) continue;
        for (int j = group_wakes(m, k, &from, at, s, false, NULL, W->watch) ? k : end; j < end; j++) {
            load_watch *const w = &W->watch[j];
            if (w->wakes && w->idle) W->held[j] = hold_load(m, &m->loads[j], W->start[i].R, W->p[i]);
            w->idle = !w->wakes;
        }
        k = end - 1;
    }
}

/// Adds the wrenches of the loads on body i at every stage, from its placements there.
KERNEL void stage_loads(const lane_model *m, stages *W, int s, int i)
{
    const lane_body *b = &m->bodies[i];
    if (W->watch) watch_stages(m, W, s, i);
    for (int k = b->load; k < b->loads_end; k++) {
        if (passes_over(W->watch, &k)) continue;
        const lane_point_load *load = &m->loads[k];
        const load_state *at = &W->held[k];
        stage_load *of = &W->point[k * s];
        for (int a = 0; a < s; a++) {
            const stage_body *t = &W->body[i * s + a];
            of[a].arm = mul(t->T.R, load3(load->point)), of[a].u = add(t->dp, sub(of[a].arm, at->arm));
            if (load->flags & LOAD_TOUCHES) continue;
            if (load->flags & LOAD_DRIVEN) clock_now(m, W->in.h, W->table->c[a]);
            of[a].F = load_force(m, load, t->T.R), of[a].T = load_torque(m, load, t->T.R), of[a].axis = load_axis(load, t->T.R);
        }
        if (load->flags & LOAD_TOUCHES) load->surface ? stand_on_surface(m, W, k) : stand_at_stages(m, W, k);
        for (int a = 0; a < s; a++) {
            stage_body *t = &W->body[i * s + a];
            if (load->flags & LOAD_TOUCHES) {
                const meeting c = touch_at_stage(m, W, k, a);
                const mask pressed = gt(c.press.force, rset(0));
                if (W->watch && !any_of(pressed)) continue;
                const wrench w = wrench_add(t->w, meeting_wrench(load, &c));
                t->w.n = W->watch ? sel3(pressed, w.n, t->w.n) : w.n, t->w.f = W->watch ? sel3(pressed, w.f, t->w.f) : w.f;
                if (load->rolls) {
                    const stage_turn of_turn = turn_at_stage(m, W, k, a, &c);
                    t->w.n = add(t->w.n, turn_pull(&of_turn.T, of_turn.law.g));
                }
                continue;
            }
            const vec3 x = load_rate(W, of, a);
            if (load->flags & LOAD_SLIPS) slip_at_stage(m, W, load, at, x, a, &of[a]);
            else {
                load_potential(load, at->gap, of[a].F, of[a].u, &of[a].g);
                of[a].g = add_axial_drag(add_scaled(of[a].g, x, load->damping), load, of[a].axis, x, rset(1));
                of[a].drag.k = load->damping;
                if (load->flags & LOAD_AXIAL)
                    of[a].slip = sub(x, load3(load->flow)), of[a].drag.secant = of[a].drag.along = load->axial;
            }
            t->w = wrench_add(t->w, force_at(of[a].arm, of[a].g));
            if (load->flags & LOAD_TURNS) t->w.n = sub(t->w.n, of[a].T);
        }
    }
}

/// Second derivative of the energy of a load between the ends of its arms at stages a and l; of: at the stages.
FN real load_block(const stages *W, const lane_point_load *load, const stage_load *of, int a, int l)
{
    return fmadd(rset(W->table->d[a][l]) * W->in.inv_h, of[a].drag.k, a == l ? load->stiffness : rset(0));
}

/// The wrenches and blocks of body i alone, from its placements; without loads.
FN void weigh_stages(const lane_model *m, const lane_body *b, stages *W, int s, int i)
{
    for (int a = 0; a < s; a++)
        if (b->flags & BODY_MASS) stage_wrench(m, b, W, s, i, a);
        else W->body[i * s + a].w = wrench_zero();
}

/// Placements, own wrenches and blocks of every body at the iterate x, u.
KERNEL void evaluate_stages(const lane_model *m, stages *W)
{
    const int s = W->table->stages;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int a = 0; a < s; a++) stage_place(m, b, W, s, i, a);
        weigh_stages(m, b, W, s, i);
    }
    for (int k = 0; k < m->nload; k = m->bodies[m->loads[k].body].loads_end) stage_loads(m, W, s, m->loads[k].body);
}

/// The largest row over its scale of force, and the sum of the squares of such.
typedef struct {
    real most, square;
} row_norms;

/// The rows of body i at all stages, with its joint's terms, from the wrenches of its subtree. NaN if one is.
FN void stage_rows_of(const lane_model *m, const lane_body *b, joint_form f, stages *W, int s, int i, row_norms *norms)
{
    const bool terms = has_terms(b, W->in.tau);
    real *K = W->K + 3 * s * s * b->dof;
    ball_stages B;
    if (terms && f.kind == JOINT_BALL) {
        B = ball_at_stages(m, b, W->table, &W->in);
        W->too_far = either(W->too_far, B.too_far);
    }
    for (int a = 0; a < s; a++) {
        const stage_body *t = &W->body[i * s + a];
        real *r = W->r + a * m->nv + b->vadr;
        joint_rows(b, f.kind, t->T.R, t->w, r);
        if (terms && f.kind == JOINT_BALL) {
            mat3 D[MOST_STAGES];
            const vec3 g = stage_terms_ball(m, b, W->table, &W->in, &B, a, D);
            r[0] = r[0] + g.x, r[1] = r[1] + g.y, r[2] = r[2] + g.z;
            // K [3 s][3 s]: row 3 a + k, column 3 l + j
            for (int l = 0; l < s; l++) {
                const vec3 column[3] = {D[l].x, D[l].y, D[l].z};
                for (int j = 0; j < 3; j++) {
                    K[3 * s * (3 * a) + 3 * l + j] = column[j].x;
                    K[3 * s * (3 * a + 1) + 3 * l + j] = column[j].y;
                    K[3 * s * (3 * a + 2) + 3 * l + j] = column[j].z;
                }
            }
        } else if (terms) {
            // K [nv s][s]: row nv a + k, derivatives by the same coordinate at stage l
            for (int k = 0; k < b->nv; k++) r[k] = r[k] + stage_terms1(m, b, W->table, s, &W->in, a, k, K + s * (b->nv * a + k));
            if (winds(b))
                W->too_far = either(
                    W->too_far, winds_on(b, W->in.u[a * m->nv + b->vadr], rset(W->table->c[a]) * W->in.h * W->in.rate[b->vadr]));
        }
        for (int k = 0; k < b->nv; k++) {
            const real scaled = magnitude(r[k]) * W->step[i].unit;
            W->link = larger(W->link, magnitude(r[k]) * W->step[i].link);
            norms->most = larger(norms->most, scaled);
            norms->square = fmadd(scaled, scaled, norms->square);
        }
    }
}

/// Sums the wrenches towards the root, adds the joint terms and forms the rows r. Returns the largest row over its scale of
/// force; *square: the sum of their squares. NaN if one is.
KERNEL real stage_rows(const lane_model *m, stages *W, real *square)
{
    const int s = W->table->stages;
    row_norms norms = {rset(0), rset(0)};
    W->too_far = none_of(), W->link = rset(0);
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const joint_form f = form_of(b);
        stage_rows_of(m, b, f, W, s, i, &norms);
        for (int a = 0; a < s && !(f.flags & BODY_ROOT); a++) {
            const stage_body *t = &W->body[i * s + a];
            stage_body *up = &W->body[b->parent * s + a];
            up->w = wrench_add(up->w, has_arm(f) ? wrench_shift(t->w, t->T.r) : t->w);
        }
    }
    *square = norms.square;
    return norms.most;
}

#endif
