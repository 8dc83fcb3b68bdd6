/// The solvers of a position-based step besides newton, by name: lm, lbfgs. All solve for the same rows from the same first
/// guess, to the same tolerance (step_part.h).
#ifndef CATENA_SOLVERS_H
#define CATENA_SOLVERS_H

#include "dynamics/lane_model.h"
#include "dynamics/aba.h"
#include "integrators/collocation.h"
#include "integrators/position_step.h"
#include "integrators/stage_step.h"
#include "integrators/solver_objective.h"
#include "integrators/levenberg_marquardt.h"
#include "integrators/lbfgs.h"

#include <catena/batch.h>

/// Scratch of one lane block of the solvers besides newton's.
typedef struct {
    objective_work objective;
    lm_work lm;
    lbfgs_work lbfgs;
} solver_work;

/// lm or lbfgs from the iterate in `one`, or in `more` if that is not NULL.
KERNEL mask minimise(const lane_model *m, const ctn_batch_config *cfg, mask active, position_work *one, stage_work *more,
                     solver_work *W, aba_work *aba, position_counts *count)
{
    const objective F = objective_of(m, one, more, &W->objective, aba, cfg->solver == CTN_LBFGS);
    real *at = more ? &more->residual : &one->residual;
    if (cfg->solver == CTN_LM) return solve_lm(m, &F, &W->lm, cfg->tolerance, cfg->max_iterations, active, count, at);
    return solve_lbfgs(m, &F, &W->lbfgs, cfg->tolerance, cfg->max_iterations, active, count, at);
}

#endif
