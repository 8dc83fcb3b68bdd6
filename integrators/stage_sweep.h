/// The exact Newton step of a position-based method with s coupled stages in O(N): one articulated-body sweep over twists of
/// 6 s components, with blocks that are not symmetric. (docs/theory.md 5.2)
///
///     inwards    U = P S + N,  L = S'P + N',  D = S'P S + joint terms,  P' = P - U D^-1 L,  p' = p - U D^-1 (S'p + r)
///     outwards   dq = -D^-1 (L d_parent + S'p + r),  d = d_parent + S dq
///
/// P maps the twists of a body at all stages to wrenches at all stages, world axes, its origin at each stage; S and N = S x* w /
/// 2 (newton_sweep.h) are block-diagonal by stages. D is factored with row exchanges: Radau's h_11 of two stages is zero.
#ifndef CATENA_STAGE_SWEEP_H
#define CATENA_STAGE_SWEEP_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/kinematics.h"
#include "forces/joint_elements.h"
#include "forces/body_loads.h"
#include "integrators/joint_terms.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_residual.h"

#ifdef CATENA_ALONG  // where ends may be open
enum { MOST_BORDERS = 2 };
#else
enum { MOST_BORDERS = 1 };
#endif
enum { MOST_TWIST = 6 * MOST_STAGES, MOST_DOF = 3 * MOST_STAGES, MOST_HANDED = MOST_BORDERS * MOST_TWIST };

/// Scratch of one lane block, sizes for s stages.
typedef struct {
    real *P;      // [6 s][6 s + 1]: P and p of what hangs on the body in hand
    real *heap;   // [forks][6 s][6 s + 1]: sums at forks, the innermost last; forks: as many as can be open at a time
    real *X;      // [nv][6 s + 1]: D^-1 L and D^-1 (S'p + r), by rows; [s] times so many, from s times `dof` on
    real *Y;      // [nv][6 s] likewise D^-1 S'F, of open ends
    real *twist;  // [nbody][6 s], written for forks
    mask held;    // lanes that still need the X they have (follow.h)
    // kept by stage_factor() for any number of right-hand sides, [nv][6 s^2] and [nv][3 s^2]: U [6 s][dof s] and D^-1 [dof s][dof
    // s]
    real *U, *inverse;
} stage_sweep;

/// Turns M = [D | B], D [n][n], B [n][m], rows of n + m, into D^-1 B in the place of B. A lane whose D is singular gets numbers
/// that are not finite.
FN void solve_dense(real *M, int n, int m)
{
    const int w = n + m;
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++) {  // the largest pivot moves up
            const mask swap = gt(magnitude(M[w * i + k]), magnitude(M[w * k + k]));
            for (int j = k; j < w; j++) {
                const real a = M[w * k + j], b = M[w * i + j];
                M[w * k + j] = sel(swap, b, a), M[w * i + j] = sel(swap, a, b);
            }
        }
        const real inverse = rset(1) / M[w * k + k];
        for (int j = k + 1; j < w; j++) M[w * k + j] = M[w * k + j] * inverse;
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < w; j++) M[w * i + j] = fnmadd(M[w * i + k], M[w * k + j], M[w * i + j]);
    }
    for (int k = n - 1; k > 0; k--)
        for (int i = 0; i < k; i++)
            for (int j = n; j < w; j++) M[w * i + j] = fnmadd(M[w * i + k], M[w * k + j], M[w * i + j]);
}

/// Adds a block [A, [right]x; -[left]x, mass] to a matrix with rows of w, at `at`. A: by rows
FN void add_block(real *at, int w, mat3 A, vec3 right, vec3 left, real mass)
{
    at[0] = at[0] + A.x.x, at[1] = at[1] + A.x.y, at[2] = at[2] + A.x.z;
    at[4] = at[4] - right.z, at[5] = at[5] + right.y;
    at[w] = at[w] + A.y.x, at[w + 1] = at[w + 1] + A.y.y, at[w + 2] = at[w + 2] + A.y.z;
    at[w + 3] = at[w + 3] + right.z, at[w + 5] = at[w + 5] - right.x;
    at[2 * w] = at[2 * w] + A.z.x, at[2 * w + 1] = at[2 * w + 1] + A.z.y, at[2 * w + 2] = at[2 * w + 2] + A.z.z;
    at[2 * w + 3] = at[2 * w + 3] - right.y, at[2 * w + 4] = at[2 * w + 4] + right.x;
    at[3 * w + 1] = at[3 * w + 1] + left.z, at[3 * w + 2] = at[3 * w + 2] - left.y, at[3 * w + 3] = at[3 * w + 3] + mass;
    at[4 * w] = at[4 * w] - left.z, at[4 * w + 2] = at[4 * w + 2] + left.x, at[4 * w + 4] = at[4 * w + 4] + mass;
    at[5 * w] = at[5 * w] + left.y, at[5 * w + 1] = at[5 * w + 1] - left.x, at[5 * w + 5] = at[5 * w + 5] + mass;
}

/// Adds the block M, by rows, and [n]x to the turns in P at `at`, rows of w.
FN void add_turning_block(real *at, int w, mat3 M, vec3 n)
{
    add_block(at, w, mat3_add(M, dyad_and_skew(zero3(), zero3(), n)), zero3(), zero3(), rset(0));
}

/// Adds L to P, rows of `width`.
FN void add_inertia_block(real *P, int width, inertia6 L)
{
    const mat3 A = sym_full(L.A), D = sym_full(L.D), Bt = transposed(L.B);
    const vec3 top[3] = {A.x, A.y, A.z}, right[3] = {Bt.x, Bt.y, Bt.z}, left[3] = {L.B.x, L.B.y, L.B.z}, low[3] = {D.x, D.y, D.z};
    for (int k = 0; k < 3; k++) {
        real *const n = P + width * k, *const f = P + width * (3 + k);
        add3(n, top[k]), add3(n + 3, right[k]), add3(f, left[k]), add3(f + 3, low[k]);
    }
}

/// Adds the block of a solve of one stage to P.
FN void add_solve_block(const lane_model *m, const lane_body *b, const solve *W, int i, int width, real *P)
{
    const iterate_body *t = &W->body[i];
    if (b->flags & BODY_MASS) add_block(P, width, sym_full(t->A), t->b, t->b, given(b)->mass * W->in.k2);
    if (m->skew && has_couple(b)) {
        const body_frame *const f = &W->turn.of[i];
        const mat3 R = W->now[i].R;
        add_turning_block(P, width, end_couple_block(b, f, R), scale(end_couple(b, f, R), rset(0.5)));
    }
    if (is_loaded(b, W)) add_inertia_block(P, width, W->load[b->load].P);
}

/// Adds the blocks of body i itself to P, rows of `width`.
FN void add_stage_blocks(const lane_body *b, const stages *W, int s, int i, int width, real *P)
{
    const stage_body *o = &W->body[i * s];
    const bool turns = b->flags & (BODY_ROUND | BODY_TOP) && has_frame(b, W);
    for (int a = 0; a < s; a++)
        for (int l = 0; l < s; l++) {
            real *at = P + width * 6 * a + 6 * l;
            const real h = rset(W->table->h[a][l]) * W->in.k2, mass = h * given(b)->mass;
            mat3 A;
            vec3 right, left;
            if (a == l) {
                A = sym_full(o[a].A);
                right = left = o[a].b;
            } else {
                right = scale(o[a].c, h), left = scale(o[l].c, h);
                if (turns) A = stage_frame_block(b, W, s, i, a, l);
                else {
                    const mat3 Q = mmul(*axes_seen(b, W, s, i, a), o[l].W);  // tr Q - Q': its rows are the columns of -Q
                    const real tr = h * (Q.x.x + Q.y.y + Q.z.z), minus = negate(h);
                    A.x = scale(Q.x, minus), A.y = scale(Q.y, minus), A.z = scale(Q.z, minus);
                    A.x.x = A.x.x + tr, A.y.y = A.y.y + tr, A.z.z = A.z.z + tr;
                }
            }
            add_block(at, width, A, right, left, mass);
            if (turns && a == l)
                add_turning_block(at, width, stage_frame_block(b, W, s, i, a, a),
                                  scale(frame_couple_at(b, W, s, i, a), rset(0.5)));
            if (!(b->flags & BODY_TILTS) || !tilts(b) || !has_frame(b, W)) continue;
            add_turning_block(at, width, stage_couple_block(b, W, s, i, a, l),
                              a == l ? scale(stage_couple(b, W, s, i, a), rset(0.5)) : zero3());
        }
}

/// Adds what a load's torque, and a force that turns with its link, add at a stage to what is below for a force in world axes.
/// The chart takes half the turn of the whole wrench: a torque in world axes takes it back, one in link axes takes the other
/// half, too. A force F in link axes turns by d x F, and its moment by r x (d x F).
FN void add_wrench_block(const lane_point_load *load, const stage_load *at, real *P, int w)
{
    if (load->flags & LOAD_TURNS) {
        const vec3 n = scale(at->T, load->flags & LOAD_FOLLOWS ? rset(0.5) : rset(-0.5));  // [n]x
        mat3 A;
        A.x = vec(rset(0), negate(n.z), n.y), A.y = vec(n.z, rset(0), negate(n.x)), A.z = vec(negate(n.y), n.x, rset(0));
        add_block(P, w, A, zero3(), zero3(), rset(0));
    }
    if (load->flags & LOAD_FOLLOWS)
        add_block(P, w, arms_block(at->arm, at->F, rset(-1)), zero3(), scale(at->F, rset(-1)), rset(0));
}

/// Adds p c' to P.
FN void add_outer_block(real *P, int w, wrench p, wrench c)
{
    const real row[6] = {p.n.x, p.n.y, p.n.z, p.f.x, p.f.y, p.f.z}, column[6] = {c.n.x, c.n.y, c.n.z, c.f.x, c.f.y, c.f.z};
    for (int k = 0; k < 6; k++)
        for (int j = 0; j < 6; j++) P[w * k + j] = fmadd(row[k], column[j], P[w * k + j]);
}

/// Adds what an axial drag of stage a makes of the motion at stage l, `along` t t' between the ends of the arms, and, at the
/// stage itself, of how the axis turns: t (t.x), with the velocity x against the current, changes with d by (d x t)(t.x) + t (t x
/// x).d
FN void add_axial_blocks(const stages *W, const stage_load *of, int a, int l, real *P, int w)
{
    const vec3 t = of[a].axis, x = of[a].slip;
    const real e = of[a].drag.along * (rset(W->table->d[a][l]) * W->in.inv_h);
    add_outer_block(P, w, force_at(of[a].arm, scale(t, e)), force_at(of[l].arm, t));
    if (a != l) return;
    const real turned = of[a].drag.secant * dot(t, x);
    wrench turn = wrench_zero();
    turn.n = scale(cross(t, x), of[a].drag.along);
    add_outer_block(P, w, force_at(of[a].arm, t), turn);
    add_block(P, w, arms_block(of[a].arm, t, turned), zero3(), scale(t, turned), rset(0));
}

/// Adds what drag that slips makes besides: along n, which turns with an axis, and by the height at which the current is met.
FN void add_slip_blocks(const stages *W, const lane_point_load *load, const stage_load *of, int a, int l, real *P, int w)
{
    const drag_force *const D = &of[a].drag;
    const vec3 t = of[a].axis;
    if (load->flags & LOAD_SQUARE)
        add_outer_block(P, w, force_at(of[a].arm, scale(D->n, D->across * (rset(W->table->d[a][l]) * W->in.inv_h))),
                        force_at(of[l].arm, D->n));
    if (a != l) return;
    if (load->flags & LOAD_SQUARE && load->flags & LOAD_AXIAL) {
        wrench turn = wrench_zero();
        turn.n = cross(t, D->n);
        add_outer_block(P, w, force_at(of[a].arm, scale(D->n, negate(D->across * dot(t, of[a].slip)))), turn);
    }
    const vec3 up = vec(rset(0), rset(0), rset(-1));
    add_outer_block(P, w, force_at(of[a].arm, drag_slope(D, t, of[a].shear)), force_at(of[a].arm, up));
}

/// What x by turns of Q and y by the velocity of the frame make by turns of body i at stage l: E x + R r x y.
FN vec3 turns_seen(const lane_body *b, const stages *W, int i, int l, vec3 x, vec3 y)
{
    const int at = i * W->table->stages + l;
    const turned_frame *f = &W->frame[at];
    return cross_add(is_wheel(b) ? x : mul(f->E, x), mul(W->body[at].T.R, f->r), y);
}

/// How bristles and their rate together, s + t s', of contact point k at stage a go along the tangent t by the motion at stage l.
FN wrench slide_column(const lane_model *m, const stages *W, int k, int a, int l, vec3 face, vec3 t)
{
    const stage_table *table = W->table;
    const lane_point_load *load = &m->loads[k];
    const stage_load *at = &W->point[k * table->stages + l];
    const lane_body *b = &m->bodies[load->body];
    const mat3 *const R_l = axes_seen(b, W, table->stages, load->body, l);
    const real h = W->in.h, own = rset(l == a), rate = rset(table->d[a][l]) * W->in.inv_h, tau = m->relaxation;
    const real e = fmadd(tau, rate, own);
    // the surface: the parts R_l R_i' t, over the stages i of the quadrature
    vec3 rolls = scale(tmul(*axes_seen(b, W, table->stages, load->body, a), t), tau * rate);
    rolls = mul(*R_l, rolls);
    for (int i = 0; i < table->stages; i++)
        rolls = add_scaled(rolls, mul(*R_l, tmul(*axes_seen(b, W, table->stages, load->body, i), t)),
                           rset(table->a[a][i] * table->d[i][l]));
    const real own_rate = fmadd(h, rset(table->a[a][l]), tau * own);
    vec3 turns = add_scaled(cross(rolls, face), cross(at->axis, t), own_rate);
    if (has_frame(b, W)) turns = turns_seen(b, W, load->body, l, turns, scale(cross(t, face), own_rate));
    wrench w;
    w.n = add_scaled(scale(cross(at->arm, t), e), turns, load->radius), w.f = scale(t, e);
    return w;
}

/// Adds what the gradient n of the gap makes of the way of a contact point on a surface that is not flat: n turns by H, and with
/// it the force, and the rate of the gap.
FN void add_bend_block(const lane_model *m, const stages *W, int k, int s, int a, int width, const meeting *t, wrench by_press,
                       real *P)
{
    const lane_point_load *load = &m->loads[k];
    const stage_load *of = &W->point[k * s];
    sym3 H;
    stand_at(surface_of(m, load), add(W->held[k].gap, of[a].u), &H);
    real *const block = P + (width + 1) * 6 * a;
    const vec3 column[3] = {vec(H.xx, H.xy, H.xz), vec(H.xy, H.yy, H.yz), vec(H.xz, H.yz, H.zz)};
    for (int j = 0; j < 3; j++)
        add_outer_block(block, width, force_at(t->arm, scale(column[j], negate(t->press.force))),
                        force_at(t->arm, vec(rset(j == 0), rset(j == 1), rset(j == 2))));
    add_outer_block(block, width, by_press, force_at(t->arm, scale(smul(H, load_rate(W, of, a)), t->press.by_rate)));
}

/// Adds what the planes of friction, which turn with that gradient, make of the way of a contact point at all stages, and that bristles
/// of stage a go by the planes of all of them, not by its own alone: Newton's steps leave both out.
FN void add_face_blocks(const lane_model *m, const stages *W, int k, int s, int a, int width, const meeting *t, real *P)
{
    const lane_point_load *load = &m->loads[k];
    const stage_table *table = W->table;
    const stage_load *of = &W->point[k * s];
    const lane_body *b = &m->bodies[load->body];
    const mat3 R_k = W->start[load->body].R;
    const friction_law *const F = &t->rub;
    const real h = W->in.h, tau = m->relaxation, r = load->radius;
    const vec3 y = add_scaled(t->s, of[a].F, tau);
    vec3 x = add_scaled(add(W->slip[load->contact], of[a].u),
                        add_scaled(load_rate(W, of, a), surface_rate(b, W, load->body, of, a, t->face), r), tau);
    vec3 off[MOST_STAGES];
    const mat3 *Q[MOST_STAGES];
    for (int l = 0; l < s; l++) {
        const vec3 face = face_of(m, load, add(W->held[k].gap, of[l].u));
        off[l] = sub(face, t->face), Q[l] = axes_seen(b, W, s, load->body, l);
        x = add_scaled(x, surface_rate(b, W, load->body, of, l, face), rset(table->a[a][l]) * h * r);
    }
    for (int l = 0; l < s; l++) {
        const vec3 ways[2] = {F->t1, F->t2};
        for (int j = 0; j < 2; j++) {
            wrench column = wrench_zero(), row = force_at(sub_scaled(t->arm, t->face, r), scale(ways[j], j ? F->k2 : F->k1));
            for (int i = 0; i < s; i++)
                column.n = add_scaled(column.n, cross(mul(*Q[l], tmul(*Q[i], ways[j])), off[i]),
                                      r * rset(table->a[a][i] * table->d[i][l]));
            if (has_frame(b, W))
                column.n = turns_seen(b, W, load->body, l, column.n, scale(cross(ways[j], off[l]), r * h * rset(table->a[a][l])));
            add_outer_block(P + width * 6 * a + 6 * l, width, row, column);
        }
        sym3 H;
        stand_at(surface_of(m, load), add(W->held[k].gap, of[l].u), &H);
        const vec3 column[3] = {vec(H.xx, H.xy, H.xz), vec(H.xy, H.yy, H.yz), vec(H.xz, H.yz, H.zz)};
        const real e = fmadd(h, rset(table->a[a][l]), tau * rset(l == a));
        for (int j = 0; j < 3; j++) {
            vec3 turns = zero3();
            for (int i = 0; i < s; i++)
                turns = add_scaled(turns, sub(tmul(*Q[i], column[j]), tmul(R_k, column[j])), rset(table->d[l][i]) * W->in.inv_h);
            turns = mul(*Q[l], turns);
            if (has_frame(b, W))
                turns = cross_add(turns, column[j], frame_spin(&W->frame[load->body * s + l], W->body[load->body * s + l].T.R));
            vec3 bends = scale(turns, r * e);  // bristles and their rate, before they are projected
            if (l == a) bends = sub_scaled(bends, column[j], dot(t->face, x));
            vec3 g = add_scaled(scale(F->t1, F->k1 * dot(F->t1, bends)), F->t2, F->k2 * dot(F->t2, bends));
            if (l == a) g = sub_scaled(g, t->face, F->k2 * dot(column[j], y));
            wrench w = force_at(t->arm, g);
            w.n = add_scaled(w.n, cross(g, t->face), r);
            if (l == a) w.n = add_scaled(w.n, cross(F->g, column[j]), r);
            add_outer_block(P + width * 6 * a + 6 * l, width, w,
                            force_at(of[l].arm, vec(rset(j == 0), rset(j == 1), rset(j == 2))));
        }
    }
}

/// Adds what a contact point that brakes turns makes at stage a of the motion at all stages, with the normal force that goes by `gap`
/// there and by its rate.
FN void add_turn_blocks(const lane_model *m, const stages *W, int k, int s, int a, int width, const meeting *t, real *P)
{
    const lane_point_load *load = &m->loads[k];
    const stage_turn of = turn_at_stage(m, W, k, a, t);
    wrench by_press = wrench_zero(), row = wrench_zero(), column = wrench_zero();
    by_press.n = turn_pull(&of.T, of.law.by_press);
    for (int l = 0; l < s; l++) {
        const real rate = rset(W->table->d[a][l]) * W->in.inv_h,
                   e = fmadd(t->press.by_rate, rate, t->press.by_gap * rset(l == a));
        const real bends = fmadd(m->relaxation, rate, rset(l == a));
        const small_turn T = turned_at_stage(&m->bodies[load->body], W, load->body, l);
        real *const block = P + width * 6 * a + 6 * l;
        add_outer_block(block, width, by_press, force_at(W->point[k * s + l].arm, scale(t->n, e)));
        for (int j = 0; j < 3; j++) {
            row.n = turn_pull(&of.T, scale(of.law.along[j], of.law.k[j] * bends));
            column.n = turn_pull(&T, of.law.along[j]);
            add_outer_block(block, width, row, column);
        }
    }
    const vec3 turn = scale(turn_pull(&of.T, of.law.g), rset(0.5));
    const real bend = rset(-0.5) * dot(of.law.g, of.T.v);
    mat3 A;
    A.x = vec(bend, negate(turn.z), turn.y), A.y = vec(turn.z, bend, negate(turn.x)), A.z = vec(negate(turn.y), turn.x, bend);
    add_block(P + (width + 1) * 6 * a, width, A, zero3(), zero3(), rset(0));
}

/// Adds what a contact point makes at stage a of the motion at all stages. The normal force goes by the gap there and by its
/// rate, friction by bristles and their rate, and, where it slides, by the normal force. exact: with all that planes of friction do.
FN void add_touch_blocks(const lane_model *m, const stages *W, int k, int s, int a, int width, bool exact, real *P)
{
    const lane_point_load *load = &m->loads[k];
    const meeting t = touch_at_stage(m, W, k, a);
    if (W->watch && !any_of(gt(t.press.force, rset(0)))) return;
    const vec3 ways[2] = {t.rub.t1, t.rub.t2}, n = t.n, slides = scale(t.rub.by_cap, load->friction);
    const vec3 under = sub_scaled(t.arm, t.face, load->radius);  // where friction acts
    const real second[2] = {t.rub.k1, t.rub.k2};
    wrench by_press = force_at(under, slides), by_way[2];  // the gradient's derivative by the normal force, and by both tangents
    by_press.n = sub(by_press.n, cross(t.arm, n)), by_press.f = sub(slides, n);
    for (int j = 0; j < 2; j++) by_way[j] = force_at(under, scale(ways[j], second[j]));
    for (int l = 0; l < s; l++) {
        const real rate = rset(W->table->d[a][l]) * W->in.inv_h, e = fmadd(t.press.by_rate, rate, t.press.by_gap * rset(l == a));
        real *const block = P + width * 6 * a + 6 * l;
        add_outer_block(block, width, by_press, force_at(W->point[k * s + l].arm, scale(n, e)));
        for (int j = 0; j < 2; j++) add_outer_block(block, width, by_way[j], slide_column(m, W, k, a, l, t.face, ways[j]));
    }
    if (load->surface && any_of(gt(t.press.force, rset(0)))) {
        add_bend_block(m, W, k, s, a, width, &t, by_press, P);
        if (exact) add_face_blocks(m, W, k, s, a, width, &t, P);
    }
    if (load->rolls) add_turn_blocks(m, W, k, s, a, width, &t, P);
    const vec3 f = meeting_gradient(&t), half = scale(f, rset(-0.5)),
               turn = scale(cross(t.rub.g, t.face), rset(0.5) * load->radius);
    mat3 A = sym_full(point_curvature(t.arm, f));  // and [turn]x
    A.x = add(A.x, vec(rset(0), negate(turn.z), turn.y)), A.y = add(A.y, vec(turn.z, rset(0), negate(turn.x)));
    A.z = add(A.z, vec(negate(turn.y), turn.x, rset(0)));
    add_block(P + (width + 1) * 6 * a, width, A, half, half, rset(0));
}

/// Adds what another load makes at stage a of the motion at all stages: dampers couple them.
FN void add_pull_blocks(const lane_model *m, const stages *W, int k, int s, int a, int width, real *P)
{
    for (int l = 0; l < s; l++) {
        const stage_load *at = &W->point[k * s + a], *by = &W->point[k * s + l];
        const real c = load_block(W, &m->loads[k], &W->point[k * s], a, l);
        mat3 A = arms_block(at->arm, by->arm, c);
        vec3 right = scale(at->arm, c), left = scale(by->arm, c);
        if (a == l) {
            const mat3 G = sym_full(point_curvature(at->arm, at->g));
            A.x = add(A.x, G.x), A.y = add(A.y, G.y), A.z = add(A.z, G.z);
            right = left = add_scaled(right, at->g, rset(-0.5));
        }
        real *const here = P + width * 6 * a + 6 * l;
        add_block(here, width, A, right, left, c);
        if (m->loads[k].flags & LOAD_SLIPS) add_slip_blocks(W, &m->loads[k], &W->point[k * s], a, l, here, width);
        if (m->loads[k].flags & LOAD_AXIAL) add_axial_blocks(W, &W->point[k * s], a, l, here, width);
        else if (a == l && m->loads[k].flags) add_wrench_block(&m->loads[k], at, P + (width + 1) * 6 * a, width);
    }
}

/// Adds those of the loads on a body; exact: as of add_touch_blocks().
KERNEL void add_load_blocks(const lane_model *m, const lane_body *b, const stages *W, int s, int width, bool exact, real *P)
{
    for (int k = b->load; k < b->loads_end; k++) {
        if (passes_over(W->watch, &k)) continue;
        for (int a = 0; a < s; a++)
            if (m->loads[k].flags & LOAD_TOUCHES) add_touch_blocks(m, W, k, s, a, width, exact, P);
            else add_pull_blocks(m, W, k, s, a, width, P);
    }
}

/// The size of what is in hand, with the border of an open end or without.
typedef struct {
    int rows, width;
} bordered;

FN bordered border_of(int s, bool open)
{
    const int w = 6 * s;
    bordered B;
    B.rows = open ? 2 * w : w, B.width = open ? 2 * w + 1 : w + 1;
    return B;
}

/// The same about the parent's origin, from which the body's stands off by r_a at stage a.
FN void shift_stages(const stages *W, int s, int i, bordered B, real *P)
{
    const int width = B.width;
    for (int a = 0; a < s; a++) {
        const vec3 r = W->body[i * s + a].T.r;
        real *top = P + width * 6 * a;
        for (int j = 0; j < width; j++) {  // moments: n + r x f
            const vec3 f = vec(top[3 * width + j], top[4 * width + j], top[5 * width + j]);
            const vec3 n = cross_add(vec(top[j], top[width + j], top[2 * width + j]), r, f);
            top[j] = n.x, top[width + j] = n.y, top[2 * width + j] = n.z;
        }
    }
    for (int a = 0; a < s; a++) {
        const vec3 r = W->body[i * s + a].T.r;
        for (int j = 0; j < B.rows; j++) {  // columns: v + w x r, so that row (n, f) of P becomes (n + r x f, f)
            real *row = P + width * j + 6 * a;
            const vec3 n = cross_add(vec(row[0], row[1], row[2]), r, vec(row[3], row[4], row[5]));
            row[0] = n.x, row[1] = n.y, row[2] = n.z;
        }
    }
}

/// What a vector of six, `stride` numbers apart, has along a subspace.
FN real part_along(twist S, bool turn, bool slide, const real *x, int stride)
{
    real y = rset(0);
    if (turn) y = dot(S.w, vec(x[0], x[stride], x[2 * stride]));
    if (slide) y = dot_add(y, S.v, vec(x[3 * stride], x[4 * stride], x[5 * stride]));
    return y;
}

/// Eliminates the joint of body i, of n degrees of freedom, from what is in hand; open: with a border. What the sweep outwards
/// needs goes to X and Y; keep: U and D^-1 are kept, too.
FN void eliminate_stages(const lane_model *m, const lane_body *b, int kind, int n, const stages *W, int s, int i, bool open,
                         bool keep, real *P, stage_sweep *work)
{
    const bordered B = border_of(s, open);
    const int w = 6 * s, N = n * s, width = B.width, row = N + width + (keep ? N : 0);
    real *X = work->X + b->dof * s * (w + 1);
    const bool root_body = b->flags & BODY_ROOT, turn = kind != JOINT_TRANSLATION && kind != JOINT_PRISMATIC;
    const bool slide = kind == JOINT_TRANSLATION || kind == JOINT_PRISMATIC || kind == JOINT_HELICAL;
    real U[MOST_HANDED * MOST_DOF], M[MOST_DOF * (2 * MOST_DOF + MOST_HANDED + 1)];
    for (int a = 0; a < s; a++)
        for (int k = 0; k < n; k++) {
            const twist S = joint_subspace(b, kind, W->body[i * s + a].T.R, k);
            const int c = n * a + k;
            real *M_ = M + row * c;
            const real *top = P + width * 6 * a;
            for (int j = 0; j < B.rows; j++) U[N * j + c] = part_along(S, turn, slide, P + width * j + 6 * a, 1);
            for (int j = 0; j < width; j++)
                if (j != w) M_[N + j] = part_along(S, turn, slide, top + j, width);
            real y = W->r[a * m->nv + b->vadr + k];
            if (turn) y = dot_add(y, S.w, vec(top[w], top[width + w], top[2 * width + w]));
            if (slide) y = dot_add(y, S.v, vec(top[3 * width + w], top[4 * width + w], top[5 * width + w]));
            M_[N + w] = y;
        }
    const real *K = W->K + 3 * s * s * b->dof;
    for (int a = 0; a < s; a++)
        for (int k = 0; k < n; k++) {
            const twist S = joint_subspace(b, kind, W->body[i * s + a].T.R, k);
            for (int c = 0; c < N; c++) M[row * (n * a + k) + c] = part_along(S, turn, slide, U + N * 6 * a + c, N);
        }
    if (has_terms(b, W->in.tau)) {
        for (int c = 0; c < N; c++)
            for (int j = 0; j < N; j++) {
                if (kind == JOINT_BALL) M[row * c + j] = M[row * c + j] + K[N * c + j];
                else if (c % n == j % n) M[row * c + j] = M[row * c + j] + K[s * c + j / n];
            }
    }
    if (!root_body)
        for (int a = 0; a < s; a++)
            for (int k = 0; k < n; k++) {
                const twist S = joint_subspace(b, kind, W->body[i * s + a].T.R, k);
                const wrench t = W->body[i * s + a].w;
                const vec3 hw = scale(S.w, rset(0.5)), hv = scale(S.v, rset(0.5));
                vec3 angular = zero3(), linear = zero3();
                if (turn) angular = cross(hw, t.n), linear = cross(hw, t.f);
                if (slide) angular = cross_add(angular, hv, t.f);
                const int c = n * a + k;
                const real x[6] = {angular.x, angular.y, angular.z, linear.x, linear.y, linear.z};
                for (int j = 0; j < 6; j++) {
                    U[N * (6 * a + j) + c] = U[N * (6 * a + j) + c] + x[j];
                    M[row * c + N + 6 * a + j] = M[row * c + N + 6 * a + j] + x[j];
                }
            }
    for (int c = 0; c < N && keep; c++)
        for (int j = 0; j < N; j++) M[row * c + N + width + j] = rset(c == j);
    solve_dense(M, N, row - N);
    if (any_of(work->held)) {
        for (int c = 0; c < N; c++)
            for (int j = 0; j <= w; j++) X[(w + 1) * c + j] = sel(work->held, X[(w + 1) * c + j], M[row * c + N + j]);
    } else
        for (int c = 0; c < N; c++)
            for (int j = 0; j <= w; j++) X[(w + 1) * c + j] = M[row * c + N + j];
    for (int c = 0; c < N && open; c++)
        for (int j = 0; j < w; j++) work->Y[(b->dof * s + c) * w + j] = M[row * c + N + w + 1 + j];
    if (keep) {
        real *kept = work->U + b->dof * s * w, *inverse = work->inverse + 3 * s * s * b->dof;
        for (int j = 0; j < w * N; j++) kept[j] = U[j];
        for (int c = 0; c < N; c++)
            for (int j = 0; j < N; j++) inverse[N * c + j] = M[row * c + N + width + j];
    }
    if (root_body && !open) return;
    for (int j = 0; j < B.rows; j++)
        for (int c = 0; c < N; c++) {
            const real u = U[N * j + c];
            const real *x = M + row * c + N;
            for (int l = 0; l < width; l++) P[width * j + l] = fnmadd(u, x[l], P[width * j + l]);
        }
}

/// One body of the sweep inwards, to which P has what hangs on it: its blocks, its joint, and the parent's origin.
FN void stage_inward_body(const lane_model *m, const stages *W, stage_sweep *work, int s, int i, bool open, bool keep, real *P)
{
    const lane_body *b = &m->bodies[i];
    const joint_form f = form_of(b);
    const bordered B = border_of(s, open);
    if (W->one) add_solve_block(m, b, W->one, i, B.width, P);
    else if (f.flags & BODY_MASS) add_stage_blocks(b, W, s, i, B.width, P);
    if (f.flags & BODY_LOAD && !W->one) add_load_blocks(m, b, W, s, B.width, keep, P);
    for (int a = 0; a < s && W->bonds.row; a++)
        add_inertia_block(P + (B.width + 1) * 6 * a, B.width, W->bonds.bend[a * m->nbody + i]);
    if (f.kind == JOINT_BALL || f.kind == JOINT_TRANSLATION) eliminate_stages(m, b, f.kind, 3, W, s, i, open, keep, P, work);
    else eliminate_stages(m, b, f.kind, 1, W, s, i, open, keep, P, work);
    if (!(f.flags & BODY_ROOT) && has_arm(f)) shift_stages(W, s, i, B, P);
}

/// The sweep inwards for s stages (s, keep: constants in each call), after stage_rows().
FN void stage_sweep_inward(const lane_model *m, const stages *W, stage_sweep *work, int s, bool keep)
{
    const int size = 6 * s * (6 * s + 1);
    int open = 0;
    real *P = work->P;
    for (int i = m->nbody - 1; i >= 0; i--) {
        const unsigned flags = m->bodies[i].flags;
        if (flags & BODY_LEAF)
            for (int j = 0; j < size; j++) P[j] = rset(0);
        if (flags & BODY_FORK) {
            open--;
            const real *H = work->heap + open * size;
            for (int j = 0; j < size; j++) P[j] = P[j] + H[j];
        }
        stage_inward_body(m, W, work, s, i, false, keep, P);
        if (flags & (BODY_ROOT | BODY_NEXT)) continue;
        if (flags & BODY_LAST) {
            real *H = work->heap + open * size;
            open++;
            for (int j = 0; j < size; j++) H[j] = P[j];
        } else {
            real *H = work->heap + (open - 1) * size;
            for (int j = 0; j < size; j++) H[j] = H[j] + P[j];
        }
    }
}

/// One body of the sweep outwards. T [6 s]: the motion of the body before, then its own (of roots it is read by none). Returns the
/// square of its largest change of place.
FN real stage_outward_body(const lane_model *m, const stages *W, stage_sweep *work, int s, int i, real *T, real *d)
{
    const int w = 6 * s;
    const lane_body *b = &m->bodies[i];
    const joint_form f = form_of(b);
    const int n = b->nv;
    const real *X = work->X + b->dof * s * (w + 1);
    for (int a = 0; a < s; a++) {
        real *t = T + 6 * a;
        if (f.flags & BODY_ROOT)
            for (int j = 0; j < 6; j++) t[j] = rset(0);
        else if (has_arm(f)) {
            const vec3 v = cross_add(vec(t[3], t[4], t[5]), vec(t[0], t[1], t[2]), W->body[i * s + a].T.r);
            t[3] = v.x, t[4] = v.y, t[5] = v.z;
        }
    }
    for (int a = 0; a < s; a++)
        for (int k = 0; k < n; k++) {
            const real *x = X + (w + 1) * (n * a + k);
            real y = x[w];
            for (int j = 0; j < w && !(f.flags & BODY_ROOT); j++) y = fmadd(x[j], T[j], y);
            d[a * m->nv + b->vadr + k] = negate(y);
        }
    for (int a = 0; a < s; a++)
        for (int k = 0; k < n; k++) {
            const twist S = joint_subspace(b, f.kind, W->body[i * s + a].T.R, k);
            const real y = d[a * m->nv + b->vadr + k];
            real *t = T + 6 * a;
            t[0] = fmadd(S.w.x, y, t[0]), t[1] = fmadd(S.w.y, y, t[1]), t[2] = fmadd(S.w.z, y, t[2]);
            t[3] = fmadd(S.v.x, y, t[3]), t[4] = fmadd(S.v.y, y, t[4]), t[5] = fmadd(S.v.z, y, t[5]);
        }
    if (f.flags & BODY_FORK)
        for (int j = 0; j < w; j++) work->twist[i * w + j] = T[j];
    real most = rset(0);
    for (int a = 0; a < s; a++) {
        const twist t = {vec(T[6 * a], T[6 * a + 1], T[6 * a + 2]), vec(T[6 * a + 3], T[6 * a + 4], T[6 * a + 5])};
        most = larger(most, place_change(m, b, &t));
    }
    return most;
}

/// The sweep outwards: d [s][nv], the Newton step in the coordinates of v (balls: body axes). Returns the largest change of place.
FN real stage_sweep_outward(const lane_model *m, const stages *W, stage_sweep *work, int s, real *d)
{
    const int w = 6 * s;
    real T[MOST_TWIST], most = rset(0);
    for (int j = 0; j < w; j++) T[j] = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & (BODY_ROOT | BODY_NEXT)))
            for (int j = 0; j < w; j++) T[j] = work->twist[b->parent * w + j];
        most = larger(most, stage_outward_body(m, W, work, s, i, T, d));
    }
    return root(most);
}

/// The Newton step d [stages][nv] at the iterate of W, and the largest change of place in it. In a lane where it cannot be computed
/// it is not finite.
KERNEL real stage_newton(const lane_model *m, const stages *W, stage_sweep *work, real *d)
{
    switch (W->table->stages) {
    case 2: stage_sweep_inward(m, W, work, 2, false); return stage_sweep_outward(m, W, work, 2, d);
    case 3: stage_sweep_inward(m, W, work, 3, false); return stage_sweep_outward(m, W, work, 3, d);
    default: stage_sweep_inward(m, W, work, W->table->stages, false); return stage_sweep_outward(m, W, work, W->table->stages, d);
    }
}

/// Keeps the factors of the matrix J of the Newton step at the iterate of W, for stage_solve() and stage_solve_transposed().
KERNEL void stage_factor(const lane_model *m, const stages *W, stage_sweep *work)
{
    work->held = none_of();
    stage_sweep_inward(m, W, work, W->table->stages, true);
}

#endif
