/// A rim of a cylinder on a flat face of another shape, which it touches where it is the farthest down.
///
/// Around the middle c it is what n'x <= (n'Mn)^(1/2) has for every unit vector n, with M = A diag(r^2, r^2, 0) A' in the axes A
/// of its core. Of a face with the outward normal n the lowest point is
///
///     X = c - Mn/s,    s = (n'Mn)^(1/2),    d = n.(X - face)
///
/// As X slides where the bodies turn against each other by w = w_a - w_b, the second derivative has w'Kw more than that of a
/// point of the body, with K = [n]x S [n]x, where S = M/s - (Mn)(Mn)'/s^3 is the derivative of Mn/s.
#ifndef CATENA_PAIR_ROUNDS_H
#define CATENA_PAIR_ROUNDS_H

#include "contact/pair_lines.h"

typedef struct {
    vec3 arm, n;  // from the origin of the round's body to X; from the face
    real d, s;
    vec3 lean;  // Mn in the axes of the round's core
} round_at;

FN vec3 round_squares(const touch_shape *a)
{
    const double *const r = a->half;
    return vec(rset(r[0] * r[0]), rset(r[1] * r[1]), rset(0));
}

/// Round k of a at a face of b.
FN round_at round_at_face(const touch_shape *a, const touch_shape *b, int k, int face, const pair_pose *P)
{
    const real o = rset(0), one = rset(1);
    const vec3 m = round_squares(a), middle = vec(o, o, rset(side(k) * a->half[2]));
    double at;
    round_at r;
    r.n = mul(P->B, face_of_core(b, face, &at));
    const vec3 n = tmul(P->A, r.n);
    r.lean = vec(m.x * n.x, m.y * n.y, m.z * n.z), r.s = root(dot(r.lean, n));
    const mask leans = gt(r.s, o);
    const vec3 x = sub_scaled(middle, r.lean, sel(leans, one / sel(leans, r.s, one), o));
    r.arm = add(P->a, mul(P->A, x));
    r.d = dot(r.n, sub(add(r.arm, P->ab), P->b)) - rset(at);
    return r;
}

/// K of the above, world axes.
FN sym3 round_slide(const touch_shape *a, const round_at *r, const pair_pose *P)
{
    const real o = rset(0), one = rset(1);
    const mask leans = gt(r->s, o);
    const real k = sel(leans, one / sel(leans, r->s, one), o);
    const vec3 m = round_squares(a), n = r->n;
    sym3 S = sym_diagonal(m.x * k, m.y * k, m.z * k);
    sym_add_dyad(&S, r->lean, negate(k * k * k));
    S = turn(P->A, S);
    // [n]x S [n]x = -[n]x S [n]x': columns of [n]x' are n x e
    mat3 N;
    N.x = vec(o, n.z, negate(n.y)), N.y = vec(negate(n.z), o, n.x), N.z = vec(n.y, negate(n.x), o);
    return sym_scale(turn(N, S), rset(-1));
}

/// How far inside a face of a core its point x is, in hundredths of the face's size; less than 0: it is beyond a side.
FN real inside_face(const touch_shape *s, int face, vec3 x)
{
    const real one = rset(1);
    if (s->kind == CORE_CYLINDER) return (one - root(fmadd(x.y, x.y, x.x * x.x)) * rset(1 / s->half[0])) * rset(50);
    if (s->kind == CORE_BOX) {
        const real at[] = {magnitude(x.x), magnitude(x.y), magnitude(x.z)};
        const int i = (face / 2 + 1) % 3, j = (face / 2 + 2) % 3;
        if (!(s->half[i] > 0 && s->half[j] > 0)) return rset(-1);
        const real u = one - at[i] * rset(1 / s->half[i]), v = one - at[j] * rset(1 / s->half[j]);
        return sel(lt(u, v), u, v) * rset(50);
    }
    const double *const flat = s->numbers + (int)face_numbers(s)[face * FACE_NUMBERS + 4], *sides = flat + HULL_FACE;
    real least = rset(1e30);
    double size = 0;
    for (int k = 0; k < (int)flat[4]; k++, sides += HULL_SIDE) {
        const real d = dot(const3(sides + 7), sub(const3(sides), x));
        least = sel(lt(d, least), d, least), size = sides[6] > size ? sides[6] : size;
    }
    return least * rset(100 / size);
}

#endif
