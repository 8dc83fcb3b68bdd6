/// Unit quaternions in lanes, and the exponential chart of rotations: R(q exp(u)) = R(q) exp([u]).
#ifndef CATENA_QUATERNION_H
#define CATENA_QUATERNION_H

#include "dynamics/lane.h"
#include "dynamics/spatial.h"
#include "dynamics/trig.h"

typedef struct {
    real w, x, y, z;
} quat;

FN quat quat_load(const real *q)
{
    quat a;
    a.w = q[0], a.x = q[1], a.y = q[2], a.z = q[3];
    return a;
}

FN void quat_store(real *q, quat a) { q[0] = a.w, q[1] = a.x, q[2] = a.y, q[3] = a.z; }

FN real quat_square(quat a) { return fmadd(a.z, a.z, fmadd(a.y, a.y, fmadd(a.x, a.x, a.w * a.w))); }

FN quat quat_normalised(quat a)
{
    const real s = rset(1) / root(quat_square(a));
    a.w = a.w * s, a.x = a.x * s, a.y = a.y * s, a.z = a.z * s;
    return a;
}

FN quat quat_mul(quat a, quat b)
{
    quat c;
    c.w = fnmadd(a.z, b.z, fnmadd(a.y, b.y, fnmadd(a.x, b.x, a.w * b.w)));
    c.x = fnmadd(a.z, b.y, fmadd(a.y, b.z, fmadd(a.x, b.w, a.w * b.x)));
    c.y = fmadd(a.z, b.x, fmadd(a.y, b.w, fnmadd(a.x, b.z, a.w * b.y)));
    c.z = fmadd(a.z, b.w, fnmadd(a.y, b.x, fmadd(a.x, b.y, a.w * b.z)));
    return c;
}

FN quat quat_conjugate(quat a)
{
    a.x = negate(a.x), a.y = negate(a.y), a.z = negate(a.z);
    return a;
}

/// The unit quaternion y, or -y: on the side of x.
FN quat quat_beside(quat y, quat x)
{
    const mask flip = lt(fmadd(y.z, x.z, fmadd(y.y, x.y, fmadd(y.x, x.x, y.w * x.w))), rset(0));
    y.w = sel(flip, negate(y.w), y.w), y.x = sel(flip, negate(y.x), y.x);
    y.y = sel(flip, negate(y.y), y.y), y.z = sel(flip, negate(y.z), y.z);
    return y;
}

FN quat quat_add_scaled(quat a, quat b, real s)
{
    a.w = fmadd(b.w, s, a.w), a.x = fmadd(b.x, s, a.x), a.y = fmadd(b.y, s, a.y), a.z = fmadd(b.z, s, a.z);
    return a;
}

FN quat sel_quat(mask m, quat a, quat b)
{
    a.w = sel(m, a.w, b.w), a.x = sel(m, a.x, b.x), a.y = sel(m, a.y, b.y), a.z = sel(m, a.z, b.z);
    return a;
}

FN quat quat_pure(vec3 v, real s)  // (0, s v)
{
    quat a;
    a.w = rset(0), a.x = s * v.x, a.y = s * v.y, a.z = s * v.z;
    return a;
}

FN vec3 quat_imaginary(quat a) { return vec(a.x, a.y, a.z); }

/// The one of a and -a whose turn is the shorter way round: w >= 0.
FN quat quat_short(quat a)
{
    const mask flip = lt(a.w, rset(0));
    a.w = magnitude(a.w), a.x = sel(flip, negate(a.x), a.x);
    a.y = sel(flip, negate(a.y), a.y), a.z = sel(flip, negate(a.z), a.z);
    return a;
}

/// The rotation of a quaternion of any length but zero: exactly orthogonal up to rounding.
FN mat3 quat_rotation(quat a)
{
    const real s = rset(2) / quat_square(a);
    const real x = a.x * s, y = a.y * s, z = a.z * s;
    const real wx = a.w * x, wy = a.w * y, wz = a.w * z;
    mat3 R;
    R.x = vec(fnmadd(a.z, z, fnmadd(a.y, y, rset(1))), fmadd(a.x, y, wz), fmadd(a.x, z, negate(wy)));
    R.y = vec(fmadd(a.x, y, negate(wz)), fnmadd(a.z, z, fnmadd(a.x, x, rset(1))), fmadd(a.y, z, wx));
    R.z = vec(fmadd(a.x, z, wy), fmadd(a.y, z, negate(wx)), fnmadd(a.y, y, fnmadd(a.x, x, rset(1))));
    return R;
}

/// The quaternion of a rotation, w >= 0, from its largest component (Shepperd 1978): no root of a small difference.
FN quat quat_of_rotation(mat3 R)
{
    const real one = rset(1), trace = R.x.x + R.y.y + R.z.z;
    const real x = R.y.z - R.z.y, y = R.z.x - R.x.z, z = R.x.y - R.y.x;  // 4 w times each
    const real xy = R.y.x + R.x.y, xz = R.z.x + R.x.z, yz = R.z.y + R.y.z;
    quat a;
    a.w = one + trace, a.x = x, a.y = y, a.z = z;
    real most = trace;
    const real entry[3] = {R.x.x, R.y.y, R.z.z};
    for (int k = 0; k < 3; k++) {
        const mask larger = gt(entry[k], most);
        const real own = fmadd(rset(2), entry[k], one - trace);
        most = sel(larger, entry[k], most);
        a.w = sel(larger, k == 0 ? x : k == 1 ? y : z, a.w);
        a.x = sel(larger, k == 0 ? own : k == 1 ? xy : xz, a.x);
        a.y = sel(larger, k == 0 ? xy : k == 1 ? own : yz, a.y);
        a.z = sel(larger, k == 0 ? xz : k == 1 ? yz : own, a.z);
    }
    const real norm = root(quat_square(a)), s = one / sel(lt(a.w, rset(0)), negate(norm), norm);
    a.w = a.w * s, a.x = a.x * s, a.y = a.y * s, a.z = a.z * s;
    return a;
}

/// exp(u/2): the turn by |u| about u. rad
FN quat quat_exp(vec3 u)
{
    const real t2 = dot(u, u);
    const mask tiny = lt(t2, rset(1e-4));
    const real t = root(t2);
    real s, c;
    sincosr(rset(0.5) * t, &s, &c);
    const real series = fmadd(t2, fmadd(t2, rset(1.0 / 3840), rset(-1.0 / 48)), rset(0.5));  // sin(t/2)/t
    const real k = sel(tiny, series, s / sel(tiny, rset(1), t));
    quat a;
    a.w = c, a.x = u.x * k, a.y = u.y * k, a.z = u.z * k;
    return a;
}

/// The turn u with q = exp(u/2), the shorter way round: |u| <= pi. rad. Needs a unit quaternion.
FN vec3 quat_log(quat a)
{
    const mask flip = lt(a.w, rset(0));
    const real w = magnitude(a.w);
    const vec3 v = vec(sel(flip, negate(a.x), a.x), sel(flip, negate(a.y), a.y), sel(flip, negate(a.z), a.z));
    const real n2 = dot(v, v);
    const mask tiny = lt(n2, rset(1e-6));
    const real n = root(n2);
    const real t2 = n2 / (w * w);  // 2 atan(n/w)/n = 2/w (1 - t^2/3 + t^4/5 ...), t = n/w
    const real series = rset(2) / w * fmadd(t2, fmadd(t2, rset(0.2), rset(-1.0 / 3)), rset(1));
    const real k = sel(tiny, series, rset(2) * atan2r(n, w) / sel(tiny, rset(1), n));
    return scale(v, k);
}

/// x turned by u, rad, in its own axes; and the turn from x to y.
FN quat quat_turned(quat x, vec3 u) { return quat_normalised(quat_mul(x, quat_exp(u))); }
FN vec3 quat_between(quat x, quat y) { return quat_log(quat_mul(quat_conjugate(x), y)); }

/// The chart's derivative: for R exp([u]) turning with w (body axes), u' = w + u x w / 2 + c u x (u x w) with
/// c(t^2) = (1 - (t/2) cot(t/2)) / t^2 = sum |B_2n| t^(2n-2) / (2n)!, t = |u| < 2 pi. slope: dc/d(t^2), may be NULL.
FN real chart_c(real t2, real *slope)
{
    static const double k[] = {1.0 / 12,
                               1.0 / 720,
                               1.0 / 30240,
                               1.0 / 1209600,
                               1.0 / 47900160,
                               5.28419013868749e-10,
                               1.33825365306847e-11,
                               3.38968029632258e-13};
    const mask near = lt(t2, rset(0.25));
    const real a = sel(near, rset(1), t2), t = root(a);
    real s, c;
    sincosr(rset(0.5) * t, &s, &c);
    const real y = rset(0.5) * t * c / s;  // (t/2) cot(t/2), whose derivative by t^2 is (y - y^2 - t^2/4) / (2 t^2)
    real series = rset(k[7]), series_slope = rset(7 * k[7]);
    for (int n = 6; n >= 0; n--) {
        series = fmadd(series, t2, rset(k[n]));
        if (n > 0) series_slope = fmadd(series_slope, t2, rset(n * k[n]));
    }
    const real value = (rset(1) - y) / a;
    if (slope) {
        const real dy = (y - fmadd(y, y, rset(0.25) * a)) / (rset(2) * a);
        *slope = sel(near, series_slope, negate(dy + value) / a);
    }
    return sel(near, series, value);
}

/// D w = w + u x w / 2 + c u x (u x w): the rate of u in exp([u]) that turns with w (body axes). D' w is that of -u, D a the
/// change of log(R) = a by a turn of R, body axes.
FN vec3 chart_velocity(vec3 u, vec3 w)
{
    const vec3 uw = cross(u, w);
    return add_scaled(add_scaled(w, uw, rset(0.5)), cross(u, uw), chart_c(dot(u, u), NULL));
}

/// The gradient by u of g.D(u)y, D as in chart_velocity.
FN vec3 chart_slope(vec3 u, vec3 y, vec3 g)
{
    real slope;
    const real u2 = dot(u, u), c = chart_c(u2, &slope), gu = dot(g, u), uy = dot(u, y), gy = dot(g, y);
    const vec3 z = sub_scaled(add_scaled(scale(g, uy), y, gu), u, rset(2) * gy);
    const real along_u = rset(2) * slope * fnmadd(gy, u2, gu * uy);
    return add_scaled(add_scaled(scale(cross(y, g), rset(0.5)), z, c), u, along_u);
}

/// J' x, where exp([u + du]) = exp([u]) exp([J du]): the gradient by u of a scalar whose gradient by turns of exp([u]), body
/// axes, is x. J is the inverse of D; J' = 1 + a [u] + b [u]^2, a = (1 - cos t)/t^2, b = (t - sin t)/t^3, t = |u|.
FN vec3 exp_pullback(vec3 u, vec3 x)
{
    static const double factorial[] = {2, 24, 720, 40320, 3628800, 479001600, 87178291200};
    const real t2 = dot(u, u);
    const mask near = lt(t2, rset(0.25));
    const real safe = sel(near, rset(1), t2), t = root(safe);
    real s, c, a = rset(0), b = rset(0);
    for (int n = 6; n >= 0; n--) {
        a = fnmadd(t2, a, rset(1 / factorial[n]));
        b = fnmadd(t2, b, rset(1 / (factorial[n] * (2 * n + 3))));
    }
    sincosr(t, &s, &c);
    a = sel(near, a, (rset(1) - c) / safe), b = sel(near, b, (t - s) / (t * safe));
    const vec3 ux = cross(u, x);
    return add_scaled(add_scaled(x, ux, a), cross(u, ux), b);
}

/// J u': the angular velocity, body axes, of exp([u]) while u changes by u'. exp_pullback(-u, .) is J.
FN vec3 exp_velocity(vec3 u, vec3 rate) { return exp_pullback(opposite(u), rate); }

/// The gradient by u of l.(J r) = l.r - a u.(r x l) + b ((l.u)(u.r) - |u|^2 l.r), r the rate of u.
FN vec3 exp_velocity_slope(vec3 u, vec3 r, vec3 l)
{
    static const double factorial[] = {2, 24, 720, 40320, 3628800, 479001600, 87178291200};
    const real t2 = dot(u, u), one = rset(1);
    const mask near = lt(t2, rset(0.25));
    const real safe = sel(near, one, t2), t = root(safe);
    real s, c, a = rset(0), b = rset(0), da = rset(0), db = rset(0);  // and their derivatives by |u|, over |u|
    for (int n = 6; n >= 0; n--) {
        const double even = 1 / factorial[n], odd = 1 / (factorial[n] * (2 * n + 3));
        a = fnmadd(t2, a, rset(even)), b = fnmadd(t2, b, rset(odd));
        if (n) da = fnmadd(t2, da, rset(-2 * n * even)), db = fnmadd(t2, db, rset(-2 * n * odd));
    }
    sincosr(t, &s, &c);
    const real versed = one - c, late = t - s;
    a = sel(near, a, versed / safe), b = sel(near, b, late / (t * safe));
    da = sel(near, da, fnmadd(rset(2), versed, t * s) / (safe * safe));
    db = sel(near, db, fnmadd(rset(3), late, t * versed) / (t * safe * safe));
    const vec3 x = cross(r, l);
    const real lr = dot(l, r), lu = dot(l, u), ur = dot(u, r);
    vec3 g = scale(u, fnmadd(da, dot(u, x), fnmadd(rset(2) * b, lr, db * fnmadd(t2, lr, lu * ur))));
    g = sub_scaled(g, x, a);
    return add_scaled(add_scaled(g, l, b * ur), r, b * lu);
}

#endif
