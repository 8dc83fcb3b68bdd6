/// Gradients of the forces of contact points where they are (contact/law.h, meet()), of y'J'f with a virtual motion y.
///
/// With the twist (v, w) of the body at the middle c of a point, f the normal of the plane of friction and P = 1 - f f',
///
///     y'J'f = l n.y_c - g(s).y_s,    s = P (z + t (v_c - r w x f)),    y_s = y_c - r y_w x f
///
/// l goes by the gap and its rate n.v_c, g by s and, through its cap, by l. (docs/theory.md 4.12)
#ifndef CATENA_TOUCH_PULLBACK_H
#define CATENA_TOUCH_PULLBACK_H

#include "contact/law.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/body_loads.h"
#include "integrators/contact_adjoint.h"
#include "integrators/load_forces.h"
#include "integrators/pose_pullback.h"

/// A contact point, and what its force makes of the virtual motion of its body.
typedef struct {
    meeting at;
    vec3 bend;  // the gradient of g.y_s by s, in all directions
    real press;  // that of y'J'f by l
} met_touch;

FN met_touch touch_met(const lane_model *m, const loads_work *L, int k, twist y)
{
    const lane_point_load *s = &m->loads[k];
    met_touch t;
    t.at = touch_here(m, L, k);
    const friction_law *F = &t.at.rub;
    const vec3 y_c = moved_point(y, t.at.arm), y_s = sub_scaled(y_c, cross(y.w, t.at.face), s->radius);
    t.bend = add_scaled(scale(y_s, F->k2), F->t1, (F->k1 - F->k2) * dot(F->t1, y_s));
    t.press = fnmadd(s->friction, dot(F->by_cap, y_s), dot(t.at.n, y_c));
    return t;
}

/// By where the point is: through its gap, and where a surface is not flat through n and f.
FN vec3 place_pullback(const lane_model *m, const loads_work *L, int k, const met_touch *t, twist y)
{
    const lane_point_load *s = &m->loads[k];
    const press_force *N = &t->at.press;
    vec3 by = scale(t->at.n, t->press * N->by_gap);
    if (!s->surface) return by;
    const twist V = L->V[s->body];
    const vec3 f = t->at.face, b = t->bend, v_c = moved_point(V, t->at.arm), y_c = moved_point(y, t->at.arm);
    const vec3 Y = add_scaled(L->slip[s->contact], sub_scaled(v_c, cross(V.w, f), s->radius), m->relaxation);
    vec3 face = add(scale(b, dot(f, Y)), scale(Y, dot(f, b)));
    face = add_scaled(face, cross(along_ground(f, b), V.w), s->radius * m->relaxation);
    face = add_scaled(face, cross(t->at.rub.g, y.w), s->radius);
    const vec3 normal = add_scaled(scale(v_c, t->press * N->by_rate), y_c, N->force), x = L->at[k].gap;
    by = add(by, smul(bend_at(surface_of(m, s), x), normal));
    return add(by, face_slope(surface_of(m, s), x, face));
}

/// By what the point is made of (m->by_contact), in the lanes `where`.
FN void made_pullback(const lane_model *m, const loads_work *L, int k, const met_touch *t, twist y, mask where)
{
    const lane_point_load *s = &m->loads[k];
    const friction_law *F = &t->at.rub;
    const real o = rset(0), l = t->at.press.force;
    const vec3 f = t->at.face, y_c = moved_point(y, t->at.arm), y_s = sub_scaled(y_c, cross(y.w, f), s->radius);
    const twist V = L->V[s->body];
    const vec3 v_c = moved_point(V, t->at.arm), slides = along_ground(f, sub_scaled(v_c, cross(V.w, f), s->radius));
    const real work = sel(gt(F->k1, o), dot(F->g, y_s), o), rate = dot(t->at.n, v_c);
    const real grip = fmadd(t->press, l, negate(work)) / s->grip, by_rate = t->press * t->at.press.by_gap;
    const real relaxation = fmadd(by_rate, rate, negate(dot(t->bend, slides)));
    add_by_contact(m, s, sel(where, negate(l * dot(F->by_cap, y_s)), o), sel(where, grip, o), sel(where, relaxation, o));
}

/// Adds to q_bar and v_bar [nv], and to slip_bar [ncontact] in the lanes `where`. L->slip: how bristles are bent.
KERNEL void touch_forces_pullback(const lane_model *m, const real *q, const real *v, const real *y, loads_work *L, mask where,
                                  vec3 *slip_bar, real *q_bar, real *v_bar)
{
    pose_work *const A = &L->A;
    if (!m->ncontact) return;
    place_loads(m, q, v, L);
    for (int way = 0; way < 3; way++) {  // by the virtual motion, by the place, by the rates
        joint_twists(m, L->T, y, A->motion);
        for (int i = 0; i < m->nbody; i++) {
            A->load[i] = wrench_zero(), A->moment[i] = zero3();
            const twist y_i = A->motion[i];
            if (way == 2) A->motion[i] = L->V[i];
            for (int k = m->bodies[i].load; k < m->bodies[i].loads_end; k++) {
                const lane_point_load *s = &m->loads[k];
                if (!(s->flags & LOAD_TOUCHES)) continue;
                const met_touch t = touch_met(m, L, k, y_i);
                const vec3 f = t.at.face, by = scale(along_ground(f, t.bend), negate(m->relaxation));
                if (way == 0) {
                    made_pullback(m, L, k, &t, y_i, where);
                    add_rate_load(A, i, t.at.arm, opposite(meeting_gradient(&t.at)));
                    add_rate_torque(A, i, scale(cross(f, t.at.rub.g), s->radius));
                    slip_bar[s->contact] = sub(slip_bar[s->contact], sel3(where, along_ground(f, t.bend), zero3()));
                } else if (way == 1) {
                    A->load[i] = wrench_add(A->load[i], force_at(t.at.arm, place_pullback(m, L, k, &t, y_i)));
                } else {
                    add_rate_load(A, i, t.at.arm, add_scaled(by, t.at.n, t.press * t.at.press.by_rate));
                    add_rate_torque(A, i, scale(cross(by, f), s->radius));
                }
            }
        }
        if (way == 1) add_joint_rows(m, L->T, A->load, q_bar);
        else rate_rows(m, L->T, rset(1), A, q_bar, way == 2 ? v_bar : NULL);
    }
}

#endif
