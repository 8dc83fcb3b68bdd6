/// What a piece of a chain lets through: the elimination of elimination.h with an unknown wrench f at the far end, which stands
/// for all that follows there. (docs/scans.md; theory.md 2.2)
///
/// The value function of what hangs on a joint, up to that end, is
///
///     V(d, f) = d'P d / 2 + d'(p + F f) + f'G f / 2 + f'g
///
/// P and p are those of the sweeps, which stand as they are. Each joint leaves for f what the columns of F have along it,
///
///     y = F'S,    F <- F - U D^-1 y',  shifted to the parent,    G <- G - y D^-1 y',    g <- g + y D^-1 u
///
/// and U, D^-1, u are what the sweep has stored. On the way outwards the joint's u loses y'f. All in world axes: where a piece
/// ends and the next one begins nothing is turned.
#ifndef CATENA_SCAN_FAR_END_H
#define CATENA_SCAN_FAR_END_H

#include "dynamics/articulated.h"
#include "dynamics/elimination.h"
#include "dynamics/joints.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"

/// F by its columns, moments then forces of f; G by rows of its lower triangle.
typedef struct {
    wrench F[6];
    real G[21], g[6];
} far_end;

/// Columns `from` to `from` + 3 of F over a joint of one degree of freedom, about the parent's origin afterwards, which stands
/// off by -r.
FN void far_columns1(const lane_body *b, int kind, vec3 z, bool arm, vec3 r, const pivot1 *s, int from, wrench *F, real *y)
{
    for (int k = from; k < from + 3; k++) {
        y[k] = joint_row(b, kind, z, F[k]);
        const real e = y[k] * s->i;
        F[k].n = sub_scaled(F[k].n, s->Ua, e), F[k].f = sub_scaled(F[k].f, s->Ul, e);
        if (arm) F[k] = wrench_shift(F[k], r);
    }
}

/// What u leaves for f of a joint of one degree of freedom: e = y D^-1.
FN void far_side1(const real *e, real u, real *g)
{
    for (int k = 0; k < 6; k++) g[k] = fmadd(e[k], u, g[k]);
}

/// Of one of three: v = D^-1 u; y [3][6].
FN void far_side3(const real *y, vec3 v, real *g)
{
    const real u[3] = {v.x, v.y, v.z};
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 6; k++) g[k] = fmadd(y[6 * c + k], u[c], g[k]);
}

/// The far end over a joint of one degree of freedom. u: as the sweep has it; y [6].
FN void far_row1(const lane_body *b, bool arm, vec3 z, vec3 r, const pivot1 *s, real u, far_end *X, real *y)
{
    real e[6];
    far_columns1(b, b->kind, z, arm, r, s, 0, X->F, y);  // in halves, which fit into registers
    far_columns1(b, b->kind, z, arm, r, s, 3, X->F, y);
    for (int k = 0; k < 6; k++) e[k] = y[k] * s->i;
    for (int k = 0, at = 0; k < 6; k++)
        for (int j = 0; j <= k; j++, at++) X->G[at] = fnmadd(y[k], e[j], X->G[at]);
    far_side1(e, u, X->g);
}

/// What f takes from u of a joint of one degree of freedom.
FN real far_take1(const real *y, const real *f, real u)
{
    for (int k = 0; k < 6; k++) u = fnmadd(y[k], f[k], u);
    return u;
}

/// All of it over a ball (a translation has no parent that moves). v = D^-1 u; y [3][6].
FN void far_rows3(bool ball, ldl3 D, const gain3 *gain, bool arm, vec3 r, vec3 v, far_end *X, real *y)
{
    real e[3][6];
    for (int k = 0; k < 6; k++) {
        const vec3 row = ball ? X->F[k].n : X->F[k].f, left = ldl_solve(D, row);
        y[k] = row.x, y[6 + k] = row.y, y[12 + k] = row.z, e[0][k] = left.x, e[1][k] = left.y, e[2][k] = left.z;
        if (!ball) continue;
        X->F[k].n = sub(X->F[k].n, tmul(gain->Xa, row)), X->F[k].f = sub(X->F[k].f, tmul(gain->Xl, row));  // U D^-1 y
        if (arm) X->F[k] = wrench_shift(X->F[k], r);
    }
    for (int c = 0; c < 3; c++)
        for (int k = 0, at = 0; k < 6; k++)
            for (int j = 0; j <= k; j++, at++) X->G[at] = fnmadd(y[6 * c + k], e[c][j], X->G[at]);
    far_side3(y, v, X->g);
}

/// What f takes from v = D^-1 u.
FN vec3 far_take3(ldl3 D, const real *y, const real *f, vec3 v)
{
    vec3 t = zero3();
    for (int k = 0; k < 6; k++) t = add_scaled(t, vec(y[k], y[6 + k], y[12 + k]), f[k]);
    return sub(v, ldl_solve(D, t));
}

#endif
