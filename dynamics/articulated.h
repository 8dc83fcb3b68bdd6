/// Articulated inertia in lanes, and the three things a sweep does with it: add, eliminate a joint, move to the parent's origin.
/// [Featherstone 2008, ch. 7; with the cross term of docs/theory.md 3.3 in U]
///
///     P = [A B; B' D]   maps a spatial acceleration (angular, linear) to a wrench (moment, force), world axes, body origin
///     w = (n, f)        the wrench that goes with it
#ifndef CATENA_ARTICULATED_H
#define CATENA_ARTICULATED_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"

typedef struct {
    sym3 A, D;
    mat3 B;
} inertia6;

typedef struct {
    vec3 n, f;
} wrench;

FN wrench wrench_add(wrench a, wrench b)
{
    a.n = add(a.n, b.n), a.f = add(a.f, b.f);
    return a;
}

/// The wrench at an origin from which the present one stands off by r.
FN wrench wrench_shift(wrench w, vec3 r)
{
    w.n = cross_add(w.n, r, w.f);
    return w;
}

FN sym3 sym_add(sym3 a, sym3 b)
{
    a.xx = a.xx + b.xx, a.yy = a.yy + b.yy, a.zz = a.zz + b.zz;
    a.xy = a.xy + b.xy, a.xz = a.xz + b.xz, a.yz = a.yz + b.yz;
    return a;
}

/// S x* w = (s x n + l x f, s x f): what w changes by where it is carried along by the twist S = (s, l).
FN wrench carried(vec3 s, vec3 l, wrench w)
{
    wrench x;
    x.n = cross_add(cross(s, w.n), l, w.f), x.f = cross(s, w.f);
    return x;
}

FN wrench wrench_zero(void)
{
    wrench w;
    w.n = w.f = zero3();
    return w;
}

FN inertia6 inertia_zero(void)
{
    const real o = rset(0);
    inertia6 P;
    P.A.xx = P.A.yy = P.A.zz = P.A.xy = P.A.xz = P.A.yz = o;
    P.D = P.A;
    P.B.x = P.B.y = P.B.z = zero3();
    return P;
}

FN inertia6 inertia_add(inertia6 P, inertia6 Q)
{
    P.A = sym_add(P.A, Q.A);
    P.D = sym_add(P.D, Q.D);
    P.B.x = add(P.B.x, Q.B.x), P.B.y = add(P.B.y, Q.B.y), P.B.z = add(P.B.z, Q.B.z);
    return P;
}

/// A rigid body: rotational block A, first moment h (B = [h]x), mass m.
FN inertia6 inertia_rigid(sym3 A, vec3 h, real m)
{
    const real o = rset(0);
    inertia6 P;
    P.A = A;
    P.B.x = vec(o, h.z, negate(h.y)), P.B.y = vec(negate(h.z), o, h.x), P.B.z = vec(h.y, negate(h.x), o);
    P.D.xx = P.D.yy = P.D.zz = m;
    P.D.xy = P.D.xz = P.D.yz = o;
    return P;
}

FN inertia6 inertia_add_rigid(inertia6 P, sym3 A, vec3 h, real m)
{
    P.A = sym_add(P.A, A);
    P.B.x.y = P.B.x.y + h.z, P.B.x.z = P.B.x.z - h.y;
    P.B.y.x = P.B.y.x - h.z, P.B.y.z = P.B.y.z + h.x;
    P.B.z.x = P.B.z.x + h.y, P.B.z.y = P.B.z.y - h.x;
    P.D.xx = P.D.xx + m, P.D.yy = P.D.yy + m, P.D.zz = P.D.zz + m;
    return P;
}

/// P - U U'/d for one degree of freedom, U = (a, l), given i = 1/d.
FN inertia6 inertia_eliminate(inertia6 P, vec3 a, vec3 l, real i)
{
    const vec3 va = scale(a, i), vl = scale(l, i);
    P.D.xx = fnmadd(l.x, vl.x, P.D.xx), P.D.yy = fnmadd(l.y, vl.y, P.D.yy), P.D.zz = fnmadd(l.z, vl.z, P.D.zz);
    P.D.xy = fnmadd(l.x, vl.y, P.D.xy), P.D.xz = fnmadd(l.x, vl.z, P.D.xz), P.D.yz = fnmadd(l.y, vl.z, P.D.yz);
    P.A.xx = fnmadd(a.x, va.x, P.A.xx), P.A.yy = fnmadd(a.y, va.y, P.A.yy), P.A.zz = fnmadd(a.z, va.z, P.A.zz);
    P.A.xy = fnmadd(a.x, va.y, P.A.xy), P.A.xz = fnmadd(a.x, va.z, P.A.xz), P.A.yz = fnmadd(a.y, va.z, P.A.yz);
    P.B.x = sub_scaled(P.B.x, a, vl.x), P.B.y = sub_scaled(P.B.y, a, vl.y), P.B.z = sub_scaled(P.B.z, a, vl.z);
    return P;
}

/// The same inertia about an origin from which the present one stands off by r:
/// D' = D, B' = B + [r]D, A' = A + [r]B^T + ([r]B'^T)^T.
FN inertia6 inertia_shift(inertia6 P, vec3 r)
{
    inertia6 Q;
    Q.D = P.D;
    Q.B.x = cross_add(P.B.x, r, vec(P.D.xx, P.D.xy, P.D.xz));
    Q.B.y = cross_add(P.B.y, r, vec(P.D.xy, P.D.yy, P.D.yz));
    Q.B.z = cross_add(P.B.z, r, vec(P.D.xz, P.D.yz, P.D.zz));
    Q.A.xx = fmadd(r.y, Q.B.z.x + P.B.z.x, fnmadd(r.z, Q.B.y.x + P.B.y.x, P.A.xx));
    Q.A.yy = fmadd(r.z, Q.B.x.y + P.B.x.y, fnmadd(r.x, Q.B.z.y + P.B.z.y, P.A.yy));
    Q.A.zz = fmadd(r.x, Q.B.y.z + P.B.y.z, fnmadd(r.y, Q.B.x.z + P.B.x.z, P.A.zz));
    Q.A.xy = fmadd(r.z, Q.B.x.x, fnmadd(r.x, Q.B.z.x, fmadd(r.y, P.B.z.y, fnmadd(r.z, P.B.y.y, P.A.xy))));
    Q.A.xz = fmadd(r.x, Q.B.y.x, fnmadd(r.y, Q.B.x.x, fmadd(r.y, P.B.z.z, fnmadd(r.z, P.B.y.z, P.A.xz))));
    Q.A.yz = fmadd(r.x, Q.B.y.y, fnmadd(r.y, Q.B.x.y, fmadd(r.z, P.B.x.z, fnmadd(r.x, P.B.z.z, P.A.yz))));
    return Q;
}

/// S'w of a joint of one degree of freedom. kind: b->kind, as a constant where speed counts; so below.
FN real joint_row(const lane_body *b, int kind, vec3 z, wrench w)
{
    switch (kind) {
    case JOINT_PRISMATIC: return dot(z, w.f);
    case JOINT_HELICAL: return fmadd(len(given(b)->pitch), dot(z, w.f), dot(z, w.n));
    default: return dot(z, w.n);
    }
}

/// S'w of any joint, r [nv of the joint].
FN void joint_rows(const lane_body *b, int kind, mat3 R, wrench w, real *r)
{
    if (kind == JOINT_BALL || kind == JOINT_TRANSLATION) {
        const vec3 row = kind == JOINT_BALL ? tmul(R, w.n) : w.f;
        r[0] = row.x, r[1] = row.y, r[2] = row.z;
    } else r[0] = joint_row(b, kind, R.z, w);
}

/// Adds S y to a twist, or to what changes like one, angular and linear.
FN void add_joint_motion(const lane_body *b, int kind, vec3 z, real y, vec3 *angular, vec3 *linear)
{
    if (kind != JOINT_PRISMATIC) *angular = add_scaled(*angular, z, y);
    if (kind == JOINT_PRISMATIC) *linear = add_scaled(*linear, z, y);
    if (kind == JOINT_HELICAL) *linear = add_scaled(*linear, z, len(given(b)->pitch) * y);
}

/// P S for a joint of one degree of freedom.
FN void joint_column(const lane_body *b, int kind, vec3 z, const inertia6 *P, vec3 *Ua, vec3 *Ul)
{
    switch (kind) {
    case JOINT_PRISMATIC: *Ua = mul(P->B, z), *Ul = smul(P->D, z); break;
    case JOINT_HELICAL: {
        const vec3 s = scale(z, len(given(b)->pitch));
        *Ua = mul_add(smul(P->A, z), P->B, s);
        *Ul = add(tmul(P->B, z), smul(P->D, s));
        break;
    }
    default: *Ua = smul(P->A, z), *Ul = tmul(P->B, z);
    }
}

/// k + S'U for a joint of one degree of freedom.
FN real joint_pivot(const lane_body *b, int kind, vec3 z, vec3 Ua, vec3 Ul, real k)
{
    switch (kind) {
    case JOINT_PRISMATIC: return dot_add(k, z, Ul);
    case JOINT_HELICAL: return fmadd(len(given(b)->pitch), dot(z, Ul), dot_add(k, z, Ua));
    default: return dot_add(k, z, Ua);
    }
}

/// Adds the cross term S x* w / 2 to the column U of a joint of one degree of freedom. It adds nothing to S'U.
FN void add_cross_term(const lane_body *b, int kind, vec3 z, wrench w, vec3 *Ua, vec3 *Ul)
{
    const vec3 s = scale(z, rset(0.5));
    switch (kind) {
    case JOINT_PRISMATIC: *Ua = cross_add(*Ua, s, w.f); break;
    case JOINT_HELICAL:
        *Ua = cross_add(cross_add(*Ua, s, w.n), scale(s, len(given(b)->pitch)), w.f);
        *Ul = cross_add(*Ul, s, w.f);
        break;
    default: *Ua = cross_add(*Ua, s, w.n), *Ul = cross_add(*Ul, s, w.f);
    }
}

/// L D L' of a symmetric 3x3 matrix, for joints of three degrees of freedom.
typedef struct {
    real i1, i2, i3;  // 1/d
    real l21, l31, l32;
    real least;  // the smallest pivot
} ldl3;

FN ldl3 ldl_factor(sym3 S)
{
    ldl3 F;
    F.i1 = rset(1) / S.xx;
    F.l21 = S.xy * F.i1, F.l31 = S.xz * F.i1;
    const real d2 = fnmadd(F.l21, S.xy, S.yy);
    F.i2 = rset(1) / d2;
    const real t = fnmadd(F.l31, S.xy, S.yz);
    F.l32 = t * F.i2;
    const real d3 = fnmadd(F.l32, t, fnmadd(F.l31, S.xz, S.zz));
    F.i3 = rset(1) / d3;
    const real e = sel(lt(d2, S.xx), d2, S.xx);
    F.least = sel(lt(d3, e), d3, e);
    return F;
}

FN vec3 ldl_solve(ldl3 F, vec3 b)
{
    const real y = fnmadd(F.l21, b.x, b.y), z = fnmadd(F.l32, y, fnmadd(F.l31, b.x, b.z));
    vec3 x;
    x.z = z * F.i3;
    x.y = fnmadd(F.l32, x.z, y * F.i2);
    x.x = fnmadd(F.l31, x.z, fnmadd(F.l21, x.y, b.x * F.i1));
    return x;
}

/// Three degrees of freedom at once. Ua, Ul: the 3x3 halves of U (6 x 3); X = D^-1 U' by its columns, Xa for the angular
/// components of the parent's acceleration, Xl for the linear ones. P - U X.
typedef struct {
    mat3 Xa, Xl;
} gain3;

FN mat3 transposed(mat3 M)
{
    mat3 T;
    T.x = vec(M.x.x, M.y.x, M.z.x), T.y = vec(M.x.y, M.y.y, M.z.y), T.z = vec(M.x.z, M.y.z, M.z.z);
    return T;
}

FN gain3 gain_of(ldl3 F, mat3 Ua, mat3 Ul)
{
    const mat3 a = transposed(Ua), l = transposed(Ul);
    gain3 G;
    G.Xa.x = ldl_solve(F, a.x), G.Xa.y = ldl_solve(F, a.y), G.Xa.z = ldl_solve(F, a.z);
    G.Xl.x = ldl_solve(F, l.x), G.Xl.y = ldl_solve(F, l.y), G.Xl.z = ldl_solve(F, l.z);
    return G;
}

FN sym3 sym_minus_product(sym3 S, mat3 U, mat3 X)  // S - U X, where U X is symmetric
{
    const mat3 u = transposed(U);  // its columns are the rows of U
    S.xx = dot_sub(S.xx, u.x, X.x), S.yy = dot_sub(S.yy, u.y, X.y), S.zz = dot_sub(S.zz, u.z, X.z);
    S.xy = dot_sub(S.xy, u.x, X.y), S.xz = dot_sub(S.xz, u.x, X.z), S.yz = dot_sub(S.yz, u.y, X.z);
    return S;
}

FN inertia6 inertia_eliminate3(inertia6 P, mat3 Ua, mat3 Ul, gain3 G)
{
    P.A = sym_minus_product(P.A, Ua, G.Xa);
    P.D = sym_minus_product(P.D, Ul, G.Xl);
    P.B.x = sub(P.B.x, mul(Ua, G.Xl.x)), P.B.y = sub(P.B.y, mul(Ua, G.Xl.y)), P.B.z = sub(P.B.z, mul(Ua, G.Xl.z));
    return P;
}

FN mat3 sym_full(sym3 S)
{
    mat3 M;
    M.x = vec(S.xx, S.xy, S.xz), M.y = vec(S.xy, S.yy, S.yz), M.z = vec(S.xz, S.yz, S.zz);
    return M;
}

#endif
