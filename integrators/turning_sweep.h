/// The Newton step of a solve of one stage whose matrix is not symmetric, as wheels whose axes turn are in it (turning_frame.h): the
/// sweep of several stages with one (stage_sweep.h), from the blocks of the solve.
///
/// There is no energy whose minimum is the solution: what is to fall along a step is the sum of the squares of the rows, over their
/// scales.
#ifndef CATENA_TURNING_SWEEP_H
#define CATENA_TURNING_SWEEP_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "integrators/collocation.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_sweep.h"
#include "integrators/stage_tables.h"

KERNEL_DATA stage_table one_stage = {.stages = 1};

/// Whether W has such a matrix.
FN bool is_skew(const lane_model *m, const solve *W) { return m->skew && W->turn.mode != BY_CHORDS; }

/// The sum of the squares of the rows of W, over their scales; NaN if one is.
KERNEL real square_of_rows(const lane_model *m, const solve *W)
{
    real sum = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = b->vadr; k < b->vadr + b->nv; k++) {
            const real r = W->r[k] * W->step[i].unit;
            sum = fmadd(r, r, sum);
        }
    }
    return sum;
}

/// W, after residual(), as the one stage of G.
KERNEL void one_stage_of(const lane_model *m, const solve *W, stages *G)
{
    G->table = &one_stage, G->one = W, G->r = W->r, G->in.tau = W->in.tau, G->watch = NULL;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real *const K = G->K + 3 * b->dof;
        G->body[i].T = W->now[i], G->body[i].w = W->sum[i];
        if (!has_terms(b, W->in.tau)) continue;
        const sym3 k = W->terms[i].k;
        if (b->kind == JOINT_BALL) {
            K[0] = k.xx, K[1] = k.xy, K[2] = k.xz, K[3] = k.xy, K[4] = k.yy, K[5] = k.yz;
            K[6] = k.xz, K[7] = k.yz, K[8] = k.zz;
        } else K[0] = k.xx;
        if (b->kind == JOINT_TRANSLATION) K[1] = k.yy, K[2] = k.zz;
    }
}

/// The Newton step d [nv] at the iterate of W, after residual(), and the largest change of place in it. In a lane where it cannot be
/// computed it is not finite.
KERNEL real turning_newton(const lane_model *m, const solve *W, stages *G, stage_sweep *work, real *d)
{
    one_stage_of(m, W, G);
    work->held = none_of();
    stage_sweep_inward(m, G, work, 1, false);
    return stage_sweep_outward(m, G, work, 1, d);
}

#endif
