/// Torsional and rolling friction of a contact point: what keeps its body from turning on the spot about the normal n of the
/// surface, and from rolling along it.
///
/// Both have bristles, as sliding has (contact/law.h), but of a turn. The step turns the body by the unit quaternion (w, v) of
/// Q = R R_k'; they are bent from z to s = z + 2 v, which is the angle of the turn to third order, and push back by the torque
/// K y with y = s - z t/(h + t), K = k (1 + t/h), k = max(coefficients) W / (0.005 rad), W the weight of the tree: the part of y
/// along n up to torsional * l, that across up to rolling * l, l the normal force of the pass before. Coefficients are lengths, m.
///
/// 2 v goes by a small turn d from the left with J d, J = w - [v]x, and so W(y) has the gradient J'g and, in the exponential chart,
/// the second derivative J' W'' J - (g.v)/2: the first part is never negative, the other is curvature. (docs/theory.md 4.12)
#ifndef CATENA_CONTACT_ROLLING_H
#define CATENA_CONTACT_ROLLING_H

#include "contact/law.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/body_loads.h"

/// The angle, rad, at which bristles that bear the weight of the tree give way.
#define ROLLING_ANGLE 0.005

/// Which bristles of `slip` turn: those of all points are behind those that slide.
FN int turn_slot(const lane_model *m, const lane_point_load *s) { return m->ncontact + s->contact; }

FN real turn_grip(const lane_point_load *s)
{
    return larger_of(s->torsional, s->rolling) * rset(s->bears / ROLLING_ANGLE);
}

/// How a body has turned: the unit quaternion of R R_k', w >= 0.
typedef struct {
    real w;
    vec3 v;
} small_turn;

/// Qt: R R_k', by columns.
FN small_turn turn_of(mat3 Q)
{
    const real trace = Q.x.x + Q.y.y + Q.z.z, four = rset(4);
    const real w2 = fmadd(rset(0.25), trace, rset(0.25)), least = rset(1e-12);  // half a turn has no side
    small_turn T;
    T.w = root(sel(lt(w2, least), least, w2));
    T.v = scale(vec(Q.y.z - Q.z.y, Q.z.x - Q.x.z, Q.x.y - Q.y.x), rset(1) / (four * T.w));
    return T;
}

/// J d and J'd.
FN vec3 turn_rate(const small_turn *T, vec3 d) { return sub(scale(d, T->w), cross(T->v, d)); }
FN vec3 turn_pull(const small_turn *T, vec3 d) { return add(scale(d, T->w), cross(T->v, d)); }

/// Friction that is bent to y, with the stiffness K, under the normal force l: its potential, its gradient by y, second derivatives
/// along n and two tangents, and the derivative of the gradient by l.
typedef struct {
    real E, k[3];
    vec3 g, along[3], by_press;
} turn_law;

FN turn_law resist_turn(const lane_point_load *s, vec3 n, vec3 y, real K, real l, mask glued)
{
    const real o = rset(0), one = rset(1), half = rset(0.5), twist = dot(n, y), pull = K * magnitude(twist);
    const vec3 roll = sub_scaled(y, n, twist);
    real spin_cap = s->torsional * l, roll_cap = s->rolling * l;
    const mask held = both(glued, gt(l, o));
    spin_cap = sel(held, larger_of(spin_cap, rset(2) * pull), spin_cap);
    roll_cap = sel(held, larger_of(roll_cap, rset(2) * K * root(dot(roll, roll))), roll_cap);
    const friction_law F = rub_on(n, roll, K, roll_cap);
    const mask acts = gt(spin_cap, o), sticks = both(acts, le(pull, spin_cap));
    const real side = sel(lt(twist, o), negate(one), one);
    turn_law T;
    const real slides = spin_cap * (magnitude(twist) - half * spin_cap / sel(gt(K, o), K, one));
    T.E = F.E + sel(acts, sel(sticks, half * pull * magnitude(twist), slides), o);
    T.g = add_scaled(F.g, n, sel(acts, side * sel(sticks, pull, spin_cap), o));
    T.k[0] = sel(sticks, K, o), T.k[1] = F.k1, T.k[2] = F.k2;
    T.along[0] = n, T.along[1] = F.t1, T.along[2] = F.t2;
    T.by_press = add_scaled(scale(F.by_cap, s->rolling), n, sel(sticks, o, side * s->torsional));
    return T;
}

/// What is left of bristles that were bent to s, under normal forces that were `lag` in the solve and are l.
FN vec3 kept_turn(const lane_point_load *s, vec3 n, vec3 bent, real lag, real l)
{
    const real grip = turn_grip(s), o = rset(0), one = rset(1), press = sel(lt(lag, l), lag, l);
    const real twist = dot(n, bent), share = one / sel(gt(grip, o), grip, one);
    const vec3 roll = sub_scaled(bent, n, twist);
    const real most = s->torsional * press * share, most_roll = s->rolling * press * share, length = root(dot(roll, roll));
    const real left = sel(gt(twist, most), most, sel(lt(twist, negate(most)), negate(most), twist));
    return add_scaled(scale(roll, sel(le(length, most_roll), one, most_roll / sel(gt(length, o), length, one))), n, left);
}

/// What bristles store that are bent to z, J.
FN real turn_energy(const lane_point_load *s, vec3 z) { return rset(0.5) * turn_grip(s) * dot(z, z); }

/// A contact point of a step that turns its body by Q = R R_k': its bristles, bent from z. drift: as of W->drift; NULL: none.
typedef struct {
    small_turn T;
    vec3 s, rest;
} turned_touch;

FN turned_touch turned_at(mat3 Q, vec3 z, vec3 drift)
{
    turned_touch t;
    t.T = turn_of(Q), t.s = add_scaled(z, t.T.v, rset(2)), t.rest = add(z, drift);
    return t;
}

/// The law in a step: bristles have the damper of the others. drag, l: as of rub_in_step(), with the normal force in place of the cap.
FN turn_law turn_in_step(const lane_model *m, const lane_point_load *s, const turned_touch *t, vec3 n, real drag, real l)
{
    const real tau = m->relaxation * drag, grip = turn_grip(s);
    return resist_turn(s, n, sub_scaled(t->s, t->rest, tau / (rset(1) + tau)), fmadd(grip, tau, grip), l, none_of());
}

/// Adds what it does in a step. Returns its energy.
FN real add_turn_friction(body_load *L, const lane_model *m, const lane_point_load *s, const turned_touch *t, vec3 n, real drag,
                          real l)
{
    const turn_law F = turn_in_step(m, s, t, n, drag, l);
    const real bend = rset(-0.5) * dot(F.g, t->T.v);
    L->w.n = add(L->w.n, turn_pull(&t->T, F.g));
    for (int k = 0; k < 3; k++) add_way_block(L, turn_pull(&t->T, F.along[k]), zero3(), F.k[k]);
    if (L->curves) L->P.A = sym_add(L->P.A, sym_diagonal(bend, bend, bend));
    return F.E;
}

/// What it takes in a step, J: its work beyond what bristles store. They were bent to z, and keep `kept`.
FN real turn_loss(const lane_point_load *s, const turned_touch *t, vec3 z, vec3 g, vec3 kept)
{
    return dot(g, sub(t->s, z)) + turn_energy(s, z) - turn_energy(s, kept);
}

/// Energy that a point stores at a gap, with the bristles `slip` [nbent]; and at the end of a step.
FN real stored_in_contact(const lane_model *m, const lane_point_load *s, real gap, const vec3 *slip)
{
    real E = contact_energy(s, gap, slip[s->contact]);
    if (s->rolls) E = E + turn_energy(s, slip[turn_slot(m, s)]);
    return E;
}
FN real stored_at_end(const lane_point_load *s, const end_touch *e)
{
    real E = contact_energy(s, e->gap, e->kept);
    if (s->rolls) E = E + turn_energy(s, e->turned);
    return E;
}

/// What a point remembers of the end of a step, in the lanes `where`. Without a force that is a zero without a sign where points may
/// be left out as idle (contact/near.h).
FN void keep_touch(const lane_model *m, const lane_point_load *s, const end_touch *e, mask where, vec3 *slip, real *press)
{
    const mask bent = m->nsurface ? gt(e->press, rset(0)) : not_(none_of());
    slip[s->contact] = sel3(where, sel3(bent, e->kept, zero3()), slip[s->contact]);
    press[s->contact] = sel(where, e->press, press[s->contact]);
    if (s->rolls) slip[turn_slot(m, s)] = sel3(where, sel3(bent, e->turned, zero3()), slip[turn_slot(m, s)]);
}

#endif
