/// Points of a core at the core of another shape, which slide to where they are the nearest: balls in an ellipsoid, and points on
/// the rims of a cylinder.
///
/// *An ellipsoid* with the radii a >= b >= c along e, f, g is made of balls with their middles p on a disc across g, and the
/// radii r. With a unit vector w
///
///     p = middle + A w_x e + B w_y f,    A = (a^2 - c^2)^(1/2),    B = (b^2 - c^2)^(1/2),    r = c w_z
///
/// As far as p is from a convex core is convex, and so is -r: their sum has one minimum, which is how far both are from each
/// other, as long as p is outside. It is where w is opposite to its gradient G = (A n.e, B n.f, -c), n that of the distance;
/// the second one is Q = L'HL, L = [A e, B f, 0]. So Newton's method on the sphere is
///
///     (P Q P + |G|) s = -P G,    w' = s + (1 - s.s)^(1/2) w,    P = 1 - w w'
///
/// which is positive definite everywhere, and of flat faces has the solution at once. Faces, edges, corners and what is round
/// join smoothly.
///
/// *A rim* has 16 points, each of which slides as far as half of the way to the next,
///
///     p = middle + c r + s t,    c = (1 - s^2)^(1/2),    |s| <= sin(pi/16)
///
/// r and t along the radius and across it, to where d(p) + k s^2/2 has its minimum, d the distance. k, a hundredth of the
/// radius, takes care that those of a rim that lies flat stand still. So a rim is round but for 2e-4 of its radius, on whatever
/// it touches, and each of its points is a spring of its own, from when it touches.
///
/// What slides adds -S_ij B_i B_j' to the second derivative of the gap, where B_i is how the gradient of the gap changes as p
/// moves along its ways i, and S the inverse of the second derivative of what has the minimum, by these: of a ball along e and
/// f diag(A, B) (Q + N)^-1 diag(A, B), N = c (1/w_z + w w'/w_z^3), of -r by (w_x, w_y).
#ifndef CATENA_SLIDING_POINT_H
#define CATENA_SLIDING_POINT_H

#include "contact/pair_lines.h"

/// A point of a's core, its arm from the origin of a's body, how far it is from that of b, and by how much a is beyond it; world
/// axes. slide: the columns of a root of S, where it slides.
typedef struct {
    vec3 arm, n, slide[2];
    real d, ball;
} core_point;

FN bool points_slide(const touch_shape *s) { return s->kind == CORE_CYLINDER || s->kind == CORE_ELLIPSOID; }

// ---- ellipsoids

/// The radii of an ellipsoid in falling order, which axes they are along, and A and B.
typedef struct {
    int axis[3];
    double a, b, c;
    real A, B;
} ball_disc;

FN ball_disc disc_of_ellipsoid(const double *half)
{
    ball_disc s;
    s.axis[0] = half[0] >= half[1] ? (half[0] >= half[2] ? 0 : 2) : half[1] >= half[2] ? 1 : 2;
    s.axis[2] = half[2] <= half[0] ? (half[2] <= half[1] ? 2 : 1) : half[0] <= half[1] ? 0 : 1;
    if (s.axis[2] == s.axis[0]) s.axis[2] = (s.axis[0] + 1) % 3;
    s.axis[1] = 3 - s.axis[0] - s.axis[2];
    s.a = half[s.axis[0]], s.b = half[s.axis[1]], s.c = half[s.axis[2]];
    s.A = root(rset((s.a - s.c) * (s.a + s.c))), s.B = root(rset((s.b - s.c) * (s.b + s.c)));
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
    const real A = s->A, B = s->B;
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

/// The minimum. A step by which the sum does not fall is halved; near the minimum, where round-off tells no more, one that
/// comes to where it rises half as fast as it fell. A lane is done where G is opposite to w but for round-off, and then waits
/// as it is.
FN ball_place nearest_ball(const touch_shape *b, const ball_disc *s, vec3 o, vec3 e, vec3 f)
{
    const real none = rset(0), half = rset(0.5);
    const vec3 n = at_core(b, o, NULL).n;
    ball_place p = ball_placed(b, s, o, e, f, unit_along(vec(negate(s->A) * dot(n, e), negate(s->B) * dot(n, f), rset(s->c)))),
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

/// The ball of a that is the nearest to the core of b.
FN core_point ball_at_core(const touch_shape *a, const touch_shape *b, const pair_pose *P, sym3 *H)
{
    const real one = rset(1);
    const ball_disc s = disc_of_ellipsoid(a->half);
    const real A = s.A, B = s.B;
    const vec3 e = column_of(P->A, s.axis[0]), f = column_of(P->A, s.axis[1]), middle = sub(add(P->a, P->ab), P->b);
    const ball_place p = nearest_ball(b, &s, tmul(P->B, middle), tmul(P->B, e), tmul(P->B, f));
    core_point r;
    r.arm = add(P->a, along_both(e, f, A * p.w.x, B * p.w.y));
    r.n = mul(P->B, p.at.n), r.d = p.at.gap, r.ball = rset(s.c) * p.w.z;
    if (H) *H = turn(P->B, p.H);
    // Q + N, and a root of S by rows; w_z is never less at a minimum
    const real z = sel(lt(p.w.z, rset(s.c / s.a)), rset(s.c / s.a), p.w.z), bend = rset(s.c) / z, lean = bend / (z * z);
    const real xx = fmadd(lean * p.w.x, p.w.x, p.xx + bend), yy = fmadd(lean * p.w.y, p.w.y, p.yy + bend),
               xy = fmadd(lean * p.w.x, p.w.y, p.xy), det = fnmadd(xy, xy, xx * yy);
    const real x = root(yy / det), by = negate(xy / (det * x)), left = one / root(yy);
    r.slide[0] = along_both(e, f, A * x, B * by), r.slide[1] = scale(f, B * left);
    return r;
}

// ---- rims

#define RIM_EASE 0.01  // of the radius

/// What has the minimum, where it is s.
typedef struct {
    real s, sum, slope, bend, gap;
    vec3 n;
    sym3 H;
} rim_place;

FN rim_place sel_rim(mask where, rim_place p, rim_place q)
{
    p.s = sel(where, p.s, q.s), p.sum = sel(where, p.sum, q.sum), p.slope = sel(where, p.slope, q.slope);
    p.bend = sel(where, p.bend, q.bend), p.gap = sel(where, p.gap, q.gap);
    p.n = sel3(where, p.n, q.n), p.H = sel_sym(where, p.H, q.H);
    return p;
}

/// An end of a bracket: known, once it has been looked at.
typedef struct {
    real s, sum, slope;
    mask known;
} rim_end;

FN void move_end(rim_end *to, mask where, const rim_place *p)
{
    to->s = sel(where, p->s, to->s), to->sum = sel(where, p->sum, to->sum), to->slope = sel(where, p->slope, to->slope);
    to->known = either(to->known, where);
}

/// A point of a rim around `middle` with the radius r and, across it, t; and its way.
FN vec3 rim_point(vec3 middle, vec3 r, vec3 t, real s) { return add(middle, along_both(r, t, root(fnmadd(s, s, rset(1))), s)); }
FN vec3 rim_way(vec3 r, vec3 t, real s) { return sub_scaled(t, r, s / root(fnmadd(s, s, rset(1)))); }

/// In the axes of b.
FN rim_place rim_placed(const touch_shape *b, vec3 middle, vec3 r, vec3 t, real ease, real s)
{
    const real over = rset(1) / root(fnmadd(s, s, rset(1)));
    rim_place p;
    const surface_point at = at_core(b, rim_point(middle, r, t, s), &p.H);
    const vec3 way = rim_way(r, t, s);
    p.s = s, p.gap = at.gap, p.n = at.n, p.sum = fmadd(rset(0.5) * ease * s, s, p.gap), p.slope = fmadd(ease, s, dot(p.n, way));
    p.bend = fnmadd(dot(p.n, r), over * over * over, dot(way, smul(p.H, way))) + ease;
    return p;
}

enum { RIM_STEPS = 40 };  // some 3; at ridges inside the core some 12

/// Point k on a rim of a, where it is the nearest to the core of b. Newton's steps, in a bracket; where none leads inside, to
/// one of its ends, or to where the tangents at both ends meet. A lane is done where the slope is round-off, or falls beyond
/// the end.
FN core_point rim_at_core(const touch_shape *a, const touch_shape *b, int k, const pair_pose *P, sym3 *H)
{
    const real o = rset(0), one = rset(1), end = rset(0.19509032201612827), ease = rset(RIM_EASE * a->half[0]);
    const vec3 x = point_of_core(a, k);
    const vec3 r = mul(P->A, vec(x.x, x.y, o)), t = mul(P->A, vec(negate(x.y), x.x, o)), middle = add_scaled(P->a, P->A.z, x.z);
    const vec3 at = tmul(P->B, sub(add(middle, P->ab), P->b)), across = tmul(P->B, r), along = tmul(P->B, t);
    rim_place p = rim_placed(b, at, across, along, ease, o), best = p;
    rim_end low, high;
    low.s = negate(end), high.s = end, low.sum = low.slope = high.sum = high.slope = o, low.known = high.known = none_of();
    mask open = not_(none_of());
    for (int i = 0; i < RIM_STEPS; i++) {
        const mask falls = both(open, lt(p.slope, o)), rises = both(open, not_(falls));
        const mask stops = either(both(rises, le(p.s, negate(end))), both(falls, le(end, p.s)));
        const mask flat = lt(magnitude(p.slope), fmadd(magnitude(p.bend), rset(4e-16), rset(1e-15 * a->half[0])));
        best = sel_rim(open, p, best), move_end(&low, falls, &p), move_end(&high, rises, &p);
        const real wide = high.s - low.s;
        open = both(open, both(not_(either(stops, flat)), lt(rset(1e-14), wide)));
        if (!any_of(open)) break;
        const mask known = both(low.known, high.known), bends = gt(p.bend, o);
        const real next = p.s - p.slope / sel(bends, p.bend, one), least = rset(1e-3) * wide;
        const mask leads = both(bends, both(lt(low.s, next), lt(next, high.s)));
        const real steep = low.slope - high.slope;
        real cut = (high.sum - low.sum - high.slope * wide) / sel(lt(steep, o), steep, one);
        cut = sel(lt(cut, least), least, sel(lt(wide - least, cut), wide - least, cut));
        const real side = sel(known, low.s + cut, sel(falls, high.s, low.s));
        const mask by_newton = both(leads, not_(both(known, lt(o, rset(i % 2)))));
        p = rim_placed(b, at, across, along, ease, sel(open, sel(by_newton, next, side), best.s));
    }
    const mask free = both(lt(magnitude(best.s), end), gt(best.bend, o));
    core_point c;
    c.arm = rim_point(middle, r, t, best.s), c.n = mul(P->B, best.n), c.d = best.gap;
    c.ball = negate(rset(0.5) * ease * best.s * best.s);
    c.slide[0] = scale(rim_way(r, t, best.s), sel(free, one / root(sel(free, best.bend, one)), o)), c.slide[1] = zero3();
    if (H) *H = turn(P->B, best.H);
    return c;
}

// ---- any

/// Point k of a at the core of b. H: takes the second derivative of its distance, may be NULL.
KERNEL core_point point_at_core(const touch_shape *a, const touch_shape *b, int k, const pair_pose *P, sym3 *H)
{
    if (a->kind == CORE_ELLIPSOID) return ball_at_core(a, b, P, H);
    if (a->kind == CORE_CYLINDER) return rim_at_core(a, b, k, P, H);
    core_point p;
    p.arm = add(P->a, mul(P->A, point_of_core(a, k)));
    const surface_point s = at_core(b, tmul(P->B, sub(add(p.arm, P->ab), P->b)), H);
    p.n = mul(P->B, s.n), p.d = s.gap, p.ball = rset(0), p.slide[0] = p.slide[1] = zero3();
    if (H) *H = turn(P->B, *H);
    return p;
}

/// How much farther along n, its axes, a point of a rim comes at most as it slides.
FN real reach_of_slide(const touch_shape *s, vec3 n) { return rset(0.2 * s->half[0]) * root(fmadd(n.y, n.y, n.x * n.x)); }

#endif
