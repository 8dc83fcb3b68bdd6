/// Elementary functions in lanes: libm and CUDA differ in bits, these do not. Polynomials from tools/minimax.py.
#ifndef CATENA_TRIG_H
#define CATENA_TRIG_H

#include "dynamics/lane.h"
#include "dynamics/precision.h"

/// sin and cos of x + quarter * pi/2, quarter a small integer. |x| <= REAL_MAX_ANGLE. Within 1 ulp for |x| <= pi/4 and within
/// 2^-52 absolute beyond: the reduction by two parts of pi/2 (Cody and Waite; the first difference is exact) rounds once.
FN void sincos_quarters(real x, real quarter, real *s, real *c)
{
    const real magic = rset(NEAREST_WHOLE);
    const real k = fmadd(x, rset(6.36619772367581382e-01), magic), n = k - magic;
    real r = fnmadd(n, rset(HALF_PI), x);
    r = fnmadd(n, rset(HALF_PI_REST), r);
    const real z = r * r;

    real p = rset(1.58962301923555778e-10);
    p = fmadd(p, z, rset(-2.50507477634983421e-08));
    p = fmadd(p, z, rset(2.75573136213901567e-06));
    p = fmadd(p, z, rset(-1.98412698295895524e-04));
    p = fmadd(p, z, rset(8.33333333332211823e-03));
    p = fmadd(p, z, rset(-1.66666666666666297e-01));
    p = fmadd(r * z, p, r);

    real q = rset(1.13585365396558191e-11);
    q = fmadd(q, z, rset(-2.08757008423885231e-09));
    q = fmadd(q, z, rset(2.75573141793003929e-07));
    q = fmadd(q, z, rset(-2.48015872888517207e-05));
    q = fmadd(q, z, rset(1.38888888888730557e-03));
    q = fmadd(q, z, rset(-4.16666666666665950e-02));
    q = fmadd(q, z, rset(0.5));
    q = fnmadd(r * q, r, rset(1));

    const real ks = k + quarter, kc = ks + rset(1);  // the quadrant, of sin and of cos = sin one quadrant on
    const mask swap = bit0(ks);
    *s = flip_by_bit1(sel(swap, q, p), ks);
    *c = flip_by_bit1(sel(swap, p, q), kc);
}

FN void sincosr(real x, real *s, real *c) { sincos_quarters(x, rset(0), s, c); }

/// The angle of the point (x, y), in [-pi, pi]; 0 for the origin. Within 3 ulp.
FN real atan2r(real y, real x)
{
    const real ax = magnitude(x), ay = magnitude(y);
    const mask steep = gt(ay, ax);
    const real big = sel(steep, ay, ax), small = sel(steep, ax, ay);
    real t = small / sel(gt(big, rset(0)), big, rset(1));
    const mask upper = gt(t, rset(0.4142135623730950488));  // tan(pi/8): use atan t = pi/4 + atan((t-1)/(t+1))
    t = sel(upper, (t - rset(1)) / (t + rset(1)), t);
    const real z = t * t;
    real p = rset(-1.79050456161695196e-02);
    p = fmadd(p, z, rset(3.80621457056394899e-02));
    p = fmadd(p, z, rset(-5.03919066536709925e-02));
    p = fmadd(p, z, rset(5.84785932943145334e-02));
    p = fmadd(p, z, rset(-6.66309921200068378e-02));
    p = fmadd(p, z, rset(7.69205971821388529e-02));
    p = fmadd(p, z, rset(-9.09089772530032592e-02));
    p = fmadd(p, z, rset(1.11111107821569202e-01));
    p = fmadd(p, z, rset(-1.42857142801666059e-01));
    p = fmadd(p, z, rset(1.99999999999532468e-01));
    p = fmadd(p, z, rset(-3.33333333333331983e-01));
    real a = fmadd(t * z, p, t);
    a = sel(upper, rset(0.78539816339744830962) + a, a);
    a = sel(steep, rset(1.57079632679489661923) - a, a);
    a = sel(lt(x, rset(0)), rset(3.14159265358979323846) - a, a);
    return sel(lt(y, rset(0)), negate(a), a);
}

#endif
