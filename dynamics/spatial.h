/// Spatial algebra in lanes: vectors, rotations, symmetric matrices, shifts. All rounding happens here and is written out:
/// a product that is added to something is one fmadd, sums run in the order of the components.
#ifndef CATENA_SPATIAL_H
#define CATENA_SPATIAL_H

#include "dynamics/lane.h"

typedef struct {
    real x, y, z;
} vec3;
typedef struct {
    real xx, yy, zz, xy, xz, yz;
} sym3;  // symmetric 3x3
typedef struct {
    vec3 x, y, z;
} mat3;  // 3x3 by its columns

FN vec3 vec(real x, real y, real z)
{
    vec3 a;
    a.x = x, a.y = y, a.z = z;
    return a;
}
FN vec3 zero3(void) { return vec(rset(0), rset(0), rset(0)); }
FN vec3 const3(const double *c) { return vec(rset(c[0]), rset(c[1]), rset(c[2])); }
FN vec3 load3(const real *c) { return vec(c[0], c[1], c[2]); }
FN void store3(real *c, vec3 a) { c[0] = a.x, c[1] = a.y, c[2] = a.z; }
FN void add3(real *c, vec3 a) { c[0] = c[0] + a.x, c[1] = c[1] + a.y, c[2] = c[2] + a.z; }
FN vec3 add(vec3 a, vec3 b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z); }
FN vec3 sub(vec3 a, vec3 b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z); }
FN vec3 scale(vec3 a, real s) { return vec(a.x * s, a.y * s, a.z * s); }
FN vec3 opposite(vec3 a) { return vec(negate(a.x), negate(a.y), negate(a.z)); }
typedef struct {
    vec3 w, v;  // angular velocity, velocity of the origin; world axes
} twist;

FN vec3 add_scaled(vec3 a, vec3 b, real s) { return vec(fmadd(b.x, s, a.x), fmadd(b.y, s, a.y), fmadd(b.z, s, a.z)); }
FN vec3 sub_scaled(vec3 a, vec3 b, real s) { return vec(fnmadd(b.x, s, a.x), fnmadd(b.y, s, a.y), fnmadd(b.z, s, a.z)); }
FN real dot(vec3 a, vec3 b) { return fmadd(a.z, b.z, fmadd(a.y, b.y, a.x * b.x)); }
FN real dot_add(real s, vec3 a, vec3 b) { return fmadd(a.z, b.z, fmadd(a.y, b.y, fmadd(a.x, b.x, s))); }
FN real dot_sub(real s, vec3 a, vec3 b) { return fnmadd(a.z, b.z, fnmadd(a.y, b.y, fnmadd(a.x, b.x, s))); }
FN vec3 cross(vec3 a, vec3 b)
{
    return vec(fnmadd(a.z, b.y, a.y * b.z), fnmadd(a.x, b.z, a.z * b.x), fnmadd(a.y, b.x, a.x * b.y));
}
FN vec3 cross_add(vec3 c, vec3 a, vec3 b)  // c + a x b
{
    return vec(fmadd(a.y, b.z, fnmadd(a.z, b.y, c.x)), fmadd(a.z, b.x, fnmadd(a.x, b.z, c.y)),
               fmadd(a.x, b.y, fnmadd(a.y, b.x, c.z)));
}

FN vec3 sel3(mask m, vec3 a, vec3 b) { return vec(sel(m, a.x, b.x), sel(m, a.y, b.y), sel(m, a.z, b.z)); }

FN vec3 mul(mat3 R, vec3 a)  // R a
{
    return vec(fmadd(R.z.x, a.z, fmadd(R.y.x, a.y, R.x.x * a.x)), fmadd(R.z.y, a.z, fmadd(R.y.y, a.y, R.x.y * a.x)),
               fmadd(R.z.z, a.z, fmadd(R.y.z, a.y, R.x.z * a.x)));
}
FN vec3 mul_add(vec3 c, mat3 R, vec3 a)
{
    return add_scaled(add_scaled(add_scaled(c, R.x, a.x), R.y, a.y), R.z, a.z);
}  // c + R a
FN vec3 tmul(mat3 R, vec3 a) { return vec(dot(R.x, a), dot(R.y, a), dot(R.z, a)); }  // R' a
FN mat3 mmul(mat3 A, mat3 B)
{
    mat3 P;
    P.x = mul(A, B.x), P.y = mul(A, B.y), P.z = mul(A, B.z);
    return P;
}
FN mat3 mat3_add(mat3 A, mat3 B)
{
    A.x = add(A.x, B.x), A.y = add(A.y, B.y), A.z = add(A.z, B.z);
    return A;
}
FN mat3 mat3_add_scaled(mat3 A, mat3 B, real s)
{
    A.x = add_scaled(A.x, B.x, s), A.y = add_scaled(A.y, B.y, s), A.z = add_scaled(A.z, B.z, s);
    return A;
}
FN mat3 mat3_scale(mat3 A, real s)
{
    A.x = scale(A.x, s), A.y = scale(A.y, s), A.z = scale(A.z, s);
    return A;
}
FN mat3 mat3_scaled_difference(mat3 A, mat3 B, real s)  // s (A - B)
{
    A.x = scale(sub(A.x, B.x), s), A.y = scale(sub(A.y, B.y), s), A.z = scale(sub(A.z, B.z), s);
    return A;
}
FN mat3 skew_times(vec3 l, mat3 M)  // [l]x M
{
    M.x = cross(l, M.x), M.y = cross(l, M.y), M.z = cross(l, M.z);
    return M;
}
FN mat3 times_skew(mat3 M, vec3 s)  // M [s]x
{
    mat3 X;
    X.x = sub_scaled(scale(M.y, s.z), M.z, s.y), X.y = sub_scaled(scale(M.z, s.x), M.x, s.z);
    X.z = sub_scaled(scale(M.x, s.y), M.y, s.x);
    return X;
}
/// The sum of A_c x B_c over the columns: <[t]x A, B> by t.
FN vec3 sum_of_crosses(mat3 A, mat3 B) { return cross_add(cross_add(cross(A.x, B.x), A.y, B.y), A.z, B.z); }
/// z k' + [c]x, by rows.
FN mat3 dyad_and_skew(vec3 z, vec3 k, vec3 c)
{
    mat3 A;
    A.x = add(scale(k, z.x), vec(rset(0), negate(c.z), c.y)), A.y = add(scale(k, z.y), vec(c.z, rset(0), negate(c.x)));
    A.z = add(scale(k, z.z), vec(negate(c.y), c.x, rset(0)));
    return A;
}
/// a 3x3 constant, row-major in the model
FN mat3 const33(const double *c)
{
    mat3 R;
    R.x = vec(rset(c[0]), rset(c[3]), rset(c[6]));
    R.y = vec(rset(c[1]), rset(c[4]), rset(c[7]));
    R.z = vec(rset(c[2]), rset(c[5]), rset(c[8]));
    return R;
}
FN vec3 column_of(mat3 M, int k) { return k == 0 ? M.x : k == 1 ? M.y : M.z; }
FN sym3 load_sym(const real *c)
{
    sym3 S;
    S.xx = c[0], S.yy = c[1], S.zz = c[2], S.xy = c[3], S.xz = c[4], S.yz = c[5];
    return S;
}
FN vec3 smul(sym3 S, vec3 a)
{
    return vec(fmadd(S.xz, a.z, fmadd(S.xy, a.y, S.xx * a.x)), fmadd(S.yz, a.z, fmadd(S.yy, a.y, S.xy * a.x)),
               fmadd(S.zz, a.z, fmadd(S.yz, a.y, S.xz * a.x)));
}
FN sym3 sym_diagonal(real x, real y, real z)
{
    sym3 S;
    S.xx = x, S.yy = y, S.zz = z;
    S.xy = S.xz = S.yz = rset(0);
    return S;
}
FN sym3 sym_scale(sym3 S, real s)
{
    S.xx = S.xx * s, S.yy = S.yy * s, S.zz = S.zz * s, S.xy = S.xy * s, S.xz = S.xz * s, S.yz = S.yz * s;
    return S;
}
FN sym3 sel_sym(mask m, sym3 a, sym3 b)
{
    a.xx = sel(m, a.xx, b.xx), a.yy = sel(m, a.yy, b.yy), a.zz = sel(m, a.zz, b.zz);
    a.xy = sel(m, a.xy, b.xy), a.xz = sel(m, a.xz, b.xz), a.yz = sel(m, a.yz, b.yz);
    return a;
}

FN void sym_add_dyad(sym3 *S, vec3 n, real s)  // S += s n n'
{
    const vec3 m = scale(n, s);
    S->xx = fmadd(m.x, n.x, S->xx), S->yy = fmadd(m.y, n.y, S->yy), S->zz = fmadd(m.z, n.z, S->zz);
    S->xy = fmadd(m.x, n.y, S->xy), S->xz = fmadd(m.x, n.z, S->xz), S->yz = fmadd(m.y, n.z, S->yz);
}
/// S - x y' - y x'
FN sym3 sym_less_pair(sym3 S, vec3 x, vec3 y)
{
    const vec3 two = scale(x, rset(2));
    S.xx = fnmadd(two.x, y.x, S.xx), S.yy = fnmadd(two.y, y.y, S.yy), S.zz = fnmadd(two.z, y.z, S.zz);
    S.xy = S.xy - fmadd(x.x, y.y, x.y * y.x), S.xz = S.xz - fmadd(x.x, y.z, x.z * y.x), S.yz = S.yz - fmadd(x.y, y.z, x.z * y.y);
    return S;
}
/// R S R': a symmetric matrix turned into other axes
FN sym3 turn(mat3 R, sym3 S)
{
    const vec3 a = mul(R, vec(S.xx, S.xy, S.xz)), b = mul(R, vec(S.xy, S.yy, S.yz)), c = mul(R, vec(S.xz, S.yz, S.zz));
    sym3 T;
    T.xx = fmadd(c.x, R.z.x, fmadd(b.x, R.y.x, a.x * R.x.x));
    T.yy = fmadd(c.y, R.z.y, fmadd(b.y, R.y.y, a.y * R.x.y));
    T.zz = fmadd(c.z, R.z.z, fmadd(b.z, R.y.z, a.z * R.x.z));
    T.xy = fmadd(c.x, R.z.y, fmadd(b.x, R.y.y, a.x * R.x.y));
    T.xz = fmadd(c.x, R.z.z, fmadd(b.x, R.y.z, a.x * R.x.z));
    T.yz = fmadd(c.y, R.z.z, fmadd(b.y, R.y.z, a.y * R.x.z));
    return T;
}

#endif
