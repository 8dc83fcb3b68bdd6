/// Dense output of the position-based methods: as a part is carried out, the coefficients of its motion (interpolant.h).
///
/// Coordinates follow the polynomial through the start of the part and its stages, in the chart at the start; velocities the one
/// through the joint rates there. Both are of degree s with s stages; errors are of order s + 1, as those of the stages, and of
/// order s.
#ifndef CATENA_STAGE_DENSE_H
#define CATENA_STAGE_DENSE_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "integrators/tableaux.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_step.h"
#include "integrators/interpolant.h"

/// The increment of a joint from the start of the part to stage a, in the chart at the start, and its rates at the stage; each
/// [nv] of the joint. B: a ball at all stages.
FN void stage_motion(const lane_model *m, const lane_body *b, const stage_work *P, const ball_stages *B, int a, real *u, real *w)
{
    const stage_input *in = &P->W.in;
    const stage_table *t = P->W.table;
    if (b->kind == JOINT_BALL) {
        const vec3 turn = quat_log(B->z[a]), rate = quat_imaginary(ball_rate(t, B, a, in->inv_h));
        u[0] = turn.x, u[1] = turn.y, u[2] = turn.z;
        w[0] = rset(2) * rate.x, w[1] = rset(2) * rate.y, w[2] = rset(2) * rate.z;
    } else
        for (int k = 0; k < b->nv; k++) {
            const int v = b->vadr + k;
            u[k] = P->u[a * m->nv + v], w[k] = stage_rate(m, t, in, a, v);
        }
}

/// Takes note of the part whose solution is in P and whose start still in S, in the lanes `where`.
KERNEL void keep_stages(const lane_model *m, interpolant *I, const position_state *S, const stage_work *P, mask where)
{
    const stage_table *t = P->W.table;
    start_part(m, I, S->q, S->rate, NULL, NULL, NULL, P->W.in.h, where);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real u[MOST_STAGES][3], w[MOST_STAGES][3];
        ball_stages B;
        if (b->kind == JOINT_BALL) B = ball_at_stages(m, b, t, &P->W.in);
        for (int a = 0; a < t->stages; a++) stage_motion(m, b, P, &B, a, u[a], w[a]);
        for (int c = 0; c < INTERPOLANT_TERMS; c++)
            for (int k = 0; k < b->nv; k++) {
                const int v = b->vadr + k;
                real q = rset(0), r = rset(0);
                for (int a = 0; a < t->stages && c < t->stages; a++) {
                    const real d = rset(t->dense[c][a]);
                    q = fmadd(d, u[a][k], q), r = fmadd(d, w[a][k] - S->rate[v], r);
                }
                I->cq[c][v] = sel(where, q, I->cq[c][v]), I->cv[c][v] = sel(where, r, I->cv[c][v]);
            }
    }
}

/// The same for a part of one stage (position_step.h): a straight line in the chart.
KERNEL void keep_stage(const lane_model *m, interpolant *I, const position_state *S, const position_work *P, mask where)
{
    start_part(m, I, S->q, S->rate, NULL, NULL, NULL, P->W.in.h, where);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real u[3];
        joint_increment(b, S->q, P, u);
        for (int k = 0; k < b->nv; k++) {
            const int v = b->vadr + k;
            for (int c = 0; c < INTERPOLANT_TERMS; c++) {
                real q = rset(0), r = rset(0);
                if (c == 0) q = u[k], r = fmadd(u[k], P->W.in.inv_h, negate(S->rate[v]));
                I->cq[c][v] = sel(where, q, I->cq[c][v]), I->cv[c][v] = sel(where, r, I->cv[c][v]);
            }
        }
    }
}

/// The same for a part of alpha (alpha_step.h), which ends with the rates `rate` [nv]: a cubic with the rates of both ends.
KERNEL void keep_alpha(const lane_model *m, interpolant *I, const position_state *S, const position_work *P, const real *rate,
                       mask where)
{
    const real h = P->W.in.h;
    start_part(m, I, S->q, S->rate, NULL, NULL, NULL, h, where);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real u[3];
        joint_increment(b, S->q, P, u);
        for (int k = 0; k < b->nv; k++) {
            const int v = b->vadr + k;
            const real from = S->rate[v], to = rate[v], mean = u[k] * P->W.in.inv_h;
            const real q[3] = {u[k], h * (from - mean), h * ((mean - from) + (mean - to))};
            const real r[3] = {to - from, rset(6) * mean - rset(3) * (from + to), rset(0)};
            for (int c = 0; c < INTERPOLANT_TERMS; c++) {
                I->cq[c][v] = sel(where, c < 3 ? q[c] : rset(0), I->cq[c][v]);
                I->cv[c][v] = sel(where, c < 3 ? r[c] : rset(0), I->cv[c][v]);
            }
        }
    }
}

/// Before the first part, and after a state was set: the motion stays where it is.
KERNEL void keep_still(const lane_model *m, interpolant *I)
{
    const mask still = le(*I->size, rset(0));
    for (int c = 0; c < INTERPOLANT_TERMS; c++)
        for (int k = 0; k < m->nv; k++) {
            I->cq[c][k] = sel(still, rset(0), I->cq[c][k]), I->cv[c][k] = sel(still, rset(0), I->cv[c][k]);
        }
}

#endif
