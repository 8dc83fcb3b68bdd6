/// Spatial algebra of the forms: poses, vectors of six, inertias. Plain products and sums, which the compiler does not contract:
/// the same bits with and without fma. Vectors are (angular, linear). In the common part of C11, C++17 and CUDA C++.
#ifndef CATENA_SIM_FORMS_ALGEBRA_H
#define CATENA_SIM_FORMS_ALGEBRA_H

#include "dynamics/lane_scalar.h"

typedef struct {
    double x, y, z;
} v3;

FN v3 v3_of(const double *a) { return (v3){a[0], a[1], a[2]}; }
FN void v3_to(double *a, v3 b) { a[0] = b.x, a[1] = b.y, a[2] = b.z; }
FN v3 v3_add(v3 a, v3 b) { return (v3){a.x + b.x, a.y + b.y, a.z + b.z}; }
FN v3 v3_sub(v3 a, v3 b) { return (v3){a.x - b.x, a.y - b.y, a.z - b.z}; }
FN v3 v3_scale(v3 a, double s) { return (v3){a.x * s, a.y * s, a.z * s}; }
FN double v3_dot(v3 a, v3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
FN v3 v3_cross(v3 a, v3 b) { return (v3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

typedef struct {
    v3 w, l;  // angular, linear
} vec6;

FN vec6 vec6_zero(void) { return (vec6){{0, 0, 0}, {0, 0, 0}}; }
FN vec6 vec6_add(vec6 a, vec6 b) { return (vec6){v3_add(a.w, b.w), v3_add(a.l, b.l)}; }
FN vec6 vec6_scale(vec6 a, double s) { return (vec6){v3_scale(a.w, s), v3_scale(a.l, s)}; }
FN vec6 vec6_opposite(vec6 a) { return vec6_scale(a, -1); }
FN double vec6_dot(vec6 a, vec6 b) { return v3_dot(a.w, b.w) + v3_dot(a.l, b.l); }
FN vec6 vec6_cross(vec6 a, vec6 b)  // of motions: a x b
{
    return (vec6){v3_cross(a.w, b.w), v3_add(v3_cross(a.w, b.l), v3_cross(a.l, b.w))};
}

/// A pose, or a change of frame: x -> R x + p, R by its columns.
typedef struct {
    v3 X, Y, Z, p;
} se3;

FN v3 se3_turn(const se3 *T, v3 a)  // R a
{
    return v3_add(v3_add(v3_scale(T->X, a.x), v3_scale(T->Y, a.y)), v3_scale(T->Z, a.z));
}
FN v3 se3_back(const se3 *T, v3 a) { return (v3){v3_dot(T->X, a), v3_dot(T->Y, a), v3_dot(T->Z, a)}; }  // R' a
FN se3 se3_one(void) { return (se3){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}}; }
FN se3 se3_times(se3 A, se3 B)
{
    return (se3){se3_turn(&A, B.X), se3_turn(&A, B.Y), se3_turn(&A, B.Z), v3_add(A.p, se3_turn(&A, B.p))};
}
FN se3 se3_inverse(se3 A)
{
    const v3 p = se3_back(&A, A.p);
    return (se3){{A.X.x, A.Y.x, A.Z.x}, {A.X.y, A.Y.y, A.Z.y}, {A.X.z, A.Y.z, A.Z.z}, {-p.x, -p.y, -p.z}};
}
/// Motions and wrenches of the inner frame in the outer one, and a motion the other way.
FN vec6 se3_motion_out(const se3 *T, vec6 m)
{
    const v3 w = se3_turn(T, m.w);
    return (vec6){w, v3_add(se3_turn(T, m.l), v3_cross(T->p, w))};
}
FN vec6 se3_motion_in(const se3 *T, vec6 m) { return (vec6){se3_back(T, m.w), se3_back(T, v3_add(m.l, v3_cross(m.w, T->p)))}; }
FN vec6 se3_wrench_out(const se3 *T, vec6 f)
{
    const v3 l = se3_turn(T, f.l);
    return (vec6){v3_add(se3_turn(T, f.w), v3_cross(T->p, l)), l};
}

/// A pose with a motion in its inner frame: the operand of first-order recurrences v_i = X_i v_p + b_i ([L] equation 41, [Y] 13).
typedef struct {
    se3 T;
    vec6 b;
} recurrence;

FN recurrence recurrence_one(void) { return (recurrence){se3_one(), vec6_zero()}; }
FN recurrence recurrence_times(recurrence s, recurrence c)
{
    return (recurrence){se3_times(s.T, c.T), vec6_add(se3_motion_in(&c.T, s.b), c.b)};
}
FN recurrence recurrence_inverse(recurrence c)  // [L] equation 53
{
    return (recurrence){se3_inverse(c.T), vec6_opposite(se3_motion_out(&c.T, c.b))};
}

/// A symmetric 3x3 matrix.
typedef struct {
    double xx, yy, zz, xy, xz, yz;
} sym33;

FN v3 sym33_times(const sym33 *S, v3 a)
{
    return (v3){S->xx * a.x + S->xy * a.y + S->xz * a.z, S->xy * a.x + S->yy * a.y + S->yz * a.z,
                S->xz * a.x + S->yz * a.y + S->zz * a.z};
}
FN sym33 sym33_turned(const se3 *T, const sym33 *S)  // R S R'
{
    const v3 a = se3_turn(T, (v3){S->xx, S->xy, S->xz}), b = se3_turn(T, (v3){S->xy, S->yy, S->yz}),
             c = se3_turn(T, (v3){S->xz, S->yz, S->zz});  // the columns of R S
    const v3 x = {T->X.x, T->Y.x, T->Z.x}, y = {T->X.y, T->Y.y, T->Z.y}, z = {T->X.z, T->Y.z, T->Z.z};
    return (sym33){a.x * x.x + b.x * x.y + c.x * x.z, a.y * y.x + b.y * y.y + c.y * y.z, a.z * z.x + b.z * z.y + c.z * z.z,
                   a.x * y.x + b.x * y.y + c.x * y.z, a.x * z.x + b.x * z.y + c.x * z.z, a.y * z.x + b.y * z.y + c.y * z.z};
}

/// A rigid inertia about a point: mass, first moment, rotational inertia about the point.
typedef struct {
    double m;
    v3 h;
    sym33 I;
} inertia;

FN inertia inertia_zero(void) { return (inertia){0, {0, 0, 0}, {0, 0, 0, 0, 0, 0}}; }
FN inertia inertia_add(inertia a, inertia b)
{
    return (inertia){a.m + b.m,
                     v3_add(a.h, b.h),
                     {a.I.xx + b.I.xx, a.I.yy + b.I.yy, a.I.zz + b.I.zz, a.I.xy + b.I.xy, a.I.xz + b.I.xz, a.I.yz + b.I.yz}};
}
FN inertia inertia_opposite(inertia a)
{
    return (inertia){-a.m, {-a.h.x, -a.h.y, -a.h.z}, {-a.I.xx, -a.I.yy, -a.I.zz, -a.I.xy, -a.I.xz, -a.I.yz}};
}
/// Of a mass with its inertia `I` about its centre, which lies at `c` from the point.
FN inertia inertia_about(double m, v3 c, sym33 I)
{
    const v3 h = v3_scale(c, m);
    I.xx += h.y * c.y + h.z * c.z, I.yy += h.x * c.x + h.z * c.z, I.zz += h.x * c.x + h.y * c.y;
    I.xy -= h.x * c.y, I.xz -= h.x * c.z, I.yz -= h.y * c.z;
    return (inertia){m, h, I};
}
FN vec6 inertia_times(const inertia *I, vec6 a)
{
    return (vec6){v3_add(sym33_times(&I->I, a.w), v3_cross(I->h, a.l)), v3_add(v3_scale(a.l, I->m), v3_cross(a.w, I->h))};
}

#endif
