/// The adjoint of torsional and rolling friction (contact/rolling.h) in a step of order 2. With the quaternion (w, v) of Q = R R_k',
/// a contact point adds to y'r
///
///     g(y).J xi,    y = (1 - a) z + 2 v,    J = w - [v]x,    a = t/(h + t)
///
/// where xi is the virtual turn of its body. A turn d of R_k moves 2 v by -J'd, and g.J xi by (g.xi v + J (xi x g)).d/2 where
/// g is held. The law goes by the plane of friction f, too, as that splits y; its gradients by f are given but for parts along f,
/// which f cannot change by. (docs/theory.md 4.6)
#ifndef CATENA_ROLLING_ADJOINT_H
#define CATENA_ROLLING_ADJOINT_H

#include "contact/rolling.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "integrators/collocation.h"

/// Load k, a contact point whose body resists turning, in a solve.
typedef struct {
    const lane_point_load *s;
    small_turn T;
    turn_law law;
    vec3 z, bent, y, face;  // bent: z + 2 v
} solved_turn;

/// c: how it touches; share: 1 - a.
FN solved_turn turn_solved(const lane_model *m, const solve *W, int k, const touch *c, real share)
{
    solved_turn t;
    const lane_point_load *s = t.s = &m->loads[k];
    const turned_touch at = turned_in(m, W, k, c);
    t.T = at.T, t.law = turn_in_step(m, s, &at, c->face, W->in.drag, W->lag[s->contact]);
    t.z = W->slip[turn_slot(m, s)], t.bent = at.s, t.face = c->face;
    t.y = add_scaled(scale(t.z, share), t.T.v, rset(2));
    if (W->turn.of) t.y = add(t.y, W->turn.of[s->body].at.way);
    return t;
}

/// (dg/dy) v.
FN vec3 turn_slope(const turn_law *F, vec3 v)
{
    vec3 x = zero3();
    for (int k = 0; k < 3; k++) x = add_scaled(x, F->along[k], F->k[k] * dot(F->along[k], v));
    return x;
}

/// The gradient of g.v by f.
FN vec3 turn_by_face(const solved_turn *t, vec3 v)
{
    const turn_law *F = &t->law;
    const vec3 f = t->face, x = add_scaled(scale(t->y, (F->k[0] - F->k[2]) * dot(f, v)), v, dot(f, F->g));
    return sub_scaled(x, turn_slope(F, v), dot(f, t->y));
}

/// Adds the gradients that b, by share z + 2 v and the way of frames, makes by z, by a turn of R_k and by that way (NULL: there is
/// none).
FN void turn_bristles_pullback(const solved_turn *t, vec3 b, real share, vec3 *z, vec3 *start, vec3 *way)
{
    if (way) *way = add(*way, b);
    *z = add_scaled(*z, b, share), *start = sub(*start, turn_rate(&t->T, b));
}

/// Adds what the virtual turn xi makes by a turn of R_k as J goes by that, of -y'r.
FN void turn_arm_pullback(const solved_turn *t, vec3 xi, vec3 *start)
{
    const vec3 g = t->law.g, by = add_scaled(turn_rate(&t->T, cross(xi, g)), t->T.v, dot(g, xi));
    *start = sub_scaled(*start, by, rset(0.5));
}

/// Of kept_turn(): the gradients by what bristles were bent to, by f, and by the normal forces lag and l.
typedef struct {
    vec3 bent, face;
    real lag, l;
} kept_turn_bar;

FN kept_turn_bar kept_turn_pullback(const solved_turn *t, real lag, real l, vec3 bar)
{
    const lane_point_load *s = t->s;
    const real o = rset(0), one = rset(1), per = one / turn_grip(s), twist = dot(t->face, t->bent);
    const mask lagged = lt(lag, l);
    const real press = sel(lagged, lag, l), most = s->torsional * press * per, most_roll = s->rolling * press * per;
    const vec3 roll = sub_scaled(t->bent, t->face, twist);
    const real length = root(dot(roll, roll)), inverse = one / sel(gt(length, o), length, one);
    const mask held = both(gt(most, o), le(magnitude(twist), most)), whole = both(gt(most_roll, o), le(length, most_roll));
    const vec3 way = scale(roll, inverse);
    const real side = sel(lt(twist, o), negate(one), one), by_twist = dot(t->face, bar), by_roll = dot(way, bar);
    const real share = sel(whole, one, most_roll * inverse), left = sel(held, twist, side * most);
    const vec3 rolled = scale(sub_scaled(bar, way, sel(whole, o, by_roll)), share);
    const real by_press = fmadd(sel(held, o, s->torsional * side), by_twist, sel(whole, o, s->rolling * by_roll)) * per;
    kept_turn_bar B;
    B.bent = add_scaled(along_ground(t->face, rolled), t->face, sel(held, by_twist, o));
    B.face = add_scaled(scale(bar, left), t->bent, (sel(held, one, o) - share) * by_twist);
    B.face = sub_scaled(B.face, rolled, twist);
    B.lag = sel(lagged, by_press, o), B.l = sel(lagged, o, by_press);
    return B;
}

#endif
