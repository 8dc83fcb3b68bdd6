/// Drag on a point that moves against a fluid with the velocity w, where it is more than a damper and a force that stays
/// (LOAD_SLIPS): of a current that is not the same everywhere, or by another law. It is the slope g of a convex function of w,
///
///     linear          c/2 |w|^2 + e/2 (t.w)^2
///     by the square   c/3 |w_n|^3 + (c + e)/3 |t.w|^3,    w_n = w - t (t.w)
///     as published    the linear one with 2 c/h and 2 e/h, h the step: D |x - x_k|^2/h^2 [Pan, Manocha 2018]
///
/// with the axis t of an axial drag, a unit vector, else 0. In terms of what is called so below
///
///     g = k w + secant t (t.w),    dg/dw = k 1 + along t t' + across n n',    n = w_n/|w_n|
///
/// which is never negative: a fluid at rest takes energy at any speed, and steps that solve for w are stable at any size. A drag
/// that took the speed of the start of the step would not be: where it is most of the force, v' v = m g/c, and v never settles.
/// (docs/theory.md 4.8)
#ifndef CATENA_DRAG_H
#define CATENA_DRAG_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/signals.h"

typedef struct {
    vec3 g, n;
    real k, secant, along, across;
} drag_force;

/// The drag of a load with LOAD_SLIPS; inv_h: 1/h.
KERNEL drag_force drag_of(const lane_point_load *s, vec3 t, vec3 w, real inv_h)
{
    const real o = rset(0), two = rset(2), wt = dot(t, w);
    drag_force D;
    D.n = zero3(), D.across = o;
    if (s->flags & LOAD_SQUARE) {
        const vec3 wn = sub_scaled(w, t, wt);
        const real speed = root(dot(wn, wn)), slide = (s->damping + s->axial) * magnitude(wt);
        D.k = D.across = s->damping * speed;
        D.n = scale(wn, sel(gt(speed, o), rset(1) / speed, o));
        D.secant = D.along = o;
        if (s->flags & LOAD_AXIAL) D.secant = slide - D.k, D.along = two * slide - D.k;
    } else {
        real more = rset(1);
        if (s->flags & LOAD_PUBLISHED) more = two * inv_h;
        D.k = s->damping * more, D.secant = D.along = s->axial * more;
    }
    D.g = add_scaled(scale(w, D.k), t, D.secant * wt);
    return D;
}

/// The function of which it is the slope.
FN real drag_potential(const lane_point_load *s, const drag_force *D, vec3 w)
{
    return rset(s->flags & LOAD_SQUARE ? 1.0 / 3 : 0.5) * dot(D->g, w);
}

/// dg/dw y, which is symmetric.
FN vec3 drag_slope(const drag_force *D, vec3 t, vec3 y)
{
    return add_scaled(add_scaled(scale(y, D->k), t, D->along * dot(t, y)), D->n, D->across * dot(D->n, y));
}

/// The gradient of y.g by t, and that by a turn of t.
FN vec3 drag_by_axis(const lane_point_load *s, const drag_force *D, vec3 t, vec3 w, vec3 y)
{
    vec3 a = scale(y, D->secant);
    if (s->flags & LOAD_SQUARE) a = sub_scaled(a, D->n, D->across * dot(D->n, y));
    return add_scaled(scale(a, dot(t, w)), w, D->along * dot(t, y));
}
FN vec3 drag_by_turn(const lane_point_load *s, const drag_force *D, vec3 t, vec3 w, vec3 y)
{
    return cross(t, drag_by_axis(s, D, t, w, y));
}

/// The share of the current at the height z, and its slope.
KERNEL signal_value stream_share(const fluid_stream *stream, real z)
{
    const real o = rset(0);
    signal_value s;
    s.x = rset(stream->points ? stream->share[0] : 1), s.rate = o;
    for (int k = 0; k + 1 < stream->points; k++) {
        const real width = rset(stream->height[k + 1] - stream->height[k]), slope = rset(stream->slope[k]);
        const real above = z - rset(stream->height[k]);
        const mask in = both(gt(above, o), lt(above, width));
        const real within = sel(gt(above, o), sel(lt(above, width), above, width), o);
        s.x = fmadd(slope, within, s.x), s.rate = sel(in, slope, s.rate);
    }
    return s;
}

/// The current at the point x now, and how it changes with the height of that.
typedef struct {
    vec3 flow, shear;
} stream_at;

KERNEL stream_at stream_now(const lane_model *m, const lane_point_load *s, vec3 x)
{
    const fluid_stream *const stream = &m->stream;
    real strength = rset(stream->strength);
    if (stream->moves) {
        real t = rset(m->time), beside = rset(m->time + 1e-9);
        if (m->clock) t = m->clock->t, beside = m->clock->beside;
        strength = strength + signal_at(&m->signals[stream->moves - 1], t, beside).x;
    }
    const signal_value share = stream_share(stream, x.z);
    const vec3 U = scale(load3(s->flow), strength);
    stream_at at;
    at.flow = scale(U, share.x), at.shear = scale(U, share.rate);
    return at;
}

#endif
