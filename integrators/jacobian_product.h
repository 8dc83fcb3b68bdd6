/// The Jacobian of the rows of a position-based step times a vector, and its transpose, in O(N). (docs/theory.md 4.3, 5.2)
///
/// J is the matrix that the Newton sweeps factor (newton_sweep.h, stage_sweep.h); a vector y of joint increments passes it in two
/// passes:
///
///     outwards   e = d_parent,  d = e + S y
///     inwards    p = P d + sum of the children's,  J y = S'(p + N~ e) + K y,  to the parent: p + N y
///
/// P are the body's own blocks, N y = (S y) x* w / 2 and S'N~ e = N'e with w the wrench of the subtree. Of several stages only
/// the factors h_ij of the cross inertias and K tell J' from J; with one stage J is the Hessian of the energy. Rows of balls are
/// gradients by turns, whose derivative is J + [r]x / 2. What spins has the blocks of its frames (turning_frame.h), which tell them, too.
#ifndef CATENA_JACOBIAN_PRODUCT_H
#define CATENA_JACOBIAN_PRODUCT_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/kinematics.h"
#include "forces/joint_elements.h"
#include "forces/body_loads.h"
#include "integrators/joint_terms.h"
#include "integrators/collocation.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_residual.h"

/// Scratch of one lane block, arrays [nbody][stages].
typedef struct {
    twist *e, *d;
    wrench *p;
} product_work;

/// Twists of a body under the increments y [nv] of the joints: e without them, d with them. up: d of the parent.
FN void twist_outward(const lane_body *b, const placement *T, const twist *up, const real *y, twist *e, twist *d)
{
    e->w = e->v = zero3();
    if (!(b->flags & BODY_ROOT)) {
        *e = *up;
        if (has_arm(form_of(b))) e->v = cross_add(e->v, e->w, T->r);
    }
    *d = joint_twist(b, form_of(b), T->R, y);
    d->w = add(d->w, e->w), d->v = add(d->v, e->v);
}

/// Rows of a joint but K y, and p [stage] to the parent's, about its origin. w: wrench of the subtree; up: p of the parent.
FN void product_inward(const lane_body *b, const placement *T, wrench w, twist e, wrench p, const real *y, real *r, wrench *up)
{
    if (!(b->flags & BODY_ROOT)) {
        const real half = rset(0.5);
        wrench N;  // N~ e
        N.n = scale(cross_add(cross(w.n, e.w), w.f, e.v), half), N.f = scale(cross(w.f, e.w), half);
        joint_rows(b, b->kind, T->R, wrench_add(p, N), r);
        const twist s = joint_twist(b, form_of(b), T->R, y);
        N.n = scale(cross_add(cross(s.w, w.n), s.v, w.f), half), N.f = scale(cross(s.w, w.f), half);
        p = wrench_add(p, N);
        *up = wrench_add(*up, has_arm(form_of(b)) ? wrench_shift(p, T->r) : p);
    } else joint_rows(b, b->kind, T->R, p, r);
}

/// [A, [b]x; -[b]x, m] d.
FN wrench block_times(sym3 A, vec3 b, real mass, twist d)
{
    wrench p;
    p.n = cross_add(smul(A, d.w), b, d.v);
    p.f = cross_add(scale(d.v, mass), d.w, b);
    return p;
}

/// (M + [n]x) w, M by rows, or its transpose.
FN vec3 turning_block_times(mat3 M, vec3 n, bool transposed, vec3 w)
{
    return transposed ? sub(mul(M, w), cross(n, w)) : add(tmul(M, w), cross(n, w));
}

/// out = J y of the step of order 2, or J'y, after residual(). y, out [nv]
KERNEL void step_product(const lane_model *m, const solve *W, bool transposed, const real *y, product_work *work, real *out)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const iterate_body *t = &W->body[i];
        twist_outward(b, &W->now[i], b->flags & BODY_ROOT ? NULL : &work->d[b->parent], y, &work->e[i], &work->d[i]);
        work->p[i] = wrench_zero();
        if (b->flags & BODY_MASS) work->p[i] = block_times(t->A, t->b, given(b)->mass * W->in.k2, work->d[i]);
        if (m->skew && has_couple(b)) {
            const body_frame *const f = &W->turn.of[i];
            const mat3 R = W->now[i].R, M = end_couple_block(b, f, R);
            work->p[i].n =
                add(work->p[i].n, turning_block_times(M, scale(end_couple(b, f, R), rset(0.5)), transposed, work->d[i].w));
        }
        if (is_loaded(b, W)) work->p[i] = wrench_add(work->p[i], inertia_times(&W->load[b->load].P, work->d[i]));
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const real *u = y + b->vadr;
        real *r = out + b->vadr;
        product_inward(b, &W->now[i], W->sum[i], work->e[i], work->p[i], y, r, b->flags & BODY_ROOT ? NULL : &work->p[b->parent]);
        if (!has_terms(b, W->in.tau)) continue;
        if (b->nv == 1) r[0] = fmadd(W->terms[i].k.xx, u[0], r[0]);
        else {
            const vec3 k = smul(W->terms[i].k, vec(u[0], u[1], u[2]));
            r[0] = r[0] + k.x, r[1] = r[1] + k.y, r[2] = r[2] + k.z;
        }
    }
}

/// Wrench on body i at stage a that its twists at all stages make; transposed: with the blocks of J'.
FN wrench stage_blocks_times(const lane_body *b, const stages *W, int i, int a, bool transposed, const twist *d)
{
    const stage_table *t = W->table;
    const int s = t->stages;
    const stage_body *o = &W->body[i * s];
    const real mass = given(b)->mass * W->in.k2;
    const bool framed = has_frame(b, W), turns = framed && b->flags & (BODY_ROUND | BODY_TOP);
    wrench p = block_times(o[a].A, o[a].b, rset(t->h[a][a]) * mass, d[a]);
    for (int l = 0; l < s; l++) {
        const int row = transposed ? l : a, column = transposed ? a : l;
        const vec3 half =
            a == l && framed ? scale(turns ? frame_couple_at(b, W, s, i, a) : stage_couple(b, W, s, i, a), rset(0.5)) : zero3();
        if (turns) p.n = add(p.n, turning_block_times(stage_frame_block(b, W, s, i, row, column), half, transposed, d[l].w));
        else if (framed && tilts(b))
            p.n = add(p.n, turning_block_times(stage_couple_block(b, W, s, i, row, column), half, transposed, d[l].w));
        if (l == a) continue;
        const real h = rset(t->h[row][column]) * W->in.k2;
        const mat3 Q = mmul(*axes_seen(b, W, s, i, a), o[l].W);
        const vec3 turned = turns ? zero3() : sub(scale(d[l].w, Q.x.x + Q.y.y + Q.z.z), tmul(Q, d[l].w));
        p.n = add_scaled(p.n, cross_add(turned, o[a].c, d[l].v), h);
        p.f = add_scaled(p.f, cross_add(scale(d[l].v, given(b)->mass), d[l].w, o[l].c), h);
    }
    return p;
}

/// The block of add_wrench_block() times d, or its transpose.
FN wrench wrench_block_times(const lane_point_load *load, const stage_load *at, bool transposed, twist d)
{
    const bool follows = load->flags & LOAD_FOLLOWS;
    wrench p = wrench_zero();
    if (load->flags & LOAD_TURNS) p.n = scale(cross(at->T, d.w), rset(follows != transposed ? 0.5 : -0.5));
    if (!follows) return p;
    // moved x F, and its moment; transposed: F x (the way of the point)
    if (transposed) p.n = add(p.n, cross(at->F, moved_point(d, at->arm)));
    else p = wrench_add(p, force_at(at->arm, cross(at->F, d.w)));
    return p;
}

/// Those of add_axial_blocks() and add_slip_blocks() likewise.
FN wrench drag_blocks_times(const stages *W, const lane_point_load *load, const stage_load *of, int a, bool transposed,
                            const twist *d)
{
    const bool axial = load->flags & LOAD_AXIAL, square = load->flags & LOAD_SQUARE;
    const drag_force *const D = &of[a].drag;
    const vec3 t = of[a].axis, x = of[a].slip, y = moved_point(d[a], of[a].arm);
    vec3 f = zero3();
    for (int l = 0; l < W->table->stages; l++) {
        const stage_load *const at = transposed ? &of[l] : &of[a];
        const vec3 way = moved_point(d[l], of[l].arm);
        const real c = rset(transposed ? W->table->d[l][a] : W->table->d[a][l]) * W->in.inv_h;
        if (axial) f = add_scaled(f, at->axis, at->drag.along * c * dot(at->axis, way));
        if (square) f = add_scaled(f, at->drag.n, at->drag.across * c * dot(at->drag.n, way));
    }
    if (transposed) {
        if (load->flags & LOAD_SLIPS) f.z = f.z - dot(drag_slope(D, t, of[a].shear), y);
        wrench p = force_at(of[a].arm, f);
        if (axial) p.n = add(p.n, drag_by_turn(load, D, t, x, y));
        return p;
    }
    if (axial) {
        const vec3 dt = cross(d[a].w, t);
        f = add(f, scale(dt, D->secant * dot(t, x))), f = add_scaled(f, t, D->along * dot(x, dt));
        if (square) f = sub_scaled(f, D->n, D->across * dot(t, x) * dot(D->n, dt));
    }
    if (load->flags & LOAD_SLIPS) f = sub_scaled(f, drag_slope(D, t, of[a].shear), y.z);
    return force_at(of[a].arm, f);
}

/// The same of the loads on a body.
FN wrench load_blocks_times(const lane_model *m, const lane_body *b, const stages *W, int a, bool transposed, const twist *d)
{
    const int s = W->table->stages;
    wrench p = wrench_zero();
    for (int k = b->load; k < b->loads_end; k++) {
        const stage_load *of = &W->point[k * s];
        for (int l = 0; l < s; l++) {
            const real c = load_block(W, &m->loads[k], of, transposed ? l : a, transposed ? a : l);
            p = wrench_add(p, force_at(of[a].arm, scale(moved_point(d[l], of[l].arm), c)));
        }
        if (m->loads[k].flags & (LOAD_AXIAL | LOAD_SLIPS))
            p = wrench_add(p, drag_blocks_times(W, &m->loads[k], of, a, transposed, d));
        p = wrench_add(p, block_times(point_curvature(of[a].arm, of[a].g), scale(of[a].g, rset(-0.5)), rset(0), d[a]));
        p = wrench_add(p, wrench_block_times(&m->loads[k], &of[a], transposed, d[a]));
    }
    return p;
}

/// out += K y of joint i at stage a, or K'y.
FN void stage_terms_times(const lane_model *m, const lane_body *b, const stages *W, int a, bool transposed, const real *y,
                          real *out)
{
    const int s = W->table->stages, n = b->nv;
    const real *K = W->K + 3 * s * s * b->dof;
    for (int l = 0; l < s; l++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) {
                const int row = n * (transposed ? l : a), column = transposed ? a : l;
                const real u = y[l * m->nv + b->vadr + j];
                real *r = &out[a * m->nv + b->vadr + k];
                if (b->kind == JOINT_BALL)
                    *r = fmadd(transposed ? K[3 * s * (row + j) + 3 * column + k] : K[3 * s * (row + k) + 3 * column + j], u, *r);
                else if (j == k) *r = fmadd(K[s * (row + k) + column], u, *r);
            }
}

/// out = J y of the step with stages, or J'y, after stage_rows(). y, out [stages][nv]
KERNEL void stage_product(const lane_model *m, const stages *W, bool transposed, const real *y, product_work *work, real *out)
{
    const int s = W->table->stages;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int a = 0; a < s; a++)
            twist_outward(b, &W->body[i * s + a].T, b->flags & BODY_ROOT ? NULL : &work->d[b->parent * s + a], y + a * m->nv,
                          &work->e[i * s + a], &work->d[i * s + a]);
        for (int a = 0; a < s; a++)
            if (b->flags & BODY_MASS) work->p[i * s + a] = stage_blocks_times(b, W, i, a, transposed, work->d + i * s);
            else work->p[i * s + a] = wrench_zero();
        for (int a = 0; a < s && b->flags & BODY_LOAD; a++) {
            wrench *p = &work->p[i * s + a];
            *p = wrench_add(*p, load_blocks_times(m, b, W, a, transposed, work->d + i * s));
        }
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        for (int a = 0; a < s; a++) {
            const stage_body *o = &W->body[i * s + a];
            const int at = a * m->nv + b->vadr;
            product_inward(b, &o->T, o->w, work->e[i * s + a], work->p[i * s + a], y + a * m->nv, out + at,
                           b->flags & BODY_ROOT ? NULL : &work->p[b->parent * s + a]);
            if (has_terms(b, W->in.tau)) stage_terms_times(m, b, W, a, transposed, y, out);
        }
    }
}

#endif
