/// Moving on the configuration manifold: q (+) u, where u are tangent increments in the coordinates of v. Balls move by the
/// exponential chart, everything else by addition.
#ifndef CATENA_CHART_H
#define CATENA_CHART_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "integrators/turns.h"

/// x = q (+) u. q, x [nq]; u [nv]. x may be q.
KERNEL void config_add(const lane_model *m, const real *q, const real *u, real *x)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real *a = q + b->qadr, *d = u + b->vadr;
        real *y = x + b->qadr;
        if (b->kind == JOINT_BALL) quat_store(y, quat_normalised(quat_mul(quat_load(a), quat_exp(vec(d[0], d[1], d[2])))));
        else
            for (int k = 0; k < b->nv; k++) y[k] = a[k] + d[k];
    }
}

/// The rate of the chart's coordinates: du/dt of q (+) u while the joints move with v. u, v, du [nv].
KERNEL void chart_rate(const lane_model *m, const real *u, const real *v, real *du)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real *a = u + b->vadr, *w = v + b->vadr;
        real *d = du + b->vadr;
        if (b->kind == JOINT_BALL) {
            const vec3 z = chart_velocity(vec(a[0], a[1], a[2]), vec(w[0], w[1], w[2]));
            d[0] = z.x, d[1] = z.y, d[2] = z.z;
        } else
            for (int k = 0; k < b->nv; k++) d[k] = w[k];
    }
}

/// Where all coordinates at the end of a step are finite and no angle is beyond REAL_MAX_ANGLE, or REAL_MAX_TURN where whole turns
/// were taken off as it began; `far` tells the latter from the former.
KERNEL mask config_valid(const lane_model *m, const real *q, const real *v, mask *far)
{
    real zero = rset(0);
    mask out = none_of();
    for (int k = 0; k < m->nq; k++) zero = fmadd(q[k], rset(0), zero);
    for (int k = 0; k < m->nv; k++) zero = fmadd(v[k], rset(0), zero);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!about_z(b->kind)) continue;
        out = either(out, gt(magnitude(q[b->qadr]), rset(turns_freely(b) ? REAL_MAX_TURN : REAL_MAX_ANGLE)));
    }
    *far = out;
    return both(le(zero, rset(0)), not_(*far));  // NaN is not <= 0
}

/// v [nv] where all of it is finite, as it is but with masses and lengths beyond all reason; elsewhere `known`.
KERNEL void finite_or(const lane_model *m, real *v, const real *known)
{
    real zero = rset(0);
    for (int k = 0; k < m->nv; k++) zero = fmadd(v[k], rset(0), zero);
    const mask finite = le(zero, rset(0));
    for (int k = 0; k < m->nv; k++) v[k] = sel(finite, v[k], known[k]);
}

#endif
