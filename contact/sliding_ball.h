/// An ellipsoid at the core of another shape: of all balls that are in it, the one that is the nearest.
///
/// An ellipsoid with the radii a >= b >= c along e, f, g is made of balls with their middles p on a disc across g, and the radii r. With
/// a unit vector w
///
///     p = middle + A w_x e + B w_y f,    A = (a^2 - c^2)^(1/2),    B = (b^2 - c^2)^(1/2),    r = c w_z
///
/// As far as p is from a convex core is convex, and so is -r: their sum has one minimum, which is how far both are from each other,
/// as long as p is outside. It is where w is opposite to its gradient G = (A n.e, B n.f, -c), n that of the distance; the second one
/// is Q = L'HL, L = [A e, B f, 0]. So Newton's method on the sphere is
///
///     (P Q P + |G|) s = -P G,    w' = s + (1 - s.s)^(1/2) w,    P = 1 - w w'
///
/// which is positive definite everywhere, and of flat faces has the solution at once. Faces, edges, corners and what is round join
/// smoothly.
///
/// What slides adds -S_ij B_i B_j' to the second derivative of the gap, where B_i is how the gradient of the gap changes as p moves
/// along e and f, and S = diag(A, B) (Q + N)^-1 diag(A, B), N = c (1/w_z + w w'/w_z^3), of -r by (w_x, w_y).
#ifndef CATENA_SLIDING_BALL_H
#define CATENA_SLIDING_BALL_H

#include "contact/pair_lines.h"

/// The ball, with the arm of its middle from the origin of its body, and how far that is from the core; world axes. slide: the
/// columns of a root of S.
typedef struct {
    vec3 arm, n, slide[2];
    real d, ball;
    sym3 H;
} sliding_ball;

/// The radii of an ellipsoid in falling order, which axes they are along, and A and B.
typedef struct {
    int axis[3];
    double a, b, c, A, B;
} ball_disc;

FN double root_of_difference(double x, double y) { return x > y ? sqrt((x - y) * (x + y)) : 0; }

FN ball_disc disc_of_ellipsoid(const double *half)
{
    ball_disc s;
    s.axis[0] = half[0] >= half[1] ? (half[0] >= half[2] ? 0 : 2) : half[1] >= half[2] ? 1 : 2;
    s.axis[2] = half[2] <= half[0] ? (half[2] <= half[1] ? 2 : 1) : half[0] <= half[1] ? 0 : 1;
    if (s.axis[2] == s.axis[0]) s.axis[2] = (s.axis[0] + 1) % 3;
    s.axis[1] = 3 - s.axis[0] - s.axis[2];
    s.a = half[s.axis[0]], s.b = half[s.axis[1]], s.c = half[s.axis[2]];
    s.A = root_of_difference(s.a, s.c), s.B = root_of_difference(s.b, s.c);
    return s;
}

/// A ball: w, how far it is, and G and Q there. off: the square of the part of G across w, of that of all.
typedef struct {
    vec3 w, G;
    real xx, yy, xy, all, off;
    surface_point at;
    sym3 H;
} ball_place;

FN vec3 along_both(vec3 e, vec3 f, real x, real y) { return add_scaled(scale(e, x), f, y); }

/// In the axes of b, for an ellipsoid with its middle at o and its axes e and f.
FN ball_place ball_placed(const touch_shape *b, const ball_disc *s, vec3 o, vec3 e, vec3 f, vec3 w)
{
    const real A = rset(s->A), B = rset(s->B);
    ball_place p;
    p.w = w, p.at = at_core(b, add(o, along_both(e, f, A * w.x, B * w.y)), &p.H);
    p.G = vec(A * dot(p.at.n, e), B * dot(p.at.n, f), rset(-s->c));
    const vec3 He = smul(p.H, e), Hf = smul(p.H, f), across = cross(w, p.G);
    p.xx = A * A * dot(e, He), p.yy = B * B * dot(f, Hf), p.xy = A * B * dot(e, Hf);
    p.all = dot(p.G, p.G), p.off = dot(across, across) / p.all;
    return p;
}

FN ball_place sel_place(mask where, ball_place p, ball_place q)
{
    p.w = sel3(where, p.w, q.w), p.G = sel3(where, p.G, q.G);
    p.xx = sel(where, p.xx, q.xx), p.yy = sel(where, p.yy, q.yy), p.xy = sel(where, p.xy, q.xy);
    p.all = sel(where, p.all, q.all), p.off = sel(where, p.off, q.off);
    p.at.gap = sel(where, p.at.gap, q.at.gap), p.at.n = sel3(where, p.at.n, q.at.n);
    p.H = sel_sym(where, p.H, q.H);
    return p;
}

FN vec3 unit_along(vec3 a) { return scale(a, rset(1) / root(dot(a, a))); }

/// x of S x = -b, S positive definite.
FN vec3 negative_solution(sym3 S, vec3 b)
{
    const real xx = fnmadd(S.yz, S.yz, S.yy * S.zz), yy = fnmadd(S.xz, S.xz, S.xx * S.zz), zz = fnmadd(S.xy, S.xy, S.xx * S.yy);
    const real xy = fnmadd(S.xy, S.zz, S.xz * S.yz), xz = fnmadd(S.xz, S.yy, S.xy * S.yz), yz = fnmadd(S.yz, S.xx, S.xy * S.xz);
    const real over = rset(-1) / fmadd(S.xz, xz, fmadd(S.xy, xy, S.xx * xx));
    return scale(vec(fmadd(xz, b.z, fmadd(xy, b.y, xx * b.x)), fmadd(yz, b.z, fmadd(yy, b.y, xy * b.x)),
                     fmadd(zz, b.z, fmadd(yz, b.y, xz * b.x))),
                 over);
}

/// The part of G across w.
FN vec3 across_ball(const ball_place *p) { return sub_scaled(p->G, p->w, dot(p->G, p->w)); }

/// Newton's step, across w and no longer than 1.
FN vec3 step_of_ball(const ball_place *p)
{
    const vec3 w = p->w, q = vec(fmadd(p->xx, w.x, p->xy * w.y), fmadd(p->xy, w.x, p->yy * w.y), rset(0));
    const real g = root(p->all), qw = dot(q, w);
    sym3 M = sym_diagonal(p->xx + g, p->yy + g, g);
    M.xy = p->xy;
    M = sym_less_pair(M, sub_scaled(q, w, rset(0.5) * qw), w);
    return negative_solution(M, across_ball(p));
}

FN vec3 stepped_ball(vec3 w, vec3 step) { return add_scaled(step, w, root(above_zero(rset(1) - dot(step, step)))); }

enum { SLIDES = 60 };  // some 5; more at ridges inside the core, where there is no solution

/// The minimum. A step by which the sum does not fall is halved; near the minimum, where round-off tells no
/// more, one that comes to where it rises half as fast as it fell. A lane is done where G is opposite to w but
/// for round-off, and then waits as it is.
FN ball_place nearest_ball(const touch_shape *b, const ball_disc *s, vec3 o, vec3 e, vec3 f)
{
    const real none = rset(0), half = rset(0.5);
    const vec3 n = at_core(b, o, NULL).n;
    ball_place p = ball_placed(b, s, o, e, f, unit_along(vec(rset(-s->A) * dot(n, e), rset(-s->B) * dot(n, f), rset(s->c)))),
               best = p;
    mask open = not_(none_of());
    real fall = none, before = rset(1e30), least = before;
    vec3 step = zero3();
    for (int k = 0; k < SLIDES; k++) {
        const real slope = dot(across_ball(&p), step), sum = fnmadd(rset(s->c), p.w.z, p.at.gap);
        const mask falls = lt(sum, fnmadd(rset(1e-4), fall, least)), small = both(lt(p.off, rset(1e-8)), le(slope, half * fall));
        const mask good = both(open, either(falls, small));
        best = sel_place(good, p, best), least = sel(good, sum, least);
        const mask stands = both(lt(p.off, rset(1e-24)), le(rset(0.25) * before, p.off));
        open = both(open, not_(both(good, either(lt(p.off, rset(1e-29)), stands))));
        if (!any_of(open)) break;
        before = sel(good, p.off, before);
        step = sel3(good, step_of_ball(&best), scale(step, half)), fall = negate(dot(across_ball(&best), step));
        p = ball_placed(b, s, o, e, f, stepped_ball(best.w, step));
    }
    return best;
}

/// The ball of a, an ellipsoid, that is the nearest to the core of b.
KERNEL sliding_ball ball_at_core(const touch_shape *a, const touch_shape *b, const pair_pose *P)
{
    const real one = rset(1);
    const ball_disc s = disc_of_ellipsoid(a->half);
    const real A = rset(s.A), B = rset(s.B);
    const vec3 e = column_of(P->A, s.axis[0]), f = column_of(P->A, s.axis[1]), middle = sub(add(P->a, P->ab), P->b);
    const ball_place p = nearest_ball(b, &s, tmul(P->B, middle), tmul(P->B, e), tmul(P->B, f));
    sliding_ball r;
    r.arm = add(P->a, along_both(e, f, A * p.w.x, B * p.w.y));
    r.n = mul(P->B, p.at.n), r.d = p.at.gap, r.ball = rset(s.c) * p.w.z, r.H = turn(P->B, p.H);
    // Q + N, and a root of S by rows; w_z is never less at a minimum
    const real z = sel(lt(p.w.z, rset(s.c / s.a)), rset(s.c / s.a), p.w.z), bend = rset(s.c) / z, lean = bend / (z * z);
    const real xx = fmadd(lean * p.w.x, p.w.x, p.xx + bend), yy = fmadd(lean * p.w.y, p.w.y, p.yy + bend),
               xy = fmadd(lean * p.w.x, p.w.y, p.xy), det = fnmadd(xy, xy, xx * yy);
    const real x = root(yy / det), by = negate(xy / (det * x)), left = one / root(yy);
    r.slide[0] = along_both(e, f, A * x, B * by), r.slide[1] = scale(f, B * left);
    return r;
}

#endif
