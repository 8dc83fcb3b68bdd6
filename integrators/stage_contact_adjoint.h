/// The adjoint of contact points in a step of several stages: gradients by the stages and by the start of the step.
/// (stage_residual.h)
///
/// Let D_al h be the table's rates and D_a0 = -sum_l D_al, so that with the start as stage 0, X_l the middle of a point there and f_a
/// the normal of the plane of friction,
///
///     U_a = sum_l D_al X_l                        the velocity of its middle
///     e_a = sum_l D_al R_a R_l' f_a               what its surface turns by, r of that
///     F_a = P_a (U_a + r e_a)                     how it slides
///     s_a = P_a (z + X_a - X_0 + r h sum_l A_al e_l),     g_a = g(s_a + t F_a, m l_a),     l_a = l(gap_a, n_a.U_a)
///
/// all that a point does is a function of X_l, R_l and z. Of what spins, e_a has the axes Q_l that its frames see in the place of R_l, and
/// f_a x the frames' angular velocity besides. The virtual motion y (stage_adjoint.h), with the velocity v_a of the middle
/// and the turn w_a, makes y'r = sum_a g_a.(v_a - r w_a x f_a) - l_a n_a.v_a of it. (docs/theory.md 5.5)
#ifndef CATENA_STAGE_CONTACT_ADJOINT_H
#define CATENA_STAGE_CONTACT_ADJOINT_H

#include "contact/law.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "integrators/contact_adjoint.h"
#include "integrators/frame_adjoint.h"
#include "integrators/pose_pullback.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_tables.h"

/// Gradients by what a contact point is at one stage.
typedef struct {
    vec3 g;       // by the gradient of its friction
    vec3 s, F;    // by how far its bristles are bent, by how it slides
    real l, gap;  // by its normal force, by its gap
    vec3 n, U;    // by the gradient of the gap, by the velocity of its middle
} stage_touch_bar;

/// Scratch of one lane block, of models that touch.
typedef struct {
    wrench *load;  // [stages + 1][nbody] gradients by poses: at the stages, and at the start
    twist *moves;  // [stages][nbody] the virtual motion
    frame_bar *frame;  // [nbody][stages] gradients by what bodies that spin are seen from
} stage_touches;

FN void clear_touch_bars(stage_touch_bar *B, int s)
{
    for (int a = 0; a < s; a++) B[a].g = B[a].s = B[a].F = B[a].n = B[a].U = zero3(), B[a].l = B[a].gap = rset(0);
}

/// s_a and F_a of contact point k before they are projected.
FN vec3 stage_bend(const lane_model *m, const stages *W, int k, int a)
{
    const stage_table *t = W->table;
    const lane_point_load *p = &m->loads[k];
    const stage_load *of = &W->point[k * t->stages];
    vec3 x = add(W->slip[p->contact], of[a].u);
    for (int l = 0; l < t->stages; l++) {
        const vec3 rate = surface_rate(&m->bodies[p->body], W, p->body, of, l, face_of(m, p, add(W->held[k].gap, of[l].u)));
        x = add_scaled(x, rate, rset(t->a[a][l]) * W->in.h * p->radius);
    }
    return x;
}
FN vec3 stage_slide(const lane_model *m, const stages *W, int k, int a)
{
    const lane_point_load *p = &m->loads[k];
    const stage_load *of = &W->point[k * W->table->stages];
    const vec3 rate = surface_rate(&m->bodies[p->body], W, p->body, of, a, face_of(m, p, add(W->held[k].gap, of[a].u)));
    return add_scaled(load_rate(W, of, a), rate, p->radius);
}

/// Of b by P x, P the projection along the plane of normal f: adds the gradient by f.
FN void plane_pullback(vec3 f, vec3 x, vec3 b, vec3 *face) { *face = sub_scaled(sub_scaled(*face, b, dot(f, x)), x, dot(f, b)); }

/// Of what contact point k is at the stages, B [stages]: adds the gradients by its poses to A->load of its body, by what that is seen from
/// to A->frame, and by the bristles it began with to *slip.
KERNEL void touch_stages_pullback(const lane_model *m, const stages *W, int k, const stage_touch_bar *B, const stage_touches *A,
                                  vec3 *slip)
{
    wrench *const load = A->load;
    const stage_table *t = W->table;
    const int s = t->stages;
    const lane_point_load *p = &m->loads[k];
    const stage_load *of = &W->point[k * s];
    const stage_body *body = &W->body[p->body * s];
    const lane_body *b = &m->bodies[p->body];
    const real h = W->in.h, inv_h = W->in.inv_h, r = p->radius;
    const mat3 R_k = W->start[p->body].R;
    vec3 X[MOST_STAGES], e[MOST_STAGES], f[MOST_STAGES], face[MOST_STAGES], n_bar[MOST_STAGES], turn[MOST_STAGES];
    vec3 start = zero3(), turn_start = zero3();
    for (int a = 0; a < s; a++) X[a] = e[a] = face[a] = turn[a] = zero3();
    for (int a = 0; a < s; a++) {
        const meeting c = touch_at_stage(m, W, k, a);
        const friction_law *const R = &c.rub;
        const vec3 U = load_rate(W, of, a), G = B[a].g;
        // the second derivative of the potential by s + t F, in all directions
        const vec3 by_bend = add_scaled(scale(G, R->k2), R->t1, (R->k1 - R->k2) * dot(R->t1, G));
        const vec3 s_bar = add(B[a].s, by_bend), F_bar = add_scaled(B[a].F, by_bend, m->relaxation);
        const vec3 bends = along_ground(c.face, s_bar), slides = along_ground(c.face, F_bar);
        const real l = fmadd(p->friction, dot(R->by_cap, G), B[a].l), by_rate = c.press.by_rate * l;
        const vec3 moves = along_ground(c.face, stage_slide(m, W, k, a));
        const real work = sel(gt(R->k1, rset(0)), dot(R->g, G), rset(0));
        add_by_contact(m, p, c.press.force * dot(R->by_cap, G), fmadd(l, c.press.force, work) / p->grip,
                       fmadd(l * c.press.by_gap, dot(c.n, U), dot(by_bend, moves)));
        const vec3 by_U = add_scaled(add(B[a].U, slides), c.n, by_rate);
        f[a] = c.face, n_bar[a] = add_scaled(B[a].n, U, by_rate);
        if (p->surface) {
            plane_pullback(c.face, stage_bend(m, W, k, a), s_bar, &face[a]);
            plane_pullback(c.face, stage_slide(m, W, k, a), F_bar, &face[a]);
        }
        X[a] = add_scaled(add(X[a], bends), c.n, fmadd(c.press.by_gap, l, B[a].gap));
        start = sub(start, bends), *slip = add(*slip, bends);
        for (int i = 0; i < s; i++) {
            const real d = rset(t->d[a][i]) * inv_h;
            X[i] = add_scaled(X[i], by_U, d), start = sub_scaled(start, by_U, d);
            e[i] = add_scaled(e[i], bends, rset(t->a[a][i]) * h * r);
        }
        e[a] = add_scaled(e[a], slides, r);
    }
    for (int a = 0; a < s; a++) {
        const vec3 seen = tmul(*axes_seen(b, W, s, p->body, a), e[a]), at_start = mul(R_k, seen);
        turn[a] = add(turn[a], cross(of[a].axis, e[a]));
        for (int i = 0; i < s; i++) {
            const real d = rset(t->d[a][i]) * inv_h;
            const vec3 at = mul(*axes_seen(b, W, s, p->body, i), seen);
            turn[i] = sub_scaled(turn[i], cross(f[a], at), d);
            turn_start = add_scaled(turn_start, cross(f[a], at_start), d);
            face[a] = add_scaled(face[a], sub(at, at_start), d);
        }
    }
    for (int a = 0; a < s && has_frame(b, W); a++) {
        const turned_frame *F = &W->frame[p->body * s + a];
        frame_bar *const g = &A->frame[p->body * s + a];
        const mat3 R = body[a].T.R;
        const vec3 n = is_wheel(b) ? turn[a] : mul(F->E, turn[a]), by_spin = cross(e[a], f[a]);
        g->E = sub(g->E, n);
        if (!is_top(b)) g->F = sub(g->F, tmul(R, n));
        g->l = add(g->l, by_spin), g->r = add(g->r, tmul(R, by_spin));
        face[a] = cross_add(face[a], frame_spin(F, R), e[a]);
        turn[a] = cross_add(n, mul(R, F->r), by_spin);
    }
    for (int a = 0; a < s; a++) {
        wrench *const to = &load[a * m->nbody + p->body];
        if (p->surface) {
            sym3 H;
            stand_at(surface_of(m, p), add(W->held[k].gap, of[a].u), &H);
            X[a] = add(X[a], smul(H, add(face[a], n_bar[a])));
        }
        *to = wrench_add(*to, force_at(of[a].arm, X[a]));
        to->n = add(to->n, turn[a]);
    }
    wrench *const to = &load[s * m->nbody + p->body];
    *to = wrench_add(*to, force_at(W->held[k].arm, start));
    to->n = add(to->n, turn_start);
}

/// Whether contact point k touches at a stage in some lane: else it does nothing, and remembers nothing.
FN bool touches_at_stages(const lane_model *m, const stages *W, int k)
{
    bool some = false;
    for (int a = 0; a < W->table->stages; a++) some = some || any_of(gt(touch_at_stage(m, W, k, a).press.force, rset(0)));
    return some;
}

/// Of the rows of the stages, with the virtual motion in A->moves: gradients of -y'r by the start, added to q_bar [nv] and slip
/// [ncontact].
KERNEL void stage_contact_rows(const lane_model *m, const stages *W, const stage_touches *A, real *q_bar, vec3 *slip)
{
    const int s = W->table->stages;
    stage_touch_bar B[MOST_STAGES];
    clear_wrenches(m, A->load + s * m->nbody);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *p = &m->loads[k];
        if (!(p->flags & LOAD_TOUCHES) || !touches_at_stages(m, W, k)) continue;
        clear_touch_bars(B, s);
        for (int a = 0; a < s; a++) {
            const meeting c = touch_at_stage(m, W, k, a);
            const twist xi = A->moves[a * m->nbody + p->body];
            const vec3 v = moved_point(xi, c.arm);
            B[a].g = sub(scale(cross(xi.w, c.face), p->radius), v), B[a].l = dot(c.n, v);
        }
        touch_stages_pullback(m, W, k, B, A, &slip[p->contact]);
    }
    add_joint_rows(m, W->start, A->load + s * m->nbody, q_bar);
}

/// Takes what is in A->load to the joints: added to b [stages][nv] by the stages, at [stages][nbody], and to q_bar by the start.
KERNEL void stage_touch_rows(const lane_model *m, const stages *W, const stage_touches *A, const placement *at, real *b,
                             real *q_bar)
{
    const int s = W->table->stages;
    for (int a = 0; a < s; a++) add_joint_rows(m, at + a * m->nbody, A->load + a * m->nbody, b + a * m->nv);
    add_joint_rows(m, W->start, A->load + s * m->nbody, q_bar);
}

/// Of what contact points remember after the step, with the gradients slip and press [ncontact]: those by the stages and the
/// start, as stage_touch_rows(), and slip_bar [ncontact].
KERNEL void stage_memory_pullback(const lane_model *m, const stages *W, const stage_touches *A, const placement *at,
                                  const vec3 *slip, const real *press, real *b, real *q_bar, vec3 *slip_bar)
{
    const int s = W->table->stages, last = s - 1;
    stage_touch_bar B[MOST_STAGES];
    for (int a = 0; a <= s; a++) clear_wrenches(m, A->load + a * m->nbody);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *p = &m->loads[k];
        if (!(p->flags & LOAD_TOUCHES) || !touches_at_stages(m, W, k)) continue;
        const meeting c = touch_at_stage(m, W, k, last);
        const real l = c.press.force;
        const kept_bar K = kept_slip_pullback(p, c.s, l, l, slip[p->contact]);
        const mask rests = gt(l, rset(0));
        add_by_contact(m, p, sel(rests, K.friction, rset(0)), sel(rests, K.grip, rset(0)), rset(0));
        clear_touch_bars(B, s);
        B[last].s = sel3(rests, K.s, zero3()), B[last].l = sel(rests, press[p->contact] + K.l, rset(0));
        touch_stages_pullback(m, W, k, B, A, &slip_bar[p->contact]);
    }
    stage_touch_rows(m, W, A, at, b, q_bar);
}

#endif
