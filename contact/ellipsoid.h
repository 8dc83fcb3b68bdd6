/// How far a point is from an ellipsoid.
///
/// With the radii e_i the nearest point x of y has y - x = t w, w = x_i/e_i^2 along the normal, so w_i = y_i/(t + e_i^2) and the gap
/// is t |w|. t is the root beyond -min e^2 of |p| = 1, p_i = e_i w_i. [Eberly, Distance from a point to an ellipsoid, 2013]
/// 1/|p| is nearly straight in t, so that Newton's steps for it, from where one p_i alone is 1, rise to the root and never pass it
/// [More, Sorensen 1983]; a lane is done where its step raises t no more. They count t from -min e^2, where its digits are.
#ifndef CATENA_ELLIPSOID_H
#define CATENA_ELLIPSOID_H

#include "contact/surface_point.h"
#include "dynamics/lane_model.h"

enum { ELLIPSOID_STEPS = 80 };  // 5 or so, but near the middle plane as many as lie between 1e-18 of a radius and that

/// The derivative of n = w/|w|: dw = Q (dy - w dt) with Q = 1/(t + e^2), and what dt has to be so that |p| stays 1.
FN sym3 bend_of_ellipsoid(const fixed_surface *f, const real *Q, const real *w, vec3 n, real t, real length)
{
    real B = rset(0);
    for (int i = 0; i < 3; i++) B = fmadd(rset(f->half[i] * f->half[i]) * w[i] * w[i], Q[i], B);
    const vec3 z = vec(length * n.x * Q[0], length * n.y * Q[1], length * n.z * Q[2]);
    const real s = dot(n, z), k = length / B, tk = t * k / length;
    sym3 H = sym_diagonal(Q[0], Q[1], Q[2]);
    sym_add_dyad(&H, z, tk), sym_add_dyad(&H, n, k * s);
    sym_add_dyad(&H, add(n, z), negate(rset(0.5) * k)), sym_add_dyad(&H, sub(n, z), rset(0.5) * k);  // -k (n z' + z n')
    return sym_scale(H, rset(1) / length);
}

FN surface_point at_ellipsoid(const fixed_surface *f, vec3 y, sym3 *H)
{
    const real one = rset(1), at[3] = {y.x, y.y, y.z};
    const double *const e = f->half;
    const double least = e[0] < e[1] ? (e[0] < e[2] ? e[0] : e[2]) : e[1] < e[2] ? e[1] : e[2];
    real far[3], Q[3], w[3], u = rset(0), S, T, next;
    for (int i = 0; i < 3; i++) {
        const real floor = rset(1e-18 * e[i]), size = magnitude(at[i]);
        far[i] = sel(gt(size, floor), size, floor);
        const real alone = far[i] * rset(e[i]) - rset(e[i] * e[i] - least * least);
        u = sel(gt(alone, u), alone, u);
    }
    for (int k = 0;; k++) {
        S = T = rset(0);
        for (int i = 0; i < 3; i++) {
            Q[i] = one / (u + rset(e[i] * e[i] - least * least)), w[i] = far[i] * Q[i];
            const real p = rset(e[i]) * w[i];
            S = fmadd(p, p, S), T = fmadd(p * p, Q[i], T);
        }
        next = fmadd(S / T, root(S) - one, u);
        if (k == ELLIPSOID_STEPS || !any_of(gt(next, u))) break;
        u = sel(gt(next, u), next, u);
    }
    const real length = root(fmadd(w[2], w[2], fmadd(w[1], w[1], w[0] * w[0]))), over = one / length, t = u - rset(least * least);
    surface_point s;
    s.gap = t * length;
    s.n = s.face = vec(sign_of(y.x) * w[0] * over, sign_of(y.y) * w[1] * over, sign_of(y.z) * w[2] * over);
    if (H) *H = bend_of_ellipsoid(f, Q, w, s.n, t, length);
    return s;
}

#endif
