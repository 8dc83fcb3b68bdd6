/// Gradients by poses of bodies, and by the rates of poses, taken back to the joints: what the adjoints of steps have in common.
///
/// A gradient X by the columns of a pose T = [R p] acts as the wrench w with <X, [xi]T> = w.xi, and is summed inwards like any
/// other.
#ifndef CATENA_POSE_PULLBACK_H
#define CATENA_POSE_PULLBACK_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/derivatives.h"
#include "forces/body_loads.h"
#include "integrators/collocation.h"

/// The table of what a gradient by a state consists of, in tangent coordinates of q. Explicit methods: q and v. Variational ones:
/// q and the momenta in v. Position-based ones: v stands for the joint rates, and V for the four columns of each body that has
/// mass, in the order of the bodies; collocation of order > 2: the same of the rates since the old point; alpha: columns of
/// accelerations A and B, and a and b of the joints. All: integral terms of motors, how far joints with friction are bent, and
/// contact points, and the normal forces of these; of links that touch each other what rates have changed by, from which the next
/// step's first guess is (but of alpha, whose steps of order 2 begin at rest), and the same of what pairs remember. Layout and size
/// come from it.
///
///     part(member, type, count)       count: how many of them; 0: the member is NULL
#define BAR_PARTS(part)                                                                                                          \
    part(q, real, m->nv) part(v, real, m->nv) part(V, rate_pose, position_based(cfg->method) ? masses_of(m) : 0)                 \
        part(old_rate, real, carries_old(cfg) ? m->nv : 0) part(old, rate_pose, carries_old(cfg) ? masses_of(m) : 0)             \
            part(A, rate_pose, is_alpha(cfg) ? masses_of(m) : 0) part(B, rate_pose, is_alpha(cfg) ? masses_of(m) : 0)            \
                part(a, real, is_alpha(cfg) ? m->nv : 0) part(b, real, is_alpha(cfg) ? m->nv : 0) part(wound, real, m->nwound)   \
                    part(z, real, m->rubs ? m->nv : 0) part(slip, vec3, m->nbent) part(press, real, m->ncontact)                 \
                        part(gain, real, m->npair && !is_alpha(cfg) ? m->nv : 0) part(pair_slip, vec3, m->nslot) part(pair_press, real, m->nslot)

typedef struct {
#define MEMBER(member, type, count) type *member;
    BAR_PARTS(MEMBER)
#undef MEMBER
} state_bar;

/// Scratch of one lane block, [nbody].
typedef struct {
    twist *motion;
    wrench *load;
    vec3 *moment;
} pose_work;

/// Bodies with mass, which have columns V.
FN int masses_of(const lane_model *m)
{
    int n = 0;
    for (int i = 0; i < m->nbody; i++) n += (m->bodies[i].flags & BODY_MASS) != 0;
    return n;
}

/// Adds to `to` (NULL: not wanted) and `from` [3] the gradients of l.(2 Im p) by turns of a ball's two ends, whose quaternion p
/// leads from one to the other: turns change it by p (0, w)/2 and by -(0, w)/2 p.
FN void ball_chord_pullback(quat p, vec3 l, real *to, real *from)
{
    const vec3 c = cross(l, vec(p.x, p.y, p.z)), along = scale(l, p.w);
    if (to) add3(to, add(c, along));
    add3(from, sub(c, along));
}

/// [xi] T: how a pose changes that moves with a twist.
FN rate_pose moved_by(twist t, mat3 R)
{
    rate_pose d;
    d.R.x = cross(t.w, R.x), d.R.y = cross(t.w, R.y), d.R.z = cross(t.w, R.z), d.p = t.v;
    return d;
}

/// X M with the pseudo-inertia M of a body: momentum of the columns X.
FN rate_pose times_mass(const lane_body *b, rate_pose X)
{
    const sym3 S = load_sym(given(b)->S);
    const vec3 c = load3(given(b)->h);
    rate_pose Y;
    Y.R.x = add_scaled(mul(X.R, vec(S.xx, S.xy, S.xz)), X.p, c.x);
    Y.R.y = add_scaled(mul(X.R, vec(S.xy, S.yy, S.yz)), X.p, c.y);
    Y.R.z = add_scaled(mul(X.R, vec(S.xz, S.yz, S.zz)), X.p, c.z);
    Y.p = add_scaled(mul(X.R, c), X.p, given(b)->mass);
    return Y;
}

FN rate_pose columns_add_scaled(rate_pose a, rate_pose b, real s)
{
    a.R.x = add_scaled(a.R.x, b.R.x, s), a.R.y = add_scaled(a.R.y, b.R.y, s), a.R.z = add_scaled(a.R.z, b.R.z, s);
    a.p = add_scaled(a.p, b.p, s);
    return a;
}

/// Adds the outer product g s' to the columns of rotation of X.
FN void add_outer(rate_pose *X, vec3 g, vec3 s)
{
    X->R.x = add_scaled(X->R.x, g, s.x), X->R.y = add_scaled(X->R.y, g, s.y), X->R.z = add_scaled(X->R.z, g, s.z);
}

/// The wrench w with <X, [xi]T> = w.xi.
FN wrench wrench_on(mat3 R, rate_pose X)
{
    wrench w;
    w.n = sum_of_crosses(R, X.R), w.f = X.p;
    return w;
}

FN vec3 offset_of(const lane_body *b, const placement *T) { return has_arm(form_of(b)) ? T->r : zero3(); }

/// Twists of the bodies at T when the joints move with v.
KERNEL void joint_twists(const lane_model *m, const placement *T, const real *v, twist *V)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const joint_form f = form_of(b);
        twist t = joint_twist(b, f, T[i].R, v);
        if (!(f.flags & BODY_ROOT)) {
            const twist *up = &V[b->parent];
            t.w = add(t.w, up->w), t.v = add(t.v, cross_add(up->v, up->w, offset_of(b, &T[i])));
        }
        V[i] = t;
    }
}

/// Adds S_j' (sum over what hangs on j of w) to b [nv]. w becomes the sums.
KERNEL void add_joint_rows(const lane_model *m, const placement *T, wrench *w, real *b_)
{
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, T[i].R, k);
            const vec3 s = S.w, l = S.v;
            b_[b->vadr + k] = b_[b->vadr + k] + along(s, l, w[i]);
        }
        if (!(b->flags & BODY_ROOT)) w[b->parent] = wrench_add(w[b->parent], wrench_shift(w[i], offset_of(b, &T[i])));
    }
}

/// The wrenches load [nbody] of the gradients s X by the poses at T. X: columns of the bodies with mass.
KERNEL void pose_loads(const lane_model *m, const placement *T, const rate_pose *X, real s, wrench *load)
{
    for (int i = 0, k = 0; i < m->nbody; i++) {
        load[i] = wrench_zero();
        if (!(m->bodies[i].flags & BODY_MASS)) continue;
        const wrench w = wrench_on(T[i].R, X[k++]);
        load[i].n = scale(w.n, s), load[i].f = scale(w.f, s);
    }
}

/// Adds to b [nv] the joint rows of these.
KERNEL void add_pose_rows(const lane_model *m, const placement *T, const rate_pose *X, real s, pose_work *A, real *b)
{
    pose_loads(m, T, X, s, A->load);
    add_joint_rows(m, T, A->load, b);
}

/// What the dampers of loads give for the virtual motion A->motion of the bodies at T: they act along u = x - x_k with s C, so
/// that the gradient by the point x_k, at the start of the step, is s C times the virtual motion of x. Axes of axial drag are
/// those held, or those at T where `turned` says so. Drag that slips is held, too; where the axes are, so is the current, which then
/// goes by the height of x_k. Added to b [nv], joint rows at the start.
KERNEL void add_drag_rows(const lane_model *m, const placement *T, const placement *start, const load_state *held, real s,
                          bool turned, pose_work *A, real *b_)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        A->load[i] = wrench_zero();
        for (int k = b->load; k < b->loads_end; k++) {
            const vec3 y = moved_point(A->motion[i], mul(T[i].R, load3(m->loads[k].point)));
            const vec3 axis = turned ? load_axis(&m->loads[k], T[i].R) : held[k].axis;
            vec3 f;
            if (m->loads[k].flags & LOAD_SLIPS) {
                const vec3 braked = drag_slope(&held[k].drag, axis, y);
                f = scale(braked, s);
                if (!turned) f.z = f.z + dot(held[k].stream.shear, braked);
            } else f = add_axial_drag(scale(y, s * m->loads[k].damping), &m->loads[k], axis, y, s);
            A->load[i] = wrench_add(A->load[i], force_at(held[k].arm, f));
        }
    }
    add_joint_rows(m, start, A->load, b_);
}

/// Adds to A the load f at the end of the arm r of body i, whose twist is in A->motion: <L, [xi]T> is f times the velocity of
/// that point.
FN void add_rate_load(pose_work *A, int i, vec3 r, vec3 f)
{
    A->load[i] = wrench_add(A->load[i], force_at(r, f));
    A->moment[i] = add(A->moment[i], cross(moved_point(A->motion[i], r), f));
}

/// The same of a torque: <L, [xi]T> is it times the angular velocity.
FN void add_rate_torque(pose_work *A, int i, vec3 n)
{
    A->load[i].n = add(A->load[i].n, n), A->moment[i] = add(A->moment[i], cross(A->motion[i].w, n));
}

/// The gradients of sign times what is in A by q and v (v_bar may be NULL), added: A->load [w with <L, [xi]T> = w.xi], A->moment,
/// which it changes by where a body turns, A->motion the twists. A joint that moves carries along the part of the motion beyond
/// it: d([xi]T) = [S][xi]T + [xi_p x S]T.
KERNEL void rate_rows(const lane_model *m, const placement *T, real sign, pose_work *A, real *q_bar, real *v_bar)
{
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const wrench w = A->load[i];
        const vec3 r = offset_of(b, &T[i]);
        const bool root_body = b->flags & BODY_ROOT;
        twist up;
        up.w = up.v = zero3();
        if (!root_body) up.w = A->motion[b->parent].w, up.v = cross_add(A->motion[b->parent].v, up.w, r);
        for (int k = 0; k < b->nv; k++) {
            const twist S = joint_subspace(b, b->kind, T[i].R, k);
            const vec3 s = S.w, l = S.v;
            const real g = dot_add(dot_add(dot(s, A->moment[i]), cross(up.w, s), w.n), cross_add(cross(up.w, l), up.v, s), w.f);
            const int j = b->vadr + k;
            q_bar[j] = fmadd(sign, g, q_bar[j]);
            if (v_bar) v_bar[j] = fmadd(sign, along(s, l, w), v_bar[j]);
        }
        if (root_body) continue;
        A->load[b->parent] = wrench_add(A->load[b->parent], wrench_shift(w, r));
        A->moment[b->parent] = add(A->moment[b->parent], A->moment[i]);
    }
}

/// Adds the gradients of sign sum <L, [xi]T> by q and v (v_bar may be NULL), where the bodies at T = T(q) move with the joint
/// velocities v. L: columns of the bodies with mass.
KERNEL void rate_pullback(const lane_model *m, const placement *T, const real *v, const rate_pose *L, real sign, pose_work *A,
                          real *q_bar, real *v_bar)
{
    joint_twists(m, T, v, A->motion);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        A->load[i] = wrench_zero(), A->moment[i] = zero3();
        if (!(m->bodies[i].flags & BODY_MASS)) continue;
        const rate_pose X = L[k++], V = moved_by(A->motion[i], T[i].R);
        A->load[i] = wrench_on(T[i].R, X);
        A->moment[i] = add(wrench_on(V.R, X).n, cross(V.p, X.p));
    }
    rate_rows(m, T, sign, A, q_bar, v_bar);
}

#endif
