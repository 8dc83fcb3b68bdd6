/// sincos in lanes.
#ifndef CATENA_TRIG_H
#define CATENA_TRIG_H

/// sin and cos, |x| <= CTN_MAX_ANGLE.
FN void sincosr(real x, real *s, real *c)
{
    const double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
    real k = fmadd(x, rset(0.63661977236758134308), rset(magic));
    const real kk = k - magic;
    real r = fnmadd(kk, rset(1.57079632679489655800e+00), x);
    r = fnmadd(kk, rset(6.12323399573676603587e-17), r);
    real z = r * r;
    real ps = rset(1.58969099521155010221e-10);
    ps = fmadd(ps, z, rset(-2.50507602534068634195e-08));
    ps = fmadd(ps, z, rset(2.75573137070700676789e-06));
    ps = fmadd(ps, z, rset(-1.98412698298579493134e-04));
    ps = fmadd(ps, z, rset(8.33333333332248946124e-03));
    ps = fmadd(ps, z, rset(-1.66666666666666324348e-01));
    ps = fmadd(r * z, ps, r);
    real pc = rset(-1.13596475577881948265e-11);
    pc = fmadd(pc, z, rset(2.08757232129817482790e-09));
    pc = fmadd(pc, z, rset(-2.75573143513906633035e-07));
    pc = fmadd(pc, z, rset(2.48015872894767294178e-05));
    pc = fmadd(pc, z, rset(-1.38888888888741095749e-03));
    pc = fmadd(pc, z, rset(4.16666666666666019037e-02));
    pc = fmadd(z * z, pc, fnmadd(rset(0.5), z, rset(1)));
    const mask swap = bit0(k);
    *s = flip_by_bit1(sel(swap, pc, ps), k);
    *c = flip_by_bit1(sel(swap, ps, pc), k + 1.0);
}
#endif
