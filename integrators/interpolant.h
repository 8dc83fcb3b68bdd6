/// Dense output: the motion within the last part of a step that was carried out, a polynomial in the chart at the part's start.
///
///     u(t) = t (c_0 + (1-t) (c_1 + t (c_2 + (1-t) (c_3 + ...)))),   v(t) = v_0 + the same with the velocity's coefficients
///
/// for t from 0 at the start to 1 at the end. c_0 is the increment of the part, c_1 and c_2 make the cubic of Hermite that has
/// the right slopes at both ends; a method with an interpolant of its own adds more. [Hairer, Norsett, Wanner, Solving Ordinary
/// Differential Equations I, section II.6] The step keeps no more than where the part started; the coefficients are found when
/// they are asked for.
#ifndef CATENA_INTERPOLANT_H
#define CATENA_INTERPOLANT_H

#include "dynamics/lane_model.h"
#include "integrators/chart.h"
#include "integrators/tableaux.h"
#include "integrators/explicit.h"

#include <catena/batch.h>

typedef struct {
    real *q, *v, *tau;                                    // [nq], [nv], [nv]: the start of the part, and the force during it
    real *z;                                              // [nv] what friction remembers there; NULL: there is none
    real *wound;                                          // [nwound] integral terms there, likewise
    vec3 *slip;                                           // [ncontact] likewise of contact points, of explicit methods
    real *size;                                           // [1] s, of the part; 0: none yet, the motion stays at q, v
    real *when;                                           // [1] s, when it began, of models whose motors' targets move; else NULL
    real *cq[INTERPOLANT_TERMS], *cv[INTERPOLANT_TERMS];  // [nv]
} interpolant;

/// Its arrays [nv], in the order of flat numbers (ctn_engine.load_motion): q [nq], these, size, when. fitted: with coefficients.
/// Returns how many they are.
enum { MOTION_ARRAYS = 3 + 2 * INTERPOLANT_TERMS };
FN int motion_arrays(const interpolant *I, bool fitted, real *array[MOTION_ARRAYS])
{
    int n = 0;
    array[n++] = I->v, array[n++] = I->tau;
    if (I->z) array[n++] = I->z;
    for (int c = 0; c < INTERPOLANT_TERMS && fitted; c++) array[n++] = I->cq[c], array[n++] = I->cv[c];
    return n;
}

/// Notes that a part of size h starts at q, v, z and wound (forces/joint_friction.h, integral_terms.h; NULL: 0) under the force tau
/// (NULL: none) in the lanes `where`.
KERNEL void start_part(const lane_model *m, interpolant *I, const real *q, const real *v, const real *z, const real *wound,
                       const real *tau, real h, mask where)
{
    for (int k = 0; k < m->nq; k++) I->q[k] = sel(where, q[k], I->q[k]);
    for (int k = 0; k < m->nv; k++) {
        I->v[k] = sel(where, v[k], I->v[k]);
        I->tau[k] = sel(where, tau ? tau[k] : rset(0), I->tau[k]);
        if (I->z) I->z[k] = sel(where, z ? z[k] : rset(0), I->z[k]);
    }
    for (int k = 0; k < m->nwound; k++) I->wound[k] = sel(where, wound ? wound[k] : rset(0), I->wound[k]);
    *I->size = sel(where, h, *I->size);
    if (I->when && m->clock) *I->when = sel(where, m->clock->part, *I->when);
}

/// Coefficients of an explicit method, by making its part once more: all lanes, the same bits.
KERNEL void fit_explicit(const lane_model *m, ctn_method method, interpolant *I, explicit_work *work)
{
    work->z = I->z, work->wound = I->wound, work->slip = I->slip;
    if (I->when && m->clock) m->clock->part = *I->when;
    const int end = explicit_step(m, method, I->q, I->v, I->tau, *I->size, work);
    const real h = *I->size, two = rset(2);
    for (int k = 0; k < m->nv; k++) I->cq[0][k] = work->u[k], I->cv[0][k] = work->w[k] - I->v[k];
    stage_rates(m, end, I->tau, work);
    for (int k = 0; k < m->nv; k++) {
        const real uq = I->cq[0][k], uv = I->cv[0][k];
        I->cq[1][k] = h * I->v[k] - uq, I->cv[1][k] = h * work->kv[0][k] - uv;
        I->cq[2][k] = two * uq - h * (I->v[k] + work->kq[end][k]),
        I->cv[2][k] = two * uv - h * (work->kv[0][k] + work->kv[end][k]);
    }
    for (int s = 0; s < 3 && method == CTN_DOP853; s++) {
        advance(m, end + 1 + s, dop853_more[s], I->q, I->v, h, work);
        stage_rates(m, end + 1 + s, I->tau, work);
    }
    for (int c = 3; c < INTERPOLANT_TERMS; c++)
        for (int k = 0; k < m->nv; k++) {
            real q = rset(0), v = rset(0);
            for (int s = 0; s < ALL_STAGES && method == CTN_DOP853; s++) {
                const real d = rset(dop853_dense[c - 3][s]);
                q = fmadd(d, work->kq[s][k], q), v = fmadd(d, work->kv[s][k], v);
            }
            I->cq[c][k] = h * q, I->cv[c][k] = h * v;
        }
}

/// The state at t (0 to 1) of the part into x [nq], w [nv]; u [nv] is scratch.
KERNEL void interpolate(const lane_model *m, const interpolant *I, real t, real *u, real *x, real *w)
{
    const real rest = rset(1) - t;
    for (int k = 0; k < m->nv; k++) {
        real a = rset(0), b = rset(0);
        for (int c = INTERPOLANT_TERMS - 1; c >= 0; c--) {
            const real factor = c % 2 ? rest : t;
            a = factor * (I->cq[c][k] + a), b = factor * (I->cv[c][k] + b);
        }
        u[k] = a, w[k] = I->v[k] + b;
    }
    config_add(m, I->q, u, x);
}

#endif
