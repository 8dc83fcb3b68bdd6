/// The loads on bodies (forces/body_loads.h) as forces along the joints of a moving tree, J'f, for methods that take them at a
/// configuration: their sum, and their derivatives.
#ifndef CATENA_LOAD_FORCES_H
#define CATENA_LOAD_FORCES_H

#include "contact/law.h"
#include "contact/near.h"
#include "contact/rolling.h"
#include "dynamics/derivatives.h"
#include "dynamics/kinematics.h"
#include "dynamics/lane_model.h"
#include "forces/body_loads.h"
#include "forces/joint_forces.h"
#include "integrators/collocation.h"
#include "integrators/energy.h"
#include "integrators/pose_pullback.h"

/// Scratch of one lane block, for models with loads. [nbody], at [nload]; of A: motion, load, moment
typedef struct {
    placement *T;
    vec3 *p;
    load_state *at;
    twist *V;
    pose_work A;
    load_watch *watch;  // [nload] of models with surfaces; else NULL
    const vec3 *slip;   // [ncontact] how far the bristles of contact points are bent; NULL: these do not act,
    bool pressed;       // or by their depth alone
    vec3 *slides;       // [ncontact] takes the velocities of their surfaces along the ground; NULL: nothing
} loads_work;

/// Poses and twists of the bodies at (q, v), and where the loads are.
KERNEL void place_loads(const lane_model *m, const real *q, const real *v, loads_work *L)
{
    find_placements(m, q, L->T);
    joint_twists(m, L->T, v, L->V);
    find_origins(m, q, L->T, L->p);
    hold_loads(m, L->T, L->p, L->at);
}

/// The velocity of a load's point against the current; its drag.
FN vec3 slip_of(const lane_point_load *s, const load_state *at, const twist *V)
{
    return sub(moved_point(*V, at->arm), current_at(s, at));
}
FN drag_force drag_here(const lane_point_load *s, const load_state *at, const twist *V)
{
    return drag_of(s, at->axis, slip_of(s, at, V), rset(0));
}

/// The force of a load on its point, -dV - C x'.
FN vec3 point_force(const lane_point_load *s, const load_state *at, const twist *V)
{
    vec3 g;
    if (s->flags & LOAD_SLIPS) g = drag_here(s, at, V).g;
    else {
        load_potential(s, at->gap, at->F, zero3(), &g);
        const vec3 x = moved_point(*V, at->arm);
        g = add_axial_drag(add_scaled(g, x, s->damping), s, at->axis, x, rset(1));
    }
    return vec(negate(g.x), negate(g.y), negate(g.z));
}

/// The velocity along the ground of the surface of contact point k, after place_loads().
FN vec3 surface_slide(const lane_model *m, const loads_work *L, int k)
{
    const lane_point_load *s = &m->loads[k];
    const twist V = L->V[s->body];
    const vec3 n = face_of(m, s, L->at[k].gap);
    return along_ground(n, sub(moved_point(V, L->at[k].arm), cross(V.w, scale(n, s->radius))));
}

/// Its normal force, and its friction.
FN meeting touch_here(const lane_model *m, const loads_work *L, int k)
{
    const lane_point_load *s = &m->loads[k];
    const load_state *at = &L->at[k];
    const surface_point on = stand_of(m, s, at->gap);
    const vec3 x = moved_point(L->V[s->body], at->arm), bent = along_ground(on.face, L->slip[s->contact]);
    return meet(m, s, on, at->arm, x, bent, surface_slide(m, L, k), none_of());
}

/// Its torsional and rolling friction.
FN turn_law turn_here(const lane_model *m, const loads_work *L, int k, const meeting *t)
{
    const lane_point_load *s = &m->loads[k];
    const vec3 y = add_scaled(L->slip[turn_slot(m, s)], L->V[s->body].w, m->relaxation);
    return resist_turn(s, t->face, y, turn_grip(s), t->press.force, none_of());
}

/// The state at (q, v) begins: no contact point remembers anything, and each has the normal force there.
KERNEL void start_contacts(const lane_model *m, const real *q, const real *v, loads_work *L, vec3 *slip, real *press)
{
    if (!m->ncontact) return;
    for (int k = 0; k < m->nbent; k++) slip[k] = zero3();
    place_loads(m, q, v, L);
    L->slip = slip;
    forget_watch(m, L->watch);
    if (L->watch) watch_start(m, L->T, L->p, slip, NULL, L->watch);
    for (int k = 0; k < m->ncontact; k++) press[k] = rset(0);
    for (int k = 0; k < m->nload; k++) {
        if (passes_over(L->watch, &k)) continue;
        if (m->loads[k].flags & LOAD_TOUCHES) press[m->loads[k].contact] = touch_here(m, L, k).press.force;
    }
}

/// Adds the wrench of a load on its body with the twist V to w, about the body's origin.
FN void add_load_wrench(wrench *w, const lane_point_load *s, const load_state *at, const twist *V)
{
    *w = wrench_add(*w, force_at(at->arm, point_force(s, at, V)));
    if (s->flags & LOAD_TURNS) w->n = add(w->n, at->T);
}

/// Adds what passes through a load in the time dt (s), while its body moves with the twist V.
FN void add_load_flow(energy_flow *F, const lane_point_load *s, const load_state *at, const twist *V, real dt)
{
    const vec3 x = moved_point(*V, at->arm);
    if (s->flags & LOAD_ADDED) return;
    if (s->flags & LOAD_SLIPS) {
        const drag_force D = drag_here(s, at, V);
        const drag_power P = drag_flow(&D, slip_of(s, at, V), at->stream.flow, dt);
        F->dissipated = F->dissipated + P.loss, F->work = F->work + P.work;
        return;
    }
    F->dissipated = F->dissipated + load_loss(s, at->axis, x, dt), F->work = F->work + dot(at->F, scale(x, dt));
    if (s->flags & LOAD_TURNS) F->work = fmadd(dt, dot(at->T, V->w), F->work);
}

/// The same of contact point k.
FN void add_touch_wrench(wrench *w, const lane_model *m, const loads_work *L, int k)
{
    const meeting t = touch_here(m, L, k);
    if (L->slides) L->slides[m->loads[k].contact] = surface_slide(m, L, k);
    const wrench g = meeting_wrench(&m->loads[k], &t);
    w->n = sub(w->n, g.n), w->f = sub(w->f, g.f);
    if (!m->loads[k].rolls) return;
    if (L->slides) L->slides[turn_slot(m, &m->loads[k])] = L->V[m->loads[k].body].w;
    w->n = sub(w->n, turn_here(m, L, k, &t).g);
}

/// That of its depth alone.
FN void add_depth_wrench(wrench *w, const lane_model *m, const loads_work *L, int k)
{
    const lane_point_load *s = &m->loads[k];
    const surface_point on = stand_of(m, s, L->at[k].gap);
    *w = wrench_add(*w, force_at(L->at[k].arm, scale(on.n, s->grip * depth_of(on.gap))));
}

/// Adds J'f of all loads to tau [nv].
KERNEL void add_load_forces(const lane_model *m, const real *q, const real *v, loads_work *L, real *tau)
{
    if (!m->nload) return;
    place_loads(m, q, v, L);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        L->A.load[i] = wrench_zero();
        for (int k = b->load; k < b->loads_end; k++)
            if (!(m->loads[k].flags & LOAD_TOUCHES)) add_load_wrench(&L->A.load[i], &m->loads[k], &L->at[k], &L->V[i]);
            else if (L->slip) add_touch_wrench(&L->A.load[i], m, L, k);
            else if (L->pressed) add_depth_wrench(&L->A.load[i], m, L, k);
    }
    add_joint_rows(m, L->T, L->A.load, tau);
}

/// Adds all forces that act by themselves, of joints' elements and of loads on bodies, to tau [nv].
KERNEL void add_acting_forces(const lane_model *m, const real *q, const real *v, loads_work *L, real *tau)
{
    add_passive_forces(m, q, v, tau);
    add_load_forces(m, q, v, L, tau);
}

/// The power that damper and friction of contact point k take, bristles included.
FN real touch_power(const lane_model *m, const loads_work *L, int k)
{
    const lane_point_load *s = &m->loads[k];
    const meeting t = touch_here(m, L, k);
    const real sinks = negate(dot(t.n, moved_point(L->V[s->body], t.arm)));
    real power = fmadd(fnmadd(s->grip, depth_of(t.gap), t.press.force), sinks, dot(t.rub.g, surface_slide(m, L, k)));
    if (s->rolls) power = power + dot(turn_here(m, L, k, &t).g, L->V[s->body].w);
    return power;
}

/// Adds what passes through the loads in the time dt (s) at (q, v).
KERNEL void add_loads_flow(energy_flow *F, const lane_model *m, const real *q, const real *v, real dt, loads_work *L)
{
    if (!m->nload) return;
    place_loads(m, q, v, L);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) add_load_flow(F, s, &L->at[k], &L->V[s->body], dt);
        else if (L->slip) F->dissipated = fmadd(dt, touch_power(m, L, k), F->dissipated);
    }
}

/// Adds sign times J'f of those that take the weight off added mass to tau [nv].
KERNEL void add_weights_taken(const lane_model *m, const real *q, real sign, loads_work *L, real *tau)
{
    if (!m->adds) return;
    find_placements(m, q, L->T);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        L->A.load[i] = wrench_zero();
        for (int k = b->load; k < b->loads_end; k++) {
            const lane_point_load *s = &m->loads[k];
            if (!(s->flags & LOAD_ADDED)) continue;
            const vec3 f = scale(load3(s->force), sign);
            L->A.load[i] = wrench_add(L->A.load[i], force_at(mul(L->T[i].R, load3(s->point)), f));
        }
    }
    add_joint_rows(m, L->T, L->A.load, tau);
}

/// Energy of the springs at q, J.
KERNEL real loads_energy(const lane_model *m, const real *q, loads_work *L)
{
    if (!m->nload) return rset(0);
    find_placements(m, q, L->T);
    find_origins(m, q, L->T, L->p);
    return springs_energy(m, L->T, L->p);
}

/// Energy of all springs, of joints and on bodies, and of limits at q, J.
KERNEL real acting_energy(const lane_model *m, const real *q, loads_work *L)
{
    return passive_potential(m, q) + loads_energy(m, q, L);
}

/// Adds sign times the gradients of y'J'f by q and v to q_bar and v_bar [nv]. y'J'f is the sum of f.y_k, y_k the virtual motion
/// of the points (and of torques times virtual turns): f changes with where they are (-k y_k), how they move (-c y_k) and, in
/// link axes, how the link turns, and y_k and their velocities with the configuration, too.
KERNEL void load_pullback(const lane_model *m, const real *q, const real *v, const real *y, real sign, loads_work *L, real *q_bar,
                          real *v_bar)
{
    if (!m->nload) return;
    pose_work *A = &L->A;
    place_loads(m, q, v, L);
    // y_k by q, with the forces as they are
    joint_twists(m, L->T, y, A->motion);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        A->load[i] = wrench_zero(), A->moment[i] = zero3();
        for (int k = b->load; k < b->loads_end; k++) {
            add_rate_load(A, i, L->at[k].arm, point_force(&m->loads[k], &L->at[k], &L->V[i]));
            if (m->loads[k].flags & LOAD_TURNS) add_rate_torque(A, i, L->at[k].T);
        }
    }
    rate_rows(m, L->T, sign, A, q_bar, NULL);
    // f by where its point is, and how its link turns
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        A->load[i] = wrench_zero();
        for (int k = b->load; k < b->loads_end; k++) {
            const load_state *at = &L->at[k];
            const lane_point_load *load = &m->loads[k];
            const vec3 y_k = moved_point(A->motion[i], at->arm);
            const real s = negate(sign) * load->stiffness;
            A->load[i] = wrench_add(A->load[i], force_at(at->arm, scale(y_k, s)));
            if (load->flags & (LOAD_AXIAL | LOAD_SLIPS)) {
                const vec3 x = slip_of(load, at, &L->V[i]);
                const drag_force D = L->at[k].drag = drag_here(load, at, &L->V[i]);
                if (load->flags & LOAD_AXIAL)
                    A->load[i].n = sub_scaled(A->load[i].n, drag_by_turn(load, &D, at->axis, x, y_k), sign);
                if (load->flags & LOAD_SLIPS) {
                    const vec3 up = vec(rset(0), rset(0), sign * dot(at->stream.shear, drag_slope(&D, at->axis, y_k)));
                    A->load[i] = wrench_add(A->load[i], force_at(at->arm, up));
                }
            }
            if (!(m->loads[k].flags & LOAD_FOLLOWS)) continue;
            const vec3 turned = cross_add(cross(at->F, y_k), at->T, A->motion[i].w);
            A->load[i].n = add_scaled(A->load[i].n, turned, sign);
        }
    }
    add_joint_rows(m, L->T, A->load, q_bar);
    // f by how its point moves: the virtual motions first, as the twists take their place
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        const vec3 y_k = moved_point(A->motion[s->body], L->at[k].arm);
        if (s->flags & LOAD_SLIPS) L->at[k].gap = scale(drag_slope(&L->at[k].drag, L->at[k].axis, y_k), rset(-1));
        else L->at[k].gap = add_axial_drag(scale(y_k, negate(s->damping)), s, L->at[k].axis, y_k, rset(-1));
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        A->motion[i] = L->V[i];
        A->load[i] = wrench_zero(), A->moment[i] = zero3();
        for (int k = b->load; k < b->loads_end; k++) add_rate_load(A, i, L->at[k].arm, L->at[k].gap);
    }
    rate_rows(m, L->T, sign, A, q_bar, v_bar);
}

/// Adds sign times the derivatives by q of the forces of add_weights_taken() to a matrix [nv][nv]. y, q_bar [nv]: scratch
KERNEL void weight_matrix(const lane_model *m, const real *q, real sign, loads_work *L, real *y, real *q_bar, double *const *by_q,
                          int count)
{
    pose_work *A = &L->A;
    const size_t n = (size_t)m->nv;
    if (!m->adds || !by_q) return;
    find_placements(m, q, L->T);
    for (int row = 0; row < m->nv; row++) {
        for (int k = 0; k < m->nv; k++) y[k] = rset(k == row), q_bar[k] = rset(0);
        joint_twists(m, L->T, y, A->motion);
        for (int i = 0; i < m->nbody; i++) {
            A->load[i] = wrench_zero(), A->moment[i] = zero3();
            for (int k = m->bodies[i].load; k < m->bodies[i].loads_end; k++) {
                const lane_point_load *s = &m->loads[k];
                if (s->flags & LOAD_ADDED) add_rate_load(A, i, mul(L->T[i].R, load3(s->point)), load3(s->force));
            }
        }
        rate_rows(m, L->T, sign, A, q_bar, NULL);
        for (int k = 0; k < m->nv; k++) {
            const size_t at = (size_t)row * n + (size_t)k;
            matrix_put(by_q, count, at, matrix_get(by_q, at) + q_bar[k]);
        }
    }
}

/// Adds sign times the gradients of y'f by q and v to q_bar and v_bar [nv], f all forces that act by themselves.
KERNEL void acting_pullback(const lane_model *m, const real *q, const real *v, const real *y, real sign, loads_work *L,
                            real *q_bar, real *v_bar)
{
    passive_pullback(m, q, v, y, sign, q_bar, v_bar);
    load_pullback(m, q, v, y, sign, L, q_bar, v_bar);
}

/// Adds sign times the derivatives of J'f by q and v to matrices [nv][nv]. y, q_bar, v_bar [nv]: scratch
KERNEL void load_matrices(const lane_model *m, const real *q, const real *v, real sign, loads_work *L, real *y, real *q_bar,
                          real *v_bar, double *const *by_q, double *const *by_v, int count)
{
    const size_t n = (size_t)m->nv;
    for (int row = 0; row < m->nv && m->nload; row++) {
        for (int k = 0; k < m->nv; k++) y[k] = rset(k == row), q_bar[k] = v_bar[k] = rset(0);
        load_pullback(m, q, v, y, sign, L, q_bar, v_bar);
        for (int k = 0; k < m->nv; k++) {
            const size_t at = (size_t)row * n + (size_t)k;
            if (by_q) matrix_put(by_q, count, at, matrix_get(by_q, at) + q_bar[k]);
            if (by_v) matrix_put(by_v, count, at, matrix_get(by_v, at) + v_bar[k]);
        }
    }
}

#endif
