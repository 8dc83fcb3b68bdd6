/// What sensors of contact feel on a link: the forces of what is fixed on its contact points, and those of other links where they
/// touch it, as the state remembers them of the step made last.
#ifndef CATENA_CONTACT_SENSORS_H
#define CATENA_CONTACT_SENSORS_H

#include "contact/pair_gap.h"
#include "contact/pair_lines.h"
#include "dynamics/kinematics.h"
#include "dynamics/lane_model.h"
#include "dynamics/sensor.h"
#include "integrators/load_forces.h"
#include "integrators/pair_terms.h"
#include "integrators/remembered_forces.h"

/// The sum of normal forces, and of forces on the link.
typedef struct {
    real normal;
    vec3 force;
} felt_sum;

/// Adds what is at `at`, where that is within the radius of a sensor whose point is at `middle`.
FN void add_felt(felt_sum *F, const model_sensor *sensor, vec3 middle, vec3 at, mask where, real l, vec3 f)
{
    const vec3 off = sub(at, middle);
    const real radius = rset(sensor->about.radius), o = rset(0);
    const mask near = sensor->about.radius > 0 ? both(where, le(dot(off, off), radius * radius)) : where;
    F->normal = F->normal + sel(near, l, o), F->force = add(F->force, sel3(near, f, zero3()));
}

/// Contact points, after place_loads(). Where nothing is remembered it is that of their depth and its rate, as for a state that
/// begins.
KERNEL void feel_surfaces(const lane_model *m, const model_sensor *sensor, const remembered *R, const loads_work *L, felt_sum *F)
{
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES) || s->link != sensor->about.link) continue;
        const vec3 x = moved_point(L->V[s->body], L->at[k].arm);
        const surface_point on = stand_of(m, s, L->at[k].gap);
        real l = press_at(m, s, on.gap, dot(on.n, x)).force;
        if (R->press) l = R->press[s->contact];
        const vec3 f = felt_at(m, L, k, R->press ? R->slip : NULL, l).f;
        const vec3 middle = mul_add(L->p[s->body], L->T[s->body].R, const3(sensor->p));
        add_felt(F, sensor, middle, sub_scaled(L->at[k].gap, on.face, s->radius), not_(none_of()), l, f);
    }
}

/// What the pair k does to its link a (sign 1) or b (-1). T [nbody]: where bodies are. Lanes may remember different elements in
/// a slot.
KERNEL void feel_pair(const lane_model *m, const model_sensor *sensor, const remembered *R, const pose *T, vec3 middle, int k,
                      double sign, felt_sum *F)
{
    const touch_pair *const p = &m->touch_pairs[k];
    const touch_shape *const a = &m->touch_shapes[p->a], *const b = &m->touch_shapes[p->b];
    const mat3 I = world_at().R, A = a->body < 0 ? I : T[a->body].R, B = b->body < 0 ? I : T[b->body].R;
    const vec3 at_a = a->body < 0 ? zero3() : T[a->body].p, at_b = b->body < 0 ? zero3() : T[b->body].p;
    const pair_pose P = pose_of_pair(a, b, A, B, sub(at_a, at_b));
    for (int j = p->slot; j < p->slot + p->slots; j++) {
        const real l = R->pair_press[j];
        if (!any_of(gt(l, rset(0)))) continue;
        for (int e = 0; e < p->elements; e++) {
            const real key = rset(e + 1);
            const mask is = both(gt(l, rset(0)), both(le(key, R->pair_of[j]), le(R->pair_of[j], key)));
            if (!any_of(is)) continue;
            const pair_gap g = gap_at(a, b, e, &P, NULL);
            const vec3 f = sub_scaled(scale(g.n, l), mul(B, R->pair_slip[j]), pair_slide(m, p));
            const vec3 at = sub_scaled(add(at_a, g.ra), g.n, rset(0.5) * g.gap + rset(a->radius));
            add_felt(F, sensor, middle, at, is, l, scale(f, rset(sign)));
        }
    }
}

/// The normal forces on a link, or the force on it, into out.
KERNEL void sense_contacts(const lane_model *m, const model_sensor *sensor, const remembered *R, const loads_work *L,
                           const pose *T, real *out)
{
    const int link = sensor->about.link, body = m->frames[link].body;
    felt_sum F;
    F.normal = rset(0), F.force = zero3();
    feel_surfaces(m, sensor, R, L, &F);
    const vec3 middle = body < 0 ? const3(sensor->p) : mul_add(T[body].p, T[body].R, const3(sensor->p));
    for (int k = 0; k < m->npair && R->pair_press; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        if (m->touch_shapes[p->a].link == link) feel_pair(m, sensor, R, T, middle, k, 1, &F);
        if (m->touch_shapes[p->b].link == link) feel_pair(m, sensor, R, T, middle, k, -1, &F);
    }
    if (sensor->about.type == CTN_SENSE_TOUCH) out[0] = F.normal;
    else store3(out, F.force);
}

#endif
